"""TCP connections followed packet by packet: acknowledged data, RTT, retransmissions, missing packets of the capture. Compiled.

`State` has a `CONNECTION` and two `DIRECTION` for each, and rings for those that carry data: segments not yet acknowledged,
timestamps not yet echoed, and holes. Positions count bytes of a direction without wrapping; position 0 is its SYN, 1 its first
byte (or the first that the capture shows).

RTT has two legs at the point of capture: data -> ACK, and what the receiver sends -> its echo by the sender. Their smallest
values add up to the smallest RTT wherever the capture was taken. Retransmitted segments give no RTT sample (Karn).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tcpfair.jit import jit, jit_cached, jit_inline
from tcpfair.sources.readers.frames import ACK, FIN, FRAGMENT, RST, SYN, TIMESTAMPS, fields

NEVER = np.iinfo(np.int64).max

CONNECTION = fields("""
    last_ns: of its last packet
    silent_from_ns silent_to_ns: the latest silence of SILENCE_NS, and its end
    payload_bytes
    rings: -1: none
    closed: by RST, or FINs of both
""")
DIRECTION = fields("""
    origin: sequence number of position 0, -1: unknown so far
    has_syn
    syn_ns: of a SYN that was not acknowledged yet, -1: none that times
    sent: position after the last byte seen
    packets: with data
    acked: position up to which all was acknowledged
    base has_base: position from which progress counts
    first_ack_ns acks
    progress_ns: of the last progress
    fin: position of the FIN, -1: not seen
    first_bytes: of the first segment
    first_data_ns second_data_ns last_data_ns
    pending: an ACK of bytes that were not seen, to be confirmed by the next one, -1: none
    far: data far ahead, to be confirmed by the next, -1: none
    bin: of the latest progress, -1: none
    to_ack_ns: smallest data -> ACK
    to_echo_ns: smallest time from what the other side sent to its echo by this one
    resent_to: position up to which data were resent
    resent
    filled: packets that came late, into a hole
    copies
    unseen_bytes: acknowledged, never seen
    odd: sequence numbers that cannot be
    most_flight_bytes
    window_closed window_is_zero: how often the receiver said 0, and whether it did last
    fragments
    tsval
    ticks: that tsval advanced since ts_first_ns
    ts_first_ns ts_last_ns
    segment_head segment_tail echo_head echo_tail holes: places in `State.segments`, `echoes` and `holes`
""")
CLOCK = fields("""
    begun
    now_ns: of the last packet, put right, since zero_ns
    zero_ns
    offset_ns: that puts times right
    packets small_steps steps
    jump_ns jump_at: the latest jump and its packet
    count: connections
    rings: in use until now
    free: of these, given back
    gaps
    bad_number: of the packet that ended it all
""")

RING = 512
HOLES = 256
SLOTS = 1 << 20
MOST_CONNECTIONS = 1 << 18
MOST_RINGS = 2048
COPIES = 1 << 16
MOST_STEPS = 8
MOST_GAPS = 1024

REORDERED_NS = 10_000_000  # packets of several queues are out of order by up to this
JUMP_NS = 1_000_000_000
SILENCE_NS = 500_000_000
PAIR_PACKETS = 100  # a jump that is reversed within this many packets is not a step of the clock
PLAUSIBLE = 1 << 30  # the largest window of TCP
FAR = 1 << 24
RINGS_FROM_BYTES = 2000

DONE, FULL, OUT_OF_ORDER, MANY_STEPS, TOO_LONG = range(5)
DAY_NS = 86_400_000_000_000


class State(NamedTuple):
    """The state of a capture."""

    clock: np.ndarray  # (1,)
    steps: np.ndarray  # (MOST_STEPS, 2): when the clock stepped, and by how much
    slots: np.ndarray  # (SLOTS,): hash table of connections, their numbers + 1
    copies: np.ndarray  # (COPIES,): marks of the latest packets with data
    gaps: np.ndarray  # (MOST_GAPS, 3): direction, from, to
    ends: np.ndarray  # (connections, 6): upper and lower half of the address and port of end a, then of end b
    connections: np.ndarray
    directions: np.ndarray  # (connections, 2): of data sent by end a, and by end b
    segments: np.ndarray  # (rings, 2, RING, 2): position after the segment, when it was seen
    echoes: np.ndarray  # (rings, 2, RING, 2): tsval, when it was first seen
    holes: np.ndarray  # (rings, 2, HOLES, 4): from, to, and the silence before it or 0, 0
    free: np.ndarray  # (rings,): those of closed connections


def begin() -> State:
    """The state before the first packet, all zeros, so that only written parts use memory."""
    of_ring = {"segments": (2, RING, 2), "echoes": (2, RING, 2), "holes": (2, HOLES, 4), "free": ()}
    integers = {"steps": (MOST_STEPS, 2), "copies": COPIES, "gaps": (MOST_GAPS, 3), "ends": (MOST_CONNECTIONS, 6)}
    integers |= {name: (MOST_RINGS, *shape) for name, shape in of_ring.items()}
    return State(
        clock=np.zeros(1, CLOCK),
        slots=np.zeros(SLOTS, np.int32),
        connections=np.zeros(MOST_CONNECTIONS, CONNECTION),
        directions=np.zeros((MOST_CONNECTIONS, 2), DIRECTION),
        **{name: np.zeros(shape, np.int64) for name, shape in integers.items()},
    )


@jit
def _open(connection, directions, now_ns):
    """Set what is unknown of a new connection."""
    connection.last_ns, connection.rings = now_ns, -1
    for side in range(2):
        new = directions[side]
        new.origin = new.syn_ns = new.fin = new.pending = new.far = new.bin = new.tsval = -1
        new.to_ack_ns = new.to_echo_ns = NEVER


@jit_inline
def _signed32(difference):
    """The difference of sequence numbers, modulo 2^32 nearest to 0."""
    return ((difference + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


@jit_inline
def _position(direction, number):
    """The position of a sequence number, near the last one."""
    top = max(direction.sent, direction.acked)
    return top + _signed32(number - (direction.origin + top))


@jit
def _hash(parts):
    mixed = parts[0]
    for part in parts[1:]:
        mixed = (mixed ^ part) * -7046029254386353131
        mixed ^= (mixed >> 29) & 0x7FFFFFFFF
    return mixed


@jit
def _find(packet, ends, slots):
    """Connection of a packet or -1, its slot, whether its sender is end a, and both ends."""
    source, target = (
        (packet.src_high, packet.src_low, packet.src_port),
        (packet.dst_high, packet.dst_low, packet.dst_port),
    )
    from_a = source <= target
    both = source + target if from_a else target + source
    slot = _hash(both) & (SLOTS - 1)
    while slots[slot]:
        number = np.int64(slots[slot]) - 1
        same = True
        for k in range(6):
            same &= ends[number, k] == both[k]
        if same:
            return number, slot, from_a, both
        slot = (slot + 1) & (SLOTS - 1)
    return np.int64(-1), slot, from_a, both


@jit
def _expected_ns(direction, packet, now_ns):
    """Time since the last packet of the capture by the sender's clock, -1 when unknown."""
    if not packet.flags & TIMESTAMPS or direction.tsval < 0:
        return np.int64(-1)
    lasted_ns = direction.ts_last_ns - direction.ts_first_ns
    if lasted_ns < JUMP_NS or direction.ticks < 50:
        return np.int64(-1)
    ticks = _signed32(packet.tsval - direction.tsval)
    since_ns = np.int64(ticks * (lasted_ns / direction.ticks))
    return max(direction.ts_last_ns + since_ns - now_ns, 0)


@jit
def _tell_time(clock, packet, direction, known, steps):
    """The corrected time of a packet; for impossible times, minus an error code."""
    if not clock.begun:
        clock.begun = 1
        clock.zero_ns = packet.t_ns
        clock.now_ns = 0
        clock.jump_at = -PAIR_PACKETS - 1
        return np.int64(0)
    now_ns = clock.now_ns
    jump_ns = packet.t_ns - clock.zero_ns + clock.offset_ns - now_ns
    if -REORDERED_NS <= jump_ns < 0:
        clock.small_steps += 1
        return now_ns
    if 0 <= jump_ns <= JUMP_NS and not (clock.packets == clock.jump_at + 1 and clock.jump_ns < 0):
        if jump_ns > REORDERED_NS and (abs(clock.jump_ns) <= JUMP_NS or clock.packets > clock.jump_at + PAIR_PACKETS):
            clock.jump_ns = jump_ns  # the next may reverse it
            clock.jump_at = clock.packets
        return now_ns + jump_ns
    # a jump far ahead or back; one that is reversed at once was not a step of the clock
    near = PAIR_PACKETS if abs(clock.jump_ns) > JUMP_NS else 1
    opposite = (jump_ns < 0) != (clock.jump_ns < 0)
    similar = abs(jump_ns + clock.jump_ns) <= abs(jump_ns) // 10 + REORDERED_NS
    if clock.packets - clock.jump_at <= near and opposite and similar and abs(jump_ns) > REORDERED_NS:
        return np.int64(-OUT_OF_ORDER)
    clock.jump_ns = jump_ns
    clock.jump_at = clock.packets
    passed_ns = _expected_ns(direction, packet, now_ns) if known else np.int64(-1)
    if jump_ns >= 0:
        if passed_ns < 0 or jump_ns - passed_ns <= max(SILENCE_NS, jump_ns // 10):
            passed_ns = jump_ns  # silence
    elif passed_ns < 0:
        passed_ns = 0
    if passed_ns != jump_ns:
        if clock.steps == MOST_STEPS:
            return np.int64(-MANY_STEPS)
        steps[clock.steps, 0] = now_ns + passed_ns
        steps[clock.steps, 1] = jump_ns - passed_ns
        clock.steps += 1
        clock.offset_ns += passed_ns - jump_ns
    return now_ns + passed_ns


@jit
def _advance_timestamp(direction, packet, now_ns):
    """Whether the sender's clock has a new tick."""
    if direction.tsval < 0:
        direction.tsval = packet.tsval
        direction.ts_first_ns = direction.ts_last_ns = now_ns
        return True
    ticks = _signed32(packet.tsval - direction.tsval)
    if ticks <= 0 or ticks > PLAUSIBLE:
        return False
    direction.tsval = packet.tsval
    direction.ticks += ticks
    direction.ts_last_ns = now_ns
    return True


@jit
def _push(ring, head, tail, value, now_ns):
    """Append to a ring that has room; the new tail."""
    if tail - head == RING:
        return tail
    ring[tail % RING, 0], ring[tail % RING, 1] = value, now_ns
    return tail + 1


@jit
def _time_echo(sender, receiver, packet, now_ns, own, other):
    """Remember the sender's new tick in ``own``; time the tick of the other side that it echoes."""
    if _advance_timestamp(sender, packet, now_ns):
        sender.echo_tail = _push(own, sender.echo_head, sender.echo_tail, packet.tsval, now_ns)
    if not packet.flags & ACK:
        return
    while receiver.echo_head < receiver.echo_tail:
        tick, seen_ns = other[receiver.echo_head % RING]
        ahead = _signed32(packet.tsecr - tick)
        if ahead < 0:
            return
        if ahead == 0:
            sender.to_echo_ns = min(sender.to_echo_ns, now_ns - seen_ns)
        receiver.echo_head += 1


@jit
def _fill(holes, direction, start, end):
    """Remove ``start`` to ``end`` from the holes; return whether it was in one. In the middle of a hole, the part after
    it counts as seen."""
    was_in = False
    kept = 0
    for i in range(direction.holes):
        low, high = holes[i, 0], holes[i, 1]
        if start < high and end > low:
            was_in = True
            if start > low:
                high = start
            else:
                low = min(end, high)
        if low < high:
            holes[kept] = low, high, holes[i, 2], holes[i, 3]
            kept += 1
    direction.holes = kept
    return was_in


@jit
def _mark_gap(clock, gaps, index, from_ns, to_ns):
    if to_ns > from_ns and clock.gaps < MOST_GAPS:
        gaps[clock.gaps] = index, from_ns, to_ns
        clock.gaps += 1


@jit
def _silence(connection, now_ns):
    """Beginning and end of the connection's silence until now; 0, 0 without one."""
    if connection.silent_to_ns > 0 and now_ns - connection.silent_to_ns < SILENCE_NS:
        return connection.silent_from_ns, connection.silent_to_ns
    return np.int64(0), np.int64(0)


@jit
def _is_copy(packet, index, copies):
    """Whether the same data packet was seen before; unknown without packet numbers."""
    if packet.ip_id == 0 and not packet.flags & TIMESTAMPS:
        return False
    kind = packet.ip_id << 16 | packet.flags
    mark = _hash((np.int64(index), packet.seq, packet.ack, packet.payload_bytes, kind, packet.tsval))
    k = (mark >> 20) & (COPIES - 1)
    seen = copies[k] == mark
    copies[k] = mark
    return seen


@jit
def _data(sender, connection, packet, now_ns, ring, segments, holes):
    """Follow a segment with data."""
    start = _position(sender, packet.seq) + (1 if packet.flags & SYN else 0)
    end = start + packet.payload_bytes
    if abs(start - max(sender.sent, sender.acked)) > PLAUSIBLE:
        sender.odd += 1
        return
    if packet.payload_bytes == 1 and sender.acks and end == sender.acked and end == sender.sent:
        return  # keep-alive
    if start - sender.sent > FAR and sender.packets and (sender.far < 0 or abs(start - sender.far) > FAR):
        sender.far = start
        sender.odd += 1
        return
    sender.far = -1
    if 0 <= sender.fin < end:
        sender.fin = -1  # data after a FIN: it was not a FIN
        sender.odd += 1
    sender.last_data_ns = now_ns
    if packet.flags & FRAGMENT:
        sender.fragments += 1
    if not sender.packets:
        sender.first_bytes = packet.payload_bytes
        sender.first_data_ns = now_ns
    sender.packets += 1
    if end > sender.sent:
        if start > sender.sent and (sender.packets > 1 or sender.has_syn) and ring >= 0 and sender.holes < HOLES:
            silent = _silence(connection, now_ns)
            holes[sender.holes] = sender.sent, start, *silent
            sender.holes += 1
        if start < sender.sent and sender.packets > 1:
            sender.resent += 1
            sender.resent_to = end
        elif ring >= 0:
            sender.segment_tail = _push(segments, sender.segment_head, sender.segment_tail, end, now_ns)
        sender.sent = end
        if sender.packets > 1 and sender.second_data_ns == 0:
            sender.second_data_ns = now_ns
        if sender.has_base:
            sender.most_flight_bytes = max(sender.most_flight_bytes, end - sender.acked)
    else:
        sender.resent_to = max(sender.resent_to, end)
        if ring >= 0 and sender.holes and _fill(holes, sender, start, end):
            sender.filled += 1
        else:
            sender.resent += 1


@jit
def _acknowledge(receiver, connection, packet, now_ns, index, ring, segments, holes, clock, gaps):
    """Follow an ACK for data of direction ``receiver``; return whether it is progress."""
    if receiver.origin < 0:
        receiver.origin = (packet.ack - 1) & 0xFFFFFFFF
        receiver.sent = 1
    position = _position(receiver, packet.ack)
    receiver.acks += 1
    if not receiver.has_base:  # the capture began in the middle
        receiver.has_base = 1
        receiver.base = receiver.acked = position
        receiver.first_ack_ns = now_ns
        return False
    if abs(position - receiver.acked) > PLAUSIBLE:
        receiver.odd += 1
        return False
    if position <= receiver.acked:
        if packet.window == 0 and not packet.flags & (RST | SYN | FIN):
            receiver.window_closed += 1 - receiver.window_is_zero
            receiver.window_is_zero = 1
        else:
            receiver.window_is_zero = 0
        return False
    unseen = position - receiver.sent - (1 if receiver.fin >= 0 else 0)
    if (receiver.packets and unseen > 0) or position - receiver.acked > FAR:
        # data that the capture lacks, or a damaged number: the next ACK decides
        if receiver.pending < 0 or position < receiver.pending or position - receiver.pending > FAR:
            if receiver.pending >= 0:
                receiver.odd += 1
            receiver.pending = position
            return False
    elif receiver.pending >= 0 and position < receiver.pending:
        receiver.odd += 1
    receiver.pending = -1
    if receiver.packets and unseen > 0:
        if unseen > 1:  # one is a FIN's
            receiver.unseen_bytes += unseen
            _mark_gap(clock, gaps, index, *_silence(connection, now_ns))
        receiver.sent = position
    receiver.window_is_zero = 0
    receiver.acked = position
    receiver.progress_ns = now_ns
    receiver.first_ack_ns = receiver.first_ack_ns or now_ns
    if receiver.syn_ns >= 0:
        receiver.to_ack_ns = min(receiver.to_ack_ns, now_ns - receiver.syn_ns)
        receiver.syn_ns = -1
    if ring < 0:
        return True
    while receiver.segment_head < receiver.segment_tail:
        end, seen_ns = segments[receiver.segment_head % RING]
        if end > position:
            break
        if end > receiver.resent_to:
            receiver.to_ack_ns = min(receiver.to_ack_ns, now_ns - seen_ns)
        receiver.segment_head += 1
    for i in range(receiver.holes):
        if holes[i, 0] < position:
            receiver.unseen_bytes += min(holes[i, 1], position) - holes[i, 0]
            _mark_gap(clock, gaps, index, holes[i, 2], holes[i, 3])
    _fill(holes, receiver, -NEVER, position)
    return True


@jit
def _synchronise(sender, packet, now_ns):
    """Follow a SYN."""
    if sender.origin < 0:
        sender.origin = packet.seq
        sender.has_syn = sender.has_base = sender.sent = sender.base = 1  # the SYN itself is acknowledged first
        sender.syn_ns = now_ns
    elif sender.has_syn and packet.seq == sender.origin:
        sender.syn_ns = -1  # twice: gives no RTT sample
    else:
        sender.odd += 1


@jit_cached
def follow(packets, state, bin_ns, out):
    """Follow ``packets``: (how it ended, rows of ``out``).

    Direction number 2 n + side is what an end of connection n sends. A row of ``out`` is (direction, bin, position): what was
    acknowledged at the end of a bin of ``bin_ns``, given when the next one begins.
    """
    rows = 0
    time, free = state.clock[0], state.free
    for i in range(len(packets)):
        packet = packets[i]
        number, slot, from_a, ends = _find(packet, state.ends, state.slots)
        known = number >= 0
        side = 0 if from_a else 1
        if known and packet.flags & (SYN | ACK | RST | FIN) == SYN:
            old, closed = state.directions[number, side], state.connections[number].closed
            silent_ns = packet.t_ns - time.zero_ns + time.offset_ns - state.connections[number].last_ns
            # without a RST or FIN, the same SYN is a repetition; else the ports are reused
            known = not closed and (silent_ns <= JUMP_NS or (old.has_syn == 1 and old.origin == packet.seq))
        if not known and time.count == len(state.connections):
            return FULL, rows
        now_ns = _tell_time(time, packet, state.directions[max(number, 0), side], known, state.steps)
        if now_ns < 0 or now_ns > DAY_NS:
            time.bad_number = packet.number
            return -now_ns if now_ns < 0 else TOO_LONG, rows
        time.now_ns = now_ns
        time.packets += 1
        if not known:
            number = time.count
            time.count += 1
            state.ends[number] = ends
            state.slots[slot] = time.count
            _open(state.connections[number], state.directions[number], now_ns)
        connection = state.connections[number]
        sender, receiver = state.directions[number, side], state.directions[number, 1 - side]
        sent, received = 2 * number + side, 2 * number + 1 - side
        if now_ns - connection.last_ns >= SILENCE_NS:
            connection.silent_from_ns, connection.silent_to_ns = connection.last_ns, now_ns
        connection.last_ns = now_ns
        connection.payload_bytes += packet.payload_bytes
        if connection.rings < 0 and not connection.closed and connection.payload_bytes >= RINGS_FROM_BYTES:
            if time.free > 0:
                time.free -= 1
                connection.rings = free[time.free]
            elif time.rings < MOST_RINGS:
                connection.rings = time.rings
                time.rings += 1
        ring = connection.rings
        segments, echoes, holes = state.segments[max(ring, 0)], state.echoes[max(ring, 0)], state.holes[max(ring, 0)]
        if packet.flags & SYN:
            _synchronise(sender, packet, now_ns)
        elif sender.origin < 0:
            sender.origin = (packet.seq - 1) & 0xFFFFFFFF
            sender.sent = 1
        if packet.flags & TIMESTAMPS:
            if ring >= 0:
                _time_echo(sender, receiver, packet, now_ns, echoes[side], echoes[1 - side])
            else:
                _advance_timestamp(sender, packet, now_ns)
        if packet.payload_bytes > 0:
            if _is_copy(packet, sent, state.copies):
                sender.copies += 1
            else:
                _data(sender, connection, packet, now_ns, ring, segments[side], holes[side])
        if packet.flags & ACK:
            before = receiver.acked
            own = segments[1 - side], holes[1 - side]
            if _acknowledge(receiver, connection, packet, now_ns, received, ring, *own, time, state.gaps):
                now_bin = max(now_ns - 1, 0) // bin_ns  # data at its end is within it
                if receiver.bin >= 0 and now_bin > receiver.bin:
                    out[rows] = received, receiver.bin, before
                    rows += 1
                receiver.bin = now_bin
        if packet.flags & FIN and sender.fin < 0:
            position = _position(sender, packet.seq) + packet.payload_bytes
            if 0 <= position - sender.sent <= FAR:
                sender.fin = position
            else:
                sender.odd += 1  # data sent earlier cannot be behind it
        if packet.flags & RST or (sender.fin >= 0 and receiver.fin >= 0):
            connection.closed = 1
            if ring >= 0:
                free[time.free] = ring
                time.free += 1
                connection.rings = -1
                sender.holes = receiver.holes = 0
    return DONE, rows
