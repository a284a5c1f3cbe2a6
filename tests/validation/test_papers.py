"""The papers' experiments at the guest's size: plans, runs that two papers share, what is shipped and measured."""

from types import SimpleNamespace

import pandas as pd
import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout, repository_root
from tcpfair.measures import measure
from tcpfair.sources import engine, guest
from tcpfair.validation import campaign, papers
from tcpfair.validation.papers import AS_KERNEL, SCALED
from tcpfair.validation.scenarios import ENGINE

LAYOUT = Layout(repository_root())


@pytest.fixture
def layout(tmp_path):
    """A checkout whose plan can be edited."""
    (tmp_path / "config").mkdir()
    for name in ("config/papers", "config/guest.yaml", "config/ensemble.yaml", "data"):
        (tmp_path / name).symlink_to(LAYOUT.root / name)
    return Layout(tmp_path)


def planned(layout, paper="bhatti2009", **changes):
    """The plans of a file with one paper, whose values are changed; None takes one away."""
    plan = yaml.safe_load(papers.config_file(LAYOUT).read_text())[paper] | changes
    plan = {name: value for name, value in plan.items() if value is not None}
    papers.config_file(layout).write_text(yaml.safe_dump({paper: plan}))
    return papers.plans(layout)[paper]


def given(**values):
    return {name: {"value": value, "source": "a test"} for name, value in values.items()}


def tiny(layout):
    """A plan of six runs of two seconds at 2 Mb/s."""
    return planned(
        layout,
        settings=given(capacity_bps=2e6, duration_s=2),
        grid=given(protocol=["CUBIC", "CCID2"], rtt_ms=[25]),
        experiments={"self": "self", "pair_ccid2_first": "pair_ccid2_first"},
        **given(time=1 / 150, engine_runs=2),
    )


# ---------------------------------------------------------------- plans


def test_a_plan_changes_what_it_states_and_leaves_the_rest(layout):
    scaled = planned(layout)
    own, kernel = scaled.readings[SCALED], scaled.readings[AS_KERNEL]
    whole = scaled.whole.experiments["self"].window_s.value
    assert own.experiments["self"].window_s.value == [12, 60] and whole == [60, 300]
    assert all(spec.scenario.flows[1].start_s < 6.5 for spec in scaled.specs(SCALED, "self"))
    run = scaled.specs(SCALED, "pair_tcp_first")[0].scenario
    assert (run.capacity_bps, run.duration_s, run.wire_bytes, run.flows[0].access_bps) == (10e6, 60, 1538, 10e6)
    assert run.flows[0].reduction == "rate_halving"
    run = scaled.specs(AS_KERNEL, "pair_tcp_first")[0].scenario
    assert (run.capacity_bps, run.wire_bytes, run.flows[0].access_bps, run.flows[0].reduction) == (10e6, 1514, 0, "prr")
    assert kernel.protocols["CUBIC"].cc.value == "cubic_linux_6"
    # Compound is not in Debian's kernel, 125 ms not in bhatti2009
    assert kernel.experiments["self"].grid["protocol"].value == ["NewReno", "BIC", "CUBIC", "CCID2"]
    assert kernel.experiments["self"].grid["rtt_ms"].value == [25, 50, 100, 200]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": None}, "time"),
        ({"rtt": 3}, "rtt"),
        ({"experiments": {"selfie": "self"}}, "experiments 'selfie' is unknown"),
        ({"experiments": {"pair_tcp_first": "x"}}, "experiments: add self, the NRU weights of pair_tcp_first"),
        ({"protocols": {"NewReno": "newreno"}}, "protocols 'newreno' is unknown"),
        ({"analysis": given(t_e=1)}, "analysis 't_e' is unknown"),
        ({"grid": given(rtt_ms=[30])}, "grid.rtt_ms: has no value of the paper"),
        ({"seeds": "rfc"}, "seeds 'rfc' is unknown"),
    ],
)
def test_a_wrong_plan_is_refused_in_one_line_that_names_the_field(layout, changes, message):
    with pytest.raises(InputError) as error:
        planned(layout, **changes)
    assert message in str(error.value) and "config/guest_papers.yaml: bhatti2009" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_plan_of_no_paper_is_refused(layout):
    papers.config_file(layout).write_text("ogura2: {}\n")
    with pytest.raises(InputError, match="'ogura2' is unknown; did you mean 'ogura'"):
        papers.plans(layout)


def test_a_checkout_without_plans_has_no_runs(layout):
    assert papers.plans(layout) == {} and papers.engine_parts(layout, {}) == []


# ---------------------------------------------------------------- runs


def test_a_run_that_two_papers_share_is_made_once():
    plans = papers.plans(LAYOUT)
    keys = {
        paper: {spec.key for name in scaled.plan.experiments for spec in scaled.guest_specs(name)}
        for paper, scaled in plans.items()
    }
    shared = keys["bhatti2009"] & keys["bhatti2008"]
    # self pairs of three protocols and pairs of two at four RTTs
    assert len(shared) == len(keys["bhatti2008"]) * 4 // 5
    made = [spec.key for part in papers.guest_parts(LAYOUT, plans) for spec in part.specs]
    assert len(made) == len(set(made)) and set(made) == set.union(*keys.values())


def test_the_guest_can_do_every_run():
    for part in papers.guest_parts(LAYOUT, papers.plans(LAYOUT)):
        for spec in part.specs:
            guest.check(spec.scenario)


def test_experiments_count_that_are_complete_and_pairs_without_self_pairs_have_no_weights():
    scaled = papers.plans(LAYOUT)["bhatti2009"]
    first = {spec.key for spec in scaled.guest_specs("pair_ccid2_first")}
    assert papers.complete(scaled, first) == ["pair_ccid2_first"]
    assert papers.complete(scaled, set(list(first)[1:])) == []
    experiment = papers.only(scaled, ["pair_ccid2_first"]).readings[AS_KERNEL].experiments["pair_ccid2_first"]
    assert experiment.weights is None and experiment.measures == ["throughput", "jfi"]
    both = papers.only(scaled, ["self", "pair_ccid2_first"]).whole.experiments["pair_ccid2_first"]
    assert both.weights.experiment == "self" and "nru" in both.measures


def test_what_is_kept_of_a_run_gives_the_metrics_of_its_trace(layout):
    scaled = tiny(layout)
    config = scaled.readings[AS_KERNEL]
    parts = [part for part in papers.engine_parts(layout, {"bhatti2009": scaled}) if part.label.endswith(AS_KERNEL)]
    for part in parts:
        papers.make(scaled, part)
    samples = pd.concat([part.kept().runs for part in parts])
    specs = {name: scaled.specs(AS_KERNEL, name) for name in scaled.plan.experiments}
    found = papers.metrics(config, specs, samples, ENGINE)
    direct = engine.simulate_runs(config, "self", specs["self"])
    direct.provenance["grid"] = ["protocol", "rtt_ms"]
    of_self = measure(direct, config, "self")
    pd.testing.assert_frame_equal(found["self"], of_self)
    assert found["pair_ccid2_first"].query("metric == 'U_n'")["value"].notna().all()
    lacking = samples[samples["key"] != specs["self"][0].key]
    with pytest.raises(InputError, match="bhatti2009/self: 1 of 4 runs are missing"):
        papers.metrics(config, specs, lacking, ENGINE)


def test_shipped_runs_are_taken_again_only_where_the_same_code_and_kernel_made_them(layout, monkeypatch):
    (layout.root / "data").unlink()
    made_by = {"code": "c0de", "tool": "Linux 6.1"}
    fake = SimpleNamespace(
        simulate_runs=engine.simulate_runs, source_hash=lambda: made_by["code"], tool_version=lambda: made_by["tool"]
    )
    for module in (papers, campaign):
        monkeypatch.setattr(module, "simulator", lambda backend: fake)
    of = {"bhatti2009": tiny(layout)}
    parts = papers.guest_parts(layout, of)
    assert papers.shipped(layout)[0].empty
    for part in parts[1:]:  # a kill before the last
        papers.make(of["bhatti2009"], part)
    papers.ship(layout, parts[1:])
    before = [path.read_bytes() for path in papers.files(layout)]
    for part in parts[1:]:
        part.file.unlink()
    papers.restore(layout, parts)
    assert [part.is_kept() for part in parts] == [False, *[True] * (len(parts) - 1)]
    papers.ship(layout, parts[1:])
    assert [path.read_bytes() for path in papers.files(layout)] == before
    for part in parts[1:]:
        part.file.unlink()
    made_by["tool"] = "Linux 6.12"
    parts = papers.guest_parts(layout, of)
    papers.restore(layout, parts)
    assert not any(part.is_kept() for part in parts)


# ---------------------------------------------------------------- what the repository ships


def test_shipped_runs_are_those_of_the_plans():
    samples, about = papers.shipped(LAYOUT)
    parts = papers.guest_parts(LAYOUT, papers.plans(LAYOUT))
    specs = {spec.key: spec.scenario for part in parts for spec in part.specs}
    assert set(about["runs"]) == set(samples["key"]) <= set(specs)
    assert about["tool"].startswith("Linux 6.")
    # runs of an earlier sender may stay until they are repeated, but the page has to say so, and only then
    says_so = "They were made with the earlier sender" in (LAYOUT.root / "docs" / "validation.md").read_text()
    assert (about["code"] != guest.source_hash()) == says_so
    # a full link in a run's second half; a repair may release what arrived before, a path and a queue of one RTT each at most
    late_bits = 8 * samples[samples["t_s"] > 30].groupby("key")["delivered_bytes"].sum()
    for key, bits in late_bits.items():
        link_bps = specs[key].capacity_bps * specs[key].payload_bytes / specs[key].wire_bytes
        rtt_s = max(flow.rtt_s for flow in specs[key].flows)
        assert 0.8 * link_bps * 30 < bits < link_bps * (30 + 2 * rtt_s), specs[key]
