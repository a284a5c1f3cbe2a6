"""The papers' experiments at a size that a Linux kernel in QEMU can run: ``config/guest_papers.yaml``.

The engine simulates a plan twice, with the paper's flows (`SCALED`) and as the kernel (`AS_KERNEL`); the guest runs it as the
kernel. A run that two papers share, with the same scenario and seed, is made once. The shipped files are the guest's delivered
bytes in each sample, ``data/validation/guest/papers.parquet``, and their provenance, ``papers.json``. The engine's runs are made
with the validation.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from pydantic import Field

from tcpfair.errors import InputError, check_known
from tcpfair.files.files import write_whole
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.measures import measure
from tcpfair.papers.expand import RunSpec, run_specs
from tcpfair.papers.papers import Experiment, PaperConfig, Value, load_paper, load_yaml
from tcpfair.papers.scenario import Strict, validated
from tcpfair.runs import store
from tcpfair.runs.outputs import part
from tcpfair.runs.trace import Trace
from tcpfair.sources import simulator, tables
from tcpfair.validation import campaign
from tcpfair.validation.campaign import Part
from tcpfair.validation.scenarios import ENGINE, GUEST, Selection
from tcpfair.validation.shipped import folder

KIND = "papers"  # of parts
SCALED, AS_KERNEL = "scaled", "as_kernel"  # readings of a plan
_WEIGHTED = ("nru", "stability", "convergence")  # groups of measures that need NRU weights
_BYTES = ["delivered_bytes", "received_bytes"]
_COLUMNS = ["key", "flow_id", "t_s", *_BYTES]


class Plan(Strict):
    """The values that replace those of a paper."""

    settings: dict[str, Value] = Field(default_factory=dict)
    flow: dict[str, Value] = Field(default_factory=dict)
    analysis: dict[str, Value] = Field(default_factory=dict)
    time: Value = Field(description="factor of starts and of the measured window")
    grid: dict[str, Value] = Field(default_factory=dict, description="what is left of the grids")
    experiments: dict[str, str] = Field(description="and the name under which each is given its seeds")
    seeds: str = Field(description="the paper whose seeds the runs have")
    protocols: dict[str, str] = Field(description="labels of the paper and of config/guest.yaml")
    engine_runs: Value
    guest_runs: Value = Field(description="by pattern of experiment/protocol of flow 1; the last that fits counts")


@dataclass(frozen=True)
class Scaled:
    """A paper's plan with the configurations of its readings."""

    paper: str
    plan: Plan
    whole: PaperConfig  # at full size, with the experiments and the grid of the plan
    readings: Mapping[str, PaperConfig]

    def specs(self, reading: str, experiment: str) -> list[RunSpec]:
        """The engine's runs of an experiment."""
        runs = self._runs(reading, experiment)
        if reading != AS_KERNEL:
            return runs
        return [replace(spec, scenario=simulator(GUEST).of_engine(spec.scenario)) for spec in runs]

    def _runs(self, reading: str, experiment: str) -> list[RunSpec]:
        config, name = self.readings[reading], self.plan.experiments[experiment]
        renamed = config.model_copy(update={"experiments": {name: config.experiments[experiment]}})
        return run_specs(renamed, name)

    def guest_specs(self, experiment: str) -> list[RunSpec]:
        """The guest's runs of an experiment, the first of the engine's."""
        chosen = Selection(self.plan.guest_runs.value)
        return [spec for spec in self._runs(AS_KERNEL, experiment) if chosen.wants(experiment, spec)]


def config_file(layout: Layout) -> Path:
    """The file with the plans."""
    return layout.config / "guest_papers.yaml"


def only(scaled: Scaled, names: Collection[str]) -> Scaled:
    """The plan with only some of its experiments; without measures that need weights if the self-pairs are missing."""

    def unweighted(experiment: Experiment) -> Experiment:
        if not experiment.weights or experiment.weights.experiment in names:
            return experiment
        left = [name for name in experiment.measures if name not in _WEIGHTED]
        return experiment.model_copy(update={"weights": None, "measures": left})

    def fewer(config: PaperConfig) -> PaperConfig:
        return config.model_copy(update={"experiments": {name: unweighted(config.experiments[name]) for name in names}})

    plan = scaled.plan.model_copy(update={"experiments": {name: scaled.plan.experiments[name] for name in names}})
    readings = {name: fewer(config) for name, config in scaled.readings.items()}
    return Scaled(scaled.paper, plan, fewer(scaled.whole), readings)


def complete(scaled: Scaled, runs: Collection[str]) -> list[str]:
    """The experiments whose guest runs are all in ``runs``."""
    return [name for name in scaled.plan.experiments if all(spec.key in runs for spec in scaled.guest_specs(name))]


def plans(layout: Layout) -> dict[str, Scaled]:
    """The plans by paper; none in a checkout without them. Raises InputError with one line that names file and field."""
    path = config_file(layout)
    if not path.is_file():
        return {}
    guest = load_paper(layout.guest_config)
    return {name: _scaled(layout, name, values, guest, path) for name, values in load_yaml(path).items()}


def _scaled(layout: Layout, name: str, values: object, guest: PaperConfig, path: Path) -> Scaled:
    where = f"{path.relative_to(layout.root)}: {name}"
    check_known(f"{where}: paper", [name], PAPERS)
    plan = validated(Plan, values, where)
    paper = load_paper(layout.paper_config(name))
    for what, names, known in (
        ("experiments", plan.experiments, paper.experiments),
        ("protocols", plan.protocols, paper.protocols),
        ("protocols", plan.protocols.values(), guest.protocols),
        ("analysis", plan.analysis, paper.analysis),
        ("seeds", [plan.seeds], PAPERS),
    ):
        check_known(f"{where}.{what}", names, known)
    whole = paper.model_copy(
        update={"experiments": {own: _smaller(paper.experiments[own], plan, where) for own in plan.experiments}}
    )
    for own, experiment in whole.experiments.items():
        if experiment.weights and experiment.weights.experiment not in whole.experiments:
            raise InputError(f"{where}.experiments: add {experiment.weights.experiment}, the NRU weights of {own}")
    scaled = whole.model_copy(
        update={
            **{name: getattr(whole, name) | getattr(plan, name) for name in ("settings", "flow", "analysis")},
            "experiments": {own: _timed(experiment, plan) for own, experiment in whole.experiments.items()},
        }
    )
    packets = {own: guest.settings[own] for own in ("wire_bytes", "payload_bytes")}
    as_kernel = scaled.model_copy(
        update={
            "settings": {**scaled.settings, **packets},
            "flow": guest.flow,
            "protocols": {label: guest.protocols[own] for label, own in plan.protocols.items()},
        }
    )
    return Scaled(name, plan, whole, {SCALED: scaled, AS_KERNEL: as_kernel})


def _smaller(experiment: Experiment, plan: Plan, where: str) -> Experiment:
    """An experiment with the part of its grid that is in the plan."""
    grid = {}
    for axis, values in experiment.grid.items():
        left = [value for value in values.value if axis not in plan.grid or value in plan.grid[axis].value]
        if not left:
            raise InputError(f"{where}.grid.{axis}: has no value of the paper ({', '.join(map(str, values.value))})")
        grid[axis] = values.model_copy(update={"value": left})
    return experiment.model_copy(update={"grid": grid})


def _timed(experiment: Experiment, plan: Plan) -> Experiment:
    """An experiment with starts and window of the plan, its runs and its seeds."""

    def shorter(value: Value) -> Value:
        old = value.value
        new = [plan.time.value * x for x in old] if isinstance(old, list) else plan.time.value * old
        return value.model_copy(update={"value": new})

    flows = [
        {name: shorter(own) if name == "start_s" and isinstance(own, Value) else own for name, own in flow.items()}
        for flow in experiment.flows
    ]
    seeds = {"seeds": Value(value=plan.seeds, source="config/guest_papers.yaml")}
    return experiment.model_copy(
        update={
            "flows": flows,
            "window_s": experiment.window_s and shorter(experiment.window_s),
            "runs": plan.engine_runs,
            "perturb": {**experiment.perturb, **seeds},
        }
    )


# --- Runs ---------------------------------------------------------------------------------------------------------


def engine_parts(layout: Layout, of: Mapping[str, Scaled]) -> list[Part]:
    """The engine's runs: a part for each experiment and reading of a paper."""
    return [
        _part(layout, ENGINE, paper, f"{name}_{reading}", scaled.specs(reading, name))
        for paper, scaled in of.items()
        for name in scaled.plan.experiments
        for reading in scaled.readings
    ]


def guest_parts(layout: Layout, of: Mapping[str, Scaled]) -> list[Part]:
    """The guest's runs, a part for each; one that two papers share belongs to the first."""
    found: dict[str, Part] = {}
    for paper, scaled in of.items():
        for name in scaled.plan.experiments:
            for spec in scaled.guest_specs(name):
                words = [name, *map(str, spec.point.values()), str(spec.replicate)]
                if spec.key not in found:
                    found[spec.key] = _part(layout, GUEST, paper, "_".join(words), [spec])
    return list(found.values())


def _part(layout: Layout, backend: str, experiment: str, label: str, specs: list[RunSpec]) -> Part:
    made_from = {"scenarios": part([spec.key for spec in specs])}
    made_from |= (
        {"code": part(store.code_behind(store.asked(specs)))} if backend == ENGINE else campaign.provenance(GUEST)
    )
    return Part(KIND, backend, experiment, label, tuple(specs), (), campaign.store_of(layout), made_from)


def parts(layout: Layout, of: Mapping[str, Scaled], backend: str) -> list[Part]:
    """All runs of the engine or of the guest."""
    return (engine_parts if backend == ENGINE else guest_parts)(layout, of)


def make(scaled: Scaled, wanted: Part) -> None:
    """Run a part and store the bytes that its flows delivered."""
    config = scaled.readings[AS_KERNEL]
    trace = simulator(wanted.backend).simulate_runs(config, next(iter(config.experiments)), wanted.specs)
    keys = {spec.run_id: spec.key for spec in wanted.specs}
    wanted.keep(trace.samples.assign(key=trace.samples["run_id"].map(keys))[_COLUMNS], pd.DataFrame())


# --- Shipped results ----------------------------------------------------------------------------------------------


def files(layout: Layout) -> tuple[Path, Path]:
    """The files with the guest's delivered bytes, and with their provenance."""
    place = folder(layout, GUEST)
    return place / "papers.parquet", place / "papers.json"


def restore(layout: Layout, wanted: Collection[Part]) -> None:
    """Store the shipped runs of the guest as parts, if the current code and tools would make the same."""
    samples, about = shipped(layout)
    if any(about.get(name) != value for name, value in campaign.provenance(GUEST).items()):
        return
    of_key = dict(list(samples.groupby("key")))
    for each in wanted:
        own = [of_key[spec.key] for spec in each.specs if spec.key in of_key]
        if len(own) == len(each.specs) and not each.is_kept():
            each.keep(pd.concat(own, ignore_index=True), pd.DataFrame())


def ship(layout: Layout, parts: Collection[Part]) -> None:
    """Write the guest's runs to ``data``, the provenance last."""
    samples, about = files(layout)
    found = pd.concat([each.kept().runs for each in parts], ignore_index=True)
    write_whole(samples, found.sort_values(["key", "flow_id", "t_s"]).to_parquet(index=False, compression="zstd"))
    said = {**campaign.provenance(GUEST), "runs": sorted({spec.key for each in parts for spec in each.specs})}
    write_whole(about, json.dumps(said, indent=1) + "\n")


def shipped(layout: Layout) -> tuple[pd.DataFrame, dict]:
    """The results of `ship`; no rows if they are missing."""
    samples, about = files(layout)
    if not about.is_file():
        return pd.DataFrame(columns=_COLUMNS), {}
    return pd.read_parquet(samples), json.loads(about.read_text())


# --- Metrics ------------------------------------------------------------------------------------------------------


def metrics(
    config: PaperConfig, specs_of: Mapping[str, list[RunSpec]], samples: pd.DataFrame, backend: str
) -> dict[str, pd.DataFrame]:
    """The metrics of each experiment, as for the paper's own runs, from the delivered bytes; weights come first."""
    found: dict[str, pd.DataFrame] = {}
    for name in sorted(specs_of, key=lambda name: config.experiments[name].weights is not None):
        weights = config.experiments[name].weights
        trace = _trace(config, name, specs_of[name], samples, backend)
        found[name] = measure(trace, config, name, found[weights.experiment] if weights else None)
    return found


def _trace(config: PaperConfig, name: str, specs: list[RunSpec], samples: pd.DataFrame, backend: str) -> Trace:
    run_ids = {spec.key: spec.run_id for spec in specs}
    own = samples[samples["key"].isin(run_ids)]
    lacking = set(run_ids) - set(own["key"])
    if lacking:
        raise InputError(f"{config.paper}/{name}: {len(lacking)} of {len(run_ids)} runs are missing")
    return Trace(
        pd.concat([tables.runs(config.paper, name, spec, backend) for spec in specs], ignore_index=True),
        pd.concat([tables.flows(spec) for spec in specs], ignore_index=True),
        own.assign(run_id=own["key"].map(run_ids).astype("int32")).drop(columns="key"),
        provenance={"grid": list(config.experiments[name].grid)},
    )
