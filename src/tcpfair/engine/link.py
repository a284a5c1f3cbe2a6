"""A bottleneck: drop-tail FIFO by Lindley's recursion, random and synchronised losses, propagation with jitter."""

from __future__ import annotations

from tcpfair.engine.rng import packets_to_loss, uniform
from tcpfair.engine.state import DUPLICATE
from tcpfair.jit import jit, jit_inline


@jit_inline
def enter_bottleneck(links, e, ring, lost, now, seq, sent_s, again):
    """A packet reaches the queue at ``now``: it is dropped, lost on the link, or gets the time at which it arrives."""
    link = links[e.direction]
    if link.synchronised == 1 and owes_a_loss(link, e, again):
        drop(link, e, ring, lost, seq, sent_s, again)
        return
    wait = link.free_s - now
    if wait > link.longest_wait_s:
        if link.synchronised == 1:
            note_overflow(link, e, now)
        drop(link, e, ring, lost, seq, sent_s, again)
        return
    # Lindley: it leaves one service time after the packet before it, or after now
    link.free_s = (link.free_s if wait > 0.0 else now) + link.service_s
    link.forwarded += 1
    if link.loss_rate > 0.0:
        if link.to_next_loss == 0:
            link.to_next_loss = packets_to_loss(link)
            e.dropped += 1
            lose(e, ring, lost, seq, sent_s, again)
            return
        link.to_next_loss -= 1
    arrival_s = link.free_s + e.path_s
    if link.jitter_s > 0.0:
        arrival_s += link.jitter_s * uniform(link)
        # a flow's packets stay in order
        if arrival_s < e.last_arrival_s:
            arrival_s = e.last_arrival_s
        e.last_arrival_s = arrival_s
    if e.tail - e.rx_head + 3 > e.ring_mask:
        widen_ring(e, ring)
    slot = ring[e.ring_first + (e.tail & e.ring_mask)]
    if e.rx_head == e.tail:
        e.next_arrival_s = arrival_s
    slot.arrival_s = arrival_s
    slot.sent_s = sent_s
    slot.seq = seq
    slot.again = again
    e.tail += 1


@jit
def widen_ring(e, ring):
    """Use twice as much of this flow's part of the ring: short rings stay in the processor's cache."""
    mask = min(2 * e.ring_mask + 1, e.ring_room)
    for k in range(e.rx_head, e.tail + 3):
        here, there = e.ring_first + (k & e.ring_mask), e.ring_first + (k & mask)
        if here != there:
            ring[there] = ring[here]
            ring[here].losses_shown = 0
    e.ring_mask = mask


@jit
def widen_acks(e, acks):
    """The same for the ACKs in flight."""
    mask = min(2 * e.acks_mask + 1, e.acks_room)
    for k in range(e.acks_head, e.acks_tail):
        acks[e.acks_first + (k & mask)] = acks[e.acks_first + (k & e.acks_mask)]
    e.acks_mask = mask


@jit
def drop(link, e, ring, lost, seq, sent_s, again):
    """The queue is full."""
    link.dropped += 1
    e.dropped += 1
    lose(e, ring, lost, seq, sent_s, again)


@jit
def lose(e, ring, lost, seq, sent_s, again):
    """Note a lost packet. The third packet to arrive after it will show the loss (RFC 6675, DupThresh = 3)."""
    if again == DUPLICATE:
        return  # its data has arrived
    packet = lost[e.lost_first + (e.lost_tail & e.lost_mask)]
    packet.seq = seq
    packet.sent_s = sent_s
    packet.again = again
    e.lost_tail += 1
    ring[e.ring_first + ((e.tail + 2) & e.ring_mask)].losses_shown += 1


@jit
def owes_a_loss(link, e, again):
    """Synchronised losses: the first packet that a flow brings after an overflow is lost too."""
    if e.overflows_seen == link.overflows or again == DUPLICATE:
        return False
    e.overflows_seen = link.overflows
    return True


@jit
def note_overflow(link, e, now):
    """Synchronised losses: an overflow makes every flow lose a packet, once until its effect can be felt."""
    if now >= link.hold_until_s:
        link.hold_until_s = now + link.hold_s
        link.overflows += 1
        e.overflows_seen = link.overflows


@jit_inline
def enter_bottleneck_with_ack(links, e, acks, now):
    """An ACK reaches the queue that it shares with data of the other direction; dropped, its news goes with the next."""
    link = links[1 - e.direction]
    wait = link.free_s - now
    if wait > link.longest_wait_s:
        link.acks_dropped += 1
        e.carried += e.unacked
        e.unacked = 0
        return
    link.free_s = (link.free_s if wait > 0.0 else now) + link.ack_service_s
    link.acks_forwarded += 1
    if e.acks_tail - e.acks_head > e.acks_mask:
        widen_acks(e, acks)
    slot = acks[e.acks_first + (e.acks_tail & e.acks_mask)]
    slot.arrival_s = link.free_s + e.path_s
    if e.acks_head == e.acks_tail:
        e.next_ack_s = slot.arrival_s
    slot.newest_sent_s = e.newest_sent_s
    slot.rcv_nxt = e.rx_nxt
    slot.head = e.rx_head
    slot.arrived = e.unacked + e.carried
    slot.repaired = e.repaired
    slot.losses_shown = e.losses_unshown
    e.acks_tail += 1
    e.unacked = e.carried = e.repaired = e.losses_unshown = 0
