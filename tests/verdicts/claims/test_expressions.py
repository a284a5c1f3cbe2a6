"""Expressions in the YAML of the claims: what is refused, how cells are inherited, and what each step gives."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pandas as pd
import pytest
from pydantic import ValidationError

from tcpfair.verdicts.claims import expressions
from tcpfair.verdicts.claims.decision import frame
from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.claims.statement import Claim, Expression
from tcpfair.verdicts.measured import Measured
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


# --- Steps, with values by hand -----------------------------------------------------------------------------------

NAN = float("nan")
# x at 10, 20 and 40 ms, by protocol and flow
X = {("A", 1): [1, 2, 4], ("A", 2): [2, 2, 2], ("B", 1): [3, -3, 9], ("B", 2): [NAN, 4, 1]}
GRID = {"protocol": ["A", "B"], "rtt_ms": [10, 20, 40]}
CONFIG = SimpleNamespace(
    experiments={"model1": SimpleNamespace(grid={name: SimpleNamespace(value=value) for name, value in GRID.items()})}
)
METRICS = pd.DataFrame(
    [
        {"run_id": 0, "replicate": 0, "metric": "x", "flow": flow, "protocol": protocol, "rtt_ms": rtt_ms, "value": x}
        for (protocol, flow), values in X.items()
        for rtt_ms, x in zip(GRID["rtt_ms"], values, strict=True)
    ]
)


def a(flow=1, **where):
    return {"measure": "x", "flow": flow, "where": {"protocol": "A"} | where}


ALL = {"measure": "x", "flow": 1}
B = {"where": {"protocol": "B"}}


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        # cells
        (ALL, dict(zip(product(*GRID.values()), X["A", 1] + X["B", 1], strict=True))),
        (a(), {10: 1, 20: 2, 40: 4}),
        (a(rtt_ms=20), {"": 2}),
        (a(rtt_ms=[40, 10]), {40: 4, 10: 1}),
        (a(rtt_ms={"from": 20}), {20: 2, 40: 4}),
        (a(rtt_ms={"to": 20}), {10: 1, 20: 2}),
        (a(rtt_ms={"but": 20}), {10: 1, 40: 4}),
        (a(rtt_ms={"but": [10, 20]}), {40: 4}),
        (a([2, 1], rtt_ms=40), {"flow 2": 2, "flow 1": 4}),
        (a("each", rtt_ms={"to": 10}), {("flow 1", 10): 1, ("flow 2", 10): 2}),
        # other cells: columns of the same name, the only column, by the variables of the fewer, and in the same place
        ([a(), {"less": B}], {10: -2, 20: 5, 40: -5}),
        ([a(), {"base": {"where": {"rtt_ms": 20}}}], {10: 0.5, 20: 1, 40: 2}),
        ([a(rtt_ms=20), {"less": {"where": {"rtt_ms": [10, 40]}}}], {10: 1, 40: -2}),
        ([a(rtt_ms=20), {"base": {"flow": 2, "where": {"rtt_ms": 40}}}], {"": 1}),
        (
            [ALL | {"where": {"rtt_ms": [10, 20]}}, {"less": a()}],
            {("A", 10): 0, ("B", 10): 2, ("A", 20): 0, ("B", 20): -5},
        ),
        ([a(rtt_ms=[10]), {"base": {"where": {"rtt_ms": [40]}}}], {10: 0.25}),
        ([a(rtt_ms=[10]), {"join": {"where": {"rtt_ms": [40]}}}], {10: 1, 40: 4}),
        # all columns, or those along a variable
        ([a(), "mean"], {"": 7 / 3}),
        ([a(), "geometric mean"], {"": 2}),
        ([a(), "range"], {"": 3}),
        ([ALL, {"min": "protocol"}], {10: 1, 20: -3, 40: 4}),
        ([ALL, {"max": "rtt_ms"}], {"A": 4, "B": 9}),
        ([ALL | B | {"flow": 2}, "max"], {"": NAN}),
        ([a(), "median"], {"": 2}),
        ([a(rtt_ms=[40, 10, 20]), "trend"], {"": 1}),
        ([ALL | B, "trend"], {"": 1 / 3}),
        ([a(), "typical factor"], {"": 2 ** (2 / 3) ** 0.5}),
        # cell by cell
        ([ALL | B, "abs"], {10: 3, 20: 3, 40: 9}),
        ([a(), {"base": {"where": {"rtt_ms": 20}}}, "factor"], {10: 2, 20: 1, 40: 2}),
        ([a(), {"power": 2}], {10: 1, 20: 4, 40: 16}),
        ([ALL | B | {"flow": 2}, {"above": 1}], {10: NAN, 20: 1, 40: 0}),
        ([a(), {"names": ["a", "b", "c"]}], {"a": 1, "b": 2, "c": 4}),
    ],
)
def test_steps(of, expected):
    evidence = Evidence(claim(of), CONFIG, Measured({"model1": METRICS}.__getitem__), {}.__getitem__)
    (found,) = frame(expressions.quantities(evidence)["same"]).to_dict("records")
    assert list(found) == list(expected)
    assert list(found.values()) == pytest.approx(list(expected.values()), nan_ok=True)
