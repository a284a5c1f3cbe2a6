"""One step of the AIMD and Compound rules, worked out by hand."""

import numpy as np
import pytest

from tcpfair.models import window_rules


def test_aimd_gains_one_packet_in_the_acks_of_one_window():
    cwnd_pkts = 1000.0
    for _ in range(1000):
        cwnd_pkts = window_rules.aimd_on_ack_pkts(cwnd_pkts)
    assert cwnd_pkts == pytest.approx(1001, abs=0.001)


def test_aimd_halves_at_a_loss():
    assert window_rules.aimd_on_loss_pkts(90.0) == 45


def test_compound_cwnd_gains_one_packet_in_the_acks_of_both_windows():
    cwnd_pkts = 600.0
    for _ in range(1000):
        cwnd_pkts = window_rules.compound_on_ack_pkts(cwnd_pkts, 400.0)
    assert cwnd_pkts == pytest.approx(601, abs=0.001)


def test_compound_sends_both_windows_up_to_the_advertised_one():
    assert window_rules.compound_window_pkts(60.0, 40.0) == 100
    assert window_rules.compound_window_pkts(60.0, 40.0, awnd_pkts=80.0) == 80


def test_compound_dwnd_grows_by_the_power_of_the_window():
    # 256^0.75 = 64, an eighth of it is 8, of which cwnd contributes 1
    assert window_rules.compound_dwnd_on_round_pkts(0.0, 256.0, backlog_pkts=0.0) == pytest.approx(7)
    assert window_rules.compound_dwnd_on_round_pkts(40.0, 256.0, backlog_pkts=29.9) == pytest.approx(47)


def test_compound_is_reno_at_small_windows():
    # 16^0.75 / 8 = 1
    np.testing.assert_allclose(window_rules.compound_dwnd_on_round_pkts(0.0, np.array([4.0, 16.0]), 0.0), [0, 0])


def test_compound_dwnd_drains_the_backlog_from_gamma_on():
    dwnd_pkts = window_rules.compound_dwnd_on_round_pkts(40.0, 256.0, backlog_pkts=np.array([30.0, 35.0, 50.0]))
    np.testing.assert_allclose(dwnd_pkts, [10, 5, 0])


def test_compound_halves_both_windows_at_a_loss():
    assert window_rules.compound_dwnd_on_loss_pkts(40.0) == 20
