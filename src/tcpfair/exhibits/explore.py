"""What stands behind the sliders of the explore notebook: figures that are drawn anew for each position.

Ranges and starting values come from the configuration; each function returns an image for `ipywidgets.interact`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from IPython.display import Image
from ipywidgets import Dropdown, FloatSlider, SelectionSlider
from matplotlib.figure import Figure

from tcpfair.config import PaperConfig, load_paper
from tcpfair.exhibits import style
from tcpfair.exhibits.context import protocols_of, values_of
from tcpfair.exhibits.windows import Link, window_path
from tcpfair.metrics.fairness import flow_nru_db_of_mean, jfi, nru_tuple
from tcpfair.paths import Layout, repository_root
from tcpfair.scenario import Scenario
from tcpfair.units import BPS_PER_MBPS, MS_PER_S, mbps

_LIVE_SAMPLES = 400  # over the width of a figure
_SHOWN_WIDTH_PX = 96  # per inch


def open_config(paper: str) -> PaperConfig:
    """Configuration of a paper in this checkout."""
    return load_paper(Layout(repository_root()).paper_config(paper))


# --- Widgets -----------------------------------------------------------------------------------------------------


def choice(paper: PaperConfig, experiment: str, variable: str, start: Any = None) -> SelectionSlider:
    """A slider over the values of a grid variable."""
    values = sorted(values_of(paper.experiments[experiment], variable))
    return SelectionSlider(options=values, value=start if start is not None else values[0], continuous_update=False)


def protocol_menu(paper: PaperConfig, experiment: str) -> Dropdown:
    """A menu of the experiment's protocols."""
    return Dropdown(options=protocols_of(paper.experiments[experiment]))


def rate(paper: PaperConfig, share: float) -> FloatSlider:
    """A slider from 1 Mb/s to the capacity, starting at a ``share`` of it."""
    capacity_mbps = paper.settings["capacity_bps"].value / BPS_PER_MBPS
    return FloatSlider(min=1, max=capacity_mbps, step=1, value=share * capacity_mbps, continuous_update=False)


# --- Figures -----------------------------------------------------------------------------------------------------


def windows(paper: PaperConfig, rtt_ms: float, buffer_pkts: float) -> Image:
    """Windows of all protocols of Model I and II from half use of the link over three overflows (ogura eq. 3 to 20)."""
    link, rtt_s = replace(Link.of(paper), S=buffer_pkts), rtt_ms / MS_PER_S
    with style.applied():
        figure, [[ax]] = style.new_figure(width_in=6.4, height_in=3.2)
        for protocol in ("Reno", "Libra", "Alpha", "Proposal"):
            path = window_path(link, protocol, rtt_s, losses=3)
            ax.plot(path["t_s"], path["cwnd_pkts"], color=style.look(protocol).color, label=protocol)
        ax.axhline(link.bdp_pkts(rtt_s), color=style.GREY, lw=0.8, ls="--", label="BDP")
        ax.set(xlabel="time (s)", ylabel="cwnd (packets)", xlim=(0, None))
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return _image(figure)


def fairness(flow1_mbps: float, flow2_mbps: float, own1_mbps: float, own2_mbps: float) -> Image:
    """Jain's index of two throughputs on its curve, and the NRU of both against what they get among their own kind."""
    rates = np.array([flow1_mbps, flow2_mbps])
    ratio, index = np.geomspace(0.01, 100, 201), float(jfi(rates))
    u_db = flow_nru_db_of_mean(rates[:, np.newaxis], 1 / np.array([own1_mbps, own2_mbps]))
    mean_db = float(nru_tuple(u_db).u_mean)
    with style.applied():
        figure, [[left, right]] = style.new_figure(1, 2, height_in=2.8)
        left.plot(ratio, jfi(np.stack([ratio, np.ones_like(ratio)]), axis=0), color=style.GREY)
        left.plot(flow1_mbps / flow2_mbps, index, marker="o", color=style.VERMILION)
        left.set(xscale="log", xlabel="flow 1 / flow 2", ylabel="J", title=f"J = {index:.3f}")
        right.axhline(0, color=style.GREY, lw=0.8)
        right.bar(["flow 1", "flow 2"], u_db, width=0.5, color=[style.BLUE, style.ORANGE])
        right.set(ylabel="NRU (dB)", title=f"$U_N$ = {mean_db:.2f} dB")
        return _image(figure)


def scenario(paper: PaperConfig, experiment: str, point: dict[str, Any], **changes: Any) -> Scenario:
    """The first run of an experiment at one ``point`` of its grid, also between its values, with fields changed."""
    chosen = paper.experiments[experiment]
    grid = {
        name: value.model_copy(update={"value": [point.get(name, value.value[0])]})
        for name, value in chosen.grid.items()
    }
    once = chosen.model_copy(update={"grid": grid, "runs": chosen.runs.model_copy(update={"value": 1})})
    narrowed = paper.model_copy(update={"experiments": {experiment: once}})
    return narrowed.run_specs(experiment)[0].scenario.model_copy(update=changes)


def live_run(
    simulate: Callable[[Scenario, int], Any],
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

    ``simulate`` is `tcpfair.engine.dumbbell.run`, or another function with the same arguments and result.
    """
    changes = {"buffer_pkts": buffer_pkts, "loss_rate": loss_rate, "jitter_s": jitter_s}
    times = {"duration_s": duration_s, "sample_s": duration_s / _LIVE_SAMPLES}
    chosen = scenario(paper, "rtt_sweep", {"protocol": protocol, "rtt_ms": rtt_ms}, **changes, **times)
    return run_image(chosen, simulate(chosen, seed))


def run_image(scenario: Scenario, result: Any) -> Image:
    """Arrivals, windows and queue over the time of one run; ``result`` as `tcpfair.engine.dumbbell.run` returns it.

    First arrivals, not in-order goodput, which stands still while a hole is repaired and then jumps.
    """
    received_bytes = scenario.payload_bytes * np.diff(result.received_pkts, axis=0, prepend=0)
    rates_mbps = mbps(received_bytes, scenario.sample_s)
    with style.applied():
        figure, axes = style.new_figure(3, 1, width_in=6.4, height_in=4.6, sharex=True)
        rates, cwnd, queue = (row[0] for row in axes)
        for i, (flow, color) in enumerate(zip(scenario.flows, (style.BLUE, style.ORANGE), strict=True)):
            label = f"{flow.protocol}, {flow.rtt_s * MS_PER_S:.0f} ms: mean {rates_mbps[:, i].mean():.1f} Mb/s"
            rates.plot(result.t_s, rates_mbps[:, i], color=color, lw=1.0, label=label)
            cwnd.plot(result.t_s, result.cwnd_pkts[:, i], color=color, lw=1.0)
        queue.plot(result.t_s, result.queue_pkts, color=style.GREY, lw=0.8)
        rates.set(ylabel="arrivals (Mb/s)", ylim=(0, None))
        cwnd.set(ylabel="cwnd (pkts)", ylim=(0, None))
        queue.set(ylabel="queue (pkts)", xlabel="time (s)", ylim=(0, 1.05 * scenario.buffer_pkts), xlim=(0, None))
        figure.legend(*rates.get_legend_handles_labels(), loc="outside upper center", ncols=2)
        return _image(figure)


def _image(figure: Figure) -> Image:
    return Image(style.as_png(figure), width=round(_SHOWN_WIDTH_PX * figure.get_figwidth()))
