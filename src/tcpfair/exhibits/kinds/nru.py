"""Normalised resource usage of systems of two flows: bars over the RTT."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Options, drawing
from tcpfair.exhibits.kinds.sweeps import Axis
from tcpfair.exhibits.kinds.tables import printed_bounds
from tcpfair.measures import SYSTEM
from tcpfair.measures.shown import OVER_TIME
from tcpfair.metrics.fairness import flow_nru_db_of_mean
from tcpfair.papers.papers import Exhibit, Experiment
from tcpfair.verdicts.columns import Numbers, of_metric
from tcpfair.verdicts.computed import KEY
from tcpfair.verdicts.context import Context, flow_protocol, values_of

_APART, _PRINT_ASIDE = 5.0, 9.0  # points between the flows, and from the bar to published values
_SINGLE_LIMITS_DB = (-9, 4)  # common axis of panels that are separate figures


# --- Bars --------------------------------------------------------------------------------------------------------


class PrintedMeans(Options):
    """Tables of published throughputs, from which the flows' NRU is computed if it is not published."""

    pair: str
    own: str


@drawing()
def nru_bars(
    context: Context,
    exhibit: Exhibit,
    experiment: Experiment,
    numbers: Numbers,
    *,
    protocols: list[str],
    printed: str = "",
    printed_means: PrintedMeans | None = None,
) -> Drawn:
    """U_N as a line over the RTT, with bars from U_N- to U_N+; the NRU of each flow as a marker; ``printed``: its exhibit."""
    metrics = context.metrics(exhibit.experiments[0])
    own = of_metric(metrics[metrics["flow"] != SYSTEM], "U_n")
    flows = own.groupby([*KEY, "flow"])["value"].mean().unstack("flow")  # over runs
    system = pd.DataFrame({metric: numbers.of(metric).set_index(KEY)["value"] for metric in ("U_N-", "U_N", "U_N+")})

    columns = len(protocols)
    width_in = 5.6 if columns == 1 else style.PAGE_IN
    figure, axes = style.new_figure(1, columns, width_in, 3.3, sharey=True)
    for ax, protocol in zip(axes[0], protocols, strict=True):
        _draw_bars(ax, experiment, protocol, flows.loc[protocol], system.loc[protocol])
        _draw_printed(ax, context, experiment, protocol, printed, printed_means)
        Axis(label="RTT (ms)").dress_x(ax, values_of(experiment, "rtt_ms"))
    axes[0][0].set_ylabel(OVER_TIME["nru"].label)
    handles = {text: handle for ax in axes[0] for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    if columns > 1:
        style.letter_panels(axes[0], [" and ".join(_labels(experiment, p)) for p in protocols])
        figure.legend(handles.values(), handles, loc="outside upper center", ncols=len(handles))
    else:
        axes[0][0].set_ylim(_SINGLE_LIMITS_DB)
        axes[0][0].legend(**style.BESIDE)
    return Drawn(figure)


def _labels(experiment: Experiment, protocol: str) -> list[str]:
    return [flow_protocol(experiment, flow, protocol) for flow in range(1, len(experiment.flows) + 1)]


def _draw_bars(ax: Axes, experiment: Experiment, protocol: str, flows: pd.DataFrame, system: pd.DataFrame) -> None:
    rtt_ms = flows.index.to_numpy(dtype=float)
    ax.axhline(0, color=style.GREY, lw=0.8)
    ax.vlines(rtt_ms, system.min(axis=1), system.max(axis=1), color=style.GREY, lw=1.2)
    for ends in (system.min(axis=1), system.max(axis=1)):
        ax.plot(rtt_ms, ends, ls="", marker="_", ms=9, color=style.GREY)
    ax.plot(rtt_ms, system["U_N"], color=style.GREY, lw=1.8, label="$U_N$, bar $U_{N-}$ to $U_{N+}$")
    labels = _labels(experiment, protocol)
    for flow, label, lane in zip(flows, labels, style.lanes(len(labels), _APART), strict=True):
        look = {**style.look(label)._asdict(), "ls": "", "zorder": 3, "transform": style.aside(ax, lane)}
        ax.plot(rtt_ms, flows[flow], **look, label=f"{label} (flow {flow})")
        style.counted(ax, rtt_ms, flows[flow])


def _draw_printed(
    ax: Axes, context: Context, experiment: Experiment, protocol: str, printed: str, means: PrintedMeans | None
) -> None:
    if printed:
        bars = printed_bounds(context, printed).query("protocol == @protocol")
        drawn = {"color": style.GREY, "lw": 0.9, "ls": ":", "transform": style.aside(ax, _PRINT_ASIDE)}
        ax.vlines(bars["rtt_ms"], bars["value_minus"], bars["value_plus"], **drawn)
        for end, text in (("value_minus", None), ("value_plus", "printed bar")):
            style.draw_printed(ax, bars["rtt_ms"], bars[end], style.Look(style.GREY, "o"), text, _PRINT_ASIDE)
    if means:
        labels = _labels(experiment, protocol)
        for (flow, label), lane in zip(enumerate(labels, 1), style.lanes(len(labels), 2 * _PRINT_ASIDE), strict=True):
            cells = _nru_of_printed_means(context, means, protocol, flow, label)
            style.draw_printed(ax, cells["rtt_ms"], cells["u_db"], style.look(label), points=lane)
        ax.add_line(style.printed_handle("from printed means"))


def _nru_of_printed_means(context: Context, tables: PrintedMeans, protocol: str, flow: int, label: str) -> pd.DataFrame:
    """A flow's published mean throughput over that of the same flow in a self-pair, in dB."""
    pair = context.printed(tables.pair, "throughput_mean").query("protocol == @protocol and flow == @flow")
    own = context.printed(tables.own, "throughput_mean").query("protocol == @label and flow == @flow")
    both = pair.merge(own, on="rtt_ms", suffixes=("", "_own"))
    u_db = flow_nru_db_of_mean(both["value"].to_numpy()[:, np.newaxis], 1 / both["value_own"].to_numpy())
    return both.assign(u_db=u_db)
