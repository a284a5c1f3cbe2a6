"""What the columns of a plain table mean: time, flow, bytes, rate, window, told by the names people usually give them.

A name is taken apart into words and numbers (``flow1_mbps``, ``time (ms)``, ``cwnd [bytes]``). Words for a quantity and for a
unit are known; what is left over is the label of a flow (``flow1``), as in tables with a column for each flow. Names with
words of other quantities (queue, drops, pacing, ...) mean nothing here. Case counts where it does in print: ``MBps`` are
bytes, ``Mbps`` bits; ``MBPS`` could be either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tcpfair.contract.recordings import SIDECAR
from tcpfair.errors import InputError
from tcpfair.sources.readers.sidecar import Sidecar

VALUES = ("total_bytes", "bytes", "rate")
# factor to s, bit/s, bytes; None where the name leaves it open
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
RATE_UNITS = {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Bps": 8.0, "kBps": 8e3, "MBps": 8e6}
BYTE_UNITS = {"B": 1.0, "kB": 1e3, "KiB": 1024.0, "MB": 1e6, "MiB": 1024.0**2}
UNITS: dict[str, dict[str, float]] = {
    "time": TIME_UNITS,
    "rate": RATE_UNITS,
    "bytes": BYTE_UNITS,
    "total_bytes": BYTE_UNITS,
    "srtt": TIME_UNITS,
    "cwnd": {"pkts": 1.0, "bytes": 1.0},
    "ssthresh": {"pkts": 1.0, "bytes": 1.0},
}
SAID_UNIT = {"total_bytes": "bytes", "ssthresh": "cwnd"}  # columns whose unit trace.yaml says under another's name

_TIME_WORDS = {"t", "time", "ts", "timestamp", "elapsed", "epoch", "datetime", "date"}
_FLOW_WORDS = {"flow", "flowid", "fid", "stream", "streamid", "connection", "conn", "connid", "socket"}
_RATE_WORDS = {"rate", "throughput", "goodput", "bitrate", "bandwidth", "bw", "tput", "thrpt", "thr", "speed"}
_BYTE_WORDS = {"transfer", "transferred", "volume"}
_TOTAL_WORDS = {"total", "cum", "cumulative", "cumul", "acked", "sofar"}
_CC_WORDS = {"cc", "cca", "algorithm", "algo", "protocol", "congestion"}
_FILLERS = {
    "id",
    "no",
    "nr",
    "number",
    "tcp",
    "snd",
    "in",
    "delivered",
    "received",
    "recv",
    "rx",
    "interval",
    "end",
    "column",
}
# names with these are other quantities: queues, sums over flows, statistics
_OTHER = {
    *(
        "queue",
        "buffer",
        "backlog",
        "drop",
        "drops",
        "dropped",
        "lost",
        "loss",
        "retrans",
        "retr",
        "retransmits",
        "rtx",
    ),
    *(
        "pacing",
        "delivery",
        "capacity",
        "link",
        "limit",
        "max",
        "min",
        "mean",
        "avg",
        "average",
        "median",
        "var",
        "rttvar",
    ),
    *(
        "mdev",
        "std",
        "stddev",
        "header",
        "unacked",
        "inflight",
        "sum",
        "aggregate",
        "all",
        "fairness",
        "jain",
        "jfi",
        "util",
    ),
    *("utilisation", "utilization", "sent", "tx", "send", "cpu", "load", "start", "duration", "mss", "wscale", "state"),
}
# a column for each flow may not be called so: it is more likely a sum, a link or a theory
_NO_FLOW = {
    *(
        "fair",
        "fairshare",
        "share",
        "total",
        "tot",
        "overall",
        "combined",
        "both",
        "agg",
        "bottleneck",
        "router",
        "switch",
    ),
    *(
        "ideal",
        "expected",
        "theory",
        "theoretical",
        "model",
        "predicted",
        "target",
        "reference",
        "optimal",
        "available",
    ),
    *("offered", "baseline", "bdp", "estimate", "estimated", "residual", "spare"),
}
# columns of these names may tell flows, or runs, apart
_LABELS = {
    *(
        "sport",
        "dport",
        "port",
        "ports",
        "src",
        "dst",
        "source",
        "destination",
        "saddr",
        "daddr",
        "addr",
        "address",
        "ip",
    ),
    *(
        "client",
        "server",
        "host",
        "hostname",
        "node",
        "peer",
        "sender",
        "receiver",
        "user",
        "station",
        "sta",
        "ue",
        "name",
    ),
    *(
        "label",
        "id",
        "idx",
        "index",
        "key",
        "session",
        "pair",
        "tuple",
        "pid",
        "fd",
        "process",
        "container",
        "direction",
        "dir",
    ),
    *(
        "run",
        "runid",
        "rep",
        "repetition",
        "replicate",
        "trial",
        "iteration",
        "seed",
        "experiment",
        "exp",
        "test",
        "case",
    ),
    *("scenario", "config", "variant"),
}
_TIME_NAMES = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "usecs", "micros", "microseconds", "μs", "µs"), "us"),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanoseconds"), "ns"),
}
_BYTE_NAMES = {
    **dict.fromkeys(("bytes", "byte", "B", "octets"), "B"),
    **dict.fromkeys(("kB", "kbytes", "kilobytes"), "kB"),
    **dict.fromkeys(("KiB", "kib", "kibibytes"), "KiB"),
    **dict.fromkeys(("MB", "mbytes", "megabytes"), "MB"),
    **dict.fromkeys(("MiB", "mib", "mebibytes"), "MiB"),
}
_OPEN_BYTE_NAMES = {"KB", "kb", "mb", "Mb", "GB", "gb"}
_PKT_NAMES = {"pkts", "packets", "segments", "segs", "pkt"}
_RATE_NAME = re.compile(r"([kKmMgG]?)(b|B|bit|bits|byte|bytes)ps")
_PIECE = re.compile(r"[A-Za-zµμ]+|[0-9]+")
_PER_SECOND = re.compile(r"(?:\s*/\s*|[ _]per[ _])(?:s|sec|second)(?![a-z])")


class Column(NamedTuple):
    """What one column is."""

    name: str  # as it stands in the table
    quantity: str  # of `Columns` of the sidecar
    unit: str | None  # a key of `UNITS`; None: open, or it has none
    label: str  # of its flow, '' when the column is for all


def meaning(name: str) -> Column | None:
    """What a column of this name is; None when it is nothing that a recording needs, or cannot be told."""
    text = _PER_SECOND.sub("ps", name.strip())
    if len(text) > 80:
        return None
    words: list[tuple[int, int, str]] = []  # where it stands, what it says
    for match in _PIECE.finditer(text):
        words.append((match.start(), match.end(), match.group()))
    lower = {word.lower() for _, _, word in words}
    if lower & _OTHER:
        return None
    quantity, unit, used = _quantity(words, lower)
    if not quantity:
        return None
    if quantity in ("time", "cc", "flow"):
        left = [word for at, _, word in words if at not in used and word.lower() not in _FILLERS]
        return None if left else Column(name, quantity, unit, "")
    if quantity == "bytes" and lower & _TOTAL_WORDS:
        quantity = "total_bytes"
    if quantity == "rate" and lower & _TOTAL_WORDS:
        return None  # of all flows together
    kept = [
        (start, end)
        for start, end, word in words
        if start not in used and word.lower() not in _FILLERS | _TOTAL_WORDS | _BYTE_WORDS | _RATE_WORDS
    ]
    label = text[kept[0][0] : kept[-1][1]] if kept else ""
    return Column(name, quantity, unit, label)


def _quantity(words: Sequence[tuple[int, int, str]], lower: set[str]) -> tuple[str, str | None, set[int]]:
    """Quantity and unit that the words speak of, and where the words stand that say so; '' for none."""
    for quantity, names in (("ssthresh", {"ssthresh"}), ("cwnd", {"cwnd", "cwin"}), ("srtt", {"srtt", "rtt"})):
        if lower & names:
            used = {at for at, _, word in words if word.lower() in names}
            units = (
                _TIME_NAMES
                if quantity == "srtt"
                else {**dict.fromkeys(_PKT_NAMES, "pkts"), **dict.fromkeys(("bytes", "B"), "bytes")}
            )
            unit_at, unit = _unit(words, units)
            return quantity, unit, used | unit_at
    for at, _, word in words:
        if match := _RATE_NAME.fullmatch(word):
            return "rate", _rate_unit(*match.groups()), {at}
    if any(_RATE_NAME.fullmatch(word.lower()) for word in lower):  # MBPS: bits or bytes?
        return "rate", None, {at for at, _, word in words if _RATE_NAME.fullmatch(word.lower())}
    if lower & _RATE_WORDS:
        return "rate", None, {at for at, _, word in words if word.lower() in _RATE_WORDS}
    unit_at, unit = _unit(words, _BYTE_NAMES)
    if unit or lower & _BYTE_WORDS or any(word in _OPEN_BYTE_NAMES for _, _, word in words):
        open_at = {at for at, _, word in words if word in _OPEN_BYTE_NAMES or word.lower() in _BYTE_WORDS}
        return "bytes", unit, unit_at | open_at
    if lower & _TIME_WORDS or (len(words) == 1 and words[0][2].lower() in _TIME_NAMES and len(words[0][2]) > 2):
        unit_at, unit = _unit(words, _TIME_NAMES)
        return "time", unit, unit_at | {at for at, _, word in words if word.lower() in _TIME_WORDS}
    if lower & _FLOW_WORDS and not any(word.isdigit() for _, _, word in words):
        return "flow", None, {at for at, _, word in words if word.lower() in _FLOW_WORDS}
    if lower & _CC_WORDS:
        return "cc", None, {at for at, _, word in words if word.lower() in _CC_WORDS}
    return "", None, set()


def _unit(words: Sequence[tuple[int, int, str]], names: dict[str, str]) -> tuple[set[int], str | None]:
    for at, _, word in words:
        if word in names or (len(word) > 2 and word.lower() in names):
            return {at}, names.get(word, names.get(word.lower()))
    return set(), None


def _rate_unit(prefix: str, what: str) -> str | None:
    in_bytes = what in ("B", "byte", "bytes")
    known = {"": "", "k": "k", "K": "k", "m": "M", "M": "M", "g": "G", "G": "G"}[prefix]
    unit = f"{known}{'B' if in_bytes else 'b'}ps"
    return unit if unit in RATE_UNITS else None


def may_tell_flows_apart(name: str) -> bool:
    """Whether a column of this name, which is not read, may say which flow or which run a row belongs to."""
    words = [word.lower().rstrip("s") for word in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name.strip()) if word]
    labels = {word.rstrip("s") for word in _LABELS}
    return bool(words) and any(word in labels for word in words) and not {word.lower() for word in words} & _OTHER


class Table(NamedTuple):
    """Which columns of a table are read, and as what."""

    time: Column
    flow: Column | None  # long form: a row for each flow and time
    shared: dict[str, Column]  # long form: quantity -> column
    by_label: dict[str, dict[str, Column]]  # wide form: flow -> quantity -> column
    units: dict[str, str | None]  # of each quantity; None: not known
    remarks: tuple[str, ...]
    doubtful: tuple[str, ...] = ()  # not used, but their names may tell flows apart

    @property
    def numbers(self) -> list[str]:
        """Names of all columns with numbers."""
        wide = [column.name for columns in self.by_label.values() for column in columns.values()]
        return [
            self.time.name,
            *(column.name for quantity, column in self.shared.items() if quantity != "cc"),
            *wide,
        ]

    @property
    def texts(self) -> list[str]:
        """Names of the columns with text: flow, algorithm, and what may tell flows apart."""
        return [*(column.name for column in (self.flow, self.shared.get("cc")) if column), *self.doubtful]


def choose(names: Sequence[str], said: Sidecar, where: str) -> Table:
    """The columns to read of a table with these names. Raises InputError, naming the field of trace.yaml that would tell."""
    doubled = (
        next((name for name in names if list(names).count(name) > 1), None) if len(set(names)) < len(names) else None
    )
    if doubled is not None:
        raise InputError(f"{where}: two columns are called {doubled!r}; give each its own name")
    stated = said.columns.names
    for quantity, name in [*stated.items(), *(("ignore", name) for name in said.columns.ignore)]:
        if name not in names:
            raise InputError(
                f"{where}: {SIDECAR}: columns.{quantity}: no column {name!r}; there are {', '.join(map(repr, names[:20]))}"
            )
    doubled = next((name for name in stated.values() if list(stated.values()).count(name) > 1), None)
    if doubled is not None:
        both = " and ".join(quantity for quantity, name in stated.items() if name == doubled)
        raise InputError(f"{where}: {SIDECAR}: columns: {both} are both {doubled!r}; give each its own column")
    left = [name for name in names if name not in said.columns.ignore]
    guessed = [column for name in left if name not in stated.values() and (column := meaning(name))]
    if set(stated) & set(VALUES):  # who names one, means it
        guessed = [column for column in guessed if column.quantity not in VALUES]
    guessed = [column for column in guessed if column.quantity not in stated]
    found = [Column(name, quantity, _unit_of(name), "") for quantity, name in stated.items()] + guessed
    time, flow = _only(found, "time", where), _only(found, "flow", where)
    if time is None:
        raise InputError(
            f"{where}: no column for the time; say {SIDECAR}: columns.time: NAME, one of {', '.join(map(repr, names[:20]))}"
        )
    shared = {
        quantity: column
        for quantity in (*VALUES, "cwnd", "ssthresh", "srtt", "cc")
        if (column := _only([each for each in found if not each.label], quantity, where))
    }
    labelled = [column for column in found if column.label]
    by_label: dict[str, dict[str, Column]] = {}
    if not flow and not set(shared) & set(VALUES):
        by_label, shared = _wide(labelled or _bare(left, time, said, where), where), {}
        _refuse_no_flows(by_label, where)
    elif not flow and any(column.quantity in VALUES for column in labelled):
        raise InputError(
            f"{where}: {shared[next(q for q in VALUES if q in shared)].name!r} is for all flows and "
            f"{next(column.name for column in labelled if column.quantity in VALUES)!r} for one; say "
            f"{SIDECAR}: columns.rate: NAME"
        )
    if not by_label and not set(shared) & set(VALUES):
        raise InputError(
            f"{where}: no column for bytes or rate; say {SIDECAR}: columns.bytes (or total_bytes, or rate): NAME, "
            f"one of {', '.join(map(repr, names[:20]))}"
        )
    read = {time.name, *([flow.name] if flow else []), *(column.name for column in shared.values())}
    read |= {column.name for columns in by_label.values() for column in columns.values()}
    unused = [name for name in names if name not in read]
    remarks = [f"columns not used: {', '.join(unused[:20])}"] if unused else []
    used = [time, *shared.values(), *(column for columns in by_label.values() for column in columns.values())]
    doubtful = tuple(name for name in unused if name in left and may_tell_flows_apart(name))
    return Table(time, flow, shared, by_label, _units(used, said, where), tuple(remarks), doubtful)


def _refuse_no_flows(by_label: dict[str, dict[str, Column]], where: str) -> None:
    """A column called fair_share_mbps beside those of flows is hardly a flow."""
    for label, columns in by_label.items():
        odd = _words(label) & _NO_FLOW
        if odd:
            name = next(column.name for column in columns.values())
            raise InputError(
                f"{where}: {name!r}: is {label!r} a flow? write `columns: {{ignore: [{name}]}}` in {SIDECAR} when it is not, "
                "and give the column another name when it is"
            )


def _words(text: str) -> set[str]:
    return {word.lower() for word in _PIECE.findall(text)}


def _unit_of(name: str) -> str | None:
    column = meaning(name)
    return column.unit if column else None


def _only(columns: Sequence[Column], quantity: str, where: str) -> Column | None:
    some = [column for column in columns if column.quantity == quantity]
    if len(some) > 1:
        raise InputError(
            f"{where}: {some[0].name!r} and {some[1].name!r} could both be the {quantity}; say "
            f"{SIDECAR}: columns.{quantity}: NAME"
        )
    return some[0] if some else None


def _bare(names: Sequence[str], time: Column, said: Sidecar, where: str) -> list[Column]:
    """Columns called flow1, flow2, ... and no more: rates when trace.yaml gives the unit of rates."""
    bare = [name for name in names if name != time.name and re.fullmatch(r"(?i)(flow|stream|f|s)[ _-]?\d{1,5}", name)]
    if bare and said.units.rate is None:
        raise InputError(
            f"{where}: {bare[0]!r}: no unit; say {SIDECAR}: units.rate: Mbps (or bps, kbps, Gbps, Bps) when these are rates"
        )
    return [Column(name, "rate", None, name) for name in bare]


def _wide(labelled: Sequence[Column], where: str) -> dict[str, dict[str, Column]]:
    by_label: dict[str, dict[str, Column]] = {}
    for column in labelled:
        of_flow = by_label.setdefault(column.label, {})
        if column.quantity in of_flow:
            raise InputError(
                f"{where}: {of_flow[column.quantity].name!r} and {column.name!r} are both the {column.quantity} of "
                f"{column.label!r}; leave one out"
            )
        of_flow[column.quantity] = column
    return {label: columns for label, columns in by_label.items() if set(columns) & set(VALUES)}


def _units(columns: Sequence[Column], said: Sidecar, where: str) -> dict[str, str | None]:
    """The unit of each quantity: as stated, else by the names, which must agree."""
    units: dict[str, str | None] = {}
    for quantity, known in UNITS.items():
        of_names = {column.unit for column in columns if column.quantity == quantity}
        field = SAID_UNIT.get(quantity, quantity)
        stated = getattr(said.units, field) if field in said.units.model_fields_set else None
        if stated is None and len(of_names) > 1:
            raise InputError(
                f"{where}: columns of the {quantity} have different units "
                f"({', '.join(sorted(str(unit) for unit in of_names))}); say {SIDECAR}: units.{field}: {'|'.join(known)}"
            )
        units[quantity] = stated or next(iter(of_names), None)
    return units
