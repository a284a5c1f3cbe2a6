"""The executor: a list of items in, shards out. All simulations are campaigns of items: those of the papers, smoke runs,
ensembles, studies and the validation.

An item is the unit of work, if possible half a minute of a core. A finished item is a shard (`tcpfair.runs.shards`). A
campaign prints its expected time, requires ``--yes`` above ten minutes, divides the missing items into jobs, and has Snakemake
run them, here or on a cluster (``workflow/campaign.smk``). Each job makes its items in order; the shard of its last item is the
job's output. After a kill or a failure, the next start divides what is still missing.

The module of this package with the name of the campaign's ``kind`` makes the items: its function ``maker(layout, asked)``
returns a function that makes the item of a given name, writes its shard, and returns the counts of `Made`.
"""

from __future__ import annotations

import importlib
import json
import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import chain, groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from tcpfair.errors import InputError
from tcpfair.files import costs
from tcpfair.files.files import discard_scratch, write_whole
from tcpfair.files.layout import Layout
from tcpfair.runs import shards
from tcpfair.workflow.state import PROGRESS, Group, State, teller

EDITED = "the configuration or the code was edited during the run; start it again"
LONG_S = 600  # an estimate above this requires --yes
_LEAST_S, _FEW = 10, 8  # a short campaign has up to 8 jobs of at least 10 s, so that every core has work
_MB_WITHOUT_COSTS = 1000
_SNAKEFILE = "workflow/campaign.smk"
_SHOWN = 5  # names of failed items on the terminal


class How(NamedTuple):
    """How simulations run: processes at a time, a folder of workflow/profiles, and whether a long run needs no confirmation."""

    cores: int = 1
    profile: str = "default"
    yes: bool = False


def say(line: str) -> None:
    """Print a line at once, so that a log shows it during the run."""
    print(line, flush=True)


class Item(NamedTuple):
    """A unit of work: the name of its shard below the store, expected seconds of one core, number of runs.

    The part of its name before the first slash is its group: progress and costs are shown by group.
    """

    name: str
    expected_s: float
    n_runs: int

    @property
    def group(self) -> str:
        return self.name.partition("/")[0]


class FailedItemsError(InputError):
    """Items that could not be made; the others are finished."""


class Made(NamedTuple):
    """The cost of an item: packets delivered, and seconds of the simulator if these were measured."""

    pkts: int = 0
    engine_s: float = 0.0


@dataclass(frozen=True)
class Campaign:
    """Items of one kind. The caller locks ``folder``; ``asked`` is plain data that the jobs need besides the names."""

    kind: str
    folder: Path
    store: Path
    items: Sequence[Item]
    asked: Any = None
    suffix: str = shards.SUFFIX  # the name of an item with this suffix is the file that exists when it is finished
    job_s: float = 240.0  # approximate length of a job: long compared with the start of Python, short for a cluster
    most_jobs: int = 1000  # that the scheduler of a cluster accepts

    def shard(self, item: Item) -> Path:
        """The file that exists when an item is finished."""
        return self.store / f"{item.name}{self.suffix}"

    @property
    def todo(self) -> list[Item]:
        """The items that are missing."""
        return [item for item in self.items if not self.shard(item).is_file()]

    def about(self, what: str, group: str = "") -> Path:
        """Folder of the ``logs`` or ``benchmarks`` of its jobs."""
        return self.store.parent / what / self.kind / group


def pieces(expected_s: float, piece_s: float, most: int) -> int:
    """Number of pieces of about ``piece_s`` seconds that work is divided into."""
    return min(max(round(expected_s / piece_s), min(math.ceil(expected_s / _LEAST_S), _FEW), 1), most)


def cut(campaign: Campaign) -> list[list[Item]]:
    """The missing items as jobs of about the same length, each of one group, in order of the groups; the longest items first."""
    groups: dict[str, list[Item]] = {}
    for item in sorted(campaign.todo, key=lambda item: -item.expected_s):
        groups.setdefault(item.group, []).append(item)
    jobs = []
    for own in groups.values():
        n = pieces(sum(item.expected_s for item in own), campaign.job_s, min(campaign.most_jobs, len(own)))
        jobs += [own[place::n] for place in range(n)]
    return jobs


def run(layout: Layout, campaign: Campaign, how: How, before: Callable[[], None] = lambda: None) -> None:
    """Make the missing items of a campaign, after a call of ``before``. Finished items are kept in any case.

    Raises InputError when the estimate is long without ``how.yes``, and FailedItemsError with the reasons of failed items.
    """
    from tcpfair.workflow import run as runs

    todo = campaign.todo
    if not todo:
        return
    jobs = cut(campaign)
    places = min(runs.job_places(layout.root, how.profile, how.cores), len(jobs))
    expected_s = sum(item.expected_s for item in todo) / places
    on_cores = f"about {costs.duration_text(expected_s)} on {places} core{'s' * (places > 1)}"
    say(f"{campaign.kind:<10} {on_cores}, in {len(jobs)} job{'s' * (len(jobs) > 1)}")
    if expected_s > LONG_S and not how.yes:
        raise InputError(f"this takes {on_cores}; add --yes to start it")
    for group in {item.group for item in todo}:
        discard_scratch(campaign.store / group, deep=True)
        for what in ("logs", "benchmarks"):
            shutil.rmtree(campaign.about(what, group), ignore_errors=True)
    before()
    _start(layout, campaign, jobs, places, how)
    if failed := [item for item in todo if not campaign.shard(item).is_file()]:
        raise FailedItemsError(_failure(layout, campaign, jobs, failed, sum(item.n_runs for item in todo)))


def _start(layout: Layout, campaign: Campaign, jobs: list[list[Item]], places: int, how: How) -> None:
    """Write the jobs to a file, which they and Snakemake's rules read, and run them."""
    from tcpfair.workflow import run as runs

    listed, groups = {}, {}
    for group, of_group in groupby(jobs, key=lambda own: own[0].group):
        parts = list(of_group)
        for number, own in enumerate(parts, start=1):
            expected_s = sum(item.expected_s for item in own)
            listed[own[-1].name] = {
                "group": group,
                "part": f"{number}-of-{len(parts)}",
                "items": [[item.name, item.n_runs] for item in own],
                "priority": round(expected_s),
                "runtime_min": costs.runtime_min(expected_s),
            }
        items = list(chain.from_iterable(parts))
        groups[group] = Group(sum(item.expected_s for item in items), len(parts), sum(item.n_runs for item in items))
    file = campaign.folder / "campaign.json"
    given = {
        "kind": campaign.kind,
        "asked": campaign.asked,
        "campaign": file.relative_to(layout.root).as_posix(),
        "store": campaign.store.relative_to(layout.root).as_posix(),
        "suffix": campaign.suffix,
        "memory_mb": costs.memory_mb(layout, campaign.kind, _MB_WITHOUT_COSTS),
        **{what: campaign.about(what).relative_to(layout.root).as_posix() for what in ("logs", "benchmarks")},
        "jobs": listed,
    }
    write_whole(file, json.dumps(given) + "\n")
    arguments = ["--snakefile", _SNAKEFILE, "--configfile", given["campaign"]]
    runs.snakemake(layout.root, arguments, State(groups, places), how.cores, how.profile, campaign.folder)


def _failure(layout: Layout, campaign: Campaign, jobs: list[list[Item]], failed: list[Item], n_all: int) -> str:
    """One line: how much is missing, and the reasons from the logs of the jobs."""
    why: dict[str, list[str]] = {}
    for own in jobs:
        if lost := [shards.label(item.name) for item in own if item in failed]:
            log = campaign.about("logs") / f"{own[-1].name}.log"
            logged = _logged(log)
            for name in lost:
                why.setdefault(logged.get(name, f"see {log.relative_to(layout.root)}"), []).append(name)
    reasons = []
    for reason, names in why.items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        reasons.append(f"{', '.join(names[:_SHOWN])}{more}: {reason}")
    n = sum(item.n_runs for item in failed)
    return f"{n:,} of {n_all:,} runs are missing: {'; '.join(reasons)}; run it again to continue"


def _logged(log: Path) -> dict[str, str]:
    """The reasons that a job printed, by failed item."""
    lines = log.read_text().splitlines() if log.is_file() else []
    errors = (line.removeprefix("error: ").partition(": ") for line in lines if line.startswith("error: "))
    return {name: reason for name, _, reason in errors}


# --- One job ---------------------------------------------------------------------------------------------------------


def make(layout: Layout, file: Path, job: str, progress: Callable[[int, int], None] | None = None) -> tuple[str, str]:
    """Make the items of a job of a campaign's ``file``; returns its label and the number of runs, for the terminal.

    A failed item is printed as one line, and the others are made. Raises InputError when the last one failed, because its
    shard is the output of the job.
    """
    given = json.loads(file.read_text())
    of_job = given["jobs"][job]
    items, label = of_job["items"], f"{of_job['group']} {of_job['part']}"
    progress = progress or teller(of_job["group"], of_job["part"])
    make_one = importlib.import_module(f"tcpfair.workflow.{given['kind']}").maker(layout, given["asked"])
    made, n_made, done, of, error = [], 0, 0, sum(n for _, n in items), None
    for name, n in items:
        progress(done, of)
        error = None
        try:
            made.append(make_one(name))
            n_made += n
        except InputError as failed:
            error = f"{shards.label(name)}: {failed}"
            if name != job:
                print(f"error: {error}", flush=True)
        done += n
    progress(of, of)
    pkts, engine_s = (sum(getattr(each, name) for each in made) for name in ("pkts", "engine_s"))
    costs.note(layout.root / given["benchmarks"] / job, runs=n_made, simulated_pkts=pkts, engine_s=engine_s)
    if error:
        raise InputError(error)
    return label, f"{n_made} runs"


def side_by_side(function: Callable, tasks: Iterable[tuple], cores: int) -> Iterator[tuple[tuple, Any]]:
    """Tasks (arguments of ``function``) with their results, as they end; in parallel processes, or in this one for one core."""
    if cores == 1:
        for task in tasks:
            yield task, function(*task)
        return
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(function, *task): task for task in tasks}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def watched(
    found: Iterable[tuple[tuple, Any]],
    group: str,
    n_runs: int,
    runs: Callable[[tuple, Any], int] = lambda task, result: 1,
) -> Iterator[tuple[tuple, Any]]:
    """What `side_by_side` yields, with its progress on the terminal; ``runs`` counts those of a task and its result."""
    groups, done, began_s = {group: Group(runs=n_runs)}, 0, time.monotonic()
    state = State(groups)
    try:
        for task, result in found:
            done += runs(task, result)
            groups[group] = Group((time.monotonic() - began_s) * n_runs / max(done, 1), runs=n_runs)
            state.takes(f"{PROGRESS} {group} all {done} {n_runs}")
            yield task, result
    finally:
        state.close()
