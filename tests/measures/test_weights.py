"""NRU weights: the rules by name, and which flow of the self-pair a flow is compared with."""

from typing import get_args

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.measures import weights
from tcpfair.papers.papers import WeightRule
from tests.measures.made import of_self
from tests.measures.test_runs import measured, trace


def pairs_of(made, table, grid=("rtt_ms",)):
    made.runs["rtt_ms"] = 25
    return weights.of_self_pairs_mbps(measured(made), table, list(grid), "p/self")


def test_every_rule_that_a_configuration_may_name_is_there():
    assert set(weights.RULES) == set(get_args(WeightRule))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("per_column", [1 / 10, 1 / 50]),
        ("mean_of_columns", [1 / 20, 1 / 45]),
        ("half_of_sum", [1 / 20, 1 / 45]),
        ("sum_of_columns", [1 / 40, 1 / 90]),
    ],
)
def test_rules_by_hand(rule, expected):
    assert weights.RULES[rule]([[10.0, 30.0], [40.0, 50.0]]) == pytest.approx(expected)


def test_half_of_the_sum_is_not_the_mean_of_three():
    assert weights.RULES["half_of_sum"]([[10.0, 20.0, 30.0]]) == pytest.approx([1 / 30])
    assert weights.RULES["mean_of_columns"]([[10.0, 20.0, 30.0]]) == pytest.approx([1 / 20])


def test_flows_take_the_places_of_their_starts():
    """Of three flows the second starts first: it takes the first place of its self-pair."""
    of_self_mbps = np.array([[1.0, 2, 3], [10, 20, 30], [100, 200, 300]])
    placed = weights.in_own_place(of_self_mbps, np.array([5.0, 0.0, 9.0]))
    assert np.diagonal(placed).tolist() == [2, 10, 300]
    same = weights.in_own_place(of_self_mbps, np.zeros(3))
    assert np.diagonal(same).tolist() == [1, 20, 300]  # flows that start together keep their order


def test_self_pairs_are_means_over_runs_in_the_order_of_starts():
    made = trace([[[1], [1]], [[1], [1]]], protocol=("A", "B"), start_s=(3.0, 1.0))
    made.flows.loc[made.flows["run_id"] == 5, "start_s"] = [0.0, 1.0]
    found = pairs_of(made, of_self({"A": (10, 30), "B": (40, 50)}))
    assert found.tolist() == [[[30, 10], [50, 40]], [[10, 30], [40, 50]]]


def test_a_run_without_its_self_pair_is_named():
    made = trace([[[1], [1]]], protocol=("A", "B"))
    with pytest.raises(InputError) as error:
        pairs_of(made, of_self({"A": (1, 2), "B": (1, 2)}, rtt_ms=(50,)))
    assert str(error.value) == "p/self: no runs that give the weights of A, 25"


def test_a_sample_without_delivery_counts_as_one_segment_in_its_interval():
    """1000 bytes in 2 s are 4 kb/s."""
    runs = measured(trace([[[0, 0, 500, 0, 0]]]))
    u_db = weights.u_db(runs, runs.r, np.array([[0.5]]))
    assert u_db == pytest.approx(np.array([[[10 * np.log10(0.002), 0.0, 10 * np.log10(0.002)]]]))
