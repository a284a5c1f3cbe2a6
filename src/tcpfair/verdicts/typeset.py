"""The equations of ``data/equations.yaml``, converted from TeX to MathML, which browsers draw without a script."""

from __future__ import annotations

import re
from html import unescape

from latex2mathml.converter import convert

from tcpfair.files.layout import Layout
from tcpfair.verdicts.printed import load_equations


def tex_of(layout: Layout) -> dict[str, str]:
    """The TeX of every equation of the papers, by its id."""
    return {name: row["tex"] for name, row in load_equations(layout.data / "equations.yaml").items()}


_BRACED = r"\{((?:[^{}]|\{[^{}]*\})*)\}"


def without_roots(tex: str) -> str:
    """TeX with powers instead of roots with a degree, which browsers without a mathematical font draw wrongly.

    ``\\sqrt[3]{\\frac{a}{b}}`` -> ``{\\left(a/b\\right)^{1/3}}``; a single letter or command needs no parentheses. Without such
    a font parentheses do not stretch, so fractions in them are written on one line.
    """
    while found := re.search(r"\\sqrt\[([^\]]*)\]\{", tex):
        depth = 0
        for end in range(found.end() - 1, len(tex)):
            depth += {"{": 1, "}": -1}.get(tex[end], 0)
            if not depth:
                break
        else:
            return tex  # unmatched braces, which the converter refuses
        base = re.sub(rf"\\frac{_BRACED}{_BRACED}", _in_a_line, tex[found.end() : end])
        power = base if _is_single(base) else rf"\left({base}\right)"
        tex = f"{tex[: found.start()]}{{{power}^{{1/{_enclosed(found[1])}}}}}{tex[end + 1 :]}"
    return tex


def _in_a_line(fraction: re.Match[str]) -> str:
    above, below = fraction.groups()
    return f"{_enclosed(above) if re.search('[+-]', above) else above} / {_enclosed(below)}"


def _enclosed(tex: str) -> str:
    return tex if _is_single(tex) else f"({tex})"


def _is_single(tex: str) -> bool:
    return bool(re.fullmatch(r"\w|\\\w+(\{\w+\})?", tex.strip()))


def typeset(tex: str) -> str:
    """MathML of one equation: names of several letters in one piece, characters as they are, no needless rows."""
    text = convert(without_roots(tex), display="block")
    letters = r'(?:<mi mathvariant="italic">\w</mi>)+'
    text = re.sub(letters, lambda found: f"<mi>{re.sub('<[^>]*>', '', found[0])}</mi>", text)
    text = re.sub(r"<mi>(\w{2,})</mi>", r'<mi mathvariant="normal">\1</mi>', text)
    # the converter splits `+=`
    text = re.sub(r"<mo>(?:<mrow>)?<mo>&#x0002B;</mo>(?:</mrow>)?</mo><mo>&#x0003D;</mo>", "<mo>+=</mo>", text)
    text = re.sub(r"&#x(?!0*(?:26|3C|3E);)[0-9A-Fa-f]+;", lambda found: unescape(found[0]), text)
    # drawn as a border, because a bar over several letters stretches only with a mathematical font
    text = re.sub(
        r'<mover>((?:(?!<mover>).)*?)<mo accent="true">―</mo></mover>', r'<mrow class="barred">\1</mrow>', text
    )
    before = ""
    while before != text:
        before, text = text, re.sub(r"<mrow>(<(m[ion]|mtext)\b[^>]*>[^<]*</\2>)</mrow>", r"\1", text)
    return text
