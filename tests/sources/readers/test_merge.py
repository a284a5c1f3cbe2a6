"""One run, recorded by iperf3, ss and tcpdump at once: Reno and CUBIC over 10 Mb/s in a network namespace, made anonymous.

Expected values are what each tool alone reads, and the reports' own totals.
"""

import json
import shutil
from pathlib import Path

import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import observe, read_any
from tcpfair.sources.readers.sidecar import Sidecar
from tests.sources.readers.edits import SAMPLES, sample_text

SAMPLE = SAMPLES / "same_run"
REPORTS = ("iperf3001.json.xz", "iperf3002.json.xz")
CAPTURE, POLLS = "iperf3003.pcap.xz", "iperf3004.log.xz"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(SAMPLE, tmp_path / "run"))


def alone(name):
    return observe(SAMPLE / name, Sidecar()).flows


def test_each_number_comes_from_the_tool_that_knows_it_best():
    observed = observe(SAMPLE, Sidecar())
    polls, captured = alone(POLLS), alone(CAPTURE)
    assert [flow.cc for flow in observed.flows] == ["reno", "cubic"]
    for flow, name, polled, seen in zip(observed.flows, REPORTS, polls, captured, strict=True):
        (report,) = alone(name)
        assert flow.name == name and flow.origin == "receiver: server_output_text"
        assert flow.total_bytes.tolist() == report.total_bytes.tolist()
        said = json.loads(sample_text(SAMPLE / name))["end"]["streams"][0]["receiver"]["bytes"]
        assert flow.total_bytes[-1] == pytest.approx(said, rel=0.01)
        assert flow.windows["cwnd_pkts"].tolist() == polled.windows["cwnd_pkts"].tolist()
        assert len(flow.events) == len(polled.events)
        assert flow.rtt_s == seen.rtt_s
        assert flow.clock_error_s == 0  # iperf3's is good to a second
    assert len(observed.files) == 4
    starts = read_any(SAMPLE).flows["start_s"]
    assert starts.tolist() == pytest.approx([0, captured[1].start_s - captured[0].start_s], abs=0.02)


def test_a_flow_that_one_tool_alone_saw_is_refused(folder):
    (folder / REPORTS[1]).unlink()
    with pytest.raises(
        InputError, match=r"a flow that iperf3 did not record; .* choose one of iperf3, pcap, ss as format"
    ):
        observe(folder, Sidecar())
    chosen = observe(folder, Sidecar(format="ss"))
    assert len(chosen.flows) == 2 and f"not used: {REPORTS[0]}, {CAPTURE}" in chosen.remarks


def test_the_polls_of_one_flow_are_enough(folder):
    (folder / CAPTURE).unlink()
    text = sample_text(folder / POLLS)
    port = alone(REPORTS[1])[0].ends[0].rpartition(":")[2]
    lines = [line for line in text.splitlines() if f":{port} " not in line]
    (folder / POLLS).unlink()
    (folder / "polls.log").write_text("\n".join(lines) + "\n")
    observed = observe(folder, Sidecar())
    assert len(observed.flows[0].windows) > 20 and len(observed.flows[1].windows) < 10  # iperf3's own
    assert f"{REPORTS[1]}: not in the recording of ss" in observed.remarks


def test_tools_that_counted_other_bytes_are_refused(folder):
    path = folder / REPORTS[0]
    report = json.loads(sample_text(path))
    del report["server_output_text"]
    for interval in report["intervals"]:
        for part in (interval["streams"][0], interval["sum"]):
            part["bytes"] //= 2
            part["bits_per_second"] = part["bytes"] * 8 / part["seconds"]
    report["end"] = {}
    path.write_text(json.dumps(report))
    with pytest.raises(InputError, match="check that both are of the same flow and run"):
        observe(folder, Sidecar())
