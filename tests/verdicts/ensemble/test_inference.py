"""The inferred testbed finds the setting that made the print, and says when it knows nothing."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.files.layout import Layout, repository_root
from tcpfair.runs.ensemble import load
from tcpfair.verdicts.ensemble import inference, placing
from tcpfair.verdicts.printed import Tolerance

JUDGING = load(Layout(repository_root()).ensemble_config).judging
N = 200
RNG = np.random.default_rng(3)
DRAWN = pd.DataFrame(
    {"buffer": np.r_[1.0, RNG.uniform(0, 2, N - 1)], "noise": np.r_[0.5, RNG.uniform(0, 1, N - 1)]}, index=range(N)
)
TRUE_BUFFER = 0.4
# two numbers that grow with the buffer, one that it has no part in
VALUES = pd.DataFrame({0: 10 * DRAWN["buffer"], 1: 5 - DRAWN["buffer"], 2: 7 + 0 * DRAWN["buffer"]})
CELLS = pd.DataFrame(
    {
        "exhibit": ["p.table1", "p.table1", "p.table2"],
        "metric": "m",
        "value": [str(10 * TRUE_BUFFER), str(5 - TRUE_BUFFER), "7"],
        "quotes": "",
    }
)
WIDTH = placing.widths(CELLS, {"m": Tolerance(absolute=0.5)})


def weight():
    return inference.weights(inference.distances(VALUES, CELLS, WIDTH, JUDGING.far), JUDGING.accepted)


def test_the_weights_gather_where_print_was_made():
    found = inference.marginals(weight(), DRAWN).set_index("assumption")
    assert found.index[0] == "buffer"
    assert found.loc["buffer", "low"] < TRUE_BUFFER < found.loc["buffer", "high"]
    assert found.loc["buffer", "median"] == pytest.approx(TRUE_BUFFER, abs=0.1)
    assert found.loc["buffer", "used"] == 1.0
    assert found.loc["noise", "shift"] < 0.35
    assert found.loc["noise", "prior_median"] == pytest.approx(0.5, abs=0.1)


def test_weights_add_up_and_are_those_of_the_nearest_fifth():
    w = weight()
    assert w.sum() == pytest.approx(1)
    assert (w > 0).mean() == pytest.approx(JUDGING.accepted, abs=0.02)
    assert 1 < inference.effective_settings(w) < N * JUDGING.accepted + 1
    same = inference.weights(pd.Series(2.0, index=range(5)), JUDGING.accepted)
    assert same.to_list() == pytest.approx([0.2] * 5)


def test_a_number_far_off_counts_no_more_than_a_limit_and_a_missing_one_as_much():
    values = pd.DataFrame({0: [1e9, np.nan, 4.0]})
    assert inference.distances(values, CELLS, WIDTH, 3.0).to_list() == [3.0, 3.0, 0.0]


def test_a_number_in_the_text_that_repeats_a_table_is_told_from_one_that_stands_alone():
    cells = pd.DataFrame(
        {
            "exhibit": ["p.table1", "p.sec-2", "p.sec-2"],
            "key": ["rtt_ms=50", "condition=best;rtt_ms=50", "rtt_ms=50"],
            "metric": "m",
            "value": "1",
            "quotes": ["", "p.table1", "p.fig1"],
        }
    )
    assert placing.repeats(cells).tolist() == [False, True, False]


def test_what_is_inferred_from_some_numbers_predicts_others():
    found = inference.held_out(VALUES, CELLS, WIDTH, fitted=[0], judged=[1], judging=JUDGING)
    assert found["inferred"] < 0.3 * found["base"]
    assert found["inferred"] < found["prior"]
    assert (found["n"], found["within_nearest"]) == (1, 1.0)


def test_a_choice_has_a_share_for_each_word():
    drawn = pd.DataFrame({"reduction": np.where(DRAWN["buffer"] < 0.6, "prr", "halving")}, index=DRAWN.index)
    found = inference.marginals(weight(), drawn).set_index("assumption")
    assert found.loc["reduction = prr", "median"] > 0.95
    assert found.loc["reduction = prr", "prior_median"] == pytest.approx(0.3, abs=0.1)
    assert found.loc["reduction = halving", "used"] == 1.0


def test_each_number_is_placed_among_the_settings():
    found = placing.place(VALUES, CELLS, WIDTH, JUDGING.inside)
    assert found.loc[0, "percentile"] == pytest.approx(100 * TRUE_BUFFER / 2, abs=6)
    assert found.loc[0, "base"] == 10.0
    assert found.loc[0, "inside"] and found.loc[0, "explained"]
    assert found.loc[0, "nearest"] == pytest.approx(4.0, abs=0.2)
    assert found.loc[2, "percentile"] == 50  # all settings have it
    assert not placing.place(VALUES + 100, CELLS, WIDTH, JUDGING.inside)["explained"].any()


def test_a_bound_is_missed_on_one_side_only():
    cells = pd.DataFrame({"exhibit": "p.t", "metric": ["m_lower_bound", "m_upper_bound"], "value": "5", "quotes": ""})
    off = placing.errors(pd.DataFrame({0: [4.0, 6.0], 1: [4.0, 6.0]}), cells)
    assert off.to_numpy().tolist() == [[-1, 0], [0, 1]]


def test_a_number_is_explained_with_its_table_by_one_setting():
    values = pd.DataFrame({0: [1.0, 9.0], 1: [9.0, 2.0], 2: [9.0, 3.0]})
    cells = pd.DataFrame({"exhibit": "p.t", "metric": "m", "value": ["1", "2", "3"], "quotes": ""})
    width = placing.widths(cells, {"m": Tolerance(absolute=0.1)})
    assert placing.with_their_table(values, cells, width, 0.5).to_list() == [False, True, True]


def test_rounding_does_not_order_the_two_words_of_a_choice():
    """Both moved by the same share, but for the last bits."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        drawn = pd.DataFrame({"law": rng.choice(["red", "droptail"], N)})
        found = inference.marginals(pd.Series(rng.dirichlet(np.ones(N))), drawn)
        assert found["assumption"].tolist() == ["law = droptail", "law = red"], seed
