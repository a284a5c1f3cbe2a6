"""From quantities to verdicts: which clauses hold for the means, with what confidence, and in which share of single runs.

A clause is about the published quantities, which are means over runs. It holds if at least `SURE` of the means that are
consistent with the runs (`tcpfair.verdicts.combine.drawn`) satisfy its bounds, does not hold if at least as many violate
them, and is open otherwise. The outcome with the paper's own number of runs, and the share of single runs in which the clause
holds, are reported too.
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
SETTINGS = (0.05, 0.95)  # if a clause holds in a share of the settings between these, the text does not decide it

Quantities = Mapping[str, Quantity]
ClaimFunction = Callable[[Evidence], Quantities]


@dataclass(frozen=True)
class Decided:
    """The result of one clause. ``value`` is the quantity at the cell that is nearest to failing, or fails by most."""

    clause_id: str
    clause: Clause
    outcome: str  # one of HOLDS, FAILS, OPEN
    value: float
    low: float  # 95 % interval of ``value``; NaN for a deterministic quantity
    high: float
    cell: str
    value_holds: bool  # whether the mean satisfies the bounds
    confidence: float  # share of the drawn means with the same result as the mean; NaN for a deterministic quantity
    kept: str  # the outcome for the mean over the paper's own number of runs; one of HOLDS, FAILS, OPEN
    single_share: float  # share of the single runs in which it holds; NaN without single runs
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
        sure = f" ({100 * self.confidence:.0f} % of the means consistent with the runs agree)" if unsure else ""
        return f"{self.clause.says}: {self.outcome}{sure}: {found}; required: {self.clause.asks}{runs}"


def slack(clause: Clause, quantity: Quantity) -> pd.DataFrame:
    """Distance of each cell of a quantity to the nearest bound; negative outside the bounds, NaN without a value."""
    table = frame(quantity)
    x = table.to_numpy(dtype=float)
    # a side without a bound has infinite slack, for an infinite quantity too; NaN without a value
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
    """Whether a clause holds in each row, in all of its cells: 1.0, 0.0, or NaN if a cell has no value."""
    return _within(clause, slack(clause, quantity))


def _within(clause: Clause, inside: pd.DataFrame) -> pd.Series:
    least = inside.min(axis=1, skipna=False)
    return (least >= -_rounding(clause)).astype(float).where(least.notna())


def turning_point(clause: Clause, quantity: Quantity) -> float:
    """The multiple of its margin at which the outcome of a clause changes, for the mean; NaN without such a multiple.

    With ``give``, the clause holds from this multiple on; with ``clear``, up to it.
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
    """The excess over a bound in margins of a width; infinite for a margin without width, such as a share of a bound of 0."""
    if width:
        return beyond / width
    return np.inf if beyond > 0 else -np.inf


def _rounding(clause: Clause) -> float:
    """The binary error of a bound that is a sum of decimal numbers, such as 0.9 - 0.03."""
    bounds = [abs(bound) for bound in (clause.low, clause.high) if np.isfinite(bound)]
    return 1e-12 * max(1.0, *bounds)


def quantities(function: ClaimFunction, evidence: Evidence) -> Quantities:
    """The quantities from a claim's function. Raises InputError unless they are exactly those of the stated clauses."""
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
    """Every clause of a claim; ``evidence`` may have any rows."""
    means = quantities(function, of_all := replace(evidence, rows="means"))
    single = quantities(function, replace(evidence, rows="runs"))
    kept = quantities(function, replace(evidence, rows="mean", kept_only=True)) if of_all.has_further_runs else means
    return [_decided(name, clause, means[name], single[name], kept[name]) for name, clause in claim.clauses.items()]


def _decided(name: str, clause: Clause, means: Quantity, single: Quantity, kept: Quantity) -> Decided:
    values, inside = frame(means), slack(clause, means)
    is_random = len(values) > 1
    held = _within(clause, inside)
    first = inside.iloc[0]
    cell = int(np.argmin(first.to_numpy()))  # a cell without a value if one exists: argmin returns the first NaN
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
    """Whether the paper's text decides at least one clause of a claim for any plausible assumptions.

    ``settings`` has the claim's rows of the table ``ensemble_clauses``. False if the ensemble has all clauses, each of them
    holds in a share of the settings within `SETTINGS`, and an assumption is known that decides at least one of them.
    """
    shares = settings.set_index("clause")["share"].reindex(list(claim.clauses)).astype(float)
    return not (shares.between(*SETTINGS).all() and (settings["assumption"] != "").any())


def evidence_line(claim: Claim, decided: list[Decided], made_of: str) -> str:
    """Evidence as one line: exhibits, how many clauses hold, each clause in words, the runs."""
    n_held = sum(clause.outcome == HOLDS for clause in decided)
    shown = f"{', '.join(claim.exhibits)}: " if claim.exhibits else ""
    count = f"{n_held} of {len(decided)} clauses hold" if len(decided) > 1 else decided[0].outcome
    notes = [f"In the paper: {claim.clauses[name].print_note}" for name in claim.contradicted]
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
