"""Two CUBIC flows with common losses: what the map keeps, where it stands still, and how fast it gets there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpfair.models import cubic
from tcpfair.models.cubic_map import (
    PAPER,
    PROPOSED,
    PROPOSED_WITH_C,
    STANDARD,
    CubicMap,
    Link,
    Reading,
    constant,
    existing,
    physical,
)

# 1 Gb/s with 1250-byte packets: 100 000 packets/s; 600 packets of buffer are 6 ms
LINK = Link(1e5, 600, (0.002, 0.128))
FULL_LINK = Reading(full_link=True)
METHODS = {
    "standard": STANDARD,
    "constant": constant(5.0),
    "proposed": PROPOSED,
    "with C": PROPOSED_WITH_C,
    "existing": existing((1.0, 0.5)),
}
SHARES = st.floats(0.02, 0.98)


def test_windows_of_equal_rates_with_a_full_buffer():
    # RTTs of 8 and 134 ms with the queue, 50 000 packets/s each
    np.testing.assert_allclose(LINK.windows_pkts(0.5), [400, 6700])
    assert LINK.share([400, 6700]) == pytest.approx(0.5)
    assert LINK.share([800, 0]) == 1


def test_the_queue_that_windows_make():
    assert LINK.wait_s(np.array([400.0, 6700.0])) == pytest.approx(0.006)
    assert LINK.wait_s(np.array([200.0, 0.0])) == 0  # 2 ms at 100 000 packets/s are 200 packets
    assert LINK.wait_s(np.array([500.0, 0.0])) == pytest.approx(0.003)
    assert LINK.wait_s(np.array([4000.0, 6700.0])) == pytest.approx(0.006)  # the buffer holds no more


@given(SHARES)
def test_the_papers_reading_keeps_the_sum_of_windows_and_is_the_closed_form(share):
    before = LINK.windows_pkts(share)
    k_s = cubic.cubic_k_s(before)
    t_s, after = CubicMap(LINK, STANDARD, PAPER).next_loss(before)
    assert after.sum() == pytest.approx(before.sum())
    assert t_s == pytest.approx(k_s.mean())  # (t - K1)^3 = (K2 - t)^3
    np.testing.assert_allclose(after, cubic.window_pkts(k_s.mean(), k_s, before), rtol=1e-6)


@given(st.sampled_from(sorted(METHODS)), SHARES)
def test_the_physical_reading_keeps_the_link_full(method, share):
    model = CubicMap(LINK, METHODS[method], physical(ack_every=2))
    t_s, after = model.next_loss(LINK.windows_pkts(share))
    rate_pps = (after / LINK.full_rtt_s).sum()
    if method in ("standard", "with C"):  # curves that start at the reduced window
        assert rate_pps == pytest.approx(1e5)
    assert rate_pps > 1e5 * (1 - 1e-6)  # a leap to a curve that starts higher may overshoot
    assert t_s > 2 * 0.008  # two round trips of the shorter flow at least


@pytest.mark.parametrize("reading", [PAPER, FULL_LINK], ids=["paper", "full link"])
@pytest.mark.parametrize(
    ("method", "window_ratio"),
    [("standard", 1.0), ("proposed", 64.0), ("with C", 64.0), ("existing", 8.0)],
)
def test_fixed_windows(reading, method, window_ratio):
    """Where both K are equal: K^3 ~ W; W / RTT with the proposal; W x^3 with eq. 9."""
    (share,) = CubicMap(LINK, METHODS[method], reading).fixed_shares()
    w_pkts = LINK.windows_pkts(share)
    assert w_pkts[1] / w_pkts[0] == pytest.approx(window_ratio, rel=1e-3)


@pytest.mark.parametrize("reading", [PAPER, FULL_LINK], ids=["paper", "full link"])
@pytest.mark.parametrize("method", ["standard", "proposed", "with C", "existing"])
def test_the_slope_at_a_fixed_share_is_one_and_the_map_comes_nearer_all_the_same(reading, method):
    model = CubicMap(LINK, METHODS[method], reading)
    (share,) = model.fixed_shares()
    assert model.derivative(share) == pytest.approx(1, abs=1e-3)  # (t - K)^3 is flat where it is 0
    for start in (0.5 * share, 0.5 * (1 + share)):
        _, windows = model.path(LINK.windows_pkts(start), 30)
        apart = np.abs([LINK.share(w) - share for w in windows])
        assert np.all(np.diff(apart) < 0)


def test_with_a_constant_k_every_share_stays():
    for reading in (PAPER, FULL_LINK):
        model = CubicMap(LINK, constant(5.0), reading)
        assert model.is_still()
        assert model.fixed_shares() == []
        assert model.next_loss(LINK.windows_pkts(0.3))[0] == pytest.approx(5, abs=1e-3)
    assert not CubicMap(LINK, STANDARD, PAPER).is_still()


@given(SHARES)
def test_the_flow_with_the_larger_k_loses_window_to_the_other(share):
    before = LINK.windows_pkts(share)
    k_s = cubic.cubic_k_s(before)
    for reading in (PAPER, FULL_LINK):
        _, after = CubicMap(LINK, STANDARD, reading).next_loss(before)
        assert after[k_s.argmax()] <= before[k_s.argmax()] * (1 + 1e-9)
        assert after[k_s.argmin()] >= before[k_s.argmin()] * (1 - 1e-9)


def test_a_late_start_of_the_curve_costs_the_flow_with_the_longer_rtt():
    (at_once,) = CubicMap(LINK, STANDARD, FULL_LINK).fixed_shares()
    (after_recovery,) = CubicMap(LINK, STANDARD, Reading(True, recovery_rtts=2.0)).fixed_shares()
    w_pkts = LINK.windows_pkts(after_recovery)
    assert after_recovery > at_once
    # both are back at W at the same time: K1 + 2 * 8 ms = K2 + 2 * 134 ms
    k_s = cubic.cubic_k_s(w_pkts)
    assert k_s[0] - k_s[1] == pytest.approx(2 * 0.126, rel=1e-3)


def test_reno_friendly_growth_is_linear_from_the_reduced_window():
    # 3 * 0.2 / 1.8 = 1/3 packet per RTT; on a link of 200 packets/s the cubic curve of 30 packets takes 2.5 s
    link = Link(200.0, 10, (0.05, 0.05))
    grown = CubicMap(link, STANDARD, Reading(True, reno_pkts_per_rtt=1 / 3)).growth(np.array([10.0, 10.0]))
    # 20 packets less a twentieth are 9 more than the link's 10: 45 ms of queue
    assert grown(1.0)[0] == pytest.approx(8 + 1 / 3 / 0.095)
    assert physical(ack_every=2).reno_pkts_per_rtt == pytest.approx(1 / 6)


def test_equal_flows_with_reno_friendly_growth_become_equal_fast():
    link = Link(1e5, 600, (0.002, 0.002))
    model = CubicMap(link, STANDARD, physical())
    (share,) = model.fixed_shares()
    assert share == pytest.approx(0.5)
    assert model.derivative(share) < 0.95  # additive growth after a decrease by the same factor (AIMD)


def test_a_path_starts_where_it_is_told_and_counts_time():
    times_s, windows = CubicMap(LINK, STANDARD, PAPER).path([400.0, 6700.0], 3)
    assert times_s.shape == (4,) and windows.shape == (4, 2)
    assert times_s[0] == 0 and np.all(np.diff(times_s) > 0)
    np.testing.assert_array_equal(windows[0], [400, 6700])
