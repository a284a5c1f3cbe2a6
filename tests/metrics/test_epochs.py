"""Loss-epoch measures on a hand-made sawtooth."""

import numpy as np
import pytest

from tcpfair.metrics import epochs

# Two fast recoveries at 10 and 25 s and one timeout at 40 s
T_S = [10.0, 10.1, 25.0, 25.2, 40.0, 41.0]
KIND = ["loss", "recovery_end", "loss", "recovery_end", "rto", "recovery_end"]


def test_losses_include_timeouts_but_not_ends_of_recovery():
    losses_s = epochs.loss_times_s(T_S, KIND)
    assert losses_s.tolist() == [10.0, 25.0, 40.0]
    assert epochs.epoch_lengths_s(losses_s).tolist() == [15.0, 15.0]


def test_a_flow_without_events_has_no_epochs():
    assert epochs.loss_times_s([], []).size == 0
    assert epochs.epoch_lengths_s([]).size == 0


def test_growth_slope_of_a_line_ignores_what_lies_outside():
    t_s = np.arange(0.0, 10.0)
    cwnd_pkts = np.where(t_s < 5, 40 + 25 * t_s, 0.0)
    assert epochs.growth_slope_pkts_per_s(t_s, cwnd_pkts, 0.0, 4.0) == pytest.approx(25.0)
    # both ends belong to it: the steps up and down are seen
    assert epochs.growth_slope_pkts_per_s(t_s, cwnd_pkts, 4.0, 5.0) == pytest.approx(-140.0)


def test_measured_k_of_a_window_that_returns_once_and_is_cut_short_once():
    t_s = np.arange(0.0, 12.0)
    cwnd_pkts = [80.0, 90.0, 98.0, 100.0, 110.0, 88.0, 90.0, 95.0, 76.0, 80.0, 90.0, 96.0]
    k_s = epochs.measured_k_s(t_s, cwnd_pkts, recovery_end_s=[0.0, 5.0, 8.0], w_max_pkts=[100.0, 96.0, 95.0])
    np.testing.assert_array_equal(k_s, [3.0, np.nan, 3.0])


def test_measured_k_may_be_zero_and_never_reaches_into_the_next_epoch():
    k_s = epochs.measured_k_s(
        [0.0, 1.0, 2.0], [100.0, 90.0, 100.0], recovery_end_s=[0.0, 1.0, 2.0], w_max_pkts=[99.0] * 3
    )
    np.testing.assert_array_equal(k_s, [0.0, np.nan, 0.0])


def test_measured_k_needs_one_w_max_per_recovery():
    with pytest.raises(ValueError, match="zip"):
        epochs.measured_k_s([0.0, 1.0], [10.0, 20.0], recovery_end_s=[0.0], w_max_pkts=[10.0, 20.0])


def test_synchronised_share_of_two_flows():
    # 10.0 and 10.2 are shared; 20.0 and 30.0, 35.0 are not
    flows = [[10.0, 20.0], [10.2, 30.0, 35.0]]
    assert epochs.synchronised_loss_share(flows, window_s=0.5) == pytest.approx(2 / 5)
    assert epochs.synchronised_loss_share(flows, window_s=0.1) == 0.0
    assert epochs.synchronised_loss_share(flows, window_s=100.0) == 1.0


def test_synchronised_share_counts_pairs_of_flows():
    # flows 1 and 2 lose together, flow 3 elsewhere: each loss of 1 and 2 is shared with one of two others
    assert epochs.synchronised_loss_share([[1.0], [1.0], [5.0]], window_s=0.1) == pytest.approx(1 / 3)


def test_synchronised_share_without_losses_is_nan():
    assert np.isnan(epochs.synchronised_loss_share([[], []], window_s=1.0))
    assert epochs.synchronised_loss_share([[1.0], []], window_s=1.0) == 0.0


def test_mean_epoch_is_the_mean_distance_of_losses():
    assert epochs.mean_epoch_s([10.0, 25.0, 45.0]) == 17.5
    assert np.isnan(epochs.mean_epoch_s([10.0]))
    assert np.isnan(epochs.mean_epoch_s([]))


def test_losses_at_both_ends_of_a_span_belong_to_it():
    assert epochs.losses_between_s([5.0, 10.0, 25.0, 45.0, 46.0], 10.0, 45.0).tolist() == [10.0, 25.0, 45.0]


@pytest.mark.parametrize(
    ("losses_s", "span_s"),
    [
        ([5.0, 20.0, 50.0, 80.0, 120.0], (20.0, 80.0)),  # 60 of 90 s
        ([20.0, 70.0], (20.0, 70.0)),  # two are enough, 50 of 90 s
        ([20.0, 65.0], (20.0, 65.0)),  # just half of it
        ([20.0, 50.0], (10.0, 100.0)),  # 30 of 90 s are too few
        ([50.0], (10.0, 100.0)),
        ([], (10.0, 100.0)),
    ],
)
def test_whole_epochs_are_taken_where_they_fill_enough_of_the_window(losses_s, span_s):
    assert epochs.whole_epochs_s(losses_s, 10.0, 100.0, least_share=0.5) == span_s


def test_k_belongs_to_the_epoch_that_a_loss_ends():
    k_s = epochs.k_over_time_s([1.0, 5.0, 5.1, 9.0, 12.0], [5.0, 10.0], [2.0, 3.0])
    np.testing.assert_array_equal(k_s, [2, 2, 3, 3, np.nan])


def test_common_losses_are_the_nearest_to_each_other():
    first, second = [1.0, 5.0, 5.2, 9.0], [1.1, 5.15, 8.0]
    # 5.15 is nearer to 5.2 than to 5.0, and 8.0 is too far from 9.0
    assert epochs.common_losses(first, second, 0.3).tolist() == [[0, 0], [2, 1]]
    assert epochs.common_losses(second, first, 0.3).tolist() == [[0, 0], [1, 2]]
    assert epochs.common_losses([], second, 0.3).shape == (0, 2)
    assert epochs.common_losses([], second, 0.3).dtype == np.int64
    assert epochs.common_losses([1.0], [1.25], 0.25).tolist() == [[0, 0]]  # just within
