"""The stack that a flow's windows are kept by."""

from __future__ import annotations

import numpy as np
import pytest

from tcpfair.cc.registry import algorithms, dtypes
from tcpfair.engine.dumbbell import DumbbellResult, Simulation, run
from tcpfair.engine.loop import timeout_s as rto_s
from tcpfair.engine.state import LOSS, RECOVERY_END, REDUCTION
from tcpfair.files.digests import digest
from tests.engine.scenarios import dumbbell, events

WHOLE = [name for name, a in algorithms().items() if a.whole and a.reliable]  # CCID 2 has whole windows in ns-2 alone
OF_THE_TEXTS = [name for name, a in algorithms().items() if not a.whole]


def lossy(cc: str, stack: str, reduction: str = "rate_halving", **flow) -> DumbbellResult:
    """One flow that starts with fractions of a packet, beside another, under random losses."""
    flow |= {"cc": cc, "rtt_s": 0.05, "stack": stack, "reduction": reduction}
    first = {"iw_pkts": 2.5, "initial_ssthresh_pkts": 40.5}
    return run(dumbbell(first | flow, {"rtt_s": 0.07}, loss_rate=0.005, jitter_s=0.002), log_events=True)


@pytest.mark.parametrize(
    ("law", "srtt_s", "rttvar_s", "timeout_s"),
    [
        ("rfc6298", 0.05, 0.01, 0.2),  # .05 + 4 * .01 is less than the least timeout
        ("linux", 0.05, 0.01, 0.25),  # .05 + .2: four deviations count as .2
        ("rfc6298", 0.25, 0.01, 0.29),  # .25 + 4 * .01
        ("linux", 0.25, 0.01, 0.45),  # .25 + .2
        ("rfc6298", 0.25, 0.0625, 0.5),  # .25 + 4 * .0625
        ("linux", 0.25, 0.0625, 0.5),  # the same: above .2
    ],
)
def test_the_timer_by_both_laws(law, srtt_s, rttvar_s, timeout_s):
    """RFC 6298, section 2; Linux: net/ipv4/tcp_input.c, tcp_rtt_estimator and tcp_set_rto."""
    flow = Simulation(dumbbell({"rtt_s": 0.05, "rto": law}))._ends[0]
    state = np.zeros(1, dtypes()[0])[0]
    state["srtt"], state["rttvar"] = srtt_s, rttvar_s
    assert rto_s(flow, state) == pytest.approx(timeout_s, rel=1e-12)


def test_the_law_of_the_timer_follows_the_stack_unless_it_is_given():
    for stack, law in (("text", "rfc6298"), ("linux", "linux"), ("ns2", "rfc6298")):
        own, given = (dumbbell({"rtt_s": 0.05, "stack": stack} | rto) for rto in ({}, {"rto": law}))
        assert own.flows[0].rto_law == law
        assert own.digest == given.digest
    assert dumbbell({"rtt_s": 0.05, "stack": "linux", "cc": "ccid2"}).flows[0].rto_law == "rfc6298"


def test_a_run_by_rfc_6298_keeps_the_key_that_it_had_when_there_was_no_other_law():
    """Members of the ensembles were simulated then."""
    flow = {"rtt_s": 0.05, "stack": "linux"}
    before = dumbbell(flow).model_dump(mode="json", exclude_defaults=True)
    assert dumbbell(flow | {"rto": "rfc6298"}).digest == digest(before)
    assert dumbbell(flow).digest != digest(before)


@pytest.mark.parametrize("loss_rate", [0.0, 0.15])
def test_the_laws_differ_by_their_timeouts_alone(loss_rate):
    """Without a timeout every bit is the same; with timeouts the one that waits longer delivers less."""
    laws = ("rfc6298", "linux")
    one, other = (
        run(dumbbell({"rtt_s": 0.05, "stack": "linux", "rto": law}, loss_rate=loss_rate, jitter_s=0.001))
        for law in laws
    )
    if loss_rate == 0.0:
        assert one.ends["timeouts"][0] == other.ends["timeouts"][0] == 0
        np.testing.assert_array_equal(one.cwnd_pkts, other.cwnd_pkts)
        np.testing.assert_array_equal(one.delivered_pkts, other.delivered_pkts)
    else:
        assert one.ends["timeouts"][0] > 10
        assert one.delivered_pkts[-1, 0] > other.delivered_pkts[-1, 0]


@pytest.mark.parametrize("reduction", REDUCTION)
@pytest.mark.parametrize("cc", WHOLE)
def test_whole_windows_stay_whole(cc, reduction):
    result = lossy(cc, "linux", reduction)
    mine = result.events[result.events["flow"] == 0]
    windows = (result.cwnd_pkts[:, 0], result.ssthresh_pkts[:, 0], mine["cwnd_before"], mine["cwnd_after"])
    for window in windows:
        assert np.all(window == np.floor(window))
    assert len(mine) > 20
    assert result.delivered_pkts[-1, 0] > 1000


@pytest.mark.parametrize("cc", OF_THE_TEXTS)
def test_windows_that_linux_does_not_have_are_real_on_its_stack(cc):
    text, linux = lossy(cc, "text"), lossy(cc, "linux")
    assert linux.events.tobytes() == text.events.tobytes()
    assert linux.cwnd_pkts.tobytes() == text.cwnd_pkts.tobytes()


def test_reno_grows_a_packet_in_one_ack_more_than_its_window():
    flow = {"rtt_s": 0.5, "iw_pkts": 2, "initial_ssthresh_pkts": 1, "stack": "linux"}
    result = run(dumbbell(flow, duration_s=60, sample_s=0.001))
    first = np.argmax(result.cwnd_pkts[:, 0] >= 12)
    heard = result.received_pkts[first - 500, 0]  # of what has arrived an RTT before
    assert heard == sum(range(3, 13))  # 3 ACKs from 2 packets to 3, ..., 12 from 11 to 12


def test_venos_window_falls_to_ssthresh_and_no_further():
    """Linux's tcp_cwnd_min is ssthresh for a module without min_cwnd; under random losses Veno keeps four fifths."""
    flow = {"cc": "veno", "rtt_s": 0.1, "reduction": "rate_halving"}
    result = run(dumbbell(flow, loss_rate=0.002), log_events=True)
    begun, ended = events(result, LOSS), events(result, RECOVERY_END)
    pairs = min(len(begun), len(ended))
    assert pairs > 10
    assert np.median(ended["cwnd_after"][:pairs] / begun["cwnd_after"][:pairs]) > 0.95
