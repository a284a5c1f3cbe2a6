"""What was worked out from source files, kept between starts: parsing all modules takes two seconds, looking at their dates
a few milliseconds.

An entry counts only while size, modification time and change time of each of its files are as they were; the change time
cannot be set back by hand. The cache is one file beside Python's own compiled modules. A damaged, foreign or unwritable cache
costs time and nothing else: its first line is the checksum of the rest, and its entries carry the digest of the code that
worked them out.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from tcpfair.files.files import write_whole

_MOST_ENTRIES = 5000
_SETTLED_S = 2.0  # a younger file may change again within one tick of the file system's clock


class FileCache:
    """Values worked out from files below ``root``, in one file. Values are plain data (JSON)."""

    def __init__(self, place: Path, root: Path, made_by: str) -> None:
        self.place, self.root, self.made_by = place, root, made_by
        self._entries: dict[str, list] | None = None
        self._is_new = False

    def get(self, name: str, paths: Iterable[Path], work_out: Callable[[], Any], besides: str = "") -> Any:
        """The value of ``name`` that was worked out from these files as they are now; worked out when there is none.

        ``besides`` stands for what else the value depends on.
        """
        paths = sorted(paths)
        if not all(path.is_relative_to(self.root) for path in paths):
            return work_out()
        state, changed_s = _state(self.root, paths, besides)
        if self._entries is None:
            self._entries = self._read()
        found = self._entries.get(name)
        if isinstance(found, list) and len(found) == 2 and found[0] == state:
            return found[1]
        value = work_out()
        if time.time() - changed_s > _SETTLED_S:
            self._entries[name] = [state, value]
            if not self._is_new:
                self._is_new = True
                atexit.register(self.save)
        return value

    def save(self) -> None:
        """Write the cache; what cannot be written is worked out again next time."""
        if self._is_new and self._entries is not None:
            self._is_new = False
            kept = self._entries if len(self._entries) <= _MOST_ENTRIES else {}
            body = json.dumps({"made_by": self.made_by, "entries": kept})
            with suppress(OSError):
                write_whole(self.place, f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}")

    def _read(self) -> dict[str, list]:
        with suppress(OSError, ValueError, KeyError, TypeError):
            checksum, _, body = self.place.read_text(encoding="utf-8").partition("\n")
            if checksum == hashlib.sha256(body.encode()).hexdigest():
                found = json.loads(body)
                if found["made_by"] == self.made_by:
                    return dict(found["entries"])
        return {}


def _state(root: Path, paths: Iterable[Path], besides: str) -> tuple[str, float]:
    """What tells whether some files are as they were, and when the last of them changed, in s of the epoch."""
    sha, changed_ns = hashlib.sha256(besides.encode()), 0
    for path in paths:
        found = path.stat()
        changed_ns = max(changed_ns, found.st_ctime_ns)
        name = path.relative_to(root).as_posix()
        sha.update(f"{name} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}\n".encode())
    return sha.hexdigest(), changed_ns / 1e9


def place_beside(module: Path) -> Path:
    """Where the cache of a package is kept: where Python keeps the package's compiled modules."""
    compiled = Path(cache_from_source(str(module)))
    return compiled.with_name(f"digests.{sys.implementation.cache_tag}.json")
