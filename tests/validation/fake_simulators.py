"""A checkout with a small validation, and simulators that make up their traces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.runs.trace import Trace, empty
from tcpfair.validation import campaign
from tcpfair.workflow import cli
from tests.small_checkout import put
from tests.workflow.in_process import InProcess

CONFIG = """
paper: validation
cite: a small validation
protocols:
  slow: {cc: {value: newreno, source: x}}
  fast: {cc: {value: cubic, source: x}}
settings:
  capacity_bps: {value: 1.2e+6, source: x}
  wire_bytes: {value: 1500, source: x}
  payload_bytes: {value: 1200, source: x}
  buffer_bdp: {value: 1, source: x}
  sample_s: {value: 1, source: x}
analysis:
  whole_epochs_share: {value: 0.5, source: x}
  curve_points: {value: 10, source: x}
  curve_experiments: {value: [one], source: x}
  ns2_runs: {value: {"*/*": 3}, source: x}
  ns3_runs: {value: {"*/*": 1, "*/fast": 0}, source: x}
  ns3_duration_s: {value: 30, source: x}
  ns3_window_s: {value: [5, 30], source: x}
  bar_mean_cwnd: {value: 0.03, source: x}
  bar_epoch: {value: 0.05, source: x}
  bar_utilisation: {value: 0.01, source: x}
  bar_share: {value: 0.05, source: x}
  standard_errors: {value: 2, source: x}
  quick_experiments: {value: [one, two], source: x}
  quick_algorithms: {value: [slow], source: x}
  quick_duration_s: {value: 20, source: x}
  quick_window_s: {value: [5, 20], source: x}
  quick_mean_cwnd: {value: 0.25, source: x}
  quick_utilisation: {value: 0.1, source: x}
experiments:
  one:
    what: one flow
    settings: {duration_s: {value: 50, source: x}}
    grid: {protocol: {value: [slow, fast], source: x}}
    flows: [{rtt_ms: {value: 50, source: x}}]
    runs: {value: 3, source: x}
    perturb: {rtt_rel: {value: 0.01, source: x}}
    window_s: {value: [10, 50], source: x}
    record: [cwnd, events]
    measures: [mean_cwnd, epoch, peak, losses, utilisation]
  two:
    what: two flows
    settings: {duration_s: {value: 40, source: x}}
    grid: {protocol: {value: [slow, fast], source: x}}
    flows: [{rtt_ms: {value: 50, source: x}}, {rtt_ms: {value: 50, source: x}}]
    runs: {value: 3, source: x}
    perturb: {rtt_rel: {value: 0.01, source: x}}
    window_s: {value: [10, 40], source: x}
    record: [samples]
    measures: [share, jfi, utilisation]
"""
# what is added to it for random dumbbells and for runs that are compared seed by seed
BY_CHANCE = (
    """
  paired_experiments: {value: [two], source: x}
  drawn_seed: {value: 1, source: x}
  drawn: {value: {mixes: {count: 2, fair_window_pkts: [2, 40], bar: 0.08}}, source: x}
  drawn_level: {value: 0.05, source: x}
  drawn_few_pkts: {value: 10, source: x}
  drawn_margin: {value: 0.02, source: x}
  drawn_margin_relative: {value: 0.1, source: x}
  drawn_confidence: {value: 0.9, source: x}
  drawn_most_runs: {value: 12, source: x}
  drawn_flows: {value: [2, 2], source: x}
  drawn_rate_bps: {value: [1.0e+6, 2.0e+6], source: x}
  drawn_rtt_ms: {value: [50, 200], source: x}
  drawn_buffer_bdp: {value: [0.1, 2], source: x}
  drawn_start_s: {value: [0, 5], source: x}
  drawn_jitter_pkts: {value: [0.5, 3], source: x}
  drawn_access_ratio: {value: [2, 20], source: x}
  drawn_access_jitter_pkts: {value: [0, 2], source: x}
  drawn_ssthresh_share: {value: 1, source: x}
  drawn_longest_ccid2_pkts: {value: 600, source: x}
""",
    """
  mixes:
    what: random dumbbells
    settings: {duration_s: {value: 40, source: x}}
    runs: {value: 3, source: x}
    perturb: {rtt_rel: {value: 0.01, source: x}}
    window_s: {value: [10, 40], source: x}
    record: [cwnd]
    measures: [share_1, share_2, share_3, window_1, window_2, window_3]
""",
)
PERIOD_S = 5


def make_checkout(root: Path) -> Layout:
    files = {
        "Snakefile": "",
        "config/config.yaml": "source: bundled\n",
        "config/validation.yaml": CONFIG,
        "data/validation/explanations.yaml": "ns2: {}\nns3: {}\n",
        **{f"config/papers/{paper}.yaml": f"paper: {paper}\ncite: a paper\n" for paper in PAPERS},
    }
    return Layout(put(root, files))


class Simulator:
    """Windows that rise from 100 to 120 packets in 5 s, times ``gain``; counts the runs it is asked for.

    ``fails`` has the parts that fail, each with its error.
    """

    def __init__(
        self,
        name: str,
        gain: float = 1.0,
        estimate_s: float = 1.0,
        missing: str = "",
        fails: Mapping[str, BaseException] | None = None,
        advantage: float = 0.0,
    ):
        self.name, self.gain, self.of_run_s, self.missing, self.fails = name, gain, estimate_s, missing, fails or {}
        self.advantage = advantage  # packets a second more for the first of two flows
        self.code = "c0de" * 4
        self.made: list[str] = []

    @property
    def module(self) -> SimpleNamespace:
        return SimpleNamespace(
            simulate_runs=self.simulate_runs,
            estimate_s=self.estimate_s,
            tool_version=self.tool_version,
            source_hash=lambda: self.code,
        )

    def tool_version(self) -> str:
        if self.missing:
            raise InputError(self.missing)
        return f"{self.name} 1.0"

    def estimate_s(self, specs) -> float:
        return self.of_run_s * len(list(specs))

    def simulate_runs(self, paper, experiment, specs) -> Trace:
        tables = {"runs": [], "flows": [], "samples": [], "events": []}
        for spec in specs:
            label = spec.scenario.flows[0].protocol
            if f"{experiment}/{label}" in self.fails:
                raise self.fails[f"{experiment}/{label}"]
            self.made.append(f"{experiment}/{label}/{spec.replicate}")
            for name, frame in self._run(spec).items():
                tables[name].append(frame.assign(run_id=spec.run_id))
        joined = {name: pd.concat(frames) if frames else empty(name) for name, frames in tables.items()}
        return Trace(**joined, provenance={"backend": self.name})

    def _run(self, spec) -> dict[str, pd.DataFrame]:
        scenario = spec.scenario
        t_s = np.arange(1.0, scenario.duration_s + 0.5)
        flows = range(1, len(scenario.flows) + 1)
        # the replicates differ a little
        scale = self.gain * (1 + 0.001 * spec.replicate)
        cwnd_pkts = scale * (100 + 20 * (t_s % PERIOD_S) / PERIOD_S)
        losses_s = np.arange(PERIOD_S, scenario.duration_s, PERIOD_S)
        # 100 packets a second fill the link
        first = 60 + spec.replicate + self.advantage
        rates = [1200 * 100] if len(flows) == 1 else [1200 * first, 1200 * (100 - first)]
        samples = [
            pd.DataFrame(
                {"flow_id": flow, "t_s": t_s, "delivered_bytes": rate, "received_bytes": rate, "cwnd_pkts": cwnd_pkts}
            )
            for flow, rate in zip(flows, rates, strict=True)
        ]
        about = scenario.model_dump(include={"capacity_bps", "wire_bytes", "payload_bytes", "sample_s", "duration_s"})
        return {
            "runs": pd.DataFrame([{"replicate": spec.replicate, **spec.point, **about}]),
            "flows": pd.DataFrame(
                {"flow_id": flows, "protocol": [flow.protocol for flow in scenario.flows], "role": "foreground"}
            ),
            "samples": pd.concat(samples),
            "events": pd.DataFrame(
                {"flow_id": 1, "t_s": losses_s, "kind": "loss", "cwnd_before": 120 * scale, "cwnd_after": 100 * scale}
            ),
        }


def install(monkeypatch, *simulators: Simulator) -> None:
    """Let the validation find these simulators and no others; everything runs in this process."""
    modules = {simulator.name: simulator.module for simulator in simulators}
    monkeypatch.setattr(campaign, "simulator", modules.__getitem__)
    monkeypatch.setattr(cli, "free_cores", lambda: 1)
    InProcess(monkeypatch)
