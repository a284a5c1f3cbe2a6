"""Rounding of floating-point numbers in files: to a fixed count of significant digits.

Libraries choose instructions by the processor: fused multiply-add, the order of a sum, the polynomial of a logarithm. The last
bits of a double depend on that choice; files must not. Twelve digits are more than an exhibit shows and exclude these bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from tcpfair.files.files import whole

SIGNIFICANT_DIGITS = 12
# strings as Python objects: tables of results are small, and each operation on pyarrow's strings costs more than it saves
pd.options.mode.string_storage = "python"


def rounded(value: float, digits: int = SIGNIFICANT_DIGITS) -> float:
    """``value`` to ``digits`` significant digits; NaN and infinities stay.

    It is rounded to `SIGNIFICANT_DIGITS` first, so the last bits do not decide a tie of fewer digits.
    """
    return float(f"{float(f'{value:.{SIGNIFICANT_DIGITS}g}'):.{digits}g}")


def rounded_table(table: pd.DataFrame, digits: int = SIGNIFICANT_DIGITS) -> pd.DataFrame:
    """``table`` with every float `rounded`, in columns of floats and of mixed objects; other columns and all types stay."""
    columns = {}
    for name, column in table.items():
        if pd.api.types.is_float_dtype(column) or pd.api.types.is_object_dtype(column):
            values = [rounded(x, digits) if isinstance(x, float) else x for x in column.tolist()]
            columns[name] = pd.Series(values, table.index, column.dtype)
    return table.assign(**columns)


def write_tables(tables: Mapping[str, pd.DataFrame], place: Path) -> None:
    """Write tables as CSV, with every float `rounded`, to a folder that may contain others."""
    for name, table in tables.items():
        with whole(place / f"{name}.csv") as scratch:
            rounded_table(table).to_csv(scratch, index=False, float_format="%.7g", lineterminator="\n")
