"""``./reproduce ensemble``: simulates every paper under many settings of its unstated parameters, and writes the shipped tables.

An item of the campaign (`tcpfair.workflow.executor`) is a group of experiments under one setting, as published and under all
hypotheses (`tcpfair.runs.ensemble`): a hypothesis changes some of their runs, and the others are simulated once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from tcpfair import measures
from tcpfair.engine.result import Result
from tcpfair.errors import InputError, check_known
from tcpfair.files import checksums, costs
from tcpfair.files.layout import Layout
from tcpfair.library.live import run as simulate
from tcpfair.measures import replicates
from tcpfair.runs import ensemble_table, shards
from tcpfair.runs.ensemble import Ensemble, Member, load, named
from tcpfair.sources import tables
from tcpfair.workflow import executor
from tcpfair.workflow.executor import Campaign, How, Item, Made

STEP = "ensemble"  # its name among the benchmarks


class Shard(NamedTuple):
    """A shard of an ensemble: its name, its member, and its experiments."""

    name: str
    member: Member
    unit: list[str]


# --- One member --------------------------------------------------------------------------------------------------


def made(member: Member, unit: Sequence[str], results: dict[str, Result]) -> tuple[pd.DataFrame, str, int]:
    """Simulate and measure the experiments of a group: metrics, why the values are invalid (usually empty), and packets.

    ``results`` has the runs of other members by key; those of this one are added. An invalid value refuses the whole member.
    """
    try:
        specs = {name: member.specs(name) for name in member.ensemble.experiments}
    except InputError as error:
        return pd.DataFrame(columns=[*ensemble_table.CELL, "value", "n"]), str(error), 0
    measured: dict[str, pd.DataFrame] = {}
    means, pkts = [], 0
    for name in unit:
        experiment = member.config.experiments[name]
        for spec in specs[name]:
            if spec.key not in results:
                results[spec.key] = simulate(spec.scenario, spec.seed)
                pkts += results[spec.key].received_total_pkts
        own = (results[spec.key] for spec in specs[name])
        provenance = {"backend": "engine", "grid": list(experiment.grid)}
        trace = tables.gather(member.config.paper, name, specs[name], own, provenance)
        of_self = measured[experiment.weights.experiment] if experiment.weights else None
        measured[name] = measures.measure(trace, member.config, name, of_self)
        means.append(replicates.means(measured[name], member.config, name))
    return pd.concat(means, ignore_index=True), "", pkts


def maker(layout: Layout, n_settings: int | None) -> Callable[[str], Made]:
    """The function that makes an item of the campaign by its name (see `tcpfair.workflow.executor`)."""
    known: dict[str, dict[str, list[Shard]]] = {}

    def make(name: str) -> Made:
        of = name.partition("/")[0]
        if of not in known:
            (ensemble,) = _ensembles(layout, [of])
            known[of] = {item[-1].name: item for item in _missing(layout, ensemble, n_settings)}
        if name not in known[of]:
            raise InputError(executor.EDITED)
        results: dict[str, Result] = {}
        pkts = 0
        for shard in known[of][name]:
            metrics, refused, own_pkts = made(shard.member, shard.unit, results)
            ensemble_table.keep(ensemble_table.shard_file(layout, shard.name), metrics, refused)
            pkts += own_pkts
        return Made(pkts)

    return make


# --- All of them -------------------------------------------------------------------------------------------------


def _missing(layout: Layout, ensemble: Ensemble, n_settings: int | None) -> list[list[Shard]]:
    """The missing shards of an ensemble, grouped into items: one setting, one group of experiments each."""
    found: dict[tuple[int, int], list[Shard]] = {}
    for member in ensemble.members(n_settings):
        for place, (name, unit) in enumerate(zip(ensemble_table.shard_names(member), ensemble.units, strict=True)):
            if not ensemble_table.shard_file(layout, name).is_file():
                found.setdefault((member.setting, place), []).append(Shard(name, member, unit))
    return list(found.values())


class Work(NamedTuple):
    """The work for one ensemble: all members, and the missing items."""

    ensemble: Ensemble
    members: list[Member]
    n_todo: int
    items: list[Item]

    @property
    def line(self) -> str:
        """The work as a line for the terminal."""
        one, n = self.ensemble, len(self.members)
        n_runs, pkts = map(sum, zip(*one.sizes.values(), strict=True))
        what = f"{len(one.assumptions)} assumptions, {n} settings of {n_runs} runs and {pkts / 1e6:.0f} M packets"
        takes = costs.duration_text(sum(item.expected_s for item in self.items))
        todo = f"{self.n_todo} to simulate, {takes} of one core" if self.items else "complete"
        return f"ensemble   {one.name:<11} {what}; {todo}"


def plan(layout: Layout, wanted: Sequence[str] = (), n_settings: int | None = None) -> list[Work]:
    """The work for some papers. Raises InputError for unknown names."""
    own = [cost for cost in costs.read(layout) if cost.step == STEP]
    rates = {cost.item: costs.expected_pkts_per_s([cost]) for cost in own}
    found = []
    for ensemble in _ensembles(layout, wanted):
        members = ensemble.members(n_settings)
        shipped = {member.name for member in ensemble_table.restorable(layout, ensemble)}
        rate = rates.get(ensemble.name, costs.PLANNED_PKTS_PER_S)
        items, todo, sizes = [], set(), {}
        for missing in _missing(layout, ensemble, n_settings):
            own = [shard for shard in missing if shard.member.name not in shipped]
            if not own:
                continue
            what = (tuple(shard.member.hypothesis for shard in own), tuple(own[0].unit))
            if what not in sizes:  # the size under the base setting represents all settings
                sizes[what] = ensemble.size_of(*what)
            items.append(Item(own[-1].name, sizes[what].pkts / rate, sizes[what].runs))
            todo |= {shard.member.name for shard in own}
        found.append(Work(ensemble, members, len(todo), items))
    return found


def _ensembles(layout: Layout, wanted: Sequence[str]) -> list[Ensemble]:
    """The requested ensembles, or all of the configuration; InputError for an unknown one."""
    known = load(layout.ensemble_config).names
    check_known("ensemble: paper", wanted, known)
    return [named(layout, name) for name in dict.fromkeys(wanted or known)]


def run(layout: Layout, how: How, wanted: Sequence[str] = (), n_settings: int | None = None) -> None:
    """Bring the ensembles of some papers up to date, and ship those that have all settings of the configuration.

    Raises InputError when the estimate is long without ``how.yes``, and when jobs failed; finished items are kept.
    """
    for ensemble in _ensembles(layout, wanted):
        if n_restored := ensemble_table.restore(layout, ensemble):
            executor.say(f"taken      {ensemble.name}: {n_restored} settings from data/ensemble")
    works = plan(layout, wanted, n_settings)
    for work in works:
        executor.say(work.line)
    items = [item for work in works for item in work.items]
    store = layout.ensemble_shards
    try:
        executor.run(layout, Campaign(STEP, store, store, items, n_settings), how)
    finally:  # write complete papers after an interrupted or failed run too
        for work in works:
            if all(ensemble_table.is_kept(layout, member) for member in work.members):
                for line in _finish(layout, work, n_settings):
                    executor.say(line)


def _finish(layout: Layout, work: Work, n_settings: int | None) -> list[str]:
    """Write the tables of all members: into ``data`` if they are all of the configuration, else next to the shards.

    Returns lines for the terminal.
    """
    name = work.ensemble.name
    whole = n_settings is None or n_settings >= work.ensemble.plan.settings
    folder = layout.ensembles if whole else layout.ensemble_shards
    written = ensemble_table.paths(folder, name)
    lines = []
    if not whole or ensemble_table.stale(folder, work.ensemble):
        found = ensemble_table.gather(layout, work.ensemble, work.members)
        ensemble_table.write(folder, work.ensemble, work.members, found)
        if whole:
            checksums.update(layout.data, written)
        refused = found.settings[found.settings["refused"] != ""]
        lines += [f"refused    {name} {row.hypothesis} {row.setting}: {row.refused}" for row in refused.itertuples()]
        lines += [f"refused    {name}: {len(refused)} of {len(found.settings)} settings"] if len(refused) else []
    fresh = {path for member in work.ensemble.members() for path in ensemble_table.member_files(layout, member)}
    shards.discard_others(layout.ensemble_shards / name, fresh)
    size_mb = sum(path.stat().st_size for path in written) / 1e6
    return [*lines, f"written    {written[0].relative_to(layout.root)}  {len(work.members)} settings, {size_mb:.2f} MB"]
