"""The metrics of a paper's experiments as tables: a row per replicate, a column per cell.

A cell is a flow (0: the system) at a point of an experiment's grid. Published numbers, exhibits and claims read their cells
from these tables, for runs and for ensembles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

REPLICATE = "replicate"
_NO_PLACE = {"run_id", REPLICATE, "metric", "value", "derived"}  # the other columns of metrics identify a cell

LoadMetrics = Callable[[str], pd.DataFrame]


class Table(NamedTuple):
    """``values``: a row per replicate, a column per cell, NaN without a value. ``places``: a row per cell.

    Columns of ``places``: flow, flow_protocol, the grid variables, and ``runs``, the number of runs with or without a value.
    """

    values: pd.DataFrame
    places: pd.DataFrame

    def at(self, where: Mapping[str, Any]) -> Table:
        """The cells with these values (or one of several) in columns of ``places``; unknown columns are ignored."""
        chosen = np.ones(len(self.places), dtype=bool)
        for name, value in where.items():
            if name in self.places:
                chosen &= self.places[name].isin(value if isinstance(value, list) else [value]).to_numpy()
        return self if chosen.all() else self.take(np.flatnonzero(chosen))

    def take(self, cells: npt.ArrayLike) -> Table:
        """Some of the cells, by their positions."""
        values = self.values.iloc[:, cells]
        return Table(values.set_axis(range(values.shape[1]), axis=1), self.places.iloc[cells].reset_index(drop=True))


def table_of(rows: npt.ArrayLike, cells: npt.ArrayLike, values: npt.ArrayLike, places: pd.DataFrame) -> Table:
    """The table of single ``values``, each with its replicate ``rows`` and the position ``cells`` of its place, without
    duplicates."""
    replicates, row = np.unique(rows, return_inverse=True)
    matrix = np.full((len(replicates), len(places)), np.nan)
    matrix[row, cells] = values
    runs = np.bincount(cells, minlength=len(places))
    texts = {name: object for name in places if not pd.api.types.is_numeric_dtype(places[name])}
    return Table(pd.DataFrame(matrix, pd.Index(replicates, name=REPLICATE)), places.astype(texts).assign(runs=runs))


def joined(tables: list[Table]) -> Table:
    """The cells of several tables, over all their replicates."""
    if len(tables) == 1:
        return tables[0]
    values = pd.concat([table.values for table in tables], axis=1, ignore_index=True).sort_index()
    return Table(values, pd.concat([table.places for table in tables], ignore_index=True))


class Measured:
    """The metrics of experiments; ``load`` returns those of one, in the columns of `tcpfair.measures.measure`.

    ``read_as`` maps an experiment and a metric to another metric that is read instead.
    """

    def __init__(self, load: LoadMetrics, read_as: Mapping[tuple[str, str], str] = MappingProxyType({})) -> None:
        self.load = cache(load)
        self.of = cache(lambda experiment, metric: self._table(experiment, read_as.get((experiment, metric), metric)))
        self.of_flow = cache(self._grid)
        self.n_runs = cache(lambda experiment: self.load(experiment)["run_id"].nunique())
        self._by_metric = cache(lambda experiment: dict(list(self.load(experiment).groupby("metric", sort=False))))

    def _table(self, experiment: str, metric: str) -> Table:
        """One metric of all flows and of the system, cells in the order of the runs; no cells if it was not measured."""
        found = self._by_metric(experiment)
        rows = found.get(metric, self.load(experiment).iloc[:0])
        names = [name for name in rows if name not in _NO_PLACE]
        groups = rows.groupby(names, sort=False, dropna=False)
        cells = groups.ngroup().to_numpy()
        places = rows.loc[~rows.duplicated(names), names].reset_index(drop=True)
        replicates = rows[REPLICATE].to_numpy()
        if pd.MultiIndex.from_arrays([replicates, cells]).has_duplicates:  # a user's runs need not be numbered
            replicates = groups.cumcount().to_numpy()
        return table_of(replicates, cells, rows["value"].to_numpy(dtype=float), places)

    def _grid(self, experiment: str, metric: str, flow: int) -> pd.DataFrame:
        """One metric of one flow: a row per replicate, a column per point of the grid, sorted."""
        values, places = self.of(experiment, metric).at({"flow": flow})
        columns = pd.MultiIndex.from_frame(places.drop(columns=["flow", "flow_protocol", "runs"], errors="ignore"))
        order = np.lexsort(columns.codes[::-1])
        return pd.DataFrame(values.to_numpy()[:, order], values.index, columns[order])

    def replicates(self, experiment: str) -> npt.NDArray:
        """The numbers of an experiment's replicates, in ascending order."""
        return np.unique(self.load(experiment)[REPLICATE])
