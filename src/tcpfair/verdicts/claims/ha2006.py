"""Claims of ha2006: S. Ha, L. Le, I. Rhee, L. Xu, Impact of background traffic on performance of high-speed TCP variant
protocols, 2006.

Ratios are smaller over larger throughput, so that 1 is fair, from the start of the second flow on. A claim that names no
RTT is judged by the mean over the RTTs. Utilisation counts payload, of which a full link carries 96.5 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from tcpfair.metrics.series import mean_interval
from tcpfair.models import rtt_fairness
from tcpfair.verdicts.claims.evidence import Evidence, Finding, at_least, never_rises, over, range_over, within

HIGH_SPEED = ["CUBIC", "BIC", "FAST", "HSTCP", "H-TCP", "STCP"]
EVERY = [*HIGH_SPEED, "SACK"]
FOUR_TYPES = ["Type I", "Type II", "Type III", "Type IV"]
PROTOCOL_AND_RTT = ["protocol", "rtt_ms"]
# the experiments of the three tests of fairness: against the RTT, and at one RTT under the other kinds of background
TESTS = {
    "intra-protocol": ("intra", "intra_types"),
    "RTT": ("rtt_fairness", "rtt_types"),
    "TCP-friendliness": ("friendliness", "friendliness_types"),
}


# --- Background alone (sec. 3.3) ---------------------------------------------------------------------------------


def ha2006_c17(evidence: Evidence) -> Finding:
    """The variance of the background's rate falls in the order of the types that the text gives."""
    variance = evidence.table("background", "load_sd", "traffic")[evidence["order"]] ** 2
    return Finding(_falls(variance, evidence["tolerance_rel"]), {"variance, (Mb/s)²": variance})


def ha2006_c18(evidence: Evidence) -> Finding:
    """Types I to IV make about the stated load, in the mean over all runs."""
    loads = replace(evidence, averaged=False).table("load", "load_both_ways", "traffic")[FOUR_TYPES]
    means = loads.mean()
    return Finding(bool(within(means, *evidence["load_mbps"]).all()), {"mean load, Mb/s": means})


# --- Utilisation without background (sec. 4.1.1) -----------------------------------------------------------------


def ha2006_c01(evidence: Evidence) -> Finding:
    """All high-speed protocols but STCP use the link well up to 162 ms."""
    used = _utilisation(evidence, "util_alone").loc[:, (evidence["protocols"], evidence["rtt_ms"])]
    return at_least(over(used, "protocol", "min"), evidence["least"] - evidence["tolerance"], "least utilisation")


def ha2006_c02(evidence: Evidence) -> Finding:
    """SACK uses far less of the link than any high-speed protocol at long RTTs."""
    used = _utilisation(evidence, "util_alone")
    behind = (over(used[HIGH_SPEED], "rtt_ms", "min") - used["SACK"])[evidence["rtt_ms"]]
    bound = evidence["more_than"] - evidence["tolerance"]
    return Finding((behind > bound).all(axis=1), {"SACK behind the least of the others by": behind})


def ha2006_c03(evidence: Evidence) -> Finding:
    """At 324 ms most protocols still use the link well."""
    used = _utilisation(evidence, "util_alone").xs(evidence["rtt_ms"], axis=1, level="rtt_ms")[evidence["protocols"]]
    return at_least(used, evidence["least"] - evidence["tolerance"], "utilisation")


def ha2006_c04(evidence: Evidence) -> Finding:
    """STCP uses much less of the link at 324 than at 162 ms."""
    used = _utilisation(evidence, "util_alone")["STCP"]
    short_ms, long_ms = evidence["rtt_ms"]
    drop = used[short_ms] - used[long_ms]
    return Finding(drop > evidence["more_than"] - evidence["tolerance"], {"drop": drop})


def ha2006_c05(evidence: Evidence) -> Finding:
    """At 324 ms no FAST flow goes beyond half of the link."""
    where = {"protocol": "FAST", "rtt_ms": evidence["rtt_ms"]}
    peaks = {flow: evidence.table("util_alone", "rate_largest", "protocol", flow=flow, **where) for flow in (1, 2)}
    peak = pd.concat({flow: table["FAST"] for flow, table in peaks.items()}, axis=1, names=["flow"])
    bound = evidence["most_mbps"] * (1 + evidence["tolerance_rel"])
    return Finding((peak <= bound).all(axis=1), {"largest rate, Mb/s, of flow": peak})


def ha2006_c06(evidence: Evidence) -> Finding:
    """Utilisations of the captions of figure 4."""
    return _as_printed(evidence, evidence.table("example_alone", "utilisation", "protocol"))


def ha2006_c40(evidence: Evidence) -> Finding:
    """Without background the total rate of STCP varies most, then HSTCP's, then CUBIC's."""
    cov = evidence.table("example_alone", "load_cov", "protocol")[evidence["order"]]
    return Finding(_falls(cov, evidence["tolerance_rel"]), {"CoV": cov})


def ha2006_c41(evidence: Evidence) -> Finding:
    """Two STCP flows change places."""
    changes = evidence.table("example_alone", "lead_changes", "protocol")["STCP"]
    return Finding(changes >= evidence["least"], {"changes of the lead": changes})


# --- Utilisation with background (sec. 4.1.2) --------------------------------------------------------------------


def ha2006_c07(evidence: Evidence) -> Finding:
    """Utilisations of the captions of figure 5."""
    return _as_printed(evidence, evidence.table("util_type2", "utilisation", "protocol", rtt_ms=evidence["rtt_ms"]))


def ha2006_c08(evidence: Evidence) -> Finding:
    """SACK uses less of the link with Type II than without background."""
    gain = _gain_by_type2(evidence, "SACK")
    return Finding((gain < -evidence["tolerance"]).all(axis=1), {"with Type II less without": gain})


def ha2006_c09(evidence: Evidence) -> Finding:
    """STCP uses more of the link with Type II than without background."""
    gain = _gain_by_type2(evidence, "STCP")
    bound = evidence["more_than"] - evidence["tolerance"]
    return Finding((gain > bound).all(axis=1), {"with Type II less without": gain})


def ha2006_c10(evidence: Evidence) -> Finding:
    """BIC and CUBIC use the link well under all types."""
    type2 = _utilisation(evidence, "util_type2")[["BIC", "CUBIC"]]
    other = evidence.table("intra_types", "utilisation", ["protocol", "traffic"])[["BIC", "CUBIC"]]
    other = other.loc[:, (slice(None), FOUR_TYPES)]
    bound = evidence["least"] - evidence["tolerance"]
    holds = (type2 >= bound).all(axis=1) & (other >= bound).all(axis=1)
    return Finding(holds, {"with Type II": type2, "two flows at 82 ms": other})


def ha2006_c11(evidence: Evidence) -> Finding:
    """H-TCP and FAST use less of the link than CUBIC with Type II at every RTT."""
    used = _utilisation(evidence, "util_type2")
    behind = {protocol: used["CUBIC"] - used[protocol] for protocol in ("H-TCP", "FAST", "HSTCP")}
    bound = evidence["more_than"] - evidence["tolerance"]
    holds = pd.concat([behind[protocol] for protocol in ("H-TCP", "FAST")], axis=1) > bound
    return Finding(holds.all(axis=1), {f"{protocol} behind CUBIC by": table for protocol, table in behind.items()})


def ha2006_c12(evidence: Evidence) -> Finding:
    """H-TCP and HSTCP use the more of the link the larger the buffer, and less than CUBIC below 8 MB."""
    used = evidence.table("buffer", "utilisation", ["protocol", "buffer_bytes"])
    holds = True
    for protocol in ("H-TCP", "HSTCP"):
        own = used[protocol].sort_index(axis=1)
        rises = (own.iloc[:, -1] - own.iloc[:, 0] > evidence["tolerance"]) & never_rises(-own, evidence["tolerance"])
        smaller = own.columns[own.columns < evidence["buffer_bytes"]]
        below = (used["CUBIC"] - own)[smaller] > evidence["tolerance"]
        holds &= rises & below.all(axis=1)
    return Finding(holds, {name: used[name] for name in ("H-TCP", "HSTCP", "CUBIC")})


def ha2006_c13(evidence: Evidence) -> Finding:
    """The total rate of H-TCP varies much more than that of the others at every RTT."""
    cov = evidence.table("util_type2", "load_cov", PROTOCOL_AND_RTT)
    others = over(cov[evidence["others"]], "rtt_ms", "max")
    ratio = cov["H-TCP"] / others
    bound = evidence["times"] * (1 - evidence["tolerance_rel"])
    return Finding((ratio > bound).all(axis=1), {"H-TCP over the largest of the others": ratio})


def ha2006_c14(evidence: Evidence) -> Finding:
    """Utilisation and variation go against each other over protocols and RTTs."""
    used = _utilisation(evidence, "util_type2")
    cov = evidence.table("util_type2", "load_cov", PROTOCOL_AND_RTT)[used.columns]
    r = used.corrwith(cov, axis=1)
    return Finding(r < evidence["less_than"] + evidence["tolerance"], {"Pearson's r": r})


def ha2006_c15(evidence: Evidence) -> Finding:
    """Every background lowers the utilisation of H-TCP, Type II with varied RTTs the most."""
    used = evidence.table("htcp_types", "utilisation", "traffic")
    sd = _sd(evidence, "htcp_types", "utilisation", "traffic")
    cases = used.drop(columns="none")
    lowers = cases.rsub(used["none"], axis=0) > sd[cases.columns]
    others = cases.drop(columns=evidence["most"])
    most = others.sub(cases[evidence["most"]], axis=0) > sd[others.columns]
    return Finding(lowers.all(axis=1) & most.all(axis=1), {"utilisation": used})


def ha2006_c16(evidence: Evidence) -> Finding:
    """Varied RTTs of the background make H-TCP vary more and use less than fixed ones, with each type."""
    holds, numbers = True, {}
    for metric, label, sign in (("load_cov", "CoV", 1), ("utilisation", "utilisation", -1)):
        values = evidence.table("htcp_types", metric, "traffic")
        sd = _sd(evidence, "htcp_types", metric, "traffic")
        change = pd.concat({kind: values[kind] - values[f"{kind}, fixed RTT"] for kind in FOUR_TYPES}, axis=1)
        holds &= (sign * change > sd[FOUR_TYPES]).all(axis=1)
        numbers[f"change of {label} by varied RTTs"] = change
    return Finding(holds, numbers)


def ha2006_c19(evidence: Evidence) -> Finding:
    """FAST uses more of the link with little background, and there the flows that join later take more."""
    little, usual = evidence["little"], evidence["usual"]
    used = evidence.table("fast_type1", "utilisation", "traffic")
    late, early = (
        sum(evidence.table("fast_type1", "throughput_mean", "traffic", flow=flow)[little] for flow in evidence[name])
        for name in ("late", "early")
    )
    better = used[little] - used[usual] > evidence["tolerance"]
    return Finding(
        better & (late > early * (1 + evidence["tolerance"])),
        {"utilisation": used, "late over early flows, 10 Mb/s": late / early},
    )


def ha2006_c44(evidence: Evidence) -> Finding:
    """H-TCP flows lose together more often under the most variable background than under the least."""
    shared = evidence.table("htcp_types", "shared_losses", "traffic")[[evidence["most"], evidence["least"]]]
    more = shared[evidence["most"]] > shared[evidence["least"]] * (1 + evidence["tolerance_rel"])
    return Finding(more, {"share of the other flows that lose too": shared})


# --- Fairness without background (sec. 4.2.1) --------------------------------------------------------------------


def ha2006_c20(evidence: Evidence) -> Finding:
    """HSTCP shares worst with its own kind at most RTTs."""
    ratio = _ratios(evidence, "intra", "none")[HIGH_SPEED]
    others = over(ratio.drop(columns="HSTCP", level="protocol"), "rtt_ms", "min")
    worst = others - ratio["HSTCP"] > evidence["tolerance"]
    share = worst.mean(axis=1)
    numbers = {"share of RTTs": share, "HSTCP": ratio["HSTCP"], "least of the others": others}
    return Finding(share > evidence["more_than_share"], numbers)


def ha2006_c21(evidence: Evidence) -> Finding:
    """H-TCP shares best with its own kind, and BIC comes close."""
    ratio = _over_rtts(_ratios(evidence, "intra", "none"))[HIGH_SPEED]
    others = ratio.drop(columns=["H-TCP", "BIC"]).max(axis=1)
    best = ratio["H-TCP"] - others > evidence["tolerance"]
    close = (ratio["BIC"] - ratio["H-TCP"]).abs() <= evidence["near"]
    return Finding(best & close, {"ratio": ratio})


def ha2006_c22(evidence: Evidence) -> Finding:
    """STCP shares better with its own kind than HSTCP."""
    ratio = _over_rtts(_ratios(evidence, "intra", "none"))
    return Finding(ratio["STCP"] - ratio["HSTCP"] > evidence["tolerance"], {"ratio": ratio[["STCP", "HSTCP"]]})


def ha2006_c23(evidence: Evidence) -> Finding:
    """H-TCP and FAST share equally whatever the RTTs."""
    ratio = _ratios(evidence, "rtt_fairness", "none")[["H-TCP", "FAST"]]
    return at_least(ratio, evidence["least"] - evidence["tolerance"], "ratio")


def ha2006_c24(evidence: Evidence) -> Finding:
    """CUBIC shares by the inverse of the RTTs' ratio."""
    ratio = _ratios(evidence, "rtt_fairness", "none")["CUBIC"]
    apart = ratio / (ratio.columns.to_numpy() / evidence["rtt_ms"])
    factor = evidence["factor"]
    return Finding(within(apart, 1 / factor, factor).all(axis=1), {"ratio over the inverse": apart})


def ha2006_c25(evidence: Evidence) -> Finding:
    """BIC and STCP share worse than SACK when RTTs differ."""
    ratio = _over_rtts(_ratios(evidence, "rtt_fairness", "none"), evidence["rtt_ms"])
    below = ratio[["BIC", "STCP"]].rsub(ratio["SACK"], axis=0) > evidence["tolerance"]
    return Finding(below.all(axis=1), {"ratio": ratio[["BIC", "STCP", "SACK"]]})


def ha2006_c26(evidence: Evidence) -> Finding:
    """The laws of two SACK flows: 1/k^2 with synchronised losses and 1/k with random ones."""
    k = pd.Index(evidence["rtt_ratio"], dtype=float)
    random = pd.Series(rtt_fairness.random_loss_ratio("reno", k.to_numpy()), index=k)
    together = pd.Series(rtt_fairness.synchronised_loss_ratio("reno", k.to_numpy()), index=k)
    holds = np.allclose(random, 1 / k) and np.allclose(together, 1 / k**2)
    return Finding(bool(holds), {"random losses": random, "synchronised losses": together})


def ha2006_c27(evidence: Evidence) -> Finding:
    """CUBIC and FAST are as friendly as H-TCP above 40 ms; at 16 ms H-TCP is the friendliest."""
    ratio = _ratios(evidence, "friendliness", "none")
    lead = pd.concat({name: ratio["H-TCP"] - ratio[name] for name in HIGH_SPEED if name != "H-TCP"}, axis=1)
    alike = within(lead.loc[:, (["CUBIC", "FAST"], evidence["rtt_ms"])], -evidence["near"], evidence["near"])
    best = lead.xs(evidence["short_ms"], axis=1, level=1) > evidence["tolerance"]
    return Finding(alike.all(axis=1) & best.all(axis=1), {"lead of H-TCP": lead})


def ha2006_c28(evidence: Evidence) -> Finding:
    """BIC, STCP and HSTCP are less friendly than CUBIC and H-TCP."""
    ratio = _over_rtts(_ratios(evidence, "friendliness", "none"))
    behind = ratio[["CUBIC", "H-TCP"]].min(axis=1) - ratio[["BIC", "STCP", "HSTCP"]].max(axis=1)
    return Finding(behind > evidence["tolerance"], {"ratio": ratio})


def ha2006_c42(evidence: Evidence) -> Finding:
    """Two HSTCP flows become fair, but later than those of other protocols."""
    time_s = evidence.table("example_alone", "fair_at_s", "protocol")
    measured = evidence.table("example_alone", "fair_ratio", "protocol").notna()
    time_s = time_s.reindex(measured.index).mask(time_s.isna() & measured, np.inf)[["HSTCP", *evidence["others"]]]
    later = time_s["HSTCP"] > time_s[evidence["others"]].max(axis=1) * (1 + evidence["tolerance_rel"])
    return Finding(np.isfinite(time_s["HSTCP"]) & later, {"time to become fair, s (inf: never)": time_s})


# --- Fairness with background (sec. 4.2.2) -----------------------------------------------------------------------


def ha2006_c29(evidence: Evidence) -> Finding:
    """Type V makes all protocols but FAST share better with their own kind."""
    gain = _gain_by_type5(evidence, "intra")[[name for name in EVERY if name != "FAST"]]
    return at_least(gain, -evidence["tolerance"], "gain by Type V")


def ha2006_c30(evidence: Evidence) -> Finding:
    """Type V makes all protocols share better when RTTs differ, and HSTCP and BIC nearly as SACK."""
    rtts_ms = evidence["rtt_ms"]
    gain = _gain_by_type5(evidence, "rtt_fairness", rtts_ms)
    ratio = _over_rtts(_ratios(evidence, "rtt_fairness", "Type V"), rtts_ms)
    apart = ratio[["HSTCP", "BIC"]].sub(ratio["SACK"], axis=0)
    near = (apart.abs() <= evidence["near"] + evidence["tolerance"]).all(axis=1)
    return Finding(
        (gain >= -evidence["tolerance"]).all(axis=1) & near, {"gain by Type V": gain, "above SACK by": apart}
    )


def ha2006_c31(evidence: Evidence) -> Finding:
    """Type V makes all protocols friendlier, at a short RTT H-TCP and CUBIC most."""
    gain = _gain_by_type5(evidence, "friendliness")
    short = _gain_by_type5(evidence, "friendliness", [evidence["short_ms"]])
    others = short.drop(columns=evidence["most"]).max(axis=1)
    most = short[evidence["most"]].min(axis=1) - others > evidence["tolerance"]
    holds = (gain >= -evidence["tolerance"]).all(axis=1) & most
    return Finding(holds, {"gain by Type V": gain, f"at {evidence['short_ms']:g} ms": short})


def ha2006_c32(evidence: Evidence) -> Finding:
    """How much any background raises the ratio of BIC and of STCP when RTTs differ."""
    gain = _relative_gains(evidence, "RTT")
    slack = evidence["tolerance_rel"]
    holds = True
    for protocol, (low, high) in evidence["gain"].items():
        holds &= within(gain[protocol], low * (1 - slack), high * (1 + slack)).all(axis=1)
    return Finding(holds, {f"gain of {protocol}": gain[protocol] for protocol in evidence["gain"]})


def ha2006_c33(evidence: Evidence) -> Finding:
    """When RTTs differ Type V helps most, and CUBIC less than the others."""
    ratio = _by_type(evidence, "RTT")
    gain = _relative_gains(evidence, "RTT").xs("Type V", axis=1, level="traffic")
    most, holds = evidence["most"], True
    for protocol in [*most, "CUBIC"]:
        holds &= ratio[protocol]["Type V"] - ratio[protocol][FOUR_TYPES].max(axis=1) > evidence["tolerance"]
    holds &= gain["CUBIC"] < gain[most].min(axis=1)
    return Finding(holds, {"relative gain by Type V": gain, "ratio": ratio[[*most, "CUBIC"]]})


def ha2006_c34(evidence: Evidence) -> Finding:
    """At 82 ms all but HSTCP share well without background, HSTCP only with Type V."""
    ratio = _by_type(evidence, "intra-protocol")
    fair = ratio.xs("none", axis=1, level="traffic")[evidence["fair"]] > evidence["least"] - evidence["tolerance"]
    hstcp = ratio["HSTCP"]
    gain = hstcp["Type V"] - hstcp[["none", *FOUR_TYPES]].max(axis=1)
    greatly = gain > evidence["more_than"] - evidence["tolerance"]
    none = ratio.xs("none", axis=1, level="traffic")
    return Finding(fair.all(axis=1) & greatly, {"without background": none, "HSTCP": hstcp})


def ha2006_c35(evidence: Evidence) -> Finding:
    """Whether the background's RTTs are fixed or varied matters little to the ratios."""
    apart = {}
    for name, (_, experiment) in TESTS.items():
        ratio = evidence.table(experiment, "fair_ratio", ["traffic", "protocol"])
        for kind in evidence["types"]:
            apart[name, kind] = (ratio[kind] - ratio[f"{kind}, fixed RTT"]).abs().max(axis=1, skipna=False)
    apart = pd.concat(apart, axis=1)
    bound = evidence["most"] + evidence["tolerance"]
    return Finding((apart <= bound).all(axis=1), {"largest difference": apart})


def ha2006_c36(evidence: Evidence) -> Finding:
    """Background makes BIC and STCP gain most in friendliness, and doubles CUBIC's under Type V."""
    gain = _relative_gains(evidence, "TCP-friendliness")
    mean = over(gain, "protocol", "mean")
    most = mean[evidence["most"]].min(axis=1) > mean.drop(columns=evidence["most"]).max(axis=1)
    of_cubic = gain["CUBIC", "Type V"]
    slack = evidence["gain"] * evidence["tolerance_rel"]
    holds = most & within(of_cubic, evidence["gain"], evidence["gain"], slack)
    return Finding(holds, {"mean gain": mean, "gain of CUBIC under Type V": of_cubic})


def ha2006_c37(evidence: Evidence) -> Finding:
    """Web traffic gets as much beside any protocol: the confidence intervals overlap at each number of flows."""
    level = evidence.config.analysis_value("confidence_level")
    holds, numbers = True, {}
    for experiment in evidence.claim.experiments:
        table = replace(evidence, averaged=False).table(experiment, "web_mean", "protocol")[EVERY]
        intervals = {name: mean_interval(table[name], level) for name in table}
        low = max(mean - half for mean, half in intervals.values())
        high = min(mean + half for mean, half in intervals.values())
        holds &= low <= high
        numbers[f"{experiment}, Mb/s"] = pd.Series({name: mean for name, (mean, _) in intervals.items()})
        numbers[f"{experiment}, half interval"] = pd.Series({name: half for name, (_, half) in intervals.items()})
    return Finding(bool(holds), numbers)


def ha2006_c38(evidence: Evidence) -> Finding:
    """The amount of background changes the ratios more than its kind, in the mean over protocols and in each test."""
    by_amount, by_kind = {}, {}
    for name in TESTS:
        ratio = over(_by_type(evidence, name), "traffic", "mean")
        by_amount[name] = (ratio["Type V"] - ratio["Type II"]).abs()
        by_kind[name] = range_over(ratio[FOUR_TYPES])
    amount, kind = pd.concat(by_amount, axis=1), pd.concat(by_kind, axis=1)
    holds = (amount - kind > evidence["tolerance"]).all(axis=1)
    return Finding(holds, {"Type V against II": amount, "largest difference of I to IV": kind})


def ha2006_c39(evidence: Evidence) -> Finding:
    """Background makes most protocols share better, in each of the three tests."""
    gains, holds = {}, True
    for name in TESTS:
        ratio = _by_type(evidence, name)
        with_background = over(ratio.drop(columns="none", level="traffic"), "protocol", "mean")
        gain = with_background - ratio.xs("none", axis=1, level="traffic")[with_background.columns]
        holds &= (gain > evidence["tolerance"]).sum(axis=1) >= evidence["protocols"]
        gains[f"gain, {name}"] = gain
    return Finding(holds, gains)


def ha2006_c43(evidence: Evidence) -> Finding:
    """HSTCP becomes fair within the testing time under Type V only."""
    ratio = _by_type(evidence, "intra-protocol", "ratio_at_end")["HSTCP"]
    bound, slack = evidence["fair"], evidence["tolerance"]
    unfair = ratio[["none", *FOUR_TYPES]] < bound + slack
    return Finding(unfair.all(axis=1) & (ratio["Type V"] >= bound - slack), {"ratio in the last minute": ratio})


# --- What the claims share ---------------------------------------------------------------------------------------


def _utilisation(evidence: Evidence, experiment: str) -> pd.DataFrame:
    return evidence.table(experiment, "utilisation", PROTOCOL_AND_RTT)


def _as_printed(evidence: Evidence, used: pd.DataFrame) -> Finding:
    """Whether each protocol's utilisation is the printed one."""
    printed = pd.Series(evidence["utilisation"], dtype=float)
    used = used[printed.index]
    return Finding(((used - printed).abs() <= evidence["tolerance"]).all(axis=1), {"utilisation": used})


def _gain_by_type2(evidence: Evidence, protocol: str) -> pd.DataFrame:
    """Utilisation with Type II (four flows) less that without background (two)."""
    with_type2, alone = (_utilisation(evidence, name)[protocol] for name in ("util_type2", "util_alone"))
    return (with_type2 - alone)[evidence["rtt_ms"]]


def _sd(evidence: Evidence, experiment: str, metric: str, by: str) -> pd.Series:
    """Standard deviation over the replicates."""
    return replace(evidence, averaged=False).table(experiment, metric, by).std()


def _falls(table: pd.DataFrame, tolerance_rel: float) -> pd.Series:
    """Whether each column is below the one before it, by more than ``tolerance_rel`` of it."""
    holds = [table[b] < table[a] / (1 + tolerance_rel) for a, b in zip(table, table.columns[1:], strict=False)]
    return pd.concat(holds, axis=1).all(axis=1)


def _ratios(evidence: Evidence, experiment: str, traffic: str) -> pd.DataFrame:
    return evidence.table(experiment, "fair_ratio", PROTOCOL_AND_RTT, traffic=traffic)


def _over_rtts(table: pd.DataFrame, rtts_ms: Sequence[float] | None = None) -> pd.DataFrame:
    """Mean over the RTTs, or over some of them: a column per protocol."""
    chosen = table if rtts_ms is None else table.loc[:, (slice(None), rtts_ms)]
    return over(chosen, "protocol", "mean")


def _gain_by_type5(evidence: Evidence, experiment: str, rtts_ms: Iterable[float] | None = None) -> pd.DataFrame:
    """Ratio with Type V less that without background, mean over the RTTs."""
    with_type5, without = (_over_rtts(_ratios(evidence, experiment, kind), rtts_ms) for kind in ("Type V", "none"))
    return with_type5 - without


def _by_type(evidence: Evidence, test: str, metric: str = "fair_ratio") -> pd.DataFrame:
    """A ratio in the setting of figure 13: a column per (protocol, traffic), none and Type V included."""
    over_rtt, types = TESTS[test]
    by = ["protocol", "traffic"]
    four = evidence.table(types, metric, by)
    four = four[[column for column in four if column[1] in FOUR_TYPES]]
    rtt_ms = evidence.config.experiments[types].grid["rtt_ms"].value[0]
    two = evidence.table(over_rtt, metric, by, rtt_ms=rtt_ms)[four.columns.unique("protocol")]
    return pd.concat([two, four], axis=1).sort_index(axis=1)


def _relative_gains(evidence: Evidence, test: str) -> pd.DataFrame:
    """Ratio with each background over that without, less 1: a column per (protocol, traffic)."""
    ratio = _by_type(evidence, test)
    without = ratio.xs("none", axis=1, level="traffic")
    with_background = ratio.drop(columns="none", level="traffic")
    base = without[with_background.columns.get_level_values("protocol")]
    return with_background / base.to_numpy() - 1
