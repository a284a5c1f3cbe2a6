"""Recordings of iperf3 3.1 to 3.21: reports of ``--json`` and ``--json-stream`` and logs in text, of clients and servers.

A file holds one test or, for the log of a server, several; each stream (``-P``, both directions of ``--bidir``) is a
flow, FILE if it is the only one, else FILE#1, FILE#2, ... Goodput is, best first:

1. ``server_output_json``: the intervals of a server with ``--json`` (client: ``--get-server-output``), exact;
2. ``server_output_text``: the same from a server without ``--json``, rates of three digits;
3. ``intervals`` of the host that received (``--reverse``, or a server's own report), exact;
4. ``intervals`` of the host that sent: bytes passed to the socket, in blocks of 128 KB. Single seconds differ from the
   receiver's by several per cent. For UDP they are not goodput, and refused.

The sender's intervals give window and smoothed RTT on Linux. ``retransmits`` are packets, which do not separate the
losses of one window from another: no events. The smallest RTT is the smallest smoothed one, so it includes a standing
queue. A flow starts at ``start=SECONDS`` of ``--title`` (``--json-stream`` writes none), else by the wall clock, and
after the intervals of ``--omit``. An interrupted test is refused unless trace.yaml has ``stops_early`` for its flows:
then it counts until its last whole interval.

Unknown: the congestion control in a server's report of data that it received, and in text; whether a path was shared;
the wall clock of text without ``--verbose``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers import iperf3_text
from tcpfair.sources.readers.iperf3_report import UDP, Json, Report, Stream, checked, objects, uncounted_bytes
from tcpfair.sources.readers.observed import NO_WINDOWS, UNKNOWN_CC, WINDOWS, Observed, ObservedFlow, end_of
from tcpfair.sources.readers.readings import MAX_FLOWS, from_intervals
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import head, lines, located, naming_file, refusing, validated

NAME = "iperf3"
ACCEPTS = "iperf3 reports (--json, --json-stream or text, of a client or a server)"

STALLED = 1.5  # intervals this many times as long as the others give a remark
STREAMED = ("start", "interval", "error", "server_output_json", "server_output_text", "end")
_TITLE = re.compile(r"start=(\d{1,5}(?:\.\d{1,9})?)", re.ASCII)
_LOG = re.compile(r"\[ *\d{1,9}\] local \S{1,255} port \d{1,5} connected to ")


def sniff(path: Path) -> bool:
    """Whether ``path`` is from iperf3, by its beginning; also true for a damaged report, so that the error names iperf3."""
    start = head(path).lstrip("\ufeff \t\r\n")
    return ('"iperf 3' in start) if start.startswith("{") else ("[ ID]" in start and bool(_LOG.search(start)))


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """All flows in ``path``."""
    tests, remarks = _tests(path)
    flows: list[ObservedFlow] = []
    n_flows = sum(len(test.streams) for test in tests)
    if n_flows > MAX_FLOWS:
        raise InputError(f"{n_flows} flows; give a log of at most {MAX_FLOWS}")
    for test in tests:
        numbers = range(len(flows) + 1, len(flows) + 1 + len(test.streams))
        names = [path.name if n_flows == 1 else f"{path.name}#{number}" for number in numbers]
        remarks += _interrupted(test, names, said)
        with located(f"{test.where}: {test.far_name}"):
            pairs = zip(names, test.streams, _matched(test), strict=True)
        of_test = [_flow(test, name, number, near, far, path) for number, (name, near, far) in enumerate(pairs)]
        remarks += [*test.remarks, *_remarks(test, of_test)]
        flows += of_test
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


def _tests(path: Path) -> tuple[list[Report], list[str]]:
    """All tests of a file that have intervals, and remarks on the others."""
    if not head(path).lstrip("\ufeff \t\r\n").startswith("{"):
        return _tests_of_log(path)
    reports, remarks = _reports(path)
    tests = []
    for number, values in enumerate(reports, start=1):
        where = str(path) if len(reports) == 1 else f"{path}: test {number}"
        error = values.get("error", "")
        if error and not values.get("intervals"):  # a server stopped while it waited, a client without a server
            met_nobody = f"iperf3 reports {error!r:.200}"
            remarks.append(f"a test without intervals is skipped: {met_nobody}")
        else:
            tests.append(_test(values, where))
    if not tests:
        raise InputError(f"{where}: error: {met_nobody}; repeat the test until it has no error")
    return tests, remarks


def _tests_of_log(path: Path) -> tuple[list[Report], list[str]]:
    found = iperf3_text.tests(lines(path), str(path))
    tests: list[Report] = []
    for report in found:
        if report.streams and report.is_far and tests and tests[-1].is_client and not tests[-1].far:
            tests[-1] = replace(tests[-1], far=report, far_name="server_output_text")
        elif report.streams:
            tests.append(report)
    if not tests:
        error = next((report.error for report in found if report.error), "no test")
        raise InputError(f"no interval in this log ({error:.200}); repeat the test with iperf3 --interval 1")
    left_out = [f"a test without intervals is skipped: {test.error:.200}" for test in found if not test.streams]
    return tests, [*left_out, f"{path.name} is text: its rates have three digits"]


def _reports(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The JSON objects of a file, one for each test; those of ``--json-stream`` put together."""
    reports: list[dict[str, Any]] = []
    remarks: list[str] = []
    streamed: dict[str, Any] | None = None
    was_streamed = False  # the last one
    for line, values in objects(path):
        where = f"line {line}"
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
            raise InputError(f"{where}: event: {event!r} occurs twice in one test; give the stream as it was written")
        else:
            streamed[event] = data
        if event == "end":
            if streamed["error"] == "no end of this test in the stream":
                streamed["error"] = ""
            streamed, was_streamed = None, True
    return reports, remarks


def _test(values: dict[str, Any], where: str) -> Report:
    """One report, with the server's report in it if usable."""
    report = validated(Json, values, where)
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
    elif any(stream.sends for stream in near.streams) and report.server_output_text.strip():
        far_name = "server_output_text"
        # in some versions it ends before its totals: the client's report has them
        output = iperf3_text.tests(report.server_output_text.splitlines(), f"{where}: {far_name}")
        found = [test for test in output if test.streams]
        if len(found) > 1:
            raise InputError(f"{where}: {far_name}: {len(found)} tests; give the report of one")
        if found:
            far = replace(found[0], is_client=False, is_udp=near.is_udp)
        else:
            remarks.append(f"{far_name} has no interval that can be read: the client's are used")
    offset_s = float(start[1]) if start else None
    return replace(near, far=far, far_name=far_name, offset_s=offset_s, remarks=tuple(remarks))


# --- Flows ------------------------------------------------------------------------------------------------------------


def _interrupted(test: Report, names: list[str], said: Sidecar) -> list[str]:
    if not test.error:
        return []
    if all(said.of(name).stops_early or said.of(name).leave_out for name in names):
        return [f"{', '.join(names)}: interrupted ({test.error:.200}); counts until its last interval"]
    say = f"write stops_early: true for {', '.join(names[:3])} as flows in trace.yaml"
    raise InputError(f"{test.where}: error: iperf3 reports {test.error!r:.200}; repeat the test, or {say}")


def _matched(test: Report) -> list[Stream | None]:
    """The stream of the server's output for each stream of this host: between the same ports, from the server's side."""
    far = test.far
    if far is None:
        return [None] * len(test.streams)
    if len(far.streams) != len(test.streams):
        raise InputError(f"{len(far.streams)} streams, but the client has {len(test.streams)}")
    if test.cookie and far.cookie and test.cookie != far.cookie:
        raise InputError("start.cookie: of another test")
    if test.is_udp != far.is_udp:
        raise InputError("start.test_start.protocol: not the client's")
    by_ports = {(stream.remote[1], stream.local[1]): stream for stream in far.streams}
    matched = [by_ports.get((stream.local[1], stream.remote[1])) for stream in test.streams]
    if None in matched:
        if not (test.cookie and far.cookie) and set(by_ports) != {(0, 0)}:  # behind NAT; stripped
            raise InputError("ports: not those of start.connected; give the report of one test")
        matched = list(far.streams)
    for number, (stream, other) in enumerate(zip(test.streams, matched, strict=True), start=1):
        if stream.sends == other.sends:
            raise InputError(f"stream {number}: both hosts {'send' if stream.sends else 'receive'}")
    return matched


def _flow(test: Report, name: str, number: int, near: Stream, far: Stream | None, path: Path) -> ObservedFlow:
    """One stream, by the best of its intervals (see the top of this file)."""
    where = f"{test.where}: stream {number + 1}"
    best, origin, interval_s = near, f"{'sender' if near.sends else 'receiver'}: intervals", test.interval_s
    if near.sends and far is not None:
        best, origin, interval_s = far, f"receiver: {test.far_name}", test.far.interval_s
        _check_received(where, near, far, test)
    if test.is_udp and best.sends:
        give = "give the server's report, or use --get-server-output"
        raise InputError(f"{where}: only what was sent, which of UDP is not goodput; {give}")
    sender, receiver = (near, far) if near.sends else (far, near)
    if sender is not None and receiver is not None and not test.error:
        _check_carried(where, sender, receiver)
    # iperf3 omits a short interval without bytes
    times_s, total_bytes, _ = from_intervals(best.starts_s, best.ends_s, best.bytes, 1e-3 * interval_s)
    mss_bytes = test.mss_bytes if test.far is None or test.mss_bytes > 0 else test.far.mss_bytes
    # of this host and of the other, empty if the report has none
    ends = tuple(end_of(f"{host}:{port}") if port else "" for host, port in (near.local, near.remote))
    return ObservedFlow(
        name=name,
        file=path,
        times_s=times_s,
        total_bytes=total_bytes,
        interval_s=interval_s,
        origin=origin,
        cc=_cc(test, near, far, where),
        direction="reverse" if test.is_bidir and near.sends != test.is_client else "forward",
        rtt_s=sender.min_rtt_s if sender is not None else np.nan,
        clock_s=None if test.clock_s is None else test.clock_s + near.omitted_s,
        clock_error_s=test.clock_error_s,
        offset_s=test.offset_s,
        identity=_identity(test, ends, number),
        ends=ends if near.sends else ends[::-1],
        windows=_windows(sender, mss_bytes),
        mss_bytes=mss_bytes,
    )


@refusing
def _check_received(near: Stream, far: Stream, test: Report) -> Iterator[str]:
    """Check that the server's final total equals the sum of its intervals, and that they last as long as the client's."""
    if test.error:
        return
    early_s = near.ends_s[-1] - far.ends_s[-1]
    if early_s > max(0.5 * min(test.far.interval_s, 1.0), 0.02 * near.ends_s[-1]):
        yield f"{test.far_name} ends {early_s:.3g} s before the client's intervals; give the whole report"
    total_bytes = far.bytes.sum()
    digits = 0.006 if test.far_name == "server_output_text" else 0.0
    # NaN if missing
    if abs(near.received_bytes - total_bytes) > uncounted_bytes(total_bytes) + digits * total_bytes:
        yield f"{test.far_name} has {total_bytes:.0f} bytes in all, but end.streams {near.received_bytes:.0f}"


@refusing
def _check_carried(sender: Stream, receiver: Stream) -> Iterator[str]:
    """Check that received bytes do not exceed sent bytes."""
    sent_bytes, received_bytes = sender.bytes.sum(), receiver.bytes.sum()
    if sender.omitted_s == 0 and received_bytes > 1.01 * sent_bytes + uncounted_bytes(sent_bytes):
        yield f"{received_bytes:.0f} bytes received, but {sent_bytes:.0f} sent"


def _cc(test: Report, near: Stream, far: Stream | None, where: str) -> str:
    cc = test.cc(near)
    other = test.far.cc(far) if far is not None else UNKNOWN_CC
    if UNKNOWN_CC not in (cc, other) and cc != other:
        raise InputError(f"{where}: end.sender_tcp_congestion: {cc!r}, but {other!r} in {test.far_name}")
    return other if cc == UNKNOWN_CC else cc


def _windows(sender: Stream | None, mss_bytes: float) -> pd.DataFrame:
    """Windows in packets of the MSS, at the end of each interval; none on systems without them."""
    if sender is None or not mss_bytes > 0 or np.isnan(sender.cwnd_bytes).all():
        return NO_WINDOWS
    columns = sender.ends_s, sender.cwnd_bytes / mss_bytes, np.nan, sender.srtt_s
    return pd.DataFrame(dict(zip(WINDOWS, columns, strict=True)))


def _identity(report: Report, ends: tuple[str, ...], number: int) -> frozenset[str]:
    """The cookie, and from which address and port of the client to which of the server."""
    found = {f"cookie {report.cookie}, stream {number + 1}"} if report.cookie else set()
    client, server = ends if report.is_client else ends[::-1]
    if client:
        found.add(f"{client} to {server}{'' if report.clock_s is None else f' at {report.clock_s:.0f}'}")
    return frozenset(found)


def _remarks(test: Report, flows: Sequence[ObservedFlow]) -> list[str]:
    names = [flow.name for flow in flows]
    found = []
    if test.is_bidir:
        to_server = [n for n, s in zip(names, test.streams, strict=True) if s.sends == test.is_client]
        found.append(
            f"--bidir: {', '.join(to_server)} from client to server, the other flows back; they share a bottleneck only where "
            "both directions do"
        )
    if any(stream.omitted_s for stream in test.streams):
        longest_s = max(stream.omitted_s for stream in test.streams)
        found.append(f"{names[0]}: the first {longest_s:.3g} s, which --omit omitted, are skipped")
    if test.is_udp:
        found.append(f"{', '.join(names[:8])}: UDP, without congestion control")
    if any(np.isfinite(stream.cwnd_bytes).any() for stream in test.streams):
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
            at_s = flow.times_s[np.argmax(long)]
            found.append(
                f"{flow.name}: {long.sum()} intervals longer than {flow.interval_s:g} s, up to {lengths_s.max():.3g} s, "
                f"the first from {at_s:.3g} s: the host was late"
            )
    return found
