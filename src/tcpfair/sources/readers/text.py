"""Text files, plain or gzipped, as the tools on a test host leave them."""

from __future__ import annotations

import gzip
import io
import json
import warnings
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.errors import ParserWarning

from tcpfair.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
HEAD_BYTES = 65_536


def read_text(path: Path) -> str:
    """The whole file as UTF-8 text, decompressed if it is gzip (told by its first bytes, not by its name).

    Raises InputError when the file cannot be opened, is cut or damaged gzip, or is not text.
    """
    try:
        data = path.read_bytes()
        if data.startswith(GZIP_MAGIC):
            data = gzip.decompress(data)
        return data.decode("utf-8")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: damaged gzip ({error}); copy the file again from the host that wrote it") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a readable file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text (byte {error.start} is not UTF-8); give the tool's own output") from None


def head(path: Path) -> str:
    """The beginning of a file as text, '' when there is none; never raises, so that any file can be sniffed."""
    try:
        with path.open("rb") as stream:
            data = stream.read(HEAD_BYTES)
        if data.startswith(GZIP_MAGIC):
            # a decompressor object gives what a cut file still holds
            data = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(data, HEAD_BYTES)
    except (OSError, zlib.error):
        return ""
    return data.decode("utf-8", errors="replace")


def read_json(path: Path) -> dict[str, Any]:
    """A file that holds one JSON object; InputError when it is damaged or holds anything else."""
    text = read_text(path)
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON at line {error.lineno} ({error.msg}); give the whole file") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of brackets
        raise InputError(f"{path}: not JSON that any tool writes; give the whole file") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: must hold one JSON object")
    return values


def read_csv(path: Path, columns: dict[str, tuple[str, float, float]]) -> pd.DataFrame:
    """The named columns of a CSV with header, as {name: (type, least, largest)}; type "str" has no bounds.

    Raises InputError naming file and column for a damaged file, a missing column, a value of another type or out of
    bounds, and no rows at all.
    """
    kinds = {name: kind for name, (kind, _, _) in columns.items()}
    text = io.StringIO(read_text(path))
    try:
        # an infinite integer becomes the smallest one, out of bounds below; rows longer than the header are an error
        with np.errstate(invalid="ignore"), warnings.catch_warnings(action="error", category=ParserWarning):
            table = pd.read_csv(text, dtype=kinds, keep_default_na=False, index_col=False)
    except (ValueError, OverflowError, ParserWarning) as error:
        reason = (str(error).splitlines() or ["no CSV"])[0]
        raise InputError(f"{path}: {reason}; give a CSV with numbers in the columns {', '.join(kinds)}") from None
    missing = [name for name in kinds if name not in table]
    if missing:
        raise InputError(f"{path}: {missing[0]}: missing; give a CSV with the columns {', '.join(kinds)}")
    table = table[list(kinds)]
    if table.empty:
        raise InputError(f"{path}: no rows; lines with {', '.join(kinds)} must follow the header")
    for name, (kind, least, largest) in columns.items():
        if kind == "str":
            continue
        wrong = table.index[~table[name].between(least, largest)]  # NaN is not between either
        if len(wrong):
            raise InputError(
                f"{path}: {name}: {table[name][wrong[0]]} in line {wrong[0] + 2} is not between {least:g} and {largest:g}"
            )
    return table


def check_increasing(table: pd.DataFrame, times: str, counters: Collection[str], path: Path) -> None:
    """Raise InputError unless column ``times`` increases from row to row and no column of ``counters`` decreases."""
    if not (table[times].diff()[1:] > 0).all():
        raise InputError(f"{path}: {times}: must increase from row to row; give one recording, in order of time")
    for name in counters:
        if (table[name].diff() < 0).any():
            raise InputError(f"{path}: {name}: decreases, but it counts; give one recording, in order of time")
