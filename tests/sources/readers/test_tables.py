"""Equal intervals out of a tool's own moments."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpfair.papers.recordings import name_of
from tcpfair.runs import intervals


@pytest.mark.parametrize(
    ("duration_s", "sample_s", "count"), [(60, 1, 60), (59.9998, 1, 60), (60.08, 1, 60), (0.3, 0.1, 3), (0.2, 1, 1)]
)
def test_edges_count_whole_intervals(duration_s, sample_s, count):
    edges_s = intervals.edges(duration_s, sample_s)
    assert len(edges_s) == count + 1
    assert edges_s[0] == 0
    assert edges_s[-1] == pytest.approx(count * sample_s)


def test_counter_is_spread_evenly_between_readings():
    counted = intervals.counted_between(np.arange(5.0), np.array([0.5, 1.5, 3.0]), np.array([100, 200, 500]))
    # 50 of the first 100 before 1 s, the other 50 and 100 of the 300 before 2 s, 200 after; none outside the readings
    assert counted.tolist() == [50, 150, 200, 0]


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=30), st.integers(1, 40), st.floats(0.01, 3.0))
def test_every_counted_byte_lands_in_one_interval(increments, count, sample_s):
    edges_s = np.arange(count + 1) * sample_s
    times_s = np.linspace(edges_s[0], edges_s[-1], len(increments) + 1)
    counted = intervals.counted_between(edges_s, times_s, np.cumsum([0, *increments]))
    assert counted.sum() == sum(increments)
    assert (counted >= 0).all()


def test_last_value_is_the_latest_known():
    values = intervals.last_value(np.array([0.5, 1.0, 2.5, 9.0]), np.array([1.0, 2.0, 3.0]), np.array([7, 8, 9]))
    np.testing.assert_array_equal(values, [np.nan, 7, 8, 9])


@pytest.mark.parametrize("name", ["lab.json", "lab.json.gz", "lab.csv.gz", "lab"])
def test_run_takes_the_name_of_its_file(name):
    assert name_of(Path("somewhere") / name) == "lab"
