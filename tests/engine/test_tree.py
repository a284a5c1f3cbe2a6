"""The winner tree that finds the flow whose turn it is."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpfair.engine.state import NEVER
from tcpfair.engine.tree import grow_tree, play, runner_up_s
from tcpfair.jit import jit

# few different times, so that ties are common; 0 and NEVER are the ends of the range
TIMES = st.sampled_from([0.0, 5e-324, 1e-9, 0.25, 0.5, 0.75, 1.0, 1e6, NEVER])


@jit
def tournament(keys, winners, flows, times, found):
    """One match after the other, with a leaf for every flow that has come up; what the root says goes to ``found``."""
    leaves = 1
    for k in range(flows.size):
        while flows[k] >= leaves:
            leaves = grow_tree(keys, winners, leaves)
        play(keys, winners, leaves, flows[k], times[k])
        winner = np.int64(winners[1])
        found[k, 0] = winner
        found[k, 1] = keys[1]
        found[k, 2] = runner_up_s(keys, leaves, winner)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), TIMES), min_size=1, max_size=60))
def test_the_earliest_flow_wins_and_of_equal_ones_the_lowest(matches):
    flows, times = (np.array(column) for column in zip(*matches, strict=True))
    found = np.zeros((len(matches), 3))
    tournament(np.full(32, NEVER), np.zeros(32, np.uint64), flows, times, found)
    due = {}
    for (flow, time), (winner, key, next_key) in zip(matches, found, strict=True):
        due[flow] = time
        ranked = sorted((t, i) for i, t in (dict.fromkeys(range(13), NEVER) | due).items())
        assert (key, winner) == ranked[0]
        assert next_key == ranked[1][0]
