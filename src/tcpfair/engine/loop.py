"""The simulation loop: select the next flow, handle its event, take samples."""

from __future__ import annotations

import numpy as np

from tcpfair.engine.clock import last_tick_s
from tcpfair.engine.cruise import cruise, may_cruise
from tcpfair.engine.endpoint import (
    count_at_receiver,
    emit,
    expect,
    hear_ack,
    hear_receiver,
    packets_out,
    receive,
    reordering_timeout,
    send,
    timeout,
)
from tcpfair.engine.link import enter_bottleneck_with_ack, set_path
from tcpfair.engine.rng import packets_to_loss, seed_state
from tcpfair.engine.state import NEVER, OWN_AGENT, POLLING
from tcpfair.engine.traffic import admit, dismiss, next_arrival_s, sample_short_flows
from tcpfair.engine.tree import earliest, enter, grow_tree, leave, show
from tcpfair.jit import jit, jit_cached, jit_inline, likely, unlikely

INITIAL_RTO_S = 1.0

# why `simulate` returns
REACHED = 0  # the requested end time
WANTS_ROOM = 1  # one of the arrays must be made longer, see blocks.py
WANTS_SLOTS = 2  # all slots of short flows are taken


@jit_inline
def timeout_s(e, f):
    """The retransmission timeout before backoff: RFC 6298, section 2, or Linux's, which is never shorter."""
    return max(e.rto_min_s, f.srtt + max(4.0 * f.rttvar, e.rto_margin_s))


@jit_inline
def next_event_s(e, f, now):
    """The time of this flow's next event."""
    t = min(min(e.next_arrival_s, e.next_ack_s), min(e.next_emission_s, min(e.delack_at_s, e.reorder_at_s)))
    # ns-2's own agents do not check whether packets are in flight
    timed = (e.stack == OWN_AGENT and e.una < e.snd_nxt) or e.waits_pkts > 0
    if unlikely(timed or t == NEVER) and (timed or packets_out(e) > 0 or e.shown > e.resend):
        rto_s = timeout_s(e, f) if f.srtt > 0.0 else INITIAL_RTO_S
        t = min(t, max(e.rto_base_s + rto_s * e.backoff, now))  # the last ACK may be dropped after the time has come
    return t


@jit_inline
def answer(links, e, f, p, ring, acks, lost, log, flow, now):
    """The receiver sends an ACK. Returns True when the sender receives it at once, without a reverse bottleneck."""
    e.delack_at_s = NEVER
    if e.two_way == 1:
        enter_bottleneck_with_ack(links, e, acks, now)
        expect(e, ring)
        return False
    hear_receiver(links, e, f, p, lost, log, flow, now)
    expect(e, ring)
    return True


@jit_inline
def handle(links, e, f, p, ring, acks, lost, got, access, log, flow, now):
    """Handle this flow's event at ``now``; of simultaneous events the first in this order."""
    if likely(now == e.next_arrival_s):
        if unlikely(not receive(links, e, ring, got)):
            expect(e, ring)
            if e.unacked == 1:
                e.delack_at_s = now + e.delack_s
            return
        if not answer(links, e, f, p, ring, acks, lost, log, flow, now):
            return
    elif likely(now == e.next_ack_s):
        hear_ack(links, e, f, p, acks, lost, log, flow, now)
    elif now == e.next_emission_s:
        emit(links, e, ring, lost, access, now)
        return
    elif now == e.delack_at_s:
        if not answer(links, e, f, p, ring, acks, lost, log, flow, now):
            return
    elif now == e.reorder_at_s and e.holds != POLLING:
        reordering_timeout(links, e, f, p, lost, log, flow, now)
    elif e.started == 1 and now != e.reorder_at_s:
        timeout(links, e, f, p, ring, acks, lost, log, flow, now)
    elif e.started == 0:
        e.started = 1
        e.overflows_seen = links[e.direction].overflows
    send(links, e, f, p, ring, lost, access, log, flow, now)


@jit
def take_samples(links, ends, flows, ring, got, pool, out, link_out, web_out):
    """Record the state at the end of the next sample interval."""
    run = links[0]
    k = run.samples
    now = (k + 1) * run.sample_s
    n = out.shape[2]
    for i in range(n):
        delivered, received = count_at_receiver(links, ends[i], ring, got, now)
        out[0, k, i] = delivered
        out[1, k, i] = received
        out[2, k, i] = max(flows[i].cwnd, ends[i].halving_limit)
        out[3, k, i] = flows[i].ssthresh
        out[4, k, i] = flows[i].srtt
    for d in range(links.size):
        link = links[d]
        link_out[d, 0, k] = link.forwarded
        link_out[d, 1, k] = link.dropped
        link_out[d, 2, k] = max(link.free_s - last_tick_s(link.tick_s, now), 0.0) / link.service_s
        link_out[d, 3, k] = link.acks_forwarded
        link_out[d, 4, k] = link.acks_dropped
    sample_short_flows(k, links, pool, ends[n + 1 : run.leaves], ring, got, now, web_out)
    run.samples += 1


@jit
def begin(links, ends, bits, winners, pool, n):
    """Random numbers, and the first event of every flow."""
    for d in range(links.size):
        link = links[d]
        link.random = seed_state(link.random)
        if link.loss_rate > 0.0:
            link.to_next_loss = packets_to_loss(link)
    leaves = grow_tree(bits, winners, 2)  # the smallest possible
    for i in range(n):
        while i >= leaves:
            leaves = grow_tree(bits, winners, leaves)
        enter(bits, winners, leaves, i, ends[i].start_s)
    if ends.size > n:
        while n >= leaves:
            leaves = grow_tree(bits, winners, leaves)
        enter(bits, winners, leaves, n, next_arrival_s(pool))
    links[0].leaves = leaves


@jit_cached
def simulate(
    links,
    ends,
    flows,
    params,
    ring,
    acks,
    lost,
    got,
    access,
    log,
    keys,
    winners,
    pool,
    out,
    link_out,
    web_out,
    until_s,
):
    """Continue the run to ``until_s``, or until an array is too short; returns which of the two.

    All state is in the records, so a run can be resumed, also with longer arrays. Where it stops does not affect
    results. Fills samples and counters in place. ``keys`` (all NEVER) and ``winners`` hold the winner tree. The flows
    after those of ``out`` are the pool of short ones (:mod:`tcpfair.engine.traffic`), except the first: its leaf
    represents the next arrival.
    """
    n = out.shape[2]
    run = links[0]
    bits = keys.view(np.uint64)
    samples = out.shape[1]
    if run.leaves == 0:
        begin(links, ends, bits, winners, pool, n)
    until_s = min(until_s, run.duration_s)
    leaves = run.leaves
    one_way = links.size == 1
    i, now = earliest(bits, winners, leaves)
    sample_due_s = (run.samples + 1) * run.sample_s if run.samples < samples else NEVER
    halt_s = min(until_s, sample_due_s)
    while True:
        if unlikely(now >= halt_s):
            while min(now, until_s) >= sample_due_s:
                take_samples(links, ends, flows, ring, got, pool, out, link_out, web_out)
                sample_due_s = (run.samples + 1) * run.sample_s if run.samples < samples else NEVER
            if now >= until_s:
                break
            halt_s = min(until_s, sample_due_s)
        if unlikely(run.wants_room == 1):
            return WANTS_ROOM
        if unlikely(i == n):
            i = admit(pool, ends, flows, params)
            if i < 0:
                return WANTS_SLOTS
            set_path(ends[i], run.tick_s)
            while i >= leaves:
                leaves = run.leaves = grow_tree(bits, winners, leaves)
            leave(bits, winners, leaves, n)
            enter(bits, winners, leaves, n, next_arrival_s(pool))
        run.trains += 1
        # find the next flow without this one before its train, so that the tree is not on the critical path after it
        next_flow, next_s = leave(bits, winners, leaves, i)
        limit = min(next_s, halt_s)
        row = np.uint64(i)
        e, f, p = ends[row], flows[row], params[row]
        while True:
            if one_way and may_cruise(e, f, links[e.direction]):
                now, handled = cruise(links, e, f, p, ring, lost, access, log, i, now, limit)
                run.events += handled
                if handled > 0:
                    if now == NEVER:
                        now = next_event_s(e, f, e.rto_base_s)
                    if now >= limit or run.wants_room == 1:
                        break
            run.events += 1
            handle(links, e, f, p, ring, acks, lost, got, access, log, i, now)
            now = next_event_s(e, f, now)
            if now >= limit or run.wants_room == 1:
                break
        if unlikely(i > n and e.una >= e.size):
            dismiss(pool, e, i)
            now = NEVER
        enter(bits, winners, leaves, i, now)
        if next_s < now or (next_s == now and next_flow < i):
            i, now = next_flow, next_s
    # the last sample may be a rounding error after the end
    while until_s == run.duration_s and run.samples < samples:
        take_samples(links, ends, flows, ring, got, pool, out, link_out, web_out)
    show(bits, winners, i, now)
    return REACHED
