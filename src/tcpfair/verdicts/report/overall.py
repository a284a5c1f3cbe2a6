"""Tables over all papers: agreement with print and its yardsticks, other settings, ns-2, equations, assumptions, run plan."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from tcpfair.files.layout import Layout
from tcpfair.files.manifest import CODE, read_manifest
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import code
from tcpfair.verdicts.assumptions import ALL
from tcpfair.verdicts.printed import OUTCOMES, key_text
from tcpfair.verdicts.report.chain import Chain, Lines, Link, experiment_anchor
from tcpfair.verdicts.report.marks import Bar, Row, Table, draw_bar, lines, link, links, table
from tcpfair.verdicts.report.marks import code as code_mark
from tcpfair.verdicts.report.words import anchor, count_text, duration_text, label, number_text, percent, three_digits
from tcpfair.verdicts.typeset import tex_of, typeset
from tcpfair.verdicts.yardsticks import NULL, OTHER, PERFECT, SETTINGS, SHARE

# how far the settings that print speaks for lie from all settings (Kolmogorov-Smirnov) to be worth a word, and how many words
_TELLING, _TELLING_SHOWN = 0.25, 4
_YARDSTICKS = {
    NULL: "a model that says the same of each cell of a table: the median of what is printed there",
    OTHER: "the other Bhatti paper, on the cells that both printed from measurements of their own",
    PERFECT: "a model without fault, which still differs from print as two repetitions do",
    SETTINGS: "all settings of what the paper leaves open, taken together as one forecast (CRPS)",
}

Ledger = dict[str, pd.DataFrame]


# --- Agreement with print -----------------------------------------------------------------------------------------


def printed_shares(ledger: Ledger) -> Table:
    """Outcomes for each exhibit or section that prints numbers."""
    found = ledger["summary"][(ledger["summary"]["what"] == "numbers") & (ledger["summary"]["exhibit"] != "")]
    rows = []
    for exhibit, counted in found.groupby("exhibit", sort=False):
        bar = Bar(dict(zip(counted["category"], counted["count"].astype(int), strict=True)))
        place = exhibit if ".sec-" in exhibit else link(f"#{anchor(exhibit)}", exhibit)
        cells = [place, *(bar.counts[outcome] for outcome in OUTCOMES), draw_bar(bar)]
        rows.append(Row(cells, paper=exhibit.partition(".")[0]))
    titles = ["where", "within:n", "outside:n", "not computed:n", "shares"]
    return table("Printed numbers by outcome, for each exhibit and section", titles, rows, tools=True, id="shares")


def yardsticks(ledger: Ledger) -> tuple[Table, Table]:
    """What is reproduced beside what others would reach, over the same numbers: shares, and distances."""
    found = ledger["yardsticks"]
    of_share = found["measure"] == SHARE
    shares = [
        [
            row["paper"],
            _YARDSTICKS[row["yardstick"]],
            row["numbers"],
            *(percent(row[name]) for name in ("reproduced", "value", "reproduced_by_scatter", "by_scatter")),
        ]
        for row in found[of_share].to_dict("records")
    ]
    errors = [
        [
            row["paper"],
            _YARDSTICKS[row["yardstick"]],
            row["numbers"],
            *(_fixed(row[n]) for n in ("reproduced", "value")),
        ]
        for row in found[~of_share].to_dict("records")
    ]
    titles = ["paper", "yardstick:wide", "numbers:n"]
    share_titles = [*titles, "here:n", "yardstick's:n", "here, by scatter:n", "yardstick's, by scatter:n"]
    return (
        table("Shares within tolerance beside those of yardsticks, over the same numbers", share_titles, shares),
        table(
            "Mean distance from print in tolerances, over the same numbers",
            [*titles, "here:n", "yardstick's:n"],
            errors,
        ),
    )


def _fixed(text: str) -> str:
    return f"{float(text):.2f}" if text else ""


# --- Other settings -----------------------------------------------------------------------------------------------


def ensembles(ledger: Ledger) -> Table:
    """Each paper among its settings, as printed and under each hypothesis, with what its print speaks for."""
    testbeds = ledger["ensemble_testbed"]
    rows = []
    for row in ledger["ensemble_papers"].to_dict("records"):
        own = testbeds[(testbeds["paper"] == row["paper"]) & (testbeds["hypothesis"] == row["hypothesis"])]
        told = own[pd.to_numeric(own["shift"]) >= _TELLING].head(_TELLING_SHOWN)
        base, best, inside = (
            str(int(float(row[name]))) if row[name] else "" for name in ("within_base", "within_best", "inside")
        )
        testbed = "; ".join(
            f"{name} {three_digits(median)} ({three_digits(low)} to {three_digits(high)})"
            if low
            else f"{name}: {three_digits(median)}"
            for name, low, median, high in told[["assumption", "low", "median", "high"]].to_numpy()
        )
        residue = int(row["numbers"]) - int(float(row["explained"])) if row["explained"] else ""
        reading = Markup('{}<span class="muted">: {}</span>').format(row["hypothesis"] or "as printed", row["what"])
        second = f"{float(row['within_second']):.0f} ({row['second_reference']})" if row["second_reference"] else ""
        counts = [row["settings"], row["numbers"], base, second, best, inside, residue]
        rows.append(Row([row["paper"], reading, *counts, testbed], paper=row["paper"]))
    counts = [
        "settings:n",
        "numbers:n",
        "as configured:n",
        "as inferred from:n",
        "best setting:n",
        "inside 95 %:n",
        "by none:n",
    ]
    titles = ["paper", "hypothesis:wide", *counts, "what the print speaks for:wide"]
    return table("Printed numbers among all settings, by paper and hypothesis", titles, rows)


def held_out(ledger: Ledger) -> Table:
    """Whether what is inferred from some printed numbers predicts others: errors in tolerances, shares in per cent."""
    names = ("base", "prior", "inferred", "nearest")
    rows = [
        [
            row["paper"],
            row["hypothesis"] or "as printed",
            row["fitted"] if row["fitted_paper"] == row["paper"] else row["fitted_paper"],
            row["judged"],
            row["n"],
            f"{float(row['effective_settings']):.0f}",
            *(f"{float(row[name]):.2f} ({percent(row[f'within_{name}'])})" for name in names),
        ]
        for row in ledger["ensemble_held_out"].to_dict("records")
    ]
    errors = ["configured:n", "all settings:n", "inferred:n", "nearest:n"]
    titles = ["paper", "hypothesis", "inferred from", "predicted", "numbers:n", "effective settings:n", *errors]
    return table("Mean error in tolerances and share within, of numbers held out", titles, rows)


# --- ns-2 ---------------------------------------------------------------------------------------------------------


def ns2_agreement(ledger: Ledger) -> Table:
    """Shares within tolerance of print, reproduced and by ns-2."""
    rows = [
        [
            f"{row['paper']}, {label(row['exhibit'])}",
            row["metric"],
            row["setting"],
            row["cells"],
            row["computed"],
            percent(row["within_engine"]) or "–",
            percent(row["within_ns2"]) or "–",
        ]
        for row in ledger["agreement"].to_dict("records")
    ]
    titles = ["exhibit", "metric", "setting of ns-2", "cells:n", "computed:n", "here:n", "ns-2:n"]
    return table("Printed numbers within tolerance, here and by ns-2", titles, rows)


def ns2_only(ledger: Ledger) -> Table:
    """What ns-2 gave where the paper prints no number, beside the reproduced number."""
    found = ledger["ns2"][ledger["ns2"]["printed"] == ""]
    rows = [
        Row(
            [
                f"{row['paper']}, {label(row['exhibit'])}",
                key_text(row["key"]),
                row["metric"],
                row["setting"],
                row["ns2"],
                number_text(row["reproduced"], row["ns2"]),
                row["note"],
            ],
            paper=row["paper"],
        )
        for row in found.to_dict("records")
    ]
    titles = ["exhibit", "of", "metric", "setting of ns-2", "ns-2:n", "here:n", "note"]
    return table("Values of ns-2 where the paper shows only a curve", titles, rows, tools=True)


# --- Equations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EquationView:
    """One equation, typeset, with its function, its test and what uses it."""

    id: str
    mathml: Markup
    function: str
    test: str
    correction: str
    exhibits: list[Link]
    claims: list[Link]
    sections: list[Link]

    @property
    def anchor(self) -> str:
        return anchor(self.id)

    @property
    def paper(self) -> str:
        return self.id.partition(".")[0]


def equations(layout: Layout, ledger: Ledger, chain: Chain) -> list[EquationView]:
    """All equations of the papers that the chain has."""
    tex = tex_of(layout)
    return [
        EquationView(
            id=row["id"],
            mathml=Markup(typeset(tex[row["id"]])),
            function=row["function"].removeprefix("tcpfair."),
            test=row["test"].split("::")[-1],
            correction=row["correction"],
            exhibits=[chain.exhibit(name) for name in row["exhibits"].split(";") if name],
            claims=[chain.claim(name) for name in chain.claims_of_equation(row["id"])],
            sections=[chain.section(section) for section in chain.sections_of_equation(row["id"])],
        )
        for row in ledger["equations"].to_dict("records")
    ]


# --- Experiments and assumptions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExperimentView:
    """One experiment: its lines of configuration, its assumptions and its trace, and what they lead to."""

    paper: str
    name: str
    what: str
    runs: str
    lines: Lines | None
    trace: Link | None
    backend: str
    code: str  # digest of the simulator
    assumptions: Table | None
    exhibits: list[Link]
    claims: list[Link]

    @property
    def anchor(self) -> str:
        return experiment_anchor(self.paper, self.name)


def experiments(layout: Layout, config: PaperConfig, ledger: Ledger, chain: Chain) -> list[ExperimentView]:
    """The experiments of one paper, the first being what all of them share."""
    paper = config.paper
    plan = ledger["run_plan"][ledger["run_plan"]["paper"] == paper].set_index("experiment")
    assumed = ledger["assumptions"][ledger["assumptions"]["paper"] == paper]
    views = []
    for name in (ALL, *config.experiments):
        row = plan.loc[name] if name in plan.index else None
        trace = row["trace"] if row is not None else ""
        manifest = read_manifest(layout.root / trace) if trace else {}
        place = chain.traces.get((paper, name))
        views.append(
            ExperimentView(
                paper=paper,
                name=name,
                what=config.experiments[name].what if name != ALL else "what all experiments of the paper share",
                runs=row["runs"] if row is not None else "",
                lines=chain.lines.get((paper, name)),
                trace=(place, trace) if place else None,
                backend=manifest.get("backend", ""),
                code=manifest.get(CODE, {}).get(code.SIMULATOR, "")[:12],
                assumptions=_assumed(paper, name, assumed[assumed["experiment"] == name]),
                exhibits=[chain.exhibit(each) for each in chain.exhibits_of_experiment(paper, name)],
                claims=[chain.claim(each) for each in chain.claims_of_experiment(paper, name)],
            )
        )
    return views


def _assumed(paper: str, experiment: str, rows: pd.DataFrame) -> Table | None:
    cells = [[code_mark(row["name"]), row["value"], row["reason"], row["range"]] for row in rows.to_dict("records")]
    titles = ["setting", "value", "reason:wide", "range"]
    return table(f"Assumptions of {experiment} ({paper})", titles, cells) if cells else None


def assumptions(paper: str, ledger: Ledger, chain: Chain) -> Table:
    """What a paper does not state: rows that differ in the experiment only are one."""
    by = ["name", "value", "reason", "range"]
    rows = [
        Row([code_mark(name), value, reason, among, links(_experiment_links(chain, paper, names))], paper=paper)
        for (name, value, reason, among), names in _merged(ledger["assumptions"], paper, by)
    ]
    titles = ["setting", "value", "reason:wide", "range", "experiments:names"]
    return table(f"Assumptions of {paper}", titles, rows, tools=True)


def stated(paper: str, ledger: Ledger, chain: Chain) -> Table:
    """What a paper states, and where."""
    rows = [
        Row([code_mark(name), value, source, links(_experiment_links(chain, paper, names))], paper=paper)
        for (name, value, source), names in _merged(ledger["stated"], paper, ["name", "value", "source"])
    ]
    return table(f"Stated values of {paper}", ["setting", "value", "where", "experiments:names"], rows, tools=True)


def _merged(rows: pd.DataFrame, paper: str, by: list[str]) -> list[tuple[tuple, list[str]]]:
    """Values of ``by``, and the experiments that have them."""
    own = rows[rows["paper"] == paper]
    return [(key, list(group)) for key, group in own.groupby(by, sort=False)["experiment"]]


def _experiment_links(chain: Chain, paper: str, names: list[str]) -> list[Link]:
    return [chain.experiment(paper, name) for name in names]


def run_plan(ledger: Ledger) -> Table:
    """What simulating everything takes."""
    found = ledger["run_plan"].astype(dict.fromkeys(["runs", "simulated_s", "packets", "expected_s"], float))
    rows = [
        Row(
            [
                row["paper"],
                link(f"#{experiment_anchor(row['paper'], row['experiment'])}", row["experiment"]),
                *_costs(row),
            ]
        )
        for row in found.to_dict("records")
    ]
    rows.append(Row([Markup("<b>all</b>"), "", *_costs(found.sum(numeric_only=True))], kind="total"))
    titles = ["paper", "experiment", "runs:n", "simulated:n", "packets, at most:n", "time:n"]
    return table("Runs, packets and time of each experiment", titles, rows)


def _costs(row: dict | pd.Series) -> list[str]:
    runs, packets = (count_text(row[name]) for name in ("runs", "packets"))
    return [runs, duration_text(row["simulated_s"]), packets, duration_text(row["expected_s"])]


# --- Sections of a paper ------------------------------------------------------------------------------------------


def section_table(paper: str, chain: Chain) -> Table:
    """The sections of a paper and what belongs to each."""
    rows = []
    for section in chain.sections[paper]:
        cells = [
            lines(section.label),
            section.title,
            links(chain.claim(name) for name in section.claims),
            links(chain.exhibit(name) for name in section.exhibits),
            links(chain.equation(name) for name in section.equations),
        ]
        rows.append(Row(cells, id=section.anchor))
    titles = ["section", "title:wide", "claims:names", "exhibits:names", "equations:names"]
    return table(f"Sections of {paper}, and what belongs to them", titles, rows)
