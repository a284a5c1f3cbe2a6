"""iperf3 reports: the sample is the first 4 s of a Reno flow between Linux hosts, iperf 3.12, server without --json."""

import copy
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tcpfair.contract import trace
from tcpfair.errors import InputError
from tcpfair.sources.readers import iperf3, read_any

SAMPLE = Path(__file__).parents[2] / "samples" / "iperf3" / "reno_4s.json"
PRINTED_BY_SERVER_MBPS = [26.3, 43.6, 44.0, 45.5]
SENT_BYTES = [5_031_800, 5_473_440, 5_473_440, 5_473_440]


@pytest.fixture
def report():
    return json.loads(SAMPLE.read_text())


@pytest.fixture
def write(tmp_path):
    def _write(report, name="flow.json"):
        path = tmp_path / name
        path.write_text(json.dumps(report))
        return path

    return _write


def mbps(goodput):
    lengths_s = np.diff(np.concatenate([[0], goodput.ends_s]))
    return goodput.delivered_bytes * 8 / lengths_s / 1e6


def test_goodput_is_what_the_server_printed():
    goodput = iperf3.read_report(SAMPLE)
    assert mbps(goodput) == pytest.approx(PRINTED_BY_SERVER_MBPS)
    assert goodput.origin == "receiver: server_output_text"
    assert goodput.cc == "reno"
    assert goodput.interval_s == 1.0
    assert goodput.offset_s == 10.0  # by its title
    assert goodput.rtt_s == 0.051690


def test_trace_has_zeros_before_the_start(tmp_path):
    run = read_any(SAMPLE)
    trace.write(run, tmp_path / "trace")
    assert trace.read(tmp_path / "trace").samples["delivered_bytes"].tolist() == [0] * 10 + [
        round(rate * 1e6 / 8) for rate in PRINTED_BY_SERVER_MBPS
    ]
    assert run.runs["duration_s"].item() == 14.0
    assert run.flows[["protocol", "cc", "start_s", "stop_s"]].values.tolist() == [["reno", "reno", 10.0, 14.0]]
    assert run.provenance["goodput"] == ["receiver: server_output_text"]


def test_server_json_is_preferred_to_its_text(report, write):
    report["server_output_json"] = {
        "intervals": [{"sum": {"start": i, "end": i + 1, "bytes": 1000 + i, "sender": False}} for i in range(4)]
    }
    goodput = iperf3.read_report(write(report))
    assert goodput.delivered_bytes.tolist() == [1000, 1001, 1002, 1003]
    assert goodput.origin == "receiver: server_output_json"


@pytest.mark.parametrize(("reverse", "origin"), [(0, "sender: intervals"), (1, "receiver: intervals")])
def test_without_server_output_the_clients_intervals_serve(report, write, reverse, origin):
    del report["server_output_text"]
    report["start"]["test_start"]["reverse"] = reverse
    goodput = iperf3.read_report(write(report))
    assert goodput.delivered_bytes.tolist() == SENT_BYTES
    assert goodput.origin == origin


def test_parallel_streams_count_by_their_sum(report, write):
    report["server_output_text"] = "".join(
        f"[{stream:>3}]   {i}.00-{i + 1}.00   sec  1.00 MBytes  {rate} {unit}bits/sec                  \n"
        for i in range(4)
        for stream, rate, unit in (("5", 900, "K"), ("7", 1.10, "M"), ("SUM", 2.00, "M"))
    )
    assert mbps(iperf3.read_report(write(report))) == pytest.approx([2.0] * 4)


def test_tail_of_the_server_is_no_interval_of_its_own(report, write):
    report["server_output_text"] += "[  5]   4.00-4.10   sec   414 KBytes  35.0 Mbits/sec                  \n"
    report["server_output_text"] += "[  5]   4.10-4.10   sec  0.00 Bytes  0.00 bits/sec                  \n"
    report["server_output_text"] += "[  5]   0.00-4.10   sec  19.4 MBytes  39.7 Mbits/sec                  receiver\n"
    report["title"] = ""
    run = read_any(write(report))
    assert len(run.samples) == 4
    assert run.flows["start_s"].tolist() == [0.0]


def test_folder_gives_one_flow_per_report(report, write, tmp_path):
    late = copy.deepcopy(report)
    report["title"] = ""  # one title is missing: the clock decides
    late["start"]["timestamp"]["timesecs"] += 2
    late["server_output_text"] = late["server_output_text"].replace("45.5 Mbits", "45.4 Mbits")
    write(report, "a.json")
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(json.dumps(late).encode()))
    (tmp_path / "notes.txt").write_text("not a report")
    run = read_any(tmp_path)
    assert run.flows["start_s"].tolist() == [0.0, 2.0]
    rates_mbps = run.per_second()[0] * 8 / 1e6
    assert rates_mbps == pytest.approx(
        np.array([[*PRINTED_BY_SERVER_MBPS, 0, 0], [0, 0, *PRINTED_BY_SERVER_MBPS[:3], 45.4]])
    )


def test_system_that_tells_neither_algorithm_nor_rtt(report, write):
    del report["end"]["sender_tcp_congestion"]
    report["end"]["streams"] = [{"sender": {}}]
    goodput = iperf3.read_report(write(report))
    assert goodput.cc == "unknown"
    assert np.isnan(goodput.rtt_s)


def without_bytes(report):
    report["server_output_text"] = ""
    del report["intervals"][2]["sum"]["bytes"]


def edit(*path, value):
    def _edit(report):
        for key in path[:-1]:
            report = report[key]
        report[path[-1]] = value

    return _edit


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (without_bytes, r"intervals\.2\.sum\.bytes: Field required"),
        (edit("error", value="unable to connect"), "error: iperf3 reports 'unable to connect'; repeat the test"),
        (edit("start", value={}), r"start\.version: must begin with 'iperf 3'"),
        (edit("start", "version", value="2.1.9"), r"start\.version: must begin with 'iperf 3'"),
        (edit("start", "test_start", "protocol", value="UDP"), r"test_start\.protocol: Input should be 'TCP'"),
        (edit("start", "test_start", "omit", value=3), r"test_start\.omit: Input should be 0"),
        (edit("start", "test_start", "bidir", value=1), r"test_start\.bidir: Input should be 0"),
        (edit("intervals", value=[]), "intervals: List should have at least 1 item"),
        (edit("intervals", 0, "sum", "bytes", value=-1), r"intervals\.0\.sum\.bytes: .*greater than or equal to 0"),
        (edit("start", "test_start", "duration", value=60), "4 intervals end at 4 s of 60 s; give a test that ran"),
    ],
)
def test_bad_report_names_file_and_field(report, write, damage, says):
    damage(report)
    path = write(report)
    with pytest.raises(InputError, match=rf"flow\.json: .*{says}") as caught:
        iperf3.read_report(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spans", "says"),
    [
        ([(0, 1), (2, 3), (3, 4)], r"\[1\]: lasts from 2 to 3 s"),  # a gap
        ([(0, 1), (0.5, 1.5), (1.5, 2.5)], r"\[1\]: lasts from 0.5"),  # an overlap
        ([(0, 1), (1, 2), (2, 2.2), (2.2, 3.2)], r"\[2\]: lasts from 2 to 2.2"),
        ([(0, 1), (1, 2), (2, 5)], r"\[2\]: lasts from 2 to 5"),
        ([(0, 0)], "no interval of any length"),
        ([(0, 0.01), (0.01, 0.02)], "must be at least 0.1"),
    ],
)
def test_intervals_must_follow_each_other(report, write, spans, says):
    report["server_output_text"] = ""
    report["start"]["test_start"]["duration"] = 0
    report["intervals"] = [{"sum": {"start": a, "end": b, "bytes": 1}} for a, b in spans]
    with pytest.raises(InputError, match=says):
        read_any(write(report))


def test_cut_files_are_refused(tmp_path):
    text = SAMPLE.read_text()
    plain = tmp_path / "cut.json"
    plain.write_text(text[: len(text) // 2])
    packed = tmp_path / "cut.json.gz"
    data = gzip.compress(text.encode())
    packed.write_bytes(data[: len(data) // 2])
    for path, says in ((plain, r"cut\.json: not JSON at line \d+"), (packed, r"cut\.json\.gz: damaged gzip")):
        assert iperf3.sniff(path)
        with pytest.raises(InputError, match=says):
            read_any(path)


def test_other_files_are_not_taken_for_reports(tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"start": 1}')
    assert not iperf3.sniff(other)
    assert not iperf3.sniff(tmp_path / "nothing.json")
    with pytest.raises(InputError, match="other.json: no reader knows it"):
        read_any(tmp_path)
