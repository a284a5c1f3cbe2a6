"""Edges of a clause: the values of single cells at which it turns, and worlds that lie on either side of them.

A world has the metrics of one replicate of every experiment and, where a claim reads one, a trace; its claim holds in it.
An `Edge` names cells of the world and the value at which a clause of the claim stops to hold, worked out from its bounds.
Numbers of a world and of a clause are rounded to binary fractions, so that sums and products are exact and a tie is a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.contract.layout import Layout, repository_root
from tcpfair.contract.papers import load_paper
from tcpfair.contract.trace import Trace
from tcpfair.verdicts.claims.decision import Quantities, quantities
from tcpfair.verdicts.claims.decision import holds as clause_holds
from tcpfair.verdicts.claims.evidence import Evidence, Means, SingleRuns
from tcpfair.verdicts.claims.registry import claim_function
from tcpfair.verdicts.claims.statement import Claim, Clause, load_claims

LAYOUT = Layout(repository_root())
PAPERS = ("kozu2014", "bhatti2008", "bhatti2009")
CONFIGS = {paper: load_paper(LAYOUT.paper_config(paper)) for paper in PAPERS}
CLAIMS = {claim.id: claim for p in PAPERS for claim in load_claims(LAYOUT.data / "claims" / f"{p}.yaml")}

WORLD_STEP, TEST_STEP = 2.0**-12, 2.0**-10
# how far from its edge a case lies, relative to the edge where that is above 1
ASIDE = 2.0**-20
HOLDS, FAILS, UNDECIDED = 1, 0, -1
# replicates without a case; kozu2014 tunes the existing method on as many
FIRST = 4


def binary(value: Any, step: float = TEST_STEP) -> Any:
    """Numbers of a test as multiples of ``step``; what is much smaller, such as a loss rate, stays."""
    if isinstance(value, dict):
        return {name: part if name in ("low", "high") else binary(part, step) for name, part in value.items()}
    if isinstance(value, list):
        return [binary(part, step) for part in value]
    if isinstance(value, float) and np.isfinite(value) and abs(value) > step:
        return round(value / step) * step
    return value


def in_binary(claim: Claim) -> Claim:
    """The claim with its numbers and bounds in binary fractions; loss rates name cells and stay."""
    numbers = {name: part if name == "loss_rate" else binary(part) for name, part in claim.numbers.items()}
    return claim.model_copy(
        update={"numbers": numbers, "clauses": {n: _binary_clause(c) for n, c in claim.clauses.items()}}
    )


def _binary_clause(clause: Clause) -> Clause:
    margin = clause.margin and clause.margin.model_copy(update={"value": binary(clause.margin.value)})
    bounds = {"at_least": binary(clause.at_least), "at_most": binary(clause.at_most)}
    return clause.model_copy(update={**bounds, "margin": margin})


class Numbers(SimpleNamespace):
    """The numbers of a claim by name, and the least and largest values with which its clauses hold: ``t.low["ends"]``."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(**claim.numbers)
        self.low = {name: clause.low for name, clause in claim.clauses.items()}
        self.high = {name: clause.high for name, clause in claim.clauses.items()}


@dataclass(frozen=True)
class World:
    """Metrics of one replicate by experiment (columns flow, metric, value and the grid variables), and its traces."""

    metrics: dict[str, pd.DataFrame]
    traces: dict[str, Trace] = field(default_factory=dict)

    def at(self, experiment: str, where: dict[str, Any]) -> np.ndarray:
        """Rows of the cells ``where``, of which there must be one at least."""
        table = self.metrics[experiment]
        chosen = np.ones(len(table), dtype=bool)
        for column, value in where.items():
            chosen &= table[column].isin(value if isinstance(value, list) else [value]).to_numpy()
        assert chosen.any(), (experiment, where)
        return chosen

    def value(self, experiment: str, where: dict[str, Any]) -> float:
        """The one value that all the cells ``where`` have."""
        (found,) = set(self.metrics[experiment]["value"].to_numpy()[self.at(experiment, where)])
        return found

    def put(self, experiment: str, where: dict[str, Any], value: float) -> World:
        table = self.metrics[experiment]
        changed = table.assign(value=np.where(self.at(experiment, where), value, table["value"]))
        return replace(self, metrics={**self.metrics, experiment: changed})


def table(rows: list[tuple], names: list[str]) -> pd.DataFrame:
    """Metrics from rows of grid values (named by ``names``), flow, metric and value; values in binary fractions."""
    frame = pd.DataFrame(rows, columns=[*names, "flow", "metric", "value"])
    return frame.assign(value=(frame["value"] / WORLD_STEP).round() * WORLD_STEP)


@dataclass(frozen=True)
class Edge:
    """Cells of one metric and the value at which a clause turns.

    Each of the cells that ``where`` names by lists turns the clause by itself, or all of them ``together``. ``limit`` is a
    number or a function of the cell's place (see `Place`) and of the claim's `Numbers`. The clause holds above it or
    below it, and at the limit itself; ``tie`` tries that, where the limit is an exact number.
    ``but`` are cells that are put aside first: (experiment, where, value). Without a
    limit the clause holds as it is then, or fails where ``above`` is false. ``clause`` may be left out where there is one.
    ``alone``: the clause is not decided run by run, so each case is a world of its own, and its replicates lie
    ``spread`` apart in all cells. ``put`` takes the world and a value and gives the world with it, in place of a cell.
    """

    experiment: str
    where: dict[str, Any]
    limit: float | Callable[[Place, SimpleNamespace], float] | None
    above: bool = True
    clause: str = ""
    tie: bool = False
    together: bool = False
    but: tuple = ()
    alone: bool = False
    spread: float = 0.0
    put: Callable[[World, float], World] | None = None


@dataclass(frozen=True)
class Place:
    """A cell of a world, and the cells beside it."""

    world: World
    experiment: str
    where: dict[str, Any]

    def __call__(self, experiment: str | None = None, **where: Any) -> float:
        """Value of the cell that differs from this one in ``where``."""
        return self.world.value(experiment or self.experiment, {**self.where, **where})

    def __getitem__(self, name: str) -> Any:
        return self.where[name]


def above(experiment: str, metric: str, limit: Any, **options: Any) -> Edge:
    """An edge above which a clause holds; options as of `Edge`, and the grid variables of the cells."""
    return _edge(experiment, metric, limit, True, options)


def below(experiment: str, metric: str, limit: Any, **options: Any) -> Edge:
    """An edge below which a clause holds."""
    return _edge(experiment, metric, limit, False, options)


def holds(*but: tuple, **options: Any) -> Edge:
    """No edge: the clause holds with these cells put aside."""
    return Edge("", {}, None, but=but, **options)


def fails(*but: tuple, **options: Any) -> Edge:
    """No edge: the clause does not hold with these cells put aside."""
    return Edge("", {}, None, above=False, but=but, **options)


def _edge(experiment: str, metric: str, limit: Any, holds_above: bool, options: dict[str, Any]) -> Edge:
    named = {name: options.pop(name) for name in list(options) if name in Edge.__dataclass_fields__}
    return Edge(experiment, {"flow": 0, **options, "metric": metric}, limit, holds_above, **named)


@dataclass(frozen=True)
class Case:
    """One world beside an edge, on it or in it, and what the clause must be found to do there."""

    claim_id: str
    clause: str
    edge: Edge
    where: dict[str, Any]
    value: float
    expected: int
    world: World


def cases(claim_id: str, world: World, edges: list[Edge]) -> list[Case]:
    """On either side of each edge, and on it where it is exact."""
    found = []
    numbers = Numbers(in_binary(CLAIMS[claim_id]))
    for edge in edges:
        clause = edge.clause or only_clause(claim_id)
        base = world
        for experiment, where, value in edge.but:
            base = base.put(experiment, where, round(value / WORLD_STEP) * WORLD_STEP if value == value else value)
        if edge.limit is None:
            put = edge.put(base, np.nan) if edge.put else base
            found.append(Case(claim_id, clause, edge, {}, np.nan, HOLDS if edge.above else FAILS, put))
            continue
        for where in [edge.where] if edge.together else _each(edge.where):
            place = Place(base, edge.experiment, where)
            limit = edge.limit(place, numbers) if callable(edge.limit) else edge.limit
            step = ASIDE * max(1.0, abs(limit))
            values = [(limit + step, HOLDS if edge.above else FAILS), (limit - step, FAILS if edge.above else HOLDS)]
            if edge.tie:
                values.append((limit, HOLDS))
            for value, expected in values:
                put = edge.put(base, value) if edge.put else base.put(edge.experiment, where, value)
                found.append(Case(claim_id, clause, edge, where, value, expected, put))
    return found


def only_clause(claim_id: str) -> str:
    """The clause of a claim that has just one."""
    (clause,) = CLAIMS[claim_id].clauses
    return clause


def _each(where: dict[str, Any]) -> Iterator[dict[str, Any]]:
    lists = {name: value for name, value in where.items() if isinstance(value, list)}
    for chosen in product(*lists.values()):
        yield {**where, **dict(zip(lists, chosen, strict=True))}


@dataclass
class Remembered(Evidence):
    """Evidence that makes each table once: the same claim is asked again with other numbers."""

    tables: dict[tuple, pd.DataFrame] = field(default_factory=dict)

    def _per_run(self, experiment: str, metric: str, by: Any, flow: int, where: dict) -> pd.DataFrame:
        key = (experiment, metric, str(by), flow, *sorted(where.items()))
        if key not in self.tables:
            self.tables[key] = super()._per_run(experiment, metric, by, flow, where)
        return self.tables[key]


class Trial:
    """The cases of one claim, ready to be put before it: replicates beside some of ``world`` unless a case stands alone."""

    def __init__(self, claim_id: str, world: World, edges: list[Edge]) -> None:
        self.claim, self.world = in_binary(CLAIMS[claim_id]), world
        self.cases = cases(claim_id, world, edges)
        joint = [i for i, case in enumerate(self.cases) if not case.edge.alone]
        self._together = [([world] * FIRST + [self.cases[i].world for i in joint], joint)] if joint else []
        self._alone = [
            ([spread_by(case.world, by * case.edge.spread) for by in (-1, 0, 1)], i)
            for i, case in enumerate(self.cases)
            if case.edge.alone
        ]
        self._evidence = {}

    def outcomes(self, claim: Claim | None = None) -> list[int]:
        """What the clause of each case, or one with other numbers, does in its world."""
        claim = claim or self.claim
        found = {}
        for worlds, cases_in_order in self._together:
            of_clauses = self._found(claim, worlds, "joint", SingleRuns())
            for place, i in enumerate(cases_in_order):
                found[i] = _outcome(claim, of_clauses, self.cases[i].clause, FIRST + place)
        for worlds, i in self._alone:
            found[i] = _outcome(claim, self._found(claim, worlds, i, Means()), self.cases[i].clause, 0)
        return [found[i] for i in range(len(self.cases))]

    def _found(self, claim: Claim, worlds: list[World], key: Any, rows: SingleRuns | Means) -> Quantities:
        if key not in self._evidence:
            traces = worlds[0].traces.__getitem__
            self._evidence[key] = Remembered(claim, CONFIGS[claim.paper], loader(worlds), traces, rows)
        return quantities(claim_function(claim), replace(self._evidence[key], claim=claim))


def _outcome(claim: Claim, found: Quantities, clause: str, row: int) -> int:
    held = clause_holds(claim.clauses[clause], found[clause])
    value = held.get(row, held.iloc[0] if len(held) == 1 else np.nan)  # a closed form has one row
    return UNDECIDED if np.isnan(value) else int(value)


def spread_by(world: World, by: float) -> World:
    """The world with every value moved by as much."""
    moved = {name: frame.assign(value=frame["value"] + by) for name, frame in world.metrics.items()} if by else {}
    return replace(world, metrics={**world.metrics, **moved})


def loader(worlds: list[World]) -> Callable[[str], pd.DataFrame]:
    """Metrics of an experiment in worlds that are replicates of each other."""

    @cache
    def metrics(experiment: str) -> pd.DataFrame:
        frames = [world.metrics[experiment] for world in worlds]
        replicate = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])
        return pd.concat(frames, ignore_index=True).assign(replicate=replicate, run_id=replicate)

    return metrics


def found(claim: Claim, worlds: list[World], rows: SingleRuns | Means | None = None) -> dict[str, pd.Series]:
    """Whether each clause of a claim holds, row by row, in worlds that are replicates of each other."""
    traces = worlds[0].traces.__getitem__
    evidence = Evidence(claim, CONFIGS[claim.paper], loader(worlds), traces, rows or SingleRuns())
    of_clauses = quantities(claim_function(claim), evidence)
    return {name: clause_holds(claim.clauses[name], quantity) for name, quantity in of_clauses.items()}
