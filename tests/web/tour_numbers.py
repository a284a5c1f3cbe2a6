"""What a tour's runs give: the numbers of `tours.yaml` that have a ``value``, from the native engine.

``python -m tests.web.tour_numbers [TOUR]`` prints every one beside the value that stands there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache

import numpy as np

from tcpfair.engine import dumbbell
from tcpfair.engine.state import LOSS
from tcpfair.files.layout import Layout, repository_root
from tcpfair.metrics.epochs import k_over_time_s
from tcpfair.metrics.fairness import jfi_over_time
from tcpfair.papers.expand import RunSpec
from tcpfair.papers.papers import load_paper
from tcpfair.units import BITS_PER_BYTE, BPS_PER_MBPS
from tcpfair.web.tours import Number, Run, Tour, load, shown, spec_of


def asked(tours: tuple[Tour, ...]) -> Iterator[tuple[str, Run, Number]]:
    """Where it stands, the run and the number, of every number that is one run's."""
    for tour in tours:
        for step in tour.steps:
            for name, number in step.numbers.items():
                if number.of:
                    run = number.run or step.run
                    assert run is not None, f"{tour.id}: {step.title}: {name}: of which run?"
                    yield f"{tour.id}: {step.title}: {name}", run, number


def measured(layout: Layout, run: Run, number: Number) -> float:
    """The number, from a simulation."""
    spec = spec_of(layout, run)
    config = load_paper(layout.paper_config(run.paper))
    window = config.experiments[run.experiment].window_s
    start_s, end_s = window.value if window else (0.0, spec.scenario.duration_s)
    return quantity(number, spec, start_s, min(end_s, spec.scenario.duration_s))


def quantity(number: Number, spec: RunSpec, start_s: float, end_s: float) -> float:
    """What ``number`` names of a run, over its window."""
    result = simulated(spec.scenario.model_dump_json(), spec.seed, spec)
    i, j = number.flow - 1, number.against - 1
    inside = (result.t_s > start_s) & (result.t_s <= end_s * (1 + 1e-12))
    losses = result.events[(result.events["flow"] == i) & (result.events["kind"] == LOSS)]
    counted = losses[(losses["t_s"] > start_s) & (losses["t_s"] <= end_s)]
    match number.of:
        case "mbps":
            return mean_mbps(result, spec, inside)[i]
        case "ratio":
            rates = mean_mbps(result, spec, inside)
            return rates[i] / rates[j]
        case "jfi":
            return float(np.nanmean(jfi_over_time(per_sample(result)[inside].T)))
        case "losses":
            return len(counted)
        case "cwnd_mean":
            return result.cwnd_pkts[inside, i].mean()
        case "window_ratio":
            return result.cwnd_pkts[inside, i].mean() / result.cwnd_pkts[inside, j].mean()
        case "k_mean":
            return float(np.nanmean(k_over_time_s(result.t_s, losses["t_s"], losses["k_s"])[inside]))
    raise AssertionError(number.of)


_results: dict[tuple[str, int], dumbbell.DumbbellResult] = {}


def simulated(key: str, seed: int, spec: RunSpec) -> dumbbell.DumbbellResult:
    """The run, simulated once."""
    if (key, seed) not in _results:
        _results[key, seed] = dumbbell.run(spec.scenario, spec.seed, log_events=True)
    return _results[key, seed]


def per_sample(result: dumbbell.DumbbellResult) -> np.ndarray:
    """Packets delivered in each interval, shape (samples, flows)."""
    return np.diff(result.delivered_pkts, axis=0, prepend=0)


def mean_mbps(result: dumbbell.DumbbellResult, spec: RunSpec, inside: np.ndarray) -> np.ndarray:
    """Mean throughput of every flow over these samples."""
    seconds = inside.sum() * spec.scenario.sample_s
    return per_sample(result)[inside].sum(axis=0) * spec.scenario.payload_bytes * BITS_PER_BYTE / seconds / BPS_PER_MBPS


@cache
def here() -> Layout:
    return Layout(repository_root())


def main() -> None:
    for where, run, number in asked(load().tours):
        if len(sys.argv) < 2 or where.startswith(sys.argv[1]):
            value = measured(here(), run, number)
            differs = (
                "" if number.value is not None and shown(number, value) == shown(number, number.value) else "  <--"
            )
            print(f"{where}: {value:.6g} (there: {number.value}){differs}", flush=True)


if __name__ == "__main__":
    main()
