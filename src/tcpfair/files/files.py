"""Atomic writes of files and folders: a reader sees the old or the new one, never a part.

Scratch names begin with a dot and end in ``.new``; searches for data skip them (`is_scratch`), and a killed run leaves
only such files.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tcpfair.errors import InputError

MOST_BYTES = 20_000_000  # limit for files that are read at once: configuration, a manifest, the sidecar of a recording
_SCRATCH = ".new"


def is_scratch(path: Path) -> bool:
    """True for a file or folder that is being written, or that is below such a folder."""
    return any(part.startswith(".") and _SCRATCH in part for part in path.parts)


def is_editors(name: str) -> bool:
    """True for the name of an editor's temporary file: ``.a.csv.swp``, ``a.csv~``, ``#a.csv#``."""
    return name.startswith((".", "#")) or name.endswith(("~", ".swp", ".swo", ".bak", ".orig", ".rej"))


def read_small(path: Path) -> bytes:
    """The content of an untrusted file that must be small.

    Raises InputError for a larger file and for a pipe or device, which might be endless; OSError if reading fails.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: a pipe or a device; give a file")
    with path.open("rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InputError(f"{path}: larger than {MOST_BYTES / 1e6:g} MB, the limit for such a file")
    return content


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path next to ``path`` to write a file to; it replaces ``path`` when the block succeeds.

    The file's permissions follow the umask.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.stem}-{secrets.token_hex(8)}{_SCRATCH}{path.suffix}")
    scratch.touch(exist_ok=False)
    try:
        with _named(path):
            yield scratch
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add this file's name to system errors without one, such as a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def settle(path: Path) -> None:
    """Flush a file to the disk, so that a later file that refers to it does not survive it in a crash."""
    with suppress(OSError), path.open("rb") as stream:  # some file systems do not support it
        os.fsync(stream.fileno())


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file at once; text as UTF-8."""
    with whole(path) as scratch:
        scratch.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_folder(folder: Path, replaces: bool = True) -> Iterator[Path]:
    """An empty folder next to ``folder`` to fill; it replaces ``folder`` when the block succeeds.

    If another process creates ``folder`` at the same moment, that one stays; with ``replaces=False``, any existing one.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = folder.with_name(f".{folder.name}-{secrets.token_hex(8)}{_SCRATCH}")
    scratch.mkdir()
    old = scratch.with_name(scratch.name.removesuffix(_SCRATCH) + ".old" + _SCRATCH)
    try:
        with _named(folder):
            yield scratch
        if replaces:
            with suppress(FileNotFoundError):
                folder.rename(old)
        try:
            scratch.rename(folder)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
    finally:
        if old.exists() and not folder.exists():  # the second rename failed
            old.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
        shutil.rmtree(scratch, ignore_errors=True)


def discard_scratch(folder: Path, deep: bool = False) -> None:
    """Remove the remains of killed runs directly below ``folder``, with ``deep`` also in its subfolders."""
    for scratch in list((folder.rglob if deep else folder.glob)(f".*{_SCRATCH}*")):
        if scratch.is_dir():
            shutil.rmtree(scratch, ignore_errors=True)
        else:
            scratch.unlink(missing_ok=True)
