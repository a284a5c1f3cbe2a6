"""Diagrams of the networks, labelled from the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from pydantic import Field

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Options, drawing
from tcpfair.papers.papers import Exhibit
from tcpfair.units import BPS_PER_MBPS
from tcpfair.verdicts.cells import BYTES_PER_MB
from tcpfair.verdicts.context import Context, values_of

_BPS_PER_GBPS = 1e9
_WAITING = 4  # packets drawn in the queue
_HOST = "#EAF2F8"
_RIGHT = 6.0  # x of the receivers
_MIDDLE = 1.1  # height of the bottleneck
_CENTRED = {"ha": "center", "va": "bottom", "fontsize": 8}


Routers = Annotated[list[str], Field(min_length=1, max_length=2)]  # one or both ends of the bottleneck


class Delays(Options):
    """Propagation delays of single links as stated in the paper, as text."""

    senders: str = ""
    bottleneck: str = ""
    receivers: str = ""


_NO_DELAYS = Delays()


@drawing()
def diagram_topology(
    context: Context,
    exhibit: Exhibit,
    *,
    senders: list[str],
    routers: Routers,
    receivers: list[str],
    delays: Delays = _NO_DELAYS,
) -> Drawn:
    """Senders, routers and receivers of a dumbbell with the rates, delays and the buffer of the configuration."""
    settings, flow = context.paper.settings, context.paper.flow
    access = rate_text(flow["access_bps"].value)
    bottleneck = rate_text(settings["capacity_bps"].value)

    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=2.4)
    ax.set(xlim=(-0.6, 6.6), ylim=(-0.25, 2.35))
    ax.axis("off")
    # the bottleneck ends at the second router, at the only receiver, or where the receivers' links meet
    to_host = len(routers) == len(receivers) == 1
    ends = np.array([2.2, _RIGHT if to_host else 3.8])
    left = _hosts(ax, 0.0, senders, (ends[0], _MIDDLE))
    right = [] if to_host else _hosts(ax, _RIGHT, receivers, (ends[1], _MIDDLE))
    if to_host:
        _box(ax, _RIGHT, _MIDDLE, receivers[0], _HOST)
    for x, name in zip(ends, routers, strict=False):
        _box(ax, x, _MIDDLE, name, "#FBEFE6")
    if len(routers) == 1 and not to_host:
        ax.plot(ends[1], _MIDDLE, marker="o", ms=5, color="black", zorder=3)
    ax.plot(ends, [_MIDDLE, _MIDDLE], color=style.VERMILION, lw=2.6, zorder=2)
    _queue(ax, ends[0] + 0.5 * (3.8 - ends[0]))
    for points, delay in ((left, delays.senders), (right, delays.receivers)):
        for at in points:
            style.note(ax, _label(access, delay), at, ha="center", va="center", fontsize=7, bbox=style.PAPER)
    if senders[-1].endswith(" n"):  # and those between
        for x in (0.0, _RIGHT):
            ax.annotate("⋮", (x, _MIDDLE), ha="center", va="center", fontsize=14)
    ax.annotate("shared bottleneck", (ends.mean(), _MIDDLE), (0, 12), textcoords="offset points", **_CENTRED)
    below = [f"bottleneck: {_label(bottleneck, delays.bottleneck)}", _buffer_text(settings)]
    if exhibit.experiments:
        rtts = ", ".join(f"{rtt:g}" for rtt in values_of(context.experiment(exhibit)[1], "rtt_ms"))
        below.append(f"RTT {rtts} ms")
    ax.annotate("\n".join(below), (ends.mean(), 0.78), ha="center", va="top", fontsize=8, linespacing=1.5)
    return Drawn(figure, note="from the configuration")


def rate_text(rate_bps: float) -> str:
    """``1 Gb/s`` or ``100 Mb/s``."""
    if rate_bps >= _BPS_PER_GBPS:
        return f"{rate_bps / _BPS_PER_GBPS:g} Gb/s"
    return f"{rate_bps / BPS_PER_MBPS:g} Mb/s"


def _label(rate: str, delay: str) -> str:
    return f"{rate}, {delay}" if delay else rate


def _buffer_text(settings: dict) -> str:
    if "buffer_bdp" in settings:
        return f"drop-tail buffer: {100 * settings['buffer_bdp'].value:g} % of the BDP"
    if "buffer_bytes" in settings:
        return f"drop-tail buffer: {settings['buffer_bytes'].value / BYTES_PER_MB:g} MB"
    return f"drop-tail buffer: {settings['buffer_pkts'].value:g} packets"


def _hosts(ax: Axes, x: float, names: Sequence[str], router: tuple[float, float]) -> list[tuple[float, float]]:
    """Boxes of hosts with their links to the router; returns the places for the labels of the links."""
    middles = []
    for y, name in zip(np.linspace(2.0, 0.2, len(names)), names, strict=True):
        ax.plot([x, router[0]], [y, router[1]], color="black", lw=1.2, zorder=1)
        _box(ax, x, y, name, _HOST)
        middles.append((0.45 * x + 0.55 * router[0], 0.45 * y + 0.55 * router[1]))
    return middles


def _queue(ax: Axes, x: float) -> None:
    """Packets that wait for the bottleneck."""
    for place in range(_WAITING):
        left, bottom = x + place * 0.075, _MIDDLE - 0.08
        ax.add_patch(Rectangle((left, bottom), 0.055, 0.16, facecolor="white", edgecolor="black", lw=0.8, zorder=3))


def _box(ax: Axes, x: float, y: float, text: str, color: str) -> None:
    box = {"boxstyle": "round,pad=0.5", "facecolor": color, "edgecolor": "black", "linewidth": 0.8}
    ax.annotate(text, (x, y), ha="center", va="center", fontsize=8.5, bbox=box, zorder=3)
