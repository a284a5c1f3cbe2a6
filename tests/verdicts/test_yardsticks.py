"""What shares within tolerance are worth: models that know less or all, beside the reproduction."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.verdicts.printed import both_tolerances, compare
from tcpfair.verdicts.yardsticks import (
    ERROR,
    NULL,
    OTHER,
    PERFECT,
    SETTINGS,
    SHARE,
    crps,
    null_model,
    other_papers,
    side_by_side,
    yardstick_table,
)
from tests.verdicts import bundled
from tests.verdicts.bundled import CONFIGS, number

DATA = bundled.LAYOUT.data


@pytest.fixture(scope="module")
def printed():
    return bundled.published()


@pytest.fixture(scope="module")
def against(printed):
    return lambda numbers: compare(printed, numbers, *both_tolerances(DATA))


def test_the_null_model_says_the_same_of_each_cell_of_a_table(printed, against):
    null = null_model(printed)
    of_table = null[(null["exhibit"] == "bhatti2008.table5") & (null["metric"] == "jfi_mean")]
    assert len(of_table) == 16 and of_table["value"].nunique() == 1
    cells = printed.query("exhibit == 'bhatti2008.table5' and metric == 'jfi_mean'")["value"].astype(float)
    assert of_table["value"].iloc[0] == cells.median()
    assert not null["exhibit"].str.contains("ogura|kozu").any()  # no tables of results
    compared = against(null)
    assert number(compared, "bhatti2009.sec-V-C", "protocol=BIC;rtt_ms=25", "jfi_mean")["reproduced"] == pytest.approx(
        null.query("exhibit == 'bhatti2009.table5' and metric == 'jfi_mean'")["value"].iloc[0]
    )
    assert not number(compared, "bhatti2008.table7", "protocol=NewReno;rtt_ms=75", "T_U")["within"]  # a dash


def other_of(of):
    found = other_papers(CONFIGS, bundled.LAYOUT)
    return found[found["exhibit"].str.startswith(of)].reset_index(drop=True)


def test_the_other_paper_on_shared_cells(against):
    of_2009 = other_of("bhatti2009")
    key = "flow=2;protocol=CUBIC;rtt_ms=50"
    assert number(of_2009, "bhatti2009.table4", key, "throughput_mean")["value"] == 43  # of bhatti2008, table III
    assert number(of_2009, "bhatti2009.table5", "protocol=CUBIC;rtt_ms=200", "jfi_mean")["value"] == 0.78
    assert not of_2009["key"].str.contains("CCID2").any()  # a reprint
    of_2008 = other_of("bhatti2008")
    assert number(of_2008, "bhatti2008.table3", key, "throughput_mean")["value"] == 62
    assert len(of_2008) == len(of_2009) == 16 + 16 + 8
    compared = against(of_2009).set_index(["exhibit", "key", "metric"])
    assert compared["within"].count() == len(of_2009)  # BIC, of which the text speaks, is in one paper alone
    jfi = compared[compared["within"].notna()].xs("jfi_mean", level="metric")
    assert (len(jfi), jfi["within"].mean(), jfi["within_scatter"].mean()) == (8, 0.875, 1.0)


def test_side_by_side_counts_the_same_numbers_for_all(printed, against):
    null, other = against(null_model(printed)), against(other_of("bhatti2009"))
    [row] = side_by_side(null, other).to_dict("records")
    assert (row["paper"], row["numbers"]) == ("bhatti2009", 40)
    same = null.merge(other.dropna(subset="within")[["exhibit", "key", "metric"]])
    assert row["reproduced"] == pytest.approx(same["within"].mean())
    assert row["by_scatter"] == pytest.approx(other["within_scatter"].mean())


def test_crps_of_small_ensembles():
    assert crps([3.0], 5.0) == 2.0  # of one member the absolute error
    assert crps([5.0, 5.0, 5.0], 5.0) == 0.0
    assert crps([4.0, 6.0], 5.0) == pytest.approx(1 - 0.5)
    assert crps([[4.0, 6.0], [1.0, 1.0]], [5.0, 4.0]) == pytest.approx([0.5, 3.0])
    assert np.isnan(crps([1.0, np.nan], 1.0))


def test_crps_of_a_large_normal_ensemble():
    members = np.random.default_rng(1).normal(size=20000)
    # Gneiting and Raftery, eq. 5
    assert crps(members, 0.0) == pytest.approx((np.sqrt(2) - 1) / np.sqrt(np.pi), abs=0.01)


def test_the_ledger_has_each_yardstick_beside_what_is_reproduced(printed, against):
    numbers = against(null_model(printed))
    key = ["exhibit", "key", "metric"]
    first = numbers[(numbers["exhibit"] == "bhatti2008.table5") & (numbers["metric"] == "jfi_mean")].head(2)
    ensemble = first[key].assign(paper="bhatti2008", hypothesis="", printed=["0.9", "0.5"], base=[1.0, 0.5])
    ensemble = ensemble.assign(crps=[0.05, 0.01], tolerance=0.05).astype({"printed": str})
    table = (
        yardstick_table(bundled.LAYOUT, CONFIGS, numbers, ensemble)
        .set_index(["measure", "yardstick", "paper"])
        .sort_index()
    )
    # the null model beside itself
    of_null = table.loc[(SHARE, NULL)]
    assert (of_null["reproduced"] == of_null["value"]).all()
    assert (of_null["reproduced_by_scatter"] == of_null["by_scatter"]).all()
    assert set(table.loc[(SHARE, OTHER)].index) == {"bhatti2008", "bhatti2009"}
    perfect = table.loc[(SHARE, PERFECT)]
    assert perfect["value"].between(0.5, 1).all()
    # distances of 0.1 and 0 in tolerances of 0.05; CRPS of 0.05 and 0.01
    errors = table.loc[(ERROR, SETTINGS, "bhatti2008")]
    assert (errors["numbers"], errors["reproduced"], errors["value"]) == (2, pytest.approx(1), pytest.approx(0.6))


def test_without_an_ensemble_there_are_shares_only(printed, against):
    numbers = against(null_model(printed))
    empty = pd.DataFrame(
        columns=["paper", "hypothesis", "exhibit", "key", "metric", "printed", "base", "crps", "tolerance"]
    )
    table = yardstick_table(bundled.LAYOUT, {"ogura": CONFIGS["ogura"]}, numbers, empty)
    assert set(table["measure"]) <= {SHARE}
    assert OTHER not in set(table["yardstick"])
