"""Claims of kozu2014: RTT fairness of CUBIC, the effect of K, and the proposed K.

Flow 1 has the RTT of 2 ms, flow 2 the varied one. ``ratio`` is the throughput of flow 2 over that of flow 1; the index is
Jain's of the mean throughputs (eq. 5).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpfair.models import cubic, cubic_map
from tcpfair.units import MS_PER_S
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import Evidence, combined, trend
from tcpfair.verdicts.paper_models import link_of

# --- Section 3.1: standard CUBIC ---------------------------------------------------------------------------------


def kozu2014_c04(evidence: Evidence) -> Quantities:
    """Mean windows in MB are the published ones."""
    mb_per_pkt = evidence.config.settings["payload_bytes"].value * evidence["mb_per_byte"]
    short, long = (
        evidence.table("transitions", "cwnd_mean", "rtt_ms", flow=flow, protocol="CUBIC").iloc[:, 0] for flow in (1, 2)
    )
    return {"short": short * mb_per_pkt, "long": long * mb_per_pkt}


def kozu2014_c05(evidence: Evidence) -> Quantities:
    """The windows that the target rate needs at both RTTs (eq. 10 and 11)."""
    rtt_s = np.array(evidence["rtt_ms"]) / MS_PER_S
    needed = cubic.window_needed_bytes(evidence.config.analysis_value("target_rate_bps"), rtt_s)
    return {"windows": pd.DataFrame([dict(zip(evidence["rtt_ms"], needed / evidence["window_bytes"], strict=True))])}


# --- Section 3.2: the map from one common loss to the next -------------------------------------------------------


def kozu2014_c08(evidence: Evidence) -> Quantities:
    """With common losses, the window of the flow with the larger K falls and the other rises, for any windows."""
    link, shares = link_of(evidence.config, evidence["rtt_ms"]), evidence["shares"]
    states = np.linspace(shares["least"], shares["largest"], shares["count"])
    model = cubic_map.CubicMap(link, cubic_map.STANDARD, cubic_map.PAPER)
    return {"moves": float(np.mean([_large_k_falls(model, share) for share in states]))}


def _large_k_falls(model: cubic_map.CubicMap, share: float) -> bool:
    before = model.link.windows_pkts(share)
    _, after = model.next_loss(before)
    k_s = model.method.k_s(before, np.array(model.link.rtt_s))
    return bool(after[k_s.argmax()] < before[k_s.argmax()] and after[k_s.argmin()] > before[k_s.argmin()])


# --- Sections 4 and 5: the proposal ------------------------------------------------------------------------------


def kozu2014_c15(evidence: Evidence) -> Quantities:
    """Eq. 6 gives flows of equal rate the same K, in any unit of RTT."""
    rtt_s = np.array(evidence["rtt_ms"]) / MS_PER_S
    k_s = {u: cubic.proposed_k_s(evidence["rate_pps"] * rtt_s, rtt_s, u) for u in evidence["rtt_unit_s"]}
    return {"same": pd.DataFrame([{f"RTT in units of {unit:g} s": k.max() / k.min() for unit, k in k_s.items()}])}


def kozu2014_c16(evidence: Evidence) -> Quantities:
    """The smaller the root, the more the flow of larger RTT gets."""
    throughput = evidence.table("alpha", "throughput_mean", ["rtt_ms", "root"], flow=2)
    rtts_ms = throughput.columns.unique("rtt_ms")
    return {"rises": pd.DataFrame({rtt_ms: -trend(throughput[rtt_ms]) for rtt_ms in rtts_ms})}


# --- Appendices A, B and D: other methods ------------------------------------------------------------------------


def kozu2014_c20(evidence: Evidence) -> Quantities:
    """The proposal and the tuned method are about as fair."""
    proposed, existing = _proposed_and_existing(evidence)
    return {"comparable": (proposed - existing).mean(axis=1, skipna=False)}


def kozu2014_c21(evidence: Evidence) -> Quantities:
    """The index of the proposal varies no more over the RTTs than that of the tuned method."""
    proposed, existing = (combined(index, "range") for index in _proposed_and_existing(evidence))
    return {"stable": proposed - existing}


def kozu2014_c23(evidence: Evidence) -> Quantities:
    """The share of the window that remains with beta, where eq. 1 starts."""
    w_max_pkts = 1.0
    left = cubic.window_pkts(0.0, cubic.cubic_k_s(w_max_pkts, evidence["beta"]), w_max_pkts) / w_max_pkts
    return {"left": float(left)}


# --- Shared by several claims ------------------------------------------------------------------------------------


def _proposed_and_existing(evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Index of the proposal and of the existing method, whose x is tuned on some replicates and judged on the others."""
    first = evidence.config.analysis_value("tuning_replicates")
    tuning, judged = (
        evidence.table("existing", "jfi_of_means", ["rtt_ms", "x"], replicates=part)
        for part in (slice(None, first - 1), slice(first, None))
    )
    of_x = tuning.mean().unstack("x").sort_index()
    x = cubic.tuned_x(of_x, of_x.columns)
    existing = pd.DataFrame({rtt_ms: judged[rtt_ms, value] for rtt_ms, value in zip(of_x.index, x, strict=True)})
    late = slice(first, None)
    proposed = evidence.table("rtt_sweep", "jfi_of_means", "rtt_ms", replicates=late, protocol="Proposed K")
    return proposed.reindex(index=judged.index, columns=existing.columns), existing
