"""Congestion-control algorithms: one file each, see :mod:`tcpfair.cc.api` for the contract."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

# an algorithm defines STATE, or takes it over from another one
_STATE = re.compile(r"^(STATE\b|from tcpfair\.cc\.\w+ import (\([^)]*|.*)\bSTATE\b)", re.MULTILINE)


@cache
def names() -> tuple[str, ...]:
    """Names of all algorithms, without importing (and compiling) any."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.py") if _STATE.search(path.read_text())))
