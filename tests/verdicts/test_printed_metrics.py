"""Print as metrics: in the form of what is measured, and nothing in it that the papers do not print or imply."""

import numpy as np
import pytest

from tcpfair.files.layout import PAPERS
from tcpfair.verdicts.printed_metrics import OF_MEANS, OF_TUPLE, SAID_OF_ALL, printed_metrics
from tests.verdicts import bundled


@pytest.fixture(scope="module")
def tables():
    return {paper: printed_metrics(bundled.CONFIGS[paper], bundled.LAYOUT) for paper in PAPERS}


def row(table, metric, flow=0, **grid):
    chosen = (table["metric"] == metric) & (table["flow"] == flow)
    for name, value in grid.items():
        chosen &= table[name] == value
    assert chosen.sum() == 1, f"{metric} {flow} {grid}"
    return table[chosen].iloc[0]


def test_of_each_experiment_that_print_says_something_of(tables):
    assert {paper: set(found) for paper, found in tables.items()} == {
        "bhatti2008": {"self", "pair", "ns2_14"},
        "bhatti2009": {"single", "self", "pair_ccid2_first", "pair_tcp_first", "ns2_14"},
        "ha2006": {"load", "util_alone", "example_alone", "util_type2", "rtt_fairness"},
        "kozu2014": {"transitions"},
        "ogura": {"loss_sweep", "efficiency"},
    }


@pytest.mark.parametrize("paper", ["ogura", "kozu2014", "ha2006", "bhatti2009"])
def test_the_form_is_that_of_what_is_measured(paper, tables):
    for name, table in tables[paper].items():
        if name in ("ns2_14", "load", "util_type2", "rtt_fairness"):  # as the others, but seconds to measure
            continue
        measured = bundled.metrics(paper, name)
        assert list(table.columns) == [*measured.columns, "derived"]
        about = [column for column in measured if column not in ("run_id", "replicate", "metric", "value")]
        assert len(table[about].merge(measured[about].drop_duplicates())) == len(table)
        assert table["run_id"].nunique() == len(
            table.drop_duplicates(list(bundled.CONFIGS[paper].experiments[name].grid))
        )
        assert not table.duplicated([*about, "metric"]).any()
        assert set(table["metric"]) - set(measured["metric"]) <= {"ratio"}


def test_sums_and_shares_of_printed_throughputs(tables):
    pair = tables["bhatti2009"]["pair_ccid2_first"]  # 16 and 74 Mb/s
    where = {"protocol": "BIC", "rtt_ms": 100}
    assert row(pair, "throughput_sum", **where)["value"] == 90
    assert row(pair, "utilisation", **where)["value"] == pytest.approx(90 / (100 * 1448 / 1538))
    assert row(pair, "jfi_of_means", **where)["value"] == pytest.approx(90**2 / (2 * (16**2 + 74**2)))
    assert row(pair, "ratio", **where)["value"] == pytest.approx(74 / 16)
    assert row(pair, "ratio", **where)["derived"] == OF_MEANS


def test_nru_of_printed_throughputs_by_each_papers_rule(tables):
    # bhatti2009: CCID2 is flow 1 of its self-pair at 100 ms with 45, BIC flow 2 with 63 Mb/s
    pair = tables["bhatti2009"]["pair_ccid2_first"]
    assert row(pair, "U_n_of_means", 1, protocol="BIC", rtt_ms=100)["value"] == pytest.approx(10 * np.log10(16 / 45))
    assert row(pair, "U_n_of_means", 2, protocol="BIC", rtt_ms=100)["value"] == pytest.approx(10 * np.log10(74 / 63))
    # bhatti2008: the mean of both columns, 45 and 48 for CCID2
    pair = tables["bhatti2008"]["pair"]
    assert row(pair, "U_n_of_means", 1, protocol="CUBIC", rtt_ms=100)["value"] == pytest.approx(
        10 * np.log10(17 / 46.5)
    )


def test_flows_of_a_printed_tuple(tables):
    pair = tables["bhatti2008"]["pair"]
    at = {"protocol": "CUBIC", "rtt_ms": 100}  # 2.00 and -4.24; CCID2, flow 1, has less than it could expect
    assert [row(pair, "U_n", flow, **at)["value"] for flow in (1, 2)] == [-4.24, 2.00]
    assert row(pair, "U_n", 1, **at)["derived"] == OF_TUPLE
    assert row(pair, "U_N", **at)["value"] == pytest.approx(-1.12)
    assert row(pair, "U_N+", **at)["derived"] == ""
    both_unfair = [row(pair, "U_n", flow, protocol="NewReno", rtt_ms=125)["value"] for flow in (1, 2)]
    assert np.mean(both_unfair) == pytest.approx(-0.27)
    assert np.std(both_unfair, ddof=1) / 0.27 == pytest.approx(1.23)


def test_the_mean_over_14_flows_is_known_only_where_all_are_unfair(tables):
    for paper in ("bhatti2008", "bhatti2009"):
        table = tables[paper]["ns2_14"]
        assert row(table, "U_N", rtt_ms=100)["value"] == -12.97
        assert set(table.loc[table["metric"] == "U_N", "rtt_ms"]) == {25, 50, 75, 100}


def test_a_number_said_of_all_stands_in_each_cell_and_a_bound_in_none(tables):
    peaks = tables["bhatti2009"]["single"]
    assert set(peaks["value"]) == {95.0} and set(peaks["derived"]) == {SAID_OF_ALL}
    assert set(peaks["rtt_ms"]) == {25, 50} and len(peaks) == 2 * 5
    assert "rtt_sweep" not in tables["kozu2014"]  # of which only "more than twice" is printed
