"""Phase effects: every run over small changes of the RTT, and the distribution, for each setting of the jitter.

With a drop-tail queue and a deterministic path, the time at which a flow's packets reach the full queue depends on its RTT
modulo a packet's service time (Floyd and Jacobson, On Traffic Phase Effects in Packet-Switched Gateways, 1992).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Options, drawing
from tcpfair.exhibits.kinds.sweeps import Axis, value_text
from tcpfair.measures import SYSTEM
from tcpfair.papers.papers import Exhibit, Experiment
from tcpfair.verdicts.columns import Numbers
from tcpfair.verdicts.combine import LEVELS
from tcpfair.verdicts.computed import phase_runs, points_but_rtt, printed_line
from tcpfair.verdicts.context import Context

X = "rtt_ms"
_BOX_SHARE = 0.42  # width of the panel of distributions, relative to a panel over the RTT
_STRIP = 0.3  # half of the width of the runs of one box
_NOTE = "points: runs; line: median at each RTT; boxes: quartiles, whiskers 5–95 %; explained: share of the variance"


class PrintedLine(Options):
    """The published number that is drawn as a line in the row of its protocol."""

    exhibit: str
    metric: str
    key: dict[str, float] = Field(default_factory=dict)  # parts of its key besides the protocol
    inverse: bool = False  # printed is flow 1 over flow 2, drawn is flow 2 over flow 1


@drawing()
def phase_panels(
    context: Context,
    exhibit: Exhibit,
    experiment: Experiment,
    numbers: Numbers,
    *,
    labels: list[str],
    metric: str,
    x_axis: Axis,
    y_axis: Axis,
    flow: int = SYSTEM,
    printed: PrintedLine | None = None,
) -> Drawn:
    """A row for each point of the grid without the RTT: a panel over the RTT for each experiment, and their distributions.

    ``labels`` are of the experiments, which differ in one setting only.
    ``rtt_share`` is the share of the variance between RTTs, of the logarithm where the axis is logarithmic.
    """
    points = points_but_rtt(experiment)
    rows, columns = len(points), len(labels) + 1
    shared = {"sharex": "col", "sharey": "row", "width_ratios": [1] * (columns - 1) + [_BOX_SHARE]}
    figure, axes = style.new_figure(rows, columns, style.PAGE_IN, 0.8 + 1.6 * rows, **shared)
    cells = iter(numbers.of(metric).to_dict("records"))
    for row, point in zip(axes, points, strict=True):
        color = style.look(point["protocol"]).color
        line = printed_line(context, exhibit.options.get("printed"), point["protocol"])
        for place, (name, label) in enumerate(zip(exhibit.experiments, labels, strict=True)):
            runs, cell = phase_runs(context.metrics(name), exhibit.options, point), next(cells)
            medians = runs.groupby(level=X).median()
            row[place].plot(medians.index, medians, color=color, lw=0.9, alpha=0.7)
            row[place].scatter(runs.index.get_level_values(X), runs, s=6, color=color, alpha=0.6, lw=0)
            _draw_box(row[-1], runs, place, color)
            title = ", ".join(value_text(*part) for part in point.items())
            row[place].set_title(f"{title}: {label}\n{_in_numbers(cell)}", loc="left", fontsize=7.5)
        for ax in row:  # equal throughputs are dotted, the published value is dashed
            if metric == "ratio":
                ax.axhline(1, color=style.GREY, lw=0.7, ls=":", zorder=1)
            if line is not None:
                ax.axhline(line, color=style.BLACK, lw=0.9, ls="--", label="printed", zorder=1)
            y_axis.dress_y(ax)
            ax.set_xlabel(x_axis.label if ax is not row[-1] else "")
            ax.label_outer()
    axes[-1][-1].set_xticks(range(columns - 1), [label.replace(" ", "\n", 1) for label in labels])
    if printed:
        axes[0][-1].legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
    return Drawn(figure, note=_NOTE)


def _in_numbers(cell: dict) -> str:
    """The range of 90 % of the runs, and the share of the variance that the RTT explains."""
    low, high = (f"{100 * level:g}" for level in LEVELS)
    share = f"; RTT explains {100 * cell['rtt_share']:.0f} %" if np.isfinite(cell["rtt_share"]) else ""
    return f"{low}–{high} %: {cell['low']:.2g} to {cell['high']:.2g}{share}"


def _draw_box(ax: Axes, runs: pd.Series, place: int, color: str) -> None:
    """All runs in the order of the RTT from left to right, and the box of their quartiles."""
    ax.scatter(np.linspace(place - _STRIP, place + _STRIP, len(runs)), runs, s=4, color=color, alpha=0.35, lw=0)
    lines = {f"{part}props": {"color": style.BLACK, "lw": 0.9} for part in ("box", "whisker", "cap", "median")}
    percent = tuple(100 * level for level in LEVELS)
    ax.boxplot(runs.dropna(), positions=[place], widths=2 * _STRIP, whis=percent, showfliers=False, **lines)
