"""Steps of the workflow: whole outputs with stamps, and runs of a notebook that leave no trace of when they ran."""

import json

import nbformat
import pandas as pd
import pytest

from tcpfair import sources
from tcpfair.contract import costs, trace
from tcpfair.contract.expand import run_specs
from tcpfair.contract.layout import Layout
from tcpfair.contract.papers import load_paper
from tcpfair.contract.scenario import digest
from tcpfair.contract.stamps import is_fresh
from tcpfair.errors import InputError
from tcpfair.workflow import steps
from tests.small_checkout import edit, make_checkout, make_plan


@pytest.fixture
def root(tmp_path):
    return make_checkout(tmp_path)


def small_trace(root, experiment, share=1.0):
    """A trace of the experiment with one flow per run, as a simulator would leave it; ``share`` of its full length."""
    paper = load_paper(root / "config/papers/ogura.yaml")
    specs = run_specs(paper, experiment)
    ids = [spec.run_id for spec in specs]
    runs = pd.DataFrame({"run_id": ids, "paper": "ogura", "experiment": experiment, "backend": "engine", "seed": 1})
    runs = runs.assign(replicate=0, duration_s=20.0 * share, sample_s=1.0, payload_bytes=1460.0)
    flows = pd.DataFrame({"run_id": ids, "flow_id": 1, "protocol": "Reno", "cc": "newreno", "rtt_s": 0.04})
    flows = flows.assign(access_bps=0.0, start_s=0.0, stop_s=20.0, role="foreground")
    samples = pd.DataFrame({"run_id": ids, "flow_id": 1, "t_s": 1.0, "delivered_bytes": 2920})
    provenance = {"experiment": experiment, "scenarios": digest(sorted(spec.scenario.digest for spec in specs))}
    return trace.Trace(runs, flows, samples, provenance=provenance)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "folder" / "table.csv"
    with steps.whole(path) as scratch:
        scratch.write_text("first")
    with pytest.raises(RuntimeError), steps.whole(path) as scratch:
        scratch.write_text("half of the sec")
        raise RuntimeError
    assert path.read_text() == "first"
    assert [p.name for p in path.parent.iterdir()] == ["table.csv"]


@pytest.mark.parametrize(("part", "expected"), [("1-of-1", (0, 1)), ("1-of-4", (0, 4)), ("4-of-4", (3, 4))])
def test_a_part_is_counted_from_one_in_names_and_from_zero_in_code(part, expected):
    assert steps.parse_part(part) == expected


@pytest.mark.parametrize("part", ["0-of-2", "3-of-2", "1", "1-of-", "a-of-b"])
def test_a_part_that_does_not_exist_is_refused(part):
    with pytest.raises(InputError, match="1-of-2"):
        steps.parse_part(part)


def test_simulating_in_parts_and_gathering_leaves_a_stamped_trace(root, monkeypatch):

    whole = small_trace(root, "pair")

    def simulate(paper, experiment, backend, shard, shards, smoke_duration_s):
        mine = whole.runs["run_id"] % shards == shard
        parts = {name: getattr(whole, name)[mine.to_numpy()] for name in ("runs", "flows", "samples")}
        return trace.Trace(**parts, provenance=whole.provenance)

    monkeypatch.setattr(sources, "simulate", simulate)
    plan = make_plan(root)
    folders = [plan.shards("ogura", "pair") / steps.part_name(shard, 2) for shard in (0, 1)]
    for folder in folders:
        steps.simulate(plan.layout, "ogura", "pair", folder.name, folder, "stamp", None)
    steps.gather(plan.layout, "ogura", "pair", folders, "stamp")
    assert is_fresh(plan.manifest("ogura", "pair"), "stamp")
    assert list(trace.read(plan.layout.trace("ogura", "pair")).runs["run_id"]) == [0, 1, 2, 3]
    (row,) = costs.read(plan.layout.costs)
    assert (row["item"], row["packets"]) == ("ogura/pair", "8")


def test_bundled_data_of_another_configuration_is_refused(root):
    layout = Layout(root, "bundled")
    made = small_trace(root, "self")
    made.provenance["scenarios"] = "of yesterday"
    trace.write(made, layout.trace("ogura", "self"))
    with pytest.raises(InputError, match=r"experiments.self: differs from .*bundle ogura/self"):
        steps.measure(layout, "ogura", "self", "stamp")
    assert not layout.metrics("ogura", "self").exists()


@pytest.mark.parametrize(("share", "expected"), [(1.0, [10, 20]), (0.5, [5, 10])])
def test_the_window_is_cut_as_the_runs_are(root, share, expected):
    paper = load_paper(root / "config/papers/ogura.yaml")
    cut = steps.with_window_of(small_trace(root, "pair", share), paper, "pair")
    assert cut.experiments["pair"].window_s.value == expected
    assert paper.experiments["pair"].window_s.value == [10, 20]


def test_a_trace_without_runs_carries_no_packets():
    empty = trace.Trace(*(trace.empty(name) for name in ("runs", "flows", "samples")))
    assert steps.delivered_pkts(empty) == 0


def test_an_executed_notebook_forgets_when_and_where_it_ran():
    def executed(when):
        book = nbformat.v4.new_notebook(metadata={"papermill": {"start_time": when, "input_path": "/home/me"}})
        injected = nbformat.v4.new_code_cell("source = 'engine'", metadata={"tags": ["injected-parameters"]})
        timed = nbformat.v4.new_code_cell("1", id="one", metadata={"execution": {"t": when}, "papermill": {"d": when}})
        book.cells = [injected, timed]
        steps.forget_run(book)
        return nbformat.writes(book)

    assert executed("now") == executed("later")


def test_check_fails_when_an_exhibit_failed_and_names_it(root):
    layout = Layout(root, "engine")
    record = layout.results / "exhibits/ogura/fig08.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"exhibit": "ogura.fig8", "status": "failed", "files": [], "error": "no metrics"}))
    with pytest.raises(InputError, match="failed: ogura.fig8: no metrics"):
        steps.check(layout, layout.results / "checked.txt")
    record.write_text(json.dumps({"exhibit": "ogura.fig8", "status": "built", "files": [], "error": ""}))
    steps.check(layout, layout.results / "checked.txt")
    assert (layout.results / "checked.txt").is_file()


def test_a_rehearsal_runs_every_experiment_of_a_paper_and_counts_what_was_too_short(root):
    edit(root / "config/papers/ogura.yaml", "params: {k1:", "params: {rtt_ref_s:")
    edit(root / "config/papers/ogura.yaml", "measures: [throughput, nru]", "measures: [throughput]")
    plan = make_plan(root, smoke=True)
    steps.rehearse(plan.layout, "ogura", 2.0, plan.rehearsal("ogura"), "stamp")
    table = pd.read_csv(plan.rehearsal("ogura")).set_index("experiment")
    assert set(table.index) == {"self", "pair", "watched"}
    assert table["runs"].to_dict() == {"self": 1, "pair": 2, "watched": 1}  # one for each point of the grid
    assert table.loc["pair", "values"] > table.loc["pair", "too_short_to_tell"] >= 0
    assert plan.layout.metrics("ogura", "pair").is_file()
    assert is_fresh(plan.rehearsal("ogura"), "stamp")
