"""Verdicts: every claim of the five papers against the results of one source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import ensemble_table, trace
from tcpfair.runs.ensemble import AS_PRINTED
from tcpfair.runs.store import Held, MissingRunsError
from tcpfair.runs.trace import Trace
from tcpfair.verdicts.claims import causes, decision, expressions, why
from tcpfair.verdicts.claims.decision import ClaimFunction, Decided
from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.claims.statement import Claim, load_claims
from tcpfair.verdicts.measured import Measured

VERDICTS = (*decision.DECIDED, "pending", "not run", "failed")
CLAIM_COLUMNS = [
    *("id", "paper", "verdict", "certainty", "settings_share", "held", "clauses"),
    *("cause", "why", "evidence", "source"),
]
CLAUSE_COLUMNS = [
    *("id", "paper", "clause", "says", "outcome", "quantity", "value", "low", "high", "unit", "cell", "asks", "why"),
    *("margin", "turns_at", "confidence", "kept", "single_share", "n_single", "in_print", "source"),
]


_NO_SETTINGS = pd.DataFrame(
    columns=["id", "paper", "clause", "hypothesis", "settings", "share", "assumption", "decides"]
)
# causes that follow from a verdict
_BY_RULE = {decision.UNDECIDABLE: "parameter unstated", decision.UNDECIDED: "chance"}


def claim_function(claim: Claim) -> ClaimFunction | None:
    """The function for a claim's quantities: its own, or that of expressions; None if the claim has neither."""
    if claim.expressions:
        return expressions.quantities
    name = f"tcpfair.verdicts.claims.{claim.paper}"
    return getattr(import_module(name), claim.function_name, None) if find_spec(name) else None


class NotRunError(InputError):
    """An experiment that a claim needs has not been run or measured."""


@dataclass(frozen=True)
class Judged:
    """The verdict on one claim, the evidence for it in one line, and the results of its clauses."""

    verdict: str  # one of VERDICTS
    evidence: str
    clauses: tuple[Decided, ...] = ()


def evaluate(
    held: Held,
    left_out: Callable[[Claim], str],
    settings: pd.DataFrame = _NO_SETTINGS,
    further: pd.DataFrame | None = None,
    denied: Callable[[Claim], Mapping[str, Sequence[str]]] = lambda claim: {},
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every claim of one paper, with the results of one source: (claims, clauses).

    ``settings`` is the paper's table ``ensemble_clauses``, ``further`` has the metrics of its further runs. ``denied`` returns
    the clauses of a claim that the paper's own numbers contradict, by hypothesis.

    Columns `CLAIM_COLUMNS` and `CLAUSE_COLUMNS`: ``certainty`` is the least confidence of a clause, ``settings_share`` the
    least share of the settings in which a clause holds (NaN unless the ensemble has all); ``held`` of ``clauses`` hold;
    ``cause`` and ``why`` are from `why.explain`.

    A claim for which ``left_out`` returns a reason, or whose experiments have no results, is ``not run``. If its function
    raises, the claim is ``failed`` with the message as its evidence, and the others are still judged. Raises InputError when a
    claim has a cause whose condition does not hold (`causes.CONDITIONS`).
    """
    claims, clauses, unmet = [], [], []
    folder, source = held.layout.data / "claims", held.layout.source
    known = why.load_causes(folder)
    loaders = (Measured(metrics_loader(held, further)), trace_loader(held))
    for claim in load_claims(folder / f"{held.paper.paper}.yaml"):
        of_claim = settings[settings["id"] == claim.id]
        printed = of_claim[of_claim["hypothesis"] == AS_PRINTED]
        reason = left_out(claim)
        judged = Judged("not run", reason) if reason else decide(claim, held.paper, *loaders, None, source, printed)
        n_held = sum(clause.outcome == decision.HOLDS for clause in judged.clauses)
        # messages name files; the path of the checkout is not part of the evidence
        line = judged.evidence.replace(f"{held.layout.root}/", "")
        cause, sentence = _explained(claim, judged, of_claim, known)
        certainty = pd.Series([clause.confidence for clause in judged.clauses], dtype=float).min()
        share = printed["share"].astype(float).min() if len(printed) == len(claim.clauses) else np.nan
        numbers = (certainty, share, n_held, len(claim.clauses))
        claims.append((claim.id, claim.paper, judged.verdict, *numbers, cause, sentence, line, source))
        clauses += [_row(claim, clause, source) for clause in judged.clauses]
        # without settings as printed, the ensemble is missing, stale, or has other values than this run
        if cause and judged.verdict not in _BY_RULE and (settings["hypothesis"] == AS_PRINTED).any():
            by_print = denied(claim) if claim.contradicted else {}
            unmet.append(causes.unmet(cause, known[cause], causes.Found(claim, judged.clauses, of_claim, by_print)))
    if any(unmet):
        raise InputError("; ".join(filter(None, unmet)))
    return pd.DataFrame(claims, columns=CLAIM_COLUMNS), pd.DataFrame(clauses, columns=CLAUSE_COLUMNS)


def _explained(claim: Claim, judged: Judged, settings: pd.DataFrame, known: Mapping[str, why.Cause]) -> tuple[str, str]:
    """Cause and sentence for the verdict of a claim; computed for undecidable and open claims."""
    if judged.verdict == decision.UNDECIDABLE:
        printed = settings[settings["hypothesis"] == AS_PRINTED]
        decided = printed[printed["assumption"] != ""]
        row = decided.loc[(decided["share"] - 0.5).abs().idxmin()]
        says = claim.clauses[row["clause"]].says
        return _BY_RULE[judged.verdict], f"{says[0].upper()}{says[1:]}: this {row['decides']}."
    if judged.verdict == decision.UNDECIDED:
        unsure = [clause for clause in judged.clauses if clause.outcome == decision.OPEN]
        least = min(unsure, key=lambda clause: clause.confidence)
        sure = f"they say {'yes' if least.value_holds else 'no'} with only {why.said(least.confidence, '%')} confidence"
        failed = [f" It does not hold that {c.clause.says}." for c in judged.clauses if c.outcome == decision.FAILS]
        return _BY_RULE[judged.verdict], f"The runs do not decide whether {least.clause.says}: {sure}.{''.join(failed)}"
    found = {clause.clause_id: clause for clause in judged.clauses}
    named = zip(settings["clause"], settings["hypothesis"], settings["share"], strict=True)
    shares = {(clause, hypothesis or why.SETTINGS): share for clause, hypothesis, share in named}
    return why.explain(claim.cause, claim.why, judged.verdict, found, shares, known)


def _row(claim: Claim, found: Decided, source: str) -> dict:
    named = {"id": claim.id, "paper": claim.paper, "clause": found.clause_id, "source": source}
    named["margin"] = found.clause.give or found.clause.clear
    return {**vars(found), **found.clause.model_dump(), "asks": found.clause.asks, **named}


def decide(
    claim: Claim,
    config: PaperConfig,
    measured: Measured,
    load_trace: Callable[[str], Trace],
    function: ClaimFunction | None = None,
    source: str = "engine",
    settings: pd.DataFrame = _NO_SETTINGS,
) -> Judged:
    """Verdict on one claim and the evidence for it.

    ``function`` is by default the claim's own, ``source`` is that of the traces, and ``settings`` has the claim's rows of
    ``ensemble_clauses`` as published.
    """
    not_built = _not_built(claim, config)
    if not_built:
        return Judged("pending", not_built)
    evidence = Evidence(claim, config, measured, load_trace)
    try:
        function = function or claim_function(claim)
        if function is None:
            raise InputError(f"tcpfair.verdicts.claims.{claim.paper} has no function {claim.function_name}")
        decided = decision.decide_clauses(claim, function, evidence)
    except NotRunError as error:
        return Judged("not run", str(error))
    except Exception as error:  # one claim must not stop the others
        return Judged("failed", " ".join(f"{type(error).__name__}: {error}".split()))
    made_of = ", ".join(f"{name} ({count} runs, {source})" for name, count in evidence.runs.items())
    line = decision.evidence_line(claim, decided, made_of or "a closed form")
    by_text = decision.text_decides(claim, settings)
    return Judged(decision.verdict(claim, [clause.outcome for clause in decided], by_text), line, tuple(decided))


def _not_built(claim: Claim, config: PaperConfig) -> str:
    """What the configuration lacks for deciding the claim; empty if it is complete."""
    where = f"config/papers/{claim.paper}.yaml"
    missing = [name for name in claim.experiments if name not in config.experiments]
    if missing:
        return f"not in {where}: experiment {', '.join(missing)}"
    return "" if config.experiments else f"{where} has no experiments"


def metrics_loader(held: Held, further: pd.DataFrame | None = None) -> Callable[[str], pd.DataFrame]:
    """A loader of an experiment's metrics with those of its further runs, each read once.

    It raises NotRunError without metrics.
    """

    @cache
    def load(experiment: str) -> pd.DataFrame:
        path = held.metrics(experiment)
        if path is None:
            raise NotRunError(f"{held.paper.paper}/{experiment} has not been measured")
        metrics, config = pd.read_parquet(path), held.paper.experiments[experiment]
        if further is None or (own := further[further["experiment"] == experiment]).empty:
            return metrics
        return pd.concat([metrics, ensemble_table.as_measured(own, config, first=config.runs.value)], ignore_index=True)

    return load


def trace_loader(held: Held) -> Callable[[str], Trace]:
    """A loader of traces by experiment, each read once. It raises NotRunError for a missing one."""

    @cache
    def load(experiment: str) -> Trace:
        try:
            return trace.read(held.trace(experiment))
        except MissingRunsError as error:
            raise NotRunError(str(error)) from None

    return load
