"""Reproduced numbers as columns of cells, and as rows under the keys of the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files import rounding
from tcpfair.verdicts.printed import IDENTITY, make_key

NUMBER_COLUMNS = [*IDENTITY, "value", "sd", "n_runs"]
SIGNIFICANT_DIGITS = 7  # more would differ between processors


@dataclass(frozen=True)
class Column:
    """One metric at many places: ``cells`` has the columns of ``key``, ``value`` and, from runs, ``sd`` and ``n_runs``.

    ``fixed`` adds parts to every key, ``names`` translates labels of protocols into the published ones. Further columns of
    ``cells`` are only drawn.
    """

    exhibit: str
    metric: str
    cells: pd.DataFrame
    key: Sequence[str]
    fixed: Mapping[str, str | float] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    centre: str = "mean"  # the statistic over runs in ``value``

    @property
    def rows(self) -> pd.DataFrame:
        """The numbers with `NUMBER_COLUMNS`."""
        keys = [make_key(**row, **self.fixed) for row in self.named[list(self.key)].to_dict("records")]
        given = {name: self.cells.get(name, np.nan) for name in ("value", "sd")}
        n_runs = self.cells["n_runs"].fillna(0).astype("int64") if "n_runs" in self.cells else 0
        rows = {"exhibit": self.exhibit, "key": keys, "metric": self.metric, **given, "n_runs": n_runs}
        return pd.DataFrame(rows, self.cells.index).reset_index(drop=True)

    @property
    def named(self) -> pd.DataFrame:
        """The cells with the published names of the protocols."""
        return self.cells.replace({"protocol": dict(self.names)}) if self.names else self.cells

    def of(self, metric: str, name: str) -> Column:
        """Another metric at the same places: the column ``name`` of the cells, which has no spread over runs."""
        return replace(self, metric=metric, cells=self.cells.assign(value=self.cells[name], sd=np.nan))


def single(exhibit: str, metric: str, value: float | str, **key: str | float) -> Column:
    """One number that is not a mean over runs."""
    return Column(exhibit, metric, pd.DataFrame([{**key, "value": value}]), list(key))


@dataclass(frozen=True)
class Numbers:
    """All numbers of an exhibit, column by column."""

    columns: tuple[Column, ...]

    @property
    def table(self) -> pd.DataFrame:
        """Every number with `NUMBER_COLUMNS`."""
        return filled((column.rows for column in self.columns), no_numbers())

    def of(self, metric: str, **fixed: str) -> pd.DataFrame:
        """The cells of a metric, from the columns whose keys have the fixed parts ``fixed``.

        Raises InputError without any.
        """
        found = [
            column.named.assign(**column.fixed)
            for column in self.columns
            if column.metric == metric and fixed.items() <= dict(column.fixed).items()
        ]
        if not found:
            raise InputError(f"metric {metric!r}: not among the numbers of this exhibit; see data/cells.yaml")
        return pd.concat(found, ignore_index=True)

    def from_runs(self, metric: str) -> list[Column]:
        """The columns of a metric that come from runs, in order; without numbers of many cells from the text."""
        return [column for column in self.columns if column.metric == metric and "n_runs" in column.cells]

    def one_from_runs(self, metric: str, flow: int = 0) -> Column:
        """The only column of `from_runs`; of one ``flow``, unless it is 0. Raises InputError without it, or with several."""
        found = [
            c for c in self.from_runs(metric) if not flow or ("flow" in c.cells and c.cells["flow"].eq(flow).all())
        ]
        if len(found) != 1:
            of = f" of flow {flow}" if flow else ""
            given = f"needs one series{of} in data/cells.yaml, has {len(found)}"
            raise InputError(f"metric {metric!r}: this drawing {given}")
        return found[0]

    @property
    def n_runs(self) -> int:
        """The most runs behind one number."""
        return int(
            max((column.cells["n_runs"].max() for column in self.columns if "n_runs" in column.cells), default=0)
        )


def no_numbers() -> pd.DataFrame:
    """The table of an exhibit without numbers."""
    return pd.DataFrame(columns=NUMBER_COLUMNS)


def rounded(numbers: pd.DataFrame) -> pd.DataFrame:
    """Numbers as stored: rounded to a fixed number of significant digits; letters are unchanged."""
    return numbers.assign(value=numbers["value"].map(_round), sd=numbers["sd"].map(_round))


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """A table as CSV."""
    return rounding.rounded_table(frame).to_csv(index=False, float_format="%.7g", lineterminator="\n").encode()


def _round(value: Any) -> Any:
    return value if isinstance(value, str) else rounding.rounded(float(value), SIGNIFICANT_DIGITS)


# --- From metrics -------------------------------------------------------------------------------------------------


def joined(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Frames of the same columns as one."""
    return pd.concat(list(frames), ignore_index=True)


def filled(frames: Iterable[pd.DataFrame], empty: pd.DataFrame) -> pd.DataFrame:
    """Those frames that have rows as one; ``empty`` if none has."""
    found = [frame for frame in frames if len(frame)]
    return joined(found) if found else empty


def selected(table: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Rows whose columns have the values of ``where``, or one of them where it lists several."""
    for column, value in where.items():
        table = table[table[column].isin(value if isinstance(value, list) else [value])]
    return table


def of_metric(metrics: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The rows of one metric. Raises InputError when the experiment does not measure it."""
    chosen = metrics[metrics["metric"] == metric]
    if chosen.empty:
        raise InputError(f"metric {metric!r}: not among the metrics of this experiment; check its `measures`")
    return chosen


def quantiles_over_runs(metrics: pd.DataFrame, metric: str, by: Sequence[str], levels: Sequence[float]) -> pd.DataFrame:
    """Quantiles of one metric over the runs of each group: a column for each of ``levels``."""
    groups = metrics[metrics["metric"] == metric].groupby(list(by), sort=False)["value"]
    return groups.quantile(list(levels)).unstack().reindex(columns=list(levels)).reset_index()
