"""Published numbers among the settings of ensembles."""

from __future__ import annotations

from pathlib import Path

from tcpfair.files.layout import Layout
from tcpfair.runs.outputs import inside, making
from tcpfair.verdicts.ensemble import tables


def run(layout: Layout, folders: list[Path]) -> str:
    """Place every published number of some papers among the settings of their ensembles; each paper has a folder."""
    for folder in folders:
        paper = folder.name.rpartition("-")[0]
        with making(layout, folder) as scratch:
            tables.write_shipped(layout, paper, inside(layout, scratch, layout.placed / paper))
    return f"{len(folders)} papers"
