"""RTT-fairness laws against the exponents the papers state and a sawtooth iterated by hand."""

import numpy as np
import pytest

from tcpfair.models import aimd, rtt_fairness


def test_window_exponents_of_the_table_of_d():
    exponents = {name: float(rtt_fairness.window_exponent(d)) for name, d in rtt_fairness.D.items()}
    assert exponents == pytest.approx({"Reno": 1.0, "BIC": 1.0, "HSTCP": 4.5556, "STCP": np.inf}, rel=1e-4)


K = np.array([1.0, 2.0, 4.0])
BY_HAND = {
    "window ratio of Reno": (rtt_fairness.window_ratio, 0.04, 0.12, 0.5, 3),
    "window ratio of HSTCP": (rtt_fairness.window_ratio, 0.04, 0.12, 0.82, 3 ** (0.82 / 0.18)),
    # STCP gives everything to the smaller RTT
    "window ratio of STCP": (rtt_fairness.window_ratio, 0.04, np.array([0.12, 0.04, 0.02]), 1.0, [np.inf, 1, 0]),
    "throughput exponent": (rtt_fairness.throughput_exponent, 0.5, 2),
    "throughput ratio": (rtt_fairness.throughput_ratio, 0.04, 0.12, 0.5, 9),
    # ha2006, SACK
    "random losses": (rtt_fairness.random_loss_ratio, "reno", K, [1, 0.5, 0.25]),
    "synchronised losses": (rtt_fairness.synchronised_loss_ratio, "reno", K, [1, 0.25, 0.0625]),
    # 120 against 40 ms, the high-loss end of ogura fig. 8
    "random losses of Reno": (rtt_fairness.random_loss_ratio, "reno", 3.0, 1 / 3),
    "random losses of Alpha": (rtt_fairness.random_loss_ratio, "alpha", 3.0, 3**-0.5),
    "random losses of Libra": (rtt_fairness.random_loss_ratio, "libra", 3.0, 1),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    function, *arguments, expected = BY_HAND[name]
    np.testing.assert_allclose(function(*arguments), expected, rtol=1e-9)


@pytest.mark.parametrize("protocol", ["reno", "alpha", "libra"])
def test_random_losses_agree_with_the_square_root_law(protocol):
    rtt_s = np.array([0.04, 0.12])
    x = aimd.increment_per_rtt_pkts(protocol, rtt_s, 0.04)
    shorter, longer = np.sqrt(x) / rtt_s  # the mean window is sqrt(3 x / 2p), sent once per RTT
    assert longer / shorter == pytest.approx(rtt_fairness.random_loss_ratio(protocol, 3.0))


@pytest.mark.parametrize("protocol", ["reno", "alpha", "libra"])
def test_synchronised_losses_agree_with_an_iterated_sawtooth(protocol):
    """Two flows halve together whenever their rates reach the capacity, and grow in between."""
    rtt_s, capacity_pps = np.array([0.04, 0.12]), 8000.0
    growth_pps = aimd.increment_per_rtt_pkts(protocol, rtt_s, 0.04) / rtt_s
    cwnd_pkts = rtt_s * capacity_pps / 2
    for _ in range(100):
        cwnd_pkts = cwnd_pkts / 2
        until_full_s = (capacity_pps - (cwnd_pkts / rtt_s).sum()) / (growth_pps / rtt_s).sum()
        cwnd_pkts = cwnd_pkts + growth_pps * until_full_s
    shorter_pps, longer_pps = cwnd_pkts / rtt_s
    assert longer_pps / shorter_pps == pytest.approx(rtt_fairness.synchronised_loss_ratio(protocol, 3.0))
