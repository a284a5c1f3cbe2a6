"""The judge of damaged inputs finds what it is there for, shown on readers that sin in one way each."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import plain
from tcpfair.sources.readers.observed import Observed, ObservedFlow
from tests.sources.readers.edits import written
from tests.sources.readers.mutations import BINARY_KINDS, TEXT_KINDS, attack, mutated

TABLE = "time_s,bytes\n" + "".join(f"{second},1000\n" for second in range(1, 41))


@pytest.fixture
def sample(tmp_path):
    return written(tmp_path, TABLE, "table.csv")


def observed(path: Path, times_s, total_bytes) -> Observed:
    flow = ObservedFlow("a", path, np.array(times_s, float), np.array(total_bytes, float), 1.0, "table: bytes")
    return Observed("toy", (flow,), (path,))


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
    """A reader that sins where the plain one refuses."""

    def read(path, said):
        try:
            return plain.read(path, said)
        except InputError:
            return instead(path)

    return SimpleNamespace(read=read, sniff=plain.sniff)


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
