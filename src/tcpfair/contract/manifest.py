"""The manifest of a trace: a small JSON file with the hash of every table, of the scenarios and of the code that made them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tcpfair.errors import InputError

MANIFEST = "manifest.json"
SHARED = "shared"  # key: tables that another trace holds for this one too, {name of the file: paper/experiment}


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_manifest(manifest: dict, folder: Path) -> None:
    """Write a trace's manifest."""
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")


def read_manifest(folder: Path) -> dict:
    """The manifest of a trace; InputError when it is missing or not JSON."""
    path = folder / MANIFEST
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise InputError(f"{path}: no manifest; the trace is missing or was not finished") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON ({error.msg} at line {error.lineno})") from None
