"""Outputs of steps: one folder each, whose name ends in a digest of all its inputs.

An output is up to date if a folder has its current name; this is the only record. ``<name>-<digest>.json`` next to the folder
lists the digest of each part (runs, configuration, code, ...), so that a later run can print which part changed. People and
later steps read stable names: `publish` copies an output there when it is complete, and before each run.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from tcpfair.files.digests import SHORT, digest
from tcpfair.files.files import whole, whole_folder, write_whole
from tcpfair.files.layout import Layout
from tcpfair.files.manifest import file_hash

Parts = Mapping[str, str]

MADE = "made.json"  # in an output's folder, written last: SHA-256 of each of its files
_IN_NAME = 12  # digits of a digest in the name of a folder
_FIGURES = "figures"  # in an output's folder: files that are published below figures/<source>
_KEPT = 2  # outputs of one name that are kept, including the current one, so that undoing an edit is free


def part(value: object) -> str:
    """Digest of one part, from plain data."""
    return digest(value)[:SHORT]


def files_part(root: Path, paths: Iterable[Path]) -> str:
    """Digest of the content of files and of their names in the repository; a missing file counts as missing."""
    names = {str(path).removeprefix(f"{root}/"): path for path in paths}
    return part({name: _hash(path, *state) if (state := _state(path)) else None for name, path in names.items()})


@cache
def _hash(path: Path, _n_bytes: int, _mtime_ns: int) -> str:
    """The hash of a file, cached because many parts include it."""
    return file_hash(path)


def folder_of(place: Path, parts: Parts) -> Path:
    """The folder of an output: ``place`` with the digest of its parts."""
    return place.with_name(f"{place.name}-{digest(dict(parts))[:_IN_NAME]}")


# --- Making an output ---------------------------------------------------------------------------------------------


def describe(folder: Path, parts: Parts) -> None:
    """Write the parts of an output next to its folder, unless the file has them already."""
    text, place = json.dumps(dict(parts), sort_keys=True) + "\n", _parts_file(folder)
    if not place.is_file() or place.read_bytes() != text.encode():
        write_whole(place, text)


def _parts_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")


@contextmanager
def making(layout: Layout, folder: Path) -> Iterator[Path]:
    """A scratch folder for the files of an output (`inside`); complete and published when the block succeeds."""
    with whole_folder(folder) as scratch:
        yield scratch
        seal(scratch, sorted(path for path in scratch.rglob("*") if path.is_file()))
    publish(layout, folder)


def seal(folder: Path, files: Iterable[Path]) -> None:
    """Write the list of the files below a folder that make an output complete (`is_intact`)."""
    hashes = {path.relative_to(folder).as_posix(): file_hash(path) for path in files}
    write_whole(folder / MADE, json.dumps(hashes, sort_keys=True) + "\n")


def inside(layout: Layout, folder: Path, stable: Path) -> Path:
    """The path in an output's folder of the file that is published as ``stable``, below results/ or figures/."""
    figures = layout.figures("")
    if stable.is_relative_to(figures):
        return folder / _FIGURES / stable.relative_to(figures)
    return folder / stable.relative_to(layout.results)


def publish(layout: Layout, folder: Path) -> None:
    """Copy the files of an output to their stable names, unless they are up to date.

    Files that an earlier output of the same name published and this one lacks are removed.
    """
    names = _hashes(folder) or {}
    is_new = False
    for name in names:
        made, stable = folder / name, _stable(layout, name)
        if _state(made) != _state(stable):
            is_new = True
            with whole(stable) as scratch:
                shutil.copy2(made, scratch)
    for other in _others(folder) if is_new else ():
        for name in (_hashes(other) or {}).keys() - names.keys():
            if _state(other / name) == _state(stable := _stable(layout, name)):  # no other step has replaced it
                stable.unlink(missing_ok=True)


def stable_files(layout: Layout, folder: Path) -> list[Path]:
    """The stable names of the files of an output; none for one that was not finished."""
    return [_stable(layout, name) for name in _hashes(folder) or ()]


def _stable(layout: Layout, name: str) -> Path:
    if name.startswith(f"{_FIGURES}/"):
        return layout.figures("") / name.removeprefix(f"{_FIGURES}/")
    return layout.results / name


def _state(path: Path) -> tuple[int, int] | None:
    """Size and modification time, which a published copy takes over."""
    with suppress(OSError):
        found = path.stat()
        return found.st_size, found.st_mtime_ns
    return None


def _hashes(folder: Path) -> Mapping[str, str] | None:
    """Files of an output with their SHA-256; None when it was not finished."""
    with suppress(OSError, ValueError):
        found = json.loads((folder / MADE).read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return None


# --- Existing outputs ---------------------------------------------------------------------------------------------


def _hash_of(_name: str, path: Path) -> str:
    return file_hash(path)


def is_intact(folder: Path, hash_of: Callable[[str, Path], str] = _hash_of) -> bool:
    """Whether an output is complete and all its files are unchanged; ``hash_of`` gives the SHA-256 of a file."""
    hashes = _hashes(folder)
    try:
        return hashes is not None and all(hash_of(name, folder / name) == sha for name, sha in hashes.items())
    except OSError:
        return False


def changed(folder: Path, parts: Parts, hash_of: Callable[[str, Path], str] = _hash_of) -> list[str]:
    """Why an output must be built: the parts in which it differs from the last one, or ``missing``; empty if `is_intact`."""
    if is_intact(folder, hash_of):
        return []
    for other in _others(folder):
        with suppress(OSError, ValueError, TypeError):
            before = dict(json.loads(_parts_file(other).read_text(encoding="utf-8")))
            return [name for name in {**before, **parts} if before.get(name) != parts.get(name)]
    return ["missing"]


def _others(folder: Path) -> list[Path]:
    """Complete outputs of the same name with other digests, the newest first."""
    name = folder.name.rpartition("-")[0]
    same = re.compile(rf"{re.escape(name)}-[0-9a-f]{{{_IN_NAME}}}")
    found = [
        (path.stat().st_mtime_ns, path.parent)
        for path in folder.parent.glob(f"{name}-*/{MADE}")
        if same.fullmatch(path.parent.name) and path.parent != folder
    ]
    return [path for _, path in sorted(found, reverse=True)]


def discard(folder: Path) -> None:
    """Remove an output."""
    shutil.rmtree(folder, ignore_errors=True)


def collect(folder: Path) -> None:
    """Remove older outputs with the name of a complete one, except the newest of them."""
    for old in _others(folder)[_KEPT - 1 :]:
        discard(old)
        _parts_file(old).unlink(missing_ok=True)
