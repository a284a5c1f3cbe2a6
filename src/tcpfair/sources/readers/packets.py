"""Flows from captured TCP headers of any file format: goodput is the acknowledged data.

Recorded are the bytes of each ACK with its capture time, the smallest RTT (`connections`), and retransmissions. A
capture does not show the congestion control and its window (trace.yaml may name the former), arrivals out of order, or
reads of the application. ACKs have the time at the point of capture: near the sender progress comes half a round trip
later than near the receiver. Single packets are not stored. Progress is kept in bins of 1 ms, ten times longer whenever
they become too many.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import IPv6Address
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers import connections as tcp
from tcpfair.sources.readers.frames import COUNTS, CUT_HEADERS, DAMAGED, FRAGMENTS, NOT_TCP, NS_PER_S, UNTIMED
from tcpfair.sources.readers.observed import Observed, ObservedFlow, end_of
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import refuse_first

ORIGIN = "receiver: acknowledged in capture"

BINS_NS = tuple(10**n for n in range(6, 12))  # 1 ms to 100 s
MOST_ROWS = 4_000_000  # of progress, 24 bytes each
MOST_READINGS, MOST_READINGS_OF_FLOW = 8_000_000, 864_000
FINE_SPAN_S = 20.0  # shorter runs are read every ms, others every 10 ms
FINE_INTERVAL_S, INTERVAL_S = 0.1, 1.0  # of the trace; readings must be denser than this
MOST_FLOWS = 500
MOST_FLOWS_DESCRIBED = 20
SMALL_BYTES, SMALL_SHARE = 100_000, 0.01  # below both, it is not a flow of the experiment
COOKIE_BYTES = 37  # iperf3 begins each connection with them
CONTROL_BYTES = 100_000  # iperf3's control connection has less
NEAR = 0.1  # share of the RTT on one side of the capture
TICKS_PER_S = (1.5, 1500.0)  # of TCP's timestamps: RFC 7323 has 1 to 1000
FINE_TICKS_PER_S = (0.9e6, 1.1e6)  # or of Linux with tcp_usec_ts
LEAST_TICKS = 100
ODD_SHARE, MOST_ODD = 0.01, 20
COPIED_SHARE = 0.1
YEAR_1990_S, YEAR_2100_S = 631_152_000, 4_102_444_800
LONGEST_NAME = 80
NO_DATA = "no connection with data that were acknowledged; give a capture of the test"
KEEP_THOSE = "keep those of the test (tcpdump -r FILE -w OTHER 'host ...')"

TIMES = {
    tcp.TOO_LONG: "more than a day after the first packet; give the part that holds the test",
    tcp.MANY_STEPS: f"the clock steps for the {tcp.MOST_STEPS + 1}th time; put packets in order (reordercap) and true units",
    tcp.OUT_OF_ORDER: "jumps and comes back; put the packets in order of time (reordercap)",
}
# kind of packet without a segment: what it is, and the remark on many
PASSED_OVER = {
    NOT_TCP: ("without IP or TCP", "packets without IP or TCP are skipped"),
    FRAGMENTS: ("", "later fragments of IP packets are skipped; the first ones count"),
    CUT_HEADERS: (
        "cut before the end of the headers",
        "packets are skipped because they are truncated before the end of their headers",
    ),
    DAMAGED: ("damaged", "packets are skipped because lengths in their headers contradict each other"),
    UNTIMED: ("without a time", "packets are skipped because they have no time (simple packet blocks)"),
}
# of a flow: the remark on more than 0
SAID_OF_FLOW = {
    "filled": "{:,} came late, lost before the capture or out of order",
    "most_flight_bytes": "at most {:,} bytes in flight",
    "window_closed": "the receiver closed its window {:,} times",
    "fragments": "{:,} packets are fragments, of which only the first counts",
}


class Tracker:
    """Follow the connections of one capture, from arrays of `frames.PACKET` in order."""

    def __init__(self, path: Path, *, relative: bool = False, clock: bool = True) -> None:
        """``relative``: sequence numbers count from the first of a connection; ``clock``: times count from 1970."""
        self.path, self._relative, self._has_clock = path, relative, clock
        self.counts = np.zeros(COUNTS, np.int64)
        self.bin_ns = BINS_NS[0]
        self._state = tcp.begin()
        self._rows: list[np.ndarray] = []

    def _clock(self, name: str) -> int:
        return int(self._state.clock[name][0])

    @property
    def _both(self) -> np.ndarray:
        """The directions of all connections, (connections, 2)."""
        return self._state.directions[: self._clock("count")]

    def add(self, packets: np.ndarray) -> None:
        """Follow further packets. Raises InputError for impossible times, and for too many connections."""
        out = np.empty((len(packets), 3), np.int64)
        ended, rows = tcp.follow(packets, self._state, self.bin_ns, out)
        self._rows.append(out[:rows].copy())
        if ended == tcp.FULL:
            raise InputError(f"more than {len(self._state.connections):,} connections; {KEEP_THOSE}")
        if ended != tcp.DONE:
            raise InputError(f"packet {self._clock('bad_number')}: time: {TIMES[ended]}")
        if sum(map(len, self._rows)) <= MOST_ROWS:
            return
        progress = np.concatenate(self._rows)
        while len(progress) > MOST_ROWS // 2 and self.bin_ns < BINS_NS[-1]:  # bins ten times as long
            self.bin_ns *= 10
            progress[:, 1] //= 10
            bins = self._both["bin"]
            bins[bins >= 0] //= 10
            progress = _last_of_each(progress)
        self._rows = [progress]
        if len(progress) > MOST_ROWS:
            raise InputError(f"too many connections for its length; {KEEP_THOSE}")

    def observed(self, backend: str, said: Sidecar, remarks: Sequence[str] = ()) -> Observed:
        """The flows of the capture. Raises InputError without flows, for too many, or for a duplicate."""
        if not self._clock("packets"):
            found = [
                f"{self.counts[kind]:,} {what}" for kind, (what, _) in PASSED_OVER.items() if what and self.counts[kind]
            ]
            why = f" ({', '.join(found)})" if found else ""
            raise InputError(f"no TCP segment{why}; capture with at least 100 bytes of each packet")
        # repeated packets after the clock ran backwards are a repeated capture; with two interfaces it does not run backwards
        copies, total = (int(self._both[name].sum()) for name in ("copies", "packets"))
        runs_back = (self._state.steps[: self._clock("steps"), 1] < 0).any()
        if runs_back and copies > COPIED_SHARE * total:
            raise InputError(
                f"{copies:,} packets again after the clock ran back; give the capture once, not appended to itself"
            )
        flows, left_out = self._chosen(self._directions(), {flow.flow for flow in said.flows})
        self._check(flows)
        every = self._both.reshape(-1)
        last = np.flatnonzero(every["bin"] >= 0)
        rows = _last_of_each(
            np.concatenate([*self._rows, np.column_stack([last, every["bin"][last], every["acked"][last]])])
        )
        step_ns = self._step_ns(flows)
        return Observed(
            backend=backend,
            flows=tuple(self._flow(flow, rows, step_ns, int(flows["start_ns"].iloc[0])) for flow in flows.itertuples()),
            files=(self.path,),
            remarks=(*remarks, *self._remarks(flows), *left_out),
        )

    def _directions(self) -> pd.DataFrame:
        """Every direction that carried data, in order of its start: its fields, its ends, and its result."""
        both = self._both
        d = pd.DataFrame(both.reshape(-1))
        d["closed"] = np.repeat(self._state.connections["closed"][: len(both)], 2)
        d["to_sender_ns"] = np.minimum(d["to_echo_ns"], both[:, ::-1]["to_ack_ns"].reshape(-1))
        d = d[(d["has_base"] > 0) & ((d["packets"] > 0) | (d["acked"] - d["base"] > 1))].copy()
        if d.empty:
            raise InputError(NO_DATA)
        ends = self._state.ends.reshape(-1, 3)
        d["source"], d["target"] = ([_end(*ends[i].tolist()) for i in side] for side in (d.index, d.index ^ 1))
        d["key"] = d["source"] + ">" + d["target"]
        is_long = d["key"].str.len() > LONGEST_NAME - 5
        d["name"] = d["key"].mask(is_long, d["source"] + ">:" + d["target"].str.rpartition(":")[2])
        again = d.groupby("name").cumcount() + 1
        d["name"] += ("#" + again.astype(str)).where(again > 1, "")

        d["has_cookie"] = (d["has_syn"] > 0) & (d["first_bytes"] == COOKIE_BYTES)
        has_more = d["has_cookie"] & (d["packets"] > 1) & (d["second_data_ns"] > 0)
        d["base"] += COOKIE_BYTES * has_more
        d["cap"] = d["fin"].where(d["fin"] >= 0, d["acked"])
        d["delivered_bytes"] = (d[["acked", "cap"]].min(axis=1) - d["base"]).clip(lower=0).where(d["acks"] > 0, 0)
        began_ns = d["second_data_ns"].where(has_more, d["first_data_ns"])
        d["start_ns"] = began_ns.where((d["has_syn"] > 0) & (d["packets"] > 0), d["first_ack_ns"])
        is_trying = (d["closed"] == 0) & (d["packets"] > 0) & (d["sent"] > d["acked"])
        d["stop_ns"] = d[["progress_ns", "last_data_ns"]].max(axis=1).mask(is_trying, self._clock("now_ns"))

        is_timed, is_whole = d["to_ack_ns"] < tcp.NEVER, d["to_sender_ns"] < tcp.NEVER
        rtt_ns = d["to_ack_ns"] + d["to_sender_ns"].where(is_whole, 0)
        d["rtt_s"] = (rtt_ns / NS_PER_S).where(is_timed & (rtt_ns > 0))
        d["near"] = (d["to_sender_ns"] / rtt_ns).where(is_whole & d["rtt_s"].notna())
        return d.sort_values("start_ns", kind="stable")

    def _chosen(self, every: pd.DataFrame, named: set[str]) -> tuple[pd.DataFrame, list[str]]:
        """The flows of the experiment, and remarks on omitted ones."""
        sends, is_acked, is_named = every["packets"] > 1, every["acks"] > 0, every["name"].isin(named)
        unanswered = every[sends & ~is_acked]
        # after a damaged handshake all later packets look old
        stuck = every[sends & is_acked & (every["delivered_bytes"] == 0)]
        flows = (every["delivered_bytes"] > 0) & (every["stop_ns"] > every["start_ns"])
        is_control = pd.Series(every.index // 2, every.index).isin(_controls(every))
        candidates = flows & (is_named | ~is_control)
        if not candidates.any():
            if len(unanswered):
                raise InputError("no ACK of its data is in it; capture both directions at one interface")
            raise InputError(NO_DATA)
        least_bytes = min(SMALL_BYTES, SMALL_SHARE * every["delivered_bytes"][candidates].max())
        is_chosen = candidates & ((every["delivered_bytes"] >= least_bytes) | is_named)
        if is_chosen.sum() > MOST_FLOWS:
            raise InputError(f"{is_chosen.sum()} flows; {KEEP_THOSE}")
        control, small = every[flows & is_control & ~is_chosen], every[candidates & ~is_chosen]
        total_bytes = small["delivered_bytes"].sum()
        remarks = {
            "iperf3's control connection is skipped ({name})": control,
            f"{{count}} flows of less than {least_bytes:,.0f} bytes are skipped "
            f"({total_bytes:,} bytes in all); name one in trace.yaml to keep it": small,
            "{count} flows are skipped because no ACK advanced beyond their beginning ({name})": stuck,
            "{count} flows are skipped because none of their ACKs was captured ({name})": unanswered,
        }
        return every[is_chosen], [
            text.format(count=len(left), name=left["name"].iloc[0]) for text, left in remarks.items() if len(left)
        ]

    def _check(self, flows: pd.DataFrame) -> None:
        """Refuse contradictions."""
        both, names = self._both[flows.index // 2].reshape(-1), flows["name"].repeat(2)
        lasted_ns = both["ts_last_ns"] - both["ts_first_ns"]
        timed = (both["ticks"] >= LEAST_TICKS) & (lasted_ns > 0)
        for name, per_s in zip(names[timed], both["ticks"][timed] / lasted_ns[timed] * NS_PER_S, strict=True):
            # in 1970, times in milliseconds look like fine ticks
            is_set = self._has_clock and self._clock("zero_ns") >= YEAR_1990_S * NS_PER_S
            usual = (TICKS_PER_S, FINE_TICKS_PER_S) if is_set else (TICKS_PER_S,)
            if not any(least <= per_s <= most for least, most in usual):
                raise InputError(
                    f"{name}: time: TCP's own timestamps made {per_s:.3g} ticks a second by it, 1 to 1000 are "
                    "usual; the unit of the file's times must match its header"
                )
        seen = flows["packets"] + flows["acks"]
        is_odd = flows["odd"] > (ODD_SHARE * seen).clip(lower=MOST_ODD)
        says = "{}: {} of {:,} sequence numbers lie more than 2^30 bytes or unconfirmed off the others"
        refuse_first(is_odd, f"{says}; give a capture without losses of gigabytes", flows["name"], flows["odd"], seen)
        if self._relative:
            return
        whole = flows[flows["has_syn"] > 0].sort_values("delivered_bytes", kind="stable")
        for _, twins in whole.groupby("origin", sort=False):
            first, others = twins.iloc[0], twins.iloc[1:]
            is_near = (others["delivered_bytes"] - first["delivered_bytes"]) <= 0.01 * others["delivered_bytes"]
            is_same = is_near & (first["start_ns"] < others["stop_ns"]) & (others["start_ns"] < first["stop_ns"])
            if is_same.any():
                raise InputError(
                    f"{first['name']} and {others['name'][is_same].iloc[0]} are one connection under two addresses "
                    "(the same sequence numbers); capture on one side of the address translation"
                )

    def _step_ns(self, flows: pd.DataFrame) -> int:
        """Interval between readings: 1 or 10 ms unless that gives too many. 100 s never do, for `MOST_FLOWS` over a day."""
        spans_ns = flows["stop_ns"] - flows["start_ns"]
        least_ns = max(BINS_NS[0] if spans_ns.max() <= FINE_SPAN_S * NS_PER_S else BINS_NS[1], self.bin_ns)
        for step_ns in BINS_NS:
            readings = spans_ns / step_ns + 3
            if step_ns >= least_ns and readings.sum() <= MOST_READINGS and readings.max() <= MOST_READINGS_OF_FLOW:
                break
        return step_ns

    def _flow(self, flow: tuple, rows: np.ndarray, step_ns: int, begin_ns: int) -> ObservedFlow:
        low, high = np.searchsorted(rows[:, 0], [flow.Index, flow.Index + 1])
        bins, positions = rows[low:high, 1], rows[low:high, 2]
        first, last = flow.start_ns // step_ns + 1, -(-flow.stop_ns // step_ns)
        grid = np.arange(first, max(last, first) + 1)
        known = np.searchsorted(bins, grid * (step_ns // self.bin_ns) - 1, side="right")
        total_bytes = np.r_[flow.base, positions][known]
        total_bytes = np.clip(total_bytes, flow.base, max(flow.cap, flow.base)) - flow.base
        start_s, times_s = flow.start_ns / NS_PER_S, grid * step_ns / NS_PER_S
        begins_s = self._clock("zero_ns") / NS_PER_S
        identity = {f"{flow.key} at {begins_s + start_s:.3f}"} if self._has_clock else set()
        if flow.has_syn and not self._relative:
            identity.add(f"{flow.key} from {flow.origin}")
        gaps = self._state.gaps[: self._clock("gaps")]
        steps_s = self._state.steps[: self._clock("steps"), 0] / NS_PER_S
        return ObservedFlow(
            name=flow.name,
            file=self.path,
            times_s=np.r_[start_s, times_s],
            total_bytes=np.r_[0.0, total_bytes.astype(np.float64)],
            interval_s=max(FINE_INTERVAL_S if step_ns == BINS_NS[0] else INTERVAL_S, step_ns / NS_PER_S),
            origin=ORIGIN,
            rtt_s=flow.rtt_s,
            clock_s=begins_s if self._has_clock else None,
            offset_s=None if self._has_clock else (flow.start_ns - begin_ns) / NS_PER_S,
            identity=frozenset(identity),
            ends=(flow.source, flow.target),
            gaps_s=tuple(sorted({tuple(gap) for gap in (gaps[gaps[:, 0] == flow.Index, 1:] / NS_PER_S).tolist()})),
            clock_steps_s=tuple(steps_s[(steps_s >= start_s) & (steps_s <= times_s[-1])].tolist()),
        )

    def _remarks(self, flows: pd.DataFrame) -> list[str]:
        """Remarks on inferences and on missing parts of the capture."""
        path = self.path.name
        remarks = [_described(flow) for flow in flows.head(MOST_FLOWS_DESCRIBED).itertuples()]
        begins_s = self._clock("zero_ns") / NS_PER_S
        steps = (self._state.steps[: self._clock("steps")] / NS_PER_S).tolist()
        copies = flows["copies"].sum()
        where = ": captured at two interfaces" if copies > COPIED_SHARE * flows["packets"].sum() else ""
        said = [
            (len(flows) - MOST_FLOWS_DESCRIBED, "{:} flows more"),
            *((self.counts[kind], f"{{:,}} {text}") for kind, (_, text) in PASSED_OVER.items()),
            (
                self._has_clock and not YEAR_1990_S <= begins_s <= YEAR_2100_S,
                f"its clock was not set (the capture begins in {datetime.fromtimestamp(begins_s, UTC).year})",
            ),
            (self._clock("small_steps"), "{:,} packets are up to 10 ms out of order"),
            *((1, f"its clock steps by {size_s:+.3f} s at {at_s:.3f} s; put right after it") for at_s, size_s in steps),
            (
                self._clock("rings") == tcp.MOST_RINGS,
                f"more than {tcp.MOST_RINGS} open connections; those after them have no RTT",
            ),
            (copies, f"{{:,}} packets with data occur twice{where}; their copies are not counted"),
            (
                flows["unseen_bytes"].sum(),
                "{:,} bytes were acknowledged and are not in the capture, which lost packets",
            ),
            (
                self._both["odd"].sum(),
                "{:,} packets are skipped because their sequence numbers do not fit the others",
            ),
        ]
        return remarks + [f"{path}: {text.format(count)}" for count, text in said if count > 0]


def _described(flow: tuple) -> str:
    """A remark on a flow, one sentence."""
    parts = [] if flow.has_syn else ["begun before the capture, counted from its first ACK there"]
    if np.isnan(flow.rtt_s):
        parts.append("no packet timed its RTT")
    else:
        places = (
            (np.isnan(flow.near), "of which the sender's side is unknown"),
            (flow.near < NEAR, "captured near the sender"),
            (flow.near > 1 - NEAR, "captured near the receiver"),
            (True, "between sender and receiver"),
        )
        parts.append(f"RTT at least {1000 * flow.rtt_s:.3f} ms, {next(text for holds, text in places if holds)}")
    sent = f"{flow.resent:,} of {flow.packets:,} packets resent"
    parts.append(sent if flow.packets else "its data are not in the capture, only their ACKs")
    parts += [text.format(count) for name, text in SAID_OF_FLOW.items() if (count := getattr(flow, name))]
    return f"{flow.name}: {'; '.join(parts)}"


def _last_of_each(rows: np.ndarray) -> np.ndarray:
    """Rows (direction, bin, position) in order, the largest position of each bin of a direction."""
    return pd.DataFrame(rows).groupby([0, 1], as_index=False).max().to_numpy()


def _controls(every: pd.DataFrame) -> set[int]:
    """iperf3's control connections: of several that begin with its cookie, from one host to one server, the first."""
    sizes = every["delivered_bytes"].groupby(every.index // 2).sum()
    begun = every[every["has_cookie"]].groupby([every["source"].str.rpartition(":")[0], "target"], sort=False)
    firsts = [flows.index[0] // 2 for _, flows in begun if len(flows) > 1]
    return {number for number in firsts if sizes[number] < CONTROL_BYTES}


def _end(high: int, low: int, port: int) -> str:
    """One end of a connection, from an address of a packet and a port."""
    address = IPv6Address(struct.pack(">qq", high, low))
    return end_of(f"{address.ipv4_mapped or address}:{port}")
