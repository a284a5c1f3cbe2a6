"""Pages from templates: each one file that opens from disk and asks no host for anything."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tcpfair.files.files import write_whole
from tcpfair.verdicts.report import marks, words


def write_page(path: Path, template: str, context: dict) -> Path:
    """Render a template of ``tcpfair.verdicts`` to ``path``; returns ``path``."""
    environment = Environment(
        loader=PackageLoader("tcpfair.verdicts", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "anchor": words.anchor,
        "count": words.count_text,
        "duration": words.duration_text,
        "label": words.label,
        "short_label": words.short_label,
        "equation_label": words.equation_label,
        "badge": marks.badge,
        "bar": marks.draw_bar,
        "listed": words.listed,
    }
    environment.globals |= {"colours": marks.COLOURS, "plural": words.plural}
    write_whole(path, environment.get_template(template).render(context))
    return path


def data_uri(path: Path) -> str:
    """An SVG as an address that holds it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"


def size_px(path: Path) -> tuple[int, int] | None:
    """Width and height of an SVG that gives them in points, in px; None for any other."""
    found = re.search(r'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"', path.read_text(encoding="utf-8")[:2000])
    return (round(float(found[1]) * 4 / 3), round(float(found[2]) * 4 / 3)) if found else None


def fragment(path: Path, caption: str) -> Markup:
    """The table in a page of HTML and the note under it, without the page around them; with caption and scopes."""
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
