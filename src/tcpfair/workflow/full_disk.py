"""A disk that is full: Snakemake, the steps and their shells say it each in their own way, some at length; one line is shown."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

_SAID = re.compile("|".join(re.escape(os.strerror(number)) for number in (errno.ENOSPC, errno.EDQUOT)))
REMEDY = "finished outputs are kept, the next run makes the others"


def reason(error_name: str, text: str) -> OSError | None:
    """The error behind what a notebook's kernel tells of one, when it is a full disk; None for any other."""
    found = _SAID.search(text) if error_name == "OSError" else None
    known = {os.strerror(number): number for number in (errno.ENOSPC, errno.EDQUOT)}
    return OSError(known[found[0]], found[0]) if found else None


class FullDisk:
    """Goes through what a run says, line by line, and keeps back what a full disk makes it say."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._error = ""  # as a step said it, or any other way
        self._held: list[str] = []  # of a traceback, the last line of which says what it is about

    def shown(self, line: str) -> list[str]:
        """The lines to show now that ``line`` was said."""
        if not self._held and not line.startswith("Traceback (most recent call last)"):
            return [] if self._is_about_it(line) else [line]
        self._held.append(line)
        if len(self._held) == 1 or line.startswith((" ", "\t")):
            return []
        held, self._held = self._held, []
        return [] if self._is_about_it(line) else held

    def at_the_end(self) -> list[str]:
        """The lines to show when nothing more is said."""
        held, self._held = self._held, []
        return [*held, self._error] if self._error else held

    def _is_about_it(self, line: str) -> bool:
        found = _SAID.search(line)
        if found and line.startswith("error: "):
            self._error = line
        elif found and not self._error:
            self._error = f"error: {self._root}: {found[0]}; {REMEDY}\n"
        return found is not None
