"""Two-way traffic and synchronised losses: the engine against the independent slow simulator, packet by packet."""

from __future__ import annotations

import itertools

import pytest

from tests.engine.scenarios import SLOW_BPS
from tests.engine.slow import agree, any_scenario, covering, forward, reverse, some_of, two_way


@pytest.mark.parametrize("count", [1, 2, 5, 9, 17])
def test_any_number_of_flows(count):
    slow = agree(*(forward(0.05 + 0.0037 * k, start_s=0.1 * k) for k in range(count)), duration_s=15.0)
    assert min(slow.delivered_pkts) > 100


# --- two-way traffic ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse_bps", [SLOW_BPS, 7.3e6, 45e6])
def test_one_flow_alone(reverse_bps):
    slow = agree(forward(0.0503), **two_way(reverse_bps))
    assert slow.reductions[0]
    assert slow.ack_drops == [0]


@pytest.mark.parametrize("cc, reverse_cc, ack_every", covering(("reno", "cubic"), ("reno", "cubic"), (1, 2)))
def test_forward_against_reverse(cc, reverse_cc, ack_every):
    flows = [
        forward(0.0503, cc, ack_every=ack_every),
        forward(0.0817, cc, ack_every=ack_every, start_s=0.317),
        reverse(0.0503, reverse_cc, ack_every=ack_every, start_s=1.1),
        reverse(0.1213, reverse_cc, ack_every=ack_every, start_s=0.05),
    ]
    slow = agree(*flows, **two_way(9.7e6, 40.23))
    assert all(slow.reductions)


@pytest.mark.parametrize(
    "recovery, reduction", list(itertools.product(("sack", "newreno", "reno"), ("immediate", "prr", "rate_halving")))
)
def test_recoveries_when_acks_are_dropped(recovery, reduction):
    shared = {"recovery": recovery, "reduction": reduction}
    flows = [forward(0.0503, **shared), forward(0.0817, start_s=0.3, **shared), reverse(0.0931, **shared)]
    slow = agree(*flows, **two_way(5.1e6, 4.3, 300.0))
    assert sum(slow.ack_drops[:2]) > 20
    assert all(slow.reductions)


@pytest.mark.parametrize("ack_every", [1, 2])
@pytest.mark.parametrize("byte_counting", [False, True])
def test_dropped_and_delayed_acks(ack_every, byte_counting):
    shared = {"ack_every": ack_every, "byte_counting": byte_counting, "delack_s": 0.0371}
    flows = [forward(0.0503, "cubic", **shared), reverse(0.0931, "cubic", **shared), reverse(0.0217, **shared)]
    slow = agree(*flows, **two_way(2.3e6, 3.7))
    assert slow.ack_drops[0] > 50


def test_linux_2_6_22_when_many_retransmissions_are_lost():
    """A timeout within a recovery keeps the threshold, one after progress does not; ACKs in flight show nothing after it."""
    shared = {"ack_every": 2, "stack": "linux_2_6_22", "reduction": "rate_halving", "iw_pkts": 100, "rwnd_pkts": 100.0}
    network = {"jitter_s": 0.001, "loss_rate": 0.2, "buffer_pkts": 160.37, "duration_s": 20.0, **two_way(15e6, 140.3)}
    slow = agree(forward(0.0703, **shared), reverse(0.0903, **shared), seed=3, **network)
    assert all(slow.timeouts)


def test_windows_whose_acks_are_all_dropped():
    """The timer repeats packets that have arrived: duplicates, and their ACKs, are dropped as well now and then."""
    flows = [forward(0.0503, rwnd_pkts=3.0), forward(0.0817, rwnd_pkts=2.0), forward(0.0211, rwnd_pkts=4.0)]
    flows += [reverse(0.0331 + 0.0177 * k, "cubic", start_s=0.1 * k) for k in range(6)]
    slow = agree(*flows, **two_way(3.1e6, 1.37, 500.0, loss_rate=0.01))
    assert sum(slow.duplicates[:3]) > 10
    assert sum(slow.timeouts[i] != [] for i in range(3)) == 3


def test_windows_whose_acks_are_all_dropped_while_data_are_lost_too():
    flows = [forward(0.0503, rwnd_pkts=6.0), forward(0.0817), reverse(0.0211, rwnd_pkts=5.0), reverse(0.0457, "cubic")]
    slow = agree(*flows, **two_way(3.1e6, 1.37, 500.0, loss_rate=0.1, duration_s=60.0))
    assert sum(slow.duplicates) > 2
    assert sum(slow.drops) > 200


@pytest.mark.parametrize("access_bps", [0, 15e6])
def test_finite_flows(access_bps):
    flows = [
        forward(0.03 + 0.0117 * k, start_s=0.4 * k, size_pkts=20 * 2**k, access_bps=access_bps, delack_s=0.1)
        | {"direction": ("forward", "reverse")[k % 2], "ack_every": 1 + k // 2 % 2}
        for k in range(8)
    ]
    slow = agree(*flows, **two_way(6.7e6, 8.61))
    assert slow.delivered_pkts == [flow["size_pkts"] for flow in flows]


def test_random_losses_on_both_links():
    flows = [forward(0.0503), reverse(0.0817), forward(0.0211, "cubic", ack_every=2), reverse(0.1113, "cubic")]
    slow = agree(*flows, **two_way(7.3e6, loss_rate=0.005))
    assert min(slow.drops) > 20


@pytest.mark.parametrize("flow", [forward(0.0503, ack_every=2, delack_s=0.2), reverse(0.0503, "cubic")])
def test_random_losses_without_jitter(flow):
    """One flow only: without jitter the packets of several meet at the same instant, in no order of their own."""
    slow = agree(flow, **two_way(7.3e6, loss_rate=0.01, jitter_s=0.0))
    assert slow.drops[0] > 20


def test_jitter_of_hosts_draws_from_the_direction_of_the_flow():
    shared = {"access_bps": 30e6, "access_jitter_s": 0.0013}
    flows = [forward(0.0503, **shared), reverse(0.0817, **shared), forward(0.0211, start_s=0.5)]
    agree(*flows, **two_way(7.3e6))


def test_ccid2_both_ways():
    flows = [forward(0.0503, "ccid2", ack_every=2), reverse(0.0817, "ccid2"), forward(0.0211), reverse(0.0331)]
    slow = agree(*flows, **two_way(7.3e6))
    assert all(slow.reductions)


# --- synchronised losses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("recovery", ["sack", "newreno"])
@pytest.mark.parametrize("reduction", ["immediate", "prr"])
def test_synchronised_losses_one_way(recovery, reduction):
    shared = {"recovery": recovery, "reduction": reduction}
    flows = [
        forward(0.0503, **shared),
        forward(0.0817, "cubic", start_s=2.3, **shared),
        forward(0.0217, start_s=5.0, stop_s=20.0, **shared),
        forward(0.1113, start_s=7.0, size_pkts=500, **shared),
    ]
    slow = agree(*flows, synchronised_losses=True)
    assert all(slow.shared_losses)


def test_synchronised_losses_with_access_links_and_random_loss():
    shared = {"access_bps": 30e6, "access_queue_pkts": 60}
    flows = [forward(0.0503, **shared), forward(0.0817, start_s=2.3, **shared), forward(0.0217, start_s=5.0)]
    slow = agree(*flows, synchronised_losses=True, loss_rate=0.0005)
    assert all(slow.shared_losses)


@pytest.mark.parametrize("cc", ["reno", "cubic"])
def test_synchronised_losses_two_way(cc):
    flows = [forward(0.0503, cc), forward(0.0817, cc, start_s=3.1), reverse(0.0331, cc), reverse(0.0671, start_s=1.7)]
    slow = agree(*flows, **two_way(8.3e6, 12.61, synchronised_losses=True))
    assert all(slow.shared_losses)
    assert all(slow.loss_events)


def test_synchronised_losses_when_acks_are_dropped():
    flows = [forward(0.0503, rwnd_pkts=3.0), forward(0.0817), reverse(0.0331, "cubic"), reverse(0.0671, start_s=1.7)]
    flows += [reverse(0.0457, "cubic"), forward(0.0217, rwnd_pkts=4.0, start_s=0.9)]
    slow = agree(*flows, **two_way(3.1e6, 1.37, 500.0, buffer_pkts=6.37, synchronised_losses=True, duration_s=60.0))
    assert sum(slow.ack_drops) > 100
    assert sum(slow.duplicates) > 5
    assert sum(shares != [] for shares in slow.shared_losses) >= 4


# --- anything ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", some_of(range(32)))
def test_any_scenario(number):
    flows, network = any_scenario(number, with_stacks=number >= 16)
    agree(*flows, **network)
