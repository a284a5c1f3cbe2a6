"""Tables: results with the published numbers below them, definitions, cases."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Literal

import numpy as np
import pandas as pd

from tcpfair.exhibits import pages
from tcpfair.exhibits.context import Drawn, Options, Table, drawing
from tcpfair.measures.shown import of_metric
from tcpfair.metrics.fairness import case_letter
from tcpfair.papers.papers import Exhibit, Experiment
from tcpfair.verdicts.columns import Numbers
from tcpfair.verdicts.computed import bdp_mb
from tcpfair.verdicts.context import Context, protocols_of, values_of
from tcpfair.verdicts.printed import load_equations, make_key

DASH = "–"
CELL_NOTE = "above: reproduced, below: printed, ✗ where they differ by more than the tolerance"

Metric = Literal[
    *("jfi_mean", "jfi_sd", "jfi_cv", "throughput_mean", "throughput_peak", "U_N+", "U_N-", "S_N", "case"),
]


# --- Cells of results --------------------------------------------------------------------------------------------


def number_text(value: float | str, decimals: int) -> str:
    """A number with a true minus sign, a dash without a number; letters are unchanged."""
    if isinstance(value, str):
        return value
    return f"{value:.{decimals}f}".replace("-", "−") if np.isfinite(value) else DASH


def above_printed(ours: str, printed: str) -> str:
    """The HTML of a cell: reproduced numbers, and published ones below."""
    return f'<div class="ours">{ours}</div><div class="printed">{printed}</div>'


def marked(text: str, agrees: bool) -> str:
    """A published number as HTML, marked unless the reproduced one agrees."""
    return text if agrees else f'<span class="off">{text} ✗</span>'


def printed_bounds(context: Context, exhibit_id: str) -> pd.DataFrame:
    """Published U_N+ and U_N-: the parts of their keys, and value_plus and value_minus."""
    plus, minus = (context.printed(exhibit_id, metric) for metric in ("U_N+", "U_N-"))
    return plus.merge(minus, on=list(plus.columns.drop("value")), suffixes=("_plus", "_minus"))


@drawing(table=True)
def cell_table(
    context: Context,
    exhibit: Exhibit,
    experiment: Experiment,
    numbers: Numbers,
    *,
    metrics: list[Metric],
    flows: Mapping[int, str] | None = None,
    bdp_heading: bool = False,
) -> Drawn:
    """Metrics over runs in one cell: a row per protocol, a column per RTT and, with a heading, for each of ``flows``.

    Without ``flows`` the metrics are of the system. Published metrics are below, marked if they differ.
    """
    ours = numbers.table.set_index(["key", "metric"])["value"].to_dict()
    compared = context.against_print(exhibit.id, numbers.table)
    printed = compared[compared["exhibit"] == exhibit.id].set_index(["key", "metric"])

    def cell(**place: Any) -> str:
        key = make_key(**place)
        upper = ", ".join(number_text(ours.get((key, name), np.nan), of_metric(name).decimals) for name in metrics)
        lower = (printed.loc[key, metric] for metric in metrics if (key, metric) in printed.index)
        return above_printed(
            upper,
            ", ".join(
                marked(row["printed"].replace("-", "−") if row["printed"] != "-" else DASH, row["within"])
                for row in lower
            ),
        )

    def heading(rtt_ms: float) -> str:
        return f"{rtt_ms:g} ms [{bdp_mb(context, rtt_ms):.2f} MB]" if bdp_heading else f"{rtt_ms:g} ms"

    of_flows = {(escape(title),): {"flow": flow} for flow, title in (flows or {}).items()} or {(): {}}
    columns = {
        (heading(rtt), *title): [cell(protocol=label, rtt_ms=rtt, **flow) for label in protocols_of(experiment)]
        for rtt in values_of(experiment, "rtt_ms")
        for title, flow in of_flows.items()
    }
    headings = pd.MultiIndex.from_tuples(columns) if flows else [title for (title,) in columns]
    cells = np.array(list(columns.values())).T
    return Drawn(Table(pd.DataFrame(cells, map(escape, protocols_of(experiment)), headings), CELL_NOTE))


# --- Convergence -------------------------------------------------------------------------------------------------


@drawing(table=True)
def bhatti2008_table7(
    context: Context, exhibit: Exhibit, experiment: Experiment, numbers: Numbers, *, fair_share: float
) -> Drawn:
    """Time until the share ``converged_runs_share`` of the runs has converged; a dash if fewer ever do.

    A flow counts as fair from ``fair_share`` of its expected throughput on; only the numbers use this option.
    """
    drawn = cell_table(context, exhibit, experiment, numbers, metrics=["T_U", "converged_runs_share"])
    note = f"T_U in s, and the share of the runs that converge; {CELL_NOTE}"
    return Drawn(Table(drawn.output.cells, note))


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
