"""The page's measures.js against `tcpfair.metrics` over random arrays: every formula and every rule of the weights."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.measures.weights import RULES, in_own_place
from tcpfair.metrics import epochs, fairness, series
from tcpfair.metrics.ruler import max_min
from tcpfair.verdicts.combine import over_runs, reached_by_share
from tests.web.calls import call
from tests.web.node import needs_node

pytestmark = needs_node

CASES = 60
RNG = np.random.default_rng(20)


def throughputs(flows=None, samples=None):
    """Rates of flows, some samples of which are silent."""
    shape = (flows or RNG.integers(1, 15), samples or RNG.integers(2, 60))
    return RNG.uniform(0, 100, shape) * (RNG.uniform(size=shape) > 0.15)


def losses_s(most=30):
    return np.sort(RNG.uniform(0, 100, RNG.integers(1, most)))


def on_grid_db(flows, samples):
    """NRU in steps of a tenth of a dB, so that values on a threshold come about."""
    return np.round(RNG.uniform(-3, 3, (flows, samples)), 1)


def t_s_of(samples, step_s=1.0):
    return step_s * np.arange(1, samples + 1)


def windowed(t_s, start_s, stop_s):
    inside = np.flatnonzero(series.window_mask(t_s, start_s, stop_s))
    return [inside[0], inside[-1] + 1] if len(inside) else None


def cases():
    """(name in measures.js, arguments, expected), drawn anew for each."""
    for _ in range(CASES):
        r = throughputs()
        flows, samples = r.shape
        weights = RNG.uniform(0.005, 0.2, flows)
        floor = RNG.uniform(0.001, 1)
        u_db = fairness.nru_over_time_db(r, weights, floor)
        own = RNG.uniform(0.1, 100, (flows, flows))
        yield "jfi", [r[:, 0]], fairness.jfi(r[:, 0])
        yield "jfiOverTime", [r], fairness.jfi_over_time(r)
        yield "meanJfi", [r], fairness.mean_jfi(r)
        yield "jfiOfMeans", [r], fairness.jfi_of_means(r)
        for name, rule in RULES.items():
            yield f"WEIGHT_RULES.{name}", [own], rule(own)
        starts_s = RNG.choice([0.0, 30.0, 60.0, *RNG.uniform(0, 90, flows)], flows)
        yield "inOwnPlace", [own, starts_s], in_own_place(own, starts_s)
        yield "nruOverTimeDb", [r, weights, floor], u_db
        yield "flowNruDb", [u_db], fairness.flow_nru_db(u_db)
        yield "flowNruDbOfMean", [r, weights], fairness.flow_nru_db_of_mean(r, weights)
        yield "zeroShare", [r], fairness.zero_share(r)
        u_n = np.round(RNG.uniform(-2, 2, flows), 1)
        found = fairness.nru_tuple(u_n)
        yield "nruTuple", [u_n], {"uMean": found.u_mean, "uPlus": found.u_plus, "uMinus": found.u_minus}
        for decimals in (1, 2):
            letter = str(fairness.case_letter(found.u_plus, found.u_minus, decimals))
            yield "caseLetter", [found.u_plus, found.u_minus, decimals], letter
        demands = np.where(RNG.uniform(size=flows) < 0.3, np.inf, RNG.uniform(0, 60, flows).round())
        yield "maxMin", [100.0, demands], max_min(100.0, demands)
        yield "flowStability", [u_db], fairness.flow_stability(u_db)
        yield "systemStability", [u_db], fairness.system_stability(u_db)
        yield "coefficientOfVariation", [r[0]], series.coefficient_of_variation(r[0])
        yield "utilisation", [r, 90.0], series.utilisation(r, 90.0)
        yield "smallerToLargerRatio", [r[:, 0] + 0.1], series.smaller_to_larger_ratio(r[:, 0] + 0.1)
        yield "timeToFractionS", [r[0], t_s_of(samples), 0.9], series.time_to_fraction_s(r[0], t_s_of(samples), 0.9)
        window = RNG.integers(1, samples + 1)
        yield "movingMean", [r[0], window], series.moving_mean(r[0], window)
        yield from _of_windows()
        yield from _of_losses()
        yield from _of_runs()


def _of_windows():
    flows, samples, step_s = RNG.integers(1, 6), RNG.integers(2, 50), RNG.choice([0.1, 0.25, 1.0, 5.0])
    t_s = t_s_of(samples, step_s)
    start_s, stop_s = np.sort(RNG.integers(0, samples + 5, 2)) * step_s
    expected = windowed(t_s, start_s, stop_s)
    if expected:
        yield "windowOf", [t_s, start_s, stop_s], expected
    u_db = on_grid_db(flows, samples)
    when = [float(RNG.integers(0, samples) * step_s), -0.5, float(RNG.integers(1, 5) * step_s)]
    yield "convergenceTimeS", [u_db, t_s, *when], fairness.convergence_time_s(u_db, t_s, *when)
    yield "systemConvergenceTimeS", [u_db, t_s, *when], fairness.system_convergence_time_s(u_db, t_s, *when)


def _of_losses():
    first, second = losses_s(), losses_s()
    yield "lossesBetweenS", [first, 20.0, first[-1]], epochs.losses_between_s(first, 20.0, first[-1])
    t_s = t_s_of(200, 0.5)
    k_s = RNG.uniform(0, 9, len(first))
    at_s = np.round(first * 2) / 2
    losses = [{"t_s": t, "k_s": k} for t, k in zip(at_s, k_s, strict=True)]
    yield "kOverTimeS", [t_s, losses], epochs.k_over_time_s(t_s, at_s, k_s)
    yield "commonLosses", [first, second, 1.5], epochs.common_losses(first, second, 1.5)
    several = [first, second, losses_s()]
    yield "synchronisedLossShare", [several, 0.7], epochs.synchronised_loss_share(several, 0.7)


def _of_runs():
    times_s = pd.Series(np.where(RNG.uniform(size=RNG.integers(1, 9)) > 0.4, RNG.uniform(0, 99), np.nan))
    share = float(RNG.choice([0.2, 0.5, 0.8]))
    yield "reachedByShare", [times_s.to_numpy(), share], reached_by_share(times_s, share)
    values = pd.Series(RNG.uniform(0, 9, RNG.integers(2, 9)))
    yield "median", [values.to_numpy()], over_runs(values, "median")
    yield "deviation", [values.to_numpy()], over_runs(values, "sd")


def test_every_formula_of_the_page_gives_what_the_packages_gives():
    drawn = list(cases())
    with np.errstate(invalid="ignore", divide="ignore"):
        found = call(["measures.js"], [(f"measures.{name}", *given) for name, given, _ in drawn])
    for (name, given, expected), value in zip(drawn, found, strict=True):
        where = f"{name} of {given}"
        if isinstance(expected, dict):
            assert value == pytest.approx(
                {key: float(each) for key, each in expected.items()}, rel=1e-12, nan_ok=True
            ), where
        elif isinstance(expected, str):
            assert value == expected, where
        else:
            expected = np.asarray(expected, dtype=float)
            value = np.asarray(value, dtype=float).reshape(expected.shape)
            np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12, err_msg=where)


def test_a_case_for_every_letter():
    nan = float("nan")
    tuples = {
        "A": (nan, -1.5),
        "B": (1.0, -1.0),
        "C": (0.005, -1.0),
        "D": (0.5, nan),
        "E": (0.0, -0.004),
        "-": (nan, nan),
    }
    found = call(["measures.js"], [("measures.caseLetter", *each) for each in tuples.values()])
    assert found == list(tuples)
