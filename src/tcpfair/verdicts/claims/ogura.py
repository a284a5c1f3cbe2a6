"""Claims of ogura: Model I and II, RTT fairness, efficiency and friendliness of the two-mode proposal.

``ratio`` is the throughput of flow 2 over that of flow 1, that is of the varied or larger RTT over 40 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcpfair.metrics.epochs import LOSS_KINDS, growth_slope_pkts_per_s
from tcpfair.metrics.series import first_time_s
from tcpfair.models import aimd, rtt_fairness
from tcpfair.units import MS_PER_S
from tcpfair.verdicts.claims.evidence import Evidence, Finding, never_rises, over, range_over, within

# --- Sections 2.1, 3, 5.2 and 5.3: window ratio, Model I and Model II ---------------------------------------------


def ogura_c01(evidence: Evidence) -> Finding:
    """Eq. 1 gives the window exponents that the text names."""
    expected = pd.Series(evidence["exponent"], dtype=float)
    exponent = expected.index.to_series().map(lambda label: float(rtt_fairness.window_exponent(rtt_fairness.D[label])))
    return Finding(np.allclose(exponent, expected, rtol=0, atol=evidence["tolerance"]), {"exponent of eq. 1": exponent})


def ogura_c02(evidence: Evidence) -> Finding:
    """t1 of Libra is the same at both RTTs."""
    return _ratio_is(evidence, "model1", "t1_s", "Libra")


def ogura_c03(evidence: Evidence) -> Finding:
    """t1 of Reno grows with the square of the RTT."""
    return _ratio_is(evidence, "model1", "t1_s", "Reno")


def ogura_c04(evidence: Evidence) -> Finding:
    """t1 of Alpha grows with the RTT."""
    return _ratio_is(evidence, "model1", "t1_s", "Alpha")


def ogura_c05(evidence: Evidence) -> Finding:
    """At the reference RTT all windows coincide before the queue builds."""
    return _same_window(evidence, _model1_growth(evidence))


def ogura_c06(evidence: Evidence) -> Finding:
    """Simulation and eq. 8 and 11 agree in t1 and in the window over time."""
    t1_s = _times(evidence, "model1", "t1_s")
    in_model, apart = {}, {}
    for growth in _model1_growth(evidence):
        residual_pps = growth.capacity_pps * evidence.config.analysis_value("residual_share")
        in_model[growth.name] = aimd.t1_s(residual_pps, growth.rtt_s, growth.increment_pkts)
        eq11_pkts = aimd.model1_cwnd_pkts(
            growth.t_s, growth.rtt_s, growth.capacity_pps, residual_pps, growth.increment_pkts
        )
        apart[growth.name] = float(np.max(np.abs(growth.cwnd_pkts / eq11_pkts - 1)))
    apart = pd.Series(apart)
    t1_apart = (t1_s / pd.Series(in_model) - 1).abs()
    holds = (t1_apart <= evidence["tolerance_rel"]).all(axis=1) & (apart <= evidence["tolerance_rel"]).all()
    return Finding(holds, {"t1 s": t1_s, "t1 off by": t1_apart, "cwnd(t) off by at most": apart})


def ogura_c07(evidence: Evidence) -> Finding:
    """Alpha's window grows by as many packets per second at either RTT."""
    slopes = {
        growth.rtt_ms: growth_slope_pkts_per_s(growth.t_s, growth.cwnd_pkts, 0.0, growth.t_s[-1])
        for growth in _model1_growth(evidence)
        if growth.protocol == "Alpha"
    }
    least_ms, largest_ms = evidence["rtt_ms"]
    same = abs(slopes[largest_ms] / slopes[least_ms] - 1) <= evidence["tolerance_rel"]
    return Finding(same, {"Alpha, packets/s": pd.Series(slopes)})


def ogura_c08(evidence: Evidence) -> Finding:
    """t2 of Alpha is the same at both RTTs."""
    return _ratio_is(evidence, "model2", "t2_s", "Alpha")


def ogura_c09(evidence: Evidence) -> Finding:
    """t2 of Reno grows with the RTT."""
    t2_s = _times(evidence, "model2", "t2_s")["Reno"]
    least_ms, largest_ms = evidence["rtt_ms"]
    return Finding(t2_s[largest_ms] > t2_s[least_ms] * (1 + evidence["tolerance_rel"]), {"t2 s of Reno": t2_s})


def ogura_c10(evidence: Evidence) -> Finding:
    """t2 of Libra falls with the RTT."""
    t2_s = _times(evidence, "model2", "t2_s")["Libra"]
    least_ms, largest_ms = evidence["rtt_ms"]
    return Finding(t2_s[largest_ms] < t2_s[least_ms] * (1 - evidence["tolerance_rel"]), {"t2 s of Libra": t2_s})


def ogura_c11(evidence: Evidence) -> Finding:
    """At the reference RTT all windows coincide while the buffer fills."""
    return _same_window(evidence, _model2_growth(evidence))


def ogura_c12(evidence: Evidence) -> Finding:
    """Simulated windows bend downwards while the buffer fills: their second differences are negative."""
    bends = {}
    for growth in _model2_growth(evidence):
        times_s = np.linspace(0, growth.t_s[-1], evidence["pieces"] + 1)
        bends[growth.name] = np.diff(np.interp(times_s, growth.t_s, growth.cwnd_pkts), n=2).max()
    bends = pd.Series(bends)
    return Finding((bends < 0).all(), {"largest second difference, packets": bends})


def ogura_c13(evidence: Evidence) -> Finding:
    """Simulated t2 agrees with eq. 14."""
    t2_s = _times(evidence, "model2", "t2_s")
    buffer_pkts = evidence.config.analysis_value("model_buffer_pkts")
    reference_s = evidence.config.analysis_value("rtt_ref_s")
    in_model = {}
    for growth in _model2_growth(evidence):
        mean_rtt_s, mean_reference_s = (
            aimd.average_rtt_s(rtt_s, growth.capacity_pps, buffer_pkts) for rtt_s in (growth.rtt_s, reference_s)
        )
        increment_pkts = aimd.increment_per_rtt_pkts(growth.protocol.lower(), mean_rtt_s, mean_reference_s)
        in_model[growth.name] = aimd.t2_s(mean_rtt_s, buffer_pkts, increment_pkts)
    apart = (t2_s / pd.Series(in_model) - 1).abs()
    return Finding((apart <= evidence["tolerance_rel"]).all(axis=1), {"t2 s": t2_s, "off by": apart})


# --- Section 5.4: RTT fairness -----------------------------------------------------------------------------------


def ogura_c14(evidence: Evidence) -> Finding:
    """Two Proposal flows share equally at most loss rates."""
    ratio = _by_loss(evidence, "Proposal")
    share = _is_fair(evidence, ratio).mean(axis=1)
    return Finding(share > evidence["more_than_share"], {"share of loss rates": share, "ratio": ratio})


def ogura_c15(evidence: Evidence) -> Finding:
    """Reno is the most unfair at high loss."""
    unfairness = np.log(evidence.table("loss_sweep", "ratio", ["protocol", "loss_rate"])).abs()
    at_high_loss = unfairness.loc[:, pd.IndexSlice[:, evidence["loss_rate"]]]
    others = over(at_high_loss.drop(columns="Reno", level="protocol"), "loss_rate", "max")
    return Finding(at_high_loss["Reno"].gt(others).all(axis=1), {"|log ratio|": at_high_loss})


def ogura_c16(evidence: Evidence) -> Finding:
    """Libra is fair at high loss."""
    ratio = _by_loss(evidence, "Libra")[evidence["loss_rate"]]
    return Finding(_is_fair(evidence, ratio).all(axis=1), {"ratio of Libra": ratio})


def ogura_c17(evidence: Evidence) -> Finding:
    """At low loss Libra gives the larger RTT more."""
    ratio = _by_loss(evidence, "Libra")[evidence["loss_rate"]]
    return Finding((ratio > 1 + evidence["tolerance_rel"]).all(axis=1), {"ratio of Libra": ratio})


def ogura_c18(evidence: Evidence) -> Finding:
    """Alpha gives the larger RTT about half at high loss."""
    ratio = _by_loss(evidence, "Alpha")[evidence["loss_rate"]]
    return Finding(within(ratio, *evidence["ratio"], evidence["tolerance"]).all(axis=1), {"ratio of Alpha": ratio})


def ogura_c19(evidence: Evidence) -> Finding:
    """Alpha and Reno are fairer at low than at high loss."""
    rates = evidence["loss_rate"]
    ratios = {protocol: _by_loss(evidence, protocol)[[rates["low"], rates["high"]]] for protocol in ("Alpha", "Reno")}
    holds = True
    for ratio in ratios.values():
        unfairness = np.log(ratio).abs()
        holds &= unfairness[rates["low"]] < unfairness[rates["high"]] * (1 - evidence["tolerance_rel"])
    return Finding(holds, ratios)


def ogura_c20(evidence: Evidence) -> Finding:
    """Reno and Alpha give the smaller RTT more, whichever of the flows has it."""
    rtt_ms, tolerance_rel = evidence["rtt_ms"], evidence["tolerance_rel"]
    ratios = {protocol: _by_rtt(evidence, protocol) for protocol in ("Reno", "Alpha")}
    holds = True
    for ratio in ratios.values():
        more, less = ratio[rtt_ms["least"]] > 1 + tolerance_rel, ratio[rtt_ms["largest"]] < 1 - tolerance_rel
        holds &= _falls(ratio, tolerance_rel) & more & less
    return Finding(holds, ratios)


def ogura_c21(evidence: Evidence) -> Finding:
    """Libra gives the varied flow the more, the larger its RTT."""
    ratio = _by_rtt(evidence, "Libra")
    return Finding(_falls(1 / ratio, evidence["tolerance_rel"]), {"ratio of Libra": ratio})


def ogura_c22(evidence: Evidence) -> Finding:
    """Proposal stays fair as the varied RTT grows."""
    ratio = _by_rtt(evidence, "Proposal").loc[:, evidence["least_rtt_ms"] :]
    return Finding(_is_fair(evidence, ratio).all(axis=1), {"ratio of Proposal": ratio})


def ogura_c23(evidence: Evidence) -> Finding:
    """At the least RTT Proposal is nearer to Alpha than to Libra."""
    ratio = evidence.table("rtt_sweep", "ratio", "protocol", rtt_ms=evidence["rtt_ms"])[["Proposal", "Alpha", "Libra"]]
    to_alpha, to_libra = (ratio["Proposal"] - ratio["Alpha"]).abs(), (ratio["Proposal"] - ratio["Libra"]).abs()
    return Finding(to_alpha < to_libra, {"ratio": ratio})


def ogura_c24(evidence: Evidence) -> Finding:
    """Reno and Alpha favour the smaller RTT about equally at every buffer size."""
    ratios = {protocol: _by_buffer(evidence, protocol) for protocol in ("Reno", "Alpha")}
    holds = True
    for ratio in ratios.values():
        holds &= (ratio < 1).all(axis=1) & (range_over(ratio) <= evidence["spread"] + evidence["tolerance"])
    return Finding(holds, ratios)


def ogura_c25(evidence: Evidence) -> Finding:
    """Libra favours the larger RTT at every buffer size."""
    ratio = _by_buffer(evidence, "Libra")
    return Finding((ratio > 1 + evidence["tolerance_rel"]).all(axis=1), {"ratio of Libra": ratio})


def ogura_c26(evidence: Evidence) -> Finding:
    """Proposal lies between Libra and Alpha at every buffer size."""
    ratios = {protocol: _by_buffer(evidence, protocol) for protocol in ("Proposal", "Libra", "Alpha")}
    low, high = np.minimum(ratios["Libra"], ratios["Alpha"]), np.maximum(ratios["Libra"], ratios["Alpha"])
    slack = evidence["tolerance_rel"]
    between = (ratios["Proposal"] >= low * (1 - slack)) & (ratios["Proposal"] <= high * (1 + slack))
    return Finding(between.all(axis=1), ratios)


def ogura_c27(evidence: Evidence) -> Finding:
    """Libra is fairer at the largest buffer than where it is least fair."""
    ratio = _by_buffer(evidence, "Libra")
    unfairness = (ratio - 1).abs()
    at_largest = unfairness[unfairness.columns.max()]
    return Finding(at_largest < unfairness.max(axis=1) * (1 - evidence["tolerance_rel"]), {"ratio of Libra": ratio})


# --- Section 5.5: efficiency -------------------------------------------------------------------------------------


def ogura_c28(evidence: Evidence) -> Finding:
    """At the least RTT Proposal and Westwood alone get more than the others."""
    r = evidence.table("efficiency", "throughput_mean", "protocol", flow=1, rtt_ms=evidence["rtt_ms"])
    ahead, others = r[["Proposal", "Westwood"]].min(axis=1), r[["Reno", "Libra", "Alpha"]].max(axis=1)
    return Finding(ahead > others * (1 + evidence["tolerance_rel"]), {"Mb/s": r})


def ogura_c29(evidence: Evidence) -> Finding:
    """Westwood alone loses more than half of its throughput as the RTT grows."""
    least_ms, largest_ms = evidence["rtt_ms"]
    r = _alone(evidence, "Westwood")[[least_ms, largest_ms]]
    bound = evidence["share"] * (1 - evidence["tolerance_rel"])
    return Finding(r[largest_ms] < bound * r[least_ms], {"Mb/s of Westwood": r})


def ogura_c30(evidence: Evidence) -> Finding:
    """Reno and Alpha alone lose throughput as the RTT grows."""
    throughputs = {f"Mb/s of {protocol}": _alone(evidence, protocol) for protocol in ("Reno", "Alpha")}
    reno, alpha = (_falls(r, evidence["tolerance_rel"]) for r in throughputs.values())
    return Finding(reno & alpha, throughputs)


def ogura_c31(evidence: Evidence) -> Finding:
    """Libra alone has about the same throughput at every RTT."""
    r = _alone(evidence, "Libra")
    low, high = evidence["throughput_mbps"]
    slack = evidence["tolerance_rel"]
    return Finding(within(r, low * (1 - slack), high * (1 + slack)).all(axis=1), {"Mb/s of Libra": r})


def ogura_c32(evidence: Evidence) -> Finding:
    """At the largest RTT Proposal alone has the highest throughput, or ties with it."""
    r = evidence.table("efficiency", "throughput_mean", "protocol", flow=1, rtt_ms=evidence["rtt_ms"])
    return Finding(r["Proposal"] >= r.max(axis=1) * (1 - evidence["tolerance_rel"]), {"Mb/s": r})


# --- Section 5.6: friendliness -----------------------------------------------------------------------------------


def ogura_c33(evidence: Evidence) -> Finding:
    """A Reno flow of smaller RTT gets more than the 40 ms flow."""
    ratio = _against_reno(evidence, "ratio", "Reno")[evidence["rtt_ms"]]
    return Finding(ratio > 1 + evidence["tolerance_rel"], {"ratio of Reno": ratio})


def ogura_c34(evidence: Evidence) -> Finding:
    """A Reno flow of larger RTT gets less than the 40 ms flow."""
    ratio = _against_reno(evidence, "ratio", "Reno")[evidence["rtt_ms"]]
    return Finding(ratio < 1 - evidence["tolerance_rel"], {"ratio of Reno": ratio})


def ogura_c35(evidence: Evidence) -> Finding:
    """What Reno gets against Proposal hardly depends on Proposal's RTT."""
    reno = _against_reno(evidence, "throughput_mean", "Proposal", flow=1)
    spread_rel = range_over(reno) / reno.mean(axis=1)
    holds = spread_rel <= evidence["spread_rel"] + evidence["tolerance"]
    return Finding(holds, {"spread": spread_rel, "Mb/s of Reno against Proposal": reno})


def ogura_c36(evidence: Evidence) -> Finding:
    """Reno and Proposal together get more than two Reno flows."""
    with_proposal, with_reno = (
        _against_reno(evidence, "throughput_sum", protocol) for protocol in ("Proposal", "Reno")
    )
    above = (with_proposal > with_reno * (1 + evidence["tolerance_rel"])).all(axis=1)
    return Finding(above, {"Mb/s of both with Proposal": with_proposal, "with Reno": with_reno})


# --- What the claims share ---------------------------------------------------------------------------------------


def _by_loss(evidence: Evidence, protocol: str) -> pd.DataFrame:
    return evidence.table("loss_sweep", "ratio", "loss_rate", protocol=protocol)


def _by_rtt(evidence: Evidence, protocol: str) -> pd.DataFrame:
    return evidence.table("rtt_sweep", "ratio", "rtt_ms", protocol=protocol)


def _by_buffer(evidence: Evidence, protocol: str) -> pd.DataFrame:
    return evidence.table("buffer_sweep", "ratio", "buffer_pkts", protocol=protocol)


def _alone(evidence: Evidence, protocol: str) -> pd.DataFrame:
    return evidence.table("efficiency", "throughput_mean", "rtt_ms", flow=1, protocol=protocol)


def _against_reno(evidence: Evidence, metric: str, protocol: str, flow: int = 0) -> pd.DataFrame:
    return evidence.table("friendliness", metric, "rtt_ms", flow=flow, protocol=protocol)


def _is_fair(evidence: Evidence, ratio: pd.DataFrame) -> pd.DataFrame:
    return within(ratio, *evidence.config.analysis_value("fair_ratio"), evidence["tolerance"])


def _falls(table: pd.DataFrame, tolerance_rel: float) -> pd.Series:
    """Whether each replicate ends below where it starts and rises nowhere between, but for ``tolerance_rel``."""
    values = table.sort_index(axis=1)
    lower = values.iloc[:, -1] < values.iloc[:, 0] * (1 - tolerance_rel)
    return lower & never_rises(values, tolerance_rel=tolerance_rel)


def _name(label: str) -> str:
    """``Libra (eq. 15)``, as the configuration calls the variant whose k follows the queue, is Libra."""
    return label.split()[0]


def _times(evidence: Evidence, experiment: str, metric: str) -> pd.DataFrame:
    """t1 or t2 in s by protocol and RTT in ms."""
    times_s = evidence.table(experiment, metric, ["protocol", "rtt_ms"], flow=1)
    return times_s.rename(columns=_name, level="protocol")


def _ratio_is(evidence: Evidence, experiment: str, metric: str, protocol: str) -> Finding:
    """Whether a time at the larger RTT is the stated multiple of that at the least."""
    times_s = _times(evidence, experiment, metric)[protocol]
    least_ms, largest_ms = evidence["rtt_ms"]
    ratio = times_s[largest_ms] / times_s[least_ms]
    slack = evidence["ratio"] * evidence["tolerance_rel"]
    return Finding(within(ratio, evidence["ratio"], evidence["ratio"], slack), {"ratio": ratio, "s": times_s})


@dataclass(frozen=True)
class _Growth:
    """The window of one flow while it grows: ``t_s`` (samples,) since the start and ``cwnd_pkts``, and its setting."""

    protocol: str
    rtt_ms: float
    rtt_s: float
    capacity_pps: float
    increment_pkts: float  # x_RTT without queueing delay
    t_s: np.ndarray
    cwnd_pkts: np.ndarray

    @property
    def name(self) -> tuple[str, float]:
        return self.protocol, self.rtt_ms


def _model1_growth(evidence: Evidence) -> list[_Growth]:
    """From where the residual capacity is free until the window is the BDP."""
    return _growths(evidence, "model1", 1 - evidence.config.analysis_value("residual_share"), 1.0)


def _model2_growth(evidence: Evidence) -> list[_Growth]:
    """From the BDP until the buffer overflows."""
    return _growths(evidence, "model2", 1.0, np.inf)


def _growths(evidence: Evidence, experiment: str, start_bdp: float, stop_bdp: float) -> list[_Growth]:
    """The runs' windows from ``start_bdp`` to ``stop_bdp``, in BDP, or to the first loss."""
    trace = evidence.trace(experiment)
    reference_s = evidence.config.analysis_value("rtt_ref_s")
    losses = trace.events[trace.events["kind"].isin(LOSS_KINDS)]
    first_loss_s = losses.groupby("run_id")["t_s"].min()
    samples = trace.samples.groupby("run_id")
    growths = []
    for run in trace.runs.itertuples():
        t_s, cwnd_pkts = (samples.get_group(run.run_id)[column].to_numpy(float) for column in ("t_s", "cwnd_pkts"))
        rtt_s, capacity_pps = run.rtt_ms / MS_PER_S, aimd.link_capacity_pps(run.capacity_bps, run.wire_bytes)
        bdp = aimd.bdp_pkts(rtt_s, capacity_pps)
        start_s = first_time_s(cwnd_pkts >= start_bdp * bdp, t_s)
        stop_s = np.fmin(first_time_s(cwnd_pkts > stop_bdp * bdp, t_s), first_loss_s.get(run.run_id, t_s[-1]))
        inside = (t_s >= start_s) & (t_s < stop_s)
        protocol = _name(run.protocol)
        increment_pkts = aimd.increment_per_rtt_pkts(protocol.lower(), rtt_s, reference_s)
        growths.append(
            _Growth(protocol, run.rtt_ms, rtt_s, capacity_pps, increment_pkts, t_s[inside] - start_s, cwnd_pkts[inside])
        )
    return growths


def _same_window(evidence: Evidence, growths: list[_Growth]) -> Finding:
    """Whether the windows of all protocols at one RTT coincide for as long as all of them grow."""
    chosen = [growth for growth in growths if growth.rtt_ms == evidence["rtt_ms"]]
    t_s = min((growth.t_s for growth in chosen), key=len)
    windows = np.array([np.interp(t_s, growth.t_s, growth.cwnd_pkts) for growth in chosen])
    apart = float(np.max(np.ptp(windows, axis=0) / windows.mean(axis=0)))
    numbers = {"largest difference of cwnd(t)": apart, "of": ", ".join(growth.protocol for growth in chosen)}
    return Finding(apart <= evidence["tolerance_rel"], numbers)
