"""Every equation of the papers has a function, and a test that calls it."""

import ast
import importlib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EQUATIONS = yaml.safe_load((ROOT / "data" / "equations.yaml").read_text())

# numbered equations of each paper, then the unnumbered ones
EXPECTED = {
    "bhatti2009": [*range(1, 11), "_aimd", "_cubic", "_compound"],
    "bhatti2008": [*range(1, 15)],
    "kozu2014": [*range(1, 12), "_alpha"],
    "ogura": [*range(1, 21), "_B"],
}


def test_all_60_equations_are_listed_once():
    expected = [f"{paper}.eq{name}" for paper, names in EXPECTED.items() for name in names]
    assert len(expected) == 60
    assert [e["id"] for e in EQUATIONS] == expected


def test_entries_have_only_known_fields():
    assert {field for e in EQUATIONS for field in e} == {"id", "function", "test", "correction"}


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e["id"])
def test_function_exists_and_its_test_calls_it(equation):
    module, function = equation["function"].rsplit(".", 1)
    assert callable(getattr(importlib.import_module(module), function))

    path, test = equation["test"].split("::")
    tests = {n.name: n for n in ast.parse((ROOT / path).read_text()).body if isinstance(n, ast.FunctionDef)}
    assert test in tests
    assert function in {n.attr for n in ast.walk(tests[test]) if isinstance(n, ast.Attribute)}
