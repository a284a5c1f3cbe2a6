"""The ledger's tables of numbers: each published number next to the reproduced one, to that of ns-2 and to other papers'.

They do not depend on claims. Assumptions, equations and the run plan are added from the configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.files.rounding import write_tables
from tcpfair.papers.papers import Config, PaperConfig
from tcpfair.runs.store import Held
from tcpfair.verdicts import assumptions, baseline, printed, readings
from tcpfair.verdicts.ensemble.tables import read_shipped
from tcpfair.verdicts.printed import IDENTITY
from tcpfair.verdicts.scope import scope_of
from tcpfair.verdicts.yardsticks import yardstick_table

Papers = Mapping[str, PaperConfig]


def write_compared(layout: Layout, config: Config, place: Path | None = None) -> dict[str, int]:
    """Write the tables for what ``config`` requests to ``place`` (default: where they are read).

    Returns the numbers per outcome. Raises InputError, and keeps the old tables, for an invalid configuration, published number
    or table of numbers.
    """
    scope = scope_of(layout, config)
    papers = scope.papers
    held = {name: Held(layout, paper) for name, paper in papers.items()}
    reproduced = baseline.joined(baseline.built_numbers(layout, scope.exhibits))
    numbers = number_table(layout, papers, reproduced)
    shipped = read_shipped(layout, papers)
    ns2 = ns2_table(layout, numbers, reproduced)
    tables = {
        "numbers": numbers,
        **shipped,
        "equations": equation_table(layout, papers),
        "readings": readings.reading_table(layout, held, numbers, shipped["ensemble_numbers"]),
        "yardsticks": yardstick_table(layout, papers, numbers, shipped["ensemble_numbers"]),
        "ns2": ns2,
        "guest": guest_table(layout, papers),
        "agreement": agreement_table(ns2),
        "assumptions": assumptions.assumptions(papers),
        "stated": assumptions.stated(papers),
        "run_plan": assumptions.run_plan(held),
    }
    write_tables(tables, place or layout.ledger)
    return printed.count(numbers)


# --- Numbers ------------------------------------------------------------------------------------------------------


def number_table(layout: Layout, papers: Papers, reproduced: pd.DataFrame) -> pd.DataFrame:
    """Every published result of the papers next to the reproduced number (`printed.LEDGER_COLUMNS`)."""
    tolerances = printed.both_tolerances(layout.data)
    tables = [
        printed.compare(printed.load_printed(paper, layout.data), reproduced, *tolerances) for paper in papers.values()
    ]
    return pd.concat(tables, ignore_index=True)


# --- Equations ----------------------------------------------------------------------------------------------------


def equation_table(layout: Layout, papers: Papers) -> pd.DataFrame:
    """Every equation: id, function, test, exhibits that use it (separated by ``;``), correction of the published form."""
    equations = pd.DataFrame(printed.load_equations(layout.data / "equations.yaml").values())
    users: dict[str, list[str]] = {}
    for config in papers.values():
        for exhibit in config.exhibits:
            for equation in exhibit.uses:
                users.setdefault(equation, []).append(exhibit.id)
    unknown = sorted(set(users) - set(equations["id"]))
    if unknown:
        raise InputError(f"exhibit {users[unknown[0]][0]}: uses: {unknown[0]!r} is not in data/equations.yaml")
    equations["exhibits"] = [";".join(users.get(equation, [])) for equation in equations["id"]]
    return equations[["id", "function", "test", "exhibits", "correction"]]


# --- ns-2 as a second opinion -------------------------------------------------------------------------------------


def ns2_table(layout: Layout, numbers: pd.DataFrame, reproduced: pd.DataFrame) -> pd.DataFrame:
    """The results of ns-2 (``data/reference/ns2.csv``) next to the published and the reproduced numbers.

    Columns: paper, exhibit, key, metric, setting, ns2, reproduced, printed, tolerance, within_reproduced, within_ns2
    (whether each is within the tolerance of the published number), note. printed is empty if the paper shows only a curve.
    """
    tolerances = printed.load_tolerances(layout.data / "tolerances.yaml")
    reference = pd.read_csv(layout.data / "reference" / "ns2.csv", dtype=str, keep_default_na=False)
    table = reference.rename(columns={"value": "ns2"})
    for ours in (
        numbers[[*IDENTITY, "printed", "reproduced", "tolerance", "within"]],
        reproduced[[*IDENTITY, "value"]],
    ):
        table = table.merge(ours, on=IDENTITY, how="left")
    table["reproduced"] = table["reproduced"].fillna(table["value"])
    within = [
        printed.within(value, float(ns2), metric, tolerances).within if pd.notna(value) else None
        for value, ns2, metric in zip(table["printed"], table["ns2"], table["metric"], strict=True)
    ]
    table = table.rename(columns={"within": "within_reproduced"}).assign(within_ns2=pd.array(within, dtype="boolean"))
    table["paper"] = table["exhibit"].str.partition(".")[0]
    columns = ["setting", "ns2", "reproduced", "printed", "tolerance", "within_reproduced", "within_ns2", "note"]
    return table[["paper", *IDENTITY, *columns]]


def guest_table(layout: Layout, papers: Iterable[str]) -> pd.DataFrame:
    """The papers' clauses on a Linux kernel in virtual time, at a size that it can run, and in the engine.

    Columns of `tcpfair.validation.claims.CLAUSES`.
    """
    table = pd.read_csv(layout.guest_clauses, dtype=str, keep_default_na=False)
    return table[table["paper"].isin(list(papers))]


def agreement_table(ns2: pd.DataFrame) -> pd.DataFrame:
    """Share of published numbers within their tolerance, reproduced and by ns-2, over the same cells.

    One row per exhibit, metric and setting of ns-2, because each setting covers different cells. Columns: paper, exhibit,
    metric, setting, cells (published numbers with a result of ns-2), computed (those of them that are reproduced here),
    within_engine (share of the computed ones, NaN without any), within_ns2.
    """
    rows = ns2[ns2["printed"].notna()]
    groups = rows.groupby(["paper", "exhibit", "metric", "setting"], sort=False)
    table = groups.agg(
        cells=("key", "size"),
        computed=("within_reproduced", "count"),
        within_engine=("within_reproduced", "mean"),
        within_ns2=("within_ns2", "mean"),
    )
    return table.reset_index()
