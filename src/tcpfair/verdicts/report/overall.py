"""Tables over all papers: agreement and its yardsticks, other settings, ns-2, equations, assumptions, run plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
from markupsafe import Markup

from tcpfair.files import costs
from tcpfair.files.layout import Layout
from tcpfair.files.manifest import CODE, read_manifest
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import code
from tcpfair.verdicts.assumptions import ALL
from tcpfair.verdicts.certainty import percent
from tcpfair.verdicts.printed import OUTCOMES, key_text
from tcpfair.verdicts.report.chain import Chain, to, to_experiment
from tcpfair.verdicts.report.marks import (
    Bar,
    Ledger,
    Row,
    Table,
    View,
    draw_bar,
    lines,
    link,
    links,
    of_paper,
    table,
    table_of,
)
from tcpfair.verdicts.report.marks import code as code_mark
from tcpfair.verdicts.report.words import anchor, count_text, equation_label, label, number_text, three_digits
from tcpfair.verdicts.typeset import tex_of, typeset
from tcpfair.verdicts.yardsticks import NULL, OTHER, PERFECT, SETTINGS, SHARE

# least distance of the inferred settings from all settings (Kolmogorov-Smirnov) to be listed, and how many are listed
_TELLING, _TELLING_SHOWN = 0.25, 4
_YARDSTICKS = {
    NULL: "naive baseline: every cell of a table gets the median of the published cells",
    OTHER: "the other Bhatti paper, on the cells that both measured",
    PERFECT: "a perfect model, which still differs from the published values as two repetitions do",
    SETTINGS: "all settings of the unstated values together, as one forecast (CRPS)",
}


# --- Agreement with the papers ------------------------------------------------------------------------------------


def printed_shares(ledger: Ledger) -> Table:
    """Outcomes for each exhibit or section with published numbers."""
    found = ledger["summary"][(ledger["summary"]["what"] == "numbers") & (ledger["summary"]["exhibit"] != "")]
    rows = []
    for exhibit, counted in found.groupby("exhibit", sort=False):
        bar = Bar(dict(zip(counted["category"], counted["count"].astype(int), strict=True)))
        place = exhibit if ".sec-" in exhibit else link(*to(exhibit, exhibit))
        cells = [place, *(bar.counts[outcome] for outcome in OUTCOMES), draw_bar(bar)]
        rows.append(Row(cells, paper=exhibit.partition(".")[0]))
    titles = ["where", "within:n", "outside:n", "not computed:n", "shares"]
    return table("Published numbers by outcome, for each exhibit and section", titles, rows, tools=True, id="shares")


def readings(ledger: Ledger) -> Table:
    """Outcomes of the published numbers of each paper under each named reading; separately counted numbers have no share."""
    columns = {
        "paper": "paper",
        "reading:wide": lambda row: (
            Markup('{}<span class="muted">: {}</span>').format(row["reading"], row["what"])
            if row["what"]
            else row["reading"]
        ),
        "numbers:n": "numbers",
        "within tolerance:n": lambda row: _share(row, "within", "numbers"),
        "within scatter:n": lambda row: _share(row, "within_scatter", "numbers"),
        "inside the settings:n": lambda row: _share(row, "inside", "in_ensemble"),
        "inside the runs:n": lambda row: _share(row, "inside_runs", "in_runs"),
        "reprinted:n": "reprinted",
        "excluded:n": "excluded",
        "repeated in the text:n": "repeated",
        "without a cell:n": "no_cell",
        "not computed:n": "not_computed",
    }
    return table_of("Published numbers by paper and reading", ledger["readings"].to_dict("records"), columns)


def _share(row: Mapping[str, str], count: str, of: str) -> str:
    return f"{percent(int(row[count]) / int(row[of]))} of {row[of]}" if int(row[of]) else ""


def yardsticks(ledger: Ledger) -> tuple[Table, Table]:
    """The reproduced numbers next to the yardsticks, over the same numbers: shares, and distances."""
    found = ledger["yardsticks"]
    of_share = found["measure"] == SHARE
    columns = {"paper": "paper", "baseline:wide": lambda row: _YARDSTICKS[row["yardstick"]], "numbers:n": "numbers"}
    shares = {
        "here:n": lambda row: percent(row["reproduced"]),
        "baseline's:n": lambda row: percent(row["value"]),
        "here, by scatter:n": lambda row: percent(row["reproduced_by_scatter"]),
        "baseline's, by scatter:n": lambda row: percent(row["by_scatter"]),
    }
    errors = {"here:n": lambda row: _fixed(row["reproduced"]), "baseline's:n": lambda row: _fixed(row["value"])}
    caption = "Shares within tolerance, here and by baselines, over the same numbers"
    return (
        table_of(caption, found[of_share].to_dict("records"), columns | shares),
        table_of(
            "Mean distance from the published values in tolerances, over the same numbers",
            found[~of_share].to_dict("records"),
            columns | errors,
        ),
    )


def _fixed(text: str, decimals: int = 2) -> str:
    return f"{float(text):.{decimals}f}" if text else ""


# --- Other settings -----------------------------------------------------------------------------------------------


def ensembles(ledger: Ledger) -> Table:
    """Each paper among its settings, as published and under each hypothesis, with the values that its numbers favour."""
    favoured: dict[tuple[str, str], list[str]] = {}
    for row in ledger["ensemble_testbed"].to_dict("records"):
        if float(row["shift"] or 0) >= _TELLING:
            low, median, high = (three_digits(row[name]) for name in ("low", "median", "high"))
            text = f"{row['assumption']} {median} ({low} to {high})" if row["low"] else f"{row['assumption']}: {median}"
            favoured.setdefault((row["paper"], row["hypothesis"]), []).append(text)
    columns = {
        "paper": "paper",
        "hypothesis:wide": lambda row: Markup('{}<span class="muted">: {}</span>').format(_reading(row), row["what"]),
        "settings:n": "settings",
        "numbers:n": "numbers",
        "best setting:n": lambda row: _whole(row["within_best"]),
        "by none:n": lambda row: int(row["numbers"]) - int(float(row["explained"])) if row["explained"] else "",
        "values that the published numbers favour:wide": lambda row: "; ".join(
            favoured.get((row["paper"], row["hypothesis"]), [])[:_TELLING_SHOWN]
        ),
    }
    rows = ledger["ensemble_papers"].to_dict("records")
    return table_of("Published numbers among all settings, by paper and hypothesis", rows, columns, by_paper=True)


def _reading(row: Mapping[str, str]) -> str:
    return row["hypothesis"] or "as printed"


def _whole(text: str) -> str:
    return str(int(float(text))) if text else ""


def held_out(ledger: Ledger) -> Table:
    """Predictions of published numbers by testbeds inferred from others: errors in tolerances, shares in per cent."""

    def error(name: str) -> Callable[[Mapping[str, str]], str]:
        return lambda row: f"{_fixed(row[name])} ({percent(row[f'within_{name}'])})"

    columns = {
        "paper": "paper",
        "hypothesis": _reading,
        "inferred from": lambda row: row["fitted" if row["fitted_paper"] == row["paper"] else "fitted_paper"],
        "predicted": "judged",
        "numbers:n": "n",
        "effective settings:n": lambda row: _fixed(row["effective_settings"], 0),
        "configured:n": error("base"),
        "all settings:n": error("prior"),
        "inferred:n": error("inferred"),
        "nearest:n": error("nearest"),
        "any one setting:n": lambda row: percent(row["within_best"]),
    }
    rows = ledger["ensemble_held_out"].to_dict("records")
    return table_of("Mean error in tolerances and share within, of numbers held out", rows, columns)


# --- ns-2 ---------------------------------------------------------------------------------------------------------


def ns2_agreement(ledger: Ledger) -> Table:
    """Shares within tolerance of the published numbers, reproduced and by ns-2."""
    columns = {
        "exhibit": _place,
        "metric": "metric",
        "setting of ns-2": "setting",
        "cells:n": "cells",
        "computed:n": "computed",
        "here:n": lambda row: percent(row["within_engine"]) or "–",
        "ns-2:n": lambda row: percent(row["within_ns2"]) or "–",
    }
    rows = ledger["agreement"].to_dict("records")
    return table_of("Published numbers within tolerance, here and by ns-2", rows, columns)


def ns2_only(ledger: Ledger) -> Table:
    """Results of ns-2 without a published number, next to the reproduced number."""
    columns = {
        "exhibit": _place,
        "of": lambda row: key_text(row["key"]),
        "metric": "metric",
        "setting of ns-2": "setting",
        "ns-2:n": "ns2",
        "here:n": lambda row: number_text(row["reproduced"], row["ns2"]),
        "note": "note",
    }
    rows = ledger["ns2"][ledger["ns2"]["printed"] == ""].to_dict("records")
    caption = "Values of ns-2 where the paper shows only a curve"
    return table_of(caption, rows, columns, by_paper=True, tools=True)


def _place(row: Mapping[str, str]) -> str:
    return f"{row['paper']}, {label(row['exhibit'])}"


# --- Equations ----------------------------------------------------------------------------------------------------


def equations(layout: Layout, paper: str, ledger: Ledger, chain: Chain) -> list[View]:
    """The equations of one paper, typeset, each with its function, its test and where it is used."""
    tex = tex_of(layout)
    return [
        {
            "id": row["id"],
            "mathml": Markup(typeset(tex[row["id"]])),
            "function": row["function"].removeprefix("tcpfair."),
            "test": row["test"].split("::")[-1],
            "correction": row["correction"],
            "exhibits": [to(name) for name in row["exhibits"].split(";") if name],
            "claims": [to(name) for name in chain.claims_of_equation(paper, row["id"])],
            "sections": [section.link for section in chain.sections_of(row["id"])],
            "anchor": anchor(row["id"]),
        }
        for row in ledger["equations"].to_dict("records")
        if row["id"].startswith(f"{paper}.")
    ]


# --- Experiments and assumptions ----------------------------------------------------------------------------------


def experiments(layout: Layout, config: PaperConfig, ledger: Ledger, chain: Chain) -> list[View]:
    """The experiments of one paper; the first entry has what all of them share.

    Each has its lines of configuration, its assumptions, its trace, the digest of its simulator, and its exhibits and claims.
    """
    paper = config.paper
    plan = of_paper(ledger["run_plan"], paper).set_index("experiment")
    assumed = of_paper(ledger["assumptions"], paper)
    views = []
    for name in (ALL, *config.experiments):
        row = plan.loc[name] if name in plan.index else None
        trace = row["trace"] if row is not None else ""
        manifest = read_manifest(layout.root / trace) if trace else {}
        place = chain.traces.get((paper, name))
        views.append(
            {
                "paper": paper,
                "name": name,
                "what": config.experiments[name].what if name != ALL else "what all experiments of the paper share",
                "runs": row["runs"] if row is not None else "",
                "lines": chain.lines.get((paper, name)),
                "trace": (place, trace) if place else None,
                "backend": manifest.get("backend", ""),
                "code": manifest.get(CODE, {}).get(code.SIMULATOR, "")[:12],
                "assumptions": _assumed(paper, name, assumed[assumed["experiment"] == name]),
                "exhibits": [to(each) for each in chain.exhibits_of_experiment(paper, name)],
                "claims": [to(each) for each in chain.claims_of(paper, name)],
                "anchor": to_experiment(paper, name)[0][1:],
            }
        )
    return views


def _assumed(paper: str, experiment: str, rows: pd.DataFrame) -> Table | None:
    columns = {
        "setting": lambda row: code_mark(row["name"]),
        "value": "value",
        "reason:wide": "reason",
        "range": "range",
    }
    return table_of(f"Assumptions of {experiment} ({paper})", rows.to_dict("records"), columns) if len(rows) else None


def assumptions(paper: str, ledger: Ledger, chain: Chain) -> Table:
    """The values that a paper does not state; rows that differ only in the experiment are merged."""
    columns = {"value": "value", "reason:wide": "reason", "range": "range"}
    return _settings(f"Assumptions of {paper}", ledger["assumptions"], columns, paper, chain)


def stated(paper: str, ledger: Ledger, chain: Chain) -> Table:
    """The values that a paper states, and their sections."""
    return _settings(f"Stated values of {paper}", ledger["stated"], {"value": "value", "where": "source"}, paper, chain)


def _settings(caption: str, values: pd.DataFrame, columns: dict[str, str], paper: str, chain: Chain) -> Table:
    groups = of_paper(values, paper).groupby(["name", *columns.values()], sort=False)["experiment"]
    rows = [
        Row([code_mark(name), *own, links(to_experiment(paper, each) for each in names)], paper=paper)
        for (name, *own), names in groups
    ]
    return table(caption, ["setting", *columns, "experiments:names"], rows, tools=True)


def run_plan(ledger: Ledger) -> Table:
    """The cost of simulating every experiment."""
    found = ledger["run_plan"].astype(dict.fromkeys(["runs", "simulated_s", "packets", "expected_s"], float))
    rows = []
    for row in found.to_dict("records"):
        place = link(*to_experiment(row["paper"], row["experiment"]))
        rows.append([row["paper"], place, *_costs(row)])
    rows.append(Row([Markup("<b>all</b>"), "", *_costs(found.sum(numeric_only=True))], kind="total"))
    titles = ["paper", "experiment", "runs:n", "simulated:n", "packets, at most:n", "time:n"]
    return table("Runs, packets and time of each experiment", titles, rows)


def _costs(row: dict | pd.Series) -> list[str]:
    runs, packets = (count_text(row[name]) for name in ("runs", "packets"))
    return [runs, costs.duration_text(row["simulated_s"]), packets, costs.duration_text(row["expected_s"])]


# --- Sections of a paper ------------------------------------------------------------------------------------------


def section_table(paper: str, chain: Chain) -> Table:
    """The sections of a paper and what belongs to each."""
    rows = []
    for section in chain.sections[paper]:
        cells = [
            lines(section.link[1]),
            section.title,
            links(map(to, section.claims)),
            links(map(to, section.exhibits)),
            links(to(name, equation_label(name)) for name in section.equations),
        ]
        rows.append(Row(cells, id=section.anchor))
    titles = ["section", "title:wide", "claims:names", "exhibits:names", "equations:names"]
    return table(f"Sections of {paper}, and what belongs to them", titles, rows)
