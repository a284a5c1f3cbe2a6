"""Figures of several panels: a metric over a swept variable, rates over time, bars in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Options, drawing
from tcpfair.exhibits.kinds.sweeps import Axis, band_text, draw_protocols, with_band
from tcpfair.exhibits.kinds.timelines import example_number, example_runs
from tcpfair.measures import SYSTEM
from tcpfair.models.rtt_fairness import random_loss_ratio, synchronised_loss_ratio
from tcpfair.papers.papers import Exhibit, Value
from tcpfair.units import BPS_PER_MBPS, mbps
from tcpfair.verdicts.cells import BYTES_PER_MB
from tcpfair.verdicts.columns import Column, Numbers, joined, selected
from tcpfair.verdicts.computed import load_mbps
from tcpfair.verdicts.context import Context, protocols_of

TYPES = ("Type I", "Type II", "Type III", "Type IV", "Type V")  # of background traffic, as the paper numbers them


# --- A metric over a swept variable ------------------------------------------------------------------------------


class Panel(Options):
    """One panel, of one of the exhibit's experiments."""

    title: str = ""
    experiment: int = 0


@drawing()
def metric_panels(
    context: Context,
    exhibit: Exhibit,
    numbers: Numbers,
    *,
    metric: str,
    x: str,
    x_axis: Axis,
    y_axis: Axis,
    panels: list[Panel],
) -> Drawn:
    """One metric over one grid variable, a line per protocol, in one or more panels.

    If the RTT of flow 1 is fixed, the laws of SACK's ratio are drawn over that of flow 2.
    """
    n, to_axis = len(panels), 1 / BYTES_PER_MB if x == "buffer_bytes" else 1.0
    figure, [axes] = style.new_figure(1, n, 5.4 if n == 1 else None, 3.0, sharey=True)
    drawn = [with_band(column) for column in numbers.from_runs(metric)]
    places = sorted({value * to_axis for cells in drawn for value in cells[x]})
    for panel, cells, ax in zip(panels, drawn, axes, strict=True):
        _, experiment = context.experiment(exhibit, panel.experiment)
        y_axis.dress_y(ax)
        draw_protocols(ax, cells.assign(x=cells[x] * to_axis), "x", protocols_of(experiment))
        fixed = experiment.flows[0]["rtt_ms"]
        if isinstance(fixed, Value):
            _draw_laws(ax, places, fixed.value)
        x_axis.dress_x(ax, places)
        ax.label_outer()
    if n > 1:
        style.letter_panels(axes, [panel.title for panel in panels])
    axes[-1].legend(**style.BESIDE)
    return Drawn(figure, note=band_text(drawn="bar"))


def _draw_laws(ax: Axes, rtts_ms: Sequence[float], fixed_ms: float) -> None:
    """SACK's ratio, smaller over larger, by the laws of random and of synchronised losses."""
    x = np.geomspace(min(rtts_ms), max(rtts_ms), 50)
    k = np.maximum(x, fixed_ms) / np.minimum(x, fixed_ms)
    for law, dashes, text in (
        (random_loss_ratio, ":", "1/k, random losses"),
        (synchronised_loss_ratio, (0, (1, 3)), "1/k², synchronised"),
    ):
        ax.plot(x, law("reno", k), color=style.GREY, ls=dashes, lw=1.1, zorder=1, label=text)


# --- Rates over time ---------------------------------------------------------------------------------------------


class RatePanel(Panel):
    """A panel of one run of the experiment: that with these values of grid variables."""

    where: dict[str, Any]


@drawing()
def rate_panels(context: Context, exhibit: Exhibit, numbers: Numbers, *, panels: list[RatePanel]) -> Drawn:
    """Rates of the flows and of all forward traffic in an example run, a panel for each; utilisation over all runs."""
    rows = -(-len(panels) // 2)
    figure, _ = style.new_figure(rows, 2, style.PAGE_IN, 0.7 + 1.55 * rows, sharex=True, sharey=True)
    capacity_mbps = context.value("capacity_bps") / BPS_PER_MBPS
    curves, titles = [], []
    used = numbers.from_runs("utilisation")
    for panel, column, ax in zip(panels, used, figure.axes, strict=False):
        name, _ = context.experiment(exhibit, panel.experiment)
        curve = example_rates(context, name, panel.where).assign(panel=panel.title)
        for flow, line in curve.groupby("flow"):
            total = flow == SYSTEM
            color = style.BLACK if total else style.flow_color(int(flow) - 1)
            ax.plot(line["t_s"], line["mbps"], color=color, lw=1.0 if total else 0.8, zorder=3 if total else 2)
        titles.append(f"{panel.title}: {_utilisation_text(context, exhibit.id, column)}")
        curves.append(curve)
    style.letter_panels(figure.axes, titles)
    for ax in figure.axes:
        ax.set(xlim=(0, joined(curves)["t_s"].max()), ylim=(0, 1.02 * capacity_mbps))
        ax.set(xlabel="time (s)", ylabel="rate (Mb/s)")
        ax.label_outer()
    flows = sorted(set(joined(curves)["flow"]) - {SYSTEM})
    handles = [Line2D([], [], color=style.flow_color(flow - 1), label=f"flow {flow}") for flow in flows]
    handles.append(Line2D([], [], color=style.BLACK, label="all forward traffic"))
    style.legend_above(figure, handles)
    note = f"drawn: run {example_number(context)} of each; utilisation: mean ± sd over runs"
    return Drawn(figure, data=joined(curves), note=note)


def _utilisation_text(context: Context, exhibit_id: str, column: Column) -> str:
    """``93 ± 1 % (printed 95 %)``."""
    row = column.cells.iloc[0]
    text = f"{row['value']:.1f} ± {row['sd']:.1f} %" if np.isfinite(row["sd"]) else f"{row['value']:.1f} %"
    printed = context.against_print(exhibit_id, column.rows).dropna(subset="reproduced")["printed"]
    return f"{text} (printed {printed.iloc[0]} %)" if len(printed) else text


def example_rates(context: Context, experiment: str, where: Mapping[str, Any]) -> pd.DataFrame:
    """Mb/s of each flow of the example run and, as flow 0, of all forward traffic of the bottleneck.

    Columns flow, t_s, mbps. ``rates_count`` selects the bytes that count for flows, ``utilisation_counts`` those for the total.
    """
    trace = context.trace(experiment)
    run = example_runs(context, experiment, **where).iloc[0]
    foreground = trace.flows.query("run_id == @run.run_id and role == 'foreground'")["flow_id"]
    samples = trace.samples[(trace.samples["run_id"] == run["run_id"]) & trace.samples["flow_id"].isin(foreground)]
    link = trace.link.query("run_id == @run.run_id and direction == 'forward'")
    rates = context.value("rates_count")
    flows = samples.assign(flow=samples["flow_id"], mbps=mbps(samples[f"{rates}_bytes"], run["sample_s"]))
    total = link.assign(flow=SYSTEM, mbps=load_mbps(context, link, run))
    return joined([flows[["flow", "t_s", "mbps"]], total[["flow", "t_s", "mbps"]]])


# --- Bars in groups ----------------------------------------------------------------------------------------------


_VARIANTS = ("CUBIC", "BIC", "H-TCP", "HSTCP", "STCP")
_BARS_NOTE = "bar or square: mean, line: ±1 sd over runs"


class Bars(NamedTuple):
    """One panel: a metric, with the panel's title in its keys."""

    title: str
    metric: str
    y_axis: Axis


@drawing()
def ha2006_fig8(numbers: Numbers) -> Drawn:
    """Utilisation and variation under each type of background, with fixed and varied RTTs, and without background."""
    panels = (
        Bars("utilisation", "utilisation", Axis(label="utilisation (%)", limits=(86, 96))),
        Bars("variation of the total rate", "load_cov", Axis(label="standard deviation / mean")),
    )
    types = TYPES[:4]
    series = {
        "fixed background RTT": [{"traffic": f"{kind}, fixed RTT"} for kind in types],
        "varied background RTT": [{"traffic": kind} for kind in types],
    }
    figure, [axes] = style.new_figure(1, len(panels), style.PAGE_IN, 3.0)
    alone = {"label": "no background", "color": style.GREY, "ls": "--", "lw": 1.1}
    drawn = _groups(figure, axes, numbers, panels, types, series, [Line2D([], [], **alone)])
    for ax, panel in zip(axes, panels, strict=True):
        without = selected(numbers.of(panel.metric, item=panel.title), {"traffic": "none"})
        ax.axhline(float(without["value"].mean()), **alone, zorder=1)
    return drawn


@drawing()
def ha2006_fig13(numbers: Numbers) -> Drawn:
    """TCP-friendliness, intra-protocol and RTT-fairness of each variant under each type."""
    axis = Axis(label="smaller / larger", limits=(0, 1))
    titles = ("TCP-friendliness", "intra-protocol fairness", "RTT-fairness")
    series = {kind: [{"traffic": kind, "protocol": label} for label in _VARIANTS] for kind in ("none", *TYPES)}
    figure, grid = style.new_figure(len(titles), 1, style.PAGE_IN, 0.8 + 1.7 * len(titles), sharex=True)
    panels = [Bars(title, "fair_ratio", axis) for title in titles]
    return _groups(figure, [row[0] for row in grid], numbers, panels, _VARIANTS, series)


def _groups(
    figure: Figure,
    axes: Sequence[Axes],
    numbers: Numbers,
    panels: Sequence[Bars],
    groups: Sequence[str],
    series: Mapping[str, Sequence[Mapping[str, str]]],
    handles: Sequence[Line2D] = (),
) -> Drawn:
    """A bar for each of ``series`` in each group, selected by values of the key; ``handles`` are for further lines.

    A marker instead if the axis does not start from 0, because the length of a cut bar is meaningless.
    """
    colors = dict(zip(series, style.shades(len(series)), strict=True))
    width, error = 0.8 / len(series), {"elinewidth": 0.8, "ecolor": style.BLACK, "capsize": 1.5}
    for panel, ax in zip(panels, axes, strict=True):
        cells = numbers.of(panel.metric, item=panel.title)
        from_0 = not panel.y_axis.limits or panel.y_axis.limits[0] == 0
        for lane, (label, wheres) in zip(style.lanes(len(series), width), series.items(), strict=True):
            bars = joined(selected(cells, where).assign(at=x + lane) for x, where in enumerate(wheres))
            places, color = (bars["at"], bars["value"]), colors[label]
            if from_0:
                ax.bar(*places, 0.92 * width, color=color, yerr=bars["sd"], error_kw=error)
            else:
                ax.errorbar(*places, bars["sd"], ls="", marker="s", ms=6, color=color, **error)
        ax.set_xticks(range(len(groups)), groups)
        ax.grid(visible=False, axis="x")
        panel.y_axis.dress_y(ax)
    style.letter_panels(axes, [panel.title for panel in panels])
    style.legend_above(figure, [*(Patch(color=color, label=label) for label, color in colors.items()), *handles])
    return Drawn(figure, note=_BARS_NOTE)
