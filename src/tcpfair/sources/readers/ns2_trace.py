"""Traces of ns-2: events (``trace-all``, the wired format) and TCP's variables (``$tcp trace cwnd_``).

Format: The ns Manual, chapters "Trace and Monitoring Support" and "TCP Agents"; written by ns-2 2.35. An event is ``+ -
r d`` (enters a queue, leaves it, is received, is dropped; ``e``: lost by an error model), time, from, to, type, bytes,
flags, fid, source, destination (node.port), sequence number and packet; a variable's line is time, node and port of
both ends, name and value. One file may hold both kinds, or two files of one folder.

Flows are the pairs of addresses that send TCP or DCCP data. Goodput counts arrivals at the destination's node: the
first of each sequence number, in order; ``total_received_bytes`` has first arrivals as they come. Payload is the
packet's size less 40 bytes of headers (``wire_bytes`` less ``payload_bytes`` when trace.yaml has both). Without events,
``ack_`` gives the bytes, in packets of ``link.payload_bytes`` or ns-2's 1000. The link that drops most counts as the
bottleneck. Unknown: the algorithm, the RTT (``rtt_`` is in ticks of an unknown clock), hierarchical addresses, wireless
and NAM traces, a wall clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.papers.recordings import SIDECAR
from tcpfair.sources.readers import readings
from tcpfair.sources.readers.observed import NO_WINDOWS, WINDOWS, Observed, ObservedFlow, ObservedLink
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import Form, head, located, naming_file, pieces, refuse_first, refuse_out_of_bounds

NAME = "ns2"
ACCEPTS = "ns-2 traces (trace-all events; variables such as cwnd_ and ack_), a file or a folder of both"

BACKEND = "ns2 trace"
HEADER_BYTES = 40.0
PACKET_BYTES = 1000.0  # ns-2's packetSize_
DATA = ("tcp", "DCCP_Data", "DCCP_DataAck")
MAX_NODE, MAX_PACKET_BYTES, MAX_SEQ = 1_000_000, 65_575, 2**31 - 1
MAX_WINDOW_PKTS = 2.0**31
_EVENT = re.compile(rb"[-+rde] \d[\d.e+-]* \d+ \d+ \S+ \d+ \S{4,10} -?\d+ \S+ \S+ -?\d+ \d+.*")
_VARIABLE = re.compile(rb"\d[\d.]*\s+\d+\s+\d+\s+-?\d+\s+-?\d+\s+[a-z_]+_\s+\S+.*")
_TIME, _NODE = (0, readings.MAX_SPAN_S), (0, MAX_NODE)
_TYPES = {"t_s": np.float64, "value": np.float64} | dict.fromkeys(("event", "type", "flags", "src", "dst", "name"), str)


def _form(words: str, separator: str, pattern: re.Pattern[bytes], bounds: dict) -> Form:
    columns = {name: _TYPES.get(name, np.int64) for name in words.split()}
    return Form(separator, columns, bounds, pattern, f"is not {words}; give ns-2's own output", may_go_on=True)


EVENT = _form(
    "event t_s from to type size flags fid src dst seq packet",
    " ",
    _EVENT,
    {"t_s": _TIME, "size": (0, MAX_PACKET_BYTES), "seq": (-1, MAX_SEQ), "from": _NODE, "to": _NODE},
)
VARIABLE = _form(
    "t_s saddr sport daddr dport name value",
    r"\s+",
    _VARIABLE,
    {"t_s": _TIME} | dict.fromkeys(("saddr", "sport", "daddr", "dport"), (-1, MAX_NODE)),
)
_ADDRESS = re.compile(r"(\d{1,7})\.(\d{1,7})")


def sniff(path: Path) -> bool:
    """Whether a file begins with an event or a variable of ns-2, or a folder holds files of both kinds."""
    if path.is_dir():
        kinds = [_kind(file) for file in _files(path)]
        return "events" in kinds and "variables" in kinds
    return bool(_kind(path))


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """All flows of a trace, or of the traces of one simulation in a folder."""
    files = [file for file in _files(path) if _kind(file)] if path.is_dir() else [path]
    if sum(_kind(file) == "events" for file in files) > 1:
        raise InputError("several files of events; give those of one simulation")
    seen = _Seen()
    for file in files:
        for lines, block in pieces(file):
            with located(file):
                _take(block, lines, file, seen)
    payload_bytes, wire_bytes = said.link.payload_bytes, said.link.wire_bytes
    header_bytes = wire_bytes - payload_bytes if wire_bytes and payload_bytes else HEADER_BYTES
    if header_bytes < 0:
        raise InputError(f"{SIDECAR}: link.wire_bytes is below link.payload_bytes; a packet has its headers too")
    variables = _variables(seen)
    remarks = ["simulated time: no wall clock"]
    flows = _of_events(files, seen, header_bytes, remarks) if seen.arrivals else []
    if not flows:
        flows = _of_acks(files[0], variables, payload_bytes or PACKET_BYTES)
        if not payload_bytes:
            otherwise = f"{SIDECAR}: link.payload_bytes overrides this"
            remarks.append(f"packets taken to have {PACKET_BYTES:g} bytes; {otherwise}")
    if not flows:
        give = "give a trace of all events, or add $tcp trace ack_"
        raise InputError(f"no data of TCP or DCCP arrive and no ack_ is traced; {give}")
    flows = [replace(flow, windows=_windows_of(variables, flow.name)) for flow in flows]
    return Observed(BACKEND, tuple(flows), tuple(files), link=_bottleneck(seen, remarks), remarks=tuple(remarks))


# ---------------------------------------------------------------- lines


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file())


def _kind(path: Path) -> str:
    """events, variables or '', by the first lines."""
    start = head(path).encode(errors="replace").split(b"\n")[:50]
    first = next((line for line in start if not line.startswith(b"v ")), b"")
    if _EVENT.match(first):
        return "events"
    return "variables" if _VARIABLE.match(first) else ""


@dataclass
class _Seen:
    """What has been read so far."""

    arrivals: list[pd.DataFrame] = field(default_factory=list)  # data at their destination: key, t_s, seq, size
    sent: list[pd.DataFrame] = field(default_factory=list)  # by key and fid: first and last event, in s
    other_types: set[str] = field(default_factory=set)
    links: list[pd.DataFrame] = field(default_factory=list)  # by from, to and bin: waiting, forwarded, dropped
    variables: list[pd.DataFrame] = field(default_factory=list)
    packets: int = 0
    time_s: float = 0.0  # of the latest event

    def count(self, rows: int, what: str) -> None:
        """Raise InputError for too many rows with these."""
        self.packets += rows
        readings.refuse_more(self.packets, readings.MAX_PACKETS, f"{what}; give a shorter simulation")


def _take(block: bytes, lines: np.ndarray, path: Path, seen: _Seen) -> None:
    """Read a piece of a trace."""
    raw = np.frombuffer(block, dtype=np.uint8)
    starts = np.r_[0, np.flatnonzero(raw == ord("\n"))[:-1] + 1]
    first = raw[starts]
    is_event = np.isin(first, np.frombuffer(b"+-rde", dtype=np.uint8))
    is_variable = (first >= ord("0")) & (first <= ord("9"))
    says = "no event (+ - r d e) and no variable; give ns-2's own output"
    refuse_first(~(is_event | is_variable | (first == ord("v"))), says, lines=lines)
    texts = block.splitlines(keepends=True) if not (is_event.all() or is_variable.all()) else []
    for mask, take in ((is_event, _events), (is_variable, _variable_lines)):
        if mask.any():
            part = b"".join(texts[i] for i in np.flatnonzero(mask)) if texts else block
            take(part, lines[mask], path, seen)


def _events(block: bytes, lines: np.ndarray, path: Path, seen: _Seen) -> None:
    table = EVENT.table(block, lines)
    t_s, event = table["t_s"].to_numpy(), table["event"]
    is_back = np.diff(t_s, prepend=seen.time_s) < 0
    refuse_first(is_back, "time goes back to {:.9g} s; give the trace of one simulation", t_s, lines=lines)
    seen.time_s = float(t_s[-1])
    for name in ("src", "dst"):
        known = {address: bool(_ADDRESS.fullmatch(address)) for address in table[name].unique()}
        says = "{} {!r} is not node.port; hierarchical addresses are not read"
        refuse_first(~table[name].map(known).to_numpy(bool), says, name, table[name], lines=lines)
    is_data = table["type"].isin(DATA) & (table["size"] > HEADER_BYTES)
    seen.other_types |= set(table["type"].unique()) - {*DATA, "ack", "DCCP_Ack"}
    data = table[is_data].assign(key=lambda d: (d["src"] + ">" + d["dst"]).astype("category"))
    sent = data.groupby(["key", "fid"], observed=True)["t_s"].agg(first_s="min", last_s="max").reset_index()
    seen.sent.append(sent.astype({"key": object}))
    nodes = {address: int(address.partition(".")[0]) for address in data["dst"].unique()}
    arrived = data[(data["event"] == "r") & (data["dst"].map(nodes) == data["to"])]
    seen.count(len(arrived), "packets")
    if len(arrived):
        seen.arrivals.append(arrived[["key", "t_s", "seq", "size"]].astype({"size": np.int32}))
    changes = table[["from", "to"]].assign(
        bin=readings.bins_of(t_s),
        waiting=(event == "+").astype(np.int64) - event.isin(("-", "d")),
        forwarded=table["size"].where(event == "-", 0),
        dropped=(event == "d").astype(np.int64),
    )
    seen.links.append(changes.groupby(["from", "to", "bin"], as_index=False).sum())


def _variable_lines(block: bytes, lines: np.ndarray, path: Path, seen: _Seen) -> None:
    table = VARIABLE.table(re.sub(rb"[ \t]+\n", b"\n", block), lines)
    table = table[table["name"].isin(("cwnd_", "ssthresh_", "ack_"))]
    refuse_out_of_bounds(table, {"value": (-1, MAX_WINDOW_PKTS)})
    seen.count(len(table), "changes of variables")
    key = [f"{a}.{b}>{c}.{d}" for a, b, c, d in table[["saddr", "sport", "daddr", "dport"]].itertuples(index=False)]
    seen.variables.append(table[["t_s", "name", "value", "line"]].assign(key=key, file=path))


# ---------------------------------------------------------------- flows


def _of_events(files: list[Path], seen: _Seen, header_bytes: float, remarks: list[str]) -> list[ObservedFlow]:
    """The flows whose data arrive."""
    arrivals = pd.concat([piece.astype({"key": object}) for piece in seen.arrivals], ignore_index=True)
    every = pd.concat(seen.sent).groupby(["key", "fid"]).agg({"first_s": "min", "last_s": "max"}).reset_index("fid")
    readings.refuse_more(every.index.nunique(), readings.MAX_FLOWS, "flows")
    if seen.other_types:
        remarks.append(f"skipped: packets of type {', '.join(sorted(seen.other_types)[:10])}")
    flows = []
    for key, rows in arrivals.groupby("key", sort=True):
        sent = every.loc[[key]]
        if len(sent) > 1:
            ids = ", ".join(map(str, sent["fid"]))
            raise InputError(f"{key}: has flow ids {ids}; one pair of ports is one flow")
        first = rows.drop_duplicates("seq")  # its first arrival
        first = first.assign(payload=(first["size"] - header_bytes).clip(lower=0.0))
        by_seq = first.sort_values("seq")
        in_order, missing = _in_order(by_seq["seq"].to_numpy(), by_seq["payload"].to_numpy())
        if missing:
            behind = f"{missing} packets arrived behind one that never did"
            remarks.append(f"{key}: {behind}, and are not counted as delivered")
        delivered = by_seq["t_s"].cummax()[in_order].to_numpy(), by_seq["payload"][in_order].to_numpy()
        start_s, stop_s = sent[["first_s", "last_s"]].to_numpy()[0].tolist()
        if seen.time_s - stop_s < max(1.0, 0.02 * seen.time_s):
            stop_s = seen.time_s
        else:
            remarks.append(f"{key}: sends no packet after {stop_s:.6g} s, where it is taken to end")
        if stop_s <= start_s:
            remarks.append(f"{key}: skipped, no packet is delivered")
            continue
        received = first["t_s"].to_numpy(), first["payload"].to_numpy()
        times_s, (total, total_received) = readings.gathered([delivered, received], start_s, stop_s)
        if total[-1] <= 0:
            remarks.append(f"{key}: skipped, no payload is delivered")
            continue
        origin, known = "receiver: arrivals of ns-2's trace, in order", {"total_received_bytes": total_received}
        flow = ObservedFlow(
            key, files[0], times_s, total, readings.PACKET_INTERVAL_S, origin, offset_s=start_s, **known
        )
        flows.append(flow)
    return flows


def _in_order(seq: np.ndarray, payload: np.ndarray) -> tuple[slice, int]:
    """The sorted sequence numbers without a gap before them, as a slice from the first, and the number behind a hole.

    One-way TCP counts packets, FullTcp bytes: then a number and its payload give the next one.
    """
    counts_bytes = len(seq) > 1 and np.median(np.diff(seq)) > 1
    hole = np.flatnonzero(np.diff(seq) != (payload[:-1].astype(np.int64) if counts_bytes else 1))
    stop = hole[0] + 1 if len(hole) else len(seq)
    return slice(0, stop), len(seq) - stop


def _variables(seen: _Seen) -> dict[tuple[str, str], pd.DataFrame]:
    """Values of the variables by flow and name, in order of time."""
    if not seen.variables:
        return {}
    found = dict(list(pd.concat(seen.variables, ignore_index=True).groupby(["key", "name"], sort=True)))
    for rows in found.values():
        t_s = rows["t_s"].to_numpy()
        says = "{}: line {}: time goes back to {:.9g} s; give the trace of one simulation"
        refuse_first(np.diff(t_s, prepend=0.0) < 0, says, rows["file"], rows["line"], t_s)
    return found


def _of_acks(file: Path, variables: dict[tuple[str, str], pd.DataFrame], payload_bytes: float) -> list[ObservedFlow]:
    """The flows whose acknowledgements are traced: ack_ is the highest packet that is acknowledged."""
    flows = []
    for (key, name), rows in variables.items():
        if name != "ack_":
            continue
        rows = rows.drop_duplicates("t_s", keep="last")
        t_s, acked = rows["t_s"].to_numpy(), rows["value"].to_numpy()
        is_fall = np.diff(acked, prepend=acked[0]) < 0
        refuse_first(is_fall, "ack_ falls; give the trace of one connection", lines=rows["line"].to_numpy())
        if acked[-1] <= acked[0]:
            continue
        at = np.argmax(acked > acked[0]) - 1
        t_s, total = t_s[at:][: readings.MAX_OF_FLOW], (acked[at:] - acked[at])[: readings.MAX_OF_FLOW] * payload_bytes
        if total[1] > 0 and len(t_s) > 2:  # the line at 0 is not a start
            t_s, total = t_s[1:], total[1:] - total[1]
        usual_s = max(readings.PACKET_INTERVAL_S, float(np.median(np.diff(t_s))))
        origin = "sender: ack_ of ns-2's trace"
        flows.append(ObservedFlow(key, file, t_s, total, usual_s, origin, offset_s=float(t_s[0])))
    return flows


def _windows_of(variables: dict[tuple[str, str], pd.DataFrame], key: str) -> pd.DataFrame:
    """cwnd_ and ssthresh_ of a flow at each change of either, in the columns of a trace."""
    parts = [
        rows.drop_duplicates("t_s", keep="last").set_index("t_s")["value"].rename(column)
        for name, column in (("cwnd_", "cwnd_pkts"), ("ssthresh_", "ssthresh_pkts"))
        if (rows := variables.get((key, name))) is not None
    ]
    if not parts:
        return NO_WINDOWS
    values = pd.concat(parts, axis=1).sort_index().ffill()
    return values.where(values >= 0).reset_index().reindex(columns=WINDOWS)


def _bottleneck(seen: _Seen, remarks: list[str]) -> ObservedLink | None:
    """The link that drops most."""
    links = pd.concat(seen.links) if seen.links else None
    if links is None or not links["dropped"].any():
        return None
    drops = links.groupby(["from", "to"])["dropped"].sum()
    link = drops.idxmax()
    if (drops > 0).sum() > 1:
        elsewhere = drops.sum() - drops[link]
        most = f"the link {link[0]} to {link[1]} drops most ({drops[link]}; {elsewhere} elsewhere)"
        remarks.append(f"{most}: taken for the bottleneck")
    of_link = links[(links["from"] == link[0]) & (links["to"] == link[1])]
    return ObservedLink(readings.link_table(of_link, int(seen.time_s / readings.LINK_BIN_S) + 1))
