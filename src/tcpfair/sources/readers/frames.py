"""TCP headers out of the bytes of a capture: records of pcap and blocks of pcapng, then link layer, IP and TCP. Compiled.

Every function gets a buffer and reads inside it only: lengths that a file states are checked before they are followed.
All that is compiled here is one module, for numba's cache does not see edits in other files.

Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, the list of link types of tcpdump.org; RFC 791, 8200, 9293, 7323.
"""

from __future__ import annotations

import numpy as np

from tcpfair.jit import jit, jit_cached, jit_inline

# a packet as it stands in the file
RECORD = np.dtype(
    [
        ("t_ns", "i8"),  # since 1970
        ("offset", "i8"),  # of its first byte in the buffer
        ("captured_bytes", "i8"),
        ("wire_bytes", "i8"),
        ("number", "i8"),  # in the file, from 1
        ("link_type", "i8"),
    ],
    align=True,
)

# a TCP segment; addresses are 128 bits in two halves, IPv4 as ::ffff:a.b.c.d
PACKET = np.dtype(
    [
        ("t_ns", "i8"),
        ("number", "i8"),
        ("src_high", "i8"),
        ("src_low", "i8"),
        ("dst_high", "i8"),
        ("dst_low", "i8"),
        ("seq", "i8"),
        ("ack", "i8"),
        ("tsval", "i8"),
        ("tsecr", "i8"),
        ("payload_bytes", "i4"),
        ("src_port", "i4"),
        ("dst_port", "i4"),
        ("window", "i4"),  # as in the header, not scaled
        ("ip_id", "i4"),  # 0 for IPv6
        ("flags", "i4"),
    ],
    align=True,
)
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
TIMESTAMPS = 0x100  # the segment has the option; the bits above those of TCP are this module's own
FRAGMENT = 0x200  # first of several
V6 = 0x400

NS_PER_S = 1_000_000_000
MOST_CAPTURED_BYTES = 1 << 20  # tcpdump's own bound is 256 KiB, of BIG TCP 512 KiB
MOST_BLOCK_BYTES = 1 << 24
MOST_SECONDS = 1 << 32  # what 32 bits of a pcap can say

# how a scan ended
MORE, FULL, BAD_LENGTH, BAD_FRACTION, BAD_TIME, BAD_INTERFACE, CONTROL = range(7)

# what a parse counts beside segments
NOT_TCP, FRAGMENTS, CUT_HEADERS, DAMAGED, UNTIMED = range(5)
COUNTS = 5

ETHERNET, SLL, SLL2, NULL, LOOP, PPP, PPP_HDLC, IPV4, IPV6 = 1, 113, 276, 0, 108, 9, 50, 228, 229
RAW = (101, 12, 14)
LINK_TYPES = (ETHERNET, SLL, SLL2, NULL, LOOP, PPP, PPP_HDLC, IPV4, IPV6, *RAW)

_ETHERTYPE_IP, _ETHERTYPE_IPV6, _ETHERTYPE_PPPOE = 0x0800, 0x86DD, 0x8864
_MOST_TAGS, _MOST_EXTENSIONS = 4, 16
_V4_MAPPED = 0xFFFF << 32


def signed64(value: int) -> int:
    """The lower 64 bits of a number as PACKET holds them."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


@jit_inline
def _u16(data, at):
    """Network order."""
    return np.int64(data[at]) << 8 | np.int64(data[at + 1])


@jit_inline
def _u32(data, at):
    return (
        np.int64(data[at]) << 24 | np.int64(data[at + 1]) << 16 | np.int64(data[at + 2]) << 8 | np.int64(data[at + 3])
    )


@jit_inline
def _host16(data, at, big):
    """The order of the file."""
    if big:
        return _u16(data, at)
    return np.int64(data[at]) | np.int64(data[at + 1]) << 8


@jit_inline
def _host32(data, at, big):
    if big:
        return _u32(data, at)
    return (
        np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16 | np.int64(data[at + 3]) << 24
    )


@jit_inline
def _u64(data, at):
    return _u32(data, at) << 32 | _u32(data, at + 4)


@jit_cached
def scan_pcap(data, at, big, fractions_per_s, link_type, number, records):
    """Fill ``records`` with the packets of a pcap from ``data[at]`` on; (how it ended, where it stands, how many)."""
    count = 0
    end = data.shape[0]
    while at + 16 <= end:
        if count == records.shape[0]:
            return FULL, at, count
        seconds, fraction = _host32(data, at, big), _host32(data, at + 4, big)
        captured, wire = _host32(data, at + 8, big), _host32(data, at + 12, big)
        if captured > MOST_CAPTURED_BYTES or captured > wire:
            return BAD_LENGTH, at, count
        if fraction >= fractions_per_s:
            return BAD_FRACTION, at, count
        if at + 16 + captured > end:
            break
        record = records[count]
        record.t_ns = seconds * 1_000_000_000 + fraction * (1_000_000_000 // fractions_per_s)
        record.offset = at + 16
        record.captured_bytes = captured
        record.wire_bytes = wire
        record.number = number + count
        record.link_type = link_type
        count += 1
        at += 16 + captured
    return MORE, at, count


@jit_cached
def scan_pcapng(data, at, big, interfaces, interface_count, number, records):
    """The same for blocks of a pcapng, up to one that describes section or interface, which the caller reads.

    ``interfaces`` (interfaces, 4): link type, units per second, seconds to add, snap length. A packet without a time, of
    a simple packet block, gets t_ns = -1.
    """
    count = 0
    end = data.shape[0]
    while at + 12 <= end:
        if count == records.shape[0]:
            return FULL, at, count
        kind, length = _host32(data, at, big), _host32(data, at + 4, big)
        if kind == 0x0A0D0D0A or kind == 1:
            return CONTROL, at, count
        if length < 12 or length % 4 or length > MOST_BLOCK_BYTES:
            return BAD_LENGTH, at, count
        if at + length > end:
            break
        if _host32(data, at + length - 4, big) != length:
            return BAD_LENGTH, at, count
        if kind == 6 or kind == 2 or kind == 3:
            header = 12 if kind == 3 else 28
            if length < header + 4:
                return BAD_LENGTH, at, count
            room = length - header - 4
            interface, ticks = np.int64(0), np.int64(-1)
            if kind == 3:
                wire = _host32(data, at + 8, big)
            else:
                interface = _host32(data, at + 8, big) if kind == 6 else _host16(data, at + 8, big)
                high, low = _host32(data, at + 12, big), _host32(data, at + 16, big)
                if high >= 1 << 31:
                    return BAD_TIME, at, count
                ticks = high << 32 | low
                captured, wire = _host32(data, at + 20, big), _host32(data, at + 24, big)
            if interface >= interface_count:
                return BAD_INTERFACE, at, count
            if kind == 3:
                captured = min(wire, room)
                if interfaces[0, 3] > 0:
                    captured = min(captured, interfaces[0, 3])
            if captured > room or captured > MOST_CAPTURED_BYTES or captured > wire:
                return BAD_LENGTH, at, count
            record = records[count]
            record.t_ns = -1
            if kind != 3:
                units = interfaces[interface, 1]
                seconds = ticks // units + interfaces[interface, 2]
                if seconds < 0 or seconds >= MOST_SECONDS:
                    return BAD_TIME, at, count
                rest = ticks % units
                if units <= 1_000_000_000:
                    fraction_ns = rest * 1_000_000_000 // units
                else:
                    fraction_ns = np.int64(rest * (1e9 / units))
                record.t_ns = seconds * 1_000_000_000 + fraction_ns
            record.offset = at + header
            record.captured_bytes = captured
            record.wire_bytes = wire
            record.number = number + count
            record.link_type = interfaces[interface, 0]
            count += 1
        at += length
    return MORE, at, count


@jit
def _network_layer(data, at, end, link_type):
    """Where IP begins in a frame, -1 when it holds none."""
    if link_type == RAW[0] or link_type == RAW[1] or link_type == RAW[2] or link_type in (IPV4, IPV6):
        return at
    if link_type in (NULL, LOOP):
        # the family's number differs between systems; IP's own version decides
        return at + 4
    if link_type in (PPP, PPP_HDLC):
        if at + 2 <= end and data[at] == 0xFF and data[at + 1] == 0x03:
            at += 2
        if at + 2 > end:
            return -1
        protocol = _u16(data, at)
        return at + 2 if protocol == 0x0021 or protocol == 0x0057 else -1
    if link_type == SLL:
        at += 14
    elif link_type == ETHERNET:
        at += 12
    if at + 2 > end:
        return -1
    ethertype = _u16(data, at)
    at += 20 if link_type == SLL2 else 2
    for _ in range(_MOST_TAGS):
        if ethertype != 0x8100 and ethertype != 0x88A8 and ethertype != 0x9100:
            break
        if at + 4 > end:
            return -1
        ethertype = _u16(data, at + 2)
        at += 4
    if ethertype == _ETHERTYPE_PPPOE:
        if at + 8 > end:
            return -1
        protocol = _u16(data, at + 6)
        return at + 8 if protocol == 0x0021 or protocol == 0x0057 else -1
    return at if ethertype in (_ETHERTYPE_IP, _ETHERTYPE_IPV6) else -1


@jit
def _options(data, at, end, packet):
    """Timestamps among the options of TCP, as far as they were captured."""
    while at < end:
        kind = data[at]
        if kind == 0:
            return
        if kind == 1:
            at += 1
            continue
        if at + 2 > end or data[at + 1] < 2:
            return
        length = np.int64(data[at + 1])
        if kind == 8 and length == 10 and at + 10 <= end:
            packet.tsval = _u32(data, at + 2)
            packet.tsecr = _u32(data, at + 6)
            packet.flags |= TIMESTAMPS
            return
        at += length


@jit
def _segment(data, record, packet):
    """Fill ``packet`` from the frame; what kind it is instead, -1 when it is a segment."""
    at, end = record.offset, record.offset + record.captured_bytes
    ip = _network_layer(data, at, end, record.link_type)
    if ip < 0:
        return NOT_TCP
    if ip >= end:
        return CUT_HEADERS
    wire = record.wire_bytes - (ip - at)
    version = data[ip] >> 4
    packet.flags = 0
    if version == 4:
        if ip + 20 > end:
            return CUT_HEADERS
        header = np.int64(data[ip] & 0x0F) * 4
        if header < 20:
            return DAMAGED
        if data[ip + 9] != 6:
            return NOT_TCP
        fragment = _u16(data, ip + 6)
        if fragment & 0x1FFF:
            return FRAGMENTS
        if fragment & 0x2000:
            packet.flags = FRAGMENT
        total = _u16(data, ip + 2)
        packet.ip_id = _u16(data, ip + 4)
        packet.src_high = packet.dst_high = 0
        packet.src_low = _V4_MAPPED | _u32(data, ip + 12)
        packet.dst_low = _V4_MAPPED | _u32(data, ip + 16)
    elif version == 6:
        if ip + 40 > end:
            return CUT_HEADERS
        packet.flags = V6
        total = _u16(data, ip + 4)
        if total:
            total += 40
        packet.ip_id = 0
        packet.src_high, packet.src_low = _u64(data, ip + 8), _u64(data, ip + 16)
        packet.dst_high, packet.dst_low = _u64(data, ip + 24), _u64(data, ip + 32)
        following = np.int64(data[ip + 6])
        header = np.int64(40)
        for _ in range(_MOST_EXTENSIONS):
            if following == 6:
                break
            if not (following == 0 or following == 43 or following == 60 or following == 44 or following == 51):
                return NOT_TCP
            if ip + header + 8 > end:
                return CUT_HEADERS
            length = (np.int64(data[ip + header + 1]) + 1) * 8
            if following == 44:
                length = 8
                fragment = _u16(data, ip + header + 2)
                if fragment & 0xFFF8:
                    return FRAGMENTS
                if fragment & 1:
                    packet.flags |= FRAGMENT
            elif following == 51:
                length = (np.int64(data[ip + header + 1]) + 2) * 4
            following = np.int64(data[ip + header])
            header += length
        if following != 6:
            return DAMAGED
    else:
        return NOT_TCP
    if total == 0:  # offloaded segments of more than 65,535 bytes do not tell
        total = wire
    tcp = ip + header
    if tcp + 16 > end:
        return CUT_HEADERS
    tcp_header = np.int64(data[tcp + 12] >> 4) * 4
    payload = total - header - tcp_header
    if tcp_header < 20 or payload < 0 or total > wire:
        return DAMAGED
    packet.t_ns = record.t_ns
    packet.number = record.number
    packet.src_port, packet.dst_port = _u16(data, tcp), _u16(data, tcp + 2)
    packet.seq, packet.ack = _u32(data, tcp + 4), _u32(data, tcp + 8)
    packet.flags |= data[tcp + 13]
    packet.window = _u16(data, tcp + 14)
    packet.payload_bytes = payload
    packet.tsval = packet.tsecr = 0
    _options(data, tcp + 20, min(tcp + tcp_header, end), packet)
    return -1


@jit_cached
def parse(data, records, count, packets, counts):
    """Fill ``packets`` with the TCP segments of the first ``count`` records; how many there are. Adds to ``counts``."""
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
