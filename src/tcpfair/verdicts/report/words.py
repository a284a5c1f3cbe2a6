"""Names and numbers as text of the report."""

from __future__ import annotations

import math

from tcpfair.runs.ensemble import digits
from tcpfair.verdicts.cell_links import anchor as anchor
from tcpfair.verdicts.cell_links import label as label
from tcpfair.verdicts.printed import NO_VALUE, as_number

MINUS = "−"

# where the runs of the ledger's table `guest` come from
SOURCES = {
    "full": "in the engine at full size",
    "scaled": "in the engine scaled",
    "as_kernel": "in the engine scaled, as Linux 6.1",
    "guest": "in Linux 6.1, scaled",
}


def short_label(exhibit_id: str) -> str:
    """``ogura.fig8`` -> ``F8``."""
    return label(exhibit_id).replace("Figure ", "F").replace("Table ", "T")


def equation_label(equation_id: str) -> str:
    """``ogura.eq3`` -> ``eq. 3``, ``ogura.eq_B`` -> ``eq. B``."""
    return f"eq. {equation_id.split('.eq')[-1].lstrip('_')}"


def number_text(value: str, printed: str) -> str:
    """A computed value with one decimal more than the published one; letters and dashes are unchanged."""
    number = as_number(value)
    if isinstance(number, str):
        return "–" if value in ("", NO_VALUE) else value
    decimals = len(printed.partition(".")[2]) + 1
    return f"{number:.{decimals}f}".replace("-", MINUS)


def three_digits(text: str) -> str:
    """``0.57735`` -> ``0.577``; empty for no value, ``never`` for an infinite one."""
    number = float(text) if text else math.nan
    if math.isnan(number):
        return ""
    return "never" if math.isinf(number) else digits(number).replace("-", MINUS)


def count_text(number: float) -> str:
    """A count for readers: ``1 234``, ``56.7 million``, ``8.9 billion``."""
    for name, size in (("billion", 1e9), ("million", 1e6)):
        if number >= size:
            return f"{number / size:.1f} {name}"
    return f"{number:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def plural(count: int, one: str, many: str = "") -> str:
    """``1 claim``, ``3 claims``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def listed(parts: list[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
