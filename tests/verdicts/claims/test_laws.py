"""Claims that are closed forms, on laws that are not those of the papers."""

from __future__ import annotations

import numpy as np
import pytest

from tcpfair.metrics import fairness
from tcpfair.models import cubic, rtt_fairness
from tcpfair.verdicts.claims import bhatti2008, bhatti2009, kozu2014, ogura, pair_tests
from tcpfair.verdicts.claims.decision import holds as clause_holds
from tcpfair.verdicts.claims.decision import quantities
from tcpfair.verdicts.claims.registry import claim_function
from tests.verdicts.claims.worlds import CLAIMS, evidence


def holds(claim_id: str, clause: str | None = None) -> bool:
    """Whether all clauses of a claim hold, or one of them."""
    return all(held for name, held in outcomes(claim_id).items() if clause in (None, name))


def outcomes(claim_id: str) -> dict[str, bool]:
    claim = CLAIMS[claim_id]
    found = quantities(claim_function(claim), evidence(claim))
    return {name: bool((clause_holds(claim.clauses[name], of) == 1).all()) for name, of in found.items()}


@pytest.fixture
def odd(monkeypatch):
    """A function that multiplies a law of a module by 1 + ``off`` wherever a condition on its arguments holds."""

    def replace(module, name, off, here):
        law = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: law(*given) * (1 + off * here(*given)))

    return replace


@pytest.mark.parametrize("claim_id", ["bhatti2008.c01", "bhatti2009.c01"])
def test_range_of_another_index_is_another(claim_id, monkeypatch):
    monkeypatch.setattr(pair_tests.fairness, "jfi", lambda r, axis: np.min(r, axis=axis) / np.max(r, axis=axis))
    assert not holds(claim_id)


@pytest.mark.parametrize("odd", [None, 0.9, 0.8, 0.6, 0.51])
def test_a_ratio_that_is_linear_in_the_index_has_equal_steps_unless_it_is_odd_at_one_of_them(odd, monkeypatch):
    monkeypatch.setattr(bhatti2009, "rate_ratio_from_jfi", lambda j: 5 * np.asarray(j) + 2 * np.equal(j, odd))
    assert holds("bhatti2009.c02") == (odd is not None)


@pytest.mark.parametrize(("n", "expected"), [(1, True), *((n, False) for n in range(2, 15)), (15, True)])
def test_the_least_index_is_asked_of_every_number_of_flows(n, expected, monkeypatch):
    monkeypatch.setattr(bhatti2009, "jfi", lambda r: 0.9 if np.size(r) == n else fairness.jfi(r))
    assert holds("bhatti2009.c03") == expected


def test_threshold_of_convergence_is_in_power_decibels(monkeypatch):
    monkeypatch.setattr(bhatti2008, "flow_nru_db_of_mean", lambda r, weights: 2 * 10 * np.log10(np.ravel(r)))
    assert not holds("bhatti2008.c18")


@pytest.mark.parametrize("law", ["random", "synchronised"])
@pytest.mark.parametrize(("k", "expected"), [(1, False), (2, False), (3, True), (4, False), (10, False)])
@pytest.mark.parametrize("off", [2e-9, -2e-9])
def test_each_law_of_two_flows_is_tried_at_each_ratio(law, k, expected, off, odd):
    odd(rtt_fairness, f"{law}_loss_ratio", off, lambda protocol, of_k: np.equal(of_k, k))
    assert outcomes("ha2006.c26") == {"synchronised": True, "random": True} | {law: expected}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(("off", "expected"), [(0.5e-9, True), (2e-9, False), (-0.5e-9, True), (-2e-9, False)])
def test_windows_needed_are_exact(place, off, expected, odd):
    odd(cubic, "window_needed_bytes", off, lambda *given: np.arange(2) == place)
    assert holds("kozu2014.c05") == expected


def test_with_a_constant_k_no_window_falls(monkeypatch):
    monkeypatch.setattr(kozu2014.cubic_map, "STANDARD", kozu2014.cubic_map.constant(5.0))
    assert not holds("kozu2014.c08")


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, True), (0.05, False), (0.075, True), (0.1, False), (0.5, False), (0.95, False), (1.0, True)],
)
def test_the_map_is_followed_from_each_share(share, expected, monkeypatch):
    followed = kozu2014._large_k_falls
    monkeypatch.setattr(kozu2014, "_large_k_falls", lambda model, s: not np.isclose(s, share) and followed(model, s))
    assert holds("kozu2014.c08") == expected


@pytest.mark.parametrize(
    ("times_large_k", "times_small_k", "expected"),
    [(0.9, 1.1, True), (0.9, 0.9, False), (1.1, 1.1, False), (1, 1, False)],
)
def test_one_window_falls_and_the_other_rises(times_large_k, times_small_k, expected, monkeypatch):
    def next_loss(model, before):
        by_k = np.where(before == before.max(), times_large_k, times_small_k)  # K grows with the window
        return None, before * by_k

    monkeypatch.setattr(kozu2014.cubic_map.CubicMap, "next_loss", next_loss)
    assert holds("kozu2014.c08") == expected


def test_the_map_is_that_of_2_and_128_ms(monkeypatch):
    monkeypatch.setattr(kozu2014, "_large_k_falls", lambda model, s: model.link.rtt_s == (0.002, 0.128))
    assert holds("kozu2014.c08")


def test_with_k_times_rtt_equal_rates_would_have_unequal_k(monkeypatch):
    monkeypatch.setattr(
        kozu2014.cubic, "proposed_k_s", lambda w_pkts, rtt_s, unit_s: w_pkts ** (1 / 3) * rtt_s / unit_s
    )
    assert not holds("kozu2014.c15")


@pytest.mark.parametrize(
    ("rtt_s", "unit_s", "rate_pps", "off", "expected"),
    [
        *((rtt_s, 1, 40000, 2e-9, False) for rtt_s in (0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)),
        (0.008, 0.001, 40000, 2e-9, False),
        (0.008, 0.001, 40000, 0.5e-9, True),
        (0.001, 1, 40000, 2e-9, True),
        (0.008, 0.01, 40000, 2e-9, True),
        (0.008, 1, 50000, 2e-9, True),
    ],
)
def test_equal_k_of_equal_rates_is_tried_at_each_rtt(rtt_s, unit_s, rate_pps, off, expected, odd):
    def here(w_pkts, at_s, at_unit_s):
        return np.isclose(at_s, rtt_s) & (at_unit_s == unit_s) & np.isclose(w_pkts / at_s, rate_pps)

    odd(cubic, "proposed_k_s", off, here)
    assert holds("kozu2014.c15") == expected


@pytest.mark.parametrize(
    ("law", "follows", "expels"),
    [
        (lambda rtt1, rtt2, d: rtt_fairness.throughput_ratio(rtt1, rtt2, d), False, True),
        (lambda rtt1, rtt2, d: np.divide(rtt1, rtt2) ** rtt_fairness.window_exponent(d), False, False),
        (lambda rtt1, rtt2, d: 1.0, False, False),
    ],
    ids=["throughputs", "RTTs swapped", "no preference"],
)
def test_window_ratios_of_another_law_are_not_those_of_common_losses(law, follows, expels, monkeypatch):
    monkeypatch.setattr(ogura.rtt_fairness, "window_ratio", law)
    assert (holds("ogura.c01", "follows"), holds("ogura.c01", "expels")) == (follows, expels)


@pytest.mark.parametrize(
    ("rtts_ms", "d", "off", "expected"),
    [
        ((40, 80), 0.5, 2e-9, False),
        ((40, 80), 0.82, -2e-9, False),
        ((40, 80), 0.82, 0.5e-9, True),
        ((40, 120), 0.5, 2e-9, True),
        ((20, 80), 0.5, 2e-9, True),
    ],
)
def test_eq_1_is_tried_at_40_and_80_ms(rtts_ms, d, off, expected, odd):
    odd(rtt_fairness, "window_ratio", off, lambda *given: given == (*rtts_ms, d))
    assert holds("ogura.c01", "follows") == expected
