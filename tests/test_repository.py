"""What holds for the repository as a whole: style, stripped notebooks, nothing generated in git."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tcpfair.files.layout import PAPERS
from tests.commands import succeed

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent
VAGUE = {"utils", "util", "helpers", "helper", "misc", "common", "tools"}
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BUILT = [path for path in NOTEBOOKS if path.stem in {*PAPERS, "raw"}]  # by the workflow; the others are explored


def run(*command):
    """Run a command in the repository; its output when it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"status {done.returncode}\n{done.stdout}{done.stderr}"


def tracked(*paths):
    """Files below ``paths`` that git tracks; skips the test outside a git checkout."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    return succeed("git", "ls-files", "--", *paths).stdout.splitlines()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("ruff", "check", "--no-cache"), id="ruff check"),
        pytest.param(("ruff", "format", "--check", "--no-cache"), id="ruff format"),
        pytest.param(("snakefmt", "--check", "Snakefile", "workflow"), id="snakefmt"),
        pytest.param(("snakemake", "--lint"), id="snakemake --lint"),
    ],
)
def test_style(command):
    tool, *arguments = command
    complaint = run(TOOLS / tool, *arguments)
    if complaint:
        pytest.fail(complaint, pytrace=False)


@pytest.mark.parametrize("notebook", BUILT, ids=lambda path: path.name)
def test_notebooks_have_one_cell_of_parameters(notebook):
    tags = [cell["metadata"].get("tags", []) for cell in json.loads(notebook.read_text())["cells"]]
    assert sum("parameters" in of_cell for of_cell in tags) == 1


def test_no_file_has_a_name_that_says_nothing():
    assert [name for name in tracked(".") if Path(name).stem.lower() in VAGUE] == []


def test_nothing_generated_is_tracked():
    kept = ("figures/README.md",)
    assert [name for name in tracked("figures", "results") if not name.startswith(kept)] == []


def test_entry_points_are_executable():
    assert all((ROOT / name).stat().st_mode & 0o100 for name in ("reproduce", ".ci/run"))
