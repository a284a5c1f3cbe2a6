"""A bottleneck: drop-tail FIFO by Lindley's recursion, random and synchronised losses, propagation with jitter."""

from __future__ import annotations

from tcpfair.engine.blocks import place, widen_acks, widen_lost, widen_ring
from tcpfair.engine.clock import last_tick_s, next_tick_s
from tcpfair.engine.rng import packets_to_loss, uniform
from tcpfair.engine.state import DUPLICATE, NEW, NS2
from tcpfair.jit import jit, jit_inline, unlikely

DUPLICATE_THRESHOLD = 3  # RFC 6675: DupThresh
SHOWN_WITHIN = 5  # arrivals after a loss that may be marked as revealing it
LOST_AGAIN = 1 << 16  # weight of a mark of a retransmission in ns-2's stack


@jit
def set_path(e, tick_s):
    """Propagation from the bottleneck on; with an emulator's clock in whole ticks."""
    e.path_s = last_tick_s(tick_s, e.rtt_s / 2.0 if e.two_way == 1 else e.rtt_s)
    e.back_s = 0.0 if e.two_way == 1 else e.path_s


@jit_inline
def enter_bottleneck(links, e, ring, lost, now, seq, sent_s, again):
    """A packet reaches the queue at ``now``: it is dropped, lost on the link, or gets its arrival time."""
    link = links[e.direction]
    from_s = now
    if unlikely(link.special == 1):
        if link.synchronised == 1 and owes_a_loss(link, e, again):
            drop(links, e, ring, lost, seq, sent_s, again)
            return
        from_s = last_tick_s(link.tick_s, now)
    wait = link.free_s - from_s
    if unlikely(wait > link.longest_wait_s):
        if link.synchronised == 1:
            note_overflow(link, e, now)
        drop(links, e, ring, lost, seq, sent_s, again)
        return
    # Lindley: it leaves one service time after the packet before it, or after now
    link.free_s = (link.free_s if wait > 0.0 else from_s) + link.service_s
    link.forwarded += 1
    if link.loss_rate > 0.0:
        if unlikely(link.to_next_loss == 0):
            link.to_next_loss = packets_to_loss(link)
            e.dropped += 1
            lose(links, e, ring, lost, seq, sent_s, again)
            return
        link.to_next_loss -= 1
    arrival_s = link.free_s + e.path_s
    if unlikely(link.special == 1):
        arrival_s = next_tick_s(link.tick_s, arrival_s)
    if link.jitter_s > 0.0:
        arrival_s = e.last_arrival_s = jittered(link, e, arrival_s, link.jitter_s, e.last_arrival_s)
    if unlikely(e.tail - e.rx_head + SHOWN_WITHIN > e.ring_mask):
        widen_ring(links[0], e, ring)
    slot = ring[place(e.ring_first, e.tail, e.ring_mask)]
    if unlikely(e.rx_head == e.tail):
        e.next_arrival_s = arrival_s
    slot.arrival_s = arrival_s
    slot.sent_s = sent_s
    slot.seq = seq
    slot.again = again
    if unlikely(again != NEW and e.stack == NS2):
        pass_marks_on(e, ring)
    e.tail += 1


@jit_inline
def jittered(link, e, at_s, jitter_s, before_s):
    """The arrival time of a packet due at ``at_s``, after one at ``before_s``: a flow's packets stay in order.

    ns-2's Delayer (queue/delayer.cc) draws only for a packet that finds no other waiting; those that arrive meanwhile
    leave together with it.
    """
    if unlikely(e.stack >= NS2 and at_s < before_s):
        return before_s
    return max(at_s + jitter_s * uniform(link), before_s)


@jit
def drop(links, e, ring, lost, seq, sent_s, again):
    """The queue is full."""
    links[e.direction].dropped += 1
    e.dropped += 1
    lose(links, e, ring, lost, seq, sent_s, again)


@jit_inline
def lose(links, e, ring, lost, seq, sent_s, again):
    """Note a lost packet. The third packet to arrive after it reveals the loss (RFC 6675), except in ns-2 and Linux 6."""
    if again == DUPLICATE:
        return  # its data has arrived
    if e.lost_tail - e.resend > e.lost_mask:
        widen_lost(links[0], e, lost)
    packet = lost[place(e.lost_first, e.lost_tail, e.lost_mask)]
    packet.seq = seq
    packet.sent_s = sent_s
    packet.again = again
    packet.next_place = e.tail
    e.lost_tail += 1
    if e.rack == 1:
        return  # each ACK may reveal it: endpoint.overtaken
    if e.stack == NS2 and e.reliable == 1:
        mark_as_ns2(e, ring, again)
    else:
        ring[place(e.ring_first, e.tail + DUPLICATE_THRESHOLD - 1, e.ring_mask)].losses_shown += 1


@jit
def mark_as_ns2(e, ring, again):
    """ns-2's TCP-Linux (scoreboard1.cc) uses sequence numbers: the fourth packet after a loss reveals it.

    If one of these four is lost too, the marks move one arrival earlier. The loss of a retransmission is revealed by
    the first new packet sent after it or by the fifth retransmission, whichever comes first.
    """
    if again != NEW:
        behind = min(e.shown - e.resend, SHOWN_WITHIN - 1)
        ring[place(e.ring_first, e.tail + behind, e.ring_mask)].losses_shown += LOST_AGAIN
        return
    nearest = ring[place(e.ring_first, e.tail, e.ring_mask)].losses_shown
    for k in range(1, SHOWN_WITHIN):
        here = ring[place(e.ring_first, e.tail + k, e.ring_mask)]
        ring[place(e.ring_first, e.tail + k - 1, e.ring_mask)].losses_shown = here.losses_shown
        here.losses_shown = 0
    ring[place(e.ring_first, e.tail, e.ring_mask)].losses_shown += nearest
    ring[place(e.ring_first, e.tail + 3, e.ring_mask)].losses_shown += 1


@jit
def pass_marks_on(e, ring):
    """A retransmission does not count as a packet after the lost ones: a later packet reveals losses of new data."""
    moved = 0
    for k in range(SHOWN_WITHIN):
        slot = ring[place(e.ring_first, e.tail + k, e.ring_mask)]
        here = slot.losses_shown % LOST_AGAIN
        slot.losses_shown += moved - here
        moved = here


@jit_inline
def losses_shown_by(slot):
    """Losses of both kinds that become detectable with this arrival."""
    return slot.losses_shown % LOST_AGAIN + slot.losses_shown // LOST_AGAIN


@jit
def owes_a_loss(link, e, again):
    """Synchronised losses: the first packet of each flow after an overflow is lost too."""
    if e.overflows_seen == link.overflows or again == DUPLICATE:
        return False
    e.overflows_seen = link.overflows
    return True


@jit
def note_overflow(link, e, now):
    """Synchronised losses: an overflow makes every flow lose a packet, once until it takes effect."""
    if now >= link.hold_until_s:
        link.hold_until_s = now + link.hold_s
        link.overflows += 1
        e.overflows_seen = link.overflows


@jit_inline
def enter_bottleneck_with_ack(links, e, acks, now):
    """An ACK reaches the queue that it shares with data of the other direction. If dropped, the next ACK carries its
    information."""
    link = links[1 - e.direction]
    from_s = last_tick_s(link.tick_s, now) if unlikely(link.special == 1) else now
    wait = link.free_s - from_s
    if unlikely(wait > link.longest_wait_s):
        link.acks_dropped += 1
        e.carried += e.unacked
        e.unacked = 0
        return
    link.free_s = (link.free_s if wait > 0.0 else from_s) + link.ack_service_s
    link.acks_forwarded += 1
    if unlikely(e.acks_tail - e.acks_head > e.acks_mask):
        widen_acks(links[0], e, acks)
    slot = acks[place(e.acks_first, e.acks_tail, e.acks_mask)]
    slot.arrival_s = link.free_s + e.path_s
    if unlikely(link.special == 1):
        slot.arrival_s = next_tick_s(link.tick_s, slot.arrival_s)
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
