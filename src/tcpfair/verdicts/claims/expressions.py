"""Quantities of the claims that define their cells in ``data/claims/<paper>.yaml``.

An expression (`tcpfair.verdicts.claims.statement.Expression`) starts with a table of cells, and its steps are applied in order.
``less`` and ``base`` subtract other cells or divide by them, ``join`` adds their columns. ``mean``, ``geometric mean``, ``min``,
``max`` and ``range`` combine all columns, or those along one grid variable. ``median``, ``trend`` (`evidence.trend`) and
``typical factor`` (the factor by which columns typically deviate from their geometric mean) combine all columns. ``factor`` (the
larger of x and 1/x), ``abs``, ``power`` and ``above`` (1 if a cell exceeds a number, else 0) work cell by cell. ``names`` lists
the names of the columns in the ledger.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpfair.errors import check_known
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import Evidence, Table, combined, factor, trend
from tcpfair.verdicts.claims.statement import Cells, Expression, Step


def quantities(evidence: Evidence) -> Quantities:
    """The quantity of each clause of a claim that has expressions. Raises InputError for cells that no run has."""
    for name in evidence.claim.experiments:
        evidence.count_runs(name)  # sets the order in which the evidence lists them
    return {name: _value(of, of.cells, evidence) for name, of in evidence.claim.expressions.items()}


def _value(of: Expression, cells: Cells, evidence: Evidence) -> Table | pd.Series:
    found = _table(cells, evidence)
    for step in of.steps:
        if step.by:
            found = _against(found, _value(step.by, cells.but(step.by.cells), evidence), step.do)
        else:
            found = _done(found, step)
    return found


def _table(cells: Cells, evidence: Evidence) -> Table | pd.Series:
    """Columns are flows, if several are selected, and grid variables with several values; a series for one cell."""
    grid = evidence.config.experiments[cells.experiment].grid
    check_known(f"data/claims/{evidence.claim.paper}.yaml: {evidence.claim.id}: of: where", cells.where, grid)
    several = {name for name, which in cells.where.items() if isinstance(which, list | dict)}
    by = [name for name in grid if name in several or (name not in cells.where and len(grid[name].value) > 1)]

    def of_flow(flow: int) -> Table | pd.Series:
        keys = by[0] if len(by) == 1 else by or list(grid)
        table = evidence.table(cells.experiment, cells.measure, keys, flow=flow, **cells.where)
        return table if by else table.iloc[:, 0]

    if not isinstance(cells.flow, tuple | str):
        return of_flow(cells.flow or 0)
    flows = evidence.flows(cells.experiment, cells.measure) if cells.flow == "each" else cells.flow
    return pd.concat({f"flow {flow}": of_flow(flow) for flow in flows}, axis=1, names=["flow"])


def _against(x: Table | pd.Series, y: Table | pd.Series, do: str) -> Table | pd.Series:
    """Each column of ``x`` minus, or divided by, a column of ``y``; or the columns of both.

    The column of ``y`` is the one with the same name, its only one, or, without common names, the one in the same position.
    """
    if do == "join":
        return pd.concat([x, y], axis=1)
    name = {"less": "sub", "base": "div"}[do]
    if x.ndim != y.ndim:
        return getattr(x, name)(y, axis=0) if x.ndim > y.ndim else getattr(y, f"r{name}")(x, axis=0)
    if x.ndim == 2 and x.columns.nlevels > y.columns.nlevels:
        y = y[x.columns.get_level_values(y.columns.name)].set_axis(x.columns, axis=1)
    elif x.ndim == 2 and x.shape == y.shape and not x.columns.isin(y.columns).any():
        y = y.set_axis(x.columns, axis=1)
    return getattr(x, name)(y)


def _done(x: Table, step: Step) -> Table | pd.Series:
    match step.do:
        case "trend":
            return trend(x)
        case "factor":
            return factor(x)
        case "typical factor":
            return np.exp(np.log(x).std(axis=1, ddof=0, skipna=False))
        case "abs":
            return x.abs()
        case "power":
            return x**step.bound
        case "names":
            return x.set_axis(list(step.names), axis=1)
        case "above":
            return (x > step.bound).astype(float).where(x.notna())
        case "median":
            return pd.Series(np.median(x.to_numpy(dtype=float), axis=1), x.index)
    return combined(x, step.do, step.along)
