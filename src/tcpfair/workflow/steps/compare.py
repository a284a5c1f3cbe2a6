"""The ledger's tables of numbers."""

from __future__ import annotations

from pathlib import Path

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import Config
from tcpfair.runs.outputs import inside, making
from tcpfair.verdicts.compared import write_compared


def run(layout: Layout, papers: list[str], only: list[str], folder: Path) -> str:
    """Compare the numbers of some papers; ``only`` are the requested exhibits."""
    with making(layout, folder) as scratch:
        config = Config(source=layout.source, papers=papers, only=only)
        found = write_compared(layout, config, inside(layout, scratch, layout.ledger))
    return f"{sum(found.values())} numbers"
