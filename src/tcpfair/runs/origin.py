"""Where a figure comes from, written into its files: exhibit, source, digests of its runs and of the code that made them.

The same text is in the metadata of an SVG, in a text chunk of a PNG and in a comment of a page, after a mark that finds
it in the bytes of any of them. Who meets the file in a talk reads it with ``./reproduce whence FILE``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tcpfair.errors import InputError
from tcpfair.files.digests import digest
from tcpfair.runs.outputs import DIGEST_LENGTH

_MARK = "tcpfair-origin:"
_LONGEST_BYTES = 200_000_000  # of a file that is looked through


@dataclass(frozen=True)
class Origin:
    """What an exhibit was drawn from; nothing in it differs between two runs of the same inputs.

    ``scenarios`` is the digest of the keys of all runs behind it (`digest_of_keys`), ``code`` those of the simulator and of
    each algorithm that acts in them, as the manifests of their traces have them; both are empty for what no run went into.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    exhibit: str
    source: str
    experiments: tuple[str, ...] = ()
    runs: int = 0
    scenarios: str = ""
    code: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """One line, without any character that XML or HTML would have to escape in it."""
        return _MARK + json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)


_ORIGIN = TypeAdapter(Origin)


def digest_of_keys(keys: Iterable[str]) -> str:
    """What stands for some runs: a digest of their keys in order."""
    return digest(list(keys))[:DIGEST_LENGTH]


def read(path: Path) -> Origin:
    """The origin that a file tells of. Raises InputError when it is no file, too large or tells of none."""
    try:
        if path.stat().st_size > _LONGEST_BYTES:
            raise InputError(f"{path}: {path.stat().st_size / 1e6:.0f} MB; no figure of this project is that large")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a figure: .svg, .png or .html") from None
    found = content.find(_MARK.encode())
    if found < 0:
        raise InputError(
            f"{path}: says nothing of where it comes from; a figure of this project does, unless another program saved it "
            "anew (a CSV never does: give the figure beside it)"
        )
    line = content[found + len(_MARK) :][:10_000].decode("ascii", errors="replace")
    try:
        plain, _ = json.JSONDecoder().raw_decode(line)
        return _ORIGIN.validate_json(json.dumps(plain))
    except (ValueError, ValidationError, RecursionError):
        raise InputError(f"{path}: what it says of where it comes from is damaged") from None
