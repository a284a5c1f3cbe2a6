"""Reports of ``iperf3 --json``, plain or gzipped: goodput per interval of one TCP flow each.

A file gives a run of one flow; a folder gives one run with a flow per report, in order of the file names. Goodput is
the receiver's wherever the report has it. Best first:

1. ``server_output_json``: the intervals of a server that ran with ``--json`` (client: ``--get-server-output``), exact;
2. ``server_output_text``: the same of a server without ``--json``, printed rates of three digits;
3. ``intervals`` of a client that received (``--reverse``), exact;
4. ``intervals`` of a client that sent: bytes handed to the socket, in blocks of 128 KB. Single seconds differ from
   the receiver's by several per cent.

A flow starts at ``start=SECONDS`` when its report has that ``--title``, else at the report's timestamp (whole seconds)
after the earliest one. Before its start and after its end a flow has zero bytes; a report that ends early is refused,
for zeros in its place would read as starvation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from tcpfair.contract.scenario import one_line
from tcpfair.errors import InputError
from tcpfair.sources.readers.observed import UNKNOWN_CC, Observed, ObservedFlow
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import head, read_json
from tcpfair.units import BITS_PER_BYTE

NAME = "iperf3"
ACCEPTS = "iperf3 --json reports (a .json or .json.gz file, or a folder of them)"

BACKEND = "iperf3"
MICROSECONDS_PER_S = 1e6
MIN_INTERVAL_S = 0.1  # of iperf3 itself
BPS_OF_PREFIX = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
TITLE = re.compile(r"start=(\d{1,5}(?:\.\d+)?)")
# [  5]   0.00-1.00   sec  8.10 MBytes  67.9 Mbits/sec; the line of the totals ends with "receiver"
SERVER_LINE = re.compile(
    r"^\[ *(SUM|\d+)\] +(\d+\.\d+)-(\d+\.\d+) +sec +\S+ +[KMGT]?Bytes +(\d+(?:\.\d+)?) ([KMGT]?)bits/sec *$",
    re.MULTILINE | re.ASCII,
)

# wide enough for any test; a day of 0.1 s intervals, each with all these bytes, still adds up within int64
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
Bytes = Annotated[float, Field(ge=0, le=1e13, allow_inf_nan=False)]


class _Span(BaseModel):
    """Bytes between two moments of a test."""

    start: Seconds
    end: Seconds
    bytes: Bytes


class _Interval(BaseModel):
    sum: _Span


class _ServerOutput(BaseModel):
    intervals: list[_Interval] = Field(min_length=1)


class _TestStart(BaseModel):
    protocol: Literal["TCP"]
    omit: Literal[0] = 0
    bidir: Literal[0] = 0
    reverse: Literal[0, 1] = 0
    duration: Seconds = 0.0


class _Timestamp(BaseModel):
    timesecs: Annotated[int, Field(ge=0, le=2**40)]


class _Start(BaseModel):
    timestamp: _Timestamp
    test_start: _TestStart


class _Sender(BaseModel):
    min_rtt: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = None


class _Stream(BaseModel):
    sender: _Sender = _Sender()


class _End(BaseModel):
    streams: list[_Stream] = Field(min_length=1)
    sender_tcp_congestion: str = UNKNOWN_CC


class _Report(BaseModel):
    """The part of iperf3's report that is used."""

    start: _Start
    intervals: list[_Interval] = Field(min_length=1)
    end: _End
    title: str = ""
    server_output_json: _ServerOutput | None = None
    server_output_text: str = ""


@dataclass(frozen=True)
class Goodput:
    """One flow as iperf3 saw it. Times count from the start of the flow."""

    cc: str
    clock_s: int  # wall clock at the start, whole seconds
    offset_s: float | None  # start of the flow by its title
    rtt_s: float  # the smallest that the sender noted, a standing queue included; NaN when it noted none
    interval_s: float
    ends_s: np.ndarray  # (intervals,)
    delivered_bytes: np.ndarray  # (intervals,)
    origin: str  # which of the report's numbers these are


def sniff(path: Path) -> bool:
    """Whether ``path`` is a report of iperf3."""
    return path.is_file() and _is_report(path)


def read(path: Path, said: Sidecar) -> Observed:
    """The flow of one report. Raises InputError, see `read_report`."""
    report = read_report(path)
    flow = ObservedFlow(
        name=path.name,
        file=path,
        times_s=np.append(0.0, report.ends_s),
        total_bytes=np.append(0.0, np.cumsum(report.delivered_bytes)),
        interval_s=report.interval_s,
        origin=report.origin,
        cc=report.cc,
        rtt_s=report.rtt_s,
        clock_s=float(report.clock_s),
        clock_error_s=1.0,
        offset_s=report.offset_s,
    )
    return Observed(BACKEND, (flow,), (path,))


def read_report(path: Path) -> Goodput:
    """Goodput of the one flow in a report.

    Raises InputError, naming file and field, when the file is damaged or not a report, when iperf3 itself reports an
    error, when the test is not one-way TCP without ``--omit``, and when intervals are missing or lack their bytes.
    """
    report = _parse(path)
    spans, origin = _spans(report, path)
    spans = [span for span in spans if span.end != span.start]  # iperf3 may end with an empty one
    interval_s = _check_spans(spans, report.start.test_start.duration, f"{path}: {origin}")
    title = TITLE.fullmatch(report.title)
    rtt_us = [stream.sender.min_rtt for stream in report.end.streams if stream.sender.min_rtt is not None]
    return Goodput(
        cc=report.end.sender_tcp_congestion,
        clock_s=report.start.timestamp.timesecs,
        offset_s=float(title[1]) if title else None,
        rtt_s=min(rtt_us, default=np.nan) / MICROSECONDS_PER_S,
        interval_s=interval_s,
        ends_s=np.array([span.end for span in spans]),
        delivered_bytes=np.array([span.bytes for span in spans]),
        origin=origin,
    )


def same_interval_s(flows: Sequence[Goodput], path: Path) -> float:
    """The interval in s that all flows of the run in ``path`` share; InputError when they differ."""
    if len({flow.interval_s for flow in flows}) > 1:
        raise InputError(f"{path}: intervals: of different length; run all flows with the same iperf3 --interval")
    return flows[0].interval_s


def _is_report(path: Path) -> bool:
    """By its beginning: a damaged report is one too, to be refused by name instead of passed over."""
    start = head(path)
    return start.lstrip().startswith("{") and '"iperf 3' in start


def _parse(path: Path) -> _Report:
    values = read_json(path)
    if "error" in values:
        raise InputError(f"{path}: error: iperf3 reports {values['error']!r}; repeat the test until it has no error")
    try:
        version = values["start"]["version"]
    except (KeyError, TypeError):
        version = None
    if not str(version).startswith("iperf 3"):
        raise InputError(f"{path}: start.version: must begin with 'iperf 3'; give a report of iperf3 --json")
    try:
        return _Report.model_validate(values)
    except ValidationError as error:
        raise one_line(error, str(path)) from None


def _spans(report: _Report, path: Path) -> tuple[list[_Span], str]:
    """The best intervals of a report and what they are (see the top of this file)."""
    client = [interval.sum for interval in report.intervals]
    if report.start.test_start.reverse:
        return client, "receiver: intervals"
    if report.server_output_json is not None:
        return [interval.sum for interval in report.server_output_json.intervals], "receiver: server_output_json"
    server = _server_lines(report.server_output_text, path)
    if server:
        return server, "receiver: server_output_text"
    return client, "sender: intervals"


def _server_lines(text: str, path: Path) -> list[_Span]:
    """The intervals that a server without ``--json`` printed; of parallel streams their sum."""
    lines = SERVER_LINE.findall(text)
    if any(stream == "SUM" for stream, *_ in lines):
        lines = [line for line in lines if line[0] == "SUM"]
    try:
        return [
            _server_span(float(start), float(end), float(rate) * BPS_OF_PREFIX[p]) for _, start, end, rate, p in lines
        ]
    except ValidationError as error:
        raise one_line(error, f"{path}: server_output_text") from None


def _server_span(start_s: float, end_s: float, rate_bps: float) -> _Span:
    return _Span(start=start_s, end=end_s, bytes=rate_bps * (end_s - start_s) / BITS_PER_BYTE)


def _check_spans(spans: Sequence[_Span], duration_s: float, where: str) -> float:
    """Intervals must follow each other, be equally long up to the last and cover the test; returns their length in s."""
    if not spans:
        raise InputError(f"{where}: no interval of any length; repeat the test with iperf3 --interval 1")
    starts_s, ends_s = np.array([(span.start, span.end) for span in spans]).T
    lengths_s = ends_s - starts_s
    interval_s = round(float(np.median(lengths_s)), 2)
    if interval_s < MIN_INTERVAL_S:
        raise InputError(f"{where}: intervals last {interval_s} s; iperf3 --interval must be at least {MIN_INTERVAL_S}")
    previous_ends_s = np.concatenate([[0.0], ends_s[:-1]])
    odd = (np.abs(starts_s - previous_ends_s) > 0.1 * interval_s) | (ends_s <= previous_ends_s)
    odd[:-1] |= np.abs(lengths_s[:-1] - interval_s) > 0.5 * interval_s
    odd[-1] |= lengths_s[-1] > 1.5 * interval_s
    if odd.any():
        index = int(np.argmax(odd))
        span = spans[index]
        raise InputError(
            f"{where}[{index}]: lasts from {span.start:g} to {span.end:g} s; intervals of {interval_s:g} s must follow "
            "each other without gap or overlap"
        )
    if spans[-1].end < duration_s - 0.5 * interval_s:
        raise InputError(
            f"{where}: {len(spans)} intervals end at {spans[-1].end:g} s of {duration_s:g} s; give a test that ran to its end"
        )
    return interval_s
