"""Exhibits of recordings: overview, goodput, windows and fairness in any trace."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Table
from tcpfair.exhibits.recordings.recording import (
    NotInTraceError,
    Recording,
    absolute,
    finish_panels,
    finish_time_axis,
    flow_rows,
    metric_numbers,
    of_the_run,
    window_panels,
)
from tcpfair.measures import groups, weights
from tcpfair.measures.resolution import kept
from tcpfair.measures.runs import Floats
from tcpfair.measures.shown import OVER_TIME
from tcpfair.metrics import fairness, series
from tcpfair.metrics.epochs import LOSS_KINDS
from tcpfair.papers.recordings import sidecar_path
from tcpfair.runs.recorded import UNKNOWN_CC
from tcpfair.units import BPS_PER_MBPS, MS_PER_S, bdp_pkts
from tcpfair.verdicts.columns import joined

_MARKED_POINTS = 20  # lines with fewer points have markers: a single point would be invisible

# --- Overview, goodput and windows ---------------------------------------------------------------------------------


def about(recording: Recording) -> Drawn:
    """A table about the recording."""
    run, found = recording.trace.runs.iloc[0], recording.trace.provenance
    capacity_bps = recording.parameter("capacity_bps")
    items = {"recorded by": run["backend"], "kernel": found.get("kernel"), "bottleneck": found.get("bottleneck")}
    items["goodput seen by"] = ", ".join(found.get("goodput", []))
    items["duration"] = f"{run['duration_s']:g} s"
    items["goodput"] = f"{recording.recorded}, shown every {recording.runs.sample_s:g} s"
    items["left out"] = recording.left_out()
    if np.isfinite(capacity_bps):
        ceiling_mbps = recording.runs.ceiling_mbps.item()
        items["link"] = f"{capacity_bps / BPS_PER_MBPS:g} Mb/s, of which {ceiling_mbps:.1f} Mb/s are payload"
    if "buffer_pkts" in run:
        bdp = bdp_pkts(capacity_bps, recording.flows["rtt_s"].max(), recording.parameter("wire_bytes"))
        items["buffer"] = f"{run['buffer_pkts']:.0f} packets, {run['buffer_pkts'] / bdp:.2g} bandwidth-delay products"
    for flow in recording.flows.itertuples():
        rtt = f", RTT {flow.rtt_s * MS_PER_S:.4g} ms" if np.isfinite(flow.rtt_s) else ""
        items[f"flow {flow.flow_id}"] = f"{flow.protocol} from {flow.start_s:g} s{rtt}"
    data = pd.DataFrame([(item, str(text)) for item, text in items.items() if text], columns=["item", "value"])
    cells = data.set_index("item").rename_axis(None).map(escape).rename(columns={"value": ""})
    return Drawn(Table(cells), data=data)


def goodput(recording: Recording) -> Drawn:
    """Goodput of each flow and of all, and the capacity of the link."""
    runs = recording.runs
    r, t_s, ceiling_mbps = runs.r[0], runs.t_s, runs.ceiling_mbps.item()
    known = np.isfinite(ceiling_mbps)
    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.8)
    for flow, row in zip(recording.flows.itertuples(), r, strict=True):
        running = series.window_mask(t_s, flow.start_s, flow.stop_s)
        ax.plot(t_s[running], row[running], **recording.look(flow.flow_id))
    if len(r) > 1:
        ax.plot(t_s, r.sum(axis=0), color=style.BLACK, lw=1, label="sum")
    if known:
        ax.axhline(ceiling_mbps, color=style.GREY, lw=1, ls="--", label=f"ceiling of the link, {ceiling_mbps:.1f} Mb/s")
    ax.set(
        ylabel=OVER_TIME["goodput"].label, ylim=(0, 1.1 * max(np.nanmax(r.sum(axis=0)), ceiling_mbps if known else 0))
    )
    finish_time_axis(ax, recording)
    values = {"throughput_mean": recording.means_mbps, "throughput_sum": recording.sum_mbps}
    if known:
        values["utilisation"] = recording.sum_mbps / ceiling_mbps
    return Drawn(figure, metric_numbers(recording, values), data=flow_rows(recording, "goodput_mbps", r))


def cwnd(recording: Recording) -> Drawn:
    """Window, ssthresh and losses of each flow, a panel each."""
    figure, panels = window_panels(recording)
    recorded = recording.recoveries
    for flow_id, ax in panels.items():
        rows = recorded.windows_of(flow_id)
        ax.plot(rows["t_s"], rows["cwnd_pkts"], color=recording.colors[flow_id], label="cwnd")
        ax.plot(rows["t_s"], rows["ssthresh_pkts"], color=style.GREY, lw=1, ls="--", label="ssthresh")
        for kind, marker, label in (("loss", "v", "window at a loss"), ("rto", "X", "window at a timeout")):
            events = recorded.events_of(flow_id, kind)
            if len(events):
                ax.plot(events["t_s"], events["cwnd_before"], ls="", marker=marker, color=style.BLACK, label=label)
    losses = joined([recorded.events_of(flow_id, *LOSS_KINDS) for flow_id in panels])
    highest_pkts = np.nanmax([*recorded.polls["cwnd_pkts"], *losses["cwnd_before"]])
    finish_panels(panels, recording, 1.1 * highest_pkts)  # not ssthresh, whose initial value is huge
    values = {
        "cwnd_mean": [recorded.windows_of(flow_id)["cwnd_pkts"].mean() for flow_id in panels],
        "losses": [(losses["flow_id"] == flow_id).sum() for flow_id in panels],
    }
    names = {"cwnd_before": "cwnd_pkts", "cwnd_after": "ssthresh_pkts"}
    columns = ["kind", "flow_id", "t_s", "cwnd_pkts", "ssthresh_pkts"]
    data = joined(table[columns] for table in (recorded.polls.assign(kind="poll"), losses.rename(columns=names)))
    return Drawn(figure, metric_numbers(recording, values), data=data)


def rtt(recording: Recording) -> Drawn:
    """The RTT that each sender measured, and the RTT without queues."""
    recorded = recording.recoveries
    known = recorded.polls.dropna(subset="srtt_s")
    if known.empty:
        raise NotInTraceError("the senders' RTTs are not recorded; data/raw/README.md explains how to record TCP_INFO")
    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.6)
    widths = style.nested(len(recording.flows), 2.8, 1.0)  # flows of one RTT see one queue
    for flow, width in zip(recording.flows.itertuples(), widths, strict=True):
        rows, look = known[known["flow_id"] == flow.flow_id], recording.look(flow.flow_id)
        ax.plot(rows["t_s"], rows["srtt_s"] * MS_PER_S, **look, lw=width)
        if np.isfinite(flow.rtt_s):
            ax.hlines(flow.rtt_s * MS_PER_S, flow.start_s, flow.stop_s, color=look["color"], lw=0.9, ls="--")
    ax.set(ylabel=OVER_TIME["rtt"].label, ylim=(0, 1.1 * known["srtt_s"].max() * MS_PER_S))
    finish_time_axis(ax, recording)
    of_flows = known.groupby("flow_id")["srtt_s"].agg(["mean", "max"]).reindex(list(recording.labels)) * MS_PER_S
    values = {"rtt_mean_ms": of_flows["mean"], "rtt_max_ms": of_flows["max"]}
    return Drawn(figure, metric_numbers(recording, values), data=known[["flow_id", "t_s", "srtt_s"]])


# --- Fairness ----------------------------------------------------------------------------------------------------


def jfi(recording: Recording) -> Drawn:
    """J(t), its mean as in the papers (eq. 2 of bhatti2008), and J of the mean throughputs.

    For a run that is too short for means, only J(t).
    """
    _need_several_flows(recording, "J is 1 by definition")
    runs = recording.runs
    together = series.window_mask(runs.t_s, *runs.together_s)
    t_s, j = runs.t_s[together], fairness.jfi_over_time(runs.r[0])[together]
    try:
        counted = recording.counted
    except NotInTraceError:
        if np.isnan(j).all():
            raise
        counted = None
    values = of_the_run(groups.jfi(counted)) if counted else {}
    if "received_bytes" not in recording.trace.samples:
        values.pop("jfi_mean_received", None)
    if recording.is_coarse:
        values = kept("jfi", values)

    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.6)
    of = f", intervals of {recording.runs.sample_s:g} s" if recording.is_coarse else ""
    ax.plot(t_s, j, color=style.BLUE, label=f"$J(t)${of}", marker="." if len(t_s) < _MARKED_POINTS else "")
    for metric, name, color in (
        ("jfi_mean", "mean of $J(t)$", style.BLACK),
        ("jfi_of_means", "$J$ of the means", style.VERMILION),
    ):
        if metric not in values:
            continue
        value = values[metric]
        ax.hlines(value, *counted.window_s, color=color, ls="--", lw=1, label=f"{name}: {value:.4f}")
    ax.set(ylabel="Jain's fairness index", ylim=(min(0.9, np.nanmin(j) - 0.02), 1.01))
    finish_time_axis(ax, recording)
    return Drawn(figure, metric_numbers(recording, values), data=pd.DataFrame({"t_s": t_s, "jfi": j}))


def nru(recording: Recording) -> Drawn:
    """U_n(t) of each flow and the tuple <U_N, U_N+, U_N-> with the letter of its case (bhatti2009 eq. 3-8, Table II).

    For a coarse recording, only the NRU of the mean goodputs: eq. 5 and the case letter need recorded samples.
    """
    _need_several_flows(recording, "it would be measured against itself")
    runs, counted, own_weights = recording.runs, recording.counted, nru_weights(recording)
    u_db, together = weights.u_db(runs, runs.r, own_weights)[0], series.window_mask(runs.t_s, *runs.together_s)
    t_s, marker = runs.t_s[together], ""
    if recording.is_coarse:
        means_db, of = fairness.flow_nru_db_of_mean(counted.r, own_weights)[0], "of its mean"
        values, title = {"U_n_of_means": means_db, "self_pair_mbps": 1 / own_weights}, recording.recorded
        marker = "." if len(t_s) < _MARKED_POINTS else ""
    else:
        values, title = _nru_tuple(recording, own_weights)
        means_db, of = values["U_n"], "mean"

    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.8)
    for (flow_id, label), row, mean in zip(recording.labels.items(), u_db, means_db, strict=True):
        color = recording.colors[flow_id]
        ax.plot(t_s, row[together], color=color, marker=marker, label=f"{label}, {of} {mean:+.2f} dB")
        ax.hlines(mean, *counted.window_s, color=color, lw=0.9, ls="--")
    ax.axhline(0, color=style.GREY, lw=0.8)
    if not recording.is_coarse:
        ax.axhline(fairness.U_C_DB, color=style.GREY, lw=0.8, ls=":", label=f"10% unfair, {fairness.U_C_DB:g} dB")
    ax.set_title(title, loc="left")
    ax.set_ylabel(OVER_TIME["nru"].label)
    finish_time_axis(ax, recording)
    data = flow_rows(recording, "u_db", u_db)
    return Drawn(figure, metric_numbers(recording, values), data=data[np.tile(together, len(u_db))])


def _nru_tuple(recording: Recording, own_weights: Floats) -> tuple[dict[str, Any], str]:
    """Metrics of the NRU in the window, and the tuple and its case as a title."""
    counted, analysis = recording.counted, recording.settings.analysis
    u_db = weights.u_db(counted, counted.r, own_weights)
    found = of_the_run(groups.nru_tuple(u_db))
    error_db = series.error_of_mean(u_db[0], analysis.error_batches.value)
    band_db = analysis.fair_errors.value * error_db
    decided = np.where(
        np.abs(found["U_n"]) <= band_db, 0.0, found["U_n"]
    )  # within its own errors of fair counts as fair
    letter = str(fairness.case_letter(*fairness.nru_tuple(decided)[1:]))
    values = {
        "U_n": found.pop("U_n"),
        "zero_share": fairness.zero_share(counted.r[0]),
        "self_pair_mbps": 1 / own_weights,
        "U_n_error": error_db,
    }
    texts = ", ".join("–" if np.isnan(value) else f"{value:+.2f}" for value in found.values())
    title = rf"$\langle U_N, U_{{N+}}, U_{{N-}}\rangle$ = ⟨{texts}⟩ dB, case {letter}"
    title += f" (fair: ±{band_db.max():.2g})" if np.isfinite(band_db).all() else ""
    return values | found | {"case": letter}, title


def steadiness(recording: Recording) -> Drawn:
    """Stability and time to convergence of each flow and of all together (bhatti2008 eq. 9-12)."""
    _need_several_flows(recording, "it would be measured against itself")
    if recording.is_coarse:
        raise NotInTraceError(recording.left_out("stability", "convergence"))
    runs, counted, own_weights = recording.runs, recording.counted, nru_weights(recording)
    u_db = weights.u_db(counted, counted.r, own_weights)[0]
    since_s, window_s = runs.together_s[0], recording.settings.analysis.convergence_window_s.value
    seen = ~np.isnan(runs.r[0]).any(axis=0)
    when = {"t_e_s": since_s, "u_c_db": fairness.U_C_DB, "window_s": window_s}
    all_u_db, t_s = weights.u_db(runs, runs.r, own_weights)[0][:, seen], runs.t_s[seen]
    values = {
        "S_n": fairness.flow_stability(u_db),
        "S_N_eq10": fairness.system_stability(u_db).item(),
        "T_U": fairness.convergence_time_s(all_u_db, t_s, **when),
        "T_U_all": fairness.system_convergence_time_s(all_u_db, t_s, **when).item(),
    }
    names = [*(escape(label.replace(r"\$", "$")) for label in recording.labels.values()), "all flows"]
    stability, time_s = [*values["S_n"], values["S_N_eq10"]], [*values["T_U"], values["T_U_all"]]
    data = pd.DataFrame({"stability S": stability, "time to convergence (s)": time_s}, index=names)
    cells = data.map(lambda value: "never" if np.isnan(value) else f"{value:.3g}")
    return Drawn(Table(cells), metric_numbers(recording, values), data=data.rename_axis("flow").reset_index())


def nru_weights(recording: Recording) -> Floats:
    """Weights in 1/(Mb/s), (flows,), from the self-pair of each flow's protocol by the rule in config/raw.yaml.

    Raises NotInTraceError for flows of different protocols without named self-pairs, and InputError for a self-pair
    of another number of flows or without delivery.
    """
    of_self_mbps = np.array([_self_pair_mbps(recording, protocol) for protocol in recording.flows["protocol"]])
    if not of_self_mbps.any(axis=0).all():
        raise InputError(f"{recording.path}: a flow of the self-pair delivers no bytes; give one in which all do")
    start_s = recording.runs.of_flows("start_s")[0]
    rule = recording.said.weight_rule or recording.settings.weights.rule.value
    return weights.RULES[rule](weights.in_own_place(of_self_mbps, start_s))


def _self_pair_mbps(recording: Recording, protocol: str) -> Floats:
    """Mean goodput in Mb/s of each flow of the protocol's self-pair, in order of their starts."""
    named, where = _named_self_pair(recording, protocol)
    if named is None and recording.flows["protocol"].nunique() > 1:
        raise NotInTraceError(f"flows of different protocols; name a recording of two {protocol} flows in {where}")
    if named is None and protocol == UNKNOWN_CC:
        raise NotInTraceError("the congestion control is not recorded, and flows of unknown ones are no self-pair")
    pair = recording if named is None else Recording(named, recording.settings)
    if len(pair.labels) != len(recording.labels):
        raise InputError(f"{where}: {len(pair.labels)} flows; give a recording of {len(recording.labels)}")
    if named is not None:
        _refuse_unlike(pair, recording, protocol, where)
    return pair.counted.means_mbps[0][pair.runs.of_flows("start_s")[0].argsort(kind="stable")]


def _named_self_pair(recording: Recording, protocol: str) -> tuple[Path | None, str]:
    """The self-pair of a protocol from trace.yaml or else config/raw.yaml, and the place that names it."""
    said = {pair.protocol: pair.recording for pair in recording.said.self_pairs}
    if protocol in said:
        sidecar = sidecar_path(recording.path)
        return sidecar.parent / said[protocol], f"{sidecar}: self_pairs: {protocol}"
    named = recording.settings.weights.self_pairs
    where = f"config/raw.yaml: weights.self_pairs.{protocol}"
    return (
        (absolute(named[protocol]), where) if protocol in named else (None, f"its trace.yaml (self_pairs) or {where}")
    )


def _refuse_unlike(pair: Recording, recording: Recording, protocol: str, where: str) -> None:
    """Refuse a self-pair with other protocols, or on another link than the recording."""
    others = set(pair.flows["protocol"]) | set(pair.flows["cc"])
    if protocol not in others or pair.flows["cc"].nunique() > 1:
        raise InputError(f"{where}: its flows are {', '.join(sorted(others))}; give a recording of {protocol} alone")
    pair_bps, own_bps = pair.parameter("capacity_bps"), recording.parameter("capacity_bps")
    if np.isfinite(pair_bps) and np.isfinite(own_bps) and not np.isclose(pair_bps, own_bps, rtol=0.05):
        raise InputError(f"{where}: on a link of {pair_bps:.4g} bit/s; the recording has a link of {own_bps:.4g} bit/s")


def _need_several_flows(recording: Recording, why: str) -> None:
    if len(recording.labels) < 2:
        raise NotInTraceError(f"one flow alone: {why}")
    recording.need_one_direction()
