"""Rings that use more of their room when more is in flight."""

import numpy as np
import pytest

from tcpfair.engine.link import widen_acks, widen_ring
from tcpfair.engine.state import ACK_SLOT, ENDPOINT, SLOT

FIRST, USED, ROOM = 16, 8, 64


@pytest.mark.parametrize("head", [0, 3, 8, 1021])
def test_a_wider_ring_holds_the_same_packets_and_marks(head):
    ring = np.zeros(FIRST + ROOM, SLOT)
    end = np.zeros(1, ENDPOINT)
    e = end[0]
    e["ring_first"], e["ring_mask"], e["ring_room"] = FIRST, USED - 1, ROOM - 1
    e["rx_head"], e["tail"] = head, head + USED - 3
    marked = head + USED - 1  # the last slot after the tail that may carry a mark
    for k in range(head, head + USED - 3):
        ring[FIRST + k % USED]["seq"] = k
    ring[FIRST + marked % USED]["losses_shown"] = 2
    widen_ring(e, ring)
    assert e["ring_mask"] == 2 * USED - 1
    assert [ring[FIRST + k % (2 * USED)]["seq"] for k in range(head, head + USED - 3)] == list(
        range(head, head + USED - 3)
    )
    assert ring[FIRST + marked % (2 * USED)]["losses_shown"] == 2
    assert ring["losses_shown"].sum() == 2  # no mark is left where a later packet would find it


@pytest.mark.parametrize("head", [0, 5, 1021])
def test_a_wider_ring_holds_the_same_acks(head):
    acks = np.zeros(FIRST + ROOM, ACK_SLOT)
    end = np.zeros(1, ENDPOINT)
    e = end[0]
    e["acks_first"], e["acks_mask"], e["acks_room"] = FIRST, USED - 1, ROOM - 1
    e["acks_head"], e["acks_tail"] = head, head + USED
    for k in range(head, head + USED):
        acks[FIRST + k % USED]["rcv_nxt"] = k
    widen_acks(e, acks)
    assert [acks[FIRST + k % (2 * USED)]["rcv_nxt"] for k in range(head, head + USED)] == list(range(head, head + USED))


def test_a_ring_does_not_grow_beyond_its_room():
    end = np.zeros(1, ENDPOINT)
    e = end[0]
    e["ring_mask"] = e["ring_room"] = e["acks_mask"] = e["acks_room"] = USED - 1
    widen_ring(e, np.zeros(USED, SLOT))
    widen_acks(e, np.zeros(USED, ACK_SLOT))
    assert e["ring_mask"] == e["acks_mask"] == USED - 1
