"""The origin of a figure, written into its files: exhibit, source, digests of its runs and of the code that made them.

The text is in the metadata of an SVG, in a text chunk of a PNG and in a comment of a page, always after the same mark.
``./reproduce whence FILE`` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tcpfair.errors import InputError
from tcpfair.runs.outputs import part

_MARK = "tcpfair-origin:"
_LONGEST_BYTES = 200_000_000  # of a file that is searched for the mark


@dataclass(frozen=True)
class Origin:
    """The inputs of an exhibit; equal inputs give equal origins.

    ``scenarios`` is the digest of the keys of its runs (`digest_of_keys`). ``code`` has the digests of the simulator and of
    each algorithm in these runs, from the manifests of the traces. Both are empty for an exhibit without runs.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    exhibit: str
    source: str
    experiments: tuple[str, ...] = ()
    runs: int = 0
    scenarios: str = ""
    code: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """One line, without characters that must be escaped in the text of XML or HTML."""
        return _MARK + json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)


_ORIGIN = TypeAdapter(Origin)


def digest_of_keys(keys: Iterable[str]) -> str:
    """A digest of the keys of some runs, in order."""
    return part(list(keys))


def read(path: Path) -> Origin:
    """The origin that a file contains. Raises InputError when the file is unreadable, too large or has none."""
    try:
        if path.stat().st_size > _LONGEST_BYTES:
            raise InputError(f"{path}: {path.stat().st_size / 1e6:.0f} MB; no figure of this project is that large")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a figure: .svg, .png or .html") from None
    found = content.find(_MARK.encode())
    if found < 0:
        raise InputError(
            f"{path}: contains no origin; figures of this project do, until another program saves them (for a CSV, give the "
            "figure next to it)"
        )
    line = content[found + len(_MARK) :][:10_000].decode("ascii", errors="replace")
    try:
        plain, _ = json.JSONDecoder().raw_decode(line)
        return _ORIGIN.validate_json(json.dumps(plain))
    except (ValueError, ValidationError, RecursionError):
        raise InputError(f"{path}: the origin that it contains is damaged") from None
