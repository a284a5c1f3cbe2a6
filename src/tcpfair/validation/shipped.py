"""The shipped results of other simulators: ``data/validation/<simulator>/``.

A CSV of per-run metrics for each experiment, ``curves.parquet`` with some windows over time, and ``provenance.json`` with the
tool and the code that made each experiment, and the scenarios of each of its algorithms.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.validation.measures import CURVE_COLUMNS
from tcpfair.validation.scenarios import Selection, digests_of, tools_of, whole

PROVENANCE = "provenance.json"


@dataclass(frozen=True)
class Shipped:
    """The results of one simulator for the current scenarios, by experiment, and the names of stale and missing ones."""

    runs: dict[str, pd.DataFrame] = field(default_factory=dict)
    curves: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=CURVE_COLUMNS))
    provenance: dict[str, dict] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def tools(self) -> list[str]:
        """Names and versions of the tools that made them."""
        return sorted({entry["tool"] for entry in self.provenance.values()})


def folder(layout: Layout, backend: str) -> Path:
    return layout.validated / backend


def read_provenance(layout: Layout, backend: str) -> dict[str, dict]:
    """The provenance of each experiment's results; empty without results."""
    path = folder(layout, backend) / PROVENANCE
    return json.loads(path.read_text())["experiments"] if path.is_file() else {}


def read(layout: Layout, config: PaperConfig, backend: str) -> Shipped:
    """The shipped results of one simulator, without those of other scenarios."""
    selection = whole(config, backend)
    provenance = read_provenance(layout, backend)
    wanted = [name for name in config.experiments if selection.specs(config, name)]
    stale = stale_experiments(config, provenance, selection)
    fresh = [name for name in wanted if name in provenance and name not in stale]
    curves = folder(layout, backend) / "curves.parquet"
    found = pd.read_parquet(curves) if curves.is_file() else pd.DataFrame(columns=CURVE_COLUMNS)
    return Shipped(
        runs={name: pd.read_csv(folder(layout, backend) / f"{name}.csv") for name in fresh},
        curves=found[found["experiment"].isin(fresh)],
        provenance={name: provenance[name] for name in fresh},
        stale=stale,
        missing=[name for name in wanted if name not in provenance],
    )


def stale_experiments(config: PaperConfig, provenance: dict[str, dict], selection: Selection) -> list[str]:
    """Experiments whose results were made from other scenarios than the configured ones."""
    return [
        name
        for name, entry in provenance.items()
        if name not in config.experiments or entry["scenarios"] != digests_of(config, name, selection)
    ]


def still_right(
    layout: Layout, config: PaperConfig, backend: str, experiment: str, selection: Selection, origin: dict[str, str]
) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """Runs and curves, by algorithm, of the shipped results of an experiment that ``origin`` (tool and code) made from the
    current scenarios, even if other algorithms are stale. The selection may have further replicates."""
    entry = read_provenance(layout, backend).get(experiment)
    if entry is None or any(entry[name] != value for name, value in origin.items()):
        return {}
    place = folder(layout, backend)
    runs = pd.read_csv(place / f"{experiment}.csv")
    curves = pd.read_parquet(place / "curves.parquet").query("experiment == @experiment")
    # recover the values from before they were stored in 32 bits
    curves = curves.astype({"t_s": float, "cwnd_pkts": float}).round({"t_s": 4, "cwnd_pkts": 1})
    found = {}
    for label, own in runs.groupby("label"):
        same_runs = replace(selection, replicates={"*": own["replicate"].nunique()})
        if entry["scenarios"].get(label) == digests_of(config, experiment, same_runs).get(label):
            found[label] = own, curves.loc[curves["label"] == label, CURVE_COLUMNS[1:]]
    return found


def faults(layout: Layout, config: PaperConfig) -> list[str]:
    """Faults of the shipped results of a configuration's simulators, one line each."""
    found = []
    for backend in tools_of(config):
        provenance = read_provenance(layout, backend)
        where = folder(layout, backend).relative_to(layout.root)
        for name in stale_experiments(config, provenance, whole(config, backend)):
            found.append(f"{where}/{name}.csv: made from other scenarios than {config.place} has")
        for name in provenance:
            if not (layout.root / where / f"{name}.csv").is_file():
                found.append(f"{where}/{name}.csv: missing; {PROVENANCE} lists it")
    return found


def write(layout: Layout, backend: str, experiment: str, runs: pd.DataFrame, curves: pd.DataFrame, entry: dict) -> None:
    """Replace the results of one experiment; ``provenance.json`` is written last.

    ``entry`` has tool, code and the digests of the scenarios by algorithm. Results of other experiments stay.
    """
    place = folder(layout, backend)
    write_whole(place / f"{experiment}.csv", runs.to_csv(index=False, lineterminator="\n"))
    own = curves.assign(experiment=experiment)[CURVE_COLUMNS].astype({"t_s": "float32", "cwnd_pkts": "float32"})
    replace_rows(place / "curves.parquet", experiment, own, CURVE_COLUMNS[:3])
    provenance = {**read_provenance(layout, backend), experiment: {**entry, "runs": len(runs)}}
    text = json.dumps({"experiments": provenance}, indent=1, sort_keys=True) + "\n"
    write_whole(place / PROVENANCE, text)


def replace_rows(path: Path, experiment: str, own: pd.DataFrame, order: Sequence[str]) -> None:
    """Replace the rows of an experiment in a table of all experiments, a CSV or Parquet file sorted by ``order``."""
    is_csv = path.suffix == ".csv"
    if path.is_file():
        old = pd.read_csv(path) if is_csv else pd.read_parquet(path)
        others = old[old["experiment"] != experiment]
        own = pd.concat([others, own]) if len(others) else own
    own = own.sort_values(list(order), kind="stable", ignore_index=True)
    if is_csv:
        write_whole(path, own.to_csv(index=False, lineterminator="\n"))
    else:
        write_whole(path, own.to_parquet(index=False, compression="zstd"))
