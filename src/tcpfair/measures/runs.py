"""The runs of a trace as arrays, and their measures that need no configuration.

Experiments, recordings and the validation share this module. Rates are in Mb/s, windows in packets;
``tcpfair.measures`` defines the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.measures.resolution import is_coarse
from tcpfair.metrics import epochs, series
from tcpfair.runs.trace import Trace
from tcpfair.units import BPS_PER_MBPS, mbps

Floats = npt.NDArray[np.float64]
Span = tuple[float, float]


@dataclass(frozen=True)
class Runs:
    """Runs with equal numbers of foreground flows and of samples; arrays have the shape (runs, flows, samples).

    They are measured in the samples within ``window_s``; a measure is NaN if the run is too short.
    """

    window_s: Span
    runs: pd.DataFrame
    flows: pd.DataFrame  # in order of run and flow, as the arrays
    samples: pd.DataFrame  # likewise, and in order of time
    events: pd.DataFrame
    link: pd.DataFrame
    others: pd.DataFrame  # samples of background flows and of the short flows, with `role` and `direction`

    # the arrays

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        n_runs = len(self.runs)
        n_flows = len(self.flows) // n_runs
        return n_runs, n_flows, len(self.samples) // (n_runs * n_flows)

    @cached_property
    def t_s(self) -> Floats:
        """Ends of the sample intervals, (samples,)."""
        return self.samples["t_s"].to_numpy()[: self.shape[2]]

    @cached_property
    def sample_s(self) -> float:
        return float(self.runs["sample_s"].iloc[0])

    @property
    def is_coarse(self) -> bool:
        """Whether samples are finer than the recording, so that single ones are interpolated."""
        recorded_s = self.runs["recorded_s"].max() if "recorded_s" in self.runs else self.sample_s
        return is_coarse(recorded_s, self.sample_s)

    def array(self, column: str) -> Floats:
        """A column of the samples; NaN where the source does not record it."""
        if column not in self.samples:
            return np.full(self.shape, np.nan)
        return self.samples[column].to_numpy(dtype=float).reshape(self.shape)

    def parameter(self, name: str) -> Floats:
        """A parameter of the runs, (runs,); NaN where the source does not record it."""
        return self.runs[name].to_numpy(dtype=float) if name in self.runs else np.full(len(self.runs), np.nan)

    def of_flows(self, column: str) -> npt.NDArray:
        """A column of the flows, (runs, flows)."""
        return self.flows[column].to_numpy().reshape(self.shape[:2])

    def during(self, x: Floats, start_s: float, stop_s: float) -> Floats:
        """The samples of ``x`` in [start_s, stop_s]; all NaN for runs that end before."""
        inside = series.window_mask(self.t_s, start_s, stop_s)
        if inside.any():
            return x[..., inside]
        # a shortened run may end before start_s; two samples are needed for their distance
        n_samples = max(2, round((stop_s - start_s) / self.sample_s))
        return np.full((*x.shape[:-1], n_samples), np.nan)

    def in_window(self, x: Floats) -> Floats:
        """The samples of ``x`` in the window."""
        return self.during(x, *self.window_s)

    @property
    def together_s(self) -> Span:
        """From the last start of a flow to the first end, in any of the runs."""
        return self.of_flows("start_s").max(), min(self.of_flows("stop_s").min(), self.t_s[-1])

    # goodput

    @cached_property
    def goodput_mbps(self) -> Floats:
        """In-order goodput over the whole run."""
        return mbps(self.array("delivered_bytes"), self.sample_s)

    @cached_property
    def r(self) -> Floats:
        """In-order goodput in the window."""
        return self.in_window(self.goodput_mbps)

    @cached_property
    def r_received(self) -> Floats:
        """First arrivals in the window, in order or not."""
        return self.in_window(mbps(self.array("received_bytes"), self.sample_s))

    @cached_property
    def means_mbps(self) -> Floats:
        """Mean goodput in the window, (runs, flows)."""
        return self.r.mean(axis=-1)

    @property
    def shares(self) -> Floats:
        """Share of each flow in the goodput of all, (runs, flows)."""
        return series.throughput_ratio(self.means_mbps, self.means_mbps.sum(axis=-1, keepdims=True))

    @cached_property
    def ceiling_mbps(self) -> Floats:
        """Payload that the full link carries, (runs,); NaN while its capacity is unknown."""
        payload_bps = self.parameter("capacity_bps") * self.parameter("payload_bytes") / self.parameter("wire_bytes")
        return payload_bps / BPS_PER_MBPS

    def utilisation(self, rates_mbps: Floats) -> Floats:
        """Share of `ceiling_mbps` that the flows of ``rates_mbps`` (runs, flows, samples) use together, (runs,)."""
        return series.utilisation(rates_mbps, self.ceiling_mbps)

    # the link and the background

    def carried_mbps(self, direction: str) -> Floats:
        """Bytes on the wire that the bottleneck carries in a direction, (runs, samples) in the window; NaN if not recorded."""
        link = self.link[self.link["direction"] == direction].sort_values(["run_id", "t_s"])
        n_runs, _, n_samples = self.shape
        if len(link) != n_runs * n_samples:
            return self.in_window(np.full((n_runs, n_samples), np.nan))
        carried = link["forwarded_bytes"].to_numpy(dtype=float).reshape(n_runs, n_samples)
        return self.in_window(mbps(carried, self.sample_s))

    def forward_mean_mbps(self, role: str) -> Floats:
        """Mean goodput in the window of all flows of one role together that send forward, (runs,)."""
        others = self.others
        chosen = (others["role"] == role) & (others["direction"] == "forward")
        chosen &= series.window_mask(others["t_s"], *self.window_s)
        delivered = others[chosen].groupby("run_id")["delivered_bytes"].sum()
        seconds = series.window_mask(self.t_s, *self.window_s).sum() * self.sample_s
        return mbps(delivered.reindex(self.runs["run_id"], fill_value=0).to_numpy(dtype=float), seconds or np.nan)

    # losses and windows

    @cached_property
    def losses(self) -> dict[tuple[int, int], pd.DataFrame]:
        """Losses and timeouts of each (run, flow), both from 0, in order of time; flows without any are omitted."""
        places = pd.Series(
            [(run, flow) for run in range(self.shape[0]) for flow in range(self.shape[1])],
            index=pd.MultiIndex.from_frame(self.flows[["run_id", "flow_id"]]),
        )
        losses = self.events[self.events["kind"].isin(epochs.LOSS_KINDS)].sort_values("t_s", kind="stable")
        return {places[key]: rows for key, rows in losses.groupby(["run_id", "flow_id"]) if key in places.index}

    def loss_times_s(self, run: int, flow: int) -> Floats:
        """Times of the flow's losses in the window, its ends included, (losses,)."""
        if (run, flow) not in self.losses:
            return np.empty(0)
        return epochs.losses_between_s(self.losses[run, flow]["t_s"], *self.window_s)

    def of_each_flow(self, value: Callable[[int, int], float]) -> Floats:
        """``value(run, flow)`` of every flow, (runs, flows)."""
        n_runs, n_flows, _ = self.shape
        return np.array([[value(run, flow) for flow in range(n_flows)] for run in range(n_runs)], dtype=float)

    @cached_property
    def loss_counts(self) -> Floats:
        """Losses of each flow in the window, (runs, flows)."""
        counts = self.of_each_flow(lambda run, flow: self.loss_times_s(run, flow).size)
        return np.where(np.isnan(self.r).any(axis=-1), np.nan, counts)

    @property
    def first_loss_s(self) -> Floats:
        """Time of each flow's first loss, (runs, flows); NaN without one."""
        found = np.full(self.shape[:2], np.nan)
        for place, losses in self.losses.items():
            found[place] = losses["t_s"].iloc[0]
        return found

    @property
    def mean_epochs_s(self) -> Floats:
        """Mean time from a loss to the flow's next in the window, (runs, flows); NaN for fewer than two losses."""
        return self.of_each_flow(lambda run, flow: epochs.mean_epoch_s(self.loss_times_s(run, flow)))

    @property
    def mean_peaks_pkts(self) -> Floats:
        """Mean of the window just before the losses in the window, (runs, flows); NaN without a loss."""

        def peak_pkts(run: int, flow: int) -> float:
            if not self.loss_times_s(run, flow).size:
                return np.nan
            losses = self.losses[run, flow]
            return losses["cwnd_before"].to_numpy(float)[losses["t_s"].between(*self.window_s)].mean()

        return self.of_each_flow(peak_pkts)

    def mean_windows_pkts(self, whole_epochs_share: float) -> Floats:
        """Mean congestion window over the complete epochs in the window, (runs, flows).

        Over all of the window if complete epochs fill less than ``whole_epochs_share`` of it.
        """
        windows = self.array("cwnd_pkts")

        def mean_pkts(run: int, flow: int) -> float:
            span_s = epochs.whole_epochs_s(self.loss_times_s(run, flow), *self.window_s, whole_epochs_share)
            return self.during(windows[run, flow], *span_s).mean()

        return self.of_each_flow(mean_pkts)


def means_mbps(trace: Trace) -> pd.Series:
    """Mean goodput in Mb/s of each foreground flow of a trace of one run, by flow_id: its bytes over the time they were
    observed.

    A recording has both (``flows.observed_bytes``, ``observed_s``). For other traces they come from the samples while
    the flow runs; the first and the last count in proportion to the time it ran.
    """
    flows = trace.flows[trace.flows["role"] == "foreground"].set_index("flow_id").sort_index()
    if {"observed_bytes", "observed_s"} <= set(flows):
        return mbps(flows["observed_bytes"].astype(float), flows["observed_s"])
    samples = trace.samples.merge(flows[["start_s", "stop_s"]], left_on="flow_id", right_index=True)
    running_s = np.minimum(samples["t_s"], samples["stop_s"])
    running_s -= np.maximum(samples["t_s"] - trace.runs["sample_s"].iloc[0], samples["start_s"])
    if "observed" in samples:
        running_s *= samples["observed"].fillna(1)
    samples = samples.assign(running_s=running_s)[running_s > 0]
    sums = samples.groupby("flow_id")[["delivered_bytes", "running_s"]].sum().reindex(flows.index)
    return mbps(sums["delivered_bytes"].astype(float), sums["running_s"])


def blocks(trace: Trace, window_s: Span | None = None, make: Callable[..., Runs] = Runs) -> Iterator[Runs]:
    """The runs of a trace in blocks whose samples form an array, measured in ``window_s`` or, without it, over all samples.

    ``make`` gives a block from the fields of `Runs`. Raises InputError for flows with different numbers of samples.
    """
    flows = trace.flows[trace.flows["role"] == "foreground"].sort_values(["run_id", "flow_id"])
    samples = trace.samples.merge(flows[["run_id", "flow_id"]]).sort_values(["run_id", "flow_id", "t_s"])
    others = trace.samples.merge(_of_background(trace.flows))
    lengths = samples.groupby(["run_id", "flow_id"]).size().groupby("run_id").agg(["size", "min", "max"])
    uneven = lengths.index[lengths["min"] != lengths["max"]]
    if len(uneven):
        paper = trace.runs["paper"].iloc[0]
        raise InputError(f"{paper}: samples.t_s: the flows of run {uneven[0]} have different numbers of samples")
    runs = trace.runs.merge(lengths, left_on="run_id", right_index=True).sort_values("run_id")
    for _, block in runs.groupby(["size", "max", "sample_s"]):
        every = (flows, samples, trace.events, trace.link, others)
        tables = (table[table["run_id"].isin(block["run_id"])] for table in every)
        yield make(window_s or (0.0, float(block["duration_s"].max())), block, *tables)


def _of_background(flows: pd.DataFrame) -> pd.DataFrame:
    """run_id, flow_id, role and direction of the flows that are not in the foreground."""
    flows = flows if "direction" in flows else flows.assign(direction="forward")
    return flows.loc[flows["role"] != "foreground", ["run_id", "flow_id", "role", "direction"]]
