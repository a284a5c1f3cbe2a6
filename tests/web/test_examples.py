"""The stretches that the packet view offers show what their captions and the tour of packets say."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

from tcpfair.web.schema import examples
from tests.web import node
from tests.web.node import needs_node
from tests.web.replay import frames

pytestmark = needs_node
PACKET_S = 0.006


@cache
def recorded():
    """Each example by its name, from the beginning of its run to the end of its stretch."""
    chosen = examples()
    cases = []
    for example in chosen.values():
        until_s = example["from_s"] + example["length_s"]
        flows = len(example["scenario"]["flows"])
        cases.append({"flows": flows, "until_s": until_s, "frames": frames(example["scenario"], 1, until_s)})
    [found] = node.run(node.HERE / "replay.cjs", stdin=cases)
    return {name: (chosen[name], recording) for name, recording in zip(chosen, found, strict=True)}


def losses(recording, flow=0):
    return [packet for packet in recording["packets"] if packet["lost"] and packet["flow"] == flow]


def events(recording, what, flow=0):
    return [event for event in recording["events"] if event[what] and event["flow"] == flow]


def longest_queue(recording, from_s):
    steps = [(p["enter_s"], 1) for p in recording["packets"] if p["leave_s"] is not None]
    steps += [(p["leave_s"] - PACKET_S, -1) for p in recording["packets"] if p["leave_s"] is not None]
    queue, longest = 0, 0
    for at_s, change in sorted(steps):
        queue += change
        longest = max(longest, queue if at_s > from_s else 0)
    return longest


def test_acks_are_the_clock():
    _, recording = recorded()["ACK clocking"]
    sent_s = [p["sent_s"] for p in recording["packets"] if p["sent_s"] > 0.1]
    assert all(b - a == pytest.approx(PACKET_S) for a, b in pairwise(sent_s))
    assert longest_queue(recording, 0.2) <= 1
    assert not losses(recording)


def test_slow_start_loses_about_what_fits():
    _, recording = recorded()["Slow-start overshoot"]
    noticed = events(recording, "reduced")[0]
    assert sum(p["enter_s"] < noticed["t_s"] for p in losses(recording)) == 24
    assert longest_queue(recording, 0) <= 11


def test_a_loss_is_noticed_a_round_trip_later_and_repaired_in_another():
    example, recording = recorded()["A loss and its recovery"]
    first, second = losses(recording)
    [noticed], [ended] = events(recording, "reduced"), events(recording, "ended")
    assert example["from_s"] < first["enter_s"] < second["enter_s"] < noticed["t_s"] < ended["t_s"] < 1.5
    assert 0.12 < noticed["t_s"] - first["enter_s"] < 0.15
    assert noticed["cwnd"] == pytest.approx(noticed["cwnd_before"] / 2)
    assert round(ended["t_s"] - noticed["t_s"], 2) == 0.21
    silent = [e for e in events(recording, "sent") if noticed["t_s"] < e["t_s"] < noticed["t_s"] + 0.06]
    assert not silent


def test_without_sack_a_hole_takes_a_round_trip():
    example, recording = recorded()["Recovery without SACK"]
    ended = events(recording, "ended")[0]
    again = [p for p in recording["packets"] if p["again"] and p["sent_s"] < ended["t_s"]]
    assert len(again) == 24
    assert all(b["sent_s"] - a["sent_s"] > 0.06 for a, b in pairwise(again))
    assert ended["t_s"] < example["from_s"] + example["length_s"]


def test_delayed_acks_send_in_pairs():
    _, recording = recorded()["Delayed ACKs"]
    heard = [event for event in events(recording, "heard") if event["t_s"] > 0.3]
    assert all(event["heard"] == 2 and len(event["sent"]) >= 2 for event in heard)


def test_the_near_flow_grows_faster():
    example, recording = recorded()["Two flows in one queue"]
    assert losses(recording, 0) and losses(recording, 1)

    def grown(flow):
        """Packets per second that its window gains outside recovery."""
        own = [event for event in recording["events"] if event["flow"] == flow and event["t_s"] > example["from_s"]]
        gains = [b["cwnd"] - a["cwnd"] for a, b in pairwise(own) if b["mode"] == a["mode"] == "congestion avoidance"]
        return sum(gain for gain in gains if gain > 0)

    assert grown(0) > 1.2 * grown(1)


def test_packets_of_a_full_queue_keep_their_distance_to_the_beat():
    """The second step of the tour *Phase*: between changes of a flow's window its packets arrive at few phases."""
    _, recording = recorded()["Two flows in one queue"]
    [first_s] = [min(packet["enter_s"] for packet in losses(recording, 0) + losses(recording, 1))]
    for flow in (0, 1):
        after = [
            p["enter_s"] for p in recording["packets"] if p["flow"] == flow and first_s < p["enter_s"] < first_s + 0.5
        ]
        phases = {round(at_s / PACKET_S % 1.0, 3) % 1.0 for at_s in after}
        assert len(after) > 20 and len(phases) < len(after) / 5, phases


def test_acks_come_in_bunches_behind_data():
    _, recording = recorded()["ACKs that share a link with data"]
    heard_s = [ack["heard_s"] for ack in recording["acks"] if ack["flow"] == 0 and ack["enter_s"] > 0.5]
    gaps_s = [b - a for a, b in pairwise(heard_s)]
    assert min(gaps_s) < PACKET_S / 4
    assert max(gaps_s) > 2 * PACKET_S
