"""Claims of bhatti2009: S. Bhatti, M. Bateman, Transport Protocol Throughput Fairness, 2009."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpfair.metrics.fairness import jfi, rate_ratio_from_jfi
from tcpfair.units import mbps
from tcpfair.verdicts.claims.evidence import REPLICATE, Evidence, Finding, at_least, never_rises, over, range_over
from tcpfair.verdicts.claims.pair_tests import (
    PROTOCOL_AND_RTT,
    cells,
    fair_at_least,
    fall_over_rtt,
    jfi_range,
    largest_nru_turns_positive,
    mean_jfi,
    nru_gap_db,
    share_of_self_pair_within,
    spread_over_protocols,
    tcp_lead_mbps,
    throughput_mbps,
    with_other_weights,
)

FAST_VARIANTS = ["BIC", "CUBIC", "Compound"]
TCP_VARIANTS = ["NewReno", *FAST_VARIANTS]
PROTOCOLS = [*TCP_VARIANTS, "CCID2"]


# --- The index itself (sec. II-C) --------------------------------------------------------------------------------


def bhatti2009_c01(evidence: Evidence) -> Finding:
    """The index of two values stays in [0.51, 1] while their ratio spans four orders of magnitude."""
    return jfi_range(evidence)


def bhatti2009_c02(evidence: Evidence) -> Finding:
    """Equal steps of the index are unequal steps of the ratio."""
    steps = evidence["jfi_steps"]
    high_step, low_step = changes = [np.diff(rate_ratio_from_jfi(step)).item() for step in steps]
    holds = not np.isclose(*np.divide(changes, np.ravel(np.diff(steps))))  # the two steps are not quite as large
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
    return at_least(peak_mbps, evidence["peak_mbps"] - evidence["tolerance_mbps"], "peak Mb/s")


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
    return at_least(pd.concat(leads, axis=1), evidence["tie_mbps"], "lead over NewReno, Mb/s")


def bhatti2009_c07(evidence: Evidence) -> Finding:
    """The throughput curve of CCID2 alone is nearer to NewReno's than to BIC's and CUBIC's (mean absolute difference)."""
    trace = evidence.trace("single")
    samples = trace.samples.merge(trace.runs[["run_id", REPLICATE, "sample_s", *PROTOCOL_AND_RTT]], on="run_id")
    samples["throughput_mbps"] = mbps(samples["delivered_bytes"], samples["sample_s"])
    curves = samples.pivot(index=[REPLICATE, "rtt_ms", "t_s"], columns="protocol", values="throughput_mbps")
    differences = curves[["NewReno", "BIC", "CUBIC"]].sub(curves["CCID2"], axis=0).abs()
    distance = differences.groupby(level=[REPLICATE, "rtt_ms"]).mean().unstack("rtt_ms")
    distance = distance[cells(differences.columns, evidence["rtt_ms"])]
    nearer = [(distance["NewReno"] < distance[name]).all(axis=1) for name in ("BIC", "CUBIC")]
    return Finding(nearer[0] & nearer[1], {"distance of CCID2's curve, Mb/s": distance})


def bhatti2009_c08(evidence: Evidence) -> Finding:
    """Two flows of one protocol share well."""
    return fair_at_least(evidence, mean_jfi(evidence, "self")[cells(PROTOCOLS, evidence["rtt_ms"])])


def bhatti2009_c09(evidence: Evidence) -> Finding:
    """Beyond 100 ms two Compound flows use the link best."""
    sum_mbps = evidence.table("self", "throughput_sum", "protocol", rtt_ms=evidence["rtt_ms"])[PROTOCOLS]
    lead_mbps = sum_mbps["Compound"] - sum_mbps.drop(columns="Compound").max(axis=1)
    return Finding(lead_mbps >= evidence["tolerance_mbps"], {"sum Mb/s": sum_mbps})


def bhatti2009_c10(evidence: Evidence) -> Finding:
    """CCID2 uses the link less well as RTT rises, and less well than the faster variants at the largest RTT."""
    used = {name: evidence.table(name, "utilisation", PROTOCOL_AND_RTT) for name in ("single", "self")}
    low, high = evidence["rtt_ms"]
    fall = pd.concat({name: u["CCID2", low] - u["CCID2", high] for name, u in used.items()}, axis=1)
    leads = {name: u[cells(FAST_VARIANTS, [high])].sub(u["CCID2", high], axis=0) for name, u in used.items()}
    lead = pd.concat(leads, axis=1)
    holds = (fall >= evidence["tolerance"]).all(axis=1) & (lead >= evidence["tolerance"]).all(axis=1)
    return Finding(holds, {"fall of CCID2's utilisation": fall, "lead over CCID2": lead})


# --- CCID2 first: the index and the throughputs (sec. V-A, V-B, VI) ----------------------------------------------


def bhatti2009_c11(evidence: Evidence) -> Finding:
    """CCID2 and NewReno are fair to each other at every RTT."""
    j = mean_jfi(evidence, "pair_ccid2_first")["NewReno"][evidence["rtt_ms"]]
    return Finding((j > evidence["jfi_min"] - evidence["tolerance_jfi"]).all(axis=1), {"JFI": j})


def bhatti2009_c12(evidence: Evidence) -> Finding:
    """BIC, CUBIC and Compound are less fair to CCID2 than NewReno is above 25 ms."""
    j = mean_jfi(evidence, "pair_ccid2_first")
    deficits = {name: (j["NewReno"] - j[name])[evidence["rtt_ms"]] for name in FAST_VARIANTS}
    return at_least(pd.concat(deficits, axis=1), evidence["tie_jfi"], "JFI of NewReno less that of")


def bhatti2009_c13(evidence: Evidence) -> Finding:
    """JFI is low for BIC, CUBIC and Compound at every RTT above 25 ms."""
    j = mean_jfi(evidence, "pair_ccid2_first")[cells(FAST_VARIANTS, evidence["rtt_ms"])]
    return Finding((j < evidence["jfi_max"] + evidence["tolerance_jfi"]).all(axis=1), {"JFI": j})


def bhatti2009_c14(evidence: Evidence) -> Finding:
    """BIC, CUBIC and Compound take more than CCID2 above 25 ms."""
    return _tcp_leads(evidence, FAST_VARIANTS)


def bhatti2009_c15(evidence: Evidence) -> Finding:
    """Every TCP variant takes more than CCID2 at every RTT."""
    return _tcp_leads(evidence, TCP_VARIANTS)


def bhatti2009_c16(evidence: Evidence) -> Finding:
    """BIC, CUBIC and Compound have much the same index with CCID2."""
    j = mean_jfi(evidence, "pair_ccid2_first")[cells(FAST_VARIANTS, evidence["rtt_ms"])]
    spread = spread_over_protocols(j)
    limit = evidence["spread_jfi"] + evidence["tolerance_jfi"]
    return Finding((spread <= limit).all(axis=1), {"spread of JFI": spread})


def bhatti2009_c17(evidence: Evidence) -> Finding:
    """Fairness of BIC, CUBIC and Compound improves from 100 to 200 ms."""
    gain = _change_over_rtt(mean_jfi(evidence, "pair_ccid2_first"), evidence["rtt_ms"])
    return at_least(gain, evidence["tie_jfi"], "gain of JFI")


def bhatti2009_c18(evidence: Evidence) -> Finding:
    """CCID2 gets more at 200 than at 100 ms against BIC, CUBIC and Compound."""
    gain_mbps = _change_over_rtt(throughput_mbps(evidence, "pair_ccid2_first", flow=1), evidence["rtt_ms"])
    return at_least(gain_mbps, evidence["tie_mbps"], "gain of CCID2, Mb/s")


def bhatti2009_c19(evidence: Evidence) -> Finding:
    """The mean NRU of CCID2 and NewReno hardly changes with RTT."""
    u_db = evidence.table("pair_ccid2_first", "U_N", "rtt_ms", protocol="NewReno")[evidence["rtt_ms"]]
    range_db = range_over(u_db)
    return Finding(range_db <= evidence["range_db"] + evidence["tolerance_db"], {"U_N dB": u_db, "range dB": range_db})


def bhatti2009_c20(evidence: Evidence) -> Finding:
    """CCID2 gets more than NewReno at the lower RTTs and less above 100 ms."""
    lead_mbps = -tcp_lead_mbps(evidence, "pair_ccid2_first")["NewReno"]
    ahead = lead_mbps[evidence["ahead_rtt_ms"]] >= evidence["tie_mbps"]
    behind = lead_mbps[evidence["behind_rtt_ms"]] <= -evidence["tie_mbps"]
    return Finding(ahead.all(axis=1) & behind.all(axis=1), {"lead of CCID2, Mb/s": lead_mbps})


def bhatti2009_c21(evidence: Evidence) -> Finding:
    """BIC and CUBIC take more than CCID2 at every RTT."""
    return _tcp_leads(evidence, ["BIC", "CUBIC"])


def bhatti2009_c22(evidence: Evidence) -> Finding:
    """At 25 ms CCID2 gets about as much against BIC as against itself."""
    return share_of_self_pair_within(evidence, "pair_ccid2_first", "BIC")


def bhatti2009_c23(evidence: Evidence) -> Finding:
    """At 100 ms CCID2 gets about a third against BIC of what it gets against itself."""
    return share_of_self_pair_within(evidence, "pair_ccid2_first", "BIC")


def bhatti2009_c24(evidence: Evidence) -> Finding:
    """By NRU the flows are furthest apart at 100 ms for BIC, CUBIC and Compound."""
    gap_db = nru_gap_db(evidence, "pair_ccid2_first")[cells(FAST_VARIANTS, evidence["rtt_ms"])]
    others = [rtt for rtt in evidence["rtt_ms"] if rtt != evidence["largest_at_rtt_ms"]]
    largest = [
        gap_db[name, evidence["largest_at_rtt_ms"]] - gap_db[name][others].max(axis=1) >= evidence["tolerance_db"]
        for name in FAST_VARIANTS
    ]
    return Finding(pd.concat(largest, axis=1).all(axis=1), {"U_N+ less U_N-, dB": gap_db})


def bhatti2009_c25(evidence: Evidence) -> Finding:
    """By NRU the flows are closer together at 200 than at 100 ms for BIC, CUBIC and Compound."""
    change_db = _change_over_rtt(nru_gap_db(evidence, "pair_ccid2_first"), evidence["rtt_ms"])
    return Finding((change_db <= -evidence["tolerance_db"]).all(axis=1), {"change of U_N+ less U_N-, dB": change_db})


def bhatti2009_c26(evidence: Evidence) -> Finding:
    """NewReno takes more than CCID2 at every RTT."""
    return _tcp_leads(evidence, ["NewReno"])


# --- Fourteen flows (sec. V-D) -----------------------------------------------------------------------------------


def bhatti2009_c27(evidence: Evidence) -> Finding:
    """The index of 14 flows falls as RTT rises, to less than half."""
    j = evidence.table("ns2_14", "jfi_mean", "rtt_ms")[evidence["rtt_ms"]]
    margin = j[evidence["rtt_ms"][0]] - evidence["factor"] * j[evidence["rtt_ms"][-1]]
    tolerance = evidence["tolerance_jfi"]
    return Finding(never_rises(j, tolerance) & (margin >= tolerance), {"JFI": j, "fall in all": fall_over_rtt(j)})


def bhatti2009_c28(evidence: Evidence) -> Finding:
    """The mean NRU of 14 flows is better beyond 100 ms than at 100 ms."""

    def gain_db(metric: str) -> pd.DataFrame:
        u_db = evidence.table("ns2_14", metric, "rtt_ms")
        return u_db[evidence["rtt_ms"]].sub(u_db[evidence["from_rtt_ms"]], axis=0)

    def improves(metric: str) -> pd.Series:
        return (gain_db(metric) >= evidence["tolerance_db"]).all(axis=1)

    numbers = {"gain of U_N, dB": gain_db("U_N")}
    return Finding(improves("U_N"), numbers | with_other_weights(evidence, "ns2_14", "U_N", improves))


def bhatti2009_c29(evidence: Evidence) -> Finding:
    """Some of 14 flows do better than expected from 125 ms on, and none before."""
    return largest_nru_turns_positive(evidence, "ns2_14")


# --- TCP variant first (appendix A) ------------------------------------------------------------------------------


def bhatti2009_c30(evidence: Evidence) -> Finding:
    """With BIC or CUBIC first the index is higher at 50 and 100 ms and lower at 200 ms than with CCID2 first."""
    change = mean_jfi(evidence, "pair_tcp_first") - mean_jfi(evidence, "pair_ccid2_first")
    change = change[cells(["BIC", "CUBIC"], evidence["rtt_ms"])]
    as_claimed = {name: change[name].mul(evidence["signs"], axis=1) for name in ("BIC", "CUBIC")}
    bic = as_claimed["BIC"] >= evidence["difference_jfi"] - evidence["tolerance_jfi"]
    cubic = as_claimed["CUBIC"] >= evidence["tolerance_jfi"]
    return Finding(bic.all(axis=1) & cubic.all(axis=1), {"change of JFI with the order": change})


def bhatti2009_c31(evidence: Evidence) -> Finding:
    """With BIC or CUBIC first the index is least at 200 ms."""
    j = mean_jfi(evidence, "pair_tcp_first")[cells(["BIC", "CUBIC"], evidence["rtt_ms"])]
    others = [rtt for rtt in evidence["rtt_ms"] if rtt != evidence["least_at_rtt_ms"]]
    least = [
        j[name][others].min(axis=1) - j[name, evidence["least_at_rtt_ms"]] >= evidence["tolerance_jfi"]
        for name in ("BIC", "CUBIC")
    ]
    return Finding(least[0] & least[1], {"JFI": j})


def bhatti2009_c32(evidence: Evidence) -> Finding:
    """BIC, CUBIC and Compound differ more from each other when they are first than when CCID2 is."""
    chosen = cells(FAST_VARIANTS, evidence["rtt_ms"])
    spreads = {
        order: spread_over_protocols(mean_jfi(evidence, order)[chosen])
        for order in ("pair_tcp_first", "pair_ccid2_first")
    }
    excess = spreads["pair_tcp_first"] - spreads["pair_ccid2_first"]
    return at_least(excess, evidence["tolerance_jfi"], "excess of the spread of JFI")


def bhatti2009_c33(evidence: Evidence) -> Finding:
    """The least index over RTT is lower with CCID2 first than with BIC, CUBIC or Compound first."""
    chosen = cells(FAST_VARIANTS, evidence["rtt_ms"])
    least = {
        order: over(mean_jfi(evidence, order)[chosen], "protocol", "min")
        for order in ("pair_tcp_first", "pair_ccid2_first")
    }
    excess = least["pair_tcp_first"] - least["pair_ccid2_first"]
    return at_least(excess, evidence["tolerance_jfi"], "least JFI, TCP first less CCID2 first")


def bhatti2009_c34(evidence: Evidence) -> Finding:
    """The index is lower at 200 than at 25 ms for every TCP variant, whichever flow is first."""
    orders = ("pair_ccid2_first", "pair_tcp_first")
    changes = {o: _change_over_rtt(mean_jfi(evidence, o), evidence["rtt_ms"], TCP_VARIANTS) for o in orders}
    change = pd.concat(changes, axis=1)
    return Finding((change <= -evidence["tie_jfi"]).all(axis=1), {"change of JFI": change})


# --- Shared predicates -------------------------------------------------------------------------------------------


def _tcp_leads(evidence: Evidence, variants: list[str]) -> Finding:
    """Each of ``variants`` takes more than CCID2, which is first, at each RTT of the claim."""
    lead_mbps = tcp_lead_mbps(evidence, "pair_ccid2_first")[cells(variants, evidence["rtt_ms"])]
    return at_least(lead_mbps, evidence["tie_mbps"], "lead over CCID2, Mb/s")


def _change_over_rtt(table: pd.DataFrame, rtts_ms: list[float], protocols: list[str] = FAST_VARIANTS) -> pd.DataFrame:
    """Value at the second of two RTTs less that at the first, a column per protocol."""
    first, second = rtts_ms
    return pd.concat({name: table[name, second] - table[name, first] for name in protocols}, axis=1)
