"""Flows of several tools combined into one trace: a common clock, equal intervals, and no silent error.

The checks here apply to every format. Refused with one line are a flow that occurs twice, starts that contradict the
clocks, flows that never overlap, and windows too small for the goodput: each would give a wrong number.
`tcpfair.runs.recorded.stated` does the checks that need only the trace (more goodput than the link carries, a stated
RTT above the smallest measured one). Time without observation is marked (``samples.observed``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tcpfair.errors import InputError, unknown
from tcpfair.papers.recordings import name_of, sidecar_path
from tcpfair.runs.intervals import counted_between, edges, last_value
from tcpfair.runs.recorded import PAPER, stated
from tcpfair.runs.trace import POLLS, SCHEMA, Trace, empty
from tcpfair.sources.readers import conservation
from tcpfair.sources.readers.observed import Floats, Observed, ObservedFlow
from tcpfair.sources.readers.readings import MAX_BPS, MAX_SPAN_S
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import refusing
from tcpfair.units import BITS_PER_BYTE

MAX_SAMPLES = 20_000_000  # of all flows together: 2 GB
START_ERROR_S = 2.0  # a stated start and the clock may differ by the start-up time of a shell
RECORDED_SHARE = 0.9  # of the time of a flow: the rest may be in longer intervals
SAME_INTERVAL = 0.02  # clocks and timers of a tool explain this share of an interval


def compose(observed: Observed, said: Sidecar, path: Path) -> Trace:
    """The trace of one run with all statements about it: `as_recorded`, then `tcpfair.runs.recorded.stated`."""
    return stated(as_recorded(observed, said, path), said.of_trace, path)


def as_recorded(observed: Observed, said: Sidecar, path: Path) -> Trace:
    """The trace of one run, its flows in order of their starts, with the statements needed for reading.

    ``path`` is the recording; errors name it and its `sidecar_path`. Raises InputError, see the top of this module.
    """
    flows = _wanted(observed.flows, said, path)
    _refuse_twins(flows)
    starts_s, how = _starts_s(flows, said, path)
    placed = sorted(map(_Placed, flows, starts_s), key=lambda one: one.start_s)
    flows, starts_s = [one.flow for one in placed], [one.start_s for one in placed]
    _check_meeting(path, placed)

    sample_s = said.interval_s or round(max(flow.interval_s for flow in flows), 3)
    duration_s = observed.duration_s or max(one.stop_s for one in placed)
    _check_length(path, duration_s, sample_s, len(flows), sidecar_path(path))
    edges_s = edges(duration_s, sample_s)
    samples = [samples_of(one.flow, one.shift_s, edges_s).assign(flow_id=i) for i, one in enumerate(placed, start=1)]
    for flow, rows in zip(flows, samples, strict=True):
        _check_flow(f"{flow.file}: {flow.name}", flow, rows, sample_s)
        conservation.refuse_impossible_windows(flow)

    # in a run of stated length flows stop with it
    until_s = [observed.duration_s or one.stop_s for one in placed]
    seen = [_seen(one.flow, stop_s - one.shift_s) for one, stop_s in zip(placed, until_s, strict=True)]
    name = name_of(path)
    remarks = [*observed.remarks, how, *(remark for one in placed for remark in _looked_away(one))]
    events = of_flows((flow.events for flow in flows), (one.shift_s for one in placed), empty("events"))
    return Trace(
        runs=run_table(
            name, observed.backend, duration_s, sample_s, recorded_s=max(map(_recorded_s, flows)), **observed.parameters
        ),
        flows=flow_table([flow.cc for flow in flows], [flow.rtt_s for flow in flows], starts_s, until_s).assign(
            direction=[flow.direction for flow in flows],
            observed_bytes=np.array([in_bytes for in_bytes, _ in seen], dtype=np.int64),
            observed_s=[seen_s for _, seen_s in seen],
        ),
        samples=pd.concat(samples, ignore_index=True),
        link=_link(observed, placed, edges_s),
        events=empty("events") if events is None else events,
        # windows at every poll; the samples keep only one in each interval
        polls=of_flows(
            (flow.windows.assign(t_s=flow.windows["t_s"] - flow.start_s) for flow in flows),
            starts_s,
            list(SCHEMA[POLLS]),
        ),
        provenance={
            **provenance(name, observed.backend, {flow.origin for flow in flows}),
            **observed.provenance,
            "names": [flow.name for flow in flows],
            "origins": [flow.origin for flow in flows],
            "remarks": [remark for remark in remarks if remark],
        },
    )


# --- Flows and their times ------------------------------------------------------------------------------------------


class _Placed(NamedTuple):
    """A flow, and its start in the run."""

    flow: ObservedFlow
    start_s: float

    @property
    def shift_s(self) -> float:
        """From its own clock to that of the run."""
        return self.start_s - self.flow.start_s

    @property
    def stop_s(self) -> float:
        """Its end in the run."""
        return self.flow.stop_s + self.shift_s


def _wanted(flows: Sequence[ObservedFlow], said: Sidecar, path: Path) -> list[ObservedFlow]:
    names = [flow.name for flow in flows]
    for each in said.flows:
        if each.flow not in names:
            raise unknown(f"{sidecar_path(path)}: flows: flow", each.flow, names)
    wanted = [flow for flow in flows if not said.of(flow.name).leave_out]
    if not wanted:
        raise InputError(f"{path}: no flow in it; give a recording of at least one TCP transfer")
    return wanted


def _refuse_twins(flows: Sequence[ObservedFlow]) -> None:
    """Refuse duplicate flows: counted twice, a flow makes any result fair."""
    seen: dict[str | bytes, ObservedFlow] = {}
    for flow in flows:
        marks = {mark: ("the same flow as", f" ({mark})") for mark in sorted(flow.identity)}
        steps = np.diff(flow.total_bytes)
        if np.unique(steps).size >= 4:  # steady or very short flows may look equal
            content = np.diff(flow.times_s).round(6).tobytes() + steps.tobytes()
            marks[content] = ("the same bytes in the same times as", "")
        for mark, (says, of_mark) in marks.items():
            one = seen.setdefault(mark, flow)
            if one is not flow:
                raise InputError(f"{flow.file}: {flow.name}: {says} {one.name}{of_mark}; give each flow once")


def _starts_s(flows: Sequence[ObservedFlow], said: Sidecar, path: Path) -> tuple[list[float], str]:
    """Start of each flow in the run, in s, and its source."""
    where = sidecar_path(path)
    stated = [said.of(flow.name).start_s for flow in flows]
    if any(start_s is not None for start_s in stated):
        lacks = next((flow for flow, start_s in zip(flows, stated, strict=True) if start_s is None), None)
        if lacks:
            raise InputError(f"{where}: flows: {lacks.name}: start_s is missing; give it for all flows or none")
        _check_starts(where, flows, stated)
        return stated, f"starts are those of {where.name}"
    if all(flow.offset_s is not None for flow in flows):
        _check_starts(path, flows, [flow.offset_s for flow in flows])
        return [flow.offset_s for flow in flows], "starts are those that the recording states"
    if len(flows) == 1:
        return [0.0], ""
    lost = next((flow for flow in flows if flow.clock_s is None), None)
    if lost:
        raise InputError(f"{lost.file}: {lost.name}: when it started is not recorded; give flows: start_s in {where}")
    clocks_s = [flow.clock_s + flow.start_s for flow in flows]
    error_s = max(flow.clock_error_s for flow in flows)
    rough = f", which are good to {error_s:g} s; exact ones are start_s in {where.name}" if error_s >= 0.1 else ""
    return [clock_s - min(clocks_s) for clock_s in clocks_s], f"starts are by the recordings' clocks{rough}"


@refusing
def _check_starts(flows: Sequence[ObservedFlow], starts_s: Sequence[float]) -> Iterator[str]:
    """Check stated starts against the clocks of the recordings."""
    timed = [(flow, start_s) for flow, start_s in zip(flows, starts_s, strict=True) if flow.clock_s is not None]
    zeros_s = np.array([flow.clock_s + flow.start_s - start_s for flow, start_s in timed])  # of the run, by each clock
    errors_s = np.array([flow.clock_error_s for flow, _ in timed])
    for error_s in np.unique(errors_s):
        as_good = np.flatnonzero(errors_s <= error_s)
        i, j = sorted((as_good[np.argmin(zeros_s[as_good])], as_good[np.argmax(zeros_s[as_good])]))
        if abs(zeros_s[j] - zeros_s[i]) > START_ERROR_S + error_s:
            (one, one_s), (other, other_s) = timed[i], timed[j]
            clocks_s = (other.clock_s + other.start_s) - (one.clock_s + one.start_s)
            yield (
                f"start of {other.name}: {other_s - one_s:g} s after {one.name} as stated, but {clocks_s:g} s by "
                "their clocks; correct the one that is wrong"
            )


@refusing
def _check_meeting(placed: Sequence[_Placed]) -> Iterator[str]:
    """Flows of one run overlap: each, in order of starts, begins before all earlier ones have ended."""
    for one, until_s in zip(placed[1:], accumulate((one.stop_s for one in placed), max), strict=False):
        if one.start_s >= until_s:
            yield (
                f"{one.flow.name}: begins at {one.start_s:g} s, after all others have ended ({until_s:g} s); "
                "import runs that are not one experiment one by one"
            )


@refusing
def _check_length(duration_s: float, sample_s: float, n_flows: int, sidecar: Path) -> Iterator[str]:
    if not 0 < duration_s <= MAX_SPAN_S:
        yield f"lasts {duration_s:g} s; give a run of more than 0 and at most {MAX_SPAN_S:g} s"
    if sample_s > duration_s * 1.1:
        yield f"intervals of {sample_s:g} s in a run of {duration_s:g} s; give a longer run"
    if n_flows * duration_s / sample_s > MAX_SAMPLES:
        yield (
            f"{n_flows} flows over {duration_s:g} s in intervals of {sample_s:g} s are too many samples; "
            f"give a longer interval_s in {sidecar}"
        )


# --- Tables ---------------------------------------------------------------------------------------------------------


def run_table(name: str, backend: str, duration_s: float, sample_s: float, **parameters: float) -> pd.DataFrame:
    """``runs`` of the one run ``name``, with ``parameters`` as further columns."""
    run = {
        "run_id": 0,
        "paper": PAPER,
        "experiment": name,
        "backend": backend,
        "seed": 0,
        "replicate": 0,
        "duration_s": float(duration_s),
        "sample_s": float(sample_s),
    }
    return pd.DataFrame([run | parameters])


def flow_table(
    cc: Sequence[str], rtt_s: Sequence[float], start_s: Sequence[float], stop_s: Sequence[float]
) -> pd.DataFrame:
    """``flows`` of one run, flow 1 first; a kernel's name of the algorithm is also its label."""
    return pd.DataFrame(
        {
            "run_id": 0,
            "flow_id": np.arange(1, len(cc) + 1),
            "protocol": cc,
            "cc": cc,
            "rtt_s": np.asarray(rtt_s, dtype=np.float64),
            "access_bps": 0.0,
            "start_s": np.asarray(start_s, dtype=np.float64),
            "stop_s": np.asarray(stop_s, dtype=np.float64),
            "role": "foreground",
        }
    )


def provenance(name: str, backend: str, goodput: set[str]) -> dict:
    """The manifest of an imported run; ``goodput`` names the source of delivered_bytes."""
    return {"paper": PAPER, "experiment": name, "backend": backend, "grid": [], "goodput": sorted(goodput)}


def _recorded_s(flow: ObservedFlow) -> float:
    """The resolution of one flow, in s: nearly all of its delivery is in intervals no longer than this.

    Computed from the readings between which its total rises, before any interpolation or summation.
    """
    spacing_s = np.diff(flow.times_s)
    in_gap = np.isin(flow.times_s[:-1], [from_s for from_s, _ in flow.gaps_s])
    rising_s = np.sort(spacing_s[(np.diff(flow.total_bytes) > 0) & ~in_gap])
    if not len(rising_s):
        return flow.interval_s
    recorded_s = float(rising_s[np.searchsorted(np.cumsum(rising_s), RECORDED_SHARE * rising_s.sum())])
    as_asked = abs(recorded_s - flow.interval_s) <= SAME_INTERVAL * flow.interval_s
    return flow.interval_s if as_asked else float(f"{recorded_s:.3g}")


def _seen(flow: ObservedFlow, until_s: float) -> tuple[int, float]:
    """Bytes of one flow, and the time in s in which they were observed, until ``until_s`` on its own clock.

    A gap with a known running total has bytes and time; any other has neither.
    """
    until_s = min(until_s, flow.stop_s)
    in_bytes = np.interp(until_s, flow.times_s, flow.total_bytes) - flow.total_bytes[0]
    blind_s = 0.0
    for from_s, to_s in flow.gaps_s:
        before, after = np.interp([from_s, to_s], flow.times_s, flow.total_bytes)
        if after == before:
            blind_s += max(min(to_s, until_s) - from_s, 0.0)
    return round(float(in_bytes)), until_s - flow.start_s - blind_s


def samples_of(flow: ObservedFlow, shift_s: float, edges_s: Floats) -> pd.DataFrame:
    """The samples of one flow, whose clock is ``shift_s`` behind that of the run, in the intervals between the edges."""
    times_s = flow.times_s + shift_s
    columns = {"run_id": 0, "flow_id": 0, "t_s": edges_s[1:]}
    columns["delivered_bytes"] = counted_between(edges_s, times_s, flow.total_bytes)
    if flow.total_received_bytes is not None:
        columns["received_bytes"] = counted_between(edges_s, times_s, flow.total_received_bytes)
    if flow.gaps_s:
        blind_s = sum(np.diff(np.clip(edges_s, from_s + shift_s, to_s + shift_s)) for from_s, to_s in flow.gaps_s)
        lasted_s = np.diff(edges_s)
        columns["observed"] = (1 - np.minimum(blind_s, lasted_s) / lasted_s).astype(np.float32)
    if len(flow.windows):
        at_s = flow.windows["t_s"].to_numpy() + shift_s
        for name in ("cwnd_pkts", "ssthresh_pkts", "srtt_s"):
            columns[name] = last_value(edges_s[1:], at_s, flow.windows[name].to_numpy())
    return pd.DataFrame(columns)


def _link(observed: Observed, placed: Sequence[_Placed], edges_s: Floats) -> pd.DataFrame:
    """The bottleneck in the intervals of the run; its clock is that of the flows."""
    link = observed.link
    if link is None:
        return empty("link")
    timed = next((one for one in placed if one.flow.clock_s is not None), None)
    shift_s = 0.0 if link.clock_s is None or timed is None else link.clock_s - timed.flow.clock_s + timed.shift_s
    tolerance_s = 0.1 * (edges_s[1] - edges_s[0])  # samples without polls are omitted
    at_s = link.table["t_s"].to_numpy() + shift_s
    covered_s = edges_s[(edges_s >= at_s[0] - tolerance_s) & (edges_s <= at_s[-1] + tolerance_s)]
    return link_of(link.table.assign(t_s=at_s), covered_s)


def link_of(polls: pd.DataFrame, edges_s: Floats) -> pd.DataFrame:
    """A link in the intervals between the edges, from its polls on the clock of the run."""
    at_s = polls["t_s"].to_numpy()
    columns = {"run_id": 0, "t_s": edges_s[1:], "direction": "forward"}
    for name in ("forwarded_bytes", "dropped_pkts"):
        columns[name] = counted_between(edges_s, at_s, polls[name].to_numpy(dtype=float))
    columns["queue_pkts"] = last_value(edges_s[1:], at_s, polls["queue_pkts"].to_numpy())
    return pd.DataFrame(columns)


def of_flows(tables: Iterable[pd.DataFrame], shifts_s: Iterable[float], columns: Iterable[str]) -> pd.DataFrame | None:
    """The windows, or events, of all flows as one table of a trace, each shifted in time; None without any."""
    parts = [
        table.assign(run_id=0, flow_id=number, t_s=table["t_s"] + shift_s)
        for number, (table, shift_s) in enumerate(zip(tables, shifts_s, strict=True), start=1)
        if len(table)
    ]
    return pd.concat(parts, ignore_index=True)[list(columns)] if parts else None


# --- Contradictions -------------------------------------------------------------------------------


@refusing
def _check_flow(flow: ObservedFlow, samples: pd.DataFrame, sample_s: float) -> Iterator[str]:
    bps = samples["delivered_bytes"].max() * BITS_PER_BYTE / sample_s
    if bps > MAX_BPS:
        yield f"{bps:.3g} bit/s is faster than any link; check the units of bytes and times"
    blind_s, lasted_s = sum(to_s - from_s for from_s, to_s in flow.gaps_s), flow.stop_s - flow.start_s
    if blind_s > 0.5 * lasted_s:
        yield f"nothing was recorded in {blind_s:g} s of {lasted_s:g} s; record it again"


def _looked_away(one: _Placed) -> Iterator[str]:
    """Gaps and jumps of the clock of a flow, a sentence each."""
    flow, shift_s = one.flow, one.shift_s
    if flow.gaps_s:
        blind_s = sum(to_s - from_s for from_s, to_s in flow.gaps_s)
        first_s = flow.gaps_s[0][0] + shift_s
        yield f"{flow.name}: {len(flow.gaps_s)} gaps, {blind_s:.3g} s in all, the first at {first_s:.4g} s"
    if flow.clock_steps_s:
        at = ", ".join(f"{step_s + shift_s:.4g} s" for step_s in flow.clock_steps_s[:5])
        yield f"{flow.name}: its clock jumped {len(flow.clock_steps_s)} times (at {at})"
