"""The report."""

from __future__ import annotations

from pathlib import Path

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import Config
from tcpfair.runs.outputs import inside, making
from tcpfair.verdicts import ledger, report


def run(layout: Layout, papers: list[str], only: list[str], linked: list[Path], folder: Path) -> str:
    """Write the state of the exhibits and the report: one HTML file that opens from disk, with links to some other pages."""
    with making(layout, folder) as scratch:
        config = Config(source=layout.source, papers=papers, only=only)
        ledger.write_exhibits(layout, config, inside(layout, scratch, layout.ledger))
        report.write_report(layout, scratch, linked)
    return (layout.results / "report.html").relative_to(layout.root).as_posix()
