"""Each cause has a condition; evidence that is altered so that it fails refuses the cause."""

from dataclasses import replace

import pandas as pd
import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.verdicts.claims.causes import CONDITIONS, Found, unmet
from tcpfair.verdicts.claims.why import Cause
from tests.verdicts.claims.test_decision import claim, with_rows
from tests.verdicts.claims.test_statement import STATED

NAMES = "ab"
_, DECIDED = with_rows(pd.DataFrame({"x": [1.0]}))


def found(outcomes, shares=(), hypotheses=None, n=200, stated=None, denied=None, **fields):
    """A claim of clauses a and b with these outcomes; shares of the settings as printed, and under hypotheses."""
    clauses = {name: STATED | (stated or {}) for name in NAMES[: len(outcomes)]}
    decided = [
        replace(DECIDED, clause_id=name, outcome=outcome) for name, outcome in zip(NAMES, outcomes, strict=False)
    ]
    of = {"": shares, **(hypotheses or {})}
    rows = [(name, under, share, n) for under, own in of.items() for name, share in zip(NAMES, own, strict=False)]
    settings = pd.DataFrame(rows, columns=["clause", "hypothesis", "share", "settings"])
    return Found(claim(clauses=clauses, **fields), decided, settings, denied or {})


# condition, evidence with which it holds, and the same altered so that it does not
CASES = yaml.safe_load("""
- [by construction, {outcomes: [holds], by_construction: eq. 1}, {outcomes: [holds]}]
- [untested, {outcomes: [holds], untested: an image}, {outcomes: [holds]}]
- [print, {outcomes: [does not hold], stated: {print_note: it has 0.5}}, {outcomes: [does not hold]}]
- [settings, {outcomes: [holds, does not hold], shares: [0, 0.05]}, {outcomes: [holds, does not hold], shares: [0.5, 0.04]}]
- [settings, {outcomes: [does not hold], shares: [0.99]}, {outcomes: [does not hold]}]
- - reading
  - {outcomes: [holds, does not hold], shares: [0.9, 0.1], hypotheses: {H1: [0.9, 0.9]}}
  - {outcomes: [holds, does not hold], shares: [0.9, 0.1], hypotheses: {H1: [0.9, 0.4]}}
- - reading
  - {outcomes: [does not hold], shares: [0.1], hypotheses: {H1: [0.95]}}
  - {outcomes: [does not hold], shares: [0.6], hypotheses: {H1: [0.95]}}
- - reading  # decided on runs alone
  - {outcomes: [does not hold], hypotheses: {half: [1]}}
  - {outcomes: [does not hold], hypotheses: {half: [0]}}
- [reading, {outcomes: [does not hold], hypotheses: {half: [1]}}, {outcomes: [open], hypotheses: {half: [1]}}]
- - excluded print
  - &denied {outcomes: [does not hold], stated: {in_print: false, print_note: x}, denied: {"": [a], H3: []}}
  - {outcomes: [does not hold], stated: {in_print: false, print_note: x}, denied: {"": [a], H3: [a]}}
- - excluded print
  - *denied
  - {outcomes: [does not hold], stated: {in_print: false, print_note: x}, denied: {"": [], H3: []}}
- - excluded print
  - *denied
  - {outcomes: [does not hold], stated: {in_print: false, print_note: x}, denied: {"": [a]}}
- [open, {outcomes: [holds, open]}, {outcomes: [holds, does not hold]}]
- [direction, {outcomes: [holds, does not hold]}, {outcomes: [does not hold, does not hold]}]
- [no setting, {outcomes: [does not hold, holds], shares: [0, 1]}, {outcomes: [does not hold, holds], shares: [0.08, 1]}]
- - no setting  # of few settings, 10 % may have it
  - {outcomes: [does not hold], shares: [0], n: 40}
  - {outcomes: [does not hold], shares: [0], n: 20}
- [no setting, {outcomes: [does not hold], shares: [0]}, {outcomes: [does not hold]}]
- [not settings, {outcomes: [does not hold], shares: [0.04]}, {outcomes: [does not hold], shares: [0.05]}]
- [outside the settings, {outcomes: [does not hold], shares: [0.04]}, {outcomes: [does not hold], shares: [0.05]}]
- - outside the settings
  - {outcomes: [does not hold, does not hold], shares: [0, 0.04]}
  - {outcomes: [does not hold, does not hold], shares: [0]}
""")


@pytest.mark.parametrize(("needs", "met", "altered"), CASES)
def test_a_cause_is_refused_where_the_evidence_does_not_support_it(needs, met, altered):
    cause = Cause(says="x", verdicts=["partly"], needs=needs)
    assert unmet("a cause", cause, found(**met)) == ""
    line = unmet("a cause", cause, found(**altered))
    assert line.startswith("data/claims/ogura.yaml: ogura.c99: cause: a cause: ")


def test_every_condition_is_tried():
    assert {name for name, _, _ in CASES} == set(CONDITIONS)
    with pytest.raises(InputError, match="needs: condition.*'luck'"):
        unmet("a cause", Cause(says="x", verdicts=["partly"], needs="luck"), found(["holds"]))
