"""Recordings of iperf3 without what identifies: only fields and lines that are known are kept, and those that tell are rewritten.

Addresses, ports, cookies and wall clocks are rewritten in every report, in ``server_output_json`` and ``server_output_text``
alike; titles are kept where they read ``start=SECONDS``; system_info, extra data, user names, CPU loads and all other text go.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import Any

from tcpfair.errors import InputError
from tcpfair.sources.readers.anonymous import Anonymous
from tcpfair.sources.readers.iperf3_report import objects
from tcpfair.sources.readers.iperf3_text import MAX_LINE
from tcpfair.sources.readers.text import head, read_text

TITLE = re.compile(r"start=(\d{1,5}(?:\.\d{1,9})?)", re.ASCII)
_VERSION = re.compile(r"iperf 3\.\d{1,3}(?:\.\d{1,3})?", re.ASCII)
_ALGORITHM = re.compile(r"[a-z0-9_-]{1,20}", re.ASCII)
_SPAN = frozenset(
    (
        *("socket", "start", "end", "seconds", "bytes", "bits_per_second", "omitted", "sender"),
        *("retransmits", "reorder", "snd_cwnd", "snd_wnd", "rtt", "rttvar", "pmtu"),
        *("max_snd_cwnd", "max_snd_wnd", "max_rtt", "min_rtt", "mean_rtt"),
        *("jitter_ms", "lost_packets", "packets", "lost_percent", "out_of_order"),
    )
)
_START = frozenset(
    (
        *("tcp_mss", "tcp_mss_default", "target_bitrate", "fq_rate"),
        *("sock_bufsize", "sndbuf_actual", "rcvbuf_actual"),
    )
)
_TEST = frozenset(
    (
        *("num_streams", "blksize", "omit", "duration", "bytes", "blocks", "reverse", "bidir"),
        *("tos", "target_bitrate", "fqrate", "interval", "gso", "gro"),
    )
)
_ERRORS = ("the client has terminated", "the server has terminated", "unexpectedly closed")

# lines of text; what stands in none of these is left out
_KEPT_LINES = re.compile(
    r"(?:\[ ID\](?:\[Role\])? Interval +Transfer +(?:Bitrate|Bandwidth)"
    r"(?: +(?:Retr|Cwnd|Jitter|Lost/Total Datagrams|Total Datagrams))*"
    r"|[- ]*|Server output:|iperf Done\.|Server listening on 5201(?: \(test #\d{1,9}\))?|Test Complete\. Summary Results:"
    r"|(?:snd|rcv)_tcp_congestion [a-z0-9_-]{1,20}"
    r"|iperf3: (?:interrupt - )?the (?:client|server) has terminated(?: by signal \w{1,20}\(\d{1,3}\))?) *",
    re.ASCII,
)
_KEPT_ROW = re.compile(
    r"\[ *(?:\d{1,9}|SUM)\](?:\[[RT]X-[CS]\])? +\d+\.\d+-\d+\.\d+ +sec +[\d.]+ [KMGT]?Bytes +[\d.]+ [KMGT]?(?:bits|Bytes)/sec"
    r"(?: +(?:\d+(?:\.\d+)?(?: ms| [KMGT]?Bytes)?|-?\d+/\d+|\(-?[\de.+-]+%\)|\(omitted\)|sender|receiver))* *",
    re.ASCII,
)
_PREFIX = re.compile(
    r"[^\[]{1,200}?(?=\[ *(?:\d{1,9}|SUM|ID)\]|Connecting to host |Accepted connection from |Reverse mode, )"
)
_ENDS = re.compile(
    r"(\[ *\d{1,9}\]) local (\S{1,255}) port (\d{1,5}) connected to (\S{1,255}) port (\d{1,5}) *", re.ASCII
)
_PEER = re.compile(r"(Connecting to host |Accepted connection from )(\S{1,255}), port (\d{1,5}) *", re.ASCII)
_REVERSE = re.compile(r"Reverse mode, remote host (\S{1,255}) is sending *")
_TIME = re.compile(r"Time: (.{1,60})")
_COOKIE = re.compile(r" *Cookie: (\S{1,100}) *")


def anonymised(path: Path, keep: Anonymous) -> bytes:
    """The recording at ``path``, unpacked, with pseudonyms of ``keep``; it reads as the original does.

    Raises InputError when the file is no recording of iperf3 or holds what cannot be rewritten.
    """
    if not head(path).lstrip("\ufeff \t\r\n").startswith("{"):
        return _text(read_text(path), keep).encode()
    parts = []
    for line, values in objects(path):
        if isinstance(values, str):  # a message of a shell
            continue
        try:
            if "event" in values:
                parts.append(json.dumps(_event(values, keep), separators=(",", ":")))
            else:
                parts.append(json.dumps(_report(values, keep), separators=(",", ":")))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise InputError(
                f"{path}: line {line}: not as iperf3 writes it and cannot be made anonymous; give the tool's own output"
            ) from None
    return ("\n".join(parts) + "\n").encode()


def _event(values: dict[str, Any], keep: Anonymous) -> dict[str, Any]:
    event, data = values["event"], values.get("data")
    rewrite = {
        "start": _start,
        "interval": lambda data, _: _interval(data),
        "end": lambda data, _: _end(data),
        "error": lambda data, _: _error(data),
        "server_output_json": _report,
        "server_output_text": _text,
    }
    return {"event": event, "data": rewrite[event](data, keep)}


def _report(values: dict[str, Any], keep: Anonymous) -> dict[str, Any]:
    found: dict[str, Any] = {"start": _start(values["start"], keep)}
    found["intervals"] = [_interval(interval) for interval in values.get("intervals", [])]
    found["end"] = _end(values.get("end", {}))
    if "error" in values:
        found["error"] = _error(values["error"])
    if TITLE.fullmatch(values.get("title", "")):
        found["title"] = values["title"]
    if "server_output_json" in values:
        found["server_output_json"] = _report(values["server_output_json"], keep)
    if "server_output_text" in values:
        found["server_output_text"] = _text(values["server_output_text"], keep)
    return found


def _start(start: dict[str, Any], keep: Anonymous) -> dict[str, Any]:
    found: dict[str, Any] = {
        "connected": [
            {
                "socket": int(one["socket"]),
                **{f"{side}_{what}": value for side in ("local", "remote") for what, value in _end_of(one, side, keep)},
            }
            for one in start.get("connected", [])
        ]
    }
    if version := _VERSION.match(start.get("version", "")):
        found["version"] = version[0]
    if "timestamp" in start:
        found["timestamp"] = _timestamp(start["timestamp"], keep)
    for name in ("connecting_to", "accepted_connection"):
        if name in start:
            found[name] = {"host": keep.address(start[name]["host"]), "port": keep.port(start[name]["port"])}
    if "cookie" in start:
        found["cookie"] = keep.cookie(start["cookie"])
    found |= _numbers(start, _START)
    if "test_start" in start:
        test = start["test_start"]
        protocol = {"protocol": test["protocol"]} if test["protocol"] in ("TCP", "UDP", "SCTP") else {}
        found["test_start"] = {**protocol, **_numbers(test, _TEST)}
    return found


def _end_of(one: dict[str, Any], side: str, keep: Anonymous) -> list[tuple[str, Any]]:
    host, port = one.get(f"{side}_host"), one.get(f"{side}_port")
    return ([("host", keep.address(host))] if host is not None else []) + (
        [("port", keep.port(port))] if port is not None else []
    )


def _timestamp(stamp: dict[str, Any], keep: Anonymous) -> dict[str, Any]:
    clock_s = keep.clock_s(int(stamp["timesecs"]))
    found: dict[str, Any] = {"time": _date(clock_s), "timesecs": clock_s}
    if "timemillisecs" in stamp:
        found["timemillisecs"] = int(stamp["timemillisecs"]) + 1000 * keep.shift_s
    return found


def _date(clock_s: float) -> str:
    return format_datetime(datetime.fromtimestamp(clock_s, UTC), usegmt=True)


def _interval(interval: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"streams": [_numbers(stream, _SPAN) for stream in interval["streams"]]}
    return found | {name: _numbers(interval[name], _SPAN) for name in ("sum", "sum_bidir_reverse") if name in interval}


def _end(end: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "streams" in end:
        found["streams"] = [
            {part: _numbers(stream[part], _SPAN) for part in ("sender", "receiver", "udp") if part in stream}
            for stream in end["streams"]
        ]
    for name in ("sum", "sum_sent", "sum_received", "sum_sent_bidir_reverse", "sum_received_bidir_reverse"):
        if name in end:
            found[name] = _numbers(end[name], _SPAN)
    for name in ("sender_tcp_congestion", "receiver_tcp_congestion"):
        if _ALGORITHM.fullmatch(end.get(name, "")):
            found[name] = end[name]
    return found


def _numbers(values: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names and isinstance(value, (int, float))}


def _error(text: str) -> str:
    return next((known for known in _ERRORS if known in text), "the test was interrupted")


def _text(text: str, keep: Anonymous) -> str:
    return "".join(f"{line}\n" for given in text.splitlines() if (line := _line(given, keep)) is not None)


def _line(line: str, keep: Anonymous) -> str | None:
    """One line of text, rewritten; None when it is none that is known. Titles and times before it are left out."""
    line = line.rstrip()
    if len(line) > MAX_LINE:
        return None
    if prefixed := _PREFIX.match(line):
        line = line[prefixed.end() :]
    if _KEPT_ROW.fullmatch(line) or _KEPT_LINES.fullmatch(line):
        return line
    if ends := _ENDS.fullmatch(line):
        name, local, local_port, remote, remote_port = ends.groups()
        return (
            f"{name} local {keep.address(local)} port {keep.port(int(local_port))} "
            f"connected to {keep.address(remote)} port {keep.port(int(remote_port))}"
        )
    if peer := _PEER.fullmatch(line):
        return f"{peer[1]}{keep.address(peer[2])}, port {keep.port(int(peer[3]))}"
    if reverse := _REVERSE.fullmatch(line):
        return f"Reverse mode, remote host {keep.address(reverse[1])} is sending"
    if cookie := _COOKIE.fullmatch(line):
        return f"      Cookie: {keep.cookie(cookie[1])}"
    if time := _TIME.fullmatch(line):
        try:
            return f"Time: {_date(keep.clock_s(int(parsedate_to_datetime(time[1]).timestamp())))}"
        except (ValueError, TypeError, OverflowError):
            return None
    return None
