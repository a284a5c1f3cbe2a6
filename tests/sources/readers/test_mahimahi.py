"""mm-link logs. The sample was not made by mm-link, which needs a device of its own, but by following the steps of its
link_queue.cc: packets at random into a drop-tail queue of 12, twelve opportunities every 19 ms, for 3 s. awk counts 2,090,680
bytes of payload that leave, and six drops."""

import numpy as np
import pytest

from tcpfair.sources.readers.compose import compose
from tests.sources.readers.edits import NOTHING, SAMPLES, sample_text, written
from tests.sources.readers.mutations import assert_sound

SAMPLE = SAMPLES / "mahimahi" / "uplink.log.gz"
HEADER = "# mahimahi mm-link (downlink) [a] > b\n# init timestamp: 1731000000000\n# base timestamp: 10\n"
EVENTS = (
    "20 + 1504\n20 + 1504\n20 + 56\n22 # 1504\n22 - 1504 2\n30 # 1504\n30 - 1504 10\n32 # 1504\n32 - 56 12\n40 # 1504\n"
)


def test_the_sample(read):
    observed = read(SAMPLE)
    assert_sound(observed, "sample")
    (flow,) = observed.flows
    assert flow.name == "uplink" and flow.total_bytes[-1] == 2_090_680
    # 12 opportunities of 1504 bytes in 19 ms
    assert observed.parameters["capacity_bps"] == pytest.approx(12 * 1504 * 8 / 0.019, rel=0.01)
    link = observed.link.table
    assert link["dropped_pkts"].iloc[-1] == 6 and link["queue_pkts"].max() <= 13
    trace = compose(observed, NOTHING, SAMPLE)
    # the trace ends with its last whole interval
    assert trace.samples["delivered_bytes"].sum() == pytest.approx(2_090_680, rel=0.03)


def test_bytes_against_a_slow_count(read):
    departures = [
        (int(words[0]), int(words[2]) - 56)
        for line in sample_text(SAMPLE).splitlines()
        if (words := line.split())[1] == "-"
    ]
    (flow,) = read(SAMPLE).flows
    for at_ms in (103, 503, 1003, 2503):  # from the base timestamp of 3 ms
        expected = sum(size for t_ms, size in departures if t_ms < at_ms)
        assert np.interp((at_ms - 3) / 1000, flow.times_s, flow.total_bytes) == expected


def test_a_short_log_by_hand(read):
    observed = read(HEADER + EVENTS)
    (flow,) = observed.flows
    assert flow.name == "downlink" and flow.clock_s == 1731000000.01
    assert flow.start_s == 0.01 and flow.stop_s == 0.03 and flow.total_bytes[-1] == 2 * 1448
    assert observed.parameters["capacity_bps"] == pytest.approx(4 * 1504 * 8 / 0.03)
    assert "queueing delay: median 10 ms, 95 % below 12 ms" in observed.remarks


def test_old_logs_have_no_wall_clock(read, tmp_path):
    path = written(tmp_path, HEADER.split("\n", 2)[0] + "\n# base timestamp: 10\n" + EVENTS)
    (flow,) = read(path).flows
    assert flow.clock_s is None and flow.offset_s == 0.01
