"""The numbers of every exhibit, from metrics, traces and models, as ``data/cells.yaml`` says: nothing is drawn.

`numbers_of` gives those of one exhibit, which its drawing takes; `write` writes a paper's tables, one for each exhibit, to
``results/<source>/numbers/<paper>/``.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.errors import InputError, unknown
from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout
from tcpfair.measures import SYSTEM
from tcpfair.papers.papers import Exhibit, Experiment, PaperConfig
from tcpfair.runs import record
from tcpfair.runs.outputs import inside
from tcpfair.verdicts import computed
from tcpfair.verdicts.cells import EACH, Computed, Rule, Series, cell_at, cell_of
from tcpfair.verdicts.columns import (
    Column,
    Numbers,
    csv_bytes,
    joined,
    no_numbers,
    of_metric,
    rounded,
    single,
)
from tcpfair.verdicts.combine import distribution
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.printed import parse_key

_SHORT = {"flow_protocol": "protocol"}  # column of the metrics -> part of a key


def write(
    layout: Layout, paper: PaperConfig, exhibits: Collection[str] | None = None, folder: Path | None = None
) -> list[Path]:
    """Write the numbers of a paper's exhibits (None: all) to their stable names, or into the folder of an output.

    Returns the files, in the order of the configuration.

    The table of an exhibit whose numbers cannot be computed has no rows; drawing it tells why.
    """
    context, written = Context(paper, layout), []
    for exhibit in paper.exhibits:
        if exhibits is not None and exhibit.id not in exhibits:
            continue
        stable = record.place(layout, "numbers", exhibit.id, ".csv")
        try:
            table = numbers_of(context, exhibit).table
        except Exception as error:  # whatever it is, the other exhibits have numbers
            if not isinstance(error, InputError):
                traceback.print_exc(file=sys.stderr)
            table = no_numbers()
        written.append(inside(layout, folder, stable) if folder else stable)
        write_whole(written[-1], csv_bytes(rounded(table).assign(source=context.made_by(exhibit))))
    return written


def numbers_of(context: Context, exhibit: Exhibit) -> Numbers:
    """The numbers of one exhibit, in the order of ``data/cells.yaml``; numbers said of many cells follow in print's order.

    Raises InputError when a rule is wrong, or when what it needs was not measured.
    """
    name = exhibit.id.partition(".")[2]
    shown = context.rules.exhibits.get(name)
    stated = [
        _stated_number(context, rule, *identity)
        for identity, rule in context.stated.items()
        if name in (identity[0].partition(".")[2], rule.table)
    ]
    columns: list[Column] = []
    for each in shown.series if shown else ():
        match each:
            case Series():
                columns += _of_series(context, exhibit, each)
            case Computed():
                if each.function not in computed.FUNCTIONS:
                    raise unknown(f"data/cells.yaml: {exhibit.id}: function", each.function, computed.FUNCTIONS)
                columns += computed.FUNCTIONS[each.function](context, exhibit, **each.arguments)
            case str():
                columns += [column for column in stated if column.metric == each]
                stated = [column for column in stated if column.metric != each]
    return Numbers((*columns, *stated))


# --- Numbers said of many cells ------------------------------------------------------------------------------------


def _stated_number(context: Context, rule: Rule, exhibit: str, key: str, metric: str) -> Column:
    cell = cell_of(context.paper, rule, {"exhibit": exhibit, "key": key, "metric": metric})
    return single(exhibit, metric, cell.value(context.metrics), **parse_key(key))


# --- Columns -------------------------------------------------------------------------------------------------------


def _of_series(context: Context, exhibit: Exhibit, series: Series) -> Iterator[Column]:
    """A column for each metric; with ``per`` those of its first value first, and so on."""
    where = series.where
    for value in where[series.per] if series.per else [None]:
        for metric in series.metrics:
            chosen = {**where, series.per: value} if series.per else where
            cells, key = _cells(context, series.rule(metric), metric, chosen)
            yield from computed.with_further(
                Column(exhibit.id, metric, cells, key, series.key, series.names, series.runs)
            )


def _cells(context: Context, series: Series, metric: str, where: dict[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """The cells of one metric of a series, and the columns that make up their keys."""
    load_metrics = partial(_metrics, context, select=series.select)
    measured = of_metric(joined(map(load_metrics, series.experiments)), series.measure)
    experiment = context.paper.experiments[series.experiments[0]]
    key = list(series.by) if series.by is not None else _key(experiment)
    flow = series.flow
    if flow is None:
        flow = SYSTEM if (measured["flow"] == SYSTEM).any() else EACH
        if flow == EACH and len(experiment.flows) > 1 and not {"flow", "flow_protocol"} & set(key):
            key.append("flow")
    cell = cell_at(context.paper, series, series.measure, where, flow, f"data/cells.yaml: {metric}")
    if series.runs == "distribution":
        cells = _distributions(context, series, metric, cell.rows(load_metrics).groupby(key)["value"], key)
    else:
        cells = cell.table(load_metrics, key)
    if series.flows:  # the spread is that of the runs' own value, where the metric has one
        own = replace(cell, measure=metric, flow=SYSTEM).rows(load_metrics).groupby(key)["value"].std()
        cells["sd"] = own.reindex(pd.MultiIndex.from_frame(cells[key])).to_numpy()
    if cell.scale != 1:
        cells[["value", "sd"]] *= cell.scale
    return cells.rename(columns=_SHORT), [_SHORT.get(name, name) for name in key]


def _key(experiment: Experiment) -> list[str]:
    """Protocol, RTT, and the other grid variables of more than one value."""
    return [name for name, value in experiment.grid.items() if name in computed.KEY or len(value.value) > 1]


def _metrics(context: Context, experiment: str, select: str) -> pd.DataFrame:
    metrics = context.metrics(experiment)
    return computed.SELECTIONS[select](context, experiment, metrics) if select else metrics


def _distributions(context: Context, series: Series, metric: str, groups: Any, key: list[str]) -> pd.DataFrame:
    """`distribution` of each cell, and what is printed of it (NaN: a dash), if anything."""
    printed = {}
    if series.printed_in:
        against = series.against.get(metric, metric.partition("@")[0])
        table = context.printed(f"{context.paper.paper}.{series.printed_in}", against)
        printed = table.set_index(key[0])["value"].to_dict() if len(table) else {}
    rows = []
    for place, values in groups:
        at = printed.get(place[0])
        rows.append({**dict(zip(key, place, strict=True)), **distribution(values, at)})
        if series.printed_in:
            rows[-1]["printed"] = np.nan if at is None else at
    return pd.DataFrame(rows)
