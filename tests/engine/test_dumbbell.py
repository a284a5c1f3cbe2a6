"""Runs as Python starts them: samples to the very end, receipt at the receiver, stopping and going on, what does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpfair.engine import dumbbell as engine
from tcpfair.engine.dumbbell import Simulation, run
from tcpfair.errors import InputError
from tcpfair.papers.scenario import Flow, make_scenario
from tests.engine.scenarios import dumbbell

FIELDS = [name for name in engine.Result.__dataclass_fields__]
WEB = {
    "flow": {"protocol": "Web", "cc": "sack", "rtt_s": 0.03, "rwnd_pkts": 44, "iw_pkts": 3, "ack_every": 2},
    "arrivals_per_s": 40.0,
    "sizes": [{"law": "pareto", "share": 1.0, "shape": 1.1, "min_bytes": 9e3, "cap_bytes": 1e7}],
}
TWO_WAY = {"reverse_bps": 12e6, "reverse_buffer_pkts": 30}


def crowded(**changes):
    """Flows of unlike RTTs, access links, short flows in both directions, random losses."""
    flows = [
        {"rtt_s": 0.05, "ack_every": 2, "access_bps": 15e6, "access_jitter_s": 1e-3},
        {"rtt_s": 0.2, "cc": "cubic", "start_s": 0.7},
        {"rtt_s": 0.02, "cc": "ccid2", "stop_s": 9.0},
    ]
    webs = [WEB, WEB | {"flow": WEB["flow"] | {"direction": "reverse"}}]
    plain = dumbbell(*flows, jitter_s=0.001, loss_rate=1e-3, duration_s=20, sample_s=0.1, **TWO_WAY)
    return make_scenario(plain.model_dump() | {"web": webs} | changes)


def assert_same(a, b):
    for name in FIELDS:
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    for name in ("sent", "received", "dropped", "reductions", "timeouts"):
        assert np.array_equal(a.ends[name], b.ends[name]), name


@pytest.mark.parametrize("duration_s", [1.0, 1.05, 1.08, 2.4, 0.3])
@pytest.mark.parametrize("another", [(), ({"rtt_s": 0.02, "start_s": 2.4},)])
def test_every_row_of_samples_is_filled(duration_s, another):
    result = run(dumbbell({"rtt_s": 0.02}, *another, duration_s=duration_s, sample_s=0.1))
    assert len(result.t_s) == int(duration_s / 0.1 + 1e-9)
    assert result.t_s[-1] <= duration_s + 1e-9
    assert (np.diff(result.received_pkts[:, 0]) > 0).all()
    assert (result.cwnd_pkts[:, 0] > 0).all()
    assert (np.diff(result.forwarded_pkts) > 0).all()


@pytest.mark.parametrize(("rtt_s", "ack_every"), [(0.02, 1), (0.1, 2), (0.2, 1), (2.0, 2)])
def test_no_second_brings_more_than_the_link_carries(rtt_s, ack_every):
    flows = [{"rtt_s": 0.02, "cc": "cubic", "ack_every": ack_every}, {"rtt_s": rtt_s, "start_s": 1.0}]
    received = np.diff(run(dumbbell(*flows, duration_s=60, buffer_pkts=60)).received_pkts.sum(axis=1))
    assert received.max() <= 1000 + 1
    assert received[5:].max() > 0.9 * 1000


def test_a_packet_is_counted_when_it_is_there_and_not_when_its_ack_is_back():
    result = run(dumbbell({"rtt_s": 0.5, "iw_pkts": 2}, duration_s=1.0, sample_s=0.1))
    assert result.received_pkts[:, 0].tolist()[:5] == [2] * 5  # the ACKs are back at 0.5 s


def test_what_lies_beyond_a_hole_is_received_and_not_delivered():
    result = run(dumbbell({"rtt_s": 0.3}, buffer_pkts=5, duration_s=30, sample_s=0.01, loss_rate=3e-3))
    waiting = result.received_pkts[:, 0] - result.delivered_pkts[:, 0]
    assert waiting.min() == 0
    assert waiting.max() > 3
    assert (np.diff(result.delivered_pkts[:, 0]) >= 0).all()


@settings(max_examples=12)
@given(st.lists(st.floats(0.0, 21.0), max_size=12))
def test_where_a_run_stops_changes_nothing(stops):
    simulation = Simulation(crowded(), seed=3, log_events=True)
    for until_s in sorted(stops):
        simulation.advance(until_s)
    simulation.advance(20.0)
    assert_same(simulation.result(), run(crowded(), seed=3, log_events=True))


def test_a_stopped_run_has_the_samples_up_to_there():
    simulation = Simulation(crowded(), seed=3)
    whole = run(crowded(), seed=3)
    assert simulation.sampled_s == 0.0
    for until_s in (0.05, 7.35, 7.35, 3.0, 12.05):
        simulation.advance(until_s)
        part = simulation.result()
        n = len(part.t_s)
        assert n == int(max(until_s, 7.35 if until_s == 3.0 else 0) / 0.1 + 1e-9)
        assert simulation.sampled_s == pytest.approx(n * 0.1)
        assert np.array_equal(part.received_pkts, whole.received_pkts[:n])
        assert np.array_equal(part.web_active, whole.web_active[:, :n])


def test_small_first_arrays_grow_and_give_the_same(monkeypatch):
    expected = run(crowded(), seed=5, log_events=True)
    monkeypatch.setattr(engine, "_POOL_SLOTS", 1)
    monkeypatch.setattr(engine, "_LOG_ROWS", engine.LOG_RESERVE + 1)
    small = Simulation(crowded(), seed=5, log_events=True)
    sizes = []
    for k in range(1, 21):
        small.advance(float(k))
        sizes.append(len(small._blocks["ring"]))
    assert_same(small.result(), expected)
    assert sizes[-1] > sizes[0]
    assert len(small._ends) > 3 + 1 + 1
    assert len(expected.events) > engine.LOG_RESERVE + 1


DENSE = WEB | {"arrivals_per_s": 1e12}
ENDLESS = WEB | {"arrivals_per_s": float("inf")}
FAR = WEB | {"rtt_extra_mean_s": 1e299, "rtt_cap_s": 1e300}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"duration_s": 1e9, "sample_s": 1e-3}, "1e+12 samples of 1 flows need 8e+04 GB, .* a longer sample_s"),
        ({"duration_s": 1e200, "sample_s": 1e-100}, "1e+300 samples of 1 flows"),
        ({"duration_s": float("inf")}, "inf samples of 1 flows"),
        ({"capacity_bps": 1e15, "rtt_s": 10.0}, "packets in flight need .* GB, .* a lower capacity_bps times rtt_s"),
        ({"jitter_s": 1e300}, "packets in flight .* jitter_s"),
        ({"iw_pkts": float("inf")}, "inf packets in flight"),
        ({"iw_pkts": 1e18}, "1e+18 packets in flight"),
        ({"access_bps": 1e7, "access_queue_pkts": 1e18}, "1e+18 packets in flight"),
        ({"access_bps": 1e7, "access_jitter_s": 1e300}, "packets in flight"),
        ({"reverse_bps": 1e7, "reverse_buffer_pkts": float("inf")}, "inf packets in flight"),
        ({"web": [DENSE]}, "1e+13 short flows need 1.2e+06 GB, .* a lower arrivals_per_s"),
        ({"web": [ENDLESS]}, "inf short flows"),
        ({"web": [WEB], "duration_s": 1e12, "sample_s": 1e12}, "4e+13 short flows"),
        ({"web": [FAR]}, "packets in flight"),
    ],
)
def test_what_is_beyond_the_memory_is_refused_before_it_is_allocated(changes, says):
    of_flow = {name: changes[name] for name in changes if name in Flow.model_fields}
    of_run = {name: changes[name] for name in changes if name not in Flow.model_fields}
    plain = dumbbell({"rtt_s": 0.02} | of_flow, duration_s=10, sample_s=1)
    with pytest.raises(InputError, match=f"^scenario: .*{says.replace('+', '[+]')}"):
        run(make_scenario(plain.model_dump() | of_run))


def test_more_short_flows_at_once_than_the_memory_holds_end_the_run(monkeypatch):
    slow = crowded(capacity_bps=1e6, web=[WEB])
    monkeypatch.setattr(engine, "_POOL_SLOTS", 8)
    assert run(slow).web_active.max() > 16
    monkeypatch.setattr(engine, "memory_bytes", lambda: 3_000_000)
    monkeypatch.setattr(engine, "_BYTES_A_FLOW", 150_000)
    with pytest.raises(InputError, match=r"^scenario: \d+ flows at once after .* s need .* a lower arrivals_per_s"):
        run(slow)
