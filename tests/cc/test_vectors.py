"""The window rules, step by step, against values worked out by hand from the cited texts.

``tests/vectors/<algorithm>.csv``: consecutive rows of one ``case`` are steps of one flow, which starts from zeros with
acked = growth = 1 and the algorithm's default parameters. ``inputs`` go into its state (``p.`` into its parameters)
before the ``action``. After it, the variables in ``expect`` have these values and all others are untouched.
"""

from __future__ import annotations

import ast
import csv
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tcpfair.cc import reno
from tcpfair.cc.api import COMMON_STATE
from tcpfair.cc.registry import algorithm, algorithms, dtypes, param_values
from tcpfair.engine.dispatch import call_on_ack, call_on_every_ack, call_on_loss, call_on_round, call_on_timeout
from tcpfair.jit import jit_cached

FOLDER = Path(__file__).parents[1] / "vectors"
ACTIONS = {
    "ack": "on_ack",
    "loss": "on_loss",
    "timeout": "on_timeout",
    "round": "on_round",
    "every_ack": "on_every_ack",
}
# the cases that are tests of equations
NAMED = re.findall(r"::test_vector\[(\w+): (.+)\]", (FOLDER.parents[1] / "data" / "equations.yaml").read_text())
every_algorithm = pytest.mark.parametrize("name", algorithms())


class Step(NamedTuple):
    action: str
    inputs: dict[str, float]
    expect: dict[str, float]
    source: str


def numbers(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in (pair.split("=") for pair in text.split(";") if pair)}


@cache
def read(name: str) -> dict[str, list[Step]]:
    """The cases of one algorithm."""
    path = FOLDER / f"{name}.csv"
    assert path.is_file(), f"{path} is missing; CONTRIBUTING.md, Adding a congestion-control algorithm, describes it"
    with path.open(newline="") as rows:
        groups = itertools.groupby(csv.DictReader(rows), key=lambda row: row["case"])
        cases = [(case, list(group)) for case, group in groups]
    assert len(dict(cases)) == len(cases), f"{name}.csv: the rows of a case must follow each other"
    return {
        case: [Step(r["action"], numbers(r["inputs"]), numbers(r["expect"]), r["source"]) for r in group]
        for case, group in cases
    }


def rules_of(name: str) -> dict[str, Callable]:
    """The rule of each action."""
    return {action: getattr(algorithm(name), rule) for action, rule in ACTIONS.items()}


@jit_cached
def call(place, number, f, p):
    """Call a rule as the engine does, by the place of its action in ACTIONS and the number of its algorithm."""
    if place == 0:
        call_on_ack(number, f, p)
    elif place == 1:
        call_on_loss(number, f, p)
    elif place == 2:
        call_on_timeout(number, f, p)
    elif place == 3:
        call_on_round(number, f, p)
    else:
        call_on_every_ack(number, f, p)


def record(dtype: np.dtype, values: dict[str, float]) -> np.record:
    """A record with these values; what has none is NaN, which nobody may read."""
    made = np.full(1, np.nan, dtype).view(np.recarray)[0]
    for name, value in values.items():
        made[name] = value
    return made


def taken(name: str, steps: list[Step], *, plain: bool = False, **params: float) -> Iterator[tuple[dict, dict]]:
    """Take the steps of a case, with the compiled rules or with those of Python: the state after each, and the expected one."""
    state_dtype, params_dtype = dtypes()
    flow = record(state_dtype, dict.fromkeys((*COMMON_STATE, *algorithm(name).state), 0.0) | {"acked": 1, "growth": 1})
    p = record(params_dtype, param_values(name, params))
    for step in steps:
        for variable, value in step.inputs.items():
            into = p if variable.startswith("p.") else flow
            variable = variable.removeprefix("p.")
            declared = variable in into.dtype.names and not np.isnan(into[variable])
            assert declared, f"{FOLDER / name}.csv: {variable} is not declared in STATE or PARAMS"
            into[variable] = value
        expected = dict(zip(flow.dtype.names, flow.item(), strict=True)) | step.expect
        if step.action != "set" and plain:
            rules_of(name)[step.action](flow, p)
        elif step.action != "set":
            call([*ACTIONS].index(step.action), algorithm(name).number, flow, p)
        yield dict(zip(flow.dtype.names, flow.item(), strict=True)), expected


def wrong(name: str, case: str, **params: float) -> dict[str, tuple[float, float]]:
    """The variables that have another value than expected after the first step where any has: found and expected."""
    for found, expected in taken(name, read(name)[case], **params):
        same = np.isclose([*found.values()], [*expected.values()], rtol=1e-9, atol=0, equal_nan=True)
        if off := [variable for variable, is_same in zip(found, same, strict=True) if not is_same]:
            return {variable: (found[variable], expected[variable]) for variable in off}
    return {}


@every_algorithm
def test_vectors(name):
    off = [
        f"case {case!r}: {variable} is {found:.12g}, the file has {expected:.12g}"
        for case in read(name)
        for variable, (found, expected) in wrong(name, case).items()
    ]
    assert not off, f"{FOLDER / name}.csv: {'; '.join(off)}"


@pytest.mark.parametrize("name, case", [pytest.param(*named, id=": ".join(named)) for named in NAMED])
def test_vector(name, case):
    assert wrong(name, case) == {}


def test_every_algorithm_has_a_file_and_every_file_an_algorithm():
    assert sorted(path.stem for path in FOLDER.glob("*.csv")) == list(algorithms())


@every_algorithm
def test_every_step_is_well_formed_and_names_its_source(name):
    steps = [step for case in read(name).values() for step in case]
    assert all(step.source for step in steps)
    rules = {action for action, rule in rules_of(name).items() if rule is not None}
    odd = {step.action for step in steps} - {"set"} ^ rules
    assert not odd, (
        f"{FOLDER / name}.csv: each of {sorted(rules)} needs a row, and no other action; check {sorted(odd)}"
    )


# ---------------------------------------------------------------- are the vectors complete?


@every_algorithm
def test_vectors_notice_a_changed_parameter(name):
    changed = {
        param.name: 1.0 - param.default if param.unit in ("0 or 1", "0 to 2") else 2.0 * param.default or 1.0
        for param in algorithm(name).params
    }
    unnoticed = [
        param for param, value in changed.items() if not any(wrong(name, case, **{param: value}) for case in read(name))
    ]
    assert unnoticed == [], (
        f"{FOLDER / name}.csv: no row notices another default of these; rows that set p.NAME do not count"
    )


def branches(module) -> set[tuple[int, int, bool]]:
    """Both ways out of every ``if`` of a module: its line, the first line of its body, whether that is entered."""
    ifs = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.If)]
    return {(node.lineno, node.body[0].lineno, taken) for node in ifs for taken in (True, False)}


@every_algorithm
def test_vectors_take_every_branch(name, monkeypatch):
    module = importlib.import_module(f"tcpfair.cc.{name}")
    # plain Python, which can be watched
    monkeypatch.setattr(type(reno.on_ack), "__call__", lambda self, *args: self.py_func(*args))
    for of in (importlib.import_module(f"tcpfair.cc.{other}") for other in algorithms()):
        for hint in ("likely", "unlikely"):
            if hasattr(of, hint):
                monkeypatch.setattr(of, hint, bool)  # hints to the compiler, which plain Python cannot call

    moves = set()  # from line to line, None at the end

    def watch(frame, event, _):
        if frame.f_code.co_filename != module.__file__:
            return None
        here = [frame.f_lineno]

        def follow(frame, event, _):
            moves.add((here[0], None if event == "return" else frame.f_lineno))
            here[0] = frame.f_lineno
            return follow

        return follow

    tracer = sys.gettrace()
    sys.settrace(watch)
    try:
        for steps in read(name).values():
            for _ in taken(name, steps, plain=True):  # the values are held above
                pass
    finally:
        sys.settrace(tracer)

    passed = {
        (line, body, entered)
        for line, body, _ in branches(module)
        for start, end in moves
        for entered in (True, False)
        if start == line and (end == body) == entered
    }
    never = branches(module) - passed
    assert never == set(), (
        f"{FOLDER / name}.csv: no row takes these (line of the if, first line of its body, is it entered)"
    )
