"""The report: the ledger, every figure and table and the assumptions as one HTML file that opens from disk.

Figures are embedded, so the file can be moved; nothing in it comes from the network and nothing differs from run to run.
What does, time and memory, is on a page of its own beside it.
"""

from __future__ import annotations

import base64
import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tcpfair.contract import checksums, code, costs, record
from tcpfair.contract.files import write_whole
from tcpfair.contract.layout import LEDGER_TABLES, Layout
from tcpfair.contract.manifest import CODE, read_manifest
from tcpfair.contract.papers import Exhibit, PaperConfig, load_paper
from tcpfair.contract.record import Record
from tcpfair.errors import InputError
from tcpfair.verdicts import baseline, printed
from tcpfair.verdicts.assumptions import PLANNED_PKTS_PER_S
from tcpfair.verdicts.baseline import CHANGES
from tcpfair.verdicts.claims.registry import VERDICTS
from tcpfair.verdicts.claims.statement import load_claims
from tcpfair.verdicts.ledger import STATUSES
from tcpfair.verdicts.printed import NO_VALUE, OUTCOMES, Counted, key_text

SOURCE_TEXT = {
    "bundled": "the traces that the repository ships, which its own packet-level engine made",
    "engine": "traces simulated on this machine by the packet-level engine of this repository",
    "ns2": "traces simulated by ns-2",
    "ns3": "traces simulated by ns-3",
    "testbed": "traces measured on a testbed of Linux hosts",
    "raw": "the user's own traces",
}
MINUS = "−"
CHANGES_SHOWN = 200
# how far the settings that print speaks for lie from all settings (Kolmogorov-Smirnov) to be worth a word, and how many words
_TELLING, _TELLING_SHOWN = 0.25, 4
_LABELS = {"table": "Table", "fig": "Figure"}

Row = dict[str, str]
Ledger = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Bar:
    """Counts of one quantity, as text and as a bar of shares."""

    counts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def share(self, category: str) -> float:
        """Share of one category in per cent."""
        return 100 * self.counts.get(category, 0) / max(self.total, 1)


@dataclass(frozen=True)
class ExhibitView:
    """One exhibit as the template shows it."""

    exhibit: Exhibit
    label: str
    status: str
    source: str
    reason: str  # why there is nothing to show; empty when it is built
    n_runs: int
    image: str  # data URI
    table: Markup
    files: list[tuple[str, str]]  # name, link
    numbers: list[Row]
    counted: Counted  # of them
    marks: list[str]  # exhibits whose printed numbers it draws as marks


@dataclass(frozen=True)
class Interval:
    """A number on an axis from 0 to 1: its value and the ends of its spread."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Pair:
    """A number that moved, in the baseline and today, on one axis whose ends are ``axis``."""

    baseline: Interval
    today: Interval
    axis: tuple[str, str]


@dataclass(frozen=True)
class PaperView:
    """One paper as the template shows it."""

    name: str
    cite: str
    exhibits: list[ExhibitView]
    supplements: list[ExhibitView]
    text_numbers: list[Row]
    claims: list[Row]
    counts: dict[str, Bar]  # of exhibits, claims, numbers


def write_report(layout: Layout) -> Path:
    """Write ``results/<source>/report.html``, and ``costs.html`` beside it; returns the path of the report.

    Raises InputError when the ledger is missing.
    """
    ledger = read_ledger(layout)
    configs = {name: load_paper(layout.paper_config(name)) for name in ledger["exhibits"]["paper"].unique()}
    records = record.read_all(layout)
    papers = [_paper_view(layout, config, ledger, records) for config in configs.values()]
    context = {
        "source": layout.source,
        "source_text": SOURCE_TEXT[layout.source],
        "papers": papers,
        "totals": {what: _sum(paper.counts[what] for paper in papers) for what in ("exhibits", "claims", "numbers")},
        "experiments": [row for config in configs.values() for row in _experiments(layout, config, ledger)],
        "agreement_with_print": _printed_shares(ledger),
        "agreement": _agreement(ledger),
        "ns2_only": _ns2_only(ledger),
        "altered": checksums.altered(layout.data),
        "ensembles": _ensembles(ledger),
        "held_out": _held_out(ledger),
        "changes": _change_rows(layout, configs, ledger),
        "changed": _bar(ledger["changes"]["change"], CHANGES),
        "changes_shown": CHANGES_SHOWN,
        "assumptions": _merged(ledger["assumptions"], ["paper", "name", "value", "reason", "range"]),
        "stated": _merged(ledger["stated"], ["paper", "name", "value", "source"]),
        "plan": _plan(ledger),
        "validated": (layout.validation / "report.html").is_file(),
        "pkts_per_s": PLANNED_PKTS_PER_S,
        "equations": ledger["equations"].to_dict("records"),
        "tables": LEDGER_TABLES,
        "statuses": STATUSES,
        "verdicts": VERDICTS,
        "outcomes": OUTCOMES,
    }
    write_page(layout.results / "costs.html", "costs.html.j2", {"source": layout.source, "rows": costs.read(layout)})
    return write_page(layout.results / "report.html", "report.html.j2", context)


def read_ledger(layout: Layout) -> Ledger:
    """Every table of the ledger, all columns as text but for ``within``. Raises InputError when one is missing."""
    ledger = {}
    for name in LEDGER_TABLES:
        path = layout.ledger / f"{name}.csv"
        if not path.is_file():
            raise InputError(f"{path.relative_to(layout.root)}: missing; run `tcpfair ledger --source {layout.source}`")
        ledger[name] = pd.read_csv(path, dtype=str, keep_default_na=False)
    ledger["numbers"]["within"] = ledger["numbers"]["within"].map({"True": True, "False": False})
    return ledger


def write_page(path: Path, template: str, context: dict) -> Path:
    """Render a template of this package to ``path``; returns ``path``."""
    environment = Environment(
        loader=PackageLoader("tcpfair.verdicts"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"anchor": anchor, "count": count_text, "duration": duration_text, "label": label}
    write_whole(path, environment.get_template(template).render(context))
    return path


# --- Words and numbers --------------------------------------------------------------------------------------------


def label(exhibit_id: str) -> str:
    """``ogura.fig8`` -> ``Figure 8``; the name itself for a supplement or a section."""
    name = exhibit_id.split(".", 1)[1]
    found = re.fullmatch(r"(table|fig)(\w+)", name)
    return f"{_LABELS[found[1]]} {found[2]}" if found else name.replace("sec-", "section ")


def anchor(name: str) -> str:
    """A name as the id of an element."""
    return re.sub(r"[^\w-]+", "-", name)


def number_text(value: str, printed: str) -> str:
    """A computed value with one decimal more than the printed one; letters and dashes as they are."""
    try:
        number = float(value)
    except ValueError:
        return "–" if value in ("", NO_VALUE) else value
    decimals = len(printed.partition(".")[2]) + 1
    return f"{number:.{decimals}f}".replace("-", MINUS)


def count_text(number: float) -> str:
    """A count as people write it: ``1 234``, ``56.7 million``, ``8.9 billion``."""
    for name, size in (("billion", 1e9), ("million", 1e6)):
        if number >= size:
            return f"{number / size:.1f} {name}"
    return f"{number:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def duration_text(seconds: float) -> str:
    """A duration in the largest unit that leaves it at 1 or more: ``45 s``, ``3.2 min``, ``1.5 h``."""
    for name, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s" if seconds >= 1 else "below 1 s"


# --- Papers and exhibits ------------------------------------------------------------------------------------------


def _paper_view(layout: Layout, config: PaperConfig, ledger: Ledger, records: dict[str, Record]) -> PaperView:
    paper = config.paper
    numbers = _of(ledger["numbers"], paper)
    views = [_exhibit_view(layout, config, exhibit, ledger, records.get(exhibit.id)) for exhibit in config.exhibits]
    shown = {exhibit.id for exhibit in config.exhibits}
    claims = _of(ledger["claims"], paper)
    counts = {
        "exhibits": _bar(_of(ledger["exhibits"], paper)["status"], STATUSES),
        "claims": _bar(claims["verdict"], VERDICTS),
        "numbers": Bar(printed.count(numbers).by_outcome()),
    }
    return PaperView(
        name=paper,
        cite=config.cite,
        exhibits=[view for view in views if view.exhibit.kind != "supplement"],
        supplements=[view for view in views if view.exhibit.kind == "supplement"],
        text_numbers=_number_rows(numbers[~numbers["exhibit"].isin(shown)]),
        claims=_claim_rows(layout, paper, claims, _of(ledger["clauses"], paper), _circumstances(ledger, paper)),
        counts=counts,
    )


def _exhibit_view(
    layout: Layout, config: PaperConfig, exhibit: Exhibit, ledger: Ledger, found: Record | None
) -> ExhibitView:
    listed = pd.concat([ledger["exhibits"], ledger["supplements"]])
    row = listed[listed["exhibit"] == exhibit.id].iloc[0]
    files = [Path(name) for name in row["files"].split(";") if name]
    numbers = _of(ledger["numbers"], config.paper)
    is_built = row["status"] == "built"
    return ExhibitView(
        exhibit=exhibit,
        label=label(exhibit.id),
        status=row["status"],
        source=row["source"],
        reason="" if is_built else _reason(exhibit, found if row["status"] == "failed" else None, ledger["run_plan"]),
        n_runs=found.n_runs if is_built else 0,
        image=next((data_uri(layout.root / name) for name in files if name.suffix == ".svg"), ""),
        table=next((_fragment(layout.root / name) for name in files if name.suffix == ".html"), Markup("")),
        files=[(name.name, Path(os.path.relpath(layout.root / name, layout.results)).as_posix()) for name in files],
        numbers=_number_rows(printed.belonging(numbers, exhibit.id)),
        counted=printed.count_within(numbers, exhibit.id),
        marks=printed.drawn_marks(exhibit, {other.id for other in config.exhibits} & set(numbers["exhibit"])),
    )


def _reason(exhibit: Exhibit, failed: Record | None, plan: pd.DataFrame) -> str:
    """Why an exhibit is not built."""
    if failed:
        return failed.error or "drawing failed"
    of_paper = _of(plan, exhibit.id.partition(".")[0])
    there = set(of_paper.loc[of_paper["trace"] != "", "experiment"])
    missing = [name for name in exhibit.experiments if name not in there]
    return f"no trace of {', '.join(missing)}" if missing else "not drawn in this run"


def data_uri(path: Path) -> str:
    """An SVG as an address that holds it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"


def _fragment(path: Path) -> Markup:
    """The table in a page of HTML and the note under it, without the page around them."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<table.*</table>(\s*<p class="note">.*?</p>)?', text, flags=re.DOTALL)
    return Markup(found[0] if found else text)


def _of(table: pd.DataFrame, paper: str) -> pd.DataFrame:
    return table[table["paper"] == paper]


def _bar(values: Iterable[str], categories: Iterable[str]) -> Bar:
    found = pd.Series(list(values), dtype=object).value_counts()
    return Bar({name: int(found.get(name, 0)) for name in categories})


def _sum(bars: Iterable[Bar]) -> Bar:
    counts: dict[str, int] = {}
    for bar in bars:
        counts = {name: counts.get(name, 0) + number for name, number in bar.counts.items()}
    return Bar(counts)


def _number_rows(numbers: pd.DataFrame) -> list[Row]:
    """Printed numbers with what the template shows of them."""
    rows = numbers.to_dict("records")
    for row in rows:
        row["outcome"] = {True: "within", False: "outside"}.get(row["within"], "not computed")
        row["of"] = key_text(row["key"])
        row["shown"] = number_text(row["reproduced"], row["printed"])
        row["spread"] = number_text(row["sd"], row["printed"]) if row["sd"] else ""
        row["deviation"] = number_text(row["error"], row["printed"]) if row["error"] else ""
        row["printed"] = row["printed"].replace("-", MINUS) if row["printed"] != NO_VALUE else "–"
    return rows


def _circumstances(ledger: Ledger, paper: str) -> dict[tuple[str, str], str]:
    """In which settings of the ensemble each clause of a paper holds, as a sentence, by claim and clause."""
    table = _of(ledger["ensemble_clauses"], paper)
    own = table[table["hypothesis"] == ""]
    return dict(zip(zip(own["id"], own["clause"], strict=True), own["decides"], strict=True))


def _claim_rows(
    layout: Layout,
    paper: str,
    verdicts: pd.DataFrame,
    clauses: pd.DataFrame,
    circumstances: dict[tuple[str, str], str],
) -> list[dict]:
    """Claims of one paper in our words, with verdict, evidence and what was found of each clause."""
    found = verdicts.set_index("id")
    of_claim = {claim_id: rows.to_dict("records") for claim_id, rows in clauses.groupby("id")}
    return [
        {
            "id": claim.id,
            "section": claim.section,
            "claim": claim.claim,
            "note": claim.by_construction or claim.undecidable,
            "stated": list(claim.clauses.values()),
            "found": [
                _clause_row(row) | {"decides": circumstances.get((claim.id, row["clause"]), "")}
                for row in of_claim.get(claim.id, [])
            ],
            "print_notes": [claim.clauses[name].print_note for name in claim.contradicted],
            **found.loc[claim.id],
        }
        for claim in load_claims(layout.data / "claims" / f"{paper}.yaml")
    ]


def _clause_row(row: Row) -> Row:
    """A row of the ledger's clauses with its numbers as people write them."""
    value, low, high = (_three_digits(row[name]) for name in ("value", "low", "high"))
    runs = f"{100 * float(row['single_share']):.0f} % of {row['n_single']} runs" if row["single_share"] else ""
    spread = f"{low} to {high}" if low and high else ""
    sure = f"{100 * float(row['confidence']):.0f} %" if row["confidence"] else ""
    return row | {"shown": value or "no value", "spread": spread, "sure": sure, "runs": runs}


def _three_digits(text: str) -> str:
    number = float(text) if text else math.nan
    return "" if math.isnan(number) else "never" if math.isinf(number) else f"{number:.3g}".replace("-", MINUS)


# --- Tables over all papers ---------------------------------------------------------------------------------------


def _experiments(layout: Layout, config: PaperConfig, ledger: Ledger) -> list[Row]:
    """Where the trace of each experiment comes from: folder, simulator, runs, digest of the simulator's code."""
    rows = _of(ledger["run_plan"], config.paper).to_dict("records")
    for row in rows:
        manifest = read_manifest(layout.root / row["trace"]) if row["trace"] else {}
        row["what"] = config.experiments[row["experiment"]].what
        row["backend"] = manifest.get("backend", "")
        row["code"] = manifest.get(CODE, {}).get(code.SIMULATOR, "")[:12]
    return rows


def _printed_shares(ledger: Ledger) -> list[dict]:
    """Outcomes for each exhibit or section that prints numbers."""
    rows = ledger["summary"][(ledger["summary"]["what"] == "numbers") & (ledger["summary"]["exhibit"] != "")]
    shares = []
    for exhibit, counted in rows.groupby("exhibit", sort=False):
        counts = dict(zip(counted["category"], counted["count"].astype(int), strict=True))
        shares.append({"exhibit": exhibit, "label": label(exhibit), "bar": Bar(counts)})
    return shares


def _ensembles(ledger: Ledger) -> list[Row]:
    """Each paper among its settings, as printed and under each hypothesis, with what its print speaks for."""
    rows = ledger["ensemble_papers"].to_dict("records")
    testbeds = ledger["ensemble_testbed"]
    for row in rows:
        own = testbeds[(testbeds["paper"] == row["paper"]) & (testbeds["hypothesis"] == row["hypothesis"])]
        told = own[pd.to_numeric(own["shift"]) >= _TELLING].head(_TELLING_SHOWN)
        row["residue"] = int(row["numbers"]) - int(float(row["explained"])) if row["explained"] else ""
        for name in ("within_base", "within_best", "inside"):
            row[name] = str(int(float(row[name]))) if row[name] else ""
        row["testbed"] = "; ".join(
            f"{name} {_three_digits(median)} ({_three_digits(low)} to {_three_digits(high)})"
            if low
            else f"{name}: {_three_digits(median)}"
            for name, low, median, high in told[["assumption", "low", "median", "high"]].to_numpy()
        )
    return rows


def _held_out(ledger: Ledger) -> list[Row]:
    """Whether what is inferred from some printed numbers predicts others: errors in tolerances, shares in per cent."""
    rows = ledger["ensemble_held_out"].to_dict("records")
    for row in rows:
        for name in ("base", "prior", "inferred", "nearest"):
            row[name] = f"{float(row[name]):.2f} ({100 * float(row[f'within_{name}']):.0f} %)"
    return rows


def _agreement(ledger: Ledger) -> list[Row]:
    """Shares within tolerance of print, reproduced and by ns-2, in per cent."""
    table = ledger["agreement"].copy()
    for column in ("within_engine", "within_ns2"):
        table[column] = [f"{100 * float(share):.0f} %" if share else "–" for share in table[column]]
    return table.assign(label=table["exhibit"].map(label)).to_dict("records")


def _ns2_only(ledger: Ledger) -> list[Row]:
    """What ns-2 gave where the paper prints no number, beside the reproduced number."""
    rows = ledger["ns2"][ledger["ns2"]["printed"] == ""].to_dict("records")
    for row in rows:
        row |= {"label": label(row["exhibit"]), "of": key_text(row["key"])}
        row["shown"] = number_text(row["reproduced"], row["ns2"])
    return rows


def _change_rows(layout: Layout, configs: dict[str, PaperConfig], ledger: Ledger) -> list[Row]:
    """What changed beyond its spread and was there before, with the unit and, of numbers, old and new on one axis."""
    changed = ledger["changes"]
    rows = changed[~changed["change"].isin(["new", "within spread"])].to_dict("records")
    units = {}
    for config in configs.values() if rows else ():
        units |= printed.units(printed.load_printed(config, layout.data))
    for row in rows:
        row["of"] = key_text(row["key"]) if row["key"] else ""
        row["unit"] = units.get((row["id"], row["metric"]), "")
        row["pair"] = _pair(row) if row["change"] == "moved" else None
        row |= dict(zip(("old", "now"), baseline.told_apart(row["baseline"], row["today"]), strict=True))
        row["percent"] = f"{100 * float(row['relative']):+.3g} %".replace("-", MINUS) if row["relative"] else ""
    return rows


def _pair(row: Row) -> Pair | None:
    """Old and new on an axis that holds both with their spreads; None when one of them is no number."""
    try:
        values = [float(row["baseline"]), float(row["today"])]
    except ValueError:
        return None
    reach = [float(row[name] or 0) for name in baseline.REACH_COLUMNS]
    low, high = (op(v + sign * r for v, r in zip(values, reach, strict=True)) for op, sign in ((min, -1), (max, 1)))
    if not math.isfinite(high - low):
        return None
    old, new = (
        Interval(*((x - low) / (high - low) for x in (v - r, v, v + r))) for v, r in zip(values, reach, strict=True)
    )
    return Pair(old, new, (f"{low:.4g}".replace("-", MINUS), f"{high:.4g}".replace("-", MINUS)))


def _merged(table: pd.DataFrame, by: list[str]) -> list[Row]:
    """Rows that differ in the experiment only as one row."""
    return table.groupby(by, sort=False)["experiment"].agg(", ".join).reset_index().to_dict("records")


def _plan(ledger: Ledger) -> list[dict]:
    columns = ["runs", "simulated_s", "packets", "expected_s"]
    return ledger["run_plan"].astype(dict.fromkeys(columns, float)).to_dict("records")
