"""The cost of each step, time and memory: the only outputs that differ from run to run.

``results/<source>/benchmarks/<step>/<item>.tsv`` has Snakemake's measurements of a job, and the ``.json`` next to it
the job's own (`note`).
"""

from __future__ import annotations

import csv
import json
import math
import resource
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout

PLANNED_PKTS_PER_S = 30e6  # of one core, before any measurement on this machine; 25e6 to 50e6 for most experiments
_SPARE_MEMORY, _SPARE_TIME = 1.5, 4.0
_LEAST_MB, _LEAST_MIN = 500, 10
_START_S = 4.0  # CPU time of a job in addition to its simulations: Python, its libraries, the trace
_PRIOR_S = 60.0  # duration of a simulation for which its speed has the same weight as the planned one
CAMPAIGNS = ("simulate", "ensemble", "study")  # steps whose jobs are shown by group


@dataclass(frozen=True)
class Cost:
    """A step of the workflow: wall and CPU time, largest resident memory and, of simulations, the packets delivered."""

    step: str
    item: str
    wall_s: float
    cpu_s: float
    max_rss_mb: float
    pkts: int = 0
    jobs: int = 1

    @property
    def pkts_per_s(self) -> float:
        """Packets per second of CPU time, which does not depend on how many jobs shared the machine."""
        return self.pkts / self.cpu_s if self.cpu_s else 0.0


def folder(layout: Layout) -> Path:
    return layout.results / "benchmarks"


def read(layout: Layout) -> list[Cost]:
    """The cost of every step with a benchmark, the jobs of a campaign's group as one; sorted by step and item."""
    found: dict[tuple[str, str], Cost] = {}
    for path in sorted(folder(layout).rglob("*.tsv")):
        for cost in _rows(layout, path):
            known = found.get((cost.step, cost.item))
            found[cost.step, cost.item] = _together(known, cost) if known else cost
    return [found[name] for name in sorted(found)]


def cpu_s() -> float:
    """CPU time of this process from its start and of all children that have ended, such as the kernel of a notebook."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def note(job: Path, **more: float) -> None:
    """Store the CPU time of this process as that of a job, whose benchmark is ``job`` with a suffix.

    Snakemake samples this time and misses the end of a job. ``more`` has further values, such as ``simulated_pkts``.
    """
    write_whole(job.with_name(f"{job.name}.json"), json.dumps({**more, "cpu_s": round(cpu_s(), 2)}) + "\n")


def note_workflow(layout: Layout, began_s: float, wall_s: float, cpu_before_s: float) -> None:
    """Store the cost of a run of the workflow outside its steps (plan, Snakemake, shells) as the step ``workflow``.

    ``began_s`` is in seconds of the epoch.
    """
    of_steps = (path for path in folder(layout).rglob("*.json") if path.stat().st_mtime >= began_s)
    other_s = max(cpu_s() - cpu_before_s - sum(_noted(path).get("cpu_s", 0.0) for path in of_steps), 0.0)
    write_whole(folder(layout) / "workflow.tsv", f"s\tmax_rss\tcpu_time\n{wall_s:.2f}\tNA\t{other_s:.2f}\n")


def memory_mb(layout: Layout, step: str, unknown_mb: int) -> int:
    """Memory in MB to request from a cluster: 1.5 times the largest use of this step so far, or ``unknown_mb`` before that."""
    largest_mb = max((cost.max_rss_mb for cost in read(layout) if cost.step == step), default=0.0)
    return max(_LEAST_MB, math.ceil(_SPARE_MEMORY * largest_mb)) if largest_mb else unknown_mb


def expected_pkts_per_s(measured: Iterable[Cost]) -> float:
    """Expected packets per second of CPU time: the measured speed, shrunk towards the planned one if little was measured.

    The start of each job is excluded, because it dominates a short simulation.
    """
    measured = [cost for cost in measured if cost.pkts]
    cpu_s = sum(max(cost.cpu_s - _START_S * cost.jobs, 0.0) for cost in measured)
    return (sum(cost.pkts for cost in measured) + PLANNED_PKTS_PER_S * _PRIOR_S) / (cpu_s + _PRIOR_S)


def duration_text(seconds: float) -> str:
    """``40 s``, ``6 min``, ``1.5 h``."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def runtime_min(expected_s: float) -> int:
    """Minutes to request from a cluster for work of this expected duration; a busy node is slower."""
    return max(_LEAST_MIN, math.ceil(_SPARE_TIME * expected_s / 60))


def _rows(layout: Layout, path: Path) -> Iterator[Cost]:
    """The costs in the benchmark of one job; none if it is truncated."""
    step, _, item = path.relative_to(folder(layout)).with_suffix("").as_posix().partition("/")
    noted = _noted(path.with_suffix(".json"))
    item = item.partition("/")[0] if step in CAMPAIGNS else item
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            wall_s, cpu_s, rss_mb = (_number(row.get(name)) for name in ("s", "cpu_time", "max_rss"))
            yield Cost(step, item, wall_s, noted.get("cpu_s", cpu_s), rss_mb, noted.get("simulated_pkts", 0))


def _number(text: str | None) -> float:
    """A number of a benchmark; 0 for a duration too short to measure (``NA``, ``-``)."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return 0.0


def _together(one: Cost, other: Cost) -> Cost:
    """Parallel parts combined: maximum wall time, total CPU time, maximum memory."""
    return Cost(
        one.step,
        one.item,
        max(one.wall_s, other.wall_s),
        one.cpu_s + other.cpu_s,
        max(one.max_rss_mb, other.max_rss_mb),
        one.pkts + other.pkts,
        one.jobs + other.jobs,
    )


def _noted(path: Path) -> dict[str, float]:
    """The values that a job stored by `note`; empty without them."""
    try:
        noted = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
