"""The report: the ledger, every figure and table and the assumptions as one HTML file that opens from disk.

Figures are embedded, so the file can be moved; nothing in it comes from the network and nothing differs from run to run.
What does, time and memory, is on a page of its own beside it.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tcpfair.contract import costs
from tcpfair.contract.layout import LEDGER_TABLES, Layout
from tcpfair.contract.papers import Exhibit, PaperConfig, load_paper
from tcpfair.contract.trace import MANIFEST, read_manifest
from tcpfair.errors import InputError
from tcpfair.verdicts.assumptions import PLANNED_PKTS_PER_S
from tcpfair.verdicts.baseline import CHANGES
from tcpfair.verdicts.claims.registry import VERDICTS, load_claims
from tcpfair.verdicts.ledger import OUTCOMES, STATUSES, outcomes, read_records
from tcpfair.verdicts.printed import NO_VALUE, parse_key

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
    outcome: Bar


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
    records = read_records(layout)
    papers = [_paper_view(layout, config, ledger, records) for config in configs.values()]
    context = {
        "source": layout.source,
        "source_text": SOURCE_TEXT[layout.source],
        "papers": papers,
        "totals": {what: _sum(paper.counts[what] for paper in papers) for what in ("exhibits", "claims", "numbers")},
        "experiments": [row for config in configs.values() for row in _experiments(layout, config, ledger)],
        "printed": _printed_shares(ledger),
        "agreement": _agreement(ledger),
        "ns2_only": _ns2_only(ledger),
        "changes": ledger["changes"].query("change != 'new'").to_dict("records"),
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
    rows = [row for row in costs.read(layout.costs) if row["source"] == layout.source]
    write_page(layout.results / "costs.html", "costs.html.j2", {"source": layout.source, "rows": rows})
    return write_page(layout.results / "report.html", "report.html.j2", context)


def read_ledger(layout: Layout) -> Ledger:
    """Every table of the ledger, all columns as text. Raises InputError when one is missing."""
    ledger = {}
    for name in LEDGER_TABLES:
        path = layout.ledger / f"{name}.csv"
        if not path.is_file():
            raise InputError(f"{path.relative_to(layout.root)}: missing; run `tcpfair ledger --source {layout.source}`")
        ledger[name] = pd.read_csv(path, dtype=str, keep_default_na=False)
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
    environment.filters |= {"anchor": anchor, "count": count_text, "duration": duration_text}
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(environment.get_template(template).render(context), encoding="utf-8")
    os.replace(scratch, path)
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


def key_text(key: str) -> str:
    """``flow=2;protocol=CUBIC;rtt_ms=100`` -> ``CUBIC, flow 2, 100 ms``."""
    parts = parse_key(key)
    words = [parts.pop("protocol", ""), f"flow {parts.pop('flow')}" if "flow" in parts else ""]
    words += [f"{parts.pop('rtt_ms')} ms"] if "rtt_ms" in parts else []
    words += [value if name in ("item", "condition") else f"{name} {value}" for name, value in parts.items()]
    return ", ".join(word for word in words if word)


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


def _paper_view(layout: Layout, config: PaperConfig, ledger: Ledger, records: dict[str, dict]) -> PaperView:
    paper = config.paper
    numbers = _number_rows(_of(ledger["numbers"], paper))
    views = [_exhibit_view(layout, config, exhibit, ledger, records, numbers) for exhibit in config.exhibits]
    shown = {exhibit.id for exhibit in config.exhibits}
    claims = _of(ledger["claims"], paper)
    counts = {
        "exhibits": _bar(_of(ledger["exhibits"], paper)["status"], STATUSES),
        "claims": _bar(claims["verdict"], VERDICTS),
        "numbers": _bar((row["outcome"] for row in numbers), OUTCOMES),
    }
    return PaperView(
        name=paper,
        cite=config.cite,
        exhibits=[view for view in views if view.exhibit.kind != "supplement"],
        supplements=[view for view in views if view.exhibit.kind == "supplement"],
        text_numbers=[row for row in numbers if row["exhibit"] not in shown],
        claims=_claim_rows(layout, paper, claims),
        counts=counts,
    )


def _exhibit_view(
    layout: Layout,
    config: PaperConfig,
    exhibit: Exhibit,
    ledger: Ledger,
    records: dict[str, dict],
    numbers: list[Row],
) -> ExhibitView:
    listed = pd.concat([ledger["exhibits"], ledger["supplements"]])
    row = listed[listed["exhibit"] == exhibit.id].iloc[0]
    files = [Path(name) for name in row["files"].split(";") if name]
    own_numbers = [number for number in numbers if number["exhibit"] == exhibit.id]
    record = records.get(exhibit.id, {})
    return ExhibitView(
        exhibit=exhibit,
        label=label(exhibit.id),
        status=row["status"],
        source=row["source"],
        reason=_reason(layout, config, exhibit, row["status"], record),
        n_runs=int(record.get("n_runs") or 0),
        image=next((data_uri(layout.root / name) for name in files if name.suffix == ".svg"), ""),
        table=next((_fragment(layout.root / name) for name in files if name.suffix == ".html"), Markup("")),
        files=[(name.name, Path(os.path.relpath(layout.root / name, layout.results)).as_posix()) for name in files],
        numbers=own_numbers,
        outcome=_bar((number["outcome"] for number in own_numbers), OUTCOMES),
    )


def _reason(layout: Layout, config: PaperConfig, exhibit: Exhibit, status: str, record: dict) -> str:
    """Why an exhibit is not built; empty when it is."""
    if status == "built":
        return ""
    if status == "failed":
        return record.get("error") or "drawing failed"
    if exhibit.draw is None:
        return "nothing draws it yet"
    missing = [name for name in exhibit.experiments if not (layout.trace(config.paper, name) / MANIFEST).is_file()]
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
    outcome = outcomes(numbers.assign(within=numbers["within"].map({"True": True, "False": False})))
    rows = numbers.assign(outcome=outcome).to_dict("records")
    for row in rows:
        row["of"] = key_text(row["key"])
        row["shown"] = number_text(row["reproduced"], row["printed"])
        row["spread"] = number_text(row["sd"], row["printed"]) if row["sd"] else ""
        row["deviation"] = number_text(row["error"], row["printed"]) if row["error"] else ""
        row["printed"] = row["printed"].replace("-", MINUS) if row["printed"] != NO_VALUE else "–"
    return rows


def _claim_rows(layout: Layout, paper: str, verdicts: pd.DataFrame) -> list[Row]:
    """Claims of one paper in our words, with verdict and evidence."""
    found = verdicts.set_index("id")
    claims = load_claims(layout.data / "claims" / f"{paper}.yaml")
    return [
        {"id": claim.id, "section": claim.section, "claim": claim.claim, "test": claim.test, **found.loc[claim.id]}
        for claim in claims
    ]


# --- Tables over all papers ---------------------------------------------------------------------------------------


def _experiments(layout: Layout, config: PaperConfig, ledger: Ledger) -> list[dict]:
    """Where the trace of each experiment comes from: backend, runs, hash of the code that made it."""
    planned = _of(ledger["run_plan"], config.paper).set_index("experiment")["runs"].astype(int)
    rows = []
    for name, experiment in config.experiments.items():
        folder = layout.trace(config.paper, name)
        manifest = read_manifest(folder) if (folder / MANIFEST).is_file() else {}
        runs = manifest.get("n_runs")
        rows.append(
            {
                "paper": config.paper,
                "name": name,
                "what": experiment.what,
                "planned": int(planned[name]),
                "runs": runs,
                "short": runs is not None and runs < planned[name],
                "backend": manifest.get("backend", ""),
                "code": manifest.get("code", "")[:12],
            }
        )
    return rows


def _printed_shares(ledger: Ledger) -> list[dict]:
    """Outcomes for each exhibit or section that prints numbers."""
    rows = ledger["summary"][(ledger["summary"]["what"] == "numbers") & (ledger["summary"]["exhibit"] != "")]
    shares = []
    for exhibit, counted in rows.groupby("exhibit", sort=False):
        counts = dict(zip(counted["category"], counted["count"].astype(int), strict=True))
        shares.append({"exhibit": exhibit, "label": label(exhibit), "bar": Bar(counts)})
    return shares


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


def _merged(table: pd.DataFrame, by: list[str]) -> list[Row]:
    """Rows that differ in the experiment only as one row."""
    return table.groupby(by, sort=False)["experiment"].agg(", ".join).reset_index().to_dict("records")


def _plan(ledger: Ledger) -> list[dict]:
    columns = ["runs", "simulated_s", "packets", "expected_s"]
    return ledger["run_plan"].astype(dict.fromkeys(columns, float)).to_dict("records")
