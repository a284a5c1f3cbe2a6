"""Fairness measures against values printed in bhatti2008 and bhatti2009 and worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tcpfair.metrics import fairness

RATES = st.floats(min_value=0.01, max_value=1e4)
ZERO_OR_RATE = st.just(0.0) | RATES
NAN = np.nan

# bhatti2008 Table VI: U_N+, U_N-, S_N of the pairs with CCID2 at 25, 50, ..., 200 ms
TABLE_6 = {
    "NewReno": [
        (0.84, -1.29, 6.66),
        (0.91, -1.43, 6.35),
        (0.83, -1.48, 5.01),
        (1.15, -1.81, 6.31),
        (NAN, -0.27, 1.23),
        (0.54, -0.77, 8.13),
        (0.50, -0.93, 4.69),
        (0.68, -1.21, 5.06),
    ],
    "CUBIC": [
        (0.06, -0.40, 1.93),
        (1.53, -2.58, 5.50),
        (2.00, -4.27, 3.80),
        (2.00, -4.24, 3.83),
        (1.90, -3.73, 4.37),
        (1.80, -3.23, 5.00),
        (1.75, -3.10, 5.06),
        (1.80, -3.31, 4.79),
    ],
}
# bhatti2008 Table IX: U_N+ and U_N- of 14 flows at the same RTTs
TABLE_9 = (
    [NAN, NAN, NAN, NAN, 0.02, 0.10, 0.10, 0.10],
    [-10.51, -11.70, -12.28, -12.97, -15.57, -16.98, -17.74, -18.47],
)
# Mean throughput in Mb/s of the self-pairs at 100 ms, bhatti2008 Table III: CCID2 and CUBIC
SELF_100_MS = np.array([[45.0, 48.0], [44.0, 48.0]])


def test_jfi_of_two_values_over_four_orders_of_magnitude_is_051_to_1():
    flow1 = np.logspace(0, 4, 401)
    j = fairness.jfi(np.stack([flow1, np.full_like(flow1, 100.0)]), axis=0)
    assert round(j.min(), 2) == 0.51
    assert j.max() == pytest.approx(1.0)
    assert flow1[j.argmax()] == pytest.approx(100.0)


def test_jfi_of_hand_worked_shares():
    # (2 + 1)^2 / (2 (4 + 1)); one of four flows takes all
    assert fairness.jfi([2.0, 1.0]) == pytest.approx(0.9)
    assert fairness.jfi([0.0, 0.0, 7.0, 0.0]) == pytest.approx(0.25)
    # NewReno and CCID2 at 200 ms, bhatti2008 Table IV
    assert round(float(fairness.jfi([30.0, 29.0])), 3) == 1.000


@given(arrays(float, st.integers(1, 14), elements=ZERO_OR_RATE).filter(np.any), st.floats(0.001, 1000))
def test_jfi_lies_in_its_range_and_ignores_unit_and_order(r, unit):
    j = fairness.jfi(r)
    assert 1 / r.size - 1e-12 <= j <= 1 + 1e-12
    assert fairness.jfi(r[::-1] * unit) == pytest.approx(j)


def test_jfi_over_time_and_its_mean_skip_silent_samples():
    # two flows that alternate: each second is as unfair as can be, the means are equal
    r = np.array([[10.0, 0.0, 10.0, 0.0, 0.0], [0.0, 10.0, 0.0, 10.0, 0.0]])
    np.testing.assert_allclose(fairness.jfi_over_time(r), [0.5, 0.5, 0.5, 0.5, NAN])
    assert fairness.mean_jfi(r) == pytest.approx(0.5)
    assert fairness.jfi_of_means(r) == pytest.approx(1.0)
    assert np.isnan(fairness.mean_jfi(np.zeros((2, 3))))


def test_rate_ratio_from_jfi():
    assert fairness.rate_ratio_from_jfi(0.9) == pytest.approx(2.0)
    assert fairness.rate_ratio_from_jfi(1.0) == pytest.approx(1.0)


@given(st.floats(1.0, 100.0))
def test_rate_ratio_inverts_jfi(ratio):
    # the square root loses half of the digits where J touches 1
    assert fairness.rate_ratio_from_jfi(fairness.jfi([ratio, 1.0])) == pytest.approx(ratio, rel=1e-6)


def test_weights_per_column_are_those_of_bhatti2009():
    # sec. III-B: CCID2 as flow 1 and Compound as flow 2 at 25 ms have 43 and 51 Mb/s (both rows of Table IV are 43, 51)
    w = fairness.weights_per_column([[43.0, 51.0], [43.0, 51.0]])
    np.testing.assert_allclose(1 / w, [43.0, 51.0])
    np.testing.assert_allclose(1 / fairness.weights_per_column(SELF_100_MS), [45.0, 48.0])


def test_weights_mean_of_columns_are_those_of_bhatti2008():
    np.testing.assert_allclose(1 / fairness.weights_mean_of_columns(SELF_100_MS), [46.5, 46.0])


def test_nru_of_the_expected_throughput_is_zero_and_of_nine_tenths_is_u_c():
    u = fairness.nru_over_time_db([[46.5, 41.85, 93.0]], [1 / 46.5], floor=0.01)
    np.testing.assert_allclose(u[0], [0.0, -0.4576, 3.0103], atol=1e-4)
    assert round(u[0, 1], 2) == fairness.U_C_DB


def test_silent_samples_count_as_one_segment():
    # a hundredth of the expected rate is -20 dB
    r = np.array([[50.0, 0.0, 50.0, 0.0], [50.0, 50.0, 50.0, 50.0]])
    u = fairness.nru_over_time_db(r, [1 / 50, 1 / 50], floor=0.5)
    np.testing.assert_allclose(u[0], [0.0, -20.0, 0.0, -20.0], atol=1e-12)
    np.testing.assert_allclose(fairness.flow_nru_db(u), [-10.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(fairness.zero_share(r), [0.5, 0.0])


def test_nru_of_means_at_100_ms():
    # CCID2 17 and CUBIC 73 Mb/s (Table IV) against 46.5 and 46; Table VI prints -4.24 and 2.00
    r = np.array([[17.0], [73.0]])
    u = fairness.flow_nru_db_of_mean(r, fairness.weights_mean_of_columns(SELF_100_MS))
    np.testing.assert_allclose(u, [-4.370, 2.006], atol=1e-3)
    assert np.isneginf(fairness.flow_nru_db_of_mean([[0.0, 0.0]], [1.0])[0])


@given(arrays(float, array_shapes(min_dims=2, max_dims=2, max_side=5), elements=RATES))
def test_mean_of_db_never_exceeds_db_of_mean(r):
    weights = np.ones(r.shape[0])
    u_db = fairness.flow_nru_db(fairness.nru_over_time_db(r, weights, floor=1e-3))
    assert np.all(u_db <= fairness.flow_nru_db_of_mean(r, weights) + 1e-9)


def test_system_nru_against_newreno_from_bhatti2009_tables():
    # CCID2 56, 52, 41, 32 and NewReno 38, 42, 50, 36 Mb/s (Table VI) over the columns of Table IV
    r = np.array([[[56.0], [38]], [[52], [42]], [[41], [50]], [[32], [36]]])
    weights = 1 / np.array([[43.0, 55], [47, 54], [45, 56], [33, 56]])
    u_mean, u_plus, u_minus = fairness.nru_tuple(fairness.flow_nru_db_of_mean(r, weights))
    np.testing.assert_allclose(u_mean, [-0.23, -0.33, -0.45, -1.03], atol=0.005)
    # by means no flow reaches its share at 100 and 200 ms
    np.testing.assert_array_equal(np.isnan(u_plus), [False, False, True, True])
    assert np.all(u_minus < 0)


def test_nru_tuple_splits_the_flows_by_sign():
    u = fairness.nru_tuple([[1.0, -2.0, 0.0, -4.0], [-1.0, -1.0, -1.0, -1.0], [0.0, 2.0, 4.0, 6.0]])
    np.testing.assert_array_equal(u.u_mean, [-1.25, -1.0, 3.0])
    np.testing.assert_array_equal(u.u_plus, [0.5, NAN, 3.0])
    np.testing.assert_array_equal(u.u_minus, [-3.0, -1.0, NAN])


def test_case_letters_of_table_2():
    letters = fairness.case_letter([NAN, 1.0, 0.0, 1.0, 0.0, NAN], [-1.0, -1.0, -1.0, NAN, NAN, NAN])
    assert "".join(letters) == "ABCDE-"


def test_case_letters_of_table_6():
    newreno, cubic = (np.array(TABLE_6[p]).T for p in ("NewReno", "CUBIC"))
    assert "".join(fairness.case_letter(newreno[0], newreno[1])) == "BBBBABBB"
    assert "".join(fairness.case_letter(cubic[0], cubic[1])) == "BBBBBBBB"
    # the paper calls CUBIC at 25 ms Case C to one decimal, but 0.06 rounds to 0.1
    assert fairness.case_letter(0.06, -0.40, decimals=1) == "B"


def test_case_letters_of_table_9():
    assert "".join(fairness.case_letter(*TABLE_9)) == "AAAABBBB"
    assert "".join(fairness.case_letter(*TABLE_9, decimals=1)) == "AAAACBBB"


def test_an_nru_that_rounds_to_zero_is_fair():
    assert fairness.case_letter(0.5, -0.001) == "D"
    assert fairness.case_letter(NAN, -0.001) == "E"


@pytest.mark.parametrize("protocol", TABLE_6)
def test_tuple_stability_is_the_printed_s_n(protocol):
    """Within rounding of the printed pair in 13 of the 15 cells that print one; the two others need U_N+ = 1.95."""
    missed = []
    for u_plus, u_minus, printed in TABLE_6[protocol]:
        rounding = np.array([-0.005, 0.005])
        corners = np.stack(np.meshgrid(u_plus + rounding, u_minus + rounding), axis=-1)
        s_n = fairness.tuple_stability(corners)
        if not np.isnan(u_plus) and not s_n.min() - 0.005 <= printed <= s_n.max() + 0.005:
            missed.append(printed)
            assert fairness.tuple_stability([1.95, u_minus]) == pytest.approx(printed, abs=0.02)
    assert missed == {"NewReno": [], "CUBIC": [3.80, 3.83]}[protocol]


def test_stability_of_hand_worked_series():
    # mean 2, sample variance 2 -> 0.7071; mean -4, variance 8 -> 0.7071 of its magnitude; a constant does not vary
    u_db = np.array([[1.0, 3.0], [-2.0, -6.0], [5.0, 5.0]])
    np.testing.assert_allclose(fairness.flow_stability(u_db), [0.7071, 0.7071, 0.0], atol=1e-4)
    assert fairness.system_stability(u_db) == pytest.approx(2 * 0.7071 / 3, abs=1e-4)


T_S = np.arange(61.0, 67.0)
U_DB = np.array(
    [
        [-3.0, -0.4, -2.0, -0.4, -0.3, -0.2],
        [+1.5, +1.0, +1.8, -0.5, -0.4, -0.3],
        [-3.0, -3.0, -3.0, -3.0, -3.0, -3.0],
    ]
)


def test_convergence_time_of_each_flow():
    t = fairness.convergence_time_s(U_DB, T_S, t_e_s=30.0)
    np.testing.assert_array_equal(t, [32.0, 31.0, NAN])


def test_convergence_is_searched_after_the_epoch_only():
    np.testing.assert_array_equal(fairness.convergence_time_s(U_DB, T_S, t_e_s=62.0), [2.0, 1.0, NAN])
    assert np.isnan(fairness.convergence_time_s(U_DB, T_S, t_e_s=100.0)).all()


def test_convergence_over_a_window_passes_over_short_visits():
    # means of two samples of flow 1: -1.7, -1.2, -1.2, -0.35
    t = fairness.convergence_time_s(U_DB, T_S, t_e_s=60.0, window_s=2.0)
    np.testing.assert_array_equal(t, [5.0, 2.0, NAN])
    assert np.isnan(fairness.convergence_time_s(U_DB, T_S, t_e_s=60.0, window_s=7.0)).all()


def test_convergence_threshold_is_met_from_exactly_u_c():
    u_db = np.array([[-0.47, -0.46]])
    assert fairness.convergence_time_s(u_db, np.array([1.0, 2.0]), t_e_s=0.0) == 2.0


def test_system_converges_when_every_flow_has():
    assert fairness.system_convergence_time_s(U_DB[:2], T_S, t_e_s=60.0) == 2.0
    assert fairness.system_convergence_time_s(U_DB[:2], T_S, t_e_s=60.0, u_c_db=-0.35) == 6.0
    assert np.isnan(fairness.system_convergence_time_s(U_DB, T_S, t_e_s=60.0))


def test_mean_over_flows_lets_one_flow_make_up_for_another():
    # means over the first two flows: -0.75, 0.3
    u_db = U_DB[:2] - [[0.0], [0.5]]
    assert fairness.system_convergence_time_s(u_db, T_S, t_e_s=60.0, over_flows=np.mean) == 2.0
    u_db[0, 1] = -1.0
    assert fairness.system_convergence_time_s(u_db, T_S, t_e_s=60.0, over_flows=np.mean) == 2.0
    assert np.isnan(fairness.system_convergence_time_s(u_db, T_S, t_e_s=60.0))


@given(arrays(float, (2, 3, 12), elements=st.floats(-5, 5)))
def test_the_system_never_converges_before_its_last_flow(u_db):
    t_s = np.arange(1.0, 13.0)
    flows = fairness.convergence_time_s(u_db, t_s, t_e_s=0.0)
    system = fairness.system_convergence_time_s(u_db, t_s, t_e_s=0.0)
    assert system.shape == (2,)
    assert np.all(np.isnan(system) | (system >= flows.max(axis=-1)))


def test_weights_by_what_the_flows_carry_together():
    three = [[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]
    np.testing.assert_allclose(fairness.weights_half_of_sum(three), [2 / 60, 2 / 150])
    np.testing.assert_allclose(fairness.weights_sum_of_columns(three), [1 / 60, 1 / 150])


def test_a_window_of_convergence_counts_in_its_own_samples():
    """Samples of 2 s from t_e = 0 on, windows of 4 s: the means end at 4, 6 and 8 s; just fair is fair."""
    u_db, t_s = np.array([[-4.0, -2.0, 0.0, 4.0]]), [2.0, 4.0, 6.0, 8.0]
    assert fairness.convergence_time_s(u_db, t_s, 0.0, -1.0, 4.0).tolist() == [6.0]
    assert fairness.system_convergence_time_s(u_db, t_s, 0.0, -1.0, 4.0) == 6.0
    # as many samples as one window has, and one too few
    assert fairness.convergence_time_s(u_db, t_s, 0.0, -1.0, 8.0).tolist() == [8.0]
    assert np.isnan(fairness.convergence_time_s(u_db, t_s, 2.0, -9.0, 8.0)).tolist() == [True]
