"""The one error type for mistakes in what the user handed in."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Bad input from outside: a file, a configuration value, a command line.

    The message is one line that names the file, the field and what would be right.
    Entry points print it and exit with a non-zero status instead of showing a traceback.
    """

    def __str__(self) -> str:
        """The line as a terminal may have it: names of files and flows are a stranger's."""
        return printable(super().__str__())

    def _render_traceback_(self) -> list[str]:
        """What IPython asks an exception for: in a notebook, too, it is one line."""
        return [f"{type(self).__name__}: {self}"]


class ShortageError(InputError):
    """Something is short at the moment, such as memory. It may be there later: what fails so must never be kept as a result."""


def printable(text: str) -> str:
    """``text`` with all that a terminal would obey, or cannot show, written as an escape: control characters, surrogates."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    """The error of a name that does not exist: with the one that was probably meant, and all that there are."""
    known = list(known)
    lower = {each.lower(): each for each in known}
    meant = difflib.get_close_matches(name.lower(), lower, n=1)
    hint = f"did you mean {lower[meant[0]]!r}? " if meant else ""
    return InputError(f"{what} {name!r} is unknown; {hint}known are {', '.join(known)}")
