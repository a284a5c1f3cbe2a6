"""Killed at random moments, again and again: what a run ends with is the same, byte for byte.

A copy of the checkout makes one exhibit of ogura (figure 6 and its six short runs), from bundled runs and from the engine. Killed
is the leader, its group, Snakemake, or one of the steps; then everything is started again, until it is done.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tcpfair.contract import journal
from tests.workflow import test_whole_way as whole_way
from tests.workflow.test_whole_way import copy, environment, outputs

KILLS = 40
SOURCES = {"bundled": [], "engine": ["source=engine"]}
LATEST_S = 30.0  # into a run: about its length on a busy machine
SEED = 1

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds processes in /proc"),
]


def below(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += below(int(child))
    return found


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def kill(process: subprocess.Popen, whom: str) -> None:
    victims = {
        "leader": [process.pid],
        "everything": below(process.pid),
        "Snakemake": [pid for pid in below(process.pid) if "\0snakemake\0" in command_of(pid)][1:2],
        "step": [pid for pid in below(process.pid)[1:] if "\0-m\0tcpfair\0" in command_of(pid)][-1:],
    }[whom]
    for victim in victims:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def start(root: Path, arguments: list[str]) -> subprocess.Popen:
    command = [sys.executable, "-m", "tcpfair", *arguments]
    said = (root / "said").open("w")
    return subprocess.Popen(command, cwd=root, env=environment(root), stdout=said, stderr=subprocess.STDOUT)


def finish(root: Path, arguments: list[str]) -> str:
    process = start(root, arguments)
    status, said = process.wait(600), (root / "said").read_text()
    assert status == 0, said
    assert "Traceback" not in said
    return said


def bytes_of(root: Path, source: str) -> dict[str, str]:
    found = outputs(root, source)
    return {name: sha for name, sha in found.items() if not name.endswith((".lock", "config.json", "planned.json"))}


@pytest.mark.parametrize("source", SOURCES)
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(tmp_path, source):
    chance = random.Random(f"{SEED} {source}")
    asked = ["build", *whole_way.ASKED, *SOURCES[source]]
    root = copy(tmp_path / "checkout")
    finish(root, asked)
    expected = bytes_of(root, source)
    assert any(name.endswith("fig06.svg") for name in expected)
    n_kills = n_ends = 0
    while n_kills < KILLS // len(SOURCES):
        process = start(root, asked)
        try:
            status = process.wait(chance.uniform(0.5, LATEST_S))
        except subprocess.TimeoutExpired:
            kill(process, chance.choice(["leader", "everything", "Snakemake", "step"]))
            status = process.wait(120)
            n_kills += 1
        if status == 0:  # done before it was killed, or in spite of it
            assert bytes_of(root, source) == expected
            n_ends += 1
            remove_some(root, source, chance)
    finish(root, asked)
    assert bytes_of(root, source) == expected


def remove_some(root: Path, source: str, chance: random.Random) -> None:
    """Remove some of what was made, so that there is something to do again."""
    places = [path for path in (root / "results" / source).rglob("*") if path.is_file() and path.name != ".lock"]
    for path in chance.sample(places, len(places) // 2):
        path.unlink()


@pytest.mark.parametrize("whom", ["leader", "everything", "Snakemake", "step"])
def test_a_study_that_is_killed_simulates_no_finished_run_again(tmp_path, whom):
    root = copy(tmp_path / "checkout")
    study = root / "config/studies/tiny.yaml"
    text = study.read_text().replace("duration_s: 20", "duration_s: 2000").replace("replicates: 2", "replicates: 60")
    study.write_text(text)
    asked = ["study", "config/studies/tiny.yaml", "--yes"]
    parts = root / "results/engine/studies/tiny/parts"

    def kept() -> int:
        return sum(max(len(journal.read(path)[1]) - 1, 0) for path in parts.glob("*.jsonl"))

    process = start(root, asked)
    while kept() < 40 and process.poll() is None:
        time.sleep(0.05)
    kill(process, whom)
    process.wait(120)
    time.sleep(12)  # what the leash gives them
    n_kept = kept()
    assert 40 <= n_kept < 480
    said = finish(root, asked)
    assert f"{480 - n_kept} runs to simulate" in said
    assert sum(int(re.search(r'"runs": (\d+)', path.read_text())[1]) for path in parts.glob("*.done")) == 480 - n_kept
