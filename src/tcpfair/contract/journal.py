"""A journal: a file that only grows, a line for each finished piece of work, so that a kill loses the piece in flight alone.

Each line holds the checksum of the rest, which is JSON; the first says what the journal belongs to. What follows the first
line that is torn or damaged is cut off, and made again. One process writes at a time: a second one waits for the first, as
after a restart beside a job of a cluster that still runs.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SYNC_EVERY_S = 5.0  # what a crash of the whole machine loses at most; a killed process loses nothing that was added


class Journal:
    """A journal that is open for writing; see `opened`."""

    def __init__(self, stream, about: Mapping[str, Any]) -> None:
        self._stream = stream
        self._head_bytes = len(_line(dict(about)))
        self._synced_s = time.monotonic()

    def add(self, entry: Any) -> None:
        """Append an entry of plain data; it is there when this returns, even if the process is killed then."""
        self._stream.write(_line(entry))
        self._stream.flush()
        if time.monotonic() - self._synced_s > _SYNC_EVERY_S:
            self.sync()

    def forget(self) -> None:
        """Remove all entries, which by now stand elsewhere; what the journal is about stays."""
        self._stream.truncate(self._head_bytes)

    def sync(self) -> None:
        """Have the system write what it holds back."""
        os.fsync(self._stream.fileno())
        self._synced_s = time.monotonic()


@contextmanager
def opened(path: Path, about: Mapping[str, Any]) -> Iterator[tuple[Journal, list[Any]]]:
    """The journal at ``path`` and the entries that it holds; begun anew where it is about something else or has no head."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # the system lets go of it when the process ends, however it ends
        head, entries, sound = _read(stream)
        journal = Journal(stream, about)
        if head == dict(about):
            stream.truncate(sound)
        else:
            entries = []
            stream.truncate(0)
            journal.add(dict(about))
        yield journal, entries
        journal.sync()


def read(path: Path) -> tuple[dict[str, Any] | None, list[Any]]:
    """What a journal is about, and its entries; (None, []) where there is none or its head is damaged."""
    try:
        with path.open("rb") as stream:
            head, entries, _ = _read(stream)
    except OSError:
        return None, []
    return head, entries


def _line(entry: Any) -> bytes:
    text = json.dumps(entry, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _read(stream) -> tuple[dict[str, Any] | None, list[Any], int]:
    """Head, entries, and the number of bytes that are sound."""
    stream.seek(0)
    found, sound = [], 0
    for line in stream:
        checksum, _, text = line.partition(b" ")
        if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text[:-1]):
            break
        try:
            found.append(json.loads(text))
        except ValueError:
            break
        sound += len(line)
    if not found or not isinstance(found[0], dict):
        return None, [], 0
    return found[0], found[1:], sound
