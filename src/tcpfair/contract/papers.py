"""Configuration: what each paper ran, with the source or the assumption behind every value.

``config/papers/<paper>.yaml`` is the only place where a parameter of an experiment stands. Each value is written
``{value: 500, source: "sec. 5.4"}`` or ``{value: 0.1, assumed: "why", range: [0, 1]}``; a string ``=name`` takes the value
of the grid variable ``name``. Unknown keys are refused.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tcpfair.contract.layout import PAPERS, SOURCES
from tcpfair.contract.scenario import Flow, Scenario, make_scenario, one_line
from tcpfair.errors import InputError
from tcpfair.units import BITS_PER_BYTE, MS_PER_S, bdp_pkts


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Value(_Strict):
    """A value and where it comes from: stated in the paper, or assumed with a reason and the range that is plausible."""

    value: Any
    source: str | None = None
    assumed: str | None = None
    range: list[Any] | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Value:
        if self.source is None and self.assumed is None:
            raise ValueError("give `source:` (section of the paper) or `assumed:` (the reason)")
        if self.assumed is not None and self.source is None and self.range is None:
            raise ValueError("an assumed value needs `range:`, the values that would be as plausible")
        return self


Setting = Value | str  # a string is a reference, "=rtt_ms"

# settings that are fields of Scenario or Flow as they are, and those that are turned into one
_SCENARIO_FIELDS = set(Scenario.model_fields) - {"flows", "web", "record", "buffer_pkts", "reverse_buffer_pkts"}
_FLOW_FIELDS = set(Flow.model_fields) - {"protocol", "rtt_s", "params"}
_BUFFER_SETTINGS = {"buffer_pkts", "buffer_bytes", "buffer_bdp"}
_EXTRA_SCENARIO = _BUFFER_SETTINGS | {"bdp_rtt_ms"}
_EXTRA_FLOW = {"protocol", "rtt_ms", "initial_ssthresh_bdp"}
NO_TRAFFIC = "none"
Perturbation = Literal["rtt_rel", "start_s", "access_rel", "order", "seeds"]
_ORDERS = ("listed", "shuffle")


def _check_flow(place: str, flow: dict[str, Any]) -> None:
    """ValueError when a flow has a setting that nothing reads."""
    for name in flow:
        if name not in _FLOW_FIELDS | _EXTRA_FLOW:
            raise ValueError(f"{place}.{name}: unknown; known are {', '.join(sorted(_FLOW_FIELDS | _EXTRA_FLOW))}")


class Protocol(_Strict):
    """What a label of the paper means: the algorithm, its parameters and the settings of its end hosts."""

    cc: Setting
    params: dict[str, Setting] = Field(default_factory=dict)
    flow: dict[str, Setting] = Field(default_factory=dict, description="settings of its end hosts")


class LongLived(_Strict):
    """Long-lived flows that belong to a kind of background traffic."""

    protocol: str
    flows: Value = Field(description="how many in each direction")
    start_s: Value = Field(description="they start at random within this time")


class Traffic(_Strict):
    """A kind of background traffic: Poisson arrivals of short flows, and long-lived flows where there are any.

    Round-trip times are ``rtt_ms`` plus an exponential part of mean ``rtt_extra_mean_ms``, at most ``rtt_cap_ms``.
    """

    protocol: str
    arrivals_per_s: Setting
    sizes: list[dict[str, Value]] = Field(min_length=1, description="law, share and parameters of scenario.Web.sizes")
    rtt_ms: Setting
    rtt_extra_mean_ms: Setting
    rtt_cap_ms: Setting
    long_lived: LongLived | None = None


class Background(_Strict):
    """Which traffic goes which way; the label ``none`` stands for no traffic."""

    traffic: Setting
    direction: Literal["forward", "reverse"]


WeightRule = Literal["per_column", "mean_of_columns", "half_of_sum", "sum_of_columns"]


class Weights(_Strict):
    """Where the NRU weights come from: the self-pair experiment and the rule that combines its flows."""

    experiment: str
    rule: WeightRule
    also: list[WeightRule] = Field(default_factory=list, description="rules to compare with, in further metrics")


class Experiment(_Strict):
    """One experiment: fixed settings, a grid of variables, the flows, and how often it is repeated."""

    what: str
    settings: dict[str, Setting] = Field(default_factory=dict)
    flow: dict[str, Setting] = Field(default_factory=dict, description="settings shared by all flows")
    grid: dict[str, Value] = Field(default_factory=dict)
    flows: list[dict[str, Setting]] = Field(default_factory=list)
    background: list[Background] = Field(default_factory=list)
    runs: Value
    perturb: dict[Perturbation, Value] = Field(
        default_factory=dict,
        description="what differs from run to run. rtt_rel, access_rel: by up to this share either way; start_s: up to this "
        "later; order: shuffle = the flows change places, one order for each replicate; seeds: the paper whose seeds these "
        "runs have, where two papers print the same runs",
    )
    window_s: Value | None = None
    record: list[Literal["samples", "cwnd", "events", "link"]] = ["samples"]
    measures: list[str] = Field(default_factory=list)
    weights: Weights | None = None
    supplement: bool = Field(default=False, description="a sensitivity study of ours, not an experiment of the paper")

    @model_validator(mode="after")
    def _known_names(self) -> Experiment:
        for name in self.settings:
            if name not in _SCENARIO_FIELDS | _EXTRA_SCENARIO:
                raise ValueError(f"settings.{name}: unknown; known are {_names(_SCENARIO_FIELDS | _EXTRA_SCENARIO)}")
        for place, flow in [("flow", self.flow), *((f"flows[{i}]", flow) for i, flow in enumerate(self.flows))]:
            _check_flow(place, flow)
        for name, value in self.grid.items():
            if not isinstance(value.value, list) or not value.value:
                raise ValueError(f"grid.{name}: must be a list of values")
        order = self.perturb.get("order")
        if order and order.value not in _ORDERS:
            raise ValueError(f"perturb.order: must be {' or '.join(_ORDERS)} (got {order.value!r})")
        seeds = self.perturb.get("seeds")
        if seeds and seeds.value not in PAPERS:
            raise ValueError(f"perturb.seeds: must be one of the papers {', '.join(PAPERS)} (got {seeds.value!r})")
        return self


class Exhibit(_Strict):
    """One table, figure or diagram: what is drawn, from which experiments."""

    id: str
    kind: Literal["table", "figure", "diagram", "supplement"]
    title: str
    draw: str | None = Field(default=None, description="name of the drawing kind; none while it is not built")
    experiments: list[str] = Field(default_factory=list)
    options: dict[str, Any] = Field(default_factory=dict)
    caption: str = ""
    uses: list[str] = Field(default_factory=list, description="equations")


class PaperConfig(_Strict):
    """All of ``config/papers/<paper>.yaml``, or of ``config/validation.yaml``, which no paper stands behind."""

    paper: Literal["ogura", "bhatti2008", "bhatti2009", "kozu2014", "ha2006", "validation"]
    cite: str
    protocols: dict[str, Protocol] = Field(default_factory=dict)
    traffic: dict[str, Traffic] = Field(default_factory=dict, description="kinds of background traffic")
    settings: dict[str, Setting] = Field(default_factory=dict)
    flow: dict[str, Setting] = Field(default_factory=dict)
    analysis: dict[str, Value] = Field(default_factory=dict, description="parameters of models and metrics")
    experiments: dict[str, Experiment] = Field(default_factory=dict)
    exhibits: list[Exhibit] = Field(default_factory=list)

    @model_validator(mode="after")
    def _references(self) -> PaperConfig:
        _check_flow("flow", self.flow)
        for label, protocol in self.protocols.items():
            _check_flow(f"protocols.{label}.flow", protocol.flow)
        for exhibit in self.exhibits:
            for name in exhibit.experiments:
                if name not in self.experiments:
                    raise ValueError(f"exhibits.{exhibit.id}: experiment {name!r} is not among the experiments")
        for name, experiment in self.experiments.items():
            if experiment.weights and experiment.weights.experiment not in self.experiments:
                raise ValueError(f"experiments.{name}.weights: unknown experiment {experiment.weights.experiment!r}")
        return self

    @property
    def place(self) -> str:
        """The file that it comes from, as messages name it."""
        return "config/validation.yaml" if self.paper == "validation" else f"config/papers/{self.paper}.yaml"

    def analysis_value(self, name: str) -> Any:
        """The value of one analysis parameter."""
        return self.analysis[name].value

    def exhibit(self, exhibit_id: str) -> Exhibit:
        """The exhibit with this id; InputError when there is none."""
        for exhibit in self.exhibits:
            if exhibit.id == exhibit_id:
                return exhibit
        known = ", ".join(e.id for e in self.exhibits)
        raise InputError(f"exhibit {exhibit_id!r}: not in {self.place}; known are {known}")

    def check(self, experiment: str) -> None:
        """Resolve each point of an experiment's grid once; raises InputError for a value that no run can have."""
        once = self.experiments[experiment].runs.model_copy(update={"value": 1})
        single = self.experiments[experiment].model_copy(update={"runs": once})
        self.model_copy(update={"experiments": {experiment: single}}).run_specs(experiment)

    def run_specs(self, experiment: str) -> list[RunSpec]:
        """All runs of one experiment in a fixed order: grid points, and replicates within each."""
        return list(_expand(self, experiment))


class Config(_Strict):
    """``config/config.yaml``: what to build and from which source."""

    source: Literal["bundled", "engine", "ns2", "ns3", "testbed", "raw"] = "bundled"
    papers: list[Literal["ogura", "bhatti2008", "bhatti2009", "kozu2014", "ha2006"]] = list(PAPERS)
    only: list[str] = Field(default_factory=list, description="exhibit ids; empty = all")
    trace: str = Field(default="", description="folder or file of the user's own trace (source raw)")
    shards: int = Field(default=2, ge=1, le=64, description="parts into which each experiment's runs are split")
    smoke: bool = Field(default=False, description="one run per grid point and short durations, to try everything")
    smoke_duration_s: float = Field(default=12.0, gt=0)


@dataclass(frozen=True)
class RunSpec:
    """One run of an experiment: its place in the grid, its seed and the scenario to simulate."""

    run_id: int
    replicate: int
    seed: int
    point: dict[str, Any]
    scenario: Scenario


def load_yaml(path: Path) -> dict:
    """A YAML mapping; InputError naming file and line when it cannot be read."""
    try:
        values = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        raise InputError(f"{path}:{line} not valid YAML ({getattr(error, 'problem', error)})") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: must be a mapping of names to values")
    return values


def load_paper(path: Path) -> PaperConfig:
    """Read and validate one paper's configuration. Raises InputError with one line naming file and field."""
    try:
        return PaperConfig.model_validate(load_yaml(path))
    except ValidationError as error:
        raise one_line(error, str(path)) from None


def check_config(values: dict, where: str = "config") -> Config:
    """Validate the top-level configuration. Raises InputError with one line naming the field."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise one_line(error, where) from None


def seed_of(*parts: object) -> int:
    """A seed in [0, 2^62) that depends on the names only, not on the order in which jobs run."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 2


def _names(names: set[str]) -> str:
    return ", ".join(sorted(names))


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


def _expand(paper: PaperConfig, name: str) -> Iterator[RunSpec]:
    where = f"{paper.place}: experiments.{name}"
    if name not in paper.experiments:
        raise InputError(f"{where}: no such experiment; known are {', '.join(paper.experiments)}")
    experiment = paper.experiments[name]
    axes = list(experiment.grid)
    points = itertools.product(*(experiment.grid[axis].value for axis in axes))
    seeds = experiment.perturb.get("seeds")
    whose = seeds.value if seeds else paper.paper
    run_id = 0
    for values in points:
        point = dict(zip(axes, values, strict=True))
        for replicate in range(int(experiment.runs.value)):
            seed = seed_of(whose, name, *(f"{k}={v}" for k, v in point.items()), replicate)
            places = _places(experiment, seed_of(whose, name, "order", replicate))
            scenario = _scenario(paper, experiment, point, seed, places, where)
            yield RunSpec(run_id, replicate, seed, point, scenario)
            run_id += 1


def _places(experiment: Experiment, seed: int) -> list[int]:
    """Place of each flow in the order of starts. The grid has no say in it: a replicate is one order at every point."""
    order = experiment.perturb.get("order")
    if order and order.value == "shuffle":
        return np.random.Generator(np.random.Philox(seed)).permutation(len(experiment.flows)).tolist()
    return list(range(len(experiment.flows)))


def _scenario(
    paper: PaperConfig, experiment: Experiment, point: dict, seed: int, places: list[int], where: str
) -> Scenario:
    shared = paper.settings
    if _BUFFER_SETTINGS & experiment.settings.keys():  # the experiment's buffer replaces the paper's in whatever unit
        shared = {name: setting for name, setting in shared.items() if name not in _BUFFER_SETTINGS}
    settings = _resolve({**shared, **experiment.settings}, point, f"{where}.settings")
    for name in ("capacity_bps", "wire_bytes"):
        if not isinstance(settings.get(name), (int, float)) or settings[name] <= 0:
            raise InputError(f"{where}.settings.{name}: must be a number above 0 (got {settings.get(name)!r})")
    rng = np.random.Generator(np.random.Philox(seed))
    jolt = {name: setting.value for name, setting in experiment.perturb.items()}
    flows, nominal_rtts_s = [], []
    resolved = [_flow(paper, experiment, flow, point, where) for flow in experiment.flows]
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
        _add_background(paper, experiment, background, number, point, rng, where, flows, web)
    bdp_rtt_s = settings.pop("bdp_rtt_ms", max(nominal_rtts_s) * MS_PER_S) / MS_PER_S
    bdp = bdp_pkts(settings["capacity_bps"], bdp_rtt_s, settings["wire_bytes"])
    settings["buffer_pkts"] = _buffer(settings, bdp, where)
    if settings.get("reverse_bps"):
        settings["reverse_buffer_pkts"] = settings["buffer_pkts"]
    return make_scenario({**settings, "flows": flows, "web": web, "record": tuple(experiment.record)}, where)


def _exponential(rng: np.random.Generator) -> float:
    """An exponential variate of mean 1 with the same bits on every machine, whatever its libm."""
    return -float(Decimal(1.0 - rng.uniform()).ln())


def _add_background(
    paper: PaperConfig,
    experiment: Experiment,
    background: Background,
    number: int,
    point: dict,
    rng: np.random.Generator,
    where: str,
    flows: list[dict],
    web: list[dict],
) -> None:
    """Append one kind of traffic in one direction: its source of short flows to ``web``, long-lived ones to ``flows``."""
    label = _plain(background.traffic, point, f"{where}.background[{number}].traffic")
    if label == NO_TRAFFIC:
        return
    if label not in paper.traffic:
        known = ", ".join([NO_TRAFFIC, *paper.traffic])
        raise InputError(f"{where}.background[{number}]: traffic {label!r} is unknown; known are {known}")
    traffic = paper.traffic[label]
    at = f"config/papers/{paper.paper}.yaml: traffic.{label}"
    names = ("rtt_ms", "rtt_extra_mean_ms", "rtt_cap_ms")
    rtt_s, extra_s, cap_s = (_plain(getattr(traffic, name), point, f"{at}.{name}") / MS_PER_S for name in names)
    asked = {"protocol": Value(value=traffic.protocol, source=""), "rtt_ms": Value(value=rtt_s * MS_PER_S, source="")}
    short, _ = _flow(paper, experiment.model_copy(update={"flow": {}}), asked, point, at)
    web.append(
        {
            "flow": short | {"rtt_s": rtt_s, "direction": background.direction},
            "arrivals_per_s": _plain(traffic.arrivals_per_s, point, f"{at}.arrivals_per_s"),
            "sizes": [{name: value.value for name, value in law.items()} for law in traffic.sizes],
            "rtt_extra_mean_s": extra_s,
            "rtt_cap_s": cap_s,
        }
    )
    if traffic.long_lived:
        asked["protocol"] = Value(value=traffic.long_lived.protocol, source="")
        for _ in range(int(traffic.long_lived.flows.value)):
            values, _ = _flow(paper, experiment.model_copy(update={"flow": {}}), asked, point, at)
            values |= {"direction": background.direction, "role": "background"}
            values["rtt_s"] = min(rtt_s + extra_s * _exponential(rng), cap_s)
            values["start_s"] = traffic.long_lived.start_s.value * rng.uniform()
            flows.append(values)


def _buffer(settings: dict, bdp: float, where: str) -> float:
    given = sorted(_BUFFER_SETTINGS & settings.keys())
    if len(given) != 1:
        raise InputError(f"{where}.settings: give exactly one of {', '.join(sorted(_BUFFER_SETTINGS))}")
    value = settings.pop(given[0])
    if not isinstance(value, (int, float)) or value <= 0:
        raise InputError(f"{where}.settings.{given[0]}: must be a number above 0 (got {value!r})")
    if given[0] == "buffer_bdp":
        return max(value * bdp, 1)
    return value / settings["wire_bytes"] if given[0] == "buffer_bytes" else value


def _flow(paper: PaperConfig, experiment: Experiment, flow: dict, point: dict, where: str) -> tuple[dict, float]:
    """The values of one Flow before perturbation, and its nominal RTT in s."""
    label = _plain(flow.get("protocol", "=protocol"), point, f"{where}.flows.protocol")
    if label not in paper.protocols:
        raise InputError(f"{where}: protocol {label!r} is unknown; known are {', '.join(paper.protocols)}")
    protocol = paper.protocols[label]
    merged = {**paper.flow, **protocol.flow, **experiment.flow, **flow}
    merged.pop("protocol", None)
    values = _resolve(merged, point, f"{where}.flows")
    rtt_ms = values.pop("rtt_ms", None)
    if not isinstance(rtt_ms, (int, float)) or rtt_ms <= 0:
        raise InputError(f"{where}.flows.rtt_ms: must be a number above 0 (got {rtt_ms!r})")
    values["protocol"] = label
    values["cc"] = _plain(protocol.cc, point, f"{where}.protocols.{label}.cc")
    values["params"] = _resolve(protocol.params, point, f"{where}.protocols.{label}.params")
    return values, rtt_ms / MS_PER_S


def expected_pkts(scenario: Scenario) -> float:
    """Packets that a fully used link would carry in one run: the unit of the run plan."""
    return scenario.capacity_bps * scenario.duration_s / (BITS_PER_BYTE * scenario.wire_bytes)


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


__all__ = ["SOURCES", "Config", "Exhibit", "Experiment", "PaperConfig", "RunSpec", "check_config", "load_paper"]
