"""Verdicts answer to the simulation: change what a claim is about, and its verdict must change with it.

Each test simulates an experiment at reduced size twice, as configured and with one deliberate fault. It names claims
(``ogura.c02``), all clauses of which must hold without the fault and fail with it, or single clauses (``ogura.c28.proposal``)
where the others are about something else.
"""

from collections.abc import Callable
from functools import cache

import pandas as pd
import pytest

from tcpfair.files.layout import Layout, repository_root
from tcpfair.measures import measure
from tcpfair.papers.papers import PaperConfig, Value, load_paper
from tcpfair.sources import simulate
from tcpfair.verdicts.claims.decision import FAILS, HOLDS, NOT_REPRODUCED, REPRODUCED
from tcpfair.verdicts.claims.registry import Judged, decide
from tcpfair.verdicts.claims.statement import load_claims
from tcpfair.verdicts.measured import Measured

pytestmark = pytest.mark.slow

ROOT = repository_root()


def paper(name):
    """A configuration of its own for every caller, to change as it likes."""
    return load_paper(Layout(ROOT).paper_config(name))


def unchanged(metrics):
    return metrics


def judged(config: PaperConfig, *names: str, relabel: Callable = unchanged) -> dict[str, Judged]:
    """Simulate and measure what these claims, or the claims of these clauses, read, and judge them."""

    @cache
    def trace(experiment):
        return simulate(config, experiment)

    @cache
    def metrics(experiment):
        return relabel(measure(trace(experiment), config, experiment))

    claims = {claim.id: claim for claim in load_claims(ROOT / "data" / "claims" / f"{config.paper}.yaml")}
    found = {}
    for claim_id in dict.fromkeys(map(claim_of, names)):
        found[claim_id] = decide(claims[claim_id], config, Measured(metrics), trace)
        print(claim_id, found[claim_id].verdict, found[claim_id].evidence)  # shown when a test fails
    return found


def claim_of(name):
    return ".".join(name.split(".")[:2])


def of(found: dict[str, Judged], name: str) -> str:
    """Verdict on a claim by the means of these few runs, or the outcome of the clause that ``name`` ends with."""
    outcomes = {f"{claim_of(name)}.{clause.clause_id}": clause.kept for clause in found[claim_of(name)].clauses}
    if name != claim_of(name):
        return outcomes[name]
    return {frozenset([HOLDS]): REPRODUCED, frozenset([FAILS]): NOT_REPRODUCED}.get(
        frozenset(outcomes.values()), "mixed"
    )


def expected(names, of_claims, of_clauses):
    return {name: of_claims if name == claim_of(name) else of_clauses for name in names}


def reduced(config, experiment, runs, *, duration_s=None, window_s=None, **grid):
    """Fewer runs, shorter, at fewer grid points, and only the measures that need no other experiment."""
    chosen = config.experiments[experiment]
    chosen.runs.value = runs
    if duration_s:
        chosen.settings["duration_s"].value = duration_s
        chosen.window_s.value = window_s
    for name, values in grid.items():
        chosen.grid[name].value = values
    chosen.measures = [name for name in chosen.measures if name in ("throughput", "ratio", "jfi", "peak")]
    return config


@cache
def as_configured(make, names, relabel):
    """Without a fault, once for all the faults that are tried on one set-up."""
    return judged(make(), *names, relabel=relabel)


def assert_the_fault_shows(make, fault, names, family=(), relabel=unchanged):
    """Claims or clauses hold as configured (judged with the rest of ``family``) and do not with the fault."""
    before = as_configured(make, tuple(family or names), relabel)
    assert {name: of(before, name) for name in names} == expected(names, REPRODUCED, HOLDS)
    faulty = make()
    fault(faulty)
    after = judged(faulty, *names, relabel=relabel)
    assert {name: of(after, name) for name in names} == expected(names, NOT_REPRODUCED, FAILS)


def name_of(part):
    return getattr(part, "__name__", "-".join(part) if isinstance(part, list) else str(part))


def imitate(config, protocol, other):
    """Let one protocol behave as another while it keeps its name."""
    config.protocols[protocol] = config.protocols[other]


# --- ogura, Model I and II ---------------------------------------------------------------------------------------


def libra_as_reno(config):
    imitate(config, "Libra", "Reno")


def reno_as_libra(config):
    imitate(config, "Reno", "Libra")


def alpha_as_reno(config):
    imitate(config, "Alpha", "Reno")


def alpha_as_libra(config):
    imitate(config, "Alpha", "Libra")


def libra_with_a_quarter_of_k(config):
    config.protocols["Libra"].params["rtt_ref_s"] = Value(value=0.08, source="twice that of the paper")


def libra_without_queueing_delay(config):
    imitate(config, "Libra (eq. 15)", "Libra")


def queueing_libra_as_reno(config):
    imitate(config, "Libra (eq. 15)", "Reno")


def queueing_alpha_as_reno(config):
    imitate(config, "Alpha (eq. 16)", "Reno")


def reno_as_queueing_alpha(config):
    imitate(config, "Reno", "Alpha (eq. 16)")


def half_the_buffer(config):
    config.settings["buffer_pkts"].value = 250


GROWTH = [
    (libra_as_reno, ["ogura.c02"]),
    (reno_as_libra, ["ogura.c03"]),
    (alpha_as_reno, ["ogura.c04", "ogura.c07"]),
    (libra_with_a_quarter_of_k, ["ogura.c05", "ogura.c06"]),
    (queueing_alpha_as_reno, ["ogura.c08"]),
    (reno_as_queueing_alpha, ["ogura.c09"]),
    (queueing_libra_as_reno, ["ogura.c10"]),
    (libra_without_queueing_delay, ["ogura.c11", "ogura.c12"]),
    (half_the_buffer, ["ogura.c13"]),
]


def growth():
    return paper("ogura")


@pytest.mark.parametrize(("fault", "names"), GROWTH, ids=name_of)
def test_growth(fault, names):
    assert_the_fault_shows(growth, fault, names, [f"ogura.c{n:02d}" for n in range(2, 14)])


# --- ogura, random losses ----------------------------------------------------------------------------------------


def flows_swapped(config):
    for experiment in config.experiments.values():
        experiment.flows.reverse()


def proposal_as_reno(config):
    imitate(config, "Proposal", "Reno")


def westwood_as_proposal(config):
    imitate(config, "Westwood", "Proposal")


def reference_at_120_ms(config):
    config.experiments["friendliness"].flows[0]["rtt_ms"].value = 120


def high_loss():
    grid = {"loss_rate": [1e-2, 1e-3], "protocol": ["Reno", "Libra", "Alpha"]}
    return reduced(paper("ogura"), "loss_sweep", 3, duration_s=200, window_s=[20, 200], **grid)


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (reno_as_libra, ["ogura.c15"]),
        (libra_as_reno, ["ogura.c16"]),
        (alpha_as_libra, ["ogura.c18"]),
        (flows_swapped, ["ogura.c18"]),
    ],
    ids=name_of,
)
def test_fairness_at_high_loss(fault, names):
    assert_the_fault_shows(high_loss, fault, names, ["ogura.c15", "ogura.c16", "ogura.c18"])


def friendliness():
    return reduced(paper("ogura"), "friendliness", 3, duration_s=200, window_s=[50, 200])


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        pytest.param(flows_swapped, ["ogura.c33", "ogura.c34"], marks=pytest.mark.slow),
        pytest.param(reference_at_120_ms, ["ogura.c34"], marks=pytest.mark.slow),
        (proposal_as_reno, ["ogura.c36"]),
    ],
    ids=name_of,
)
def test_friendliness(fault, names):
    assert_the_fault_shows(friendliness, fault, names, ["ogura.c33", "ogura.c34", "ogura.c36"])


def efficiency():
    return reduced(paper("ogura"), "efficiency", 2, duration_s=300, window_s=[50, 300], rtt_ms=[40, 200])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "names"),
    [(proposal_as_reno, ["ogura.c28.proposal", "ogura.c32"]), (westwood_as_proposal, ["ogura.c29.half"])],
    ids=name_of,
)
def test_efficiency(fault, names):
    assert_the_fault_shows(efficiency, fault, names, ["ogura.c28", "ogura.c29", "ogura.c32"])


# --- bhatti2008 and bhatti2009 -----------------------------------------------------------------------------------


def cubic_as_newreno(config):
    imitate(config, "CUBIC", "NewReno")


def ccid2_against_cubic():
    config = reduced(paper("bhatti2008"), "pair", 1, protocol=["CUBIC"])
    return reduced(config, "self", 1, protocol=["CCID2"])


def test_ccid2_and_cubic_swapped():
    # the index of a pair is the same either way round
    assert_the_fault_shows(ccid2_against_cubic, flows_swapped, ["bhatti2008.c05.more", "bhatti2008.c09"])


def fast_variants_against_ccid2():
    return reduced(paper("bhatti2009"), "pair_ccid2_first", 2, protocol=["BIC", "CUBIC"], rtt_ms=[50, 100, 200])


def also_at_25_ms(metrics):
    """At 25 ms CUBIC and CCID2 are level, which decides nothing: the runs at 50 ms stand for them."""
    return pd.concat([metrics, metrics[metrics["rtt_ms"] == 50].assign(rtt_ms=25)], ignore_index=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "names"), [(cubic_as_newreno, ["bhatti2009.c21.cubic"]), (flows_swapped, ["bhatti2009.c21"])], ids=name_of
)
def test_lead_over_ccid2(fault, names):
    assert_the_fault_shows(fast_variants_against_ccid2, fault, names, ["bhatti2009.c21"], also_at_25_ms)


def newreno_alone():
    return reduced(paper("bhatti2009"), "single", 2, protocol=["NewReno"])


def test_start_of_newreno_with_the_rtts_swapped():
    name, other = "bhatti2009.c05.trend", {25: 200, 50: 100, 100: 50, 200: 25}

    def swapped(metrics):
        return metrics.assign(rtt_ms=metrics["rtt_ms"].map(other))

    assert of(judged(newreno_alone(), name), name) == HOLDS
    assert of(judged(newreno_alone(), name, relabel=swapped), name) == FAILS
