"""Simulating again what is held, and comparing every row: a random share of the shipped runs, or a run behind a figure."""

from __future__ import annotations

import math
import random
import secrets
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from tcpfair.contract import store, trace
from tcpfair.contract.expand import expected_pkts, run_specs
from tcpfair.contract.layout import PAPERS, Layout
from tcpfair.contract.papers import PaperConfig, load_paper
from tcpfair.contract.trace import Trace
from tcpfair.errors import InputError
from tcpfair.sources import live
from tcpfair.workflow.same_bits import is_same
from tcpfair.workflow.state import PLANNED_PKTS_PER_S, duration_text

SHARE = 0.02  # of the shipped runs, when nothing else is asked for
_TASKS_PER_CORE = 4  # the longest task should end with the others
_SEEDS = 10**6


class Held(NamedTuple):
    """One run that is held: whose it is, and the packets of a full link, which say how long it takes."""

    paper: str
    experiment: str
    run_id: int
    pkts: float

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.experiment} run {self.run_id}"


def shipped(layout: Layout) -> list[Held]:
    """Every run that ``data/bundled`` holds as the configuration asks for it, in a fixed order."""
    found = []
    for paper in PAPERS:
        config = load_paper(layout.paper_config(paper))
        for experiment in config.experiments:
            if layout.bundled(paper, experiment).is_dir():
                found += held_of(config, experiment, layout.bundled(paper, experiment), layout)
    return found


def held_of(config: PaperConfig, experiment: str, folder: Path, layout: Layout) -> list[Held]:
    """The runs of an experiment that the trace in ``folder`` holds, made by today's code."""
    specs = run_specs(config, experiment)
    there = store.held(store.manifest_of(layout, folder), store.asked(specs))
    return [
        Held(config.paper, experiment, spec.run_id, expected_pkts(spec.scenario))
        for spec in specs
        if there.get(spec.key) == spec.run_id
    ]


def drawn(runs: Sequence[Held], share: float, seed: int) -> list[Held]:
    """A random ``share`` of some runs, each as likely as any other: at least one, and the same ones for the same seed."""
    n = min(math.ceil(share * len(runs)), len(runs))
    return sorted(random.Random(seed).sample(list(runs), n))


def differing(layout: Layout, folder: Path, paper: str, experiment: str, run_ids: Sequence[int]) -> list[int]:
    """Simulate runs of an experiment; those for which a row of the trace in ``folder`` differs."""
    config, held = load_paper(layout.paper_config(paper)), _read(folder)
    wanted = set(run_ids)
    specs = [spec for spec in run_specs(config, experiment) if spec.run_id in wanted]
    return [spec.run_id for spec in specs if not is_same(config, experiment, spec, held)]


@lru_cache(maxsize=1)
def _read(folder: Path) -> Trace:
    """The trace of the task at hand, which the next task may share."""
    return trace.read(folder)


def check(layout: Layout, share: float = SHARE, seed: int | None = None, cores: int = 1, only_say: bool = False) -> int:
    """Simulate a random share of the shipped runs and compare them; 1 when one differs.

    ``seed`` chooses the runs; without one it is drawn, and said. ``only_say`` says which and how long, and ends.
    Raises InputError for a share that is none.
    """
    if not 0 <= share <= 1:
        raise InputError(f"--share {share:g}: must be from 0 (simulate nothing) to 1 (every shipped run)")
    if seed is not None and seed < 0:
        raise InputError(f"--seed {seed}: must be 0 or more")
    if share == 0:
        return 0
    seed = secrets.randbelow(_SEEDS) if seed is None else seed
    every = shipped(layout)
    if not every:
        print("no run is shipped: nothing to simulate again")
        return 0
    chosen = drawn(every, share, seed)
    pkts = sum(run.pkts for run in chosen)
    about = duration_text(pkts / PLANNED_PKTS_PER_S / cores)
    pairs = {(run.paper, run.experiment) for run in chosen}
    print(
        f"again      {len(chosen)} of {len(every)} shipped runs, of {len(pairs)} experiments, {pkts / 1e9:.2f} G packets: "
        f"at most about {about} on {cores} core{'s' if cores > 1 else ''}  (--seed {seed} chooses the same ones)",
        flush=True,
    )
    if only_say:
        return 0
    live.prepare(say=lambda line: print(line, flush=True))  # once, before processes run side by side
    started_s = time.monotonic()
    found = list(_compared(layout, chosen, cores))
    print("\n".join(f"differs    {line}" for line in found) or f"same       all {len(chosen)}, bit by bit", flush=True)
    print(f"time       {time.monotonic() - started_s:.1f} s")
    return 1 if found else 0


def _compared(layout: Layout, chosen: Sequence[Held], cores: int) -> Iterator[str]:
    """Names of the runs that differ, as they are found."""
    tasks = list(_tasks(chosen, sum(run.pkts for run in chosen) / (_TASKS_PER_CORE * cores)))
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        waiting = {}
        for task in tasks:
            paper, experiment = task[0].paper, task[0].experiment
            ids = [run.run_id for run in task]
            folder = layout.bundled(paper, experiment)
            waiting[pool.submit(differing, layout, folder, paper, experiment, ids)] = (paper, experiment)
        for done in as_completed(waiting):
            paper, experiment = waiting[done]
            yield from (f"{paper}/{experiment} run {run_id}" for run_id in done.result())


def _tasks(chosen: Sequence[Held], most_pkts: float) -> list[list[Held]]:
    """Runs by experiment, in pieces of about ``most_pkts`` packets, the longest first."""
    tasks: list[list[Held]] = []
    for run in sorted(chosen):
        last = tasks[-1] if tasks else []
        if last and last[0][:2] == run[:2] and sum(each.pkts for each in last) + run.pkts <= most_pkts:
            last.append(run)
        else:
            tasks.append([run])
    return sorted(tasks, key=lambda task: -sum(run.pkts for run in task))
