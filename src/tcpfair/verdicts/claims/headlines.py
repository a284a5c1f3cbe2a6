"""The conclusion of each paper's abstract as one verdict, from the verdicts on the claims that it rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import pandas as pd
from pydantic import Field

from tcpfair.errors import check_known
from tcpfair.papers.papers import load_models
from tcpfair.papers.scenario import Frozen
from tcpfair.verdicts.claims.decision import (
    BY_CONSTRUCTION,
    CONTRADICTED,
    NOT_REPRODUCED,
    PARTLY,
    REPRODUCED,
    UNDECIDABLE,
    UNDECIDED,
)

HEADLINES = "headlines.yaml"
COLUMNS = ["paper", "says", "verdict", "certainty", "settings_share", "claims"]
_HELD, _FAILED = {REPRODUCED, BY_CONSTRUCTION}, {NOT_REPRODUCED, CONTRADICTED}


class Headline(Frozen):
    """One entry of ``data/claims/headlines.yaml``."""

    says: str = Field(min_length=1)
    claims: list[str] = Field(min_length=1)


def verdict(verdicts: Collection[str]) -> str:
    """The verdict on a conclusion. An undecided claim counts only if the others do not decide already.

    A conclusion is partly reproduced if one claim is, or if one holds and another fails. Otherwise an undecidable claim makes
    it undecidable, and an open one makes it open. Any other verdict (``not run``) becomes that of the conclusion.
    """
    found = set(verdicts)
    if found <= _HELD:
        return REPRODUCED
    if found <= _FAILED:
        return NOT_REPRODUCED
    if PARTLY in found or (found & _HELD and found & _FAILED):
        return PARTLY
    return next((name for name in (UNDECIDABLE, UNDECIDED) if name in found), min(found - _HELD - _FAILED))


def headline_table(folder: Path, papers: Iterable[str], claims: pd.DataFrame) -> pd.DataFrame:
    """The conclusions of some papers: columns `COLUMNS`; certainty and share of the settings are the least of their claims.

    ``claims`` is the table of `tcpfair.verdicts.claims.registry.evaluate`. Raises InputError for an invalid file or an
    unknown claim.
    """
    by_id = claims.set_index("id")
    rows = []
    for paper, headline in load_models(folder / HEADLINES, Headline).items():
        if paper not in papers:
            continue
        check_known(f"data/claims/{HEADLINES}: {paper}: claims: claim", headline.claims, by_id.index)
        own = by_id.loc[headline.claims]
        numbers = [own[name].astype(float).min() for name in ("certainty", "settings_share")]
        rows.append((paper, headline.says, verdict(own["verdict"]), *numbers, ";".join(headline.claims)))
    return pd.DataFrame(rows, columns=COLUMNS)
