"""Metrics along a swept variable: lines with the spread over runs, published values as hollow markers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Options, drawing
from tcpfair.measures import SYSTEM
from tcpfair.measures.shown import OVER_TIME
from tcpfair.models.cubic import proposed_k_s
from tcpfair.models.rtt_fairness import INCREMENT_EXPONENT, random_loss_ratio
from tcpfair.papers.papers import Exhibit, Experiment
from tcpfair.units import BPS_PER_MBPS, MS_PER_S
from tcpfair.verdicts.cells import cells
from tcpfair.verdicts.columns import Column, Numbers, filled, quantiles_over_runs, selected
from tcpfair.verdicts.computed import TUNED
from tcpfair.verdicts.context import Context, flow_protocol, protocols_of, values_of

Scale = Literal["linear", "log"]
_QUANTILES = (0.1, 0.9)  # the band around a median
_BAR_WIDTH = 0.8
_LEAST_HEIGHT_IN = 3.1
APART = 2.0  # points between lines that are drawn side by side
_APART_FROM_PRINT = 4.5  # points between a line and its published values
_MARGIN = 0.1  # next to the data, as a share of their range or of its logarithm
_RANDOM_LOSSES = (3e-4, 1e-2)  # loss rates at which overflows are rare
_DECADES = 100  # range from which ticks are at powers of ten rather than at every value
_FAR = 1000  # range of a y axis from which ticks are only at powers of ten


class Axis(Options):
    """Label, scale and limits of an axis."""

    label: str
    scale: Scale = "linear"
    limits: tuple[float, float] | None = None

    def dress_x(self, ax: Axes, values: Sequence[float]) -> None:
        """Set up the x axis, with ticks at the swept ``values`` unless they span decades."""
        ax.set(xlabel=self.label, xscale=self.scale)
        low, high = min(values), max(values)
        # limits from the values: without data a logarithmic axis has none, and lines that are moved aside would shift them
        if self.scale == "log":
            aside = (high / low) ** _MARGIN
            ax.set_xlim(low / aside, high * aside)
        elif high > low:
            aside = (high - low) * _MARGIN
            ax.set_xlim(low - aside, high + aside)
        if self.scale == "linear" or high < _DECADES * low:
            ax.set_xticks(values, [f"{value:g}" for value in values])
            ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        else:
            ax.tick_params(axis="x", labelsize=style.POWERS_PT)

    def dress_y(self, ax: Axes) -> None:
        """Set up the y axis; a logarithmic one has plain numbers at 1, 2 and 5, or only at 1 if its limits are far apart."""
        ax.set(ylabel=self.label, yscale=self.scale, **({"ylim": self.limits} if self.limits else {}))
        if self.scale == "log":
            far = self.limits is not None and self.limits[1] > _FAR * self.limits[0]
            style.label_decades(ax.yaxis, (1,) if far else (1, 2, 5))


RTT_OF_FLOW_2 = Axis(label="RTT of flow 2 (ms)", scale="log")


def with_band(column: Column, runs: pd.DataFrame | None = None) -> pd.DataFrame:
    """Cells with the ends of the band, ``low`` and ``high``: ±1 sd for a mean, quantiles of the ``runs`` for a median."""
    cells, metric = column.cells, column.metric
    if column.centre == "mean":
        return cells.assign(low=cells["value"] - cells["sd"], high=cells["value"] + cells["sd"])
    by = [name for name in cells if name in runs and name not in ("value", "flow")]
    quantiles = quantiles_over_runs(runs, metric, by, _QUANTILES)
    return cells.merge(quantiles.rename(columns=dict(zip(_QUANTILES, ("low", "high"), strict=True))), on=by)


def band_text(centre: str = "mean", drawn: str = "band") -> str:
    """The meaning of line and band (or bar), for the corner note."""
    low, high = _QUANTILES
    spread = "±1 sd" if centre == "mean" else f"{100 * low:g}–{100 * high:g} %"
    return f"line: {centre}, {drawn}: {spread} over runs"


def draw_line(
    ax: Axes, cells: pd.DataFrame, x: str, look: style.Look, label: str, points: float | None = None, **line: Any
) -> None:
    """One series with its band, and marks for points beyond the limits of y; ``cells`` from `with_band`.

    With ``points``, the series is moved to the right by these, and has bars instead of a band. So lines that coincide are side
    by side, and bands do not cover each other.
    """
    cells = cells[[x, "value", "low", "high"]].astype(float).replace([np.inf, -np.inf], np.nan).sort_values(x)
    drawn = {"color": look.color, "marker": look.marker, "label": label, **line}
    if points is None:
        ax.plot(cells[x], cells["value"], **drawn)
        style.draw_band(ax, cells[x], cells["low"], cells["high"], look.color)
    else:
        moved = style.aside(ax, points)
        ax.plot(cells[x], cells["value"], **drawn, transform=moved)
        ax.vlines(cells[x], cells["low"], cells["high"], color=look.color, lw=_BAR_WIDTH, transform=moved)
        style.counted(ax, cells[x], cells["value"], cells["low"], cells["high"])
    style.mark_beyond(ax, cells[x], cells["value"], look.color, points or 0.0)


def draw_protocols(
    ax: Axes,
    cells: pd.DataFrame,
    x: str,
    protocols: Sequence[str],
    apart: float = APART,
    label: str = "{}",
    **line: Any,
) -> None:
    """`draw_line` of each protocol, ``apart`` points from each other."""
    for protocol, lane in zip(protocols, style.lanes(len(protocols), apart), strict=True):
        own = cells[cells["protocol"] == protocol]
        draw_line(ax, own, x, style.look(protocol), label.format(protocol), lane, **line)


# --- One metric, a line per protocol -----------------------------------------------------------------------------


@drawing()
def metric_lines(
    context: Context,
    exhibit: Exhibit,
    experiment: Experiment,
    numbers: Numbers,
    *,
    metric: str,
    x: str,
    x_axis: Axis,
    y_axis: Axis,
    runs_below: float | None = None,
    printed: str = "",
) -> Drawn:
    """One metric over one grid variable, a line per protocol; single runs where ``x`` is below ``runs_below``.

    ``printed`` is the exhibit with the published values.
    """
    metrics = context.metrics(exhibit.experiments[0])
    metrics = metrics[metrics["flow"] == (1 if len(experiment.flows) == 1 else SYSTEM)]
    column = numbers.one_from_runs(metric)
    cells = with_band(column, metrics)

    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN if printed else 5.4)
    if metric == "ratio":
        low, high = context.value("fair_ratio")
        ax.axhspan(low, high, color=style.FAIR_BAND, lw=0, zorder=0, label=f"fair: {low:g} to {high:g}")
    protocols = protocols_of(experiment)
    half = _APART_FROM_PRINT / 2
    lanes = dict(zip(protocols, style.lanes(len(protocols), 4 * half), strict=True)) if printed else {}
    for place, protocol in enumerate(protocols):
        own, points = cells.query("protocol == @protocol"), lanes[protocol] - half if lanes else None
        draw_line(ax, own, x, style.look(protocol), protocol, points)
        if runs_below is not None:
            _draw_runs(ax, metrics, metric, x, x_axis.scale, runs_below, protocol, place)
    if (metric, x) == ("ratio", "loss_rate"):
        _draw_random_loss_law(ax, experiment)
    marks = _printed_points(context, exhibit, metric, x, printed, experiment)
    for protocol, own in marks.groupby("protocol"):
        points = lanes.get(protocol, half) + half
        style.draw_printed(ax, own[x], own["value"], style.look(protocol), points=points)
    if runs_below is not None:
        ax.plot([], [], ls="", marker=".", ms=3, color=style.GREY, label="single run")
    if len(marks):
        ax.add_line(style.printed_handle())
    x_axis.dress_x(ax, values_of(experiment, x))
    y_axis.dress_y(ax)
    ax.legend(**style.BESIDE)
    return Drawn(figure, note=band_text(column.centre, "bar" if printed else "band"))


def _draw_runs(
    ax: Axes, metrics: pd.DataFrame, metric: str, x: str, scale: Scale, below: float, protocol: str, place: int
) -> None:
    """Single runs as small points, each protocol slightly shifted."""
    chosen = (metrics["metric"] == metric) & (metrics["protocol"] == protocol)
    runs = metrics[chosen & (metrics[x] < below)]
    at, aside = runs[x].to_numpy(dtype=float), 0.01 * (place - 1.5)
    low, high = metrics[x].min(), metrics[x].max()
    at = at * (high / low) ** aside if scale == "log" else at + (high - low) * aside
    ax.scatter(at, runs["value"], s=3, color=style.look(protocol).color, alpha=0.5, lw=0)


def _draw_random_loss_law(ax: Axes, experiment: Experiment) -> None:
    """The ratio of the square-root law, dotted, for the protocols that have one, where random losses dominate."""
    short_ms, long_ms = (flow["rtt_ms"].value for flow in experiment.flows)
    for protocol in protocols_of(experiment):
        if protocol.lower() in INCREMENT_EXPONENT:
            ratio = random_loss_ratio(protocol.lower(), long_ms / short_ms)
            ax.plot(_RANDOM_LOSSES, [ratio, ratio], color=style.look(protocol).color, ls=":", lw=1.2, zorder=1)
    ax.plot([], [], color=style.GREY, ls=":", lw=1.2, label="square-root law")


def _printed_points(
    context: Context, exhibit: Exhibit, metric: str, x: str, table: str, experiment: Experiment
) -> pd.DataFrame:
    """Published cells of the plotted table, and means from the text, at every x of their cells."""
    points = [context.printed(table, metric)] if table else []
    for number in cells(context.paper, context.layout).query("quotes == @exhibit.id").to_dict("records"):
        cell = number["cell"]
        if cell and cell.cells in (None, "mean") and not cell.base and cell.measure == metric:
            at = cell.where.get(x, values_of(experiment, x))
            stated = {"protocol": cell.where["protocol"], x: np.ravel(at), "value": float(number["value"])}
            points.append(pd.DataFrame(stated))
    return filled(points, pd.DataFrame(columns=["protocol", x, "value"]))


# --- Throughput of each flow -------------------------------------------------------------------------------------


@drawing()
def flow_lines(context: Context, experiment: Experiment, numbers: Numbers, *, protocol: str, x_axis: Axis) -> Drawn:
    """Mean throughput of a flow at a fixed RTT, of one at a varied RTT, and of both together, over the latter."""
    flows, total = (with_band(numbers.one_from_runs(metric)) for metric in ("throughput_mean", "throughput_sum"))
    figure, [[ax]] = style.new_figure()
    fixed_ms = experiment.flows[0]["rtt_ms"].value
    for flow, rtt, line in ((1, f"{fixed_ms:g} ms", "-"), (2, "varied RTT", "--")):
        own = flow_protocol(experiment, flow, protocol)
        draw_line(ax, flows.query("flow == @flow"), "rtt_ms", style.look(own), f"{own}, {rtt}", ls=line)
    draw_line(ax, total, "rtt_ms", style.Look(style.GREY, "."), "both together", ls=":")
    x_axis.dress_x(ax, values_of(experiment, "rtt_ms"))
    ax.set(ylabel=OVER_TIME["throughput"].label, ylim=(0, context.value("capacity_bps") / BPS_PER_MBPS))
    ax.legend(loc="best")
    return Drawn(figure, note=band_text())


# --- Throughput and fairness side by side -----------------------------------------------------------------------


@drawing()
def fairness_panels(
    experiment: Experiment, numbers: Numbers, *, protocols: list[str], beside: Sequence[str] = ()
) -> Drawn:
    """The throughput of each flow on the left, Jain's index of the means on the right, over the RTT of flow 2.

    For the protocols ``beside``, only the index is drawn.
    """
    flows, index = (with_band(numbers.one_from_runs(metric)) for metric in ("throughput_mean", "jfi_of_means"))
    figure, [[left, right]] = style.new_figure(1, 2, height_in=2.9)
    n = len(protocols)
    for protocol, lane in zip(protocols, style.lanes(n, APART) if n > 1 else [None], strict=True):
        look = style.look(protocol)
        for flow, line in ((1, "-"), (2, "--")):
            cells = flows[(flows["protocol"] == protocol) & (flows["flow"] == flow)]
            draw_line(left, cells, "rtt_ms", look, "_", lane, ls=line)
        draw_line(right, index.query("protocol == @protocol"), "rtt_ms", look, protocol, lane)
    for protocol in beside:
        cells = index.query("protocol == @protocol")
        color = style.look(protocol).color
        right.plot(cells["rtt_ms"], cells["value"], color=color, ls=":", lw=1.1, label=f"{protocol}, for comparison")
    fixed_ms = experiment.flows[0]["rtt_ms"].value
    for text, line in ((f"flow 1, {fixed_ms:g} ms", "-"), ("flow 2, varied RTT", "--")):
        left.plot([], [], color=style.GREY, ls=line, label=text)
    left.set(ylabel=OVER_TIME["throughput"].label, ylim=(0, 950))
    right.set(ylabel="fairness index", ylim=(0.5, 1.01))
    for ax in (left, right):
        RTT_OF_FLOW_2.dress_x(ax, values_of(experiment, "rtt_ms"))
        ax.legend(loc="best")
    return Drawn(figure, note=band_text(drawn="band" if n == 1 else "bar"))


@drawing()
def kozu2014_fig14(context: Context, numbers: Numbers) -> Drawn:
    """x(RTT) of eq. 9 tuned for fairness, and the factor of eq. 6 relative to the least RTT."""
    found = numbers.of("x")
    rtts = found["rtt_ms"].to_numpy(dtype=float)
    least, span_s = rtts.min(), np.geomspace(rtts.min(), rtts.max(), 50) / MS_PER_S
    law = proposed_k_s(1.0, span_s) / proposed_k_s(1.0, least / MS_PER_S)
    figure, [[ax]] = style.new_figure()
    look = style.look(TUNED)
    ax.plot(rtts, found["x"], color=look.color, marker=look.marker, label="tuned here")
    style.draw_band(ax, rtts, found["low"], found["high"], look.color, "about as fair")
    relative = {"color": style.look("Proposed K").color, "ls": "--", "label": f"eq. 6, relative to {least:g} ms"}
    ax.plot(span_s * MS_PER_S, law, **relative)
    RTT_OF_FLOW_2.dress_x(ax, values_of(context.paper.experiments["existing"], "rtt_ms"))
    ax.set(ylabel="x", ylim=(0, 1.1))
    ax.legend(loc="upper right")
    n_runs = int(context.value("tuning_replicates"))
    return Drawn(figure, n_runs=n_runs, note="tuning runs")


# --- Sensitivity to an assumption --------------------------------------------------------------------------------


class Measure(Options):
    """A row of panels: one metric of one flow (0 = the system)."""

    metric: str
    y_axis: Axis
    flow: int = SYSTEM
    printed: str = ""


_LABELS = {
    "access_bps": "{:g} Mb/s",
    "access_jitter_s": "{:g} µs",
    "ack_every": "ACK ratio {:g}",
    "beta": "beta {:.2g}",
    "buffer_bdp": "{:g} BDP",
    "hystart": "HyStart {:g}",
    "jitter_s": "{:g} µs",
    "loss_rate": "loss {:g}",
    "root": "root {:g}",
    "rtt_ms": "2 against {:g} ms",
    "rtt_unit_s": "{:g} s",
    "rwnd_pkts": "{:g} packets",
    "wire_bytes": "{:g} bytes",
}
_FACTORS = {
    "access_bps": 1e-6,
    "access_jitter_s": 1e6,
    "jitter_s": 1e6,
}  # from the unit of the configuration to the label's


def value_text(variable: str, value: Any) -> str:
    """A value of a grid variable for legends and titles."""
    return _LABELS.get(variable, "{}").format(value * _FACTORS[variable] if variable in _FACTORS else value)


@drawing()
def sensitivity_lines(
    context: Context,
    exhibit: Exhibit,
    experiment: Experiment,
    numbers: Numbers,
    *,
    variable: str,
    x: str,
    x_axis: Axis,
    measures: list[Measure],
) -> Drawn:
    """The same metrics for each value of an assumption, the grid ``variable``: a column per protocol, a row per metric.

    If the variable is the protocol itself, all are in one column.
    """
    together = variable == "protocol"
    protocols, values = protocols_of(experiment), values_of(experiment, variable)
    panels = [None] if together else protocols
    looks = [style.Look(color, marker) for color, marker in zip(style.shades(len(values)), cycle("osD^"), strict=False)]
    lanes = style.lanes(len(values), APART)
    used = {**context.paper.settings, **context.paper.flow}.get(variable)
    rows, columns = len(measures), len(panels)
    figure, axes = style.new_figure(
        rows, columns, style.PAGE_IN, max(0.9 + 1.6 * rows, _LEAST_HEIGHT_IN), sharex=True, sharey="row"
    )
    for measure, row in zip(measures, axes, strict=True):
        column = numbers.one_from_runs(measure.metric, measure.flow)
        cells = with_band(column, context.metrics(exhibit.experiments[0]).query("flow == @measure.flow"))
        for protocol, ax in zip(panels, row, strict=True):
            of_panel = cells if together else cells[cells["protocol"] == protocol]
            measure.y_axis.dress_y(ax)
            for value, look, lane in zip(values, looks, lanes, strict=True):
                chosen = of_panel[of_panel[variable] == value]
                here = used is not None and used.value == value
                label = value_text(variable, value) + " (used above)" * here
                draw_line(ax, chosen, x, look, label, lane, lw=2.0 if here else 1.1)
            if measure.printed:
                where = {"protocol": protocols if together else protocol} | (
                    {"flow": measure.flow} if measure.flow else {}
                )
                marks = selected(context.printed(measure.printed, measure.metric), where)
                points = lanes[-1] + _APART_FROM_PRINT
                style.draw_printed(ax, marks[x], marks["value"], style.Look(style.GREY, "o"), points=points)
    for ax, protocol in zip(axes[0], panels, strict=True):
        ax.set_title(protocol or "")
    for ax in figure.axes:
        x_axis.dress_x(ax, values_of(experiment, x))
        ax.label_outer()
    if any(measure.printed for measure in measures):
        axes[0][0].add_line(style.printed_handle())
    style.legend_above(figure, axes[0][0].get_legend_handles_labels()[0])
    return Drawn(figure, note=band_text(column.centre, "bar"))
