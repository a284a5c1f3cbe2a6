"""A trace that others wrote: its values are checked, too, not only its files and its schema."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.manifest import MANIFEST, read_manifest
from tcpfair.runs.trace import SCHEMA_VERSION, Trace, read

_LONGEST_SAMPLE = 1.1  # times the duration: tools stop a little early, and print rounded times


def read_strange(folder: Path) -> Trace:
    """The trace in ``folder``, read by `tcpfair.runs.trace.read`, with its values checked as those of any input.

    Raises InputError for another schema, duplicate or missing samples, values that are not numbers, and impossible times.
    """
    version = read_manifest(folder).get("schema")
    if version != SCHEMA_VERSION:
        raise InputError(f"{folder / MANIFEST}: schema: {version!r}, but this version reads {SCHEMA_VERSION}")
    strange = read(folder)
    _check_flows(strange, folder)
    _check_samples(strange, folder)
    return strange


def _refuse_unless(holds: pd.Series, message: str) -> None:
    if not holds.all():
        raise InputError(message)


def _check_flows(strange: Trace, folder: Path) -> None:
    runs, flows = strange.runs, strange.flows
    if runs.empty or flows.empty:
        raise InputError(
            f"{folder / 'runs.parquet'}: no run or no flow; give a trace of at least one run with one flow"
        )
    for name, table, key in (("runs", runs, ["run_id"]), ("flows", flows, ["run_id", "flow_id"])):
        _refuse_unless(~table.duplicated(key), f"{folder / name}.parquet: {key[-1]}: must be unique")
    of_runs, of_flows = folder / "runs.parquet", folder / "flows.parquet"
    for name in ("duration_s", "sample_s"):
        is_number = np.isfinite(runs[name]) & (runs[name] > 0)
        _refuse_unless(is_number, f"{of_runs}: {name}: must be a number above 0")
    is_shorter = runs["sample_s"] <= _LONGEST_SAMPLE * runs["duration_s"]
    _refuse_unless(is_shorter, f"{of_runs}: sample_s: longer than duration_s")
    ends = flows.merge(runs[["run_id", "duration_s"]])
    is_within = (ends["start_s"] >= 0) & (ends["start_s"] < ends["duration_s"])
    _refuse_unless(is_within, f"{of_flows}: start_s: must be within the run")
    _refuse_unless(ends["stop_s"] > ends["start_s"], f"{of_flows}: stop_s: must be after start_s")


def _check_samples(strange: Trace, folder: Path) -> None:
    where, key = folder / "samples.parquet", ["run_id", "flow_id"]
    samples = strange.samples.sort_values([*key, "t_s"])
    for table, rows in {"samples": samples, **({} if strange.polls is None else {"polls": strange.polls})}.items():
        # a poll may precede the first byte
        least_s = 0.0 if table == "samples" else -float(strange.runs["sample_s"].max())
        is_time = np.isfinite(rows["t_s"]) & (rows["t_s"] >= least_s)
        _refuse_unless(is_time, f"{folder / table}.parquet: t_s: must be a number of at least {least_s:g} s")
        for name in rows.columns.intersection(["cwnd_pkts", "srtt_s"]):
            _refuse_unless(~(rows[name] < 0), f"{folder / table}.parquet: {name}: must be at least 0")
    is_single = ~samples.duplicated([*key, "t_s"])
    _refuse_unless(is_single, f"{where}: t_s: a flow has two samples of the same time")
    timed = samples.merge(strange.runs[["run_id", "duration_s", "sample_s"]])
    spacing_s = timed.groupby(key)["t_s"].diff().fillna(timed["t_s"])
    odd = (spacing_s - timed["sample_s"]).abs() > 0.1 * timed["sample_s"]
    if odd.any():
        row = timed[odd].iloc[0]
        raise InputError(
            f"{where}: t_s: {row['t_s']:g} s of flow {row['flow_id']:.0f} is not {row['sample_s']:g} s (sample_s) after the "
            "sample before; a sample is missing or sample_s is wrong"
        )
    last = timed.groupby(key).agg(
        t_s=("t_s", "max"), duration_s=("duration_s", "first"), sample_s=("sample_s", "first")
    )
    whole = strange.flows.merge(last.reset_index(), how="left", on=key)
    short = ~((whole["duration_s"] - whole["t_s"]).abs() < 0.95 * whole["sample_s"])
    if short.any():
        row = whole[short].iloc[0]
        raise InputError(
            f"{where}: samples of flow {row['flow_id']:.0f} end at {row['t_s']:g} s, but duration_s is {row['duration_s']:g}"
        )
