"""The verdicts on the claims of one paper, before they are copied into the ledger."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tcpfair.files.layout import JUDGED_TABLES, Layout
from tcpfair.files.rounding import rounded_table
from tcpfair.papers.papers import Config
from tcpfair.runs.ensemble import load
from tcpfair.runs.store import Held
from tcpfair.verdicts import claims, readings
from tcpfair.verdicts.ensemble.clauses import clause_table, further_runs
from tcpfair.verdicts.ensemble.tables import write_parts
from tcpfair.verdicts.scope import scope_of


def write_judged(layout: Layout, config: Config, paper: str, place: Path | None = None) -> pd.DataFrame:
    """Judge the claims of one paper by its runs and by the settings of its ensemble; write `JUDGED_TABLES` to ``place``.

    Returns the claims. Raises InputError for an invalid configuration or claim, and when the condition of a cause fails.
    """
    scope = scope_of(layout, config)
    held = Held(layout, scope.papers[paper])
    plans, further = load(layout.ensemble_config), further_runs(layout, held.paper)
    settings = rounded_table(clause_table(layout, held.paper))
    read_as = readings.clauses_read_as(held, further, scope.left_out, settings, plans)
    settings = pd.concat([settings, read_as], ignore_index=True) if len(read_as) else settings
    denied = readings.denied_in_print(layout, held.paper, plans)
    found = (*claims.evaluate(held, scope.left_out, settings, further, denied), settings)
    write_parts(place or layout.judged / paper, dict(zip(JUDGED_TABLES, found, strict=True)))
    return found[0]
