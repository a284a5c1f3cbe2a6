"""One recording, the user's or an example, with its measures for drawing; and its axes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tcpfair.errors import InputError
from tcpfair.exhibits import style
from tcpfair.files.layout import repository_root
from tcpfair.measures.growth import POLLS, Recoveries
from tcpfair.measures.resolution import OF_RECORDINGS, is_coarse, left_out
from tcpfair.measures.runs import Floats, Runs, blocks, means_mbps
from tcpfair.measures.shown import OVER_TIME
from tcpfair.metrics import series
from tcpfair.papers.recordings import RawConfig, name_of
from tcpfair.runs.intervals import counted_between, edges
from tcpfair.runs.recorded import open_recorded
from tcpfair.runs.sidecar import Said, is_trace, trace_place
from tcpfair.runs.trace import Trace
from tcpfair.units import BITS_PER_BYTE
from tcpfair.verdicts.columns import filled, joined, no_numbers, single

NOT_COUNTED = "#EFEFEF"
_COUNTERS = ("delivered_bytes", "received_bytes")


class NotInTraceError(Exception):
    """A valid recording lacks the data of an exhibit. The exhibit is skipped; this is not a failure."""


@dataclass(frozen=True)
class Recording:
    """One run of a trace, read on first use."""

    path: Path
    settings: RawConfig
    run_id: int = 0

    @cached_property
    def name(self) -> str:
        """The name of the folder of its exhibits."""
        return name_of(self.path)

    @property
    def label(self) -> str:
        """The name, with the run unless it is the first."""
        return f"{self.name}, run {self.run_id}" if self.run_id else self.name

    @cached_property
    def _opened(self) -> tuple[Trace, Said]:
        return open_recorded(trace_folder(self.path), self.path)

    @property
    def said(self) -> Said:
        """The contents of its trace.yaml."""
        return self._opened[1]

    @cached_property
    def trace(self) -> Trace:
        """Only this run; unrecorded parameters of the link are from config/raw.yaml (NaN: unknown).

        Raises InputError for an unreadable recording, and for an unknown run.
        """
        whole, _ = self._opened
        if self.run_id not in whole.runs["run_id"].to_numpy():
            raise InputError(f"{self.path}: run {self.run_id}: not among the {len(whole.runs)} runs of this trace")
        own = {name: table[table["run_id"] == self.run_id] for name, table in whole.tables.items()}
        link = {name: said.value for name, said in self.settings.link if name not in own["runs"]}
        own["runs"] = own["runs"].assign(**{name: np.nan if value is None else value for name, value in link.items()})
        return Trace(**own, provenance=whole.provenance)

    @cached_property
    def flows(self) -> pd.DataFrame:
        """The foreground flows, in order."""
        return self.trace.flows.query("role == 'foreground'").sort_values("flow_id")

    def need_one_direction(self) -> None:
        """Raise NotInTraceError when flows run in both directions, as with iperf3's ``--bidir``: they share no bottleneck."""
        if "direction" in self.flows and self.flows["direction"].nunique() > 1:
            raise NotInTraceError(
                "flows in both directions have no common bottleneck; leave_out in trace.yaml excludes the flows of one direction"
            )

    @cached_property
    def labels(self) -> dict[int, str]:
        """``flow 1 (reno)`` of each flow, for figures."""
        return {flow.flow_id: f"flow {flow.flow_id} ({style.plain(flow.protocol)})" for flow in self.flows.itertuples()}

    @cached_property
    def colors(self) -> dict[int, str]:
        n = len(self.labels)
        return dict(
            zip(self.labels, style.FLOW_COLORS if n <= len(style.FLOW_COLORS) else style.shades(n), strict=False)
        )

    def look(self, flow_id: int) -> dict[str, str]:
        """Colour and label of a flow's line."""
        return {"color": self.colors[flow_id], "label": self.labels[flow_id]}

    def parameter(self, name: str) -> float:
        """``capacity_bps``, ``wire_bytes`` or ``payload_bytes``; NaN for an unknown capacity."""
        return float(self.trace.runs[name].item())

    # measures

    @cached_property
    def runs(self) -> Runs:
        """The run, measured over its whole duration, in intervals of interval_s of config/raw.yaml, or longer recorded ones.

        NaN: not observed.
        """
        run = self.trace.runs.iloc[0]
        interval_s, seen = self.settings.analysis.interval_s.value, self.settings.analysis.seen.value
        interval_s = self.trace.resolution_s if self.is_coarse else interval_s
        edges_s = edges(run["duration_s"], interval_s)
        samples = [
            pd.DataFrame(
                {"run_id": self.run_id, "flow_id": flow_id, "t_s": edges_s[1:], **_counted(rows, edges_s, seen)}
            )
            for flow_id, rows in self.trace.samples.sort_values("t_s").groupby("flow_id")
        ]
        added_up = replace(self.trace, runs=self.trace.runs.assign(sample_s=interval_s), samples=joined(samples))
        (runs,) = blocks(added_up, (0.0, edges_s[-1]))
        return runs

    @property
    def is_coarse(self) -> bool:
        """Whether it was recorded in intervals longer than interval_s of config/raw.yaml."""
        return is_coarse(self.trace.resolution_s, self.settings.analysis.interval_s.value)

    @property
    def recorded(self) -> str:
        """``recorded every 10 s``."""
        return f"recorded every {self.trace.resolution_s:g} s"

    def left_out(self, *groups: str) -> str:
        """One line on the measures of ``groups``, or of all, that the recording is too coarse for; empty without any."""
        wanted_s = self.settings.analysis.interval_s.value
        return left_out(self.trace.resolution_s, wanted_s, groups or tuple(OF_RECORDINGS))

    @cached_property
    def means_mbps(self) -> Floats:
        """Mean goodput of each foreground flow while it was observed, (flows,)."""
        return means_mbps(self.trace).to_numpy()

    @cached_property
    def sum_mbps(self) -> float:
        """Mean goodput of all flows together, in the intervals in which all were observed."""
        total = self.runs.goodput_mbps[0].sum(axis=0) * self.runs.sample_s
        from_s, until_s = self.flows["start_s"].min(), self.flows["stop_s"].max()
        t_s = self.runs.t_s
        lasted_s = np.minimum(t_s, until_s) - np.maximum(t_s - self.runs.sample_s, from_s)
        seen = ~np.isnan(total) & (lasted_s > 0)
        return float(total[seen].sum() / lasted_s[seen].sum()) if seen.any() else np.nan

    @cached_property
    def counted(self) -> Runs:
        """The run, measured in the time that counts for J and NRU and in which all flows were observed.

        Raises NotInTraceError if no such time remains.
        """
        (start_s, stop_s), skip_s = self.runs.together_s, self.settings.analysis.skip_s.value
        skip_s = max(
            skip_s, self.runs.sample_s if self.is_coarse else 0.0
        )  # the interval in which the last flow starts
        unseen_s = self.runs.t_s[np.isnan(self.runs.goodput_mbps[0]).any(axis=0)]
        seen = self.runs.samples[~self.runs.samples["t_s"].isin(unseen_s)]
        runs = replace(self.runs, window_s=(start_s + skip_s, stop_s), samples=seen)
        if series.window_mask(runs.t_s, *runs.window_s).any():
            return runs
        how = f", {self.recorded}" if self.is_coarse else ""
        raise NotInTraceError(
            f"all flows run for {stop_s - start_s:g} s{how}, of which the first {skip_s:g} s do not count"
        )

    @cached_property
    def recoveries(self) -> Recoveries:
        """Its windows while each flow runs, at their recorded resolution, and its events."""
        samples = self.trace.samples if self.trace.polls is None else self.trace.polls
        if "cwnd_pkts" not in samples or samples["cwnd_pkts"].isna().all():
            raise NotInTraceError("no windows in this trace; data/raw/README.md explains how to record TCP_INFO")
        spans = self.flows[["flow_id", "start_s", "stop_s"]]
        running = samples[POLLS].merge(spans).query("start_s < t_s <= stop_s").dropna(subset="cwnd_pkts")
        analysis = self.settings.analysis
        return Recoveries(
            polls=running[POLLS].sort_values(["flow_id", "t_s"], ignore_index=True),
            flows=self.trace.flows,
            events=self.trace.events,
            end_s=self.runs.t_s[-1],
            capacity_pps=self.parameter("capacity_bps") / BITS_PER_BYTE / self.parameter("wire_bytes"),
            min_epoch_s=analysis.min_epoch_s.value,
            min_polls=analysis.min_polls.value,
        )


def _counted(samples: pd.DataFrame, edges_s: Floats, least_seen: float) -> dict[str, Floats]:
    """Sums of one flow's counters, in order of time, between the edges; NaN if less than ``least_seen`` was observed."""
    times_s = np.append(0, samples["t_s"])
    totals = {name: np.append(0, samples[name].cumsum()) for name in _COUNTERS if name in samples}
    counted = {name: counted_between(edges_s, times_s, total) for name, total in totals.items()}
    if "observed" not in samples or samples["observed"].isna().all():
        return counted
    seen_s = np.append(0, (samples["observed"].fillna(1) * np.diff(times_s)).cumsum())
    seen = np.diff(np.interp(edges_s, times_s, seen_s)) >= least_seen * np.diff(edges_s)
    return {name: np.where(seen, values, np.nan) for name, values in counted.items()}


# --- Axes and numbers --------------------------------------------------------------------------------------------


def window_panels(recording: Recording) -> tuple[Figure, dict[int, Axes]]:
    """A panel for each flow, one below the other."""
    n = len(recording.labels)
    figure, axes = style.new_figure(n, 1, style.PAGE_IN, 1.0 + 1.6 * n, sharex=True, sharey=True)
    return figure, {flow_id: row[0] for flow_id, row in zip(recording.labels, axes, strict=True)}


def finish_panels(panels: dict[int, Axes], recording: Recording, top_pkts: float) -> None:
    axes = list(panels.values())
    for flow_id, ax in panels.items():
        ax.set_title(recording.labels[flow_id], loc="left")
        ax.set(ylabel=OVER_TIME["cwnd"].label, xlim=(0, recording.runs.t_s[-1]))
    axes[0].set_ylim(0, top_pkts)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.2)
    axes[-1].set_xlabel("time (s)")


def finish_time_axis(ax: Axes, recording: Recording) -> None:
    """Time axis, legend, and for several flows a grey area over the time that J and NRU exclude."""
    if len(recording.labels) > 1:
        skip_s = recording.settings.analysis.skip_s.value
        counts_from_s = min(recording.runs.together_s[0] + skip_s, recording.runs.t_s[-1])
        ax.axvspan(0, counts_from_s, color=NOT_COUNTED, lw=0, zorder=0, label="not counted for J and NRU")
    ax.set(xlabel="time (s)", xlim=(0, recording.runs.t_s[-1]))
    ax.legend(**style.BESIDE)


def flow_rows(recording: Recording, column: str, values: Floats) -> pd.DataFrame:
    """An array of shape (flows, intervals) as rows flow, t_s, ``column``."""
    t_s = recording.runs.t_s
    flows = np.repeat(list(recording.labels), len(t_s))
    return pd.DataFrame({"flow": flows, "t_s": np.tile(t_s, len(values)), column: values.ravel()})


def of_the_run(named: Iterable[tuple[str, Floats]]) -> dict[str, float | Floats]:
    """Measures of the run: a number for all flows together, or (flows,)."""
    return {name: values[0] for name, values in named}


def metric_numbers(recording: Recording, values: Mapping[str, float | str | Sequence[float]]) -> pd.DataFrame:
    """Metrics as numbers: single values for all flows together, sequences with a value for each flow."""
    rows = []
    for metric, value in values.items():
        of_flows = zip(recording.labels, value, strict=True) if np.ndim(value) else [("all", value)]
        rows += [single("", metric, each, flow=flow).rows for flow, each in of_flows]
    return filled(rows, no_numbers())


def absolute(path: str | Path) -> Path:
    """An absolute path; relative paths start at the repository."""
    return repository_root() / path


def trace_folder(path: Path) -> Path:
    """The folder of the trace of a recording. A tool's own files are first read into one, unless that was done before.

    Reading runs in a separate process, so that drawing depends on no reader. Raises InputError with its line when files are
    refused.
    """
    root = repository_root()
    folder = trace_place(root, path)
    if not is_trace(folder):
        command = [sys.executable, "-m", "tcpfair", "read", str(path.absolute())]
        done = subprocess.run(command, env={**os.environ, "TCPFAIR_ROOT": str(root)}, capture_output=True, text=True)
        if done.returncode:
            *_, line = done.stderr.strip().splitlines() or ["error: it was killed"]
            if not line.startswith("error: "):
                raise RuntimeError(done.stderr)
            raise InputError(line.removeprefix("error: "))
    return folder
