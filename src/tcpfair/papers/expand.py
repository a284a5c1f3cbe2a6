"""From the configuration of an experiment to its runs: each point of the grid, and the replicates within it, as scenarios.

A run is identified by its `RunSpec.key`, the digest of a simulator's input: the expanded scenario and the seed.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from tcpfair.errors import InputError
from tcpfair.files.digests import digest
from tcpfair.papers.papers import BUFFER_SETTINGS, NO_TRAFFIC, Background, Experiment, PaperConfig, Setting, Value
from tcpfair.papers.scenario import Scenario, make_scenario
from tcpfair.papers.settings import grid_points
from tcpfair.units import BITS_PER_BYTE, MS_PER_S, bdp_pkts

if TYPE_CHECKING:
    import numpy as np

MOST_PKTS = 1e15  # of one run: a year of one core
_KEY_LENGTH = 20  # hexadecimal digits: two of a million runs share a key with probability 1e-12


@dataclass(frozen=True)
class RunSpec:
    """One run of an experiment: its place in the grid, its seed and the scenario to simulate."""

    run_id: int
    replicate: int
    seed: int
    point: dict[str, Any]
    scenario: Scenario

    @cached_property
    def key(self) -> str:
        """Digest of every value of its scenario, and its seed."""
        return digest([self.scenario.digest, self.seed])[:_KEY_LENGTH]

    @property
    def algorithms(self) -> set[str]:
        """Names of the congestion-control algorithms of its flows."""
        return {flow.cc for flow in self.scenario.every_flow}


def run_specs(paper: PaperConfig, experiment: str, first_replicate: int = 0) -> list[RunSpec]:
    """All runs of one experiment in a fixed order: grid points, and replicates within each.

    Replicates count from ``first_replicate``; each has its own seed. Raises InputError for an unknown experiment and
    for an invalid value.
    """
    where = f"{paper.place}: experiments.{experiment}"
    if experiment not in paper.experiments:
        raise InputError(f"{where}: no such experiment; known are {', '.join(paper.experiments)}")
    chosen, found = paper.experiments[experiment], []
    seeds = chosen.perturb.get("seeds")
    whose = seeds.value if seeds else paper.paper
    for point in grid_points(chosen):
        for replicate in range(first_replicate, first_replicate + int(chosen.runs.value)):
            seed = seed_of(whose, experiment, *(f"{k}={v}" for k, v in point.items()), replicate)
            places = places_of(chosen, seed_of(whose, experiment, "order", replicate))
            scenario = scenario_at(paper, chosen, point, seed, places, where)
            found.append(RunSpec(len(found), replicate, seed, point, scenario))
    return found


def values_behind(paper: PaperConfig, experiment: str, specs: list[RunSpec]) -> dict[str, Any]:
    """The values that ``specs`` were expanded from, without sources and reasons; used only to show what changed."""
    chosen = paper.experiments[experiment]
    used = {flow.protocol for spec in specs for flow in spec.scenario.every_flow}
    own = {name: getattr(chosen, name) for name in ("grid", "flows", "background", "runs", "perturb", "record")}
    return plain_values(
        {
            "settings": {**paper.settings, **chosen.settings},
            "flow": {**paper.flow, **chosen.flow},
            "protocols": {label: protocol for label, protocol in paper.protocols.items() if label in used},
            "traffic": paper.traffic if chosen.background else {},
            **own,
        }
    )


def plain_values(node: Any) -> Any:
    """A part of the configuration as plain data, each setting reduced to its value (no source, assumption or range)."""
    if isinstance(node, Value):
        return plain_values(node.value)
    if isinstance(node, BaseModel):
        return plain_values(dict(node))
    if isinstance(node, dict):
        return {str(name): plain_values(value) for name, value in node.items()}
    if isinstance(node, list | tuple):
        return [plain_values(value) for value in node]
    if isinstance(node, float) and math.isinf(node):
        return str(node)  # JSON cannot express it
    return node


def seed_of(*parts: object) -> int:
    """A seed in [0, 2^62) that depends on the names only, not on the order in which jobs run."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 2


def _plain(setting: Setting, point: dict[str, Any], where: str) -> Any:
    """The value of a setting at one point of the grid."""
    if isinstance(setting, Value):
        return setting.value
    name = setting.removeprefix("=")
    if not setting.startswith("=") or name not in point:
        raise InputError(f"{where}: {setting!r} must be a {{value, source}} entry or refer to a grid variable as =name")
    return point[name]


def _resolve(settings: dict[str, Setting], point: dict[str, Any], where: str) -> dict[str, Any]:
    return {name: _plain(setting, point, f"{where}.{name}") for name, setting in settings.items()}


def _check_number(where: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{where}: must be a number (got {value!r})")


def _check_positive(where: str, value: Any) -> None:
    if not isinstance(value, (int, float)) or value <= 0:
        raise InputError(f"{where}: must be a number above 0 (got {value!r})")


def places_of(experiment: Experiment, seed: int) -> list[int]:
    """Place of each flow in the order of starts. It does not depend on the grid: a replicate has one order at every point."""
    order = experiment.perturb.get("order")
    if order and order.value == "shuffle":
        return _generator(seed).permutation(len(experiment.flows)).tolist()
    return list(range(len(experiment.flows)))


def scenario_at(
    paper: PaperConfig, experiment: Experiment, point: dict, seed: int, places: list[int], where: str
) -> Scenario:
    """The scenario of one run: an experiment at one point of its grid, perturbed by the seed.

    ``places`` is each flow's place in the order of starts. Raises InputError that begins with ``where`` for an invalid value.
    """
    shared = paper.settings
    if BUFFER_SETTINGS & experiment.settings.keys():  # the experiment's buffer replaces the paper's in any unit
        shared = {name: setting for name, setting in shared.items() if name not in BUFFER_SETTINGS}
    settings = _resolve({**shared, **experiment.settings}, point, f"{where}.settings")
    for name in ("capacity_bps", "wire_bytes"):
        _check_positive(f"{where}.settings.{name}", settings.get(name))
    rng = _generator(seed)
    jolt = {name: setting.value for name, setting in experiment.perturb.items()}
    if not experiment.flows:
        raise InputError(f"{where}.flows: needs at least one flow")
    flows, nominal_rtts_s = [], []
    own = {**experiment.flow, "protocol": "=protocol"}
    resolved = [_flow(paper, {**own, **flow}, point, where) for flow in experiment.flows]
    for number, (values, _) in enumerate(resolved):
        for name in ("start_s", "access_bps"):
            _check_number(f"{where}.flows[{number}].{name}", values.get(name, 0.0))
    starts_s = [values.get("start_s", 0.0) for values, _ in resolved]
    for (values, nominal_rtt_s), place in zip(resolved, places, strict=True):
        if "initial_ssthresh_bdp" in values:
            bdp = bdp_pkts(settings["capacity_bps"], nominal_rtt_s, settings["wire_bytes"])
            values["initial_ssthresh_pkts"] = values.pop("initial_ssthresh_bdp") * bdp
        values["rtt_s"] = nominal_rtt_s * (1 + jolt.get("rtt_rel", 0) * rng.uniform(-1, 1))
        values["start_s"] = starts_s[place] + jolt.get("start_s", 0) * rng.uniform()
        values["access_bps"] = values.get("access_bps", 0.0) * (1 + jolt.get("access_rel", 0) * rng.uniform(-1, 1))
        flows.append(values)
        nominal_rtts_s.append(nominal_rtt_s)
    web = []
    for number, background in enumerate(experiment.background):
        short, long_lived = _background(paper, background, point, rng, f"{where}.background[{number}]")
        web += short
        flows += long_lived
    bdp_rtt_s = settings.pop("bdp_rtt_ms", max(nominal_rtts_s) * MS_PER_S) / MS_PER_S
    bdp = bdp_pkts(settings["capacity_bps"], bdp_rtt_s, settings["wire_bytes"])
    settings["buffer_pkts"] = _buffer(settings, bdp, where)
    if settings.get("reverse_bps"):
        settings["reverse_buffer_pkts"] = settings["buffer_pkts"]
    return make_scenario({**settings, "flows": flows, "web": web, "record": tuple(experiment.record)}, where)


def _generator(seed: int) -> np.random.Generator:
    import numpy as np  # a tenth of a second, which a start without work should avoid

    return np.random.Generator(np.random.Philox(seed))


def _exponential(rng: np.random.Generator) -> float:
    """An exponential variate of mean 1 with the same bits on every machine and libm."""
    return -float(Decimal(1.0 - rng.uniform()).ln())


def _background(
    paper: PaperConfig, background: Background, point: dict, rng: np.random.Generator, where: str
) -> tuple[list[dict], list[dict]]:
    """One kind of traffic in one direction: its source of short flows, and its long-lived flows; both empty without traffic."""
    label = _plain(background.traffic, point, f"{where}.traffic")
    if label == NO_TRAFFIC:
        return [], []
    if label not in paper.traffic:
        known = ", ".join([NO_TRAFFIC, *paper.traffic])
        raise InputError(f"{where}: traffic {label!r} is unknown; known are {known}")
    traffic = paper.traffic[label]
    at = f"config/papers/{paper.paper}.yaml: traffic.{label}"
    names = ("rtt_ms", "rtt_extra_mean_ms", "rtt_cap_ms")
    rtt_s, extra_s, cap_s = (_plain(getattr(traffic, name), point, f"{at}.{name}") / MS_PER_S for name in names)

    def flow(protocol: str) -> dict:
        asked = {"protocol": protocol, "rtt_ms": rtt_s * MS_PER_S}
        values, _ = _flow(paper, {name: Value(value=value, source="") for name, value in asked.items()}, point, at)
        return values | {"direction": background.direction}

    source = {
        "flow": flow(traffic.protocol) | {"rtt_s": rtt_s},
        "arrivals_per_s": _plain(traffic.arrivals_per_s, point, f"{at}.arrivals_per_s"),
        "sizes": [{name: value.value for name, value in law.items()} for law in traffic.sizes],
        "rtt_extra_mean_s": extra_s,
        "rtt_cap_s": cap_s,
    }
    flows = []
    of_long = traffic.long_lived
    for _ in range(int(of_long.flows.value) if of_long else 0):
        values = flow(of_long.protocol) | {"role": "background"}
        values["rtt_s"] = min(rtt_s + extra_s * _exponential(rng), cap_s)
        values["start_s"] = of_long.start_s.value * rng.uniform()
        flows.append(values)
    return [source], flows


def _buffer(settings: dict, bdp: float, where: str) -> float:
    given = sorted(BUFFER_SETTINGS & settings.keys())
    if len(given) != 1:
        raise InputError(f"{where}.settings: give exactly one of {', '.join(sorted(BUFFER_SETTINGS))}")
    value = settings.pop(given[0])
    _check_positive(f"{where}.settings.{given[0]}", value)
    if given[0] == "buffer_bdp":
        return max(value * bdp, 1)
    return value / settings["wire_bytes"] if given[0] == "buffer_bytes" else value


def _flow(paper: PaperConfig, flow: dict, point: dict, where: str) -> tuple[dict, float]:
    """The values of one Flow before perturbation, and its nominal RTT in s."""
    label = _plain(flow["protocol"], point, f"{where}.flows.protocol")
    if label not in paper.protocols:
        raise InputError(f"{where}: protocol {label!r} is unknown; known are {', '.join(paper.protocols)}")
    protocol = paper.protocols[label]
    values = _resolve({**paper.flow, **protocol.flow, **flow}, point, f"{where}.flows") | {"protocol": label}
    rtt_ms = values.pop("rtt_ms", None)
    _check_positive(f"{where}.flows.rtt_ms", rtt_ms)
    values["cc"] = _plain(protocol.cc, point, f"{where}.protocols.{label}.cc")
    values["params"] = _resolve(protocol.params, point, f"{where}.protocols.{label}.params")
    return values, rtt_ms / MS_PER_S


def expected_pkts(scenario: Scenario) -> float:
    """Packets that a fully used link would carry in one run: the unit of the run plan.

    Raises InputError for more than `MOST_PKTS`.
    """
    pkts = scenario.capacity_bps * scenario.duration_s / (BITS_PER_BYTE * scenario.wire_bytes)
    if not pkts <= MOST_PKTS:
        raise InputError(
            f"scenario: capacity_bps {scenario.capacity_bps:g} for duration_s {scenario.duration_s:g} is {pkts:.3g} packets; "
            f"the limit is {MOST_PKTS:g}"
        )
    return pkts


def shorten(spec: RunSpec, duration_s: float) -> RunSpec:
    """The same run cut to ``duration_s`` with start times squeezed into its first fifth (smoke runs)."""
    scenario = spec.scenario
    scale = min(1.0, duration_s / scenario.duration_s)
    flows = tuple(f.model_copy(update={"start_s": f.start_s * scale}) for f in scenario.flows)
    update = {
        "duration_s": math.ceil(scenario.duration_s * scale / scenario.sample_s) * scenario.sample_s,
        "flows": flows,
    }
    return RunSpec(spec.run_id, spec.replicate, spec.seed, spec.point, scenario.model_copy(update=update))
