"""Links from the pages of executed notebooks to the report: the cell that shows each exhibit, and its place there.

Separate from the report, so that an edit of the report does not make notebooks stale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from tcpfair.files.layout import short_id
from tcpfair.papers.papers import PaperConfig

_SHOWN = re.compile(r"show\(\s*\"([^\"]+)\"")
_LABELS = {"table": "Table", "fig": "Figure"}


def label(exhibit_id: str) -> str:
    """``ogura.fig8`` -> ``Figure 8``; the name itself for a supplement or a section."""
    name = exhibit_id.split(".", 1)[1]
    found = re.fullmatch(r"(table|fig)(\w+)", name)
    return f"{_LABELS[found[1]]} {found[2]}" if found else name.replace("sec-", "section ")


def anchor(name: str) -> str:
    """A name as the id of an element."""
    return re.sub(r"[^\w-]+", "-", name)


def notebook_cells(path: Path, config: PaperConfig) -> dict[str, str]:
    """The id of the cell that shows each exhibit of a paper."""
    ids = {short_id(exhibit.id): exhibit.id for exhibit in config.exhibits}
    found = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for name in _SHOWN.findall("".join(cell["source"])):
            if short_id(name) in ids:
                found.setdefault(ids[short_id(name)], cell.get("id", ""))
    return found


def linked_back(page: str, cells: Mapping[str, str]) -> str:
    """An executed notebook as HTML, with a link to the report at the head of each cell that shows an exhibit."""
    exhibits = {cell: exhibit for exhibit, cell in cells.items()}

    def with_link(found: re.Match[str]) -> str:
        exhibit = exhibits.get(found[2])
        if exhibit is None:
            return found[0]
        href = f"../report/{exhibit.partition('.')[0]}.html#{anchor(exhibit)}"
        text = f"{label(exhibit)} in the report, with its claims"
        return f'{found[0]}<p style="margin: 0; text-align: right; font-size: 80%"><a href="{href}">{text}</a></p>'

    return re.sub(r'(<div class="[^"]*jp-Cell[^"]*" id="cell-id=([\w-]+)">)', with_link, page)
