"""CUBIC's window, K and the adjusted K of kozu2014 against hand-worked values and the paper's statements."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpfair.models import cubic

WINDOWS_PKTS = st.floats(10, 1e5)


RTTS_S = np.array([0.002, 0.128])
BY_HAND = {
    # cbrt(2000 * 0.2 / 0.4) = cbrt(1000)
    "K of 2000 packets": (cubic.cubic_k_s, np.array([2000.0, 250.0]), [10, 5]),
    # 0.4 (t - 10)^3 + 2000: down to 80%, back at W_max after K, then beyond it
    "window": (cubic.window_pkts, np.array([0.0, 5.0, 10.0, 15.0]), 10.0, 2000.0, [1600, 1950, 2000, 2050]),
    # 10 / cbrt of the RTT in ms, or in s
    "proposed K in ms": (cubic.proposed_k_s, 2000.0, RTTS_S, [10 / 2 ** (1 / 3), 10 / 128 ** (1 / 3)]),
    "proposed K in s": (cubic.proposed_k_s, 2000.0, RTTS_S, 1.0, [100 / 2 ** (1 / 3), 100 / 128 ** (1 / 3)]),
    "scaled C": (cubic.scaled_c, np.array([0.01, 0.008]), [4, 3.2]),
    # at 8 ms: K = 10 / 2, C' = 3.2
    "window with scaled C": (cubic.window_pkts, np.array([0.0, 5.0, 6.0]), 5.0, 2000.0, 3.2, [1600, 2000, 2003.2]),
    "existing method": (cubic.existing_k_s, 2000.0, np.array([1.0, 0.25]), [10, 2.5]),
    # appendix C: 100 KB at 2 ms and 6.4 MB at 128 ms are 400 Mb/s
    "limit": (cubic.window_limit_bps, np.array([100e3, 6.4e6]), RTTS_S, 400e6),
    "window that is needed": (cubic.window_needed_bytes, 400e6, RTTS_S, [100e3, 6.4e6]),
    # sec. 3.1: 0.82 MB at 2 ms would exceed the 1 Gb/s link, 2.83 MB at 128 ms cannot reach 400 Mb/s
    "limit of printed windows": (cubic.window_limit_bps, np.array([0.82e6, 2.83e6]), RTTS_S, [3280e6, 176.875e6]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    function, *arguments, expected = BY_HAND[name]
    np.testing.assert_allclose(function(*arguments), expected, rtol=1e-9)


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
