"""What moved since the baseline, old and new on one axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.verdicts import baseline, printed
from tcpfair.verdicts.printed import key_text
from tcpfair.verdicts.report.marks import Row, Table, table
from tcpfair.verdicts.report.words import MINUS

SHOWN = 200
_LEFT, _WIDTH = 10, 220  # of the axis, in px


@dataclass(frozen=True)
class Interval:
    """A number on an axis from 0 to 1: its value and the ends of its spread."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Pair:
    """A number that moved, in the baseline and today, on one axis whose ends are ``axis``."""

    baseline: Interval
    today: Interval
    axis: tuple[str, str]


def changed(layout: Layout, configs: Mapping[str, PaperConfig], changes: pd.DataFrame) -> list[dict]:
    """What changed beyond its spread and was there before, with the unit and, of numbers, old and new on one axis."""
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
    """The first `SHOWN` of what changed."""
    cells = [
        Row(
            [
                row["id"],
                row["of"],
                row["metric"] + (f" ({row['unit']})" if row["unit"] else ""),
                Markup('<span class="old">{}</span>').format(row["old"]),
                Markup('<span class="now">{}</span>').format(row["now"]),
                row["percent"] or row["change"],
                draw_pair(row) if row["pair"] else "",
            ]
        )
        for row in rows[:SHOWN]
    ]
    titles = ["id", "of", "metric", "baseline:n", "today:n", "change:n", "old and new"]
    return table("What moved, with the baseline and today's value", titles, cells)


def pair_of(row: Mapping[str, str]) -> Pair | None:
    """Old and new on an axis that holds both with their spreads; None when one of them is no number."""
    try:
        values = [float(row["baseline"]), float(row["today"])]
    except ValueError:
        return None
    reach = [float(row[name] or 0) for name in baseline.REACH_COLUMNS]
    low, high = (op(v + sign * r for v, r in zip(values, reach, strict=True)) for op, sign in ((min, -1), (max, 1)))
    if not math.isfinite(high - low):
        return None
    old, new = (
        Interval(*((x - low) / (high - low) for x in (v - r, v, v + r))) for v, r in zip(values, reach, strict=True)
    )
    return Pair(old, new, (f"{low:.4g}".replace("-", MINUS), f"{high:.4g}".replace("-", MINUS)))


def draw_pair(row: Mapping) -> Markup:
    """Old and new over each other on one axis, as SVG."""
    pair = row["pair"]
    name = f"{row['metric']}: baseline {row['baseline']}, today {row['today']}"
    x = [_at(pair.baseline.value), _at(pair.today.value)]
    return Markup(
        '<svg class="pair" viewBox="0 0 240 40" width="240" height="40" role="img" aria-label="{}">'
        '{}<circle class="old" cx="{:.1f}" cy="7" r="4"/>{}<path class="now" d="M{:.1f} 14l5 5l-5 5l-5 -5z"/>'
        '<path class="axis" d="M10 28H230M10 25v3M230 25v3"/><text x="10" y="38">{}</text>'
        '<text x="230" y="38" text-anchor="end">{}</text></svg>'
    ).format(name, _spread(pair.baseline, 7, "old"), x[0], _spread(pair.today, 19, "now"), x[1], *pair.axis)


def _spread(at: Interval, y: int, kind: str) -> Markup:
    return Markup('<line class="{0}" x1="{1:.1f}" x2="{2:.1f}" y1="{3}" y2="{3}"/>').format(
        kind, _at(at.low), _at(at.high), y
    )


def _at(share: float) -> float:
    return _LEFT + _WIDTH * share
