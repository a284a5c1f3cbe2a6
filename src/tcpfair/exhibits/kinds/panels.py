"""Figures of several panels: a metric over a swept variable, rates over time, bars in groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from pydantic import BaseModel, ConfigDict, Field

from tcpfair.contract.papers import Exhibit
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Context, Drawn, Options, drawing, joined, protocols_of, values_of
from tcpfair.exhibits.kinds.sweeps import Axis, band_text, draw_line, with_band
from tcpfair.exhibits.numbers import Statement, number_rows, over_runs, single_number, stated_numbers
from tcpfair.measures import SYSTEM
from tcpfair.models.rtt_fairness import random_loss_ratio, synchronised_loss_ratio
from tcpfair.units import BITS_PER_BYTE, BPS_PER_MBPS, MS_PER_S, mbps

_BYTES_PER_MB = 1e6
_PERCENT = 100


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


def selected(table: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Rows whose columns have the values of ``where``."""
    for column, value in where.items():
        table = table[table[column] == value]
    return table


# --- A metric over a swept variable ------------------------------------------------------------------------------


class Panel(_Part):
    """One panel: which of the exhibit's experiments, and the values that grid variables have in it."""

    title: str = ""
    experiment: int = 0
    where: dict[str, Any] = Field(default_factory=dict)


class BdpShare(_Part):
    """A buffer that the text compares with the BDP."""

    exhibit: str
    buffer_mb: float
    rtt_ms: float


class MetricPanels(Options):
    """Options of `metric_panels`."""

    metric: str
    factor: float = 1.0  # from the unit of the metric to that of the axis and the numbers
    x: str
    x_factor: float = 1.0  # from the unit of the grid variable to that of the axis
    x_axis: Axis
    y_axis: Axis
    panels: list[Panel]
    also: list[str] = Field(default_factory=list)
    laws_ms: float | None = None  # RTT of flow 1: the laws of SACK's ratio are drawn for x, the RTT of flow 2
    statements: list[Statement] = Field(default_factory=list)
    bdp_shares: list[BdpShare] = Field(default_factory=list)


@drawing(MetricPanels)
def metric_panels(context: Context, exhibit: Exhibit, options: MetricPanels) -> Drawn:
    """One metric over one grid variable, a line per protocol, in one or more panels."""
    n = len(options.panels)
    figure, [axes] = style.new_figure(1, n, 5.4 if n == 1 else None, 3.0, sharey=True)
    frames, cells = [], []
    for letter, panel, ax in zip("abc", options.panels, axes, strict=False):
        name, experiment = context.experiment(exhibit, panel.experiment)
        metrics = selected(context.metrics(name), panel.where)
        key = ["protocol", options.x]
        drawn = _scaled(
            with_band(_of_system(metrics, options.metric), options.metric, key, "mean", "sd"), options.factor
        )
        for metric in (options.metric, *options.also):
            factor = options.factor if metric.startswith(options.metric) else 1.0
            of_metric = metrics[metrics["metric"] == metric]
            by = key if (of_metric["flow"] == SYSTEM).all() else [*key, "flow"]
            found = _scaled(over_runs(of_metric, metric, by), factor).assign(panel=letter, metric=metric)
            frames.append(number_rows(exhibit.id, metric, found, by, **panel.where))
            cells.append(found)
        for protocol in protocols_of(experiment):
            line = drawn.query("protocol == @protocol").assign(x=lambda rows: rows[options.x] * options.x_factor)
            draw_line(ax, line, "x", style.look(protocol), protocol)
        places = [value * options.x_factor for value in values_of(experiment, options.x)]
        if options.laws_ms is not None:
            _draw_laws(ax, places, options.laws_ms)
        options.x_axis.dress_x(ax, places)
        options.y_axis.dress_y(ax)
        ax.set_ylabel(options.y_axis.label if ax is axes[0] else "")
    if n > 1:
        style.letter_panels(axes, [panel.title for panel in options.panels])
    axes[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    frames.append(stated_numbers(exhibit.id, joined(cells), options.statements))
    frames += [_bdp_share(context, share) for share in options.bdp_shares]
    numbers = joined(frame for frame in frames if len(frame))
    return Drawn(figure, numbers, int(max(found["n_runs"].max() for found in cells)), note=band_text("mean", "sd"))


def _of_system(metrics: pd.DataFrame, metric: str) -> pd.DataFrame:
    return metrics[(metrics["metric"] == metric) & (metrics["flow"] == SYSTEM)]


def _scaled(cells: pd.DataFrame, factor: float) -> pd.DataFrame:
    columns = [name for name in ("value", "sd", "low", "high") if name in cells]
    return cells.assign(**{name: factor * cells[name] for name in columns})


def _draw_laws(ax: Axes, rtts_ms: Sequence[float], fixed_ms: float) -> None:
    """SACK's ratio, smaller over larger, by the laws of random and of synchronised losses."""
    x = np.geomspace(min(rtts_ms), max(rtts_ms), 50)
    k = np.maximum(x, fixed_ms) / np.minimum(x, fixed_ms)
    for law, dashes, text in (
        (random_loss_ratio, ":", "1/k, random losses"),
        (synchronised_loss_ratio, (0, (1, 3)), "1/k², synchronised"),
    ):
        ax.plot(x, law("reno", k), color=style.GREY, ls=dashes, lw=1.1, zorder=1, label=text)


def _bdp_share(context: Context, share: BdpShare) -> pd.DataFrame:
    """A buffer in percent of the BDP, as the text puts it."""
    bdp_bytes = context.paper.settings["capacity_bps"].value * share.rtt_ms / MS_PER_S / BITS_PER_BYTE
    value = _PERCENT * share.buffer_mb * _BYTES_PER_MB / bdp_bytes
    key = {"item": f"{share.buffer_mb:g} MB buffer", "rtt_ms": share.rtt_ms}
    return single_number(share.exhibit, "bdp_share", value, **key)


# --- Rates over time ---------------------------------------------------------------------------------------------


class RatePanels(Options):
    """Options of `rate_panels`."""

    panels: list[Panel]
    key: list[str]  # grid variables that key the numbers
    columns: int = 2
    also: list[str] = Field(default_factory=list)


@drawing(RatePanels)
def rate_panels(context: Context, exhibit: Exhibit, options: RatePanels) -> Drawn:
    """Rates of the flows and of all forward traffic in an example run, a panel for each; utilisation over all runs."""
    rows = -(-len(options.panels) // options.columns)
    figure, axes = style.new_figure(rows, options.columns, style.PAGE_IN, 0.7 + 1.55 * rows, sharex=True, sharey=True)
    every = [ax for row in axes for ax in row]
    capacity_mbps = context.paper.settings["capacity_bps"].value / BPS_PER_MBPS
    numbers, curves, titles = [], [], []
    for panel, ax in zip(options.panels, every, strict=False):
        name, _ = context.experiment(exhibit, panel.experiment)
        metrics = selected(context.metrics(name), panel.where)
        cells = _scaled(over_runs(metrics, "utilisation", options.key), _PERCENT)
        numbers.append(number_rows(exhibit.id, "utilisation", cells, options.key))
        for metric in options.also:
            of_metric = metrics[metrics["metric"] == metric]
            by = options.key if (of_metric["flow"] == SYSTEM).all() else [*options.key, "flow"]
            factor = _PERCENT if metric.startswith("utilisation") else 1
            numbers.append(number_rows(exhibit.id, metric, _scaled(over_runs(of_metric, metric, by), factor), by))
        curve = example_rates(context, name, panel.where).assign(panel=panel.title)
        for flow, line in curve.groupby("flow"):
            total = flow == SYSTEM
            color = style.BLACK if total else style.FLOW_COLORS[(int(flow) - 1) % len(style.FLOW_COLORS)]
            ax.plot(line["t_s"], line["mbps"], color=color, lw=1.0 if total else 0.8, zorder=3 if total else 2)
        titles.append(
            f"{panel.title}: {_utilisation_text(context, exhibit.id, numbers[-1 - len(options.also)], cells)}"
        )
        curves.append(curve)
    style.letter_panels(every, titles)
    for ax in every:
        ax.set(xlim=(0, joined(curves)["t_s"].max()), ylim=(0, 1.02 * capacity_mbps))
    for row in axes:
        row[0].set_ylabel("rate (Mb/s)")
    for ax in axes[-1]:
        ax.set_xlabel("time (s)")
    flows = sorted(set(joined(curves)["flow"]) - {SYSTEM})
    handles = [Line2D([], [], color=style.FLOW_COLORS[flow - 1], label=f"flow {flow}") for flow in flows]
    handles.append(Line2D([], [], color=style.BLACK, label="all forward traffic"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    replicate = context.paper.analysis_value("example_replicate")
    note = f"drawn: run {replicate + 1} of each; utilisation: mean ± sd over runs"
    table = joined(numbers)
    return Drawn(figure, table, int(table["n_runs"].max()), joined(curves), note)


def _utilisation_text(context: Context, exhibit_id: str, numbers: pd.DataFrame, cells: pd.DataFrame) -> str:
    """``93 ± 1 % (printed 95 %)``."""
    row = cells.iloc[0]
    text = f"{row['value']:.1f} ± {row['sd']:.1f} %" if np.isfinite(row["sd"]) else f"{row['value']:.1f} %"
    printed = context.against_print(exhibit_id, numbers).dropna(subset="reproduced")["printed"]
    return f"{text} (printed {printed.iloc[0]} %)" if len(printed) else text


def example_rates(context: Context, experiment: str, where: Mapping[str, Any]) -> pd.DataFrame:
    """Mb/s of each flow of the example run and, as flow 0, of all that the bottleneck carries forward.

    Columns flow, t_s, mbps; the total counts what ``utilisation_counts`` says.
    """
    trace = context.trace(experiment)
    runs = selected(trace.runs, {"replicate": context.paper.analysis_value("example_replicate"), **where})
    run = runs.iloc[0]
    foreground = trace.flows.query("run_id == @run.run_id and role == 'foreground'")["flow_id"]
    samples = trace.samples[(trace.samples["run_id"] == run["run_id"]) & trace.samples["flow_id"].isin(foreground)]
    link = trace.link.query("run_id == @run.run_id and direction == 'forward'")
    of_payload = context.paper.analysis_value("utilisation_counts") == "payload"
    counted = run["payload_bytes"] / run["wire_bytes"] if of_payload else 1.0
    flows = samples.assign(flow=samples["flow_id"], mbps=mbps(samples["delivered_bytes"], run["sample_s"]))
    total = link.assign(flow=SYSTEM, mbps=counted * mbps(link["forwarded_bytes"], run["sample_s"]))
    return joined([flows[["flow", "t_s", "mbps"]], total[["flow", "t_s", "mbps"]]])


# --- Bars in groups ----------------------------------------------------------------------------------------------


class Series(_Part):
    """The bars of one colour: what they are, with ``{group}`` for the group's name."""

    label: str
    where: dict[str, str]


class BarPanel(_Part):
    """One panel: a metric from one or more of the exhibit's experiments."""

    title: str
    metric: str
    y_axis: Axis
    factor: float = 1.0
    experiments: list[int] = [0]
    where: dict[str, Any] = Field(default_factory=dict)


class Gain(_Part):
    """How much larger, in percent, a panel's value is than with ``base``: least or largest over ``over``."""

    key: dict[str, str]
    metric: str
    panel: int
    where: dict[str, str]
    base: dict[str, str]
    over: dict[str, list[str]]
    rule: Literal["min", "max"]


class GroupedBars(Options):
    """Options of `grouped_bars`."""

    groups: list[str]
    group_by: str = ""  # the column whose values the groups are; none: the series say it
    series: list[Series]
    panels: list[BarPanel]
    stacked: bool = False  # panels below each other
    reference: dict[str, str] = Field(default_factory=dict)  # drawn as a line
    reference_label: str = ""
    gains: list[Gain] = Field(default_factory=list)


@drawing(GroupedBars)
def grouped_bars(context: Context, exhibit: Exhibit, options: GroupedBars) -> Drawn:
    """Bars with one standard deviation, in groups."""
    n = len(options.panels)
    shape = (n, 1, style.PAGE_IN, 0.8 + 1.7 * n) if options.stacked else (1, n, style.PAGE_IN, 3.0)
    figure, grid = style.new_figure(*shape, sharex=options.stacked)
    axes = [ax for row in grid for ax in row]
    colors = style.shades(len(options.series))
    tables = [_bar_cells(context, exhibit, panel) for panel in options.panels]
    for panel, cells, ax in zip(options.panels, tables, axes, strict=True):
        for place, (series, color) in enumerate(zip(options.series, colors, strict=True)):
            _draw_series(ax, cells, options, series, place, color)
        if options.reference:
            value = selected(cells, options.reference)["value"].mean()
            ax.axhline(value, color=style.GREY, lw=1.1, ls="--", zorder=1)
        ax.set_xticks(range(len(options.groups)), options.groups)
        ax.grid(visible=False, axis="x")
        panel.y_axis.dress_y(ax)
    style.letter_panels(axes, [panel.title for panel in options.panels])
    handles = [Patch(color=color, label=series.label) for series, color in zip(options.series, colors, strict=True)]
    if options.reference:
        handles.append(Line2D([], [], color=style.GREY, ls="--", lw=1.1, label=options.reference_label))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    numbers = joined([*_bar_numbers(exhibit.id, options, tables), *_gains(exhibit.id, options.gains, tables)])
    return Drawn(
        figure, numbers, int(max(cells["n_runs"].max() for cells in tables)), note="bar: mean, line: ±1 sd over runs"
    )


_KEY = ["protocol", "rtt_ms", "traffic"]


def _bar_cells(context: Context, exhibit: Exhibit, panel: BarPanel) -> pd.DataFrame:
    names = [context.experiment(exhibit, place)[0] for place in panel.experiments]
    metrics = joined(selected(context.metrics(name), panel.where) for name in names)
    return _scaled(over_runs(_of_system(metrics, panel.metric), panel.metric, _KEY), panel.factor)


def _draw_series(ax: Axes, cells: pd.DataFrame, options: GroupedBars, series: Series, place: int, color: str) -> None:
    width = 0.8 / len(options.series)
    for x, group in enumerate(options.groups):
        where = {column: text.format(group=group) for column, text in series.where.items()}
        if options.group_by:
            where[options.group_by] = group
        for row in selected(cells, where).itertuples():
            at = x + (place - (len(options.series) - 1) / 2) * width
            error = {"elinewidth": 0.8, "ecolor": style.BLACK}
            ax.bar(at, row.value, 0.92 * width, color=color, yerr=row.sd, capsize=1.5, error_kw=error)


def _bar_numbers(exhibit_id: str, options: GroupedBars, tables: Sequence[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for panel, cells in zip(options.panels, tables, strict=True):
        yield number_rows(exhibit_id, panel.metric, cells, _KEY, item=panel.title)


def _gains(exhibit_id: str, gains: Sequence[Gain], tables: Sequence[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for gain in gains:
        cells = selected(tables[gain.panel], gain.where)
        base = selected(cells, gain.base)["value"].mean()
        for column, values in gain.over.items():
            cells = cells[cells[column].isin(values)]
        value = _PERCENT * (cells["value"].agg(gain.rule) / base - 1)
        yield single_number(exhibit_id, gain.metric, value, **gain.key)
