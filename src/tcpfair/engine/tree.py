"""The winner tree that finds the flow whose turn it is: the root at 1, ``leaves`` leaves from ``leaves`` on."""

from __future__ import annotations

import numpy as np

from tcpfair.engine.state import NEVER
from tcpfair.jit import jit, jit_inline


@jit_inline
def play(keys, winners, leaves, i, key):
    """Flow i's next event is at ``key``: replay its matches up the winner tree (ties go to the lower flow).

    Returns the flow that wins, and its time.
    """
    node = leaves + i
    keys[node] = key
    bits = keys.view(np.uint64)  # times are not negative: their bits are in the same order
    mine, winner = bits[node], np.uint64(i)
    while node > 1:
        # all ones where the other wins. No branch: nobody can predict it, and LLVM makes branches of comparisons
        margin = bits[node ^ 1] - mine
        other_wins = np.uint64(0) - ((margin - np.uint64(node & 1)) >> np.uint64(63))
        mine += margin & other_wins
        winner += (winners[node ^ 1] - winner) & other_wins
        node >>= 1
        bits[node] = mine
        winners[node] = winner
    first = np.uint64(mine)
    return np.int64(winner), first.view(np.float64)


@jit_inline
def runner_up_s(keys, leaves, i):
    """The earliest event of all other flows: the least of those that lost to i on its way to the root."""
    t = NEVER
    node = leaves + i
    while node > 1:
        t = min(t, keys[node ^ 1])
        node >>= 1
    return t


@jit
def grow_tree(keys, winners, leaves):
    """Twice as many leaves; those that were there keep their keys. Returns the new number."""
    for i in range(leaves):
        keys[2 * leaves + i] = keys[leaves + i]
    for i in range(leaves):
        keys[3 * leaves + i] = NEVER
        winners[2 * leaves + i] = i
        winners[3 * leaves + i] = leaves + i
    leaves *= 2
    for node in range(leaves - 1, 0, -1):
        right_wins = keys[2 * node + 1] < keys[2 * node]
        keys[node] = keys[2 * node + right_wins]
        winners[node] = winners[2 * node + right_wins]
    return leaves
