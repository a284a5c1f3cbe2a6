"""Why a claim has its verdict: a cause and one plain sentence, both data, with the measured values filled in.

A sentence is in ``data/claims/<paper>.yaml`` and names values by their clause: ``{fair:.2f}``. The format after the colon is
a format of Python, ``%`` or ``.1%`` for a share, or ``points`` for percentage points; ``abs``, ``more`` (than 1) or ``less``
(than 1) may precede it. Parts are ``{fair.low}`` and ``{fair.high}`` (95 % interval), ``{fair.sure}`` (confidence),
``{fair.runs}`` (share of the single runs in which the clause holds), ``{fair.settings}`` (share of the settings of the ensemble)
and ``{fair.H1}`` (share of the settings under that hypothesis). All other numbers of a sentence are in its claim: in the
text, the bounds, or the notes on published numbers.

A sentence is written for one verdict. It is not shown if a run gives a verdict that does not fit the cause.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field

from tcpfair.errors import InputError
from tcpfair.papers.papers import load_models
from tcpfair.papers.scenario import Frozen

CAUSES = "causes.yaml"
PARTS = {"": "value", "low": "low", "high": "high", "sure": "confidence", "runs": "single_share"}
SETTINGS = "settings"
_SHARES = ("sure", "runs")

_PLACE = re.compile(r"\{(\w+)(?:\.([\w+]+))?(?::([^{}]*))?\}")
_CHANGES = {"abs": abs, "more": lambda x: x - 1, "less": lambda x: 1 - x}
_HOW = re.compile(rf"({'|'.join(_CHANGES)})?(points|(\.\d)?[%fg])?")


class Cause(Frozen):
    """One entry of ``data/claims/causes.yaml``."""

    says: str = Field(min_length=1)
    verdicts: list[str] = Field(min_length=1, description="verdicts that it can explain")
    needs: str = Field(description="its condition, a name of `tcpfair.verdicts.claims.causes.CONDITIONS`")


def load_causes(folder: Path) -> dict[str, Cause]:
    """The causes of ``folder/causes.yaml`` by name. Raises InputError naming file and field."""
    return load_models(folder / CAUSES, Cause)


def check(sentence: str, clauses: Iterable[str], where: str) -> None:
    """Raise InputError when a sentence has an unknown clause or an unknown format."""
    known = set(clauses)
    for found in _PLACE.finditer(sentence):
        name, how = found[1], found[3] or ""
        if name not in known:
            raise InputError(f"{where}: why: {found[0]}: no clause {name!r}, only {', '.join(sorted(known))}")
        if not _HOW.fullmatch(how):
            raise InputError(f"{where}: why: {found[0]}: {how!r} is not a format of numbers")
    rest = _PLACE.sub("", sentence)
    if "{" in rest or "}" in rest:
        raise InputError(f"{where}: why: unmatched brace")


def fill(
    sentence: str, found: Mapping[str, Any], shares: Mapping[tuple[str, str], float] = MappingProxyType({})
) -> str:
    """A sentence with its values; empty if a value is missing.

    ``found`` has the result of each clause, ``shares`` the share of the settings in which it holds, by clause and hypothesis
    (`SETTINGS`: without one).
    """
    missing = False

    def value(place: re.Match) -> str:
        nonlocal missing
        clause, part = place[1], place[2] or ""
        if part in PARTS:
            number = float(getattr(found[clause], PARTS[part])) if clause in found else math.nan
        else:
            number = shares.get((clause, part), math.nan)
        missing |= math.isnan(number)
        return said(number, place[3] or ("%" if part in _SHARES or part not in PARTS else ""))

    text = _PLACE.sub(value, sentence)
    return "" if missing else text


def said(number: float, how: str = "") -> str:
    """A number as text in a sentence: ``0.58``, ``42``, ``31 %``, ``9.6 points``."""
    change, form, _ = _HOW.fullmatch(how).groups()
    number = _CHANGES[change](number) if change else number
    if not math.isfinite(number):
        return "never"
    if form == "points":
        text = f"{said(abs(100 * number))} points"
    elif form and form.endswith("%"):
        text = f"{format(number, form if form != '%' else '.0%')[:-1]} %"
    elif form:
        text = format(number, form)
    else:
        text = f"{number:.0f}" if abs(number) >= 10 else f"{number:#.2g}"
    return re.sub(r"^-(?=0(\.0*)?( |$))", "", text).replace("-", "−")


def explain(
    cause: str,
    sentence: str,
    verdict: str,
    found: Mapping[str, Any],
    shares: Mapping[tuple[str, str], float],
    causes: Mapping[str, Cause],
) -> tuple[str, str]:
    """Cause and sentence for the verdict of a run; both empty if they were written for another verdict.

    A reproduced claim has a sentence and no cause.
    """
    fits = verdict in causes[cause].verdicts if cause else verdict == "reproduced"
    text = fill(sentence, found, shares) if fits else ""
    return (cause, text) if text else ("", "")
