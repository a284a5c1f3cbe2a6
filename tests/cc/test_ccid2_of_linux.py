"""What in Linux's CCID 2 halves its window without a loss on the path: the arithmetic of docs/ledger.md.

A model of a flow through one queue, from Linux 2.6.22.19 (``net/dccp`` of github.com/j0n3lson/linux-2.6.22.19-cs370). The
receiver keeps the Ack Vector (``ackvec.c``: dccp_ackvec_add, dccp_ackvec_throw_record, dccp_ackvec_check_rcv_ackno), the sender
the window (``ccids/ccid2.c``: ccid2_hc_tx_packet_recv, ccid2_new_ack, ccid2_congestion_event). Feature negotiation changes no
Ack Ratio (``feat.c``: dccp_feat_update), so both sides keep the 1 of dccp_init_sock (``proto.c``).
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

import pytest

LINK_PKTS_PER_S = 100e6 / (8 * 1500)
VECTOR_BYTES, RUN = 506, 63  # DCCP_MAX_ACKVEC_LEN; DCCP_ACKVEC_LEN_MASK: a byte stands for a packet and up to 63 more
MISSING = -1
NUMDUPACK = 3
SEQUENCE_WINDOW = 100  # DCCPF_INITIAL_SEQUENCE_WINDOW
MTU, IP, HEADER, ACK_FIELD = (
    1500,
    20,
    16,
    8,
)  # bytes; a data packet that acknowledges has eight more than one that does not
OPTIONS = 40  # reserved by dccp_sync_mss
ELAPSED = 4  # the option with the age of an Ack Vector
RTTS_MS = [25, 50, 100, 200]


@dataclass
class Receiver:
    ack_ratio: int = 1
    late_seat: bool = False  # whether a late packet is marked as received, as meant; dccp_ackvec_add marks it as it was
    vector: deque = field(default_factory=deque)  # runs, the newest first: of how many packets less one, or MISSING
    head: int = 0  # how many bytes were ever begun
    newest: int = -1
    records: deque = field(default_factory=deque)  # (number of the ACK, head when it was sent)
    data: int = 0
    acks: int = 0
    refused: int = 0  # packets that found the vector full

    def receive(self, seq, acked_ack):
        """The ACK that a packet brings about: its number, the newest packet and the vector; None without one."""
        while self.records and self.records[0][0] <= acked_ack:
            number, head = self.records.popleft()
            if number == acked_ack:  # what was acknowledged is forgotten, the byte in work included
                self.vector = deque(list(self.vector)[: self.head - head])
        if not self._added(seq):
            self.refused += 1
            return None
        self.data += 1
        if self.data < self.ack_ratio:
            return None
        self.data = 0
        self.acks += 1
        self.records.append((self.acks, self.head))
        return self.acks, self.newest, list(self.vector)

    def _added(self, seq):
        ahead = seq - self.newest
        if not self.vector:
            self.vector.append(0)  # in the byte that was forgotten; a gap before it is not noted
        elif ahead == 1 and self.vector[0] != MISSING and self.vector[0] < RUN:
            self.vector[0] += 1
        elif ahead > 0:
            if len(self.vector) + ahead > VECTOR_BYTES:
                return False
            for _ in range(ahead - 1):
                self._begin(MISSING)
            self._begin()
        else:
            if -ahead >= len(self.vector):  # what was forgotten counts as received before
                return False
            if self.late_seat:
                self.vector[-ahead] = 0  # a single late packet right behind the newest
            return True
        self.newest = seq
        return True

    def _begin(self, state=0):
        self.vector.appendleft(state)
        self.head += 1


@dataclass
class Sender:
    cwnd: int = 2
    ssthresh: float = float("inf")
    pipe: int = 0
    seq: int = 0
    sent: dict = field(default_factory=dict)  # by number: when, and whether it is acknowledged
    tail: int = 0
    newest: int = -1
    latest_ack: int = 0
    counted: int = 0
    last_event_s: float = 0.0
    events: int = 0
    lost: int = 0

    def send(self, at_s):
        self.sent[self.seq] = [at_s, False]
        self.pipe += 1
        self.seq += 1
        return self.seq - 1, self.latest_ack

    def acknowledge(self, at_s, number, newest, vector):
        self.latest_ack = number
        self.newest = max(self.newest, newest)
        seq, may_grow = newest, 1  # maxincr at an Ack Ratio of 1
        for run in vector:
            for each in range(seq, seq - max(run, 0) - 1, -1):
                if run != MISSING and each in self.sent and not self.sent[each][1]:
                    self.sent[each][1] = True
                    self.pipe -= 1
                    may_grow -= self._grown(may_grow)
            seq -= max(run, 0) + 1
            if seq < self.tail:
                break
        self._find_lost(at_s)
        while self.tail < self.seq and self.sent[self.tail][1]:
            del self.sent[self.tail]
            self.tail += 1

    def _grown(self, may_grow):
        self.counted += 1
        if self.counted < (2 if self.cwnd < self.ssthresh else self.cwnd) or not may_grow:
            return 0
        self.counted = 0
        self.cwnd += 1
        return 1

    def _find_lost(self, at_s):
        seq, above = min(self.newest, self.seq - 1), 0
        while seq >= self.tail and above < NUMDUPACK:
            above += self.sent[seq][1]
            seq -= 1
        if above < NUMDUPACK:
            return
        border = seq + 1
        for each in range(seq, self.tail - 1, -1):
            if not self.sent[each][1]:
                self.lost += 1
                self.pipe -= 1
                if self.sent[each][0] >= self.last_event_s:
                    self.cwnd = max(self.cwnd // 2, 1)
                    self.ssthresh, self.last_event_s = max(self.cwnd, 2), at_s
                    self.events += 1
            del self.sent[each]
        self.tail = max(self.tail, border)


@dataclass
class Run:
    sender: Sender
    receiver: Receiver
    dropped: int = 0
    longest_gap: int = 0  # most packets that the queue dropped in a row
    delivered: int = 0


def run(rtt_ms, duration_s, tick_s=0.0, swap_at=None, lost_ack=None, ack_ratio=1, late_seat=False):
    """One flow on the link with a buffer of one BDP. With ``tick_s`` it sends at ticks of the clock, else as ACKs allow.

    A packet and the next one may be swapped, and an ACK lost, by their numbers.
    """
    found = Run(Sender(), Receiver(ack_ratio, late_seat))
    rtt_s, events, n, free_s, gap = rtt_ms / 1e3, [], 0, 0.0, 0
    buffer_pkts = rtt_s * LINK_PKTS_PER_S

    def push(at_s, kind, what=()):
        nonlocal n
        n += 1
        heapq.heappush(events, (at_s, n, kind, what))

    def fill(at_s):
        nonlocal free_s, gap
        while found.sender.pipe < found.sender.cwnd:
            packet = found.sender.send(at_s)
            if (free_s - at_s) * LINK_PKTS_PER_S > buffer_pkts:
                found.dropped, gap = found.dropped + 1, gap + 1
                found.longest_gap = max(found.longest_gap, gap)
                continue
            free_s, gap = max(free_s, at_s) + 1 / LINK_PKTS_PER_S, 0
            late_s = 1.5 / LINK_PKTS_PER_S if packet[0] == swap_at else 0.0  # behind the next one
            push(free_s + late_s + rtt_s / 2, "data", packet)

    push(0.0, "tick")
    while events:
        at_s, _, kind, what = heapq.heappop(events)
        if at_s > duration_s:
            break
        if kind == "tick":
            fill(at_s)
            if tick_s:
                push(at_s + tick_s, "tick")
        elif kind == "data":
            found.delivered += 1
            ack = found.receiver.receive(*what)
            if ack and ack[0] != lost_ack:
                push(at_s + rtt_s / 2, "ack", ack)
        else:
            found.sender.acknowledge(at_s, *what)
            if not tick_s:
                fill(at_s)
    return found


@pytest.mark.parametrize("tick_s", [0.0, 0.004])  # of the ACKs; of a clock of 250 Hz
@pytest.mark.parametrize("rtt_ms", RTTS_MS)
def test_every_loss_that_the_sender_finds_is_a_drop_of_the_queue(rtt_ms, tick_s):
    """Slow start over the edge of the buffer and what follows: bursts, the clock and full vectors add no loss."""
    found = run(rtt_ms, 40 * rtt_ms / 1e3, tick_s)
    assert found.sender.events >= 1
    assert found.sender.lost == found.dropped > 0
    assert found.receiver.refused == 0


@pytest.mark.parametrize("rtt_ms", RTTS_MS)
def test_no_gap_leaves_the_sequence_window(rtt_ms):
    """dccp_update_gsr: a receiver takes what is up to three quarters of the window ahead."""
    assert run(rtt_ms, 25 * rtt_ms / 1e3, 0.004).longest_gap < 3 * SEQUENCE_WINDOW // 4


def test_an_ack_ratio_of_2_would_end_slow_start_at_once():
    """A byte that is forgotten takes packets with it that no ACK has named; so this code cannot have run with it."""
    found = run(25, 1.0, ack_ratio=2)
    assert found.dropped == 0
    assert found.sender.lost > 0
    assert found.sender.cwnd <= 4


def test_two_swapped_packets_halve_the_window():
    """The seat of a late packet keeps its state (dccp_ackvec_add); three duplicate ACKs, and TCP with them, forgive one."""
    swapped, meant = (run(100, 1.5, 0.004, swap_at=400, late_seat=late_seat).sender for late_seat in (False, True))
    assert (swapped.lost, swapped.events) == (1, 1)
    assert (meant.lost, meant.events) == (0, 0)


def test_a_lost_ack_halves_the_window_unless_another_of_its_burst_arrives():
    """Each data packet acknowledges the latest ACK, upon which the receiver forgets what that ACK said and what came since.

    So an ACK names the packets of one burst, those that carry the same acknowledgement, and no later ACK names them again.
    """
    acks = range(400, 440)
    of_acks, of_clock = (
        sum(run(100, 1.5, tick_s, lost_ack=number).sender.events for number in acks) for tick_s in (0.0, 0.004)
    )
    assert of_acks == pytest.approx(
        2 / 3 * len(acks), abs=1
    )  # slow start sends three packets for two ACKs, so two together
    assert 1 <= of_clock <= len(acks) // 10  # the last of each burst


def longest_vector_bytes():
    """Of the sender's own vector, on its ACKs, in a packet that is as large as dccp_sync_mss allows."""
    payload = MTU - IP - HEADER - OPTIONS
    return MTU - IP - HEADER - ACK_FIELD - ELAPSED - payload - 2


def test_the_senders_own_vector_leaves_room_for_the_data():
    """It is about the ACKs, each of which acknowledges a data packet that had it; so it is forgotten as often."""
    own = Receiver()
    window = [
        min(number // 2, int(2 * 0.2 * LINK_PKTS_PER_S)) for number in range(10_000)
    ]  # up to a full pipe at 200 ms
    sent = [own.receive(number, max(number - pkts, 0)) for number, pkts in enumerate(window)]
    assert max(len(vector) for _, _, vector in sent) == 1 < longest_vector_bytes()
