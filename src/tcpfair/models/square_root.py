"""The square-root law: mean window and throughput of additive increase, halving decrease at a random loss rate.

M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", ACM CCR
27(3), 1997. It holds while losses are rare enough for fast recovery and the window is neither limited by the receiver
nor by the queue.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcpfair.units import BITS_PER_BYTE

Floats = npt.NDArray[np.float64]
Number = float | Floats

# One loss per 1/p packets at even distance, one ACK per packet. 0.75 when every second packet is acknowledged;
# independent losses, in the fluid limit, give 2.
PERIODIC_LOSS = 1.5
PERIODIC_LOSS_DELAYED_ACK = 0.75
FLUID_LOSS = 2.0


def window_pkts(loss_rate: Number, increment_pkts: Number = 1.0, c: float = PERIODIC_LOSS) -> Number:
    """Mean window sqrt(c x/p) of a flow that adds ``increment_pkts`` per RTT and halves at each loss."""
    return np.sqrt(np.multiply(c, increment_pkts) / loss_rate)


def throughput_bps(
    loss_rate: Number,
    rtt_s: Number,
    packet_bytes: float,
    increment_pkts: Number = 1.0,
    c: float = PERIODIC_LOSS,
) -> Number:
    """Throughput of that window, sent once per RTT in packets of ``packet_bytes``."""
    return window_pkts(loss_rate, increment_pkts, c) / rtt_s * packet_bytes * BITS_PER_BYTE
