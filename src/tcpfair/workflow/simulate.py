"""The missing runs of the papers as a campaign of `tcpfair.workflow.executor`.

An item is some missing runs of one experiment, and its shard is a trace of them (`tcpfair.runs.store`). After the campaign,
the shards of an experiment are merged into one trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from tcpfair import sources
from tcpfair.errors import InputError
from tcpfair.files import costs
from tcpfair.files.layout import Layout, short_name
from tcpfair.files.manifest import MANIFEST
from tcpfair.library import live
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import load_paper
from tcpfair.runs import outputs, store, trace
from tcpfair.workflow import executor
from tcpfair.workflow.executor import Campaign, How, Item, Made
from tcpfair.workflow.plan import Pair, Plan, check_params

STEP = "simulate"
ITEM_S = 8.0  # planned length of an item, which a kill costs; a few times longer on a slow core
_JOB_S = 60.0  # approximate length of a job


def campaign_of(plan: Plan, pairs: Sequence[Pair]) -> Campaign:
    """The missing runs of some experiments; possibly none, if other traces have all runs of a missing trace."""
    items, runs_of = [], {}
    pkts_per_s = costs.expected_pkts_per_s(costs.read(plan.layout))
    for paper, experiment in pairs:
        asked = plan.asked[paper, experiment]
        lacking = {run.key for run in plan.lacking[paper, experiment]}
        numbers = [number for number, run in enumerate(asked) if run.key in lacking]
        expected_s = sum(asked[number].pkts for number in numbers) / pkts_per_s
        n = min(len(numbers), max(1, round(expected_s / ITEM_S)))
        for own in (numbers[first::n] for first in range(n)):
            runs = [asked[number] for number in own]
            name = _name(paper, experiment, runs)
            items.append(Item(name, sum(run.pkts for run in runs) / pkts_per_s, len(own)))
            runs_of[name] = [experiment, own]
    folder = plan.layout.results / "runs"
    given = {"source": plan.layout.source, "runs": runs_of}
    most = max(plan.config.shards * len(pairs), 1)
    return Campaign(STEP, folder, folder, items, given, f"/{MANIFEST}", _JOB_S, most)


def _name(paper: str, experiment: str, runs: Sequence[store.Asked]) -> str:
    return f"{paper}/{short_name(experiment)}/{outputs.part(store.identity(runs))}"


def maker(layout: Layout, given: Mapping[str, Any]) -> Callable[[str], Made]:
    """The function that makes an item of the campaign by its name (see `tcpfair.workflow.executor`)."""
    layout = replace(layout, source=given["source"])

    @cache
    def expanded(paper: str, experiment: str):
        config = load_paper(layout.paper_config(paper))
        return config, run_specs(config, experiment)

    def make(name: str) -> Made:
        paper, (experiment, numbers) = name.partition("/")[0], given["runs"][name]
        config, every = expanded(paper, experiment)
        specs = [every[number] for number in numbers if number < len(every)]
        if _name(paper, experiment, store.asked(specs)) != name:
            raise InputError(executor.EDITED)
        made = sources.shard_of(config, experiment, specs, every)
        trace.write(made, layout.results / "runs" / name)
        return Made(made.provenance["pkts"])

    return make


def run(plan: Plan, pairs: Sequence[Pair] = (), cores: int = 1, profile: str = "default") -> None:
    """Simulate the missing runs of some experiments (by default all), and assemble their traces.

    Raises `executor.FailedItemsError` when runs failed, after the traces of the other experiments were assembled.
    """
    todo = [pair for pair in pairs or plan.experiments if plan.traces[pair] is None]
    for paper in dict.fromkeys(paper for paper, _ in todo):
        check_params(plan.papers[paper], str(plan.layout.paper_config(paper)))
    campaign = campaign_of(plan, todo)
    for item in campaign.items:  # an existing folder of this name is damaged
        outputs.discard(campaign.store / item.name)
    failed = None
    try:
        executor.run(plan.layout, campaign, How(cores, profile, yes=True), before=lambda: live.prepare(executor.say))
    except executor.FailedItemsError as error:
        failed = error
    parted = [pair for pair in todo if store.whole_trace(plan.layout, *pair, plan.asked[pair]) is None]
    tasks = [(plan.layout, *pair) for pair in parted if not store.missing(plan.layout, *pair, plan.asked[pair])]
    for (_, *pair), n_runs in executor.side_by_side(assemble, tasks, max(1, min(cores, len(tasks)))):
        executor.say(f"assembled  {'/'.join(pair)}  {n_runs} runs")
    for pair in todo:
        runs = plan.asked[pair]
        if folder := store.whole_trace(plan.layout, *pair, runs):
            sources.discard_merged(plan.layout, *pair, folder, runs)
    if failed:
        raise failed


def assemble(layout: Layout, paper: str, experiment: str) -> int:
    """Merge the shards of an experiment into its trace; returns the number of runs."""
    config = load_paper(layout.paper_config(paper))
    specs = run_specs(config, experiment)
    folder = store.trace_folder(layout, paper, experiment, store.asked(specs))
    trace.write(sources.assemble(layout, config, experiment, specs), folder)
    return len(specs)
