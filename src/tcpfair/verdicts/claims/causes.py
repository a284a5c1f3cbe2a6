"""Causes: why a claim is not reproduced, each with a condition that must hold before the ledger states it.

``data/claims/causes.yaml`` names the condition of each cause. Conditions are functions of the claim, its decided clauses and
its rows of the table ``ensemble_clauses``. A clause *fails* if it is decided and does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import pandas as pd

from tcpfair.errors import check_known
from tcpfair.runs.ensemble import AS_PRINTED
from tcpfair.verdicts.claims.decision import FAILS, HOLDS, OPEN, SETTINGS, Decided
from tcpfair.verdicts.claims.statement import Claim
from tcpfair.verdicts.claims.why import CAUSES, Cause

RARE = 0.1  # "no setting": the share of all plausible settings is below this, with 95 % confidence
MOST = 0.5  # "reading": a clause holds in more than this share of the settings under the reading, and in less without


class Found(NamedTuple):
    """The input of a condition. ``settings`` has the claim's rows of ``ensemble_clauses``, for all hypotheses.

    ``denied`` has the clauses that the paper's own numbers contradict, by hypothesis; a hypothesis may exclude numbers.
    """

    claim: Claim
    clauses: Sequence[Decided]
    settings: pd.DataFrame
    denied: Mapping[str, Sequence[str]] = MappingProxyType({})

    @property
    def failing(self) -> list[str]:
        return [clause.clause_id for clause in self.clauses if clause.outcome == FAILS]

    def shares(self, hypothesis: str = AS_PRINTED) -> pd.Series:
        """Share of the settings in which each failing clause holds; NaN if the ensemble does not have it."""
        own = self.settings[self.settings["hypothesis"] == hypothesis]
        return own.set_index("clause")["share"].reindex(self.failing)


def _above_rare(found: Found) -> bool:
    """Whether a failing clause may hold in a share of all settings above `RARE`, or was not simulated under others."""
    from scipy.special import betaincinv  # slow to import, and rarely needed

    own = found.settings[found.settings["hypothesis"] == AS_PRINTED].set_index("clause").reindex(found.failing)
    own = own[["share", "settings"]].astype(float)
    held = (own["share"] * own["settings"]).round()
    fails = own["settings"] - held
    # Clopper and Pearson; NaN if it holds in all settings, or without settings
    bound = betaincinv(held + 1, fails.where(fails > 0), 0.95)
    return not (bound <= RARE).all()


def _by_reading(found: Found) -> bool:
    """A failing clause without simulated settings counts as failing in the paper as published."""
    printed = found.shares()
    return any(
        (found.shares(name) > MOST).any() and not (printed[found.shares(name) > MOST] >= MOST).any()
        for name in found.settings["hypothesis"].unique()
        if name != AS_PRINTED
    )


def _by_excluded_numbers(found: Found) -> bool:
    wanted = set(found.claim.contradicted)
    if not wanted or not wanted <= set(found.denied.get(AS_PRINTED, ())):
        return False
    return any(not wanted & set(denied) for name, denied in found.denied.items() if name != AS_PRINTED)


# conditions of causes by name: the condition, and the message if it does not hold
CONDITIONS: dict[str, tuple[Callable[[Found], bool], str]] = {
    "by construction": (lambda found: bool(found.claim.by_construction), "the claim has no `by_construction`"),
    "untested": (lambda found: bool(found.claim.untested), "the claim has no `untested`"),
    "print": (
        lambda found: any(found.claim.clauses[each.clause_id].print_note for each in found.clauses),
        "no clause has a `print_note`",
    ),
    "excluded print": (
        _by_excluded_numbers,
        "no hypothesis excludes the published numbers that contradict it, or the published numbers do not contradict it",
    ),
    "settings": (
        lambda found: bool((found.shares() >= SETTINGS[0]).any()),
        f"no failing clause holds in {SETTINGS[0]:.0%} of the settings or more",
    ),
    "reading": (_by_reading, "under no hypothesis does a clause hold in most settings that fails in most without it"),
    "open": (lambda found: any(each.outcome == OPEN for each in found.clauses), "the runs decide every clause"),
    "direction": (
        lambda found: any(each.outcome == HOLDS for each in found.clauses),
        "no clause holds, so none gives the direction",
    ),
    "no setting": (
        lambda found: not _above_rare(found),
        f"a failing clause may hold in more than {RARE:.0%} of all settings, or was not simulated under others",
    ),
    "outside the settings": (
        lambda found: bool((found.shares() < SETTINGS[0]).all()),
        f"a failing clause holds in {SETTINGS[0]:.0%} of the settings or more, or was not simulated under others",
    ),
    "not settings": (
        lambda found: not (found.shares() >= SETTINGS[0]).any(),
        f"a failing clause holds in {SETTINGS[0]:.0%} of the settings or more, so that a parameter can explain it",
    ),
}


def unmet(name: str, cause: Cause, found: Found) -> str:
    """Why a cause does not apply to a claim, as one line; empty if its condition holds.

    Raises InputError for an unknown condition.
    """
    check_known(f"data/claims/{CAUSES}: {name}: needs: condition", [cause.needs], CONDITIONS)
    condition, otherwise = CONDITIONS[cause.needs]
    where = f"data/claims/{found.claim.paper}.yaml: {found.claim.id}: cause: {name}"
    return "" if condition(found) else f"{where}: {otherwise}"
