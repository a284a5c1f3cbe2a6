"""Text of the kernel's TCP probe: one line for each packet that a connection got, with its window at that moment.

Two forms, in any packing:

- the tracepoint ``tcp:tcp_probe`` (Linux since 4.16, include/trace/events/tcp.h) as ``perf script``, ``trace-cmd report`` and
  ``trace`` or ``trace_pipe`` of tracefs print it, with the fields that versions add (family, sock_cookie, skbaddr); among other
  events;
- ``/proc/net/tcpprobe`` (module tcp_probe, removed in 4.16, net/ipv4/tcp_probe.c): time, source, destination, length, snd_nxt,
  snd_una, snd_cwnd, ssthresh, snd_wnd, srtt and since 3.11 rcv_wnd.

Goodput is the progress of snd_una, over the wraps of its 32 bits: the bytes acknowledged to the sender, in the state before the
packet of the line. Sockets that only receive show none and are left out. Of the many lines of a flow the last in 10 ms is
kept, and those around losses.

The probe prints the larger of ssthresh and three quarters of the window while nothing is being recovered; there only values
that are not the latter are taken for ssthresh. A loss is an ssthresh set below the window (HyStart sets it to the window), or
a window that comes down while ssthresh stays, as after two losses at one window; its recovery ends when all that was sent
until then is acknowledged; with a window of one packet it is a timeout. Retransmissions, states and the algorithm are not
told: say ``protocol`` in trace.yaml. Clocks are those of the kernel since boot, or of the module since its file was opened: no
wall clock is known. The module's srtt is in jiffies before Linux 3.15 and in microseconds since; values that could be either
are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tcpfair.errors import InputError
from tcpfair.sources.readers import polls as polled
from tcpfair.sources.readers.observed import Floats, Observed
from tcpfair.sources.readers.polls import (
    CA_LOSS,
    CA_OPEN,
    CA_RECOVERY,
    INFINITE_SSTHRESH,
    Clock,
    PollStore,
    Socket,
)
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import chunks, head_bytes

NAME = "tcp_probe"
ACCEPTS = "text of the tracepoint tcp:tcp_probe (perf script, trace-cmd report, trace_pipe) or of /proc/net/tcpprobe"

BACKEND = "tcp_probe"
BIN_S = 0.01
LATE_S = 1e-3  # lines of several processors may be out of order by less
MICROSECONDS_AT_LEAST = 5000  # as jiffies seconds: no path has such an RTT
BLOCK_BYTES = 4 << 20

_EVENT = b"tcp_probe: "
_TIME = re.compile(rb"\d{1,10}\.\d{3,9}:")
_HEX = rb"(?:0x)?([0-9a-f]{1,8})"
_FIELDS = re.compile(
    rb"(?:family=\w{1,10} )?src=([^ ]{3,64}) dest=([^ ]{3,64}) mark=\w{1,12} (?:data_len|length)=\d{1,10} snd_nxt=" + _HEX
    + rb" snd_una=" + _HEX + rb" snd_cwnd=(\d{1,10}) ssthresh=(\d{1,10}) snd_wnd=\d{1,10} srtt=(\d{1,10}) rcv_wnd=\d{1,10}"
    rb"(?: sock_cookie=([0-9a-f]{1,16}))?(?=[ \r]|$)"
)  # fmt: skip
_MODULE = re.compile(
    rb"(\d{1,10}\.\d{9}) ([^ ]{3,64}) ([^ ]{3,64}) \d{1,10} " + _HEX + rb" " + _HEX
    + rb" (\d{1,10}) (\d{1,10}) \d{1,10} (\d{1,10})(?: \d{1,10})?[ \r]*"
)  # fmt: skip
_LOST = re.compile(rb"\[LOST (\d{1,12}) EVENTS\]")


def sniff(path: Path) -> bool:
    """Whether the file begins with lines of the probe."""
    if not path.is_file():
        return False
    lines = head_bytes(path).split(b"\n")[:2000]
    return any((b"tcp_probe: " in line and b" snd_una=" in line) or _MODULE.fullmatch(line) for line in lines)


class _Last(NamedTuple):
    """The last line of a socket, and what came of all before."""

    t_s: float
    una: int
    cwnd: int
    ssthresh: int
    acked: int = 0
    known: int = INFINITE_SSTHRESH  # the ssthresh that was set last
    recover_until: int = 0  # bytes acknowledged that end the last recovery
    cut_ssthresh: int = 0
    cuts: int = 0


class _Log:
    """What was read so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = PollStore(path, BIN_S, own={"flight": np.uint32})
        self.line = 1
        self.is_module: bool | None = None
        self.sockets: dict[tuple[bytes, bytes, bytes], int] = {}
        self.last: dict[
            int, tuple[float, int, int, int]
        ] = {}  # of each socket: time, snd_una, bytes until it, ssthresh
        self.lost = 0
        self.first_other = 0  # line that is not the probe's
        self.cut = False

    def take(self, lines: list[bytes]) -> None:
        """Read some lines."""
        numbers, found = [], []
        for number, line in enumerate(lines, self.line):
            row = self.row(line, number)
            if row is not None:
                numbers.append(number)
                found.append(row)
        self.line += len(lines)
        if found:
            self._store(numbers, found)

    def row(self, line: bytes, number: int) -> tuple[bytes, ...] | None:
        """time, source, destination, snd_nxt, snd_una, cwnd, ssthresh, srtt, cookie as a line has them; None of other events."""
        at = line.find(_EVENT)
        if at < 0:
            return self._row_of_module(line, number)
        time = line[max(at - 40, 0) : at].removesuffix(b"tcp:").rstrip().rpartition(b" ")[2]
        fields = _FIELDS.match(line, at + len(_EVENT))
        if fields is None or not _TIME.fullmatch(time):
            if b"snd_" not in line:
                return None
            raise InputError(
                f"{self.path}: tcp_probe: line {number} lacks a field or has no number in it; copy it again"
            )
        if self.is_module is not False:
            self._one_form(is_module=False, number=number)
        return (time[:-1], *fields.groups(b""))

    def _row_of_module(self, line: bytes, number: int) -> tuple[bytes, ...] | None:
        module = _MODULE.fullmatch(line)
        if module is not None:
            self._one_form(is_module=True, number=number)
            if not self.first_other:
                return (*module.groups(), b"")
        if line.strip() and not line.startswith(b"#"):
            self.first_other = self.first_other or number
        if self.is_module and self.first_other:
            raise InputError(f"{self.path}: line {self.first_other}: not of /proc/net/tcpprobe; give its text alone")
        lost = _LOST.search(line)
        if lost:
            self.lost += int(lost[1])
        return None

    def _one_form(self, is_module: bool, number: int) -> None:
        if self.is_module is None:
            self.is_module = is_module
        if self.is_module is not is_module:
            raise InputError(f"{self.path}: line {number}: another form of the probe than before; give one recording")

    def _socket(self, source: bytes, target: bytes, cookie: bytes) -> int:
        key = (source, target, cookie)
        if key not in self.sockets:
            ends = [_host_and_port(end) for end in key[:2]]
            names = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in ends]
            socket = Socket(names[0], names[1], cookie.decode(), frozenset(host for host, _ in ends))
            self.sockets[key] = self.store.socket(socket)
        return self.sockets[key]

    def _store(self, numbers: list[int], found: list[tuple[bytes, ...]]) -> None:
        times, sources, targets, nxts, unas, cwnds, ssthreshs, srtts, cookies = zip(*found, strict=True)
        known_sockets = self.sockets
        socket = np.array(
            [
                number if (number := known_sockets.get(key)) is not None else self._socket(*key)
                for key in zip(sources, targets, cookies, strict=True)
            ],
            dtype=np.int64,
        )
        times_s = np.array(times).astype(np.float64)
        nxt, una = (np.array([int(value, 16) for value in values], dtype=np.int64) for values in (nxts, unas))
        cwnd, ssthresh, srtt = (np.array(values).astype(np.int64) for values in (cwnds, ssthreshs, srtts))
        for name, values, largest in (
            ("snd_cwnd", cwnd, 2**31),
            ("ssthresh", ssthresh, 2**32 - 1),
            ("srtt", srtt, 2**32 - 1),
        ):
            wrong = np.flatnonzero((values > largest) | ((values == 0) & (name == "snd_cwnd")))
            if len(wrong):
                raise InputError(
                    f"{self.path}: {name}: {values[wrong[0]]} in line {numbers[wrong[0]]} is not between "
                    f"{int(name == 'snd_cwnd')} and {largest}"
                )
        lines, flight = np.array(numbers), (nxt - una) % 2**32
        acked, known, cuts = (np.zeros(len(socket), dtype=np.int64) for _ in range(3))
        order = np.argsort(socket, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(socket[order])) + 1):
            times_s[rows], acked[rows], known[rows], cuts[rows] = self._of_one(
                int(socket[rows[0]]), *(values[rows] for values in (lines, times_s, una, flight, cwnd, ssthresh))
            )
        first = len(self.store.times_s)
        self.store.polls(times_s)
        zeros = np.zeros(len(socket), dtype=np.int64)
        self.store.add(
            {
                "socket": socket,
                "poll": first + np.arange(len(socket)),
                "cc": zeros + self.store.cc(""),
                "ca_state": zeros,
                "cwnd": cwnd,
                "ssthresh": np.minimum(known, INFINITE_SSTHRESH),
                "rtt_us": srtt,
                "min_rtt_us": zeros,
                "total_retrans": cuts,  # each resends something
                "bytes_acked": acked,
                "bytes_received": zeros,
                "flight": flight,
            }
        )

    def _of_one(
        self,
        key: int,
        lines: np.ndarray,
        times_s: Floats,
        una: np.ndarray,
        flight: np.ndarray,
        cwnd: np.ndarray,
        ssthresh: np.ndarray,
    ) -> tuple[Floats, np.ndarray, np.ndarray, np.ndarray]:
        """Of one socket's lines: times that do not run backwards, bytes acknowledged, the ssthresh that is set, cuts so far."""
        last = self.last.get(key) or _Last(float(times_s[0]), int(una[0]), int(cwnd[0]), int(ssthresh[0]))
        steps = np.diff(una, prepend=last.una) % 2**32
        back = np.flatnonzero(steps >= 2**31)
        if len(back):
            raise InputError(f"{self.path}: snd_una: runs backwards in line {lines[back[0]]}; give one recording")
        late = np.flatnonzero(np.diff(times_s, prepend=last.t_s) < -LATE_S)
        if len(late):
            raise InputError(
                f"{self.path}: time: runs backwards in line {lines[late[0]]}; give one recording, in order of time"
            )
        acked = last.acked + np.cumsum(steps)
        times_s = np.maximum.accumulate(np.maximum(times_s, last.t_s))
        is_set = ssthresh != (cwnd >> 1) + (cwnd >> 2)
        place = np.maximum.accumulate(np.where(is_set, np.arange(len(una)), -1))
        known = np.where(place >= 0, ssthresh[np.maximum(place, 0)], last.known)
        cwnd_before, ssthresh_before = np.r_[last.cwnd, cwnd[:-1]], np.r_[last.ssthresh, ssthresh[:-1]]
        changed = is_set & (ssthresh != ssthresh_before) & (ssthresh < cwnd_before) & (cwnd <= cwnd_before)
        # a loss at the window of the loss before: the same ssthresh, and the window comes down
        shrank = (ssthresh == ssthresh_before) & (cwnd < cwnd_before) & (cwnd_before > known)
        cuts = np.zeros(len(una), dtype=np.int64)
        in_recovery = acked < last.recover_until
        recover_until, cut_ssthresh = last.recover_until, last.cut_ssthresh
        for i in np.flatnonzero(changed | shrank).tolist():
            if acked[i] < recover_until and not (changed[i] and ssthresh[i] < cut_ssthresh):
                continue  # the window comes down step by step
            cuts[i] = 1
            recover_until, cut_ssthresh = int(acked[i] + flight[i]), int(ssthresh[i])
            in_recovery[i : np.searchsorted(acked, recover_until)] = True
        # in a recovery it is printed as it is, even when it happens to be three quarters of the window
        place = np.maximum.accumulate(np.where(is_set | in_recovery, np.arange(len(una)), -1))
        known = np.where(place >= 0, ssthresh[np.maximum(place, 0)], last.known)
        cuts = last.cuts + np.cumsum(cuts)
        self.last[key] = _Last(
            *(float(times_s[-1]), int(una[-1]), int(cwnd[-1]), int(ssthresh[-1])),
            *(int(acked[-1]), int(known[-1]), recover_until, cut_ssthresh, int(cuts[-1])),
        )
        return times_s, acked, known, cuts


def _host_and_port(text: bytes) -> tuple[str, str]:
    host, _, port = text.decode("utf-8", errors="replace").rpartition(":")
    return host.split("%")[0].strip("[]").removeprefix("::ffff:"), port


def read(path: Path, said: Sidecar) -> Observed:
    """Every connection whose sender was probed. Raises InputError naming file, field and line."""
    log = _log(path)
    remarks = []
    if log.is_module:
        remarks += _module_rtts(log)
    _drop_receivers_and_twins(log.store)
    times_s = np.array(log.store.times_s)
    found = polled.candidates(log.store, times_s, Clock(is_wall=False), said, _states)
    senders = [one for one in found if one.total_bytes > 0]
    kept, left = polled.without_control_connections(senders, said, path)
    if not kept:
        raise InputError(
            f"{path}: snd_una: no connection was acknowledged anything; probe at the sender while the flows run"
        )
    remarks += left
    if len(senders) < len(found):
        remarks.append(f"left out as receivers, whose snd_una does not move: {len(found) - len(senders)} connections")
    if log.lost:
        remarks.append(f"the kernel lost {log.lost} events for want of buffer: losses may be missing")
    if log.cut:
        remarks.append("the file ends within a line, which is left out")
    if log.store.bin_s > BIN_S:
        remarks.append(f"too many lines for memory: one in {log.store.bin_s:g} s is kept, and all around losses")
    if any(one.flow.rtt_s > 0 for one in kept):
        remarks.append("the RTT is the smallest smoothed one; a better one is rtt_s in trace.yaml")
    return Observed(BACKEND, tuple(one.flow for one in kept), (path,), remarks=tuple(remarks), has_own_zero=True)


def _log(path: Path) -> _Log:
    log = _Log(path)
    rest = b""
    for piece in chunks(path, BLOCK_BYTES):
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > BLOCK_BYTES:
            raise InputError(f"{path}: line {log.line + len(lines)}: too long; give the tool's own output")
        log.take(lines)
    if rest.strip():
        log.cut = True
    if not log.store.times_s:
        raise InputError(f"{path}: tcp_probe: no whole line of it; give the tool's own output")
    return log


def _module_rtts(log: _Log) -> list[str]:
    """Leave the module's srtt out where its unit cannot be told."""
    rows = log.store.sorted_rows()
    known = rows["rtt_us"][rows["rtt_us"] > 0]
    if not len(known) or np.median(known) >= MICROSECONDS_AT_LEAST:
        return []
    rows["rtt_us"][:] = 0
    return ["srtt may be in jiffies or in microseconds and is left out; give rtt_s in trace.yaml"]


def _drop_receivers_and_twins(store: PollStore) -> None:
    """Of lines of a socket at one time the last counts."""
    rows = store.sorted_rows()
    times_s = np.array(store.times_s)[rows["poll"]]
    is_last = np.r_[(rows["socket"][1:] != rows["socket"][:-1]) | (times_s[1:] > times_s[:-1]), True]
    store.keep(is_last)


def _states(rows: dict[str, np.ndarray]) -> np.ndarray:
    """The kernel's ca_state as far as the probe shows it: from each cut until what was in flight is acknowledged."""
    cwnd, acked = rows["cwnd"], rows["bytes_acked"]
    state = np.full(len(cwnd), CA_OPEN)
    for i in np.flatnonzero(np.diff(rows["total_retrans"].astype(np.int64)) > 0) + 1:
        stop = int(np.searchsorted(acked, acked[i] + int(rows["flight"][i])))
        state[i : max(stop, i + 1)] = CA_LOSS if cwnd[i] == 1 else CA_RECOVERY
    return state
