"""Captures of tcpdump, dumpcap, Wireshark: pcap (microseconds and nanoseconds, both byte orders) and pcapng.

pcap: draft-ietf-opsawg-pcap. pcapng: draft-ietf-opsawg-pcapng; sections, interfaces with their if_tsresol and if_tsoffset,
enhanced and the obsolete packet blocks; simple packet blocks have no times and are passed over, as other blocks are. Link
layers: Ethernet (VLAN tags, PPPoE), Linux cooked 1 and 2, raw IP, loopback, PPP. Headers suffice: tcpdump -s 100. Files are
read in pieces; what follows from the packets is `packets`'s.
"""

from __future__ import annotations

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
from tcpfair.sources.readers.text import chunks, head_bytes

NAME = "pcap"
ACCEPTS = "captures of TCP (pcap or pcapng, at least 100 bytes of each packet)"
BACKEND = "pcap"

PIECE_BYTES = 1 << 23
RECORDS = 1 << 17
MOST_INTERFACES = 1024
PROGRESS_FROM_BYTES = 100_000_000
PROGRESS_S = 2.0
MICROSECONDS, NANOSECONDS = 1_000_000, 1_000_000_000

# magic number: big-endian?, fractions of a second
PCAP = {
    bytes.fromhex("a1b2c3d4"): (True, MICROSECONDS),
    bytes.fromhex("d4c3b2a1"): (False, MICROSECONDS),
    bytes.fromhex("a1b23c4d"): (True, NANOSECONDS),
    bytes.fromhex("4d3cb2a1"): (False, NANOSECONDS),
}
PCAPNG = bytes.fromhex("0a0d0d0a")
BYTE_ORDER = {bytes.fromhex("1a2b3c4d"): True, bytes.fromhex("4d3c2b1a"): False}
FILE_HEADER_BYTES = 24
IF_TSRESOL, IF_TSOFFSET = 9, 14
LEAST_PACKETS_TO_TELL_UNITS = 50


def sniff(path: Path) -> bool:
    """Whether ``path`` is a pcap or pcapng, plain or packed."""
    return path.is_file() and _is_capture(head_bytes(path))


def read(path: Path, said: Sidecar) -> Observed:
    """The flows of a capture.

    Raises InputError for a file that is damaged, for lengths or times that cannot be, and as `Tracker` does.
    """
    capture = _Capture(path)
    tracker = Tracker(path)
    told_s = time.monotonic()
    for packets in capture.packets():
        tracker.add(packets)
        if capture.seen_bytes >= PROGRESS_FROM_BYTES and time.monotonic() - told_s > PROGRESS_S:
            told_s = time.monotonic()
            print(f"{path.name}: {capture.progress()}", file=sys.stderr, flush=True)
    tracker.counts += capture.counts
    return tracker.observed(BACKEND, said, capture.remarks)


def _is_capture(start: bytes) -> bool:
    return start[:4] in PCAP or (start[:4] == PCAPNG and start[8:12] in BYTE_ORDER)


class _Capture:
    """The TCP segments of a file, piece by piece."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts = np.zeros(frames.COUNTS, np.int64)
        self.remarks: list[str] = []
        self.seen_bytes = 0
        self.number = 1  # of the next packet
        self._records = np.zeros(RECORDS, frames.RECORD)
        self._packets = np.zeros(RECORDS, frames.PACKET)
        self._big = False
        self._interfaces = np.zeros((MOST_INTERFACES, 4), np.int64)
        self._interface_count = 0
        self._seconds_seen: set[int] = set()

    def progress(self) -> str:
        """How far it is, in words."""
        size = self.path.stat().st_size
        of = f" of {size / 1e6:,.0f}" if self.seen_bytes <= size else ""
        return f"{self.seen_bytes / 1e6:,.0f}{of} MB, {self.number - 1:,} packets"

    def packets(self) -> Iterator[np.ndarray]:
        """Arrays of `frames.PACKET`, which the next one overwrites."""
        pieces = chunks(self.path, PIECE_BYTES)
        start = next(pieces, b"")
        while len(start) < FILE_HEADER_BYTES + 8 and (more := next(pieces, b"")):
            start += more
        if start[:4] in PCAP:
            yield from self._of_pcap(start, pieces)
        elif _is_capture(start):
            yield from self._of_pcapng(start, pieces)
        else:
            raise InputError(f"{self.path}: neither pcap nor pcapng; give a file of tcpdump, dumpcap or Wireshark")

    def _of_pcap(self, data: bytes, pieces: Iterator[bytes]) -> Iterator[np.ndarray]:
        big, fractions = PCAP[data[:4]]
        order = "big" if big else "little"
        if len(data) < FILE_HEADER_BYTES:
            raise InputError(f"{self.path}: cut within its header; copy the file again")
        major, minor = int.from_bytes(data[4:6], order), int.from_bytes(data[6:8], order)
        if (major, minor) != (2, 4):
            raise InputError(f"{self.path}: version {major}.{minor} of pcap; 2.4 is the only one in use")
        link_type = int.from_bytes(data[20:24], order) & 0xFFFF
        self._check_link_type(link_type)
        is_millionth = fractions == NANOSECONDS  # as long as no time has nanoseconds
        at = FILE_HEADER_BYTES
        while data:
            buffer = np.frombuffer(data, np.uint8)
            ended = frames.FULL
            while ended == frames.FULL:
                ended, at, count = frames.scan_pcap(buffer, at, big, fractions, link_type, self.number, self._records)
                if is_millionth:
                    is_millionth = self._below_a_millionth(count)
                yield from self._parsed(buffer, count)
                if ended not in (frames.FULL, frames.MORE):
                    raise self._refused(ended)
            data, at = self._next(data[at:], pieces), 0
        if is_millionth and len(self._seconds_seen) > 1 and self.number > LEAST_PACKETS_TO_TELL_UNITS:
            raise InputError(
                f"{self.path}: its header says nanoseconds, but no fraction of a second reaches 1,000,000 of them; they must be "
                "microseconds: correct the magic number (a1b2c3d4)"
            )

    def _below_a_millionth(self, count: int) -> bool:
        t_ns = self._records["t_ns"][:count]
        if count:
            self._seconds_seen |= {int(t_ns[0]) // NANOSECONDS, int(t_ns[-1]) // NANOSECONDS}
        return bool((t_ns % NANOSECONDS < MICROSECONDS).all())

    def _of_pcapng(self, data: bytes, pieces: Iterator[bytes]) -> Iterator[np.ndarray]:
        at = 0
        while data:
            buffer = np.frombuffer(data, np.uint8)
            ended = frames.FULL
            while ended in (frames.FULL, frames.CONTROL):
                ended, at, count = frames.scan_pcapng(
                    buffer, at, self._big, self._interfaces, self._interface_count, self.number, self._records
                )
                yield from self._parsed(buffer, count)
                if ended == frames.CONTROL:
                    length = self._control(data, at)
                    if length == 0:
                        break  # its end is in the next piece
                    at += length
                elif ended not in (frames.FULL, frames.MORE):
                    raise self._refused(ended)
            data, at = self._next(data[at:], pieces), 0

    def _next(self, rest: bytes, pieces: Iterator[bytes]) -> bytes:
        """What comes after ``rest``, the beginning of a record; b"" at the end of the file."""
        piece = next(pieces, b"")
        self.seen_bytes += len(piece)
        if piece:
            return rest + piece
        if rest:
            self.remarks.append(f"{self.path.name}: cut within its last packet, which is left out")
        return b""

    def _parsed(self, buffer: np.ndarray, count: int) -> Iterator[np.ndarray]:
        if count:
            found = frames.parse(buffer, self._records, count, self._packets, self.counts)
            self.number += count
            yield self._packets[:found]

    def _refused(self, ended: int) -> InputError:
        where = f"{self.path}: packet {self.number}"
        return {
            frames.BAD_LENGTH: InputError(f"{where}: a length that no capture has; the file is damaged, copy it again"),
            frames.BAD_FRACTION: InputError(
                f"{where}: time: its fraction of a second is a second or more; the file is damaged, or its times are nanoseconds "
                "and its header says microseconds"
            ),
            frames.BAD_TIME: InputError(
                f"{where}: time: beyond the year 2106 or before 1970; if_tsresol and if_tsoffset must be those of the times"
            ),
            frames.BAD_INTERFACE: InputError(
                f"{where}: of an interface that the file does not describe; copy it again"
            ),
        }[ended]

    def _check_link_type(self, link_type: int) -> None:
        if link_type not in frames.LINK_TYPES:
            raise InputError(
                f"{self.path}: link type {link_type} is not read; capture on Ethernet, loopback, raw IP or PPP, or with -i any"
            )

    def _control(self, data: bytes, at: int) -> int:
        """Read the section header or interface description at ``at``: its length, 0 when it is not all there."""
        is_section = data[at : at + 4] == PCAPNG
        if len(data) - at < (28 if is_section else 20):
            return 0
        if is_section:
            if data[at + 8 : at + 12] not in BYTE_ORDER:
                raise InputError(
                    f"{self.path}: section after packet {self.number - 1}: no byte-order magic; copy the file again"
                )
            self._big = BYTE_ORDER[data[at + 8 : at + 12]]
        order = "big" if self._big else "little"
        length = int.from_bytes(data[at + 4 : at + 8], order)
        if length % 4 or not (28 if is_section else 20) <= length <= frames.MOST_BLOCK_BYTES:
            raise self._refused(frames.BAD_LENGTH)
        if len(data) - at < length:
            return 0
        if data[at + length - 4 : at + length] != data[at + 4 : at + 8]:
            raise self._refused(frames.BAD_LENGTH)
        if is_section:
            major = int.from_bytes(data[at + 12 : at + 14], order)
            if major != 1:
                raise InputError(f"{self.path}: version {major} of pcapng; 1 is the only one in use")
            self._interface_count = 0
        else:
            self._describe(data[at + 8 : at + length - 4], order)
        return length

    def _describe(self, body: bytes, order: str) -> None:
        """Read an interface description."""
        if self._interface_count == MOST_INTERFACES:
            raise InputError(f"{self.path}: more than {MOST_INTERFACES} interfaces; give a capture of one")
        link_type, snap_bytes = int.from_bytes(body[:2], order), int.from_bytes(body[4:8], order)
        self._check_link_type(link_type)
        units, offset_s = MICROSECONDS, 0
        at = 8
        while at + 4 <= len(body):
            code, size = int.from_bytes(body[at : at + 2], order), int.from_bytes(body[at + 2 : at + 4], order)
            value = body[at + 4 : at + 4 + size]
            if code == 0 or len(value) < size:
                break
            if code == IF_TSRESOL and size == 1:
                power = value[0] & 0x7F
                units = (2 if value[0] & 0x80 else 10) ** min(power, 127)
                if units > 10**18:
                    raise InputError(
                        f"{self.path}: if_tsresol: {value[0]} is finer than any clock; the file is damaged"
                    )
            if code == IF_TSOFFSET and size == 8:
                offset_s = int.from_bytes(value, order, signed=True)
                if abs(offset_s) > frames.MOST_SECONDS:
                    raise InputError(f"{self.path}: if_tsoffset: {offset_s} s is beyond any date; the file is damaged")
            at += 4 + size + -size % 4
        self._interfaces[self._interface_count] = link_type, units, offset_s, snap_bytes
        self._interface_count += 1
