"""Formats of patterns.yaml: samples (tests/samples/README.md states which are recorded) with the totals that their tools print,
refusals of one line, patterns of a trace.yaml, and each sample of all readers claimed by exactly one."""

import re

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import FILES, patterns, plain, read_any
from tcpfair.sources.readers.sidecar import load_sidecar
from tests.sources.readers.edits import NOTHING, SAMPLES, sample_text, written

MIB = 2**20
# sample: backend, seconds and bytes of each flow as the tool's own total states them, relative precision of these
EXPECTED = {
    "iperf2/client.txt": ("iperf2", {"1": (4.3517, 4.38 * MIB), "2": (4.4998, 5.75 * MIB)}, 2e-3),
    "iperf2/client_e.txt": ("iperf2", {"1": (4.5164, 4.84 * MIB), "2": (4.4273, 5.34 * MIB)}, 2e-3),
    "iperf2/one.txt": ("iperf2", {"1": (3.1479, 7.13 * MIB)}, 2e-3),
    "iperf2/server.txt": ("iperf2", {"1": (3.4825, 3.50 * MIB), "2": (3.5288, 4.50 * MIB)}, 2e-3),
    "iperf2/server_e.txt": ("iperf2", {"1": (3.4674, 3.75 * MIB), "2": (3.5568, 4.25 * MIB)}, 2e-3),
    "iperf2/client_y.csv": ("iperf2-csv", {"1": (4.3, 2361164), "2": (4.4, 7995452)}, 0),
    "iperf2/one_y.csv": ("iperf2-csv", {"1": (3.1, 7471164)}, 0),
    "nuttcp/transmit.txt": ("nuttcp", {"flow1": (4.14, 9.25 * MIB)}, 1e-5),
    "nuttcp/receive.txt": ("nuttcp", {"flow1": (4.30, 9.5625 * MIB)}, 1e-5),
    "nuttcp/parse.txt": ("nuttcp", {"flow1": (4.14, 9.25 * MIB)}, 1e-5),
    "netperf/stream.txt": ("netperf", {"flow1": (4.33, 18.88e6 / 8 * 4.33)}, 1e-5),
    "netperf/maerts.txt": ("netperf", {"flow1": (4.00, 18.91e6 / 8 * 4.00)}, 2e-3),
    "qlog/client.qlog.gz": ("qlog", {"received": (0.6735, 133552)}, 0),
    "qlog/server.sqlog.gz": ("qlog", {"received": (0.6518, 133552)}, 0),
    "ndt7/server.json.gz": ("ndt7", {"download": (3.974391, 5411171)}, 0),
    "ndt7/client.jsonl": ("ndt7", {"download": (3.974391, 5411171)}, 0),
}


def read_with(folder, text, trace):
    """The flows of a text with its trace.yaml."""
    written(folder, trace, "recording.trace.yaml")
    path = written(folder, text)
    return patterns.read(path, load_sidecar(path)).flows


@pytest.mark.parametrize("name", EXPECTED)
def test_each_sample_has_the_total_of_its_tool(name):
    backend, flows, share = EXPECTED[name]
    observed = patterns.read(SAMPLES / name, NOTHING)
    assert observed.backend == backend and [flow.name for flow in observed.flows] == list(flows)
    for flow in observed.flows:
        seconds, total = flows[flow.name]
        assert flow.stop_s - flow.start_s == pytest.approx(seconds, abs=0.002)
        assert flow.total_bytes[-1] == pytest.approx(total, rel=share, abs=0.5)
    trace = read_any(SAMPLES / name)
    assert trace.runs["backend"].tolist() == [backend] and len(trace.flows) == len(flows)


def test_every_sample_is_claimed_by_exactly_one_reader():
    claims = {
        str(path.relative_to(SAMPLES)): [reader.NAME for reader in FILES if reader.sniff(path)]
        for path in sorted(SAMPLES.rglob("*"))
        if path.is_file() and not {"testbed"} & set(path.parts) and path.suffix not in (".yaml", ".md")
    }
    assert len(claims) > 60
    twice_or_never = {name: readers for name, readers in claims.items() if len(readers) != 1}
    assert not twice_or_never, "narrow one reader's sniff (plain.sniff excludes tables that have a reader of their own)"
    assert {name for name, readers in claims.items() if readers == ["patterns"]} == set(EXPECTED)


def test_enhanced_output_has_clock_window_and_rtt():
    one, _ = patterns.read(SAMPLES / "iperf2/client_e.txt", NOTHING).flows
    assert one.clock_s == 1795465154 and one.clock_error_s == 1
    assert one.windows["cwnd_pkts"].iloc[0] == pytest.approx(11 * 1024 / 1448) and one.rtt_s == 0.015135
    assert one.windows["srtt_s"].iloc[0] == pytest.approx(0.032672)


def test_windows_of_qlog_belong_to_what_is_sent(read):
    event = {"data": {"header": {"packet_type": "1RTT"}, "raw": {"length": 1000}}, "name": "transport:packet_sent"}
    metrics = {"name": "recovery:metrics_updated", "data": {"congestion_window": 14480, "smoothed_rtt": 50}}
    events = [{**event, "time": 10.0 * i} for i in range(20)] + [{**metrics, "time": 195}]
    (flow,) = read({"qlog_version": "0.3", "traces": [{"events": events}]}).flows
    assert flow.total_bytes[-1] == 20_000 and flow.rtt_s == 0.05 and flow.windows["cwnd_pkts"].tolist() == [10.0]
    assert flow.origin.startswith("sender")


IPERF2, CSV = sample_text("iperf2/client.txt"), sample_text("iperf2/client_y.csv")
NUTTCP, PARSE = sample_text("nuttcp/transmit.txt"), sample_text("nuttcp/parse.txt")
NETPERF, MAERTS = sample_text("netperf/stream.txt"), sample_text("netperf/maerts.txt")
QLOG, SEQ = sample_text("qlog/client.qlog.gz"), sample_text("qlog/server.sqlog.gz")
NDT7, NDT7_LINES = sample_text("ndt7/server.json.gz"), sample_text("ndt7/client.jsonl")


def first(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


def test_an_empty_file_is_of_no_format(refused, tmp_path):
    assert "none of the formats" in refused("")
    assert not patterns.sniff(tmp_path / "recording") and not patterns.sniff(tmp_path)


def test_a_test_that_stops_early(tmp_path):
    text = NUTTCP[: NUTTCP.index("\n\n")]
    (flow,) = read_with(tmp_path, text, "flows: [{flow: flow1, stops_early: true}]")
    assert flow.total_bytes[-1] == pytest.approx(8.875 * MIB)


OWN = """pattern:
  rows:
    - kind: interval
      line: 'flow (?P<flow>\\w+) at (?P<end>\\S+) (?P<duration>\\S+): (?P<rate>\\S+)'
      units: {time: ms, rate: Mbps}
    - {kind: total, line: 'sum (?P<flow>\\w+) (?P<duration>\\S+) (?P<bytes>\\S+)', units: {time: ms, bytes: MB}}
    - {kind: skip, line: '#.*'}
"""
LOG = """# mine
flow a at 100 100: 8.0
flow b at 100 100: 16.0
flow a at 200 100: 24.0
flow b at 200 100: 8.0
sum a 200 0.400
sum b 200 0.300
"""


def test_a_pattern_of_ones_own(tmp_path):
    first_flow, second = read_with(tmp_path, LOG, OWN)
    assert (first_flow.name, second.name) == ("a", "b")
    np.testing.assert_allclose(first_flow.times_s, [0, 0.1, 0.2])
    np.testing.assert_allclose(first_flow.total_bytes, [0, 100_000, 400_000], rtol=2e-3)
    assert read_any(tmp_path / "recording").runs["backend"].tolist() == ["pattern"]
    with pytest.raises(InputError, match="line 6: flow a: another line|in its intervals, but"):
        read_with(tmp_path, LOG.replace("0.400", "0.900"), OWN)
    for bad in ("nan", "-8.0", "8,0", "inf"):
        with pytest.raises(InputError, match=f"line 2: rate: '{bad}' is not a number from 0 up"):
            read_with(tmp_path, first(LOG, "8.0", bad), OWN)


# ---------------------------------------------------------------- tables with spaces, numbers and bpftrace: the plain reader


def test_ns3_data_by_numbers():
    path = SAMPLES / "ns3_data" / "next-rx.data"
    (flow,) = plain.read(path, load_sidecar(path)).flows
    last = path.read_text().split("\n")[-2].split()
    assert flow.total_bytes[-1] == float(last[1]) == 7_019_520 and flow.stop_s == float(last[0])
    assert read_any(path).runs["backend"].tolist() == ["table"]


def test_bpftrace_csv():
    path = SAMPLES / "bpftrace" / "recv.csv"
    (flow,) = plain.read(path, load_sidecar(path)).flows
    assert flow.total_bytes[-1] == 7_471_192  # what iperf 2 counted, and 28 bytes of its own


@pytest.mark.parametrize(
    ("text", "trace", "message"),
    [
        ("0 0\n1 10\n2 20\n", "", "2 columns without names; write which is what to"),
        ("0 0\n1 10\n2 20\n", "columns: {time: 1, rate: 3}", "columns.rate: no column '3'; there are '1', '2'"),
        (
            "0 0\n1 10\n2 20\n",
            "columns: {time: 1, rate: 2}",
            "2: unit unknown; write `units: {rate: UNIT}` in cwnd.data.trace.yaml",
        ),
        ("0 0\n1 10\n2\n", "columns: {time: 1, total_bytes: 2}", "line 3 has 1 fields and the header 2"),
        ("0 0\n1 10\n2 nan\n", "columns: {time: 1, total_bytes: 1}", "time and total_bytes are both '1'"),
        ("0 0\n1 -10\n2 20\n", "columns: {time: 1, total_bytes: 2}", "is not between 0"),
        ("0 0\n1 30\n2 20\n", "columns: {time: 1, total_bytes: 2}", "a running total never falls"),
        ("0 0\n1 10\n0.5 20\n", "columns: {time: 1, total_bytes: 2}", "goes back"),
    ],
)
def test_tables_with_spaces_are_refused_in_one_line(tmp_path, text, trace, message):
    path = written(tmp_path, text, "cwnd.data")
    written(tmp_path, trace, "cwnd.data.trace.yaml")
    with pytest.raises(InputError, match=re.escape(message)):
        read_any(path)


@pytest.mark.parametrize("text", ["time_s  rate_mbps\n 1\t 8\n2   16 \n 3 8\n", "# time_s rate_mbps\n1 8\n2 16\n3 8\n"])
def test_tables_with_spaces_and_a_header(tmp_path, text):
    path = written(tmp_path, text)
    assert plain.sniff(path)
    (flow,) = plain.read(path, NOTHING).flows
    assert flow.total_bytes[-1] == pytest.approx(4e6)
