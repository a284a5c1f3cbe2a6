"""The page's measures.js against `tcpfair.metrics` over random arrays: every formula and every rule of the weights."""

from math import nan

import numpy as np
import pandas as pd

from tcpfair.measures.weights import RULES, in_own_place
from tcpfair.metrics import epochs, fairness, series
from tcpfair.metrics.ruler import max_min
from tcpfair.verdicts.combine import over_runs, reached_by_share
from tests.web.node import call, needs_node

pytestmark = needs_node

CASES = 60
RNG = np.random.default_rng(20)


def throughputs():
    """Rates of flows, some samples of which are silent."""
    shape = (RNG.integers(1, 15), RNG.integers(2, 60))
    return RNG.uniform(0, 100, shape) * (RNG.uniform(size=shape) > 0.15)


def t_s_of(samples, step_s=1.0):
    return step_s * np.arange(1, samples + 1)


def same(function, *given):
    """A case of a function that the page has under the same name: that name, arguments and result."""
    first, *others = function.__name__.split("_")
    return first + "".join(map(str.capitalize, others)), given, function(*given)


def cases():
    """(name in measures.js, arguments, expected), drawn anew for each."""
    for _ in range(CASES):
        r = throughputs()
        flows, samples = r.shape
        weights, floor = RNG.uniform(0.005, 0.2, flows), RNG.uniform(0.001, 1)
        u_db = fairness.nru_over_time_db(r, weights, floor)
        own = RNG.uniform(0.1, 100, (flows, flows))
        yield same(fairness.jfi, r[:, 0])
        yield same(fairness.jfi_over_time, r)
        yield same(fairness.mean_jfi, r)
        yield same(fairness.jfi_of_means, r)
        for name, rule in RULES.items():
            yield f"WEIGHT_RULES.{name}", [own], rule(own)
        starts_s = RNG.choice([0.0, 30.0, 60.0, *RNG.uniform(0, 90, flows)], flows)
        yield same(in_own_place, own, starts_s)
        yield same(fairness.nru_over_time_db, r, weights, floor)
        yield same(fairness.flow_nru_db, u_db)
        yield same(fairness.flow_nru_db_of_mean, r, weights)
        yield same(fairness.zero_share, r)
        u_n = np.round(RNG.uniform(-2, 2, flows), 1)
        yield same(fairness.nru_tuple, u_n)
        for decimals in (1, 2):
            yield same(fairness.case_letter, *fairness.nru_tuple(u_n)[1:], decimals)
        yield same(max_min, 100.0, np.where(RNG.uniform(size=flows) < 0.3, np.inf, RNG.uniform(0, 60, flows).round()))
        yield same(fairness.flow_stability, u_db)
        yield same(fairness.system_stability, u_db)
        yield same(series.coefficient_of_variation, r[0])
        yield same(series.utilisation, r, 90.0)
        yield same(series.smaller_to_larger_ratio, r[:, 0] + 0.1)
        yield same(series.time_to_fraction_s, r[0], t_s_of(samples), 0.9)
        yield same(series.moving_mean, r[0], RNG.integers(1, samples + 1))
        yield from _of_windows()
        yield from _of_losses()
        yield from _of_runs()


def _of_windows():
    flows, samples, step_s = RNG.integers(1, 6), RNG.integers(2, 50), RNG.choice([0.1, 0.25, 1.0, 5.0])
    t_s = t_s_of(samples, step_s)
    start_s, stop_s = np.sort(RNG.integers(0, samples + 5, 2)) * step_s
    inside = np.flatnonzero(series.window_mask(t_s, start_s, stop_s))
    if len(inside):
        yield "windowOf", [t_s, start_s, stop_s], [inside[0], inside[-1] + 1]
    # in steps of a tenth of a dB, so that values on a threshold come about
    u_db = np.round(RNG.uniform(-3, 3, (flows, samples)), 1)
    when = [float(RNG.integers(0, samples) * step_s), -0.5, float(RNG.integers(1, 5) * step_s)]
    yield same(fairness.convergence_time_s, u_db, t_s, *when)
    yield same(fairness.system_convergence_time_s, u_db, t_s, *when)


def _of_losses():
    first, second, third = (np.sort(RNG.uniform(0, 100, RNG.integers(1, 30))) for _ in range(3))
    yield same(epochs.losses_between_s, first, 20.0, first[-1])
    t_s, at_s, k_s = t_s_of(200, 0.5), np.round(first * 2) / 2, RNG.uniform(0, 9, len(first))
    losses = pd.DataFrame({"t_s": at_s, "k_s": k_s}).to_dict("records")
    yield "kOverTimeS", [t_s, losses], epochs.k_over_time_s(t_s, at_s, k_s)
    yield same(epochs.common_losses, first, second, 1.5)
    yield same(epochs.synchronised_loss_share, [first, second, third], 0.7)


def _of_runs():
    times_s = pd.Series(np.where(RNG.uniform(size=RNG.integers(1, 9)) > 0.4, RNG.uniform(0, 99), np.nan))
    yield same(reached_by_share, times_s, float(RNG.choice([0.2, 0.5, 0.8])))
    values = pd.Series(RNG.uniform(0, 9, RNG.integers(2, 9)))
    yield "median", [values], over_runs(values, "median")
    yield "deviation", [values], over_runs(values, "sd")


def test_every_formula_of_the_page_gives_what_the_packages_gives():
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = list(cases())
    found = call(["measures.js"], [(f"measures.{name}", *given) for name, given, _ in drawn])
    for (name, given, expected), value in zip(drawn, found, strict=True):
        where = f"{name} of {given}"
        if isinstance(value, str):
            assert value == str(expected), where
            continue
        value = list(value.values()) if isinstance(value, dict) else value
        value, expected = np.asarray(value, dtype=float), np.asarray(expected, dtype=float)
        np.testing.assert_allclose(value.reshape(expected.shape), expected, rtol=1e-12, atol=1e-12, err_msg=where)


def test_a_case_for_every_letter():
    tuples = {"A": (nan, -1.5), "B": (1, -1), "C": (0.005, -1), "D": (0.5, nan), "E": (0, -0.004), "-": (nan, nan)}
    found = call(["measures.js"], [("measures.caseLetter", *each) for each in tuples.values()])
    assert found == list(tuples)
