"""The record of a drawn exhibit: one small JSON file, and the names of the files next to it.

``results/<source>/exhibits/<paper>/<short id>.json`` states whether the exhibit is built, from how many runs, how these were
made, and lists its files. It is written last, so the files of a built exhibit were complete at that time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tcpfair.errors import InputError
from tcpfair.files.files import is_scratch, write_whole
from tcpfair.files.layout import Layout, short_id
from tcpfair.papers.papers import Exhibit
from tcpfair.papers.scenario import one_line
from tcpfair.runs.outputs import inside

Status = Literal["built", "failed", "left out"]


@dataclass(frozen=True)
class Record:
    """The result of drawing one exhibit.

    ``files`` maps each file, relative to the repository, to its SHA-256: the figures of a built exhibit, the pages with the
    reason of a failed one. ``numbers`` does so for the table of the drawn numbers. An exhibit is ``left out`` if a valid
    recording lacks the data for it.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    exhibit: str
    status: Status
    files: Mapping[str, str] = field(default_factory=dict)
    n_runs: int = 0  # behind one point; 0 without runs
    source: str = ""  # how its traces were made
    error: str = ""  # why it is not built
    numbers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status == "built" and not self.files:
            raise ValueError("files: a built exhibit has at least one")


_RECORD = TypeAdapter(Record)


def suffixes(exhibit: Exhibit) -> tuple[str, ...]:
    """Endings of the files that drawing an exhibit writes below figures/, whether it succeeds or fails."""
    return (".csv", ".html") if exhibit.is_table else (".csv", ".svg", ".png")


def place(layout: Layout, kind: Literal["exhibits", "numbers"], exhibit_id: str, suffix: str) -> Path:
    """``results/<source>/<kind>/<paper>/<short id><suffix>``: an exhibit's record (.json) or its numbers (.csv)."""
    return layout.results / kind / exhibit_id.rpartition(".")[0] / f"{short_id(exhibit_id)}{suffix}"


def figure_files(layout: Layout, exhibit: Exhibit) -> list[Path]:
    """The files of an exhibit below figures/, in the order of `suffixes`."""
    folder = layout.figures(exhibit.id.rpartition(".")[0])
    return [folder / f"{short_id(exhibit.id)}{suffix}" for suffix in suffixes(exhibit)]


def write(layout: Layout, record: Record, folder: Path | None = None) -> None:
    """Write a record to its stable place, or into the folder of an output, after its files."""
    stable = place(layout, "exhibits", record.exhibit, ".json")
    write_whole(inside(layout, folder, stable) if folder else stable, json.dumps(asdict(record), indent=1) + "\n")


def read(path: Path) -> Record:
    """One record. Raises InputError with one line when the file is missing, truncated or not a record.

    A caller that redraws the exhibit may treat such a file as missing; a caller that reports must not.
    """
    try:
        return _RECORD.validate_python(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        remedy = "not a record of an exhibit; run ./reproduce, which redraws it, or remove it"
        reason = one_line(error, remedy) if isinstance(error, ValidationError) else f"{remedy} ({error})"
        raise InputError(f"{path}: {reason}") from None


def read_all(layout: Layout, paper: str = "*") -> dict[str, Record]:
    """Every record of a source, or of one of its papers, by exhibit id, in the order of their paths.

    Raises InputError as `read` does.
    """
    paths = sorted((layout.results / "exhibits").glob(f"{paper}/*.json"))
    records = [read(path) for path in paths if not is_scratch(path)]
    return {record.exhibit: record for record in records}


def discard_unreadable(layout: Layout) -> None:
    """Remove files that have the name of a record but are none, as a crash of the machine may leave."""
    for path in (layout.results / "exhibits").glob("*/*.json"):
        try:
            read(path)
        except InputError:
            path.unlink()


def is_whole(root: Path, record: Record) -> bool:
    """True when every file of a record exists."""
    return all((root / name).is_file() for name in (*record.files, *record.numbers))
