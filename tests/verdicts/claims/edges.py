"""Edges of a claim: the values of single cells at which it turns, and worlds that lie on either side of them.

A world has the metrics of one replicate of every experiment and, where a claim reads one, a trace; its claim holds in it.
An `Edge` names cells of the world and the value at which the claim stops to hold, worked out from the claim's test. Numbers
of a world and of a test are rounded to binary fractions, so that sums and products are exact and a tie is a tie.
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
from tcpfair.verdicts.claims.evidence import Claim, Evidence, Finding
from tcpfair.verdicts.claims.registry import claim_function, load_claims

LAYOUT = Layout(repository_root())
PAPERS = ("bhatti2008", "bhatti2009", "ha2006", "kozu2014", "ogura")
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
    """The claim with the numbers of its test in binary fractions; loss rates name cells and stay."""
    numbers = {name: part if name == "loss_rate" else binary(part) for name, part in claim.thresholds.items()}
    return claim.model_copy(update={"thresholds": numbers})


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
    """Cells of one metric and the value at which the claim turns.

    Each of the cells that ``where`` names by lists turns the claim by itself, or all of them ``together``. ``limit`` is a
    number or a function of the cell's place (see `Place`) and of the numbers of the test. The claim holds above it or
    below it; ``tie`` says whether it holds at the limit itself, None where the limit is no exact number.
    ``but`` are cells that are put aside first: (experiment, where, value). Without a
    limit the claim holds as it is then, or fails where ``above`` is false.
    ``alone``: the claim is not decided replicate by replicate, so each case is a world of its own, and its replicates lie
    ``spread`` apart in all cells. ``put`` takes the world and a value and gives the world with it, in place of a cell.
    """

    experiment: str
    where: dict[str, Any]
    limit: float | Callable[[Place, SimpleNamespace], float] | None
    above: bool = True
    tie: bool | None = None
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
    """An edge above which the claim holds; options as of `Edge`, and the grid variables of the cells."""
    return _edge(experiment, metric, limit, True, options)


def below(experiment: str, metric: str, limit: Any, **options: Any) -> Edge:
    """An edge below which the claim holds."""
    return _edge(experiment, metric, limit, False, options)


def holds(*but: tuple, **options: Any) -> Edge:
    """No edge: the claim holds with these cells put aside."""
    return Edge("", {}, None, but=but, **options)


def fails(*but: tuple, **options: Any) -> Edge:
    """No edge: the claim does not hold with these cells put aside."""
    return Edge("", {}, None, above=False, but=but, **options)


def _edge(experiment: str, metric: str, limit: Any, holds_above: bool, options: dict[str, Any]) -> Edge:
    named = {name: options.pop(name) for name in list(options) if name in Edge.__dataclass_fields__}
    return Edge(experiment, {"flow": 0, **options, "metric": metric}, limit, holds_above, **named)


@dataclass(frozen=True)
class Case:
    """One world beside an edge, on it or in it, and what the claim must be found to do there."""

    claim_id: str
    edge: Edge
    where: dict[str, Any]
    value: float
    expected: int
    world: World


def cases(claim_id: str, world: World, edges: list[Edge]) -> list[Case]:
    """On either side of each edge, and on it where it is exact."""
    found = []
    numbers = SimpleNamespace(**in_binary(CLAIMS[claim_id]).thresholds)
    for edge in edges:
        base = world
        for experiment, where, value in edge.but:
            base = base.put(experiment, where, round(value / WORLD_STEP) * WORLD_STEP if value == value else value)
        if edge.limit is None:
            put = edge.put(base, np.nan) if edge.put else base
            found.append(Case(claim_id, edge, {}, np.nan, HOLDS if edge.above else FAILS, put))
            continue
        for where in [edge.where] if edge.together else _each(edge.where):
            place = Place(base, edge.experiment, where)
            limit = edge.limit(place, numbers) if callable(edge.limit) else edge.limit
            step = ASIDE * max(1.0, abs(limit))
            values = [(limit + step, HOLDS if edge.above else FAILS), (limit - step, FAILS if edge.above else HOLDS)]
            if edge.tie is not None:
                values.append((limit, HOLDS if edge.tie else FAILS))
            for value, expected in values:
                put = edge.put(base, value) if edge.put else base.put(edge.experiment, where, value)
                found.append(Case(claim_id, edge, where, value, expected, put))
    return found


def _each(where: dict[str, Any]) -> Iterator[dict[str, Any]]:
    lists = {name: value for name, value in where.items() if isinstance(value, list)}
    for chosen in product(*lists.values()):
        yield {**where, **dict(zip(lists, chosen, strict=True))}


@dataclass
class Remembered(Evidence):
    """Evidence that makes each table once: the same claim is asked again with other numbers."""

    tables: dict[tuple, pd.DataFrame] = field(default_factory=dict)

    def table(self, experiment: str, metric: str, by: Any, flow: int = 0, **where: Any) -> pd.DataFrame:
        key = (experiment, metric, str(by), flow, self.averaged, *sorted(where.items()))
        if key not in self.tables:
            self.tables[key] = super().table(experiment, metric, by, flow, **where)
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
        """What the claim, or one with other numbers, does in the world of each case."""
        claim = claim or self.claim
        found = {}
        for worlds, cases_in_order in self._together:
            decided = self._finding(claim, worlds, "joint").decided()
            found |= {i: int(decided.get(FIRST + place, UNDECIDED)) for place, i in enumerate(cases_in_order)}
        for worlds, i in self._alone:
            decided = self._finding(claim, worlds, i).decided()
            found[i] = int(decided.all()) if len(decided) else UNDECIDED
        return [found[i] for i in range(len(self.cases))]

    def _finding(self, claim: Claim, worlds: list[World], key: Any) -> Finding:
        if key not in self._evidence:
            traces = worlds[0].traces.__getitem__
            self._evidence[key] = Remembered(claim, CONFIGS[claim.paper], loader(worlds), traces)
        return claim_function(claim)(replace(self._evidence[key], claim=claim))


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


def finding(claim: Claim, worlds: list[World], averaged: bool = False) -> Finding:
    """What the claim's function finds in worlds that are replicates of each other."""
    traces = worlds[0].traces.__getitem__
    return claim_function(claim)(Evidence(claim, CONFIGS[claim.paper], loader(worlds), traces, averaged))
