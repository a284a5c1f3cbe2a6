"""Scenarios of one's own: `flow`, `simulate`, `Run`."""

import doctest
import importlib
import json

import numpy as np
import pandas as pd
import pytest

import tcpfair
from tcpfair import InputError, compare, flow, simulate
from tcpfair.files.layout import Layout, repository_root
from tcpfair.library import digest
from tcpfair.library.simulation import LABELS
from tcpfair.measures.shown import OVER_TIME
from tcpfair.metrics import fairness
from tcpfair.papers.expand import run_specs, shorten
from tcpfair.papers.papers import load_paper, load_yaml
from tcpfair.papers.scenario import Scenario
from tcpfair.sources import tables
from tcpfair.workflow.again import hash_of

ROOT = repository_root()

PNG = b"\x89PNG"
FLOW = flow("reno", rtt_ms=40)
DOCUMENTED = ("tcpfair", "tcpfair.library.simulation", "tcpfair.metrics.ruler")


@pytest.fixture(scope="module")
def pair():
    return simulate(flow("reno", rtt_ms=20), flow("cubic", rtt_ms=60, start_s=2), rate_mbps=10, duration_s=22)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_in_docstrings_give_what_they_show(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 2 and not found.failed


def test_there_are_six_names_and_each_has_a_docstring():
    assert len(tcpfair.__all__) == 6
    assert all(getattr(tcpfair, name).__doc__ for name in tcpfair.__all__)
    assert set(tcpfair.__all__) <= set(dir(tcpfair))
    with pytest.raises(AttributeError, match="module 'tcpfair' has no attribute 'simulator'"):
        tcpfair.simulator  # noqa: B018


def test_the_eight_lines():
    r = simulate(
        flow("cubic", rtt_ms=20),
        flow("reno", rtt_ms=80, start_s=5),
        rate_mbps=100,
        buffer_bdp=1,
        duration_s=60,
    )
    assert r.jfi.shape == () and 0.5 < r.jfi < 1
    assert r.nru_db.shape == r.harm.shape == r.goodput_mbps.shape == (2,)
    assert r.nru_db[0] > 0 > r.nru_db[1] and r.harm[1] > r.harm[0] > 0
    assert len(r.to_pandas()) == 2 * 60
    assert r.plot()._repr_png_()[0].startswith(PNG)
    assert r.but(buffer_bdp=0.1).scenario.buffer_pkts == pytest.approx(r.scenario.buffer_pkts / 10)
    seeds = r.but(seed=range(20))
    assert seeds.jfi.shape == (20,) and len(set(seeds.digest)) == 20
    assert seeds.digest[1] == r.digest
    assert seeds.one(seed=1).digest == r.digest


def test_a_scenario_has_what_was_given_and_what_is_said_of_the_rest():
    flows = flow("reno", rtt_ms=40), flow("reno", rtt_ms=120, params={"b": 0.6})
    made = simulate(*flows, rate_mbps=12, buffer_bdp=0.5, duration_s=2)
    scenario = made.scenario
    assert (scenario.capacity_bps, scenario.wire_bytes, scenario.payload_bytes) == (12e6, 1500, 1448)
    assert scenario.buffer_pkts == pytest.approx(0.5 * 12e6 * 0.120 / 12000)
    assert scenario.jitter_s == pytest.approx(3 * 0.001)  # three packets of a millisecond
    assert [each.rtt_s for each in scenario.flows] == [0.04, 0.12]
    assert made.labels == ["reno, 40 ms", "reno, 120 ms"]
    other = made.but(loss_rate=0.01, buffer_pkts=33, seed=7)
    assert (other.scenario.buffer_pkts, other.scenario.loss_rate, other.members[0].seed) == (33, 0.01, 7)
    assert other.scenario.flows == scenario.flows
    assert other.but(buffer_bdp=1).scenario.buffer_pkts == pytest.approx(120)
    assert made.but(flow("cubic", rtt_ms=10)).labels == ["cubic, 10 ms"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"buffer_bdp": 1, "buffer_pkts": 10}, "give buffer_bdp or buffer_pkts, not both"),
        ({"rate_mbps": 0}, r"rate_mbps: must be a number above 0 \(got 0\)"),
        ({"rate_mbps": "100"}, r"rate_mbps: must be a number above 0 \(got '100'\)"),
        ({"rate_mbps": [10, -1]}, r"rate_mbps: must be a number above 0 \(got -1\)"),
        ({"lossrate": 0.1}, "lossrate: Extra inputs are not permitted"),
        ({"duration_s": -1}, "duration_s: Input should be greater than 0"),
        ({"wire_bytes": "x"}, "wire_bytes: Input should be a valid number"),
        ({"seed": -1}, "seed: must be a whole number from 0"),
        ({"seed": 1.5}, "seed: must be a whole number from 0"),
        ({"seed": []}, "seed: an empty list"),
        ({"seed": None}, "seed: must be a whole number from 0"),
    ],
)
def test_what_no_run_can_have_is_refused_in_a_line(given, said):
    with pytest.raises(InputError, match=f"^simulate: {said}[^\n]*$"):
        simulate(flow("reno", rtt_ms=40), **given)


@pytest.mark.parametrize("flows", [(), ("reno",), ({"cc": "reno"},), (40,)])
def test_flows_come_from_flow(flows):
    with pytest.raises(InputError, match=r"^simulate: it needs flows, each from flow\(...\)$"):
        simulate(*flows)


@pytest.mark.parametrize(
    ("cc", "settings", "expected"),
    [
        ("cubicc", {}, r"^flow: algorithm 'cubicc' is unknown; did you mean 'cubic'\? known are [^\n]*$"),
        ("cubic", {"beta": 0.8}, r"^flow: beta is a parameter of cubic: write params=\{'beta': 0\.8\}$"),
        ("cubic", {"rtt_s": 0.02}, "^flow: rtt_s: give rtt_ms instead$"),
        ("cubic", {"rwnd_pkt": 9}, r"^flow: field 'rwnd_pkt' is unknown; did you mean 'rwnd_pkts'\? [^\n]*$"),
    ],
)
def test_an_unknown_algorithm_or_field_is_refused_in_a_line(cc, settings, expected):
    with pytest.raises(InputError, match=expected):
        flow(cc, rtt_ms=40, **settings)


def test_an_rtt_must_be_a_number_above_zero():
    for rtt_ms in ("20", 0, -1, float("nan"), True):
        with pytest.raises(InputError, match="^flow: it needs the name of an algorithm, and an rtt_ms above 0"):
            flow("cubic", rtt_ms=rtt_ms)


def test_arrays_are_of_flows_and_times(pair):
    assert pair.cwnd_pkts.shape == (2, 220)
    assert pair.queue_pkts.shape == pair.sample_t_s.shape == (220,)
    assert pair.goodput_t_mbps.shape == pair.nru_t_db.shape == (2, 22)
    assert np.allclose(pair.t_s, np.arange(1, 23))
    delivered_bytes = 1448 * pair.result.delivered_pkts[-1]
    assert np.allclose(pair.goodput_t_mbps.sum(axis=1), 8 * delivered_bytes / 1e6)
    assert pair.queue_pkts.max() <= pair.scenario.buffer_pkts + 1
    assert pair.window_s.tolist() == [7.0, 22.0]  # a quarter of the 20 s after the last start is left out


def test_measures_are_those_of_the_papers(pair):
    late = pair.t_s > 7
    r = pair.goodput_t_mbps[:, late]
    assert np.array_equal(pair.jfi_t, fairness.jfi_over_time(pair.goodput_t_mbps), equal_nan=True)
    assert pair.jfi == fairness.mean_jfi(r)
    assert pair.jfi_of_means == fairness.jfi_of_means(r)
    first, second = pair.goodput_mbps
    assert pair.gini == pytest.approx(abs(first - second) / (2 * (first + second)))
    share = first / (first + second)
    assert pair.entropy == pytest.approx(-share * np.log2(share) - (1 - share) * np.log2(1 - share))
    u_db = fairness.nru_over_time_db(r, 1 / pair.self_mbps, 8 * 1448 / 1e6)
    assert pair.nru_db == pytest.approx(fairness.flow_nru_db(u_db), abs=1e-12)
    assert pair.nru_of_mean_db == pytest.approx(fairness.flow_nru_db_of_mean(r, 1 / pair.self_mbps), abs=1e-12)
    events = pair.result.events
    counted = events[(events["kind"] < 2) & (events["t_s"] >= 7)]
    assert pair.losses.tolist() == np.bincount(counted["flow"], minlength=2).tolist()


def test_references_are_runs_among_its_own_kind_and_alone(pair):
    alike = simulate(flow("cubic", rtt_ms=60), flow("cubic", rtt_ms=60, start_s=2), rate_mbps=10, duration_s=22)
    assert pair.self_mbps[1] == alike.goodput_mbps[1]  # its own place: that which starts later
    assert alike.nru_of_mean_db == pytest.approx(0, abs=1e-12)
    alone = simulate(
        flow("cubic", rtt_ms=60, start_s=2),
        rate_mbps=10,
        duration_s=22,
        buffer_pkts=pair.scenario.buffer_pkts,
    )
    assert pair.solo_mbps[1] == alone.goodput_mbps[0]
    assert pair.harm[1] == pytest.approx(1 - pair.goodput_mbps[1] / alone.goodput_mbps[0], abs=1e-12)
    delay = pair.queueing_ms
    assert pair.harm_in_delay[1] == pytest.approx((delay - alone.queueing_ms) / delay, abs=1e-12)
    assert pair.harm_in_loss[1] == pytest.approx(1 - alone.loss_share[0] / pair.loss_share[1], abs=1e-12)
    assert pair.max_min_mbps == pytest.approx([5 * 1448 / 1500] * 2)
    assert pair.ruler("solo") == pytest.approx(1 - pair.harm, abs=1e-12)
    assert pair.ruler("max_min") == pytest.approx(pair.goodput_mbps / pair.max_min_mbps, abs=1e-12)
    with pytest.raises(InputError, match="^ruler: reference 'best' is unknown; known are self, solo, max_min$"):
        pair.ruler("best")


def test_lists_are_axes_and_each_point_is_the_run_by_itself(pair):
    grid = pair.but(buffer_bdp=[0.5, 1], seed=np.arange(3))
    assert grid.shape == (2, 3) and grid.jfi.shape == (2, 3) and grid.harm.shape == (2, 3, 2)
    assert grid.digest[1, 1] == pair.digest
    one = grid.one(buffer_bdp=0.5, seed=2)
    alone = pair.but(buffer_bdp=0.5, seed=2)
    assert one.digest == alone.digest == grid.digest[0, 2]
    assert np.array_equal(grid.nru_db[0, 2], alone.nru_db)
    assert one.but(seed=1).digest == grid.digest[0, 1]
    table = grid.to_pandas()
    assert list(table)[:3] == ["buffer_bdp", "seed", "flow"] and len(table) == 6 * 2 * 22
    chosen = table.query("buffer_bdp == 1 and seed == 1 and flow == 2")
    assert np.array_equal(chosen["goodput_mbps"], pair.goodput_t_mbps[1])
    summary = grid.summary()
    assert len(summary) == 12 and np.array_equal(summary["jfi"], np.repeat(grid.jfi.ravel(), 2))
    assert np.array_equal(summary["nru_db"], grid.nru_db.ravel())
    with pytest.raises(InputError, match=r"^one: give a value of each axis \(buffer_bdp: one of 0.5, 1; seed: "):
        grid.one(seed=1)
    with pytest.raises(InputError, match=r"^scenario: of a single run; this has 6"):
        _ = grid.scenario
    lengths = pair.but(duration_s=[10, 20])
    assert lengths.jfi.shape == (2,)
    with pytest.raises(InputError, match="^t_s: the runs have different numbers of flows or times"):
        _ = lengths.t_s


@pytest.mark.filterwarnings("error")
def test_a_run_too_short_to_average_gives_nan_and_no_warning():
    short = simulate(flow("reno", rtt_ms=40), flow("cubic", rtt_ms=40), rate_mbps=5, duration_s=0.5)
    assert np.isnan(short.jfi) and np.isnan(short.nru_db).all() and np.isnan(short.harm).all()
    late = simulate(flow("reno", rtt_ms=40), flow("cubic", rtt_ms=40, start_s=50), rate_mbps=5, duration_s=20)
    assert np.isnan(late.goodput_mbps).all() and np.isnan(late.summary()["harm"]).all()


def test_runs_stand_side_by_side(pair):
    both = compare({"here": pair, "half": pair.but(buffer_bdp=0.5)})
    assert both.plot()._repr_png_()[0].startswith(PNG)
    assert both.summary()["run"].unique().tolist() == ["here", "half"]
    assert pair.but(seed=range(7)).plot()._repr_png_()[0].startswith(PNG)
    for wrong in ({}, {"a": 1}, {"a": pair.but(seed=[1, 2])}):
        with pytest.raises(InputError, match="^compare: it needs single runs"):
            compare(wrong)
    with pytest.raises(InputError, match="^but: these runs were put together"):
        both.but(seed=2)


def test_a_scenario_object_is_simulated_as_it_is(pair):
    same = simulate(pair.scenario)
    assert same.scenario == pair.scenario and same.digest == pair.digest
    assert same.but(rate_mbps=20).scenario.capacity_bps == 20e6
    assert same.but(duration_s=5).scenario == pair.scenario.model_copy(update={"duration_s": 5.0})
    with pytest.raises(InputError, match="a Scenario is simulated as it is"):
        simulate(pair.scenario, duration_s=5)


def test_the_digest_is_that_of_the_file_for_the_packet_lab(pair, tmp_path):
    (tmp_path / "run.json").write_text(pair.to_json())
    assert digest.digest_of_file(tmp_path / "run.json") == pair.digest
    assert Scenario.model_validate(json.loads(pair.to_json())["scenario"]) == pair.scenario
    silent = pair.but(record=("samples",))
    assert len(silent.result.events) == 0 and silent.digest == pair.digest


def test_axes_have_the_words_of_the_exhibits():
    words = {"goodput_t_mbps": "goodput", "jfi_t": "jfi", "nru_t_db": "nru", "cwnd_pkts": "cwnd", "queue_pkts": "queue"}
    assert {name: OVER_TIME[words[name]].label for name in LABELS} == LABELS


BITS = pd.read_csv(ROOT / "data" / "expected" / "bits.csv")
EXPERIMENTS = {paper: rows["experiment"].iloc[0] for paper, rows in BITS.groupby("paper")}


@pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS.items())
def test_the_bits_are_those_of_the_papers_runs(paper, experiment):
    """The first experiment of each paper, cut short as in the smoke plan, through the library."""
    layout = Layout(ROOT)
    config = load_paper(layout.paper_config(paper))
    smoke_s = float(load_yaml(layout.config / "smoke.yaml")["smoke_duration_s"])
    expected = BITS.query("paper == @paper and experiment == @experiment").set_index("run_id")["sha256"]
    specs = [shorten(spec, smoke_s) for spec in run_specs(config, experiment) if spec.run_id in expected.index[:4]]
    assert specs
    for spec in specs:
        result = simulate(spec.scenario, seed=spec.seed).result
        trace = tables.gather(paper, experiment, [spec], [result], {"backend": "engine"})
        assert hash_of(trace) == expected[spec.run_id]


def test_tables_are_tidy(pair):
    table = pair.to_pandas()
    assert list(table) == ["flow", "cc", "rtt_ms", "t_s", "goodput_mbps", "cwnd_pkts", "queue_pkts", "jfi"]
    assert isinstance(table, pd.DataFrame) and table["cc"].unique().tolist() == ["reno", "cubic"]
    second = table[table["flow"] == 2]
    assert np.array_equal(second["cwnd_pkts"], pair.cwnd_pkts[1, 9::10])


def test_named_axes_and_units(pair):
    pytest.importorskip("xarray", reason="tcpfair[tables] is not installed")
    found = pair.but(seed=[1, 2]).to_xarray()
    assert dict(found.sizes) == {"seed": 2, "flow": 2, "t_s": 22, "sample_t_s": 220}
    assert found.goodput_t_mbps.attrs == {"long_name": "goodput", "units": "Mb/s"}
    assert np.array_equal(found.goodput_t_mbps.sel(seed=1), pair.goodput_t_mbps)
    assert found.label.values.tolist() == pair.labels


def test_what_is_not_installed_is_named_with_the_extra_that_brings_it(pair, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(InputError, match=r"^xarray is not installed; pip install 'tcpfair\[tables\]' brings it$"):
        pair.to_xarray()


def test_losses_that_were_not_recorded_are_not_none():
    settings = {"rate_mbps": 10, "duration_s": 5}
    assert simulate(flow("reno", rtt_ms=20), **settings).losses > 0
    assert np.isnan(simulate(flow("reno", rtt_ms=20), record=["samples"], **settings).losses)


def test_settings_are_taken_when_simulate_is_called():
    """A later change of a flow or of a list has no effect; an array without axes is a value."""
    one, seeds = flow("reno", rtt_ms=40), [1, 2]
    run = simulate(one, rate_mbps=np.asarray(5.0), duration_s=2, seed=seeds)
    one["rtt_s"] = 1.0
    seeds.append(3)
    again = run.but()
    assert run.shape == again.shape == (2,)
    assert again.members[0].scenario == run.members[0].scenario


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda run: simulate(FLOW, rate_mbps=[1, 2], capacity_bps=5e6), "capacity_bps: give rate_mbps instead"),
        (lambda run: run.but(capacity_bps=1e6), "capacity_bps: give rate_mbps instead"),
        (lambda run: simulate(FLOW, cores="2"), "cores: must be a whole number above 0"),
        (lambda run: compare([run]), "it needs single runs of `simulate`, each under its name"),
        (lambda run: simulate(flow("reno", rtt_ms=40, access_queue_pkts=np.inf)), "flows.0.access_queue_pkts: Input"),
        (lambda run: simulate({**FLOW, "foo": 1}), r"flows\.0\.foo: Extra inputs are not permitted \(got 1\)$"),
    ],
)
def test_what_would_have_no_effect_or_fail_later_is_refused(call, expected):
    with pytest.raises(InputError, match=expected):
        call(simulate(FLOW, rate_mbps=5, duration_s=2))


def test_a_run_shorter_than_an_interval_has_an_empty_table():
    assert len(simulate(FLOW, rate_mbps=5, duration_s=0.5).to_pandas()) == 0


def test_a_label_outside_the_basic_plane_survives_the_file(tmp_path):
    run = simulate(flow("reno", rtt_ms=40, protocol="\U0001f600"), rate_mbps=5, duration_s=2)
    path = tmp_path / "run.json"
    path.write_text(run.to_json(), encoding="utf-8")
    assert digest.digest_of_file(path) == run.digest
