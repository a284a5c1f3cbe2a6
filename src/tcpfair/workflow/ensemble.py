"""What ``./reproduce ensemble`` does: every paper under many settings of what it leaves out, and the tables that are shipped.

Members (`tcpfair.contract.ensemble`) are simulated by jobs of ``workflow/ensemble.smk``, each a part of a paper's members, and
kept one by one: an interrupted run goes on where it was, and a member whose stamp is not today's is made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tcpfair import measures, sources
from tcpfair.contract import checksums, costs, ensemble_table
from tcpfair.contract.ensemble import Ensemble, EnsembleConfig, Member, ensemble_of, load
from tcpfair.contract.expand import RunSpec
from tcpfair.contract.files import discard_scratch, write_whole
from tcpfair.contract.layout import Layout
from tcpfair.contract.papers import load_paper
from tcpfair.errors import InputError, unknown
from tcpfair.measures import replicates
from tcpfair.workflow.state import PLANNED_PKTS_PER_S, State, duration_text

LONG_S = 600  # an estimate above this wants --yes
_JOB_S = 240  # what a job takes, about: long against starting Python, short against the whole
STEP = "ensemble"  # its name among the benchmarks

# runs workflow/ensemble.smk with a configuration, returns its exit status
Workflow = Callable[[dict[str, Any], State], int]
Say = Callable[[str], None]
Progress = Callable[[int, int], None]


# --- One member --------------------------------------------------------------------------------------------------


def simulate(member: Member, specs: Mapping[str, Sequence[RunSpec]]) -> tuple[pd.DataFrame, int]:
    """Simulate and measure the runs of a member by experiment; its metrics and the packets that were delivered."""
    measured: dict[str, pd.DataFrame] = {}
    parts, pkts = [], 0
    for name, own in specs.items():
        experiment = member.config.experiments[name]
        trace = sources.simulate(member.config, name, "engine", own)
        pkts += sources.delivered_pkts(trace)
        of_self = measured[experiment.weights.experiment] if experiment.weights else None
        measured[name] = measures.measure(trace, member.config, name, of_self)
        parts.append(replicates.means(measured[name], member.config, name))
    return pd.concat(parts, ignore_index=True), pkts


def made(member: Member) -> tuple[pd.DataFrame, str, int]:
    """What a member gives: its metrics, why no run can have its values (empty for most), the packets delivered."""
    try:
        specs = {name: member.specs(name) for name in member.ensemble.experiments}
    except InputError as error:
        return pd.DataFrame(columns=[*ensemble_table.CELL, "value", "n"]), str(error), 0
    metrics, pkts = simulate(member, specs)
    return metrics, "", pkts


def make(layout: Layout, member: Member) -> int:
    """Keep what a member gives; returns the packets delivered."""
    metrics, refused, pkts = made(member)
    ensemble_table.keep(layout, member, metrics, refused)
    return pkts


def make_part(layout: Layout, paper: str, part: tuple[int, int], n_settings: int | None, progress: Progress) -> int:
    """Make those of one job's members that are not kept; returns how many. ``progress`` is told how many of how many."""
    ensemble = ensemble_of(load(layout.ensemble_config), load_paper(layout.paper_config(paper)))
    place, parts = part
    todo = [m for m in ensemble.members(n_settings)[place::parts] if not ensemble_table.is_kept(layout, m)]
    pkts = 0
    for done, member in enumerate(todo):
        progress(done, len(todo))
        pkts += make(layout, member)
    progress(len(todo), len(todo))
    said = {"members": len(todo), "simulated_pkts": pkts}
    write_whole(_mark(layout, paper, f"{place + 1}-of-{parts}"), json.dumps(said) + "\n")
    return len(todo)


# --- All of them -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """What there is to do for one paper."""

    ensemble: Ensemble
    members: list[Member]
    todo: list[Member]
    pkts_per_s: float

    @property
    def paper(self) -> str:
        return self.ensemble.paper.paper

    @property
    def pkts(self) -> float:
        """Packets that full links would carry in what is to be done."""
        return len(self.todo) * self.ensemble.pkts

    @property
    def expected_s(self) -> float:
        """On one core."""
        return self.pkts / self.pkts_per_s

    @property
    def jobs(self) -> list[str]:
        """The jobs that make it, each about as long as another."""
        if not self.todo:
            return []
        n = min(max(round(self.expected_s / _JOB_S), 2), len(self.members))
        return [f"{i + 1}-of-{n}" for i in range(n)]

    @property
    def line(self) -> str:
        """What is to be done, for the terminal."""
        one, n = self.ensemble, len(self.members)
        what = (
            f"{len(one.assumptions)} assumptions, {n} settings of {one.n_runs} runs and {one.pkts / 1e6:.0f} M packets"
        )
        todo = (
            f"{len(self.todo)} to simulate, {duration_text(self.expected_s)} of one core" if self.todo else "all there"
        )
        return f"ensemble   {self.paper:<11} {what}; {todo}"


def chosen_papers(config: EnsembleConfig, wanted: Sequence[str]) -> list[str]:
    """The papers that are asked for, all of the configuration when none is; InputError for one that is not there."""
    for name in wanted:
        if name not in config.papers:
            raise unknown("ensemble: paper", name, config.papers)
    return list(dict.fromkeys(wanted)) or list(config.papers)


def plan(layout: Layout, wanted: Sequence[str] = (), n_settings: int | None = None) -> list[Work]:
    """What there is to do for some papers. Raises InputError for names that the configuration does not have."""
    own = [cost for cost in costs.read(layout) if cost.step == STEP]
    rates = {cost.item: costs.expected_pkts_per_s([cost], PLANNED_PKTS_PER_S) for cost in own}
    found = []
    for ensemble in _ensembles(layout, wanted):
        members = ensemble.members(n_settings)
        there = {member.name for member in ensemble_table.restorable(layout, ensemble)}
        todo = [member for member in members if member.name not in there and not ensemble_table.is_kept(layout, member)]
        found.append(Work(ensemble, members, todo, rates.get(ensemble.paper.paper, PLANNED_PKTS_PER_S)))
    return found


def _ensembles(layout: Layout, wanted: Sequence[str]) -> list[Ensemble]:
    config = load(layout.ensemble_config)
    return [ensemble_of(config, load_paper(layout.paper_config(paper))) for paper in chosen_papers(config, wanted)]


def run(
    layout: Layout,
    workflow: Workflow,
    wanted: Sequence[str] = (),
    n_settings: int | None = None,
    cores: int = 1,
    yes: bool = False,
    say: Say = print,
) -> None:
    """Bring the ensembles of some papers up to date, and ship those that have all settings of the configuration.

    Raises InputError when it takes long and nobody said yes, and when jobs failed; what succeeded is kept.
    """
    for ensemble in _ensembles(layout, wanted):
        if n_restored := ensemble_table.restore(layout, ensemble):
            say(f"taken      {ensemble.paper.paper}: {n_restored} settings from data/ensemble")
    works = plan(layout, wanted, n_settings)
    for work in works:
        say(work.line)
    expected_s = sum(work.expected_s for work in works) / cores
    if any(work.todo for work in works):
        say(f"ensemble   about {duration_text(expected_s)} on {cores} cores")
    if expected_s > LONG_S and not yes:
        raise InputError(f"this takes about {duration_text(expected_s)} on {cores} cores; add --yes to start it")
    todo = [work for work in works if work.todo]
    if todo:
        _simulate_all(layout, workflow, todo, n_settings, cores)
    failed = []
    for work in works:
        left = [member for member in work.members if not ensemble_table.is_kept(layout, member)]
        if left:
            failed.append(f"{work.paper}: {len(left)} of {len(work.members)} settings")
        else:
            for line in _finish(layout, work, n_settings):
                say(line)
    if failed:
        logs = (layout.results / "logs" / STEP).relative_to(layout.root)
        raise InputError(f"not simulated: {'; '.join(failed)}; see {logs}, and run it again to go on")


def _simulate_all(layout: Layout, workflow: Workflow, works: list[Work], n_settings: int | None, cores: int) -> None:
    state, sizes = State(of="settings"), {}
    for work in works:
        costs.forget(layout, STEP, work.paper)
        discard_scratch(layout.ensemble_members(work.paper))
        for mark in layout.ensemble_members(work.paper).glob("*.done"):
            mark.unlink()
        # the longest first, papers in the order in which they are named
        sizes |= {f"{work.paper}/{job}": work.expected_s / len(work.jobs) for job in work.jobs}
        state.pkts[work.paper] = work.expected_s  # in seconds of one core, as papers differ in speed
        state.n_parts[work.paper] = len(work.jobs)
    state.pkts_per_s, state.cores = 1.0, cores
    workflow({"jobs": sizes, "settings": n_settings}, state)


def _mark(layout: Layout, paper: str, job: str) -> Path:
    """The file that a job leaves when all of its members are kept."""
    return layout.ensemble_members(paper) / f"{job}.done"


def _finish(layout: Layout, work: Work, n_settings: int | None) -> list[str]:
    """Gather what all members gave, as lines for the terminal: into ``data`` when these are all that the configuration asks
    for, else beside the members."""
    whole = n_settings is None or n_settings >= work.ensemble.plan.settings
    folder = layout.ensembles if whole else layout.ensemble_members(work.paper).parent
    written = ensemble_table.paths(folder, work.paper)
    lines = []
    if not whole or ensemble_table.stale(folder, work.ensemble):
        found = ensemble_table.gather(layout, work.ensemble, work.members)
        ensemble_table.write(folder, work.ensemble, work.members, found)
        if whole:
            checksums.update(layout.data, written)
        refused = found.settings[found.settings["refused"] != ""]
        lines += [
            f"refused    {work.paper} {row.hypothesis} {row.setting}: {row.refused}" for row in refused.itertuples()
        ]
        lines += [f"refused    {work.paper}: {len(refused)} of {len(found.settings)} settings"] if len(refused) else []
    size_mb = sum(path.stat().st_size for path in written) / 1e6
    return [*lines, f"written    {written[0].relative_to(layout.root)}  {len(work.members)} settings, {size_mb:.2f} MB"]
