"""Blocks of the shared arrays: what a flow holds moves with it, and a run stops for room before it needs it."""

import numpy as np
import pytest

from tcpfair.engine.blocks import widen_access, widen_acks, widen_got, widen_lost, widen_ring
from tcpfair.engine.state import ACK_SLOT, ENDPOINT, LINK, PACKET, SLOT

FIRST, SIZE, ROOM = 16, 8, 64
BLOCKS = [
    ("ring", "rx_head", SLOT, widen_ring),
    ("acks", "acks_head", ACK_SLOT, widen_acks),
    ("access", "access_head", PACKET, widen_access),
    ("lost", "resend", PACKET, widen_lost),
]


def flow(name: str, **fields):
    """A flow with a block of this name, and the run that it belongs to."""
    e, run = np.zeros(1, ENDPOINT)[0], np.zeros(1, LINK)[0]
    e[f"{name}_first"], e[f"{name}_mask"], e[f"{name}_room"] = FIRST, SIZE - 1, ROOM - 1
    run[f"{name}_used"] = FIRST + SIZE
    for field, value in fields.items():
        e[field] = value
    return e, run


def block(e, name: str, array, numbers):
    """What stands in a flow's block under these numbers."""
    return [array[e[f"{name}_first"] + (k & e[f"{name}_mask"])] for k in numbers]


@pytest.mark.parametrize("head", [0, 3, 8, 1021])
@pytest.mark.parametrize("name, head_of, dtype, widen", BLOCKS, ids=[each[0] for each in BLOCKS])
def test_a_wider_block_holds_the_same(name, head_of, dtype, widen, head):
    array = np.zeros(4 * ROOM, dtype)
    e, run = flow(name, **{head_of: head})
    numbers = range(head, head + SIZE)
    for k in numbers:
        array[FIRST + k % SIZE]["sent_s" if "sent_s" in dtype.names else "arrival_s"] = k
    before = [row.copy() for row in block(e, name, array, numbers)]
    widen(run, e, array)
    assert e[f"{name}_mask"] == 2 * SIZE - 1
    assert block(e, name, array, numbers) == before
    assert e[f"{name}_first"] == FIRST + SIZE  # behind what all others use
    assert run[f"{name}_used"] == FIRST + 3 * SIZE


@pytest.mark.parametrize("head", [0, 3, 1021])
def test_a_wider_ring_has_the_marks_of_the_next_three_packets_and_no_other(head):
    ring = np.zeros(4 * ROOM, SLOT)
    e, run = flow("ring", rx_head=head, tail=head + SIZE - 3)
    marked = head + SIZE - 1
    ring[FIRST + marked % SIZE]["losses_shown"] = 2
    widen_ring(run, e, ring)
    slots = block(e, "ring", ring, range(head, head + 2 * SIZE))
    assert [slot["losses_shown"] for slot in slots] == [2 * (head + k == marked) for k in range(2 * SIZE)]


@pytest.mark.parametrize("nxt", [0, 5, 1021])
def test_wider_marks_of_the_receiver_stay_with_their_packets(nxt):
    got = np.zeros(4 * ROOM, np.uint8)
    e, run = flow("got", rx_nxt=nxt)
    for seq in (nxt + 2, nxt + SIZE - 1):
        got[FIRST + seq % SIZE] = 1
    widen_got(run, e, got)
    assert block(e, "got", got, range(nxt, nxt + 2 * SIZE)) == [k in (2, SIZE - 1) for k in range(2 * SIZE)]


@pytest.mark.parametrize("name, head_of, dtype, widen", BLOCKS, ids=[each[0] for each in BLOCKS])
def test_a_block_does_not_grow_beyond_its_room(name, head_of, dtype, widen):
    e, run = flow(name, **{f"{name}_room": SIZE - 1})
    widen(run, e, np.zeros(4 * ROOM, dtype))
    assert e[f"{name}_mask"] == SIZE - 1
    assert e[f"{name}_first"] == FIRST


@pytest.mark.parametrize("more, wants", [(0, 0), (1, 1)])
def test_the_run_asks_for_room_when_a_flow_could_need_more_than_is_left(more, wants):
    array = np.zeros(4 * ROOM, SLOT)
    e, run = flow("ring")
    run["ring_reserve"] = len(array) - (FIRST + 3 * SIZE) + more
    widen_ring(run, e, array)
    assert run["wants_room"] == wants
