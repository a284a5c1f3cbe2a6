"""The judge of damaged inputs finds what it is there for, shown on readers that sin in one way each."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers.observed import Observed, ObservedFlow
from tests.sources.readers.mutations import BINARY_KINDS, TEXT_KINDS, attack, mutated

TABLE = "".join(f"{second} {second * 1000}\n" for second in range(1, 41))


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text(TABLE)
    return path


def observed(path: Path, times_s, total_bytes) -> Observed:
    flow = ObservedFlow("a", path, np.array(times_s, float), np.array(total_bytes, float), 1.0, "receiver: toy")
    return Observed("toy", (flow,), (path,))


def careful(path: Path, said) -> Observed:
    """Reads lines of time and running total, and refuses all that is not one after the other."""
    try:
        rows = [tuple(map(int, line.split())) for line in path.read_text().splitlines()]
        times_s, total_bytes = zip((0, 0), *rows, strict=True)
    except ValueError:
        raise InputError(f"{path}: not a table") from None
    if any(len(row) != 2 or not 0 < row[0] < 100 or not 0 <= row[1] < 1e6 for row in rows) or not rows:
        raise InputError(f"{path}: out of range")
    if not all((np.diff(times_s) > 0) & (np.diff(total_bytes) >= 0)):
        raise InputError(f"{path}: backwards")
    return observed(path, times_s, total_bytes)


def reader(read) -> SimpleNamespace:
    return SimpleNamespace(read=read, sniff=lambda path: True)


def test_damage_is_the_same_for_a_seed_and_of_every_kind():
    content = TABLE.encode()
    damaged = [mutated(content, seed) for seed in range(1000)]
    assert damaged == [mutated(content, seed) for seed in range(1000)]
    assert {mutation.kind for mutation in damaged} == set(TEXT_KINDS)
    assert {mutated(b"\x00" * 100, seed).kind for seed in range(1000)} == set(BINARY_KINDS)
    assert np.mean([mutation.data != content for mutation in damaged]) > 0.9
    assert all(isinstance(mutated(b"", seed).data, bytes) for seed in range(100))


def crashes(path):
    raise KeyError("bytes")


def reads_otherwise(instead):
    """A reader that sins where the careful one refuses."""

    def read(path, said):
        try:
            return careful(path, said)
        except InputError:
            return instead(path)

    return reader(read)


@pytest.mark.parametrize(
    ("instead", "says"),
    [
        (crashes, "KeyError: 'bytes'"),
        (lambda path: observed(path, [0, 1], [0, np.inf]), "bytes"),
        (lambda path: observed(path, [0, 2, 1], [0, 1, 2]), "times_s"),
        (lambda path: observed(path, [0, 40], [0, 50_000]), "silently 50000 bytes instead of 40000"),
        (lambda path: observed(path, np.ones(1 << 28), np.ones(1 << 28)), "MemoryError|Unable to allocate"),
    ],
)
def test_a_sin_is_found(sample, tmp_path, instead, says):
    with pytest.raises(AssertionError, match=says):
        attack(reads_otherwise(instead), [sample], 300, tmp_path, share=0.2)
