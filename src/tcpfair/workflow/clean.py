"""Removes what can be rebuilt, after listing it with the time it took and asking for confirmation."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tcpfair.errors import InputError
from tcpfair.files import costs
from tcpfair.files.layout import SOURCES, Layout
from tcpfair.workflow.run import only_run


def main(root: Path, yes: bool = False) -> int:
    """Remove ``results/``, the drawn figures and Snakemake's records; 1 when the user declines.

    Raises InputError without ``yes`` and a terminal, and during another run.
    """
    places = [place for place in _places(root) if place.exists()]
    if not places:
        print("nothing to remove")
        return 0
    with only_run(root, alone=True):
        for place in places:
            print(f"removes    {place.relative_to(root)}/  {_size_text(place)}{_made_in(root, place)}")
        if not yes and not _confirmed():
            print("kept")
            return 1
        for place in places:
            shutil.rmtree(place, ignore_errors=True)
    return 0


def _places(root: Path) -> list[Path]:
    return [root / "results", *(root / "figures" / source for source in SOURCES), root / ".snakemake"]


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        raise InputError("clean: no terminal to confirm on; add --yes to remove all this")
    return input("remove all this? [y/N] ").strip().lower() in ("y", "yes")


def _size_text(place: Path) -> str:
    n_bytes = sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    return f"{n_bytes / 1e6:.1f} MB"


def _made_in(root: Path, place: Path) -> str:
    """The CPU time that ``results/`` took, by source."""
    if place != root / "results":
        return ""
    made = {source: sum(cost.cpu_s for cost in costs.read(Layout(root, source))) for source in SOURCES}
    texts = [f"{source} {costs.duration_text(cpu_s)}" for source, cpu_s in made.items() if cpu_s]
    return f", made in {', '.join(texts)} of one core" if texts else ""
