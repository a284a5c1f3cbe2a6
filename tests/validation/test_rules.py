"""The validation as a campaign with the real engine, and that no code is left out of what decides what is fresh."""

import shutil
import subprocess
import sys

import pytest

from tcpfair.runs import code
from tcpfair.validation import campaign, comparison, page
from tcpfair.validation.scenarios import load
from tcpfair.workflow import executor
from tcpfair.workflow.cli import main
from tests.small_checkout import edit, put
from tests.validation.fake_simulators import make_checkout


@pytest.fixture
def layout(tmp_path, monkeypatch):
    layout = make_checkout(tmp_path)
    put(tmp_path, {}, copied=("workflow", "envs"))
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    monkeypatch.setattr(page, "_figures", lambda comparison: [])  # `test_page.py` draws them
    return layout


def ages(layout):
    return {path: path.stat().st_mtime_ns for path in layout.validation.rglob("shards/whole/*/*/*.parquet")}


@pytest.mark.slow
def test_snakemake_runs_the_parts_of_the_engine_and_then_they_are_compared(layout, capsys):
    assert main(["validate", "--cores", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["engine    12 runs in 2 experiments", "validate   about 1 s on 1 core, in 1 job"]
    assert "simulated whole 1-of-1  12 runs" in lines
    assert (layout.validation / "report.html").is_file()
    assert len(list((layout.validation / "benchmarks").rglob("*.tsv"))) == 1
    before = ages(layout)
    assert len(before) == 4

    # neither Snakemake's own records nor times decide what is fresh; of what has changed, the rest stays
    shutil.rmtree(layout.root / ".snakemake")
    layout.validation_config.touch()
    edit(layout.validation_config, "duration_s: {value: 40,", "duration_s: {value: 45,")
    assert main(["validate", "--cores", "2"]) == 0
    assert "simulated whole 1-of-1  6 runs" in capsys.readouterr().out.splitlines()
    after = ages(layout)
    assert len(after) == 4 and {path.parent.name for path, _ in after.items() - before.items()} == {"two"}


@pytest.mark.slow
def test_what_the_log_of_a_failed_job_says_is_reported_and_the_others_are_made(layout, capsys, monkeypatch):
    broken = (
        "(test {wildcards.job} != $BROKEN || (echo error: whole/engine/two/fast: no memory; false)) | tee {log:q} &&"
    )
    edit(layout.root / "workflow/campaign.smk", '"python -m tcpfair job', f'"{broken} python -m tcpfair job')
    monkeypatch.setattr(executor, "_LEAST_S", 1e-6)  # a job for each part
    config = load(layout.validation_config)
    (part,) = (part for part in comparison.engine_parts(layout, config) if part.name == "two/fast")
    monkeypatch.setenv("BROKEN", part.shard_name)
    assert main(["validate"]) == 1
    assert capsys.readouterr().err == (
        "error: 3 of 12 runs are missing: whole/engine/two/fast: no memory; run it again to continue\n"
    )
    assert len(ages(layout)) == 3
    assert not (layout.validation / "report.html").exists()


def test_all_the_code_that_compares_and_shows_counts():
    reached = code.reached(
        [code.PACKAGE / "validation" / "page.py", code.PACKAGE / "validation" / "comparison.py"], ("",)
    )
    names = {path.relative_to(code.PACKAGE).as_posix() for path in reached}
    missed = {name for name in names if not name.startswith(comparison.CODE) and not name.endswith("__init__.py")}
    assert {name.partition("/")[0] for name in missed} <= {"errors.py", "jit.py", "cc", "engine"}  # with the parts


def test_all_the_code_that_measures_the_engine_counts():
    def reached(rooms):
        found = code.reached([code.PACKAGE / campaign.MEASURES], rooms)
        return {path.relative_to(code.PACKAGE).as_posix() for path in found}

    missed = {name.partition("/")[0] for name in reached(("",)) - reached(campaign.MEASURED_IN)}
    assert missed == {"files", "papers", "runs", "errors.py"}  # what holds a trace, and messages


@pytest.mark.slow
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
