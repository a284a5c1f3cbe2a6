"""Sources of traces behind one function: experiment in, trace out."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from tcpfair.contract.expand import RunSpec, run_specs, shorten
from tcpfair.contract.papers import PaperConfig
from tcpfair.contract.scenario import digest
from tcpfair.contract.trace import TABLES, Trace
from tcpfair.errors import InputError
from tcpfair.sources import engine, ns2, ns3

BACKENDS: dict[str, Callable] = {"engine": engine.simulate_runs, "ns2": ns2.simulate_runs, "ns3": ns3.simulate_runs}
_ORDER = {
    "runs": ["run_id"],
    "flows": ["run_id", "flow_id"],
    "samples": ["run_id", "flow_id", "t_s"],
    "link": ["run_id", "direction", "t_s"],
    "events": ["run_id", "t_s", "flow_id"],
}


def simulate(
    paper: PaperConfig,
    experiment: str,
    backend: str = "engine",
    shard: int = 0,
    shards: int = 1,
    smoke_duration_s: float | None = None,
) -> Trace:
    """Simulate every ``shards``-th run of one experiment, from the ``shard``-th on.

    With ``smoke_duration_s`` only the first replicate of each grid point runs, for that long. Raises InputError for an
    unknown experiment or backend.
    """
    if backend not in BACKENDS:
        raise InputError(f"source: no simulator called {backend!r}; known are {', '.join(BACKENDS)}")
    specs = run_specs(paper, experiment)
    if smoke_duration_s is not None:
        specs = [shorten(spec, smoke_duration_s) for spec in specs if spec.replicate == 0]
    chosen = specs[shard::shards]
    trace = BACKENDS[backend](paper, experiment, chosen)
    trace.provenance |= {
        "paper": paper.paper,
        "experiment": experiment,
        "grid": list(paper.experiments[experiment].grid),
        "scenarios": scenarios_digest(specs),  # of all runs, so that parts of an experiment agree
        "n_runs": len(chosen),
    }
    return trace


def scenarios_digest(specs: list[RunSpec]) -> str:
    """Hash of the scenarios of all runs of an experiment."""
    return digest(sorted(spec.scenario.digest for spec in specs))


def merge(traces: list[Trace]) -> Trace:
    """Shards of one experiment as one trace, the same whatever the number of shards."""
    tables = {}
    for name in TABLES:
        frames = [getattr(trace, name) for trace in traces]
        whole = pd.concat([f for f in frames if len(f)] or frames[:1], ignore_index=True)
        tables[name] = whole.sort_values(_ORDER[name], kind="stable", ignore_index=True)
    provenance = dict(traces[0].provenance)
    provenance["n_runs"] = sum(trace.provenance.get("n_runs", 0) for trace in traces)
    return Trace(**tables, provenance=provenance)
