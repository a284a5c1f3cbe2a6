"""Each cause has a condition; evidence that is altered so that it fails refuses the cause."""

from dataclasses import replace

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.verdicts.claims.causes import CONDITIONS, Found, unmet
from tcpfair.verdicts.claims.decision import FAILS, HOLDS, OPEN
from tcpfair.verdicts.claims.why import Cause
from tests.verdicts.claims.test_decision import claim, with_rows

NAMES = "ab"
_, DECIDED = with_rows(pd.DataFrame({"x": [1.0]}))


def found(outcomes, shares=(), hypotheses=None, n=200, **fields):
    """A claim of clauses a and b with these outcomes; shares of the settings as printed, and under hypotheses."""
    clauses = [
        replace(DECIDED, clause_id=name, outcome=outcome) for name, outcome in zip(NAMES, outcomes, strict=False)
    ]
    of = {"": shares, **(hypotheses or {})}
    rows = [(name, under, share, n) for under, own in of.items() for name, share in zip(NAMES, own, strict=False)]
    settings = pd.DataFrame(rows, columns=["clause", "hypothesis", "share", "settings"])
    return Found(claim(*NAMES[: len(outcomes)], **fields), clauses, settings)


def noted(met):
    """The same with what the paper prints of its clause."""
    clauses = {"a": met.claim.clauses["a"].model_copy(update={"print_note": "table 4 has 0.5"})}
    return met._replace(claim=met.claim.model_copy(update={"clauses": clauses}))


def denied(by):
    """A claim whose clause the paper's numbers contradict, with the clauses that they deny by hypothesis."""
    met = noted(found([FAILS]))
    clauses = {"a": met.claim.clauses["a"].model_copy(update={"in_print": False})}
    return met._replace(claim=met.claim.model_copy(update={"clauses": clauses}), denied=by)


# condition, evidence with which it holds, and the same altered so that it does not
CASES = [
    ("by construction", found([HOLDS], by_construction="eq. 1"), found([HOLDS])),
    ("untested", found([HOLDS], untested="an image"), found([HOLDS])),
    ("print", noted(found([FAILS])), found([FAILS])),
    ("settings", found([HOLDS, FAILS], [0.0, 0.05]), found([HOLDS, FAILS], [0.5, 0.04])),
    ("settings", found([FAILS], [0.99]), found([FAILS])),
    (
        "reading",
        found([HOLDS, FAILS], [0.9, 0.1], {"H1": [0.9, 0.9]}),
        found([HOLDS, FAILS], [0.9, 0.1], {"H1": [0.9, 0.4]}),
    ),
    ("reading", found([FAILS], [0.1], {"H1": [0.95]}), found([FAILS], [0.6], {"H1": [0.95]})),
    ("reading", found([FAILS], [], {"half": [1.0]}), found([FAILS], [], {"half": [0.0]})),  # decided on runs alone
    ("reading", found([FAILS], [], {"half": [1.0]}), found([OPEN], [], {"half": [1.0]})),
    ("excluded print", denied({"": ["a"], "H3": []}), denied({"": ["a"], "H3": ["a"]})),
    ("excluded print", denied({"": ["a"], "H3": []}), denied({"": [], "H3": []})),
    ("excluded print", denied({"": ["a"], "H3": []}), denied({"": ["a"]})),
    ("open", found([HOLDS, OPEN]), found([HOLDS, FAILS])),
    ("direction", found([HOLDS, FAILS]), found([FAILS, FAILS])),
    ("no setting", found([FAILS, HOLDS], [0.0, 1.0]), found([FAILS, HOLDS], [0.08, 1.0])),
    ("no setting", found([FAILS], [0.0], n=40), found([FAILS], [0.0], n=20)),  # of so few settings 10 % may have it
    ("no setting", found([FAILS], [0.0]), found([FAILS])),
    ("not settings", found([FAILS], [0.04]), found([FAILS], [0.05])),
    ("outside the settings", found([FAILS], [0.04]), found([FAILS], [0.05])),
    ("outside the settings", found([FAILS, FAILS], [0.0, 0.04]), found([FAILS, FAILS], [0.0])),
]


@pytest.mark.parametrize(("needs", "met", "altered"), CASES)
def test_a_cause_is_refused_where_the_evidence_does_not_support_it(needs, met, altered):
    cause = Cause(says="x", verdicts=["partly"], needs=needs)
    assert unmet("a cause", cause, met) == ""
    line = unmet("a cause", cause, altered)
    assert line.startswith("data/claims/ogura.yaml: ogura.c99: cause: a cause: ")


def test_every_condition_is_tried():
    assert {name for name, _, _ in CASES} == set(CONDITIONS)
    with pytest.raises(InputError, match="needs: condition.*'luck'"):
        unmet("a cause", Cause(says="x", verdicts=["partly"], needs="luck"), found([HOLDS]))
