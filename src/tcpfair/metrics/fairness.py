"""Jain's index, normalised resource usage (NRU), stability and convergence to fairness.

Throughput ``r`` has shape (..., flows, samples), in any one unit. Equation numbers are those of bhatti2008 ("Revisiting
inter-flow fairness"); bhatti2009 has the same measures, with its own numbers where they differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tcpfair.metrics.exactmath import log10
from tcpfair.metrics.series import coefficient_of_variation, first_time_s, share_of_time

Floats = npt.NDArray[np.float64]

# Unfairness of at most 10%: 10 log10(0.9), as published (bhatti2008, sec. III-D).
U_C_DB = -0.46


# --- Jain's fairness index ---------------------------------------------------------------------------------------


def jfi(r: npt.ArrayLike, axis: int = -1) -> Floats:
    """Jain's fairness index of the values along ``axis``, in [1/n, 1]; NaN when all are zero.

    bhatti2008 and bhatti2009, eq. 1; kozu2014, eq. 5.
    """
    r = np.asarray(r, dtype=float)
    with np.errstate(invalid="ignore"):
        # (eq. 1)
        return r.sum(axis=axis) ** 2 / (r.shape[axis] * (r**2).sum(axis=axis))


def jfi_over_time(r: npt.ArrayLike) -> Floats:
    """J(t), shape (..., samples): the index of the flows' throughput in each sample (eq. 2)."""
    return jfi(r, axis=-2)


def mean_jfi(r: npt.ArrayLike) -> Floats:
    """Time mean of J(t), the papers' index; samples without any delivery do not count."""
    j = jfi_over_time(r)
    return _mean_where(j, ~np.isnan(j))


def jfi_of_means(r: npt.ArrayLike) -> Floats:
    """Index of the flows' time-mean throughputs. It ignores alternation in time and is mostly above `mean_jfi`."""
    return jfi(np.mean(r, axis=-1))


def rate_ratio_from_jfi(j: npt.ArrayLike) -> Floats:
    """Ratio of the larger to the smaller of two values whose index is ``j`` in (0.5, 1] (eq. 1 solved for it)."""
    c = 2 * np.asarray(j, dtype=float) - 1
    # J may exceed 1 by rounding
    return (1 + np.sqrt(np.maximum(1 - c**2, 0))) / c


# --- Normalised resource usage -----------------------------------------------------------------------------------


def weights_per_column(self_throughput: npt.ArrayLike) -> Floats:
    """Weights w_n = 1/Rr_n (..., flows) of bhatti2009: each flow's position in its calibration run.

    ``self_throughput[..., n, m]`` is the mean throughput of flow m when every flow runs the protocol of flow n, shape
    (..., flows, flows). Source: bhatti2009 eq. 9-10 and sec. II-G, III-B.
    """
    with np.errstate(divide="ignore"):  # a flow without delivery has the weight inf
        # (eq. 10 of bhatti2009)
        return 1 / np.diagonal(np.asarray(self_throughput, dtype=float), axis1=-2, axis2=-1)


def weights_mean_of_columns(self_throughput: npt.ArrayLike) -> Floats:
    """Weights w_n = 1/Rr_n (..., flows) of bhatti2008: the mean over all flows of the calibration run.

    ``self_throughput`` as for `weights_per_column`. Source: bhatti2008 eq. 13-14 and sec. V-A.
    """
    # (eq. 14)
    return 1 / np.mean(self_throughput, axis=-1)


def weights_half_of_sum(self_throughput: npt.ArrayLike) -> Floats:
    """Weights (..., flows) if each flow can expect half of the total throughput of the calibration run.

    ``self_throughput`` as for `weights_per_column`. With two flows this is `weights_mean_of_columns`; no paper
    describes it for more.
    """
    return 2 / np.sum(self_throughput, axis=-1)


def weights_sum_of_columns(self_throughput: npt.ArrayLike) -> Floats:
    """Weights (..., flows) if each flow can expect the total throughput of the calibration run.

    ``self_throughput`` as for `weights_per_column`; no paper describes it.
    """
    return 1 / np.sum(self_throughput, axis=-1)


def nru_over_time_db(r: npt.ArrayLike, weights: npt.ArrayLike, floor: float) -> Floats:
    """U_n(t) in dB, shape (..., flows, samples), for ``weights`` of shape (..., flows) (eq. 3-4).

    A sample below ``floor`` counts as ``floor``: use the rate of one segment per sample interval, the smallest
    measurable rate, so that a second without delivery stays finite. Report `zero_share` with the result.
    """
    # (eq. 4)
    R = np.asarray(weights, dtype=float)[..., np.newaxis] * np.maximum(r, floor)
    # (eq. 3)
    return 10 * log10(R)


def zero_share(r: npt.ArrayLike) -> Floats:
    """Share of each flow's samples without delivery, shape (..., flows)."""
    return share_of_time(np.asarray(r) == 0)


def flow_nru_db(u_db: npt.ArrayLike) -> Floats:
    """Flow NRU U_n (..., flows): the mean over samples of U_n(t) in dB (eq. 5)."""
    return np.mean(u_db, axis=-1)


def flow_nru_db_of_mean(r: npt.ArrayLike, weights: npt.ArrayLike) -> Floats:
    """NRU in dB of each flow's mean throughput (..., flows); -inf for a flow without delivery.

    Not eq. 5, but what a reader can compute from the published mean throughputs. Unless samples were floored it is at
    least `flow_nru_db`, because the logarithm is concave.
    """
    with np.errstate(invalid="ignore"):  # nan where the flow had no delivery in its calibration run either
        return 10 * log10(np.asarray(weights) * np.mean(r, axis=-1))


class NruTuple(NamedTuple):
    """System NRU in dB: mean over all flows, over the flows at or above 0, and over those below 0."""

    u_mean: Floats
    u_plus: Floats
    u_minus: Floats


def nru_tuple(u_n_db: npt.ArrayLike) -> NruTuple:
    """U_N, U_N+ and U_N- (...) of the flow NRUs ``u_n_db`` (..., flows); NaN where no flow belongs to the set.

    bhatti2008 eq. 6-8, bhatti2009 eq. 6-8.
    """
    u_n_db = np.asarray(u_n_db, dtype=float)
    return NruTuple(
        u_n_db.mean(axis=-1),  # (eq. 6 of bhatti2009)
        _mean_where(u_n_db, u_n_db >= 0),  # (eq. 7)
        _mean_where(u_n_db, u_n_db < 0),  # (eq. 8)
    )


def case_letter(u_plus_db: npt.ArrayLike, u_minus_db: npt.ArrayLike, decimals: int = 2) -> npt.NDArray[np.str_]:
    """Case A (all flows unfair) to E (all flows fair) of a system NRU rounded to ``decimals``; "-" without any flow.

    Table II of both papers. NaN means an empty set; an unfair NRU that rounds to zero counts as fair.
    """
    u_plus, u_minus = np.round(u_plus_db, decimals), np.round(u_minus_db, decimals)
    unfair = u_minus < 0
    none_fair = np.isnan(u_plus) & (u_minus != 0)
    return np.select(
        [none_fair & ~unfair, none_fair, unfair & (u_plus > 0), unfair, u_plus > 0],
        ["-", "A", "B", "C", "D"],
        default="E",
    )


# --- Stability ---------------------------------------------------------------------------------------------------


def flow_stability(u_db: npt.ArrayLike) -> Floats:
    """S_n (..., flows): coefficient of variation of U_n(t) over the samples; lower is steadier (eq. 9)."""
    return coefficient_of_variation(u_db)


def system_stability(u_db: npt.ArrayLike) -> Floats:
    """S_N (...): mean of the flow stabilities (eq. 10). Table VI has `tuple_stability` instead."""
    return flow_stability(u_db).mean(axis=-1)


def tuple_stability(u_n_db: npt.ArrayLike) -> Floats:
    """Coefficient of variation over the flow NRUs ``u_n_db`` (..., flows).

    This, not eq. 10, reproduces the S_N of Table VI of bhatti2008: for two flows of opposite sign it is the
    sample standard deviation of (U_N+, U_N-) over the magnitude of their mean, within rounding in 13 of 15 cells.
    """
    return coefficient_of_variation(u_n_db)


# --- Convergence to fairness -------------------------------------------------------------------------------------


def convergence_time_s(
    u_db: npt.ArrayLike, t_s: npt.ArrayLike, t_e_s: float, u_c_db: float = U_C_DB, window_s: float = 1.0
) -> Floats:
    """T_Un (..., flows): time from the epoch ``t_e_s`` until each flow's NRU reaches ``u_c_db``; NaN if it never does.

    ``u_db`` is U_n(t), shape (..., flows, samples), at evenly spaced ``t_s``. The test looks at the mean over the last
    ``window_s``, which must be after ``t_e_s``; the default, one sample of the papers, is eq. 12 as published.

    The mean in eq. 12 has no stated set. It is read here as a mean over the runs: pass ``u_db`` averaged over them.
    In single runs one noisy second passes the test, and Table VII would hardly have "-" next to times of 61 s. The
    paper has t_e at 30 s (sec. VI-D) and at 60 s (Table VI) and analyses samples from 60 s: choose ``t_e_s``, and
    select the samples with `tcpfair.metrics.series.window_mask`. bhatti2008 eq. 11-12.
    """
    u_window, t_window_s = _window_means(u_db, t_s, t_e_s, window_s)
    # (eq. 11, 12)
    return first_time_s(u_window >= u_c_db, t_window_s) - t_e_s


def system_convergence_time_s(
    u_db: npt.ArrayLike,
    t_s: npt.ArrayLike,
    t_e_s: float,
    u_c_db: float = U_C_DB,
    window_s: float = 1.0,
    over_flows: Callable[..., Floats] = np.min,
) -> Floats:
    """T_U (...): time until the flows of ``u_db`` (..., flows, samples) have converged together; NaN if they never do.

    Parameters as for `convergence_time_s`; pass a subset of the flows for the inter-flow time. ``over_flows`` joins
    the flows: ``np.min`` requires every flow to reach ``u_c_db``, ``np.mean`` only their mean, which is the literal eq.
    12 with {U_m(t)} for {U_n(t)}. The default follows the published values: at 75 ms NewReno never converges (Table
    VII) though its U_N+ of 0.83 and U_N- of -1.48 dB (Table VI) average to -0.33 dB, above U_c, so the mean must have
    crossed it.
    """
    u_window, t_window_s = _window_means(u_db, t_s, t_e_s, window_s)
    return first_time_s(over_flows(u_window, axis=-2) >= u_c_db, t_window_s) - t_e_s


def _window_means(u_db: npt.ArrayLike, t_s: npt.ArrayLike, t_e_s: float, window_s: float) -> tuple[Floats, Floats]:
    """Means over the windows of ``window_s`` after ``t_e_s``, shape (..., windows), and the ends of the windows."""
    u_db, t_s = np.asarray(u_db, dtype=float), np.asarray(t_s, dtype=float)
    n = round(window_s / (t_s[1] - t_s[0]))
    after = t_s > t_e_s
    if np.count_nonzero(after) < n:
        return u_db[..., :0], t_s[:0]
    windows = np.lib.stride_tricks.sliding_window_view(u_db[..., after], n, axis=-1)
    return windows.mean(axis=-1), t_s[after][n - 1 :]


def _mean_where(x: Floats, mask: npt.NDArray[np.bool_]) -> Floats:
    """Mean along the last axis of the values where ``mask`` holds; NaN if it never holds."""
    with np.errstate(invalid="ignore"):
        return x.sum(axis=-1, where=mask) / mask.sum(axis=-1)
