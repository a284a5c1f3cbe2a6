"""The error type for invalid user input."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable


class InputError(ValueError):
    """Invalid input: a file, a configuration value, a command line.

    The message is one line that names the file, the field and a valid value. Entry points print it and exit with a
    non-zero status instead of showing a traceback.
    """

    def __str__(self) -> str:
        """The message, safe for a terminal: names of files and flows may be hostile."""
        return printable(super().__str__())

    def _render_traceback_(self) -> list[str]:
        """IPython's hook for tracebacks: the error is one line in notebooks, too."""
        return [f"{type(self).__name__}: {self}"]


class ShortageError(InputError):
    """A temporary shortage, such as memory. Never store such a failure as a result."""


def printable(text: str) -> str:
    """``text`` with control characters and surrogates escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    """The error for an unknown name, with the closest match and all known names."""
    known = list(known)
    lower = {each.lower(): each for each in known}
    meant = difflib.get_close_matches(name.lower(), lower, n=1)
    hint = f"did you mean {lower[meant[0]]!r}? " if meant else ""
    return InputError(f"{what} {name!r} is unknown; {hint}known are {', '.join(known)}")


def check_known(what: str, names: Iterable[object], known: Collection[object]) -> None:
    """Raise InputError for the first of ``names`` that is not ``known``."""
    for name in names:
        if name not in known:
            raise unknown(what, str(name), map(str, known))
