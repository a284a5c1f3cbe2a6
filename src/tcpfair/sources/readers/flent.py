"""Data files of Flent, ``.flent`` and ``.flent.gz``: JSON with the series of a test, as netperf and ss gave them.

Format: Flent's documentation, "The Data File Format", and flent/resultset.py; versions 1 to 4 of it (Flent 0.10 to
2.x). Flows are the series of TCP uploads and downloads in Mbits/s (``metadata: SERIES_META``), by their names;
averages, sums, pings and UDP are excluded. netperf's own intervals (``raw_values``: end ``t`` since 1970, length
``dur``, mean ``val``) are used; without them ``x_values`` and ``results``, which Flent interpolates. An upload counts
bytes passed to the sender's socket, a download bytes that have arrived. A series must agree with its own BYTES_SENT,
BYTES_RECVD and MEAN_VALUE.

cwnd (packets) and smoothed RTT (ms) are those of ss, with ``--socket-stats``. The smallest RTT is the smallest ping to
the same host. The algorithm is CONG_CONTROL of the series, or what the test requested; older versions do not write it.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field

from tcpfair.errors import InputError
from tcpfair.sources.readers import readings
from tcpfair.sources.readers.observed import CC_NAME, NO_WINDOWS, UNKNOWN_CC, WINDOWS, Floats, Observed, ObservedFlow
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import (
    between,
    head,
    located,
    naming_file,
    read_json,
    refuse_first,
    refusing,
    validated,
)
from tcpfair.units import MS_PER_S

NAME = "flent"
ACCEPTS = "Flent data files (.flent, .flent.gz)"

UNITS = "Mbits/s"
MAX_POINTS = readings.MAX_OF_FLOW // 2
ROUNDING_S = 0.005  # netperf prints ms
BYTES_AGREE, SOCKET_BYTES = 0.03, 8e6  # data in the socket at the end
MEAN_LEAST, MEAN_MOST, MEAN_ROUNDING = 0.4, 1.1, 0.05  # the mean includes the time to pass all data to the socket
BOUNDS = {  # of the numbers of a point
    "t": readings.WALL_CLOCK_S,
    "dur": (1e-6, readings.MAX_SPAN_S),
    "val": (0, readings.MAX_BPS / 1e6),
    "tcp_cwnd": (0, 2**32),
    "tcp_rtt": (0, 4.3e6),
}
_SERIES = re.compile(r"TCP (upload|download)\b(?!.*\b(?:avg|sum|fairness|totals)\b)")

Text = Annotated[str, Field(max_length=200)]
Positive = Annotated[float, Field(gt=0, le=readings.MAX_SPAN_S, allow_inf_nan=False)]
Number = between(float, 0, 1e7, allow_inf_nan=False)
Bytes = between(int, -1, 2**62)


class _Series(BaseModel):
    """The used metadata of a series."""

    UNITS: Text | None = None
    MEAN_VALUE: Number | None = None
    MIN_VALUE: Number | None = None
    CONG_CONTROL: Text | None = None
    BYTES_SENT: Bytes | None = None
    BYTES_RECVD: Bytes | None = None


class _Metadata(BaseModel):
    SERIES_META: dict[str, _Series] = {}
    STEP_SIZE: Positive = 0.2
    T0: Text | None = None
    TIME: Text | None = None
    HOSTS: list[Text] | None = None
    TEST_PARAMETERS: dict[str, Any] | None = None
    FLENT_VERSION: Text | None = None


class _File(BaseModel):
    version: between(int, 1, 4)
    x_values: Annotated[list[Number], Field(max_length=MAX_POINTS)]
    results: dict[str, list[float | None]]
    raw_values: dict[str, list[dict[str, Any]]] = {}
    metadata: _Metadata


def sniff(path: Path) -> bool:
    """Whether a file is JSON with keys of Flent's format, which iperf3's reports lack."""
    start = head(path)
    if not start.lstrip("﻿ \r\n\t").startswith("{"):
        return False
    words = ('"x_values"', '"raw_values"', '"FLENT_VERSION"', '"SERIES_META"', '"BATCH_NAME"', '"DATA_FILENAME"')
    return sum(word in start for word in words) >= 2


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """The flows of a test. Raises InputError naming series and field for what is damaged, cut, out of range or contradictory."""
    file = validated(_File, read_json(path), path)
    names = _names(file)
    if not names:
        raise InputError(
            f"results: no series 'TCP upload ...' or 'TCP download ...' in {UNITS}; give a test with TCP flows"
        )
    t0_s = _t0_s(file)
    remarks: list[str] = []
    flows = [flow for name in names if (flow := _flow(path, name, file, t0_s, remarks))]
    if not flows:
        raise InputError("raw_values: no TCP series has data; give a test that has run")
    if any(flow.origin.startswith("sender") for flow in flows):
        remarks.append("uploads: what the sender handed to its socket, which may hold some of it back")
    left = sorted(name for name in file.results if name not in names and "::tcp_" not in name)
    if left:
        remarks.append(f"skipped: {', '.join(left[:12])}{' and more' if len(left) > 12 else ''}")
    version = file.metadata.FLENT_VERSION
    provenance = {"flent": version} if version else {}
    return Observed(NAME, tuple(flows), (path,), provenance=provenance, remarks=tuple(remarks))


# ---------------------------------------------------------------- the file


def _names(file: _File) -> list[str]:
    """Series of TCP flows, in the file's order."""
    known = dict.fromkeys([*file.metadata.SERIES_META, *file.results, *file.raw_values])
    return [
        name
        for name in known
        if _SERIES.match(name)
        and "::tcp_" not in name
        and file.metadata.SERIES_META.get(name, _Series()).UNITS in (UNITS, None)
    ]


def _t0_s(file: _File) -> float | None:
    """Wall clock at x = 0, in s since 1970; None if missing. Before version 3 it has no zone."""
    text = file.metadata.T0
    if text is None:
        return None
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"metadata.T0: {text[:40]!r} is not a time such as 2020-05-07T12:46:41.601887Z") from None
    return time.timestamp() if time.tzinfo else None


def _columns(points: list[dict[str, Any]], names: Sequence[str]) -> list[np.ndarray]:
    """The times of points, which increase, and their numbers of these names, each within its `BOUNDS`."""
    columns = []
    for name in ("t", *names):
        least, most = BOUNDS[name]
        values = [point.get(name, "missing") for point in points]
        odd = [type(value) not in (int, float) or not least <= value <= most for value in values]
        refuse_first(odd, "{}: {} is not between {:g} and {:g}", name, list(map(str, values)), least, most)
        columns.append(np.array(values, dtype=np.float64))
    t_s = columns[0]
    later = "but each interval ends later; give the file as Flent wrote it"
    refuse_first(np.diff(t_s) <= 0, "t: {:.3f} after {:.3f}, {}", t_s[1:], t_s, later)
    return columns


def _flow(path: Path, name: str, file: _File, t0_s: float | None, remarks: list[str]) -> ObservedFlow | None:
    """One series; None when it has no data."""
    values = file.raw_values.get(name, [])
    points = [point for point in values if "val" in point and "dur" in point]
    is_raw = len(points) >= 2
    with located(f"raw_values: {name}" if is_raw else f"results: {name}"):
        readings.refuse_more(len(points), MAX_POINTS, "intervals")
        ends_s, starts_s, rate_bps = _intervals(points, t0_s) if is_raw else _interpolated(name, file, t0_s or 0.0)
        times_s, total_bytes, gaps = readings.from_intervals(starts_s, ends_s, rate_bps * (ends_s - starts_s) / 8.0)
        if len(ends_s):
            readings.check_span(starts_s[0], ends_s[-1])
    if len(ends_s) and not is_raw:
        remarks.append(f"{name}: only the interpolated series is available, in steps of {file.metadata.STEP_SIZE:g} s")
    if not len(times_s) or total_bytes[-1] <= 0:
        remarks.append(f"{name}: no data, skipped")
        return None
    meta = file.metadata.SERIES_META.get(name, _Series())
    is_upload = name.startswith("TCP upload")
    if is_raw:
        _check_sums(f"{path}: {name}", total_bytes[-1], times_s[-1] - times_s[0], meta, is_upload, bool(gaps))
    with located(f"raw_values: {name}"):
        windows = _windows(values, starts_s[0])
    cc = meta.CONG_CONTROL or (_requested_cc(file) if is_upload else None) or UNKNOWN_CC
    if not CC_NAME.fullmatch(cc):
        raise InputError(f"metadata.SERIES_META: {name}: CONG_CONTROL: {cc[:40]!r} is not a name such as cubic")
    known: dict[str, object] = {"cc": cc, "rtt_s": _smallest_rtt_s(name, file)}
    if readings.is_wall_clock(start_s := float(starts_s[0])):
        known |= {"clock_error_s": 0.001, "identity": frozenset({f"flent {start_s:.3f} {name}"})}
    origin = f"{'sender' if is_upload else 'receiver'}: intervals of netperf"
    usual_s = float(np.median(ends_s - starts_s))
    return readings.flow_of(name, path, (times_s, total_bytes), usual_s, origin, windows, gaps, **known)


def _intervals(points: list[dict[str, Any]], t0_s: float | None) -> tuple[Floats, Floats, Floats]:
    """End and start (wall clock, s) and rate (bit/s) of netperf's intervals."""
    ends_s, length_s, rate_mbps = _columns(points, ("dur", "val"))
    if t0_s is not None and not -1.0 <= ends_s[0] - t0_s <= readings.MAX_SPAN_S:
        after = f"the day after metadata.T0, {t0_s:.3f}"
        raise InputError(f"t: {ends_s[0]:.3f} is not in {after}; the clocks contradict each other")
    starts_s = ends_s - length_s
    apart_s = starts_s[1:] - ends_s[:-1]
    overlap = apart_s < -ROUNDING_S - 0.01 * length_s[1:]
    says = "dur: {:g} s before {:.3f} reach into the interval before, by {:.3f} s"
    refuse_first(overlap, says, length_s[1:], ends_s[1:], -apart_s)
    starts_s[1:] = np.where(apart_s <= ROUNDING_S, ends_s[:-1], starts_s[1:])
    return ends_s, starts_s, rate_mbps * 1e6


def _interpolated(name: str, file: _File, t0_s: float) -> tuple[Floats, Floats, Floats]:
    """End and start (s) and rate (bit/s) of Flent's steps; empty for fewer than two."""
    values = file.results.get(name, [])
    x = np.array(file.x_values, dtype=np.float64)
    if values and len(values) != len(x):
        raise InputError(f"has {len(values)} values and x_values {len(x)}; give the file as Flent wrote it")
    rate_mbps = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    most = readings.MAX_BPS / 1e6
    is_wrong = [value is not None and not 0 <= value <= most for value in values]
    refuse_first(is_wrong, "{:g} is not between 0 and {:g} {}", rate_mbps, most, UNITS)
    seen = np.flatnonzero(~np.isnan(rate_mbps))
    if len(seen) < 2:
        return np.empty(0), np.empty(0), np.empty(0)
    if (np.diff(x) <= 0).any():
        raise InputError("x_values: must increase; give the file as Flent wrote it")
    here = slice(seen[0], seen[-1] + 1)
    starts_s = np.r_[x[0] - file.metadata.STEP_SIZE, x[:-1]]
    return x[here] + t0_s, starts_s[here] + t0_s, rate_mbps[here] * 1e6


@refusing
def _check_sums(total_bytes: float, span_s: float, meta: _Series, is_upload: bool, has_gaps: bool) -> Iterator[str]:
    """Check intervals against netperf's totals of the test."""
    name, counted = ("BYTES_SENT", meta.BYTES_SENT) if is_upload else ("BYTES_RECVD", meta.BYTES_RECVD)
    hint = "the intervals or their sum are damaged"
    if counted is not None and counted > 0:
        missing = counted - total_bytes
        if -missing > BYTES_AGREE * counted + 1e5 or (not has_gaps and missing > BYTES_AGREE * counted + SOCKET_BYTES):
            yield f"{name}: {counted} and the intervals {total_bytes:.0f} bytes; {hint}"
    mean = 8e-6 * total_bytes / span_s
    agrees = MEAN_LEAST * mean - MEAN_ROUNDING <= (meta.MEAN_VALUE or 0.0) <= MEAN_MOST * mean + MEAN_ROUNDING
    if meta.MEAN_VALUE is not None and not has_gaps and not agrees:
        yield f"MEAN_VALUE: {meta.MEAN_VALUE:g} and the intervals {mean:.6g} {UNITS}; {hint}"


def _windows(values: list[dict[str, Any]], start_s: float) -> pd.DataFrame:
    """Values of ss for the socket, in the columns of a trace; the flow begins at ``start_s``."""
    polls = [point for point in values if point.get("tcp_cwnd") is not None]
    if not polls:
        return NO_WINDOWS
    has_rtt = all(point.get("tcp_rtt") is not None for point in polls)
    t_s, cwnd_pkts, *srtt_ms = _columns(polls, ("tcp_cwnd", "tcp_rtt")[: 1 + has_rtt])
    readings.check_span(min(t_s[0], start_s), t_s[-1])
    srtt_s = srtt_ms[0] / MS_PER_S if has_rtt else np.nan
    return pd.DataFrame(dict(zip(WINDOWS, (t_s, cwnd_pkts, np.nan, srtt_s), strict=True)))


def _requested_cc(file: _File) -> str | None:
    """The algorithm that the whole test requested; 'a,b' is one for each end."""
    cc = (file.metadata.TEST_PARAMETERS or {}).get("tcp_cong_control")
    first = cc.split(",")[0] if isinstance(cc, str) else ""
    return first if CC_NAME.fullmatch(first) else None


def _smallest_rtt_s(name: str, file: _File) -> float:
    """The smallest ping to the flow's host; NaN when that is ambiguous."""
    hosts, host = file.metadata.HOSTS or [], name.rsplit(" ", 1)[-1]
    if host not in hosts and len(hosts) > 1:
        return math.nan
    smallest_ms = [
        meta.MIN_VALUE
        for each, meta in file.metadata.SERIES_META.items()
        if each.startswith("Ping (ms) ICMP") and meta.MIN_VALUE and (host not in hosts or each.endswith(f" {host}"))
    ]
    return min(smallest_ms, default=math.nan) / 1000.0
