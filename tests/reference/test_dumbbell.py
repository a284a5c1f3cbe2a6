"""Scenarios worked out by hand and laws for the reference simulator.

Theory is compared with the engine (tests/engine/test_theory.py), which gives the same packets.

Unless a test states otherwise: 1500-byte packets at 12 Mb/s, so 1 ms of service, and an RTT of 100 ms. A packet
handed to the idle link at t is acknowledged at t + 101 ms. In the two-way scenarios the reverse link has the same
rate and an ACK takes a tenth of a packet on it: t + 51 ms at the receiver, t + 101.1 ms back at the sender.
"""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.dumbbell import Aimd, Chance, Cubic, FlowSpec, Result, WindowState, simulate

pytestmark = pytest.mark.slow  # the slow simulator itself; every push compares the engine with it

CAPACITY_BPS = 12e6
WIRE_BYTES = 1500
SERVICE_S = 1e-3
RTT_S = 0.1
ACK_BYTES = 150
TWO_WAY = {"reverse_bps": CAPACITY_BPS, "reverse_buffer_pkts": 1000.0, "ack_bytes": ACK_BYTES}
SHORT_REVERSE_BUFFER = TWO_WAY | {"reverse_buffer_pkts": 0.3}


def flow(**fields) -> FlowSpec:
    return FlowSpec(**({"rtt_s": RTT_S} | fields))


def in_avoidance(**fields) -> FlowSpec:
    """A flow that starts with a window of 10 in congestion avoidance."""
    return flow(iw_pkts=10, initial_ssthresh_pkts=10, **fields)


def reverse(**fields) -> FlowSpec:
    return flow(direction="reverse", **fields)


def blocker(time_s: float, count: int = 1) -> FlowSpec:
    """Reverse packets, one per ms from `time_s`, that keep their link busy without ever waiting for each other."""
    return reverse(start_s=time_s, size_pkts=count, iw_pkts=count, access_bps=CAPACITY_BPS)


def run(*flows: FlowSpec, lost=(), **network) -> Result:
    """`lost`: the transmissions of the first flow, counted from 1, that are lost after service."""
    usual = {"buffer_pkts": 1000, "duration_s": 10.0, "drop_nth": {(0, k) for k in lost}}
    return simulate(flows, wire_bytes=WIRE_BYTES, **({"capacity_bps": CAPACITY_BPS} | usual | network))


def sent(result: Result, since_s: float = 0.0) -> dict[float, list[int]]:
    """Sequence numbers that the first flow sends from `since_s` on, by time."""
    found: dict[float, list[int]] = {}
    for time_s, seq in result.transmissions[0]:
        if time_s >= since_s:
            found.setdefault(round(time_s, 6), []).append(seq)
    return found


def check(*flows: FlowSpec, since_s: float = 0.0, sends=None, cwnd_at_ms=(), **more) -> Result:
    """Run a scenario and compare it: what the first flow sends, its window at these ms, and fields of the result.

    `more` has the network and, by name, fields of the result for the first flows.
    """
    expected = {name: more.pop(name) for name in Result.__dataclass_fields__ if name in more}
    result = run(*flows, **({"sample_s": 0.001} if cwnd_at_ms else {}), **more)
    if sends is not None:
        assert sent(result, since_s) == sends
    for ms, cwnd_pkts in dict(cwnd_at_ms).items():
        assert result.cwnd_samples_pkts[0][ms - 1] == pytest.approx(cwnd_pkts, abs=1e-6)
    for name, of_flows in expected.items():
        for found, of_flow in zip(getattr(result, name), of_flows, strict=False):
            np.testing.assert_allclose(found, of_flow, rtol=0, atol=1e-6, err_msg=name)
    return result


# --- one lost packet ---------------------------------------------------------------------------------------
# Packets 0..9 leave at 0. Packet 2 is lost; 0, 1, 3, 4 are acknowledged at .101, .102, .104, .105 and release
# 10..13. Packet 5 at .106 is the third one after packet 2. Four ACKs have raised the window from 10 to
# 10.1, 10.199010, 10.297059, 10.394174.

CWND_AT_LOSS = 10.394174
FIRST_WINDOW = {0.0: list(range(10)), 0.101: [10], 0.102: [11], 0.104: [12], 0.105: [13]}
REDUCTION = (0.106, CWND_AT_LOSS, CWND_AT_LOSS / 2)
GROWN_AGAIN = 5.197087 + 1 / 5.197087  # the ACK that ends a recovery counts towards growth again


def test_lost_packet_is_retransmitted_on_the_third_later_arrival():
    # eight in flight, window 5.197: the retransmission goes out at once, then nothing until only four are left;
    # it arrives at .207 and ends the recovery
    afterwards = {0.106: [2], 0.202: [14], 0.203: [15], 0.205: [16], 0.206: [17], 0.207: [18]}
    check(
        in_avoidance(),
        lost=[3],
        duration_s=0.2075,
        sends=FIRST_WINDOW | afterwards,
        retransmitted=[1],
        reductions=[[REDUCTION]],
        cwnd_at_ms={206: 5.197087, 207: GROWN_AGAIN},
    )


def test_data_behind_the_hole_is_delivered_when_it_closes():
    # counted at the receiver, 100 ms before the sender hears of it: 0 and 1, and when 2 has come 2 to 13; received
    # are 14 to 16 too, whose ACKs are to come
    result = check(in_avoidance(), lost=[3], duration_s=0.207, sample_s=0.001, received_pkts=[17])
    assert [sum(result.delivered_samples_pkts[0][:ms]) for ms in (4, 10, 106, 108)] == [2, 2, 2, 14]


def test_proportional_rate_reduction():
    # RecoverFS = 8 in flight + 1 lost. ceil(k * 5.197 / 9) for k = 1..9 arrivals is 1 2 2 3 3 4 5 5 6: packets
    # go out at arrivals 1 (the retransmission), 2, 4, 6, 7. At arrival 9 the pipe of 5 is below ssthresh.
    check(
        in_avoidance(reduction="prr"),
        lost=[3],
        duration_s=0.2075,
        sends=FIRST_WINDOW | {0.106: [2], 0.107: [14], 0.109: [15], 0.202: [16], 0.203: [17], 0.207: [18]},
        reductions=[[REDUCTION]],
        cwnd_at_ms={107: 9, 207: GROWN_AGAIN},
    )


def test_rack_starts_a_recovery_by_its_timer():
    # A packet takes 50 ms: 0 and 1 are acknowledged at .15 and .2, and 3 at .3 proves nothing yet. A quarter of the least RTT
    # and 2 ms later, .0395 s, is 9.875 ticks of 4 ms: the timer of tick 75 expires at 75 + 10 + 1. RecoverFS is the
    # window: ceil(k * 5/10) for k = 1..3 is 1 1 2, so 5, the third, releases the next packet.
    check(
        in_avoidance(stack="linux_6", reduction="prr"),
        capacity_bps=0.24e6,
        lost=[3],
        duration_s=0.41,
        sends={0.0: list(range(10)), 0.15: [10], 0.2: [11], 0.3: [12], 0.344: [2], 0.4: [13]},
        reductions=[[(0.344, 10, 5)]],
    )


# --- several losses ----------------------------------------------------------------------------------------


def times_of(result: Result, seq: int) -> list[float]:
    return [round(t, 6) for t, each in result.transmissions[0] if each == seq]


def test_lost_retransmission_is_sent_again_without_another_reduction():
    # 14, 15 and 16, sent after the retransmission, arrive at .303, .304 and .306
    result = check(in_avoidance(), lost=[3, 15], duration_s=0.42, reductions=[[REDUCTION]], timeouts=[[]])
    assert times_of(result, 2) == [0, 0.106, 0.306]


# Packets 2 and 4 are lost: 3, 5 and 6 give packet 2 away at .107, packet 7 gives packet 4 away at .108.
FIRST_OF_TWO = (0.107, CWND_AT_LOSS, CWND_AT_LOSS / 2)
TWO_LOST = {"lost": [3, 5], "since_s": 0.1065, "duration_s": 0.2035}


def test_sack_repairs_the_second_loss_as_soon_as_the_pipe_allows():
    # packets 10..13 arrive from .202; the first of them brings the pipe to four
    check(
        in_avoidance(), **TWO_LOST | {"duration_s": 0.2025}, sends={0.107: [2], 0.202: [4]}, reductions=[[FIRST_OF_TWO]]
    )


def test_newreno_repairs_one_loss_per_partial_ack():
    # the waiting loss still fills the pipe, so new data starts one arrival later than with SACK
    newreno = in_avoidance(recovery="newreno")
    check(newreno, **TWO_LOST, sends={0.107: [2], 0.203: [14]})
    result = check(newreno, lost=[3, 5], duration_s=0.4, reductions=[[FIRST_OF_TWO]])
    assert times_of(result, 4) == [0, 0.208]


def test_reno_halves_again_for_every_hole():
    again = (0.208, CWND_AT_LOSS / 2, CWND_AT_LOSS / 4)
    check(in_avoidance(recovery="reno"), lost=[3, 5], duration_s=0.4, reductions=[[FIRST_OF_TWO, again]])


def test_newreno_needs_a_timeout_for_a_lost_retransmission():
    # 18 and 19 follow at .303 and .304; at .306 three have passed the retransmission and the sender falls
    # silent; 19 is acknowledged at .405, the timer runs out a second later
    result = run(in_avoidance(recovery="newreno", rto_min_s=1.0), lost=[3, 15], duration_s=1.6)
    assert times_of(result, 2) == [0, 0.106, 1.405]
    assert [round(t, 6) for t, _, _ in result.timeouts[0]] == [1.405]
    assert result.delivered_pkts[0] >= 20


def test_reno_leaves_rate_reduction_early_with_the_window_at_ssthresh():
    # as with PRR above up to .202, but 11, 12 and 13 are gone: only six of nine are delivered when the
    # retransmission arrives at .207
    early = in_avoidance(recovery="reno", reduction="prr")
    check(early, lost=[3, 12, 13, 14], duration_s=0.21, cwnd_at_ms={206: 7, 207: GROWN_AGAIN})


# --- timeouts ----------------------------------------------------------------------------------------------


def test_lost_tail_waits_for_the_timer():
    # the last ACK, of packet 8, comes at .109; nine ACKs have raised the window
    cwnd_pkts = 10.0
    for _ in range(9):
        cwnd_pkts += 1 / cwnd_pkts
    check(
        in_avoidance(size_pkts=10, rto_min_s=1.0),
        lost=[10],
        since_s=0.1,
        sends={1.109: [9]},
        timeouts=[[(1.109, cwnd_pkts, 1.0)]],
        reductions=[[]],
        delivered_pkts=[10],
    )


TIMER = {  # flow, transmissions that are lost, and what is sent from 110 ms on
    # one, two and four seconds after .109
    "backs off": (in_avoidance(size_pkts=10, rto_min_s=1.0), [10, 11, 12], {1.109: [9], 3.109: [9], 7.109: [9]}),
    "is reset by an ACK": (flow(size_pkts=2, iw_pkts=1, rto_min_s=1.0), [1, 3], {1: [0], 1.101: [1], 2.101: [1]}),
    # NewReno has packet 4 still queued when the retransmission of packet 2 at .107 is lost as well
    "repairs in sequence order": (
        in_avoidance(recovery="newreno", size_pkts=10, rto_min_s=1.0),
        [3, 5, 11],
        {1.11: [2], 1.211: [4]},
    ),
    # packet 1 reaches the bottleneck at .2 and is lost; the ACK of packet 0 comes two seconds after .101 and
    # the timer three RTT samples of 2.101 later
    "leaves a delayed ACK its time": (
        flow(iw_pkts=2, size_pkts=2, ack_every=2, delack_s=2.0, access_bps=60e3),
        [2],
        {8.404: [1]},
    ),
    # packet 0 is back at .061, the timer is .2 s; packet 1 reaches the bottleneck at .1 and is lost
    "runs from the departure": (flow(rtt_s=0.06, iw_pkts=2, size_pkts=2, access_bps=120e3), [2], {0.3: [1]}),
    "is a second before the first sample": (flow(size_pkts=1, rto_min_s=0.2), [1], {1: [0]}),
    # packet 0 is lost; packet 1 is back at .102 with the first sample: .102 + 4 * .051 later, not at 1 s
    "is brought forward by the first sample": (flow(size_pkts=2, iw_pkts=2), [1], {0.408: [0]}),
    # the only sample is .299 + .001, so srtt + 4 rttvar = .3 + 4 * .15; four deviations are above the least of either law
    "is three RTTs after a sample": (flow(rtt_s=0.299, size_pkts=2, iw_pkts=1), [2], {0.3: [1], 1.2: [1]}),
    "is the same in Linux": (flow(rtt_s=0.299, size_pkts=2, iw_pkts=1, rto="linux"), [2], {0.3: [1], 1.2: [1]}),
    # srtt stays .3, rttvar falls from .15 to .1125
    "falls with equal samples": (
        flow(rtt_s=0.299, size_pkts=3, iw_pkts=1, rwnd_pkts=1),
        [3],
        {0.3: [1], 0.6: [2], 1.35: [2]},
    ),
}


@pytest.mark.parametrize("name", TIMER)
def test_the_timer(name):
    spec, lost, sends = TIMER[name]
    check(spec, lost=lost, since_s=0.1101, sends=sends)


def settled(path_s: float, **more) -> dict[float, list[int]]:
    """When the last of 40 packets, one per round trip, is sent and sent again: its first transmission is lost."""
    last = flow(rtt_s=path_s, size_pkts=40, iw_pkts=1, rwnd_pkts=1, **more)
    return sent(run(last, lost=[40], duration_s=20), 39 * (path_s + 0.001) - 0.0005)


@pytest.mark.parametrize(
    ("path_s", "law", "timeout_s"),
    [
        # 39 samples of the same RTT: four deviations are 2 RTT * .75^38 = 3.6e-5 RTT
        (0.049, "rfc6298", 0.2),  # .05 + 1.8e-6 is less than the least timeout
        (0.049, "linux", 0.25),  # .05 + .2
        (0.299, "rfc6298", 0.3 + 0.6 * 0.75**38),  # .3 + four deviations
        (0.299, "linux", 0.5),  # .3 + .2
    ],
)
def test_timer_of_a_steady_rtt_by_both_laws(path_s, law, timeout_s):
    sent_s = 39 * (path_s + 0.001)
    found = settled(path_s, rto=law)
    assert list(found.values()) == [[39], [39]]
    assert list(found) == pytest.approx([sent_s, sent_s + timeout_s], abs=1e-6)


def test_the_law_of_the_timer_follows_the_stack_unless_it_is_given():
    assert settled(0.049, stack="linux") == settled(0.049, rto="linux")
    assert settled(0.049) == settled(0.049, stack="linux", rto="rfc6298")


def test_slow_start_after_a_timeout_ends_at_half_the_old_window():
    # all of the first window is lost: ten packets, one second, then 1, 2 and 4 of them as the window doubles.
    # ssthresh 5: slow start to 5 with the fourth ACK, then 1/5 for the fifth
    check(
        flow(iw_pkts=10, size_pkts=10),
        lost=range(1, 11),
        duration_s=2,
        since_s=0.5,
        sends={1: [0], 1.101: [1, 2], 1.202: [3, 4], 1.203: [5, 6], 1.303: [7, 8], 1.304: [9]},
        cwnd_at_ms={1304: 5.2},
        retransmitted=[10],
    )


def test_second_timeout_in_a_row_leaves_ssthresh_alone():
    # as above, but two seconds later
    result = check(flow(iw_pkts=10, size_pkts=10), lost=range(1, 12), duration_s=4, cwnd_at_ms={3304: 5.2})
    assert [t for t, _, _ in result.timeouts[0]] == [1, 3]


# --- acknowledgements --------------------------------------------------------------------------------------


def test_delayed_ack():
    # 0 arrives alone at .101 and is acknowledged by the timer at .141; 1 and 2 share the ACK at .243; of 3, 4
    # and 5 two share the one at .345 and the last waits from .346 to .386
    sends = {0: [0], 0.141: [1, 2], 0.243: [3, 4, 5], 0.345: [6, 7, 8], 0.386: [9, 10]}
    check(flow(iw_pkts=1, ack_every=2, delack_s=0.04), duration_s=0.39, sends=sends)


def test_byte_counting_grows_by_the_packets_an_ack_covers():
    growing = flow(iw_pkts=1, ack_every=2, byte_counting=True)
    check(growing, duration_s=0.3, since_s=0.2, sends={0.243: [3, 4, 5, 6]})


def test_holes_and_their_end_are_acknowledged_at_once():
    # packet 2 is lost: 0 and 1 share an ACK at .102, then 3, 4 and 5 are reported one by one as they arrive
    sends = {0.102: [10, 11], 0.104: [12], 0.105: [13], 0.106: [2]}
    check(in_avoidance(ack_every=2), lost=[3], duration_s=0.107, since_s=0.05, sends=sends)
    # the retransmission closes the hole at .207; its ACK releases a packet
    result = run(in_avoidance(ack_every=2), lost=[3], duration_s=0.2085)
    assert [(t, len(seqs)) for t, seqs in sent(result, 0.2065).items()] == [(0.207, 1)]


# --- CCID2 -------------------------------------------------------------------------------------------------


def test_ccid2_repairs_nothing_and_reduces_once_per_window():
    result = check(in_avoidance(cc="ccid2"), lost=[3, 5], duration_s=0.4, reductions=[[FIRST_OF_TWO]])
    seqs = [seq for _, seq in result.transmissions[0]]
    assert seqs == list(range(len(seqs)))
    assert result.delivered_pkts == result.received_pkts


def test_ccid2_reduces_again_for_a_packet_sent_after_the_reduction():
    # Packet 2 is found lost at .106 with 14 packets sent and 8 in flight. The window of 5.197 becomes 6.08 by
    # the fifth ACK after that (.106, .107, ..., .110) and the pipe falls to 4: packet 14, the fifteenth
    # transmission, is the first after the reduction.
    result = run(in_avoidance(cc="ccid2"), lost=[3, 15], duration_s=0.4)
    assert next(seq for t, seq in result.transmissions[0] if t > 0.106) == 14
    assert len(result.reductions[0]) == 2


def test_ccid2_counts_packets_although_acks_are_delayed():
    # one for the two that one ACK covers
    check(flow(cc="ccid2", iw_pkts=2, ack_every=2), duration_s=0.11, cwnd_at_ms={110: 3})


def test_ccid2_goes_on_after_losing_a_whole_window():
    # the window is 1.5 after the first ACK and 2 after the second
    sends = {1: [4], 1.101: [5], 1.202: [6, 7]}
    timeouts = [[(1.0, 4.0, 1.0)]]
    check(flow(cc="ccid2", iw_pkts=4), lost=range(1, 5), duration_s=1.25, since_s=1, sends=sends, timeouts=timeouts)


# --- links -------------------------------------------------------------------------------------------------


def test_drop_tail_keeps_the_buffer_and_the_packet_in_service():
    check(flow(iw_pkts=10), buffer_pkts=3, duration_s=0.1005, received_pkts=[4], drops=[6])


def test_fractional_buffer_counts_the_residual_service():
    # Packets enter every .5 ms into 1.5 ms of buffer. They meet a backlog of 0, .5, 1, 1.5 and, at 2 ms, of
    # 2 ms, which is too much; every second one from there on.
    fast = flow(iw_pkts=8, access_bps=2 * CAPACITY_BPS)
    check(fast, buffer_pkts=1.5, duration_s=0.05, drops=[2], received_pkts=[6])


def test_access_link_spaces_packets():
    # packets enter the bottleneck at 0, 2, 4, 6 ms
    result = run(flow(iw_pkts=4, access_bps=CAPACITY_BPS / 2), duration_s=0.12)
    assert list(sent(result, 0.1)) == [0.101, 0.103, 0.105, 0.107]


def test_full_access_queue_halves_the_window_once_per_round_trip():
    # one on the link, three waiting; every ACK at .101, .103, ... finds the queue full again; the one at .107 covers
    # the last of the first four
    slow = {"access_bps": CAPACITY_BPS / 2, "access_queue_pkts": 3}
    check(flow(iw_pkts=10, **slow), duration_s=0.1, sends={0: [0, 1, 2, 3]}, reductions=[[(0, 10, 5)]], drops=[0])
    result = run(flow(iw_pkts=40, **slow), duration_s=0.11)
    assert [t for t, _, _ in result.reductions[0]] == pytest.approx([0, 0.107])


def test_jitter_delays_but_never_reorders():
    # a reordering of three packets would be taken for a loss
    result = check(flow(rwnd_pkts=50), jitter_s=0.05, duration_s=5, retransmitted=[0])
    # per window of 50: between RTT and RTT + jitter
    assert 5 / 0.151 * 50 - 100 < result.received_pkts[0] < 5 / 0.101 * 50


def test_access_jitter_delays_packets_within_its_bounds_and_in_order():
    result = run(flow(iw_pkts=20, access_bps=CAPACITY_BPS, access_jitter_s=0.004), duration_s=0.14)
    acks_s = sorted({t for t, _ in result.transmissions[0] if t > 0})
    assert 0.101 < acks_s[0] < 0.105
    assert len(acks_s) == 20
    # the last one leaves the access link at 19 ms and up to 4 ms, and waits at the bottleneck for at most 4 others
    assert 0.12 < acks_s[-1] < 0.128


# --- two-way traffic ---------------------------------------------------------------------------------------


def test_ack_is_served_by_the_reverse_link():
    # 0: 1 ms, 50 ms, 0.1 ms, 50 ms; 1 and 2 come 1 ms apart
    sends = {0: [0], 0.1011: [1, 2], 0.2022: [3, 4], 0.2032: [5, 6]}
    check(flow(iw_pkts=1), **TWO_WAY, duration_s=0.205, sends=sends, acks_sent=[3], acks_received=[3])


def test_halves_of_the_delay_are_on_either_side_of_the_receiver():
    # delivered within the interval that ends at 51 ms
    lone = flow(iw_pkts=1, size_pkts=1)
    result = check(lone, **TWO_WAY, duration_s=0.06, sample_s=0.001, acks_in_flight=[1])
    assert result.delivered_samples_pkts[0].index(1) == 50


def test_reverse_flow_alone_behaves_like_a_forward_flow():
    options = {"lost": [3, 500], "duration_s": 30, "ack_bytes": ACK_BYTES}
    first = {"capacity_bps": 12e6, "buffer_pkts": 20.5, "reverse_bps": 8e6, "reverse_buffer_pkts": 7.5}
    swapped = {"capacity_bps": 8e6, "buffer_pkts": 7.5, "reverse_bps": 12e6, "reverse_buffer_pkts": 20.5}
    forward = run(flow(), **first, **options)
    assert len(forward.reductions[0]) >= 3
    assert run(reverse(), **swapped, **options) == forward


def test_free_acks_on_a_very_fast_reverse_link_change_nothing():
    network = {"buffer_pkts": 20.5, "duration_s": 19.9873}
    one_way = run(flow(), **network)
    two_way = run(flow(), **network, **TWO_WAY | {"reverse_bps": 1e15})
    np.testing.assert_allclose(two_way.transmissions[0], one_way.transmissions[0], rtol=0, atol=1e-6)


def test_acks_are_compressed_behind_reverse_data():
    # six ACKs reach the reverse link 1 ms apart from .051 on, behind eight packets that came at .050; they leave it
    # .1 ms apart from .058 on, and so does the data that they release. 1/6 per ACK: the seventh packet in flight is
    # due with the last of the six
    forward = flow(iw_pkts=6, initial_ssthresh_pkts=6)
    released = {0.1081: [6], 0.1082: [7], 0.1083: [8], 0.1084: [9], 0.1085: [10], 0.1086: [11]}
    others = reverse(start_s=0.05, iw_pkts=8, size_pkts=8)
    check(forward, others, **TWO_WAY, duration_s=0.1095, since_s=0.01, sends=released)


def test_reverse_data_and_acks_share_the_forward_link_too():
    # two packets of a reverse flow arrive at .051 and .052; their ACKs wait behind five forward packets of .050
    first = reverse(iw_pkts=2, initial_ssthresh_pkts=2)
    forward = flow(start_s=0.05, iw_pkts=5, size_pkts=5)
    check(first, forward, **TWO_WAY, duration_s=0.11, since_s=0.01, sends={0.1051: [2], 0.1052: [3]})


class Recorder:
    """A window that stays as it is, and a note of each ACK: time, packets and ACKs covered; and the smoothed RTTs."""

    def __init__(self):
        self.acks = []
        self.srtts_s = []

    def on_ack(self, state, acked, acks, now):
        self.acks.append((round(now, 6), acked, acks))
        self.srtts_s.append(state.srtt_s)

    def on_loss(self, state):
        state.ssthresh_pkts = state.cwnd_pkts


def test_own_rule_is_called_once_per_ack():
    recorder = Recorder()
    check(flow(cc=recorder, iw_pkts=3, ack_every=2, size_pkts=3), reductions=[[]])
    assert recorder.acks == [(0.102, 2, 1), (0.143, 1, 1)]


def test_what_a_dropped_ack_said_goes_with_the_next():
    # the reverse packets occupy their link from .0505 to .0525; with a buffer of .3 ms the ACKs at .051 and .052,
    # which meet .5 ms of work, are dropped. The one at .053 covers three packets. Packets 0 to 2 left at 0.
    recorder = Recorder()
    network = SHORT_REVERSE_BUFFER | {"duration_s": 1}
    counted = {"ack_drops": [2, 0], "drops": [0, 0], "acks_sent": [4]}
    check(flow(cc=recorder, iw_pkts=4, size_pkts=4), blocker(0.0505, 2), **network, **counted)
    assert recorder.acks == [(0.1031, 3, 1), (0.1041, 1, 1)]
    assert recorder.srtts_s == pytest.approx([0.1031, 0.1031 * 7 / 8 + 0.1041 / 8])


def test_rtt_sample_of_a_merged_ack_is_that_of_the_newest_packet():
    # the ACKs of 0 and 1 are back at .1011 and .1021 and release 2 and 3, which arrive at .1521 and .1531; the ACK
    # of 2 is dropped
    recorder = Recorder()
    merged = flow(cc=recorder, iw_pkts=2, size_pkts=4)
    check(merged, blocker(0.1516), **SHORT_REVERSE_BUFFER, duration_s=1, ack_drops=[1, 0])
    srtt_s = 0.1011 * 7 / 8 + 0.1021 / 8
    assert recorder.acks[-1] == (0.2032, 2, 1)
    assert recorder.srtts_s[-1] == pytest.approx(srtt_s * 7 / 8 + (0.2032 - 0.1021) / 8)  # not 0.2032 - 0.1011


def test_loss_is_revealed_by_the_ack_that_covers_the_third_arrival():
    # packet 2 is lost; 3, 4 and 5 arrive at .054, .055 and .056. Four ACKs come before the one that tells.
    for others, time_s in (([], 0.1061), ([blocker(0.0555)], 0.1071)):
        check(
            in_avoidance(size_pkts=10),
            *others,
            **SHORT_REVERSE_BUFFER,
            lost=[3],
            duration_s=1,
            since_s=0.01,
            sends={time_s: [2]},
            ack_drops=[len(others)],
            reductions=[[(time_s, CWND_AT_LOSS, CWND_AT_LOSS / 2)]],
        )


def test_repair_counts_as_arrived_only_when_an_ack_says_so():
    # ten packets, packet 2 lost, its retransmission arrives at .1571: with that ACK dropped, the sender hears
    # nothing more, and the timer repeats what it cannot know to have arrived. The ACK of packet 9, the last one to
    # come, is back at .1101
    check(
        in_avoidance(size_pkts=10, rto_min_s=1.0),
        blocker(0.1566),
        **SHORT_REVERSE_BUFFER,
        lost=[3],
        since_s=0.01,
        sends={0.1061: [2], 1.1101: [2]},
        duplicates=[1, 0],
        delivered_pkts=[10],
    )


def test_buffer_counts_data_packets_for_acks_as_well():
    # ACKs of 2 ms each reach a reverse link of 10 ms per data packet every ms. A buffer of .3 packets is 3 ms: they
    # meet 0, 1, 2, 3, 4 (dropped), 3, 4 (dropped), 3, 4 (dropped), 3 ms of work.
    network = {"reverse_bps": 1.2e6, "reverse_buffer_pkts": 0.3, "ack_bytes": 300, "duration_s": 1}
    check(flow(iw_pkts=10, size_pkts=10), **network, ack_drops=[3], delivered_pkts=[10], timeouts=[[]])


@pytest.mark.parametrize(
    ("pkts", "acks"),
    [
        # 0 to 5 arrive from .051 on; the ACK of 0 and 1 is dropped at .052, the next one follows at .054, not .053
        (6, [(0.1041, 4, 1), (0.1061, 2, 1)]),
        # 2 arrives at .053 and is acknowledged by the timer 40 ms later, with the other two
        (3, [(0.1431, 3, 1)]),
    ],
)
def test_count_and_timer_of_delayed_acks_start_anew_with_a_dropped_one(pkts, acks):
    recorder = Recorder()
    delayed = flow(cc=recorder, iw_pkts=pkts, size_pkts=pkts, ack_every=2)
    run(delayed, blocker(0.0515), **SHORT_REVERSE_BUFFER, duration_s=1)
    assert recorder.acks == acks


# The ACKs of 0, 1 and 2 at .051, .052 and .053 are dropped (buffer of .3 ms, .5 ms of work). No RTT is known, so the
# timer runs out at 1 s.


def without_acks(*more: FlowSpec, first: int = 3, fields=(), **expected) -> None:
    start = flow(**({"iw_pkts": 3, "size_pkts": 3} | dict(fields)))
    check(start, blocker(0.0505, first), *more, **SHORT_REVERSE_BUFFER, duration_s=9, since_s=0.01, **expected)


def test_timeout_with_all_acks_lost_repeats_the_first_packet():
    # the duplicate is back at 1.1011 and covers all three: two packets in slow start from one
    # (to the threshold), then a packet for each ACK and two for the one that makes the window three
    sends = {1: [0], 1.1011: [3, 4], 1.2022: [5], 1.2032: [6], 1.3033: [7, 8], 1.3043: [9]}
    without_acks(
        fields={"size_pkts": 10},
        sends=sends,
        cwnd_at_ms={1102: 2},
        ack_drops=[3, 0],
        timeouts=[[(1.0, 3.0, 1.0)]],
        duplicates=[1, 0],
        received_pkts=[10],
        delivered_pkts=[10],
        sent=[11],
        retransmitted=[1],
        drops=[0],
    )


def test_rtt_sample_of_a_duplicate_is_its_own():
    # the fourth packet is lost: sample .1011, timer srtt + 4 rttvar = .3033
    without_acks(fields={"size_pkts": 4}, lost=[5], sends={1: [0], 1.1011: [3], 1.4044: [3]})


FIVE = {"iw_pkts": 5, "size_pkts": 5}


def test_timeout_sends_the_first_packet_again_when_it_is_lost_and_leaves_the_rest():
    # 0 and 3 are lost, 1, 2 and 4 have arrived: 3 waits for the ACK of the retransmission
    counted = {"ack_drops": [3], "duplicates": [0], "delivered_pkts": [5]}
    without_acks(fields=FIVE, first=5, lost=[1, 4], sends={1: [0], 1.1011: [3]}, **counted)


def test_losses_wait_while_a_duplicate_is_out():
    # 1 and 3 are lost, 0, 2 and 4 have arrived; window 2 after the ACK of the duplicate: both losses go out
    counted = {"duplicates": [1], "delivered_pkts": [5]}
    without_acks(fields=FIVE, first=5, lost=[2, 4], sends={1: [0], 1.1011: [1, 3]}, **counted)


def test_lost_duplicate_is_forgotten():
    # the timer backs off: two seconds
    without_acks(lost=[4], sends={1: [0], 3: [0]}, drops=[1], duplicates=[1], timeouts=[[(1, 3, 1), (3, 1, 1)]])


def test_ack_of_a_duplicate_may_be_dropped_too():
    without_acks(blocker(1.0505), sends={1: [0], 3: [0]}, ack_drops=[4], duplicates=[2])


def test_retransmission_whose_ack_was_dropped_is_not_sent_a_third_time_as_lost():
    # packet 0 is lost, retransmitted at 1 s and arrives; its ACK meets a busy link. At 3 s the sender's first
    # packet is a duplicate, packet 2, lost as well, waits.
    counted = {"duplicates": [1], "delivered_pkts": [3]}
    without_acks(blocker(1.0505), lost=[1, 3], sends={1: [0], 3: [0], 3.1011: [2]}, **counted)


def test_timer_that_would_have_run_out_while_an_ack_was_delayed_runs_out_when_it_is_dropped():
    delayed = flow(iw_pkts=1, size_pkts=1, ack_every=2, delack_s=2.0)
    check(delayed, blocker(2.0505), **SHORT_REVERSE_BUFFER, sends={0: [0], 2.051: [0]})


def test_ccid2_sends_on_when_all_acks_are_lost():
    without_acks(fields={"cc": "ccid2", "size_pkts": 5}, sends={1: [3], 1.1011: [4]}, duplicates=[0])


def test_ack_of_ccid2_after_a_timeout_covers_what_had_arrived():
    recorder = Recorder()
    without_acks(fields={"cc": recorder, "reliable": False, "size_pkts": 4})
    assert recorder.acks == [(1.1011, 4, 1)]


def test_random_losses_spare_acks_and_strike_both_directions():
    flows = [flow(rtt_s=0.01, rwnd_pkts=20, direction=d) for d in ("forward", "reverse")]
    result = check(*flows, **TWO_WAY, loss_rate=0.02, duration_s=60, ack_drops=[0, 0])
    for sent_pkts, drops in zip(result.sent, result.drops, strict=True):
        expected = 0.02 * sent_pkts
        assert abs(drops - expected) < 4 * math.sqrt(expected)
    assert result.transmissions[0] != result.transmissions[1]  # each link has numbers of its own


def test_reverse_flow_needs_a_reverse_link():
    with pytest.raises(ValueError, match="reverse_bps"):
        run(reverse())


# --- synchronised losses -----------------------------------------------------------------------------------

SYNCHRONISED = {"buffer_pkts": 3, "synchronised_losses": True}


def burst_at(start_s: float, **fields) -> FlowSpec:
    """Ten packets at once, nothing new later."""
    return flow(**({"rtt_s": 0.02, "start_s": start_s, "iw_pkts": 10, "size_pkts": 10} | fields))


def test_overflow_costs_every_running_flow_one_packet():
    # the sixth packet of the first flow enters at .505; at .5 a burst of ten meets a buffer of three: four are taken
    flows = [flow(rwnd_pkts=1), flow(rwnd_pkts=1, start_s=0.6), burst_at(0.5, rtt_s=RTT_S)]
    shared = {"drops": [1, 0, 6], "shared_losses": [[0.505], [], []]}
    check(*flows, **SYNCHRONISED, duration_s=0.65, loss_events=[[(0.5, 2)]], **shared)  # six drops, one event
    alone = check(*flows, buffer_pkts=3, duration_s=0.65, drops=[0, 0, 6])
    assert alone.loss_events == []


def test_overflows_within_the_hold_are_no_new_event():
    # the hold is the longest RTT and four service times: 104 ms
    flows = [burst_at(t, rtt_s=RTT_S, stop_s=t + 0.01) for t in (0.1, 0.2035, 0.2045)]
    check(*flows, **SYNCHRONISED, duration_s=0.21, loss_events=[[(0.1, 0), (0.2045, 2)]])


def test_each_event_costs_a_share_retransmissions_too():
    # one packet a second; that of 1.001 is the share in the event of .1, its retransmission after 3 * 1.001 s the
    # share in that of 1.15
    flows = [flow(rtt_s=1.0, rwnd_pkts=1), burst_at(0.1), burst_at(1.15)]
    result = check(*flows, **SYNCHRONISED, duration_s=4.5, shared_losses=[[1.001, 4.004]])
    assert [round(t, 3) for t, culprit in result.loss_events[0] if culprit == 2][:1] == [1.15]


def test_shares_do_not_pile_up():
    # the first flow sends at 0 and 1.021: one of the two packets that go out then
    waiting = flow(rtt_s=0.02, iw_pkts=1, ack_every=2, delack_s=1.0)
    flows = [waiting, flow(rtt_s=0.02, iw_pkts=1, stop_s=0.01), burst_at(0.1), burst_at(0.5)]
    result = check(*flows, **SYNCHRONISED, duration_s=1.1, shared_losses=[[1.021], []])
    assert {(0.1, 2), (0.5, 3)} <= set(result.loss_events[0])


def test_duplicate_pays_no_share():
    # as above: all ACKs lost, a duplicate at 1 s; another flow overflows the forward link at .95
    flows = [flow(iw_pkts=3, size_pkts=4, rwnd_pkts=3), blocker(0.0505, 3), burst_at(0.95)]
    network = SHORT_REVERSE_BUFFER | SYNCHRONISED | {"duration_s": 1.15}
    counted = {"duplicates": [1], "shared_losses": [[1.1011]]}
    result = check(*flows, **network, since_s=0.01, sends={1: [0], 1.1011: [3]}, **counted)
    assert [round(t, 3) for t, _ in result.loss_events[0]][:1] == [0.95]


def test_duplicate_that_meets_a_full_queue_is_no_event():
    # 3.5 ms of work at 1 s
    flows = [flow(iw_pkts=3, size_pkts=3), blocker(0.0505, 3), burst_at(0.9995, iw_pkts=4, size_pkts=4)]
    network = SHORT_REVERSE_BUFFER | SYNCHRONISED | {"duration_s": 1.5}
    result = check(*flows, **network, since_s=0.01, sends={1: [0]}, drops=[1, 0, 0])
    assert result.loss_events == [[], []]


DIRECTIONS = ("forward", "forward", "reverse", "reverse")


@pytest.mark.parametrize(
    ("rtts_s", "directions", "network", "hold_s"),
    [
        ((0.02, 0.05, 0.11), ("forward",) * 3, {}, 0.11 + 21 * SERVICE_S),
        ((0.02, 0.05, 0.03, 0.08), DIRECTIONS, TWO_WAY | {"reverse_buffer_pkts": 10}, 0.08 + (21 + 11) * SERVICE_S),
    ],
    ids=["one way", "both ways"],
)
def test_every_flow_of_a_direction_loses_once_per_event(rtts_s, directions, network, hold_s):
    """Between two events each flow of the direction but the one whose overflow it was loses its share, once."""
    ways = zip(rtts_s, directions, strict=True)
    flows = [flow(rtt_s=rtt_s, direction=direction, initial_ssthresh_pkts=10) for rtt_s, direction in ways]
    result = run(*flows, **SYNCHRONISED | {"buffer_pkts": 20, "duration_s": 60, "jitter_s": 0.003}, **network)
    for direction, events in zip(("forward", "reverse"), result.loss_events, strict=False):
        sharing = [i for i, of_flow in enumerate(directions) if of_flow == direction]
        assert len(events) > 10
        assert {culprit for _, culprit in events} <= set(sharing)
        for (begin_s, culprit), (end_s, _) in pairwise(events):
            assert end_s - begin_s >= hold_s
            for i in sharing:
                assert sum(begin_s <= t < end_s for t in result.shared_losses[i]) == (i != culprit)


# --- application and receiver limits -----------------------------------------------------------------------


def test_receiver_window_limits_the_pipe_and_the_growth():
    result = run(flow(iw_pkts=3, rwnd_pkts=4), duration_s=5)
    assert max(result.cwnd_samples_pkts[0]) <= 5
    # four packets per round trip of 101 ms
    assert result.delivered_pkts[0] == pytest.approx(4 * 5 / 0.101, abs=5)


def test_size_start_and_stop():
    flows = [flow(start_s=1.0, stop_s=1.05, iw_pkts=7), flow(size_pkts=5)]
    check(*flows, duration_s=3, sends={1.0: list(range(7))}, sent=[7, 5], delivered_pkts=[7, 5])


def test_samples_add_up_to_the_total():
    result = run(flow(), buffer_pkts=20, duration_s=5, sample_s=0.1)
    assert len(result.sample_times_s) == 50
    assert sum(result.delivered_samples_pkts[0]) == result.delivered_pkts[0]


# --- congestion control ------------------------------------------------------------------------------------


def window_of(pkts: float) -> WindowState:
    return WindowState(cwnd_pkts=pkts, ssthresh_pkts=pkts, byte_counting=False, rtt_min_s=0.0)


def test_general_aimd_increases_by_x_and_keeps_its_factor():
    state = window_of(20.0)
    rule = Aimd(increase_pkts=3.0, decrease_factor=0.8)
    rule.on_ack(state, acked=2, acks=1, now=0.0)
    assert state.cwnd_pkts == pytest.approx(20.15)
    rule.on_loss(state)
    assert state.ssthresh_pkts == pytest.approx(16.12)


@pytest.mark.parametrize(
    ("rule", "cwnd_pkts", "ssthresh_pkts"), [(Aimd(), 3, 2), (Cubic(), 100, 80), (Cubic(max_window_pkts=100), 90, 72)]
)
def test_window_after_a_loss(rule, cwnd_pkts, ssthresh_pkts):
    state = window_of(cwnd_pkts)
    rule.on_loss(state)
    assert state.ssthresh_pkts == pytest.approx(ssthresh_pkts)
    if ssthresh_pkts == 72:
        assert rule.max_window_pkts == pytest.approx(81)  # it gives way: 0.9 * 90


@pytest.mark.parametrize("field", ["cc", "recovery", "reduction"])
def test_unknown_names_are_refused(field):
    with pytest.raises(ValueError, match=field):
        flow(**{field: "tahoe"})


def test_cubic_returns_to_the_old_window_after_k():
    state = window_of(100.0)
    rule = Cubic()
    rule.on_loss(state)
    # K = cbrt(20 / 0.4) = 3.684031 s: the curve is at 80, 100 and 120 when 0, K and 2 K have passed. An ACK makes
    # up for 1/cwnd of what is missing, at least for a hundredth of a packet. (No ACKs: no Reno-like growth.)
    state.cwnd_pkts = 80.0
    expected_pkts = 80.0
    for after_s, curve_pkts in ((0, 80.01), (3.684031, 100), (2 * 3.684031, 120)):
        rule.on_ack(state, acked=1, acks=0, now=10 + after_s)
        expected_pkts += (max(curve_pkts, expected_pkts + 0.01) - expected_pkts) / expected_pkts
        assert state.cwnd_pkts == pytest.approx(expected_pkts, abs=1e-5)
    assert state.cwnd_pkts == pytest.approx(80.7454, abs=1e-4)


def test_cubic_grows_like_reno_where_that_is_faster():
    # On the plateau the curve is flat; the Reno-like window of 8 gains 3 * 0.2 / 1.8 = 1/3 per window of ACKs: .041667,
    # of which one eighth is made up for at once. Then .041640 more, .078098 ahead.
    state = window_of(8.0)
    rule = Cubic(max_window_pkts=8.0)
    for cwnd_pkts in (8.005208, 8.014964):
        rule.on_ack(state, acked=1, acks=1, now=1.0)
        assert state.cwnd_pkts == pytest.approx(cwnd_pkts, abs=1e-6)


# --- laws --------------------------------------------------------------------------------------------------
# An infinite flow, one that ends and one that stops; what both networks vary.

FLOW_FIELDS = {
    "rtt_s": st.floats(0.005, 0.2),
    "cc": st.sampled_from(["reno", "ccid2", Aimd(3.0, 0.7)]),
    "start_s": st.floats(0, 1),
    "stop_s": st.sampled_from([math.inf, 1.5]),
    "size_pkts": st.sampled_from([math.inf, 7, 200]),
    "ack_every": st.sampled_from([1, 2]),
    "byte_counting": st.booleans(),
    "recovery": st.sampled_from(["sack", "newreno", "reno"]),
    "reduction": st.sampled_from(["immediate", "prr"]),
}
NETWORK_FIELDS = {
    "capacity_bps": st.just(CAPACITY_BPS),
    "wire_bytes": st.just(WIRE_BYTES),
    "duration_s": st.just(3.0),
    "loss_rate": st.sampled_from([0, 0.003, 0.1]),
    "jitter_s": st.sampled_from([0, 0.003]),
    "seed": st.integers(0, 1000),
}
flow_specs = st.builds(
    FlowSpec,
    **FLOW_FIELDS,
    access_bps=st.sampled_from([0.0, 5e6, 12e6, 100e6]),
    access_queue_pkts=st.sampled_from([5, 1000]),
    rwnd_pkts=st.sampled_from([math.inf, 1, 20]),
    iw_pkts=st.sampled_from([1, 3, 10]),
    initial_ssthresh_pkts=st.sampled_from([math.inf, 20]),
)
two_way_flows = st.builds(
    FlowSpec,
    **FLOW_FIELDS,
    direction=st.sampled_from(["forward", "reverse"]),
    access_bps=st.sampled_from([0.0, 12e6]),
    access_jitter_s=st.sampled_from([0.0, 0.002]),
    rwnd_pkts=st.sampled_from([math.inf, 20]),
)
one_way_scenarios = st.fixed_dictionaries(
    NETWORK_FIELDS
    | {"flows": st.lists(flow_specs, min_size=1, max_size=3), "buffer_pkts": st.sampled_from([0, 2.5, 10, 60])}
)
two_way_scenarios = st.fixed_dictionaries(
    NETWORK_FIELDS
    | {
        "flows": st.lists(two_way_flows, min_size=1, max_size=4),
        "reverse_bps": st.sampled_from([CAPACITY_BPS, 1.5e6]),
        "ack_bytes": st.sampled_from([40, 300]),
        "buffer_pkts": st.sampled_from([2.5, 30]),
        "reverse_buffer_pkts": st.sampled_from([0.5, 4, 30]),
        "synchronised_losses": st.booleans(),
    }
)


@settings(max_examples=100)
@given(one_way_scenarios | two_way_scenarios)
def test_packets_and_acks_are_conserved_and_capacity_is_kept(scenario):
    result = simulate(**scenario)
    is_two_way = "reverse_bps" in scenario
    served_bits = {"forward": 0.0, "reverse": 0.0}
    for i, spec in enumerate(scenario["flows"]):
        arrived = result.received_pkts[i] + result.duplicates[i]
        assert result.sent[i] == arrived + result.drops[i] + result.in_flight[i]
        assert result.delivered_pkts[i] <= result.received_pkts[i] <= spec.size_pkts
        assert result.duplicates[i] <= is_two_way * len(result.timeouts[i])
        assert result.retransmitted[i] <= result.drops[i] + is_two_way * len(result.timeouts[i])
        assert len({seq for _, seq in result.transmissions[i]}) == result.sent[i] - result.retransmitted[i]
        assert all(after <= max(before, 2) for _, before, after in result.reductions[i])
        assert min(result.cwnd_samples_pkts[i]) >= 1
        served_bits[spec.direction] += 8 * WIRE_BYTES * arrived
        if is_two_way:
            assert result.acks_sent[i] <= arrived
            assert result.acks_sent[i] == result.acks_received[i] + result.ack_drops[i] + result.acks_in_flight[i]
            other = "reverse" if spec.direction == "forward" else "forward"
            served_bits[other] += 8 * scenario["ack_bytes"] * result.acks_received[i]
    rates_bps = {"forward": CAPACITY_BPS, "reverse": scenario.get("reverse_bps", 0.0)}
    first_sent_s = min(spec.start_s for spec in scenario["flows"])  # receivers are right behind the bottleneck
    for direction, rate_bps in rates_bps.items():
        assert served_bits[direction] <= max(0.0, 3.0 - first_sent_s) * rate_bps * (1 + 1e-9)


@settings(max_examples=40)
@given(flow_specs, st.sampled_from([0.01, 0.1, 0.3]), st.integers(0, 1000))
def test_a_finite_transfer_completes_whatever_is_lost(spec, loss_rate, seed):
    finite = FlowSpec(**{**vars(spec), "cc": "reno", "size_pkts": 50, "stop_s": math.inf})
    network = {"buffer_pkts": 10, "duration_s": 3000, "sample_s": 3000, "loss_rate": loss_rate, "seed": seed}
    check(finite, **network, delivered_pkts=[50], in_flight=[0])


@settings(max_examples=10)
@given(two_way_scenarios)
def test_a_finite_transfer_completes_although_acks_are_dropped(scenario):
    crowd = [flow(rtt_s=0.03, direction=d, stop_s=20) for d in ("forward", "reverse")]
    finite = [
        FlowSpec(**{**vars(spec), "cc": "reno", "size_pkts": 50, "stop_s": math.inf}) for spec in scenario["flows"]
    ]
    result = simulate(**{**scenario, "flows": finite + crowd, "duration_s": 3000, "sample_s": 3000})
    assert result.delivered_pkts[: len(finite)] == [50] * len(finite)
    assert result.in_flight == result.acks_in_flight == [0] * len(finite + crowd)


@settings(max_examples=30)
@given(two_way_scenarios)
def test_the_directions_have_equal_rights(scenario):
    """Both links and all directions exchanged: the same run."""
    opposite = {"forward": "reverse", "reverse": "forward"}
    mirrored = scenario | {
        "flows": [FlowSpec(**{**vars(spec), "direction": opposite[spec.direction]}) for spec in scenario["flows"]],
        "capacity_bps": scenario["reverse_bps"],
        "reverse_bps": scenario["capacity_bps"],
        "buffer_pkts": scenario["reverse_buffer_pkts"],
        "reverse_buffer_pkts": scenario["buffer_pkts"],
    }

    def chances():
        return [Chance(random.Random(seed), scenario["loss_rate"], scenario["jitter_s"]) for seed in (1, 2)]

    result = simulate(**scenario, chances=chances())
    image = simulate(**mirrored, chances=chances()[::-1])
    for name in ("transmissions", "delivered_pkts", "ack_drops", "shared_losses"):
        assert getattr(image, name) == getattr(result, name), name


def test_same_seed_same_run_and_another_seed_another():
    options = {"duration_s": 3, "loss_rate": 0.01, "jitter_s": 0.003}
    one, again, other = (run(flow(), seed=seed, **options).transmissions for seed in (1, 1, 2))
    assert one == again != other
