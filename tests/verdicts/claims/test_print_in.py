"""Print in, truth out: the papers' own printed numbers through the very functions that judge simulations."""

from functools import cache

import numpy as np
import pytest

from tcpfair.contract.layout import PAPERS
from tcpfair.errors import InputError
from tcpfair.verdicts.claims.decision import holds, quantities
from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.claims.registry import claim_function
from tcpfair.verdicts.printed_metrics import printed_metrics
from tests.verdicts.claims.worlds import CLAIMS, CONFIGS, LAYOUT


@cache
def printed(paper):
    return printed_metrics(CONFIGS[paper], LAYOUT)


@cache
def in_print(claim_id):
    """Whether the printed numbers satisfy each clause of a claim: 1, 0, or NaN where they do not suffice."""
    claim = CLAIMS[claim_id]
    evidence = Evidence(claim, CONFIGS[claim.paper], printed(claim.paper).__getitem__, {}.__getitem__)
    try:
        found = quantities(claim_function(claim), evidence)
    except (KeyError, InputError):  # an experiment, a metric or a cell of which nothing is printed
        return dict.fromkeys(claim.clauses, np.nan)
    return {name: float(holds(claim.clauses[name], quantity).iloc[0]) for name, quantity in found.items()}


FED = [
    (c.id, name) for c in CLAIMS.values() if c.experiments for name in c.clauses if not np.isnan(in_print(c.id)[name])
]


def test_the_printed_numbers_suffice_for_some_clauses_of_every_paper_that_prints_tables():
    fed = {claim_id.split(".")[0] for claim_id, _ in FED}
    assert fed >= {"bhatti2008", "bhatti2009"}
    assert fed <= set(PAPERS)


@pytest.mark.parametrize(("claim_id", "name"), FED)
def test_what_print_says_of_a_clause_is_recorded(claim_id, name):
    assert CLAIMS[claim_id].clauses[name].in_print is bool(in_print(claim_id)[name])
