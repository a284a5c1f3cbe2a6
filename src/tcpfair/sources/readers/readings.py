"""Readings of running totals from other forms of output: intervals with their bytes, single packets, events."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers.observed import LINK, Floats, Gaps, ObservedFlow

MAX_SPAN_S = 86_400.0  # a day is the longest recording
MAX_READINGS = 3_000_000  # of all flows together, in less than 1 GB: a day at 0.1 s of three flows, at 1 s of 34
MAX_OF_FLOW = 864_000  # of one flow: a day at 0.1 s
MAX_PACKETS = 20_000_000  # of all flows together
MAX_FLOWS = 10_000
MAX_BPS = 1e13  # above the rate of any link
MAX_TOTAL_BYTES = 2.0**62
PAYLOAD_BYTES = 1448.0  # of a packet on Ethernet, with timestamps
U32_MAX = 2**32 - 1
INFINITE_SSTHRESH = 0x7FFFFFFF  # of a kernel: not set yet
MICROSECONDS_PER_S = 1e6
WALL_CLOCK_S = (946_684_800.0, 4_102_444_800.0)  # 2000 to 2100: times in here are seconds since 1970
PACKET_BIN_S = 0.01
LINK_BIN_S = 0.1
PACKET_INTERVAL_S = 0.1  # packets have no intervals; interval_s of trace.yaml overrides this
GAP = 1.5  # a spacing of this many usual ones means a lost row
# spacings are even when nearly all are whole multiples of the usual one, to a tenth of it, and most are that one
_EVEN_SHARE, _USUAL_SHARE, _EVEN_WITHIN = 0.9, 0.7, 0.1


def refuse_more(count: int, most: int, what: str) -> None:
    """Raise InputError for more than ``most`` of ``what``, which continues with the remedy."""
    if count > most:
        raise InputError(f"more than {most} {what}")


def check_span(first_s: float, last_s: float) -> None:
    """Raise InputError when a recording is longer than a day: seconds mistaken for something else, or a damaged time."""
    if not last_s - first_s <= MAX_SPAN_S:
        raise InputError(
            f"from {first_s:.9g} to {last_s:.9g} s is more than a day; "
            "check the unit of the times, or give the recording in parts"
        )


def is_wall_clock(first_s: float) -> bool:
    """Whether a time in seconds can only be a wall clock."""
    return WALL_CLOCK_S[0] <= first_s <= WALL_CLOCK_S[1]


def flow_of(
    name: str,
    file: Path,
    readings: tuple[Floats, Floats],
    interval_s: float,
    origin: str,
    windows: pd.DataFrame,
    gaps_s: Gaps = (),
    **known: object,
) -> ObservedFlow:
    """The flow of (times, running totals), with its windows on the same clock and further ``known`` fields.

    Times that can only be a wall clock count from the first of them; the smallest RTT is that of the windows.
    """
    times_s, total_bytes = readings
    check_span(times_s[0], times_s[-1])
    if total_bytes[-1] > MAX_TOTAL_BYTES:
        raise InputError(f"{total_bytes[-1]:.3g} bytes in all are more than any tool counts; check the unit")
    zero_s = float(times_s[0]) if is_wall_clock(times_s[0]) else 0.0
    if zero_s:
        known |= {"clock_s": zero_s, "offset_s": None}
    return ObservedFlow(
        name=name,
        file=file,
        times_s=times_s - zero_s,
        total_bytes=total_bytes,
        interval_s=interval_s,
        origin=origin,
        windows=windows.assign(t_s=windows["t_s"] - zero_s),
        gaps_s=tuple((from_s - zero_s, to_s - zero_s) for from_s, to_s in gaps_s),
        **{"rtt_s": float(windows["srtt_s"][windows["srtt_s"] > 0].min()), **known},
    )


def usual_spacing(times_s: Floats) -> tuple[float, bool]:
    """The median spacing of increasing times, in s, and whether spacings are even except for lost rows; at least two times."""
    spacing_s = np.diff(times_s)
    usual_s = float(np.median(spacing_s))
    multiples = np.round(spacing_s / usual_s)
    even = (np.abs(spacing_s - multiples * usual_s) <= _EVEN_WITHIN * usual_s) & (multiples >= 1)
    return usual_s, bool(even.mean() >= _EVEN_SHARE and (even & (multiples == 1)).mean() >= _USUAL_SHARE)


def half_digit(number: str) -> float:
    """Slightly more than half of the last digit of a printed number without exponent."""
    return 0.51 * 10.0 ** -len(number.partition(".")[2])


def from_intervals(
    starts_s: Floats, ends_s: Floats, in_bytes: Floats, touch_s: float = 0.0
) -> tuple[Floats, Floats, Gaps]:
    """Times, running totals and gaps of intervals in order, each with its bytes; NaN bytes were not observed.

    Intervals may touch; if one begins more than ``touch_s`` after the end of the one before, the time in between is a gap,
    in which the total stays. Unobserved intervals at the beginning and at the end are omitted. Shapes (intervals,) in,
    (readings,) out.
    """
    seen = np.flatnonzero(~np.isnan(in_bytes))
    if not len(seen):
        return np.empty(0), np.empty(0), ()
    starts_s, ends_s, in_bytes = starts_s[seen], ends_s[seen], in_bytes[seen]
    totals = np.cumsum(in_bytes)
    # the first interval needs its own beginning as well
    at = np.flatnonzero(np.r_[True, starts_s[1:] - ends_s[:-1] > touch_s])
    times_s = np.insert(ends_s, at, starts_s[at])
    total_bytes = np.insert(totals, at, np.r_[0.0, totals[:-1]][at])
    gaps = tuple((float(ends_s[i - 1]), float(starts_s[i])) for i in at[1:])
    return times_s, total_bytes, gaps


def gathered(packets: Sequence[tuple[Floats, Floats]], start_s: float, stop_s: float) -> tuple[Floats, list[Floats]]:
    """Times and running totals, one for each pair of (times, bytes) of single packets, all between start and stop.

    Packets are gathered in bins of `PACKET_BIN_S`, or ten times that if there would be too many; a total rises only
    within bins that have packets. Start and stop are readings too.
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
    times_s = np.r_[start_s, np.column_stack([from_s, to_s]).ravel(), stop_s]
    keep = np.r_[np.diff(times_s) > 0, True]  # the later of two readings at one time has more bytes
    totals = []
    for (_, in_bytes), places in zip(packets, bins, strict=True):
        risen = np.cumsum(np.bincount(np.searchsorted(used, places), in_bytes, len(used)))
        total = np.r_[0.0, np.column_stack([np.r_[0.0, risen[:-1]], risen]).ravel(), risen[-1:]][keep]
        total[0] = 0.0
        totals.append(total)
    return times_s[keep], totals


def link_table(changes: pd.DataFrame, bins: int) -> pd.DataFrame:
    """Totals of a link after each of ``bins`` of `LINK_BIN_S`, in the columns of a trace.

    ``changes`` are events with the columns bin, forwarded (bytes), dropped and waiting (packets).
    """
    kinds = ["forwarded", "dropped", "waiting"]
    totals = changes.groupby("bin")[kinds].sum().reindex(range(bins), fill_value=0).cumsum().astype(np.float64)
    totals.columns = ["forwarded_bytes", "dropped_pkts", "queue_pkts"]
    totals["queue_pkts"] = totals["queue_pkts"].clip(lower=0.0)
    return totals.reset_index(drop=True).assign(t_s=(np.arange(bins) + 1) * LINK_BIN_S)[LINK]


def bins_of(t_s: np.ndarray) -> np.ndarray:
    """The bins of `LINK_BIN_S` of times."""
    return np.floor(t_s / LINK_BIN_S + 1e-6).astype(np.int64)
