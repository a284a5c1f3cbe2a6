"""Window rules of AIMD and Compound TCP as bhatti2009 (sec. IV-A, IV-D) gives them, with its slips put right.

Each function is one step of the rule on windows in packets. CUBIC's rule (sec. IV-C) is `tcpfair.models.cubic`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Number = float | Floats


def aimd_on_ack_pkts(cwnd_pkts: Number, alpha: float = 1.0) -> Number:
    """Window after one ACK: ``alpha`` packets per RTT (unnumbered; printed as ``alpha`` per ACK)."""
    return cwnd_pkts + alpha / cwnd_pkts


def aimd_on_loss_pkts(cwnd_pkts: Number, beta: float = 0.5) -> Number:
    """Window after a loss; ``beta`` is the share that stays (unnumbered)."""
    return beta * cwnd_pkts


def compound_on_ack_pkts(cwnd_pkts: Number, dwnd_pkts: Number) -> Number:
    """Loss-based window of Compound TCP after one ACK (unnumbered; printed with awnd in place of dwnd)."""
    return cwnd_pkts + 1 / (cwnd_pkts + dwnd_pkts)


def compound_window_pkts(cwnd_pkts: Number, dwnd_pkts: Number, awnd_pkts: Number = np.inf) -> Number:
    """Sending window: both components together, at most what the receiver advertises (unnumbered)."""
    return np.minimum(cwnd_pkts + dwnd_pkts, awnd_pkts)


def compound_dwnd_on_round_pkts(
    dwnd_pkts: Number,
    window_pkts: Number,
    backlog_pkts: Number,
    gamma_pkts: float = 30.0,
    alpha: float = 0.125,
    k: float = 0.75,
    eta: float = 1.0,
) -> Number:
    """Delay-based window after one RTT: grows while the flow's ``backlog_pkts`` D is below gamma, else drains.

    Unnumbered. The print raises dwnd, not the sending window, to the power k, under which a dwnd of zero would stay
    zero; the sum grows by alpha * window^k, of which cwnd contributes one packet (Tan et al., INFOCOM 2006). dwnd does
    not fall below zero.
    """
    grown_pkts = dwnd_pkts + np.maximum(alpha * np.power(window_pkts, k) - 1, 0)
    drained_pkts = np.maximum(dwnd_pkts - eta * np.asarray(backlog_pkts), 0)
    return np.where(np.less(backlog_pkts, gamma_pkts), grown_pkts, drained_pkts)[()]


def compound_dwnd_on_loss_pkts(dwnd_pkts: Number, beta: float = 0.5) -> Number:
    """Delay-based window after a loss; ``beta`` is the share taken away (unnumbered)."""
    return dwnd_pkts * (1 - beta)
