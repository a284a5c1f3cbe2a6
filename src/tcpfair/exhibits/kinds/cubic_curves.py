"""Sketches of CUBIC's window between losses and of window-limited transfer, from the equations of kozu2014."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, drawing
from tcpfair.models import cubic
from tcpfair.units import BITS_PER_BYTE, BPS_PER_MBPS, MS_PER_S
from tcpfair.verdicts.columns import Numbers, joined
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.paper_models import READINGS, after_loss, standard_maps, two_flows

_POINTS = 200
_SMALL, _LARGE = style.VERMILION, style.BLUE
_UNITS = ("KB", "MB")  # of eq. 10 and eq. 11
_ROUNDS = 2


# --- Two flows from one common loss to the next ------------------------------------------------------------------


@drawing()
def kozu2014_fig5(context: Context, numbers: Numbers) -> Drawn:
    """Windows of a flow with a small K and one with a large K between two common losses, by both readings of their time."""
    link, w_max_pkts = two_flows(context.paper)
    k_s = cubic.cubic_k_s(w_max_pkts)
    t_s = np.linspace(0, 1.08 * k_s.max(), _POINTS)
    full = standard_maps(link)[READINGS["physical"]]
    grown = np.array([full.growth(w_max_pkts)(t) for t in t_s])
    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=3.2)
    for place, (name, color) in enumerate((("S", _SMALL), ("L", _LARGE))):
        label = f"connection {name}: {link.rtt_s[place] * MS_PER_S:g} ms, $W_{{max}}$ {w_max_pkts[place]:.0f} packets"
        ax.plot(t_s, grown[:, place] / w_max_pkts[place], color=color, label=label)
        ax.axvline(k_s[place], color=color, lw=0.8, ls=":")
        ax.annotate(f"$K_{name}$", (k_s[place], 0.79), (3, 0), textcoords="offset points", color=color)
    found = numbers.of("window_ratio").groupby("reading", sort=False)
    for (text, after), line in zip(found, ("--", "-"), strict=True):
        at_s = after["at_s"].iloc[0]
        ax.axvline(at_s, color=style.GREY, lw=0.9, ls=line, label=f"time B: {text}")
        for share, color in zip(after["value"], (_SMALL, _LARGE), strict=True):
            ax.plot(at_s, share, marker="o", color=color)
    ax.axhline(1, color=style.GREY, lw=0.6)
    style.note(ax, "time A", (0, 1.0), (3, 3))
    ax.set(xlabel="time since the common loss (s)", ylabel="window / window at time A")
    ax.set(xlim=(0, t_s[-1]), ylim=(0.98 * (1 - cubic.BETA), 1.2))
    ax.legend(**style.BESIDE)
    data = pd.DataFrame({"t_s": t_s, "small_k_pkts": grown[:, 0], "large_k_pkts": grown[:, 1]})
    return Drawn(figure, data=data, note="closed form")


# --- Start of the curve after a loss -----------------------------------------------------------------------------


@drawing()
def diagram_after_loss(context: Context, *, scaled_c: bool) -> Drawn:
    """Eq. 1 with standard K, and with the proposed K and C (``scaled_c``: C'), for equal throughput at both RTTs."""
    figure, [axes] = style.new_figure(1, 2, height_in=2.8, sharey=True)
    curves = []
    methods = list(after_loss(context.paper, scaled_c))
    for ax, (rtt_ms, w_max_pkts, of_method) in zip(axes, methods, strict=True):
        t_s = np.linspace(0, 1.25 * of_method["CUBIC"][0], _POINTS)
        for protocol, (k_s, c_of) in of_method.items():
            share = cubic.window_pkts(t_s, k_s, w_max_pkts, c_of) / w_max_pkts
            color = style.look(protocol).color
            ax.plot(t_s, share, color=color, label=f"{protocol}: K = {k_s:.1f} s")
            ax.plot(0, share[0], marker="o", color=color, clip_on=False, zorder=4)
            curves.append(pd.DataFrame({"protocol": protocol, "rtt_ms": rtt_ms, "t_s": t_s, "share_of_w_max": share}))
        ax.axhline(1, color=style.GREY, lw=0.6)
        ax.axhline(1 - cubic.BETA, color=style.GREY, lw=0.9, ls="--")
        ax.set(xlabel="time since the loss (s)", xlim=(0, t_s[-1]), ylim=(0.75, 1.1))
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 0.28))
    style.letter_panels(axes, [f"RTT {rtt_ms:g} ms" for rtt_ms, *_ in methods])
    axes[0].set_ylabel(r"window / $W_{max}$")
    text = rf"ssthresh = (1 − β) $W_{{max}}$, {1 - cubic.BETA:g}"
    style.note(axes[1], text, (axes[1].get_xlim()[1], 1 - cubic.BETA), (-3, -9), ha="right")
    return Drawn(figure, data=joined(curves), note="closed form")


# --- One window per round trip -----------------------------------------------------------------------------------


@drawing()
def kozu2014_fig16(context: Context, numbers: Numbers) -> Drawn:
    """A sender that may have one window in flight: data out, ACKs back, and an idle link in between."""
    target_bps = context.value("target_rate_bps")
    capacity_bps = context.value("capacity_bps")
    figure, [axes] = style.new_figure(1, 2, height_in=2.9)
    needed = numbers.of("window")[["rtt_ms", "value"]].to_numpy()
    for ax, (rtt_ms, size), unit in zip(axes, needed, _UNITS, strict=True):
        rtt_s = rtt_ms / MS_PER_S
        needed_bytes = cubic.window_needed_bytes(target_bps, rtt_s)
        _draw_round_trips(ax, rtt_ms, needed_bytes * BITS_PER_BYTE / capacity_bps * MS_PER_S)
        rate_mbps = cubic.window_limit_bps(needed_bytes, rtt_s) / BPS_PER_MBPS
        ax.set_title(f"{size:g} {unit} per {rtt_ms:g} ms: {rate_mbps:g} Mb/s", fontsize=8.5)
    return Drawn(figure, note="closed form")


def _draw_round_trips(ax: Axes, rtt_ms: float, sending_ms: float) -> None:
    """Bands of data from the sender (left) to the receiver, and of ACKs back, downwards in time."""
    for start_ms in np.arange(_ROUNDS) * rtt_ms:
        half_ms = start_ms + rtt_ms / 2
        out_ms = [start_ms, half_ms, half_ms + sending_ms, start_ms + sending_ms]
        ax.fill([0, 1, 1, 0], out_ms, color=style.BLUE, alpha=0.55, lw=0)
        ax.plot([1, 0], [half_ms, start_ms + rtt_ms], color=style.ORANGE, lw=1.2)
        last_ms = [half_ms + sending_ms, start_ms + rtt_ms + sending_ms]
        ax.plot([1, 0], last_ms, color=style.ORANGE, lw=0.7, ls=":")
        for text, at_ms in (("idle", (rtt_ms + sending_ms) / 2), ("window", sending_ms / 2)):
            style.note(ax, text, (0, start_ms + at_ms), (-4, 0), ha="right", va="center")
    ax.set(xlim=(-0.32, 1.05), ylim=(_ROUNDS * rtt_ms + rtt_ms / 2, -0.03 * rtt_ms), ylabel="time (ms)")
    ax.set_xticks([0, 1], ["sender", "receiver"])
    ax.plot([], [], color=style.BLUE, lw=5, alpha=0.55, label="data")
    ax.plot([], [], color=style.ORANGE, label="first ACK (dotted: last)")
    ax.grid(visible=False)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, -0.32), ncols=2)
