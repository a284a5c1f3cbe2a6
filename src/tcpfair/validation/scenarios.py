"""The runs of ``config/validation.yaml``, ``testbed.yaml`` and ``guest.yaml`` that each simulator makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from tcpfair.errors import InputError, check_known
from tcpfair.files.layout import Layout
from tcpfair.papers.expand import RunSpec, run_specs
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.papers.scenario import Scenario, make_scenario
from tcpfair.runs.outputs import part
from tcpfair.sources import simulator
from tcpfair.validation import drawn
from tcpfair.validation.measures import DUMBBELL, MEASURES

ENGINE = "engine"
TOOLS = ("ns2", "ns3")
TESTBED = "testbed"  # a real kernel, which has other scenarios
GUEST = "guest"  # a kernel in virtual time, which also has separate scenarios
TITLES = {ENGINE: "engine", "ns2": "ns-2", "ns3": "ns-3", TESTBED: "Linux", GUEST: "Linux in QEMU"}
WHOLE, QUICK, KERNEL = "whole", "quick", "kernel"  # kinds of validation, with GUEST
KINDS = {WHOLE: TOOLS, KERNEL: (TESTBED,), GUEST: (GUEST,)}  # the simulators of each, besides the engine

Window = tuple[float, float]


@dataclass(frozen=True)
class Selection:
    """The runs that a simulator makes: replicates by pattern of experiment/algorithm (the last match counts), shortened to
    ``duration_s``; the window in which they are measured, if not that of the experiment; and what changes a scenario for this
    simulator only."""

    replicates: Mapping[str, int]
    duration_s: float | None = None
    window_s: Window | None = None
    own: Callable[[Scenario], Scenario] | None = None

    def specs(self, config: PaperConfig, experiment: str) -> list[RunSpec]:
        """The selected runs of an experiment. A shortened run is the beginning of the full one, with the same starts."""
        of_config = drawn.specs if drawn.is_drawn(config, experiment) else run_specs
        return [self._fitted(spec) for spec in of_config(config, experiment) if self.wants(experiment, spec)]

    def by_label(self, config: PaperConfig, experiment: str) -> dict[str, list[RunSpec]]:
        """`specs` by `label_of`."""
        found: dict[str, list[RunSpec]] = {}
        for spec in self.specs(config, experiment):
            found.setdefault(label_of(spec), []).append(spec)
        return found

    def wants(self, experiment: str, spec: RunSpec) -> bool:
        """Whether a run of an experiment is selected."""
        name = f"{experiment}/{label_of(spec)}"
        fitting = [count for pattern, count in self.replicates.items() if fnmatch(name, pattern)]
        return bool(fitting) and spec.replicate < fitting[-1]

    def _fitted(self, spec: RunSpec) -> RunSpec:
        if self.own:
            spec = replace(spec, scenario=self.own(spec.scenario))
        if self.duration_s is None or self.duration_s >= spec.scenario.duration_s:
            return spec
        return replace(spec, scenario=spec.scenario.model_copy(update={"duration_s": self.duration_s}))

    def window(self, config: PaperConfig, experiment: str) -> Window:
        """Start and end of the time in which the experiment is measured, in s."""
        own = self.window_s or config.experiments[experiment].window_s.value
        return float(own[0]), float(own[1])


def label_of(spec: RunSpec) -> str:
    """The label of a run: the drawn dumbbell, or the algorithm of its first flow."""
    return spec.point.get(DUMBBELL, spec.scenario.flows[0].protocol)


def load(path: Path) -> PaperConfig:
    """The configuration of the validation. Raises InputError for experiments that cannot be measured."""
    config = load_paper(path)
    for name, experiment in config.experiments.items():
        where = f"{config.place}: experiments.{name}"
        if experiment.window_s is None:
            raise InputError(f"{where}.window_s: is missing; give [begin, end] in s")
        check_known(f"{where}.measures:", experiment.measures, MEASURES)
    drawn_protocols = config.analysis_or("drawn_protocols", [])
    check_known(f"{config.place}: analysis.drawn_protocols:", drawn_protocols, config.protocols)
    return config


def config_of(layout: Layout, kind: str) -> PaperConfig:
    """The configuration of a kind of validation. Raises InputError as `load` does."""
    return load(config_file(layout, kind))


def config_file(layout: Layout, kind: str) -> Path:
    """The file with the scenarios of a kind of validation."""
    return {KERNEL: layout.testbed_config, GUEST: layout.guest_config}.get(kind, layout.validation_config)


def kind_of(tool: str) -> str:
    """The kind of validation that a simulator takes part in with all of its runs."""
    return next(kind for kind, tools in KINDS.items() if tool in tools)


def tools_of(config: PaperConfig) -> tuple[str, ...]:
    """The simulators that a configuration has runs for, besides the engine."""
    return tuple(tool for tool in (*TOOLS, TESTBED, GUEST) if f"{tool}_runs" in config.analysis)


def whole(config: PaperConfig, backend: str) -> Selection:
    """The runs of a simulator for the comparison; the engine makes all."""
    if backend == ENGINE:
        most = max(int(e.runs.value) for e in config.experiments.values())
        flow = config.analysis_or("engine_flow", {})
        own = simulator(GUEST).of_engine if GUEST in tools_of(config) else partial(_with_flow, flow) if flow else None
        return Selection({"*": most}, own=own)
    window_s = config.analysis_or(f"{backend}_window_s")
    return Selection(
        config.analysis_value(f"{backend}_runs"),
        config.analysis_or(f"{backend}_duration_s"),
        tuple(window_s) if window_s else None,
    )


def _with_flow(flow: Mapping[str, Any], scenario: Scenario) -> Scenario:
    """A scenario whose flows all have some fields."""
    flows = [{**own.model_dump(), **flow} for own in scenario.flows]
    return make_scenario({**scenario.model_dump(), "flows": flows}, "config/validation.yaml: engine_flow")


def stack_of(config: PaperConfig) -> str:
    """The stack of the engine's flows in the comparison, for statements of agreement: ``stack: ns2``."""
    of_all = config.flow["stack"].value if "stack" in config.flow else "text"
    return f"stack: {config.analysis_or('engine_flow', {}).get('stack', of_all)}"


def quick(config: PaperConfig) -> Selection:
    """A few short runs, to check that a simulator works and is roughly right."""
    value = config.analysis_value
    replicates = {f"{name}/{label}": 1 for name in value("quick_experiments") for label in value("quick_algorithms")}
    return Selection(replicates, value("quick_duration_s"), tuple(value("quick_window_s")))


def chosen(config: PaperConfig, kind: str, backend: str) -> Selection:
    """The runs of a simulator for a kind of validation."""
    return quick(config) if kind == QUICK else whole(config, backend)


def windows(config: PaperConfig, kind: str, backend: str, experiment: str) -> tuple[Window, ...]:
    """The windows in which an experiment is measured: its own and, for the engine, those of the compared simulators."""
    found = [chosen(config, kind, backend).window(config, experiment)]
    if backend == ENGINE:
        others = [chosen(config, kind, tool) for tool in tools_of(config)]
        found += [other.window(config, experiment) for other in others if other.specs(config, experiment)]
    return tuple(dict.fromkeys(found))


def digests_of(config: PaperConfig, experiment: str, selection: Selection) -> dict[str, str]:
    """For each algorithm of an experiment, a hash of all inputs of its results except the simulator: scenarios, window,
    measures, points of a curve."""
    value = config.analysis_value
    measured = [
        selection.window(config, experiment),
        config.experiments[experiment].measures,
        value("whole_epochs_share"),
        value("curve_points") if experiment in value("curve_experiments") else 0,
    ]
    of_label = selection.by_label(config, experiment)
    return {label: part([[spec.scenario.digest for spec in own], measured]) for label, own in of_label.items()}
