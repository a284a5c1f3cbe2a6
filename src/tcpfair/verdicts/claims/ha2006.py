"""Claims of ha2006: S. Ha, L. Le, I. Rhee, L. Xu, Impact of background traffic on performance of high-speed TCP variant
protocols, 2006.

Ratios are smaller over larger throughput, so that 1 is fair, of the time in which both flows run. They reach from 0.03 to 1,
so they are compared by quotients, and their means are geometric. A claim that names no RTT is judged by the mean over the
RTTs. Utilisation counts payload, of which a full link carries 96.5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.metrics.series import interval_half_width
from tcpfair.models import rtt_fairness
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import REPLICATE, Evidence, Table, over, trend

HIGH_SPEED = ["CUBIC", "BIC", "FAST", "HSTCP", "H-TCP", "STCP"]
EVERY = [*HIGH_SPEED, "SACK"]
# those of which the text says that they keep good utilisation under all types of background (sec. 4.1.2)
GOOD = ["BIC", "CUBIC"]
FOUR_TYPES = ["Type I", "Type II", "Type III", "Type IV"]
FIXED = "{}, fixed RTT"
PROTOCOL_AND_RTT = ["protocol", "rtt_ms"]
# the experiments of the three tests of fairness: against the RTT, and at one RTT under the other kinds of background
TESTS = {
    "intra": ("intra", "intra_types"),
    "rtt": ("rtt_fairness", "rtt_types"),
    "friendliness": ("friendliness", "friendliness_types"),
}


# --- Background alone (sec. 3.3) ---------------------------------------------------------------------------------


def ha2006_c17(evidence: Evidence) -> Quantities:
    """The variance of the background's rate falls in the order of the types that the text gives."""
    variance = evidence.table("background", "load_sd", "traffic")[FOUR_TYPES] ** 2
    return {
        "type2": variance["Type II"] / _most(variance.drop(columns="Type II")),
        "type3": variance["Type III"] / variance["Type I"],
        "type4": variance["Type IV"] / _least(variance.drop(columns="Type IV")),
    }


def ha2006_c18(evidence: Evidence) -> Quantities:
    """Types I to IV make about the stated load."""
    return {"load": evidence.table("load", "load_both_ways", "traffic")[FOUR_TYPES]}


# --- Utilisation without background (sec. 4.1.1) -----------------------------------------------------------------


def ha2006_c01(evidence: Evidence) -> Quantities:
    """All high-speed protocols but STCP use the link well up to 162 ms."""
    used = _utilisation(evidence, "util_alone").loc[:, (slice(None), evidence["rtt_ms"])]
    return _each(used, ["CUBIC", "BIC", "FAST", "HSTCP", "H-TCP"]) | {"stcp": _least(used["STCP"])}


def ha2006_c02(evidence: Evidence) -> Quantities:
    """SACK uses far less of the link than any high-speed protocol at long RTTs."""
    used = _utilisation(evidence, "util_alone")
    behind = over(used[HIGH_SPEED], "rtt_ms", "min") - used["SACK"]
    return {"less": behind[evidence["rtt_ms"]], "falls": trend(used["SACK"])}


def ha2006_c03(evidence: Evidence) -> Quantities:
    """At 324 ms most protocols still use the link well."""
    protocols = ["CUBIC", "BIC", "HSTCP", "H-TCP"]
    at_long = _at_rtt(_utilisation(evidence, "util_alone"), evidence["rtt_ms"]["long"])
    return _each(at_long, protocols) | {"slight": _fall(evidence)[protocols]}


def ha2006_c04(evidence: Evidence) -> Quantities:
    """STCP uses much less of the link at 324 than at 162 ms."""
    fall = _fall(evidence)
    return {"falls": fall["STCP"], "more": fall["STCP"] - _most(fall[["CUBIC", "BIC", "HSTCP", "H-TCP"]])}


def ha2006_c05(evidence: Evidence) -> Quantities:
    """At 324 ms no FAST flow goes beyond half of the link."""
    where = {"protocol": "FAST", "rtt_ms": evidence["rtt_ms"]}
    peaks = {
        f"flow {flow}": evidence.table("util_alone", "rate_largest", "protocol", flow=flow, **where)["FAST"]
        for flow in (1, 2)
    }
    return {"bounded": pd.DataFrame(peaks)}


def ha2006_c06(evidence: Evidence) -> Quantities:
    """Utilisations of the captions of figure 4."""
    used = evidence.table("example_alone", "utilisation", "protocol")
    return _each(used, ["CUBIC", "BIC", "H-TCP", "HSTCP", "STCP", "FAST"])


def ha2006_c40(evidence: Evidence) -> Quantities:
    """Without background the total rate of STCP varies most, then HSTCP's, then CUBIC's."""
    cov = evidence.table("example_alone", "load_cov", "protocol")
    return {"stcp": cov["STCP"] / cov["HSTCP"], "hstcp": cov["HSTCP"] / cov["CUBIC"]}


def ha2006_c41(evidence: Evidence) -> Quantities:
    """Two STCP flows change places."""
    changes = evidence.table("example_alone", "lead_changes", "protocol")["STCP"]
    return {"seen": changes, "usual": changes}


# --- Utilisation with background (sec. 4.1.2) --------------------------------------------------------------------


def ha2006_c07(evidence: Evidence) -> Quantities:
    """Utilisations of the captions of figure 5."""
    used = evidence.table("util_type2", "utilisation", "protocol", rtt_ms=evidence["rtt_ms"])
    return _each(used, ["CUBIC", "BIC", "H-TCP", "HSTCP", "STCP", "FAST"])


def ha2006_c08(evidence: Evidence) -> Quantities:
    """SACK uses less of the link with Type II than without background, where as many flows share it too."""
    of_four = _gain_by_type2(evidence, "SACK", alone="util_alone_four")
    return _gain_by_type2(evidence, "SACK") | {f"four_{clause}": gain for clause, gain in of_four.items()}


def ha2006_c09(evidence: Evidence) -> Quantities:
    """STCP uses more of the link with Type II than without background."""
    return _gain_by_type2(evidence, "STCP")


def ha2006_c10(evidence: Evidence) -> Quantities:
    """BIC and CUBIC use the link well under all types."""
    type2 = _utilisation(evidence, "util_type2")
    types = evidence.table("intra_types", "utilisation", ["protocol", "traffic"])
    return {
        "bic_type2": type2["BIC"],
        "bic_types": types["BIC"][FOUR_TYPES],
        "cubic_type2": type2["CUBIC"],
        "cubic_types": types["CUBIC"][FOUR_TYPES],
    }


def ha2006_c11(evidence: Evidence) -> Quantities:
    """H-TCP and FAST use less of the link than BIC and CUBIC with Type II at every RTT, HSTCP in the mean over RTTs."""
    used = _utilisation(evidence, "util_type2")
    behind = {name: _behind_good(used, name, "rtt_ms") for name in ("H-TCP", "FAST", "HSTCP")}
    return {"htcp": behind["H-TCP"], "fast": behind["FAST"], "hstcp": behind["HSTCP"].mean(axis=1, skipna=False)}


def ha2006_c12(evidence: Evidence) -> Quantities:
    """H-TCP and HSTCP use the more of the link the larger the buffer, and less than BIC and CUBIC below 8 MB."""
    used = evidence.table("buffer", "utilisation", ["protocol", "buffer_bytes"])
    found = {}
    for protocol in ("H-TCP", "HSTCP"):
        behind = _behind_good(used, protocol, "buffer_bytes")
        found[f"{_clause(protocol)}_rises"] = trend(used[protocol])
        found[f"{_clause(protocol)}_lower"] = behind.loc[:, behind.columns < evidence["buffer_bytes"]]
    return found


def ha2006_c13(evidence: Evidence) -> Quantities:
    """The total rate of H-TCP varies much more than that of the others at every RTT."""
    cov = evidence.table("util_type2", "load_cov", PROTOCOL_AND_RTT)
    return {_clause(name): cov["H-TCP"] / cov[name] for name in ("CUBIC", "BIC", "HSTCP", "STCP")}


def ha2006_c14(evidence: Evidence) -> Quantities:
    """Utilisation and variation go against each other, over protocols and RTTs and among protocols at one RTT."""
    used = _utilisation(evidence, "util_type2")
    cov = evidence.table("util_type2", "load_cov", PROTOCOL_AND_RTT)[used.columns]
    return {
        "overall": _pearson(used, cov),
        "among_protocols": _pearson(_less_mean_at_rtt(used), _less_mean_at_rtt(cov)),
    }


def ha2006_c15(evidence: Evidence) -> Quantities:
    """Every background lowers the utilisation of H-TCP, Type II with varied RTTs the most."""
    used = evidence.table("htcp_types", "utilisation", "traffic")
    cases = used.drop(columns="none")
    most = evidence["most"]
    return {"lowers": cases.rsub(used["none"], axis=0), "most": _least(cases.drop(columns=most)) - cases[most]}


def ha2006_c16(evidence: Evidence) -> Quantities:
    """Varied RTTs of the background make H-TCP vary more and use less than fixed ones."""
    varied, fixed = _varied_and_fixed(evidence.table("htcp_types", "load_cov", "traffic"), FOUR_TYPES)
    factor = varied / fixed
    varied, fixed = _varied_and_fixed(evidence.table("htcp_types", "utilisation", "traffic"), FOUR_TYPES)
    loss = fixed - varied
    return {
        "varies": _mean(factor),
        "varies_mostly": _share(factor > 1, factor),
        "uses_less": loss.mean(axis=1, skipna=False),
        "uses_less_mostly": _share(loss > 0, loss),
    }


def ha2006_c19(evidence: Evidence) -> Quantities:
    """FAST uses more of the link with little background, and there the flows that join later take more."""
    little, usual = evidence["little"], evidence["usual"]
    used = evidence.table("fast_type1", "utilisation", "traffic")
    other = evidence.table("util_type2", "utilisation", "traffic", protocol="FAST", rtt_ms=evidence["rtt_ms"])
    late, early = (
        sum(evidence.table("fast_type1", "throughput_mean", "traffic", flow=flow)[little] for flow in evidence[name])
        for name in ("late", "early")
    )
    by_type = other["Type II"] - used[usual]
    return {
        "little": used[little] - used[usual],
        "amount": (used[little] - used[usual]).abs() - by_type.abs(),
        "late": late / early,
    }


def ha2006_c44(evidence: Evidence) -> Quantities:
    """H-TCP flows lose together more often under more variable background.

    Nearly all flows lose together anyway, so that what differs is the share of those that are spared.
    """
    spared = 1 - evidence.table("htcp_types", "shared_losses", "traffic")
    most, least = evidence["most"], evidence["least"]
    varied, fixed = _varied_and_fixed(spared, FOUR_TYPES)
    by_size = pd.DataFrame({"varied": varied[most] / varied[least], "fixed": fixed[most] / fixed[least]})
    return {"most": varied[most] / fixed[least], "sizes": _mean(by_size), "rtts": _mean(varied / fixed)}


# --- Fairness without background (sec. 4.2.1) --------------------------------------------------------------------


def ha2006_c20(evidence: Evidence) -> Quantities:
    """HSTCP shares worst with its own kind."""
    ratio = _ratios(evidence, "intra", "none")[HIGH_SPEED]
    others = ratio.drop(columns="HSTCP", level="protocol")
    lead = over(others, "rtt_ms", "min") - ratio["HSTCP"]
    return {
        "lowest": _mean(ratio["HSTCP"]) / _least(_by_protocol(others)),
        "mostly": _share(lead > 0, lead),
    }


def ha2006_c21(evidence: Evidence) -> Quantities:
    """H-TCP shares best with its own kind, and BIC comes close."""
    ratio = _by_protocol(_ratios(evidence, "intra", "none"))
    others = _most(ratio[["CUBIC", "FAST", "HSTCP", "STCP"]])
    return {"best": ratio["H-TCP"] / others, "bic": ratio["BIC"] / ratio["H-TCP"]}


def ha2006_c22(evidence: Evidence) -> Quantities:
    """STCP shares better with its own kind than HSTCP, and worse than some other."""
    ratio = _by_protocol(_ratios(evidence, "intra", "none"))
    others = _most(ratio[["CUBIC", "BIC", "FAST", "H-TCP"]])
    return {"better": ratio["STCP"] / ratio["HSTCP"], "below": others / ratio["STCP"]}


def ha2006_c23(evidence: Evidence) -> Quantities:
    """H-TCP and FAST share equally whatever the RTTs."""
    return _each(_ratios(evidence, "rtt_fairness", "none"), ["H-TCP", "FAST"])


def ha2006_c24(evidence: Evidence) -> Quantities:
    """CUBIC shares by the inverse of the RTTs' ratio."""
    ratio = _ratios(evidence, "rtt_fairness", "none")["CUBIC"]
    return {"inverse": ratio / (ratio.columns.to_numpy() / evidence["rtt_ms"])}


def ha2006_c25(evidence: Evidence) -> Quantities:
    """BIC and STCP share worse than SACK when RTTs differ."""
    return _over_sack(evidence, "none", ["BIC", "STCP"])


def ha2006_c26(evidence: Evidence) -> Quantities:
    """The laws of two SACK flows: 1/k^2 with synchronised losses and 1/k with random ones."""
    k = np.array(evidence["rtt_ratio"], dtype=float)
    of_k = {
        "synchronised": rtt_fairness.synchronised_loss_ratio("reno", k) * k**2,
        "random": rtt_fairness.random_loss_ratio("reno", k) * k,
    }
    return {name: pd.DataFrame([values], columns=k) for name, values in of_k.items()}


def ha2006_c27(evidence: Evidence) -> Quantities:
    """CUBIC and FAST are as friendly as H-TCP above 40 ms; at 16 ms H-TCP is the friendliest."""
    ratio = _ratios(evidence, "friendliness", "none")
    long = _by_protocol(ratio, evidence["rtt_ms"])
    short = _at_rtt(ratio, evidence["short_ms"])
    best = short["H-TCP"] / _most(short.drop(columns="H-TCP"))
    return _each(long.div(long["H-TCP"], axis=0), ["CUBIC", "FAST"]) | {"best": best}


def ha2006_c28(evidence: Evidence) -> Quantities:
    """BIC, STCP and HSTCP are less friendly than CUBIC and H-TCP."""
    ratio = _by_protocol(_ratios(evidence, "friendliness", "none"))
    return _each(ratio.div(_least(ratio[["CUBIC", "H-TCP"]]), axis=0), ["BIC", "STCP", "HSTCP"])


def ha2006_c42(evidence: Evidence) -> Quantities:
    """Two HSTCP flows become fair in the long run, but later than those of other protocols."""
    long_run = _speed_of_convergence(evidence, "intra_long", rtt_ms=evidence["rtt_ms"])
    speed = _speed_of_convergence(evidence, "example_alone")
    others = _least(speed[["H-TCP", "CUBIC", "BIC"]])
    nobody = (speed["HSTCP"] == 0) & (others == 0)
    return {"converges": 1 / long_run["HSTCP"], "slowly": (speed["HSTCP"] / others).mask(nobody, 1.0)}


def _speed_of_convergence(evidence: Evidence, experiment: str, **where: Any) -> Table:
    """One over the time until two flows share fairly, in 1/s by protocol; 0 where they never do."""
    metrics = evidence.metrics(experiment)
    for name, value in where.items():
        metrics = metrics[metrics[name] == value]
    time_s, ratio = (
        metrics[metrics["metric"] == name].pivot(index=REPLICATE, columns="protocol", values="value")
        for name in ("fair_at_s", "fair_ratio")
    )
    speed = (1 / time_s).reindex_like(ratio)
    return evidence.of_runs(speed.mask(speed.isna() & ratio.notna(), 0.0))


# --- Fairness with background (sec. 4.2.2) -----------------------------------------------------------------------


def ha2006_c29(evidence: Evidence) -> Quantities:
    """Type V makes all protocols but FAST share better with their own kind."""
    gain = _by_protocol(_gains_by_type5(evidence, "intra"))
    return _each(gain, ["CUBIC", "BIC", "HSTCP", "H-TCP", "STCP", "SACK"])


def ha2006_c30(evidence: Evidence) -> Quantities:
    """Type V makes all protocols but FAST share better when RTTs differ, and HSTCP and BIC nearly as SACK."""
    gain = _by_protocol(_gains_by_type5(evidence, "rtt_fairness"), evidence["rtt_ms"])
    return {"improved": gain.drop(columns="FAST")} | _over_sack(evidence, "Type V", ["HSTCP", "BIC"])


def ha2006_c31(evidence: Evidence) -> Quantities:
    """Type V makes all protocols friendlier, at a short RTT H-TCP and CUBIC most."""
    gain = _by_protocol(_gains_by_type5(evidence, "friendliness"))
    short = _at_rtt(
        _ratios(evidence, "friendliness", "Type V") - _ratios(evidence, "friendliness", "none"), evidence["short_ms"]
    )
    most = ["H-TCP", "CUBIC"]
    lead = _least(short[most]) - _most(short.drop(columns=most))
    return _each(gain, ["CUBIC", "BIC", "FAST", "HSTCP", "H-TCP", "STCP"]) | {"most": lead}


def ha2006_c32(evidence: Evidence) -> Quantities:
    """How much any background raises the ratio of BIC and of STCP when RTTs differ."""
    return _each(_gains(evidence, "rtt"), ["BIC", "STCP"])


def ha2006_c33(evidence: Evidence) -> Quantities:
    """When RTTs differ Type V helps most, and CUBIC less than the others."""
    ratio = _by_type(evidence, "rtt")
    gain = _gains(evidence, "rtt").xs("Type V", axis=1, level="traffic")
    most = ["BIC", "HSTCP", "STCP"]
    lead = {_clause(name): ratio[name]["Type V"] / _most(ratio[name][FOUR_TYPES]) for name in [*most, "CUBIC"]}
    return lead | {"lesser": gain["CUBIC"] / _least(gain[most])}


def ha2006_c34(evidence: Evidence) -> Quantities:
    """At 82 ms all but HSTCP share well without background, HSTCP only with Type V."""
    ratio = _by_type(evidence, "intra")
    hstcp = ratio["HSTCP"]
    without = ratio.xs("none", axis=1, level="traffic")
    greatly = hstcp["Type V"] / _most(hstcp[["none", *FOUR_TYPES]])
    return _each(without, ["CUBIC", "BIC", "H-TCP", "STCP", "HSTCP"]) | {"greatly": greatly}


def ha2006_c35(evidence: Evidence) -> Quantities:
    """Whether the background's RTTs are fixed or varied matters little to the ratios."""
    found = {}
    for name, (_, experiment) in TESTS.items():
        ratio = evidence.table(experiment, "fair_ratio", ["traffic", "protocol"])
        factors = [_apart(ratio[kind], ratio[FIXED.format(kind)]) for kind in evidence["types"]]
        found[name] = pd.concat(factors, axis=1).median(axis=1, skipna=False)
    return found


def ha2006_c36(evidence: Evidence) -> Quantities:
    """Background makes BIC and STCP gain most in friendliness, and doubles CUBIC's under Type V."""
    gain = _gains(evidence, "friendliness")
    mean = _by_protocol(gain)
    most = ["BIC", "STCP"]
    return _each(mean.div(_most(mean.drop(columns=most)), axis=0), most) | {"cubic": gain["CUBIC", "Type V"]}


def ha2006_c37(evidence: Evidence) -> Quantities:
    """Web traffic gets as much beside any protocol: the confidence intervals overlap at each number of flows."""
    level = evidence.config.analysis_value("confidence_level")
    found = {}
    for experiment in evidence.claim.experiments:
        of = (experiment, "web_mean", "protocol")
        mean, sd, count = evidence.table(*of)[EVERY], evidence.sd(*of)[EVERY], evidence.count(*of)[EVERY]
        half = interval_half_width(sd, count.to_numpy(), level)
        found[experiment] = _least(mean + half) - _most(mean - half)
    return found


def ha2006_c38(evidence: Evidence) -> Quantities:
    """The amount of background changes the ratios more than its kind, in the mean over protocols and in each test."""
    found = {}
    for name in TESTS:
        ratio = np.exp(over(_log(_by_type(evidence, name)), "traffic", "mean"))
        of_kind = ratio[FOUR_TYPES]
        found[name] = _apart(ratio["Type V"], ratio["Type II"]) / (_most(of_kind) / _least(of_kind))
    return found


def ha2006_c39(evidence: Evidence) -> Quantities:
    """Background makes most protocols share better, in each of the three tests."""
    return {name: _by_protocol(_gains(evidence, name)).median(axis=1, skipna=False) for name in TESTS}


def ha2006_c43(evidence: Evidence) -> Quantities:
    """HSTCP becomes fair within the testing time under Type V only."""
    ratio = _by_type(evidence, "intra", "ratio_at_end")["HSTCP"]
    return {"none": ratio["none"], "types": ratio[FOUR_TYPES], "type5": ratio["Type V"]}


# --- What the claims share ---------------------------------------------------------------------------------------


def _clause(protocol: str) -> str:
    """How clauses name a protocol: hstcp, htcp."""
    return protocol.replace("-", "").lower()


def _each(table: Table, protocols: Sequence[str]) -> dict[str, Table | pd.Series]:
    """What a table has of each protocol, by the names of clauses."""
    return {_clause(name): table[name] for name in protocols}


def _least(x: Table) -> pd.Series:
    return x.min(axis=1, skipna=False)


def _most(x: Table) -> pd.Series:
    return x.max(axis=1, skipna=False)


def _share(condition: Table, of: Table) -> pd.Series:
    """Share of the cells in which a condition on ``of`` holds; NaN where one of them has no value."""
    return condition.astype(float).where(of.notna()).mean(axis=1, skipna=False)


def _log(x: Table) -> Table:
    with np.errstate(divide="ignore"):  # two flows of which one got nothing
        return np.log(x)


def _mean(x: Table) -> pd.Series:
    """Geometric mean of each row."""
    return np.exp(_log(x).mean(axis=1, skipna=False))


def _by_protocol(x: Table, rtts_ms: Sequence[float] | None = None) -> Table:
    """Geometric mean over all that a protocol has, or over some RTTs: a column per protocol."""
    chosen = x if rtts_ms is None else x.loc[:, (slice(None), rtts_ms)]
    return np.exp(over(_log(chosen), "protocol", "mean"))


def _apart(a: Table, b: Table) -> Table:
    """The larger over the smaller, cell by cell."""
    return np.maximum(a / b, b / a)


def _pearson(x: Table, y: Table) -> pd.Series:
    """Correlation coefficient over the columns of each row; NaN where a cell has no value."""
    x, y = (table.sub(table.mean(axis=1, skipna=False), axis=0) for table in (x, y))
    xy, xx, yy = ((a * b).sum(axis=1, skipna=False) for a, b in ((x, y), (x, x), (y, y)))
    return xy / np.sqrt(xx * yy)


def _less_mean_at_rtt(x: Table) -> Table:
    """Each cell less the mean over the protocols at its RTT."""
    means = over(x, "rtt_ms", "mean")[x.columns.get_level_values("rtt_ms")]
    return x - means.set_axis(x.columns, axis=1)


def _at_rtt(x: Table, rtt_ms: float) -> Table:
    """A column per protocol."""
    return x.xs(rtt_ms, axis=1, level="rtt_ms")


def _utilisation(evidence: Evidence, experiment: str) -> Table:
    return evidence.table(experiment, "utilisation", PROTOCOL_AND_RTT)


def _fall(evidence: Evidence) -> Table:
    """Utilisation without background at the claim's short RTT less that at its long one, by protocol."""
    used, rtt_ms = _utilisation(evidence, "util_alone"), evidence["rtt_ms"]
    return _at_rtt(used, rtt_ms["short"]) - _at_rtt(used, rtt_ms["long"])


def _gain_by_type2(evidence: Evidence, protocol: str, alone: str = "util_alone") -> dict[str, pd.Series]:
    """Utilisation with Type II (four flows) less that without background (two, unless ``alone`` has others), by clause."""
    with_type2, without = (_utilisation(evidence, name)[protocol] for name in ("util_type2", alone))
    return {clause: with_type2[rtt_ms] - without[rtt_ms] for clause, rtt_ms in evidence["rtt_ms"].items()}


def _behind_good(used: Table, protocol: str, by: str) -> Table:
    """Mean utilisation of BIC and CUBIC less that of a protocol, a column per value of ``by``."""
    return over(used[GOOD], by, "mean") - used[protocol]


def _varied_and_fixed(x: Table, kinds: Sequence[str]) -> tuple[Table, Table]:
    """What varied and what fixed RTTs of the background give, a column per type."""
    return x[kinds], x[[FIXED.format(kind) for kind in kinds]].set_axis(kinds, axis=1)


def _ratios(evidence: Evidence, experiment: str, traffic: str) -> Table:
    return evidence.table(experiment, "fair_ratio", PROTOCOL_AND_RTT, traffic=traffic)


def _over_sack(evidence: Evidence, traffic: str, protocols: Sequence[str]) -> dict[str, Table | pd.Series]:
    """Mean ratio of flows of different RTTs over that of SACK, by clause."""
    ratio = _by_protocol(_ratios(evidence, "rtt_fairness", traffic), evidence["rtt_ms"])
    return _each(ratio.div(ratio["SACK"], axis=0), protocols)


def _gains_by_type5(evidence: Evidence, experiment: str) -> Table:
    """Ratio with Type V over that without background: a column per (protocol, RTT)."""
    return _ratios(evidence, experiment, "Type V") / _ratios(evidence, experiment, "none")


def _by_type(evidence: Evidence, test: str, metric: str = "fair_ratio") -> Table:
    """A ratio in the setting of figure 13: a column per (protocol, traffic), none and Type V included."""
    over_rtt, types = TESTS[test]
    by = ["protocol", "traffic"]
    four = evidence.table(types, metric, by)
    four = four[[column for column in four if column[1] in FOUR_TYPES]]
    rtt_ms = evidence.config.experiments[types].grid["rtt_ms"].value[0]
    two = evidence.table(over_rtt, metric, by, rtt_ms=rtt_ms)[four.columns.unique("protocol")]
    return pd.concat([two, four], axis=1).sort_index(axis=1)


def _gains(evidence: Evidence, test: str) -> Table:
    """Ratio with each background over that without: a column per (protocol, traffic)."""
    ratio = _by_type(evidence, test)
    without = ratio.xs("none", axis=1, level="traffic")
    with_background = ratio.drop(columns="none", level="traffic")
    return with_background / without[with_background.columns.get_level_values("protocol")].to_numpy()
