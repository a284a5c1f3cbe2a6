"""Verdicts answer to the simulation: change what a claim is about, and its verdict must change with it.

Each test simulates an experiment at reduced size twice, as configured and with one deliberate fault.
"""

from functools import cache

import pytest

from tcpfair.backends import simulate
from tcpfair.claims.registry import decide, load_claims
from tcpfair.config import PaperConfig, load_paper
from tcpfair.measures import measure
from tcpfair.paths import Layout, repository_root

ROOT = repository_root()


def paper(name):
    """A configuration of its own for every caller, to change as it likes."""
    return load_paper(Layout(ROOT).paper_config(name))


def verdicts(config: PaperConfig, *ids: str) -> dict[str, str]:
    """Simulate and measure what these claims read, and judge them."""

    @cache
    def trace(experiment):
        return simulate(config, experiment)

    @cache
    def metrics(experiment):
        weights = config.experiments[experiment].weights
        return measure(trace(experiment), config, experiment, metrics(weights.experiment) if weights else None)

    claims = {claim.id: claim for claim in load_claims(ROOT / "data" / "claims" / f"{config.paper}.yaml")}
    found = {}
    for claim_id in ids:
        found[claim_id], evidence = decide(claims[claim_id], config, metrics, trace)
        print(claim_id, found[claim_id], evidence)
    return found


def reduced(config, experiment, runs=None, settings=None, window_s=None, **grid):
    """Fewer runs, fewer grid points, other settings."""
    chosen = config.experiments[experiment]
    if runs:
        chosen.runs.value = runs
    for name, value in (settings or {}).items():
        chosen.settings[name].value = value
    if window_s:
        chosen.window_s.value = window_s
    for name, values in grid.items():
        chosen.grid[name].value = values
    return config


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
    config.protocols["Libra"] = config.protocols["Libra (eq. 15)"].model_copy(deep=True)
    config.protocols["Libra"].params = {"rtt_ref_s": config.analysis["rtt_ref_s"].model_copy(update={"value": 0.08})}


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


@pytest.mark.parametrize(("fault", "ids"), GROWTH, ids=lambda part: getattr(part, "__name__", ""))
def test_growth(fault, ids):
    assert verdicts(paper("ogura"), *ids) == dict.fromkeys(ids, "reproduced")
    faulty = paper("ogura")
    fault(faulty)
    assert verdicts(faulty, *ids) == dict.fromkeys(ids, "not reproduced")


# --- ogura, random losses ----------------------------------------------------------------------------------------


def high_loss():
    settings = {"duration_s": 200}
    return reduced(paper("ogura"), "loss_sweep", 3, settings, [20, 200], loss_rate=[1e-2, 1e-3])


def flows_swapped(config):
    for experiment in config.experiments.values():
        experiment.flows.reverse()


@pytest.mark.parametrize(
    ("fault", "claim_id"),
    [(reno_as_libra, "ogura.c15"), (libra_as_reno, "ogura.c16"), (alpha_as_libra, "ogura.c18"), (flows_swapped, "ogura.c18")],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_high_loss(fault, claim_id):
    assert verdicts(high_loss(), claim_id) == {claim_id: "reproduced"}
    faulty = high_loss()
    fault(faulty)
    assert verdicts(faulty, claim_id) == {claim_id: "not reproduced"}
