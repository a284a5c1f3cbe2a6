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
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from xml.parsers import expat

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tcpfair.errors import InputError
from tcpfair.sources.readers import readings
from tcpfair.sources.readers.observed import Observed, ObservedFlow
from tcpfair.sources.readers.pattern_table import units
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import MAX_LINE_BYTES, between, chunks, head, naming_file, refusing, validated

NAME = "flowmonitor"
ACCEPTS = "ns-3 FlowMonitor XML (totals of each flow)"

BACKEND, ORIGIN = "ns3 flowmonitor", "receiver: rxBytes of FlowMonitor without headers"
TCP, UDP = 6, 17
HEADER_BYTES = {(TCP, 4): 52, (TCP, 6): 72, (UDP, 4): 28, (UDP, 6): 48}
ACK_PAYLOAD_BYTES = 24.0  # SACK blocks of an ACK look like payload
MAX_IP_BYTES = 65_575
DIGITS = 1e-5  # times have six
PAIRS = (  # of which the first is at most the second
    ("time_first_tx_packet", "time_first_rx_packet"),
    ("time_first_rx_packet", "time_last_rx_packet"),
    ("time_first_tx_packet", "time_last_tx_packet"),
    ("min_delay", "max_delay"),
    ("rx_packets", "tx_packets"),
    ("rx_bytes", "tx_bytes"),
)
_TIME = re.compile(r"\+?(\d{1,24}(?:\.\d{1,24})?(?:e[+-]?\d{1,3})?)(ns|us|ms|s)")


def _seconds(text: str) -> float:
    """A time in s."""
    found = _TIME.fullmatch(text)
    if not found:
        raise ValueError("no time such as +5e+08ns")
    return float(found[1]) * units()["time"][found[2]]


def _address(text: str) -> str:
    """An address; ValueError for anything else."""
    ip_address(text)
    return text


Time = Annotated[float, BeforeValidator(_seconds), Field(ge=0, le=readings.MAX_SPAN_S)]
Count = between(int, 0, 2**53)
Address = Annotated[str, AfterValidator(_address)]


class _Element(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class _Stats(_Element):
    """Totals of a flow, times in s."""

    time_first_tx_packet: Time
    time_first_rx_packet: Time
    time_last_tx_packet: Time
    time_last_rx_packet: Time
    delay_sum: Annotated[float, BeforeValidator(_seconds), Field(le=1e18)]
    min_delay: Time
    max_delay: Time
    tx_bytes: Count
    rx_bytes: Count
    tx_packets: Count
    rx_packets: Count
    lost_packets: Count


class _Ends(_Element):
    """Both ends of a flow."""

    source_address: Address
    destination_address: Address
    source_port: between(int, 0, 65_535) = 0
    destination_port: between(int, 0, 65_535) = 0
    protocol: between(int, 0, 255) = 0

    @property
    def places(self) -> tuple[str, str]:
        """Address and port of the sender, and of the receiver."""
        return f"{self.source_address}:{self.source_port}", f"{self.destination_address}:{self.destination_port}"


def sniff(path: Path) -> bool:
    """Whether a file is XML whose first element is FlowMonitor."""
    return bool(re.match(r"\s*(<\?xml[^>]{0,200}\?>)?\s*<FlowMonitor[\s>]", head(path).lstrip("﻿")))


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """All flows but those of ACKs, each with one interval."""
    stats, classified, probes = _document(path)
    ends = {number: validated(_Ends, values, f"flow {number}") for number, values in classified.items()}
    rows = {number: validated(_Stats, values, f"flow {number}") for number, values in stats.items()}
    for number, row in rows.items():
        if row.rx_packets:
            _check(f"flow {number}", row, stats[number], probes.get(number, set()))
    by_ends = {(*end.places, end.protocol): number for number, end in ends.items()}
    if len(by_ends) < len(ends):
        raise InputError("two flows have the same addresses and ports; give the file as ns-3 wrote it")
    end_s = max((row.time_last_rx_packet for row in rows.values() if row.rx_packets), default=0.0)
    payload = {number: _payload_bytes(row, ends.get(number)) for number, row in rows.items()}
    flows: list[ObservedFlow] = []
    remarks = [
        "totals only: one interval for the whole run, in which flows that start later have less time",
        "simulated time: no wall clock",
    ]
    for number, row in rows.items():
        end = ends.get(number)
        name = ">".join(end.places) if end else f"flow {number}"
        back = by_ends.get((*end.places[::-1], end.protocol)) if end else None
        of_back = rows.get(back)
        start_s, stop_s = row.time_first_tx_packet, row.time_last_rx_packet
        is_of_acks = payload[number] <= ACK_PAYLOAD_BYTES * row.rx_packets < payload.get(back, 0.0)
        if row.rx_packets and is_of_acks:
            remarks.append(f"{name}: skipped, the ACKs of {'>'.join(end.places[::-1])}")
            continue
        if payload[number] <= 0 or stop_s <= start_s:
            remarks.append(f"{name}: skipped, no packet arrives")
            continue
        rtt_s = row.min_delay + of_back.min_delay if of_back and of_back.rx_packets else 0.0
        times_s, total_bytes = np.array([start_s, stop_s]), np.array([0.0, payload[number]])
        known = {"offset_s": start_s, "rtt_s": rtt_s if rtt_s > 0 else math.nan}
        flows.append(ObservedFlow(name, path, times_s, total_bytes, end_s, ORIGIN, **known))
    if not flows:
        raise InputError(
            "FlowStats: no flow has data that arrive; run the simulation with its monitor installed on all nodes"
        )
    return Observed(BACKEND, tuple(flows), (path,), remarks=tuple(remarks))


def _payload_bytes(row: _Stats, end: _Ends | None) -> float:
    kind = (end.protocol, 6 if ":" in end.source_address else 4) if end else (TCP, 4)
    return max(row.rx_bytes - HEADER_BYTES.get(kind, 20) * row.rx_packets, 0.0)


@refusing
def _check(row: _Stats, values: dict[str, str], probes: set[tuple[str, str]]) -> Iterator[str]:
    """Check that the totals of a flow agree with each other and with those of a probe."""
    for least, most in PAIRS:
        if getattr(row, least) * (1 - DIGITS) > getattr(row, most):
            one, other = to_camel(least), to_camel(most)
            yield f"{one} {values[one][:30]} is above {other} {values[other][:30]}; give the file as ns-3 wrote it"
    rx, tx = row.rx_packets, row.tx_packets
    for name, size in (("rxBytes", row.rx_bytes / rx), ("txBytes", row.tx_bytes / max(tx, 1))):
        if not 20 <= size <= MAX_IP_BYTES:
            yield f"{name}: {size:.6g} a packet is not between 20 and {MAX_IP_BYTES}"
    if rx + row.lost_packets > 1.01 * tx + 10:  # a packet counted as lost may still arrive
        yield f"lostPackets: {row.lost_packets} and {rx} received are more than {tx} sent"
    mean_s = row.delay_sum / rx
    if not row.min_delay * (1 - 10 * DIGITS) <= mean_s <= row.max_delay * (1 + 10 * DIGITS):
        yield f"delaySum: {mean_s:.6g} s a packet is not between minDelay and maxDelay"
    if row.time_first_rx_packet * (1 + DIGITS) - row.time_first_tx_packet < row.min_delay:
        yield "minDelay: is longer than the first packet took"
    if row.time_last_rx_packet * (1 - DIGITS) - row.time_last_tx_packet > row.max_delay:
        yield "maxDelay: is shorter than the last packet took"
    as_written = values["rxPackets"], values["rxBytes"]
    if probes and as_written not in probes:
        yield f"rxBytes: no probe has seen {as_written[0]} packets of {as_written[1]} bytes together"


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
