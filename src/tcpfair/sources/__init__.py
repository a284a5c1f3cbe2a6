"""Sources of traces: scenario in, trace out; and a trace assembled from existing runs."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.files.manifest import CODE, CONFIG, RUNS
from tcpfair.papers.expand import RunSpec, run_specs, values_behind
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import store, trace
from tcpfair.runs.trace import TABLES, Trace
from tcpfair.sources import engine, tables

OTHERS = ("ns2", "ns3", "testbed", "guest")  # simulators other than the engine, loaded on use
_KEPT_SHARDS = 8  # of other runs, when a trace is assembled: a reverted edit needs no simulation

_ORDER = {
    "runs": ["run_id"],
    "flows": ["run_id", "flow_id"],
    "samples": ["run_id", "flow_id", "t_s"],
    "link": ["run_id", "direction", "t_s"],
    "events": ["run_id", "t_s", "flow_id"],
}


def simulate(paper: PaperConfig, experiment: str, specs: Sequence[RunSpec] | None = None) -> Trace:
    """Simulate runs of one experiment in the engine, all of them when none are given.

    Raises InputError for an unknown experiment.
    """
    specs = run_specs(paper, experiment) if specs is None else list(specs)
    made = engine.simulate_runs(paper, experiment, specs)
    made.provenance |= _provenance(paper, experiment, specs)
    return made


def simulator(backend: str) -> ModuleType:
    """The module of a simulator: `simulate_runs` and, for `OTHERS`, `estimate_s`, `tool_version` and `source_hash`.

    Raises InputError for an unknown name.
    """
    if backend == "engine":
        return engine
    if backend not in OTHERS:
        raise InputError(f"source: no simulator called {backend!r}; known are engine, {', '.join(OTHERS)}")
    return importlib.import_module(f"tcpfair.sources.{backend}")


def _provenance(paper: PaperConfig, experiment: str, specs: Sequence[RunSpec]) -> dict:
    """The manifest of these runs."""
    return {
        "paper": paper.paper,
        "experiment": experiment,
        "grid": list(paper.experiments[experiment].grid),
        RUNS: [spec.key for spec in specs],
        CODE: store.code_behind(store.asked(specs)),
        CONFIG: values_behind(paper, experiment, specs),
    }


def shard_of(paper: PaperConfig, experiment: str, specs: Sequence[RunSpec], every: Sequence[RunSpec]) -> Trace:
    """Simulate some runs of an experiment, with ``every`` as all of them; return their trace as a shard.

    Runs are numbered in the order of ``specs``. The manifest has the configuration of all runs, so the remains of a
    killed job differ from the request only in their runs. The shard of all runs is the trace of the experiment.
    """
    made = simulate(paper, experiment, specs)
    made.provenance |= {"pkts": delivered_pkts(made), CONFIG: values_behind(paper, experiment, list(every))}
    return _renumbered(made, {spec.run_id: number for number, spec in enumerate(specs)})


def assemble(layout: Layout, paper: PaperConfig, experiment: str, specs: Sequence[RunSpec]) -> Trace:
    """The trace of ``specs`` from shards; byte-identical to a joint simulation.

    Raises InputError when a run is in no shard.
    """
    runs = store.asked(specs)
    left = {spec.key: spec for spec in specs}
    parts, backend = [], ""
    for folder in store.shards(layout, paper.paper, experiment):
        if not left:
            break
        manifest = store.manifest_of(layout, folder)
        taken = {key: run_id for key, run_id in store.held(manifest, runs).items() if key in left}
        if taken:
            backend = manifest["backend"]
            new_id = {run_id: left.pop(key).run_id for key, run_id in taken.items()}
            parts.append(_renumbered(trace.read(folder), new_id))
    if left:
        raise InputError(
            f"{paper.paper}/{experiment}: {len(left)} of {len(runs)} runs are missing; simulate them first"
        )
    made = merge(parts)
    rows = [tables.runs(paper.paper, experiment, spec, backend) for spec in specs]
    made.runs = pd.concat(rows, ignore_index=True)
    made.flows = pd.concat([tables.flows(spec) for spec in specs], ignore_index=True)
    made.provenance = {"backend": backend, "pkts": delivered_pkts(made), **_provenance(paper, experiment, specs)}
    return made


def discard_merged(layout: Layout, paper: str, experiment: str, merged: Path, runs: list[store.Asked]) -> None:
    """Remove the shards whose runs an assembled trace contains, and all but the newest with other runs."""
    others = [folder for folder in store.shards(layout, paper, experiment) if folder.parent == merged.parent]
    now = {run.key for run in runs}
    kept = 0
    for folder in others:
        manifest = store.manifest_of(layout, folder) or {}
        is_needed = folder == merged or (kept < _KEPT_SHARDS and not now.issuperset(manifest.get(RUNS, [])))
        kept += is_needed and folder != merged
        if not is_needed:
            shutil.rmtree(folder, ignore_errors=True)


def _renumbered(held: Trace, new_id: dict[int, int]) -> Trace:
    """The runs of a trace in ``new_id``, renumbered by it."""
    parts = {}
    for name in TABLES:
        table = getattr(held, name)
        own = table[table["run_id"].isin(new_id.keys())]
        parts[name] = own.assign(run_id=own["run_id"].map(new_id).astype(table["run_id"].dtype))
    return Trace(**parts, provenance=held.provenance)


def merge(traces: Iterable[Trace]) -> Trace:
    """Parts of one experiment as one trace, independent of the division."""
    traces = list(traces)
    merged = {}
    for name in TABLES:
        frames = [getattr(part, name) for part in traces]
        whole = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
        merged[name] = whole.sort_values(_ORDER[name], kind="stable", ignore_index=True)
    return Trace(**merged, provenance=dict(traces[0].provenance))


def delivered_pkts(made: Trace) -> int:
    """Data packets that arrived at the receivers, in units of full packets."""
    per_run = made.samples.groupby("run_id")["delivered_bytes"].sum()
    return round(float((per_run / made.runs.set_index("run_id")["payload_bytes"]).sum()))
