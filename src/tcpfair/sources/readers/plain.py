"""Plain tables, CSV (comma, semicolon, tab or spaces) and Parquet: time, and bytes or rate of each flow.

Long form has a row for each flow and time, wide form a column for each flow (``flow1_mbps``). trace.yaml (``columns``,
``units``) or the names of the columns (`tcpfair.sources.readers.columns`) give their meaning; the remarks list it.

- A value belongs to the interval that ends at its time. The first interval of a flow has the usual length, including a
  running total that begins with no more than a later rise, or for which trace.yaml states it.
- If spacings are even, one of at least 1.5 usual ones has lost rows and is a gap, as is an empty cell or NaN.
- A flow begins with its first bytes, because rows of zeros before them look like a flow that has not started. Zeros
  after its last bytes count.
- Times between the years 2000 and 2100, in s, ms, us or ns since 1970 or as ISO 8601, are a wall clock. Others have an
  arbitrary zero.
- Of running total, bytes and rate, the first that exists is used and compared with the others.
- cwnd in bytes becomes packets of ``link.payload_bytes``, or 1448. The end that wrote the numbers is unknown.
- A table without a header (``.data`` of ns-3's examples) has columns 1, 2, ..., which trace.yaml must name. "Attaching
  N probes..." of bpftrace and lines with # may come first.

Ambiguous names and numbers are refused, with the line of trace.yaml that decides them. CSV is read in pieces, of CSV
and Parquet only the columns that are used; up to three million readings.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from tcpfair.sources.readers.observed import CC_NAME, UNKNOWN_CC, WINDOWS, Gaps, Observed, ObservedFlow
from tcpfair.sources.readers.sidecar import Sidecar, load_sidecar
from tcpfair.sources.readers.text import (
    head,
    head_bytes,
    located,
    naming_file,
    pieces,
    read_bytes,
    refuse_first,
    table_of,
    without_blank,
)

NAME = "plain"
ACCEPTS = "plain tables (.csv, .tsv, columns with spaces, or .parquet, with a column for the time and columns for bytes or rate)"

BACKEND = "table"
DELIMITERS = (",", ";", "\t")
SPACES = " "  # any number of spaces and tabs
_BEFORE = re.compile(r"#|Attaching \d+ probes?\.\.\.")  # lines before the header
PARQUET = b"PAR1"
MAX_COLUMNS = 20_000
MAX_NAME = 80
# bounds of the values after conversion; times are bounded by their span
BOUNDS = {
    "total_bytes": (0.0, readings.MAX_TOTAL_BYTES),
    "bytes": (0.0, readings.MAX_TOTAL_BYTES),
    "cwnd": (0.0, 2.0**32),
    "ssthresh": (0.0, 2.0**32),
    "srtt": (0.0, 4294.97),
    "rate": (0.0, readings.MAX_BPS),
}
AGREE = 0.05  # two columns of one quantity may differ by this share
MISTAKES = (  # ratio of two sums, how near, what was probably mistaken
    (8, AGREE, ", 8 times as many: bits taken for bytes?"),
    (1000, AGREE, ", 1000 times as many: s and ms, or B and kB?"),
    (1024, 0.01, ", 1000 times as many: s and ms, or B and kB?"),
    (1e6, AGREE, ", a million times as many: s and us, or B and MB?"),
    (1.024, 0.005, ", 1.024 times as many: kB and KiB?"),
)
SAME_SUM = 0.005  # effect of rounding on a sum of columns
SECONDS_APART = 1.5  # times without unit that are no further apart, in a table of an hour at most, are in seconds
SECONDS_LONG = 3600.0
_TIME_OF_DAY = r"\d{1,2}:\d\d:\d\d(\.\d{1,9})?"

TOO_MANY = "readings; give longer intervals, or parts"

Pieces = Callable[[Table], Iterator[pd.DataFrame]]


def sniff(path: Path) -> bool:
    """Whether a file is Parquet, or text whose first line names a time and something else, or a trace.yaml calls it plain."""
    if not path.is_file():
        return False
    if head_bytes(path)[:4] == PARQUET:
        return True
    try:
        said = load_sidecar(path)
    except InputError:
        return True  # intended; reading reports its errors
    names, _, _ = _header(head(path))
    if len(names) < 2:
        return False
    if said.format == NAME or said.columns.model_fields_set:
        return True
    if "ca_state" in names:  # polls of TCP_INFO
        return False
    if names[0] == "1":
        return True  # numbers without names: reading requests them
    found = [column for name in names if (column := columns.meaning(name))]
    return any(column.quantity == "time" for column in found) and (
        any(column.quantity in columns.VALUES for column in found)
        or any(columns.meaning(f"{name}_bps") and name.lower().startswith(("flow", "stream")) for name in names)
    )


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """All flows of a table. Raises InputError naming line and column for what is damaged, out of range or contradictory,
    and the field of trace.yaml for what cannot be inferred."""
    table, values, remarks = _load(path, said)
    many = []
    for label, rows in values.groupby("flow", sort=False):
        with located(f"flow {label!r}"):
            many += _flow(path, str(label), rows, table, said, remarks)
    if not many:
        raise InputError("no flow has any bytes; give a table with bytes or rates above 0")
    clocks = {flow.clock_s is None for flow in many}
    if len(clocks) > 1:
        raise InputError(f"{table.time.name}: some flows have times since 1970 and some have not; give one clock")
    if clocks == {True}:  # one clock for all flows of the file: offsets between them are known
        first_s = min(flow.start_s for flow in many)
        many = [replace(flow, offset_s=flow.start_s - first_s) for flow in many]
        remarks.append(f"{table.time.name}: no wall clock; offsets between flows are those of the column")
    has_own_zero = clocks == {True}
    return Observed(BACKEND, tuple(many), (path,), remarks=tuple(dict.fromkeys(remarks)), has_own_zero=has_own_zero)


# ---------------------------------------------------------------- from the file to one long table


def _load(path: Path, said: Sidecar) -> tuple[Table, pd.DataFrame, list[str]]:
    """The columns, and the rows in long form: line, flow, time and quantities, in s, bytes, bit/s."""
    names, rows_of = _parquet(path) if head_bytes(path)[:4] == PARQUET else _csv(path)
    readings.refuse_more(len(names), MAX_COLUMNS, "columns")
    if names[0] == "1" and said.columns.time is None:
        raise InputError(
            f"no header, {len(names)} columns without names; write which is what to {sidecar_path(path)}, such as "
            "columns: {time: 1, total_bytes: 2} (or bytes, rate with units: {rate: Mbps}, flow, cwnd, srtt)"
        )
    table = columns.choose(names, said)
    parts: list[pd.DataFrame] = []
    for piece in rows_of(table):
        if not parts:
            _refuse_sum(piece, table)
        parts.append(_long(piece, table))
        readings.refuse_more(sum(map(len, parts)), readings.MAX_READINGS, TOO_MANY)
    if not parts:
        raise InputError("no rows below the header; give the whole table")
    values = pd.concat(parts, ignore_index=True)
    _refuse_merged(values, table)
    remarks = [f"columns not used: {', '.join(table.unused[:20])}"] if table.unused else []
    return table, _in_units(values, table, said, remarks), remarks


def _long(piece: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Rows of a piece with a column for each quantity and, in brackets, each that may distinguish flows."""
    line, time = piece.index.to_numpy(dtype=np.int32), piece[table.time.name].to_numpy()
    quantities = dict.fromkeys(column.quantity for column in table.columns)
    doubtful = {f"({name})": piece[name].astype(str).str.strip().to_numpy() for name in table.doubtful}
    parts = []
    for label, of in table.of_flows.items():
        flows = pd.Series(label or "flow1", piece.index)
        if table.flow:
            flows = piece[table.flow.name].astype(str).str.strip()
            is_odd = (flows == "") | (flows.str.len() > MAX_NAME)
            refuse_first(is_odd, "{}: line {} names no flow; give each row one", table.flow.name, line)
        own = {each: piece[of[each].name].to_numpy() if each in of else np.nan for each in quantities}
        parts.append(pd.DataFrame({"line": line, "time": time, "flow": flows.to_numpy(), **own, **doubtful}))
    return pd.concat(parts, ignore_index=True)


def _refuse_merged(values: pd.DataFrame, table: Table) -> None:
    """Refuse an unread column that has the name of a label and changes within a flow: rows of several would become one."""
    for name in table.doubtful:
        for words in values.groupby("flow", sort=False)[f"({name})"].unique():
            if len(words) == 1:
                continue
            told, ignore = f"({words[0][:40]!r}, {words[1][:40]!r})", f"`columns: {{ignore: [{name}]}}`"
            if table.flow or "" not in table.of_flows:
                raise InputError(
                    f"{name!r} changes within a flow {told}; give the rows of one run and direction, or write {ignore} in "
                    f"{SIDECAR} when they belong together"
                )
            raise InputError(
                f"{name!r} may distinguish flows {told}; write `columns: {{flow: {name}}}` in {SIDECAR} when it does, and "
                f"{ignore} when all rows are one flow"
            )


def _refuse_sum(piece: pd.DataFrame, table: Table) -> None:
    """Refuse a column of a flow that is the sum of the others in every row."""
    for quantity in columns.VALUES:
        names = [of[quantity].name for of in table.of_flows.values() if quantity in of]
        rates = piece[names].to_numpy(dtype=np.float64)
        rates = rates[np.isfinite(rates).all(axis=1)]
        if len(names) < 3 or len(rates) < 3:
            continue
        others = rates.sum(axis=1, keepdims=True) - rates
        is_sum = (np.abs(others - rates) <= SAME_SUM * rates).all(axis=0) & ((rates > 0).sum(axis=0) >= 3)
        for i in np.flatnonzero(is_sum)[:1]:
            ignore = f"write `columns: {{ignore: [{names[i]}]}}` in {SIDECAR}"
            raise InputError(f"{names[i]!r} is the sum of the other columns in every row, so no flow; {ignore}")


def _in_units(values: pd.DataFrame, table: Table, said: Sidecar, remarks: list[str]) -> pd.DataFrame:
    """All quantities in s, bit/s and bytes, checked against their bounds; ``table`` gets the units that are inferred."""
    units = table.units
    here = [quantity for quantity in BOUNDS if quantity in values]
    values = values.astype(dict.fromkeys(here, np.float64))
    if units["time"] is None:
        units["time"] = _time_unit(values, table.time.name)
        remarks.append(f"{table.time.name}: taken to be in {units['time']}")
    scale = UNITS["time"][units["time"]]
    values["time"] = values["time"] * scale if scale >= 1e-3 else values["time"] / round(1 / scale)
    with located(table.time.name):
        _check_times(values, said)
    for quantity in here:
        name = table.name_of(quantity)
        field, known = columns.SAID_UNIT.get(quantity, quantity), ", ".join(UNITS[quantity])
        say = f"write `units: {{{field}: UNIT}}` in {SIDECAR}, with one of {known}"
        unit = units[quantity]
        if unit is None and quantity == "rate":
            unit = _rate_unit(values)
            if unit:
                remarks.append(f"{name}: in {unit}, by comparison with the bytes")
        elif unit is None and quantity in columns.VALUES and name in said.columns.names.values():
            unit = "B"
        if unit is None and quantity in columns.VALUES:
            raise InputError(f"{name}: unit unknown; {say}")
        if unit is None:
            remarks.append(f"{name}: omitted, its unit is unknown; {say}")
            del values[quantity]
            continue
        units[quantity] = unit
        values[quantity] *= UNITS[quantity][unit]
        least, largest = BOUNDS[quantity]
        x = values[quantity]
        is_known = x.notna() if quantity != "ssthresh" else x.notna() & (x != np.inf)
        says = "{}: {:.6g} in line {} is not between {:g} and {:g}; check value and unit"
        refuse_first(is_known & ~x.between(least, largest), says, name, x, values["line"], least, largest)
    what = ", ".join(
        f"{table.name_of(quantity)} as {quantity}" + (f" in {units[quantity]}" if units.get(quantity) else "")
        for quantity in ("time", *columns.VALUES, "cwnd", "ssthresh", "srtt", "cc")
        if quantity in values
    )
    remarks.insert(0, f"read: {what}")
    return values


def _time_unit(values: pd.DataFrame, name: str) -> str:
    """The unit of times whose name has none: from values that can only be a wall clock, else seconds if no other unit
    is likely."""
    times = values["time"].to_numpy()
    first = times[0]
    for unit, scale in UNITS["time"].items():
        if readings.is_wall_clock(first * scale) and first > 1e8:
            return unit
    spacing = values.groupby("flow", sort=False)["time"].diff()
    usual = spacing[spacing > 0].median()
    if usual <= SECONDS_APART and np.nanmax(times) - np.nanmin(times) <= SECONDS_LONG:
        return "s"
    write = f"write `units: {{time: ms}}` (or s, us, ns) in {SIDECAR}"
    raise InputError(f"{name}: unit unknown, times are {usual:.6g} apart; {write}")


def _check_times(values: pd.DataFrame, said: Sidecar) -> None:
    t_s, line = values["time"].to_numpy(), values["line"].to_numpy()
    refuse_first(~np.isfinite(t_s), "no time in line {}; give each row its time", line)
    if t_s.min() < 0:
        raise InputError(f"{t_s.min():.9g} in line {line[t_s.argmin()]} is below 0")
    readings.check_span(t_s.min(), t_s.max())
    say = f"write `columns: {{flow: NAME}}` in {SIDECAR}, with the column of the flow"
    readings.refuse_more(values["flow"].nunique(), readings.MAX_FLOWS, f"flows; {say}")
    before = values.groupby("flow", sort=False)[["time", "line"]].shift()
    step_s, flow = values["time"] - before["time"], values["flow"]
    says = "flow {!r} has time {:.9g} in lines {:.0f} and {}; give each time once"
    refuse_first(step_s == 0, says, flow, t_s, before["line"], line)
    says = "goes back from {:.9g} to {:.9g} s in line {} (flow {!r}); give the rows in order of time, of one recording"
    refuse_first(step_s < 0, says, before["time"], t_s, line, flow)
    if said.interval_s and not 0.02 < (usual_s := step_s.median()) / said.interval_s < 50:
        stated = f"{SIDECAR} states interval_s: {said.interval_s:g}"
        raise InputError(f"rows are {usual_s:.6g} s apart and {stated}; check units.time")


def _rate_unit(values: pd.DataFrame) -> str | None:
    """The one unit of rates with which they agree with the bytes."""
    by_flow = values.groupby("flow", sort=False)
    counted = by_flow["total_bytes"].diff() if "total_bytes" in values else values.get("bytes")
    if counted is None:
        return None
    bits = values["rate"].to_numpy() * by_flow["time"].diff().to_numpy()
    ok = np.isfinite(counted.to_numpy()) & np.isfinite(bits)
    mean, in_bits = bits[ok].sum(), 8.0 * counted.to_numpy()[ok].sum()
    fits = [unit for unit, factor in UNITS["rate"].items() if in_bits > 0 and abs(mean * factor / in_bits - 1) < AGREE]
    return fits[0] if len(fits) == 1 else None


# ---------------------------------------------------------------- one flow


def _flow(
    path: Path, label: str, rows: pd.DataFrame, table: Table, said: Sidecar, remarks: list[str]
) -> list[ObservedFlow]:
    """The flow of rows in order of time; None when it never has bytes."""
    t_s = rows["time"].to_numpy()
    if len(t_s) < 2:
        raise InputError("one row; at least two are needed")
    readings.refuse_more(len(t_s), readings.MAX_OF_FLOW, "rows; give longer intervals, or parts")
    usual_s, is_even = readings.usual_spacing(t_s)
    lost = (np.diff(t_s) >= readings.GAP * usual_s) & is_even
    _check_agreement(rows, table, lost)
    quantity = next((each for each in columns.VALUES if each in rows and rows[each].notna().any()), "rate")
    if quantity not in rows:
        remarks.append(f"flow {label!r}: no numbers; skipped")
        return []
    name = table.name_of(quantity)
    find = _from_totals if quantity == "total_bytes" else _from_intervals
    times_s, total_bytes, gaps, is_late = find(rows, quantity, name, lost, usual_s, said)
    if is_late:
        remarks.append(
            f"flow {label!r}: starts at {times_s[0]:.9g} s, with its first bytes; rows before it are skipped"
        )
    if not len(times_s) or not total_bytes[-1] > 0:
        remarks.append(f"flow {label!r}: never has bytes; skipped")
        return []
    windows, origin, cc = _windows(rows, table, said, remarks), f"table: {name}", _one_cc(rows, table)
    return [readings.flow_of(label, path, (times_s, total_bytes), usual_s, origin, windows, gaps, cc=cc)]


def _from_intervals(
    rows: pd.DataFrame, quantity: str, name: str, lost: np.ndarray, usual_s: float, said: Sidecar
) -> tuple[np.ndarray, np.ndarray, Gaps, bool]:
    """Readings of bytes or rates of intervals, from the first with bytes on, and whether rows before it are omitted."""
    t_s, in_bytes = rows["time"].to_numpy(), rows[quantity].to_numpy(dtype=np.float64)
    known = in_bytes[~np.isnan(in_bytes)]
    only_rises = len(known) >= 5 and (np.diff(known) >= 0).all() and known[-1] > known[len(known) // 2] > known[0]
    if quantity == "bytes" and said.columns.bytes is None and only_rises:
        raise InputError(
            f"{name}: never falls, as running totals do; write `columns: {{total_bytes: {name}}}` in {SIDECAR}, or "
            f"`columns: {{bytes: {name}}}` if these are bytes of each interval"
        )
    starts_s = np.r_[t_s[0] - usual_s, np.where(lost, t_s[1:] - usual_s, t_s[:-1])]
    if quantity == "rate":
        in_bytes = in_bytes * (t_s - starts_s) / 8.0
    sent = np.flatnonzero(np.nan_to_num(in_bytes) > 0)
    first = sent[0] if len(sent) else len(in_bytes)
    begins = int(t_s[0] == 0 and in_bytes[0] == 0)  # the start of the clock
    found = readings.from_intervals(starts_s[first:], t_s[first:], in_bytes[first:])
    return (*found, len(sent) > 0 and first > begins)


def _from_totals(
    rows: pd.DataFrame, quantity: str, name: str, lost: np.ndarray, usual_s: float, said: Sidecar
) -> tuple[np.ndarray, np.ndarray, Gaps, bool]:
    """Readings of a running total; readings with lost rows in between are a gap. No rows are omitted."""
    known = rows[quantity].notna().to_numpy()
    t_s, totals, line = (rows[each].to_numpy()[known] for each in ("time", quantity, "line"))
    says = (
        "{0}: falls from {1:.9g} to {2:.9g} in line {3}, but a running total never falls; if these are bytes of each "
        "interval, write `columns: {{bytes: {0}}}` in {4}"
    )
    refuse_first(np.diff(totals) < 0, says, name, totals, totals[1:], line[1:], SIDECAR)
    rises = np.flatnonzero(totals > totals[0])
    if not len(rises):
        return np.empty(0), np.empty(0), (), False
    first = rises[0] - 1 if totals[0] == 0 else 0  # before its first bytes it had not started
    row_lost = np.r_[False, lost][known] | (np.r_[0, np.diff(np.flatnonzero(known))] > 1)
    gaps = tuple((float(t_s[i - 1]), float(t_s[i])) for i in np.flatnonzero(row_lost) if i > first)
    t_s, totals = t_s[first:], totals[first:]
    first_bytes, most = totals[0], np.diff(totals).max()
    from_zero, in_first = said.columns.total_from_zero, float(rows["bytes"].iloc[0]) if "bytes" in rows else np.nan
    if from_zero is None and first_bytes > most:
        from_zero = bool(abs(in_first - first_bytes) <= AGREE * first_bytes)
        if not np.isfinite(in_first):
            raise InputError(
                f"{name}: begins with {first_bytes:.9g} bytes and then rises by {most:.9g} at most; write `columns: "
                f"{{total_from_zero: true}}` in {SIDECAR} when its first interval had them, `false` when it had counted before"
            )
    if first_bytes > 0 and from_zero is not False:  # the first interval exists as well
        t_s, totals = np.r_[t_s[0] - usual_s, t_s], np.r_[0.0, totals]
    return t_s, totals - totals[0], gaps, False


def _check_agreement(rows: pd.DataFrame, table: Table, lost: np.ndarray) -> None:
    """Running total, bytes and rate of a flow must agree, except in its first row and in rows after lost ones."""
    length_s = np.diff(rows["time"].to_numpy())
    in_bytes = {
        "total_bytes": lambda totals: np.diff(totals),
        "bytes": lambda counted: counted[1:],
        "rate": lambda rates: rates[1:] * length_s / 8.0,
    }
    kinds = [(table.name_of(each), find(rows[each].to_numpy())) for each, find in in_bytes.items() if each in rows]
    for (one, a), (other, b) in pairwise(kinds):
        ok = np.isfinite(a) & np.isfinite(b) & ~lost
        if not ok.any():
            continue
        a, b, line = a[ok], b[ok], rows["line"].to_numpy()[1:][ok]
        usual = np.median(np.maximum(a, b))
        apart = np.abs(a - b) > AGREE * np.maximum(np.maximum(a, b), usual)
        less, more = sorted((a.sum(), b.sum()))
        if apart.any() or more - less > 0.02 * more:
            i, ratio = np.argmax(apart), more / less if less > 0 else 1.0
            likely = next((says for times, near, says in MISTAKES if abs(ratio / times - 1) < near), "")
            at = f"line {line[i]}: {a[i]:.6g} against {b[i]:.6g} bytes{likely}"
            raise InputError(f"{one} and {other} contradict each other ({at}); correct the table or {SIDECAR}: units")


def _windows(rows: pd.DataFrame, table: Table, said: Sidecar, remarks: list[str]) -> pd.DataFrame:
    """Window, threshold and RTT in the columns of a trace, at the table's times."""
    shown = rows.reindex(columns=["time", "cwnd", "ssthresh", "srtt"]).astype(np.float64).set_axis(WINDOWS, axis=1)
    is_unset = shown["ssthresh_pkts"] >= readings.INFINITE_SSTHRESH
    shown["ssthresh_pkts"] = shown["ssthresh_pkts"].mask(is_unset)
    if table.units["cwnd"] == "bytes" and {"cwnd", "ssthresh"} & set(rows):
        shown[["cwnd_pkts", "ssthresh_pkts"]] /= said.link.payload_bytes or readings.PAYLOAD_BYTES
        if not said.link.payload_bytes:
            taken = f"cwnd: bytes taken for packets of {readings.PAYLOAD_BYTES:g}"
            remarks.append(f"{taken}; {SIDECAR}: link.payload_bytes overrides this")
    return shown[shown[WINDOWS[1:]].notna().any(axis=1)].reset_index(drop=True)


def _one_cc(rows: pd.DataFrame, table: Table) -> str:
    words = rows["cc"].astype(str).str.strip() if "cc" in rows else ()
    names = [name for name in dict.fromkeys(words) if name and name != "nan"]
    if len(names) > 1:
        raise InputError(f"{table.name_of('cc')}: changes from {names[0]!r} to {names[1]!r}; give each flow one")
    if names and not CC_NAME.fullmatch(names[0]):
        raise InputError(f"{table.name_of('cc')}: {names[0][:40]!r} is not a name of an algorithm, such as cubic")
    return names[0].lower() if names else UNKNOWN_CC


# ---------------------------------------------------------------- Parquet


def _parquet(path: Path) -> tuple[list[str], Pieces]:
    """Names of the columns, and what gives the rows for a `Table`."""
    with path.open("rb") as raw:
        is_packed = raw.read(4) != PARQUET
    with _whole_parquet():
        file = pq.ParquetFile(io.BytesIO(read_bytes(path)) if is_packed else path, memory_map=not is_packed)
    if not 0 < file.metadata.num_rows <= readings.MAX_READINGS:
        raise InputError(f"{file.metadata.num_rows} rows; a table has 1 to {readings.MAX_READINGS}")

    def rows_of(table: Table) -> Iterator[pd.DataFrame]:
        readings.refuse_more(file.metadata.num_rows * len(table.of_flows), readings.MAX_READINGS, TOO_MANY)
        with _whole_parquet():
            rows = file.read([*table.numbers, *table.texts])
            values = {name: _numbers(rows[name], name) for name in table.numbers}
            values |= {name: ["" if x is None else str(x) for x in rows[name].to_pylist()] for name in table.texts}
        yield pd.DataFrame(values).set_axis(np.arange(2, 2 + len(rows)))

    return file.schema_arrow.names, rows_of


@contextmanager
def _whole_parquet() -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = (str(error).splitlines() or ["?"])[0][:120]
        raise InputError(f"damaged Parquet ({reason}); copy the file again") from None


def _numbers(column: pa.ChunkedArray, name: str) -> np.ndarray:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy() / 1e9
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return column.cast(pa.float64(), safe=False).to_numpy()
    raise InputError(f"{name}: holds {column.type}; give numbers")


# ---------------------------------------------------------------- CSV


def _header(start: str) -> tuple[list[str], str, int]:
    """Names in the first line, the delimiter, and the number of lines before the first row; no names if it is not a table.

    Lines with # may come first; the last of them is the header when it has as many fields as the first row.
    """
    lines = start.lstrip("\ufeff").split("\n")
    comments = next((number for number, line in enumerate(lines) if not _BEFORE.match(line)), len(lines))
    if comments == len(lines) or "\0" in lines[comments]:
        return [], "", 0
    first = lines[comments].strip()
    delimiter = max(DELIMITERS, key=first.count)
    delimiter = delimiter if delimiter in first else SPACES
    fields = _fields(lines[comments], delimiter)
    are_numbers = [_is_number(field) for field in fields]
    if not any(are_numbers):
        return fields, delimiter, comments + 1
    above = _fields(lines[comments - 1].lstrip("# "), delimiter) if comments else []
    if len(above) == len(fields):
        return above, delimiter, comments
    is_table = len(fields) > 1 and all(are_numbers)
    return [str(number) for number in range(1, len(fields) + 1)] if is_table else [], delimiter, comments


def _fields(line: str, delimiter: str) -> list[str]:
    cells = line.split() if delimiter == SPACES else line.rstrip("\r").split(delimiter)
    return [each.strip().strip('"').strip() for each in cells]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv(path: Path) -> tuple[list[str], Pieces]:
    """Names of the columns, and what gives the rows for a `Table`."""
    names, delimiter, skip = _header(head(path))
    if len(names) < 2:
        raise InputError("no header; the first line must name the columns, such as time_s,flow,bytes")

    def rows_of(table: Table) -> Iterator[pd.DataFrame]:
        decimal = "."
        for lines, block in pieces(path, may_lack_end=True):
            if lines[0] == 1:
                lines, block = lines[skip:], b"\n".join(block.split(b"\n", skip)[skip:])
                if delimiter == ";" and _number_with(b",", block) and not _number_with(b".", block):
                    decimal = ","
            if delimiter == SPACES:
                block = re.sub(rb"[ \t]+", b",", re.sub(rb"(?m)^[ \t]+|[ \t\r]+$", b"", block))
            lines, block = without_blank(lines, block)
            if len(lines):
                yield _rows(block, lines, names, "," if delimiter == SPACES else delimiter, decimal, table)

    return names, rows_of


def _number_with(mark: bytes, block: bytes) -> bool:
    """Whether a cell between semicolons is a number with this decimal mark."""
    return bool(re.search(rb"(?m)(?:^|;)[ \t]*[+-]?\d+" + re.escape(mark) + rb"\d+[ \t\r]*(?:;|$)", block))


def _rows(
    block: bytes, lines: np.ndarray, names: list[str], delimiter: str, decimal: str, table: Table
) -> pd.DataFrame:
    """The rows of a block of lines."""
    if b"\0" in block:
        raise InputError("contains bytes that are not text; give the table as UTF-8")
    if b'"' not in block:
        _check_fields(block, lines, len(names), delimiter)
    places = sorted(names.index(name) for name in (*table.numbers, *table.texts))
    kinds = {place: str if names[place] in table.texts else np.float64 for place in places}

    def read(dtype: object) -> pd.DataFrame:
        options = {"sep": delimiter, "decimal": decimal, "skipinitialspace": True, "usecols": places}
        found = table_of(lines, block, "give a table, with one row per line", dtype=dtype, **options)
        return found.set_axis([names[place] for place in places], axis=1)

    try:
        piece = read(kinds)
    except InputError:
        piece = _as_numbers(read(str), decimal, table)
    piece[table.texts] = piece[table.texts].fillna("")
    return piece


def _check_fields(block: bytes, lines: np.ndarray, fields: int, delimiter: str) -> None:
    """Refuse a line with more or fewer fields than the header: cut, or two lines run together."""
    raw = np.frombuffer(block, dtype=np.uint8)
    found = np.searchsorted(np.flatnonzero(raw == ord(delimiter)), np.flatnonzero(raw == ord("\n")))
    counts = np.diff(found, prepend=0) + 1
    says = "line {} has {} fields and the header {}; give the whole table"
    refuse_first(counts != fields, says, lines, counts, fields)


def _as_numbers(texts: pd.DataFrame, decimal: str, table: Table) -> pd.DataFrame:
    """Cells with other content than numbers: the time may be a date, or a time of day without one, which is in seconds since
    midnight; other text is refused by line and column."""
    for name in table.numbers:
        cells = texts[name].str.strip()
        values = pd.to_numeric(cells.str.replace(decimal, "."), errors="coerce")
        empty = cells.isna() | cells.str.lower().isin(["", "-", "nan", "none", "null"])
        wrong = (values.isna() & ~empty).to_numpy()
        if wrong.any() and name == table.time.name:
            times = pd.to_datetime(cells, format="ISO8601", utc=True, errors="coerce")
            if times.notna().all():
                texts[name] = times.astype("datetime64[ns, UTC]").astype("int64") / 1e9
                continue
            of_day = cells.str.fullmatch(_TIME_OF_DAY).fillna(False)
            if of_day.all():
                texts[name] = pd.to_timedelta(cells).dt.total_seconds()
                continue
            wrong = wrong & ~of_day.to_numpy(bool)
        kind = "a time (a number, ISO 8601 or HH:MM:SS)" if name == table.time.name else "a number"
        refuse_first(wrong, "{}: {!r} in line {} is not {}; correct it", name, cells, texts.index, kind)
        texts[name] = values.astype(np.float64)
    return texts
