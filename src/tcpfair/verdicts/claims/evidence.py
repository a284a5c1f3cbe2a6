"""The evidence for a claim: tables of the metrics of its experiments, a row for each case.

The caller selects what a row is (`Rows`), and no function of a claim depends on it. A function turns tables into quantities,
row by row; `tcpfair.verdicts.claims.decision` decides whether a quantity satisfies the bounds of its clause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs.trace import Trace
from tcpfair.verdicts.claims.statement import Claim
from tcpfair.verdicts.combine import N_DRAWS, drawn
from tcpfair.verdicts.measured import REPLICATE as REPLICATE
from tcpfair.verdicts.measured import Measured

Table = pd.DataFrame  # a row per case, a column per cell
Quantity = pd.DataFrame | pd.Series | float  # of a clause: cells, one cell, or one deterministic value
# ``runs``: a row per run (a replicate of every cell); ``settings``: per setting of an ensemble, with the means over its runs;
# ``mean``: one row with the mean over the runs; ``means``: that row, then one for each mean from `drawn`
Rows = Literal["runs", "settings", "mean", "means"]
Combining = Literal["mean", "geometric mean", "min", "max", "range"]


@dataclass
class Evidence:
    """The input of a claim's function; ``runs`` counts the runs that it has used, by experiment.

    With ``kept_only``, only the configured replicates count, which is the paper's own number of runs.
    """

    claim: Claim
    config: PaperConfig
    measured: Measured
    load_trace: Callable[[str], Trace]
    rows: Rows = "runs"
    runs: dict[str, int] = field(default_factory=dict)
    kept_only: bool = False

    @property
    def has_further_runs(self) -> bool:
        """Whether a used experiment has more runs than the configuration."""
        return any(
            self.measured.replicates(name)[-1] >= self.config.experiments[name].runs.value
            for name in self.runs
            if name in self.config.experiments
        )

    def __getitem__(self, name: str) -> Any:
        """One of the claim's ``numbers``."""
        if name not in self.claim.numbers:
            raise InputError(f"{self._where}: numbers.{name}: missing; the function of the claim needs it")
        return self.claim.numbers[name]

    def count_runs(self, experiment: str) -> None:
        """Record that the runs of one of the claim's experiments are used."""
        self._check_declared(experiment)
        if not self.kept_only and experiment not in self.runs and self.rows != "settings":
            self.runs[experiment] = self.measured.n_runs(experiment)

    def trace(self, experiment: str) -> Trace:
        """The trace of one of the claim's experiments."""
        self._check_declared(experiment)
        trace = self.load_trace(experiment)
        self.runs[experiment] = len(trace.runs)
        return trace

    def _check_declared(self, experiment: str) -> None:
        if experiment not in self.claim.experiments:
            raise InputError(f"{self._where}: experiments: add {experiment!r}, which the function of the claim reads")

    def table(
        self,
        experiment: str,
        metric: str,
        by: str | Sequence[str],
        flow: int = 0,
        replicates: slice = slice(None),
        **where: Any,
    ) -> Table:
        """One metric as a table: a row per case, a column per value of the grid variable(s) ``by``, in ascending order.

        ``flow`` is 1, 2, .. or 0 for the system; ``replicates`` selects some of the runs of each cell. ``where`` selects values
        of grid variables as in `tcpfair.verdicts.claims.statement.Cells`; a list also sets their order. Raises InputError when
        no run has them.
        """
        per_run = self.per_run(experiment, metric, by, flow, **where)
        return self.of_runs(per_run if self.rows == "settings" else per_run.loc[replicates])

    def sd(self, experiment: str, metric: str, by: str | Sequence[str], flow: int = 0, **where: Any) -> Table:
        """As `table`, with the standard deviation over the replicates; NaN if it is unknown."""
        per_run = self.per_run(experiment, metric, by, flow, **where)
        return self._over_runs(per_run, 1) if self.rows in ("mean", "means") else per_run * np.nan

    def flows(self, experiment: str, metric: str) -> list[int]:
        """Numbers of the flows for which an experiment has a metric; [1] without any, so that `table` reports what is missing."""
        self.count_runs(experiment)
        flows = self.measured.of(experiment, metric).places["flow"]
        return sorted(flows[flows > 0].unique()) or [1]

    def of_runs(self, values: Table | pd.Series) -> Table:
        """Values that were computed for every replicate, converted to the rows of tables."""
        table = values.to_frame("") if isinstance(values, pd.Series) else values
        return self._over_runs(table, 0) if self.rows in ("mean", "means") else table

    def _over_runs(self, table: Table, which: int) -> Table:
        n_draws = N_DRAWS if self.rows == "means" else 0
        return pd.DataFrame(drawn(table.to_numpy(dtype=float), n_draws)[which], columns=table.columns)

    def per_run(self, experiment: str, metric: str, by: str | Sequence[str], flow: int = 0, **where: Any) -> Table:
        """As `table`, but always with a row per replicate."""
        self.count_runs(experiment)
        table = self.measured.of_flow(experiment, metric, flow)
        index, kept = table.columns, np.arange(table.shape[1])  # kept: positions of the selected cells
        places = dict(zip(index.names, zip(index.levels, index.codes, strict=True), strict=True))
        for name, which in where.items():
            if name in places:
                values, codes = places[name][0], places[name][1][kept]
                ranks = {value: rank for rank, value in enumerate(_listed(which, name, values[np.unique(codes)]))}
                rank = np.array([ranks.get(value, -1) for value in values])[codes]
                order = np.argsort(rank, kind="stable") if isinstance(which, list) else np.arange(len(kept))
                kept = kept[order[rank[order] >= 0]]
        if not len(kept):
            fixed = ", ".join(f"{name}={value}" for name, value in where.items())
            raise InputError(f"{self._where}: {experiment} has no {metric} of flow {flow} {fixed}".rstrip())
        names = [by] if isinstance(by, str) else list(by)
        levels, codes = [places[name][0] for name in names], [places[name][1][kept] for name in names]
        columns = levels[0][codes[0]] if isinstance(by, str) else pd.MultiIndex(levels, codes, names=names)
        found = pd.DataFrame(table.to_numpy()[:, kept], table.index, columns)
        return found[found.index < self.config.experiments[experiment].runs.value] if self.kept_only else found

    @property
    def _where(self) -> str:
        return f"data/claims/{self.claim.paper}.yaml: {self.claim.id}"


def _listed(which: Any, name: str, values: pd.Index) -> list:
    """The values of a grid variable that ``where`` selects. Raises InputError for a listed value that no run has."""
    if isinstance(which, list):
        for value in which:
            if value not in values:
                raise InputError(f"{name}={value}: no run has it")
        return list(dict.fromkeys(which))
    if not isinstance(which, dict):
        return [which] if which in values else []
    if "but" in which:
        return [value for value in values if value not in np.atleast_1d(which["but"])]
    return [value for value in values if which.get("from", -np.inf) <= value <= which.get("to", np.inf)]


# --- Quantities ---------------------------------------------------------------------------------------------------


def combined(x: Table, do: Combining, along: str = "") -> Table | pd.Series:
    """One value from all columns of each row, or from those along one grid variable; NaN if one of them is NaN."""
    if do == "geometric mean":
        with np.errstate(divide="ignore"):  # the ratio is 0 if a flow was locked out
            return np.exp(combined(np.log(x), "mean", along))
    if do == "range":
        return combined(x, "max", along) - combined(x, "min", along)
    if not along:
        return getattr(x, do)(axis=1, skipna=False)
    kept = [name for name in x.columns.names if name != along]
    by_kept = x.T.groupby(level=kept if len(kept) > 1 else kept[0])
    return getattr(by_kept, do)(skipna=False).T


def share_of(known: Table, held: Table) -> pd.Series:
    """Share of the columns in which ``held`` is true; NaN if one is not ``known``."""
    return held.astype(float).where(known).mean(axis=1, skipna=False)


def factor(ratio: Any) -> Any:
    """The larger of x and 1/x for each of some ratios: 2 for a half."""
    return np.maximum(ratio, 1 / ratio)


def trend(x: Table) -> pd.Series:
    """Kendall's rank correlation of the values with the order of the columns: 1 if every pair rises, -1 if every pair falls.

    Ties count for neither side. NaN if a cell has no value. M. G. Kendall, A new measure of rank correlation, Biometrika 30,
    1938.
    """
    ordered = x.sort_index(axis=1).to_numpy(dtype=float)
    first, second = np.triu_indices(ordered.shape[1], k=1)
    with np.errstate(invalid="ignore"):
        signs = np.sign(ordered[:, second] - ordered[:, first])
    return pd.Series(signs.mean(axis=1), index=x.index)
