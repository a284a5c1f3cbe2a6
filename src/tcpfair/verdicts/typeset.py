"""Equations as MathML, which browsers draw without a script: those of ``data/equations.yaml``, from their TeX."""

from __future__ import annotations

import re
from html import unescape

import yaml
from latex2mathml.converter import convert

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import SAFE_LOADER


def tex_of(layout: Layout) -> dict[str, str]:
    """The TeX of every equation of the papers, by its id."""
    rows = yaml.load((layout.data / "equations.yaml").read_text(encoding="utf-8"), SAFE_LOADER)
    return {row["id"]: row["tex"] for row in rows}


def typeset(tex: str) -> str:
    """MathML of one equation: names of several letters in one piece, characters as they are, no needless rows."""
    text = convert(tex, display="block")
    letters = r'(?:<mi mathvariant="italic">\w</mi>)+'
    text = re.sub(letters, lambda found: f"<mi>{re.sub('<[^>]*>', '', found[0])}</mi>", text)
    text = re.sub(r"<mi>(\w{2,})</mi>", r'<mi mathvariant="normal">\1</mi>', text)
    # `+=` comes apart in the converter
    text = re.sub(r"<mo>(?:<mrow>)?<mo>&#x0002B;</mo>(?:</mrow>)?</mo><mo>&#x0003D;</mo>", "<mo>+=</mo>", text)
    text = re.sub(r"&#x(?!0*(?:26|3C|3E);)[0-9A-Fa-f]+;", lambda found: unescape(found[0]), text)
    # drawn as a border: the bar over several letters only stretches with a mathematical font
    text = re.sub(
        r'<mover>((?:(?!<mover>).)*?)<mo accent="true">―</mo></mover>', r'<mrow class="barred">\1</mrow>', text
    )
    before = ""
    while before != text:
        before, text = text, re.sub(r"<mrow>(<(m[ion]|mtext)\b[^>]*>[^<]*</\2>)</mrow>", r"\1", text)
    return text
