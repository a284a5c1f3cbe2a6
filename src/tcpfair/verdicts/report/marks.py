"""Badges, bars, links and tables, of which every part of the report consists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

COLOURS = {
    outcome: colour
    for colour, outcomes in {
        "good": ("built", "within", "reproduced", "holds"),
        "part": ("partly", "undecided"),
        "bad": ("failed", "outside", "not reproduced", "does not hold", "unexplained"),
        "print": ("contradicted in print", "explained"),
        "given": ("by construction",),
        "none": ("pending", "not computed", "undecidable", "open", "untested", "not run", "withdrawn", "no value"),
    }.items()
    for outcome in outcomes
}

Cell = str | int | float | Markup
Ledger = dict[str, pd.DataFrame]  # its tables by name
View = dict[str, Any]  # values for a template


@dataclass(frozen=True)
class Bar:
    """Counts of one quantity, as text and as a bar of shares."""

    counts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def share(self, category: str) -> float:
        """Share of one category in per cent."""
        return 100 * self.counts.get(category, 0) / max(self.total, 1)

    @property
    def words(self) -> str:
        """``3 built, 1 failed``."""
        return ", ".join(f"{n} {name}" for name, n in self.counts.items() if n) or "none"


def summed(bars: Iterable[Bar]) -> Bar:
    """The sum of all counts."""
    counts: dict[str, int] = {}
    for bar in bars:
        counts = {name: counts.get(name, 0) + number for name, number in bar.counts.items()}
    return Bar(counts)


def draw_bar(bar: Bar) -> Markup:
    """A bar as HTML, with its counts as its accessible name."""
    parts = Markup("").join(
        Markup('<span class="{}" style="width:{:.2f}%"></span>').format(COLOURS[name], bar.share(name))
        for name, n in bar.counts.items()
        if n
    )
    return Markup('<div class="bar" role="img" aria-label="{}">{}</div>').format(bar.words, parts)


def badge(text: str) -> Markup:
    """A verdict, an outcome or a status in its colour."""
    return Markup('<span class="badge {}">{}</span>').format(COLOURS[text], text)


def link(href: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(href, text)


def links(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Links from (href, text), separated by commas."""
    return Markup(", ").join(link(*pair) for pair in pairs)


def code(text: str) -> Markup:
    return Markup("<code>{}</code>").format(text) if text else Markup("")


def of_paper(table: pd.DataFrame, paper: str) -> pd.DataFrame:
    """The rows of one paper in a table of the ledger."""
    return table[table["paper"] == paper]


def lines(*parts: str | Markup) -> Markup:
    """Non-empty parts, each on a line."""
    return Markup("<br>").join(escape(part) for part in parts if part)


# --- Tables -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A row: its cells, its id, and the values by which the page's script filters it."""

    cells: list[Cell]
    id: str = ""
    paper: str = ""
    verdict: str = ""
    kind: str = ""  # a class


@dataclass(frozen=True)
class Table:
    """A table with a caption. Those with ``tools`` can be searched and filtered, all can be sorted.

    A column has a title, and its kind as a class: ``n`` numbers, ``wide`` sentences, ``names`` lists of names.
    """

    caption: str
    columns: list[tuple[str, str]]
    rows: list[Row]
    tools: bool = False
    verdict_title: str = "verdict"
    id: str = ""


def table(caption: str, titles: Iterable[str], rows: Iterable[Row | list[Cell]], **options) -> Table:
    """A table from titles such as ``runs:n``, in which the kind of a column follows a colon."""
    columns = [(title, kind) for title, _, kind in (each.partition(":") for each in titles)]
    return Table(caption, columns, [row if isinstance(row, Row) else Row(row) for row in rows], **options)


def table_of(
    caption: str,
    rows: Iterable[Mapping[str, str]],
    columns: Mapping[str, str | Callable[[Mapping[str, str]], Cell]],
    by_paper: bool = False,
    **options,
) -> Table:
    """A table of rows of the ledger: ``columns`` maps each title to a column of the ledger, or to a function of the row.

    With ``by_paper`` the page's script can filter its rows by their paper.
    """
    shown = [
        Row(
            [row[cell] if isinstance(cell, str) else cell(row) for cell in columns.values()],
            paper=row["paper"] if by_paper else "",
        )
        for row in rows
    ]
    return table(caption, columns, shown, **options)
