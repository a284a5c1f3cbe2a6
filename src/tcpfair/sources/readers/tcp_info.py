"""Polls of the Linux kernel's TCP_INFO as CSV: what ``ss -ti`` shows, one line per socket and poll, plain or gzipped.

Columns used: t (wall clock, s), sport, cc, ca_state, cwnd, ssthresh (packets), rtt_us, min_rtt_us, total_retrans,
bytes_acked; others may stand beside them. Of several sockets the one that got most bytes acknowledged is the data
connection, the others are iperf3's control connections. Its first polls may show the system's algorithm, which iperf3
replaces before it sends data: they are left out.

A poll sees a loss only afterwards, so a loss is dated by the first poll that shows it. The window at the loss is
worked out from ssthresh, by Linux's own rule, for Reno and CUBIC; for others it is the largest polled one, which can
miss the peak of slow start by half. An ssthresh that changes without retransmission is no loss: HyStart leaving slow start.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.contract.trace import empty
from tcpfair.errors import InputError
from tcpfair.models import kernel
from tcpfair.sources.readers.observed import Observed, ObservedFlow
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import check_increasing, head, read_csv

NAME = "tcp_info"
ACCEPTS = "TCP_INFO polls (a .csv or .csv.gz file with columns t,sport,cc,ca_state,cwnd,ssthresh,...)"

BACKEND = "tcp_info"
MICROSECONDS_PER_S = 1e6
U32_MAX = 2**32 - 1
COOKIE_BYTES = 38  # iperf3's first 37 on each connection, and the SYN, which the kernel counts
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
CA_RECOVERY, CA_LOSS = 3, 4  # enum tcp_ca_state: Open, Disorder, CWR, Recovery (fast), Loss (timeout)
INFINITE_SSTHRESH = 0x7FFFFFFF
CWND_AT_LOSS: dict[str, Callable[[int], int]] = {
    "reno": kernel.reno_cwnd_at_loss_pkts,
    "cubic": kernel.cubic_cwnd_at_loss_pkts,
}


def sniff(path: Path) -> bool:
    """Whether ``path`` is a CSV whose first line names the columns of TCP_INFO."""
    return path.is_file() and set(COLUMNS) <= set(head(path).split("\n")[0].strip().split(","))


def read(path: Path, said: Sidecar) -> Observed:
    """The data connection of the file, goodput being the bytes acknowledged from poll to poll.

    Raises InputError as `read_polls` does.
    """
    polls = read_polls(path)
    if len(polls) < 2:
        raise InputError(f"{path}: one poll of the data connection; at least two are needed")
    t_s = (polls["t"] - polls["t"].iloc[0]).to_numpy()
    acked_bytes = polls["bytes_acked"].to_numpy(dtype=float)
    flow = ObservedFlow(
        name=path.name,
        file=path,
        times_s=t_s,
        total_bytes=acked_bytes - acked_bytes[0],
        interval_s=round(float(np.median(np.diff(t_s))), 3),
        origin="sender: bytes_acked",
        cc=polls["cc"].iloc[0],
        rtt_s=polls["min_rtt_us"].iloc[-1] / MICROSECONDS_PER_S,
        clock_s=float(polls["t"].iloc[0]),
        windows=pd.DataFrame({"t_s": t_s, **windows(polls)}),
        events=events(polls, t_s, flow_id=1).drop(columns=["run_id", "flow_id"]),
    )
    return Observed(BACKEND, (flow,), (path,))


def read_polls(path: Path) -> pd.DataFrame:
    """The polls of the data connection in the columns of `COLUMNS`, t increasing.

    Raises InputError, naming file and column, for a damaged file, a missing column, a value that is no number or that
    no kernel writes, and for a clock or counter that runs backwards.
    """
    table = read_csv(path, COLUMNS)
    acked_bytes = table.groupby("sport")["bytes_acked"].last()
    polls = from_choice_of_algorithm(table[table["sport"] == acked_bytes.idxmax()])
    check_increasing(polls, "t", ("total_retrans", "bytes_acked"), path)
    if polls["cc"].nunique() > 1:
        raise InputError(f"{path}: cc: changes after data were sent; give the polls of one run with one algorithm")
    return polls


def from_choice_of_algorithm(polls: pd.DataFrame) -> pd.DataFrame:
    """The polls of one socket without those of another algorithm before it sent any data."""
    is_early = (polls["cc"] != polls["cc"].iloc[-1]) & (polls["bytes_acked"] <= COOKIE_BYTES)
    return polls[~is_early.cummin()].reset_index(drop=True)


def windows(polls: pd.DataFrame) -> dict[str, np.ndarray]:
    """cwnd_pkts, ssthresh_pkts (infinite before the first exit from slow start) and srtt_s, each of shape (polls,)."""
    ssthresh_pkts = polls["ssthresh"].to_numpy(dtype=np.float64)
    return {
        "cwnd_pkts": polls["cwnd"].to_numpy(dtype=np.float64),
        "ssthresh_pkts": np.where(ssthresh_pkts >= INFINITE_SSTHRESH, np.inf, ssthresh_pkts),
        "srtt_s": polls["rtt_us"].to_numpy() / MICROSECONDS_PER_S,
    }


def events(polls: pd.DataFrame, t_s: np.ndarray, flow_id: int) -> pd.DataFrame:
    """Losses, timeouts and ends of recovery of one flow, with polls at ``t_s`` (polls,): the table of the trace.

    Of a loss, cwnd_after is ssthresh, at which Linux's recovery ends; w_max and k_s are CUBIC's by the kernel's rule
    and constants (`tcpfair.models.kernel`), NaN for other algorithms and after a timeout, which makes CUBIC forget.
    """
    cc = polls["cc"].iloc[0]
    cwnd_pkts, ssthresh_pkts = polls["cwnd"].to_numpy(), polls["ssthresh"].to_numpy()
    lost, timed_out, recovered = _transitions(polls)
    rows = []
    last_w_max_pkts = 0
    epoch_start = 0
    for i in np.flatnonzero(lost | timed_out | recovered):
        if lost[i] or timed_out[i]:
            peak_pkts = int(cwnd_pkts[epoch_start:i].max())
            epoch_start = i
        if timed_out[i]:
            rows.append((t_s[i], "rto", peak_pkts, cwnd_pkts[i], np.nan, np.nan))
            last_w_max_pkts = 0
        elif lost[i]:
            before_pkts = CWND_AT_LOSS[cc](int(ssthresh_pkts[i])) if cc in CWND_AT_LOSS else peak_pkts
            w_max_pkts = k_s = np.nan
            if cc == "cubic":
                w_max_pkts = last_w_max_pkts = kernel.cubic_w_max_pkts(before_pkts, last_w_max_pkts)
                k_s = kernel.cubic_k_s(w_max_pkts, ssthresh_pkts[i])
            rows.append((t_s[i], "loss", before_pkts, ssthresh_pkts[i], w_max_pkts, k_s))
        if recovered[i]:
            rows.append((t_s[i], "recovery_end", cwnd_pkts[i - 1], cwnd_pkts[i], np.nan, np.nan))
    if not rows:
        return empty("events")
    table = pd.DataFrame(rows, columns=["t_s", "kind", "cwnd_before", "cwnd_after", "w_max", "k_s"])
    table.insert(0, "flow_id", flow_id)
    table.insert(0, "run_id", 0)
    return table.astype({"cwnd_before": "float64", "cwnd_after": "float64"})


def _transitions(polls: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which polls are the first to show a loss, a timeout, the end of a recovery: three masks of shape (polls,)."""
    state = polls["ca_state"].to_numpy()
    before = np.concatenate([state[:1], state[:-1]])
    cut = polls["ssthresh"].diff().fillna(0).to_numpy() != 0
    resent = polls["total_retrans"].diff().fillna(0).to_numpy() > 0
    timed_out = (state == CA_LOSS) & (before != CA_LOSS)
    lost = (((state == CA_RECOVERY) & (before < CA_RECOVERY)) | (cut & resent)) & ~timed_out
    # a recovery between two polls begins and ends in the later one
    recovered = (state < CA_RECOVERY) & ((before >= CA_RECOVERY) | lost)
    return lost, timed_out, recovered
