"""mm-link logs. The sample was not made by mm-link, which needs a device of its own, but by following the steps of its
link_queue.cc: packets at random into a drop-tail queue of 12, twelve opportunities every 19 ms, for 3 s. awk counts 2,090,680
bytes of payload that leave, and six drops."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import mahimahi
from tcpfair.sources.readers.compose import compose
from tcpfair.sources.readers.sidecar import Sidecar
from tests.sources.readers.mutations import FEW, MANY, assert_sound, attack

SAMPLE = Path(__file__).parents[2] / "samples" / "mahimahi" / "uplink.log.gz"
NOTHING = Sidecar()
HEADER = "# mahimahi mm-link (downlink) [a] > b\n# init timestamp: 1731000000000\n# base timestamp: 10\n"
EVENTS = (
    "20 + 1504\n20 + 1504\n20 + 56\n22 # 1504\n22 - 1504 2\n30 # 1504\n30 - 1504 10\n32 # 1504\n32 - 56 12\n40 # 1504\n"
)


def log(tmp_path, text):
    path = tmp_path / "down.log"
    path.write_text(text)
    return path


def test_the_sample():
    assert mahimahi.sniff(SAMPLE)
    observed = mahimahi.read(SAMPLE, NOTHING)
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


def test_bytes_against_a_slow_count():
    departures = [
        (int(words[0]), int(words[2]) - 56)
        for line in gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()
        if (words := line.split())[1] == "-"
    ]
    (flow,) = mahimahi.read(SAMPLE, NOTHING).flows
    for at_ms in (103, 503, 1003, 2503):  # from the base timestamp of 3 ms
        expected = sum(size for t_ms, size in departures if t_ms < at_ms)
        assert np.interp((at_ms - 3) / 1000, flow.times_s, flow.total_bytes) == expected


def test_a_short_log_by_hand(tmp_path):
    observed = mahimahi.read(log(tmp_path, HEADER + EVENTS), NOTHING)
    (flow,) = observed.flows
    assert flow.name == "downlink" and flow.clock_s == 1731000000.01
    assert flow.start_s == 0.01 and flow.stop_s == 0.03 and flow.total_bytes[-1] == 2 * 1448
    assert observed.parameters["capacity_bps"] == pytest.approx(4 * 1504 * 8 / 0.03)
    assert "queueing delay: median 10 ms, 95 % below 12 ms" in observed.remarks


CONTRADICTIONS = {
    "no base": (HEADER.rpartition("# base")[0] + EVENTS, "base timestamp"),
    "two bases": (HEADER + "# base timestamp: 11\n" + EVENTS, "is there twice"),
    "two logs": (HEADER + HEADER + EVENTS, "second log"),
    "two logs, one after the other": (HEADER + EVENTS + HEADER + EVENTS, "line 14"),
    "a base of words": (HEADER.replace("10\n", "ten\n") + EVENTS, "no timestamp in ms"),
    "before the base": (
        HEADER.replace("base timestamp: 10", "base timestamp: 21") + EVENTS,
        "before the base timestamp 21",
    ),
    "the clock goes back": (HEADER + EVENTS + "39 # 1504\n", "line 14: the clock goes back from 40 to 39 ms"),
    "longer than a day": (HEADER + EVENTS + "99999999999 # 1504\n", "more than a day"),
    "no number": (HEADER + EVENTS + "x # 1504\n", "line 14: 'x # 1504' is no event"),
    "no such event": (HEADER + EVENTS + "50 ? 1504\n", "line 14"),
    "a departure without delay": (HEADER + EVENTS + "50 + 9\n50 - 9\n", "line 15"),
    "negative bytes": (HEADER + EVENTS + "50 + -9\n", "line 14"),
    "a packet of a megabyte": (HEADER + EVENTS + "50 + 1000000\n", "line 14: 1000000 bytes"),
    "an empty packet": (HEADER + EVENTS + "50 + 0\n", "line 14: 0 bytes"),
    "more leaves than came": (HEADER + EVENTS + "40 - 1504 20\n", "line 14: more packets have left"),
    "more leaves than could": (HEADER + "20 + 1504\n22 - 1504 2\n23 # 1504\n", "more bytes have left than could"),
    "a delay that is a lie": (HEADER + EVENTS.replace("1504 10", "1504 9"), "did not arrive at 21 ms"),
    "a size that is a lie": (HEADER + EVENTS.replace("- 1504 10", "- 1400 10"), "a packet of 1400 bytes"),
    "more dropped than came": (HEADER + EVENTS + "41 d 3 4512\n", "line 14: more packets"),
    "only ACKs": (HEADER + "20 + 56\n22 # 1504\n22 - 56 2\n", "no packet with payload"),
    "no events": (HEADER, "no events"),
    "a cut line": (HEADER + EVENTS + "50 # 15", "line 14: cut"),
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_contradictions_are_one_line(tmp_path, what):
    text, message = CONTRADICTIONS[what]
    with pytest.raises(InputError) as error:
        mahimahi.read(log(tmp_path, text), NOTHING)
    assert message in str(error.value) and "\n" not in str(error.value) and "down.log" in str(error.value)


def test_pieces_give_what_the_whole_gives(monkeypatch):
    whole = mahimahi.read(SAMPLE, NOTHING)
    monkeypatch.setattr(mahimahi, "_BLOCK_BYTES", 1000)
    np.testing.assert_array_equal(whole.flows[0].total_bytes, mahimahi.read(SAMPLE, NOTHING).flows[0].total_bytes)


def test_old_logs_have_no_wall_clock(tmp_path):
    path = log(tmp_path, HEADER.split("\n", 2)[0] + "\n# base timestamp: 10\n" + EVENTS)
    (flow,) = mahimahi.read(path, NOTHING).flows
    assert flow.clock_s is None and flow.offset_s == 0.01


def test_sniffs_mahimahi_only(tmp_path):
    for text in ("", "# t_s,bytes\n1,2\n", "20 + 1504\n"):
        assert not mahimahi.sniff(log(tmp_path, text))
    assert not mahimahi.sniff(tmp_path)


@pytest.fixture
def short(tmp_path):
    """The first lines of the sample."""
    path = tmp_path / "short.log"
    path.write_bytes(b"\n".join(gzip.decompress(SAMPLE.read_bytes()).split(b"\n")[:400]) + b"\n")
    return path


def test_mutated(tmp_path, short):
    outcomes = attack(mahimahi, [short], FEW, tmp_path)
    assert outcomes["refused"]


@pytest.mark.slow
def test_mutated_often(tmp_path, short):
    attack(mahimahi, [short], MANY, tmp_path, first_seed=1000)
