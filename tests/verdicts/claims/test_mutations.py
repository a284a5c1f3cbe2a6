"""Verdicts answer to the simulation: change what a claim is about, and its verdict must change with it.

Each test simulates an experiment at reduced size twice, as configured and with one deliberate fault. It names claims
(``ogura.c02``), all clauses of which must hold without the fault and fail with it, or single clauses (``ogura.c28.proposal``)
where the others are about something else.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pandas as pd
import pytest

from tcpfair.files.layout import Layout, repository_root
from tcpfair.measures import measure
from tcpfair.papers.papers import PaperConfig, Value, load_paper
from tcpfair.sources import simulate
from tcpfair.verdicts.claims.decision import FAILS, HOLDS
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


def outcomes(found: dict[str, Judged], name: str) -> set[str]:
    """The outcomes by the means of these few runs: of all clauses of a claim, or of one."""
    claim_id = claim_of(name)
    return {c.kept for c in found[claim_id].clauses if name in (claim_id, f"{claim_id}.{c.clause_id}")}


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


# --- Faults -------------------------------------------------------------------------------------------------------


class Imitates(NamedTuple):
    """The fault that one protocol behaves as another while it keeps its name."""

    protocol: str
    other: str

    def __call__(self, config):
        config.protocols[self.protocol] = config.protocols[self.other]

    def __str__(self):
        return f"{self.protocol} as {self.other}"


def libra_with_a_quarter_of_k(config):
    config.protocols["Libra"].params["rtt_ref_s"] = Value(value=0.08, source="twice that of the paper")


def half_the_buffer(config):
    config.settings["buffer_pkts"].value = 250


def flows_swapped(config):
    for experiment in config.experiments.values():
        experiment.flows.reverse()


def reference_at_120_ms(config):
    config.experiments["friendliness"].flows[0]["rtt_ms"].value = 120


# --- Experiments --------------------------------------------------------------------------------------------------


def growth():
    return paper("ogura")


def high_loss():
    grid = {"loss_rate": [1e-2, 1e-3], "protocol": ["Reno", "Libra", "Alpha"]}
    return reduced(paper("ogura"), "loss_sweep", 3, duration_s=200, window_s=[20, 200], **grid)


def friendliness():
    return reduced(paper("ogura"), "friendliness", 3, duration_s=200, window_s=[50, 200])


def efficiency():
    return reduced(paper("ogura"), "efficiency", 2, duration_s=300, window_s=[50, 300], rtt_ms=[40, 200])


def ccid2_against_cubic():
    config = reduced(paper("bhatti2008"), "pair", 1, protocol=["CUBIC"])
    return reduced(config, "self", 1, protocol=["CCID2"])


def fast_variants_against_ccid2():
    return reduced(paper("bhatti2009"), "pair_ccid2_first", 2, protocol=["BIC", "CUBIC"], rtt_ms=[50, 100, 200])


def also_at_25_ms(metrics):
    """At 25 ms CUBIC and CCID2 are level, which decides nothing: the runs at 50 ms stand for them."""
    return pd.concat([metrics, metrics[metrics["rtt_ms"] == 50].assign(rtt_ms=25)], ignore_index=True)


def newreno_alone():
    return reduced(paper("bhatti2009"), "single", 2, protocol=["NewReno"])


# --- Tests --------------------------------------------------------------------------------------------------------

FAULTS = {
    growth: [
        (Imitates("Libra", "Reno"), ["ogura.c02"]),
        (Imitates("Reno", "Libra"), ["ogura.c03"]),
        (Imitates("Alpha", "Reno"), ["ogura.c04", "ogura.c07"]),
        (libra_with_a_quarter_of_k, ["ogura.c05", "ogura.c06"]),
        (Imitates("Alpha (eq. 16)", "Reno"), ["ogura.c08"]),
        (Imitates("Reno", "Alpha (eq. 16)"), ["ogura.c09"]),
        (Imitates("Libra (eq. 15)", "Reno"), ["ogura.c10"]),
        (Imitates("Libra (eq. 15)", "Libra"), ["ogura.c11", "ogura.c12"]),
        (half_the_buffer, ["ogura.c13"]),
    ],
    high_loss: [
        (Imitates("Reno", "Libra"), ["ogura.c15"]),
        (Imitates("Libra", "Reno"), ["ogura.c16"]),
        (Imitates("Alpha", "Libra"), ["ogura.c18"]),
        (flows_swapped, ["ogura.c18"]),
    ],
    friendliness: [
        (flows_swapped, ["ogura.c33", "ogura.c34"]),
        (reference_at_120_ms, ["ogura.c34"]),
        (Imitates("Proposal", "Reno"), ["ogura.c36"]),
    ],
    efficiency: [
        (Imitates("Proposal", "Reno"), ["ogura.c28.proposal", "ogura.c32"]),
        (Imitates("Westwood", "Proposal"), ["ogura.c29.half"]),
    ],
    # the index of a pair is the same either way round
    ccid2_against_cubic: [(flows_swapped, ["bhatti2008.c05.more", "bhatti2008.c09"])],
    fast_variants_against_ccid2: [
        (Imitates("CUBIC", "NewReno"), ["bhatti2009.c21.cubic"]),
        (flows_swapped, ["bhatti2009.c21"]),
    ],
}
RELABELLED = {fast_variants_against_ccid2: also_at_25_ms}


@cache
def as_configured(make):
    """Without a fault, once for all the faults that are tried on one set-up."""
    names = [name for _, of_fault in FAULTS[make] for name in of_fault]
    return judged(make(), *names, relabel=RELABELLED.get(make, unchanged))


def name_of(part):
    return "-".join(part) if isinstance(part, list) else getattr(part, "__name__", str(part))


@pytest.mark.parametrize(
    ("make", "fault", "names"),
    [(make, fault, names) for make, faults in FAULTS.items() for fault, names in faults],
    ids=name_of,
)
def test_claims_or_clauses_hold_as_configured_and_do_not_with_the_fault(make, fault, names):
    assert [name for name in names if outcomes(as_configured(make), name) != {HOLDS}] == []
    faulty = make()
    fault(faulty)
    after = judged(faulty, *names, relabel=RELABELLED.get(make, unchanged))
    assert [name for name in names if outcomes(after, name) != {FAILS}] == []


def test_start_of_newreno_with_the_rtts_swapped():
    name, other = "bhatti2009.c05.trend", {25: 200, 50: 100, 100: 50, 200: 25}

    def swapped(metrics):
        return metrics.assign(rtt_ms=metrics["rtt_ms"].map(other))

    assert outcomes(judged(newreno_alone(), name), name) == {HOLDS}
    assert outcomes(judged(newreno_alone(), name, relabel=swapped), name) == {FAILS}
