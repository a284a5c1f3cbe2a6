"""Packet-by-packet reference simulator of flows that share a drop-tail bottleneck, or one in each direction.

It trades speed for clarity: a heap of events, packets that are objects, a queue that holds them, a receiver
with its set of out-of-order sequence numbers and a sender with a SACK scoreboard and a retransmission queue.

A packet goes sender -> access link -> bottleneck -> receiver. All of the two-way propagation delay lies
between the receiver, right behind the bottleneck, and the sender.
Nothing overtakes: the packets of a flow arrive in the order of their transmission. A packet that three later
ones have passed is therefore certainly lost, and since the retransmission timer runs out only when no
acknowledgement can come any more, no sequence number ever arrives twice.

The two-way dumbbell has a second bottleneck for the other direction. A flow's data cross the one of its own
direction and half of the propagation delay, its ACKs the other one and the other half. A full queue drops
ACKs like data; the next ACK then covers what the dropped one said. The sender knows nothing but what ACKs
tell. When all ACKs of a window are gone, the timer may repeat a packet that had arrived: a duplicate.

An emulator with a clock, as Dummynet is, forwards and releases packets only at its ticks.

Times are in seconds from the start of the simulation, windows and queues in packets.
"""

import heapq
import itertools
import math
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

BITS_PER_BYTE = 8
QUICK_ACKS = 16  # with the packet out of order (Linux 2.6.22: TCP_MAX_QUICKACKS)
DUPLICATE_THRESHOLD = 3  # later arrivals that prove a loss (RFC 6675, DupThresh)
INITIAL_RTO_S = 1.0  # before the first RTT sample (RFC 6298, 2.1)
MAX_BACKOFF = 64
LINUX_HZ = 250  # clock ticks a second; a timer never expires early
LEAST_LINUX_TIMER_S = 0.002  # TCP_TIMEOUT_MIN_US
SEQUENCE_WINDOW_PKTS = 100  # of Linux's DCCP receiver
REVERSE_SEED = 0x9E3779B97F4A7C15  # XORed to the seed: random numbers of the reverse bottleneck
BUFFER_TOLERANCE = 1e-9  # of a service time: forgives rounding in the waiting time
TICK_TOLERANCE = 1e-6  # of a tick: what comes that much before a tick, or lacks that much of its credit, is in time

# With a clock, simultaneous events of the bottlenecks come first, then the flows in their order, and each flow's in this one
ARRIVAL, ACK, ACCESS, DELAYED_ACK, TIMER = range(5)


# --- congestion control ------------------------------------------------------------------------------------


@dataclass
class WindowState:
    """What a congestion control sees and changes."""

    cwnd_pkts: float
    ssthresh_pkts: float
    byte_counting: bool
    srtt_s: float = math.nan
    rttvar_s: float = math.nan
    rtt_min_s: float = math.inf
    counted_acks: int = 0  # towards the next packet of a whole window, or to the next packet less in rate halving


class CongestionControl(Protocol):
    """Growth of the window on an ACK, and the slow-start threshold after a loss."""

    def on_ack(self, state: WindowState, acked: int, acks: int, now: float) -> None:
        """Raise `state.cwnd_pkts` for `acks` ACKs that cover `acked` packets."""

    def on_loss(self, state: WindowState) -> None:
        """Set `state.ssthresh_pkts`; the simulator brings the window there."""


@dataclass(frozen=True)
class Aimd:
    """Slow start, then `increase_pkts` per round trip; a loss leaves `decrease_factor` of the window.

    The defaults are Reno (RFC 5681).
    """

    increase_pkts: float = 1.0
    decrease_factor: float = 0.5
    min_ssthresh_pkts: float = 2.0
    slow_start_pkts: float = 1.0  # CCID 2: 1/2 (RFC 4341, section 5)
    leaves_whole_packets: bool = False

    def on_ack(self, state: WindowState, acked: int, acks: int, now: float) -> None:
        count = acked if state.byte_counting else acks
        if state.cwnd_pkts < state.ssthresh_pkts:
            state.cwnd_pkts += self.slow_start_pkts * count
        else:
            state.cwnd_pkts += self.increase_pkts * count / state.cwnd_pkts

    def on_loss(self, state: WindowState) -> None:
        kept_pkts = self.decrease_factor * state.cwnd_pkts
        kept_pkts = math.floor(kept_pkts) if self.leaves_whole_packets else kept_pkts
        state.ssthresh_pkts = max(kept_pkts, self.min_ssthresh_pkts)


@dataclass(frozen=True)
class WholeCcid2:
    """CCID 2 of Linux (ccid2_new_ack, ccid2_congestion_event): a packet at a time."""

    def on_ack(self, state: WindowState, acked: int, acks: int, now: float) -> None:
        for _ in range(acked):
            state.counted_acks += 1
            if state.counted_acks >= (2 if state.cwnd_pkts < state.ssthresh_pkts else state.cwnd_pkts):
                state.cwnd_pkts += 1
                state.counted_acks = 0

    def on_loss(self, state: WindowState) -> None:
        state.ssthresh_pkts = max(state.cwnd_pkts // 2, 2)


@dataclass(frozen=True)
class WholeReno:
    """Reno of Linux 2.6.22 or Linux 6 (tcp_cong.c), whose window and count of ACKs are integers."""

    is_linux_6: bool = False

    def on_ack(self, state: WindowState, acked: int, acks: int, now: float) -> None:
        count = acked if state.byte_counting else acks
        if self.is_linux_6:
            self.on_ack_of_linux_6(state, count)
        elif state.cwnd_pkts <= state.ssthresh_pkts:
            state.counted_acks += count * int(state.cwnd_pkts)
            while state.counted_acks >= state.cwnd_pkts:
                state.counted_acks -= int(state.cwnd_pkts)
                state.cwnd_pkts += 1
        elif state.counted_acks + count > self.wanted_acks(state):
            state.cwnd_pkts += 1
            state.counted_acks = 0
        else:
            state.counted_acks += count

    def on_ack_of_linux_6(self, state: WindowState, count: int) -> None:
        """tcp_slow_start, without the rest of an ACK beyond the threshold; tcp_cong_avoid_ai."""
        if state.cwnd_pkts < state.ssthresh_pkts:
            state.cwnd_pkts = min(state.cwnd_pkts + count, state.ssthresh_pkts)
            return
        wanted = self.wanted_acks(state)
        if state.counted_acks >= wanted:
            state.counted_acks = 0
            state.cwnd_pkts += 1
        state.counted_acks += count
        while state.counted_acks >= wanted:
            state.counted_acks -= wanted
            state.cwnd_pkts += 1

    def wanted_acks(self, state: WindowState) -> float:
        return state.cwnd_pkts

    def on_loss(self, state: WindowState) -> None:
        state.ssthresh_pkts = max(state.cwnd_pkts // 2, 2)


@dataclass(frozen=True)
class WholeScalable(WholeReno):
    """Scalable TCP of Linux 2.6.22 (tcp_scalable.c), or with Linux 6's way of counting."""

    def wanted_acks(self, state: WindowState) -> float:
        return min(state.cwnd_pkts, 50)

    def on_loss(self, state: WindowState) -> None:
        state.ssthresh_pkts = max(state.cwnd_pkts - state.cwnd_pkts // 8, 2)


@dataclass
class Cubic:
    """CUBIC with its defaults of 2005 (Rhee and Xu; eqs. 1-4 of kozu2014); one object per flow.

    `beta` is the part that a loss cuts off. Growth is counted per acknowledged packet.
    """

    scale: float = 0.4  # C, packets per s^3
    beta: float = 0.2
    max_window_pkts: float = 0.0  # W_max
    epoch_start_s: float | None = None
    origin_pkts: float = 0.0  # the plateau
    plateau_after_s: float = 0.0  # K
    friendly_pkts: float = 0.0  # window of the Reno-like flow (eq. 3)

    def on_ack(self, state: WindowState, acked: int, acks: int, now: float) -> None:
        growth = acked if state.byte_counting else acks
        if state.cwnd_pkts < state.ssthresh_pkts:
            state.cwnd_pkts += growth
            return
        if self.epoch_start_s is None:
            self.epoch_start_s = now
            self.friendly_pkts = state.cwnd_pkts
            self.origin_pkts = max(self.max_window_pkts, state.cwnd_pkts)
            self.plateau_after_s = math.cbrt((self.origin_pkts - state.cwnd_pkts) / self.scale)
        ahead_s = now - self.epoch_start_s + state.rtt_min_s - self.plateau_after_s
        cubic_pkts = self.origin_pkts + self.scale * ahead_s**3
        self.friendly_pkts += 3 * self.beta / (2 - self.beta) * growth / state.cwnd_pkts
        missing_pkts = max(cubic_pkts - state.cwnd_pkts, 0.01, self.friendly_pkts - state.cwnd_pkts)
        state.cwnd_pkts += acked * min(1.0, missing_pkts / state.cwnd_pkts)

    def on_loss(self, state: WindowState) -> None:
        self.epoch_start_s = None
        converges_fast = state.cwnd_pkts < self.max_window_pkts  # eq. 4
        self.max_window_pkts = state.cwnd_pkts * ((2 - self.beta) / 2 if converges_fast else 1)
        state.ssthresh_pkts = max((1 - self.beta) * state.cwnd_pkts, 2.0)


# --- interface ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FlowSpec:
    """One flow. `cc` is 'reno', 'ccid2' or a `CongestionControl` of this flow's own.

    'ccid2' stands for Reno's rule, counted in packets, without retransmission (RFC 4341). With `stack` 'linux' only
    ACKs outside recovery that acknowledge more in order make the window grow, and 'reno' is the kernel's.
    """

    rtt_s: float  # two-way propagation delay
    cc: str | CongestionControl = "reno"
    direction: str = "forward"  # or 'reverse': the bottleneck that its data cross
    start_s: float = 0.0
    stop_s: float = math.inf  # no new data from here on; losses are still repaired
    size_pkts: float = math.inf
    access_bps: float = 0.0  # 0: infinitely fast
    access_queue_pkts: int = 1000
    access_jitter_s: float = 0.0  # greatest random delay on the access link
    rwnd_pkts: float = math.inf
    iw_pkts: float = 10
    initial_ssthresh_pkts: float = math.inf
    ack_every: int = 1
    delack_s: float = 0.04
    byte_counting: bool = False
    recovery: str = "sack"  # or 'newreno', 'reno'
    reduction: str = "immediate"  # or 'prr', 'rate_halving'
    halving_floor: float = 0.5  # part of ssthresh at which rate halving stops
    reliable: bool = True
    rto_min_s: float = 0.2
    stack: str = "text"  # or 'linux', 'linux_2_6_22', 'linux_6'
    rto: str | None = None  # 'rfc6298' or 'linux'; None: that of the stack

    def __post_init__(self) -> None:
        if self.recovery not in ("sack", "newreno", "reno"):
            raise ValueError(f"recovery is 'sack', 'newreno' or 'reno', not {self.recovery!r}")
        if self.reduction not in ("immediate", "prr", "rate_halving"):
            raise ValueError(f"reduction is 'immediate', 'prr' or 'rate_halving', not {self.reduction!r}")
        if self.stack not in ("text", "linux", "linux_2_6_22", "linux_6"):
            raise ValueError(f"stack is 'text', 'linux', 'linux_2_6_22' or 'linux_6', not {self.stack!r}")
        if self.rto not in (None, "rfc6298", "linux"):
            raise ValueError(f"rto is 'rfc6298', 'linux' or None, not {self.rto!r}")
        if self.direction not in ("forward", "reverse"):
            raise ValueError(f"direction is 'forward' or 'reverse', not {self.direction!r}")
        if isinstance(self.cc, str) and self.cc not in ("reno", "ccid2"):
            raise ValueError(f"cc is 'reno', 'ccid2' or an object, not {self.cc!r}")


@dataclass(frozen=True)
class Result:
    """What happened; every list has one entry per flow."""

    delivered_pkts: list[int]  # in order, handed to the application
    received_pkts: list[int]  # first arrivals
    duplicates: list[int]  # further arrivals, after timeouts for want of ACKs
    sent: list[int]  # transmissions handed to the access link
    retransmitted: list[int]
    drops: list[int]  # lost at the full buffer, after service or as the share of a synchronised loss
    in_flight: list[int]  # on the way when the simulation ended
    doomed: list[int]  # of these, the ones that would have been lost after service
    acks_sent: list[int]  # by the flow's receiver
    acks_received: list[int]
    ack_drops: list[int]
    acks_in_flight: list[int]
    reductions: list[list[tuple[float, float, float]]]  # (t, cwnd before, cwnd after) without timeouts
    timeouts: list[list[tuple[float, float, float]]]  # (t, cwnd before, 1)
    transmissions: list[list[tuple[float, int]]]  # (t, sequence number)
    sample_times_s: list[float]  # ends of the sampling intervals, common to all flows
    cwnd_samples_pkts: list[list[float]]
    delivered_samples_pkts: list[list[int]]  # delivered within each interval
    loss_events: list[list[tuple[float, int]]]  # per bottleneck: (t, flow whose packet met the full queue)
    shared_losses: list[list[float]]  # when the flow lost its share of another's event


def simulate(
    flows: Sequence[FlowSpec],
    capacity_bps: float,
    wire_bytes: float,
    buffer_pkts: float,
    duration_s: float,
    loss_rate: float = 0.0,
    jitter_s: float = 0.0,
    seed: int = 1,
    drop_nth: Collection[tuple[int, int]] = (),
    sample_s: float = 1.0,
    rng: random.Random | None = None,
    reverse_bps: float = 0.0,
    reverse_buffer_pkts: float = 1000.0,
    ack_bytes: float = 40.0,
    synchronised_losses: bool = False,
    tick_s: float = 0.0,
    chances: Sequence["Chance"] = (),
) -> Result:
    """Run `flows` over one bottleneck of `capacity_bps` whose buffer holds `buffer_pkts` waiting packets.

    `loss_rate` is the chance that a packet is lost after service, `jitter_s` the largest random addition to
    the propagation delay. `drop_nth` holds (flow, k): the k-th transmission (from 1) of that flow is lost
    after service. `rng` replaces the generator made from `seed`; its random() gives, in the order of entry, one
    number per packet for the loss (if any) and one for the jitter (if any). An event at the very end of a
    sampling interval, or of the run, belongs to it.

    With `reverse_bps` there is a second bottleneck of that rate for `reverse` flows and for the ACKs of
    `forward` ones, whose own ACKs of `ack_bytes` share the first; both buffers are counted in data packets.
    `synchronised_losses`: an overflow costs every other running flow of its direction a packet as well.
    `tick_s`: the bottlenecks and the propagation delays belong to an emulator with that clock.
    `chances` replaces the random losses and delays of each bottleneck.
    """
    if not reverse_bps and any(spec.direction == "reverse" for spec in flows):
        raise ValueError("a reverse flow needs reverse_bps > 0")
    events = EventQueue(by_order=tick_s > 0 or any(spec.stack == "linux_6" for spec in flows))
    chances = chances or (
        Chance(rng or random.Random(seed), loss_rate, jitter_s),
        Chance(random.Random(seed ^ REVERSE_SEED), loss_rate, jitter_s),
    )
    kind, clock = (Emulator, (tick_s,)) if tick_s else (Bottleneck, ())
    bottlenecks = {"forward": kind(events, capacity_bps, wire_bytes, ack_bytes, buffer_pkts, chances[0], *clock)}
    if reverse_bps:
        shared = (wire_bytes, ack_bytes, reverse_buffer_pkts, chances[1], *clock)
        bottlenecks["reverse"] = kind(events, reverse_bps, *shared)
    senders = []
    for i, spec in enumerate(flows):
        bottleneck = bottlenecks[spec.direction]
        ack_link = bottlenecks["forward" if spec.direction == "reverse" else "reverse"] if reverse_bps else None
        spacing_s = BITS_PER_BYTE * wire_bytes / spec.access_bps if spec.access_bps else 0.0
        access = AccessLink(events, bottleneck, spacing_s, spec.access_queue_pkts, spec.access_jitter_s)
        sender = Sender(events, i, spec, access, ack_link, {k for flow, k in drop_nth if flow == i})
        events.at(spec.start_s, sender.start, order=(i, TIMER))
        senders.append(sender)
    if synchronised_losses:
        hold_s = max(spec.rtt_s for spec in flows)
        hold_s += sum((link.buffer_pkts + 1) * link.service_s for link in bottlenecks.values())
        for link in bottlenecks.values():
            sharers = [sender for sender in senders if sender.access.bottleneck is link]
            link.shared_losses = SharedLosses(events, sharers, hold_s)

    sample_times_s = [k * sample_s for k in range(1, math.floor(duration_s / sample_s + 1e-9) + 1)]
    cwnds: list[list[float]] = [[] for _ in flows]
    delivered: list[list[int]] = [[0] for _ in flows]
    for time_s in sample_times_s:
        events.run(time_s)
        for i, sender in enumerate(senders):
            cwnds[i].append(sender.window.cwnd_pkts)
            delivered[i].append(sender.receiver.delivered_pkts)
    events.run(duration_s)

    travelling = {*events.pending_cargo(), *itertools.chain(*(link.waiting for link in bottlenecks.values()))}
    packets = [cargo for cargo in travelling if isinstance(cargo, Packet) and not cargo.is_counted]
    data_senders = [packet.sender for packet in packets]
    doomed_senders = [packet.sender for packet in packets if packet.is_doomed]
    ack_senders = [cargo.sender for cargo in travelling if isinstance(cargo, Ack)]
    synchronisers = [link.shared_losses for link in bottlenecks.values() if link.shared_losses]
    return Result(
        delivered_pkts=[s.receiver.delivered_pkts for s in senders],
        received_pkts=[s.receiver.received_pkts for s in senders],
        duplicates=[s.receiver.duplicates for s in senders],
        sent=[len(s.transmissions) for s in senders],
        retransmitted=[s.retransmitted for s in senders],
        drops=[s.drops for s in senders],
        in_flight=[data_senders.count(s) for s in senders],
        doomed=[doomed_senders.count(s) for s in senders],
        acks_sent=[s.receiver.acks_sent for s in senders],
        acks_received=[s.acks_received for s in senders],
        ack_drops=[s.receiver.ack_drops for s in senders],
        acks_in_flight=[ack_senders.count(s) for s in senders],
        reductions=[s.reductions for s in senders],
        timeouts=[s.timeouts for s in senders],
        transmissions=[s.transmissions for s in senders],
        sample_times_s=sample_times_s,
        cwnd_samples_pkts=cwnds,
        delivered_samples_pkts=[[b - a for a, b in itertools.pairwise(totals)] for totals in delivered],
        loss_events=[[(t, senders.index(s)) for t, s in shared.events_seen] for shared in synchronisers],
        shared_losses=[s.shared_losses for s in senders],
    )


# --- network -----------------------------------------------------------------------------------------------


class EventQueue:
    """Future events; simultaneous ones happen in the order in which they were scheduled.

    `by_order`: first by their `order`, because many events of different flows are simultaneous at the ticks of a clock.
    """

    def __init__(self, by_order: bool) -> None:
        self.now_s = 0.0
        self.by_order = by_order
        self._heap: list[tuple[float, tuple[int, int], int, Callable[..., None], tuple]] = []
        self._serial = itertools.count()

    def at(self, time_s: float, action: Callable[..., None], *args: object, order: tuple[int, int] = (-1, 0)) -> None:
        order = order if self.by_order else (0, 0)
        heapq.heappush(self._heap, (time_s, order, next(self._serial), action, args))

    def run(self, until_s: float) -> None:
        """Let everything up to and including `until_s` happen."""
        while self._heap and self._heap[0][0] <= until_s:
            self.now_s, _, _, action, args = heapq.heappop(self._heap)
            action(*args)

    def pending_cargo(self) -> list["Packet | Ack"]:
        return [arg for *_, args in self._heap for arg in args if isinstance(arg, Packet | Ack)]


@dataclass(eq=False, slots=True)
class Packet:
    """One transmission of a sequence number."""

    sender: "Sender"
    seq: int
    order: int  # place among all transmissions of the flow, from 1
    handed_s: float  # when the sender handed it to the access link
    is_retransmission: bool
    asked_ratio: int  # the receiver shall acknowledge every so many packets from now on
    is_duplicate: bool = False  # the receiver has it already
    is_doomed: bool = False  # is lost, or will be after service
    is_counted: bool = False  # the receiver has it


@dataclass(eq=False, slots=True)
class Ack:
    """What a receiver tells its sender."""

    sender: "Sender"
    rcv_nxt: int
    arrived: list[Packet]  # since the last ACK that was not dropped, in the order of arrival
    newest_handed_s: float  # when the packet that arrived last was handed over


class Chance:
    """The random losses and delays of what crosses one bottleneck, all from one generator."""

    def __init__(self, rng: random.Random, loss_rate: float, jitter_s: float):
        self.rng = rng
        self.loss_rate = loss_rate
        self.jitter_s = jitter_s

    def loses(self) -> bool:
        """Asked as a data packet enters the queue."""
        return self.loss_rate > 0 and self.rng.random() < self.loss_rate

    def delay_s(self) -> float:
        """Asked as a data packet leaves the bottleneck."""
        return self.jitter_s * self.rng.random()

    def access_delay_s(self, longest_s: float) -> float:
        """Asked as a data packet is handed to an access link with jitter."""
        return longest_s * self.rng.random()


class AccessLink:
    """Spaces a sender's packets by the time that one takes on its own link, and may delay each at random."""

    def __init__(
        self, events: EventQueue, bottleneck: "Bottleneck", spacing_s: float, queue_pkts: int, jitter_s: float
    ):
        self.events = events
        self.bottleneck = bottleneck
        self.spacing_s = spacing_s
        self.queue_pkts = queue_pkts
        self.jitter_s = jitter_s if spacing_s else 0.0  # an infinitely fast link has none
        self.exit_times_s: deque[float] = deque()  # of the packets that still wait
        self.free_s = -math.inf
        self.last_exit_s = -math.inf

    def is_full(self) -> bool:
        while self.exit_times_s and self.exit_times_s[0] <= self.events.now_s:
            self.exit_times_s.popleft()
        return len(self.exit_times_s) >= self.queue_pkts

    def carry(self, packet: Packet) -> None:
        exit_s = max(self.events.now_s, self.free_s)
        self.free_s = exit_s + self.spacing_s
        if self.jitter_s:
            exit_s += self.bottleneck.chance.access_delay_s(self.jitter_s)
        self.last_exit_s = max(exit_s, self.last_exit_s)  # jitter must not reorder
        if self.last_exit_s > self.events.now_s:
            self.exit_times_s.append(self.last_exit_s)
            self.events.at(self.last_exit_s, self._exit, packet, order=(packet.sender.place, ACCESS))
        else:
            self._exit(packet)

    def _exit(self, packet: Packet) -> None:
        if not packet.sender.is_old_linux:  # a packet that waits here is not sent yet
            packet.sender.last_activity_s = self.events.now_s
        self.bottleneck.enter(packet)


class SharedLosses:
    """Synchronised losses of one bottleneck: an overflow costs each of its flows one packet."""

    def __init__(self, events: EventQueue, senders: "Sequence[Sender]", hold_s: float):
        self.events = events
        self.senders = senders
        self.hold_s = hold_s
        self.until_s = -math.inf  # overflows before this belong to the last event
        self.debtors: set[Sender] = set()  # their next packet is their share
        self.events_seen: list[tuple[float, Sender]] = []

    def takes(self, packet: Packet) -> bool:
        """Whether the packet is its flow's share of an event."""
        if packet.is_duplicate or packet.sender not in self.debtors:
            return False
        self.debtors.remove(packet.sender)
        packet.sender.shared_losses.append(self.events.now_s)
        return True

    def on_overflow(self, packet: Packet) -> None:
        now_s = self.events.now_s
        if packet.is_duplicate or now_s < self.until_s:
            return
        self.until_s = now_s + self.hold_s
        self.events_seen.append((now_s, packet.sender))
        self.debtors.update(s for s in self.senders if s.has_started and s is not packet.sender)


class Bottleneck:
    """Drop-tail FIFO for data packets and ACKs, followed by random loss of data and the propagation delay."""

    def __init__(
        self,
        events: EventQueue,
        rate_bps: float,
        wire_bytes: float,
        ack_bytes: float,
        buffer_pkts: float,
        chance: Chance,
    ):
        self.events = events
        self.service_s = BITS_PER_BYTE * wire_bytes / rate_bps
        self.wire_bytes = wire_bytes
        self.ack_service_s = BITS_PER_BYTE * ack_bytes / rate_bps
        self.buffer_pkts = buffer_pkts
        self.chance = chance
        self.shared_losses: SharedLosses | None = None
        self.waiting: deque[Packet | Ack] = deque()
        self.waiting_acks = 0
        self.is_busy = False
        self.departure_s = 0.0  # of what is in service

    def waiting_time_s(self) -> float:
        """How long a packet that entered now would wait for its service."""
        if not self.is_busy:
            return 0.0
        waiting_pkts = len(self.waiting) - self.waiting_acks
        work_s = waiting_pkts * self.service_s + self.waiting_acks * self.ack_service_s
        return self.departure_s - self.events.now_s + work_s

    def is_full(self) -> bool:
        return self.waiting_time_s() > (self.buffer_pkts + BUFFER_TOLERANCE) * self.service_s

    def enter(self, packet: Packet) -> None:
        """A data packet queues, or is dropped."""
        if self.shared_losses and self.shared_losses.takes(packet):
            self._drop(packet)
            return
        if self.is_full():
            if self.shared_losses:
                self.shared_losses.on_overflow(packet)
            self._drop(packet)
            return
        packet.is_doomed = self.chance.loses() or packet.order in packet.sender.forced_drops
        if packet.is_doomed:
            packet.sender.on_doom()
        self._queue(packet)

    def enter_ack(self, ack: Ack) -> bool:
        """An ACK queues. False: the queue is full, it is dropped."""
        if self.is_full():
            return False
        self._queue(ack)
        return True

    def _drop(self, packet: Packet) -> None:
        packet.sender.drops += 1
        packet.is_doomed = True
        packet.sender.on_doom()

    def _queue(self, cargo: Packet | Ack) -> None:
        self.waiting.append(cargo)
        self.waiting_acks += isinstance(cargo, Ack)
        if not self.is_busy:
            self._serve_next()

    def _serve_next(self) -> None:
        self.is_busy = bool(self.waiting)
        if self.is_busy:
            cargo = self.waiting.popleft()
            is_ack = isinstance(cargo, Ack)
            self.waiting_acks -= is_ack
            self.departure_s = self.events.now_s + (self.ack_service_s if is_ack else self.service_s)
            self.events.at(self.departure_s, self._depart_ack if is_ack else self._depart, cargo)

    def _depart(self, packet: Packet) -> None:
        if packet.is_doomed:
            packet.sender.drops += 1
        else:
            receiver = packet.sender.receiver
            arrival_s = self.after(receiver.data_delay_s) + self.chance.delay_s()
            receiver.last_arrival_s = max(arrival_s, receiver.last_arrival_s)  # jitter must not reorder
            counted_s = max(receiver.last_arrival_s - self.delay_s(receiver.back_s), self.events.now_s)
            place = packet.sender.place
            self.events.at(counted_s, receiver.count, packet, order=(place, ARRIVAL))
            self.events.at(receiver.last_arrival_s, receiver.arrive, packet, order=(place, ARRIVAL))
        self._serve_next()

    def _depart_ack(self, ack: Ack) -> None:
        self.events.at(self.after(ack.sender.spec.rtt_s / 2), ack.sender.on_ack, ack, order=(ack.sender.place, ACK))
        self._serve_next()

    def after(self, delay_s: float) -> float:
        """When what departs now has been delayed by `delay_s`."""
        return self.events.now_s + delay_s

    def delay_s(self, delay_s: float) -> float:
        """What the path makes of a delay."""
        return delay_s


class Emulator(Bottleneck):
    """A bottleneck with a clock, after Dummynet (FreeBSD, ip_dummynet.c): ready_event, dummynet_io, config_pipe.

    While something waits, every tick adds what the rate allows in a tick to a credit, in bits; at each tick all that the
    credit covers departs. What is over is lost with the last packet. The delay line knows whole ticks alone.
    """

    def __init__(
        self,
        events: EventQueue,
        rate_bps: float,
        wire_bytes: float,
        ack_bytes: float,
        buffer_pkts: float,
        chance: Chance,
        tick_s: float,
    ):
        super().__init__(events, rate_bps, wire_bytes, ack_bytes, buffer_pkts, chance)
        self.rate_bps = rate_bps
        self.bits = {Packet: BITS_PER_BYTE * wire_bytes, Ack: BITS_PER_BYTE * ack_bytes}
        self.tick_s = tick_s
        self.bits_per_tick = rate_bps * tick_s
        self.credit_bits = 0.0
        self.credited_tick = 0  # the tick up to which the credit counts

    def _whole_ticks(self, time_s: float) -> int:
        return math.floor(time_s / self.tick_s + TICK_TOLERANCE)

    def waiting_time_s(self) -> float:
        if not self.waiting:
            return 0.0
        since = self._whole_ticks(self.events.now_s) - self.credited_tick
        bits = sum(self.bits[type(cargo)] for cargo in self.waiting)
        return (bits - self.credit_bits - since * self.bits_per_tick) / self.rate_bps

    def _queue(self, cargo: Packet | Ack) -> None:
        self.waiting.append(cargo)
        if len(self.waiting) == 1:
            self.credit_bits = 0.0
            self.credited_tick = self._whole_ticks(self.events.now_s)
            self._wait_for_credit()

    def _wait_for_credit(self) -> None:
        missing_bits = self.bits[type(self.waiting[0])] - self.credit_bits
        ticks = math.ceil(missing_bits / self.bits_per_tick - TICK_TOLERANCE)
        self.events.at((self.credited_tick + ticks) * self.tick_s, self._forward, self.credited_tick + ticks)

    def _forward(self, tick: int) -> None:
        self.credit_bits += (tick - self.credited_tick) * self.bits_per_tick
        self.credited_tick = tick
        spare_bits = TICK_TOLERANCE * self.bits_per_tick
        while self.waiting and self.bits[type(self.waiting[0])] <= self.credit_bits + spare_bits:
            cargo = self.waiting.popleft()
            self.credit_bits -= self.bits[type(cargo)]
            (self._depart if isinstance(cargo, Packet) else self._depart_ack)(cargo)
        if self.waiting:
            self._wait_for_credit()

    def _serve_next(self) -> None:
        """What departs next waits for the clock."""

    def after(self, delay_s: float) -> float:
        return (self.credited_tick + self._whole_ticks(delay_s)) * self.tick_s

    def delay_s(self, delay_s: float) -> float:
        return self._whole_ticks(delay_s) * self.tick_s


class Receiver:
    """Puts packets in order and acknowledges them, some of them late.

    Without `ack_link` the receiver is right behind the bottleneck, and what it does with a packet is worked out when its
    ACK is due at the sender, the whole RTT later; it is counted when it gets it.
    """

    def __init__(self, events: EventQueue, sender: "Sender", ack_link: Bottleneck | None):
        self.events = events
        self.sender = sender
        self.ack_link = ack_link
        self.data_delay_s = sender.spec.rtt_s / 2 if ack_link else sender.spec.rtt_s
        self.back_s = 0.0 if ack_link else sender.spec.rtt_s  # the part of that delay after the receiver
        self.early: set[int] = set()  # counted beyond a hole
        self.rcv_nxt = 0  # unreliable flows: one more than the newest
        self.ack_every = sender.spec.ack_every
        self.quick_acks = self._quick_acks()
        self.out_of_order: set[int] = set()
        self.unacked = 0  # arrived since the last ACK, which is delayed
        self.unheard: list[Packet] = []  # arrived since the last ACK that was not dropped
        self.newest_handed_s = math.nan
        self.acks_sent = 0
        self.ack_drops = 0
        self.received_pkts = 0
        self.duplicates = 0
        self.delivered_pkts = 0
        self.last_arrival_s = 0.0  # of a packet that is already on its way

    def _quick_acks(self) -> int:
        """Packets of which each makes Linux's window grow by two, up to the flow's, and is acknowledged at once."""
        spec = self.sender.spec
        is_linux = spec.stack in ("linux_2_6_22", "linux_6")
        if not is_linux or not self.sender.is_reliable or math.isinf(spec.rwnd_pkts):
            return 0
        first_pkts = 65_535 / self.sender.access.bottleneck.wire_bytes if spec.stack == "linux_6" else 4
        return max(math.floor((spec.rwnd_pkts - first_pkts) / 2), 0)

    def arrive(self, packet: Packet) -> None:
        spec = self.sender.spec
        self.sender.arriving -= 1
        self.newest_handed_s = packet.handed_s
        self.ack_every = packet.asked_ratio
        if packet.is_duplicate:
            assert packet.seq < self.rcv_nxt, f"packet {packet.seq} is no duplicate"
            self.duplicates += 1
            self._acknowledge()
            return
        if self.sender.is_old_linux and packet.seq != self.rcv_nxt:
            self.quick_acks = max(self.quick_acks, QUICK_ACKS)
        elif self.quick_acks > 0:
            self.quick_acks -= 1
            self.ack_every = 1 if self.quick_acks else packet.asked_ratio
        meets_no_hole = packet.seq == self.rcv_nxt and not self.out_of_order
        self._accept(packet.seq)
        self.unacked += 1
        self.unheard.append(packet)
        may_wait = meets_no_hole or not self.sender.is_reliable
        if not may_wait or self.unacked >= self.ack_every:
            self._acknowledge()
        elif self.unacked == 1:
            due_s = self.events.now_s + spec.delack_s
            self.events.at(due_s, self._delack_timer, self.acks_sent, order=(self.sender.place, DELAYED_ACK))

    def count(self, packet: Packet) -> None:
        """The packet is there."""
        packet.is_counted = True
        if packet.is_duplicate:
            return
        self.received_pkts += 1
        if not self.sender.is_reliable:
            self.delivered_pkts += 1
            return
        self.early.add(packet.seq)
        while self.delivered_pkts in self.early:
            self.early.remove(self.delivered_pkts)
            self.delivered_pkts += 1

    def _accept(self, seq: int) -> None:
        assert seq >= self.rcv_nxt and seq not in self.out_of_order, f"packet {seq} arrived twice"
        if not self.sender.is_reliable:
            self.rcv_nxt = seq + 1
            return
        self.out_of_order.add(seq)
        while self.rcv_nxt in self.out_of_order:
            self.out_of_order.remove(self.rcv_nxt)
            self.rcv_nxt += 1

    def _delack_timer(self, acks_sent: int) -> None:
        if acks_sent == self.acks_sent:  # no ACK since the timer was set
            self._acknowledge()

    def _acknowledge(self) -> None:
        """Tell the sender all that it has not heard of yet."""
        self.acks_sent += 1
        self.unacked = 0
        ack = Ack(self.sender, self.rcv_nxt, self.unheard, self.newest_handed_s)
        self.sender.acks_coming += 1
        if self.ack_link is None:
            self.unheard = []
            self.sender.on_ack(ack)
        elif self.ack_link.enter_ack(ack):
            self.unheard = []
        else:
            self.ack_drops += 1
            self.sender.on_ack_drop()


# --- sender ------------------------------------------------------------------------------------------------


class Phase(Enum):
    OPEN = "no known loss"
    RECOVERY = "fast recovery"
    LOSS = "after a timeout"


class Sender:
    """Window, scoreboard, retransmission queue and timer of one flow."""

    def __init__(
        self,
        events: EventQueue,
        place: int,
        spec: FlowSpec,
        access: AccessLink,
        ack_link: Bottleneck | None,
        forced_drops: set[int],
    ):
        is_ccid2 = spec.cc == "ccid2"
        self.events = events
        self.place = place  # among the flows
        self.spec = spec
        self.access = access
        self.forced_drops = forced_drops
        self.is_reliable = spec.reliable and not is_ccid2
        self.receiver = Receiver(events, self, ack_link)
        texts = Aimd(slow_start_pkts=0.5, leaves_whole_packets=spec.stack != "text") if is_ccid2 else Aimd()
        is_linux_6 = spec.stack == "linux_6"
        named = texts if spec.stack == "text" or is_ccid2 else WholeReno(is_linux_6)
        self.is_linux_ccid2 = is_ccid2 and spec.stack in ("linux_2_6_22", "linux_6")
        if self.is_linux_ccid2:
            named = WholeCcid2()
        self.cc: CongestionControl = named if isinstance(spec.cc, str) else spec.cc
        self.window = WindowState(
            cwnd_pkts=float(spec.iw_pkts),
            ssthresh_pkts=spec.initial_ssthresh_pkts,
            byte_counting=spec.byte_counting or is_ccid2,
        )
        self.has_started = False

        # scoreboard
        self.una = 0
        self.snd_nxt = 0
        self.in_flight: dict[int, Packet] = {}  # by seq, in transmission order; unknown losses and arrivals included
        self.newest_arrived: list[int] = []  # the highest orders that have arrived
        self.sacked: set[int] = set()  # arrived beyond a hole
        self.has_rack = spec.stack == "linux_6" and spec.recovery == "sack" and self.is_reliable
        self.newest_rtt_s = math.nan
        self.reordering_s = math.inf  # when RACK's timer expires
        self.lost: set[int] = set()  # known to be lost, not arrived since
        self.given_up: set[int] = set()  # of these, lost again: only a timeout or a new hole has them sent again
        self.retransmit_queue: deque[int] = deque()

        # recovery
        self.phase = Phase.OPEN
        self.recover_seq = 0
        self.has_free_retransmission = False  # one may go out whatever the window says
        self.is_stuck = False  # a retransmission was lost and only the timer can tell
        self.recover_fs_pkts = 0  # RFC 6937: RecoverFS, prr_delivered, prr_out
        self.prr_delivered_pkts = 0
        self.prr_out_pkts = 0
        self.last_reduction_order = 0  # CCID2: transmissions before the last reduction
        self.has_poll = False  # CCID 2 of Linux 2.6.22: a tick is awaited
        self.is_old_linux = spec.stack == "linux_2_6_22" and self.is_reliable
        self.sends_at_ticks = spec.stack == "linux_2_6_22" and is_ccid2
        self.last_reduction_tick = -1
        self.asked_ratio = spec.ack_every  # what the last packets asked for, and the first that did
        self.asked_seq = -1
        self.cwr_seq = 0  # no second local congestion event before this is acknowledged

        # retransmission timer
        self.arriving = 0  # transmissions that will arrive, as far as is decided
        self.acks_coming = 0  # ACKs on the way
        self.backoff = 1
        self.last_activity_s = 0.0  # last ACK or transmission
        self.timer_s = math.inf  # when it is looked at next; it may find nothing to do then

        # record
        self.transmissions: list[tuple[float, int]] = []
        self.reductions: list[tuple[float, float, float]] = []
        self.timeouts: list[tuple[float, float, float]] = []
        self.retransmitted = 0
        self.drops = 0
        self.acks_received = 0
        self.shared_losses: list[float] = []

    @property
    def pipe_pkts(self) -> int:
        """Packets that count against the window."""
        if self.phase is Phase.RECOVERY and self.spec.recovery != "sack":
            return len(self.in_flight) + len(self.retransmit_queue)
        return len(self.in_flight) + len(self.given_up)

    @property
    def rto_s(self) -> float:
        if math.isnan(self.window.srtt_s):
            return INITIAL_RTO_S
        variation_s = 4 * self.window.rttvar_s
        own_law = "rfc6298" if self.spec.cc == "ccid2" and self.spec.stack != "linux_6" else self.spec.stack
        if (self.spec.rto or own_law).startswith("linux"):
            # net/ipv4/tcp_input.c: tcp_rtt_estimator keeps rttvar (four deviations) at TCP_RTO_MIN or more; tcp_set_rto adds it
            return self.window.srtt_s + max(variation_s, self.spec.rto_min_s)
        return max(self.spec.rto_min_s, self.window.srtt_s + variation_s)

    def start(self) -> None:
        self.has_started = True
        self._send()

    # --- an acknowledgement ---

    def on_ack(self, ack: Ack) -> None:
        """Handle an ACK and the arrivals that it covers."""
        self.acks_coming -= 1
        self.acks_received += 1
        has_una_advanced = ack.rcv_nxt > self.una
        # Linux 6 judges the state after this ACK (tcp_cong_control), 2.6.22 the state before it
        is_open = self.phase is not Phase.RECOVERY or self.spec.stack == "linux_6"
        may_grow = self.spec.stack == "text" or (has_una_advanced and is_open)
        self.una = ack.rcv_nxt
        if has_una_advanced or not self.is_old_linux:
            self.last_activity_s = self.events.now_s
            self.backoff = 1
        for packet in ack.arrived:
            is_known = self.in_flight.pop(packet.seq, None) is packet
            assert is_known or not self.is_reliable, f"ACK of {packet.seq}, which is not in flight"
            self.lost.discard(packet.seq)
        self.newest_rtt_s = self.events.now_s - ack.newest_handed_s
        self._update_rtt(self.newest_rtt_s)

        self.sacked.update(packet.seq for packet in ack.arrived)
        self.sacked = {seq for seq in self.sacked if seq >= self.una}
        new_losses = self._detect_losses(ack.arrived)
        if self.is_reliable:
            self._update_recovery(has_una_advanced)
        elif self.is_linux_ccid2:
            self._update_linux_ccid2(len(ack.arrived), new_losses)
            may_grow = False  # it has grown
        else:
            self._update_ccid2(new_losses)
        if self.phase is not Phase.RECOVERY:
            if may_grow and self.window.cwnd_pkts <= self.spec.rwnd_pkts:
                self.cc.on_ack(self.window, acked=len(ack.arrived), acks=1, now=self.events.now_s)
        elif self.spec.reduction == "rate_halving":
            self._halve_rate()
        elif self.spec.reduction == "prr":
            self._reduce_proportionally(len(ack.arrived), has_una_advanced and not new_losses)
        self._send()
        self._set_timer_if_stalled()

    def _update_rtt(self, rtt_s: float) -> None:
        """RFC 6298, section 2."""
        window = self.window
        if math.isnan(window.srtt_s):
            window.srtt_s, window.rttvar_s = rtt_s, rtt_s / 2
        else:
            window.rttvar_s = 0.75 * window.rttvar_s + 0.25 * abs(window.srtt_s - rtt_s)
            window.srtt_s = 0.875 * window.srtt_s + 0.125 * rtt_s
        window.rtt_min_s = min(window.rtt_min_s, rtt_s)

    def _detect_losses(self, arrived: list[Packet]) -> list[Packet]:
        """Find the transmissions that later ones have proved lost, and queue them for retransmission."""
        orders = [*self.newest_arrived, *(packet.order for packet in arrived)]
        self.newest_arrived = sorted(orders)[-DUPLICATE_THRESHOLD:]
        passed = self._overdue() if self.has_rack else self._passed_by_three()
        sees_lost_retransmissions = self.spec.recovery == "sack"
        losses = [p for p in passed if sees_lost_retransmissions or not p.is_retransmission]
        self.is_stuck = len(losses) < len(passed)
        for packet in losses:
            del self.in_flight[packet.seq]
            if self.is_reliable:
                self.lost.add(packet.seq)
                self.retransmit_queue.append(packet.seq)
                self._give_up_if_lost_again(packet)
        return losses

    def _give_up_if_lost_again(self, packet: Packet) -> None:
        """Linux 2.6.22 (tcp_sacktag_write_queue with its hint) sees lost retransmissions when a new hole changes the SACKs."""
        if not self.is_old_linux or self.spec.recovery != "sack":
            return
        if packet.is_retransmission:
            self.given_up.add(packet.seq)
        elif self.phase is Phase.RECOVERY:
            self.given_up.clear()

    def _passed_by_three(self) -> list[Packet]:
        if len(self.newest_arrived) < DUPLICATE_THRESHOLD:
            return []
        third_newest = self.newest_arrived[0]
        return list(itertools.takewhile(lambda p: p.order < third_newest, self.in_flight.values()))

    def _overdue(self) -> list[Packet]:
        """RACK (RFC 8985, section 6.2) with the constants of Linux 6.1; a timer is set for those that are not yet overdue."""
        recovers = self.phase is not Phase.OPEN and self.una < self.recover_seq
        is_sure = recovers or len(self.sacked) >= DUPLICATE_THRESHOLD
        window_s = 0.0 if is_sure else min(self.window.rtt_min_s / 4, self.window.srtt_s)
        newest = self.newest_arrived[-1] if self.newest_arrived else -1
        overdue, self.reordering_s = [], math.inf
        for packet in itertools.takewhile(lambda p: p.order < newest, self.in_flight.values()):
            left_s = self.newest_rtt_s + window_s - (self.events.now_s - packet.handed_s)
            if left_s <= 0:
                overdue.append(packet)
                continue
            ticks = math.floor(LINUX_HZ * self.events.now_s) + math.ceil(LINUX_HZ * (left_s + LEAST_LINUX_TIMER_S)) + 1
            self.reordering_s = ticks / LINUX_HZ
        if math.isfinite(self.reordering_s):
            self.events.at(self.reordering_s, self._on_reordering_timer, self.reordering_s, order=(self.place, TIMER))
        return overdue

    def _on_reordering_timer(self, set_for_s: float) -> None:
        if set_for_s != self.reordering_s:  # an ACK has changed it since
            return
        self._detect_losses([])
        self._enter_recovery()
        if self.spec.reduction == "prr":
            self._reduce_proportionally(1, is_in_order=False)
        self._send()
        self._set_timer_if_stalled()

    def _update_recovery(self, has_una_advanced: bool) -> None:
        is_complete = self.una >= self.recover_seq
        ends_recovery = is_complete or (self.spec.recovery == "reno" and has_una_advanced)
        if self.phase is Phase.RECOVERY and ends_recovery:
            self.phase = Phase.OPEN
            self.has_free_retransmission = False
            reached_pkts = self.window.cwnd_pkts if self.spec.reduction == "rate_halving" else math.inf
            self.window.cwnd_pkts = min(reached_pkts, self.window.ssthresh_pkts)
        elif self.phase is Phase.LOSS and is_complete:
            self.phase = Phase.OPEN

        if self.phase is Phase.OPEN and self.lost:
            self._enter_recovery()
        elif self.phase is Phase.RECOVERY and self.spec.recovery == "newreno" and has_una_advanced:
            self.has_free_retransmission = True  # partial ACK (RFC 6582)

    def _enter_recovery(self) -> None:
        cwnd_before_pkts = self.window.cwnd_pkts
        self.cc.on_loss(self.window)
        self.reductions.append((self.events.now_s, cwnd_before_pkts, self.window.ssthresh_pkts))
        self.phase = Phase.RECOVERY
        self.recover_seq = self.snd_nxt
        self.has_free_retransmission = bool(self.retransmit_queue)
        if self.spec.reduction == "immediate":
            self.window.cwnd_pkts = self.window.ssthresh_pkts
        self.recover_fs_pkts = len(self.in_flight) + len(self.retransmit_queue)
        if self.has_rack:
            self.recover_fs_pkts = math.floor(cwnd_before_pkts)  # Linux: prior_cwnd
        self.prr_delivered_pkts = 0
        self.prr_out_pkts = 0
        self.window.counted_acks = 0

    def _reduce_proportionally(self, arrived_pkts: int, is_in_order: bool) -> None:
        """RFC 6937, section 3.1, with the slow-start reduction bound; Linux 6.1, tcp_cwnd_reduction."""
        ssthresh_pkts = self.window.ssthresh_pkts
        self.prr_delivered_pkts += arrived_pkts
        if self.pipe_pkts > ssthresh_pkts:
            target_pkts = math.ceil(self.prr_delivered_pkts * ssthresh_pkts / self.recover_fs_pkts)
            quota_pkts = target_pkts - self.prr_out_pkts
        else:
            limit_pkts = max(self.prr_delivered_pkts - self.prr_out_pkts, arrived_pkts)
            if is_in_order or self.spec.stack != "linux_6":
                limit_pkts += 1
            quota_pkts = min(ssthresh_pkts - self.pipe_pkts, limit_pkts)
        self.window.cwnd_pkts = self.pipe_pkts + max(quota_pkts, 0)

    def _halve_rate(self) -> None:
        """Linux 2.6.22, tcp_cwnd_down: every second ACK takes a packet, and the pipe may grow by one at most."""
        decrease_pkts, self.window.counted_acks = divmod(self.window.counted_acks + 1, 2)
        if self.window.cwnd_pkts > self.spec.halving_floor * self.window.ssthresh_pkts:
            self.window.cwnd_pkts -= decrease_pkts
        self.window.cwnd_pkts = max(1.0, min(self.window.cwnd_pkts, self.pipe_pkts + 1.0))

    def _update_ccid2(self, new_losses: list[Packet]) -> None:
        """One reduction per window: only for a packet sent after the last reduction."""
        self.phase = Phase.OPEN
        if any(packet.order > self.last_reduction_order for packet in new_losses):
            self._reduce_at_once()

    def _update_linux_ccid2(self, acked: int, new_losses: list[Packet]) -> None:
        """ccid2_hc_tx_packet_recv of Linux 2.6.22 and 6.1; its times are whole ticks, the Ack Ratio is 6.1's."""
        self.phase = Phase.OPEN
        if self.window.cwnd_pkts <= self.spec.rwnd_pkts:
            self.cc.on_ack(self.window, acked=acked, acks=1, now=self.events.now_s)
        if not self.sends_at_ticks:
            self._adapt_ack_ratio()
        if any(self._tick_at(packet.handed_s) >= self.last_reduction_tick for packet in new_losses):
            counted_acks = self.window.counted_acks
            self._reduce_at_once()
            self.window.counted_acks = counted_acks
            self.last_reduction_tick = self._tick_at(self.events.now_s)
            if self.asked_ratio > self.window.cwnd_pkts:
                self._ask_ack_ratio(max(math.floor(self.window.cwnd_pkts) // 2, 1))

    def _tick_at(self, time_s: float) -> int:
        """Of the host's clock; that of CCID 2 of Linux 2.6.22 ticks when the flow starts."""
        if self.sends_at_ticks:
            return math.floor(LINUX_HZ * (time_s - self.spec.start_s) + TICK_TOLERANCE)
        return math.floor(LINUX_HZ * time_s)

    def _adapt_ack_ratio(self) -> None:
        """Linux 6.1, ccid2_new_ack: five windows of ACKs shall fit into the receiver's sequence window, and be half of it."""
        if self.una <= self.asked_seq:  # the receiver has not confirmed it
            return
        acks_of_five_windows = 5 * math.floor(self.window.cwnd_pkts / self.asked_ratio)
        if acks_of_five_windows >= SEQUENCE_WINDOW_PKTS:
            self._ask_ack_ratio(2 * self.asked_ratio)
        elif acks_of_five_windows < SEQUENCE_WINDOW_PKTS / 2:
            self._ask_ack_ratio(max(self.asked_ratio // 2, 1))

    def _ask_ack_ratio(self, ratio: int) -> None:
        if ratio != self.asked_ratio:
            self.asked_ratio, self.asked_seq = ratio, self.snd_nxt

    def _reduce_at_once(self) -> None:
        cwnd_before_pkts = self.window.cwnd_pkts
        self.cc.on_loss(self.window)
        self.window.cwnd_pkts = self.window.ssthresh_pkts
        self.window.counted_acks = 0
        self.reductions.append((self.events.now_s, cwnd_before_pkts, self.window.cwnd_pkts))
        self.last_reduction_order = len(self.transmissions)

    # --- sending ---

    def _send(self) -> None:
        """CCID 2 of Linux 2.6.22 looks at its window once in a tick (dccp_write_xmit_timer)."""
        if not self.sends_at_ticks:
            self._send_now()
        elif not self.has_poll and self._may_send():
            self.has_poll = True
            ticks = self._tick_at(self.events.now_s) + 1
            self.events.at(self.spec.start_s + ticks / LINUX_HZ, self._poll, order=(self.place, TIMER))

    def _poll(self) -> None:
        self.has_poll = False
        self._send_now()
        self._set_timer_if_stalled()

    def _may_send(self) -> bool:
        return self.pipe_pkts < math.floor(min(self.window.cwnd_pkts, self.spec.rwnd_pkts))

    def _send_now(self) -> None:
        while (seq := self._next_seq()) is not None:
            is_free = seq < self.snd_nxt and self.has_free_retransmission
            window_pkts = math.floor(min(self.window.cwnd_pkts, self.spec.rwnd_pkts))
            if not is_free and self.pipe_pkts >= window_pkts:
                return
            if self.access.is_full():
                self._on_local_congestion()
                return
            self._hand_over(seq)

    def _next_seq(self) -> int | None:
        """Retransmissions go first; None when there is nothing to send, or nothing may be sent."""
        if self.is_stuck:
            return None
        one_at_a_time = self.phase is Phase.RECOVERY and self.spec.recovery != "sack"
        awaited = [seq for seq in self.retransmit_queue if seq not in self.given_up]
        if awaited and (self.has_free_retransmission or not one_at_a_time):
            return awaited[0]
        fits_receive_window = not self.is_reliable or self.snd_nxt - self.una < self.spec.rwnd_pkts
        if self.snd_nxt < self.spec.size_pkts and self.events.now_s < self.spec.stop_s and fits_receive_window:
            return self.snd_nxt
        return None

    def _hand_over(self, seq: int) -> None:
        is_retransmission = seq < self.snd_nxt
        if is_retransmission:
            self.retransmit_queue.remove(seq)
            self.retransmitted += 1
            self.has_free_retransmission = False
        else:
            self.snd_nxt += 1
        self.transmissions.append((self.events.now_s, seq))
        packet = Packet(self, seq, len(self.transmissions), self.events.now_s, is_retransmission, self.asked_ratio)
        self.in_flight[seq] = packet
        self.arriving += 1
        self.prr_out_pkts += 1
        if self.is_old_linux and seq == self.una:
            self.last_activity_s = self.events.now_s
        self.access.carry(packet)

    def _hand_over_duplicate(self) -> None:
        """Repeat a packet that has arrived, to provoke an ACK."""
        self.transmissions.append((self.events.now_s, self.una))
        self.retransmitted += 1
        order = len(self.transmissions)
        packet = Packet(self, self.una, order, self.events.now_s, True, self.asked_ratio, is_duplicate=True)
        self.arriving += 1
        self.access.carry(packet)

    def _on_local_congestion(self) -> None:
        """The access queue is full: reduce once per window, as Linux does (tcp_enter_cwr)."""
        if self.phase is Phase.OPEN and self.una >= self.cwr_seq:
            self._reduce_at_once()
            self.cwr_seq = self.snd_nxt

    # --- retransmission timer ---

    def on_doom(self) -> None:
        """A transmission will not arrive. The sender does not know; its timer may now be all that is left."""
        self.arriving -= 1
        self._set_timer_if_stalled()

    def on_ack_drop(self) -> None:
        """An ACK will not come, as above."""
        self.acks_coming -= 1
        self._set_timer_if_stalled()

    def _is_stalled(self) -> bool:
        """Whether something is missing while no ACK can come."""
        is_missing = self.una < self.snd_nxt if self.is_reliable else bool(self.in_flight)
        return is_missing and not self.has_poll and self.arriving == self.acks_coming == self.receiver.unacked == 0

    def _may_time_out(self) -> bool:
        return bool(self.given_up) or self._is_stalled()

    def _deadline_s(self) -> float:
        return self.last_activity_s + self.rto_s * self.backoff

    def _set_timer_if_stalled(self) -> None:
        time_s = max(self._deadline_s(), self.events.now_s)
        if self._may_time_out() and time_s < self.timer_s:
            self.timer_s = time_s
            self.events.at(time_s, self._on_timer, time_s, order=(self.place, TIMER))

    def _on_timer(self, set_for_s: float) -> None:
        if set_for_s != self.timer_s:  # an RTT sample has brought it forward since
            return
        self.timer_s = math.inf
        if self._may_time_out():
            if self.events.now_s >= self._deadline_s():
                self._on_timeout()
            self._set_timer_if_stalled()

    def _on_timeout(self) -> None:
        """RFC 6298, section 5, and RFC 5681, section 3.1."""
        self.timeouts.append((self.events.now_s, self.window.cwnd_pkts, 1.0))
        keeps_threshold = self.phase is Phase.LOSS and self.is_reliable
        if self.is_old_linux:  # tcp_enter_loss
            keeps_threshold = self.phase is Phase.RECOVERY or (self.phase is Phase.LOSS and self.backoff > 1)
            self.last_activity_s = self.events.now_s
        if not keeps_threshold:
            self.cc.on_loss(self.window)
        self.window.cwnd_pkts = 1.0
        self.window.counted_acks = 0
        self.phase = Phase.LOSS
        self.backoff = min(2 * self.backoff, MAX_BACKOFF)
        self.recover_seq = self.snd_nxt
        self.has_free_retransmission = False
        self.is_stuck = False
        self.reordering_s = math.inf
        self.last_reduction_order = len(self.transmissions)
        if not self.is_reliable:
            self.in_flight.clear()
            if self.is_linux_ccid2 and not self.sends_at_ticks:
                self._ask_ack_ratio(1)
            self._send()
            return
        unheard = {packet.seq: packet for packet in self.receiver.unheard}
        if self.given_up:
            unheard = {seq: packet for seq, packet in self.in_flight.items() if not packet.is_doomed}
        self.lost = (self.lost | self.in_flight.keys()) - unheard.keys()
        self.retransmit_queue = deque(sorted(self.lost))
        self.in_flight = unheard
        if self.given_up:
            self.given_up.clear()
            self.has_free_retransmission = self.retransmit_queue[0] == self.una
            self._send()
        elif not unheard:
            self._send()
        elif self.una in self.lost:
            self._hand_over(self.una)  # whatever the pipe says
        else:
            self._hand_over_duplicate()
