"""CUBIC's window, K and the adjusted K of kozu2014 against hand-worked values and the paper's statements."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpfair.models import cubic

WINDOWS_PKTS = st.floats(10, 1e5)


def test_k_of_2000_packets_is_10_s():
    # cbrt(2000 * 0.2 / 0.4) = cbrt(1000)
    assert cubic.cubic_k_s(2000.0) == pytest.approx(10)
    assert cubic.cubic_k_s(250.0) == pytest.approx(5)


def test_window_after_a_loss_at_2000_packets():
    # 0.4 (t - 10)^3 + 2000: down to 80%, back at W_max after K, then beyond it
    w = cubic.window_pkts(np.array([0.0, 5.0, 10.0, 15.0]), 10.0, 2000.0)
    np.testing.assert_allclose(w, [1600, 1950, 2000, 2050])


def test_proposed_k_in_ms_and_in_s():
    rtt_s = np.array([0.002, 0.128])
    np.testing.assert_allclose(cubic.proposed_k_s(2000.0, rtt_s) / 10, [0.794, 0.198], atol=0.001)
    np.testing.assert_allclose(cubic.proposed_k_s(2000.0, rtt_s, rtt_unit_s=1.0) / 10, [7.94, 1.98], atol=0.01)


@given(st.floats(1.0, 1e5), st.sampled_from([1e-3, 1.0]))
def test_proposed_k_is_the_same_for_all_flows_of_equal_rate(rate_pps, rtt_unit_s):
    # sec. 4.1: W_max proportional to RTT
    rtt_s = np.array([0.002, 0.016, 0.128])
    k_s = cubic.proposed_k_s(rate_pps * rtt_s, rtt_s, rtt_unit_s)
    np.testing.assert_allclose(k_s, k_s[0])


@given(WINDOWS_PKTS, st.floats(0.002, 0.2))
def test_scaled_c_keeps_the_decrease_that_the_proposed_k_alone_changes(w_max_pkts, rtt_s):
    # figs. 11 and 12
    k_s = cubic.proposed_k_s(w_max_pkts, rtt_s)
    assert cubic.window_pkts(0.0, k_s, w_max_pkts, cubic.scaled_c(rtt_s)) == pytest.approx(0.8 * w_max_pkts)
    assert cubic.window_pkts(0.0, k_s, w_max_pkts) > 0.8 * w_max_pkts


def test_scaled_c_of_10_ms():
    assert cubic.scaled_c(0.01) == pytest.approx(4)


def test_window_with_scaled_c_returns_to_w_max():
    # at 8 ms: K = 10 / 2, C' = 3.2
    w = cubic.window_pkts(np.array([0.0, 5.0, 6.0]), cubic.proposed_k_s(2000.0, 0.008), 2000.0, cubic.scaled_c(0.008))
    np.testing.assert_allclose(w, [1600, 2000, 2003.2])


def test_existing_method_multiplies_k():
    np.testing.assert_allclose(cubic.existing_k_s(2000.0, np.array([1.0, 0.25])), [10, 2.5])


def test_x_is_tuned_to_the_best_index_that_does_not_rise_with_the_rtt():
    x = [0.25, 1.0, 0.5]
    index = [[0.9, 0.5, 0.9], [0.2, 0.7, 0.8], [0.6, 0.9, 0.5]]
    # alone the three RTTs would take 0.25 or 0.5, 0.5, 1; the first has to be 1, and 1 after 0.5 would be a rise:
    # 0.8 + 0.6 with 0.5, 0.25 against 0.7 + 0.9 with 1, 1
    assert cubic.tuned_x(index, x).tolist() == [1, 1, 1]
    index[2][1] = 0.6
    assert cubic.tuned_x(index, x).tolist() == [1, 0.5, 0.25]


@given(st.integers(2, 6), st.randoms(use_true_random=False))
def test_tuned_x_is_the_best_of_all_falling_choices(rtts, random):
    x = [1.0, 0.6, 0.3]
    index = np.array([[random.random() for _ in x] for _ in range(rtts)])
    choices = [(0, *rest) for rest in combinations_with_replacement(range(len(x)), rtts - 1)]
    best = max(choices, key=lambda places: index[np.arange(rtts), places].sum())
    assert cubic.tuned_x(index, x).tolist() == [x[place] for place in best]


def test_window_limits_of_appendix_c():
    # 100 KB at 2 ms and 6.4 MB at 128 ms are 400 Mb/s
    np.testing.assert_allclose(cubic.window_limit_bps(np.array([100e3, 6.4e6]), np.array([0.002, 0.128])), 400e6)
    np.testing.assert_allclose(cubic.window_needed_bytes(400e6, np.array([0.002, 0.128])), [100e3, 6.4e6])


def test_printed_mean_windows_bound_the_throughput():
    # sec. 3.1: 0.82 MB at 2 ms would exceed the 1 Gb/s link, 2.83 MB at 128 ms cannot reach 400 Mb/s
    bounds_bps = cubic.window_limit_bps(np.array([0.82e6, 2.83e6]), np.array([0.002, 0.128]))
    np.testing.assert_allclose(bounds_bps, [3280e6, 176.9e6], rtol=1e-3)
