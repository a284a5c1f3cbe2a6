"""The whole way through Snakemake in a copy of the checkout: what is stale is made again, and nothing else.

One exhibit of ogura (figure 6 and its six short runs) stands for all.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.commands import succeed
from tests.small_checkout import edit
from tests.workflow import killing
from tests.workflow.killing import outputs

ROOT = Path(__file__).parents[2]
ASKED = ["--config", "papers=ogura", "only=ogura.fig6"]
CONFIG = "config/papers/ogura.yaml"
OLD, NEW = "\n  buffer_pkts: {value: 500,", "\n  buffer_pkts: {value: 400,"

OTHER = "\n  buffer_pkts: {value: 450,"  # not simulated by another test: finished runs are kept

pytestmark = pytest.mark.slow


def copy(target: Path) -> Path:
    left_out = shutil.ignore_patterns(".git", ".venv*", "results", ".snakemake", "bundled", "raw", "__pycache__")
    shutil.copytree(ROOT, target, ignore=left_out)
    for name in ("data/bundled/ogura", "data/raw"):
        shutil.copytree(ROOT / name, target / name)
    return target


def reproduce(root: Path, *arguments: str) -> str:
    """What a successful run says."""
    return succeed(*command(arguments), cwd=root, **environment(root)).stdout


def command(arguments) -> list[str]:
    return killing.command(["build", *(arguments or ASKED)])


def environment(root: Path) -> dict[str, str]:
    return killing.environment(root) | {"PYTHONPATH": str(root / "src")}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    root = copy(tmp_path_factory.mktemp("whole") / "checkout")
    assert "1 exhibit" in reproduce(root)
    return root


@pytest.fixture
def root(built):
    yield built
    text = (ROOT / CONFIG).read_text()
    if (built / CONFIG).read_text() != text:
        (built / CONFIG).write_text(text)
    reproduce(built)


def test_elsewhere_with_dates_in_the_future_and_without_snakemakes_records_nothing_is_made_again(root, tmp_path):
    before = outputs(root)
    shutil.rmtree(root / ".snakemake", ignore_errors=True)
    for number, path in enumerate(sorted(path for path in root.rglob("*") if path.is_file())):
        os.utime(path, (2e9 - number, 2e9 - number))
    moved = tmp_path / "with a space" / "checkout"
    moved.parent.mkdir()
    root.rename(moved)
    try:
        assert "nothing: everything was up to date" in reproduce(moved)
        assert outputs(moved) == before
    finally:
        moved.rename(root)


def test_an_edited_assumption_and_back(root):
    before = outputs(root)
    shutil.rmtree(root / ".snakemake", ignore_errors=True)
    edit(root / CONFIG, OLD, OTHER)
    said = reproduce(root)
    assert "simulate   ogura/model2" in said and "6 of 6 runs" in said
    assert "computed   6 runs simulated, 1 metric, papers' numbers, 1 exhibit, 1 notebook" in said
    assert "settings.buffer_pkts 500 -> 450" in said
    assert "moved" in said
    changed = outputs(root)
    assert changed["figures/bundled/ogura/fig06.svg"] != before["figures/bundled/ogura/fig06.svg"]
    assert "engine" in (root / "figures/bundled/ogura/fig06.svg").read_text()
    edit(root / CONFIG, OTHER, OLD)
    said = reproduce(root)
    assert "simulated" not in said
    after = {name: sha for name, sha in outputs(root).items() if not re.search("/(runs|work)/", name)}
    assert after == {name: sha for name, sha in before.items() if not re.search("/(runs|work)/", name)}


def test_an_interrupted_simulation_goes_on_where_it_was(root):
    edit(root / CONFIG, OLD, "\n  buffer_pkts: {value: 300,")
    with subprocess.Popen(
        command(ASKED), cwd=root, env=environment(root), stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        for line in process.stdout:
            if line.startswith(("simulated", "assembled", "measured")):
                break
        os.killpg(process.pid, signal.SIGKILL)
    time.sleep(1)
    said = reproduce(root)
    assert "6 of 6 runs" not in said.partition("computed")[0]  # the first part is not simulated again
    assert "engine     ogura/model2: settings.buffer_pkts 500 -> 300" in said
