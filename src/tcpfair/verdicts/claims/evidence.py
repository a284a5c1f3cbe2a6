"""What a claim is decided on: the metrics and traces of its experiments, the numbers of its test, and its finding.

How a tolerance counts. It widens a range or a bound ("lies in", "at most", "is 1 within"), and it is the margin that an
order must clear ("above", "falls", "is largest"): two values within it tie, and a tie is no order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from tcpfair.contract.papers import PaperConfig
from tcpfair.contract.trace import Trace
from tcpfair.errors import InputError

REPLICATE = "replicate"


class Claim(BaseModel):
    """One entry of ``data/claims/<paper>.yaml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z]+\d*\.c\d\d$")
    section: str
    claim: str
    test: str
    in_print: bool | Literal["partly", "undecided"]
    print_note: str
    experiments: list[str] = Field(default=[], description="experiments that decide it; none for a closed form")
    exhibits: list[str] = Field(default=[], description="exhibits that show it")
    thresholds: dict[str, Any] = Field(default={}, description="numbers of the test, by the names its function uses")

    @property
    def paper(self) -> str:
        return self.id.split(".")[0]

    @property
    def function_name(self) -> str:
        return self.id.replace(".", "_")


@dataclass(frozen=True)
class Finding:
    """What a claim's function found.

    ``holds`` is one truth value per replicate, a Series whose index is named ``replicate``, or one bool where nothing is
    random. ``numbers`` are the deciding numbers by their label: tables of `Evidence.table`, Series over replicates or
    over cells, plain numbers or text. A replicate with a NaN in one of its numbers is undecided.
    """

    holds: pd.Series | bool
    numbers: dict[str, pd.DataFrame | pd.Series | float | str]

    def decided(self) -> pd.Series:
        """``holds`` of the replicates that are decided, as bool."""
        holds = self.holds if isinstance(self.holds, pd.Series) else one_replicate(self.holds)
        unknown = pd.Series(False, index=holds.index)
        for value in self.numbers.values():
            unknown |= _unknown(value)
        return holds[~unknown].astype(bool)


@dataclass
class Evidence:
    """What one claim may look at, each loaded when it is asked for.

    ``load_metrics`` and ``load_trace`` take the name of an experiment; ``runs`` counts the runs of those asked for. With
    ``averaged`` every table holds one replicate, the mean over the replicates: what the papers print.
    """

    claim: Claim
    config: PaperConfig
    load_metrics: Callable[[str], pd.DataFrame]
    load_trace: Callable[[str], Trace]
    averaged: bool = False
    runs: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """A number of the claim's test, by its name in ``thresholds``."""
        if name not in self.claim.thresholds:
            raise InputError(f"{self._where}: thresholds.{name}: missing; the function of the claim needs it")
        return self.claim.thresholds[name]

    def metrics(self, experiment: str) -> pd.DataFrame:
        """Tidy metrics of all runs of one of the claim's experiments, columns as of `tcpfair.measures.measure`."""
        self._declared(experiment)
        metrics = self.load_metrics(experiment)
        self.runs[experiment] = metrics["run_id"].nunique()
        return metrics

    def trace(self, experiment: str) -> Trace:
        """The trace of one of the claim's experiments."""
        self._declared(experiment)
        trace = self.load_trace(experiment)
        self.runs[experiment] = len(trace.runs)
        return trace

    def table(self, experiment: str, metric: str, by: str | Sequence[str], flow: int = 0, **where: Any) -> pd.DataFrame:
        """One metric as a table: a row per replicate, a column per value of the grid variable(s) ``by``.

        ``flow`` is 1, 2, .. or 0 for the system; ``where`` fixes further grid variables to one value. Raises InputError
        when no run has it.
        """
        metrics = self.metrics(experiment)
        chosen = (metrics["metric"] == metric) & (metrics["flow"] == flow)
        for name, value in where.items():
            chosen &= metrics[name] == value
        if not chosen.any():
            fixed = ", ".join(f"{name}={value}" for name, value in where.items())
            raise InputError(f"{self._where}: {experiment} has no {metric} of flow {flow} {fixed}".rstrip())
        keys = [by] if isinstance(by, str) else list(by)
        table = metrics[chosen].set_index([REPLICATE, *keys])["value"].unstack(keys)
        return table.mean().to_frame(0).T.rename_axis(index=REPLICATE) if self.averaged else table

    @property
    def _where(self) -> str:
        return f"data/claims/{self.claim.paper}.yaml: {self.claim.id}"

    def _declared(self, experiment: str) -> None:
        if experiment not in self.claim.experiments:
            raise InputError(f"{self._where}: experiments: add {experiment!r}, which the function of the claim reads")


def one_replicate(value: Any) -> pd.Series:
    """A Series over replicates for what is the same in all of them."""
    return pd.Series([value], index=pd.Index([0], name=REPLICATE))


def _unknown(value: pd.DataFrame | pd.Series | float | str) -> pd.Series | bool:
    """Whether a NaN leaves a replicate undecided: one truth value per replicate, or one for all."""
    if isinstance(value, pd.DataFrame):
        return value.isna().any(axis=1)
    missing = pd.isna(value)
    return missing if isinstance(value, pd.Series) and value.index.name == REPLICATE else bool(np.any(missing))


def within(x: pd.DataFrame | pd.Series, low: float, high: float, tolerance: float = 0.0):
    """Whether ``x`` lies in [``low``, ``high``] widened by ``tolerance`` on both sides; of the shape of ``x``."""
    return (x >= low - tolerance) & (x <= high + tolerance)


def at_least(x: pd.DataFrame, bound: float, label: str) -> Finding:
    """Whether every cell of ``x`` is ``bound`` or more: a bound with its tolerance off, or a margin that an order clears."""
    return Finding((x >= bound).all(axis=1), {label: x})


def over(x: pd.DataFrame, level: str, how: Literal["min", "max", "mean"]) -> pd.DataFrame:
    """Least, largest or mean value of all columns that share their ``level``; NaN where one of them has none."""
    by_level = x.T.groupby(level=level)
    return getattr(by_level, how)(skipna=False).T


def never_rises(x: pd.DataFrame, tolerance: float = 0.0, tolerance_rel: float = 0.0) -> pd.Series:
    """Whether no step from a column, in ascending order, to the next rises by more than a tolerance."""
    ascending = x.sort_index(axis=1)
    before = ascending.shift(axis=1).iloc[:, 1:]
    return (ascending.iloc[:, 1:] <= before * (1 + tolerance_rel) + tolerance).all(axis=1)


def range_over(x: pd.DataFrame) -> pd.Series:
    """Largest less least value of each row; NaN where a cell has none."""
    return x.max(axis=1, skipna=False) - x.min(axis=1, skipna=False)


def text_of(value: pd.DataFrame | pd.Series | float | str) -> str:
    """Deciding numbers as text, for each cell: mean ± standard deviation over replicates, or how often each letter."""
    if isinstance(value, pd.DataFrame):
        return ", ".join(f"{_spread(value[cell])} at {_cell_name(cell)}" for cell in value)
    if isinstance(value, pd.Series) and value.index.name == REPLICATE:
        return _spread(value)
    if isinstance(value, pd.Series):
        return ", ".join(f"{number:.3g} at {_cell_name(cell)}" for cell, number in value.items())
    return value if isinstance(value, str) else f"{value:.3g}"


def _spread(values: pd.Series) -> str:
    if not pd.api.types.is_numeric_dtype(values):
        return " ".join(f"{value}×{count}" for value, count in values.value_counts().items())
    endless = np.isinf(values.to_numpy(dtype=float))
    if endless.any():
        rest = f", else {_spread(values[~endless])}" if not endless.all() else ""
        return f"inf in {endless.sum()} of {values.count()}{rest}"
    mean = f"{values.mean():.3g}"
    return mean if values.count() < 2 else f"{mean} ± {values.std():.2g}"


def _cell_name(cell: Any) -> str:
    if isinstance(cell, tuple):
        return " ".join(_cell_name(part) for part in cell)
    return cell if isinstance(cell, str) else f"{cell:g}"
