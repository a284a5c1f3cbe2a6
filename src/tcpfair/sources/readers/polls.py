"""Sockets as a kernel showed them poll by poll: what the readers of TCP_INFO, ``ss`` and tcp_probe share.

A reader puts its polls into a `PollStore`, which bounds memory, and makes an `ObservedFlow` of each socket with data.

A poll sees a loss only afterwards, so a loss is dated by the first poll that shows it. The window at the loss is worked
out from ssthresh, by Linux's own rule, for Reno and CUBIC; for others it is the largest polled one, which can miss the
peak of slow start by half. An ssthresh that changes without retransmission is no loss: HyStart leaving slow start.

ssthresh is a whole number, so that two windows can have the same. Where that leaves open whether CUBIC's fast convergence
acted (a loss at its last W_max or one packet below), the windows of the next epoch decide it; where they cannot, W_max and
K are NaN: undecided.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.models import cubic, kernel
from tcpfair.sources.readers.observed import EVENTS, WINDOWS, Floats, Observed, ObservedFlow
from tcpfair.sources.readers.sidecar import SaidFlow, Sidecar
from tcpfair.units import MS_PER_S

MICROSECONDS_PER_S = 1e6
COOKIE_BYTES = 38  # iperf3's first 37 on each connection, and the SYN, which the kernel counts
CA_OPEN, CA_RECOVERY, CA_LOSS = 0, 3, 4  # enum tcp_ca_state: Open, Disorder, CWR, Recovery (fast), Loss (timeout)
INFINITE_SSTHRESH = 0x7FFFFFFF
CWND_AT_LOSS: dict[str, Callable[[int], int]] = {
    "reno": kernel.reno_cwnd_at_loss_pkts,
    "cubic": kernel.cubic_cwnd_at_loss_pkts,
}

MAX_ROWS = 4_000_000  # of polls in memory, 50 bytes each and as much again in the flows; beyond it they are thinned
MAX_POLLS = 30_000_000
MAX_SOCKETS = 100_000
MAX_DURATION_S = 86_400.0
MAX_BYTES_PER_S = 1.25e12  # 10 Tb/s: no link is faster
FEWEST_DECIDING_POLLS = 6
SAME_TIME_S = 1e-3  # closer than any poll
LONGEST_RTT_S = 4.0  # longer ones are units mistaken
PARTS_OF_SECOND = (1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125, 200, 250, 500, 1000)

# of a connection beside larger ones: iperf3's control connection and the like
CONTROL_SHARE = 0.01
CONTROL_BYTES, FEW_BYTES = 1_000_000, 16_384
NAMED_AT_MOST = 4


# --- windows and events of one socket ------------------------------------------------------------------------------


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


def losses(polls: pd.DataFrame, t_s: Floats) -> pd.DataFrame:
    """Losses, timeouts and ends of recovery of one socket, with polls at ``t_s`` (polls,): the columns `EVENTS`.

    Of a loss, cwnd_after is ssthresh, at which Linux's recovery ends; w_max and k_s are CUBIC's by the kernel's rule
    and constants (`tcpfair.models.kernel`), NaN for other algorithms, after a timeout, which makes CUBIC forget, and
    where a tie of integer windows stays undecided.
    """
    cc = polls["cc"].iloc[0]
    cwnd_pkts, ssthresh_pkts = polls["cwnd"].to_numpy(), polls["ssthresh"].to_numpy()
    lost, timed_out, recovered = _transitions(polls)
    rows: list[tuple] = []
    cut: list[int] = []  # of each row the poll of a loss or timeout, -1 for other events
    epoch_start = 0
    for i in np.flatnonzero(lost | timed_out | recovered):
        if lost[i] or timed_out[i]:
            # of two cuts in consecutive polls the second's epoch has the first's poll
            before_pkts = int(cwnd_pkts[epoch_start:i].max()) if i > epoch_start else int(cwnd_pkts[i])
            if lost[i] and cc in CWND_AT_LOSS:
                before_pkts = CWND_AT_LOSS[cc](int(ssthresh_pkts[i]))
            kind, after_pkts = ("loss", ssthresh_pkts[i]) if lost[i] else ("rto", cwnd_pkts[i])
            rows.append((t_s[i], kind, before_pkts, after_pkts, np.nan, np.nan))
            cut.append(i)
            epoch_start = i
        if recovered[i]:
            rows.append((t_s[i], "recovery_end", cwnd_pkts[max(i - 1, 0)], cwnd_pkts[i], np.nan, np.nan))
            cut.append(-1)
    table = pd.DataFrame(rows, columns=EVENTS).astype({name: "float64" for name in EVENTS if name != "kind"})
    if cc == "cubic" and len(table):
        w_max_pkts = _cubic_w_max(polls, t_s, table, np.array(cut))
        table["w_max"] = w_max_pkts
        table["k_s"] = np.cbrt(np.maximum(w_max_pkts - table["cwnd_after"], 0.0) / kernel.CUBIC_C)
    return table


def _transitions(polls: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which polls are the first to show a loss, a timeout, the end of a recovery: three masks of shape (polls,)."""
    state = polls["ca_state"].to_numpy()
    before = np.concatenate([state[:1], state[:-1]])
    cut, resent = (np.r_[0, np.diff(polls[name].to_numpy())] for name in ("ssthresh", "total_retrans"))
    cut, resent = cut != 0, resent > 0
    timed_out = (state == CA_LOSS) & (before != CA_LOSS)
    lost = (((state == CA_RECOVERY) & (before < CA_RECOVERY)) | (cut & resent)) & ~timed_out
    # a recovery between two polls begins and ends in the later one
    recovered = (state < CA_RECOVERY) & ((before >= CA_RECOVERY) | lost)
    return lost, timed_out, recovered


class _WMax(NamedTuple):
    """One W_max that the kernel can have, and whether fast convergence made it."""

    pkts: int
    converged: bool


def _cubic_w_max(polls: pd.DataFrame, t_s: Floats, table: pd.DataFrame, cut: np.ndarray) -> Floats:
    """W_max in packets after each event (events,); NaN for what is no loss, and where nothing decides.

    Each loss has the windows that its ssthresh allows, each W_max before it the values that are still possible. While
    both answers to "below the last W_max?" are, the growth after it is asked.
    """
    found = np.full(len(table), np.nan)
    last: set[int] = {0}  # before the first loss and after a timeout there is none
    shown = table[["kind", "cwnd_before", "cwnd_after"]].itertuples(name=None)
    for row, kind, before_pkts, after_pkts in shown:
        if kind == "rto":
            last = {0}
        if kind != "loss":
            continue
        pkts = int(before_pkts)
        at_loss = [pkts] + [pkts + 1] * (kernel.cubic_ssthresh_pkts(pkts + 1) == int(after_pkts))
        possible = {_WMax(kernel.cubic_w_max_pkts(one, other), one < other) for one in at_loss for other in last}
        if len({one.converged for one in possible}) > 1:
            possible = _by_growth(polls, t_s, table, cut, row, possible)
        ways = {one.converged for one in possible}
        if len(ways) == 1:
            # of the two windows with one ssthresh the smaller is told, as in cwnd_before
            found[row] = kernel.cubic_w_max_pkts(pkts, pkts + 1 if True in ways else 0)
        last = {one.pkts for one in possible}
    return found


def _by_growth(
    polls: pd.DataFrame, t_s: Floats, table: pd.DataFrame, cut: np.ndarray, row: int, possible: set[_WMax]
) -> set[_WMax]:
    """Those of ``possible`` whose curve the windows between this loss and the next follow; all when that is not clear."""
    state, cwnd_pkts = polls["ca_state"].to_numpy(), polls["cwnd"].to_numpy(dtype=np.float64)
    later = cut[row + 1 :][cut[row + 1 :] >= 0]
    stop = int(later[0]) if len(later) else len(t_s)
    start = int(cut[row])
    while start < stop and state[start] >= CA_RECOVERY:
        start += 1
    if stop - start < FEWEST_DECIDING_POLLS:
        return possible
    ahead_s = np.nan_to_num(smallest_rtt_s(polls))  # Linux aims at the window one smallest RTT ahead
    after_pkts = float(table["cwnd_after"].iloc[row])
    off_pkts = {}
    for converged in (False, True):
        w_max_pkts = np.mean([one.pkts for one in possible if one.converged is converged])
        k_s = kernel.cubic_k_s(w_max_pkts, after_pkts)
        curve = cubic.window_pkts(t_s[start:stop] - t_s[start] + ahead_s, k_s, w_max_pkts, kernel.CUBIC_C)
        off_pkts[converged] = float(np.sqrt(np.mean((cwnd_pkts[start:stop] - curve) ** 2)))
    better = min(off_pkts, key=off_pkts.__getitem__)
    clear = off_pkts[better] < 0.5 * off_pkts[not better] and off_pkts[better] < 0.05 * after_pkts
    return {one for one in possible if one.converged is better} if clear else possible


# --- many sockets --------------------------------------------------------------------------------------------------


class Socket(NamedTuple):
    """One end of a connection, as it is told apart from others; what a tool does not say is ''."""

    local: str  # address with port, or the port alone
    peer: str
    cookie: str = ""
    hosts: frozenset[str] = frozenset()  # the two addresses


STORED = {
    "socket": np.int32,
    "poll": np.int32,
    "cc": np.int16,
    "ca_state": np.int8,
    "cwnd": np.uint32,  # 0 where it is not shown
    "ssthresh": np.uint32,
    "rtt_us": np.uint32,
    "min_rtt_us": np.uint32,
    "total_retrans": np.uint32,
    "bytes_acked": np.int64,
    "bytes_received": np.int64,
}
BUSY = {"busy_ms": np.uint32}  # how long there were data in flight; of readers whose tool shows it, 0 where it does not
_KEPT_ON_CHANGE = ("cc", "ca_state", "ssthresh", "total_retrans")


class PollStore:
    """Polls of all sockets of one recording, in columns; memory is bounded by thinning them in time.

    While there are more than ``MAX_ROWS``, of each socket the last poll in ever longer intervals is kept, and all polls
    around a change of state, ssthresh or retransmissions, so that no loss is missed.
    """

    def __init__(self, path: Path, bin_s: float = 0.0, own: dict[str, type] | None = None) -> None:
        self.kinds = STORED | (own or {})  # columns of all readers, and of one
        self.path = path
        self.bin_s = self.asked_bin_s = bin_s
        self.thinned = self._is_even = False
        self.sockets: dict[Socket, int] = {}
        self.ccs: dict[str, int] = {}
        self.times_s = array("d")  # of each poll
        self._parts: list[dict[str, np.ndarray]] = []
        self._rows = 0

    def poll(self, t_s: float) -> int:
        """Begin a poll at ``t_s``; its number."""
        self.polls(np.array([t_s]))
        return len(self.times_s) - 1

    def polls(self, times_s: Floats) -> None:
        """Begin polls at these times. Raises InputError for more than any test has."""
        if len(self.times_s) + len(times_s) > MAX_POLLS:
            raise InputError(f"{self.path}: more than {MAX_POLLS} polls; give the recording in parts")
        self.times_s.frombytes(np.asarray(times_s, dtype=np.float64).tobytes())

    def socket(self, key: Socket) -> int:
        """Number of a socket. Raises InputError for more than any test has."""
        if key not in self.sockets and len(self.sockets) >= MAX_SOCKETS:
            raise InputError(f"{self.path}: more than {MAX_SOCKETS} sockets; poll the ports of the flows only")
        return self.sockets.setdefault(key, len(self.sockets))

    def cc(self, name: str) -> int:
        """Number of an algorithm."""
        if name not in self.ccs and len(self.ccs) > 1000:
            raise InputError(f"{self.path}: more than 1000 names of congestion control; give the tool's own output")
        return self.ccs.setdefault(name, len(self.ccs))

    def add(self, columns: dict[str, np.ndarray]) -> None:
        """Append polls, all columns of ``kinds`` in arrays of one length."""
        self._parts.append({name: np.asarray(columns[name]).astype(kind) for name, kind in self.kinds.items()})
        self._rows += len(columns["socket"])
        if self._rows > MAX_ROWS:
            self._thin()

    def sorted_rows(self) -> dict[str, np.ndarray]:
        """All rows, socket by socket, in the order in which they came."""
        parts = self._parts or [{name: np.zeros(0, kind) for name, kind in self.kinds.items()}]
        # column by column: never twice everything
        together = {name: np.concatenate([part.pop(name) for part in parts]) for name in self.kinds}
        order = np.argsort(together["socket"], kind="stable")
        for name in self.kinds:
            together[name] = together[name][order]
        self._parts, self._rows = [together], len(order)
        return together

    def _thin(self) -> None:
        if self.bin_s:
            self._thin_once()
        while self._rows > MAX_ROWS // 2:
            self.bin_s = 2 * self.bin_s or 0.2
            if self.bin_s > MAX_DURATION_S:
                raise InputError(f"{self.path}: {self._rows} changes of state; give the recording in parts")
            self._thin_once()

    def _thin_once(self) -> None:
        self.thinned = True
        self.keep(self._telling(self.sorted_rows(), np.array(self.times_s)))

    def keep(self, wanted: np.ndarray) -> None:
        """Keep the rows of `sorted_rows` that a mask names."""
        rows = {name: values[wanted] for name, values in self.sorted_rows().items()}
        self._parts, self._rows = [rows], len(rows["socket"])

    def _telling(self, rows: dict[str, np.ndarray], times_s: Floats) -> np.ndarray:
        """Rows that are the last of their interval, or beside a change."""
        place = np.floor(times_s[rows["poll"]] / self.bin_s)
        socket = rows["socket"]
        if not len(socket):
            return np.zeros(0, dtype=bool)
        other = np.r_[True, socket[1:] != socket[:-1]]  # first of its socket
        changed = other.copy()
        for name in _KEPT_ON_CHANGE:
            changed[1:] |= rows[name][1:] != rows[name][:-1]
        last = np.r_[other[1:] | (place[1:] != place[:-1]), True]
        return last | changed | np.r_[changed[1:], True]

    def each(self) -> Iterator[tuple[Socket, dict[str, np.ndarray]]]:
        """Every socket with its rows, in the order of their polls; thinned where the reader asked for it."""
        if self.bin_s and not self._is_even:
            self._thin_once()  # what came last too, so that intervals are alike
            self._is_even = True
        rows = self.sorted_rows()
        counts = np.bincount(rows["socket"], minlength=len(self.sockets))
        stop = 0
        for (key, _), count in zip(self.sockets.items(), counts, strict=False):
            start, stop = stop, stop + int(count)
            if count:
                yield key, {name: values[start:stop] for name, values in rows.items()}


def frame(rows: dict[str, np.ndarray], store: PollStore) -> pd.DataFrame:
    """The polls of one socket as `losses` and `windows` want them."""
    return pd.DataFrame(
        {
            "cc": pd.Categorical.from_codes(rows["cc"], list(store.ccs)),
            **{name: rows[name].astype(np.int64) for name in STORED if name not in ("socket", "poll", "cc")},
        }
    )


class Candidate(NamedTuple):
    """What may be a flow: one direction of one connection."""

    flow: ObservedFlow
    source: str  # the sender's address with port, as far as it is known
    target: str
    hosts: frozenset[str]
    first_s: float  # when it was first seen, on the clock of the file

    @property
    def total_bytes(self) -> float:
        return float(self.flow.total_bytes[-1])


def without_control_connections(
    candidates: Sequence[Candidate], said: Sidecar, path: Path
) -> tuple[list[Candidate], list[str]]:
    """Candidates that are flows, and remarks on those that are not.

    Left out are connections without data, and those with less than a hundredth of the bytes of the largest that carry a
    few kB or run beside it between the same hosts, as iperf3's control connections do; not those that trace.yaml names.
    """
    largest_bytes = max((one.total_bytes for one in candidates), default=0.0)
    flows, left = [], []
    large_from_s: dict[frozenset[str], float] = {}  # when the last large connection between these hosts began
    for one in candidates:
        if one.total_bytes > CONTROL_BYTES:
            large_from_s[one.hosts] = max(one.first_s, large_from_s.get(one.hosts, -np.inf))
    for one in candidates:
        few = one.total_bytes < CONTROL_SHARE * largest_bytes
        beside = one.first_s <= large_from_s.get(one.hosts, -np.inf)
        is_control = few and (one.total_bytes < FEW_BYTES or (one.total_bytes < CONTROL_BYTES and beside))
        is_named = said_of(said, path, one.flow.name) in said.flows
        (left if (is_control or one.total_bytes <= COOKIE_BYTES) and not is_named else flows).append(one)
    if not left:
        return flows, []
    shown = ", ".join(f"{one.flow.name} ({one.total_bytes:.0f} bytes)" for one in left[:NAMED_AT_MOST])
    more = f" and {len(left) - NAMED_AT_MOST} more" if len(left) > NAMED_AT_MOST else ""
    remark = (
        f"left out as control connection{'s' * (len(left) > 1)}, with few bytes beside the others: {shown}{more}; "
        "name it under flows: in trace.yaml if it is one"
    )
    return flows, [remark]


def gaps(times_s: Floats) -> tuple[tuple[float, float], ...]:
    """From and to of what lies between two polls that are much farther apart than the others."""
    steps_s = np.diff(times_s)
    limit_s = max(3 * float(np.median(steps_s)), 1.0)
    return tuple((float(times_s[i]), float(times_s[i + 1])) for i in np.flatnonzero(steps_s > limit_s))


def identity(source: str, target: str, cookie: str, clock_s: float | None) -> frozenset[str]:
    """What makes a connection itself: both addresses with ports, and its start as far as polls tell it.

    Of two recordings of one connection one may see it some polls later: the starts fall into overlapping intervals of
    4 s, of which two that are less than 2 s apart share one.
    """
    if not (source and target):
        return frozenset()
    ends = "tcp " + " ".join(sorted((source, target)))
    if clock_s is None:
        return frozenset({f"{ends} cookie {cookie}"} if cookie else ())
    return frozenset({f"{ends} from {4 * int(clock_s // 4)} s", f"{ends} from {4 * int((clock_s + 2) // 4) - 2} s"})


def check_counter(values: np.ndarray, times_s: Floats, what: str, where: str) -> None:
    """Raise InputError when a counter of bytes runs backwards or faster than any link."""
    rises, steps_s = np.diff(values), np.diff(times_s)
    for i in np.flatnonzero(rises < 0)[:1]:
        raise InputError(
            f"{where}: {what}: decreases from {values[i]} to {values[i + 1]}, but it counts; "
            "give one recording, in order of time"
        )
    for i in np.flatnonzero(rises > MAX_BYTES_PER_S * np.maximum(steps_s, 1e-3) + 1e7)[:1]:
        raise InputError(
            f"{where}: {what}: rises by {rises[i]} in {steps_s[i]:g} s, faster than any link; give the tool's own output"
        )


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
    """What trace.yaml says of a flow, which it names with its file where there are several."""
    in_folder = said.of(f"{path.name}#{name}")
    return in_folder if in_folder in said.flows else said.of(name)


class Clock(NamedTuple):
    """What is known of the clock of a recording."""

    is_wall: bool  # seconds since 1970; else only differences mean something
    error_s: float = 0.0
    steps_s: tuple[float, ...] = ()  # on this clock, put right


States = Callable[[dict[str, np.ndarray]], np.ndarray]  # the kernel's ca_state from what the tool shows of it


@dataclass(eq=False)
class _End:
    """One socket with its polls."""

    key: Socket
    rows: dict[str, np.ndarray]

    def meets(self, other: _End) -> bool:
        """Whether both were there at one time."""
        one, two = self.rows["poll"], other.rows["poll"]
        return bool(one[0] <= two[-1] and two[0] <= one[-1])


def observed(
    backend: str,
    store: PollStore,
    found: Sequence[Candidate],
    said: Sidecar,
    advice: str,
    remarks: tuple[Sequence[str], Sequence[str]] = ((), ()),
    *,
    counter: str = "bytes_acked",
    has_own_zero: bool = False,
) -> Observed:
    """The flows among candidates, with remarks before and after those on what was left out.

    Raises InputError, which ends with ``advice``, when no connection carried data.
    """
    kept, left = without_control_connections(found, said, store.path)
    if not kept:
        raise InputError(f"{store.path}: {counter}: no connection carried data; {advice}")
    thinned = f"too many polls for memory: one in {store.bin_s:g} s is kept, and all around losses"
    return Observed(
        backend,
        tuple(one.flow for one in kept),
        (store.path,),
        remarks=(*remarks[0], *left, *remarks[1], *([thinned] if store.bin_s > store.asked_bin_s else [])),
        has_own_zero=has_own_zero,
    )


def candidates(
    store: PollStore, times_s: Floats, clock: Clock, said: Sidecar, state: States | None = None
) -> list[Candidate]:
    """All directions of all sockets that carried data, goodput by the receiver's counter where it was polled.

    ``times_s`` are those of the store's polls. Raises InputError for counters that run backwards, an algorithm that changes,
    one poll alone.
    """
    sent, got, single = [], [], None
    for key, rows in store.each():
        acked, received = rows["bytes_acked"], rows["bytes_received"]
        if len(acked) < 2:
            single = key
            continue
        if acked[-1] >= received[-1] or acked[-1] - acked[0] > FEW_BYTES:
            sent.append(_End(key, rows))
        if received[-1] > acked[-1] or received[-1] - received[0] > FEW_BYTES:
            got.append(_End(key, rows))
    pairs = _both_ends(sent, got)
    if not pairs and single is not None:
        raise InputError(f"{store.path}: one poll of the data connection {single.local}; at least two are needed")
    names = unique_names([(source, target) for source, target, _, _ in pairs])
    totals = []
    for *_, sender, receiver in pairs:
        counted = receiver.rows["bytes_received"] if receiver else sender.rows["bytes_acked"]
        totals.append(int(counted[-1]) - int(counted[0]))
    # these will be left out, and nobody asks their windows
    small = min(FEW_BYTES, CONTROL_SHARE * max(totals, default=0))
    recording = _Recording(store, times_s, clock, said, state)
    found = [recording.candidate(*one, total >= small) for *one, total in zip(names, pairs, totals, strict=True)]
    if clock.is_wall:
        return found
    # without a wall clock the file's own tells how the flows lie to each other
    first_s = min((one.first_s for one in found), default=0.0)
    return [one._replace(flow=replace(one.flow, offset_s=one.first_s - first_s)) for one in found]


Pair = tuple[str, str, _End | None, _End | None]  # source, target, sender, receiver


def _both_ends(sent: Sequence[_End], got: Sequence[_End]) -> list[Pair]:
    """The two ends of each direction, which have different cookies but meet in time."""
    pairs: list[Pair] = []
    waiting: dict[tuple[str, str], list[_End]] = {}
    for end in got:
        waiting.setdefault((end.key.peer, end.key.local), []).append(end)
    for end in sent:
        ways = (end.key.local, end.key.peer)
        others = waiting.get(ways, []) if all(ways) else []
        other = next((one for one in others if one.meets(end)), None)
        if other is not None:
            others.remove(other)
        pairs.append((*ways, end, other))
    return pairs + [(*ways, None, end) for ways, ends in waiting.items() for end in ends]


@dataclass
class _Recording:
    """All polls of a file, and what is known of them."""

    store: PollStore
    times_s: Floats  # of the store's polls
    clock: Clock
    said: Sidecar
    state: States | None

    def candidate(self, name: str, pair: Pair, is_large: bool) -> Candidate:
        """One direction; of a small one that trace.yaml does not name the windows are left out."""
        source, target, sender, receiver = pair
        where = f"{self.store.path}: {name}" if name else str(self.store.path)
        counter = "bytes_received" if receiver else "bytes_acked"
        end = receiver or sender
        polls, early = None, 0
        stated = said_of(self.said, self.store.path, name)
        if sender and (is_large or stated in self.said.flows):
            polls, early = self._sender(sender.rows, stated, where)
        rows = {column: values[0 if receiver else early :] for column, values in end.rows.items()}
        t_s, values = self.times_s[rows["poll"]], rows[counter]
        if len(values) < 2:
            raise InputError(f"{where}: one poll of the data connection; at least two are needed")
        if (np.diff(t_s) <= 0).any():
            raise InputError(f"{where}: t: must increase from poll to poll; give one recording, in order of time")
        check_counter(values, t_s, counter, where)
        rtt_s, polled_s = smallest_rtt_s(rows if polls is None else polls), float(np.median(np.diff(t_s)))
        first_poll, before_s = int(rows["poll"][0]), None
        if first_poll > 0 and first_poll == end.rows["poll"][0] and not self.store.thinned:
            # an earlier poll did not show it yet
            before_s = float(self.times_s[first_poll - 1])
            before_s = before_s if 0 < t_s[0] - before_s <= 3 * polled_s else None
        busy_ms = None if receiver else rows.get("busy_ms")  # a receiver's own data are others
        t_s, total_bytes = _from_first_data(t_s, values, busy_ms, rtt_s, before_s)
        if t_s[-1] - t_s[0] > MAX_DURATION_S:
            raise InputError(f"{where}: lasts {t_s[-1] - t_s[0]:.0f} s; a day is the most, give the recording in parts")
        if len(t_s) > MAX_DURATION_S / 0.1:
            raise InputError(f"{where}: {len(t_s)} polls; a day at 0.1 s is the most, give the recording in parts")
        zero_s = float(t_s[0])
        clock_s = zero_s if self.clock.is_wall else None
        known: dict[str, object] = {}
        if polls is not None:
            known = _state(polls, self.times_s[sender.rows["poll"][early:]] - zero_s)
            known |= {"cc": str(polls["cc"].iloc[0])} if polls["cc"].iloc[0] else {}
        flow = ObservedFlow(
            name=name,
            file=self.store.path,
            times_s=t_s - zero_s,
            total_bytes=total_bytes,
            interval_s=_interval_s(polled_s),
            origin="receiver: bytes_received" if receiver else "sender: bytes_acked",
            rtt_s=rtt_s,
            clock_s=clock_s,
            clock_error_s=self.clock.error_s,
            identity=identity(source, target, end.key.cookie, clock_s),
            ends=(source, target),
            gaps_s=gaps(t_s - zero_s),
            clock_steps_s=tuple(step_s - zero_s for step_s in self.clock.steps_s if t_s[0] <= step_s <= t_s[-1]),
            **known,
        )
        return Candidate(flow, source, target, end.key.hosts, zero_s)

    def _sender(self, rows: dict[str, np.ndarray], stated: SaidFlow, where: str) -> tuple[pd.DataFrame, int]:
        """The polls of a sender since its choice of an algorithm, and how many there were before it."""
        polls = frame(rows, self.store)
        if self.state is not None:
            polls["ca_state"] = self.state(rows)
        if not (rows["cc"] == rows["cc"][0]).all():
            polls = from_choice_of_algorithm(polls)
            if polls["cc"].nunique() > 1:
                raise InputError(
                    f"{where}: cc: changes after data were sent; give the polls of one run with one algorithm"
                )
        elif not polls["cc"].iloc[0]:  # the tool does not tell
            polls["cc"] = stated.protocol or ""
        early = len(rows["cc"]) - len(polls)
        check_counter(polls["bytes_acked"].to_numpy(), self.times_s[rows["poll"][early:]], "bytes_acked", where)
        if (np.diff(polls["total_retrans"].to_numpy()) < 0).any():
            raise InputError(f"{where}: total_retrans: decreases, but it counts; give one recording, in order of time")
        return polls, early


def _from_first_data(
    t_s: Floats, values: np.ndarray, busy_ms: np.ndarray | None, rtt_s: float, before_s: float | None
) -> tuple[Floats, Floats]:
    """Times and running totals from the moment at which the flow began, a round trip before its first data were delivered.

    That is where iperf3's receiver begins to count and a capture shows the first data leaving; the connection is older, by
    some round trips when iperf3 agrees on the test. ``before_s``: a poll before the first that did not show the connection.
    Of a flow that was there already the first poll is the beginning. Between two polls the kernel's count of the time with
    data in flight tells the moment to a few ms; without it, it is taken to lie midway.
    """
    is_data = values > COOKIE_BYTES
    first = int(np.argmax(is_data))
    if not is_data.any() or (first == 0 and before_s is None):
        return t_s, (values - values[0]).astype(np.float64)
    base = int(values[first - 1]) if first else 0
    seen_s = float(t_s[first])
    between_s = seen_s - float(t_s[first - 1] if first else before_s)
    rtt_s = min(max(float(np.nan_to_num(rtt_s)), 0.0), LONGEST_RTT_S)
    ago_s = 0.5 * between_s  # from the first delivery to the first poll that shows it
    if busy_ms is not None and busy_ms[first] > 0:
        cookie_s = rtt_s if base > 1 else 0.0  # a round trip of it was the cookie's
        ago_s = min(max(float(busy_ms[first]) / MS_PER_S - cookie_s - rtt_s, 0.0), between_s)
    delivered_s = seen_s - ago_s
    begin_s = min(max(delivered_s - rtt_s, -np.inf if before_s is None else before_s), seen_s - SAME_TIME_S)
    zeros_s = [begin_s]
    if delivered_s - begin_s > SAME_TIME_S and seen_s - delivered_s > SAME_TIME_S:
        zeros_s.append(delivered_s)
    totals = np.concatenate([np.zeros(len(zeros_s)), values[first:] - float(base)])
    return np.concatenate([zeros_s, t_s[first:]]), totals


def _interval_s(polled_s: float) -> float:
    """The interval of a trace that suits polls so far apart: seconds are to be whole numbers of it, or it of seconds."""
    if polled_s > 1 / 1.05:
        return float(int(1.05 * polled_s))
    parts = next((n for n in PARTS_OF_SECOND if 1 / n <= 1.05 * polled_s), PARTS_OF_SECOND[-1])
    return 1 / parts


def smallest_rtt_s(polls: pd.DataFrame | dict[str, np.ndarray]) -> float:
    """The kernel's smallest RTT; where the tool does not show it, the smallest smoothed one; NaN without either."""
    for column in ("min_rtt_us", "rtt_us"):
        known_us = np.asarray(polls[column])
        if (known_us > 0).any():
            return float(known_us[known_us > 0].min()) / MICROSECONDS_PER_S
    return float("nan")


def _state(polls: pd.DataFrame, t_s: Floats) -> dict[str, pd.DataFrame]:
    """Windows and events of the sender, times from the flow's zero."""
    shown = windows(polls)
    for name in ("cwnd_pkts", "srtt_s"):
        shown[name] = np.where(shown[name] > 0, shown[name], np.nan)
    return {"windows": pd.DataFrame({"t_s": t_s, **shown})[WINDOWS], "events": losses(polls, t_s)}
