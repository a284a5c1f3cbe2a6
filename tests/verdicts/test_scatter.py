"""How far repetitions lie apart, and the tolerances made from it."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

from tcpfair.verdicts import scatter
from tcpfair.verdicts.measured import Measured
from tcpfair.verdicts.printed import Tolerance, load_tolerances
from tests.verdicts import bundled
from tests.verdicts.bundled import CONFIGS

DATA = bundled.LAYOUT.data
SCRIPT = bundled.LAYOUT.root / "scripts" / "generate_scatter.py"


@pytest.fixture(scope="module")
def numbers():
    return scatter.numbers_with_scatter(CONFIGS, bundled.LAYOUT)


@pytest.fixture(scope="module")
def tolerances():
    return load_tolerances(DATA / "tolerances.yaml")


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(DATA / "scatter.csv")


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("generate_scatter", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- what is printed twice


def test_the_rows_that_both_papers_print_and_which_of_them_are_reprints():
    both = scatter.in_both(bundled.cells("bhatti2008"), bundled.cells("bhatti2009")).query("not derived")
    counts = both.groupby(["experiment", "protocol", "metric"]).size()
    assert counts.to_dict() == {
        ("self", "NewReno", "throughput_mean"): 8,
        ("self", "CUBIC", "throughput_mean"): 8,
        ("self", "CCID2", "throughput_mean"): 8,
        ("pair_ccid2_first", "NewReno", "throughput_mean"): 8,
        ("pair_ccid2_first", "NewReno", "jfi_mean"): 4,
        ("pair_ccid2_first", "CUBIC", "throughput_mean"): 8,
        ("pair_ccid2_first", "CUBIC", "jfi_mean"): 4,
    }
    # 43/51, 45/48 and 33/32 stand in both; one of eight numbers differs by 1
    assert set(both.loc[both["reprint"], "protocol"]) == {"CCID2"}
    cubic = both.query("experiment == 'self' and protocol == 'CUBIC' and rtt_ms == 50 and flow == 2")
    assert cubic[["value", "other"]].to_numpy().tolist() == [["43", "62"]]


def test_pairs_from_print_alone(tolerances, table, numbers):
    """The committed rows that need no simulation are what print gives today."""
    pairs = scatter.printed_repetitions(CONFIGS, bundled.LAYOUT)
    from_print = scatter.scatter_table(pairs, numbers, tolerances).set_index(["metric", "of", "source"])
    committed = table[table["source"] != "simulated"].set_index(["metric", "of", "source"])
    columns = ["exhibits", "cells", "pairs", "relative"]
    pd.testing.assert_frame_equal(from_print[columns], committed[columns])
    numeric = ["median", "p95", "share_within"]
    np.testing.assert_allclose(from_print[numeric], committed[numeric], rtol=1e-3)
    assert from_print.loc[("throughput_mean", "testbed", "twice printed"), "p95"] == 19
    assert from_print.loc[("jfi_mean", "testbed", "twice printed"), "p95"] == pytest.approx(0.07)


def test_orders_are_measured_and_never_used(table):
    orders = table[table["source"] == "both orders"]
    assert set(orders["metric"]) == {"throughput_mean", "jfi_mean"} and not orders["used"].any()
    used = table[table["used"]]
    assert not used.duplicated(["metric", "of"]).any()
    assert len(used) == len(table.drop_duplicates(["metric", "of"]))


# ---- the rule


def test_95_percent_of_the_pairs_are_no_farther_apart():
    assert scatter.reach(np.arange(1, 101)) == 95
    assert scatter.reach(np.arange(1, 9)) == 8  # of few the farthest
    assert scatter.reach(np.arange(1, 21)) == 19


def test_relative_distances_take_each_value_as_the_printed_one():
    pairs = pd.DataFrame({"first": [2.0, 0.0], "second": [4.0, 0.0]})
    assert scatter.distances(pairs, relative=False).tolist() == [2, 0]
    assert scatter.distances(pairs, relative=True).tolist() == [1, 0, 0.5, 0]


def runs_of(cell, values):
    """Runs of one cell: a row for each value."""
    return Measured(lambda name: bundled.runs(values, metric=cell.measure, flow=cell.flow, **cell.where))


@pytest.mark.slow
def test_two_sets_of_runs_scatter_as_theory_has_it(numbers):
    """Means of 5 of normal values with sd 1 are sqrt(2/5) apart in standard deviation."""
    number = numbers[numbers["exhibit"] == "bhatti2009.table5"].iloc[0]
    rng = np.random.default_rng(1)
    apart = []
    for _ in range(40):
        pairs = scatter._pairs_of_sets(number["cell"], runs_of(number["cell"], rng.normal(size=5)), 5, rng)
        apart += [b - a for a, b in pairs]
    assert np.std(apart) == pytest.approx(np.sqrt(2 / 5), rel=0.2)


def test_single_runs_are_compared_each_with_each(numbers):
    number = numbers[numbers["exhibit"] == "bhatti2009.table8"].iloc[0]
    runs = runs_of(number["cell"], [0.1, 0.2, 0.4, 0.7])
    pairs = scatter._pairs_of_sets(number["cell"], runs, number["printed_runs"], np.random.default_rng(1))
    assert sorted(round(b - a, 3) for a, b in pairs) == [0.1, 0.2, 0.3, 0.3, 0.5, 0.6]


# ---- what is committed


def test_tolerances_by_scatter_follow_from_the_table(script, numbers, tolerances):
    text = script.tolerances_text((DATA / "scatter.csv").read_text(), numbers, tolerances)
    assert text == (DATA / "tolerances_scatter.yaml").read_text(), "run scripts/generate_scatter.py"


def test_every_metric_has_one_and_closed_forms_keep_theirs(tolerances):
    by_scatter = load_tolerances(DATA / "tolerances_scatter.yaml")
    assert set(tolerances) <= set(by_scatter)
    for metric in ("U_c", "bdp", "capacity", "window", "case", "t1_ratio"):
        assert by_scatter[metric] == tolerances[metric]
    assert by_scatter["throughput_mean"] == Tolerance(absolute=19)
    assert by_scatter["jfi_mean"] == by_scatter["jfi_upper_bound"] == Tolerance(absolute=0.07)
    assert by_scatter["rtt_of_jfi_min"] == Tolerance(absolute=25)  # a step of the grid
    assert by_scatter["throughput_peak"] == Tolerance(absolute=0.5)  # printed as 95
    for metric, tolerance in by_scatter.items():
        assert (tolerance.relative is None) == (tolerances[metric.rpartition(" ")[2]].relative is None)


@pytest.mark.slow
def test_the_committed_scatter_is_that_of_print_and_bundled_data(script):
    for name, content in script.generated(bundled.LAYOUT).items():
        assert (DATA / name).read_text() == content, "run scripts/generate_scatter.py"
