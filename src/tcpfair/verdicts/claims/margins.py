"""Sensitivity to the margins: which clauses and verdicts change with another margin.

A margin is a convention (``data/claims/margins.yaml``). Each margin, and all of a kind together, are set to 0, halved, doubled
and, if the scatter of repetitions was measured but is not used, set to that. So a reader who would have chosen another margin
sees its effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.verdicts.claims.decision import DECIDED, FAILS, HOLDS, OPEN, UNDECIDABLE, verdict
from tcpfair.verdicts.claims.statement import Claim, Margin, load_claims, load_margins
from tcpfair.verdicts.printed import Tolerance, load_tolerances

MARGIN_COLUMNS = [
    *("margin", "value", "unit", "tried", "times", "clauses", "clauses_turned", "claims", "claims_turned"),
    *("turned", "reason"),
]
TIES, SCATTERS, ALL = "all tie_*", "all scatter_*", "all"
TRIED = {"none": 0.0, "half": 0.5, "twice": 2.0}
MEASURED = "measured scatter"
_ROUNDING = 1e-9  # of multiples


def measured_times(name: str, margin: Margin, scatter: Mapping[str, Tolerance]) -> float:
    """The measured scatter as a multiple of a margin; 1 if none is named. InputError for an unknown one."""
    if not margin.measured:
        return 1.0
    found = scatter.get(margin.measured)
    size = found and (found.relative if margin.relative else found.absolute)
    if not margin.value:
        raise InputError(
            f"data/claims/margins.yaml: {name}: measured: the margin is 0, so no other value is a multiple of it"
        )
    if not size:
        kind = "relative" if margin.relative else "absolute"
        raise InputError(
            f"data/claims/margins.yaml: {name}: measured: data/tolerances_scatter.yaml has no {kind} {margin.measured!r}"
        )
    return size / margin.measured_per / margin.value


def margin_table(layout: Layout, papers: Iterable[str], claims: pd.DataFrame, clauses: pd.DataFrame) -> pd.DataFrame:
    """Every margin, and all of them, with other values: columns `MARGIN_COLUMNS`.

    ``claims`` and ``clauses`` are those of `tcpfair.verdicts.claims.registry.evaluate`. The columns of these names count the
    decided ones that name the margin; ``turned`` lists the claims with another verdict and that verdict, as
    ``ogura.c05: partly``. Raises InputError for an invalid data/claims or data/tolerances_scatter.yaml.
    """
    folder = layout.data / "claims"
    margins = load_margins(folder)
    scatter = load_tolerances(layout.data / "tolerances_scatter.yaml")
    measured = {name: measured_times(name, margin, scatter) for name, margin in margins.items()}
    stated = {claim.id: claim for paper in papers for claim in load_claims(folder / f"{paper}.yaml")}
    decided = claims.loc[claims["verdict"].isin(DECIDED), ["id", "verdict"]]
    rows = clauses.merge(decided, on="id")
    rows["give"] = [
        bool(stated[id].clauses[clause].give) for id, clause in zip(rows["id"], rows["clause"], strict=True)
    ]
    groups = {name: [name] for name in margins}
    for title, start in ((TIES, "tie_"), (SCATTERS, "scatter_"), (ALL, "")):
        groups[title] = [name for name in margins if name.startswith(start)]
    found = []
    for title, names in groups.items():
        about: dict[str, object] = {"margin": title, "unit": "", "reason": ""}
        if title in margins:
            of = margins[title]
            about |= {"value": of.value, "unit": "of the bound" if of.relative else of.unit, "reason": of.reason}
        tried = {kind: dict.fromkeys(names, times) for kind, times in TRIED.items()}
        if any(measured[name] != 1 for name in names):
            tried[MEASURED] = {name: measured[name] for name in names}
        for kind, times in tried.items():
            found.append(about | {"tried": kind, "times": times.get(title)} | _turned(stated, rows, times))
    return pd.DataFrame(found, columns=MARGIN_COLUMNS)


def _turned(stated: Mapping[str, Claim], rows: pd.DataFrame, times: Mapping[str, float]) -> dict[str, object]:
    """What changes when margins are multiplied by ``times``, by name. ``rows`` also has the verdicts and ``give`` of clauses."""
    after = outcomes(rows, rows["margin"].map(times))
    concerned, changed = rows["margin"].isin(list(times)), after != rows["outcome"]
    turned = []
    # an undecidable claim stays undecidable for any outcomes of its clauses
    for name in rows.loc[changed & (rows["verdict"] != UNDECIDABLE), "id"].unique():
        own = rows["id"] == name
        before, then = (verdict(stated[name], each[own].tolist()) for each in (rows["outcome"], after))
        turned += [f"{name}: {then}"] if before != then else []
    return {
        "clauses": int(concerned.sum()),
        "clauses_turned": int(changed.sum()),
        "claims": rows.loc[concerned, "id"].nunique(),
        "claims_turned": len(turned),
        "turned": "; ".join(turned),
    }


def outcomes(rows: pd.DataFrame, times: pd.Series) -> pd.Series:
    """The outcomes of clauses with their margins multiplied by ``times``; unchanged if that is NaN.

    ``rows`` has their ``outcome``, ``turns_at`` (`decision.turning_point`) and whether they ``give`` a margin.
    """
    slack = (times - rows["turns_at"]) * rows["give"].map({True: 1, False: -1})
    tried = pd.Series(np.where(slack >= -_ROUNDING, HOLDS, FAILS), rows.index)
    return rows["outcome"].where((rows["outcome"] == OPEN) | slack.isna() | (times == 1), tried)
