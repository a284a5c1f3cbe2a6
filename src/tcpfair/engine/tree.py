"""The winner tree that finds the flow with the earliest event: four children per node, leaves from ``leaves`` on.

Four children rather than two halve the levels, and the least of four adjacent keys is found without a branch. The top
level has four nodes, from 4 on, or eight, from 8 on. The root above them, 1, is not maintained: a flow that enters is
compared with the best of the others, which was found when it left. Only a paused run sets it. ``bits`` are those of the
keys: times are not negative, so their bits, read as integers, have the same order.
"""

from __future__ import annotations

import numpy as np

from tcpfair.engine.state import NEVER
from tcpfair.jit import jit, jit_inline

_1, _2, _3, _4, _8 = (np.uint64(n) for n in (1, 2, 3, 4, 8))
_LAST_AT_TOP = np.uint64(15)
_NEVER = np.float64(NEVER).view(np.uint64)


def leaves_for(flows):
    """The number of leaves of a tree for ``flows`` flows: a power of two."""
    leaves = 4
    while leaves < flows:
        leaves *= 2
    return leaves


@jit_inline
def earliest_of_four(bits, winners, node):
    """The winner among ``node`` and its siblings, and the bits of its time (ties go to the lower flow)."""
    a = node & ~_3
    b, c, d = a + _1, a + _2, a + _3
    ab, cd = min(bits[a], bits[b]), min(bits[c], bits[d])
    # no branch: the winner is unpredictable
    of_ab = winners[b] if bits[b] < bits[a] else winners[a]
    of_cd = winners[d] if bits[d] < bits[c] else winners[c]
    return of_cd if cd < ab else of_ab, min(ab, cd)


@jit_inline
def earliest_at_top(bits, winners, node):
    """The winner of the top level, to which ``node`` belongs, and its time."""
    winner, least = earliest_of_four(bits, winners, node)
    if node >= _8:
        other, its = earliest_of_four(bits, winners, node ^ _4)
        other_first = (its < least) | ((its == least) & (other < winner))
        winner, least = other if other_first else winner, min(least, its)
    return np.int64(winner), np.uint64(least).view(np.float64)


@jit_inline
def earliest(bits, winners, leaves):
    """The flow with the earliest event, and its time."""
    node = np.uint64(leaves)
    while node > _LAST_AT_TOP:
        node >>= _2
    return earliest_at_top(bits, winners, node)


@jit_inline
def leave(bits, winners, leaves, i):
    """Remove flow i, which has the earliest event, until it enters again. Returns the next flow and its time."""
    node = np.uint64(leaves + i)
    bits[node] = _NEVER
    while node > _LAST_AT_TOP:
        winner, least = earliest_of_four(bits, winners, node)
        node >>= _2
        bits[node] = least
        winners[node] = winner
    return earliest_at_top(bits, winners, node)


@jit_inline
def enter(bits, winners, leaves, i, key):
    """Insert flow i, which is not in the tree, with its next event at ``key``."""
    node, flow, mine = np.uint64(leaves + i), np.uint64(i), np.float64(key).view(np.uint64)
    bits[node] = mine
    while node > _LAST_AT_TOP:
        node >>= _2
        least, winner = bits[node], winners[node]
        first = (mine < least) | ((mine == least) & (flow < winner))
        bits[node] = mine if first else least
        winners[node] = flow if first else winner


@jit_inline
def show(bits, winners, i, key):
    """Store the winner at the root, for inspection of a paused run."""
    bits[1], winners[1] = np.float64(key).view(np.uint64), np.uint64(i)


@jit
def grow_tree(bits, winners, leaves):
    """Double the leaves; existing ones keep their keys. Returns the new number."""
    grown = 2 * leaves
    for i in range(grown):
        bits[grown + i] = bits[leaves + i] if i < leaves else _NEVER
        winners[grown + i] = i
    width = grown
    while width > _LAST_AT_TOP:
        width //= 4
        for node in range(width, 2 * width):
            winners[node], bits[node] = earliest_of_four(bits, winners, np.uint64(4 * node))
    return grown
