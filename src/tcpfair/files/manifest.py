"""The manifest of a trace: a small JSON file with the key of every run, the digests of the code that made them and the
hash of every table.

It is written last and contains its own digest, so a readable manifest is intact.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tcpfair.errors import InputError
from tcpfair.files.digests import digest
from tcpfair.files.files import read_small, write_whole

MANIFEST = "manifest.json"
SHARED = "shared"  # key: tables shared with another trace, which has them, {name of the file: paper/experiment}
RUNS = "runs"  # key: the keys of the runs, in order of run_id
CODE = "code"  # key: digests of the code that made them, by simulator and algorithm
CONFIG = "config"  # key: the values of the configuration that the runs were expanded from, to list later changes


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_manifest(manifest: dict, folder: Path) -> None:
    """Write a trace's manifest with the digest of its content."""
    text = json.dumps({**manifest, "digest": digest(manifest)}, indent=1, sort_keys=True)
    write_whole(folder / MANIFEST, text + "\n")


def read_manifest(folder: Path) -> dict:
    """The manifest of a trace, without its own digest; InputError when it is missing, not JSON, or altered."""
    path = folder / MANIFEST
    try:
        content = read_small(path)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path}: no manifest; the trace is missing or was not finished") from None
    try:
        manifest = json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON ({error.msg} at line {error.lineno})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not JSON (not UTF-8)") from None
    except (ValueError, RecursionError):  # a number with thousands of digits, thousands of brackets
        raise InputError(f"{path}: not JSON that this program writes") from None
    if not isinstance(manifest, dict):
        raise InputError(f"{path}: not a manifest; it must be a JSON object")
    if manifest.pop("digest", None) != digest(manifest):
        raise InputError(f"{path}: differs from its own digest; restore it, or rebuild the trace")
    return manifest
