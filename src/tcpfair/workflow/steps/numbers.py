"""The numbers of exhibits."""

from __future__ import annotations

from pathlib import Path

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import load_paper
from tcpfair.runs.outputs import making
from tcpfair.verdicts import numbers


def run(layout: Layout, paper: str, exhibits: list[str], folder: Path) -> str:
    """Compute the numbers of some exhibits of a paper."""
    with making(layout, folder) as scratch:
        written = numbers.write(layout, load_paper(layout.paper_config(paper)), exhibits, scratch)
    return f"{len(written)} of {len(exhibits)} exhibits"
