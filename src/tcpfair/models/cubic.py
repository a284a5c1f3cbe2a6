"""CUBIC's window function, its K, and the changes to K that kozu2014 compares for RTT fairness.

T. Kozu, Y. Akiyama, S. Yamaguchi, "Improving RTT Fairness on CUBIC TCP", 2014. ``beta`` is the share of the window that
a loss removes (0.2), not the share that stays; C and beta have the paper's values by default.

The paper does not state the unit of RTT in eq. 6, 8 and 9. With milliseconds K shrinks at any RTT above 1 ms, and a
larger alpha (sec. 5.1) gives the longer RTT more, as the paper states; with seconds the effect of alpha would be the
reverse. Hence the default of ``rtt_unit_s``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcpfair.units import BITS_PER_BYTE

Floats = npt.NDArray[np.float64]
Number = float | Floats

C = 0.4
BETA = 0.2
RTT_UNIT_S = 1e-3


def window_pkts(t_s: Number, k_s: Number, w_max_pkts: Number, c: Number = C) -> Number:
    """Window ``t_s`` after a loss (kozu2014 eq. 1; bhatti2009 sec. IV-C). With ``c`` of `scaled_c`: eq. 7."""
    return c * (t_s - k_s) ** 3 + w_max_pkts


def cubic_k_s(w_max_pkts: Number, beta: float = BETA, c: Number = C) -> Number:
    """K: time from a loss until the window returns to ``w_max_pkts`` (eq. 2)."""
    return np.cbrt(np.multiply(w_max_pkts, beta) / c)


# --- K adjusted by the RTT ---------------------------------------------------------------------------------------


def proposed_k_s(
    w_max_pkts: Number, rtt_s: Number, rtt_unit_s: float = RTT_UNIT_S, beta: float = BETA, c: float = C
) -> Number:
    """The proposed K: divided by the cube root of the RTT in ``rtt_unit_s`` (eq. 6)."""
    return cubic_k_s(w_max_pkts, beta, c) / np.cbrt(np.divide(rtt_s, rtt_unit_s))


def scaled_c(rtt_s: Number, rtt_unit_s: float = RTT_UNIT_S, c: float = C) -> Number:
    """C' = C * RTT, with which the proposed K leaves the window after a loss at (1 - beta) W_max (eq. 8)."""
    return c * np.divide(rtt_s, rtt_unit_s)


def existing_k_s(w_max_pkts: Number, x: Number, beta: float = BETA, c: float = C) -> Number:
    """K of the earlier method: times x(RTT), a hand-tuned decreasing function that only a plot gives (eq. 9)."""
    return cubic_k_s(w_max_pkts, beta, c) * x


def tuned_x(index: npt.ArrayLike, x: npt.ArrayLike) -> Floats:
    """x(RTT) of eq. 9 tuned as by hand: the x with the largest ``index``, never rising with the RTT.

    ``index`` has shape (RTTs, values of x), RTTs ascending; the sum over the RTTs is maximised. At the first RTT, that
    of the other flow, x is the largest available. Returns x of each RTT, shape (RTTs,).
    """
    x = np.asarray(x, dtype=float)
    falling = np.argsort(-x)
    index = np.asarray(index, dtype=float)[:, falling]
    best = np.full_like(index, -np.inf)
    best[0, 0] = index[0, 0]
    came_from = np.zeros(index.shape, dtype=int)
    for row in range(1, len(index)):
        for place in range(len(x)):
            came_from[row, place] = best[row - 1, : place + 1].argmax()
            best[row, place] = best[row - 1, came_from[row, place]] + index[row, place]
    places = [int(best[-1].argmax())]
    for row in range(len(index) - 1, 0, -1):
        places.insert(0, int(came_from[row, places[0]]))
    return x[falling][places]


# --- Window-limited throughput -----------------------------------------------------------------------------------


def window_limit_bps(window_bytes: Number, rtt_s: Number) -> Number:
    """Throughput of one window per RTT, the most a window allows (eq. 10, 11)."""
    return window_bytes * BITS_PER_BYTE / rtt_s


def window_needed_bytes(rate_bps: Number, rtt_s: Number) -> Number:
    """Window that ``rate_bps`` needs at ``rtt_s`` (eq. 10, 11 solved for it)."""
    return rate_bps * rtt_s / BITS_PER_BYTE
