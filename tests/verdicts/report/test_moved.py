"""Old and new numbers on one axis."""

import pytest

from tcpfair.verdicts.report import moved


@pytest.mark.parametrize(
    ("old", "new", "reach", "places"),
    [
        ("1", "2", ("", ""), ((0, 0, 0), (1, 1, 1))),
        ("2", "1", ("1", "0"), ((0, 0.5, 1), (0, 0, 0))),
        ("A", "B", ("", ""), None),
        ("1", "", ("", ""), None),
    ],
)
def test_places_of_a_pair(old, new, reach, places):
    pair = moved.pair_of({"baseline": old, "today": new, "baseline_reach": reach[0], "today_reach": reach[1]})
    assert (pair and pair[:2]) == places
