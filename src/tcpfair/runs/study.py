"""A user's study (``./reproduce study FILE.yaml``): a base scenario, and axes along which its values vary.

The file has plain values, without sources and reasons; ``=name`` takes the value of the axis ``name``. Axes form a grid, a
Latin hypercube, or both. With both, every point of the hypercube is combined with every point of the grid, so that the grid
compares, for example, protocols under equal conditions.

A run is identified by its number: points in order, replicates within each. `Study.spec` expands any run without the others,
so each job of a study with a million runs expands only its own. Seeds depend only on the point and the replicate, so a longer
grid does not change existing runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from tcpfair.errors import InputError, check_known
from tcpfair.papers.expand import RunSpec, places_of, scenario_at, seed_of
from tcpfair.papers.papers import Experiment, MeasureValues, PaperConfig, Perturbation, Scale, Value, load_yaml
from tcpfair.papers.scenario import Direction, Strict, validated
from tcpfair.papers.settings import Assumption, drawn_between
from tcpfair.runs import code
from tcpfair.runs.outputs import Parts, part

STUDY = "study"  # the name of a study's paper and of its experiment
FIXED_COLUMNS = ("run", "key", "seed", "replicate", "refused")  # of the table of metrics, before the axes and metrics
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_AXIS = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_REFERENCE = "="
# by group of measures: the records that it reads besides samples; None if it needs another experiment, which a study lacks
Reads = Mapping[str, tuple[str, ...] | None]
_CODE_OF = "code of "
_VALUES_TRIED, _DRAWN_TRIED = 1000, 20  # values of a grid axis and points of the hypercube that are checked at first
_LARGEST = 2**63  # whole numbers beyond it have no column in the table


class Protocol(Strict):
    """A named protocol: the algorithm, its parameters, settings of its end hosts."""

    cc: str
    params: dict[str, Any] = Field(default_factory=dict)
    flow: dict[str, Any] = Field(default_factory=dict)


class Background(Strict):
    """Background traffic in one direction; the label ``none`` means no traffic."""

    traffic: str
    direction: Direction = "forward"


class Base(Strict):
    """What all runs share, except the axes: settings of the dumbbell, of all flows, and of each flow."""

    settings: dict[str, Any]
    flow: dict[str, Any] = Field(default_factory=dict)
    flows: list[dict[str, Any]] = Field(min_length=1, max_length=100)
    background: list[Background] = Field(default_factory=list, max_length=100)


class Drawn(Strict):
    """The range of an axis of the hypercube, drawn like those of the papers' assumptions."""

    range: list[float | int | str | bool] = Field(min_length=2)
    scale: Scale = "linear"


class LatinHypercube(Strict):
    """Points that fill the space of some axes evenly: each of the ``points`` slices of an axis has one point."""

    points: int = Field(ge=1, le=100_000_000)
    seed: int = Field(default=0, ge=0)
    axes: dict[str, Drawn] = Field(min_length=1)


class Figure(Strict):
    """The summary figure: a metric along an axis, a line for each value of one axis, a panel for each of another."""

    x: str | None = None
    y: str | None = None
    lines: str | None = None
    panels: str | None = None


class StudyFile(Strict):
    """The content of a study's file."""

    what: str
    base: Base
    protocols: dict[str, Protocol] = Field(default_factory=dict)
    traffic: dict[str, dict[str, Any]] = Field(default_factory=dict)
    analysis: dict[str, float | int | str | bool] = Field(default_factory=dict, description="see MeasureValues")
    grid: dict[str, list[float | int | str | bool]] = Field(default_factory=dict)
    latin_hypercube: LatinHypercube | None = None
    replicates: int = Field(default=1, ge=1, le=1_000_000)
    seed: int = Field(default=0, ge=0)
    perturb: dict[Perturbation, Any] = Field(default_factory=dict)
    window_s: tuple[float, float] | None = Field(default=None, description="the time that is measured; none = all")
    measures: list[str] = Field(default=["throughput", "jfi"], min_length=1)
    keep_traces: bool = False
    figure: Figure = Figure()

    @model_validator(mode="after")
    def _axes_are_named_and_used(self) -> StudyFile:
        drawn = self.latin_hypercube.axes if self.latin_hypercube else {}
        axes = [*self.grid, *drawn]
        if not axes:
            raise ValueError("grid: needs an axis; give its values, such as rtt_ms: [20, 80]")
        for name in axes:
            if not _AXIS.fullmatch(name) or name in FIXED_COLUMNS:
                taken = ", ".join(FIXED_COLUMNS)
                raise ValueError(f"axis {name!r}: must be letters, digits and _, and none of {taken}")
            if name in self.grid and name in drawn:
                raise ValueError(f"latin_hypercube.axes.{name}: is an axis of the grid too")
        for name, values in self.grid.items():
            if not values or len({(isinstance(value, bool), value) for value in values}) < len(values):
                raise ValueError(f"grid.{name}: must be a list of different values (got {values!r})")
        for name, each in drawn.items():
            if drawn_between(each.range, each.scale) is None:
                raise ValueError(
                    f"latin_hypercube.axes.{name}.range: must be two numbers, the smaller first (above 0 where scale is log),"
                    f" or choices (got {each.range!r})"
                )
        ranges = {f"latin_hypercube.axes.{name}.range": each.range for name, each in drawn.items()}
        for where, values in ({f"grid.{name}": values for name, values in self.grid.items()} | ranges).items():
            for value in values:
                bound = _LARGEST if isinstance(value, int) else math.inf
                if isinstance(value, int | float) and not abs(value) < bound:
                    beyond = "must be finite, and a whole number below 2^63; write a larger one as 1.0e+20"
                    raise ValueError(f"{where}: {beyond} (got {value!s:.30})")
        used = set(_references(self.model_dump(include={"base", "protocols", "traffic"})))
        for name in axes:
            if name not in used:
                raise ValueError(f"axis {name}: is not used; write ={name} where it belongs")
        for name in used - set(axes):
            raise ValueError(f"={name}: no axis of that name; axes are {', '.join(axes) or 'none'}")
        if self.window_s and not 0 <= self.window_s[0] < self.window_s[1]:
            raise ValueError(f"window_s: must be two times, the earlier first (got {list(self.window_s)})")
        for field in ("x", "lines", "panels"):
            if (name := getattr(self.figure, field)) is not None and name not in axes:
                raise ValueError(f"figure.{field}: {name!r} is no axis; axes are {', '.join(axes) or 'none'}")
        return self


def _references(node: Any) -> Iterator[str]:
    """The names behind every ``=name`` below a node."""
    texts = (value for value in _values(node) if isinstance(value, str))
    return (text.removeprefix(_REFERENCE) for text in texts if text.startswith(_REFERENCE))


# --- The study -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Study:
    """A study: its runs by number, and the inputs of its results."""

    name: str
    file: StudyFile
    paper: PaperConfig  # the study as a paper's configuration, with one experiment, `STUDY`
    where: str  # the file, as messages name it

    @property
    def experiment(self) -> Experiment:
        return self.paper.experiments[STUDY]

    @cached_property
    def axes(self) -> list[str]:
        """Names of the axes: those of the grid, those of the hypercube."""
        drawn = self.file.latin_hypercube.axes if self.file.latin_hypercube else ()
        return [*self.file.grid, *drawn]

    @cached_property
    def _lengths(self) -> list[int]:
        n_drawn = self.file.latin_hypercube.points if self.file.latin_hypercube else 1
        return [*(len(values) for values in self.file.grid.values()), n_drawn]

    @property
    def n_points(self) -> int:
        return math.prod(self._lengths)

    @property
    def n_runs(self) -> int:
        return self.n_points * self.file.replicates

    @cached_property
    def _shares(self) -> npt.NDArray[np.float64]:
        """(points, axes) of the hypercube, in [0, 1)."""
        from scipy.stats import qmc  # takes a second, only needed to draw

        cube = self.file.latin_hypercube
        return qmc.LatinHypercube(len(cube.axes), rng=np.random.default_rng(cube.seed)).random(cube.points)

    @cached_property
    def _drawn(self) -> dict[str, Assumption]:
        cube = self.file.latin_hypercube
        return {name: drawn_between(axis.range, axis.scale) for name, axis in cube.axes.items()} if cube else {}

    def point(self, run: int) -> dict[str, Any]:
        """The values of the axes in a run."""
        *places, row = np.unravel_index(run // self.file.replicates, self._lengths)
        values = {name: of[place] for (name, of), place in zip(self.file.grid.items(), places, strict=True)}
        return values | {name: axis.at(self._shares[row, i]) for i, (name, axis) in enumerate(self._drawn.items())}

    def seed(self, run: int) -> int:
        """The seed of a run."""
        axes = (f"{name}={value}" for name, value in self.point(run).items())
        return seed_of(STUDY, self.file.seed, *axes, run % self.file.replicates)

    def spec(self, run: int) -> RunSpec:
        """A run, expanded. Raises InputError for an invalid value."""
        point, replicate, seed = self.point(run), run % self.file.replicates, self.seed(run)
        places = places_of(self.experiment, seed_of(STUDY, self.file.seed, "order", replicate))
        scenario = scenario_at(self.paper, self.experiment, point, seed, places, f"{self.where}: base")
        return RunSpec(run, replicate, seed, point, scenario)

    @cached_property
    def measured(self) -> Parts:
        """The inputs of a run's metrics, besides the run: the code, and how they are measured."""
        used = {str(each.cc.value) for each in self.paper.protocols.values() if isinstance(each.cc, Value)}
        used &= self._algorithms
        how = self.file.model_dump(mode="json", include={"measures", "window_s", "analysis"})
        simulated = {f"{_CODE_OF}{name}": digest for name, digest in code.of_algorithms(used).items()}
        return {"measures": part(how), "measuring": part(code.of_measuring("groups.py", "of_run.py")), **simulated}

    def holds(self, made_from: Mapping[str, str]) -> bool:
        """Whether earlier runs of this study, with other inputs, would be the same today.

        An algorithm that has been added to the study since then made none of them.
        """
        other = (name for name, digest in self.measured.items() if made_from.get(name) != digest)
        simulator = f"{_CODE_OF}{code.SIMULATOR}"
        return all(name.startswith(_CODE_OF) and name != simulator and name not in made_from for name in other)

    @cached_property
    def _algorithms(self) -> set[str]:
        """Names of the algorithms that may be used, among other values of the file."""
        labels = {str(value) for value in _values(self.file.model_dump())}
        own = {label: each.cc for label, each in self.file.protocols.items() if label in labels}
        return labels | set(own.values())

    @cached_property
    def made_from(self) -> dict[str, str]:
        """The inputs of the table of metrics."""
        values = self.file.model_dump(mode="json", exclude={"what", "figure", "measures", "window_s", "analysis"})
        expansion = code.of_rooms("papers/expand.py", "runs/study.py")
        return {"design": part(values), "expansion": expansion, **self.measured}


def _values(node: Any) -> Iterator[Any]:
    if isinstance(node, dict | list | tuple):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _values(child)
    else:
        yield node


def load(path: Path, algorithms: Iterable[str], measures: Reads) -> Study:
    """Read and validate a study's file; its name is that of the file.

    ``algorithms`` are the existing ones, ``measures`` lists what each group of measures reads. Raises InputError with one line
    naming file and field.
    """
    name = path.stem
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{path}: the file name is the study's name: use letters, digits, _ and -, such as rtt_loss.yaml"
        )
    return make(load_yaml(path), name, str(path), algorithms, measures)


def make(values: Mapping[str, Any], name: str, where: str, algorithms: Iterable[str], measures: Reads) -> Study:
    """A study from plain values; raises InputError that begins with ``where``."""
    algorithms = list(algorithms)
    possible = [measure for measure, reads in measures.items() if reads is not None]
    file = validated(StudyFile, values, where)
    check_known(f"{where}: analysis: value", file.analysis, MeasureValues.model_fields)
    for number, measure in enumerate(file.measures):
        if measures.get(measure, ()) is None:
            raise InputError(
                f"{where}: measures[{number}]: {measure!r} needs weights from self-pairs, which a study does not simulate"
            )
        check_known(f"{where}: measures[{number}]: measure", [measure], possible)
    labels = {**{algorithm: Protocol(cc=algorithm) for algorithm in algorithms}, **file.protocols}
    for label, protocol in file.protocols.items():
        if not protocol.cc.startswith(_REFERENCE):
            check_known(f"{where}: protocols.{label}.cc: protocol", [protocol.cc], algorithms)
    study = Study(name, file, _as_paper(file, labels, where, measures), where)
    _try_ends(study, labels)
    return study


def _try_ends(study: Study, labels: Mapping[str, Protocol]) -> None:
    """Refuse a study whose first run, or a run with another value of its grid, is invalid."""
    for flow in [study.file.base.flow, *study.file.base.flows]:
        label = flow.get("protocol", "=protocol")
        axis = str(label).removeprefix(_REFERENCE)
        asked = study.file.grid.get(axis, ()) if str(label).startswith(_REFERENCE) else [label]
        check_known(f"{study.where}: base.flows: protocol", asked, labels)
    *lengths, n_drawn = study._lengths
    stride, apart = study.n_runs, study.file.replicates
    drawn = range(0, min(n_drawn, _DRAWN_TRIED) * apart, apart)
    _spec_of_any(study, drawn)
    for length in lengths:
        stride //= length
        for place in range(1, length if length <= _VALUES_TRIED else 1):
            _spec_of_any(study, [place * stride + run for run in drawn])


def _spec_of_any(study: Study, runs: Iterable[int]) -> None:
    """Raise the last InputError if all of some runs are invalid."""
    for run in runs:
        try:
            study.spec(run)
            return
        except InputError as error:
            last = error
    raise last


def _valued(node: Any, *labels: str) -> Any:
    """Plain data with the study as the source of each value, except references; the entries ``labels`` stay as they are."""
    if isinstance(node, dict):
        return {name: child if name in labels else _valued(child, *labels) for name, child in node.items()}
    if isinstance(node, list) and all(isinstance(child, dict) for child in node):
        return [_valued(child, *labels) for child in node]
    is_reference = isinstance(node, str) and node.startswith(_REFERENCE)
    return node if is_reference else Value(value=node, source=STUDY)


def _as_paper(file: StudyFile, labels: Mapping[str, Protocol], where: str, measures: Reads) -> PaperConfig:
    """The study as a paper's configuration: each plain value has the study as its source."""
    base = file.base.model_dump()
    record = ["samples", *(name for measure in file.measures for name in measures[measure])]
    experiment = {
        "what": file.what,
        "settings": _valued(base["settings"]),
        "flow": _valued(base["flow"]),
        "flows": _valued(base["flows"]),
        "background": _valued(base["background"], "direction"),
        "runs": _valued(file.replicates),
        "perturb": _valued(file.perturb),
        "window_s": Value(value=list(file.window_s), source=STUDY) if file.window_s else None,
        "record": list(dict.fromkeys(record)),
        "measures": file.measures,
    }
    values = {
        "paper": STUDY,
        "cite": file.what,
        "protocols": {label: _valued(each.model_dump()) for label, each in labels.items()},
        "traffic": _valued(file.traffic, "protocol"),
        "analysis": {name: Value(value=value, source=STUDY) for name, value in file.analysis.items()},
        "experiments": {STUDY: experiment},
    }
    return validated(PaperConfig, values, where)
