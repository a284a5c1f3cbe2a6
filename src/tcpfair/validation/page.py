"""The comparison as files in ``results/validation``: tables, figures, a page that opens from disk; and as a summary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout
from tcpfair.measures.shown import OF_VALIDATION
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import outputs
from tcpfair.validation import campaign, chance, claims, drawn, papers
from tcpfair.validation.agreement import (
    COLUMNS,
    EXPLAINED,
    NO_VALUE,
    UNDECIDED,
    UNEXPLAINED,
    WITHDRAWN,
    WITHIN,
    rounded,
    row_name,
)
from tcpfair.validation.comparison import Comparison
from tcpfair.validation.measures import MEASURES
from tcpfair.validation.scenarios import ENGINE, GUEST, KERNEL, KINDS, TITLES, TOOLS, WHOLE, stack_of, whole
from tcpfair.verdicts.assumptions import assumptions
from tcpfair.verdicts.claims.decision import FAILS, HOLDS
from tcpfair.verdicts.printed import by_category
from tcpfair.verdicts.report.marks import Bar
from tcpfair.verdicts.report.pages import data_uri, write_page
from tcpfair.verdicts.report.words import MINUS, SOURCES

OUTCOMES = (WITHIN, EXPLAINED, UNDECIDED, WITHDRAWN, UNEXPLAINED, NO_VALUE)
_EPOCHS_SHOWN, _LEAST_SHOWN = 10, 0.2
LISTED = 8  # unexplained rows in the summary
# metrics with a threshold, in the order of the overview
_PER_CENT = ("mean_cwnd", "epoch", "throughput", "utilisation", "share")
_PANELS = 5  # of a figure of shares
_SOURCE_TITLES = {source: text.removeprefix("in the engine ").removeprefix("in ") for source, text in SOURCES.items()}
WORST = 12  # flows of random dumbbells on the page


def report(layout: Layout) -> Path:
    """The page, the last of the files that `write` writes."""
    return layout.validation / "report.html"


def summary_file(layout: Layout) -> Path:
    """The file with the `summary`."""
    return layout.validation / "summary.txt"


def is_current(layout: Layout, made_from: str) -> bool:
    """Whether all files that `write` wrote are unchanged, and were made from these inputs."""
    return outputs.is_intact(layout.validation) and made_from in report(layout).read_text()


def write(layout: Layout, comparison: Comparison, made_from: str) -> None:
    """Write ``agreement.csv``, a CSV of all runs per experiment, the curves, the figures, the summary and the page.

    ``made_from`` is the digest of all inputs, which the page shows.
    """
    place = layout.validation
    tables = {
        "agreement": rounded(comparison.rows[COLUMNS]),
        **{name: comparison.runs(name).drop(columns="experiment") for name in comparison.engine},
        "curves": comparison.curves,
        **drawn_tables(comparison.config, comparison.flows, comparison.dumbbells),
        "pairs": rounded(comparison.pairs),
    }
    for kind, kernel in comparison.kernels.items():
        tables |= {kind: rounded(kernel.rows[COLUMNS]), f"{kind}_runs": kernel.runs(*kernel.engine)}
        if drawn.experiments(kernel.config):
            of_kind = drawn_tables(kernel.config, kernel.flows, kernel.dumbbells)
            tables |= {f"{kind}_{name}": table for name, table in of_kind.items()}
    tables |= {"claims": rounded(comparison.claims.clauses), "resembling": rounded(comparison.claims.resembling)}
    write_tables(place, tables)
    shown = map(_row_view, _judged(comparison.rows))
    context = {
        "made_from": made_from,
        "tools": [_tool_view(comparison, tool) for tool in TOOLS],
        "stack": stack_of(comparison.config),
        "kernels": [_kernel_view(kind, kernel) for kind, kernel in comparison.kernels.items()],
        "claims": claims_view(layout, comparison.claims),
        "missing": missing_lines(comparison),
        "figures": _drawn(place, comparison),
        "experiments": [_experiment_view(comparison, name) for name in comparison.engine],
        "chance": chance_view(comparison),
        "bars": _bars(comparison.config),
        "assumptions": assumptions({comparison.config.paper: comparison.config}).to_dict("records"),
        "outcomes": OUTCOMES,
        "beyond": [row for row in shown if row["outcome"] in (EXPLAINED, UNEXPLAINED)],
        "n_algorithms": len(comparison.config.protocols),
    }
    write_whole(summary_file(layout), summary(comparison) + "\n")
    write_page(report(layout), "validation.html.j2", context)
    files = [f"{name}.csv" for name in tables] + [file for each in context["figures"] for file in each["files"]]
    outputs.seal(place, [*(place / file for file in files), summary_file(layout), report(layout)])


# --- Rows for display ---------------------------------------------------------------------------------------------


def _judged(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return rows[rows["verdict"] != ""].to_dict("records")


def _bar(rows: Iterable[dict[str, Any]]) -> Bar:
    return Bar(by_category((row["outcome"] for row in rows), OUTCOMES))


def per_cent(row: dict[str, Any]) -> str:
    """The difference in per cent of the other simulator's mean, or in points; a dash without one."""
    value = 100 * (row["relative"] if MEASURES[row["metric"]].relative else row["difference"])
    if not math.isfinite(value):
        return "–"
    text = f"{value:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", MINUS)


def _mean(mean: float, se: float, decimals: int) -> str:
    """``647.4 ± 1.2``, the second number being the standard error."""
    if math.isnan(mean):
        return "–"
    text = f"{mean:.{decimals}f}"
    return text if math.isnan(se) else f"{text} ± {se:.{decimals}f}"


def _row_view(row: dict[str, Any]) -> dict[str, Any]:
    shown = OF_VALIDATION[row["metric"]]
    return {
        **row,
        "title": shown.words,
        "unit": shown.unit,
        "engine": _mean(row["engine_mean"], row["engine_se"], shown.decimals),
        "other": _mean(row["tool_mean"], row["tool_se"], shown.decimals),
        "per_cent": per_cent(row),
        "tool_title": TITLES[row["tool"]],
    }


def _tool_view(comparison: Comparison, tool: str) -> dict[str, Any]:
    of = comparison.tools[tool]
    rows = _judged(comparison.rows[comparison.rows["tool"] == tool])
    columns = list(dict.fromkeys((row["experiment"], row["metric"]) for row in rows))
    cells = {(row["algorithm"], row["experiment"], row["metric"]): row for row in rows}
    matrix = []
    for label in comparison.config.protocols:
        own = [cells.get((label, *column)) for column in columns]
        if any(own):
            shown = [(per_cent(row), row["outcome"], row["explanation"]) if row else ("", "", "") for row in own]
            matrix.append((label, shown))
    return {
        "name": tool,
        "title": TITLES[tool],
        "tools": of.tools,
        "bar": _bar(rows),
        "groups": [(name, sum(e == name for e, _ in columns)) for name in dict.fromkeys(e for e, _ in columns)],
        "columns": columns,
        "matrix": matrix,
        "provenance": of.provenance,
        "windows": {name: whole(comparison.config, tool).window(comparison.config, name) for name in of.runs},
    }


def _experiment_view(comparison: Comparison, name: str) -> dict[str, Any]:
    experiment = comparison.config.experiments[name]
    rows = [_row_view(row) for row in comparison.rows[comparison.rows["experiment"] == name].to_dict("records")]
    rows.sort(key=lambda row: (row["algorithm"], experiment.measures.index(row["metric"]), row["tool"]))
    return {
        "name": name,
        "what": experiment.what,
        "rows": rows,
        "bar": _bar(row for row in rows if row["verdict"]),
        "n_runs": len(comparison.engine[name].runs.drop_duplicates(["label", "replicate"])),
    }


def _kernel_view(kind: str, kernel: Comparison) -> dict[str, Any]:
    """The page's data about a kernel: mean and spread of its repeats next to the engine's, row by row."""
    (tool,) = KINDS[kind]
    spread = kernel.rows.assign(engine_se=kernel.rows["engine_sd"], tool_se=kernel.rows["tool_sd"])
    rows = [_row_view(row) for row in _judged(spread)]
    return {
        "name": tool,
        "kind": kind,
        "title": TITLES[tool],
        "config": kernel.config.place,
        "stack": stack_of(kernel.config),
        "tools": kernel.tools[tool].tools,
        "rows": rows,
        "bar": _bar(rows),
        "what": {name: experiment.what for name, experiment in kernel.config.experiments.items()},
        "assumptions": assumptions({kernel.config.paper: kernel.config}).to_dict("records"),
        "chance": chance_view(kernel),
    }


def _bars(config: PaperConfig) -> list[tuple[str, str, str]]:
    """(metric, threshold, rule) of every metric with a verdict."""
    value = config.analysis_value
    chances = value("standard_errors")
    found = []
    for name in _PER_CENT:
        if f"bar_{name}" not in config.analysis:
            continue
        bar = 100 * value(f"bar_{name}")
        unit = "%" if MEASURES[name].relative else "point" if bar == 1 else "points"
        rule = f"{chances} standard errors of the difference where they are less" if name == "share" else ""
        found.append((OF_VALIDATION[name].words, f"{bar:g} {unit}", rule))
    return found


def drawn_tables(config: PaperConfig, flows: pd.DataFrame, dumbbells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables about random dumbbells: their settings (a row for each flow), their flows and their verdicts."""
    settings = campaign.concatenated([drawn.table(config, name) for name in drawn.experiments(config)])
    return {"drawn": settings, "flows": rounded(flows), "dumbbells": rounded(dumbbells)}


def write_tables(place: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write tables as CSV files of a folder."""
    for name, table in tables.items():
        write_whole(place / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))


def chance_view(comparison: Comparison) -> dict[str, Any]:
    """The page's data about random dumbbells and seeds: tallies, the least likely flows, correlations."""
    config, rows = comparison.config, comparison.flows
    return {
        "level": config.analysis_value("drawn_level") if len(rows) else None,
        "seed": config.analysis_value("drawn_seed") if len(rows) else None,
        "kinds": chance.tally(config, rows, "experiment").to_dict("records"),
        "windows": chance.tally(config, chance.by_window(config, rows), "window").to_dict("records"),
        "algorithms": chance.tally(config, rows.sort_values("algorithm"), "algorithm").to_dict("records"),
        "worst": rows.sort_values("p").head(WORST).to_dict("records"),
        "dumbbells": [(name, chance.verdict_counts(own)) for name, own in _by_experiment(comparison.dumbbells)],
        "pairs": comparison.pairs.to_dict("records"),
    }


def _by_experiment(rows: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    return rows.groupby("experiment", sort=False)


# --- Claims of the papers -----------------------------------------------------------------------------------------


def claims_view(layout: Layout, of: claims.Compared) -> dict[str, Any]:
    """The page's data about the papers' claims: a row for each, with its verdict by source, and the lines of `claim_lines`."""
    rows, verdicts = [], baseline_verdicts(layout) if of.judged else {}
    for each in of.judged:
        own = each.clauses.to_dict("records")
        rows.append(
            {
                "id": each.claim.id,
                "claim": each.claim.claim,
                "ledger": verdicts.get(each.claim.id, ""),
                "clauses": [{**row, "cells": [_clause_cell(row, source) for source in claims.SOURCES]} for row in own],
                "verdicts": [each.verdicts.get(source, "") for source in claims.SOURCES],
                "differs": sorted({row["differs"] for row in own if row["differs"]}),
                "discussed": of.discussed.get(each.claim.id, ""),
            }
        )
    return {
        "rows": rows,
        "titles": [_SOURCE_TITLES[source] for source in claims.SOURCES],
        "lines": claim_lines(of),
        "plans": [(name, _in_words(scaled.plan)) for name, scaled in papers.plans(layout).items()],
    }


def baseline_verdicts(layout: Layout) -> dict[str, str]:
    """The verdicts of the accepted ledger."""
    return pd.read_csv(layout.data / "expected" / "verdicts.csv", dtype=str).set_index("id")["verdict"].to_dict()


def _clause_cell(row: dict[str, Any], source: str) -> str:
    """The result of a clause: ``holds (0.95; 10 of 12 runs)``."""
    outcome, value, runs, share = (row[f"{source}_{what}"] for what in ("outcome", "value", "runs", "share"))
    if not isinstance(outcome, str):
        return "–"
    return f"{outcome} ({value:.2f}; {share * runs:.0f} of {runs:.0f} runs)"


def _in_words(plan: papers.Plan) -> str:
    """``capacity_bps 1e+07, duration_s 60, rtt_ms 25, 50``."""
    values = {**plan.settings, **plan.grid, "guest_runs": plan.guest_runs}
    return "; ".join(f"{name} {value.value}" for name, value in values.items())


def claim_lines(of: claims.Compared) -> list[str]:
    """Sentences on the guest's agreement with the engine and with the papers, and on the resemblances of published rows."""
    lines = [f"{name}: runs of the guest are missing" for name in of.missing]
    rows = of.clauses
    for paper, own in rows.groupby("paper", sort=False):
        decided = {source: own[f"{source}_outcome"].isin([HOLDS, FAILS]) for source in claims.SOURCES}
        counts = []
        for source in claims.SOURCES[:-1]:
            both = decided[source] & decided[GUEST]
            same = both & (own[f"{source}_outcome"] == own[f"{GUEST}_outcome"])
            counts.append(f"{same.sum()} of {both.sum()} with the engine {_SOURCE_TITLES[source]}")
        printed = own["in_print"].isin([True, False]) & decided[GUEST]
        sides = printed & ((own[f"{GUEST}_outcome"] == HOLDS) == (own["in_print"] == True))  # noqa: E712 (object column)
        counts.append(f"{sides.sum()} of {printed.sum()} with the published numbers")
        lines.append(f"{paper}: of {len(own)} clauses, {TITLES[GUEST]} agrees in {', '.join(counts)}")
    if len(of.resembling):
        groups = of.resembling.groupby(["hypothesis", "experiment", "label", "other"], sort=False)
        lines += [_resembling_line(own) for _, own in groups]
    return lines


def _resembling_line(own: pd.DataFrame) -> str:
    """One sentence on a hypothesis that a protocol was another one, from the guest and from the engine."""
    of, row = own.set_index("source"), own.iloc[0]
    distance = {row["label"]: of.loc[GUEST, "to_label"], row["other"]: of.loc[GUEST, "to_other"]}
    near, far = sorted(distance, key=distance.get)
    says = [
        f"{_SOURCE_TITLES[source]} {of.loc[source, 'nearer_other']} of {of.loc[source, 'runs']}"
        for source in claims.SOURCES
    ]
    off = f"{distance[near]:.3f} and {distance[far]:.3f}, mean distance of the share of flow 1"
    sides = f"the published {row['label']} row is nearer to the guest's {near} row than to its {far} row ({off})"
    counts = f"single runs in which {row['other']} is nearer: {', '.join(says)}"
    return f"{row['hypothesis']}, {row['experiment']}: {sides}; {counts}"


# --- Figures ------------------------------------------------------------------------------------------------------


def _figures(comparison: Comparison) -> Iterator[tuple[str, str, str, Any]]:
    """The figures of the page, in order: name, title, caption, and the drawing."""
    from tcpfair.exhibits import agreement  # imports matplotlib, only needed to draw

    config, labels = comparison.config, list(comparison.config.protocols)
    for name, title in _curves(config):
        caption = (
            "The window of one run, the same scenario in each simulator; where losses are frequent, its first epochs."
        )
        yield f"windows_{name}", title, caption, _windows(comparison, WHOLE, name)
    for file, names in _share_panels(config).items():
        caption = "; ".join(f"{name}: {config.experiments[name].what}" for name in names) + "."
        runs = {name: _in_own_window(comparison, name) for name in names}
        figure = agreement.draw_shares(runs, labels, TITLES, "a point is a run, a bar the mean")
        yield file, "Share of flow 1 of two flows", caption, figure
    if kinds := drawn.experiments(config):
        level = config.analysis_value("drawn_level")
        caption = (
            f"Mean share of every flow of the random dumbbells, with the spread (sd) of the runs; filled: p < {level}."
        )
        figure = agreement.draw_flows(comparison.flows, kinds, level, "a point is a flow")
        yield "random_dumbbells", "Random dumbbells", caption, figure
    for kind, kernel in comparison.kernels.items():
        for name, title in _curves(kernel.config):
            caption = "The window of one run on a real kernel and in the engine"
            caption += "; its flow starts some tenths of a second later." if kind == KERNEL else "."
            yield f"{kind}_{name}", title, caption, _windows(kernel, kind, name)
    for name in chance.paired_experiments(config):
        caption = f"Share of flow 1: {config.experiments[name].what}. On the line the two are the same."
        figure = agreement.draw_seeds(comparison.runs(name), labels, TITLES, ENGINE, "ns2", "a point is a seed")
        yield f"seeds_{name}", "Seed by seed without jitter", caption, figure


def _drawn(place: Path, comparison: Comparison) -> list[dict[str, Any]]:
    """Write the figures; returns the page's data about each, with the SVG as a data URI."""
    from tcpfair.exhibits import style  # imports matplotlib, only needed to draw

    found = []
    with style.applied():
        for name, title, caption, figure in _figures(comparison):
            files = {f"{name}.svg": style.as_svg(figure), f"{name}.png": style.as_png(figure)}
            for file, content in files.items():
                write_whole(place / file, content)
            image = data_uri(place / f"{name}.svg")
            found.append({"name": name, "title": title, "caption": caption, "image": image, "files": list(files)})
    return found


def _curves(config: PaperConfig) -> Iterator[tuple[str, str]]:
    """The experiments whose windows are drawn over time, and the titles of their figures."""
    for name in config.analysis_value("curve_experiments"):
        yield name, f"Windows over time: {config.experiments[name].what}"


def _windows(compared: Comparison, kind: str, name: str) -> Any:
    """Windows over time: of the engine's epochs with other simulators, of the measured time with a kernel."""
    from tcpfair.exhibits import agreement

    config, (backend, *_) = compared.config, (ENGINE,) if kind == WHOLE else KINDS[kind]
    settled_s, end_s = whole(config, backend).window(config, name)
    measured_s = dict.fromkeys(config.experiments[name].grid["protocol"].value, end_s)
    until_s = _shown_s(compared, name) if kind == WHOLE else measured_s
    own = compared.curves.query("experiment == @name")
    note = "one run of each: " + ", ".join(TITLES[source] for source in TITLES if source in set(own["source"]))
    return agreement.draw_windows(own, list(until_s), TITLES, settled_s, until_s, note)


def _share_panels(config: PaperConfig) -> dict[str, list[str]]:
    """The experiments with shares of two flows, divided among figures; without those compared seed by seed."""
    apart = chance.paired_experiments(config)
    names = [name for name, each in config.experiments.items() if "share" in each.measures and name not in apart]
    groups = [names[k : k + _PANELS] for k in range(0, len(names), _PANELS)]
    return {f"shares_{k}" if k > 1 else "shares": group for k, group in enumerate(groups, start=1)}


def _shown_s(comparison: Comparison, experiment: str) -> dict[str, float]:
    """The time that a panel shows of each algorithm: some of the engine's epochs, but at least a good part of the run."""
    duration_s = max(spec.scenario.duration_s for spec in run_specs(comparison.config, experiment))
    epochs_s = comparison.engine[experiment].runs.groupby("label")["epoch"].mean()
    shown_s = (_EPOCHS_SHOWN * epochs_s).clip(_LEAST_SHOWN * duration_s, duration_s).fillna(duration_s)
    return {label: float(shown_s.get(label, duration_s)) for label in comparison.config.protocols}


def _in_own_window(comparison: Comparison, experiment: str) -> pd.DataFrame:
    """Runs of an experiment, each in the window of its simulator; the engine is measured in all windows."""
    runs = comparison.runs(experiment)
    from_s, until_s = whole(comparison.config, ENGINE).window(comparison.config, experiment)
    own = (runs["from_s"] == from_s) & (runs["until_s"] == until_s)
    return runs[own | (runs["source"] != ENGINE)]


# --- The summary --------------------------------------------------------------------------------------------------


def missing_lines(comparison: Comparison) -> list[str]:
    """One line for each simulator with stale results, and for each with missing ones."""
    found = []
    for tool, of, config in ((tool, of, each.config) for each in comparison.every for tool, of in each.tools.items()):
        run = f"./reproduce validate --run {tool}"
        known = [name for name in of.stale if name in config.experiments]
        if of.stale:
            again = f"{run} --experiments {' '.join(known)}" if known else "remove them"
            found.append(f"stale      {TITLES[tool]}: {', '.join(of.stale)}, made from other scenarios; {again}")
        if of.missing:
            what = f"{', '.join(of.missing)}; {run} --experiments {' '.join(of.missing)}" if of.runs else f"all; {run}"
            found.append(f"missing    {TITLES[tool]}: {what}")
    return found


def summary(comparison: Comparison) -> str:
    """The comparison as text for one screen."""
    lines: list[str] = []
    unexplained: list[dict[str, Any]] = []
    for compared in comparison.every:
        for tool in compared.tools:
            rows = _judged(compared.rows[compared.rows["tool"] == tool])
            unexplained += [row for row in rows if row["outcome"] == UNEXPLAINED]
            if rows:
                lines.append(f"{TITLES[tool]:<10} {_counts(rows)}, {stack_of(compared.config)}")
            for metric in _PER_CENT if tool in TOOLS else ():
                own = [row for row in rows if row["metric"] == metric]
                if own:
                    lines.append(f"           {OF_VALIDATION[metric].words:<26} {_counts(own)}")
        lines += chance.tally_lines(compared.config, compared.flows)
        for name, own in _by_experiment(compared.dumbbells):
            lines.append(f"{name:<24} {chance.verdict_counts(own)}")
    for name, own in _by_experiment(comparison.pairs):
        lines.append(f"{name:<24} correlation over seeds: median {own['correlation'].median():.2f}")
    for row in unexplained[:LISTED]:
        shown = _row_view(row)
        means = f"engine {shown['engine']}, {shown['tool_title']} {shown['other']} {shown['unit']}"
        lines.append(f"unexplained {row_name(row)}: {means}")
    if len(unexplained) > LISTED:
        lines.append(f"           and {len(unexplained) - LISTED} more")
    lines += [f"claims     {line}" for line in claim_lines(comparison.claims)]
    return "\n".join([*lines, *missing_lines(comparison)])


def _counts(rows: list[dict[str, Any]]) -> str:
    counts = _bar(rows).counts
    shown = [f"{number} {name}" for name, number in counts.items() if number and name != WITHIN]
    return f"{counts[WITHIN]} of {len(rows)} within the threshold" + (f" ({', '.join(shown)})" if shown else "")
