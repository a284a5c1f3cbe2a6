"""Expressions in the YAML of the claims: what is refused, and how cells are inherited."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tcpfair.verdicts.claims.statement import Claim, Expression
from tests.verdicts.claims.test_statement import STATED, entry


def claim(of, **more):
    return Claim.model_validate(entry("same", **{"experiments": ["model1"], "of": of} | more))


@pytest.mark.parametrize(
    ("of", "more", "told"),
    [
        ([{"measure": "t1_s"}, "mode"], {}, "Input should be 'less'"),
        ([{"measure": "t1_s"}, {"trend": "rtt_ms"}], {}, "trend takes no `along:`"),
        ([{"measure": "t1_s"}, "less"], {}, "less, base and join need cells"),
        ([{"measure": "t1_s"}, "above"], {}, "above and power need a number"),
        ([{"measure": "t1_s"}, "names"], {}, "names needs labels"),
        ([{"measure": "t1_s"}, {"do": "mean", "names": ["a"]}], {}, "other steps take none"),
        ([{"measure": "t1_s"}, {"above": "rtt_ms"}], {}, "should be a valid number"),
        ({"measure": "t1_s", "flow": "all"}, {}, "Input should be 'each'"),
        ({"metric": "t1_s"}, {}, "Extra inputs are not permitted"),
        ({"flow": 1}, {}, "measure is missing"),
        ({"measure": "t1_s"}, {"experiments": ["model1", "model2"]}, "name the experiment"),
        ([{"measure": "t1_s"}, {"less": {"experiment": "model2"}}], {}, "experiments: add 'model2'"),
        (None, {"clauses": {"same": STATED | {"where": {"flow": 1}}}}, "needs an `of` to narrow"),
    ],
)
def test_what_is_no_expression_is_refused(of, more, told):
    with pytest.raises(ValidationError, match=told):
        claim(of, **more)


def test_clauses_narrow_the_expression_of_the_claim():
    of = {"measure": "t1_s", "where": {"rtt_ms": 80}}
    found = claim(of, clauses={"same": STATED | {"where": {"protocol": "Reno"}}}).expressions["same"]
    assert found.cells.where == {"rtt_ms": 80, "protocol": "Reno"}
    assert found.cells.experiment == "model1"


def test_an_expression_survives_being_written_and_read():
    of = Expression.model_validate([{"measure": "t1_s"}, {"min": "protocol"}, {"less": [{"flow": 1}, "max"]}])
    assert Expression.model_validate(of.model_dump(mode="json")) == of
