"""Traces that ns-2 writes: of events (``trace-all``, the wired format) and of TCP's variables (``$tcp trace cwnd_``).

Format: The ns Manual, chapters "Trace and Monitoring Support" and "TCP Agents"; written by ns-2 2.35. An event is ``+ - r d``
(enters a queue, leaves it, is received, is dropped; ``e``: lost by an error model), time, from, to, type, bytes, flags, fid,
source, destination (node.port), sequence number and packet; a variable's line is time, node and port of both ends, name and
value. Both kinds may stand in one file, or in the files of one folder.

Flows are the pairs of addresses that send TCP or DCCP data. Goodput is what the destination's node receives: of each sequence
number the first arrival, and in order, as the sink hands it on; ``total_received_bytes`` has first arrivals as they come.
Payload is the packet's size less 40 bytes, ns-2's headers (``wire_bytes`` less ``payload_bytes`` when trace.yaml says both).
Without events, ``ack_`` of the variables gives the bytes, in packets of ``link.payload_bytes`` or ns-2's 1000. The link that
drops most is taken for the bottleneck. Not known: the algorithm, the RTT, ``rtt_`` and ``srtt_`` (in ticks of a clock
that the trace does not tell), hierarchical addresses, wireless and NAM traces. A simulation has no wall clock.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.contract.recordings import SIDECAR
from tcpfair.errors import InputError
from tcpfair.sources.readers import readings
from tcpfair.sources.readers.observed import LINK, WINDOWS, Observed, ObservedFlow, ObservedLink
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import MAX_LINE_BYTES, chunks, head

NAME = "ns2"
ACCEPTS = "ns-2 traces (trace-all events; variables such as cwnd_ and ack_), a file or a folder of both"

BACKEND = "ns2 trace"
HEADER_BYTES = 40.0
PACKET_BYTES = 1000.0  # ns-2's packetSize_
DATA = ("tcp", "DCCP_Data", "DCCP_DataAck")
LINK_BIN_S = 0.1
MANY_PIECES = 32
MAX_NODE, MAX_PACKET_BYTES, MAX_SEQ = 1_000_000, 65_575, 2**31 - 1
MAX_WINDOW_PKTS = 2.0**31
EVENT_FIELDS = ["event", "t_s", "from", "to", "type", "size", "flags", "fid", "src", "dst", "seq", "packet"]
VARIABLE_FIELDS = ["t_s", "saddr", "sport", "daddr", "dport", "name", "value"]
_EVENT = re.compile(rb"[-+rde] \d[\d.e+-]* \d+ \d+ \S+ \d+ \S{4,10} -?\d+ \S+ \S+ -?\d+ \d+")
_VARIABLE = re.compile(rb"\d[\d.]*\s+\d+\s+\d+\s+-?\d+\s+-?\d+\s+[a-z_]+_\s+\S+")
_ADDRESS = re.compile(r"(\d{1,7})\.(\d{1,7})")
_BLOCK_BYTES = 1 << 22


def sniff(path: Path) -> bool:
    """Whether a file begins with an event or a variable of ns-2, or a folder holds files of both kinds."""
    if path.is_dir():
        kinds = [_kind(file) for file in _files(path)]
        return "events" in kinds and "variables" in kinds
    return bool(_kind(path))


def read(path: Path, said: Sidecar) -> Observed:
    """All flows of a trace, or of the traces of one simulation in a folder.

    Raises InputError naming file and line for what is cut, out of range or out of order, and when no data arrive.
    """
    files = [file for file in _files(path) if _kind(file)] if path.is_dir() else [path]
    if sum(_kind(file) == "events" for file in files) > 1:
        raise InputError(f"{path}: several files of events; give those of one simulation")
    seen = _Seen(path)
    for file in files:
        for line, block in _blocks(file):
            _take(block, line, file, seen)
    header_bytes = HEADER_BYTES
    if said.link.wire_bytes and said.link.payload_bytes:
        header_bytes = said.link.wire_bytes - said.link.payload_bytes
        if header_bytes < 0:
            raise InputError(
                f"{path}: {SIDECAR}: link.wire_bytes is below link.payload_bytes; a packet has its headers too"
            )
    variables = _variables(seen)
    remarks = ["simulated time: no wall clock"]
    flows = _of_events(path, files, seen, header_bytes, remarks) if seen.arrivals else []
    if not flows:
        flows = _of_acks(path, files, variables, said.link.payload_bytes or PACKET_BYTES, remarks)
        if not said.link.payload_bytes:
            remarks.append(
                f"packets taken to have {PACKET_BYTES:g} bytes; {SIDECAR}: link.payload_bytes says otherwise"
            )
    if not flows:
        raise InputError(
            f"{path}: no data of TCP or DCCP arrive and no ack_ is traced; give a trace of all events, or add $tcp trace ack_"
        )
    with_windows = []
    for flow in flows:
        cwnd = _windows_of(variables.get(flow.name, {}))
        with_windows.append(replace(flow, windows=cwnd) if len(cwnd) else flow)
    table = _bottleneck(seen, remarks)
    return Observed(
        BACKEND,
        tuple(with_windows),
        tuple(files),
        link=ObservedLink(table) if table is not None else None,
        remarks=tuple(remarks),
    )


# ---------------------------------------------------------------- lines


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file())


def _kind(path: Path) -> str:
    """events, variables or '', told by the first lines."""
    if not path.is_file():
        return ""
    start = head(path).encode(errors="replace").split(b"\n")[:50]
    first = next((line for line in start if not line.startswith(b"v ")), b"")
    if _EVENT.match(first):
        return "events"
    return "variables" if _VARIABLE.match(first) else ""


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number of the first line, and whole lines, in pieces; a last line without its end is refused: it is cut."""
    rest, line = b"", 1
    for piece in chunks(path, _BLOCK_BYTES):
        whole, newline, rest = (rest + piece).rpartition(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise InputError(f"{path}: line {line}: longer than {MAX_LINE_BYTES} bytes; give ns-2's own output")
        if newline:
            yield line, whole + newline
            line += whole.count(b"\n") + 1
    if rest.strip():
        raise InputError(f"{path}: line {line}: cut; give the whole trace")


@dataclass
class _Seen:
    """What has been read so far."""

    path: Path
    arrivals: list[pd.DataFrame] = field(default_factory=list)  # data at their destination: key, t_s, seq, size
    first_s: dict[str, float] = field(default_factory=dict)  # of each flow, its first event
    last_s: dict[str, float] = field(default_factory=dict)
    fids: dict[str, set[int]] = field(default_factory=dict)
    other_types: set[str] = field(default_factory=set)
    links: list[pd.DataFrame] = field(default_factory=list)  # by from, to and bin: waiting, forwarded, dropped
    variables: list[pd.DataFrame] = field(default_factory=list)
    packets: int = 0
    time_s: float = 0.0  # of the latest event


def _take(block: bytes, line: int, path: Path, seen: _Seen) -> None:
    """Read a piece of a trace."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    raw = np.frombuffer(block, dtype=np.uint8)
    starts = np.concatenate([[0], np.flatnonzero(raw == ord("\n"))[:-1] + 1])
    first = raw[starts]
    is_event = np.isin(first, np.frombuffer(b"+-rde", dtype=np.uint8))
    is_variable = (first >= ord("0")) & (first <= ord("9"))
    wrong = np.flatnonzero(~(is_event | is_variable | (first == ord("v"))))
    if len(wrong):
        raise InputError(
            f"{path}: line {line + wrong[0]}: no event (+ - r d e) and no variable; give ns-2's own output"
        )
    numbers = line + np.arange(len(starts))
    if is_event.all():
        _events(block, numbers, path, seen)
    elif is_variable.all():
        _variable_lines(block, numbers, path, seen)
    else:
        texts = block.split(b"\n")
        for mask, take in ((is_event, _events), (is_variable, _variable_lines)):
            if mask.any():
                take(b"\n".join(texts[i] for i in np.flatnonzero(mask)) + b"\n", numbers[mask], path, seen)


def _table(
    block: bytes, numbers: np.ndarray, names: list[str], kinds: dict[str, type | str], path: Path
) -> pd.DataFrame:
    """Lines of as many words as ``names`` (events may have TCP's header behind). Raises InputError naming the first bad line."""
    try:
        with np.errstate(all="ignore"):
            table = pd.read_csv(
                io.BytesIO(block),
                sep=" " if names is EVENT_FIELDS else r"\s+",
                header=None,
                names=names,
                usecols=range(len(names)),
                dtype=kinds,
                na_filter=False,
                quoting=3,
                index_col=False,
                skip_blank_lines=False,
            )
        if len(table) == len(numbers):
            return table
    except (ValueError, OverflowError, pd.errors.ParserError):
        pass
    pattern = _EVENT if names is EVENT_FIELDS else _VARIABLE
    texts = block.split(b"\n")
    bad = next((i for i, text in enumerate(texts[: len(numbers)]) if not pattern.match(text)), 0)
    raise InputError(
        f"{path}: line {numbers[bad]}: {texts[bad][:60].decode(errors='replace')!r} is not {' '.join(names)}; "
        "give ns-2's own output"
    )


_EVENT_KINDS: dict[str, type | str] = {
    **dict.fromkeys(("event", "type", "flags", "src", "dst"), str),  # "category" would make 0.10 a number
    "t_s": np.float64,
    **dict.fromkeys(("from", "to", "size", "fid", "seq", "packet"), np.int64),
}


def _bounded(table: pd.DataFrame, name: str, least: float, largest: float, numbers: np.ndarray, path: Path) -> None:
    wrong = np.flatnonzero(~table[name].between(least, largest).to_numpy())
    if len(wrong):
        given = str(table[name].iloc[wrong[0]])[:40]
        raise InputError(f"{path}: line {numbers[wrong[0]]}: {name} {given} is not between {least:g} and {largest:g}")


def _events(block: bytes, numbers: np.ndarray, path: Path, seen: _Seen) -> None:
    table = _table(block, numbers, EVENT_FIELDS, _EVENT_KINDS, path)
    _bounded(table, "t_s", 0, readings.MAX_SPAN_S, numbers, path)
    _bounded(table, "size", 0, MAX_PACKET_BYTES, numbers, path)
    _bounded(table, "seq", -1, MAX_SEQ, numbers, path)
    for name in ("from", "to"):
        _bounded(table, name, 0, MAX_NODE, numbers, path)
    t_s = table["t_s"].to_numpy()
    back = np.flatnonzero(np.diff(t_s, prepend=seen.time_s) < 0)
    if len(back):
        raise InputError(
            f"{path}: line {numbers[back[0]]}: time goes back to {t_s[back[0]]:.9g} s; give the trace of one simulation"
        )
    seen.time_s = float(t_s[-1])
    table = table.astype(dict.fromkeys(("event", "type", "src", "dst"), "category"))
    nodes = {}
    for name in ("src", "dst"):
        known = table[name].cat.categories
        parts = [_ADDRESS.fullmatch(address) for address in known]
        for address, part in zip(known, parts, strict=True):
            if part is None:
                raise InputError(
                    f"{path}: line {numbers[int((table[name] == address).to_numpy().argmax())]}: {name} {address[:40]!r} is not "
                    "node.port; hierarchical addresses are not read"
                )
        nodes[name] = np.array([int(part[1]) for part in parts if part])[table[name].cat.codes]
    is_data = table["type"].isin(DATA).to_numpy() & (table["size"] > HEADER_BYTES).to_numpy()
    seen.other_types |= set(table["type"].cat.categories) - {*DATA, "ack", "DCCP_Ack"}
    keys = table["src"].astype(str) + ">" + table["dst"].astype(str) if is_data.any() else None
    if keys is not None:
        data = pd.DataFrame({"key": keys[is_data], "t_s": t_s[is_data], "fid": table["fid"][is_data]})
        for key, times in data.groupby("key", sort=False)["t_s"]:
            seen.first_s.setdefault(key, float(times.iloc[0]))
            seen.last_s[key] = float(times.iloc[-1])
        for key, fid in data[["key", "fid"]].drop_duplicates().itertuples(index=False):
            seen.fids.setdefault(key, set()).add(int(fid))
        if len(seen.first_s) > readings.MAX_FLOWS:
            raise InputError(f"{path}: more than {readings.MAX_FLOWS} flows")
        here = is_data & (table["event"] == "r").to_numpy() & (nodes["dst"] == table["to"].to_numpy())
        seen.packets += int(here.sum())
        if seen.packets > readings.MAX_PACKETS:
            raise InputError(f"{path}: more than {readings.MAX_PACKETS} packets; give a shorter simulation")
        if here.any():
            seen.arrivals.append(
                pd.DataFrame(
                    {
                        "key": pd.Categorical(keys[here]),
                        "t_s": t_s[here],
                        "seq": table["seq"].to_numpy()[here],
                        "size": table["size"].to_numpy()[here].astype(np.int32),
                    }
                )
            )
    _links(table, is_data, seen)


def _links(table: pd.DataFrame, is_data: np.ndarray, seen: _Seen) -> None:
    """Add what enters, leaves and is dropped at each link, by bins of `LINK_BIN_S`."""
    event = table["event"].to_numpy()
    bins = np.floor(table["t_s"].to_numpy() / LINK_BIN_S + 1e-6).astype(np.int64)
    counts = pd.DataFrame(
        {
            "from": table["from"],
            "to": table["to"],
            "bin": bins,
            "waiting": np.select([event == "+", (event == "-") | (event == "d")], [1, -1], 0),
            "forwarded": np.where(event == "-", table["size"], 0),
            "dropped": (event == "d").astype(np.int64),
        }
    )
    seen.links.append(counts.groupby(["from", "to", "bin"])[["waiting", "forwarded", "dropped"]].sum())
    if len(seen.links) > MANY_PIECES:
        seen.links = [_all_links(seen)]


def _all_links(seen: _Seen) -> pd.DataFrame:
    """What was added so far, by from, to and bin."""
    return pd.concat(seen.links).groupby(level=[0, 1, 2]).sum()


def _variable_lines(block: bytes, numbers: np.ndarray, path: Path, seen: _Seen) -> None:
    kinds: dict[str, type | str] = {"t_s": np.float64, "name": str, "value": np.float64}
    kinds |= dict.fromkeys(("saddr", "sport", "daddr", "dport"), np.int64)
    block = re.sub(rb"[ \t]+\n", b"\n", block)
    table = _table(block, numbers, VARIABLE_FIELDS, kinds, path)
    _bounded(table, "t_s", 0, readings.MAX_SPAN_S, numbers, path)
    for name in ("saddr", "sport", "daddr", "dport"):
        _bounded(table, name, -1, MAX_NODE, numbers, path)
    table = table[table["name"].isin(("cwnd_", "ssthresh_", "ack_"))].assign(
        line=numbers[table["name"].isin(("cwnd_", "ssthresh_", "ack_"))]
    )
    _bounded(table, "value", -1, MAX_WINDOW_PKTS, table["line"].to_numpy(), path)
    seen.packets += len(table)
    if seen.packets > readings.MAX_PACKETS:
        raise InputError(f"{path}: more than {readings.MAX_PACKETS} changes of variables; give a shorter simulation")
    key = [f"{a}.{b}>{c}.{d}" for a, b, c, d in table[["saddr", "sport", "daddr", "dport"]].itertuples(index=False)]
    seen.variables.append(table[["t_s", "name", "value", "line"]].assign(key=key, file=str(path)))


# ---------------------------------------------------------------- flows


def _of_events(
    path: Path, files: list[Path], seen: _Seen, header_bytes: float, remarks: list[str]
) -> list[ObservedFlow]:
    """The flows whose data arrive."""
    arrivals = pd.concat([piece.astype({"key": "object"}) for piece in seen.arrivals], ignore_index=True)
    if seen.other_types:
        remarks.append(f"left out: packets of type {', '.join(sorted(seen.other_types)[:10])}")
    flows = []
    for key, rows in arrivals.groupby("key", sort=True):
        if len(seen.fids[key]) > 1:
            raise InputError(
                f"{path}: {key}: has flow ids {', '.join(map(str, sorted(seen.fids[key])))}; one pair of ports is one flow"
            )
        first = rows.drop_duplicates("seq")  # its first arrival
        payload = np.maximum(first["size"].to_numpy() - header_bytes, 0.0)
        t_s, seq = first["t_s"].to_numpy(), first["seq"].to_numpy()
        order = np.argsort(seq)
        in_order, missing = _in_order(seq[order], payload[order])
        if missing:
            remarks.append(
                f"{key}: {missing} packets arrived behind one that never did, and are not counted as delivered"
            )
        deliver_s = np.maximum.accumulate(t_s[order])[in_order]
        start_s = seen.first_s[key]
        stop_s = seen.last_s[key]
        if seen.time_s - stop_s < max(1.0, 0.02 * seen.time_s):
            stop_s = seen.time_s
        else:
            remarks.append(f"{key}: sends nothing after {stop_s:.6g} s, where it is taken to end")
        if stop_s <= start_s or not len(deliver_s):
            remarks.append(f"{key}: left out, nothing is delivered")
            continue
        times_s, (total, received) = readings.gathered(
            [(deliver_s, payload[order][in_order]), (t_s, payload)], start_s, stop_s
        )
        if total[-1] <= 0:
            remarks.append(f"{key}: left out, no payload is delivered")
            continue
        flows.append(
            ObservedFlow(
                name=key,
                file=files[0],
                times_s=times_s,
                total_bytes=total,
                total_received_bytes=received,
                interval_s=readings.PACKET_INTERVAL_S,
                offset_s=start_s,
                origin="receiver: arrivals of ns-2's trace, in order",
            )
        )
    return flows


def _in_order(seq: np.ndarray, payload: np.ndarray) -> tuple[slice, int]:
    """Which of the sorted sequence numbers have all before them: a slice from the first, and how many are behind a hole.

    One-way TCP counts packets, FullTcp bytes: then a number and its payload give the next one.
    """
    steps = np.diff(seq)
    if len(steps) and np.median(steps) > 1:
        hole = np.flatnonzero(steps != payload[:-1].astype(np.int64))
    else:
        hole = np.flatnonzero(steps != 1)
    stop = int(hole[0]) + 1 if len(hole) else len(seq)
    return slice(0, stop), len(seq) - stop


def _variables(seen: _Seen) -> dict[str, dict[str, pd.DataFrame]]:
    """Values of the variables by flow and name, in order of time."""
    if not seen.variables:
        return {}
    table = pd.concat(seen.variables, ignore_index=True)
    found: dict[str, dict[str, pd.DataFrame]] = {}
    for (key, name), rows in table.groupby(["key", "name"], sort=True, observed=True):
        t_s = rows["t_s"].to_numpy()
        back = np.flatnonzero(np.diff(t_s) < 0)
        if len(back):
            row = rows.iloc[back[0] + 1]
            raise InputError(
                f"{row['file']}: line {row['line']}: time goes back to {row['t_s']:.9g} s; give the trace of one simulation"
            )
        found.setdefault(str(key), {})[str(name)] = rows
    return found


def _of_acks(
    path: Path,
    files: list[Path],
    variables: dict[str, dict[str, pd.DataFrame]],
    payload_bytes: float,
    remarks: list[str],
) -> list[ObservedFlow]:
    """The flows whose acknowledgements are traced: ack_ is the highest packet that is acknowledged."""
    flows = []
    for key, of_flow in variables.items():
        if "ack_" not in of_flow:
            continue
        rows = of_flow["ack_"].drop_duplicates("t_s", keep="last")
        t_s, acked = rows["t_s"].to_numpy(), rows["value"].to_numpy()
        falls = np.flatnonzero(np.diff(acked) < 0)
        if len(falls):
            raise InputError(
                f"{path}: line {rows['line'].iloc[falls[0] + 1]}: ack_ falls; give the trace of one connection"
            )
        first = np.flatnonzero(acked > acked[0])
        if not len(first):
            continue
        at = slice(max(int(first[0]) - 1, 0), None)
        t_s, total = t_s[at], (acked[at] - acked[at][0]) * payload_bytes
        t_s, total = t_s[: readings.MAX_OF_FLOW], total[: readings.MAX_OF_FLOW]
        if total[1] > 0 and len(t_s) > 2:  # the line at 0 tells of no start
            t_s, total = t_s[1:], total[1:] - total[1]
        flows.append(
            ObservedFlow(
                name=key,
                file=files[0],
                times_s=t_s,
                total_bytes=total,
                interval_s=max(readings.PACKET_INTERVAL_S, float(np.median(np.diff(t_s)))),
                origin="sender: ack_ of ns-2's trace",
                offset_s=float(t_s[0]),
            )
        )
    return flows


def _windows_of(of_flow: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """cwnd_ and ssthresh_ at each change of either, in the columns of a trace."""
    parts = [
        rows[["t_s", "value"]].drop_duplicates("t_s", keep="last").rename(columns={"value": column})
        for name, column in (("cwnd_", "cwnd_pkts"), ("ssthresh_", "ssthresh_pkts"))
        if (rows := of_flow.get(name)) is not None
    ]
    if not parts:
        return pd.DataFrame(columns=WINDOWS, dtype="float64")
    table = parts[0]
    for part in parts[1:]:
        table = table.merge(part, on="t_s", how="outer").sort_values("t_s")
    table = table.reindex(columns=WINDOWS)
    values = table[WINDOWS[1:]].astype(np.float64).ffill()
    return pd.concat([table["t_s"], values.where(values >= 0)], axis=1).reset_index(drop=True)


def _bottleneck(seen: _Seen, remarks: list[str]) -> pd.DataFrame | None:
    """The link that drops most, in the columns of a trace."""
    links = _all_links(seen) if seen.links else pd.DataFrame({"dropped": []})
    drops = links["dropped"].groupby(level=[0, 1]).sum() if len(links) else links["dropped"]
    if not len(drops) or not drops.max():
        return None
    link = drops.idxmax()
    if (drops > 0).sum() > 1:
        elsewhere = int(drops.sum() - drops[link])
        remarks.append(
            f"the link {link[0]} to {link[1]} drops most ({drops[link]}; {elsewhere} elsewhere): taken for the bottleneck"
        )
    table = links.loc[link]
    last = int(seen.time_s / LINK_BIN_S)
    table = table.reindex(range(last + 1), fill_value=0)
    return pd.DataFrame(
        {
            "t_s": (table.index.to_numpy() + 1) * LINK_BIN_S,
            "direction": "forward",
            "forwarded_bytes": table["forwarded"].cumsum().to_numpy(dtype=np.float64),
            "dropped_pkts": table["dropped"].cumsum().to_numpy(dtype=np.float64),
            "queue_pkts": np.maximum(table["waiting"].cumsum().to_numpy(dtype=np.float64), 0.0),
        }
    )[LINK]
