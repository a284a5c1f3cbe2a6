"""The map of two CUBIC flows with common losses (kozu2014 sec. 3.2) beside the simulated windows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tcpfair.contract.papers import Exhibit, PaperConfig
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Context, Drawn, Table, drawing, joined
from tcpfair.exhibits.kinds.cubic_curves import link_of
from tcpfair.exhibits.kinds.tables import number_text
from tcpfair.exhibits.numbers import number_rows
from tcpfair.metrics.epochs import LOSS_KINDS, common_losses
from tcpfair.models import cubic_map
from tcpfair.models.aimd import link_capacity_pps
from tcpfair.units import MS_PER_S

READINGS = {"paper": "sum of windows as before", "physical": "link and buffer full"}
_ENGINE, _AS_THEY_FALL = "engine", "engine, losses not forced"
_LINES = {"paper": "--", "physical": "-"}
_FAIR = 0.5
_MAP = " (map)"  # ends the labels of variants that keep to the equations
_LOSSES = 50  # from an equal share


def reading(paper: PaperConfig, name: str) -> cubic_map.Reading:
    """The paper's reading of when the next common loss falls, or the physical one with its ACK ratio."""
    return cubic_map.PAPER if name == "paper" else cubic_map.physical(paper.flow["ack_every"].value)


def method_of(paper: PaperConfig, protocol: str, x: float = 1.0) -> cubic_map.Method:
    """The map's rule for a protocol of the configuration; ``x`` is that of the second flow (eq. 9)."""
    given = paper.protocols[protocol]
    params = {name: setting.value for name, setting in given.params.items() if not isinstance(setting, str)}
    if given.cc.value == "cubic":
        return cubic_map.STANDARD
    if params.get("constant_K"):
        return cubic_map.constant(params["K_s"])
    if params.get("by_rtt") == 0:
        return cubic_map.existing((1.0, x))
    return cubic_map.PROPOSED_WITH_C if params.get("scaled_C") else cubic_map.PROPOSED


def heading(protocol: str) -> str:
    """``CUBIC (map)``, as the configuration calls the variant that keeps to the equations, is CUBIC."""
    return protocol.removesuffix(_MAP)


# --- From the trace ----------------------------------------------------------------------------------------------


def simulated_paths(context: Context, experiment: str) -> Iterator[tuple[pd.Series, cubic_map.Link, pd.DataFrame]]:
    """Each run, its link, and flow 1's share and both windows at its common losses after slow start."""
    trace, value = context.trace(experiment), context.paper.analysis_value
    losses = trace.events[trace.events["kind"].isin(LOSS_KINDS)].sort_values("t_s", kind="stable")
    by_flow = dict(iter(losses.groupby(["run_id", "flow_id"])))
    rtts_s = trace.flows.set_index(["run_id", "flow_id"])["rtt_s"]
    for _, run in trace.runs.iterrows():
        run_id = run["run_id"]
        capacity_pps = link_capacity_pps(run["capacity_bps"], run["wire_bytes"])
        link = cubic_map.Link(capacity_pps, run["buffer_pkts"], (rtts_s[run_id, 1], rtts_s[run_id, 2]))
        first, second = (by_flow.get((run_id, flow), losses.iloc[:0]) for flow in (1, 2))
        pairs = common_losses(first["t_s"], second["t_s"], value("common_within_s"))
        t_s = first["t_s"].to_numpy()[pairs[:, 0]]
        w1, w2 = (flow["cwnd_before"].to_numpy()[pairs[:, i]] for i, flow in enumerate((first, second)))
        path = pd.DataFrame({"t_s": t_s, "w1_pkts": w1, "w2_pkts": w2}).query("t_s >= @value('map_settled_s')")
        shares = [link.share(windows) for windows in path[["w1_pkts", "w2_pkts"]].to_numpy()]
        yield run, link, path.assign(share=shares).reset_index(drop=True)


def _predicted(paper: PaperConfig, run: pd.Series, link: cubic_map.Link, path: pd.DataFrame, name: str) -> np.ndarray:
    """Flow 1's share at as many common losses as simulated, by the map from the first of them on."""
    method = method_of(paper, run["protocol"], run.get("x", 1.0))
    model = cubic_map.CubicMap(link, method, reading(paper, name))
    _, windows = model.path(path.loc[0, ["w1_pkts", "w2_pkts"]].to_numpy(dtype=float), len(path) - 1)
    return np.array([link.share(w_pkts) for w_pkts in windows])


def _late(shares: np.ndarray | pd.Series) -> float:
    """Mean over the second half."""
    return float(np.mean(shares[len(shares) // 2 :]))


def _panels(context: Context, exhibit: Exhibit) -> list[str]:
    """Protocols of all the exhibit's experiments."""
    grids = (context.paper.experiments[name].grid["protocol"].value for name in exhibit.experiments)
    return [protocol for grid in grids for protocol in grid]


# --- Shares in the long run --------------------------------------------------------------------------------------


@drawing()
def kozu2014_map_shares(context: Context, exhibit: Exhibit) -> Drawn:
    """Flow 1's share in the second half of each run: simulated with and without forced common losses, and by the map."""
    rows = joined(_share_rows(context, name) for name in exhibit.experiments)
    key = ["protocol", "rtt_ms", "form"]
    cells = rows.groupby(key, sort=False)["value"].agg(value="mean", sd="std", n_runs="count").reset_index()
    apart = rows[rows["form"].isin(READINGS)].groupby(key, sort=False)["apart"]
    errors = apart.agg(value="mean", sd="std", n_runs="count").reset_index()
    protocols = _panels(context, exhibit)
    figure, [axes] = style.new_figure(1, len(protocols), style.PAGE_IN, 2.9, sharey=True)
    for ax, protocol in zip(axes, protocols, strict=True):
        own = cells.query("protocol == @protocol")
        _draw_shares(ax, own, style.look(heading(protocol)).color)
        ax.set_title(heading(protocol).replace(" and ", "\nand "), fontsize=8)
        ax.set_xlabel("RTT of flow 2 (ms)")
    axes[0].set(ylabel="share of the 2 ms flow", ylim=(0, 1))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    numbers = joined(
        [
            number_rows(exhibit.id, "share", cells, key),
            number_rows(exhibit.id, "share_error", errors, key),
        ]
    )
    return Drawn(figure, numbers, int(cells["n_runs"].max()), note="second half of the common losses")


def _share_rows(context: Context, experiment: str) -> pd.DataFrame:
    """A row per run and form; ``apart`` is simulated less predicted."""
    throughput = context.metrics(experiment).query("metric == 'throughput_mean'")
    means = throughput.set_index(["run_id", "flow"])["value"].unstack("flow")
    rows = []
    for run, link, path in simulated_paths(context, experiment):
        about = {"protocol": run["protocol"], "rtt_ms": run["rtt_ms"]}
        of_throughput = means.loc[run["run_id"]]
        if not run["synchronised"]:
            rows.append({**about, "form": _AS_THEY_FALL, "value": of_throughput[1] / of_throughput.sum()})
            continue
        rows.append({**about, "form": "engine, throughput", "value": of_throughput[1] / of_throughput.sum()})
        simulated = _late(path["share"]) if len(path) else np.nan
        rows.append({**about, "form": _ENGINE, "value": simulated})
        for name in READINGS:
            predicted = _late(_predicted(context.paper, run, link, path, name)) if len(path) else np.nan
            rows.append({**about, "form": name, "value": predicted, "apart": simulated - predicted})
    return pd.DataFrame(rows)


def _draw_shares(ax: Axes, cells: pd.DataFrame, color: str) -> None:
    for name, text in READINGS.items():
        line = cells[cells["form"] == name]
        ax.plot(line["rtt_ms"], line["value"], color=style.GREY, ls=_LINES[name], label=f"map: {text}")
    for form, marker, fill, text in (
        (_ENGINE, "o", color, "simulated, losses forced to be common"),
        (_AS_THEY_FALL, "s", "white", "simulated, losses as they fall"),
    ):
        points = cells[cells["form"] == form]
        bars = {"yerr": points["sd"], "capsize": 2, "lw": 0.8, "ls": ""}
        ax.errorbar(points["rtt_ms"], points["value"], marker=marker, color=color, mfc=fill, label=text, **bars)
    ax.axhline(_FAIR, color=style.GREY, lw=0.6)
    places = sorted(cells["rtt_ms"].unique())
    ax.set(xscale="log", xlim=(places[0] / 1.5, places[-1] * 1.5))
    ax.set_xticks(places, [f"{place:g}" for place in places])
    ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)


# --- The path from loss to loss ----------------------------------------------------------------------------------


@drawing()
def kozu2014_map_paths(context: Context, exhibit: Exhibit) -> Drawn:
    """Flow 1's share at each common loss of the example run, simulated and by both readings of the map."""
    parts, rtt_ms = [], max(context.paper.analysis_value("model_rtt_ms"))
    for name in exhibit.experiments:
        for run, link, path in simulated_paths(context, name):
            example = run["replicate"] == context.paper.analysis_value("example_replicate")
            if example and run["synchronised"] and run["rtt_ms"] == rtt_ms and len(path):
                forms = {_ENGINE: path["share"].to_numpy()}
                forms |= {form: _predicted(context.paper, run, link, path, form) for form in READINGS}
                about = {"protocol": run["protocol"], "loss": np.arange(len(path))}
                parts += [pd.DataFrame({**about, "form": form, "share": shares}) for form, shares in forms.items()]
    data = joined(parts)
    protocols = _panels(context, exhibit)
    figure, [axes] = style.new_figure(1, len(protocols), style.PAGE_IN, 2.7, sharey=True)
    for ax, protocol in zip(axes, protocols, strict=True):
        own, color = data.query("protocol == @protocol"), style.look(heading(protocol)).color
        simulated = own.query("form == @_ENGINE")
        ax.plot(simulated["loss"], simulated["share"], ls="", marker=".", ms=3, color=color, label="simulated")
        for form, text in READINGS.items():
            line = own[own["form"] == form]
            ax.plot(line["loss"], line["share"], color=style.GREY, ls=_LINES[form], label=f"map: {text}")
        ax.axhline(_FAIR, color=style.GREY, lw=0.6)
        ax.set_title(heading(protocol).replace(" and ", "\nand "), fontsize=8)
        ax.set_xlabel("common loss")
    axes[0].set(ylabel="share of the 2 ms flow", ylim=(0, 1))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    last = data.groupby(["protocol", "form"], sort=False)["share"].last().rename("value").reset_index()
    numbers = number_rows(exhibit.id, "last_share", last, ["protocol", "form"], rtt_ms=rtt_ms)
    replicate = context.paper.analysis_value("example_replicate")
    return Drawn(figure, numbers, 1, data, note=f"drawn: run {replicate + 1}")


# --- Fixed points ------------------------------------------------------------------------------------------------

# Where the slope is within 1e-6 of 1, the last bit of a cube root, which differs between CPUs, moves a fixed share by 1e-5.
_DECIMALS = {"fixed_share": 3, "slope": 4, "window_ratio": 2, "reached": 3}


@drawing(table=True)
def kozu2014_map_table(context: Context, exhibit: Exhibit) -> Drawn:
    """Fixed shares of the map, its slope there, and where it gets from an equal share in some losses."""
    rtts_ms = tuple(context.paper.analysis_value("model_rtt_ms"))
    link, x = link_of(context.paper, rtts_ms), context.paper.analysis_value("map_example_x")
    cells, rows = {}, []
    protocols = [label for label in context.paper.protocols if label.endswith(_MAP)]
    for protocol in protocols:
        for name, text in READINGS.items():
            model = cubic_map.CubicMap(link, method_of(context.paper, protocol, x), reading(context.paper, name))
            fixed = [share for share in model.fixed_shares() if share > 0]
            share = fixed[0] if len(fixed) == 1 else np.nan
            slope = model.derivative(share) if len(fixed) == 1 else np.nan
            windows = link.windows_pkts(share)
            _, path = model.path(link.windows_pkts(_FAIR), _LOSSES)
            reached = link.share(path[-1])
            values = {"fixed_share": share, "slope": slope, "window_ratio": windows[1] / windows[0], "reached": reached}
            values = {metric: round(value, _DECIMALS[metric]) for metric, value in values.items()}
            rows += [{"protocol": protocol, "form": name, "metric": m, "value": value} for m, value in values.items()]
            shown = "every share" if model.is_still() else number_text(share, _DECIMALS["fixed_share"])
            cells[heading(protocol), text] = {
                "fixed share of the 2 ms flow": shown,
                "W_max of flow 2 / flow 1 there": number_text(values["window_ratio"], _DECIMALS["window_ratio"]),
                "slope there": number_text(slope, _DECIMALS["slope"]),
                f"share after {_LOSSES} losses from one half": number_text(reached, _DECIMALS["reached"]),
            }
    table = pd.DataFrame(cells).T
    found = pd.DataFrame(rows).replace({"protocol": {p: heading(p) for p in protocols}})
    frames = [number_rows(exhibit.id, m, found[found["metric"] == m], ["protocol", "form"]) for m in values]
    full_ms = " and ".join(f"{rtt_s * MS_PER_S:.1f}" for rtt_s in link.full_rtt_s)
    note = f"RTTs of {rtts_ms[0]:g} and {rtts_ms[1]:g} ms, with a full buffer {full_ms} ms; x(RTT) of flow 2 is {x:g}"
    return Drawn(Table(table, note), joined(frames), note="closed form")
