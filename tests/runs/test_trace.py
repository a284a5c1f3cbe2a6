"""The trace contract: round trip, byte-identity, provenance, and one clear line for each way a folder can be bad."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.runs.trace import MANIFEST, TABLES, Trace, read, write


def small_trace() -> Trace:
    runs = pd.DataFrame(
        {
            "run_id": [0],
            "paper": ["ogura"],
            "experiment": ["loss_sweep"],
            "backend": ["engine"],
            "seed": [2**61],
            "replicate": [0],
            "duration_s": [3.0],
            "sample_s": [1.0],
            "loss_rate": [1e-4],
        }
    )
    flows = pd.DataFrame(
        {
            "run_id": 0,
            "flow_id": [1, 2],
            "protocol": ["Reno", "Libra"],
            "cc": ["newreno", "libra"],
            "rtt_s": [0.04, 0.12],
            "access_bps": 1e9,
            "start_s": 0.0,
            "stop_s": np.inf,
            "role": "foreground",
        }
    )
    samples = pd.DataFrame(
        {
            "run_id": 0,
            "flow_id": np.repeat([1, 2], 3),
            "t_s": np.tile([1.0, 2.0, 3.0], 2),
            "delivered_bytes": [10, 20, 30, 1, 2, 3],
            "received_bytes": [11, 20, 30, 1, 2, 3],
        }
    )
    return Trace(runs, flows, samples, provenance={"experiment": "loss_sweep", "grid": ["loss_rate"]})


def test_round_trip_keeps_every_value(tmp_path):
    write(small_trace(), tmp_path / "trace")
    back = read(tmp_path / "trace")
    assert back.runs["seed"][0] == 2**61 and back.grid == ["loss_rate"]
    assert back.samples["delivered_bytes"].tolist() == [10, 20, 30, 1, 2, 3]
    assert back.flows["cc"].tolist() == ["newreno", "libra"]
    assert len(back.link) == 0 and len(back.events) == 0


def test_writing_twice_gives_the_same_bytes_and_replaces_the_folder(tmp_path):
    folder = tmp_path / "trace"
    write(small_trace(), folder)
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    write(small_trace(), folder)
    assert first == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(first) == {MANIFEST, *(f"{name}.parquet" for name in TABLES)}
    assert [p.name for p in tmp_path.iterdir()] == ["trace"], "nothing is left beside the folder"


def test_a_bad_table_leaves_the_old_trace_untouched(tmp_path):
    folder = tmp_path / "trace"
    write(small_trace(), folder)
    before = (folder / MANIFEST).read_bytes()
    broken = small_trace()
    broken.samples = broken.samples.drop(columns="delivered_bytes")
    with pytest.raises(InputError, match=r"samples: column delivered_bytes is missing"):
        write(broken, folder)
    assert (folder / MANIFEST).read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["trace"]


@pytest.mark.parametrize(
    "table, column, value, words",
    [
        ("samples", "delivered_bytes", -1, "negative"),
        ("flows", "rtt_s", -0.04, "rtt_s: must be above 0"),
        ("flows", "run_id", 7, "run_id: 7 has no row in runs"),
    ],
)
def test_values_outside_their_range_are_refused(tmp_path, table, column, value, words):
    trace = small_trace()
    getattr(trace, table)[column] = value
    with pytest.raises(InputError, match=words):
        write(trace, tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


def test_unknown_columns_are_refused_except_in_runs(tmp_path):
    trace = small_trace()
    trace.flows["colour"] = "blue"
    with pytest.raises(InputError, match="flows: unknown column colour"):
        write(trace, tmp_path / "trace")


def test_one_altered_byte_names_the_file_and_the_way_to_change_it_on_purpose(tmp_path):
    folder = tmp_path / "trace"
    write(small_trace(), folder)
    path = folder / "samples.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"samples\.parquet: differs .* bundle loss_sweep"):
        read(folder)


def test_manifest_holds_hashes_and_nothing_volatile(tmp_path):
    write(small_trace(), tmp_path / "trace")
    manifest = json.loads((tmp_path / "trace" / MANIFEST).read_text())
    assert set(manifest["files"]) == {f"{name}.parquet" for name in TABLES}
    assert not {"date", "host", "time", "created"} & set(manifest)
