"""Claims of ogura: Model I and II, RTT fairness, efficiency and friendliness of the two-mode proposal.

``ratio`` is the throughput of flow 2 over that of flow 1, that is of the varied or larger RTT over 40 ms. It is the ratio of the
mean throughputs, because the mean of ratios favours the flow in the numerator. Ratios are compared as factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.metrics.epochs import LOSS_KINDS, growth_slope_pkts_per_s
from tcpfair.metrics.series import first_time_s
from tcpfair.models import aimd, rtt_fairness
from tcpfair.units import MS_PER_S
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import REPLICATE, Evidence, combined, factor, share_of, trend
from tcpfair.verdicts.paper_models import AimdLink, plain_protocol

CELL = ["protocol", "rtt_ms"]

# --- Sections 2.1, 3, 5.2 and 5.3: window ratio, Model I and Model II ---------------------------------------------


def ogura_c01(evidence: Evidence) -> Quantities:
    """Eq. 1 follows from windows of p^-d and common losses, and favours the smaller RTT."""
    short_ms, long_ms = evidence["rtt_ms"]
    in_eq1 = {label: rtt_fairness.window_ratio(short_ms, long_ms, d) for label, d in rtt_fairness.D.items()}
    solved = {
        label: np.exp(_log_window(d, short_ms) - _log_window(d, long_ms))
        for label, d in rtt_fairness.D.items()
        if d < 1  # at 1, no pair of windows satisfies both conditions
    }
    return {
        "follows": pd.DataFrame([{label: ratio / in_eq1[label] for label, ratio in solved.items()}]),
        "expels": pd.DataFrame(
            [{label: rtt_fairness.window_ratio(long_ms, short_ms, d) for label, d in rtt_fairness.D.items()}]
        ),
    }


def _log_window(d: float, rtt: float) -> float:
    """Logarithm of the mean window with one loss per unit of time: log w + d log p = 0 and log w + log p = log RTT."""
    log_window, _ = np.linalg.solve([[1, d], [1, 1]], [0, np.log(rtt)])
    return log_window


def ogura_c05(evidence: Evidence) -> Quantities:
    """At the reference RTT all windows coincide before the queue builds."""
    return {"same": _apart(evidence, _growths(evidence, 1))}


def ogura_c06(evidence: Evidence) -> Quantities:
    """Simulation and eq. 8 and 11 agree in t1 and in the window over time."""
    link = AimdLink.of(evidence.config)

    def off_eq11(growth: _Growth) -> float:
        eq11_pkts = link.cwnd_pkts(growth.protocol, growth.rtt_s, 1, growth.t_s)
        return factor(growth.cwnd_pkts / eq11_pkts).max()

    return {
        "time": _over_model(evidence, 1),
        "window": _of_growths(evidence, _growths(evidence, 1), off_eq11),
    }


def ogura_c07(evidence: Evidence) -> Quantities:
    """Alpha's window grows by the same number of packets per second at either RTT."""
    slopes = _of_growths(
        evidence,
        _growths(evidence, 1),
        lambda growth: growth_slope_pkts_per_s(growth.t_s, growth.cwnd_pkts, 0.0, growth.t_s[-1]),
    )
    least_ms, largest_ms = evidence["rtt_ms"]
    return {"same": slopes["Alpha", largest_ms] / slopes["Alpha", least_ms]}


def ogura_c11(evidence: Evidence) -> Quantities:
    """At the reference RTT all windows coincide while the buffer fills."""
    return {"same": _apart(evidence, _growths(evidence, 2))}


def ogura_c12(evidence: Evidence) -> Quantities:
    """Simulated windows grow ever more slowly while the buffer fills."""
    pieces = range(evidence["pieces"])

    def growth_in(piece: int) -> Callable[[_Growth], float]:
        def gained_pkts(growth: _Growth) -> float:
            times_s = np.linspace(0, growth.t_s[-1], len(pieces) + 1)
            return np.diff(np.interp(times_s, growth.t_s, growth.cwnd_pkts))[piece]

        return gained_pkts

    growths = _growths(evidence, 2)
    gained = {piece: _of_growths(evidence, growths, growth_in(piece)) for piece in pieces}
    cells = gained[0].columns
    return {
        "slower": gained[pieces[-1]] / gained[0],
        "ever": pd.DataFrame({cell: trend(pd.DataFrame({i: gained[i][cell] for i in pieces})) for cell in cells}),
    }


def ogura_c13(evidence: Evidence) -> Quantities:
    """Simulated t2 agrees with eq. 14."""
    return {"time": _over_model(evidence, 2)}


# --- Section 5.4: RTT fairness -----------------------------------------------------------------------------------


def ogura_c14(evidence: Evidence) -> Quantities:
    """Two Proposal flows share fairly at almost all loss rates."""
    ratio = _ratio(evidence, "loss_sweep", "loss_rate", protocol="Proposal")
    low, high = evidence.config.analysis_value("fair_ratio")
    return {"almost_all": share_of(ratio.notna(), (ratio >= low) & (ratio <= high))}


def ogura_c26(evidence: Evidence) -> Quantities:
    """Proposal is between Libra and Alpha."""
    proposal, libra, alpha = (
        _ratio(evidence, "buffer_sweep", "buffer_pkts", protocol=name) for name in ("Proposal", "Libra", "Alpha")
    )
    between = (proposal >= np.minimum(libra, alpha)) & (proposal <= np.maximum(libra, alpha))
    return {
        "above_alpha": combined(proposal / alpha, "geometric mean"),
        "below_libra": combined(proposal / libra, "geometric mean"),
        "keeps": share_of((proposal * libra * alpha).notna(), between),
    }


# --- Shared by several claims ------------------------------------------------------------------------------------


def _ratio(evidence: Evidence, experiment: str, by: str | list[str], **where: Any) -> pd.DataFrame:
    """Throughput of flow 2 over that of flow 1."""
    first, second = (evidence.table(experiment, "throughput_mean", by, flow=flow, **where) for flow in (1, 2))
    return second / first


def _over_model(evidence: Evidence, model: int) -> pd.DataFrame:
    """Times t1 or t2 by protocol and RTT, divided by those of Model I or II."""
    link = AimdLink.of(evidence.config)
    times_s = evidence.table(f"model{model}", f"t{model}_s", CELL, flow=1).rename(
        columns=plain_protocol, level="protocol"
    )
    return times_s / [link.time_s(protocol, rtt_ms / MS_PER_S, model) for protocol, rtt_ms in times_s.columns]


@dataclass(frozen=True)
class _Growth:
    """The window of one flow while it grows: ``t_s`` (samples,) since the start and ``cwnd_pkts``, and its setting."""

    replicate: int
    protocol: str
    rtt_ms: float
    rtt_s: float
    t_s: np.ndarray
    cwnd_pkts: np.ndarray

    @property
    def is_one(self) -> bool:
        """Whether it has any growth: the window may never have reached the start."""
        return len(self.t_s) > 1


def _growths(evidence: Evidence, model: int) -> list[_Growth]:
    """The runs' windows up to the first loss.

    For Model I from the window that leaves the residual capacity free up to the BDP, for Model II from the BDP on.
    """
    residual_share = evidence.config.analysis_value("residual_share")
    start_bdp, stop_bdp = {1: (1 - residual_share, 1), 2: (1, np.inf)}[model]
    trace = evidence.trace(f"model{model}")
    losses = trace.events[trace.events["kind"].isin(LOSS_KINDS)]
    first_loss_s = losses.groupby("run_id")["t_s"].min()
    samples = trace.samples.groupby("run_id")
    growths = []
    for run in trace.runs.itertuples():
        t_s, cwnd_pkts = (samples.get_group(run.run_id)[column].to_numpy(float) for column in ("t_s", "cwnd_pkts"))
        rtt_s, capacity_pps = run.rtt_ms / MS_PER_S, aimd.link_capacity_pps(run.capacity_bps, run.wire_bytes)
        bdp = aimd.bdp_pkts(rtt_s, capacity_pps)
        start_s = first_time_s(cwnd_pkts >= start_bdp * bdp, t_s)
        stop_s = np.fmin(first_time_s(cwnd_pkts > stop_bdp * bdp, t_s), first_loss_s.get(run.run_id, t_s[-1]))
        inside = (t_s >= start_s) & (t_s < stop_s)
        of_run = run.replicate, plain_protocol(run.protocol), run.rtt_ms, rtt_s
        growths.append(_Growth(*of_run, t_s[inside] - start_s, cwnd_pkts[inside]))
    return growths


def _of_growths(evidence: Evidence, growths: Iterable[_Growth], quantity: Callable[[_Growth], float]) -> pd.DataFrame:
    """A quantity of each window by protocol and RTT in ms, in the rows of tables; NaN without growth."""
    found = {(g.replicate, g.protocol, g.rtt_ms): quantity(g) if g.is_one else np.nan for g in growths}
    index = pd.MultiIndex.from_tuples(found, names=[REPLICATE, *CELL])
    return evidence.of_runs(pd.Series(found.values(), index, dtype=float).unstack(CELL))


def _apart(evidence: Evidence, growths: list[_Growth]) -> pd.DataFrame:
    """Largest over smallest window of all protocols at the claim's RTT, at the time of the largest difference during growth."""
    found = {}
    for replicate in {growth.replicate for growth in growths}:
        chosen = [g for g in growths if (g.replicate, g.rtt_ms) == (replicate, evidence["rtt_ms"])]
        t_s = min((growth.t_s for growth in chosen), key=len)
        if len(t_s):
            windows = np.array([np.interp(t_s, growth.t_s, growth.cwnd_pkts) for growth in chosen])
            found[replicate] = (windows.max(axis=0) / windows.min(axis=0)).max()
        else:
            found[replicate] = np.nan
    return evidence.of_runs(pd.Series(found).sort_index())
