"""Typeset the equations of ``data/equations.yaml`` as MathML, for the report: ``data/equations_mathml.yaml``.

Run after a ``tex`` was edited, with latex2mathml in an environment of its own, which nothing else needs:
``python3 -m venv ~/tex && ~/tex/bin/pip install latex2mathml pyyaml && ~/tex/bin/python scripts/typeset_equations.py``.
`tests/verdicts/test_equations.py` tells when the two files differ.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import yaml
from latex2mathml.converter import convert

DATA = Path(__file__).parents[1] / "data"
HEAD = "# Written by scripts/typeset_equations.py from data/equations.yaml; not to be edited.\n"


def typeset(tex: str) -> str:
    """MathML of one equation: names of several letters in one piece, characters as they are, no needless rows."""
    text = convert(tex, display="block")
    letters = r'(?:<mi mathvariant="italic">\w</mi>)+'
    text = re.sub(letters, lambda found: f"<mi>{re.sub('<[^>]*>', '', found[0])}</mi>", text)
    text = re.sub(r"<mi>(\w{2,})</mi>", r'<mi mathvariant="normal">\1</mi>', text)
    # `+=` comes apart in the converter
    text = re.sub(r"<mo>(?:<mrow>)?<mo>&#x0002B;</mo>(?:</mrow>)?</mo><mo>&#x0003D;</mo>", "<mo>+=</mo>", text)
    text = re.sub(r"&#x(?!0*(?:26|3C|3E);)[0-9A-Fa-f]+;", lambda found: unescape(found[0]), text)
    text = text.replace("―", "‾")  # which stretches over what it bars
    before = ""
    while before != text:
        before, text = text, re.sub(r"<mrow>(<(m[ion]|mtext)\b[^>]*>[^<]*</\2>)</mrow>", r"\1", text)
    return text


def main() -> None:
    equations = yaml.safe_load((DATA / "equations.yaml").read_text(encoding="utf-8"))
    lines = [f"{each['id']}: '{typeset(each['tex'])}'" for each in equations]
    (DATA / "equations_mathml.yaml").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
