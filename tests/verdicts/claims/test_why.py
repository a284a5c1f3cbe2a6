"""Every claim says in one plain sentence where its verdict comes from, and a cause that fits it unless it is reproduced."""

import math
import re
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.runs.ensemble import load as load_ensembles
from tcpfair.verdicts.claims import why
from tcpfair.verdicts.claims.causes import CONDITIONS
from tcpfair.verdicts.claims.decision import DECIDED, REPRODUCED, UNDECIDABLE, UNDECIDED
from tcpfair.verdicts.claims.statement import MARGINS, load_claims
from tests.verdicts.bundled import LAYOUT
from tests.verdicts.claims import worlds
from tests.verdicts.claims.test_statement import entry

FOLDER = LAYOUT.data / "claims"
CAUSES = why.load_causes(FOLDER)
ENSEMBLES = load_ensembles(LAYOUT.ensemble_config)
CLAIMS = worlds.CLAIMS.values()
VERDICTS = pd.read_csv(LAYOUT.data / "expected" / "verdicts.csv", index_col="id")["verdict"]


SHARES = {("a", "settings"): 0.2, ("a", "H1"): 0.9}


def found(value, low=0.1, high=0.9, sure=0.71, runs=0.4):
    return SimpleNamespace(value=value, low=low, high=high, confidence=sure, single_share=runs)


def test_each_cause_stands_behind_verdicts_that_exist_and_is_named_by_a_claim():
    assert {verdict for cause in CAUSES.values() for verdict in cause.verdicts} == set(DECIDED) - {REPRODUCED}
    assert {claim.cause for claim in CLAIMS} - {""} <= set(CAUSES)
    assert {cause.needs for cause in CAUSES.values()} == set(CONDITIONS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_has_a_sentence_and_a_cause_that_fits_its_verdict(claim):
    verdict = VERDICTS[claim.id]
    if verdict in (UNDECIDED, UNDECIDABLE):
        assert (claim.cause, claim.why) == ("", ""), "computed"
        return
    if verdict == REPRODUCED:
        assert not claim.cause
    else:
        assert verdict in CAUSES[claim.cause].verdicts
    hypotheses = ENSEMBLES.papers[claim.paper].hypotheses if claim.paper in ENSEMBLES.papers else ()
    shares = {(name, of): 0.5 for name in claim.clauses for of in (why.SETTINGS, *hypotheses)}
    text = why.fill(claim.why, {name: found(0.5) for name in claim.clauses}, shares)
    assert text[0].isupper() or text[0] in "\"'"
    assert text.endswith(".")
    assert len(re.findall(r"[.?!](?=\s|$)", text)) == 1, "one sentence"
    assert len(text.split()) <= 45
    values = why._PLACE.findall(claim.why)
    assert len(values) <= 3, "words rather than numbers"


NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_number_that_is_typed_in_a_sentence_is_one_of_its_claim(claim):
    typed = NUMBER.findall(why._PLACE.sub("", claim.why))
    known = {float(number) for number in NUMBER.findall(str(claim.model_dump(exclude={"why"})))}
    assert {float(number) for number in typed} <= known
    assert not re.search(r"\bin (every|each|all|no|any) (single )?(run|setting)", claim.why), "such shares are computed"


@pytest.mark.parametrize(
    ("number", "how", "text"),
    [
        (0.5774, "", "0.58"),
        (41.6, "", "42"),
        (253.2, "", "253"),
        (0.992, ".2f", "0.99"),
        (-7.19, "abs.1f", "7.2"),
        (0.314, "%", "31 %"),
        (0.00686, ".1%", "0.7 %"),
        (1.57, "more%", "57 %"),
        (0.69, "less%", "31 %"),
        (-0.0264, "points", "2.6 points"),
        (-0.004, ".2f", "0.00"),
        (-0.46, ".2f", "−0.46"),
        (math.inf, "", "never"),
    ],
)
def test_numbers_are_said_in_few_digits(number, how, text):
    assert why.said(number, how) == text


def test_values_come_from_the_clause_and_its_parts():
    sentence = "It is {a:.1f} ({a.low} to {a.high}), which {a.sure} of the repetitions and {a.runs} of the runs say."
    text = "It is 0.5 (0.10 to 0.90), which 71 % of the repetitions and 40 % of the runs say."
    assert why.fill(sentence, {"a": found(0.5)}) == text
    assert (
        why.fill("{a.settings} of the settings, {a.H1} under H1", {}, SHARES) == "20 % of the settings, 90 % under H1"
    )


@pytest.mark.parametrize("values", [{}, {"a": found(math.nan)}])
def test_without_a_value_there_is_no_sentence(values):
    assert why.fill("It is {a}.", values) == ""


@pytest.mark.parametrize(
    ("cause", "verdict", "shown"),
    [
        ("chance", "partly", ("chance", "It is 0.50.")),
        ("chance", "reproduced", ("", "")),
        ("identity", "not reproduced", ("", "")),
        ("", "reproduced", ("", "It is 0.50.")),
        ("", "partly", ("", "")),
        ("chance", "not run", ("", "")),
    ],
)
def test_a_sentence_is_shown_beside_the_verdict_that_it_was_written_for(cause, verdict, shown):
    assert why.explain(cause, "It is {a}.", verdict, {"a": found(0.5)}, SHARES, CAUSES) == shown


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"why": "It is {b}."}, r"ogura.c99: why: \{b\}: no clause 'b', only a$"),
        ({"why": "It is {a:>9}."}, r"why: \{a:>9\}: '>9' is not a format of numbers$"),
        ({"why": "It is {a."}, r"why: unmatched brace$"),
        ({"cause": "chanse"}, r"ogura.c99: cause.*'chanse'.*chance"),
        ({"cause": "chance", "by_construction": "x"}, r"cause: 'chance' does not fit the verdict 'by construction'$"),
        ({"cause": "identity", "untested": "x"}, r"cause: 'identity' does not fit the verdict 'untested'$"),
    ],
)
def test_a_slip_is_told_in_one_line(tmp_path, fields, message):
    for name in (MARGINS, why.CAUSES):
        (tmp_path / name).write_text((FOLDER / name).read_text())
    path = tmp_path / "ogura.yaml"
    path.write_text(yaml.safe_dump([entry("a", **fields)]))
    with pytest.raises(InputError, match=message):
        load_claims(path)
