"""What is refused (refused.yaml), what is taken for a recording of which reader, and files that are read in pieces."""

import copy
import importlib
import lzma
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.sources.readers import FILES
from tcpfair.sources.readers.sidecar import load_sidecar
from tcpfair.sources.readers.text import read_bytes
from tests.sources.readers import (
    test_flent,
    test_flowmonitor,
    test_iperf3,
    test_mahimahi,
    test_ns2_trace,
    test_patterns,
    test_ss,
    test_tcp_info,
    test_tcp_probe,
    test_tshark,
)
from tests.sources.readers.edits import GONE, NOTHING, SAMPLES, edited, sample_text, written

PACKED = {name: SAMPLES / path for name, path in {
    "pcap": "pcap/two_flows_4s.pcap.gz", "tshark": "tshark/two_flows_4s.tsv.gz", "ns2_trace": "ns2/small.tr.gz",
    "mahimahi": "mahimahi/uplink.log.gz", "tcp_probe": "tcp_probe/perf_script.txt.xz",
    "flowmonitor": "flowmonitor/two_flows.xml.gz", "ss": "ss/multi_line.log.gz", "tcp_info": "tcp_info/three_flows.csv.gz",
    "plain": "plain/long.csv.gz",
}.items()}  # fmt: skip
BASES = {
    "ns2_trace": "".join(f"{line}\n" for line in test_ns2_trace.GOOD),
    "mahimahi": test_mahimahi.HEADER + test_mahimahi.EVENTS,
    "flowmonitor": test_flowmonitor.TEXT,
    "tcp_probe": test_tcp_probe.text_of(test_tcp_probe.lines_of(test_tcp_probe.event)),
    "tcp_probe module": test_tcp_probe.text_of(test_tcp_probe.lines_of(test_tcp_probe.module)),
    "tshark": test_tshark.table(),
    "tcp_info": test_tcp_info.HEADER
    + "".join(f"{100 + i / 10:.1f},5000,reno,0,10,50,50000,50000,0,{i * 100_000}\n" for i in range(10)),
    "ss": test_ss.log(test_ss.steady()),
    "ss on several lines": test_ss.log(test_ss.steady(), one_line=False),
    "iperf3 log": (SAMPLES / "iperf3_recorded/client.txt").read_text(),
    "iperf3 stream": (SAMPLES / "iperf3_recorded/stream.jsonl").read_text(),
    "iperf3 server": (SAMPLES / "iperf3_recorded/p2.json").read_text(),
    "iperf3 p2": test_iperf3.whole(),
    "iperf3 report": (SAMPLES / "iperf3/reno_4s.json").read_text(),
    "iperf3 udp": test_iperf3.load("udp.json"),
    "iperf3 omit": test_iperf3.load("omit_reset.json"),
    "iperf3 bidir": test_iperf3.load("v3_9_bidir_p2.json"),
    "flent": test_flent.values(),
    "flent interpolated": edited(edited(test_flent.values(), "raw_values", {}), "metadata.SERIES_META", {}),
    "patterns iperf2": sample_text("iperf2/client.txt"),
    "patterns iperf2 -e": sample_text("iperf2/client_e.txt"),
    "patterns iperf2 csv": sample_text("iperf2/client_y.csv"),
    "patterns nuttcp": sample_text("nuttcp/transmit.txt"),
    "patterns nuttcp -fparse": sample_text("nuttcp/parse.txt"),
    "patterns netperf": sample_text("netperf/stream.txt"),
    "patterns netperf maerts": sample_text("netperf/maerts.txt"),
    "patterns qlog": sample_text("qlog/client.qlog.gz"),
    "patterns qlog sequence": sample_text("qlog/server.sqlog.gz"),
    "patterns ndt7": sample_text("ndt7/server.json.gz"),
    "patterns ndt7 lines": sample_text("ndt7/client.jsonl"),
    "plain": sample_text("plain/wide.csv"),
}
# what begins nearly as a recording of each reader does
OTHERS = {
    "flent": ["{}", '{"x_values": []}', "x_values raw_values", (SAMPLES / "iperf3/reno_4s.json").read_text()],
    "flowmonitor": ["<html>", "<?xml version='1.0'?><svg/>", "FlowMonitor"],
    "iperf3": ['{"start": 1}', "[ ID] Interval\n[  3] local 10.0.0.1 port 1 connected with 10.0.0.2 port 2\n"],
    "mahimahi": ["# t_s,bytes\n1,2\n", "20 + 1504\n"],
    "ns2_trace": ["V -t * -v 1.0a5 -a 0", "s 1.0 _0_ RTR --- 0 cbr 210", "1,2,3", "+ + +"],
    "pcap": ["\n\r\r\n", "{}"],
    "plain": ["{}", "hello\n", "a,b\n1,2\n", '{"x_values": [1, 2], "time": 3}', "time\n1\n", test_tcp_info.HEADER],
    "ss": ["t,sport\n1,2\n"],
    "tcp_info": ["t,cwnd\n1,2\n"],
    "tcp_probe": ["t,sport\n1,2\n"],
    "tshark": ["t,sport\n1,2\n"],
}
REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text())


def test_every_reader_has_a_valid_text_its_refusals_and_similar_texts():
    """Captures are binary; patterns recognise any text that has one."""
    names = {reader.__name__.rpartition(".")[2] for reader in FILES}
    assert {base.split()[0] for base in BASES} == names - {"pcap"}
    assert {base.split()[0] for base in REFUSED} - {"trace.yaml"} == names - {"pcap"}
    assert set(OTHERS) == names - {"patterns"}


def reader_of(name):
    return importlib.import_module(f"tcpfair.sources.readers.{name.split()[0]}")


CASES = {
    f"{base}: {what}": (base, row)
    for base, rows in REFUSED.items()
    if base != "trace.yaml"
    for what, row in (rows.items() if isinstance(rows, dict) else enumerate(rows))
}


def wrong(good, row):
    """A good text or document that a row of refused.yaml changes, and what the refusal says."""
    if isinstance(good, dict):
        field, value, says = row
        return edited(copy.deepcopy(good), field, GONE if value is None else value), says
    if len(row) == 2:
        return row
    old, new, says, *every = row
    assert re.search(old, good)
    return re.sub(old, new, good, count=0 if every else 1), says


@pytest.mark.parametrize(("base", "row"), CASES.values(), ids=CASES)
def test_what_is_wrong_is_said_in_one_line(tmp_path, base, row):
    content, says = wrong(BASES[base], row)
    with pytest.raises(InputError, match=says) as refused:
        reader_of(base).read(written(tmp_path, content, "recording.txt"), NOTHING)
    assert "recording.txt" in str(refused.value)


@pytest.mark.parametrize("row", REFUSED["trace.yaml"], ids=str)
def test_a_wrong_trace_yaml_is_said_in_one_line(tmp_path, row):
    content, says = wrong(test_patterns.OWN, row)
    written(tmp_path, content, "trace.yaml")
    with pytest.raises(InputError, match=says) as refused:
        load_sidecar(tmp_path)
    assert "trace.yaml" in str(refused.value)


@pytest.mark.parametrize("base", BASES)
def test_each_form_is_known_by_its_beginning(tmp_path, base):
    path = written(tmp_path, BASES[base])
    packed = written(tmp_path, lzma.compress(path.read_bytes()), "packed")
    assert reader_of(base).sniff(path) and reader_of(base).sniff(packed)
    assert reader_of(base).read(path, NOTHING).flows


@pytest.mark.parametrize("name", OTHERS)
def test_what_others_write_is_not_taken_for_it(tmp_path, name):
    for text in ("", *OTHERS[name]):
        (tmp_path / "other").write_text(text)
        assert not reader_of(name).sniff(tmp_path / "other")
    assert not reader_of(name).sniff(tmp_path) and not reader_of(name).sniff(tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        *((name, "text.PIECE_BYTES") for name in ("tshark", "ns2_trace", "mahimahi", "tcp_probe", "tcp_info", "plain")),
        ("pcap", "pcap.PIECE_BYTES"),
        ("ss", "ss.BYTES_AT_ONCE"),
    ],
)
def test_pieces_give_what_the_whole_gives(monkeypatch, name, piece):
    reader = reader_of(name)
    whole = reader.read(PACKED[name], NOTHING)
    monkeypatch.setattr(f"tcpfair.sources.readers.{piece}", len(read_bytes(PACKED[name])) // 20)
    parts = reader.read(PACKED[name], NOTHING)
    assert parts.remarks == whole.remarks
    for one, other in zip(whole.flows, parts.flows, strict=True):
        np.testing.assert_array_equal(one.times_s, other.times_s)
        np.testing.assert_array_equal(one.total_bytes, other.total_bytes)
        assert one.events.equals(other.events)
