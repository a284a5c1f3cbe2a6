"""The tables of a trace from a simulator's output arrays, for every simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

# isort: off
# the order of imports is part of the code digest of the shipped runs, which every figure states
from tcpfair.papers.expand import RunSpec
from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.scenario import Scenario
from tcpfair.runs.trace import TABLES, Trace, empty
from tcpfair.engine.result import Result
from tcpfair.engine.state import DIRECTIONS, EVENT_NAMES


def simulate_runs(
    paper: PaperConfig,
    experiment: str,
    specs: Iterable[RunSpec],
    run: Callable[[Scenario, int], Result],
    provenance: dict[str, Any],
) -> Trace:
    """Run ``specs`` serially and combine their tables; ``provenance`` names the backend."""
    specs = list(specs)
    return gather(paper.paper, experiment, specs, (run(spec.scenario, spec.seed) for spec in specs), provenance)


def gather(
    paper: str, experiment: str, specs: Iterable[RunSpec], results: Iterable[Result], provenance: dict[str, Any]
) -> Trace:
    """The tables of ``specs`` from their outputs; ``provenance`` names the backend."""
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
    for spec, result in zip(specs, results, strict=True):
        parts["runs"].append(runs(paper, experiment, spec, provenance["backend"]))
        parts["flows"].append(flows(spec))
        parts["samples"].append(_samples(spec, result))
        if "link" in spec.scenario.record:
            parts["link"].append(_link(spec, result))
        if "events" in spec.scenario.record:
            parts["events"].append(_events(spec, result))
    tables = {name: pd.concat(frames, ignore_index=True) if frames else empty(name) for name, frames in parts.items()}
    return Trace(**tables, provenance=provenance)


def runs(paper: str, experiment: str, spec: RunSpec, backend: str) -> pd.DataFrame:
    """The row of ``runs``: the run, its scenario and its place in the grid."""
    scenario = spec.scenario.model_dump(exclude={"flows", "web", "record"})
    row = {
        "run_id": spec.run_id,
        "paper": paper,
        "experiment": experiment,
        "backend": backend,
        "seed": spec.seed,
        "replicate": spec.replicate,
        **scenario,
        **spec.point,
    }
    return pd.DataFrame([row])


def flows(spec: RunSpec) -> pd.DataFrame:
    """The rows of ``flows``: long flows, and the short ones of each direction together."""
    rows = [
        {
            "protocol": flow.protocol,
            "cc": flow.cc,
            "rtt_s": flow.rtt_s,
            "access_bps": flow.access_bps,
            "start_s": flow.start_s,
            "stop_s": flow.stop_s,
            "role": flow.role,
            "direction": flow.direction,
        }
        for flow in spec.scenario.flows
    ]
    for direction in web_directions(spec.scenario):
        short = [web.flow for web in spec.scenario.web if web.flow.direction == direction]
        rows.append(
            {
                "protocol": short[0].protocol,
                "cc": short[0].cc,
                "rtt_s": min(flow.rtt_s for flow in short),
                "access_bps": short[0].access_bps,
                "start_s": min(flow.start_s for flow in short),
                "stop_s": max(flow.stop_s for flow in short),
                "role": "web",
                "direction": direction,
            }
        )
    frame = pd.DataFrame(rows)
    frame.insert(0, "run_id", spec.run_id)
    frame.insert(1, "flow_id", range(1, len(rows) + 1))
    return frame


def web_directions(scenario: Scenario) -> list[str]:
    """The directions that have short flows; each is one aggregate in the trace, after the long flows."""
    return [direction for direction in DIRECTIONS if any(web.flow.direction == direction for web in scenario.web)]


def _per_interval(cumulative: np.ndarray) -> np.ndarray:
    """Differences along the last axis, starting from zero."""
    return np.diff(cumulative, prepend=np.zeros_like(cumulative[..., :1]))


def _samples(spec: RunSpec, result: Result) -> pd.DataFrame:
    web = [DIRECTIONS.index(direction) for direction in web_directions(spec.scenario)]
    delivered = np.concatenate([result.delivered_pkts.T, result.web_delivered_pkts[web]])
    received = np.concatenate([result.received_pkts.T, result.web_received_pkts[web]])
    flows, samples = delivered.shape
    payload = round(spec.scenario.payload_bytes)
    frame = {
        "run_id": np.full(samples * flows, spec.run_id, np.int32),
        "flow_id": np.repeat(np.arange(1, flows + 1, dtype=np.int32), samples),
        "t_s": np.tile(result.t_s, flows),
        "delivered_bytes": payload * _per_interval(delivered).ravel(),
        "received_bytes": payload * _per_interval(received).ravel(),
    }
    if "cwnd" in spec.scenario.record:
        unknown = np.full((len(web), samples), np.nan)
        for name in ("cwnd_pkts", "ssthresh_pkts", "srtt_s"):
            frame[name] = np.concatenate([getattr(result, name).T, unknown]).ravel().astype(np.float32)
    return pd.DataFrame(frame)


def _link(spec: RunSpec, result: Result) -> pd.DataFrame:
    """Bytes carried, including ACKs that share the link; drops of data and ACKs."""
    scenario = spec.scenario
    carried = round(scenario.wire_bytes) * _per_interval(result.link_forwarded_pkts)
    carried += round(scenario.ack_bytes) * _per_interval(result.link_acks)
    dropped = _per_interval(result.link_dropped_pkts + result.link_acks_dropped)
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "run_id": np.int32(spec.run_id),
                    "t_s": result.t_s,
                    "direction": direction,
                    "forwarded_bytes": carried[number],
                    "dropped_pkts": dropped[number],
                    "queue_pkts": result.link_queue_pkts[number].astype(np.float32),
                }
            )
            for number, direction in enumerate(DIRECTIONS[: len(carried)])
        ],
        ignore_index=True,
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
