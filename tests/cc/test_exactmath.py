"""Elementary functions without libm: against numpy and the standard library."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpfair.cc.exactmath import cbrt

no_deadline = settings(deadline=None)  # the first call compiles


@no_deadline
@given(st.floats(1e-12, 1e12))
def test_cbrt_is_within_four_units_in_the_last_place(x):
    expected = np.cbrt(x)
    assert abs(cbrt(x) - expected) <= 4 * np.spacing(expected)


@no_deadline
@given(st.integers(1, 10_000))
def test_cbrt_of_cubes(n):
    assert abs(cbrt(float(n**3)) - n) <= math.ulp(n)


def test_cbrt_of_zero_and_below():
    assert cbrt(0.0) == 0.0
    assert cbrt(-8.0) == 0.0


@no_deadline
@given(st.floats(1e-6, 1e6), st.integers(-6, 6))
def test_cbrt_scales_exactly_with_powers_of_eight(x, n):
    assert cbrt(x * 8.0**n) == cbrt(x) * 2.0**n
