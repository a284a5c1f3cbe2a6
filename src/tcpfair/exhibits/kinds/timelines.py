"""Throughput, windows and CUBIC's K over time of example runs."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, drawing
from tcpfair.measures.shown import OVER_TIME
from tcpfair.metrics.epochs import LOSS_KINDS, k_over_time_s
from tcpfair.models.cubic import window_needed_bytes
from tcpfair.papers.papers import Exhibit
from tcpfair.units import BPS_PER_MBPS, MS_PER_S, mbps
from tcpfair.verdicts.cells import BYTES_PER_MB
from tcpfair.verdicts.columns import Numbers, joined, selected
from tcpfair.verdicts.context import Context, values_of

_ZOOM_S = 10  # of the start, enlarged in panel (a)
_LINE, _WIDEST = 0.9, 4.5
_ALIKE = 0.01  # as a share of the capacity: lines that stay closer than this count as equal


@drawing()
def time_panels(context: Context, exhibit: Exhibit, *, protocol: str) -> Drawn:
    """(a) one flow at each RTT, (b) two flows of the same protocol at one RTT: one example run each."""
    single, pair = (context.experiment(exhibit, place)[0] for place in (0, 1))
    pair_rtt_ms = context.value("example_pair_rtt_ms")
    rtts_ms = values_of(context.paper.experiments[single], "rtt_ms")
    alone = joined(example_run(context, single, protocol, rtt_ms).assign(panel="a") for rtt_ms in rtts_ms)
    both = example_run(context, pair, protocol, pair_rtt_ms).assign(panel="b")

    figure, [[left, right]] = style.new_figure(1, 2, height_in=2.6, sharey=True)
    zoom = left.inset_axes((0.3, 0.31, 0.66, 0.4), xlim=(0, _ZOOM_S))
    zoom.tick_params(labelsize=style.LEAST_PT)
    zoom.set_title(f"the first {_ZOOM_S} s", loc="left", fontsize=style.LEAST_PT, pad=2)
    # on a full link the lines coincide, so the widest is drawn first and each remains visible
    n = len(rtts_ms)
    looks = zip(rtts_ms, style.shades(n), style.nested(n, _WIDEST, _LINE), cycle("osD^"))
    for rtt_ms, color, width, marker in looks:
        own, label = alone.query("rtt_ms == @rtt_ms"), f"{rtt_ms:g} ms"
        _draw(left, own, color, label, lw=width)
        _draw(zoom, own, color, label, marker=marker, ms=3)
    for (flow, rows), line in zip(both.groupby("flow"), ("-", "--"), strict=True):
        _draw(right, rows, style.look(protocol).color if flow == 1 else style.GREY, f"flow {flow}", ls=line)
    style.letter_panels((left, right), ("one flow, by RTT", f"two flows, RTT {pair_rtt_ms:g} ms"))
    left.set_ylabel(OVER_TIME["throughput"].label)
    capacity_mbps = context.value("capacity_bps") / BPS_PER_MBPS
    for ax in (left, right):
        ax.set(xlabel="time (s)", ylim=(0, 1.04 * capacity_mbps), xlim=(0, None))
    style.note(left, _alike_text(alone, capacity_mbps), (0.3, 0.83), xycoords="axes fraction", va="center")
    left.legend(loc="lower right", ncols=4, columnspacing=1.0, handlelength=1.4)
    right.legend(loc="lower right", ncols=2)

    note = f"drawn: example run {example_number(context)} of each"
    return Drawn(figure, data=joined([alone, both]), note=note)


def _alike_text(alone: pd.DataFrame, capacity_mbps: float) -> str:
    """The time from which all lines coincide, and their rate; empty if they differ until the end."""
    wide = alone.pivot_table(index="t_s", columns="rtt_ms", values="throughput_mbps")
    low, high = wide.min(axis=1)[::-1].cummin(), wide.max(axis=1)[::-1].cummax()
    alike = (high - low)[high - low < _ALIKE * capacity_mbps]
    if len(alike) <= len(wide) / 2:
        return ""
    since_s = alike.index[-1]
    return f"from {since_s:g} s on: all {wide.shape[1]} at {wide.loc[since_s:].to_numpy().mean():.1f} Mb/s"


def example_runs(context: Context, experiment: str, **where: Any) -> pd.DataFrame:
    """The runs of the replicate that is drawn as an example, at some values of grid variables."""
    return selected(context.trace(experiment).runs, {"replicate": example_number(context) - 1, **where})


def example_number(context: Context) -> int:
    """The number of the run that is drawn as an example, from 1."""
    return context.value("example_replicate") + 1


def example_run(context: Context, experiment: str, protocol: str, rtt_ms: float) -> pd.DataFrame:
    """Throughput of every flow of the example run: columns rtt_ms, flow, t_s, throughput_mbps."""
    trace = context.trace(experiment)
    chosen = example_runs(context, experiment, protocol=protocol, rtt_ms=rtt_ms)
    samples = trace.samples.merge(chosen[["run_id", "sample_s", "rtt_ms"]], on="run_id")
    samples["throughput_mbps"] = mbps(samples["delivered_bytes"], samples["sample_s"])
    return samples.rename(columns={"flow_id": "flow"})[["rtt_ms", "flow", "t_s", "throughput_mbps"]]


def _draw(ax: Axes, rows: pd.DataFrame, color: str, label: str, **line) -> None:
    ax.plot(rows["t_s"], rows["throughput_mbps"], color=color, label=label, **{"lw": _LINE, **line})


# --- Window and K of one flow ------------------------------------------------------------------------------------


@drawing()
def cwnd_and_k(context: Context, exhibit: Exhibit, numbers: Numbers, *, protocol: str, flow: int) -> Drawn:
    """Window of one flow of the example run with the window that the target rate needs, and the K of both flows."""
    name, _ = context.experiment(exhibit)
    rows = example_windows(context, name, protocol)
    own, other = rows.query("flow == @flow"), rows.query("flow != @flow")
    rtt_ms = context.value("model_rtt_ms")[flow - 1]
    mb_per_pkt = context.value("payload_bytes") / BYTES_PER_MB
    target_bps = context.value("target_rate_bps")
    needed_mb = window_needed_bytes(target_bps, rtt_ms / MS_PER_S) / BYTES_PER_MB
    mean_mb = numbers.of("cwnd_mean")["value"].item()

    figure, axes = style.new_figure(2, 1, style.PAGE_IN, 3.6, sharex=True)
    top, bottom = (row[0] for row in axes)
    color = style.look(protocol).color
    top.plot(own["t_s"], own["cwnd_pkts"] * mb_per_pkt, color=color, lw=1.0, label="cwnd")
    top.axhline(mean_mb, color=color, lw=0.9, ls="--", label=f"mean over runs, {mean_mb:.2f} MB")
    needed = f"needed for {target_bps / BPS_PER_MBPS:g} Mb/s, {needed_mb:g} MB"
    top.axhline(needed_mb, color=style.GREY, lw=0.9, ls=":", label=needed)
    printed = context.against_print(exhibit.id, numbers.table).query("metric == 'cwnd_mean'")["printed"].astype(float)
    last_s = rows["t_s"].max()
    for value in printed:
        style.draw_printed(top, [last_s], [value], style.Look(color, "o"), "printed mean")
    top.set(ylabel="cwnd (MB)", ylim=(0, None))
    bottom.plot(other["t_s"], other["k_s"], color=style.GREY, lw=1.0, ls="--", label="K of the other flow")
    bottom.plot(own["t_s"], own["k_s"], color=color, lw=1.2, label="K")
    bottom.set(xlabel="time (s)", ylabel=OVER_TIME["k"].label, ylim=(0, None), xlim=(0, 1.01 * last_s))
    for ax in (top, bottom):
        ax.legend(**style.BESIDE)
    return Drawn(figure, data=rows, note=f"drawn: run {example_number(context)}")


def example_windows(context: Context, experiment: str, protocol: str) -> pd.DataFrame:
    """Window and K of both flows of the example run: columns flow, t_s, cwnd_pkts, k_s."""
    trace, run_id = context.trace(experiment), example_runs(context, experiment, protocol=protocol)["run_id"].iloc[0]
    losses = trace.events[(trace.events["run_id"] == run_id) & trace.events["kind"].isin(LOSS_KINDS)].sort_values("t_s")
    parts = []
    for flow, rows in trace.samples[trace.samples["run_id"] == run_id].groupby("flow_id"):
        own = losses[losses["flow_id"] == flow]
        k_s = k_over_time_s(rows["t_s"], own["t_s"], own["k_s"])
        parts.append(rows[["t_s", "cwnd_pkts"]].assign(flow=flow, k_s=k_s))
    return joined(parts)[["flow", "t_s", "cwnd_pkts", "k_s"]]
