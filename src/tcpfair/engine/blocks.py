"""Blocks of the arrays that all flows share: small at first, doubled when a flow needs more.

Short blocks stay in the processor's cache, and memory use is proportional to the packets in flight. A block that has
become too small is abandoned: all abandoned blocks of a flow are smaller than its current one. A run stops between two
events when an array could be too short for the next event (``wants_room``); the caller enlarges it and resumes the run.
"""

from __future__ import annotations

import numpy as np

from tcpfair.jit import jit, jit_inline

# elements of a flow's first blocks
FIRST_SLOTS = 64
FIRST_LOSSES = 16
LOG_RESERVE = 64  # more rows than one flow's events can fill before the next check of `wants_room`


@jit_inline
def place(first, number, mask):
    """The index of element ``number`` of a block: unsigned, which avoids a test for negative indices."""
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
widen_lost = _widener("lost", "resend")  # losses that await retransmission or detection
widen_got = _widener("got", "rx_nxt")  # packets that the receiver has beyond a hole


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
    """Positions and sizes of a flow's blocks, for `give_blocks`."""
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
    """The most that one flow may request between two checks of `wants_room`: all its blocks sum to less than twice the
    largest."""
    run.ring_reserve = max(run.ring_reserve, 2 * (e.ring_room + 1))
    run.acks_reserve = max(run.acks_reserve, 2 * (e.acks_room + 1))
    run.access_reserve = max(run.access_reserve, 2 * (e.access_room + 1))
    run.lost_reserve = max(run.lost_reserve, 2 * (e.lost_room + 1))
    run.got_reserve = max(run.got_reserve, 2 * (e.got_room + 1))
