"""Compare the files of two folders: list files with different bytes, and the differences of the numbers in tables.

    python scripts/compare_folders.py ONE OTHER

Tables are CSV and Parquet files. Prints a line for each file that differs and exits with 1 if any does.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

READERS = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
LEFT_OUT = {".log"}


def compare(one: Path, other: Path) -> tuple[int, list[str]]:
    """The number of files found in either folder, and a line for each that differs; symbolic links are not followed."""
    names = sorted(_names(one) | _names(other))
    return len(names), [f"{name}: {why}" for name in names if (why := _difference(one / name, other / name))]


def _names(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path.suffix not in LEFT_OUT
    }


def _difference(one: Path, other: Path) -> str:
    missing = [path for path in (one, other) if not path.is_file()]
    if missing:
        return f"missing in {missing[0].parent}"
    if one.read_bytes() == other.read_bytes():
        return ""
    if one.suffix not in READERS:
        return "other bytes"
    tables = [READERS[one.suffix](path) for path in (one, other)]
    return table_difference(*tables) or "other bytes, equal values"


def table_difference(one: pd.DataFrame, other: pd.DataFrame) -> str:
    """The number of values that differ between two tables, and the largest relative difference; empty without any."""
    if list(one.columns) != list(other.columns) or len(one) != len(other):
        return f"other columns or rows ({one.shape} and {other.shape})"
    found = []
    for name in one:
        a, b = one[name], other[name]
        differs = (a != b) & ~(a.isna() & b.isna())
        if not differs.any():
            continue
        text = f"{name}: {int(differs.sum())} of {len(a)} values"
        if pd.api.types.is_float_dtype(a) and pd.api.types.is_float_dtype(b):
            x, y = a[differs].to_numpy(), b[differs].to_numpy()
            with np.errstate(invalid="ignore", divide="ignore"):
                largest = np.nanmax(np.abs(x - y) / np.maximum(np.abs(x), np.abs(y)))
            text += f", by {largest:.1e} at most"
        found.append(text)
    return "; ".join(found)


if __name__ == "__main__":
    folders = [Path(name) for name in sys.argv[1:]]
    if len(folders) != 2:
        sys.exit(__doc__)
    for folder in folders:
        if not folder.is_dir():
            print(f"error: {folder}: not a folder", file=sys.stderr)
            sys.exit(2)
    n_files, lines = compare(*folders)
    print("\n".join([*lines, f"{len(lines)} of {n_files} files differ"]))
    sys.exit(bool(lines))
