"""Finished runs in a journal: the traces that were kept come back, whatever happened to the end of the file."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.contract import finished
from tcpfair.contract.trace import TABLES, Trace, empty

ABOUT = {"backend": "engine", "code": {"simulator": "1"}}


def made(seed, n_events):
    """The trace of one run, with values that text would round and tables that are empty now and then."""
    draw = np.random.default_rng(seed)
    one = {"paper": "ogura", "experiment": "pair", "backend": "engine", "seed": seed, "replicate": 0}
    samples = {
        "run_id": np.full(3, 7, np.int32),
        "flow_id": np.ones(3, np.int32),
        "t_s": draw.random(3),
        "delivered_bytes": draw.integers(0, 1 << 40, 3),
        "cwnd_pkts": np.array([np.nan, 0.1, 1 / 3], np.float32),
    }
    events = empty("events").reindex(range(n_events))
    events = events.assign(run_id=np.int32(7), flow_id=np.int32(1), t_s=draw.random(n_events), kind="loss")
    events = events.assign(cwnd_before=draw.random(n_events), cwnd_after=np.inf, w_max=np.nan, k_s=-0.0)
    return Trace(
        runs=pd.DataFrame([{"run_id": 7, **one, "duration_s": 3.0, "sample_s": 1.0, "what": "ü, \n"}]),
        flows=pd.DataFrame(
            [{"run_id": 7, "flow_id": 1, "protocol": "Reno", "cc": "newreno", "rtt_s": 0.04, "access_bps": np.inf}]
        ).assign(start_s=0.0, stop_s=3.0, role="foreground"),
        samples=pd.DataFrame(samples),
        events=events,
    )


def put(place, n_runs):
    with finished.opened(place, ABOUT) as kept:
        for number in range(n_runs):
            kept.add(f"key{number}", made(number, n_events=number))
    return sorted(place.glob("*.jsonl"))


def test_what_was_kept_comes_back_bit_by_bit(tmp_path):
    (path,) = put(tmp_path, 3)
    assert finished.manifest(path) == {**ABOUT, "runs": ["key0", "key1", "key2"]}
    back = finished.read(path)
    assert back.provenance == {**ABOUT, "runs": ["key0", "key1", "key2"]}
    for name in TABLES:
        for number in range(3):
            rows = getattr(back, name)
            rows = rows[rows["run_id"] == number].drop(columns="run_id").reset_index(drop=True)
            expected = getattr(made(number, n_events=number), name).drop(columns="run_id")
            assert len(rows) == len(expected)
            if len(expected):
                for column in expected:
                    assert list(map(repr, rows[column])) == list(map(repr, expected[column]))


def test_a_torn_end_costs_the_run_that_was_torn(tmp_path):
    (path,) = put(tmp_path, 3)
    path.write_bytes(path.read_bytes()[:-5])
    assert finished.manifest(path)["runs"] == ["key0", "key1"]
    assert finished.read(path).runs["seed"].tolist() == [0, 1]


def test_nothing_stays_of_one_in_which_nothing_is(tmp_path):
    assert put(tmp_path, 0) == []
    with finished.opened(tmp_path, ABOUT) as kept:
        kept.add("key", made(1, 1))
        kept.forget()
    assert list(tmp_path.iterdir()) == []


def test_each_has_a_file_of_its_own(tmp_path):
    with finished.opened(tmp_path, ABOUT) as one, finished.opened(tmp_path, ABOUT) as other:
        one.add("a", made(1, 0))
        other.add("b", made(2, 0))
    found = [finished.manifest(path)["runs"] for path in tmp_path.glob("*.jsonl")]
    assert sorted(found) == [["a"], ["b"]]


@pytest.mark.parametrize("content", [b"", b"x" * 50, b"00000000 {}\n"])
def test_what_is_none_holds_nothing(tmp_path, content):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    assert finished.manifest(path) is None
