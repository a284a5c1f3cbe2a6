"""Logs of a loop around ``ss -ti`` (iproute2 since 4.1), with a time stamp at each poll; plain or packed.

Read are one-line (``-O``) and multi-line output, with and without header, state and netid columns, ``-e`` (which shows the
socket's cookie), ``-p``, ``-m``; of all versions, whose fields differ: names and order are those of misc/ss.c. The
stamp may be on a separate line before each poll or, as ``ts`` of moreutils puts it, before each line:

- seconds since 1970, with or without fraction (``date +%s.%N``, ``ts %.s``), or whole milli-, micro-, nanoseconds;
- ISO 8601 (``date -Ins``, ``date --rfc-3339=ns``, ``date '+%F %T.%N'``), ``date`` in English, ``date -R``;
- the default of ``ts`` (``Nov 14 22:13:20``), a time of day, or the time since the start (``ts -s``).

Stamps without a year or time zone give no wall clock: then only differences are used, and other recordings
cannot be combined with this one. Stamps of whole seconds that several polls share are spread evenly over their second.

Goodput is ``bytes_acked`` of the sender, or ``bytes_received`` where the receiver's socket is in the log: each direction of
a connection is one flow, whose windows are the sender's. ss before iproute2 4.1 shows neither and is refused: windows
alone give no goodput.

ss does not show the state of congestion control. A recovery is detected where packets are lost or retransmitted
(``lost:``, the first number of ``retrans:``) after ssthresh fell or cwnd decreased to it; a timeout where ``backoff:``
is shown with them, or a window of one packet. A timeout that ends before the next poll counts as a loss. ss omits an
ssthresh of 65,535 packets or more, which reads as none. ACKs after the last poll are not recorded.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tcpfair.errors import InputError
from tcpfair.sources.readers import polls as polled
from tcpfair.sources.readers.observed import Floats, Observed
from tcpfair.sources.readers.polls import CA_LOSS, CA_OPEN, CA_RECOVERY, PollStore
from tcpfair.sources.readers.readings import INFINITE_SSTHRESH, MAX_SPAN_S, U32_MAX
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import MAX_LINE_BYTES, byte_lines, head_bytes, naming_file, refuse_first

NAME = "ss"
ACCEPTS = "logs of ss -tin loops (text, with a time stamp at each poll as scripts/poll_ss.sh writes)"

ADVICE = "put the time before each poll, as scripts/poll_ss.sh does (date +%s.%N; ss -tinOHe)"
BYTES_AT_ONCE = 1 << 24
MAX_SOCKET_BYTES = 5 * MAX_LINE_BYTES
MAX_STEPS = 20
SAME_POLL_S = 0.02  # between the stamps of the lines of one poll

# --- time stamps ---------------------------------------------------------------------------------------------------

_MONTHS = {name: i for i, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_MONTH = rb"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?"
_TIME = rb"(?P<h>\d{1,2}):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<frac>\d{1,9}))?"
_ZONE = rb"(?: ?(?P<zone>Z|[A-Z]{2,5}|[+-]\d\d:?\d\d))?"
_ZONES_H = {  # unambiguous abbreviations; others (CST, IST, BST) are not guessed
    **dict.fromkeys((b"Z", b"UTC", b"GMT", b"WET"), 0),
    **{b"CET": 1, b"CEST": 2, b"WEST": 1, b"EET": 2, b"EEST": 3, b"MSK": 3, b"JST": 9, b"KST": 9},
    **{b"EST": -5, b"EDT": -4, b"CDT": -5, b"MST": -7, b"MDT": -6, b"PST": -8, b"PDT": -7, b"HST": -10},
    **{b"AEST": 10, b"AEDT": 11, b"NZST": 12, b"NZDT": 13},
}


class Stamp(NamedTuple):
    """A time in its original form."""

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


def _stamp(line: bytes, at: int, order: list[re.Pattern[bytes]]) -> tuple[Stamp | None, int]:
    """The time at a place of a line, and where it ends; the format that fits moves to the front of ``order``.

    `dateutil` does not find the end of a time, guesses the order of day and month, and drops unknown zones.
    """
    found = next((found for form in order if (found := form.match(line, at))), None)
    stamp = _parsed(found.groupdict()) if found else None
    if stamp is None:
        return None, at
    order.remove(found.re)
    order.insert(0, found.re)
    return stamp, found.end()


def _parsed(part: dict[str, bytes | None]) -> Stamp | None:
    frac = part.get("frac")
    frac_s = int(frac) / 10 ** len(frac) if frac else 0.0
    if part.get("epoch"):
        return Stamp(int(part["epoch"]) + frac_s, True, not frac)
    if ticks := part.get("ticks"):
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
    zone = part.get("zone") or b""
    offset_s = 3600.0 * _ZONES_H.get(zone, 0)
    if zone[:1] in (b"+", b"-"):
        offset_s = (3600 * int(zone[1:3]) + 60 * int(zone[-2:])) * (-1 if zone[:1] == b"-" else 1)
    is_known = zone in _ZONES_H or zone[:1] in (b"+", b"-")
    return Stamp(day + of_day_s - offset_s, is_known and bool(part.get("year")), not frac)


# --- lines ---------------------------------------------------------------------------------------------------------

_BLANKS, _END = rb"[ \t]+", rb"[^ \t:]{0,99}:[^ \t]{0,99}"
_SOCKET = re.compile(
    rb"(?:(?P<netid>[a-z_]{2,10})%b)?(?:(?P<state>[A-Z][A-Z0-9-]{2,12})%b)?\d{1,12}%b\d{1,12}%b" % ((_BLANKS,) * 4)
    + rb"(?P<local>%b)%b(?P<peer>%b)(?=[ \t\r]|$)" % (_END, _BLANKS, _END)
)
_COOKIE = re.compile(rb" sk:(\S{1,20})")
_TITLES = (b"State", b"Netid", b"Recv-Q")
_NO_FLOW = (b"LISTEN", b"UNCONN", b"CLOSED", b"TIME-WAIT")
_NO_ALGORITHM = frozenset(["ts", "sack", "ecn", "ecnseen", "fastopen"])

_WHOLE, _REAL = r"^(?P<found>\d{1,18})$", r"^(?P<found>\d{1,18}(?:\.\d{0,18})?)"
_FIELDS = {  # of each number (as in `polls.STORED`) the field, the pattern of its value, and its largest value
    **{name: (name, _WHOLE, U32_MAX) for name in ("cwnd", "ssthresh", "lost")},
    **{name: (name, _WHOLE, 2**62) for name in ("bytes_sent", "bytes_acked", "bytes_received")},
    **{name: (name, f"{_REAL}(?:/.*)?$", 4_000_000) for name in ("rtt", "minrtt")},  # ms
    "backoff": ("backoff", _WHOLE, 255),
    "resending": ("retrans", f"{_REAL}/", U32_MAX),
    "total_retrans": ("retrans", r"/(?P<found>\d{1,18})$", U32_MAX),
    "busy_ms": ("busy", f"{_REAL}(?:m.*)?$", U32_MAX),  # ms, with that unit
}
_AFTER_ALGORITHM = ("wscale", "rto")  # the algorithm is the word before wscale, or without it before rto
_ALGORITHM = re.compile(r"[A-Za-z][\w-]{0,15}")  # TCP_CA_NAME_MAX is 16


def sniff(path: Path) -> bool:
    """Whether the file begins with polls of ``ss -t``: a socket's line and fields that ``-i`` adds."""
    begin = head_bytes(path)
    if not re.search(rb"[ \t](?:cwnd|rto):\d", begin):
        return False
    order = list(_FORMATS)
    return any(_line(line, order)[-1] is not None for line in begin.split(b"\n")[:2000])


def _line(line: bytes, order: list[re.Pattern[bytes]]) -> tuple[str, Stamp | None, re.Match[bytes] | None]:
    """Kind of a line of a log, its stamp, and its socket.

    ``detail`` is more of the last socket, ``poll`` the beginning of a poll; others are ``socket`` and ``strange``.
    """
    if line[:1] in (b"\t", b" ", b"", b"\r"):
        return "detail", None, None
    socket, stamp, rest = _SOCKET.match(line), None, 0
    if socket:
        return "socket", None, socket
    if not line.startswith(_TITLES):
        stamp, end = _stamp(line, _LEAD.match(line).end(), order)
        rest = _TAIL.match(line, end).end() if stamp else 0
        if stamp and rest < len(line) and line[end : end + 2] in (b"  ", b" \t"):
            return "detail", None, None  # ts puts one blank between; what follows is indented
        socket = _SOCKET.match(line, rest)
    if rest >= len(line) or line.startswith(_TITLES, rest):
        return "poll", stamp, None
    return "socket" if socket else "strange", stamp, socket


# --- the log -------------------------------------------------------------------------------------------------------


class _Log:
    """The data read so far."""

    def __init__(self, path: Path) -> None:
        self.store = PollStore(path, is_wall=True)
        self.stamp: Stamp | None = None
        self.midnights_s = 0.0
        self.is_fresh = True  # a poll began, and no socket since
        self.seen: set[int] = set()  # sockets of the current poll
        self.sockets: dict[tuple[bytes, bytes, bytes], int] = {}
        self.records: list[tuple[int, int, int, list[bytes]]] = []  # socket, poll, first line, lines
        self.is_whole = True  # all stamps are whole seconds
        self.first_strange = self.strange_count = self.without_stamp = 0
        self.with_state = self.with_bytes = 0  # sockets' polls
        self.cut = False

    def read(self) -> None:
        """Read all lines of the file."""
        order = list(_FORMATS)
        is_open = False  # a socket's lines may continue
        size = held = 0  # bytes of these, and of all stored ones
        line = b"\n"
        for number, line in enumerate(byte_lines(self.store.path), start=1):
            kind, stamp, found = _line(line.removesuffix(b"\n"), order)
            if kind == "detail":
                if is_open:
                    self.records[-1][-1].append(line)
                    size += len(line)
                if size > MAX_SOCKET_BYTES:
                    raise InputError(f"a socket with more than {size} bytes of text; {ADVICE}")
                continue
            is_open, size, held = False, 0, held + size
            if kind == "strange":
                self.first_strange = self.first_strange or number
                self.strange_count += 1
            if stamp is not None:
                self._take_stamp(stamp, kind == "poll")
            self.is_fresh |= kind == "poll"
            if found is None or found["netid"] not in (None, b"tcp") or found["state"] in _NO_FLOW:
                continue
            if self.stamp is None:
                self.without_stamp += 1
                continue
            if held > BYTES_AT_ONCE:
                self._take_fields()
                held = 0
            socket = self._socket(line, found)
            self.records.append((socket, self._poll(socket), number, [line]))
            is_open, size = True, len(line)
        self.cut = is_open and not line.endswith(b"\n")  # within its last socket: its numbers may be truncated, too
        if self.cut:
            self.records.pop()
        self._take_fields()

    def _take_stamp(self, stamp: Stamp, begins_poll: bool) -> None:
        if self.stamp is not None:
            if begins_poll and self.is_fresh:
                self.store.polls([self.stamp.t_s + self.midnights_s])  # it showed no socket
            if stamp.wraps and stamp.t_s < self.stamp.t_s - MAX_SPAN_S / 2:
                self.midnights_s += MAX_SPAN_S
        self.stamp = stamp
        self.store.is_wall &= stamp.is_wall
        self.is_whole &= stamp.is_whole

    def _socket(self, line: bytes, found: re.Match[bytes]) -> int:
        """Number of the socket of a line."""
        cookie = _COOKIE.search(line, found.end())
        key = (found["local"], found["peer"], cookie[1] if cookie else b"")
        if key not in self.sockets:
            local, peer, told = (part.decode(errors="replace") for part in key)
            self.sockets[key] = self.store.socket(polled.socket_of(local, peer, told))
        return self.sockets[key]

    def _poll(self, socket: int) -> int:
        """Number of the poll of a socket, the current one or the next."""
        t_s = self.stamp.t_s + self.midnights_s
        if self.is_fresh or socket in self.seen or abs(t_s - self.store.times_s[-1]) > SAME_POLL_S:
            self.store.polls([t_s])
            self.seen.clear()
        self.seen.add(socket)
        self.is_fresh = False
        return len(self.store.times_s) - 1

    def _take_fields(self) -> None:
        """Read the fields of the sockets since the last call, one field of all of them at a time."""
        if not self.records:
            return
        sockets, polls, lines, texts = zip(*self.records, strict=True)
        self.records = []
        texts = pa.array([b" ".join(b"".join(text).split()).decode("latin-1") for text in texts])
        for name in (*dict.fromkeys(name for name, *_ in _FIELDS.values()), *_AFTER_ALGORITHM):
            twice = pc.count_substring(texts, f" {name}:").to_numpy() > 1
            refuse_first(twice, "{}: twice for the socket in line {}; {}", name, lines, ADVICE)
        shown = {key: _numbers(texts, *field, lines) for key, field in _FIELDS.items()}
        acked, sent, received = (shown[f"bytes_{what}"] for what in ("acked", "sent", "received"))
        # SYN and FIN are acknowledged but not counted as sent, nor is data that a repaired socket sent before
        says = "bytes_acked: {} of {} bytes_sent in line {}; give the tool's own output"
        refuse_first((acked > sent + 65_536) & (sent >= 0), says, acked, sent, lines)
        has_state = (shown["cwnd"] >= 0) | (shown["rtt"] >= 0)
        self.with_state += has_state.sum()
        self.with_bytes += ((acked >= 0) | (received >= 0)).sum()
        after = [_extracted(texts, rf"(?P<found>\S+) {name}:") for name in _AFTER_ALGORITHM]
        is_resending = (shown["resending"] > 0) | (shown["lost"] > 0)
        rows = pd.DataFrame(shown).assign(
            socket=sockets,
            poll=polls,
            ca_state=np.where(is_resending, np.where(shown["backoff"] > 0, CA_LOSS, CA_RECOVERY), CA_OPEN),
            ssthresh=np.where(shown["ssthresh"] > 0, shown["ssthresh"], INFINITE_SSTHRESH),
            rtt_us=np.round(shown["rtt"] * 1e3),
            min_rtt_us=np.round(shown["minrtt"] * 1e3),
        )
        words = (word or "" for word in pc.coalesce(*after).to_pylist())
        names = [word if _ALGORITHM.fullmatch(word) and word not in _NO_ALGORITHM else "" for word in words]
        self.store.add(rows.clip(lower=0).assign(cc=names)[has_state])


def _extracted(texts: pa.StringArray, form: str) -> pa.StringArray:
    """The group ``found`` of a regular expression in each text; null without a match."""
    return pc.struct_field(pc.extract_regex(texts, form), "found")


def _numbers(texts: pa.StringArray, name: str, form: str, largest: float, lines: Sequence[int]) -> np.ndarray:
    """The numbers of one field, -1 for a socket without it. Raises InputError for other values."""
    told = _extracted(texts, rf" {name}:(?P<found>\S*)")
    found = _extracted(told, form)
    is_wrong = pc.and_(told.is_valid(), found.is_null()).to_numpy(zero_copy_only=False)
    for i in np.flatnonzero(is_wrong)[:1]:
        raise InputError(f"{name}: {told[i].as_py()[:20]!r} in line {lines[i]} is not a number that ss writes")
    numbers = found.cast(pa.float64() if form.startswith(_REAL) else pa.int64()).fill_null(-1).to_numpy()
    says = "{}: {} in line {} is not between 0 and {:g}"
    refuse_first(numbers > largest, says, name, numbers, lines, largest)
    return numbers


# --- flows ---------------------------------------------------------------------------------------------------------


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """Every direction of a connection that carried data. Raises InputError naming file, field and line."""
    log = _Log(path)
    log.read()
    for lacks, says in (
        (log.stamp is None, f"no time stamps; {ADVICE}"),
        (not log.store.times_s, f"no TCP connection; {ADVICE}"),
        (not log.with_state, "cwnd: no socket has it; call ss with -i, as scripts/poll_ss.sh does"),
        (
            not log.with_bytes,
            "bytes_acked: no socket has it, so that goodput is not known; poll with ss of iproute2 4.1 or later on Linux 4.1 "
            "or later",
        ),
    ):
        if lacks:
            raise InputError(says)
    remarks = _set_clock(log)
    found = polled.candidates(log.store, said, _states)
    totals = {flow.ends: flow.total_bytes[-1] for flow in found}
    # without the small direction of connections that carry a hundred times as much in the other direction
    share = polled.CONTROL_SHARE
    flows = [flow for flow in found if flow.total_bytes[-1] >= share * totals.get(flow.ends[::-1], 0.0)]
    left = [
        (log.cut, "the file ends within a socket's line: its last poll is skipped"),
        (log.without_stamp, f"{log.without_stamp} sockets before the first time stamp are skipped"),
        (
            log.strange_count,
            f"{log.strange_count} lines are neither ss's nor time stamps and were skipped, the first is {log.first_strange}",
        ),
    ]
    remarks = (remarks, [text for is_so, text in left if is_so])
    return polled.observed(NAME, log.store, flows, said, "poll at the sender while the flows run", remarks)


def _set_clock(log: _Log) -> list[str]:
    """Correct the times of the polls, and return remarks. Raises InputError for a clock that cannot be corrected."""
    times_s = np.array(log.store.times_s)
    remarks = []
    if log.is_whole and (np.diff(times_s) == 0).any():
        times_s = _spread(times_s)
        remarks.append("time stamps of whole seconds: the polls of a second are spread evenly over it")
    times_s, steps_s = _put_right(times_s, log)
    if steps_s:
        remarks.append(
            f"the clock of the polls ran backwards or jumped {len(steps_s)} times; what follows is put right"
        )
    if not log.store.is_wall:
        remarks.append(
            "the time stamps lack the year or a time zone that means one offset: the wall clock is not known, only differences"
        )
    log.store.times_s = array("d", times_s)
    log.store.clock_error_s, log.store.clock_steps_s = float(log.is_whole), steps_s
    return remarks


def _spread(times_s: Floats) -> Floats:
    """Polls in order with stamps of whole seconds, those of a second spread evenly over it."""
    begins = np.r_[True, np.diff(times_s) != 0]
    second = np.cumsum(begins) - 1
    counts = np.bincount(second)
    usual = np.median(counts[1:-1]) if len(counts) > 2 else counts.max()
    place = np.arange(len(times_s)) - np.flatnonzero(begins)[second]
    late = np.where(second == 0, np.maximum(usual - counts[0], 0), 0)  # the first second may have begun late
    return times_s + (place + late) / np.maximum(counts, usual)[second]  # and the last may be cut


def _put_right(times_s: Floats, log: _Log) -> tuple[Floats, list[float]]:
    """Times that increase while any socket lives, and the places of corrections."""
    times_s = times_s.copy()
    steps_s: list[float] = []
    if len(times_s) > 2:
        left, middle, right = times_s[:-2], times_s[1:-1], times_s[2:]
        alone = np.flatnonzero((left < right) & ((middle < left) | (middle > right))) + 1
        if len(alone) > MAX_STEPS:
            raise InputError(f"time stamps: out of order {len(alone)} times; {ADVICE}")
        for i in alone:  # only one stamp is wrong, its neighbours are in order
            if not times_s[i - 1] < times_s[i] < times_s[i + 1]:
                times_s[i] = (times_s[i - 1] + times_s[i + 1]) / 2
                steps_s.append(float(times_s[i]))
    back = np.flatnonzero(np.diff(times_s) <= 0) + 1
    if not len(back):
        return times_s, steps_s
    if len(back) > MAX_STEPS:
        raise InputError(f"time stamps: run backwards {len(back)} times; {ADVICE}")
    lives = log.store.table().groupby("socket")["poll"].agg(["first", "last"]).to_numpy()
    usual_s = np.median(np.diff(times_s))
    for i in back:
        if not any(first < i <= last for first, last in lives):
            continue  # another recording follows in the same file
        if usual_s <= 0:
            raise InputError(f"time stamps: run backwards {len(back)} times; {ADVICE}")
        if times_s[i] == times_s[i - 1]:
            raise InputError(f"time stamps: two polls at {times_s[i]:.6f}; {ADVICE}")
        times_s[i:] += times_s[i - 1] + usual_s - times_s[i]
        steps_s.append(float(times_s[i]))
    return times_s, steps_s


def _states(rows: pd.DataFrame) -> np.ndarray:
    """The kernel's ca_state, derived from ss; ``ca_state`` of the rows marks retransmissions."""
    resending, cwnd, ssthresh = (rows[name].to_numpy() for name in ("ca_state", "cwnd", "ssthresh"))
    is_resending = resending >= CA_RECOVERY
    before = np.r_[False, is_resending[:-1]]
    cut = np.r_[False, np.diff(ssthresh) != 0] & (ssthresh < INFINITE_SSTHRESH)
    fell = np.r_[False, (cwnd[:-1] > ssthresh[:-1]) & (cwnd[1:] <= ssthresh[1:])]
    began = is_resending & (cut | fell)
    timed_out = is_resending & ((resending == CA_LOSS) | (cwnd == 1))
    state = np.where(_since(began | timed_out, is_resending, before), CA_RECOVERY, CA_OPEN)
    return np.where(_since(timed_out, is_resending, before), CA_LOSS, state)


def _since(marks: np.ndarray, inside: np.ndarray, before: np.ndarray) -> np.ndarray:
    """From each mark to the end of the stretch of ``inside`` in which it is."""
    count = np.cumsum(marks)
    at_start = np.maximum.accumulate(np.where(inside & ~before, count - marks, 0))
    return inside & (count > at_start)
