"""Captures made by hand: segments with all their fields, frames around them, files around the frames."""

import struct
from dataclasses import dataclass
from functools import cache, cached_property, partial
from ipaddress import ip_address

SENDER, RECEIVER = ("10.0.0.1", 40_001), ("10.0.0.2", 5201)
START_S = 1_700_000_000.0
MSS = 1000
FIN, SYN, RST, ACK = 1, 2, 4, 16
address = cache(ip_address)  # of few hosts, and a packet has two
ETHERNET, RAW, NULL, SLL, SLL2, PPP = 1, 101, 0, 113, 276, 9


@dataclass(frozen=True)
class Segment:
    """One packet; ``t_s`` since START_S."""

    t_s: float
    source: tuple[str, int] = SENDER
    target: tuple[str, int] = RECEIVER
    seq: int = 0
    ack: int = 0
    flags: int = ACK
    payload_bytes: int = 0
    window: int = 500
    times: tuple[int, int] | None = None  # tsval, tsecr
    ip_id: int = 0
    fragment: int = 0
    ip_options: bytes = b""
    extensions: bytes = b""  # of IPv6, the first names TCP as the one after it
    total: int | None = None  # length in the IP header, when it is not the true one

    @cached_property
    def packet(self) -> bytes:
        """IP and TCP with zeros as payload."""
        options = struct.pack(">BBBBII", 1, 1, 8, 10, *self.times) if self.times else b""
        tcp = struct.pack(
            ">HHIIBBHHH", self.source[1], self.target[1], self.seq % 2**32, self.ack % 2**32, (20 + len(options)) // 4 << 4,
            self.flags, self.window, 0, 0,
        )  # fmt: skip
        tcp += options + bytes(self.payload_bytes)
        source, target = address(self.source[0]), address(self.target[0])
        is_v6 = source.version == 6
        length = 20 * (not is_v6) + len(self.ip_options) + len(self.extensions) + len(tcp)
        length = (length if self.total is None else self.total) % 65_536
        if is_v6:
            header = struct.pack(">IHBB", 6 << 28, length, 0 if self.extensions else 6, 64)
        else:
            first = 0x40 | (20 + len(self.ip_options)) // 4
            header = struct.pack(">BBHHHBBH", first, 0, length, self.ip_id, self.fragment, 64, 6, 0)
        return header + source.packed + target.packed + self.ip_options + self.extensions + tcp


def bulk(
    segments: int = 200, *, rtt_s: float = 0.05, place: float = 0.0, rate: float = 1000.0, isn: int = 1000, start_s: float = 0.0,
    source: tuple[str, int] = SENDER, target: tuple[str, int] = RECEIVER, syn: bool = True, fin: bool = True, times: bool = True,
) -> list[Segment]:  # fmt: skip
    """One flow of ``segments`` of MSS bytes at ``rate`` a second, each acknowledged, seen at ``place`` (0 sender, 1 receiver)."""
    there, back, peer_isn = start_s + rtt_s * place / 2, start_s + rtt_s * (1 - place / 2), 9_000_000
    data = partial(Segment, source=source, target=target, ack=peer_isn + 1)
    answer = partial(Segment, source=target, target=source, seq=peer_isn + 1)
    both = []
    if syn:
        both.append(data(there, seq=isn, ack=0, flags=SYN))
        both.append(answer(back, seq=peer_isn, ack=isn + 1, flags=SYN | ACK))
        both.append(data(rtt_s + there, seq=isn + 1))
    for k in range(segments):
        t_s, seq = rtt_s + (k + 1) / rate, isn + 1 + k * MSS
        # the sender has heard what the receiver said an RTT/2 before
        tick, heard = 1_000_000 + round(t_s * 1000), 5_000_000 + int((t_s - rtt_s / 2) * 1000)
        echo = 5_000_000 + round((t_s + rtt_s / 2) * 1000), tick
        of_data, of_ack = ((tick, heard), echo) if times else (None, None)
        both.append(data(t_s + there, seq=seq, payload_bytes=MSS, times=of_data, ip_id=k + 1))
        both.append(answer(t_s + back, ack=seq + MSS, times=of_ack, ip_id=k + 1))
    if fin:
        t_s, seq = rtt_s + (segments + 1) / rate, isn + 1 + segments * MSS
        both.append(data(t_s + there, seq=seq, flags=FIN | ACK))
        both.append(answer(t_s + back, ack=seq + 1, flags=FIN | ACK))
    return sorted(both, key=lambda one: one.t_s)


def framed(packet: bytes, link_type: int, tags: bytes = b"") -> bytes:
    """A packet in its frame; ``tags`` of VLANs without the last type."""
    v6 = packet[:1] and packet[0] >> 4 == 6
    ethertype = b"\x86\xdd" if v6 else b"\x08\x00"
    return {
        ETHERNET: bytes(12) + tags + ethertype + packet,
        RAW: packet,
        NULL: struct.pack("<I", 10 if v6 else 2) + packet,
        SLL: bytes(14) + ethertype + packet,
        SLL2: ethertype + bytes(18) + packet,
        PPP: b"\xff\x03" + (b"\x00\x57" if v6 else b"\x00\x21") + packet,
    }[link_type]


def stamp(t_s: float, fractions: int) -> tuple[int, int]:
    """Seconds and fraction."""
    return divmod(round((START_S + t_s) * 1e6) * (fractions // 1_000_000), fractions)


def pcap_header(order: str = "<", nano: bool = False, link_type: int = ETHERNET) -> bytes:
    return struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 262_144, link_type)


def pcap_record(frame: bytes, t_s: float, order: str = "<", nano: bool = False, snap_bytes: int = 262_144) -> bytes:
    seconds, fraction = stamp(t_s, 10**9 if nano else 10**6)
    kept = frame[:snap_bytes]
    return struct.pack(order + "IIII", seconds, fraction, len(kept), len(frame)) + kept


def pcap(
    segments: list[Segment], *, order: str = "<", nano: bool = False, link_type: int = ETHERNET, snap_bytes: int = 100,
    tags: bytes = b"",
) -> bytes:  # fmt: skip
    """A whole file."""
    records = [
        pcap_record(framed(one.packet, link_type, tags), one.t_s, order, nano, snap_bytes + len(tags))
        for one in segments
    ]
    return pcap_header(order, nano, link_type) + b"".join(records)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = len(body) + 12
    return struct.pack(order + "II", kind, length) + body + struct.pack(order + "I", length)


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(
    order: str = "<", link_type: int = ETHERNET, resolution: int | None = None, offset_s: int | None = None
) -> bytes:
    body = struct.pack(order + "HHI", link_type, 0, 0)
    if resolution is not None:
        body += struct.pack(order + "HHBxxx", 9, 1, resolution)
    if offset_s is not None:
        body += struct.pack(order + "HHq", 14, 8, offset_s)
    return block(1, body + bytes(4), order)


def enhanced(
    one: Segment, order: str = "<", number: int = 0, units: int = 1_000_000, offset_s: int = 0, link_type: int = ETHERNET,
    kind: int = 6,
) -> bytes:  # fmt: skip
    """An enhanced packet block, or the obsolete one (``kind`` 2)."""
    frame = framed(one.packet, link_type)
    ticks = round((START_S - offset_s + one.t_s) * 1e6) * units // 1_000_000
    head = struct.pack(order + "I", number) if kind == 6 else struct.pack(order + "HH", number, 0)
    kept = frame[:100]
    head += struct.pack(order + "IIII", ticks >> 32, ticks & 0xFFFFFFFF, len(kept), len(frame))
    return block(kind, head + kept, order)


def pcapng(segments: list[Segment], order: str = "<", described: bytes | None = None, **more: int) -> bytes:
    """A whole file, by default of one interface; ``more`` of each `enhanced` block."""
    head = section(order) + (interface(order) if described is None else described)
    return head + b"".join(enhanced(one, order, **more) for one in segments)
