"""The engine against the independent slow simulator, packet by packet: one bottleneck, every way of recovery."""

from __future__ import annotations

import numpy as np
import pytest

from tcpfair.engine.dumbbell import run
from tests.engine.scenarios import PACKET_BYTES, SLOW_BPS, dumbbell
from tests.engine.slow import agree, covering, forward
from tests.reference.dumbbell import FlowSpec, simulate


@pytest.mark.parametrize(
    "recovery, reduction, ack_every, access_bps",
    covering(("sack", "newreno", "reno"), ("immediate", "prr"), (1, 2), (0, 15e6), of=3),
)
def test_three_flows(recovery, reduction, ack_every, access_bps):
    shared = {"recovery": recovery, "reduction": reduction, "ack_every": ack_every, "access_bps": access_bps}
    slow = agree(
        forward(0.0503, **shared, access_queue_pkts=60),
        forward(0.0817, start_s=0.317, **shared),
        forward(0.02, start_s=3, stop_s=10, size_pkts=3000, **shared),
        jitter_s=0.003,
        duration_s=10.0,
    )
    assert all(slow.reductions)


@pytest.mark.parametrize("ack_every", [1, 2])
@pytest.mark.parametrize("access_bps", [0, 15e6])
def test_ccid2_against_reno(ack_every, access_bps):
    shared = {"ack_every": ack_every, "access_bps": access_bps, "access_queue_pkts": 60}
    slow = agree(forward(0.0503, "ccid2", **shared), forward(0.0503, start_s=2, **shared), jitter_s=0.001)
    assert all(slow.reductions)


@pytest.mark.parametrize("rtt_s, loss_rate", [(0.0503, 0.0), (0.2013, 0.0), (0.0503, 0.1)])
def test_ccid2_of_linux_6_asks_for_acks(rtt_s, loss_rate):
    shared = {"ack_every": 2, "stack": "linux_6"}
    flows = [forward(rtt_s, "ccid2", **shared), forward(rtt_s, start_s=2, **shared)]
    slow = agree(*flows, jitter_s=0.001, loss_rate=loss_rate)
    assert all(slow.reductions)
    assert slow.timeouts[0] or not loss_rate


@pytest.mark.parametrize("loss_rate, ack_every", [(0.0, 2), (0.01, 2), (0.0, 1)])
def test_linux_6_acknowledges_each_packet_while_its_window_grows(loss_rate, ack_every):
    """The growth of a flow with byte_counting does not depend on the number of ACKs; the other flow counts them."""
    shared = {"ack_every": ack_every, "stack": "linux_6", "rwnd_pkts": 600.7}
    flows = [forward(0.0503, byte_counting=True, **shared), forward(0.0803, start_s=2.0013, **shared)]
    slow = agree(*flows, jitter_s=0.001, loss_rate=loss_rate)
    assert all(slow.reductions)


def test_the_window_grows_by_two_packets_for_each():
    """65,535 bytes are 54.6 packets of 1200 bytes: 300 packets make it 654.6."""

    def acks(rwnd_pkts: float, pkts: float) -> float:
        """For a burst in slow start, which grows by a packet per ACK."""
        flow = {
            "rtt_s": 0.1,
            "stack": "linux_6",
            "ack_every": 2,
            "rwnd_pkts": rwnd_pkts,
            "iw_pkts": pkts,
            "size_pkts": pkts,
        }
        link = {"capacity_bps": 100e6, "wire_bytes": 1200, "payload_bytes": 1100, "buffer_pkts": 1000}
        return run(dumbbell(flow, **link)).cwnd_pkts[-1, 0] - pkts

    assert [acks(rwnd_pkts, 20) for rwnd_pkts in (np.inf, 54.0, 654.7)] == [10, 10, 20]
    # the 300th and those after it are acknowledged in pairs
    assert [acks(654.7, pkts) for pkts in (299, 319)] == [299, 309]


@pytest.mark.parametrize(
    "recovery, reduction, loss_rate",
    covering(("sack", "newreno"), ("rate_halving", "immediate", "prr"), (0.0, 0.005, 0.03)),
)
def test_linux_2_6_22_acknowledges_at_once_and_waits_for_lost_retransmissions(recovery, reduction, loss_rate):
    shared = {"ack_every": 2, "stack": "linux_2_6_22", "recovery": recovery, "reduction": reduction}
    flows = [forward(0.0503, rwnd_pkts=90.0, **shared), forward(0.0803, start_s=2.0013, rwnd_pkts=900.0, **shared)]
    slow = agree(*flows, jitter_s=0.001, loss_rate=loss_rate)
    assert all(slow.reductions)


@pytest.mark.parametrize("seed", [1, 6, 10])
def test_linux_2_6_22_after_an_overshoot(seed):
    """Retransmissions are lost while the queue is still full, and a timeout follows within the recovery."""
    shared = {"ack_every": 2, "stack": "linux_2_6_22", "reduction": "rate_halving", "iw_pkts": 2, "rwnd_pkts": 1500.3}
    flows = [forward(0.1003, **shared), forward(0.0703, start_s=4.0013, **shared)]
    slow = agree(*flows, seed=seed, jitter_s=0.0024, buffer_pkts=100.37)
    assert all(slow.reductions) and any(slow.timeouts)


@pytest.mark.parametrize("loss_rate, seed, access_bps", [(0.1, 1, 15e6), (0.25, 2, 0), (0.25, 2, 15e6)])
def test_timeouts_of_linux_2_6_22(loss_rate, seed, access_bps):
    """The timer runs from the last ACK in order or the first packet's transmission."""
    shared = {
        "ack_every": 2,
        "stack": "linux_2_6_22",
        "reduction": "rate_halving",
        "iw_pkts": 2,
        "access_bps": access_bps,
    }
    flows = [forward(0.0503, rwnd_pkts=60.0, **shared), forward(0.0803, start_s=1.0013, rwnd_pkts=4.0, **shared)]
    slow = agree(*flows, seed=seed, jitter_s=0.001, loss_rate=loss_rate)
    assert all(slow.timeouts)


@pytest.mark.parametrize("loss_rate", [0.0, 0.2])
@pytest.mark.parametrize("access_bps", [0, 15e6])
def test_ccid2_of_linux_2_6_22_sends_at_ticks(loss_rate, access_bps):
    shared = {
        "ack_every": 2 if loss_rate else 1,
        "stack": "linux_2_6_22",
        "access_bps": access_bps,
        "access_queue_pkts": 60,
    }
    flows = [forward(0.0503, "ccid2", start_s=0.0007, **shared), forward(0.0513, "ccid2", start_s=2.0013, **shared)]
    slow = agree(*flows, forward(0.0603, start_s=3, **shared), jitter_s=0.001, loss_rate=loss_rate)
    assert all(slow.reductions[:2])
    assert slow.timeouts[0] or not loss_rate


def test_the_first_quick_ack_is_that_of_the_packet_out_of_order():
    """One packet of a burst is lost. Of 16 quick ACKs the first is that of the last packet out of order and the second that of
    the retransmission; the other 14 packets would have had 7."""
    flow = {"rtt_s": 0.1, "ack_every": 2, "iw_pkts": 10, "size_pkts": 120, "recovery": "sack", "delack_s": 10.0}
    link = {
        "capacity_bps": 10e6,
        "wire_bytes": 1250,
        "payload_bytes": 1200,
        "buffer_pkts": 8.5,
        "duration_s": 5,
        "sample_s": 1,
    }

    def acks(stack: str) -> int:
        found = run(dumbbell({**flow, "stack": stack}, **link, reverse_bps=1e9, reverse_buffer_pkts=99))
        assert found.link_dropped_pkts[0, -1] == 1 and found.delivered_pkts[-1, 0] == 120
        return int(found.link_acks[1, -1])

    assert acks("linux_2_6_22") - acks("linux") == 7


def test_rack_counts_the_packets_beyond_the_hole():
    """A retransmission that completes an earlier hole is none of the three that show a loss at once."""
    shared = {"ack_every": 2, "stack": "linux_6"}
    slow = agree(
        forward(0.0503, reduction="prr", **shared),
        forward(0.0803, start_s=2.0013, **shared),
        jitter_s=0.001,
        loss_rate=0.1,
        seed=11,
    )
    assert all(slow.reductions)


@pytest.mark.parametrize(
    "of_stack, recovery, reduction",
    covering(
        (("linux", 4.37), ("linux", 30.37), ("linux_6", 30.37)),
        ("sack", "newreno", "reno"),
        ("immediate", "prr", "rate_halving"),
        of=3,
    ),
)
def test_whole_windows(of_stack, recovery, reduction):
    stack, buffer_pkts = of_stack
    shared = {"recovery": recovery, "reduction": reduction, "stack": stack}
    slow = agree(
        forward(0.0503, **shared, access_bps=15e6, access_queue_pkts=60),
        forward(0.0817, "scalable", start_s=0.317, **shared),
        forward(0.02, start_s=3, stop_s=10, ack_every=2, byte_counting=True, **shared),
        forward(0.031, start_s=3.2),
        buffer_pkts=buffer_pkts,
        jitter_s=0.003,
        duration_s=10.0,
    )
    assert all(slow.reductions)


def test_random_loss_agrees_in_the_mean():
    """Random losses are drawn differently, so totals agree within the standard error of the means."""
    network = {"buffer_pkts": 50, "duration_s": 15, "loss_rate": 0.003, "jitter_s": 0.003}
    rtts_s, seeds = (0.05, 0.1), range(12)
    specs, scenario = [FlowSpec(rtt_s) for rtt_s in rtts_s], dumbbell(*map(forward, rtts_s), **network)
    slow = [simulate(specs, SLOW_BPS, PACKET_BYTES, **network, seed=seed).delivered_pkts for seed in seeds]
    fast = [run(scenario, seed).delivered_pkts[-1] for seed in seeds]
    error = np.hypot(np.std(slow, 0, ddof=1), np.std(fast, 0, ddof=1)) / np.sqrt(len(seeds))
    assert np.all(np.abs(np.mean(fast, 0) - np.mean(slow, 0)) < 4 * error)
