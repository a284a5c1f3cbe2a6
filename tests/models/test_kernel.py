"""The kernel's closed forms: hand-worked values, laws, and the real traces in data/raw/examples.

Both traces: 100 Mb/s, 1538 bytes on the wire, 50 ms, a buffer of one BDP (625000 bytes), polls every 0.1 s.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import curve_fit

from tcpfair.models import cubic, kernel
from tcpfair.sources.readers import read_any
from tests.sources.readers.polled import polled

EXAMPLES = Path(__file__).parents[2] / "data" / "raw" / "examples"
CAPACITY_PPS = 100e6 / 8 / 1538
RTT_MIN_S = 0.05
POLL_S = 0.1

window = st.integers(2, 10**6)
size = st.floats(1, 5000)


# --- Additive increase -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "time_s"),
    [
        (10, 60, 5.0),  # pipe of 100 packets not full: 50 RTTs of 0.1 s
        (100, 200, 15.0),  # queue grows: RTT from 0.1 to 0.2 s, 0.15 s on average over 100 packets
        (60, 200, 19.0),  # 40 RTTs of 0.1 s, then as above
        (200, 100, 0.0),  # already there
    ],
)
def test_additive_increase_by_hand(start, end, time_s):
    assert kernel.additive_increase_time_s(start, end, capacity_pps=1000, rtt_min_s=0.1) == pytest.approx(time_s)


@pytest.mark.parametrize(("start", "end"), [(50, 90), (50, 300), (150, 300)])
def test_additive_increase_solves_its_differential_equation(start, end):
    def reached(_, W):
        return W[0] - end

    reached.terminal = True
    path = solve_ivp(
        lambda _, W: 1 / np.maximum(0.1, W / 1000), (0, 1000), [start], events=reached, rtol=1e-9, max_step=0.5
    )
    assert kernel.additive_increase_time_s(start, end, 1000, 0.1) == pytest.approx(path.t_events[0][0], rel=1e-5)


@given(size, size, size, st.floats(10, 1e5), st.floats(1e-3, 1))
def test_additive_increase_adds_up(a, b, c, capacity_pps, rtt_s):
    low, middle, high = sorted((a, b, c))
    first = kernel.additive_increase_time_s(low, middle, capacity_pps, rtt_s)
    second = kernel.additive_increase_time_s(middle, high, capacity_pps, rtt_s)
    whole = kernel.additive_increase_time_s(low, high, capacity_pps, rtt_s)
    assert first + second == pytest.approx(whole, rel=1e-9, abs=1e-12)
    assert whole >= (high - low) * rtt_s * (1 - 1e-9)  # no RTT is shorter than rtt_s


def test_recovery_with_a_buffer_of_one_bdp():
    # W = 2 BDP: from a full pipe of 100 packets to 200, as by hand above
    assert kernel.additive_increase_time_s(100, 200, capacity_pps=1000, rtt_min_s=0.1) == pytest.approx(15.0)


# --- Windows around a loss ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cwnd", "reno", "cubic_"), [(100, 50, 70), (101, 50, 70), (1024, 512, 717), (2, 2, 2)])
def test_ssthresh_by_hand(cwnd, reno, cubic_):
    assert kernel.reno_ssthresh_pkts(cwnd) == reno
    assert kernel.cubic_ssthresh_pkts(cwnd) == cubic_


@pytest.mark.parametrize(
    ("ssthresh_pkts", "cwnd_at_loss_pkts"),
    [
        (kernel.reno_ssthresh_pkts, kernel.reno_cwnd_at_loss_pkts),
        (kernel.cubic_ssthresh_pkts, kernel.cubic_cwnd_at_loss_pkts),
    ],
)
@given(cwnd=window)
def test_window_at_loss_is_the_smallest_that_fits(ssthresh_pkts, cwnd_at_loss_pkts, cwnd):
    assume(cwnd >= 4)  # below, ssthresh is the floor of 2
    found = cwnd_at_loss_pkts(ssthresh_pkts(cwnd))
    assert ssthresh_pkts(found) == ssthresh_pkts(cwnd)
    assert cwnd - 1 <= found <= cwnd


def test_fast_convergence_by_hand():
    assert kernel.cubic_w_max_pkts(1024, last_w_max_pkts=0) == 1024
    assert kernel.cubic_w_max_pkts(1024, last_w_max_pkts=1024) == 1024
    assert kernel.cubic_w_max_pkts(1024, last_w_max_pkts=1025) == 870  # (1024 + 717)/2


def test_one_flow_alone_alternates_between_both_aims():
    """Losses at nearly one window: one that falls short of W_max lowers it, so that the next does not."""
    w_max = 0
    aims = [w_max := kernel.cubic_w_max_pkts(peak, w_max) for peak in (860, 820, 823, 819, 822, 816)]
    assert aims == [860, 697, 823, 696, 822, 693]


def test_k_by_hand():
    # 27 s^3 of C = 410/1024 packets
    assert kernel.cubic_k_s(100 + 27 * 410 / 1024, 100) == pytest.approx(3.0)
    assert kernel.cubic_k_s(100, 100) == kernel.cubic_k_s(90, 100) == 0


def test_cubic_friendly_window_by_hand():
    # 8 (1024 + 717) / 3 / (1024 - 717) in whole numbers: 13928 / 3 = 4642, 4642 / 307 = 15
    assert kernel.cubic_friendly_window_pkts(100, [0, 15, 30]).tolist() == [100, 108, 116]


# --- A real kernel -----------------------------------------------------------------------------------------------


def epochs(run):
    """Of each flow, from one loss to the next: (loss, next loss, polls between the end of recovery and the next loss)."""
    for flow_id, events in run.events.groupby("flow_id"):
        samples = run.samples[run.samples["flow_id"] == flow_id]
        losses = list(events[events["kind"] == "loss"].itertuples())
        ends_s = events.loc[events["kind"] == "recovery_end", "t_s"]
        for loss, following in pairwise(losses):
            end_s = ends_s[ends_s >= loss.t_s].min()
            polls = samples[samples["t_s"].between(end_s, following.t_s, inclusive="left")]
            if following.t_s - loss.t_s > 2:  # the first losses belong to slow start
                yield loss, following, polls


@pytest.fixture(scope="module")
def reno_epochs():
    """Six epochs of the two Reno flows."""
    found = [epoch for flow in (1, 2) for epoch in epochs(polled(EXAMPLES / "rr_wire" / f"s{flow}.tcp.csv.gz"))]
    assert len(found) == 6
    return found


@pytest.fixture(scope="module")
def cubic_epochs():
    """Six epochs of the CUBIC flow, and the smallest RTT that its kernel saw."""
    run = polled(EXAMPLES / "c1_tbf" / "s1.tcp.csv.gz")
    found = list(epochs(run))
    assert len(found) == 6
    return found, run.flows["rtt_s"].item()


def test_kernels_reno_halves_the_polled_window(reno_epochs):
    for _, following, polls in reno_epochs:
        assert following.cwnd_after / polls["cwnd_pkts"].max() == pytest.approx(0.5, abs=0.002)


def test_kernels_reno_gains_one_packet_per_measured_rtt(reno_epochs):
    for _, _, polls in reno_epochs:
        t_s, srtt_s = polls["t_s"].to_numpy(), polls["srtt_s"].to_numpy()
        rtts = np.concatenate([[0], np.cumsum(np.diff(t_s) * 2 / (srtt_s[1:] + srtt_s[:-1]))])
        slope = np.polyfit(rtts, polls["cwnd_pkts"], deg=1)[0]
        assert slope == pytest.approx(1.0, abs=0.015)


def test_kernels_reno_alone_recovers_in_the_predicted_time(reno_epochs):
    """The first flow, before the second starts: 407 to 566 packets, 9.52 s predicted, 9.6 s seen after recovery."""
    loss, following, polls = reno_epochs[0]
    seen_s = following.t_s - polls["t_s"].iloc[0]
    predicted_s = kernel.additive_increase_time_s(loss.cwnd_after, following.cwnd_before, CAPACITY_PPS, RTT_MIN_S)
    assert seen_s == pytest.approx(predicted_s, abs=2 * POLL_S)


def test_kernels_two_synchronised_renos_recover_in_the_predicted_time():
    """Both lose at 22.9 s and at 38.3 s: their sum goes from 407 to 816 packets, 15.39 s predicted, 15.4 s seen."""
    events = read_any(EXAMPLES / "rr_wire").events
    losses = events[events["kind"] == "loss"]
    start, end = (losses[losses["t_s"].between(low, low + 1)] for low in (22.5, 38))
    assert start["flow_id"].tolist() == end["flow_id"].tolist() == [1, 2]
    predicted_s = kernel.additive_increase_time_s(
        start["cwnd_after"].sum(), end["cwnd_before"].sum(), CAPACITY_PPS, RTT_MIN_S, increase_pkts=2
    )
    seen_s = end["t_s"].to_numpy() - start["t_s"].to_numpy()
    assert seen_s == pytest.approx(predicted_s, abs=POLL_S)
    # they lose when pipe and buffer are full
    assert end["cwnd_before"].sum() == pytest.approx(CAPACITY_PPS * RTT_MIN_S + 625_000 / 1538, rel=0.01)


def test_kernels_cubic_keeps_717_1024_of_the_polled_window(cubic_epochs):
    for _, following, polls in cubic_epochs[0]:
        assert following.cwnd_after / polls["cwnd_pkts"].max() == pytest.approx(717 / 1024, abs=0.005)


def fit(polls, rtt_s, curve, guess):
    """Parameters of ``curve`` through the polled windows; Linux runs the curve's clock one minimal RTT ahead."""
    t_s = (polls["t_s"] - polls["t_s"].iloc[0]).to_numpy() + rtt_s
    return curve_fit(curve, t_s, polls["cwnd_pkts"], guess)[0]


def test_kernels_cubic_k(cubic_epochs):
    """K fitted to each epoch with W_max and C of the kernel, within 0.1 s (one poll) of the closed form."""
    measured, rtt_s = cubic_epochs
    for loss, _, polls in measured:

        def curve(t_s, k_s, w_max=loss.w_max):
            return cubic.window_pkts(t_s, k_s, w_max, kernel.CUBIC_C)

        (k_s,) = fit(polls, rtt_s, curve, guess=[5.0])
        assert k_s == pytest.approx(kernel.cubic_k_s(loss.w_max, loss.cwnd_after), abs=POLL_S)


def test_kernels_cubic_curve_without_any_constant_given(cubic_epochs):
    """Epochs that last beyond K show K, W_max (with fast convergence) and C at once, all of them fitted."""
    measured, rtt_s = cubic_epochs
    whole = [(loss, polls) for loss, following, polls in measured if following.t_s - loss.t_s > loss.k_s]
    assert len(whole) == 3
    for loss, polls in whole:
        k_s, w_max, c = fit(polls, rtt_s, cubic.window_pkts, guess=[5.0, 600.0, 1.0])
        assert k_s == pytest.approx(loss.k_s, abs=POLL_S)
        assert w_max == pytest.approx(loss.w_max, abs=1.0)
        assert c == pytest.approx(kernel.CUBIC_C, rel=0.015)
