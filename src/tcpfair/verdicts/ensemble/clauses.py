"""How often each clause of a paper's claims holds among the settings of its ensemble, and which assumption decides it."""

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
    """A row per clause and hypothesis with columns `CLAUSES`; none without an ensemble, or with one of other code or ranges."""
    found = fresh(layout, paper, paper.paper)
    rows = []
    if found is not None:
        config, claims = load(layout.ensemble_config), load_claims(layout.data / "claims" / f"{paper.paper}.yaml")
        for members, reading, _ in members_of(found, paper, config.papers[paper.paper]):
            if reading.excluded and not (
                reading.changes or reading.metrics
            ):  # of printed numbers; no clause reads them
                continue
            about = {"paper": paper.paper, "hypothesis": members.hypothesis}
            for claim in claims:
                for name, held in clauses_held(claim, members).items():
                    assumption, text = deciding.decides(held, members.drawn, config.judging, config.in_words)
                    shares = {"settings": held.count(), "share": held.mean(), "base": held.get(BASE, float("nan"))}
                    decided = {"assumption": assumption, "decides": text}
                    rows.append({"id": claim.id, "clause": name, **about, **shares, **decided})
    return pd.DataFrame(rows, columns=CLAUSES)


def clauses_held(claim: Claim, members: Members) -> dict[str, pd.Series]:
    """Whether each clause of a claim holds, by setting (1, 0, NaN); none where the ensemble does not have what it reads."""
    function = claim_function(claim)
    if function is None or not claim.experiments or not set(claim.experiments) <= members.experiments:
        return {}

    def no_trace(experiment: str):
        raise NotInEnsembleError(f"{claim.id}: the ensemble keeps no traces")

    try:
        found = quantities(function, Evidence(claim, members.config, members, no_trace, "settings"))
    except (InputError, KeyError):  # a trace, a metric or a cell that is not kept
        return {}
    return {name: holds(claim.clauses[name], quantity).reindex(members.settings) for name, quantity in found.items()}


def further_runs(layout: Layout, paper: PaperConfig) -> pd.DataFrame:
    """The metrics of a paper's further runs, as it is configured; no rows without any, or with those of other code."""
    found = fresh(layout, paper, f"{paper.paper}{FURTHER}")
    return found.metrics if found else pd.DataFrame(columns=["experiment"], dtype=str)
