"""Sketches of CUBIC's window between losses and of window-limited transfer, from the equations of kozu2014."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tcpfair.contract.papers import Exhibit, PaperConfig
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Context, Drawn, Options, drawing, joined
from tcpfair.exhibits.numbers import number_rows, single_number
from tcpfair.models import cubic, cubic_map
from tcpfair.models.aimd import link_capacity_pps
from tcpfair.units import BITS_PER_BYTE, BPS_PER_MBPS, MS_PER_S

_POINTS = 200
_EQUAL_SHARE = 0.5  # of the first flow in the throughput, at the first loss
_SMALL, _LARGE = style.VERMILION, style.BLUE
_BYTES = {"KB": 1e3, "MB": 1e6}  # the units of eq. 10 and eq. 11
_ROUNDS = 2


def link_of(paper: PaperConfig, rtts_ms: tuple[float, float]) -> cubic_map.Link:
    """The paper's bottleneck with two flows of these RTTs."""
    capacity_pps = link_capacity_pps(paper.settings["capacity_bps"].value, paper.settings["wire_bytes"].value)
    rtt_s = tuple(rtt_ms / MS_PER_S for rtt_ms in rtts_ms)
    return cubic_map.Link(capacity_pps, paper.settings["buffer_pkts"].value, rtt_s)


# --- Two flows from one common loss to the next ------------------------------------------------------------------


@drawing()
def kozu2014_fig5(context: Context, exhibit: Exhibit) -> Drawn:
    """Windows of a flow with a small K and one with a large K between two common losses, by both readings of when."""
    link = link_of(context.paper, tuple(context.paper.analysis_value("model_rtt_ms")))
    w_max_pkts = link.windows_pkts(_EQUAL_SHARE)
    k_s = cubic.cubic_k_s(w_max_pkts)
    maps = {
        "sum of windows as before": cubic_map.CubicMap(link, cubic_map.STANDARD, cubic_map.PAPER),
        "link and buffer full": cubic_map.CubicMap(link, cubic_map.STANDARD, cubic_map.Reading(full_link=True)),
    }
    t_s = np.linspace(0, 1.08 * k_s.max(), _POINTS)
    grown = np.array([maps["link and buffer full"].growth(w_max_pkts)(t) for t in t_s])
    figure, [[ax]] = style.new_figure(width_in=5.8, height_in=3.2)
    for place, (name, color) in enumerate((("S", _SMALL), ("L", _LARGE))):
        label = f"connection {name}: {link.rtt_s[place] * MS_PER_S:g} ms, $W_{{max}}$ {w_max_pkts[place]:.0f} packets"
        ax.plot(t_s, grown[:, place] / w_max_pkts[place], color=color, label=label)
        ax.axvline(k_s[place], color=color, lw=0.8, ls=":")
        ax.annotate(f"$K_{name}$", (k_s[place], 0.79), (3, 0), textcoords="offset points", color=color)
    rows = []
    for (text, model), line in zip(maps.items(), ("--", "-"), strict=True):
        at_s, after = model.next_loss(w_max_pkts)
        ax.axvline(at_s, color=style.GREY, lw=0.9, ls=line, label=f"time B: {text}")
        for place, color in enumerate((_SMALL, _LARGE)):
            ax.plot(at_s, after[place] / w_max_pkts[place], marker="o", color=color)
        reading = "paper" if model.reading is cubic_map.PAPER else "full link"
        rows += [{"form": reading, "flow": i + 1, "value": after[i] / w_max_pkts[i]} for i in (0, 1)]
        rows.append({"form": reading, "flow": np.nan, "value": at_s})
    ax.axhline(1, color=style.GREY, lw=0.6)
    ax.annotate("time A", (0, 1.0), (3, 3), textcoords="offset points", fontsize=7.5)
    ax.set(xlabel="time since the common loss (s)", ylabel="window / window at time A")
    ax.set(xlim=(0, t_s[-1]), ylim=(0.98 * (1 - cubic.BETA), 1.2))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    found = pd.DataFrame(rows)
    times, ratios = found[found["flow"].isna()], found[found["flow"].notna()]
    numbers = joined(
        [
            number_rows(exhibit.id, "time_B_s", times, ["form"]),
            number_rows(exhibit.id, "window_ratio", ratios, ["form", "flow"]),
        ]
    )
    data = pd.DataFrame({"t_s": t_s, "small_k_pkts": grown[:, 0], "large_k_pkts": grown[:, 1]})
    return Drawn(figure, numbers, data=data, note="closed form")


# --- Where the curve starts after a loss -------------------------------------------------------------------------


class DiagramAfterLoss(Options):
    """Options of `diagram_after_loss`."""

    scaled_c: bool  # the proposal with C', else with C


@drawing(DiagramAfterLoss)
def diagram_after_loss(context: Context, exhibit: Exhibit, options: DiagramAfterLoss) -> Drawn:
    """Eq. 1 with standard K, and with the proposed K and C or C', for equal throughput at both RTTs."""
    rtts_ms = tuple(context.paper.analysis_value("model_rtt_ms"))
    link = link_of(context.paper, rtts_ms)
    windows_pkts = link.windows_pkts(_EQUAL_SHARE)
    figure, [axes] = style.new_figure(1, 2, height_in=2.8, sharey=True)
    proposed = "Proposed K and C'" if options.scaled_c else "Proposed K"
    curves, starts = [], []
    for ax, rtt_ms, rtt_s, w_max_pkts in zip(axes, rtts_ms, link.rtt_s, windows_pkts, strict=True):
        c = cubic.scaled_c(rtt_s) if options.scaled_c else cubic.C
        of_method = {
            "CUBIC": (cubic.cubic_k_s(w_max_pkts), cubic.C),
            proposed: (cubic.proposed_k_s(w_max_pkts, rtt_s), c),
        }
        t_s = np.linspace(0, 1.25 * of_method["CUBIC"][0], _POINTS)
        for protocol, (k_s, c_of) in of_method.items():
            share = cubic.window_pkts(t_s, k_s, w_max_pkts, c_of) / w_max_pkts
            color = style.look(protocol).color
            ax.plot(t_s, share, color=color, label=f"{protocol}: K = {k_s:.1f} s")
            ax.plot(0, share[0], marker="o", color=color, clip_on=False, zorder=4)
            starts.append({"protocol": protocol, "rtt_ms": rtt_ms, "value": share[0]})
            curves.append(pd.DataFrame({"protocol": protocol, "rtt_ms": rtt_ms, "t_s": t_s, "share_of_w_max": share}))
        ax.axhline(1, color=style.GREY, lw=0.6)
        ax.axhline(1 - cubic.BETA, color=style.GREY, lw=0.9, ls="--")
        ax.set(xlabel="time since the loss (s)", xlim=(0, t_s[-1]), ylim=(0.75, 1.1))
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 0.28))
    style.letter_panels(axes, [f"RTT {rtt_ms:g} ms" for rtt_ms in rtts_ms])
    axes[0].set_ylabel(r"window / $W_{max}$")
    text = rf"ssthresh = (1 − β) $W_{{max}}$, {1 - cubic.BETA:g}"
    axes[1].annotate(
        text, (axes[1].get_xlim()[1], 1 - cubic.BETA), (-3, -9), textcoords="offset points", ha="right", fontsize=7.5
    )
    frames = [number_rows(exhibit.id, "curve_start", pd.DataFrame(starts), ["protocol", "rtt_ms"])]
    if not options.scaled_c:  # what section 5.2 says of standard CUBIC
        standard = cubic.window_pkts(0.0, cubic.cubic_k_s(1.0), 1.0)
        key = {"item": "ssthresh over W_max", "protocol": "CUBIC"}
        frames.append(single_number("kozu2014.sec-5.2", "ssthresh_ratio", float(standard), **key))
    return Drawn(figure, joined(frames), data=joined(curves), note="closed form")


# --- One window per round trip -----------------------------------------------------------------------------------


@drawing()
def kozu2014_fig16(context: Context, exhibit: Exhibit) -> Drawn:
    """A sender that may have one window under way: data out, ACKs back, and the link idle between."""
    target_bps, capacity_bps = (
        context.paper.analysis_value("target_rate_bps"),
        context.paper.settings["capacity_bps"].value,
    )
    figure, [axes] = style.new_figure(1, 2, height_in=2.9)
    frames = []
    rtts_ms = context.paper.analysis_value("model_rtt_ms")
    for ax, rtt_ms, (unit, unit_bytes), equation in zip(axes, rtts_ms, _BYTES.items(), ("eq10", "eq11"), strict=True):
        rtt_s = rtt_ms / MS_PER_S
        needed_bytes = cubic.window_needed_bytes(target_bps, rtt_s)
        _draw_round_trips(ax, rtt_ms, needed_bytes * BITS_PER_BYTE / capacity_bps * MS_PER_S)
        size = needed_bytes / unit_bytes
        rate_mbps = cubic.window_limit_bps(needed_bytes, rtt_s) / BPS_PER_MBPS
        ax.set_title(f"{size:g} {unit} per {rtt_ms:g} ms: {rate_mbps:g} Mb/s", fontsize=8.5)
        key = {"item": f"window for {target_bps / BPS_PER_MBPS:g} Mb/s", "rtt_ms": rtt_ms}
        frames.append(single_number(f"kozu2014.{equation}", "window", size, **key))
    return Drawn(figure, joined(frames), note="closed form")


def _draw_round_trips(ax: Axes, rtt_ms: float, sending_ms: float) -> None:
    """Bands of data from the sender (left) to the receiver, and of ACKs back, downwards in time."""
    for start_ms in np.arange(_ROUNDS) * rtt_ms:
        out = [
            (0, start_ms),
            (1, start_ms + rtt_ms / 2),
            (1, start_ms + rtt_ms / 2 + sending_ms),
            (0, start_ms + sending_ms),
        ]
        ax.fill(*zip(*out, strict=True), color=style.BLUE, alpha=0.55, lw=0)
        ax.plot([1, 0], [start_ms + rtt_ms / 2, start_ms + rtt_ms], color=style.ORANGE, lw=1.2)
        ax.plot(
            [1, 0],
            [start_ms + rtt_ms / 2 + sending_ms, start_ms + rtt_ms + sending_ms],
            color=style.ORANGE,
            lw=0.7,
            ls=":",
        )
        ax.annotate(
            "idle",
            (0, start_ms + (rtt_ms + sending_ms) / 2),
            (-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=7.5,
        )
        ax.annotate(
            "window",
            (0, start_ms + sending_ms / 2),
            (-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=7.5,
        )
    ax.set(xlim=(-0.32, 1.05), ylim=(_ROUNDS * rtt_ms + rtt_ms / 2, -0.03 * rtt_ms), ylabel="time (ms)")
    ax.set_xticks([0, 1], ["sender", "receiver"])
    ax.plot([], [], color=style.BLUE, lw=5, alpha=0.55, label="data")
    ax.plot([], [], color=style.ORANGE, label="first ACK (dotted: last)")
    ax.grid(visible=False)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, -0.32), ncols=2)
