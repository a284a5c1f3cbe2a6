"""XML of ns-3's FlowMonitor (``SerializeToXmlFile``): totals of each flow, and no course in time.

Format: ns-3's model documentation, chapter "Flow Monitor"; written by ns-3 3.44, and alike since 3.1 (times as ``+5e+08ns``,
with six digits). All that can be had of it is one interval from a flow's first transmission to its last arrival, so only
means: Jain's index and NRU of the whole run, and no convergence or stability. Histograms are ignored.

rxBytes count IP packets with their headers, and what arrives twice counts twice: payload is rxBytes less 52 bytes a packet of TCP
(IPv4, with timestamps; 72 with IPv6; 28 or 48 of UDP), goodput at most that. A flow back that has next to no payload is one of
ACKs; its smallest delay and the flow's make the smallest RTT. Not known: the algorithm; a simulation has no wall clock.
Entities and document types, which FlowMonitor never writes, are refused.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from xml.etree.ElementTree import ParseError
from xml.parsers import expat

import numpy as np

from tcpfair.errors import InputError
from tcpfair.sources.readers import readings
from tcpfair.sources.readers.observed import Observed, ObservedFlow
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import MAX_LINE_BYTES, chunks, head

NAME = "flowmonitor"
ACCEPTS = "ns-3 FlowMonitor XML (totals of each flow)"

BACKEND = "ns3 flowmonitor"
TCP, UDP = 6, 17
HEADER_BYTES = {(TCP, 4): 52, (TCP, 6): 72, (UDP, 4): 28, (UDP, 6): 48}
ACK_PAYLOAD_BYTES = 24.0  # SACK blocks of an ACK look like payload
MAX_IP_BYTES = 65_575
MAX_COUNT = 2**53
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
COUNTS = ("txBytes", "rxBytes", "txPackets", "rxPackets", "lostPackets")
_TIME = re.compile(r"[+-]?(\d{1,24}(?:\.\d{1,24})?(?:e[+-]?\d{1,3})?)(ns|us|ms|s)")
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_COUNT = re.compile(r"\d{1,19}")


def sniff(path: Path) -> bool:
    """Whether a file is XML whose first element is FlowMonitor."""
    return path.is_file() and bool(re.match(r"\s*(<\?xml[^>]{0,200}\?>)?\s*<FlowMonitor[\s>]", head(path).lstrip("﻿")))


def read(path: Path, said: Sidecar) -> Observed:
    """All flows but those of ACKs, each with one interval.

    Raises InputError naming flow and attribute for what is cut, out of range, twice, or contradicts another number.
    """
    document = _document(path)
    flows: list[ObservedFlow] = []
    remarks = [
        "totals only: one interval for the whole run, in which flows that start later have less time",
        "simulated time: no wall clock",
    ]
    ends = {number: _ends(values, f"{path}: flow {number}") for number, values in document.ends.items()}
    by_ends = {end: number for number, end in ends.items()}
    if len(by_ends) < len(ends):
        raise InputError(f"{path}: two flows have the same addresses and ports; give the file as ns-3 wrote it")
    rows = {number: _checked(values, document, number, path) for number, values in document.stats.items()}
    end_s = max((row["timeLastRxPacket"] for row in rows.values() if row["rxPackets"]), default=0.0)
    payload = {number: _payload_bytes(row, ends.get(number)) for number, row in rows.items()}
    for number, row in rows.items():
        where = ends.get(number)
        name = where.name if where else f"flow {number}"
        back = by_ends.get(where.back) if where else None
        if (
            back in rows
            and row["rxPackets"]
            and payload[number] <= ACK_PAYLOAD_BYTES * row["rxPackets"] < payload[back]
        ):
            remarks.append(f"{name}: left out, the ACKs of {ends[back].name}")
            continue
        if payload[number] <= 0 or row["timeLastRxPacket"] <= row["timeFirstTxPacket"]:
            remarks.append(f"{name}: left out, nothing arrives")
            continue
        rtt_s = math.nan
        if back in rows and rows[back]["rxPackets"] and rows[back]["minDelay"] + row["minDelay"] > 0:
            rtt_s = row["minDelay"] + rows[back]["minDelay"]
        times_s = np.array([row["timeFirstTxPacket"], row["timeLastRxPacket"]])
        flows.append(
            ObservedFlow(
                name=name,
                file=path,
                times_s=times_s,
                total_bytes=np.array([0.0, payload[number]]),
                interval_s=end_s,
                offset_s=float(times_s[0]),
                origin="receiver: rxBytes of FlowMonitor without headers",
                rtt_s=rtt_s,
            )
        )
    if not flows:
        raise InputError(
            f"{path}: FlowStats: no flow has data that arrive; run the simulation with its monitor installed on all nodes"
        )
    return Observed(BACKEND, tuple(flows), (path,), remarks=tuple(remarks))


# ---------------------------------------------------------------- the document


@dataclass
class _Document:
    stats: dict[int, dict[str, str]] = field(default_factory=dict)
    ends: dict[int, dict[str, str]] = field(default_factory=dict)
    probes: dict[int, set[tuple[str, str]]] = field(
        default_factory=dict
    )  # of each flow: packets and bytes at each probe


def _document(path: Path) -> _Document:
    """What FlowMonitor says of each flow, as text."""
    document, stack = _Document(), []
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise InputError(
            f"{path}: line {parser.CurrentLineNumber}: declares a document type or entities; FlowMonitor writes none"
        )

    def start(name: str, values: dict[str, str]) -> None:
        if not stack and name != "FlowMonitor":
            raise InputError(f"{path}: begins with {name[:40]}; FlowMonitor was expected")
        stack.append(name)
        if len(stack) > 10:
            raise InputError(
                f"{path}: line {parser.CurrentLineNumber}: more than 10 elements within each other; give ns-3's own output"
            )
        inside = tuple(stack)
        if inside == ("FlowMonitor", "FlowStats", "Flow"):
            _add(document.stats, values)
        elif inside in (("FlowMonitor", "Ipv4FlowClassifier", "Flow"), ("FlowMonitor", "Ipv6FlowClassifier", "Flow")):
            _add(document.ends, values)
        elif inside == ("FlowMonitor", "FlowProbes", "FlowProbe", "FlowStats") and values.get("flowId", "").isdecimal():
            seen = document.probes.setdefault(int(values["flowId"][:10]), set())
            if len(seen) < readings.MAX_FLOWS:
                seen.add((values.get("packets", ""), values.get("bytes", "")))

    def _add(table: dict[int, dict[str, str]], values: dict[str, str]) -> None:
        number = values.get("flowId", "")
        if not re.fullmatch(r"\d{1,10}", number):
            raise InputError(f"{path}: line {parser.CurrentLineNumber}: flowId: {number[:20]!r} is no number of a flow")
        if int(number) in table:
            raise InputError(f"{path}: line {parser.CurrentLineNumber}: flowId: {number} is there twice; give one run")
        if len(table) >= 2 * readings.MAX_FLOWS:
            raise InputError(f"{path}: more than {2 * readings.MAX_FLOWS} flows")
        table[int(number)] = values

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    fed = 0
    try:
        for piece in chunks(path):
            parser.Parse(piece, False)
            fed += len(piece)
            if fed - max(parser.CurrentByteIndex, 0) > 2 * MAX_LINE_BYTES:
                raise InputError(
                    f"{path}: line {parser.CurrentLineNumber}: an element without end; give ns-3's own output"
                )
        parser.Parse(b"", True)
    except (expat.ExpatError, ParseError) as error:
        raise InputError(f"{path}: not XML ({error}); give the whole file as ns-3 wrote it") from None
    except (ValueError, LookupError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not XML that ns-3 writes ({str(error)[:80]})") from None
    return document


@dataclass(frozen=True)
class _Ends:
    source: str
    source_port: int
    destination: str
    destination_port: int
    protocol: int

    @property
    def name(self) -> str:
        return f"{self.source}:{self.source_port}>{self.destination}:{self.destination_port}"

    @property
    def back(self) -> _Ends:
        return _Ends(self.destination, self.destination_port, self.source, self.source_port, self.protocol)

    @property
    def version(self) -> int:
        return 6 if ":" in self.source else 4


def _ends(values: dict[str, str], where: str) -> _Ends:
    for name in ("sourceAddress", "destinationAddress"):
        try:
            ip_address(values.get(name, ""))
        except ValueError:
            raise InputError(f"{where}: {name}: {values.get(name, '')[:60]!r} is no address") from None
    for name, largest in (("sourcePort", 65535), ("destinationPort", 65535), ("protocol", 255)):
        text = values.get(name, "0")
        if not re.fullmatch(r"\d{1,5}", text) or int(text) > largest:
            raise InputError(f"{where}: {name}: {text[:20]!r} is not between 0 and {largest}")
    protocol = int(values.get("protocol", "0"))
    return _Ends(
        values["sourceAddress"],
        int(values.get("sourcePort", "0")),
        values["destinationAddress"],
        int(values.get("destinationPort", "0")),
        protocol,
    )


def _checked(values: dict[str, str], document: _Document, number: int, path: Path) -> dict[str, float]:
    """Times in s and counts of a flow."""
    where = f"{path}: flow {number}"
    row: dict[str, float] = {}
    for name in TIMES:
        match = _TIME.fullmatch(values.get(name, ""))
        if not match:
            raise InputError(f"{where}: {name}: {values.get(name, 'missing')[:40]!r} is no time such as +5e+08ns")
        row[name] = float(match[1]) * _UNIT_S[match[2]]
        largest = readings.MAX_SPAN_S if name != "delaySum" else 1e18
        if not row[name] <= largest or values[name].startswith("-"):
            raise InputError(f"{where}: {name}: {values[name][:40]} is not between 0 and a day")
    for name in COUNTS:
        text = values.get(name, "missing")
        if not _COUNT.fullmatch(text) or int(text) > MAX_COUNT:
            raise InputError(f"{where}: {name}: {text[:40]!r} is not a count below 2^53")
        row[name] = float(int(text))
    if row["rxPackets"]:
        _contradictions(row, document.probes.get(number), values, where)
    return row


def _contradictions(
    row: dict[str, float], probes: set[tuple[str, str]] | None, values: dict[str, str], where: str
) -> None:
    """Raise InputError when two numbers of a flow cannot both be right."""
    rx, tx = row["rxPackets"], row["txPackets"]
    early = 1 - DIGITS
    for least, most in (
        ("timeFirstTxPacket", "timeFirstRxPacket"),
        ("timeFirstRxPacket", "timeLastRxPacket"),
        ("timeFirstTxPacket", "timeLastTxPacket"),
        ("minDelay", "maxDelay"),
        ("rxPackets", "txPackets"),
        ("rxBytes", "txBytes"),
    ):
        if row[least] * early > row[most]:
            raise InputError(
                f"{where}: {least} {values[least][:30]} is above {most} {values[most][:30]}; give the file as ns-3 wrote it"
            )
    for prefix, packets in (("rx", rx), ("tx", tx)):
        size = row[f"{prefix}Bytes"] / packets
        if not 20 <= size <= MAX_IP_BYTES:
            raise InputError(f"{where}: {prefix}Bytes: {size:.6g} a packet is not between 20 and {MAX_IP_BYTES}")
    if rx + row["lostPackets"] > 1.01 * tx + 10:  # what was given up as lost may still arrive
        raise InputError(f"{where}: lostPackets: {row['lostPackets']:g} and {rx:g} received are more than {tx:g} sent")
    mean_s = row["delaySum"] / rx
    if not row["minDelay"] * (1 - 10 * DIGITS) <= mean_s <= row["maxDelay"] * (1 + 10 * DIGITS):
        raise InputError(f"{where}: delaySum: {mean_s:.6g} s a packet is not between minDelay and maxDelay")
    if row["timeFirstRxPacket"] - row["timeFirstTxPacket"] < row["minDelay"] - DIGITS * row["timeFirstRxPacket"]:
        raise InputError(f"{where}: minDelay: is longer than the first packet took")
    if row["timeLastRxPacket"] - row["timeLastTxPacket"] > row["maxDelay"] + DIGITS * row["timeLastRxPacket"]:
        raise InputError(f"{where}: maxDelay: is shorter than the last packet took")
    if probes and (values["rxPackets"], values["rxBytes"]) not in probes:
        raise InputError(
            f"{where}: rxBytes: no probe has seen {values['rxPackets']} packets of {values['rxBytes']} bytes together"
        )


def _payload_bytes(row: dict[str, float], ends: _Ends | None) -> float:
    header_bytes = HEADER_BYTES.get((ends.protocol, ends.version), 20) if ends else HEADER_BYTES[TCP, 4]
    return max(row["rxBytes"] - header_bytes * row["rxPackets"], 0.0)
