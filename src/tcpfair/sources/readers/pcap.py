"""Captures of tcpdump, dumpcap, Wireshark: pcap (microseconds and nanoseconds, both byte orders) and pcapng.

pcap: draft-ietf-opsawg-pcap. pcapng: draft-ietf-opsawg-pcapng; sections, interfaces with their if_tsresol and if_tsoffset,
enhanced and the obsolete packet blocks; simple packet blocks have no times and are skipped, as are other blocks. Link
layers: Ethernet (VLAN tags, PPPoE), Linux cooked 1 and 2, raw IP, loopback, PPP. Headers suffice: tcpdump -s 100. Files
are read in pieces; `packets` evaluates the packets.
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tcpfair.errors import InputError
from tcpfair.sources.readers import frames
from tcpfair.sources.readers.observed import Observed
from tcpfair.sources.readers.packets import Tracker
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import chunks, head_bytes, naming_file

NAME = "pcap"
ACCEPTS = "captures of TCP (pcap or pcapng, at least 100 bytes of each packet)"

PIECE_BYTES = 1 << 23
RECORDS = 1 << 17
MOST_INTERFACES = 1024
PROGRESS_FROM_BYTES = 100_000_000
PROGRESS_S = 2.0
MICROSECONDS, NANOSECONDS = 1_000_000, 1_000_000_000

PCAP = {  # magic number: byte order, fractions of a second
    b"\xa1\xb2\xc3\xd4": (">", MICROSECONDS),
    b"\xd4\xc3\xb2\xa1": ("<", MICROSECONDS),
    b"\xa1\xb2\x3c\x4d": (">", NANOSECONDS),
    b"\x4d\x3c\xb2\xa1": ("<", NANOSECONDS),
}
PCAPNG = b"\x0a\x0d\x0d\x0a"
BYTE_ORDER = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
FILE_HEADER_BYTES = 24
IF_TSRESOL, IF_TSOFFSET = 9, 14
LEAST_PACKETS_TO_TELL_UNITS = 50
WRONG = {
    frames.BAD_LENGTH: "a length that no capture has; the file is damaged, copy it again",
    frames.BAD_FRACTION: "time: its fraction of a second is a second or more; the file is damaged, or its times are nanoseconds "
    "but its header states microseconds",
    frames.BAD_TIME: "time: beyond the year 2106 or before 1970; if_tsresol and if_tsoffset must be those of the times",
    frames.BAD_INTERFACE: "of an interface that the file does not describe; copy it again",
}


def sniff(path: Path) -> bool:
    """Whether ``path`` is a pcap or pcapng, plain or packed."""
    return _is_capture(head_bytes(path))


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """The flows of a capture."""
    tracker = Tracker(path)
    capture = _Capture(path, tracker.counts)
    told_s = time.monotonic()
    for packets in capture.packets():
        tracker.add(packets)
        if capture.seen_bytes >= PROGRESS_FROM_BYTES and time.monotonic() - told_s > PROGRESS_S:
            told_s = time.monotonic()
            print(f"{path.name}: {capture.progress()}", file=sys.stderr, flush=True)
    return tracker.observed(NAME, said, capture.remarks)


def _is_capture(start: bytes) -> bool:
    return start[:4] in PCAP or (start[:4] == PCAPNG and start[8:12] in BYTE_ORDER)


class _Capture:
    """The TCP segments of a file, piece by piece."""

    def __init__(self, path: Path, counts: np.ndarray) -> None:
        """``counts``: of packets that are no segments, see `frames.parse`."""
        self.path, self.counts = path, counts
        self.remarks: list[str] = []
        self.seen_bytes = 0
        self.number = 1  # of the next packet
        self._order = "<"
        self._interfaces: list[tuple[int, int, int, int]] = []

    def progress(self) -> str:
        """Progress as text."""
        size = self.path.stat().st_size
        of = f" of {size / 1e6:,.0f}" if self.seen_bytes <= size else ""
        return f"{self.seen_bytes / 1e6:,.0f}{of} MB, {self.number - 1:,} packets"

    def packets(self) -> Iterator[np.ndarray]:
        """Arrays of `frames.PACKET`; each overwrites the previous one."""
        pieces = chunks(self.path, PIECE_BYTES)
        data = next(pieces, b"")
        while len(data) < FILE_HEADER_BYTES + 8 and (more := next(pieces, b"")):
            data += more
        if not _is_capture(data):
            raise InputError("neither pcap nor pcapng; give a file of tcpdump, dumpcap or Wireshark")
        is_pcap = data[:4] in PCAP
        scan, at = (frames.scan_pcap, self._header(data)) if is_pcap else (frames.scan_pcapng, 0)
        # no fraction of a second has nanoseconds, but the header has the magic number of nanoseconds
        is_micro, seconds = is_pcap and self._interfaces[0][1] == NANOSECONDS, set()
        records, packets = np.zeros(RECORDS, frames.RECORD), np.zeros(RECORDS, frames.PACKET)
        while data:
            buffer, ended = np.frombuffer(data, np.uint8), frames.FULL
            while ended in (frames.FULL, frames.CONTROL):
                interfaces = np.array(self._interfaces, np.int64).reshape(-1, 4)
                ended, at, count = scan(buffer, at, self._order == ">", interfaces, self.number, records)
                if count:
                    t_ns = records["t_ns"][:count]
                    seconds |= {int(t_ns[0]) // NANOSECONDS, int(t_ns[-1]) // NANOSECONDS} if is_micro else set()
                    is_micro = is_micro and bool((t_ns % NANOSECONDS < MICROSECONDS).all())
                    found = frames.parse(buffer, records, count, packets, self.counts)
                    self.number += count
                    yield packets[:found]
                if ended in WRONG:
                    raise InputError(f"packet {self.number}: {WRONG[ended]}")
                if ended == frames.CONTROL:
                    length = self._control(memoryview(data)[at:])
                    if not length:
                        break  # its end is in the next piece
                    at += length
            rest, piece, at = data[at:], next(pieces, b""), 0
            self.seen_bytes += len(piece)
            if rest and not piece:
                self.remarks.append(f"{self.path.name}: cut within its last packet, which is skipped")
            data = rest + piece if piece else b""
        if is_micro and len(seconds) > 1 and self.number > LEAST_PACKETS_TO_TELL_UNITS:
            raise InputError(
                "its header states nanoseconds, but no fraction of a second reaches 1,000,000 of them; they must be "
                "microseconds: correct the magic number (a1b2c3d4)"
            )

    def _header(self, data: bytes) -> int:
        """Read a pcap's header and return the position of its first packet."""
        self._order, fractions = PCAP[data[:4]]
        if len(data) < FILE_HEADER_BYTES:
            raise InputError("cut within its header; copy the file again")
        major, minor, _, _, snap_bytes, link_type = struct.unpack_from(f"{self._order}HHIIII", data, 4)
        if (major, minor) != (2, 4):
            raise InputError(f"version {major}.{minor} of pcap; 2.4 is the only one in use")
        self._add_interface(link_type & 0xFFFF, fractions, 0, snap_bytes)
        return FILE_HEADER_BYTES

    def _add_interface(self, link_type: int, units: int, offset_s: int, snap_bytes: int) -> None:
        if link_type not in frames.LINK_TYPES:
            raise InputError(
                f"link type {link_type} is not read; capture on Ethernet, loopback, raw IP or PPP, or with -i any"
            )
        self._interfaces.append((link_type, units, offset_s, snap_bytes))

    def _control(self, block: memoryview) -> int:
        """Read the section header or interface description that begins a block: its length, 0 when it is cut."""
        is_section = block[:4] == PCAPNG
        least = 28 if is_section else 20
        if len(block) < least:
            return 0
        if is_section:
            magic = bytes(block[8:12])
            if magic not in BYTE_ORDER:
                raise InputError(f"section after packet {self.number - 1}: no byte-order magic; copy the file again")
            self._order = BYTE_ORDER[magic]
        length, _, major = struct.unpack_from(f"{self._order}IIH", block, 4)
        is_length = length % 4 == 0 and least <= length <= frames.MOST_BLOCK_BYTES
        if is_length and len(block) < length:
            return 0
        if not is_length or block[length - 4 : length] != block[4:8]:
            raise InputError(f"packet {self.number}: {WRONG[frames.BAD_LENGTH]}")
        if not is_section:
            self._describe(block[8 : length - 4])
        elif major == 1:
            self._interfaces = []
        else:
            raise InputError(f"version {major} of pcapng; 1 is the only one in use")
        return length

    def _describe(self, body: memoryview) -> None:
        """Read an interface description."""
        if len(self._interfaces) == MOST_INTERFACES:
            raise InputError(f"more than {MOST_INTERFACES} interfaces; give a capture of one")
        link_type, _, snap_bytes = struct.unpack_from(f"{self._order}HHI", body)
        units, offset_s, at = MICROSECONDS, 0, 8
        while at + 4 <= len(body):
            code, size = struct.unpack_from(f"{self._order}HH", body, at)
            value = body[at + 4 : at + 4 + size]
            if code == 0 or len(value) < size:
                break
            if code == IF_TSRESOL and size == 1:
                units = (2 if value[0] & 0x80 else 10) ** (value[0] & 0x7F)
                if units > 10**18:
                    raise InputError(f"if_tsresol: {value[0]} is finer than any clock; the file is damaged")
            if code == IF_TSOFFSET and size == 8:
                (offset_s,) = struct.unpack(f"{self._order}q", value)
                if abs(offset_s) > frames.MOST_SECONDS:
                    raise InputError(f"if_tsoffset: {offset_s} s is beyond any date; the file is damaged")
            at += 4 + size + -size % 4
        self._add_interface(link_type, units, offset_s, snap_bytes)
