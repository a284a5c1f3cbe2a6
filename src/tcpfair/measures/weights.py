"""NRU weights: 1/Rr of each flow, from the throughputs in its protocol's self-pair, by one of four rules.

A self-pair is a run in which every flow has one protocol. The rules are functions of `tcpfair.metrics.fairness`, here
under the names that configurations use.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.measures.runs import Runs
from tcpfair.metrics import fairness
from tcpfair.papers.papers import WeightRule
from tcpfair.units import mbps

Floats = npt.NDArray[np.float64]


RULES: dict[WeightRule, Callable[[Floats], Floats]] = {
    "per_column": fairness.weights_per_column,
    "mean_of_columns": fairness.weights_mean_of_columns,
    "half_of_sum": fairness.weights_half_of_sum,
    "sum_of_columns": fairness.weights_sum_of_columns,
}


def of_self_pairs_mbps(runs: Runs, of_self: pd.DataFrame, grid: list[str], where: str) -> Floats:
    """Throughputs in each flow's self-pair, averaged over runs, (runs, flows, flows of the self-pair).

    ``of_self`` is the table of measures of the self-pairs; ``grid`` names the variables, besides the protocol, in which a
    run and its self-pairs agree. The last axis is ordered by `in_own_place`. Raises InputError that begins with ``where`` for
    a missing self-pair.
    """
    means = of_self.query("metric == 'throughput_mean'")
    means = means.groupby(["protocol", *grid, "flow"])["value"].mean().unstack("flow")
    found = np.empty((*runs.shape[:2], means.shape[1]))
    for n, labels in enumerate(runs.of_flows("protocol").T):
        pairs = pd.MultiIndex.from_arrays([labels, *(runs.runs[name] for name in grid)], names=means.index.names)
        missing = pairs.difference(means.index)
        if len(missing):
            raise InputError(f"{where}: no runs that give the weights of {', '.join(map(str, missing[0]))}")
        found[:, n] = means.reindex(pairs)
    return in_own_place(found, runs.of_flows("start_s"))


def in_own_place(of_self_mbps: Floats, start_s: Floats) -> Floats:
    """``of_self_mbps`` (..., flows, flows of the self-pair) reordered so that flow n starts in the place of column n.

    The input has the last axis in order of the starts in the self-pair. ``start_s`` (..., flows) are the flows' own
    starts, whose order differs between runs where it is shuffled.
    """
    places = start_s.argsort(axis=-1, kind="stable").argsort(axis=-1)
    return np.take_along_axis(of_self_mbps, places[..., np.newaxis, :], axis=-1)


def u_db(runs: Runs, rates_mbps: Floats, weights: Floats) -> Floats:
    """U_n(t) in dB of ``rates_mbps`` (runs, flows, samples); a sample without delivery counts as one segment."""
    floor = mbps(runs.parameter("payload_bytes"), runs.sample_s)
    return fairness.nru_over_time_db(rates_mbps, weights, floor[:, np.newaxis, np.newaxis])
