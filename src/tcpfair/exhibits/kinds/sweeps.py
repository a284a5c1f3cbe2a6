"""Metrics along a swept variable: lines with the spread over runs, printed values as hollow markers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator
from pydantic import BaseModel, ConfigDict, Field

from tcpfair.contract.papers import Exhibit, Experiment
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
from tcpfair.models.cubic import proposed_k_s, tuned_x
from tcpfair.models.rtt_fairness import INCREMENT_EXPONENT, random_loss_ratio
from tcpfair.units import MS_PER_S

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


# --- Throughput and fairness side by side -----------------------------------------------------------------------


class Tuned(BaseModel):
    """A protocol of which every run has its own value of a parameter, to be tuned for fairness at each RTT."""

    model_config = ConfigDict(extra="forbid")

    experiment: str
    protocol: str


class FairnessPanels(Options):
    """Options of `fairness_panels`."""

    protocols: list[str]
    x: str
    x_axis: Axis
    throughput_axis: Axis
    jfi_axis: Axis
    flows: dict[int, str]  # flow -> what the legend says of it
    beside: list[str] = Field(default_factory=list)  # protocols of which the index alone is drawn
    tuned: Tuned | None = None
    statements: list[Statement] = Field(default_factory=list)


@drawing(FairnessPanels)
def fairness_panels(context: Context, exhibit: Exhibit, options: FairnessPanels) -> Drawn:
    """Left the throughput of each flow, right Jain's index of the means, over one grid variable."""
    name, experiment = context.experiment(exhibit)
    metrics = context.metrics(name)
    if options.tuned:
        metrics = joined([metrics, judged_runs(context, options.tuned, options.x)])
    metrics = metrics[metrics["protocol"].isin([*options.protocols, *options.beside])]
    key = ["protocol", options.x]
    flows = with_band(metrics, "throughput_mean", [*key, "flow"], "mean", "sd")
    index = with_band(metrics, "jfi_of_means", key, "mean", "sd")
    lead = _lead_of_flow_1(metrics, key)
    drawn = flows[flows["protocol"].isin(options.protocols)]
    frames = [
        number_rows(exhibit.id, "throughput_mean", drawn, [*key, "flow"]),
        number_rows(exhibit.id, "jfi_of_means", index, key),
        number_rows(exhibit.id, "jfi_mean", over_runs(metrics, "jfi_mean", key), key),
        number_rows(exhibit.id, "lead", lead, key),
        stated_numbers(exhibit.id, lead.assign(metric="lead"), options.statements),
    ]
    figure, [[left, right]] = style.new_figure(1, 2, height_in=2.9)
    for protocol in options.protocols:
        look = style.look(protocol)
        for flow, line in zip(options.flows, ("-", "--"), strict=True):
            cells = flows[(flows["protocol"] == protocol) & (flows["flow"] == flow)]
            draw_line(left, cells, options.x, look, "_", ls=line)
        draw_line(right, index.query("protocol == @protocol"), options.x, look, protocol)
    for protocol in options.beside:
        cells = index.query("protocol == @protocol")
        color = style.look(protocol).color
        right.plot(cells[options.x], cells["value"], color=color, ls=":", lw=1.1, label=f"{protocol}, for comparison")
    for text, line in zip(options.flows.values(), ("-", "--"), strict=True):
        left.plot([], [], color=style.GREY, ls=line, label=text)
    for ax, axis in ((left, options.throughput_axis), (right, options.jfi_axis)):
        options.x_axis.dress_x(ax, values_of(experiment, options.x))
        axis.dress_y(ax)
        ax.legend(loc="best")
    numbers = joined(frame for frame in frames if len(frame))
    return Drawn(figure, numbers, int(index["n_runs"].max()), note=band_text("mean", "sd"))


def _lead_of_flow_1(metrics: pd.DataFrame, key: Sequence[str]) -> pd.DataFrame:
    """Throughput of flow 1 over that of flow 2, of each run: cells as of `over_runs`."""
    means = metrics[metrics["metric"] == "throughput_mean"]
    by_flow = means.set_index([*key, "run_id", "flow"])["value"].unstack("flow")
    leads = (by_flow[1] / by_flow[2]).rename("value").reset_index().assign(metric="lead")
    order = metrics[list(key)].drop_duplicates()
    return order.merge(over_runs(leads, "lead", key), on=list(key))


def judged_runs(context: Context, tuned: Tuned, rtt: str) -> pd.DataFrame:
    """Metrics of the runs in which the parameter has the value that others than these were tuned to, at each RTT."""
    metrics = context.metrics(tuned.experiment).query("protocol == @tuned.protocol")
    x = tuned_to(context, tuned, rtt)["x"]
    first = context.paper.analysis_value("tuning_replicates")
    return metrics[(metrics["x"] == metrics[rtt].map(x)) & (metrics["replicate"] >= first)].drop(columns="x")


def tuned_to(context: Context, tuned: Tuned, rtt: str) -> pd.DataFrame:
    """x(RTT) as `tuned_x` finds it, and the ends of the x that are within a standard deviation as fair: x, low, high."""
    metrics = context.metrics(tuned.experiment).query("protocol == @tuned.protocol and metric == 'jfi_of_means'")
    first = context.paper.analysis_value("tuning_replicates")
    runs = metrics[metrics["replicate"] < first].groupby([rtt, "x"])["value"]
    means, spread = runs.mean().unstack("x").sort_index(), runs.std().unstack("x").sort_index()
    x = pd.Series(tuned_x(means, means.columns), index=means.index)
    at_best = np.arange(len(means)), means.to_numpy().argmax(axis=1)
    near = means.ge(means.to_numpy()[at_best] - spread.fillna(0).to_numpy()[at_best], axis=0)
    ends = near.apply(lambda row: pd.Series({"low": row.index[row].min(), "high": row.index[row].max()}), axis=1)
    return ends.assign(x=x)


class TunedFunction(Options):
    """Options of `tuned_function`."""

    tuned: Tuned
    x: str
    x_axis: Axis
    y_axis: Axis
    law: str  # what the legend says of the proposal's own factor


@drawing(TunedFunction)
def tuned_function(context: Context, exhibit: Exhibit, options: TunedFunction) -> Drawn:
    """x(RTT) of eq. 9 tuned for fairness, and the factor of eq. 6 relative to the least RTT."""
    found = tuned_to(context, options.tuned, options.x)
    rtts = found.index.to_numpy(dtype=float)
    least, span_s = rtts.min(), np.geomspace(rtts.min(), rtts.max(), 50) / MS_PER_S
    law = proposed_k_s(1.0, span_s) / proposed_k_s(1.0, least / MS_PER_S)
    experiment = context.paper.experiments[options.tuned.experiment]
    figure, [[ax]] = style.new_figure()
    look = style.look(options.tuned.protocol)
    ax.plot(rtts, found["x"], color=look.color, marker=look.marker, label="tuned here")
    ax.fill_between(rtts, found["low"], found["high"], color=look.color, alpha=0.13, lw=0, label="about as fair")
    ax.plot(span_s * MS_PER_S, law, color=style.look("Proposed K").color, ls="--", label=options.law)
    options.x_axis.dress_x(ax, values_of(experiment, options.x))
    options.y_axis.dress_y(ax)
    ax.legend(loc="upper right")
    rows = found.reset_index().assign(protocol=options.tuned.protocol)
    key = ["protocol", options.x]
    frames = [number_rows(exhibit.id, name, rows.assign(value=rows[name]), key) for name in ("x", "low", "high")]
    return Drawn(figure, joined(frames), int(context.paper.analysis_value("tuning_replicates")), note="tuning runs")


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
    """The same metrics for each value of an assumption: a column per protocol, a row per metric.

    Where the protocol itself is what varies, all stand in one column.
    """
    name, experiment = context.experiment(exhibit)
    together = options.variable == "protocol"
    protocols, values = protocols_of(experiment), values_of(experiment, options.variable)
    panels = [None] if together else protocols
    looks = [style.Look(color, marker) for color, marker in zip(style.shades(len(values)), "osD^", strict=False)]
    used = {**context.paper.settings, **context.paper.flow}.get(options.variable)
    rows, columns = len(options.measures), len(panels)
    figure, axes = style.new_figure(rows, columns, style.PAGE_IN, 0.9 + 1.6 * rows, sharex=True, sharey="row")
    frames = []
    for measure, row in zip(options.measures, axes, strict=True):
        metrics = context.metrics(name).query("flow == @measure.flow")
        key = list(dict.fromkeys(["protocol", options.x, options.variable]))
        cells = with_band(metrics, measure.metric, key, options.centre, options.band)
        flow = {"flow": measure.flow} if measure.flow != SYSTEM else {}
        frames.append(number_rows(exhibit.id, measure.metric, cells, key, **flow))
        for protocol, ax in zip(panels, row, strict=True):
            of_panel = cells if together else cells[cells["protocol"] == protocol]
            for value, look in zip(values, looks, strict=True):
                chosen = of_panel[of_panel[options.variable] == value]
                text = options.label.format(value * options.factor if isinstance(value, (int, float)) else value)
                here = used is not None and used.value == value
                draw_line(ax, chosen, options.x, look, text + " (used above)" * here, lw=2.0 if here else 1.1)
            for each in protocols if together else [protocol]:
                _draw_printed_row(ax, context, measure, each, options.x)
            measure.y_axis.dress_y(ax)
            ax.set_ylabel(measure.y_axis.label if ax is row[0] else "")
    for ax, protocol in zip(axes[0], panels, strict=True):
        ax.set_title(protocol or "")
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
