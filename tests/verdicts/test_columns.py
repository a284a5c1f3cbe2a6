"""Reproduced numbers as columns: means over runs, the rows under printed keys, rounding."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.verdicts.columns import (
    NUMBER_COLUMNS,
    Column,
    Numbers,
    no_numbers,
    of_metric,
    quantiles_over_runs,
    rounded,
    selected,
    single,
)

CELLS = pd.DataFrame(
    [("CUBIC", 25, 0.85, 2), ("CUBIC", 100, 0.65, 2), ("BIC", 25, 0.95, 1), ("BIC", 100, 0.5, 2)],
    columns=["protocol", "rtt_ms", "value", "n_runs"],
)


def test_quantiles_bound_the_middle_runs():
    metrics = pd.DataFrame({"protocol": "Reno", "metric": "ratio", "value": np.linspace(0, 1, 11)})
    bounds = quantiles_over_runs(metrics, "ratio", ["protocol"], (0.1, 0.9))
    assert bounds[0.1].item() == pytest.approx(0.1)
    assert bounds[0.9].item() == pytest.approx(0.9)


def test_a_metric_that_was_not_measured_is_named():
    with pytest.raises(InputError, match="metric 'U_n': .*`measures`"):
        of_metric(pd.DataFrame({"metric": ["jfi_mean"], "value": [0.9]}), "U_n")


def test_one_of_several_values_may_be_selected():
    table = pd.DataFrame({"rtt_ms": [16, 162, 324], "traffic": ["none"] * 3})
    assert selected(table, {"rtt_ms": [162, 324], "traffic": "none"})["rtt_ms"].tolist() == [162, 324]
    assert selected(table, {"rtt_ms": 16})["rtt_ms"].tolist() == [16]


def test_keys_are_those_of_the_printed_numbers():
    rows = Column("bhatti2009.table5", "jfi_mean", CELLS, ["protocol", "rtt_ms"]).rows
    assert list(rows.columns) == NUMBER_COLUMNS
    assert rows["key"].tolist()[:2] == ["protocol=CUBIC;rtt_ms=25", "protocol=CUBIC;rtt_ms=100"]


def test_labels_are_translated_and_fixed_parts_added():
    cells = pd.DataFrame({"protocol": ["Alpha (eq. 16)"], "value": [1.0]})
    column = Column("ogura.fig6", "t2", cells, ["protocol"], {"item": "80 over 40"}, {"Alpha (eq. 16)": "Alpha"})
    assert column.rows[["key", "n_runs"]].to_numpy().tolist() == [["item=80 over 40;protocol=Alpha", 0]]
    assert Numbers((column,)).of("t2")[["protocol", "item"]].to_numpy().tolist() == [["Alpha", "80 over 40"]]


def test_of_several_columns_those_with_a_part_of_the_key():
    columns = (
        Column("x.fig1", "J", CELLS, ["protocol", "rtt_ms"], {"item": "a"}),
        Column("x.fig1", "J", CELLS[:1], ["protocol", "rtt_ms"], {"item": "b"}),
        single("x.fig1", "J", 0.5, item="said of many"),
    )
    numbers = Numbers(columns)
    assert [len(numbers.of("J")), len(numbers.of("J", item="b"))] == [6, 1]
    assert [len(column.cells) for column in numbers.from_runs("J")] == [4, 1]
    assert (len(numbers.table), numbers.n_runs) == (6, 2)
    with pytest.raises(InputError, match="metric 'U_n': not among the numbers of this exhibit"):
        numbers.of("U_n")


def test_rounding_keeps_letters_and_missing_values():
    letters = Numbers((single("x.fig1", "case", "A", item="a"), single("x.fig1", "t", 1 / 3, item="b"))).table
    assert rounded(letters)["value"].tolist() == ["A", 0.3333333]
    assert rounded(single("x.fig1", "t", np.nan, item="a").rows)["value"].isna().all()
    assert Numbers(()).table.equals(no_numbers())
