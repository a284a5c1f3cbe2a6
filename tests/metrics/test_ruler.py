"""One ruler: examples worked out by hand, and the identities among the references."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpfair.metrics import fairness, ruler

RATES = st.lists(st.floats(0.01, 1e4), min_size=2, max_size=12)
Y, Y_SELF, X, M = np.array([20.0, 70.0]), np.array([45.0, 45.0]), np.array([90.0, 80.0]), np.array([45.0, 45.0])

# (reference, value for each flow of Y): 20/45, 70/45; 20/90, 70/80; 20/45, 70/45
BY_HAND = {"self": [4 / 9, 14 / 9], "solo": [2 / 9, 7 / 8], "max_min": [4 / 9, 14 / 9]}


@pytest.mark.parametrize(("reference", "expected"), BY_HAND.items())
def test_what_a_flow_gets_over_each_reference(reference, expected):
    assert ruler.ruler(Y, reference, y_self=Y_SELF, x=X, m=M) == pytest.approx(expected, rel=1e-15)


def test_a_reference_that_does_not_exist_or_has_no_value_is_refused():
    with pytest.raises(ValueError, match="^ruler: reference 'best' is unknown; known are self, solo, max_min$"):
        ruler.ruler(Y, "best")
    with pytest.raises(ValueError, match="^ruler: reference 'solo' needs x$"):
        ruler.ruler(Y, "solo", y_self=Y_SELF)
    assert np.isnan(ruler.ruler(0, "self", y_self=0)) and np.isinf(ruler.ruler(1, "self", y_self=0))


def test_nru_in_db():
    """10 log10(4/9) = -3.5218; half is -3.0103, twice 3.0103; nothing is -inf."""
    assert ruler.nru_db([4 / 9, 0.5, 1, 2, 0]) == pytest.approx(
        [-3.5218251811136247, -3.010299956639812, 0, 3.010299956639812, -np.inf]
    )


def test_the_u_of_the_mean_is_no_mean_of_u():
    """Half, then one and a half times its share: the mean ratio is 1 (0 dB), the mean of U (-3.0103 + 1.7609)/2 = -0.6247."""
    assert ruler.jensen_gap_db([0.5, 1.5]) == pytest.approx(0.62469368304149, abs=1e-12)
    assert ruler.jensen_gap_db([[0.7, 0.7], [1.0, 1.0]]) == pytest.approx([0, 0], abs=1e-12)


@given(RATES)
def test_jensens_gap_is_never_negative(ratios):
    assert ruler.jensen_gap_db(ratios) >= -1e-12


@pytest.mark.parametrize(
    ("x", "y", "less_is_better", "expected"),
    [
        (90, 30, False, 2 / 3),  # of 90 Mb/s alone 30 are left
        (90, 90, False, 0),
        (90, 0, False, 1),
        (40, 50, False, -0.25),  # it gains
        (10, 40, True, 0.75),  # ms of queueing: three quarters of them come from the others
        (0, 0, True, 0),  # no loss either way
        (0, 0.01, True, 1),  # all of the loss comes from the others
        (0.02, 0.01, True, -1),
    ],
)
def test_harm(x, y, less_is_better, expected):
    assert ruler.harm(x, y, less_is_better) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("capacity", "demands", "expected"),
    [
        (50, [10, np.inf], [10, 40]),  # a video of 10 Mb/s beside a download
        (90, [np.inf] * 3, [30] * 3),
        (10, [2, 2.6, 4, 5], [2, 2.6, 2.7, 2.7]),  # 10/4 = 2.5 > 2; 8/3 = 2.67 > 2.6; 5.4/2 = 2.7 each
        (10, [5, 4, 2.6, 2], [2.7, 2.7, 2.6, 2]),  # in any order
        (100, [10, 20], [10, 20]),  # the rest stays unused
    ],
)
def test_max_min_shares(capacity, demands, expected):
    assert ruler.max_min(capacity, demands) == pytest.approx(expected, rel=1e-15)


@given(st.floats(1, 1e3), RATES)
def test_a_flow_that_demands_more_gets_no_less_than_any_other(capacity, demands):
    """The definition: a share is the demand, or no share is larger; and nothing is left while somebody wants more."""
    shares = ruler.max_min(capacity, demands)
    assert (shares <= np.array(demands) + 1e-9).all()
    assert shares.sum() == pytest.approx(min(capacity, sum(demands)))
    wanting = shares < np.array(demands) - 1e-9
    assert (shares[wanting] >= shares.max() - 1e-9).all()


@given(st.data())
def test_the_references_differ_by_constants_of_the_flow(data):
    n = data.draw(st.integers(1, 8))
    y, y_self, x, m = (np.array(data.draw(st.lists(st.floats(0.1, 1e3), min_size=n, max_size=n))) for _ in range(4))
    of_self, of_solo = ruler.ruler(y, "self", y_self=y_self), ruler.ruler(y, "solo", x=x)
    self_harm, harm = ruler.harm(x, y_self), ruler.harm(x, y)
    assert of_solo == pytest.approx(1 - harm, rel=1e-12, abs=1e-12)
    assert of_solo == pytest.approx(of_self * ruler.ruler(y_self, "solo", x=x), rel=1e-12)
    assert ruler.ruler(y, "max_min", m=m) == pytest.approx(of_self * ruler.ruler(y_self, "max_min", m=m), rel=1e-12)
    u_db = ruler.nru_db(of_self)
    assert 10 ** (u_db / 10) * (1 - self_harm) == pytest.approx(1 - harm, rel=1e-12, abs=1e-12)
    # harmed more than by its own kind: U below 0
    far = np.abs(u_db) > 1e-9
    assert ((harm > self_harm) == (u_db < 0))[far].all()


def test_symmetric_indices_by_hand():
    """[1, 3]: J = 16/20; mean absolute difference 4/4 = 1 over twice the mean, 4; -(0.25 log2 0.25 + 0.75 log2 0.75) bit of 1."""
    assert fairness.jfi([1, 3]) == pytest.approx(0.8)
    assert ruler.gini([1, 3]) == pytest.approx(0.25)
    assert ruler.entropy([1, 3]) == pytest.approx(0.5 + 0.75 * np.log2(4 / 3))
    for index, equal, worst in ((fairness.jfi, 1, 0.25), (ruler.gini, 0, 0.75), (ruler.entropy, 1, 0)):
        assert index([5, 5, 5, 5]) == pytest.approx(equal)
        assert index([0, 0, 7, 0]) == pytest.approx(worst)


@given(RATES, st.randoms())
def test_symmetric_indices_do_not_see_who_loses(rates, random):
    shuffled = random.sample(rates, len(rates))
    for index in (fairness.jfi, ruler.gini, ruler.entropy):
        assert index(shuffled) == pytest.approx(index(rates), rel=1e-9, abs=1e-9)


def test_it_is_the_nru_of_the_papers():
    r, of_self = np.array([[10.0, 30.0], [60.0, 80.0]]), np.array([[45.0, 40.0], [50.0, 45.0]])
    weights = fairness.weights_per_column(of_self)
    own = np.diagonal(of_self)
    u_db = ruler.nru_db(ruler.ruler(r, "self", y_self=own[:, np.newaxis]))
    assert u_db == pytest.approx(fairness.nru_over_time_db(r, weights, 0.01), abs=1e-12)
    assert ruler.nru_db(ruler.ruler(r.mean(axis=-1), "self", y_self=own)) == pytest.approx(
        fairness.flow_nru_db_of_mean(r, weights), abs=1e-12
    )
