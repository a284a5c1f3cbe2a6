"""What the claims of bhatti2008 and bhatti2009 have in common: pair tests, their self-pairs and NRU.

Tables have a row per replicate and, unless it is said otherwise, a column per (protocol, rtt_ms). `protocol` is the TCP
variant of a pair with CCID2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

import numpy as np
import pandas as pd

from tcpfair.measures import BY_RULE
from tcpfair.metrics import fairness
from tcpfair.verdicts.claims.evidence import Evidence, Finding, at_least, over, within

PROTOCOL_AND_RTT = ["protocol", "rtt_ms"]
SHARE_OF_SELF_PAIR = "throughput of CCID2 over that against itself"


def cells(protocols: Iterable[str], rtts_ms: Iterable[float]) -> list[tuple[str, float]]:
    """Column labels of every protocol at every RTT; a table without one of them raises KeyError."""
    return list(product(protocols, rtts_ms))


def spread_over_protocols(table: pd.DataFrame) -> pd.DataFrame:
    """Largest less least value of the protocols of ``table``, a column per RTT."""
    return over(table, "rtt_ms", "max") - over(table, "rtt_ms", "min")


def mean_jfi(evidence: Evidence, experiment: str) -> pd.DataFrame:
    """Time mean of J(t), the index that the papers print."""
    return evidence.table(experiment, "jfi_mean", PROTOCOL_AND_RTT)


def throughput_mbps(evidence: Evidence, experiment: str, flow: int) -> pd.DataFrame:
    """Mean throughput of one flow in Mb/s."""
    return evidence.table(experiment, "throughput_mean", PROTOCOL_AND_RTT, flow=flow)


def tcp_lead_mbps(evidence: Evidence, experiment: str) -> pd.DataFrame:
    """Throughput of the TCP variant less that of CCID2 in Mb/s, in a pair test in which CCID2 is flow 1."""
    return throughput_mbps(evidence, experiment, flow=2) - throughput_mbps(evidence, experiment, flow=1)


def fair_at_least(evidence: Evidence, j: pd.DataFrame) -> Finding:
    """The index is the claim's bound at least in every cell."""
    return at_least(j, evidence["jfi_min"] - evidence["tolerance_jfi"], "JFI")


def share_of_self_pair(evidence: Evidence, experiment: str, protocol: str) -> pd.Series:
    """Throughput of CCID2, flow 1 of a pair test, over the mean throughput of flow 1 of two CCID2 flows."""
    rtt_ms = evidence["rtt_ms"]
    expected_mbps = throughput_mbps(evidence, "self", flow=1)["CCID2", rtt_ms].mean()
    return throughput_mbps(evidence, experiment, flow=1)[protocol, rtt_ms] / expected_mbps


def share_of_self_pair_within(evidence: Evidence, experiment: str, protocol: str) -> Finding:
    """CCID2 gets about the share of the claim of what it gets against itself."""
    share = share_of_self_pair(evidence, experiment, protocol)
    holds = within(share, *evidence["share"], tolerance=evidence["tolerance"])
    return Finding(holds, {SHARE_OF_SELF_PAIR: share})


def flow_nru_db(evidence: Evidence, experiment: str, by: str | Sequence[str], metric: str = "U_n") -> pd.DataFrame:
    """U_n (eq. 5) of every flow; the first level of the columns is the flow, the others are the grid variables ``by``."""
    metrics = evidence.metrics(experiment)
    flows = sorted(metrics.loc[metrics["metric"] == metric, "flow"].unique())
    tables = {flow: evidence.table(experiment, metric, by, flow=flow) for flow in flows}
    return pd.concat(tables, axis=1, names=["flow"])


def nru_gap_db(evidence: Evidence, experiment: str) -> pd.DataFrame:
    """U_N+ less U_N- of two flows in dB, as the distance between their U_n.

    The two are the same when one flow is above its expectation and one below. When both are below, U_N+ does not exist,
    yet the flows are as unequal as their distance says (bhatti2009, sec. V-A: with two flows U_N+ and U_N- are the flows).
    """
    u_n = flow_nru_db(evidence, experiment, PROTOCOL_AND_RTT)
    return (u_n[2] - u_n[1]).abs()


def largest_nru_db(evidence: Evidence, experiment: str, metric: str = "U_n") -> pd.DataFrame:
    """Largest U_n of all flows in dB, a column per RTT: U_N+ exists where it is at least 0."""
    return over(flow_nru_db(evidence, experiment, "rtt_ms", metric), "rtt_ms", "max")


def case_letters(
    evidence: Evidence, experiment: str, by: str | Sequence[str], decimals: int, metric: str = "U_n"
) -> pd.DataFrame:
    """Case letters (table II) of U_N+ and U_N- rounded to ``decimals``, a column per value of ``by``.

    NaN where a flow has no NRU.
    """
    u_n = flow_nru_db(evidence, experiment, by, metric)
    flows = u_n.columns.unique("flow")
    columns = u_n[flows[0]].columns
    system = fairness.nru_tuple(np.stack([u_n[flow][columns] for flow in flows], axis=-1))
    letters = fairness.case_letter(system.u_plus, system.u_minus, decimals)
    return pd.DataFrame(letters, u_n.index, columns, dtype=object).where(np.isfinite(system.u_mean))


def largest_nru_turns_positive(evidence: Evidence, experiment: str) -> Finding:
    """No flow reaches its expectation up to one RTT and at least one does beyond it, with a zero band."""
    band_db = evidence["zero_band_db"]

    def turns(metric: str) -> pd.Series:
        u_n_db = largest_nru_db(evidence, experiment, metric)
        absent = u_n_db[evidence["absent_rtt_ms"]] < band_db
        present = u_n_db[evidence["present_rtt_ms"]] >= -band_db
        return absent.all(axis=1) & present.all(axis=1)

    numbers = {"largest U_n dB": largest_nru_db(evidence, experiment)}
    return Finding(turns("U_n"), numbers | with_other_weights(evidence, experiment, "U_n", turns))


def with_other_weights(
    evidence: Evidence, experiment: str, metric: str, holds: Callable[[str], pd.Series]
) -> dict[str, float]:
    """Share of the replicates in which a claim holds for each further rule of the weights: it tells, but does not decide.

    ``holds`` gives the truth per replicate for ``metric`` under the name that it has with that rule.
    """
    measured = evidence.metrics(experiment)["metric"].unique()
    others = sorted(name for name in measured if name.startswith(f"{metric}{BY_RULE}"))
    return {f"share that holds with weights {name.partition(BY_RULE)[2]}": float(holds(name).mean()) for name in others}


def jfi_range(evidence: Evidence) -> Finding:
    """Least and largest index (eq. 1) of a fixed rate and one that runs over four orders of magnitude."""
    lowest, highest = evidence.config.analysis_value("jfi_rate_range")
    varied = np.arange(lowest, highest + 1)
    fixed = np.full(varied.shape, evidence.config.analysis_value("jfi_fixed_rate"))
    j = fairness.jfi(np.stack([varied, fixed]), axis=0)
    extremes = {"least JFI": float(j.min()), "largest JFI": float(j.max())}
    expected = [evidence["jfi_min"], evidence["jfi_max"]]
    return Finding(np.allclose([*extremes.values()], expected, rtol=0, atol=evidence["tolerance_jfi"]), extremes)


def fall_over_rtt(table: pd.DataFrame) -> pd.Series:
    """Value at the least RTT (column) less that at the largest."""
    ordered = table.sort_index(axis=1)
    return ordered.iloc[:, 0] - ordered.iloc[:, -1]
