"""Floats as files hold them."""

import math

import numpy as np
import pandas as pd
import pytest

from tcpfair.files.rounding import SIGNIFICANT_DIGITS, rounded, rounded_table


@pytest.mark.parametrize("scale", [1e-300, 1e-7, 1.0, 1e9, 1e300])
def test_twelve_significant_digits_stay(scale):
    x = scale * math.pi
    assert rounded(x) == pytest.approx(x, rel=5e-12) and rounded(-x) == -rounded(x)
    assert rounded(x) == float(f"{x:.{SIGNIFICANT_DIGITS - 1}e}") == rounded(rounded(x))


def test_the_last_bits_do_not_count():
    for x in (0.1 + 0.2, 1 / 3, 123.456):
        assert rounded(np.nextafter(x, 0)) == rounded(x) == rounded(np.nextafter(x, 1e9))


def test_the_last_bits_do_not_decide_a_tie_of_fewer_digits():
    x = 0.12345675
    assert len({rounded(y, 7) for y in (np.nextafter(x, 0), x, np.nextafter(x, 1))}) == 1


@pytest.mark.parametrize("x", [math.inf, -math.inf, 0.0, 5e-324, 1.7976931348623157e308])
def test_the_ends_of_the_range(x):
    assert rounded(x) == pytest.approx(x, rel=1e-11) or (x > 1e308 and math.isinf(rounded(x)))


def test_what_is_no_number_stays():
    assert math.isnan(rounded(math.nan)) and math.copysign(1, rounded(-0.0)) == -1


def test_a_table_keeps_its_types_and_all_that_are_no_floats():
    x = 0.1 + 0.2
    table = pd.DataFrame(
        {
            "words": ["a", None, "0.30000000000000004"],
            "whole": np.array([2**62 + 1, -1, 0]),
            "floats": [x, np.nan, np.inf],
            "short": np.array([x, 1, 2], dtype="float32"),
            "mixed": np.array([x, "B", None], dtype=object),
            "flag": [True, False, True],
        },
        index=[5, 3, 9],
    )
    found = rounded_table(table)
    pd.testing.assert_frame_equal(found.drop(columns=["floats", "mixed"]), table.drop(columns=["floats", "mixed"]))
    assert found["floats"].tolist()[::2] == [0.3, math.inf] and math.isnan(found["floats"][3])
    assert found["mixed"].tolist() == [0.3, "B", None]
    assert table["floats"][5] == x  # the caller's own table stays
    assert (found.dtypes == table.dtypes).all()


def test_a_table_without_rows_or_floats():
    for table in (pd.DataFrame(columns=["a", "b"]), pd.DataFrame({"a": [1]}), pd.DataFrame({"a": np.empty(0)})):
        pd.testing.assert_frame_equal(rounded_table(table), table)
