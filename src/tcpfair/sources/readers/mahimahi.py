"""Logs of mahimahi's mm-link (``--uplink-log``, ``--downlink-log``): what entered, left and could have left the emulated
link.

Format: mm-link(1) and src/frontend/link_queue.cc of mahimahi 0.98 and later. Lines with # come first (name of the link,
command, queue, ``init timestamp``: wall clock in ms, ``base timestamp``: start of the link's schedule in ms). Each
further line is an event, with ms since the shell started: ``+ BYTES`` arrives, ``# BYTES`` could leave, ``- BYTES
DELAY`` leaves after DELAY ms, ``d PACKETS BYTES`` dropped. Bytes are those of an IP packet and 4 more.

A log has no flows: all departing packets are one, named ``uplink``, ``downlink`` or ``link``. Its bytes are those of
the packets less 56 each (4 of the device, 20 IP, 32 TCP with timestamps), retransmissions included; packets without
payload give none. ``capacity_bps`` is the mean of the opportunities. A direction with only ACKs is refused, and a log
whose clock runs backwards.
"""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers import readings
from tcpfair.sources.readers.observed import Observed, ObservedFlow, ObservedLink
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import Form, head, located, naming_file, pieces, refuse_first
from tcpfair.units import MS_PER_S

NAME = "mahimahi"
ACCEPTS = "mahimahi mm-link logs (--uplink-log, --downlink-log)"

OVERHEAD_BYTES = 56.0
MAX_PACKET_BYTES = 65_600
_NAMED = re.compile(r"# mahimahi mm-link \((uplink|downlink)\)")
_STAMP = re.compile(r"# (init|base) timestamp: (\d{1,15})")
_EVENT = re.compile(rb"(\d{1,15}) (?:([+#]) (\d{1,9})|(-) (\d{1,9}) (\d{1,15})|(d) (\d{1,9}) (\d{1,12}))")
EVENT = Form(
    " ",
    {"t": np.int64, "kind": str, "bytes": np.int64, "delay": float},
    {"t": (0, 1e15), "bytes": (0, 1e9)},
    _EVENT,
    "is not an event (MS + BYTES, MS # BYTES, MS - BYTES DELAY, MS d PACKETS BYTES); give mm-link's own output",
)


def sniff(path: Path) -> bool:
    """Whether a file begins as a log of mm-link does."""
    return bool(re.match(r"# (mahimahi mm-link|(init|base) timestamp: \d)", head(path)))


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """The one flow and the link of a log."""
    headers, events = _load(path)
    out = events[events["kind"] == "-"]
    payload = (out["bytes"] - OVERHEAD_BYTES).clip(lower=0.0)
    if not payload.sum() > 0:
        raise InputError("no packet with payload leaves; give the log of the direction of the data")
    with_data, payload = out[payload > 0], payload[payload > 0].to_numpy()
    leaves_s, stop_s = with_data["t_s"].to_numpy(), float(events["t_s"].iloc[-1])
    arrived_s = float(leaves_s[0] - with_data["delay"].iloc[0] / MS_PER_S)
    if stop_s <= arrived_s:
        raise InputError("all within a millisecond; give a longer log")
    times_s, (total,) = readings.gathered([(leaves_s, payload)], arrived_s, stop_s)
    begins_s = (headers["init"] + headers["base"]) / MS_PER_S if "init" in headers else math.nan
    clock_s = begins_s if readings.is_wall_clock(begins_s) else None
    median_ms, high_ms = np.percentile(out["delay"], [50, 95])
    remarks = [
        f"all that leaves is one flow, without {OVERHEAD_BYTES:g} bytes of headers per packet",
        f"queueing delay: median {median_ms:.0f} ms, 95 % below {high_ms:.0f} ms",
    ]
    could_bytes = events["bytes"][events["kind"] == "#"]
    parameters = {}
    if len(could_bytes):
        parameters["capacity_bps"] = 8.0 * float(could_bytes.sum()) / stop_s
        remarks.append(f"link: {parameters['capacity_bps'] / 1e6:.6g} Mbit/s on average, of whole packets")
    flow = ObservedFlow(
        name=headers.get("name", "link"),
        file=path,
        times_s=times_s,
        total_bytes=total,
        interval_s=readings.PACKET_INTERVAL_S,
        offset_s=arrived_s if clock_s is None else None,
        origin="receiver: packets that leave the link, without headers",
        clock_s=clock_s,
        clock_error_s=1 / MS_PER_S if clock_s is not None else 0.0,
    )
    link = ObservedLink(readings.link_table(events, int(events["bin"].iloc[-1]) + 1), clock_s)
    return Observed(NAME, (flow,), (path,), parameters=parameters, link=link, remarks=tuple(remarks))


# ---------------------------------------------------------------- the log


def _load(path: Path) -> tuple[dict, pd.DataFrame]:
    """The header and the events.

    Of each: t in ms and t_s since the base timestamp, kind, bytes, delay in ms, line; bin, and what it changes at the link.
    """
    headers: dict = {}
    parts: list[pd.DataFrame] = []
    for lines, block in pieces(path):
        while not parts and block.startswith(b"#"):
            text, _, block = block.partition(b"\n")
            with located(f"line {lines[0]}"):
                _take_header(text.decode(errors="replace"), headers)
            lines = lines[1:]
        if block:
            parts.append(_events(block, lines))
        readings.refuse_more(sum(map(len, parts)), readings.MAX_PACKETS, "events; give a shorter log")
    if "base" not in headers:
        raise InputError("'# base timestamp:' is missing; give the whole log")
    if not parts:
        raise InputError("no events; give the log of a shell in which something was sent")
    events = pd.concat(parts, ignore_index=True)
    events["t_s"] = (events["t"] - headers["base"]) / MS_PER_S
    events["bin"] = readings.bins_of(events["t_s"].to_numpy())
    is_out = events["kind"] == "-"
    events["forwarded"] = events["bytes"].where(is_out, 0)
    events["waiting"] = (events["kind"] == "+").astype(np.int64) - is_out - events["dropped"]
    _check(events, headers["base"])
    return headers, events


def _take_header(text: str, headers: dict) -> None:
    """Read a line with # at the beginning."""
    if match := _NAMED.match(text):
        if "name" in headers:
            raise InputError("a second log begins; give each its own file")
        headers["name"] = match[1]
    elif match := _STAMP.fullmatch(text):
        if match[1] in headers:
            raise InputError(f"{match[1]} timestamp: occurs twice; give one log")
        headers[match[1]] = int(match[2])
    elif " timestamp:" in text[:20]:
        raise InputError(f"{text[:60]!r} is not a timestamp in ms")


def _events(block: bytes, lines: np.ndarray) -> pd.DataFrame:
    table = EVENT.table(block, lines)
    kind, is_drop = table["kind"], table["kind"] == "d"
    is_whole = (table["delay"] == np.floor(table["delay"])) & table["delay"].between(0, 1e15, inclusive="left")
    is_event = is_whole.where(kind.isin(("-", "d")), kind.isin(("+", "#")) & table["delay"].isna())
    EVENT.refuse(~is_event.to_numpy(), block, lines)
    # of a drop, the number of packets is before their bytes
    table["dropped"] = table["bytes"].where(is_drop, 0)
    table["bytes"] = table["bytes"].mask(is_drop, table["delay"]).astype(np.int64)
    table["delay"] = table["delay"].where(kind == "-", 0.0).astype(np.int64)
    return table.astype({"kind": "category"})


def _check(events: pd.DataFrame, base_ms: int) -> None:
    """Raise InputError for events that contradict each other or the header."""
    t, kind, size, delay, line = (events[name].to_numpy() for name in ("t", "kind", "bytes", "delay", "line"))

    refuse = partial(refuse_first, lines=line)
    before = np.r_[t[:1], t[:-1]]
    refuse(t < before, "the clock goes back from {} to {} ms; record again", before, t)
    refuse(t[:1] < base_ms, "{} ms is before the base timestamp {}; give one log", t, base_ms)
    readings.check_span(base_ms / MS_PER_S, t[-1] / MS_PER_S)
    out, into, could = (kind == each for each in "-+#")
    is_size = (kind == "d") | ((size >= 1) & (size <= MAX_PACKET_BYTES))
    refuse(~is_size, "{} bytes are not between 1 and {}", size, MAX_PACKET_BYTES)
    waiting = np.cumsum(events["waiting"])
    refuse(waiting < 0, "more packets have left or been dropped than arrived; give the whole log")
    left = np.cumsum(np.where(out, size, 0) - np.where(could, size, 0))
    refuse((left > 0) & could.any(), "more bytes have left than could (#); give the whole log")
    # of the packets of one size that arrived within a ms, at most as many leave
    arrivals, departures = (
        pd.DataFrame({"at": at, "size": sizes})
        for at, sizes in ((t[into], size[into]), (t[out] - delay[out], size[out]))
    )
    arrived = arrivals.value_counts().reindex(pd.MultiIndex.from_frame(departures), fill_value=0).to_numpy()
    is_more = departures.groupby(["at", "size"]).cumcount().to_numpy() >= arrived
    says = "a packet of {} bytes leaves that did not arrive at {} ms; give the whole log"
    refuse_first(is_more, says, departures["size"], departures["at"], lines=line[out])
