r"""Equations as MathML, from the little of TeX's notation that the papers' equations need. No network, no fonts.

``x^2``, ``x_i``, ``{...}``, ``\frac{a}{b}``, ``\sqrt{x}``, ``\sqrt[3]{x}``, ``\left( \right)``, ``\text{...}``, the
Greek letters and signs of :data:`SIGNS`, and several lines with ``\\``. A letter is a variable, letters in ``\text`` or
``\mathrm`` are a word.
"""

from __future__ import annotations

import re
from html import escape

from tcpfair.errors import InputError

SIGNS = {
    "alpha": "α",
    "beta": "β",
    "sigma": "σ",
    "cdot": "·",
    "times": "×",
    "sum": "∑",
    "le": "≤",
    "ge": "≥",
    "approx": "≈",
    "to": "→",
    "mid": "|",
    "langle": "⟨",
    "rangle": "⟩",
    "quad": "\u2003",
    "prime": "′",
    "gains": "+=",
}
_LETTERS = {"alpha", "beta", "sigma"}
_FUNCTIONS = {"log", "max", "min"}
_PRINTED = {"-": "−", "'": "′", "*": "·"}
_TOKENS = re.compile(r"\\\\|\\[A-Za-z]+|[0-9]+(?:\.[0-9]+)?|\s+|.", re.DOTALL)


def mathml(tex: str) -> str:
    """A ``<math>`` element in display style. Raises InputError for what is not in the notation above."""
    lines = [_Reader(line, tex).whole() for line in tex.split(r"\\")]
    if len(lines) > 1:
        body = "".join(f"<mtr><mtd>{line}</mtd></mtr>" for line in lines)
        body = f'<mtable columnalign="left" displaystyle="true">{body}</mtable>'
    else:
        body = lines[0]
    return f'<math display="block">{body}</math>'


class _Reader:
    """Recursive descent over the tokens of one line."""

    def __init__(self, line: str, tex: str) -> None:
        self._tokens = _TOKENS.findall(line)
        self._tex = tex

    def whole(self) -> str:
        row = self._row(None)
        if self._tokens:
            self._fail(f"{self._tokens[0]!r} closes nothing")
        return row

    def _fail(self, what: str) -> None:
        raise InputError(f"equation {self._tex!r}: {what}")

    def _next(self) -> str | None:
        while self._tokens and self._tokens[0].isspace():
            self._tokens.pop(0)
        return self._tokens[0] if self._tokens else None

    def _row(self, end: str | None) -> str:
        parts = []
        while (token := self._next()) is not None and token != end:
            if token in ("}", "]") and end != token:
                break
            parts.append(self._with_scripts())
        return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"

    def _with_scripts(self) -> str:
        big = self._next() == r"\sum"
        base = self._atom()
        scripts = {}
        while self._next() in ("^", "_"):
            sign = self._tokens.pop(0)
            if sign in scripts:
                self._fail(f"two {sign!r} on one thing")
            self._next()
            scripts[sign] = self._atom()
        if not scripts:
            return base
        low, high = ("munder", "mover") if big else ("msub", "msup")
        if len(scripts) == 2:
            both = "munderover" if big else "msubsup"
            return f"<{both}>{base}{scripts['_']}{scripts['^']}</{both}>"
        sign, script = next(iter(scripts.items()))
        name = low if sign == "_" else high
        return f"<{name}>{base}{script}</{name}>"

    def _atom(self) -> str:
        token = self._next()
        if token is None:
            self._fail("ends too early")
        self._tokens.pop(0)
        if token == "{":
            row = self._row("}")
            self._expect("}")
            return row
        if token.startswith("\\"):
            return self._command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        return f"<mo>{escape(_PRINTED.get(token, token))}</mo>"

    def _command(self, name: str) -> str:
        if name == "frac":
            return f"<mfrac>{self._group()}{self._group()}</mfrac>"
        if name == "sqrt":
            if self._next() == "[":
                self._tokens.pop(0)
                degree = self._row("]")
                self._expect("]")
                return f"<mroot>{self._group()}{degree}</mroot>"
            return f"<msqrt>{self._group()}</msqrt>"
        if name in ("left", "right"):
            sign = self._next()
            if sign is None:
                self._fail(f"\\{name} of nothing")
            self._tokens.pop(0)
            sign = SIGNS.get(sign.removeprefix("\\"), sign)
            return f'<mo fence="true" stretchy="true">{escape(sign)}</mo>'
        if name in ("text", "mathrm"):
            kind = "mtext" if name == "text" else "mi"
            return f"<{kind}>{escape(self._words())}</{kind}>"
        if name in _FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in SIGNS:
            kind = "mi" if name in _LETTERS else "mo"
            return f"<{kind}>{SIGNS[name]}</{kind}>"
        self._fail(f"\\{name} is not known")
        raise AssertionError

    def _group(self) -> str:
        if self._next() != "{":
            self._fail("{ expected")
        return self._atom()

    def _words(self) -> str:
        self._expect("{")
        words = []
        while self._tokens and self._tokens[0] != "}":
            words.append(self._tokens.pop(0))
        self._expect("}")
        # spaces at the ends would be dropped
        return re.sub(r"^ | $", "\u00a0", "".join(words))

    def _expect(self, token: str) -> None:
        if self._next() != token:
            self._fail(f"{token} expected")
        self._tokens.pop(0)
