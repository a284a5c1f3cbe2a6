"""Verdicts: every claim of the five papers against the results of one source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from pydantic import ValidationError

from tcpfair.contract import trace
from tcpfair.contract.layout import Layout
from tcpfair.contract.papers import PaperConfig, load_yaml
from tcpfair.contract.scenario import one_line
from tcpfair.contract.store import Held, MissingRunsError
from tcpfair.contract.trace import Trace
from tcpfair.errors import InputError
from tcpfair.verdicts.claims.evidence import Claim, Evidence, Finding, text_of

VERDICTS = (
    "reproduced",
    "partly",
    "not reproduced",
    "contradicted in print",
    "not testable",
    "pending",
    "not run",
    "failed",
)
# share of the replicates in which a claim must hold to be reproduced, and below which it is not even partly
REPRODUCED_SHARE = 0.9
PARTLY_SHARE = 0.1

ClaimFunction = Callable[[Evidence], Finding]


def load_claims(path: Path) -> list[Claim]:
    """The claims of one ``data/claims/<paper>.yaml``. Raises InputError with one line naming file, claim and field."""
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not valid YAML ({getattr(error, 'problem', error)})") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path}: must be a list of claims")
    claims = []
    for number, entry in enumerate(entries, 1):
        try:
            claims.append(Claim.model_validate(entry))
        except ValidationError as error:
            raise one_line(error, f"{path}: {entry.get('id', f'claim {number}')}") from None
    return claims


def claim_function(claim: Claim) -> ClaimFunction | None:
    """The function of a claim; None when it is not written."""
    name = f"tcpfair.verdicts.claims.{claim.paper}"
    return getattr(import_module(name), claim.function_name, None) if find_spec(name) else None


class NotRunError(InputError):
    """An experiment that a claim needs has not been run or measured."""


def evaluate(layout: Layout, papers: Mapping[str, Held], left_out: Callable[[Claim], str]) -> pd.DataFrame:
    """Verdict and evidence of every claim of some papers, with the results of ``layout.source``.

    Columns id, paper, verdict (one of `VERDICTS`), evidence (one line), source. A claim for which ``left_out`` has a
    reason, or whose experiments have no results, is ``not run``. One whose function raises is ``failed`` with the
    message as its evidence, and the others go on.
    """
    untestable = load_yaml(layout.data / "claims" / "not_testable.yaml")
    rows = []
    for paper, held in papers.items():
        loaders = (_metrics_loader(held), _trace_loader(held))
        for claim in load_claims(layout.data / "claims" / f"{paper}.yaml"):
            if claim.id in untestable:
                verdict, evidence = "not testable", untestable[claim.id]
            elif reason := left_out(claim):
                verdict, evidence = "not run", reason
            else:
                verdict, evidence = decide(claim, held.paper, *loaders, source=layout.source)
            # messages name files; where the checkout stands is nobody's evidence
            evidence = evidence.replace(f"{layout.root}/", "")
            rows.append((claim.id, paper, verdict, evidence, layout.source))
    return pd.DataFrame(rows, columns=["id", "paper", "verdict", "evidence", "source"])


def decide(
    claim: Claim,
    config: PaperConfig | None,
    load_metrics: Callable[[str], pd.DataFrame],
    load_trace: Callable[[str], Trace],
    function: ClaimFunction | None = None,
    source: str = "engine",
) -> tuple[str, str]:
    """Verdict on one claim and the evidence for it.

    ``config`` is None for a paper without configuration, ``function`` the claim's own unless another is given, and
    ``source`` where the traces come from.
    """
    not_built = _not_built(claim, config)
    if not_built:
        return "pending", not_built
    evidence = Evidence(claim, config, load_metrics, load_trace)
    try:
        function = function or claim_function(claim)
        if function is None:
            raise InputError(f"tcpfair.verdicts.claims.{claim.paper} has no function {claim.function_name}")
        finding = function(evidence)
        decided = finding.decided()
        if decided.empty:
            raise InputError(f"no replicate decides: {_numbers(finding)}")
        of_means = _of_means(function, evidence) if len(decided) > 1 else ""
    except NotRunError as error:
        return "not run", str(error)
    except Exception as error:  # one claim must not stop the others
        return "failed", " ".join(f"{type(error).__name__}: {error}".split())
    made_of = ", ".join(f"{name} ({count} runs, {source})" for name, count in evidence.runs.items())
    return _verdict(claim, decided), _line(claim, finding, decided, of_means, made_of or "a closed form")


def _not_built(claim: Claim, config: PaperConfig | None) -> str:
    """What is missing in the configuration before the claim can be decided; empty when nothing is."""
    where = f"config/papers/{claim.paper}.yaml"
    built = config.experiments if config else {}
    missing = [name for name in claim.experiments if name not in built]
    if missing:
        return f"not in {where}: experiment {', '.join(missing)}"
    return "" if built else f"{where} has no experiments"


def _of_means(function: ClaimFunction, evidence: Evidence) -> str:
    """Whether the claim holds for the means over the replicates, which are what a paper prints."""
    averaged = Evidence(evidence.claim, evidence.config, evidence.load_metrics, evidence.load_trace, averaged=True)
    decided = function(averaged).decided()
    if len(decided) != 1:
        return ""
    return (
        "; for the means over replicates it holds" if decided.all() else "; for the means over replicates it does not"
    )


def _verdict(claim: Claim, decided: pd.Series) -> str:
    if claim.in_print is False:
        return "contradicted in print"
    share = decided.mean()
    return "reproduced" if share >= REPRODUCED_SHARE else "partly" if share >= PARTLY_SHARE else "not reproduced"


def _line(claim: Claim, finding: Finding, decided: pd.Series, of_means: str, made_of: str) -> str:
    """Evidence as one line: exhibit, outcome, deciding numbers, runs; what the print says where that decides."""
    n_undecided = np.size(finding.holds) - len(decided)
    if np.size(finding.holds) == 1:
        outcome = "holds" if decided.all() else "does not hold"
    else:
        outcome = f"holds in {decided.sum()} of {len(decided)} replicates{of_means}"
    undecided = f" ({n_undecided} undecided)" if n_undecided else ""
    shown = f"{', '.join(claim.exhibits)}: " if claim.exhibits else ""
    printed = f" In print: {claim.print_note}." if claim.in_print is False else ""
    return f"{shown}{outcome}{undecided}. {_numbers(finding)}. From {made_of}.{printed}"


def _numbers(finding: Finding) -> str:
    return "; ".join(f"{label} {text_of(value)}" for label, value in finding.numbers.items())


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
