"""The project's own simulator as a source of traces."""

from __future__ import annotations

from collections.abc import Iterable

# isort: off
# the order of imports is part of the code digest of the shipped runs, which every figure states
from tcpfair.papers.expand import RunSpec
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs.trace import Trace
from tcpfair.engine.dumbbell import run
from tcpfair.jit import source_hash
from tcpfair.sources import tables


def simulate_runs(paper: PaperConfig, experiment: str, specs: Iterable[RunSpec]) -> Trace:
    """Simulate ``specs`` serially and combine their tables."""
    return tables.simulate_runs(paper, experiment, specs, run, {"backend": "engine", "code": source_hash()})
