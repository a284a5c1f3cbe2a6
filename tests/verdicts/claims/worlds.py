"""Synthetic worlds: made-up metrics and traces of every experiment that claims read, one world per replicate.

The values are drawn at random and mean nothing. They differ from cell to cell, so that a quantity shows which cells it is
made of. Some worlds have ties, zeros and cells without a value.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import numpy as np
import pandas as pd

from tcpfair.measures.catalogue import METRICS
from tcpfair.runs.trace import Trace
from tcpfair.verdicts.claims.evidence import Evidence, Rows
from tcpfair.verdicts.claims.statement import Claim, load_claims
from tcpfair.verdicts.measured import Measured
from tests.verdicts.bundled import CONFIGS, LAYOUT

CLAIMS = {claim.id: claim for paper in CONFIGS for claim in load_claims(LAYOUT.data / "claims" / f"{paper}.yaml")}

# kozu2014 tunes the existing method on the first four replicates
WORLDS = ("any", "any", "any", "any", "ties", "ties", "unmeasured", "zeros")
MOST_FLOWS = 4
OF_FLOWS = {
    *("throughput_mean", "throughput_peak", "throughput_full_mean", "time_to_90_s", "rate_largest"),
    *("U_n", "t1_s", "t2_s", "cwnd_mean", "k_mean", "window_enough_share"),
}
# shares of the values that are missing: in these runs the event did not happen
NEVER = {"T_U": 0.4, "fair_at_s": 0.4, "converged_share": 0.2}
# ties: ratios of 0.8, 1 and 1.25, which are bounds of fairness; decibels that two decimals round to 0
TIES, TIES_DB = (0.32, 0.4, 0.5), (-1.0, -0.004, 0.0, 0.004, 1.0)


def _values(n: int, kind: str, metric: str, random: np.random.Generator) -> np.ndarray:
    decibels = metric.startswith("U_")
    if kind == "ties":
        values = random.choice(TIES_DB if decibels else TIES, n)
    else:
        values = random.uniform(-4.0, 4.0, n) if decibels else random.uniform(0.1, 0.9, n)
    share, value = {"zeros": (0.05, 0.0), "unmeasured": (0.05, np.nan)}.get(kind, (NEVER.get(metric, 0.0), np.nan))
    return np.where(random.random(n) < share, value, values)


@cache
def metrics(paper: str, experiment: str) -> pd.DataFrame:
    """Metrics of all worlds: every point of the grid, every metric that a claim of the paper can name, up to four flows."""
    config = CONFIGS[paper].experiments[experiment]
    data, code = LAYOUT.data / "claims", LAYOUT.root / "src/tcpfair/verdicts/claims"
    text = "".join(p.read_text() for p in (data / f"{paper}.yaml", code / f"{paper}.py", code / "pair_tests.py"))
    grid = {name: value.value for name, value in config.grid.items()}
    points = pd.DataFrame(list(product(*grid.values())), columns=list(grid))
    runs, values = [], []
    for metric in METRICS:
        flows = range(1, min(len(config.flows), MOST_FLOWS) + 1) if metric in OF_FLOWS else [0]
        if re.search(rf'[" ]{re.escape(metric)}[",}}]', text):
            for (replicate, kind), flow in product(enumerate(WORLDS), flows):
                random = np.random.default_rng([replicate, flow, *experiment.encode(), *metric.encode()])
                values.append(_values(len(points), kind, metric, random))
                runs.append((flow, metric, replicate))
    table = pd.DataFrame(runs, columns=["flow", "metric", "replicate"]).merge(points, how="cross")
    return table.assign(value=np.concatenate(values), run_id=table["replicate"])


@cache
def trace(paper: str, experiment: str) -> Trace:
    """Two flows a cell would change nothing for claims: one flow, whose window grows from below half the BDP beyond it."""
    config, random = CONFIGS[paper], np.random.default_rng([7, *experiment.encode()])
    grid = {name: value.value for name, value in config.experiments[experiment].grid.items()}
    capacity_bps, wire_bytes = config.settings["capacity_bps"].value, 1500
    runs = pd.DataFrame(list(product(range(len(WORLDS)), *grid.values())), columns=["replicate", *grid])
    runs = runs.assign(run_id=range(len(runs)), capacity_bps=capacity_bps, wire_bytes=wire_bytes, sample_s=0.25)
    t_s = np.arange(41) * 0.25
    samples, events = [], []
    for run in runs.itertuples():
        bdp_pkts = capacity_bps / 8 / wire_bytes * run.rtt_ms / 1000
        speed, bend = random.uniform(0.1, 0.2), random.uniform(0.0, 0.02)
        cwnd = bdp_pkts * (0.3 + speed * t_s - bend * t_s**2 / 4) * random.uniform(1, 1.01, len(t_s))
        cwnd = cwnd / 100 if run.replicate == 6 and run.protocol.startswith("Alpha") else cwnd  # never comes so far
        delivered = random.integers(1_000_000, 9_000_000, len(t_s))
        samples.append(
            pd.DataFrame(
                {"run_id": run.run_id, "flow_id": 1, "t_s": t_s, "cwnd_pkts": cwnd, "delivered_bytes": delivered}
            )
        )
        events += [(run.run_id, 0.5, "recovery_end"), (run.run_id, random.uniform(7, 11), "loss")]
    return Trace(
        runs, pd.DataFrame(), pd.concat(samples), events=pd.DataFrame(events, columns=["run_id", "t_s", "kind"])
    )


@cache
def measured(paper: str) -> Measured:
    """All experiments of a paper, each table made once."""
    return Measured(lambda name: metrics(paper, name))


def evidence(
    claim: Claim,
    rows: Rows = "runs",
    of: Measured | None = None,
    kind: type[Evidence] = Evidence,
) -> Evidence:
    """What a claim may look at in the worlds, or in other metrics."""
    return kind(claim, CONFIGS[claim.paper], of or measured(claim.paper), lambda name: trace(claim.paper, name), rows)
