"""The measures of single runs that the validation compares, computed in the same way from every simulator's trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from tcpfair.measures.runs import Floats, Runs, blocks
from tcpfair.metrics import fairness
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs.trace import Trace

RUN_COLUMNS = ["label", "replicate", "from_s", "until_s"]
DUMBBELL = "dumbbell"  # name of the variable of random dumbbells, in points and traces
CURVE_COLUMNS = ["experiment", "label", "t_s", "cwnd_pkts"]


class Measure(NamedTuple):
    """A measure of a run: the decimals kept, how two means are compared, its function.

    ``of`` takes the runs and the share of the window that complete epochs must fill; it returns (runs,). Labels and units are
    in `tcpfair.measures.shown`.
    """

    decimals: int
    relative: bool  # the threshold is a share of the other simulator's mean
    of: Callable[[Runs, float], Floats]


def _utilisation(runs: Runs) -> Floats:
    # Means of packet counts can be ties in the last stored decimal, which numpy's order of addition decides: add along each run.
    return runs.utilisation(np.ascontiguousarray(runs.r_received))


def _rounded(values: Floats, decimals: int) -> list[float]:
    return [round(value, decimals) for value in values.tolist()]


def _of_flow(values: Floats, number: int) -> Floats:
    """The column of a flow, counted from 1, of (runs, flows); NaN where runs have fewer flows."""
    return values[:, number - 1] if number <= values.shape[1] else np.full(len(values), np.nan)


def _share_of(number: int) -> Callable[[Runs, float], Floats]:
    return lambda runs, _: _of_flow(runs.shares, number)


def _window_of(number: int) -> Callable[[Runs, float], Floats]:
    return lambda runs, _: _of_flow(runs.in_window(runs.array("cwnd_pkts")).mean(axis=-1), number)


MOST_FLOWS = 6  # flows whose shares and windows are measured separately

# windows, losses, goodput and the share are those of the first flow
MEASURES = {
    "mean_cwnd": Measure(2, True, lambda x, share: x.mean_windows_pkts(share)[:, 0]),
    "epoch": Measure(4, True, lambda x, _: x.mean_epochs_s[:, 0]),
    "peak": Measure(2, True, lambda x, _: x.mean_peaks_pkts[:, 0]),
    "losses": Measure(0, False, lambda x, _: x.loss_counts[:, 0]),
    "utilisation": Measure(5, False, lambda x, _: _utilisation(x)),
    "throughput": Measure(4, True, lambda x, _: x.means_mbps[:, 0]),
    "share": Measure(5, False, lambda x, _: x.shares[:, 0]),
    "jfi": Measure(5, False, lambda x, _: fairness.jfi(x.means_mbps)),
    **{f"share_{k}": Measure(5, False, _share_of(k)) for k in range(1, MOST_FLOWS + 1)},
    **{f"window_{k}": Measure(2, True, _window_of(k)) for k in range(1, MOST_FLOWS + 1)},
}


def measured(
    config: PaperConfig, experiment: str, trace: Trace, windows_s: Sequence[tuple[float, float]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The results to store of an experiment's runs: their measures, and curves if the configuration draws some."""
    value = config.analysis_value
    runs = measure(trace, config.experiments[experiment].measures, windows_s, value("whole_epochs_share"))
    if experiment not in value("curve_experiments"):
        return runs, pd.DataFrame(columns=CURVE_COLUMNS[1:])
    return runs, curve(trace, value("curve_points"))


def measure(
    trace: Trace, measures: Sequence[str], windows_s: Sequence[tuple[float, float]], whole_epochs_share: float
) -> pd.DataFrame:
    """A row for each run and window: label, replicate, from_s, until_s and a column for each of ``measures``.

    A measure is NaN if the run is too short for it.
    """
    parts = [pd.DataFrame(columns=[*RUN_COLUMNS, *measures])]
    for whole in blocks(trace):
        labels = whole.runs[DUMBBELL].to_numpy() if DUMBBELL in whole.runs else whole.of_flows("protocol")[:, 0]
        about = {"label": labels, "replicate": whole.runs["replicate"].to_numpy()}
        for window_s in windows_s:
            runs = replace(whole, window_s=window_s)
            chosen = {name: MEASURES[name] for name in measures}
            values = {name: _rounded(m.of(runs, whole_epochs_share), m.decimals) for name, m in chosen.items()}
            parts.append(pd.DataFrame({**about, **dict(zip(RUN_COLUMNS[2:], window_s, strict=True)), **values}))
    table = pd.concat(parts[1:] or parts)
    return table.sort_values(["label", "from_s", "until_s", "replicate"], ignore_index=True)


def curve(trace: Trace, points: int) -> pd.DataFrame:
    """Window of the first flow of replicate 0, at most ``points`` samples of it: columns label, t_s, cwnd_pkts."""
    run_ids = trace.runs.loc[trace.runs["replicate"] == 0, "run_id"]
    flows = trace.flows[trace.flows["run_id"].isin(run_ids)].sort_values("flow_id").groupby("run_id").head(1)
    samples = flows[["run_id", "flow_id", "protocol"]].merge(trace.samples, on=["run_id", "flow_id"])
    parts = [pd.DataFrame(columns=CURVE_COLUMNS[1:])]
    for label, rows in samples.astype({"cwnd_pkts": float}).groupby("protocol"):
        every = math.ceil(len(rows) / points)
        thinned = rows.sort_values("t_s").iloc[every - 1 :: every].round({"t_s": 4, "cwnd_pkts": 1})
        parts.append(thinned.assign(label=label)[CURVE_COLUMNS[1:]])
    return pd.concat(parts[1:] or parts, ignore_index=True)
