"""Figures behind the sliders of the explore notebooks, drawn for each position.

Ranges and starting values come from the configuration; each function draws an image for `ipywidgets.interact`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from IPython.display import Image
from ipywidgets import Dropdown, FloatSlider, SelectionSlider
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tcpfair.exhibits import style
from tcpfair.exhibits.kinds.windows import window_path
from tcpfair.files.layout import Layout, repository_root
from tcpfair.measures.shown import OVER_TIME
from tcpfair.metrics.epochs import common_losses as pairs_of_losses
from tcpfair.metrics.fairness import flow_nru_db_of_mean, jfi, nru_tuple
from tcpfair.models import cubic_map
from tcpfair.models.aimd import link_capacity_pps
from tcpfair.models.rtt_fairness import (
    D,
    random_loss_ratio,
    synchronised_loss_ratio,
    throughput_exponent,
    throughput_ratio,
)
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.papers.scenario import Scenario
from tcpfair.units import BPS_PER_MBPS, MS_PER_S, mbps
from tcpfair.verdicts.context import protocols_of, values_of
from tcpfair.verdicts.paper_models import AimdLink, link_of, method_of, reading

_LIVE_SAMPLES = 400  # over the width of a figure


def open_config(paper: str) -> PaperConfig:
    """Configuration of a paper in this checkout."""
    return load_paper(Layout(repository_root()).paper_config(paper))


# --- Widgets -----------------------------------------------------------------------------------------------------


def choice(paper: PaperConfig, experiment: str, variable: str, start: Any = None) -> SelectionSlider:
    """A slider over the values of a grid variable."""
    values = sorted(values_of(paper.experiments[experiment], variable))
    return SelectionSlider(options=values, value=start if start is not None else values[0], continuous_update=False)


def method_menu() -> Dropdown:
    """A menu of the methods of the map of two CUBIC flows."""
    return Dropdown(options=list(MAP_METHODS))


def protocol_menu(paper: PaperConfig, experiment: str) -> Dropdown:
    """A menu of the experiment's protocols."""
    return Dropdown(options=protocols_of(paper.experiments[experiment]))


def rate(paper: PaperConfig, share: float) -> FloatSlider:
    """A slider from 1 Mb/s to the capacity, starting at a ``share`` of it."""
    capacity_mbps = paper.settings["capacity_bps"].value / BPS_PER_MBPS
    return FloatSlider(min=1, max=capacity_mbps, step=1, value=share * capacity_mbps, continuous_update=False)


# --- Figures -----------------------------------------------------------------------------------------------------


@style.imaged
def windows(paper: PaperConfig, rtt_ms: float, buffer_pkts: float) -> Figure:
    """Windows of all protocols of Model I and II from half use of the link over three overflows (ogura eq. 3 to 20)."""
    link, rtt_s = replace(AimdLink.of(paper), S=buffer_pkts), rtt_ms / MS_PER_S
    figure, [[ax]] = style.new_figure(width_in=6.4, height_in=3.2)
    for protocol in ("Reno", "Libra", "Alpha", "Proposal"):
        path = window_path(link, protocol, rtt_s, losses=3)
        ax.plot(path["t_s"], path["cwnd_pkts"], color=style.look(protocol).color, label=protocol)
    ax.axhline(link.bdp_pkts(rtt_s), color=style.GREY, lw=0.8, ls="--", label="BDP")
    ax.set(xlabel="time (s)", ylabel=OVER_TIME["cwnd"].label, xlim=(0, None))
    ax.legend(**style.BESIDE)
    return figure


@style.imaged
def fairness(flow1_mbps: float, flow2_mbps: float, own1_mbps: float, own2_mbps: float) -> Figure:
    """Jain's index of two throughputs on its curve, and the NRU of both against what they get among their own kind."""
    rates = np.array([flow1_mbps, flow2_mbps])
    ratio, index = np.geomspace(0.01, 100, 201), float(jfi(rates))
    u_db = flow_nru_db_of_mean(rates[:, np.newaxis], 1 / np.array([own1_mbps, own2_mbps]))
    mean_db = float(nru_tuple(u_db).u_mean)
    figure, [[left, right]] = style.new_figure(1, 2, height_in=2.8)
    left.plot(ratio, jfi(np.stack([ratio, np.ones_like(ratio)]), axis=0), color=style.GREY)
    left.plot(flow1_mbps / flow2_mbps, index, marker="o", color=style.VERMILION)
    left.set(xscale="log", xlabel="flow 1 / flow 2", ylabel="J", title=f"J = {index:.3f}")
    right.axhline(0, color=style.GREY, lw=0.8)
    right.bar(["flow 1", "flow 2"], u_db, width=0.5, color=[style.BLUE, style.ORANGE])
    right.set(ylabel=OVER_TIME["nru"].label, title=f"$U_N$ = {mean_db:.2f} dB")
    return figure


def scenario(paper: PaperConfig, experiment: str, point: dict[str, Any], **changes: Any) -> Scenario:
    """The first run of an experiment at one ``point`` of its grid, also between its values, with fields changed."""
    chosen = paper.experiments[experiment]
    grid = {
        name: value.model_copy(update={"value": [point.get(name, value.value[0])]})
        for name, value in chosen.grid.items()
    }
    once = chosen.model_copy(update={"grid": grid, "runs": chosen.runs.model_copy(update={"value": 1})})
    narrowed = paper.model_copy(update={"experiments": {experiment: once}})
    return run_specs(narrowed, experiment)[0].scenario.model_copy(update=changes)


def live_run(
    simulate: Callable[..., Any],
    paper: PaperConfig,
    protocol: str,
    rtt_ms: float,
    buffer_pkts: float,
    loss_rate: float,
    jitter_s: float,
    duration_s: float,
    seed: int,
) -> Image:
    """Two flows of one protocol, the first at its RTT of ogura fig. 9, simulated packet by packet as the slider moves.

    ``simulate`` is `tcpfair.simulate`, which is above this room.
    """
    changes = {"buffer_pkts": buffer_pkts, "loss_rate": loss_rate, "jitter_s": jitter_s}
    times = {"duration_s": duration_s, "sample_s": duration_s / _LIVE_SAMPLES}
    chosen = scenario(paper, "rtt_sweep", {"protocol": protocol, "rtt_ms": rtt_ms}, **changes, **times)
    return run_image(simulate(chosen, seed=seed))


@style.imaged
def run_image(run: Any) -> Figure:
    """Arrivals, windows and queue over the time of one run.

    First arrivals, not in-order goodput, which pauses while a hole is repaired and then jumps.
    """
    scenario, result = run.scenario, run.result
    received_bytes = scenario.payload_bytes * np.diff(result.received_pkts, axis=0, prepend=0)
    rates_mbps = mbps(received_bytes, scenario.sample_s)
    figure, axes = style.new_figure(3, 1, width_in=6.4, height_in=4.6, sharex=True)
    rates, cwnd, queue = (row[0] for row in axes)
    for i, (flow, color) in enumerate(zip(scenario.flows, (style.BLUE, style.ORANGE), strict=True)):
        label = f"{flow.protocol}, {flow.rtt_s * MS_PER_S:.0f} ms: mean {rates_mbps[:, i].mean():.1f} Mb/s"
        rates.plot(result.t_s, rates_mbps[:, i], color=color, lw=1.0, label=label)
        cwnd.plot(result.t_s, result.cwnd_pkts[:, i], color=color, lw=1.0)
    queue.plot(result.t_s, result.queue_pkts, color=style.GREY, lw=0.8)
    rates.set(ylabel="arrivals (Mb/s)", ylim=(0, None))
    cwnd.set(ylabel=OVER_TIME["cwnd"].label, ylim=(0, None))
    queue.set(ylabel=OVER_TIME["queue"].label, xlabel="time (s)", ylim=(0, 1.05 * scenario.buffer_pkts), xlim=(0, None))
    figure.legend(*rates.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


# --- Two CUBIC flows with common losses (kozu2014 sec. 3.2) -------------------------------------------------------

# K of a constant K in s, x of eq. 9 for the longer RTT -> the map's method
MAP_METHODS: dict[str, Callable[[float, float], cubic_map.Method]] = {
    "standard K (eq. 2)": lambda k_s, x: cubic_map.STANDARD,
    "constant K": lambda k_s, x: cubic_map.constant(k_s),
    "K / cbrt(RTT) (eq. 6)": lambda k_s, x: cubic_map.PROPOSED,
    "K / cbrt(RTT), C' (eqs. 6-8)": lambda k_s, x: cubic_map.PROPOSED_WITH_C,
    "K x(RTT) (eq. 9)": lambda k_s, x: cubic_map.existing((1.0, x)),
}
_MAP_LINES = (("sum of windows as before", "--"), ("link and buffer full", "-"))


def _maps(
    paper: PaperConfig, method: str, rtt_ms: float, buffer_pkts: float, k_s: float, x: float
) -> list[cubic_map.CubicMap]:
    """The map by the paper's reading and by the physical one, at the slider's RTT and buffer."""
    short_ms, _ = paper.analysis_value("model_rtt_ms")
    link = replace(link_of(paper, (short_ms, rtt_ms)), buffer_pkts=buffer_pkts)
    readings = (cubic_map.PAPER, cubic_map.physical(paper.flow["ack_every"].value))
    return [cubic_map.CubicMap(link, MAP_METHODS[method](k_s, x), how) for how in readings]


@style.imaged
def common_losses(
    paper: PaperConfig,
    method: str,
    rtt_ms: float,
    buffer_pkts: float,
    start_share: float,
    losses: int,
    k_s: float = 5.0,
    x: float = 0.5,
) -> Figure:
    """One epoch from a common loss to the next, the drift of the share, and its path, by both readings."""
    maps = _maps(paper, method, rtt_ms, buffer_pkts, k_s, x)
    figure, [axes] = style.new_figure(1, 3, width_in=9.0, height_in=2.9)
    _draw_epoch(axes[0], maps, start_share)
    shares = np.linspace(0.02, 0.98, 49)
    for model, (text, line) in zip(maps, _MAP_LINES, strict=True):
        drift = [model.next_share(share) - share for share in shares]
        axes[1].plot(shares, drift, color=style.GREY, ls=line, label=text)
        for fixed in model.fixed_shares():
            axes[1].plot(fixed, 0, marker="o", color=style.VERMILION, zorder=4)
        _, windows = model.path(model.link.windows_pkts(start_share), losses)
        path = [model.link.share(w_pkts) for w_pkts in windows]
        axes[2].plot(path, color=style.GREY, ls=line, label=f"{text}: {path[-1]:.2f}")
    axes[1].axhline(0, color=style.BLACK, lw=0.6)
    axes[1].set(xlabel="share of the 2 ms flow", ylabel="change by the next common loss", xlim=(0, 1))
    axes[2].axhline(0.5, color=style.BLACK, lw=0.6)
    axes[2].set(xlabel="common loss", ylabel="share of the 2 ms flow", ylim=(0, 1))
    axes[2].legend(loc="best")
    return figure


def _draw_epoch(ax: Axes, maps: Sequence[cubic_map.CubicMap], start_share: float) -> None:
    """Both windows relative to those at the first common loss, and when the next falls."""
    physical, start = maps[-1], maps[-1].link.windows_pkts(start_share)
    ends_s = [model.next_loss(start)[0] for model in maps]
    t_s = np.linspace(0, 1.15 * max(ends_s), _LIVE_SAMPLES)
    grown = np.array([physical.growth(start)(t) for t in t_s]) / start
    for flow, color in enumerate((style.VERMILION, style.BLUE)):
        label = f"{physical.link.rtt_s[flow] * MS_PER_S:g} ms, {start[flow]:.0f} packets"
        ax.plot(t_s, grown[:, flow], color=color, label=label)
    for end_s, (_, line) in zip(ends_s, _MAP_LINES, strict=True):
        ax.axvline(end_s, color=style.GREY, ls=line, lw=1.0)
    ax.axhline(1, color=style.BLACK, lw=0.6)
    ax.set(xlabel="time since a common loss (s)", ylabel="window / window before", xlim=(0, t_s[-1]))
    ax.legend(loc="lower right")


@style.imaged
def common_losses_live(
    simulate: Callable[..., Any],
    paper: PaperConfig,
    protocol: str,
    rtt_ms: float,
    buffer_pkts: float,
    forced: bool,
    duration_s: float,
    seed: int,
) -> Figure:
    """Share of the 2 ms flow at its common losses with the other, simulated, and the maps that start where it does.

    ``simulate`` is `tcpfair.simulate`, which is above this room.
    """
    changes = {"buffer_pkts": buffer_pkts, "duration_s": duration_s, "sample_s": duration_s / _LIVE_SAMPLES}
    point = {"protocol": protocol, "rtt_ms": rtt_ms, "synchronised": forced}
    chosen = scenario(paper, "synchronised", point, **changes)
    result = simulate(chosen, seed=seed).result
    first, second = (result.events[(result.events["flow"] == i) & (result.events["kind"] < 2)] for i in (0, 1))
    pairs = pairs_of_losses(first["t_s"], second["t_s"], paper.analysis_value("common_within_s"))
    capacity_pps = link_capacity_pps(chosen.capacity_bps, chosen.wire_bytes)
    link = cubic_map.Link(capacity_pps, buffer_pkts, tuple(flow.rtt_s for flow in chosen.flows))
    w_pkts = np.stack([first["cwnd_before"][pairs[:, 0]], second["cwnd_before"][pairs[:, 1]]], axis=1)
    shares = [link.share(windows) for windows in w_pkts]
    figure, [[ax]] = style.new_figure(width_in=6.4, height_in=3.0)
    lone = len(first) + len(second) - 2 * len(pairs)
    label = f"simulated: {len(pairs)} common losses, {lone} of one flow alone"
    ax.plot(shares, ls="", marker="o", ms=3, color=style.VERMILION, label=label)
    if len(pairs):
        for how, (text, line) in zip(("paper", "physical"), _MAP_LINES, strict=True):
            model = cubic_map.CubicMap(link, method_of(paper, protocol), reading(paper, how))
            _, windows = model.path(w_pkts[0], len(pairs) - 1)
            ax.plot([link.share(w) for w in windows], color=style.GREY, ls=line, label=f"map: {text}")
    ax.axhline(0.5, color=style.BLACK, lw=0.6)
    ax.set(xlabel="common loss", ylabel="share of the 2 ms flow", ylim=(0, 1))
    ax.legend(loc="upper left", bbox_to_anchor=(0, 1.3))
    return figure


@style.imaged
def rtt_laws(paper: PaperConfig, method: str, buffer_pkts: float, start_share: float, losses: int) -> Figure:
    """Throughput of the longer RTT over that of the shorter against the ratio of the RTTs, by laws and by the map.

    The laws: SACK under random losses, 1/k, and under common ones, 1/k^2 (ha2006 sec. 4); eq. 1 of ogura, a ratio of
    windows under common losses, as throughput.
    """
    short_ms, long_ms = paper.analysis_value("model_rtt_ms")
    k = np.geomspace(1, long_ms / short_ms, 13)
    figure, [[ax]] = style.new_figure(width_in=6.4, height_in=3.4)
    ax.plot(k, random_loss_ratio("reno", k), color=style.BLUE, ls=":", label="SACK, random losses: 1/k")
    ax.plot(k, synchronised_loss_ratio("reno", k), color=style.BLUE, label="SACK, common losses: 1/k²")
    for protocol, color in (("BIC", style.ORANGE), ("HSTCP", style.SKY)):
        ratio = throughput_ratio(k, 1.0, D[protocol])
        label = f"{protocol}, common losses (ogura eq. 1): $k^{{-{throughput_exponent(D[protocol]):.2f}}}$"
        ax.plot(k, ratio, color=color, ls="--", label=label)
    for place, (text, line) in enumerate(_MAP_LINES):
        ends = []
        for ratio in k:
            model = _maps(paper, method, ratio * short_ms, buffer_pkts, 5.0, 0.5)[place]
            _, windows = model.path(model.link.windows_pkts(start_share), losses)
            share = model.link.share(windows[-1])
            ends.append((1 - share) / share)
        ax.plot(k, ends, color=style.VERMILION, ls=line, marker=".", label=f"CUBIC, {losses} losses, {text}")
    ax.axhline(1, color=style.BLACK, lw=0.6)
    ax.set(xscale="log", yscale="log", ylim=(1e-3, 10), xlabel="ratio k of the RTTs")
    ax.set_ylabel("longer / shorter RTT, throughput")
    ax.legend(**style.BESIDE)
    return figure
