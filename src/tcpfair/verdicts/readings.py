"""The published numbers and the claims under each named reading of a paper, and the evidence for a reading.

A reading is the paper as configured, its second reference, or a hypothesis of ``config/ensemble.yaml``; only the first is
adopted. `reading_table` counts the outcomes of the same published numbers under each. Numbers without a cell (closed forms)
and numbers in the text that repeat a table are counted separately. Numbers that a paper reprints from an earlier one count
once in the sum over all papers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tcpfair.errors import InputError, check_known
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.runs.ensemble import AS_PRINTED, EnsembleConfig, Reading, load
from tcpfair.runs.store import Held
from tcpfair.verdicts import printed
from tcpfair.verdicts.cells import cells, load_rules
from tcpfair.verdicts.claims import decision, registry
from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.claims.statement import Claim, load_claims
from tcpfair.verdicts.ensemble import tables
from tcpfair.verdicts.ensemble.clauses import CLAUSES
from tcpfair.verdicts.ensemble.members import AS_CONFIGURED
from tcpfair.verdicts.ensemble.placing import repeats, widths
from tcpfair.verdicts.measured import LoadMetrics, Measured
from tcpfair.verdicts.printed import IDENTITY
from tcpfair.verdicts.printed_metrics import printed_metrics
from tcpfair.verdicts.scatter import TWINS, reprints

CONFIGURED, SECOND, ALL = "configured", "second reference", "all"  # readings other than hypotheses; all papers
COUNTS = ["numbers", "within", "within_scatter", "in_ensemble", "inside", "in_runs", "inside_runs", "reprinted"]
APART = ["not_computed", "no_cell", "repeated", "excluded"]
COLUMNS = ["paper", "reading", "what", *COUNTS, *APART]

_SHARES = {decision.HOLDS: 1.0, decision.FAILS: 0.0, decision.OPEN: np.nan}


# --- Numbers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Printed:
    """The published results of one paper: their `cells`, with ``within`` and ``within_scatter`` as configured."""

    numbers: pd.DataFrame
    ensemble: pd.DataFrame  # the paper's rows of ``ensemble_numbers``, indexed by hypothesis and number
    reprints: frozenset[int]
    tolerances: Sequence[Mapping[str, printed.Tolerance]]  # by hand and by scatter
    inside: tuple[float, float]
    load: LoadMetrics

    def of(self, hypothesis: str) -> pd.DataFrame:
        """Its numbers in the ensemble under a hypothesis, by number; none without."""
        known = hypothesis in self.ensemble.index.get_level_values(0)
        return self.ensemble.loc[hypothesis] if known else self.ensemble.iloc[:0].droplevel(0)

    def judged(self, reading: Reading) -> pd.Series:
        """By number: empty if it is judged, else why it is counted separately (`APART`)."""
        out = tables.excluded(self.numbers, reading.excluded)
        apart = pd.Series("", self.numbers.index).mask(self.numbers["cell"].isna(), "no_cell")
        again = repeats(self.numbers[~out]).reindex(apart.index, fill_value=False)
        apart = apart.mask((apart == "") & again, "repeated").mask(out, "excluded")
        return apart.mask((apart == "") & self.numbers["within"].isna(), "not_computed")

    def compared(self, name: str, reading: Reading) -> pd.DataFrame:
        """Columns within and within_scatter under a reading; as configured for numbers that it does not change."""
        found = self.numbers[["within", "within_scatter"]].astype("boolean")
        for number, value in self._other_values(name, reading).items():
            published, metric, exhibit = self.numbers.loc[number, ["value", "metric", "exhibit"]]
            found.loc[number] = [printed.within(published, value, metric, t, exhibit).within for t in self.tolerances]
        return found

    def _other_values(self, name: str, reading: Reading) -> dict[int, Any]:
        """The numbers whose values a reading changes, with the new values."""
        if name == SECOND:
            return self.of(AS_PRINTED)["second"].dropna().to_dict()
        found = {}
        if reading.changes:
            own, plain = self.of(name)["base"], self.of(AS_PRINTED)["base"]
            found = own[own != plain.reindex(own.index)].dropna().to_dict()
        measured = Measured(self.load, reading.metrics)
        for number, cell in self.numbers.loc[self.numbers["within"].notna(), "cell"].items():
            if cell is not None and {(each, cell.measure) for each in cell.experiments} & set(reading.metrics):
                found[number] = cell.value(measured)
        return found

    def ranges(self, name: str, reading: Reading) -> pd.DataFrame:
        """Columns in_ensemble and in_runs (whether a number has a range of settings, or of runs), inside, inside_runs."""
        rows = self.of(name) if len(self.of(name)) else self.of(AS_PRINTED)
        found = pd.DataFrame(False, self.numbers.index, ["in_ensemble", "inside", "in_runs", "inside_runs"])
        if name == SECOND:  # a prediction, without a range
            return found
        found["in_ensemble"] = found.index.isin(rows.index)
        found.loc[rows.index, "inside"] = rows["inside"].astype(bool)
        others = found.index[~found["in_ensemble"]]
        measured = Measured(self.load, reading.metrics)
        inside = {number: self._inside_runs(number, measured) for number in others}
        known = pd.Series(inside, dtype=object).dropna().astype(bool)
        return found.assign(
            in_runs=found.index.isin(known.index), inside_runs=known.reindex(found.index, fill_value=False)
        )

    def _inside_runs(self, number: int, measured: Measured) -> bool | None:
        """Whether a published number of one run is in the range of the runs here; None without a range."""
        row = self.numbers.loc[number]
        value = pd.to_numeric(row["value"], errors="coerce")
        if row["printed_runs"] != 1 or row["cell"] is None or pd.isna(row["within"]) or pd.isna(value):
            return None
        runs = row["cell"].by_replicate(measured).dropna().astype(float)
        low, high = runs.quantile(list(self.inside))
        return bool(low <= value <= high) if len(runs) > 1 else None

    def counts(self, name: str, reading: Reading, but: Collection[int] = ()) -> dict[str, int]:
        """`COUNTS` and `APART` under a reading, of all numbers except ``but``."""
        apart = self.judged(reading).drop(list(but))
        both = self.compared(name, reading).loc[apart.index[apart == ""]].join(self.ranges(name, reading))
        both = both.assign(numbers=1, reprinted=both.index.isin(self.reprints))
        return {count: int(both[count].sum()) for count in COUNTS} | {why: int((apart == why).sum()) for why in APART}


def reading_table(
    layout: Layout, held: Mapping[str, Held], numbers: pd.DataFrame, ensemble: pd.DataFrame
) -> pd.DataFrame:
    """Counts of the published numbers of each paper under each reading: `COLUMNS`. The last row is for all papers together.

    ``numbers`` have a value here: ``within`` the tolerance set by hand, ``within_scatter`` that of repetitions. The ensemble has
    ``in_ensemble`` of them, and ``inside`` of these are in the range of its settings. Of the others, ``in_runs`` are published
    for one run, and ``inside_runs`` of these are in the range of the runs here. ``reprinted`` are measurements of an earlier
    paper, which the last row counts once. A number that was not simulated under a reading keeps the configured value. ``held``
    has the available runs; ``numbers`` and ``ensemble`` are the ledger's tables ``numbers`` and ``ensemble_numbers``.

    A paper whose configuration lacks an experiment of its numbers has no rows. Raises InputError when a condition of a
    hypothesis (`CONDITIONS`) does not hold, unless numbers are missing or the ensemble has other values.
    """
    config = load(layout.ensemble_config)
    papers = {name: own.paper for name, own in held.items() if _has_all(own.paper, layout)}
    rows: list[dict[str, Any]] = []
    unmet: list[str] = []
    once: list[dict[str, int]] = []
    for name in papers:
        found = _printed(layout, held[name], numbers, ensemble, config)
        plan = config.papers.get(name)
        hypotheses = _readings(config, name)
        readings = {CONFIGURED: (AS_CONFIGURED, "")}
        if plan and plan.second_reference:
            readings[SECOND] = (AS_CONFIGURED, plan.second_reference)
        readings |= {each: (reading, plan.hypotheses[each].what) for each, reading in hypotheses.items()}
        counts = {each: found.counts(each, reading) for each, (reading, _) in readings.items()}
        once.append(found.counts(CONFIGURED, AS_CONFIGURED, found.reprints if TWINS[0] in papers else ()))
        rows += [{"paper": name, "reading": each, "what": what, **counts[each]} for each, (_, what) in readings.items()]
        if len(found.of(AS_PRINTED)) and found.numbers.loc[found.numbers["how"] == "table", "within"].notna().all():
            for each, reading in hypotheses.items():
                where = f"config/ensemble.yaml: papers.{name}.hypotheses.{each}"
                suggested = Suggested(found, reading, counts[each], counts[CONFIGURED])
                unmet += _unmet(where, plan.hypotheses[each].needs, suggested)
    if unmet:
        raise InputError("; ".join(unmet))
    table = pd.DataFrame(rows, columns=COLUMNS)
    if once:
        table.loc[len(table)] = {"paper": ALL, "reading": CONFIGURED, "what": "", **pd.DataFrame(once).sum()}
    return table


def _has_all(paper: PaperConfig, layout: Layout) -> bool:
    shown = load_rules(paper, layout).exhibits.values()
    named = {name for each in shown for rules in each.rules.values() for rule in rules for name in rule.experiments}
    return bool(paper.experiments) and named - {""} <= set(paper.experiments)


def _printed(
    layout: Layout, held: Held, numbers: pd.DataFrame, ensemble: pd.DataFrame, config: EnsembleConfig
) -> Printed:
    paper = held.paper.paper
    within = numbers.set_index(IDENTITY)[["within", "within_scatter"]]
    own = cells(held.paper, layout).join(within, on=IDENTITY)
    is_later = paper == TWINS[1] and _has_all(load_paper(layout.paper_config(TWINS[0])), layout)
    number = pd.Series(own.index, pd.MultiIndex.from_frame(own[IDENTITY]))
    placed = ensemble[ensemble["paper"] == paper]
    placed = placed.assign(number=number.reindex(pd.MultiIndex.from_frame(placed[IDENTITY])).to_numpy())
    return Printed(
        own,
        placed.set_index(["hypothesis", "number"]),
        reprints(held.paper, layout) if is_later else frozenset(),
        printed.both_tolerances(layout.data),
        config.judging.inside,
        registry.metrics_loader(held),
    )


# --- Evidence for a reading ---------------------------------------------------------------------------------------


class Suggested(NamedTuple):
    """The input of a condition: the published numbers, a reading of them, and the counts under it and as configured."""

    found: Printed
    reading: Reading
    counts: Mapping[str, int]
    configured: Mapping[str, int]

    @property
    def excluded(self) -> pd.Series:
        return tables.excluded(self.found.numbers, self.reading.excluded)

    @property
    def rest(self) -> pd.Series:
        """The other numbers of the tables with excluded ones."""
        numbers = self.found.numbers
        return numbers["exhibit"].isin(numbers.loc[self.excluded, "exhibit"]) & ~self.excluded

    def same_at_every_rtt(self, chosen: pd.Series) -> bool:
        """Whether each flow of each protocol has one value at all RTTs, within the tolerance."""
        numbers = self.found.numbers[chosen]
        rows = numbers["key"].map(lambda key: str({n: v for n, v in printed.parse_key(key).items() if n != "rtt_ms"}))
        values = pd.to_numeric(numbers["value"]).groupby([numbers["exhibit"], rows])
        width = widths(numbers, self.found.tolerances[0]).groupby([numbers["exhibit"], rows]).min()
        return bool(len(numbers)) and bool((values.max() - values.min() <= width).all())


def _quoted_otherwise(found: Suggested) -> bool:
    numbers = found.found.numbers
    stated = numbers[found.excluded].set_index(IDENTITY)["value"].to_dict()
    quoted = [(printed.quoted_identity(row), row["value"]) for row in numbers.to_dict("records")]
    return any(identity in stated and stated[identity] != value for identity, value in quoted)


def _share_inside(counts: Mapping[str, int]) -> float:
    return (counts["inside"] + counts["inside_runs"]) / max(counts["in_ensemble"] + counts["in_runs"], 1)


# conditions of hypotheses by name: the condition, and the message if it does not hold
CONDITIONS: dict[str, tuple[Callable[[Suggested], bool], str]] = {
    "quoted otherwise": (_quoted_otherwise, "the text quotes none of the excluded numbers with another value"),
    "same at every RTT": (
        lambda found: found.same_at_every_rtt(found.excluded) and not found.same_at_every_rtt(found.rest),
        "the excluded numbers differ between RTTs, or the others of their tables do not",
    ),
    "rest reprinted": (
        lambda found: (
            any(found.rest[number] for number in found.found.reprints)
            and not any(found.excluded[number] for number in found.found.reprints)
        ),
        "of their tables, an excluded number is a reprint from another paper, or none of the others is",
    ),
    "fits better": (
        lambda found: _share_inside(found.counts) > _share_inside(found.configured),
        "no larger share of the numbers is inside the range of settings or runs than without it",
    ),
}


def _unmet(where: str, needs: Sequence[str], found: Suggested) -> list[str]:
    """A line for each condition of a hypothesis that does not hold. Raises InputError for an unknown condition."""
    check_known(f"{where}.needs: condition", needs, CONDITIONS)
    return [f"{where}.needs: {need}: {CONDITIONS[need][1]}" for need in needs if not CONDITIONS[need][0](found)]


# --- Claims -------------------------------------------------------------------------------------------------------


def clauses_read_as(
    held: Held,
    further: pd.DataFrame | None,
    left_out: Callable[[Claim], str],
    settings: pd.DataFrame,
    config: EnsembleConfig,
) -> pd.DataFrame:
    """The clauses of a paper's claims whose experiments a hypothesis reads by other metrics, if the ensemble lacks them.

    They are decided on the configured runs, in the columns of ``settings``, the table ``ensemble_clauses``: ``share`` is 1 for a
    clause that holds, 0 for one that does not, NaN for an open one. Raises InputError for an unmeasured metric.
    """
    rows = []
    known = set(settings[["id", "hypothesis"]].itertuples(index=False, name=None))
    paper = held.paper.paper
    for name, reading in _readings(config, paper).items():
        metrics = reading.metrics
        _check_metrics(held, metrics, f"config/ensemble.yaml: papers.{paper}.hypotheses.{name}.metrics")
        measured = Measured(registry.metrics_loader(held, further), metrics)
        read = {experiment for experiment, _ in metrics}
        for claim in load_claims(held.layout.data / "claims" / f"{paper}.yaml") if metrics else ():
            if (claim.id, name) in known or not read & set(claim.experiments) or left_out(claim):
                continue
            about = {"id": claim.id, "paper": paper, "hypothesis": name, "settings": 1, "assumption": ""}
            for clause in registry.decide(claim, held.paper, measured, registry.trace_loader(held)).clauses:
                share = _SHARES[clause.outcome]
                result = {"share": share, "base": share, "decides": f"{clause.outcome} as configured"}
                rows.append({**about, "clause": clause.clause_id, **result})
    return pd.DataFrame(rows, columns=CLAUSES)


def _readings(config: EnsembleConfig, paper: str) -> dict[str, Reading]:
    """The hypotheses of a paper by name."""
    plan = config.papers.get(paper)
    return {name: plan.reading(name) for name in plan.hypotheses} if plan else {}


def _check_metrics(held: Held, metrics: Mapping[tuple[str, str], str], where: str) -> None:
    for (experiment, metric), other in metrics.items():
        path = held.metrics(experiment) if experiment in held.paper.experiments else None
        if path:
            known = pd.read_parquet(path, columns=["metric"])["metric"].unique()
            check_known(f"{where}: metric of {experiment}", (metric, other), known)


def denied_in_print(
    layout: Layout, paper: PaperConfig, config: EnsembleConfig
) -> Callable[[Claim], dict[str, list[str]]]:
    """A function that returns the clauses of a claim that the numbers of its ``paper`` contradict, by hypothesis: with all
    numbers (``""``), and for each hypothesis that excludes some, without these.
    """

    @cache
    def printed_as() -> dict[str, Measured]:
        readings = _readings(config, paper.paper).items()
        without = {AS_PRINTED: []} | {name: reading.excluded for name, reading in readings if reading.excluded}
        return {
            name: Measured(printed_metrics(paper, layout, partial(tables.excluded, which=numbers)).__getitem__)
            for name, numbers in without.items()
        }

    return lambda claim: {name: _denied(claim, paper, measured) for name, measured in printed_as().items()}


def _denied(claim: Claim, paper: PaperConfig, measured: Measured) -> list[str]:
    found = []
    for name, clause in claim.clauses.items():
        # separately if possible, so that a missing cell of another clause does not matter
        alone = claim.model_copy(update={"clauses": {name: clause}}) if claim.expressions else claim
        evidence = Evidence(alone, paper, measured, {}.__getitem__)
        try:
            quantity = decision.quantities(registry.claim_function(alone), evidence)[name]
        except (InputError, KeyError):  # for a cell that is not published, or excluded
            continue
        if decision.holds(clause, quantity).iloc[0] == 0:
            found.append(name)
    return found
