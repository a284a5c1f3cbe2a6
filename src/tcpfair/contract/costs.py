"""What each step cost, from the benchmarks that Snakemake takes of it: time and memory, the outputs that differ from run to
run. They stand in ``results/<source>/benchmarks/<step>/<item>.tsv``, and beside them how much a simulation simulated: the job
that goes on where another one was killed counts its own runs alone."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tcpfair.contract.layout import Layout

_SPARE_MEMORY, _SPARE_TIME = 1.5, 4.0
_LEAST_MB, _LEAST_MIN = 500, 10
_PART = re.compile(r"\.\d+-of-\d+$")


@dataclass(frozen=True)
class Cost:
    """A step of the workflow: wall and CPU time, largest resident memory and, of simulations, the packets delivered."""

    step: str
    item: str
    wall_s: float
    cpu_s: float
    max_rss_mb: float
    pkts: int = 0

    @property
    def pkts_per_s(self) -> float:
        """Packets per second of CPU time, which does not depend on how many jobs shared the machine."""
        return self.pkts / self.cpu_s if self.cpu_s else 0.0


def folder(layout: Layout) -> Path:
    return layout.results / "benchmarks"


def read(layout: Layout) -> list[Cost]:
    """The cost of every step that left a benchmark, the parts of one simulation as one; sorted by step and item."""
    found: dict[tuple[str, str], Cost] = {}
    for path in sorted(folder(layout).rglob("*.tsv")):
        for cost in _rows(layout, path):
            known = found.get((cost.step, cost.item))
            found[cost.step, cost.item] = _together(known, cost) if known else cost
    costs = [replace(cost, pkts=_pkts(layout, cost)) for cost in found.values()]
    return sorted(costs, key=lambda cost: (cost.step, cost.item))


def counted(layout: Layout, step: str, item: str) -> Path:
    """Where a step says how much it simulated: JSON with ``simulated_runs`` and ``simulated_pkts``."""
    return folder(layout) / step / f"{item}.json"


def forget(layout: Layout, step: str, item: str) -> None:
    """Remove what is known of the cost of a step that is taken again, perhaps in other parts."""
    for path in (folder(layout) / step).glob(f"{item}.*"):
        path.unlink()


def memory_mb(layout: Layout, step: str, unknown_mb: int) -> int:
    """Memory in MB to ask a cluster for: half as much again as such a step took here, or ``unknown_mb`` before any did."""
    largest_mb = max((cost.max_rss_mb for cost in read(layout) if cost.step == step), default=0.0)
    return max(_LEAST_MB, math.ceil(_SPARE_MEMORY * largest_mb)) if largest_mb else unknown_mb


def runtime_min(expected_s: float) -> int:
    """Minutes to ask a cluster for, for what is expected to take so long; a busy node is slower."""
    return max(_LEAST_MIN, math.ceil(_SPARE_TIME * expected_s / 60))


def _rows(layout: Layout, path: Path) -> Iterator[Cost]:
    """The benchmark of one job; nothing where it is cut short."""
    step, _, item = path.relative_to(folder(layout)).with_suffix("").as_posix().partition("/")
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            wall_s, cpu_s, rss_mb = (_number(row.get(name)) for name in ("s", "cpu_time", "max_rss"))
            yield Cost(step, _PART.sub("", item), wall_s, cpu_s, rss_mb)


def _number(text: str | None) -> float:
    """A number of a benchmark; 0 for what was too short to be measured (``NA``, ``-``)."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return 0.0


def _together(one: Cost, other: Cost) -> Cost:
    """Parts that ran side by side: the longer wall time, CPU time added up, the larger memory."""
    wall_s, rss_mb = max(one.wall_s, other.wall_s), max(one.max_rss_mb, other.max_rss_mb)
    return Cost(one.step, one.item, wall_s, one.cpu_s + other.cpu_s, rss_mb)


def _pkts(layout: Layout, cost: Cost) -> int:
    """Packets that the simulations behind a trace or an ensemble delivered, as they or the marks of their jobs say."""
    if cost.step == "ensemble":
        return sum(_said_by(path) for path in layout.ensemble_members(cost.item).glob("*.done"))
    if cost.step == "study":
        return sum(_said_by(path) for path in layout.study(cost.item).glob("parts/*.done"))
    if cost.step != "simulate":
        return 0
    return _said_by(counted(layout, cost.step, cost.item))


def _said_by(mark: Path) -> int:
    try:
        return int(json.loads(mark.read_text())["simulated_pkts"])
    except (OSError, ValueError, KeyError):
        return 0
