"""Functions of the page's scripts, called in node with plain data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.web import node


def call(files: list[str], calls: list[tuple]) -> list[Any]:
    """What functions of the page give: each call is its name below the global ``tcpfair`` and its arguments."""
    [answers] = node.run(node.HERE / "call.cjs", *files, stdin={"calls": [_plain(each) for each in calls]})
    return _read(answers)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _read(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_read(each) for each in value]
    return float(value.replace("Infinity", "inf")) if value in ("NaN", "Infinity", "-Infinity") else value
