"""The square-root law against a sawtooth worked out by hand and the throughput that ogura prints."""

import numpy as np
import pytest

from tcpfair.models import square_root


def test_mean_window_of_a_sawtooth_from_40_to_80_packets():
    # 40 RTTs of 60 packets on average: one loss in 2400 packets
    assert square_root.window_pkts(1 / 2400) == pytest.approx(60)
    # half the growth rate with delayed ACKs: 80 RTTs, one loss in 4800 packets
    assert square_root.window_pkts(1 / 4800, c=square_root.PERIODIC_LOSS_DELAYED_ACK) == pytest.approx(60)
    # four packets per RTT: 10 RTTs, one loss in 600 packets
    assert square_root.window_pkts(1 / 600, increment_pkts=4) == pytest.approx(60)


def test_libra_gets_about_400_mbps_at_every_rtt():
    # ogura fig. 11: loss rate 1e-6, increment (RTT / 40 ms)^2
    rtt_s = np.array([0.04, 0.1, 0.2])
    increment_pkts = [1.0, 6.25, 25.0]
    periodic_bps = square_root.throughput_bps(1e-6, rtt_s, 1500, increment_pkts)
    np.testing.assert_allclose(periodic_bps, 367e6, rtol=0.002)
    fluid_bps = square_root.throughput_bps(1e-6, rtt_s, 1500, increment_pkts, c=square_root.FLUID_LOSS)
    np.testing.assert_allclose(fluid_bps, 424e6, rtol=0.002)


def test_four_times_the_loss_halves_the_window():
    w = square_root.window_pkts(np.array([1e-4, 4e-4]))
    assert w[0] / w[1] == pytest.approx(2)
