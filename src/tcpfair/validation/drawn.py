"""Dumbbells drawn at random: mixes of algorithms, RTTs, rates, buffers, starts and jitter.

An experiment whose name is in ``analysis.drawn`` of the configuration has no grid: its dumbbells are drawn by the laws of
``analysis.drawn_*`` and become experiments of the same schema. Some laws may be missing: without the one of access links, of
their jitter or of the threshold of slow start, flows have none; without those of algorithms and of CCID2's longest window, every
algorithm is drawn for any window. Each dumbbell has a separate random stream, which depends on the seed, the experiment and its
number. Drawn values are rounded, so that they are equal in tables and on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.papers.expand import RunSpec, run_specs, seed_of
from tcpfair.papers.papers import Experiment, PaperConfig, Value
from tcpfair.units import MS_PER_S, bdp_pkts, service_time_s
from tcpfair.validation.measures import DUMBBELL

_DIGITS = 3  # significant digits of drawn values
_LEAST_PKTS = 2  # of a buffer, and of an initial threshold


def is_drawn(config: PaperConfig, experiment: str) -> bool:
    """Whether an experiment consists of drawn dumbbells."""
    return experiment in config.analysis_or("drawn", ())


def experiments(config: PaperConfig) -> list[str]:
    """The experiments of drawn dumbbells."""
    return [name for name in config.experiments if is_drawn(config, name)]


def redrawn(config: PaperConfig, seed: int, count: int, replicates: int) -> PaperConfig:
    """The configuration with another seed of the generator, and ``count`` dumbbells of each kind.

    ``replicates`` is the largest number of runs of each dumbbell, for every simulator.
    """
    kinds = {name: {**kind, "count": count} for name, kind in config.analysis_value("drawn").items()}
    ns2_runs = config.analysis_value("ns2_runs") | {f"{name}/*": replicates for name in kinds}
    new = {"drawn_seed": seed, "drawn": kinds, "ns2_runs": ns2_runs}
    changed = {name: config.analysis[name].model_copy(update={"value": value}) for name, value in new.items()}
    runs = Value(value=replicates, source="--random")
    own = {name: config.experiments[name].model_copy(update={"runs": runs}) for name in kinds}
    return config.model_copy(
        update={"analysis": config.analysis | changed, "experiments": {**config.experiments, **own}}
    )


def specs(config: PaperConfig, experiment: str) -> list[RunSpec]:
    """All runs of an experiment of drawn dumbbells, each dumbbell with its perturbed replicates."""
    found: list[RunSpec] = []
    for label, drawn in dumbbells(config, experiment).items():
        # the seeds of its runs depend on its name and that of its experiment
        name = f"{experiment}/{config.analysis_value('drawn_seed')}/{label}"
        own = config.model_copy(update={"experiments": {name: drawn}})
        found += [
            replace(spec, run_id=len(found) + k, point={DUMBBELL: label}) for k, spec in enumerate(run_specs(own, name))
        ]
    return found


def dumbbells(config: PaperConfig, experiment: str) -> dict[str, Experiment]:
    """The drawn dumbbells by label, as experiments without a grid."""
    kind = config.analysis_value("drawn")[experiment]
    seed = config.analysis_value("drawn_seed")
    found = {}
    for number in range(kind["count"]):
        rng = np.random.Generator(np.random.Philox(seed_of("drawn", seed, experiment, number)))
        found[f"d{number:02d}"] = _draw(config, config.experiments[experiment], kind["fair_window_pkts"], rng)
    return found


def _draw(
    config: PaperConfig, frame: Experiment, fair_window_pkts: Sequence[float], rng: np.random.Generator
) -> Experiment:
    """One dumbbell whose smallest fair window, at an equal rate and an empty queue, is in [from, below) packets."""
    law = {name.removeprefix("drawn_"): value.value for name, value in config.analysis.items()}
    wire_bytes = config.settings["wire_bytes"].value
    at_least, below = fair_window_pkts
    while True:
        n_flows = int(rng.integers(law["flows"][0], law["flows"][1] + 1))
        rate_bps = _log_uniform(rng, law["rate_bps"])
        rtts_ms = [_log_uniform(rng, law["rtt_ms"]) for _ in range(n_flows)]
        paths_pkts = [bdp_pkts(rate_bps, rtt_ms / MS_PER_S, wire_bytes) for rtt_ms in rtts_ms]
        if at_least <= min(paths_pkts) / n_flows < below:
            break
    service_s = service_time_s(wire_bytes, rate_bps)
    mean_path_pkts = sum(paths_pkts) / n_flows
    buffer_pkts = max(round(rng.uniform(*law["buffer_bdp"]) * mean_path_pkts), _LEAST_PKTS)
    settings = {
        "capacity_bps": rate_bps,
        "buffer_pkts": buffer_pkts,
        "jitter_s": _rounded(rng.uniform(*law["jitter_pkts"]) * service_s),
    }
    known = law.get("protocols", list(config.protocols))
    # ns-2 walks along CCID2's Ack Vector for every packet, and aborts if it is too long
    without_ccid2 = [label for label in known if config.protocols[label].cc.value != "ccid2"]
    flows = []
    for rtt_ms, path_pkts in zip(rtts_ms, paths_pkts, strict=True):
        is_long = path_pkts + buffer_pkts > law.get("longest_ccid2_pkts", math.inf)
        flow = {
            "protocol": str(rng.choice(without_ccid2 if is_long else known)),
            "rtt_ms": rtt_ms,
            "start_s": _rounded(rng.uniform(*law["start_s"])),
        }
        if "ssthresh_share" in law:
            flow["initial_ssthresh_bdp"] = _rounded(max(law["ssthresh_share"] / n_flows, _LEAST_PKTS / path_pkts))
        if "access_ratio" in law:
            flow["access_bps"] = _rounded(rate_bps * _log_uniform(rng, law["access_ratio"]))
        if "access_jitter_pkts" in law:
            flow["access_jitter_s"] = _rounded(rng.uniform(*law["access_jitter_pkts"]) * service_s)
        flows.append(_values(flow))
    return frame.model_copy(update={"settings": {**frame.settings, **_values(settings)}, "flows": flows})


def _log_uniform(rng: np.random.Generator, bounds: Sequence[float]) -> float:
    low, high = map(math.log, bounds)
    return _rounded(math.exp(rng.uniform(low, high)))


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _values(plain: dict[str, Any]) -> dict[str, Value]:
    return {name: Value(value=value, source="drawn") for name, value in plain.items()}


def table(config: PaperConfig, experiment: str) -> pd.DataFrame:
    """The drawn settings, a row for each flow: experiment, dumbbell, the dumbbell's settings, flow (from 1) and its own."""
    rows = []
    for label, drawn in dumbbells(config, experiment).items():
        shared = {name: drawn.settings[name].value for name in ("capacity_bps", "buffer_pkts", "jitter_s")}
        for number, flow in enumerate(drawn.flows, start=1):
            own = {name: value.value for name, value in flow.items()}
            rows.append({"experiment": experiment, "label": label, **shared, "flow": number, **own})
    return pd.DataFrame(rows)
