"""Background traffic: its kinds as a table, the distribution of its rate, its throughput next to other flows."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Table, drawing
from tcpfair.exhibits.kinds.panels import TYPES
from tcpfair.exhibits.kinds.sweeps import Axis, draw_protocols
from tcpfair.exhibits.kinds.tables import DASH
from tcpfair.papers.papers import Exhibit, Experiment, Traffic
from tcpfair.verdicts.columns import Numbers, joined
from tcpfair.verdicts.computed import sampled_loads
from tcpfair.verdicts.context import Context, values_of

_KB, _MB = 1e3, 1e6
_WEB_LIMITS_MBPS = (56, 76)  # fits the intervals, whose overlap is in question
_APART = 4.0  # points between protocols
_LOAD_LIMIT_MBPS = 200  # end of the axis of the distribution


# --- Kinds of traffic --------------------------------------------------------------------------------------------


@drawing(table=True)
def ha2006_table1(context: Context, numbers: Numbers) -> Drawn:
    """Sizes and arrivals of each kind as configured, and their mean load alone on the link."""
    loads, halves = (numbers.of(name).set_index("traffic")["value"] for name in ("throughput_mean", "half_interval"))
    rows = []
    for label in TYPES:
        kind = context.paper.traffic[label]
        rows.append(
            {
                "": escape(label),
                "flow sizes": "<br>".join(_size_texts(kind)),
                "arrivals per s": f"{kind.arrivals_per_s.value:g}",
                "mean gap (s)": f"{1 / kind.arrivals_per_s.value:.3g}",
                "long-lived flows": f"{kind.long_lived.flows.value:g}" if kind.long_lived else DASH,
                "load alone (Mb/s)": f"{loads[label]:.1f} ± {halves[label]:.1f}" if label in loads.index else DASH,
            }
        )
    level = context.value("confidence_level")
    note = f"load: mean of both directions over runs, with its {100 * level:g} % interval"
    table = Table(pd.DataFrame(rows).set_index(""), note)
    return Drawn(table)


def _size_texts(kind: Traffic) -> list[str]:
    texts = []
    for setting in kind.sizes:
        law = {name: value.value for name, value in setting.items()}
        share = f"{100 * law['share']:.3g} %"
        if law["law"] == "lognormal":
            texts.append(f"{share} log-normal, ln(bytes) {law['mu']:g} ± {law['sigma']:g}")
        else:
            n_bytes = law["min_bytes"]
            least = f"{n_bytes / _MB:g} MB" if n_bytes >= _MB else f"{n_bytes / _KB:g} KB"
            texts.append(f"{share} Pareto, shape {law['shape']:g}, from {least}")
    return texts


# --- Distribution of the rate ------------------------------------------------------------------------------------


@drawing()
def ha2006_fig2(context: Context, exhibit: Exhibit, experiment: Experiment) -> Drawn:
    """Cumulative distribution of the samples of the forward load, a line for each kind of traffic."""
    rates = sampled_loads(context, exhibit)
    figure, [[ax]] = style.new_figure(width_in=5.4)
    kinds = values_of(experiment, "traffic")
    curves = []
    for label, color, dashes in zip(kinds, style.shades(len(kinds)), ("-", "--", "-.", ":"), strict=False):
        values = np.sort(rates.loc[rates["traffic"] == label, "mbps"])
        share = np.arange(1, len(values) + 1) / max(len(values), 1)
        ax.plot(values, share, color=color, ls=dashes, label=label)
        levels = np.linspace(0, 1, 201)
        at = np.quantile(values, levels) if len(values) else np.full(len(levels), np.nan)
        curves.append(pd.DataFrame({"traffic": label, "share": levels, "mbps": at}))
    target = context.value("target_load_mbps")
    ax.axvline(target, color=style.GREY, lw=0.9, label=f"{target:g} Mb/s")
    ax.set(xlabel="load in one second (Mb/s)", ylabel="share of the seconds", ylim=(0, 1.01))
    ax.set_xlim(0, _LOAD_LIMIT_MBPS)
    ax.legend(loc="lower right")
    return Drawn(figure, data=joined(curves))


# --- Throughput of Web traffic -----------------------------------------------------------------------------------


@drawing()
def ha2006_fig14(context: Context, numbers: Numbers) -> Drawn:
    """Mean goodput of the short flows over the number of long flows, with its confidence interval.

    The experiments differ in the number of flows; one may have none.
    """
    cells = numbers.of("web_mean")
    level = context.value("confidence_level")
    figure, [[ax]] = style.new_figure(width_in=5.4)
    labels = list(dict.fromkeys(cells.loc[cells["flows"] > 0, "protocol"]))
    bands = cells.assign(low=cells["value"] - cells["half"], high=cells["value"] + cells["half"])
    draw_protocols(ax, bands, "flows", labels, _APART, lw=1.0)
    alone = cells[cells["flows"] == 0]
    drawn = {"color": style.BLACK, "marker": "x", "ls": "", "label": "Web alone"}
    ax.errorbar(alone["flows"], alone["value"], alone["half"], capsize=2, **drawn)
    Axis(label="high-speed flows").dress_x(ax, sorted(set(cells["flows"])))
    ax.set(ylabel="Web traffic (Mb/s)", ylim=_WEB_LIMITS_MBPS)
    ax.legend(**style.BESIDE)
    note = f"mean with its {100 * level:g} % interval; alone: {alone['n_runs'].max():g} runs" if len(alone) else ""
    return Drawn(figure, n_runs=int(cells.loc[cells["flows"] > 0, "n_runs"].max()), note=note)
