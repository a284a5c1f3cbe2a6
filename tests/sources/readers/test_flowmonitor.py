"""FlowMonitor: the sample is two TCP flows on a dumbbell of 2 Mb/s, ns-3 3.44 (PyPI), with histograms and probes.

By its XML, read by eye: flow 1 rxBytes 2401556 in 1708 packets, flow 3 rxBytes 708108 in 474; 52 bytes of headers a packet.
"""

import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers.compose import compose
from tests.sources.readers.edits import NOTHING, SAMPLES, sample_text, written

SAMPLE = SAMPLES / "flowmonitor" / "two_flows.xml.gz"
TEXT = sample_text(SAMPLE)


def test_totals_become_one_interval(read):
    observed = read(SAMPLE)
    one, other = observed.flows
    assert one.name == "10.1.1.1:49153>10.2.1.1:5000" and other.name == "10.1.2.1:49153>10.2.2.1:5000"
    assert one.total_bytes.tolist() == [0, 2_401_556 - 52 * 1708] and one.times_s == pytest.approx([0.5, 12.9263])
    assert other.total_bytes.tolist() == [0, 708_108 - 52 * 474] and other.times_s == pytest.approx([2.5, 12.9987])
    assert one.rtt_s == pytest.approx(0.0284666) and one.offset_s == 0.5
    assert sum("skipped, the ACKs of" in remark for remark in observed.remarks) == 2
    trace = compose(observed, NOTHING, SAMPLE)
    assert len(trace.samples) == 2 and trace.samples["delivered_bytes"].tolist() == [2_312_740, 683_460]


def test_a_billion_laughs_are_refused_before_they_begin(read, tmp_path):
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    path = written(
        tmp_path, f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY e0 "ha">{entities}]><FlowMonitor>&e9;</FlowMonitor>'
    )
    with pytest.raises(InputError, match="document type or entities"):
        read(path)


def test_depth_and_endless_elements_are_bounded(read, tmp_path):
    path = written(tmp_path, "<FlowMonitor>" + "<a>" * 100_000)
    with pytest.raises(InputError, match="more than 10 elements"):
        read(path)
    path.write_text('<FlowMonitor><Flow a="' + "b" * 4_000_000)
    with pytest.raises(InputError):
        read(path)
