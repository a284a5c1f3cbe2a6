"""Floating-point numbers as files hold them: rounded to a fixed count of significant digits.

Libraries choose instructions by the processor: fused multiply-add, the order of a sum, the polynomial of a logarithm. The last
bits of a double depend on that choice; files must not. Twelve digits keep all that an exhibit shows and drop these bits.
"""

from __future__ import annotations

import pandas as pd

SIGNIFICANT_DIGITS = 12


def rounded(value: float, digits: int = SIGNIFICANT_DIGITS) -> float:
    """``value`` to ``digits`` significant digits; NaN and infinities stay.

    It is rounded to `SIGNIFICANT_DIGITS` first. So the last bits do not decide which way a tie of fewer digits goes.
    """
    return float(f"{float(f'{value:.{SIGNIFICANT_DIGITS}g}'):.{digits}g}")


def rounded_table(table: pd.DataFrame, digits: int = SIGNIFICANT_DIGITS) -> pd.DataFrame:
    """``table`` with every float `rounded`, in columns of floats and of mixed objects; all else and all types stay."""
    columns = {}
    for name, column in table.items():
        if pd.api.types.is_float_dtype(column) or pd.api.types.is_object_dtype(column):
            values = [rounded(x, digits) if isinstance(x, float) else x for x in column.tolist()]
            columns[name] = pd.Series(values, table.index, column.dtype)
    return table.assign(**columns)
