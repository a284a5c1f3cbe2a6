"""The result of a reader: flows recorded by their tool, each on its own clock, before they become one trace.

A reader is a module of this package with

- ``NAME``: its name in ``format:`` of a trace.yaml;
- ``ACCEPTS``: its formats in a few words, for messages;
- ``sniff(path) -> bool``: whether a file (for ``testbed``: a folder) is one of them, by its beginning; never raises;
- ``read(path, said) -> Observed``: all flows in it. ``said`` is the `Sidecar`; a reader need not infer its statements.

A reader refuses (InputError, one line) damaged, truncated or contradictory content. `compose` does the checks for all
formats: flows that occur twice, starts against clocks, goodput against the link, RTT against its minimum, gaps,
lengths. It marks time without observation (``gaps_s``) and never inserts zeros, which would mean starvation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tcpfair.runs.recorded import UNKNOWN_CC

Floats = NDArray[np.float64]
Gaps = tuple[tuple[float, float], ...]  # from, to: without observation, in s

CC_NAME = re.compile(r"[A-Za-z0-9_-]{1,16}")  # of an algorithm: TCP_CA_NAME_MAX is 16

WINDOWS = ["t_s", "cwnd_pkts", "ssthresh_pkts", "srtt_s"]
EVENTS = ["t_s", "kind", "cwnd_before", "cwnd_after", "w_max", "k_s"]
LINK = ["t_s", "forwarded_bytes", "dropped_pkts", "queue_pkts"]  # totals until t_s, except the queue


# created once: a log may have thousands of flows
NO_WINDOWS, NO_EVENTS = (
    pd.DataFrame({name: pd.Series(dtype="object" if name == "kind" else "float64") for name in columns})
    for columns in (WINDOWS, EVENTS)
)


def end_of(text: str) -> str:
    """Host with port of an address: without interface and the prefix of mapped ones, IPv6 in brackets."""
    host, _, port = text.rpartition(":")
    host = host.split("%")[0].strip("[]").removeprefix("::ffff:")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True)
class ObservedFlow:
    """One flow of one file. All times count from its own zero, which ``clock_s`` places on the wall clock."""

    name: str  # its name in file or tool, unique in the file; used in trace.yaml
    file: Path
    times_s: Floats  # (readings,) increasing: when its running total was read
    total_bytes: Floats  # (readings,) never falling: bytes delivered until then, 0 at its start
    interval_s: float  # between readings, usually
    origin: str  # origin of these numbers, "receiver: ..." or "sender: ..."
    cc: str = UNKNOWN_CC
    # reverse: opposite to the others, so not on the same bottleneck
    direction: Literal["forward", "reverse"] = "forward"
    rtt_s: float = np.nan  # smallest measured
    clock_s: float | None = None  # seconds since 1970 at its zero
    clock_error_s: float = 0.0  # its error: 1 for whole seconds
    offset_s: float | None = None  # start in the run as stated by the user, in a title
    identity: frozenset[str] = frozenset()  # cookie, addresses with ports and start: no two flows share one
    ends: tuple[str, str] = ("", "")  # address:port that the data come from, and that they go to
    total_received_bytes: Floats | None = None  # (readings,) the same for first arrivals, in order or not
    windows: pd.DataFrame = field(default_factory=lambda: NO_WINDOWS)  # at every poll
    events: pd.DataFrame = field(default_factory=lambda: NO_EVENTS)
    mss_bytes: float = np.nan  # bytes of a packet of its windows
    gaps_s: Gaps = ()
    clock_steps_s: tuple[float, ...] = ()  # where the tool's clock jumped; later times are corrected

    @property
    def start_s(self) -> float:
        """When its first byte could come, on its own clock."""
        return float(self.times_s[0])

    @property
    def stop_s(self) -> float:
        """When it was last read, on its own clock."""
        return float(self.times_s[-1])


@dataclass(frozen=True)
class ObservedLink:
    """Polls of the bottleneck, forward, in the columns `LINK`, on a separate clock."""

    table: pd.DataFrame
    clock_s: float | None = None


@dataclass(frozen=True)
class Observed:
    """The content of one file or folder."""

    backend: str  # the tool; becomes ``runs.backend``
    flows: tuple[ObservedFlow, ...]
    files: tuple[Path, ...]  # used files
    # of the scenario, as columns of ``runs``: capacity_bps, ...
    parameters: dict[str, float] = field(default_factory=dict)
    link: ObservedLink | None = None
    has_own_zero: bool = False  # offset_s of its flows is relative to this file, not to others
    duration_s: float | None = None  # of the run, where the recording states it; else until its last reading
    provenance: dict[str, str] = field(default_factory=dict)  # further lines of the manifest, such as the kernel
    remarks: tuple[str, ...] = ()  # inferences and omissions with reasons: one sentence each, shown to the user
