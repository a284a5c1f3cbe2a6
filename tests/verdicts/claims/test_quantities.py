"""Quantities of all claims in synthetic worlds: which cells they are made of, and how.

Expressions are compared with a second, plain reading that works on numbers of single cells. What functions gave when they
were accepted is recorded in ``quantities.csv``: a row per cell of a clause, a column per world and one for the mean of all. To
accept what functions give now, run ``python -m tests.verdicts.claims.test_quantities`` and review each row that changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.verdicts.claims.decision import Quantities, frame, holds, quantities
from tcpfair.verdicts.claims.evidence import REPLICATE, Evidence, Rows
from tcpfair.verdicts.claims.registry import claim_function
from tcpfair.verdicts.claims.statement import Cells, Claim, Expression
from tcpfair.verdicts.measured import Measured
from tests.verdicts.claims.worlds import CLAIMS, CONFIGS, WORLDS, evidence, metrics

RECORDED = Path(__file__).with_name("quantities.csv")
MEASURED = [claim.id for claim in CLAIMS.values() if claim.experiments]
FUNCTIONS = [claim.id for claim in CLAIMS.values() if not claim.expressions]
EXPRESSIONS = [claim.id for claim in CLAIMS.values() if claim.expressions]

pytestmark = pytest.mark.filterwarnings("ignore:(divide by zero|invalid value):RuntimeWarning")


def found(claim: Claim, rows: Rows = "runs", **options: Any) -> Quantities:
    return quantities(claim_function(claim), evidence(claim, rows, **options))


# --- Functions ----------------------------------------------------------------------------------------------------


def as_recorded(claim: Claim) -> pd.DataFrame:
    """A row per clause and cell, a column per world, and the mean of all."""
    single, mean = found(claim), found(claim, "means")
    tables = []
    for clause in claim.clauses:
        table = pd.concat([frame(single[clause]), frame(mean[clause]).iloc[[0]].set_axis(["mean"])])
        table = table.T.rename(columns=str).assign(claim=claim.id, clause=clause, cell=list(map(str, table.columns)))
        tables.append(table)
    columns = ["claim", "clause", "cell", *map(str, range(len(WORLDS))), "mean"]
    return pd.concat(tables, ignore_index=True).reindex(columns=columns)


@cache
def recorded() -> pd.DataFrame:
    return pd.read_csv(
        RECORDED, dtype={"cell": str}, keep_default_na=False, na_values={str(i): "" for i in [*range(8), "mean"]}
    )


@pytest.mark.parametrize("claim_id", FUNCTIONS)
def test_functions_give_what_is_recorded(claim_id):
    wanted = recorded()[recorded()["claim"] == claim_id].reset_index(drop=True)
    pd.testing.assert_frame_equal(as_recorded(CLAIMS[claim_id]), wanted, check_dtype=False, rtol=1e-8, atol=1e-12)


def test_every_recorded_claim_has_a_function():
    assert set(recorded()["claim"]) == set(FUNCTIONS)


# --- Expressions --------------------------------------------------------------------------------------------------

Point = tuple[tuple[str, Any], ...]  # values of the grid variables
COMBINED = {
    "mean": np.mean,
    "median": np.median,
    "geometric mean": lambda x: np.exp(np.mean(np.log(x))),
    "min": np.min,
    "max": np.max,
    "range": lambda x: np.max(x) - np.min(x),
    "trend": lambda x: np.mean([np.sign(later - sooner) for sooner, later in combinations(x, 2)]),
    "typical factor": lambda x: np.exp(np.sqrt(np.mean((np.log(x) - np.mean(np.log(x))) ** 2))),
}
BY_CELL = {
    "abs": lambda x, bound: abs(x),
    "factor": lambda x, bound: np.max([x, 1 / x]),
    "power": lambda x, bound: x**bound,
    "above": lambda x, bound: float(x > bound) if x == x else x,
}


def at(cells: Cells, paper: str, world: int) -> dict[Point, np.float64]:
    """Values of the chosen cells by the variables that are not fixed."""
    grid = CONFIGS[paper].experiments[cells.experiment].grid
    table = of_world(paper, cells.experiment, world)
    free = [
        g
        for g in grid
        if isinstance(cells.where.get(g, []), list | dict) and (g in cells.where or len(grid[g].value) > 1)
    ]
    each = {"each": range(1, 1 + max(flow for _, flow in table))}.get(cells.flow, cells.flow)
    several = isinstance(each, tuple | range)
    return {
        (*((("flow", f"flow {flow}"),) if several else ()), *((g, v) for g, v in point if g in free)): value
        for flow in (each if several else [each or 0])
        for point, value in table[cells.measure, flow].items()
        if all(_fits(v, cells.where[g]) for g, v in point if g in cells.where)
    }


@cache
def of_world(paper: str, experiment: str, world: int) -> dict[tuple, dict[Point, np.float64]]:
    """Values by metric and flow, and by point of the grid."""
    table, grid = metrics(paper, experiment), list(CONFIGS[paper].experiments[experiment].grid)
    values: dict[tuple, dict[Point, np.float64]] = {}
    for row in table[table[REPLICATE] == world].to_dict("records"):
        point = tuple((g, row[g]) for g in grid)
        values.setdefault((row["metric"], row["flow"]), {})[point] = np.float64(row["value"])
    return {of: dict(sorted(points.items())) for of, points in values.items()}


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and "but" in wanted:
        return value not in (wanted["but"] if isinstance(wanted["but"], list) else [wanted["but"]])
    if isinstance(wanted, dict):
        return wanted.get("from", -inf) <= value <= wanted.get("to", inf)
    return value in wanted if isinstance(wanted, list) else value == wanted


def plain(of: Expression, cells: Cells, paper: str, world: int) -> dict[Point, np.float64]:
    """What an expression gives, by the variables that are left."""
    values = at(cells, paper, world)
    for step in of.steps:
        if step.by:
            other = plain(step.by, cells.but(step.by.cells), paper, world)
            do = {"less": np.subtract, "base": np.divide}.get(step.do)
            pairs = [(p, q) for p in values for q in other if set(p) <= set(q) or set(q) <= set(p)]
            pairs = pairs or list(zip(values, other, strict=False))  # in the same place where none has the same name
            if do:
                values = {max(p, q, key=len): do(values[p], other[q]) for p, q in pairs}
            else:
                values |= {((*q, ("joined", 1)) if q in values else q): x for q, x in other.items()}
        elif step.do == "names":
            values = {(("", name),): x for name, x in zip(step.names, values.values(), strict=True)}
        elif step.do in BY_CELL:
            values = {point: BY_CELL[step.do](x, step.bound) for point, x in values.items()}
        else:
            groups: dict[Point, list[np.float64]] = {}
            for point, x in values.items():
                left = tuple((g, value) for g, value in point if step.along and g != step.along)
                groups.setdefault(left, []).append(x)
            values = {point: COMBINED[step.do](x) for point, x in groups.items()}
    return values


@pytest.mark.parametrize("claim_id", EXPRESSIONS)
def test_expressions_agree_with_a_plain_reading(claim_id):
    claim = CLAIMS[claim_id]
    for clause, quantity in found(claim).items():
        of, table = claim.expressions[clause], frame(quantity)
        for world in range(len(WORLDS)):
            values = {tuple(v for _, v in point): x for point, x in plain(of, of.cells, claim.paper, world).items()}
            given = {c if isinstance(c, tuple) else () if c == "" else (c,): x for c, x in table.loc[world].items()}
            assert given.keys() == values.keys(), clause
            assert [given[c] for c in values] == pytest.approx(list(values.values()), rel=1e-9, abs=1e-12, nan_ok=True)


# --- Bounds -------------------------------------------------------------------------------------------------------

ASIDE = 2.0**-20  # relative to a bound above 1


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_a_clause_holds_up_to_its_bounds_and_no_further(claim_id):
    for name, clause in CLAIMS[claim_id].clauses.items():
        sides = [(end, sign) for end, sign in ((clause.low, 1), (clause.high, -1)) if np.isfinite(end)]
        assert sides
        middle = np.clip(1.0, clause.low, clause.high)
        for end, inwards in sides:
            step = inwards * ASIDE * max(1.0, abs(end))
            tried = pd.DataFrame({"cell": [end + step / 2, end, end - step, np.nan], "other": middle})
            held = holds(clause, tried).to_list()
            in_range = clause.low <= end + step / 2 <= clause.high
            assert held[1:3] == [1, 0], name
            assert held[0] == in_range and np.isnan(held[3]), name


# --- Numbers and cells --------------------------------------------------------------------------------------------

DROPPED = object()
# numbers that say where a law is tried, which holds anywhere: other laws show that it is tried there (test_laws)
NUMBERS_OF_LAWS = {
    (f"kozu2014.{name}", of)
    for name, of in (("c08", "rtt_ms"), ("c08", "shares"), ("c15", "rtt_ms"), ("c15", "rate_pps"))
}


def places(numbers: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Place and value of every number and name."""
    if isinstance(numbers, dict | list):
        for place, part in numbers.items() if isinstance(numbers, dict) else enumerate(numbers):
            yield from places(part, (*path, place))
    else:
        yield path, numbers


def changed(numbers: Any, path: tuple, value: Any) -> Any:
    """The same with another value at one place, or without it."""
    place, *rest = path
    parts = dict(numbers) if isinstance(numbers, dict) else list(numbers)
    if not rest and value is DROPPED:
        del parts[place]
    else:
        parts[place] = changed(parts[place], tuple(rest), value) if rest else value
    return parts


def with_number(claim: Claim, path: tuple, value: Any) -> Claim:
    if path[0] != "of":
        return claim.model_copy(update={"numbers": changed(claim.numbers, path, value)})
    _, name, *rest = path
    of = Expression.model_validate(changed(claim.expressions[name].model_dump(mode="json"), tuple(rest), value))
    clause = claim.clauses[name].model_copy(update={"of": of, "where": {}})
    return claim.model_copy(update={"clauses": {name: clause}, "of": None})


def named(claim: Claim) -> Iterator[tuple[tuple, Any]]:
    """Place and value of every number of a function, and of every measure, flow and grid value of expressions."""
    yield from (at for at in places(claim.numbers) if (claim.id, at[0][0]) not in NUMBERS_OF_LAWS)
    for name, of in claim.expressions.items():
        for path, value in places(of.model_dump(mode="json"), ("of", name)):
            if value not in ("", None) and path[-1] not in ("do", "along", "experiment"):
                yield path, value


@cache
def names(paper: str, experiment: str) -> list[list]:
    """The values of each column that identifies cells."""
    table = metrics(paper, experiment)
    return [table[column].unique().tolist() for column in table.columns.drop(["value", REPLICATE, "run_id"])]


def others(claim: Claim, path: tuple, value: Any) -> Iterator[Any]:
    """What to put in its place: nothing, another name or number of the worlds, another number."""
    if isinstance(path[-1], int):
        yield DROPPED
    for experiment in claim.experiments:
        for known in names(claim.paper, experiment):
            if value in known:
                yield from (other for other in known if other != value)
    if isinstance(value, int | float):
        yield from (1.5 * value, 0.5 * value, value + 1, value - 1, value + 0.3)


def shown(claim: Claim) -> dict[str, tuple[list[str], bytes]]:
    tables = {name: frame(quantity) for name, quantity in found(claim).items()}
    return {name: (list(map(str, x.columns)), x.to_numpy(float).round(9).tobytes()) for name, x in tables.items()}


def matters(claim: Claim, path: tuple, value: Any, now: dict) -> bool:
    for other in others(claim, path, value):
        try:
            if not shown(with_number(claim, path, other)).items() <= now.items():
                return True
        except (
            KeyError,
            IndexError,
        ):  # the claim is about the very cell that was dropped, or there is none of that name
            return True
        except (ValueError, TypeError, InputError):  # a pair without its second, no whole number, no such cell
            continue
    return path[0] == "of"  # no other value exists


@pytest.mark.slow
@pytest.mark.parametrize("claim_id", CLAIMS)
def test_every_number_and_cell_that_a_claim_names_matters(claim_id):
    claim = CLAIMS[claim_id]
    now = shown(claim)
    assert [path for path, value in named(claim) if not matters(claim, path, value, now)] == []


# --- What was not measured ----------------------------------------------------------------------------------------

# where there is no time of convergence, or of fairness, there was none: that decides
NONE_IS_AN_OUTCOME = {"bhatti2008.c13", "bhatti2008.c14", "bhatti2008.c20", "bhatti2008.c21", "ha2006.c42"}
# decided on several replicates together
OF_REPLICATES = {"ha2006.c37", "kozu2014.c20", "kozu2014.c21"}


def a_quarter_of(claim_ids: Iterable[str]) -> list:
    """Claims of which the default tests take a quarter, whichever others exist."""
    return [
        pytest.param(claim_id, marks=[pytest.mark.slow] if crc32(claim_id.encode()) % 4 else [])
        for claim_id in claim_ids
    ]


@dataclass
class Recording(Evidence):
    """Evidence that records the metrics and flows that tables are made of."""

    read: dict[str, set] = field(default_factory=dict)

    def per_run(self, experiment: str, metric: str, by: Any, flow: int = 0, **where: Any) -> pd.DataFrame:
        self.read.setdefault(experiment, set()).add((metric, flow))
        return super().per_run(experiment, metric, by, flow, **where)


@pytest.mark.parametrize("claim_id", a_quarter_of(sorted(set(MEASURED) - NONE_IS_AN_OUTCOME - OF_REPLICATES)))
def test_a_quantity_has_no_value_where_a_cell_that_it_is_made_of_has_none(claim_id):
    claim = CLAIMS[claim_id]
    recording = evidence(claim, kind=Recording)
    quantities(claim_function(claim), recording)
    base, n_cases = {}, 0
    for experiment, read in recording.read.items():
        table = metrics(claim.paper, experiment)
        of = pd.MultiIndex.from_frame(table[["metric", "flow"]]).isin(read)
        base[experiment] = (table[of & (table[REPLICATE] == 0)].reset_index(drop=True), n_cases)
        n_cases += len(base[experiment][0])

    def with_gaps(experiment: str) -> pd.DataFrame:
        """The world as it is, and once without each of the cells."""
        if experiment not in base:
            return metrics(claim.paper, experiment)
        table, first = base[experiment]
        many = pd.concat([table] * (n_cases + 1), ignore_index=True)
        replicate = np.repeat(np.arange(n_cases + 1), len(table))
        gone = np.arange(len(table)) + len(table) * (1 + first + np.arange(len(table)))
        many.loc[gone, "value"] = np.nan
        return many.assign(replicate=replicate, run_id=replicate)

    for name, quantity in found(claim, of=Measured(with_gaps)).items():
        x = frame(quantity).to_numpy(float)
        if len(x) == n_cases + 1:  # else it is made of a trace
            moved = ~((x == x[0]) | np.isnan(x))
            assert not moved.any(), name
            assert np.isnan(x).any(), name


@pytest.mark.parametrize("claim_id", ["kozu2014.c20", "kozu2014.c21"])
def test_where_an_index_was_not_measured_two_methods_are_not_compared(claim_id):
    table = metrics("kozu2014", "rtt_sweep")
    gone = table.assign(value=table["value"].mask(table["protocol"].eq("Proposed K") & table["rtt_ms"].eq(16)))
    of = Measured({"rtt_sweep": gone, "existing": metrics("kozu2014", "existing")}.__getitem__)
    assert all(frame(quantity).isna().all(axis=None) for quantity in found(CLAIMS[claim_id], of=of).values())


@cache
def alike(paper: str) -> Measured:
    """All experiments of a paper with six equal replicates."""

    def load(experiment: str) -> pd.DataFrame:
        table = metrics(paper, experiment)
        one = table[table[REPLICATE] == 0]
        return pd.concat([one.assign(replicate=i, run_id=i) for i in range(6)], ignore_index=True)

    return Measured(load)


@pytest.mark.slow
@pytest.mark.parametrize("claim_id", sorted(set(MEASURED) - {"ha2006.c37"}))
def test_equal_replicates_have_the_mean_of_each(claim_id):
    claim = CLAIMS[claim_id]
    single, mean = (found(claim, rows, of=alike(claim.paper)) for rows in ("runs", "means"))
    for name in claim.clauses:
        if len(frame(single[name])) == 6:
            np.testing.assert_allclose(frame(mean[name]).iloc[[0, 5]], frame(single[name]).iloc[[4, 5]], rtol=1e-9)


if __name__ == "__main__":
    pd.concat([as_recorded(CLAIMS[claim_id]) for claim_id in FUNCTIONS]).to_csv(
        RECORDED, index=False, float_format="%.10g"
    )
