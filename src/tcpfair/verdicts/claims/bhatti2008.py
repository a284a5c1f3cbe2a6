"""Claims of bhatti2008: S. Bhatti, M. Bateman, D. Rehunathan, T. Henderson, G. Bigwood, D. Miras, Revisiting inter-flow
fairness, 2008.

Flow 1 of a pair is CCID2, flow 2 NewReno or CUBIC.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpfair.metrics.fairness import flow_nru_db_of_mean
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import Evidence, Table, combined, share_of
from tcpfair.verdicts.claims.pair_tests import PROTOCOL_AND_RTT, jfi_range
from tcpfair.verdicts.combine import over_flows

NEWRENO, CUBIC = "NewReno", "CUBIC"
TCP_VARIANTS = {"newreno": NEWRENO, "cubic": CUBIC}  # by clause
SOME_FAIR = "B"  # table II: one flow has its share or more, the other less


# --- The index itself, and the threshold of convergence (sec. II, III) -------------------------------------------


bhatti2008_c01 = jfi_range


def bhatti2008_c18(evidence: Evidence) -> Quantities:
    """The threshold of convergence is the NRU of a flow that has 90 % of its expected throughput."""
    return {"threshold": float(flow_nru_db_of_mean([[evidence["share"]]], weights=[1.0])[0])}


# --- NRU (sec. VI-C) ---------------------------------------------------------------------------------------------


def bhatti2008_c10(evidence: Evidence) -> Quantities:
    """Case letters of the NRU tuples: mostly B, A for NewReno at 125 ms, and C to one decimal for CUBIC at 25 ms."""
    flows = evidence.flows("pair", "U_n")
    first, *others = (evidence.table("pair", "U_n", PROTOCOL_AND_RTT, flow=flow) for flow in flows)
    u_n_db = np.stack([first, *(other[first.columns] for other in others)], axis=-1)
    higher_db = pd.DataFrame(u_n_db.max(axis=-1), first.index, first.columns)
    is_known = np.isfinite(higher_db + u_n_db.min(axis=-1))
    return {
        "most": share_of(is_known, is_known & (over_flows(u_n_db, "case") == SOME_FAIR)),
        "neither": higher_db[tuple(evidence["neither"])],
        "rounded": higher_db[tuple(evidence["rounded"])],
    }


def bhatti2008_c12(evidence: Evidence) -> Quantities:
    """Over RTT the mean NRU varies less than the index, relative to the largest value.

    A relative range needs a scale with a zero, which dB lack, so U_N is converted to the share 10^(U_N/10). Like JFI, this
    share is 1 if all flows are fair.
    """
    j, u_n_db = (evidence.table("pair", metric, PROTOCOL_AND_RTT) for metric in ("jfi_mean", "U_N"))
    share = 10 ** (u_n_db / 10)
    return {clause: _relative_range(j[name]) - _relative_range(share[name]) for clause, name in TCP_VARIANTS.items()}


# --- Convergence (sec. VI-D) -------------------------------------------------------------------------------------


def bhatti2008_c13(evidence: Evidence) -> Quantities:
    """NewReno converges to fairness with CCID2 at more RTTs than CUBIC."""
    converged = _converged(evidence)
    n_rtts = {name: converged[name].sum(axis=1, skipna=False) for name in TCP_VARIANTS.values()}
    return {"likelier": n_rtts[NEWRENO] - n_rtts[CUBIC]}


def bhatti2008_c14(evidence: Evidence) -> Quantities:
    """CUBIC converges sooner than NewReno where both do."""
    time_s = evidence.table("pair", "T_U", PROTOCOL_AND_RTT)
    return {"sooner": np.exp(np.log(time_s[NEWRENO] / time_s[CUBIC]).mean(axis=1))}


def bhatti2008_c20(evidence: Evidence) -> Quantities:
    """Where CUBIC and CCID2 converge, both stay fair for little of the time that follows, and less than with NewReno."""
    share = evidence.table("pair", "converged_share", PROTOCOL_AND_RTT)
    cubic, newreno = (share[name].loc[:, evidence["least_rtt_ms"] :].mean(axis=1) for name in (CUBIC, NEWRENO))
    return {"short": cubic, "shorter": cubic - newreno}


def bhatti2008_c21(evidence: Evidence) -> Quantities:
    """The RTTs at which most of the runs never converge."""
    share, never = _converged(evidence), evidence["never_rtt_ms"]
    reached = share >= evidence.config.analysis_value("converged_runs_share")
    as_printed = reached == [rtt_ms not in never[name] for name, rtt_ms in share.columns]
    return {"pattern": share_of(share.notna(), as_printed)}


# --- Shared by several claims ------------------------------------------------------------------------------------


def _relative_range(table: Table) -> pd.Series:
    """(largest - least)/largest of each row."""
    return combined(table, "range") / combined(table, "max")


def _converged(evidence: Evidence) -> Table:
    """Share of the runs in which both flows come near their fair share; NaN if this was not measured."""
    time_s, known = (evidence.per_run("pair", metric, PROTOCOL_AND_RTT) for metric in ("T_U", "U_N"))
    return evidence.of_runs(time_s.notna().astype(float).where(known.notna()))
