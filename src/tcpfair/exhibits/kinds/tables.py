"""Tables: results with the published numbers below them, definitions, cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal

import numpy as np
import pandas as pd

from tcpfair.exhibits import pages
from tcpfair.exhibits.context import Drawn, Options, Table, drawing
from tcpfair.measures.shown import of_metric
from tcpfair.metrics.fairness import case_letter
from tcpfair.papers.papers import Exhibit
from tcpfair.verdicts.columns import Numbers
from tcpfair.verdicts.computed import bdp_mb
from tcpfair.verdicts.context import Context, protocols_of, values_of
from tcpfair.verdicts.printed import load_equations, make_key

DASH = "–"
CELL_NOTE = "above: reproduced, below: printed, ✗ where they differ by more than the tolerance"

Key = dict[str, Any]
Metric = Literal[
    *("jfi_mean", "jfi_sd", "jfi_cv", "throughput_mean", "throughput_peak", "U_N+", "U_N-", "S_N", "case"),
]


# --- Cells of results --------------------------------------------------------------------------------------------


def result_cells(
    context: Context,
    exhibit: Exhibit,
    numbers: pd.DataFrame,
    columns: Mapping[tuple[str, ...], Key],
    metrics: Sequence[str],
) -> pd.DataFrame:
    """Cells of HTML: the reproduced metrics, and the published ones below, marked if they differ.

    A row for each protocol; ``columns`` gives the other parts of the key by heading.
    """
    protocols = protocols_of(context.experiment(exhibit)[1])
    ours = numbers.set_index(["key", "metric"])["value"].to_dict()
    compared = context.against_print(exhibit.id, numbers)
    printed = compared[compared["exhibit"] == exhibit.id].set_index(["key", "metric"])

    def cell(protocol: str, column: Key) -> str:
        key = make_key(protocol=protocol, **column)
        upper = ", ".join(number_text(ours.get((key, name), np.nan), of_metric(name).decimals) for name in metrics)
        lower = [_printed_text(printed.loc[key, metric]) for metric in metrics if (key, metric) in printed.index]
        return f'<div class="ours">{upper}</div><div class="printed">{", ".join(lower)}</div>'

    cells = [[cell(protocol, column) for column in columns.values()] for protocol in protocols]
    headings = pd.MultiIndex.from_tuples([tuple(map(escape, heading)) for heading in columns])
    if headings.nlevels == 1:
        headings = headings.get_level_values(0)
    return pd.DataFrame(cells, index=[escape(protocol) for protocol in protocols], columns=headings)


def number_text(value: float | str, decimals: int) -> str:
    """A number with a true minus sign, a dash without a number; letters are unchanged."""
    if isinstance(value, str):
        return value
    return f"{value:.{decimals}f}".replace("-", "−") if np.isfinite(value) else DASH


def _printed_text(row: pd.Series) -> str:
    text = row["printed"].replace("-", "−") if row["printed"] != "-" else DASH
    return text if row["within"] else f'<span class="off">{text} ✗</span>'


@drawing(table=True)
def cell_table(
    context: Context,
    exhibit: Exhibit,
    numbers: Numbers,
    *,
    metrics: list[Metric],
    flows: Mapping[int, str] | None = None,
    bdp_heading: bool = False,
) -> Drawn:
    """Metrics over runs in one cell: a row per protocol, a column per RTT and, with a heading, for each of ``flows``.

    Without ``flows`` the metrics are of the system.
    """
    _, experiment = context.experiment(exhibit)

    def heading(rtt_ms: float) -> str:
        return f"{rtt_ms:g} ms [{bdp_mb(context, rtt_ms):.2f} MB]" if bdp_heading else f"{rtt_ms:g} ms"

    of_flows = {(title,): {"flow": flow} for flow, title in (flows or {}).items()} or {(): {}}
    columns = {
        (heading(rtt), *title): {"rtt_ms": rtt, **flow}
        for rtt in values_of(experiment, "rtt_ms")
        for title, flow in of_flows.items()
    }
    table = result_cells(context, exhibit, numbers.table, columns, metrics)
    return Drawn(Table(table, CELL_NOTE))


# --- Convergence -------------------------------------------------------------------------------------------------


@drawing(table=True)
def bhatti2008_table7(context: Context, exhibit: Exhibit, numbers: Numbers, *, fair_share: float) -> Drawn:
    """Time until the share ``converged_runs_share`` of the runs has converged; a dash if fewer ever do.

    A flow counts as fair from ``fair_share`` of its expected throughput on; only the numbers use this option.
    """
    _, experiment = context.experiment(exhibit)
    columns = {(f"{rtt:g} ms",): {"rtt_ms": rtt} for rtt in values_of(experiment, "rtt_ms")}
    metrics = ("T_U", "converged_runs_share")
    table = result_cells(context, exhibit, numbers.table, columns, metrics)
    note = f"T_U in s, and the share of the runs that converge; {CELL_NOTE}"
    return Drawn(Table(table, note))


# --- Definitions -------------------------------------------------------------------------------------------------


class Definition(Options):
    """A quantity of the paper."""

    symbol: str
    name: str
    equation: int


@drawing(table=True)
def definition_table(context: Context, *, rows: list[Definition]) -> Drawn:
    """Names of the quantities, their equations and the functions that compute them."""
    equations = load_equations(context.layout.data / "equations.yaml")
    told = [
        {
            "symbol": pages.with_symbols(row.symbol),
            "name": pages.with_symbols(row.name),
            "equation": str(row.equation),
            "computed by": f"<code>{equations[f'{context.paper.paper}.eq{row.equation}']['function']}</code>",
        }
        for row in rows
    ]
    return Drawn(Table(pd.DataFrame(told).set_index("symbol").rename_axis(None)))


_OF_SIGN = {"positive": 1.0, "zero": 0.0, "negative": -1.0, "none": np.nan}
_CASES = (  # signs of U_N+ and U_N-, and what they mean
    ("none", "negative", "unfair", "every flow has less than it could expect"),
    ("positive", "negative", "unfair", "some flows have their share or more, others less"),
    ("zero", "negative", "unfair", "no flow has more than its share, some have less"),
    ("positive", "none", "fair", "every flow has its share or more"),
    ("zero", "none", "fair", "every flow has exactly its share"),
)


@drawing(table=True)
def case_table() -> Drawn:
    """The cases A to E; the letter of each row is that of `case_letter` for its signs."""
    rows = [
        {
            "": group,
            pages.with_symbols("U_N+"): plus,
            pages.with_symbols("U_N-"): minus,
            "case": str(case_letter(_OF_SIGN[plus], _OF_SIGN[minus])),
            "meaning": escape(meaning),
        }
        for plus, minus, group, meaning in _CASES
    ]
    return Drawn(Table(pd.DataFrame(rows).set_index("").rename_axis(None)))


# --- Text --------------------------------------------------------------------------------------------------------


@drawing(table=True)
def kozu2014_table1(*, rows: dict[str, str]) -> Drawn:
    """The hosts' hardware and systems as listed in the paper."""
    return Drawn(Table(pd.DataFrame({"": pd.Series(rows).map(escape)})))
