"""Text with an event on each line: read in pieces of whole lines, by a list of columns; refusals name file and line."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers.observed import LINK
from tcpfair.sources.readers.text import line_blocks, refuse_out_of_bounds

LINK_BIN_S = 0.1


def pieces(path: Path, size_bytes: int, cut: list[str] | None = None) -> Iterator[tuple[np.ndarray, bytes]]:
    """Numbers of lines and the lines themselves, whole, piece by piece.

    A last line without its end is left out and said in ``cut``, or refused where no list is given.
    """
    for line, block in line_blocks(path, size_bytes):
        whole, newline, rest = block.rpartition(b"\n")
        end = line + block.count(b"\n")
        if newline:
            yield np.arange(line, end), (whole + newline).replace(b"\r\n", b"\n")
        if rest.strip() and cut is None:
            raise InputError(f"{path}: line {end}: cut; give the whole file")
        if rest.strip():
            cut.append("the file ends within a line, which is left out")


def refuse_first(wrong: np.ndarray, lines: np.ndarray, path: Path, says: Callable[[int], str]) -> None:
    """Raise InputError for the first row that is wrong, naming its line; ``says(row)`` is what is wrong with it."""
    rows = np.flatnonzero(wrong)
    if len(rows):
        raise InputError(f"{path}: line {np.asarray(lines)[rows[0]]}: {says(int(rows[0]))}")


class Form(NamedTuple):
    """What a line is."""

    separator: str
    columns: dict[str, type]  # type of each word
    bounds: dict[str, tuple[float, float]]  # least and largest of the numbers
    pattern: re.Pattern[bytes]  # tells which line is none
    wrong: str  # what is said of that one
    may_go_on: bool = False  # further words are left out

    def table(self, block: bytes, lines: np.ndarray, path: Path) -> pd.DataFrame:
        """A piece as a table with these columns and ``line``.

        Raises InputError naming the first line that is none, or whose number is out of bounds.
        """
        try:
            with np.errstate(all="ignore"):
                table = pd.read_csv(
                    io.BytesIO(block),
                    sep=self.separator,
                    header=None,
                    names=list(self.columns),
                    usecols=range(len(self.columns)) if self.may_go_on else None,
                    dtype=self.columns,
                    keep_default_na=False,
                    na_values={name: [""] for name, kind in self.columns.items() if kind is float},
                    quoting=3,
                    index_col=False,
                    skip_blank_lines=False,
                )
        except (ValueError, OverflowError, TypeError):  # pandas' ParserError is a ValueError
            table = None
        if table is None or len(table) != len(lines):
            self.refuse(np.ones(len(lines), bool), block, lines, path)
        table["line"] = lines
        refuse_out_of_bounds(table, self.bounds, path)
        return table

    def refuse(self, wrong: np.ndarray, block: bytes, lines: np.ndarray, path: Path) -> None:
        """Raise InputError for the first wrong row that has another pattern, or else the first; not when none is wrong."""
        texts, rows = block.split(b"\n"), np.flatnonzero(wrong)
        chosen = [row for row in rows if not self.pattern.fullmatch(texts[row])] or rows
        refuse_first(
            np.isin(np.arange(len(lines)), chosen),
            lines,
            path,
            lambda i: f"{texts[i][:60].decode(errors='replace')!r} {self.wrong}",
        )


def link_table(changes: pd.DataFrame, bins: int) -> pd.DataFrame:
    """Totals of a link after each of ``bins`` of `LINK_BIN_S`, in the columns of a trace.

    ``changes`` are events with the columns bin, forwarded (bytes), dropped and waiting (packets).
    """
    kinds = ["forwarded", "dropped", "waiting"]
    totals = changes.groupby("bin")[kinds].sum().reindex(range(bins), fill_value=0).cumsum().astype(np.float64)
    totals.columns = ["forwarded_bytes", "dropped_pkts", "queue_pkts"]
    totals["queue_pkts"] = totals["queue_pkts"].clip(lower=0.0)
    return totals.reset_index(drop=True).assign(t_s=(np.arange(bins) + 1) * LINK_BIN_S, direction="forward")[LINK]


def bins_of(t_s: np.ndarray) -> np.ndarray:
    """In which bin of `LINK_BIN_S` times are."""
    return np.floor(t_s / LINK_BIN_S + 1e-6).astype(np.int64)
