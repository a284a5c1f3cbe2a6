"""TCP connections followed packet by packet: what was acknowledged when, RTT, what was resent, what the capture lacks. Compiled.

State is in arrays that the caller allocates and lets grow: `CONNECTION`, two `DIRECTION` each, and for those that carry data
a `Rings`: segments not yet acknowledged, timestamps not yet echoed, and holes. Positions count bytes of a direction without
wrapping; position 0 is its SYN, 1 its first byte (or the first that the capture shows).

RTT has two legs at the point of capture: data -> ACK, and what the receiver sends -> its echo by the sender. Their smallest
values add up to the smallest RTT wherever the capture stood. A segment that was resent times nothing (Karn).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tcpfair.jit import jit, jit_cached, jit_inline
from tcpfair.sources.readers.frames import ACK, FIN, FRAGMENT, RST, SYN, TIMESTAMPS

NEVER = np.iinfo(np.int64).max

CONNECTION = np.dtype(
    [
        ("high_a", "i8"),
        ("low_a", "i8"),
        ("high_b", "i8"),
        ("low_b", "i8"),
        ("port_a", "i8"),
        ("port_b", "i8"),
        ("last_ns", "i8"),
        ("silent_from_ns", "i8"),  # the latest silence of SILENCE_NS, and its end
        ("silent_to_ns", "i8"),
        ("payload_bytes", "i8"),
        ("rings", "i8"),  # -1: none
        ("closed", "i8"),  # by RST, or FINs of both
        ("earlier", "i8"),  # connection with the same ports before, -1: none
    ],
    align=True,
)
DIRECTION = np.dtype(
    [
        ("origin", "i8"),  # sequence number of position 0, -1: nothing known yet
        ("has_syn", "i8"),
        ("syn_ns", "i8"),  # of a SYN that was not acknowledged yet, -1: none that times
        ("sent", "i8"),  # position after the last byte seen
        ("packets", "i8"),  # with data
        ("acked", "i8"),  # position up to which all was acknowledged
        ("base", "i8"),  # from which progress counts
        ("has_base", "i8"),
        ("first_ack_ns", "i8"),
        ("acks", "i8"),
        ("progress_ns", "i8"),  # of the last progress
        ("fin", "i8"),  # position of the FIN, -1: not seen
        ("first_bytes", "i8"),  # of the first segment
        ("first_data_ns", "i8"),
        ("second_data_ns", "i8"),
        ("last_data_ns", "i8"),
        ("pending", "i8"),  # an ACK of bytes that were not seen, to be confirmed by the next one, -1: none
        ("far", "i8"),  # data far ahead, to be confirmed by the next, -1: none
        ("bin", "i8"),  # of the latest progress, -1: none
        ("to_ack_ns", "i8"),  # smallest data -> ACK
        ("to_echo_ns", "i8"),  # smallest: what the other side sent -> its echo by this one
        ("resent_to", "i8"),  # position up to which data were resent
        ("resent", "i8"),
        ("filled", "i8"),  # packets that came late, into a hole
        ("copies", "i8"),
        ("unseen_bytes", "i8"),  # acknowledged, never seen
        ("odd", "i8"),  # sequence numbers that cannot be
        ("most_flight_bytes", "i8"),
        ("window_closed", "i8"),  # how often the receiver said 0
        ("window_is_zero", "i8"),
        ("fragments", "i8"),
        ("tsval", "i8"),
        ("ticks", "i8"),  # that tsval advanced since ts_first_ns
        ("ts_first_ns", "i8"),
        ("ts_last_ns", "i8"),
        ("segment_head", "i8"),
        ("segment_tail", "i8"),
        ("echo_head", "i8"),
        ("echo_tail", "i8"),
        ("holes", "i8"),
    ],
    align=True,
)
CLOCK = np.dtype(
    [
        ("begun", "i8"),
        ("now_ns", "i8"),  # of the last packet, put right, since zero_ns
        ("zero_ns", "i8"),
        ("offset_ns", "i8"),  # that puts times right
        ("packets", "i8"),
        ("small_steps", "i8"),
        ("steps", "i8"),
        ("jump_ns", "i8"),  # the latest jump and its packet
        ("jump_at", "i8"),
        ("count", "i8"),  # connections
        ("rings", "i8"),  # in use until now
        ("free", "i8"),  # of these, given back
        ("gaps", "i8"),
        ("bad_number", "i8"),  # of the packet that ended it all
    ],
    align=True,
)

RING = 512
HOLES = 256
SLOTS = 1 << 20
MOST_CONNECTIONS = 1 << 18
MOST_RINGS = 2048
COPIES = 1 << 16
MOST_STEPS = 8
MOST_GAPS = 1024

REORDERED_NS = 10_000_000  # packets of several queues stand that much out of order
JUMP_NS = 1_000_000_000
SILENCE_NS = 500_000_000
PAIR_PACKETS = 100  # a jump that is taken back within so many is no step of the clock
PLAUSIBLE = 1 << 30  # the largest window of TCP
FAR = 1 << 24
RINGS_FROM_BYTES = 2000

DONE, GROW_CONNECTIONS, GROW_RINGS, OUT_OF_ORDER, MANY_STEPS, TOO_LONG = range(6)
DAY_NS = 86_400_000_000_000


class Rings(NamedTuple):
    """For each connection with data, and both directions."""

    segments: np.ndarray  # (rings, 2, RING, 2): position after the segment, when it was seen
    echoes: np.ndarray  # (rings, 2, RING, 2): tsval, when it was first seen
    holes: np.ndarray  # (rings, 2, HOLES, 4): from, to, and the silence before it or 0, 0
    free: np.ndarray  # (rings,): those of closed connections


def rings(count: int) -> Rings:
    """``count`` empty ones."""
    return Rings(
        np.zeros((count, 2, RING, 2), np.int64),
        np.zeros((count, 2, RING, 2), np.int64),
        np.zeros((count, 2, HOLES, 4), np.int64),
        np.zeros(count, np.int64),
    )


@jit_inline
def _signed32(difference):
    """A difference of sequence numbers, the nearest of those that it can be."""
    return ((difference + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


@jit_inline
def _position(direction, number):
    """Of a sequence number, near what was last seen."""
    top = max(direction.sent, direction.acked)
    return top + _signed32(number - (direction.origin + top))


@jit
def _hash(a, b, c, d, e, f):
    mixed = a
    for part in (b, c, d, e, f):
        mixed = (mixed ^ part) * -7046029254386353131
        mixed ^= (mixed >> 29) & 0x7FFFFFFFF
    return mixed


@jit
def _clear(connection, pair):
    connection.silent_from_ns = connection.silent_to_ns = 0
    connection.payload_bytes = 0
    connection.rings = -1
    connection.closed = 0
    connection.earlier = -1
    for k in range(2):
        d = pair[k]
        d.origin = d.syn_ns = d.fin = d.pending = d.far = d.bin = d.tsval = -1
        d.has_syn = d.sent = d.packets = d.acked = d.base = d.has_base = d.first_ack_ns = d.acks = 0
        d.progress_ns = d.first_bytes = d.first_data_ns = d.second_data_ns = d.last_data_ns = 0
        d.to_ack_ns = d.to_echo_ns = NEVER
        d.resent_to = d.resent = d.filled = d.copies = d.unseen_bytes = d.odd = d.most_flight_bytes = 0
        d.window_closed = d.window_is_zero = d.fragments = d.ticks = d.ts_first_ns = d.ts_last_ns = 0
        d.segment_head = d.segment_tail = d.echo_head = d.echo_tail = d.holes = 0


@jit
def _find(packet, connections, slots):
    """Connection of a packet or -1, its slot, and whether its sender is end a."""
    from_a = packet.src_high < packet.dst_high or (
        packet.src_high == packet.dst_high
        and (
            packet.src_low < packet.dst_low or (packet.src_low == packet.dst_low and packet.src_port <= packet.dst_port)
        )
    )
    if from_a:
        high_a, low_a, port_a = packet.src_high, packet.src_low, np.int64(packet.src_port)
        high_b, low_b, port_b = packet.dst_high, packet.dst_low, np.int64(packet.dst_port)
    else:
        high_a, low_a, port_a = packet.dst_high, packet.dst_low, np.int64(packet.dst_port)
        high_b, low_b, port_b = packet.src_high, packet.src_low, np.int64(packet.src_port)
    slot = _hash(high_a, low_a, high_b, low_b, port_a, port_b) & (SLOTS - 1)
    while slots[slot] >= 0:
        c = connections[slots[slot]]
        if (
            c.low_a == low_a
            and c.low_b == low_b
            and c.port_a == port_a
            and c.port_b == port_b
            and c.high_a == high_a
            and c.high_b == high_b
        ):
            return np.int64(slots[slot]), slot, from_a
        slot = (slot + 1) & (SLOTS - 1)
    return np.int64(-1), slot, from_a


@jit
def _expected_ns(direction, packet, now_ns):
    """How much time passed since the last packet of the capture by the sender's own clock, -1 when that is unknown."""
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
    """The time of a packet, put right; negative when times cannot be: minus the way in which."""
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
            clock.jump_ns = jump_ns  # the next may take it back
            clock.jump_at = clock.packets
        return now_ns + jump_ns
    # a jump far ahead or back; one that is taken back at once was no step of the clock
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
    """Whether the sender's clock is at a tick that was not seen yet."""
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
def _time_echo(sender, receiver, packet, now_ns, own, other):
    """Remember the sender's new tick in ``own``; time the tick of the other side that it echoes."""
    if _advance_timestamp(sender, packet, now_ns) and sender.echo_tail - sender.echo_head < RING:
        k = sender.echo_tail % RING
        own[k, 0] = packet.tsval
        own[k, 1] = now_ns
        sender.echo_tail += 1
    if not packet.flags & ACK:
        return
    while receiver.echo_head < receiver.echo_tail:
        k = receiver.echo_head % RING
        ahead = _signed32(packet.tsecr - other[k, 0])
        if ahead < 0:
            return
        if ahead == 0:
            sender.to_echo_ns = min(sender.to_echo_ns, now_ns - other[k, 1])
        receiver.echo_head += 1


@jit
def _fill(holes, direction, start, end):
    """Take ``start`` to ``end`` out of the holes; whether it was in one. Of a hole's middle, what lies right counts as seen."""
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
            silent_from_ns, silent_to_ns = holes[i, 2], holes[i, 3]
            holes[kept, 0], holes[kept, 1], holes[kept, 2], holes[kept, 3] = low, high, silent_from_ns, silent_to_ns
            kept += 1
    direction.holes = kept
    return was_in


@jit
def _mark_gap(clock, gaps, index, from_ns, to_ns):
    if to_ns > from_ns and clock.gaps < MOST_GAPS:
        gaps[clock.gaps, 0], gaps[clock.gaps, 1], gaps[clock.gaps, 2] = index, from_ns, to_ns
        clock.gaps += 1


@jit
def _silence(connection, now_ns):
    """Whether the connection was silent until just now."""
    return connection.silent_to_ns > 0 and now_ns - connection.silent_to_ns < SILENCE_NS


@jit
def _is_copy(packet, index, copies):
    """Whether the very same data packet was seen before; not told where nothing numbers packets."""
    if packet.ip_id == 0 and not packet.flags & TIMESTAMPS:
        return False
    size, kind = np.int64(packet.payload_bytes), np.int64(packet.ip_id) << 16 | np.int64(packet.flags)
    mark = _hash(index, packet.seq, packet.ack, size, kind, packet.tsval)
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
        sender.fin = -1  # nothing comes after a FIN: it was none
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
            h = sender.holes
            holes[h, 0], holes[h, 1], holes[h, 2], holes[h, 3] = sender.sent, start, 0, 0
            if _silence(connection, now_ns):
                holes[h, 2], holes[h, 3] = connection.silent_from_ns, connection.silent_to_ns
            sender.holes += 1
        if start < sender.sent and sender.packets > 1:
            sender.resent += 1
            sender.resent_to = end
        elif ring >= 0 and sender.segment_tail - sender.segment_head < RING:
            k = sender.segment_tail % RING
            segments[k, 0], segments[k, 1] = end, now_ns
            sender.segment_tail += 1
        sender.sent = end
        if sender.packets > 1 and sender.second_data_ns == 0:
            sender.second_data_ns = now_ns
        if sender.has_base:
            sender.most_flight_bytes = max(sender.most_flight_bytes, end - sender.acked)
    elif ring >= 0 and sender.holes and _fill(holes, sender, start, end):
        sender.filled += 1
        sender.resent_to = max(sender.resent_to, end)
    else:
        sender.resent += 1
        sender.resent_to = max(sender.resent_to, end)


@jit
def _acknowledge(receiver, connection, packet, now_ns, index, ring, segments, holes, clock, gaps):
    """Follow an ACK of what ``receiver`` (the direction of the data) sent; whether it is progress."""
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
        # data that the capture lacks, or a damaged number: the next ACK tells
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
            if _silence(connection, now_ns):
                _mark_gap(clock, gaps, index, connection.silent_from_ns, connection.silent_to_ns)
        receiver.sent = position
    receiver.window_is_zero = 0
    receiver.acked = position
    receiver.progress_ns = now_ns
    receiver.first_ack_ns = receiver.first_ack_ns if receiver.first_ack_ns else now_ns
    if receiver.syn_ns >= 0:
        receiver.to_ack_ns = min(receiver.to_ack_ns, now_ns - receiver.syn_ns)
        receiver.syn_ns = -1
    if ring < 0:
        return True
    while receiver.segment_head < receiver.segment_tail:
        k = receiver.segment_head % RING
        if segments[k, 0] > position:
            break
        if segments[k, 0] > receiver.resent_to:
            receiver.to_ack_ns = min(receiver.to_ack_ns, now_ns - segments[k, 1])
        receiver.segment_head += 1
    kept = 0
    for i in range(receiver.holes):
        low, high = holes[i, 0], min(holes[i, 1], position)
        if low < high:
            receiver.unseen_bytes += high - low
            _mark_gap(clock, gaps, index, holes[i, 2], holes[i, 3])
        if holes[i, 1] > position:
            right, silent_from_ns, silent_to_ns = holes[i, 1], holes[i, 2], holes[i, 3]
            holes[kept, 0], holes[kept, 1] = max(low, position), right
            holes[kept, 2], holes[kept, 3] = silent_from_ns, silent_to_ns
            kept += 1
    receiver.holes = kept
    return True


@jit
def _synchronise(sender, packet, now_ns):
    """Follow a SYN."""
    if sender.origin < 0:
        sender.origin = packet.seq
        sender.has_syn = sender.has_base = 1
        sender.sent = sender.acked = sender.base = 1
        sender.acked = 0  # the SYN itself is acknowledged first
        sender.syn_ns = now_ns
    elif sender.has_syn and packet.seq == sender.origin:
        sender.syn_ns = -1  # twice: times nothing
    else:
        sender.odd += 1


@jit_cached
def follow(packets, first, count, clock, steps, connections, directions, slots, segments, echoes, holes, free, copies,
           gaps, bin_ns, out):  # fmt: skip
    """Follow ``packets[first:count]``: (how it ended, index of the packet that it ended at, rows of ``out``).

    ``connections`` (n,), ``directions`` (n, 2): side 0 is what end a sends; direction number 2 n + side. A row of ``out`` is
    (direction, bin, position): what was acknowledged at the end of a bin of ``bin_ns``, given when the next one begins.
    """
    rows = 0
    time = clock[0]
    for i in range(first, count):
        packet = packets[i]
        number, slot, from_a = _find(packet, connections, slots)
        known = number >= 0
        starts = packet.flags & (SYN | ACK | RST | FIN) == SYN
        if known and starts:
            old = directions[number, 0 if from_a else 1]
            is_again = old.has_syn and old.origin == packet.seq and not connections[number].closed
            if not is_again and (
                connections[number].closed
                or packet.t_ns - time.zero_ns + time.offset_ns - connections[number].last_ns > JUMP_NS
            ):
                known = False  # the ports are used once more
        if not known and time.count == connections.shape[0]:
            return GROW_CONNECTIONS, i, rows
        if known and connections[number].rings < 0 and not connections[number].closed:
            payload = connections[number].payload_bytes + packet.payload_bytes
            is_wanted = payload >= RINGS_FROM_BYTES and time.free == 0
            if is_wanted and time.rings == segments.shape[0] and time.rings < MOST_RINGS:
                return GROW_RINGS, i, rows
        side = 0 if from_a else 1
        now_ns = _tell_time(time, packet, directions[max(number, 0), side], known, steps)
        if now_ns < 0:
            time.bad_number = packet.number
            return -now_ns, i, rows
        if now_ns > DAY_NS:
            time.bad_number = packet.number
            return TOO_LONG, i, rows
        time.now_ns = now_ns
        time.packets += 1
        if not known:
            earlier = number
            number = time.count
            time.count += 1
            c = connections[number]
            if from_a:
                c.high_a, c.low_a, c.port_a = packet.src_high, packet.src_low, packet.src_port
                c.high_b, c.low_b, c.port_b = packet.dst_high, packet.dst_low, packet.dst_port
            else:
                c.high_a, c.low_a, c.port_a = packet.dst_high, packet.dst_low, packet.dst_port
                c.high_b, c.low_b, c.port_b = packet.src_high, packet.src_low, packet.src_port
            _clear(c, directions[number])
            c.earlier = earlier
            c.last_ns = now_ns
            slots[slot] = number
        connection = connections[number]
        sender, receiver = directions[number, side], directions[number, 1 - side]
        if now_ns - connection.last_ns >= SILENCE_NS:
            connection.silent_from_ns, connection.silent_to_ns = connection.last_ns, now_ns
        connection.last_ns = now_ns
        connection.payload_bytes += packet.payload_bytes
        if connection.rings < 0 and not connection.closed and connection.payload_bytes >= RINGS_FROM_BYTES:
            if time.free > 0:
                time.free -= 1
                connection.rings = free[time.free]
            elif time.rings < segments.shape[0]:
                connection.rings = time.rings
                time.rings += 1
        ring = connection.rings
        at = max(ring, 0)
        if packet.flags & SYN:
            _synchronise(sender, packet, now_ns)
        elif sender.origin < 0:
            sender.origin = (packet.seq - 1) & 0xFFFFFFFF
            sender.sent = 1
        if packet.flags & TIMESTAMPS:
            if ring >= 0:
                _time_echo(sender, receiver, packet, now_ns, echoes[at, side], echoes[at, 1 - side])
            else:
                _advance_timestamp(sender, packet, now_ns)
        if packet.payload_bytes > 0:
            if _is_copy(packet, 2 * number + side, copies):
                sender.copies += 1
            else:
                _data(sender, connection, packet, now_ns, ring, segments[at, side], holes[at, side])
        if packet.flags & ACK:
            before = receiver.acked
            if _acknowledge(receiver, connection, packet, now_ns, 2 * number + 1 - side, ring, segments[at, 1 - side],
                            holes[at, 1 - side], time, gaps):  # fmt: skip
                now_bin = max(now_ns - 1, 0) // bin_ns  # what comes at its end is within it
                if receiver.bin >= 0 and now_bin > receiver.bin:
                    out[rows, 0], out[rows, 1], out[rows, 2] = 2 * number + 1 - side, receiver.bin, before
                    rows += 1
                receiver.bin = now_bin
        if packet.flags & FIN and sender.fin < 0:
            position = _position(sender, packet.seq) + packet.payload_bytes
            if 0 <= position - sender.sent <= FAR:
                sender.fin = position
            else:
                sender.odd += 1  # what was sent already cannot lie behind it
        if packet.flags & RST or (sender.fin >= 0 and receiver.fin >= 0):
            connection.closed = 1
            if ring >= 0:
                free[time.free] = ring
                time.free += 1
                connection.rings = -1
                sender.holes = receiver.holes = 0
    return DONE, count, rows
