"""Which assumption decides: found where one does, not where chance would do."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tcpfair.files.layout import Layout, repository_root
from tcpfair.runs.ensemble import load
from tcpfair.verdicts.ensemble import deciding
from tcpfair.verdicts.ensemble.deciding import coded_columns

JUDGING = load(Layout(repository_root()).ensemble_config).judging

RNG = np.random.default_rng(5)
N = 96
DRAWN = pd.DataFrame(
    {
        "settings.buffer_bdp": np.linspace(0.1, 2, N),
        "flow.rwnd_pkts": RNG.uniform(1000, 10000, N),
        "flow.reduction": RNG.choice(["prr", "halving"], N),
        "flow.ack_every": 2,
    },
    index=pd.RangeIndex(N),
)


def split(held, drawn, **other):
    return deciding.split(held, drawn, JUDGING.model_copy(update=other))


def decides(held, drawn):
    return deciding.decides(held, drawn, JUDGING, "{} {}".format)


def sentence(held, drawn):
    return decides(held, drawn)[1]


def test_a_threshold_is_found():
    held = (DRAWN["settings.buffer_bdp"] > 1.4).astype(float)
    found = split(held, DRAWN)
    assert (found.assumption, found.above, found.below) == ("settings.buffer_bdp", 1.0, 0.0)
    assert found.threshold == pytest.approx(1.4, abs=0.02)


A = pd.DataFrame({"a": np.arange(400.0)})
AB = A.assign(b=np.arange(400) % 4)
RWND = pd.DataFrame({"rwnd": [5524, 11049, np.inf, np.inf] * 20})  # a value without limit is above all others


@pytest.mark.parametrize(
    ("held", "drawn", "text"),
    [
        (DRAWN["flow.ack_every"] == 2, DRAWN, "holds in 100 % of 96 settings"),
        (DRAWN["flow.ack_every"] == 1, DRAWN, "holds in 0 % of 96 settings"),
        (
            DRAWN["settings.buffer_bdp"] > 1.4,
            DRAWN,
            "holds in 32 % of 96 settings; with settings.buffer_bdp above 1.38 in 100 %, else in 0 %",
        ),
        (A["a"] != 9, A, "holds in over 99 % of 400 settings; no single assumption is shown to decide it"),
        (A["a"] == 9, A, "holds in under 1 % of 400 settings; no single assumption is shown to decide it"),
        (
            (AB["a"] > 199) | (AB["b"] > 1),
            AB,
            "holds in 75 % of 400 settings; with a above 197 in 100 %, else in 49 %; "
            "otherwise, with b above 1 in 100 %, and else in 0 %",
        ),
        (
            (AB["a"] > 199) & (AB["b"] > 1),
            AB,
            "holds in 25 % of 400 settings; with a above 201 in 51 %, else in 0 %; "
            "with a above 201 and with b above 1 in 100 %, and else in 0 %",
        ),
        (
            (A["a"] > 300) | ((A["a"] > 100) & (A["a"] % 2 == 0)),
            A,
            "holds in 50 % of 400 settings; with a above 101 in 67 %, else in 0 %; "
            "with a above 299 in 100 %, and between in 50 %",
        ),
        (RWND["rwnd"] == 5524, RWND, "holds in 25 % of 80 settings; with rwnd above 5524 in 0 %, else in 100 %"),
        (RWND["rwnd"] == np.inf, RWND, "holds in 50 % of 80 settings; with rwnd above 11049 in 100 %, else in 0 %"),
        (RWND["rwnd"] == 11049, RWND, "holds in 25 % of 80 settings; with rwnd of 11049 in 100 %, else in 0 %"),
    ],
)
def test_a_sentence_says_where_a_clause_holds(held, drawn, text):
    assert sentence(held.astype(float), drawn) == text


def test_a_choice_is_named_by_its_word():
    held = (DRAWN["flow.reduction"] == "prr").astype(float)
    text = sentence(held, DRAWN)
    assert decides(held, DRAWN)[0] == "flow.reduction"
    assert decides(held * 0, DRAWN)[0] == ""
    assert "with flow.reduction" in text
    assert ("prr in 100 %, else in 0 %" in text) or ("halving in 0 %, else in 100 %" in text)


def test_two_assumptions_that_decide_together_are_both_named():
    held = ((DRAWN["settings.buffer_bdp"] > 1.0) & (DRAWN["flow.rwnd_pkts"] > 4000)).astype(float)
    text = sentence(held, DRAWN)
    assert "settings.buffer_bdp" in text
    assert "flow.rwnd_pkts" in text


def test_thresholds_are_exact_for_small_values():
    """Random losses differ by less than 1e-7, which scikit-learn's trees take as equal."""
    drawn = pd.DataFrame({"settings.loss_rate": np.linspace(1e-6, 2e-6, N)})
    held = (drawn["settings.loss_rate"] > 1.5e-6).astype(float)
    found = split(held, drawn)
    assert (found.above, found.below) == (1.0, 0.0)
    assert found.threshold == drawn["settings.loss_rate"][held == 0].max()


def test_the_exact_test_agrees_with_scipy():
    rng = np.random.default_rng(1)
    for n in rng.integers(4, 202, 100):
        one, other = (rng.random(n) < rng.random() for _ in range(2))
        table = [[(one & other).sum(), (one & ~other).sum()], [(~one & other).sum(), (~one & ~other).sum()]]
        assert deciding._fisher_p(one, other) == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-9)


def test_chance_decides_nothing():
    for seed in range(20):
        held = pd.Series(np.random.default_rng(seed).integers(0, 2, N).astype(float), index=DRAWN.index)
        assert split(held, DRAWN) is None
        assert sentence(held, DRAWN).endswith("; no single assumption is shown to decide it")


def test_what_chance_is_and_how_many_settings_a_side_has_are_configured():
    few = (DRAWN["settings.buffer_bdp"] > 1.9).astype(float)
    assert split(few, DRAWN, least_share=0.04).threshold == pytest.approx(1.9, abs=0.02)
    assert split(few, DRAWN, least_share=0.2).threshold < 1.7
    half = (DRAWN["settings.buffer_bdp"] > 1.05).astype(float)  # by chance once in 96!/(48! 48!) = 6e27
    assert split(half, DRAWN, chance=1e-20) is not None
    assert split(half, DRAWN, chance=1e-30) is None


def test_settings_without_a_value_are_counted():
    held = pd.Series(1.0, index=DRAWN.index)
    held.iloc[:6] = np.nan
    assert sentence(held, DRAWN) == "holds in 100 % of 90 settings (6 have no value)"
    assert sentence(held * np.nan, DRAWN) == "has no value in any setting"


def test_what_never_varies_decides_nothing_and_words_get_a_column_each():
    coded = coded_columns(DRAWN)
    assert "flow.ack_every" not in coded
    assert {"flow.reduction\thalving", "flow.reduction\tprr"} <= set(coded)
    assert set(coded["flow.reduction\tprr"]) == {0.0, 1.0}
    assert set(coded_columns(RWND)) == {f"rwnd\t{value}" for value in ("5524.0", "11049.0", "inf")}


def test_words_and_numbers_that_never_vary_have_no_order():
    drawn = pd.DataFrame({"flow.rwnd_pkts": [np.inf] * 40, "flow.reduction": ["prr", "halving"] * 20})
    found = split(pd.Series([1.0, 0.0] * 20), drawn)
    assert found.assumption == "flow.reduction"
    assert found.is_choice
