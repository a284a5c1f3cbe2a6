"""Flent: the sample was written by Flent 2.1.1's own ResultSet, of made-up netperf intervals, and made anonymous.

The writer summed up what the intervals hold: 46,250,645 and 14,434,619 bytes; the second upload begins 2 s after the first.
"""

import json

import numpy as np
import pytest

from tcpfair.sources.readers.compose import compose
from tcpfair.sources.readers.text import read_text
from tests.sources.readers.edits import GONE, NOTHING, SAMPLES, edited, told
from tests.sources.readers.mutations import assert_sound

SAMPLE = SAMPLES / "flent" / "two_uploads.flent.gz"
FIRST = "TCP upload::1"
EPOCH_S = 946_684_800  # 2000-01-01


def values():
    return json.loads(read_text(SAMPLE))


def intervals(document):
    return [point for point in document["raw_values"][FIRST] if "dur" in point]


def test_the_sample(read):
    observed = read(SAMPLE)
    one, other = observed.flows
    assert [one.name, other.name] == [FIRST, "TCP upload::2"]
    assert one.total_bytes[-1] == pytest.approx(46_250_645, rel=1e-5)
    assert other.total_bytes[-1] == pytest.approx(14_434_619, rel=1e-5)
    assert other.clock_s - one.clock_s == pytest.approx(2.0, abs=1e-3)
    assert one.cc == "cubic" and one.rtt_s == 0.0201 and one.gaps_s == ()
    assert one.windows["cwnd_pkts"].iloc[[0, -1]].tolist() == [10, 54] and one.windows["srtt_s"].iloc[0] == 0.0215
    trace = compose(observed, NOTHING, SAMPLE)
    # steps of a median interval: the last whole one ends up to one before the last reading
    assert trace.samples["delivered_bytes"].sum() == pytest.approx(46_250_645 + 14_434_619, rel=0.03)


def test_each_interval_has_its_bytes(read):
    document = values()
    flow = read(SAMPLE).flows[0]
    points = intervals(document)
    so_far = np.cumsum([point["val"] * point["dur"] * 1e6 / 8 for point in points])
    np.testing.assert_allclose(flow.total_bytes[1:], so_far, rtol=0.01)
    np.testing.assert_allclose(flow.times_s[1:] + flow.clock_s, [point["t"] for point in points], atol=1e-6)


def test_without_raw_values_the_interpolated_series_are_used(read):
    document = values()
    document["raw_values"] = {}
    observed = read(document)
    assert_sound(observed, "interpolated")
    assert observed.flows[0].total_bytes[-1] == pytest.approx(46_250_645, rel=0.1)
    assert "only the interpolated series" in told(observed)


def test_an_interval_that_is_missing_is_a_gap(read):
    document = values()
    lost = intervals(document)[10]
    document["raw_values"][FIRST].remove(lost)
    flow = read(document).flows[0]
    ((since_s, until_s),) = flow.gaps_s
    assert until_s - since_s == pytest.approx(lost["dur"], abs=0.002)
    assert until_s + flow.clock_s == pytest.approx(lost["t"], abs=0.002)


def test_times_without_zone_are_not_trusted(read):
    """Flent before version 3 wrote local time."""
    document = values()
    document["version"] = 2
    document["metadata"]["T0"] = "2000-01-01T02:00:00.000000"
    assert read(document).flows[0].clock_s == pytest.approx(EPOCH_S + 0.15, abs=1)


META, POINT = f"metadata.SERIES_META.{FIRST}", f"raw_values.{FIRST}"
CONTRADICTIONS = {  # a field, another value, what the refusal says; of a number, it is the interval of that number
    "a version of the future": ("version", 9, "version"),
    "no metadata": ("metadata", GONE, "metadata"),
    "x that is not a number": ("x_values", ["a"], "x_values"),
    "NaN in x": ("x_values", [float("nan")], "x_values"),
    "a negative rate": ("3.val", -5, "val: -5 is not between"),
    "a rate beyond any link": ("3.val", 1e9, "val"),
    "an infinite rate": ("3.val", float("inf"), "val"),
    "a rate that is a word": ("3.val", "fast", "val: fast"),
    "an interval of no length": ("3.dur", 0, "dur"),
    "an interval of a day": ("3.dur", 1e6, "dur"),
    "a clock that goes back": ("3.t", EPOCH_S + 0.5, "each interval ends later"),
    "ms called s": ("3.t", EPOCH_S * 1000.0, "t: 946684800000.0"),
    "a time missing": ("3.t", GONE, "t: missing"),
    "a length that reaches back": ("3.dur", 0.9, "reach into the interval before"),
    "bytes that were not sent": (f"{META}.BYTES_SENT", 1_000_000, "BYTES_SENT"),
    "a mean in another unit": (f"{META}.MEAN_VALUE", 30_000.0, "MEAN_VALUE"),
    "a mean that is a lie": (f"{META}.MEAN_VALUE", 3.0, "MEAN_VALUE"),
    "another day's T0": ("metadata.T0", "2020-05-07T12:46:41.601887Z", "clocks contradict"),
    "a T0 that is not a time": ("metadata.T0", "noon", "metadata.T0"),
    "a step of nothing": ("metadata.STEP_SIZE", 0, "STEP_SIZE"),
    "windows beyond 32 bits": (f"{POINT}.0", {"tcp_cwnd": 2**40, "t": EPOCH_S + 0.2, "tcp_rtt": 1.0}, "tcp_cwnd"),
    "an algorithm of many words": (f"{META}.CONG_CONTROL", "the best one", "CONG_CONTROL"),
}
WITHOUT_RAW_VALUES = {
    "series of another length": (f"results.{FIRST}", lambda given: given[:-1], "results: TCP upload::1: has"),
    "x that goes back": ("x_values", lambda given: given[::-1], "x_values: must increase"),
    "a rate below 0": (f"results.{FIRST}.9", -1, "results: TCP upload::1: -1 is not between"),
    "no TCP": ("results", {}, "no series"),
}


@pytest.mark.parametrize("what", [*CONTRADICTIONS, *WITHOUT_RAW_VALUES])
def test_contradictions_are_one_line(refused, what):
    document = values()
    field, value, message = (CONTRADICTIONS | WITHOUT_RAW_VALUES)[what]
    if what in WITHOUT_RAW_VALUES:
        document["raw_values"] = {}
    if what == "no TCP":
        document["metadata"]["SERIES_META"] = {}
    edited(dict(enumerate(intervals(document))) if field[0].isdigit() else document, field, value)
    assert message in refused(document)
