"""From values of runs, flows and cells to one number."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.verdicts.combine import over_cells, over_flows, over_runs

NAN = np.nan


@pytest.mark.parametrize(
    ("values", "how", "expected"),
    [
        ([1.0, 2.0, 6.0], "mean", 3.0),
        ([1.0, NAN, 6.0], "mean", 3.5),
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
    found = over_flows(pd.Series(u_n), how)
    assert found == expected if isinstance(expected, str) else found == pytest.approx(expected, nan_ok=True)


CELLS = pd.DataFrame(
    [("A", 10, 1.0), ("B", 10, 3.0), ("A", 20, 2.0), ("B", 20, 1.0), ("A", 30, 5.0), ("B", 30, NAN)],
    columns=["protocol", "rtt_ms", "value"],
)


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
    assert over_cells(CELLS, how, **given) == pytest.approx(expected)


def test_a_place_that_does_not_exist_is_nan():
    nothing = CELLS.assign(value=NAN)
    assert np.isnan(over_cells(nothing, "place_of_min"))
    assert np.isnan(over_cells(nothing, "place_of_first_value"))
