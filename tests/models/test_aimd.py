"""Models I and II of ogura: its parameters, the times it states and the growth behind it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpfair.models import aimd

PROTOCOLS = ("reno", "libra", "alpha")
B = 25000 / 3  # 100 Mb/s in packets of 1500 bytes
S = 500.0
RENO_RTT_S = 0.04
RTT_FULL_RENO_S = 0.07  # average over Model II: 40 ms + S/2B


def test_capacity_is_the_printed_8333_packets_per_second():
    assert round(aimd.link_capacity_pps(100e6, 1500), 2) == 8333.33


def test_bdp_at_40_and_80_ms():
    np.testing.assert_allclose(aimd.bdp_pkts(np.array([0.04, 0.08]), B), [333.33, 666.67], atol=0.01)


def test_constants_for_a_reno_flow_of_40_ms():
    assert aimd.libra_k_per_s2(0.04) == pytest.approx(625)
    assert aimd.alpha_k_per_s(0.04) == pytest.approx(25)


def test_constants_follow_the_queueing_delay():
    # 40 ms and 60 ms of queue are 100 ms
    assert aimd.libra_k_per_s2(0.04, alpha_s=0.06) == pytest.approx(100)
    assert aimd.alpha_k_per_s(0.04, alpha_s=0.06) == pytest.approx(10)


def test_libra_and_alpha_increments():
    assert aimd.libra_increment_pkts(0.08, 625) == pytest.approx(4)
    assert aimd.alpha_increment_pkts(0.08, 25) == pytest.approx(2)


def test_increments_of_table_1():
    at_80_ms = [aimd.increment_per_rtt_pkts(p, 0.08, RENO_RTT_S) for p in PROTOCOLS]
    np.testing.assert_allclose(at_80_ms, [1, 4, 2])
    with pytest.raises(ValueError, match="vegas"):
        aimd.increment_per_rtt_pkts("vegas", 0.08, RENO_RTT_S)


def test_every_protocol_traces_reno_at_the_reference_rtt():
    rtt_s = np.array([0.02, 0.04, 0.2])
    for protocol in PROTOCOLS:
        np.testing.assert_allclose(aimd.increment_per_rtt_pkts(protocol, rtt_s, rtt_s), 1)


def test_proposal_is_libra_without_queue_and_alpha_with_it():
    increments = aimd.proposal_increment_pkts(np.array([0.08, 0.1]), 0.08, k_per_s2=625, k_per_s=25)
    np.testing.assert_allclose(increments, [4, 2.5])


def test_decreases():
    assert aimd.halving_decrease_pkts(800.0) == 400
    # 40 ms of 50 ms leaves the BDP; under twice the RTT half is left
    np.testing.assert_allclose(aimd.westwood_decrease_pkts(800.0, 0.04, np.array([0.04, 0.05, 0.1])), [800, 640, 400])


# Table 2 with R = B/2: seconds at 40 and 80 ms
T1_S = {"reno": [6.67, 26.67], "libra": [6.67, 6.67], "alpha": [6.67, 13.33]}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t1_at_40_and_80_ms(protocol):
    rtt_s = np.array([0.04, 0.08])
    t1_s = aimd.t1_s(B / 2, rtt_s, aimd.increment_per_rtt_pkts(protocol, rtt_s, RENO_RTT_S))
    np.testing.assert_allclose(t1_s, T1_S[protocol], atol=0.005)


@given(st.floats(0.005, 0.5), st.floats(0.1, 10.0), st.floats(0.0, 1.0))
def test_model_1_reaches_the_bdp_at_t1(rtt_s, increment_pkts, residual_share):
    R = residual_share * B
    t1_s = aimd.t1_s(R, rtt_s, increment_pkts)
    start, end = aimd.model1_cwnd_pkts(np.array([0.0, t1_s]), rtt_s, B, R, increment_pkts)
    # eq. 7: what the window gained is the residual capacity times RTT
    assert end - start == pytest.approx(R * rtt_s, abs=1e-6)
    assert end == pytest.approx(B * rtt_s)


def test_model_1_window_of_40_ms_starts_at_half_the_bdp_and_gains_25_packets_a_second():
    np.testing.assert_allclose(
        aimd.model1_cwnd_pkts(np.array([0.0, 1, 2]), 0.04, B, B / 2, 1), [166.67, 191.67, 216.67], atol=0.01
    )
    # Alpha at 80 ms: twice the increment in twice the RTT
    np.testing.assert_allclose(np.diff(aimd.model1_cwnd_pkts(np.array([0.0, 1]), 0.08, B, B / 2, 2)), 25)


def test_average_rtt_is_the_limit_of_small_increments():
    assert aimd.average_rtt_s(0.04, B, S) == pytest.approx(RTT_FULL_RENO_S)
    assert aimd.average_rtt_s(0.08, B, S) == pytest.approx(0.11)
    rounds = np.arange(1, 50_001)  # the printed sum, with 0.01 packets a round
    assert np.mean(0.04 + rounds * 0.01 / B) == pytest.approx(aimd.average_rtt_s(0.04, B, S), rel=1e-4)


# Table 3: seconds at 40 and 80 ms, with k and k' of a Reno flow of 40 ms + S/2B
T2_S = {"reno": [35.0, 55.0], "libra": [35.0, 22.3], "alpha": [35.0, 35.0]}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t2_at_40_and_80_ms(protocol):
    mean_rtt_s = aimd.average_rtt_s(np.array([0.04, 0.08]), B, S)
    t2_s = aimd.t2_s(mean_rtt_s, S, aimd.increment_per_rtt_pkts(protocol, mean_rtt_s, RTT_FULL_RENO_S))
    np.testing.assert_allclose(t2_s, T2_S[protocol], atol=0.05)


@given(st.floats(0.005, 0.5), st.floats(0.1, 10.0), st.floats(1.0, 5000.0))
def test_model_2_fills_the_buffer_in_t2(rtt_s, increment_pkts, buffer_pkts):
    mean_rtt_s = aimd.average_rtt_s(rtt_s, B, buffer_pkts)
    t2_s = aimd.t2_s(mean_rtt_s, buffer_pkts, increment_pkts)
    start, end = aimd.model2_cwnd_pkts(np.array([0.0, t2_s]), rtt_s, B, mean_rtt_s, increment_pkts)
    assert start == pytest.approx(B * rtt_s)
    # eq. 13: what the window gained is the buffer
    assert end - start == pytest.approx(buffer_pkts)


def test_model_2_window_of_40_ms_gains_500_packets_in_35_s():
    np.testing.assert_allclose(
        aimd.model2_cwnd_pkts(np.array([0.0, 35.0]), 0.04, B, 0.07, 1), [333.33, 833.33], atol=0.01
    )


# Exact growth: reference RTT fixed at the average (70 ms), or 40 ms plus the momentary queueing delay
CASES = [(p, r, f) for p in PROTOCOLS for r, f in ((RTT_FULL_RENO_S, False), (RENO_RTT_S, True))]
EXACT_T2_S = {
    ("reno", False): [35.0, 55.0],
    ("reno", True): [35.0, 55.0],
    ("alpha", False): [35.0, 35.0],
    ("alpha", True): [35.0, 35.0],
    # 40.8333 ln 2.5 and 40.8333 ln 1.75
    ("libra", False): [37.415, 22.851],
    # at 80 ms: 8333.33 (0.0016 ln 1.75 - 0.08 * 0.06 + (0.0196 - 0.0064) / 2)
    ("libra", True): [35.0, 22.462],
}


@pytest.mark.parametrize(("protocol", "reference_rtt_s", "follow_queue"), CASES)
@pytest.mark.parametrize("rtt_s", [0.04, 0.08])
def test_exact_model_2(protocol, reference_rtt_s, follow_queue, rtt_s):
    """The buffer overflows at t2, and the window solves the growth equation on its way."""
    reference = {"reference_rtt_s": reference_rtt_s, "follow_queue": follow_queue}
    t2_s = aimd.exact_t2_s(protocol, rtt_s, B, S, **reference)
    assert t2_s == pytest.approx(EXACT_T2_S[protocol, follow_queue][0 if rtt_s == 0.04 else 1], abs=0.001)
    h = 1e-3
    t_s = np.array([0.0, 5.0 - h, 5.0, 5.0 + h, t2_s])
    start, before, cwnd, after, end = aimd.exact_model2_cwnd_pkts(protocol, t_s, rtt_s, B, **reference)
    np.testing.assert_allclose([start, end], [B * rtt_s, B * rtt_s + S], rtol=1e-6)
    growth_pps = aimd.window_growth_pps(protocol, cwnd, rtt_s, B, **reference)
    assert (after - before) / (2 * h) == pytest.approx(growth_pps, rel=1e-3)


def test_reno_slows_down_as_the_queue_grows():
    # sec. 5.3: simulated windows bend where the model's lines are straight
    cwnd = aimd.exact_model2_cwnd_pkts("reno", np.linspace(0, 35, 50), 0.04, B, RENO_RTT_S, follow_queue=False)
    assert np.all(np.diff(cwnd, n=2) < 0)


def test_growth_below_the_bdp_has_the_rtt_without_queue():
    growth_pps = [aimd.window_growth_pps(p, 100.0, 0.08, B, RENO_RTT_S, follow_queue=True) for p in PROTOCOLS]
    np.testing.assert_allclose(growth_pps, [12.5, 50, 25])


def test_exact_solutions_name_an_unknown_protocol():
    with pytest.raises(ValueError, match="vegas"):
        aimd.exact_t2_s("vegas", 0.04, B, S, RENO_RTT_S, follow_queue=False)
    with pytest.raises(ValueError, match="vegas"):
        aimd.exact_model2_cwnd_pkts("vegas", [0.0, 1.0], 0.04, B, RENO_RTT_S, follow_queue=False)
