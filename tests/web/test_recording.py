"""The packet view's recorder, on runs of the native engine that are stopped after every event."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import pytest

from tests.web import node
from tests.web.node import needs_node
from tests.web.replay import frames

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


@cache
def recordings() -> dict[str, tuple[list, dict]]:
    """Frames and recording of every case."""
    taken = {name: frames(values, 1, 3.0) for name, values in CASES.items()}
    asked = [{"flows": len(CASES[name]["flows"]), "until_s": 3.0, "frames": taken[name]} for name in CASES]
    [found] = node.run(node.HERE / "replay.cjs", stdin=asked)
    return {name: (taken[name], recording) for name, recording in zip(CASES, found, strict=True)}


@pytest.fixture(params=CASES)
def case(request):
    """Scenario, frames and recording."""
    return CASES[request.param], *recordings()[request.param]


def packets_of(recording, flow):
    return [packet for packet in recording["packets"] if packet["flow"] == flow]


def test_every_packet_that_the_engine_counts_is_there_once(case):
    _, taken, recording = case
    for i, end in enumerate(taken[-1]["ends"]):
        packets = packets_of(recording, i)
        assert len(packets) == end["sent"] > 20
        assert sum(packet["again"] != 0 for packet in packets) == end["resent"]
        assert sum(packet["lost"] is not None for packet in packets) == end["dropped"]
        acknowledged = sum(packet["acked_s"] is not None for packet in packets)
        assert acknowledged == end["head"]  # packets that the sender knows to have arrived


def test_losses_in_the_queue_and_on_the_link_are_told_apart(case):
    scenario, taken, recording = case
    for d, link in enumerate(taken[-1]["links"]):
        of_link = [p for p in recording["packets"] if (p["direction"] if recording["two_way"] else 0) == d]
        assert sum(p["lost"] == "queue" for p in of_link) == link["dropped"]
        assert (sum(p["lost"] == "link" for p in of_link) > 0) == (scenario.get("loss_rate", 0.0) > 0)


def test_the_link_carries_one_packet_at_a_time_and_in_the_order_of_the_queue(case):
    _, _, recording = case
    for d in range(len(recording["links"])):
        service_s = recording["links"][d]["service_s"]
        through = [p for p in recording["packets"] if p["direction"] == d or not recording["two_way"]]
        through = sorted((p for p in through if p["leave_s"] is not None), key=lambda p: p["leave_s"])
        assert all(b["leave_s"] - a["leave_s"] > service_s * (1 - 1e-9) for a, b in pairwise(through))
        assert all(a["enter_s"] <= b["enter_s"] for a, b in pairwise(through))
        assert all(p["leave_s"] - p["enter_s"] > service_s * (1 - 1e-9) for p in through)


def test_what_was_dropped_found_a_full_queue(case):
    scenario, _, recording = case
    if recording["two_way"] or scenario.get("loss_rate"):
        return
    leaving = [(p["enter_s"], p["leave_s"]) for p in recording["packets"] if p["leave_s"] is not None]
    dropped = [p["enter_s"] for p in recording["packets"] if p["lost"] == "queue"]
    assert dropped
    for at_s in dropped:
        there = [out_s for in_s, out_s in leaving if in_s <= at_s < out_s - SERVICE_S * (1 + 1e-9)]
        assert math.floor(scenario["buffer_pkts"]) <= len(there) <= math.floor(scenario["buffer_pkts"]) + 1


def test_packets_take_the_path_that_the_scenario_has(case):
    scenario, _, recording = case
    jitter_s = scenario.get("jitter_s", 0.0)
    for i, flow in enumerate(scenario["flows"]):
        for p in packets_of(recording, i):
            assert p["sent_s"] <= p["enter_s"]
            if recording["two_way"] or p["lost"]:
                continue
            path_s = p["heard_s"] - p["leave_s"]
            assert flow["rtt_s"] - 1e-9 <= path_s <= flow["rtt_s"] + jitter_s + SERVICE_S * 20 * (jitter_s > 0) + 1e-9
            if p["acked_s"] is not None:
                assert p["acked_s"] >= p["heard_s"] - 1e-9


def test_an_ack_of_every_packet_is_heard_when_its_ring_says(case):
    scenario, _, recording = case
    if recording["two_way"]:
        return
    for i, flow in enumerate(scenario["flows"]):
        for p in packets_of(recording, i):
            if p["acked_s"] is not None and flow.get("ack_every", 1) == 1:
                assert p["acked_s"] == pytest.approx(p["heard_s"], abs=1e-12)


def test_acks_on_a_shared_link_come_in_order_and_after_their_wait(case):
    scenario, taken, recording = case
    if not recording["two_way"]:
        assert recording["acks"] == []
        return
    for i, flow in enumerate(scenario["flows"]):
        acks = [ack for ack in recording["acks"] if ack["flow"] == i]
        assert len(acks) == taken[-1]["ends"][i]["acks_tail"] > 20
        assert all(a["heard_s"] <= b["heard_s"] and a["next"] <= b["next"] for a, b in pairwise(acks))
        assert all(ack["heard_s"] == pytest.approx(ack["leave_s"] + flow["rtt_s"] / 2) for ack in acks)


def test_windows_of_the_events_are_those_of_the_engine(case):
    _, taken, recording = case
    for i, state in enumerate(taken[-1]["states"]):
        events = [event for event in recording["events"] if event["flow"] == i]
        assert events[-1]["cwnd"] == max(state["cwnd"], taken[-1]["ends"][i]["halving_limit"])
        assert sum(event["reduced"] for event in events) == taken[-1]["ends"][i]["reductions"]
        assert sum(event["heard"] for event in events) == taken[-1]["ends"][i]["head"]
        assert sum(event["began"] for event in events) == 1
