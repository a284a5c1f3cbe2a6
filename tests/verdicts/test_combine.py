"""From values of runs, flows and cells to one number."""

import warnings

import numpy as np
import pandas as pd
import pytest

from tcpfair.verdicts.combine import distribution, of_runs, over_cells, over_flows, over_runs

NAN = np.nan


@pytest.mark.parametrize(
    ("values", "how", "expected"),
    [
        ([1.0, 2.0, 6.0], "median", 2.0),
        ([1.0, NAN], "median", 1.0),  # half of the runs have it
        ([1.0, NAN, NAN], "median", NAN),  # the cell as a whole has none
        ([0.6, 0.8, 1.0], "sd", 0.2),
        ([-0.6, -0.8, -1.0], "cv", 0.25),
        ([61, 70, 90], "reached", 70),
        ([61, 70, NAN], "reached", 70),  # two of three converge
        ([61, NAN, NAN], "reached", NAN),
        ([61, 70, NAN, NAN], "reached", NAN),  # half do not
    ],
)
def test_over_runs(values, how, expected):
    assert over_runs(pd.Series(values), how) == pytest.approx(expected, nan_ok=True)


def test_the_share_of_runs_that_must_have_converged_counts():
    assert over_runs(pd.Series([61, 63, NAN, NAN, NAN]), "reached", 0.25) == 63


@pytest.mark.parametrize(
    ("u_n", "how", "expected"),
    [
        ([2.0, -4.0, 1.0], "mean of fair", 1.5),
        ([2.0, -4.0, 1.0], "mean of unfair", -4.0),
        ([-2.0, -4.0], "mean of fair", NAN),
        ([2.0, -4.0], "variation", 3 * np.sqrt(2)),  # sd of 2 and -4 over the magnitude of their mean, 1
        ([2.0, -4.0], "case", "B"),
        ([0.04, -4.0], "case", "B"),
        ([0.04, -4.0], "case_1dp", "C"),
    ],
)
def test_over_flows(u_n, how, expected):
    found = over_flows(u_n, how)
    assert found == expected if isinstance(expected, str) else float(found) == pytest.approx(expected, nan_ok=True)


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


def test_infinite_values_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = distribution(pd.Series([-np.inf, -np.inf, 1.0, 2.0]))
    assert np.isnan(found["sd"]) and found["high"] == pytest.approx(1.85)


PLACES = pd.DataFrame({"protocol": ["A", "B"] * 3, "rtt_ms": np.repeat([10, 20, 30], 2)})
CELLS = pd.DataFrame([[1.0, 3.0, 2.0, 1.0, 5.0, NAN], [NAN] * 6])


@pytest.mark.parametrize(
    ("how", "given", "expected"),
    [
        ("min", {}, 1.0),
        ("max", {}, 5.0),
        ("mean", {}, 2.4),
        ("place_of_min", {}, 20),
        ("place_of_first_value", {}, 10),
        ("place_where_not_above", {"leaders": ["A"]}, 10),
        ("place_where_not_above", {"leaders": ["B"]}, 20),
        ("place_from_which_not_below", {"leaders": ["A"]}, 20),
        ("place_from_which_not_below", {"leaders": ["A"], "slack": 2.0}, 10),
    ],
)
def test_over_cells(how, given, expected):
    assert over_cells(CELLS, PLACES, how, **given)[0] == pytest.approx(expected)


@pytest.mark.parametrize("how", ["min", "place_of_min", "place_of_first_value"])
def test_what_does_not_exist_is_nan_in_its_row_alone(how):
    assert over_cells(CELLS, PLACES, how).isna().tolist() == [False, True]


RUNS = pd.DataFrame(
    {"protocol": [*"AAAABBBB"], "flow": [1, 1, 2, 2] * 2, "value": [2.0, 4.0, NAN, 6.0, 1.0, 1.0, 3.0, 3.0]}
)


def test_of_runs_gives_a_row_for_each_cell():
    found = of_runs(RUNS, ["protocol", "flow"])
    assert found[["protocol", "flow"]].values.tolist() == [["A", 1], ["A", 2], ["B", 1], ["B", 2]]
    assert found["value"].tolist() == [3, 6, 1, 3]
    assert found["sd"].tolist() == pytest.approx([2**0.5, NAN, 0, 0], nan_ok=True)
    assert found["n_runs"].tolist() == [2, 1, 2, 2]
