"""The meaning of the columns of a plain table: time, flow, bytes, rate, window, inferred from common names.

A name is split into words and numbers (``flow1_mbps``, ``time (ms)``, ``cwnd [bytes]``). Some words name a quantity or
a unit; the rest is the label of a flow (``flow1``), as in tables with a column for each flow. Names with words of other
quantities (queue, drops, pacing, ...) are ignored. Case matters for units: ``MBps`` are bytes, ``Mbps`` bits; ``MBPS``
could be either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tcpfair.errors import InputError
from tcpfair.papers.recordings import SIDECAR
from tcpfair.sources.readers.pattern_table import units
from tcpfair.sources.readers.sidecar import Sidecar

VALUES = ("total_bytes", "bytes", "rate")
# factor to s, bit/s, bytes
_NAMES = {"time": "s ms us ns", "rate": "bps kbps Mbps Gbps Bps kBps MBps", "bytes": "B kB KiB MB MiB"}
UNITS: dict[str, dict[str, float]] = {
    quantity: {name: float(units()[quantity][name]) for name in names.split()} for quantity, names in _NAMES.items()
}
UNITS |= {"total_bytes": UNITS["bytes"], "srtt": UNITS["time"]}
UNITS["cwnd"] = UNITS["ssthresh"] = {"pkts": 1.0, "bytes": 1.0}
SAID_UNIT = {"total_bytes": "bytes", "ssthresh": "cwnd"}  # columns whose unit trace.yaml states under another name


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _units_of(**names: str) -> dict[str, str]:
    """Unit by each of its names; ``names`` has the names of each unit."""
    return {name: unit for unit, words in names.items() for name in words.split()}


# words of a quantity; the first match decides
_WORDS = {
    "ssthresh": _words_of("ssthresh"),
    "cwnd": _words_of("cwnd cwin"),
    "srtt": _words_of("srtt rtt"),
    "rate": _words_of("rate throughput goodput bitrate bandwidth bw tput thrpt thr speed"),
    "bytes": _words_of("transfer transferred volume"),
    "time": _words_of("t time ts timestamp elapsed epoch datetime date"),
    "flow": _words_of("flow flowid fid stream streamid connection conn connid socket"),
    "cc": _words_of("cc cca algorithm algo protocol congestion"),
}
_TOTAL_WORDS = _words_of("total cum cumulative cumul acked sofar")
_FILLERS = _words_of("id no nr number tcp snd in delivered received recv rx interval end column")
# names with these are other quantities: queues, sums over flows, statistics
_OTHER = _words_of("""
    queue buffer backlog drop drops dropped lost loss retrans retr retransmits rtx pacing delivery capacity link limit
    max min mean avg average median var rttvar mdev std stddev header unacked inflight sum aggregate all fairness jain jfi
    util utilisation utilization sent tx send cpu load start duration mss wscale state""")
# not a label of a flow: more likely a sum, a link or a model
_NO_FLOW = _words_of("""
    fair fairshare share total tot overall combined both agg bottleneck router switch ideal expected theory theoretical
    model predicted target reference optimal available offered baseline bdp estimate estimated residual spare""")
# columns with these names may distinguish flows or runs
_LABELS = _words_of("""
    sport dport port ports src dst source destination saddr daddr addr address ip client server host hostname node peer
    sender receiver user station sta ue name label id idx index key session pair tuple pid fd process container direction
    dir run runid rep repetition replicate trial iteration seed experiment exp test case scenario config variant""")
_TIME_NAMES = _units_of(
    s="s sec secs second seconds",
    ms="ms msec msecs millis milliseconds",
    us="us usec usecs micros microseconds μs µs",
    ns="ns nsec nanos nanoseconds",
)
_BYTE_NAMES = _units_of(
    B="bytes byte B octets",
    kB="kB kbytes kilobytes",
    KiB="KiB kib kibibytes",
    MB="MB mbytes megabytes",
    MiB="MiB mib mebibytes",
)
_WINDOW_NAMES = _units_of(pkts="pkts packets segments segs pkt", bytes="bytes B")
_KINDS = {"b": "b", "bit": "b", "bits": "b", "B": "B", "byte": "B", "bytes": "B"}
_PREFIXES = {"": "", "k": "k", "K": "k", "m": "M", "M": "M", "g": "G", "G": "G"}
_RATE_NAMES = {
    f"{prefix}{what}ps": unit if (unit := f"{factor}{kind}ps") in UNITS["rate"] else None
    for prefix, factor in _PREFIXES.items()
    for what, kind in _KINDS.items()
}
_UNIT_NAMES = {
    **{"ssthresh": _WINDOW_NAMES, "cwnd": _WINDOW_NAMES, "srtt": _TIME_NAMES},
    **{"rate": _RATE_NAMES, "bytes": _BYTE_NAMES, "time": _TIME_NAMES},
}
_OPEN_BYTE_NAMES = _words_of("KB kb mb Mb GB gb")
_PIECE = re.compile(r"[A-Za-zµμ]+|[0-9]+")
_PER_SECOND = re.compile(r"(?:\s*/\s*|[ _]per[ _])(?:s|sec|second)(?![a-z])")


class Column(NamedTuple):
    """The meaning of one column."""

    name: str  # in the table
    quantity: str  # of `Columns` of the sidecar
    unit: str | None  # a key of `UNITS`; None: open, or it has none
    label: str  # of its flow, '' when the column is for all


def meaning(name: str) -> Column | None:
    """The meaning of a column with this name; None if it is irrelevant or ambiguous."""
    text = _PER_SECOND.sub("ps", name.strip())
    words = list(_PIECE.finditer(text))
    if len(text) > 80 or _lower(words) & _OTHER:
        return None
    quantity, unit, used = _quantity(words)
    left = [word for word in words if word not in used and word[0].lower() not in _FILLERS]
    if quantity in ("", "time", "cc", "flow"):
        return Column(name, quantity, unit, "") if quantity and not left else None
    if _lower(words) & _TOTAL_WORDS and quantity in ("bytes", "rate"):
        if quantity == "rate":
            return None  # of all flows together
        quantity = "total_bytes"
    kept = [word for word in left if word[0].lower() not in _TOTAL_WORDS | _WORDS["bytes"] | _WORDS["rate"]]
    return Column(name, quantity, unit, text[kept[0].start() : kept[-1].end()] if kept else "")


def _lower(words: Sequence[re.Match[str]]) -> set[str]:
    return {word[0].lower() for word in words}


def _quantity(words: Sequence[re.Match[str]]) -> tuple[str, str | None, list[re.Match[str]]]:
    """Quantity and unit of the words, and the words used; '' for none."""
    for quantity, names in _WORDS.items():
        units = _UNIT_NAMES.get(quantity, {})
        used = [word for word in words if word[0].lower() in names]
        exact = [word for word in words if word[0] in units]
        either = [word for word in words if word[0] in units or (len(word[0]) > 2 and word[0].lower() in units)]
        if quantity == "rate":  # MBPS: bits or bytes?
            used, either = exact[:1] or either or used, exact[:1]
        elif quantity == "bytes":
            used += [word for word in words if word[0] in _OPEN_BYTE_NAMES] + either[:1]
        elif quantity == "time" and len(words) == 1 and len(words[0][0]) > 2:
            used += either
        elif quantity == "flow" and any(word[0].isdigit() for word in words):
            continue
        if used:
            unit = next((units.get(word[0], units.get(word[0].lower())) for word in either), None)
            return quantity, unit, used + either[:1]
    return "", None, []


def may_tell_flows_apart(name: str) -> bool:
    """Whether an unread column with this name may identify the flow or the run of a row."""
    words = [word.lower().rstrip("s") for word in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name.strip()) if word]
    labels = {word.rstrip("s") for word in _LABELS}
    return bool(words) and any(word in labels for word in words) and not {word.lower() for word in words} & _OTHER


class Table(NamedTuple):
    """The columns of a table that are read, with their meaning."""

    time: Column
    flow: Column | None  # of the flow's name, in a table with a row for each flow and time
    of_flows: dict[str, dict[str, Column]]  # flow -> quantity -> column; '' for all flows
    units: dict[str, str | None]  # of each quantity; None: unknown
    unused: tuple[str, ...]
    doubtful: tuple[str, ...]  # not used, but their names may distinguish flows

    @property
    def columns(self) -> list[Column]:
        """All columns that are read, except time and flow."""
        return [column for of in self.of_flows.values() for column in of.values()]

    @property
    def numbers(self) -> list[str]:
        """Names of all columns with numbers."""
        return [self.time.name, *(column.name for column in self.columns if column.quantity != "cc")]

    @property
    def texts(self) -> list[str]:
        """Names of the columns with text: flow, algorithm, and columns that may distinguish flows."""
        algorithms = [column.name for column in self.columns if column.quantity == "cc"]
        return [*([self.flow.name] if self.flow else []), *algorithms, *self.doubtful]

    def name_of(self, quantity: str) -> str:
        """Name of the first column of a quantity."""
        return next(column.name for column in (self.time, *self.columns) if column.quantity == quantity)


def choose(names: Sequence[str], said: Sidecar) -> Table:
    """The columns to read of a table with these names. Raises InputError, naming the field of trace.yaml that decides."""
    if doubled := _doubled(names):
        raise InputError(f"two columns are called {doubled[0]!r}; give each its own name")
    stated = said.columns.names
    listed = ", ".join(map(repr, names[:20]))
    for quantity, name in [*stated.items(), *(("ignore", name) for name in said.columns.ignore)]:
        if name not in names:
            raise InputError(f"{SIDECAR}: columns.{quantity}: no column {name!r}; there are {listed}")
    if doubled := _doubled(list(stated.values())):
        both = " and ".join(quantity for quantity, name in stated.items() if name == doubled[0])
        raise InputError(f"{SIDECAR}: columns: {both} are both {doubled[0]!r}; give each its own column")
    left = [name for name in names if name not in said.columns.ignore]
    meanings = {name: column for name in names if (column := meaning(name))}
    # a stated name decides, one of VALUES for all of them
    settled = {*stated, *(VALUES if set(stated) & set(VALUES) else ())}
    found = [
        Column(name, quantity, meanings[name].unit if name in meanings else None, "")
        for quantity, name in stated.items()
    ]
    found += [
        meanings[name]
        for name in left
        if name in meanings and name not in stated.values() and meanings[name].quantity not in settled
    ]
    time, flow = _only(found, "time"), _only(found, "flow")
    if time is None:
        raise InputError(f"no column for the time; write `columns: {{time: NAME}}` in {SIDECAR}, with one of {listed}")
    for_all = [column for column in found if not column.label]
    shared = {
        quantity: column
        for quantity in (*VALUES, "cwnd", "ssthresh", "srtt", "cc")
        if (column := _only(for_all, quantity))
    }
    labelled = [column for column in found if column.label]
    of_all = next((shared[quantity] for quantity in VALUES if quantity in shared), None)
    of_one = next((column for column in labelled if column.quantity in VALUES), None)
    of_flows: dict[str, dict[str, Column]] = {"": shared} if of_all else {}
    if not flow and of_all and of_one:
        raise InputError(
            f"{of_all.name!r} is for all flows and {of_one.name!r} for one; write `columns: {{rate: NAME}}` in {SIDECAR}"
        )
    if not flow and not of_all:
        of_flows = _wide(labelled or _bare(left, time, said))
    if not of_flows:
        raise InputError(
            f"no column for bytes or rate; write `columns: {{bytes: NAME}}` (or total_bytes, or rate) in {SIDECAR}, with one "
            f"of {listed}"
        )
    used = [time, *(column for of in of_flows.values() for column in of.values())]
    unused = tuple(name for name in names if name not in {column.name for column in (*used, flow) if column})
    doubtful = tuple(name for name in unused if name in left and may_tell_flows_apart(name))
    return Table(time, flow, of_flows, _units(used, said), unused, doubtful)


def _doubled(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _only(columns: Sequence[Column], quantity: str) -> Column | None:
    one, other, *_ = *(column for column in columns if column.quantity == quantity), None, None
    if other:
        says = f"{one.name!r} and {other.name!r} could both be the {quantity}"
        raise InputError(f"{says}; write `columns: {{{quantity}: NAME}}` in {SIDECAR}")
    return one


def _bare(names: Sequence[str], time: Column, said: Sidecar) -> list[Column]:
    """Columns called flow1, flow2, ... and no more: rates when trace.yaml gives the unit of rates."""
    bare = [name for name in names if name != time.name and re.fullmatch(r"(?i)(flow|stream|f|s)[ _-]?\d{1,5}", name)]
    if bare and said.units.rate is None:
        units = "`units: {rate: Mbps}` (or bps, kbps, Gbps, Bps)"
        raise InputError(f"{bare[0]!r}: no unit; write {units} in {SIDECAR} when these are rates")
    return [Column(name, "rate", None, name) for name in bare]


def _wide(labelled: Sequence[Column]) -> dict[str, dict[str, Column]]:
    """The columns of each flow that has bytes or a rate."""
    by_label: dict[str, dict[str, Column]] = {}
    for column in labelled:
        first = by_label.setdefault(column.label, {}).setdefault(column.quantity, column)
        if first is not column:
            both = f"{first.name!r} and {column.name!r} are both the {column.quantity}"
            raise InputError(f"{both} of {column.label!r}; leave one out")
    flows = {label: columns for label, columns in by_label.items() if set(columns) & set(VALUES)}
    for label, columns in flows.items():
        # fair_share_mbps next to columns of flows is probably not a flow
        if _lower(list(_PIECE.finditer(label))) & _NO_FLOW:
            name = next(column.name for column in columns.values())
            raise InputError(
                f"{name!r}: is {label!r} a flow? write `columns: {{ignore: [{name}]}}` in {SIDECAR} when it is not, "
                "and give the column another name when it is"
            )
    return flows


def _units(columns: Sequence[Column], said: Sidecar) -> dict[str, str | None]:
    """The unit of each quantity: as stated, else by the names, which must agree."""
    units: dict[str, str | None] = {}
    for quantity, known in UNITS.items():
        of_names = {column.unit for column in columns if column.quantity == quantity}
        field = SAID_UNIT.get(quantity, quantity)
        stated = getattr(said.units, field) if field in said.units.model_fields_set else None
        if stated is None and len(of_names) > 1:
            raise InputError(
                f"columns of the {quantity} have different units ({', '.join(sorted(map(str, of_names)))}); "
                f"write `units: {{{field}: UNIT}}` in {SIDECAR}, with one of {', '.join(known)}"
            )
        units[quantity] = stated or next(iter(of_names), None)
    return units
