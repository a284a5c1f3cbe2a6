"""The cell of the simulation's metrics for each published number: experiment, metric, flow, values of the grid variables.

``data/cells.yaml`` defines it by exhibit and published metric. So a published number can be compared with any runs of its
experiments, under other settings too, without drawing the exhibit; `printed_metrics` reads the file in the other direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from tcpfair.errors import InputError, check_known
from tcpfair.files.layout import Layout
from tcpfair.measures import SYSTEM
from tcpfair.papers.papers import PaperConfig, load_yaml
from tcpfair.papers.scenario import Strict
from tcpfair.verdicts.combine import (
    OF_ALL_RUNS,
    OF_MANY_RUNS,
    OverCells,
    OverFlows,
    OverRuns,
    drawn,
    over_cells,
    over_flows,
    over_runs,
)
from tcpfair.verdicts.measured import Measured, Table, joined
from tcpfair.verdicts.printed import PRINTED_COLUMNS, as_number, load_printed, make_key, parse_key, quoted_identity

CELL_COLUMNS = [
    *PRINTED_COLUMNS,
    *("cell", "experiment", "flow", "where", "printed_runs", "derived", "reason"),
]
EACH = "each"  # in place of a flow: all flows together
_NOT_IN_GRID = {"flow", "item", "condition"}  # parts of a published key that are no grid variables
BYTES_PER_MB = 1e6
# the name of the share of `over_runs` in a paper's analysis
_SHARES = {"reached": "converged_runs_share", "half_interval": "confidence_level"}
_OF_MODEL = {"rules", "Series", "Computed", "str"}  # parts of a pydantic location that are not in the file

Scale = Literal["percent", "MB_per_packet", "MB_per_byte"]


# --- A cell -------------------------------------------------------------------------------------------------------


class Combined(Strict):
    """How a number is computed from its cells: over runs, over flows, over many cells."""

    runs: OverRuns = "mean"
    flows: OverFlows | None = None
    cells: OverCells | None = None
    over: str = "rtt_ms"
    leaders: list[str] = Field(default_factory=list)
    slack: float = 0.0
    gain: bool = False
    inverse: bool = False


class Cell(Combined):
    """The place of a number in the metrics of its experiments, and how it is computed from them.

    ``where`` gives each grid variable one value, or a list of values for a number of many cells; omitted variables may have
    any value. ``flow`` is None for all flows. ``share`` is that of `over_runs`.
    """

    experiments: tuple[str, ...]
    measure: str
    flow: int | None
    where: dict[str, Any]
    base: Cell | None = None
    scale: float = 1.0
    share: float = 0.5
    grid: dict[str, list[Any]]  # of the experiments: all values

    @property
    def derived(self) -> bool:
        """Whether the number is more than the mean over the runs of one cell."""
        return bool(self.runs != "mean" or self.inverse or self.flows or self.base or self.cells)

    def value(self, measured: Measured) -> float | str:
        """The number from the metrics of some runs, in the published unit.

        NaN if it was measured and has no value, a letter for a case. Raises InputError when no run has the metric there, or
        when several cells are not combined.
        """
        return self._numbers(*map(self._over_runs, self._tables(measured))).iloc[0]

    def by_replicate(self, measured: Measured) -> pd.Series:
        """`value` of each replicate alone, the number from one run, indexed by ``replicate``.

        Raises InputError for a number that is the scatter of runs.
        """
        if self.runs in ("sd", "cv"):
            raise InputError(f"data/cells.yaml: {self._place}: {self.runs} over runs has no value for a single run")
        return self._numbers(*self._tables(measured))

    def by_set(self, measured: Measured) -> tuple[pd.Index, Callable[[npt.ArrayLike], float | str]]:
        """The replicates, and `value` as a function of a selection of them, with repetitions allowed."""
        tables = self._tables(measured)

        def value(drawn: npt.ArrayLike) -> float | str:
            of_set = [self._over_runs(Table(values.loc[drawn], places)) for values, places in tables]
            return self._numbers(*of_set).iloc[0]

        return reduce(pd.Index.intersection, (table.values.index for table in tables)), value

    def table(self, measured: Measured) -> pd.DataFrame:
        """The number at each of its places: columns of `Table.places`, ``value``, ``sd`` over runs and ``n_runs``.

        In the unit of the metric.
        """
        runs, *base = self._tables(measured)
        if self.flows:
            found, sd, n_runs = self._of_flows(self._over_runs(runs)), np.nan, runs.places["runs"].iloc[0]
        else:
            found = self._over_runs(runs)
            sd = np.nan if self.runs in OF_MANY_RUNS else drawn(runs.values.to_numpy())[1][0]
            n_runs = found.places["runs"] if self.runs in OF_ALL_RUNS else runs.values.notna().sum()
        value = found.values.iloc[0].to_numpy()
        for divided_by in base:
            divisor = self._divisors(found.places, self._of_flows(self._over_runs(divided_by))).iloc[0].to_numpy()
            value, sd = value / divisor - (1.0 if self.gain else 0.0), sd / divisor
        return found.places.assign(value=value, sd=sd, n_runs=n_runs)

    @property
    def read(self) -> tuple[str, ...]:
        """Every experiment whose metrics `value` needs."""
        return (*self.experiments, *(self.base.experiments if self.base else ()))

    @property
    def _place(self) -> str:
        fixed = ", ".join(f"{name}={value}" for name, value in self.where.items())
        return f"{'+'.join(self.experiments)} {self.measure} {fixed}".rstrip()

    def by_run(self, measured: Measured) -> Table:
        """The cells of the number by replicate, inverted for a number of the inverse; possibly none."""
        flow = {} if self.flow is None else {"flow": self.flow}
        table = joined([measured.of(name, self.measure).at({**self.where, **flow}) for name in self.experiments])
        if self.flow is None:
            table = table.take(np.flatnonzero(table.places["flow"] != SYSTEM))
        return Table(1 / table.values, table.places) if self.inverse else table

    def _tables(self, measured: Measured) -> list[Table]:
        """`by_run` of the cell and of its base, if any. Raises InputError when no run has one of them."""
        cells = [self, self.base] if self.base else [self]
        tables = [cell.by_run(measured) for cell in cells]
        for cell, table in zip(cells, tables, strict=True):
            if table.places.empty:
                raise InputError(f"data/cells.yaml: {cell._place}: no run has it")
        return tables

    def _over_runs(self, table: Table) -> Table:
        """One row: `over_runs` of each cell."""
        if self.runs == "mean":
            return Table(pd.DataFrame(drawn(table.values.to_numpy())[0]), table.places)
        found = [
            over_runs(values.dropna().reset_index(drop=True).reindex(range(runs)), self.runs, self.share)
            for (_, values), runs in zip(table.values.items(), table.places["runs"], strict=True)
        ]
        return Table(pd.DataFrame([found]), table.places)

    def _of_flows(self, table: Table) -> Table:
        """`over_flows` of the cells that differ only in the flow, sorted; the cells themselves if flows are not combined."""
        if not self.flows:
            return table
        values, places = table
        names = [name for name in self.grid if name in places]
        groups = list(places.groupby(names, dropna=False).indices.values()) if names else [np.arange(len(places))]
        found = {i: over_flows(values.iloc[:, cells], self.flows) for i, cells in enumerate(groups)}
        return Table(
            pd.DataFrame(found, values.index), places.iloc[[cells[0] for cells in groups]].reset_index(drop=True)
        )

    def _divisors(self, places: pd.DataFrame, base: Table) -> pd.DataFrame:
        """For each place, the value of the base at the same values of the variables that the base does not fix."""
        free = [name for name in self.base.grid if isinstance(self.base.where.get(name, []), list) and name in places]
        if not free:
            self.base._only(base.places)
            return base.values[[0] * len(places)].set_axis(range(len(places)), axis=1)
        numbered = base.places[free].assign(number=range(len(base.places)))
        numbers = places[free].merge(numbered, on=free, how="left")["number"]
        return base.values.reindex(columns=numbers).set_axis(range(len(places)), axis=1)

    def _numbers(self, own: Table, base: Table | None = None) -> pd.Series:
        """The number in the published unit for each row that both tables have."""
        values, places = self._of_flows(own)
        if base is not None:
            divisors = self._divisors(places, self._of_flows(base))
            rows = values.index.intersection(divisors.index)
            values = values.loc[rows] / divisors.loc[rows] - (1.0 if self.gain else 0.0)
        if self.cells:
            return self.scale * over_cells(values, places, self.cells, self.over, self.leaders, self.slack)
        self._only(places)
        return self.scale * values[0] if pd.api.types.is_numeric_dtype(values[0]) else values[0]

    def _only(self, places: pd.DataFrame) -> None:
        if len(places) > 1:
            raise InputError(
                f"data/cells.yaml: {self._place}: {len(places)} cells; select one, or state how they are combined"
            )


# --- The rules ----------------------------------------------------------------------------------------------------


class _Base(Strict):
    """The cell by which others are divided: only what differs from them."""

    experiment: str = ""
    where: dict[str, Any] = Field(default_factory=dict)


class Rule(Combined):
    """The cells of the published numbers of one metric of an exhibit; ``data/cells.yaml`` explains the fields."""

    key: dict[str, str | int | float] = Field(default_factory=dict)
    experiment: str | list[str] = ""
    measure: str = ""
    flow: int | Literal["each"] | None = None
    where: dict[str, Any] = Field(default_factory=dict)
    base: _Base | None = None
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
    """The rule of columns of numbers: for each of ``metrics``, one number at every point of the grid."""

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
        """The rule of one of its published metrics."""
        return self.model_copy(
            update={
                "measure": self.metrics[metric],
                "flows": self.flows.get(metric) if isinstance(self.flows, dict) else self.flows,
                "scale": self.scale.get(metric) if isinstance(self.scale, dict) else self.scale,
            }
        )


class Computed(BaseModel):
    """Numbers that a function of `tcpfair.verdicts.computed` computes, from models or from several cells."""

    model_config = ConfigDict(extra="allow")

    function: str

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


def listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


class _Shown(Strict):
    """The numbers of one exhibit, or of one section of the text; the values of ``of`` apply to all its series."""

    series: list[Series | Computed | str] = Field(default_factory=list)
    rules: dict[str, Annotated[list[Rule], BeforeValidator(listed)]]

    @model_validator(mode="before")
    @classmethod
    def _by_metric(cls, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict):
            raise ValueError("must have series, of and metrics with their rules")
        rules = {name: rule for name, rule in given.items() if name not in ("of", "series")}
        shared = given.get("of", {})
        series = [{**shared, **each} if isinstance(each, dict) else each for each in given.get("series", [])]
        return {"series": series, "rules": rules}


class Rules(Strict):
    """Rules of one paper, by exhibit or section, then by metric."""

    exhibits: dict[str, _Shown]

    def of(self, exhibit: str, metric: str, parts: Mapping[str, str]) -> Rule | None:
        """The rule of a published number, or None. A separate rule takes precedence over a series."""
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
    check_known(f"{path}: paper", [paper.paper], content)
    try:
        return Rules.model_validate({"exhibits": content[paper.paper]})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(part for part in first["loc"][1:] if isinstance(part, str) and part not in _OF_MODEL)
        raise InputError(f"{path}: {paper.paper}.{place}: {first['msg'].removeprefix('Value error, ')}") from None


# --- Every published number ---------------------------------------------------------------------------------------


def cells(paper: PaperConfig, layout: Layout) -> pd.DataFrame:
    """Every published result of a paper with its cell, in the order of publication (`CELL_COLUMNS`).

    In addition to the published columns: ``cell`` (a `Cell` or None), its experiment (several joined by ``+``), flow (0 the
    system, NA all flows), where (a dict of grid values) and `Cell.derived`, ``printed_runs`` (number of runs behind the published
    number, if known) and the ``reason`` why it has no cell. Raises InputError when a number has no rule, or when a rule has a
    name that the paper's configuration lacks.
    """
    rules = load_rules(paper, layout)
    printed = load_printed(paper, layout.data)
    rows = []
    for number in printed[printed["kind"] == "result"].to_dict("records"):
        rule = rule_of(rules, number)
        cell = None if rule.reason else cell_of(paper, rule, number)
        runs = rule.printed_runs or (paper.experiments[cell.experiments[0]].runs.value if cell else 0)
        about = {"experiment": "", "where": {}, "derived": False}
        if cell:
            about = {"experiment": "+".join(cell.experiments), "where": cell.where, "derived": cell.derived}
        rows.append(
            {**number, **about, "flow": cell and cell.flow, "cell": cell, "printed_runs": runs, "reason": rule.reason}
        )
    return pd.DataFrame(rows, columns=CELL_COLUMNS).astype({"flow": "Int64"})


def rule_of(rules: Rules, number: Mapping[str, str]) -> Rule:
    """The rule of a number for its own exhibit, else for the one that it quotes."""
    parts = parse_key(number["key"])
    for exhibit in (number["exhibit"], number["quotes"]):
        rule = rules.of(exhibit.partition(".")[2], number["metric"], parts) if exhibit else None
        if rule:
            return rule
    where = f"{number['exhibit']} {number['key']} {number['metric']}"
    raise InputError(f"data/cells.yaml: no rule for {where}; give its cell or the reason why there is none")


def stated(rules: Rules, paper: str, published: pd.DataFrame) -> dict[tuple[str, str, str], Rule]:
    """The rules outside series, by exhibit or section, key and metric: those with a key, then the others as published."""
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


def cell_of(paper: PaperConfig, rule: Rule, number: Mapping[str, str]) -> Cell:
    """The cell that a rule gives a number with this key."""
    place = f"data/cells.yaml: {number['exhibit']} {number['metric']}"
    parts = parse_key(number["key"])
    printed_where = {name: text for name, text in parts.items() if name not in _NOT_IN_GRID}
    if isinstance(rule, Series):  # only the published one of the many cells of its columns
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

    Raises InputError that begins with ``place`` for a variable or a value that the experiments lack.
    """
    grid = _grid(paper, rule.experiments, place)
    how = {name: getattr(rule, name) for name in ("experiments", *Combined.model_fields)}
    cell = Cell(
        **how | {"runs": "median" if rule.runs == "distribution" else rule.runs},
        measure=measure,
        flow=None if flow == EACH else flow,
        where={name: _in_grid(grid, name, value, place) for name, value in where.items()},
        scale=scale_of(paper, rule.scale),
        share=paper.analysis_value(_SHARES[rule.runs]) if rule.runs in _SHARES else 0.5,
        grid=grid,
    )
    base = rule.base and _base_of(paper, rule.base, cell, place)
    return cell.model_copy(update={"base": base})


def _base_of(paper: PaperConfig, base: _Base, cell: Cell, place: str) -> Cell:
    """The cell by which ``cell`` is divided: the same with the changes of ``base``, and not combined over cells."""
    experiments = (base.experiment,) if base.experiment else cell.experiments
    grid = _grid(paper, experiments, place)
    where = {**cell.where, **{name: _in_grid(grid, name, value, place) for name, value in base.where.items()}}
    single = {"cells": None, "scale": 1.0, "gain": False, "grid": grid}
    return cell.model_copy(update={"experiments": experiments, "where": where, **single})


def _grid(paper: PaperConfig, experiments: tuple[str, ...], place: str) -> dict[str, list[Any]]:
    """Grid variables of the experiments with all their values."""
    check_known(f"{place}: experiment", experiments, paper.experiments)
    grid: dict[str, list[Any]] = {}
    for name in experiments:
        for variable, values in paper.experiments[name].grid.items():
            grid.setdefault(variable, []).extend(values.value)
    return grid


def _in_grid(grid: Mapping[str, list[Any]], name: str, value: Any, place: str) -> Any:
    """A value of a grid variable with the type of the configuration; a published key has text."""
    if isinstance(value, list):
        return [_in_grid(grid, name, each, place) for each in value]
    check_known(f"{place}: grid variable", [name], grid)
    for known in grid[name]:
        if known in (value, as_number(value) if isinstance(value, str) else value):
            return known
    raise InputError(f"{place}: {name}={value} is not in the grid: {', '.join(dict.fromkeys(map(str, grid[name])))}")


def scale_of(paper: PaperConfig, name: str | None) -> float:
    """The factor from the unit of a metric to the published unit."""
    match name:
        case "percent":
            return 100.0
        case "MB_per_byte":
            return 1 / BYTES_PER_MB
        case "MB_per_packet":
            return paper.settings["payload_bytes"].value / BYTES_PER_MB
    return 1.0
