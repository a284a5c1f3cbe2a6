"""Normalised resource usage of systems of two flows: the table of tuples and the bars over the RTT."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from pydantic import BaseModel, ConfigDict

from tcpfair.contract.papers import Exhibit, Experiment
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Context, Drawn, Options, Table, drawing, flow_protocol, joined
from tcpfair.exhibits.kinds.tables import CELL_NOTE, protocol_rows, result_cells, rtts_ms
from tcpfair.exhibits.numbers import number_rows, over_runs
from tcpfair.measures import SYSTEM
from tcpfair.metrics.fairness import case_letter, flow_nru_db_of_mean, nru_tuple, tuple_stability

KEY = ["protocol", "rtt_ms"]

# metric of the flows -> suffix of the system's metrics: the mean of dB (eq. 5), and the dB of the mean throughput
CONVENTIONS = {"U_n": "", "U_n_of_means": "_of_means"}
_SINGLE_LIMITS_DB = (-9, 4)  # panels that are figures of their own have the same axis
OF_RUNS = ("U_N", "U_N+", "U_N-", "S_N", "S_N_eq10")


def flow_nru(metrics: pd.DataFrame, metric: str = "U_n") -> pd.DataFrame:
    """Flow NRU in dB averaged over runs: a row per protocol and RTT, a column per flow."""
    cells = over_runs(metrics[metrics["flow"] != SYSTEM], metric, [*KEY, "flow"])
    return cells.pivot(index=KEY, columns="flow", values="value")


def system_nru(flows: pd.DataFrame) -> pd.DataFrame:
    """U_N, U_N+, U_N- and S_N of `flow_nru`, a column each.

    The flows are divided into fair and unfair after averaging over runs: otherwise hardly a cell of Table VI of
    bhatti2008 could be empty. S_N is the printed one, the variation between the flows, not eq. 10.
    """
    u_n = flows.to_numpy()
    mean, plus, minus = nru_tuple(u_n)
    values = {"U_N": mean, "U_N+": plus, "U_N-": minus, "S_N": tuple_stability(u_n)}
    return pd.DataFrame(values, index=flows.index)


def nru_numbers(exhibit_id: str, metrics: pd.DataFrame) -> pd.DataFrame:
    """The tuples in both conventions, the tuples of single runs averaged, and the letters of the cases."""
    system = metrics[metrics["flow"] == SYSTEM]
    per_run = {name: over_runs(system, name, KEY) for name in OF_RUNS if (system["metric"] == name).any()}
    frames = [number_rows(exhibit_id, f"{name}_per_run", cells, KEY) for name, cells in per_run.items()]
    n_runs = over_runs(metrics[metrics["flow"] == 1], "U_n", KEY)[[*KEY, "n_runs"]]
    for flow_metric, suffix in CONVENTIONS.items():
        tuples = system_nru(flow_nru(metrics, flow_metric)).reset_index().merge(n_runs, on=KEY)
        for name in ("U_N", "U_N+", "U_N-", "S_N"):
            cells = tuples.assign(value=tuples[name])
            if name in per_run and not suffix:
                cells = cells.merge(per_run[name][[*KEY, "sd"]], on=KEY)
            frames.append(number_rows(exhibit_id, name + suffix, cells, KEY))
        for name, decimals in (("case", 2), ("case_1dp", 1)):
            letters = case_letter(tuples["U_N+"], tuples["U_N-"], decimals)
            frames.append(number_rows(exhibit_id, name + suffix, tuples.assign(value=letters.astype(object)), KEY))
    return joined(frames)


@drawing(table=True)
def bhatti2008_table6(context: Context, exhibit: Exhibit) -> Drawn:
    """The tuples U_N+, U_N-, S_N and the letter of the case: a row per protocol, a column per RTT."""
    name, experiment = context.experiment(exhibit)
    numbers = nru_numbers(exhibit.id, context.metrics(name))
    columns = {(f"{rtt:g} ms",): {"rtt_ms": rtt} for rtt in rtts_ms(experiment)}
    decimals = {"U_N+": 2, "U_N-": 2, "S_N": 2, "case": 0}
    table = result_cells(context, exhibit, numbers, protocol_rows(experiment), columns, decimals)
    return Drawn(Table(table, CELL_NOTE), numbers, int(numbers["n_runs"].max()))


# --- Bars --------------------------------------------------------------------------------------------------------


class PrintedMeans(BaseModel):
    """Tables of printed throughputs from which the flows' NRU can be worked out where none is printed."""

    model_config = ConfigDict(extra="forbid")

    pair: str
    own: str


class NruBars(Options):
    """Options of `nru_bars`."""

    protocols: list[str]
    printed: str = ""
    printed_means: PrintedMeans | None = None


@drawing(NruBars)
def nru_bars(context: Context, exhibit: Exhibit, options: NruBars) -> Drawn:
    """U_N as a line over the RTT, with bars from U_N- to U_N+; the NRU of each flow as a marker."""
    name, experiment = context.experiment(exhibit)
    metrics = context.metrics(name)
    metrics = metrics[metrics["protocol"].isin(options.protocols)]
    flows, numbers = flow_nru(metrics), nru_numbers(exhibit.id, metrics)

    columns = len(options.protocols)
    width_in = 5.6 if columns == 1 else style.PAGE_IN
    figure, axes = style.new_figure(1, columns, width_in, 3.3, sharey=True)
    for ax, protocol in zip(axes[0], options.protocols, strict=True):
        _draw_bars(ax, experiment, protocol, flows.loc[protocol])
        _draw_printed(ax, context, experiment, protocol, options)
        ax.set_xticks(rtts_ms(experiment))
        ax.set_xlabel("RTT (ms)")
    axes[0][0].set_ylabel("NRU (dB)")
    handles = {text: handle for ax in axes[0] for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    if columns > 1:
        style.letter_panels(axes[0], [" and ".join(_labels(experiment, p)) for p in options.protocols])
        figure.legend(handles.values(), handles, loc="outside upper center", ncols=len(handles))
    else:
        axes[0][0].set_ylim(_SINGLE_LIMITS_DB)
        axes[0][0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return Drawn(figure, numbers, int(numbers["n_runs"].max()))


def _labels(experiment: Experiment, protocol: str) -> list[str]:
    return [flow_protocol(experiment, flow, protocol) for flow in range(1, len(experiment.flows) + 1)]


def _draw_bars(ax: Axes, experiment: Experiment, protocol: str, flows: pd.DataFrame) -> None:
    system, rtt_ms = system_nru(flows), flows.index.to_numpy(dtype=float)
    ax.axhline(0, color=style.GREY, lw=0.8)
    ends = system[["U_N-", "U_N", "U_N+"]]
    ax.vlines(rtt_ms, ends.min(axis=1), ends.max(axis=1), color=style.GREY, lw=1.2)
    ax.plot(rtt_ms, ends.min(axis=1), ls="", marker="_", ms=9, color=style.GREY)
    ax.plot(rtt_ms, ends.max(axis=1), ls="", marker="_", ms=9, color=style.GREY)
    ax.plot(rtt_ms, system["U_N"], color=style.GREY, lw=1.8, label="$U_N$, bar $U_{N-}$ to $U_{N+}$")
    for flow, label in enumerate(_labels(experiment, protocol), 1):
        look = style.look(label)
        ax.plot(
            rtt_ms, flows[flow], ls="", marker=look.marker, color=look.color, zorder=3, label=f"{label} (flow {flow})"
        )


def _draw_printed(ax: Axes, context: Context, experiment: Experiment, protocol: str, options: NruBars) -> None:
    if options.printed:
        plus, minus = (context.printed(options.printed, metric) for metric in ("U_N+", "U_N-"))
        bars = plus.merge(minus, on=KEY, suffixes=("_plus", "_minus")).query("protocol == @protocol")
        beside = bars["rtt_ms"] + 0.03 * np.ptp(bars["rtt_ms"])
        ax.vlines(beside, bars["value_minus"], bars["value_plus"], color=style.GREY, lw=0.9, ls=":")
        style.draw_printed(ax, beside, bars["value_minus"], style.Look(style.GREY, "o"))
        style.draw_printed(ax, beside, bars["value_plus"], style.Look(style.GREY, "o"), label="printed bar")
    if options.printed_means:
        for flow, label in enumerate(_labels(experiment, protocol), 1):
            cells = _nru_of_printed_means(context, options.printed_means, protocol, flow, label)
            style.draw_printed(ax, cells["rtt_ms"], cells["u_db"], style.look(label))
        ax.add_line(style.printed_handle("from printed means"))


def _nru_of_printed_means(context: Context, tables: PrintedMeans, protocol: str, flow: int, label: str) -> pd.DataFrame:
    """dB of a flow's printed mean throughput over that of the same flow against its own kind."""
    pair = context.printed(tables.pair, "throughput_mean").query("protocol == @protocol and flow == @flow")
    own = context.printed(tables.own, "throughput_mean").query("protocol == @label and flow == @flow")
    both = pair.merge(own, on="rtt_ms", suffixes=("", "_own"))
    u_db = flow_nru_db_of_mean(both["value"].to_numpy()[:, np.newaxis], 1 / both["value_own"].to_numpy())
    return both.assign(u_db=u_db)
