"""The run around Snakemake: values of the command line, the lock, what is said before and after."""

import os
import shutil
import subprocess
import sys
import time

import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.verdicts.baseline import CHANGE_COLUMNS
from tcpfair.workflow import run
from tcpfair.workflow.state import State
from tests.small_checkout import edit, finish, make_output, make_plan, put, ship


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (["source=engine", "shards=4"], {"source": "engine", "shards": 4}),
        (["only=ogura.fig8,ogura.fig9"], {"only": ["ogura.fig8", "ogura.fig9"]}),
        (["papers=[ogura, ha2006]", "smoke=true"], {"papers": ["ogura", "ha2006"], "smoke": True}),
        (["trace="], {"trace": ""}),
        (["trace=data/raw/two #2"], {"trace": "data/raw/two #2"}),
        (["trace=data/raw/{paper}.json"], {"trace": "data/raw/{paper}.json"}),
        (["trace=[a, b]"], {"trace": "[a, b]"}),
    ],
)
def test_pairs_of_the_command_line_become_values(pairs, expected):
    assert run.parse_pairs(pairs) == expected


@pytest.mark.parametrize(
    "trace", ["data/raw/two #2", "data/raw/{paper}.json", "data/raw/a; touch PWNED", "data/raw/it's $HOME"]
)
def test_snakemake_is_given_just_what_was_asked_for(root, trace):
    (root / trace).mkdir(parents=True)
    plan = make_plan(root, source="raw", trace=trace)
    written = yaml.safe_load((root / run._write_config(plan)).read_text())
    assert written == plan.config.model_dump()


@pytest.mark.parametrize("pair", ["=engine", "only=[ogura.fig8"])
def test_a_pair_that_is_none_is_refused(pair):
    with pytest.raises(InputError, match="--config"):
        run.parse_pairs([pair])


def test_smoke_runs_have_a_root_of_their_own(root):
    plan = run.load_plan(root, pairs=["smoke=true"])
    assert plan.layout.results == root / "results/smoke/results/engine"


def test_two_runs_do_not_share_a_checkout_and_a_killed_one_leaves_no_lock(root):
    held = "import sys, time\nfrom pathlib import Path\nfrom tcpfair.workflow.run import only_run\n"
    held += "with only_run(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    with subprocess.Popen([sys.executable, "-c", held, str(root)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        for alone in (False, True):
            with pytest.raises(InputError, match="another ./reproduce"), run.only_run(root, alone=alone):
                pass
        with pytest.raises(InputError, match="another ./reproduce"), run.only_run(root, "results/other", alone=True):
            pass
        with run.only_run(root, "results/other"):  # what it makes is in another folder
            pass
        other.kill()
    with run.only_run(root), pytest.raises(InputError, match="another ./reproduce"), run.only_run(root):
        pass
    with run.only_run(root, alone=True):
        pass


def test_an_unknown_profile_is_refused(root):
    (root / "workflow/profiles/slurm").mkdir(parents=True)
    assert run.profile_folder(root, "slurm") == root / "workflow/profiles/slurm"
    with pytest.raises(InputError, match="'slurn' is unknown; did you mean 'slurm'"):
        run.profile_folder(root, "slurn")


WORKFLOW = """
rule all:
    default_target: True
    input: "results/made.txt", "results/failed.txt"
rule make:
    input: "results/earlier.txt"
    output: "results/made.txt"
    shell: "echo made > {output}; echo made it"
rule fail:
    output: "results/failed.txt"
    shell: "echo 'error: torn' >&2; exit 1"
rule last:
    output: "results/lasted.txt"
    shell: "echo $$; exec sleep 60 > {output}"
"""


def test_a_workflow_shows_what_its_steps_say_alone_and_takes_results_dated_in_the_future(root, capsys):
    put(root, {"Snakefile": WORKFLOW}, copied=[f"{run.PROFILES}/default"])
    (root / "results").mkdir()
    (root / "results/earlier.txt").touch()
    assert run.snakemake(root, ["results/made.txt"], State(), 1, "default") == 0  # only what is requested
    (root / "results/made.txt").unlink()
    assert capsys.readouterr().out == "made it\n"
    dated = [root / "results/earlier.txt", root / "data/raw/mine.json"]
    for path in dated:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (time.time() + 86400,) * 2)
    assert run.snakemake(root, [], State(), 1, "default") == 1
    assert (root / "results/made.txt").read_text() == "made\n"
    assert sorted(capsys.readouterr().out.splitlines()) == ["Error in rule fail, jobid: 2", "error: torn", "made it"]
    assert [path.stat().st_mtime > time.time() for path in dated] == [False, True]  # a recording's date is its owner's


def test_a_request_to_terminate_ends_the_running_steps(root):
    put(root, {"Snakefile": WORKFLOW}, copied=[f"{run.PROFILES}/default"])
    started = "import sys\nfrom pathlib import Path\nfrom tcpfair.workflow.run import State, snakemake\n"
    started += "snakemake(Path(sys.argv[1]), ['results/lasted.txt'], State(), 1, 'default')\n"
    command = [sys.executable, "-c", started, str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        step = int(process.stdout.readline())
        process.terminate()
        assert process.wait(timeout=30) != 0
    with pytest.raises(ProcessLookupError):
        os.kill(step, 0)


def test_simulations_are_announced_one_by_one_and_several_with_their_sum(root):
    plan = make_plan(root)
    lines = run.announced(plan)
    assert len(lines) == 4 and "6 runs in all" in lines[-1]
    (line,) = run.announced(plan, [("ogura", "pair")])
    assert line.startswith("simulate   ogura/pair")


def test_to_do_names_steps_with_their_reason_and_simulations_with_runs_and_time(root):
    finish(make_plan(root))
    assert run.to_do(make_plan(root)) == []
    edit(root / "config/papers/ogura.yaml", "[10, 20]", "[5, 20]")
    lines = run.to_do(make_plan(root))
    assert lines[0].split() == ["measure", "ogura/pair", "configuration", "changed"]
    edit(root / "config/papers/ogura.yaml", "runs: {value: 2,", "runs: {value: 3,")
    lines = run.to_do(make_plan(root))
    assert " ".join(lines[0].split()) == "simulate ogura/pair 2 of 6 runs, 1 s of one core runs 2 -> 3"


def test_the_summary_says_what_was_made_what_is_missing_and_what_to_open(root):
    plan = make_plan(root)
    assert sum(len(runs) for runs in plan.lacking.values()) == 6
    assert len(plan.stale) == 24
    after = finish(make_plan(root))
    (plan.layout.ledger / "exhibits.csv").write_text("id,status\na,built\nb,built\nc,pending\n")
    (plan.layout.ledger / "claims.csv").write_text("id,verdict\na,reproduced\nb,partly\n")
    (plan.layout.ledger / "changes.csv").write_text(",".join(CHANGE_COLUMNS) + "\n")
    (plan.layout.ledger / "headlines.csv").write_text(
        "paper,says,verdict,certainty,settings_share\nkozu2014,K helps,partly,0.987,0.5\nha2006,so is more,open,,\n"
    )
    shutil.rmtree(after.of_kind("measure")[0].folder)
    text = run.summary(plan, time.time() - 60)
    for part in (
        "computed   6 runs simulated, 1 metric, 5 papers' numbers, 2 exhibits, 1 notebook, ",
        "1 notebook, 5 papers' verdicts, 5 ensembles, comparisons, ledger, report",
        "exhibits   2 built, 1 pending",
        "claims     1 reproduced, 1 partly",
        "kozu2014   partly (98 % sure; its weakest clause in 50 % of the settings): K helps",
        "ha2006     open: so is more",
        "missing    measure ogura/self",
        "results/engine/report.html",
        "source     engine",
    ):
        assert part in text


def test_snakemake_is_asked_for_the_outputs_that_are_missing(root, monkeypatch):
    """By name; the Snakefile has no rule for the others."""
    missing = finish(make_plan(root)).of_kind("judge")[0].folder
    shutil.rmtree(missing)
    asked = []
    monkeypatch.setattr(run, "snakemake", lambda root, arguments, *how: asked.extend(arguments) or 0)
    run.build(make_plan(root))
    assert asked[:-2] == [f"{missing.relative_to(root)}/made.json"] and asked[-2] == "--configfile"


def test_exhibits_that_failed_are_named_with_their_reason_those_that_were_asked_for(root):
    plan = finish(make_plan(root))
    for step in plan.of_kind("draw"):
        make_output(plan, step, "failed")
    assert run.failed_exhibits(make_plan(root)) == ["ogura.fig8, ogura.table1: why"]
    assert run.failed_exhibits(make_plan(root, only=["ogura.table1"])) == ["ogura.table1: why"]
    text = run.summary(plan, time.time())
    assert [line[:11].rstrip() for line in text.splitlines()[-2:]] == ["missing", "failed"]
    assert "failed     ogura.fig8, ogura.table1: why" in text and "missing    draw ogura.fig8" in text


def test_the_summary_says_which_value_made_runs_that_are_not_shipped(root):
    for experiment in ("self", "pair", "watched"):
        ship(make_plan(root), experiment)
    assert "engine " not in run.summary(finish(make_plan(root, source="bundled")), time.time())
    edit(root / "config/papers/ogura.yaml", "runs: {value: 2,", "runs: {value: 3,")
    text = run.summary(finish(make_plan(root, source="bundled")), time.time())
    assert "engine     ogura/pair: runs 2 -> 3; shown in ogura.fig8" in text
