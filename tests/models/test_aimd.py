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


RTTS_S = np.array([0.04, 0.08])
MEAN_RTTS_S = np.array([RTT_FULL_RENO_S, 0.11])


def increments(protocol):
    return aimd.increment_per_rtt_pkts(protocol, RTTS_S, RENO_RTT_S)


BY_HAND = {
    "capacity": (aimd.link_capacity_pps, 100e6, 1500, 8333.33),
    "bdp": (aimd.bdp_pkts, RTTS_S, B, [333.333, 666.667]),
    "k of libra": (aimd.libra_k_per_s2, 0.04, 625),
    "k of alpha": (aimd.alpha_k_per_s, 0.04, 25),
    # 40 ms and 60 ms of queue are 100 ms
    "k of libra with a queue": (aimd.libra_k_per_s2, 0.04, 0.06, 100),
    "k of alpha with a queue": (aimd.alpha_k_per_s, 0.04, 0.06, 10),
    "libra": (aimd.libra_increment_pkts, 0.08, 625, 4),
    "alpha": (aimd.alpha_increment_pkts, 0.08, 25, 2),
    # Table 1; every protocol traces Reno at the reference RTT
    "increment of reno": (increments, "reno", [1, 1]),
    "increment of libra": (increments, "libra", [1, 4]),
    "increment of alpha": (increments, "alpha", [1, 2]),
    # Libra without queue and Alpha with it
    "proposal": (aimd.proposal_increment_pkts, np.array([0.08, 0.1]), 0.08, 625, 25, [4, 2.5]),
    "halving": (aimd.halving_decrease_pkts, 800.0, 400),
    # 40 ms of 50 ms leaves the BDP; under twice the RTT half is left
    "westwood": (aimd.westwood_decrease_pkts, 800.0, 0.04, np.array([0.04, 0.05, 0.1]), [800, 640, 400]),
    # Table 2 with R = B/2
    "t1 of reno": (aimd.t1_s, B / 2, RTTS_S, 1, [6.6667, 26.6667]),
    "t1 of libra": (aimd.t1_s, B / 2, RTTS_S, np.array([1, 4]), [6.6667, 6.6667]),
    "t1 of alpha": (aimd.t1_s, B / 2, RTTS_S, np.array([1, 2]), [6.6667, 13.3333]),
    # from half the BDP 25 packets a second; Alpha at 80 ms: twice the increment in twice the RTT
    "model 1": (aimd.model1_cwnd_pkts, np.array([0.0, 1, 2]), 0.04, B, B / 2, 1, [166.667, 191.667, 216.667]),
    "model 1 of alpha": (aimd.model1_cwnd_pkts, np.array([0.0, 1]), 0.08, B, B / 2, 2, [333.333, 358.333]),
    "average RTT": (aimd.average_rtt_s, RTTS_S, B, S, MEAN_RTTS_S),
    # Table 3, with k and k' of a Reno flow of 40 ms + S/2B
    "t2 of reno": (aimd.t2_s, MEAN_RTTS_S, S, 1.0, [35, 55]),
    "t2 of libra": (aimd.t2_s, MEAN_RTTS_S, S, (MEAN_RTTS_S / RTT_FULL_RENO_S) ** 2, [35, 22.2727]),
    "t2 of alpha": (aimd.t2_s, MEAN_RTTS_S, S, MEAN_RTTS_S / RTT_FULL_RENO_S, [35, 35]),
    "model 2": (aimd.model2_cwnd_pkts, np.array([0.0, 35.0]), 0.04, B, 0.07, 1, [333.333, 833.333]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    function, *arguments, expected = BY_HAND[name]
    np.testing.assert_allclose(function(*arguments), expected, rtol=1e-5)


def test_an_unknown_protocol_is_named():
    for unknown in (
        lambda: aimd.increment_per_rtt_pkts("vegas", 0.08, RENO_RTT_S),
        lambda: aimd.exact_t2_s("vegas", 0.04, B, S, RENO_RTT_S, follow_queue=False),
        lambda: aimd.exact_model2_cwnd_pkts("vegas", [0.0, 1.0], 0.04, B, RENO_RTT_S, follow_queue=False),
    ):
        with pytest.raises(ValueError, match="vegas"):
            unknown()


@given(st.floats(0.005, 0.5), st.floats(0.1, 10.0), st.floats(0.0, 1.0))
def test_model_1_reaches_the_bdp_at_t1(rtt_s, increment_pkts, residual_share):
    R = residual_share * B
    t1_s = aimd.t1_s(R, rtt_s, increment_pkts)
    start, end = aimd.model1_cwnd_pkts(np.array([0.0, t1_s]), rtt_s, B, R, increment_pkts)
    # eq. 7: what the window gained is the residual capacity times RTT
    assert end - start == pytest.approx(R * rtt_s, abs=1e-6)
    assert end == pytest.approx(B * rtt_s)


@given(st.floats(0.005, 0.5), st.floats(0.1, 10.0), st.floats(1.0, 5000.0))
def test_model_2_fills_the_buffer_in_t2(rtt_s, increment_pkts, buffer_pkts):
    mean_rtt_s = aimd.average_rtt_s(rtt_s, B, buffer_pkts)
    t2_s = aimd.t2_s(mean_rtt_s, buffer_pkts, increment_pkts)
    start, end = aimd.model2_cwnd_pkts(np.array([0.0, t2_s]), rtt_s, B, mean_rtt_s, increment_pkts)
    assert start == pytest.approx(B * rtt_s)
    # eq. 13: what the window gained is the buffer
    assert end - start == pytest.approx(buffer_pkts)


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
    """The buffer overflows at the worked out time, and the window solves the growth equation."""

    def cwnd_pkts(*t_s):
        return aimd.exact_model2_cwnd_pkts(protocol, t_s, rtt_s, B, reference_rtt_s, follow_queue=follow_queue)

    t2_s = aimd.exact_t2_s(protocol, rtt_s, B, S, reference_rtt_s, follow_queue=follow_queue)
    assert t2_s == pytest.approx(EXACT_T2_S[protocol, follow_queue][0 if rtt_s == 0.04 else 1], abs=0.001)
    np.testing.assert_allclose(cwnd_pkts(0.0, t2_s), [B * rtt_s, B * rtt_s + S], rtol=1e-6)
    h = 1e-3
    before, cwnd, after = cwnd_pkts(5.0 - h, 5.0, 5.0 + h)
    growth_pps = aimd.window_growth_pps(protocol, cwnd, rtt_s, B, reference_rtt_s, follow_queue=follow_queue)
    assert (after - before) / (2 * h) == pytest.approx(growth_pps, rel=1e-3)


def test_reno_slows_down_as_the_queue_grows():
    # sec. 5.3: simulated windows bend where the model's lines are straight
    cwnd = aimd.exact_model2_cwnd_pkts("reno", np.linspace(0, 35, 50), 0.04, B, RENO_RTT_S, follow_queue=False)
    assert np.all(np.diff(cwnd, n=2) < 0)


def test_growth_below_the_bdp_has_the_rtt_without_queue():
    growth_pps = [aimd.window_growth_pps(p, 100.0, 0.08, B, RENO_RTT_S, follow_queue=True) for p in PROTOCOLS]
    np.testing.assert_allclose(growth_pps, [12.5, 50, 25])
