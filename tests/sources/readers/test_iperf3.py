"""iperf3: what each kind of report gives, and what is refused.

``iperf3/reno_4s.json`` is the first 4 s of a Reno flow between Linux hosts. ``iperf3_recorded`` was recorded between two network
namespaces of a busy machine, 20 Mb/s, with iperf 3.1.3, 3.12 and 3.21, and made anonymous. Numbers
expected of them were copied from the reports by hand, or are iperf3's own totals at their ends.
"""

import copy
import gzip
import json
import re

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import iperf3, read_any
from tcpfair.sources.readers.sidecar import SaidFlow, Sidecar
from tests.sources.readers.edits import SAMPLES, edited, told, written
from tests.sources.readers.mutations import assert_sound

SAMPLE = SAMPLES / "iperf3" / "reno_4s.json"
RECORDED = SAMPLES / "iperf3_recorded"
PRINTED_BY_SERVER_MBPS = [26.3, 43.6, 44.0, 45.5]
SENT_BYTES = [5_031_800, 5_473_440, 5_473_440, 5_473_440]
INTERRUPTED = ("stopped.json", "stopped.txt", "stopped_server.jsonl")


def recorded(name, numbers=(), **more):
    """What is read of a recording when trace.yaml says ``more`` of the flows of these numbers."""
    flows = [SaidFlow(flow=f"{name}{number}", **more) for number in numbers]
    return iperf3.read(RECORDED / name, Sidecar(flows=flows))


def load(name):
    return json.loads((RECORDED / name).read_text())


def delivered(flow):
    return np.diff(flow.total_bytes).tolist()


@pytest.fixture
def report():
    return json.loads(SAMPLE.read_text())


# --- One flow ---------------------------------------------------------------------------------------------------------


def test_goodput_is_what_the_server_printed(read):
    (flow,) = read(SAMPLE).flows
    assert np.diff(flow.total_bytes) * 8 / np.diff(flow.times_s) / 1e6 == pytest.approx(PRINTED_BY_SERVER_MBPS)
    assert flow.name == "reno_4s.json"
    assert flow.origin == "receiver: server_output_text"
    assert flow.cc == "reno"
    assert flow.interval_s == 1.0
    assert flow.offset_s == 10.0  # by its title
    assert flow.clock_s == 1_795_222_065 and flow.clock_error_s == 1.0
    assert flow.rtt_s == 0.051690
    assert flow.windows["cwnd_pkts"].tolist() == [254, 268, 282, 295]  # snd_cwnd over the MSS of 1448 bytes
    assert flow.windows["srtt_s"].tolist() == pytest.approx([0.065863, 0.069904, 0.073334, 0.076523])


def test_without_server_output_the_clients_intervals_serve(read, report):
    del report["server_output_text"]
    (flow,) = read(report).flows
    assert delivered(flow) == SENT_BYTES
    assert flow.origin == "sender: intervals"


def test_a_report_of_one_flow_for_the_testbed():
    for name, says in (("p2.json", "2 flows; a report of one is needed"), ("udp.json", "'UDP'; a TCP test is needed")):
        with pytest.raises(InputError, match=says):
            iperf3.read_report(RECORDED / name)


def test_tail_of_the_server_is_no_interval_of_its_own(report, tmp_path):
    report["server_output_text"] += "[  5]   4.00-4.10   sec   414 KBytes  33.9 Mbits/sec                  \n"
    report["server_output_text"] += "[  5]   4.10-4.10   sec  0.00 Bytes  0.00 bits/sec                  \n"
    report["server_output_text"] += "[  5]   0.00-4.10   sec  19.4 MBytes  39.7 Mbits/sec                  receiver\n"
    report["title"] = ""
    run = read_any(written(tmp_path, report))
    assert len(run.samples) == 4
    assert run.flows["start_s"].tolist() == [0.0]


def test_folder_gives_one_flow_per_report(report, tmp_path):
    late = copy.deepcopy(report)
    report["title"] = ""  # one title is missing: the clock decides
    late["start"]["timestamp"] = {"timesecs": report["start"]["timestamp"]["timesecs"] + 2}
    late["start"]["connected"][0]["local_port"] += 1
    late["server_output_text"] = late["server_output_text"].replace("60410", "60411").replace("26.3", "26.4")
    written(tmp_path, report, "a.json")
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(json.dumps(late).encode()))
    (tmp_path / "notes.txt").write_text("not a report")
    run = read_any(tmp_path)
    assert run.flows["start_s"].tolist() == [0.0, 2.0]


def test_system_that_tells_neither_algorithm_nor_window(read, report):
    del report["end"]["sender_tcp_congestion"]
    report["end"]["streams"] = [{"sender": {}}]
    for interval in report["intervals"]:
        interval["streams"][0] |= {"snd_cwnd": -1, "rtt": -1}
    (flow,) = read(report).flows
    assert flow.cc == "unknown"
    assert np.isnan(flow.rtt_s)
    assert flow.windows.empty


# --- Kinds of tests -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(RECORDED.iterdir()), ids=lambda path: path.name)
def test_every_recording_is_sound_or_interrupted(read, refused, path):
    if path.name in INTERRUPTED:
        assert "stops_early" in refused(path)
    else:
        assert_sound(read(path), path.name)


def mbps(*rates):
    """Bytes of intervals of a second."""
    return [rate * 1e6 / 8 for rate in rates]


def about(total):
    """Bytes of which text tells three digits."""
    return pytest.approx(total, rel=0.01)


KIB, MIB = 2**10, 2**20
SENT, RECEIVED, BY_SERVER = "sender: intervals", "receiver: intervals", "receiver: server_output"
# recording: of each flow who counted its bytes, its algorithm, and its bytes, in all or in each interval
FLOWS = {
    "p2.json": [
        (f"{BY_SERVER}_json", "reno", [206_344, 288_152, 274_424, 117_984]),
        (f"{BY_SERVER}_json", "reno", [94_120, 121_632, 172_312, 2_896]),
    ],
    # of text, totals are the client's: receiver.bytes of its streams
    "p2_text.json": [(f"{BY_SERVER}_text", "bbr", about(2_258_048)), (f"{BY_SERVER}_text", "bbr", about(977_400))],
    "server_log.json.gz": [
        *((RECEIVED, "unknown", total) for total in (886_904, 390_960)),  # as the client of p2.json has it
        (SENT, "cubic", 761_648),  # --reverse
        (RECEIVED, "unknown", 2_104_896),  # --bidir
        (SENT, "cubic", 634_224),
        (RECEIVED, "udp", 304_080),
        (RECEIVED, "unknown", 2_278_400),  # --omit 1
    ],
    "late.json": [(RECEIVED, "cubic", [310_624, 119_432, 331_592])],  # --reverse: what the client received
    "bidir.json": [(SENT, "reno", 7_200_904), (RECEIVED, "bbr", 6_226_400)],  # each host has its own algorithm
    "bidir_server.json": [(f"{BY_SERVER}_json", "reno", 6_838_288), (RECEIVED, "bbr", 6_135_224)],
    "bidir_p2.json": [
        *((SENT, "bbr", total) for total in (5_242_880, 2_228_224)),
        (RECEIVED, "bbr", 3_407_872),
        (RECEIVED, "bbr", [655_360, 1_572_864, 1_179_648]),
    ],
    "udp.json": [(f"{BY_SERVER}_json", "udp", [26_064, 111_496, 117_288, 49_232])],
    "udp_text.json": [(f"{BY_SERVER}_text", "udp", about(kib * KIB)) for kib in (192, 184)],
    "omit_text.json": [(f"{BY_SERVER}_text", "bbr", mbps(6.24, 8.50, 7.95))],
    "stream.jsonl": [(f"{BY_SERVER}_json", "reno", total) for total in (3_670_016, 3_407_872)],
    # the oldest version, which does not write the algorithm
    "v3_1.json": [
        (f"{BY_SERVER}_json", "unknown", [1_575_464, 1_456_688, 1_210_528, 57_920]),
        (f"{BY_SERVER}_json", "unknown", [573_408, 1_104_824, 1_180_120, 50_680]),
    ],
    "v3_1_log.json.gz": [
        *((RECEIVED, "unknown", total) for total in (4_300_600, 2_909_032)),
        (SENT, "unknown", 5_411_832),
        (RECEIVED, "udp", 950_272),
    ],
    "client.txt": [(SENT, "unknown", mbps(7.06, 6.88, 6.83)), (SENT, "unknown", mbps(4.29, 3.73, 3.72))],
    "p4_server.txt": [(f"{BY_SERVER}_text", "unknown", about(mib * MIB)) for mib in (4.90, 4.12, 4.41, 3.42)],
    "server.txt": [
        *(
            (RECEIVED, "unknown", about(total)) for total in (2_258_048, 977_400)
        ),  # as the client of p2_text.json has it
        *((RECEIVED, "udp", about(kib * KIB)) for kib in (192, 184)),
        *((RECEIVED, "unknown", about(kib * KIB)) for kib in (1.69 * KIB, 999)),
        (RECEIVED, "unknown", about(2_841_216)),  # --omit 1; without its first second
    ],
    "verbose.txt": [
        *((RECEIVED, "unknown", about(mib * MIB)) for mib in (4.50, 4.38)),
        (SENT, "unknown", about(4.50 * MIB)),
        (SENT, "bbr", about(4.12 * MIB)),
        (RECEIVED, "udp", about(732 * KIB)),
        (RECEIVED, "unknown", about(5.38 * MIB)),
    ],
}


@pytest.mark.parametrize("name", FLOWS)
def test_each_stream_is_a_flow_by_the_best_of_its_counts(name):
    flows = recorded(name).flows
    assert [flow.name for flow in flows] == [f"{name}#{i + 1}" for i in range(len(flows))] or len(flows) == 1
    for flow, (origin, cc, in_bytes) in zip(flows, FLOWS[name], strict=True):
        assert (flow.origin, flow.cc) == (origin, cc)
        assert (delivered(flow) if isinstance(in_bytes, list) else flow.total_bytes[-1]) == (
            pytest.approx(in_bytes) if isinstance(in_bytes, list) else in_bytes
        )


def test_windows_and_rtts_are_the_senders():
    one, other = recorded("p2.json").flows
    assert one.windows["cwnd_pkts"].tolist() == [31, 15, 21] and one.offset_s == 5
    assert (one.rtt_s, other.rtt_s) == (0.005565, 0.00719)
    assert recorded("v3_1.json").flows[0].windows["cwnd_pkts"].tolist() == [12, 14, 12]
    forward, back = recorded("bidir_server.json").flows
    assert len(forward.windows) == 3 and len(back.windows) == 4  # the client's, and the server's
    (udp,) = recorded("udp.json").flows
    assert udp.windows.empty and np.isnan(udp.rtt_s)


def test_times_are_those_of_the_intervals_that_count():
    assert recorded("p2_text.json").flows[0].times_s.tolist() == [0, 1.95, 2.09, 3.14, 4.96]  # the host was late
    assert recorded("late.json").flows[0].times_s.tolist() == [0, 1.950684, 2.000128, 3.955958]
    (flow,) = recorded("omit_text.json").flows  # without the second that was omitted
    assert flow.times_s.tolist() == [0, 1, 2, 3] and len(flow.windows) == 3
    assert flow.clock_s == pytest.approx(load("omit_text.json")["start"]["timestamp"]["timesecs"] + 1.000127)


def test_clients_and_servers_view_of_a_flow_share_its_identity():
    client, server = recorded("p2.json").flows, recorded("server_log.json.gz").flows
    assert client[0].identity == server[0].identity and client[1].identity == server[1].identity
    assert not client[0].identity & server[1].identity and not client[0].identity & client[1].identity


@pytest.mark.parametrize(
    ("name", "omitted_s", "first_s", "in_first", "totals"),
    [  # by hand: of the first counted interval its end and bytes, and the ends' own totals
        ("omit_reset.json", 2, 1.000219, 2_736_720, [9_122_400, 8_210_160]),
        ("omit_reset.txt", 5, 1.00, 12.8e6 / 8 * 2, [8.58 * 2**20, 8.70 * 2**20]),
        ("omit_reset_text.json", 2, 1.00, None, None),
        ("omit_reset_server.txt", 2, 1.00, None, [16.8 * 2**20]),
    ],
)
def test_an_interval_over_the_reset_of_omit_begins_at_0(name, omitted_s, first_s, in_first, totals):
    """iperf3's timers race: the counters are reset, but the next interval still begins where the last omitted one ended."""
    observed = recorded(name)
    flow = observed.flows[0]
    assert flow.times_s[:2].tolist() == [0, first_s]
    if in_first:
        assert delivered(flow)[0] == pytest.approx(in_first)
    if totals:
        assert [flow.total_bytes[-1] for flow in observed.flows] == pytest.approx(totals, rel=0.01)
    assert f"the first {omitted_s} s, which --omit omitted" in told(observed)
    assert flow.clock_s is None or flow.clock_s == pytest.approx(
        load(name)["start"]["timestamp"]["timesecs"] + omitted_s, abs=0.01
    )


def test_both_sums_of_bidir_have_one_name_in_3_9():
    flows = recorded("v3_9_bidir_p2.json").flows
    ends = load("v3_9_bidir_p2.json")["end"]["streams"]
    # two that this host sends, two that it receives; what the last block sent is in no interval
    assert [flow.direction for flow in flows] == ["forward"] * 2 + ["reverse"] * 2
    whose = ("sender", "sender", "receiver", "receiver")
    assert [flow.total_bytes[-1] for flow in flows] == [end[of]["bytes"] for end, of in zip(ends, whose, strict=True)]


@pytest.mark.parametrize("name", ["p4.txt", "v3_9_bidir_p2.txt", "p4_server.txt"])
def test_the_streams_of_one_text_log_begin_together(name):
    assert read_any(RECORDED / name).flows["start_s"].tolist() == [0.0] * 4


def test_server_output_that_lacks_its_first_lines_is_used(tmp_path):
    text = (RECORDED / "p4_server.txt").read_text()
    (tmp_path / "cut.txt").write_text(re.sub("Accepted connection .*\n", "", text))
    flows = iperf3.read(tmp_path / "cut.txt", Sidecar()).flows
    assert [flow.origin for flow in flows] == [f"{BY_SERVER}_text"] * 4


def test_two_text_logs_without_a_clock_cannot_be_put_beside_each_other(tmp_path):
    for name in ("p4.txt", "p4_server.txt"):
        (tmp_path / name).write_text((RECORDED / name).read_text().replace("port 4000", f"port 4{len(name)}0"))
    with pytest.raises(InputError, match="when it started is not recorded"):
        read_any(tmp_path)


def test_clocks_and_cookies():
    one, _ = recorded("stream.jsonl").flows
    assert one.offset_s is None  # --json-stream does not write the title
    assert one.clock_error_s == 0.5 and one.clock_s % 1 == pytest.approx(0.066, abs=1e-3)
    flows = recorded("verbose.txt").flows
    assert np.diff([flow.clock_s for flow in flows]).tolist() == [2, 0, 2, 2, 2]
    assert "cookie cookie0022, stream 1" in flows[0].identity
    assert recorded("client.txt").flows[0].clock_s is None


# --- Interrupted tests --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "flow"), [("stopped.json", "stopped.json"), ("stopped_server.jsonl", "stopped_server.jsonl#2")]
)
def test_an_interrupted_test_is_refused_with_the_name_of_its_flow(name, flow):
    with pytest.raises(InputError, match=rf"the client has terminated'; .* stops_early: true for {flow} as flows"):
        recorded(name)


def test_an_interrupted_test_counts_until_then_when_it_is_said_so():
    observed = recorded("stopped.json", [""], stops_early=True)
    assert delivered(observed.flows[0]) == [2_823_600, 2_476_080, 1_563_840]
    assert "interrupted (the client has terminated)" in told(observed)


def test_the_last_interval_that_an_interrupted_server_repeats_counts_once():
    observed = recorded("stopped_server.jsonl", ["#2", "#4"], stops_early=True)
    assert delivered(observed.flows[1]) == [2_359_296, 2_359_296]
    assert "occurs twice and counts once" in told(observed)


def test_interrupted_flows_that_are_left_out_do_not_stop_the_others():
    assert len(recorded("stopped_server.jsonl", ["#2", "#4"], leave_out=True).flows) == 4


def test_a_stream_without_its_end_was_cut(read, refused):
    text, _, _ = (RECORDED / "stream.jsonl").read_text().rstrip().rpartition("\n")
    assert "no end of this test in the stream" in refused(text)
    said = [SaidFlow(flow=f"recording#{number}", stops_early=True) for number in (1, 2)]
    assert len(read(text, Sidecar(flows=said)).flows) == 2


# --- Contradictions -----------------------------------------------------------------------------------------------------


def whole():
    """p2.json with fields that its version does not write."""
    values = load("p2.json")
    values.setdefault("error", "")
    values["start"]["timestamp"].setdefault("timemillisecs", 946_684_800_000)
    values["start"]["test_start"].setdefault("bidir", 0)
    values["server_output_json"]["end"].setdefault("sender_tcp_congestion", "reno")
    return values


def received_a_hundred_times_as_much(text):
    values = json.loads(text)
    for stream in values["end"]["streams"]:
        del stream["receiver"]
    del values["end"]["sum_received"], values["server_output_json"]["end"]
    for interval in values["server_output_json"]["intervals"]:
        for entry in (*interval["streams"], interval["sum"]):
            entry["bytes"] *= 100
            entry["bits_per_second"] *= 100
    return json.dumps(values)


def field(path, value):
    """A change of a report."""
    return lambda text: json.dumps(edited(json.loads(text), path, value))


P2, LOG = RECORDED / "p2.json", RECORDED / "client.txt"
REFUSED = [  # by code and by size; the others are in refused.yaml
    (received_a_hundred_times_as_much(P2.read_text()), "88690400 bytes received, but 1146096 sent"),
    # what no tool writes is refused at once
    ("[  5] local 10.0.0.1 port 1 connected to 10.0.0.2 port 5201\n" + " " * 500_000, "line 2: longer than 1000"),
    ("Connecting to host a, port 1\n" * 10_002, "more than 10000 tests"),
    ("iperf3: " * 100_000, "longer than 1000"),
    ('{"start": {}}' * 10_010, "more than 10000 tests"),
    ('{"start": ' * 100_000, "not JSON"),
]


@pytest.mark.parametrize(("text", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_what_is_damaged_is_refused(refused, text, says):
    assert says in refused(text)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (P2, r"recording#3: the same flow as recording#1 \(192"),
        (SAMPLE, r"recording#2: the same flow as recording#1 \(.*:60410"),
    ],
)
def test_a_test_that_occurs_twice_in_a_file_is_refused(tmp_path, path, says):
    with pytest.raises(InputError, match=says):
        read_any(written(tmp_path, 2 * path.read_text()))


SAID = [  # a recording, what becomes of its text, what the remarks say
    (SAMPLE, field("server_output_text", "iperf3: OUT OF ORDER\n"), "no interval that can be read"),
    (SAMPLE, field("title", "start = 10"), "does not read start=SECONDS"),
    (
        RECORDED / "late.json",
        field("start.test_start.interval", 1),
        "2 intervals longer than 1 s, up to 1.96 s, the first",
    ),
    (P2, lambda text: text + "iperf3: interrupt - the server\n", "a message between"),
    (RECORDED / "p4.txt", str, "recording#1.*handed to its socket"),
    (RECORDED / "full.jsonl", str, "repeats its events"),
    (RECORDED / "bidir.json", str, "--bidir: recording#1 from client to server"),
    (RECORDED / "udp.json", str, "UDP, without congestion control"),
    (RECORDED / "omit_text.json", str, "the first 1 s, which --omit omitted, are skipped"),
]


@pytest.mark.parametrize(("path", "change", "says"), SAID)
def test_what_is_odd_is_said(read, path, change, says):
    assert re.search(says, told(read(change(path.read_text()))))


def test_remarks_on_logs():
    left_out = "without intervals is skipped: .*the server has terminated"
    assert re.search(left_out, told(recorded("server_log.json.gz")))
    assert "handed to its socket" not in told(recorded("p4_server.txt"))


def test_titles_and_times_before_lines_are_read_over(read, tmp_path):
    text = re.sub("(?m)^", "Sun Nov 22 15:54:37 2026 secret:  ", LOG.read_text())
    for flow, plain in zip(read(text).flows, recorded(LOG.name).flows, strict=True):
        assert flow.total_bytes.tolist() == plain.total_bytes.tolist()
    assert iperf3.sniff(tmp_path / "recording")
