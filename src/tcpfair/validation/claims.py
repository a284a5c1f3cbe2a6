"""The papers' claims at the size of `tcpfair.validation.papers`: in the engine and on a Linux kernel.

The same clauses are decided on the same cells by `tcpfair.verdicts.claims.registry.decide` from four sources: the engine's
further runs at full size, its runs of both readings of the plan, and the guest's runs. The second differs from the first in
size, the third from the second in kernel and hosts, the fourth from the third in the implementation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from tcpfair.errors import InputError, check_known
from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig, load_paper, load_yaml
from tcpfair.runs.ensemble import FURTHER, Change, load
from tcpfair.runs.ensemble_table import as_measured
from tcpfair.validation import papers
from tcpfair.validation.campaign import Part, concatenated
from tcpfair.validation.papers import AS_KERNEL, SCALED, Scaled
from tcpfair.validation.scenarios import ENGINE, GUEST
from tcpfair.verdicts.claims.decision import FAILS, HOLDS, Decided, quantities
from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.claims.registry import claim_function, decide
from tcpfair.verdicts.claims.statement import Claim, load_claims
from tcpfair.verdicts.ensemble.clauses import further_runs
from tcpfair.verdicts.measured import Measured
from tcpfair.verdicts.printed_metrics import printed_metrics

FULL = "full"
SOURCES = (FULL, SCALED, AS_KERNEL, GUEST)
SIZE, KERNEL, IMPLEMENTATION, CHANCE = "size", "kernel", "implementation", "chance"
CLAUSES = [
    *("paper", "id", "clause", "says", "in_print"),
    *(f"{source}_{what}" for source in SOURCES for what in ("outcome", "value", "runs", "share")),
    "differs",
]
DISCUSSED = "guest_claims.yaml"


@dataclass(frozen=True)
class Compared:
    """The claims of all plans: clauses, resemblances of published rows, explanations of disagreements, and the experiments
    that lack runs of the guest."""

    judged: Sequence[Judged] = ()
    resembling: pd.DataFrame = field(default_factory=pd.DataFrame)
    discussed: Mapping[str, str] = field(default_factory=dict)
    missing: Sequence[str] = ()

    @property
    def clauses(self) -> pd.DataFrame:
        """The rows of all claims."""
        return concatenated([each.clauses for each in self.judged], CLAUSES)


class Judged(NamedTuple):
    """The verdict on a claim by source, and a row of `CLAUSES` for each clause that can be decided."""

    claim: Claim
    verdicts: Mapping[str, str]
    clauses: pd.DataFrame


def compare(layout: Layout, engine: Sequence[Part]) -> Compared:
    """The claims of the papers that have a plan; ``engine`` has the parts of `papers.engine_parts` among others."""
    plans = papers.plans(layout)
    samples, about = papers.shipped(layout)
    found, resembling, missing = [], [], []
    for paper, scaled in plans.items():
        names = papers.complete(scaled, set(about.get("runs", ())))
        missing += [f"{paper}/{name}" for name in scaled.plan.experiments if name not in names]
        if not names:
            continue
        parts = [each for each in engine if each.kind == papers.KIND]
        of = sources(layout, papers.only(scaled, names), parts, samples)
        found += judged(layout, paper, of)
        resembling.append(resemblances(layout, paper, of))
    known = [claim.id for paper in plans for claim in load_claims(layout.data / "claims" / f"{paper}.yaml")]
    said = discussions(layout, known) if plans else {}
    return Compared(found, concatenated(resembling), said, missing)


class Source(NamedTuple):
    """A paper's configuration and its metrics from one source."""

    config: PaperConfig
    measured: Measured


def sources(layout: Layout, scaled: Scaled, engine: Sequence[Part], samples: pd.DataFrame) -> dict[str, Source]:
    """A paper's metrics by source; ``samples`` are the guest's. Raises InputError if runs of the guest are missing."""
    names = list(scaled.plan.experiments)
    kept = pd.concat([part.kept().runs for part in engine if part.experiment == scaled.paper], ignore_index=True)
    found = {FULL: Source(scaled.whole, Measured(_full(layout, scaled).__getitem__))}
    for reading, config in scaled.readings.items():
        of_engine = {name: scaled.specs(reading, name) for name in names}
        found[reading] = Source(config, Measured(papers.metrics(config, of_engine, kept, ENGINE).__getitem__))
    config = scaled.readings[AS_KERNEL]
    of_guest = {name: scaled.guest_specs(name) for name in names}
    found[GUEST] = Source(config, Measured(papers.metrics(config, of_guest, samples, GUEST).__getitem__))
    return found


def _full(layout: Layout, scaled: Scaled) -> dict[str, pd.DataFrame]:
    """The paper's further runs at the points of the plan."""
    paper = load_paper(layout.paper_config(scaled.paper))
    further = further_runs(layout, paper)
    if further.empty:
        name = f"{scaled.paper}{FURTHER}"
        raise InputError(
            f"data/ensemble/{name}: missing or made by other code; ./reproduce ensemble {name} makes it anew"
        )
    found = {}
    for name, experiment in scaled.whole.experiments.items():
        table = as_measured(further[further["experiment"] == name], paper.experiments[name])
        inside = [table[axis].isin(values.value) for axis, values in experiment.grid.items()]
        found[name] = table[np.logical_and.reduce(inside)]
    return found


def judged(layout: Layout, paper: str, of: Mapping[str, Source]) -> list[Judged]:
    """The claims with at least one clause that the guest's cells decide."""
    found = []
    for claim in load_claims(layout.data / "claims" / f"{paper}.yaml"):
        if claim.experiments and set(claim.experiments) <= set(of[GUEST].config.experiments):
            whole = list(claim.clauses)
            names = whole if _has(claim, of[GUEST]) else [x for x in whole if _has(_part(claim, [x]), of[GUEST])]
            if names:
                found.append(_judged(_part(claim, names), of))
    return found


def _part(claim: Claim, names: Sequence[str]) -> Claim:
    return claim.model_copy(update={"clauses": {name: claim.clauses[name] for name in names}})


def _no_trace(experiment: str) -> None:
    raise InputError(f"{experiment}: no trace is kept")


def _has(claim: Claim, source: Source) -> bool:
    """Whether a source has the cells of a claim's clauses."""
    function = claim_function(claim)
    try:
        return function is not None and bool(quantities(function, Evidence(claim, *source, _no_trace)))
    except (InputError, KeyError):  # a trace, a metric or a cell that is not stored
        return False


def _judged(claim: Claim, of: Mapping[str, Source]) -> Judged:
    decided = {name: decide(claim, *source, _no_trace) for name, source in of.items()}
    rows = []
    for number, (name, clause) in enumerate(claim.clauses.items()):
        row = {"paper": claim.paper, "id": claim.id, "clause": name, "says": clause.says, "in_print": clause.in_print}
        by_source = {source: verdict.clauses[number] for source, verdict in decided.items() if verdict.clauses}
        for source, one in by_source.items():
            row |= {f"{source}_outcome": one.outcome, f"{source}_value": one.value}
            row |= {f"{source}_runs": one.n_single, f"{source}_share": one.single_share}
        rows.append(row | {"differs": differs(by_source)})
    return Judged(
        claim, {name: each.verdict for name, each in decided.items()}, pd.DataFrame(rows).reindex(columns=CLAUSES)
    )


def differs(by_source: Mapping[str, Decided]) -> str:
    """Why the guest contradicts the engine at full size on a clause; empty if it does not, or one is open.

    The first step after which the engine agrees with the guest: `SIZE` or `KERNEL`. Otherwise `CHANCE` if some single runs of
    the engine as the kernel have the guest's result, and `IMPLEMENTATION` if none has. `IMPLEMENTATION` is also returned if full
    size agrees.
    """
    outcome = {source: one.outcome for source, one in by_source.items()}
    contrary = {HOLDS: FAILS, FAILS: HOLDS}
    guest = outcome.get(GUEST)
    if guest not in contrary:
        return ""
    if outcome.get(AS_KERNEL) == contrary[guest]:
        share = by_source[AS_KERNEL].single_share
        return CHANCE if 0 < share < 1 else IMPLEMENTATION
    if outcome.get(FULL) != contrary[guest]:
        return ""
    return SIZE if outcome.get(SCALED) == guest else KERNEL if outcome.get(AS_KERNEL) == guest else CHANCE


def ship(layout: Layout, found: Compared) -> None:
    """Write the clauses where the ledger reads them."""
    write_whole(layout.guest_clauses, found.clauses.to_csv(index=False, float_format="%.4g", lineterminator="\n"))


def discussions(layout: Layout, known: Sequence[str]) -> dict[str, str]:
    """Claim -> explanation of a disagreement. Raises InputError for a claim that is not ``known``."""
    path = layout.validated / DISCUSSED
    found = load_yaml(path) if path.is_file() else {}
    check_known(f"data/validation/{DISCUSSED}: claim", found, known)
    for name, text in found.items():
        if not isinstance(text, str):
            raise InputError(f"data/validation/{DISCUSSED}: {name}: must be text")
    return found


# --- Resemblances of published rows -------------------------------------------------------------------------------


def resemblances(layout: Layout, paper: str, of: Mapping[str, Source]) -> pd.DataFrame:
    """For each hypothesis that a protocol of the testbed was another one: the distances of the published row from both.

    A row has the share of flow 1 by RTT. Columns hypothesis, experiment, label (of the published row), other (the protocol by
    the hypothesis), source, to_label and to_other (mean distance from the source's rows of these names, over RTTs and runs),
    runs, and nearer_other (number of runs whose row of the other is nearer).
    """
    full = load_paper(layout.paper_config(paper))
    printed = Measured(printed_metrics(full, layout).__getitem__)
    rows = []
    for hypothesis, change in _renamings(layout, paper):
        for label, other in change.protocols.items():
            for name in change.experiments:
                source = of[GUEST].config.experiments.get(name)
                is_pair = source and any("protocol" in flow for flow in source.flows)
                if is_pair and {label, other} <= set(source.grid["protocol"].value):
                    about = {"hypothesis": hypothesis, "experiment": name, "label": label, "other": other}
                    rows += [about | row for row in _distances(printed, of, name, label, other)]
    return pd.DataFrame(rows)


def _renamings(layout: Layout, paper: str) -> list[tuple[str, Change]]:
    plan = load(layout.ensemble_config).papers.get(paper)
    hypotheses = plan.hypotheses if plan else {}
    return [(name, change) for name, each in hypotheses.items() for change in each.changes if change.protocols]


def _distances(printed: Measured, of: Mapping[str, Source], name: str, label: str, other: str) -> list[dict]:
    rows, stated = [], _first_shares(printed, name, label)
    for source, each in of.items():
        off = {}
        for own in (label, other):
            shares = _first_shares(each.measured, name, own)
            off[own] = (shares - stated.iloc[0]).abs()[shares.columns.intersection(stated.columns)].mean(axis=1)
        nearer = off[other] < off[label]
        means = {"to_label": off[label].mean(), "to_other": off[other].mean()}
        rows.append({"source": source, **means, "runs": len(nearer), "nearer_other": int(nearer.sum())})
    return rows


def _first_shares(measured: Measured, name: str, label: str) -> pd.DataFrame:
    """Share of flow 1, a row per run and a column per RTT."""
    first, second = (measured.of_flow(name, "throughput_mean", flow) for flow in (1, 2))
    return (first / (first + second))[label]
