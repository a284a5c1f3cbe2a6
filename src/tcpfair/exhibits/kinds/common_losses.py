"""The map of two CUBIC flows with common losses (kozu2014 sec. 3.2) compared with simulated windows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Table, drawing
from tcpfair.exhibits.kinds.tables import number_text
from tcpfair.exhibits.kinds.timelines import example_number
from tcpfair.papers.papers import Exhibit
from tcpfair.units import MS_PER_S
from tcpfair.verdicts.columns import Numbers
from tcpfair.verdicts.computed import MAP_DECIMALS, MAP_LOSSES
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.paper_models import (
    AS_THEY_FALL,
    ENGINE,
    EQUAL_SHARE,
    READINGS,
    example_paths,
    heading,
    two_flows,
)

_ASIDE = 3.0  # points between a place and its markers
_LINES = {"paper": "--", "physical": "-"}


def _panels(
    context: Context,
    exhibit: Exhibit,
    cells: pd.DataFrame,
    shares: tuple[float, float],
    x: str,
    draw: Callable[..., None],
) -> Figure:
    """A panel for each protocol of the exhibit's experiments; ``draw(ax, rows, color)`` draws the cells of one."""
    grids = (context.paper.experiments[name].grid["protocol"].value for name in exhibit.experiments)
    protocols = [protocol for grid in grids for protocol in grid]
    figure, [axes] = style.new_figure(1, len(protocols), style.PAGE_IN, 3.2, sharey=True)
    for ax, protocol in zip(axes, protocols, strict=True):
        draw(ax, cells[cells["protocol"] == protocol], style.look(heading(protocol)).color)
        ax.axhline(EQUAL_SHARE, color=style.GREY, lw=0.6)
        ax.set_title(heading(protocol).replace(" and ", "\nand "), fontsize=8)
        ax.set_xlabel(x)
    axes[0].set(ylabel="share of the 2 ms flow", ylim=shares)
    style.legend_above(figure, axes[0].get_legend_handles_labels()[0], 3)
    return figure


# --- Shares in the long run --------------------------------------------------------------------------------------


@drawing()
def kozu2014_map_shares(context: Context, exhibit: Exhibit, numbers: Numbers) -> Drawn:
    """Flow 1's share in the second half of each run: simulated with and without forced common losses, and by the map."""
    figure = _panels(context, exhibit, numbers.of("share"), (0, 1), "RTT of flow 2 (ms)", _draw_shares)
    return Drawn(figure, note="second half of the common losses")


def _draw_shares(ax: Axes, cells: pd.DataFrame, color: str) -> None:
    for name, text in READINGS.items():
        line = cells[cells["form"] == name]
        ax.plot(line["rtt_ms"], line["value"], color=style.GREY, ls=_LINES[name], label=f"map: {text}")
    for form, marker, fill, text, lane in (
        (ENGINE, "o", color, "simulated, losses forced to be common", -_ASIDE),
        (AS_THEY_FALL, "s", "white", "simulated, losses as they fall", _ASIDE),
    ):
        points = cells[cells["form"] == form]
        bars = {"yerr": points["sd"], "capsize": 2, "lw": 0.8, "ls": "", "transform": style.aside(ax, lane)}
        ax.errorbar(points["rtt_ms"], points["value"], marker=marker, color=color, mfc=fill, label=text, **bars)
    places = sorted(cells["rtt_ms"].unique())
    ax.set(xscale="log", xlim=(places[0] / 1.5, places[-1] * 1.5))
    ax.set_xticks(places, [f"{place:g}" for place in places])
    ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)


# --- The path from loss to loss ----------------------------------------------------------------------------------


@drawing()
def kozu2014_map_paths(context: Context, exhibit: Exhibit) -> Drawn:
    """Flow 1's share at each common loss of the example run, simulated and by both readings of the map."""
    data = example_paths(context, exhibit.experiments)
    figure = _panels(context, exhibit, data, _tenths(data["share"]), "common loss", _draw_paths)
    return Drawn(figure, n_runs=1, data=data, note=f"drawn: run {example_number(context)}")


def _tenths(shares: pd.Series) -> tuple[float, float]:
    """Limits at tenths around the shares, so that lines that hardly move can be distinguished."""
    seen = shares.dropna()
    return (np.floor(10 * seen.min()) / 10, (np.floor(10 * seen.max()) + 1) / 10) if len(seen) else (0, 1)


def _draw_paths(ax: Axes, paths: pd.DataFrame, color: str) -> None:
    simulated = paths[paths["form"] == ENGINE]
    points = {"ls": "", "marker": "o", "ms": 3.5, "mfc": "none", "mew": 0.8, "zorder": 3}
    ax.plot(simulated["loss"], simulated["share"], **points, color=color, label="simulated")
    for form, text in READINGS.items():
        line = paths[paths["form"] == form]
        ax.plot(line["loss"], line["share"], color=style.BLACK, lw=1.0, ls=_LINES[form], label=f"map: {text}")


# --- Fixed points ------------------------------------------------------------------------------------------------


@drawing(table=True)
def kozu2014_map_table(context: Context, numbers: Numbers) -> Drawn:
    """Fixed shares of the map, its slope there, and the share that it reaches from an equal share in `MAP_LOSSES` losses."""
    found = {metric: numbers.of(metric).set_index(["protocol", "form"]) for metric in MAP_DECIMALS}
    cells = {}
    for (protocol, form), still in found["fixed_share"]["still"].items():
        text = {metric: number_text(found[metric]["value"][protocol, form], d) for metric, d in MAP_DECIMALS.items()}
        cells[protocol, READINGS[form]] = {
            "fixed share of the 2 ms flow": "every share" if still else text["fixed_share"],
            "W_max of flow 2 / flow 1 there": text["window_ratio"],
            "slope there": text["slope"],
            f"share after {MAP_LOSSES} losses from one half": text["reached"],
        }
    link, _ = two_flows(context.paper)
    rtts_ms, x = context.value("model_rtt_ms"), context.value("map_example_x")
    full_ms = " and ".join(f"{rtt_s * MS_PER_S:.1f}" for rtt_s in link.full_rtt_s)
    note = f"RTTs of {rtts_ms[0]:g} and {rtts_ms[1]:g} ms, with a full buffer {full_ms} ms; x(RTT) of flow 2 is {x:g}"
    return Drawn(Table(pd.DataFrame(cells).T, note), note="closed form")
