"""The common case in one tight loop: data in order, nothing lost that the sender knows of, ACKs with a free way back.

Nearly all events of most runs are of this kind. What :func:`tcpfair.engine.dumbbell.handle` would do with them, step by step
and bit by bit, is done here with the flow's hot fields in locals, which the compiler keeps in registers through a whole
train; everything else is left to it.
"""

from __future__ import annotations

import numpy as np

from tcpfair.engine.blocks import place, widen_access, widen_ring
from tcpfair.engine.dispatch import call_on_ack_inlined, call_on_every_ack, call_on_round
from tcpfair.engine.endpoint import local_congestion
from tcpfair.engine.link import SHOWN_WITHIN, drop, jittered, lose
from tcpfair.engine.rng import packets_to_loss
from tcpfair.engine.state import NEVER, NEW, NS2
from tcpfair.jit import jit_inline


@jit_inline
def may_cruise(e, f, link):
    """Whether the sender knows of no loss, the receiver has no hole, and no ACK is owed."""
    trouble = e.in_recovery | e.after_timeout | e.lost_out | (e.shown - e.resend) | e.holds | e.out_of_order | e.unacked
    special = (1 - e.reliable) | link.synchronised
    return (trouble | special) == 0 and f.srtt > 0.0 and (f.cwnd <= e.rwnd or e.stack != NS2)


@jit_inline
def cruise(links, e, f, p, ring, lost, access, log, flow, now, limit):
    """Handle this flow's events from ``now`` on while they are ordinary and before ``limit``; returns the time of the first
    that is not, and how many were handled. The caller has asked :func:`may_cruise`."""
    link = links[e.direction]
    service_s, longest_wait_s, jitter_s, free_s = link.service_s, link.longest_wait_s, link.jitter_s, link.free_s
    loss_rate, path_s, last_arrival_s = link.loss_rate, e.path_s, e.last_arrival_s
    ring_first, ring_mask = e.ring_first, e.ring_mask
    rx_head, tail, rx_nxt, snd_nxt = e.rx_head, e.tail, e.rx_nxt, e.snd_nxt
    next_arrival_s, next_emission_s, waits = e.next_arrival_s, e.next_emission_s, e.waits_for_second
    access_first, access_mask, access_head, access_tail = e.access_first, e.access_mask, e.access_head, e.access_tail
    access_service_s = e.access_service_s
    ack_every, rwnd, span = e.ack_every, e.rwnd, e.span
    last_seq = e.size
    undetected = e.lost_tail - e.shown
    round_start_s, round_rtt_min = e.round_start_s, e.round_rtt_min
    newest_sent_s = e.newest_sent_s
    clamp = rwnd if e.stack == NS2 else NEVER
    first_received, first_sent, forwarded = rx_nxt, snd_nxt, np.int64(0)
    acked = float(ack_every)
    growth = acked if e.byte_counting == 1 else 1.0
    events = 0
    last_s = now
    while now < limit:
        sent_s = now
        seq = snd_nxt
        again = np.int64(NEW)
        if now == next_arrival_s:
            # the packet whose arrival calls for an ACK
            newest = rx_head + waits
            slot = ring[place(ring_first, newest, ring_mask)]
            if slot.seq != rx_nxt + waits or (slot.again | slot.losses_shown) != 0 or ack_every != waits + 1:
                break
            if waits == 1 and ring[place(ring_first, rx_head, ring_mask)].losses_shown != 0:
                break
            rx_head = newest + 1
            rx_nxt += ack_every
            newest_sent_s = slot.sent_s
            rtt = now - newest_sent_s
            error = rtt - f.srtt
            f.now, f.rtt, f.acked, f.growth = now, rtt, acked, growth
            f.srtt += error * 0.125
            f.rttvar += (abs(error) - f.rttvar) * 0.25
            f.rtt_min = min(f.rtt_min, rtt)
            round_rtt_min = min(round_rtt_min, rtt)
            if e.watches_acks == 1:
                f.advanced, f.repaired, f.answered = 1.0, 0.0, now - 0.5 * e.rtt_s
                call_on_every_ack(e.algorithm, f, p)
            if f.cwnd <= rwnd:
                call_on_ack_inlined(e.algorithm, f, p)
            if newest_sent_s >= round_start_s:
                if round_start_s >= 0.0:
                    f.round_rtt_min = round_rtt_min
                    call_on_round(e.algorithm, f, p)
                round_start_s = now
                round_rtt_min = NEVER
            # what arrives next: see endpoint.expect
            waits = np.int64(0)
            next_arrival_s = NEVER
            if rx_head < tail:
                first = ring[place(ring_first, rx_head, ring_mask)]
                next_arrival_s = first.arrival_s
                if ack_every == 2 and tail - rx_head > 1:
                    second = ring[place(ring_first, rx_head + 1, ring_mask)]
                    in_order = first.seq == rx_nxt and second.seq == rx_nxt + 1 and (first.again | second.again) == 0
                    if in_order and second.arrival_s < first.arrival_s + e.delack_s:
                        next_arrival_s = second.arrival_s
                        waits = np.int64(1)
            allowed = np.int64(min(f.cwnd, rwnd)) - (tail - rx_head) - (access_tail - access_head) - undetected
            leaves_access = False
        elif now == next_emission_s:
            packet = access[place(access_first, access_head, access_mask)]
            access_head += 1
            following = access[place(access_first, access_head, access_mask)]
            next_emission_s = following.enter_s if access_head < access_tail else NEVER
            sent_s, seq, again = packet.sent_s, packet.seq, packet.again
            allowed = np.int64(0)
            leaves_access = True
        else:
            break
        events += 1
        last_s = now
        while True:
            if not leaves_access:
                if allowed <= 0 or snd_nxt >= last_seq or snd_nxt - rx_nxt >= span or now >= e.stop_s:
                    break
                if access_service_s > 0.0:
                    if access_tail - access_head >= e.access_queue:
                        e.una, e.snd_nxt = rx_nxt, snd_nxt
                        f.cwnd = min(f.cwnd, clamp)
                        local_congestion(links, e, f, p, log, flow, now)
                        limit = now  # the log may be full
                        break
                    enter_s = max(now, e.access_free_s)
                    e.access_free_s = enter_s + access_service_s
                    if e.stack >= NS2:
                        enter_s = e.access_free_s
                    if e.access_jitter_s > 0.0:
                        enter_s = e.last_enter_s = jittered(link, e, enter_s, e.access_jitter_s, e.last_enter_s)
                    if access_head < access_tail or enter_s > now:
                        if access_head == access_tail:
                            next_emission_s = enter_s
                        if access_tail - access_head > access_mask:
                            e.access_head = access_head
                            widen_access(links[0], e, access)
                            access_first, access_mask = e.access_first, e.access_mask
                        packet = access[place(access_first, access_tail, access_mask)]
                        packet.seq, packet.sent_s, packet.enter_s, packet.again = snd_nxt, now, enter_s, NEW
                        access_tail += 1
                        snd_nxt += 1
                        allowed -= 1
                        continue
                seq = snd_nxt
                snd_nxt += 1
                allowed -= 1
            # into the bottleneck: see link.enter_bottleneck
            wait = free_s - now
            if wait > longest_wait_s:
                e.tail = tail
                drop(links, e, ring, lost, seq, sent_s, again)
                undetected = e.lost_tail - e.shown
            else:
                free_s = (free_s if wait > 0.0 else now) + service_s
                forwarded += 1
                lost_on_the_way = False
                if loss_rate > 0.0:
                    link.to_next_loss -= 1
                    lost_on_the_way = link.to_next_loss < 0
                if lost_on_the_way:
                    link.to_next_loss = packets_to_loss(link)
                    e.dropped += 1
                    e.tail = tail
                    lose(links, e, ring, lost, seq, sent_s, again)
                    undetected = e.lost_tail - e.shown
                else:
                    arrival_s = free_s + path_s
                    if jitter_s > 0.0:
                        arrival_s = last_arrival_s = jittered(link, e, arrival_s, jitter_s, last_arrival_s)
                    if tail - rx_head + SHOWN_WITHIN > ring_mask:
                        e.rx_head, e.tail = rx_head, tail
                        widen_ring(links[0], e, ring)
                        ring_first, ring_mask = e.ring_first, e.ring_mask
                    slot = ring[place(ring_first, tail, ring_mask)]
                    slot.arrival_s, slot.sent_s, slot.seq, slot.again = arrival_s, sent_s, seq, again
                    if rx_head == tail:
                        next_arrival_s = arrival_s
                    tail += 1
            if leaves_access:
                break
        if f.cwnd > clamp:
            f.cwnd = clamp
        now = min(next_arrival_s, next_emission_s)
    e.rx_head = e.head = rx_head
    e.rx_nxt = e.rcv_nxt = e.una = rx_nxt
    e.received += rx_nxt - first_received
    e.tail, e.snd_nxt, e.last_arrival_s = tail, snd_nxt, last_arrival_s
    e.sent += snd_nxt - first_sent
    e.prr_out += snd_nxt - first_sent
    e.next_arrival_s, e.next_emission_s, e.waits_for_second = next_arrival_s, next_emission_s, waits
    e.access_head, e.access_tail = access_head, access_tail
    e.round_start_s, e.round_rtt_min, e.newest_sent_s = round_start_s, round_rtt_min, newest_sent_s
    link.free_s = free_s
    link.forwarded += forwarded
    if events > 0:
        e.rto_base_s = last_s
        if rx_nxt != first_received:
            e.backoff = 1.0
    return now, events
