"""Numbers as a table for notebooks."""

from __future__ import annotations

import pandas as pd

from tcpfair.verdicts.printed import parse_key


def cells(numbers: pd.DataFrame, *metrics: str) -> pd.DataFrame:
    """Numbers as a table: a row for each key, whose parts are the levels of the index, and a column for each metric.

    ``metrics`` selects metrics, by default all. Parts and values that are numbers become numbers.
    """
    chosen = numbers[numbers["metric"].isin(metrics)] if metrics else numbers
    if chosen.empty:
        return pd.DataFrame(columns=list(metrics))
    parts = pd.DataFrame([parse_key(key) for key in chosen["key"]]).apply(_as_numbers)
    wide = parts.assign(metric=chosen["metric"].to_numpy(), value=chosen["value"].to_numpy())
    wide = wide.set_index([*parts.columns, "metric"])["value"].unstack("metric")
    return wide[list(metrics) or sorted(set(chosen["metric"]))].apply(_as_numbers).rename_axis(columns=None)


def _as_numbers(column: pd.Series) -> pd.Series:
    """The column as numbers if it has only numbers."""
    numeric = pd.to_numeric(column, errors="coerce")
    return numeric if numeric.notna().equals(column.notna()) else column
