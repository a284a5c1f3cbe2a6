"""The run around Snakemake: values of the command line, the lock, what is said before and after."""

import os
import shutil
import textwrap
import time

import pytest
import yaml

from tcpfair.contract.layout import repository_root
from tcpfair.contract.stamps import write_stamp
from tcpfair.errors import InputError
from tcpfair.verdicts.baseline import CHANGE_COLUMNS
from tcpfair.workflow import run
from tcpfair.workflow.state import State
from tests.small_checkout import edit, make_checkout, make_plan, make_trace
from tests.workflow.test_plan import finish


@pytest.fixture
def root(tmp_path):
    return make_checkout(tmp_path)


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


@pytest.mark.parametrize("pair", ["engine", "=engine", "only=[ogura.fig8"])
def test_a_pair_that_is_none_is_refused(pair):
    with pytest.raises(InputError, match="--config"):
        run.parse_pairs([pair])


@pytest.mark.parametrize(
    "trace", ["data/raw/two #2", "data/raw/{paper}.json", "data/raw/a; touch PWNED", "data/raw/it's $HOME"]
)
def test_snakemake_is_given_just_what_was_asked_for(root, trace):
    (root / trace).mkdir(parents=True)
    plan = make_plan(root, source="raw", trace=trace)
    written = yaml.safe_load((root / run._write_config(plan)).read_text())
    assert written == plan.config.model_dump()


def test_smoke_runs_have_a_root_of_their_own(root):
    plan = run.load_plan(root, pairs=["smoke=true"])
    assert plan.layout.results == root / "results/smoke/results/engine"
    assert plan.experiments == make_plan(root).experiments
    assert plan.asked != make_plan(root).asked


def test_two_runs_do_not_share_a_checkout(root):
    with run.only_run(root), pytest.raises(InputError, match="another ./reproduce"), run.only_run(root):
        pass
    with run.only_run(root):
        pass


def test_an_unknown_profile_is_refused(root):
    (root / "workflow/profiles/slurm").mkdir(parents=True)
    assert run.profile_folder(root, "slurm") == root / "workflow/profiles/slurm"
    with pytest.raises(InputError, match="'slurn' is unknown; did you mean 'slurm'"):
        run.profile_folder(root, "slurn")


FUTURE_S = time.time() + 86400


def date(path, dated_s=FUTURE_S):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (dated_s, dated_s))
    return path


def test_a_workflow_runs_whose_inputs_are_dated_in_the_future(root):
    shutil.copytree(repository_root() / run.PROFILES / "default", root / run.PROFILES / "default")
    inputs = ["config/papers/ogura.yaml", "data/published/ogura.csv", "notebooks/a.ipynb", "results/earlier.txt"]
    rules = """
        rule all:
            default_target: True
            input: "results/made.txt"
        rule make:
            input: [ancient(path) for path in INPUTS]
            output: "results/made.txt"
            shell: "echo made > {output}"
    """
    (root / "Snakefile").write_text(f"INPUTS = {inputs}\n{textwrap.dedent(rules)}")
    for name in inputs:
        date(root / name)
    assert run.snakemake(root, [], State(), 1, "default") == 0
    assert (root / "results/made.txt").read_text() == "made\n"


def test_recordings_keep_their_dates_and_so_does_what_is_older(root):
    recording = date(root / "data/raw/mine/trace.json")
    older = date(root / "data/claims/some.yaml", FUTURE_S - 1e7)
    ahead = date(root / "data/claims/others.yaml")
    run.undate_future(root)
    assert recording.stat().st_mtime == pytest.approx(FUTURE_S)
    assert older.stat().st_mtime == pytest.approx(FUTURE_S - 1e7)
    assert ahead.stat().st_mtime == pytest.approx(time.time(), abs=60)


def test_a_file_from_the_future_that_may_not_be_dated_is_named_with_its_date(root, monkeypatch):
    def refused(path, *_):
        raise PermissionError

    date(root / "config/papers/ogura.yaml")
    (root / "config/gone.yaml").symlink_to("nowhere")
    monkeypatch.setattr(run.os, "utime", refused)
    with pytest.raises(
        InputError, match=r"^config/papers/ogura.yaml is dated \d{4}-\d\d-\d\d .* in the future, .*touch"
    ):
        run.undate_future(root)


def test_to_do_names_steps_with_their_reason_and_simulations_with_runs_and_time(root):
    finish(make_plan(root))
    assert run.to_do(make_plan(root)) == []
    edit(root / "config/papers/ogura.yaml", "[10, 20]", "[5, 20]")
    lines = run.to_do(make_plan(root))
    assert lines[0].split() == ["measure", "ogura/pair", "configuration", "changed"]
    edit(root / "config/papers/ogura.yaml", "runs: {value: 2,", "runs: {value: 3,")
    lines = run.to_do(make_plan(root))
    assert " ".join(lines[0].split()) == "simulate ogura/pair 2 of 6 runs, 1 s of one core runs 2 -> 3"


def test_with_several_simulations_their_sum_is_announced(root):
    lines = run.announced(make_plan(root))
    assert len(lines) == 4
    assert "6 runs in all" in lines[-1]


def test_a_trace_alone_announces_its_own_runs(root):
    plan = make_plan(root)
    lines = run.announced(plan, [plan.trace_mark("ogura", "pair")])
    assert len(lines) == 1
    assert lines[0].startswith("simulate   ogura/pair")


def test_the_summary_says_what_was_made_what_is_missing_and_what_to_open(root):
    plan = make_plan(root)
    assert sum(len(runs) for runs in plan.lacking.values()) == 6
    assert len(plan.stale) == 9
    started_s = time.time() - 60
    finish(make_plan(root))
    (plan.layout.ledger / "exhibits.csv").write_text("id,status\na,built\nb,built\nc,pending\n")
    (plan.layout.ledger / "claims.csv").write_text("id,verdict\na,reproduced\nb,partly\n")
    (plan.layout.ledger / "changes.csv").write_text(",".join(CHANGE_COLUMNS) + "\n")
    plan.layout.metrics("ogura", "self").unlink()
    text = run.summary(plan, started_s)
    assert (
        "computed   6 runs simulated, 1 metric, 2 exhibits, 1 notebook, ensembles, ledger, report, packet lab" in text
    )
    assert "exhibits   2 built, 1 pending" in text
    assert "claims     1 reproduced, 1 partly" in text
    assert "missing    measure ogura/self" in text
    assert "results/engine/report.html" in text
    assert "source     engine" in text


def test_the_summary_says_which_value_made_runs_that_are_not_shipped(root):
    for experiment in ("self", "pair", "watched"):
        shipped = root / f"data/bundled/ogura/{experiment}"
        shipped.parent.mkdir(parents=True, exist_ok=True)
        make_trace(make_plan(root), experiment).rename(shipped)
    finish(make_plan(root, source="bundled"))
    assert "engine " not in run.summary(make_plan(root, source="bundled"), time.time())
    edit(root / "config/papers/ogura.yaml", "runs: {value: 2,", "runs: {value: 3,")
    finish(make_plan(root, source="bundled"))
    text = run.summary(make_plan(root, source="bundled"), time.time())
    assert "engine     ogura/pair: runs 2 -> 3; shown in ogura.fig8" in text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("measured  ogura/pair  4 runs in 0.5 s", True),
        ("error: config/papers/ogura.yaml: no such file", True),
        ("Building DAG of jobs...", False),
        ("[Sat Nov 21 02:33:51 2026]", False),
        ("Finished jobid: 7 (Rule: simulate)", False),
        ("Job stats:", False),
        ("measure         56", False),
        ("notebook_ogura             1", False),
        ("total           65", False),
    ],
)
def test_snakemakes_lines_about_itself_are_left_out(line, shown):
    assert (run._CHATTER.match(line) is None) == shown


def test_a_missing_page_is_made_again_though_every_step_is_done(root):
    finish(make_plan(root))
    plan = make_plan(root)
    assert plan.is_up_to_date()
    plan.notebook("ogura").with_suffix(".html").unlink()
    assert run.to_do(make_plan(root)) == []
    assert not make_plan(root).is_up_to_date()
    write_stamp(plan.report, plan.report_stamp())
