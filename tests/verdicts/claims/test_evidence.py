"""Tables of a claim: rows that are runs, means that they leave possible, or settings; and the quantities that are shared."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from tcpfair.errors import InputError
from tcpfair.papers.papers import PaperConfig
from tcpfair.verdicts.claims.evidence import Evidence, combined, trend
from tcpfair.verdicts.claims.statement import Claim
from tcpfair.verdicts.combine import N_DRAWS, drawn
from tcpfair.verdicts.measured import Measured
from tests.verdicts.bundled import runs
from tests.verdicts.claims.test_statement import entry

CONFIG = PaperConfig.model_validate(
    {"paper": "ogura", "cite": "x", "experiments": {"sweep": {"what": "x", "runs": {"value": 1, "source": "sec. 1"}}}}
)
CLAIM = Claim.model_validate(entry(experiments=["sweep"], numbers={"rtt_ms": 40}))


def metrics(ratios, flow=0, rtt_ms=40):
    """Metrics of one grid point, a run per value."""
    return runs(ratios, protocol="Libra", rtt_ms=rtt_ms, flow=flow, metric="ratio")


def evidence_of(frame, rows="runs"):
    return Evidence(CLAIM, CONFIG, Measured({"sweep": frame}.__getitem__), {}.__getitem__, rows)


FRAME = pd.concat([metrics([1.0, 2.0], rtt_ms=40), metrics([3.0, 5.0], rtt_ms=80), metrics([9.0], flow=1)])


@pytest.mark.parametrize("rows", ["runs", "settings"])
def test_a_table_has_a_row_per_run_or_setting_and_a_column_per_grid_value(rows):
    table = evidence_of(FRAME, rows).table("sweep", "ratio", "rtt_ms", protocol="Libra")
    assert table.to_dict() == {40: {0: 1.0, 1: 2.0}, 80: {0: 3.0, 1: 5.0}}


def test_the_first_row_of_means_is_the_mean_over_the_runs():
    table = evidence_of(FRAME, "means").table("sweep", "ratio", ["protocol", "rtt_ms"])
    assert table.iloc[0].to_dict() == {("Libra", 40): 1.5, ("Libra", 80): 4.0}


def test_both_cells_of_a_run_are_drawn_together():
    frame = pd.concat([metrics([1.0, 2.0, 4.0]), metrics([10.0, 20.0, 40.0], rtt_ms=80)])
    table = evidence_of(frame, "means").table("sweep", "ratio", "rtt_ms").iloc[1:]
    assert np.allclose(table[80], 10 * table[40])


@pytest.mark.parametrize("n", [3, 5, 40])
def test_the_interval_of_a_mean_is_students(n):
    values = np.random.default_rng(1).normal(5, 2, n)
    table = evidence_of(metrics(values), "means").table("sweep", "ratio", "rtt_ms").iloc[1:, 0]
    low, high = stats.t.interval(0.8, n - 1, values.mean(), stats.sem(values))
    assert table.quantile([0.1, 0.9]).to_numpy() == pytest.approx([low, high], abs=0.15 * (high - low))


WORLDS = 500
QUANTITIES = {  # of the means of two cells, b of twice as many runs; the true value
    "mean": (lambda a, b: a, 3.0),
    "difference": (lambda a, b: a - b, 1.0),
    "ratio": (lambda a, b: a / b, 1.5),
}


def coverage(n, value):
    """Share of the worlds in which the interval of a quantity has the true value; ``value`` draws runs, given their mean."""
    covered = dict.fromkeys(QUANTITIES, 0)
    for _ in range(WORLDS):
        a, b = (drawn(value(mean, (size, 1)), N_DRAWS)[0][1:, 0] for mean, size in ((3, n), (2, 2 * n)))
        for what, (function, true) in QUANTITIES.items():
            low, high = np.quantile(function(a, b), [0.025, 0.975])
            covered[what] += low <= true <= high
    return {what: times / WORLDS for what, times in covered.items()}


@pytest.mark.parametrize("n", [3, 5, 25])
def test_intervals_cover_the_true_value_as_often_as_they_say(n):
    """Nominal 95 %."""
    random = np.random.default_rng(n)
    found = coverage(n, lambda mean, size: random.normal(mean, {3: 0.3, 2: 0.1}[mean], size))
    assert all(0.93 <= share <= 0.97 for share in found.values()), found


@pytest.mark.parametrize(("n", "low", "high"), [(3, 0.6, 0.75), (25, 0.93, 0.97)])
def test_few_runs_in_one_of_two_states_are_surer_than_they_should_be(n, low, high):
    """As where one flow locks the other out: three runs are often all in one state."""
    random = np.random.default_rng(n)
    found = coverage(n, lambda mean, size: np.where(random.random(size) < 0.7, mean, 0.6 * mean) / 0.88)
    assert low <= found["mean"] <= high


def test_what_has_no_value_is_left_out_and_what_is_endless_stays_so():
    frame = pd.concat(
        [metrics([1.0, np.nan, 3.0]), metrics([1.0, np.inf, 3.0], rtt_ms=80), metrics([np.nan] * 3, rtt_ms=9)]
    )
    table = evidence_of(frame, "means").table("sweep", "ratio", "rtt_ms")
    assert table.iloc[0].fillna(-1).to_dict() == {9: -1, 40: 2.0, 80: np.inf}
    assert (table[80] == np.inf).all()
    assert table.loc[1:, 40].nunique() > 900


def test_a_single_run_leaves_no_spread_to_draw_from():
    assert evidence_of(metrics([2.0]), "means").table("sweep", "ratio", "rtt_ms")[40].unique().tolist() == [2.0]


def test_further_runs_count_but_for_what_the_paper_has():
    config = SimpleNamespace(experiments={"sweep": SimpleNamespace(runs=SimpleNamespace(value=2))})
    frame = metrics([1.0, 2.0, 6.0])
    evidence = Evidence(CLAIM, config, Measured({"sweep": frame}.__getitem__), {}.__getitem__, "means")
    assert evidence.table("sweep", "ratio", "rtt_ms").iloc[0, 0] == 3.0
    assert evidence.has_further_runs
    assert replace(evidence, kept_only=True).table("sweep", "ratio", "rtt_ms").iloc[0, 0] == 1.5


def test_spread_over_runs_is_of_means_and_unknown_of_single_runs():
    frame = metrics([1.0, 2.0, 4.0])
    sd = evidence_of(frame, "means").sd("sweep", "ratio", "rtt_ms")
    assert sd.iloc[0, 0] == pytest.approx(np.std([1, 2, 4], ddof=1))
    assert sd.iloc[1:, 0].median() == pytest.approx(sd.iloc[0, 0] * np.sqrt(2 / stats.chi2.median(2)), rel=0.1)
    of_two = evidence_of(metrics([1.0, 2.0, np.nan]), "means").sd("sweep", "ratio", "rtt_ms")
    assert of_two.iloc[0, 0] == pytest.approx(np.sqrt(0.5))
    assert evidence_of(metrics([1.0]), "means").sd("sweep", "ratio", "rtt_ms").isna().all(axis=None)
    for rows in ("runs", "settings"):
        assert evidence_of(frame, rows).sd("sweep", "ratio", "rtt_ms").isna().all(axis=None)


def test_some_of_the_runs_may_be_asked_for():
    frame = metrics([1.0, 2.0, 6.0])
    late = {"replicates": slice(1, None)}
    assert evidence_of(frame).table("sweep", "ratio", "rtt_ms", **late)[40].to_dict() == {1: 2.0, 2: 6.0}
    assert evidence_of(frame, "means").table("sweep", "ratio", "rtt_ms", **late).iloc[0, 0] == 4.0
    assert len(evidence_of(frame, "settings").table("sweep", "ratio", "rtt_ms", **late)) == 3


def test_a_list_sets_the_order_of_cells_and_a_value_named_twice_is_one_cell():
    frame = pd.concat([metrics([float(rtt_ms)], rtt_ms=rtt_ms) for rtt_ms in (40, 80, 9)])
    table = evidence_of(frame).table("sweep", "ratio", "rtt_ms", rtt_ms=[80, 9, 80])
    assert table.iloc[0].to_dict() == {80: 80.0, 9: 9.0}
    assert list(table) == [80, 9]
    assert list(evidence_of(frame).table("sweep", "ratio", "rtt_ms", rtt_ms={"from": 40})) == [40, 80]


def test_what_was_computed_for_runs_gets_the_rows_of_tables():
    values = pd.Series([1.0, 3.0], index=pd.Index([0, 1], name="replicate"))
    assert evidence_of(FRAME, "means").of_runs(values).iloc[0, 0] == 2.0
    assert evidence_of(FRAME).of_runs(values).iloc[:, 0].tolist() == [1.0, 3.0]


def test_what_is_not_declared_or_not_there_is_refused():
    evidence = evidence_of(metrics([1.0]))
    with pytest.raises(InputError, match=r"ogura\.yaml: ogura\.c99: experiments: add 'other'"):
        evidence.table("other", "ratio", "rtt_ms")
    with pytest.raises(InputError, match="sweep has no ratio of flow 2 protocol=Libra"):
        evidence.table("sweep", "ratio", "rtt_ms", flow=2, protocol="Libra")
    with pytest.raises(InputError, match=r"ogura\.c99: numbers\.limit: missing"):
        _ = evidence["limit"]


@given(arrays.arrays(float, (3, 5), elements=st.floats(-10, 10)))
def test_trend_is_kendalls_rank_correlation(values):
    found = trend(pd.DataFrame(values, columns=[1, 2, 3, 4, 5]))
    for row, tau in zip(values, found, strict=True):
        concordant = sum(np.sign(row[j] - row[i]) for i in range(5) for j in range(i + 1, 5))
        assert tau == pytest.approx(concordant / 10)
        if len(set(row)) == 5:
            assert tau == pytest.approx(stats.kendalltau(range(5), row).statistic)


def test_trend_follows_the_order_of_the_columns_and_needs_every_cell():
    assert trend(pd.DataFrame([[3.0, 1.0, 2.0]], index=[7], columns=[128, 2, 16])).to_dict() == {7: 1.0}
    assert trend(pd.DataFrame([[3.0, np.nan, 2.0]], columns=[128, 2, 16])).isna().all()


def test_over_levels_and_ranges():
    x = pd.DataFrame(
        [[1.0, 2.0, 5.0]], columns=pd.MultiIndex.from_tuples([("A", 1), ("A", 2), ("B", 1)], names=["p", "r"])
    )
    assert combined(x, "max", along="r").iloc[0].to_dict() == {"A": 2.0, "B": 5.0}
    assert combined(x, "range").tolist() == [4.0]
    assert combined(x.where(x != 2), "mean", along="r").isna().iloc[0].to_dict() == {"A": True, "B": False}
