"""From quantities to verdicts: which clauses hold for the means, how surely, in which share of single runs.

A clause is about what the papers print, means over runs. It holds where at least `SURE` of the means that the runs leave possible
(`tcpfair.verdicts.claims.evidence.drawn`) keep its bounds, it does not hold where at least as many break them, and is open
between. Beside it stand what the paper's own number of runs shows, and in which share of the single runs it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.verdicts.claims.evidence import Evidence, Quantity
from tcpfair.verdicts.claims.statement import Claim, Clause

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly", "not reproduced"
UNDECIDED, UNDECIDABLE, UNTESTED = "open", "undecidable", "untested"
BY_CONSTRUCTION, CONTRADICTED = "by construction", "contradicted in print"
DECIDED = (
    *(REPRODUCED, PARTLY, NOT_REPRODUCED, UNDECIDED, UNDECIDABLE, UNTESTED),
    *(BY_CONSTRUCTION, CONTRADICTED),
)

SURE = 0.975  # share of the drawn means
INTERVAL = (1 - SURE, SURE)
HOLDS, FAILS, OPEN = "holds", "does not hold", "open"
SETTINGS = (0.05, 0.95)  # between these shares of the settings the text does not decide a clause

Quantities = Mapping[str, Quantity]
ClaimFunction = Callable[[Evidence], Quantities]


@dataclass(frozen=True)
class Decided:
    """What was found of one clause. ``value`` is the quantity at the cell that is nearest to failing, or fails by most."""

    clause_id: str
    clause: Clause
    outcome: str  # one of HOLDS, FAILS, OPEN
    value: float
    low: float  # 95 % interval of ``value``; NaN where nothing is random
    high: float
    cell: str
    value_holds: bool  # whether the mean keeps the bounds
    confidence: float  # share of the drawn means that say the same as the mean; NaN where nothing is random
    kept: str  # the outcome for the mean over the paper's own number of runs; one of HOLDS, FAILS, OPEN
    single_share: float  # share of the single runs in which it holds; NaN where there are none
    n_single: int
    turns_at: float  # see `turning_point`

    @property
    def in_words(self) -> str:
        """``holds: index at 2 ms less that at 128 ms 0.21 [0.18, 0.24]; required: at least 0, clear of a tie of 0.02``."""
        at = f" at {self.cell}" if self.cell else ""
        unit = f" {self.clause.unit}" if self.clause.unit else ""
        spread = f" [{_text(self.low)}, {_text(self.high)}]" if np.isfinite([self.low, self.high]).all() else ""
        found = f"{self.clause.quantity} {_text(self.value)}{unit}{spread}{at}"
        runs = f"; holds in {100 * self.single_share:.0f} % of {self.n_single} single runs" if self.n_single > 1 else ""
        if self.kept != self.outcome and self.n_single > 1:
            runs += f"; as many runs as the paper has: {self.kept}"
        unsure = self.outcome == OPEN and not np.isnan(self.value)
        sure = f" ({100 * self.confidence:.0f} % of what the runs allow says the same)" if unsure else ""
        return f"{self.clause.says}: {self.outcome}{sure}: {found}; required: {self.clause.asks}{runs}"


def slack(clause: Clause, quantity: Quantity) -> pd.DataFrame:
    """How far inside its bounds each cell of a quantity is; negative outside, NaN where there is no value."""
    table = frame(quantity)
    x = table.to_numpy(dtype=float)
    # a side without a bound has infinite room, for an infinite quantity too, and none is known without a value
    endless = np.where(np.isnan(x), np.nan, np.inf)
    above = x - clause.low if np.isfinite(clause.low) else endless
    below = clause.high - x if np.isfinite(clause.high) else endless
    return pd.DataFrame(np.minimum(above, below), table.index, table.columns)


def frame(quantity: Quantity) -> pd.DataFrame:
    """A quantity as a table: rows are cases, columns cells."""
    if isinstance(quantity, pd.DataFrame):
        return quantity
    if isinstance(quantity, pd.Series):
        return quantity.to_frame("")
    return pd.DataFrame({"": [float(quantity)]})


def holds(clause: Clause, quantity: Quantity) -> pd.Series:
    """Whether a clause holds in each row, in all of its cells: 1.0, 0.0, or NaN where a cell has no value."""
    return _within(clause, slack(clause, quantity))


def _within(clause: Clause, inside: pd.DataFrame) -> pd.Series:
    least = inside.min(axis=1, skipna=False)
    return (least >= -_rounding(clause)).astype(float).where(least.notna())


def turning_point(clause: Clause, quantity: Quantity) -> float:
    """The multiple of its margin at which a clause turns, for the mean: NaN where no multiple turns it, or it has none.

    With a margin that is given, the clause holds from there on; with one that is kept clear of, up to there.
    """
    x = frame(quantity).iloc[0].to_numpy(float)
    if clause.margin is None or np.isnan(x).any():
        return np.nan
    sides = [(clause.at_least, clause.at_least - x.min())] if clause.at_least is not None else []
    sides += [(clause.at_most, x.max() - clause.at_most)] if clause.at_most is not None else []
    most = max(_multiple(beyond, clause.margin.width(bound)) for bound, beyond in sides)
    multiple = most if clause.give else -most
    return float(multiple) if 0 <= multiple < np.inf else np.nan


def _multiple(beyond: float, width: float) -> float:
    """How many margins of a width lead back from beyond a bound; a share of a bound of 0 has no width and leads nowhere."""
    if width:
        return beyond / width
    return np.inf if beyond > 0 else -np.inf


def _rounding(clause: Clause) -> float:
    """Sums of decimal numbers miss a bound that they meet: 0.9 - 0.03."""
    bounds = [abs(bound) for bound in (clause.low, clause.high) if np.isfinite(bound)]
    return 1e-12 * max(1.0, *bounds)


def quantities(function: ClaimFunction, evidence: Evidence) -> Quantities:
    """What a claim's function finds. Raises InputError when it does not give just the clauses that are stated."""
    with np.errstate(invalid="ignore", divide="ignore"):  # the logarithm of a drawn mean below 0 is no value
        found = function(evidence)
    stated = evidence.claim.clauses
    if list(found) != list(stated):
        raise InputError(
            f"data/claims/{evidence.claim.paper}.yaml: {evidence.claim.id}: clauses {', '.join(stated)}, but its function "
            f"finds {', '.join(found)}"
        )
    return found


def decide_clauses(claim: Claim, function: ClaimFunction, evidence: Evidence) -> list[Decided]:
    """Every clause of a claim; the rows of ``evidence`` may be any."""
    means = quantities(function, of_all := replace(evidence, rows="means"))
    single = quantities(function, replace(evidence, rows="runs"))
    kept = quantities(function, replace(evidence, rows="mean", kept_only=True)) if of_all.has_further_runs else means
    return [_decided(name, clause, means[name], single[name], kept[name]) for name, clause in claim.clauses.items()]


def _decided(name: str, clause: Clause, means: Quantity, single: Quantity, kept: Quantity) -> Decided:
    values, inside = frame(means), slack(clause, means)
    is_random = len(values) > 1
    held = _within(clause, inside)
    first = inside.iloc[0]
    cell = int(np.argmin(first.to_numpy()))  # one without a value where there is any
    low, high = values.iloc[1:, cell].dropna().quantile(INTERVAL, interpolation="nearest")
    confidence = float((held.iloc[1:] == held.iloc[0]).mean())
    outcome = OPEN if confidence < SURE else _of_mean(held)
    of_single = holds(clause, single).dropna()
    return Decided(
        name,
        clause,
        outcome,
        float(values.iloc[0, cell]),
        float(low),
        float(high),
        _cell_name(values.columns[cell]),
        bool(held.iloc[0] > 0),
        confidence,
        _of_mean(holds(clause, kept)),
        float(of_single.mean()) if is_random else np.nan,
        len(of_single) if is_random else 0,
        turning_point(clause, means),
    )


def _of_mean(held: pd.Series) -> str:
    return OPEN if np.isnan(held.iloc[0]) else HOLDS if held.iloc[0] else FAILS


def verdict(claim: Claim, outcomes: Sequence[str], text_decides: bool = True) -> str:
    """The verdict on a claim from the outcomes of its clauses; one of `DECIDED`. For ``text_decides`` see there."""
    if claim.contradicted:
        return CONTRADICTED
    if claim.untested:
        return UNTESTED
    if not text_decides and not claim.by_construction:
        return UNDECIDABLE
    if HOLDS in outcomes and FAILS in outcomes:
        return PARTLY
    if OPEN in outcomes:
        return UNDECIDED
    if FAILS in outcomes:
        return NOT_REPRODUCED
    return BY_CONSTRUCTION if claim.by_construction else REPRODUCED


def text_decides(claim: Claim, settings: pd.DataFrame) -> bool:
    """Whether the paper's text decides at least one clause of a claim, whatever is assumed for what it leaves open.

    ``settings`` has the claim's rows of the table ``ensemble_clauses``. False where the ensemble has all clauses, each of them
    holds in a share of the settings within `SETTINGS`, and an assumption that decides at least one of them is known.
    """
    shares = settings.set_index("clause")["share"].reindex(list(claim.clauses)).astype(float)
    return not (shares.between(*SETTINGS).all() and (settings["assumption"] != "").any())


def certainty_text(confidence: float, settings_share: float) -> str:
    """``98 % sure; its weakest clause in 77 % of the settings``, without what is NaN.

    That is the least confidence of a claim's clauses, and the least share of the settings of what the paper leaves open in which
    one holds.
    """
    known = "over 99" if confidence >= 0.995 else f"{np.floor(100 * confidence):.0f}"
    sure = "" if np.isnan(confidence) else f"{known} % sure"
    share = "" if np.isnan(settings_share) else f"its weakest clause in {100 * settings_share:.0f} % of the settings"
    return "; ".join(filter(None, [sure, share]))


def evidence_line(claim: Claim, decided: list[Decided], made_of: str) -> str:
    """Evidence as one line: exhibits, how many clauses hold, each clause in words, the runs."""
    n_held = sum(clause.outcome == HOLDS for clause in decided)
    shown = f"{', '.join(claim.exhibits)}: " if claim.exhibits else ""
    count = f"{n_held} of {len(decided)} clauses hold" if len(decided) > 1 else decided[0].outcome
    notes = [f"In print: {claim.clauses[name].print_note}" for name in claim.contradicted]
    notes += [f"By construction: {claim.by_construction}"] if claim.by_construction else []
    notes += [f"Untested: {claim.untested}"] if claim.untested else []
    parts = [f"{shown}{count}", *(clause.in_words for clause in decided), *notes, f"From {made_of}"]
    return ". ".join(part.rstrip(".") for part in parts) + "."


def _text(value: float) -> str:
    return "no value" if np.isnan(value) else "never" if np.isposinf(value) else f"{value:.3g}"


def _cell_name(cell: Any) -> str:
    if isinstance(cell, tuple):
        return " ".join(_cell_name(part) for part in cell)
    return cell if isinstance(cell, str) else f"{cell:g}"
