"""Digest of a run's outputs: SHA-256 of each of its arrays, and of the list of these.

``web/static/engine.js`` computes the same in the page. The arrays are those of `tcpfair.engine.result.Result` in the
engine's format (float64, little-endian), the events and the arrivals of short flows. Events are always logged for it.
Values that depend on where a run was paused, such as the number of trains, are excluded.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from tcpfair.engine.dumbbell import DumbbellResult
from tcpfair.engine.state import DIRECTIONS
from tcpfair.errors import InputError
from tcpfair.library import live
from tcpfair.papers.scenario import Scenario, make_scenario

_OF_FLOWS = ("delivered_pkts", "received_pkts", "cwnd_pkts", "ssthresh_pkts", "srtt_s")
_OF_LINK = ("forwarded_pkts", "dropped_pkts", "queue_pkts", "acks", "acks_dropped")
_OF_WEB = ("delivered_pkts", "received_pkts", "active")


def arrays(result: DumbbellResult) -> list[tuple[str, bytes]]:
    """Name and bytes of each array, in the order of the digest."""
    found = {name: getattr(result, name) for name in _OF_FLOWS}
    for kind, names, count in (("link", _OF_LINK, len(result.links)), ("web", _OF_WEB, len(DIRECTIONS))):
        for d, direction in enumerate(DIRECTIONS[:count]):
            found |= {f"{kind}_{direction}.{name}": getattr(result, f"{kind}_{name}")[d] for name in names}
    series = [(name, np.ascontiguousarray(array, dtype="<f8").tobytes()) for name, array in found.items()]
    return [*series, ("events", result.events.tobytes()), ("arrivals", result.arrivals.tobytes())]


def lines(result: DumbbellResult) -> list[str]:
    """Name and SHA-256 of each array."""
    return [f"{name} {hashlib.sha256(data).hexdigest()}\n" for name, data in arrays(result)]


def digest(scenario: Scenario, seed: int) -> str:
    """Digest of the results of a scenario and a seed. Raises InputError as the engine does."""
    return digest_of_result(live.run(scenario, seed, log_events=True))


def digest_of_result(result: DumbbellResult) -> str:
    """Digest of a result whose events were logged."""
    return hashlib.sha256("".join(lines(result)).encode()).hexdigest()


def digest_of_file(path: Path) -> str:
    """Digest of the run that a file describes. Raises InputError with one line that names file and field."""
    scenario, seed = read(path)
    try:
        return digest(scenario, seed)
    except InputError as error:
        raise InputError(f"{path}: scenario: {str(error).removeprefix('scenario: ')}") from None


def read(path: Path) -> tuple[Scenario, int]:
    """Scenario and seed of a file in YAML or JSON: ``{scenario: {...}, seed: 7}``; the default seed is 1."""
    from tcpfair.papers.papers import load_yaml  # the library does not require YAML

    try:
        values = load_yaml(path)  # JSON is YAML except for its tabs
    except (UnicodeDecodeError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
        raise InputError(f"{path}: {reason}") from None
    if "scenario" not in values:
        raise InputError(f"{path}: scenario: is missing; write {{scenario: {{capacity_bps: ...}}, seed: 1}}")
    if unknown := [name for name in values if name not in ("scenario", "seed")]:
        raise InputError(f"{path}: {unknown[0]}: unknown; known are scenario, seed")
    return make_scenario(values["scenario"], f"{path}: scenario"), seed_of(values.get("seed", 1), str(path))


def seed_of(value: Any, where: str) -> int:
    """A seed, which may be text, as JSON's readers round large numbers. Raises InputError that begins with ``where``."""
    try:
        seed = int(value) if isinstance(value, int | str | np.integer) and not isinstance(value, bool) else -1
    except ValueError:
        seed = -1
    if not 0 <= seed < 1 << 64:
        raise InputError(f"{where}: seed: must be a whole number from 0 to 2^64 - 1 (got {value!r})")
    return seed
