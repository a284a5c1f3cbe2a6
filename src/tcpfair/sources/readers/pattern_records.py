"""JSON records that a pattern reads: lists in one object, JSON text sequences (RFC 7464) or an object in each line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tcpfair.errors import InputError
from tcpfair.sources.readers.pattern_table import Pattern
from tcpfair.sources.readers.text import head, lines, read_json


def records(path: Path, pattern: Pattern) -> Iterator[tuple[str, dict[str, Any]]]:
    """JSON objects: those of the lists that the pattern names, else one of each line."""
    start = head(path).lstrip("\ufeff \t\r\n")
    first = start.lstrip("\x1e").partition("\n")[0].strip()
    if start.startswith("\x1e") or (first.endswith("}") and _is_json(first) and len(start) > len(first) + 2):
        sequence = _sequence(path)
        context = next(sequence, (str(path), {}))[1] if pattern.deltas or pattern.events else {}
        yield from _timed(sequence, _field(context, "trace") or context, pattern)
        return
    whole = read_json(path, _no_constant)
    for name in pattern.each:
        listed = _field(whole, name)
        for number, item in enumerate(listed if isinstance(listed, list) else []):
            if not isinstance(item, dict):
                raise InputError(f"{path}: {name}.{number}: must be an object; give the whole file")
            if not pattern.events:
                yield f"{path}: {name}.{number}", {**item, "_list": name}
                continue
            events = item.get(pattern.events)
            if not isinstance(events, list):
                raise InputError(f"{path}: {name}.{number}.{pattern.events}: must be a list; give the whole file")
            if number and events:
                raise InputError(f"{path}: {name}.{number}: a second connection; give each connection its own file")
            about = [(f"{path}: {name}.{number}", item)] if "event_fields" in item else []
            records = ((f"{path}: {pattern.events}.{i}", event) for i, event in enumerate(events))
            yield from about
            yield from _timed((each for each in records if isinstance(each[1], dict)), item, pattern)


def _sequence(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(lines(path), start=1):
        text = line.strip("\x1e \t\r\ufeff")
        if not text:
            continue
        try:
            record = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise InputError(f"{path}: line {number}: not a whole JSON object; give the whole file") from None
        if not isinstance(record, dict):
            raise InputError(f"{path}: line {number}: must be a JSON object; give the file as it was written")
        yield f"{path}: line {number}", record


def _timed(
    records: Iterator[tuple[str, dict[str, Any]]], context: dict[str, Any], pattern: Pattern
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Records with times from one zero, where the context states that each counts from the previous one."""
    if not any(re.fullmatch(text, text_of(context, name)) for name, text in pattern.deltas.items()):
        yield from records
        return
    time = 0.0
    for where, record in records:
        step = record.get("time", 0.0)
        time += step if isinstance(step, (int, float)) else math.nan
        yield where, {**record, "time": time}


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _field(record: Any, place: str) -> Any:
    """The field at ``a.b``; None where there is none."""
    for name in place.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record


def text_of(record: dict[str, Any], places: str) -> str:
    """The first field there is of ``a.b|c``, as text; '' for none."""
    values = (_field(record, place) for place in places.split("|"))
    return next((value if isinstance(value, str) else json.dumps(value) for value in values if value is not None), "")
