"""The trace: the output of any source (engine, ns-2, kernel, the user's own files) in one schema.

A trace is a folder with ``runs``, ``flows``, ``samples``, ``link`` and ``events`` as Parquet and a ``manifest.json`` that is
written last. A recording whose windows were polled has ``polls`` too. The manifest has the SHA-256 of every file and digests
of the scenarios and of the code that made them. Equal inputs give byte-identical folders.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tcpfair.errors import InputError
from tcpfair.files.files import settle, whole_folder
from tcpfair.files.manifest import MANIFEST, SHARED, file_hash, read_manifest, write_manifest

SCHEMA_VERSION = 1
# limits of a table that is read: a few bytes of Parquet can claim any size
_MOST_CELLS = 500_000_000
_MOST_BYTES = 8 << 30
_ZSTD_LEVEL = 9  # 19 takes five times as long for 3 % less

# Columns and types of each table; those with a question mark may be missing from the file.
# `runs` may hold further columns: the scenario's parameters and the experiment's grid.
SCHEMA: dict[str, dict[str, str]] = {
    "runs": {
        "run_id": "int32",
        "paper": "string",
        "experiment": "string",
        "backend": "string",
        "seed": "int64",
        "replicate": "int32",
        "duration_s": "float64",
        "sample_s": "float64",
        "recorded_s": "float64?",  # interval in which its bytes were counted; missing: sample_s
    },
    "flows": {
        "run_id": "int32",
        "flow_id": "int32",
        "protocol": "string",
        "cc": "string",
        "rtt_s": "float64",
        "access_bps": "float64",
        "start_s": "float64",
        "stop_s": "float64",
        "role": "string",  # foreground, background; web: the short flows of one direction together
        "direction": "string?",  # missing: forward
        "observed_bytes": "int64?",  # delivered in observed_s, in samples or not; missing: as in the samples
        "observed_s": "float64?",
    },
    "samples": {
        "run_id": "int32",
        "flow_id": "int32",
        "t_s": "float64",
        "delivered_bytes": "int64",
        "received_bytes": "int64?",
        "observed": "float32?",  # share of the interval that was observed; missing: 1
        "cwnd_pkts": "float32?",
        "ssthresh_pkts": "float32?",
        "srtt_s": "float32?",
    },
    "link": {
        "run_id": "int32",
        "t_s": "float64",
        "direction": "string",
        "forwarded_bytes": "int64",
        "dropped_pkts": "int64",
        "queue_pkts": "float32",
    },
    "events": {
        "run_id": "int32",
        "flow_id": "int32",
        "t_s": "float64",
        "kind": "string",
        "cwnd_before": "float64",
        "cwnd_after": "float64",
        "w_max": "float64?",
        "k_s": "float64?",
    },
    "polls": {
        "run_id": "int32",
        "flow_id": "int32",
        "t_s": "float64",
        "cwnd_pkts": "float64",
        "ssthresh_pkts": "float64",
        "srtt_s": "float64",
    },
}
EVENT_KINDS = ("loss", "rto", "recovery_end")
POLLS = "polls"  # windows of a recording at the times of its polls; a trace without them has no such file
TABLES = tuple(name for name in SCHEMA if name != POLLS)


@dataclass
class Trace:
    """The five tables of one experiment, the polls of a recording, and the provenance that goes into the manifest.

    ``samples.delivered_bytes`` and ``received_bytes`` count one interval that ends at ``t_s``; ``runs`` carries the grid
    variables of the experiment as further columns, named in ``provenance['grid']``.
    """

    runs: pd.DataFrame
    flows: pd.DataFrame
    samples: pd.DataFrame
    link: pd.DataFrame = field(default_factory=lambda: empty("link"))
    events: pd.DataFrame = field(default_factory=lambda: empty("events"))
    provenance: dict = field(default_factory=dict)
    polls: pd.DataFrame | None = None

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables that it has, by name."""
        return {name: table for name in SCHEMA if (table := getattr(self, name)) is not None}

    @property
    def resolution_s(self) -> float:
        """The resolution at which it was recorded, in s; finer measures are omitted (`tcpfair.measures.resolution`)."""
        recorded = self.runs["recorded_s"] if "recorded_s" in self.runs else self.runs["sample_s"]
        return float(np.fmax(recorded, self.runs["sample_s"]).max())

    @property
    def grid(self) -> list[str]:
        """Names of the grid variables among the columns of ``runs``."""
        return list(self.provenance.get("grid", []))


def empty(table: str) -> pd.DataFrame:
    """A table of the schema without rows."""
    return _without_rows(table).copy()


@cache
def _without_rows(table: str) -> pd.DataFrame:
    """Cached, because a study needs one in every run."""
    types = {name: kind.rstrip("?").replace("string", "object") for name, kind in SCHEMA[table].items()}
    return pd.DataFrame(columns=list(types)).astype(types)


def _arrow_table(name: str, frame: pd.DataFrame, where: str) -> pa.Table:
    """Validate ``frame`` against the schema and convert it; extra columns only in ``runs``."""
    known = {column: kind.rstrip("?") for column, kind in SCHEMA[name].items()}
    missing = [column for column, kind in SCHEMA[name].items() if column not in frame and not kind.endswith("?")]
    if missing:
        raise InputError(f"{where}: {name}: column {missing[0]} is missing")
    extra = [column for column in frame if column not in known]
    if extra and name != "runs":
        raise InputError(f"{where}: {name}: unknown column {extra[0]}; the schema has {', '.join(known)}")
    arrays, fields = [], []
    for column in [c for c in known if c in frame] + extra:
        kind = getattr(pa, known[column])() if column in known else None
        try:
            array = pa.array(frame[column], type=kind, from_pandas=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise InputError(f"{where}: {name}.{column}: not {known.get(column)}: {error}") from None
        arrays.append(array)
        fields.append(pa.field(column, array.type))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _check_values(trace: Trace, where: str) -> None:
    """Rules between columns that types cannot express."""
    samples = trace.samples
    for column in ("delivered_bytes", "received_bytes"):
        if column in samples and (samples[column] < 0).any():
            raise InputError(f"{where}: samples.{column}: negative; bytes per interval are at least 0")
    if (trace.flows["rtt_s"] <= 0).any():
        raise InputError(f"{where}: flows.rtt_s: must be above 0 s")
    unknown = set(trace.events["kind"]) - set(EVENT_KINDS)
    if unknown:
        raise InputError(f"{where}: events.kind: {sorted(unknown)[0]!r} is not one of {', '.join(EVENT_KINDS)}")
    runs = set(trace.runs["run_id"])
    for name, table in trace.tables.items():
        stray = set(table["run_id"].unique()) - runs
        if stray:
            raise InputError(f"{where}: {name}.run_id: {min(stray)} has no row in runs")


def in_schema(name: str, frame: pd.DataFrame) -> pa.Table:
    """A table of a trace in the types of the schema, as it is written. Raises InputError when it breaks the schema."""
    return _arrow_table(name, frame, name)


def _write_parquet(table: pa.Table, path: Path) -> None:
    """Write each column in the smaller of two encodings; about 1.1 bytes per sample row and column of bytes."""
    split = [field.name for field in table.schema if _is_smaller_split(table.select([field.name]))]
    pq.write_table(table, path, **_encoding(table.schema.names, split))


def _is_smaller_split(column: pa.Table) -> bool:
    """Whether numbers take less space with their bytes split into streams than as a dictionary."""
    (name,), (kind,) = column.schema.names, column.schema.types
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return False
    return _encoded_bytes(column, [name]) < _encoded_bytes(column, [])


def _encoded_bytes(column: pa.Table, split: list[str]) -> int:
    sink = pa.BufferOutputStream()
    pq.write_table(column, sink, **_encoding(column.schema.names, split))
    return sink.getvalue().size


def _encoding(names: list[str], split: list[str]) -> dict[str, Any]:
    return {
        "compression": "zstd",
        "compression_level": _ZSTD_LEVEL,
        "use_dictionary": [name for name in names if name not in split],
        "column_encoding": dict.fromkeys(split, "BYTE_STREAM_SPLIT"),
        "write_statistics": False,
        "store_schema": False,
    }


def write(trace: Trace, folder: Path) -> None:
    """Write ``trace`` to ``folder`` so that a reader sees the old trace, the new one or none, never a part.

    Raises InputError when a table breaks the schema.
    """
    where = str(folder)
    _check_values(trace, where)
    tables = {name: _arrow_table(name, table, where) for name, table in trace.tables.items()}
    with whole_folder(folder) as scratch:
        for name, table in tables.items():
            _write_parquet(table, scratch / f"{name}.parquet")
            settle(scratch / f"{name}.parquet")
        files = {f"{name}.parquet": file_hash(scratch / f"{name}.parquet") for name in tables}
        write_manifest({"schema": SCHEMA_VERSION, **trace.provenance, "files": files}, scratch)


def read(folder: Path) -> Trace:
    """Read and check a trace: files against their hashes, tables against the schema.

    Raises InputError naming the file, and the command that rewrites it: for a recording, the import.
    """
    manifest = read_manifest(folder)
    remedy = (
        f"restore it, or rewrite it on purpose with `./reproduce bundle {manifest.get('experiment', 'EXPERIMENT')}`"
    )
    if "names" in manifest:
        remedy = "import the recording again: ./reproduce import --replace PATH"
    shared, files = _names_in(manifest, SHARED, folder), _names_in(manifest, "files", folder)
    frames = {}
    for name in (*TABLES, POLLS) if f"{POLLS}.parquet" in files else TABLES:
        path = folder / f"{name}.parquet"
        if path.name in shared:
            place = Path(shared[path.name])
            if place.is_absolute() or ".." in place.parts:
                raise InputError(
                    f"{folder / MANIFEST}: {SHARED}: {shared[path.name]!r} leads out of the folder of traces"
                )
            path = folder.parents[1] / place / path.name
        if not path.is_file():
            raise InputError(f"{path}: missing; {folder / MANIFEST} lists it; {remedy}")
        if file_hash(path) != files.get(path.name):
            raise InputError(f"{path}: differs from the hash in manifest.json; {remedy}")
        frames[name] = read_table(path, name)
    provenance = {key: value for key, value in manifest.items() if key not in ("schema", "files", SHARED)}
    trace = Trace(**frames, provenance=provenance)
    _check_values(trace, str(folder))
    return trace


def _names_in(manifest: dict, key: str, folder: Path) -> dict[str, str]:
    """A part of a manifest that maps names to names; InputError if it is something else."""
    found = manifest.get(key, {})
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise InputError(f"{folder / MANIFEST}: {key}: must be names by file")
    return found


def read_table(path: Path, name: str) -> pd.DataFrame:
    """One table of a trace; InputError when the Parquet is truncated, breaks the schema, or is too large for the memory."""
    try:
        with pq.ParquetFile(path) as file:
            about = file.metadata
            n_bytes = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
            if about.num_rows * about.num_columns > _MOST_CELLS or n_bytes > _MOST_BYTES:
                raise InputError(
                    f"{path}: {about.num_rows:,} rows of {about.num_columns} columns are more than a trace has"
                )
            table = file.read()
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})") from None
    frame = table.to_pandas()
    _arrow_table(name, frame, str(path))
    return frame
