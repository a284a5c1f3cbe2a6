"""Claims of bhatti2009: S. Bhatti, M. Bateman, Transport Protocol Throughput Fairness, 2009."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpfair.metrics.fairness import jfi, rate_ratio_from_jfi
from tcpfair.units import mbps
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import REPLICATE, Evidence, trend
from tcpfair.verdicts.claims.pair_tests import CCID2, PROTOCOL_AND_RTT, jfi_range

NEWRENO, BIC, CUBIC = "NewReno", "BIC", "CUBIC"
BIC_AND_CUBIC = {"bic": BIC, "cubic": CUBIC}  # by clause


# --- The index itself (sec. II-C) --------------------------------------------------------------------------------


bhatti2009_c01 = jfi_range


def bhatti2009_c02(evidence: Evidence) -> Quantities:
    """Equal steps of the index are unequal steps of the ratio."""
    steps = np.array(evidence["jfi_steps"])
    slopes = np.abs(np.ravel(np.diff(rate_ratio_from_jfi(steps)) / np.diff(steps)))
    return {"differ": float(slopes.max() / slopes.min())}


def bhatti2009_c03(evidence: Evidence) -> Quantities:
    """The least index of N flows is 1/N."""
    n_flows = np.arange(evidence["n_flows"][0], evidence["n_flows"][1] + 1)
    # for a fixed sum, the index falls as the sum of squares grows, which is largest if one flow has everything
    least = [float(jfi(np.eye(n)[0])) for n in n_flows]
    return {"least": pd.DataFrame([least * n_flows], columns=n_flows)}


# --- Flows alone and in self-pairs (sec. III, IV) ----------------------------------------------------------------


def bhatti2009_c05(evidence: Evidence) -> Quantities:
    """NewReno takes longer to reach high throughput as RTT grows."""
    time_s = evidence.table("single", "time_to_90_s", "rtt_ms", flow=1, protocol=NEWRENO)
    rtt_ms, run_s = evidence["rtt_ms"], evidence.config.settings["duration_s"].value
    return {"trend": trend(time_s), "seen": (time_s[rtt_ms["largest"]] - time_s[rtt_ms["least"]]) / run_s}


def bhatti2009_c07(evidence: Evidence) -> Quantities:
    """The distribution of CCID2's throughput alone is closer to NewReno's than to BIC's and CUBIC's."""
    trace = evidence.trace("single")
    samples = trace.samples.merge(trace.runs[["run_id", REPLICATE, "sample_s", *PROTOCOL_AND_RTT]], on="run_id")
    samples["throughput_mbps"] = mbps(samples["delivered_bytes"], samples["sample_s"])
    samples["place"] = samples.groupby("run_id")["throughput_mbps"].rank(method="first")
    by_size = samples.pivot(index=[REPLICATE, "rtt_ms", "place"], columns="protocol", values="throughput_mbps")
    differences = by_size[[NEWRENO, BIC, CUBIC]].sub(by_size[CCID2], axis=0).abs()
    distance = differences.groupby(level=[REPLICATE, "rtt_ms"]).mean().groupby(level=REPLICATE).mean()
    distance = evidence.of_runs(distance)
    return {clause: distance[name] - distance[NEWRENO] for clause, name in BIC_AND_CUBIC.items()}
