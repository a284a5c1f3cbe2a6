"""Claims of bhatti2009: S. Bhatti, M. Bateman, Transport Protocol Throughput Fairness, 2009."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpfair.metrics.fairness import jfi, rate_ratio_from_jfi
from tcpfair.units import mbps
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import REPLICATE, Evidence, range_over, trend
from tcpfair.verdicts.claims.pair_tests import (
    CCID2,
    PROTOCOL_AND_RTT,
    flow_nru_db,
    jfi_range,
    of_pairs,
)

NEWRENO, BIC, CUBIC, COMPOUND = "NewReno", "BIC", "CUBIC", "Compound"
# by the clause that is about them
FAST_VARIANTS = {"bic": BIC, "cubic": CUBIC, "compound": COMPOUND}
BIC_AND_CUBIC = {"bic": BIC, "cubic": CUBIC}
TCP_VARIANTS = {"newreno": NEWRENO, **FAST_VARIANTS}
CCID2_FIRST, TCP_FIRST = "pair_ccid2_first", "pair_tcp_first"


# --- The index itself (sec. II-C) --------------------------------------------------------------------------------


def bhatti2009_c01(evidence: Evidence) -> Quantities:
    """The index of two values stays in [0.51, 1] while their ratio spans four orders of magnitude."""
    return jfi_range(evidence)


def bhatti2009_c02(evidence: Evidence) -> Quantities:
    """Equal steps of the index are unequal steps of the ratio."""
    steps = np.array(evidence["jfi_steps"])
    slopes = np.abs(np.ravel(np.diff(rate_ratio_from_jfi(steps)) / np.diff(steps)))
    return {"differ": float(slopes.max() / slopes.min())}


def bhatti2009_c03(evidence: Evidence) -> Quantities:
    """The least index of N flows is 1/N."""
    n_flows = np.arange(evidence["n_flows"][0], evidence["n_flows"][1] + 1)
    # with a fixed sum the index falls as the sum of squares grows, which is largest when one flow has everything
    least = [float(jfi(np.eye(n)[0])) for n in n_flows]
    return {"least": pd.DataFrame([least * n_flows], columns=n_flows)}


# --- Flows alone and against their own kind (sec. III, IV) -------------------------------------------------------


def bhatti2009_c05(evidence: Evidence) -> Quantities:
    """NewReno takes longer to reach high throughput as RTT grows."""
    time_s = evidence.table("single", "time_to_90_s", "rtt_ms", flow=1, protocol=NEWRENO)
    rtt_ms, run_s = evidence["rtt_ms"], evidence.config.settings["duration_s"].value
    return {"trend": trend(time_s), "seen": (time_s[rtt_ms["largest"]] - time_s[rtt_ms["least"]]) / run_s}


def bhatti2009_c07(evidence: Evidence) -> Quantities:
    """What CCID2 alone carries per second is distributed more like NewReno's than like BIC's and CUBIC's."""
    trace = evidence.trace("single")
    samples = trace.samples.merge(trace.runs[["run_id", REPLICATE, "sample_s", *PROTOCOL_AND_RTT]], on="run_id")
    samples["throughput_mbps"] = mbps(samples["delivered_bytes"], samples["sample_s"])
    samples["place"] = samples.groupby("run_id")["throughput_mbps"].rank(method="first")
    by_size = samples.pivot(index=[REPLICATE, "rtt_ms", "place"], columns="protocol", values="throughput_mbps")
    differences = by_size[[NEWRENO, BIC, CUBIC]].sub(by_size[CCID2], axis=0).abs()
    distance = differences.groupby(level=[REPLICATE, "rtt_ms"]).mean().groupby(level=REPLICATE).mean()
    distance = evidence.of_runs(distance)
    return {clause: distance[name] - distance[NEWRENO] for clause, name in BIC_AND_CUBIC.items()}


def bhatti2009_c10(evidence: Evidence) -> Quantities:
    """CCID2 uses the link less well as RTT rises, and less well than the faster variants at the largest RTT."""
    alone, pair = (of_pairs(evidence, name, "utilisation") for name in ("single", "self"))
    low, high = evidence["rtt_ms"]["least"], evidence["rtt_ms"]["largest"]
    fast = list(FAST_VARIANTS.values())
    found = {"trend": pd.DataFrame({"alone": trend(alone[CCID2]), "against itself": trend(pair[CCID2])})}
    for name, used in (("alone", alone), ("pair", pair)):
        at_largest = used.xs(high, axis=1, level="rtt_ms")
        found[f"{name}_falls"] = used[CCID2, low] - used[CCID2, high]
        found[f"{name}_behind"] = at_largest[fast].sub(at_largest[CCID2], axis=0)
    return found


# --- CCID2 first: the index and the throughputs (sec. V-A, V-B, VI) ----------------------------------------------


def bhatti2009_c19(evidence: Evidence) -> Quantities:
    """The NRU of CCID2 and NewReno, and their mean, hardly change with RTT, less than against the other variants."""
    u_n_db = flow_nru_db(evidence, CCID2_FIRST, PROTOCOL_AND_RTT)
    mean_db = evidence.table(CCID2_FIRST, "U_N", "rtt_ms", protocol=NEWRENO)
    of_ccid2 = pd.DataFrame({name: range_over(u_n_db[1][name]) for name in TCP_VARIANTS.values()})
    return {
        "mean": range_over(mean_db),
        "flows": pd.DataFrame({CCID2: of_ccid2[NEWRENO], NEWRENO: range_over(u_n_db[2][NEWRENO])}),
        "flatter": of_ccid2[NEWRENO] - of_ccid2.drop(columns=NEWRENO).min(axis=1, skipna=False),
    }
