"""XML of ns-3's FlowMonitor (``SerializeToXmlFile``): only totals of each flow.

Format: ns-3's model documentation, chapter "Flow Monitor"; written by ns-3 3.44, and alike since 3.1 (times as
``+5e+08ns``, with six digits). Each flow has one interval, from its first transmission to its last arrival: means, no
convergence or stability.

rxBytes count IP packets with headers, and duplicates twice: payload is rxBytes less 52 bytes a packet of TCP (IPv4,
with timestamps; 72 with IPv6; 28 or 48 of UDP). A reverse flow with almost no payload is the ACKs; its smallest delay
and the flow's add up to the smallest RTT. Unknown: the algorithm, a wall clock. Entities and document types, which
FlowMonitor never writes, are refused.
"""

from __future__ import annotations

import math
import re
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

import numpy as np

from tcpfair.errors import InputError
from tcpfair.sources.readers import readings
from tcpfair.sources.readers.observed import Observed, ObservedFlow
from tcpfair.sources.readers.pattern_table import units
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import MAX_LINE_BYTES, chunks, head, located, naming_file

NAME = "flowmonitor"
ACCEPTS = "ns-3 FlowMonitor XML (totals of each flow)"

BACKEND, ORIGIN = "ns3 flowmonitor", "receiver: rxBytes of FlowMonitor without headers"
TCP, UDP = 6, 17
HEADER_BYTES = {(TCP, 4): 52, (TCP, 6): 72, (UDP, 4): 28, (UDP, 6): 48}
ACK_PAYLOAD_BYTES = 24.0  # SACK blocks of an ACK look like payload
MAX_IP_BYTES = 65_575
DIGITS = 1e-5  # times have six
TIMES = (
    "timeFirstTxPacket",
    "timeFirstRxPacket",
    "timeLastTxPacket",
    "timeLastRxPacket",
    "delaySum",
    "minDelay",
    "maxDelay",
)
PAIRS = (  # of which the first is at most the second
    ("timeFirstTxPacket", "timeFirstRxPacket"),
    ("timeFirstRxPacket", "timeLastRxPacket"),
    ("timeFirstTxPacket", "timeLastTxPacket"),
    ("minDelay", "maxDelay"),
    ("rxPackets", "txPackets"),
    ("rxBytes", "txBytes"),
)
COUNTS = ("txBytes", "rxBytes", "txPackets", "rxPackets", "lostPackets")
# pattern of the number and its unit, text for a mismatch, largest value
_TIME = (
    re.compile(r"\+?(\d{1,24}(?:\.\d{1,24})?(?:e[+-]?\d{1,3})?)(ns|us|ms|s)"),
    "no time from 0 to a day such as +5e+08ns",
    readings.MAX_SPAN_S,
)
_COUNT = re.compile(r"(\d{1,19})()"), "not a count below 2^53", 2**53


def sniff(path: Path) -> bool:
    """Whether a file is XML whose first element is FlowMonitor."""
    return bool(re.match(r"\s*(<\?xml[^>]{0,200}\?>)?\s*<FlowMonitor[\s>]", head(path).lstrip("﻿")))


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """All flows but those of ACKs, each with one interval."""
    stats, classified, probes = _document(path)
    ends: dict[int, _Ends] = {}
    rows: dict[int, dict[str, float]] = {}
    for number, values in classified.items():
        with located(f"flow {number}"):
            ends[number] = _ends(values)
    for number, values in stats.items():
        with located(f"flow {number}"):
            rows[number] = _row(values, probes.get(number, set()))
    by_ends = {end: number for number, end in ends.items()}
    if len(by_ends) < len(ends):
        raise InputError("two flows have the same addresses and ports; give the file as ns-3 wrote it")
    end_s = max((row["timeLastRxPacket"] for row in rows.values() if row["rxPackets"]), default=0.0)
    payload = {number: _payload_bytes(row, ends.get(number)) for number, row in rows.items()}
    flows: list[ObservedFlow] = []
    remarks = [
        "totals only: one interval for the whole run, in which flows that start later have less time",
        "simulated time: no wall clock",
    ]
    for number, row in rows.items():
        end = ends.get(number)
        name = end.name if end else f"flow {number}"
        back = by_ends.get((end.destination, end.source, end.protocol)) if end else None
        of_back = rows.get(back, {"rxPackets": 0})
        start_s, stop_s = row["timeFirstTxPacket"], row["timeLastRxPacket"]
        is_of_acks = payload[number] <= ACK_PAYLOAD_BYTES * row["rxPackets"] < payload.get(back, 0.0)
        if row["rxPackets"] and is_of_acks:
            remarks.append(f"{name}: skipped, the ACKs of {ends[back].name}")
            continue
        if payload[number] <= 0 or stop_s <= start_s:
            remarks.append(f"{name}: skipped, no packet arrives")
            continue
        rtt_s = row["minDelay"] + of_back["minDelay"] if of_back["rxPackets"] else 0.0
        times_s, total_bytes = np.array([start_s, stop_s]), np.array([0.0, payload[number]])
        known = {"offset_s": start_s, "rtt_s": rtt_s if rtt_s > 0 else math.nan}
        flows.append(ObservedFlow(name, path, times_s, total_bytes, end_s, ORIGIN, **known))
    if not flows:
        raise InputError(
            "FlowStats: no flow has data that arrive; run the simulation with its monitor installed on all nodes"
        )
    return Observed(BACKEND, tuple(flows), (path,), remarks=tuple(remarks))


def _payload_bytes(row: dict[str, float], end: _Ends | None) -> float:
    kind = (end.protocol, 6 if ":" in end.source[0] else 4) if end else (TCP, 4)
    header_bytes = HEADER_BYTES.get(kind, 20)
    return max(row["rxBytes"] - header_bytes * row["rxPackets"], 0.0)


# ---------------------------------------------------------------- the document


Attributes = dict[int, dict[str, str]]  # of each flow


def _document(path: Path) -> tuple[Attributes, Attributes, dict[int, set[tuple[str, str]]]]:
    """Of each flow its statistics, its ends, and packets and bytes at each probe, as text."""
    stats, ends, probes, stack = {}, {}, {}, []
    tables = {"FlowStats/Flow": stats, "Ipv4FlowClassifier/Flow": ends, "Ipv6FlowClassifier/Flow": ends}
    parser = expat.ParserCreate()

    def refuse(says: str) -> None:
        raise InputError(f"line {parser.CurrentLineNumber}: {says}")

    def start(name: str, values: dict[str, str]) -> None:
        if not stack and name != "FlowMonitor":
            refuse(f"begins with {name[:40]}; FlowMonitor was expected")
        stack.append(name)
        if len(stack) > 10:
            refuse("more than 10 elements within each other; give ns-3's own output")
        inside, number = "/".join(stack[1:]), values.get("flowId", "")
        if inside == "FlowProbes/FlowProbe/FlowStats" and number.isdecimal():
            seen = probes.setdefault(int(number[:10]), set())
            if len(seen) < readings.MAX_FLOWS:
                seen.add((values.get("packets", ""), values.get("bytes", "")))
        if inside not in tables:
            return
        if not re.fullmatch(r"\d{1,10}", number):
            refuse(f"flowId: {number[:20]!r} is not a number of a flow")
        if int(number) in tables[inside]:
            refuse(f"flowId: {number} occurs twice; give one run")
        tables[inside][int(number)] = values
        readings.refuse_more(len(tables[inside]), 2 * readings.MAX_FLOWS, "flows; give those of one run")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = lambda *_: refuse(
        "declares a document type or entities; FlowMonitor writes none"
    )
    fed = 0
    try:
        for piece in chunks(path):
            parser.Parse(piece, False)
            fed += len(piece)
            if fed - max(parser.CurrentByteIndex, 0) > 2 * MAX_LINE_BYTES:
                refuse("an element without end; give ns-3's own output")
        parser.Parse(b"", True)
    except InputError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InputError(f"not XML that ns-3 writes ({str(error)[:80]}); give the whole file") from None
    return stats, ends, probes


class _Ends(NamedTuple):
    source: tuple[str, int]
    destination: tuple[str, int]
    protocol: int

    @property
    def name(self) -> str:
        return ">".join(f"{host}:{port}" for host, port in self[:2])


def _ends(values: dict[str, str]) -> _Ends:
    for name in ("sourceAddress", "destinationAddress"):
        try:
            ip_address(values.get(name, ""))
        except ValueError:
            raise InputError(f"{name}: {values.get(name, '')[:60]!r} is not an address") from None
    numbers = []
    for name, largest in {"sourcePort": 65535, "destinationPort": 65535, "protocol": 255}.items():
        text = values.get(name, "0")
        if not re.fullmatch(r"\d{1,5}", text) or int(text) > largest:
            raise InputError(f"{name}: {text[:20]!r} is not between 0 and {largest}")
        numbers.append(int(text))
    source_port, destination_port, protocol = numbers
    return _Ends((values["sourceAddress"], source_port), (values["destinationAddress"], destination_port), protocol)


def _row(values: dict[str, str], probes: set[tuple[str, str]]) -> dict[str, float]:
    """Times in s and counts of a flow; raises InputError for contradictions."""
    row: dict[str, float] = {}
    for name in (*TIMES, *COUNTS):
        pattern, kind, largest = _TIME if name in TIMES else _COUNT
        text = values.get(name, "missing")
        found = pattern.fullmatch(text)
        row[name] = float(found[1]) * units()["time"].get(found[2], 1.0) if found else math.inf
        if row[name] > (largest if name != "delaySum" else 1e18):
            raise InputError(f"{name}: {text[:40]!r} is {kind}")
    rx, tx = row["rxPackets"], row["txPackets"]
    if not rx:
        return row
    for least, most in PAIRS:
        if row[least] * (1 - DIGITS) > row[most]:
            above = f"{least} {values[least][:30]} is above {most} {values[most][:30]}"
            raise InputError(f"{above}; give the file as ns-3 wrote it")
    for name, size in (("rxBytes", row["rxBytes"] / rx), ("txBytes", row["txBytes"] / max(tx, 1))):
        if not 20 <= size <= MAX_IP_BYTES:
            raise InputError(f"{name}: {size:.6g} a packet is not between 20 and {MAX_IP_BYTES}")
    if rx + row["lostPackets"] > 1.01 * tx + 10:  # a packet counted as lost may still arrive
        raise InputError(f"lostPackets: {row['lostPackets']:g} and {rx:g} received are more than {tx:g} sent")
    mean_s, least_s, most_s = row["delaySum"] / rx, row["minDelay"], row["maxDelay"]
    if not least_s * (1 - 10 * DIGITS) <= mean_s <= most_s * (1 + 10 * DIGITS):
        raise InputError(f"delaySum: {mean_s:.6g} s a packet is not between minDelay and maxDelay")
    if row["timeFirstRxPacket"] * (1 + DIGITS) - row["timeFirstTxPacket"] < least_s:
        raise InputError("minDelay: is longer than the first packet took")
    if row["timeLastRxPacket"] * (1 - DIGITS) - row["timeLastTxPacket"] > most_s:
        raise InputError("maxDelay: is shorter than the last packet took")
    as_written = values["rxPackets"], values["rxBytes"]
    if probes and as_written not in probes:
        raise InputError(f"rxBytes: no probe has seen {as_written[0]} packets of {as_written[1]} bytes together")
    return row
