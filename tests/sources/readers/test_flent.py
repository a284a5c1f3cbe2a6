"""Flent: the sample was written by Flent 2.1.1's own ResultSet, of made-up netperf intervals, and made anonymous.

The writer summed up what the intervals hold: 46,250,645 and 14,434,619 bytes; the second upload begins 2 s after the first.
"""

import json

import numpy as np
import pytest

from tcpfair.sources.readers.compose import compose
from tcpfair.sources.readers.text import read_text
from tests.sources.readers.edits import NOTHING, SAMPLES, told
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
