"""What holds for every metric: leading axes are kept, what converts narrow columns counts in full precision, nothing warns."""

import numpy as np
import pytest

from tcpfair.metrics import epochs, fairness, series

R = np.array([[[3.1, 0.0, 7.3, 4.4], [2.7, 5.9, 1.3, 6.1]], [[8.3, 1.7, 2.9, 0.7], [5.3, 4.1, 9.7, 3.3]]])
R = np.concatenate([R, 1.7 * R[::-1]])[:3]  # 3 runs, 2 flows, 4 samples
U = 10 * np.log10(R + 0.1)
T_S = np.array([1.1, 2.1, 3.1, 4.1])
LOSSES_S = np.array([1.1, 2.3, 4.7, 5.9])
KINDS = ["loss", "rto", "loss", "loss"]

OF_RUNS = {
    "jfi": (fairness.jfi, R),
    "jfi_over_time": (fairness.jfi_over_time, R),
    "mean_jfi": (fairness.mean_jfi, R),
    "jfi_of_means": (fairness.jfi_of_means, R),
    "weights_per_column": (fairness.weights_per_column, R[..., 2:]),
    "weights_mean_of_columns": (fairness.weights_mean_of_columns, R),
    "weights_half_of_sum": (fairness.weights_half_of_sum, R),
    "weights_sum_of_columns": (fairness.weights_sum_of_columns, R),
    "nru_over_time_db": (lambda r: fairness.nru_over_time_db(r, r[..., 3], 0.3), R),
    "zero_share": (fairness.zero_share, R),
    "flow_nru_db": (fairness.flow_nru_db, U),
    "flow_nru_db_of_mean": (lambda r: fairness.flow_nru_db_of_mean(r, r[..., 3]), R),
    "nru_tuple": (lambda u: np.array(fairness.nru_tuple(u)[:1]), U),
    "u_plus": (lambda u: fairness.nru_tuple(u).u_plus, U),
    "flow_stability": (fairness.flow_stability, U),
    "system_stability": (fairness.system_stability, U),
    "convergence_time_s": (lambda u: fairness.convergence_time_s(u, T_S, 0.5, 7.0, 2.0), U),
    "system_convergence_time_s": (lambda u: fairness.system_convergence_time_s(u, T_S, 0.5, 4.0, 2.0), U),
    "time_to_fraction_s": (lambda x: series.time_to_fraction_s(x, T_S, 0.7), R),
    "share_of_time": (lambda x: series.share_of_time(x > 4), R),
    "utilisation": (lambda x: series.utilisation(x, 10.0), R),
    "coefficient_of_variation": (series.coefficient_of_variation, R),
    "moving_mean": (lambda x: series.moving_mean(x, 2), R),
    "smaller_to_larger_ratio": (series.smaller_to_larger_ratio, R),
}


@pytest.mark.parametrize("name", OF_RUNS)
def test_each_run_is_measured_as_if_it_were_alone(name):
    metric, runs = OF_RUNS[name]
    axis = 1 if name == "nru_tuple" else 0
    alone = [metric(run) for run in runs]
    np.testing.assert_allclose(metric(runs), np.stack(alone, axis=axis), rtol=1e-13)


CONVERTING = ("jfi", "jfi_over_time", "mean_jfi", "weights_per_column", "nru_tuple", "u_plus", "flow_stability")
CONVERTING += ("system_stability", "convergence_time_s", "system_convergence_time_s", "time_to_fraction_s")
CONVERTING += ("coefficient_of_variation", "moving_mean", "smaller_to_larger_ratio")
NARROW = {
    **{name: (OF_RUNS[name][0], (OF_RUNS[name][1],)) for name in CONVERTING},
    "rate_ratio_from_jfi": (fairness.rate_ratio_from_jfi, (np.array([0.7, 0.9]),)),
    "weights_as_columns": (lambda w: fairness.nru_over_time_db(R, w, 0.3), (R[..., 0] + 1,)),
    "window_means": (lambda t_s: fairness.convergence_time_s(U, t_s, 0.5, 7.0, 2.0), (T_S,)),
    "mean_interval": (lambda x: series.mean_interval(x, 0.95), (R[0, 1],)),
    "loss_times_s": (lambda t_s: epochs.loss_times_s(t_s, KINDS) / 3, (LOSSES_S,)),
    "epoch_lengths_s": (epochs.epoch_lengths_s, (LOSSES_S,)),
    "losses_between_s": (lambda t_s: epochs.losses_between_s(t_s, 2.0, 5.0) / 3, (LOSSES_S,)),
    "growth_slope": (lambda t_s, pkts: epochs.growth_slope_pkts_per_s(t_s, pkts, 2.0, 5.0), (T_S, R[0, 1])),
    "k_over_time_s": (lambda k_s: epochs.k_over_time_s([1.5], LOSSES_S, k_s) / 3, (LOSSES_S,)),
    "measured_k_s": (
        lambda t_s, ends_s: epochs.measured_k_s(t_s, [1.0, 2.0, 3.0, 4.0], ends_s, [2.0, 4.0]),
        (T_S, np.array([1.3, 3.3])),
    ),
}


@pytest.mark.parametrize("name", NARROW)
def test_columns_of_single_precision_are_computed_in_double(name):
    """Traces keep windows as float32; the metrics of them are those of the same numbers as float64."""
    metric, arrays = NARROW[name]
    narrow = [array.astype(np.float32) for array in arrays]
    np.testing.assert_array_equal(metric(*narrow), metric(*(array.astype(float) for array in narrow)))
    assert np.asarray(metric(*narrow)).dtype == np.float64


@pytest.mark.filterwarnings("error")
def test_what_is_not_defined_is_nan_without_a_warning():
    silent = np.zeros((2, 3))
    assert np.isnan(fairness.jfi_over_time(silent)).all() and np.isnan(fairness.mean_jfi(silent))
    assert fairness.flow_nru_db_of_mean(silent, np.ones(2)).tolist() == [-np.inf, -np.inf]
    assert np.isnan(series.coefficient_of_variation(silent)).all()
    assert series.coefficient_of_variation([-1.0, 1.0]) == np.inf
    assert np.isnan(series.throughput_ratio(0.0, 0.0)) and series.throughput_ratio(1.0, 0.0) == np.inf
    assert np.isnan(series.mean_interval([], 0.95)).all()
    assert np.isnan(epochs.mean_epoch_s([1.0]))
    assert np.isnan(epochs.synchronised_loss_share([[], []], 1.0))
