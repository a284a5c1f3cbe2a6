"""The packet view's recorder, held against the records of the engine."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.web.node import needs_node, recorded

pytestmark = needs_node

LINK = {"capacity_bps": 2e6, "wire_bytes": 1500, "payload_bytes": 1460, "duration_s": 3.0, "sample_s": 3.0}
FLOW = {"protocol": "Reno", "cc": "sack", "rtt_s": 0.06, "access_bps": 10e6, "iw_pkts": 2}
SERVICE_S = 0.006
CASES = {
    "overshoot": {**LINK, "buffer_pkts": 10, "flows": [FLOW]},
    "at_once": {**LINK, "buffer_pkts": 10, "flows": [{**FLOW, "access_bps": 0}]},
    "random": {
        **LINK,
        "buffer_pkts": 10,
        "loss_rate": 0.05,
        "jitter_s": 0.01,
        "flows": [FLOW, {**FLOW, "rtt_s": 0.02}],
    },
    "newreno": {**LINK, "buffer_pkts": 5, "flows": [{**FLOW, "recovery": "newreno", "ack_every": 2}]},
    "two_way": {
        **LINK,
        "buffer_pkts": 8,
        "reverse_bps": 2e6,
        "reverse_buffer_pkts": 8,
        "flows": [FLOW, {**FLOW, "direction": "reverse", "start_s": 0.1, "access_jitter_s": 0.02}],
    },
    "ccid2": {**LINK, "buffer_pkts": 6, "flows": [{**FLOW, "cc": "ccid2"}, {**FLOW, "cc": "cubic", "iw_pkts": 10}]},
}


@pytest.fixture(scope="module")
def recordings(parts):
    return recorded({name: (scenario, 3.0) for name, scenario in CASES.items()}, *parts)


@pytest.fixture(params=CASES)
def case(request, recordings):
    """A recording, and in ``scenario`` what it is of."""
    recordings[request.param].scenario = CASES[request.param]
    return recordings[request.param]


def of_flow(table, i):
    return table[table.flow == i]


def of_link(case, d):
    return case.packets[case.packets.direction == d] if case.two_way else case.packets


def test_every_packet_that_the_engine_counts_is_there_once(case):
    for i, end in enumerate(case.ends):
        packets = of_flow(case.packets, i)
        assert len(packets) == end["sent"] > 20
        assert (packets.again != 0).sum() == end["resent"]
        assert packets.lost.notna().sum() == end["dropped"]
        assert np.isfinite(packets.acked_s).sum() == end["head"]  # packets that the sender knows to have arrived


def test_losses_in_the_queue_and_on_the_link_are_told_apart(case):
    for d, link in enumerate(case.links):
        lost = of_link(case, d).lost
        assert (lost == "queue").sum() == link["dropped"]
        assert (lost == "link").any() == (case.scenario.get("loss_rate", 0.0) > 0)


def test_the_link_carries_one_packet_at_a_time_and_in_the_order_of_the_queue(case):
    for d, link in enumerate(case.links):
        through = of_link(case, d).dropna(subset="leave_s").sort_values("leave_s")
        least_s = link["service_s"] * (1 - 1e-9)
        assert (through.leave_s.diff()[1:] > least_s).all()
        assert (through.leave_s - through.enter_s > least_s).all()
        assert through.enter_s.is_monotonic_increasing


def test_what_was_dropped_found_a_full_queue(case):
    if case.two_way or case.scenario.get("loss_rate"):
        return
    packets, room = case.packets, math.floor(case.scenario["buffer_pkts"])
    dropped = packets.enter_s[packets.lost == "queue"]
    assert len(dropped)
    for at_s in dropped:
        is_there = (packets.enter_s <= at_s) & (at_s < packets.leave_s - SERVICE_S * (1 + 1e-9))
        assert room <= is_there.sum() <= room + 1


def test_packets_take_the_path_that_the_scenario_has(case):
    assert (case.packets.sent_s <= case.packets.enter_s).all()
    if case.two_way:
        return
    jitter_s = case.scenario.get("jitter_s", 0.0)
    for i, flow in enumerate(case.scenario["flows"]):
        packets = of_flow(case.packets, i)
        arrived = packets[packets.lost.isna()]
        most_s = flow["rtt_s"] + jitter_s + SERVICE_S * 20 * (jitter_s > 0)
        assert (arrived.heard_s - arrived.leave_s).between(flow["rtt_s"] - 1e-9, most_s + 1e-9).all()
        assert (arrived.acked_s >= arrived.heard_s - 1e-9).all()
        acked = packets[np.isfinite(packets.acked_s)]
        # an ACK of every packet is heard when the ring says
        assert np.allclose(acked.acked_s, acked.heard_s, rtol=1e-6, atol=1e-12) or flow.get("ack_every", 1) > 1


def test_acks_on_a_shared_link_come_in_order_and_after_their_wait(case):
    if not case.two_way:
        assert case.acks.empty
        return
    for i, flow in enumerate(case.scenario["flows"]):
        acks = of_flow(case.acks, i)
        assert len(acks) == case.ends[i]["acks_tail"] > 20
        assert acks.heard_s.is_monotonic_increasing and acks["next"].is_monotonic_increasing
        assert np.allclose(acks.heard_s, acks.leave_s + flow["rtt_s"] / 2, rtol=1e-6)


def test_windows_of_the_events_are_those_of_the_engine(case):
    for i, end in enumerate(case.ends):
        events = of_flow(case.events, i)
        assert events.cwnd.iloc[-1] == max(end["cwnd"], end["halving_limit"])
        assert events[["reduced", "heard", "began"]].sum().tolist() == [end["reductions"], end["head"], 1]
