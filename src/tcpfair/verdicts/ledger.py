"""The ledger: the state of the exhibits, each published number next to the reproduced one, each claim with its verdict.

It is a folder of CSV tables, ``results/<source>/ledger/``, for the requested exhibits, claims and shipped ensembles
(`tcpfair.verdicts.scope`), which the report shows. `tcpfair.verdicts.compared` writes the tables of numbers; the claims of each
paper are judged before (`tcpfair.verdicts.judged`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from tcpfair.files.layout import JUDGED_TABLES, Layout
from tcpfair.files.rounding import write_tables
from tcpfair.papers.papers import Config, Exhibit, PaperConfig
from tcpfair.runs import record
from tcpfair.runs.record import Record
from tcpfair.verdicts import baseline, claims, printed
from tcpfair.verdicts.claims.headlines import headline_table
from tcpfair.verdicts.claims.margins import margin_table
from tcpfair.verdicts.ensemble import tables as ensemble
from tcpfair.verdicts.scope import Scope, scope_of

EXHIBIT_COLUMNS = ["exhibit", "paper", "kind", "status", "source", "files"]
STATUSES = ("built", "pending", "failed")  # of an exhibit
_NUMBERS = {"numbers": "within", "numbers by scatter": "within_scatter"}  # column of numbers.csv


def write_ledger(layout: Layout, config: Config, place: Path | None = None) -> dict[str, dict[str, int]]:
    """Write the tables of verdicts for what ``config`` requests to ``place`` (default: where they are read).

    `tcpfair.verdicts.compared` writes those of numbers, and `write_exhibits` those that depend on drawings. Returns counts:
    claims per verdict, changes per kind. Raises InputError, and keeps the old ledger, for an invalid configuration.
    """
    scope = scope_of(layout, config)
    verdicts, clauses, of_settings = (
        ensemble.read_parts(layout, layout.judged, scope.papers, name) for name in JUDGED_TABLES
    )
    changes = baseline.compare(layout, verdicts, scope.exhibits)
    tables = {
        "headlines": headline_table(layout.data / "claims", scope.papers, verdicts),
        "claims": verdicts,
        "clauses": clauses,
        "margins": margin_table(layout, scope.papers, verdicts, clauses),
        "ensemble_clauses": of_settings,
        "changes": changes,
    }
    write_tables(tables, place or layout.ledger)
    return {
        "claims": printed.by_category(verdicts["verdict"], claims.VERDICTS),
        "changes": printed.by_category(changes["change"], baseline.CHANGES),
    }


def write_exhibits(layout: Layout, config: Config, place: Path | None = None) -> dict[str, int]:
    """Write the tables that depend on drawings, after the rest of the ledger: the state of every exhibit, and the summary.

    Returns the number of exhibits per status. Raises InputError for an invalid record of an exhibit.
    """
    scope = scope_of(layout, config)
    exhibits = exhibit_table(layout, scope)
    numbers, verdicts = (pd.read_csv(layout.ledger / f"{name}.csv") for name in ("numbers", "claims"))
    supplement = exhibits["kind"] == "supplement"
    tables = {
        "exhibits": exhibits[~supplement],
        "supplements": exhibits[supplement],
        "summary": summary_table(scope.papers, exhibits[~supplement], numbers, verdicts),
    }
    write_tables(tables, place or layout.ledger)
    return printed.by_category(tables["exhibits"]["status"], STATUSES)


# --- Exhibits -----------------------------------------------------------------------------------------------------


def exhibit_table(layout: Layout, scope: Scope) -> pd.DataFrame:
    """Every exhibit of the papers in scope, in the configuration's order, with columns `EXHIBIT_COLUMNS`.

    status is ``built`` if every drawn file exists, ``failed`` if drawing failed, else ``pending``; source states how its
    traces were made and is empty for a pending exhibit; files are relative to the repository and separated by ``;``.
    """
    records = record.read_all(layout)
    rows = [
        _exhibit_row(layout, paper, exhibit, records.get(exhibit.id) if exhibit.id in scope.exhibits else None)
        for paper, config in scope.papers.items()
        for exhibit in config.exhibits
    ]
    return pd.DataFrame(rows, columns=EXHIBIT_COLUMNS)


def _exhibit_row(layout: Layout, paper: str, exhibit: Exhibit, found: Record | None) -> tuple[str, ...]:
    status = "pending"
    if found is not None and (found.status != "built" or record.is_whole(layout.root, found)):
        status = found.status
    files = ";".join(found.files) if status == "built" else ""
    return exhibit.id, paper, exhibit.kind, status, found.source if status != "pending" else "", files


# --- Summary ------------------------------------------------------------------------------------------------------


def summary_table(
    papers: Mapping[str, PaperConfig], exhibits: pd.DataFrame, numbers: pd.DataFrame, verdicts: pd.DataFrame
) -> pd.DataFrame:
    """Counts with columns paper, exhibit, what, category, count, total, share (count / total).

    what is ``exhibits`` (category: status), ``claims`` (verdict), ``numbers`` (outcome by the tolerances) or ``numbers by
    scatter`` (outcome by the scatter of repetitions). Numbers are counted for each paper (exhibit empty) and for each exhibit
    or section that they belong to (`printed.belonging`): a number in the text that quotes an exhibit counts for both.
    """
    numbers = numbers.assign(**{what: printed.outcomes(numbers[by]) for what, by in _NUMBERS.items()})
    of_papers = [("exhibits", exhibits, "status", STATUSES), ("claims", verdicts, "verdict", claims.VERDICTS)]
    of_papers += [(what, numbers, what, printed.OUTCOMES) for what in _NUMBERS]
    counted = [
        (paper, "", what, printed.by_category(of, categories))
        for what, table, column, categories in of_papers
        for paper, of in table.groupby("paper", sort=False)[column]
    ]
    for paper, own in numbers.groupby("paper", sort=False)["exhibit"]:
        places = dict.fromkeys([*(exhibit.id for exhibit in papers[paper].exhibits), *own])
        belonging = {place: printed.belonging(numbers, place) for place in places}
        counted += [
            (paper, place, what, printed.by_category(of[what], printed.OUTCOMES))
            for what in _NUMBERS
            for place, of in belonging.items()
            if len(of)
        ]
    rows = [
        (paper, place, what, category, n, sum(counts.values()), n / sum(counts.values()))
        for paper, place, what, counts in counted
        for category, n in counts.items()
    ]
    return pd.DataFrame(rows, columns=["paper", "exhibit", "what", "category", "count", "total", "share"])
