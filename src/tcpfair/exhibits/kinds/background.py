"""Background traffic: its kinds as a table, the distribution of its rate, what it gets beside other flows."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd

from tcpfair.contract.papers import Exhibit, Experiment, Traffic
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Context, Drawn, Table, drawing, joined, protocols_of, values_of
from tcpfair.exhibits.kinds.panels import TYPES
from tcpfair.exhibits.kinds.tables import DASH
from tcpfair.exhibits.numbers import number_rows, over_runs, single_number
from tcpfair.measures import SYSTEM
from tcpfair.metrics.series import mean_interval, window_mask
from tcpfair.units import mbps

_KB, _MB = 1e3, 1e6
_LOAD_LIMIT_MBPS = 200  # how far the axis of the distribution reaches
_QUANTILES = (0.1, 0.5, 0.9, 0.99)


# --- Kinds of traffic --------------------------------------------------------------------------------------------


@drawing(table=True)
def ha2006_table1(context: Context, exhibit: Exhibit) -> Drawn:
    """Sizes and arrivals of each kind as configured, and the mean load that they make alone on the link."""
    name, experiment = context.experiment(exhibit)
    loads = load_intervals(context, name, experiment)
    rows = []
    for label in TYPES:
        kind = context.paper.traffic[label]
        load = loads.loc[label] if label in loads.index else None
        rows.append(
            {
                "": escape(label),
                "flow sizes": "<br>".join(_size_texts(kind)),
                "arrivals per s": f"{kind.arrivals_per_s.value:g}",
                "mean gap (s)": f"{1 / kind.arrivals_per_s.value:.3g}",
                "long-lived flows": f"{kind.long_lived.flows.value:g}" if kind.long_lived else DASH,
                "load alone (Mb/s)": DASH if load is None else f"{load['value']:.1f} ± {load['half']:.1f}",
            }
        )
    level = context.paper.analysis_value("confidence_level")
    numbers = [
        number_rows(exhibit.id, "throughput_mean", loads.reset_index(), ["traffic"]),
        number_rows(
            exhibit.id, "half_interval", loads.reset_index().assign(value=loads["half"].to_numpy()), ["traffic"]
        ),
        single_number("ha2006.sec-3.3", "throughput_mean", loads["value"].mean(), item="background Types I-IV"),
    ]
    note = f"load: mean of both directions over runs, with its {100 * level:g} % interval"
    table = Table(pd.DataFrame(rows).set_index(""), note)
    return Drawn(table, joined(numbers), int(loads["n_runs"].max()))


def load_intervals(context: Context, name: str, experiment: Experiment) -> pd.DataFrame:
    """Mean load of each kind of traffic in Mb/s and half of its confidence interval over the runs, by kind."""
    metrics = context.metrics(name).query("metric == 'load_both_ways'")
    level = context.paper.analysis_value("confidence_level")
    rows = []
    for label in values_of(experiment, "traffic"):
        values = metrics.loc[metrics["traffic"] == label, "value"]
        mean, half = mean_interval(values, level)
        rows.append({"traffic": label, "value": mean, "half": half, "sd": values.std(), "n_runs": values.count()})
    return pd.DataFrame(rows).set_index("traffic")


def _size_texts(kind: Traffic) -> list[str]:
    texts = []
    for setting in kind.sizes:
        law = {name: value.value for name, value in setting.items()}
        share = f"{100 * law['share']:.3g} %"
        if law["law"] == "lognormal":
            texts.append(f"{share} log-normal, ln(bytes) {law['mu']:g} ± {law['sigma']:g}")
        else:
            texts.append(f"{share} Pareto, shape {law['shape']:g}, from {_bytes_text(law['min_bytes'])}")
    return texts


def _bytes_text(n_bytes: float) -> str:
    return f"{n_bytes / _MB:g} MB" if n_bytes >= _MB else f"{n_bytes / _KB:g} KB"


# --- Distribution of the rate ------------------------------------------------------------------------------------


@drawing()
def ha2006_fig2(context: Context, exhibit: Exhibit) -> Drawn:
    """Cumulative distribution of the samples of the forward load, a line for each kind of traffic."""
    name, experiment = context.experiment(exhibit)
    metrics = context.metrics(name)
    metrics = metrics[metrics["flow"] == SYSTEM]
    rates = _sampled_loads(context, name, experiment)
    figure, [[ax]] = style.new_figure(width_in=5.4)
    kinds = values_of(experiment, "traffic")
    curves, numbers = [], []
    for label, color, dashes in zip(kinds, style.shades(len(kinds)), ("-", "--", "-.", ":"), strict=False):
        values = np.sort(rates.loc[rates["traffic"] == label, "mbps"])
        share = np.arange(1, len(values) + 1) / max(len(values), 1)
        ax.plot(values, share, color=color, ls=dashes, label=label)
        levels = np.linspace(0, 1, 201)
        at = np.quantile(values, levels) if len(values) else np.full(len(levels), np.nan)
        curves.append(pd.DataFrame({"traffic": label, "share": levels, "mbps": at}))
        for level in _QUANTILES if len(values) else ():
            key = {"traffic": label, "quantile": level}
            numbers.append(single_number(exhibit.id, "load_quantile", float(np.quantile(values, level)), **key))
    for metric in ("load_mean", "load_sd"):
        numbers.append(number_rows(exhibit.id, metric, over_runs(metrics, metric, ["traffic"]), ["traffic"]))
    target = context.paper.analysis_value("target_load_mbps")
    ax.axvline(target, color=style.GREY, lw=0.9, label=f"{target:g} Mb/s")
    ax.set(xlabel="load in one second (Mb/s)", ylabel="share of the seconds", ylim=(0, 1.01))
    ax.set_xlim(0, _LOAD_LIMIT_MBPS)
    ax.legend(loc="lower right")
    n_runs = int(metrics.groupby("traffic")["run_id"].nunique().max())
    return Drawn(figure, joined(numbers), n_runs, joined(curves))


def _sampled_loads(context: Context, name: str, experiment: Experiment) -> pd.DataFrame:
    """Forward load in Mb/s of every sample in the window: columns traffic, mbps."""
    trace = context.trace(name)
    link = trace.link.query("direction == 'forward'")
    link = link.merge(trace.runs[["run_id", "traffic", "sample_s", "payload_bytes", "wire_bytes"]], on="run_id")
    link = link[window_mask(link["t_s"], *experiment.window_s.value)]
    of_payload = context.paper.analysis_value("utilisation_counts") == "payload"
    counted = link["payload_bytes"] / link["wire_bytes"] if of_payload else 1.0
    return pd.DataFrame({"traffic": link["traffic"], "mbps": counted * mbps(link["forwarded_bytes"], link["sample_s"])})


# --- What Web traffic gets ---------------------------------------------------------------------------------------


@drawing()
def ha2006_fig14(context: Context, exhibit: Exhibit) -> Drawn:
    """Mean goodput of the short flows over the number of long ones beside them, with its confidence interval.

    The experiments differ in the number of flows; one may have none.
    """
    cells = joined(_web_cells(context, exhibit, place) for place in range(len(exhibit.experiments)))
    level = context.paper.analysis_value("confidence_level")
    figure, [[ax]] = style.new_figure(width_in=5.4)
    labels = list(dict.fromkeys(cells.loc[cells["flows"] > 0, "protocol"]))
    for place, protocol in enumerate(labels):
        line, look = cells[cells["protocol"] == protocol], style.look(protocol)
        aside = 0.08 * (place - (len(labels) - 1) / 2)
        drawn = {"color": look.color, "marker": look.marker, "lw": 1.0, "label": protocol}
        ax.errorbar(line["flows"] + aside, line["value"], line["half"], elinewidth=0.9, capsize=2, **drawn)
    alone = cells[cells["flows"] == 0]
    drawn = {"color": style.BLACK, "marker": "x", "ls": "", "label": "Web alone"}
    ax.errorbar(alone["flows"], alone["value"], alone["half"], capsize=2, **drawn)
    ax.set(xlabel="high-speed flows", ylabel="Web traffic (Mb/s)", ylim=(0, 80))
    ax.set_xticks(sorted(set(cells["flows"])))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    key = ["protocol", "flows"]
    numbers = [number_rows(exhibit.id, "web_mean", cells, key)]
    numbers.append(number_rows(exhibit.id, "half_interval", cells.assign(value=cells["half"], sd=np.nan), key))
    note = f"mean with its {100 * level:g} % interval; alone: {alone['n_runs'].max():g} runs" if len(alone) else ""
    return Drawn(figure, joined(numbers), int(cells.loc[cells["flows"] > 0, "n_runs"].max()), note=note)


def _web_cells(context: Context, exhibit: Exhibit, place: int) -> pd.DataFrame:
    """Mean goodput of the short flows and half of its interval for each protocol of one experiment."""
    name, experiment = context.experiment(exhibit, place)
    metrics = context.metrics(name).query("metric == 'web_mean' and traffic == 'Type II'")
    flows = sum("size_pkts" not in flow for flow in experiment.flows)
    level = context.paper.analysis_value("confidence_level")
    groups = {"none": metrics}
    if flows:
        groups = {label: metrics[metrics["protocol"] == label] for label in protocols_of(experiment)}
    rows = []
    for label, group in groups.items():
        mean, half = mean_interval(group["value"], level)
        spread = {"sd": group["value"].std(), "n_runs": group["value"].count()}
        rows.append({"protocol": label, "flows": flows, "value": mean, "half": half, **spread})
    return pd.DataFrame(rows)
