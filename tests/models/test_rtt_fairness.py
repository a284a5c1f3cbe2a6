"""RTT-fairness laws against the exponents the papers state and a sawtooth iterated by hand."""

import numpy as np
import pytest

from tcpfair.models import aimd, rtt_fairness


def test_window_exponents_of_the_table_of_d():
    exponents = {name: float(rtt_fairness.window_exponent(d)) for name, d in rtt_fairness.D.items()}
    assert exponents == pytest.approx({"Reno": 1.0, "BIC": 1.0, "HSTCP": 4.5556, "STCP": np.inf}, rel=1e-4)


def test_window_ratio_of_40_against_120_ms():
    assert rtt_fairness.window_ratio(0.04, 0.12, d=0.5) == pytest.approx(3)
    # 3^4.5556
    assert rtt_fairness.window_ratio(0.04, 0.12, d=0.82) == pytest.approx(149.1, rel=1e-3)


def test_stcp_gives_everything_to_the_smaller_rtt():
    np.testing.assert_array_equal(rtt_fairness.window_ratio(0.04, np.array([0.12, 0.04, 0.02]), d=1.0), [np.inf, 1, 0])


def test_throughput_ratio_is_the_window_ratio_over_the_rtt_ratio():
    assert rtt_fairness.throughput_exponent(0.5) == pytest.approx(2)
    assert rtt_fairness.throughput_ratio(0.04, 0.12, d=0.5) == pytest.approx(9)


def test_random_losses_at_120_against_40_ms():
    # the high-loss end of ogura fig. 8
    ratios = {p: rtt_fairness.random_loss_ratio(p, 3.0) for p in ("reno", "alpha", "libra")}
    assert ratios == pytest.approx({"reno": 1 / 3, "alpha": 0.577, "libra": 1.0}, abs=0.001)


@pytest.mark.parametrize("protocol", ["reno", "alpha", "libra"])
def test_random_losses_agree_with_the_square_root_law(protocol):
    rtt_s = np.array([0.04, 0.12])
    x = aimd.increment_per_rtt_pkts(protocol, rtt_s, 0.04)
    shorter, longer = np.sqrt(x) / rtt_s  # the mean window is sqrt(3 x / 2p), sent once per RTT
    assert longer / shorter == pytest.approx(rtt_fairness.random_loss_ratio(protocol, 3.0))


def test_sack_ratios_of_ha2006():
    k = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(rtt_fairness.random_loss_ratio("reno", k), [1, 0.5, 0.25])
    np.testing.assert_allclose(rtt_fairness.synchronised_loss_ratio("reno", k), [1, 0.25, 0.0625])


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
