"""Flows out of captured TCP headers, whatever file they stand in: goodput is what the receiver acknowledged.

What is known: the bytes that each ACK acknowledged and when the capture saw it; the smallest RTT (`connections`); what was
resent. What a capture does not hold: the congestion control and its window, which trace.yaml may name and nothing replaces;
what arrived out of order; when the application read. ACKs are seen where the capture stood: near the sender progress comes
half a round trip later than near the receiver. Nothing is stored per packet; progress is kept in bins of 1 ms, ten times
longer whenever they become too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import numpy as np

from tcpfair.errors import InputError
from tcpfair.sources.readers import connections as tcp
from tcpfair.sources.readers.frames import COUNTS, CUT_HEADERS, DAMAGED, FRAGMENTS, NOT_TCP, NS_PER_S, UNTIMED
from tcpfair.sources.readers.observed import Observed, ObservedFlow
from tcpfair.sources.readers.sidecar import Sidecar

ORIGIN = "receiver: acknowledged in capture"

BINS_NS = tuple(10**n for n in range(6, 12))  # 1 ms to 100 s
MOST_ROWS = 4_000_000  # of progress, 24 bytes each
MOST_READINGS, MOST_READINGS_OF_FLOW = 8_000_000, 864_000
FINE_SPAN_S = 20.0  # shorter runs are read every ms, others every 10 ms
FINE_INTERVAL_S, INTERVAL_S = 0.1, 1.0  # of the trace, which readings are to be closer than
MOST_FLOWS = 500
MOST_FLOWS_DESCRIBED = 20
SMALL_BYTES, SMALL_SHARE = 100_000, 0.01  # what is less than both is no flow of the experiment
COOKIE_BYTES = 37  # iperf3 begins each connection with them
CONTROL_BYTES = 100_000  # iperf3's control connection has less
NEAR = 0.1  # share of the RTT on the one side of the capture
TICKS_PER_S = (1.5, 1500.0)  # of TCP's timestamps: RFC 7323 says 1 to 1000
FINE_TICKS_PER_S = (0.9e6, 1.1e6)  # or of Linux with tcp_usec_ts
LEAST_TICKS = 100
ODD_SHARE, MOST_ODD = 0.01, 20
COPIED_SHARE = 0.1
YEAR_1990_S, YEAR_2100_S = 631_152_000, 4_102_444_800
LONGEST_NAME = 80


@dataclass(frozen=True)
class _Direction:
    """What one side of a connection sent, and what came of it."""

    index: int
    name: str
    key: str  # both ends
    server: str  # the end that it goes to
    client: str
    delivered_bytes: int
    base: int
    cap: int
    start_ns: int
    stop_ns: int
    is_whole: bool  # the capture has its SYN
    begins_with_cookie: bool


class Tracker:
    """Follows the connections of one capture, fed with arrays of `frames.PACKET` in order."""

    def __init__(self, path: Path, *, relative: bool = False, clock: bool = True) -> None:
        """``relative``: sequence numbers count from the first of a connection; ``clock``: times count from 1970."""
        self.path = path
        self.counts = np.zeros(COUNTS, np.int64)
        self.bin_ns = BINS_NS[0]
        self._relative, self._has_clock = relative, clock
        self._clock = np.zeros(1, tcp.CLOCK)
        self._steps = np.zeros((tcp.MOST_STEPS, 2), np.int64)
        self._connections = np.zeros(256, tcp.CONNECTION)
        self._directions = np.zeros((256, 2), tcp.DIRECTION)
        self._slots = np.full(tcp.SLOTS, -1, np.int32)
        self._rings = tcp.rings(16)
        self._copies = np.zeros(tcp.COPIES, np.int64)
        self._gaps = np.zeros((tcp.MOST_GAPS, 3), np.int64)
        self._rows: list[np.ndarray] = []
        self._row_count = 0

    @property
    def packets(self) -> int:
        """TCP segments followed so far."""
        return int(self._clock[0]["packets"])

    def add(self, packets: np.ndarray) -> None:
        """Follow further packets. Raises InputError for times that cannot be, and for more connections than a test has."""
        first = 0
        out = np.empty((len(packets), 3), np.int64)
        while first < len(packets):
            ended, first, rows = tcp.follow(
                packets, first, len(packets), self._clock, self._steps, self._connections, self._directions, self._slots,
                *self._rings, self._copies, self._gaps, self.bin_ns, out,
            )  # fmt: skip
            if rows:
                self._rows.append(out[:rows].copy())
                self._row_count += rows
            if ended == tcp.GROW_CONNECTIONS:
                self._grow_connections()
            elif ended == tcp.GROW_RINGS:
                more = tcp.rings(min(len(self._rings.free), tcp.MOST_RINGS - len(self._rings.free)))
                self._rings = tcp.Rings(*(np.concatenate(both) for both in zip(self._rings, more, strict=True)))
            elif ended != tcp.DONE:
                raise self._refused(ended)
        if self._row_count > MOST_ROWS:
            self._coarsen()

    def _grow_connections(self) -> None:
        count = len(self._connections)
        if count >= tcp.MOST_CONNECTIONS:
            raise InputError(
                f"{self.path}: more than {count:,} connections; keep those of the test (tcpdump -r FILE -w OTHER 'host ...')"
            )
        self._connections = np.concatenate([self._connections, np.zeros(count, tcp.CONNECTION)])
        self._directions = np.concatenate([self._directions, np.zeros((count, 2), tcp.DIRECTION)])

    def _refused(self, ended: int) -> InputError:
        where = f"{self.path}: packet {int(self._clock[0]['bad_number'])}: time"
        if ended == tcp.TOO_LONG:
            return InputError(f"{where}: more than a day after the first packet; give the part that holds the test")
        if ended == tcp.MANY_STEPS:
            return InputError(
                f"{where}: the clock steps for the {tcp.MOST_STEPS + 1}th time; put packets in order (reordercap) and true units"
            )
        return InputError(f"{where}: jumps and comes back; put the packets in order of time (reordercap)")

    def _coarsen(self) -> None:
        """Bins ten times as long, until the rows are few enough."""
        rows = np.concatenate(self._rows)
        while len(rows) > MOST_ROWS // 2 and self.bin_ns < BINS_NS[-1]:
            self.bin_ns *= 10
            rows[:, 1] //= 10
            bins = self._directions["bin"]
            bins[bins >= 0] //= 10
            rows = _last_of_each(rows)
        self._rows, self._row_count = [rows], len(rows)
        if len(rows) > MOST_ROWS:
            raise InputError(
                f"{self.path}: too many connections for its length; keep those of the test (tcpdump -r -w)"
            )

    def observed(self, backend: str, said: Sidecar, remarks: Sequence[str] = ()) -> Observed:
        """The flows of all that was followed. Raises InputError when there are none, too many, or the same one twice."""
        if not self.packets:
            raise InputError(
                f"{self.path}: no TCP segment{self._why_none()}; capture with at least 100 bytes of each packet"
            )
        every = self._named()
        self._refuse_twice()
        flows, left_out = self._chosen(every, said)
        self._check(flows, every)
        rows = self._progress()
        step_ns = self._step_ns(flows)
        begin_ns = flows[0].start_ns
        observed = tuple(self._flow(flow, rows, step_ns, begin_ns) for flow in flows)
        return Observed(
            backend=backend,
            flows=observed,
            files=(self.path,),
            remarks=(*remarks, *self._remarks(flows, every), *left_out),
        )

    def _refuse_twice(self) -> None:
        """The same packets again after the clock ran back are the same capture again; at two interfaces it does not run back."""
        clock = self._clock[0]
        copies, total = int(self._directions["copies"].sum()), int(self._directions["packets"].sum())
        runs_back = (self._steps[: int(clock["steps"]), 1] < 0).any()
        if runs_back and copies > COPIED_SHARE * max(total, 1):
            raise InputError(
                f"{self.path}: {copies:,} packets again after the clock ran back; give the capture once, not appended to itself"
            )

    def _why_none(self) -> str:
        found = {
            "without IP or TCP": NOT_TCP,
            "cut before the end of the headers": CUT_HEADERS,
            "damaged": DAMAGED,
            "without a time": UNTIMED,
        }
        parts = [f"{self.counts[kind]:,} {what}" for what, kind in found.items() if self.counts[kind]]
        return f" ({', '.join(parts)})" if parts else ""

    def _named(self) -> list[_Direction]:
        """Every direction that carried data, in order of its start."""
        clock = self._clock[0]
        found = []
        names: dict[str, int] = {}
        for number in range(int(clock["count"])):
            if self._connections["payload_bytes"][number] == 0 and not self._is_ack_only(number):
                continue
            connection = self._connections[number]
            ends = [_end(connection, side) for side in ("a", "b")]
            for side in range(2):
                sender = self._directions[number, side]
                if not sender["has_base"] or (sender["packets"] == 0 and sender["acked"] - sender["base"] <= 1):
                    continue
                source, target = ends[side], ends[1 - side]
                name = f"{source}>{target}"
                if len(name) > LONGEST_NAME - 5:
                    name = f"{source}>:{target.rpartition(':')[2]}"
                names[name] = names.get(name, 0) + 1
                found.append(self._direction(number, side, name if names[name] == 1 else f"{name}#{names[name]}", ends))
        return sorted(found, key=lambda flow: flow.start_ns)

    def _is_ack_only(self, number: int) -> bool:
        both = self._directions[number]
        return bool(((both["acked"] - both["base"] > 1) & (both["has_base"] > 0)).any())

    def _direction(self, number: int, side: int, name: str, ends: list[str]) -> _Direction:
        d, clock = self._directions[number, side], self._clock[0]
        has_cookie = bool(d["has_syn"]) and d["first_bytes"] == COOKIE_BYTES
        has_more = has_cookie and d["packets"] > 1 and d["second_data_ns"] > 0
        base = int(d["base"]) + (COOKIE_BYTES if has_more else 0)
        cap = int(d["fin"]) if d["fin"] >= 0 else int(d["acked"])
        start_ns = int(d["first_ack_ns"])
        if d["has_syn"] and d["packets"]:
            start_ns = int(d["second_data_ns"] if has_more else d["first_data_ns"])
        stop_ns = max(int(d["progress_ns"]), int(d["last_data_ns"]))
        if not self._connections["closed"][number] and d["packets"] and d["sent"] > d["acked"]:
            stop_ns = int(clock["now_ns"])  # it was still trying
        return _Direction(
            index=2 * number + side,
            name=name,
            key=f"{ends[side]}>{ends[1 - side]}",
            server=ends[1 - side],
            client=ends[side].rpartition(":")[0],
            delivered_bytes=max(min(int(d["acked"]), cap) - base, 0) if d["acks"] else 0,
            base=base,
            cap=cap,
            start_ns=start_ns,
            stop_ns=stop_ns,
            is_whole=bool(d["has_syn"]),
            begins_with_cookie=has_cookie,
        )

    def _chosen(self, every: list[_Direction], said: Sidecar) -> tuple[list[_Direction], list[str]]:
        """The flows of the experiment, and remarks on what is left out."""
        remarks = []
        named = {flow.flow for flow in said.flows}
        controls = _controls(every)
        unanswered = [flow for flow in every if not self._d(flow)["acks"] and self._d(flow)["packets"] > 1]
        # a damaged handshake lets all that follows look old
        stuck = [
            flow
            for flow in every
            if self._d(flow)["acks"] and self._d(flow)["packets"] > 1 and not flow.delivered_bytes
        ]
        flows = [flow for flow in every if flow.delivered_bytes and flow.stop_ns > flow.start_ns]
        candidates = [flow for flow in flows if flow.index not in controls or flow.name in named]
        most_bytes = max((flow.delivered_bytes for flow in candidates), default=0)
        if not most_bytes:
            if unanswered:
                raise InputError(f"{self.path}: no ACK of its data is in it; capture both directions at one interface")
            raise InputError(f"{self.path}: no connection with data that were acknowledged; give a capture of the test")
        least_bytes = min(SMALL_BYTES, SMALL_SHARE * most_bytes)
        chosen = [flow for flow in candidates if flow.delivered_bytes >= least_bytes or flow.name in named]
        if len(chosen) > MOST_FLOWS:
            raise InputError(
                f"{self.path}: {len(chosen)} flows; keep those of the test (tcpdump -r FILE -w OTHER 'host ...')"
            )
        if control := [flow for flow in flows if flow.index in controls and flow not in chosen]:
            remarks.append(f"iperf3's control connection is left out ({control[0].name})")
        if small := [flow for flow in candidates if flow not in chosen]:
            remarks.append(
                f"{len(small)} flows of less than {least_bytes:,.0f} bytes are left out "
                f"({sum(flow.delivered_bytes for flow in small):,} bytes in all); name one in trace.yaml to keep it"
            )
        if stuck:
            remarks.append(
                f"{len(stuck)} flows are left out, for no ACK moved on from where they began ({stuck[0].name})"
            )
        if unanswered:
            remarks.append(
                f"{len(unanswered)} flows are left out, for no ACK of theirs was captured ({unanswered[0].name})"
            )
        return chosen, remarks

    def _d(self, flow: _Direction) -> np.void:
        return self._directions[flow.index // 2, flow.index % 2]

    def _check(self, flows: list[_Direction], every: list[_Direction]) -> None:
        """Refuse what contradicts itself."""
        for flow in flows:
            for side in range(2):
                self._check_ticks(self._directions[flow.index // 2, side], flow)
            d = self._d(flow)
            seen = int(d["packets"]) + int(d["acks"])
            if d["odd"] > max(MOST_ODD, ODD_SHARE * seen):
                raise InputError(
                    f"{self.path}: {flow.name}: {d['odd']} of {seen:,} sequence numbers lie more than 2^30 bytes or unconfirmed "
                    "off the others; give a capture without losses of gigabytes"
                )
        if self._relative:
            return
        begun: dict[int, _Direction] = {}
        for flow in sorted(flows, key=lambda flow: flow.delivered_bytes):
            if not flow.is_whole:
                continue
            twin = begun.setdefault(int(self._d(flow)["origin"]), flow)
            is_near = abs(twin.delivered_bytes - flow.delivered_bytes) <= 0.01 * flow.delivered_bytes
            if twin is not flow and is_near and twin.start_ns < flow.stop_ns and flow.start_ns < twin.stop_ns:
                raise InputError(
                    f"{self.path}: {twin.name} and {flow.name} are one connection under two addresses (the same sequence "
                    "numbers); capture on one side of the address translation"
                )

    def _check_ticks(self, d: np.void, flow: _Direction) -> None:
        lasted_ns = int(d["ts_last_ns"]) - int(d["ts_first_ns"])
        if d["ticks"] < LEAST_TICKS or lasted_ns <= 0:
            return
        per_s = d["ticks"] / lasted_ns * NS_PER_S
        # in 1970, times in milliseconds look like fine ticks
        is_set = self._has_clock and self._clock[0]["zero_ns"] >= YEAR_1990_S * NS_PER_S
        usual = (TICKS_PER_S, FINE_TICKS_PER_S) if is_set else (TICKS_PER_S,)
        if not any(least <= per_s <= most for least, most in usual):
            raise InputError(
                f"{self.path}: {flow.name}: time: TCP's own timestamps made {per_s:.3g} ticks a second by it, 1 to 1000 are "
                "usual; the unit of the file's times must be what its header says"
            )

    def _progress(self) -> np.ndarray:
        """All progress, (direction, bin, position) in order of both."""
        bins = self._directions["bin"].reshape(-1)
        last = np.flatnonzero(bins >= 0)
        last = last[last < 2 * int(self._clock[0]["count"])]
        tail = np.column_stack([last, bins[last], self._directions["acked"].reshape(-1)[last]])
        return _last_of_each(np.concatenate([*self._rows, tail]))

    def _step_ns(self, flows: list[_Direction]) -> int:
        """Between readings: 1 or 10 ms where that does not become too many."""
        spans_s = [(flow.stop_ns - flow.start_ns) / NS_PER_S for flow in flows]
        least_ns = BINS_NS[0] if max(spans_s) <= FINE_SPAN_S else BINS_NS[1]
        for step_ns in (*BINS_NS, 10 * BINS_NS[-1]):
            readings = np.array(spans_s) * NS_PER_S / step_ns + 3
            fits = readings.sum() <= MOST_READINGS and readings.max() <= MOST_READINGS_OF_FLOW
            if step_ns >= max(least_ns, self.bin_ns) and fits:
                return step_ns
        raise InputError(
            f"{self.path}: too many flows for its length; keep those of the test (tcpdump -r FILE -w OTHER)"
        )

    def _flow(self, flow: _Direction, rows: np.ndarray, step_ns: int, begin_ns: int) -> ObservedFlow:
        low, high = np.searchsorted(rows[:, 0], [flow.index, flow.index + 1])
        bins, positions = rows[low:high, 1], rows[low:high, 2]
        first, last = flow.start_ns // step_ns + 1, -(-flow.stop_ns // step_ns)
        grid = np.arange(first, max(last, first) + 1)
        known = np.searchsorted(bins, grid * (step_ns // self.bin_ns) - 1, side="right")
        total_bytes = np.concatenate([[flow.base, flow.base], positions])[np.where(known > 0, known + 1, 0)]
        total_bytes = np.clip(total_bytes, flow.base, max(flow.cap, flow.base)) - flow.base
        clock = self._clock[0]
        begins_s = int(clock["zero_ns"]) / NS_PER_S
        d = self._d(flow)
        identity = {f"{flow.key} at {begins_s + flow.start_ns / NS_PER_S:.3f}"} if self._has_clock else set()
        if flow.is_whole and not self._relative:
            identity.add(f"{flow.key} from {int(d['origin'])}")
        steps_s = self._steps[: int(clock["steps"]), 0] / NS_PER_S
        stop_s = grid[-1] * step_ns / NS_PER_S
        return ObservedFlow(
            name=flow.name,
            file=self.path,
            times_s=np.concatenate([[flow.start_ns / NS_PER_S], grid * step_ns / NS_PER_S]),
            total_bytes=np.concatenate([[0.0], total_bytes.astype(np.float64)]),
            interval_s=max(FINE_INTERVAL_S if step_ns == BINS_NS[0] else INTERVAL_S, step_ns / NS_PER_S),
            origin=ORIGIN,
            rtt_s=self._rtt_s(flow)[0],
            clock_s=begins_s if self._has_clock else None,
            offset_s=None if self._has_clock else (flow.start_ns - begin_ns) / NS_PER_S,
            identity=frozenset(identity),
            ends=tuple(flow.key.split(">")),
            gaps_s=self._gaps_s(flow),
            clock_steps_s=tuple(float(t) for t in steps_s if flow.start_ns / NS_PER_S <= t <= stop_s),
        )

    def _gaps_s(self, flow: _Direction) -> tuple[tuple[float, float], ...]:
        gaps = self._gaps[: int(self._clock[0]["gaps"])]
        return tuple(sorted({(a / NS_PER_S, b / NS_PER_S) for index, a, b in gaps.tolist() if index == flow.index}))

    def _rtt_s(self, flow: _Direction) -> tuple[float, float]:
        """The smallest RTT, NaN when nothing timed it, and the share of it on the sender's side of the capture."""
        d, other = self._d(flow), self._directions[flow.index // 2, 1 - flow.index % 2]
        to_ack_ns, to_sender_ns = int(d["to_ack_ns"]), min(int(d["to_echo_ns"]), int(other["to_ack_ns"]))
        if to_ack_ns == tcp.NEVER:
            return np.nan, np.nan
        if to_sender_ns == tcp.NEVER:
            return (to_ack_ns / NS_PER_S or np.nan), np.nan
        rtt_ns = to_ack_ns + to_sender_ns
        return (rtt_ns / NS_PER_S, to_sender_ns / rtt_ns) if rtt_ns else (np.nan, np.nan)

    def _remarks(self, flows: list[_Direction], every: list[_Direction]) -> list[str]:
        """What was inferred, and what the capture lacks."""
        clock, path = self._clock[0], self.path.name
        remarks = [self._described(flow) for flow in flows[:MOST_FLOWS_DESCRIBED]]
        if len(flows) > MOST_FLOWS_DESCRIBED:
            remarks.append(f"{path}: {len(flows) - MOST_FLOWS_DESCRIBED} flows more")
        counted = (
            (NOT_TCP, "packets without IP or TCP are passed over"),
            (FRAGMENTS, "later fragments of IP packets are passed over, whose first ones count"),
            (CUT_HEADERS, "packets are passed over, for they are cut before the end of their headers"),
            (DAMAGED, "packets are passed over, for lengths in their headers contradict each other"),
            (UNTIMED, "packets are passed over, for they have no time (simple packet blocks)"),
        )
        remarks += [f"{path}: {self.counts[kind]:,} {what}" for kind, what in counted if self.counts[kind]]
        begins_s = int(clock["zero_ns"]) / NS_PER_S
        if self._has_clock and not YEAR_1990_S <= begins_s <= YEAR_2100_S:
            remarks.append(f"{path}: its clock was not set (the capture begins in {_year(begins_s)})")
        if clock["small_steps"]:
            remarks.append(f"{path}: {clock['small_steps']:,} packets stand up to 10 ms out of order")
        for at_ns, size_ns in self._steps[: int(clock["steps"])]:
            remarks.append(
                f"{path}: its clock steps by {size_ns / NS_PER_S:+.3f} s at {at_ns / NS_PER_S:.3f} s; put right after it"
            )
        if clock["rings"] == tcp.MOST_RINGS:
            remarks.append(f"{path}: more than {tcp.MOST_RINGS} open connections; those after them have no RTT")
        fields = self._directions.reshape(-1)[[flow.index for flow in flows]]
        total = int(fields["packets"].sum())
        if copies := int(fields["copies"].sum()):
            where = ": captured at two interfaces" if copies > COPIED_SHARE * total else ""
            remarks.append(
                f"{path}: {copies:,} packets with data stand there twice{where}; their copies are not counted"
            )
        if unseen_bytes := int(fields["unseen_bytes"].sum()):
            remarks.append(
                f"{path}: {unseen_bytes:,} bytes were acknowledged and are not in the capture, which lost packets"
            )
        if odd := int(self._directions["odd"].sum()):
            remarks.append(f"{path}: {odd:,} packets are passed over, for their sequence numbers do not fit the others")
        return remarks

    def _described(self, flow: _Direction) -> str:
        d = self._d(flow)
        rtt_s, share = self._rtt_s(flow)
        parts = []
        if not flow.is_whole:
            parts.append("begun before the capture, counted from its first ACK there")
        if np.isnan(rtt_s):
            parts.append("nothing timed its RTT")
        else:
            place = "between sender and receiver"
            if np.isnan(share):
                place = "of which the sender's side is unknown"
            elif share < NEAR:
                place = "captured near the sender"
            elif share > 1 - NEAR:
                place = "captured near the receiver"
            parts.append(f"RTT at least {1000 * rtt_s:.3f} ms, {place}")
        if d["packets"]:
            parts.append(f"{int(d['resent']):,} of {int(d['packets']):,} packets resent")
        else:
            parts.append("its data are not in the capture, only their ACKs")
        if d["filled"]:
            parts.append(f"{int(d['filled']):,} came late, lost before the capture or out of order")
        if d["most_flight_bytes"]:
            parts.append(f"at most {int(d['most_flight_bytes']):,} bytes in flight")
        if d["window_closed"]:
            parts.append(f"the receiver closed its window {int(d['window_closed']):,} times")
        if d["fragments"]:
            parts.append(f"{int(d['fragments']):,} packets are fragments, of which only the first counts")
        return f"{flow.name}: {'; '.join(parts)}"


def _last_of_each(rows: np.ndarray) -> np.ndarray:
    """Rows (direction, bin, position) in order, of each bin of a direction the last."""
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    is_last = np.ones(len(rows), bool)
    is_last[:-1] = (np.diff(rows[:, 0]) != 0) | (np.diff(rows[:, 1]) != 0)
    return rows[is_last]


def _controls(every: list[_Direction]) -> set[int]:
    """Directions of iperf3's control connections: of several that begin with its cookie, to one server, the first."""
    begun: dict[tuple[str, str], list[_Direction]] = {}
    for flow in every:
        if flow.begins_with_cookie:
            begun.setdefault((flow.client, flow.server), []).append(flow)
    sizes: dict[int, int] = {}
    for flow in every:
        sizes[flow.index // 2] = sizes.get(flow.index // 2, 0) + flow.delivered_bytes
    firsts = [flows[0].index // 2 for flows in begun.values() if len(flows) > 1]
    return {index for number in firsts if sizes[number] < CONTROL_BYTES for index in (2 * number, 2 * number + 1)}


def address(high: int, low: int) -> str:
    """An address of a packet as text."""
    value = (high & 0xFFFF_FFFF_FFFF_FFFF) << 64 | low & 0xFFFF_FFFF_FFFF_FFFF
    if value >> 32 == 0xFFFF:
        return str(IPv4Address(value & 0xFFFF_FFFF))
    return str(IPv6Address(value))


def _end(connection: np.void, side: str) -> str:
    text = address(int(connection[f"high_{side}"]), int(connection[f"low_{side}"]))
    return f"[{text}]:{connection[f'port_{side}']}" if ":" in text else f"{text}:{connection[f'port_{side}']}"


def _year(clock_s: float) -> int:
    return int(np.datetime64(int(clock_s), "s").astype("datetime64[Y]").astype(int)) + 1970
