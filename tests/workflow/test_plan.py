"""What a configuration asks for, and what is discarded before a run."""

import json

import pytest

from tcpfair.contract.stamps import stamp_path, write_stamp
from tcpfair.errors import InputError
from tcpfair.workflow.plan import find_exhibit, load_values
from tests.small_checkout import edit, make_checkout, make_plan


@pytest.fixture
def root(tmp_path):
    return make_checkout(tmp_path)


def finish(plan):
    """Leave outputs and stamps as a finished run does, with a drawn figure."""
    for output in plan.outputs:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("done")
    for step in plan.steps():
        write_stamp(step.output, step.stamp)
    record(plan, "built", ["figures/engine/ogura/fig08.svg"])


def record(plan, status, files):
    """Record an exhibit as drawn or failed, and draw its files."""
    for name in files:
        (plan.root / name).parent.mkdir(parents=True, exist_ok=True)
        (plan.root / name).write_text("<svg/>")
    path = plan.layout.results / "exhibits/ogura/fig08.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"exhibit": "ogura.fig8", "status": status, "files": files, "error": ""}))


def gone(plan):
    """Steps whose output is not there."""
    return {f"{step.kind} {step.item}".strip() for step in plan.steps() if not step.output.exists()}


def test_everything_is_asked_for_unless_only_names_exhibits(root):
    assert make_plan(root).experiments == [("ogura", "self"), ("ogura", "pair"), ("ogura", "watched")]
    assert make_plan(root).measured == [("ogura", "self"), ("ogura", "pair")]
    assert make_plan(root).notebooks == ["ogura"]
    assert make_plan(root, only=["ogura.fig08"]).experiments == [("ogura", "self"), ("ogura", "pair")]
    assert make_plan(root, only=["ogura.table1"]).experiments == []
    assert make_plan(root, papers=["ha2006"]).experiments == []


def test_source_bundled_leaves_out_what_is_not_shipped(root):
    shipped = root / "data/bundled/ogura/self/manifest.json"
    shipped.parent.mkdir(parents=True)
    shipped.write_text("{}")
    plan = make_plan(root, source="bundled")
    assert plan.experiments == [("ogura", "self")]
    assert plan.not_bundled == [("ogura", "pair"), ("ogura", "watched")]
    assert "simulate" not in {step.kind for step in plan.steps()}


@pytest.mark.parametrize("spelling", ["ogura.fig8", "ogura.fig08", "ogura.figure8", "Ogura.Fig8"])
def test_an_exhibit_is_found_however_its_number_is_written(root, spelling):
    papers = make_plan(root).papers
    assert find_exhibit(papers, spelling)[1].id == "ogura.fig8"


@pytest.mark.parametrize("spelling", ["ogura.fig80", "ogura.fig9", "fig8", "nosuch.fig8", "ogura"])
def test_an_unknown_exhibit_is_refused_with_the_known_ones(root, spelling):
    with pytest.raises(InputError, match=r"ogura"):
        find_exhibit(make_plan(root).papers, spelling)


def test_a_source_that_is_not_built_is_refused(root):
    with pytest.raises(InputError, match="'ns2' is not in this version; choose bundled, engine, raw"):
        make_plan(root, source="ns2")


@pytest.mark.parametrize(("text", "overrides"), [("sorce: engine\n", {}), ("source: engine\n", {"sorce": "engine"})])
def test_an_unknown_key_is_refused_with_the_known_ones(tmp_path, text, overrides):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match="sorce: unknown; known are source, papers"):
        load_values(path, overrides)


def test_source_raw_runs_the_notebook_of_recordings_alone(root):
    recording = root / "data/raw/mine/iperf.json"
    recording.parent.mkdir(parents=True)
    recording.write_text("{}")
    plan = make_plan(root, source="raw", trace="data/raw/mine")
    (step,) = plan.steps()
    assert (step.kind, step.item, plan.experiments, plan.papers) == ("notebook", "raw", [], {})
    assert plan.opened == root / "results/raw/notebooks/raw.html"
    recording.write_text('{"end": 60}')
    assert make_plan(root, source="raw", trace="data/raw/mine").steps()[0].stamp != step.stamp
    assert make_plan(root, source="raw").steps()[0].stamp != step.stamp


def test_a_trace_that_is_not_there_is_refused(root):
    with pytest.raises(InputError, match="trace: data/raw/mine: no such file or folder"):
        make_plan(root, source="raw", trace="data/raw/mine")


def test_another_trace_forgets_what_was_recorded_of_the_last(root):
    plan = make_plan(root, source="raw")
    record(plan, "failed", [])
    plan.discard_stale()
    assert not (plan.layout.results / "exhibits").exists()


def test_nothing_is_discarded_when_nothing_changed(root):
    plan = make_plan(root)
    finish(plan)
    make_plan(root).discard_stale()
    assert gone(plan) == set()


def test_a_changed_experiment_is_discarded_with_all_that_came_of_it(root):
    finish(make_plan(root))
    edit(root / "config/papers/ogura.yaml", "runs: {value: 2,", "runs: {value: 3,")
    plan = make_plan(root)
    plan.discard_stale()
    assert gone(plan) == {"simulate ogura/pair", "measure ogura/pair", "notebook ogura", "ledger", "report"}
    assert not stamp_path(plan.notebook("ogura")).exists()


def test_an_output_without_a_stamp_is_discarded(root):
    plan = make_plan(root)
    finish(plan)
    stamp_path(plan.layout.metrics("ogura", "self")).unlink()
    plan.discard_stale()
    assert gone(plan) == {"measure ogura/self"}


def test_one_exhibit_alone_discards_no_notebook(root):
    finish(make_plan(root))
    edit(root / "src/tcpfair/exhibits/code.py", "x = 1", "x = 2")
    plan = make_plan(root)
    plan.discard_stale(("simulate", "measure"))
    assert gone(plan) == set()


def test_a_notebook_runs_again_when_a_figure_is_lost_or_failed(root):
    plan = make_plan(root)
    finish(plan)
    (root / "figures/engine/ogura/fig08.svg").unlink()
    plan.discard_stale()
    assert gone(plan) == {"notebook ogura"}
    finish(plan)
    record(plan, "failed", [])
    plan.discard_stale()
    assert gone(plan) == {"notebook ogura"}


def test_parts_of_an_interrupted_simulation_stay_only_if_they_belong(root):
    plan = make_plan(root)
    parts = {stamp: plan.shards("ogura", "pair") / f"{i}-of-2" for i, stamp in enumerate(["right", "wrong"], 1)}
    for stamp, folder in parts.items():
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
        right = plan.stamp("simulate", "ogura", "pair")
        write_stamp(folder / "manifest.json", right if stamp == "right" else "0" * 64)
    plan.discard_stale()
    assert parts["right"].exists()
    assert not parts["wrong"].exists()


def test_only_is_among_the_inputs_of_a_notebook(root):
    """`only` is part of what a notebook is made from: its outputs differ."""
    assert make_plan(root).stamp("notebook", "ogura") != make_plan(root, only=["ogura.fig8"]).stamp("notebook", "ogura")


def test_a_smoke_run_rehearses_each_paper_and_draws_nothing(root):
    plan = make_plan(root, smoke=True)
    (step,) = plan.steps()
    assert (step.kind, step.item, plan.outputs) == ("rehearse", "ogura", [plan.rehearsal("ogura")])
    assert make_plan(root, smoke=True, smoke_duration_s=3).steps()[0].stamp != step.stamp


def test_smoke_runs_are_simulated(root):
    with pytest.raises(InputError, match="smoke: goes with source engine; 'bundled' simulates nothing"):
        make_plan(root, source="bundled", smoke=True)
