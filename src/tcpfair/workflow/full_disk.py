"""A full disk: Snakemake, the steps and their shells each report it differently, some at length; only one line is shown."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

_SAID = re.compile("|".join(re.escape(os.strerror(number)) for number in (errno.ENOSPC, errno.EDQUOT)))
REMEDY = "finished outputs are kept, and the next run makes the others"


def reason(error_name: str, text: str) -> OSError | None:
    """The error of a notebook's kernel as OSError if the disk is full; None for any other."""
    found = _SAID.search(text) if error_name == "OSError" else None
    known = {os.strerror(number): number for number in (errno.ENOSPC, errno.EDQUOT)}
    return OSError(known[found[0]], found[0]) if found else None


class FullDisk:
    """A filter of a run's output that holds back the messages about a full disk."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._error = ""  # the one line to show, from a step if possible
        self._held: list[str] = []  # lines of a traceback, whose last line states the error

    def shown(self, line: str) -> list[str]:
        """The lines to show after ``line`` was printed."""
        if not self._held and not line.startswith("Traceback (most recent call last)"):
            return [] if self._is_about_it(line) else [line]
        self._held.append(line)
        if len(self._held) == 1 or line.startswith((" ", "\t")):
            return []
        held, self._held = self._held, []
        return [] if self._is_about_it(line) else held

    def at_the_end(self) -> list[str]:
        """The lines to show at the end of the output."""
        held, self._held = self._held, []
        return [*held, self._error] if self._error else held

    def _is_about_it(self, line: str) -> bool:
        found = _SAID.search(line)
        if found and line.startswith("error: "):
            self._error = line
        elif found and not self._error:
            self._error = f"error: {self._root}: {found[0]}; {REMEDY}\n"
        return found is not None
