"""Scenarios of one's own."""

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.exhibits.workbench import bench, compare, flow, table
from tcpfair.metrics import fairness

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def pair():
    return bench(flow("reno", rtt_ms=20), flow("cubic", rtt_ms=60, start_s=2), rate_mbps=10, duration_s=22)


def test_a_scenario_has_what_was_given_and_what_is_said_of_the_rest():
    made = bench(flow("reno", rtt_ms=40), flow("reno", rtt_ms=120, params={"beta": 0.5}), rate_mbps=12, buffer_bdp=0.5)
    scenario = made.scenario
    assert (scenario.capacity_bps, scenario.wire_bytes, scenario.payload_bytes) == (12e6, 1500, 1448)
    assert scenario.buffer_pkts == pytest.approx(0.5 * 12e6 * 0.120 / 12000)
    assert scenario.jitter_s == pytest.approx(3 * 0.001)  # three packets of a millisecond
    assert [each.rtt_s for each in scenario.flows] == [0.04, 0.12]
    assert made.labels == ["reno, 40 ms", "reno, 120 ms"]
    other = made.but(loss_rate=0.01, buffer_pkts=33, seed=7)
    assert (other.scenario.buffer_pkts, other.scenario.loss_rate, other.seed) == (33, 0.01, 7)
    assert other.scenario.flows == scenario.flows
    assert other.but(buffer_bdp=1).scenario.buffer_pkts == pytest.approx(120)
    assert made.but(flow("cubic", rtt_ms=10)).labels == ["cubic, 10 ms"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"buffer_bdp": 1, "buffer_pkts": 10}, "bench: give buffer_bdp or buffer_pkts, not both"),
        ({"rate_mbps": 0}, "bench: it needs a flow, and a rate_mbps above 0"),
        ({"lossrate": 0.1}, "bench: lossrate: Extra inputs are not permitted"),
        ({"duration_s": -1}, "bench: duration_s: Input should be greater than 0"),
    ],
)
def test_what_no_run_can_have_is_refused_in_a_line(given, said):
    with pytest.raises(InputError, match=f"^{said}[^\n]*$"):
        bench(flow("reno", rtt_ms=40), **given)


def test_an_unknown_algorithm_is_refused_in_a_line():
    with pytest.raises(InputError, match=r"^cc: unknown protocol 'cubicc'[^\n]*$"):
        bench(flow("cubicc", rtt_ms=40)).summary()


def test_arrays_are_of_flows_and_times(pair):
    assert pair.cwnd_pkts.shape == (2, 220)
    assert pair.queue_pkts.shape == pair.sample_t_s.shape == (220,)
    assert pair.goodput_mbps.shape == pair.u_db.shape == (2, 22)
    assert np.allclose(pair.t_s, np.arange(1, 23))
    delivered_bytes = 1448 * pair.result.delivered_pkts[-1]
    assert np.allclose(pair.goodput_mbps.sum(axis=1), 8 * delivered_bytes / 1e6)
    assert pair.queue_pkts.max() <= pair.scenario.buffer_pkts + 1
    assert pair.window_s == (7.0, 22.0)  # a quarter of the 20 s after the last start is left out


def test_measures_are_the_librarys(pair):
    late = pair.t_s > 7
    assert np.allclose(pair.jfi_t, fairness.jfi_over_time(pair.goodput_mbps), equal_nan=True)
    summary = pair.summary()
    assert summary.loc["all", "J(t), mean"] == pytest.approx(fairness.mean_jfi(pair.goodput_mbps[:, late]))
    assert summary.loc["all", "J of means"] == pytest.approx(fairness.jfi(pair.means_mbps))
    assert summary["U_n (dB)"].iloc[:2].to_numpy() == pytest.approx(pair.u_db[:, late].mean(axis=1))
    events = pair.result.events
    counted = events[(events["kind"] < 2) & (events["t_s"] >= 7)]
    assert summary["losses"].to_list() == [*np.bincount(counted["flow"], minlength=2), len(counted)]


def test_weights_come_from_runs_in_which_all_flows_are_as_the_flow_is(pair):
    alike = [flow("cubic", rtt_ms=60), flow("cubic", rtt_ms=60, start_s=2)]
    own = bench(*alike, rate_mbps=10, duration_s=22)
    assert np.allclose(pair.of_self_mbps[1], own.means_mbps)
    assert pair.weights[1] == pytest.approx(1 / own.means_mbps[1])  # its own place: that which starts later
    assert np.allclose(fairness.flow_nru_db_of_mean(own.goodput_mbps[:, own.t_s > 7], own.weights), 0)


def test_runs_stand_side_by_side(pair):
    runs = {"here": pair, "half": pair.but(buffer_bdp=0.5)}
    assert compare(runs).data.startswith(PNG)
    assert pair.plot().data.startswith(PNG)
    assert table(runs).index.get_level_values(0).unique().to_list() == ["here", "half"]
    with pytest.raises(InputError, match="compare: it needs a run"):
        compare({})
