"""Pages from templates: each is one file that opens from disk and needs no network."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tcpfair.files.files import write_whole
from tcpfair.verdicts.report import marks, words

_ID = re.compile(r'\bid="([^"]+)"')
_ADDRESS = re.compile(r'\b(href|src)="([^"]*)"')


def write_page(path: Path, template: str, context: dict) -> Path:
    """Render a template of ``tcpfair.verdicts`` to ``path``; returns ``path``."""
    write_whole(path, render(template, context))
    return path


def render(template: str, context: dict) -> str:
    """The text of a template of ``tcpfair.verdicts``."""
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    """One for all pages, which compiles each template once."""
    environment = Environment(
        loader=PackageLoader("tcpfair.verdicts", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "count": words.count_text,
        "short_label": words.short_label,
        "badge": marks.badge,
        "bar": marks.draw_bar,
    }
    environment.globals |= {"colours": marks.COLOURS, "plural": words.plural}
    return environment


def joined(pages: Mapping[str, str]) -> dict[str, str]:
    """Pages by name, with links converted from those of one common page in the top folder.

    A link to an id on another page becomes a link to that page, and files are addressed from the folder of each page.
    """
    ids = {name: set(_ID.findall(text)) for name, text in pages.items()}
    home = {part: name for name, parts in reversed(ids.items()) for part in parts}

    def address(name: str, found: re.Match[str]) -> str:
        path, mark, part = found[2].partition("#")
        if path.startswith("data:"):
            return found[0]
        if not path and part not in ids[name]:
            path = home.get(part, "")
        path = Path(os.path.relpath(path, Path(name).parent)).as_posix() if path else ""
        return f'{found[1]}="{path}{mark}{part}"'

    return {name: _ADDRESS.sub(partial(address, name), text) for name, text in pages.items()}


def data_uri(path: Path) -> str:
    """An SVG as a data address."""
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"


def size_px(path: Path) -> tuple[int, int] | None:
    """Width and height of an SVG that gives them in points, in px; None for any other."""
    found = re.search(r'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"', path.read_text(encoding="utf-8")[:2000])
    return (round(float(found[1]) * 4 / 3), round(float(found[2]) * 4 / 3)) if found else None


def fragment(path: Path, caption: str) -> Markup:
    """The table of an HTML page and the note below it, without the rest of the page; with caption and scopes."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<table.*</table>(\s*<p class="note">.*?</p>)?', text, flags=re.DOTALL)
    text = found[0] if found else text
    head, gap, body = text.partition("</thead>")
    if gap:
        text = _scoped(head, "col") + gap + _scoped(body, "row")
    caption = Markup('<caption class="unseen">{}</caption>').format(caption)
    return Markup(re.sub(r"(<table[^>]*>)", lambda tag: f"{tag[1]}{escape(caption)}", text, count=1))


def _scoped(text: str, scope: str) -> str:
    text = re.sub(r"<th[^>]*></th>", "<td></td>", text)
    return re.sub(r"<th(?![a-z])(?![^>]*\bscope=)", f'<th scope="{scope}"', text)
