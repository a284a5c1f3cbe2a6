"""Verdicts: every claim of the five papers against the results of one source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import trace
from tcpfair.runs.store import Held, MissingRunsError
from tcpfair.runs.trace import Trace
from tcpfair.verdicts.claims import decision, expressions, why
from tcpfair.verdicts.claims.decision import ClaimFunction, Decided
from tcpfair.verdicts.claims.evidence import Evidence, Table
from tcpfair.verdicts.claims.statement import Claim, load_claims

VERDICTS = (*decision.DECIDED, "pending", "not run", "failed")
CLAIM_COLUMNS = ["id", "paper", "verdict", "held", "clauses", "cause", "why", "evidence", "source"]
CLAUSE_COLUMNS = [
    "id",
    "paper",
    "clause",
    "says",
    "outcome",
    "quantity",
    "value",
    "low",
    "high",
    "unit",
    "cell",
    "asks",
    "why",
    "margin",
    "turns_at",
    "confidence",
    "single_share",
    "n_single",
    "in_print",
    "source",
]


def claim_function(claim: Claim) -> ClaimFunction | None:
    """What gives a claim's quantities: its expressions or its function. None when neither is written."""
    if claim.expressions:
        return expressions.quantities
    name = f"tcpfair.verdicts.claims.{claim.paper}"
    return getattr(import_module(name), claim.function_name, None) if find_spec(name) else None


class NotRunError(InputError):
    """An experiment that a claim needs has not been run or measured."""


@dataclass(frozen=True)
class Judged:
    """The verdict on one claim, the evidence for it in one line, and what was found of its clauses."""

    verdict: str  # one of VERDICTS
    evidence: str
    clauses: tuple[Decided, ...] = ()


def evaluate(
    layout: Layout, papers: Mapping[str, Held], left_out: Callable[[Claim], str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every claim of some papers, with the results of ``layout.source``: (claims, clauses).

    Columns `CLAIM_COLUMNS` (``held`` of ``clauses`` hold; ``cause`` and ``why`` as of `why.explain`) and `CLAUSE_COLUMNS`. A
    claim for which ``left_out`` has a reason, or whose experiments have no results, is ``not run``. One whose function raises
    is ``failed`` with the message as its evidence, and the others go on.
    """
    claims, clauses = [], []
    causes = why.load_causes(layout.data / "claims")
    for paper, held in papers.items():
        loaders = (_metrics_loader(held), _trace_loader(held))
        for claim in load_claims(layout.data / "claims" / f"{paper}.yaml"):
            reason = left_out(claim)
            judged = Judged("not run", reason) if reason else decide(claim, held.paper, *loaders, source=layout.source)
            n_held = sum(clause.outcome == decision.HOLDS for clause in judged.clauses)
            # messages name files; where the checkout stands is nobody's evidence
            line = judged.evidence.replace(f"{layout.root}/", "")
            found = {clause.clause_id: clause for clause in judged.clauses}
            reason = why.explain(claim.cause, claim.why, judged.verdict, found, causes)
            claims.append((claim.id, paper, judged.verdict, n_held, len(claim.clauses), *reason, line, layout.source))
            clauses += [_row(claim, clause, layout.source) for clause in judged.clauses]
    return pd.DataFrame(claims, columns=CLAIM_COLUMNS), pd.DataFrame(clauses, columns=CLAUSE_COLUMNS)


def _row(claim: Claim, found: Decided, source: str) -> dict:
    stated = {name: getattr(found.clause, name) for name in ("says", "quantity", "unit", "asks", "why", "in_print")}
    measured = ("outcome", "value", "low", "high", "cell", "turns_at", "confidence", "single_share", "n_single")
    numbers = {name: getattr(found, name) for name in measured}
    named = {"id": claim.id, "paper": claim.paper, "clause": found.clause_id, "margin": found.clause.margin_name}
    return {**named, "source": source, **stated, **numbers}


def decide(
    claim: Claim,
    config: PaperConfig | None,
    load_metrics: Callable[[str], pd.DataFrame],
    load_trace: Callable[[str], Trace],
    function: ClaimFunction | None = None,
    source: str = "engine",
) -> Judged:
    """Verdict on one claim and the evidence for it.

    ``config`` is None for a paper without configuration, ``function`` the claim's own unless another is given, and
    ``source`` where the traces come from.
    """
    not_built = _not_built(claim, config)
    if not_built:
        return Judged("pending", not_built)
    runs: dict[str, int] = {}
    tables: dict[str, Table] = {}
    try:
        function = function or claim_function(claim)
        if function is None:
            raise InputError(f"tcpfair.verdicts.claims.{claim.paper} has no function {claim.function_name}")
        decided = decision.decide_clauses(
            claim, function, lambda rows: Evidence(claim, config, load_metrics, load_trace, rows, runs, tables)
        )
    except NotRunError as error:
        return Judged("not run", str(error))
    except Exception as error:  # one claim must not stop the others
        return Judged("failed", " ".join(f"{type(error).__name__}: {error}".split()))
    made_of = ", ".join(f"{name} ({count} runs, {source})" for name, count in runs.items())
    line = decision.evidence_line(claim, decided, made_of or "a closed form")
    return Judged(decision.verdict(claim, [clause.outcome for clause in decided]), line, tuple(decided))


def _not_built(claim: Claim, config: PaperConfig | None) -> str:
    """What is missing in the configuration before the claim can be decided; empty when nothing is."""
    where = f"config/papers/{claim.paper}.yaml"
    built = config.experiments if config else {}
    missing = [name for name in claim.experiments if name not in built]
    if missing:
        return f"not in {where}: experiment {', '.join(missing)}"
    return "" if built else f"{where} has no experiments"


def _metrics_loader(held: Held) -> Callable[[str], pd.DataFrame]:
    """Metrics by experiment, each read once. Raises NotRunError when there are none of what is asked for."""

    @cache
    def load(experiment: str) -> pd.DataFrame:
        path = held.metrics(experiment)
        if path is None:
            raise NotRunError(f"{held.paper.paper}/{experiment} has not been measured")
        return pd.read_parquet(path)

    return load


def _trace_loader(held: Held) -> Callable[[str], Trace]:
    """Traces by experiment, each read once. Raises NotRunError when there is none of what is asked for."""

    @cache
    def load(experiment: str) -> Trace:
        try:
            return trace.read(held.trace(experiment))
        except MissingRunsError as error:
            raise NotRunError(str(error)) from None

    return load
