"""Repeating stored simulations and comparing every row: a random share of the shipped runs, or one run of a figure."""

from __future__ import annotations

import hashlib
import math
import random
import secrets
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from tcpfair import sources
from tcpfair.errors import InputError
from tcpfair.files import costs
from tcpfair.files.layout import Layout
from tcpfair.library import live
from tcpfair.papers.expand import RunSpec, expected_pkts, run_specs
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.runs import store, trace
from tcpfair.runs.trace import TABLES, Trace
from tcpfair.workflow.executor import say, side_by_side, watched
from tcpfair.workflow.state import Group

SHARE = 0.02  # of the shipped runs, by default
_SEEDS = 10**6


class Held(NamedTuple):
    """One stored run, and the packets of a full link, from which its time is estimated."""

    paper: str
    experiment: str
    run_id: int
    pkts: float

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.experiment} run {self.run_id}"

    @classmethod
    def of(cls, config: PaperConfig, experiment: str, spec: RunSpec) -> Held:
        return cls(config.paper, experiment, spec.run_id, expected_pkts(spec.scenario))


def shipped(layout: Layout) -> list[Held]:
    """Every requested run that ``data/bundled`` holds from the current code, in a fixed order."""
    found = []
    for config, experiment, folder in store.shipped(layout):
        specs = run_specs(config, experiment)
        held = store.held(store.manifest_of(layout, folder), store.asked(specs))
        found += [Held.of(config, experiment, spec) for spec in specs if held.get(spec.key) == spec.run_id]
    return found


def size(runs: Sequence[Held]) -> Group:
    """The expected time of some runs on one core, and their number."""
    return Group(sum(run.pkts for run in runs) / costs.PLANNED_PKTS_PER_S, runs=len(runs))


def about(runs: Sequence[Held], cores: int) -> str:
    """The expected time of some runs."""
    return costs.duration_text(size(runs).expected_s / cores)


def drawn(runs: Sequence[Held], share: float, seed: int) -> list[Held]:
    """A random ``share`` of some runs with equal probabilities: at least one, and the same ones for the same seed."""
    n = min(math.ceil(share * len(runs)), len(runs))
    return sorted(random.Random(seed).sample(list(runs), n))


# --- Comparing ---------------------------------------------------------------------------------------------------


def made_again(config: PaperConfig, experiment: str, spec: RunSpec) -> Trace:
    """The trace of one run, simulated now."""
    return sources.merge([sources.simulate(config, experiment, [spec])])


def is_same(made: Trace, run_id: int, held: Trace) -> bool:
    """Whether the trace of one run has the same rows in every table as the stored one."""
    for name in TABLES:
        old, new = getattr(held, name), getattr(made, name)
        old = old[old["run_id"] == run_id].reset_index(drop=True)
        if name == "runs":  # its other columns are the scenario
            old, new = old[["run_id", "seed", "replicate"]], new[["run_id", "seed", "replicate"]]
        if not old.equals(new[old.columns].astype(old.dtypes)):
            return False
    return True


def hash_of(made: Trace) -> str:
    """Hash of all results of a simulation: samples, link and events, in the types of the schema."""
    sha = hashlib.sha256()
    for name in ("samples", "link", "events"):
        table = trace.in_schema(name, getattr(made, name))
        for column in table.column_names:
            sha.update(column.encode())
            sha.update("\n".join(map(repr, table[column].to_pylist())).encode())
    return sha.hexdigest()


def compared(layout: Layout, chosen: Sequence[Held], cores: int) -> Iterator[str]:
    """Names of the shipped runs that differ when they are simulated now, as they are found."""
    live.prepare(say)  # once, before the parallel processes start
    # in order of the experiments, whose trace and runs each process reads once
    found = side_by_side(gives_shipped_rows, [(layout, run) for run in sorted(chosen)], cores)
    for (_, run), is_held in watched(found, "shipped", len(chosen)):
        if not is_held:
            yield run.name


def gives_shipped_rows(layout: Layout, run: Held) -> bool:
    """Whether a run, simulated now, has the rows of the shipped trace."""
    config, specs, held = _read(layout, run.paper, run.experiment)
    return is_same(made_again(config, run.experiment, specs[run.run_id]), run.run_id, held)


@lru_cache(maxsize=1)
def _read(layout: Layout, paper: str, experiment: str) -> tuple[PaperConfig, list[RunSpec], Trace]:
    """Configuration, runs and shipped trace of an experiment, cached because the next run may need them too."""
    config = load_paper(layout.paper_config(paper))
    return config, run_specs(config, experiment), trace.read(layout.bundled(paper, experiment))


# --- A random share of the shipped runs --------------------------------------------------------------------------


def refuse(share: float, seed: int | None) -> None:
    """Raise InputError for a share outside 0 to 1 and for a negative seed."""
    if not 0 <= share <= 1:
        raise InputError(f"--share {share:g}: must be from 0 (simulate nothing) to 1 (every shipped run)")
    if seed is not None and seed < 0:
        raise InputError(f"--seed {seed}: must be 0 or more")


def check(layout: Layout, share: float = SHARE, seed: int | None = None, cores: int = 1, only_say: bool = False) -> int:
    """Simulate a random share of the shipped runs and compare them; 1 when one differs.

    ``seed`` chooses the runs; by default it is drawn and printed. With ``only_say``, only prints which runs and how long.
    """
    if share == 0:
        return 0
    seed = secrets.randbelow(_SEEDS) if seed is None else seed
    every = shipped(layout)
    if not every:
        print("no run is shipped: nothing to simulate again")
        return 0
    chosen = drawn(every, share, seed)
    pkts = sum(run.pkts for run in chosen)
    pairs = {(run.paper, run.experiment) for run in chosen}
    print(
        f"again      {len(chosen)} of {len(every)} shipped runs, of {len(pairs)} experiments, {pkts / 1e9:.2f} G packets: "
        f"at most about {about(chosen, cores)} on {cores} core{'s' if cores > 1 else ''}  (--seed {seed} chooses the same ones)",
        flush=True,
    )
    if only_say:
        return 0
    started_s = time.monotonic()
    found = list(compared(layout, chosen, cores))
    print("\n".join(f"differs    {line}" for line in found) or f"same       all {len(chosen)}, bit by bit", flush=True)
    print(f"time       {time.monotonic() - started_s:.1f} s")
    return 1 if found else 0
