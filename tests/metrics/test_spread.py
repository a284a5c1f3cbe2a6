"""Where the variance of repeated runs lies."""

import numpy as np
import pytest

from tcpfair.metrics.spread import share_between_groups


def test_share_worked_by_hand():
    # means 2 and 6 about 4: B = 2 * (4 + 4) / 1 = 16; squares within 2 + 2, W = 4 / 2 = 2; (16 - 2) / (16 + 2)
    assert share_between_groups([[1, 3], [5, 7]]) == pytest.approx(7 / 9)
    # three repeats: means 2, 5; B = 3 * (2.25 + 2.25) = 13.5, W = (2 + 2) / 4 = 1; 12.5 / 15.5
    assert share_between_groups([[1, 2, 3], [4, 5, 6]]) == pytest.approx(25 / 31)


def test_share_is_all_without_spread_within_and_none_when_groups_are_alike():
    assert share_between_groups([[1, 1], [2, 2]]) == 1
    assert share_between_groups([[1, 5], [5, 1]]) == 0  # B = 0: below 0 before it is cut off


def test_share_leaves_out_groups_with_a_missing_value():
    assert share_between_groups([[1, 3], [np.nan, 9], [5, 7], [-np.inf, 0]]) == pytest.approx(7 / 9)


@pytest.mark.parametrize("values", [[[1, 2]], [[1], [2]], [[3, 3], [3, 3]], [[np.nan, 1], [1, 2]]])
def test_share_of_too_little_is_not_a_number(values):
    assert np.isnan(share_between_groups(values))
