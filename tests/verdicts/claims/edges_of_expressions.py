"""Edges of the claims that have expressions, found cell by cell with a second, plain reading of the expression.

`quantity` reads an expression in numbers of single cells, without the tables of `tcpfair.verdicts.claims.expressions`. A
clause's edges are the values at which it turns as one cell after the other is moved, the rest of the world staying as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import exp, inf, log
from statistics import fmean
from typing import Any

import numpy as np

from tcpfair.verdicts.claims.statement import Cells, Claim, Clause, Expression
from tests.verdicts.claims.edges import CONFIGS, TEST_STEP, WORLD_STEP, Edge, World

Point = tuple[tuple[str, Any], ...]  # values of the grid variables
Place = tuple[str, str, int, Point]  # experiment, measure, flow, point
Values = dict[Point, float]

COMBINED = {
    "mean": fmean,
    "geometric mean": lambda x: exp(fmean(map(log, x))),
    "min": min,
    "max": max,
    "range": lambda x: max(x) - min(x),
    "trend": lambda x: fmean(float(np.sign(later - sooner)) for sooner, later in combinations(x, 2)),
}


class Numbers:
    """Values of a world by place; `read` gathers the places that were asked for."""

    def __init__(self, claim: Claim, world: World) -> None:
        self.grid = {name: list(CONFIGS[claim.paper].experiments[name].grid) for name in claim.experiments}
        self.values: dict[Place, float] = {}
        self.points: dict[tuple[str, str, int], list[Point]] = {}
        for name, grid in self.grid.items():
            for row in world.metrics[name].to_dict("records"):
                of, point = (name, row["metric"], row["flow"]), tuple((g, row[g]) for g in grid)
                self.points.setdefault(of, []).append(point)
                self.values[(*of, point)] = row["value"]
        self.read: dict[Place, None] = {}
        self._chosen: dict[str, list[tuple[Point, Place]]] = {}

    def at(self, cells: Cells) -> Values:
        """Values of the chosen cells by the variables that are not fixed, in ascending order."""
        if repr(cells) not in self._chosen:
            of = (cells.experiment, cells.measure, cells.flow or 0)
            free = [g for g in self.grid[cells.experiment] if isinstance(cells.where.get(g, []), list | dict)]
            self._chosen[repr(cells)] = [
                (tuple((g, value) for g, value in point if g in free), (*of, point))
                for point in sorted(self.points[of])
                if all(_fits(value, cells.where[g]) for g, value in point if g in cells.where)
            ]
        chosen = self._chosen[repr(cells)]
        self.read |= dict.fromkeys(place for _, place in chosen)
        return {point: self.values[place] for point, place in chosen}


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return wanted.get("from", -inf) <= value <= wanted.get("to", inf)
    return value in wanted if isinstance(wanted, list) else value == wanted


def quantity(of: Expression, cells: Cells, numbers: Numbers) -> Values:
    """What an expression gives, by the grid variables that are left."""
    found = numbers.at(cells)
    for step in of.steps:
        if step.by:
            other = quantity(step.by, cells.but(step.by.cells), numbers)
            found = {
                max(p, q, key=len): x - y if step.do == "less" else x / y
                for p, x in found.items()
                for q, y in other.items()
                if set(p) <= set(q) or set(q) <= set(p)
            }
        elif step.do == "factor":
            found = {point: max(x, 1 / x) for point, x in found.items()}
        else:
            groups: dict[Point, list[float]] = {}
            for point, x in found.items():
                left = tuple((g, value) for g, value in point if step.along and g != step.along)
                groups.setdefault(left, []).append(x)
            found = {point: COMBINED[step.do](x) for point, x in groups.items()}
    return found


def edges(claim: Claim, world: World) -> list[Edge]:
    """Edges of every clause of a claim (with numbers `in_binary`): by single cells, or by the last of several."""
    return [
        edge
        for name, of in claim.expressions.items()
        for edge in _Turning(name, claim.clauses[name], of, Numbers(claim, world)).all()
    ]


class _Turning:
    """One clause in one world, whose cells are moved."""

    def __init__(self, name: str, clause: Clause, of: Expression, numbers: Numbers) -> None:
        self.name, self.clause, self.of, self.numbers = name, clause, of, numbers
        self.but: list[tuple] = []
        self.held = self.holds()
        self.places = list(numbers.read)

    def all(self) -> list[Edge]:
        """By single cells; where none decides alone, by the last of several. Then again from its other side."""
        found = self._by_cells() or self._by_several()
        if found:
            first = found[0]
            (place,) = (place for place in self.places if _where(place) == (first.experiment, first.where))
            aside = max(2.0**-4, abs(first.limit)) / 8
            self._put(place, first.limit + (aside if first.above != self.held else -aside))
            found += self._by_cells()
        return found

    def _by_cells(self) -> list[Edge]:
        return [edge for place in self.places for edge in self.edges(place)]

    def _by_several(self) -> list[Edge]:
        """Cells are put far aside, one after the other, until the next one decides."""
        for times in (8, 1 / 8):
            before = dict(self.numbers.values)
            for place in self.places:
                if found := list(self.edges(place)):
                    return found
                self._put(place, self.numbers.values[place] * times)
            self.numbers.values, self.but = before, []
            self.held = self.holds()
        return []

    def _put(self, place: Place, value: float) -> None:
        value = round(value / WORLD_STEP) * WORLD_STEP  # as `edges.cases` puts it aside
        self.numbers.values[place] = value
        self.but.append((*_where(place), value))
        self.held = self.holds()

    def holds(self) -> bool:
        values = quantity(self.of, self.of.cells, self.numbers).values()
        return all(self.clause.low - 1e-12 <= x <= self.clause.high + 1e-12 for x in values)

    def _with(self, place: Place, value: float) -> bool:
        before = self.numbers.values[place]
        self.numbers.values[place] = value
        try:
            return self.holds()
        finally:
            self.numbers.values[place] = before

    def edges(self, place: Place) -> Iterator[Edge]:
        """Upwards and downwards the first value at which the clause turns."""
        now, held = self.numbers.values[place], self.held
        size = max(abs(now), 2.0**-4)
        ways = ([now + size * 2.0**j for j in range(-6, 12)], [now - size * (1 - 2.0**-j) for j in range(1, 12)])
        if not any(step.do in ("base", "geometric mean", "factor") for step in self.of.steps):
            ways[1].extend(now - size * 2.0**j for j in range(1, 12))
        for way in ways:
            near = now
            for far in way:
                if self._with(place, far) != held:
                    limit = self._between(place, near, far, held)
                    exact = round(limit / TEST_STEP) * TEST_STEP
                    on_it = abs(exact - limit) < 1e-9 * max(1, abs(limit)) and self._with(place, exact)
                    above = held == (far < near)
                    yield Edge(*_where(place), exact if on_it else limit, above, self.name, on_it, but=tuple(self.but))
                    break
                near = far

    def _between(self, place: Place, near: float, far: float, held: bool) -> float:
        for _ in range(60):
            middle = (near + far) / 2
            near, far = (middle, far) if self._with(place, middle) == held else (near, middle)
        return far


def _where(place: Place) -> tuple[str, dict[str, Any]]:
    experiment, measure, flow, point = place
    return experiment, {"flow": flow, **dict(point), "metric": measure}
