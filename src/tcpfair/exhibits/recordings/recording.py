"""One recording, the user's own or an example, as exhibits look at it: flows, times, goodput, windows; and its axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tcpfair.contract import trace as traces
from tcpfair.contract.layout import repository_root
from tcpfair.contract.recordings import RawConfig
from tcpfair.contract.trace import Trace
from tcpfair.errors import InputError
from tcpfair.exhibits import style
from tcpfair.exhibits.context import joined
from tcpfair.exhibits.numbers import single_number
from tcpfair.metrics import series
from tcpfair.sources.readers import read_any, tables, tcp_info, testbed
from tcpfair.units import BPS_PER_MBPS, mbps

Floats = npt.NDArray[np.float64]

NOT_COUNTED = "#EFEFEF"


class NotInTraceError(Exception):
    """A recording, though sound, does not have what an exhibit shows. The exhibit is left out, which is no failure."""


@dataclass(frozen=True)
class Recording:
    """One run of a trace as the exhibits see it, read when it is first asked for; arrays are (flows, intervals)."""

    path: Path
    settings: RawConfig
    run_id: int = 0

    @cached_property
    def name(self) -> str:
        """Names the folder of its exhibits."""
        return tables.run_name(self.path)

    @property
    def label(self) -> str:
        """The name, and which run when it is not the first."""
        return f"{self.name}, run {self.run_id}" if self.run_id else self.name

    @cached_property
    def trace(self) -> Trace:
        """The run alone. Raises InputError for what no reader takes, and for a run that the trace does not have."""
        stored = (self.path / traces.MANIFEST).is_file()
        whole = traces.read(self.path) if stored else read_any(self.path)
        if self.run_id not in whole.runs["run_id"].to_numpy():
            raise InputError(f"{self.path}: run {self.run_id}: not among the {len(whole.runs)} runs of this trace")
        parts = {name: getattr(whole, name) for name in traces.TABLES}
        own = {name: table[table["run_id"] == self.run_id] for name, table in parts.items()}
        return Trace(**own, provenance=whole.provenance)

    @cached_property
    def flows(self) -> pd.DataFrame:
        """The foreground flows, in order."""
        return self.trace.flows.query("role == 'foreground'").sort_values("flow_id")

    @cached_property
    def labels(self) -> dict[int, str]:
        """``flow 1 (reno)`` of each flow."""
        return {flow.flow_id: f"flow {flow.flow_id} ({flow.protocol})" for flow in self.flows.itertuples()}

    @cached_property
    def colors(self) -> dict[int, str]:
        n = len(self.labels)
        return dict(
            zip(self.labels, style.FLOW_COLORS if n <= len(style.FLOW_COLORS) else style.shades(n), strict=False)
        )

    def parameter(self, name: str) -> float | None:
        """``capacity_bps``, ``wire_bytes`` or ``payload_bytes``: the recording's own, else that of config/raw.yaml."""
        if name in self.trace.runs:
            return float(self.trace.runs[name].item())
        return getattr(self.settings.link, name).value

    @cached_property
    def ceiling_mbps(self) -> float | None:
        """Goodput of the full link; None when its capacity is unknown."""
        capacity_bps = self.parameter("capacity_bps")
        if capacity_bps is None:
            return None
        return capacity_bps * self.parameter("payload_bytes") / self.parameter("wire_bytes") / BPS_PER_MBPS

    # goodput

    @cached_property
    def interval_s(self) -> float:
        return max(self.settings.analysis.interval_s.value, float(self.trace.runs["sample_s"].item()))

    @cached_property
    def edges_s(self) -> Floats:
        return tables.edges(self.trace.runs["duration_s"].item(), self.interval_s)

    @cached_property
    def t_s(self) -> Floats:
        """Ends of the intervals."""
        return self.edges_s[1:]

    def rates_mbps(self, column: str) -> Floats:
        """A counter of the samples as rates of the flows."""
        samples = self.trace.samples.sort_values("t_s").groupby("flow_id")
        by_flow = [samples.get_group(flow_id) for flow_id in self.labels]
        totals = [(np.append(0, rows["t_s"]), np.append(0, rows[column].cumsum())) for rows in by_flow]
        return mbps(np.array([tables.counted_between(self.edges_s, *total) for total in totals]), self.interval_s)

    @cached_property
    def goodput_mbps(self) -> Floats:
        return self.rates_mbps("delivered_bytes")

    @cached_property
    def together_s(self) -> tuple[float, float]:
        """From the last flow's start to the first one's end."""
        return self.flows["start_s"].max(), min(self.flows["stop_s"].min(), self.t_s[-1])

    @cached_property
    def together(self) -> npt.NDArray[np.bool_]:
        """The intervals in which all flows run."""
        return series.window_mask(self.t_s, *self.together_s)

    @cached_property
    def window_s(self) -> tuple[float, float]:
        """The part of `together_s` that counts for J and NRU. Raises NotInTraceError when nothing is left."""
        (start_s, stop_s), skip_s = self.together_s, self.settings.analysis.skip_s.value
        if series.window_mask(self.t_s, start_s + skip_s, stop_s).any():
            return start_s + skip_s, stop_s
        raise NotInTraceError(f"all flows run for {stop_s - start_s:g} s, of which skip_s leaves out {skip_s:g} s")

    def counted(self, x: Floats) -> Floats:
        """The intervals of ``x`` in `window_s`."""
        return x[..., series.window_mask(self.t_s, *self.window_s)]

    # windows

    @cached_property
    def windows(self) -> pd.DataFrame:
        """flow_id, t_s, cwnd_pkts, ssthresh_pkts, srtt_s while each flow runs, as finely as they were recorded."""
        samples = joined(_polls(self.path)) if testbed.sniff(self.path) else self.trace.samples
        if "cwnd_pkts" not in samples or samples["cwnd_pkts"].isna().all():
            raise NotInTraceError("no windows in this trace; data/raw/README.md says how TCP_INFO is recorded")
        columns = ["flow_id", "t_s", "cwnd_pkts", "ssthresh_pkts", "srtt_s"]
        spans = self.flows[["flow_id", "start_s", "stop_s"]]
        running = samples[columns].merge(spans).query("start_s < t_s <= stop_s").dropna(subset="cwnd_pkts")
        return running[columns].sort_values(["flow_id", "t_s"], ignore_index=True)

    def windows_of(self, flow_id: int, start_s: float = 0, stop_s: float = np.inf) -> pd.DataFrame:
        """The flow's windows in [start_s, stop_s)."""
        own = self.windows[self.windows["flow_id"] == flow_id]
        return own[own["t_s"].between(start_s, stop_s, inclusive="left")]

    def events_of(self, flow_id: int, *kinds: str) -> pd.DataFrame:
        """The flow's events of these kinds, in order of time."""
        events = self.trace.events
        return events[(events["flow_id"] == flow_id) & events["kind"].isin(kinds)].sort_values("t_s", kind="stable")


def _polls(folder: Path) -> Iterator[pd.DataFrame]:
    """Windows of a testbed run at every poll; the samples of its trace keep only one in each interval."""
    meta = testbed.read_meta(folder / testbed.META)
    yield pd.DataFrame()
    for flow_id in meta.flow_ids:
        for file in folder.glob(f"s{flow_id}.tcp.csv*"):
            polls = tcp_info.read_polls(file)
            yield pd.DataFrame({"flow_id": flow_id, "t_s": polls["t"] - meta.t0, **tcp_info.windows(polls)})


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
        ax.set(ylabel="cwnd (packets)", xlim=(0, recording.t_s[-1]))
    axes[0].set_ylim(0, top_pkts)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.2)
    axes[-1].set_xlabel("time (s)")


def finish_time_axis(ax: Axes, recording: Recording) -> None:
    """Time axis, legend, and for several flows grey over the time that J and NRU leave out."""
    if len(recording.labels) > 1:
        counts_from_s = min(recording.together_s[0] + recording.settings.analysis.skip_s.value, recording.t_s[-1])
        ax.axvspan(0, counts_from_s, color=NOT_COUNTED, lw=0, zorder=0, label="not counted for J and NRU")
    ax.set(xlabel="time (s)", xlim=(0, recording.t_s[-1]))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def flow_rows(recording: Recording, column: str, values: Floats) -> pd.DataFrame:
    """An array of shape (flows, intervals) as rows flow, t_s, ``column``."""
    flows = np.repeat(list(recording.labels), len(recording.t_s))
    return pd.DataFrame({"flow": flows, "t_s": np.tile(recording.t_s, len(values)), column: values.ravel()})


def metric_numbers(recording: Recording, values: Mapping[str, float | str | Sequence[float]]) -> pd.DataFrame:
    """Metrics as numbers: single values of all flows together, sequences of each flow."""
    rows = []
    for metric, value in values.items():
        of_flows = zip(recording.labels, value, strict=True) if np.ndim(value) else [("all", value)]
        rows += [single_number("", metric, each, flow=flow) for flow, each in of_flows]
    return joined(rows)


def absolute(path: str | Path) -> Path:
    """A relative path counts from the repository."""
    return repository_root() / path
