"""A `tcpfair.Run` over time: windows, queue, goodput, J(t) and U_n(t), a column for each of its runs; or its numbers by an axis.

Type hints do not name the class, because it is in a room above this one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tcpfair.exhibits import style

__all__ = ["Figure", "draw"]

MOST_COLUMNS = 5  # of runs side by side
_OVER_TIME = ("cwnd_pkts", "queue_pkts", "goodput_t_mbps", "jfi_t", "nru_t_db")


def draw(run: Any, labels: Mapping[str, str]) -> Figure:
    """A column for each run, on common axes; for more than `MOST_COLUMNS` runs, goodput and J against the last axis."""
    with style.applied():
        return _over_time(run, labels) if len(run.members) <= MOST_COLUMNS else _by_axis(run, labels)


def _over_time(run: Any, labels: Mapping[str, str]) -> Figure:
    columns = len(run.members)
    width_in = style.PAGE_IN if columns == 1 else 3.4 * columns + 0.6
    figure, axes = style.new_figure(len(_OVER_TIME), columns, width_in, 6.6, sharex="col", sharey="row")
    for column, (one, point) in enumerate(zip(run.members, itertools.product(*run.axes.values()), strict=True)):
        _draw([row[column] for row in axes], one)
        named = (str(v) if name == "run" else f"{name} {v}" for name, v in zip(run.axes, point, strict=True))
        axes[0][column].set_title(style.plain(", ".join(named)))
        axes[-1][column].set(xlabel="time (s)", xlim=(0, one.scenario.duration_s))
        axes[0][column].legend(loc="upper right", fontsize=6.5)
    for row, quantity in zip(axes, _OVER_TIME, strict=True):
        row[0].set_ylabel(labels[quantity])
    return figure


def _draw(axes: list[Axes], one: Any) -> None:
    """One column."""
    cwnd, queue, rates, fair, nru = axes
    u_db = one.nru_t_db
    for n, label in enumerate(one.labels):
        color = style.flow_color(n)
        cwnd.plot(one.sample_t_s, one.cwnd_pkts[n], color=color, lw=0.9, label=style.plain(f"{n + 1}: {label}"))
        rates.plot(one.t_s, one.goodput_t_mbps[n], color=color, lw=0.9)
        started = one.t_s > one.scenario.flows[n].start_s
        nru.plot(one.t_s[started], u_db[n, started], color=color, lw=0.9)
    queue.plot(one.sample_t_s, one.queue_pkts, color=style.GREY, lw=0.7)
    fair.plot(one.t_s, one.jfi_t, color=style.BLACK, lw=0.9)
    for ax in (cwnd, queue, rates):
        ax.set_ylim(0, None)
    fair.set_ylim(0, 1.05)
    nru.axhline(0, color=style.GREY, lw=0.6)
    for ax in axes:
        ax.axvspan(0, one.window_s[0], color=style.FAIR_BAND, lw=0)  # excluded from the averages


def _by_axis(run: Any, labels: Mapping[str, str]) -> Figure:
    """A point for each run; runs that differ only in other axes than the last have the same x."""
    name, values = list(run.axes.items())[-1]
    x = np.tile(np.arange(len(values)), len(run.members) // len(values))
    figure, [[rates], [fair]] = style.new_figure(2, 1, style.PAGE_IN, 4.4, sharex=True)
    goodput = run.goodput_mbps.reshape(len(run.members), -1)
    for n, label in enumerate(run.labels):
        look = {"color": style.flow_color(n), "label": style.plain(f"{n + 1}: {label}")}
        rates.plot(x, goodput[:, n], ls="", marker="o", **look)
    fair.plot(x, run.jfi.ravel(), ls="", marker="o", color=style.BLACK)
    rates.set(ylabel="mean " + labels["goodput_t_mbps"], ylim=(0, None))
    fair.set(ylabel="mean " + labels["jfi_t"], ylim=(0, 1.05), xlabel=style.plain(name))
    fair.set_xticks(range(len(values)), [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values])
    rates.legend(**style.BESIDE)
    return figure
