"""How throughput depends on the RTT for two flows of one protocol that share a bottleneck.

Two loss models bracket the behaviour of a drop-tail queue. Synchronised: both flows lose at every overflow, so they
have the same time between losses. Random: every packet is lost with the same probability.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcpfair.models.aimd import Protocol

Floats = npt.NDArray[np.float64]
Number = float | Floats

# d of eq. 1: at loss rate p a flow has a mean window proportional to p^-d. ogura sec. 2.1, after the BIC paper.
D = {"Reno": 0.5, "BIC": 0.5, "HSTCP": 0.82, "STCP": 1.0}

# e of x(RTT) ~ RTT^e in Table 1 of ogura, the increment per RTT
INCREMENT_EXPONENT: dict[Protocol, int] = {"reno": 0, "alpha": 1, "libra": 2}


def window_exponent(d: Number) -> Number:
    """Exponent d/(1-d) of the window ratio (ogura eq. 1); infinite for STCP, d = 1."""
    with np.errstate(divide="ignore"):
        return np.divide(d, np.subtract(1.0, d))


def throughput_exponent(d: Number) -> Number:
    """Exponent 1/(1-d) of the throughput ratio: a window ratio divided by the RTT ratio; infinite for STCP."""
    return window_exponent(d) + 1


def window_ratio(rtt1_s: Number, rtt2_s: Number, d: float) -> Number:
    """w1/w2 under synchronised losses (ogura eq. 1); infinite or 0 for d = 1, where the longer RTT starves."""
    return np.divide(rtt2_s, rtt1_s) ** window_exponent(d)


def throughput_ratio(rtt1_s: Number, rtt2_s: Number, d: float) -> Number:
    """Throughput of flow 1 over that of flow 2 under synchronised losses; ogura's text uses eq. 1 for this."""
    return np.divide(rtt2_s, rtt1_s) ** throughput_exponent(d)


def random_loss_exponent(protocol: Protocol) -> float:
    """Power of the RTT in the throughput under random losses: -1 for Reno, -1/2 for Alpha, 0 for Libra.

    A window of sqrt(x/p), x ~ RTT^e, sent once per RTT.
    """
    return INCREMENT_EXPONENT[protocol] / 2 - 1


def synchronised_loss_exponent(protocol: Protocol) -> float:
    """Power of the RTT in the throughput under synchronised losses: -2 for Reno, -1 for Alpha, 0 for Libra.

    A window that gains x ~ RTT^e per RTT during a common time between losses, sent once per RTT.
    """
    return float(INCREMENT_EXPONENT[protocol] - 2)


def random_loss_ratio(protocol: Protocol, rtt_ratio: Number) -> Number:
    """Throughput of the flow whose RTT is ``rtt_ratio`` times the other's, over the other's, under random losses.

    1/k for SACK, as ha2006 (sec. 4) states; the high-loss end of ogura fig. 8.
    """
    return np.power(rtt_ratio, random_loss_exponent(protocol))


def synchronised_loss_ratio(protocol: Protocol, rtt_ratio: Number) -> Number:
    """Throughput of the flow whose RTT is ``rtt_ratio`` times the other's, over the other's, under synchronised losses.

    1/k^2 for SACK, as ha2006 (sec. 4) states.
    """
    return np.power(rtt_ratio, synchronised_loss_exponent(protocol))
