"""Samples and their text, files for a test, and changes of a JSON document by the path of a field: ``intervals.1.sum.bytes``."""

import json
from pathlib import Path
from typing import Any

from tcpfair.sources.readers.observed import Observed, ObservedFlow
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import read_text

SAMPLES = Path(__file__).parents[2] / "samples"
NOTHING = Sidecar()
GONE = object()  # in place of a value: the field is taken out


def sample_text(name: str) -> str:
    """The text of a sample, unpacked."""
    return read_text(SAMPLES / name)


def told(observed: Observed) -> str:
    """All remarks, one in each line."""
    return "\n".join(observed.remarks)


def by_name(observed: Observed) -> dict[str, ObservedFlow]:
    """The flows."""
    return {flow.name: flow for flow in observed.flows}


def written(folder: Path, content: str | bytes | dict[str, Any], name: str = "recording") -> Path:
    """A file with text, bytes or a JSON document."""
    content = json.dumps(content) if isinstance(content, dict) else content
    path = folder / name
    path.write_bytes(content.encode(errors="surrogateescape") if isinstance(content, str) else content)
    return path


def edited(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """``document`` with another value at ``path``, or what ``value`` makes of the old one."""
    *where, last = (int(name) if name.isdigit() else name for name in path.split("."))
    place = document
    for name in where:
        place = place[name]
    if value is GONE:
        del place[last]
    else:
        place[last] = value(place[last]) if callable(value) else value
    return document


def edit_meta(folder: Path, **changes: Any) -> None:
    """Change fields of a testbed run's ``meta.json``."""
    written(folder, json.loads((folder / "meta.json").read_text()) | changes, "meta.json")
