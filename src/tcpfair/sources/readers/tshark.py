"""Tables of ``tshark -T fields -E header=y``: the TCP headers of a capture as text, one line per packet.

    tshark -r FILE -T fields -E header=y -E separator=, -e frame.time_epoch -e ip.src -e ip.dst -e tcp.srcport -e tcp.dstport \\
        -e tcp.seq -e tcp.ack -e tcp.len -e tcp.flags

Any separator and quoting of -E; ipv6.src and ipv6.dst in addition or instead; frame.time_relative without a wall clock.
tcp.seq_raw with tcp.ack_raw, tcp.options.timestamp.tsval with .tsecr, tcp.window_size_value, ip.id and frame.number are
used if present. Without timestamps and without the handshake the RTT lacks the sender's side of the capture. Without
ip.id duplicate packets look retransmitted. Sequence numbers may be relative, which is tshark's default. `packets`
evaluates the packets. Source: tshark(1) and the display filter reference, Wireshark 4.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from decimal import Decimal
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers import frames
from tcpfair.sources.readers.frames import NS_PER_S
from tcpfair.sources.readers.observed import Observed
from tcpfair.sources.readers.packets import Tracker
from tcpfair.sources.readers.readings import U32_MAX
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import head, naming_file, pieces, refuse_first, refusing, table_of

NAME = "tshark"
ACCEPTS = (
    "tables of tshark -T fields -E header=y (frame.time_epoch, ip.src, ip.dst, tcp.srcport, tcp.dstport, tcp.seq, ...)"
)

TIMES = ("frame.time_epoch", "frame.time_relative")
SEPARATORS = "\t,;| "
MOST_PAYLOAD_BYTES = 1 << 20
# column of a packet: (names in the table, the first that is present; largest value), needed in every TCP row
NEEDED = {
    "src_port": (("tcp.srcport",), 65_535),
    "dst_port": (("tcp.dstport",), 65_535),
    "seq": (("tcp.seq_raw", "tcp.seq"), U32_MAX),
    "ack": (("tcp.ack_raw", "tcp.ack"), U32_MAX),
    "payload_bytes": (("tcp.len",), MOST_PAYLOAD_BYTES),
    "flags": (("tcp.flags",), 0xFFFF),
}
# empty where the packet has none
OPTIONAL = {
    "tsval": (("tcp.options.timestamp.tsval",), U32_MAX),
    "tsecr": (("tcp.options.timestamp.tsecr",), U32_MAX),
    "window": (("tcp.window_size_value",), 65_535),
    "ip_id": (("ip.id",), 65_535),
}
ADDRESSES = (("ip.src", "ip.dst"), ("ipv6.src", "ipv6.dst"))
HEADER = re.compile(r"""^\ufeff?(["']?)([A-Za-z_0-9.]+)\1(.)""")


def sniff(path: Path) -> bool:
    """Whether ``path`` begins with a line of tshark's names, plain or packed."""
    first = head(path).split("\n", 1)[0]
    return "tcp.seq" in first and "tcp.ack" in first and "frame.time" in first


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """The flows of a table."""
    table = _Table(path)
    pieces = table.packets()
    first = next(pieces, np.zeros(0, frames.PACKET))
    tracker = Tracker(path, relative=table.is_relative(first), clock=table.time == TIMES[0])
    tracker.add(first)
    for packets in pieces:
        tracker.add(packets)
    tracker.counts += table.counts
    remarks = [f"{path.name}: cut within its last line, which is skipped"] if table.cut else []
    if table.time != TIMES[0]:
        remarks.append(f"{path.name}: no {TIMES[0]}, so it has no wall clock in common with other recordings")
    return tracker.observed(NAME, said, remarks)


class _Table:
    """A table's header, and its rows as packets."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts = np.zeros(frames.COUNTS, np.int64)
        self.cut: list[str] = []
        first, _, second = head(path).partition("\n")
        found = HEADER.match(first)
        if not found or found[3] not in SEPARATORS:
            raise InputError("line 1: no names of columns; give a table of tshark -T fields -E header=y")
        self._quote, self._separator = found[1] or "'" * second.startswith("'") or '"', found[3]
        self.names = names = [
            name.strip(self._quote) for name in first.rstrip("\r").lstrip("\ufeff").split(self._separator)
        ]
        self.time = next((name for name in TIMES if name in names), TIMES[0])
        self.addresses = [pair for pair in ADDRESSES if set(pair) <= set(names)]
        columns = {
            column: next((name for name in known if name in names), known[-1])
            for column, (known, _) in (NEEDED | OPTIONAL).items()
        }
        self.needed = [self.time, *(columns[column] for column in NEEDED)]  # in every row of TCP
        _check_names(path, names, self.needed)
        self.columns = {column: name for column, name in columns.items() if name in names}

    def is_relative(self, packets: np.ndarray) -> bool:
        """Whether sequence numbers are relative to each connection's first: SYNs have number 0, or none exists."""
        if self.columns["seq"] == "tcp.seq_raw":
            return False
        syns = packets[(packets["flags"] & frames.SYN) > 0]
        return not len(syns) or bool((syns["seq"] == 0).any())

    def packets(self) -> Iterator[np.ndarray]:
        """Arrays of `frames.PACKET`."""
        for lines, block in pieces(self.path, self.cut):
            if lines[0] == 1:
                lines, block = lines[1:], block.partition(b"\n")[2]
            if not block:
                continue
            options = {"sep": self._separator, "quotechar": self._quote, "names": self.names}
            give = "give a table of tshark -T fields -E header=y"
            table = table_of(lines, block, give, dtype=str, keep_default_na=False, **options)
            yield self._of(table.fillna(""))

    def _of(self, table: pd.DataFrame) -> np.ndarray:
        """Rows of the table, by their lines, as packets; those without TCP are counted."""
        has = table[self.needed] != ""
        is_tcp = has.iloc[:, 3:].any(axis=1)  # UDP has no tcp.*
        alone = [*self.needed[1:], *(name for pair in self.addresses for name in pair)]
        # nested headers: tunnels, ICMP errors
        several = table[alone].apply(lambda cells: cells.str.contains(",", regex=False)).any(axis=1)
        self.counts[frames.NOT_TCP] += (~is_tcp).sum()
        self.counts[frames.DAMAGED] += (is_tcp & several).sum()
        table, has = table[is_tcp & ~several], has[is_tcp & ~several]
        empty = has.columns[has.to_numpy().argmin(axis=1)]
        refuse_first(~has.all(axis=1), "{}: empty; a packet of TCP has it", empty, lines=has.index)
        packets = np.zeros(len(table), frames.PACKET)
        packets["number"] = table.index - 1
        packets["window"] = 65_535  # not known to be closed
        for column, name in self.columns.items():
            packets[column] = self._whole(table[name], (NEEDED | OPTIONAL)[column][1])
        packets["flags"] &= 0xFF
        if "tsval" in self.columns:
            packets["flags"] |= np.where(table[self.columns["tsval"]] != "", frames.TIMESTAMPS, 0)
        packets["t_ns"] = self._times_ns(table[self.time])
        for side, prefix in enumerate(("src", "dst")):
            packets[f"{prefix}_high"], packets[f"{prefix}_low"] = self._halves(table, side).T
        return packets

    def _times_ns(self, cells: pd.Series) -> np.ndarray:
        """Times to the nanosecond, which exceed the precision of a float of seconds since 1970."""
        self._numbers(cells, frames.MOST_SECONDS - 1)
        return np.array([round(Decimal(cell) * NS_PER_S) for cell in cells], np.int64)

    def _numbers(self, cells: pd.Series, most: float) -> pd.Series:
        """Cells as numbers from 0 to ``most``, empty ones as 0."""
        values = pd.to_numeric(cells.where(cells != "", "0"), errors="coerce").astype(np.float64)
        says = "{}: {!r} is not between 0 and {:g}; give tshark's own numbers"
        refuse_first(~values.between(0, most), says, cells.name, cells, most, lines=cells.index)
        return values

    def _whole(self, cells: pd.Series, most: int) -> np.ndarray:
        """Cells as integers, including tshark's form 0x0010."""
        texts = cells[cells.str.startswith("0x")].unique()
        decimal = {text: str(int(text, 16)) for text in texts if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text)}
        values = self._numbers(cells.map(lambda text: decimal.get(text, text)) if decimal else cells, most)
        says = "{}: {!r} is not a whole number; give tshark's own numbers"
        refuse_first(values % 1 > 0, says, cells.name, cells, lines=cells.index)
        return values.astype(np.int64).to_numpy()

    def _halves(self, table: pd.DataFrame, side: int) -> np.ndarray:
        """Addresses of one side, in two halves of 64 bits, shape (rows, 2)."""
        cells = table[self.addresses[0][side]]
        for pair in self.addresses[1:]:
            cells = cells.where(cells != "", table[pair[side]])
        codes, texts = pd.factorize(cells)
        halves = [_half(text) for text in texts]
        is_bad = np.array([half is None for half in halves], bool)[codes]
        says = "{}: {!r} is not an address; give tshark's own"
        refuse_first(is_bad, says, self.addresses[0][side], cells, lines=cells.index)
        return np.array(halves, np.int64).reshape(-1, 2)[codes]


@refusing
def _check_names(names: list[str], needed: list[str]) -> Iterator[str]:
    """Check that each column occurs once, all that are ``needed`` (first the time), and both of a pair."""
    twice = [name for name in names if names.count(name) > 1]
    missing = [name for name in needed if name not in names]
    one_is_missing = "one is missing; give both or none"
    if twice:
        yield f"line 1: {twice[0]} occurs twice; give each column once"
    if missing == needed[:1]:
        yield f"{missing[0]}: missing; add it with -e"
    if ("tcp.seq_raw" in names) != ("tcp.ack_raw" in names):
        yield f"tcp.seq_raw and tcp.ack_raw: {one_is_missing}"
    if missing:
        yield f"{missing[0]}: missing; add it with -e"
    if ("tcp.options.timestamp.tsval" in names) != ("tcp.options.timestamp.tsecr" in names):
        yield f"tcp.options.timestamp.tsval and .tsecr: {one_is_missing}"
    if not any(set(pair) <= set(names) for pair in ADDRESSES):
        yield "ip.src and ip.dst (or ipv6.src and ipv6.dst): missing; add them with -e"


def _half(text: str) -> tuple[int, int] | None:
    """The two halves of an address as in `frames.PACKET`; None for an invalid one."""
    try:
        packed = ip_address(text).packed
    except ValueError:
        return None
    return struct.unpack(">qq", (bytes(10) + b"\xff\xff" + packed)[-16:])
