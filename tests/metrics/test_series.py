"""Measures of time series against values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tcpfair.metrics import series

NAN, INF = np.nan, np.inf
# 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squared deviations sum to 32
VARIED = np.array([2.0, 4, 4, 4, 5, 5, 7, 9])
VARIATION = np.sqrt(32 / 7) / 5
# a variance of 4
FOUR = [10 - 3**0.5, 10 + 3**0.5, 10 - 3**0.5, 10 + 3**0.5]
BATCHES = np.repeat(np.arange(10.0), 2)
ERROR = np.std(np.arange(10), ddof=1) / np.sqrt(10)

BY_HAND = {
    "first time": (
        series.first_time_s,
        [[False, True, True], [False] * 3, [True, False, True]],
        [1.0, 2.0, 3.0],
        [2.0, NAN, 1.0],
    ),
    "first time of no samples": (series.first_time_s, np.zeros((2, 0), dtype=bool), np.zeros(0), [NAN, NAN]),
    "time to a fraction of the peak": (
        series.time_to_fraction_s,
        [[10.0, 50.0, 89.0, 90.0, 100.0], [5.0, 4.0, 3.0, 2.0, 1.0]],
        np.arange(1.0, 6.0),
        0.9,
        [4.0, 1.0],
    ),
    "share of time": (series.share_of_time, [[True, False, False, False], [True] * 4], [0.25, 1.0]),
    # 60 + 30, 40 + 50 and 0 + 100 of 100 Mb/s
    "utilisation": (series.utilisation, [[60.0, 40.0, 0.0], [30.0, 50.0, 100.0]], 100.0, 2.8 / 3),
    "variation": (series.coefficient_of_variation, [VARIED, -VARIED], [VARIATION, VARIATION]),
    "variation of silence": (series.coefficient_of_variation, np.zeros((2, 3)), [NAN, NAN]),
    "variation about zero": (series.coefficient_of_variation, [-1.0, 1.0], INF),
    "interval of nothing": (series.mean_interval, [], 0.95, [NAN, NAN]),
    "variation of one value": (series.coefficient_of_variation, np.ones((2, 1)), [NAN, NAN]),
    # sum of (x - 1) y over that of (x - 1)^2
    "slope": (series.fitted_slope, [0.0, 1.0, 2.0], [5.0, 6.0, 11.0], 3.0),
    "ratio to a starved flow": (series.throughput_ratio, [16.0, 5.0, 0.0], [45.0, 0.0, 0.0], [16 / 45, INF, NAN]),
    "smaller to larger": (
        series.smaller_to_larger_ratio,
        [[50.0, 100.0], [100.0, 50.0], [80.0, 80.0], [0.0, 90.0]],
        [0.5, 0.5, 1.0, 0.0],
    ),
    # Student's t at 97.5 %: 3.182 of 3 degrees of freedom, 12.706 of 1
    "interval of a mean": (series.mean_interval, [*FOUR, NAN], 0.95, [10, 3.182 * 2 / 2]),
    "interval of two values": (series.mean_interval, [9.0, 11.0], 0.95, [10, 12.706]),
    "interval of one value": (series.mean_interval, [7.0], 0.95, [7, NAN]),
    "intervals of several means": (
        series.interval_half_width,
        np.array([2.0, 2.0]),
        np.array([4, 2]),
        0.95,
        [3.182, 12.706 * 2**0.5],
    ),
    "moving mean": (series.moving_mean, [[1, 3, 5, 7]], 2, [[2, 4, 6]]),
    "moving mean of too few": (series.moving_mean, [1.0, 2.0], 3, []),
    # ten parts of two with means 0 to 9: their deviation over the root of ten
    "error by batches": (series.error_of_mean, [BATCHES, BATCHES * 2], 10, [ERROR, 2 * ERROR]),
    "error of too few": (series.error_of_mean, np.ones(9), 10, NAN),
    "error of what does not vary": (series.error_of_mean, np.ones(40), 10, 0),
}


@pytest.mark.filterwarnings("error")  # what is not defined is NaN without a warning
@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    function, *arguments, expected = BY_HAND[name]
    np.testing.assert_allclose(function(*arguments), expected, rtol=2e-4)


def test_window_of_60_to_300_s_holds_240_samples():
    # 5 runs of 240 s make the 1200 samples of bhatti2009
    t_s = np.arange(1, 301) * 1.0
    inside = series.window_mask(t_s, 60.0, 300.0)
    assert inside.sum() == 240
    assert t_s[inside][[0, -1]].tolist() == [61.0, 300.0]


def test_window_is_not_moved_by_rounded_sample_times():
    # 3 * 0.1 is a little more than 0.3
    inside = series.window_mask(np.arange(1, 11) * 0.1, 0.3, 0.6)
    assert np.flatnonzero(inside).tolist() == [3, 4, 5]


@given(arrays(float, 6, elements=st.floats(1, 100)), st.floats(0.01, 100))
def test_coefficient_of_variation_ignores_the_unit(x, unit):
    scaled = series.coefficient_of_variation(x * unit)
    assert scaled == pytest.approx(series.coefficient_of_variation(x), abs=1e-12)
