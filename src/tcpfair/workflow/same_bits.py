"""Checks that the engine still gives the shipped bits, and marks the shipped runs as made by the current code.

This is for a change of the simulator that should keep every bit. It simulates all runs of the smoke plan (each grid point of
every experiment, shortened) and compares them with the hashes in ``data/expected/bits.csv``. It also simulates the shortest
shipped run for each set of algorithms in each experiment, and all runs whose key has changed, and compares them with the
shipped rows. For each shipped ensemble from other code, it repeats the configured setting and a drawn one, in the smallest
experiments that have all algorithms and measures.
`accept_same_bits` is a smaller check, only for runs from other code.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pandas as pd

from tcpfair import cc, sources
from tcpfair.files import checksums, costs
from tcpfair.files.files import write_whole
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.files.manifest import CODE, CONFIG, RUNS, read_manifest, write_manifest
from tcpfair.library import live
from tcpfair.papers.expand import RunSpec, expected_pkts, run_specs, shorten, values_behind
from tcpfair.papers.papers import PaperConfig, load_paper, load_yaml
from tcpfair.papers.settings import BASE
from tcpfair.runs import code, ensemble_table, store
from tcpfair.runs.ensemble import Ensemble, Member, load, named
from tcpfair.runs.ensemble_table import CELL, Shipped
from tcpfair.runs.store import Asked
from tcpfair.workflow import again, executor
from tcpfair.workflow import ensemble as ensembles
from tcpfair.workflow.again import Held, hash_of
from tcpfair.workflow.executor import side_by_side, watched
from tcpfair.workflow.state import Group

SHOWN = 20  # lines on the terminal
BITS = "bits.csv"  # paper, experiment, run_id, sha256 of the results of the smoke plan
_SHORT_S, _SHIPPED_S = 0.06, 1.5  # of one core for a run, in addition to its simulation
_COLUMNS = ["paper", "experiment", "run_id", "sha256"]


def main(layout: Layout, mark: bool = False, cores: int = 1) -> int:
    """Simulate and compare; with ``mark``, record the current code in the shipped data. 1 when a bit differs."""
    smoke_s = float(load_yaml(layout.config / "smoke.yaml")["smoke_duration_s"])
    papers = {paper: load_paper(layout.paper_config(paper)) for paper in PAPERS}
    names = load(layout.ensemble_config).names if layout.ensemble_config.is_file() else []
    live.prepare(executor.say)  # once, before the parallel processes start
    tasks = [(layout, paper, name, smoke_s) for paper, config in papers.items() for name in config.experiments]
    short = [
        Held.of(config, name, spec)
        for config in papers.values()
        for name in config.experiments
        for spec in _smoke_specs(config, name, smoke_s)
    ]
    smoke, chosen = again.size(short), list(_sample(layout))
    other = {name: _size_of_sample(ensemble) for name in names if (ensemble := _made_by_other_code(layout, name))}
    repeated = Group(sum(size.expected_s for size in other.values()), runs=sum(size.runs for size in other.values()))
    other_s = _SHORT_S * smoke.runs + _SHIPPED_S * len(chosen)
    simulated_s = sum(size.expected_s for size in (smoke, again.size(chosen), repeated))
    takes = costs.duration_text((simulated_s + other_s) / cores)
    parts = f"{smoke.runs} short runs, {len(chosen)} shipped ones and {repeated.runs} of ensembles"
    executor.say(f"same bits? comparing {parts}: about {takes}")
    rows = watched(side_by_side(smoke_bits, tasks, cores), "short", smoke.runs, lambda task, rows: len(rows))
    hashes = {task[1:3]: rows for task, rows in rows}
    bits = pd.DataFrame([row for task in tasks for row in hashes[task[1:3]]], columns=_COLUMNS)
    differ = _moved_bits(layout, bits) + sorted(again.compared(layout, chosen, cores))
    found = side_by_side(compare_ensemble, [(layout, name) for name in other], cores)
    for _, lines in watched(found, "ensembles", repeated.runs, lambda task, lines: other[task[1]].runs):
        differ += lines
    for line in differ[:SHOWN]:
        print(f"differs    {line}")
    if len(differ) > SHOWN:
        print(f"           and {len(differ) - SHOWN} more runs")
    print(f"compared   {len(bits)} runs of the smoke plan, {len(chosen)} shipped runs")
    if differ:
        print("different bits: a change of results needs ./reproduce bundle and a line in CHANGELOG.md")
        return 1
    print("the same bits")
    if mark:
        write_whole(layout.data / "expected" / BITS, bits.to_csv(index=False, lineterminator="\n"))
        n_marked, n_others = mark_shipped(layout), sum(mark_ensemble(layout, name) for name in names)
        checksums.update(layout.data, [layout.bundled_root, layout.ensembles, layout.data / "expected" / BITS])
        print(f"marked     {n_marked} traces and {n_others} ensembles as made by this code")
    return 0


# --- The smoke plan ----------------------------------------------------------------------------------------------


def smoke_bits(layout: Layout, paper: str, experiment: str, smoke_s: float) -> list[tuple[str, str, int, str]]:
    """A hash of the results of each run of an experiment's smoke plan, in rows of ``bits.csv``."""
    config = load_paper(layout.paper_config(paper))
    return [
        (paper, experiment, spec.run_id, hash_of(sources.simulate(config, experiment, [spec])))
        for spec in _smoke_specs(config, experiment, smoke_s)
    ]


def _smoke_specs(config: PaperConfig, experiment: str, smoke_s: float) -> list[RunSpec]:
    return [shorten(spec, smoke_s) for spec in run_specs(config, experiment) if spec.replicate == 0]


def _moved_bits(layout: Layout, bits: pd.DataFrame) -> list[str]:
    """Runs of the smoke plan whose hash differs from the expected one; new and removed runs do not count."""
    path = layout.data / "expected" / BITS
    if not path.is_file():
        return []
    both = bits.merge(pd.read_csv(path), on=_COLUMNS[:3], suffixes=("", "_expected"))
    other = both[both["sha256"] != both["sha256_expected"]]
    return [f"{row.paper}/{row.experiment}, smoke run {row.run_id}" for row in other.itertuples()]


# --- Shipped runs ------------------------------------------------------------------------------------------------


def _sample(layout: Layout) -> Iterator[Held]:
    """For each experiment, the shortest run of each set of algorithms, and every run whose key differs from the shipped one."""
    for config, experiment, folder in store.shipped(layout):
        keys, specs = read_manifest(folder).get(RUNS, []), run_specs(config, experiment)
        shortest: dict[frozenset[str], int] = {}
        for spec in sorted(specs, key=lambda spec: (expected_pkts(spec.scenario), spec.run_id)):
            shortest.setdefault(frozenset(spec.algorithms), spec.run_id)
        for spec in specs[: len(keys)]:
            if keys[spec.run_id] != spec.key or spec.run_id in shortest.values():
                yield Held.of(config, experiment, spec)


def accept_same_bits(layout: Layout, cores: int = 1) -> bool:
    """Have the shipped runs of other code count as those of the current code, if a small sample has the same bits.

    The sample has the shortest run of each experiment and of each algorithm. If the current code made all shipped runs, this
    returns False at once and prints no line.
    """
    shortest: dict[tuple[str, str] | str, Held] = {}
    for config, experiment, folder in store.shipped(layout):
        for run, algorithms in _of_other_code(config, experiment, read_manifest(folder)):
            for what in ((config.paper, experiment), *algorithms):
                shortest[what] = min(shortest.get(what, run), run, key=lambda each: each.pkts)
    chosen = sorted(set(shortest.values()))
    if not chosen:
        return False
    takes = again.about(chosen, cores)
    executor.say(f"same bits? comparing {len(chosen)} shipped runs, because the simulator changed: about {takes}")
    began_s = time.monotonic()
    differ = sorted(again.compared(layout, chosen, cores))
    executor.say(f"same bits  {len(chosen) - len(differ)} of {len(chosen)} runs, in {time.monotonic() - began_s:.0f} s")
    for line in differ[:SHOWN]:
        executor.say(f"differs    {line}")
    algorithms = {what for what in shortest if isinstance(what, str)}
    return not differ and store.accept_bits(layout, shortest.keys() - algorithms, algorithms)


def _of_other_code(config: PaperConfig, experiment: str, manifest: dict) -> Iterator[tuple[Held, set[str]]]:
    """The requested, shipped runs of an experiment that other code made, with their algorithms."""
    made_by = manifest.get(CODE, {})
    now = store.code_behind([Asked("", tuple(sorted(made_by.keys() & cc.names())), 0.0)])
    other = {name for name, digest in made_by.items() if now.get(name) != digest}
    for spec, key in zip(run_specs(config, experiment) if other else (), manifest.get(RUNS, []), strict=False):
        if key == spec.key and other.intersection([code.SIMULATOR, *spec.algorithms]):
            yield Held.of(config, experiment, spec), spec.algorithms


def mark_shipped(layout: Layout) -> int:
    """Write current keys, code and configuration into the manifests of the shipped traces; returns how many differed."""
    n_marked = 0
    for config, experiment, folder in store.shipped(layout):
        manifest, specs = read_manifest(folder), run_specs(config, experiment)
        now = {
            RUNS: [spec.key for spec in specs],
            CODE: store.code_behind(store.asked(specs)),
            CONFIG: values_behind(config, experiment, specs),
        }
        if {**manifest, **now} != manifest:
            write_manifest({**manifest, **now}, folder)
            n_marked += 1
    return n_marked


# --- Shipped ensembles -------------------------------------------------------------------------------------------


def compare_ensemble(layout: Layout, name: str) -> list[str]:
    """Repeat a part of two members of a shipped ensemble that other code made; returns a line for each that differs."""
    ensemble = _made_by_other_code(layout, name)
    if ensemble is None:
        return []
    found, unit = ensemble_table.read(layout.ensembles, name), sample_of(ensemble)
    members = [member for member in ensemble.members() if not member.hypothesis and member.setting <= BASE + 1]
    return [f"{name}, ensemble, setting {each.name}" for each in members if not _is_same_member(found, each, unit)]


def sample_of(ensemble: Ensemble) -> list[str]:
    """The smallest experiments with every algorithm and every measure of an ensemble, those of NRU weights first."""
    paper, covered, chosen = ensemble.paper, set(), []
    for name in sorted(ensemble.experiments, key=lambda name: ensemble.sizes[name].pkts):
        has = {each for spec in run_specs(paper, name) for each in spec.algorithms}
        has |= set(paper.experiments[name].measures)
        if not has <= covered:
            covered |= has
            chosen.append(name)
    needed = paper.behind(chosen)
    return [name for name in ensemble.experiments if name in needed]


def _size_of_sample(ensemble: Ensemble) -> Group:
    """The time on one core and the number of the runs that `compare_ensemble` repeats, in two members."""
    sizes = [ensemble.sizes[name] for name in sample_of(ensemble)]
    pkts = 2 * sum(size.pkts for size in sizes)
    return Group(pkts / costs.PLANNED_PKTS_PER_S, runs=2 * sum(size.runs for size in sizes))


def mark_ensemble(layout: Layout, name: str) -> bool:
    """Write the current code into the manifest of a shipped ensemble that other code made; False if it is current."""
    ensemble = _made_by_other_code(layout, name)
    return ensemble is not None and ensemble_table.mark(layout.ensembles, ensemble)


def _made_by_other_code(layout: Layout, name: str) -> Ensemble | None:
    """A shipped ensemble if only its code has changed; None for a current one, and for one that must be simulated."""
    ensemble = named(layout, name)
    return ensemble if ensemble_table.stale(layout.ensembles, ensemble) == ["code changed"] else None


def _is_same_member(found: Shipped, member: Member, unit: list[str]) -> bool:
    """Whether these experiments of a member, repeated, give the shipped rows or the shipped reason why it was refused."""
    metrics, refused, _ = ensembles.made(member, unit, {})
    held, row = (
        table[(table["hypothesis"] == member.hypothesis) & (table["setting"] == member.setting)]
        for table in (found.metrics[found.metrics["experiment"].isin(unit)], found.settings)
    )
    made, held = (
        table[[*CELL, "value", "n"]]
        .astype({**dict.fromkeys(CELL, str), "value": "float32", "n": int})
        .sort_values(CELL, ignore_index=True)
        for table in (metrics, held)
    )
    return made.equals(held) and row["refused"].tolist() == [refused]
