"""Shared by the notebooks of papers and of recordings: drawing, displaying and, on request, writing an exhibit."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from io import BytesIO
from pathlib import Path

import pandas as pd
from IPython import get_ipython
from IPython.display import HTML, Image, display

from tcpfair.errors import InputError
from tcpfair.exhibits import pages, style
from tcpfair.exhibits.context import Drawn
from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import Exhibit
from tcpfair.runs import record
from tcpfair.runs.origin import Origin
from tcpfair.runs.outputs import inside
from tcpfair.verdicts.columns import csv_bytes, no_numbers, rounded


class Board:
    """Shows exhibits one by one; if one cannot be drawn, it shows the reason and the others are still drawn.

    With ``keep`` an exhibit's files, its numbers and its record are written: to their stable names, or into the folder of
    an output (`tcpfair.runs.outputs`) that it names. Without it, no files are written.
    """

    computes_numbers = True  # whether drawing also writes the numbers; those of papers are computed before
    absence: type[Exception] | tuple[()] = ()  # raised when valid input lacks the data of an exhibit

    def __init__(self, layout: Layout, only: str | Collection[str] = (), keep: bool | str | Path = False) -> None:
        """``only`` names the exhibits to draw: one or several, all if it is empty."""
        self.layout = layout
        self.only = frozenset([only] if isinstance(only, str) and only else only)
        self.keep = keep
        self.folder = None if isinstance(keep, bool) else Path(keep)  # of the output for files; None for stable names

    def present(
        self,
        exhibit: Exhibit,
        title: str,
        source: str,
        draw: Callable[[], Drawn],
        origin: Callable[[], Origin],
        of: str = "",
    ) -> pd.DataFrame:
        """Draw an exhibit from traces of this ``source``, write and display it; its corner note ends in ``of``.

        The files contain what ``origin`` returns. Returns the drawn data as in its CSV, without rows if it cannot be drawn.
        """
        try:
            with style.applied():
                drawn = draw()
                corner = pages.corner_text(source, drawn) + of
                files = pages.rendered(exhibit, drawn, corner, origin().text())
            numbers = rounded(drawn.numbers)
            verdict = self.verdict(exhibit, numbers)
        except self.absence as reason:
            self._keep(exhibit, "left out", source, error=str(reason))
            _say(title, f"Left out: {reason}.")
            return no_numbers()
        except Exception as error:  # the other exhibits are still drawn
            if not isinstance(error, InputError):
                traceback.print_exc(file=sys.stderr)
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            reason = reason.replace(f"{self.layout.root}/", "")
            with style.applied():
                told = pages.failure(exhibit, reason)
                self._keep(exhibit, "failed", source, pages.rendered(exhibit, told, ""), told.numbers, error=reason)
            _say(title, f"Failed: {reason}")
            return no_numbers()
        else:
            self._keep(exhibit, "built", source, files, numbers, drawn.n_runs)
            self._display(exhibit, title, files, verdict)
            return rows(files)

    def verdict(self, exhibit: Exhibit, numbers: pd.DataFrame) -> str:
        """A sentence that compares the numbers with the published ones; empty without any."""
        return ""

    def _keep(
        self,
        exhibit: Exhibit,
        status: record.Status,
        source: str,
        files: Mapping[str, bytes] | None = None,
        numbers: pd.DataFrame | None = None,
        n_runs: int = 0,
        error: str = "",
    ) -> None:
        """Write the exhibit's files, its numbers and, last, its record; a left-out exhibit has only the record."""
        if not self.keep:
            return
        contents = {path: (files or {}).get(path.suffix) for path in record.figure_files(self.layout, exhibit)}
        beside = {}
        if self.computes_numbers:
            table = None if numbers is None else csv_bytes(numbers.assign(source=source))
            beside[record.place(self.layout, "numbers", exhibit.id, ".csv")] = table
        hashes, of_numbers = self._write(contents), self._write(beside)
        made = record.Record(exhibit.id, status, hashes, n_runs, source, error, of_numbers)
        record.write(self.layout, made, self.folder)

    def _write(self, contents: Mapping[Path, bytes | None]) -> dict[str, str]:
        """Write files, remove those without content, and return the hashes of the former by their stable names."""
        hashes = {}
        for stable, content in contents.items():
            path = inside(self.layout, self.folder, stable) if self.folder else stable
            if content is None:
                path.unlink(missing_ok=True)
            else:
                write_whole(path, content)
                hashes[stable.relative_to(self.layout.root).as_posix()] = hashlib.sha256(content).hexdigest()
        return hashes

    def _display(self, exhibit: Exhibit, title: str, files: Mapping[str, bytes], verdict: str) -> None:
        """Display the exhibit, its caption and ``verdict``; on a terminal, print a line."""
        if get_ipython() is None:
            *_, seen = record.figure_files(self.layout, exhibit)
            written = str(seen) if self.keep else "drawn, not written (keep=True writes it)"
            print("  ".join(filter(None, [exhibit.id, written, verdict])))
            return
        if exhibit.is_table:
            display(HTML(pages.body_of(exhibit, files[".html"].decode())))
        else:
            width_px = int.from_bytes(files[".png"][16:20], "big")  # the first field of the header
            display(Image(files[".png"], width=round(style.SHOWN_WIDTH_PX / style.PNG_DPI * width_px)))
        display(HTML(pages.caption_html(title, " ".join(filter(None, [exhibit.caption, verdict])))))


def rows(files: Mapping[str, bytes]) -> pd.DataFrame:
    """The rows of an exhibit's CSV, which are equal for a new drawing and one of an earlier run."""
    return pd.read_csv(BytesIO(files[".csv"])) if files[".csv"].strip() else no_numbers()


def _say(title: str, text: str) -> None:
    """Show one line of plain text, in a notebook or on a terminal."""
    if get_ipython() is None:
        print(f"{title}  {text}")
    else:
        display(HTML(pages.caption_html(title, text)))
