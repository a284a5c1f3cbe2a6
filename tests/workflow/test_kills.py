"""Killed at random moments, again and again: what a run ends with is the same, byte for byte.

A folder that stands in for the checkout gets one exhibit of ogura (figure 6 and its six short runs), from bundled runs and from
the engine. Killed is the leader, its group, Snakemake, a step, its shell, a kernel, or any process; then everything is started
again, until it is done.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tcpfair.files.layout import Layout
from tcpfair.runs import store
from tests.small_checkout import put
from tests.workflow import killing
from tests.workflow.killing import finish, kill, outputs, stand_in, start

KILLS = 40
ASKED = ["build", "--config", "papers=ogura", "only=ogura.fig6"]
SOURCES = {"bundled": [], "engine": ["source=engine"]}
WHOM = ["leader", "everything", "Snakemake", "step"]
SEED = 1

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not killing.FIND_PROCESSES, reason="finds processes in /proc")]


@pytest.mark.parametrize("source", SOURCES)
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(tmp_path, source):
    chance = random.Random(f"{SEED} {source}")
    asked = [*ASKED, *SOURCES[source]]
    root = stand_in(tmp_path / "checkout")
    finish(root, asked)
    expected = outputs(root)
    assert any(name.endswith("fig06.svg") for name in expected)
    remove_some(root, 1.0, chance)
    began_s = time.monotonic()
    finish(root, asked)
    took_s = time.monotonic() - began_s
    assert outputs(root) == expected
    remove_some(root, 1.0, chance)
    n_kills = 0
    while n_kills < KILLS // len(SOURCES):
        process = start(root, asked)
        try:
            status = process.wait(chance.uniform(0.02, 0.9) * took_s)
        except subprocess.TimeoutExpired:
            n_kills += kill(process, chance.choice(list(killing.WHOM)), chance)
            status = process.wait(300)
            assert "Traceback" not in killing.said(root)
        if status == 0:  # done before it was killed, or in spite of it
            assert outputs(root) == expected
            remove_some(root, chance.choice([0.5, 1.0]), chance)
    finish(root, asked)
    assert outputs(root) == expected


def remove_some(root: Path, share: float, chance: random.Random) -> None:
    """Remove a share of the files that were made, whichever, so that there is something to do again."""
    places = [root / name for name in outputs(root)]
    for path in chance.sample(places, round(share * len(places))):
        path.unlink()


def check_no_run_again(root: Path, asked: list[str], whom: str, kept, least: int, n_all: int, left: str) -> None:
    """Kill a run when ``least`` of its ``n_all`` runs are ``kept()``: it goes on with the others, announced in the words
    ``left``, and ends with the bytes of a run that was not killed."""
    process = start(root, asked)
    while kept() < least and process.poll() is None:
        time.sleep(0.02)
    groups = killing.groups_of(process)
    assert kill(process, whom)
    process.wait(300)
    killing.wait_for_the_end(groups)
    n_kept = kept()
    assert least <= n_kept <= n_all
    assert n_kept < n_all or whom == "Snakemake"  # its steps outlive it, and may be all there is
    told = finish(root, asked)
    assert n_kept == n_all or f"{n_all - n_kept} {left}" in told
    took = (root / "results/engine/benchmarks").rglob("*.json")
    assert sum(json.loads(path.read_text()).get("runs", 0) for path in took) == n_all - n_kept  # none that was kept
    killed = outputs(root)
    shutil.rmtree(root / "results/engine")
    finish(root, asked)
    assert outputs(root) == killed


@pytest.mark.parametrize("whom", WHOM)
def test_a_paper_that_is_killed_simulates_no_run_again_that_a_shard_has(tmp_path, whom):
    root = stand_in(tmp_path / "checkout")
    (root / "config").unlink()
    put(root, {}, copied=["config"])
    path = root / "config/papers/bhatti2009.yaml"
    path.write_text(re.sub(r"duration_s: \{value: \d+", "duration_s: {value: 6000", path.read_text(), count=1))
    layout = Layout(root, "engine")

    def kept() -> int:
        shards = store.shards(layout, "bhatti2009", "self")
        return len({key for shard in shards for key in (store.manifest_of(layout, shard) or {}).get("runs", ())})

    asked = ["figure", "bhatti2009.table3", "--config", "source=engine"]
    check_no_run_again(root, asked, whom, kept, 1, 100, "of 100 runs")


@pytest.mark.parametrize("whom", WHOM)
def test_a_study_that_is_killed_simulates_no_finished_slice_again(tmp_path, whom):
    root = stand_in(tmp_path / "checkout")
    text = (killing.ROOT / "config/studies/tiny.yaml").read_text()
    text = text.replace("duration_s: 20", "duration_s: 20000").replace("replicates: 2", "replicates: 60")
    (root / "tiny.yaml").write_text(text)
    shards = root / "results/engine/studies/tiny/shards"

    def kept() -> int:
        ranges = (path.stem.partition("-")[0].split("_") for path in shards.glob("[0-9]*.parquet"))
        return sum(int(end) - int(first) for first, end in ranges)

    check_no_run_again(root, ["study", "tiny.yaml", "--yes"], whom, kept, 40, 480, "runs to simulate")
