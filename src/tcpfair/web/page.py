"""Builds the page, one self-contained HTML file, from ``static/lab.html`` and what it refers to.

``static/lab.html`` is an ordinary page. Its ``<link rel="stylesheet" href="NAME">`` and ``<script src="NAME"></script>`` are
replaced by the files' content, in their order. Scripts are text, which ``static/start.js`` runs after the first painting. Module,
schema and tours come before the first script, compressed, as text that is not executed.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from pathlib import Path

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.web import wasm
from tcpfair.web.schema import schema
from tcpfair.web.tours import tours

STATIC = Path(__file__).parent / "static"
_LINK = re.compile(r"""<link\b[^>]*\brel="stylesheet"[^>]*\bhref="(?P<name>[^":]+)"[^>]*>""")
_SCRIPT = re.compile(r"""<script\b[^>]*?\s+src="(?P<name>[^":]+)"[^>]*>\s*</script>""")
_OUTSIDE = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?!data:|#)[^"]+"[^>]*>""")


def build(layout: Layout, static: Path = STATIC) -> str:
    """The page as text: the same for the same sources. Raises InputError when it refers to a missing file."""
    blocks = {"tcpfair-wasm": wasm.module()}
    for name, data in (("schema", schema(layout)), ("tours", tours(layout))):
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        blocks[f"tcpfair-{name}"] = text.encode()
    return assemble(blocks, static)


def assemble(blocks: dict[str, bytes], static: Path = STATIC) -> str:
    """``static/lab.html`` with all that it refers to, and ``blocks`` by their ids."""
    page = _read(static / "lab.html")
    page = _LINK.sub(lambda found: f"<style>\n{_closed(_read(static / found['name']), 'style')}</style>", page)
    packed = "".join(
        f'<script type="text/plain" id="{name}">{_packed(data)}</script>\n' for name, data in blocks.items()
    )
    head, first, rest = page.partition("<script")
    if not first:
        raise InputError(f"{static / 'lab.html'}: has no <script> before which the engine could be placed")
    whole = head + packed + _SCRIPT.sub(lambda found: _script(found, static), first + rest)
    whole += f"<script>\n{_read(STATIC / 'start.js')}</script>\n"
    outside = _OUTSIDE.search(re.sub(r"(?s)(<script\b[^>]*>).*?</script>", r"\1</script>", whole))
    if outside:
        raise InputError(f"{static / 'lab.html'}: {outside[0]} refers to something outside the page")
    return whole


def _script(found: re.Match, static: Path) -> str:
    code = _closed(_read(static / found["name"]), "script")
    return f'<script type="text/plain" data-name="{html.escape(found["name"])}">\n{code}</script>'


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file, and lab.html refers to it") from None


def _closed(text: str, tag: str) -> str:
    """Code that cannot end its own element."""
    return text.replace(f"</{tag}", f"<\\/{tag}").removesuffix("\n") + "\n"


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
