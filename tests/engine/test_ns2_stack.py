"""``stack: ns2``: what ns-2's TCP-Linux does differently from a kernel, against its sources and its recorded runs.

Recorded figures are of ns-2 2.35 (Debian's ns2 2.35+dfsg-5), run by ``tcpfair.sources.ns2`` on the same scenarios. In it a
flow's data meet the bottleneck half a round trip later, so that its counts are that much behind or before.
"""

from __future__ import annotations

import numpy as np
import pytest

from tcpfair.cc import hybla, vegas, veno, yeah
from tcpfair.cc.api import STACK
from tcpfair.cc.registry import dtypes, param_values
from tcpfair.engine.dumbbell import run
from tcpfair.engine.link import LOST_AGAIN, SHOWN_WITHIN, jittered, lose, pass_marks_on
from tcpfair.engine.result import Result
from tcpfair.engine.state import AGAIN, ENDPOINT, LINK, LOSS, NEW, PACKET, RECOVERY_END, RTO, SLOT, STACKS
from tcpfair.errors import InputError
from tests.engine.scenarios import dumbbell, events

ALL = ("samples", "cwnd", "events")
FAST = {"capacity_bps": 100e6, "wire_bytes": 1500, "payload_bytes": 1460}
SEEDS = range(1, 7)
CWND = ("cwnd_before", "cwnd_after")


def flow(cc: str, stack: str, rtt_s: float, **more) -> dict:
    return {"cc": cc, "protocol": cc, "stack": stack, "rtt_s": rtt_s, "iw_pkts": 2, "reduction": "rate_halving"} | more


def recoveries(result: Result) -> list[tuple[float, ...]]:
    """Beginning and end in ms, window before, threshold, window after."""
    pairs = zip(events(result, LOSS), events(result, RECOVERY_END), strict=False)
    return [
        (
            round(1e3 * lost["t_s"]),
            round(1e3 * ended["t_s"]),
            *(float(lost[name]) for name in CWND),
            ended["cwnd_after"],
        )
        for lost, ended in pairs
    ]


def lengths(result: Result) -> list[tuple[float, ...]]:
    """As recoveries, with the length in ms for both times and windows to a tenth of a packet."""
    return [
        (end - start, round(cwnd, 1), ssthresh, round(after, 1))
        for start, end, cwnd, ssthresh, after in recoveries(result)
    ]


def records(cc: str, **fields) -> tuple[np.record, np.record]:
    """State and parameters of a flow for its rules; windows are those of ns-2."""
    state, params = (np.zeros(1, dtype)[0] for dtype in dtypes())
    for into, values in ((state, {"whole": STACK["ns2"]} | fields), (params, param_values(cc, {}))):
        for name, value in values.items():
            into[name] = value
    return state, params


# ---------------------------------------------------------------- when a loss shows


def marks(stack: str, *packets: str) -> list[int]:
    """Losses shown by each of the next arrivals, after packets lost (x), lost again (r), taken (o) or taken again (a)."""
    end = np.zeros(1, ENDPOINT)
    end["stack"], end["reliable"], end["ring_mask"], end["lost_mask"] = STACKS[stack], 1, 31, 31
    ring, lost = np.zeros(32, SLOT), np.zeros(32, PACKET)
    for seq, packet in enumerate(packets):
        if packet in "oa":
            if packet == "a" and stack == "ns2":
                pass_marks_on(end[0], ring)
            end["tail"] += 1
        else:
            lose(np.zeros(1, LINK), end[0], ring, lost, seq, 0.0, NEW if packet == "x" else AGAIN)
    tail = int(end["tail"][0])
    shown = ring["losses_shown"][tail : tail + SHOWN_WITHIN]
    return (shown % LOST_AGAIN + shown // LOST_AGAIN).tolist()


@pytest.mark.parametrize(
    ("packets", "expected"),
    [
        # scoreboard1.cc, UpdateScoreBoard: lost are those up to fack - (dupack_threshold + 1), so s shows with s + 4
        ("x", [0, 0, 0, 1, 0]),
        # 0 and 1 are lost: 2, 3 and 4 come, and 4 shows 0; 5 shows 1
        ("xx", [0, 0, 1, 1, 0]),
        # 0 and 2 are lost, 1 has come: then 3, 4, 5, 6
        ("xox", [0, 1, 0, 1, 0]),
        # 0 to 4 are lost: the first that comes is 5, which shows 0 and 1
        ("xxxxx", [2, 1, 1, 1, 0]),
        # a retransmission with nothing to be sent again behind it: the next new packet passes snd_nxt of its sending
        ("r", [1, 0, 0, 0, 0]),
        # fack is of sequence numbers: a retransmission that comes is none of the four
        ("xa", [0, 0, 0, 1, 0]),
        ("xoaao", [0, 1, 0, 0, 0]),
    ],
)
def test_a_loss_shows_with_the_fourth_packet_after_it(packets, expected):
    assert marks("ns2", *packets) == expected


def test_on_other_stacks_it_is_the_third_arrival():
    assert marks("linux", *"xx") == [0, 0, 2, 0, 0] == marks("text", *"xx")


# ---------------------------------------------------------------- links


def test_jitter_holds_whoever_finds_nobody_waiting():
    """delayer.cc: those that come while one is held leave with it; elsewhere each is held for a time of its own."""
    link, end = np.zeros(1, LINK), np.zeros(1, ENDPOINT)
    link["random"] = 7
    end["stack"] = STACKS["ns2"]
    assert jittered(link[0], end[0], 1.0, 0.5, 1.2) == 1.2 and link["random"][0] == 7  # nothing drawn
    assert 1.3 < jittered(link[0], end[0], 1.3, 0.5, 1.2) < 1.8
    link["random"] = 7
    end["stack"] = STACKS["text"]
    jittered(link[0], end[0], 1.0, 0.5, 1.2)
    assert link["random"][0] != 7


@pytest.mark.parametrize(("stack", "rtt_s"), [("ns2", 0.02 + 0.001 + 0.0005), ("linux", 0.02 + 0.001)])
def test_an_access_link_passes_a_packet_on_when_it_has_all_of_it(stack, rtt_s):
    lone = flow("reno", stack, 0.02, size_pkts=1, access_bps=24e6)
    assert run(dumbbell(lone, duration_s=1), 1).srtt_s[-1, 0] == pytest.approx(rtt_s, abs=1e-9)


# ---------------------------------------------------------------- recovery, event by event


def alone(cc: str, stack: str, **settings) -> Result:
    """One flow without jitter: 1000 packets/s, 20 ms, 6 packets of buffer."""
    early = flow(cc, stack, 0.02, initial_ssthresh_pkts=12)
    return run(dumbbell(early, **{"record": ALL, "buffer_pkts": 6, "duration_s": 10} | settings), 1)


def overshooting(cc: str, rtt_s: float, **settings) -> Result:
    """One flow at 6.33 Mb/s into a buffer of four packets."""
    lone = flow(cc, "ns2", rtt_s, initial_ssthresh_pkts=20)
    return run(dumbbell(lone, record=ALL, capacity_bps=6.33e6, buffer_pkts=4, **settings), 1)


# time of the loss and of the recovery's end, ms; window before the loss, threshold and window after the recovery
NS2_EVENTS = {
    "reno": [(467, 494, 28, 14, 14), (840, 867, 28, 14, 14), (1213, 1240, 28, 14, 14), (1586, 1613, 28, 14, 14)],
    "westwood": [
        *((467, 494, 28, 14, 14), (840, 867, 28, 14, 14), (1213, 1240, 28, 14, 16), (1561, 1588, 28, 14, 17)),
        *((1886, 1913, 28, 14, 18), (2188, 2215, 28, 14, 19)),
    ],
}


@pytest.mark.parametrize("cc", NS2_EVENTS)
def test_windows_and_times_of_recoveries_are_those_of_ns2(cc):
    assert recoveries(alone(cc, "ns2"))[: len(NS2_EVENTS[cc])] == NS2_EVENTS[cc]


def test_what_is_delivered_meanwhile_is_that_of_ns2():
    # ns-2: 9171 and 9732, 10 ms of link time apart; windows by the text, with the kernel's rate halving, 8695 and 9575
    assert alone("reno", "ns2").received_pkts[-1, 0] == pytest.approx(9171, abs=10)
    assert alone("westwood", "ns2").received_pkts[-1, 0] == pytest.approx(9732, abs=10)
    assert alone("reno", "text").received_pkts[-1, 0] < 9171 - 10


def test_the_window_falls_at_once_and_the_flight_by_halves():
    """17 packets of path and 7 of buffer; halving takes until ssthresh is in flight, not tcp_reno_min_cwnd."""
    result = alone("reno", "ns2", duration_s=1, sample_s=0.001)
    inside = (result.t_s > 0.467) & (result.t_s < 0.494)
    window = result.cwnd_pkts[inside, 0]
    assert set(result.ssthresh_pkts[inside, 0]) == {14}
    assert np.all(np.diff(window) <= 0) and np.diff(window).min() >= -1  # the limit of the flight, as ns-2 records it
    assert window[0] > 24 and window[-1] == pytest.approx(14, abs=1)


def test_losses_beyond_retransmissions_show_when_ns2_sees_them():
    """Hybla overshoots a buffer of four: what its last packets lost shows only with new data, a round trip later.

    ns-2: 268 ms for the second recovery, as it has jitter in front of it (service and half a round trip elsewhere).
    """
    result = overshooting("hybla", 0.0887, duration_s=2)
    assert [found[1:] for found in lengths(result)[:3]] == [(23, 11, 7), (19, 9, 6), (27, 13, 8)]
    assert lengths(result)[1][0] == pytest.approx(268, abs=10)


def test_libra_is_sack1_with_a_constant_rate_increase():
    """ns-2's own agent: windows are not whole after a halving, recovery waits until half of the window is in flight.

    ns-2: recoveries of 104 and then 84 ms, 44 of them in 30 s, 9538 packets from 8 s on.
    """
    result = overshooting("libra", 0.05, duration_s=30, sample_s=0.5)
    assert lengths(result)[:5] == [
        *((104, 20, 10, 10), (84, 33, 16, 16.5), (84, 33.5, 16, 16.8), (84, 33.8, 16, 16.9), (84, 33.9, 16, 16.9)),
    ]
    assert len(events(result, LOSS)) == 44 and len(events(result, RTO)) == 0
    assert result.received_pkts[-1, 0] - result.received_pkts[15, 0] == pytest.approx(9538, rel=0.005)


def test_own_agents_send_again_but_once_before_a_timeout():
    """tcp-sack1.cc has no sign of a lost retransmission; ns-2 beside random losses of 1e-1: 314 timeouts in 400 s."""
    lone = flow("libra", "ns2", 0.05, initial_ssthresh_pkts=20)
    settings = FAST | {"loss_rate": 0.1, "buffer_pkts": 400, "duration_s": 400, "record": ALL}
    result = run(dumbbell(lone, **settings), 1)
    assert len(events(result, RTO)) == pytest.approx(314, rel=0.2)


# ---------------------------------------------------------------- the modules in a state of loss


@pytest.mark.parametrize(
    ("stack", "cwnd", "rule", "more", "ssthresh"),
    [
        ("ns2", 2, "on_loss", {"slow_rounds": 16}, 0),
        ("ns2", 1, "on_timeout", {"slow_rounds": 16}, np.inf),  # unsigned, where one is left
        ("linux", 2, "on_loss", {"slow_rounds": 16}, 2),
        ("linux", 1, "on_timeout", {"slow_rounds": 16}, 2),
        # in either mode, where the queue was two packets or more
        ("ns2", 1, "on_timeout", {"slow_rounds": 0, "queue": 2}, np.inf),
        ("ns2", 1, "on_timeout", {"slow_rounds": 16, "queue": 2}, np.inf),
    ],
)
def test_a_window_of_zero_ends_yeah(stack, cwnd, rule, more, ssthresh):
    """tcp_yeah.c, ssthresh: cwnd less at least two."""
    state, params = records("yeah", whole=STACK[stack], cwnd=cwnd, **more)
    getattr(yeah, rule)(state, params)
    assert state["ssthresh"] == ssthresh


def test_a_threshold_below_zero_ends_yeah():
    """tcp-linux.cc, tcp_fastretrans_alert, tcp_moderate_cwnd: the window becomes the threshold -1, which sends nothing.

    A random dumbbell (narrow d05 of seed 770431): YeAH beside Westwood and Hybla at a fair window of five packets. In
    ns-2 YeAH's share of 20 to 120 s is 0.082, its standard error over 240 runs 0.006; 90 % of the flows have stopped
    for good after 117 s.
    """
    flows = [
        flow(
            cc, "ns2", rtt_s, start_s=start_s, initial_ssthresh_pkts=ssthresh, access_bps=bps, access_jitter_s=jitter_s
        )
        for cc, rtt_s, start_s, ssthresh, bps, jitter_s in (
            ("westwood", 0.018, 6.65, 2, 42e6, 0.00123),
            ("yeah", 0.0327, 5.93, 2.02, 5.06e6, 0.00413),
            ("hybla", 0.195, 2.76, 12, 8.41e6, 0.00214),
        )
    ]
    scenario = dumbbell(
        *flows, **FAST | {"capacity_bps": 2.22e6, "buffer_pkts": 27, "jitter_s": 0.0153, "duration_s": 120}
    )
    delivered = np.array([run(scenario, seed).delivered_pkts for seed in range(1, 61)])
    gained = delivered[:, -1] - delivered[:, 19]
    shares = gained[:, 1] / gained.sum(axis=1)
    assert shares.mean() == pytest.approx(0.082, abs=0.03)
    assert (shares == 0).mean() > 0.1


@pytest.mark.parametrize(("cc", "module"), [("hybla", hybla), ("vegas", vegas), ("veno", veno)])
def test_after_a_timeout_growth_is_renos_until_all_is_repaired(cc, module):
    """set_state with TCP_CA_Loss: one packet for cwnd + 1 ACKs whatever the module would do."""
    rtts_s = {"srtt": 0.2, "srtt_min": 0.1, "rtt": 0.1, "rtt_min": 0.1, "round_rtt_min": 0.1}
    state, params = records(cc, in_loss=1, growth=1, acked=1, cwnd=4, ssthresh=2, rho=8, **rtts_s)
    windows = []
    for _ in range(6):
        module.on_ack(state, params)
        windows.append(float(state["cwnd"]))
    assert windows == [4, 4, 4, 4, 5, 5]


# ---------------------------------------------------------------- random losses, receive window


def means(scenario, seeds=SEEDS) -> tuple[float, float]:
    """Packets per second and timeouts, of the first flow and over seeds."""
    results = [run(scenario, seed) for seed in seeds]
    rates_pps = [result.received_pkts[-1, 0] / result.t_s[-1] for result in results]
    return float(np.mean(rates_pps)), float(np.mean([result.ends["timeouts"][0] for result in results]))


def lossy(stack: str, rtt_s: float, rwnd_pkts: float):
    settings = FAST | {"loss_rate": 0.01, "buffer_pkts": 417, "duration_s": 200, "jitter_s": 1e-4}
    return dumbbell(flow("reno", stack, rtt_s, rwnd_pkts=rwnd_pkts), **settings)


@pytest.mark.parametrize(
    ("rtt_s", "rwnd_pkts", "ns2_pps", "ns2_timeouts"),
    # means of six seeds of ns-2, standard errors .35 and .52 packets/s, 1.2 and 0 timeouts
    [(0.03, 3, 93.4, 11.2), (0.1, 10, 82.1, 0.0)],
)
def test_receive_window_limits_the_flight_not_the_sequence(rtt_s, rwnd_pkts, ns2_pps, ns2_timeouts):
    pps, timeouts = means(lossy("ns2", rtt_s, rwnd_pkts))
    assert pps == pytest.approx(ns2_pps, rel=0.025)
    assert timeouts == pytest.approx(ns2_timeouts, abs=4)
    assert means(lossy("linux", rtt_s, rwnd_pkts))[0] < 0.97 * ns2_pps  # by sequence: 79.4 and 77.9


def test_the_window_does_not_grow_beyond_the_receive_window():
    assert run(lossy("ns2", 0.03, 3), 1).cwnd_pkts.max() == 3


# ---------------------------------------------------------------- TCP-LP


def test_lp_takes_no_delay_from_answers_to_retransmissions():
    """tcp-linux.cc, recv: pkts_acked is for ACKs in order (FLAG_NOT_DUP), and after a retransmission has no time stamp.

    ns-2: share .338 of 60 seeds, standard error .016; with a delay from
    every ACK the engine had .21.
    """
    lp = flow("lp", "ns2", 0.05, initial_ssthresh_pkts=5, start_s=0.3)
    reno = flow("reno", "ns2", 0.05, initial_ssthresh_pkts=5)
    settings = {"capacity_bps": 2e6, "buffer_pkts": 10, "duration_s": 120, "jitter_s": 0.01, "sample_s": 0.5}

    def share(seed: int) -> float:
        delivered = run(dumbbell(lp, reno, **settings), seed).delivered_pkts
        late = delivered[-1] - delivered[39]
        return late[0] / late.sum()

    assert np.mean([share(seed) for seed in range(1, 25)]) == pytest.approx(0.338, abs=0.06)


# ---------------------------------------------------------------- DCCP/TCPlike, Hybla


def test_ccid2_is_tcplike_with_ack_ratio_2():
    """ns-2: 249.8 packets/s (standard error 2.2) at 25 Mb/s, 50 ms and random losses of 1e-2; Ack Ratio 1 gives 270."""
    settings = {"loss_rate": 0.01, "buffer_pkts": 417, "duration_s": 200, "jitter_s": 240e-6}
    settings |= FAST | {"capacity_bps": 25e6}
    ns2, text = (dumbbell(flow("ccid2", stack, 0.05, ack_every=1), **settings) for stack in ("ns2", "text"))
    assert means(ns2)[0] == pytest.approx(249.8, rel=0.025)
    assert means(text)[0] > 1.05 * 249.8
    assert run(ns2, 1).ends["ack_every"] == 2


def test_hybla_ignores_the_receive_window_and_nobody_gets_anything():
    """A Hybla flow starts at 100 ms beside Reno in equilibrium, both with receive windows of 4000 packets.

    ns-2: threshold 13018 and window 6509 after the first loss; then for a minute and more 24,250 drops a second, while the
    two together deliver 10 to 20 packets a second in order: the link carries what comes after holes that are not filled.
    """
    reno = {"rwnd_pkts": 4000, "iw_pkts": 2, "rtt_s": 0.09987}
    settings = FAST | {"buffer_pkts": 833, "duration_s": 90, "jitter_s": 240e-6, "record": ALL}

    def beside_reno(stack: str) -> Result:
        second = flow("hybla", stack, 0.1, rwnd_pkts=4000, start_s=60.3)
        return run(dumbbell(flow("reno", stack, 0.1) | reno, second, **settings), 1)

    def delivered_pps(result: Result) -> float:
        return (result.delivered_pkts[84] - result.delivered_pkts[69]).sum() / 15

    collapsed = beside_reno("ns2")
    assert collapsed.ssthresh_pkts[69, 1] > 4000 < collapsed.cwnd_pkts[69, 1]
    assert delivered_pps(collapsed) < 100
    assert (collapsed.link_dropped_pkts[0, 84] - collapsed.link_dropped_pkts[0, 69]) / 15 > 8000
    kept = beside_reno("linux")
    assert kept.cwnd_pkts[:, 1].max() < 4100 and delivered_pps(kept) > 7500


# ---------------------------------------------------------------- what it is not


def test_it_has_sack_recovery_only():
    with pytest.raises(InputError, match="newreno: recovery: stack ns2 has sack only"):
        run(dumbbell(flow("newreno", "ns2", 0.1)), 1)
    run(dumbbell(flow("newreno", "ns2", 0.1, recovery="sack"), duration_s=1), 1)


@pytest.mark.parametrize("stack", ["text", "linux"])
def test_other_stacks_have_no_limit_beyond_the_window(stack):
    assert np.all(alone("reno", stack).ends["halving_limit"] == 0)
