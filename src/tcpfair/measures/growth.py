"""Growth of windows from the end of a recovery to the next loss, compared with Linux's formulas for Reno and CUBIC.

A recovery is measured in polls: the window at its original resolution and times. The formulas are those of
`tcpfair.models.kernel` and `tcpfair.models.cubic`; a fit is by least squares through all polls of an epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.measures.runs import Floats
from tcpfair.metrics.epochs import LOSS_KINDS
from tcpfair.metrics.series import fitted_slope
from tcpfair.models import cubic, kernel

RENO_CCS = ("reno", "newreno", "sack")  # one window rule; they differ in loss recovery
CUBIC_CCS = ("cubic", "cubic_rtt")
POLLS = ["flow_id", "t_s", "cwnd_pkts", "ssthresh_pkts", "srtt_s"]
CURVES = ["flow_id", "epoch", "t_s", "cwnd_pkts"]
_CURVE_POINTS = 60
# required share of an epoch's windows that are CUBIC's own, for K and for W_max, K, C
_OWN_SHARE = 0.25
_OWN_SHARE_OF_THREE = 0.9


class Check(NamedTuple):
    """One measured number of a recovery, with its formula."""

    flow: str
    epoch: int
    from_s: float
    to_s: float
    w_at_loss_pkts: float  # at the loss that ends the epoch; the sum for several flows
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
    begin_s: float  # the end of recovery
    polls: pd.DataFrame  # windows from then to the following loss
    rtt_s: float

    @property
    def k_s(self) -> float:
        """CUBIC's K by the kernel's formula; 0 for an epoch that begins at or above W_max."""
        return kernel.cubic_k_s(self.loss.w_max, self.loss.cwnd_after)

    def clock_s(self, t_s: npt.ArrayLike) -> Floats:
        """Time on CUBIC's curve: Linux aims at the window one smallest RTT ahead."""
        return np.asarray(t_s) - self.begin_s + self.rtt_s

    @property
    def round_trips(self) -> Floats:
        """Round trips since the end of recovery, at each poll; NaN where the RTT is unknown."""
        t_s, srtt_s = self.polls["t_s"].to_numpy(), self.polls["srtt_s"].to_numpy(dtype=float)
        return np.cumsum(np.append((t_s[0] - self.begin_s) / srtt_s[0], 2 * np.diff(t_s) / (srtt_s[1:] + srtt_s[:-1])))

    def friendly_pkts(self, t_s: npt.ArrayLike) -> Floats:
        """Reno's window, the lower bound of CUBIC's; -inf where the RTT is unknown."""
        round_trips = np.interp(t_s, self.polls["t_s"], self.round_trips)
        return np.nan_to_num(kernel.cubic_friendly_window_pkts(self.loss.cwnd_after, round_trips), nan=-np.inf)

    def cubic_pkts(self, t_s: npt.ArrayLike, k_s: float, w_max_pkts: float, c: float = kernel.CUBIC_C) -> Floats:
        """CUBIC's window at times of the run."""
        return np.maximum(cubic.window_pkts(self.clock_s(t_s), k_s, w_max_pkts, c), self.friendly_pkts(t_s))

    def own_share(self, k_s: float, w_max_pkts: float) -> float:
        """The share of the windows that are on CUBIC's own curve and so determine its parameters."""
        t_s = self.polls["t_s"]
        own_pkts = cubic.window_pkts(self.clock_s(t_s), k_s, w_max_pkts, kernel.CUBIC_C)
        return float((own_pkts >= self.friendly_pkts(t_s)).mean())

    def fit(self, curve: Callable[..., Floats], guess: list[float]) -> Floats:
        """Parameters of ``curve`` of time through the windows by least squares; NaN when they do not converge."""
        from scipy.optimize import curve_fit  # takes a third of a second, only needed to fit

        try:
            return curve_fit(curve, self.polls["t_s"].to_numpy(), self.polls["cwnd_pkts"], guess)[0]
        except RuntimeError:
            return np.full(len(guess), np.nan)

    def check(self, quantity: str, unit: str, formula: float, measured: float) -> Check:
        start_s, following = self.polls["t_s"].iloc[0], self.following
        place = (str(self.flow_id), self.number, start_s, following.t_s, following.cwnd_before)
        return Check(*place, quantity, unit, formula, measured)

    def decrease_check(self, ssthresh_pkts: Callable[[int], int]) -> Check:
        """ssthresh over the largest polled window, which is slightly below the window at the loss."""
        largest_pkts = self.polls["cwnd_pkts"].max()
        formula = ssthresh_pkts(int(largest_pkts)) / int(largest_pkts)
        return self.check("ssthresh / peak", "1", formula, self.following.cwnd_after / largest_pkts)

    def reno_checks(self) -> Iterator[Check]:
        """The decrease, and the packets gained in each measured RTT."""
        yield self.decrease_check(kernel.reno_ssthresh_pkts)
        yield self.check("gain per RTT", "packets", 1, fitted_slope(self.round_trips, self.polls["cwnd_pkts"]))

    def cubic_checks(self) -> Iterator[Check]:
        """The decrease, K, and past the turning point also W_max and C: there all three are fitted at once.

        Where Reno's window is the larger, as around W_max on short paths, windows do not show CUBIC's curve. A fit of K
        needs a quarter of the windows, a fit of all three needs nearly all.
        """
        yield self.decrease_check(kernel.cubic_ssthresh_pkts)
        k_s, w_max_pkts = self.k_s, self.loss.w_max
        if not k_s > 0 or (own_share := self.own_share(k_s, w_max_pkts)) < _OWN_SHARE:
            return
        (fitted_k_s,) = self.fit(lambda t_s, k_s: self.cubic_pkts(t_s, k_s, w_max_pkts), [k_s])
        yield self.check("K", "s", k_s, fitted_k_s)
        if self.following.t_s - self.loss.t_s > k_s and own_share >= _OWN_SHARE_OF_THREE:
            _, fitted_w_max_pkts, fitted_c = self.fit(self.cubic_pkts, [k_s, w_max_pkts, kernel.CUBIC_C])
            yield self.check("W_max", "packets", w_max_pkts, fitted_w_max_pkts)
            yield self.check("C", "packets/s³", kernel.CUBIC_C, fitted_c)


class Growth(NamedTuple):
    """Reno flows that share the link undisturbed: the sum of their windows, and each flow's window."""

    number: int
    start_s: float
    stop_s: float
    start_pkts: dict[int, float]
    stop_pkts: dict[int, float]
    capacity_pps: float
    rtt_s: float

    @property
    def sums_pkts(self) -> Floats:
        """Evenly spaced values from the sum at the start to that at the stop."""
        return np.linspace(sum(self.start_pkts.values()), sum(self.stop_pkts.values()), _CURVE_POINTS)

    @property
    def times_s(self) -> Floats:
        """The times at which the sum reaches each of `sums_pkts`, by the formula."""
        sums_pkts, n = self.sums_pkts, len(self.start_pkts)
        grow = kernel.additive_increase_time_s
        return np.array([grow(sums_pkts[0], w, self.capacity_pps, self.rtt_s, increase_pkts=n) for w in sums_pkts])

    def check(self) -> Check:
        flows, formula_s = "+".join(map(str, self.start_pkts)), self.times_s[-1]
        place = (flows, self.number, self.start_s, self.stop_s, self.sums_pkts[-1])
        return Check(*place, "growth time", "s", formula_s, self.stop_s - self.start_s)


@dataclass(frozen=True)
class Recoveries:
    """The windows of the flows of one run at their original resolution, and the epochs that count."""

    polls: pd.DataFrame  # the columns POLLS, in order of flow and time, while each flow runs
    flows: pd.DataFrame
    events: pd.DataFrame
    end_s: float
    capacity_pps: float  # of the link; NaN while unknown
    min_epoch_s: float  # shorter times between losses belong to slow start
    min_polls: int  # fewer do not support a fit

    def windows_of(self, flow_id: int, start_s: float = 0, stop_s: float = np.inf) -> pd.DataFrame:
        """The flow's windows in [start_s, stop_s)."""
        own = self.polls[self.polls["flow_id"] == flow_id]
        return own[own["t_s"].between(start_s, stop_s, inclusive="left")]

    def events_of(self, flow_id: int, *kinds: str) -> pd.DataFrame:
        """The flow's events of these kinds, in order of time."""
        chosen = (self.events["flow_id"] == flow_id) & self.events["kind"].isin(kinds)
        return self.events[chosen].sort_values("t_s", kind="stable")

    def epochs(self, ccs: Sequence[str]) -> Iterator[Epoch]:
        """Epochs of the flows that run one of ``ccs``, between losses that are neither timeouts nor part of slow start."""
        foreground = self.flows[self.flows["role"] == "foreground"].sort_values("flow_id")
        for flow in foreground[foreground["cc"].isin(ccs)].itertuples():
            ends_s = self.events_of(flow.flow_id, "recovery_end")["t_s"]
            number = 0
            for loss, following in pairwise(self.events_of(flow.flow_id, *LOSS_KINDS).itertuples()):
                begin_s = ends_s[ends_s >= loss.t_s].min()
                polls = self.windows_of(flow.flow_id, begin_s, following.t_s)
                long = following.t_s - loss.t_s > self.min_epoch_s and len(polls) >= self.min_polls
                if long and loss.kind == following.kind == "loss":
                    number += 1
                    yield Epoch(flow.flow_id, number, loss, following, begin_s, polls, flow.rtt_s)

    def growths(self) -> Iterator[Growth]:
        """From the end of a recovery until a flow starts, stops or loses, when all are Reno's with one RTT."""
        flows, events, rtts_s = self.flows, self.events, self.flows["rtt_s"].unique()
        unlike = len(rtts_s) > 1 or np.isnan(rtts_s[0]) or not flows["cc"].isin(RENO_CCS).all()
        if np.isnan(self.capacity_pps) or unlike:
            return
        ends_s = set(events.loc[events["kind"] == "recovery_end", "t_s"])
        marks_s = sorted({*events["t_s"], *flows["start_s"], *flows["stop_s"].clip(upper=self.end_s)})
        number = 0
        for start_s, stop_s in pairwise(marks_s):
            running = flows.loc[(flows["start_s"] < start_s) & (flows["stop_s"] > start_s), "flow_id"]
            polls = {flow_id: self.windows_of(flow_id, start_s, stop_s) for flow_id in running}
            enough = all(len(rows) >= self.min_polls and _past_slow_start(rows) for rows in polls.values())
            if stop_s - start_s > self.min_epoch_s and start_s in ends_s and enough:
                number += 1
                # the polls of different flows are not simultaneous: use the time in which all flows have polls
                first_s = max(rows["t_s"].iloc[0] for rows in polls.values())
                last_s = min(rows["t_s"].iloc[-1] for rows in polls.values())
                windows = (_windows_at(polls, t_s) for t_s in (first_s, last_s))
                yield Growth(number, first_s, last_s, *windows, self.capacity_pps, rtts_s[0])

    def checks(self) -> pd.DataFrame:
        """Measured recovery and the formulas: the columns of `Check` and error_percent; a row for each number."""
        found = [check for epoch in self.epochs(RENO_CCS) for check in epoch.reno_checks()]
        found += [growth.check() for growth in self.growths()]
        found += [check for epoch in self.epochs(CUBIC_CCS) for check in epoch.cubic_checks()]
        table = pd.DataFrame(found, columns=Check._fields)
        return table.assign(error_percent=100 * (table["measured"] / table["formula"] - 1))

    def curves(self) -> pd.DataFrame:
        """The windows that the formulas predict from the end of each recovery on: the columns CURVES."""
        found = []
        for growth in self.growths():
            gained_pkts = (growth.sums_pkts - growth.sums_pkts[0]) / len(growth.start_pkts)  # equal for each flow
            t_s = growth.start_s + growth.times_s
            for flow_id, start_pkts in growth.start_pkts.items():
                found.append((flow_id, growth.number, t_s, start_pkts + gained_pkts))
        for epoch in self.epochs(CUBIC_CCS):
            if epoch.k_s > 0:
                t_s = np.linspace(epoch.polls["t_s"].iloc[0], epoch.following.t_s, _CURVE_POINTS)
                windows = epoch.cubic_pkts(t_s, epoch.k_s, epoch.loss.w_max)
                found.append((epoch.flow_id, epoch.number, t_s, windows))
        parts = [pd.DataFrame(dict(zip(CURVES, curve, strict=True))) for curve in found]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=CURVES)


def _past_slow_start(polls: pd.DataFrame) -> bool:
    """Whether the windows begin in congestion avoidance."""
    return polls["cwnd_pkts"].iloc[0] >= polls["ssthresh_pkts"].iloc[0]


def _windows_at(polls: Mapping[int, pd.DataFrame], t_s: float) -> dict[int, float]:
    """Window of each flow in packets, growing evenly between its polls."""
    return {flow_id: float(np.interp(t_s, rows["t_s"], rows["cwnd_pkts"])) for flow_id, rows in polls.items()}
