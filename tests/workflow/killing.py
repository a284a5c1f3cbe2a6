"""Runs of the workflow in a folder that stands in for the checkout, as TCPFAIR_OUTPUT makes one, and ways to kill them.

What is read are links into the checkout, so that the engine is compiled once for all; what is made stands in the folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.small_checkout import put

ROOT = Path(__file__).parents[2]
_LINKED = ("Snakefile", "config", "data", "envs", "notebooks", "src", "workflow")
# what differs from run to run (times, the jobs that were left), and what only says who runs
_VOLATILE = re.compile(r"/(logs|benchmarks|\.snakemake)/|/costs\.html$|/(asked|jobs|campaign)\.json$|/\.(lock|in-use)$")
FIND_PROCESSES = Path("/proc/self/task").is_dir()


def stand_in(root: Path) -> Path:
    """A folder in which the checkout is, and of it nothing that was made."""
    return put(root, {}, linked=_LINKED)


def command(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "tcpfair", *arguments]


def environment(root: Path) -> dict[str, str]:
    return {**os.environ, "TCPFAIR_ROOT": str(root), "MPLBACKEND": "Agg"}


def start(root: Path, arguments: list[str], **variables: str) -> subprocess.Popen:
    """``./reproduce ARGUMENTS`` in a process group of its own; what it says goes to a file (`said`)."""
    with (root / "said").open("w") as said:
        return subprocess.Popen(
            command(arguments),
            cwd=root,
            env=environment(root) | variables,
            stdout=said,
            stderr=subprocess.STDOUT,
            process_group=0,
        )


def said(root: Path) -> str:
    return (root / "said").read_text()


def finish(root: Path, arguments: list[str], **variables: str) -> str:
    """Run to the end, which has to be a good one; what was said."""
    status = start(root, arguments, **variables).wait(1200)
    assert status == 0, said(root)
    assert "Traceback" not in said(root)
    return said(root)


def outputs(root: Path) -> dict[str, str]:
    """Hash of everything below results/ and figures/ but what differs from run to run; what is being written counts."""
    files = (path for name in ("figures", "results") for path in (root / name).rglob("*"))
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(files)
        if path.is_file() and not _VOLATILE.search(path.as_posix())
    }


def below(pid: int) -> list[int]:
    """A process and all that it started, as far as they live."""
    found = [pid]
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += below(int(child))
    return found


def words_of(pid: int) -> list[str]:
    """The command line of a process; nothing when it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return []


def step_of(pid: int) -> str:
    """Which step of the workflow a process takes: ``measure`` for ``python -m tcpfair measure ...``; "" for another one.

    A notebook's has its name: ``notebook ogura``.
    """
    words = words_of(pid)
    if words[1:3] != ["-m", "tcpfair"] or len(words) < 4:
        return ""
    return " ".join([words[3], *(Path(words[i + 1]).stem for i, word in enumerate(words[:-1]) if word == "--notebook")])


def steps_below(pid: int) -> dict[int, str]:
    """The steps that a run is taking, by process."""
    return {each: step for each in below(pid)[1:] if (step := step_of(each))}


WHOM = {
    "leader": lambda pids: pids[:1],
    "Snakemake": lambda pids: [pid for pid in pids if words_of(pid)[1:3] == ["-m", "snakemake"]],
    "step": lambda pids: [pid for pid in pids[1:] if step_of(pid)],
    "kernel": lambda pids: [pid for pid in pids if "ipykernel_launcher" in words_of(pid)],
    "shell": lambda pids: [pid for pid in pids if words_of(pid)[1:2] == ["-c"]],
    "any one": lambda pids: pids,
    "everything": lambda pids: pids,
}


def groups_of(process: subprocess.Popen) -> set[int]:
    """The process groups of a run: its own, that of Snakemake with the steps, and those of kernels."""
    return {os.getpgid(pid) for pid in below(process.pid) if words_of(pid)}


def wait_for_the_end(groups: set[int]) -> None:
    """Wait until all of these groups are gone; nothing that a killed run started may stay for long."""
    until_s = time.monotonic() + 600  # a job notices that its reader has gone when it has finished a slice
    for group in groups:
        with suppress(ProcessLookupError):
            while time.monotonic() < until_s:
                os.killpg(group, 0)
                time.sleep(0.1)
            raise AssertionError(f"the process group {group} does not end")


def kill(process: subprocess.Popen, whom: str, chance=None) -> bool:
    """Kill a process of a sort, which one is left to ``chance`` (without: the first), or everything; whether any was killed."""
    victims = WHOM[whom](below(process.pid))
    if whom == "everything":  # by their groups, so that none has time to start another one
        for group in groups_of(process):
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        return True
    if not victims:
        return False
    end([chance.choice(victims) if chance else victims[0]])
    return True


def end(pids: list[int]) -> None:
    """Kill processes, without asking them."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
