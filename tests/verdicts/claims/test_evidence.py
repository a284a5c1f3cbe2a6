"""Tables of a claim: rows that are runs, means with resamples, or settings; and the quantities that are shared."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from tcpfair.errors import InputError
from tcpfair.papers.papers import PaperConfig
from tcpfair.verdicts.claims.evidence import Evidence, Means, Settings, SingleRuns, over, range_over, trend
from tcpfair.verdicts.claims.statement import Claim

CONFIG = PaperConfig.model_validate(
    {"paper": "ogura", "cite": "x", "experiments": {"sweep": {"what": "x", "runs": {"value": 1, "source": "sec. 1"}}}}
)
CLAIM = Claim.model_validate(
    {
        "id": "ogura.c99",
        "section": "1",
        "claim": "a",
        "clauses": {"more": {"says": "a", "quantity": "b", "why": "text", "at_least": 1}},
        "experiments": ["sweep"],
        "numbers": {"rtt_ms": 40},
    }
)


def metrics(ratios, metric="ratio", flow=0, protocol="Libra", rtt_ms=40):
    """Metrics of one grid point, a run per value."""
    rows = {"run_id": range(len(ratios)), "replicate": range(len(ratios)), "value": ratios}
    return pd.DataFrame(rows).assign(protocol=protocol, rtt_ms=rtt_ms, flow=flow, metric=metric)


def evidence_of(frame, rows=None):
    return Evidence(CLAIM, CONFIG, {"sweep": frame}.__getitem__, {}.__getitem__, rows or SingleRuns())


FRAME = pd.concat([metrics([1.0, 2.0], rtt_ms=40), metrics([3.0, 5.0], rtt_ms=80), metrics([9.0], flow=1)])


@pytest.mark.parametrize("rows", [SingleRuns(), Settings()])
def test_a_table_has_a_row_per_run_or_setting_and_a_column_per_grid_value(rows):
    table = evidence_of(FRAME, rows).table("sweep", "ratio", "rtt_ms", protocol="Libra")
    assert table.to_dict() == {40: {0: 1.0, 1: 2.0}, 80: {0: 3.0, 1: 5.0}}


def test_the_first_row_of_means_is_the_mean_over_the_runs():
    table = evidence_of(FRAME, Means()).table("sweep", "ratio", ["protocol", "rtt_ms"])
    assert table.iloc[0].to_dict() == {("Libra", 40): 1.5, ("Libra", 80): 4.0}


def test_resamples_are_draws_of_whole_runs():
    frame = pd.concat([metrics([1.0, 2.0, 4.0]), metrics([10.0, 20.0, 40.0], rtt_ms=80)])
    table = evidence_of(frame, Means()).table("sweep", "ratio", "rtt_ms").iloc[1:]
    assert np.allclose(table[80], 10 * table[40])  # both cells of a run are drawn together
    sums = np.round(3 * table[40].to_numpy(), 9)
    assert set(sums) == {3, 4, 5, 6, 7, 8, 9, 10, 12}  # of three draws with replacement
    assert np.mean(sums == 3) == pytest.approx(1 / 27, abs=0.02)
    assert table[40].std() == pytest.approx(np.std([1, 2, 4]) / np.sqrt(3), rel=0.05)


def test_the_interval_of_a_mean_is_that_of_theory():
    values = np.random.default_rng(1).normal(5, 2, 40)
    table = evidence_of(metrics(values), Means()).table("sweep", "ratio", "rtt_ms").iloc[1:, 0]
    low, high = stats.t.interval(0.95, 39, values.mean(), stats.sem(values))
    assert table.quantile([0.025, 0.975]).to_numpy() == pytest.approx([low, high], abs=0.15)


def test_what_has_no_value_is_left_out_and_what_never_happens_stays_so():
    frame = pd.concat(
        [metrics([1.0, np.nan, 3.0]), metrics([1.0, np.inf, 3.0], rtt_ms=80), metrics([np.nan] * 3, rtt_ms=9)]
    )
    table = evidence_of(frame, Means()).table("sweep", "ratio", "rtt_ms")
    assert table.iloc[0].fillna(-1).to_dict() == {9: -1, 40: 2.0, 80: np.inf}
    never_drawn = table.index[np.isclose(table[40], 1.0)]
    assert not table.loc[never_drawn, 80].isna().any()


def test_spread_over_runs_is_of_means_and_unknown_of_single_runs():
    frame = metrics([1.0, 2.0, 4.0])
    sd = evidence_of(frame, Means()).sd("sweep", "ratio", "rtt_ms")
    assert sd.iloc[0, 0] == pytest.approx(np.std([1, 2, 4], ddof=1))
    assert sd.iloc[1:, 0].min() == 0  # one run drawn three times
    of_two = evidence_of(metrics([1.0, 2.0, np.nan]), Means()).sd("sweep", "ratio", "rtt_ms")
    assert of_two.iloc[0, 0] == pytest.approx(np.sqrt(0.5))
    assert evidence_of(metrics([1.0]), Means()).sd("sweep", "ratio", "rtt_ms").isna().all(axis=None)
    for rows in (SingleRuns(), Settings()):
        assert evidence_of(frame, rows).sd("sweep", "ratio", "rtt_ms").isna().all(axis=None)
    assert evidence_of(frame).count("sweep", "ratio", "rtt_ms").to_dict() == {40: 3}


def test_some_of_the_runs_may_be_asked_for():
    frame = metrics([1.0, 2.0, 6.0])
    late = {"replicates": slice(1, None)}
    assert evidence_of(frame).table("sweep", "ratio", "rtt_ms", **late)[40].to_dict() == {1: 2.0, 2: 6.0}
    assert evidence_of(frame, Means()).table("sweep", "ratio", "rtt_ms", **late).iloc[0, 0] == 4.0
    assert len(evidence_of(frame, Settings()).table("sweep", "ratio", "rtt_ms", **late)) == 3


def test_what_was_computed_for_runs_gets_the_rows_of_tables():
    values = pd.Series([1.0, 3.0], index=pd.Index([0, 1], name="replicate"))
    assert evidence_of(FRAME, Means()).of_runs(values).iloc[0, 0] == 2.0
    assert evidence_of(FRAME).of_runs(values).iloc[:, 0].tolist() == [1.0, 3.0]


def test_what_is_not_declared_or_not_there_is_refused():
    evidence = evidence_of(metrics([1.0]))
    with pytest.raises(InputError, match=r"ogura\.yaml: ogura\.c99: experiments: add 'other'"):
        evidence.table("other", "ratio", "rtt_ms")
    with pytest.raises(InputError, match="sweep has no ratio of flow 2 protocol=Libra"):
        evidence.table("sweep", "ratio", "rtt_ms", flow=2, protocol="Libra")
    with pytest.raises(InputError, match=r"ogura\.c99: numbers\.limit: missing"):
        _ = evidence["limit"]


@settings(deadline=None)
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
    assert over(x, "p", "max").iloc[0].to_dict() == {"A": 2.0, "B": 5.0}
    assert range_over(x).tolist() == [4.0]
    assert over(x.where(x != 2), "p", "mean").isna().iloc[0].to_dict() == {"A": True, "B": False}
