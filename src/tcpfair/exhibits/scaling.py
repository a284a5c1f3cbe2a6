"""The cost of a packet and of a run over the number of flows, the rate and the duration."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from tcpfair.exhibits import style
from tcpfair.units import BPS_PER_MBPS

# x axes of curves: title and unit, by field
_AXES = {"flows": ("flows", 1.0), "capacity_bps": ("rate (Mb/s)", BPS_PER_MBPS), "duration_s": ("duration (s)", 1.0)}
_COSTS = {"ns_per_packet": ("processor time (ns/packet)", 1.0), "memory_bytes": ("memory of the run (MB)", 1e6)}
_MARKERS = "o^"
_HEADROOM = 1.8  # for the legend


def draw_scale(costs: pd.DataFrame, labels: Mapping[str, str], over: Mapping[str, str], note: str) -> Figure:
    """Time per packet above, memory below; a column for each field on an x axis.

    ``costs`` has the columns curve, ns_per_packet, memory_bytes and the fields; ``labels`` and ``over`` give for each curve
    its name and its field.
    """
    fields = [field for field in _AXES if field in over.values()]
    figure, axes = style.new_figure(2, len(fields), width_in=style.PAGE_IN, height_in=4.6, sharex="col", sharey="row")
    for row, (cost, (title, unit)) in zip(axes, _COSTS.items(), strict=True):
        for ax, field in zip(row, fields, strict=True):
            for number, curve in enumerate(name for name in labels if over[name] == field):
                own = costs[costs["curve"] == curve]
                x, y = own[field] / _AXES[field][1], own[cost] / unit
                look = {"color": style.flow_color(number), "marker": _MARKERS[number % len(_MARKERS)]}
                ax.plot(x, y, **look, label=labels[curve])
            ax.set(xscale="log", yscale="log")
        row[0].set_ylabel(title)
    times = axes[0][0]
    times.set_ylim(top=_HEADROOM * costs["ns_per_packet"].max())
    style.label_decades(times.yaxis)
    for ax, field in zip(axes[-1], fields, strict=True):
        ax.set_xlabel(_AXES[field][0])
    for ax in axes[0]:
        ax.legend(loc="upper left")
    style.corner_note(figure, note)
    return figure
