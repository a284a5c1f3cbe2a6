"""The ledger: what is built, each printed number beside the reproduced one, each claim with its verdict.

`write_ledger` gathers what the exhibits and the claims left below ``results/<source>/`` into CSV tables in
``results/<source>/ledger/``, and adds what the configuration assumes and plans. The report shows these tables.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
import yaml

from tcpfair.contract.layout import Layout
from tcpfair.contract.papers import Config, Exhibit, PaperConfig, load_paper
from tcpfair.errors import InputError
from tcpfair.verdicts import assumptions, baseline, claims, printed

EXHIBIT_COLUMNS = ["exhibit", "paper", "kind", "status", "source", "files"]
STATUSES = ("built", "pending", "failed")
OUTCOMES = ("within", "outside", "not computed")  # of a printed number
IDENTITY = baseline.NUMBER_IDENTITY

Papers = Mapping[str, PaperConfig]


def write_ledger(layout: Layout, config: Config) -> dict[str, dict[str, int]]:
    """Write every table of the ledger of ``layout.source`` for the papers of ``config``.

    Returns counts: exhibits per status, numbers per outcome, claims per verdict, changes per kind. Raises InputError
    when a configuration, a printed number or a file that an exhibit left is wrong; the old ledger stays then.
    """
    papers = {name: load_paper(layout.paper_config(name)) for name in config.papers}
    exhibits = exhibit_table(layout, papers)
    reproduced = reproduced_numbers(layout)
    numbers = number_table(layout, papers, reproduced)
    verdicts = claims.evaluate(layout, papers)
    verdicts["evidence"] = [without_root(layout, line) for line in verdicts["evidence"]]
    ns2 = ns2_table(layout, numbers, reproduced)
    changes = baseline.compare(layout, verdicts)
    supplement = exhibits["kind"] == "supplement"
    tables = {
        "exhibits": exhibits[~supplement],
        "supplements": exhibits[supplement],
        "numbers": numbers,
        "claims": verdicts,
        "equations": equation_table(layout, papers),
        "summary": summary_table(exhibits[~supplement], numbers, verdicts),
        "ns2": ns2,
        "agreement": agreement_table(ns2),
        "changes": changes,
        "assumptions": assumptions.assumptions(papers),
        "stated": assumptions.stated(papers),
        "run_plan": assumptions.run_plan(papers),
    }
    _write(tables, layout.ledger)
    return {
        "exhibits": _counts(tables["exhibits"]["status"], STATUSES),
        "numbers": _counts(outcomes(numbers), OUTCOMES),
        "claims": _counts(verdicts["verdict"], claims.VERDICTS),
        "changes": _counts(changes["change"], baseline.CHANGES),
    }


# --- Exhibits -----------------------------------------------------------------------------------------------------


def read_records(layout: Layout) -> dict[str, dict]:
    """What drawing each exhibit left behind (exhibit, status, files, n_runs, error), by exhibit id."""
    paths = sorted((layout.results / "exhibits").glob("*/*.json"))
    records = [json.loads(path.read_text()) for path in paths]
    return {record["exhibit"]: {**record, "error": without_root(layout, record["error"])} for record in records}


def without_root(layout: Layout, message: str) -> str:
    """A message with paths relative to the repository: the same on every machine."""
    return message.replace(f"{layout.root}/", "")


def exhibit_table(layout: Layout, papers: Papers) -> pd.DataFrame:
    """Every exhibit of the configuration, in its order, with columns `EXHIBIT_COLUMNS`.

    status is ``built`` only when every file that was drawn is there, ``failed`` when drawing failed, else ``pending``;
    source is empty for what is pending; files are relative to the repository and separated by ``;``.
    """
    records = read_records(layout)
    rows = [
        _exhibit_row(layout, paper, exhibit, records.get(exhibit.id))
        for paper, config in papers.items()
        for exhibit in config.exhibits
    ]
    return pd.DataFrame(rows, columns=EXHIBIT_COLUMNS)


def _exhibit_row(layout: Layout, paper: str, exhibit: Exhibit, record: dict | None) -> tuple[str, ...]:
    status = _status(layout, record)
    files = ";".join(record["files"]) if status == "built" else ""
    return exhibit.id, paper, exhibit.kind, status, "" if status == "pending" else layout.source, files


def _status(layout: Layout, record: dict | None) -> str:
    if record is None:
        return "pending"
    if record["status"] == "failed":
        return "failed"
    return "built" if baseline.is_built(layout, record) else "pending"


# --- Numbers ------------------------------------------------------------------------------------------------------


def reproduced_numbers(layout: Layout) -> pd.DataFrame:
    """The numbers of every built exhibit: columns as of `tcpfair.verdicts.baseline.read_numbers`."""
    frames = [baseline.read_numbers(path) for path in baseline.built_numbers(layout)]
    columns = [*IDENTITY, "value", "sd", "n_runs", "source"]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def number_table(layout: Layout, papers: Papers, reproduced: pd.DataFrame) -> pd.DataFrame:
    """Every printed result of the papers beside the reproduced number (`printed.LEDGER_COLUMNS`)."""
    tolerances = printed.load_tolerances(layout.data / "tolerances.yaml")
    tables = [printed.compare(printed.load_published(paper, layout.data), reproduced, tolerances) for paper in papers]
    return pd.concat(tables, ignore_index=True)


def outcomes(numbers: pd.DataFrame) -> pd.Series:
    """``within``, ``outside`` (the tolerance) or ``not computed`` for each row of the table of numbers."""
    return numbers["within"].map({True: "within", False: "outside"}).astype(object).fillna("not computed")


# --- Equations ----------------------------------------------------------------------------------------------------


def equation_table(layout: Layout, papers: Papers) -> pd.DataFrame:
    """Every equation: id, function, test, exhibits that use it (separated by ``;``), correction of the print."""
    equations = pd.DataFrame(yaml.safe_load((layout.data / "equations.yaml").read_text(encoding="utf-8")))
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


def summary_table(exhibits: pd.DataFrame, numbers: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Counts with columns paper, exhibit, what, category, count, total, share (count / total).

    what is ``exhibits`` (category: status), ``claims`` (verdict) or ``numbers`` (outcome); numbers are counted for
    each paper (exhibit empty) and for each exhibit or section that prints them.
    """
    of_numbers = numbers.assign(category=outcomes(numbers))
    parts = [
        ("exhibits", exhibits.assign(exhibit="", category=exhibits["status"]), STATUSES),
        ("claims", verdicts.assign(exhibit="", category=verdicts["verdict"]), claims.VERDICTS),
        ("numbers", of_numbers.assign(exhibit=""), OUTCOMES),
        ("numbers", of_numbers, OUTCOMES),
    ]
    return pd.concat([_counted(what, rows, categories) for what, rows, categories in parts], ignore_index=True)


def _counted(what: str, rows: pd.DataFrame, categories: Iterable[str]) -> pd.DataFrame:
    counts = pd.crosstab([rows["paper"], rows["exhibit"]], rows["category"])
    counts = counts.reindex(columns=list(categories), fill_value=0)
    places = pd.MultiIndex.from_frame(rows[["paper", "exhibit"]].drop_duplicates())  # the papers' order
    table = counts.reindex(places).rename_axis(columns="category").stack().rename("count").reset_index()
    table["total"] = table.groupby(["paper", "exhibit"], sort=False)["count"].transform("sum")
    table["share"] = table["count"] / table["total"]
    table.insert(2, "what", what)
    return table


def _counts(values: pd.Series, categories: Iterable[str]) -> dict[str, int]:
    found = values.value_counts()
    return {name: int(found[name]) for name in categories if name in found}


# --- ns-2 as a second opinion -------------------------------------------------------------------------------------


def ns2_table(layout: Layout, numbers: pd.DataFrame, reproduced: pd.DataFrame) -> pd.DataFrame:
    """What ns-2 gave (``data/reference/ns2.csv``) beside print and beside the reproduced numbers.

    Columns: paper, exhibit, key, metric, setting, ns2, reproduced, printed, tolerance, within_reproduced, within_ns2
    (whether each lies within the tolerance of print), note. printed is empty where the paper shows a curve only.
    """
    tolerances = printed.load_tolerances(layout.data / "tolerances.yaml")
    reference = pd.read_csv(layout.data / "reference" / "ns2.csv", dtype=str, keep_default_na=False)
    table = reference.rename(columns={"value": "ns2"}).merge(
        numbers[[*IDENTITY, "printed", "reproduced", "within"]].rename(columns={"within": "within_reproduced"}),
        on=IDENTITY,
        how="left",
    )
    drawn = table[IDENTITY].merge(reproduced[[*IDENTITY, "value"]], on=IDENTITY, how="left")["value"]
    table["reproduced"] = table["reproduced"].where(table["reproduced"].notna(), drawn)
    deviations = [
        printed.within(value, float(ns2), metric, tolerances) if pd.notna(value) else None
        for value, ns2, metric in zip(table["printed"], table["ns2"], table["metric"], strict=True)
    ]
    table["tolerance"] = [deviation and deviation.tolerance for deviation in deviations]
    table["within_ns2"] = pd.array([deviation and deviation.within for deviation in deviations], dtype="boolean")
    table["paper"] = table["exhibit"].str.partition(".")[0]
    columns = ["setting", "ns2", "reproduced", "printed", "tolerance", "within_reproduced", "within_ns2", "note"]
    return table[["paper", *IDENTITY, *columns]]


def agreement_table(ns2: pd.DataFrame) -> pd.DataFrame:
    """Share of printed numbers within their tolerance, reproduced and by ns-2, over the same cells.

    One row per exhibit, metric and setting of ns-2, since each setting covers other cells. Columns: paper, exhibit,
    metric, setting, cells (printed numbers that ns-2 gave), computed (those of them that are reproduced here),
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


# --- Files --------------------------------------------------------------------------------------------------------


def _write(tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write all tables as CSV beside ``folder`` first, then put each in its place."""
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".ledger-", dir=folder.parent))
    try:
        for name, table in tables.items():
            table.to_csv(scratch / f"{name}.csv", index=False, float_format="%.7g", lineterminator="\n")
        for name in tables:
            os.replace(scratch / f"{name}.csv", folder / f"{name}.csv")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
