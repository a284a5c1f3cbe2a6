"""Expressions in the YAML of the claims: what is refused, how cells are inherited, and what each step gives."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest
import yaml
from pydantic import ValidationError

from tcpfair.verdicts.claims import expressions
from tcpfair.verdicts.claims.decision import frame
from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.claims.statement import Claim, Expression
from tcpfair.verdicts.measured import Measured
from tests.verdicts import bundled
from tests.verdicts.claims.test_statement import STATED, entry


def claim(**fields):
    return Claim.model_validate(entry("same", **{"experiments": ["model1"]} | fields))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("of: [{measure: t1_s}, mode]", "Input should be 'less'"),
        ("of: [{measure: t1_s}, {trend: rtt_ms}]", "trend takes no `along:`"),
        ("of: [{measure: t1_s}, less]", "less, base and join need cells"),
        ("of: [{measure: t1_s}, above]", "above and power need a number"),
        ("of: [{measure: t1_s}, names]", "names needs labels"),
        ("of: [{measure: t1_s}, {do: mean, names: [a]}]", "other steps take none"),
        ("of: [{measure: t1_s}, {above: rtt_ms}]", "should be a valid number"),
        ("of: {measure: t1_s, flow: all}", "Input should be 'each'"),
        ("of: {metric: t1_s}", "Extra inputs are not permitted"),
        ("of: {flow: 1}", "measure is missing"),
        ("{of: {measure: t1_s}, experiments: [model1, model2]}", "name the experiment"),
        ("of: [{measure: t1_s}, {less: {experiment: model2}}]", "experiments: add 'model2'"),
        ("clauses: {same: {says: a, quantity: b, why: c, at_least: 1, where: {flow: 1}}}", "needs an `of` to narrow"),
    ],
)
def test_what_is_no_expression_is_refused(fields, told):
    with pytest.raises(ValidationError, match=told):
        claim(**yaml.safe_load(fields))


def test_clauses_narrow_the_expression_of_the_claim():
    of = {"measure": "t1_s", "where": {"rtt_ms": 80}}
    found = claim(of=of, clauses={"same": STATED | {"where": {"protocol": "Reno"}}}).expressions["same"]
    assert found.cells.where == {"rtt_ms": 80, "protocol": "Reno"}
    assert found.cells.experiment == "model1"


def test_an_expression_survives_being_written_and_read():
    of = Expression.model_validate([{"measure": "t1_s"}, {"min": "protocol"}, {"less": [{"flow": 1}, "max"]}])
    assert Expression.model_validate(of.model_dump(mode="json")) == of


# --- Steps, with values by hand -----------------------------------------------------------------------------------

NAN = float("nan")
A, B = {10: 1, 20: 2, 40: 4}, {10: 3, 20: -3, 40: 9}  # by RTT
B_LESS_A = {("B", 20): -5, ("B", 40): 5}
X = {
    ("A", 1): A,
    ("A", 2): {10: 2, 20: 2, 40: 2},
    ("B", 1): B,
    ("B", 2): {10: NAN, 20: 4, 40: 1},
}  # by protocol and flow
METRICS = pd.concat(
    bundled.runs([x], metric="x", protocol=protocol, flow=flow, rtt_ms=rtt_ms)
    for (protocol, flow), by_rtt in X.items()
    for rtt_ms, x in by_rtt.items()
)
GRID = {name: SimpleNamespace(value=METRICS[name].unique().tolist()) for name in ("protocol", "rtt_ms")}
CONFIG = SimpleNamespace(experiments={"model1": SimpleNamespace(grid=GRID)})


@pytest.mark.parametrize(
    ("where", "steps", "expected"),
    [
        # cells
        ("", "[]", {**{("A", r): x for r, x in A.items()}, **{("B", r): x for r, x in B.items()}}),
        ("protocol: A", "[]", A),
        ("protocol: A, rtt_ms: 20", "[]", {"": 2}),
        ("protocol: A, rtt_ms: [40, 10]", "[]", {40: 4, 10: 1}),
        ("protocol: A, rtt_ms: {from: 20}", "[]", {20: 2, 40: 4}),
        ("protocol: A, rtt_ms: {to: 20}", "[]", {10: 1, 20: 2}),
        ("protocol: A, rtt_ms: {but: 20}", "[]", {10: 1, 40: 4}),
        ("protocol: A, rtt_ms: {but: [10, 20]}", "[]", {40: 4}),
        # other cells: columns of the same name, the only column, by the variables of the fewer, and in the same place
        ("protocol: A", "[less: {where: {protocol: B}}]", {10: -2, 20: 5, 40: -5}),
        ("protocol: A", "[base: {where: {rtt_ms: 20}}]", {10: 0.5, 20: 1, 40: 2}),
        ("protocol: A, rtt_ms: 20", "[less: {where: {rtt_ms: [10, 40]}}]", {10: 1, 40: -2}),
        ("protocol: A, rtt_ms: 20", "[base: {flow: 2, where: {rtt_ms: 40}}]", {"": 1}),
        ("rtt_ms: {from: 20}", "[less: {where: {protocol: A}}]", {**{("A", r): 0 for r in (20, 40)}, **B_LESS_A}),
        ("protocol: A, rtt_ms: [10]", "[base: {where: {rtt_ms: [40]}}]", {10: 0.25}),
        ("protocol: A, rtt_ms: [10]", "[join: {where: {rtt_ms: [40]}}]", {10: 1, 40: 4}),
        # all columns, or those along a variable
        ("protocol: A", "[mean]", {"": 7 / 3}),
        ("protocol: A", "[geometric mean]", {"": 2}),
        ("protocol: A", "[range]", {"": 3}),
        ("", "[min: protocol]", {10: 1, 20: -3, 40: 4}),
        ("", "[max: rtt_ms]", {"A": 4, "B": 9}),
        ("protocol: B, rtt_ms: {to: 20}", "[join: {flow: 2}, max]", {"": NAN}),
        ("protocol: A", "[median]", {"": 2}),
        ("protocol: A, rtt_ms: [40, 10, 20]", "[trend]", {"": 1}),
        ("protocol: B", "[trend]", {"": 1 / 3}),
        ("protocol: A", "[typical factor]", {"": 2 ** (2 / 3) ** 0.5}),
        # cell by cell
        ("protocol: B", "[abs]", {10: 3, 20: 3, 40: 9}),
        ("protocol: A", "[base: {where: {rtt_ms: 20}}, factor]", {10: 2, 20: 1, 40: 2}),
        ("protocol: A", "[power: 2]", {10: 1, 20: 4, 40: 16}),
        ("protocol: B", "[base: {flow: 2}, above: 0]", {10: NAN, 20: 0, 40: 1}),
        ("protocol: A", "[names: [a, b, c]]", {"a": 1, "b": 2, "c": 4}),
    ],
)
def test_steps(where, steps, expected):
    cells = {"measure": "x", "flow": 1, "where": yaml.safe_load(f"{{{where}}}")}
    found = value([cells, *yaml.safe_load(steps)])
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("flow", [[2, 1], "each"])
def test_several_flows_are_columns(flow):
    found = value({"measure": "x", "flow": flow, "where": {"protocol": "A", "rtt_ms": [40, 20]}})
    wanted = {
        (f"flow {n}", rtt_ms): X["A", n][rtt_ms] for n in ([1, 2] if flow == "each" else flow) for rtt_ms in (40, 20)
    }
    assert found == wanted and list(found) == list(wanted)


def value(of):
    """The value of each column, in order."""
    evidence = Evidence(claim(of=of), CONFIG, Measured({"model1": METRICS}.__getitem__), {}.__getitem__)
    (found,) = frame(expressions.quantities(evidence)["same"]).to_dict("records")
    return found
