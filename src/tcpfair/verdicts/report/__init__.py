"""The report: the ledger, every figure and table and the assumptions as HTML pages that open from disk.

The first page, ``report.html``, has the conclusions. The others are in ``report``: one for each paper, and three for all papers.
Figures are the files of ``figures``, loaded lazily. Pages need no network and are identical between runs; time and memory,
which differ, are on a separate page. Links lead in both directions (`chain`). The scripts, in ``templates/report``, sort and
filter tables and enlarge figures; without them, every page is still complete.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files import checksums, costs
from tcpfair.files.files import write_whole
from tcpfair.files.layout import LEDGER_TABLES, Layout
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.runs import record
from tcpfair.verdicts import printed
from tcpfair.verdicts.baseline import CHANGES
from tcpfair.verdicts.claims.registry import VERDICTS
from tcpfair.verdicts.claims.why import load_causes
from tcpfair.verdicts.ledger import STATUSES
from tcpfair.verdicts.printed import OUTCOMES
from tcpfair.verdicts.report import chain as chains
from tcpfair.verdicts.report import claim_views, exhibit_views, moved, overall
from tcpfair.verdicts.report.exhibit_views import exhibit_table, number_table
from tcpfair.verdicts.report.front import Facts
from tcpfair.verdicts.report.marks import Bar, Ledger, View, of_paper, summed
from tcpfair.verdicts.report.pages import joined, render, write_page

SOURCE_TEXT = {
    "bundled": "the traces that the repository ships, made by its packet-level engine",
    "engine": "traces simulated on this machine by the packet-level engine of this repository",
    "raw": "the user's own traces",
}

FRONT = "report.html"


@dataclass(frozen=True)
class Page:
    """A page of the report: its title, the template of its text, and the names of its sections by id for the contents."""

    title: str
    body: str
    sections: Mapping[str, str]
    paper: View | None = None


_FRONT = Page("Overview", "report/front.html.j2", {"summary": "Counts and findings", "by-paper": "By paper"})
_OVER_ALL = (
    Page("All claims", "report/claims.html.j2", {"causes": "Causes", "claims": "Verdicts", "margins": "Margins"}),
    Page(
        "Agreement with the papers",
        "report/agreement.html.j2",
        {"print": "Baselines", "by-exhibit": "By exhibit", "exhibits": "Tables and figures"}
        | {"settings": "Sensitivity", "ns2": "ns-2"},
    ),
    Page(
        "This run",
        "report/run.html.j2",
        {"gaps": "Gaps", "moved": "What moved", "plan": "Run plan", "sources": "Sources and files"},
    ),
)


def write_report(layout: Layout, place: Path | None = None, linked: Collection[Path] = ()) -> Path:
    """Write ``report.html`` and the pages below ``report`` to ``place`` (default: their stable names); returns the first.

    ``linked`` are pages that they link to: packet lab, notebooks, validation. Raises InputError when the ledger is missing.
    """
    ledger = read_ledger(layout, place)
    configs = {name: load_paper(layout.paper_config(name)) for name in ledger["exhibits"]["paper"].unique()}
    chain = chains.build(layout, configs, ledger["run_plan"], linked)
    lab = chains.relative(layout, layout.lab) if layout.lab in linked else ""
    papers = [_paper_view(layout, config, ledger, chain, lab) for config in configs.values()]
    claims, exhibits = ([view for paper in papers for view in paper[part]] for part in ("claims", "exhibits"))
    causes = load_causes(layout.data / "claims")
    changes = moved.changed(layout, configs, ledger["changes"])
    context = {
        "source": layout.source,
        "source_text": SOURCE_TEXT[layout.source],
        "papers": papers,
        "headlines": claim_views.headlines(ledger, {view["exhibit"].id: view for view in exhibits}, chain),
        "facts": Facts(ledger),
        "ledger": ledger,
        "overall": overall,
        "totals": {
            what: summed(paper["counts"][what] for paper in papers) for what in ("exhibits", "claims", "numbers")
        },
        "claim_table": claim_views.claim_table(claims),
        "margin_table": claim_views.margin_table(ledger),
        "cause_table": claim_views.cause_table(claims, causes),
        "exhibit_table": exhibit_table(exhibits),
        "altered": checksums.altered(layout.data),
        "changes": len(changes),
        "change_table": moved.change_table(changes),
        "changed": Bar(printed.by_category(ledger["changes"]["change"], CHANGES)),
        "changes_shown": moved.SHOWN,
        "validated": layout.validation / "report.html" in linked,
        "lab": lab,
        "write_up": chains.relative(layout, layout.write_up) if layout.write_up in linked else "",
        "pkts_per_s": costs.PLANNED_PKTS_PER_S,
        "tables": LEDGER_TABLES,
        "statuses": STATUSES,
        "outcomes": OUTCOMES,
    }
    pages = pages_of(papers)
    contents = [(name, page.title) for name, page in pages.items()]
    contents += [
        (context[name], text)
        for name, text in (("write_up", "What reproduces"), ("lab", "Packet lab"))
        if context[name]
    ]
    texts = {
        name: render("report/page.html.j2", {**context, **vars(page), "here": name, "contents": contents})
        for name, page in pages.items()
    }
    place = place or layout.results
    for name, text in joined(texts).items():
        write_whole(place / name, text)
    return place / FRONT


def pages_of(papers: list[View]) -> dict[str, Page]:
    """The pages of the report by their addresses from the folder of the first one."""
    of_papers = {f"report/{paper['name']}.html": _page_of(paper) for paper in papers}
    return {FRONT: _FRONT} | of_papers | {page.body.removesuffix(".j2"): page for page in _OVER_ALL}


def _page_of(paper: View) -> Page:
    parts = {
        "exhibits": "Tables and figures",
        "text": "Numbers in the text" if paper["text_numbers"].rows else "",
        "sensitivity": "Sensitivity" if paper["supplements"] else "",
        "claims": "Claims",
        "equations": "Equations" if paper["equations"] else "",
        "experiments": "Experiments",
        "assumptions": "Assumptions",
    }
    sections = {f"{paper['name']}-{part}": title for part, title in parts.items() if title}
    return Page(paper["name"], "report/paper.html.j2", sections, paper)


def write_costs(layout: Layout) -> Path:
    """Write ``costs.html``, next to the report: time and memory, which differ from run to run."""
    context = {"source": layout.source, "rows": costs.read(layout)}
    return write_page(layout.results / "costs.html", "report/costs.html.j2", context)


def read_ledger(layout: Layout, place: Path | None = None) -> Ledger:
    """Every table of the ledger, all columns except ``within`` as text; tables below ``place`` take precedence.

    Raises InputError when one is missing.
    """
    ledger = {}
    for name in LEDGER_TABLES:
        path = layout.ledger / f"{name}.csv"
        if place and (place / "ledger" / path.name).is_file():
            path = place / "ledger" / path.name
        if not path.is_file():
            raise InputError(f"{path.relative_to(layout.root)}: missing; run `tcpfair ledger --source {layout.source}`")
        ledger[name] = pd.read_csv(path, dtype=object, keep_default_na=False)
    ledger["numbers"]["within"] = ledger["numbers"]["within"].map({"True": True, "False": False})
    return ledger


def _paper_view(layout: Layout, config: PaperConfig, ledger: Ledger, chain: chains.Chain, lab: str) -> View:
    """One paper as the template shows it."""
    paper = config.paper
    numbers = of_paper(ledger["numbers"], paper)
    records = record.read_all(layout)
    views = exhibit_views.exhibit_views(layout, config, ledger, records, chain, lab)
    shown = {exhibit.id for exhibit in config.exhibits}
    in_text = numbers[~numbers["exhibit"].isin(shown)]
    counts = {
        "exhibits": Bar(printed.by_category(of_paper(ledger["exhibits"], paper)["status"], STATUSES)),
        "claims": Bar(printed.by_category(of_paper(ledger["claims"], paper)["verdict"], VERDICTS)),
        "numbers": Bar(printed.count(numbers)),
    }
    return {
        "name": paper,
        "cite": config.cite,
        "exhibits": [view for view in views if view["exhibit"].kind != "supplement"],
        "supplements": [view for view in views if view["exhibit"].kind == "supplement"],
        "text_numbers": number_table(in_text, f"Numbers in the text of {paper}", where=True),
        "claims": claim_views.claim_views(paper, ledger, chain, load_causes(layout.data / "claims")),
        "experiments": overall.experiments(layout, config, ledger, chain),
        "sections": overall.section_table(paper, chain),
        "assumptions": overall.assumptions(paper, ledger, chain),
        "stated": overall.stated(paper, ledger, chain),
        "equations": overall.equations(layout, paper, ledger, chain),
        "notebook": chain.notebook(paper),
        "counts": counts,
    }
