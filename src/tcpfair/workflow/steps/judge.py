"""Verdicts on the claims of a paper."""

from __future__ import annotations

from pathlib import Path

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import Config
from tcpfair.runs.outputs import inside, making
from tcpfair.verdicts.judged import write_judged


def run(layout: Layout, paper: str, papers: list[str], only: list[str], folder: Path) -> str:
    """Judge the claims of one of ``papers`` by its runs and by the settings of its ensemble."""
    with making(layout, folder) as scratch:
        config = Config(source=layout.source, papers=papers, only=only)
        found = write_judged(layout, config, paper, inside(layout, scratch, layout.judged / paper))
    return f"{len(found)} claims"
