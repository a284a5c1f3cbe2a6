"""One report of ``iperf3 --json``, of client or server: its fields validated and compared with each other.

Fields are those of iperf 3.1 to 3.21 (its ``iperf_api.c``; reports of 3.1.3, 3.12 and 3.21 are in the tests). What changed:
3.7 added ``sender`` to every entry, and ``--bidir`` with sums named ``..._bidir_reverse``; 3.14 ``test_start.bidir``; 3.17
``test_start.interval`` and ``--json-stream``; 3.21 ``timestamp.timemillisecs``. Before 3.7 ``reverse`` determines the
sender. With ``--bidir``, ``sender_tcp_congestion`` is the server's and ``receiver_tcp_congestion`` the client's, at
both ends; otherwise the names are literal. A report that was interrupted may repeat its last interval.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from tcpfair.errors import InputError
from tcpfair.sources.readers.observed import UNKNOWN_CC
from tcpfair.sources.readers.readings import MAX_SPAN_S, MICROSECONDS_PER_S
from tcpfair.sources.readers.text import between, decoding_json, located, read_text, refuse_first, refusing
from tcpfair.units import BITS_PER_BYTE

MIN_INTERVAL_S = 0.1  # of iperf3 itself
MAX_BYTES = 1e13  # of an interval or, times a day's intervals, of a test: sums are still exact
LATE_S = 20.0  # a receiver empties the path after the end; the server gives up 10 s later
SAME_S = 0.01  # two ways to count one interval
# counted at the end but in no interval: the last partial one
BLOCKS_UNCOUNTED = 4
DEFAULT_BLOCK_BYTES = 131_072
MAX_JSON_BYTES = 120_000_000  # as objects it takes five times as much; a day of one stream in seconds has 80 MB
_SPACE = re.compile(r"\s*")
_BESIDE = ("iperf3: ", "warning: ", "WARNING: ")  # added by a shell when errors go to the same file
UDP = "udp"  # instead of a congestion control, which UDP lacks

Seconds = between(float, 0, MAX_SPAN_S)
Bps = between(float, 0, 1e15)
Count = between(int, 0, 10**18)
Microseconds = between(int, -1, 10**9)  # -1 on systems without it
Port = between(int, 0, 65_535)
Short = Annotated[str, StringConstraints(max_length=100)]
Host = Annotated[str, StringConstraints(max_length=255)]
Algorithm = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,40}$")]


Table = NDArray[np.void]  # (intervals,), with the fields of `_Entry`


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class _Connection(_Strict):
    socket: between(int, 0, 10**9)
    local_host: Host = ""
    local_port: Port = 0
    remote_host: Host = ""
    remote_port: Port = 0


class _Timestamp(_Strict):
    timesecs: between(int, 0, 10**11)
    timemillisecs: between(int, 0, 10**14) | None = None
    time: Short = ""


class _Peer(_Strict):
    host: Host
    port: Port


class _TestStart(_Strict):
    protocol: Literal["TCP", "UDP"]
    num_streams: between(int, 1, 128) = 1
    blksize: between(int, 0, 10**9) = DEFAULT_BLOCK_BYTES
    omit: between(int, 0, 3600) = 0
    duration: Seconds = 0.0
    bytes: Count = 0
    blocks: Count = 0
    reverse: Literal[0, 1] = 0
    bidir: Literal[0, 1] | None = None
    interval: Seconds | None = None


class _Start(_Strict):
    version: Annotated[str, StringConstraints(pattern=r"^iperf 3\.\d")]
    timestamp: _Timestamp
    connected: Annotated[list[_Connection], Field(min_length=1, max_length=256)]
    test_start: _TestStart
    connecting_to: _Peer | None = None
    accepted_connection: _Peer | None = None
    cookie: Short = ""
    tcp_mss: between(int, 0, 65_535) = 0
    tcp_mss_default: between(int, 0, 65_535) = 0


class _Span(_Strict):
    """A sum at the end, or the part of one stream in it."""

    bytes: Count | None = None
    start: Seconds | None = None
    end: Seconds | None = None
    seconds: Seconds | None = None
    bits_per_second: Bps | None = None
    socket: int | None = None
    min_rtt: Microseconds | None = None
    mean_rtt: Microseconds | None = None
    max_rtt: Microseconds | None = None
    max_snd_cwnd: between(int, -1, 10**12) | None = None
    sender: bool | None = None


class _Sum(_Strict):
    """The streams of an interval together; with ``--bidir`` ``sender`` gives their direction."""

    bytes: between(float, 0, MAX_BYTES)
    sender: bool | None = None


class _Entry(_Sum):
    """One stream in an interval."""

    socket: int
    start: Seconds
    end: Seconds
    seconds: Seconds | None = None
    bits_per_second: Bps | None = None
    snd_cwnd: between(float, -1, 1e12) | None = None
    rtt: between(float, -1, 1e9) | None = None  # in us
    omitted: bool | None = None


class _Interval(_Strict):
    streams: list[_Entry]
    sum: _Sum | None = None
    sum_bidir_reverse: _Sum | None = None


class _EndStream(_Strict):
    sender: _Span = _Span()
    receiver: _Span = _Span()
    udp: _Span = _Span()


class _End(_Strict):
    streams: Annotated[list[_EndStream], Field(max_length=256)] = []
    sum_sent: _Span = _Span()
    sum_received: _Span = _Span()
    sum_sent_bidir_reverse: _Span = _Span()
    sum_received_bidir_reverse: _Span = _Span()
    sender_tcp_congestion: Algorithm = UNKNOWN_CC
    receiver_tcp_congestion: Algorithm = UNKNOWN_CC


class Json(_Strict):
    """A report as iperf3 writes it, with that of the server in it."""

    start: _Start
    intervals: list[_Interval]
    end: Annotated[_End, BeforeValidator(lambda end: end or {})] = _End()
    title: str = ""
    error: str = ""
    server_output_json: Json = None
    server_output_text: str = ""


@dataclass(frozen=True)
class Stream:
    """One connection from the view of one host; times in s since the start of the test, after the omitted part."""

    local: tuple[str, int]
    remote: tuple[str, int]
    sends: bool  # this host sends
    starts_s: np.ndarray  # (intervals,)
    ends_s: np.ndarray
    bytes: np.ndarray  # sent or received by this host
    omitted_s: float = 0.0  # duration of the omitted beginning
    cwnd_bytes: np.ndarray | float = np.nan  # at the end of each interval, NaN if missing
    srtt_s: np.ndarray | float = np.nan
    min_rtt_s: float = np.nan
    received_bytes: float = np.nan  # total at the other host, as it reported


@dataclass(frozen=True)
class Report:
    """One test from the view of one host."""

    where: str
    is_client: bool
    is_udp: bool
    is_bidir: bool
    streams: tuple[Stream, ...]
    interval_s: float
    clock_s: float | None = None  # when the hosts connected
    clock_error_s: float = 0.0
    is_far: bool = False  # of text: the server's report, printed after the client's
    cookie: str = ""
    mss_bytes: float = np.nan
    sender_cc: str = UNKNOWN_CC
    receiver_cc: str = UNKNOWN_CC
    error: str = ""  # why the test was interrupted
    offset_s: float | None = None  # its start, by its title
    far: Report | None = None  # the same test from the server's view
    far_name: str = ""
    remarks: tuple[str, ...] = ()

    def cc(self, stream: Stream) -> str:
        """The congestion control of the host that sends on ``stream``."""
        if self.is_udp:
            return UDP
        from_client = stream.sends == self.is_client
        return self.receiver_cc if self.is_bidir and from_client else self.sender_cc


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The consecutive JSON objects of a file, and iperf3's messages between them, each with its line."""
    text = read_text(path, MAX_JSON_BYTES).removeprefix("\ufeff")
    decoder = json.JSONDecoder()
    place, line, counted = 0, 1, 0
    while (begin := _SPACE.match(text, place).end()) < len(text):
        line, counted = line + text.count("\n", counted, begin), begin
        if text.startswith(_BESIDE, begin):
            place = text.find("\n", begin) + 1 or len(text)
            yield line, text[begin:place].strip()
            continue
        with decoding_json(path):
            values, place = decoder.raw_decode(text, begin)
        if not isinstance(values, dict):
            raise InputError(f"line {line}: must be a JSON object; give a report of iperf3 --json")
        yield line, values


def checked(report: Json, where: str, *, was_interrupted: bool) -> Report:
    """A report whose fields agree with each other; ``was_interrupted`` allows it to end early.

    Raises InputError in one line that begins with ``where`` and names the field.
    """
    with located(where):
        start, test, end, intervals = report.start, report.start.test_start, report.end, report.intervals
        sockets = [connection.socket for connection in start.connected]
        remarks = _check_clock(start.timestamp)
        if (start.connecting_to is None) == (start.accepted_connection is None):
            raise InputError(
                "start: must have either connecting_to (a client's report) or accepted_connection (a server's)"
            )
        if len(set(sockets)) < len(sockets):
            raise InputError("start.connected: a socket occurs twice; give a report as iperf3 wrote it")
        if not intervals:
            raise InputError("intervals: none; repeat the test with iperf3 --interval 1")
        tables = _tables(intervals, sockets)
        is_client = start.connecting_to is not None
        senders = {socket: _sends(table, is_client != bool(test.reverse)) for socket, table in tables.items()}
        is_bidir = len(set(senders.values())) == 2
        _check_roles(where, senders, is_bidir, start)
        _check_sums(where, intervals, tables, senders)
        streams = []
        interval_s = _interval_s(test, tables)
        ends = _ends(end, sockets)
    for connection in start.connected:
        sends, last = senders[connection.socket], ends[connection.socket]
        name = f"{where}: intervals of socket {connection.socket}"
        with located(name):
            table, kept, repeated = _counted(tables[connection.socket], test.omit, was_interrupted)
            check_chain(kept["start"], kept["end"], interval_s)
        if repeated:
            remarks += ("the last interval of the interrupted test occurs twice and counts once",)
        if not was_interrupted:
            _check_whole(name, kept, last, sends, test, interval_s)
        _check_rtts(name, kept, last.sender)
        rtts, smallest, received = kept["rtt"], last.sender.min_rtt or 0, last.receiver.bytes
        streams.append(
            Stream(
                local=(connection.local_host, connection.local_port),
                remote=(connection.remote_host, connection.remote_port),
                sends=sends,
                starts_s=kept["start"],
                ends_s=kept["end"],
                bytes=kept["bytes"],
                omitted_s=max(0.0, float(test.omit), *table["end"][table["omitted"] > 0][-1:].tolist()),
                cwnd_bytes=np.where(kept["snd_cwnd"] > 0, kept["snd_cwnd"], np.nan),
                srtt_s=np.where(rtts > 0, rtts, np.nan) / MICROSECONDS_PER_S,
                min_rtt_s=(smallest if smallest > 0 else min(rtts[rtts > 0], default=np.nan)) / MICROSECONDS_PER_S,
                received_bytes=np.nan if received is None or not sends else float(received),
            )
        )
    if not was_interrupted:
        _check_end_sums(where, end, list(ends.values()), list(senders.values()))
    known = start.timestamp.timemillisecs
    return Report(
        where=where,
        is_client=is_client,
        is_udp=test.protocol == "UDP",
        is_bidir=is_bidir,
        streams=tuple(streams),
        interval_s=interval_s,
        clock_s=start.timestamp.timesecs if known is None else known / 1e3,
        clock_error_s=1.0 if known is None else 0.5,  # the data connections come some round trips later
        cookie=start.cookie,
        mss_bytes=float(start.tcp_mss or start.tcp_mss_default or np.nan),
        sender_cc=end.sender_tcp_congestion,
        receiver_cc=end.receiver_tcp_congestion,
        error=report.error,
        remarks=tuple(dict.fromkeys(remarks)),
    )


def check_chain(starts_s: np.ndarray, ends_s: np.ndarray, interval_s: float) -> None:
    """Intervals must be contiguous; iperf3 itself omits one of less than 0.1 s without bytes."""
    before_s = np.r_[0.0, ends_s[:-1]]
    apart_s = starts_s - before_s
    is_apart = (apart_s > 0.1 * interval_s + SAME_S) | (apart_s < -SAME_S)
    says = "number {} lasts from {:g} to {:g} s; intervals of {:g} s must follow each other without gap or overlap"
    number = np.arange(1, len(starts_s) + 1)
    refuse_first(is_apart | (ends_s <= np.maximum(starts_s, before_s)), says, number, starts_s, ends_s, interval_s)


# --- Start ------------------------------------------------------------------------------------------------------------


def _check_clock(stamp: _Timestamp) -> tuple[str, ...]:
    """The wall clock, which a report has up to three times; with a remark if one of them cannot be read."""
    millis, seconds = stamp.timemillisecs, stamp.timesecs
    if millis is not None and millis // 1000 != seconds:
        raise InputError(f"start.timestamp: timemillisecs {millis} and timesecs {seconds} are two moments")
    if not stamp.time:
        return ()
    said_s = clock_s(stamp.time)
    if said_s is None:
        return (f"start.timestamp.time {stamp.time!r} is not a time that can be read; timesecs is used",)
    if abs(said_s - seconds) > 1:
        raise InputError(f"start.timestamp: {stamp.time!r} is not {seconds} s after 1970")
    return ()


def clock_s(text: str) -> float | None:
    """Seconds since 1970 of a date as in mails; None when it cannot be read."""
    try:
        return parsedate_to_datetime(text.strip()).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


@refusing
def _check_roles(senders: dict[int, bool], is_bidir: bool, start: _Start) -> Iterator[str]:
    """The sender, the number of streams and their ports; check that several places of the report agree."""
    test, is_client = start.test_start, start.connecting_to is not None
    if test.bidir is not None and bool(test.bidir) != is_bidir:
        yield f"start.test_start.bidir: {test.bidir}, but the intervals contradict it"
    if is_bidir and test.reverse:
        yield "start.test_start.reverse: 1, but both hosts send"
    sends = next(iter(senders.values()))
    if not is_bidir and sends != (is_client != bool(test.reverse)):
        does = "sends" if sends else "receives"
        yield f"start.test_start.reverse: {test.reverse}, but in the intervals this host {does}"
    expected = test.num_streams * (2 if is_bidir else 1)
    if len(senders) != expected:
        yield f"start.test_start.num_streams: {test.num_streams}, but {len(senders)} streams are connected"
    if is_bidir and sum(senders.values()) != test.num_streams:
        yield f"intervals: {sum(senders.values())} of {expected} streams send; half of them must"
    ports = [(connection.local_port, connection.remote_port) for connection in start.connected]
    known = [pair for pair in ports if pair != (0, 0)]
    if len(set(known)) < len(known):
        yield "start.connected: two streams between the same ports"
    server = {pair[1] if is_client else pair[0] for pair in known}
    if start.connecting_to and known:
        server.add(start.connecting_to.port)
    if len(server) > 1:
        yield f"start.connected: the server has several ports ({min(server)}, {max(server)})"


# --- Intervals --------------------------------------------------------------------------------------------------------

_TOLD = ["start", "end", "bytes"]


def _tables(intervals: list[_Interval], sockets: list[int]) -> dict[int, Table]:
    """The intervals of each stream: the numbers of its entries, NaN if missing."""
    for number, interval in enumerate(intervals):
        found = [entry.socket for entry in interval.streams]
        if sorted(found) != sorted(sockets):
            says = f"socket: {str(found)[:60]}; each socket of start.connected must appear once"
            raise InputError(f"intervals.{number}.streams: {says}")
    rows = pd.DataFrame([vars(entry) for interval in intervals for entry in interval.streams]).astype(np.float64)
    return {socket: of_socket.to_records(index=False) for socket, of_socket in rows.groupby("socket", sort=False)}


def _sends(table: Table, expected: bool) -> bool:
    """Whether this host sends; ``expected`` before iperf 3.7, which does not record it."""
    told = table["sender"]
    if np.isnan(told).all():
        return expected
    if not (told == told[0]).all():
        raise InputError("intervals: sender: changes during the test")
    return bool(told[0])


@refusing
def _check_sums(intervals: list[_Interval], tables: dict[int, Table], senders: dict[int, bool]) -> Iterator[str]:
    """Check the sums of the intervals against their streams.

    With ``--bidir`` a report has two, and ``sender`` of each gives its direction. 3.7 to 3.9 call both ``sum``, of
    which JSON keeps the last.
    """
    sums = {way: sum(table["bytes"] for at, table in tables.items() if senders[at] == way) for way in senders.values()}
    for number, interval in enumerate(intervals):
        for name in ("sum", "sum_bidir_reverse"):
            total = getattr(interval, name)
            way = next(iter(sums)) if total is None or len(sums) == 1 else total.sender
            if total is not None and way in sums and total.bytes != (has := sums[way][number]):
                yield f"intervals.{number}.{name}.bytes: {total.bytes:.0f}, but its streams have {has:.0f}"


def _interval_s(test: _TestStart, tables: dict[int, Table]) -> float:
    lengths_s = np.concatenate([table["end"] - table["start"] for table in tables.values()])
    usual_s = round(float(np.median(lengths_s)), 2)
    longest_s = lengths_s.max()
    if test.interval and MIN_INTERVAL_S <= test.interval <= longest_s + SAME_S:
        return float(test.interval)
    if usual_s < MIN_INTERVAL_S and longest_s < MIN_INTERVAL_S:
        raise InputError(f"intervals: last {usual_s} s; iperf3 --interval must be at least {MIN_INTERVAL_S}")
    return max(usual_s, MIN_INTERVAL_S)


def _counted(table: Table, omit_s: int, was_interrupted: bool) -> tuple[Table, Table, bool]:
    """All intervals of a stream, those that count, and whether the last occurred twice.

    iperf3 repeats the last interval when it is interrupted. When the timer of ``--omit`` fires just before that of an
    interval, it resets its counters and its clock, but not the beginning of that interval: it prints the distance to 0 as
    ``start``, and a rate over both sides of the reset. That interval begins at 0 here.
    """
    repeated = was_interrupted and len(table) > 1 and table[-1:][_TOLD].tolist() == table[-2:-1][_TOLD].tolist()
    table = table[: -1 if repeated else None].copy()
    first = np.argmin(table["omitted"] > 0)
    start_s, end_s, seconds_s = (float(table[name][first]) for name in ("start", "end", "seconds"))
    if omit_s and start_s > SAME_S and abs(seconds_s - start_s - end_s) <= SAME_S:
        table["start"][first], table["seconds"][first] = 0.0, end_s
        table["bits_per_second"][first] *= seconds_s / end_s
    lengths_s = table["end"] - table["start"]
    seconds_s = np.where(np.isnan(table["seconds"]), lengths_s, table["seconds"])
    by_rate = table["bits_per_second"] * seconds_s / BITS_PER_BYTE
    off = np.abs(by_rate - table["bytes"]) > 1 + 1e-4 * table["bytes"]
    number = np.arange(1, len(table) + 1)
    says = "number {}: seconds: not the time between start and end"
    refuse_first(np.abs(seconds_s - lengths_s) > SAME_S, says, number)
    says = "number {}: bits_per_second: not what bytes in these seconds are"
    refuse_first(off & (seconds_s > 0), says, number)
    omitted = table["omitted"] > 0
    if omitted.any() and not omit_s:
        raise InputError("omitted: true, but start.test_start.omit is 0")
    if (np.diff(omitted.astype(int)) > 0).any():
        raise InputError("omitted: true after intervals that are not; iperf3 omits the beginning only")
    kept = table[~omitted]
    # iperf3 may end with an empty one
    if len(kept) and kept["end"][-1] == kept["start"][-1] and kept["bytes"][-1] == 0:
        kept = kept[:-1]
    if not len(kept):
        raise InputError("no interval of any length; repeat the test with iperf3 --interval 1")
    return table, kept, repeated


# --- End --------------------------------------------------------------------------------------------------------------


def _ends(end: _End, sockets: list[int]) -> dict[int, _EndStream]:
    """The final entry of each socket, in the order of ``sockets`` if it names none."""
    streams = end.streams or [_EndStream() for _ in sockets]
    if len(streams) != len(sockets):
        raise InputError(f"end.streams: {len(streams)}, but {len(sockets)} are connected")
    found = {}
    for socket, stream in zip(sockets, streams, strict=True):
        named = {span.socket for span in (stream.sender, stream.receiver, stream.udp)} - {None}
        if len(named) > 1 or not named <= set(sockets):
            raise InputError(f"end.streams: socket: {sorted(named)} is not a socket of start.connected")
        found[named.pop() if named else socket] = stream
    if len(found) < len(sockets):
        raise InputError("end.streams: socket: one occurs twice")
    return found


@refusing
def _check_whole(kept: Table, last: _EndStream, sends: bool, test: _TestStart, interval_s: float) -> Iterator[str]:
    """Check that intervals last as long as the test, and add up to this host's final total, except bytes after the last one."""
    end_s, total_bytes = kept["end"][-1], kept["bytes"].sum()
    if test.duration and not test.bytes and not test.blocks:
        ends, duration = f"end at {end_s:g} s", f"{test.duration:g} s"
        if end_s < test.duration - max(0.5 * min(interval_s, 1.0), 0.02 * test.duration):
            yield f"{ends} of {duration} (start.test_start.duration); give a test that ran to its end"
        if end_s > test.duration + interval_s + LATE_S:
            yield f"{ends}, but start.test_start.duration is {duration}"
    for name, span in (("sender", last.sender), ("receiver", last.receiver), ("udp", last.udp)):
        lasted_s = span.end if name == "receiver" else span.seconds
        if None in (span.bytes, span.bits_per_second, lasted_s) or not lasted_s or (name == "udp" and not span.bytes):
            continue
        if abs(span.bits_per_second * lasted_s / BITS_PER_BYTE - span.bytes) > 1 + 1e-4 * span.bytes:
            yield f"end.streams: {name}: bits_per_second: not what its bytes in its seconds are"
    said = (last.sender if sends else last.receiver).bytes
    if test.protocol == "UDP":
        said = last.udp.bytes if sends else None
    slack = uncounted_bytes(total_bytes, test.blksize)
    if said is not None and not -0.01 * total_bytes - 1 <= said - total_bytes <= slack:
        yield f"have {total_bytes:.0f} bytes in all, but end.streams has {said}"


def uncounted_bytes(total_bytes: float, block_bytes: float = DEFAULT_BLOCK_BYTES) -> float:
    """The most bytes of a test that may be in its end but in no interval."""
    return 0.01 * total_bytes + BLOCKS_UNCOUNTED * min(max(block_bytes, 1.0), 2 * DEFAULT_BLOCK_BYTES)


@refusing
def _check_end_sums(end: _End, ends: Sequence[_EndStream], senders: Sequence[bool]) -> Iterator[str]:
    """Check the sums of the end like those of the intervals: ``sender`` gives the direction."""
    is_bidir = len(set(senders)) == 2
    for name, part in (("sum_sent", "sender"), ("sum_received", "receiver")):
        for total in (name, f"{name}_bidir_reverse"):
            said = getattr(end, total)
            of_way = [last for last, way in zip(ends, senders, strict=True) if not is_bidir or way == said.sender]
            parts = [getattr(last, part).bytes for last in of_way]
            if said.bytes is not None and parts and None not in parts and sum(parts) != said.bytes:
                yield f"end.{total}.bytes: {said.bytes}, but its streams have {sum(parts)}"


@refusing
def _check_rtts(kept: Table, sender: _Span) -> Iterator[str]:
    """Check that min_rtt is the smallest, in the end and over the intervals; the largest window likewise."""
    told = (max(value or 0, 0) for value in (sender.min_rtt, sender.mean_rtt, sender.max_rtt, sender.max_snd_cwnd))
    least, mean, most, most_cwnd = told
    known = [rtt for rtt in (least, mean, most) if rtt]
    if known != sorted(known):
        yield "end.streams: sender: min_rtt, mean_rtt and max_rtt must not decrease in this order"
    rtts = kept["rtt"][kept["rtt"] > 0]
    if not rtts.size:
        return
    largest = np.nan_to_num(kept["snd_cwnd"]).max()
    if least > rtts.min():
        yield f"rtt: {rtts.min():.0f} us is below min_rtt {least} us of end.streams"
    if 0 < most < rtts.max():
        yield f"rtt: {rtts.max():.0f} us is above max_rtt {most} us of end.streams"
    if 0 < most_cwnd < largest:
        yield f"snd_cwnd: {largest:.0f} is above max_snd_cwnd {most_cwnd} of end.streams"
