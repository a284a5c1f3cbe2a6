"""Exhibits of recordings: do windows after a loss follow the kernel's formulas, for Reno and for CUBIC?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from scipy.optimize import curve_fit

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Table, joined
from tcpfair.exhibits.numbers import no_numbers, single_number
from tcpfair.exhibits.recordings.recording import (
    NotInTraceError,
    Recording,
    finish_panels,
    window_panels,
)
from tcpfair.metrics.epochs import LOSS_KINDS
from tcpfair.models import cubic, kernel
from tcpfair.units import BITS_PER_BYTE

Floats = npt.NDArray[np.float64]

RENO_CCS = ("reno", "newreno", "sack")  # one window rule; they differ in loss recovery
CUBIC_CCS = ("cubic", "cubic_rtt")
_CURVE_POINTS = 60
_NOTE_SHARE = 0.06  # of the time axis, about the width of a note


class Check(NamedTuple):
    """One number of a recovery as it was measured, beside its formula."""

    flow: str
    epoch: int
    from_s: float
    to_s: float
    w_at_loss_pkts: float  # at the loss that ends the epoch; of several flows the sum
    quantity: str
    unit: str
    formula: float
    measured: float


class Epoch(NamedTuple):
    """One flow between two losses; ``loss`` and ``following`` are rows of the trace's events."""

    flow_id: int
    number: int
    loss: NamedTuple
    following: NamedTuple
    polls: pd.DataFrame  # windows from the end of recovery to the following loss
    rtt_s: float

    @property
    def k_s(self) -> float:
        """CUBIC's K by the kernel's formula; 0 for an epoch that begins at or above W_max."""
        return kernel.cubic_k_s(self.loss.w_max, self.loss.cwnd_after)

    def clock_s(self, t_s: npt.ArrayLike) -> Floats:
        """Time on CUBIC's curve: Linux aims at the window one smallest RTT ahead."""
        return np.asarray(t_s) - self.polls["t_s"].iloc[0] + self.rtt_s

    def fit(self, curve: Callable[..., Floats], guess: list[float]) -> Floats:
        """Parameters of ``curve`` through the windows by least squares; NaN when they do not converge."""
        try:
            return curve_fit(curve, self.clock_s(self.polls["t_s"]), self.polls["cwnd_pkts"], guess)[0]
        except RuntimeError:
            return np.full(len(guess), np.nan)

    def check(self, quantity: str, unit: str, formula: float, measured: float) -> Check:
        start_s, following = self.polls["t_s"].iloc[0], self.following
        place = (str(self.flow_id), self.number, start_s, following.t_s, following.cwnd_before)
        return Check(*place, quantity, unit, formula, measured)


class Growth(NamedTuple):
    """Reno flows that share the link and that nothing disturbs: the sum of their windows, and each flow's window."""

    number: int
    start_s: float
    stop_s: float
    start_pkts: dict[int, float]
    stop_pkts: dict[int, float]
    capacity_pps: float
    rtt_s: float

    @property
    def sums_pkts(self) -> Floats:
        """From the sum at the start to that at the stop."""
        return np.linspace(sum(self.start_pkts.values()), sum(self.stop_pkts.values()), _CURVE_POINTS)

    @property
    def times_s(self) -> Floats:
        """How long the sum takes to reach each of `sums_pkts`, by the formula."""
        sums_pkts, n = self.sums_pkts, len(self.start_pkts)
        grow = kernel.additive_increase_time_s
        return np.array([grow(sums_pkts[0], w, self.capacity_pps, self.rtt_s, increase_pkts=n) for w in sums_pkts])

    def check(self) -> Check:
        flows, formula_s = "+".join(map(str, self.start_pkts)), self.times_s[-1]
        place = (flows, self.number, self.start_s, self.stop_s, self.sums_pkts[-1])
        return Check(*place, "growth time", "s", formula_s, self.stop_s - self.start_s)


def epochs_of(recording: Recording, ccs: Sequence[str]) -> Iterator[Epoch]:
    """Epochs of the flows that run one of ``ccs``, between losses that are neither timeouts nor part of slow start."""
    analysis = recording.settings.analysis
    for flow in recording.flows[recording.flows["cc"].isin(ccs)].itertuples():
        ends_s = recording.events_of(flow.flow_id, "recovery_end")["t_s"]
        number = 0
        for loss, following in pairwise(recording.events_of(flow.flow_id, *LOSS_KINDS).itertuples()):
            polls = recording.windows_of(flow.flow_id, ends_s[ends_s >= loss.t_s].min(), following.t_s)
            long = following.t_s - loss.t_s > analysis.min_epoch_s.value and len(polls) >= analysis.min_polls.value
            if long and loss.kind == following.kind == "loss":
                number += 1
                yield Epoch(flow.flow_id, number, loss, following, polls, flow.rtt_s)


def growths_of(recording: Recording) -> Iterator[Growth]:
    """From the end of a recovery for as long as no flow starts, stops or loses, when all are Reno's with one RTT."""
    flows, events, analysis = recording.trace.flows, recording.trace.events, recording.settings.analysis
    capacity_bps, rtts_s = recording.parameter("capacity_bps"), flows["rtt_s"].unique()
    if capacity_bps is None or len(rtts_s) > 1 or np.isnan(rtts_s[0]) or not flows["cc"].isin(RENO_CCS).all():
        return
    capacity_pps = capacity_bps / BITS_PER_BYTE / recording.parameter("wire_bytes")
    ends_s = set(events.loc[events["kind"] == "recovery_end", "t_s"])
    marks_s = sorted({*events["t_s"], *flows["start_s"], *flows["stop_s"].clip(upper=recording.t_s[-1])})
    number = 0
    for start_s, stop_s in pairwise(marks_s):
        running = flows.loc[(flows["start_s"] < start_s) & (flows["stop_s"] > start_s), "flow_id"]
        polls = {flow_id: recording.windows_of(flow_id, start_s, stop_s) for flow_id in running}
        enough = all(len(rows) >= analysis.min_polls.value and _past_slow_start(rows) for rows in polls.values())
        if stop_s - start_s > analysis.min_epoch_s.value and start_s in ends_s and enough:
            number += 1
            # the polls of different flows are not simultaneous: only while there are some of all flows
            first_s = max(rows["t_s"].iloc[0] for rows in polls.values())
            last_s = min(rows["t_s"].iloc[-1] for rows in polls.values())
            windows = (_windows_at(polls, t_s) for t_s in (first_s, last_s))
            yield Growth(number, first_s, last_s, *windows, capacity_pps, rtts_s[0])


def _past_slow_start(polls: pd.DataFrame) -> bool:
    """Whether the windows begin in congestion avoidance."""
    return polls["cwnd_pkts"].iloc[0] >= polls["ssthresh_pkts"].iloc[0]


def _windows_at(polls: Mapping[int, pd.DataFrame], t_s: float) -> dict[int, float]:
    """Window of each flow in packets, growing evenly between its polls."""
    return {flow_id: float(np.interp(t_s, rows["t_s"], rows["cwnd_pkts"])) for flow_id, rows in polls.items()}


def recovery_checks(recording: Recording) -> pd.DataFrame:
    """Measured recovery beside the formulas of `tcpfair.models.kernel`: the columns of `Check` and error_percent.

    Raises NotInTraceError when there is nothing to compare.
    """
    n, labels = len(recording.windows), ", ".join(recording.labels.values())
    checks = [check for epoch in epochs_of(recording, RENO_CCS) for check in _reno_checks(epoch)]
    checks += [growth.check() for growth in growths_of(recording)]
    checks += [check for epoch in epochs_of(recording, CUBIC_CCS) for check in _cubic_checks(epoch)]
    if not checks:
        raise NotInTraceError(f"{n} windows of {labels} show no recovery that there is a formula for")
    found = pd.DataFrame(checks)
    return found.assign(error_percent=100 * (found["measured"] / found["formula"] - 1))


def _decrease_check(epoch: Epoch, ssthresh_pkts: Callable[[int], int]) -> Check:
    """ssthresh over the largest window seen, which is a little below the window at the loss."""
    peak_pkts = epoch.polls["cwnd_pkts"].max()
    formula = ssthresh_pkts(int(peak_pkts)) / int(peak_pkts)
    return epoch.check("ssthresh / peak", "1", formula, epoch.following.cwnd_after / peak_pkts)


def _reno_checks(epoch: Epoch) -> Iterator[Check]:
    """The decrease, and the packets gained in each measured RTT."""
    yield _decrease_check(epoch, kernel.reno_ssthresh_pkts)
    t_s, srtt_s = epoch.polls["t_s"].to_numpy(), epoch.polls["srtt_s"].to_numpy(dtype=float)
    rtts = np.append(0, np.cumsum(2 * np.diff(t_s) / (srtt_s[1:] + srtt_s[:-1])))
    yield epoch.check("gain per RTT", "packets", 1, np.polyfit(rtts, epoch.polls["cwnd_pkts"], deg=1)[0])


def _cubic_checks(epoch: Epoch) -> Iterator[Check]:
    """The decrease, K, and past the turning point also W_max and C: there all three are fitted at once."""
    yield _decrease_check(epoch, kernel.cubic_ssthresh_pkts)
    k_s, w_max_pkts = epoch.k_s, epoch.loss.w_max
    if not k_s > 0:
        return
    (fitted_k_s,) = epoch.fit(lambda t_s, k_s: cubic.window_pkts(t_s, k_s, w_max_pkts, kernel.CUBIC_C), [k_s])
    yield epoch.check("K", "s", k_s, fitted_k_s)
    if epoch.following.t_s - epoch.loss.t_s > k_s:
        _, fitted_w_max_pkts, fitted_c = epoch.fit(cubic.window_pkts, [k_s, w_max_pkts, kernel.CUBIC_C])
        yield epoch.check("W_max", "packets", w_max_pkts, fitted_w_max_pkts)
        yield epoch.check("C", "packets/s³", kernel.CUBIC_C, fitted_c)


def recovery_curves(recording: Recording) -> pd.DataFrame:
    """The windows that the formulas predict from the end of each recovery on: flow_id, epoch, t_s, cwnd_pkts."""
    curves = [pd.DataFrame(columns=["flow_id", "epoch", "t_s", "cwnd_pkts"])]
    for growth in growths_of(recording):
        gained_pkts = (growth.sums_pkts - growth.sums_pkts[0]) / len(growth.start_pkts)  # each flow the same
        for flow_id, start_pkts in growth.start_pkts.items():
            t_s, windows = growth.start_s + growth.times_s, start_pkts + gained_pkts
            curves.append(pd.DataFrame({"flow_id": flow_id, "epoch": growth.number, "t_s": t_s, "cwnd_pkts": windows}))
    for epoch in epochs_of(recording, CUBIC_CCS):
        if epoch.k_s > 0:
            t_s = np.linspace(epoch.polls["t_s"].iloc[0], epoch.following.t_s, _CURVE_POINTS)
            windows = cubic.window_pkts(epoch.clock_s(t_s), epoch.k_s, epoch.loss.w_max, kernel.CUBIC_C)
            rows = {"flow_id": epoch.flow_id, "epoch": epoch.number, "t_s": t_s, "cwnd_pkts": windows}
            curves.append(pd.DataFrame(rows))
    return joined(curves[1:] or curves)


def recovery(recording: Recording) -> Drawn:
    """The formulas drawn over the windows; above them Reno's growth time and CUBIC's K."""
    checks, curves = recovery_checks(recording), recovery_curves(recording)
    figure, panels = window_panels(recording)
    for flow_id, ax in panels.items():
        rows, color = recording.windows_of(flow_id), recording.colors[flow_id]
        ax.plot(rows["t_s"], rows["cwnd_pkts"], color=color, lw=3, alpha=0.35, label="cwnd, measured")
        for _, curve in curves[curves["flow_id"] == flow_id].groupby("epoch"):
            ax.plot(curve["t_s"], curve["cwnd_pkts"], color=style.BLACK, lw=0.9)
        ax.plot([], [], color=style.BLACK, lw=0.9, label="by the kernel's formulas")
        _note_times(ax, checks[[str(flow_id) in flows.split("+") for flows in checks["flow"]]])
    shown = curves if len(curves) else recording.windows
    finish_panels(panels, recording, 1.35 * shown["cwnd_pkts"].max())  # the peak of slow start may stand out
    data = joined([recording.windows.assign(kind="poll"), curves.assign(kind="formula")])
    return Drawn(figure, no_numbers(), 1, data[["kind", "flow_id", "epoch", "t_s", "cwnd_pkts"]])


def _note_times(ax: Axes, checks: pd.DataFrame) -> None:
    """Above each epoch: the time measured and, in brackets, that of the formula."""
    wide = checks["to_s"] - checks["from_s"] > _NOTE_SHARE * np.ptp(ax.get_xlim())
    for row in checks[wide & checks["quantity"].isin(["K", "growth time"])].itertuples():
        text = f"{'K ' if row.quantity == 'K' else ''}{row.measured:.2f} s\n({row.formula:.2f} s)"
        middle_s = (row.from_s + row.to_s) / 2
        ax.text(middle_s, 0.97, text, transform=ax.get_xaxis_transform(), ha="center", va="top", fontsize=6.5)


def recovery_table(recording: Recording) -> Drawn:
    """Every measured number of the recovery beside its formula."""
    checks = recovery_checks(recording)
    columns = {
        "time (s)": [f"{row.from_s:.1f} to {row.to_s:.1f}" for row in checks.itertuples()],
        "W at its end (packets)": checks["w_at_loss_pkts"].map("{:.0f}".format),
        "quantity": [row.quantity + (f" ({row.unit})" if row.unit != "1" else "") for row in checks.itertuples()],
        "by formula": checks["formula"].map("{:.4g}".format),
        "measured": checks["measured"].map("{:.4g}".format),
        "error": checks["error_percent"].map("{:+.1f}%".format),
    }
    cells = pd.DataFrame(columns).set_index(pd.MultiIndex.from_frame(checks[["flow", "epoch"]]))
    numbers = [
        single_number("", row.quantity, row.measured, epoch=row.epoch, flow=row.flow) for row in checks.itertuples()
    ]
    return Drawn(Table(cells), joined(numbers), 1, checks)
