"""The rules of workflow/validate.smk with the real engine, and that no code is left out of what decides what is fresh."""

import shutil
import subprocess
import sys

import pytest

from tcpfair.contract import code
from tcpfair.contract.layout import repository_root
from tcpfair.validation import campaign, comparison
from tcpfair.workflow.cli import main
from tests.small_checkout import edit
from tests.validation.fake_simulators import make_checkout

ROOT = repository_root()


@pytest.fixture
def layout(tmp_path, monkeypatch):
    layout = make_checkout(tmp_path)
    for folder in ("workflow", "envs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    return layout


def ages(layout):
    return {path: path.stat().st_mtime_ns for path in layout.validation.rglob("whole/*/*/*.json")}


def test_snakemake_runs_the_experiments_of_the_engine_and_then_the_comparison(layout, capsys):
    assert main(["validate", "--cores", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "engine    12 runs in 2 experiments"
    assert {line for line in lines if line.startswith("simulated")} == {
        "simulated engine/one  6 runs",
        "simulated engine/two  6 runs",
    }
    assert (layout.validation / "report.html").is_file()
    assert {path.name for path in (layout.validation / "benchmarks").rglob("*.tsv")} == {
        *("one.tsv", "two.tsv", "compare.tsv")
    }
    before = ages(layout)
    assert len(before) == 4

    # neither Snakemake's own records nor times decide what is fresh; of what has changed, the rest stays
    shutil.rmtree(layout.root / ".snakemake")
    layout.validation_config.touch()
    edit(layout.validation_config, "duration_s: {value: 40,", "duration_s: {value: 45,")
    assert main(["validate", "--cores", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("simulated")] == ["simulated engine/two  6 runs"]
    assert {path.parent.name for path, age in ages(layout).items() if age != before[path]} == {"two"}


def test_what_the_log_of_a_failed_job_says_is_reported_and_the_others_are_made(layout, capsys):
    broken = "(test {wildcards.job} != engine/two || (echo error: two/fast: no memory; false)) | tee {log:q} &&"
    edit(
        layout.root / "workflow/validate.smk",
        '"python -m tcpfair validate-part',
        f'"{broken} python -m tcpfair validate-part',
    )
    assert main(["validate"]) == 1
    assert capsys.readouterr().err == "error: engine: two/fast: no memory\n"
    assert {path.parent.name for path in ages(layout)} == {"one"}
    assert not (layout.validation / "report.html").exists()


def test_all_the_code_that_compares_and_shows_counts():
    reached = code.reached(
        [code.PACKAGE / "validation" / "page.py", code.PACKAGE / "validation" / "commands.py"], ("",)
    )
    names = {path.relative_to(code.PACKAGE).as_posix() for path in reached}
    missed = {name for name in names if not name.startswith(comparison.CODE) and not name.endswith("__init__.py")}
    assert {name.partition("/")[0] for name in missed} <= {"errors.py", "jit.py", "cc", "engine"}  # with the parts


def test_all_the_code_that_measures_the_engine_counts():
    def reached(rooms):
        found = code.reached([code.PACKAGE / campaign.MEASURES], rooms)
        return {path.relative_to(code.PACKAGE).as_posix() for path in found}

    missed = {name.partition("/")[0] for name in reached(("",)) - reached(campaign.MEASURED_IN)}
    assert missed == {"contract", "errors.py"}  # what holds a trace, and messages


def test_a_reader_that_has_seen_enough_ends_the_run(layout):
    """As in ``./reproduce validate | head -1``: Snakemake, which nobody reads any more, does not wait for ever."""
    command = [sys.executable, "-m", "tcpfair", "validate", "--cores", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=layout.root) as process:
        process.stdout.readline()
        process.stdout.close()
        try:
            assert process.wait(timeout=60) == 1
        finally:
            process.kill()
