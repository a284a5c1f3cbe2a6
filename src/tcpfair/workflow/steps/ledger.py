"""The ledger's tables of verdicts."""

from __future__ import annotations

from pathlib import Path

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import Config
from tcpfair.runs.outputs import inside, making
from tcpfair.verdicts import ledger


def run(layout: Layout, papers: list[str], only: list[str], folder: Path) -> str:
    """Write the verdicts on the claims of some papers; ``only`` are the requested exhibits."""
    with making(layout, folder) as scratch:
        config = Config(source=layout.source, papers=papers, only=only)
        ledger.write_ledger(layout, config, inside(layout, scratch, layout.ledger))
    return layout.ledger.relative_to(layout.root).as_posix()
