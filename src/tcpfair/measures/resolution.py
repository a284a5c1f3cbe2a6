"""The measures that a coarse trace does not show, by the requirements in `tcpfair.measures.catalogue`.

A trace states the interval in which its bytes were counted (`Trace.resolution_s`). If that is longer than the measured
sample, single seconds are interpolated: measures of single samples are excluded, sums over the window stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tcpfair.measures.catalogue import GROUPS, METRICS, Metric

Value = TypeVar("Value")

TOLERANCE = 1.1  # timers run late: polls up to this many intervals apart still count as one in each

# the measures of these groups that exhibits of recordings show
OF_RECORDINGS: dict[str, tuple[str, ...]] = {
    "jfi": ("jfi_mean", "jfi_of_means"),
    "nru": ("U_n", "U_N", "U_N+", "U_N-", "case", "U_n_error", "zero_share", "U_n_of_means"),
    "stability": ("S_n", "S_N_eq10"),
    "convergence": ("T_U",),
}


def is_coarse(recorded_s: float, sample_s: float) -> bool:
    """Whether intervals of ``recorded_s`` are too long for measures of single samples of ``sample_s``."""
    return recorded_s > TOLERANCE * sample_s


def too_fine(group: str, names: Iterable[str]) -> list[str]:
    """The measures among ``names`` of a group that a coarse recording does not have, each once."""
    by_name = {name: METRICS.get(name.partition("@")[0], Metric()).need or GROUPS[group].need for name in names}
    return [name for name, need in by_name.items() if need == "sample"]


def kept(group: str, values: dict[str, Value]) -> dict[str, Value]:
    """The measures of a group that a coarse recording has."""
    fine = too_fine(group, values)
    return {name: value for name, value in values.items() if name not in fine}


def left_out(recorded_s: float, sample_s: float, groups: Iterable[str] = tuple(OF_RECORDINGS)) -> str:
    """One line on the measures of ``groups`` that a recording every ``recorded_s`` does not have; '' when it has all."""
    if not is_coarse(recorded_s, sample_s):
        return ""
    names = [name for group in groups for name in too_fine(group, OF_RECORDINGS[group])]
    need = "needs" if len(names) == 1 else "need"
    are = "is" if len(names) == 1 else "are"
    return f"recorded every {recorded_s:g} s: {', '.join(names)} {need} intervals of {sample_s:g} s and {are} left out"
