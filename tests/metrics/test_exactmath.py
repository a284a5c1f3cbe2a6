"""The logarithm of metrics against one of forty digits."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from tcpfair.metrics.exactmath import log10

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    "x",
    [
        10 ** RNG.uniform(-300, 300, 500),
        RNG.uniform(0.5, 2, 1000),
        1 + RNG.normal(0, 1e-9, 500),
        np.array([0.7071067811865475, 0.7071067811865476, 1.4142135623730951, 5e-324, 1.7976931348623157e308]),
    ],
    ids=["any size", "around 1", "close to 1", "edges"],
)
def test_within_four_units_in_the_last_place(x):
    with localcontext() as context:
        context.prec = 40
        for value, found in zip(x.tolist(), log10(x).tolist(), strict=True):
            exact = Decimal(value).log10()
            assert abs(Decimal(found) - exact) <= 4 * Decimal(math.ulp(float(exact)))


def test_powers_of_ten_and_what_has_no_logarithm():
    assert log10([1, 10, 100, 1000, 0.1]).tolist() == [0, 1, 2, 3, -1]
    assert log10([0, -0.0, np.inf]).tolist() == [-np.inf, -np.inf, np.inf]
    assert np.isnan(log10([-1, -np.inf, np.nan])).all()


def test_shapes():
    assert log10(np.ones((2, 3))).shape == (2, 3) and log10(np.empty((0, 3))).shape == (0, 3)
    assert isinstance(log10(100), float)
