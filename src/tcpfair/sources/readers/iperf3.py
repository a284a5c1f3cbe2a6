"""Recordings of iperf3: reports of ``--json`` and ``--json-stream``, logs in text; of clients and servers, 3.1 to 3.21.

A file holds one test or, as the log of a server does, several; each stream (``-P``, both directions of ``--bidir``) is a flow.
A file of one flow gives it the file's name, else flows are FILE#1, FILE#2, ... in the order of tests and streams. Goodput is the
receiver's wherever the report has it. Best first:

1. ``server_output_json``: the intervals of a server that ran with ``--json`` (client: ``--get-server-output``), exact;
2. ``server_output_text``: the same of a server without ``--json``, printed rates of three digits;
3. ``intervals`` of the host that received (``--reverse``, or a server's own report), exact;
4. ``intervals`` of the host that sent: bytes handed to the socket, in blocks of 128 KB. Single seconds differ from
   the receiver's by several per cent. Of UDP they are not goodput, and refused.

The sender's intervals give window and smoothed RTT, where it is Linux. ``retransmits`` are packets, which tell no loss of a
window from another: no events. The smallest RTT is the smallest of the smoothed ones that iperf3 noted, a standing queue
included. A flow starts at ``start=SECONDS`` when its report has that ``--title`` (``--json-stream`` does not write titles),
else by the wall clock. Intervals that ``--omit`` omits are left out: the flow starts after them. A test that was
interrupted is refused, unless trace.yaml says ``stops_early`` of its flows: then it counts until its last whole interval.

Not known: the congestion control in a server's report of data that it received (its own is no evidence of the client's), and in
text; whether a path was shared; the wall clock of text, unless it was printed with ``--verbose``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers import iperf3_text
from tcpfair.sources.readers.iperf3_report import UDP, Report, Stream, checked, objects, uncounted_bytes, valid
from tcpfair.sources.readers.observed import (
    EVENTS,
    UNKNOWN_CC,
    WINDOWS,
    Floats,
    Observed,
    ObservedFlow,
    end_of,
    none_of,
)
from tcpfair.sources.readers.readings import refusing
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import head, lines

NAME = "iperf3"
ACCEPTS = "iperf3 reports (--json, --json-stream or text, of a client or a server)"

MAX_FLOWS = 10_000
# made once: a log may have thousands of flows
NO_WINDOWS, NO_EVENTS = none_of(WINDOWS), none_of(EVENTS)
STALLED = 1.5  # intervals so many times as long as the others are worth a word
STREAMED = ("start", "interval", "error", "server_output_json", "server_output_text", "end")
__all__ = ["ACCEPTS", "NAME", "read", "read_report", "sniff"]
_TITLE = re.compile(r"start=(\d{1,5}(?:\.\d{1,9})?)", re.ASCII)
_LOG = re.compile(r"\[ *\d{1,9}\] local \S{1,255} port \d{1,5} connected to ")


@dataclass(frozen=True)
class _Test:
    """A test as its file has it: this host's report, and the server's in it."""

    near: Report
    far: Report | None = None
    far_name: str = ""
    error: str = ""
    offset_s: float | None = None
    remarks: tuple[str, ...] = ()


def sniff(path: Path) -> bool:
    """Whether ``path`` is of iperf3, by its beginning: a damaged report is one too, to be refused by name."""
    start = head(path).lstrip("\ufeff \t\r\n")
    return ('"iperf 3' in start) if start.startswith("{") else ("[ ID]" in start and bool(_LOG.search(start)))


def read(path: Path, said: Sidecar) -> Observed:
    """All flows in ``path``.

    Raises InputError, naming file and field, when the file is damaged, cut or no report; when a test was interrupted or reports
    an error (see the top of this file); and when its fields contradict each other.
    """
    tests, remarks = _tests(path)
    flows: list[ObservedFlow] = []
    n_flows = sum(len(test.near.streams) for test in tests)
    if n_flows > MAX_FLOWS:
        raise InputError(f"{path}: {n_flows} flows; give a log of at most {MAX_FLOWS}")
    for test in tests:
        numbers = range(len(flows) + 1, len(flows) + 1 + len(test.near.streams))
        names = [path.name if n_flows == 1 else f"{path.name}#{number}" for number in numbers]
        remarks += _interrupted(test, names, said)
        pairs = zip(names, test.near.streams, _matched(test), strict=True)
        of_test = [_flow(test, name, number, near, far, path) for number, (name, near, far) in enumerate(pairs)]
        remarks += [*test.remarks, *_remarks(test, of_test)]
        flows += of_test
    _refuse_twins(flows, tests, path)
    is_alone = len(tests) == 1 and all(flow.clock_s is None and flow.offset_s is None for flow in flows)
    if is_alone:  # the streams of one test begin together, whenever that was
        flows = [replace(flow, offset_s=0.0) for flow in flows]
    return Observed(NAME, tuple(flows), (path,), remarks=tuple(dict.fromkeys(remarks)), has_own_zero=is_alone)


def read_report(path: Path) -> ObservedFlow:
    """The flow of a report of one TCP flow. Raises InputError as `read` does, and for any other number of flows."""
    flows = read(path, Sidecar()).flows
    if len(flows) != 1:
        raise InputError(f"{path}: {len(flows)} flows; a report of one is needed here")
    if flows[0].cc == UDP:
        raise InputError(f"{path}: start.test_start.protocol: 'UDP'; a TCP test is needed here")
    return flows[0]


# --- The tests of a file ----------------------------------------------------------------------------------------------


def _tests(path: Path) -> tuple[list[_Test], list[str]]:
    """All tests of a file that have intervals, and what is to be said of the others."""
    if not head(path).lstrip("\ufeff \t\r\n").startswith("{"):
        return _tests_of_log(path)
    reports, remarks = _reports(path)
    tests = []
    for number, values in enumerate(reports, start=1):
        where = str(path) if len(reports) == 1 else f"{path}: test {number}"
        error = values.get("error", "")
        if error and not values.get("intervals"):  # a server that was stopped while it waited, a client that met nobody
            met_nobody = f"iperf3 reports {error!r:.200}"
            remarks.append(f"a test without intervals is left out: {met_nobody}")
        else:
            tests.append(_test(values, where))
    if not tests:
        raise InputError(f"{where}: error: {met_nobody}; repeat the test until it has no error")
    return tests, remarks


def _tests_of_log(path: Path) -> tuple[list[_Test], list[str]]:
    found = iperf3_text.tests(lines(path), str(path))
    tests: list[_Test] = []
    for report, error in found:
        if report and report.is_far and tests and tests[-1].near.is_client and not tests[-1].far:
            tests[-1] = replace(tests[-1], far=report, far_name="server_output_text")
        elif report:
            tests.append(_Test(near=report, error=error))
    if not tests:
        error = next((error for _, error in found if error), "no test")
        raise InputError(f"{path}: no interval in this log ({error:.200}); repeat the test with iperf3 --interval 1")
    left_out = [f"a test without intervals is left out: {error:.200}" for report, error in found if not report]
    return tests, [*left_out, f"{path.name} is text: its rates have three digits"]


def _reports(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The JSON objects of a file, one for each test; those of ``--json-stream`` put together."""
    reports: list[dict[str, Any]] = []
    remarks: list[str] = []
    streamed: dict[str, Any] | None = None
    was_streamed = False  # the last one
    for line, values in objects(path):
        where = f"{path}: line {line}"
        if len(reports) > MAX_FLOWS or len(remarks) > MAX_FLOWS:
            raise InputError(f"{where}: more than {MAX_FLOWS} tests or messages; give the log in parts")
        if isinstance(values, str):
            remarks.append(f"a message between the reports is not used: {values!r:.120}")
            continue
        if "event" not in values:
            if was_streamed and values.get("start") == reports[-1].get("start"):
                remarks.append("the report of --json-stream-full-output repeats its events and is not used")
                was_streamed = False
                continue
            if "start" not in values:
                raise InputError(f"{where}: start: missing; give a report of iperf3 --json as it was written")
            reports.append(values)
            streamed, was_streamed = None, False
            continue
        event, data = values["event"], values.get("data")
        if event not in STREAMED:
            raise InputError(f"{where}: event: {event!r:.40}; must be one of {', '.join(STREAMED)}")
        if event == "start" or (streamed is None and event == "error"):
            reports.append({"start": {}, "intervals": [], "error": "no end of this test in the stream"})
            streamed = reports[-1]
        if streamed is None:
            raise InputError(f"{where}: event: {event!r} before any start; give the whole stream")
        if event == "interval":
            streamed["intervals"].append(data)
        elif event in streamed and event not in ("start", "error"):
            raise InputError(f"{where}: event: {event!r} is there twice in one test; give the stream as it was written")
        else:
            streamed[event] = data
        if event == "end":
            if streamed["error"] == "no end of this test in the stream":
                streamed["error"] = ""
            streamed, was_streamed = None, True
    if not reports:
        raise InputError(f"{path}: no report in it; give a report of iperf3 --json")
    return reports, remarks


def _test(values: dict[str, Any], where: str) -> _Test:
    """One report, with the server's in it where it is of use."""
    report = valid(values, where)
    was_interrupted = bool(report.error)
    near = checked(report, where, was_interrupted=was_interrupted)
    start = _TITLE.fullmatch(report.title)
    remarks = list(near.remarks)
    if not start and "start" in report.title.lower():
        remarks.append(f"the title {report.title!r:.80} does not read start=SECONDS and is not used")
    far, far_name = None, ""
    if report.server_output_json is not None:
        far_name = "server_output_json"
        far = checked(report.server_output_json, f"{where}: {far_name}", was_interrupted=was_interrupted)
        remarks += far.remarks
    elif any(stream.sends for stream in near.streams) and report.server_output_text:
        far_name = "server_output_text"
        far = _far_text(report.server_output_text, f"{where}: {far_name}", near)
        if far is None and report.server_output_text.strip():
            remarks.append(f"{far_name} has no interval that can be read: the client's are used")
    return _Test(near, far, far_name, report.error, float(start[1]) if start else None, tuple(remarks))


def _far_text(text: str, where: str, near: Report) -> Report | None:
    """The test that a server printed. It ends before its totals in some versions: the client's report has them."""
    found = [report for report, _ in iperf3_text.tests(text.splitlines(), where) if report]
    if len(found) > 1:
        raise InputError(f"{where}: {len(found)} tests; give the report of one")
    return replace(found[0], is_client=False, is_udp=near.is_udp) if found else None


# --- Flows ------------------------------------------------------------------------------------------------------------


def _interrupted(test: _Test, names: list[str], said: Sidecar) -> list[str]:
    if not test.error:
        return []
    if all(said.of(name).stops_early or said.of(name).leave_out for name in names):
        return [f"{', '.join(names)}: interrupted ({test.error:.200}); counts until its last interval"]
    raise InputError(
        f"{test.near.where}: error: iperf3 reports {test.error!r:.200}; repeat the test, or say stops_early: true of "
        f"{', '.join(names[:3])} as flows in trace.yaml"
    )


def _matched(test: _Test) -> list[Stream | None]:
    """For each stream of this host the one of the server's output: between the same ports, seen from there."""
    near, far = test.near, test.far
    if far is None:
        return [None] * len(near.streams)
    where = f"{near.where}: {test.far_name}"
    if len(far.streams) != len(near.streams):
        raise InputError(f"{where}: {len(far.streams)} streams, but the client has {len(near.streams)}")
    if near.cookie and far.cookie and near.cookie != far.cookie:
        raise InputError(f"{where}: start.cookie: of another test")
    if near.is_udp != far.is_udp:
        raise InputError(f"{where}: start.test_start.protocol: not the client's")
    by_ports = {(stream.remote[1], stream.local[1]): stream for stream in far.streams}
    matched = [by_ports.get((stream.local[1], stream.remote[1])) for stream in near.streams]
    if None in matched:
        if (near.cookie and far.cookie) or set(by_ports) == {(0, 0)}:  # behind NAT; stripped
            matched = list(far.streams)
        else:
            raise InputError(f"{where}: ports: not those of start.connected; give the report of one test")
    for number, (stream, other) in enumerate(zip(near.streams, matched, strict=True), start=1):
        if stream.sends == other.sends:
            raise InputError(f"{where}: stream {number}: both hosts {'send' if stream.sends else 'receive'}")
    return matched


def _flow(test: _Test, name: str, number: int, near: Stream, far: Stream | None, path: Path) -> ObservedFlow:
    """One stream, by the best of its intervals (see the top of this file)."""
    report = test.near
    where = f"{report.where}: stream {number + 1}"
    best, origin, interval_s = near, f"{'sender' if near.sends else 'receiver'}: intervals", report.interval_s
    if near.sends and far is not None:
        best, origin, interval_s = far, f"receiver: {test.far_name}", test.far.interval_s
        _check_received(where, near, far, test)
    if report.is_udp and best.sends:
        raise InputError(
            f"{where}: only what was sent, which of UDP is not goodput; give the server's report, or use --get-server-output"
        )
    sender, receiver = (near, far) if near.sends else (far, near)
    if sender is not None and receiver is not None and not test.error:
        _check_carried(where, sender, receiver)
    times_s, total_bytes = _readings(best, interval_s)
    mss_bytes = report.mss_bytes if test.far is None or report.mss_bytes > 0 else test.far.mss_bytes
    return ObservedFlow(
        name=name,
        file=path,
        times_s=times_s,
        total_bytes=total_bytes,
        interval_s=interval_s,
        origin=origin,
        cc=_cc(test, near, far, where),
        direction="reverse" if report.is_bidir and near.sends != report.is_client else "forward",
        rtt_s=sender.min_rtt_s if sender is not None else np.nan,
        clock_s=None if report.clock_s is None else report.clock_s + near.omitted_s,
        clock_error_s=report.clock_error_s,
        offset_s=test.offset_s,
        identity=_identity(report, near, number),
        ends=_ends(near),
        windows=_windows(sender, mss_bytes),
        mss_bytes=mss_bytes,
        events=NO_EVENTS,
    )


@refusing
def _check_received(near: Stream, far: Stream, test: _Test) -> Iterator[str]:
    """What the server tells the client in the end is what its intervals add up to, and they last as long as the client's."""
    if test.error:
        return
    early_s = float(near.ends_s[-1] - far.ends_s[-1])
    if early_s > max(0.5 * min(test.far.interval_s, 1.0), 0.02 * near.ends_s[-1]):
        yield f"{test.far_name} ends {early_s:.3g} s before the client's intervals; give the whole report"
    total_bytes = float(far.bytes.sum())
    digits = 0.006 if test.far_name == "server_output_text" else 0.0
    # NaN where it does not tell
    if abs(near.received_bytes - total_bytes) > uncounted_bytes(total_bytes) + digits * total_bytes:
        yield f"{test.far_name} has {total_bytes:.0f} bytes in all, but end.streams {near.received_bytes:.0f}"


@refusing
def _check_carried(sender: Stream, receiver: Stream) -> Iterator[str]:
    """Nobody receives more than was sent."""
    sent_bytes, received_bytes = float(sender.bytes.sum()), float(receiver.bytes.sum())
    if sender.omitted_s == 0 and received_bytes > 1.01 * sent_bytes + uncounted_bytes(sent_bytes):
        yield f"{received_bytes:.0f} bytes received, but {sent_bytes:.0f} sent"


def _cc(test: _Test, near: Stream, far: Stream | None, where: str) -> str:
    cc = test.near.cc(near)
    other = test.far.cc(far) if far is not None else UNKNOWN_CC
    if UNKNOWN_CC not in (cc, other) and cc != other:
        raise InputError(f"{where}: end.sender_tcp_congestion: {cc!r}, but {other!r} in {test.far_name}")
    return other if cc == UNKNOWN_CC else cc


def _readings(stream: Stream, interval_s: float) -> tuple[Floats, Floats]:
    """Times and running totals; an interval that iperf3 left out, short and without bytes, has readings at both ends."""
    totals = np.append(0.0, np.cumsum(stream.bytes, dtype=float))
    times_s = np.append(stream.starts_s[0], stream.ends_s)
    left_out = 1 + np.flatnonzero(stream.starts_s[1:] - stream.ends_s[:-1] > 1e-3 * interval_s)
    return np.insert(times_s, 1 + left_out, stream.starts_s[left_out]), np.insert(
        totals, 1 + left_out, totals[left_out]
    )


def _windows(sender: Stream | None, mss_bytes: float) -> pd.DataFrame:
    """Windows in packets of the MSS, at the end of each interval; none where a system does not tell them."""
    if sender is None or sender.cwnd_bytes is None or not mss_bytes > 0 or np.isnan(sender.cwnd_bytes).all():
        return NO_WINDOWS
    return pd.DataFrame(
        {
            "t_s": sender.ends_s,
            "cwnd_pkts": sender.cwnd_bytes / mss_bytes,
            "ssthresh_pkts": np.nan,
            "srtt_s": sender.srtt_s,
        }
    )


def _ends(stream: Stream) -> tuple[str, str]:
    """Address and port of the sender and of the receiver; nothing where the report has none."""
    local, remote = (end_of(f"{host}:{port}")[1] if port else "" for host, port in (stream.local, stream.remote))
    return (local, remote) if stream.sends else (remote, local)


def _identity(report: Report, stream: Stream, number: int) -> frozenset[str]:
    """The cookie, and from which address and port of the client to which of the server."""
    client, server = (stream.local, stream.remote) if report.is_client else (stream.remote, stream.local)
    found = {f"cookie {report.cookie}, stream {number + 1}"} if report.cookie else set()
    if client[1]:
        ends = " to ".join(f"{host.removeprefix('::ffff:')} port {port}" for host, port in (client, server))
        found.add(ends if report.clock_s is None else f"{ends} at {report.clock_s:.0f}")
    return frozenset(found)


def _refuse_twins(flows: Sequence[ObservedFlow], tests: Sequence[_Test], path: Path) -> None:
    """A test that is in the file twice."""
    cookies = [test.near.cookie for test in tests if test.near.cookie]
    if len(set(cookies)) < len(cookies):
        raise InputError(f"{path}: start.cookie: one is there twice; give each test once")
    seen: set[str] = set()
    for flow in flows:
        if twin := min(seen & flow.identity, default=""):
            raise InputError(f"{path}: {flow.name}: the same flow as one before ({twin}); give it once")
        seen |= flow.identity


def _remarks(test: _Test, flows: Sequence[ObservedFlow]) -> list[str]:
    names = [flow.name for flow in flows]
    found = []
    if test.near.is_bidir:
        to_server = [n for n, s in zip(names, test.near.streams, strict=True) if s.sends == test.near.is_client]
        found.append(
            f"--bidir: {', '.join(to_server)} from client to server, the other flows back; they share a bottleneck only where "
            "both directions do"
        )
    if any(stream.omitted_s for stream in test.near.streams):
        longest_s = max(stream.omitted_s for stream in test.near.streams)
        found.append(f"{names[0]}: the first {longest_s:.3g} s, which --omit omitted, are left out")
    if test.near.is_udp:
        found.append(f"{', '.join(names[:8])}: UDP, without congestion control")
    if any(stream.cwnd_bytes is not None and np.isfinite(stream.cwnd_bytes).any() for stream in test.near.streams):
        windowless = [flow.name for flow in flows if flow.windows.empty]
        if len(windowless) == len(flows):
            found.append(f"{', '.join(windowless[:8])}: no MSS in start.tcp_mss_default, so no windows in packets")
    sent = [flow.name for flow in flows if flow.origin.startswith("sender: ")]
    if sent:
        found.append(
            f"{', '.join(sent[:8])}: goodput is what the sender handed to its socket, which differs from what was received by "
            "several per cent in single seconds; use --get-server-output"
        )
    for flow in flows:
        lengths_s = np.diff(flow.times_s)
        long = lengths_s > STALLED * flow.interval_s
        if long.any():
            at_s = flow.times_s[int(np.argmax(long))]
            found.append(
                f"{flow.name}: {int(long.sum())} intervals longer than {flow.interval_s:g} s, up to {lengths_s.max():.3g} s, "
                f"the first from {at_s:.3g} s: the host was late"
            )
    return found
