"""The project's own simulator as a source of traces."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from tcpfair.config import PaperConfig, RunSpec
from tcpfair.engine.dumbbell import Result, run
from tcpfair.engine.state import EVENT_NAMES
from tcpfair.jit import source_hash
from tcpfair.trace import Trace, empty


def simulate_runs(paper: PaperConfig, experiment: str, specs: Iterable[RunSpec]) -> Trace:
    """Simulate ``specs`` one after another and gather their tables."""
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in ("runs", "flows", "samples", "link", "events")}
    for spec in specs:
        result = run(spec.scenario, spec.seed)
        parts["runs"].append(_runs(paper, experiment, spec))
        parts["flows"].append(_flows(spec))
        parts["samples"].append(_samples(spec, result))
        if "link" in spec.scenario.record:
            parts["link"].append(_link(spec, result))
        if "events" in spec.scenario.record:
            parts["events"].append(_events(spec, result))
    tables = {name: pd.concat(frames, ignore_index=True) if frames else empty(name) for name, frames in parts.items()}
    return Trace(
        **tables,
        provenance={"backend": "engine", "code": source_hash()},
    )


def _runs(paper: PaperConfig, experiment: str, spec: RunSpec) -> pd.DataFrame:
    scenario = spec.scenario.model_dump(exclude={"flows", "record"})
    row = {
        "run_id": spec.run_id,
        "paper": paper.paper,
        "experiment": experiment,
        "backend": "engine",
        "seed": spec.seed,
        "replicate": spec.replicate,
        **scenario,
        **spec.point,
    }
    return pd.DataFrame([row])


def _flows(spec: RunSpec) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "run_id": spec.run_id,
            "flow_id": flow_id,
            "protocol": flow.protocol,
            "cc": flow.cc,
            "rtt_s": flow.rtt_s,
            "access_bps": flow.access_bps,
            "start_s": flow.start_s,
            "stop_s": flow.stop_s,
            "role": flow.role,
        }
        for flow_id, flow in enumerate(spec.scenario.flows, 1)
    )


def _per_interval(cumulative: np.ndarray) -> np.ndarray:
    """Differences along the first axis, starting from zero."""
    return np.diff(cumulative, axis=0, prepend=np.zeros_like(cumulative[:1]))


def _samples(spec: RunSpec, result: Result) -> pd.DataFrame:
    samples, flows = result.delivered_pkts.shape
    payload = round(spec.scenario.payload_bytes)
    frame = {
        "run_id": np.full(samples * flows, spec.run_id, np.int32),
        "flow_id": np.repeat(np.arange(1, flows + 1, dtype=np.int32), samples),
        "t_s": np.tile(result.t_s, flows),
        "delivered_bytes": payload * _per_interval(result.delivered_pkts).T.ravel(),
        "received_bytes": payload * _per_interval(result.received_pkts).T.ravel(),
    }
    if "cwnd" in spec.scenario.record:
        for name in ("cwnd_pkts", "ssthresh_pkts", "srtt_s"):
            frame[name] = getattr(result, name).T.ravel().astype(np.float32)
    return pd.DataFrame(frame)


def _link(spec: RunSpec, result: Result) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "run_id": np.int32(spec.run_id),
            "t_s": result.t_s,
            "direction": "forward",
            "forwarded_bytes": round(spec.scenario.wire_bytes) * _per_interval(result.forwarded_pkts),
            "dropped_pkts": _per_interval(result.dropped_pkts),
            "queue_pkts": result.queue_pkts.astype(np.float32),
        }
    )


def _events(spec: RunSpec, result: Result) -> pd.DataFrame:
    events = result.events
    return pd.DataFrame(
        {
            "run_id": np.full(len(events), spec.run_id, np.int32),
            "flow_id": (events["flow"] + 1).astype(np.int32),
            "t_s": events["t_s"],
            "kind": np.array(EVENT_NAMES, dtype=object)[events["kind"]],
            "cwnd_before": events["cwnd_before"],
            "cwnd_after": events["cwnd_after"],
            "w_max": events["w_max"],
            "k_s": events["k_s"],
        }
    )
