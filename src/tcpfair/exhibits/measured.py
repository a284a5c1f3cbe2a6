"""Exhibits of recordings: goodput, windows, fairness and recovery in any trace, the user's own first of all.

In a notebook::

    from tcpfair.exhibits.measured import open_raw

    raw = open_raw(trace="data/raw/examples/rr_wire")
    raw.show("goodput")
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from IPython import get_ipython
from IPython.display import HTML, Image, display
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import curve_fit

from tcpfair import trace as traces
from tcpfair.config import Exhibit
from tcpfair.errors import InputError
from tcpfair.exhibits import pages, style
from tcpfair.exhibits.context import Drawn, Table, joined
from tcpfair.exhibits.numbers import no_numbers, rounded, single_number
from tcpfair.exhibits.raw_config import RawConfig, load_raw
from tcpfair.metrics import fairness, series
from tcpfair.metrics.epochs import LOSS_KINDS
from tcpfair.models import cubic, kernel
from tcpfair.paths import Layout, repository_root
from tcpfair.readers import read_any, tables, tcp_info, testbed
from tcpfair.trace import Trace
from tcpfair.units import BITS_PER_BYTE, BPS_PER_MBPS, MS_PER_S, bdp_pkts, mbps

Floats = npt.NDArray[np.float64]

RENO_CCS = ("reno", "newreno", "sack")  # one window rule; they differ in loss recovery
CUBIC_CCS = ("cubic", "cubic_rtt")
FLOW_COLORS = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)
NOT_COUNTED = "#EFEFEF"
SHOWN_WIDTH_PX = 96  # per inch of the figure
_CURVE_POINTS = 60
_NOTE_SHARE = 0.06  # of the time axis, about the width of a note
_SUFFIXES = (".csv", ".html", ".svg", ".png")


class NotInTraceError(Exception):
    """A recording, though sound, does not have what an exhibit shows. The exhibit is left out, which is no failure."""


# --- One recording -----------------------------------------------------------------------------------------------


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
        return dict(zip(self.labels, FLOW_COLORS if n <= len(FLOW_COLORS) else style.shades(n), strict=False))

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


# --- What was recorded, goodput and windows ------------------------------------------------------------------------


def about(recording: Recording) -> Drawn:
    """What the recording says of itself."""
    run, found = recording.trace.runs.iloc[0], recording.trace.provenance
    capacity_bps = recording.parameter("capacity_bps")
    items = {"recorded by": run["backend"], "kernel": found.get("kernel"), "bottleneck": found.get("bottleneck")}
    items["goodput seen by"] = ", ".join(found.get("goodput", []))
    items["duration"] = f"{run['duration_s']:g} s, goodput every {recording.interval_s:g} s"
    if capacity_bps is not None:
        items["link"] = f"{capacity_bps / BPS_PER_MBPS:g} Mb/s, of which {recording.ceiling_mbps:.1f} Mb/s are payload"
    if "buffer_pkts" in run:
        bdp = bdp_pkts(capacity_bps, recording.flows["rtt_s"].max(), recording.parameter("wire_bytes"))
        items["buffer"] = f"{run['buffer_pkts']:.0f} packets, {run['buffer_pkts'] / bdp:.2g} bandwidth-delay products"
    for flow in recording.flows.itertuples():
        rtt = f", RTT {flow.rtt_s * MS_PER_S:.4g} ms" if np.isfinite(flow.rtt_s) else ""
        items[f"flow {flow.flow_id}"] = f"{flow.protocol} from {flow.start_s:g} s{rtt}"
    data = pd.DataFrame([(item, str(text)) for item, text in items.items() if text], columns=["item", "value"])
    cells = data.set_index("item").rename_axis(None).map(escape).rename(columns={"value": ""})
    return Drawn(Table(cells), no_numbers(), 1, data)


def goodput(recording: Recording) -> Drawn:
    """Goodput of each flow and of all, beside what the link could carry."""
    r, t_s, ceiling_mbps = recording.goodput_mbps, recording.t_s, recording.ceiling_mbps
    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.8)
    means = []
    for flow, row in zip(recording.flows.itertuples(), r, strict=True):
        running = series.window_mask(t_s, flow.start_s, flow.stop_s)
        color, label = recording.colors[flow.flow_id], recording.labels[flow.flow_id]
        ax.plot(t_s[running], row[running], color=color, label=label)
        means.append(row[running].mean())
    if len(r) > 1:
        ax.plot(t_s, r.sum(axis=0), color=style.BLACK, lw=1, label="sum")
    if ceiling_mbps is not None:
        ax.axhline(ceiling_mbps, color=style.GREY, lw=1, ls="--", label=f"ceiling of the link, {ceiling_mbps:.1f} Mb/s")
    ax.set(ylabel="goodput (Mb/s)", ylim=(0, 1.1 * max(r.sum(axis=0).max(), ceiling_mbps or 0)))
    _finish_time_axis(ax, recording)
    values = {"throughput_mean": means, "throughput_sum": r.sum(axis=0).mean()}
    if ceiling_mbps is not None:
        values["utilisation"] = series.utilisation(r, ceiling_mbps)
    return Drawn(figure, _numbers(recording, values), 1, _by_flow(recording, "goodput_mbps", r))


def cwnd(recording: Recording) -> Drawn:
    """Window, ssthresh and losses of each flow, a panel each."""
    figure, panels = _window_panels(recording)
    for flow_id, ax in panels.items():
        rows = recording.windows_of(flow_id)
        ax.plot(rows["t_s"], rows["cwnd_pkts"], color=recording.colors[flow_id], label="cwnd")
        ax.plot(rows["t_s"], rows["ssthresh_pkts"], color=style.GREY, lw=1, ls="--", label="ssthresh")
        for kind, marker, label in (("loss", "v", "window at a loss"), ("rto", "X", "window at a timeout")):
            events = recording.events_of(flow_id, kind)
            if len(events):
                ax.plot(events["t_s"], events["cwnd_before"], ls="", marker=marker, color=style.BLACK, label=label)
    losses = joined([recording.events_of(flow_id, *LOSS_KINDS) for flow_id in panels])
    highest_pkts = np.nanmax([*recording.windows["cwnd_pkts"], *losses["cwnd_before"]])
    _finish_panels(panels, recording, 1.1 * highest_pkts)  # not ssthresh, which begins at some huge number
    values = {
        "cwnd_mean": [recording.windows_of(flow_id)["cwnd_pkts"].mean() for flow_id in panels],
        "losses": [(losses["flow_id"] == flow_id).sum() for flow_id in panels],
    }
    names = {"cwnd_before": "cwnd_pkts", "cwnd_after": "ssthresh_pkts"}
    columns = ["kind", "flow_id", "t_s", "cwnd_pkts", "ssthresh_pkts"]
    data = joined([recording.windows.assign(kind="poll")[columns], losses.rename(columns=names)[columns]])
    return Drawn(figure, _numbers(recording, values), 1, data)


# --- Fairness ----------------------------------------------------------------------------------------------------


def jfi(recording: Recording) -> Drawn:
    """J(t), its mean as the papers print it (eq. 2 of bhatti2008), and J of the mean throughputs."""
    _need_several_flows(recording, "J is 1 by definition")
    r = recording.counted(recording.goodput_mbps)
    values = {"jfi_mean": fairness.mean_jfi(r), "jfi_of_means": fairness.jfi_of_means(r)}
    if "received_bytes" in recording.trace.samples:
        values["jfi_mean_received"] = fairness.mean_jfi(recording.counted(recording.rates_mbps("received_bytes")))
    t_s, j = (x[recording.together] for x in (recording.t_s, fairness.jfi_over_time(recording.goodput_mbps)))

    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.6)
    ax.plot(t_s, j, color=style.BLUE, label="$J(t)$")
    for metric, name, color in (
        ("jfi_mean", "mean of $J(t)$", style.BLACK),
        ("jfi_of_means", "$J$ of the means", style.VERMILION),
    ):
        value = values[metric]
        ax.hlines(value, *recording.window_s, color=color, ls="--", lw=1, label=f"{name}: {value:.4f}")
    ax.set(ylabel="Jain's fairness index", ylim=(min(0.9, np.nanmin(j) - 0.02), 1.01))
    _finish_time_axis(ax, recording)
    return Drawn(figure, _numbers(recording, values), 1, pd.DataFrame({"t_s": t_s, "jfi": j}))


def nru(recording: Recording) -> Drawn:
    """U_n(t) of each flow and the tuple <U_N, U_N+, U_N-> with the letter of its case (bhatti2009 eq. 3-8, Table II)."""
    _need_several_flows(recording, "it would be measured against itself")
    weights, counted = nru_weights(recording), recording.counted(recording.goodput_mbps)
    floor = mbps(recording.parameter("payload_bytes"), recording.interval_s)
    u_db = fairness.nru_over_time_db(recording.goodput_mbps, weights, floor)
    u_n = fairness.flow_nru_db(recording.counted(u_db))
    system = fairness.nru_tuple(u_n)
    letter = str(fairness.case_letter(system.u_plus, system.u_minus))

    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.8)
    for (flow_id, label), row, mean in zip(recording.labels.items(), u_db, u_n, strict=True):
        color = recording.colors[flow_id]
        shown = row[recording.together]
        ax.plot(recording.t_s[recording.together], shown, color=color, label=f"{label}, mean {mean:+.2f} dB")
        ax.hlines(mean, *recording.window_s, color=color, lw=0.9, ls="--")
    ax.axhline(0, color=style.GREY, lw=0.8)
    ax.axhline(fairness.U_C_DB, color=style.GREY, lw=0.8, ls=":", label=f"10% unfair, {fairness.U_C_DB:g} dB")
    texts = ", ".join("–" if np.isnan(value) else f"{value:+.2f}" for value in system)
    ax.set_title(rf"$\langle U_N, U_{{N+}}, U_{{N-}}\rangle$ = ⟨{texts}⟩ dB, case {letter}", loc="left")
    ax.set_ylabel("NRU (dB)")
    _finish_time_axis(ax, recording)

    values = {"U_n": u_n, "zero_share": fairness.zero_share(counted), "self_pair_mbps": 1 / weights}
    values |= {"U_N": system.u_mean, "U_N+": system.u_plus, "U_N-": system.u_minus, "case": letter}
    data = _by_flow(recording, "u_db", u_db)
    return Drawn(figure, _numbers(recording, values), 1, data[np.tile(recording.together, len(u_db))])


def nru_weights(recording: Recording) -> Floats:
    """Weights in 1/(Mb/s), (flows,), from the self-pair of each flow's protocol by the rule in config/raw.yaml.

    Raises NotInTraceError for flows of different protocols without named self-pairs, and InputError for a self-pair
    of another number of flows or without delivery.
    """
    rules = {"mean_of_columns": fairness.weights_mean_of_columns, "per_column": fairness.weights_per_column}
    of_self_mbps = np.array([_self_pair_mbps(recording, protocol) for protocol in recording.flows["protocol"]])
    if not of_self_mbps.any(axis=0).all():
        raise InputError(f"{recording.path}: a flow of the self-pair delivers nothing; give one in which all do")
    return rules[recording.settings.weights.rule.value](of_self_mbps)


def _self_pair_mbps(recording: Recording, protocol: str) -> Floats:
    """Mean goodput in Mb/s of each flow of the protocol's self-pair."""
    named = recording.settings.weights.self_pairs
    where = f"config/raw.yaml: weights.self_pairs.{protocol}"
    if protocol not in named and recording.flows["protocol"].nunique() > 1:
        raise NotInTraceError(f"flows of different protocols; name a recording of two {protocol} flows in {where}")
    pair = Recording(_absolute(named[protocol]), recording.settings) if protocol in named else recording
    if len(pair.labels) != len(recording.labels):
        raise InputError(f"{where}: {len(pair.labels)} flows; give a recording of {len(recording.labels)}")
    return pair.counted(pair.goodput_mbps).mean(axis=-1)


def _need_several_flows(recording: Recording, why: str) -> None:
    if len(recording.labels) < 2:
        raise NotInTraceError(f"one flow alone: {why}")


# --- Recovery and the kernel's formulas --------------------------------------------------------------------------


class Check(NamedTuple):
    """One number of a recovery as it was measured, beside its formula."""

    flow: str
    epoch: int
    from_s: float
    to_s: float
    w_at_loss_pkts: float  # at the loss that ends the epoch; of several flows the sum
    quantity: str
    unit: str
    formula: float
    measured: float


class Epoch(NamedTuple):
    """One flow between two losses; ``loss`` and ``following`` are rows of the trace's events."""

    flow_id: int
    number: int
    loss: NamedTuple
    following: NamedTuple
    polls: pd.DataFrame  # windows from the end of recovery to the following loss
    rtt_s: float

    @property
    def k_s(self) -> float:
        """CUBIC's K by the kernel's formula; 0 for an epoch that begins at or above W_max."""
        return kernel.cubic_k_s(self.loss.w_max, self.loss.cwnd_after)

    def clock_s(self, t_s: npt.ArrayLike) -> Floats:
        """Time on CUBIC's curve: Linux aims at the window one smallest RTT ahead."""
        return np.asarray(t_s) - self.polls["t_s"].iloc[0] + self.rtt_s

    def fit(self, curve: Callable[..., Floats], guess: list[float]) -> Floats:
        """Parameters of ``curve`` through the windows by least squares; NaN when they do not converge."""
        try:
            return curve_fit(curve, self.clock_s(self.polls["t_s"]), self.polls["cwnd_pkts"], guess)[0]
        except RuntimeError:
            return np.full(len(guess), np.nan)

    def check(self, quantity: str, unit: str, formula: float, measured: float) -> Check:
        start_s, following = self.polls["t_s"].iloc[0], self.following
        place = (str(self.flow_id), self.number, start_s, following.t_s, following.cwnd_before)
        return Check(*place, quantity, unit, formula, measured)


class Growth(NamedTuple):
    """Reno flows that share the link and that nothing disturbs: the sum of their windows, and each flow's window."""

    number: int
    start_s: float
    stop_s: float
    start_pkts: dict[int, float]
    stop_pkts: dict[int, float]
    capacity_pps: float
    rtt_s: float

    @property
    def sums_pkts(self) -> Floats:
        """From the sum at the start to that at the stop."""
        return np.linspace(sum(self.start_pkts.values()), sum(self.stop_pkts.values()), _CURVE_POINTS)

    @property
    def times_s(self) -> Floats:
        """How long the sum takes to reach each of `sums_pkts`, by the formula."""
        sums_pkts, n = self.sums_pkts, len(self.start_pkts)
        grow = kernel.additive_increase_time_s
        return np.array([grow(sums_pkts[0], w, self.capacity_pps, self.rtt_s, increase_pkts=n) for w in sums_pkts])

    def check(self) -> Check:
        flows, formula_s = "+".join(map(str, self.start_pkts)), self.times_s[-1]
        place = (flows, self.number, self.start_s, self.stop_s, self.sums_pkts[-1])
        return Check(*place, "growth time", "s", formula_s, self.stop_s - self.start_s)


def epochs_of(recording: Recording, ccs: Sequence[str]) -> Iterator[Epoch]:
    """Epochs of the flows that run one of ``ccs``, between losses that are neither timeouts nor part of slow start."""
    analysis = recording.settings.analysis
    for flow in recording.flows[recording.flows["cc"].isin(ccs)].itertuples():
        ends_s = recording.events_of(flow.flow_id, "recovery_end")["t_s"]
        number = 0
        for loss, following in pairwise(recording.events_of(flow.flow_id, *LOSS_KINDS).itertuples()):
            polls = recording.windows_of(flow.flow_id, ends_s[ends_s >= loss.t_s].min(), following.t_s)
            long = following.t_s - loss.t_s > analysis.min_epoch_s.value and len(polls) >= analysis.min_polls.value
            if long and loss.kind == following.kind == "loss":
                number += 1
                yield Epoch(flow.flow_id, number, loss, following, polls, flow.rtt_s)


def growths_of(recording: Recording) -> Iterator[Growth]:
    """From the end of a recovery for as long as no flow starts, stops or loses, when all are Reno's with one RTT."""
    flows, events, analysis = recording.trace.flows, recording.trace.events, recording.settings.analysis
    capacity_bps, rtts_s = recording.parameter("capacity_bps"), flows["rtt_s"].unique()
    if capacity_bps is None or len(rtts_s) > 1 or np.isnan(rtts_s[0]) or not flows["cc"].isin(RENO_CCS).all():
        return
    capacity_pps = capacity_bps / BITS_PER_BYTE / recording.parameter("wire_bytes")
    ends_s = set(events.loc[events["kind"] == "recovery_end", "t_s"])
    marks_s = sorted({*events["t_s"], *flows["start_s"], *flows["stop_s"].clip(upper=recording.t_s[-1])})
    number = 0
    for start_s, stop_s in pairwise(marks_s):
        running = flows.loc[(flows["start_s"] < start_s) & (flows["stop_s"] > start_s), "flow_id"]
        polls = {flow_id: recording.windows_of(flow_id, start_s, stop_s) for flow_id in running}
        enough = all(len(rows) >= analysis.min_polls.value and _past_slow_start(rows) for rows in polls.values())
        if stop_s - start_s > analysis.min_epoch_s.value and start_s in ends_s and enough:
            number += 1
            # the polls of different flows are not simultaneous: only while there are some of all flows
            first_s = max(rows["t_s"].iloc[0] for rows in polls.values())
            last_s = min(rows["t_s"].iloc[-1] for rows in polls.values())
            windows = (_windows_at(polls, t_s) for t_s in (first_s, last_s))
            yield Growth(number, first_s, last_s, *windows, capacity_pps, rtts_s[0])


def _past_slow_start(polls: pd.DataFrame) -> bool:
    """Whether the windows begin in congestion avoidance."""
    return polls["cwnd_pkts"].iloc[0] >= polls["ssthresh_pkts"].iloc[0]


def _windows_at(polls: Mapping[int, pd.DataFrame], t_s: float) -> dict[int, float]:
    """Window of each flow in packets, growing evenly between its polls."""
    return {flow_id: float(np.interp(t_s, rows["t_s"], rows["cwnd_pkts"])) for flow_id, rows in polls.items()}


def recovery_checks(recording: Recording) -> pd.DataFrame:
    """Measured recovery beside the formulas of `tcpfair.models.kernel`: the columns of `Check` and error_percent.

    Raises NotInTraceError when there is nothing to compare.
    """
    n, labels = len(recording.windows), ", ".join(recording.labels.values())
    checks = [check for epoch in epochs_of(recording, RENO_CCS) for check in _reno_checks(epoch)]
    checks += [growth.check() for growth in growths_of(recording)]
    checks += [check for epoch in epochs_of(recording, CUBIC_CCS) for check in _cubic_checks(epoch)]
    if not checks:
        raise NotInTraceError(f"{n} windows of {labels} show no recovery that there is a formula for")
    found = pd.DataFrame(checks)
    return found.assign(error_percent=100 * (found["measured"] / found["formula"] - 1))


def _decrease_check(epoch: Epoch, ssthresh_pkts: Callable[[int], int]) -> Check:
    """ssthresh over the largest window seen, which is a little below the window at the loss."""
    peak_pkts = epoch.polls["cwnd_pkts"].max()
    formula = ssthresh_pkts(int(peak_pkts)) / int(peak_pkts)
    return epoch.check("ssthresh / peak", "1", formula, epoch.following.cwnd_after / peak_pkts)


def _reno_checks(epoch: Epoch) -> Iterator[Check]:
    """The decrease, and the packets gained in each measured RTT."""
    yield _decrease_check(epoch, kernel.reno_ssthresh_pkts)
    t_s, srtt_s = epoch.polls["t_s"].to_numpy(), epoch.polls["srtt_s"].to_numpy(dtype=float)
    rtts = np.append(0, np.cumsum(2 * np.diff(t_s) / (srtt_s[1:] + srtt_s[:-1])))
    yield epoch.check("gain per RTT", "packets", 1, np.polyfit(rtts, epoch.polls["cwnd_pkts"], deg=1)[0])


def _cubic_checks(epoch: Epoch) -> Iterator[Check]:
    """The decrease, K, and past the turning point also W_max and C: there all three are fitted at once."""
    yield _decrease_check(epoch, kernel.cubic_ssthresh_pkts)
    k_s, w_max_pkts = epoch.k_s, epoch.loss.w_max
    if not k_s > 0:
        return
    (fitted_k_s,) = epoch.fit(lambda t_s, k_s: cubic.window_pkts(t_s, k_s, w_max_pkts, kernel.CUBIC_C), [k_s])
    yield epoch.check("K", "s", k_s, fitted_k_s)
    if epoch.following.t_s - epoch.loss.t_s > k_s:
        _, fitted_w_max_pkts, fitted_c = epoch.fit(cubic.window_pkts, [k_s, w_max_pkts, kernel.CUBIC_C])
        yield epoch.check("W_max", "packets", w_max_pkts, fitted_w_max_pkts)
        yield epoch.check("C", "packets/s³", kernel.CUBIC_C, fitted_c)


def recovery_curves(recording: Recording) -> pd.DataFrame:
    """The windows that the formulas predict from the end of each recovery on: flow_id, epoch, t_s, cwnd_pkts."""
    curves = [pd.DataFrame(columns=["flow_id", "epoch", "t_s", "cwnd_pkts"])]
    for growth in growths_of(recording):
        gained_pkts = (growth.sums_pkts - growth.sums_pkts[0]) / len(growth.start_pkts)  # each flow the same
        for flow_id, start_pkts in growth.start_pkts.items():
            t_s, windows = growth.start_s + growth.times_s, start_pkts + gained_pkts
            curves.append(pd.DataFrame({"flow_id": flow_id, "epoch": growth.number, "t_s": t_s, "cwnd_pkts": windows}))
    for epoch in epochs_of(recording, CUBIC_CCS):
        if epoch.k_s > 0:
            t_s = np.linspace(epoch.polls["t_s"].iloc[0], epoch.following.t_s, _CURVE_POINTS)
            windows = cubic.window_pkts(epoch.clock_s(t_s), epoch.k_s, epoch.loss.w_max, kernel.CUBIC_C)
            rows = {"flow_id": epoch.flow_id, "epoch": epoch.number, "t_s": t_s, "cwnd_pkts": windows}
            curves.append(pd.DataFrame(rows))
    return joined(curves[1:] or curves)


def recovery(recording: Recording) -> Drawn:
    """The formulas drawn over the windows; above them Reno's growth time and CUBIC's K."""
    checks, curves = recovery_checks(recording), recovery_curves(recording)
    figure, panels = _window_panels(recording)
    for flow_id, ax in panels.items():
        rows, color = recording.windows_of(flow_id), recording.colors[flow_id]
        ax.plot(rows["t_s"], rows["cwnd_pkts"], color=color, lw=3, alpha=0.35, label="cwnd, measured")
        for _, curve in curves[curves["flow_id"] == flow_id].groupby("epoch"):
            ax.plot(curve["t_s"], curve["cwnd_pkts"], color=style.BLACK, lw=0.9)
        ax.plot([], [], color=style.BLACK, lw=0.9, label="by the kernel's formulas")
        _note_times(ax, checks[[str(flow_id) in flows.split("+") for flows in checks["flow"]]])
    shown = curves if len(curves) else recording.windows
    _finish_panels(panels, recording, 1.35 * shown["cwnd_pkts"].max())  # the peak of slow start may stand out
    data = joined([recording.windows.assign(kind="poll"), curves.assign(kind="formula")])
    return Drawn(figure, no_numbers(), 1, data[["kind", "flow_id", "epoch", "t_s", "cwnd_pkts"]])


def _note_times(ax: Axes, checks: pd.DataFrame) -> None:
    """Above each epoch: the time measured and, in brackets, that of the formula."""
    wide = checks["to_s"] - checks["from_s"] > _NOTE_SHARE * np.ptp(ax.get_xlim())
    for row in checks[wide & checks["quantity"].isin(["K", "growth time"])].itertuples():
        text = f"{'K ' if row.quantity == 'K' else ''}{row.measured:.2f} s\n({row.formula:.2f} s)"
        middle_s = (row.from_s + row.to_s) / 2
        ax.text(middle_s, 0.97, text, transform=ax.get_xaxis_transform(), ha="center", va="top", fontsize=6.5)


def recovery_table(recording: Recording) -> Drawn:
    """Every measured number of the recovery beside its formula."""
    checks = recovery_checks(recording)
    columns = {
        "time (s)": [f"{row.from_s:.1f} to {row.to_s:.1f}" for row in checks.itertuples()],
        "W at its end (packets)": checks["w_at_loss_pkts"].map("{:.0f}".format),
        "quantity": [row.quantity + (f" ({row.unit})" if row.unit != "1" else "") for row in checks.itertuples()],
        "by formula": checks["formula"].map("{:.4g}".format),
        "measured": checks["measured"].map("{:.4g}".format),
        "error": checks["error_percent"].map("{:+.1f}%".format),
    }
    cells = pd.DataFrame(columns).set_index(pd.MultiIndex.from_frame(checks[["flow", "epoch"]]))
    numbers = [
        single_number("", row.quantity, row.measured, epoch=row.epoch, flow=row.flow) for row in checks.itertuples()
    ]
    return Drawn(Table(cells), joined(numbers), 1, checks)


# --- Axes and numbers --------------------------------------------------------------------------------------------


def _window_panels(recording: Recording) -> tuple[Figure, dict[int, Axes]]:
    """A panel for each flow, one below the other."""
    n = len(recording.labels)
    figure, axes = style.new_figure(n, 1, style.PAGE_IN, 1.0 + 1.6 * n, sharex=True, sharey=True)
    return figure, {flow_id: row[0] for flow_id, row in zip(recording.labels, axes, strict=True)}


def _finish_panels(panels: dict[int, Axes], recording: Recording, top_pkts: float) -> None:
    axes = list(panels.values())
    for flow_id, ax in panels.items():
        ax.set_title(recording.labels[flow_id], loc="left")
        ax.set(ylabel="cwnd (packets)", xlim=(0, recording.t_s[-1]))
    axes[0].set_ylim(0, top_pkts)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.2)
    axes[-1].set_xlabel("time (s)")


def _finish_time_axis(ax: Axes, recording: Recording) -> None:
    """Time axis, legend, and for several flows grey over the time that J and NRU leave out."""
    if len(recording.labels) > 1:
        counts_from_s = min(recording.together_s[0] + recording.settings.analysis.skip_s.value, recording.t_s[-1])
        ax.axvspan(0, counts_from_s, color=NOT_COUNTED, lw=0, zorder=0, label="not counted for J and NRU")
    ax.set(xlabel="time (s)", xlim=(0, recording.t_s[-1]))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _by_flow(recording: Recording, column: str, values: Floats) -> pd.DataFrame:
    """An array of shape (flows, intervals) as rows flow, t_s, ``column``."""
    flows = np.repeat(list(recording.labels), len(recording.t_s))
    return pd.DataFrame({"flow": flows, "t_s": np.tile(recording.t_s, len(values)), column: values.ravel()})


def _numbers(recording: Recording, values: Mapping[str, float | str | Sequence[float]]) -> pd.DataFrame:
    """Metrics as numbers: single values of all flows together, sequences of each flow."""
    rows = []
    for metric, value in values.items():
        by_flow = zip(recording.labels, value, strict=True) if np.ndim(value) else [("all", value)]
        rows += [single_number("", metric, each, flow=flow) for flow, each in by_flow]
    return joined(rows)


# --- The notebook ------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """One exhibit that every recording has."""

    title: str
    caption: str
    draw: Callable[[Recording], Drawn]


_RECOVERY_CAPTION = (
    "Above each epoch: growth time of the flows' sum for Reno, K for CUBIC; measured, and in brackets by formula. "
    "Reno's curve needs the link's rate and a link that only Reno flows of one RTT share."
)
EXHIBITS = {
    "trace": Kind("what was recorded", "", about),
    "goodput": Kind("goodput", "Bytes in order at the receiver, or as near to that as the recording has.", goodput),
    "cwnd": Kind("congestion windows", "The window at a loss is worked out from ssthresh for Reno and CUBIC.", cwnd),
    "jfi": Kind("Jain's fairness index", "J of each interval, its mean, and J of the mean goodputs.", jfi),
    "nru": Kind("normalised resource usage", "Goodput in dB against what a flow has in its self-pair.", nru),
    "recovery": Kind("recovery and the formulas", _RECOVERY_CAPTION, recovery),
    "recovery_table": Kind("recovery in numbers", "By formula: Linux's rules and constants.", recovery_table),
}


class Raw:
    """Recordings and their exhibits."""

    def __init__(self, layout: Layout, recordings: Sequence[Recording], only: Sequence[str] = ()) -> None:
        self.layout = layout
        self.recordings = recordings
        self.only = frozenset(only)

    def show(self, name: str) -> None:
        """Draw one exhibit of every recording, write its files and its record, and display it.

        What cannot be drawn is recorded with the reason: as failed, or as left out when the recording is sound but does
        not have what the exhibit shows. Nothing is raised but InputError when there is no such exhibit.
        """
        if name not in EXHIBITS:
            raise InputError(f"exhibit {name!r}: unknown; known are {', '.join(EXHIBITS)}")
        for recording in self.recordings:
            if not self.only or self.only & {name, f"{recording.name}.{name}"}:
                self._show(recording, name)

    def _show(self, recording: Recording, name: str) -> None:
        kind, exhibit_id = EXHIBITS[name], f"{recording.name}.{name}"
        title = f"{recording.label}, {kind.title}"
        exhibit = Exhibit(id=exhibit_id, kind="supplement", title=title, caption=kind.caption)
        try:
            with style.applied():
                drawn = kind.draw(recording)
                corner = f"{pages.corner_text(self.layout.source, drawn)}, {recording.label}"
                files = pages.rendered(exhibit, drawn, corner)
        except NotInTraceError as reason:
            self._record_absence(recording, name, "left out", str(reason))
            _say(title, f"Left out: {reason}.")
        except Exception as error:  # whatever it is, the other exhibits are drawn
            if not isinstance(error, InputError):
                traceback.print_exc(file=sys.stderr)
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            self._record_absence(recording, name, "failed", reason)
            _say(title, f"Failed: {reason}")
        else:
            self._record(recording, name, drawn, files)
            _display(exhibit, drawn, files, corner)

    def _figure_file(self, recording: Recording, name: str, suffix: str) -> Path:
        return self.layout.figures(recording.name) / f"{name}{suffix}"

    def _result_file(self, kind: str, recording: Recording, name: str) -> Path:
        return self.layout.results / kind / recording.name / name

    def _record(self, recording: Recording, name: str, drawn: Drawn, files: dict[str, bytes]) -> None:
        """Write the exhibit's files, its numbers and, last, the record that it is built."""
        paths = {suffix: self._figure_file(recording, name, suffix) for suffix in files}
        for suffix, content in files.items():
            pages.write_whole(paths[suffix], content)
        numbers = rounded(drawn.numbers).assign(exhibit=f"{recording.name}.{name}", n_runs=1, source=self.layout.source)
        pages.write_whole(self._result_file("numbers", recording, f"{name}.csv"), pages.csv_bytes(numbers))
        built = [path.relative_to(self.layout.root).as_posix() for path in paths.values()]
        self._write_record(recording, name, status="built", files=built, n_runs=drawn.n_runs, error="")

    def _record_absence(self, recording: Recording, name: str, status: str, reason: str) -> None:
        """Record the reason, and remove what an earlier run drew: it is not what there is to see now."""
        for suffix in _SUFFIXES:
            self._figure_file(recording, name, suffix).unlink(missing_ok=True)
        self._result_file("numbers", recording, f"{name}.csv").unlink(missing_ok=True)
        self._write_record(recording, name, status=status, files=[], n_runs=0, error=reason)

    def _write_record(self, recording: Recording, name: str, **record: str | int | list[str]) -> None:
        content = json.dumps({"exhibit": f"{recording.name}.{name}", **record}, indent=1, sort_keys=True) + "\n"
        pages.write_whole(self._result_file("exhibits", recording, f"{name}.json"), content.encode())


def _display(exhibit: Exhibit, drawn: Drawn, files: dict[str, bytes], corner: str) -> None:
    """The exhibit and its caption, in a notebook; a line on a terminal."""
    if get_ipython() is None:
        print(f"{exhibit.title}  {', '.join(files)}")
        return
    if isinstance(drawn.output, Table):
        display(HTML(pages.table_html(drawn.output, corner)))
    else:
        display(Image(files[".png"], width=round(SHOWN_WIDTH_PX * drawn.output.get_figwidth())))
    display(HTML(pages.caption_html(exhibit.title, exhibit.caption)))


def _say(title: str, text: str) -> None:
    """One line of plain text, in a notebook or on a terminal."""
    if get_ipython() is None:
        print(f"{title}  {text}")
    else:
        display(HTML(pages.caption_html(title, text)))


def _absolute(path: str | Path) -> Path:
    """A relative path counts from the repository."""
    return repository_root() / path


def open_raw(trace: str = "", source: str = "raw", only: str | Sequence[str] = "", run: int = 0) -> Raw:
    """The exhibits of a recording, or of the shipped examples when ``trace`` is empty.

    ``trace`` is a file or folder that `tcpfair.readers.read_any` takes, or the folder of a trace of this project, of
    which ``run`` is shown; a relative path counts from the repository. ``only`` names the exhibits to draw, ``"jfi"``
    or ``"rr_wire.jfi"`` or a list. Raises InputError when config/raw.yaml is wrong or ``source`` is another than raw;
    what is wrong with a recording, `Raw.show` says.
    """
    if source != "raw":
        raise InputError(f'source {source!r}: recordings are shown with source = "raw"')
    layout = Layout(repository_root(), source)
    settings = load_raw(layout.config / "raw.yaml")
    paths = [Path(trace)] if trace else settings.examples
    recordings = [Recording(_absolute(path), settings, run) for path in paths]
    return Raw(layout, recordings, [only] if isinstance(only, str) and only else list(only))
