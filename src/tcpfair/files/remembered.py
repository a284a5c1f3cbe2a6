"""A cache of slow computations in one file: plain data by name, with the digest of its input.

A damaged, foreign or unwritable file only costs time. Its first line is the checksum of the rest, and it has a digest
of the code that computed its entries.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tcpfair.files.files import write_whole

_SETTLED_S = 2.0  # a newer file may change again within one tick of the file system's clock


class Remembered:
    """Values by name in the file ``path``; ``made_by`` identifies the code that computes them."""

    def __init__(self, path: Path, made_by: str = "") -> None:
        self.path, self.made_by = path, made_by
        self._entries: dict[str, list] | None = None
        self._is_new = False

    def get(self, name: str, made_from: str, compute: Callable[[], Any]) -> Any:
        """The value of ``name`` for the input that ``made_from`` identifies; computed if it is not cached."""
        if self._entries is None:
            self._entries = self._read()
        match self._entries.get(name):
            case [str(known), value] if known == made_from:
                return value
        value = compute()
        self._entries[name] = [made_from, value]
        self._is_new = True
        return value

    def of_file(self, name: str, file: Path, compute: Callable[[], Any]) -> Any:
        """The value of ``name`` for the current state of a file.

        The change time decides, because users cannot set it back. A value from a file that has just changed is not cached.
        """
        found = file.stat()
        if time.time() - found.st_ctime < _SETTLED_S:
            return compute()
        return self.get(name, f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}", compute)

    def save(self) -> None:
        """Write new values; values that cannot be written are recomputed next time."""
        if self._is_new:
            self._is_new = False
            body = json.dumps({"made_by": self.made_by, "entries": self._entries})
            with suppress(OSError):
                write_whole(self.path, f"{_checksum(body)}\n{body}")

    def _read(self) -> dict[str, list]:
        with suppress(OSError, ValueError, KeyError, TypeError):
            checksum, _, body = self.path.read_text(encoding="utf-8").partition("\n")
            if checksum == _checksum(body) and (found := json.loads(body))["made_by"] == self.made_by:
                return dict(found["entries"])
        return {}


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
