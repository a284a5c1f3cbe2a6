"""Output of iperf3 without ``--json``: the log of a client, of a server, or ``server_output_text`` of a report.

Rates have three digits (four from 1000 to 1023) and times two decimals. Lines are those of iperf 3.1 to 3.21:

    [  5]   0.00-1.00   sec  3.14 MBytes  26.3 Mbits/sec
    [  5][TX-C]   0.00-1.00   sec  8.10 MBytes  67.9 Mbits/sec   22   43.8 KBytes

Retransmissions after the rate mean that this host sends, jitter that it receives; ``[TX-C]`` and the like state it with
``--bidir``. RTT is never printed, wall clock, cookie and congestion control only with ``--verbose``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tcpfair.errors import InputError
from tcpfair.sources.readers.iperf3_report import (
    MAX_BYTES,
    MIN_INTERVAL_S,
    Report,
    Stream,
    check_chain,
    clock_s,
    uncounted_bytes,
)
from tcpfair.sources.readers.observed import UNKNOWN_CC
from tcpfair.sources.readers.pattern_table import units
from tcpfair.sources.readers.readings import MAX_SPAN_S, half_digit
from tcpfair.sources.readers.text import located, refusing
from tcpfair.units import BITS_PER_BYTE

MAX_ROWS, MAX_TESTS, MAX_STREAMS = 2_000_000, 10_000, 256
MAX_LINE = 1000
_TIME_S = 0.011  # two decimals, at both ends

_CONNECTED = re.compile(r"\[ *(\d{1,9})\] local (\S{1,255}) port (\d{1,5}) connected to (\S{1,255}) port (\d{1,5})\b")
_ROW = re.compile(
    r"\[ *(\d{1,9}|SUM)\](?:\[([RT]X-[CS])\])? +(\d{1,5}\.\d{2})-(\d{1,5}\.\d{2}) +sec +(\d{1,9}(?:\.\d{1,3})?) ([KMGT]?Bytes)"
    r" +(\d{1,15}(?:\.\d{1,3})?) ([KMGT]?(?:bits|Bytes)/sec)(.*)$",
    re.ASCII,
)
_NAMED = re.compile(r"\[ *(?:\d|SUM)", re.ASCII)
_OTHER = re.compile(r"statistics not available|out-of-order|reads|percent|Sent ")
_SENDS = re.compile(r" +\d+(?: +\d+(?:\.\d+)? [KMGT]?Bytes)?(?: +\(omitted\))?", re.ASCII)
_ALGORITHM = re.compile(r"(snd|rcv)_tcp_congestion ([A-Za-z0-9_.-]{1,40})", re.ASCII)
_OMITTING = re.compile(r", omitting (\d{1,4}) seconds?,", re.ASCII)
_STOPPED = re.compile(r"iperf3: (?:error - )?(.*(?:terminated|closed|interrupt|unable|refused|reset|timed out).*)")


@dataclass
class _Test:
    """One test of a log, line by line."""

    where: str
    is_client: bool | None = None  # None: unknown
    is_far: bool = False  # the server's output, after the client's
    is_reverse: bool = False
    is_udp: bool = False
    retransmits: bool = False
    error: str = ""
    ended: bool = False
    clock_s: float | None = None
    connections: dict[str, tuple[tuple[str, int], tuple[str, int]]] = field(default_factory=dict)
    rows: dict[str, list[tuple[float, float, float]]] = field(default_factory=dict)  # start, end and bytes of intervals
    omitted_s: dict[str, float] = field(default_factory=dict)  # when the omitted intervals of a stream end
    roles: dict[str, str] = field(default_factory=dict)
    totals: dict[tuple[str, str], float] = field(default_factory=dict)  # of stream and "sender" or "receiver", bytes
    until_s: float = 0.0  # by its totals
    omit_s: float = 0.0  # in the form of --verbose
    cookie: str = ""
    cc: dict[str, str] = field(default_factory=dict)  # of snd and rcv


def tests(lines: Iterable[str], where: str) -> list[Report]:
    """The tests of a log, with ``error`` when interrupted; one without any interval has no streams."""
    found: list[_Test] = []
    stamp_s, stopped, is_far = None, None, False
    n_rows = 0
    for number, line in enumerate(lines, start=1):
        at = f"{where}: line {number}"
        if len(line) > MAX_LINE:  # so that no expression below searches more
            raise InputError(f"{at}: longer than {MAX_LINE} characters; give the log as iperf3 wrote it")
        if line.startswith("Server output:"):
            is_far = True
            continue
        is_cut = is_far and _CONNECTED.search(line) is not None  # the section lacks its first lines
        if "Connecting to host " in line or "Accepted connection from " in line or is_cut:
            is_client = "Connecting to host " in line
            of_far = is_far and not is_client
            found.append(_Test(f"{where}: test {len(found) + 1}", is_client, of_far, clock_s=stamp_s))
            stamp_s, is_far = None, False
            if len(found) > MAX_TESTS:
                raise InputError(f"{at}: more than {MAX_TESTS} tests; give the log in parts")
            if not is_cut:
                continue
        if line.startswith("Time: "):
            stamp_s = clock_s(line.removeprefix("Time: "))
            if found and found[-1].clock_s is None and not found[-1].rows:
                found[-1].clock_s, stamp_s = stamp_s, None
            continue
        if not found:
            stopped = stopped or _STOPPED.search(line)
            if not _CONNECTED.search(line) and not _ROW.search(line):
                continue
            found.append(_Test(where))
        _take(found[-1], line, at)
        n_rows += line.startswith("[")
        if n_rows > MAX_ROWS:
            raise InputError(f"{at}: more than {MAX_ROWS} lines of intervals; give the log in parts")
    if found and stopped:  # errors are written at once, output to a file in blocks: it comes later
        found[-1].error = found[-1].error or stopped[1].strip()
    return [_report(test) for test in found]


def _take(test: _Test, line: str, at: str) -> None:
    """One line of a test."""
    if line.startswith("Reverse mode"):
        test.is_reverse = True
    elif stopped := _STOPPED.search(line):
        test.error = test.error or stopped[1].strip()
    elif connected := _CONNECTED.search(line):
        name, local, local_port, remote, remote_port = connected.groups()
        if name in test.connections or len(test.connections) >= MAX_STREAMS:
            raise InputError(f"{at}: [{name}] is connected twice in one test, or is one too many")
        if max(int(local_port), int(remote_port)) > 65_535:
            raise InputError(f"{at}: port: must be at most 65535")
        test.connections[name] = ((local, int(local_port)), (remote, int(remote_port)))
    elif row := _ROW.search(line):
        _take_row(at, test, row)
    elif _NAMED.match(line) and not _OTHER.search(line):
        raise InputError(f"{at}: {line!r:.80} is not a line of iperf3; give the log as it was written")
    elif used := _ALGORITHM.fullmatch(line):
        test.cc[used[1]] = used[2]
    elif "Datagrams" in line:
        test.is_udp = True
    elif omitting := _OMITTING.search(line):
        test.omit_s = float(omitting[1])
    elif "Cookie: " in line:
        test.cookie = line.split("Cookie: ", 1)[1].strip()[:100]


@refusing
def _take_row(test: _Test, row: re.Match[str]) -> Iterator[str]:
    name, role, start, end, transfer, of_transfer, rate, of_rate, rest = row.groups()
    rest = rest.rstrip()
    test.is_udp = test.is_udp or " ms " in rest
    unit_bytes = units()["bytes"][of_transfer]
    by_transfer = float(transfer) * unit_bytes
    if rest.endswith(("sender", "receiver")):
        test.ended = True
        whose = rest.split()[-1].lstrip(")")
        if name == "SUM":  # with --bidir one for each direction; not used
            return
        if (name, whose) in test.totals:
            yield f"the total of [{name}] as {whose} occurs twice"
        test.totals[name, whose] = by_transfer
        test.until_s = max(test.until_s, float(end))
        return
    start_s, end_s = float(start), float(end)
    if not start_s <= end_s <= MAX_SPAN_S:
        yield f"lasts from {start} to {end} s; must be in order and at most {MAX_SPAN_S:g} s"
    per_unit = units()["rate"][of_rate] / BITS_PER_BYTE
    is_omitted, lasted_s = "(omitted)" in rest, end_s - start_s
    if name in test.omitted_s and not test.rows[name] and start_s > _TIME_S and not is_omitted:
        # the counters were reset but this interval was not (see `iperf3_report`): the rate is over both sides of 0
        test.omitted_s[name] += start_s
        lasted_s, start_s = start_s + end_s, 0.0
    by_rate = float(rate) * per_unit * lasted_s
    if max(by_rate, by_transfer) > MAX_BYTES:
        yield f"{max(by_rate, by_transfer):g} bytes in one interval are more than any link carries"
    if name == "SUM":
        return
    slack = half_digit(rate) * per_unit * (lasted_s + _TIME_S) + float(rate) * per_unit * _TIME_S
    if abs(by_rate - by_transfer) > slack + half_digit(transfer) * unit_bytes:
        yield f"the transfer is not what this rate gives in {lasted_s:.2f} s"
    rows = test.rows.setdefault(name, [])
    if len(test.rows) > MAX_STREAMS:
        yield f"more than {MAX_STREAMS} streams in one test; iperf3 has fewer"
    if role and test.roles.setdefault(name, role) != role:
        yield f"[{name}] is {role}, but {test.roles[name]} before"
    if is_omitted and rows:
        yield "omitted after intervals that are not; iperf3 omits the beginning only"
    if is_omitted:
        test.omitted_s[name] = end_s
        return
    test.retransmits = test.retransmits or (" ms " not in rest and bool(_SENDS.fullmatch(rest)))
    if end_s > start_s:  # the tail of a server may be shorter than the printed precision
        rows.append((start_s, end_s, by_rate))


def _report(test: _Test) -> Report:
    kept = {name: np.array(rows).T for name, rows in test.rows.items() if rows}
    lengths_s = np.concatenate([ends_s - starts_s for starts_s, ends_s, _ in kept.values()]) if kept else np.zeros(1)
    interval_s = max(round(float(np.median(lengths_s)), 2), MIN_INTERVAL_S)
    if test.rows:
        _check_report(test.where, test, kept, interval_s, lengths_s.max())
    streams = []
    for name, (starts_s, ends_s, in_bytes) in kept.items():
        local, remote = test.connections.get(name, (("", 0), ("", 0)))
        omitted_s = max(test.omitted_s.get(name, 0.0), test.omit_s)
        streams.append(Stream(local, remote, _sends(test, name), starts_s, ends_s, in_bytes, omitted_s))
    is_bidir = len({stream.sends for stream in streams}) == 2
    cc = {} if is_bidir else test.cc  # printed once for each direction, without its name
    return Report(
        where=test.where,
        is_client=bool(test.is_client),
        is_udp=test.is_udp,
        is_bidir=is_bidir,
        streams=tuple(streams),
        interval_s=interval_s,
        clock_s=test.clock_s,
        clock_error_s=1.0,
        is_far=test.is_far,
        cookie=test.cookie,
        sender_cc=cc.get("snd", UNKNOWN_CC),
        receiver_cc=cc.get("rcv", UNKNOWN_CC),
        error=test.error or ("" if test.ended else "the log ends without the totals"),
    )


@refusing
def _check_report(test: _Test, kept: dict[str, np.ndarray], interval_s: float, longest_s: float) -> Iterator[str]:
    """Check streams, their intervals and their totals against each other."""
    if not kept:
        yield "no interval of any length; repeat the test with iperf3 --interval 1"
    for name in kept:
        if test.connections and name not in test.connections:
            yield f"[{name}] has intervals, but no line names its peer"
    for name in test.connections:
        if name not in kept:
            yield f"[{name}] is connected, but has no interval"
    if longest_s < MIN_INTERVAL_S - _TIME_S:
        yield f"intervals last {longest_s:g} s; iperf3 --interval must be at least 0.1"
    for name, (starts_s, ends_s, in_bytes) in kept.items():
        with located(f"{test.where}: intervals of [{name}]"):
            check_chain(starts_s, ends_s, interval_s)
        counted = in_bytes.sum()
        total = test.totals.get((name, "sender" if _sends(test, name) else "receiver"), counted)
        if not test.error and abs(total - counted) > 0.01 * max(total, counted) + uncounted_bytes(counted):
            yield f"[{name}]: {counted:.4g} bytes in its intervals, but {total:.4g} in all"
    ends_s = [ends_s[-1] for _, ends_s, _ in kept.values()]
    if max(ends_s) - min(ends_s) > 0.1 * interval_s + _TIME_S:
        yield f"its streams end at {min(ends_s):g} and {max(ends_s):g} s; give the whole log"
    slack_s = max(0.1 * interval_s, 0.02 * test.until_s) + _TIME_S
    if test.until_s and not test.error and abs(test.until_s - max(ends_s)) > slack_s:
        yield f"its intervals end at {max(ends_s):g} s, its totals at {test.until_s:g} s"


def _sends(test: _Test, name: str) -> bool:
    if name in test.roles:
        return test.roles[name].startswith("TX")
    if test.is_client:
        return not test.is_reverse
    return test.retransmits or {whose for _, whose in test.totals} == {"sender"}
