"""Smoke runs: every experiment of the papers for a few seconds, simulated and measured, as a campaign of the executor.

An item is one paper. Its shard is a table with a row for each experiment, copied to `rehearsals/<paper>.csv` in the results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tcpfair import cc, measures, sources
from tcpfair.files import costs
from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout
from tcpfair.files.manifest import file_hash
from tcpfair.library import live
from tcpfair.papers.expand import RunSpec, run_specs, shorten
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.papers.settings import grid_points
from tcpfair.runs import code, outputs, reach, shards
from tcpfair.workflow import executor
from tcpfair.workflow.executor import Campaign, How, Item, Made
from tcpfair.workflow.plan import Plan

STEP = "smoke"
_SUFFIX = ".csv"  # of shards, which become the tables
_RUN_S = 0.05  # approximate time of a run on one core


def main(plan: Plan, cores: int, profile: str = "default", only_say: bool = False) -> None:
    """Bring the smoke runs of a plan up to date; ``only_say`` only prints the work. Raises InputError when one failed."""
    began_s = time.time()
    campaign = campaign_of(plan)
    todo = campaign.todo
    for item in todo:
        of_paper = f"{item.n_runs} runs, {costs.duration_text(item.expected_s)} of one core"
        print(f"{STEP:<10} {item.group:<28} {of_paper}", flush=True)
    if only_say:
        if not todo:
            print("nothing: everything is up to date")
        return
    executor.run(plan.layout, campaign, How(cores, profile, yes=True), before=lambda: live.prepare(lambda line: None))
    for item in campaign.items:
        shard = campaign.shard(item)
        write_whole(campaign.store / f"{item.group}{_SUFFIX}", shard.read_bytes())
        shards.discard_others(campaign.store / item.group, [shard])
    done = f"{len(todo)} paper{'s' * (len(todo) > 1)} rehearsed"
    print(f"computed   {done if todo else 'nothing: everything was up to date'}")
    print(f"source     {plan.config.source} (smoke: short runs)")
    print(f"time       {time.time() - began_s:.1f} s")


def campaign_of(plan: Plan) -> Campaign:
    """The papers that have experiments, as items."""
    smoke_s, folder = plan.config.smoke_duration_s, plan.layout.results / "rehearsals"
    made_by = [code.of_algorithms(cc.names()), reach.of_modules("workflow/smoke.py")]
    items = []
    for name, paper in plan.papers.items():
        n = sum(len(grid_points(experiment)) for experiment in paper.experiments.values())
        made_from = [smoke_s, file_hash(plan.layout.paper_config(name)), made_by]
        items += [Item(f"{name}/{outputs.part(made_from)}", n * _RUN_S, n)] if n else []
    return Campaign(STEP, folder, folder, items, {"smoke_s": smoke_s}, _SUFFIX)


def maker(layout: Layout, given: Mapping[str, Any]) -> Callable[[str], Made]:
    """The function that makes an item of the campaign by its name (see `tcpfair.workflow.executor`)."""

    def make(name: str) -> Made:
        config = load_paper(layout.paper_config(name.partition("/")[0]))
        rows, pkts = rehearse(config, given["smoke_s"])
        content = pd.DataFrame(rows).convert_dtypes().to_csv(index=False)
        write_whole(layout.results / "rehearsals" / f"{name}{_SUFFIX}", content)
        return Made(pkts)

    return make


def rehearse(config: PaperConfig, smoke_s: float) -> tuple[list[dict[str, Any]], int]:
    """Simulate and measure every experiment of a paper for ``smoke_s`` seconds: a row for each, and the packets of all."""
    rows, metrics, pkts = [], {}, 0
    # experiments whose weights come from another one are last
    for name, experiment in sorted(config.experiments.items(), key=lambda item: item[1].weights is not None):
        every = run_specs(config, name)
        specs = [shorten(spec, smoke_s) for spec in every if spec.replicate == 0]
        made = sources.simulate(config, name, specs)
        pkts += sources.delivered_pkts(made)
        row = {"experiment": name, "runs": len(specs)}
        if experiment.measures:
            weights = metrics.get(experiment.weights.experiment) if experiment.weights else None
            metrics[name] = measures.measure(made, with_window_cut(config, name, every, specs), name, weights)
            values = metrics[name]["value"]
            row |= {"values": len(values), "too_short_to_tell": int(values.isna().sum())}
        rows.append(row)
    return rows, pkts


def with_window_cut(config: PaperConfig, name: str, every: list[RunSpec], specs: list[RunSpec]) -> PaperConfig:
    """The configuration with an experiment's window shortened like its runs."""
    chosen = config.experiments[name]
    share = max(spec.scenario.duration_s for spec in specs) / every[0].scenario.duration_s
    if share >= 1 or chosen.window_s is None:
        return config
    window_s = chosen.window_s.model_copy(update={"value": [share * edge_s for edge_s in chosen.window_s.value]})
    cut = chosen.model_copy(update={"window_s": window_s})
    return config.model_copy(update={"experiments": config.experiments | {name: cut}})
