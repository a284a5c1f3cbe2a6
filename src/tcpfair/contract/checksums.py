"""The checksums of what the repository ships, in ``data/SHA256SUMS``, and the files that differ from them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tcpfair.contract.files import is_scratch
from tcpfair.contract.manifest import file_hash

CHECKSUMS = "SHA256SUMS"  # as `sha256sum --check` reads it


def shipped_files(data: Path) -> list[Path]:
    """Every file that the repository ships below ``data/``; what users put into ``raw/`` is theirs."""
    files = (path for path in sorted(data.rglob("*")) if path.is_file() and path.name != CHECKSUMS)
    return [path for path in files if _is_shipped(path.relative_to(data))]


def _is_shipped(path: Path) -> bool:
    hidden = path.parts[0].startswith(".") or is_scratch(path)
    return not hidden and (path.parts[0] != "raw" or path.parts[:2] == ("raw", "examples"))


def listed(data: Path) -> dict[str, str]:
    """SHA-256 by file, relative to ``data``; empty when there is no list."""
    sums = data / CHECKSUMS
    return dict(reversed(line.split("  ", 1)) for line in sums.read_text().splitlines()) if sums.is_file() else {}


def differing(data: Path, below: Collection[str] = ()) -> list[str]:
    """One line for each shipped file that is missing, not listed, or not what was listed.

    With ``below`` only those files, and the files of those folders, are looked at.
    """
    sums = {name: sha for name, sha in listed(data).items() if _is_below(name, below)}
    present = {path.relative_to(data).as_posix(): path for path in shipped_files(data)}
    present = {name: path for name, path in present.items() if _is_below(name, below)}
    found = [f"data/{name}: missing; data/{CHECKSUMS} lists it" for name in sorted(set(sums) - set(present))]
    found += [f"data/{name}: not listed in data/{CHECKSUMS}" for name in sorted(set(present) - set(sums))]
    changed = (name for name in sorted(set(present) & set(sums)) if file_hash(present[name]) != sums[name])
    return found + [f"data/{name}: differs from its checksum in data/{CHECKSUMS}" for name in changed]


def _is_below(name: str, below: Collection[str]) -> bool:
    return not below or any(name == place or name.startswith(f"{place}/") for place in below)
