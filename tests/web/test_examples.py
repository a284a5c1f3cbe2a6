"""The stretches that the packet view offers show what their captions say: those that no condition of a tour checks."""

from __future__ import annotations

import pytest

from tcpfair.web.schema import examples
from tests.web.node import needs_node, recorded

pytestmark = needs_node
PACKET_S = 0.006


@pytest.fixture(scope="module")
def example(parts):
    """A function: by its name an example's recording, from the beginning of its run to the end of its stretch."""
    spans = {name: (each["scenario"], each["from_s"] + each["length_s"]) for name, each in examples().items()}
    return recorded(spans, *parts).get


def losses(recording, flow=0):
    return recording.packets[recording.packets.lost.notna() & (recording.packets.flow == flow)]


def events(recording, what, flow=0):
    return recording.events[recording.events[what].astype(bool) & (recording.events.flow == flow)]


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
