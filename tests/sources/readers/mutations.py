"""Damaged inputs for any reader: a seed damages a real file, and what the reader makes of it is judged.

`attack` is all that a test needs:

    def test_mutated(tmp_path):
        outcomes = attack(my_reader, SAMPLES, count=200, folder=tmp_path)
        assert outcomes["read"] and outcomes["refused"]

A reader may refuse (InputError of one line) or hand over an `Observed` that is sound: finite, increasing, bounded. Unless it
then says more than of the whole file (a further remark, gap or clock step, another origin), bytes and duration must be those
of the whole file but for what the damage explains, see `attack`.
"""

import contextlib
import gzip
import itertools
import math
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers.observed import EVENTS, LINK, WINDOWS, Observed, ObservedFlow
from tcpfair.sources.readers.sidecar import Sidecar

MAX_READINGS = 864_000 + 100  # a day at 0.1 s
MAX_SPAN_S = 86_400 + 60
MAX_TOTAL_BYTES = 864_000 * 1e13
MEMORY_BYTES = 1_000_000_000
HANG_S = 60  # a file of a few kB takes milliseconds
PACKED_SHARE, DAMAGED_PACKING_SHARE = 0.05, 0.03
LOSES = frozenset({"cut", "cut at line", "delete", "delete line", "delete lines", "empty"})

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
TOKEN = re.compile(rb"[^\s,;:={}\[\]<>\"']+")
EXTREMES = (
    *(b"0", b"-1", b"1", b"-0.0", b"NaN", b"nan", b"inf", b"Infinity", b"-Infinity", b"1e308", b"-1e308", b"1e-320"),
    *(b"2147483648", b"4294967295", b"9223372036854775808", b"18446744073709551615", b"9" * 40, b"9" * 5000),
    *(b"", b"null", b"true", b'""', b"[]", b"{}", b"0x10", b"1_000", b"1,5", "１２".encode(), b"\x00"),
)
WORDS = (0, 1, 0x7F, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


class Mutation(NamedTuple):
    """Damaged content, and what was done to it."""

    kind: str
    data: bytes
    numbers: tuple[float, ...] = ()  # that stood at the place before, or stand there now


def mutated(data: bytes, seed: int) -> Mutation:
    """One kind of damage, at a random place; the same for the same content and seed."""
    chance = random.Random(seed)
    is_text = b"\x00" not in data[:4096]
    kind = chance.choice(TEXT_KINDS if is_text else BINARY_KINDS)
    if not data:
        return Mutation(kind, data)
    if kind.endswith(" ends"):
        changed, start, stop = data.replace(b"\n", {"windows": b"\r\n", "old": b"\r"}[kind.split()[0]]), 0, 0
    else:
        start, stop, new = _damage(kind, data, chance)
        changed, stop = data[:start] + new + data[stop:], min(stop, len(data))
    numbers = _numbers(data, start, stop) + _numbers(changed, start, stop + len(changed) - len(data)) if is_text else ()
    return Mutation(kind, changed, numbers)


TEXT_KINDS = (
    *("number",) * 8,
    *("scale",) * 4,
    *("flip", "flip", "insert", "delete", "delete token", "repeat token", "swap tokens", "swap tokens"),
    *("cut", "cut at line", "delete line", "repeat line", "swap lines", "delete lines", "repeat lines"),
    *("twice", "empty", "mark of order", "windows ends", "old ends"),
)
BINARY_KINDS = (
    *("flip",) * 4,
    *("word",) * 6,
    *("insert", "delete", "cut", "zeros", "repeat span", "swap spans", "twice", "empty"),
)


def _damage(kind: str, data: bytes, chance: random.Random) -> tuple[int, int, bytes]:
    """From where to where of the content what is put."""
    at, size, end = chance.randrange(len(data)), chance.choice((1, 1, 2, 4, 16, 64)), len(data)
    if kind in ("number", "scale"):
        return _other_number(kind, data, chance)
    if "token" in kind or "line" in kind:
        return _other_parts(kind, data, chance)
    if kind == "swap spans":
        start = chance.randrange(end)
        return _swapped(data, (at, at + size), (start, start + size))
    if kind == "word":
        width, order = chance.choice((2, 4, 8)), chance.choice(("little", "big"))
        return at, at + width, (chance.choice(WORDS) % (1 << 8 * width)).to_bytes(width, order)
    if kind == "flip":
        return at, at + 1, bytes([data[at] ^ 1 << chance.randrange(8)])
    if kind == "insert":
        return at, at, chance.randbytes(size)
    return {
        "delete": (at, at + size, b""),
        "cut": (at, end, b""),
        "empty": (0, end, b""),
        "twice": (end, end, data),
        "mark of order": (0, 0, b"\xef\xbb\xbf"),
        "zeros": (at, at + size, bytes(size)),
        "repeat span": (at, at, data[max(0, at - size) : at]),
    }[kind]


def _swapped(data: bytes, one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int, bytes]:
    (a, b), (c, d) = sorted((one, other))
    if b > c:  # they overlap
        return a, b, data[a:b]
    return a, d, data[c:d] + data[b:c] + data[a:b]


def _other_number(kind: str, data: bytes, chance: random.Random) -> tuple[int, int, bytes]:
    found = list(NUMBER.finditer(data))
    if not found:
        return 0, 0, b""
    place = chance.choice(found)
    if kind == "number":
        return *place.span(), chance.choice(EXTREMES)
    # another unit, a digit more, a counter that runs backwards
    value = float(place[0]) * chance.choice((10, 1000, 1e6, 8, 0.1, 1e-3, 1 / 8, -1, 1.1, 0.9, 2, 0.5))
    is_whole = b"." not in place[0] and math.isfinite(value)
    return *place.span(), (str(round(value)) if is_whole else repr(value)).encode()


def _other_parts(kind: str, data: bytes, chance: random.Random) -> tuple[int, int, bytes]:
    """A word or line, or several lines, left out, repeated, or exchanged with another."""
    between = b" " if "token" in kind else b""
    if between:
        found = list(TOKEN.finditer(data))
        if not found:
            return 0, 0, b""
        one = chance.choice(found).span()
        other = chance.choice(found).span() if kind == "swap tokens" else one
    else:
        edges = [0, *itertools.accumulate(map(len, data.splitlines(keepends=True)))]
        a, b = sorted((chance.randrange(len(edges) - 1), chance.randrange(len(edges) - 1)))
        one, other = (edges[a], edges[a + 1]), (edges[b], edges[b + 1])
        if kind in ("delete lines", "repeat lines"):
            one = one[0], other[1]
    if kind == "cut at line":
        return one[0], len(data), b""
    if kind.startswith("swap"):
        return _swapped(data, one, other)
    part = data[slice(*one)]
    return *one, part + between + part if kind.startswith("repeat") else b""


def _numbers(data: bytes, start: int, stop: int) -> tuple[float, ...]:
    """The numbers of which some part stands between two places, at most a few hundred of them."""
    nearby = data[max(0, start - 40) : stop + 40][:20_000]
    offset = max(0, start - 40)
    return tuple(
        float(found[0])
        for found in NUMBER.finditer(nearby)
        if found.end() + offset >= start and found.start() + offset <= stop
    )


FEW, MANY = 10, 4000  # damaged copies of a reader's samples: in every run of the tests, and with --slow


def attack(
    reader: ModuleType,
    samples: Sequence[Path],
    count: int,
    folder: Path,
    *,
    first_seed: int = 0,
    share: float = 0.05,
    bytes_per_number: float = 1.0,
    s_per_number: float = 1.0,
) -> Counter[str]:
    """Let ``reader`` read ``count`` damaged copies of the samples, below ``folder``.

    Silently, the bytes of all flows together may differ from the whole file's by ``share`` of them, and by
    ``bytes_per_number`` times the largest number that was changed (1 for a counter of bytes, 0 where the format says
    its numbers twice, so that the reader can see a lie); their longest duration likewise. Where the damage only took
    content away, any less is explained.

    Returns how many were read, marked and refused. Raises AssertionError that names sample, seed and damage.
    """
    said = Sidecar()
    outcomes: Counter[str] = Counter()
    whole = {sample: reader.read(sample, said) for sample in samples}
    for sample, observed in whole.items():
        assert_sound(observed, sample.name)
    for seed in range(first_seed, first_seed + count):
        chance = random.Random(-seed - 1)
        sample = chance.choice(samples)
        mutation = _damaged(sample.read_bytes(), seed, chance)
        path = folder / "damaged" / sample.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(mutation.data)
        where = f"{sample.name}: seed {seed}: {mutation.kind}"
        with _watched(where):
            reader.sniff(path)
            try:
                observed = reader.read(path, said)
            except InputError as error:
                assert len(str(error)) < 2000, f"{where}: not one line: {error}"
                outcomes["refused"] += 1
                continue
            except Exception as error:
                raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
        assert_sound(observed, where)
        if _marks(observed) - _marks(whole[sample]):
            outcomes["marked"] += 1
            continue
        outcomes["read"] += 1
        largest = max((abs(number) for number in mutation.numbers if math.isfinite(number)), default=0.0)
        loses = mutation.kind in LOSES
        for what, quantity, per_number in (("bytes", _bytes, bytes_per_number), ("s", _span_s, s_per_number)):
            before, after = quantity(whole[sample]), quantity(observed)
            allowed = share * before + per_number * largest
            assert after - before <= allowed and (loses or before - after <= allowed), (
                f"{where}: silently {after:g} {what} instead of {before:g}; numbers changed: {mutation.numbers[:8]}"
            )
        assert len(observed.flows) <= len(whole[sample].flows) + 2, f"{where}: {len(observed.flows)} flows"
    return outcomes


def _damaged(original: bytes, seed: int, chance: random.Random) -> Mutation:
    packed = original.startswith(b"\x1f\x8b")
    content = gzip.decompress(original) if packed else original
    if chance.random() < DAMAGED_PACKING_SHARE:  # the packing instead of what it holds
        damaged = mutated(gzip.compress(content, mtime=0), seed)
        # one packed file after the other is one file
        return damaged._replace(kind=f"{'cut' if damaged.kind == 'empty' else damaged.kind}, packed")
    mutation = mutated(content, seed)
    if packed or chance.random() < PACKED_SHARE:
        return mutation._replace(data=gzip.compress(mutation.data, compresslevel=1, mtime=0))
    return mutation


def _bytes(observed: Observed) -> float:
    return float(sum(flow.total_bytes[-1] for flow in observed.flows))


def _span_s(observed: Observed) -> float:
    return max((flow.stop_s - flow.start_s for flow in observed.flows), default=0.0)


def _marks(observed: Observed) -> Counter[str]:
    """Each remark and origin once, and how many remarks, gaps and clock steps there are."""
    flows = observed.flows
    numbers = {"remarks": len(observed.remarks), "gaps": sum(len(flow.gaps_s) for flow in flows)}
    numbers["steps"] = sum(len(flow.clock_steps_s) for flow in flows)
    return Counter(numbers | dict.fromkeys([*observed.remarks, *(flow.origin for flow in flows)], 1))


@contextlib.contextmanager
def _watched(where: str) -> Iterator[None]:
    """A hang or the memory of a large number is an error and not the end of all tests."""

    def hangs(*_):
        raise AssertionError(f"{where}: not done after {HANG_S} s")

    import resource  # not on every system, as the signal is not

    limits = resource.getrlimit(resource.RLIMIT_DATA)
    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(HANG_S)
    with contextlib.suppress(OSError, ValueError):
        held = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY_BYTES, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def assert_sound(observed: Observed, where: str) -> None:
    """What holds for every `Observed`, whatever it was read from."""
    names = [flow.name for flow in observed.flows]
    is_sound = {
        "names of flows": names and len(set(names)) == len(names),
        "backend and files": observed.backend and observed.files,
        "parameters": all(map(math.isfinite, observed.parameters.values())),
        "remarks": all(remark and "\n" not in remark for remark in observed.remarks),
    }
    _assert_all(is_sound, where, observed)
    for flow in observed.flows:
        _assert_all(_soundness(flow), f"{where}: {flow.name}", flow)
    if observed.link is not None:
        _assert_all(_soundness_of_table(observed.link.table, LINK), f"{where}: link", observed.link)


def _assert_all(is_sound: dict[str, Any], where: str, what: object) -> None:
    assert all(is_sound.values()), f"{where}: {[name for name, holds in is_sound.items() if not holds]} of {what}"


def _soundness(flow: ObservedFlow) -> dict[str, Any]:
    """Whether each part of a flow is sound."""
    times_s, counted = flow.times_s, [flow.total_bytes]
    counted += [] if flow.total_received_bytes is None else [flow.total_received_bytes]
    return {
        "readings": 2 <= len(times_s) <= MAX_READINGS and all(each.shape == times_s.shape for each in counted),
        "times_s": times_s.dtype == np.float64 and np.isfinite(times_s).all() and (np.diff(times_s) > 0).all(),
        "length": flow.stop_s - flow.start_s <= MAX_SPAN_S,
        "bytes": flow.total_bytes.dtype == np.float64 and flow.total_bytes[0] == 0,
        "rising bytes": all(each[0] >= 0 and (np.diff(each) >= 0).all() for each in counted),
        "total bytes": all(each[-1] <= MAX_TOTAL_BYTES for each in counted),
        "interval_s": 0 < flow.interval_s <= MAX_SPAN_S,
        "rtt_s": math.isnan(flow.rtt_s) or 0 < flow.rtt_s < 1e4,
        "clock_s": (flow.clock_s is None or 0 <= flow.clock_s < 1e11) and 0 <= flow.clock_error_s < 1e5,
        "offset_s": flow.offset_s is None or 0 <= flow.offset_s <= MAX_SPAN_S,
        "words": flow.cc and "\n" not in flow.cc and flow.origin and flow.name,
        "gaps_s": all(-math.inf < start_s < stop_s < math.inf for start_s, stop_s in flow.gaps_s),
        "clock_steps_s": all(map(math.isfinite, flow.clock_steps_s)),
        **{f"windows: {name}": holds for name, holds in _soundness_of_table(flow.windows, WINDOWS).items()},
        **{f"events: {name}": holds for name, holds in _soundness_of_table(flow.events, EVENTS).items()},
    }


def _soundness_of_table(table: pd.DataFrame, columns: Sequence[str]) -> dict[str, Any]:
    """Whether each column of a table is sound: unknown values are NaN, ssthresh is infinite before the end of slow start."""
    numbers = table.drop(columns="kind", errors="ignore").astype(float)
    known = numbers.replace({"ssthresh_pkts": {np.inf: np.nan}})
    is_sound = known.isna() | (np.isfinite(known) & (known >= 0))
    is_sound["t_s"] = np.isfinite(numbers["t_s"]) & ~(numbers["t_s"].diff() < 0)
    return {"columns": list(table.columns) == list(columns), **is_sound.all().to_dict()}
