"""The papers' own simulations: what is missing is cut into items, made by jobs of the executor, and merged into traces."""

import itertools
import json
from pathlib import Path

import pytest

from tcpfair import sources
from tcpfair.errors import InputError
from tcpfair.files import costs
from tcpfair.runs import code, store, trace
from tcpfair.workflow import executor, run, simulate, smoke
from tests.small_checkout import edit, make_plan, make_trace, put_shard
from tests.workflow.in_process import InProcess

CONFIG = "config/papers/ogura.yaml"


@pytest.fixture
def jobs(root, monkeypatch):
    return InProcess(monkeypatch)


def numbers(campaign, experiment):
    """Numbers of the runs of each item of an experiment."""
    return [own for name, own in campaign.asked["runs"].values() if name == experiment]


@pytest.mark.parametrize(("share", "n_items"), [(3, 1), (1 / 1.4, 1), (1 / 2.2, 2), (1 / 9, 4), (1e-9, 4)])
def test_items_take_about_as_long_as_planned_and_are_never_empty(root, monkeypatch, share, n_items):
    plan = make_plan(root)
    of_pair_s = sum(run.pkts for run in plan.lacking["ogura", "pair"]) / costs.PLANNED_PKTS_PER_S
    monkeypatch.setattr(simulate, "ITEM_S", share * of_pair_s)
    found = numbers(simulate.campaign_of(plan, [("ogura", "pair")]), "pair")
    assert len(found) == n_items and sorted(itertools.chain(*found)) == [0, 1, 2, 3]


def test_items_are_of_missing_runs_alone(root, monkeypatch):
    monkeypatch.setattr(simulate, "ITEM_S", 1e-9)
    make_trace(make_plan(root), "self")
    make_trace(make_plan(root), "pair")
    edit(root / CONFIG, "runs: {value: 2,", "runs: {value: 3,")
    plan = make_plan(root, shards=8)
    campaign = simulate.campaign_of(plan, list(plan.lacking))
    assert numbers(campaign, "pair") == [[2], [5]]
    assert numbers(campaign, "self") == [] and numbers(campaign, "watched") == [[0]]


@pytest.mark.parametrize(("shards", "n_jobs"), [(1, 3), (2, 6), (8, 6)])
def test_jobs_are_at_most_as_many_as_were_requested_for_each_experiment(root, monkeypatch, shards, n_jobs):
    monkeypatch.setattr(simulate, "ITEM_S", 1e-9)
    monkeypatch.setattr(costs, "PLANNED_PKTS_PER_S", 1.0)
    plan = make_plan(root, shards=shards)
    assert len(executor.cut(simulate.campaign_of(plan, list(plan.lacking)))) == n_jobs


def test_what_is_missing_is_simulated_and_becomes_the_trace_of_its_experiment(root, jobs, capsys, monkeypatch):
    monkeypatch.setattr(simulate, "ITEM_S", 1e-9)
    plan = make_plan(root)
    assert run.build(plan, (), cores=1) == 0
    shown = capsys.readouterr().out
    assert "simulate   ogura/pair" in shown and "assembled  ogura/pair  4 runs" in shown
    assert "assembled  ogura/self" not in shown  # its one shard is its trace
    after = make_plan(root)
    assert all(after.traces.values())
    folder = after.traces["ogura", "pair"]
    assert trace.read(folder).runs["run_id"].tolist() == [0, 1, 2, 3]
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]  # what it holds is kept once
    took = [json.loads(path.read_text()) for path in (root / "results/engine/benchmarks/simulate").rglob("*.json")]
    assert sum(each["runs"] for each in took) == 6
    pkts = sum(sources.delivered_pkts(trace.read(made)) for made in after.traces.values())
    assert abs(sum(each["simulated_pkts"] for each in took) - pkts) < 3  # each shard rounds
    begun = len(jobs.items)
    assert run.build(make_plan(root), (), cores=1) == 0 and len(jobs.items) == begun


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rtt_ref_s: {value: 0.04,", "rtt_ref_s: {value: 0,", "rtt_ref_s: must be finite, from 1e-06 to inf"),
        ("rtt_ref_s:", "rtt_reff_s:", "unknown parameter 'rtt_reff_s'"),
    ],
)
def test_an_invalid_parameter_is_named_with_its_file_before_any_run(root, jobs, old, new, message):
    edit(root / CONFIG, old, new)
    with pytest.raises(InputError, match=rf"{CONFIG}: protocols\.Libra: cc libra: {message}"):
        simulate.run(make_plan(root))
    assert not jobs.items


def test_a_trace_of_runs_that_other_traces_hold_is_made_without_simulating(root, jobs):
    whole = trace.read(make_trace(make_plan(root), "pair"))
    edit(root / CONFIG, "value: [Reno, Libra]", "value: [Libra]")
    assert make_plan(root).lacking["ogura", "pair"] == []
    simulate.run(make_plan(root), [("ogura", "pair")])
    assert jobs.jobs == []
    made = trace.read(make_plan(root).traces["ogura", "pair"])
    assert made.runs["run_id"].tolist() == [0, 1]
    of_libra = whole.samples[whole.samples["run_id"] >= 2]
    assert made.samples["delivered_bytes"].tolist() == of_libra["delivered_bytes"].tolist()


@pytest.mark.parametrize("n_done", [0, 1, 3])
def test_a_killed_run_keeps_its_finished_items_and_the_next_one_makes_the_others(root, jobs, monkeypatch, n_done):
    monkeypatch.setattr(simulate, "ITEM_S", 1e-9)
    write, done = trace.write, []

    def end(made, folder):
        if len(done) == n_done:
            raise KeyboardInterrupt
        done.append(folder)
        write(made, folder)

    monkeypatch.setattr(trace, "write", end)
    with pytest.raises(KeyboardInterrupt):
        simulate.run(make_plan(root), [("ogura", "pair")])
    monkeypatch.setattr(trace, "write", write)
    plan = make_plan(root)
    assert len(plan.lacking["ogura", "pair"]) == 4 - n_done
    assert plan.held["ogura"].why_missing("pair") == ""  # they are missing, and nothing has changed
    begun = len(jobs.items)
    simulate.run(plan, [("ogura", "pair")])
    assert len(jobs.items) == begun + 4 - n_done
    assert make_plan(root).traces["ogura", "pair"] is not None


@pytest.mark.parametrize("damage", ["empty table", "other code"])
def test_what_has_the_name_of_an_item_but_does_not_count_is_replaced(root, jobs, monkeypatch, damage):
    plan = make_plan(root)
    folder = put_shard(plan, "watched", plan.held["ogura"].specs("watched"))
    if damage == "empty table":
        (folder / "samples.parquet").write_bytes(b"")
    else:
        now = store.code_behind(itertools.chain(*plan.asked.values()))
        monkeypatch.setattr(store, "_code_now", lambda algorithms: now | {code.SIMULATOR: "0" * 16})
    simulate.run(make_plan(root), [("ogura", "watched")])
    assert make_plan(root).traces["ogura", "watched"] is not None


def test_runs_that_fail_stop_no_other_experiment(root, jobs, capsys, monkeypatch):
    real = sources.shard_of

    def failing(paper, experiment, specs, every):
        if experiment == "pair":
            raise InputError("no luck")
        return real(paper, experiment, specs, every)

    monkeypatch.setattr(sources, "shard_of", failing)
    plan = make_plan(root)
    assert run.build(plan, cores=1) == 1
    assert "error: 4 of 6 runs are missing: ogura/pair: no luck; run it again to continue" in capsys.readouterr().err
    assert [pair for pair, folder in make_plan(root).traces.items() if folder is None] == [("ogura", "pair")]
    assert len(jobs.built) == 1  # the workflow makes what does not need these runs


def test_an_edit_during_the_run_is_refused(root, jobs):
    plan = make_plan(root)
    campaign = simulate.campaign_of(plan, [("ogura", "pair")])
    edit(root / CONFIG, "buffer_pkts: {value: 10,", "buffer_pkts: {value: 20,")
    with pytest.raises(InputError, match="edited during the run"):
        executor.run(plan.layout, campaign, executor.How())


def test_smoke_runs_try_every_experiment_of_a_paper_and_count_what_was_too_short(root, jobs, capsys):
    edit(root / CONFIG, "measures: [throughput, nru]", "measures: [throughput]")
    (root / "workflow/profiles/default").mkdir(parents=True)

    def said(*arguments, **values):
        plan = run.load_plan(root, pairs=["source=engine", "smoke=true", *(f"{n}={v}" for n, v in values.items())])
        smoke.main(plan, 1, *arguments)
        return capsys.readouterr().out

    assert "smoke      ogura" in said("default", True) and not jobs.jobs
    assert "computed   1 paper rehearsed" in said(smoke_duration_s=2)
    lines = Path(root, "results/smoke/results/engine/rehearsals/ogura.csv").read_text().splitlines()
    rows = {line.split(",")[0]: line.split(",")[1:] for line in lines[1:]}
    assert {name: row[0] for name, row in rows.items()} == {"self": "1", "pair": "2", "watched": "1"}
    assert int(rows["pair"][1]) > int(rows["pair"][2]) >= 0
    assert "nothing: everything was up to date" in said(smoke_duration_s=2)
    assert "rehearsed" in said(smoke_duration_s=3)


@pytest.mark.parametrize(("cut_s", "expected"), [(20, [10, 20]), (10, [5, 10])])
def test_the_window_is_cut_as_the_runs_are(root, cut_s, expected):
    plan = make_plan(root)
    paper, every = plan.papers["ogura"], plan.held["ogura"].specs("pair")
    specs = [smoke.shorten(spec, cut_s) for spec in every]
    assert smoke.with_window_cut(paper, "pair", every, specs).experiments["pair"].window_s.value == expected
    assert paper.experiments["pair"].window_s.value == [10, 20]
