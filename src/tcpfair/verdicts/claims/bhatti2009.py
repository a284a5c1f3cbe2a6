"""Claims of bhatti2009: S. Bhatti, M. Bateman, Transport Protocol Throughput Fairness, 2009."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpfair.metrics.fairness import jfi, rate_ratio_from_jfi
from tcpfair.units import mbps
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import REPLICATE, Evidence, Table, over, range_over, trend
from tcpfair.verdicts.claims.pair_tests import (
    CCID2,
    PROTOCOL_AND_RTT,
    falls_with_rtt,
    flow_nru_db,
    jfi_range,
    mean_jfi,
    nru_gap_db,
    of_pairs,
    share_of_self_pair,
    sum_mbps,
    tcp_lead_mbps,
    throughput_mbps,
    turns_positive,
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


def bhatti2009_c04(evidence: Evidence) -> Quantities:
    """Every protocol alone comes near the rate of the link at the lower RTTs."""
    peak_mbps = of_pairs(evidence, "single", "throughput_peak", flow=1)
    return {"peak": peak_mbps.loc[:, (slice(None), slice(evidence["largest_rtt_ms"]))]}


def bhatti2009_c05(evidence: Evidence) -> Quantities:
    """NewReno takes longer to reach high throughput as RTT grows."""
    time_s = evidence.table("single", "time_to_90_s", "rtt_ms", flow=1, protocol=NEWRENO)
    rtt_ms, run_s = evidence["rtt_ms"], evidence.config.settings["duration_s"].value
    return {"trend": trend(time_s), "seen": (time_s[rtt_ms["largest"]] - time_s[rtt_ms["least"]]) / run_s}


def bhatti2009_c06(evidence: Evidence) -> Quantities:
    """BIC, CUBIC and Compound alone deliver more in the whole run than NewReno at the larger RTTs."""
    mean_mbps = of_pairs(evidence, "single", "throughput_full_mean", flow=1)
    least = evidence["least_rtt_ms"]
    return {clause: (mean_mbps[name] - mean_mbps[NEWRENO]).loc[:, least:] for clause, name in FAST_VARIANTS.items()}


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


def bhatti2009_c08(evidence: Evidence) -> Quantities:
    """Two flows of one protocol share well."""
    return {"fair": mean_jfi(evidence, "self")}


def bhatti2009_c09(evidence: Evidence) -> Quantities:
    """Beyond 100 ms each of two Compound flows gets most, and they use the link best."""
    carried_mbps = {
        "first": throughput_mbps(evidence, "self", flow=1),
        "second": throughput_mbps(evidence, "self", flow=2),
        "both": sum_mbps(evidence),
    }
    return {
        clause: _lead_of_compound(of.xs(evidence["rtt_ms"], axis=1, level=1)) for clause, of in carried_mbps.items()
    }


def _lead_of_compound(of_protocols: Table) -> pd.Series:
    return of_protocols[COMPOUND] - of_protocols.drop(columns=COMPOUND).max(axis=1, skipna=False)


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


def bhatti2009_c11(evidence: Evidence) -> Quantities:
    """CCID2 and NewReno are fair to each other at every RTT."""
    return {"fair": mean_jfi(evidence, CCID2_FIRST)[NEWRENO]}


def bhatti2009_c12(evidence: Evidence) -> Quantities:
    """BIC, CUBIC and Compound are less fair to CCID2 than NewReno is above 25 ms."""
    j, least = mean_jfi(evidence, CCID2_FIRST), evidence["least_rtt_ms"]
    return {clause: (j[NEWRENO] - j[name]).loc[:, least:] for clause, name in FAST_VARIANTS.items()}


def bhatti2009_c13(evidence: Evidence) -> Quantities:
    """JFI is low for BIC, CUBIC and Compound at every RTT above 25 ms."""
    j, least = mean_jfi(evidence, CCID2_FIRST), evidence["least_rtt_ms"]
    return {clause: j[name].loc[:, least:] for clause, name in FAST_VARIANTS.items()}


def bhatti2009_c14(evidence: Evidence) -> Quantities:
    """BIC, CUBIC and Compound take more than CCID2 above 25 ms."""
    lead_mbps, least = tcp_lead_mbps(evidence, CCID2_FIRST), evidence["least_rtt_ms"]
    return {clause: lead_mbps[name].loc[:, least:] for clause, name in FAST_VARIANTS.items()}


def bhatti2009_c15(evidence: Evidence) -> Quantities:
    """Every TCP variant takes more than CCID2 at every RTT."""
    lead_mbps = tcp_lead_mbps(evidence, CCID2_FIRST)
    return {clause: lead_mbps[name] for clause, name in TCP_VARIANTS.items()}


def bhatti2009_c16(evidence: Evidence) -> Quantities:
    """The indices of BIC, CUBIC and Compound are near their mean at every RTT."""
    j = mean_jfi(evidence, CCID2_FIRST)
    of_three = over(j[list(FAST_VARIANTS.values())], "rtt_ms", "mean")
    return {clause: j[name] - of_three for clause, name in FAST_VARIANTS.items()}


def bhatti2009_c17(evidence: Evidence) -> Quantities:
    """The index against BIC, CUBIC and Compound improves from 100 to 200 ms."""
    return _change_over_rtt(evidence, mean_jfi(evidence, CCID2_FIRST))


def bhatti2009_c18(evidence: Evidence) -> Quantities:
    """CCID2 gets more at 200 than at 100 ms against BIC, CUBIC and Compound."""
    return _change_over_rtt(evidence, throughput_mbps(evidence, CCID2_FIRST, flow=1))


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


def bhatti2009_c20(evidence: Evidence) -> Quantities:
    """CCID2 gets more than NewReno at the lower RTTs and less above 100 ms."""
    lead_mbps = -tcp_lead_mbps(evidence, CCID2_FIRST)[NEWRENO]
    return {"ahead": lead_mbps.loc[:, : evidence["ahead_up_to_rtt_ms"]], "behind": lead_mbps[evidence["behind_rtt_ms"]]}


def bhatti2009_c21(evidence: Evidence) -> Quantities:
    """BIC and CUBIC take more than CCID2 at every RTT."""
    lead_mbps = tcp_lead_mbps(evidence, CCID2_FIRST)
    return {clause: lead_mbps[name] for clause, name in BIC_AND_CUBIC.items()}


def bhatti2009_c22(evidence: Evidence) -> Quantities:
    """At 25 ms CCID2 gets about as much against BIC as against itself."""
    return {"similar": share_of_self_pair(evidence, CCID2_FIRST, BIC)}


def bhatti2009_c23(evidence: Evidence) -> Quantities:
    """At 100 ms CCID2 gets about a third against BIC of what it gets against itself."""
    return {"third": share_of_self_pair(evidence, CCID2_FIRST, BIC)}


def bhatti2009_c24(evidence: Evidence) -> Quantities:
    """By NRU the flows are furthest apart at 100 ms for BIC, CUBIC and Compound."""
    gap_db, at = nru_gap_db(evidence, CCID2_FIRST), evidence["rtt_ms"]
    return {
        clause: gap_db[name, at] - gap_db[name].drop(columns=at).max(axis=1, skipna=False)
        for clause, name in FAST_VARIANTS.items()
    }


def bhatti2009_c25(evidence: Evidence) -> Quantities:
    """By NRU the flows are closer together at 200 than at 100 ms for BIC, CUBIC and Compound."""
    return _change_over_rtt(evidence, nru_gap_db(evidence, CCID2_FIRST))


def bhatti2009_c26(evidence: Evidence) -> Quantities:
    """NewReno takes more than CCID2 at every RTT."""
    return {"more": tcp_lead_mbps(evidence, CCID2_FIRST)[NEWRENO]}


# --- Fourteen flows (sec. V-D) -----------------------------------------------------------------------------------


def bhatti2009_c27(evidence: Evidence) -> Quantities:
    """The index of 14 flows falls as RTT rises."""
    return falls_with_rtt(evidence)


def bhatti2009_c28(evidence: Evidence) -> Quantities:
    """The mean NRU of 14 flows is better beyond 100 ms than at 100 ms."""
    u_db = evidence.table("ns2_14", "U_N", "rtt_ms")
    beyond_db = u_db.loc[:, evidence["beyond_rtt_ms"] :].mean(axis=1, skipna=False)
    return {"better": beyond_db - u_db[evidence["from_rtt_ms"]]}


def bhatti2009_c29(evidence: Evidence) -> Quantities:
    """Some of 14 flows do better than expected from 125 ms on, and none before."""
    return turns_positive(evidence)


# --- TCP variant first (appendix A) ------------------------------------------------------------------------------


def bhatti2009_c30(evidence: Evidence) -> Quantities:
    """With BIC or CUBIC first the index is another than with CCID2 first."""
    distance = (mean_jfi(evidence, TCP_FIRST) - mean_jfi(evidence, CCID2_FIRST)).abs()
    return {clause: distance[name].mean(axis=1, skipna=False) for clause, name in BIC_AND_CUBIC.items()}


def bhatti2009_c31(evidence: Evidence) -> Quantities:
    """With BIC or CUBIC first the index is least at 200 ms, and higher at 100 ms than with CCID2 first."""
    tcp_first, at = mean_jfi(evidence, TCP_FIRST), evidence["least_at_rtt_ms"]
    least = {
        clause: tcp_first[name, at] - tcp_first[name].drop(columns=at).min(axis=1, skipna=False)
        for clause, name in BIC_AND_CUBIC.items()
    }
    change = (tcp_first - mean_jfi(evidence, CCID2_FIRST)).xs(evidence["dip_at_rtt_ms"], axis=1, level="rtt_ms")
    return {**least, "dip": change[list(BIC_AND_CUBIC.values())]}


def bhatti2009_c32(evidence: Evidence) -> Quantities:
    """BIC, CUBIC and Compound differ more from each other when they are first than when CCID2 is."""
    tcp_first, ccid2_first = (
        _spread_of_fast(mean_jfi(evidence, order)).mean(axis=1, skipna=False) for order in (TCP_FIRST, CCID2_FIRST)
    )
    return {"more": tcp_first - ccid2_first}


def _spread_of_fast(j: Table) -> Table:
    """Largest less least index of BIC, CUBIC and Compound, a column per RTT."""
    chosen = j[list(FAST_VARIANTS.values())]
    return over(chosen, "rtt_ms", "max") - over(chosen, "rtt_ms", "min")


def bhatti2009_c33(evidence: Evidence) -> Quantities:
    """The least index over RTT is lower with CCID2 first than with BIC, CUBIC or Compound first."""
    excess = over(mean_jfi(evidence, TCP_FIRST), "protocol", "min") - over(
        mean_jfi(evidence, CCID2_FIRST), "protocol", "min"
    )
    return {clause: excess[name] for clause, name in FAST_VARIANTS.items()}


def bhatti2009_c34(evidence: Evidence) -> Quantities:
    """The index is lower at 200 than at 25 ms for every TCP variant, whichever flow is first."""
    rtt_ms = evidence["rtt_ms"]
    orders = {"ccid2_first": mean_jfi(evidence, CCID2_FIRST), "tcp_first": mean_jfi(evidence, TCP_FIRST)}
    return {
        clause: j.xs(rtt_ms["least"], axis=1, level="rtt_ms") - j.xs(rtt_ms["largest"], axis=1, level="rtt_ms")
        for clause, j in orders.items()
    }


# --- What the claims share ---------------------------------------------------------------------------------------


def _change_over_rtt(evidence: Evidence, table: Table) -> Quantities:
    """Value at the second of two RTTs less that at the first, of BIC, CUBIC and Compound."""
    rtt_ms = evidence["rtt_ms"]
    return {clause: table[name, rtt_ms["to"]] - table[name, rtt_ms["from"]] for clause, name in FAST_VARIANTS.items()}
