"""The checksums of shipped files, in ``data/SHA256SUMS``, and the files that differ from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from tcpfair.errors import InputError
from tcpfair.files.files import is_editors, is_scratch, write_whole
from tcpfair.files.manifest import file_hash

CHECKSUMS = "SHA256SUMS"  # format of `sha256sum --check`
COMPARED = (
    "published",
    "claims",
    "reference",
    "expected",
    "tolerances.yaml",
    "tolerances_scatter.yaml",
    "equations.yaml",
)


def shipped_files(data: Path, below: Collection[str] = ()) -> dict[str, Path]:
    """Every file that the repository ships below ``data/``, by its name there; without users' files in ``raw/``.

    With ``below`` only those files, and the files of those folders.
    """
    places = [data / name for name in below] or [data]
    found = sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*")))
    named = {path.relative_to(data): path for path in found if path.is_file() and path.name != CHECKSUMS}
    return {name.as_posix(): path for name, path in named.items() if _is_shipped(name)}


def _is_shipped(path: Path) -> bool:
    hidden = path.parts[0].startswith(".") or is_editors(path.name) or is_scratch(path)
    return not hidden and (path.parts[0] != "raw" or path.parts[:2] == ("raw", "examples"))


def listed(data: Path) -> dict[str, str]:
    """SHA-256 by file, relative to ``data``; empty without a list. Raises InputError for an invalid line."""
    path = data / CHECKSUMS
    found = {}
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else (), 1):
        sha, gap, name = line.partition("  ")
        if not gap or len(sha) != 64 or not name:
            raise InputError(f"{path}:{number}: not a line of sha256sum; restore the file")
        found[name] = sha
    return found


def update(data: Path, places: Iterable[Path]) -> list[str]:
    """Rewrite the checksums of the files and folders ``places``; all others stay. Returns the names of these files.

    So a command updates only the checksums of files that it wrote, and other altered files are still detected.
    """
    below = [place.relative_to(data).as_posix() for place in places]
    if not below:
        return []
    sums = {name: sha for name, sha in listed(data).items() if not _is_below(name, below)}
    new = {name: file_hash(path) for name, path in shipped_files(data, below).items()}
    write_whole(data / CHECKSUMS, "".join(f"{sha}  {name}\n" for name, sha in sorted((sums | new).items())))
    return sorted(new)


def differing(data: Path, below: Collection[str] = ()) -> list[str]:
    """One line for each shipped file that is missing, not listed, or differs from the list.

    With ``below`` only those files, and the files of those folders, are checked.
    """
    sums = {name: sha for name, sha in listed(data).items() if _is_below(name, below)}
    present = shipped_files(data, below)
    found = [f"data/{name}: missing; data/{CHECKSUMS} lists it" for name in sorted(set(sums) - set(present))]
    found += [f"data/{name}: not listed in data/{CHECKSUMS}" for name in sorted(set(present) - set(sums))]
    changed = (name for name in sorted(set(present) & set(sums)) if file_hash(present[name]) != sums[name])
    return found + [f"data/{name}: differs from its checksum in data/{CHECKSUMS}" for name in changed]


def _is_below(name: str, below: Collection[str]) -> bool:
    return not below or any(name == place or name.startswith(f"{place}/") for place in below)


def listed_of_compared(data: Path) -> dict[str, str]:
    """The list for files that results are compared with. Raises InputError as `listed` does."""
    return {name: sha for name, sha in listed(data).items() if _is_below(name, COMPARED)}


def altered(data: Path) -> list[str]:
    """One line for each shipped file that results are compared with and that was altered."""
    return differing(data, COMPARED)
