"""The common case in one tight loop: data in order, no loss detected, ACKs without a reverse bottleneck.

Nearly all events of most runs are of this kind. This loop handles a whole train of them with bit-identical results to
:func:`tcpfair.engine.loop.handle`. Values that change with every packet are in locals, few enough for the registers.
Constants, and values that a rare path changes, are read from the records. All other events are left to `handle`.
"""

from __future__ import annotations

import numpy as np

from tcpfair.cc.api import TEXT
from tcpfair.engine.blocks import place, widen_access, widen_ring
from tcpfair.engine.dispatch import call_on_ack, call_on_ack_inlined, call_on_every_ack, call_on_round
from tcpfair.engine.endpoint import local_congestion
from tcpfair.engine.link import SHOWN_WITHIN, drop, jittered, lose
from tcpfair.engine.rng import packets_to_loss
from tcpfair.engine.state import LINUX_2_6_22, NEVER, NEW, NS2
from tcpfair.jit import jit, jit_inline, likely, unlikely


@jit_inline
def may_cruise(e, f, link):
    """Whether the sender has detected no loss, the receiver has no hole, and no ACK is pending."""
    trouble = e.in_recovery | e.after_timeout | e.lost_out | (e.shown - e.resend) | e.holds | e.out_of_order | e.unacked
    special = (1 - e.reliable) | link.special | e.quick_acks
    return (trouble | special) == 0 and f.srtt > 0.0 and (f.cwnd <= e.rwnd or e.stack != NS2)


@jit
def put_on_access(links, e, access, seq, now, enter_s):
    """A new packet waits on the access link: see endpoint.hand_over."""
    if e.access_head == e.access_tail:
        e.next_emission_s = enter_s
    if e.access_tail - e.access_head > e.access_mask:
        widen_access(links[0], e, access)
    packet = access[place(e.access_first, e.access_tail, e.access_mask)]
    packet.seq, packet.sent_s, packet.enter_s, packet.again = seq, now, enter_s, NEW
    e.access_tail += 1


@jit_inline
def pass_bottleneck(links, link, e, ring, lost, rx_head, tail, free_s, now, seq, sent_s, again):
    """:func:`tcpfair.engine.link.enter_bottleneck` with the changing fields in the caller's locals.

    Returns the new ``tail`` and ``free_s``.
    """
    wait = free_s - now
    if unlikely(wait > link.longest_wait_s):
        e.tail = tail
        drop(links, e, ring, lost, seq, sent_s, again)
        return tail, free_s
    free_s = (free_s if wait > 0.0 else now) + link.service_s
    if link.loss_rate > 0.0:
        link.to_next_loss -= 1
        if unlikely(link.to_next_loss < 0):
            link.to_next_loss = packets_to_loss(link)
            link.forwarded += 1
            e.dropped += 1
            e.tail = tail
            lose(links, e, ring, lost, seq, sent_s, again)
            return tail, free_s
    arrival_s = free_s + e.path_s
    if likely(link.jitter_s > 0.0):
        arrival_s = e.last_arrival_s = jittered(link, e, arrival_s, link.jitter_s, e.last_arrival_s)
    if unlikely(tail - rx_head + SHOWN_WITHIN > e.ring_mask):
        e.rx_head, e.tail = rx_head, tail
        widen_ring(links[0], e, ring)
    slot = ring[place(e.ring_first, tail, e.ring_mask)]
    slot.arrival_s, slot.sent_s, slot.seq, slot.again = arrival_s, sent_s, seq, again
    return tail + 1, free_s


@jit_inline
def cruise(links, e, f, p, ring, lost, access, log, flow, now, limit):
    """Handle this flow's events from ``now`` on while they are ordinary and before ``limit``. Return the time of the
    first other event and the number handled. The caller must check :func:`may_cruise` first."""
    if now != e.next_arrival_s and now != e.next_emission_s:
        return now, 0
    link = links[e.direction]
    rx_head, tail, rx_nxt, snd_nxt = e.rx_head, e.tail, e.rx_nxt, e.snd_nxt
    next_arrival_s, waits, free_s = e.next_arrival_s, e.waits_for_second, link.free_s
    first_received, first_sent, first_tail = rx_nxt, snd_nxt, tail
    ack_every, round_start_s = e.ack_every, e.round_start_s
    last_seq = np.int64(0)  # after its stop a flow sends no data
    if now < e.stop_s:
        last_seq = e.size
        limit = min(limit, e.stop_s)
    out = (tail - rx_head) + (e.access_tail - e.access_head) + (e.lost_tail - e.shown)
    f.acked = float(ack_every)
    f.growth = f.acked if e.byte_counting == 1 else 1.0
    emitted = 0
    last_s = now
    while now < limit:
        if likely(next_arrival_s <= e.next_emission_s):
            # the packet whose arrival triggers an ACK
            newest = rx_head + waits
            slot = ring[place(e.ring_first, newest, e.ring_mask)]
            if unlikely(slot.seq != rx_nxt + waits or (slot.again | slot.losses_shown) != 0 or ack_every != waits + 1):
                break
            if waits == 1 and unlikely(ring[place(e.ring_first, rx_head, e.ring_mask)].losses_shown != 0):
                break
            last_s = now
            rx_head = newest + 1
            rx_nxt += ack_every
            out -= ack_every
            newest_sent_s = e.newest_sent_s = slot.sent_s
            rtt = now - newest_sent_s
            error = rtt - f.srtt
            f.now, f.rtt = now, rtt
            f.srtt += error * 0.125
            f.rttvar += (abs(error) - f.rttvar) * 0.25
            f.rtt_min = min(f.rtt_min, rtt)
            e.round_rtt_min = min(e.round_rtt_min, rtt)
            if e.watches_acks == 1:
                f.advanced, f.repaired, f.answered = f.acked, 0.0, now - 0.5 * e.rtt_s
                call_on_every_ack(e.algorithm, f, p)
            if likely(f.cwnd <= e.rwnd):
                if likely(f.whole == TEXT):  # inlining removes the rules' code for whole windows
                    call_on_ack_inlined(e.algorithm, f, p)
                else:
                    call_on_ack(e.algorithm, f, p)
            if unlikely(newest_sent_s >= round_start_s):
                if round_start_s >= 0.0:
                    f.round_rtt_min = e.round_rtt_min
                    call_on_round(e.algorithm, f, p)
                round_start_s = now
                e.round_rtt_min = NEVER
            window = f.cwnd
            if unlikely(window > e.rwnd):
                window = e.rwnd
                if e.stack == NS2:
                    f.cwnd = window
            # the next arrival: see endpoint.expect
            waits = np.int64(0)
            next_arrival_s = NEVER
            if likely(rx_head < tail):
                first = ring[place(e.ring_first, rx_head, e.ring_mask)]
                next_arrival_s = first.arrival_s
                if ack_every == 2 and tail - rx_head > 1:
                    second = ring[place(e.ring_first, rx_head + 1, e.ring_mask)]
                    in_order = first.seq == rx_nxt and second.seq == rx_nxt + 1 and (first.again | second.again) == 0
                    if in_order and second.arrival_s < first.arrival_s + e.delack_s:
                        next_arrival_s = second.arrival_s
                        waits = np.int64(1)
            allowed = np.int64(window) - out
            while allowed > 0 and likely(snd_nxt < last_seq and snd_nxt - rx_nxt < e.span):
                if e.access_service_s > 0.0:
                    if unlikely(e.access_tail - e.access_head >= e.access_queue):
                        e.una, e.snd_nxt = rx_nxt, snd_nxt
                        local_congestion(links, e, f, p, log, flow, now)
                        if e.stack == NS2:
                            f.cwnd = min(f.cwnd, e.rwnd)
                        limit = now  # the log may be full
                        break
                    enter_s = max(now, e.access_free_s)
                    e.access_free_s = enter_s + e.access_service_s
                    if e.stack >= NS2:
                        enter_s = e.access_free_s
                    if e.access_jitter_s > 0.0:
                        enter_s = e.last_enter_s = jittered(link, e, enter_s, e.access_jitter_s, e.last_enter_s)
                    if e.access_head < e.access_tail or enter_s > now:
                        put_on_access(links, e, access, snd_nxt, now, enter_s)
                        snd_nxt += 1
                        out += 1
                        allowed -= 1
                        continue
                before = tail
                tail, free_s = pass_bottleneck(
                    links, link, e, ring, lost, rx_head, tail, free_s, now, snd_nxt, now, np.int64(NEW)
                )
                if unlikely(rx_head == before) and tail > before:
                    next_arrival_s = ring[place(e.ring_first, before, e.ring_mask)].arrival_s
                snd_nxt += 1
                out += 1
                allowed -= 1
        else:
            packet = access[place(e.access_first, e.access_head, e.access_mask)]
            e.access_head += 1
            following = access[place(e.access_first, e.access_head, e.access_mask)]
            e.next_emission_s = following.enter_s if e.access_head < e.access_tail else NEVER
            if e.stack != LINUX_2_6_22:
                last_s = now
            emitted += 1
            before = tail
            tail, free_s = pass_bottleneck(
                links, link, e, ring, lost, rx_head, tail, free_s, now, packet.seq, packet.sent_s, packet.again
            )
            if unlikely(rx_head == before) and tail > before:
                next_arrival_s = ring[place(e.ring_first, before, e.ring_mask)].arrival_s
            out = (tail - rx_head) + (e.access_tail - e.access_head) + (e.lost_tail - e.shown)
        now = min(next_arrival_s, e.next_emission_s)
    e.rx_head = e.head = rx_head
    e.rx_nxt = e.rcv_nxt = e.una = rx_nxt
    e.received += rx_nxt - first_received
    e.tail, e.snd_nxt = tail, snd_nxt
    e.sent += snd_nxt - first_sent
    e.prr_out += snd_nxt - first_sent
    e.next_arrival_s, e.waits_for_second, e.round_start_s = next_arrival_s, waits, round_start_s
    link.free_s = free_s
    link.forwarded += tail - first_tail
    events = emitted + (rx_nxt - first_received) // ack_every
    if events > 0 and (rx_nxt != first_received or e.stack != LINUX_2_6_22):
        e.rto_base_s = last_s
        if rx_nxt != first_received:
            e.backoff = 1.0
    return now, events
