"""TCP headers out of the bytes of a capture: records of pcap and blocks of pcapng, then link layer, IP and TCP. Compiled.

Every function reads only inside its buffer: lengths in a file are checked before use. All compiled code is in one
module, because numba's cache does not detect edits in other files. dpkt parses the same headers one packet at a time in
Python, at a fiftieth of the speed, and reads only pcapng of one interface: tests compare with it.

Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, the list of link types of tcpdump.org; RFC 791, 8200, 9293, 7323.
"""

from __future__ import annotations

import numpy as np

from tcpfair.jit import jit, jit_cached, jit_inline


def fields(words: str) -> np.dtype:
    """Integers of 64 bits, from lines of names, ``:`` and their meaning."""
    names = " ".join(line.partition(":")[0] for line in words.splitlines()).split()
    return np.dtype([(name, "i8") for name in names], align=True)


# a packet in the file
RECORD = fields("""
    t_ns: since 1970, -1: unknown
    offset: of its first byte in the buffer
    captured_bytes wire_bytes
    number: in the file, from 1
    link_type
""")
PACKET = fields("""
    t_ns number: as in RECORD
    src_high src_low dst_high dst_low: 128 bits in two halves, IPv4 as ::ffff:a.b.c.d
    seq ack tsval tsecr payload_bytes src_port dst_port
    window: as in the header, not scaled
    ip_id: 0 for IPv6
    flags: of TCP, and above those TIMESTAMPS, FRAGMENT and V6
""")
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
TIMESTAMPS = 0x100  # the segment has the option
FRAGMENT = 0x200  # first of several
V6 = 0x400

NS_PER_S = 1_000_000_000
MOST_CAPTURED_BYTES = 1 << 20  # tcpdump's own bound is 256 KiB, of BIG TCP 512 KiB
MOST_BLOCK_BYTES = 1 << 24
MOST_SECONDS = 1 << 32  # the range of the 32 bits of a pcap

# how a scan ended
MORE, FULL, BAD_LENGTH, BAD_FRACTION, BAD_TIME, BAD_INTERFACE, CONTROL = range(7)

# counts of a parse besides segments
NOT_TCP, FRAGMENTS, CUT_HEADERS, DAMAGED, UNTIMED = range(5)
COUNTS = 5

ETHERNET, SLL, SLL2, NULL, LOOP, PPP, PPP_HDLC, IPV4, IPV6 = 1, 113, 276, 0, 108, 9, 50, 228, 229
RAW = (101, 12, 14)
LINK_TYPES = (ETHERNET, SLL, SLL2, NULL, LOOP, PPP, PPP_HDLC, IPV4, IPV6, *RAW)
_BARE = (IPV4, IPV6, *RAW)

_PPPOE, _IP_IN_ETHERNET, _IP_IN_PPP = 0x8864, (0x0800, 0x86DD), (0x0021, 0x0057)
_TAGS = (0x8100, 0x88A8, 0x9100)
_HOPS, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DESTINATION, _TCP = 0, 43, 44, 51, 60, 6  # headers after IPv6's
_EXTENSIONS = (_HOPS, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DESTINATION)
_MOST_TAGS, _MOST_EXTENSIONS = 4, 16
_V4_MAPPED = 0xFFFF << 32


@jit_inline
def _number(data, at, size, big=True):
    """The number of ``size`` bytes, in network order or reversed."""
    value = np.int64(0)
    for k in range(size):
        value = value << 8 | np.int64(data[at + (k if big else size - 1 - k)])
    return value


@jit
def _record(record, t_ns, offset, captured_bytes, wire_bytes, number, link_type):
    record.t_ns, record.offset, record.number, record.link_type = t_ns, offset, number, link_type
    record.captured_bytes, record.wire_bytes = captured_bytes, wire_bytes


@jit_cached
def scan_pcap(data, at, big, interfaces, number, records):
    """Fill ``records`` with the packets of a pcap from ``data[at]`` on; (how it ended, where it stopped, how many).

    ``interfaces`` (interfaces, 4): link type, units per second, seconds to add, snap length; a pcap has one.
    """
    units = interfaces[0, 1]
    for count in range(records.shape[0]):
        if at + 16 > data.shape[0]:
            return MORE, at, count
        seconds, fraction = _number(data, at, 4, big), _number(data, at + 4, 4, big)
        captured, wire = _number(data, at + 8, 4, big), _number(data, at + 12, 4, big)
        if captured > MOST_CAPTURED_BYTES or captured > wire:
            return BAD_LENGTH, at, count
        if fraction >= units:
            return BAD_FRACTION, at, count
        if at + 16 + captured > data.shape[0]:
            return MORE, at, count
        t_ns = seconds * NS_PER_S + fraction * (NS_PER_S // units)
        _record(records[count], t_ns, at + 16, captured, wire, number + count, interfaces[0, 0])
        at += 16 + captured
    return FULL, at, records.shape[0]


@jit_cached
def scan_pcapng(data, at, big, interfaces, number, records):
    """The same for blocks of a pcapng, up to one that describes section or interface, which the caller reads.

    A packet without a time, of a simple packet block, gets t_ns = -1.
    """
    count = 0
    while at + 12 <= data.shape[0]:
        if count == records.shape[0]:
            return FULL, at, count
        kind, length = _number(data, at, 4, big), _number(data, at + 4, 4, big)
        if kind == 0x0A0D0D0A or kind == 1:
            return CONTROL, at, count
        if length < 12 or length % 4 or length > MOST_BLOCK_BYTES:
            return BAD_LENGTH, at, count
        if at + length > data.shape[0]:
            break
        if _number(data, at + length - 4, 4, big) != length:
            return BAD_LENGTH, at, count
        is_simple = kind == 3
        if is_simple or kind == 6 or kind == 2:
            header = 12 if is_simple else 28
            room = length - header - 4
            if room < 0:
                return BAD_LENGTH, at, count
            interface = np.int64(0) if is_simple else _number(data, at + 8, 4 if kind == 6 else 2, big)
            high = np.int64(0) if is_simple else _number(data, at + 12, 4, big)
            if high >= 1 << 31:
                return BAD_TIME, at, count
            if interface >= interfaces.shape[0]:
                return BAD_INTERFACE, at, count
            link_type, units, offset_s, snap_bytes = interfaces[interface]
            if is_simple:
                t_ns, wire = np.int64(-1), _number(data, at + 8, 4, big)
                captured = min(wire, room, snap_bytes if snap_bytes > 0 else room)
            else:
                captured, wire = _number(data, at + 20, 4, big), _number(data, at + 24, 4, big)
            if captured > room or captured > MOST_CAPTURED_BYTES or captured > wire:
                return BAD_LENGTH, at, count
            if not is_simple:
                ticks = high << 32 | _number(data, at + 16, 4, big)
                seconds, rest = ticks // units + offset_s, ticks % units
                if seconds < 0 or seconds >= MOST_SECONDS:
                    return BAD_TIME, at, count
                is_coarse = units <= NS_PER_S
                t_ns = seconds * NS_PER_S + (rest * NS_PER_S // units if is_coarse else np.int64(rest * (1e9 / units)))
            _record(records[count], t_ns, at + header, captured, wire, number + count, link_type)
            count += 1
        at += length
    return MORE, at, count


@jit
def _network_layer(data, at, end, link_type):
    """Where IP begins in a frame, -1 when it holds none."""
    if link_type in _BARE:
        return at
    if link_type in (NULL, LOOP):
        # the family's number differs between systems; IP's own version decides
        return at + 4
    type_at, types = at, _IP_IN_ETHERNET
    if link_type in (PPP, PPP_HDLC):
        if at + 2 <= end and data[at] == 0xFF and data[at + 1] == 0x03:
            type_at += 2
        at, types = type_at + 2, _IP_IN_PPP
    else:
        type_at += 14 if link_type == SLL else 12 if link_type == ETHERNET else 0
        at = type_at + (20 if link_type == SLL2 else 2)
        for _ in range(_MOST_TAGS):
            if type_at + 2 <= end and _number(data, type_at, 2) in _TAGS:
                type_at, at = at + 2, at + 4
        if type_at + 2 <= end and _number(data, type_at, 2) == _PPPOE:
            type_at, at, types = at + 6, at + 8, _IP_IN_PPP
    return at if type_at + 2 <= end and _number(data, type_at, 2) in types else -1


@jit
def _options(data, at, end, packet):
    """Timestamps among the options of TCP, as far as they were captured."""
    while at < end and data[at] > 0:
        if data[at] == 1:
            at += 1
            continue
        if at + 2 > end or data[at + 1] < 2:
            return
        if data[at] == 8 and data[at + 1] == 10 and at + 10 <= end:
            packet.tsval, packet.tsecr = _number(data, at + 2, 4), _number(data, at + 6, 4)
            packet.flags |= TIMESTAMPS
            return
        at += np.int64(data[at + 1])


@jit
def _segment(data, record, packet):
    """Fill ``packet`` from the frame; return its other kind, or -1 for a segment."""
    end = record.offset + record.captured_bytes
    ip = _network_layer(data, record.offset, end, record.link_type)
    if ip < 0:
        return NOT_TCP
    if ip >= end:
        return CUT_HEADERS
    wire = record.wire_bytes - (ip - record.offset)
    version, fragment, following = data[ip] >> 4, np.int64(0), np.int64(_TCP)
    if version == 4:
        if ip + 20 > end:
            return CUT_HEADERS
        header, following = np.int64(data[ip] & 0x0F) * 4, np.int64(data[ip + 9])
        if header < 20:
            return DAMAGED
        # offset of the fragment, and whether more come, as IPv6 has them
        fragment = _number(data, ip + 6, 2)
        fragment = (fragment & 0x1FFF) << 3 | fragment >> 13 & 1
        total, packet.ip_id, packet.flags = _number(data, ip + 2, 2), _number(data, ip + 4, 2), 0
        packet.src_high = packet.dst_high = 0
        packet.src_low, packet.dst_low = _V4_MAPPED | _number(data, ip + 12, 4), _V4_MAPPED | _number(data, ip + 16, 4)
    elif version == 6:
        if ip + 40 > end:
            return CUT_HEADERS
        header, following = np.int64(40), np.int64(data[ip + 6])
        total, packet.ip_id, packet.flags = _number(data, ip + 4, 2), 0, V6
        total += 40 if total else 0
        packet.src_high, packet.src_low = _number(data, ip + 8, 8), _number(data, ip + 16, 8)
        packet.dst_high, packet.dst_low = _number(data, ip + 24, 8), _number(data, ip + 32, 8)
        for _ in range(_MOST_EXTENSIONS):
            if following not in _EXTENSIONS:
                break
            at = ip + header
            if at + 8 > end:
                return CUT_HEADERS
            length = np.int64(data[at + 1])
            header += (
                8 if following == _FRAGMENT else 4 * (length + 2) if following == _AUTHENTICATION else 8 * (length + 1)
            )
            if following == _FRAGMENT:
                fragment = _number(data, at + 2, 2)
                if fragment & 0xFFF8:
                    return FRAGMENTS
            following = np.int64(data[at])
        if following in _EXTENSIONS:
            return DAMAGED
    if following != _TCP or version not in (4, 6):
        return NOT_TCP
    if fragment & 0xFFF8:
        return FRAGMENTS
    if fragment & 1:
        packet.flags |= FRAGMENT
    total = total or wire  # offloaded segments of more than 65,535 bytes have no length
    tcp = ip + header
    if tcp + 16 > end:
        return CUT_HEADERS
    tcp_header = np.int64(data[tcp + 12] >> 4) * 4
    packet.payload_bytes = total - header - tcp_header
    if tcp_header < 20 or packet.payload_bytes < 0 or total > wire:
        return DAMAGED
    packet.t_ns, packet.number = record.t_ns, record.number
    packet.src_port, packet.dst_port = _number(data, tcp, 2), _number(data, tcp + 2, 2)
    packet.seq, packet.ack = _number(data, tcp + 4, 4), _number(data, tcp + 8, 4)
    packet.flags |= data[tcp + 13]
    packet.window = _number(data, tcp + 14, 2)
    packet.tsval = packet.tsecr = 0
    _options(data, tcp + 20, min(tcp + tcp_header, end), packet)
    return -1


@jit_cached
def parse(data, records, count, packets, counts):
    """Fill ``packets`` with the TCP segments of the first ``count`` records; return their number. Adds to ``counts``."""
    found = 0
    for i in range(count):
        kind = _segment(data, records[i], packets[found])
        if kind >= 0:
            counts[kind] += 1
        elif records[i].t_ns < 0:
            counts[UNTIMED] += 1
        else:
            found += 1
    return found
