"""The numbers of every exhibit, from metrics, traces and models, as ``data/cells.yaml`` defines them; without drawing.

`numbers_of` returns those of one exhibit for its drawing; `write` writes a paper's tables, one for each exhibit, to
``results/<source>/numbers/<paper>/``.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.errors import InputError, check_known
from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout
from tcpfair.measures import SYSTEM
from tcpfair.papers.papers import Exhibit, PaperConfig
from tcpfair.runs import record
from tcpfair.runs.outputs import inside
from tcpfair.verdicts import computed
from tcpfair.verdicts.cells import EACH, Computed, Rule, Series, cell_at, cell_of
from tcpfair.verdicts.columns import (
    Column,
    Numbers,
    csv_bytes,
    no_numbers,
    rounded,
    single,
)
from tcpfair.verdicts.combine import distribution, drawn
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.measured import Measured, Table
from tcpfair.verdicts.printed import parse_key

_SHORT = {"flow_protocol": "protocol"}  # column of the metrics -> part of a key


def write(
    layout: Layout, paper: PaperConfig, exhibits: Collection[str] | None = None, folder: Path | None = None
) -> list[Path]:
    """Write the numbers of a paper's exhibits (None: all) to their stable names, or into the folder of an output.

    Returns the files, in the order of the configuration. If the numbers of an exhibit cannot be computed, its table has no
    rows, and drawing it reports the reason.
    """
    context, written = Context(paper, layout), []
    for exhibit in paper.exhibits:
        if exhibits is not None and exhibit.id not in exhibits:
            continue
        stable = record.place(layout, "numbers", exhibit.id, ".csv")
        try:
            table = numbers_of(context, exhibit).table
        except Exception as error:  # the other exhibits still get numbers
            if not isinstance(error, InputError):
                traceback.print_exc(file=sys.stderr)
            table = no_numbers()
        written.append(inside(layout, folder, stable) if folder else stable)
        write_whole(written[-1], csv_bytes(rounded(table).assign(source=context.made_by(exhibit))))
    return written


def numbers_of(context: Context, exhibit: Exhibit) -> Numbers:
    """The numbers of one exhibit, in the order of ``data/cells.yaml``, then numbers of many cells in the paper's order.

    Raises InputError for an invalid rule, and for a metric that was not measured.
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
                check_known(f"data/cells.yaml: {exhibit.id}: function", [each.function], computed.FUNCTIONS)
                columns += computed.FUNCTIONS[each.function](context, exhibit, **each.arguments)
            case str():
                columns += [column for column in stated if column.metric == each]
                stated = [column for column in stated if column.metric != each]
    return Numbers((*columns, *stated))


# --- Numbers of many cells -----------------------------------------------------------------------------------------


def _stated_number(context: Context, rule: Rule, exhibit: str, key: str, metric: str) -> Column:
    cell = cell_of(context.paper, rule, {"exhibit": exhibit, "key": key, "metric": metric})
    return single(exhibit, metric, cell.value(context.measured), **parse_key(key))


# --- Columns -------------------------------------------------------------------------------------------------------


def _of_series(context: Context, exhibit: Exhibit, series: Series) -> Iterator[Column]:
    """A column for each metric; with ``per``, for each value of that variable in turn."""
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
    measured = context.measured
    if series.select:
        select = computed.SELECTIONS[series.select]
        measured = Measured(lambda name: select(context, name, context.metrics(name)))
    flows = {flow for name in series.experiments for flow in measured.of(name, series.measure).places["flow"].unique()}
    if not flows:
        raise InputError(f"metric {series.measure!r}: not among the metrics of this experiment; check its `measures`")
    experiment = context.paper.experiments[series.experiments[0]]
    # default: protocol, RTT, and the other grid variables with several values
    own = [name for name, value in experiment.grid.items() if name in computed.KEY or len(value.value) > 1]
    key = list(own if series.by is None else series.by)
    flow = series.flow
    if flow is None:
        flow = SYSTEM if SYSTEM in flows else EACH
        if flow == EACH and len(experiment.flows) > 1 and not {"flow", "flow_protocol"} & set(key):
            key.append("flow")
    cell = cell_at(context.paper, series, series.measure, where, flow, f"data/cells.yaml: {metric}")
    if series.runs == "distribution":
        cells = _distributions(context, series, metric, cell.by_run(measured), key)
    else:
        cells = cell.table(measured)[[*key, "value", "sd", "n_runs"]]
    if cells.duplicated(key).any():
        raise InputError(f"data/cells.yaml: {metric}: by: {', '.join(key)} does not distinguish its cells")
    if series.flows:  # the spread is that of the runs' own value, if the metric has one
        own = cell.model_copy(update={"measure": metric, "flow": SYSTEM, "flows": None}).by_run(measured)
        spread = own.places[key].assign(sd=drawn(own.values.to_numpy())[1][0])
        cells = cells.drop(columns="sd").merge(spread, on=key, how="left")
    if cell.scale != 1:
        cells[["value", "sd"]] *= cell.scale
    return cells.rename(columns=_SHORT), [_SHORT.get(name, name) for name in key]


def _distributions(context: Context, series: Series, metric: str, runs: Table, key: list[str]) -> pd.DataFrame:
    """`distribution` of each cell, and its published number, if any (NaN: a dash)."""
    printed = {}
    if series.printed_in:
        against = series.against.get(metric, metric.partition("@")[0])
        table = context.printed(f"{context.paper.paper}.{series.printed_in}", against)
        printed = table.set_index(key[0])["value"].to_dict() if len(table) else {}
    rows = []
    for (_, values), place in zip(runs.values.items(), runs.places[key].to_dict("records"), strict=True):
        at = printed.get(place[key[0]])
        rows.append({**place, **distribution(values, at)})
        if series.printed_in:
            rows[-1]["printed"] = np.nan if at is None else at
    return pd.DataFrame(rows).sort_values(key, ignore_index=True)
