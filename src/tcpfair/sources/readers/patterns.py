"""Formats described by a table of patterns: ``patterns.yaml`` in this folder, and ``pattern`` of a trace.yaml.

A pattern extracts numbers with units from lines (regular expressions) or JSON records (paths). The same rules then
apply to each format: a number is finite and not negative, a unit is known, bytes and rate of a line agree, intervals
follow each other, and intervals add up to the tool's own total. All checks use the tool's printed precision. Tools omit
an incomplete last interval: the rest of the total becomes the last interval, with a remark.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tcpfair.errors import InputError, unknown
from tcpfair.sources.readers import readings
from tcpfair.sources.readers.observed import WINDOWS, Observed, ObservedFlow
from tcpfair.sources.readers.pattern_table import NEEDED, NUMBERS, QUANTITIES, TABLE, Pattern, Row, formats, units
from tcpfair.sources.readers.sidecar import Sidecar, load_sidecar
from tcpfair.sources.readers.text import head, lines, located, naming_file, read_json
from tcpfair.units import BITS_PER_BYTE

NAME = "patterns"
ACCEPTS = ", ".join(one.accepts for one in formats())

MAX_LINE = 1000
TAIL = 1.5  # a rest of the total longer than this many intervals means missing lines
TAIL_RATE = 3.0  # as does one faster than this multiple of the fastest interval
_LEAST_S = 1e-6
_WINDOW = ("cwnd", "ssthresh", "rtt")  # in the order of WINDOWS
_NUMBER = re.compile(r"\d+(?:\.\d*)?([eE][-+]?\d+)?", re.ASCII)


def _format(path: Path) -> Pattern | None:
    start = head(path).replace("\r\n", "\n")
    return next((one for one in formats() if re.search(one.begins, start)), None)


def sniff(path: Path) -> bool:
    """Whether a file begins like a format of patterns.yaml, or its trace.yaml has a pattern."""
    if not path.is_file():
        return False
    try:
        return load_sidecar(path).pattern is not None or _format(path) is not None
    except InputError:
        return _format(path) is not None


class Number(NamedTuple):
    """A printed number in s, bytes or bit/s, and half of its last digit."""

    value: float
    slack: float


class Interval(NamedTuple):
    """Bytes from one time to another, with half of the last digits of the end and the bytes."""

    start_s: float
    end_s: float
    bytes: float
    slack_s: float
    slack_bytes: float


@dataclass
class _Flow:
    """The data of one flow."""

    payload_bytes: float  # of a packet
    intervals: list[Interval] = field(default_factory=list)
    total: Interval | None = None
    points: list[tuple[float, float]] = field(default_factory=list)  # time, bytes until then
    packets: list[tuple[float, float]] = field(default_factory=list)  # time, bytes
    windows: list[tuple[float, float, float, float]] = field(default_factory=list)
    clock_s: float | None = None
    late: str = ""  # the line that connects it, if others had sent before
    rate_unit: str = ""
    adds_durations: bool = False  # ends are not printed, so their rounding accumulates


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """All flows of a file. Raises InputError naming the line for a mismatch or a contradiction."""
    pattern = said.pattern or _format(path)
    if pattern is None:
        raise InputError(f"none of the formats of {TABLE.name}; give `pattern` in its trace.yaml")
    origin, flows = _flows(path, pattern, said.link.payload_bytes or readings.PAYLOAD_BYTES)
    if not any(flow.intervals or flow.points or flow.packets for flow in flows.values()):
        raise InputError(f"{pattern.name}: no interval with bytes; record with {pattern.repeat}")
    late = next((flow.late for flow in flows.values() if flow.late), "")
    if late and any(flow.clock_s is None for flow in flows.values()):
        raise InputError(f"{late}: a further test begins, without a clock; give each test its own file")
    found: list[ObservedFlow] = []
    remarks: list[str] = []
    for name, flow in sorted(flows.items(), key=lambda item: (len(item[0]), item[0])):
        with located(f"flow {name}"):
            _check_total(flow, name, pattern, said, remarks)
            one = _observed_flow(path, name, flow, pattern, pattern.origins_of_flows.get(name, origin))
        if one.total_bytes[-1] > 0:
            found.append(one)
        else:
            remarks.append(f"flow {name}: no bytes; skipped")
    if not found:
        raise InputError(f"{pattern.name}: no flow has any bytes; give a recording of a transfer")
    if pattern.one_direction:
        most = max(found, key=lambda flow: flow.total_bytes[-1])
        others = [flow for flow in found if flow is not most]
        remarks += [f"{one.name}: skipped as the other direction, {one.total_bytes[-1]:g} bytes" for one in others]
        found = [most]
    return Observed(pattern.name, tuple(found), (path,), remarks=tuple(remarks))


# --- Lines and records ------------------------------------------------------------------------------------------------


def _flows(path: Path, pattern: Pattern, payload_bytes: float) -> tuple[str, dict[str, _Flow]]:
    """The origin of the bytes, and the data of each flow."""
    origin, flows, count = pattern.origin, {}, 0
    for where, row, groups, text in _matches(path, pattern):
        origin = next((other for begin, other in pattern.origins.items() if text and re.search(begin, text)), origin)
        with located(where):
            if row is None:
                raise InputError(f"{text[:80]!r} is not a line of {pattern.name}; give the file as it was written")
            if row.kind == "refuse":
                raise InputError(row.says or "refused by its pattern")
            if row.kind == "skip":
                continue
            count += 1
            readings.refuse_more(count, readings.MAX_READINGS, "readings; give the recording in parts")
            name = groups.get("flow") or row.flow
            is_late = any(flow.intervals for flow in flows.values())
            flow = flows.setdefault(name, _Flow(payload_bytes))
            readings.refuse_more(len(flows), readings.MAX_FLOWS, "flows; give the recording in parts")
            if row.kind != "connection":
                _take(flow, name, row, groups, pattern)
                continue
            if flow.intervals:
                raise InputError(f"flow {name} is connected twice; give each test its own file")
            flow.late = where if is_late else ""
            if "clock" in groups:
                flow.clock_s = _date(groups["clock"])
    return origin, flows


def _matches(path: Path, pattern: Pattern) -> Iterator[tuple[str, Row | None, dict[str, str], str]]:
    """Position of each line or record, its row, its groups, its text. JSON records without a row are skipped."""
    if pattern.is_json:
        for where, record in _records(path, pattern):
            for row in pattern.rows:
                if all(re.fullmatch(text, _text_of(record, name)) for name, text in row.where.items()):
                    groups = {name: _text_of(record, place) for name, place in row.values.items()}
                    yield where, row, {name: text for name, text in groups.items() if text}, ""
                    break
        return
    compiled = [(re.compile(row.line or ""), row) for row in pattern.rows]
    for number, line in enumerate(lines(path), start=1):
        where = f"line {number}"
        if len(line) > MAX_LINE:  # limits the search of expressions
            raise InputError(f"{where}: longer than {MAX_LINE} characters; give the file as its tool wrote it")
        match, row = next(((found, row) for rule, row in compiled if (found := rule.fullmatch(line))), (None, None))
        groups = {name: text for name, text in match.groupdict().items() if text} if match else {}
        yield where, row, groups, line


# --- JSON: lists in one object, text sequences (RFC 7464), or an object in each line -------------------------------------


def _records(path: Path, pattern: Pattern) -> Iterator[tuple[str, dict[str, Any]]]:
    """JSON objects: those of the lists that the pattern names, else one of each line."""
    start = head(path).lstrip("\ufeff \t\r\n")
    first = start.lstrip("\x1e").partition("\n")[0].strip()
    if start.startswith("\x1e") or (first.endswith("}") and _is_json(first) and len(start) > len(first) + 2):
        sequence = _sequence(path)
        context = next(sequence, ("", {}))[1] if pattern.deltas or pattern.events else {}
        yield from _timed(sequence, _field(context, "trace") or context, pattern)
        return
    whole = read_json(path, _no_constant)
    for name in pattern.each:
        listed = _field(whole, name)
        for number, item in enumerate(listed if isinstance(listed, list) else []):
            where = f"{name}.{number}"
            if not isinstance(item, dict):
                raise InputError(f"{where}: must be an object; give the whole file")
            if not pattern.events:
                yield where, {**item, "_list": name}
                continue
            events = item.get(pattern.events)
            if not isinstance(events, list):
                raise InputError(f"{where}.{pattern.events}: must be a list; give the whole file")
            if number and events:
                raise InputError(f"{where}: a second connection; give each connection its own file")
            if "event_fields" in item:
                yield where, item
            of_events = ((f"{pattern.events}.{i}", each) for i, each in enumerate(events) if isinstance(each, dict))
            yield from _timed(of_events, item, pattern)


def _sequence(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(lines(path), start=1):
        text = line.strip("\x1e \t\r\ufeff")
        if not text:
            continue
        try:
            record = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise InputError(f"line {number}: not a whole JSON object; give the whole file") from None
        if not isinstance(record, dict):
            raise InputError(f"line {number}: must be a JSON object; give the file as it was written")
        yield f"line {number}", record


def _timed(
    records: Iterator[tuple[str, dict[str, Any]]], context: dict[str, Any], pattern: Pattern
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Records with times from one zero, if the context states that each is relative to the previous one."""
    are_steps = any(re.fullmatch(text, _text_of(context, name)) for name, text in pattern.deltas.items())
    time = 0.0
    for where, record in records:
        if are_steps:
            step = record.get("time", 0.0)
            time += step if isinstance(step, (int, float)) else math.nan
            record = {**record, "time": time}
        yield where, record


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _field(record: Any, place: str) -> Any:
    """The field at ``a.b``; None if missing."""
    for name in place.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record


def _text_of(record: dict[str, Any], places: str) -> str:
    """The first existing field of ``a.b|c``, as text; '' for none."""
    values = (_field(record, place) for place in places.split("|"))
    return next((value if isinstance(value, str) else json.dumps(value) for value in values if value is not None), "")


# --- Numbers ----------------------------------------------------------------------------------------------------------


def _date(text: str) -> float:
    try:
        clock_s = datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        clock_s = math.nan
    if not readings.is_wall_clock(clock_s):
        raise InputError(f"{text[:40]!r} is not a date from 2000 to 2099; give the file as it was written")
    return clock_s


def _number(groups: dict[str, str], name: str, row: Row, flow: _Flow) -> Number:
    """A group as a number from 0 up, in s, bytes, bit/s, or packets or bytes of a window."""
    text = groups[name]
    match = _NUMBER.fullmatch(text.strip())
    if not match or not math.isfinite(value := float(match[0])):
        raise InputError(f"{name}: {text[:40]!r} is not a number from 0 up; give what the tool wrote")
    known, unit = units()[QUANTITIES.get(name, name)], groups.get(f"{name}_unit") or row.unit(name) or ""
    if name == "rate":
        flow.rate_unit = unit = flow.rate_unit if unit == "same" else unit
    if unit not in known:
        raise unknown(f"{name}: unit", unit, known)
    slack = 0.0 if match[1] else readings.half_digit(match[0])
    scaled = value * (known[unit] or 1.0)
    in_bytes = known is units()["cwnd"] and known[unit]
    return Number(scaled / flow.payload_bytes if in_bytes else scaled, slack * known[unit])


def _take(flow: _Flow, name: str, row: Row, groups: dict[str, str], pattern: Pattern) -> None:
    """One line or record of a flow."""
    given = {each: _number(groups, each, row, flow) for each in NUMBERS if each in groups}
    if row.kind in ("interval", "total"):
        at_s = _take_interval(flow, name, row, given, pattern)
    else:
        missing = [each for each in NUMBERS if each in NEEDED[row.kind][0] and each not in given]
        if missing:
            raise InputError(f"{row.values.get(missing[0], missing[0])}: missing; give the whole file")
        at_s = given["time"].value
    if row.kind == "packet":
        _append(flow.packets, (at_s, given["bytes"].value))
    if row.kind == "reading":
        if not flow.points and pattern.from_zero and at_s > 0:
            flow.points.append((0.0, 0.0))
        before_s, before_bytes = flow.points[-1] if flow.points else (-1.0, 0.0)
        _append(flow.points, (at_s, given["total_bytes"].value))
        if given["total_bytes"].value < before_bytes:
            raise InputError("total_bytes: falls, but it counts; give one recording")
        if before_s == at_s:
            del flow.points[-2]
    if row.kind != "total" and not given.keys().isdisjoint(_WINDOW):
        _append(flow.windows, (at_s, *(given[each].value if each in given else math.nan for each in _WINDOW)))


def _append(rows: list, row: tuple[float, ...]) -> None:
    """Add a row that begins with its time, which must not decrease."""
    if rows and row[0] < rows[-1][0]:
        raise InputError(f"the time goes back from {rows[-1][0]:.9g} to {row[0]:.9g} s; give one recording")
    rows.append(row)


def _take_interval(flow: _Flow, name: str, row: Row, given: dict[str, Number], pattern: Pattern) -> float:
    """One interval or the total of a flow; its end."""
    begin_s, previous_s = (flow.intervals[0].start_s, flow.intervals[-1].end_s) if flow.intervals else (0.0, 0.0)
    is_total = row.kind == "total"
    duration = given.get("duration")
    if "end" in given:
        end_s, slack_s = given["end"]
        start_s = given["start"].value if "start" in given else end_s - duration.value if duration else begin_s
    else:  # durations add up, and so do their rounded digits
        flow.adds_durations = True
        start_s = begin_s if is_total else previous_s
        end_s, slack_s = start_s + duration.value, duration.slack * (1 + math.sqrt(len(flow.intervals)))
    if not start_s <= end_s <= start_s + readings.MAX_SPAN_S:
        raise InputError(f"lasts from {start_s:.9g} to {end_s:.9g} s; must be in order and at most a day")
    with located(f"flow {name}"):
        if flow.total is not None:
            raise InputError("another line after its total; give each test its own file")
        n_bytes, slack_bytes = _agreed(given, end_s - start_s, (duration or given["end"]).slack)
        one = Interval(start_s, end_s, n_bytes, slack_s, slack_bytes)
        repeats = pattern.total_repeats_start and flow.intervals and start_s <= begin_s + slack_s < end_s
        if is_total or repeats:
            flow.total = one._replace(start_s=begin_s)
            return end_s
        if flow.intervals and abs(start_s - previous_s) > 2 * slack_s + (duration.slack if duration else 0.0):
            what = "lines are missing" if start_s > previous_s else "the time goes back"
            raise InputError(
                f"from {start_s:.9g} s, but the last ended at {previous_s:.9g} s: {what}; give the whole log"
            )
        if end_s > (start_s := previous_s if flow.intervals else start_s):
            flow.intervals.append(one._replace(start_s=start_s))
        elif one.bytes > one.slack_bytes:
            raise InputError(f"{one.bytes:g} bytes in no time; give the whole log")
    return end_s


def _agreed(given: dict[str, Number], lasted_s: float, slack_s: float) -> Number:
    """Bytes and half of their last digit, from the more precise of bytes and rate."""
    ways = [given["bytes"]] if "bytes" in given else []
    if "rate" in given:
        rate = given["rate"]
        slack = (rate.slack * (lasted_s + slack_s) + 2 * rate.value * slack_s) / BITS_PER_BYTE
        ways.append(Number(rate.value * lasted_s / BITS_PER_BYTE, slack))
    if len(ways) == 2 and abs(ways[0].value - ways[1].value) > ways[0].slack + ways[1].slack:
        says = f"are not what this rate gives in {lasted_s:.6g} s ({ways[1].value:.6g})"
        raise InputError(f"{ways[0].value:.6g} bytes {says}")
    best = min(ways, key=lambda way: way.slack)
    if best.value > readings.MAX_TOTAL_BYTES or best.value * BITS_PER_BYTE > readings.MAX_BPS * max(lasted_s, 1e-3):
        raise InputError(f"{best.value:.3g} bytes in {lasted_s:.3g} s are more than any link carries; check the unit")
    return best


# --- One flow ---------------------------------------------------------------------------------------------------------


def _observed_flow(path: Path, name: str, flow: _Flow, pattern: Pattern, origin: str) -> ObservedFlow:
    """A flow as its readings."""
    if flow.intervals:
        table = np.array([each[:3] for each in flow.intervals])
        times_s, total_bytes, _ = readings.from_intervals(*table.T)  # which follow each other
        interval_s = float(np.median(table[:, 1] - table[:, 0]))
    elif len(flow.points) > 1:
        times_s, total_bytes = np.array(flow.points).T.copy()
        total_bytes, interval_s = total_bytes - total_bytes[0], readings.usual_spacing(times_s)[0]
    elif flow.packets:
        times_s, in_bytes = np.array(flow.packets).T
        if not times_s[-1] > times_s[0]:
            raise InputError("all at one time; give a longer recording")
        times_s, (total_bytes,) = readings.gathered([(times_s, in_bytes)], times_s[0], times_s[-1])
        interval_s = readings.PACKET_INTERVAL_S
    else:
        raise InputError(f"no interval; record with {pattern.repeat}")
    windows = pd.DataFrame(flow.windows, columns=WINDOWS, dtype=np.float64)
    clock = {"clock_s": flow.clock_s, "clock_error_s": 0.0 if flow.clock_s is None else 1.0}
    clock["offset_s"] = None if flow.late else float(times_s[0])
    return readings.flow_of(name, path, (times_s, total_bytes), interval_s, origin, windows, **clock)


def _check_total(flow: _Flow, name: str, pattern: Pattern, said: Sidecar, remarks: list[str]) -> None:
    """Check the intervals against the tool's total; its rest becomes the last interval."""
    total, intervals = flow.total, flow.intervals
    if not intervals:
        return
    if total is None:
        if pattern.needs_total and not said.of(name).stops_early:
            raise InputError("ends without its total; give the whole log (or stops_early in its trace.yaml)")
        return
    last = intervals[-1]
    counted = math.fsum(each.bytes for each in intervals)
    slack_bytes = math.fsum(each.slack_bytes for each in intervals) + total.slack_bytes
    slack_s = total.slack_s + last.slack_s
    rest_bytes, rest_s = total.bytes - counted, total.end_s - last.end_s
    longest_s = max(each.end_s - each.start_s for each in intervals)
    if not -slack_s <= rest_s <= TAIL * longest_s + slack_s:
        raise InputError(f"intervals end at {last.end_s:.6g} s, its total at {total.end_s:.6g} s; give the whole log")
    fastest = max(each.bytes / (each.end_s - each.start_s) for each in intervals)
    has_tail = rest_s > _LEAST_S or flow.adds_durations
    if not -slack_bytes <= rest_bytes <= slack_bytes + TAIL_RATE * fastest * max(rest_s, slack_s) * has_tail:
        raise InputError(
            f"{counted:.6g} bytes in its intervals, but {total.bytes:.6g} in its total; give the whole log"
        )
    if rest_s > _LEAST_S:
        intervals.append(Interval(last.end_s, total.end_s, max(rest_bytes, 0.0), 0.0, 0.0))
        remarks.append(f"flow {name}: the last {rest_s:.3g} s are the rest of the tool's total")
    elif rest_bytes > slack_bytes:
        intervals[-1] = last._replace(bytes=last.bytes + rest_bytes)
