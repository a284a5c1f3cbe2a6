"""Functions of the page's scripts, called in node with plain data."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from tests.web.node import NODE

_CALL = Path(__file__).with_name("call.cjs")


def call(files: list[str], calls: list[tuple]) -> list[Any]:
    """What functions of the page give: each call is its name below the global ``tcpfair`` and its arguments."""
    text = json.dumps({"calls": [_plain(each) for each in calls]})
    done = subprocess.run([NODE, str(_CALL), *files], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return _read(json.loads(done.stdout))


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
