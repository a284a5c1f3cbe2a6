"""From quantities to verdicts."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tcpfair.errors import InputError
from tcpfair.verdicts.claims import decision
from tcpfair.verdicts.claims.decision import FAILS, HOLDS, OPEN, decide_clauses, evidence_line, holds, slack, verdict
from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.claims.statement import Claim, Margin
from tcpfair.verdicts.measured import Measured
from tests.verdicts.claims.test_evidence import CONFIG, metrics
from tests.verdicts.claims.test_statement import STATED, clause, entry

DENIED = STATED | {"in_print": False, "print_note": "table 4 has 0.5"}


def claim(*clauses, **fields):
    return Claim.model_validate(entry(*clauses, **{"experiments": ["sweep"]} | fields))


def ratio(evidence):
    return evidence.table("sweep", "ratio", "rtt_ms")


def decided(about, ratios, function=lambda evidence: {"more": ratio(evidence)}):
    frame = ratios if isinstance(ratios, pd.DataFrame) else metrics(ratios)
    measured = Measured({"sweep": frame}.__getitem__)
    return decide_clauses(about, function, Evidence(about, CONFIG, measured, {}.__getitem__))


def outcomes(found):
    return [clause.outcome for clause in found]


def test_a_clause_holds_at_its_bounds_and_in_all_cells():
    x = pd.DataFrame({2: [1.0, 0.99, 1.5, np.nan], 4: [2.0, 2.0, 2.01, 2.0]})
    about = clause(at_least=1.0, at_most=2.0)
    assert holds(about, x).fillna(-1).tolist() == [1, 0, 0, -1]
    assert slack(about, x).iloc[1].to_list() == pytest.approx([-0.01, 0])


def test_what_is_endless_is_above_any_bound_and_below_none():
    x = pd.Series([np.inf, -np.inf, np.nan])
    assert holds(clause(at_least=1.0), x).fillna(-1).tolist() == [1, 0, -1]
    assert holds(clause(at_least=None, at_most=1.0), x).fillna(-1).tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("runs", "outcome"),
    [
        ([4.0, 0.5, 0.5], decision.OPEN),
        ([1.5, 1.6, 1.7], decision.HOLDS),
        ([0.5, 0.6, 0.7], decision.FAILS),
        ([1.1, 1.6, 0.7], decision.OPEN),
    ],
)
def test_a_clause_is_decided_where_what_the_runs_allow_agrees(runs, outcome):
    (found,) = decided(claim(), runs)
    assert (found.outcome, found.value) == (outcome, pytest.approx(np.mean(runs)))
    assert (found.single_share, found.n_single) == (np.mean(np.array(runs) >= 1), 3)
    t = (np.mean(runs) - 1) / stats.sem(runs)
    assert found.confidence == pytest.approx(stats.t.cdf(abs(t), 2), abs=0.04)
    assert found.kept == (decision.HOLDS if t >= 0 else decision.FAILS)


def test_the_cell_that_is_nearest_to_failing_is_shown():
    frame = pd.concat([metrics([3.0, 3.0]), metrics([1.1, 1.3], rtt_ms=80)])
    (found,) = decided(claim(), frame)
    assert (found.cell, found.value) == ("80", pytest.approx(1.2))
    assert found.in_words.startswith("more is so: open (")
    assert "means consistent with the runs agree): ratio 1.2 [" in found.in_words
    assert "] at 80; required: at least 1" in found.in_words


def test_a_cell_without_a_value_leaves_the_clause_open_and_is_named():
    (found,) = decided(claim(), pd.concat([metrics([3.0, 3.0]), metrics([np.nan, np.nan], rtt_ms=80)]))
    assert (found.outcome, found.cell) == (OPEN, "80")
    assert verdict(claim(), [found.outcome]) == "open"
    assert "no value" in found.in_words


@pytest.mark.parametrize(
    ("fields", "ratio", "expected", "note"),
    [
        ({"by_construction": "an identity."}, 2, "by construction", "By construction: an identity"),
        ({"by_construction": "an identity."}, 0.5, "not reproduced", "By construction: an identity"),
        ({"untested": "an image"}, 2, "untested", "Untested: an image"),
        ({"clauses": {"more": DENIED}}, 2, "contradicted in print", "In the paper: table 4 has 0.5"),
    ],
)
def test_a_claim_that_runs_alone_do_not_decide_says_why(fields, ratio, expected, note):
    about = claim(**fields)
    found = decided(about, [ratio, ratio])
    assert verdict(about, outcomes(found)) == expected
    line = evidence_line(about, found, "x")
    assert f" {ratio}; required" in line or f" {ratio} [" in line
    assert line.endswith(f". {note}. From x.")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((HOLDS, HOLDS), "reproduced"),
        ((HOLDS, OPEN), "open"),
        ((FAILS, OPEN), "open"),
        ((HOLDS, FAILS), "partly"),
        ((HOLDS, FAILS, OPEN), "partly"),
        ((FAILS, FAILS), "not reproduced"),
    ],
)
def test_what_the_runs_leave_open_leaves_a_verdict_open_unless_the_rest_decides_it(found, expected):
    assert verdict(claim(), found) == expected
    assert verdict(claim(), found, text_decides=False) == "undecidable"
    assert verdict(claim(by_construction="x"), (HOLDS,), text_decides=False) == "by construction"


@pytest.mark.parametrize(
    ("shares", "assumption", "decides"),
    [
        ((0.5, 0.3), "buffer", False),
        ((0.5, 0.3), "", True),  # no assumption is known to decide it
        ((0.5, 0.97), "buffer", True),
        ((0.05, 0.95), "buffer", False),
        ((0.5, 0.04), "buffer", True),
        ((0.5,), "buffer", True),  # the other clause was not simulated
    ],
)
def test_the_text_decides_unless_every_clause_depends_on_a_known_assumption(shares, assumption, decides):
    about = claim("a", "b")
    settings = pd.DataFrame({"clause": list("ab")[: len(shares)], "share": shares, "assumption": assumption})
    assert decision.text_decides(about, settings) is decides


def test_a_closed_form_has_one_value_and_no_interval():
    about = claim(experiments=[])
    (found,) = decided(about, [1.0], lambda _: {"more": 2.0})
    assert found.in_words == "more is so: holds: ratio 2; required: at least 1"
    assert (found.n_single, found.cell) == (0, "")
    assert np.isnan([found.low, found.high, found.confidence, found.single_share]).all()


def test_of_several_clauses_it_is_said_how_many_hold():
    about = claim("a", "b", "c", experiments=[])
    found = decided(about, [1.0], lambda _: {"a": 2.0, "b": 0.5, "c": 1.0})
    assert evidence_line(about, found, "a closed form") == (
        "2 of 3 clauses hold. a is so: holds: ratio 2; required: at least 1. b is so: does not hold: ratio 0.5; required: at "
        "least 1. c is so: holds: ratio 1; required: at least 1. From a closed form."
    )


def test_cells_are_named_by_their_place_and_a_bound_on_either_side_may_be_the_nearest():
    columns = pd.MultiIndex.from_tuples([("Reno", 40), ("Reno", 80.5)])
    table = pd.DataFrame([[1.75, 1.5]], columns=columns)
    about = claim(experiments=[], clauses={"some": STATED | {"at_most": 2.0}})
    (found,) = decided(about, [1.0], lambda _: {"some": table})
    assert (found.cell, found.value) == ("Reno 40", 1.75)
    (found,) = decided(about, [1.0], lambda _: {"some": table - 0.4})
    assert (found.cell, found.value) == ("Reno 80.5", 1.1)


def test_a_function_gives_just_the_clauses_that_are_stated():
    message = r"^data/claims/ogura\.yaml: ogura\.c99: clauses more, but its function finds less, more$"
    with pytest.raises(InputError, match=message):
        decided(claim(), [1.0], lambda _: {"less": 1.0, "more": 1.0})
    with pytest.raises(InputError, match="clauses a, b, but its function finds b, a"):
        decided(claim("a", "b"), [1.0], lambda _: {"b": 1.0, "a": 1.0})


def with_rows(means, single=(), **fields):
    """One clause, decided on these values: row 0 the mean, the other rows resamples; and single runs."""
    stated = {"says": "a", "quantity": "b", "why": "text", "at_least": 1.0} | fields
    about = claim(experiments=[], exhibits=["ogura.fig8", "ogura.fig9"]).model_copy(
        update={"clauses": {"some": clause(**stated)}}
    )
    tables = iter([means, means.iloc[:0] if len(single) == 0 else pd.DataFrame({"x": single})])
    (found,) = decided(about, [1.0], lambda _: {"some": next(tables)})
    return about, found


def test_a_single_draw_is_one():
    _, found = with_rows(pd.DataFrame({"x": [2.0, 0.5]}), [3.0])
    assert (found.value, found.low, found.high, found.confidence) == (2, 0.5, 0.5, 0)
    assert (found.single_share, found.n_single) == (1, 1)
    assert "single run" not in found.in_words


def test_the_interval_is_of_draws_that_have_a_value():
    _, found = with_rows(pd.DataFrame({"x": [2.0, 1.0, 1.25, 10.0]}))
    assert (found.low, found.high) == (1, 10)


def test_where_no_draw_has_a_value_nothing_is_said_of_its_spread():
    _, found = with_rows(pd.DataFrame({"x": [2.0, np.nan, np.nan]}), [np.nan, np.nan])
    assert found.in_words == "a: open (0 % of the means consistent with the runs agree): b 2 at x; required: at least 1"
    assert np.isnan([found.low, found.high, found.single_share]).all()


def test_a_clause_in_words_has_all_that_was_found_of_it():
    means = pd.DataFrame({"x": [2.0, 0.5, 1.5, 1.75, 2.25]})
    about, found = with_rows(means, [0.5, 2.0, 3.0, 4.0], unit="Mb/s")
    words = (
        "a: open (75 % of the means consistent with the runs agree): b 2 Mb/s [0.5, 2.25] at x; required: at least 1 Mb/s; "
        "holds in 75 % of 4 single runs; as many runs as the paper has: holds"
    )
    assert found.in_words == words
    assert evidence_line(about, [found], "x") == f"ogura.fig8, ogura.fig9: open. {words}. From x."
    assert (
        evidence_line(about, [found, found], "x")
        == f"ogura.fig8, ogura.fig9: 0 of 2 clauses hold. {words}. {words}. From x."
    )


@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, ": b no value at"), (np.inf, ": b never at"), (1234.5, ": b 1.23e+03 at")]
)
def test_values_in_words(value, words):
    _, found = with_rows(pd.DataFrame({"x": [value]}))
    assert words in found.in_words


@pytest.mark.parametrize(("n_same", "outcome"), [(38, OPEN), (39, HOLDS), (40, HOLDS)])
def test_a_share_of_975_in_1000_decides(n_same, outcome):
    _, found = with_rows(pd.DataFrame({"x": [2.0, *[2.0] * n_same, *[0.5] * (40 - n_same)]}))
    assert found.confidence == n_same / 40
    assert found.outcome == outcome


def test_a_clause_tells_at_which_multiple_of_its_margin_it_turns():
    _, found = with_rows(pd.DataFrame({"x": [0.8]}), give="m", margin=Margin(value=0.1, reason="x"))
    assert found.turns_at == pytest.approx(2)


@pytest.mark.parametrize(
    ("bound", "off", "meets"),
    [(1.0, 0.9e-12, 1), (1.0, 1.1e-12, 0), (0.1, 0.9e-12, 1), (1e3, 0.9e-9, 1), (1e3, 1.1e-9, 0)],
)
def test_a_bound_is_met_within_rounding_of_its_size(bound, off, meets):
    assert holds(clause(at_least=bound), bound - off).tolist() == [meets]
