"""The ledger: the state of the exhibits, each published number next to the reproduced one, each claim with its verdict.

`write_ledger` collects the requested results of exhibits, claims and shipped ensembles (`tcpfair.verdicts.scope`) in CSV tables
in ``results/<source>/ledger/``, and adds assumptions and the run plan from the configuration. The report shows these tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.files import whole
from tcpfair.files.layout import JUDGED_TABLES, Layout
from tcpfair.files.rounding import rounded_table
from tcpfair.papers.papers import Config, Exhibit, PaperConfig
from tcpfair.runs import record
from tcpfair.runs.ensemble import EnsembleConfig
from tcpfair.runs.ensemble import load as load_ensembles
from tcpfair.runs.record import Record
from tcpfair.runs.store import Held
from tcpfair.verdicts import assumptions, baseline, claims, printed, readings
from tcpfair.verdicts.claims.headlines import headline_table
from tcpfair.verdicts.claims.margins import margin_table
from tcpfair.verdicts.ensemble import tables as ensemble
from tcpfair.verdicts.ensemble.clauses import clause_table, further_runs
from tcpfair.verdicts.printed import IDENTITY
from tcpfair.verdicts.scope import Scope, scope_of
from tcpfair.verdicts.yardsticks import yardstick_table

EXHIBIT_COLUMNS = ["exhibit", "paper", "kind", "status", "source", "files"]
STATUSES = ("built", "pending", "failed")  # of an exhibit
_NUMBERS = {"numbers": "within", "numbers by scatter": "within_scatter"}  # column of numbers.csv

Papers = Mapping[str, PaperConfig]


def write_ledger(layout: Layout, config: Config, place: Path | None = None) -> dict[str, dict[str, int]]:
    """Write the tables of the ledger for what ``config`` requests to ``place`` (default: where they are read).

    `write_exhibits` writes those that depend on drawings. Returns counts: numbers per outcome, claims per verdict, changes per
    kind. Raises InputError, and keeps the old ledger, for an invalid configuration, published number or table of numbers.
    """
    scope = scope_of(layout, config)
    papers = scope.papers
    held = {name: Held(layout, paper) for name, paper in papers.items()}
    reproduced = baseline.joined(baseline.built_numbers(layout, scope.exhibits))
    numbers = number_table(layout, papers, reproduced)
    ensembles = ensemble.read_shipped(layout, papers)
    verdicts, clauses, of_settings = (
        ensemble.read_parts(layout, layout.judged, papers, name) for name in JUDGED_TABLES
    )
    ns2 = ns2_table(layout, numbers, reproduced)
    changes = baseline.compare(layout, verdicts, scope.exhibits)
    tables = {
        "numbers": numbers,
        "headlines": headline_table(layout.data / "claims", papers, verdicts),
        "claims": verdicts,
        "clauses": clauses,
        "margins": margin_table(layout, papers, verdicts, clauses),
        "ensemble_clauses": of_settings,
        **ensembles,
        "equations": equation_table(layout, papers),
        "readings": readings.reading_table(layout, held, numbers, ensembles["ensemble_numbers"], _plans(layout)),
        "yardsticks": yardstick_table(layout, papers, numbers, ensembles["ensemble_numbers"]),
        "ns2": ns2,
        "guest": guest_table(layout, papers),
        "agreement": agreement_table(ns2),
        "changes": changes,
        "assumptions": assumptions.assumptions(papers),
        "stated": assumptions.stated(papers),
        "run_plan": assumptions.run_plan(held),
    }
    _write(tables, place or layout.ledger)
    return {
        "numbers": printed.count(numbers).by_outcome(),
        "claims": printed.by_category(verdicts["verdict"], claims.VERDICTS),
        "changes": printed.by_category(changes["change"], baseline.CHANGES),
    }


def _plans(layout: Layout) -> EnsembleConfig | None:
    """The configuration of the ensembles; None in a checkout without it."""
    return load_ensembles(layout.ensemble_config) if layout.ensemble_config.is_file() else None


def write_judged(layout: Layout, config: Config, paper: str, place: Path | None = None) -> pd.DataFrame:
    """Judge the claims of one paper by its runs and by the settings of its ensemble; write `JUDGED_TABLES` to ``place``.

    Returns the claims. Raises InputError for an invalid configuration or claim, and when the condition of a cause fails.
    """
    scope = scope_of(layout, config)
    held = Held(layout, scope.papers[paper])
    plans, further = _plans(layout), further_runs(layout, held.paper)
    settings = rounded_table(clause_table(layout, held.paper))
    read_as = readings.clauses_read_as(held, further, scope.left_out, settings, plans)
    settings = pd.concat([settings, read_as], ignore_index=True) if len(read_as) else settings
    denied = readings.denied_in_print(layout, held.paper, plans)
    found = (*claims.evaluate(held, scope.left_out, settings, further, denied), settings)
    ensemble.write_parts(place or layout.judged / paper, dict(zip(JUDGED_TABLES, found, strict=True)))
    return found[0]


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
    _write(tables, place or layout.ledger)
    return printed.by_category(tables["exhibits"]["status"], STATUSES)


def _write(tables: Mapping[str, pd.DataFrame], place: Path) -> None:
    """Write tables to a folder, which may contain others."""
    for name, table in tables.items():
        with whole(place / f"{name}.csv") as scratch:
            rounded_table(table).to_csv(scratch, index=False, float_format="%.7g", lineterminator="\n")


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


# --- Summary ------------------------------------------------------------------------------------------------------


def summary_table(
    papers: Papers, exhibits: pd.DataFrame, numbers: pd.DataFrame, verdicts: pd.DataFrame
) -> pd.DataFrame:
    """Counts with columns paper, exhibit, what, category, count, total, share (count / total).

    what is ``exhibits`` (category: status), ``claims`` (verdict), ``numbers`` (outcome by the tolerances) or ``numbers by
    scatter`` (outcome by the scatter of repetitions). Numbers are counted for each paper (exhibit empty) and for each exhibit
    or section that they belong to (`printed.belonging`): a number in the text that quotes an exhibit counts for both.
    """
    words = {True: "within", False: "outside"}
    outcomes = {by: numbers[by].map(words).fillna("not computed") for by in _NUMBERS.values()}
    numbers = numbers[["paper", "exhibit", "quotes"]].assign(**outcomes)
    of_numbers = [(what, numbers, by, printed.OUTCOMES) for what, by in _NUMBERS.items()]
    of_papers = [("exhibits", exhibits, "status", STATUSES), ("claims", verdicts, "verdict", claims.VERDICTS)]
    rows = [
        (paper, "", what, printed.by_category(of, categories))
        for what, table, column, categories in of_papers + of_numbers
        for paper, of in table.groupby("paper", sort=False)[column]
    ]
    placed = dict(list(pd.concat([numbers, numbers.assign(exhibit=numbers["quotes"])]).groupby("exhibit")))
    for paper, own in numbers.groupby("paper", sort=False)["exhibit"]:
        places = dict.fromkeys([*(exhibit.id for exhibit in papers[paper].exhibits), *own])
        rows += [
            (paper, place, what, printed.by_category(placed[place][by], printed.OUTCOMES))
            for what, by in _NUMBERS.items()
            for place in places
            if place in placed
        ]
    return pd.DataFrame(
        [
            (paper, place, what, category, n, sum(counts.values()), n / sum(counts.values()))
            for paper, place, what, counts in rows
            for category, n in counts.items()
        ],
        columns=["paper", "exhibit", "what", "category", "count", "total", "share"],
    )


# --- ns-2 as a second opinion -------------------------------------------------------------------------------------


def ns2_table(layout: Layout, numbers: pd.DataFrame, reproduced: pd.DataFrame) -> pd.DataFrame:
    """The results of ns-2 (``data/reference/ns2.csv``) next to the published and the reproduced numbers.

    Columns: paper, exhibit, key, metric, setting, ns2, reproduced, printed, tolerance, within_reproduced, within_ns2
    (whether each is within the tolerance of the published number), note. printed is empty if the paper shows only a curve.
    """
    tolerances = printed.load_tolerances(layout.data / "tolerances.yaml")
    reference = pd.read_csv(layout.data / "reference" / "ns2.csv", dtype=str, keep_default_na=False)
    ours = numbers[[*IDENTITY, "printed", "reproduced", "tolerance", "within"]]
    table = reference.rename(columns={"value": "ns2"}).merge(ours, on=IDENTITY, how="left")
    drawn = table[IDENTITY].merge(reproduced[[*IDENTITY, "value"]], on=IDENTITY, how="left")["value"]
    table["reproduced"] = table["reproduced"].where(table["reproduced"].notna(), drawn)
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

    Columns of `tcpfair.validation.claims.CLAUSES`; no rows in a checkout without them.
    """
    if not layout.guest_clauses.is_file():
        return pd.DataFrame(columns=["paper", "id", "clause"])
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
