"""Linux's behaviour after a loss, in closed form, for comparison with measured traces: Reno's growth and CUBIC's K.

Sources: Linux ``net/ipv4/tcp_cong.c`` (Reno, RFC 5681) and ``net/ipv4/tcp_cubic.c`` (CUBIC, RFC 9438), defaults.
Windows are whole packets, as in the kernel. Not modelled: the kernel's fixed-point cube root (0.2% off on average)
and its clock ticks.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

MIN_SSTHRESH_PKTS = 2

# tcp_cubic.c counts in 1/1024: beta = 717, and C = bic_scale * 10 = 410
SCALE = 1024
CUBIC_BETA_SCALED = 717
CUBIC_C = 410 / SCALE  # packets / s^3
# beta_scale of tcp_cubic.c, in integers: eighths of a window's ACKs per packet of growth (RFC 9438, eq. 4)
_CUBIC_BETA_SCALE = 8 * (SCALE + CUBIC_BETA_SCALED) // 3 // (SCALE - CUBIC_BETA_SCALED)
CUBIC_FRIENDLY_PKTS_PER_RTT = 8 / _CUBIC_BETA_SCALE


def additive_increase_time_s(
    start_pkts: float, end_pkts: float, capacity_pps: float, rtt_min_s: float, increase_pkts: float = 1.0
) -> float:
    """Time in s in which a window grows from ``start_pkts`` to ``end_pkts``, gaining ``increase_pkts`` per RTT.

    Exact solution of dW/dt = increase / RTT(W), RTT(W) = max(RTT_min, W/B) with B = ``capacity_pps`` in packets/s.
    For n Reno flows of one RTT that share the link, W is the sum of their windows and ``increase_pkts`` is n.
    """
    pipe_pkts = capacity_pps * rtt_min_s
    below_pkts = max(min(end_pkts, pipe_pkts) - start_pkts, 0.0)  # RTT is constant: W grows linearly
    above_pkts2 = max(end_pkts**2 - max(start_pkts, pipe_pkts) ** 2, 0.0)  # RTT = W/B: W^2 grows linearly
    return (rtt_min_s * below_pkts + above_pkts2 / (2 * capacity_pps)) / increase_pkts


def reno_ssthresh_pkts(cwnd_pkts: int) -> int:
    """ssthresh in packets after a loss at ``cwnd_pkts``: half of it (RFC 5681, eq. 4)."""
    return max(cwnd_pkts // 2, MIN_SSTHRESH_PKTS)


def reno_cwnd_at_loss_pkts(ssthresh_pkts: int) -> int:
    """The smallest window in packets whose loss leaves ``ssthresh_pkts``; the true one may be 1 packet larger."""
    return 2 * ssthresh_pkts


def cubic_ssthresh_pkts(cwnd_pkts: int) -> int:
    """ssthresh in packets after a loss at ``cwnd_pkts``: 717/1024 of it."""
    return max(cwnd_pkts * CUBIC_BETA_SCALED // SCALE, MIN_SSTHRESH_PKTS)


def cubic_cwnd_at_loss_pkts(ssthresh_pkts: int) -> int:
    """The smallest window in packets whose loss leaves ``ssthresh_pkts``; the true one may be 1 packet larger."""
    return math.ceil(ssthresh_pkts * SCALE / CUBIC_BETA_SCALED)


def cubic_w_max_pkts(cwnd_at_loss_pkts: int, last_w_max_pkts: int) -> int:
    """W_max in packets after a loss, with fast convergence (RFC 9438, sec. 4.7).

    A flow that loses below its last W_max aims at (1 + beta)/2 of its window, to leave room for others.
    ``last_w_max_pkts`` is 0 before the first loss and after a timeout.
    """
    if cwnd_at_loss_pkts < last_w_max_pkts:
        return cwnd_at_loss_pkts * (SCALE + CUBIC_BETA_SCALED) // (2 * SCALE)
    return cwnd_at_loss_pkts


def cubic_k_s(w_max_pkts: float, cwnd_epoch_pkts: float) -> float:
    """K in s: the time from ``cwnd_epoch_pkts``, where growth begins, back to W_max (RFC 9438, eq. 2); 0 above W_max."""
    return float(np.cbrt(max(w_max_pkts - cwnd_epoch_pkts, 0.0) / CUBIC_C))


def cubic_friendly_window_pkts(cwnd_epoch_pkts: float, round_trips: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Reno's window with CUBIC's decrease, ``round_trips`` after growth began at ``cwnd_epoch_pkts``.

    CUBIC uses the larger of it and its own curve: the Reno-friendly region (RFC 9438, sec. 4.3). On short paths it is
    the larger around W_max, where the curve is flat, and CUBIC returns to W_max long before K.
    """
    return cwnd_epoch_pkts + CUBIC_FRIENDLY_PKTS_PER_RTT * np.asarray(round_trips, dtype=np.float64)
