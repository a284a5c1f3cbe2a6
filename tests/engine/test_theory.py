"""The engine against theory: sawtooth, square-root law, Model I and II."""

from __future__ import annotations

import numpy as np
import pytest

from tcpfair.engine.dumbbell import run
from tcpfair.engine.state import LOSS
from tcpfair.models.aimd import exact_t2_s, t1_s
from tcpfair.units import bdp_pkts, service_time_s
from tests.engine.scenarios import PACKET_BYTES, SLOW_BPS, dumbbell, events

CAPACITY_PPS = 1 / service_time_s(PACKET_BYTES, SLOW_BPS)
OGURA_BPS, OGURA_PPS, OGURA_BUFFER = 100e6, 100e6 / 12000, 500


def test_reno_peaks_at_bdp_plus_buffer_and_repeats_with_the_sawtooth_period():
    rtt_s, buffer_pkts = 0.1, 100
    result = run(dumbbell({"rtt_s": rtt_s}, buffer_pkts=buffer_pkts, duration_s=200), 1, log_events=True)
    steady = events(result, LOSS)[2:]  # after slow start and its aftermath
    peak = bdp_pkts(SLOW_BPS, rtt_s, PACKET_BYTES) + buffer_pkts
    assert steady["cwnd_before"] == pytest.approx(peak, rel=0.03)
    # from W/2 to W the window passes 3/8 W^2 packets, and with a buffer of one BDP the link is never idle
    period_s = 3 / 8 * peak**2 / CAPACITY_PPS + 2 * rtt_s  # and one full-queue RTT of recovery
    assert np.diff(steady["t_s"]) == pytest.approx(period_s, rel=0.04)


@pytest.mark.parametrize("loss_rate", [1e-2, 1e-3])
def test_square_root_law_under_random_loss(loss_rate):
    flow = {"rtt_s": 0.1, "start_s": 0, "initial_ssthresh_pkts": 20}
    scenario = dumbbell(flow, capacity_bps=1.2e9, buffer_pkts=10_000, loss_rate=loss_rate, duration_s=600)
    windows = [run(scenario, seed).delivered_pkts[-1, 0] * 0.1 / 600 for seed in range(6)]
    # sqrt(3 / 2p): Mathis, Semke, Mahdavi, Ott 1997, for one loss per 1/p packets and one ACK per packet
    assert np.mean(windows) == pytest.approx(np.sqrt(1.5 / loss_rate), rel=0.15)


@pytest.mark.parametrize("cc", ["newreno", "libra", "alpha"])
@pytest.mark.parametrize("rtt_s", [0.04, 0.08])
def test_model_1_residual_capacity_fills_in_t1(cc, rtt_s):
    bdp = OGURA_PPS * rtt_s
    flow = {"cc": cc, "rtt_s": rtt_s, "initial_ssthresh_pkts": bdp / 2, "iw_pkts": 2}
    result = run(dumbbell(flow, capacity_bps=OGURA_BPS, buffer_pkts=OGURA_BUFFER, duration_s=35, sample_s=0.01), 1)
    cwnd = result.cwnd_pkts[:, 0]
    measured_s = result.t_s[np.argmax(cwnd >= bdp)] - result.t_s[np.argmax(cwnd >= bdp / 2)]
    x = {"newreno": 1.0, "libra": (rtt_s / 0.04) ** 2, "alpha": rtt_s / 0.04}[cc]
    assert measured_s == pytest.approx(t1_s(OGURA_PPS / 2, rtt_s, x), rel=0.02)


@pytest.mark.parametrize("cc", ["newreno", "libra", "alpha"])
@pytest.mark.parametrize("rtt_s", [0.04, 0.08])
def test_model_2_buffer_fills_in_the_exact_t2(cc, rtt_s):
    bdp = OGURA_PPS * rtt_s
    params = {} if cc == "newreno" else {"follow_queue": 1}
    flow = {"cc": cc, "rtt_s": rtt_s, "initial_ssthresh_pkts": bdp, "iw_pkts": 2, "params": params}
    scenario = dumbbell(flow, capacity_bps=OGURA_BPS, buffer_pkts=OGURA_BUFFER, duration_s=70, sample_s=0.01)
    result = run(scenario, 1, log_events=True)
    start_s = result.t_s[np.argmax(result.cwnd_pkts[:, 0] >= bdp)]
    protocol = {"newreno": "reno"}.get(cc, cc)
    expected_s = exact_t2_s(protocol, rtt_s, OGURA_PPS, OGURA_BUFFER, 0.04, follow_queue=True)
    assert events(result, LOSS)["t_s"][0] - start_s == pytest.approx(expected_s, rel=0.02)


@pytest.mark.parametrize(("buffer_pkts", "share"), [(100, 1.0), (1, 0.75)])
def test_link_is_full_with_a_buffer_of_one_bdp_and_three_quarters_full_without(buffer_pkts, share):
    delivered = run(dumbbell({"rtt_s": 0.1}, buffer_pkts=buffer_pkts, duration_s=200), 1).delivered_pkts[:, 0]
    assert (delivered[-1] - delivered[20]) / 179 == pytest.approx(share * CAPACITY_PPS, rel=0.02)
