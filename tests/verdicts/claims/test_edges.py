"""Every claim on either side of every threshold of its test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.metrics.fairness import jfi
from tcpfair.verdicts.claims import kozu2014 as kozu2014_claims
from tcpfair.verdicts.claims.evidence import Evidence, Means, SingleRuns
from tcpfair.verdicts.claims.statement import Claim, Expression
from tests.verdicts.claims import edges_bhatti as bhatti
from tests.verdicts.claims import edges_ha2006 as ha2006
from tests.verdicts.claims import edges_kozu2014 as kozu2014
from tests.verdicts.claims import edges_of_expressions
from tests.verdicts.claims import edges_ogura as ogura
from tests.verdicts.claims.edges import (
    ASIDE,
    CLAIMS,
    CONFIGS,
    FAILS,
    HOLDS,
    UNDECIDED,
    Edge,
    Trial,
    World,
    found,
    holds,
    in_binary,
    loader,
)

CLOSED_FORMS = [claim.id for claim in CLAIMS.values() if not claim.experiments]
# numbers that say where a law is tried: it holds anywhere, so that other laws show that it is tried there (test_laws)
NUMBERS_OF_LAWS = set.union(*(of.NUMBERS_OF_LAWS for of in (bhatti, ha2006, kozu2014, ogura)))
WORLD_OF_PAPER = {
    "kozu2014": kozu2014.WORLD,
    "bhatti2008": bhatti.WORLD_2008,
    "bhatti2009": bhatti.WORLD_2009,
    "ha2006": ha2006.WORLD,
    "ogura": ogura.WORLD,
}
WORLDS = {id_: WORLD_OF_PAPER[claim.paper] if claim.experiments else World({}) for id_, claim in CLAIMS.items()}
BY_HAND = bhatti.EDGES_2008 | bhatti.EDGES_2009 | ha2006.EDGES | kozu2014.EDGES | ogura.EDGES


@cache
def edges(claim_id: str) -> list[Edge]:
    """By hand where a claim has a function; a closed form has none and holds as it is."""
    claim = CLAIMS[claim_id]
    if claim.expressions:
        return edges_of_expressions.edges(in_binary(claim), WORLDS[claim_id])
    return BY_HAND[claim_id] if claim.experiments else [holds(clause=name, alone=True) for name in claim.clauses]


@cache
def trial(claim_id: str) -> Trial:
    return Trial(claim_id, WORLDS[claim_id], edges(claim_id))


@cache
def outcomes(claim_id: str) -> list[int]:
    return trial(claim_id).outcomes()


def test_every_claim_with_a_function_has_its_edges_and_no_other():
    assert BY_HAND.keys() == {c.id for c in CLAIMS.values() if c.experiments and not c.expressions}


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_every_clause_has_a_world_on_either_side_of_its_bounds(claim_id):
    tried = {(case.clause, case.expected) for case in trial(claim_id).cases}
    wanted = (HOLDS,) if claim_id in CLOSED_FORMS else (HOLDS, FAILS)
    assert tried >= {(clause, outcome) for clause in CLAIMS[claim_id].clauses for outcome in wanted}


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_a_clause_turns_at_its_edges(claim_id):
    tried = zip(trial(claim_id).cases, outcomes(claim_id), strict=True)
    assert [(c.clause, c.where, c.value, c.expected) for c, outcome in tried if outcome != c.expected] == []


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_equal_replicates_and_their_means_decide_alike(claim_id):
    for rows in (SingleRuns(), Means()):
        for clause, held in found(in_binary(CLAIMS[claim_id]), [WORLDS[claim_id]] * 8, rows).items():
            spread_needed = any(edge.alone for edge in edges(claim_id) if edge.clause in (clause, ""))
            if not spread_needed:
                assert set(held.dropna()) == {CLAIMS[claim_id].clauses[clause].in_print is not False}, clause


# --- Numbers and bounds --------------------------------------------------------------------------------------------------

DROPPED = object()


def places(numbers: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Place and value of every number and name in the numbers of a test; of letters of cases every letter."""
    if isinstance(numbers, dict):
        parts = numbers.items()
    elif isinstance(numbers, list) or (path[0] == "letters" and len(numbers) > 1):
        parts = enumerate(numbers)
    else:
        yield path, numbers
        return
    for place, part in parts:
        yield from places(part, (*path, place))


def changed(numbers: Any, path: tuple, value: Any) -> Any:
    """The numbers of a test with one of them in place of another, or without it."""
    place, *rest = path
    parts = dict(numbers) if isinstance(numbers, dict) else list(numbers)
    if rest:
        parts[place] = changed(parts[place], tuple(rest), value)
    elif value is DROPPED:
        del parts[place]
    else:
        parts[place] = value
    return "".join(parts) if isinstance(numbers, str) else parts


def with_number(claim: Claim, path: tuple, value: Any) -> Claim:
    """The claim with another number, bound or margin."""
    if path[0] == "of":
        _, name, *at = path
        of = Expression.model_validate(changed(claim.expressions[name].model_dump(mode="json"), tuple(at), value))
        clause = claim.clauses[name].model_copy(update={"of": of, "where": {}})
        return claim.model_copy(update={"clauses": claim.clauses | {name: clause}})
    if path[0] != "clauses":
        return claim.model_copy(update={"numbers": changed(claim.numbers, path, value)})
    _, name, bound = path
    clause = claim.clauses[name]
    if bound == "margin":
        update = {"margin": clause.margin.model_copy(update={"value": value})}
    else:
        update = {bound: value}
    return claim.model_copy(update={"clauses": claim.clauses | {name: clause.model_copy(update=update)}})


def bounds(claim: Claim) -> Iterator[tuple[tuple, float]]:
    """Place and value of every bound and margin of the clauses."""
    for name, clause in claim.clauses.items():
        for bound in ("at_least", "at_most"):
            if getattr(clause, bound) is not None:
                yield ("clauses", name, bound), getattr(clause, bound)
        if clause.margin:
            yield ("clauses", name, "margin"), clause.margin.value


def cells_named(claim: Claim) -> Iterator[tuple[tuple, Any]]:
    """Place and value of every measure, flow and grid value in the expressions."""
    for name, of in claim.expressions.items():
        for path, value in places(of.model_dump(mode="json"), ("of", name)):
            if value not in ("", None) and path[-1] not in ("do", "along", "experiment"):
                yield path, value


def moves(claim: Claim, path: tuple, value: Any) -> Iterator[Any]:
    """What to put in its place: nothing, another cell of the world, a little more and less, much more and less."""
    if path[0] == "clauses":
        aside = 64 * ASIDE * max(1.0, abs(value))
        yield from (value + aside, value - aside, 1.1 * value, 0.9 * value)  # a rank correlation moves in steps
        return
    if path[0] in ("letters", "rounded_letter"):
        yield "A" if value != "A" else "B"
        return
    if isinstance(path[-1], int):
        yield DROPPED
    metrics = WORLDS[claim.id].metrics
    for column in (metrics[name][column] for name in claim.experiments for column in metrics[name].columns[:-1]):
        if (column == value).any():
            yield from (other for other in column.unique().tolist() if other != value)
    if isinstance(value, int | float):
        aside = 64 * ASIDE * max(1.0, abs(value))
        yield from (value + aside, value - aside, 1.5 * value, 0.5 * value, value + 1, value - 1)


def turns_with(claim: Claim, path: tuple, value: Any) -> bool:
    """Whether some case has another outcome when the number is another, or no other names any cell."""
    moved_to = []
    for other in moves(claim, path, value):
        try:
            moved_to.append(trial(claim.id).outcomes(with_number(claim, path, other)) != outcomes(claim.id))
        except KeyError:  # the claim is about the very cell that was dropped, or there is none of that name
            if other is DROPPED:
                return True
        except (ValueError, TypeError, InputError):  # a pair without its second, no whole number, no such cell
            continue
        if any(moved_to):
            return True
    return path[0] == "of" and not moved_to


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_every_number_and_bound_is_one_that_some_case_turns_on(claim_id):
    claim = trial(claim_id).claim
    tried = [at for at in places(claim.numbers) if (claim_id, at[0][0]) not in NUMBERS_OF_LAWS]
    tried += cells_named(claim)
    tried += bounds(claim) if claim.experiments else []
    assert [path for path, value in tried if not turns_with(claim, path, value)] == []


# --- What was not measured ---------------------------------------------------------------------------------------

# where there is no time of convergence, or of fairness, there was none: that decides
NONE_IS_AN_OUTCOME = {"bhatti2008.c13", "bhatti2008.c14", "bhatti2008.c20", "bhatti2008.c21", "ha2006.c42"}


@pytest.mark.parametrize("claim_id", sorted(CLAIMS.keys() - NONE_IS_AN_OUTCOME - set(CLOSED_FORMS)))
def test_a_cell_without_a_value_leaves_its_replicate_undecided(claim_id):
    of_cells = [edge for edge in edges(claim_id) if edge.limit is not None and edge.put is None and not edge.alone]
    unmeasured = Trial(claim_id, WORLDS[claim_id], [replace(edge, limit=np.nan, tie=False) for edge in of_cells])
    assert set(unmeasured.outcomes()) <= {UNDECIDED}


def test_no_convergence_in_a_run_that_was_measured_is_an_outcome_and_none_without_a_measurement():
    for claim_id, of_run, time in (
        ("bhatti2008.c13", ("pair", {"metric": "U_N", "protocol": "NewReno", "rtt_ms": 25}), "T_U"),
        ("bhatti2008.c21", ("pair", {"metric": "U_N", "protocol": "NewReno", "rtt_ms": 25}), "T_U"),
        ("ha2006.c42", ("intra_long", {"metric": "fair_ratio", "rtt_ms": 162}), "fair_at_s"),
    ):
        experiment, where = of_run
        never = WORLDS[claim_id].put(experiment, {**where, "metric": time}, np.nan)
        unmeasured = never.put(experiment, where, np.nan)
        held = next(iter(found(trial(claim_id).claim, [WORLDS[claim_id], never, unmeasured]).values()))
        assert held.fillna(UNDECIDED).to_list() == [HOLDS, FAILS, UNDECIDED]


def test_x_is_tuned_on_other_replicates_than_it_is_judged_on():
    """Noise that only the tuning replicates have must not show in what is judged."""
    cells = {"metric": "jfi_of_means", "x": 0.45, "rtt_ms": [16, 32, 64, 128]}
    lucky = kozu2014.WORLD.put("existing", cells, 1.0)
    claim = CLAIMS["kozu2014.c20"]
    worlds = [lucky] * 4 + [kozu2014.WORLD] * 4
    evidence = Evidence(claim, CONFIGS["kozu2014"], loader(worlds), {}.__getitem__)
    # x of 0.45 is chosen then, and judged by what the other replicates have: a lead of 1.05 + 2 * 0.15
    _, existing = kozu2014_claims._proposed_and_existing(evidence)
    assert existing.index.to_list() == [4, 5, 6, 7]
    assert existing[16].to_numpy() == pytest.approx(jfi([1.35, 1.0]), abs=1e-3)
