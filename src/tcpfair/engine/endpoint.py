"""One flow's two ends: the receiver's ACKs, loss recovery and sending. The steps follow RFC 5681, 6298, 6582, 6675, 6937."""

from __future__ import annotations

import math

import numpy as np

from tcpfair.engine.dispatch import call_on_ack, call_on_every_ack, call_on_loss, call_on_round, call_on_timeout
from tcpfair.engine.link import enter_bottleneck
from tcpfair.engine.rng import uniform
from tcpfair.engine.state import (
    ASKING,
    DUPLICATE,
    LOSS,
    NEVER,
    NEW,
    PRR,
    RATE_HALVING,
    RECOVERY_END,
    RENO,
    RTO,
    SACK,
    STUCK,
)
from tcpfair.jit import jit, jit_inline

MAX_BACKOFF = 64.0


@jit
def log_event(links, log, flow, kind, f, now, before, after):
    """Append to the event log; when it is full only the count goes on, and the caller repeats with a larger one."""
    link = links[0]
    if link.log_size == 0:
        return
    if link.logged < link.log_size:
        row = log[link.logged]
        row.t_s = now
        row.flow = flow
        row.kind = kind
        row.cwnd_before = before
        row.cwnd_after = after
        row.w_max = f.W_max
        row.k_s = f.K
    link.logged += 1


# ---------------------------------------------------------------- receiver


@jit_inline
def receive(e, ring, got):
    """The packet at the head of the ring arrives. Returns True when it is to be acknowledged at once."""
    if e.waits_for_second == 1:
        take_first(e, ring)
    slot = ring[e.ring_first + (e.rx_head & e.ring_mask)]
    e.rx_head += 1
    e.newest_sent_s = slot.sent_s
    e.losses_unshown += slot.losses_shown
    slot.losses_shown = 0
    if slot.again != NEW:
        if slot.again == DUPLICATE:
            return True
        e.repaired += 1
    e.received += 1
    e.unacked += 1
    if e.reliable == 0:
        e.rx_nxt = slot.seq + 1
        return e.unacked >= e.ack_every
    holes = e.out_of_order > 0
    if slot.seq == e.rx_nxt:
        e.rx_nxt += 1
        while e.out_of_order > 0 and got[e.got_first + (e.rx_nxt & e.got_mask)] != 0:
            got[e.got_first + (e.rx_nxt & e.got_mask)] = 0
            e.rx_nxt += 1
            e.out_of_order -= 1
    else:
        got[e.got_first + (slot.seq & e.got_mask)] = 1
        e.out_of_order += 1
        holes = True
    return holes or e.unacked >= e.ack_every


@jit_inline
def take_first(e, ring):
    """The first of two packets in order has arrived: it is counted, the second will be acknowledged."""
    e.waits_for_second = 0
    slot = ring[e.ring_first + (e.rx_head & e.ring_mask)]
    e.rx_head += 1
    e.losses_unshown += slot.losses_shown
    slot.losses_shown = 0
    e.received += 1
    e.unacked += 1
    e.rx_nxt += 1


@jit_inline
def expect(e, ring):
    """When the receiver has to act next: at the first packet under way, or at the second if it says nothing to the first."""
    if e.rx_head >= e.tail:
        e.next_arrival_s = NEVER
        return
    first = ring[e.ring_first + (e.rx_head & e.ring_mask)]
    e.next_arrival_s = first.arrival_s
    if e.ack_every == 2 and e.unacked == 0 and e.tail - e.rx_head > 1:
        second = ring[e.ring_first + ((e.rx_head + 1) & e.ring_mask)]
        in_order = e.out_of_order == 0 and first.seq == e.rx_nxt and second.seq == e.rx_nxt + 1
        fresh = first.again == NEW and second.again == NEW and e.reliable == 1
        if in_order and fresh and second.arrival_s < first.arrival_s + e.delack_s:
            e.next_arrival_s = second.arrival_s
            e.waits_for_second = 1


@jit_inline
def arrived_unseen(e, ring, now):
    """1 when the first of two packets has arrived before ``now`` and is not counted yet."""
    if e.waits_for_second == 0:
        return 0
    return np.int64(ring[e.ring_first + (e.rx_head & e.ring_mask)].arrival_s < now)


# ---------------------------------------------------------------- sender: acknowledgements


@jit_inline
def take_rtt_sample(e, f, now, sent_s):
    """RFC 6298, section 2, gains 1/8 and 1/4."""
    rtt = now - sent_s
    f.rtt = rtt
    if f.srtt == 0.0:
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
    e.rto_s = max(e.rto_min_s, f.srtt + 4.0 * f.rttvar)


@jit
def show_losses(e, lost, losses):
    """Losses that this ACK reveals. Returns the highest sequence number among them (-1: none)."""
    highest = np.int64(-1)
    for _ in range(losses):
        packet = lost[e.lost_first + (e.shown & e.lost_mask)]
        if packet.again == 0:
            e.lost_out += 1
        elif e.recovery != SACK:
            e.holds = STUCK
        highest = max(highest, packet.seq)
        e.shown += 1
    return highest


@jit_inline
def packets_out(e):
    """The pipe of RFC 6675: handed over, not arrived, not known to be lost.

    Without SACK the sender cannot know that more than one packet is missing: losses that wait count as in flight.
    """
    pipe = (e.tail - e.head) + (e.access_tail - e.access_head) + (e.lost_tail - e.shown)
    if e.recovery != SACK and e.after_timeout == 0:
        pipe += e.shown - e.resend
    return pipe


@jit
def enter_recovery(links, e, f, p, log, flow, now):
    """A congestion event: the algorithm sets ssthresh, the reduction brings the window there."""
    before = f.cwnd
    f.now = now
    call_on_loss(e.algorithm, f, p)
    e.reductions += 1
    e.in_recovery = 1
    e.recover_seq = e.snd_nxt
    e.resend_now = 1 if e.shown > e.resend else 0  # the first retransmission goes out whatever the window says
    if e.reduction == PRR:
        e.prr_delivered = 0
        e.prr_out = 0
        e.prr_flight = max(packets_out(e) + (e.shown - e.resend if e.recovery == SACK else 0), 1)
    elif e.reduction == RATE_HALVING:
        e.halving_acks = 0
    else:
        f.cwnd = f.ssthresh
    log_event(links, log, flow, LOSS, f, now, before, f.ssthresh)


@jit
def reduce_proportionally(e, f):
    """Proportional rate reduction with the slow-start reduction bound (RFC 6937, section 3.1)."""
    e.prr_delivered += np.int64(f.acked)
    pipe = packets_out(e)
    if pipe > f.ssthresh:
        allowed = np.float64(math.ceil(e.prr_delivered * f.ssthresh / e.prr_flight) - e.prr_out)
    else:
        bound = max(np.float64(e.prr_delivered - e.prr_out), f.acked) + 1.0
        allowed = min(f.ssthresh - pipe, bound)
    f.cwnd = pipe + max(allowed, 0.0)


@jit
def halve_rate(e, f):
    """A packet less for every second ACK, and no more than one above what is in flight (Linux 2.6.22, tcp_cwnd_down)."""
    e.halving_acks += 1
    if e.halving_acks % 2 == 0 and f.cwnd > e.halving_floor * f.ssthresh:
        f.cwnd -= 1.0
    f.cwnd = max(min(f.cwnd, packets_out(e) + 1.0), 1.0)


@jit
def reduce_at_once(links, e, f, p, log, flow, now):
    """A reduction without a recovery phase."""
    before = f.cwnd
    call_on_loss(e.algorithm, f, p)
    f.cwnd = f.ssthresh
    e.reduced_seq = e.snd_nxt
    e.reductions += 1
    log_event(links, log, flow, LOSS, f, now, before, f.cwnd)


@jit
def leave_recovery(links, e, f, log, flow, now):
    before = f.cwnd
    f.cwnd = min(f.cwnd, f.ssthresh) if e.reduction == RATE_HALVING else f.ssthresh
    e.in_recovery = 0
    e.resend_now = 0
    log_event(links, log, flow, RECOVERY_END, f, now, before, f.cwnd)


@jit
def update_recovery(links, e, f, p, log, flow, now):
    """Where this ACK leaves the sender: in recovery, out of it, or entering it."""
    advanced = e.rcv_nxt > e.una
    e.una = e.rcv_nxt
    if e.after_timeout == 1 and e.una >= e.recover_seq:
        e.after_timeout = 0
    if e.in_recovery == 1:
        if e.una >= e.recover_seq or (e.recovery == RENO and advanced):
            leave_recovery(links, e, f, log, flow, now)
        elif e.recovery != SACK and advanced:
            e.resend_now = 1  # partial ACK: the next hole (RFC 6582, section 3.2, step 3)
    if e.in_recovery == 0 and e.after_timeout == 0 and e.lost_out > 0:
        enter_recovery(links, e, f, p, log, flow, now)


@jit_inline
def acknowledge(links, e, f, p, lost, log, flow, now, arrived, losses_shown, newest_sent_s):
    """The sender takes in an ACK for ``arrived`` packets, of which the newest was sent at ``newest_sent_s``."""
    f.now = now
    f.acked = arrived
    f.growth = f.acked if e.byte_counting == 1 else 1.0
    take_rtt_sample(e, f, now, newest_sent_s)
    e.rto_base_s = now
    e.backoff = 1.0
    if e.watches_acks == 1:
        call_on_every_ack(e.algorithm, f, p)
    highest_lost = np.int64(-1)
    if losses_shown > 0:
        highest_lost = show_losses(e, lost, losses_shown)
    if e.reliable == 1:
        if e.lost_out > 0 or e.in_recovery == 1 or e.after_timeout == 1:
            update_recovery(links, e, f, p, log, flow, now)
        else:
            e.una = e.rcv_nxt
    else:
        e.una = e.rcv_nxt
        e.resend = e.shown  # nothing is sent again
        # RFC 4341, section 5: one congestion event per window of data
        if highest_lost >= e.reduced_seq:
            reduce_at_once(links, e, f, p, log, flow, now)
    if e.in_recovery == 1:
        if e.reduction == PRR:
            reduce_proportionally(e, f)
        elif e.reduction == RATE_HALVING:
            halve_rate(e, f)
    elif f.cwnd <= e.rwnd:
        call_on_ack(e.algorithm, f, p)
    if newest_sent_s >= e.round_start_s:
        if e.in_recovery == 0 and e.round_start_s >= 0.0:
            f.round_rtt_min = e.round_rtt_min
            call_on_round(e.algorithm, f, p)
        e.round_start_s = now
        e.round_rtt_min = NEVER


@jit_inline
def hear_receiver(links, e, f, p, lost, log, flow, now):
    """An ACK without a way of its own: what the receiver knows now, the sender knows."""
    arrived, losses_shown = e.unacked, e.losses_unshown
    e.head = e.rx_head
    e.rcv_nxt = e.rx_nxt
    e.lost_out -= e.repaired
    e.unacked = e.repaired = e.losses_unshown = 0
    acknowledge(links, e, f, p, lost, log, flow, now, arrived, losses_shown, e.newest_sent_s)


@jit_inline
def hear_ack(links, e, f, p, acks, lost, log, flow, now):
    """The ACK at the head of its ring reaches the sender."""
    slot = acks[e.acks_first + (e.acks_head & e.acks_mask)]
    e.acks_head += 1
    following = acks[e.acks_first + (e.acks_head & e.acks_mask)]
    e.next_ack_s = following.arrival_s if e.acks_head < e.acks_tail else NEVER
    e.head = slot.head
    e.rcv_nxt = slot.rcv_nxt
    e.lost_out -= slot.repaired
    arrived, losses_shown = np.int64(slot.arrived), np.int64(slot.losses_shown)
    acknowledge(links, e, f, p, lost, log, flow, now, arrived, losses_shown, slot.newest_sent_s)


# ---------------------------------------------------------------- sender: timeout


@jit
def timeout(links, e, f, p, ring, lost, log, flow, now):
    """RFC 6298, section 5: nothing is in flight any more, all that has not arrived is lost."""
    before = f.cwnd
    f.now = now
    if e.after_timeout == 0:
        call_on_timeout(e.algorithm, f, p)
    f.cwnd = 1.0
    e.timeouts += 1
    e.backoff = min(2.0 * e.backoff, MAX_BACKOFF)
    e.rto_base_s = now
    clear_marks(e, ring)
    e.losses_unshown = 0
    if e.reliable == 1:
        collect_losses(e, lost)
        e.in_recovery = 0
        e.after_timeout = 1
        e.recover_seq = e.snd_nxt
        if e.rx_head > e.head:
            ask_receiver(e, lost)
    else:
        e.shown = e.lost_tail
        e.resend = e.shown
        e.reduced_seq = e.snd_nxt
        e.head = e.rx_head
    log_event(links, log, flow, RTO, f, now, before, f.cwnd)


@jit
def clear_marks(e, ring):
    """No arrival will show the last losses."""
    for k in range(3):
        ring[e.ring_first + ((e.tail + k) & e.ring_mask)].losses_shown = 0


@jit
def ask_receiver(e, lost):
    """ACKs were dropped: the first packet that the sender misses goes out, and its ACK tells what has arrived."""
    if e.shown > e.resend and lost[e.lost_first + (e.resend & e.lost_mask)].seq == e.una:
        e.resend_now = 1
    else:
        e.holds = ASKING


@jit
def collect_losses(e, lost):
    """Everything that is missing, in order of sequence numbers, waits for retransmission."""
    e.holds = 0
    for i in range(e.shown, e.lost_tail):
        if lost[e.lost_first + (i & e.lost_mask)].again == 0:
            e.lost_out += 1
    e.shown = e.lost_tail
    # insertion sort: the queue is nearly in order
    for i in range(e.resend + 1, e.lost_tail):
        j = i
        while j > e.resend:
            here = lost[e.lost_first + (j & e.lost_mask)]
            left = lost[e.lost_first + ((j - 1) & e.lost_mask)]
            if left.seq <= here.seq:
                break
            left.seq, here.seq = here.seq, left.seq
            left.again, here.again = here.again, left.again
            j -= 1


# ---------------------------------------------------------------- sender: sending


@jit_inline
def send(links, e, f, p, ring, lost, access, log, flow, now):
    """Send what the window allows: retransmissions first, then new data."""
    allowed = np.int64(min(f.cwnd, e.rwnd)) - packets_out(e)
    one_at_a_time = e.recovery != SACK and e.after_timeout == 0
    if e.holds != 0:
        if e.holds == ASKING:
            e.holds = 0
            e.resent += 1
            hand_over(links, e, ring, lost, access, e.una, np.int64(DUPLICATE), now)
        return  # stuck: duplicate ACKs would not restart the timer: let it run out
    while True:
        waiting = e.shown - e.resend
        again = waiting > 0 and (e.resend_now > 0 or (allowed > 0 and not one_at_a_time))
        if not again:
            room = e.snd_nxt < e.size and e.snd_nxt - e.una < e.span
            if allowed <= 0 or not room or now >= e.stop_s:
                break
        if e.access_tail - e.access_head >= e.access_queue:
            local_congestion(links, e, f, p, log, flow, now)
            break
        if again:
            seq = lost[e.lost_first + (e.resend & e.lost_mask)].seq
            e.resend += 1
            e.resent += 1
            e.resend_now = 0
        else:
            seq = e.snd_nxt
            e.snd_nxt += 1
        if not (again and one_at_a_time):  # without SACK the packet was counted as in flight all the time
            allowed -= 1
        e.prr_out += 1
        hand_over(links, e, ring, lost, access, seq, np.int64(again), now)


@jit_inline
def hand_over(links, e, ring, lost, access, seq, again, now):
    """Give a packet to the access link, which spaces packets by its own service time and may add jitter."""
    e.sent += 1
    e.rto_base_s = now
    if e.access_service_s == 0.0:
        enter_bottleneck(links, e, ring, lost, now, seq, now, again)
        return
    enter_s = max(now, e.access_free_s)
    e.access_free_s = enter_s + e.access_service_s
    if e.access_jitter_s > 0.0:
        enter_s = max(
            enter_s + e.access_jitter_s * uniform(links[e.direction]), e.last_enter_s
        )  # packets stay in order
        e.last_enter_s = enter_s
    if e.access_head == e.access_tail and enter_s <= now:
        enter_bottleneck(links, e, ring, lost, now, seq, now, again)
    else:
        if e.access_head == e.access_tail:
            e.next_emission_s = enter_s
        packet = access[e.access_first + (e.access_tail & e.access_mask)]
        packet.seq = seq
        packet.sent_s = now
        packet.enter_s = enter_s
        packet.again = again
        e.access_tail += 1


@jit
def emit(links, e, ring, lost, access, now):
    """The first packet on the access link enters the bottleneck."""
    packet = access[e.access_first + (e.access_head & e.access_mask)]
    e.access_head += 1
    following = access[e.access_first + (e.access_head & e.access_mask)]
    e.next_emission_s = following.enter_s if e.access_head < e.access_tail else NEVER
    e.rto_base_s = now
    enter_bottleneck(links, e, ring, lost, now, packet.seq, packet.sent_s, packet.again)


@jit
def local_congestion(links, e, f, p, log, flow, now):
    """The interface queue is full: a reduction without a loss, once per window (Linux tcp_enter_cwr)."""
    if e.in_recovery == 1 or e.after_timeout == 1 or e.una < e.local_congestion_seq:
        return
    e.local_congestion_seq = e.snd_nxt
    reduce_at_once(links, e, f, p, log, flow, now)
