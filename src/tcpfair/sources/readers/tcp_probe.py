"""Text of the kernel's TCP probe: one line for each packet that a connection received, with its window then.

Two forms, in any packing:

- the tracepoint ``tcp:tcp_probe`` (Linux since 4.16, include/trace/events/tcp.h) as ``perf script``, ``trace-cmd report`` and
  ``trace`` or ``trace_pipe`` of tracefs print it, with the fields that versions add (family, sock_cookie, skbaddr); among other
  events;
- ``/proc/net/tcpprobe`` (module tcp_probe, removed in 4.16, net/ipv4/tcp_probe.c): time, source, destination, length, snd_nxt,
  snd_una, snd_cwnd, ssthresh, snd_wnd, srtt and since 3.11 rcv_wnd.

Goodput is the progress of snd_una, over the wraps of its 32 bits: the bytes acknowledged to the sender, in the state before the
packet of the line. Sockets that only receive show none and are omitted. Of the many lines of a flow the last in 10 ms
is kept, and those around losses.

Outside recovery the probe prints the larger of ssthresh and three quarters of the window; there only values other than
the latter count as ssthresh. A loss is an ssthresh set below the window (HyStart sets it to the window), or a window
that decreases while ssthresh stays, as after two losses at one window. Its recovery ends when all data sent until then
is acknowledged; with a window of one packet it is a timeout. Retransmissions, states and the algorithm are missing:
write ``protocol`` in trace.yaml. Clocks are those of the kernel since boot, or of the module since its file was opened:
no wall clock is known. The module's srtt is in jiffies before Linux 3.15 and in microseconds since; values that could
be either are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers import polls as polled
from tcpfair.sources.readers.observed import Observed
from tcpfair.sources.readers.polls import CA_LOSS, CA_OPEN, CA_RECOVERY, PollStore
from tcpfair.sources.readers.readings import INFINITE_SSTHRESH, U32_MAX
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import head, naming_file, pieces, refuse_first, refuse_out_of_bounds

NAME = "tcp_probe"
ACCEPTS = "text of the tracepoint tcp:tcp_probe (perf script, trace-cmd report, trace_pipe) or of /proc/net/tcpprobe"

BIN_S = 0.01
LATE_S = 1e-3  # lines of several processors may be out of order by less
MICROSECONDS_AT_LEAST = 5000  # in jiffies, seconds: no path has such an RTT

_END, _HEX, _COUNT = r"([^ \n]{3,64})", r"(?:0x)?([0-9a-f]{1,8})", r"(\d{1,10})"
_TRACEPOINT = re.compile(
    rf"^(?:[^\n]*? )?(\d{{1,10}}\.\d{{3,9}}): *(?:tcp:)?tcp_probe: (?:family=\w{{1,10}} )?src={_END} dest={_END} mark=\w{{1,12}} "
    rf"(?:data_len|length)=\d{{1,10}} snd_nxt={_HEX} snd_una={_HEX} snd_cwnd={_COUNT} ssthresh={_COUNT} snd_wnd=\d{{1,10}} "
    rf"srtt={_COUNT} rcv_wnd=\d{{1,10}}(?: sock_cookie=([0-9a-f]{{1,16}}))?(?= |$)",
    re.MULTILINE,
)
_MODULE = re.compile(
    rf"^(\d{{1,10}}\.\d{{9}}) {_END} {_END} \d{{1,10}} {_HEX} {_HEX} {_COUNT} {_COUNT} \d{{1,10}} {_COUNT}(?: \d{{1,10}})? *()$",
    re.MULTILINE,
)
# of both, "" where a form has none
COLUMNS = ["t_s", "source", "target", "nxt", "una", "snd_cwnd", "ssthresh", "srtt", "cookie"]
BOUNDS = {"snd_cwnd": (1, 2**31), "ssthresh": (0, U32_MAX), "srtt": (0, U32_MAX)}
_NAME = "tcp_probe: "
_PROBED = re.compile(rf"(?=.*snd_).*{_NAME}")
_OTHER = re.compile(r"(?!#).*\S")
_LOST = re.compile(r"\[LOST (\d{1,12}) EVENTS\]")


def sniff(path: Path) -> bool:
    """Whether the file begins with lines of the probe."""
    text = head(path).replace("\r\n", "\n")
    return bool(_MODULE.search(text) or any(_NAME in line and " snd_una=" in line for line in text.split("\n")))


# of the last line of a socket, and of all before it
_FIRST = {"bytes_acked": 0, "known": INFINITE_SSTHRESH, "recover_until": 0, "cut_ssthresh": 0, "cuts": 0}


class _Log:
    """What was read so far."""

    def __init__(self, path: Path) -> None:
        self.store = PollStore(path, is_wall=False, bin_s=BIN_S)
        self.is_module: bool | None = None
        self.last: dict[int, dict[str, float]] = {}  # line of each socket
        self.lost = 0
        self.first_other = 0  # line that is not the probe's
        self.cut: list[str] = []

    def rows(self) -> Iterator[pd.DataFrame]:
        """The probe's lines, piece by piece: ``line``, and `COLUMNS` as text."""
        for lines, block in pieces(self.store.path, self.cut):
            texts = zip(lines.tolist(), block.decode("latin-1").split("\n"), strict=False)
            rows = [row for line, text in texts if (row := self._row(line, text))]
            if self.is_module and self.first_other:
                raise InputError(f"line {self.first_other}: not of /proc/net/tcpprobe; give its text alone")
            yield pd.DataFrame(rows, columns=["line", *COLUMNS], dtype=object).astype({"line": np.int64})

    def _row(self, line: int, text: str) -> tuple[int | str, ...] | None:
        """The values of a line of the probe; None for any other line."""
        if found := _TRACEPOINT.match(text) or _MODULE.match(text):
            is_module = found.re is _MODULE
            self.is_module = is_module if self.is_module is None else self.is_module
            if self.is_module is not is_module:
                raise InputError(f"line {line}: another form of the probe than before; give one recording")
            return line, *found.groups("")
        if _PROBED.match(text):
            raise InputError(f"tcp_probe: line {line} lacks a field or has no number in it; copy it again")
        if not self.first_other and _OTHER.match(text):
            self.first_other = line
        self.lost += sum(map(int, _LOST.findall(text)))
        return None

    def keep(self, table: pd.DataFrame) -> None:
        """Add some lines to the store."""
        table = table.astype({"t_s": np.float64} | dict.fromkeys(BOUNDS, np.int64))
        refuse_out_of_bounds(table, BOUNDS)
        nxt, una = (np.array([int(text, 16) for text in table[name]]) for name in ("nxt", "una"))
        sockets = self.store.sockets_of(table[["source", "target", "cookie"]], polled.socket_of)
        table = table.assign(socket=sockets, una=una, flight=(nxt - una) % 2**32)
        parts = [self._followed(int(number), rows) for number, rows in table.groupby("socket")]
        table = pd.concat(parts).sort_index()
        poll = len(self.store.times_s) + np.arange(len(table))
        self.store.polls(table["t_s"].to_numpy())
        rows = table.assign(
            poll=poll,
            cc="",
            cwnd=table["snd_cwnd"],
            ssthresh=table["known"].clip(upper=INFINITE_SSTHRESH),
            rtt_us=table["srtt"],
            total_retrans=table["cuts"],  # each resends something
        )
        self.store.add(rows)

    def _followed(self, number: int, rows: pd.DataFrame) -> pd.DataFrame:
        """One socket's lines with times that do not run backwards, bytes_acked, the ssthresh that is known, and cuts so far."""
        line, times_s, una, flight, cwnd, ssthresh = (
            rows[name].to_numpy() for name in ("line", "t_s", "una", "flight", "snd_cwnd", "ssthresh")
        )
        last = self.last.get(number) or rows.iloc[0].to_dict() | _FIRST
        steps = np.diff(una, prepend=last["una"]) % 2**32
        is_late = np.diff(times_s, prepend=last["t_s"]) < -LATE_S
        refuse_first(steps >= 2**31, "snd_una: runs backwards in line {}; give one recording", line)
        refuse_first(is_late, "time: runs backwards in line {}; give one recording, in order of time", line)
        acked = last["bytes_acked"] + np.cumsum(steps)
        is_set = ssthresh != (cwnd >> 1) + (cwnd >> 2)
        known = _filled(ssthresh, is_set, last["known"])
        cwnd_before, ssthresh_before = np.r_[last["snd_cwnd"], cwnd[:-1]], np.r_[last["ssthresh"], ssthresh[:-1]]
        changed = is_set & (ssthresh != ssthresh_before) & (ssthresh < cwnd_before) & (cwnd <= cwnd_before)
        # a loss at the window of the loss before: the same ssthresh, and the window comes down
        shrank = (ssthresh == ssthresh_before) & (cwnd < cwnd_before) & (cwnd_before > known)
        cuts = np.zeros(len(una), dtype=np.int64)
        in_recovery = acked < last["recover_until"]
        recover_until, cut_ssthresh = last["recover_until"], last["cut_ssthresh"]
        for i in np.flatnonzero(changed | shrank).tolist():
            if acked[i] < recover_until and not (changed[i] and ssthresh[i] < cut_ssthresh):
                continue  # the window comes down step by step
            cuts[i] = 1
            recover_until, cut_ssthresh = acked[i] + flight[i], ssthresh[i]
            in_recovery[i : np.searchsorted(acked, recover_until)] = True
        # in a recovery it is printed unchanged, even if it equals three quarters of the window
        known = _filled(ssthresh, is_set | in_recovery, last["known"])
        rows = rows.assign(
            t_s=np.maximum.accumulate(np.maximum(times_s, last["t_s"])),
            bytes_acked=acked,
            known=known,
            cuts=last["cuts"] + np.cumsum(cuts),
        )
        self.last[number] = rows.iloc[-1].to_dict() | {"recover_until": recover_until, "cut_ssthresh": cut_ssthresh}
        return rows


def _filled(values: np.ndarray, known: np.ndarray, first: int) -> np.ndarray:
    """The latest known value, or ``first``."""
    return pd.Series(values).where(known).ffill().fillna(first).to_numpy(np.int64)


@naming_file
def read(path: Path, said: Sidecar) -> Observed:
    """Every connection whose sender was probed. Raises InputError naming file, field and line."""
    log = _Log(path)
    for table in log.rows():
        if len(table):
            log.keep(table)
    if not log.store.times_s:
        raise InputError("tcp_probe: no whole line of it; give the tool's own output")
    remarks = _module_rtts(log) if log.is_module else []
    rows = log.store.table()
    times_s = np.array(log.store.times_s)[rows["poll"]]
    # of the lines of a socket at one time the last counts
    log.store.keep(np.append((np.diff(rows["socket"]) != 0) | (np.diff(times_s) > 0), True))
    found = polled.candidates(log.store, said, _states)
    senders = [one for one in found if one.total_bytes[-1] > 0]
    receivers = len(found) - len(senders)
    said_of = {
        f"skipped as receivers, whose snd_una does not move: {receivers} connections": receivers,
        f"the kernel lost {log.lost} events because its buffer was full: losses may be missing": log.lost,
        "the file ends within a line, which is skipped": log.cut,
        "the RTT is the smallest smoothed one; a better one is rtt_s in trace.yaml": any(
            one.rtt_s > 0 for one in senders
        ),
    }
    after = [text for text, holds in said_of.items() if holds]
    advice = "probe at the sender while the flows run"
    return polled.observed(NAME, log.store, senders, said, advice, (remarks, after), counter="snd_una")


def _module_rtts(log: _Log) -> list[str]:
    """Omit the module's srtt if its unit is ambiguous."""
    rows = log.store.table()
    known = rows["rtt_us"][rows["rtt_us"] > 0]
    if not len(known) or np.median(known) >= MICROSECONDS_AT_LEAST:
        return []
    rows["rtt_us"] = 0
    return ["srtt may be in jiffies or in microseconds and is skipped; give rtt_s in trace.yaml"]


def _states(rows: pd.DataFrame) -> np.ndarray:
    """The kernel's ca_state, derived from the probe: from each reduction until the data in flight is acknowledged."""
    cwnd, acked, flight, cuts = (rows[name].to_numpy() for name in ("cwnd", "bytes_acked", "flight", "total_retrans"))
    state = np.full(len(cwnd), CA_OPEN)
    for i in np.flatnonzero(np.diff(cuts) > 0) + 1:
        stop = np.searchsorted(acked, acked[i] + flight[i])
        state[i : max(stop, i + 1)] = CA_LOSS if cwnd[i] == 1 else CA_RECOVERY
    return state
