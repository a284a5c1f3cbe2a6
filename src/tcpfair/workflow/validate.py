"""``./reproduce validate``: compares, runs a simulator for the comparison, or checks quickly that it works.

The items of its campaigns (`tcpfair.workflow.executor`) are parts: all runs of one algorithm in one experiment by one simulator.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files import costs
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import outputs, shards
from tcpfair.validation import agreement, campaign, chance, claims, comparison, drawn, page, papers, recordings, shipped
from tcpfair.validation.campaign import Part
from tcpfair.validation.scenarios import (
    ENGINE,
    GUEST,
    KINDS,
    QUICK,
    TESTBED,
    TITLES,
    WHOLE,
    Selection,
    config_of,
    digests_of,
    kind_of,
    load,
    quick,
    stack_of,
    whole,
)
from tcpfair.workflow import executor
from tcpfair.workflow.executor import Campaign, How, Item, Made, say


def maker(layout: Layout, asked: None) -> Callable[[str], Made]:
    """The function that makes a part by the name of its shard (see `tcpfair.workflow.executor`)."""

    @functools.cache
    def parts_of(kind: str, backend: str, experiment: str) -> tuple[Callable[[Part], None], dict[str, Part]]:
        if kind == papers.KIND:
            plans = papers.plans(layout)
            parts, make = papers.parts(layout, plans, backend), functools.partial(papers.make, plans[experiment])
        else:
            config = config_of(layout, kind)
            parts = campaign.parts(layout, config, kind, backend, [experiment])
            make = functools.partial(campaign.make, config)
        return make, {part.shard_name: part for part in parts}

    def make(name: str) -> Made:
        make_part, parts = parts_of(*name.split("/")[:3])
        if name not in parts:
            raise InputError(executor.EDITED)
        make_part(parts[name])
        return Made()

    return make


def _make(layout: Layout, parts: Iterable[Part], how: How) -> None:
    """Make the missing parts. Raises InputError as `executor.run` does."""
    items = [
        Item(part.shard_name, campaign.expected_s(part, costs.PLANNED_PKTS_PER_S), len(part.specs))
        for part in parts
        if not part.is_kept()
    ]
    store = campaign.store_of(layout)
    executor.run(layout, Campaign("validate", store, store, items), how)


def compare(layout: Layout, how: How) -> str:
    """Bring the comparison up to date, with engine runs where results are missing or stale; returns it as text."""
    config = load(layout.validation_config)
    comparison.explanations(layout, config)
    engine = comparison.engine_parts(layout, config)
    made_from = outputs.part(dict(comparison.made_from(layout, config, engine)))
    if not page.is_current(layout, made_from):
        todo = [part for part in engine if not part.is_kept()]
        if todo:
            runs = sum(len(part.specs) for part in todo)
            say(f"{TITLES[ENGINE]:<9} {runs} runs in {len({part.experiment for part in todo})} experiments")
        _make(layout, todo, how._replace(yes=True))
        page.write(layout, comparison.compare(layout, config, engine), made_from)
        for kind in (*KINDS, papers.KIND):
            shards.discard_others(campaign.store_of(layout) / kind / ENGINE, {part.file for part in engine})
    return page.summary_file(layout).read_text()


# --- Running a simulator ------------------------------------------------------------------------------------------


def run_tool(layout: Layout, tool: str, experiments: Sequence[str], how: How) -> None:
    """Run a simulator on some experiments (by default all that it takes part in) and ship the results.

    Raises InputError when it is not installed, when the estimate is long without ``how.yes``, or when parts failed; finished
    parts are kept.
    """
    kind = kind_of(tool)
    config = config_of(layout, kind)
    selection = whole(config, tool)
    plans = papers.plans(layout) if tool == GUEST else {}
    chosen = chosen_experiments(config, selection, tool, experiments, plans)
    origin = campaign.provenance(tool)
    parts = campaign.parts(layout, config, kind, tool, [name for name in chosen if name not in plans])
    names = dict.fromkeys(part.experiment for part in parts)
    right = {name: shipped.still_right(layout, config, tool, name, selection, origin) for name in names}
    for part in parts:
        if part.label in right[part.experiment] and not part.is_kept():
            runs, curves = right[part.experiment][part.label]
            own = runs[runs["replicate"].isin([spec.replicate for spec in part.specs])]
            if len(own) == len(part.specs):
                part.keep(own, curves if 0 in own["replicate"].to_numpy() else curves.iloc[:0])
    of_papers = papers.guest_parts(layout, plans)
    if of_papers:
        papers.restore(layout, of_papers)
    parts += [part for part in of_papers if part.experiment in chosen]
    n_runs = sum(len(part.specs) for part in parts if not part.is_kept())
    say(f"{TITLES[tool]:<9} {n_runs} runs of {', '.join(chosen)} ({origin['tool']})")
    try:
        _make(layout, parts, how)
    finally:  # ship complete experiments after an interrupted run too
        kept = [part for part in of_papers if part.is_kept()]
        if kept and set(plans) & set(chosen):
            papers.ship(layout, kept)
            say(f"written   {papers.files(layout)[0].relative_to(layout.root)}")
        for name in right:
            own = [part for part in parts if part.experiment == name]
            if all(part.is_kept() for part in own):
                results = campaign.joined(config, name, own)
                entry = {**origin, "scenarios": digests_of(config, name, selection)}
                shipped.write(layout, tool, name, results.runs, results.curves, entry)
                if tool == TESTBED and recordings.are_kept(layout, config, name):
                    recordings.ship(layout, config, name, origin)
                say(f"written   {shipped.folder(layout, tool).relative_to(layout.root)}/{name}.csv")
                place = campaign.store_of(layout) / kind / tool / name
                shards.discard_others(place, {part.file for part in own})
    if set(plans) & set(chosen):
        engine = papers.engine_parts(layout, plans)
        _make(layout, engine, how._replace(yes=True))
        claims.ship(layout, claims.compare(layout, engine))
        say(f"written   {layout.guest_clauses.relative_to(layout.root)}")


def chosen_experiments(
    config: PaperConfig, selection: Selection, tool: str, wanted: Sequence[str], papers: Iterable[str] = ()
) -> list[str]:
    """The requested experiments, in the order of the configuration, and ``papers``; InputError for one that the tool lacks."""
    known = [*(name for name in config.experiments if selection.specs(config, name)), *papers]
    for name in wanted:
        if name not in known:
            raise InputError(f"--experiments {name}: unknown to {TITLES[tool]}; known are {', '.join(known)}")
    return [name for name in known if not wanted or name in wanted]


def check_quickly(layout: Layout, tool: str, experiments: Sequence[str], how: How) -> list[str]:
    """Compare a few short runs of a simulator and of the engine without storing them; a line for each that is far off."""
    if tool not in KINDS[WHOLE]:
        raise InputError(f"--quick: not with --run {tool}; use it with --run {' or --run '.join(KINDS[WHOLE])}")
    config = load(layout.validation_config)
    selection = quick(config)
    chosen = chosen_experiments(config, selection, tool, experiments)
    found: list[str] = []
    of = {backend: campaign.parts(layout, config, QUICK, backend, chosen) for backend in (ENGINE, tool)}
    try:
        _make(layout, chain.from_iterable(of.values()), how._replace(yes=True))
        for name in chosen:
            own = {
                backend: campaign.joined(config, name, [part for part in parts if part.experiment == name]).runs
                for backend, parts in of.items()
            }
            rows = agreement.compare(config, name, tool, own[ENGINE], own[tool], selection.window(config, name))
            for row in rows.to_dict("records"):
                other = f"{TITLES[tool]} {row['tool_mean']:>10.4g}"
                say(f"{agreement.row_name(row):<34} engine {row['engine_mean']:>10.4g}   {other}")
            found += agreement.far_off(config, rows)
    finally:
        shutil.rmtree(campaign.store_of(layout) / QUICK, ignore_errors=True)
    return found


def try_random(layout: Layout, seed: int, count: int) -> bool:
    """Whether the engine is equivalent to ns-2 on all of ``count`` random dumbbells of each kind, drawn with ``seed``.

    Each dumbbell gets replicates until `chance.judge` decides, at most ``drawn_most_runs``. A line is printed for each step,
    each verdict and the sum. Results and settings are in a separate folder, where an interrupted run continues. Raises
    InputError when ns-2 is not installed or fails.
    """
    configured = load(layout.validation_config)
    most = configured.analysis_value("drawn_most_runs")
    config = drawn.redrawn(configured, seed, count, most)
    stack, kind = stack_of(config), f"random_{seed}"
    place = layout.validation / kind
    say(f"stack      the engine's flows have {stack}; margins hold for this stack alone")
    rows, tables = [], []
    for name in drawn.experiments(config):
        protocols = drawn.table(config, name).set_index(["label", "flow"])["protocol"]
        first, runs = int(configured.experiments[name].runs.value), []
        of = [campaign.parts(layout, config, kind, backend, [name]) for backend in (ENGINE, "ns2")]
        for done, pair in enumerate(zip(*of, strict=True), start=1):
            label = pair[0].label
            for upto, *both in _more_and_more(config, pair, first, most):
                row = {"experiment": name, "label": label, **chance.judge(config, *both)}
                say(f"simulated  {name} {label} ({done} of {count}): {upto} replicates: {row['verdict']}")
                if row["verdict"] != chance.UNDECIDED:
                    break
            say(chance.dumbbell_line(row, protocols[label, row["flow"]], stack))
            rows.append(row)
            runs.append(both)
        sides = (pd.concat(side, ignore_index=True) for side in zip(*runs, strict=True))
        tables.append(chance.flows(config, name, "ns2", *sides))
    verdicts = pd.DataFrame(rows, columns=chance.DUMBBELL_COLUMNS)
    page.write_tables(place, page.drawn_tables(config, pd.concat(tables, ignore_index=True), verdicts))
    for name, own in [*verdicts.groupby("experiment", sort=False), ("all", verdicts)]:
        say(f"verdict    {name}: {chance.verdict_counts(own)}, {stack}")
    say(f"written    {place.relative_to(layout.root)}/dumbbells.csv, flows.csv, drawn.csv")
    return bool((verdicts["verdict"] == chance.EQUIVALENT).all())


def _more_and_more(
    config: PaperConfig, pair: Sequence[Part], first: int, most: int
) -> Iterator[tuple[int, pd.DataFrame, pd.DataFrame]]:
    """Numbers of replicates from ``first`` on, doubled up to ``most``, each with the runs of both simulators so far."""
    found, before = [pd.DataFrame(), pd.DataFrame()], 0
    while before < most:
        upto = min(max(first, 2 * before), most)
        for side, part in enumerate(pair):
            more = campaign.replicates(part, before, upto)
            if not more.is_kept():
                campaign.make(config, more)
            found[side] = pd.concat([found[side], more.kept().runs], ignore_index=True)
        yield upto, *found
        before = upto
