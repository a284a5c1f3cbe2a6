"""Files of an exhibit: figures as SVG and PNG, tables as HTML, all drawn data as CSV; and their display in notebooks."""

from __future__ import annotations

import re
import textwrap
from html import escape

import pandas as pd

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Table
from tcpfair.files.layout import short_id
from tcpfair.papers.papers import Exhibit
from tcpfair.verdicts.cell_links import label
from tcpfair.verdicts.columns import csv_bytes

_CSS = """
.exhibit { font: 14px/1.35 system-ui, sans-serif; color: #111; background: #fff; overflow-x: auto; }
.exhibit table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.exhibit th, .exhibit td { padding: .3em .7em; white-space: nowrap; background: #fff; }
.exhibit th, .exhibit td { text-align: center !important; border: 0; border-bottom: 1px solid #ddd; }
.exhibit thead th { border-bottom: 1px solid #111; }
.exhibit tbody th { text-align: left !important; }
.exhibit .printed { color: #767676; font-size: 85%; }
.exhibit .off { color: #B03A00; }
.exhibit .note { color: #767676; font-size: 80%; margin: .4em 0; }
.exhibit p { margin: .5em 0; max-width: 52em; }
"""
_LINE = 60  # letters in the width of a figure


def heading(exhibit: Exhibit) -> str:
    """``Figure 8`` or ``Supplement sens_ack``."""
    return f"Supplement {short_id(exhibit.id)}" if exhibit.kind == "supplement" else label(exhibit.id)


def corner_text(source: str, drawn: Drawn) -> str:
    """``source: bundled, 20 runs`` and the note of the kind; closed forms have no source."""
    runs = f"{drawn.n_runs} run{'s' if drawn.n_runs != 1 else ''}"
    parts = [f"source: {source}, {runs}"] if drawn.n_runs else []
    return "; ".join([*parts, drawn.note] if drawn.note else parts)


def table_html(table: Table, corner: str) -> str:
    """The table alone, for a page or a notebook."""
    with pd.option_context("display.max_colwidth", None):
        cells = table.cells.to_html(escape=False, border=0)
    note = "; ".join(with_symbols(text) for text in (table.note, corner) if text)
    return f'<style>{_CSS}</style><div class="exhibit" tabindex="0">{cells}<p class="note">{note}</p></div>'


def page_html(exhibit: Exhibit, body: str) -> str:
    """A page that opens from disk."""
    before, after = _around(exhibit)
    return before + body + after


def body_of(exhibit: Exhibit, page: str) -> str:
    """The body that `page_html` put into a page."""
    before, after = _around(exhibit)
    return page.removeprefix(before).removesuffix(after)


def _around(exhibit: Exhibit) -> tuple[str, str]:
    title = f"{heading(exhibit)}: {exhibit.title}"
    head = f'<head><meta charset="utf-8"><title>{escape(exhibit.id)}</title></head>'
    before = f'<!doctype html>\n<html lang="en">{head}<body><main>{caption_html(title, exhibit.caption)}'
    return before, "</main></body></html>\n"


def caption_html(title: str, text: str) -> str:
    """Title and text of an exhibit."""
    body = f"<p><b>{with_symbols(title)}.</b> {with_symbols(text)}</p>"
    return f'<style>{_CSS}</style><div class="exhibit">{body}</div>'


def with_symbols(text: str) -> str:
    """Plain text as HTML, with the index of symbols such as ``U_N+`` set low."""
    return re.sub(r"\b([A-Z])_([a-zA-Z])([+-]?)(?!\w)", _symbol, escape(text))


def _symbol(found: re.Match[str]) -> str:
    letter, index, sign = found.groups()
    return f"{letter}<sub>{index}{sign.replace('-', '−')}</sub>"


def rendered(exhibit: Exhibit, drawn: Drawn, corner: str, origin: str = "") -> dict[str, bytes]:
    """Content of each file by its suffix; figures and pages store their ``origin`` too."""
    data = drawn.numbers if drawn.data is None else drawn.data
    files = {".csv": csv_bytes(data)}
    if isinstance(drawn.output, Table):
        body = table_html(drawn.output, corner) + (f"<!-- {origin} -->" if origin else "")
        return files | {".html": page_html(exhibit, body).encode()}
    style.corner_note(drawn.output, corner)
    return files | {".svg": style.as_svg(drawn.output, origin), ".png": style.as_png(drawn.output, origin)}


def failure(exhibit: Exhibit, reason: str) -> Drawn:
    """The substitute of an exhibit that could not be drawn: the reason, and no numbers."""
    text = f"{heading(exhibit)}: failed: {reason}"
    if exhibit.is_table:
        return Drawn(Table(pd.DataFrame(), text))
    figure, [[ax]] = style.new_figure()
    ax.set_axis_off()
    ax.text(0.5, 0.5, textwrap.fill(text, _LINE), ha="center", va="center", parse_math=False)
    return Drawn(figure)
