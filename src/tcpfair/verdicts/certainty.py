"""A verdict and its certainty in words, for the terminal, notebooks and the report. Imported where pandas is not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def verdict_text(row: Mapping[str, Any]) -> str:
    """``partly (98 % sure; its weakest clause in 77 % of the settings)``: of a row of the table of claims or headlines."""
    if row["verdict"] == "not run":
        return row["verdict"]  # the share of the settings is that of shipped ensembles
    sure = certainty_text(
        *(math.nan if row[name] == "" else float(row[name]) for name in ("certainty", "settings_share"))
    )
    return f"{row['verdict']} ({sure})" if sure else row["verdict"]


def percent(text: str | float) -> str:
    """A share as a whole percentage; empty for none."""
    number = float(text) if text != "" else math.nan
    return "" if math.isnan(number) else f"{100 * number:.0f} %"


def certainty_text(confidence: float, settings_share: float) -> str:
    """``98 % sure; its weakest clause in 77 % of the settings``, without NaN.

    These are the least confidence of a claim's clauses, and the least share of the settings of unstated parameters in which
    one holds.
    """
    known = "over 99" if confidence >= 0.995 else "" if math.isnan(confidence) else f"{math.floor(100 * confidence)}"
    sure = f"{known} % sure" if known else ""
    share = percent(settings_share) and f"its weakest clause in {percent(settings_share)} of the settings"
    return "; ".join(filter(None, [sure, share]))
