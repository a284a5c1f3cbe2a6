"""Measures of time series against values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tcpfair.metrics import series


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


def test_first_time_over_leading_axes():
    condition = np.array([[False, True, True], [False, False, False], [True, False, True]])
    np.testing.assert_array_equal(series.first_time_s(condition, [1.0, 2.0, 3.0]), [2.0, np.nan, 1.0])


def test_first_time_of_no_samples_is_nan():
    assert np.isnan(series.first_time_s(np.zeros((2, 0), dtype=bool), np.zeros(0))).tolist() == [True, True]


def test_time_to_fraction_of_the_peak():
    x = np.array([[10.0, 50.0, 89.0, 90.0, 100.0], [5.0, 4.0, 3.0, 2.0, 1.0]])
    np.testing.assert_array_equal(series.time_to_fraction_s(x, np.arange(1.0, 6.0), 0.9), [4.0, 1.0])


def test_share_of_time():
    np.testing.assert_array_equal(series.share_of_time([[True, False, False, False], [True] * 4]), [0.25, 1.0])


def test_utilisation_of_two_flows():
    # 60 + 30, 40 + 50 and 0 + 100 of 100 Mb/s
    r = np.array([[60.0, 40.0, 0.0], [30.0, 50.0, 100.0]])
    assert series.utilisation(r, 100.0) == pytest.approx(2.8 / 3)


def test_coefficient_of_variation_of_hand_worked_values():
    # 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squared deviations sum to 32
    x = np.array([2.0, 4, 4, 4, 5, 5, 7, 9])
    assert series.coefficient_of_variation(x) == pytest.approx(np.sqrt(32 / 7) / 5)
    assert series.coefficient_of_variation(-x) == pytest.approx(np.sqrt(32 / 7) / 5)
    assert np.isnan(series.coefficient_of_variation([3.0]))
    assert np.isnan(series.coefficient_of_variation(np.ones((2, 1)))).tolist() == [True, True]


@given(arrays(float, 6, elements=st.floats(1, 100)), st.floats(0.01, 100))
def test_coefficient_of_variation_ignores_the_unit(x, unit):
    scaled = series.coefficient_of_variation(x * unit)
    assert scaled == pytest.approx(series.coefficient_of_variation(x), abs=1e-12)


def test_slope_of_the_line_through_points():
    # sum of (x - 1) y over that of (x - 1)^2
    assert series.fitted_slope([0.0, 1.0, 2.0], [5.0, 6.0, 11.0]) == pytest.approx(3.0)


def test_throughput_ratio_of_starved_flows():
    ratio = series.throughput_ratio([16.0, 5.0, 0.0], [45.0, 0.0, 0.0])
    np.testing.assert_allclose(ratio, [0.3556, np.inf, np.nan], atol=1e-4)


def test_smaller_to_larger_ratio_is_one_when_equal():
    r = np.array([[50.0, 100.0], [100.0, 50.0], [80.0, 80.0], [0.0, 90.0]])
    np.testing.assert_allclose(series.smaller_to_larger_ratio(r), [0.5, 0.5, 1.0, 0.0])


def test_interval_of_a_mean_by_students_t():
    # t of 3 degrees of freedom at 97.5 % is 3.182; s = 2, n = 4
    x = [10 - 3**0.5, 10 + 3**0.5, 10 - 3**0.5, 10 + 3**0.5]
    mean, half = series.mean_interval([*x, np.nan], level=0.95)
    assert mean == pytest.approx(10)
    assert half == pytest.approx(3.182 * 2 / 2, rel=1e-3)


def test_two_values_have_an_interval():
    # t of 1 degree of freedom at 97.5 % is 12.706; s = sqrt(2), n = 2
    mean, half = series.mean_interval([9.0, 11.0], level=0.95)
    assert (mean, half) == pytest.approx((10, 12.706), rel=1e-4)


def test_intervals_of_several_means_are_each_their_own():
    # t at 97.5 %: 3.182 of 3 degrees of freedom, 12.706 of 1
    half = series.interval_half_width(np.array([2.0, 2.0]), np.array([4, 2]), level=0.95)
    np.testing.assert_allclose(half, [3.182, 12.706 * 2**0.5], rtol=1e-3)


def test_one_value_has_no_interval():
    mean, half = series.mean_interval([7.0], level=0.95)
    assert mean == 7
    assert np.isnan(half)


def test_moving_mean_holds_the_samples_before():
    assert series.moving_mean([[1, 3, 5, 7]], samples=2).tolist() == [[2, 4, 6]]
    assert series.moving_mean([1.0, 2.0], samples=3).size == 0


def test_error_of_a_mean_by_batches():
    """Ten parts of two with means 0 to 9: their deviation over the root of ten."""
    x = np.repeat(np.arange(10.0), 2)
    assert series.error_of_mean(x, 10) == pytest.approx(np.std(np.arange(10), ddof=1) / np.sqrt(10))
    assert series.error_of_mean([x, x * 2], 10)[1] == pytest.approx(2 * series.error_of_mean(x, 10))
    assert np.isnan(series.error_of_mean(np.ones(9), 10))
    assert series.error_of_mean(np.ones(40), 10) == 0
