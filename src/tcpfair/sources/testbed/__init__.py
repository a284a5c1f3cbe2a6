"""A real Linux kernel as a source of traces: a dumbbell of network namespaces on this machine, its flows iperf3's.

`setup` describes a run, `programs` its requirements, `record` writes its folder (the stage in ``stage.py``, the wires
in ``relay.c``, the polls in ``poll.py``, CUBIC with another K in ``cubic_k.bpf.c``), `checks` refuses a run that
differs from its description. The folder is read by `tcpfair.sources.readers.testbed`.

Differences of a kernel from the engine in every scenario: the jitter of its hosts is their own; a flow's first data
come four to five round trips after its start, because iperf3 has a control connection; iperf3 ends at a full second, up
to one after the end of the run. First arrivals are unknown, so ``received_bytes`` is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd

from tcpfair.files.layout import Layout, repository_root
from tcpfair.papers.expand import RunSpec
from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.scenario import Scenario
from tcpfair.runs import intervals
from tcpfair.runs.code import digest_of
from tcpfair.runs.trace import TABLES, Trace, empty
from tcpfair.sources import tables
from tcpfair.sources.readers import testbed as reader
from tcpfair.sources.readers.compose import link_of, of_flows, samples_of
from tcpfair.sources.readers.sidecar import load_sidecar
from tcpfair.sources.refusals import checked
from tcpfair.sources.testbed import programs, record
from tcpfair.sources.testbed.setup import setup_of

ATTEMPTS = 4  # a run that is refused, for instance after a pause of the machine, is recorded again
_MADE_OF = ("__init__.py", "setup.py", "record.py", "stage.py", "poll.py", "relay.c", "struct_ops.c", "cubic_k.bpf.c")
_SET_UP_S = 4.0  # of a run, in addition to its duration


@cache
def tool_version() -> str:
    """Kernel and iperf3. Raises InputError when something is missing."""
    programs.require()
    return f"Linux {record.release()}"


def recorded(scenario: Scenario, folder: Path) -> Path:
    """``folder`` with a recording of a scenario: an existing one, else a new one, with several attempts when it is refused.

    Raises InputError when the machine lacks a requirement, or when all attempts were refused.
    """
    for attempt in range(1, ATTEMPTS + 1):
        if folder.is_dir():
            break
        try:
            record.record(setup_of(scenario), folder)
        except record.RefusedError:
            if attempt == ATTEMPTS:
                raise
    return folder


def simulate_runs(paper: PaperConfig, experiment: str, specs: Iterable[RunSpec]) -> Trace:
    """Record ``specs`` serially and combine their tables; all are checked before the first one runs.

    Recordings are stored below results/ under the keys of their runs, and reused.
    """
    provenance = {"backend": "testbed", "code": source_hash(), "tool": tool_version()}
    specs = checked(paper, experiment, specs, setup_of)
    place = Layout(repository_root()).recordings
    runs = ((spec, recorded(spec.scenario, place / spec.key)) for spec in specs)
    return as_trace(paper.paper, experiment, runs, provenance)


def as_trace(paper: str, experiment: str, runs: Iterable[tuple[RunSpec, Path]], provenance: dict) -> Trace:
    """Recordings, each with the run of which it is, as one trace."""
    made = [_as_of_spec(paper, experiment, spec, folder) for spec, folder in runs]
    whole = {name: pd.concat([each[name] for each in made], ignore_index=True) for name in TABLES}
    return Trace(**whole, provenance=provenance)


def _as_of_spec(paper: str, experiment: str, spec: RunSpec, folder: Path) -> dict[str, pd.DataFrame]:
    """A recording as the run of a scenario: its run_id, its row of ``runs``, its flows in the scenario's order (imported, a
    recording has them in the order of their starts), samples at its interval: windows by the last poll, bytes spread evenly over
    iperf3's intervals."""
    observed = reader.read(folder, load_sidecar(folder))
    edges_s = intervals.edges(spec.scenario.duration_s, spec.scenario.sample_s)
    run_id, record, shifts_s = spec.run_id, spec.scenario.record, [flow.offset_s for flow in observed.flows]
    samples = [
        samples_of(flow, shift_s, edges_s).assign(run_id=run_id, flow_id=flow_id)
        for flow_id, (flow, shift_s) in enumerate(zip(observed.flows, shifts_s, strict=True), start=1)
    ]
    events = of_flows((flow.events for flow in observed.flows), shifts_s, empty("events"))
    has_events = events is not None and "events" in record
    return {
        "runs": tables.runs(paper, experiment, spec, "testbed"),
        "flows": tables.flows(spec),
        "samples": pd.concat(samples, ignore_index=True),
        "link": link_of(observed.link.table, edges_s).assign(run_id=run_id) if "link" in record else empty("link"),
        "events": events.assign(run_id=run_id) if has_events else empty("events"),
    }


def source_hash() -> str:
    """Digest of the code that makes a recording; the checks, which only refuse, are excluded."""
    return digest_of(Path(__file__).with_name(name) for name in _MADE_OF)


def estimate_s(specs: Iterable[RunSpec]) -> float:
    """Time of ``specs`` in s: they are recorded in real time."""
    return sum(spec.scenario.duration_s + _SET_UP_S for spec in specs)
