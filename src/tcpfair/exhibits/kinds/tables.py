"""Tables: results with the printed numbers under them, definitions, cases."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Literal

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict, Field

from tcpfair.contract.papers import Exhibit, Experiment
from tcpfair.exhibits import pages
from tcpfair.exhibits.context import Context, Drawn, Options, Table, drawing, joined, protocols_of, values_of
from tcpfair.exhibits.numbers import Statement, no_numbers, number_rows, over_runs, single_number, stated_numbers
from tcpfair.measures import SYSTEM
from tcpfair.metrics.fairness import case_letter, nru_over_time_db
from tcpfair.units import BITS_PER_BYTE, MS_PER_S
from tcpfair.verdicts.combine import reached_by_share
from tcpfair.verdicts.printed import make_key

DASH = "–"
CELL_NOTE = "above: reproduced, below: printed, ✗ where they differ by more than the tolerance"
_BYTES_PER_MB = 1e6

Key = dict[str, Any]


# --- Cells of results --------------------------------------------------------------------------------------------


def result_cells(
    context: Context,
    exhibit: Exhibit,
    numbers: pd.DataFrame,
    rows: Mapping[str, Key],
    columns: Mapping[tuple[str, ...], Key],
    decimals: Mapping[str, int],
) -> pd.DataFrame:
    """Cells of HTML: the metrics of ``decimals`` as reproduced, and as printed under them, marked when they differ.

    ``rows`` and ``columns`` give each heading the parts of the key that it stands for.
    """
    ours = numbers.set_index(["key", "metric"])["value"].to_dict()
    compared = context.against_print(exhibit.id, numbers)
    printed = compared[compared["exhibit"] == exhibit.id].set_index(["key", "metric"])

    def cell(row: Key, column: Key) -> str:
        key = make_key(**row, **column)
        upper = ", ".join(number_text(ours.get((key, metric), np.nan), d) for metric, d in decimals.items())
        lower = [_printed_text(printed.loc[key, metric]) for metric in decimals if (key, metric) in printed.index]
        return f'<div class="ours">{upper}</div><div class="printed">{", ".join(lower)}</div>'

    cells = [[cell(row, column) for column in columns.values()] for row in rows.values()]
    headings = pd.MultiIndex.from_tuples([tuple(map(escape, heading)) for heading in columns])
    if headings.nlevels == 1:
        headings = headings.get_level_values(0)
    return pd.DataFrame(cells, index=[escape(row) for row in rows], columns=headings)


def number_text(value: float | str, decimals: int) -> str:
    """A number with a true minus sign, a dash for none, letters as they are."""
    if isinstance(value, str):
        return value
    return f"{value:.{decimals}f}".replace("-", "−") if np.isfinite(value) else DASH


def _printed_text(row: pd.Series) -> str:
    text = row["printed"].replace("-", "−") if row["printed"] != "-" else DASH
    return text if row["within"] else f'<span class="off">{text} ✗</span>'


# metric -> decimals in a cell, and further metrics that only the numbers hold
_CELLS = {
    "jfi_mean": (2, ("jfi_of_means", "jfi_mean_received")),
    "throughput_mean": (1, ("received_mean",)),
    "throughput_peak": (1, ("time_to_90_s", "throughput_full_mean")),
}


class CellTable(Options):
    """Options of `cell_table`."""

    metric: Literal[*_CELLS]
    flows: dict[int, str] = Field(default_factory=dict)  # flow -> heading of its column; none = a metric of the system
    spread: Literal["jfi_sd", "jfi_cv"] | None = (
        None  # how much it differs between runs, as a second number in the cell
    )
    bdp_heading: bool = False
    self_share: str = ""  # number for CCID2's throughput as a share of that against its own kind
    statements: list[Statement] = Field(default_factory=list)


@drawing(CellTable, table=True)
def cell_table(context: Context, exhibit: Exhibit, options: CellTable) -> Drawn:
    """Mean over runs of one metric: a row per protocol, a column per RTT (and flow)."""
    name, experiment = context.experiment(exhibit)
    metrics = context.metrics(name)
    metrics = metrics[metrics["flow"].isin(list(options.flows) or [SYSTEM])]
    key = ["protocol", "rtt_ms", *(["flow"] if options.flows else [])]

    cells = over_runs(metrics, options.metric, key)
    frames = [number_rows(exhibit.id, options.metric, cells, key)]
    of_cell, also = _CELLS[options.metric]
    decimals = {options.metric: of_cell}
    if options.spread:
        spread = cells["sd"] if options.spread == "jfi_sd" else cells["sd"] / cells["value"].abs()
        frames.append(number_rows(exhibit.id, options.spread, cells.assign(value=spread, sd=np.nan), key))
        decimals[options.spread] = of_cell
    frames += [number_rows(exhibit.id, metric, over_runs(metrics, metric, key), key) for metric in also]
    if options.self_share:
        frames.append(_self_share_numbers(context, exhibit.id, options.self_share, cells))
    if options.bdp_heading:
        frames += [single_number(exhibit.id, "bdp", _bdp_mb(context, r), rtt_ms=r) for r in rtts_ms(experiment)]
    frames.append(stated_numbers(exhibit.id, cells.assign(metric=options.metric), options.statements))

    numbers = joined(frame for frame in frames if len(frame))
    columns = _rtt_columns(context, experiment, options)
    table = result_cells(context, exhibit, numbers, protocol_rows(experiment), columns, decimals)
    return Drawn(Table(table, CELL_NOTE), numbers, int(cells["n_runs"].max()))


def protocol_rows(experiment: Experiment) -> dict[str, Key]:
    """A row per protocol of the experiment."""
    return {label: {"protocol": label} for label in protocols_of(experiment)}


def rtts_ms(experiment: Experiment) -> list[float]:
    """RTTs of the experiment in ms."""
    return values_of(experiment, "rtt_ms")


def _rtt_columns(context: Context, experiment: Experiment, options: CellTable) -> dict[tuple[str, ...], Key]:
    def heading(rtt_ms: float) -> str:
        return f"{rtt_ms:g} ms [{_bdp_mb(context, rtt_ms):.2f} MB]" if options.bdp_heading else f"{rtt_ms:g} ms"

    if not options.flows:
        return {(heading(rtt),): {"rtt_ms": rtt} for rtt in rtts_ms(experiment)}
    return {
        (heading(rtt), title): {"rtt_ms": rtt, "flow": flow}
        for rtt in rtts_ms(experiment)
        for flow, title in options.flows.items()
    }


def _bdp_mb(context: Context, rtt_ms: float) -> float:
    return context.paper.settings["capacity_bps"].value * rtt_ms / MS_PER_S / BITS_PER_BYTE / _BYTES_PER_MB


def _self_share_numbers(context: Context, exhibit_id: str, number: str, cells: pd.DataFrame) -> pd.DataFrame:
    """Throughput of CCID2, flow 1, against each protocol over that against CCID2."""
    own = context.metrics("self").query("flow == 1 and protocol == 'CCID2'")
    base = over_runs(own, "throughput_mean", ["rtt_ms"]).set_index("rtt_ms")["value"]
    chosen = cells[cells["flow"] == 1]
    by = chosen["rtt_ms"].map(base)
    shares = chosen.assign(value=chosen["value"] / by, sd=chosen["sd"] / by)
    item = "CCID2 share of its self-pair throughput"
    return number_rows(exhibit_id, number, shares, ["protocol", "rtt_ms"], item=item)


# --- Convergence -------------------------------------------------------------------------------------------------


class FairShare(Options):
    """Share of its expected throughput at which a flow counts as fair."""

    fair_share: float


@drawing(FairShare, table=True)
def bhatti2008_table7(context: Context, exhibit: Exhibit, options: FairShare) -> Drawn:
    """Time until the share ``converged_runs_share`` of the runs has converged; a dash where fewer ever do."""
    name, experiment = context.experiment(exhibit)
    share = context.paper.analysis_value("converged_runs_share")
    metrics, key = context.metrics(name).query("flow == @SYSTEM"), ["protocol", "rtt_ms"]
    frames = []
    # the print counts from the start of the run: its 61 and 62 s are the first seconds of the window
    for metric, measured in (("T_U", "converged_at_s"), ("T_U_since_t_e", "T_U")):
        groups = metrics[metrics["metric"] == measured].groupby(key, sort=False)["value"]
        cells = groups.agg(value=lambda t: reached_by_share(t, share), sd="std", n_runs="size").reset_index()
        frames.append(number_rows(exhibit.id, metric, cells, key))
    runs = groups.agg(value=lambda t: t.notna().mean(), n_runs="size").reset_index()
    frames.append(number_rows(exhibit.id, "converged_runs_share", runs, key))
    threshold_db = float(nru_over_time_db([[options.fair_share]], [1.0], floor=options.fair_share)[0, 0])
    frames.append(single_number("bhatti2008.eq12", "U_c", threshold_db, item="convergence threshold"))
    numbers = joined(frames)
    columns = {(f"{rtt:g} ms",): {"rtt_ms": rtt} for rtt in rtts_ms(experiment)}
    decimals = {"T_U": 0, "converged_runs_share": 2}
    table = result_cells(context, exhibit, numbers, protocol_rows(experiment), columns, decimals)
    note = f"T_U in s, and the share of the runs that converge; {CELL_NOTE}"
    return Drawn(Table(table, note), numbers, int(runs["n_runs"].max()))


# --- Definitions -------------------------------------------------------------------------------------------------


class Definition(BaseModel):
    """A quantity of the paper."""

    model_config = ConfigDict(extra="forbid")

    symbol: str
    name: str
    equation: int


class DefinitionTable(Options):
    """Options of `definition_table`."""

    rows: list[Definition]


@drawing(DefinitionTable, table=True)
def definition_table(context: Context, exhibit: Exhibit, options: DefinitionTable) -> Drawn:
    """Names of the quantities, their equations and the functions that compute them."""
    equations = yaml.safe_load((context.layout.data / "equations.yaml").read_text())
    functions = {entry["id"]: entry["function"] for entry in equations}
    rows = [
        {
            "symbol": pages.with_symbols(row.symbol),
            "name": pages.with_symbols(row.name),
            "equation": str(row.equation),
            "computed by": f"<code>{functions[f'{context.paper.paper}.eq{row.equation}']}</code>",
        }
        for row in options.rows
    ]
    return Drawn(Table(pd.DataFrame(rows).set_index("symbol").rename_axis(None)), no_numbers())


_OF_SIGN = {"positive": 1.0, "zero": 0.0, "negative": -1.0, "none": np.nan}
_CASES = (  # signs of U_N+ and U_N-, and what they mean
    ("none", "negative", "unfair", "every flow has less than it could expect"),
    ("positive", "negative", "unfair", "some flows have their share or more, others less"),
    ("zero", "negative", "unfair", "no flow has more than its share, some have less"),
    ("positive", "none", "fair", "every flow has its share or more"),
    ("zero", "none", "fair", "every flow has exactly its share"),
)


@drawing(table=True)
def case_table(context: Context, exhibit: Exhibit) -> Drawn:
    """The cases A to E; the letter of each row is the one that `case_letter` gives to its signs."""
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
    return Drawn(Table(pd.DataFrame(rows).set_index("").rename_axis(None)), no_numbers())


# --- Text --------------------------------------------------------------------------------------------------------


class Hosts(Options):
    """What the paper says of its hosts, by heading."""

    rows: dict[str, str]


@drawing(Hosts, table=True)
def kozu2014_table1(context: Context, exhibit: Exhibit, options: Hosts) -> Drawn:
    """The hosts' hardware and systems as the paper gives them."""
    return Drawn(Table(pd.DataFrame({"": pd.Series(options.rows).map(escape)})), no_numbers())
