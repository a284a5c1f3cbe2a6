"""FlowMonitor: the sample is two TCP flows on a dumbbell of 2 Mb/s, ns-3 3.44 (PyPI), with histograms and probes.

By its XML, read by eye: flow 1 rxBytes 2401556 in 1708 packets, flow 3 rxBytes 708108 in 474; 52 bytes of headers a packet.
"""

import gzip
import re
from pathlib import Path

import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import flowmonitor
from tcpfair.sources.readers.compose import compose
from tcpfair.sources.readers.sidecar import Sidecar
from tests.sources.readers.mutations import FEW, MANY, assert_sound, attack

SAMPLE = Path(__file__).parents[2] / "samples" / "flowmonitor" / "two_flows.xml.gz"
NOTHING = Sidecar()
TEXT = gzip.decompress(SAMPLE.read_bytes()).decode()


def changed(tmp_path, old, new, count=1):
    assert re.search(old, TEXT), old
    path = tmp_path / "flowmon.xml"
    path.write_text(re.sub(old, new, TEXT, count=count))
    return path


def test_totals_become_one_interval():
    assert flowmonitor.sniff(SAMPLE)
    observed = flowmonitor.read(SAMPLE, NOTHING)
    assert_sound(observed, "sample")
    one, other = observed.flows
    assert one.name == "10.1.1.1:49153>10.2.1.1:5000" and other.name == "10.1.2.1:49153>10.2.2.1:5000"
    assert one.total_bytes.tolist() == [0, 2_401_556 - 52 * 1708] and one.times_s == pytest.approx([0.5, 12.9263])
    assert other.total_bytes.tolist() == [0, 708_108 - 52 * 474] and other.times_s == pytest.approx([2.5, 12.9987])
    assert one.rtt_s == pytest.approx(0.0284666) and one.offset_s == 0.5
    assert sum("left out, the ACKs of" in remark for remark in observed.remarks) == 2
    trace = compose(observed, NOTHING, SAMPLE)
    assert len(trace.samples) == 2 and trace.samples["delivered_bytes"].tolist() == [2_312_740, 683_460]


CONTRADICTIONS = {
    "a time without unit": (r"\+5e\+08ns", "5e8", "timeFirstTxPacket"),
    "a negative time": (r"\+5e\+08ns", "-5e+08ns", "timeFirstTxPacket"),
    "a time of a year": (r"\+5e\+08ns", "+3e+07s", "timeFirstTxPacket"),
    "a time of NaN": (r"\+5e\+08ns", "nan", "timeFirstTxPacket"),
    "received before it was sent": (r"\+5.14251e\+08ns", "+4e+08ns", "timeFirstTxPacket"),
    "last before first": (r"\+1.29263e\+10ns", "+5e+08ns", "timeFirstRxPacket"),
    "a count that is none": (r'rxBytes="2401556"', 'rxBytes="many"', "rxBytes"),
    "a count of 2^60": (r'rxBytes="2401556"', f'rxBytes="{2**60}"', "rxBytes"),
    "more received than sent": (r'rxPackets="1708"', 'rxPackets="9999"', "rxPackets"),
    "more bytes received than sent": (r'rxBytes="2401556"', 'rxBytes="3401556"', "rxBytes"),
    "packets of a byte": (r'rxBytes="2401556"', 'rxBytes="1708"', "rxBytes"),
    "more lost than sent": (r'lostPackets="32"', 'lostPackets="3200"', "lostPackets"),
    "bytes that no probe saw": (r'rxBytes="2401556"', 'rxBytes="2401000"', "no probe"),
    "delays that do not sum up": (r"\+8.32611e\+11ns", "+8.32611e+13ns", "delaySum"),
    "a smallest delay above the largest": (r'maxDelay="\+6.22615e\+08ns"', 'maxDelay="+1e+06ns"', "minDelay"),
    "an attribute missing": (r'rxPackets="1708"', "", "rxPackets"),
    "a flow twice": (r'<Flow flowId="2" timeFirst', '<Flow flowId="1" timeFirst', "flowId: 1 is there twice"),
    "the same ends twice": (
        r'"10.1.2.1" destinationAddress="10.2.2.1"',
        '"10.1.1.1" destinationAddress="10.2.1.1"',
        "same addresses",
    ),
    "no address": (r'sourceAddress="10.1.1.1"', 'sourceAddress="here"', "sourceAddress"),
    "a port of 70000": (r'sourcePort="49153"', 'sourcePort="70000"', "sourcePort"),
    "entities": (r"<FlowMonitor>", '<!DOCTYPE a [<!ENTITY b "c">]><FlowMonitor>', "document type"),
    "another document": (r"<FlowMonitor>", "<Flows><FlowMonitor>", "begins with Flows"),
    "cut": (r"</FlowProbes>(.|\n)*", "", "not XML"),
    "no flows": (r"<FlowStats>(.|\n)*</FlowStats>\n  <Ipv4", "<FlowStats></FlowStats><Ipv4", "no flow has data"),
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_contradictions_are_one_line(tmp_path, what):
    old, new, message = CONTRADICTIONS[what]
    with pytest.raises(InputError) as error:
        flowmonitor.read(changed(tmp_path, old, new), NOTHING)
    assert message in str(error.value) and "\n" not in str(error.value) and "flowmon.xml" in str(error.value)


def test_a_billion_laughs_are_refused_before_they_begin(tmp_path):
    path = tmp_path / "laughs.xml"
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    path.write_text(f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY e0 "ha">{entities}]><FlowMonitor>&e9;</FlowMonitor>')
    with pytest.raises(InputError, match="document type or entities"):
        flowmonitor.read(path, NOTHING)


def test_depth_and_endless_elements_are_bounded(tmp_path):
    path = tmp_path / "deep.xml"
    path.write_text("<FlowMonitor>" + "<a>" * 100_000)
    with pytest.raises(InputError, match="more than 10 elements"):
        flowmonitor.read(path, NOTHING)
    path.write_text('<FlowMonitor><Flow a="' + "b" * 4_000_000)
    with pytest.raises(InputError):
        flowmonitor.read(path, NOTHING)


def test_sniffs_flowmonitor_only(tmp_path):
    path = tmp_path / "a.xml"
    for text in ("", "<html>", "<?xml version='1.0'?><svg/>", "FlowMonitor"):
        path.write_text(text)
        assert not flowmonitor.sniff(path)
    assert not flowmonitor.sniff(tmp_path)


def test_mutated(tmp_path):
    outcomes = attack(flowmonitor, [SAMPLE], FEW, tmp_path)
    assert outcomes["read"] and outcomes["refused"]


@pytest.mark.slow
def test_mutated_often(tmp_path):
    attack(flowmonitor, [SAMPLE], MANY, tmp_path, first_seed=1000)
