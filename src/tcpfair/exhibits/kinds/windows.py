"""Windows over time before and after the queue builds: simulated, by the model, as sketches; the model's formulas."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Table, drawing
from tcpfair.exhibits.kinds.tables import number_text
from tcpfair.measures.shown import OVER_TIME
from tcpfair.metrics.epochs import loss_times_s
from tcpfair.metrics.series import first_time_s
from tcpfair.models import aimd
from tcpfair.papers.papers import Exhibit
from tcpfair.units import MS_PER_S
from tcpfair.verdicts.columns import Numbers, joined
from tcpfair.verdicts.computed import KEY
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.paper_models import MODEL_PROTOCOLS, AimdLink, plain_protocol

_CURVE_POINTS = 200


# --- Curves ------------------------------------------------------------------------------------------------------


@drawing()
def cwnd_curves(context: Context, exhibit: Exhibit, numbers: Numbers, *, model: Literal[1, 2]) -> Drawn:
    """Simulated windows from half of the BDP to the BDP (Model I) or from there to the first loss (Model II)."""
    name, experiment = context.experiment(exhibit)
    curves = joined(_simulated_curves(context, name, model))
    times = numbers.of(f"t{model}").set_index(KEY)["value"]
    figure = _curves_figure(curves, model, times)
    return Drawn(figure, n_runs=int(experiment.runs.value), data=curves)


def _simulated_curves(context: Context, name: str, model: int) -> Iterator[pd.DataFrame]:
    """One curve per run, with time from the start of the model."""
    trace, residual_share = context.trace(name), context.value("residual_share")
    for run in trace.runs.itertuples():
        flow = trace.flows.query("run_id == @run.run_id").iloc[0]
        samples = trace.samples.query("run_id == @run.run_id")
        events = trace.events.query("run_id == @run.run_id")
        bdp = aimd.bdp_pkts(flow.rtt_s, aimd.link_capacity_pps(run.capacity_bps, run.wire_bytes))
        t_s, cwnd_pkts = samples["t_s"].to_numpy(), samples["cwnd_pkts"].to_numpy(dtype=float)
        full_s = float(first_time_s(cwnd_pkts >= bdp, t_s))
        if model == 1:
            start_s, stop_s = float(first_time_s(cwnd_pkts >= (1 - residual_share) * bdp, t_s)), full_s
        else:
            start_s, stop_s = full_s, next(iter(loss_times_s(events["t_s"], events["kind"])), np.nan)
        inside = (t_s >= start_s) & (t_s <= stop_s)
        yield _curve(plain_protocol(run.protocol), run.rtt_ms, t_s[inside] - start_s, cwnd_pkts[inside])


def _curve(protocol: str, rtt_ms: float, t_s: np.ndarray, cwnd_pkts: np.ndarray, form: str = "") -> pd.DataFrame:
    return pd.DataFrame({"protocol": protocol, "rtt_ms": rtt_ms, "form": form, "t_s": t_s, "cwnd_pkts": cwnd_pkts})


@drawing()
def model_curves(context: Context, numbers: Numbers, *, model: Literal[1, 2]) -> Drawn:
    """Windows by eq. 11 (Model I) or eq. 17 (Model II), and the exact solution that the latter approximates."""
    link, curves = AimdLink.of(context.paper), []
    times = numbers.of(f"t{model}").set_index(KEY)["value"]
    for (protocol, rtt_s), end_s in zip(product(MODEL_PROTOCOLS, link.rtts_s), times, strict=True):
        t_s = np.linspace(0, end_s, _CURVE_POINTS)
        cwnd_pkts = link.cwnd_pkts(protocol, rtt_s, model, t_s)
        curves.append(_curve(protocol, rtt_s * MS_PER_S, t_s, cwnd_pkts))
        if model == 2:
            curves.append(_exact_curve(link, protocol, rtt_s))
    figure = _curves_figure(joined(curves), model, times)
    return Drawn(figure, data=joined(curves), note="closed form")


def _exact_curve(link: AimdLink, protocol: str, rtt_s: float) -> pd.DataFrame:
    """Model II with the instantaneous RTT; k and k' follow the queue."""
    t_s, at = np.linspace(0, link.exact_t2_s(protocol, rtt_s), _CURVE_POINTS), (rtt_s, link.B, link.reference_rtt_s)
    cwnd_pkts = aimd.exact_model2_cwnd_pkts(protocol.lower(), t_s, *at, follow_queue=True)
    return _curve(protocol, rtt_s * MS_PER_S, t_s, cwnd_pkts, "exact")


def _curves_figure(curves: pd.DataFrame, model: int, times_s: pd.Series) -> Figure:
    """All windows in one panel, each with its duration: colour is the protocol, line style the RTT."""
    figure, [[ax]] = style.new_figure(width_in=5.8, height_in=3.2)
    rtts_ms = sorted(times_s.index.unique("rtt_ms"))
    # at the shorter RTT the windows coincide, so the widest is drawn first and each remains visible
    widths = {rtts_ms[0]: (5.5, 3.2, 1.2), rtts_ms[-1]: (1.6, 1.6, 1.6)}
    dashes = {rtts_ms[0]: "-", rtts_ms[-1]: (0, (5, 1.2))}
    for (rtt_ms, protocol, form), curve in curves.groupby(["rtt_ms", "protocol", "form"], sort=False):
        color, width = style.look(protocol).color, widths[rtt_ms][MODEL_PROTOCOLS.index(protocol)]
        if form == "exact":
            ax.plot(curve["t_s"], curve["cwnd_pkts"], color=color, lw=0.9, ls=":", zorder=3)
            continue
        ax.plot(curve["t_s"], curve["cwnd_pkts"], color=color, lw=width, ls=dashes[rtt_ms], solid_capstyle="butt")
        if rtt_ms != rtts_ms[0] and len(curve):
            end, text = curve.iloc[-1][["t_s", "cwnd_pkts"]], f"{times_s[protocol, rtt_ms]:.1f} s"
            style.note(ax, text, end, (-3, 2), ha="right", color=color)
    mark_s = times_s.xs(rtts_ms[0], level="rtt_ms").mean()
    if np.isfinite(mark_s):
        ax.axvline(mark_s, color=style.GREY, lw=0.9)
        text, below = f"$t_{model}$ = {mark_s:.1f} s at {rtts_ms[0]:g} ms", (mark_s, 0.02)
        style.note(ax, text, below, (4, 0), xycoords=("data", "axes fraction"))
    for protocol in MODEL_PROTOCOLS:
        ax.plot([], [], color=style.look(protocol).color, lw=2.5, label=protocol)
    for rtt_ms in rtts_ms:
        ax.plot([], [], color=style.GREY, lw=widths[rtt_ms][0] / 1.6, ls=dashes[rtt_ms], label=f"RTT {rtt_ms:g} ms")
    if (curves["form"] == "exact").any():
        ax.plot([], [], color=style.GREY, lw=0.9, ls=":", label="momentary RTT")
    since = "half use of the link" if model == 1 else "the first queued packet"
    ax.set(xlabel=f"time since {since} (s)", ylabel=OVER_TIME["cwnd"].label, xlim=(0, None))
    ax.margins(y=0.1)
    ax.legend(**style.BESIDE)
    return figure


# --- Formulas ----------------------------------------------------------------------------------------------------


_UNITS = {"x_RTT": "packets per RTT", "t1": "s", "t2": "s"}
_FORMULAS = {
    "x_RTT": ("1", "<i>k</i> RTT²", "<i>k′</i> RTT"),
    "t1": ("<i>R</i> RTT<sub>min</sub>²", "<i>R</i>/<i>k</i>", "<i>R</i> RTT<sub>min</sub>/<i>k′</i>"),
    "t2": ("<i>S</i> RTT", "<i>S</i>/(<i>k</i> RTT)", "<i>S</i>/<i>k′</i>"),
}


@drawing(table=True)
def formula_table(context: Context, numbers: Numbers, *, quantity: Literal["x_RTT", "t1", "t2"]) -> Drawn:
    """A formula per protocol, and its value at the RTTs of the paper."""
    link, cells = AimdLink.of(context.paper), numbers.of(quantity)
    rows = {"formula": dict(zip(MODEL_PROTOCOLS, _FORMULAS[quantity], strict=True))}
    for rtt_ms, group in cells.groupby("rtt_ms"):
        texts = group.set_index("protocol")["value"].map(lambda v: number_text(v, 2))
        rows[f"at {rtt_ms:g} ms ({_UNITS[quantity]})"] = texts.to_dict()
    note = f"B = {link.B:.2f} packets/s, R = {link.R:.2f} packets/s, S = {link.S:g} packets"
    return Drawn(Table(pd.DataFrame(rows).T, note), note="closed form")


# --- Sketches ----------------------------------------------------------------------------------------------------


_OVERFLOWS = {"Reno": 2, "Proposal": 3}  # in the sketch


@drawing()
def diagram_window(context: Context, *, protocol: Literal["Reno", "Proposal"]) -> Drawn:
    """The window of one flow round by round, from half use of the link over several overflows."""
    link = AimdLink.of(context.paper)
    rtt_s = max(link.rtts_s)
    path = window_path(link, protocol, rtt_s, _OVERFLOWS[protocol])
    bdp = link.bdp_pkts(rtt_s)
    figure, [[ax]] = style.new_figure(width_in=5.6, height_in=3.0)
    modes = {"Reno": ("Model I", "Model II"), "Proposal": ("Libra mode (Model I)", "Alpha mode (Model II)")}
    bottom, last_s = 0.8 * path["cwnd_pkts"].min(), path["t_s"].iloc[-1]
    ax.axhspan(bottom, bdp, color="#EAF2F8", lw=0, zorder=0)
    ax.axhspan(bdp, bdp + link.S, color="#FBEFE6", lw=0, zorder=0)
    ax.plot(path["t_s"], path["cwnd_pkts"], color=style.look(protocol).color)
    below, above = modes[protocol]
    for x, y, offset, side, text, weight in (
        (last_s, bdp + link.S, (-3, 3), "right", f"BDP + S = {bdp + link.S:.0f} packets", "normal"),
        (last_s, bdp, (-3, -9), "right", f"BDP = {bdp:.0f} packets", "normal"),
        (last_s, bottom, (-3, 4), "right", below, "bold"),
        (0, bdp + link.S, (4, -11), "left", above, "bold"),
    ):
        style.note(ax, text, (x, y), offset, ha=side, weight=weight)
    for level in (bdp, bdp + link.S):
        ax.axhline(level, color=style.GREY, lw=0.8, ls="--")
    _mark_phases(ax, path, bdp, protocol)
    ax.set(xlabel="time (s)", ylabel=OVER_TIME["cwnd"].label, xlim=(0, last_s), ylim=(bottom, 1.06 * (bdp + link.S)))
    ax.grid(visible=False)
    return Drawn(figure, data=path, note=f"by the model, RTT {rtt_s * MS_PER_S:g} ms")


def window_path(link: AimdLink, protocol: str, rtt_min_s: float, losses: int) -> pd.DataFrame:
    """Window of one flow from (B - R) RTT_min on, at the end of each RTT, until the ``losses``-th overflow.

    ``protocol`` is Reno, Libra, Alpha or Proposal; k and k' stay those of Model I. Columns t_s and cwnd_pkts.
    """
    reference_s, full_pkts = link.reference_rtt_s, link.bdp_pkts(rtt_min_s) + link.S
    k_per_s2, k_per_s = aimd.libra_k_per_s2(reference_s), aimd.alpha_k_per_s(reference_s)
    t_s, cwnd_pkts = 0.0, (link.B - link.R) * rtt_min_s
    path = []
    while True:
        rtt_s = max(rtt_min_s, cwnd_pkts / link.B)
        path.append((t_s, cwnd_pkts))
        if cwnd_pkts >= full_pkts:
            losses -= 1
            if losses == 0:
                return pd.DataFrame(path, columns=["t_s", "cwnd_pkts"])
            if protocol == "Proposal":
                cwnd_pkts = float(aimd.westwood_decrease_pkts(cwnd_pkts, rtt_min_s, rtt_s))
            else:
                cwnd_pkts = aimd.halving_decrease_pkts(cwnd_pkts)
            path.append((t_s, cwnd_pkts))
        t_s += rtt_s
        if protocol == "Proposal":
            gain_pkts = float(aimd.proposal_increment_pkts(rtt_s, rtt_min_s, k_per_s2, k_per_s))
        else:
            gain_pkts = aimd.increment_per_rtt_pkts(protocol.lower(), rtt_s, reference_s)
        cwnd_pkts = min(cwnd_pkts + gain_pkts, full_pkts)


def _mark_phases(ax: Axes, path: pd.DataFrame, bdp: float, protocol: str) -> None:
    """Arrows for t1 and t2 below the first rise, and the rule at the loss."""
    full_s = path["t_s"][path["cwnd_pkts"] >= bdp].iloc[0]
    fall = path["cwnd_pkts"].diff().idxmin()
    loss_s, peak, after = path["t_s"][fall], path["cwnd_pkts"][fall - 1], path["cwnd_pkts"][fall]
    for start_s, stop_s, name in ((0, full_s, "$t_1$"), (full_s, loss_s, "$t_2$")):
        y = 1.03 * peak
        ax.annotate("", (start_s, y), (stop_s, y), arrowprops={"arrowstyle": "<->", "lw": 0.8, "color": style.GREY})
        ax.annotate(name, ((start_s + stop_s) / 2, y), (0, 2), textcoords="offset points", ha="center", va="bottom")
        ax.axvline(stop_s, color=style.GREY, lw=0.6, ls=":")
    rule = "loss: cwnd/2" if protocol == "Reno" else r"loss: cwnd $\cdot$ RTT$_{\min}$/RTT"
    style.note(ax, rule, (loss_s, after), (4, -6), va="top")
