"""Elementary functions without libm: against numpy and the standard library."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpfair.cc.exactmath import cbrt, exp, log, power


@given(st.floats(1e-12, 1e12))
def test_cbrt_is_within_four_units_in_the_last_place(x):
    expected = np.cbrt(x)
    assert abs(cbrt(x) - expected) <= 4 * np.spacing(expected)


def test_cbrt_of_zero_and_below():
    assert cbrt(0.0) == 0.0
    assert cbrt(-8.0) == 0.0


@given(st.floats(1e-6, 1e6), st.integers(-6, 6))
def test_cbrt_scales_exactly_with_powers_of_eight(x, n):
    assert cbrt(x * 8.0**n) == cbrt(x) * 2.0**n


@given(st.floats(1e-300, 1e300) | st.floats(1e-12, 1e12) | st.sampled_from([0.25, 1.0, 8.0]))
def test_log_is_within_two_units_in_the_last_place(x):
    expected = math.log(x)
    assert abs(log(x) - expected) <= 2 * math.ulp(expected)


@given(st.floats(-1e-6, 1e-6))
def test_log_near_one_keeps_its_digits(d):
    assert log(1 + d) == pytest.approx(math.log(1 + d), rel=1e-15)


@given(st.floats(-600, 600))
def test_exp_is_within_two_units_in_the_last_place(x):
    expected = math.exp(x)
    assert abs(exp(x) - expected) <= 2 * math.ulp(expected)


@given(st.floats(1e-3, 1e5), st.floats(-3, 3))
def test_power(x, y):
    assert power(x, y) == pytest.approx(x**y, rel=4e-16 * (1 + abs(y * math.log(x))))


@given(st.floats(1e-3, 1e5))
def test_power_of_a_third_is_the_cube_root(x):
    assert power(x, 1 / 3) == pytest.approx(cbrt(x), rel=4e-15)
