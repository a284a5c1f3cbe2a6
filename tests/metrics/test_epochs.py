"""Loss-epoch measures on hand-made sawteeth."""

import numpy as np
import pytest

from tcpfair.metrics import epochs

NAN = np.nan
# Two fast recoveries at 10 and 25 s and one timeout at 40 s
T_S = [10.0, 10.1, 25.0, 25.2, 40.0, 41.0]
KIND = ["loss", "recovery_end", "loss", "recovery_end", "rto", "recovery_end"]
# 40 packets and 25 more each second, for five seconds
GROWTH_S = np.arange(0.0, 10.0)
GROWTH_PKTS = np.where(GROWTH_S < 5, 40 + 25 * GROWTH_S, 0.0)
# returns once, is cut short once
RETURNS_PKTS = [80.0, 90.0, 98.0, 100.0, 110.0, 88.0, 90.0, 95.0, 76.0, 80.0, 90.0, 96.0]
# 10.0 and 10.2 are shared; 20.0 and 30.0, 35.0 are not
TWO_FLOWS = [[10.0, 20.0], [10.2, 30.0, 35.0]]
# 5.15 is nearer to 5.2 than to 5.0, and 8.0 is too far from 9.0
FIRST, SECOND = [1.0, 5.0, 5.2, 9.0], [1.1, 5.15, 8.0]

BY_HAND = {
    "losses and timeouts": (epochs.loss_times_s, T_S, KIND, [10.0, 25.0, 40.0]),
    "no losses": (epochs.loss_times_s, [], [], []),
    "lengths": (epochs.epoch_lengths_s, [10.0, 25.0, 40.0], [15.0, 15.0]),
    "no lengths": (epochs.epoch_lengths_s, [], []),
    "slope of a line": (epochs.growth_slope_pkts_per_s, GROWTH_S, GROWTH_PKTS, 0.0, 4.0, 25.0),
    # both ends belong to it: the steps up and down are seen
    "slope of a fall": (epochs.growth_slope_pkts_per_s, GROWTH_S, GROWTH_PKTS, 4.0, 5.0, -140.0),
    "K": (epochs.measured_k_s, np.arange(0.0, 12.0), RETURNS_PKTS, [0.0, 5.0, 8.0], [100.0, 96.0, 95.0], [3, NAN, 3]),
    # never reaches into the next epoch
    "K of zero": (epochs.measured_k_s, [0.0, 1.0, 2.0], [100.0, 90.0, 100.0], [0.0, 1.0, 2.0], [99.0] * 3, [0, NAN, 0]),
    "synchronised within 0.5 s": (epochs.synchronised_loss_share, TWO_FLOWS, 0.5, 2 / 5),
    "synchronised within 0.1 s": (epochs.synchronised_loss_share, TWO_FLOWS, 0.1, 0),
    "synchronised within 100 s": (epochs.synchronised_loss_share, TWO_FLOWS, 100.0, 1),
    # flows 1 and 2 lose together, flow 3 elsewhere: each loss of 1 and 2 is shared with one of two others
    "synchronised pairs": (epochs.synchronised_loss_share, [[1.0], [1.0], [5.0]], 0.1, 1 / 3),
    "synchronised with a flow without losses": (epochs.synchronised_loss_share, [[1.0], []], 1.0, 0),
    "synchronised without losses": (epochs.synchronised_loss_share, [[], []], 1.0, NAN),
    "mean epoch": (epochs.mean_epoch_s, [10.0, 25.0, 45.0], 17.5),
    "mean epoch of one loss": (epochs.mean_epoch_s, [10.0], NAN),
    "mean epoch of no loss": (epochs.mean_epoch_s, [], NAN),
    "losses at both ends": (epochs.losses_between_s, [5.0, 10.0, 25.0, 45.0, 46.0], 10.0, 45.0, [10.0, 25.0, 45.0]),
    # 60 of 90 s; two losses are enough, 50 of 90 s; just half of it; 30 of 90 s are too few
    "whole epochs": (epochs.whole_epochs_s, [5.0, 20.0, 50.0, 80.0, 120.0], 10.0, 100.0, 0.5, (20, 80)),
    "one whole epoch": (epochs.whole_epochs_s, [20.0, 70.0], 10.0, 100.0, 0.5, (20, 70)),
    "half of the window": (epochs.whole_epochs_s, [20.0, 65.0], 10.0, 100.0, 0.5, (20, 65)),
    "too short epochs": (epochs.whole_epochs_s, [20.0, 50.0], 10.0, 100.0, 0.5, (10, 100)),
    "no whole epoch": (epochs.whole_epochs_s, [50.0], 10.0, 100.0, 0.5, (10, 100)),
    "no loss in the window": (epochs.whole_epochs_s, [], 10.0, 100.0, 0.5, (10, 100)),
    # K belongs to the epoch that a loss ends
    "K over time": (epochs.k_over_time_s, [1.0, 5.0, 5.1, 9.0, 12.0], [5.0, 10.0], [2.0, 3.0], [2, 2, 3, 3, NAN]),
    "common losses": (epochs.common_losses, FIRST, SECOND, 0.3, [[0, 0], [2, 1]]),
    "common losses the other way": (epochs.common_losses, SECOND, FIRST, 0.3, [[0, 0], [1, 2]]),
    "common losses just within": (epochs.common_losses, [1.0], [1.25], 0.25, [[0, 0]]),
}


@pytest.mark.filterwarnings("error")  # what is not defined is NaN without a warning
@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    function, *arguments, expected = BY_HAND[name]
    np.testing.assert_allclose(function(*arguments), expected, rtol=1e-12)


def test_without_losses_common_ones_are_an_empty_table_of_places():
    found = epochs.common_losses([], SECOND, 0.3)
    assert (found.shape, found.dtype) == ((0, 2), np.int64)


def test_measured_k_needs_one_w_max_per_recovery():
    with pytest.raises(ValueError, match="zip"):
        epochs.measured_k_s([0.0, 1.0], [10.0, 20.0], recovery_end_s=[0.0], w_max_pkts=[10.0, 20.0])
