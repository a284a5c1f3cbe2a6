"""Reproduced numbers: means over runs, keys, statements of the text."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.exhibits import numbers
from tcpfair.exhibits.numbers import (
    NUMBER_COLUMNS,
    Statement,
    no_numbers,
    number_rows,
    over_runs,
    quantiles_over_runs,
    rounded,
    single_number,
    stated_numbers,
)


@pytest.fixture
def metrics():
    values = {
        ("CUBIC", 25): [0.9, 0.8],
        ("CUBIC", 100): [0.6, 0.7],
        ("BIC", 25): [0.95, np.nan],
        ("BIC", 100): [0.5, 0.5],
    }
    rows = [
        {"protocol": protocol, "rtt_ms": rtt_ms, "flow": 0, "metric": "jfi_mean", "value": value}
        for (protocol, rtt_ms), runs in values.items()
        for value in runs
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def cells(metrics):
    return over_runs(metrics, "jfi_mean", ["protocol", "rtt_ms"])


def test_mean_sd_and_number_of_runs_of_each_group(cells):
    assert cells["protocol"].tolist() == ["CUBIC", "CUBIC", "BIC", "BIC"]  # the order of the metrics
    first, third = cells.iloc[0], cells.iloc[2]
    assert first["value"] == pytest.approx(0.85)
    assert first["sd"] == pytest.approx(0.1 / np.sqrt(2))  # n - 1 = 1
    assert first["n_runs"] == 2
    assert third["value"] == 0.95
    assert np.isnan(third["sd"])
    assert third["n_runs"] == 1


def test_median_ignores_one_outlier():
    metrics = pd.DataFrame({"protocol": "Reno", "metric": "ratio", "value": [0.3, 0.4, 9.0]})
    assert over_runs(metrics, "ratio", ["protocol"], "median")["value"].item() == 0.4


def test_quantiles_bound_the_middle_runs():
    metrics = pd.DataFrame({"protocol": "Reno", "metric": "ratio", "value": np.linspace(0, 1, 11)})
    bounds = quantiles_over_runs(metrics, "ratio", ["protocol"], (0.1, 0.9))
    assert bounds[0.1].item() == pytest.approx(0.1)
    assert bounds[0.9].item() == pytest.approx(0.9)


def test_a_metric_that_was_not_measured_is_named(metrics):
    with pytest.raises(InputError, match="metric 'U_n': .*`measures`"):
        over_runs(metrics, "U_n", ["protocol"])


def test_keys_are_those_of_the_printed_numbers(cells):
    numbers = number_rows("bhatti2009.table5", "jfi_mean", cells, ["protocol", "rtt_ms"])
    assert list(numbers.columns) == NUMBER_COLUMNS
    assert numbers["key"].tolist()[:2] == ["protocol=CUBIC;rtt_ms=25", "protocol=CUBIC;rtt_ms=100"]


def test_labels_are_translated_and_fixed_parts_added():
    cells = pd.DataFrame({"protocol": ["Alpha (eq. 16)"], "value": [1.0]})
    numbers = number_rows("ogura.fig6", "t2_ratio", cells, ["protocol"], {"Alpha (eq. 16)": "Alpha"}, item="80 over 40")
    assert numbers["key"].item() == "item=80 over 40;protocol=Alpha"
    assert numbers["n_runs"].item() == 0


def test_rounding_keeps_letters_and_missing_values():
    numbers = pd.concat([single_number("x.fig1", "case", "A", item="a"), single_number("x.fig1", "t", 1 / 3, item="b")])
    assert rounded(numbers)["value"].tolist() == ["A", 0.3333333]
    assert rounded(single_number("x.fig1", "t", np.nan, item="a"))["value"].isna().all()


def stated(cells, **fields):
    statement = Statement(**{"metric": "m", "key": {"item": "a"}, "of": "jfi_mean", **fields})
    return stated_numbers("x.table1", cells.assign(metric="jfi_mean"), [statement])["value"].item()


def test_statements_find_their_number_among_the_cells(cells):
    assert stated(cells, rule="min") == 0.5
    assert stated(cells, rule="max", where={"protocol": ["CUBIC"], "rtt_ms": [100]}) == pytest.approx(0.65)
    assert stated(cells, rule="mean", where={"rtt_ms": [100]}) == pytest.approx((0.65 + 0.5) / 2)
    # means over both protocols: 0.90 at 25 ms, 0.575 at 100 ms
    assert stated(cells, rule="place_of_min") == 100


def test_the_place_where_leaders_fall_behind():
    cells = pd.DataFrame(
        {
            "protocol": ["Proposal", "Reno"] * 3,
            "rtt_ms": [40, 40, 60, 60, 80, 80],
            "value": [900, 300, 500, 500, 200, 400],
        }
    )
    assert stated(cells, rule="place_where_not_above", leaders=["Proposal"]) == 60
    assert np.isnan(stated(cells[:2], rule="place_where_not_above", leaders=["Proposal"]))  # ahead everywhere


def test_a_statement_may_belong_to_a_section(cells):
    statement = Statement(metric="m", key={"item": "a"}, of="jfi_mean", rule="max", exhibit="bhatti2009.sec-III-A")
    assert (
        stated_numbers("x.table1", cells.assign(metric="jfi_mean"), [statement])["exhibit"].item()
        == "bhatti2009.sec-III-A"
    )


def test_without_statements_there_are_no_numbers(cells):
    assert stated_numbers("x.table1", cells, []).equals(no_numbers())


def test_what_a_column_says_of_a_cell_goes_before_what_is_fixed_for_all():
    cells = pd.DataFrame({"rtt_ms": [162, 324], "value": [1.0, 2.0]})
    rows = number_rows("ha2006.sens_flows", "utilisation", cells, ["rtt_ms"], rtt_ms=[162, 324], traffic="Type II")
    assert rows["key"].tolist() == ["rtt_ms=162;traffic=Type II", "rtt_ms=324;traffic=Type II"]


def test_numbers_become_a_table_of_metrics_by_the_parts_of_their_keys():
    rows = [("U_N+", "0.5"), ("case", "B"), ("U_N+", "1.25"), ("case", "D")]
    keys = ["protocol=BIC;rtt_ms=25"] * 2 + ["protocol=BIC;rtt_ms=50"] * 2
    frame = pd.DataFrame(rows, columns=["metric", "value"]).assign(key=keys)  # letters make text of the whole column
    table = numbers.cells(frame)
    assert table.loc[("BIC", 25)].to_dict() == {"U_N+": 0.5, "case": "B"}
    assert table["U_N+"].to_dict() == {("BIC", 25): 0.5, ("BIC", 50): 1.25}
    assert list(numbers.cells(frame, "case").columns) == ["case"]


def test_a_table_of_no_numbers_has_no_rows():
    assert numbers.cells(no_numbers(), "U_N+").to_dict() == {"U_N+": {}}


def test_keys_that_lack_a_part_have_a_place_of_their_own():
    keys = ["rtt_ms=25", "item=all;rtt_ms=25"]
    table = numbers.cells(pd.DataFrame({"key": keys, "metric": "J", "value": [0.9, 0.8]}))
    assert sorted(table["J"]) == [0.8, 0.9]
