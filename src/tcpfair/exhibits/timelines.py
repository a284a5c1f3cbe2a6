"""Throughput over time of example runs."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from tcpfair.config import Exhibit
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Context, Drawn, Options, drawing, joined, values_of
from tcpfair.exhibits.numbers import number_rows, over_runs
from tcpfair.units import BPS_PER_MBPS, mbps

PEAK_METRICS = ("throughput_peak", "time_to_90_s", "throughput_full_mean")


class TimePanels(Options):
    """Options of `time_panels`."""

    protocol: str
    zoom_s: float  # how much of the start panel (a) shows enlarged


@drawing(TimePanels)
def time_panels(context: Context, exhibit: Exhibit, options: TimePanels) -> Drawn:
    """(a) one flow at each RTT, (b) two flows of the same protocol at one RTT: one example run each."""
    single, pair = (context.experiment(exhibit, place)[0] for place in (0, 1))
    pair_rtt_ms = context.paper.analysis_value("example_pair_rtt_ms")
    rtts_ms = values_of(context.paper.experiments[single], "rtt_ms")
    alone = joined(example_run(context, single, options.protocol, rtt_ms).assign(panel="a") for rtt_ms in rtts_ms)
    both = example_run(context, pair, options.protocol, pair_rtt_ms).assign(panel="b")

    figure, [[left, right]] = style.new_figure(1, 2, height_in=2.6, sharey=True)
    zoom = left.inset_axes((0.3, 0.36, 0.66, 0.48), xlim=(0, options.zoom_s))
    zoom.tick_params(labelsize=7)
    for rtt_ms, color in zip(rtts_ms, style.shades(len(rtts_ms)), strict=True):
        for ax in (left, zoom):
            _draw(ax, alone.query("rtt_ms == @rtt_ms"), color, f"{rtt_ms:g} ms")
    for (flow, rows), line in zip(both.groupby("flow"), ("-", "--"), strict=True):
        _draw(right, rows, style.look(options.protocol).color if flow == 1 else style.GREY, f"flow {flow}", ls=line)
    style.letter_panels((left, right), ("one flow, by RTT", f"two flows, RTT {pair_rtt_ms:g} ms"))
    left.set_ylabel("throughput (Mb/s)")
    capacity_mbps = context.paper.settings["capacity_bps"].value / BPS_PER_MBPS
    for ax in (left, right):
        ax.set(xlabel="time (s)", ylim=(0, 1.04 * capacity_mbps), xlim=(0, None))
    left.legend(loc="lower right", ncols=4, columnspacing=1.0, handlelength=1.4)
    right.legend(loc="lower right", ncols=2)

    metrics = context.metrics(single).query("protocol == @options.protocol")
    key = ["protocol", "rtt_ms"]
    numbers = joined(number_rows(exhibit.id, m, over_runs(metrics, m, key), key) for m in PEAK_METRICS)
    replicate = context.paper.analysis_value("example_replicate")
    note = f"drawn: example run {replicate + 1} of each"
    return Drawn(figure, numbers, int(numbers["n_runs"].max()), joined([alone, both]), note)


def example_run(context: Context, experiment: str, protocol: str, rtt_ms: float) -> pd.DataFrame:
    """Throughput of every flow of the example run: columns rtt_ms, flow, t_s, throughput_mbps."""
    trace, runs = context.trace(experiment), context.trace(experiment).runs
    example = runs["replicate"] == context.paper.analysis_value("example_replicate")
    chosen = runs[example & (runs["protocol"] == protocol) & (runs["rtt_ms"] == rtt_ms)]
    samples = trace.samples.merge(chosen[["run_id", "sample_s", "rtt_ms"]], on="run_id")
    samples["throughput_mbps"] = mbps(samples["delivered_bytes"], samples["sample_s"])
    return samples.rename(columns={"flow_id": "flow"})[["rtt_ms", "flow", "t_s", "throughput_mbps"]]


def _draw(ax: Axes, rows: pd.DataFrame, color: str, label: str, **line) -> None:
    ax.plot(rows["t_s"], rows["throughput_mbps"], color=color, lw=0.9, label=label, **line)
