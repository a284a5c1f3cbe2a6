"""Which cell of the simulation's metrics each printed number is: experiment, metric, flow, values of the grid variables.

``data/cells.yaml`` says it by exhibit and printed metric. With it a printed number can be placed among any runs of its
experiments, those of another setting too, without drawing the exhibit; `printed_metrics` reads it the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from tcpfair.errors import InputError, unknown
from tcpfair.files.layout import Layout
from tcpfair.measures import SYSTEM
from tcpfair.papers.papers import PaperConfig, load_yaml
from tcpfair.verdicts.combine import OverCells, OverFlows, OverRuns, of_flows, of_runs, over_cells, over_flows
from tcpfair.verdicts.printed import PRINTED_COLUMNS, load_printed, make_key, parse_key, quoted_identity

CELL_COLUMNS = [
    *PRINTED_COLUMNS,
    "cell",
    "experiment",
    "measure",
    "flow",
    "where",
    "scale",
    "printed_runs",
    "derived",
    "reason",
]
EACH = "each"  # in place of a flow: all flows together
_NOT_IN_GRID = {"flow", "item", "condition"}  # parts of a printed key that name no grid variable
_BYTES_PER_MB = 1e6
# where a paper's analysis has the share of `over_runs`
_SHARES = {"reached": "converged_runs_share", "half_interval": "confidence_level"}
_OF_MODEL = {"rules", "Series", "Computed", "str"}  # parts of the model that no rule names

Scale = Literal["percent", "MB_per_packet", "MB_per_byte"]
LoadMetrics = Callable[[str], pd.DataFrame]


# --- A cell -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """Where in the metrics of its experiments a number stands, and what is done with what stands there.

    ``where`` gives each grid variable one value, or a list of values where the number is of many cells; a variable that
    it leaves out may have any. ``flow`` is None where it is of all flows. ``share`` is that of `over_runs`.
    """

    experiments: tuple[str, ...]
    measure: str
    flow: int | None
    where: Mapping[str, Any]
    runs: OverRuns = "mean"
    flows: OverFlows | None = None
    cells: OverCells | None = None
    over: str = "rtt_ms"
    leaders: tuple[str, ...] = ()
    slack: float = 0.0
    base: Cell | None = None
    gain: bool = False
    inverse: bool = False
    scale: float = 1.0
    share: float = 0.5
    grid: Mapping[str, list[Any]] = field(default_factory=dict, compare=False)  # of the experiments: all values

    @property
    def derived(self) -> str:
        """How the number follows from its cells, in a few words; empty for the mean over the runs of one cell."""
        steps = [self.runs if self.runs != "mean" else "", "inverse" if self.inverse else "", self.flows or ""]
        steps += ["gain" if self.gain else "ratio"] if self.base else []
        steps += [f"{self.cells} over cells"] if self.cells else []
        return ", ".join(step for step in steps if step)

    def value(self, load_metrics: LoadMetrics) -> float | str:
        """The number that the metrics of ``load_metrics`` (by experiment, as of `tcpfair.measures.measure`) give.

        In the printed unit; NaN where it was measured and has no value, a letter for a case. Raises InputError when no
        run has the metric there, or when the cell is not one cell.
        """
        return self._combined(self.table(load_metrics, self._places(self._all_rows(load_metrics))))

    def _combined(self, found: pd.DataFrame) -> float | str:
        """The number of a `table` of cells."""
        if self.cells:
            return self.scale * over_cells(found, self.cells, self.over, self.leaders, self.slack)
        if len(found) > 1:
            raise InputError(f"data/cells.yaml: {self._place}: {len(found)} cells; say which, or how they are combined")
        value = found["value"].iloc[0]
        return value if isinstance(value, str) else self.scale * float(value)

    def by_replicate(self, load_metrics: LoadMetrics) -> pd.Series:
        """`value` of each replicate by itself: what the number would be with one run, indexed by ``replicate``.

        Raises InputError for a number that is the scatter of runs.
        """
        if self.runs in ("sd", "cv"):
            raise InputError(f"data/cells.yaml: {self._place}: {self.runs} over runs has no value for a single run")
        if not (self.base or self.cells):
            return self._of_one_cell(load_metrics)
        replicates = sorted(set.intersection(*(set(load_metrics(name)["replicate"]) for name in self.read)))
        for cell in (self, self.base) if self.base else (self,):
            if not set(cell.rows(load_metrics)["replicate"]) >= set(replicates):
                raise cell._no_run
        found = self.table(load_metrics, ["replicate", *self._places(self.rows(load_metrics))])
        of_each = dict(tuple(found.groupby("replicate")))
        return pd.Series(
            [self._combined(of_each[number]) for number in replicates], index=pd.Index(replicates, name="replicate")
        )

    def _places(self, rows: pd.DataFrame) -> list[str]:
        """The columns of ``rows`` that tell its cells apart."""
        return [
            *(name for name in self.grid if name in rows),
            *(["flow"] if self.flow is None and not self.flows else []),
        ]

    def _of_one_cell(self, load_metrics: LoadMetrics) -> pd.Series:
        """`by_replicate` where no cells are combined: all replicates at once."""
        chosen = self._all_rows(load_metrics)
        if len(chosen[[name for name in self.grid if name in chosen]].drop_duplicates()) > 1:
            raise InputError(f"data/cells.yaml: {self._place}: many cells; say which, or how they are combined")
        if self.flows:
            values = chosen.groupby("replicate")["value"].agg(lambda of_flows: over_flows(of_flows, self.flows))
        else:
            values = chosen.set_index("replicate")["value"].sort_index()
        return values * self.scale if pd.api.types.is_numeric_dtype(values) else values

    @property
    def read(self) -> tuple[str, ...]:
        """Every experiment whose metrics `value` asks for."""
        return (*self.experiments, *(self.base.experiments if self.base else ()))

    @property
    def _place(self) -> str:
        fixed = ", ".join(f"{name}={value}" for name, value in self.where.items())
        return f"{'+'.join(self.experiments)} {self.measure} {fixed}".rstrip()

    def table(self, load_metrics: LoadMetrics, by: Sequence[str]) -> pd.DataFrame:
        """The number at each place of ``by``, columns of the metrics: these, ``value``, ``sd`` over runs and ``n_runs``.

        In the unit of the metric.
        """
        found = of_runs(self.rows(load_metrics), [*by, "flow"] if self.flows else by, self.runs, self.share)
        if self.flows:
            found = of_flows(found, by, self.flows)
        if self.base:
            in_base = {"replicate", *self.base.grid}
            shared = [name for name in by if name in in_base and isinstance(self.base.where.get(name, []), list)]
            if shared:
                of_base = self.base.table(load_metrics, shared)
                divisor = found[shared].merge(of_base, on=shared, how="left")["value"].to_numpy()
            else:
                divisor = self.base.value(load_metrics)
            found[["value", "sd"]] = found[["value", "sd"]].div(divisor, axis=0)
            found["value"] -= 1.0 if self.gain else 0.0
        return found

    def rows(self, load_metrics: LoadMetrics) -> pd.DataFrame:
        """The rows of the metrics that the number is of; values inverted where it is of the inverse."""
        rows = pd.concat([self._chosen(load_metrics(name)) for name in self.experiments], ignore_index=True)
        if self.inverse:
            with np.errstate(divide="ignore"):
                rows = rows.assign(value=1 / rows["value"].to_numpy(dtype=float))
        return rows

    def _all_rows(self, load_metrics: LoadMetrics) -> pd.DataFrame:
        """`rows`. Raises InputError when there are none."""
        rows = self.rows(load_metrics)
        if rows.empty:
            raise self._no_run
        return rows

    @property
    def _no_run(self) -> InputError:
        return InputError(f"data/cells.yaml: {self._place}: no run has it")

    def chosen(self, load_metrics: LoadMetrics) -> dict[str, pd.DataFrame]:
        """Of the metrics of each experiment that it reads, the rows that count for `value`: as good as all of them."""
        of_own = {name: self._chosen(load_metrics(name)) for name in self.experiments}
        for name, rows in (self.base.chosen(load_metrics) if self.base else {}).items():
            of_own[name] = pd.concat([of_own[name], rows]).drop_duplicates() if name in of_own else rows
        return of_own

    def _chosen(self, metrics: pd.DataFrame) -> pd.DataFrame:
        chosen = metrics["metric"] == self.measure
        chosen &= metrics["flow"] != SYSTEM if self.flow is None else metrics["flow"] == self.flow
        for name, value in self.where.items():
            if name in metrics:
                chosen &= metrics[name].isin(value if isinstance(value, list) else [value])
        return metrics[chosen]


# --- The rules ----------------------------------------------------------------------------------------------------


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Base(_Strict):
    """The cell by which others are divided: what in it differs from them."""

    experiment: str = ""
    where: dict[str, Any] = Field(default_factory=dict)


class Rule(_Strict):
    """Which cells the printed numbers of one metric of an exhibit are; ``data/cells.yaml`` explains the fields."""

    key: dict[str, str | int | float] = Field(default_factory=dict)
    experiment: str | list[str] = ""
    measure: str = ""
    flow: int | Literal["each"] | None = None
    where: dict[str, Any] = Field(default_factory=dict)
    runs: OverRuns = "mean"
    flows: OverFlows | None = None
    cells: OverCells | None = None
    over: str = "rtt_ms"
    leaders: list[str] = Field(default_factory=list)
    slack: float = 0.0
    base: _Base | None = None
    gain: bool = False
    inverse: bool = False
    printed_runs: int = Field(default=0, ge=0)
    scale: Scale | None = None
    table: str = ""
    reason: str = ""

    @model_validator(mode="after")
    def _cell_or_reason(self) -> Rule:
        if bool(self.experiment) == bool(self.reason):
            raise ValueError("give an experiment, or the reason why there is no cell")
        if self.gain and not self.base:
            raise ValueError("a gain needs a base")
        return self

    @property
    def experiments(self) -> tuple[str, ...]:
        return (self.experiment,) if isinstance(self.experiment, str) else tuple(self.experiment)

    def fits(self, parts: Mapping[str, str]) -> bool:
        return all(parts.get(name) == str(value) for name, value in self.key.items())


class Series(Rule):
    """The rule of whole columns of numbers: of each of ``metrics``, one at every point of the grid."""

    metrics: dict[str, str]  # number -> metric of the experiment
    by: list[str] | None = None
    per: str = ""
    names: dict[str, str] = Field(default_factory=dict)
    runs: OverRuns | Literal["distribution"] = "mean"
    against: dict[str, str] = Field(default_factory=dict)
    printed_in: str = ""
    flows: OverFlows | dict[str, OverFlows] | None = None
    scale: Scale | dict[str, Scale] | None = None
    select: str = ""

    @field_validator("metrics", mode="before")
    @classmethod
    def _named_alike(cls, metrics: Any) -> Any:
        return {name: name for name in metrics} if isinstance(metrics, list) else metrics

    def rule(self, metric: str) -> Rule:
        """The rule of one printed number of it."""
        return self.model_copy(
            update={
                "measure": self.metrics[metric],
                "flows": self.flows.get(metric) if isinstance(self.flows, dict) else self.flows,
                "scale": self.scale.get(metric) if isinstance(self.scale, dict) else self.scale,
            }
        )


class Computed(BaseModel):
    """Numbers that a function of `tcpfair.verdicts.computed` gives, from models or from more than one cell."""

    model_config = ConfigDict(extra="allow")

    function: str

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


class _Shown(_Strict):
    """The numbers of one exhibit, or of one section of the text; what stands in ``of`` holds for all its series."""

    series: list[Series | Computed | str] = Field(default_factory=list)
    rules: dict[str, Annotated[list[Rule], BeforeValidator(_listed)]]

    @model_validator(mode="before")
    @classmethod
    def _by_metric(cls, given: dict[str, Any]) -> dict[str, Any]:
        rules = {name: rule for name, rule in given.items() if name not in ("of", "series")}
        shared = given.get("of", {})
        series = [{**shared, **each} if isinstance(each, dict) else each for each in given.get("series", [])]
        return {"series": series, "rules": rules}


class Rules(_Strict):
    """Rules of one paper, by exhibit or section, then by metric."""

    exhibits: dict[str, _Shown]

    def of(self, exhibit: str, metric: str, parts: Mapping[str, str]) -> Rule | None:
        """The rule of a printed number; None where there is none. A rule of its own stands before a series."""
        if exhibit not in self.exhibits:
            return None
        shown = self.exhibits[exhibit]
        columns = [each for each in shown.series if isinstance(each, Series) and metric in each.metrics]
        found = [*shown.rules.get(metric, []), *(each.rule(metric) for each in columns)]
        return next((rule for rule in found if rule.fits(parts)), None)


def load_rules(paper: PaperConfig, layout: Layout) -> Rules:
    """The rules of a paper in ``data/cells.yaml``. Raises InputError with one line when one is wrong."""
    path = layout.data / "cells.yaml"
    content = load_yaml(path)
    if paper.paper not in content:
        raise unknown(f"{path}: paper", paper.paper, content)
    try:
        return Rules.model_validate({"exhibits": content[paper.paper]})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(part for part in first["loc"][1:] if isinstance(part, str) and part not in _OF_MODEL)
        raise InputError(f"{path}: {paper.paper}.{place}: {first['msg'].removeprefix('Value error, ')}") from None


# --- Every printed number -----------------------------------------------------------------------------------------


def cells(paper: PaperConfig, layout: Layout) -> pd.DataFrame:
    """Every printed result number of a paper with its cell, in the order of print (`CELL_COLUMNS`).

    Beside the printed columns: ``cell`` (a `Cell`; None where there is none), its experiment (several joined by ``+``),
    measure, flow (0 the system, NA all flows), where (a dict of grid values) and scale (from the metric to the printed
    unit), ``printed_runs`` (of how many runs the print is, as far as is known), ``derived`` (how the number follows where
    it is not the mean over runs of one cell) and the ``reason`` why there is no cell. Raises InputError when a number has
    no rule, or when a rule names what the paper's configuration does not have.
    """
    rules = load_rules(paper, layout)
    printed = load_printed(paper, layout.data)
    rows = []
    for number in printed[printed["kind"] == "result"].to_dict("records"):
        rule = rule_of(rules, number)
        cell = None if rule.reason else cell_of(paper, rule, number)
        runs = rule.printed_runs or (paper.experiments[cell.experiments[0]].runs.value if cell else 0)
        rows.append({**number, **_described(cell), "cell": cell, "printed_runs": runs, "reason": rule.reason})
    return pd.DataFrame(rows, columns=CELL_COLUMNS).astype({"flow": "Int64"})


def rule_of(rules: Rules, number: Mapping[str, str]) -> Rule:
    """The rule of the number's own exhibit, else of the one that it quotes."""
    parts = parse_key(number["key"])
    for exhibit in (number["exhibit"], number["quotes"]):
        rule = rules.of(exhibit.partition(".")[2], number["metric"], parts) if exhibit else None
        if rule:
            return rule
    where = f"{number['exhibit']} {number['key']} {number['metric']}"
    raise InputError(f"data/cells.yaml: no rule for {where}; give its cell or the reason why there is none")


def stated(rules: Rules, paper: str, published: pd.DataFrame) -> dict[tuple[str, str, str], Rule]:
    """The rules that are no series, by exhibit or section, key and metric: those with a key, then the others as printed."""
    found = {
        (f"{paper}.{place}", make_key(**rule.key), metric): rule
        for place, shown in rules.exhibits.items()
        for metric, listed in shown.rules.items()
        for rule in listed
        if rule.key and not rule.reason
    }
    for number in published[published["kind"] == "result"].to_dict("records"):
        rule = rule_of(rules, number)
        if rule.key or rule.reason or isinstance(rule, Series):
            continue
        own = rules.of(number["exhibit"].partition(".")[2], number["metric"], parse_key(number["key"]))
        identity = None if own else quoted_identity(number)
        found.setdefault(identity or (number["exhibit"], number["key"], number["metric"]), rule)
    return found


def _described(cell: Cell | None) -> dict[str, Any]:
    if cell is None:
        return {"experiment": "", "measure": "", "flow": None, "where": {}, "scale": np.nan, "derived": ""}
    named = {"experiment": "+".join(cell.experiments), "where": dict(cell.where), "derived": cell.derived}
    return named | {name: getattr(cell, name) for name in ("measure", "flow", "scale")}


def cell_of(paper: PaperConfig, rule: Rule, number: Mapping[str, str]) -> Cell:
    """The cell that a rule gives a number with this key."""
    place = f"data/cells.yaml: {number['exhibit']} {number['metric']}"
    parts = parse_key(number["key"])
    printed_where = {name: text for name, text in parts.items() if name not in _NOT_IN_GRID}
    if isinstance(rule, Series):  # of the many cells of its columns the one that is printed
        own = {name: value for name, value in rule.where.items() if not isinstance(value, list)}
        where = {**{name: value for name, value in printed_where.items() if name not in rule.key}, **own}
    else:
        where = {**printed_where, **rule.where}
    flow = rule.flow if rule.flow is not None else int(parts.get("flow", SYSTEM))
    return cell_at(paper, rule, rule.measure or number["metric"], where, flow, place)


def cell_at(
    paper: PaperConfig, rule: Rule, measure: str, where: Mapping[str, Any], flow: int | Literal["each"], place: str
) -> Cell:
    """The cell of a rule at these values of grid variables.

    Raises InputError, which begins with ``place``, for a variable or a value that the experiments do not have.
    """
    grid = _grid(paper, rule.experiments, place)
    cell = Cell(
        measure=measure,
        flow=None if flow == EACH else flow,
        where={name: _in_grid(grid, name, value, place) for name, value in where.items()},
        runs="median" if rule.runs == "distribution" else rule.runs,
        leaders=tuple(rule.leaders),
        scale=scale_of(paper, rule.scale),
        **{name: getattr(rule, name) for name in ("experiments", "flows", "cells", "over", "slack", "gain", "inverse")},
        share=paper.analysis_value(_SHARES[rule.runs]) if rule.runs in _SHARES else 0.5,
        grid=grid,
    )
    return cell if rule.base is None else replace(cell, base=_base_of(paper, rule.base, cell, place))


def _base_of(paper: PaperConfig, base: _Base, cell: Cell, place: str) -> Cell:
    """The cell by which ``cell`` is divided: the same but for what ``base`` says, and a single one."""
    experiments = (base.experiment,) if base.experiment else cell.experiments
    grid = _grid(paper, experiments, place)
    where = {**cell.where, **{name: _in_grid(grid, name, value, place) for name, value in base.where.items()}}
    single = {"cells": None, "scale": 1.0, "gain": False, "grid": grid}
    return replace(cell, experiments=experiments, where=where, **single)


def _grid(paper: PaperConfig, experiments: tuple[str, ...], place: str) -> dict[str, list[Any]]:
    """Grid variables of the experiments with all their values."""
    grid: dict[str, list[Any]] = {}
    for name in experiments:
        if name not in paper.experiments:
            raise unknown(f"{place}: experiment", name, paper.experiments)
        for variable, values in paper.experiments[name].grid.items():
            grid.setdefault(variable, []).extend(values.value)
    return grid


def _in_grid(grid: Mapping[str, list[Any]], name: str, value: Any, place: str) -> Any:
    """A value of a grid variable as the configuration has it; of a printed key it comes as text."""
    if isinstance(value, list):
        return [_in_grid(grid, name, each, place) for each in value]
    if name not in grid:
        raise unknown(f"{place}: grid variable", name, grid)
    for known in grid[name]:
        if known == value or (isinstance(known, int | float) and isinstance(value, str) and _same(known, value)):
            return known
    raise InputError(f"{place}: {name}={value} is not in the grid: {', '.join(dict.fromkeys(map(str, grid[name])))}")


def _same(known: float, text: str) -> bool:
    try:
        return float(text) == float(known)
    except ValueError:
        return False


def scale_of(paper: PaperConfig, name: str | None) -> float:
    """The factor from the unit of a metric to that of print."""
    match name:
        case "percent":
            return 100.0
        case "MB_per_byte":
            return 1 / _BYTES_PER_MB
        case "MB_per_packet":
            return paper.settings["payload_bytes"].value / _BYTES_PER_MB
    return 1.0
