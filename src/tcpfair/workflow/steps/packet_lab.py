"""The packet lab."""

from __future__ import annotations

from pathlib import Path

from tcpfair.files.layout import Layout
from tcpfair.runs.outputs import inside, making
from tcpfair.web import page


def run(layout: Layout, folder: Path) -> str:
    """Compile the engine to wasm and write the packet lab: one HTML file that opens from disk."""
    with making(layout, folder) as scratch:
        inside(layout, scratch, layout.lab).write_text(page.build(layout), encoding="utf-8")
    return f"{layout.lab.stat().st_size / 1e6:.2f} MB"
