"""The metrics of single runs, from a trace alone: the same for every simulator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.contract.trace import Trace
from tcpfair.metrics import epochs, fairness, series
from tcpfair.units import BPS_PER_MBPS, mbps

Floats = npt.NDArray[np.float64]

RUN_COLUMNS = ["label", "replicate", "from_s", "until_s"]


@dataclass(frozen=True)
class Run:
    """One run and the time in which it is measured; series have the shape (flows, samples)."""

    t_s: Floats
    cwnd_pkts: Floats
    delivered_bytes: Floats
    received_bytes: Floats  # first arrivals, in order or not
    loss_t_s: Floats  # losses and timeouts of the first flow
    peaks_pkts: Floats  # its window just before each of them
    capacity_mbps: float  # payload that the link can carry
    sample_s: float
    from_s: float
    until_s: float
    whole_epochs_share: float

    @cached_property
    def inside(self) -> npt.NDArray[np.bool_]:
        return series.window_mask(self.t_s, self.from_s, self.until_s)

    @cached_property
    def losses_s(self) -> Floats:
        return epochs.losses_between_s(self.loss_t_s, self.from_s, self.until_s)

    def mbps(self, n_bytes: Floats) -> Floats:
        """A series of bytes as rates inside the window."""
        return mbps(n_bytes[:, self.inside], self.sample_s)


def mean_cwnd(run: Run) -> float:
    span_s = epochs.whole_epochs_s(run.loss_t_s, run.from_s, run.until_s, run.whole_epochs_share)
    return float(run.cwnd_pkts[0, series.window_mask(run.t_s, *span_s)].mean())


def epoch(run: Run) -> float:
    return epochs.mean_epoch_s(run.losses_s)


def peak(run: Run) -> float:
    of_window = np.isin(run.loss_t_s, run.losses_s)
    return float(run.peaks_pkts[of_window].mean()) if of_window.any() else math.nan


def losses(run: Run) -> float:
    return float(run.losses_s.size)


def utilisation(run: Run) -> float:
    return float(series.utilisation(run.mbps(run.received_bytes), run.capacity_mbps))


def share(run: Run) -> float:
    means = run.mbps(run.delivered_bytes).mean(axis=-1)
    return float(series.throughput_ratio(means[0], means.sum()))


def jfi(run: Run) -> float:
    return float(fairness.jfi_of_means(run.mbps(run.delivered_bytes)))


class Metric(NamedTuple):
    """A metric of a run: its function, what it is called, its unit, the decimals kept, how two means are compared."""

    of: Callable[[Run], float]
    title: str
    unit: str
    decimals: int
    relative: bool  # the bar is a part of the other simulator's mean


METRICS = {
    "mean_cwnd": Metric(mean_cwnd, "mean window", "packets", 2, True),
    "epoch": Metric(epoch, "mean time between losses", "s", 4, True),
    "peak": Metric(peak, "mean window before a loss", "packets", 2, True),
    "losses": Metric(losses, "losses and timeouts", "", 0, False),
    "utilisation": Metric(utilisation, "utilisation", "share", 5, False),
    "share": Metric(share, "share of flow 1", "share", 5, False),
    "jfi": Metric(jfi, "Jain's index of mean throughputs", "", 5, False),
}


def measure(
    trace: Trace, measures: Sequence[str], windows_s: Sequence[tuple[float, float]], whole_epochs_share: float
) -> pd.DataFrame:
    """A row for each run and window: label, replicate, from_s, until_s and a column for each of ``measures``.

    What a run is too short to show is NaN.
    """
    rows = []
    for about, run in _runs(trace, windows_s, whole_epochs_share):
        values = {name: round(METRICS[name].of(run), METRICS[name].decimals) for name in measures}
        rows.append({**about, "from_s": run.from_s, "until_s": run.until_s, **values})
    table = pd.DataFrame(rows, columns=[*RUN_COLUMNS, *measures])
    return table.sort_values(["label", "from_s", "until_s", "replicate"], ignore_index=True)


def _runs(
    trace: Trace, windows_s: Sequence[tuple[float, float]], whole_epochs_share: float
) -> Iterator[tuple[dict, Run]]:
    of_run = {name: dict(list(getattr(trace, name).groupby("run_id"))) for name in ("flows", "samples", "events")}
    for about in trace.runs.sort_values("run_id").to_dict("records"):
        run_id = about["run_id"]
        flows = of_run["flows"][run_id].sort_values("flow_id")
        samples = of_run["samples"][run_id].sort_values(["flow_id", "t_s"])
        events = of_run["events"].get(run_id, trace.events[:0])
        first = events[events["flow_id"] == flows["flow_id"].iloc[0]].sort_values("t_s")
        shape = (len(flows), -1)
        cwnd_pkts = samples["cwnd_pkts"].to_numpy(float) if "cwnd_pkts" in samples else np.full(len(samples), np.nan)
        for from_s, until_s in windows_s:
            run = Run(
                t_s=samples["t_s"].to_numpy().reshape(shape)[0],
                cwnd_pkts=cwnd_pkts.reshape(shape),
                delivered_bytes=samples["delivered_bytes"].to_numpy(float).reshape(shape),
                received_bytes=samples["received_bytes"].to_numpy(float).reshape(shape),
                loss_t_s=epochs.loss_times_s(first["t_s"], first["kind"]),
                peaks_pkts=epochs.peaks_pkts(first["kind"], first["cwnd_before"]),
                capacity_mbps=about["capacity_bps"] * about["payload_bytes"] / about["wire_bytes"] / BPS_PER_MBPS,
                sample_s=about["sample_s"],
                from_s=from_s,
                until_s=until_s,
                whole_epochs_share=whole_epochs_share,
            )
            yield {"label": flows["protocol"].iloc[0], "replicate": int(about["replicate"])}, run


def curve(trace: Trace, points: int) -> pd.DataFrame:
    """Window of the first flow of replicate 0, at most ``points`` samples of it: columns label, t_s, cwnd_pkts."""
    run_ids = trace.runs.loc[trace.runs["replicate"] == 0, "run_id"]
    flows = trace.flows[trace.flows["run_id"].isin(run_ids)].sort_values("flow_id").groupby("run_id").head(1)
    samples = flows[["run_id", "flow_id", "protocol"]].merge(trace.samples, on=["run_id", "flow_id"])
    parts = []
    for label, rows in samples.groupby("protocol"):
        rows = rows.sort_values("t_s")
        every = math.ceil(len(rows) / points)
        rows = rows.iloc[every - 1 :: every]
        parts.append(
            pd.DataFrame(
                {"label": label, "t_s": rows["t_s"].round(4), "cwnd_pkts": rows["cwnd_pkts"].astype(float).round(1)}
            )
        )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["label", "t_s", "cwnd_pkts"])
