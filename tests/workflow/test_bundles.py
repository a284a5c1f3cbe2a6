"""Shipped data: copied whole, listed with checksums, checked against the configuration."""

import pytest

from tcpfair.contract import trace
from tcpfair.contract.stamps import write_stamp
from tcpfair.errors import InputError
from tcpfair.workflow import bundles
from tests.small_checkout import edit, make_checkout, make_plan
from tests.workflow.test_steps import small_trace


@pytest.fixture
def plan(tmp_path):
    """A checkout in which `self` and `pair` are simulated and shipped."""
    plan = make_plan(make_checkout(tmp_path))
    for experiment in ("self", "pair"):
        trace.write(small_trace(plan.root, experiment), plan.layout.trace("ogura", experiment))
        write_stamp(plan.manifest("ogura", experiment), "stamp")
    assert bundles.ship(plan, [("ogura", "self"), ("ogura", "pair")]) == ["ogura/self", "ogura/pair"]
    return plan


def test_shipped_traces_are_whole_and_belong_to_the_configuration(plan):
    assert bundles.faults(plan.root) == []
    assert list(trace.read(plan.layout.bundled("ogura", "self")).runs["run_id"]) == [0]
    assert not list(plan.layout.data.rglob("*.stamp"))


def test_an_unchanged_trace_is_not_rewritten(plan):
    assert bundles.ship(plan, [("ogura", "self")]) == []


def test_a_changed_trace_replaces_the_shipped_one(plan):
    made = small_trace(plan.root, "self")
    made.samples["delivered_bytes"] = 1460
    trace.write(made, plan.layout.trace("ogura", "self"))
    assert bundles.ship(plan, [("ogura", "self"), ("ogura", "pair")]) == ["ogura/self"]
    assert list(trace.read(plan.layout.bundled("ogura", "self")).samples["delivered_bytes"]) == [1460]
    assert bundles.faults(plan.root) == []


def simulate(plan, experiment, delivered_bytes, **provenance):
    """Leave a trace in the experiment's place whose samples do not depend on the experiment."""
    made = small_trace(plan.root, "self")
    made.provenance = small_trace(plan.root, experiment).provenance | provenance
    made.samples["delivered_bytes"] = delivered_bytes
    trace.write(made, plan.layout.trace("ogura", experiment))


def test_runs_that_two_experiments_share_are_shipped_once(plan, monkeypatch):
    monkeypatch.setattr(bundles, "_WORTH_SHARING_BYTES", 0)
    both = [("ogura", "self"), ("ogura", "pair")]
    own, borrowed = (plan.layout.bundled(*pair) / "samples.parquet" for pair in both)
    for code in ("one", "other"):  # made again by other code, the same samples are still shipped once
        for _, experiment in both:
            simulate(plan, experiment, 4380, code=code)
        assert bundles.ship(plan, both) == ["ogura/self", "ogura/pair"]
        assert own.is_file() and not borrowed.exists()
        assert list(trace.read(borrowed.parent).samples["delivered_bytes"]) == [4380]
        assert bundles.faults(plan.root) == []
        assert bundles.ship(plan, both) == []

    simulate(plan, "self", 2920)
    assert bundles.ship(plan, [("ogura", "self")]) == ["ogura/self"]
    assert list(trace.read(own.parent).samples["delivered_bytes"]) == [2920]
    assert list(trace.read(borrowed.parent).samples["delivered_bytes"]) == [4380]
    assert bundles.faults(plan.root) == []


def test_a_shared_table_that_is_gone_is_named_with_the_manifest_that_wants_it(plan, monkeypatch):
    monkeypatch.setattr(bundles, "_WORTH_SHARING_BYTES", 0)
    folder = plan.layout.bundled("ogura", "self")
    manifest = trace.read_manifest(folder)
    trace.write_manifest(manifest | {"shared": {"samples.parquet": "ogura/nosuch"}}, folder)
    with pytest.raises(InputError, match=r"ogura/nosuch/samples.parquet: missing; .*self/manifest.json lists it"):
        trace.read(folder)


def test_damaged_missing_and_unlisted_files_are_faults(plan):
    data = plan.layout.data
    (data / "bundled/ogura/self/samples.parquet").write_bytes(b"torn")
    (data / "published/ogura.csv").unlink()
    (data / "published/stray.csv").write_text("")
    assert bundles.faults(plan.root) == [
        "data/published/ogura.csv: missing; data/SHA256SUMS lists it",
        "data/published/stray.csv: not listed in data/SHA256SUMS",
        "data/bundled/ogura/self/samples.parquet: differs from its checksum in data/SHA256SUMS",
    ]


def test_what_users_put_into_raw_is_theirs(plan):
    (plan.layout.data / "raw/mine").mkdir(parents=True)
    (plan.layout.data / "raw/mine/iperf.json").write_text("{}")
    assert bundles.faults(plan.root) == []


def test_a_changed_parameter_makes_the_shipped_trace_a_fault(plan):
    edit(plan.root / "config/papers/ogura.yaml", "runs: {value: 2,", "runs: {value: 3,")
    assert bundles.faults(plan.root) == [
        "data/bundled/ogura/pair: made from other scenarios than config/papers/ogura.yaml has"
    ]


@pytest.mark.parametrize("name", ["pair", "ogura/pair", "ogura.pair"])
def test_an_experiment_is_chosen_by_name_with_or_without_its_paper(plan, name):
    assert bundles.chosen(plan, name) == [("ogura", "pair")]


def test_all_experiments_are_chosen_without_a_name_and_none_with_a_wrong_one(plan):
    assert bundles.chosen(plan, None) == plan.experiments
    with pytest.raises(InputError, match="known are ogura/self, ogura/pair"):
        bundles.chosen(plan, "nosuch")
