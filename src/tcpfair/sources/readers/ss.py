"""Logs of a loop around ``ss -ti`` (iproute2 since 4.1), with a time stamp at each poll; any packing.

Read are one-line (``-O``) and multi-line output, with and without header, state and netid columns, ``-e`` (which shows the
socket's cookie), ``-p``, ``-m``; of all versions, whose fields come and go: names and order are those of misc/ss.c. The
stamp may stand on a line of its own before each poll or, as ``ts`` of moreutils puts it, before each line:

- seconds since 1970, with or without fraction (``date +%s.%N``, ``ts %.s``), or whole milli-, micro-, nanoseconds;
- ISO 8601 (``date -Ins``, ``date --rfc-3339=ns``, ``date '+%F %T.%N'``), ``date`` in English, ``date -R``;
- ``ts`` of its own accord (``Nov 14 22:13:20``), a time of day, or the time since the start (``ts -s``).

Stamps without a year or time zone place nothing on the wall clock: then only differences count, and other recordings
cannot be put beside this one. Stamps of whole seconds that several polls share are spread evenly over their second.

Goodput is ``bytes_acked`` of the sender, or ``bytes_received`` where the receiver's socket is in the log: each direction of
a connection is one flow, whose windows are the sender's. ss before iproute2 4.1 shows neither and is refused: windows alone
are no goodput.

ss does not tell the state of congestion control. A recovery is where packets are lost or retransmitted (``lost:``, the first
number of ``retrans:``) after ssthresh fell or cwnd came down to it; a timeout where ``backoff:`` shows beside them, or a
window of one packet: of a timeout that is over before the next poll nothing can be known, it counts as a loss. ss leaves out
an ssthresh of 65,535 packets or more, which reads as none. What was acknowledged after the last poll is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tcpfair.errors import InputError
from tcpfair.sources.readers import polls as polled
from tcpfair.sources.readers.observed import Floats, Observed
from tcpfair.sources.readers.polls import (
    BUSY,
    CA_LOSS,
    CA_OPEN,
    CA_RECOVERY,
    INFINITE_SSTHRESH,
    Clock,
    PollStore,
    Socket,
)
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import MAX_LINE_BYTES, chunks, head_bytes

NAME = "ss"
ACCEPTS = "logs of ss -tin loops (text, with a time stamp at each poll as scripts/poll_ss.sh writes)"

BACKEND = "ss"
ADVICE = "put the time before each poll, as scripts/poll_ss.sh does (date +%s.%N; ss -tinOHe)"
U32_MAX = 2**32 - 1
BLOCK_BYTES = 4 << 20
MAX_STEPS = 20
SAME_POLL_S = 0.02  # between the stamps of the lines of one poll
DAY_S = 86_400.0
_PAD = 32

# --- time stamps ---------------------------------------------------------------------------------------------------

_MONTHS = {name: i for i, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_MONTH = rb"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?"
_TIME = rb"(?P<h>\d{1,2}):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<frac>\d{1,9}))?"
_ZONE = rb"(?: ?(?P<zone>Z|[A-Z]{2,5}|[+-]\d\d:?\d\d))?"
_ZONES_H = {  # abbreviations that mean one offset only; others (CST, IST, BST) are not guessed
    **dict.fromkeys((b"Z", b"UTC", b"GMT", b"WET"), 0),
    **{b"CET": 1, b"CEST": 2, b"WEST": 1, b"EET": 2, b"EEST": 3, b"MSK": 3, b"JST": 9, b"KST": 9},
    **{b"EST": -5, b"EDT": -4, b"CDT": -5, b"MST": -7, b"MDT": -6, b"PST": -8, b"PDT": -7, b"HST": -10},
    **{b"AEST": 10, b"AEDT": 11, b"NZST": 12, b"NZDT": 13},
}


class Stamp(NamedTuple):
    """A time as it was written."""

    t_s: float
    is_wall: bool
    is_whole: bool  # seconds without fraction
    wraps: bool = False  # a time of day, which begins again at midnight


_HALF = rb"(?: (?P<half>[AP]M))?"
_EDGE = rb"(?![\w:])"
_FORMATS = tuple(
    re.compile(b"".join(parts))
    for parts in (
        (rb"(?P<epoch>\d{9,10})(?:[.,](?P<frac>\d{1,9}))?(?![\d.,:/-])",),
        (rb"(?P<ticks>\d{13}|\d{16}|\d{19})(?![\d.,:/-])",),
        (rb"(?P<year>\d{4})-(?P<mon>\d\d)-(?P<day>\d\d)[T ]", _TIME, _ZONE, _EDGE),
        (_DAY, b" ", _MONTH, rb" {1,2}(?P<day>\d{1,2}) ", _TIME, _HALF, _ZONE, rb" (?P<year>\d{4})(?!\d)"),
        (_DAY, rb" {1,2}(?P<day>\d{1,2}) ", _MONTH, rb" (?P<year>\d{4}) ", _TIME, _HALF, _ZONE, _EDGE),
        (_DAY, rb" {1,2}(?P<day>\d{1,2}) ", _MONTH, b" ", _TIME, _ZONE, rb" (?P<year>\d{4})(?!\d)"),
        (_MONTH, rb" {1,2}(?P<day>\d{1,2}) ", _TIME, _EDGE),
        (_TIME, _EDGE),
    )
)
_LEAD = re.compile(rb"[#*=\-\[ ]{0,20}")
_TAIL = re.compile(rb"[\]#*=\- \t\r]{0,20}")


def _stamp(line: bytes, at: int, order: list[re.Pattern[bytes]]) -> tuple[Stamp, int] | None:
    """The time that stands in a line at a place, and where it ends; the format that fits moves to the front of ``order``."""
    for i, form in enumerate(order):
        found = form.match(line, at)
        if found is None:
            continue
        stamp = _parsed(found.groupdict())
        if stamp is None:
            return None
        if i:
            order.insert(0, order.pop(i))
        return stamp, found.end()
    return None


def _parsed(part: dict[str, bytes | None]) -> Stamp | None:
    frac = part.get("frac")
    frac_s = int(frac) / 10 ** len(frac) if frac else 0.0
    if part.get("epoch"):
        return Stamp(int(part["epoch"]) + frac_s, True, not frac)
    if part.get("ticks"):
        ticks = part["ticks"]
        return Stamp(int(ticks) / 10 ** (len(ticks) - 10), True, False)
    hour, minute, second = int(part["h"]), int(part["m"]), int(part["s"])
    if part.get("half"):
        hour = hour % 12 + 12 * (part["half"] == b"PM")
    if hour > 23 or minute > 59 or second > 60:
        return None
    of_day_s = 3600 * hour + 60 * minute + second + frac_s
    if not part.get("day"):
        return Stamp(of_day_s, False, not frac, wraps=True)
    month = _MONTHS[part["month"]] if part.get("month") else int(part["mon"])
    try:
        day = datetime(int(part.get("year") or 2000), month, int(part["day"]), tzinfo=UTC).timestamp()
    except ValueError:
        return None
    zone = part.get("zone")
    offset_s = 0.0
    is_known = bool(part.get("year")) and zone is not None
    if zone and zone[:1] in b"+-":
        offset_s = (3600 * int(zone[1:3]) + 60 * int(zone[-2:])) * (-1 if zone[:1] == b"-" else 1)
    elif zone in _ZONES_H:
        offset_s = 3600.0 * _ZONES_H[zone]
    else:
        is_known = False
    return Stamp(day + of_day_s - offset_s, is_known, not frac)


# --- lines ---------------------------------------------------------------------------------------------------------

_SOCKET = re.compile(
    rb"(?:(?P<netid>[a-z_]{2,10})[ \t]{1,99})?(?:(?P<state>[A-Z][A-Z0-9-]{2,12})[ \t]{1,99})?"
    rb"\d{1,12}[ \t]{1,99}\d{1,12}[ \t]{1,99}(?P<local>[^ \t]{3,100})[ \t]{1,99}(?P<peer>[^ \t]{3,100})(?=[ \t\r]|$)"
)
_TITLES = (b"State", b"Netid", b"Recv-Q")
_NO_FLOW = (b"LISTEN", b"UNCONN", b"CLOSED", b"TIME-WAIT")
_NO_ALGORITHM = frozenset([b"ts", b"sack", b"ecn", b"ecnseen", b"fastopen", b"<->", b"-->", b"<--", b"---", b""])

# field -> its largest value; a/b stands for two numbers with a slash between
_WHOLE = {
    b"cwnd": U32_MAX,
    b"ssthresh": U32_MAX,
    b"backoff": 255,
    b"lost": U32_MAX,
    b"bytes_sent": 2**62,
    b"bytes_acked": 2**62,
    b"bytes_received": 2**62,
}
_REAL = {b"rtt": 4e6, b"minrtt": 4e6}  # ms; of rtt:a/b the first
_BUSY = b"busy"  # in ms, with that unit after it
_RETRANS = b"retrans"


def sniff(path: Path) -> bool:
    """Whether the file begins with polls of ``ss -t``: a socket's line and fields that ``-i`` adds."""
    if not path.is_file():
        return False
    begin = head_bytes(path)
    if not re.search(rb"[ \t](?:cwnd|rto):\d", begin):
        return False
    order = list(_FORMATS)
    return any(_line(line, order).socket is not None for line in begin.split(b"\n")[:2000])


class _Line(NamedTuple):
    """What a line of a log is; without any of these it is a stranger's, or when ``is_detail`` more of the last socket."""

    stamp: Stamp | None = None
    socket: re.Match[bytes] | None = None
    is_detail: bool = False
    begins_poll: bool = False
    is_strange: bool = False


_DETAIL = _Line(is_detail=True)
_STRANGE = _Line(is_strange=True)


def _line(line: bytes, order: list[re.Pattern[bytes]]) -> _Line:
    if line[:1] in (b"\t", b" ", b"", b"\r"):
        return _DETAIL
    socket = _SOCKET.match(line)
    if socket is not None and b":" in socket["local"] and b":" in socket["peer"]:
        return _Line(socket=socket)
    if line.startswith(_TITLES):
        return _Line(begins_poll=True)
    stamped = _stamp(line, _LEAD.match(line).end(), order)
    if stamped is None:
        return _STRANGE
    stamp, end = stamped
    rest = _TAIL.match(line, end).end()
    if rest >= len(line):
        return _Line(stamp, begins_poll=True)
    if line[end : end + 1] == b" " and line[end + 1 : end + 2] in (b"\t", b" "):
        return _DETAIL  # ts puts one blank between; what follows is indented
    if line.startswith(_TITLES, rest):
        return _Line(stamp, begins_poll=True)
    socket = _SOCKET.match(line, rest)
    if socket is not None and b":" in socket["local"] and b":" in socket["peer"]:
        return _Line(stamp, socket)
    return _Line(stamp, is_strange=True)


def _address(text: bytes) -> tuple[str, str]:
    """Host and port of an address as ss writes it: without interface, brackets and the prefix of mapped addresses."""
    host, _, port = text.decode("utf-8", errors="replace").rpartition(":")
    return host.split("%")[0].strip("[]").removeprefix("::ffff:"), port


def _joined(host: str, port: str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _blocks(path: Path) -> Iterator[tuple[bytes, bool]]:
    """The file in blocks of whole sockets, and whether each is the last."""
    order = list(_FORMATS)
    held = b""
    for piece in chunks(path, BLOCK_BYTES):
        held += piece
        cut = len(held)
        while (cut := held.rfind(b"\n", 0, cut)) >= 0:
            end = held.find(b"\n", cut + 1)
            # a head that is not there whole may be anything
            if end >= 0 and not _line(held[cut + 1 : end], order).is_detail:
                break
        if cut >= 0:
            yield held[: cut + 1], False
            held = held[cut + 1 :]
        if len(held) > BLOCK_BYTES + MAX_LINE_BYTES:
            raise InputError(f"{path}: a socket with more than {MAX_LINE_BYTES} bytes of text; {ADVICE}")
    yield held, True


# --- the log -------------------------------------------------------------------------------------------------------


class _Log:
    """What was read so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = PollStore(path, own=BUSY)
        self.order = list(_FORMATS)
        self.first_line = self.first_line_of_block = 1
        self.stamp: Stamp | None = None
        self.midnights_s = 0.0
        self.is_fresh = False  # a poll began, and no socket since
        self.is_empty = False  # a time stamp on its own line came, and no socket since
        self.seen: set[int] = set()  # sockets of the current poll
        self.poll = -1
        self.sockets: dict[tuple[bytes, bytes, bytes], int] = {}
        self.ccs: dict[bytes, int] = {b"": self.store.cc("")}
        self.is_wall = self.is_whole = True
        self.first_strange = 0
        self.strange_count = 0
        self.without_stamp = 0
        self.with_state = self.with_bytes = 0  # sockets' polls
        self.cut = False

    def take(self, data: bytes, is_last: bool) -> None:
        """Read a block of lines."""
        starts: list[int] = []
        stops: list[int] = []
        sockets: list[int] = []
        polls: list[int] = []
        at = 0
        number = self.first_line
        for number, line in enumerate(data.split(b"\n"), self.first_line):
            start, at = at, at + len(line) + 1
            what = _line(line, self.order)
            if what.is_detail:
                continue
            if len(stops) < len(starts):
                stops.append(start)
            if what.is_strange:
                self.first_strange = self.first_strange or number
                self.strange_count += 1
            if what.stamp is not None:
                self.take_stamp(what.stamp, what.begins_poll)
            self.is_fresh |= what.begins_poll
            found = what.socket
            if found is None or found["netid"] not in (None, b"tcp") or found["state"] in _NO_FLOW:
                continue
            if self.stamp is None:
                self.without_stamp += 1
                continue
            socket = self._socket(line, found)
            self._take_socket(socket)
            starts.append(start)
            sockets.append(socket)
            polls.append(self.poll)
        if len(stops) < len(starts):
            stops.append(len(data))
        self.first_line = number
        if is_last and starts and data and not data.endswith(b"\n") and stops[-1] == len(data):
            for column in (starts, stops, sockets, polls):  # cut within its last socket: so may be its numbers
                column.pop()
            self.cut = True
        if starts:
            block = _Fields(data, np.array(starts), np.array(stops), self)
            self._store(block, np.array(sockets), np.array(polls))

    def take_stamp(self, stamp: Stamp, begins_poll: bool) -> None:
        if begins_poll and self.is_empty and self.stamp is not None:
            self.store.poll(self.stamp.t_s + self.midnights_s)  # it showed no socket
        self.is_empty = begins_poll
        if self.stamp is not None and stamp.wraps and stamp.t_s < self.stamp.t_s - DAY_S / 2:
            self.midnights_s += DAY_S
        self.stamp = stamp
        self.is_wall &= stamp.is_wall
        self.is_whole &= stamp.is_whole

    def _take_socket(self, socket: int) -> None:
        """Put a socket into the current poll, or begin the next."""
        t_s = self.stamp.t_s + self.midnights_s
        if self.is_fresh or self.poll < 0 or socket in self.seen or abs(t_s - self.store.times_s[-1]) > SAME_POLL_S:
            self.poll = self.store.poll(t_s)
            self.seen.clear()
            self.is_fresh = False
        self.seen.add(socket)
        self.is_empty = False

    def _socket(self, line: bytes, found: re.Match[bytes]) -> int:
        """Number of the socket of a line."""
        begin = line.find(b" sk:", found.end())
        cookie = (
            line[begin + 4 : begin + 24].split(None, 1)[0]
            if begin >= 0 and line[begin + 4 : begin + 5].strip()
            else b""
        )
        key = (found["local"], found["peer"], cookie)
        number = self.sockets.get(key)
        if number is None:
            ends = [_address(end) for end in key[:2]]
            hosts = frozenset(host for host, _ in ends)
            number = self.store.socket(
                Socket(_joined(*ends[0]), _joined(*ends[1]), cookie.decode("ascii", errors="replace"), hosts)
            )
            self.sockets[key] = number
        return number

    def _cc(self, name: bytes) -> int:
        if name not in self.ccs:
            known = b"" if name in _NO_ALGORITHM or not _ALGORITHM.fullmatch(name) else name
            self.ccs[name] = self.store.cc(known.decode())
        return self.ccs[name]

    def _store(self, block: _Fields, sockets: np.ndarray, polls: np.ndarray) -> None:
        zeros = np.zeros(len(sockets), dtype=np.int64)
        whole = {name: block.whole(name, largest) for name, largest in _WHOLE.items()}
        real = {name: block.real(name, largest) for name, largest in _REAL.items()}
        resent_now, resent = block.pair(_RETRANS, U32_MAX)
        has_state = (whole[b"cwnd"] >= 0) | (real[b"rtt"] >= 0)
        acked, sent = whole[b"bytes_acked"], whole[b"bytes_sent"]
        # the SYN and the FIN are acknowledged and not counted as sent, what a repaired socket sent before neither
        lies = (acked > sent + 65_536) & (sent >= 0)
        if lies.any():
            i = int(np.flatnonzero(lies)[0])
            raise InputError(
                f"{self.path}: bytes_acked: {acked[i]} of {sent[i]} bytes_sent in line {block.line(i)}; "
                "give the tool's own output"
            )
        self.with_state += int(has_state.sum())
        self.with_bytes += int(((acked >= 0) | (whole[b"bytes_received"] >= 0)).sum())
        is_resending = (resent_now > 0) | (whole[b"lost"] > 0)
        backed_off = is_resending & (whole[b"backoff"] > 0)
        ssthresh = whole[b"ssthresh"]
        columns = {
            "socket": sockets,
            "poll": polls,
            "cc": np.array([self._cc(name) for name in block.algorithms()], dtype=np.int64),
            "ca_state": np.where(backed_off, CA_LOSS, np.where(is_resending, CA_RECOVERY, CA_OPEN)),
            "cwnd": np.maximum(whole[b"cwnd"], 0),
            "ssthresh": np.where(ssthresh > 0, ssthresh, INFINITE_SSTHRESH),
            "rtt_us": np.maximum(np.round(real[b"rtt"] * 1e3), 0),
            "min_rtt_us": np.maximum(np.round(real[b"minrtt"] * 1e3), 0),
            "total_retrans": np.maximum(resent, zeros),
            "bytes_acked": np.maximum(acked, 0),
            "bytes_received": np.maximum(whole[b"bytes_received"], 0),
            "busy_ms": np.maximum(block.real(_BUSY, U32_MAX, after=b"m"), 0),
        }
        self.store.add({name: values[has_state] for name, values in columns.items()})


class _Fields:
    """The fields of the sockets of one block, found and read for all of them at once."""

    def __init__(self, data: bytes, starts: np.ndarray, stops: np.ndarray, log: _Log) -> None:
        self.data = data
        self.starts, self.stops = starts, stops
        self.log = log
        padded = bytes(_PAD) + data + bytes(_PAD)
        self.bytes = np.frombuffer(padded, dtype=np.uint8)
        self.colons = np.flatnonzero(self.bytes == ord(":"))
        self.before = self.bytes[self.colons - 1]

    def line(self, socket: int) -> int:
        """Number of the line in which a socket begins."""
        return self.log.first_line_of_block + self.data.count(b"\n", 0, int(self.starts[socket]))

    def _places(self, name: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Sockets that have a field, and where its value begins. Raises InputError when one has it twice."""
        at = self.colons[self.before == name[-1]]
        for back, letter in enumerate(reversed(name[:-1]), 2):
            at = at[self.bytes[at - back] == letter]
        edge = self.bytes[at - len(name) - 1]
        at = at[(edge == ord(" ")) | (edge == ord("\t"))]
        socket = np.searchsorted(self.starts, at - _PAD, side="right") - 1
        inside = (socket >= 0) & (at - _PAD < self.stops[socket])
        socket, at = socket[inside], at[inside] + 1
        twice = np.flatnonzero(np.diff(socket) == 0)
        if len(twice):
            raise InputError(
                f"{self.log.path}: {name.decode()}: twice for the socket in line {self.line(socket[twice[0]])}; {ADVICE}"
            )
        return socket, at

    def _digits(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The whole numbers that begin at these places, and where each ends."""
        values, at = np.zeros(len(at), dtype=np.int64), at.copy()
        goes_on = np.ones(len(at), dtype=bool)
        for _ in range(18):
            digit = self.bytes[at] - np.uint8(48)
            goes_on &= digit <= 9
            if not goes_on.any():
                break
            values = np.where(goes_on, 10 * values + digit, values)
            at += goes_on
        return values, at

    def _check(self, name: bytes, socket: np.ndarray, begin: np.ndarray, end: np.ndarray, ends: bytes) -> None:
        is_number = (end > begin) & np.isin(self.bytes[end], np.frombuffer(ends, dtype=np.uint8))
        if not is_number.all():
            i = int(np.flatnonzero(~is_number)[0])
            shown = bytes(self.bytes[begin[i] : begin[i] + 20]).split(b" ")[0].decode("ascii", errors="replace")
            raise InputError(
                f"{self.log.path}: {name.decode()}: {shown!r} in line {self.line(socket[i])} is no number that ss writes"
            )

    def _bounded(self, name: bytes, socket: np.ndarray, values: np.ndarray, largest: float) -> np.ndarray:
        wrong = np.flatnonzero(values > largest)
        if len(wrong):
            raise InputError(
                f"{self.log.path}: {name.decode()}: {values[wrong[0]]} in line {self.line(socket[wrong[0]])} is not "
                f"between 0 and {largest:g}"
            )
        found = np.full(len(self.starts), -1, dtype=values.dtype)
        found[socket] = values
        return found

    def whole(self, name: bytes, largest: int) -> np.ndarray:
        """A whole number of each socket, -1 where it is not shown."""
        socket, begin = self._places(name)
        values, end = self._digits(begin)
        self._check(name, socket, begin, end, _ENDS)
        return self._bounded(name, socket, values, largest)

    def real(self, name: bytes, largest: float, after: bytes = b"/") -> np.ndarray:
        """A number with fraction of each socket, of a/b the first, -1 where it is not shown; ``after`` may follow it."""
        socket, begin = self._places(name)
        values, end = self._digits(begin)
        has_fraction = self.bytes[end] == ord(".")
        fraction, stop = self._digits(end + has_fraction)
        places = np.where(has_fraction, stop - end - 1, 0)
        end = np.where(has_fraction, stop, end)
        self._check(name, socket, begin, end, _ENDS + after)
        return self._bounded(name, socket, values + np.where(has_fraction, fraction / 10.0**places, 0.0), largest)

    def pair(self, name: bytes, largest: int) -> tuple[np.ndarray, np.ndarray]:
        """Both numbers of a/b of each socket, -1 where they are not shown."""
        socket, begin = self._places(name)
        first, middle = self._digits(begin)
        self._check(name, socket, begin, middle, b"/")
        second, end = self._digits(middle + 1)
        self._check(name, socket, middle + 1, end, _ENDS)
        return self._bounded(name, socket, first, largest), self._bounded(name, socket, second, largest)

    def algorithms(self) -> Iterator[bytes]:
        """What stands before wscale, or without it before rto: the name of the algorithm."""
        before = np.full(len(self.starts), -1)
        for name in (b"rto", b"wscale"):
            socket, at = self._places(name)
            before[socket] = at - len(name) - 2 - _PAD  # the blank before the name
        for at in before.tolist():
            yield self.data[max(at - 40, 0) : at].replace(b"\t", b" ").rpartition(b" ")[2] if at > 0 else b""


_ENDS = b" \t\r\n\0"
_ALGORITHM = re.compile(rb"[A-Za-z][\w-]{0,15}")  # TCP_CA_NAME_MAX is 16


# --- flows ---------------------------------------------------------------------------------------------------------


def read(path: Path, said: Sidecar) -> Observed:
    """Every direction of a connection that carried data. Raises InputError naming file, field and line."""
    log = _Log(path)
    for data, is_last in _blocks(path):
        log.first_line_of_block = log.first_line
        log.take(data, is_last)
    _refuse_what_has_no_flow(log)
    times_s, clock, remarks = _clock(log)
    found = polled.candidates(log.store, times_s, clock, said, _states)
    kept, left = polled.without_control_connections(_without_answers(found), said, path)
    if not kept:
        raise InputError(f"{path}: bytes_acked: no connection carried data; poll at the sender while the flows run")
    remarks += left
    if log.cut:
        remarks.append("the file ends within a socket's line: its last poll is left out")
    if log.without_stamp:
        remarks.append(f"{log.without_stamp} sockets before the first time stamp are left out")
    if log.strange_count:
        remarks.append(
            f"{log.strange_count} lines are neither ss's nor time stamps and were skipped, the first is {log.first_strange}"
        )
    if log.store.thinned:
        remarks.append(f"too many polls for memory: one in {log.store.bin_s:g} s is kept, and all around losses")
    flows = tuple(one.flow for one in kept)
    return Observed(BACKEND, flows, (path,), remarks=tuple(remarks), has_own_zero=not clock.is_wall)


def _refuse_what_has_no_flow(log: _Log) -> None:
    if log.stamp is None:
        raise InputError(f"{log.path}: no time stamps; {ADVICE}")
    if not log.store.times_s:
        raise InputError(f"{log.path}: no TCP connection; {ADVICE}")
    if not log.with_state:
        raise InputError(f"{log.path}: cwnd: no socket has it; call ss with -i, as scripts/poll_ss.sh does")
    if not log.with_bytes:
        raise InputError(
            f"{log.path}: bytes_acked: no socket has it, so that goodput is not known; poll with ss of iproute2 4.1 or "
            "later on Linux 4.1 or later"
        )


def _without_answers(found: list[polled.Candidate]) -> list[polled.Candidate]:
    """Without the small direction of connections that carry a hundred times as much the other way."""
    ways = {(one.source, one.target): one.total_bytes for one in found}
    return [one for one in found if one.total_bytes >= polled.CONTROL_SHARE * ways.get((one.target, one.source), 0.0)]


def _clock(log: _Log) -> tuple[Floats, Clock, list[str]]:
    """When each poll was, what is known of its clock, and remarks. Raises InputError for a clock that cannot be put right."""
    times_s = np.array(log.store.times_s)
    remarks = []
    error_s = 0.0
    if log.is_whole and (np.diff(times_s) == 0).any():
        times_s = _spread(times_s)
        error_s = 1.0
        remarks.append("time stamps of whole seconds: the polls of a second are spread evenly over it")
    elif log.is_whole:
        error_s = 1.0
    times_s, steps_s = _put_right(times_s, log)
    if steps_s:
        remarks.append(
            f"the clock of the polls ran backwards or jumped {len(steps_s)} times; what follows is put right"
        )
    if not log.is_wall:
        remarks.append(
            "the time stamps lack the year or a time zone that means one offset: the wall clock is not known, only differences"
        )
    return times_s, Clock(log.is_wall, error_s, tuple(steps_s)), remarks


def _spread(times_s: Floats) -> Floats:
    """Polls in order with stamps of whole seconds, those of a second spread evenly over it."""
    begin = np.flatnonzero(np.r_[True, np.diff(times_s) != 0])
    counts = np.diff(np.r_[begin, len(times_s)])
    place = np.arange(len(times_s)) - np.repeat(begin, counts)
    usual = max(float(np.median(counts[1:-1])) if len(counts) > 2 else float(counts.max()), 1.0)
    shares = np.repeat(np.maximum(counts, usual), counts)  # the last second may be cut
    first = place + (np.maximum(usual - counts[0], 0) if len(counts) > 1 else 0)  # and the first begun late
    place = np.where(np.arange(len(times_s)) < counts[0], first, place)
    return times_s + place / shares


def _put_right(times_s: Floats, log: _Log) -> tuple[Floats, list[float]]:
    """Times that increase while any socket lives, and where they had to be changed."""
    times_s = times_s.copy()
    steps_s: list[float] = []
    if len(times_s) > 2:
        left, middle, right = times_s[:-2], times_s[1:-1], times_s[2:]
        alone = np.flatnonzero((left < right) & ((middle < left) | (middle > right))) + 1
        if len(alone) > MAX_STEPS:
            raise InputError(f"{log.path}: time stamps: out of order {len(alone)} times; {ADVICE}")
        for i in alone:  # one stamp alone is off, its neighbours are in order
            if not times_s[i - 1] < times_s[i] < times_s[i + 1]:
                times_s[i] = (times_s[i - 1] + times_s[i + 1]) / 2
                steps_s.append(float(times_s[i]))
    back = np.flatnonzero(np.diff(times_s) <= 0) + 1
    if not len(back):
        return times_s, steps_s
    if len(back) > MAX_STEPS:
        raise InputError(f"{log.path}: time stamps: run backwards {len(back)} times; {ADVICE}")
    lives = [(int(rows["poll"][0]), int(rows["poll"][-1])) for _, rows in log.store.each()]
    usual_s = float(np.median(np.diff(times_s)))
    for i in back:
        if not any(first < i <= last for first, last in lives):
            continue  # another recording follows in the same file
        if usual_s <= 0:
            raise InputError(f"{log.path}: time stamps: run backwards {len(back)} times; {ADVICE}")
        if times_s[i] == times_s[i - 1]:
            raise InputError(f"{log.path}: time stamps: two polls at {times_s[i]:.6f}; {ADVICE}")
        times_s[i:] += times_s[i - 1] + usual_s - times_s[i]
        steps_s.append(float(times_s[i]))
    return times_s, steps_s


def _states(rows: dict[str, np.ndarray]) -> np.ndarray:
    """The kernel's ca_state as far as ss shows it; ``ca_state`` of the rows says where something is being sent again."""
    cwnd, ssthresh = rows["cwnd"].astype(np.int64), rows["ssthresh"].astype(np.int64)
    is_resending = rows["ca_state"] >= CA_RECOVERY
    before = np.r_[False, is_resending[:-1]]
    cut = np.r_[False, np.diff(ssthresh) != 0] & (ssthresh < INFINITE_SSTHRESH)
    fell = np.r_[False, (cwnd[:-1] > ssthresh[:-1]) & (cwnd[1:] <= ssthresh[1:])]
    began = is_resending & (cut | fell)
    timed_out = is_resending & ((rows["ca_state"] == CA_LOSS) | (cwnd == 1))
    state = np.where(_since(began | timed_out, is_resending, before), CA_RECOVERY, CA_OPEN)
    return np.where(_since(timed_out, is_resending, before), CA_LOSS, state)


def _since(marks: np.ndarray, inside: np.ndarray, before: np.ndarray) -> np.ndarray:
    """From each mark to the end of the stretch of ``inside`` in which it is."""
    count = np.cumsum(marks)
    at_start = np.maximum.accumulate(np.where(inside & ~before, count - marks, 0))
    return inside & (count > at_start)
