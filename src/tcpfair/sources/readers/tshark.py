"""Tables of ``tshark -T fields -E header=y``: the TCP headers of a capture as text, one line per packet.

    tshark -r FILE -T fields -E header=y -E separator=, -e frame.time_epoch -e ip.src -e ip.dst -e tcp.srcport -e tcp.dstport \\
        -e tcp.seq -e tcp.ack -e tcp.len -e tcp.flags

Any separator and quoting of -E; ipv6.src and ipv6.dst as well or instead; frame.time_relative where there is no wall clock.
tcp.seq_raw with tcp.ack_raw, tcp.options.timestamp.tsval with .tsecr, tcp.window_size_value, ip.id and frame.number are used
where they are there: without timestamps the RTT lacks what lies on the sender's side of the capture (unless the handshake is
there), without ip.id packets that stand there twice look resent. Sequence numbers may be relative, as tshark's are unless told
otherwise. What follows from the packets is `packets`'s. Source: tshark(1) and the display filter reference, Wireshark 4.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers import frames
from tcpfair.sources.readers.frames import NS_PER_S
from tcpfair.sources.readers.observed import Observed
from tcpfair.sources.readers.packets import Tracker, address
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import chunks, head

NAME = "tshark"
ACCEPTS = (
    "tables of tshark -T fields -E header=y (frame.time_epoch, ip.src, ip.dst, tcp.srcport, tcp.dstport, tcp.seq, ...)"
)
BACKEND = "tshark"

ROWS = 100_000
TIMES = ("frame.time_epoch", "frame.time_relative")
SEPARATORS = "\t,;| "
U32_MAX = 2**32 - 1
MOST_PAYLOAD_BYTES = 1 << 20
# column of a packet: (names in the table, the first that is there; largest value), needed in every TCP row
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
    if not path.is_file():
        return False
    first = head(path).split("\n", 1)[0]
    return "tcp.seq" in first and "tcp.ack" in first and "frame.time" in first


def read(path: Path, said: Sidecar) -> Observed:
    """The flows of a table.

    Raises InputError, naming column and line, for a missing column, a value that is no number or that no packet has, and as
    `Tracker` does.
    """
    table = _Table(path)
    pieces = table.packets()
    first = next(pieces, np.zeros(0, frames.PACKET))
    tracker = Tracker(path, relative=table.is_relative(first), clock=table.time == TIMES[0])
    tracker.add(first)
    for packets in pieces:
        tracker.add(packets)
    tracker.counts += table.counts
    remarks = list(table.remarks)
    if table.time != TIMES[0]:
        remarks.append(f"{path.name}: no {TIMES[0]}, so nothing places it on a wall clock beside other recordings")
    return tracker.observed(BACKEND, said, remarks)


def _rows(packets: np.ndarray, names: dict[str, str]) -> pd.DataFrame:
    """Packets as a table of tshark's."""
    rows = pd.DataFrame({"t": [f"{t // NS_PER_S}.{t % NS_PER_S:09d}" for t in packets["t_ns"].tolist()]})
    for prefix in ("src", "dst"):
        halves = zip(packets[f"{prefix}_high"].tolist(), packets[f"{prefix}_low"].tolist(), strict=True)
        texts = pd.Series([address(*half) for half in halves], dtype=object)
        is_v6 = texts.str.contains(":", regex=False).to_numpy(bool)
        rows[f"ip.{prefix}"], rows[f"ipv6.{prefix}"] = texts.mask(is_v6, ""), texts.where(is_v6, "")
    rows = rows[["t", *ADDRESSES[0], *ADDRESSES[1]]]
    has_times = (packets["flags"] & frames.TIMESTAMPS) > 0
    for column in names:
        values = packets[column].astype(object)
        if column == "flags":
            values = [f"0x{flags & 0xFF:04x}" for flags in packets["flags"].tolist()]
        rows[column] = np.where(has_times, values, "") if column in ("tsval", "tsecr") else values
    return rows


class _Pieces(io.RawIOBase):
    """The content of a file, unpacked, as a stream; remembers its last byte."""

    def __init__(self, path: Path) -> None:
        self._pieces = chunks(path)
        self._rest = b""
        self.last = b"\n"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        if not self._rest:
            self._rest = next(self._pieces, b"")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        if count:
            self.last = bytes(buffer[count - 1 : count])
        return count


class _Table:
    """A table's header, and its rows as packets."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts = np.zeros(frames.COUNTS, np.int64)
        self.remarks: list[str] = []
        first, _, second = head(path).partition("\n")
        first = first.rstrip("\r")
        found = HEADER.match(first)
        if not found or found[3] not in SEPARATORS:
            raise InputError(f"{path}: line 1: no names of columns; give a table of tshark -T fields -E header=y")
        self._quote, self._separator = found[1] or "'" * second.startswith("'") or '"', found[3]
        self.names = [name.strip(self._quote) for name in first.lstrip("\ufeff").split(self._separator)]
        twice = next((name for name in self.names if self.names.count(name) > 1), None)
        if twice:
            raise InputError(f"{path}: line 1: {twice} is there twice; give each column once")
        self.time = self._one_of(TIMES)
        if ("tcp.seq_raw" in self.names) != ("tcp.ack_raw" in self.names):
            raise InputError(f"{path}: tcp.seq_raw and tcp.ack_raw: one is missing; give both or none")
        self.columns = {column: self._one_of(names) for column, (names, _) in NEEDED.items()}
        self.columns |= {column: names[0] for column, (names, _) in OPTIONAL.items() if names[0] in self.names}
        if ("tsval" in self.columns) != ("tsecr" in self.columns):
            raise InputError(f"{path}: tcp.options.timestamp.tsval and .tsecr: one is missing; give both or none")
        self.addresses = [pair for pair in ADDRESSES if pair[0] in self.names and pair[1] in self.names]
        if not self.addresses:
            raise InputError(f"{path}: ip.src and ip.dst (or ipv6.src and ipv6.dst): missing; add them with -e")
        self._addresses: dict[str, tuple[int, int] | None] = {}

    def _one_of(self, names: tuple[str, ...]) -> str:
        for name in names:
            if name in self.names:
                return name
        raise InputError(f"{self.path}: {names[-1 if names[0].endswith('_raw') else 0]}: missing; add it with -e")

    def is_relative(self, packets: np.ndarray) -> bool:
        """Whether sequence numbers count from each connection's first: SYNs have number 0, or there are none to tell."""
        if self.columns["seq"] == "tcp.seq_raw":
            return False
        syns = packets[(packets["flags"] & frames.SYN) > 0]
        return not len(syns) or bool((syns["seq"] == 0).any())

    def packets(self) -> Iterator[np.ndarray]:
        """Arrays of `frames.PACKET`."""
        raw = _Pieces(self.path)
        try:
            tables = pd.read_csv(
                io.BufferedReader(raw, 1 << 20),
                sep=self._separator,
                quotechar=self._quote,
                header=0,
                names=self.names,
                dtype=str,
                keep_default_na=False,
                skip_blank_lines=False,
                index_col=False,
                encoding="utf-8-sig",
                chunksize=ROWS,
            )
            last = None
            for table in tables:
                if last is not None:
                    yield self._of(last)
                last = table
            if last is not None:
                if raw.last != b"\n":
                    self.remarks.append(f"{self.path.name}: cut within its last line, which is left out")
                    last = last.iloc[:-1]
                yield self._of(last)
        except InputError:
            raise
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.path}: not text (UTF-8: {error.reason}); give a table of tshark -T fields"
            ) from None
        except (ValueError, OverflowError) as error:  # of pandas, its ParserError too
            reason = (str(error).splitlines() or ["no table"])[0][:300]
            raise InputError(f"{self.path}: {reason}; give a table of tshark -T fields -E header=y") from None

    def _of(self, table: pd.DataFrame) -> np.ndarray:
        """Rows of the table as packets; those without TCP are counted."""
        table = table.fillna("")
        needed = [self.time, *(self.columns[column] for column in NEEDED)]
        has = np.column_stack([(table[name] != "").to_numpy() for name in needed])
        is_tcp = has[:, 3:].any(axis=1)  # UDP has no tcp.*
        self.counts[frames.NOT_TCP] += int((~is_tcp).sum())
        table, has = table[is_tcp], has[is_tcp]
        several = np.zeros(len(table), bool)  # headers within headers: tunnels, ICMP errors
        for name in (*needed[1:], *(name for pair in self.addresses for name in pair)):
            several |= table[name].str.contains(",", regex=False).to_numpy()
        self.counts[frames.DAMAGED] += int(several.sum())
        table, has = table[~several], has[~several]
        if not has.all():
            row, column = np.argwhere(~has)[0]
            raise InputError(
                f"{self.path}: line {table.index[row] + 2}: {needed[column]}: empty; a packet of TCP has it"
            )
        packets = np.zeros(len(table), frames.PACKET)
        packets["number"] = table.index.to_numpy() + 1
        for column, (_, most) in (NEEDED | OPTIONAL).items():
            if column in self.columns:
                packets[column] = self._whole(table[self.columns[column]], most)
        packets["flags"] &= 0xFF
        if "window" not in self.columns:
            packets["window"] = 65_535  # not known to be closed
        if "tsval" in self.columns:
            packets["flags"] |= np.where(table[self.columns["tsval"]] != "", frames.TIMESTAMPS, 0).astype(np.int32)
        packets["t_ns"] = self._times_ns(table[self.time])
        for side, prefix in enumerate(("src", "dst")):
            packets[f"{prefix}_high"], packets[f"{prefix}_low"] = self._halves(table, side)
        return packets

    def _times_ns(self, cells: pd.Series) -> np.ndarray:
        """Times to the nanosecond, which a float of seconds since 1970 does not hold."""
        times_s = self._numbers(cells, frames.MOST_SECONDS - 1)
        if not len(cells):
            return np.zeros(0, np.int64)
        parts = cells.str.partition(".")
        fractions = pd.to_numeric("0." + parts[2], errors="coerce").to_numpy(np.float64)
        seconds = pd.to_numeric(parts[0], errors="coerce").to_numpy(np.float64)
        is_plain = np.abs(seconds + fractions - times_s) < 1e-6  # not 1.7e9
        seconds = np.where(is_plain, seconds, np.floor(times_s))
        fractions = np.where(is_plain, fractions, times_s - np.floor(times_s))
        return seconds.astype(np.int64) * NS_PER_S + np.round(fractions * NS_PER_S).astype(np.int64)

    def _numbers(self, cells: pd.Series, most: float) -> np.ndarray:
        """Cells as numbers from 0 to ``most``, empty ones as 0."""
        values = pd.to_numeric(cells.where(cells != "", "0"), errors="coerce").to_numpy(np.float64, na_value=np.nan)
        wrong = np.flatnonzero(~((values >= 0) & (values <= most)))
        if len(wrong):
            raise InputError(
                f"{self.path}: line {cells.index[wrong[0]] + 2}: {cells.name}: {cells.iloc[wrong[0]][:40]!r} is not between 0 "
                f"and {most:g}; give tshark's own numbers"
            )
        return values

    def _whole(self, cells: pd.Series, most: int) -> np.ndarray:
        """Cells as whole numbers, also those that tshark writes as 0x0010."""
        if cells.str.startswith("0x").any():
            decimal = {text: str(int(text, 16)) for text in cells.unique() if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text)}
            cells = cells.map(lambda text: decimal.get(text, text))
        values = self._numbers(cells, most)
        odd = np.flatnonzero(values != np.floor(values))
        if len(odd):
            where = f"{self.path}: line {cells.index[odd[0]] + 2}: {cells.name}"
            raise InputError(f"{where}: {cells.iloc[odd[0]][:40]!r} is no whole number; give tshark's own numbers")
        return values.astype(np.int64)

    def _halves(self, table: pd.DataFrame, side: int) -> tuple[np.ndarray, np.ndarray]:
        """Addresses of one side, in two halves of 64 bits."""
        cells = table[self.addresses[0][side]]
        for pair in self.addresses[1:]:
            cells = cells.where(cells != "", table[pair[side]])
        codes, texts = pd.factorize(cells)
        halves = np.array([self._half(text) for text in texts] or [(0, 0)], dtype=object)
        bad = np.flatnonzero([each[0] is None for each in halves])
        if len(bad):
            row = int(np.argmax(codes == bad[0]))
            raise InputError(
                f"{self.path}: line {table.index[row] + 2}: {self.addresses[0][side]}: {texts[bad[0]][:40]!r} is no address; "
                "give tshark's own"
            )
        return halves[codes, 0].astype(np.int64), halves[codes, 1].astype(np.int64)

    def _half(self, text: str) -> tuple[int | None, int | None]:
        if text not in self._addresses:
            try:
                found = ip_address(text)
            except ValueError:
                return None, None
            value = int(found) if found.version == 6 else 0xFFFF << 32 | int(found)
            self._addresses[text] = frames.signed64(value >> 64), frames.signed64(value)
        return self._addresses[text]
