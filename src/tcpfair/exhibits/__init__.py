"""Tables and figures of the papers, drawn from metrics and traces and compared with the published values.

In a notebook::

    from tcpfair.exhibits import open_paper

    paper = open_paper("ogura")
    paper.show("fig08")
    paper.ledger()
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tcpfair.exhibits.paper import Paper


def open_paper(
    paper: str,
    source: str = "bundled",
    only: str | Collection[str] = "",
    trace: str = "",
    keep: bool | Mapping[str, str] = False,
) -> Paper:
    """A paper's exhibits from one source of traces.

    ``only`` names the exhibits to draw (``"ogura.fig8"`` or a list; empty = all). ``trace`` is the user's recording, which
    `Paper.beside` draws into the paper's figure; with source ``raw`` it is the folder of a trace of this project, which
    replaces the experiment that its manifest names. With ``keep``, every shown exhibit writes its files below figures/ and its
    record; without it, no files are written. If ``keep`` maps some exhibits to folders, these are drawn into them, and the
    others are shown from their files. Raises InputError for an unknown paper or source.
    """
    from tcpfair.exhibits.paper import Paper  # imports matplotlib, only needed to draw

    return Paper.open(paper, source, only, trace, keep)
