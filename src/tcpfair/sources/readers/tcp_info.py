"""Polls of the Linux kernel's TCP_INFO as CSV: the values of ``ss -ti``, one line per socket and poll, plain or packed.

Columns used: t (wall clock, s), sport, cc, ca_state, cwnd, ssthresh (packets), rtt_us, min_rtt_us, total_retrans,
bytes_acked; if present also bytes_received (the receiver's own count), busy_us, which dates the first data, and
saddr, daddr, dport, cookie, which distinguish connections. Other columns are ignored. The names are those of
``struct tcp_info`` (include/uapi/linux/tcp.h) without their prefix. Lines are in the order of the polls.

Every connection with data is a flow, by bytes_acked, or where the receiver was polled by its bytes_received. iperf3's
control connections are omitted. So are the first polls of a connection, which may show the system's algorithm before
iperf3 replaces it. `polls` describes the times of losses and the use of ssthresh.

Not recorded: ACKs after the last poll, and in a file without saddr and daddr the hosts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers import polls as polled
from tcpfair.sources.readers.observed import Observed, end_of
from tcpfair.sources.readers.polls import PollStore, Socket, from_choice_of_algorithm
from tcpfair.sources.readers.readings import U32_MAX
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import (
    check_increasing,
    head,
    located,
    naming_file,
    read_csv,
    read_csv_blocks,
    refuse_first,
)

NAME = "tcp_info"
ACCEPTS = "TCP_INFO polls (a .csv or .csv.gz file with columns t,sport,cc,ca_state,cwnd,ssthresh,...)"

US_PER_MS = 1000
COUNT_MAX = 2**62  # far above any test, and differences stay within int64
COLUMNS = {  # type, least and largest value
    "t": ("float64", 0, 1e11),
    "sport": ("int64", 0, 65535),
    "cc": ("str", 0, 0),
    "ca_state": ("int64", 0, 4),
    "cwnd": ("int64", 1, U32_MAX),
    "ssthresh": ("int64", 1, U32_MAX),
    "rtt_us": ("int64", 0, U32_MAX),
    "min_rtt_us": ("int64", 1, U32_MAX),
    "total_retrans": ("int64", 0, U32_MAX),
    "bytes_acked": ("int64", 0, COUNT_MAX),
}
OPTIONAL = {
    "saddr": ("str", 0, 0),
    "daddr": ("str", 0, 0),
    "dport": ("int64", 0, 65535),
    "cookie": ("str", 0, 0),
    "bytes_received": ("int64", 0, COUNT_MAX),
    "busy_us": ("int64", 0, COUNT_MAX),
}


def sniff(path: Path) -> bool:
    """Whether ``path`` is a CSV whose first line names the columns of TCP_INFO."""
    return set(COLUMNS) <= set(_header(path))


def _header(path: Path) -> list[str]:
    return head(path).split("\n")[0].strip().split(",")


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """Every connection with data of one CSV, in the order of their first lines; ``said`` may name and keep some."""
    store = _stored(path)
    return polled.observed(NAME, store, polled.candidates(store, said), said, "poll while the flows run")


def _stored(path: Path) -> PollStore:
    """The whole file as polls. Consecutive lines with one t are one poll."""
    header = _header(path)
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice:
        raise InputError(f"{twice}: occurs twice; give each column once")
    columns = COLUMNS | {name: kind for name, kind in OPTIONAL.items() if name in header}
    store, later = PollStore(path, is_wall=True), "give one recording, in order of time"
    for table in read_csv_blocks(path, columns):
        t_s = table["t"].to_numpy()
        steps_s = np.diff(t_s, prepend=store.times_s[-1] if store.times_s else -np.inf)
        refuse_first(steps_s < 0, "t: must increase from row to row (line {}); {}", table.index, later)
        poll = len(store.times_s) - 1 + np.cumsum(steps_s > 0)
        store.polls(t_s[steps_s > 0])
        ends = table.reindex(columns=["saddr", "sport", "daddr", "dport", "cookie"], fill_value="")
        sockets = store.sockets_of(ends, _socket)
        if "busy_us" in table:
            table["busy_ms"] = table["busy_us"] // US_PER_MS
        store.add(table.assign(socket=sockets, poll=poll))
    return store


def _socket(source: str, source_port: int, target: str, target_port: int | str, cookie: str) -> Socket:
    local, peer = (
        end_of(f"{address}:{port}") if address and port != "" else str(port)
        for address, port in ((source, source_port), (target, target_port))
    )
    # a port alone does not identify an end of a connection across recordings
    return Socket(local, peer, cookie) if source or target else Socket(local, "", cookie or peer)


# --- of the one data connection of a run of the testbed ------------------------------------------------------------


def read_polls(path: Path) -> pd.DataFrame:
    """The polls of the data connection in the columns of `COLUMNS`, t increasing."""
    table = read_csv(path, COLUMNS)
    acked_bytes = table.groupby("sport")["bytes_acked"].last()
    polls = from_choice_of_algorithm(table[table["sport"] == acked_bytes.idxmax()])
    with located(path):
        check_increasing(polls, "t", ("total_retrans", "bytes_acked"))
        if polls["cc"].nunique() > 1:
            raise InputError(polled.ALGORITHM_CHANGES)
    return polls
