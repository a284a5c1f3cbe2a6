"""Short flows: their law of arrival, and that a pooled flow is a flow like any other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tcpfair.engine import dumbbell as engine
from tcpfair.engine.dumbbell import run
from tcpfair.engine.traffic import arrivals_of
from tcpfair.papers.scenario import make_scenario
from tests.engine.scenarios import PACKET_BYTES, dumbbell

LOGNORMAL = {"law": "lognormal", "share": 0.93, "mu": 9.357, "sigma": 1.318}
PARETO = {"law": "pareto", "share": 0.07, "shape": 1.1, "min_bytes": 133e3, "cap_bytes": 1e8}
SHORT = {"protocol": "Web", "cc": "sack", "rtt_s": 0.03, "rwnd_pkts": 44, "iw_pkts": 3, "ack_every": 2}


def with_web(*webs: dict, **changes):
    """A slow dumbbell with two long flows and these sources."""
    plain = dumbbell({"rtt_s": 0.05}, {"rtt_s": 0.09, "start_s": 1}, jitter_s=0.002, duration_s=60, **changes)
    return make_scenario(plain.model_dump() | {"web": list(webs)})


def source(direction: str = "forward", **changes) -> dict:
    values = {"flow": SHORT | {"direction": direction}, "arrivals_per_s": 5.0, "sizes": [LOGNORMAL, PARETO]}
    return values | changes


def explicit(scenario, arrivals):
    """The same scenario with every short flow as a flow of its own."""
    short = [
        scenario.web[a["source"]].flow.model_dump()
        | {"start_s": float(a["start_s"]), "rtt_s": float(a["rtt_s"]), "size_pkts": float(a["size"])}
        for a in arrivals
    ]
    flows = [*(flow.model_dump() for flow in scenario.flows), *short]
    return make_scenario(scenario.model_dump() | {"web": [], "flows": flows})


@pytest.mark.parametrize(
    "changes", [{}, {"reverse_bps": 12e6, "reverse_buffer_pkts": 30}], ids=["one way", "both ways"]
)
def test_a_pooled_flow_is_a_flow_like_any_other(changes):
    webs = [source(rtt_extra_mean_s=0.05, rtt_cap_s=0.5), *([source("reverse")] if changes else [])]
    scenario = with_web(*webs, **changes)
    pooled = run(scenario, seed=5, log_events=True)
    assert len(pooled.arrivals) > 200
    single = run(explicit(scenario, pooled.arrivals), seed=5, log_events=True)

    for name in ("forwarded_pkts", "dropped_pkts", "queue_pkts"):
        assert np.array_equal(getattr(pooled, name), getattr(single, name)), name
    assert np.array_equal(pooled.cwnd_pkts, single.cwnd_pkts[:, :2])
    assert pooled.dropped_pkts[-1] > 50
    for number in range(len(webs)):  # the second source is that of the reverse direction
        mine = np.flatnonzero(pooled.arrivals["source"] == number) + 2
        assert np.array_equal(pooled.web_delivered_pkts[number], single.delivered_pkts[:, mine].sum(axis=1))
        assert np.array_equal(pooled.web_received_pkts[number], single.received_pkts[:, mine].sum(axis=1))


def test_the_size_of_the_pool_does_not_matter(monkeypatch):
    scenario = with_web(source(arrivals_per_s=30.0))
    result = run(scenario, seed=2)
    assert result.web_active.max() > 16
    monkeypatch.setattr(engine, "_POOL_SLOTS", 2)
    small = run(scenario, seed=2)
    assert np.array_equal(result.cwnd_pkts, small.cwnd_pkts)
    assert np.array_equal(result.web_delivered_pkts, small.web_delivered_pkts)


def test_active_flows_are_those_that_arrived_and_have_not_finished():
    scenario = with_web(source(sizes=[{**PARETO, "min_bytes": 1e4, "cap_bytes": 1e4}], arrivals_per_s=2.0))
    result = run(scenario, seed=1)
    size = int(result.arrivals["size"][0])
    assert size == math.ceil(1e4 / scenario.payload_bytes)
    arrived = np.searchsorted(result.arrivals["start_s"], result.t_s)
    left_pkts = arrived * size - result.web_delivered_pkts[0]
    assert np.all(left_pkts >= 0)
    assert np.all(left_pkts <= result.web_active[0] * size)
    assert result.web_delivered_pkts[0, -1] > 0.9 * arrived[-1] * size


def one_law(law: dict, **changes):
    web = source(sizes=[law], arrivals_per_s=2000.0, **changes)
    return make_scenario(with_web(web).model_dump() | {"payload_bytes": 1.0, "wire_bytes": PACKET_BYTES})


def test_arrivals_are_poisson():
    start_s = arrivals_of(one_law(LOGNORMAL), seed=1)["start_s"]
    gaps_s = np.diff(start_s)
    n = len(start_s)
    assert n == pytest.approx(60 * 2000, abs=4 * math.sqrt(60 * 2000))
    assert gaps_s.std() == pytest.approx(gaps_s.mean(), rel=0.02)
    for quantile in (0.1, 0.5, 0.9):
        assert np.quantile(gaps_s, quantile) == pytest.approx(-math.log(1 - quantile) / 2000, rel=0.03)


def test_log_normal_sizes():
    ln = np.log(arrivals_of(one_law(LOGNORMAL), seed=3)["size"])
    n = len(ln)
    assert ln.mean() == pytest.approx(9.357, abs=5 * 1.318 / math.sqrt(n))
    assert ln.std() == pytest.approx(1.318, rel=5 / math.sqrt(2 * n))
    assert np.quantile(ln, 0.975) == pytest.approx(9.357 + 1.95996 * 1.318, rel=0.01)


def test_pareto_sizes_and_their_cap():
    size = arrivals_of(one_law(PARETO), seed=3)["size"]
    assert size.min() >= 133e3
    assert size.max() == 1e8
    for share in (0.5, 0.1, 0.01):  # P(X > x) = (b/x)^a
        assert np.quantile(size, 1 - share) == pytest.approx(133e3 * share ** (-1 / 1.1), rel=0.1)


def test_shares_of_the_laws_and_round_trip_times():
    web = source(arrivals_per_s=2000.0, rtt_extra_mean_s=0.1, rtt_cap_s=0.4)
    rows = arrivals_of(with_web(web), seed=3)
    rtt_s = rows["rtt_s"]
    assert rtt_s.min() == pytest.approx(0.03, abs=1e-4)
    assert rtt_s.max() == 0.4
    assert np.median(rtt_s) == pytest.approx(0.03 + 0.1 * math.log(2), rel=0.02)
    big = rows["size"] >= 133e3 / PACKET_BYTES
    by_chance = 0.93 * 0.5 * math.erfc((math.log(133e3) - 9.357) / 1.318 / math.sqrt(2))
    assert big.mean() == pytest.approx(0.07 + by_chance, abs=0.005)


def test_seeds_and_sources_have_streams_of_their_own():
    one = with_web(source(), source())
    rows = arrivals_of(one, seed=1)
    first, second = (rows["start_s"][rows["source"] == number] for number in (0, 1))
    assert abs(len(first) - len(second)) < 120
    assert not np.isin(first, second).any()
    assert np.all(np.diff(rows["start_s"]) >= 0)
    assert not np.array_equal(rows["start_s"], arrivals_of(one, seed=2)["start_s"])
    assert np.array_equal(rows, arrivals_of(one, seed=1))


def test_a_flow_under_way_when_its_source_stops_goes_on():
    web = source(arrivals_per_s=3.0)
    web["flow"] = web["flow"] | {"stop_s": 30.0}
    result = run(with_web(web), seed=4)
    assert result.arrivals["start_s"].max() < 30
    assert result.web_active[0, 29] > 0
    assert result.web_active[0, -1] == 0
    assert result.web_delivered_pkts[0, -1] == result.arrivals["size"].sum()
