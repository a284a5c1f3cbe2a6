"""What the rules of an algorithm read and write is declared: ``p.x`` in PARAMS, ``f.x`` in STATE or the common fields."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable

import pytest

from tcpfair.cc import reno
from tcpfair.cc.api import COMMON_STATE
from tcpfair.cc.registry import algorithm, algorithms
from tcpfair.jit import jit

RULES = ("on_ack", "on_loss", "on_timeout", "on_round", "on_every_ack")


def resolve(node: ast.expr, names: dict[str, object]) -> object:
    """What ``name`` or ``module.name`` stands for; None for builtins and expressions."""
    if isinstance(node, ast.Attribute):
        return getattr(resolve(node.value, names), node.attr, None)
    return names.get(node.id) if isinstance(node, ast.Name) else None


def fields(*rules: Callable) -> dict[str, set[str]]:
    """Fields of each argument that compiled rules, and what these call in any module, read or write."""
    found: dict[str, set[str]] = {}
    todo, seen = list(rules), set()
    while todo:
        rule = todo.pop()
        if rule in seen or not hasattr(rule, "py_func"):
            continue
        seen.add(rule)
        arguments = inspect.signature(rule.py_func).parameters
        for node in ast.walk(ast.parse(inspect.getsource(rule.py_func))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in arguments:
                found.setdefault(node.value.id, set()).add(node.attr)
            elif isinstance(node, ast.Call):
                todo.append(resolve(node.func, rule.py_func.__globals__))
    return found


@jit
def rule_that_calls(f, p):
    reno.on_loss(f, p)
    f.cwnd += p.undeclared


def test_fields_are_found_through_calls_into_other_modules():
    assert fields(rule_that_calls) == {"f": {"cwnd", "ssthresh", "whole"}, "p": {"undeclared", "b"}}


@pytest.mark.parametrize("name", algorithms())
def test_every_field_is_declared(name):
    chosen = algorithm(name)
    found = fields(*(getattr(chosen, rule) for rule in RULES))
    assert set(found) <= {"f", "p"}  # records keep their names where they are handed on
    assert found.get("p", set()) == {param.name for param in chosen.params}
    assert set(chosen.state) <= found["f"] <= {*COMMON_STATE, *chosen.state}
