"""Provenance: digests of what an output is made from, and the stamps beside outputs that hold them.

Each step of the workflow has a digest of its inputs: the slice of the configuration that it uses, the code of its layer
and the digests of the steps before it (see tcpfair.workflow.plan). A finished step writes its digest beside its output
(``<output>.stamp``), and a run starts by removing outputs whose stamp is missing or differs. So a result never outlives
what it was made from, whatever happened to time stamps or to Snakemake's own records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tcpfair.contract.papers import PaperConfig, Value

# The code that can change the output of each step: modules and packages of src/tcpfair. A test holds that each list is
# closed under imports.
_CONTRACT = ("units.py", "contract")
_SIMULATOR = ("sources/__init__.py", "sources/tables.py", "sources/engine.py")  # the other tools' files are apart
_MEASURE = (*_CONTRACT, "metrics", "measures")
_DRAW = (*_MEASURE, "models", "sources/readers", "verdicts/printed.py", "exhibits")
_COMPARE = (*_MEASURE, "models", "verdicts")
CODE: dict[str, tuple[str, ...]] = {
    "simulate": (*_CONTRACT, "jit.py", "cc", "engine", *_SIMULATOR),
    "measure": _MEASURE,
    "notebook": _DRAW,
    "ledger": _COMPARE,
    "report": _COMPARE,
}
STAMP_SUFFIX = ".stamp"


def simulated_slice(paper: PaperConfig, experiment: str) -> dict[str, Any]:
    """What decides the runs of one experiment: values only, so that a reworded reason re-simulates nothing."""
    chosen = paper.experiments[experiment]
    body = {
        "settings": {**paper.settings, **chosen.settings},
        "flow": {**paper.flow, **chosen.flow},
        **{name: getattr(chosen, name) for name in ("grid", "flows", "runs", "perturb", "record")},
    }
    named = set(_strings(_values(body)))
    used = {label: protocol for label, protocol in paper.protocols.items() if label in named}
    return {"experiment": experiment, "protocols": _values(used), **_values(body)}


def measured_slice(paper: PaperConfig, experiment: str) -> dict[str, Any]:
    """What decides the metrics of one experiment, given its trace."""
    chosen = paper.experiments[experiment]
    own = {name: getattr(chosen, name) for name in ("window_s", "measures", "weights")}
    return _values({"experiment": experiment, "analysis": paper.analysis, **own})


def _values(node: Any) -> Any:
    """``node`` as plain data, each setting reduced to its value (without source, assumption and range)."""
    if isinstance(node, Value):
        return _values(node.value)
    if isinstance(node, BaseModel):
        return _values(dict(node))
    if isinstance(node, dict):
        return {str(name): _values(value) for name, value in node.items()}
    if isinstance(node, list | tuple):
        return [_values(value) for value in node]
    return node


def _strings(node: Any) -> Iterator[str]:
    """Every string value in nested plain data."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for value in node.values() if isinstance(node, dict) else node:
            yield from _strings(value)


def code_files(root: Path, kind: str) -> list[Path]:
    """Source files that the steps of one kind depend on (see CODE), sorted."""
    package = root / "src" / "tcpfair"
    files: list[Path] = []
    for name in CODE[kind]:
        files += [package / name] if name.endswith(".py") else (package / name).rglob("*")
    return sorted(path for path in files if path.suffix in (".py", ".j2") and path.is_file())


def file_hashes(root: Path, paths: list[Path]) -> dict[str, str]:
    """SHA-256 of each file that exists, by its path in the repository (its full path outside)."""
    return {
        (path.relative_to(root) if path.is_relative_to(root) else path).as_posix(): _hash(path)
        for path in paths
        if path.is_file()
    }


def _hash(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stamp_path(output: Path) -> Path:
    return output.with_name(output.name + STAMP_SUFFIX)


def write_stamp(output: Path, stamp: str) -> None:
    """Record from which inputs ``output`` was made; called when it is complete."""
    stamp_path(output).write_text(stamp + "\n")


def is_fresh(output: Path, stamp: str) -> bool:
    """True when ``output`` exists and was made from the inputs with this digest."""
    path = stamp_path(output)
    return output.is_file() and path.is_file() and path.read_text().strip() == stamp
