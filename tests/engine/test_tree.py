"""The winner tree that finds the flow whose turn it is."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tcpfair.engine.dumbbell import Simulation
from tcpfair.engine.state import NEVER
from tcpfair.engine.tree import earliest, enter, grow_tree, leave, leaves_for
from tcpfair.jit import jit
from tests.engine.scenarios import dumbbell

MOST_FLOWS = 140  # three levels, with four nodes at the top and with eight
# few different times, so that ties are common; 0 and NEVER are the ends of the range
TIMES = st.sampled_from([0.0, 5e-324, 1e-9, 0.25, 0.5, 0.75, 1.0, 1e6, NEVER])


@jit
def tournament(bits, winners, flows, times, found):
    """A flow after the other leaves and enters, with a leaf for every flow that has come up; ``found`` has what the tree says."""
    leaves = grow_tree(bits, winners, 2)
    for k in range(flows.size):
        while flows[k] >= leaves:
            leaves = grow_tree(bits, winners, leaves)
        found[k, 2], found[k, 3] = leave(bits, winners, leaves, flows[k])
        enter(bits, winners, leaves, flows[k], times[k])
        found[k, 0], found[k, 1] = earliest(bits, winners, leaves)


@given(st.lists(st.tuples(st.integers(0, MOST_FLOWS - 1), TIMES), min_size=1, max_size=60))
def test_the_earliest_flow_wins_and_of_equal_ones_the_lowest(matches):
    flows, times = (np.array(column) for column in zip(*matches, strict=True))
    found = np.zeros((len(matches), 4))
    size = 2 * leaves_for(MOST_FLOWS)
    tournament(np.full(size, NEVER).view(np.uint64), np.zeros(size, np.uint64), flows, times, found)
    due = dict.fromkeys(range(MOST_FLOWS), NEVER)
    for (flow, time), (winner, key, next_flow, next_key) in zip(matches, found, strict=True):
        due[flow] = NEVER
        assert (next_key, next_flow) == min((t, i) for i, t in due.items())
        due[flow] = time
        assert (key, winner) == min((t, i) for i, t in due.items())


def test_a_paused_run_shows_whose_turn_it_is():
    flows = [{"cc": "sack", "rtt_s": rtt_s} for rtt_s in (0.06, 0.02, 0.11, 0.05, 0.09)]
    simulation = Simulation(dumbbell(*flows, capacity_bps=2e6, buffer_pkts=10, duration_s=3.0), 1)
    for until_s in (0.3, 1.1, 2.7):
        simulation.advance(until_s)
        due_s = simulation._keys[8 : 8 + len(flows)]  # the leaves
        assert simulation._keys[1] == due_s.min() >= until_s
        assert simulation._winners[1] == due_s.argmin()
