"""The summary of a study: one metric along its axes, and the numbers that are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tcpfair.errors import check_known
from tcpfair.exhibits import style
from tcpfair.measures.shown import of_metric
from tcpfair.runs.study import Study

_PREFERRED = ("jfi_mean", "ratio", "throughput_sum")  # metrics to show by default
_MOST_VALUES = 8  # of an axis; one with more is divided into this number of parts with equal numbers of runs
_MOST_PANELS, _MOST_LINES = 6, 12
_PANELS_A_ROW = 3
_LOG_FROM = 8.0  # ratio of the largest to the smallest value of an axis from which it is logarithmic
_MARKERS = "osDv^P<>Xdph"
_BAND = (0.1, 0.9)
_MOST_BANDS = 3  # with more lines, bands would hide each other; the table has their numbers
COLUMNS = ["panel", "x_axis", "line", "x", "median", "low", "high", "runs"]


class Panel(NamedTuple):
    """One panel: its title, its x axis, and its runs."""

    title: str
    x: str
    runs: pd.DataFrame


def summary(runs: pd.DataFrame, study: Study, metrics: list[str]) -> tuple[Figure, pd.DataFrame]:
    """The figure, and the numbers in it as a table of `COLUMNS`.

    ``runs`` has a row for each run: the axes of the study, the metrics, and ``refused``. By default, each axis of numbers has a
    panel, with all other axes mixed, and a line for each value of the first axis of names.
    Raises InputError for a metric that is missing.
    """
    asked = study.file.figure
    if asked.y is not None:
        check_known(f"{study.where}: figure.y: metric", [asked.y], metrics)
    y = asked.y or next((name for name in _PREFERRED if name in metrics), metrics[0] if metrics else "")
    runs = runs[runs["refused"] == ""]
    numeric = [name for name in study.axes if _is_numeric(runs[name])]
    named = [name for name in study.axes if name not in numeric]
    lines = asked.lines or next((name for name in named if name not in (asked.x, asked.panels)), None)
    along = [name for name in numeric if name != lines] or study.axes
    panels = _panels(runs, asked.x, asked.panels, along)
    with style.applied():
        n_columns = min(len(panels), _PANELS_A_ROW)
        n_rows = -(-len(panels) // n_columns)
        width_in = style.PAGE_IN if n_columns > 1 else style.COLUMN_IN
        figure, axes = style.new_figure(n_rows, n_columns, width_in, 2.6 * n_rows + 0.4, sharey=True)
        table = [_draw(ax, panel, lines, y) for panel, ax in zip(panels, figure.axes, strict=False)]
        for ax in figure.axes[len(panels) :]:
            ax.set_visible(False)
        for row in axes:
            row[0].set_ylabel(style.plain(of_metric(y).label))
        handles, labels = axes[0][0].get_legend_handles_labels()
        if lines:
            figure.legend(
                handles, labels, loc="outside upper center", ncols=min(len(labels), 6), title=style.plain(lines)
            )
        style.corner_note(
            figure,
            f"{study.name}: {len(runs):,} runs; median, band from {_BAND[0]:.0%} to {_BAND[1]:.0%}"
            + _cut(len(_parts(runs, lines)), _MOST_LINES, f"values of {lines}")
            + _cut(len(_parts(runs, asked.panels)), _MOST_PANELS, f"values of {asked.panels}")
            + ("" if asked.x or asked.panels else _cut(len(along), _MOST_PANELS, "axes")),
        )
    return figure, pd.concat(table, ignore_index=True)


def _is_numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and column.dtype != bool


def _cut(n: int, most: int, what: str) -> str:
    """A note on values that are not in the figure."""
    return f"; the first {most} of {n} {style.plain(what)}" if n > most else ""


def _panels(runs: pd.DataFrame, x: str | None, by: str | None, axes: list[str]) -> list[Panel]:
    if not by:
        return [Panel("", name, runs) for name in ([x] if x else axes[:_MOST_PANELS])]
    x = x or next(name for name in axes if name != by)
    return [Panel(f"{by} {label}", x, part) for label, _, part in _parts(runs, by)[:_MOST_PANELS]]


def _draw(ax: Axes, panel: Panel, lines: str | None, y: str) -> pd.DataFrame:
    """Draw a panel; returns its numbers."""
    tables = []
    groups = _parts(panel.runs, lines)[:_MOST_LINES]
    is_log = False
    for number, (label, _, own) in enumerate(groups):
        drawn = [(x, part[y].dropna()) for _, x, part in _parts(own, panel.x)]
        rows = [(panel.title, panel.x, label, x, *v.quantile([0.5, *_BAND]), len(v)) for x, v in drawn]
        points = pd.DataFrame(rows, columns=COLUMNS)
        tables.append(points)
        places = points["x"]
        if pd.api.types.is_float_dtype(places) and places.min() > 0:
            is_log = is_log or places.max() / places.min() >= _LOG_FROM
        look = {"color": style.flow_color(number), "marker": _MARKERS[number % len(_MARKERS)]}
        ax.plot(places, points["median"], **look, label=style.plain(label))
        if len(groups) <= _MOST_BANDS:
            ax.fill_between(places, points["low"], points["high"], color=look["color"], alpha=0.15, lw=0)
    found = pd.concat(tables, ignore_index=True)
    if is_log and found["median"].notna().any():
        ax.set_xscale("log")
        near = found["x"].max() < 100 * found["x"].min()
        style.label_decades(ax.xaxis, (1, 2, 5) if near else (1,))
    ax.set_xlabel(style.plain(panel.x))
    ax.set_title(style.plain(panel.title))
    return found


def _parts(runs: pd.DataFrame, axis: str | None) -> list[tuple[str, float | str, pd.DataFrame]]:
    """The runs for each value of an axis, or for each part of its range: label, place, runs. Without an axis, all runs."""
    if not axis:
        return [("", 0.0, runs)]
    column = runs[axis]
    if not _is_numeric(column):
        return [(str(value), str(value), runs[column == value]) for value in column.unique()]
    if column.nunique() <= _MOST_VALUES:
        return [(f"{value:g}", float(value), runs[column == value]) for value in np.sort(column.unique())]
    parts = runs.groupby(pd.qcut(column, _MOST_VALUES, labels=False, duplicates="drop"))
    return [(f"{own[axis].min():g} to {own[axis].max():g}", float(own[axis].median()), own) for _, own in parts]
