"""Shards: the finished results of a job, one Parquet file each, written atomically.

A store is a folder of shards. The name of a shard ends in a digest of its inputs (`named`), so a shard that exists under its
current name is up to date. This is the only record of what is finished.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tcpfair.errors import InputError
from tcpfair.files.files import settle, whole
from tcpfair.runs.outputs import part

SUFFIX = ".parquet"
_LEVEL = 9  # of compression


def named(name: str, made_from: object) -> str:
    """The name of a shard, without suffix: ``ogura/0012`` and its inputs (plain data) give ``ogura/0012-3f2a...``."""
    return f"{name}-{part(made_from)}"


def label(name: str) -> str:
    """The name of a shard without its digest, for messages."""
    return re.sub("[-/][0-9a-f]+$", "", name)


def write(path: Path, table: pa.Table, about: Mapping[str, Any]) -> None:
    """Write a shard atomically: a table, and plain data about it in the metadata of its schema."""
    metadata = {name: json.dumps(value, sort_keys=True) for name, value in about.items()}
    with whole(path) as scratch:
        pq.write_table(table.replace_schema_metadata(metadata), scratch, compression="zstd", compression_level=_LEVEL)
        settle(scratch)


def read(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """The table of a shard, and the data about it. Removes a damaged shard and raises InputError."""
    try:
        table = pq.read_table(path)
        return table, _about(table.schema)
    except (pa.ArrowInvalid, ValueError):
        path.unlink(missing_ok=True)
        raise InputError(f"{path}: was damaged and is removed; run the same command again") from None


def about(path: Path) -> dict[str, Any]:
    """The data about the table of a shard; empty if it cannot be read."""
    try:
        return _about(pq.read_schema(path))
    except (OSError, pa.ArrowInvalid, ValueError):
        return {}


def _about(schema: pa.Schema) -> dict[str, Any]:
    return {name.decode(): json.loads(text) for name, text in (schema.metadata or {}).items()}


def discard_others(folder: Path, keep: Collection[Path]) -> None:
    """Remove all files below ``folder`` except the shards to ``keep``: results of other code or another configuration."""
    for path in folder.rglob("*"):
        if path.is_file() and path not in keep:
            path.unlink()
