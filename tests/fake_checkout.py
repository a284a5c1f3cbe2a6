"""A checkout without simulations: the real configuration and data, and exhibits whose results a test makes up."""

import shutil
from pathlib import Path

import pandas as pd
import yaml

from tcpfair.contract import record
from tcpfair.contract.checksums import CHECKSUMS, listed
from tcpfair.contract.layout import PAPERS, Layout, short_id
from tcpfair.contract.manifest import file_hash
from tcpfair.contract.papers import Config
from tcpfair.contract.record import Record
from tcpfair.verdicts import ledger
from tcpfair.verdicts.baseline import NUMBER_IDENTITY
from tcpfair.verdicts.ensemble import tables

ROOT = Path(__file__).parents[1]
DATA_FILES = (
    "equations.yaml",
    "sections.yaml",
    "cells.yaml",
    "scatter.csv",
    "tolerances.yaml",
    "tolerances_scatter.yaml",
)
KEPT = {"ogura": ["model1"]}  # experiments; the others would only take time to plan


def make(root: Path) -> Layout:
    """Configuration of the five papers, nearly without experiments, and the shipped data that results are compared with."""
    (root / "config" / "papers").mkdir(parents=True)
    (root / "data").mkdir()
    for name in ("published", "claims", "reference"):
        shutil.copytree(ROOT / "data" / name, root / "data" / name)
    shutil.copytree(ROOT / "notebooks", root / "notebooks", ignore=shutil.ignore_patterns(".*"))
    for name in DATA_FILES:
        shutil.copyfile(ROOT / "data" / name, root / "data" / name)
    sums = {name: sha for name, sha in listed(ROOT / "data").items() if (root / "data" / name).is_file()}
    (root / "data" / CHECKSUMS).write_text("".join(f"{sha}  {name}\n" for name, sha in sums.items()))
    for paper in PAPERS:
        config = yaml.safe_load((ROOT / "config" / "papers" / f"{paper}.yaml").read_text())
        kept = KEPT.get(paper, [])
        config["experiments"] = {name: config["experiments"][name] for name in kept}
        for exhibit in config["exhibits"]:
            exhibit["experiments"] = [name for name in exhibit.get("experiments", []) if name in kept]
        (root / "config" / "papers" / f"{paper}.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return Layout(root, "bundled")


def put_exhibit(
    layout: Layout,
    exhibit_id: str,
    numbers: list[tuple] = (),
    files: dict[str, str] | None = None,
    error: str = "",
    sd: float = 0.1,
    n_runs: int = 5,
) -> None:
    """What drawing an exhibit leaves: its files by suffix, its numbers (key, metric, value) and its record."""
    drawn = {}
    for suffix, text in ({".svg": "<svg/>"} if files is None else files).items():
        path = layout.figures(exhibit_id.split(".")[0]) / f"{short_id(exhibit_id)}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        drawn[path.relative_to(layout.root).as_posix()] = file_hash(path)
    computed = [] if error else numbers
    rows = [(exhibit_id, *number, sd, n_runs, layout.source) for number in computed]
    table = pd.DataFrame(rows, columns=[*NUMBER_IDENTITY, "value", "sd", "n_runs", "source"])
    path = record.place(layout, "numbers", exhibit_id, ".csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False)
    status = "failed" if error else "built"
    record.write(layout, Record(exhibit_id, status, {} if error else drawn, n_runs, layout.source, error))


def write_ledger(layout: Layout, config: Config) -> dict[str, dict[str, int]]:
    """The ledger, and what is placed among the ensembles before it."""
    tables.write_shipped(layout, config.papers)
    return ledger.write_ledger(layout, config)
