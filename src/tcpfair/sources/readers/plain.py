"""Plain tables of anyone, CSV (comma, semicolon, tab or spaces) and Parquet: time, and bytes or rate of each flow.

Long form has a row for each flow and time, wide form a column for each flow (``flow1_mbps``). What a column is, a trace.yaml
beside the file says (``columns``, ``units``) or its name tells (`tcpfair.sources.readers.columns`), and the remarks say
what was taken for what. A value belongs to the interval that ends at its time; the first interval of a flow is as long as
the usual one (of a running total too, when it begins with no more than it later rises by, or trace.yaml says so). Where
spacings are even, one of 1.5 usual ones or more has lost rows and is a gap, and so is an empty cell or NaN; where they are not
even, intervals are as long as they are. A flow begins with its first bytes: what rows with zeros stand before that cannot be
told from a flow that had not started. Zeros after its last bytes are kept.

What names and numbers leave open is refused, with the line of trace.yaml that decides it: a further column that may tell flows
apart, a column beside those of flows that is none (a sum, a fair share), times without unit more than 1.5 apart, a running
total that begins with more than it later rises by.

Times between the years 2000 and 2100 in seconds since 1970 (or the same in ms, us, ns, or as text: ISO 8601) are a wall clock,
others count from anywhere. Several of running total, bytes and rate are compared with each other; the first of these is
used. Not known: which end wrote the numbers, and, unless there is a column for it, the algorithm. cwnd in bytes becomes
packets of ``link.payload_bytes`` of the trace.yaml, or 1448.

A table without a header, such as the ``.data`` of ns-3's examples, has columns 1, 2, ..., which a trace.yaml must name. The line
"Attaching N probes..." of bpftrace and lines with # may come first.

CSV is read in pieces and Parquet by row groups, of both only the columns that are used; up to three million readings.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tcpfair.errors import InputError
from tcpfair.papers.recordings import SIDECAR, sidecar_path
from tcpfair.sources.readers import columns, readings
from tcpfair.sources.readers.columns import UNITS, Table
from tcpfair.sources.readers.observed import UNKNOWN_CC, WINDOWS, Observed, ObservedFlow
from tcpfair.sources.readers.readings import refuse_first
from tcpfair.sources.readers.sidecar import Sidecar, load_sidecar
from tcpfair.sources.readers.text import head, head_bytes, line_blocks, read_bytes

NAME = "plain"
ACCEPTS = "plain tables (.csv, .tsv, columns with spaces, or .parquet, with a column for the time and columns for bytes or rate)"

BACKEND = "table"
DELIMITERS = (",", ";", "\t")
SPACES = " "  # any number of spaces and tabs
_BEFORE = re.compile(r"#|Attaching \d+ probes?\.\.\.")  # lines before the header
PARQUET = b"PAR1"
PAYLOAD_BYTES = 1448.0  # Ethernet, with timestamps
MAX_COLUMNS = 20_000
MAX_NAME = 80
# least and largest of what is read, in its unit after conversion; times are bounded by their span
BOUNDS = {
    "total_bytes": (0.0, readings.MAX_TOTAL_BYTES),
    "bytes": (0.0, readings.MAX_TOTAL_BYTES),
    "rate": (0.0, readings.MAX_BPS),
    "cwnd": (0.0, 2.0**32),
    "ssthresh": (0.0, 2.0**32),
    "srtt": (0.0, 4294.97),
}
INFINITE_SSTHRESH = float(0x7FFFFFFF)
SAME_SUM = 0.005  # what rounding changes in a sum of columns
SECONDS_APART = 1.5  # times without unit that are no further apart, in a table of an hour at most, are in seconds
SECONDS_LONG = 3600.0
AGREE = 0.05  # two columns that say the same may differ by this share
_BLOCK_BYTES = 1 << 22
_PARQUET_ROWS = 1 << 18


def sniff(path: Path) -> bool:
    """Whether a file is Parquet, or text whose first line names a time and something else, or a trace.yaml calls it plain."""
    if not path.is_file():
        return False
    if head_bytes(path)[:4] == PARQUET:
        return True
    try:
        said = load_sidecar(path)
    except InputError:
        return True  # it is meant; reading says what is wrong with it
    names, _, _ = _header(head(path))
    if len(names) < 2:
        return False
    if said.format == NAME or said.columns.model_fields_set:
        return True
    if "ca_state" in names:  # polls of TCP_INFO
        return False
    if names[0] == "1":
        return True  # numbers without names: reading asks for them
    found = [column for name in names if (column := columns.meaning(name))]
    return any(column.quantity == "time" for column in found) and (
        any(column.quantity in columns.VALUES for column in found)
        or any(columns.meaning(f"{name}_bps") and name.lower().startswith(("flow", "stream")) for name in names)
    )


def read(path: Path, said: Sidecar) -> Observed:
    """All flows of a table. Raises InputError naming line and column for what is damaged, out of range or contradictory,
    and the field of trace.yaml that would say what cannot be inferred."""
    table, values, remarks = _load(path, said)
    many = []
    for label, rows in values.groupby("flow", sort=False, observed=True):
        flow, more = _flow(path, str(label), rows, table, said)
        remarks += more
        if flow:
            many.append(flow)
    if not many:
        raise InputError(f"{path}: no flow has any bytes; give a table with bytes or rates above 0")
    clocks = [flow.clock_s for flow in many]
    if any(clock is None for clock in clocks) and any(clock is not None for clock in clocks):
        raise InputError(
            f"{path}: {table.time.name}: some flows have times since 1970 and some have not; give one clock"
        )
    if clocks[0] is None:  # one clock of its own for all flows of the file: offsets between them are known
        first_s = min(flow.start_s for flow in many)
        many = [replace(flow, offset_s=flow.start_s - first_s) for flow in many]
        remarks.append(f"{table.time.name}: no wall clock; flows start as far from each other as the column says")
    return Observed(BACKEND, tuple(many), (path,), remarks=tuple(dict.fromkeys(remarks)))


# ---------------------------------------------------------------- from the file to one long table


def _load(path: Path, said: Sidecar) -> tuple[Table, pd.DataFrame, list[str]]:
    """Which columns, and the rows in long form: line, flow, time and quantities, in s, bytes, bit/s."""
    is_parquet = head_bytes(path)[:4] == PARQUET
    names, pieces = _parquet(path) if is_parquet else _csv(path)
    if names[0] == "1" and said.columns.time is None:
        raise InputError(
            f"{path}: no header, {len(names)} columns without names; write which is what to {sidecar_path(path)}, such as "
            "columns: {time: 1, total_bytes: 2} (or bytes, rate with units: {rate: Mbps}, flow, cwnd, srtt)"
        )
    table = columns.choose(names, said, str(path))
    parts: list[pd.DataFrame] = []
    labels: dict[str, int] = {}
    rows = 0
    first_words: dict[tuple[str, str], str] = {}
    for piece in pieces(table):
        if not rows:
            _refuse_sum(piece, table, path)
        long = _long(piece, table, path)
        _refuse_merged(piece, long, table, first_words, path)
        rows += len(long)
        if rows > readings.MAX_READINGS:
            raise InputError(f"{path}: more than {readings.MAX_READINGS} readings; give longer intervals, or parts")
        codes, new = pd.factorize(long["flow"])
        long["flow"] = np.array([labels.setdefault(label, len(labels)) for label in new], dtype=np.int32)[codes]
        parts.append(long)
    values = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    parts.clear()
    if values.empty:
        raise InputError(f"{path}: no rows below the header; give the whole table")
    values["flow"] = pd.Categorical.from_codes(values["flow"].to_numpy(), list(labels))
    remarks = list(table.remarks)
    values, table = _in_units(values, table, said, path, remarks)
    return table, values, remarks


def _long(piece: pd.DataFrame, table: Table, path: Path) -> pd.DataFrame:
    """Rows of a piece with a column for each quantity."""
    base = {"line": piece.index.to_numpy(dtype=np.int32), "time": piece[table.time.name].to_numpy()}
    if not table.by_label:
        name = table.flow.name if table.flow else "flow"
        flows = piece[name].astype(str).str.strip() if table.flow else pd.Series("flow1", piece.index)
        refuse_first(
            ((flows == "") | (flows.str.len() > MAX_NAME)).to_numpy(),
            lambda i: f"{path}: {name}: line {base['line'][i]} names no flow; give each row one",
        )
        shared = {quantity: piece[column.name].to_numpy() for quantity, column in table.shared.items()}
        return pd.DataFrame({**base, "flow": flows.to_numpy(), **shared})
    quantities = dict.fromkeys(quantity for of in table.by_label.values() for quantity in of)
    parts = []
    for label, of in table.by_label.items():
        own = {each: piece[of[each].name].to_numpy() if each in of else np.nan for each in quantities}
        parts.append(pd.DataFrame({**base, "flow": label, **own}))
    return pd.concat(parts, ignore_index=True)


def _refuse_merged(
    piece: pd.DataFrame, long: pd.DataFrame, table: Table, first_words: dict[tuple[str, str], str], path: Path
) -> None:
    """Refuse a column that is not read, has the name of a label and changes within a flow: rows of several would become one.

    ``first_words`` keeps what it said first, by column and flow, from piece to piece.
    """
    for name in table.doubtful:
        words = piece[name].astype(str).str.strip().to_numpy()
        for label, rows in long.groupby("flow", sort=False)["line"]:
            of_flow = words[np.searchsorted(piece.index.to_numpy(), rows.to_numpy())]
            first = first_words.setdefault((name, str(label)), of_flow[0])
            other = next((word for word in of_flow if word != first), None)
            if other is None:
                continue
            told = f"({first[:40]!r}, {other[:40]!r})"
            if table.flow or table.by_label:
                raise InputError(
                    f"{path}: {name!r} changes within a flow {told}; give the rows of one run and direction, or "
                    f"write `columns: {{ignore: [{name}]}}` in {SIDECAR} when they belong together"
                )
            raise InputError(
                f"{path}: {name!r} may tell flows apart {told}; write `columns: {{flow: {name}}}` in {SIDECAR} "
                f"when it does, and `columns: {{ignore: [{name}]}}` when all rows are one flow"
            )


def _refuse_sum(piece: pd.DataFrame, table: Table, path: Path) -> None:
    """Refuse a column of a flow that is the sum of the others in every row."""
    for quantity in columns.VALUES:
        names = [of[quantity].name for of in table.by_label.values() if quantity in of]
        if len(names) < 3 or len(piece) < 3:
            continue
        rates = piece[names].to_numpy(dtype=np.float64)
        rates = rates[np.isfinite(rates).all(axis=1)]
        others = rates.sum(axis=1, keepdims=True) - rates
        is_sum = (np.abs(others - rates) <= SAME_SUM * rates).all(axis=0) & ((rates > 0).sum(axis=0) >= 3)
        refuse_first(
            is_sum & (len(rates) >= 3),
            lambda i, names=names: (
                f"{path}: {names[i]!r} is the sum of the other columns in every row, so no flow; write "
                f"`columns: {{ignore: [{names[i]}]}}` in {SIDECAR}"
            ),
        )


def _in_units(
    values: pd.DataFrame, table: Table, said: Sidecar, path: Path, remarks: list[str]
) -> tuple[pd.DataFrame, Table]:
    """All quantities in s, bit/s and bytes, checked against their bounds; units that were not known are inferred or asked for."""
    units = dict(table.units)
    here = [quantity for quantity in BOUNDS if quantity in values]
    values = values.astype(dict.fromkeys(here, np.float64))
    for quantity in ("total_bytes", "bytes"):
        if quantity in here and units[quantity] is None:
            open_name = _name_of(table, quantity)
            if open_name not in said.columns.names.values():
                raise InputError(
                    f"{path}: {open_name}: unit unknown; say {SIDECAR}: units.bytes: {'|'.join(UNITS['bytes'])}"
                )
            units[quantity] = "B"
    if units["time"] is None:
        units["time"] = _time_unit(values, table.time.name, path)
        remarks.append(f"{table.time.name}: taken to be in {units['time']}")
    scale = UNITS["time"][units["time"]]
    values["time"] = values["time"] * scale if scale >= 1e-3 else values["time"] / round(1 / scale)
    _check_times(values, table, said, path)
    for quantity in ("total_bytes", "bytes", "srtt"):
        if quantity in here and units[quantity]:
            values[quantity] *= UNITS[quantity][units[quantity]]
    for quantity in ("cwnd", "ssthresh", "srtt"):
        if quantity in here and units[quantity] is None:
            field = columns.SAID_UNIT.get(quantity, quantity)
            remarks.append(
                f"{_name_of(table, quantity)}: left out, its unit is not known; say {SIDECAR}: units.{field}: "
                f"{'|'.join(UNITS[quantity])}"
            )
            values = values.drop(columns=quantity)
    if "rate" in here:
        if units["rate"] is None:
            units["rate"] = _rate_unit(values, _name_of(table, "rate"), path)
            remarks.append(f"{_name_of(table, 'rate')}: in {units['rate']}, as the bytes tell")
        values["rate"] *= UNITS["rate"][units["rate"]]
    for quantity in (each for each in here if each in values):
        least, largest = BOUNDS[quantity]
        x = values[quantity].to_numpy()
        may_be = np.isnan(x) | (np.isposinf(x) if quantity == "ssthresh" else False)
        refuse_first(
            ~((x >= least) & (x <= largest)) & ~may_be,
            lambda i, x=x, quantity=quantity, least=least, largest=largest: (
                f"{path}: {_name_of(table, quantity)}: {x[i]:.6g} in line {values['line'].iloc[i]} is not "
                f"between {least:g} and {largest:g}; check value and unit"
            ),
        )
    what = ", ".join(
        f"{_name_of(table, quantity)} as {quantity}{f' in {units[quantity]}' if units.get(quantity) else ''}"
        for quantity in ("time", *columns.VALUES, "cwnd", "ssthresh", "srtt", "cc")
        if quantity in values
    )
    remarks.insert(0, f"read: {what}")
    return values, table._replace(units=units)


def _name_of(table: Table, quantity: str) -> str:
    if quantity == "time":
        return table.time.name
    if quantity in table.shared:
        return table.shared[quantity].name
    return next(of[quantity].name for of in table.by_label.values() if quantity in of)


def _time_unit(values: pd.DataFrame, name: str, path: Path) -> str:
    """The unit of times whose name has none: told by what can only be a wall clock, else seconds when nothing else is likely."""
    times = values["time"].to_numpy()
    first = float(times[0])
    for unit, scale in UNITS["time"].items():
        if readings.is_wall_clock(first * scale) and first > 1e8:
            return unit
    spacing = values.groupby("flow", sort=False, observed=True)["time"].diff().to_numpy()
    spacing = spacing[spacing > 0]
    usual = float(np.median(spacing)) if len(spacing) else np.nan
    if usual <= SECONDS_APART and np.nanmax(times) - np.nanmin(times) <= SECONDS_LONG:
        return "s"
    raise InputError(
        f"{path}: {name}: unit unknown, times are {usual:.6g} apart; write `units: {{time: ms}}` (or s, us, ns) in {SIDECAR}"
    )


def _check_times(values: pd.DataFrame, table: Table, said: Sidecar, path: Path) -> None:
    t_s, line, where = values["time"].to_numpy(), values["line"].to_numpy(), f"{path}: {table.time.name}"
    refuse_first(~np.isfinite(t_s), lambda i: f"{where}: no time in line {line[i]}; give each row its time")
    if t_s.min() < 0:
        raise InputError(f"{where}: {t_s.min():.9g} in line {line[t_s.argmin()]} is below 0")
    readings.check_span(where, float(t_s.min()), float(t_s.max()))
    labels = values["flow"].cat.codes.to_numpy()
    if labels.max() >= readings.MAX_FLOWS:
        raise InputError(
            f"{path}: more than {readings.MAX_FLOWS} flows; say which column is the flow, {SIDECAR}: columns.flow: NAME"
        )
    order = np.argsort(labels, kind="stable")
    step_s, same_flow = np.diff(t_s[order]), np.diff(labels[order]) == 0
    for i in np.flatnonzero(same_flow & (step_s <= 0))[:1]:
        early, late = order[i], order[i + 1]
        flow = values["flow"].iloc[late]
        if step_s[i] == 0:
            raise InputError(
                f"{where}: flow {flow!r} has time {t_s[late]:.9g} in lines {line[early]} and {line[late]}; "
                "give each time once"
            )
        raise InputError(
            f"{where}: goes back from {t_s[early]:.9g} to {t_s[late]:.9g} s in line {line[late]} (flow {flow!r}); "
            "give the rows in order of time, of one recording"
        )
    if said.interval_s and same_flow.any():
        usual_s = float(np.median(step_s[same_flow]))
        if not 0.02 < usual_s / said.interval_s < 50:
            raise InputError(
                f"{where}: rows are {usual_s:.6g} s apart and {SIDECAR} says interval_s: {said.interval_s:g}; "
                "check units.time"
            )


def _rate_unit(values: pd.DataFrame, name: str, path: Path) -> str:
    """The unit of rates with which they agree with the bytes."""
    by_flow = values.groupby("flow", sort=False, observed=True)
    bits = values["rate"].to_numpy() * by_flow["time"].diff().to_numpy()
    counted = by_flow["total_bytes"].diff() if "total_bytes" in values else values.get("bytes")
    if counted is not None:
        ok = np.isfinite(counted.to_numpy()) & np.isfinite(bits)
        mean, in_bits = float(bits[ok].sum()), 8.0 * float(counted.to_numpy()[ok].sum())
        fits = [
            unit for unit, factor in UNITS["rate"].items() if in_bits > 0 and abs(mean * factor / in_bits - 1) < AGREE
        ]
        if len(fits) == 1:
            return fits[0]
    raise InputError(f"{path}: {name}: unit unknown; say {SIDECAR}: units.rate: {'|'.join(UNITS['rate'])}")


# ---------------------------------------------------------------- one flow


def _flow(
    path: Path, label: str, rows: pd.DataFrame, table: Table, said: Sidecar
) -> tuple[ObservedFlow | None, list[str]]:
    """One flow of rows in order of time, and remarks; None when it never has bytes."""
    where, remarks = f"{path}: flow {label!r}", []
    t_s = rows["time"].to_numpy()
    if len(t_s) < 2:
        raise InputError(f"{where}: one row; at least two are needed")
    if len(t_s) > readings.MAX_OF_FLOW:
        raise InputError(f"{where}: more than {readings.MAX_OF_FLOW} rows; give longer intervals, or parts")
    usual_s, is_even = readings.usual_spacing(t_s)
    lost = (np.diff(t_s) >= readings.GAP * usual_s) & is_even
    _check_agreement(rows, table, where, lost)
    quantity = next((each for each in columns.VALUES if each in rows and rows[each].notna().any()), None)
    if quantity is None and "rate" not in rows:
        return None, [f"flow {label!r}: no numbers; left out"]
    quantity = quantity or "rate"
    name = _name_of(table, quantity)
    if quantity == "total_bytes":
        times_s, total_bytes, gaps = _from_totals(rows, lost, usual_s, name, said, where)
    else:
        times_s, total_bytes, gaps, is_late = _from_intervals(rows, quantity, lost, usual_s, name, said, path)
        if is_late:
            remarks.append(
                f"flow {label!r}: starts at {times_s[0]:.9g} s, with its first bytes; rows before it are left out"
            )
    if not len(times_s) or not total_bytes[-1] > 0:
        return None, [*remarks, f"flow {label!r}: never has bytes; left out"]
    if total_bytes[-1] > readings.MAX_TOTAL_BYTES:
        raise InputError(f"{where}: {total_bytes[-1]:.3g} bytes in all are more than any tool counts; check the unit")
    if gaps:
        remarks.append(f"flow {label!r}: {len(gaps)} gaps, {sum(to - since for since, to in gaps):.6g} s without rows")
    is_wall = readings.is_wall_clock(float(times_s[0]))
    zero_s = float(times_s[0]) if is_wall else 0.0
    windows, rtt_s, more = _windows(rows, table, said, zero_s)
    flow = ObservedFlow(
        name=label,
        file=path,
        times_s=times_s - zero_s,
        total_bytes=total_bytes,
        interval_s=usual_s,
        origin=f"table: {name}",
        cc=_one_cc(rows, table, where),
        rtt_s=rtt_s,
        clock_s=zero_s if is_wall else None,
        gaps_s=tuple((since - zero_s, to - zero_s) for since, to in gaps),
        windows=windows,
    )
    return flow, [*remarks, *more]


def _from_intervals(
    rows: pd.DataFrame, quantity: str, lost: np.ndarray, usual_s: float, name: str, said: Sidecar, path: Path
) -> tuple[np.ndarray, np.ndarray, readings.Gaps, bool]:
    """Readings of bytes or rates of intervals, from the first with bytes on, and whether rows before it are left out."""
    t_s, in_bytes = rows["time"].to_numpy(), rows[quantity].to_numpy(dtype=np.float64)
    if quantity == "bytes":
        _check_is_no_total(in_bytes, name, said, path)
    starts_s = np.concatenate([[t_s[0] - usual_s], np.where(lost, t_s[1:] - usual_s, t_s[:-1])])
    if quantity == "rate":
        in_bytes = in_bytes * (t_s - starts_s) / 8.0
    sent = np.flatnonzero(np.nan_to_num(in_bytes) > 0)
    first = int(sent[0]) if len(sent) else len(in_bytes)
    begins = int(t_s[0] == 0 and in_bytes[0] == 0)  # where the clock begins
    found = readings.from_intervals(starts_s[first:], t_s[first:], in_bytes[first:])
    return (*found, len(sent) > 0 and first > begins)


def _from_totals(
    rows: pd.DataFrame, lost: np.ndarray, usual_s: float, name: str, said: Sidecar, where: str
) -> tuple[np.ndarray, np.ndarray, readings.Gaps]:
    """Readings of a running total; between readings with rows lost in between nothing was observed."""
    known = rows["total_bytes"].notna().to_numpy()
    t_s, totals, line = (rows[each].to_numpy()[known] for each in ("time", "total_bytes", "line"))
    refuse_first(
        np.diff(totals) < 0,
        lambda i: (
            f"{where}: {name}: falls from {totals[i]:.9g} to {totals[i + 1]:.9g} in line "
            f"{line[i + 1]}, but a running total never falls; is it bytes of each interval? say {SIDECAR}: columns.bytes: {name}"
        ),
    )
    rises = np.flatnonzero(totals > totals[0])
    if len(t_s) < 2 or not len(rises):
        return np.empty(0), np.empty(0), ()
    first = int(rises[0]) - 1 if totals[0] == 0 else 0  # before its first bytes it had not started
    row_lost = np.concatenate([[False], lost])
    skipped = np.concatenate([[0], np.diff(np.flatnonzero(known))]) > 1
    gaps = tuple((float(t_s[i - 1]), float(t_s[i])) for i in np.flatnonzero(row_lost[known] | skipped) if i > first)
    t_s, totals = t_s[first:], totals[first:]
    if totals[0] > 0 and _counts_from_zero(rows, float(totals[0]), float(np.diff(totals).max()), name, said, where):
        # the first interval is there as well
        t_s, totals = np.concatenate([[t_s[0] - usual_s], t_s]), np.concatenate([[0.0], totals])
    return t_s, totals - totals[0], gaps


def _counts_from_zero(rows: pd.DataFrame, first: float, largest: float, name: str, said: Sidecar, where: str) -> bool:
    """Whether a running total that begins with ``first`` was 0 an interval before; ``largest``: what it rises by at most."""
    if said.columns.total_from_zero is not None:
        return said.columns.total_from_zero
    if first <= largest:
        return True
    in_first = float(rows["bytes"].iloc[0]) if "bytes" in rows else np.nan
    if np.isfinite(in_first):
        return abs(in_first - first) <= AGREE * first
    raise InputError(
        f"{where}: {name}: begins with {first:.9g} bytes and then rises by {largest:.9g} at most; write "
        f"`columns: {{total_from_zero: true}}` in {SIDECAR} when its first interval had them, `false` when it had counted before"
    )


def _check_is_no_total(in_bytes: np.ndarray, name: str, said: Sidecar, path: Path) -> None:
    """Refuse bytes that only ever rise, unless the trace.yaml says that they are of each interval."""
    x = in_bytes[~np.isnan(in_bytes)]
    if len(x) >= 5 and (np.diff(x) >= 0).all() and x[-1] > x[len(x) // 2] > x[0] and name != said.columns.bytes:
        raise InputError(
            f"{path}: {name}: never falls, as running totals do; say {SIDECAR}: columns.total_bytes: {name}, "
            f"or columns.bytes: {name} when these are bytes of each interval"
        )


def _check_agreement(rows: pd.DataFrame, table: Table, where: str, lost: np.ndarray) -> None:
    """Running total, bytes and rate of a flow must say the same, but for its first row and for rows after lost ones."""
    length_s = np.diff(rows["time"].to_numpy())
    kinds: dict[str, np.ndarray] = {}
    if "total_bytes" in rows:
        kinds["total_bytes"] = np.diff(rows["total_bytes"].to_numpy())
    if "bytes" in rows:
        kinds["bytes"] = rows["bytes"].to_numpy()[1:]
    if "rate" in rows:
        kinds["rate"] = rows["rate"].to_numpy()[1:] * length_s / 8.0
    names = list(kinds)
    for one, other in pairwise(names):
        a, b = kinds[one], kinds[other]
        ok = np.isfinite(a) & np.isfinite(b) & ~lost
        if not ok.any():
            continue
        a, b, line = a[ok], b[ok], rows["line"].to_numpy()[1:][ok]
        usual = float(np.median(np.maximum(a, b)))
        apart = np.abs(a - b) > AGREE * np.maximum(np.maximum(a, b), usual)
        if not apart.any() and abs(a.sum() - b.sum()) <= 0.02 * max(a.sum(), b.sum()):
            continue
        i = int(np.flatnonzero(apart)[0]) if apart.any() else 0
        raise InputError(
            f"{where}: {_name_of(table, one)} and {_name_of(table, other)} contradict each other (line {line[i]}: {a[i]:.6g} "
            f"against {b[i]:.6g} bytes{_likely(a.sum(), b.sum())}); correct the table or {SIDECAR}: units"
        )


def _likely(one: float, other: float) -> str:
    """What mistake of units the ratio of two sums looks like."""
    if not (one > 0 and other > 0):
        return ""
    ratio = max(one, other) / min(one, other)
    if abs(ratio / 8 - 1) < AGREE:
        return ", 8 times as many: bits taken for bytes?"
    if abs(ratio / 1000 - 1) < AGREE or abs(ratio / 1024 - 1) < 0.01:
        return ", 1000 times as many: s and ms, or B and kB?"
    if abs(ratio / 1e6 - 1) < AGREE:
        return ", a million times as many: s and us, or B and MB?"
    return ", 1.024 times as many: kB and KiB?" if abs(ratio / 1.024 - 1) < 0.005 else ""


def _windows(rows: pd.DataFrame, table: Table, said: Sidecar, zero_s: float) -> tuple[pd.DataFrame, float, list[str]]:
    """Window, threshold and RTT in the columns of a trace, the smallest RTT, and remarks."""
    shown = rows.reindex(columns=["time", "cwnd", "ssthresh", "srtt"]).astype(np.float64).set_axis(WINDOWS, axis=1)
    per_pkt, remarks = 1.0, []
    if table.units["cwnd"] == "bytes" and {"cwnd", "ssthresh"} & set(rows):
        per_pkt = said.link.payload_bytes or PAYLOAD_BYTES
        if not said.link.payload_bytes:
            remarks.append(
                f"cwnd: bytes taken for packets of {PAYLOAD_BYTES:g}; {SIDECAR}: link.payload_bytes says otherwise"
            )
    shown["t_s"] -= zero_s
    shown["ssthresh_pkts"] = shown["ssthresh_pkts"].mask(shown["ssthresh_pkts"] >= INFINITE_SSTHRESH)  # not set yet
    shown[["cwnd_pkts", "ssthresh_pkts"]] /= per_pkt
    shown = shown[shown[WINDOWS[1:]].notna().any(axis=1)].reset_index(drop=True)
    return shown, float(shown["srtt_s"][shown["srtt_s"] > 0].min()), remarks


def _one_cc(rows: pd.DataFrame, table: Table, where: str) -> str:
    words = rows["cc"].astype(str).str.strip() if "cc" in rows else ()
    names = [name for name in dict.fromkeys(words) if name and name != "nan"]
    if len(names) > 1:
        raise InputError(
            f"{where}: {_name_of(table, 'cc')}: changes from {names[0]!r} to {names[1]!r}; give each flow one"
        )
    if names and not (names[0].replace("_", "").replace("-", "").isalnum() and len(names[0]) <= 16):
        raise InputError(
            f"{where}: {_name_of(table, 'cc')}: {names[0][:40]!r} is no name of an algorithm, such as cubic"
        )
    return names[0].lower() if names else UNKNOWN_CC


# ---------------------------------------------------------------- Parquet


def _parquet(path: Path):
    """Names of the columns, and what gives the rows for a `Table`."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(4) != PARQUET
        file = pq.ParquetFile(io.BytesIO(read_bytes(path)) if packed else path, memory_map=not packed)
        rows = file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _no_parquet(path, error) from None
    if not 0 < rows <= readings.MAX_READINGS:
        raise InputError(f"{path}: {rows} rows; a table has 1 to {readings.MAX_READINGS}")

    def pieces(table: Table) -> Iterator[pd.DataFrame]:
        at = 2
        try:
            for batch in file.iter_batches(_PARQUET_ROWS, columns=[*table.numbers, *table.texts]):
                numbers = {name: _numbers(batch.column(name), name, path) for name in table.numbers}
                texts = {name: _texts(batch.column(name)) for name in table.texts}
                yield pd.DataFrame({**numbers, **texts}, index=np.arange(at, at + len(batch)))
                at += len(batch)
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise _no_parquet(path, error) from None

    return _few(file.schema_arrow.names, path), pieces


def _few(names: list[str], path: Path) -> list[str]:
    if len(names) > MAX_COLUMNS:
        raise InputError(f"{path}: more than {MAX_COLUMNS} columns")
    return names


def _no_parquet(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: damaged Parquet ({(str(error).splitlines() or ['?'])[0][:120]}); copy the file again")


def _numbers(column: pa.Array, name: str, path: Path) -> np.ndarray:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy(zero_copy_only=False) / 1e9
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    raise InputError(f"{path}: {name}: holds {column.type}; give numbers")


def _texts(column: pa.Array) -> np.ndarray:
    return np.array(["" if value is None else str(value) for value in column.to_pylist()], dtype=object)


# ---------------------------------------------------------------- CSV


def _header(start: str) -> tuple[list[str], str, int]:
    """Names in the first line, the delimiter, and how many lines come before the first row; no names when it is no table.

    Lines with # may come first; the last of them is the header when it has as many fields as the first row.
    """
    lines = start.lstrip("﻿").split("\n")
    comments = 0
    while comments < len(lines) and _BEFORE.match(lines[comments]):
        comments += 1
    if comments >= len(lines) or "\0" in lines[comments]:
        return [], "", 0
    first = lines[comments].rstrip("\r")
    delimiter = max(DELIMITERS, key=first.strip().count)
    delimiter = delimiter if first.strip().count(delimiter) else SPACES
    fields = _fields(first, delimiter)
    if any(_is_number(field) for field in fields):  # no header here
        above = _fields(lines[comments - 1].rstrip("\r").lstrip("# "), delimiter) if comments else []
        if len(above) == len(fields):
            return above, delimiter, comments
        is_table = len(fields) > 1 and all(_is_number(field) for field in fields)
        return [str(number) for number in range(1, len(fields) + 1)] if is_table else [], delimiter, comments
    return fields, delimiter, comments + 1


def _fields(line: str, delimiter: str) -> list[str]:
    return [
        each.strip().strip('"').strip() for each in (line.split() if delimiter == SPACES else line.split(delimiter))
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv(path: Path):
    """Names of the columns, and what gives the rows for a `Table`."""
    names, delimiter, skip = _header(head(path))
    if len(names) < 2:
        raise InputError(f"{path}: no header; the first line must name the columns, such as time_s,flow,bytes")

    def pieces(table: Table) -> Iterator[pd.DataFrame]:
        line, decimal = 1 + skip, "."
        for number, block in enumerate(line_blocks(path, _BLOCK_BYTES)):
            block = block if block.endswith(b"\n") else block + b"\n"
            if number == 0:
                block = b"\n".join(block.split(b"\n", skip)[skip:])
                if delimiter == ";" and b"," in block and b"." not in block[:10_000]:
                    decimal = ","
            if delimiter == SPACES:
                block = re.sub(rb"[ \t]+", b",", re.sub(rb"(?m)^[ \t]+|[ \t\r]+$", b"", block))
            piece = _rows(block, line, names, "," if delimiter == SPACES else delimiter, decimal, table, path)
            if len(piece):
                yield piece
            line += block.count(b"\n")

    return _few(names, path), pieces


def _rows(
    block: bytes, line: int, names: list[str], delimiter: str, decimal: str, table: Table, path: Path
) -> pd.DataFrame:
    """The rows of a block whose first line is number ``line``."""
    if b"\0" in block:
        raise InputError(f"{path}: holds bytes that are no text; give the table as UTF-8")
    block = block.replace(b"\r\n", b"\n")
    numbers = np.arange(line, line + block.count(b"\n"))
    if b"\n\n" in block or block.startswith(b"\n"):
        rows = block.split(b"\n")[:-1]
        numbers = numbers[[bool(text.strip()) for text in rows]]
        block = b"".join(text + b"\n" for text in rows if text.strip())
    if not len(numbers):
        return pd.DataFrame()
    if b'"' not in block:
        _check_fields(block, numbers, len(names), delimiter, path)
    places = sorted(names.index(name) for name in (*table.numbers, *table.texts))
    order = [names[place] for place in places]
    kinds = {place: str if names[place] in table.texts else np.float64 for place in places}

    def read(dtype: object) -> pd.DataFrame:
        options = {"decimal": decimal, "skip_blank_lines": False, "skipinitialspace": True}
        with np.errstate(all="ignore"):
            found = pd.read_csv(io.BytesIO(block), sep=delimiter, header=None, usecols=places, dtype=dtype, **options)
        return found.set_axis(order, axis=1)

    try:
        try:
            piece = read(kinds)
        except (ValueError, OverflowError):
            piece = _read_as_text(read(str), numbers, decimal, table, path)
    except InputError:
        raise
    except (ValueError, OverflowError) as error:
        reason = (str(error).splitlines() or ["no table"])[0][:120]
        raise InputError(f"{path}: from line {line}: {reason}; give a table") from None
    if len(piece) != len(numbers):
        raise InputError(f"{path}: from line {line}: cells run over several lines; give one row per line")
    piece[table.texts] = piece[table.texts].fillna("")
    return piece.set_axis(numbers, axis=0)


def _check_fields(block: bytes, numbers: np.ndarray, fields: int, delimiter: str, path: Path) -> None:
    """Refuse a line with more or fewer fields than the header: cut, or two lines run together."""
    raw = np.frombuffer(block, dtype=np.uint8)
    found = np.searchsorted(np.flatnonzero(raw == ord(delimiter)), np.flatnonzero(raw == ord("\n")))
    counts = np.diff(found, prepend=0) + 1
    refuse_first(
        counts != fields,
        lambda i: f"{path}: line {numbers[i]} has {counts[i]} fields and the header {fields}; give the whole table",
    )


def _read_as_text(texts: pd.DataFrame, numbers: np.ndarray, decimal: str, table: Table, path: Path) -> pd.DataFrame:
    """Cells that are not all numbers: the time may be a date; anything else is refused by line and column."""
    for name in table.numbers:
        cells = texts[name].str.strip()
        values = pd.to_numeric(cells.str.replace(decimal, ".") if decimal != "." else cells, errors="coerce")
        empty = cells.isna() | cells.str.lower().isin(["", "-", "nan", "none", "null"])
        wrong = (values.isna() & ~empty).to_numpy()
        if wrong.any() and name == table.time.name:
            times = pd.to_datetime(cells, format="ISO8601", utc=True, errors="coerce")
            if times.notna().all():
                texts[name] = times.astype("datetime64[ns, UTC]").astype("int64") / 1e9
                continue
        refuse_first(
            wrong,
            lambda i, name=name, cells=cells: (
                f"{path}: {name}: {str(cells.iloc[i])[:40]!r} in line {numbers[i]} is no number; correct it"
            ),
        )
        texts[name] = values.astype(np.float64)
    return texts
