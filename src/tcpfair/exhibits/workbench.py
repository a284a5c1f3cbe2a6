"""A bench for the user's own scenarios: any flows on any link, their results, and comparisons with other settings.

In a notebook::

    from tcpfair.exhibits.workbench import bench, compare, flow

    first = bench(
        flow("cubic", rtt_ms=20),
        flow("reno", rtt_ms=80, start_s=5),
        rate_mbps=100, buffer_bdp=1, duration_s=60,
    )
    first.plot()
    compare({"1 BDP": first, "a tenth": first.but(buffer_bdp=0.1)})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from IPython.display import Image
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tcpfair.errors import InputError
from tcpfair.exhibits import style
from tcpfair.measures.shown import OVER_TIME
from tcpfair.measures.weights import RULES
from tcpfair.metrics import fairness, series
from tcpfair.papers.scenario import Scenario, make_scenario
from tcpfair.sources import live
from tcpfair.units import BPS_PER_MBPS, MS_PER_S, bdp_pkts, mbps, service_time_s

Floats = npt.NDArray[np.float64]

WIRE_BYTES, PAYLOAD_BYTES = 1500, 1448
JITTER_PKTS = 3  # service times: without any jitter the phase of single packets decides who wins
SAMPLE_S = 0.1  # of windows and queue
RATE_S = 1.0  # over which a rate is taken, as in the papers
SETTLED = 0.25  # of the time after the last start is left out of averages
RECOVERY_END = 2  # among the kinds of events; below are losses and timeouts
PANELS = ("cwnd", "queue", "goodput", "jfi", "nru")


def flow(cc: str, rtt_ms: float, **settings: Any) -> dict[str, Any]:
    """A flow: its algorithm by the name of its file in `tcpfair.cc`, its RTT without queue in ms, and any further fields of
    `tcpfair.papers.scenario.Flow`, such as ``start_s``, ``params`` of the algorithm or ``rwnd_pkts``.
    """
    return {"protocol": f"{cc}, {rtt_ms:g} ms", "cc": cc, "rtt_s": rtt_ms / MS_PER_S, **settings}


def bench(
    *flows: Mapping[str, Any],
    rate_mbps: float = 100,
    buffer_bdp: float | None = None,
    buffer_pkts: float | None = None,
    duration_s: float = 60,
    seed: int = 1,
    **settings: Any,
) -> Bench:
    """Flows of `flow` on a link of ``rate_mbps`` with a buffer in packets, or in BDP of the longest RTT (1 when neither is
    given), simulated for ``duration_s``.

    ``settings`` are further fields of `tcpfair.papers.scenario.Scenario`, such as ``loss_rate``. What is not given: 1500
    bytes a packet, 1448 of them payload, a delay that jitters by three packet times. Raises InputError in one line for
    what no run can have.
    """
    given = {"rate_mbps": rate_mbps, "buffer_bdp": buffer_bdp, "buffer_pkts": buffer_pkts, "duration_s": duration_s}
    if not (flows and rate_mbps > 0):
        raise InputError(f"bench: it needs a flow, and a rate_mbps above 0 (got {len(flows)} flows, {rate_mbps:g})")
    if buffer_bdp is not None and buffer_pkts is not None:
        raise InputError("bench: give buffer_bdp or buffer_pkts, not both")
    rate_bps, wire_bytes = rate_mbps * BPS_PER_MBPS, settings.get("wire_bytes", WIRE_BYTES)
    if buffer_pkts is None:
        bdp = bdp_pkts(rate_bps, max(each["rtt_s"] for each in flows), wire_bytes)
        buffer_pkts = bdp * (1 if buffer_bdp is None else buffer_bdp)
    values = {
        "capacity_bps": rate_bps,
        "wire_bytes": wire_bytes,
        "payload_bytes": PAYLOAD_BYTES,
        "buffer_pkts": buffer_pkts,
        "duration_s": duration_s,
        "sample_s": SAMPLE_S,
        "jitter_s": JITTER_PKTS * service_time_s(wire_bytes, rate_bps),
        "record": ("samples", "cwnd", "events", "link"),
        **settings,
        "flows": flows,
    }
    return Bench(make_scenario(values, "bench"), seed, flows, given | {"seed": seed, **settings})


@dataclass(frozen=True)
class Bench:
    """A scenario, its run, and what is measured of the run; arrays have the shape (flows, samples)."""

    scenario: Scenario
    seed: int
    flows: tuple[Mapping[str, Any], ...]
    given: Mapping[str, Any]

    def but(self, *flows: Mapping[str, Any], **changes: Any) -> Bench:
        """The same with other flows or other settings, those of `bench`."""
        given = dict(self.given)
        if changes.keys() & {"buffer_bdp", "buffer_pkts"}:  # one of them is the buffer
            given |= {"buffer_bdp": None, "buffer_pkts": None}
        return bench(*(flows or self.flows), **given | changes)

    # --- arrays --------------------------------------------------------------------------------------------------

    @cached_property
    def result(self) -> live.Result:
        """All that the simulator leaves; samples every `SAMPLE_S`, unless ``sample_s`` was given."""
        return live.run(self.scenario, self.seed)

    @property
    def labels(self) -> list[str]:
        """What to call each flow."""
        return [each.protocol for each in self.scenario.flows]

    @property
    def sample_t_s(self) -> Floats:
        """Ends of the samples of windows and queue, (samples,)."""
        return self.result.t_s

    @property
    def cwnd_pkts(self) -> Floats:
        return self.result.cwnd_pkts.T

    @property
    def queue_pkts(self) -> Floats:
        """Packets that wait at the bottleneck, (samples,)."""
        return self.result.queue_pkts

    @cached_property
    def t_s(self) -> Floats:
        """Ends of the intervals of `RATE_S` over which rates are taken, (intervals,)."""
        return self.result.t_s[self._step - 1 :: self._step]

    @cached_property
    def goodput_mbps(self) -> Floats:
        """What each receiver has in order, (flows, intervals)."""
        there_pkts = self.result.delivered_pkts[self._step - 1 :: self._step].T
        new_pkts = np.diff(there_pkts, axis=-1, prepend=0)
        return mbps(self.scenario.payload_bytes * new_pkts, self._step * self.scenario.sample_s)

    @cached_property
    def jfi_t(self) -> Floats:
        """J(t), (intervals,)."""
        return fairness.jfi_over_time(self.goodput_mbps)

    @cached_property
    def weights(self) -> Floats:
        """1 over what each flow gets, in its place, when all flows are as it is: 1/(Mb/s), (flows,)."""
        return RULES["per_column"](self.of_self_mbps)

    @cached_property
    def of_self_mbps(self) -> Floats:
        """What the flows of each flow's self-run get, (flows, flows of the self-run).

        In the self-run of a flow all flows have its algorithm, its RTT and its host; they start when they do here.
        """
        done: dict[str, Floats] = {}  # two flows that differ in their start alone have one self-run
        rows = []
        for each in self.scenario.flows:
            alike = [each.model_copy(update={"start_s": other.start_s}) for other in self.scenario.flows]
            own = self.scenario.model_copy(update={"flows": tuple(alike)})
            if own.digest not in done:
                done[own.digest] = Bench(own, self.seed, (), {}).means_mbps
            rows.append(done[own.digest])
        return np.array(rows)

    @cached_property
    def u_db(self) -> Floats:
        """U_n(t) in dB, (flows, intervals); an interval without delivery counts as one segment."""
        return fairness.nru_over_time_db(self.goodput_mbps, self.weights, self._floor_mbps)

    # --- over the window -----------------------------------------------------------------------------------------

    @property
    def window_s(self) -> tuple[float, float]:
        """What is averaged: from where a quarter of the time after the last start has gone by, to the end."""
        started_s = max(each.start_s for each in self.scenario.flows)
        end_s = float(self.t_s[-1]) if len(self.t_s) else self.scenario.duration_s
        return started_s + SETTLED * (end_s - started_s), end_s

    @property
    def means_mbps(self) -> Floats:
        """Mean goodput in the window, (flows,)."""
        return self._in_window(self.goodput_mbps).mean(axis=-1)

    def summary(self) -> pd.DataFrame:
        """A row for each flow: mean goodput and window, losses, U_n; and a row for all: J of J(t) and of means, U_N."""
        u_n = fairness.flow_nru_db(self._in_window(self.u_db))
        cwnd = self.cwnd_pkts[:, series.window_mask(self.sample_t_s, *self.window_s)].mean(axis=-1)
        rows = {
            OVER_TIME["goodput"].label: [*self.means_mbps, self.means_mbps.sum()],
            OVER_TIME["cwnd"].label: [*cwnd, np.nan],
            "losses": [*self._losses(), self._losses().sum()],
            "U_n (dB)": [*u_n, float(fairness.nru_tuple(u_n).u_mean)],
            "J(t), mean": [*[np.nan] * len(u_n), float(fairness.mean_jfi(self._in_window(self.goodput_mbps)))],
            "J of means": [*[np.nan] * len(u_n), float(fairness.jfi(self.means_mbps))],
        }
        return pd.DataFrame(rows, index=[f"{n}: {label}" for n, label in enumerate(self.labels, 1)] + ["all"])

    def plot(self) -> Image:
        """Windows, queue, goodput, J(t) and U_n(t) over the time of the run."""
        return compare({"": self})

    @property
    def _step(self) -> int:
        return max(round(RATE_S / self.scenario.sample_s), 1)

    @property
    def _floor_mbps(self) -> float:
        return mbps(self.scenario.payload_bytes, self._step * self.scenario.sample_s)

    def _in_window(self, x: Floats) -> Floats:
        return x[..., series.window_mask(self.t_s, *self.window_s)]

    def _losses(self) -> npt.NDArray[np.int64]:
        """Reductions of each flow's window in the time that counts, by recovery or timeout."""
        events = self.result.events
        start_s, end_s = self.window_s
        losses = events[(events["kind"] < RECOVERY_END) & (events["t_s"] >= start_s) & (events["t_s"] <= end_s)]
        return np.bincount(losses["flow"], minlength=len(self.flows) or len(self.scenario.flows))


@style.imaged
def compare(runs: Mapping[str, Bench]) -> Figure:
    """Runs side by side, a column each under its name: windows, queue, goodput, J(t) and U_n(t), on common axes."""
    if not runs:
        raise InputError("compare: it needs a run of `bench`")
    width_in = style.PAGE_IN if len(runs) == 1 else 3.4 * len(runs) + 0.6
    figure, axes = style.new_figure(len(PANELS), len(runs), width_in, 6.6, sharex="col", sharey="row")
    for column, (name, run) in enumerate(runs.items()):
        _draw([row[column] for row in axes], run)
        axes[0][column].set_title(name)
        axes[-1][column].set(xlabel="time (s)", xlim=(0, run.scenario.duration_s))
        axes[0][column].legend(loc="upper right", fontsize=6.5)
    for row, quantity in zip(axes, PANELS, strict=True):
        row[0].set_ylabel(OVER_TIME[quantity].label)
    return figure


def table(runs: Mapping[str, Bench]) -> pd.DataFrame:
    """`Bench.summary` of runs below each other."""
    return pd.concat({name: run.summary() for name, run in runs.items()})


def _draw(axes: list[Axes], run: Bench) -> None:
    """One column of `compare`."""
    cwnd, queue, rates, fair, nru = axes
    for n, label in enumerate(run.labels):
        color = style.FLOW_COLORS[n % len(style.FLOW_COLORS)]
        cwnd.plot(run.sample_t_s, run.cwnd_pkts[n], color=color, lw=0.9, label=f"{n + 1}: {label}")
        rates.plot(run.t_s, run.goodput_mbps[n], color=color, lw=0.9)
        started = run.t_s > run.scenario.flows[n].start_s
        nru.plot(run.t_s[started], run.u_db[n, started], color=color, lw=0.9)
    queue.plot(run.sample_t_s, run.queue_pkts, color=style.GREY, lw=0.7)
    fair.plot(run.t_s, run.jfi_t, color=style.BLACK, lw=0.9)
    for ax in (cwnd, queue, rates):
        ax.set_ylim(0, None)
    fair.set_ylim(0, 1.05)
    nru.axhline(0, color=style.GREY, lw=0.6)
    for ax in axes:
        ax.axvspan(0, run.window_s[0], color=style.FAIR_BAND, lw=0)  # what the averages leave out
