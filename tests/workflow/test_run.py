"""The run around Snakemake: values of the command line, the lock, the summary."""

import os
import time

import pytest

from tcpfair.contract.stamps import write_stamp
from tcpfair.errors import InputError
from tcpfair.workflow import run
from tests.small_checkout import make_checkout, make_plan


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
    ],
)
def test_pairs_of_the_command_line_become_values(pairs, expected):
    assert run.parse_pairs(pairs) == expected


@pytest.mark.parametrize("pair", ["engine", "=engine", "only=[ogura.fig8"])
def test_a_pair_that_is_none_is_refused(pair):
    with pytest.raises(InputError, match="--config"):
        run.parse_pairs([pair])


def test_snakemake_is_given_what_was_asked_for(root):
    plan = make_plan(root, only=["ogura.fig8"], shards=3)
    arguments = run._config_arguments(plan.config)
    assert run.parse_pairs(arguments[1:]) == {k: v for k, v in plan.config.model_dump().items() if v != ""}


def test_smoke_runs_have_a_root_of_their_own(root):
    plan = run.load_plan(root, pairs=["smoke=true"])
    assert plan.layout.results == root / "results/smoke/results/engine"
    assert plan.experiments == make_plan(root).experiments
    assert plan.stamp("simulate", "ogura", "pair") != make_plan(root).stamp("simulate", "ogura", "pair")


def test_two_runs_do_not_share_a_checkout(root):
    with run.only_run(root), pytest.raises(InputError, match="another ./reproduce"), run.only_run(root):
        pass
    with run.only_run(root):
        pass


def test_to_do_names_what_is_missing(root):
    plan = make_plan(root)
    step = plan.steps()[0]
    assert f"{step.kind:<9} {step.item}" in run.to_do(plan)
    step.output.parent.mkdir(parents=True)
    step.output.write_text("{}")
    write_stamp(step.output, step.stamp)
    assert f"{step.kind:<9} {step.item}" not in run.to_do(plan)


def test_the_summary_says_what_was_made_what_is_missing_and_what_to_open(root):
    plan = make_plan(root)
    for step in plan.steps():
        step.output.parent.mkdir(parents=True, exist_ok=True)
        step.output.write_text("id,status\na,built\nb,built\nc,pending\n")
        write_stamp(step.output, step.stamp)
    metrics = plan.layout.metrics("ogura", "self")
    metrics.unlink()
    old = metrics.with_name(metrics.name + ".stamp")
    os.utime(old, (0, 0))
    (plan.layout.ledger / "claims.csv").write_text("id,verdict\na,reproduced\nb,partly\n")
    text = run.summary(plan, time.time() - 60)
    assert "computed   3 traces, 1 metrics, 1 notebooks, ledger, report" in text
    assert "exhibits   2 built, 1 pending" in text
    assert "claims     1 reproduced, 1 partly" in text
    assert "missing    measure ogura/self" in text
    assert "results/engine/report.html" in text
    assert "source     engine" in text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("measured  ogura/pair  4 runs in 0.5 s", True),
        ("3 of 28 steps (11%) done", True),
        ("error: config/papers/ogura.yaml: no such file", True),
        ("Building DAG of jobs...", False),
        ("[Sat Nov 21 02:33:51 2026]", False),
        ("Finished jobid: 7 (Rule: simulate)", False),
    ],
)
def test_snakemakes_lines_about_itself_are_left_out(line, shown):
    assert (run._CHATTER.match(line) is None) == shown


def test_a_missing_page_is_made_again_though_every_step_is_done(root):
    plan = make_plan(root)
    for path in plan.outputs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("done")
    assert not run.is_up_to_date(plan)
    for step in plan.steps():
        write_stamp(step.output, step.stamp)
    assert run.is_up_to_date(plan)
    plan.notebook("ogura").with_suffix(".html").unlink()
    assert run.to_do(plan) == []
    assert not run.is_up_to_date(plan)
