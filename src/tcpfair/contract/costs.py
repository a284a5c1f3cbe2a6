"""What each step cost, in ``results/costs.csv``: the only output that differs from run to run."""

from __future__ import annotations

import csv
import fcntl
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

KEY = ("source", "step", "item")


@dataclass
class Cost:
    """One row: a step, its wall and CPU time, its largest resident memory and, for simulations, the packets delivered.

    ``packets_per_s`` is per second of CPU time, so that it does not depend on how many jobs shared the machine.
    """

    source: str
    step: str
    item: str
    wall_s: float = 0.0
    cpu_s: float = 0.0
    max_rss_mb: float = 0.0
    packets: int = 0
    packets_per_s: float = 0.0


COLUMNS = tuple(field.name for field in fields(Cost))


@contextmanager
def measured(path: Path, source: str, step: str, item: str) -> Iterator[Cost]:
    """Measure the enclosed work, children included, and record it in ``path`` when it succeeds."""
    cost = Cost(source, step, item)
    wall_s, cpu_s = time.perf_counter(), _cpu_s()
    yield cost
    cost.wall_s = round(time.perf_counter() - wall_s, 3)
    cost.cpu_s = round(_cpu_s() - cpu_s, 3)
    cost.max_rss_mb = round(_max_rss_mb(), 1)
    record(path, [cost])


def record(path: Path, costs: list[Cost], replaces: tuple[str, ...] = ()) -> None:
    """Put rows into the table; each takes the place of the row of the same step and item, and of items in ``replaces``.

    Safe against other processes that do the same: one lock, and the file is replaced as a whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = {tuple(row[name] for name in KEY): row for row in read(path)}
        for cost in costs:
            for item in replaces:
                rows.pop((cost.source, cost.step, item), None)
            cost.packets_per_s = round(cost.packets / cost.cpu_s, 1) if cost.cpu_s else 0.0
            rows[cost.source, cost.step, cost.item] = {name: str(value) for name, value in asdict(cost).items()}
        scratch = path.with_name(f".{path.name}.new")
        with scratch.open("w", newline="") as stream:
            table = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(row for _, row in sorted(rows.items()))
        os.replace(scratch, path)


def join(path: Path, source: str, step: str, item: str, parts: tuple[str, ...]) -> None:
    """One row for an item whose parts ran side by side: the longest wall time; CPU time and packets added up."""
    rows = [row for row in read(path) if (row["source"], row["step"]) == (source, step) and row["item"] in parts]
    if rows:
        whole = Cost(source, step, item)
        whole.wall_s = max(float(row["wall_s"]) for row in rows)
        whole.cpu_s = round(sum(float(row["cpu_s"]) for row in rows), 3)
        whole.max_rss_mb = max(float(row["max_rss_mb"]) for row in rows)
        whole.packets = sum(int(row["packets"]) for row in rows)
        record(path, [whole], replaces=parts)


def read(path: Path) -> list[dict[str, str]]:
    """The rows of the table; none while there is no table."""
    if not path.is_file():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def _usages() -> tuple[resource.struct_rusage, resource.struct_rusage]:
    return resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)


def _cpu_s() -> float:
    return sum(usage.ru_utime + usage.ru_stime for usage in _usages())


def _max_rss_mb() -> float:
    bytes_per_unit = 1 if sys.platform == "darwin" else 1024  # macOS counts in bytes, Linux in KiB
    return max(usage.ru_maxrss for usage in _usages()) * bytes_per_unit / 1e6
