"""What an ensemble gave, as files: a small table for each member, and the table of all that the repository ships.

Shipped are three files per paper below ``data/ensemble``:

* ``<paper>.parquet``: hypothesis (empty = as printed), setting, experiment, point (of the grid, ``protocol=CUBIC;rtt_ms=25``),
  flow (0 = the system), flow_protocol, metric, value (mean over the replicates that show it, float32; NaN where none does), n
  (how many do);
* ``<paper>_settings.csv``: a row for each member: hypothesis, setting, refused (why no run can have these values; empty for
  those that ran), and the value of each assumption;
* ``<paper>.json``: digests of what all this was made from, and of the two files; written last.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tcpfair.contract.ensemble import BASE, Ensemble, Member
from tcpfair.contract.files import whole, write_whole
from tcpfair.contract.layout import Layout
from tcpfair.contract.manifest import file_hash
from tcpfair.contract.papers import PaperConfig
from tcpfair.contract.stamps import changed, stamp_path, write_stamp
from tcpfair.errors import InputError

CELL = ["experiment", "point", "flow", "flow_protocol", "metric"]  # what a value is of
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
_REFUSED = b"refused"


class Shipped(NamedTuple):
    """The two tables of a paper's ensemble, as the text of this module says."""

    metrics: pd.DataFrame
    settings: pd.DataFrame


# --- One member --------------------------------------------------------------------------------------------------


def point_text(point: Mapping[str, Any]) -> str:
    """A point of a grid as text: ``protocol=CUBIC;rtt_ms=25``."""
    return ";".join(f"{name}={value}" for name, value in point.items())


def over_replicates(measured: pd.DataFrame, grid: Iterable[str], experiment: str) -> pd.DataFrame:
    """The metrics of an experiment (`tcpfair.measures.measure`) as means over the replicates at each point of its grid."""
    grid = list(grid)
    points = [point_text(dict(zip(grid, values, strict=True))) for values in zip(*(measured[name] for name in grid))]
    named = measured.assign(experiment=experiment, point=points if grid else "")
    found = named.groupby(CELL, sort=False)["value"].agg(value="mean", n="count")
    return found.reset_index()


def member_file(layout: Layout, member: Member) -> Path:
    return layout.ensemble_members(member.ensemble.paper.paper) / f"{member.name}.parquet"


def is_kept(layout: Layout, member: Member) -> bool:
    """Whether what a member gives is there, made from what it would be made from now."""
    return not changed(member_file(layout, member), member.stamp)


def keep(layout: Layout, member: Member, metrics: pd.DataFrame, refused: str = "") -> None:
    """Keep what a member gave: its metrics, or the reason why no run can have its values."""
    path = member_file(layout, member)
    table = _table(metrics.reindex(columns=list(_OF_MEMBER)), _OF_MEMBER)
    stamp_path(path).unlink(missing_ok=True)
    with whole(path) as scratch:
        pq.write_table(table.replace_schema_metadata({_REFUSED: refused.encode()}), scratch, compression="zstd")
    write_stamp(path, member.stamp)


def kept(layout: Layout, member: Member) -> tuple[pd.DataFrame, str]:
    """The metrics that a member gave and, where there are none, the reason."""
    table = pq.read_table(member_file(layout, member))
    return table.to_pandas(), (table.schema.metadata or {}).get(_REFUSED, b"").decode()


def _table(frame: pd.DataFrame, columns: Mapping[str, pa.DataType]) -> pa.Table:
    words = {name: frame[name].astype(str) for name, kind in columns.items() if kind == _WORDS}
    plain = pa.schema([(name, pa.string() if kind == _WORDS else kind) for name, kind in columns.items()])
    table = pa.Table.from_pandas(frame.assign(**words), schema=plain, preserve_index=False)
    return table.cast(pa.schema(list(columns.items())))


# --- All of them -------------------------------------------------------------------------------------------------


def gather(layout: Layout, ensemble: Ensemble, members: list[Member]) -> Shipped:
    """What all members gave. Raises InputError when one is missing or was made from something else."""
    missing = [member for member in members if not is_kept(layout, member)]
    if missing:
        raise InputError(
            f"{ensemble.paper.paper}: {len(missing)} of {len(members)} settings are missing; ./reproduce ensemble makes them"
        )
    parts, rows = [], []
    for member in members:
        metrics, refused = kept(layout, member)
        about = {"hypothesis": member.hypothesis, "setting": member.setting}
        parts.append(metrics.assign(**about))
        rows.append({**about, "refused": refused, **ensemble.table.loc[member.setting]})
    metrics = pd.concat(parts, ignore_index=True)[list(_OF_ALL)]
    cells = {name: pd.Categorical(metrics[name].astype(str), metrics[name].astype(str).unique()) for name in CELL[:1]}
    order = metrics.assign(**cells).sort_values([*CELL, "hypothesis", "setting"], kind="stable").index
    return Shipped(metrics.loc[order].reset_index(drop=True), pd.DataFrame(rows))


def paths(folder: Path, paper: str) -> tuple[Path, Path, Path]:
    """The three files of a paper: metrics, settings, and what says from what they were made."""
    return folder / f"{paper}.parquet", folder / f"{paper}_settings.csv", folder / f"{paper}.json"


def write(folder: Path, ensemble: Ensemble, members: list[Member], found: Shipped) -> list[Path]:
    """Write what `gather` gave, the file that vouches for the others last; returns the three files."""
    metrics, table, manifest = paths(folder, ensemble.paper.paper)
    manifest.unlink(missing_ok=True)
    with whole(metrics) as scratch:
        pq.write_table(
            _table(found.metrics, _OF_ALL).replace_schema_metadata(None), scratch, compression="zstd", compression_level=19
        )
    write_whole(table, found.settings.to_csv(index=False, lineterminator="\n"))
    said = {
        "paper": ensemble.paper.paper,
        "configuration": ensemble.configuration,
        "code": ensemble.code,
        "replicates": {name: each.runs.value for name, each in ensemble.paper.experiments.items()},
        "members": {member.name: member.stamp["setting"] for member in members},
        "files": {path.name: file_hash(path) for path in (metrics, table)},
    }
    write_whole(manifest, json.dumps(said, indent=1) + "\n")
    return [metrics, table, manifest]


def stale(folder: Path, ensemble: Ensemble) -> list[str]:
    """Why what is shipped of a paper's ensemble is not what would be made now; empty when it is. ``missing`` when it is not
    there or is not whole."""
    metrics, table, manifest = paths(folder, ensemble.paper.paper)
    try:
        said = json.loads(manifest.read_text())
        if said["files"] != {path.name: file_hash(path) for path in (metrics, table)}:
            return ["missing"]
        found = [f"{name} changed" for name in ("configuration", "code") if said[name] != getattr(ensemble, name)]
        wanted = {member.name: member.stamp["setting"] for member in ensemble.members()}
        lacking = Counter("other" if name in said["members"] else "missing" for name, digest in wanted.items()
                          if said["members"].get(name) != digest)
        for how, n in lacking.items():
            found.append(f"{n} of {len(wanted)} settings {'are drawn otherwise now' if how == 'other' else 'are missing'}")
        return found
    except (OSError, ValueError, KeyError, TypeError):
        return ["missing"]


def read(folder: Path, paper: str) -> Shipped:
    """What is shipped of a paper's ensemble. Raises InputError when it is not there."""
    metrics, table, _ = paths(folder, paper)
    try:
        return Shipped(pd.read_parquet(metrics), pd.read_csv(table, keep_default_na=False))
    except OSError:
        raise InputError(f"{metrics}: no ensemble of {paper}; ./reproduce ensemble {paper} makes it") from None


def as_measured(found: Shipped, config: PaperConfig, experiment: str, hypothesis: str, setting: int = BASE) -> pd.DataFrame:
    """The metrics of one member in the columns of `tcpfair.measures.measure`, its means as the one replicate 0.

    Grid variables have the types of the configuration.
    """
    grid = config.experiments[experiment].grid
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*(axis.value for axis in grid.values()))]
    known = {point_text(point): number for number, point in enumerate(points)}
    table = found.metrics
    own = table[(table["hypothesis"] == hypothesis) & (table["setting"] == setting) & (table["experiment"] == experiment)]
    numbers = own["point"].map(known).astype(int)
    columns = {name: [points[number][name] for number in numbers] for name in grid}
    rest = {name: own[name].astype(str) for name in ("flow_protocol", "metric")}
    made = pd.DataFrame({"run_id": numbers, "replicate": 0, **columns, "flow": own["flow"].astype("int32"), **rest})
    return made.assign(value=own["value"].astype(float)).sort_values("run_id", kind="stable", ignore_index=True)
