"""Each measure declares the resolution it needs; what was recorded more coarsely has only what is left."""

import numpy as np
import pytest

from tcpfair.measures import catalogue, resolution
from tcpfair.measures.groups import BY_GROUP


def test_every_group_declares_what_it_needs():
    assert set(catalogue.GROUPS) == set(BY_GROUP)
    assert set(resolution.OF_RECORDINGS) <= set(BY_GROUP)


@pytest.mark.parametrize(("recorded_s", "coarse"), [(0.1, False), (1.0, False), (1.09, False), (1.2, True), (10, True)])
def test_what_counts_as_coarse(recorded_s, coarse):
    assert resolution.is_coarse(recorded_s, 1.0) == coarse
    assert bool(resolution.left_out(recorded_s, 1.0)) == coarse


def test_sums_over_the_window_stay_and_single_samples_go():
    values = dict.fromkeys(("U_n", "U_n@per_column", "U_n_of_means", "U_n_of_means@per_column", "zero_share"), np.nan)
    assert list(resolution.kept("nru", values)) == ["U_n_of_means", "U_n_of_means@per_column"]
    assert resolution.left_out(10, 1, ("jfi",)) == (
        "recorded every 10 s: jfi_mean needs intervals of 1 s and is left out"
    )
