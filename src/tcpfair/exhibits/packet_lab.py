"""The packet lab in a notebook: the page that ``./reproduce`` builds, in a frame."""

from __future__ import annotations

import base64
import json
import zlib
from html import escape
from typing import Any

from IPython.display import HTML

from tcpfair.files.layout import Layout, repository_root

_HEIGHT_PX = 680
_BUILD = "<code>./reproduce</code> without <code>papers=</code> or <code>only=</code> builds it"


def frame(layout: Layout, fragment: str, linked: bool = False) -> HTML:
    """The page, set to what a ``fragment`` of its address describes.

    A ``linked`` frame loads the page of the same results, which is in the folder above an executed notebook. A partial run
    does not build that page, and a full one may build it later, so the line below the frame is always shown. In JupyterLab
    the page is part of the output, because the server has no access to files above ``notebooks/``.
    """
    fragment, note = escape(fragment), ""
    if linked:
        place = f'src="../{layout.lab.name}?embed#{fragment}" loading="lazy"'
        note = f"<p>If this frame shows no packet lab, it has not been built: {_BUILD}.</p>"
    elif layout.lab.is_file():
        place = f'srcdoc="{escape(layout.lab.read_text(encoding="utf-8"))}" name="{fragment}"'
    else:
        missing = layout.lab.relative_to(layout.root)
        return HTML(f"<p>{missing}: the packet lab has not been built; {_BUILD}.</p>")
    style = f"width: 100%; height: {_HEIGHT_PX}px; border: 1px solid #c9cdd2"
    return HTML(f'<div><iframe title="Packet lab" {place} style="{style}"></iframe>{note}</div>')


def of_run(values: dict[str, Any]) -> HTML:
    """The page with ``scenario`` and ``seed`` of a run, in a fragment as ``static/copy.js`` writes it."""
    side = {**values, "seed": str(values["seed"])}
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(json.dumps([side]).encode()) + packer.flush()
    return frame(Layout(repository_root()), f"1.{base64.urlsafe_b64encode(packed).decode().rstrip('=')}")
