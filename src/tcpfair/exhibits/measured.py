"""Exhibits of recordings: goodput, windows, fairness and recovery of whatever `tcpfair.readers` or an engine wrote.

In a notebook::

    from tcpfair.exhibits.measured import open_raw

    raw = open_raw(trace="data/raw/examples/rr_wire")
    raw.show("goodput")
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
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
CUBIC_CCS = ("cubic",)
SHOWN_WIDTH_PX = 96  # per inch of the figure
FLOW_COLORS = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)
NOT_COUNTED = "#EFEFEF"
_CURVE_POINTS = 60


class NotInTraceError(Exception):
    """What an exhibit needs and a recording, though sound, does not have. The exhibit is left out, not failed."""


# --- One recording -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recording:
    """One run of a trace as the exhibits see it; arrays have the shape (flows, intervals). Read when first asked."""

    path: Path
    settings: RawConfig
    run_id: int = 0

    @cached_property
    def name(self) -> str:
        """Names the folder of its exhibits."""
        return tables.run_name(self.path)

    @cached_property
    def trace(self) -> Trace:
        """The run alone. Raises InputError for what no reader takes and for a run that the trace does not have."""
        stored = (self.path / traces.MANIFEST).is_file()
        whole = traces.read(self.path) if stored else read_any(self.path)
        if self.run_id not in whole.runs["run_id"].to_numpy():
            raise InputError(
                f"{self.path}: run {self.run_id}: not in this trace; it has {len(whole.runs)} runs from 0 on"
            )
        parts = {name: getattr(whole, name) for name in traces.TABLES}
        rows = {name: table[table["run_id"] == self.run_id] for name, table in parts.items()}
        return Trace(**rows, provenance=whole.provenance)

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
        enough = len(self.labels) <= len(FLOW_COLORS)
        return dict(zip(self.labels, FLOW_COLORS if enough else style.shades(len(self.labels)), strict=False))

    def parameter(self, name: str) -> float | None:
        """``capacity_bps``, ``wire_bytes`` or ``payload_bytes``: the recording's own, else config/raw.yaml's."""
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
        by_flow = self.trace.samples.sort_values("t_s").groupby("flow_id")
        flows = (by_flow.get_group(flow_id) for flow_id in self.labels)
        counted = [
            tables.counted_between(self.edges_s, np.append(0, rows["t_s"]), np.append(0, rows[column].cumsum()))
            for rows in flows
        ]
        return mbps(np.array(counted), self.interval_s)

    @cached_property
    def goodput_mbps(self) -> Floats:
        return self.rates_mbps("delivered_bytes")

    @cached_property
    def together_s(self) -> tuple[float, float]:
        """From the last flow's start to the first one's end."""
        return self.flows["start_s"].max(), min(self.flows["stop_s"].min(), self.t_s[-1])

    @cached_property
    def window_s(self) -> tuple[float, float]:
        """The part of `together_s` that counts for J and NRU. Raises NotInTraceError when nothing is left."""
        start_s, stop_s = self.together_s
        skip_s = self.settings.analysis.skip_s.value
        if not series.window_mask(self.t_s, start_s + skip_s, stop_s).any():
            raise NotInTraceError(
                f"all flows run for {stop_s - start_s:g} s, of which skip_s in config/raw.yaml leaves out {skip_s:g} s"
            )
        return start_s + skip_s, stop_s

    def counted(self, x: Floats) -> Floats:
        """The intervals of ``x`` in `window_s`."""
        return x[..., series.window_mask(self.t_s, *self.window_s)]

    # windows

    @cached_property
    def windows(self) -> pd.DataFrame:
        """flow_id, t_s, cwnd_pkts, ssthresh_pkts, srtt_s while a flow runs, as finely as they were recorded."""
        samples = joined(_polls(self.path)) if testbed.sniff(self.path) else self.trace.samples
        if "cwnd_pkts" not in samples or samples["cwnd_pkts"].isna().all():
            raise NotInTraceError(
                "no windows in this trace; data/raw/README.md says how to poll TCP_INFO beside iperf3"
            )
        columns = ["flow_id", "t_s", "cwnd_pkts", "ssthresh_pkts", "srtt_s"]
        spans = self.flows[["flow_id", "start_s", "stop_s"]]
        running = samples[columns].merge(spans).query("start_s < t_s <= stop_s").dropna(subset="cwnd_pkts")
        return running[columns].sort_values(["flow_id", "t_s"], ignore_index=True)

    def windows_of(self, flow_id: int, start_s: float, stop_s: float) -> pd.DataFrame:
        """The flow's windows in [start_s, stop_s)."""
        own = self.windows[self.windows["flow_id"] == flow_id]
        return own[own["t_s"].between(start_s, stop_s, inclusive="left")]


def _polls(folder: Path) -> Iterator[pd.DataFrame]:
    """Windows of each flow of a testbed run at every poll; the reader's samples keep only one in each interval."""
    meta = testbed.read_meta(folder / testbed.META)
    yield pd.DataFrame()
    for flow_id in meta.flow_ids:
        for file in folder.glob(f"s{flow_id}.tcp.csv*"):
            polls = tcp_info.read_polls(file)
            yield pd.DataFrame({"flow_id": flow_id, "t_s": polls["t"] - meta.t0, **tcp_info.windows(polls)})


# --- What was recorded -------------------------------------------------------------------------------------------


def about(recording: Recording) -> Drawn:
    """What the recording says of itself."""
    run, found = recording.trace.runs.iloc[0], recording.trace.provenance
    capacity_bps, wire_bytes = recording.parameter("capacity_bps"), recording.parameter("wire_bytes")
    items = {"recorded by": run["backend"], "kernel": found.get("kernel"), "bottleneck": found.get("bottleneck")}
    items["goodput seen by"] = ", ".join(found.get("goodput", []))
    items["duration"] = f"{run['duration_s']:g} s, goodput every {recording.interval_s:g} s"
    if capacity_bps is not None:
        items["link"] = f"{capacity_bps / BPS_PER_MBPS:g} Mb/s, of which {recording.ceiling_mbps:.1f} Mb/s are payload"
        if "buffer_pkts" in run:
            bdp = bdp_pkts(capacity_bps, recording.flows["rtt_s"].max(), wire_bytes)
            items["buffer"] = (
                f"{run['buffer_pkts']:.0f} packets, {run['buffer_pkts'] / bdp:.2g} bandwidth-delay products"
            )
    for flow in recording.flows.itertuples():
        rtt = f", RTT {flow.rtt_s * MS_PER_S:.4g} ms" if np.isfinite(flow.rtt_s) else ""
        items[f"flow {flow.flow_id}"] = f"{flow.protocol} from {flow.start_s:g} s{rtt}"
    data = pd.DataFrame([(item, str(text)) for item, text in items.items() if text], columns=["item", "value"])
    cells = data.set_index("item")["value"].map(escape).rename("").to_frame().rename_axis(None)
    return Drawn(Table(cells), no_numbers(), 1, data)


# --- Goodput and windows -----------------------------------------------------------------------------------------


def goodput(recording: Recording) -> Drawn:
    """Goodput of each flow and of all, beside what the link could carry."""
    r, ceiling_mbps = recording.goodput_mbps, recording.ceiling_mbps
    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.8)
    _shade_what_does_not_count(ax, recording)
    for flow, row in zip(recording.flows.itertuples(), r, strict=True):
        running = series.window_mask(recording.t_s, flow.start_s, flow.stop_s)
        color, label = recording.colors[flow.flow_id], recording.labels[flow.flow_id]
        ax.plot(recording.t_s[running], row[running], color=color, label=label)
    if len(r) > 1:
        ax.plot(recording.t_s, r.sum(axis=0), color=style.BLACK, lw=1, label="sum")
    if ceiling_mbps is not None:
        ax.axhline(ceiling_mbps, color=style.GREY, lw=1, ls="--", label=f"ceiling of the link, {ceiling_mbps:.1f} Mb/s")
    ax.set(ylabel="goodput (Mb/s)", ylim=(0, 1.1 * max(r.sum(axis=0).max(), ceiling_mbps or 0)))
    _finish_time_axis(ax, recording)

    numbers = [
        single_number("", "throughput_mean", row.mean(), flow=n) for n, row in zip(recording.labels, r, strict=True)
    ]
    numbers.append(single_number("", "throughput_sum", r.sum(axis=0).mean(), flow="all"))
    if ceiling_mbps is not None:
        numbers.append(single_number("", "utilisation", float(series.utilisation(r, ceiling_mbps)), flow="all"))
    return Drawn(figure, joined(numbers), 1, _by_flow(recording, "goodput_mbps", r))


def cwnd(recording: Recording) -> Drawn:
    """Window, ssthresh and losses of each flow, a panel each."""
    figure, panels = _window_panels(recording)
    for flow_id, ax in panels.items():
        rows = recording.windows.query("flow_id == @flow_id")
        ax.plot(rows["t_s"], rows["cwnd_pkts"], color=recording.colors[flow_id], label="cwnd")
        finite = rows["ssthresh_pkts"].where(np.isfinite(rows["ssthresh_pkts"]))
        ax.plot(rows["t_s"], finite, color=style.GREY, lw=1, ls="--", label="ssthresh")
        events = recording.trace.events.query("flow_id == @flow_id")
        for kind, marker, label in (("loss", "v", "window at a loss"), ("rto", "X", "window at a timeout")):
            chosen = events[events["kind"] == kind]
            if len(chosen):
                ax.plot(chosen["t_s"], chosen["cwnd_before"], ls="", marker=marker, color=style.BLACK, label=label)
    _finish_panels(panels, recording)
    means = recording.windows.groupby("flow_id")["cwnd_pkts"].mean()
    numbers = [single_number("", "cwnd_mean", value, flow=flow_id) for flow_id, value in means.items()]
    losses = recording.trace.events.query("kind in @LOSS_KINDS").groupby("flow_id").size()
    numbers += [single_number("", "losses", losses.get(flow_id, 0), flow=flow_id) for flow_id in means.index]
    data = [recording.windows.assign(kind="poll"), _loss_rows(recording.trace.events)]
    return Drawn(figure, joined(numbers), 1, joined(data).drop(columns="srtt_s"))


def _loss_rows(events: pd.DataFrame) -> pd.DataFrame:
    """Losses and timeouts in the columns of `Recording.windows`."""
    losses = events.query("kind in @LOSS_KINDS").rename(columns={"cwnd_before": "cwnd_pkts"})
    return losses[["flow_id", "t_s", "cwnd_pkts", "kind"]].assign(ssthresh_pkts=losses["cwnd_after"], srtt_s=np.nan)


# --- Fairness ----------------------------------------------------------------------------------------------------


def jfi(recording: Recording) -> Drawn:
    """J(t), its mean as the papers print it (eq. 2 of bhatti2008), and J of the mean throughputs."""
    _need_several_flows(recording, "J is 1 by definition")
    r = recording.counted(recording.goodput_mbps)
    values = {"jfi_mean": float(fairness.mean_jfi(r)), "jfi_of_means": float(fairness.jfi_of_means(r))}
    if "received_bytes" in recording.trace.samples:
        received = recording.counted(recording.rates_mbps("received_bytes"))
        values["jfi_mean_received"] = float(fairness.mean_jfi(received))
    j = fairness.jfi_over_time(recording.goodput_mbps)
    both = series.window_mask(recording.t_s, *recording.together_s)

    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.6)
    _shade_what_does_not_count(ax, recording)
    ax.plot(recording.t_s[both], j[both], color=style.BLUE, label="$J(t)$")
    lines = {
        "jfi_mean": ("-", style.BLACK, "mean of $J(t)$"),
        "jfi_of_means": ("--", style.VERMILION, "$J$ of the means"),
    }
    for metric, (line, color, label) in lines.items():
        ax.hlines(
            values[metric], *recording.window_s, color=color, ls=line, lw=1, label=f"{label}: {values[metric]:.4f}"
        )
    span = 1 - np.nanmin(j[both])
    ax.set(ylabel="Jain's fairness index", ylim=(1 - 1.1 * span, 1 + 0.1 * span) if span > 0 else (0.9, 1.01))
    _finish_time_axis(ax, recording)
    numbers = joined(single_number("", metric, value, flow="all") for metric, value in values.items())
    return Drawn(figure, numbers, 1, pd.DataFrame({"t_s": recording.t_s[both], "jfi": j[both]}))


def nru(recording: Recording) -> Drawn:
    """U_n(t) of each flow and the tuple <U_N, U_N+, U_N-> with the letter of its case (bhatti2009 eq. 3-8, Table II)."""
    _need_several_flows(recording, "it would be measured against itself")
    weights = nru_weights(recording)
    floor = mbps(recording.parameter("payload_bytes"), recording.interval_s)
    u_db = fairness.nru_over_time_db(recording.goodput_mbps, weights, floor)
    u_n = fairness.flow_nru_db(recording.counted(u_db))
    system = fairness.nru_tuple(u_n)
    letter = str(fairness.case_letter(system.u_plus, system.u_minus))
    both = series.window_mask(recording.t_s, *recording.together_s)

    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.8)
    _shade_what_does_not_count(ax, recording)
    ax.axhline(0, color=style.GREY, lw=0.8)
    ax.axhline(fairness.U_C_DB, color=style.GREY, lw=0.8, ls=":", label=f"10% unfair, {fairness.U_C_DB:g} dB")
    for flow_id, row, mean in zip(recording.labels, u_db, u_n, strict=True):
        color = recording.colors[flow_id]
        ax.plot(recording.t_s[both], row[both], color=color, label=f"{recording.labels[flow_id]}, mean {mean:+.2f} dB")
        ax.hlines(mean, *recording.window_s, color=color, lw=0.9, ls="--")
    shown = ", ".join("–" if np.isnan(value) else f"{value:+.2f}" for value in system)
    ax.set_title(rf"$\langle U_N, U_{{N+}}, U_{{N-}}\rangle$ = ⟨{shown}⟩ dB, case {letter}", loc="left")
    ax.set_ylabel("NRU (dB)")
    _finish_time_axis(ax, recording)

    zero_share = fairness.zero_share(recording.counted(recording.goodput_mbps))
    of_flows = {"U_n": u_n, "zero_share": zero_share, "self_pair_mbps": 1 / weights}
    of_system = {"U_N": system.u_mean, "U_N+": system.u_plus, "U_N-": system.u_minus, "case": letter}
    numbers = [
        single_number("", metric, value, flow=flow_id)
        for metric, values in of_flows.items()
        for flow_id, value in zip(recording.labels, values, strict=True)
    ]
    numbers += [single_number("", metric, value, flow="all") for metric, value in of_system.items()]
    data = _by_flow(recording, "u_db", u_db)
    return Drawn(figure, joined(numbers), 1, data[data["t_s"].isin(recording.t_s[both])])


def nru_weights(recording: Recording) -> Floats:
    """Weights in 1/(Mb/s), (flows,), from the self-pair of each flow's protocol by the rule in config/raw.yaml.

    Raises NotInTraceError for flows of different protocols without named self-pairs, InputError for a self-pair of
    another number of flows or without delivery.
    """
    rules = {"mean_of_columns": fairness.weights_mean_of_columns, "per_column": fairness.weights_per_column}
    means_mbps = np.array([_self_pair_mbps(recording, protocol) for protocol in recording.flows["protocol"]])
    weights = rules[recording.settings.weights.rule.value](means_mbps)
    if not np.isfinite(weights).all():
        raise InputError(
            f"{recording.path}: weights: a flow of the self-pair delivers nothing, so nothing can be compared to it"
        )
    return weights


def _self_pair_mbps(recording: Recording, protocol: str) -> Floats:
    """Mean goodput in Mb/s of each flow of the protocol's self-pair."""
    pairs = recording.settings.weights.self_pairs
    if protocol in pairs:
        pair = Recording(_absolute(pairs[protocol]), recording.settings)
    elif recording.flows["protocol"].nunique() == 1:
        pair = recording
    else:
        raise NotInTraceError(
            f"flows of different protocols, and config/raw.yaml: weights.self_pairs names no recording for {protocol}"
        )
    if len(pair.labels) != len(recording.labels):
        raise InputError(
            f"config/raw.yaml: weights.self_pairs.{protocol}: has {len(pair.labels)} flows; give one of {len(recording.labels)}"
        )
    return pair.counted(pair.goodput_mbps).mean(axis=-1)


def _need_several_flows(recording: Recording, why: str) -> None:
    if len(recording.labels) < 2:
        raise NotInTraceError(f"one flow alone: {why}")


# --- Recovery against the formulas -------------------------------------------------------------------------------


class Epoch(NamedTuple):
    """One flow between two losses."""

    flow_id: int
    number: int
    loss: NamedTuple  # rows of the trace's events
    following: NamedTuple
    polls: pd.DataFrame  # windows from the end of recovery to the following loss


class Growth(NamedTuple):
    """Additive increase of ``n_flows`` Reno flows that nothing disturbs, from ``start_s`` to ``stop_s``."""

    number: int
    start_s: float
    stop_s: float
    start_pkts: dict[int, float]  # flow -> window
    stop_pkts: dict[int, float]

    def formula_s(self, recording: Recording, sum_pkts: float) -> float:
        """Time until the windows add up to ``sum_pkts``."""
        capacity_pps = recording.parameter("capacity_bps") / BITS_PER_BYTE / recording.parameter("wire_bytes")
        start_pkts, n = sum(self.start_pkts.values()), len(self.start_pkts)
        rtt_s = recording.flows["rtt_s"].iloc[0]
        return kernel.additive_increase_time_s(start_pkts, sum_pkts, capacity_pps, rtt_s, increase_pkts=n)


def epochs_of(recording: Recording, ccs: Sequence[str]) -> Iterator[Epoch]:
    """Epochs of the flows that run one of ``ccs``, between losses that were no timeouts and not part of slow start."""
    analysis = recording.settings.analysis
    for flow_id in recording.flows.loc[recording.flows["cc"].isin(ccs), "flow_id"]:
        events = recording.trace.events.query("flow_id == @flow_id").sort_values("t_s", kind="stable")
        ends_s = events.loc[events["kind"] == "recovery_end", "t_s"]
        number = 0
        for loss, following in pairwise(events.query("kind in @LOSS_KINDS").itertuples()):
            end_s = ends_s[ends_s >= loss.t_s].min()
            polls = recording.windows_of(flow_id, end_s, following.t_s)
            long = following.t_s - loss.t_s > analysis.min_epoch_s.value and len(polls) >= analysis.min_polls.value
            if long and loss.kind == following.kind == "loss":
                number += 1
                yield Epoch(flow_id, number, loss, following, polls)


def growths_of(recording: Recording) -> Iterator[Growth]:
    """Where all flows are Reno's with one RTT, and from the end of a recovery on none starts, stops or loses."""
    flows, events, analysis = recording.trace.flows, recording.trace.events, recording.settings.analysis
    if not flows["cc"].isin(RENO_CCS).all() or flows["rtt_s"].nunique(dropna=False) > 1:
        return
    if recording.parameter("capacity_bps") is None or not np.isfinite(flows["rtt_s"]).all():
        return
    ends_s = set(events.loc[events["kind"] == "recovery_end", "t_s"])
    marks_s = sorted({*events["t_s"], *flows["start_s"], *flows["stop_s"].clip(upper=recording.t_s[-1])})
    number = 0
    for start_s, stop_s in pairwise(marks_s):
        running = flows.query("start_s < @start_s < stop_s")["flow_id"]
        polls = [recording.windows_of(flow_id, start_s, stop_s) for flow_id in running]
        long = (
            stop_s - start_s > analysis.min_epoch_s.value
            and min(map(len, polls), default=0) >= analysis.min_polls.value
        )
        if long and start_s in ends_s and all(_avoids_congestion(rows) for rows in polls):
            number += 1
            yield _growth(number, polls)


def _avoids_congestion(polls: pd.DataFrame) -> bool:
    """Whether the flow is past slow start."""
    return polls["cwnd_pkts"].iloc[0] >= polls["ssthresh_pkts"].iloc[0]


def _growth(number: int, polls: Sequence[pd.DataFrame]) -> Growth:
    """Between the moments at which the windows of all flows are known; between polls a window grows evenly."""
    start_s, stop_s = max(rows["t_s"].iloc[0] for rows in polls), min(rows["t_s"].iloc[-1] for rows in polls)
    start_pkts, stop_pkts = (
        {rows["flow_id"].iloc[0]: float(np.interp(at_s, rows["t_s"], rows["cwnd_pkts"])) for rows in polls}
        for at_s in (start_s, stop_s)
    )
    return Growth(number, start_s, stop_s, start_pkts, stop_pkts)


def recovery_checks(recording: Recording) -> pd.DataFrame:
    """Measured recovery beside the kernel's formulas (`tcpfair.models.kernel`), a row for each number.

    Columns flow, epoch, from_s, to_s, w_at_loss_pkts (at the loss that ends the epoch), quantity, unit, formula,
    measured, error_percent. Raises NotInTraceError when no flow has an epoch to compare.
    """
    rows = [
        *(row for epoch in epochs_of(recording, RENO_CCS) for row in _reno_rows(epoch)),
        *(_growth_row(recording, growth) for growth in growths_of(recording)),
        *(row for epoch in epochs_of(recording, CUBIC_CCS) for row in _cubic_rows(recording, epoch)),
    ]
    if not rows:
        raise NotInTraceError("no epoch of Reno or CUBIC between two losses: nothing to hold against their formulas")
    columns = ["flow", "epoch", "from_s", "to_s", "w_at_loss_pkts", "quantity", "unit", "formula", "measured"]
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(error_percent=100 * (found["measured"] / found["formula"] - 1))


def _epoch_row(epoch: Epoch, quantity: str, unit: str, formula: float, measured: float) -> tuple:
    place = (
        str(epoch.flow_id),
        epoch.number,
        epoch.polls["t_s"].iloc[0],
        epoch.following.t_s,
        epoch.following.cwnd_before,
    )
    return (*place, quantity, unit, formula, measured)


def _reno_rows(epoch: Epoch) -> Iterator[tuple]:
    """ssthresh over the largest window seen, and the packets gained in each measured RTT."""
    polls, peak_pkts = epoch.polls, epoch.polls["cwnd_pkts"].max()
    formula = kernel.reno_ssthresh_pkts(int(peak_pkts)) / peak_pkts
    yield _epoch_row(epoch, "ssthresh / window", "1", formula, epoch.following.cwnd_after / peak_pkts)
    srtt_s = polls["srtt_s"].to_numpy(dtype=float)
    rtts = np.append(0, np.cumsum(2 * np.diff(polls["t_s"]) / (srtt_s[1:] + srtt_s[:-1])))
    yield _epoch_row(epoch, "gain per RTT", "packets", 1.0, float(np.polyfit(rtts, polls["cwnd_pkts"], deg=1)[0]))


def _growth_row(recording: Recording, growth: Growth) -> tuple:
    """Time in which the windows of all flows grow from one sum to another."""
    stop_pkts = sum(growth.stop_pkts.values())
    flows = "+".join(map(str, growth.start_pkts))
    place = (flows, growth.number, growth.start_s, growth.stop_s, stop_pkts)
    return (*place, "growth time", "s", growth.formula_s(recording, stop_pkts), growth.stop_s - growth.start_s)


def _cubic_rows(recording: Recording, epoch: Epoch) -> Iterator[tuple]:
    """ssthresh over the largest window seen, K, and where the epoch lasts beyond K also W_max and C, all by fits."""
    peak_pkts = epoch.polls["cwnd_pkts"].max()
    formula = kernel.cubic_ssthresh_pkts(int(peak_pkts)) / peak_pkts
    yield _epoch_row(epoch, "ssthresh / window", "1", formula, epoch.following.cwnd_after / peak_pkts)
    w_max_pkts, k_s = _w_max_and_k(epoch)
    if not k_s > 0:  # recovery ended at or above W_max, or W_max is not known
        return
    (measured_k_s,) = _fit(
        recording, epoch, lambda t_s, k_s: cubic.window_pkts(t_s, k_s, w_max_pkts, kernel.CUBIC_C), [k_s]
    )
    yield _epoch_row(epoch, "K", "s", k_s, measured_k_s)
    if epoch.following.t_s - epoch.loss.t_s > k_s:
        # the turning point was passed: no constant needs to be given
        _, measured_w_max_pkts, measured_c = _fit(
            recording, epoch, cubic.window_pkts, [k_s, w_max_pkts, kernel.CUBIC_C]
        )
        yield _epoch_row(epoch, "W_max", "packets", w_max_pkts, measured_w_max_pkts)
        yield _epoch_row(epoch, "C", "packets/s³", kernel.CUBIC_C, measured_c)


def _w_max_and_k(epoch: Epoch) -> tuple[float, float]:
    """W_max in packets after the loss that began the epoch, and the kernel's K in s."""
    return epoch.loss.w_max, kernel.cubic_k_s(epoch.loss.w_max, epoch.loss.cwnd_after)


def _clock_s(recording: Recording, epoch: Epoch, t_s: npt.ArrayLike) -> Floats:
    """Time on CUBIC's curve: since the end of recovery, and one smallest RTT ahead, as Linux aims at the next window."""
    rtt_s = recording.flows.set_index("flow_id").loc[epoch.flow_id, "rtt_s"]
    return np.asarray(t_s) - epoch.polls["t_s"].iloc[0] + rtt_s


def _fit(recording: Recording, epoch: Epoch, curve: Callable[..., Floats], guess: list[float]) -> Floats:
    """Parameters of ``curve`` through the windows of an epoch by least squares; NaN when there are none."""
    try:
        return curve_fit(curve, _clock_s(recording, epoch, epoch.polls["t_s"]), epoch.polls["cwnd_pkts"], guess)[0]
    except RuntimeError:  # no convergence
        return np.full(len(guess), np.nan)


def recovery_curves(recording: Recording) -> pd.DataFrame:
    """The windows that the formulas predict, from the end of each recovery on: flow_id, epoch, t_s, cwnd_pkts."""
    curves = [pd.DataFrame(columns=["flow_id", "epoch", "t_s", "cwnd_pkts"])]
    for growth in growths_of(recording):
        sums = np.linspace(sum(growth.start_pkts.values()), sum(growth.stop_pkts.values()), _CURVE_POINTS)
        t_s = growth.start_s + np.array([growth.formula_s(recording, sum_pkts) for sum_pkts in sums])
        for flow_id, start_pkts in growth.start_pkts.items():
            own = start_pkts + (sums - sums[0]) / len(growth.start_pkts)  # each gains as much as the others
            curves.append(pd.DataFrame({"flow_id": flow_id, "epoch": growth.number, "t_s": t_s, "cwnd_pkts": own}))
    for epoch in epochs_of(recording, CUBIC_CCS):
        w_max_pkts, k_s = _w_max_and_k(epoch)
        if k_s > 0:
            t_s = np.linspace(epoch.polls["t_s"].iloc[0], epoch.following.t_s, _CURVE_POINTS)
            window = cubic.window_pkts(_clock_s(recording, epoch, t_s), k_s, w_max_pkts, kernel.CUBIC_C)
            values = {"flow_id": epoch.flow_id, "epoch": epoch.number, "t_s": t_s, "cwnd_pkts": window}
            curves.append(pd.DataFrame(values))
    return joined(curves[1:] or curves)


def recovery(recording: Recording) -> Drawn:
    """The formulas drawn over the windows, with what decides: Reno's growth time, CUBIC's K."""
    checks, curves = recovery_checks(recording), recovery_curves(recording)
    figure, panels = _window_panels(recording)
    for flow_id, ax in panels.items():
        rows = recording.windows.query("flow_id == @flow_id")
        color = recording.colors[flow_id]
        ax.plot(rows["t_s"], rows["cwnd_pkts"], color=color, lw=3, alpha=0.35, label="cwnd, measured")
        for _, curve in curves.query("flow_id == @flow_id").groupby("epoch"):
            ax.plot(curve["t_s"], curve["cwnd_pkts"], color=style.BLACK, lw=0.9)
        ax.plot([], [], color=style.BLACK, lw=0.9, label="by the kernel's formulas")
        _note_times(ax, checks, str(flow_id))
        ax.set_ylim(0, 1.35 * max(curves["cwnd_pkts"].max(), checks["w_at_loss_pkts"].min()))
    _finish_panels(panels, recording)
    data = joined(
        [recording.windows[["flow_id", "t_s", "cwnd_pkts"]].assign(kind="poll"), curves.assign(kind="formula")]
    )
    return Drawn(figure, no_numbers(), 1, data)


def _note_times(ax: Axes, checks: pd.DataFrame, flow: str) -> None:
    """Above each epoch: measured time and, in brackets, that of the formula."""
    own = checks["flow"].str.split("+").map(lambda flows: flow in flows)
    for row in checks[own & checks["quantity"].isin(["K", "growth time"])].itertuples():
        text = f"{'K ' if row.quantity == 'K' else ''}{row.measured:.2f} s\n({row.formula:.2f} s)"
        ax.text(
            (row.from_s + row.to_s) / 2,
            0.97,
            text,
            transform=ax.get_xaxis_transform(),
            ha="center",
            va="top",
            fontsize=6.5,
        )


def recovery_table(recording: Recording) -> Drawn:
    """Every measured number of the recovery beside its formula."""
    checks = recovery_checks(recording)
    cells = pd.DataFrame(
        {
            "time (s)": [f"{row.from_s:.1f} to {row.to_s:.1f}" for row in checks.itertuples()],
            "W at the end (packets)": checks["w_at_loss_pkts"].map("{:.0f}".format),
            "quantity": [
                row.quantity if row.unit == "1" else f"{row.quantity} ({row.unit})" for row in checks.itertuples()
            ],
            "by formula": checks["formula"].map("{:.4g}".format),
            "measured": checks["measured"].map("{:.4g}".format),
            "error": checks["error_percent"].map("{:+.1f}%".format),
        }
    )
    cells.index = pd.MultiIndex.from_frame(checks[["flow", "epoch"]])
    metrics = checks["quantity"].str.lower().str.replace(r"\W+", "_", regex=True)
    numbers = [
        single_number("", metric, row.measured, epoch=row.epoch, flow=row.flow)
        for metric, row in zip(metrics, checks.itertuples(), strict=True)
    ]
    return Drawn(Table(cells), joined(numbers), 1, checks)


# --- Axes --------------------------------------------------------------------------------------------------------


def _window_panels(recording: Recording) -> tuple[Figure, dict[int, Axes]]:
    """A panel for each flow, one below the other."""
    n = len(recording.labels)
    figure, axes = style.new_figure(n, 1, style.PAGE_IN, 1.0 + 1.6 * n, sharex=True, sharey=True)
    return figure, dict(zip(recording.labels, (row[0] for row in axes), strict=True))


def _finish_panels(panels: dict[int, Axes], recording: Recording) -> None:
    axes = list(panels.values())
    style.letter_panels(axes, list(recording.labels.values()))
    for ax in axes:
        ax.set(ylabel="cwnd (packets)", xlim=(0, recording.t_s[-1]))
    axes[0].set_ylim(bottom=0)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.2)
    axes[-1].set_xlabel("time (s)")


def _shade_what_does_not_count(ax: Axes, recording: Recording) -> None:
    """Grey over the time before J and NRU begin to count, if they ever do."""
    start_s = min(recording.together_s[0] + recording.settings.analysis.skip_s.value, recording.t_s[-1])
    ax.axvspan(0, start_s, color=NOT_COUNTED, lw=0, zorder=0, label="not counted for J and NRU")


def _finish_time_axis(ax: Axes, recording: Recording) -> None:
    ax.set(xlabel="time (s)", xlim=(0, recording.t_s[-1]))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _by_flow(recording: Recording, column: str, values: Floats) -> pd.DataFrame:
    """An array of shape (flows, intervals) as rows flow, t_s, ``column``."""
    flows = np.repeat(list(recording.labels), len(recording.t_s))
    return pd.DataFrame({"flow": flows, "t_s": np.tile(recording.t_s, len(values)), column: values.ravel()})


# --- The notebook ------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """One exhibit that every recording has."""

    title: str
    caption: str
    draw: Callable[[Recording], Drawn]


EXHIBITS = {
    "trace": Kind("what was recorded", "", about),
    "goodput": Kind("goodput", "In-order bytes handed to the receiving application, per interval.", goodput),
    "cwnd": Kind(
        "congestion windows", "Triangles: the window at each loss, worked out from ssthresh for Reno and CUBIC.", cwnd
    ),
    "jfi": Kind("Jain's fairness index", "J of each interval, its mean (eq. 2), and J of the mean goodputs.", jfi),
    "nru": Kind("normalised resource usage", "Goodput in dB of what a flow has in its self-pair.", nru),
    "recovery": Kind(
        "recovery over the formulas", "Above: Reno's growth time or CUBIC's K, measured (by formula).", recovery
    ),
    "recovery_table": Kind(
        "recovery against the formulas", "Formulas: tcpfair.models.kernel, as in Linux.", recovery_table
    ),
}


class Raw:
    """Recordings and their exhibits."""

    def __init__(self, layout: Layout, recordings: Sequence[Recording], only: Sequence[str] = ()) -> None:
        self.layout = layout
        self.recordings = recordings
        self.only = frozenset(only)

    def show(self, name: str) -> None:
        """Draw one exhibit of every recording, write its files and record, and display it.

        What cannot be drawn is recorded with the reason, as failed, or as left out when the recording is sound but does
        not have what the exhibit shows; nothing is raised. Raises InputError when there is no such exhibit.
        """
        if name not in EXHIBITS:
            raise InputError(f"exhibit {name!r}: unknown; known are {', '.join(EXHIBITS)}")
        for recording in self.recordings:
            if not self.only or self.only & {name, f"{recording.name}.{name}"}:
                self._show(recording, name)

    def _show(self, recording: Recording, name: str) -> None:
        kind = EXHIBITS[name]
        title = f"{recording.name}, {kind.title}"
        exhibit = Exhibit(id=f"{recording.name}.{name}", kind="supplement", title=title, caption=kind.caption)
        try:
            with style.applied():
                drawn = kind.draw(recording)
                corner = f"{pages.corner_text(self.layout.source, drawn)}, {recording.name}"
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
            self._display(exhibit, drawn, files, corner)

    def _figure_file(self, recording: Recording, name: str, suffix: str) -> Path:
        return self.layout.figures(recording.name) / f"{name}{suffix}"

    def _numbers_file(self, recording: Recording, name: str) -> Path:
        return self.layout.results / "numbers" / recording.name / f"{name}.csv"

    def _record(self, recording: Recording, name: str, drawn: Drawn, files: dict[str, bytes]) -> None:
        """Write the exhibit's files, its numbers and, last, the record that it is built."""
        paths = [self._figure_file(recording, name, suffix) for suffix in files]
        for path, content in zip(paths, files.values(), strict=True):
            pages.write_whole(path, content)
        numbers = rounded(drawn.numbers.assign(exhibit=f"{recording.name}.{name}", n_runs=1)).assign(
            source=self.layout.source
        )
        pages.write_whole(self._numbers_file(recording, name), pages.csv_bytes(numbers))
        built = [path.relative_to(self.layout.root).as_posix() for path in paths]
        self._write_record(recording, name, "built", built, drawn.n_runs, "")

    def _record_absence(self, recording: Recording, name: str, status: str, reason: str) -> None:
        """Record the reason, and remove what an earlier run drew."""
        for suffix in (".csv", ".html", ".svg", ".png"):
            self._figure_file(recording, name, suffix).unlink(missing_ok=True)
        self._numbers_file(recording, name).unlink(missing_ok=True)
        self._write_record(recording, name, status, [], 0, reason)

    def _write_record(
        self, recording: Recording, name: str, status: str, files: list[str], n_runs: int, error: str
    ) -> None:
        exhibit = f"{recording.name}.{name}"
        record = {"exhibit": exhibit, "status": status, "files": files, "n_runs": n_runs, "error": error}
        path = self.layout.results / "exhibits" / recording.name / f"{name}.json"
        pages.write_whole(path, (json.dumps(record, indent=1, sort_keys=True) + "\n").encode())

    def _display(self, exhibit: Exhibit, drawn: Drawn, files: dict[str, bytes], corner: str) -> None:
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
    return repository_root() / path


def open_raw(trace: str = "", source: str = "raw", only: str | Sequence[str] = "", run: int = 0) -> Raw:
    """The exhibits of a recording, or of the shipped examples when ``trace`` is empty.

    ``trace`` is a file or folder that `tcpfair.readers.read_any` knows, or the folder of a trace of this project, of
    which run ``run`` is shown; a relative path counts from the repository. ``only`` names the exhibits to draw, as
    ``"jfi"`` or ``"rr_wire.jfi"``. Raises InputError when config/raw.yaml is wrong or ``source`` is not raw; what is
    wrong with a recording is said by `Raw.show`.
    """
    if source != "raw":
        raise InputError(f'source {source!r}: recordings are shown with source = "raw"')
    layout = Layout(repository_root(), source)
    settings = load_raw(layout.config / "raw.yaml")
    shown = [Path(trace)] if trace else settings.examples
    recordings = [Recording(_absolute(path), settings, run if trace else 0) for path in shown]
    return Raw(layout, recordings, [only] if isinstance(only, str) and only else list(only))
