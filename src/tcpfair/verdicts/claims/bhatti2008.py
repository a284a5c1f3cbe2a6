"""Claims of bhatti2008: S. Bhatti, M. Bateman, D. Rehunathan, T. Henderson, G. Bigwood, D. Miras, Revisiting inter-flow
fairness, 2008.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from tcpfair.metrics.fairness import flow_nru_db_of_mean
from tcpfair.verdicts.claims.evidence import Evidence, Finding, at_least, never_rises
from tcpfair.verdicts.claims.pair_tests import (
    PROTOCOL_AND_RTT,
    SHARE_OF_SELF_PAIR,
    case_letters,
    cells,
    fair_at_least,
    fall_over_rtt,
    flow_nru_db,
    jfi_range,
    largest_nru_turns_positive,
    mean_jfi,
    share_of_self_pair,
    share_of_self_pair_within,
    tcp_lead_mbps,
    throughput_mbps,
    with_other_weights,
)

TCP_VARIANTS = ["NewReno", "CUBIC"]


# --- The index itself, and the threshold of convergence (sec. II, III) -------------------------------------------


def bhatti2008_c01(evidence: Evidence) -> Finding:
    """The index of two values stays in [0.51, 1] while their ratio spans four orders of magnitude."""
    return jfi_range(evidence)


def bhatti2008_c18(evidence: Evidence) -> Finding:
    """The convergence threshold U_c is the NRU of a flow that has 90% of its expected throughput."""
    u_db = float(flow_nru_db_of_mean([[evidence["share"]]], weights=[1.0])[0])
    u_c_db = evidence.config.analysis_value("U_c_db")
    return Finding(abs(u_db - u_c_db) <= evidence["tolerance_db"], {"NRU of the share, dB": u_db, "U_c, dB": u_c_db})


# --- Index and throughputs (sec. VI-A) ---------------------------------------------------------------------------


def bhatti2008_c02(evidence: Evidence) -> Finding:
    """CCID2 and NewReno are fair to each other at every RTT."""
    return fair_at_least(evidence, mean_jfi(evidence, "pair")["NewReno"][evidence["rtt_ms"]])


def bhatti2008_c03(evidence: Evidence) -> Finding:
    """CUBIC is unfair to CCID2 beyond 25 ms, and takes more."""
    j = mean_jfi(evidence, "pair")["CUBIC"][evidence["rtt_ms"]]
    lead_mbps = tcp_lead_mbps(evidence, "pair")["CUBIC"][evidence["rtt_ms"]]
    unfair = (j <= evidence["jfi_max"] + evidence["tolerance_jfi"]).all(axis=1)
    takes_more = (lead_mbps >= evidence["tie_mbps"]).all(axis=1)
    return Finding(unfair & takes_more, {"JFI": j, "lead over CCID2, Mb/s": lead_mbps})


def bhatti2008_c04(evidence: Evidence) -> Finding:
    """CUBIC takes more than CCID2 at every RTT."""
    lead_mbps = tcp_lead_mbps(evidence, "pair")["CUBIC"][evidence["rtt_ms"]]
    return at_least(lead_mbps, evidence["tie_mbps"], "lead over CCID2, Mb/s")


def bhatti2008_c05(evidence: Evidence) -> Finding:
    """Beyond 125 ms the index of CUBIC and CCID2 and the throughput of CCID2 are higher than there, in the mean."""
    j_gain = _gain_beyond(evidence, mean_jfi(evidence, "pair")["CUBIC"])
    ccid2_gain_mbps = _gain_beyond(evidence, throughput_mbps(evidence, "pair", flow=1)["CUBIC"])
    holds = (j_gain >= evidence["tie_jfi"]) & (ccid2_gain_mbps >= evidence["tie_mbps"])
    return Finding(holds, {"gain of JFI": j_gain, "gain of CCID2, Mb/s": ccid2_gain_mbps})


def bhatti2008_c06(evidence: Evidence) -> Finding:
    """Two NewReno or two CUBIC flows deliver more than two of CCID2 at the larger RTTs."""
    sum_mbps = evidence.table("self", "throughput_sum", PROTOCOL_AND_RTT)
    leads = {name: (sum_mbps[name] - sum_mbps["CCID2"])[evidence["rtt_ms"]] for name in TCP_VARIANTS}
    return at_least(pd.concat(leads, axis=1), evidence["tolerance_mbps"], "lead over CCID2, Mb/s")


def bhatti2008_c07(evidence: Evidence) -> Finding:
    """Two flows of one protocol deliver less at 200 than at 25 ms."""
    sum_mbps = evidence.table("self", "throughput_sum", PROTOCOL_AND_RTT)
    low, high = evidence["rtt_ms"]
    falls = {name: sum_mbps[name, low] - sum_mbps[name, high] for name in (*TCP_VARIANTS, "CCID2")}
    return at_least(pd.concat(falls, axis=1), evidence["tolerance_mbps"], "fall of the sum, Mb/s")


# --- Against the self-pair (sec. VI-B) ---------------------------------------------------------------------------


def bhatti2008_c08(evidence: Evidence) -> Finding:
    """At 25 ms CCID2 gets about as much against CUBIC as against itself."""
    return share_of_self_pair_within(evidence, "pair", "CUBIC")


def bhatti2008_c09(evidence: Evidence) -> Finding:
    """At 100 ms CCID2 gets much less than half against CUBIC of what it gets against itself."""
    share = share_of_self_pair(evidence, "pair", "CUBIC")
    return Finding(share < evidence["share_max"] + evidence["tolerance"], {SHARE_OF_SELF_PAIR: share})


def bhatti2008_c19(evidence: Evidence) -> Finding:
    """CCID2 is fair to itself at every RTT."""
    return fair_at_least(evidence, mean_jfi(evidence, "self")["CCID2"][evidence["rtt_ms"]])


# --- NRU (sec. VI-C) ---------------------------------------------------------------------------------------------


def bhatti2008_c10(evidence: Evidence) -> Finding:
    """Case letters of the NRU tuples: A for NewReno at 125 ms, B elsewhere; C to one decimal for CUBIC at 25 ms."""
    letters = case_letters(evidence, "pair", PROTOCOL_AND_RTT, evidence["decimals"])
    rounded = case_letters(evidence, "pair", PROTOCOL_AND_RTT, evidence["rounded_decimals"])
    claimed = [letter for name in TCP_VARIANTS for letter in evidence["letters"][name]]
    agree = letters[cells(TCP_VARIANTS, evidence["rtt_ms"])] == claimed
    rounded_cell = evidence["rounded_protocol"], evidence["rounded_rtt_ms"]
    rounded_agrees = rounded[rounded_cell] == evidence["rounded_letter"]
    known = letters.notna().all(axis=1)
    return Finding(
        agree.all(axis=1) & rounded_agrees,
        {
            f"letters as claimed, of {len(claimed)}": agree.sum(axis=1).where(known),
            "share with the claimed letter": agree.mean(),
            "share with the claimed rounded letter": float(rounded_agrees.mean()),
        },
    )


def bhatti2008_c11(evidence: Evidence) -> Finding:
    """Against CUBIC at 100 ms one flow has less than half its expectation and one well above it."""
    u_n_db = flow_nru_db(evidence, "pair", PROTOCOL_AND_RTT).xs(("CUBIC", evidence["rtt_ms"]), axis=1, level=[1, 2])
    lower_db, upper_db = u_n_db.min(axis=1, skipna=False), u_n_db.max(axis=1, skipna=False)
    below = lower_db < evidence["u_minus_db"] + evidence["tolerance_db"]
    above = upper_db > evidence["u_plus_db"] - evidence["tolerance_db"]
    return Finding(below & above, {"lower U_n dB": lower_db, "upper U_n dB": upper_db})


def bhatti2008_c12(evidence: Evidence) -> Finding:
    """Over RTT the mean NRU varies less than the index, relative to the largest value.

    A relative range needs a scale with a zero, which dB lack: U_N counts as the share 10^(U_N/10), which is 1, as JFI is,
    where all flows get what is fair.
    """
    share = 10 ** (evidence.table("pair", "U_N", PROTOCOL_AND_RTT) / 10)
    j = mean_jfi(evidence, "pair")
    ranges = {
        label: pd.concat({name: _relative_range(x[name][evidence["rtt_ms"]]) for name in TCP_VARIANTS}, axis=1)
        for label, x in (("relative range of NRU", share), ("of JFI", j))
    }
    flatter = ranges["relative range of NRU"] < ranges["of JFI"]
    return Finding(flatter.all(axis=1), ranges)


# --- Convergence (sec. VI-D) -------------------------------------------------------------------------------------


def bhatti2008_c13(evidence: Evidence) -> Finding:
    """NewReno converges to fairness with CCID2 at more RTTs than CUBIC."""
    time_s = _convergence_time_s(evidence)[cells(TCP_VARIANTS, evidence["rtt_ms"])]
    count = _rtts_where(np.isfinite(time_s), time_s.notna())
    holds = count["NewReno"] - count["CUBIC"] >= evidence["tolerance_count"]
    return Finding(holds, {"RTTs with convergence": count})


def bhatti2008_c14(evidence: Evidence) -> Finding:
    """CUBIC converges sooner than NewReno at every RTT where both do."""
    time_s = _convergence_time_s(evidence)
    time_s = time_s.where(np.isfinite(time_s))
    lead_s = (time_s["NewReno"] - time_s["CUBIC"])[evidence["rtt_ms"]]
    holds = ((lead_s >= evidence["tolerance_s"]) | lead_s.isna()).all(axis=1)
    return Finding(holds, {"mean lead of CUBIC, s": lead_s.mean(axis=1), "least lead, s": lead_s.min(axis=1)})


def bhatti2008_c20(evidence: Evidence) -> Finding:
    """Where CUBIC and CCID2 converge, both stay fair for less than half of the time that follows."""
    share = evidence.table("pair", "converged_share", "rtt_ms", protocol="CUBIC")[evidence["rtt_ms"]]
    largest = share.max(axis=1)
    holds = largest < evidence["share_max"] + evidence["tolerance"]
    numbers = {"RTTs with convergence": share.notna().sum(axis=1), "largest share of time": largest}
    return Finding(holds, numbers)


def bhatti2008_c21(evidence: Evidence) -> Finding:
    """As many RTTs without convergence as claimed: the pattern itself is noise, so the counts decide."""
    time_s = _convergence_time_s(evidence)[cells(TCP_VARIANTS, evidence["rtt_ms"])]
    never = np.isinf(time_s)
    count = _rtts_where(never, time_s.notna())
    claimed = pd.Series({name: len(rtts_ms) for name, rtts_ms in evidence["never_rtt_ms"].items()})
    named = [(name, rtt) for name in TCP_VARIANTS for rtt in evidence["never_rtt_ms"][name]]
    pattern = never[named].all(axis=1) & (never.sum(axis=1) == len(named))
    holds = (count == claimed[count.columns]).all(axis=1)
    return Finding(holds, {"RTTs without convergence": count, "share with the claimed pattern": float(pattern.mean())})


# --- Fourteen flows (sec. VI-E) ----------------------------------------------------------------------------------


def bhatti2008_c15(evidence: Evidence) -> Finding:
    """The index of 14 flows falls as RTT rises."""
    j = evidence.table("ns2_14", "jfi_mean", "rtt_ms")[evidence["rtt_ms"]]
    return Finding(never_rises(j, evidence["tolerance_jfi"]), {"JFI": j, "fall in all": fall_over_rtt(j)})


def bhatti2008_c16(evidence: Evidence) -> Finding:
    """Some of 14 flows do better than expected from 125 ms on, and none before."""
    return largest_nru_turns_positive(evidence, "ns2_14")


def bhatti2008_c17(evidence: Evidence) -> Finding:
    """Case letters of the NRU tuples of 14 flows, to one decimal."""

    def letters(metric: str) -> pd.DataFrame:
        return case_letters(evidence, "ns2_14", "rtt_ms", evidence["decimals"], metric)[evidence["rtt_ms"]]

    def agree(metric: str) -> pd.Series:
        return (letters(metric) == list(evidence["letters"])).all(axis=1)

    found = letters("U_n")
    matching = (found == list(evidence["letters"])).sum(axis=1).where(found.notna().all(axis=1))
    numbers = {f"letters as claimed, of {found.shape[1]}": matching}
    return Finding(agree("U_n"), numbers | with_other_weights(evidence, "ns2_14", "U_n", agree))


# --- Shared predicates -------------------------------------------------------------------------------------------


def _gain_beyond(evidence: Evidence, table: pd.DataFrame) -> pd.Series:
    """Mean over the larger RTTs less the value at the claim's reference RTT."""
    return table[evidence["rtt_ms"]].mean(axis=1, skipna=False) - table[evidence["from_rtt_ms"]]


def _relative_range(table: pd.DataFrame) -> pd.Series:
    """(largest - least)/largest of each row."""
    largest = table.max(axis=1, skipna=False)
    return (largest - table.min(axis=1)) / largest


def _convergence_time_s(evidence: Evidence) -> pd.DataFrame:
    """T_U of the system in s, a column per (protocol, rtt_ms); infinite where the flows never converge, NaN unmeasured.

    In place of a mean over the runs that converge, which would hide those that do not, averaged evidence has the time by
    which the configured share of the runs has converged.
    """
    every_run = replace(evidence, averaged=False)
    time_s = every_run.table("pair", "T_U", PROTOCOL_AND_RTT)
    measured = every_run.table("pair", "U_N", PROTOCOL_AND_RTT).notna()
    time_s = time_s.mask(time_s.isna() & measured, np.inf)
    if not evidence.averaged:
        return time_s
    share = evidence.config.analysis_value("converged_runs_share")
    return time_s.quantile([share], interpolation="higher").set_axis([0]).rename_axis(index=time_s.index.name)


def _rtts_where(condition: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Number of RTTs at which ``condition`` holds, a column per protocol; NaN unless all were measured."""
    by_protocol = condition.astype(float).where(measured).T.groupby(level="protocol")
    return by_protocol.sum(skipna=False).T[TCP_VARIANTS]
