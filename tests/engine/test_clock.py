"""The clock of an emulator: by hand, as laws, and packet by packet against the independent slow simulator."""

from __future__ import annotations

import pytest

from tcpfair.engine.clock import last_tick_s, next_tick_s
from tcpfair.engine.dumbbell import run
from tests.engine.scenarios import dumbbell
from tests.engine.slow import agree, any_scenario, covering, forward, reverse, some_of, two_way

TICK_S = 0.001


@pytest.mark.parametrize("number", [0, 1, 3, 7, 29, 1_199_999])
def test_a_tick_is_its_own_last_and_next_one_however_it_is_rounded(number):
    here_s = number * TICK_S
    for at_s in (here_s, here_s - 1e-12, here_s + 1e-12):
        assert last_tick_s(TICK_S, at_s) == here_s
        assert next_tick_s(TICK_S, at_s) == here_s
    assert last_tick_s(TICK_S, here_s + 0.0009) == here_s
    assert next_tick_s(TICK_S, here_s + 0.0001) == (number + 1) * TICK_S


def test_without_a_clock_every_instant_counts():
    assert last_tick_s(0.0, 0.12345) == next_tick_s(0.0, 0.12345) == 0.12345


def arrivals_ms(count: int, **settings) -> list[int]:
    """When the receiver gets each of the first ``count`` packets, in whole ms."""
    flow = {"rtt_s": 0.05, "iw_pkts": count, "rwnd_pkts": count, **settings.pop("flow", {})}
    found = run(dumbbell(flow, duration_s=0.045, sample_s=0.00019, **settings))
    received = found.received_pkts[:, 0]
    return [int(1e3 * found.t_s[received > k][0]) for k in range(count)]


# A receiver right behind the bottleneck: when a packet is forwarded it is there.
# 2.5 packets a tick. Five packets find the queue empty at 0.3 ms. Credit in packets: tick 1: 2.5, two go, 0.5 are left; tick 2:
# 3.0, three go, the queue is empty.
def test_a_batch_by_hand():
    assert arrivals_ms(5, capacity_bps=30e6, tick_s=TICK_S, flow={"start_s": 0.0003}) == [1, 1, 2, 2, 2]


# 0.4 packets a tick: credit for the first one is complete at tick 3 (1.2), for the second at 5 (0.2 + 0.8), then 8, 10.
def test_packets_longer_than_a_tick_by_hand():
    assert arrivals_ms(4, capacity_bps=4.8e6, tick_s=TICK_S, flow={"start_s": 0.0003}) == [3, 5, 8, 10]


# An access link of 12 Mb/s brings a packet each ms, at 0.3, 1.3, 2.3 ...; each finds the queue empty, and credit that was over
# at 2.5 packets a tick is lost.
def test_credit_is_lost_with_the_last_packet():
    flow = {"start_s": 0.0003, "access_bps": 12e6}
    assert arrivals_ms(4, capacity_bps=30e6, tick_s=TICK_S, flow=flow) == [1, 2, 3, 4]


# A link of one packet a tick that is given 20 at 0.3 ms: the queue has room for 5.5 packets' work. The work that no tick has
# covered is 0, 1, 2, 3, 4, 5 packets when the first six enter; the seventh finds 6. At 1.3 ms one packet less: 5.
def test_the_queue_is_what_no_tick_has_covered():
    flow = {"rtt_s": 0.05, "iw_pkts": 20, "start_s": 0.0003}
    found = run(dumbbell(flow, duration_s=0.01, sample_s=0.0006, buffer_pkts=5.5, tick_s=TICK_S))
    assert found.dropped_pkts[-1] == 14
    assert found.queue_pkts[[0, 2, 3]] == pytest.approx([6, 5, 4])


# 50.7 ms is 50 ticks: a packet forwarded at 1 ms is answered at 51. In two directions 25.35 ms is 25 ticks: it is there at 26,
# and its ACK, which is forwarded at 27, at 52.
@pytest.mark.parametrize(("links", "heard_s"), [({}, 0.051), (two_way(), 0.052)])
def test_a_delay_is_a_whole_number_of_ticks(links, heard_s):
    flow = {"rtt_s": 0.0507, "start_s": 0.0003, "iw_pkts": 1}
    found = run(dumbbell(flow, duration_s=0.06, sample_s=0.06, tick_s=TICK_S, **links))
    assert found.srtt_s[-1, 0] == pytest.approx(heard_s - 0.0003)


@pytest.mark.parametrize("tick_s", [0.001, 0.0047])
def test_a_clock_leaves_the_link_its_rate(tick_s):
    found = run(dumbbell({"rtt_s": 0.05}, {"rtt_s": 0.031}, duration_s=60, buffer_pkts=60.37, tick_s=tick_s))
    carried_pps = found.forwarded_pkts[-1] - found.forwarded_pkts[9]
    assert carried_pps / 50 == pytest.approx(1000, rel=0.02)


# --- against the slow simulator ----------------------------------------------------------------------------

# What is due at a tick is on one side of it or the other by rounding, if it is a sample or a timeout: these fall between ticks
BETWEEN_TICKS = {"duration_s": 15 * 0.99973, "sample_s": 0.99973}
TIMEOUT = {"rto_min_s": 0.2137}
DELAYED = {"delack_s": 0.0371, **TIMEOUT}


@pytest.mark.parametrize("tick_s, jitter_s, ack_every", covering((0.001, 0.004, 0.0003), (0.0, 0.0007), (1, 2)))
def test_many_flows_packet_by_packet(tick_s, jitter_s, ack_every):
    flows = [forward(0.0203 + 0.0117 * k, ack_every=ack_every, start_s=0.1713 * k, **DELAYED) for k in range(7)]
    slow = agree(*flows, tick_s=tick_s, jitter_s=jitter_s, **BETWEEN_TICKS)
    assert sum(map(len, slow.reductions)) > 20


@pytest.mark.parametrize("jitter_s", [0.0, 0.0007])
@pytest.mark.parametrize("access_bps", [0, 90e6])
def test_reverse_traffic_packet_by_packet(jitter_s, access_bps):
    shared = {"ack_every": 2, "access_bps": access_bps, **DELAYED}
    flows = [
        forward(0.0503, **shared),
        forward(0.0817, "cubic", start_s=0.317, **shared),
        reverse(0.0503, start_s=1.1, **shared),
        reverse(0.1213, "cubic", start_s=0.05, **shared),
    ]
    network = two_way(4.7e6, 2.23, 300.0)
    slow = agree(*flows, tick_s=TICK_S, jitter_s=jitter_s, **network, **BETWEEN_TICKS)
    assert sum(slow.ack_drops) > 20
    assert all(slow.reductions)


@pytest.mark.parametrize("number", some_of(range(100, 130)))
def test_any_scenario_with_a_clock(number):
    flows, network = any_scenario(number)
    tick_s = (0.001, 0.001, 0.004, 0.01, 0.00025)[number % 5]
    jitter = {} if number % 3 else {"jitter_s": 0.0}
    agree(*(flow | TIMEOUT for flow in flows), **{**network, **jitter, **BETWEEN_TICKS, "tick_s": tick_s})
