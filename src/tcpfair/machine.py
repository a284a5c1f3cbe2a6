"""Memory and processors available to this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
# limit, use, and the part of the use that the system can reclaim (a line of memory.stat), of control groups v2 and v1
_V2 = ("memory.max", "memory.current", "inactive_file")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available_bytes(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int:
    """Bytes that are free or can be reclaimed: the minimum of the machine's and those of this process's control groups
    (a container, a job of a cluster). Without /proc: all memory of the machine."""
    return max(min([_of_machine(proc), *_of_groups(proc, cgroups)]), 0)


def _of_machine(proc: Path) -> int:
    with suppress(OSError):
        for line in (proc / "meminfo").read_text().splitlines():
            name, _, amount = line.partition(":")
            if name == "MemAvailable":
                return int(amount.split()[0]) * 1024  # "12345 kB", which are KiB
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _of_groups(proc: Path, cgroups: Path) -> Iterator[int]:
    """The rest of each limit of this process: of its control group and those above it."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, names = cgroups, _V2
        elif "memory" in controllers.split(","):
            top, names = cgroups / "memory", _V1
        else:
            continue
        own = top / path.lstrip("/")
        # in a container the path may be that of the host; the container's own group is then mounted at the top
        for folder in [own, *(above for above in own.parents if above.is_relative_to(top))]:
            with suppress(OSError, ValueError, StopIteration):  # no such file, or "max"
                limit, used = (int((folder / name).read_text()) for name in names[:2])
                fields = (row.split() for row in (folder / "memory.stat").read_text().splitlines())
                yield limit - used + next(int(value) for name, value in fields if name == names[2])


def free_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
