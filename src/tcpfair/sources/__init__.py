"""Sources of traces: scenario in, trace out; and a trace put together from runs that are there already."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import pandas as pd

from tcpfair.contract import finished, store, trace
from tcpfair.contract.expand import RunSpec, run_specs, values_behind
from tcpfair.contract.layout import Layout
from tcpfair.contract.manifest import CODE, CONFIG, RUNS
from tcpfair.contract.papers import PaperConfig
from tcpfair.contract.trace import TABLES, Trace
from tcpfair.errors import InputError
from tcpfair.sources import engine, ns2, ns3, tables

BACKENDS: dict[str, Callable] = {"engine": engine.simulate_runs, "ns2": ns2.simulate_runs, "ns3": ns3.simulate_runs}
WRITE_EVERY_S = 5.0  # finished runs go from the journal into a trace

_ORDER = {
    "runs": ["run_id"],
    "flows": ["run_id", "flow_id"],
    "samples": ["run_id", "flow_id", "t_s"],
    "link": ["run_id", "direction", "t_s"],
    "events": ["run_id", "t_s", "flow_id"],
}


def simulate(
    paper: PaperConfig, experiment: str, backend: str = "engine", specs: Sequence[RunSpec] | None = None
) -> Trace:
    """Simulate runs of one experiment, all of them when none are given.

    Raises InputError for an unknown experiment or backend.
    """
    if backend not in BACKENDS:
        raise InputError(f"source: no simulator called {backend!r}; known are {', '.join(BACKENDS)}")
    specs = run_specs(paper, experiment) if specs is None else list(specs)
    made = BACKENDS[backend](paper, experiment, specs)
    made.provenance |= _provenance(paper, experiment, specs)
    return made


def _provenance(paper: PaperConfig, experiment: str, specs: Sequence[RunSpec]) -> dict:
    """What the manifest says of these runs."""
    specs = list(specs)
    return {
        "paper": paper.paper,
        "experiment": experiment,
        "grid": list(paper.experiments[experiment].grid),
        RUNS: [spec.key for spec in specs],
        CODE: store.code_behind(store.asked(specs)),
        CONFIG: values_behind(paper, experiment, specs),
    }


def simulate_missing(
    layout: Layout,
    paper: PaperConfig,
    experiment: str,
    specs: Sequence[RunSpec],
    backend: str = "engine",
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[int, int]:
    """Simulate those of ``specs`` that are nowhere, and keep each when it is finished: a kill loses the one in flight alone.

    ``progress`` is told how many runs of how many are done. Returns the number of runs and of packets delivered.
    """
    lacking = {run.key for run in store.missing(layout, paper.paper, experiment, store.asked(specs))}
    todo = [spec for spec in specs if spec.key in lacking]
    if not todo:
        progress(0, 0)
        return 0, 0
    place = layout.finished_runs(paper.paper, experiment)
    unwritten: list[tuple[RunSpec, Trace]] = []  # what the journal alone holds
    written_s = time.monotonic()
    packets = 0

    def write() -> None:
        nonlocal written_s
        if unwritten:
            specs, made = [spec for spec, _ in unwritten], merge([made for _, made in unwritten])
            made.provenance |= _provenance(paper, experiment, specs)
            name = "-".join(dict.fromkeys([specs[0].key, specs[-1].key]))
            trace.write(_numbered(made, [spec.run_id for spec in specs]), place / name)
            kept.forget()
            unwritten.clear()
        written_s = time.monotonic()

    about = {"backend": backend, **_provenance(paper, experiment, todo)}
    with finished.opened(place, about) as kept, _termination_as_interrupt():
        try:
            for number, spec in enumerate(todo):
                progress(number, len(todo))
                made = simulate(paper, experiment, backend, [spec])
                unwritten.append(
                    (spec, made)
                )  # first: an interruption writes these, and has the journal forget the rest
                kept.add(spec.key, made)
                packets += delivered_pkts(made)
                if time.monotonic() - written_s > WRITE_EVERY_S:
                    write()
        finally:
            write()
    progress(len(todo), len(todo))
    return len(todo), packets


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """A request to end, as a cluster or a closed terminal sends it, is an interruption: what is finished is kept."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def assemble(layout: Layout, paper: PaperConfig, experiment: str, specs: Sequence[RunSpec]) -> Trace:
    """The trace of ``specs`` from runs that are there already; the same bytes as if all had been simulated together.

    Raises InputError when one is nowhere.
    """
    runs = store.asked(specs)
    left = {spec.key: spec for spec in specs}
    parts, backend = [], ""
    for folder in store.places(layout, paper.paper, experiment):
        if not left:
            break
        manifest = store.manifest_of(layout, folder)
        taken = {key: run_id for key, run_id in store.held(manifest, runs).items() if key in left}
        if taken:
            backend = manifest["backend"]
            parts.append(_renumbered(store.read(folder), {run_id: left.pop(key) for key, run_id in taken.items()}))
    if left:
        raise InputError(
            f"{paper.paper}/{experiment}: {len(left)} of {len(runs)} runs are missing; simulate them first"
        )
    made = merge(parts)
    for name, rows in (
        ("runs", lambda spec: tables.runs(paper.paper, experiment, spec, backend)),
        ("flows", tables.flows),
    ):
        setattr(made, name, pd.concat([rows(spec) for spec in specs], ignore_index=True))
    made.provenance = {"backend": backend, "pkts": delivered_pkts(made), **_provenance(paper, experiment, specs)}
    return made


def _renumbered(held: Trace, chosen: dict[int, RunSpec]) -> Trace:
    """Some runs of a trace under the run_id that they have in another one; without what the scenario says anyway."""
    new_id = {run_id: spec.run_id for run_id, spec in chosen.items()}
    parts = {}
    for name in TABLES:
        table = getattr(held, name)
        own = table[table["run_id"].isin(new_id.keys())]
        parts[name] = own.assign(run_id=own["run_id"].map(new_id).astype(table["run_id"].dtype))
    return Trace(**parts, provenance=held.provenance)


def _numbered(made: Trace, run_ids: list[int]) -> Trace:
    """A trace whose runs count from 0 in the order of ``run_ids``, as its manifest lists their keys."""
    place = {run_id: number for number, run_id in enumerate(run_ids)}
    for name in TABLES:
        table = getattr(made, name)
        setattr(made, name, table.assign(run_id=table["run_id"].map(place).astype(table["run_id"].dtype)))
    return made


def merge(traces: Iterable[Trace]) -> Trace:
    """Parts of one experiment as one trace, the same however they were parted."""
    traces = list(traces)
    merged = {}
    for name in TABLES:
        frames = [getattr(part, name) for part in traces]
        whole = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
        merged[name] = whole.sort_values(_ORDER[name], kind="stable", ignore_index=True)
    return Trace(**merged, provenance=dict(traces[0].provenance))


def delivered_pkts(made: Trace) -> int:
    """Data packets that arrived at the receivers, in units of full packets."""
    if made.runs.empty:
        return 0
    per_run = made.samples.groupby("run_id")["delivered_bytes"].sum()
    return round(float((per_run / made.runs.set_index("run_id")["payload_bytes"]).sum()))


def discard_finished(layout: Layout, paper: str, experiment: str) -> None:
    """Remove what interrupted simulations kept, once it stands in the trace."""
    shutil.rmtree(layout.finished_runs(paper, experiment), ignore_errors=True)


__all__ = ["BACKENDS", "assemble", "delivered_pkts", "discard_finished", "merge", "simulate", "simulate_missing"]
