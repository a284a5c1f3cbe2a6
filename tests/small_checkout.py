"""Small checkouts for tests: one paper of a few short runs, the real papers almost without experiments, or links to all."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import yaml

from tcpfair import sources
from tcpfair.files.checksums import CHECKSUMS, listed
from tcpfair.files.layout import (
    COMPARED_TABLES,
    ENSEMBLE_TABLES,
    JUDGED_TABLES,
    LEDGER_TABLES,
    PAPERS,
    Layout,
    repository_root,
    short_id,
)
from tcpfair.files.manifest import file_hash
from tcpfair.papers.expand import RunSpec
from tcpfair.papers.papers import Config, load_yaml
from tcpfair.runs import outputs, record, store, trace
from tcpfair.runs.record import Record
from tcpfair.verdicts import compared, judged, ledger
from tcpfair.verdicts.baseline import NUMBER_COLUMNS
from tcpfair.verdicts.ensemble import tables
from tcpfair.verdicts.scope import scope_of
from tcpfair.workflow import bundles
from tcpfair.workflow.plan import Plan, Step

ROOT = Path(__file__).parents[1]
HEAD = """
paper: ogura
cite: a paper
protocols:
  Reno: {cc: {value: newreno, source: sec. 1}}
  Libra: {cc: {value: libra, source: sec. 2}, params: {rtt_ref_s: {value: 0.04, source: sec. 2}}}
settings:
  capacity_bps: {value: 1.0e+6, source: sec. 3}
  wire_bytes: {value: 1500, source: sec. 3}
  payload_bytes: {value: 1460, assumed: headers, range: [1448, 1460]}
  buffer_pkts: {value: 10, source: sec. 3}
  duration_s: {value: 20, source: sec. 3}
  sample_s: {value: 1, source: sec. 3}
"""
OGURA = (
    HEAD
    + """analysis:
  floor_db: {value: -10, source: sec. 4}
experiments:
  self:
    what: two flows of one protocol
    flows: &reno
      - {protocol: {value: Reno, source: sec. 3}, rtt_ms: {value: 40, source: sec. 3}}
    runs: {value: 1, source: sec. 3}
    measures: [throughput]
  pair:
    what: two protocols
    grid:
      protocol: {value: [Reno, Libra], source: sec. 3}
    flows:
      - {rtt_ms: {value: 40, source: sec. 3}}
    runs: {value: 2, source: sec. 3}
    window_s: {value: [10, 20], source: sec. 3}
    measures: [throughput, nru]
    weights: {experiment: self, rule: per_column}
  watched:
    what: no metrics are taken
    flows: *reno
    runs: {value: 1, source: sec. 3}
exhibits:
  - {id: ogura.fig8, kind: figure, title: shares, draw: bars, experiments: [pair]}
  - {id: ogura.table1, kind: table, title: parameters}
"""
)
NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["1 + 1"], "outputs": [], "execution_count": null}]}'
# of the papers' data: what results are compared with
COMPARED = (
    *("data/published", "data/claims", "data/reference", "notebooks"),
    *(f"data/{name}" for name in ("equations.yaml", "sections.yaml", "cells.yaml", "scatter.csv")),
    *("data/tolerances.yaml", "data/tolerances_scatter.yaml", "config/ensemble.yaml"),
)
KEPT = {"ogura": ["model1"]}  # experiments of the real papers; the others would only take time to plan


def put(root: Path, files: dict[str, str], copied: Iterable[str] = (), linked: Iterable[str] = ()) -> Path:
    """Write files below ``root``, copy some of this checkout's files and folders there, link to others; returns ``root``."""
    for name in copied:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        else:
            shutil.copy(ROOT / name, root / name)
    for name in linked:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(ROOT / name)
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


# --- One paper of six runs --------------------------------------------------------------------------------------------


def make_checkout(root: Path) -> Path:
    """A checkout with one small paper and nothing computed; returns ``root``."""
    (root / "data/raw/examples").mkdir(parents=True)
    papers = {name: f"paper: {name}\ncite: a paper\n" for name in PAPERS} | {"ogura": OGURA}
    files = {
        "Snakefile": "",
        "config/config.yaml": "source: engine\n",
        "config/raw.yaml": (repository_root() / "config/raw.yaml").read_text(),
        **{f"notebooks/{name}.ipynb": NOTEBOOK for name in ("ogura", "raw")},
        "data/published/ogura.csv": "exhibit,key\n",
        **{f"config/papers/{name}.yaml": text for name, text in papers.items()},
    }
    return put(root, files)


def make_plan(root: Path, **values) -> Plan:
    """The plan of the checkout, source engine unless another one is given."""
    return Plan({"source": "engine", **values}, root)


def make_trace(plan: Plan, experiment: str) -> Path:
    """Simulate what is missing of an experiment and assemble its trace, as the workflow does; returns its folder."""
    specs = plan.held["ogura"].specs(experiment)
    runs = store.asked(specs)
    lacking = {run.key for run in store.missing(plan.layout, "ogura", experiment, runs)}
    if left := [spec for spec in specs if spec.key in lacking]:
        put_shard(plan, experiment, left)
    folder = store.trace_folder(plan.layout, "ogura", experiment, runs)
    if store.whole_trace(plan.layout, "ogura", experiment, runs) is None:
        trace.write(sources.assemble(plan.layout, plan.papers["ogura"], experiment, specs), folder)
    sources.discard_merged(plan.layout, "ogura", experiment, folder, runs)
    return folder


def put_shard(plan: Plan, experiment: str, specs: Sequence[RunSpec]) -> Path:
    """Simulate some runs and write their shard; returns its folder."""
    folder = store.trace_folder(plan.layout, "ogura", experiment, store.asked(specs))
    every = plan.held["ogura"].specs(experiment)
    trace.write(sources.shard_of(plan.papers["ogura"], experiment, specs, every), folder)
    return folder


def ship(plan: Plan, experiment: str) -> Path:
    """As `make_trace`, to where shipped traces are."""
    shipped = plan.layout.bundled("ogura", experiment)
    shipped.parent.mkdir(parents=True, exist_ok=True)
    return make_trace(plan, experiment).rename(shipped)


BOTH = [("ogura", "self"), ("ogura", "pair")]


def ship_both(root: Path) -> Plan:
    """A checkout that ships the five runs of its two experiments with metrics; returns its plan."""
    plan = make_plan(make_checkout(root))
    for _, experiment in BOTH:
        make_trace(plan, experiment)
    assert bundles.ship(plan, BOTH) == ["ogura/self", "ogura/pair"]
    return plan


def spoil(folder: Path, run_id: int = 0) -> None:
    """Change one sample of a run of a trace."""
    held = trace.read(folder)
    held.samples.loc[held.samples.index[held.samples["run_id"] == run_id][3], "delivered_bytes"] += 1460
    trace.write(held, folder)


def finish(plan: Plan) -> Plan:
    """Make all outputs that are missing, with made-up content; returns the plan of what is there then."""
    plan.prepare()
    for (_, experiment), folder in plan.traces.items():
        if folder is None:
            make_trace(plan, experiment)
    for step in plan.steps:
        if not step.target.is_file():
            make_output(plan, step)
    plan.collect()
    return Plan(plan.config.model_dump(), plan.root)


def make_output(plan: Plan, step: Step, status: record.Status = "built") -> None:
    """Make the output of a step: the files that the real one has, each with its name and the digest as content."""
    layout, name = step.layout, step.item
    stable = {
        "measure": lambda: [layout.metrics(*name.split("/"))],
        "numbers": lambda: [
            record.place(layout, "numbers", exhibit.id, ".csv") for of, exhibit in plan.exhibits if of.paper == name
        ],
        "notebook": lambda: [layout.results / f"notebooks/{name}{suffix}" for suffix in (".ipynb", ".html")],
        "judge": lambda: [layout.judged / name / f"{table}.parquet" for table in JUDGED_TABLES],
        "place": lambda: [layout.placed / name / f"{table}.parquet" for table in ENSEMBLE_TABLES],
        "compare": lambda: [layout.ledger / f"{table}.csv" for table in COMPARED_TABLES],
        "ledger": lambda: [layout.ledger / f"{table}.csv" for table in LEDGER_TABLES if table not in COMPARED_TABLES],
        "report": lambda: [
            plan.opened,
            *(layout.results / f"report/{page}.html" for page in (*plan.papers, "claims", "agreement", "run")),
        ],
        "lab": lambda: [layout.lab],
    }
    with outputs.making(layout, step.folder) as scratch:
        if step.kind == "draw":
            (exhibit,) = (exhibit for _, exhibit in plan.exhibits if exhibit.id == name)
            drawn = record.figure_files(layout, exhibit)
            files = {path.relative_to(layout.root).as_posix(): "0" for path in drawn}
            is_built = status == "built"
            made = Record(name, status, files if is_built else {}, 1, "engine", "" if is_built else "why")
            record.write(layout, made, scratch)
        else:
            drawn = stable[step.kind]()
        for path in drawn:
            put(scratch, {outputs.inside(layout, scratch, path).relative_to(scratch).as_posix(): step.folder.name})


# --- The real papers without experiments --------------------------------------------------------------------------------


def make_compared(root: Path) -> Layout:
    """Configuration of the five papers, almost without experiments, and the shipped data that results are compared with."""
    files = {}
    for paper in PAPERS:
        config = load_yaml(ROOT / f"config/papers/{paper}.yaml")
        kept = KEPT.get(paper, [])
        config["experiments"] = {name: config["experiments"][name] for name in kept}
        for exhibit in config["exhibits"]:
            exhibit["experiments"] = [name for name in exhibit.get("experiments", []) if name in kept]
        files[f"config/papers/{paper}.yaml"] = yaml.dump(config, Dumper=yaml.CSafeDumper, sort_keys=False)
    put(root, files, copied=COMPARED)
    sums = {name: sha for name, sha in listed(ROOT / "data").items() if (root / "data" / name).is_file()}
    (root / "data" / CHECKSUMS).write_text("".join(f"{sha}  {name}\n" for name, sha in sums.items()))
    return Layout(root, "bundled")


def put_exhibit(
    layout: Layout,
    exhibit_id: str,
    numbers: Iterable[tuple] = (),
    files: dict[str, str] | None = None,
    error: str = "",
    sd: float = 0.1,
    n_runs: int = 5,
) -> None:
    """What drawing an exhibit leaves: its files by suffix, its numbers (key, metric, value) and its record."""
    place = layout.figures(exhibit_id.split(".")[0]).relative_to(layout.root)
    texts = {".svg": "<svg/>"} if files is None else files
    drawn = {f"{place.as_posix()}/{short_id(exhibit_id)}{suffix}": text for suffix, text in texts.items()}
    put(layout.root, drawn)
    rows = [(exhibit_id, *number, sd, n_runs, layout.source) for number in numbers]
    table = pd.DataFrame(rows, columns=NUMBER_COLUMNS)
    if not error:
        path = record.place(layout, "numbers", exhibit_id, ".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False)
    hashes = {name: file_hash(layout.root / name) for name in drawn}
    status = "failed" if error else "built"
    record.write(layout, Record(exhibit_id, status, {} if error else hashes, n_runs, layout.source, error))


def write_ledger(layout: Layout, config: Config) -> dict[str, dict[str, int]]:
    """The ledger, and what is judged and placed among the ensembles before it."""
    for paper in scope_of(layout, config).papers:
        judged.write_judged(layout, config, paper)
        tables.write_shipped(layout, paper, layout.placed / paper)
    numbers = compared.write_compared(layout, config)
    return {
        "numbers": numbers,
        **ledger.write_ledger(layout, config),
        "exhibits": ledger.write_exhibits(layout, config),
    }
