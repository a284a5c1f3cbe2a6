"""Runs that a simulation has finished and no trace holds yet: a journal with a line for each, for as long as it runs.

A run is kept when it is finished, for some milliseconds; a trace, five tables and a manifest, is written every few seconds
from what the journal then forgets. A simulation that was killed leaves its journal, whose runs count as any others.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from tcpfair.contract import journal
from tcpfair.contract.manifest import RUNS
from tcpfair.contract.trace import TABLES, Trace, in_schema

SUFFIX = ".jsonl"


class Finished:
    """The finished runs of a simulation that is under way; see `opened`."""

    def __init__(self, kept: journal.Journal) -> None:
        self._kept = kept

    def add(self, key: str, made: Trace) -> None:
        """Keep the trace of one run; it is there when this returns, even if the process is killed then."""
        self._kept.add([key, {name: _packed(name, getattr(made, name)) for name in TABLES}])

    def forget(self) -> None:
        """Remove all runs, which a trace holds by now."""
        self._kept.forget()


@contextmanager
def opened(place: Path, provenance: Mapping[str, Any]) -> Iterator[Finished]:
    """A new journal in the folder ``place``, for runs whose manifests have ``provenance``; removed when nothing is in it.

    Its name is its own: neither a second simulation nor one that was killed before writes to the same.
    """
    path = place / f"{secrets.token_hex(8)}{SUFFIX}"
    with journal.opened(path, provenance) as (kept, _):
        yield Finished(kept)
    if not journal.read(path)[1]:
        path.unlink()


def manifest(path: Path) -> dict[str, Any] | None:
    """What the manifest of a trace of these runs says; None where nothing was finished."""
    head, entries = journal.read(path)
    return {**head, RUNS: [key for key, _ in entries]} if entries else None


def read(path: Path) -> Trace:
    """The runs of a journal as one trace; they count from 0, as the manifest lists their keys."""
    head, entries = journal.read(path)
    tables = {}
    for name in TABLES:
        runs = [_unpacked(packed[name]).assign(run_id=number) for number, (_, packed) in enumerate(entries)]
        whole = pd.concat([rows for rows in runs if len(rows)] or runs[:1], ignore_index=True)
        tables[name] = whole.astype({"run_id": "int32"})
    return Trace(**tables, provenance={**head, RUNS: [key for key, _ in entries]})


def _packed(name: str, frame: pd.DataFrame) -> str:
    """A table as text: Arrow's stream, in the types of the schema."""
    table, sink = in_schema(name, frame), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def _unpacked(text: str) -> pd.DataFrame:
    with pa.ipc.open_stream(base64.b64decode(text)) as stream:
        return stream.read_all().to_pandas()
