"""The distribution over runs, and the place of the print in it."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.verdicts.spread import distribution


def test_quantiles_and_the_place_of_a_printed_value():
    found = distribution(pd.Series(np.arange(1.0, 102.0)), printed=26.0)
    assert (found["low"], found["value"], found["high"]) == (6, 51, 96)
    assert found["percentile"] == pytest.approx(100 * 25.5 / 101)  # a tie counts half
    assert (found["share"], found["n_runs"]) == (1, 101)


def test_less_than_half_of_the_runs_are_no_value():
    found = distribution(pd.Series([1.0, np.nan, np.nan]), printed=2.0)
    assert np.isnan(found["value"])
    assert found["share"] == pytest.approx(1 / 3)
    assert found["percentile"] == 100  # of those that have one
    assert np.isnan(distribution(pd.Series([1.0]), printed=np.nan)["percentile"])


def test_no_run_has_a_value():
    found = distribution(pd.Series([np.nan, np.nan]), printed=2.0)
    assert found["share"] == 0
    assert np.isnan([found[name] for name in ("value", "low", "high", "percentile", "sd")]).all()


def test_infinite_values_have_no_spread_and_raise_no_warning():
    with np.errstate(invalid="raise"):
        found = distribution(pd.Series([1.0, *[np.inf] * 9]))
    assert np.isnan(found["high"])
    assert np.isnan(found["sd"])
