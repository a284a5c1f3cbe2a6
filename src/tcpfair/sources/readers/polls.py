"""Polls of a kernel's sockets: common code of the readers of TCP_INFO, ``ss`` and tcp_probe.

A reader puts its polls into a `PollStore`, one table of bounded size. `candidates` makes an `ObservedFlow` of each socket with
data, `observed` omits those that are not flows.

A poll shows a loss only afterwards, so a loss has the time of the first poll that shows it. For Reno and CUBIC the
window at the loss follows from ssthresh by Linux's own rule. For others it is the largest polled window outside
recovery, which can miss the peak of slow start by half. An ssthresh that changes without retransmission is not a
loss: HyStart leaves slow start.

ssthresh is an integer, so two windows can have the same one. If it is then ambiguous whether CUBIC's fast convergence
acted (a loss at its last W_max or one packet below), the windows of the next epoch decide. If they cannot, W_max and K
are NaN.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.models import cubic, kernel
from tcpfair.sources.readers.observed import EVENTS, WINDOWS, Floats, Gaps, Observed, ObservedFlow, end_of
from tcpfair.sources.readers.readings import (
    INFINITE_SSTHRESH,
    MAX_BPS,
    MAX_OF_FLOW,
    MAX_SPAN_S,
    MICROSECONDS_PER_S,
    check_span,
    refuse_more,
)
from tcpfair.sources.readers.sidecar import SaidFlow, Sidecar
from tcpfair.sources.readers.text import located, refuse_first
from tcpfair.units import MS_PER_S

COOKIE_BYTES = 38  # iperf3's first 37 on each connection, and the SYN, which the kernel counts
CA_OPEN, CA_RECOVERY, CA_LOSS = 0, 3, 4  # enum tcp_ca_state: Open, Disorder, CWR, Recovery (fast), Loss (timeout)
ALGORITHM_CHANGES = "cc: changes after data were sent; give the polls of one run with one algorithm"
CWND_AT_LOSS: dict[str, Callable[[int], int]] = {
    "reno": kernel.reno_cwnd_at_loss_pkts,
    "cubic": kernel.cubic_cwnd_at_loss_pkts,
}

MAX_ROWS = 4_000_000  # of polls in memory, 60 bytes each and another 60 in the flows; above it they are thinned
MAX_POLLS = 30_000_000
MAX_SOCKETS = 100_000
MAX_ALGORITHMS = 1000
MAX_BYTES_PER_S = MAX_BPS / 8
FEWEST_DECIDING_POLLS = 6
SAME_TIME_S = 1e-3  # closer than any poll
LONGEST_RTT_S = 4.0  # longer ones have a wrong unit
PARTS_OF_SECOND = (1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125, 200, 250, 500, 1000)

# of a connection next to larger ones: iperf3's control connection and the like
CONTROL_SHARE = 0.01
CONTROL_BYTES, FEW_BYTES = 1_000_000, 16_384
NAMED_AT_MOST = 4


# --- windows and events of one socket ------------------------------------------------------------------------------


def from_choice_of_algorithm(polls: pd.DataFrame) -> pd.DataFrame:
    """The polls of one socket without those of another algorithm before it sent any data."""
    is_early = (polls["cc"] != polls["cc"].iloc[-1]) & (polls["bytes_acked"] <= COOKIE_BYTES)
    return polls[~is_early.cummin()].reset_index(drop=True)


def windows(polls: pd.DataFrame) -> dict[str, Floats]:
    """cwnd_pkts and srtt_s (NaN: not shown), ssthresh_pkts (infinite before the first exit from slow start), each (polls,)."""
    cwnd_pkts, ssthresh_pkts, rtt_us = (polls[name].to_numpy(np.float64) for name in ("cwnd", "ssthresh", "rtt_us"))
    return {
        "cwnd_pkts": np.where(cwnd_pkts > 0, cwnd_pkts, np.nan),
        "ssthresh_pkts": np.where(ssthresh_pkts >= INFINITE_SSTHRESH, np.inf, ssthresh_pkts),
        "srtt_s": np.where(rtt_us > 0, rtt_us, np.nan) / MICROSECONDS_PER_S,
    }


def losses(polls: pd.DataFrame, t_s: Floats) -> pd.DataFrame:
    """Losses, timeouts and ends of recovery of one socket, with polls at ``t_s`` (polls,): the columns `EVENTS`.

    Of a loss, cwnd_after is ssthresh, at which Linux's recovery ends; w_max and k_s are CUBIC's by the kernel's rule
    and constants (`tcpfair.models.kernel`), NaN for other algorithms, after a timeout, which resets CUBIC, and for an
    undecided tie of integer windows.
    """
    cc = polls["cc"].iloc[0]
    cwnd_pkts, ssthresh_pkts = polls["cwnd"].to_numpy(), polls["ssthresh"].to_numpy()
    grown_pkts = np.where(
        polls["ca_state"].to_numpy() < CA_RECOVERY, cwnd_pkts, 0
    )  # a recovery begins with the window before it
    lost, timed_out, recovered = _transitions(polls)
    rows: list[tuple] = []
    cut: list[int] = []  # of each row the poll of a loss or timeout, -1 for other events
    epoch_start = 0
    for i in np.flatnonzero(lost | timed_out | recovered):
        if lost[i] or timed_out[i]:
            # for two reductions in consecutive polls the second's epoch has the first's poll
            before_pkts = int(grown_pkts[epoch_start:i].max() or cwnd_pkts[epoch_start:i].max())
            if lost[i] and cc in CWND_AT_LOSS:
                before_pkts = CWND_AT_LOSS[cc](int(ssthresh_pkts[i]))
            kind, after_pkts = ("loss", ssthresh_pkts[i]) if lost[i] else ("rto", cwnd_pkts[i])
            rows.append((t_s[i], kind, before_pkts, after_pkts))
            cut.append(i)
            epoch_start = i
        if recovered[i]:
            rows.append((t_s[i], "recovery_end", cwnd_pkts[i - 1], cwnd_pkts[i]))
            cut.append(-1)
    table = pd.DataFrame(rows, columns=EVENTS[:4]).reindex(columns=EVENTS)
    table = table.astype({name: "float64" for name in EVENTS if name != "kind"})
    if cc == "cubic" and len(table):
        w_max_pkts = _cubic_w_max(polls, t_s, table, np.array(cut))
        table["w_max"] = w_max_pkts
        table["k_s"] = np.cbrt(np.maximum(w_max_pkts - table["cwnd_after"], 0.0) / kernel.CUBIC_C)
    return table


def _transitions(polls: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first polls that show a loss, a timeout, the end of a recovery: three masks of shape (polls,), not at the first."""
    state = polls["ca_state"].to_numpy()
    before = np.r_[state[:1], state[:-1]]
    cut, resent = (np.r_[0, np.diff(polls[name].to_numpy())] for name in ("ssthresh", "total_retrans"))
    timed_out = (state == CA_LOSS) & (before != CA_LOSS)
    lost = (((state == CA_RECOVERY) & (before < CA_RECOVERY)) | ((cut != 0) & (resent > 0))) & ~timed_out
    # a recovery between two polls begins and ends in the later one
    recovered = (state < CA_RECOVERY) & ((before >= CA_RECOVERY) | lost)
    return lost, timed_out, recovered


def _cubic_w_max(polls: pd.DataFrame, t_s: Floats, table: pd.DataFrame, cut: np.ndarray) -> Floats:
    """W_max in packets after each event (events,); NaN for other events, and if undecided.

    Each loss has the windows that its ssthresh allows, each W_max before it the values that are still possible. While
    both answers to "below the last W_max?" are possible, the growth after the loss decides.
    """
    found = np.full(len(table), np.nan)
    last: set[int] = {0}  # no W_max before the first loss and after a timeout
    shown = table[["kind", "cwnd_before", "cwnd_after"]].itertuples(name=None)
    for row, kind, before_pkts, after_pkts in shown:
        if kind == "rto":
            last = {0}
        if kind != "loss":
            continue
        pkts = int(before_pkts)
        at_loss = [pkts] + [pkts + 1] * (kernel.cubic_ssthresh_pkts(pkts + 1) == int(after_pkts))
        possible: dict[bool, set[int]] = {}  # W_max without and with fast convergence
        for one in at_loss:
            for other in last:
                possible.setdefault(one < other, set()).add(kernel.cubic_w_max_pkts(one, other))
        if len(possible) > 1 and "min_rtt_us" in polls:  # which some sources lack
            possible = _by_growth(polls, t_s, cut, row, after_pkts, possible)
        if len(possible) == 1:
            # of the two windows with one ssthresh the smaller is stored, as in cwnd_before
            found[row] = kernel.cubic_w_max_pkts(pkts, pkts + 1 if True in possible else 0)
        last = set().union(*possible.values())
    return found


def _by_growth(
    polls: pd.DataFrame, t_s: Floats, cut: np.ndarray, row: int, after_pkts: float, possible: dict[bool, set[int]]
) -> dict[bool, set[int]]:
    """That of ``possible`` whose curve the windows between this loss and the next follow; both when ambiguous."""
    state, cwnd_pkts = polls["ca_state"].to_numpy(), polls["cwnd"].to_numpy(dtype=np.float64)
    later = cut[row + 1 :][cut[row + 1 :] >= 0]
    stop = later[0] if len(later) else len(t_s)
    start = cut[row]
    while start < stop and state[start] >= CA_RECOVERY:
        start += 1
    if stop - start < FEWEST_DECIDING_POLLS:
        return possible
    ahead_s = np.nan_to_num(smallest_rtt_s(polls))  # Linux aims at the window one smallest RTT ahead
    off_pkts = {}
    for converged, values in possible.items():
        w_max_pkts = np.mean(list(values))
        k_s = kernel.cubic_k_s(w_max_pkts, after_pkts)
        curve = cubic.window_pkts(t_s[start:stop] - t_s[start] + ahead_s, k_s, w_max_pkts, kernel.CUBIC_C)
        off_pkts[converged] = np.sqrt(np.mean((cwnd_pkts[start:stop] - curve) ** 2))
    better = min((False, True), key=off_pkts.__getitem__)
    clear = off_pkts[better] < 0.5 * off_pkts[not better] and off_pkts[better] < 0.05 * after_pkts
    return {better: possible[better]} if clear else possible


# --- the table of all sockets --------------------------------------------------------------------------------------


class Socket(NamedTuple):
    """One end of a connection, as its identity; '' for values that a tool does not show."""

    local: str  # address with port, or the port alone
    peer: str
    cookie: str = ""


def socket_of(local: str, peer: str, cookie: str) -> Socket:
    """The socket between two addresses with ports as a tool prints them."""
    return Socket(end_of(local), end_of(peer), cookie)


STORED = {
    "socket": np.int32,
    "poll": np.int32,
    "cc": np.int16,
    "ca_state": np.int8,
    "cwnd": np.uint32,
    "ssthresh": np.uint32,
    "rtt_us": np.uint32,
    "min_rtt_us": np.uint32,
    "total_retrans": np.uint32,
    "bytes_acked": np.int64,
    "bytes_received": np.int64,
    "busy_ms": np.uint32,  # time with data in flight
    "flight": np.uint32,  # bytes
}
_KEPT_ON_CHANGE = ("cc", "ca_state", "ssthresh", "total_retrans")


class PollStore:
    """The table of all polls of all sockets of one recording; memory is bounded by thinning it in time.

    While it has more than ``MAX_ROWS``, it keeps for each socket only the last poll in ever longer intervals, and all
    polls around a change of state, ssthresh or retransmissions, so that no loss is missed. A ``bin_s`` thins it to such
    intervals in any case. ``times_s`` are the times of the polls; without ``is_wall`` only their differences are meaningful.
    """

    def __init__(self, path: Path, *, is_wall: bool, bin_s: float = 0.0) -> None:
        self.path, self.is_wall = path, is_wall
        self.clock_error_s = 0.0
        self.clock_steps_s: list[float] = []  # corrected
        self.bin_s = self.requested_bin_s = bin_s
        self.sockets: dict[Socket, int] = {}
        self.ccs: dict[str, int] = {}
        self.times_s = array("d")
        self._parts = [pd.DataFrame({name: np.zeros(0, kind) for name, kind in STORED.items()})]

    def polls(self, times_s: Sequence[float] | Floats) -> int:
        """Begin polls at these times; return the number of the last. Raises InputError for too many."""
        refuse_more(len(self.times_s) + len(times_s), MAX_POLLS, "polls; give the recording in parts")
        self.times_s.extend(times_s)
        return len(self.times_s) - 1

    def socket(self, key: Socket) -> int:
        """Number of a socket. Raises InputError for too many."""
        number = self.sockets.setdefault(key, len(self.sockets))
        refuse_more(len(self.sockets), MAX_SOCKETS, "sockets; poll the ports of the flows only")
        return number

    def sockets_of(self, ends: pd.DataFrame, key: Callable[..., Socket]) -> np.ndarray:
        """Numbers of the sockets of rows, which are each the ``key`` of the row's values."""
        codes, values = pd.MultiIndex.from_frame(ends).factorize()
        return np.array([self.socket(key(*each)) for each in values])[codes]

    def add(self, columns: Mapping[str, np.ndarray | pd.Series]) -> None:
        """Append rows: arrays of one length in the columns `STORED`; a missing one is 0, which means not shown.

        ``cc`` has names.
        """
        rows = {name: columns[name] if name in columns else np.zeros(len(columns["socket"])) for name in STORED}
        codes, names = pd.factorize(rows["cc"])
        rows["cc"] = np.array([self.ccs.setdefault(name, len(self.ccs)) for name in names], np.int64)[codes]
        refuse_more(len(self.ccs), MAX_ALGORITHMS, "names of congestion control; give the tool's own output")
        self._parts.append(pd.DataFrame({name: np.asarray(rows[name]).astype(kind) for name, kind in STORED.items()}))
        if len(self) <= MAX_ROWS:
            return
        self.thin()
        while len(self) > MAX_ROWS // 2:
            self.bin_s = 2 * self.bin_s or 0.2
            if self.bin_s > MAX_SPAN_S:
                raise InputError(f"{len(self)} changes of state; give the recording in parts")
            self.thin()

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def table(self) -> pd.DataFrame:
        """All rows, socket by socket, in their original order."""
        if len(self._parts) > 1:
            self._parts = [pd.concat(self._parts).sort_values("socket", kind="stable", ignore_index=True)]
        return self._parts[0]

    def keep(self, is_wanted: np.ndarray) -> None:
        """Keep the rows of `table` in a mask."""
        self._parts = [self.table()[is_wanted].reset_index(drop=True)]

    def thin(self) -> None:
        """Keep rows that are the last of their interval of ``bin_s``, or next to a change."""
        if not self.bin_s:
            return
        rows = self.table()
        place = np.floor(np.asarray(self.times_s)[rows["poll"]] / self.bin_s)
        is_new = np.diff(rows["socket"], prepend=-1) != 0
        begins_bin = is_new | (np.diff(place, prepend=-1) != 0)
        has_changed = is_new.copy()
        for name in _KEPT_ON_CHANGE:
            has_changed[1:] |= np.diff(rows[name]) != 0
        self.keep(has_changed | np.append((begins_bin | has_changed)[1:], True)[: len(rows)])

    def rows(self, socket: int) -> pd.DataFrame:
        """The rows of a socket, in the order of its polls: `STORED`, with t_s and the name of cc."""
        start, stop = self.table()["socket"].searchsorted([socket, socket + 1])
        rows = self.table().iloc[start:stop].astype(np.int64)
        return rows.assign(
            t_s=np.asarray(self.times_s)[rows["poll"]], cc=pd.Categorical.from_codes(rows["cc"], list(self.ccs))
        )


# --- flows ---------------------------------------------------------------------------------------------------------


class _Pair(NamedTuple):
    """One direction of a connection, and the numbers of the sockets of both ends, if polled."""

    ends: tuple[str, str]  # sender and receiver
    sender: int | None
    receiver: int | None

    @property
    def counted(self) -> tuple[int, str]:
        """The socket whose counter is the goodput, and the counter."""
        return (self.sender, "bytes_acked") if self.receiver is None else (self.receiver, "bytes_received")


States = Callable[[pd.DataFrame], np.ndarray]  # the kernel's ca_state, from the tool's output


def candidates(store: PollStore, said: Sidecar, state: States | None = None) -> list[ObservedFlow]:
    """All directions of all sockets that carried data, goodput by the receiver's counter where it was polled."""
    store.thin()
    of_socket = store.table().groupby("socket")
    first, last, counts = of_socket.first(), of_socket.last(), of_socket.size()
    rise = last - first
    acked, received, is_known = last["bytes_acked"], last["bytes_received"], counts > 1
    sends = is_known & ((acked >= received) | (rise["bytes_acked"] > FEW_BYTES))
    receives = is_known & ((received > acked) | (rise["bytes_received"] > FEW_BYTES))
    keys, seen = list(store.sockets), (first["poll"].to_dict(), last["poll"].to_dict())
    pairs = _both_ends(keys, sends[sends].index, receives[receives].index, *seen)
    if not pairs and not is_known.all():
        local = keys[counts.index[~is_known][-1]].local
        raise InputError(f"one poll of the data connection {local}; at least two are needed")
    totals = [rise.at[pair.counted] for pair in pairs]
    # smaller ones are omitted, and need no windows
    small = min(FEW_BYTES, CONTROL_SHARE * max(totals, default=0))
    names = unique_names([pair.ends for pair in pairs])
    found = []
    for name, pair, total in zip(names, pairs, totals, strict=True):
        with located(name):
            found.append(_candidate(store, said, state, name, pair, keys[pair.counted[0]], total >= small))
    if store.is_wall:
        return found
    # without a wall clock the file's own clock gives the starts of its flows relative to each other
    first_s = min((flow.offset_s for flow in found), default=0.0)
    return [replace(flow, offset_s=flow.offset_s - first_s) for flow in found]


def _both_ends(
    keys: Sequence[Socket], sent: Iterable[int], got: Iterable[int], first: Mapping[int, int], last: Mapping[int, int]
) -> list[_Pair]:
    """The two sockets of each direction, which have different cookies but overlap in time.

    ``first`` and ``last`` are the polls of each socket.
    """
    pairs: list[_Pair] = []
    waiting: dict[tuple[str, str], list[int]] = {}
    for receiver in got:
        waiting.setdefault((keys[receiver].peer, keys[receiver].local), []).append(receiver)
    for sender in sent:
        ends = keys[sender].local, keys[sender].peer
        others = waiting.get(ends, []) if all(ends) else []
        other = next((one for one in others if first[one] <= last[sender] and first[sender] <= last[one]), None)
        if other is not None:
            others.remove(other)
        pairs.append(_Pair(ends, sender, other))
    return pairs + [_Pair(ends, None, receiver) for ends, receivers in waiting.items() for receiver in receivers]


def _candidate(
    store: PollStore, said: Sidecar, state: States | None, name: str, pair: _Pair, key: Socket, is_large: bool
) -> ObservedFlow:
    """One direction; without windows for a small one that trace.yaml does not name."""
    counted, counter = pair.counted
    is_received = counted == pair.receiver
    rows, polls = store.rows(counted), None
    seen_first = rows["poll"].iloc[0]
    stated = said_of(said, store.path, name)
    if pair.sender is not None and (is_large or stated in said.flows):
        polls = _sender(store.rows(pair.sender), state, stated)
        rows = rows if is_received else polls
    t_s, values = rows["t_s"].to_numpy(), rows[counter].to_numpy()
    if len(values) < 2:
        raise InputError("one poll of the data connection; at least two are needed")
    if (np.diff(t_s) <= 0).any():
        raise InputError("t: must increase from poll to poll; give one recording, in order of time")
    _check_counter(rows, counter)
    rtt_s, polled_s = smallest_rtt_s(rows if polls is None else polls), float(np.median(np.diff(t_s)))
    first_poll, before_s = rows["poll"].iloc[0], None
    if first_poll > 0 and first_poll == seen_first and not store.bin_s:
        # an earlier poll did not show it yet
        before_s = float(store.times_s[first_poll - 1])
        before_s = before_s if 0 < t_s[0] - before_s <= 3 * polled_s else None
    busy_ms = np.zeros(len(t_s)) if is_received else rows["busy_ms"].to_numpy()  # a receiver's own data differ
    t_s, total_bytes = _from_first_data(t_s, values, busy_ms, rtt_s, before_s)
    check_span(t_s[0], t_s[-1])
    refuse_more(len(t_s), MAX_OF_FLOW, "polls, a day at 0.1 s; give the recording in parts")
    zero_s = float(t_s[0])
    clock_s = zero_s if store.is_wall else None
    known: dict[str, object] = {}
    if polls is not None:
        at_s = polls["t_s"].to_numpy() - zero_s
        known["windows"] = pd.DataFrame({"t_s": at_s, **windows(polls)})[WINDOWS]
        known["events"] = losses(polls, at_s)
        known |= {"cc": polls["cc"].iloc[0]} if polls["cc"].iloc[0] else {}
    return ObservedFlow(
        name=name,
        file=store.path,
        times_s=t_s - zero_s,
        total_bytes=total_bytes,
        interval_s=_interval_s(polled_s),
        origin=f"{'receiver' if is_received else 'sender'}: {counter}",
        rtt_s=rtt_s,
        clock_s=clock_s,
        clock_error_s=store.clock_error_s,
        offset_s=None if store.is_wall else zero_s,
        identity=identity(*pair.ends, key.cookie, clock_s),
        ends=pair.ends,
        gaps_s=gaps(t_s - zero_s),
        clock_steps_s=tuple(step_s - zero_s for step_s in store.clock_steps_s if t_s[0] <= step_s <= t_s[-1]),
        **known,
    )


def _sender(rows: pd.DataFrame, state: States | None, stated: SaidFlow) -> pd.DataFrame:
    """The polls of a sender since its choice of an algorithm."""
    if state is not None:
        rows = rows.assign(ca_state=state(rows))
    polls = from_choice_of_algorithm(rows)
    if polls["cc"].nunique() > 1:
        raise InputError(ALGORITHM_CHANGES)
    if not polls["cc"].iloc[0]:  # the tool does not show it
        polls["cc"] = stated.protocol or ""
    _check_counter(polls, "bytes_acked")
    if (np.diff(polls["total_retrans"]) < 0).any():
        raise InputError("total_retrans: decreases, but it counts; give one recording, in order of time")
    return polls


def _check_counter(rows: pd.DataFrame, name: str) -> None:
    """Raise InputError when a counter of bytes runs backwards or rises faster than any link."""
    values = rows[name].to_numpy()
    rises, steps_s = np.diff(values), np.diff(rows["t_s"])
    order = "but it counts; give one recording, in order of time"
    refuse_first(rises < 0, "{}: decreases from {} to {}, {}", name, values, values[1:], order)
    too_fast = rises > MAX_BYTES_PER_S * np.maximum(steps_s, 1e-3) + 1e7
    says = "{}: rises by {} in {:g} s, faster than any link; give the tool's own output"
    refuse_first(too_fast, says, name, rises, steps_s)


def _from_first_data(
    t_s: Floats, values: np.ndarray, busy_ms: np.ndarray, rtt_s: float, before_s: float | None
) -> tuple[Floats, Floats]:
    """Times and running totals from the moment at which the flow began, a round trip before its first data were delivered.

    Then iperf3's receiver begins to count and a capture shows the first data leaving. The connection is older, by some
    round trips when iperf3 negotiates the test. ``before_s``: a poll before the first, which did not show the
    connection. For a flow that already existed the first poll is the beginning. Between two polls the kernel's count of
    the time with data in flight gives the moment to a few ms; without it, the middle is assumed.
    """
    is_data = values > COOKIE_BYTES
    first = np.argmax(is_data)
    if not is_data.any() or (first == 0 and before_s is None):
        return t_s, (values - values[0]).astype(np.float64)
    base = values[first - 1] if first else 0
    seen_s = float(t_s[first])
    between_s = seen_s - float(t_s[first - 1] if first else before_s)
    rtt_s = min(max(np.nan_to_num(rtt_s), 0.0), LONGEST_RTT_S)
    ago_s = 0.5 * between_s  # from the first delivery to the first poll that shows it
    if busy_ms[first] > 0:
        cookie_s = rtt_s if base > 1 else 0.0  # a round trip of it was the cookie's
        ago_s = min(max(busy_ms[first] / MS_PER_S - cookie_s - rtt_s, 0.0), between_s)
    delivered_s = seen_s - ago_s
    begin_s = min(max(delivered_s - rtt_s, -np.inf if before_s is None else before_s), seen_s - SAME_TIME_S)
    zeros_s = [begin_s]
    if delivered_s - begin_s > SAME_TIME_S and seen_s - delivered_s > SAME_TIME_S:
        zeros_s.append(delivered_s)
    return np.r_[zeros_s, t_s[first:]], np.r_[[0.0] * len(zeros_s), values[first:] - base]


def _interval_s(polled_s: float) -> float:
    """The interval of a trace for this spacing of polls: it divides a second, or is a multiple of one."""
    if polled_s > 1 / 1.05:
        return float(int(1.05 * polled_s))
    parts = next((n for n in PARTS_OF_SECOND if 1 / n <= 1.05 * polled_s), PARTS_OF_SECOND[-1])
    return 1 / parts


def smallest_rtt_s(polls: pd.DataFrame) -> float:
    """The kernel's smallest RTT; where the tool does not show it, the smallest smoothed one; NaN without either."""
    for column in ("min_rtt_us", "rtt_us"):
        known_us = polls[column][polls[column] > 0]
        if len(known_us):
            return float(known_us.min()) / MICROSECONDS_PER_S
    return float("nan")


def gaps(times_s: Floats) -> Gaps:
    """From and to of each pair of polls that are much further apart than the others."""
    steps_s = np.diff(times_s)
    limit_s = max(3 * np.median(steps_s), 1.0)
    return tuple((float(times_s[i]), float(times_s[i + 1])) for i in np.flatnonzero(steps_s > limit_s))


def identity(source: str, target: str, cookie: str, clock_s: float | None) -> frozenset[str]:
    """Identity of a connection: both addresses with ports, and its start by the polls.

    Of two recordings of one connection, one may show it some polls later: the starts fall into overlapping intervals of
    4 s, of which two that are less than 2 s apart share one.
    """
    if not (source and target):
        return frozenset()
    ends = "tcp " + " ".join(sorted((source, target)))
    if clock_s is None:
        return frozenset({f"{ends} cookie {cookie}"} if cookie else ())
    return frozenset({f"{ends} from {4 * int(clock_s // 4)} s", f"{ends} from {4 * int((clock_s + 2) // 4) - 2} s"})


def unique_names(ends: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each (source, target): the source where it is unique, else the target, else both."""
    sources, targets = Counter(source for source, _ in ends), Counter(target for _, target in ends)
    names = []
    for source, target in ends:
        if source and sources[source] == 1:
            names.append(source)
        elif target and targets[target] == 1 and target not in sources:
            names.append(target)
        else:
            names.append(f"{source}>{target}")
    count = Counter(names)
    return [name if count[name] == 1 and len(name) <= 80 else f"{name[:70]}#{i}" for i, name in enumerate(names, 1)]


def said_of(said: Sidecar, path: Path, name: str) -> SaidFlow:
    """The statement of trace.yaml on a flow, named with its file if it has several."""
    in_folder = said.of(f"{path.name}#{name}")
    return in_folder if in_folder in said.flows else said.of(name)


# --- selection of flows ---------------------------------------------------------------------------------------


def _without_control_connections(
    found: Sequence[ObservedFlow], said: Sidecar, path: Path
) -> tuple[list[ObservedFlow], list[str]]:
    """Candidates that are flows, and remarks on those that are not.

    Omitted are connections without data, and those with less than a hundredth of the bytes of the largest that carry a
    few kB or run next to it between the same hosts, as iperf3's control connections do; not those that trace.yaml
    names.
    """
    totals = [flow.total_bytes[-1] for flow in found]
    about = [  # bytes, when it begins on the clock of the file, hosts
        (total, flow.offset_s if flow.clock_s is None else flow.clock_s, {end.rpartition(":")[0] for end in flow.ends})
        for flow, total in zip(found, totals, strict=True)
    ]
    few_bytes = CONTROL_SHARE * max(totals, default=0.0)
    large = [(begin_s, hosts) for total, begin_s, hosts in about if total > CONTROL_BYTES]
    flows, left = [], []
    for flow, (total, begin_s, hosts) in zip(found, about, strict=True):
        beside = any(begin_s <= other_s and hosts == others for other_s, others in large)
        is_control = total <= COOKIE_BYTES or total < min(few_bytes, CONTROL_BYTES if beside else FEW_BYTES)
        is_named = said_of(said, path, flow.name) in said.flows
        (left if is_control and not is_named else flows).append(flow)
    if not left:
        return flows, []
    shown = ", ".join(f"{flow.name} ({flow.total_bytes[-1]:.0f} bytes)" for flow in left[:NAMED_AT_MOST])
    more = f" and {len(left) - NAMED_AT_MOST} more" if len(left) > NAMED_AT_MOST else ""
    remark = (
        f"skipped as control connection{'s' * (len(left) > 1)}, with few bytes compared with the others: {shown}{more}; "
        "name it under flows: in trace.yaml if it is one"
    )
    return flows, [remark]


def observed(
    backend: str,
    store: PollStore,
    found: Sequence[ObservedFlow],
    said: Sidecar,
    advice: str,
    remarks: tuple[Sequence[str], Sequence[str]] = ((), ()),
    counter: str = "bytes_acked",
) -> Observed:
    """The flows among candidates, with remarks before and after those on omissions.

    Raises InputError, which ends with ``advice``, when no connection carried data.
    """
    kept, left = _without_control_connections(found, said, store.path)
    if not kept:
        raise InputError(f"{counter}: no connection carried data; {advice}")
    thinned = f"too many polls for memory: one in {store.bin_s:g} s is kept, and all around losses"
    return Observed(
        backend,
        tuple(kept),
        (store.path,),
        remarks=(*remarks[0], *left, *remarks[1], *([thinned] if store.bin_s > store.requested_bin_s else [])),
        has_own_zero=not store.is_wall,
    )
