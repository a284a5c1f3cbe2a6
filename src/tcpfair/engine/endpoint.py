"""One flow's two ends: the receiver's ACKs, loss recovery and sending, by RFC 5681, 6298, 6582, 6675, 6937 and 8985."""

from __future__ import annotations

import math

import numpy as np

from tcpfair.cc.api import LINUX_6, LINUX_HZ, TEXT, tick, ticks
from tcpfair.engine.blocks import LOG_RESERVE, place, widen_access, widen_got
from tcpfair.engine.clock import EARLY
from tcpfair.engine.dispatch import call_on_ack, call_on_every_ack, call_on_loss, call_on_round, call_on_timeout
from tcpfair.engine.link import DUPLICATE_THRESHOLD, SHOWN_WITHIN, enter_bottleneck, jittered, losses_shown_by
from tcpfair.engine.state import (
    ASKING,
    DUPLICATE,
    LINUX_2_6_22,
    LOSS,
    NEVER,
    NEW,
    NS2,
    OWN_AGENT,
    POLLING,
    PRR,
    RATE_HALVING,
    RECOVERY_END,
    RENO,
    RTO,
    SACK,
    STUCK,
    TIMER,
)
from tcpfair.jit import jit, jit_inline, likely, unlikely

MAX_BACKOFF = 64.0
OWN_DUPACKS = 3  # numdupacks_ of ns-2's own agents
LEAST_WAIT_S = 0.002  # TCP_TIMEOUT_MIN_US of Linux 6
# Linux 6, ccid2.h: a fifth of the receiver's sequence window of 100 packets, and half of that
MOST_RATIO_ACKS, LEAST_RATIO_ACKS = 20.0, 10.0
NS2_BURST_PKTS = 3.0  # tcp_max_burst: beyond the packets in flight, at the end of a recovery


@jit
def log_event(links, log, flow, kind, f, now, before, after):
    """Append to the event log, if the run has one."""
    run = links[0]
    if log.size == 0:
        return
    row = log[run.logged]
    row.t_s = now
    row.flow = flow
    row.kind = kind
    row.cwnd_before = before
    row.cwnd_after = after
    row.w_max = f.W_max
    row.k_s = f.K
    run.logged += 1
    if run.logged + LOG_RESERVE > log.size:
        run.wants_room = 1


# ---------------------------------------------------------------- receiver


@jit_inline
def receive(links, e, ring, got):
    """The packet at the head of the ring arrives. Returns True when it must be acknowledged at once."""
    if e.waits_for_second == 1:
        take_first(e, ring)
    slot = ring[place(e.ring_first, e.rx_head, e.ring_mask)]
    e.rx_head += 1
    e.newest_sent_s = slot.sent_s
    take_marks(e, slot)
    if unlikely(slot.again != NEW):
        if slot.again == DUPLICATE:
            return True
        e.repaired += 1
    e.received += 1
    e.unacked += 1
    if unlikely(e.reliable == 0):
        e.rx_nxt = slot.seq + 1
        if slot.seq >= e.asked_seq:
            e.ack_every = e.asked_ratio
        return e.unacked >= e.ack_every
    if unlikely(e.quick_acks > 0) and (slot.seq == e.rx_nxt or e.quick_after_gap == 0):
        e.quick_acks -= 1
        e.ack_every = 1 if e.quick_acks > 0 else e.asked_ratio
    holes = e.out_of_order > 0
    if likely(slot.seq == e.rx_nxt):
        e.rx_nxt += 1
        while e.out_of_order > 0 and got[place(e.got_first, e.rx_nxt, e.got_mask)] != 0:
            got[place(e.got_first, e.rx_nxt, e.got_mask)] = 0
            e.rx_nxt += 1
            e.out_of_order -= 1
    else:
        make_room_for(links, e, got, slot.seq)
        got[place(e.got_first, slot.seq, e.got_mask)] = 1
        e.out_of_order += 1
        holes = True
        if unlikely(e.quick_after_gap > 0):  # tcp_enter_quickack_mode; the ACK of this packet is the first
            e.quick_acks = max(e.quick_acks, e.quick_after_gap)
            e.ack_every = 1
    return holes or e.unacked >= e.ack_every


@jit
def make_room_for(links, e, got, seq):
    """The receiver can mark packet ``seq`` as one beyond a hole."""
    while seq - e.rx_nxt > e.got_mask and e.got_mask < e.got_room:
        widen_got(links[0], e, got)


@jit_inline
def take_first(e, ring):
    """The first of two packets in order has arrived: it is counted, the second will be acknowledged."""
    e.waits_for_second = 0
    slot = ring[place(e.ring_first, e.rx_head, e.ring_mask)]
    e.rx_head += 1
    take_marks(e, slot)
    e.received += 1
    e.unacked += 1
    e.rx_nxt += 1


@jit_inline
def take_marks(e, slot):
    """Record the losses that this arrival shows for the next ACK."""
    if unlikely(slot.losses_shown != 0):
        e.losses_unshown += losses_shown_by(slot)
        slot.losses_shown = 0


@jit_inline
def expect(e, ring):
    """The receiver's next event: the arrival of the first packet in flight, or of the second if the first triggers no ACK."""
    if unlikely(e.rx_head >= e.tail):
        e.next_arrival_s = NEVER
        return
    first = ring[place(e.ring_first, e.rx_head, e.ring_mask)]
    e.next_arrival_s = first.arrival_s
    if e.ack_every == 2 and e.unacked == 0 and e.tail - e.rx_head > 1:
        second = ring[place(e.ring_first, e.rx_head + 1, e.ring_mask)]
        in_order = e.out_of_order == 0 and first.seq == e.rx_nxt and second.seq == e.rx_nxt + 1
        fresh = first.again == NEW and second.again == NEW and e.reliable == 1
        if in_order and fresh and second.arrival_s < first.arrival_s + e.delack_s:
            e.next_arrival_s = second.arrival_s
            e.waits_for_second = 1


@jit
def count_at_receiver(links, e, ring, got, at_s):
    """Packets that the receiver has at time ``at_s``: in order, and first arrivals.

    Without a reverse bottleneck an ACK and its arrival are one event, ``back_s`` after the arrival. So the ring
    contains packets that have arrived, and the first of two packets that share an ACK.
    """
    first, last = e.rx_head, e.tail
    while first < last:  # the ring is in order of arrival
        middle = (first + last) // 2
        if ring[place(e.ring_first, middle, e.ring_mask)].arrival_s < at_s + e.back_s:
            first = middle + 1
        else:
            last = middle
    arrived = first - e.rx_head
    received = e.received + arrived
    if e.reliable == 0:
        return received, received
    if arrived == 0:
        return e.rx_nxt, received
    newest = ring[place(e.ring_first, first - 1, e.ring_mask)]
    if e.out_of_order == 0 and newest.again == NEW and newest.seq == e.rx_nxt + arrived - 1:
        return e.rx_nxt + arrived, received
    return count_in_order(links, e, ring, got, first), received


@jit
def count_in_order(links, e, ring, got, end):
    """The first packet that the receiver will miss when the ring up to ``end`` has arrived."""
    for k in range(e.rx_head, end):
        seq = ring[place(e.ring_first, k, e.ring_mask)].seq
        make_room_for(links, e, got, seq)
        got[place(e.got_first, seq, e.got_mask)] += 2  # not the receiver's mark: it is removed below
    nxt = e.rx_nxt
    while nxt - e.rx_nxt <= e.got_mask and got[place(e.got_first, nxt, e.got_mask)] != 0:
        nxt += 1
    for k in range(e.rx_head, end):
        got[place(e.got_first, ring[place(e.ring_first, k, e.ring_mask)].seq, e.got_mask)] -= 2
    return nxt


# ---------------------------------------------------------------- sender: acknowledgements


@jit_inline
def take_rtt_sample(e, f, now, sent_s):
    """RFC 6298, section 2, gains 1/8 and 1/4; the timer itself is in loop.next_event_s."""
    rtt = now - sent_s
    f.rtt = rtt
    if unlikely(f.srtt == 0.0):
        f.srtt = rtt
        f.rttvar = rtt / 2.0
        f.rtt_min = rtt
        e.round_rtt_min = rtt
    else:
        error = rtt - f.srtt
        f.srtt += error * 0.125
        f.rttvar += (abs(error) - f.rttvar) * 0.25
        f.rtt_min = min(f.rtt_min, rtt)
        e.round_rtt_min = min(e.round_rtt_min, rtt)


@jit_inline
def show_losses(e, lost, losses):
    """Losses that this ACK reveals. Returns the highest sequence number among them (-1: none)."""
    highest = np.int64(-1)
    for _ in range(losses):
        packet = lost[place(e.lost_first, e.shown, e.lost_mask)]
        if packet.again == 0:
            e.lost_out += 1
            if unlikely(e.waits_pkts > 0 and e.in_recovery == 1):
                e.holds = e.waits_pkts = 0  # the new hole makes the kernel examine all SACKs
        elif e.recovery != SACK:
            e.holds = STUCK
        elif e.stack == OWN_AGENT:
            e.holds = TIMER
        elif e.stack == LINUX_2_6_22:
            e.holds = TIMER
            e.waits_pkts += 1
        highest = max(highest, packet.seq)
        e.shown += 1
    return highest


@jit
def overtaken(e, f, lost, now):
    """The number of losses that RACK detects now (RFC 8985, section 6.2; Linux 6.1, tcp_recovery.c).

    A packet is lost when one that was sent later has arrived: in recovery, and with three packets beyond the first hole, at
    once; otherwise a quarter of the least RTT after its ACK was due. A timer is set for that.
    """
    e.reorder_at_s = NEVER
    recovers = (e.in_recovery | e.after_timeout) != 0 and e.rcv_nxt < e.recover_seq
    sacked = (e.snd_nxt - e.rcv_nxt) - packets_out(e) - (e.shown - e.resend)
    window_s = 0.0 if recovers or sacked >= DUPLICATE_THRESHOLD else min(0.25 * f.rtt_min, f.srtt)
    losses = np.int64(0)
    for k in range(e.shown, e.lost_tail):
        packet = lost[place(e.lost_first, k, e.lost_mask)]
        if packet.next_place >= e.head:
            break
        left_s = f.rtt + window_s - (now - packet.sent_s)
        if left_s <= 0.0:
            losses += 1
        else:
            # the kernel's timers count whole ticks, and none fires early
            e.reorder_at_s = (tick(now) + ticks(left_s + LEAST_WAIT_S) + 1.0) / LINUX_HZ
    return losses


@jit
def reordering_timeout(links, e, f, p, lost, log, flow, now):
    """RACK's timer starts a recovery, whose first retransmission no ACK triggers (tcp_rack_reo_timeout)."""
    f.now = now
    f.acked = 1.0
    show_losses(e, lost, overtaken(e, f, lost, now))
    enter_recovery(links, e, f, p, log, flow, now)
    if e.reduction == PRR:
        reduce_proportionally(e, f, in_order=False)


@jit_inline
def packets_out(e):
    """The pipe of RFC 6675: packets sent, not arrived, and not detected as lost.

    Without SACK the sender cannot detect more than one missing packet: losses that await retransmission count as in flight.
    """
    pipe = (e.tail - e.head) + (e.access_tail - e.access_head) + (e.lost_tail - e.shown) + e.waits_pkts
    if e.recovery != SACK and e.after_timeout == 0:
        pipe += e.shown - e.resend
    return pipe


@jit
def enter_recovery(links, e, f, p, log, flow, now):
    """A congestion event: the algorithm sets ssthresh, and the reduction brings the window to it."""
    before = f.cwnd
    f.now = now
    call_on_loss(e.algorithm, f, p)
    f.cwnd_cnt = 0.0
    e.reductions += 1
    e.in_recovery = 1
    e.recover_seq = e.snd_nxt
    e.resend_now = 1 if e.shown > e.resend else 0  # the first retransmission is sent regardless of the window
    if e.stack == NS2:
        begin_as_ns2(e, f, before)
    elif e.stack == OWN_AGENT:
        begin_as_own_agent(e, f, now)
    elif e.reduction == PRR:
        e.prr_delivered = 0
        e.prr_out = 0
        e.prr_flight = max(packets_out(e) + (e.shown - e.resend if e.recovery == SACK else 0), 1)
        if e.rack == 1:
            e.prr_flight = np.int64(before)  # tcp_init_cwnd_reduction: prior_cwnd
    elif e.reduction != RATE_HALVING:
        f.cwnd = f.ssthresh
    log_event(links, log, flow, LOSS, f, now, before, f.ssthresh)


@jit
def begin_as_ns2(e, f, before):
    """ns-2's TCP-Linux (tcp-linux.cc, tcp_fastretrans_alert): the window falls at once, the flight by halves."""
    e.resend_now = 0  # the limit lets one out
    e.halving_limit = np.int64(before)
    f.cwnd = f.min_cwnd if f.min_cwnd > 0.0 else math.floor(e.halving_floor * f.ssthresh)


@jit
def begin_as_own_agent(e, f, now):
    """ns-2's own agents (tcp-sack1.cc, dupack_action): a lost packet counts as in flight until a partial ACK removes it."""
    e.pipe = e.snd_nxt - e.una - OWN_DUPACKS
    e.rto_base_s = now
    f.cwnd = f.min_cwnd


@jit
def holes_waiting(e, lost):
    """Packets that a sender may retransmit which retransmits each only once before a timeout. The first is moved to the head."""
    for k in range(e.resend, e.shown):
        packet = lost[place(e.lost_first, k, e.lost_mask)]
        if e.holds != TIMER or packet.again == 0:
            for j in range(k, e.resend, -1):
                exchange(lost[place(e.lost_first, j, e.lost_mask)], lost[place(e.lost_first, j - 1, e.lost_mask)])
            return e.shown - k
    return 0


@jit
def exchange(one, other):
    one.seq, other.seq = other.seq, one.seq
    one.again, other.again = other.again, one.again


@jit
def allowed_as_own_agent(e, f, lost, waiting):
    """Packets that ns-2's own agents may send (tcp-sack1.cc, send_much): after a timeout by sequence number."""
    window = np.int64(min(f.cwnd, e.rwnd))
    if e.in_recovery == 1:
        return window - e.pipe
    if e.after_timeout == 1:
        return e.una + window - (lost[place(e.lost_first, e.resend, e.lost_mask)].seq if waiting > 0 else e.snd_nxt)
    return window - packets_out(e)


@jit
def restart_timer_as_own_agent(e, now):
    """ns-2's own agents: with an ACK in order (tcp.cc, newack; TCP-Linux with every ACK, as ts_resetRTO_ of ns-default.tcl).

    After a timeout the timer stays longer until a packet is acknowledged that was new then (rtt_seq_), or a partial ACK.
    """
    if e.rcv_nxt > e.una:
        e.rto_base_s = now
        if e.rcv_nxt > e.timed_seq or e.in_recovery == 1:
            e.backoff = 1.0


@jit
def end_as_ns2(e, f):
    """ns-2 clears the scoreboard: all packets that are not acknowledged count as in flight.

    A threshold below zero (YeAH's after a timeout at a window of one packet) is huge as an unsigned number. The new
    window is that number as a signed integer, hence negative. No data is sent until a timer expires, which requires
    data in flight.
    """
    if f.cwnd < f.ssthresh:
        f.cwnd = min(f.ssthresh, np.float64(e.snd_nxt - e.una) + NS2_BURST_PKTS)
        if f.ssthresh == np.inf:
            f.cwnd = 0.0
            e.holds = STUCK
    e.halving_limit = 0


@jit_inline
def update_as_ns2(links, e, f, p, log, flow, now, loss_shown):
    """``update_recovery`` in ns-2's TCP-Linux. After a timeout the end stays the same, and a further loss is a reduction."""
    e.una = e.rcv_nxt
    if (e.in_recovery == 1 or e.after_timeout == 1) and e.una >= e.recover_seq:
        if e.in_recovery == 1:
            leave_recovery(links, e, f, log, flow, now)
        else:
            end_as_ns2(e, f)
        e.after_timeout = 0
        f.in_loss = 0.0
        loss_shown = e.lost_out > 0  # found anew
    if e.in_recovery == 0 and loss_shown:
        e.after_timeout = 0
        f.in_loss = 0.0
        enter_recovery(links, e, f, p, log, flow, now)


@jit_inline
def allow_while_halving(e, allowed):
    """A packet for every second ACK that triggers one, until the window allows more (tcp-linux.cc, send_much)."""
    out = packets_out(e)
    e.halving_limit = min(e.halving_limit, out + 1)
    if e.halving_limit > out:
        e.halving_limit = max(out, 1)
        allowed = max(allowed, 1)
    return allowed


@jit_inline
def reduce_proportionally(e, f, in_order):
    """Proportional rate reduction with the slow-start reduction bound (RFC 6937, section 3.1).

    Linux 6 (tcp_cwnd_reduction): the bound is a packet more only with an ACK that advances and shows no loss, ``in_order``.
    """
    e.prr_delivered += np.int64(f.acked)
    pipe = packets_out(e)
    if pipe > f.ssthresh:
        allowed = np.float64(math.ceil(e.prr_delivered * f.ssthresh / e.prr_flight) - e.prr_out)
    else:
        bound = max(np.float64(e.prr_delivered - e.prr_out), f.acked)
        if in_order or f.whole != LINUX_6:
            bound += 1.0
        allowed = min(f.ssthresh - pipe, bound)
    f.cwnd = pipe + max(allowed, 0.0)


@jit_inline
def halve_rate(e, f):
    """One packet less for every second ACK, and at most one above the flight (Linux 2.6.22, tcp_cwnd_down)."""
    f.cwnd_cnt += 1.0
    if f.cwnd_cnt == 2.0:
        f.cwnd_cnt = 0.0
        if f.cwnd > e.halving_floor * f.ssthresh:
            f.cwnd -= 1.0
    f.cwnd = max(min(f.cwnd, packets_out(e) + 1.0), 1.0)


@jit
def reduce_at_once(links, e, f, p, log, flow, now):
    """A reduction without a recovery phase."""
    before = f.cwnd
    call_on_loss(e.algorithm, f, p)
    f.cwnd = f.ssthresh
    f.cwnd_cnt = 0.0
    e.reduced_seq = e.snd_nxt
    e.reductions += 1
    log_event(links, log, flow, LOSS, f, now, before, f.cwnd)


@jit
def leave_recovery(links, e, f, log, flow, now):
    before = f.cwnd
    if e.stack == NS2:
        end_as_ns2(e, f)
    elif e.stack != OWN_AGENT:
        f.cwnd = min(f.cwnd, f.ssthresh) if e.reduction == RATE_HALVING else f.ssthresh
    e.in_recovery = 0
    e.resend_now = 0
    log_event(links, log, flow, RECOVERY_END, f, now, before, f.cwnd)


@jit_inline
def update_recovery(links, e, f, p, log, flow, now):
    """Update the recovery state with this ACK: stay, leave or enter."""
    advanced = e.rcv_nxt > e.una
    e.una = e.rcv_nxt
    if e.after_timeout == 1 and e.una >= e.recover_seq:
        e.after_timeout = 0
    if e.in_recovery == 1:
        e.pipe -= 2 if advanced else 1
        if e.una >= e.recover_seq or (e.recovery == RENO and advanced):
            leave_recovery(links, e, f, log, flow, now)
        elif e.recovery != SACK and advanced:
            e.resend_now = 1  # partial ACK: the next hole (RFC 6582, section 3.2, step 3)
    if e.in_recovery == 0 and e.after_timeout == 0 and e.lost_out > 0:
        enter_recovery(links, e, f, p, log, flow, now)


@jit_inline
def acknowledge(links, e, f, p, lost, log, flow, now, arrived, repaired, losses_shown, newest_sent_s):
    """The sender processes an ACK for ``arrived`` packets, of which the newest was sent at ``newest_sent_s``.

    ``repaired`` of them had been lost and were retransmitted.
    """
    e.lost_out -= repaired
    f.now = now
    f.acked = arrived
    f.growth = f.acked if e.byte_counting == 1 else 1.0
    take_rtt_sample(e, f, now, newest_sent_s)
    if unlikely(e.stack == OWN_AGENT):
        restart_timer_as_own_agent(e, now)
    elif likely(e.rcv_nxt > e.una) or e.stack != LINUX_2_6_22 or e.reliable == 0:
        e.rto_base_s = now
        e.backoff = 1.0
    if e.watches_acks == 1:
        f.advanced = np.float64(e.rcv_nxt - e.una)
        f.repaired = np.float64(repaired > 0)
        f.answered = now - 0.5 * e.rtt_s
        call_on_every_ack(e.algorithm, f, p)
    # after a recovery Linux's window grows with packets acknowledged in order (tcp_ack); the texts' with every ACK
    in_order = e.in_recovery == 0 and e.rcv_nxt > e.una
    grows = f.whole == TEXT or in_order
    trouble = (
        losses_shown
        | e.lost_out
        | e.in_recovery
        | e.after_timeout
        | (1 - e.reliable)
        | e.rack * (e.lost_tail - e.shown)
    )
    if likely(trouble == 0 and e.stack < NS2):
        e.una = e.rcv_nxt
        if grows and f.cwnd <= e.rwnd:
            call_on_ack(e.algorithm, f, p)
    else:
        acknowledge_in_trouble(links, e, f, p, lost, log, flow, now, losses_shown, in_order, grows)
    if unlikely(newest_sent_s >= e.round_start_s):
        if e.in_recovery == 0 and e.round_start_s >= 0.0:
            f.round_rtt_min = e.round_rtt_min
            call_on_round(e.algorithm, f, p)
        e.round_start_s = now
        e.round_rtt_min = NEVER


@jit_inline
def acknowledge_in_trouble(links, e, f, p, lost, log, flow, now, losses_shown, in_order, grows):
    """The window and the detected losses, if any, in ns-2's stack and without retransmissions."""
    advances = e.rcv_nxt > e.una
    # since 4.6 also with the ACK that ends a recovery (tcp_cong_control)
    grows |= f.whole == LINUX_6 and advances
    if e.stack == NS2 and in_order:
        # before losses are examined (tcp-linux.cc, recv)
        call_on_ack(e.algorithm, f, p)
        f.cwnd = min(f.cwnd, e.rwnd)
    highest_lost = np.int64(-1)
    if e.rack == 1:
        losses_shown = overtaken(e, f, lost, now)
    if losses_shown > 0:
        highest_lost = show_losses(e, lost, losses_shown)
    if e.reliable == 1:
        if e.lost_out > 0 or e.in_recovery == 1 or e.after_timeout == 1:
            if e.stack == NS2:
                update_as_ns2(links, e, f, p, log, flow, now, losses_shown > 0)
            else:
                update_recovery(links, e, f, p, log, flow, now)
        else:
            e.una = e.rcv_nxt
    else:
        e.una = e.rcv_nxt
        e.resend = e.shown  # no retransmissions
        if f.whole == LINUX_6:
            acknowledge_as_linux(links, e, f, p, lost, log, flow, now, losses_shown)
            grows = False
        elif highest_lost >= e.reduced_seq:
            # RFC 4341, section 5: one congestion event per window of data
            reduce_at_once(links, e, f, p, log, flow, now)
    if e.stack == NS2 or (e.stack == OWN_AGENT and e.in_recovery == 1):
        pass  # done above for every kind of reduction
    elif e.in_recovery == 1:
        if e.reduction == PRR:
            reduce_proportionally(e, f, advances and losses_shown == 0)
        elif e.reduction == RATE_HALVING:
            halve_rate(e, f)
    elif grows and f.cwnd <= e.rwnd:
        call_on_ack(e.algorithm, f, p)


@jit
def acknowledge_as_linux(links, e, f, p, lost, log, flow, now, losses_shown):
    """CCID 2 of Linux (ccid2_hc_tx_packet_recv): growth precedes a reduction and keeps its count of ACKs."""
    if f.cwnd <= e.rwnd:
        call_on_ack(e.algorithm, f, p)
    if e.stack == LINUX_6:
        adapt_ack_ratio(e, f)
    if losses_shown == 0:
        return
    newest = lost[place(e.lost_first, e.shown - 1, e.lost_mask)]
    # ccid2_congestion_event: a packet of the tick of the last reduction was not sent before it
    if tick_of_sender(e, newest.sent_s) >= e.reduced_tick:
        counted = f.cwnd_cnt
        reduce_at_once(links, e, f, p, log, flow, now)
        f.cwnd_cnt = counted
        e.reduced_tick = np.int64(tick_of_sender(e, now))
        if e.asked_ratio > f.cwnd:
            ask_ack_ratio(e, max(np.int64(f.cwnd) // 2, 1))


@jit
def tick_of_sender(e, at_s):
    """Ticks of the sender's clock. That of CCID 2 of Linux 2.6.22 begins with the flow, which sends at its ticks."""
    return math.floor((at_s - e.start_s) * LINUX_HZ + EARLY) if e.holds == POLLING else tick(at_s)


@jit
def adapt_ack_ratio(e, f):
    """The Ack Ratio of CCID 2 in Linux 3.2 and later (ccid2_new_ack): 10 to 19 ACKs per window.

    The next packet announces a change, and the sender counts with it once that packet is acknowledged.
    """
    if e.una <= e.asked_seq:
        return
    acks = f.cwnd / e.asked_ratio
    if acks >= MOST_RATIO_ACKS:
        ask_ack_ratio(e, 2 * e.asked_ratio)
    elif acks < LEAST_RATIO_ACKS:
        ask_ack_ratio(e, max(e.asked_ratio // 2, 1))


@jit
def ask_ack_ratio(e, ratio):
    if ratio != e.asked_ratio:
        e.asked_ratio, e.asked_seq = ratio, e.snd_nxt


@jit_inline
def hear_receiver(links, e, f, p, lost, log, flow, now):
    """An ACK without a reverse bottleneck: the sender gets the receiver's current state."""
    arrived, repaired, losses_shown = e.unacked, e.repaired, e.losses_unshown
    e.head = e.rx_head
    e.rcv_nxt = e.rx_nxt
    e.unacked = e.repaired = e.losses_unshown = 0
    acknowledge(links, e, f, p, lost, log, flow, now, arrived, repaired, losses_shown, e.newest_sent_s)


@jit_inline
def hear_ack(links, e, f, p, acks, lost, log, flow, now):
    """The ACK at the head of its ring reaches the sender."""
    slot = acks[place(e.acks_first, e.acks_head, e.acks_mask)]
    e.acks_head += 1
    following = acks[place(e.acks_first, e.acks_head, e.acks_mask)]
    e.next_ack_s = following.arrival_s if e.acks_head < e.acks_tail else NEVER
    e.head = slot.head
    e.rcv_nxt = slot.rcv_nxt
    arrived, repaired, losses_shown = np.int64(slot.arrived), np.int64(slot.repaired), np.int64(slot.losses_shown)
    acknowledge(links, e, f, p, lost, log, flow, now, arrived, repaired, losses_shown, slot.newest_sent_s)


# ---------------------------------------------------------------- sender: timeout


@jit_inline
def reduces_with_timeout(e):
    """In Linux 2.6.22 (tcp_enter_loss) a timeout within a recovery keeps its threshold; one after progress reduces it again."""
    if e.stack == LINUX_2_6_22:
        return e.in_recovery == 0 and (e.after_timeout == 0 or e.backoff == 1.0)
    return e.after_timeout == 0 or e.stack >= NS2


@jit
def timeout(links, e, f, p, ring, acks, lost, log, flow, now):
    """RFC 6298, section 5: the flight becomes empty, and every packet that has not arrived counts as lost."""
    before = f.cwnd
    f.now = now
    if reduces_with_timeout(e):
        call_on_timeout(e.algorithm, f, p)
    e.halving_limit = 0
    f.cwnd = 1.0
    f.cwnd_cnt = 0.0
    e.timeouts += 1
    e.backoff = min(2.0 * e.backoff, MAX_BACKOFF)
    e.rto_base_s = now
    e.timed_seq = e.snd_nxt
    was_waiting = e.waits_pkts > 0
    clear_marks(e, ring, acks)
    e.losses_unshown = 0
    e.reorder_at_s = NEVER
    if e.reliable == 1:
        collect_losses(e, lost)
        e.in_recovery = 0
        e.after_timeout = 1
        f.in_loss = 1.0 if e.stack == NS2 else 0.0
        e.recover_seq = e.snd_nxt
        if was_waiting:  # packets may be in flight, and they are not resent
            e.resend_now = np.int64(lost[place(e.lost_first, e.resend, e.lost_mask)].seq == e.una)
        elif e.rx_head > e.head:
            ask_receiver(e, lost)
    else:
        e.shown = e.lost_tail
        e.resend = e.shown
        e.reduced_seq = e.snd_nxt
        e.head = e.rx_head
        if e.stack == LINUX_6:
            ask_ack_ratio(e, 1)  # ccid2_hc_tx_rto_expire
    log_event(links, log, flow, RTO, f, now, before, f.cwnd)


@jit
def clear_marks(e, ring, acks):
    """No arrival, and no ACK in flight, will show the last losses."""
    for k in range(e.rx_head if e.stack == OWN_AGENT or e.waits_pkts > 0 else e.tail, e.tail + SHOWN_WITHIN):
        ring[place(e.ring_first, k, e.ring_mask)].losses_shown = 0
    if e.waits_pkts > 0:
        for k in range(e.acks_head, e.acks_tail):
            acks[place(e.acks_first, k, e.acks_mask)].losses_shown = 0


@jit
def ask_receiver(e, lost):
    """ACKs were dropped: the first unacknowledged packet is sent again, and its ACK reports what has arrived."""
    if e.shown > e.resend and lost[place(e.lost_first, e.resend, e.lost_mask)].seq == e.una:
        e.resend_now = 1
    else:
        e.holds = ASKING


@jit_inline
def collect_losses(e, lost):
    """Queue all missing packets for retransmission, in order of sequence numbers."""
    e.holds = e.waits_pkts = 0
    for i in range(e.shown, e.lost_tail):
        if lost[place(e.lost_first, i, e.lost_mask)].again == 0:
            e.lost_out += 1
    e.shown = e.lost_tail
    if e.stack == OWN_AGENT:
        for i in range(e.resend, e.shown):
            lost[place(e.lost_first, i, e.lost_mask)].again = 0
    # insertion sort: the queue is nearly in order
    for i in range(e.resend + 1, e.lost_tail):
        j = i
        while j > e.resend:
            here = lost[place(e.lost_first, j, e.lost_mask)]
            left = lost[place(e.lost_first, j - 1, e.lost_mask)]
            if left.seq <= here.seq:
                break
            exchange(left, here)
            j -= 1


# ---------------------------------------------------------------- sender: sending


@jit_inline
def send(links, e, f, p, ring, lost, access, log, flow, now):
    """Send what the window allows: retransmissions first, then new data."""
    if unlikely((e.holds | e.halving_limit | (e.shown - e.resend)) != 0 or e.stack == OWN_AGENT):
        send_in_trouble(links, e, f, p, ring, lost, access, log, flow, now)
        return
    allowed = np.int64(min(f.cwnd, e.rwnd)) - packets_out(e)
    while allowed > 0 and likely(e.snd_nxt < e.size and e.snd_nxt - e.una < e.span) and now < e.stop_s:
        if unlikely(e.access_tail - e.access_head >= e.access_queue):
            local_congestion(links, e, f, p, log, flow, now)
            break
        seq = e.snd_nxt
        e.snd_nxt += 1
        e.prr_out += 1
        e.pipe += 1
        allowed -= 1
        hand_over(links, e, ring, lost, access, seq, np.int64(NEW), now)


@jit_inline
def send_in_trouble(links, e, f, p, ring, lost, access, log, flow, now):
    """Send retransmissions first; ns-2's stack has separate rules for what the window allows."""
    allowed = np.int64(min(f.cwnd, e.rwnd)) - packets_out(e)
    if e.halving_limit > 0:
        allowed = allow_while_halving(e, allowed)
    one_at_a_time = e.recovery != SACK and e.after_timeout == 0
    if e.holds == POLLING:
        if now != e.reorder_at_s:  # dccp_write_xmit_timer
            if allowed > 0:
                e.reorder_at_s = min(e.reorder_at_s, e.start_s + (tick_of_sender(e, now) + 1.0) / LINUX_HZ)
            return
        e.reorder_at_s = NEVER
    elif e.holds != 0 and e.holds != TIMER:
        if e.holds == ASKING:
            e.holds = 0
            e.resent += 1
            hand_over(links, e, ring, lost, access, e.una, np.int64(DUPLICATE), now)
        return  # stuck: duplicate ACKs would not restart the timer: let it run out
    while True:
        waiting = e.shown - e.resend
        if e.stack == OWN_AGENT or e.holds == TIMER:
            waiting = holes_waiting(e, lost)
        if e.stack == OWN_AGENT:
            allowed = allowed_as_own_agent(e, f, lost, waiting)
        again = waiting > 0 and (e.resend_now > 0 or (allowed > 0 and not one_at_a_time))
        if not again:
            room = e.snd_nxt < e.size and e.snd_nxt - e.una < e.span
            if allowed <= 0 or not room or now >= e.stop_s:
                break
        if e.access_tail - e.access_head >= e.access_queue:
            local_congestion(links, e, f, p, log, flow, now)
            break
        if again:
            seq = lost[place(e.lost_first, e.resend, e.lost_mask)].seq
            e.resend += 1
            e.resent += 1
            e.pipe -= e.resend_now  # the first one does not count in the pipe
            e.resend_now = 0
        else:
            seq = e.snd_nxt
            e.snd_nxt += 1
        if not (again and one_at_a_time):  # without SACK the packet was counted as in flight all the time
            allowed -= 1
        e.prr_out += 1
        e.pipe += 1
        hand_over(links, e, ring, lost, access, seq, np.int64(again), now)


@jit_inline
def hand_over(links, e, ring, lost, access, seq, again, now):
    """Pass a packet to the access link, which spaces packets by its service time and may add jitter."""
    e.sent += 1
    if e.stack == OWN_AGENT:
        if e.snd_nxt - e.una == 1:
            e.rto_base_s = now
    elif e.stack != LINUX_2_6_22 or e.reliable == 0 or seq == e.una:  # the timer is that of the first packet
        e.rto_base_s = now
    if e.access_service_s == 0.0:
        enter_bottleneck(links, e, ring, lost, now, seq, now, again)
        return
    enter_s = max(now, e.access_free_s)
    e.access_free_s = enter_s + e.access_service_s
    if e.stack >= NS2:
        enter_s = e.access_free_s  # its links forward a packet after receiving all of it
    if e.access_jitter_s > 0.0:
        enter_s = e.last_enter_s = jittered(links[e.direction], e, enter_s, e.access_jitter_s, e.last_enter_s)
    if e.access_head == e.access_tail and enter_s <= now:
        enter_bottleneck(links, e, ring, lost, now, seq, now, again)
    else:
        if e.access_head == e.access_tail:
            e.next_emission_s = enter_s
        if e.access_tail - e.access_head > e.access_mask:
            widen_access(links[0], e, access)
        packet = access[place(e.access_first, e.access_tail, e.access_mask)]
        packet.seq = seq
        packet.sent_s = now
        packet.enter_s = enter_s
        packet.again = again
        e.access_tail += 1


@jit_inline
def emit(links, e, ring, lost, access, now):
    """The first packet on the access link enters the bottleneck."""
    packet = access[place(e.access_first, e.access_head, e.access_mask)]
    e.access_head += 1
    following = access[place(e.access_first, e.access_head, e.access_mask)]
    e.next_emission_s = following.enter_s if e.access_head < e.access_tail else NEVER
    if e.stack != OWN_AGENT and (e.stack != LINUX_2_6_22 or e.reliable == 0):
        e.rto_base_s = now
    enter_bottleneck(links, e, ring, lost, now, packet.seq, packet.sent_s, packet.again)


@jit
def local_congestion(links, e, f, p, log, flow, now):
    """The interface queue is full: a reduction without a loss, once per window (Linux tcp_enter_cwr)."""
    if e.in_recovery == 1 or e.after_timeout == 1 or e.una < e.local_congestion_seq:
        return
    e.local_congestion_seq = e.snd_nxt
    reduce_at_once(links, e, f, p, log, flow, now)
