"""The ensemble: every paper under many settings of its unstated parameters (``config/ensemble.yaml``).

A *member* is one setting of all assumptions of a paper (`tcpfair.papers.settings`), as published or under a *hypothesis*:
a named way in which the experiments may have differed from their description in the paper. Each member simulates the
paper's experiments in a few perturbed runs and stores only metrics. A hypothesis that changes only which published numbers
are judged, or which metrics they are compared with, needs no simulation: it reads the members as published.

*Further runs* are an ensemble without drawn values: each setting is one more run of every point of some experiments, as
configured. Claims are decided on them together with the runs whose traces are stored.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field, model_validator

from tcpfair.errors import InputError, check_known
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers import settings
from tcpfair.papers.expand import RunSpec, expected_pkts, plain_values, run_specs
from tcpfair.papers.papers import Experiment, PaperConfig, Value, load_model, load_paper
from tcpfair.papers.scenario import Strict, validated
from tcpfair.papers.settings import BASE, Assumption
from tcpfair.runs import code
from tcpfair.runs.outputs import Parts, part

if TYPE_CHECKING:
    import pandas as pd

AS_PRINTED = ""  # in the place of a hypothesis: the paper as published
FURTHER = "_runs"  # suffix of the name of an ensemble of further runs
# distance between the replicate numbers of two settings, so that no two settings share perturbations; the base setting has
# the first ones, those of the paper's exhibits
_REPLICATES_APART = 1000
_UNIT_PKTS = 600e6  # approximate size of experiments that are simulated together: 20 s of one core


class Change(Strict):
    """A change of some experiments under a hypothesis, at some points of their grids (``where``; empty = at all).

    ``protocols`` gives a label the meaning of another one; ``settings``, ``flow`` and ``perturb`` replace the values of
    those names. ``metrics`` changes no run: another metric of the experiments is read instead.
    """

    experiments: list[str] = Field(min_length=1)
    where: dict[str, list[Any]] = Field(default_factory=dict)
    protocols: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    flow: dict[str, Any] = Field(default_factory=dict)
    perturb: dict[str, Any] = Field(default_factory=dict)
    metrics: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _metrics_everywhere(self) -> Change:
        if self.metrics and (self.where or self.changes_runs):
            raise ValueError("`metrics:` applies to all points of the experiments; list it as a separate change")
        return self

    @property
    def changes_runs(self) -> bool:
        return any((self.protocols, self.settings, self.flow, self.perturb))

    @property
    def plain(self) -> dict[str, Any]:
        """The values that identify it as a change of runs."""
        return self.model_dump(exclude={"metrics"} | (set() if self.perturb else {"perturb"}))

    def applies(self, experiment: str, point: Mapping[str, Any]) -> bool:
        """Whether it changes an experiment at one point of its grid."""
        return experiment in self.experiments and all(point[name] in values for name, values in self.where.items())


class Numbers(Strict):
    """A selection of a paper's published numbers by exhibit, protocol and RTT; an empty list selects all."""

    exhibits: list[str] = Field(default_factory=list)
    protocols: list[str] = Field(default_factory=list)
    rtt_ms: list[float] = Field(default_factory=list)

    @property
    def are_some(self) -> bool:
        """Whether any list is given."""
        return bool(self.exhibits or self.protocols or self.rtt_ms)

    def has(self, exhibit: str, key: Mapping[str, str]) -> bool:
        """Whether a published number is selected."""
        chosen = [(self.exhibits, exhibit), (self.protocols, key.get("protocol"))]
        chosen.append((self.rtt_ms, float(key.get("rtt_ms", "nan"))))
        return all(not named or own in named for named, own in chosen)

    @property
    def in_words(self) -> str:
        """``table5, table6``, ``table5 for BIC`` or ``25, 50 ms``."""
        named = ", ".join(name.partition(".")[2] for name in self.exhibits) or "all"
        of = f" for {', '.join(self.protocols)}" if self.protocols else ""
        at = f" at {', '.join(f'{rtt_ms:g}' for rtt_ms in self.rtt_ms)} ms" if self.rtt_ms else ""
        return f"{named}{of}{at}".removeprefix("all at ")


class Excluded(Numbers):
    """Published numbers that are not judged under a hypothesis, and why."""

    reason: str = Field(min_length=1)

    @model_validator(mode="after")
    def _some(self) -> Excluded:
        if not self.are_some:
            raise ValueError("name the numbers by `exhibits:`, `protocols:` or `rtt_ms:`")
        return self


class Hypothesis(Strict):
    """A reading of the paper: the base setting and the first ``settings`` drawn ones are simulated with its changes."""

    what: str
    settings: int = Field(default=0, ge=0)
    changes: list[Change] = Field(default_factory=list)
    excluded: list[Excluded] = Field(default_factory=list)
    all_of: list[str] = Field(default_factory=list, description="other hypotheses, whose changes it combines")
    needs: list[str] = Field(
        default_factory=list, description="conditions that the build checks: `tcpfair.verdicts.readings.CONDITIONS`"
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Hypothesis:
        if bool(self.changes or self.excluded) == bool(self.all_of):
            raise ValueError("give either `changes:` and `excluded:`, or `all_of:`, the names of other hypotheses")
        return self


class Reading(NamedTuple):
    """All changes of a hypothesis, including those of the hypotheses that it combines (``all_of``)."""

    changes: list[Change]  # of runs
    metrics: dict[tuple[str, str], str]  # experiment, metric -> the metric that is read instead
    excluded: list[Excluded]


class Fitted(Numbers):
    """The numbers from which a testbed is inferred: some of the paper's own, or all compared ones of another ``paper``."""

    paper: str = ""

    @model_validator(mode="after")
    def _own_or_all(self) -> Fitted:
        if self.paper and self.are_some:
            raise ValueError("another `paper:` is fitted with all its numbers; select numbers only of the same paper")
        return self


class Predicted(Numbers):
    """The numbers that the testbed should predict, under one hypothesis."""

    hypothesis: str = AS_PRINTED


class HeldOut(Strict):
    """A check of the inferred testbed: its predictions of numbers that it was not inferred from."""

    fit: Fitted
    predict: Predicted


class PaperEnsemble(Strict):
    """How the ensemble of one paper is drawn and simulated."""

    settings: int = Field(ge=0, description="drawn settings, in addition to the configured one")
    replicates: int = Field(ge=1, le=_REPLICATES_APART, description="perturbed runs at each point of a grid")
    seed: int = Field(ge=0)
    left_out: dict[str, str] = Field(default_factory=dict, description="experiments that are not simulated, and why")
    replicates_of: dict[str, int] = Field(default_factory=dict, description="replicates of experiments that differ")
    held: dict[str, str] = Field(default_factory=dict, description="assumptions that stay as configured, and why")
    flow: dict[str, Value] = Field(
        default_factory=dict, description="values of every flow that replace the paper's own, and why"
    )
    tied: list[list[str]] = Field(default_factory=list, description="assumptions that are drawn as one")
    hypotheses: dict[str, Hypothesis] = Field(default_factory=dict)
    held_out: list[HeldOut] = Field(default_factory=list, description="checks of the inferred testbed")
    second_reference: str = Field(
        default="", description="another paper, whose inferred testbed is shown as a reference"
    )

    def reading(self, hypothesis: str) -> Reading:
        """The changes of a hypothesis; none for the paper as published."""
        if hypothesis == AS_PRINTED:
            return Reading([], {}, [])
        named = self.hypotheses[hypothesis]
        parts = [named, *(self.hypotheses[name] for name in named.all_of)]
        changes = [change for part in parts for change in part.changes]
        metrics = {
            (name, metric): other
            for change in changes
            for name in change.experiments
            for metric, other in change.metrics.items()
        }
        of_runs = [change for change in changes if change.changes_runs]
        return Reading(of_runs, metrics, [numbers for part in parts for numbers in part.excluded])

    @property
    def inferred_from(self) -> list[str]:
        """The other papers from whose numbers a testbed is inferred for this one."""
        named = [self.second_reference, *(check.fit.paper for check in self.held_out)]
        return sorted({name for name in named if name})


class FurtherRuns(Strict):
    """Runs of a paper as configured, in addition to the stored traces: ``runs`` of every point of these experiments."""

    runs: int = Field(ge=1, le=_REPLICATES_APART)
    experiments: list[str] = Field(min_length=1)


class Judging(Strict):
    """How ensemble results are compared with published values; shares are of the settings, unless stated otherwise."""

    inside: tuple[float, float] = Field(
        description="quantiles of the settings between which a published number counts as inside"
    )
    with_table: float = Field(gt=0, le=1, description="share of an exhibit that one setting must have with a number")
    far: float = Field(gt=0, allow_inf_nan=False, description="largest distance in tolerances; more counts as this")
    accepted: float = Field(gt=0, le=1, description="share of the nearest settings, from which a testbed is inferred")
    least_effective: float = Field(ge=1, description="effective settings, below which no interval is given")
    least_share: float = Field(gt=0, le=0.5, description="share on either side of a split")
    chance: float = Field(gt=0, lt=1, description="of as sharp a split, above which an assumption decides nothing")

    @model_validator(mode="after")
    def _in_order(self) -> Judging:
        low, high = self.inside
        if not 0 <= low < high <= 1:
            raise ValueError(f"inside: must be two shares, the smaller first (got [{low:g}, {high:g}])")
        return self


class EnsembleConfig(Strict):
    """``config/ensemble.yaml``."""

    judging: Judging
    papers: dict[str, PaperEnsemble]
    further_runs: dict[str, FurtherRuns] = Field(default_factory=dict)
    words: dict[str, str] = Field(
        default_factory=dict, description="phrase for an assumption, by its last name; {} is the value"
    )

    @model_validator(mode="after")
    def _known_papers(self) -> EnsembleConfig:
        for field in ("papers", "further_runs"):
            for name in getattr(self, field):
                if name not in PAPERS:
                    raise ValueError(f"{field}.{name}: must be one of {', '.join(PAPERS)}")
        for name, plan in self.papers.items():
            for other in plan.inferred_from:
                if other not in PAPERS or other == name:
                    others = [paper for paper in PAPERS if paper != name]
                    raise ValueError(f"papers.{name}: testbed of {other!r}: must be one of {', '.join(others)}")
        for name, text in self.words.items():
            if text.count("{}") != 1:
                raise ValueError(f"words.{name}: must have {{}} once, in the place of the value (got {text!r})")
        return self

    @property
    def names(self) -> list[str]:
        """Names of all ensembles: ``ogura``, and ``ogura_runs`` for further runs."""
        return [*self.papers, *(f"{paper}{FURTHER}" for paper in self.further_runs)]

    def in_words(self, assumption: str, value: str) -> str:
        """``flow.rwnd_pkts`` and ``above 2100`` as ``a receive window above 2100 packets``; without a phrase, the bare name."""
        return self.words.get(assumption.rpartition(".")[2], f"{assumption} {{}}").format(value)


def digits(x: float) -> str:
    """Three significant digits; between 1000 and a million all digits, without an exponent."""
    return f"{x:.0f}" if 1000 <= abs(x) < 1e6 else f"{x:.3g}"


def load(path: Path) -> EnsembleConfig:
    """Read and validate ``config/ensemble.yaml``. Raises InputError with one line naming file and field."""
    return load_model(path, EnsembleConfig)


# --- Members ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """One setting of a paper, as published or under a hypothesis."""

    ensemble: Ensemble
    hypothesis: str
    setting: int

    @property
    def name(self) -> str:
        """``0012``, ``H1/0012``: its name among the stored files."""
        return f"{self.hypothesis}/{self.setting:04d}".lstrip("/")

    @cached_property
    def config(self) -> PaperConfig:
        """The paper's configuration under this setting, without the changes of the hypothesis."""
        row = self.ensemble.configured if self.setting == BASE else self.ensemble.table.loc[self.setting]
        drawn = settings.with_values(self.ensemble.paper, self.ensemble.assumptions, row)
        return drawn.model_copy(update={"flow": {**drawn.flow, **self.ensemble.plan.flow}})

    def specs(self, experiment: str) -> list[RunSpec]:
        """The runs of an experiment. Raises InputError for an invalid value."""
        first = self.setting * _REPLICATES_APART
        changes = [each for each in self.ensemble.changes(self.hypothesis) if experiment in each.experiments]
        specs = run_specs(self.config, experiment, first)
        changed: dict[tuple[int, ...], list[RunSpec]] = {(): specs}
        for place, spec in enumerate(specs):
            acting = tuple(i for i, change in enumerate(changes) if change.applies(experiment, spec.point))
            if acting not in changed:
                config = functools.reduce(lambda paper, i: _changed(paper, experiment, changes[i]), acting, self.config)
                changed[acting] = run_specs(config, experiment, first)
            specs[place] = changed[acting][place]
        return specs

    @property
    def made_from(self) -> Parts:
        """Digests of the inputs of its metrics."""
        changes = [change.plain for change in self.ensemble.changes(self.hypothesis)]
        of = plain_values(self.ensemble.configured) if self.setting == BASE else self.ensemble.drawn_from
        return {
            "configuration": self.ensemble.configuration,
            "runs": self.ensemble.runs,
            "setting": part([self.setting, of, changes]),
            "code": self.ensemble.code,
        }


class Size(NamedTuple):
    """An amount of simulation: runs, and the packets that full links would carry in them."""

    runs: int
    pkts: float


@dataclass(frozen=True)
class Ensemble:
    """All members of one paper."""

    name: str
    paper: PaperConfig  # the experiments that are simulated, with the ensemble's replicates as runs
    plan: PaperEnsemble
    assumptions: tuple[Assumption, ...]

    @property
    def experiments(self) -> list[str]:
        """Names of the simulated experiments, each after the one that its NRU weights come from."""
        own = self.paper.experiments
        weights = {each.weights.experiment for each in own.values() if each.weights}
        return sorted(own, key=lambda name: name not in weights)

    @cached_property
    def units(self) -> list[list[str]]:
        """Groups of experiments that are simulated together, each with the experiments that its NRU weights come from.

        Groups are short, because a kill loses the current one.
        """
        chains: dict[str, list[str]] = {}
        for name in self.experiments:
            weights = self.paper.experiments[name].weights
            chains.setdefault(weights.experiment if weights else name, []).append(name)
        found: list[list[str]] = []
        free = 0.0
        for chain in chains.values():
            pkts = sum(self.sizes[name].pkts for name in chain)
            if not found or pkts > free:
                found.append([])
                free = _UNIT_PKTS
            found[-1] += chain
            free -= pkts
        return found

    @cached_property
    def sizes(self) -> dict[str, Size]:
        """The size of each experiment in one member, as configured."""
        specs = {name: run_specs(self.paper, name) for name in self.experiments}
        return {name: Size(len(own), sum(expected_pkts(spec.scenario) for spec in own)) for name, own in specs.items()}

    def size_of(self, hypotheses: Iterable[str], experiments: Iterable[str]) -> Size:
        """The size of experiments in all members of one setting, which simulate equal runs once."""
        members = [Member(self, name, BASE) for name in hypotheses]
        specs = {spec.key: spec for name in experiments for member in members for spec in member.specs(name)}
        return Size(len(specs), sum(expected_pkts(spec.scenario) for spec in specs.values()))

    @cached_property
    def table(self) -> pd.DataFrame:
        """The drawn settings, a row each, a column per assumption (`settings.draw`)."""
        return settings.draw(self.assumptions, self.plan.settings, self.plan.seed)

    @property
    def configured(self) -> dict[str, Any]:
        """The configured values of its assumptions."""
        return {each.name: each.value for each in self.assumptions}

    @property
    def drawn_from(self) -> list[Any]:
        """The seed and the ranges, in which every drawn setting is fixed: drawing needs SciPy, whose import takes a second."""
        ranges = [
            [each.name, each.kind, each.scale, each.choices or (each.low, each.high)] for each in self.assumptions
        ]
        return [self.plan.seed, plain_values(ranges)]

    def members(self, n_settings: int | None = None) -> list[Member]:
        """Every member, those as published first; with ``n_settings`` only the first drawn settings."""
        n = self.plan.settings if n_settings is None else min(n_settings, self.plan.settings)
        first = BASE + 1 if self.name.endswith(FURTHER) else BASE  # the runs of the base setting are stored as traces
        found = [Member(self, AS_PRINTED, setting) for setting in range(first, n + 1)]
        for name in self.simulated:
            most = min(self.plan.hypotheses[name].settings, n)
            found += [Member(self, name, setting) for setting in range(BASE, most + 1)]
        return found

    def changes(self, hypothesis: str) -> list[Change]:
        """The changes that a hypothesis makes to runs, in order."""
        return self.plan.reading(hypothesis).changes

    @property
    def simulated(self) -> list[str]:
        """The hypotheses that change runs; the others read the members as published."""
        return [name for name in self.plan.hypotheses if self.changes(name)]

    @cached_property
    def configuration(self) -> str:
        """Digest of all values that are not drawn, including how runs are measured."""
        drawn = dict.fromkeys(self.configured, 0)
        values = plain_values(settings.with_values(self.paper, self.assumptions, drawn))
        return part({name: value for name, value in values.items() if name not in ("cite", "exhibits")})

    @cached_property
    def runs(self) -> str:
        """Digest of the runs of the base setting, as published and under each hypothesis.

        They represent the runs of all members, which would take a minute to expand: a change in the expansion changes some
        of these.
        """
        sample = [Member(self, name, BASE) for name in (AS_PRINTED, *self.simulated)]
        return part([_keys(member, name) for member in sample for name in self.experiments])

    @cached_property
    def code(self) -> str:
        """Digest of the code that simulates and measures."""
        named = {each.cc.value for each in self.paper.protocols.values() if isinstance(each.cc, Value)}
        for each in self.assumptions:
            if any(place[-1] == "cc" for place in each.places):
                named |= set(each.choices)
        # metrics of a trace, and their means
        return part([code.of_algorithms(named), code.of_measuring("groups.py", "replicates.py")])


def _keys(member: Member, experiment: str) -> list[str]:
    """The keys of a member's runs of an experiment; none if its values are invalid."""
    try:
        return [spec.key for spec in member.specs(experiment)]
    except InputError:
        return []


def paper_of(name: str) -> str:
    """The paper of an ensemble."""
    return name.removesuffix(FURTHER)


def named(layout: Layout, name: str) -> Ensemble:
    """An ensemble of the checkout's configuration. Raises InputError, naming file and field, for an invalid value."""
    return ensemble_of(load(layout.ensemble_config), load_paper(layout.paper_config(paper_of(name))), name)


def ensemble_of(config: EnsembleConfig, paper: PaperConfig, name: str = "") -> Ensemble:
    """An ensemble of one paper, by default that of its assumptions.

    Raises InputError, naming file and field, for an unknown name.
    """
    name, where = name or paper.paper, "config/ensemble.yaml"
    check_known(f"{where}: papers: paper", [name], config.names)
    if name.endswith(FURTHER):
        return _further_runs(config.further_runs[paper.paper], paper, f"{where}: further_runs.{paper.paper}.")
    plan, at = config.papers[paper.paper], f"{where}: papers.{paper.paper}."
    own = [name for name, experiment in paper.experiments.items() if not experiment.supplement]
    for field in ("left_out", "replicates_of"):
        check_known(f"{at}{field}: experiment", getattr(plan, field), own)
    kept = [experiment for experiment in own if experiment not in plan.left_out]
    used = _with_replicates(paper, kept, plan, f"{at}left_out")
    assumptions = settings.assumptions_of(used, plan.held, plan.tied, at)
    found = Ensemble(name, used, plan, tuple(assumptions))
    for hypothesis in plan.hypotheses:
        _check(found, paper, hypothesis, f"{at}hypotheses.{hypothesis}")
    for check in plan.held_out:
        if check.predict.hypothesis != AS_PRINTED:
            check_known(f"{at}held_out: hypothesis", [check.predict.hypothesis], plan.hypotheses)
        for numbers in (check.fit, check.predict):
            _check_numbers(numbers, paper, f"{at}held_out: ")
    return found


def _check_numbers(numbers: Numbers, paper: PaperConfig, at: str) -> None:
    """Refuse numbers of an unknown exhibit or protocol."""
    check_known(f"{at}exhibit", numbers.exhibits, [exhibit.id for exhibit in paper.exhibits])
    check_known(f"{at}protocol", numbers.protocols, paper.protocols)


def _further_runs(asked: FurtherRuns, paper: PaperConfig, at: str) -> Ensemble:
    check_known(f"{at}experiments: experiment", asked.experiments, paper.experiments)
    plan = PaperEnsemble(settings=asked.runs, replicates=1, seed=0)
    used = _with_replicates(paper, asked.experiments, plan, f"{at}experiments")
    return Ensemble(f"{paper.paper}{FURTHER}", used, plan, ())


def _with_replicates(paper: PaperConfig, experiments: list[str], plan: PaperEnsemble, where: str) -> PaperConfig:
    """A paper with only some of its experiments, and the replicates of an ensemble as their runs."""
    used = settings.part_used(paper, experiments)
    for name, experiment in used.experiments.items():
        runs = plan.replicates_of.get(name, plan.replicates)
        update = {"runs": Value(value=runs, source="the ensemble's replicates")}
        if experiment.weights and experiment.weights.experiment not in used.experiments:
            raise InputError(f"{where}: {experiment.weights.experiment}: the NRU weights of {name} come from it")
        used.experiments[name] = experiment.model_copy(update=update)
    return used


def _check(ensemble: Ensemble, paper: PaperConfig, name: str, where: str) -> None:
    """Refuse a hypothesis with an unknown name or an invalid value."""
    hypothesis = ensemble.plan.hypotheses[name]
    simple = [name for name, each in ensemble.plan.hypotheses.items() if not each.all_of]
    check_known(f"{where}.all_of: hypothesis", hypothesis.all_of, simple)
    for numbers in hypothesis.excluded:
        _check_numbers(numbers, paper, f"{where}.excluded: ")
    for change in hypothesis.changes:
        if change.metrics:
            check_known(f"{where}: experiment", change.experiments, paper.experiments)
    if hypothesis.settings and not ensemble.changes(name):
        raise InputError(f"{where}.settings: it changes no run, so none are simulated; remove it")
    for change in ensemble.changes(name):
        check_known(f"{where}: experiment", change.experiments, ensemble.paper.experiments)
        for experiment in change.experiments:
            grid = ensemble.paper.experiments[experiment].grid
            check_known(f"{where}.where: grid variable of {experiment}", change.where, grid)
            for axis, values in change.where.items():
                check_known(f"{where}.where.{axis}: value", values, grid[axis].value)
        labels = [*change.protocols, *change.protocols.values()]
        check_known(f"{where}.protocols: protocol", labels, ensemble.paper.protocols)
        for experiment in change.experiments:
            _changed(ensemble.paper, experiment, change, where)


def _changed(paper: PaperConfig, experiment: str, change: Change, where: str = "hypothesis") -> PaperConfig:
    """A paper's configuration with one change of a hypothesis, for one experiment. Raises InputError for a wrong value."""
    own = dict(paper.experiments[experiment])
    for field in ("settings", "flow", "perturb"):
        values = {name: Value(value=value, source="hypothesis") for name, value in getattr(change, field).items()}
        own[field] = {**own[field], **values}
    protocols = {**paper.protocols, **{label: paper.protocols[other] for label, other in change.protocols.items()}}
    experiments = {**paper.experiments, experiment: validated(Experiment, own, where)}
    return paper.model_copy(update={"protocols": protocols, "experiments": experiments})
