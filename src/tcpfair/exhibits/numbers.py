"""Reproduced numbers: metrics of runs as one row per number, under the keys of the printed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from tcpfair.contract import rounding
from tcpfair.errors import InputError
from tcpfair.verdicts.combine import OverCells, over_cells
from tcpfair.verdicts.printed import make_key, parse_key

NUMBER_COLUMNS = ["exhibit", "key", "metric", "value", "sd", "n_runs"]
SIGNIFICANT_DIGITS = 7  # more would differ between processors

Centre = Literal["mean", "median"]


def over_runs(metrics: pd.DataFrame, metric: str, by: Sequence[str], centre: Centre = "mean") -> pd.DataFrame:
    """``value``, ``sd`` (sample standard deviation) and ``n_runs`` of one metric over the runs of each group.

    ``by`` are columns of the tidy ``metrics``; groups keep their order. A run without a value does not count.
    Raises InputError when the experiment does not measure it.
    """
    chosen = metrics[metrics["metric"] == metric]
    if chosen.empty:
        raise InputError(f"metric {metric!r}: not among the metrics of this experiment; check its `measures`")
    groups = chosen.groupby(list(by), sort=False)["value"]
    return groups.agg(value=centre, sd="std", n_runs="count").reset_index()


def quantiles_over_runs(metrics: pd.DataFrame, metric: str, by: Sequence[str], levels: Sequence[float]) -> pd.DataFrame:
    """Quantiles of one metric over the runs of each group: a column for each of ``levels``."""
    groups = metrics[metrics["metric"] == metric].groupby(list(by), sort=False)["value"]
    return groups.quantile(list(levels)).unstack().reindex(columns=list(levels)).reset_index()


def number_rows(
    exhibit_id: str,
    metric: str,
    cells: pd.DataFrame,
    key: Sequence[str],
    names: Mapping[str, str] | None = None,
    **fixed: str | float,
) -> pd.DataFrame:
    """Cells with ``value`` (and ``sd``, ``n_runs``) as numbers; ``key`` are the columns that make up their keys.

    ``names`` translates labels of the configuration into those of the printed keys, ``fixed`` adds parts to every key; where
    it names a column of ``key``, the column says which of several values a cell has.
    """
    fixed = {name: value for name, value in fixed.items() if name not in key}
    parts = cells[list(key)].replace({"protocol": dict(names or {})}) if "protocol" in key else cells[list(key)]
    frame = pd.DataFrame(
        {
            "exhibit": exhibit_id,
            "key": [make_key(**row, **fixed) for row in parts.to_dict("records")],
            "metric": metric,
            "value": cells["value"].to_numpy(),
            "sd": cells["sd"].to_numpy() if "sd" in cells else np.nan,
            "n_runs": cells["n_runs"].to_numpy() if "n_runs" in cells else 0,
        }
    )
    return frame.astype({"n_runs": "int64"})


def single_number(exhibit_id: str, metric: str, value: float | str, **key: str | float) -> pd.DataFrame:
    """One number that is not a mean over runs."""
    return number_rows(exhibit_id, metric, pd.DataFrame([{**key, "value": value}]), list(key))


def no_numbers() -> pd.DataFrame:
    """What an exhibit without numbers gives."""
    return pd.DataFrame(columns=NUMBER_COLUMNS)


def cells(numbers: pd.DataFrame, *metrics: str) -> pd.DataFrame:
    """Numbers as a table: a row for each key, whose parts are the levels of the index, and a column for each metric.

    ``metrics`` names those that are wanted, all when none are named. Parts and values that are numbers become numbers.
    """
    chosen = numbers[numbers["metric"].isin(metrics)] if metrics else numbers
    if chosen.empty:
        return pd.DataFrame(columns=list(metrics))
    parts = pd.DataFrame([parse_key(key) for key in chosen["key"]]).apply(_as_numbers)
    wide = parts.assign(metric=chosen["metric"].to_numpy(), value=chosen["value"].to_numpy())
    wide = wide.set_index([*parts.columns, "metric"])["value"].unstack("metric")
    return wide[list(metrics) or sorted(set(chosen["metric"]))].apply(_as_numbers).rename_axis(columns=None)


def _as_numbers(column: pd.Series) -> pd.Series:
    """The column as numbers where it has nothing else."""
    numeric = pd.to_numeric(column, errors="coerce")
    return numeric if numeric.notna().equals(column.notna()) else column


def rounded(numbers: pd.DataFrame) -> pd.DataFrame:
    """Numbers as they are stored: to a fixed count of significant digits, letters as they are."""
    return numbers.assign(value=numbers["value"].map(_round), sd=numbers["sd"].map(_round))


def _round(value: Any) -> Any:
    return value if isinstance(value, str) else rounding.rounded(float(value), SIGNIFICANT_DIGITS)


# --- Statements of the text --------------------------------------------------------------------------------------


class Statement(BaseModel):
    """A number in the text that says something about many cells: how it follows from the cells of the exhibit."""

    model_config = ConfigDict(extra="forbid")

    metric: str
    key: dict[str, str | float]
    of: str  # metric of the cells
    rule: OverCells
    where: dict[str, list[Any]] = Field(default_factory=dict)
    over: str = "rtt_ms"
    leaders: list[str] = Field(default_factory=list)  # protocols that stand above the others, for the last two rules
    slack: float = 0.0  # how far below the others still counts as not below
    factor: float = 1.0  # from the unit of the cells, or of their places, to that of the number
    exhibit: str = ""  # when the number belongs to a section, not to the exhibit


def stated_numbers(exhibit_id: str, cells: pd.DataFrame, statements: Sequence[Statement]) -> pd.DataFrame:
    """The statements' numbers from ``cells``: key columns, ``metric`` and ``value``."""
    found = [no_numbers()]
    for statement in statements:
        chosen = _selected(cells, statement)
        found_there = over_cells(chosen, statement.rule, statement.over, statement.leaders, statement.slack)
        value = statement.factor * found_there
        found.append(single_number(statement.exhibit or exhibit_id, statement.metric, value, **statement.key))
    return pd.concat([frame for frame in found if len(frame)] or found, ignore_index=True)


def _selected(cells: pd.DataFrame, statement: Statement) -> pd.DataFrame:
    chosen = cells["metric"] == statement.of
    for column, values in statement.where.items():
        chosen &= cells[column].isin(values)
    return cells[chosen]
