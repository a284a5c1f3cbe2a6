"""Traces of others: whole and in the schema is not enough."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.files.manifest import read_manifest, write_manifest
from tcpfair.runs import trace
from tcpfair.runs.strange_trace import read_strange
from tcpfair.sources.readers import read_any

RUN = Path(__file__).parents[1] / "samples" / "testbed" / "reno_14s"


@pytest.fixture(scope="module")
def good():
    return read_any(RUN)


def written(made, folder):
    trace.write(made, folder)
    return folder


def changed(made, table, edit):
    tables = {name: getattr(made, name).copy() for name in trace.TABLES}
    tables[table] = edit(tables[table])
    return trace.Trace(**tables, provenance=made.provenance)


def test_a_sound_trace_is_read(good, tmp_path):
    found = read_strange(written(good, tmp_path / "trace"))
    assert found.samples["delivered_bytes"].sum() == good.samples["delivered_bytes"].sum()


@pytest.mark.parametrize(
    ("table", "edit", "says"),
    [
        (
            "samples",
            lambda t: t.iloc[[0, *range(len(t))]],
            r"samples\.parquet: t_s: a flow has two samples of the same time",
        ),
        ("samples", lambda t: t.drop(index=3), "a sample is missing or sample_s is wrong"),
        ("samples", lambda t: t.iloc[:-1], r"end at 13 s, but duration_s is 14"),
        ("samples", lambda t: t.assign(t_s=t["t_s"].where(t.index != 2)), "t_s: must be a number of at least 0 s"),
        ("samples", lambda t: t.assign(t_s=t["t_s"] - 5), "t_s: must be a number of at least 0 s"),
        ("samples", lambda t: t.assign(t_s=t["t_s"] * 1000), "a sample is missing or sample_s is wrong"),
        ("samples", lambda t: t.assign(cwnd_pkts=-1.0), "cwnd_pkts: must be at least 0"),
        ("flows", lambda t: t.iloc[[0, *range(len(t))]], r"flows\.parquet: flow_id: must be unique"),
        ("flows", lambda t: t.assign(start_s=99.0), "start_s: must be within the run"),
        ("flows", lambda t: t.assign(start_s=np.nan), "start_s: must be within the run"),
        ("flows", lambda t: t.assign(stop_s=0.0), "stop_s: must be after start_s"),
        ("flows", lambda t: t.iloc[:0], "no run or no flow"),
        ("runs", lambda t: t.assign(duration_s=np.inf), "duration_s: must be a number above 0"),
        ("runs", lambda t: t.assign(sample_s=-1.0), "sample_s: must be a number above 0"),
        ("runs", lambda t: t.assign(sample_s=99.0), "sample_s: longer than duration_s"),
    ],
)
def test_values_that_cannot_be(good, tmp_path, table, edit, says):
    folder = written(changed(good, table, edit), tmp_path / "trace")
    with pytest.raises(InputError, match=says):
        read_strange(folder)


def test_another_schema_is_refused(good, tmp_path):
    folder = written(good, tmp_path / "trace")
    write_manifest(read_manifest(folder) | {"schema": 99}, folder)
    with pytest.raises(InputError, match="schema: 99, but this version reads 1"):
        read_strange(folder)
