"""The results of an ensemble as files: shards of each member (`tcpfair.runs.shards`), and shipped tables.

``data/ensemble`` has three files per ensemble, whose name is that of the paper or ``<paper>_runs``:

* ``<name>.parquet``: hypothesis (empty = as published), setting, experiment, point (of the grid, ``protocol=CUBIC;rtt_ms=25``),
  flow (0 = the system), flow_protocol, metric, value (mean over the replicates that show the metric, float32; NaN without
  any), n (their number);
* ``<name>_settings.csv``: a row for each member: hypothesis, setting, refused (why its values are invalid; empty for those
  that ran), and the value of each assumption;
* ``<name>.json``: digests of the inputs and of the two files; written last.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tcpfair.errors import InputError
from tcpfair.files.files import whole, write_whole
from tcpfair.files.layout import Layout
from tcpfair.files.manifest import file_hash
from tcpfair.papers.papers import Experiment
from tcpfair.papers.settings import grid_points, point_text
from tcpfair.runs import shards
from tcpfair.runs.ensemble import FURTHER, Ensemble, Member, named

_WORDS = pa.dictionary(pa.int16(), pa.string())
_OF_MEMBER = {
    "experiment": _WORDS,
    "point": _WORDS,
    "flow": pa.int8(),
    "flow_protocol": _WORDS,
    "metric": _WORDS,
    "value": pa.float32(),
    "n": pa.int16(),
}
_OF_ALL = {"hypothesis": _WORDS, "setting": pa.int16(), **_OF_MEMBER}
_WORD_COLUMNS = [name for name, kind in _OF_MEMBER.items() if kind == _WORDS]


CELL = ["experiment", "point", "flow", "flow_protocol", "metric"]  # columns that identify a value
MADE_FROM = ("configuration", "runs", "code")  # inputs that all members share


class Shipped(NamedTuple):
    """The two tables of an ensemble; the docstring of this module describes them."""

    metrics: pd.DataFrame
    settings: pd.DataFrame


# --- One member --------------------------------------------------------------------------------------------------


def shard_names(member: Member) -> list[str]:
    """Names of the shards of a member, one for each group of experiments; they end in digests of their inputs."""
    of, units = member.ensemble.name, member.ensemble.units
    numbers = [f".{i + 1}-of-{len(units)}" for i in range(len(units))] if len(units) > 1 else [""]
    return [
        shards.named(f"{of}/{member.name}{number}", [dict(member.made_from), unit])
        for number, unit in zip(numbers, units, strict=True)
    ]


def member_files(layout: Layout, member: Member) -> list[Path]:
    """Paths of the shards of a member."""
    return [shard_file(layout, name) for name in shard_names(member)]


def shard_file(layout: Layout, name: str) -> Path:
    """Path of a shard."""
    return layout.ensemble_shards / f"{name}{shards.SUFFIX}"


def is_kept(layout: Layout, member: Member) -> bool:
    """Whether all shards of a member exist."""
    return all(path.is_file() for path in member_files(layout, member))


def keep(path: Path, metrics: pd.DataFrame, refused: str = "") -> None:
    """Write a shard of a member: its metrics, or the reason why its values are invalid."""
    shards.write(path, _table(metrics.reindex(columns=list(_OF_MEMBER)), _OF_MEMBER), {"refused": refused})


def kept(layout: Layout, member: Member) -> tuple[pd.DataFrame, str]:
    """The metrics of a member, and the reason if it has none."""
    tables, abouts = zip(*map(shards.read, member_files(layout, member)), strict=True)
    words = dict.fromkeys(_WORD_COLUMNS, str)
    return pd.concat([table.to_pandas().astype(words) for table in tables]), abouts[0]["refused"]


def _table(frame: pd.DataFrame, columns: Mapping[str, pa.DataType]) -> pa.Table:
    words = {name: frame[name].astype(str) for name, kind in columns.items() if kind == _WORDS}
    plain = pa.schema([(name, pa.string() if kind == _WORDS else kind) for name, kind in columns.items()])
    table = pa.Table.from_pandas(frame.assign(**words), schema=plain, preserve_index=False)
    return table.cast(pa.schema(list(columns.items())))


# --- All of them -------------------------------------------------------------------------------------------------


def gather(layout: Layout, ensemble: Ensemble, members: list[Member]) -> Shipped:
    """The results of all members. Raises InputError when one is missing or stale."""
    missing = [member for member in members if not is_kept(layout, member)]
    if missing:
        raise InputError(
            f"{ensemble.name}: {len(missing)} of {len(members)} settings are missing; ./reproduce ensemble simulates them"
        )
    tables, rows = [], []
    for member in members:
        metrics, refused = kept(layout, member)
        about = {"hypothesis": member.hypothesis, "setting": member.setting}
        tables.append(metrics.assign(**about))
        rows.append({**about, "refused": refused, **ensemble.table.loc[member.setting]})
    metrics = pd.concat(tables, ignore_index=True)
    by_cell = metrics.sort_values([*CELL, "hypothesis", "setting"], kind="stable", ignore_index=True)
    return Shipped(by_cell[list(_OF_ALL)], pd.DataFrame(rows))


def restorable(layout: Layout, ensemble: Ensemble) -> list[Member]:
    """The shipped members that are up to date and have no shards here."""
    if set(stale(layout.ensembles, ensemble)) & {"missing", *(f"{name} changed" for name in MADE_FROM)}:
        return []
    drawn = json.loads(paths(layout.ensembles, ensemble.name)[2].read_text())["members"]
    return [
        member
        for member in ensemble.members()
        if drawn.get(member.name) == member.made_from["setting"] and not is_kept(layout, member)
    ]


def restore(layout: Layout, ensemble: Ensemble) -> int:
    """Write the shards of `restorable` members from the shipped tables; returns how many.

    So a fresh checkout continues from the shipped results, and more settings cost only the new ones.
    """
    wanted = restorable(layout, ensemble)
    if not wanted:
        return 0
    found = read(layout.ensembles, ensemble.name)
    why = found.settings.set_index(["hypothesis", "setting"])["refused"]
    tables = dict(list(found.metrics.groupby(["hypothesis", "setting"], observed=True)))
    for member in wanted:
        name = (member.hypothesis, member.setting)
        own = tables.get(name, found.metrics.iloc[:0])
        for path, unit in zip(member_files(layout, member), ensemble.units, strict=True):
            keep(path, own[own["experiment"].isin(unit)], why[name])
    return len(wanted)


def paths(folder: Path, name: str) -> tuple[Path, Path, Path]:
    """The three files of an ensemble: metrics, settings, manifest."""
    return folder / f"{name}.parquet", folder / f"{name}_settings.csv", folder / f"{name}.json"


def write(folder: Path, ensemble: Ensemble, members: list[Member], found: Shipped) -> list[Path]:
    """Write the results of `gather`, the manifest last; returns the three files."""
    metrics, table, manifest = paths(folder, ensemble.name)
    manifest.unlink(missing_ok=True)
    with whole(metrics) as scratch:
        pq.write_table(
            _table(found.metrics, _OF_ALL).replace_schema_metadata(None),
            scratch,
            compression="zstd",
            compression_level=19,
        )
    write_whole(table, found.settings.to_csv(index=False, lineterminator="\n"))
    said = {
        "paper": ensemble.name,
        **{name: getattr(ensemble, name) for name in MADE_FROM},
        "replicates": {name: each.runs.value for name, each in ensemble.paper.experiments.items()},
        "members": {member.name: member.made_from["setting"] for member in members},
        "files": {path.name: file_hash(path) for path in (metrics, table)},
    }
    _write_manifest(manifest, said)
    return [metrics, table, manifest]


def mark(folder: Path, ensemble: Ensemble) -> bool:
    """Record that the current code gives the shipped bits, which the caller has compared; False if that is recorded."""
    manifest = paths(folder, ensemble.name)[2]
    said = json.loads(manifest.read_text())
    if said["code"] == ensemble.code:
        return False
    _write_manifest(manifest, said | {"code": ensemble.code})
    return True


def _write_manifest(path: Path, said: Mapping[str, object]) -> None:
    write_whole(path, json.dumps(said, indent=1) + "\n")


def stale(folder: Path, ensemble: Ensemble) -> list[str]:
    """Why the shipped results of an ensemble are stale; empty if they are not. Only ``missing`` if missing or damaged."""
    metrics, table, manifest = paths(folder, ensemble.name)
    try:
        said = json.loads(manifest.read_text())
        if said["files"] != {path.name: file_hash(path) for path in (metrics, table)}:
            return ["missing"]
        made_from = {name: said[name] for name in MADE_FROM}
        held = dict(said["members"])
    except (OSError, ValueError, KeyError, TypeError):
        return ["missing"]
    # outside the try: an error here does not mean that a file is missing
    found = [f"{name} changed" for name in MADE_FROM if made_from[name] != getattr(ensemble, name)]
    wanted = {member.name: member.made_from["setting"] for member in ensemble.members()}
    lacking = sum(name not in held for name in wanted)
    other = sum(name in held and held[name] != digest for name, digest in wanted.items())
    found += [f"{lacking} of {len(wanted)} settings missing"] if lacking else []
    return found + ([f"{other} of {len(wanted)} settings drawn differently"] if other else [])


def stale_lines(layout: Layout, papers: Iterable[str]) -> list[str]:
    """A line for each stale ensemble that is shipped for some papers."""
    lines = []
    for name in (name for paper in papers for name in (paper, f"{paper}{FURTHER}")):
        is_shipped = any(path.is_file() for path in paths(layout.ensembles, name))
        if is_shipped and (why := stale(layout.ensembles, named(layout, name))):
            same = "./reproduce same-bits --mark accepts it if a sample has the same numbers, " * (
                why == ["code changed"]
            )
            lines.append(f"data/ensemble/{name}: {', '.join(why)}; {same}./reproduce ensemble {name} rebuilds it")
    return lines


def read(folder: Path, name: str) -> Shipped:
    """The shipped results of an ensemble. Raises InputError when they are missing."""
    metrics, table, _ = paths(folder, name)
    try:
        return Shipped(pd.read_parquet(metrics), pd.read_csv(table, keep_default_na=False))
    except OSError:
        raise InputError(f"{metrics}: no ensemble of {name}; ./reproduce ensemble {name} simulates it") from None


def as_measured(members: pd.DataFrame, experiment: Experiment, first: int = 0) -> pd.DataFrame:
    """Rows of `Shipped.metrics` in the columns of `tcpfair.measures.measure`, each setting as one ``replicate``.

    ``members`` are of one experiment, under one hypothesis; replicates count from ``first``, further runs from setting 1.
    Grid variables have the types of the configuration.
    """
    points = grid_points(experiment)
    place = {point_text(point): number for number, point in enumerate(points)}
    point = members["point"].astype(str).map(place).to_numpy()
    setting = members["setting"].to_numpy(dtype=int) + (first - 1 if first else 0)
    made = pd.DataFrame({"run_id": setting * len(points) + point, "replicate": setting})
    return made.join(pd.DataFrame(points).iloc[point].reset_index(drop=True)).assign(
        flow=members["flow"].to_numpy(dtype="int32"),
        flow_protocol=members["flow_protocol"].astype(str).to_numpy(),
        metric=members["metric"].astype(str).to_numpy(),
        value=members["value"].to_numpy(dtype=float),
    )
