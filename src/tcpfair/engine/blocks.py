"""Blocks of the arrays that all flows share: small at first, twice as large when a flow needs it.

Short blocks stay in the processor's cache, and memory is used in proportion to what is in flight. A block that has become
too small is left where it is: all that a flow leaves is less than what it has. A run stops between two events when one of
the arrays could be too short for the next (``wants_room``); the caller makes it longer and goes on.
"""

from __future__ import annotations

import numpy as np

from tcpfair.jit import jit, jit_inline

# elements of a flow's first blocks
FIRST_SLOTS = 64
FIRST_LOSSES = 16
LOG_RESERVE = 64  # rows that the events of one flow until the next look at `wants_room` cannot fill


@jit_inline
def place(first, number, mask):
    """Where element ``number`` of a block is: unsigned, which spares a test for negative indices."""
    return np.uint64(first + (number & mask))


@jit
def power_of_two(at_least):
    """The least power of two that is not below ``at_least``, 8 at least."""
    size = np.int64(8)
    while size < at_least:
        size *= 2
    return size


def _widener(name: str, head: str):
    """A compiled function that moves the block ``name``, in use from number ``head`` on, into one twice as large."""
    FIRST, MASK, ROOM, USED, RESERVE = (f"{name}_{part}" for part in ("first", "mask", "room", "used", "reserve"))

    @jit
    def widen(run, e, array):
        if e[MASK] >= e[ROOM]:
            return
        first, mask = run[USED], 2 * e[MASK] + 1
        for number in range(e[head], e[head] + e[MASK] + 1):
            array[place(first, number, mask)] = array[place(e[FIRST], number, e[MASK])]
        e[FIRST], e[MASK] = first, mask
        run[USED] += mask + 1
        if run[USED] + run[RESERVE] > array.size:
            run.wants_room = 1

    return widen


widen_ring = _widener("ring", "rx_head")  # packets between bottleneck and receiver, and the marks of the next three
widen_acks = _widener("acks", "acks_head")  # ACKs in flight
widen_access = _widener("access", "access_head")  # packets on the access link
widen_lost = _widener("lost", "resend")  # losses that wait for a retransmission or are not detected yet
widen_got = _widener("got", "rx_nxt")  # what the receiver has beyond a hole


@jit
def first_blocks(run, e):
    """Give a flow its first blocks."""
    e.ring_mask = min(FIRST_SLOTS - 1, e.ring_room)
    e.acks_mask = min(FIRST_SLOTS - 1, e.acks_room)
    e.access_mask = min(FIRST_LOSSES - 1, e.access_room)
    e.lost_mask = min(FIRST_LOSSES - 1, e.lost_room)
    e.got_mask = min(FIRST_SLOTS - 1, e.got_room)
    e.ring_first, e.acks_first, e.access_first = run.ring_used, run.acks_used, run.access_used
    e.lost_first, e.got_first = run.lost_used, run.got_used
    run.ring_used += e.ring_mask + 1
    run.acks_used += e.acks_mask + 1
    run.access_used += e.access_mask + 1
    run.lost_used += e.lost_mask + 1
    run.got_used += e.got_mask + 1


@jit
def blocks_of(e):
    """Where a flow's blocks are and how large, for `give_blocks`."""
    return (
        (e.ring_first, e.ring_mask, e.ring_room),
        (e.acks_first, e.acks_mask, e.acks_room),
        (e.access_first, e.access_mask, e.access_room),
        (e.lost_first, e.lost_mask, e.lost_room),
        (e.got_first, e.got_mask, e.got_room),
    )


@jit
def give_blocks(e, blocks):
    ring, acks, access, lost, got = blocks
    e.ring_first, e.ring_mask, e.ring_room = ring
    e.acks_first, e.acks_mask, e.acks_room = acks
    e.access_first, e.access_mask, e.access_room = access
    e.lost_first, e.lost_mask, e.lost_room = lost
    e.got_first, e.got_mask, e.got_room = got


@jit
def reserve_for(run, e):
    """What one flow may ask for between two looks at `wants_room`: all blocks up to its largest are less than twice that."""
    run.ring_reserve = max(run.ring_reserve, 2 * (e.ring_room + 1))
    run.acks_reserve = max(run.acks_reserve, 2 * (e.acks_room + 1))
    run.access_reserve = max(run.access_reserve, 2 * (e.access_room + 1))
    run.lost_reserve = max(run.lost_reserve, 2 * (e.lost_room + 1))
    run.got_reserve = max(run.got_reserve, 2 * (e.got_room + 1))
