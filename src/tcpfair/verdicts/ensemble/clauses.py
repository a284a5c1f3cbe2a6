"""The share of an ensemble's settings in which each clause of a paper's claims holds, and the assumption that decides it."""

from __future__ import annotations

import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.settings import BASE
from tcpfair.runs.ensemble import FURTHER, load
from tcpfair.verdicts.claims.decision import holds, quantities
from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.claims.registry import claim_function
from tcpfair.verdicts.claims.statement import Claim, load_claims
from tcpfair.verdicts.ensemble import deciding
from tcpfair.verdicts.ensemble.members import Members, NotInEnsembleError, fresh, members_of

CLAUSES = ["id", "paper", "clause", "hypothesis", "settings", "share", "base", "assumption", "decides"]


def clause_table(layout: Layout, paper: PaperConfig) -> pd.DataFrame:
    """A row per clause and hypothesis with columns `CLAUSES`; no rows if the ensemble is missing or stale."""
    found = fresh(layout, paper, paper.paper)
    rows = []
    if found is not None:
        config, claims = load(layout.ensemble_config), load_claims(layout.data / "claims" / f"{paper.paper}.yaml")
        for members in members_of(found, paper, config.papers[paper.paper]):
            reading = members.reading
            if reading.excluded and not (reading.changes or reading.metrics):
                continue  # it only excludes published numbers, which no clause reads
            about = {"paper": paper.paper, "hypothesis": members.hypothesis}
            for claim in claims:
                for name, held in clauses_held(claim, members).items():
                    assumption, text = deciding.decides(held, members.drawn, config.judging, config.in_words)
                    shares = {"settings": held.count(), "share": held.mean(), "base": held.get(BASE, float("nan"))}
                    decided = {"assumption": assumption, "decides": text}
                    rows.append({"id": claim.id, "clause": name, **about, **shares, **decided})
    return pd.DataFrame(rows, columns=CLAUSES)


def clauses_held(claim: Claim, members: Members) -> dict[str, pd.Series]:
    """Whether each clause of a claim holds, by setting (1, 0, NaN); empty if the ensemble lacks what it reads."""
    function = claim_function(claim)
    if function is None or not claim.experiments or not set(claim.experiments) <= members.experiments:
        return {}

    def no_trace(experiment: str):
        raise NotInEnsembleError(f"{claim.id}: the ensemble stores no traces")

    try:
        found = quantities(function, Evidence(claim, members.config, members, no_trace, "settings"))
    except (InputError, KeyError):  # a trace, a metric or a cell that is not stored
        return {}
    return {name: holds(claim.clauses[name], quantity).reindex(members.settings) for name, quantity in found.items()}


def further_runs(layout: Layout, paper: PaperConfig) -> pd.DataFrame:
    """The metrics of a paper's further runs; no rows if they are missing or stale."""
    found = fresh(layout, paper, f"{paper.paper}{FURTHER}")
    return found.metrics if found else pd.DataFrame(columns=["experiment"], dtype=str)
