"""Does the engine still give the bits that are shipped? And marking the shipped runs as made by the code as it is now.

For a change of the simulator that is meant to keep every bit. Two things are simulated: all runs of the smoke plan (each grid
point of every experiment, cut short), held against the hashes in ``data/expected/bits.csv``; and of the shipped traces one
run for each set of algorithms in each experiment, the shortest, held against the rows that are shipped. A run whose scenario
is written otherwise than before (its key is another) is not taken on trust: all such runs are simulated. Of each shipped
ensemble whose code is another, the setting as configured and one that was drawn are made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from tcpfair.contract import checksums, ensemble_table, store, trace
from tcpfair.contract.ensemble import Ensemble, Member, ensemble_of, load
from tcpfair.contract.ensemble_table import CELL, Shipped
from tcpfair.contract.expand import RunSpec, expected_pkts, run_specs, shorten, values_behind
from tcpfair.contract.files import write_whole
from tcpfair.contract.layout import PAPERS, Layout
from tcpfair.contract.manifest import CODE, CONFIG, RUNS, read_manifest, write_manifest
from tcpfair.contract.papers import PaperConfig, load_paper, load_yaml
from tcpfair.contract.settings import BASE
from tcpfair.contract.trace import TABLES, Trace
from tcpfair.workflow import ensemble as ensembles

SHOWN = 20  # lines on the terminal
BITS = "bits.csv"  # paper, experiment, run_id, sha256: what the runs of the smoke plan gave


def main(layout: Layout, mark: bool = False) -> int:
    """Simulate and compare; with ``mark`` write down that today's code made what is shipped. 1 when a bit differs."""
    smoke_s = float(load_yaml(layout.config / "smoke.yaml")["smoke_duration_s"])
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        bits = pd.concat(pool.map(smoke_bits, *zip(*((layout, paper, smoke_s) for paper in PAPERS), strict=True)))
        checked = dict(zip(PAPERS, pool.map(compare_shipped, [layout] * len(PAPERS), PAPERS), strict=True))
        drawn = [line for lines in pool.map(compare_ensemble, [layout] * len(PAPERS), PAPERS) for line in lines]
    expected = _expected_bits(layout)
    moved = _moved_bits(bits, expected)
    differ = [*moved, *(line for lines, _ in checked.values() for line in lines), *drawn]
    n_runs = sum(n for _, n in checked.values())
    for line in differ[:SHOWN]:
        print(f"differs    {line}")
    if len(differ) > SHOWN:
        print(f"           and {len(differ) - SHOWN} more runs")
    print(f"compared   {len(bits)} runs of the smoke plan, {n_runs} shipped runs")
    if differ:
        print("other bits: a change of results needs ./reproduce bundle and a line in CHANGELOG.md")
        return 1
    print("the same bits")
    if mark:
        write_whole(layout.data / "expected" / BITS, bits.to_csv(index=False, lineterminator="\n"))
        marked = [name for paper in PAPERS for name in mark_shipped(layout, paper)]
        others = [paper for paper in PAPERS if mark_ensemble(layout, paper)]
        checksums.update(layout.data, [layout.bundled_root, layout.ensembles, layout.data / "expected" / BITS])
        print(f"marked     {len(marked)} traces and {len(others)} ensembles as made by this code")
    return 0


def _expected_bits(layout: Layout) -> pd.DataFrame:
    path = layout.data / "expected" / BITS
    columns = ["paper", "experiment", "run_id", "sha256"]
    return pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=columns)


def _moved_bits(bits: pd.DataFrame, expected: pd.DataFrame) -> list[str]:
    """Runs of the smoke plan whose hash is another than expected; new and dropped runs say nothing."""
    both = bits.merge(expected, on=["paper", "experiment", "run_id"], suffixes=("", "_expected"))
    other = both[both["sha256"] != both["sha256_expected"]]
    return [f"{row.paper}/{row.experiment}, smoke run {row.run_id}" for row in other.itertuples()]


def smoke_bits(layout: Layout, paper: str, smoke_s: float) -> pd.DataFrame:
    """A hash of what each run of a paper's smoke plan gives: columns paper, experiment, run_id, sha256."""
    from tcpfair import sources

    config = load_paper(layout.paper_config(paper))
    rows = []
    for experiment in config.experiments:
        for spec in run_specs(config, experiment):
            if spec.replicate == 0:
                made = sources.simulate(config, experiment, "engine", [shorten(spec, smoke_s)])
                rows.append((paper, experiment, spec.run_id, hash_of(made)))
    return pd.DataFrame(rows, columns=["paper", "experiment", "run_id", "sha256"])


def hash_of(made: Trace) -> str:
    """Hash of every value that a simulation adds to its scenario: samples, link and events, in the types of the schema."""
    sha = hashlib.sha256()
    for name in ("samples", "link", "events"):
        table = trace.in_schema(name, getattr(made, name))
        for column in table.column_names:
            sha.update(column.encode())
            sha.update("\n".join(map(repr, table[column].to_pylist())).encode())
    return sha.hexdigest()


def compare_shipped(layout: Layout, paper: str) -> tuple[list[str], int]:
    """Simulate a sample of a paper's shipped runs; a line for each that differs, and how many were simulated."""
    config = load_paper(layout.paper_config(paper))
    found, n_runs = [], 0
    for experiment in config.experiments:
        folder = layout.bundled(paper, experiment)
        if not folder.is_dir():
            continue
        held = trace.read(folder)
        for spec in _sample(config, experiment, read_manifest(folder).get(RUNS, []), held):
            n_runs += 1
            if not is_same(config, experiment, spec, held):
                found.append(f"{paper}/{experiment}, run {spec.run_id}")
    return found, n_runs


def _sample(config: PaperConfig, experiment: str, keys: list[str], held: Trace) -> Iterator[RunSpec]:
    """The shortest run of each set of algorithms, and every run whose key is not the one that is shipped."""
    specs = run_specs(config, experiment)
    shortest: dict[frozenset[str], RunSpec] = {}
    for spec in sorted(specs, key=lambda spec: (expected_pkts(spec.scenario), spec.run_id)):
        shortest.setdefault(frozenset(spec.algorithms), spec)
    chosen = {spec.run_id for spec in shortest.values()}
    there = set(held.runs["run_id"])
    for spec in specs:
        another = spec.run_id >= len(keys) or keys[spec.run_id] != spec.key
        if spec.run_id in there and (another or spec.run_id in chosen):
            yield spec


def is_same(config: PaperConfig, experiment: str, spec: RunSpec, held: Trace) -> bool:
    """Whether simulating a run gives every row of every table that is held of it."""
    from tcpfair import sources

    made = sources.merge([sources.simulate(config, experiment, "engine", [spec])])
    for name in TABLES:
        old, new = getattr(held, name), getattr(made, name)
        old = old[old["run_id"] == spec.run_id].reset_index(drop=True)
        if name == "runs":  # the rest of it is the scenario as it is written
            old, new = old[["run_id", "seed", "replicate"]], new[["run_id", "seed", "replicate"]]
        if not old.equals(new[old.columns].astype(old.dtypes)):
            return False
    return True


def mark_shipped(layout: Layout, paper: str) -> list[str]:
    """Write keys, code and configuration of today into the manifests of a paper's shipped traces; returns their names."""
    config = load_paper(layout.paper_config(paper))
    marked = []
    for experiment in config.experiments:
        folder: Path = layout.bundled(paper, experiment)
        if not folder.is_dir():
            continue
        manifest, specs = read_manifest(folder), run_specs(config, experiment)
        now = {
            RUNS: [spec.key for spec in specs],
            CODE: store.code_behind(store.asked(specs)),
            CONFIG: values_behind(config, experiment, specs),
        }
        if {**manifest, **now} != manifest:
            write_manifest({**manifest, **now}, folder)
            marked.append(f"{paper}/{experiment}")
    return marked


def compare_ensemble(layout: Layout, paper: str) -> list[str]:
    """Make two members of a paper's shipped ensemble again, where its code is another; a line for each that differs."""
    ensemble = _made_by_other_code(layout, paper)
    if ensemble is None:
        return []
    found = ensemble_table.read(layout.ensembles, paper)
    members = [member for member in ensemble.members() if not member.hypothesis and member.setting <= BASE + 1]
    return [f"{paper}, ensemble, setting {each.name}" for each in members if not _is_same_member(found, each)]


def mark_ensemble(layout: Layout, paper: str) -> bool:
    """Write today's code into what vouches for a paper's shipped ensemble; False where there is nothing to write."""
    ensemble = _made_by_other_code(layout, paper)
    return ensemble is not None and ensemble_table.mark(layout.ensembles, ensemble)


def _made_by_other_code(layout: Layout, paper: str) -> Ensemble | None:
    """A paper's shipped ensemble where its code alone is not today's; others have to be made anew or are fresh."""
    if not layout.ensemble_config.is_file() or paper not in (config := load(layout.ensemble_config)).papers:
        return None
    ensemble = ensemble_of(config, load_paper(layout.paper_config(paper)))
    return ensemble if ensemble_table.stale(layout.ensembles, ensemble) == ["code changed"] else None


def _is_same_member(found: Shipped, member: Member) -> bool:
    """Whether a member gives, made today, the rows or the refusal that are shipped of it."""
    metrics, refused, _ = ensembles.made(member)
    held, row = (
        table[(table["hypothesis"] == member.hypothesis) & (table["setting"] == member.setting)]
        for table in (found.metrics, found.settings)
    )
    made, held = (
        table[[*CELL, "value", "n"]]
        .astype({**dict.fromkeys(CELL, str), "value": "float32", "n": int})
        .sort_values(CELL, ignore_index=True)
        for table in (metrics, held)
    )
    return made.equals(held) and row["refused"].tolist() == [refused]
