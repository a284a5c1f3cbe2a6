"""Claims of bhatti2009: S. Bhatti, M. Bateman, Transport Protocol Throughput Fairness, 2009."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpfair.claims.evidence import REPLICATE, Evidence, Finding, within
from tcpfair.claims.pair_tests import (
    PROTOCOL_AND_RTT,
    cells,
    falls_with_rtt,
    jfi_range,
    largest_nru_turns_positive,
    mean_jfi,
    nru_gap_db,
    share_of_self_pair,
    spread_over_protocols,
    tcp_lead_mbps,
    throughput_mbps,
)
from tcpfair.metrics.fairness import jfi, rate_ratio_from_jfi
from tcpfair.metrics.series import mean_abs_difference
from tcpfair.units import mbps

FAST_VARIANTS = ["BIC", "CUBIC", "Compound"]
TCP_VARIANTS = ["NewReno", *FAST_VARIANTS]
PROTOCOLS = [*TCP_VARIANTS, "CCID2"]


# --- The index itself (sec. II-C) --------------------------------------------------------------------------------


def bhatti2009_c01(evidence: Evidence) -> Finding:
    """The index of two values stays in [0.51, 1] while their ratio spans four orders of magnitude."""
    return jfi_range(evidence)


def bhatti2009_c02(evidence: Evidence) -> Finding:
    """Equal steps of the index are unequal steps of the ratio."""
    high_step, low_step = (np.diff(rate_ratio_from_jfi(step)).item() for step in evidence["jfi_steps"])
    holds = not np.isclose(high_step, low_step)
    return Finding(holds, {"change of the ratio at high J": high_step, "at low J": low_step})


def bhatti2009_c03(evidence: Evidence) -> Finding:
    """The least index of N flows is 1/N."""
    n_flows = np.arange(evidence["n_flows"][0], evidence["n_flows"][1] + 1)
    # with a fixed sum the index falls as the sum of squares grows, which is largest when one flow has everything
    least = pd.Series([float(jfi(np.eye(n)[0])) for n in n_flows], index=n_flows)
    return Finding(np.allclose(least, 1 / n_flows, rtol=1e-12), {"least JFI": least})


# --- Flows alone and against their own kind (sec. III, IV) -------------------------------------------------------


def bhatti2009_c04(evidence: Evidence) -> Finding:
    """Every protocol alone comes near the rate of the link at the lower RTTs."""
    peak_mbps = evidence.table("single", "throughput_peak", PROTOCOL_AND_RTT, flow=1)
    peak_mbps = peak_mbps[cells(PROTOCOLS, evidence["rtt_ms"])]
    holds = (peak_mbps >= evidence["peak_mbps"] - evidence["tolerance_mbps"]).all(axis=1)
    return Finding(holds, {"peak Mb/s": peak_mbps})


def bhatti2009_c05(evidence: Evidence) -> Finding:
    """NewReno takes longer to reach high throughput as RTT grows; times are in whole samples, so the first step may tie."""
    time_s = evidence.table("single", "time_to_90_s", "rtt_ms", flow=1, protocol="NewReno")[evidence["rtt_ms"]]
    steps_s = time_s.diff(axis=1).iloc[:, 1:]
    strict = steps_s.columns > evidence["strict_from_rtt_ms"]
    holds = (steps_s >= 0).all(axis=1) & (steps_s.loc[:, strict] > 0).all(axis=1)
    return Finding(holds, {"time to 90% of the peak, s": time_s})


def bhatti2009_c06(evidence: Evidence) -> Finding:
    """BIC, CUBIC and Compound alone deliver more in the whole run than NewReno at the larger RTTs."""
    mean_mbps = evidence.table("single", "throughput_full_mean", PROTOCOL_AND_RTT, flow=1)
    leads = {name: (mean_mbps[name] - mean_mbps["NewReno"])[evidence["rtt_ms"]] for name in FAST_VARIANTS}
    lead_mbps = pd.concat(leads, axis=1)
    return Finding((lead_mbps >= evidence["tie_mbps"]).all(axis=1), {"lead over NewReno, Mb/s": lead_mbps})


def bhatti2009_c07(evidence: Evidence) -> Finding:
    """The throughput curve of CCID2 alone lies nearer to NewReno's than to those of BIC and CUBIC."""
    trace = evidence.trace("single")
    curves = {run_id: mbps(r[0], 1) for run_id, r in trace.per_second().items()}
    rows = trace.runs.set_index([REPLICATE, *PROTOCOL_AND_RTT])["run_id"]
    curve = rows.map(curves).unstack(PROTOCOL_AND_RTT)
    distances = {
        name: (curve["CCID2"].combine(curve[name], _distances))[evidence["rtt_ms"]]
        for name in ("NewReno", "BIC", "CUBIC")
    }
    nearer = [(distances["NewReno"] < distances[name]).all(axis=1) for name in ("BIC", "CUBIC")]
    return Finding(nearer[0] & nearer[1], {"distance of CCID2's curve, Mb/s": pd.concat(distances, axis=1)})
