"""Congestion-window dynamics between losses: epoch lengths, peaks, decrease factors, growth and CUBIC's K.

Events are the columns of one flow in time order: ``t_s``, ``kind`` (loss, rto, recovery_end), ``cwnd_before_pkts``,
``cwnd_after_pkts``, each of shape (events,). A window series is ``t_s``, ``cwnd_pkts`` of shape (samples,).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from tcpfair.metrics.series import first_time_s, fitted_slope

Floats = npt.NDArray[np.float64]

LOSS_KINDS = ("loss", "rto")


def loss_times_s(t_s: npt.ArrayLike, kind: npt.ArrayLike) -> Floats:
    """Times at which the flow reduced its window, by fast recovery or by timeout."""
    return np.asarray(t_s, dtype=float)[np.isin(kind, LOSS_KINDS)]


def epoch_lengths_s(loss_t_s: npt.ArrayLike) -> Floats:
    """Lengths of the loss epochs, from each of ``loss_t_s`` (losses,) to the next: shape (losses - 1,)."""
    return np.diff(np.asarray(loss_t_s, dtype=float))


def losses_between_s(loss_t_s: npt.ArrayLike, start_s: float, stop_s: float) -> Floats:
    """The times of ``loss_t_s`` in [``start_s``, ``stop_s``]."""
    loss_t_s = np.asarray(loss_t_s, dtype=float)
    return loss_t_s[(loss_t_s >= start_s) & (loss_t_s <= stop_s)]


def mean_epoch_s(loss_t_s: npt.ArrayLike) -> float:
    """Mean length of the loss epochs between ``loss_t_s`` (losses,) in order; NaN for fewer than two losses."""
    lengths_s = epoch_lengths_s(loss_t_s)
    return float(lengths_s.mean()) if lengths_s.size else float("nan")


def whole_epochs_s(loss_t_s: npt.ArrayLike, start_s: float, stop_s: float, least_share: float) -> tuple[float, float]:
    """The span from the first to the last loss in [``start_s``, ``stop_s``], so that a mean over it covers complete epochs.

    All of the window if the losses span less than ``least_share`` of it.
    """
    inside_s = losses_between_s(loss_t_s, start_s, stop_s)
    if inside_s.size < 2 or inside_s[-1] - inside_s[0] < least_share * (stop_s - start_s):
        return start_s, stop_s
    return float(inside_s[0]), float(inside_s[-1])


def growth_slope_pkts_per_s(t_s: npt.ArrayLike, cwnd_pkts: npt.ArrayLike, start_s: float, stop_s: float) -> float:
    """Least-squares slope of the window in [``start_s``, ``stop_s``], which must hold at least two samples."""
    t_s, cwnd_pkts = np.asarray(t_s, dtype=float), np.asarray(cwnd_pkts, dtype=float)
    inside = (t_s >= start_s) & (t_s <= stop_s)
    return fitted_slope(t_s[inside], cwnd_pkts[inside])


def measured_k_s(
    t_s: npt.ArrayLike, cwnd_pkts: npt.ArrayLike, recovery_end_s: npt.ArrayLike, w_max_pkts: npt.ArrayLike
) -> Floats:
    """CUBIC's observed K: time from the end of each recovery until the window returns to that epoch's W_max.

    ``recovery_end_s`` and ``w_max_pkts`` have shape (epochs,); so has the result, with NaN for an epoch whose next
    recovery ends first. Compare with K of kozu2014 eq. 2.
    """
    t_s, cwnd_pkts = np.asarray(t_s, dtype=float), np.asarray(cwnd_pkts)
    starts_s = np.asarray(recovery_end_s, dtype=float)
    stops_s = np.append(starts_s[1:], np.inf)
    epochs = zip(starts_s, stops_s, np.asarray(w_max_pkts), strict=True)
    returns_s = [first_time_s((t_s >= a) & (t_s < b) & (cwnd_pkts >= w_max), t_s) for a, b, w_max in epochs]
    return np.asarray(returns_s, dtype=float) - starts_s


def k_over_time_s(t_s: npt.ArrayLike, loss_t_s: npt.ArrayLike, loss_k_s: npt.ArrayLike) -> Floats:
    """CUBIC's K in force at each of ``t_s`` (samples,): a loss ends the epoch whose K it is logged with.

    ``loss_t_s`` and ``loss_k_s`` have shape (losses,), in order of time; NaN after the last of them.
    """
    return np.append(np.asarray(loss_k_s, dtype=float), np.nan)[np.searchsorted(loss_t_s, t_s, side="left")]


def common_losses(first_t_s: npt.ArrayLike, second_t_s: npt.ArrayLike, within_s: float) -> npt.NDArray[np.int64]:
    """Matching losses of two flows: pairs of indices, shape (pairs, 2), in order of time.

    Each of ``first_t_s`` matches the nearest of ``second_t_s``, both sorted, if that is at most ``within_s`` away; of
    two candidates for the same one, the nearer matches.
    """
    first, second = np.asarray(first_t_s, dtype=float), np.asarray(second_t_s, dtype=float)
    if not (first.size and second.size):
        return np.empty((0, 2), dtype=np.int64)
    apart_s = np.abs(first[:, np.newaxis] - second)
    nearest, back = apart_s.argmin(axis=1), apart_s.argmin(axis=0)
    places = np.arange(first.size)
    mutual = (back[nearest] == places) & (apart_s[places, nearest] <= within_s)
    return np.stack([places[mutual], nearest[mutual]], axis=1)


def synchronised_loss_share(loss_t_s: Sequence[npt.ArrayLike], window_s: float) -> float:
    """Mean share of the other flows that also lose within ``window_s`` before or after a loss, over all losses.

    ``loss_t_s`` holds the sorted loss times of each of at least two flows. 1 is global synchronisation; NaN without any loss.
    """
    flows = [np.asarray(t_s, dtype=float) for t_s in loss_t_s]
    shared = np.concatenate([_has_neighbour(own, other, window_s) for own, other in permutations(flows, 2)])
    return float(shared.mean()) if shared.size else float("nan")


def _has_neighbour(own_s: Floats, other_s: Floats, window_s: float) -> npt.NDArray[np.bool_]:
    """For each of ``own_s``, whether the sorted ``other_s`` has a time within ``window_s`` of it."""
    first = np.searchsorted(other_s, own_s - window_s, side="left")
    last = np.searchsorted(other_s, own_s + window_s, side="right")
    return last > first
