"""Stamps: what an output was made from, kept beside it. They alone decide what is fresh.

A stamp names the parts of what a step depends on, each with a digest: the runs, the values of the configuration, the code
that the step runs, what it is compared with. `tcpfair.workflow.plan` works out the stamp that each output should have; a
finished step writes it beside its output (``<output>.stamp``); a run starts by removing the outputs whose stamp is another.
So no result outlives what it was made from, whatever happened to time stamps or to Snakemake's own records, and the names
of the parts that differ say why something is made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tcpfair.contract.files import settle, write_whole
from tcpfair.contract.manifest import file_hash
from tcpfair.contract.scenario import digest
from tcpfair.errors import InputError

Stamp = Mapping[str, str]

STAMP_SUFFIX = ".stamp"
DIGEST_LENGTH = 16  # of hexadecimal digits


def part(value: object) -> str:
    """Digest of one part of a stamp, from plain data."""
    return digest(value)[:DIGEST_LENGTH]


def files_part(root: Path, paths: Iterable[Path]) -> str:
    """Digest of the content of files under their names in the repository; a file that is not there counts as that."""
    return part({_name(root, path): file_hash(path) if path.is_file() else None for path in paths})


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def stamp_path(output: Path) -> Path:
    return output.with_name(output.name + STAMP_SUFFIX)


def write_stamp(output: Path, stamp: Stamp) -> None:
    """Record from what ``output`` was made; called when it is complete."""
    settle(output)
    write_whole(stamp_path(output), json.dumps(dict(stamp), sort_keys=True) + "\n")


def changed(output: Path, stamp: Stamp) -> list[str]:
    """Names of the parts in which ``output`` is not what ``stamp`` says; ``missing`` when it or its stamp is not there."""
    if not output.is_file():
        return ["missing"]
    try:
        made_from = json.loads(stamp_path(output).read_text())
    except (OSError, ValueError):
        return ["missing"]
    if not isinstance(made_from, dict):
        return ["missing"]
    return [name for name in {**made_from, **stamp} if made_from.get(name) != stamp.get(name)]


def discard(output: Path) -> None:
    """Remove an output and its stamp, the stamp first: what is left of an interruption is an output without one."""
    stamp_path(output).unlink(missing_ok=True)
    output.unlink(missing_ok=True)


# --- What a run is going to make: the stamps of all outputs, by their names in the repository -----------------------


def write_planned(path: Path, root: Path, stamps: Mapping[Path, Stamp]) -> None:
    """Write down the stamps that the outputs of a run are to have, for the steps to take theirs from."""
    planned = {_name(root, output): dict(stamp) for output, stamp in stamps.items()}
    write_whole(path, json.dumps(planned, indent=1, sort_keys=True) + "\n")


class Planned:
    """The stamps that the outputs of a run are to have, read once: a step that outlives its run knows no later plan."""

    def __init__(self, path: Path, root: Path) -> None:
        self._path, self._root = path, root
        try:
            self._stamps = json.loads(path.read_text())
        except (OSError, ValueError):
            self._stamps = {}

    def stamp(self, output: Path) -> Stamp:
        """The stamp that ``output`` is to have. Raises InputError when the plan does not have it."""
        name = _name(self._root, output)
        if name not in self._stamps:
            raise InputError(f"{self._path}: says nothing of {name}; start the workflow with ./reproduce")
        return self._stamps[name]
