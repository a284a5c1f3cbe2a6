"""Metrics along a swept variable: lines with the spread over runs, printed values as hollow markers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator
from pydantic import BaseModel, ConfigDict, Field

from tcpfair.config import Exhibit, Experiment
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Context, Drawn, Options, drawing, flow_protocol, joined, protocols_of, values_of
from tcpfair.exhibits.numbers import (
    Centre,
    Statement,
    number_rows,
    over_runs,
    quantiles_over_runs,
    single_number,
    stated_numbers,
)
from tcpfair.measures import SYSTEM
from tcpfair.models.rtt_fairness import INCREMENT_EXPONENT, random_loss_ratio

Scale = Literal["linear", "log"]
Band = Literal["sd"] | tuple[float, float]
_LOG_MARGIN = 0.07  # beside the data, as a share of the logarithm of their range
_DECADES = 100  # a range that shows powers of ten rather than every value


class Axis(BaseModel):
    """What an axis shows and how."""

    model_config = ConfigDict(extra="forbid")

    label: str
    scale: Scale = "linear"
    limits: tuple[float, float] | None = None

    def dress_x(self, ax: Axes, values: Sequence[float]) -> None:
        """Set up the x axis, with ticks at the swept ``values`` unless they span decades."""
        ax.set(xlabel=self.label, xscale=self.scale)
        low, high = min(values), max(values)
        if self.scale == "log":  # by the values, for without any data a logarithmic axis has no limits
            aside = (high / low) ** _LOG_MARGIN
            ax.set_xlim(low / aside, high * aside)
        if self.scale == "linear" or high < _DECADES * low:
            ax.set_xticks(values, [f"{value:g}" for value in values])
            ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)

    def dress_y(self, ax: Axes) -> None:
        """Set up the y axis; a logarithmic one has plain numbers at 1, 2 and 5."""
        ax.set(ylabel=self.label, yscale=self.scale, **({"ylim": self.limits} if self.limits else {}))
        if self.scale == "log":
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_formatter("")


def with_band(metrics: pd.DataFrame, metric: str, by: Sequence[str], centre: Centre, band: Band) -> pd.DataFrame:
    """Cells of `over_runs` with the ends of the band: ``low`` and ``high``."""
    cells = over_runs(metrics, metric, by, centre)
    if band == "sd":
        return cells.assign(low=cells["value"] - cells["sd"], high=cells["value"] + cells["sd"])
    low, high = band
    quantiles = quantiles_over_runs(metrics, metric, by, band).rename(columns={low: "low", high: "high"})
    return cells.merge(quantiles, on=list(by))


def band_text(centre: Centre, band: Band) -> str:
    """What line and band are, for the corner note."""
    spread = "±1 sd" if band == "sd" else f"{100 * band[0]:g}–{100 * band[1]:g} %"
    return f"line: {centre}, band: {spread} over runs"


def draw_line(ax: Axes, cells: pd.DataFrame, x: str, look: style.Look, label: str, **line: Any) -> None:
    """One series with its band; ``cells`` from `with_band`."""
    cells = cells[[x, "value", "low", "high"]].astype(float).replace([np.inf, -np.inf], np.nan).sort_values(x)
    ax.plot(cells[x], cells["value"], color=look.color, marker=look.marker, label=label, **line)
    ax.fill_between(cells[x], cells["low"], cells["high"], color=look.color, alpha=0.13, lw=0)


# --- One metric, a line per protocol -----------------------------------------------------------------------------


class MetricLines(Options):
    """Options of `metric_lines`."""

    metric: str
    x: str
    x_axis: Axis
    y_axis: Axis
    flow: int = SYSTEM
    centre: Centre = "mean"
    band: Band = "sd"
    runs_below: float | None = None  # single runs are drawn where x is smaller
    printed: str = ""  # exhibit with the printed values
    fair_band: str = ""  # name of the analysis value that bounds what is called fair
    random_loss_over: tuple[float, float] | None = None  # x for which the law of random losses is drawn
    also: list[str] = Field(default_factory=list)
    statements: list[Statement] = Field(default_factory=list)


@drawing(MetricLines)
def metric_lines(context: Context, exhibit: Exhibit, options: MetricLines) -> Drawn:
    """One metric over one grid variable, a line per protocol."""
    name, experiment = context.experiment(exhibit)
    metrics = context.metrics(name).query("flow == @options.flow")
    key = ["protocol", options.x]
    cells = with_band(metrics, options.metric, key, options.centre, options.band)
    frames = [number_rows(exhibit.id, options.metric, cells, key)]
    frames += [number_rows(exhibit.id, metric, over_runs(metrics, metric, key), key) for metric in options.also]
    frames.append(stated_numbers(exhibit.id, cells.assign(metric=options.metric), options.statements))
    numbers = joined(frame for frame in frames if len(frame))

    figure, [[ax]] = style.new_figure(width_in=5.4)
    if options.fair_band:
        low, high = context.paper.analysis_value(options.fair_band)
        ax.axhspan(low, high, color=style.FAIR_BAND, lw=0, zorder=0, label=f"fair: {low:g} to {high:g}")
    for place, protocol in enumerate(protocols_of(experiment)):
        draw_line(ax, cells.query("protocol == @protocol"), options.x, style.look(protocol), protocol)
        if options.runs_below is not None:
            _draw_runs(ax, metrics, options, protocol, place)
    if options.random_loss_over:
        _draw_random_loss_law(ax, experiment, options.random_loss_over)
    printed = _printed_points(context, exhibit, options, experiment)
    for protocol, points in printed.groupby("protocol"):
        style.draw_printed(ax, points[options.x], points["value"], style.look(protocol))
    if options.runs_below is not None:
        ax.plot([], [], ls="", marker=".", ms=3, color=style.GREY, label="single run")
    if len(printed):
        ax.add_line(style.printed_handle())
    options.x_axis.dress_x(ax, values_of(experiment, options.x))
    options.y_axis.dress_y(ax)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return Drawn(figure, numbers, int(cells["n_runs"].max()), note=band_text(options.centre, options.band))


def _draw_runs(ax: Axes, metrics: pd.DataFrame, options: MetricLines, protocol: str, place: int) -> None:
    """Single runs as small points, each protocol a little beside the place to which they belong."""
    chosen = (metrics["metric"] == options.metric) & (metrics["protocol"] == protocol)
    runs = metrics[chosen & (metrics[options.x] < options.runs_below)]
    x, aside = runs[options.x].to_numpy(dtype=float), 0.01 * (place - 1.5)
    low, high = metrics[options.x].min(), metrics[options.x].max()
    x = x * (high / low) ** aside if options.x_axis.scale == "log" else x + (high - low) * aside
    ax.scatter(x, runs["value"], s=3, color=style.look(protocol).color, alpha=0.5, lw=0)


def _draw_random_loss_law(ax: Axes, experiment: Experiment, over: tuple[float, float]) -> None:
    """The ratio of the square-root law for the protocols that have one, dotted, for x in ``over``."""
    short_ms, long_ms = (flow["rtt_ms"].value for flow in experiment.flows)
    for protocol in protocols_of(experiment):
        if protocol.lower() in INCREMENT_EXPONENT:
            ratio = random_loss_ratio(protocol.lower(), long_ms / short_ms)
            ax.plot(over, [ratio, ratio], color=style.look(protocol).color, ls=":", lw=1.2, zorder=1)
    ax.plot([], [], color=style.GREY, ls=":", lw=1.2, label="square-root law")


def _printed_points(context: Context, exhibit: Exhibit, options: MetricLines, experiment: Experiment) -> pd.DataFrame:
    """Printed cells of the table that is plotted, and means that the text states, at every x that they speak of."""
    points = [pd.DataFrame(columns=["protocol", options.x, "value"])]
    if options.printed:
        points.append(context.printed(options.printed, options.metric))
    for statement in options.statements:
        if statement.rule == "mean":
            number = single_number(statement.exhibit or exhibit.id, statement.metric, np.nan, **statement.key)
            for text in context.against_print(exhibit.id, number).query("reproduced == '-'")["printed"]:
                at = statement.where.get(options.x, values_of(experiment, options.x))
                label = statement.where["protocol"][0]
                points.append(pd.DataFrame({"protocol": label, options.x: at, "value": float(text)}))
    return joined(frame for frame in points if len(frame)) if len(points) > 1 else points[0]


# --- Throughput of each flow -------------------------------------------------------------------------------------


class FlowLines(Options):
    """Options of `flow_lines`."""

    protocol: str
    x: str
    x_axis: Axis
    y_axis: Axis
    flows: dict[int, str]  # flow -> what the legend says of it
    total: str  # what the legend says of the sum


@drawing(FlowLines)
def flow_lines(context: Context, exhibit: Exhibit, options: FlowLines) -> Drawn:
    """Mean throughput of each flow, and of all together, over one grid variable."""
    name, experiment = context.experiment(exhibit)
    metrics = context.metrics(name).query("protocol == @options.protocol")
    key = ["protocol", options.x]
    flows = with_band(metrics, "throughput_mean", [*key, "flow"], "mean", "sd")
    total = with_band(metrics, "throughput_sum", key, "mean", "sd")
    numbers = joined(
        [
            number_rows(exhibit.id, "throughput_mean", flows, [*key, "flow"]),
            number_rows(exhibit.id, "throughput_sum", total, key),
        ]
    )
    figure, [[ax]] = style.new_figure()
    for (flow, label), line in zip(options.flows.items(), ("-", "--"), strict=True):
        look = style.look(flow_protocol(experiment, flow, options.protocol))
        draw_line(ax, flows.query("flow == @flow"), options.x, look, label, ls=line)
    draw_line(ax, total, options.x, style.Look(style.GREY, "."), options.total, ls=":")
    options.x_axis.dress_x(ax, values_of(experiment, options.x))
    options.y_axis.dress_y(ax)
    ax.legend(loc="best")
    return Drawn(figure, numbers, int(total["n_runs"].max()), note=band_text("mean", "sd"))


# --- What an assumption does -------------------------------------------------------------------------------------


class Measure(BaseModel):
    """A row of panels: one metric of one flow (0 = the system)."""

    model_config = ConfigDict(extra="forbid")

    metric: str
    y_axis: Axis
    flow: int = SYSTEM
    printed: str = ""


class SensitivityLines(Options):
    """Options of `sensitivity_lines`."""

    variable: str  # the grid variable whose effect is shown
    label: str  # of one of its values, such as "{:g} µs"
    factor: float = 1.0  # from the unit of the configuration to that of the label
    x: str
    x_axis: Axis
    centre: Centre = "mean"
    band: Band = "sd"
    measures: list[Measure]


@drawing(SensitivityLines)
def sensitivity_lines(context: Context, exhibit: Exhibit, options: SensitivityLines) -> Drawn:
    """The same metrics for each value of an assumption: a column per protocol, a row per metric."""
    name, experiment = context.experiment(exhibit)
    protocols, values = protocols_of(experiment), values_of(experiment, options.variable)
    looks = [style.Look(color, marker) for color, marker in zip(style.shades(len(values)), "osD^", strict=False)]
    used = {**context.paper.settings, **context.paper.flow}.get(options.variable)
    rows, columns = len(options.measures), len(protocols)
    figure, axes = style.new_figure(rows, columns, style.PAGE_IN, 0.9 + 1.6 * rows, sharex=True, sharey="row")
    frames = []
    for measure, row in zip(options.measures, axes, strict=True):
        metrics = context.metrics(name).query("flow == @measure.flow")
        key = ["protocol", options.x, options.variable]
        cells = with_band(metrics, measure.metric, key, options.centre, options.band)
        flow = {"flow": measure.flow} if measure.flow != SYSTEM else {}
        frames.append(number_rows(exhibit.id, measure.metric, cells, key, **flow))
        for protocol, ax in zip(protocols, row, strict=True):
            for value, look in zip(values, looks, strict=True):
                chosen = cells[(cells["protocol"] == protocol) & (cells[options.variable] == value)]
                text = options.label.format(value * options.factor if isinstance(value, (int, float)) else value)
                here = used is not None and used.value == value
                draw_line(ax, chosen, options.x, look, text + " (used above)" * here, lw=2.0 if here else 1.1)
            _draw_printed_row(ax, context, measure, protocol, options.x)
            measure.y_axis.dress_y(ax)
            ax.set_ylabel(measure.y_axis.label if ax is row[0] else "")
    for ax, protocol in zip(axes[0], protocols, strict=True):
        ax.set_title(protocol)
    for ax in axes[-1]:
        options.x_axis.dress_x(ax, values_of(experiment, options.x))
    if any(measure.printed for measure in options.measures):
        axes[0][0].add_line(style.printed_handle())
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(handles))
    numbers = joined(frames)
    return Drawn(figure, numbers, int(numbers["n_runs"].max()), note=band_text(options.centre, options.band))


def _draw_printed_row(ax: Axes, context: Context, measure: Measure, protocol: str, x: str) -> None:
    if not measure.printed:
        return
    cells = context.printed(measure.printed, measure.metric).query("protocol == @protocol")
    if measure.flow != SYSTEM:
        cells = cells.query("flow == @measure.flow")
    style.draw_printed(ax, cells[x], cells["value"], style.Look(style.GREY, "o"))
