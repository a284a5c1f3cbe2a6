"""What a claim is decided on: tables of the metrics of its experiments, a row for each case.

What a row is depends on who asks, and no function of a claim knows it: a single run of every cell (a replicate), the means
that the papers print and their resamples (`Means`), or one setting of the ensemble. A function turns tables into quantities,
row by row; whether a quantity keeps the bounds of its clause is decided in `tcpfair.verdicts.claims.decision`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs.trace import Trace
from tcpfair.verdicts.claims.statement import Claim

REPLICATE = "replicate"
N_RESAMPLES = 1000

Table = pd.DataFrame  # a row per case, a column per cell
Quantity = pd.DataFrame | pd.Series | float  # of a clause: cells, one cell, or one value where nothing is random


class SingleRuns:
    """A row for each replicate."""

    def among(self, table: Table, replicates: slice) -> Table:
        return table.loc[replicates]

    def means(self, table: Table) -> Table:
        return table

    def sds(self, table: Table) -> Table:
        """A single run has no spread: NaN."""
        return table * np.nan


class Settings:
    """A row for each setting of the ensemble, whose tables have the means over the replicates already."""

    def among(self, table: Table, replicates: slice) -> Table:
        """All: which replicate gave what is not kept."""
        return table

    def means(self, table: Table) -> Table:
        return table

    def sds(self, table: Table) -> Table:
        """Not kept: NaN."""
        return table * np.nan


class Means:
    """Row 0 has the means over the replicates, the other rows those of resamples of the replicates (bootstrap).

    Replicates are drawn with replacement, all cells of a table together: what is measured in one run stays together. The
    draw depends on the number of replicates only, so that tables of the same runs stay together too.
    """

    def among(self, table: Table, replicates: slice) -> Table:
        return table.loc[replicates]

    def means(self, table: Table) -> Table:
        return self._frame(_weighted(table.to_numpy(dtype=float), _weights(len(table))), table)

    def sds(self, table: Table) -> Table:
        """Standard deviations over the replicates (n - 1), and those of the resamples."""
        values = table.to_numpy(dtype=float)
        n = np.isfinite(values).sum(axis=0)
        mean, square = (_weighted(part, _weights(len(table))) for part in (values, values**2))
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = np.where(n > 1, np.maximum(square - mean**2, 0.0) * n / (n - 1), np.nan)
        return self._frame(np.sqrt(variance), table)

    @staticmethod
    def _frame(values: npt.NDArray, table: Table) -> Table:
        return pd.DataFrame(values, columns=table.columns)


@cache
def _weights(n: int) -> npt.NDArray[np.float64]:
    """Share of each of ``n`` replicates in the means: all alike in row 0, as drawn in the others, (1 + resamples, n)."""
    drawn = np.random.Generator(np.random.Philox(n)).multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES)
    return np.vstack([np.ones(n), drawn]) / n


def _weighted(values: npt.NDArray, weights: npt.NDArray) -> npt.NDArray:
    """Weighted means of the columns; without what is NaN, and infinite where an infinite value has weight."""
    finite, endless = np.isfinite(values), np.isinf(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = _product(weights, np.where(finite, values, 0.0)) / _product(weights, finite | endless)
    return np.where(_product(weights, endless) > 0, np.inf, means)


def _product(weights: npt.NDArray, values: npt.NDArray) -> npt.NDArray:
    """``weights @ values``, summed in the order of the replicates: the order of a BLAS depends on the processor."""
    found = np.zeros((len(weights), values.shape[1]))
    for share, row in zip(weights.T, values, strict=True):
        found += share[:, np.newaxis] * row
    return found


@dataclass
class Evidence:
    """What one claim may look at, each loaded when it is asked for.

    ``load_metrics`` and ``load_trace`` take the name of an experiment; ``rows`` says what the rows of tables are; ``runs``
    counts the runs of the experiments asked for. ``runs`` and ``tables`` may be shared by the evidence of one claim.
    """

    claim: Claim
    config: PaperConfig
    load_metrics: Callable[[str], pd.DataFrame]
    load_trace: Callable[[str], Trace]
    rows: SingleRuns | Means | Settings = field(default_factory=SingleRuns)
    runs: dict[str, int] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)  # of single runs that were read already, by what they have

    def __getitem__(self, name: str) -> Any:
        """One of the claim's ``numbers``."""
        if name not in self.claim.numbers:
            raise InputError(f"{self._where}: numbers.{name}: missing; the function of the claim needs it")
        return self.claim.numbers[name]

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

    def table(
        self,
        experiment: str,
        metric: str,
        by: str | Sequence[str],
        flow: int = 0,
        replicates: slice = slice(None),
        **where: Any,
    ) -> Table:
        """One metric as a table: a row per case, a column per value of the grid variable(s) ``by``.

        ``flow`` is 1, 2, .. or 0 for the system; ``replicates`` takes some of the runs of each cell, and ``where`` fixes
        further grid variables to one value. Raises InputError when no run has it.
        """
        per_run = self._per_run(experiment, metric, by, flow, where)
        return self.rows.means(self.rows.among(per_run, replicates))

    def sd(self, experiment: str, metric: str, by: str | Sequence[str], flow: int = 0, **where: Any) -> Table:
        """As `table`, of the standard deviation over the replicates: NaN where that is not known."""
        return self.rows.sds(self._per_run(experiment, metric, by, flow, where))

    def count(self, experiment: str, metric: str, by: str | Sequence[str], flow: int = 0, **where: Any) -> pd.Series:
        """How many replicates have a value, by cell."""
        return self._per_run(experiment, metric, by, flow, where).count()

    def flows(self, experiment: str, metric: str) -> list[int]:
        """Numbers of the flows of which an experiment has a metric; 1 where it has none, so that `table` says what is missing."""
        metrics = self.metrics(experiment)
        found = metrics.loc[(metrics["metric"] == metric) & (metrics["flow"] > 0), "flow"]
        return sorted(found.unique()) or [1]

    def of_runs(self, values: Table | pd.Series) -> Table:
        """What was computed for every replicate, from a trace, in the rows that tables have."""
        return self.rows.means(values.to_frame("") if isinstance(values, pd.Series) else values)

    def _per_run(self, experiment: str, metric: str, by: str | Sequence[str], flow: int, where: dict) -> Table:
        asked = repr((experiment, metric, by, flow, where))
        if asked not in self.tables:
            self.tables[asked] = self._read(experiment, metric, by, flow, where)
        return self.tables[asked]

    def _read(self, experiment: str, metric: str, by: str | Sequence[str], flow: int, where: dict) -> Table:
        metrics = self.metrics(experiment)
        chosen = (metrics["metric"] == metric) & (metrics["flow"] == flow)
        for name, value in where.items():
            chosen &= metrics[name] == value
        if not chosen.any():
            fixed = ", ".join(f"{name}={value}" for name, value in where.items())
            raise InputError(f"{self._where}: {experiment} has no {metric} of flow {flow} {fixed}".rstrip())
        keys = [by] if isinstance(by, str) else list(by)
        return metrics[chosen].set_index([REPLICATE, *keys])["value"].unstack(keys)

    @property
    def _where(self) -> str:
        return f"data/claims/{self.claim.paper}.yaml: {self.claim.id}"

    def _declared(self, experiment: str) -> None:
        if experiment not in self.claim.experiments:
            raise InputError(f"{self._where}: experiments: add {experiment!r}, which the function of the claim reads")


# --- Quantities ---------------------------------------------------------------------------------------------------


def over(x: Table, level: str, how: Literal["min", "max", "mean"]) -> Table:
    """Least, largest or mean value of all columns that share their ``level``; NaN where one of them has none."""
    by_level = x.T.groupby(level=level)
    return getattr(by_level, how)(skipna=False).T


def range_over(x: Table) -> pd.Series:
    """Largest less least value of each row; NaN where a cell has none."""
    return x.max(axis=1, skipna=False) - x.min(axis=1, skipna=False)


def trend(x: Table) -> pd.Series:
    """Kendall's rank correlation of the values with the order of the columns: 1 where every pair rises, -1 where it falls.

    Ties count for neither side. NaN where a cell has no value. M. G. Kendall, A new measure of rank correlation,
    Biometrika 30, 1938.
    """
    ordered = x.sort_index(axis=1).to_numpy(dtype=float)
    first, second = np.triu_indices(ordered.shape[1], k=1)
    with np.errstate(invalid="ignore"):
        signs = np.sign(ordered[:, second] - ordered[:, first])
    return pd.Series(signs.mean(axis=1), index=x.index)
