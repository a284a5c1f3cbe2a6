"""Exhibits for the report: the figure or table, its published numbers, and links to what they depend on."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from markupsafe import Markup

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import Exhibit, PaperConfig
from tcpfair.runs.record import Record
from tcpfair.verdicts import printed
from tcpfair.verdicts.printed import NO_VALUE, key_text
from tcpfair.verdicts.report.chain import Chain, relative, to
from tcpfair.verdicts.report.marks import Ledger, Row, Table, View, badge, link, links, of_paper, table
from tcpfair.verdicts.report.pages import fragment, size_px
from tcpfair.verdicts.report.words import MINUS, anchor, label, number_text


def exhibit_views(
    layout: Layout, config: PaperConfig, ledger: Ledger, records: dict[str, Record], chain: Chain, lab: str
) -> list[View]:
    """The exhibits of one paper, in the order of its configuration; ``lab`` is the address of the packet lab, or empty."""
    listed = pd.concat([ledger["exhibits"], ledger["supplements"]]).set_index("exhibit").to_dict("index")
    numbers = of_paper(ledger["numbers"], config.paper)
    printing = {each.id for each in config.exhibits} & set(numbers["exhibit"])

    def view(exhibit: Exhibit) -> View:
        row, found = listed[exhibit.id], records.get(exhibit.id)
        files = {Path(name).suffix: layout.root / name for name in row["files"].split(";") if name}
        own, counted = printed.belonging(numbers, exhibit.id), printed.count_within(numbers, exhibit.id)
        is_built = row["status"] == "built"
        name = f"{label(exhibit.id)} of {config.paper}"
        caption = f"Published and reproduced numbers of {name}"
        drawn, image = files.get(".html"), files.get(".svg")
        return {
            "exhibit": exhibit,
            "anchor": anchor(exhibit.id),
            "paper": config.paper,
            "label": label(exhibit.id),
            "status": row["status"],
            "source": row["source"],
            "reason": _reason(exhibit, row["status"], found, ledger["run_plan"]),
            "n_runs": found.n_runs if is_built and found else 0,
            "image": relative(layout, image) if image else "",
            "size": size_px(image) if image else None,
            "table": fragment(drawn, f"{name}: {exhibit.title}") if drawn else Markup(""),
            "files": [(relative(layout, file), file.name) for file in files.values()],
            "numbers": number_table(own, caption, where=counted.in_text > 0) if len(own) else None,
            "counted": counted,
            # exhibits whose published numbers it draws as marks
            "marks": [to(other) for other in printed.drawn_marks(exhibit, printing)],
            "claims": [to(claim) for claim in chain.claims_of(config.paper, exhibit.id)],
            "around": chain.around_exhibit(exhibit, config),
            "lab": [(f"{lab}#preset={config.paper}/{each}", each) for each in exhibit.experiments] if lab else [],
        }

    return [view(exhibit) for exhibit in config.exhibits]


def _reason(exhibit: Exhibit, status: str, found: Record | None, plan: pd.DataFrame) -> str:
    """Why an exhibit is not built; empty if it is."""
    if status == "built":
        return ""
    if status == "failed" and found:
        return found.error or "drawing failed"
    of_paper = plan[plan["paper"] == exhibit.id.partition(".")[0]]
    available = set(of_paper.loc[of_paper["trace"] != "", "experiment"])
    missing = [name for name in exhibit.experiments if name not in available]
    return f"no trace of {', '.join(missing)}" if missing else "not drawn in this run"


# --- Tables -------------------------------------------------------------------------------------------------------


def number_table(numbers: pd.DataFrame, caption: str, where: bool = False) -> Table:
    """Published numbers next to the reproduced ones; ``where`` adds the exhibit or section of each."""
    rows = []
    for row, outcome in zip(numbers.to_dict("records"), printed.outcomes(numbers["within"]), strict=True):
        sd, error = (number_text(row[name], row["printed"]) if row[name] else "" for name in ("sd", "error"))
        cells = [
            *([label(row["exhibit"])] if where else []),
            key_text(row["key"]),
            row["metric"],
            row["printed"].replace("-", MINUS) if row["printed"] != NO_VALUE else "–",
            number_text(row["reproduced"], row["printed"]),
            sd,
            row["n_runs"] if row["n_runs"] != "0" else "",
            error,
            row["tolerance"],
            outcome,
        ]
        rows.append(Row(cells, kind=outcome, verdict=outcome))
    titles = ["of", "metric", "printed:n", "reproduced:n", "sd:n", "runs:n", "difference:n", "tolerance:n", "outcome:n"]
    return table(caption, (["where"] if where else []) + titles, rows, tools=len(rows) > 20, verdict_title="outcome")


def exhibit_table(views: list[View]) -> Table:
    """All exhibits: section, status, numbers within tolerance, and claims."""
    rows = [
        Row(
            [
                link(*to(view["exhibit"].id, f"{view['paper']}, {view['label']}")),
                view["exhibit"].title,
                links(view["around"]["sections"]),
                badge(view["status"]),
                f"{view['counted'].within} of {view['counted'].total}" if view["counted"].total else "none printed",
                links(view["claims"]),
            ],
            paper=view["paper"],
            verdict=view["status"],
        )
        for view in views
    ]
    titles = ["exhibit:nowrap", "what it shows:wide", "section", "status", "numbers within:n", "claims:names"]
    caption = f"All {len(rows)} tables, figures and diagrams"
    return table(caption, titles, rows, tools=True, verdict_title="status", id="all-exhibits")
