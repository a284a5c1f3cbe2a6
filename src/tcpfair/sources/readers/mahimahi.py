"""Logs of mahimahi's mm-link (``--uplink-log``, ``--downlink-log``): what entered, left and could have left the emulated link.

Format: the manual page mm-link(1) and src/frontend/link_queue.cc of mahimahi 0.98 and later. Lines with # come first (the
link's name, the command, the queue, ``init timestamp``: wall clock in ms, ``base timestamp``: where the link's schedule starts,
in ms). Then a line for each event, with ms since the shell started: ``+ BYTES`` arrives, ``# BYTES`` could leave,
``- BYTES DELAY`` leaves after DELAY ms, ``d PACKETS BYTES`` dropped. Bytes are those of an IP packet and 4 more.

A log has no flows: all that leaves is one, ``uplink`` or ``downlink``, or what the file is called. Its bytes are those of the
packets less 56 each (4 of the device, 20 IP, 32 TCP with timestamps), retransmissions included; packets without payload, ACKs,
give none. The table of the link has whole packets, the queue and the drops, and ``capacity_bps`` is the mean of what could have
left. A direction with nothing but ACKs has no flow and is refused. Times have whole ms, and the clock may be set while a shell
runs: a log that goes back is refused.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers import readings
from tcpfair.sources.readers.observed import LINK, Observed, ObservedFlow, ObservedLink
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import MAX_LINE_BYTES, chunks, head

NAME = "mahimahi"
ACCEPTS = "mahimahi mm-link logs (--uplink-log, --downlink-log)"

BACKEND = "mahimahi"
OVERHEAD_BYTES = 56.0
MAX_PACKET_BYTES = 65_600
LINK_BIN_S = 0.1
MS_PER_S = 1000.0
_NAMED = re.compile(r"# mahimahi mm-link \((uplink|downlink)\)")
_STAMP = re.compile(r"# (init|base) timestamp: (\d{1,15})")
_EVENT = re.compile(rb"(\d{1,15}) (?:([+#]) (\d{1,9})|(-) (\d{1,9}) (\d{1,15})|(d) (\d{1,9}) (\d{1,12}))")
_BLOCK_BYTES = 1 << 22


def sniff(path: Path) -> bool:
    """Whether a file begins as a log of mm-link does."""
    return (path.is_file() and head(path).startswith("# mahimahi mm-link")) or _is_bare(path)


def _is_bare(path: Path) -> bool:
    """A log of an old version, which begins with its base timestamp."""
    return path.is_file() and bool(re.match(r"# (init|base) timestamp: \d", head(path)))


def read(path: Path, said: Sidecar) -> Observed:
    """The one flow and the link of a log.

    Raises InputError naming the line for what no mm-link writes, packets that leave without having arrived, more than
    could leave, and a clock that goes back.
    """
    headers, events = _load(path)
    base_ms = headers["base"]
    t_s = (events["t"].to_numpy() - base_ms) / MS_PER_S
    kind, size = events["kind"].to_numpy(), events["bytes"].to_numpy(dtype=np.float64)
    out = kind == ord("-")
    payload = np.maximum(size[out] - OVERHEAD_BYTES, 0.0)
    if not payload.sum() > 0:
        raise InputError(f"{path}: no packet with payload leaves; give the log of the direction of the data")
    with_data = np.flatnonzero(out)[payload > 0]
    arrived = t_s[with_data[0]] - events["delay"].to_numpy()[with_data[0]] / MS_PER_S
    stop_s = float(t_s[-1])
    if stop_s <= arrived:
        raise InputError(f"{path}: all within a millisecond; give a longer log")
    times_s, (total,) = readings.gathered([(t_s[with_data], payload[payload > 0])], float(arrived), stop_s)
    clock_s = None
    if "init" in headers and readings.is_wall_clock((headers["init"] + base_ms) / MS_PER_S):
        clock_s = (headers["init"] + base_ms) / MS_PER_S
    delay_ms = events["delay"].to_numpy()[out]
    median_ms, high_ms = np.percentile(delay_ms, [50, 95])
    remarks = [
        f"all that leaves is one flow, {OVERHEAD_BYTES:g} bytes of headers a packet left out",
        f"queueing delay: median {median_ms:.0f} ms, 95 % below {high_ms:.0f} ms",
    ]
    could = kind == ord("#")
    parameters = {}
    if could.any() and stop_s > 0:
        parameters["capacity_bps"] = 8.0 * float(size[could].sum()) / max(stop_s, 1 / MS_PER_S)
        remarks.append(f"link: {parameters['capacity_bps'] / 1e6:.6g} Mbit/s on average, of whole packets")
    return Observed(
        BACKEND,
        (
            ObservedFlow(
                name=headers.get("name", "link"),
                file=path,
                times_s=times_s,
                total_bytes=total,
                interval_s=readings.PACKET_INTERVAL_S,
                offset_s=float(arrived) if clock_s is None else None,
                origin="receiver: packets that leave the link, without headers",
                clock_s=clock_s,
                clock_error_s=1 / MS_PER_S if clock_s is not None else 0.0,
            ),
        ),
        (path,),
        parameters=parameters,
        link=ObservedLink(_link(events, t_s, stop_s), clock_s),
        remarks=tuple(remarks),
    )


# ---------------------------------------------------------------- the log


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number of the first line, and whole lines, in pieces; a last line without its end is refused: it is cut."""
    rest, line = b"", 1
    for piece in chunks(path, _BLOCK_BYTES):
        whole, newline, rest = (rest + piece).rpartition(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise InputError(f"{path}: line {line}: longer than {MAX_LINE_BYTES} bytes; give mm-link's own output")
        if newline:
            whole = (whole + newline).replace(b"\r\n", b"\n")
            yield line, whole
            line += whole.count(b"\n")
    if rest.strip():
        raise InputError(f"{path}: line {line}: cut; give the whole log")


def _load(path: Path) -> tuple[dict, pd.DataFrame]:
    """What the header says, and the events: t in ms, kind (its character's code), bytes, packets, delay in ms, line."""
    headers: dict = {}
    parts: list[pd.DataFrame] = []
    rows, in_header = 0, True
    for line, block in _blocks(path):
        if in_header:
            block, skipped = _take_header(block, headers, path)
            line += skipped
            in_header = not block
        if not block:
            continue
        part = _events(block, line, path)
        rows += len(part)
        if rows > readings.MAX_PACKETS:
            raise InputError(f"{path}: more than {readings.MAX_PACKETS} events; give a shorter log")
        parts.append(part)
    if "base" not in headers:
        raise InputError(f"{path}: '# base timestamp:' is missing; give the whole log")
    if not parts:
        raise InputError(f"{path}: no events; give the log of a shell in which something was sent")
    events = pd.concat(parts, ignore_index=True)
    _check(events, headers, path)
    return headers, events


def _take_header(block: bytes, headers: dict, path: Path) -> tuple[bytes, int]:
    """Read the lines with # at the beginning; the rest, and how many lines were read."""
    skipped = 0
    while block.startswith(b"#"):
        text, _, block = block.partition(b"\n")
        shown = text.decode(errors="replace")
        skipped += 1
        if match := _NAMED.match(shown):
            if "name" in headers:
                raise InputError(f"{path}: line {skipped}: a second log begins; give each its own file")
            headers["name"] = match[1]
        elif match := _STAMP.fullmatch(shown):
            if match[1] in headers:
                raise InputError(f"{path}: line {skipped}: {match[1]} timestamp: is there twice; give one log")
            headers[match[1]] = int(match[2])
        elif " timestamp:" in shown[:20]:
            raise InputError(f"{path}: line {skipped}: {shown[:60]!r} is no timestamp in ms")
    return block, skipped


def _events(block: bytes, line: int, path: Path) -> pd.DataFrame:
    """Lines of two to four words as numbers."""
    count = block.count(b"\n")
    try:
        with np.errstate(all="ignore"):
            words = pd.read_csv(
                io.BytesIO(block),
                sep=" ",
                header=None,
                names=["t", "kind", "a", "b"],
                dtype={"t": np.int64, "kind": str, "a": np.int64, "b": "float64"},
                quoting=3,
                index_col=False,
                skip_blank_lines=False,
                keep_default_na=False,
                na_values={"b": [""]},
            )
        is_one = words["kind"].isin(("+", "#", "-", "d")).all() and len(words) == count
        kind = np.frombuffer("".join(words["kind"]).encode(), dtype=np.uint8) if is_one else None
    except (ValueError, OverflowError, pd.errors.ParserError, TypeError):
        kind = words = None
    if kind is not None and words is not None:
        has_two = np.isin(kind, [ord("-"), ord("d")])
        b = words["b"].to_numpy()
        whole = ~has_two | (np.isfinite(b) & (b == np.floor(b)) & (b >= 0) & (b < 1e15))
        a, t = words["a"].to_numpy(), words["t"].to_numpy()
        fine = whole & (has_two == ~np.isnan(b)) & (a >= 0) & (a < 10**9) & (t >= 0) & (t < 10**15)
        if fine.all():
            is_drop = kind == ord("d")
            return pd.DataFrame(
                {
                    "t": t,
                    "kind": kind,
                    "bytes": np.where(is_drop, b, a).astype(np.int64, copy=False),
                    "packets": np.where(is_drop, a, 1),
                    "delay": np.where(kind == ord("-"), np.nan_to_num(b), 0.0).astype(np.int64),
                    "line": line + np.arange(count),
                }
            )
    texts = block.split(b"\n")[:count]
    bad = next((i for i, text in enumerate(texts) if not _EVENT.fullmatch(text)), 0)
    raise InputError(
        f"{path}: line {line + bad}: {texts[bad][:60].decode(errors='replace')!r} is no event "
        "(MS + BYTES, MS # BYTES, MS - BYTES DELAY, MS d PACKETS BYTES); give mm-link's own output"
    )


def _check(events: pd.DataFrame, headers: dict, path: Path) -> None:
    """Raise InputError for events that contradict each other or the header."""
    t, kind, size = (events[name].to_numpy() for name in ("t", "kind", "bytes"))
    line = events["line"].to_numpy()
    back = np.flatnonzero(np.diff(t) < 0)
    if len(back):
        raise InputError(
            f"{path}: line {line[back[0] + 1]}: the clock goes back from {t[back[0]]} to {t[back[0] + 1]} ms; record again"
        )
    if t[0] < headers["base"]:
        raise InputError(
            f"{path}: line {line[0]}: {t[0]} ms is before the base timestamp {headers['base']}; give one log"
        )
    readings.check_span(str(path), headers["base"] / MS_PER_S, float(t[-1]) / MS_PER_S)
    is_drop, out, into, could = (kind == ord(each) for each in "d-+#")
    wrong = np.flatnonzero(~is_drop & ((size < 1) | (size > MAX_PACKET_BYTES)))
    if len(wrong):
        raise InputError(
            f"{path}: line {line[wrong[0]]}: {size[wrong[0]]} bytes are not between 1 and {MAX_PACKET_BYTES}"
        )
    waiting = np.cumsum(np.where(into, 1, np.where(out, -1, np.where(is_drop, -events["packets"].to_numpy(), 0))))
    wrong = np.flatnonzero(waiting < 0)
    if len(wrong):
        raise InputError(
            f"{path}: line {line[wrong[0]]}: more packets have left or been dropped than arrived; give the whole log"
        )
    left = np.cumsum(np.where(out, size, 0)) - np.cumsum(np.where(could, size, 0))
    wrong = np.flatnonzero(left > 0)
    if could.any() and len(wrong):
        raise InputError(f"{path}: line {line[wrong[0]]}: more bytes have left than could (#); give the whole log")
    came = t[out] - events["delay"].to_numpy()[out]
    arrivals = pd.MultiIndex.from_arrays([t[into], size[into]]).value_counts()
    departures = pd.MultiIndex.from_arrays([came, size[out]]).value_counts()
    known = arrivals.reindex(departures.index).fillna(0).to_numpy()
    wrong = np.flatnonzero(known < departures.to_numpy())
    if len(wrong):
        at, in_bytes = departures.index[wrong[0]]
        row = np.flatnonzero((came == at) & (size[out] == in_bytes))[0]
        raise InputError(
            f"{path}: line {line[out][row]}: a packet of {in_bytes} bytes leaves that did not arrive at {at} ms; "
            "give the whole log"
        )


def _link(events: pd.DataFrame, t_s: np.ndarray, stop_s: float) -> pd.DataFrame:
    """What left, was dropped and waited in intervals of `LINK_BIN_S`, in the columns of a trace."""
    kind = events["kind"].to_numpy()
    bins = np.floor(t_s / LINK_BIN_S + 1e-6).astype(np.int64)
    count = int(bins[-1]) + 1
    out, into, is_drop = (kind == ord(each) for each in "-+d")
    packets = events["packets"].to_numpy()
    waiting = np.cumsum(np.bincount(bins, np.where(into, 1, np.where(out, -1, np.where(is_drop, -packets, 0))), count))
    table = pd.DataFrame(
        {
            "t_s": (np.arange(count) + 1) * LINK_BIN_S,
            "direction": "forward",
            "forwarded_bytes": np.cumsum(np.bincount(bins, np.where(out, events["bytes"].to_numpy(), 0), count)),
            "dropped_pkts": np.cumsum(np.bincount(bins, np.where(is_drop, packets, 0), count)),
            "queue_pkts": waiting,
        }
    )
    return table[LINK].astype({name: np.float64 for name in ("forwarded_bytes", "dropped_pkts", "queue_pkts")})
