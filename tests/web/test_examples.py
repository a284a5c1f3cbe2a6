"""The stretches that the packet view offers show what their captions and the tour of packets say."""

from __future__ import annotations

import numpy as np
import pytest

from tcpfair.web.schema import examples
from tests.web.node import needs_node
from tests.web.replay import recorded

pytestmark = needs_node
PACKET_S = 0.006


@pytest.fixture(scope="module")
def example():
    """A function: by its name an example's recording, from the beginning of its run to the end of its stretch."""
    found = recorded({name: (each["scenario"], each["from_s"] + each["length_s"]) for name, each in examples().items()})
    return found.get


def losses(recording, flow=0):
    return recording.packets[recording.packets.lost.notna() & (recording.packets.flow == flow)]


def events(recording, what, flow=0):
    return recording.events[recording.events[what].astype(bool) & (recording.events.flow == flow)]


def longest_queue(recording, from_s):
    accepted = recording.packets.dropna(subset="leave_s")
    steps = [*((s, 1) for s in accepted.enter_s), *((s - PACKET_S, -1) for s in accepted.leave_s)]
    at_s, change = np.array(sorted(steps)).T
    return change.cumsum()[at_s > from_s].max()


def test_acks_are_the_clock(example):
    recording = example("ACK clocking")
    sent_s = recording.packets.sent_s
    assert np.allclose(sent_s[sent_s > 0.1].diff()[1:], PACKET_S, rtol=1e-6)
    assert longest_queue(recording, 0.2) <= 1
    assert losses(recording).empty


def test_slow_start_loses_about_what_fits(example):
    recording = example("Slow-start overshoot")
    noticed_s = events(recording, "reduced").t_s.iloc[0]
    assert (losses(recording).enter_s < noticed_s).sum() == 24
    assert longest_queue(recording, 0) <= 11


def test_a_loss_is_noticed_a_round_trip_later_and_repaired_in_another(example):
    recording = example("A loss and its recovery")
    first_s, second_s = losses(recording).enter_s
    [noticed], [ended_s] = events(recording, "reduced").itertuples(), events(recording, "ended").t_s
    from_s = examples()["A loss and its recovery"]["from_s"]
    assert from_s < first_s < second_s < noticed.t_s < ended_s < 1.5
    assert 0.12 < noticed.t_s - first_s < 0.15
    assert noticed.cwnd == pytest.approx(noticed.cwnd_before / 2)
    assert round(ended_s - noticed.t_s, 2) == 0.21
    after_s = events(recording, "sent").t_s - noticed.t_s
    assert not ((after_s > 0) & (after_s < 0.06)).any()


def test_without_sack_a_hole_takes_a_round_trip(example):
    recording = example("Recovery without SACK")
    ended_s, packets = events(recording, "ended").t_s.iloc[0], recording.packets
    again_s = packets.sent_s[(packets.again != 0) & (packets.sent_s < ended_s)]
    assert len(again_s) == 24
    assert (again_s.diff()[1:] > 0.06).all()
    assert ended_s < recording.until_s


def test_delayed_acks_send_in_pairs(example):
    heard = events(example("Delayed ACKs"), "heard").query("t_s > 0.3")
    assert (heard.heard == 2).all() and (heard.sent.map(len) >= 2).all()


def test_the_near_flow_grows_faster(example):
    recording = example("Two flows in one queue")
    from_s = examples()["Two flows in one queue"]["from_s"]
    assert len(losses(recording, 0)) and len(losses(recording, 1))

    def grown(flow):
        """Packets that its window gains outside recovery."""
        own = recording.events.query(f"flow == {flow} and t_s > {from_s}")
        in_avoidance = own["mode"] == "congestion avoidance"
        return own.cwnd.diff()[in_avoidance & in_avoidance.shift(fill_value=False)].clip(lower=0).sum()

    assert grown(0) > 1.2 * grown(1)


def test_packets_of_a_full_queue_keep_their_distance_to_the_beat(example):
    """The second step of the tour *Phase*: between changes of a flow's window its packets arrive at few phases."""
    recording = example("Two flows in one queue")
    first_s = min(losses(recording, flow).enter_s.min() for flow in (0, 1))
    for flow in (0, 1):
        after_s = recording.packets.query(f"flow == {flow} and {first_s} < enter_s < {first_s + 0.5}").enter_s
        phases = (after_s / PACKET_S % 1.0).round(3) % 1.0
        assert len(after_s) > 20 and phases.nunique() < len(after_s) / 5, phases


def test_acks_come_in_bunches_behind_data(example):
    gaps_s = example("ACKs that share a link with data").acks.query("flow == 0 and enter_s > 0.5").heard_s.diff()
    assert gaps_s.min() < PACKET_S / 4
    assert gaps_s.max() > 2 * PACKET_S
