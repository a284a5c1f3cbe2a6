"""A checkout with one small paper, for tests of the workflow: configuration, a little code, nothing computed."""

from __future__ import annotations

from pathlib import Path

from tcpfair import sources
from tcpfair.contract import trace
from tcpfair.contract.layout import PAPERS, repository_root
from tcpfair.workflow.plan import Plan

RAW = (repository_root() / "config/raw.yaml").read_text()
HEAD = """
paper: ogura
cite: a paper
protocols:
  Reno: {cc: {value: newreno, source: sec. 1}}
  Libra: {cc: {value: libra, source: sec. 2}, params: {rtt_ref_s: {value: 0.04, source: sec. 2}}}
settings:
  capacity_bps: {value: 1.0e+6, source: sec. 3}
  wire_bytes: {value: 1500, source: sec. 3}
  payload_bytes: {value: 1460, assumed: headers, range: [1448, 1460]}
  buffer_pkts: {value: 10, source: sec. 3}
  duration_s: {value: 20, source: sec. 3}
  sample_s: {value: 1, source: sec. 3}
"""
OGURA = (
    HEAD
    + """analysis:
  floor_db: {value: -10, source: sec. 4}
experiments:
  self:
    what: two flows of one protocol
    flows: &reno
      - {protocol: {value: Reno, source: sec. 3}, rtt_ms: {value: 40, source: sec. 3}}
    runs: {value: 1, source: sec. 3}
    measures: [throughput]
  pair:
    what: two protocols
    grid:
      protocol: {value: [Reno, Libra], source: sec. 3}
    flows:
      - {rtt_ms: {value: 40, source: sec. 3}}
    runs: {value: 2, source: sec. 3}
    window_s: {value: [10, 20], source: sec. 3}
    measures: [throughput, nru]
    weights: {experiment: self, rule: per_column}
  watched:
    what: no metrics are taken
    flows: *reno
    runs: {value: 1, source: sec. 3}
exhibits:
  - {id: ogura.fig8, kind: figure, title: shares, draw: bars, experiments: [pair]}
  - {id: ogura.table1, kind: table, title: parameters}
"""
)


NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["1 + 1"], "outputs": [], "execution_count": null}]}'


def make_checkout(root: Path) -> Path:
    """Write the checkout below ``root`` and return it."""
    files = {
        "Snakefile": "",
        "config/config.yaml": "source: engine\n",
        "config/papers/ogura.yaml": OGURA,
        "config/raw.yaml": RAW,
        "notebooks/ogura.ipynb": NOTEBOOK,
        "data/published/ogura.csv": "exhibit,key\n",
        **{f"config/papers/{name}.yaml": f"paper: {name}\ncite: a paper\n" for name in PAPERS if name != "ogura"},
        **{f"src/tcpfair/{layer}/code.py": "x = 1\n" for layer in ("cc", "engine", "metrics", "exhibits", "verdicts")},
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def make_plan(root: Path, **values) -> Plan:
    """The plan of the checkout, source engine unless said otherwise."""
    return Plan({"source": "engine", **values}, root)


def make_trace(plan: Plan, experiment: str) -> Path:
    """Simulate what is missing of an experiment and put its trace together, as the workflow does; returns its folder."""
    config = plan.papers["ogura"]
    specs = plan.specs("ogura", experiment)
    sources.simulate_missing(plan.layout, config, experiment, specs)
    folder = plan.layout.simulated("ogura", experiment)
    trace.write(sources.assemble(plan.layout, config, experiment, specs), folder)
    sources.discard_finished(plan.layout, "ogura", experiment)
    return folder


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
