"""Records that the compiled simulator works on. One row per flow (array of structs), so a flow's state needs few cache lines."""

from __future__ import annotations

import numpy as np

NEVER = 1e300

# recovery and reduction modes
SACK, NEWRENO, RENO = 0, 1, 2
IMMEDIATE, PRR, RATE_HALVING = 0, 1, 2
RECOVERY = {"sack": SACK, "newreno": NEWRENO, "reno": RENO}
REDUCTION = {"immediate": IMMEDIATE, "prr": PRR, "rate_halving": RATE_HALVING}

# laws of the retransmission timer (scenario.Flow.rto_law)
RFC6298, LINUX_RTO = 0, 1
RTO_LAWS = {"rfc6298": RFC6298, "linux": LINUX_RTO}

# the stack of a flow (scenario.Flow.stack); STACK of cc.api has the arithmetic of its windows
STACKS = {"text": 0, "linux": 1, "linux_2_6_22": 2, "linux_6": 3, "ns2": 4}
LINUX_2_6_22, LINUX_6 = STACKS["linux_2_6_22"], STACKS["linux_6"]
NS2 = STACKS["ns2"]  # also for ns-2's TCP-Linux
OWN_AGENT = NS2 + 1  # ns-2's own TCP/Sack1, for algorithms that are not Linux modules

# kinds of logged events
LOSS, RTO, RECOVERY_END = 0, 1, 2
EVENT_NAMES = ("loss", "rto", "recovery_end")

# directions, and the bottleneck that data of a flow of this direction passes
FORWARD, REVERSE = 0, 1
DIRECTIONS = ("forward", "reverse")

# kinds of packets: new data, a retransmission, or a copy of data that has arrived (sent to get its ACK again)
NEW, AGAIN, DUPLICATE = 0, 1, 2

# reasons why a sender does not send
STUCK = 1  # without SACK a retransmission was lost; only a timeout recovers it
ASKING = 2  # a copy of the first unacknowledged packet is sent, to learn what the receiver has
TIMER = 3  # ns-2's own agents, Linux 2.6.22: a retransmission was lost; it waits for the timeout
POLLING = 4  # CCID 2 of Linux 2.6.22: it sends at the ticks of its clock only

# A packet between the bottleneck and the receiver, in order of hand-over.
SLOT = np.dtype(
    [
        # when it arrives; without a reverse bottleneck: when its ACK reaches the sender
        ("arrival_s", np.float64),
        ("sent_s", np.float64),  # when it was handed to the access link
        ("seq", np.int64),
        ("again", np.int32),
        ("losses_shown", np.int32),  # losses that this arrival makes detectable, see link.lose
    ],
    align=True,
)

# An ACK between the reverse bottleneck and the sender: the receiver's state when it was sent.
ACK_SLOT = np.dtype(
    [
        ("arrival_s", np.float64),
        ("newest_sent_s", np.float64),
        ("rcv_nxt", np.int64),
        ("head", np.int64),
        ("arrived", np.int32),
        ("repaired", np.int32),
        ("losses_shown", np.int32),
    ],
    align=True,
)

# A lost packet, or one in the access link.
PACKET = np.dtype(
    [
        ("sent_s", np.float64),
        ("enter_s", np.float64),
        ("seq", np.int64),
        ("again", np.int64),
        ("next_place", np.int64),  # of a lost packet: the place in the ring of the one that entered the queue after it
    ],
    align=True,
)

# The sender and receiver of one flow, without the algorithm's state. Fields used by one kind of event are adjacent: the
# records of a hundred flows do not fit into the L1 cache.
ENDPOINT = np.dtype(
    [
        # next events: the heads of the queues below; NEVER when they are empty
        ("next_arrival_s", np.float64),
        ("next_ack_s", np.float64),
        ("next_emission_s", np.float64),
        ("delack_at_s", np.float64),
        # when packets that later ones have passed count as lost; of CCID 2 of Linux 2.6.22: the tick to send at
        ("reorder_at_s", np.float64),
        ("rx_head", np.int64),
        ("tail", np.int64),
        ("ring_first", np.int64),
        ("ring_mask", np.int64),
        ("acks_head", np.int64),
        ("acks_tail", np.int64),
        ("access_head", np.int64),
        ("access_tail", np.int64),
        ("unacked", np.int64),  # arrivals since the last ACK
        ("acks_first", np.int64),
        ("acks_mask", np.int64),
        ("access_first", np.int64),
        ("access_mask", np.int64),
        # packets in flight: ring[head:tail] for the sender; ring[rx_head:tail] have not arrived
        ("head", np.int64),
        # receiver
        ("rx_nxt", np.int64),
        ("received", np.int64),
        ("out_of_order", np.int64),
        ("waits_for_second", np.int64),  # 1: next_arrival_s is that of the second packet; the first triggers no ACK
        ("ack_every", np.int64),
        ("quick_acks", np.int64),  # packets that the receiver still acknowledges at once, one more than that
        ("quick_after_gap", np.int64),  # their number after a packet out of order
        ("reliable", np.int64),
        # Linux 6's CCID 2: the Ack Ratio that the sender requests, and the first packet with that request
        ("asked_ratio", np.int64),
        ("asked_seq", np.int64),
        ("reduced_tick", np.int64),  # of its last reduction
        ("delack_s", np.float64),
        # contents of the next ACK
        ("newest_sent_s", np.float64),
        ("losses_unshown", np.int64),  # losses that these arrivals show
        ("repaired", np.int64),  # retransmissions that arrived
        ("carried", np.int64),  # arrivals whose ACK was dropped
        # the path: bottleneck, propagation
        ("direction", np.int64),
        ("two_way", np.int64),  # 1: ACKs pass the bottleneck of the other direction
        ("path_s", np.float64),  # from the bottleneck to the receiver; without a reverse bottleneck: and back
        ("back_s", np.float64),  # the part of path_s after the receiver
        ("last_arrival_s", np.float64),
        # sender: its state
        ("una", np.int64),
        ("rcv_nxt", np.int64),  # the last cumulative ACK
        ("lost_out", np.int64),  # detected losses that have not arrived yet
        ("in_recovery", np.int64),
        ("after_timeout", np.int64),
        ("algorithm", np.int64),
        ("recovery", np.int64),
        ("rack", np.int64),  # 1: losses are detected by time
        ("reduction", np.int64),
        ("watches_acks", np.int64),  # 1: the algorithm has on_every_ack
        ("byte_counting", np.int64),
        ("rto_base_s", np.float64),
        ("backoff", np.float64),
        ("rto_min_s", np.float64),  # least timeout
        ("round_start_s", np.float64),
        ("round_rtt_min", np.float64),
        # losses in order: lost[resend:shown] await retransmission, lost[shown:lost_tail] are not detected yet
        ("resend", np.int64),
        # lost retransmissions that wait for the timeout and count as in flight (Linux 2.6.22)
        ("waits_pkts", np.int64),
        ("shown", np.int64),
        ("lost_tail", np.int64),
        # sender: what it may send, packets
        ("rwnd", np.float64),
        ("snd_nxt", np.int64),
        ("size", np.int64),  # packets to deliver
        ("span", np.int64),  # receive window: snd_nxt may lead una by at most this
        ("stop_s", np.float64),
        ("holds", np.int64),  # why it sends less than the window allows: STUCK, ASKING
        ("resend_now", np.int64),  # retransmissions allowed regardless of the window
        ("prr_out", np.int64),
        ("sent", np.int64),
        # access queue: access[access_head:access_tail]
        ("access_service_s", np.float64),
        ("access_queue", np.int64),
        ("access_free_s", np.float64),  # when the access link can take the next packet
        ("access_jitter_s", np.float64),
        ("last_enter_s", np.float64),
        # sender: after a loss
        ("recover_seq", np.int64),
        ("local_congestion_seq", np.int64),
        ("reduced_seq", np.int64),  # first packet sent after the last reduction (flows without retransmission)
        ("halving_floor", np.float64),  # rate halving stops at this part of ssthresh
        ("halving_limit", np.int64),  # ns-2: packets that may be in flight beyond the window while the rate is halved
        ("prr_delivered", np.int64),
        ("prr_flight", np.int64),
        ("pipe", np.int64),  # ns-2's own agents: their estimate of the flight in recovery
        (
            "timed_seq",
            np.int64,
        ),  # ns-2's own agents: must be acknowledged before the timer is as short as before a timeout
        ("overflows_seen", np.int64),  # synchronised losses: overflows that this flow has lost a packet to
        # blocks in the shared arrays: first element, (power of two) - 1, and the largest that this may become
        ("ring_room", np.int64),
        ("acks_room", np.int64),
        ("access_room", np.int64),
        ("lost_first", np.int64),
        ("lost_mask", np.int64),
        ("lost_room", np.int64),
        ("got_first", np.int64),
        ("got_mask", np.int64),
        ("got_room", np.int64),
        # constants of the flow
        ("rtt_s", np.float64),
        ("rto_margin_s", np.float64),  # least time that the timeout adds to the smoothed RTT
        ("start_s", np.float64),
        ("started", np.int64),
        ("source", np.int64),  # the traffic source that a short flow belongs to
        ("stack", np.int64),
        # counters
        ("resent", np.int64),
        ("dropped", np.int64),
        ("reductions", np.int64),
        ("timeouts", np.int64),
    ],
    align=True,
)

# A bottleneck: one for data and, when ACKs and reverse data share one, a second.
LINK = np.dtype(
    [
        ("service_s", np.float64),  # of a full data packet
        ("ack_service_s", np.float64),
        ("longest_wait_s", np.float64),
        ("loss_rate", np.float64),
        ("jitter_s", np.float64),
        ("tick_s", np.float64),  # 0: no clock, see clock.py
        ("free_s", np.float64),  # when the last accepted packet has left, or its credit is complete
        ("to_next_loss", np.int64),  # packets until the next random loss
        ("random", np.uint64),
        ("forwarded", np.int64),
        ("dropped", np.int64),
        ("acks_forwarded", np.int64),
        ("acks_dropped", np.int64),
        ("special", np.int64),  # 1: losses are synchronised, or the link has a clock
        # synchronised losses: an overflow counts when it falls at least `hold_s` after the last that did
        ("synchronised", np.int64),
        ("hold_s", np.float64),
        ("hold_until_s", np.float64),
        ("overflows", np.int64),
        # of the whole run, kept with the first link: its progress,
        ("duration_s", np.float64),
        ("sample_s", np.float64),
        ("samples", np.int64),  # rows of samples that are written
        ("leaves", np.int64),  # of the winner tree; 0 before the run has begun
        ("trains", np.int64),
        ("events", np.int64),
        # used length of the shared arrays, the most that one flow may still request,
        ("ring_used", np.int64),
        ("acks_used", np.int64),
        ("access_used", np.int64),
        ("lost_used", np.int64),
        ("got_used", np.int64),
        ("ring_reserve", np.int64),
        ("acks_reserve", np.int64),
        ("access_reserve", np.int64),
        ("lost_reserve", np.int64),
        ("got_reserve", np.int64),
        ("log_size", np.int64),  # 0: events are not logged
        ("logged", np.int64),
        ("wants_room", np.int64),  # 1: an array must be enlarged before the run resumes
    ],
    align=True,
)

EVENT = np.dtype(
    [
        ("t_s", np.float64),
        ("flow", np.int64),
        ("kind", np.int64),
        ("cwnd_before", np.float64),
        ("cwnd_after", np.float64),
        ("w_max", np.float64),
        ("k_s", np.float64),
    ],
    align=True,
)
