"""What the claims of bhatti2008 and bhatti2009 have in common: pair tests, their self-pairs and NRU.

Tables have, unless it is said otherwise, a column per (protocol, rtt_ms). `protocol` is the TCP variant of a pair with CCID2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tcpfair.metrics import fairness
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import Evidence, Table, over, trend

PROTOCOL_AND_RTT = ["protocol", "rtt_ms"]
CCID2 = "CCID2"


def of_pairs(evidence: Evidence, experiment: str, metric: str, flow: int = 0) -> Table:
    """A metric of the system, or of one flow, with the columns in ascending order."""
    return evidence.table(experiment, metric, PROTOCOL_AND_RTT, flow=flow).sort_index(axis=1)


def mean_jfi(evidence: Evidence, experiment: str) -> Table:
    """Time mean of J(t), the index that the papers print."""
    return of_pairs(evidence, experiment, "jfi_mean")


def throughput_mbps(evidence: Evidence, experiment: str, flow: int) -> Table:
    """Mean throughput of one flow in Mb/s."""
    return of_pairs(evidence, experiment, "throughput_mean", flow)


def sum_mbps(evidence: Evidence) -> Table:
    """Mean throughput of two flows of the same protocol together, in Mb/s."""
    return of_pairs(evidence, "self", "throughput_sum")


def tcp_lead_mbps(evidence: Evidence, experiment: str) -> Table:
    """Throughput of the TCP variant less that of CCID2 in Mb/s, in a pair test in which CCID2 is flow 1."""
    return throughput_mbps(evidence, experiment, flow=2) - throughput_mbps(evidence, experiment, flow=1)


def share_of_self_pair(evidence: Evidence, experiment: str, protocol: str) -> pd.Series:
    """Throughput of CCID2, flow 1 of a pair test, over that of flow 1 of two CCID2 flows, at the RTT of the claim."""
    rtt_ms = evidence["rtt_ms"]
    against_itself_mbps = throughput_mbps(evidence, "self", flow=1)[CCID2, rtt_ms]
    return throughput_mbps(evidence, experiment, flow=1)[protocol, rtt_ms] / against_itself_mbps


def flow_nru_db(evidence: Evidence, experiment: str, by: str | Sequence[str]) -> Table:
    """U_n (eq. 5) of every flow; the first level of the columns is the flow, the others are the grid variables ``by``."""
    metrics = evidence.metrics(experiment)
    flows = sorted(metrics.loc[metrics["metric"] == "U_n", "flow"].unique()) or [1]  # the table says what is missing
    tables = {flow: evidence.table(experiment, "U_n", by, flow=flow) for flow in flows}
    return pd.concat(tables, axis=1, names=["flow"])


def nru_gap_db(evidence: Evidence, experiment: str) -> Table:
    """U_N+ less U_N- of two flows in dB, as the distance between their U_n.

    The two are the same when one flow is above its expectation and one below. When both are below, U_N+ does not exist,
    yet the flows are as unequal as their distance says (bhatti2009, sec. V-A: with two flows U_N+ and U_N- are the flows).
    """
    u_n_db = flow_nru_db(evidence, experiment, PROTOCOL_AND_RTT)
    return (u_n_db[2] - u_n_db[1]).abs()


def largest_nru_db(evidence: Evidence, experiment: str) -> Table:
    """Largest U_n of all flows in dB, a column per RTT: U_N+ exists where it is at least 0."""
    return over(flow_nru_db(evidence, experiment, "rtt_ms"), "rtt_ms", "max")


def case_letters(evidence: Evidence, experiment: str) -> Table:
    """Case letters (table II) of U_N+ and U_N-; NaN where a flow has no NRU."""
    u_n_db = flow_nru_db(evidence, experiment, PROTOCOL_AND_RTT)
    flows = u_n_db.columns.unique("flow")
    columns = u_n_db[flows[0]].columns
    system = fairness.nru_tuple(np.stack([u_n_db[flow][columns] for flow in flows], axis=-1))
    letters = fairness.case_letter(system.u_plus, system.u_minus)
    return pd.DataFrame(letters, u_n_db.index, columns, dtype=object).where(np.isfinite(system.u_mean))


def turns_positive(evidence: Evidence) -> Quantities:
    """Largest NRU of 14 flows, up to the RTT at which none has its fair share and from that on at which some have."""
    u_db = largest_nru_db(evidence, "ns2_14")
    before, after = evidence["last_without_rtt_ms"], evidence["first_with_rtt_ms"]
    return {"before": u_db.loc[:, :before], "after": u_db.loc[:, after:]}


def falls_with_rtt(evidence: Evidence) -> Quantities:
    """The index of 14 flows: what it loses from the least to the largest RTT, and its trend."""
    j, rtt_ms = evidence.table("ns2_14", "jfi_mean", "rtt_ms"), evidence["rtt_ms"]
    return {"ends": j[rtt_ms["least"]] - j[rtt_ms["largest"]], "trend": trend(j)}


def jfi_range(evidence: Evidence) -> Quantities:
    """Least and largest index (eq. 1) of a fixed rate and one that runs over four orders of magnitude."""
    lowest, highest = evidence.config.analysis_value("jfi_rate_range")
    varied = np.arange(lowest, highest + 1)
    fixed = np.full(varied.shape, evidence.config.analysis_value("jfi_fixed_rate"))
    j = fairness.jfi(np.stack([varied, fixed]), axis=0)
    return {"least": float(j.min()), "largest": float(j.max())}
