"""ns-3 as a source of traces. What the scenario becomes is tested everywhere, the runs where ns-3 is installed."""

import math
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tcpfair.cc.registry import algorithm
from tcpfair.engine import dumbbell as engine
from tcpfair.errors import InputError
from tcpfair.files.layout import Layout, repository_root
from tcpfair.papers.expand import RunSpec
from tcpfair.papers.papers import load_paper
from tcpfair.runs.trace import read, write
from tcpfair.sources import ns3
from tests.engine.scenarios import PACKET_BYTES, SLOW_BPS, dumbbell

PAPER = load_paper(Layout(repository_root()).paper_config("ogura"))
SCRIPT = Path(ns3.__file__).with_name("ns3_dumbbell.py")


def flow(**settings):
    return dumbbell({"rtt_s": 0.05, **settings}).flows[0]


def socket(**settings):
    """The options of the socket of one flow."""
    return ns3.request(dumbbell({"rtt_s": 0.05, **settings}), 1)["flows"][0]["socket"]


def spec(scenario, run_id: int = 0, seed: int = 1) -> RunSpec:
    return RunSpec(run_id=run_id, replicate=0, seed=seed, point={}, scenario=scenario)


def run(scenario, seed: int = 1):
    return ns3.simulate_runs(PAPER, "model1", [spec(scenario, seed=seed)])


# --- the scenario in ns-3's words ------------------------------------------------------------------------------------


def test_renos_rule_is_counted_per_ack_or_per_packet():
    for cc in ("reno", "newreno", "sack"):
        assert ns3.congestion_control(flow(cc=cc))[0] == "ns3::TcpNewReno"
        assert ns3.congestion_control(flow(cc=cc, byte_counting=True))[0] == "ns3::TcpLinuxReno"
    assert socket(cc="newreno")["Sack"] == "false" and socket(cc="sack")["Sack"] == "true"


def test_cubic_has_the_papers_parameters_and_no_hystart():
    type_name, attributes, left_out = ns3.congestion_control(flow(cc="cubic"))
    assert type_name == "ns3::TcpCubic" and left_out == []
    assert attributes["Beta"] == "0.8" and attributes["C"] == "0.4" and attributes["HyStart"] == "false"
    assert ns3.congestion_control(flow(cc="cubic", params={"beta": 0.3}))[1]["Beta"] == "0.7"
    assert ns3.congestion_control(flow(cc="cubic", params={"tcp_friendly": 0}))[1]["TcpFriendliness"] == "false"


def test_a_switch_that_ns3_lacks_is_named():
    assert ns3.congestion_control(flow(cc="cubic", params={"linux_2_6_22": 1}))[2] == ["cubic.linux_2_6_22"]
    assert ns3.congestion_control(flow(cc="cubic", params={"linux_2_6_22": 0}))[2] == []


@pytest.mark.parametrize(
    ("of_flow", "settings", "message"),
    [
        ({"params": {"b": 0.8}}, {}, "cc reno: parameter 'b' is not in ns-3's TcpNewReno; known are none"),
        ({"cc": "cubic", "params": {"betta": 0.8}}, {}, "cc cubic: unknown parameter 'betta'"),
        ({"cc": "ccid2"}, {}, "cc 'ccid2' is not in ns-3; it has bic, c"),
        ({"recovery": "reno"}, {}, "recovery 'reno' is not in ns-3; it has sack, newreno"),
        ({}, {"reverse_bps": 1e6}, "reverse_bps: the ns-3 backend has nothing for it"),
    ],
)
def test_what_ns3_cannot_do_is_refused_in_one_line(of_flow, settings, message):
    scenario = dumbbell({"rtt_s": 0.05, **of_flow}).model_copy(update=settings)
    with pytest.raises(InputError, match=f"config/papers/ogura.yaml: experiments.model1: .*{message}"):
        run(scenario)


def test_parameters_have_the_registrys_names():
    for cc, (_, counterparts) in ns3.MODELS.items():
        assert set(counterparts) <= {param.name for param in algorithm(cc).params}, cc


def test_a_full_packet_takes_the_time_of_its_bytes_on_the_wire():
    scenario = dumbbell({"rtt_s": 0.05, "access_bps": 1e8}, wire_bytes=1538, payload_bytes=1448)
    asked = ns3.request(scenario, 1)
    bits = 8 * (1448 + 42)  # TCP, IP and point-to-point headers
    assert bits / asked["link"]["capacityBps"] == pytest.approx(8 * 1538 / SLOW_BPS)
    assert bits / asked["flows"][0]["flow"]["accessBps"] == pytest.approx(8 * 1538 / 1e8)
    assert asked["link"]["segment"] == 1448 and asked["link"]["buffer"] == 30


def test_windows_without_limit_become_ns3s_largest():
    free, limited = socket(ack_every=2, delack_s=0.04), socket(rwnd_pkts=44, initial_ssthresh_pkts=20)
    assert free["RcvBufSize"] == str(2**30 - 1) and free["InitialSlowStartThreshold"] == str(2**32 - 1)
    assert free["DelAckCount"] == "2" and free["DelAckTimeout"] == "40000000ns"
    assert limited["RcvBufSize"] == str(44 * PACKET_BYTES)
    assert limited["InitialSlowStartThreshold"] == str(20 * PACKET_BYTES)


def test_seeds_of_62_bits_stay_apart_in_ns3s_two_numbers():
    seeds = [0, 1, 2**31 - 1, 2**31, 2**62 - 1]
    links = [ns3.request(dumbbell({"rtt_s": 0.05}), seed)["link"] for seed in seeds]
    pairs = {(asked["seed"], asked["run"]) for asked in links}
    assert len(pairs) == len(seeds)
    assert all(0 < seed <= 2**31 and 0 <= run < 2**31 for seed, run in pairs)


def test_estimate_grows_with_packets_and_windows():
    short, long = (spec(dumbbell({"rtt_s": 0.05}, duration_s=duration_s)) for duration_s in (32, 320))
    one, ten = ns3.estimate_s([short]), ns3.estimate_s([long])
    assert ten - one == pytest.approx(9 * (one - ns3.estimate_s([])))
    fat = spec(dumbbell({"rtt_s": 5.0}, duration_s=32))
    assert ns3.estimate_s([fat]) > ns3.estimate_s([short])


# --- finding and running ns-3 ----------------------------------------------------------------------------------------


def fake_python(folder: Path, body: str) -> str:
    """A program that stands for a Python with ns-3: it has a version, and does ``body`` when asked to simulate."""
    path = folder / "python"
    path.write_text(f'#!/bin/sh\nif [ "$3" = --version ]; then echo 3.99; exit 0; fi\nfolder="$4"\n{body}\n')
    path.chmod(0o755)
    return str(path)


def test_without_ns3_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.delenv(ns3.PYTHON_VARIABLE, raising=False)
    monkeypatch.setattr(ns3.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install ns3`, then `export TCPFAIR_NS3_PYTHON="):
        run(dumbbell({"rtt_s": 0.05}))


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("/no/where", "TCPFAIR_NS3_PYTHON: /no/where: No such file"),
        ("/bin/false", "has no package ns3; install it with"),
    ],
)
def test_a_python_that_is_not_there_or_has_no_ns3_is_named(monkeypatch, python, message):
    monkeypatch.setenv(ns3.PYTHON_VARIABLE, python)
    with pytest.raises(InputError, match=message):
        ns3.tool_version()


def test_what_ns3_says_when_it_fails_is_passed_on_in_one_line(monkeypatch, tmp_path):
    body = 'echo "Traceback" >&2; echo "msg=\\"no such attribute\\"" >&2; echo "run 0 ended with status -6" >&2; exit 1'
    monkeypatch.setenv(ns3.PYTHON_VARIABLE, fake_python(tmp_path, body))
    says = 'ns3: ns-3 failed with status 1: Traceback | msg="no such attribute" | run 0 ended with status -6'
    with pytest.raises(InputError, match=f"^{re.escape(says)}$"):
        run(dumbbell({"rtt_s": 0.05}))


def test_tables_are_read_as_intervals(monkeypatch, tmp_path):
    columns = "flow_id,sample,delivered_bytes,received_bytes,cwnd_pkts,ssthresh_pkts,srtt_s"
    first = "1,1,3000,4500,10,inf,0 2,1,0,0,10,inf,0"
    second = "1,2,9000,9000,5.5,5,0.05 2,2,1500,1500,11,inf,0.06"
    body = f"""
    printf '%s\\n' {columns} {first} {second} >"$folder/samples-0.csv"
    printf '%s\\n' sample,forwarded_pkts,dropped_pkts,queue_pkts 1,4,0,1.5 2,10,3,0 >"$folder/link-0.csv"
    printf '%s\\n' flow_id,t_s,kind,cwnd_before,cwnd_after 1,1.25,loss,11,5.5 >"$folder/events-0.csv"
    """
    monkeypatch.setenv(ns3.PYTHON_VARIABLE, fake_python(tmp_path, body))
    flows = ({"rtt_s": 0.05}, {"rtt_s": 0.06})
    trace = run(recorded(*flows, duration_s=2), seed=3)
    write(trace, tmp_path / "trace")
    back = read(tmp_path / "trace")
    assert back.provenance["backend"] == "ns3" and back.provenance["tool"] == "ns-3 3.99"
    assert back.samples["delivered_bytes"].tolist() == [3000, 6000, 0, 1500]
    assert back.samples["received_bytes"].tolist() == [4500, 4500, 0, 1500]
    assert back.samples["t_s"].tolist() == [1, 2, 1, 2]
    assert back.samples["cwnd_pkts"].tolist() == [10, 5.5, 10, 11]
    assert back.link["forwarded_bytes"].tolist() == [4 * PACKET_BYTES, 6 * PACKET_BYTES]
    assert back.link["dropped_pkts"].tolist() == [0, 3]
    (event,) = back.events.itertuples()
    assert (event.kind, event.t_s, event.cwnd_before, event.cwnd_after) == ("loss", 1.25, 11, 5.5)
    assert math.isnan(event.k_s)


def test_the_script_needs_nothing_of_this_project():
    imported = set(re.findall(r"^ *(?:import|from) (\w+)", SCRIPT.read_text(), re.MULTILINE))
    assert imported - set(sys.stdlib_module_names) == {"cppyy"}


# --- ns-3 runs -------------------------------------------------------------------------------------------------------

RTT_S, BUFFER_PKTS, STOP_S, SIZE_PKTS, LOSS_RATE = 0.05, 50, 6.0, 3000, 0.01
RENO = {"rtt_s": RTT_S, "initial_ssthresh_pkts": 50, "byte_counting": True}
LOSSY = {"rtt_s": RTT_S, "access_bps": 1e8, "access_jitter_s": 1e-4}
EVERY_MODEL = [{"rtt_s": RTT_S, "cc": cc} for cc in ns3.MODELS]  # with every attribute that has a counterpart


def recorded(*flows, **settings):
    return dumbbell(*flows, **settings, record=("samples", "cwnd", "events", "link"))


SCENARIOS = {
    "every model": (recorded(*EVERY_MODEL, buffer_pkts=500, duration_s=2), 1),
    "sawtooth": (recorded(RENO, buffer_pkts=BUFFER_PKTS, duration_s=40), 1),
    **{
        name: (recorded(LOSSY, loss_rate=LOSS_RATE, jitter_s=0.003, duration_s=20), seed)
        for name, seed in (("lossy", 7), ("lossy again", 7), ("other seed", 8))
    },
    "finite": (
        recorded(
            {"rtt_s": RTT_S, "size_pkts": SIZE_PKTS, "cc": "cubic", "params": {"linux_2_6_22": 1}},
            {"rtt_s": 2 * RTT_S, "start_s": 2, "stop_s": STOP_S, "ack_every": 2, "reduction": "prr"},
            duration_s=20,
        ),
        1,
    ),
    "jitter": (recorded({"rtt_s": 0.1, "rwnd_pkts": 1}, jitter_s=0.02, duration_s=40), 1),
    "host jitter": (
        recorded({"rtt_s": 0.1, "rwnd_pkts": 1, "access_bps": 1e12, "access_jitter_s": 0.02}, duration_s=40),
        1,
    ),
    "window": (recorded({"rtt_s": 0.1, "rwnd_pkts": 20, "recovery": "newreno"}, duration_s=10), 1),
}


@pytest.fixture(scope="module")
def traces():
    """All runs of SCENARIOS by name: one call of ns-3."""
    try:
        ns3.tool_version()
    except InputError as error:
        pytest.skip(str(error))
    specs = [spec(scenario, run_id, seed) for run_id, (scenario, seed) in enumerate(SCENARIOS.values())]
    whole = ns3.simulate_runs(PAPER, "model1", specs)
    tables = ("runs", "flows", "samples", "link", "events")
    return {
        name: {table: rows[rows["run_id"] == run_id] for table in tables for rows in [getattr(whole, table)]}
        for run_id, name in enumerate(SCENARIOS)
    } | {"whole": whole}


def test_a_trace_of_ns3_has_the_schema(traces, tmp_path):
    write(traces["whole"], tmp_path / "trace")
    back = read(tmp_path / "trace")
    assert back.provenance["tool"].startswith("ns-3 3") and back.provenance["code"] == ns3.source_hash()
    assert set(back.runs["backend"]) == {"ns3"} and set(back.runs["paper"]) == {"ogura"}
    assert traces["finite"]["runs"]["left_out"].item() == "cubic.linux_2_6_22"
    assert traces["sawtooth"]["runs"]["left_out"].item() == ""
    assert len(traces["finite"]["samples"]) == 2 * 20


def test_every_algorithm_and_parameter_is_one_of_ns3s(traces):
    delivered = traces["every model"]["samples"].groupby("flow_id")["delivered_bytes"].sum()
    assert len(delivered) == len(ns3.MODELS) and (delivered > 0).all()


@pytest.mark.parametrize("name", SCENARIOS)
def test_packets_are_conserved(traces, name):
    scenario = SCENARIOS[name][0]
    samples, link = traces[name]["samples"], traces[name]["link"]
    received_pkts = samples["received_bytes"].sum() / PACKET_BYTES
    forwarded_pkts = link["forwarded_bytes"].sum() / PACKET_BYTES
    # what the link took either arrived, or was lost at random, or is on its way, or came twice after a timeout
    underway = SLOW_BPS * max(f.rtt_s for f in scenario.flows) / (8 * PACKET_BYTES) + scenario.buffer_pkts
    assert received_pkts <= forwarded_pkts
    lost = scenario.loss_rate * forwarded_pkts
    assert forwarded_pkts - received_pkts <= lost + 4 * math.sqrt(lost) + 2 * underway
    per_interval = samples.groupby("t_s")["received_bytes"].sum()
    assert per_interval.max() <= SLOW_BPS * scenario.sample_s / 8 + 5 * PACKET_BYTES  # jitter of 3 packet times
    so_far = samples.groupby("flow_id")[["delivered_bytes", "received_bytes"]].cumsum()
    assert (so_far["delivered_bytes"] <= so_far["received_bytes"]).all()
    assert link["queue_pkts"].max() <= scenario.buffer_pkts + 1
    assert (samples["delivered_bytes"] % PACKET_BYTES == 0).all()


def test_reno_peaks_at_bdp_plus_buffer_and_repeats_with_the_sawtooth_period(traces):
    events = traces["sawtooth"]["events"]
    losses = events[events["kind"] == "loss"].iloc[1:]
    capacity_pps = SLOW_BPS / (8 * PACKET_BYTES)
    peak = capacity_pps * RTT_S + BUFFER_PKTS
    assert losses["cwnd_before"].to_numpy() == pytest.approx(peak, rel=0.04)
    assert losses["cwnd_after"].to_numpy() == pytest.approx(peak / 2, rel=0.04)
    # from W/2 to W the window passes 3/8 W^2 packets, and with a buffer of one BDP the link is never idle
    period_s = 3 / 8 * peak**2 / capacity_pps + 2 * RTT_S
    assert len(losses) >= 7
    assert np.diff(losses["t_s"]) == pytest.approx(period_s, rel=0.06)
    ends = events[events["kind"] == "recovery_end"]
    assert len(ends) == pytest.approx(len(losses), abs=2)


def test_engine_and_ns3_agree_on_a_reno_sawtooth(traces):
    scenario, seed = SCENARIOS["sawtooth"]
    ours = engine.run(scenario, seed)
    theirs = traces["sawtooth"]["samples"].iloc[10:]
    delivered = np.diff(ours.delivered_pkts[9:, 0]).mean() * PACKET_BYTES
    assert theirs["delivered_bytes"].mean() == pytest.approx(delivered, rel=0.01)
    assert theirs["cwnd_pkts"].mean() == pytest.approx(ours.cwnd_pkts[10:, 0].mean(), rel=0.04)
    assert theirs["srtt_s"].mean() == pytest.approx(ours.srtt_s[10:, 0].mean(), rel=0.04)


def test_equal_seeds_give_equal_runs_and_others_do_not(traces):
    for table in ("samples", "link", "events"):
        first, again, other = (
            traces[name][table].drop(columns="run_id").reset_index(drop=True)
            for name in ("lossy", "lossy again", "other seed")
        )
        pd.testing.assert_frame_equal(first, again, check_exact=True)
        assert not first.equals(other)


def test_random_loss_has_its_rate_and_halves_the_window(traces):
    events = pd.concat([traces["lossy"]["events"], traces["other seed"]["events"]])
    losses = events[events["kind"] == "loss"]
    assert len(losses) > 20
    assert (losses["cwnd_after"] / losses["cwnd_before"]).mean() == pytest.approx(0.5, abs=0.1)
    samples = traces["lossy"]["samples"]
    forwarded_pkts = traces["lossy"]["link"]["forwarded_bytes"].sum() / PACKET_BYTES
    missing = forwarded_pkts - samples["received_bytes"].sum() / PACKET_BYTES
    expected = LOSS_RATE * forwarded_pkts
    assert abs(missing - expected) < 4 * math.sqrt(expected) + 30


def test_flows_end_when_they_should(traces):
    samples = traces["finite"]["samples"]
    sized = samples[samples["flow_id"] == 1]
    assert sized["delivered_bytes"].sum() == SIZE_PKTS * PACKET_BYTES
    stopped = samples[samples["flow_id"] == 2]
    assert (stopped.loc[stopped["t_s"] <= 2, "received_bytes"] == 0).all()
    assert (stopped.loc[(stopped["t_s"] > 3) & (stopped["t_s"] <= STOP_S), "received_bytes"] > 0).all()
    # what was under way, a retransmission of it after the least RTO at worst
    assert (stopped.loc[stopped["t_s"] > STOP_S + 2, "received_bytes"] == 0).all()


def test_the_receivers_window_limits_the_rate(traces):
    samples = traces["window"]["samples"]
    rate_pps = samples.loc[samples["t_s"] > 2, "delivered_bytes"].mean() / PACKET_BYTES
    assert rate_pps == pytest.approx(20 / 0.101, rel=0.02)  # one window per RTT, which has one service time


@pytest.mark.parametrize("name", ["jitter", "host jitter"])
def test_jitter_is_uniform_on_the_path_and_at_the_host(traces, name):
    rate_pps = traces[name]["samples"]["delivered_bytes"].iloc[1:].mean() / PACKET_BYTES
    # a packet at a time: propagation, one service time and half of the largest jitter
    assert rate_pps == pytest.approx(1 / (0.1 + 0.001 + 0.01), rel=0.02)
