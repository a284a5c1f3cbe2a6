"""The bottleneck: drop-tail FIFO by Lindley's recursion, random loss, propagation with jitter."""

from __future__ import annotations

from tcpfair.engine.rng import packets_to_loss, uniform
from tcpfair.jit import jit, jit_inline


@jit_inline
def enter_bottleneck(link, e, ring, lost, now, seq, sent_s, again):
    """A packet reaches the queue at ``now``: it is dropped, lost on the link, or gets the time at which its ACK is back."""
    wait = link.free_s - now
    if wait > link.longest_wait_s:
        link.dropped += 1
        e.dropped += 1
        lose(e, ring, lost, seq, sent_s, again)
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
    arrival_s = link.free_s + e.rtt_s
    if link.jitter_s > 0.0:
        arrival_s += link.jitter_s * uniform(link)
        # a flow's packets stay in order
        if arrival_s < e.last_arrival_s:
            arrival_s = e.last_arrival_s
        e.last_arrival_s = arrival_s
    slot = ring[e.ring_first + (e.tail & e.ring_mask)]
    slot.arrival_s = arrival_s
    slot.sent_s = sent_s
    slot.seq = seq
    slot.again = again
    e.tail += 1


@jit
def lose(e, ring, lost, seq, sent_s, again):
    """Note a lost packet. The third packet to arrive after it will show the loss (RFC 6675, DupThresh = 3)."""
    packet = lost[e.lost_first + (e.lost_tail & e.lost_mask)]
    packet.seq = seq
    packet.sent_s = sent_s
    packet.again = again
    e.lost_tail += 1
    ring[e.ring_first + ((e.tail + 2) & e.ring_mask)].losses_shown += 1
