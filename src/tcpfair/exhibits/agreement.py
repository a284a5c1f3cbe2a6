"""The engine compared with other simulators: windows over time, and shares of flow 1 run by run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tcpfair.exhibits import style

# the engine's lines are broad and pale, so that thin lines on them are visible
_LOOKS = {
    "engine": {"color": style.SKY, "lw": 2.0},
    "ns3": {"color": style.VERMILION, "lw": 0.6},
    **{source: {"color": style.BLACK, "lw": 0.6} for source in ("ns2", "testbed", "guest")},
}
_COLUMNS = 5
_HEADROOM = 1.12


def draw_windows(
    curves: pd.DataFrame,
    labels: Sequence[str],
    titles: Mapping[str, str],
    settled_s: float,
    until_s: Mapping[str, float],
    note: str,
) -> Figure:
    """One panel per algorithm with its window over time in every simulator.

    ``curves`` has the columns source, label, t_s, cwnd_pkts; ``titles`` names the sources in order. A panel shows the time
    to ``until_s`` of its algorithm; its height fits the window from ``settled_s`` on.
    """
    figure, panels = _panels(labels, 1.25)
    shown = [source for source in titles if source in set(curves["source"])]
    for ax, label in zip(panels, labels, strict=True):
        own = curves[curves["label"] == label]
        for source in shown:
            rows_of = own[own["source"] == source]
            ax.plot(rows_of["t_s"], rows_of["cwnd_pkts"], **_LOOKS[source])
        top = own.loc[own["t_s"] >= settled_s, "cwnd_pkts"].max()
        ax.set_ylim(0, _HEADROOM * top if top > 0 else None)
        ax.set_xlim(0, until_s[label])
    handles = [Line2D([], [], **_LOOKS[source], label=titles[source]) for source in shown]
    return _finished(figure, "time (s)", "window (packets)", note, handles)


def draw_shares(
    runs: Mapping[str, pd.DataFrame], labels: Sequence[str], titles: Mapping[str, str], note: str
) -> Figure:
    """The share of flow 1 of each run, by algorithm, a panel per experiment; a bar at the mean of each simulator.

    ``runs`` gives for each title of a panel the columns source, label, share.
    """
    shown = [source for source in titles if any(source in set(rows["source"]) for rows in runs.values())]
    figure, [axes] = style.new_figure(
        1, len(runs), width_in=style.PAGE_IN, height_in=0.36 * len(labels) + 0.9, sharey=True
    )
    lanes = np.linspace(-0.27, 0.27, len(shown)) if len(shown) > 1 else np.zeros(1)
    for ax, (title, rows) in zip(axes, runs.items(), strict=True):
        _strip(ax, rows, labels, dict(zip(shown, lanes, strict=True)))
        ax.set_title(title, loc="left", fontsize=8)
        ax.set(xlim=(-0.03, 1.03), xticks=[0, 0.5, 1])
        ax.axvline(0.5, color=style.GREY, lw=0.6, zorder=0)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)
    look = {"ls": "", "marker": "o", "ms": 3.5}
    handles = [Line2D([], [], **_LOOKS[source] | look, label=titles[source]) for source in shown]
    return _finished(figure, "share of flow 1", "", note, handles)


def draw_flows(flows: pd.DataFrame, experiments: Sequence[str], level: float, note: str) -> Figure:
    """The mean share of each flow of random dumbbells in the engine over that in the other simulator, a panel for each
    experiment; arms are standard deviations, filled points are less likely than ``level``."""
    figure, [axes] = style.new_figure(1, len(experiments), width_in=style.PAGE_IN, height_in=4.0)
    for ax, experiment in zip(axes, experiments, strict=True):
        rows = flows[flows["experiment"] == experiment]
        ax.plot([1e-3, 1], [1e-3, 1], color=style.GREY, lw=0.6, zorder=0)
        for is_beyond, color, face in ((False, style.SKY, "none"), (True, style.VERMILION, style.VERMILION)):
            own = rows[(rows["p"] < level) == is_beyond]
            looks = {"fmt": "o", "ms": 3.5, "lw": 0.5, "color": color, "mfc": face, "mew": 0.7}
            ax.errorbar(own["tool_mean"], own["engine_mean"], xerr=own["tool_sd"], yerr=own["engine_sd"], **looks)
        ax.set(xscale="log", yscale="log", xlim=(1e-3, 1.05), ylim=(1e-3, 1.05), xlabel="share in ns-2")
        ax.tick_params(labelsize=style.POWERS_PT)
        ax.set_title(experiment, loc="left", fontsize=8)
    axes[0].set_ylabel("share in the engine")
    style.corner_note(figure, note)
    return figure


def draw_seeds(
    runs: pd.DataFrame, labels: Sequence[str], titles: Mapping[str, str], engine: str, tool: str, note: str
) -> Figure:
    """One panel per algorithm: the share of flow 1 in the engine over that in the other simulator, a point for each seed."""
    figure, panels = _panels(labels, 1.35)
    shares = runs.pivot_table(index=["label", "replicate"], columns="source", values="share")
    for ax, label in zip(panels, labels, strict=True):
        ax.plot([0, 1], [0, 1], color=style.GREY, lw=0.6, zorder=0)
        if {engine, tool} <= set(shares) and label in shares.index:
            own = shares.loc[label].dropna()
            ax.plot(own[tool], own[engine], ls="", marker="o", ms=2.5, mew=0, color=style.BLACK)
        ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    return _finished(figure, f"share of flow 1 in {titles[tool]}", f"in the {titles[engine]}", note)


def _finished(figure: Figure, x_label: str, y_label: str, note: str, handles: Sequence[Line2D] = ()) -> Figure:
    """A figure with the labels that all panels share, a legend by simulator if it has handles, and a note."""
    figure.supxlabel(x_label, fontsize=8.5)
    if y_label:
        figure.supylabel(y_label, fontsize=8.5)
    if handles:
        figure.legend(handles=handles, loc="outside upper right", ncols=len(handles))
    style.corner_note(figure, note)
    return figure


def _panels(labels: Sequence[str], height_in: float) -> tuple[Figure, list[Axes]]:
    """A panel for each algorithm, with its name, in rows of ``height_in``."""
    rows = math.ceil(len(labels) / _COLUMNS)
    figure, _ = style.new_figure(rows, _COLUMNS, width_in=style.PAGE_IN, height_in=height_in * rows + 0.7)
    panels = figure.axes
    for ax, label in zip(panels, labels, strict=False):
        ax.set_title(label, loc="left", fontsize=8)
        ax.tick_params(labelsize=style.LEAST_PT)
    for ax in panels[len(labels) :]:
        ax.set_axis_off()
    return figure, panels[: len(labels)]


def _strip(ax: Axes, rows: pd.DataFrame, labels: Sequence[str], lanes: Mapping[str, float]) -> None:
    ax.grid(axis="y", visible=False)
    for place, label in enumerate(labels):
        if place % 2:
            ax.axhspan(place - 0.5, place + 0.5, color="#F5F7F9", zorder=-1)
        for source, lane in lanes.items():
            shares = rows.loc[(rows["label"] == label) & (rows["source"] == source), "share"].dropna()
            if len(shares):
                y, color = place + lane, _LOOKS[source]["color"]
                ax.plot(shares, np.full(len(shares), y), ls="", marker="o", ms=2.2, mew=0, color=color)
                ax.plot([shares.mean()] * 2, [y - 0.13, y + 0.13], color=color, lw=1.2)
