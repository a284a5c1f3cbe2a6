"""Differences from the baseline, with old and new values on one axis."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from markupsafe import Markup

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.verdicts import baseline, printed
from tcpfair.verdicts.printed import as_number, key_text
from tcpfair.verdicts.report.marks import Table, table_of
from tcpfair.verdicts.report.words import MINUS

SHOWN = 200
_LEFT, _WIDTH = 10, 220  # of the axis, in px

Span = tuple[float, float, float]  # on an axis from 0 to 1: the value of a number between the ends of its spread
Pair = tuple[Span, Span, str, str]  # a number in the baseline and today, and the ends of their axis


def changed(layout: Layout, configs: Mapping[str, PaperConfig], changes: pd.DataFrame) -> list[dict]:
    """Changes beyond the spread, without new ones, with the unit and, for numbers, old and new values on one axis."""
    rows = changes[~changes["change"].isin(["new", "within spread"])].to_dict("records")
    units = {}
    for config in configs.values() if rows else ():
        units |= printed.units(printed.load_printed(config, layout.data))
    for row in rows:
        row["of"] = key_text(row["key"]) if row["key"] else ""
        row["unit"] = units.get((row["id"], row["metric"]), "")
        row["pair"] = pair_of(row) if row["change"] == "moved" else None
        row |= dict(zip(("old", "now"), baseline.told_apart(row["baseline"], row["today"]), strict=True))
        row["percent"] = f"{100 * float(row['relative']):+.3g} %".replace("-", MINUS) if row["relative"] else ""
    return rows


def change_table(rows: list[dict]) -> Table:
    """The first `SHOWN` changes."""
    columns = {
        "id": "id",
        "of": "of",
        "metric": lambda row: row["metric"] + (f" ({row['unit']})" if row["unit"] else ""),
        "baseline:n": lambda row: Markup('<span class="old">{}</span>').format(row["old"]),
        "today:n": lambda row: Markup('<span class="now">{}</span>').format(row["now"]),
        "change:n": lambda row: row["percent"] or row["change"],
        "old and new": lambda row: draw_pair(row) if row["pair"] else "",
    }
    return table_of("What moved, with the baseline and today's value", rows[:SHOWN], columns)


def pair_of(row: Mapping[str, str]) -> Pair | None:
    """Old and new on an axis with their spreads; None if one of them is not a number."""
    values = [as_number(row[name]) for name in ("baseline", "today")]
    if any(isinstance(value, str) for value in values):
        return None
    reach = [float(row[name] or 0) for name in baseline.REACH_COLUMNS]
    spans = [(value - r, value, value + r) for value, r in zip(values, reach, strict=True)]
    low, high = min(span[0] for span in spans), max(span[-1] for span in spans)
    if not math.isfinite(high - low):
        return None
    old, new = (tuple((x - low) / (high - low) for x in span) for span in spans)
    return old, new, *(f"{end:.4g}".replace("-", MINUS) for end in (low, high))


def draw_pair(row: Mapping) -> Markup:
    """Old and new above each other on one axis, as SVG."""
    *shares, low, high = row["pair"]
    old, new = ([_LEFT + _WIDTH * share for share in span] for span in shares)
    name = f"{row['metric']}: baseline {row['baseline']}, today {row['today']}"
    spread = Markup('<line class="{0}" x1="{1:.1f}" x2="{2:.1f}" y1="{3}" y2="{3}"/>')
    return Markup(
        '<svg class="pair" viewBox="0 0 240 40" width="240" height="40" role="img" aria-label="{}">'
        '{}<circle class="old" cx="{:.1f}" cy="7" r="4"/>{}<path class="now" d="M{:.1f} 14l5 5l-5 5l-5 -5z"/>'
        '<path class="axis" d="M10 28H230M10 25v3M230 25v3"/><text x="10" y="38">{}</text>'
        '<text x="230" y="38" text-anchor="end">{}</text></svg>'
    ).format(
        name,
        spread.format("old", old[0], old[2], 7),
        old[1],
        spread.format("now", new[0], new[2], 19),
        new[1],
        low,
        high,
    )
