"""ns-2 as a source of traces: the script of a scenario, and, where ns-2 is installed, laws that its runs must obey."""

import shutil

import numpy as np
import pytest

from tcpfair.engine.dumbbell import run
from tcpfair.engine.result import Result
from tcpfair.engine.state import EVENT_NAMES, LOSS, RECOVERY_END, RTO
from tcpfair.engine.traffic import arrivals_of
from tcpfair.errors import InputError
from tcpfair.files.layout import Layout, repository_root
from tcpfair.models.aimd import exact_t2_s, t1_s
from tcpfair.papers.expand import RunSpec, run_specs, shorten
from tcpfair.papers.papers import load_paper
from tcpfair.papers.scenario import Scenario
from tcpfair.runs.trace import read, write
from tcpfair.sources import ns2
from tcpfair.units import bdp_pkts, service_time_s
from tests.engine.scenarios import PACKET_BYTES, SLOW_BPS, dumbbell

OGURA = Layout(repository_root()).paper_config("ogura")
CAPACITY_PPS = 1 / service_time_s(PACKET_BYTES, SLOW_BPS)
ALL = ("samples", "cwnd", "events", "link")
EARLY = {"rtt_s": 0.1, "initial_ssthresh_pkts": 60}  # leaves slow start before the queue is full
TWO_WAY = {"reverse_bps": SLOW_BPS, "reverse_buffer_pkts": 30}
SHORT = {"protocol": "Web", "cc": "sack", "rtt_s": 0.03, "rwnd_pkts": 44, "iw_pkts": 3, "ack_every": 2}
SIZES = [{"law": "lognormal", "share": 1, "mu": 10, "sigma": 1.3}]

installed = pytest.mark.skipif(not (shutil.which("ns") or shutil.which("ns2")), reason=ns2.NOT_INSTALLED)


def calls(*flows: dict, begin: str = "", seed: int = 1, **settings) -> list[str]:
    """The lines of a script that belong to the scenario, those with this beginning."""
    text = ns2.script(dumbbell(*({"rtt_s": 0.1, **flow} for flow in flows), **settings), seed)
    lines = text.splitlines()[len(ns2._LIBRARY.read_text().splitlines()) :]
    return [line for line in lines if line.strip().startswith(begin)]


def simulate(*flows: dict, seed: int = 1, **settings) -> Result:
    return ns2.run(dumbbell(*flows, **{"record": ALL, **settings}), seed)


def source(direction: str = "forward", **flow) -> dict:
    """Five short flows per second, a third of the slow link's capacity, of two RTTs and more."""
    settings = {"arrivals_per_s": 5.0, "sizes": SIZES, "rtt_extra_mean_s": 0.03, "rtt_cap_s": 0.3}
    return {"flow": SHORT | flow | {"direction": direction}, **settings}


def assert_same(one: Result, other: Result, names: str) -> None:
    for name in names.split():
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def events(result: Result, kind: int, flow: int = 0) -> np.ndarray:
    return result.events[(result.events["flow"] == flow) & (result.events["kind"] == kind)]


# ---------------------------------------------------------------- the script


def test_script_has_the_numbers_of_the_scenario():
    lines = calls({"access_bps": 24e6, "access_queue_pkts": 50}, buffer_pkts=30.37, loss_rate=0.01, jitter_s=0.002)
    assert f"bottleneck forward {SLOW_BPS} 30" in lines and "wide_link reverse" in lines
    assert "path 0 forward 0.1 24000000.0 50 0.0 0.002" in lines and "lose 0 forward 0.01" in lines
    assert lines[-1] == "simulate 0.1 400"
    assert "path 0 forward 0.1 $wide_bps $deep_pkts 0.0 0.0" in calls({"access_jitter_s": 1e-3})  # nothing to jitter on


@pytest.mark.parametrize(
    ("flow", "agent", "receiver"),
    [
        ({"cc": "reno"}, "Linux", "Sack1"),
        ({"cc": "sack", "ack_every": 2}, "Linux", "Sack1/DelAck"),
        ({"cc": "newreno"}, "Newreno", ""),
        ({"cc": "reno", "recovery": "reno", "ack_every": 2}, "Reno", "DelAck"),
        ({"cc": "newreno", "recovery": "sack"}, "Linux", "Sack1"),
        ({"cc": "htcp"}, "Linux", "Sack1"),
        ({"cc": "libra"}, "Sack1", "Sack1"),
        ({"cc": "alpha", "recovery": "newreno"}, "Newreno", ""),
    ],
)
def test_agent_and_receiver_follow_algorithm_and_recovery(flow, agent, receiver):
    sink = "/".join(part for part in ("Agent/TCPSink", receiver) if part)
    (made,) = calls(flow, begin=f"receiver 0 forward {sink} {{")
    assert ("interval_ 0.04" in made) == (flow.get("ack_every") == 2)
    assert calls(flow, begin=f"sender 0 forward Agent/TCP/{agent} {{")


def test_constants_of_libra_and_alpha_belong_to_the_reference_rtt():
    (libra,) = calls({"cc": "libra"}, begin="sender ")
    (alpha,) = calls({"cc": "alpha", "params": {"rtt_ref_s": 0.05}}, begin="sender ")
    assert "windowOption_ 2" in libra and "windowOption_ 5" in alpha
    assert float(libra.split("windowConstant_ ")[1].split("}")[0]) == pytest.approx(1 / 0.04**2)
    assert float(alpha.split("windowConstant_ ")[1].split("}")[0]) == pytest.approx(1 / 0.05)


def test_parameters_start_stop_and_size_become_calls():
    flow = {"cc": "cubic", "params": {"beta": 0.3, "linux_2_6_22": 1}, "start_s": 2, "stop_s": 9, "size_pkts": 1000}
    lines = calls(flow, {"start_s": 5, "stop_s": 5})
    assert '$ns at 2.0 "begin_linux 0 cubic {linux sysctl_tcp_abc 0 cubic beta 717} 10 1000000"' in lines
    assert '$ns at 2.0 "send 0 1000"' in lines and '$ns at 9.0 "stop 0"' in lines
    assert not [line for line in lines if " at 5.0 " in line]  # stops when it starts


def test_two_ways_have_two_bottlenecks_and_flows_from_either_side():
    flows = {}, {"direction": "reverse", "cc": "ccid2"}
    both = {"reverse_bps": 2e6, "reverse_buffer_pkts": 7.6, "ack_bytes": 40, "loss_rate": 0.01}
    lines = calls(*flows, **both)
    assert f"shared_bottleneck forward {SLOW_BPS} 30 1500" in lines
    assert "shared_bottleneck reverse 2000000.0 8 1500" in lines and "wide_link reverse" not in lines
    assert "path 1 reverse 0.1 $wide_bps $deep_pkts 0.0 0.0" in lines and "lose 1 reverse 0.01" in lines
    (receiver,) = calls(*flows, begin="receiver 0 forward", **both)
    assert "packetSize_ 40" in receiver
    (sender,) = calls(*flows, begin="sender 1 reverse Agent/DCCP", **both)
    # the slow link's path of 17 packets and half of its buffer
    assert "initial_ssthresh_ 20" in sender


def test_short_flows_are_those_of_the_engine():
    webs = [source(), source("reverse", cc="newreno")]
    lines = calls({}, web=webs, **TWO_WAY, seed=4)
    arrivals = arrivals_of(dumbbell({"rtt_s": 0.1}, web=webs, **TWO_WAY), 4)
    begin = next(k for k, line in enumerate(lines) if line.startswith("short_flows 1500"))
    rows = [line.split() for line in lines[begin + 1 : lines.index("}", begin)]]
    assert len(rows) > 300
    assert [(float(a), int(b), float(c), int(d)) for a, b, c, d in rows] == [
        (a["start_s"], a["source"], a["rtt_s"], a["size"]) for a in arrivals
    ]
    # waits in both queues, two packets on the wires, delayed ACK, longest path
    assert float(lines[begin].split()[2]) == pytest.approx(
        2 * (30.2 + 2) * 0.001 + 0.04 + arrivals["rtt_s"].max(), rel=0.01
    )
    (sender,) = calls({}, web=webs, **TWO_WAY, seed=4, begin="sender $i reverse")
    assert "Agent/TCP/Newreno {" in sender and "windowInit_ 3 window_ 44" in sender


def test_seeds_are_those_that_ns2_takes():
    for seed in (0, 2**31 - 3, 2**31 - 2, 2**62 - 1):
        (line,) = calls({}, seed=seed, begin="$defaultRNG seed ")
        assert 1 <= int(line.split()[-1]) <= 2**31 - 2  # 0 would be the time of day


def test_threshold_of_ccid2_leaves_room_for_those_already_there():
    lines = calls({"cc": "ccid2"}, {"cc": "ccid2", "start_s": 3}, buffer_pkts=40, begin="sender")
    assert [int(line.split("initial_ssthresh_ ")[1].split()[0]) for line in lines] == [120, 60]


@pytest.mark.parametrize(
    ("flow", "settings", "message"),
    [
        ({"cc": "fast", "protocol": "F"}, {}, r"flows\[0\].cc: ns-2 has no 'fast' \(protocol F\); it has alpha, bic"),
        ({"cc": "cubic", "recovery": "newreno"}, {}, "recovery: ns-2 has cubic with sack only"),
        ({"cc": "cubic", "byte_counting": True}, {}, r"flows\[0\].byte_counting: ns-2 has it for reno"),
        ({"params": {"a": 2}}, {}, r"params.a: ns-2's reno has 1 only \(got 2\)"),
        ({"cc": "bic", "params": {"gain": 1}}, {}, "gain: cannot be set in ns-2's bic; what can, is beta, fast_conv"),
        ({"cc": "libra", "params": {"gain": 1}}, {}, "cc libra: unknown parameter 'gain'"),
        ({}, {"wire_bytes": 1500.5}, "wire_bytes: ns-2 sends whole bytes"),
        ({}, {"ack_bytes": 52.5, **TWO_WAY}, "ack_bytes: ns-2 sends whole bytes"),
        ({}, {"synchronised_losses": True}, "synchronised_losses: ns-2 does not support it"),
        ({}, {"web": [source(), source(cc="ccid2")]}, r"web\[1\].flow.cc: in ns-2 short flows are TCP"),
    ],
)
def test_what_ns2_cannot_do_is_refused_in_one_line(flow, settings, message):
    with pytest.raises(InputError, match=message):
        calls(flow, **settings)


def test_fields_that_this_backend_has_never_heard_of_are_refused():
    class Later(Scenario):
        lanes: float = 0.0

    values = dumbbell({"rtt_s": 0.1}).model_dump()
    ns2.check(Later(**values))
    with pytest.raises(InputError, match="lanes: ns-2 does not support it"):
        ns2.check(Later(**values, lanes=1e6))


def test_expected_seconds_grow_with_packets_and_with_the_window_of_dccp():
    def expected_s(*flows: dict, **settings) -> float:
        scenario = dumbbell(*({"rtt_s": 0.1, **flow} for flow in flows), **{"duration_s": 400, **settings})
        return ns2.estimate_s([RunSpec(0, 0, 1, {}, scenario)])

    one = expected_s({})
    assert expected_s({}, duration_s=4000) > 5 * one and expected_s({"size_pkts": 10}) < one
    assert expected_s({"cc": "ccid2"}, buffer_pkts=1000) > 5 * expected_s({}, buffer_pkts=1000)
    assert expected_s({}, **TWO_WAY) == one < expected_s({}, {"direction": "reverse"}, **TWO_WAY)
    assert expected_s({}, web=[source()]) == pytest.approx(one + 5 * 400 * ns2._SHORT_FLOW_S)


# ---------------------------------------------------------------- what ns-2 leaves behind

TCP_LINES = """\
0.00000   0  0  1  0  cwnd_ 10.000
0.00000   0  0  1  0  ssthresh_ 60
2.41024   0  0  1  0  cwnd_ 835.000
2.51024   0  0  1  0  ncwndcuts_ 1
2.51024   0  0  1  0  ssthresh_ 417
2.51036   0  0  1  0  next_pkts_in_flight_ 834
2.51036   0  0  1  0  cwnd_ 834.000
2.61024   0  0  1  0  next_pkts_in_flight_ 0
2.61024   0  0  1  0  cwnd_ 417.000
3.00000   0  0  1  0  ncwndcuts_ 2
3.00000   0  0  1  0  nrexmit_ 1
3.00000   0  0  1  0  next_pkts_in_flight_ 0
3.00000   0  0  1  0  cwnd_ 1.000
3.00000   0  0  1  0  ssthresh_ 208
"""
DCCP_LINES = "0.000000 2 cwnd_\n0.500000 100 cwnd_\n0.700000 101 cwnd_\n0.700000 100 cwnd_\n0.900000 50 cwnd_\n1.200000 1 cwnd_\n"


def test_events_are_changes_of_the_variables_of_tcp_and_of_the_window_of_dccp(monkeypatch, tmp_path):
    (tmp_path / "events.0").write_text(TCP_LINES)
    (tmp_path / "events.1").write_text(DCCP_LINES)  # overshooting the threshold within one ACK is none
    polls = f"for k in $(seq 40); do echo {'15000 10 1 1 0.1 ' * 2} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 >> polls; done"
    fake_ns(monkeypatch, tmp_path, f"cp {tmp_path}/events.* .; {polls}")
    found = simulate({"rtt_s": 0.1}, {"rtt_s": 0.1, "cc": "ccid2"}, duration_s=4).events
    assert found[["t_s", "flow", "kind", "cwnd_before", "cwnd_after"]].tolist() == [
        (0.9, 1, LOSS, 100.0, 50.0),
        (1.2, 1, RTO, 50.0, 1.0),
        (2.51024, 0, LOSS, 835.0, 417.0),
        (2.61024, 0, RECOVERY_END, 834.0, 417.0),
        (3.0, 0, RTO, 417.0, 1.0),
    ]


def test_duplicates_are_what_is_left_when_nothing_is_out_of_order():
    arrived, delivered = np.array([[10], [20], [30], [43]]), np.array([[10], [12], [30], [40]])
    assert ns2._duplicates(arrived, delivered).ravel().tolist() == [0, 0, 0, 3]


def test_columns_of_the_polls_have_their_places(monkeypatch, tmp_path):
    # a flow; two bottlenecks: data sent and dropped, ACKs sent and dropped, bytes waiting; short flows of two directions
    row = "15000 12 4.5 60 0.11 20 1 2 3 4500 30 4 5 6 750 40 41 7 50 52 8"
    fake_ns(monkeypatch, tmp_path, f"for k in 0 1 2 3 4 5 6 7 8 9; do echo {row} >> polls; done")
    result = simulate({"rtt_s": 0.1}, duration_s=1, web=[source("reverse")], **TWO_WAY)
    assert result.delivered_pkts.tolist() == [[10]] and result.received_pkts.tolist() == [[10]]
    assert (result.cwnd_pkts[0, 0], result.ssthresh_pkts[0, 0], result.srtt_s[0, 0]) == (4.5, 60, 0.11)
    assert result.link_forwarded_pkts.tolist() == [[20], [30]] and result.forwarded_pkts.tolist() == [20]
    assert result.link_dropped_pkts.tolist() == [[1], [4]] and result.dropped_pkts.tolist() == [1]
    assert result.link_acks.tolist() == [[2], [5]] and result.link_acks_dropped.tolist() == [[3], [6]]
    assert result.link_queue_pkts.tolist() == [[3], [0.5]] and result.queue_pkts.tolist() == [3]
    assert result.web_delivered_pkts.tolist() == [[40], [50]] and result.web_active.tolist() == [[7], [8]]
    assert result.web_received_pkts.tolist() == [[41], [52]]
    assert result.received_total_pkts == 10 + 41 + 52


def fake_ns(monkeypatch, folder, body: str) -> None:
    """A shell script in the place of ns-2."""
    path = folder / "ns"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setattr(ns2, "_binary", lambda: str(path))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "printf 'first\\nno such node\\n    while executing\\nf' >&2; exit 1",
            "ns-2 failed on A: first no such node$",
        ),
        ("echo broken >&2; kill -ABRT $$", r"broken \(SIGABRT\)"),
        ("echo 'Error: do not find x as a parameter'", "Error: do not find x"),
        ("exit 3", "exit status 3"),
        ("echo 1 2 3 > polls", "stopped after 1 of 400 polls"),
        ("echo 'Failed to add ack vector' >&2; exit 134", "give a lower initial_ssthresh_pkts"),
    ],
)
def test_failures_of_ns2_end_in_one_line_and_leave_nothing(monkeypatch, tmp_path, body, message):
    fake_ns(monkeypatch, tmp_path, body)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InputError, match=message):
        simulate({"rtt_s": 0.1, "protocol": "A"})
    assert [path.name for path in tmp_path.iterdir()] == ["ns"]


def test_without_ns2_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(ns2.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="apt install ns2"):
        simulate({"rtt_s": 0.1})


# ---------------------------------------------------------------- laws of its runs


@installed
def test_packets_are_conserved_and_the_link_is_not_exceeded():
    result = simulate(
        {**EARLY, "protocol": "a"},
        {**EARLY, "cc": "newreno", "start_s": 1},
        {**EARLY, "cc": "alpha", "start_s": 2, "rtt_s": 0.05, "ack_every": 2},
        {**EARLY, "cc": "cubic", "start_s": 3, "access_bps": 6e6, "access_queue_pkts": 20},
        {**EARLY, "cc": "ccid2", "start_s": 4},
        loss_rate=0.003,
        jitter_s=0.003,
    )
    assert (result.delivered_pkts <= result.received_pkts).all()
    assert (np.diff(result.delivered_pkts, axis=0) >= 0).all() and (np.diff(result.received_pkts, axis=0) >= 0).all()
    assert (result.received_pkts.sum(axis=1) <= result.forwarded_pkts).all()
    assert (np.diff(result.forwarded_pkts, prepend=0) <= CAPACITY_PPS + 1).all()
    assert result.delivered_pkts[-1].min() > 1000
    assert result.dropped_pkts[-1] > 0 and 20 < result.queue_pkts.max() <= 30
    assert set(result.events["flow"]) == set(range(5)) and (np.diff(result.events["t_s"]) >= 0).all()


@installed
@pytest.mark.parametrize("recovery", ["sack", "newreno", "reno"])
def test_reno_peaks_at_bdp_plus_buffer_and_repeats_with_the_sawtooth_period(recovery):
    rtt_s, buffer_pkts = 0.1, 100
    flow = {"rtt_s": rtt_s, "initial_ssthresh_pkts": 120, "recovery": recovery}
    result = simulate(flow, buffer_pkts=buffer_pkts, duration_s=150)
    steady = events(result, LOSS)[1:]
    peak = bdp_pkts(SLOW_BPS, rtt_s, PACKET_BYTES) + buffer_pkts
    assert len(steady) >= 6
    assert steady["cwnd_before"] == pytest.approx(peak, rel=0.03)
    assert steady["cwnd_after"] == pytest.approx(peak / 2, rel=0.03)
    # 3/8 W^2 packets from W/2 to W, and a full-queue round trip each until the loss is seen and for recovery
    period_s = 3 / 8 * peak**2 / CAPACITY_PPS + 2 * 2 * rtt_s
    assert np.diff(steady["t_s"]) == pytest.approx(period_s, rel=0.03)
    ends = events(result, RECOVERY_END)
    assert len(ends) == len(events(result, LOSS)) and not len(events(result, RTO))
    assert (ends["t_s"] - events(result, LOSS)["t_s"]) == pytest.approx(2 * rtt_s, rel=0.05)


@installed
@pytest.mark.parametrize("cc", ["reno", "libra", "alpha"])
def test_residual_capacity_fills_in_t1(cc):
    rtt_s = 0.08
    bdp = bdp_pkts(100e6, rtt_s, PACKET_BYTES)
    flow = {"cc": cc, "rtt_s": rtt_s, "initial_ssthresh_pkts": bdp / 2, "iw_pkts": 2}
    result = simulate(flow, capacity_bps=100e6, buffer_pkts=500, duration_s=29, sample_s=0.02, record=("cwnd",))
    cwnd = result.cwnd_pkts[:, 0]
    measured_s = result.t_s[np.argmax(cwnd >= int(bdp))] - result.t_s[np.argmax(cwnd >= int(bdp / 2))]
    x = {"reno": 1.0, "libra": (rtt_s / 0.04) ** 2, "alpha": rtt_s / 0.04}[cc]
    assert measured_s == pytest.approx(t1_s(100e6 / 12000 / 2, rtt_s, x), rel=0.03)


@installed
def test_buffer_fills_in_t2_when_k_follows_the_queue():
    rtt_s, capacity_pps = 0.08, 100e6 / 12000
    bdp = capacity_pps * rtt_s
    flow = {"cc": "libra", "rtt_s": rtt_s, "initial_ssthresh_pkts": bdp, "iw_pkts": 2, "params": {"follow_queue": 1}}
    result = simulate(flow, capacity_bps=100e6, buffer_pkts=500, duration_s=30, sample_s=0.02)
    start_s = result.t_s[np.argmax(result.cwnd_pkts[:, 0] >= int(bdp))]
    expected_s = exact_t2_s("libra", rtt_s, capacity_pps, 500, 0.04, follow_queue=True)
    assert events(result, LOSS)["t_s"][0] - start_s == pytest.approx(expected_s, rel=0.03)


@installed
@pytest.mark.parametrize(("params", "kept"), [({}, 819 / 1024), ({"beta": 0.3}, 0.7)])
def test_cubic_keeps_what_beta_says(params, kept):
    result = simulate({**EARLY, "cc": "cubic", "params": params}, buffer_pkts=40, duration_s=60)
    losses = events(result, LOSS)
    assert len(losses) > 3
    assert losses["cwnd_after"] == pytest.approx(losses["cwnd_before"] * kept, abs=1.5)


@installed
def test_bytes_are_right_past_the_wrap_of_ns2_s_counter():
    flow = {"rtt_s": 0.01, "initial_ssthresh_pkts": 200}
    jumbo = {"wire_bytes": 9000, "payload_bytes": 8948, "capacity_bps": 2e9, "buffer_pkts": 300}
    result = simulate(flow, **jumbo, duration_s=20, sample_s=5, record=("samples",))
    assert 9000 * result.delivered_pkts[-1, 0] > 2**32
    assert np.diff(result.delivered_pkts[:, 0]) == pytest.approx(2e9 / 72000 * 5, rel=0.01)
    assert (result.received_pkts - result.delivered_pkts).max() <= 1


@installed
def test_window_of_the_receiver_bounds_every_tcp():
    flows = [{"rtt_s": 0.1, "rwnd_pkts": 20, "cc": cc} for cc in ("reno", "cubic", "newreno", "libra")]
    result = simulate(*flows, duration_s=20, buffer_pkts=100)
    rates_pps = np.diff(result.delivered_pkts[4:], axis=0).mean(axis=0)
    assert rates_pps == pytest.approx(20 / 0.101, rel=0.02)
    assert result.cwnd_pkts.max() < 21 and not len(result.events)


@installed
@pytest.mark.parametrize(("cc", "late_s"), [("reno", 0), ("newreno", 0), ("ccid2", 0.1)])
def test_first_window_has_the_given_size_and_slow_start_the_given_end(cc, late_s):
    flow = {"cc": cc, "rtt_s": 0.1, "start_s": 1, "iw_pkts": 7, "initial_ssthresh_pkts": 30}
    result = simulate(flow, duration_s=2.5, sample_s=0.05)
    received = dict(zip(result.t_s.round(2), result.received_pkts[:, 0], strict=True))
    assert received[round(1.05 + late_s, 2)] == 0
    assert received[round(1.1 + late_s, 2)] == 7
    after = result.cwnd_pkts[result.t_s > 1.43 + late_s, 0]  # 7, 14, 28, 30 in slow start, then one more per round trip
    assert 30 <= after[0] < 33 and after[-1] - after[0] < 11


@installed
def test_delayed_acks_halve_the_growth_of_reno_unless_it_counts_bytes():
    flow = {"rtt_s": 0.1, "initial_ssthresh_pkts": 10, "iw_pkts": 10}
    late = {**flow, "ack_every": 2}
    flows = (flow, late, {**late, "byte_counting": True}, {**late, "cc": "newreno"})
    grown = simulate(*flows, capacity_bps=120e6, buffer_pkts=200, duration_s=4).cwnd_pkts[-1] - 10
    assert grown == pytest.approx([39, 19.5, 39, 19.5], abs=3)


@installed
def test_random_losses_use_the_link_and_are_no_overflows():
    result = simulate(EARLY, capacity_bps=120e6, buffer_pkts=1000, loss_rate=0.01, duration_s=200)
    lost = result.forwarded_pkts[-1] - result.received_pkts[-1, 0]
    assert lost == pytest.approx(0.01 * result.forwarded_pkts[-1], rel=0.25)
    assert result.dropped_pkts[-1] == 0 and len(events(result, LOSS)) > 50


@installed
def test_jitter_delays_packets_but_keeps_them_in_order():
    flow = {"rtt_s": 0.1, "rwnd_pkts": 50}
    plain, jittered = (simulate(flow, jitter_s=jitter_s, duration_s=30) for jitter_s in (0.0, 0.01))
    assert not len(jittered.events) and (jittered.delivered_pkts == jittered.received_pkts).all()
    assert plain.srtt_s[5:].max() < 0.1035
    assert plain.srtt_s[5:].mean() + 0.0005 < jittered.srtt_s[5:].mean() < 0.1135
    assert jittered.delivered_pkts[-1, 0] < plain.delivered_pkts[-1, 0]


@installed
def test_access_link_bounds_a_flow_and_its_queue_drops():
    flow = {**EARLY, "access_bps": SLOW_BPS / 2, "access_queue_pkts": 50}
    result = simulate(flow, duration_s=60)
    assert np.diff(result.received_pkts[:, 0]).max() <= CAPACITY_PPS / 2 + 1
    assert result.delivered_pkts[-1, 0] == pytest.approx(CAPACITY_PPS / 2 * 60, rel=0.05)
    assert result.dropped_pkts[-1] == 0 and len(events(result, LOSS)) >= 2
    assert events(result, LOSS)["cwnd_before"] == pytest.approx(50 + 50, abs=3)


@installed
def test_hosts_that_jitter_end_a_lock_out():
    flow = {"rtt_s": 0.05, "access_bps": SLOW_BPS, "rwnd_pkts": 120, "iw_pkts": 3, "initial_ssthresh_pkts": 90}

    def shares(access_jitter_s: float) -> np.ndarray:
        jittered = {**flow, "access_jitter_s": access_jitter_s}
        pkts = simulate(jittered, jittered | {"start_s": 10}, duration_s=60, buffer_pkts=20).delivered_pkts
        return (pkts[-1] - pkts[20]) / (pkts[-1] - pkts[20]).sum()

    # both send at exactly the rate of the bottleneck: one of them always meets a full queue
    assert shares(0.0).min() < 0.01
    assert shares(service_time_s(PACKET_BYTES, SLOW_BPS)).min() > 0.2


@installed
def test_flows_stop_and_finish():
    result = simulate(
        {**EARLY, "stop_s": 5},
        {**EARLY, "cc": "newreno", "stop_s": 5},
        {**EARLY, "size_pkts": 400, "start_s": 6},
        {**EARLY, "cc": "ccid2", "size_pkts": 300, "start_s": 6},
        {**EARLY, "cc": "ccid2", "start_s": 6, "stop_s": 8},
        duration_s=20,
        buffer_pkts=2000,
    )
    assert result.delivered_pkts[-1, 2] == 400 and result.delivered_pkts[-1, 3] == 300
    for flow, stopped_s in ((0, 5), (1, 5), (4, 8)):
        pkts = result.delivered_pkts[:, flow]
        assert pkts[stopped_s - 1] > 100
        # what was on its way still arrives, at most a window
        assert 0 < pkts[-1] - pkts[stopped_s - 1] <= result.cwnd_pkts[stopped_s - 1, flow] + 1
        assert pkts[stopped_s + 3] == pkts[-1]
    assert not len(result.events)


@installed
def test_ccid2_shares_with_its_like_and_halves_its_window():
    flow = {"cc": "ccid2", "rtt_s": 0.04}
    result = simulate(flow, flow | {"start_s": 0.3}, duration_s=120, jitter_s=0.003)
    pkts = result.delivered_pkts[-1] - result.delivered_pkts[20]
    assert pkts.sum() == pytest.approx(100 * CAPACITY_PPS, rel=0.03)
    assert pkts.min() / pkts.max() > 0.5
    assert (result.delivered_pkts == result.received_pkts).all()
    for i in (0, 1):
        losses = events(result, LOSS, i)
        assert len(losses) > 10 and losses["cwnd_after"] == pytest.approx(losses["cwnd_before"] / 2, abs=1)


@installed
def test_packets_of_both_directions_are_conserved():
    flow = {**EARLY, "rtt_s": 0.06}
    result = simulate(
        {**flow, "protocol": "a"},
        {**flow, "cc": "cubic", "start_s": 1, "ack_every": 2},
        {**flow, "direction": "reverse", "access_bps": 6e6, "access_queue_pkts": 20},
        {**flow, "direction": "reverse", "cc": "ccid2", "start_s": 2},
        loss_rate=0.002,
        jitter_s=0.002,
        web=[source(), source("reverse")],
        duration_s=20,
        **TWO_WAY,
    )
    for direction, flows in enumerate(([0, 1], [2, 3])):
        received = result.received_pkts[:, flows].sum(axis=1) + result.web_received_pkts[direction]
        delivered = result.delivered_pkts[:, flows].sum(axis=1) + result.web_delivered_pkts[direction]
        assert (delivered <= received).all() and (np.diff(received) >= 0).all() and (np.diff(delivered) >= 0).all()
        assert (received <= result.link_forwarded_pkts[direction]).all()
        lost = result.link_forwarded_pkts[direction, -1] - received[-1]
        assert 0 < lost < 0.01 * received[-1]
        assert result.web_delivered_pkts[direction, -1] > 1500
        data, acks = (np.diff(x[direction], prepend=0) for x in (result.link_forwarded_pkts, result.link_acks))
        assert (PACKET_BYTES * data + 52 * acks <= SLOW_BPS / 8 + PACKET_BYTES).all()
        # every packet that arrives is acknowledged, at most one by one
        assert received[-1] / 2.2 < result.link_acks[1 - direction, -1] <= received[-1] + 100
    # a packet is taken while less than 29.5 wait
    assert (result.link_queue_pkts >= 0).all() and 5 < result.link_queue_pkts.max() <= 30.5
    assert (result.link_dropped_pkts[:, -1] > 0).all()


@installed
def test_a_reverse_flow_alone_is_a_forward_flow_alone():
    flow = {**EARLY, "ack_every": 2}
    forward, reverse = (simulate({**flow, "direction": way}, **TWO_WAY) for way in ("forward", "reverse"))
    assert_same(forward, reverse, "delivered_pkts received_pkts cwnd_pkts srtt_s")
    for name in ("link_forwarded_pkts", "link_dropped_pkts", "link_queue_pkts", "link_acks", "link_acks_dropped"):
        assert np.array_equal(getattr(forward, name), getattr(reverse, name)[::-1]), name
    what = ["t_s", "kind", "cwnd_before", "cwnd_after"]
    assert forward.events[what].tolist() == reverse.events[what].tolist() and len(forward.events) >= 4
    assert forward.delivered_pkts[-1, 0] > 0.85 * 40 * CAPACITY_PPS and forward.link_acks[1, -1] > 10000
    # a link that ACKs hardly load: the same as without one
    one_way = simulate(flow)
    assert one_way.delivered_pkts[-1, 0] == pytest.approx(forward.delivered_pkts[-1, 0], rel=0.005)


@installed
def test_acks_take_room_on_their_link():
    flow = {**EARLY, "rwnd_pkts": 200}
    slow = {"reverse_bps": 0.25e6, "reverse_buffer_pkts": 2, "buffer_pkts": 200, "duration_s": 20}
    result = simulate(flow, **slow)
    assert np.diff(result.link_acks[1, 5:]) == pytest.approx(0.25e6 / (8 * 52), abs=1)
    assert result.link_acks_dropped[1, -1] > 1000 and 1 < result.link_queue_pkts[1].max() <= 2
    assert not result.link_dropped_pkts.any() and not len(result.events)
    engine = run(dumbbell(flow, **slow))
    assert result.link_acks[1, -1] == pytest.approx(engine.link_acks[1, -1], rel=0.02)
    # those that pass speak for the others
    assert result.delivered_pkts[-1, 0] > 1.2 * result.link_acks[1, -1]
    assert result.delivered_pkts[-1, 0] == pytest.approx(engine.delivered_pkts[-1, 0], rel=0.1)
    longer = simulate(flow, **slow, ack_bytes=104)
    assert longer.link_acks[1, -1] == pytest.approx(result.link_acks[1, -1] / 2, rel=0.02)


@installed
def test_reverse_data_compress_acks():
    window = {"rtt_s": 0.1, "rwnd_pkts": 50, "initial_ssthresh_pkts": 20}
    against = {"rtt_s": 0.08, "direction": "reverse", "start_s": 5}
    settings = {**TWO_WAY, "duration_s": 20, "sample_s": 0.01}

    def queue_pkts(*flows: dict) -> np.ndarray:
        return simulate(*flows, **settings).link_queue_pkts[0, 500:]

    # the ACKs of a train come one service time apart; behind data they wait for each other and release the packets at once
    assert queue_pkts(window).max() < 1
    compressed = queue_pkts(window, against)
    engine = run(dumbbell(window, against, **settings)).link_queue_pkts[0, 500:]
    assert compressed.max() > 3 and engine.max() > 3
    assert 0.01 < (compressed >= 1).mean() < 0.2


@installed
@pytest.mark.parametrize(("ways", "directions"), [({}, ["forward"]), (TWO_WAY, ["forward", "reverse"])])
def test_short_flows_carry_what_the_engines_do(ways, directions):
    flows = [{"rtt_s": 0.05, "rwnd_pkts": 44}, {"rtt_s": 0.09, "rwnd_pkts": 44, "start_s": 1}]
    scenario = dumbbell(*flows, jitter_s=0.002, web=[source(way) for way in directions], duration_s=25, **ways)
    result, engine = ns2.run(scenario, 3), run(scenario, 3)
    here, there = (x.web_delivered_pkts[: len(directions)] for x in (result, engine))
    assert (there[:, -1] > 2500).all()
    assert here[:, -1] == pytest.approx(there[:, -1], rel=0.02)
    assert abs(here - there).max() < 0.05 * there[:, -1].max()
    assert (result.web_delivered_pkts <= result.web_received_pkts).all()
    assert result.web_active.mean(axis=1) == pytest.approx(engine.web_active.mean(axis=1), rel=0.25)
    assert result.received_total_pkts == pytest.approx(engine.received_total_pkts, rel=0.03)


@installed
@pytest.mark.parametrize("flow", [{}, {"cc": "newreno"}, {"cc": "cubic", "initial_ssthresh_pkts": 8}])
def test_a_place_used_again_is_as_good_as_new(monkeypatch, flow):
    scenario = dumbbell(
        {"rtt_s": 0.05},
        {"rtt_s": 0.07, "direction": "reverse"},
        web=[source(**flow), source("reverse", **flow)],
        duration_s=8,
        **TWO_WAY,
    )
    again = ns2.run(scenario, 3)
    assert again.link_dropped_pkts[:, -1].min() > 20
    monkeypatch.setattr(ns2, "_longest_way_s", lambda scenario, rtt_s: 1000.0)  # never used again
    new = ns2.run(scenario, 3)
    assert_same(again, new, "delivered_pkts cwnd_pkts link_forwarded_pkts link_dropped_pkts link_acks_dropped")
    assert_same(again, new, "web_delivered_pkts web_received_pkts web_active")


@installed
def test_seeds_decide_and_nothing_else():
    flows = ({**EARLY, "protocol": "a"}, {**EARLY, "cc": "ccid2", "start_s": 0.5}, {**EARLY, "cc": "libra"})
    one, again, other = (simulate(*flows, seed=seed, jitter_s=0.003, loss_rate=0.001) for seed in (7, 7, 8))
    assert_same(one, again, "delivered_pkts received_pkts cwnd_pkts srtt_s forwarded_pkts queue_pkts")
    assert np.array_equal(one.events[["t_s", "kind"]], again.events[["t_s", "kind"]])
    assert not np.array_equal(one.delivered_pkts, other.delivered_pkts)


@installed
def test_runs_of_a_paper_make_a_trace(tmp_path):
    paper = load_paper(OGURA)
    specs = [shorten(spec, 3.0) for spec in run_specs(paper, "model1")]
    trace = ns2.simulate_runs(paper, "model1", iter(specs))
    assert trace.provenance["tool"] == "ns-2 2.35" and trace.provenance["backend"] == "ns2"
    write(trace, tmp_path / "trace")
    back = read(tmp_path / "trace")
    assert back.provenance["code"] == ns2.source_hash()
    assert back.runs["backend"].eq("ns2").all() and len(back.runs) == 6
    assert {"protocol", "rtt_ms", "buffer_pkts"} <= set(back.runs)
    assert len(back.samples) == 6 * 150 and back.samples["cwnd_pkts"].gt(1).all()
    assert set(back.events["kind"]) <= set(EVENT_NAMES) and back.events["w_max"].isna().all()
    with_queue = [spec for spec in run_specs(paper, "loss_sweep") if spec.point["protocol"] == "Proposal"][:1]
    with pytest.raises(InputError, match=r"config/papers/ogura.yaml: experiments.loss_sweep: flows\[0\].cc: .*'ogura'"):
        ns2.simulate_runs(paper, "loss_sweep", with_queue)


@installed
def test_real_failures_end_in_one_line():
    with pytest.raises(InputError, match=r"ns-2 failed on A: .*ack vector.*; .*initial_ssthresh_pkts"):
        simulate({"cc": "ccid2", "protocol": "A", "rtt_s": 0.1, "iw_pkts": 2000}, loss_rate=0.3, buffer_pkts=9999)
