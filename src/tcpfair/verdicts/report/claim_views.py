"""Claims for the report: verdict, cause, one sentence, the clauses in words and units, and their links."""

from __future__ import annotations

import math
from collections.abc import Mapping

from markupsafe import Markup

from tcpfair.verdicts.certainty import certainty_text, percent
from tcpfair.verdicts.claims.decision import OPEN, SURE, UNDECIDED
from tcpfair.verdicts.claims.margins import MEASURED
from tcpfair.verdicts.claims.why import Cause
from tcpfair.verdicts.report.chain import Chain, to
from tcpfair.verdicts.report.marks import Ledger, Row, Table, View, badge, lines, link, links, of_paper, table
from tcpfair.verdicts.report.words import SOURCES, anchor, listed, plural, three_digits

# shown where no sentence fits the verdict of this run
_NO_SENTENCE = {
    "not run": "It was not requested in this run, or its experiments have no results.",
    "pending": "Its experiment is not built.",
    "failed": "Its test failed.",
}
_OTHER_VERDICT = "The recorded reason is for a different verdict."


def claim_views(paper: str, ledger: Ledger, chain: Chain, causes: dict[str, Cause]) -> list[View]:
    """The claims of one paper, in its order."""
    verdicts = of_paper(ledger["claims"], paper).set_index("id").to_dict("index")
    settings = _settings(ledger, paper)
    kernel = {(row["id"], row["clause"]): row for row in of_paper(ledger["guest"], paper).to_dict("records")}
    clauses: dict[str, list[View]] = {}
    for row in of_paper(ledger["clauses"], paper).to_dict("records"):
        place = row["id"], row["clause"]
        clauses.setdefault(row["id"], []).append(_clause(row, settings.get(place, ""), kernel.get(place)))
    views = []
    for claim in chain.claims[paper]:
        row, found = verdicts[claim.id], clauses.get(claim.id)
        stated = [_told("", c.says, f"Required: {c.quantity}: {c.asks}.") for c in claim.clauses.values()]
        view = {
            "claim": claim,
            "anchor": anchor(claim.id),
            "verdict": row["verdict"],
            # ``99 % sure; in 77 % of the settings``
            "certainty": certainty_text(*(float(row[name] or "nan") for name in ("certainty", "settings_share"))),
            "held": f"{row['held']} of {plural(int(row['clauses']), 'clause')} hold" if found else "not decided",
            "cause": row["cause"],
            "cause_says": causes[row["cause"]].says if row["cause"] else "",
            "why": row["why"] or _NO_SENTENCE.get(row["verdict"], _OTHER_VERDICT),
            "note": claim.by_construction or claim.untested,
            "print_notes": [claim.clauses[name].print_note for name in claim.contradicted],
            "clauses": found or stated,
            "evidence": "" if found else row["evidence"],
            "exhibits": [to(name) for name in claim.exhibits],
            "around": chain.around_claim(claim),
        }
        views.append(view)
    return views


def _told(outcome: str, says: str, told: str) -> View:
    """One clause in words and units: what was measured and required, and in which runs and settings it holds."""
    return {"outcome": outcome, "says": says, "told": told}


def _clause(row: dict[str, str], settings: str, kernel: dict[str, str] | None = None) -> View:
    """A row of the ledger's clauses as sentences with units; ``kernel`` is that of its table ``guest``."""
    value, low, high = (three_digits(row[name]) for name in ("value", "low", "high"))
    unit = f" {row['unit']}" if row["unit"] else ""
    at = f" at {row['cell']}" if row["cell"] else ""
    spread = f", 95 % interval {low} to {high}{unit}" if low and high and low != high else ""
    parts = [f"Measured: {row['quantity']}{at}: {value or 'no value'}{unit if value else ''}{spread}."]
    parts.append(f"Required: {row['asks']}.")
    if row["outcome"] == OPEN and row["confidence"]:
        parts.append(f"The confidence is {percent(row['confidence'])}.")
    if row["kept"] != row["outcome"]:
        parts.append(f"With as many runs as in the paper: {row['kept']}.")
    if row["single_share"] and int(row["n_single"]) > 1:
        parts.append(f"It shows in {_part_of(float(row['single_share']), int(row['n_single']))} single runs.")
    if settings:
        parts.append(f"Among the settings of the unstated values it {settings}.")
    if kernel:
        at_size = ((name, kernel[f"{source}_outcome"], kernel[f"{source}_value"]) for source, name in SOURCES.items())
        outcomes = [f"{outcome} {name} ({three_digits(value)})" for name, outcome, value in at_size if outcome]
        parts.append(f"In further runs: {'; '.join(outcomes)}.")
    return _told(row["outcome"], row["says"], " ".join(parts))


def _part_of(share: float, count: int) -> str:
    """``none of 20``, ``all 20``, ``75 % of 20``."""
    return f"none of {count}" if share == 0 else f"all {count}" if share == 1 else f"{percent(share)} of {count}"


def _settings(ledger: Ledger, paper: str) -> dict[tuple[str, str], str]:
    """A sentence about the settings in which each clause of a paper holds, by claim and clause."""
    found = of_paper(ledger["ensemble_clauses"], paper)
    own = found[found["hypothesis"] == ""]
    return dict(zip(zip(own["id"], own["clause"], strict=True), own["decides"], strict=True))


def headlines(ledger: Ledger, exhibits: Mapping[str, View], chain: Chain) -> list[View]:
    """The conclusions, each with its verdict, its certainty, its claims and the first drawn figure that they name."""
    views = []
    for row in ledger["headlines"].to_dict("records"):
        behind = row["claims"].split(";")
        named = [name for claim in chain.claims[row["paper"]] if claim.id in behind for name in claim.exhibits]
        confidence, share = (float(row[name] or "nan") for name in ("certainty", "settings_share"))
        views.append(
            {
                "paper": row["paper"],
                "says": row["says"],
                "verdict": row["verdict"],
                "sure": _how_sure(row["verdict"], confidence, share),
                "claims": links(map(to, behind)),
                "figure": next((exhibits[name] for name in named if exhibits[name]["image"]), None),
            }
        )
    return views


def _how_sure(verdict: str, confidence: float, share: float) -> str:
    """Whether more runs are needed, and in how many settings of unstated values it holds; without NaN."""
    sentences = []
    if verdict == UNDECIDED:
        sentences.append("More runs are needed for at least one part.")
    elif confidence >= SURE:
        sentences.append(
            f"With the values assumed here, more runs would not change this ({certainty_text(confidence, math.nan)})."
        )
    if not math.isnan(share):
        sentences.append(f"With other plausible values its weakest part holds in {100 * share:.0f} of 100 settings.")
    return " ".join(sentences)


# --- Tables over all claims ---------------------------------------------------------------------------------------


def claim_table(views: list[View]) -> Table:
    """All claims: sentence, verdict and reason."""
    rows = [
        Row(
            [
                link(*to(view["claim"].id, view["claim"].id)),
                view["claim"].claim,
                badge(view["verdict"]) + Markup(" <span class='muted'>{}</span>").format(view["certainty"]),
                (Markup("<b>{}.</b> ").format(view["cause"].capitalize()) if view["cause"] else Markup(""))
                + view["why"],
                links(view["exhibits"]),
            ],
            paper=view["claim"].paper,
            verdict=view["verdict"],
        )
        for view in views
    ]
    titles = ["claim", "statement of the paper:wide", "verdict", "why:wide", "shown in:names"]
    return table(f"All {len(rows)} claims, with verdict and reason", titles, rows, tools=True, id="all-claims")


def margin_table(ledger: Ledger) -> Table:
    """Every margin with other values: numbers of clauses and verdicts that would change, and which."""
    rows = []
    for row in ledger["margins"].to_dict("records"):
        if int(row["clauses"]) == 0:
            continue
        turned = [part.partition(": ") for part in row["turned"].split("; ") if part]
        named = [Markup("{}: {}").format(link(*to(name, name)), verdict) for name, _, verdict in turned]
        value = f"{row['value']} {row['unit']}".strip() if row["value"] else ""
        tried = row["tried"] + (
            f" ({float(row['times']):.2g} times)" if row["tried"] == MEASURED and row["times"] else ""
        )
        counts = [f"{row[f'{what}_turned']} of {row[what]}" for what in ("clauses", "claims")]
        rows.append([row["margin"], value, tried, *counts, lines(*named)])
    titles = ["margin", "value", "tried", "clauses that change:n", "verdicts that change:n", "which, and to what:names"]
    return table("Verdicts under other margins", titles, rows, tools=True, id="by-margin")


def cause_table(views: list[View], causes: dict[str, Cause]) -> Table:
    """The claims of each cause, with their number."""
    rows = []
    for name, cause in causes.items():
        behind = [view for view in views if view["cause"] == name]
        verdicts = dict.fromkeys(view["verdict"] for view in behind)
        counts = listed([f"{sum(v['verdict'] == verdict for v in behind)} {verdict}" for verdict in verdicts])
        named = links(to(view["claim"].id, view["claim"].id) for view in behind)
        rows.append([name.capitalize(), cause.says, len(behind), counts, named])
    titles = ["cause", "what it means:wide", "claims:n", "verdicts", "which:names"]
    return table("Causes, by number of claims", titles, rows, id="by-cause")
