"""Claims of kozu2014: RTT fairness of CUBIC, the part that K has in it, and the proposed K.

Flow 1 has the RTT of 2 ms, flow 2 the varied one. ``ratio`` is the throughput of flow 2 over that of flow 1; the index is
Jain's of the mean throughputs (eq. 5).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from tcpfair.models import cubic, cubic_map
from tcpfair.models.aimd import link_capacity_pps
from tcpfair.units import MS_PER_S
from tcpfair.verdicts.claims.evidence import Evidence, Finding, never_rises, range_over, within

STANDARD, CONSTANT_K, PROPOSED, WITH_C = "CUBIC", "K of 5000 ms", "Proposed K", "Proposed K and C'"
RENO, CONSTANT_RATE = "Reno", "Constant-Rate"

# --- Section 3.1: standard CUBIC ---------------------------------------------------------------------------------


def kozu2014_c01(evidence: Evidence) -> Finding:
    """The flow of 2 ms gets more than that of any larger RTT."""
    lead = _lead(evidence).loc[:, evidence["least_rtt_ms"] :]
    return Finding((lead > 1 + evidence["tolerance_rel"]).all(axis=1), {"2 ms flow over the other": lead})


def kozu2014_c02(evidence: Evidence) -> Finding:
    """The index falls from the least RTT of flow 2 to the largest and rises nowhere between."""
    index, rtt_ms, tie = _index(evidence, STANDARD), evidence["rtt_ms"], evidence["tolerance"]
    lower = index[rtt_ms["largest"]] < index[rtt_ms["least"]] - tie
    return Finding(lower & never_rises(index, tie), {"index": index})


def kozu2014_c03(evidence: Evidence) -> Finding:
    """At the largest RTT one flow gets more than twice the other."""
    lead = _lead(evidence)[evidence["rtt_ms"]]
    index = _index(evidence, STANDARD)[evidence["rtt_ms"]]
    holds = lead > evidence["ratio"] * (1 + evidence["tolerance_rel"])
    return Finding(holds, {"2 ms flow over the other": lead, "index": index})


def kozu2014_c04(evidence: Evidence) -> Finding:
    """Mean windows in MB are the printed ones."""
    mb_per_pkt = evidence.config.settings["payload_bytes"].value * evidence["mb_per_byte"]
    own = {flow: _of_flow(evidence, "cwnd_mean", STANDARD, flow) * mb_per_pkt for flow in (1, 2)}
    holds = True
    for window_mb, printed_mb in zip(own.values(), evidence["cwnd_mb"], strict=True):
        holds &= within(window_mb, printed_mb, printed_mb, evidence["tolerance_rel"] * printed_mb)
    return Finding(holds, {"MB at 2 ms": own[1], "MB at 128 ms": own[2]})


def kozu2014_c05(evidence: Evidence) -> Finding:
    """The windows that the target rate needs at both RTTs (eq. 10 and 11)."""
    rtt_s = np.array(evidence["rtt_ms"]) / MS_PER_S
    needed = cubic.window_needed_bytes(evidence.config.analysis_value("target_rate_bps"), rtt_s)
    holds = np.allclose(needed, evidence["window_bytes"], rtol=evidence["tolerance_rel"], atol=0)
    return Finding(holds, {"bytes": pd.Series(needed, index=evidence["rtt_ms"])})


def kozu2014_c06(evidence: Evidence) -> Finding:
    """The window of the 2 ms flow carries the target rate nearly always, that of the 128 ms flow less than half the time."""
    short, long = (_of_flow(evidence, "window_enough_share", STANDARD, flow) for flow in (1, 2))
    slack = evidence["tolerance"]
    holds = (short > evidence["more_than_share"] - slack) & (long < evidence["less_than_share"] + slack)
    return Finding(holds, {"share of the time at 2 ms": short, "at 128 ms": long})


def kozu2014_c07(evidence: Evidence) -> Finding:
    """K of the 128 ms flow is the larger one most of the time."""
    share = _of_flow(evidence, "k_larger_share", STANDARD, 0)
    return Finding(share > evidence["share"] + evidence["tolerance"], {"share of the time": share})


# --- Section 3.2: the map from one common loss to the next -------------------------------------------------------


def kozu2014_c08(evidence: Evidence) -> Finding:
    """With common losses the window of the flow with the larger K falls and the other rises, whatever they are."""
    link, shares = _link(evidence), evidence["shares"]
    states = np.linspace(shares["least"], shares["largest"], shares["count"])
    found = {
        text: float(np.mean([_large_k_falls(cubic_map.CubicMap(link, cubic_map.STANDARD, how), s) for s in states]))
        for text, how in (
            ("by the sum of windows", cubic_map.PAPER),
            ("by a full link", cubic_map.Reading(full_link=True)),
        )
    }
    return Finding(found["by the sum of windows"] == 1, {f"share of states {text}": x for text, x in found.items()})


def _large_k_falls(model: cubic_map.CubicMap, share: float) -> bool:
    before = model.link.windows_pkts(share)
    _, after = model.next_loss(before)
    k_s = model.method.k_s(before, np.array(model.link.rtt_s))
    return bool(after[k_s.argmax()] < before[k_s.argmax()] and after[k_s.argmin()] > before[k_s.argmin()])


def _link(evidence: Evidence) -> cubic_map.Link:
    settings = evidence.config.settings
    capacity_pps = link_capacity_pps(settings["capacity_bps"].value, settings["wire_bytes"].value)
    rtt_s = tuple(rtt_ms / MS_PER_S for rtt_ms in evidence["rtt_ms"])
    return cubic_map.Link(capacity_pps, settings["buffer_pkts"].value, rtt_s)


# --- Sections 3.3 and 3.4: constant K ----------------------------------------------------------------------------


def kozu2014_c09(evidence: Evidence) -> Finding:
    """A flow of large RTT and small K gets far more than standard CUBIC at 2 ms."""
    ratio = evidence.table("k1000", "ratio", "rtt_ms")[evidence["rtt_ms"]]
    bound = evidence["ratio"] * (1 + evidence["tolerance_rel"])
    return Finding((ratio > bound).all(axis=1), {"over the 2 ms flow": ratio})


def kozu2014_c10(evidence: Evidence) -> Finding:
    """The same K for both is fairer than standard CUBIC at large RTTs."""
    constant, standard = (_index(evidence, protocol)[evidence["rtt_ms"]] for protocol in (CONSTANT_K, STANDARD))
    holds = (constant > standard + evidence["tolerance"]).all(axis=1)
    return Finding(holds, {"index with a K of 5 s": constant, "with standard K": standard})


def kozu2014_c11(evidence: Evidence) -> Finding:
    """The same K for both is not fair at every RTT."""
    index = _index(evidence, CONSTANT_K)
    return Finding((index < evidence["jfi"] - evidence["tolerance"]).any(axis=1), {"index with a K of 5 s": index})


# --- Sections 4 and 5: the proposal ------------------------------------------------------------------------------


def kozu2014_c12(evidence: Evidence) -> Finding:
    """The proposed K is fairer than the standard one at every large RTT, and by some way on average."""
    proposed, standard = (
        _index(evidence, protocol).loc[:, evidence["least_rtt_ms"] :] for protocol in (PROPOSED, STANDARD)
    )
    gain, tie = proposed - standard, evidence["tolerance"]
    holds = (gain > tie).all(axis=1) & (gain.mean(axis=1) > evidence["gain"] + tie)
    return Finding(holds, {"index with the proposed K": proposed, "with standard K": standard})


def kozu2014_c13(evidence: Evidence) -> Finding:
    """With the proposal K of the 128 ms flow is the smaller one."""
    short, long = (_of_flow(evidence, "k_mean", PROPOSED, flow) for flow in (1, 2))
    return Finding(long < short, {"mean K in s at 2 ms": short, "at 128 ms": long})


def kozu2014_c14(evidence: Evidence) -> Finding:
    """With the proposal the window of the 128 ms flow is the larger one."""
    short, long = (_of_flow(evidence, "cwnd_mean", PROPOSED, flow) for flow in (1, 2))
    return Finding(long > short, {"mean window in packets at 2 ms": short, "at 128 ms": long})


def kozu2014_c15(evidence: Evidence) -> Finding:
    """Eq. 6 gives flows of equal rate the same K, in any unit of RTT."""
    rtt_s = np.array(evidence["rtt_ms"]) / MS_PER_S
    k_s = {u: cubic.proposed_k_s(evidence["rate_pps"] * rtt_s, rtt_s, u) for u in evidence["rtt_unit_s"]}
    same = all(np.allclose(k, k[0], rtol=evidence["tolerance_rel"], atol=0) for k in k_s.values())
    return Finding(same, {"K in s by unit of RTT in s": pd.Series({u: float(k.mean()) for u, k in k_s.items()})})


def kozu2014_c16(evidence: Evidence) -> Finding:
    """The smaller the root, the more the flow of larger RTT gets."""
    throughput = evidence.table("alpha", "throughput_mean", ["rtt_ms", "root"], flow=2)
    holds = True
    for rtt_ms in throughput.columns.unique("rtt_ms"):
        of_root = throughput[rtt_ms]
        for root, smaller in pairwise(sorted(of_root.columns, reverse=True)):
            holds &= of_root[smaller] > of_root[root]
    return Finding(holds, {"Mb/s of flow 2 by RTT and root": throughput})


# --- Appendices A, B and D: other methods ------------------------------------------------------------------------


def kozu2014_c17(evidence: Evidence) -> Finding:
    """Reno is much less fair than CUBIC at the largest RTT."""
    reno, standard = (_index(evidence, protocol)[evidence["rtt_ms"]] for protocol in (RENO, STANDARD))
    holds = reno < standard - evidence["gap"] - evidence["tolerance"]
    return Finding(holds, {"index of Reno": reno, "of CUBIC": standard})


def kozu2014_c18(evidence: Evidence) -> Finding:
    """Constant-Rate is fairer than Reno at large RTTs."""
    rate, reno = _at_large_rtts(evidence, CONSTANT_RATE, RENO)
    holds = (rate > reno + evidence["tolerance"]).all(axis=1)
    return Finding(holds, {"index of Constant-Rate": rate, "of Reno": reno})


def kozu2014_c19(evidence: Evidence) -> Finding:
    """Constant-Rate is less fair than CUBIC and than the proposal at large RTTs."""
    rate, standard, proposed = _at_large_rtts(evidence, CONSTANT_RATE, STANDARD, PROPOSED)
    holds = (rate < np.minimum(standard, proposed) - evidence["tolerance"]).all(axis=1)
    return Finding(holds, {"index of Constant-Rate": rate, "of CUBIC": standard, "of the proposed K": proposed})


def kozu2014_c20(evidence: Evidence) -> Finding:
    """The proposal and the tuned method are about as fair at every RTT."""
    proposed, existing = _proposed_and_existing(evidence)
    apart = (proposed - existing).abs()
    holds = (apart <= evidence["apart"] + evidence["tolerance"]).all(axis=1)
    return Finding(holds, {"index of the proposed K": proposed, "of the existing method": existing})


def kozu2014_c21(evidence: Evidence) -> Finding:
    """The index of the proposal varies no more over the RTTs than that of the tuned method."""
    proposed, existing = (range_over(index) for index in _proposed_and_existing(evidence))
    holds = proposed <= existing + evidence["tolerance"]
    return Finding(holds, {"spread with the proposed K": proposed, "with the existing method": existing})


def kozu2014_c22(evidence: Evidence) -> Finding:
    """C' is fairer than C at some RTT and varies more over the RTTs."""
    with_c, proposed = (_index(evidence, protocol) for protocol in (WITH_C, PROPOSED))
    tie = evidence["tolerance"]
    holds = (with_c > proposed + tie).any(axis=1) & (range_over(with_c) > range_over(proposed) + tie)
    return Finding(holds, {"index with C'": with_c, "with C": proposed})


def kozu2014_c23(evidence: Evidence) -> Finding:
    """What beta leaves of the window, which is where eq. 1 starts."""
    w_max_pkts = 1.0
    left = cubic.window_pkts(0.0, cubic.cubic_k_s(w_max_pkts, evidence["beta"]), w_max_pkts) / w_max_pkts
    holds = abs(left - evidence["ssthresh_ratio"]) <= evidence["tolerance"]
    return Finding(bool(holds), {"ssthresh / W_max": float(left)})


# --- What the claims share ---------------------------------------------------------------------------------------


def _index(evidence: Evidence, protocol: str) -> pd.DataFrame:
    """Jain's index by RTT of flow 2."""
    return evidence.table("rtt_sweep", "jfi_of_means", "rtt_ms", protocol=protocol)


def _at_large_rtts(evidence: Evidence, *protocols: str) -> list[pd.DataFrame]:
    return [_index(evidence, protocol).loc[:, evidence["least_rtt_ms"] :] for protocol in protocols]


def _lead(evidence: Evidence) -> pd.DataFrame:
    """Throughput of flow 1 over that of flow 2, standard CUBIC."""
    short, long = (
        evidence.table("rtt_sweep", "throughput_mean", "rtt_ms", flow=flow, protocol=STANDARD) for flow in (1, 2)
    )
    return short / long


def _of_flow(evidence: Evidence, metric: str, protocol: str, flow: int) -> pd.Series:
    """A metric of the runs whose windows are followed over time; there is one RTT."""
    return evidence.table("transitions", metric, "rtt_ms", flow=flow, protocol=protocol).iloc[:, 0]


def _proposed_and_existing(evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Index of the proposal and of the existing method, whose x is tuned on some replicates and judged on the others."""
    table = evidence.table("existing", "jfi_of_means", ["rtt_ms", "x"])
    first = 0 if evidence.averaged else evidence.config.analysis_value("tuning_replicates")
    tuning = table if evidence.averaged else table[table.index < first]
    of_x = tuning.mean().unstack("x").sort_index()
    x = cubic.tuned_x(of_x, of_x.columns)
    judged = table[table.index >= first]
    existing = pd.DataFrame({rtt_ms: judged[rtt_ms, value] for rtt_ms, value in zip(of_x.index, x, strict=True)})
    proposed = _index(evidence, PROPOSED).reindex(index=judged.index, columns=existing.columns)
    return proposed, existing
