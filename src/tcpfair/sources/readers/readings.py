"""Readings of running totals out of what tools write down instead: intervals with their bytes, or single packets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tcpfair.errors import InputError
from tcpfair.sources.readers.observed import Observed
from tcpfair.sources.readers.sidecar import Sidecar

Floats = NDArray[np.float64]
Gaps = tuple[tuple[float, float], ...]

MAX_SPAN_S = 86_400.0  # a day is the longest recording
MAX_READINGS = 3_000_000  # of all flows together, in less than 1 GB: a day at 0.1 s of three flows, at 1 s of 34
MAX_OF_FLOW = 864_000  # of one flow: a day at 0.1 s
MAX_PACKETS = 20_000_000  # of all flows together
MAX_FLOWS = 10_000
MAX_BPS = 1e13  # no link has ten terabits a second
MAX_TOTAL_BYTES = 2.0**62
WALL_CLOCK_S = (946_684_800.0, 4_102_444_800.0)  # 2000 to 2100: times in here are seconds since 1970
PACKET_BIN_S = 0.01
PACKET_INTERVAL_S = 0.1  # packets have no intervals of their own; trace.yaml's interval_s says others
GAP = 1.5  # a spacing that is this many usual ones has lost a row
# spacings are even when nearly all are whole multiples of the usual one, to a tenth of it, and most are that one
_EVEN_SHARE, _USUAL_SHARE, _EVEN_WITHIN = 0.9, 0.7, 0.1


@contextmanager
def located(where: object) -> Iterator[None]:
    """Put ``where`` (a file, a flow) before every InputError that is raised inside and does not name it already."""
    try:
        yield
    except InputError as error:
        says = error.args[0]
        raise InputError(says if says.startswith((f"{where}: ", f"{where}/")) else f"{where}: {says}") from None


def naming_file(read: Callable[[Path, Sidecar], Observed]) -> Callable[[Path, Sidecar], Observed]:
    """A reader whose errors begin with its file."""

    @wraps(read)
    def named(path: Path, said: Sidecar) -> Observed:
        with located(path):
            return read(path, said)

    return named


def refusing(check: Callable[..., Iterator[str]]) -> Callable[..., None]:
    """A check that yields what is wrong, as a function of ``where`` and its arguments that raises InputError of the first."""

    @wraps(check)
    def refuse(where: object, *args: object) -> None:
        for says in check(*args):
            raise InputError(f"{where}: {says}")

    return refuse


def refuse_first(odd: NDArray[np.bool_], says: Callable[[int], str]) -> None:
    """Raise InputError with what ``says`` writes of the first row at which ``odd`` is true."""
    if odd.any():
        raise InputError(says(int(np.argmax(odd))))


def check_span(first_s: float, last_s: float) -> None:
    """Raise InputError when a recording is longer than a day: seconds mistaken for something else, or a damaged time."""
    if not last_s - first_s <= MAX_SPAN_S:
        raise InputError(
            f"from {first_s:.9g} to {last_s:.9g} s is more than a day; "
            "check the unit of the times, or give the recording in parts"
        )


def is_wall_clock(first_s: float) -> bool:
    """Whether a time in seconds can only be one since 1970."""
    return WALL_CLOCK_S[0] <= first_s <= WALL_CLOCK_S[1]


def usual_spacing(times_s: Floats) -> tuple[float, bool]:
    """The median spacing of increasing times, in s, and whether spacings are even but for lost rows; at least two times."""
    spacing_s = np.diff(times_s)
    usual_s = float(np.median(spacing_s))
    multiples = np.round(spacing_s / usual_s)
    even = (np.abs(spacing_s - multiples * usual_s) <= _EVEN_WITHIN * usual_s) & (multiples >= 1)
    return usual_s, bool(even.mean() >= _EVEN_SHARE and (even & (multiples == 1)).mean() >= _USUAL_SHARE)


def from_intervals(starts_s: Floats, ends_s: Floats, in_bytes: Floats) -> tuple[Floats, Floats, Gaps]:
    """Times, running totals and gaps of intervals in order, each with its bytes; NaN bytes were not observed.

    Intervals may touch; where one begins after the end of the one before, nothing was observed in between. The total stays
    in a gap. Intervals not observed at the beginning and at the end are left out. Shapes (intervals,) in, (readings,) out.
    """
    seen = np.flatnonzero(~np.isnan(in_bytes))
    if not len(seen):
        return np.empty(0), np.empty(0), ()
    starts_s, ends_s, in_bytes = starts_s[seen], ends_s[seen], in_bytes[seen]
    totals = np.cumsum(in_bytes)
    is_gap = np.empty(len(seen), dtype=bool)
    is_gap[0] = True  # the first interval needs its own beginning as well
    is_gap[1:] = starts_s[1:] > ends_s[:-1]
    at = np.flatnonzero(is_gap)
    before = np.concatenate([[0.0], totals[:-1]])
    times_s = np.insert(ends_s, at, starts_s[at])
    total_bytes = np.insert(totals, at, before[at])
    gaps = tuple((float(ends_s[i - 1]), float(starts_s[i])) for i in at[1:])
    return times_s, total_bytes, gaps


def gathered(packets: Sequence[tuple[Floats, Floats]], start_s: float, stop_s: float) -> tuple[Floats, list[Floats]]:
    """Times and running totals, one for each pair of (times, bytes) of single packets, all between start and stop.

    Packets are gathered in bins of `PACKET_BIN_S`, of ten times that where there would be too many; a total rises within
    the bins that have packets and nowhere else. Start and stop are readings too.
    """
    bin_s = PACKET_BIN_S
    while True:
        bins = [np.floor(t_s / bin_s + 1e-6) for t_s, _ in packets]
        used = np.unique(np.concatenate(bins))
        if 2 * len(used) + 2 <= MAX_OF_FLOW:
            break
        bin_s *= 10
    from_s = np.clip(used * bin_s, start_s, stop_s)
    to_s = np.clip((used + 1) * bin_s, start_s, stop_s)
    times_s = np.concatenate([[start_s], np.column_stack([from_s, to_s]).ravel(), [stop_s]])
    keep = np.concatenate([np.diff(times_s) > 0, [True]])  # of two readings at one time the later has more bytes
    totals = []
    for (_, in_bytes), places in zip(packets, bins, strict=True):
        risen = np.cumsum(np.bincount(np.searchsorted(used, places), in_bytes, len(used)))
        before = np.concatenate([[0.0], risen[:-1]])
        total = np.concatenate([[0.0], np.column_stack([before, risen]).ravel(), risen[-1:]])[keep]
        total[0] = 0.0
        totals.append(total)
    return times_s[keep], totals
