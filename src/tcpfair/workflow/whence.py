"""From a figure that was found somewhere back to its paper, its experiments and its runs; and one of them simulated again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tcpfair import sources
from tcpfair.errors import InputError, unknown
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.files.manifest import file_hash
from tcpfair.papers.expand import expected_pkts
from tcpfair.papers.papers import Exhibit, PaperConfig, load_paper
from tcpfair.runs import record, store, trace
from tcpfair.runs.origin import Origin, digest_of_keys, read
from tcpfair.sources import live
from tcpfair.workflow.again import hash_of, is_same
from tcpfair.workflow.plan import find_exhibit

_LOOKED_AT = ("bundled", "engine")  # sources that hold runs of the papers, in the order in which they are looked at


def main(root: Path, path: Path, once_more: bool = False, run: str = "") -> int:
    """Say where a figure comes from; with ``once_more`` simulate one of its runs and compare it. 1 when a row differs.

    ``run`` is ``EXPERIMENT/NUMBER``; without it the shortest one is taken. Raises InputError when the file tells of nothing,
    or of what this checkout does not have.
    """
    told = read(_that_tells(root, path))
    if told.source == "raw":
        print(f"exhibit    {told.exhibit}: drawn from a recording (source raw), no run of a paper")
        if once_more or run:
            raise InputError(f"{path}: no run is behind it that could be simulated")
        return 0
    paper = told.exhibit.partition(".")[0]
    if paper not in PAPERS:
        raise InputError(f"{path}: is {told.exhibit!r}, which this checkout does not have")
    config = load_paper(Layout(root).paper_config(paper))
    _, exhibit = find_exhibit({paper: config}, told.exhibit)
    for name in told.experiments:
        if name.partition("/")[2] not in config.experiments:
            raise InputError(f"{path}: shows {name}, which the configuration of this checkout does not have")
    behind = {name.partition("/")[2]: _held(root, config, name.partition("/")[2]) for name in told.experiments}
    for line in _lines(root, config, exhibit, told, behind):
        print(line, flush=True)
    for line in _copies(root, path):
        print(line)
    if not (once_more or run):
        return 0
    return _again(root, config, path, told, behind, run)


def _that_tells(root: Path, path: Path) -> Path:
    """The file itself, or, of one that cannot tell (a CSV), the figure or page that was written with it."""
    if path.suffix != ".csv" or not path.is_file():
        return path
    sha = file_hash(path)
    for found in _records(root):
        if sha in found.files.values():
            for name in found.files:
                if not name.endswith(".csv") and (root / name).is_file():
                    return root / name
    return path


def _records(root: Path) -> Iterator[record.Record]:
    """The records of all exhibits of this checkout that can be read."""
    for place in sorted((root / "results").glob("*/exhibits/*/*.json")):
        try:
            yield record.read(place)
        except InputError:
            continue


def _copies(root: Path, path: Path) -> Iterator[str]:
    """Where this checkout has the same file, byte for byte."""
    sha = file_hash(path)
    for found in _records(root):
        for name in (name for name, of_file in found.files.items() if of_file == sha):
            yield f"here       {name}, byte for byte"


def _held(root: Path, config: PaperConfig, experiment: str) -> tuple[store.Held, Path | None]:
    """What this checkout holds of an experiment as it is configured today, and the folder of its trace, if any."""
    held = store.Held(Layout(root, _LOOKED_AT[0]), config)
    for source in _LOOKED_AT:
        held = store.Held(Layout(root, source), config)
        if held.place(experiment):
            break
    return held, held.place(experiment)


Behind = dict[str, tuple[store.Held, Path | None]]


def _lines(root: Path, config: PaperConfig, exhibit: Exhibit, told: Origin, behind: Behind) -> Iterator[str]:
    yield f"exhibit    {exhibit.id}: {exhibit.title}"
    yield f"paper      {config.cite}"
    if not told.experiments:
        yield "runs       none: it follows from the configuration alone"
        return
    yield f"source     {told.source}, {told.runs} runs, scenarios {told.scenarios}"
    yield f"code       {', '.join(f'{name} {digest}' for name, digest in told.code.items())}"
    for name, (held, folder) in behind.items():
        where = folder.relative_to(root).as_posix() if folder else "not made yet in this checkout"
        place = f"config/papers/{config.paper}.yaml: experiments.{name}"
        yield f"runs       {config.paper}/{name}: {len(held.runs(name))} runs, {where}; {place}"
    changed = _changed(told, behind)
    yield f"today      {'; '.join(changed) or 'the same runs, made by the same code'}"


def _changed(told: Origin, behind: Behind) -> list[str]:
    """What differs between what the figure was drawn from and what would be drawn today."""
    runs = [run for name, (held, _) in behind.items() for run in held.runs(name)]
    found = []
    if digest_of_keys(run.key for run in runs) != told.scenarios:
        found.append(f"other runs: the configuration has changed since ({len(runs)} runs now)")
    now = store.code_behind(runs)
    if other := [name for name in told.code if now.get(name) != told.code[name]]:
        looked_for = f"git log -S{told.code[other[0]]} --oneline -- data/bundled"
        found.append(
            f"other code of {', '.join(other)}; `{looked_for}` finds the commits that shipped runs of that code"
        )
    return found


def _again(root: Path, config: PaperConfig, path: Path, told: Origin, behind: Behind, run: str) -> int:
    if not behind:
        raise InputError(f"{path}: no run is behind it that could be simulated")
    if changed := _changed(told, behind):
        raise InputError(f"{path}: {changed[0]}; its runs can be simulated in the checkout that it comes from")
    experiment, number = _chosen(behind, run)
    held, folder = behind[experiment]
    if folder is None:
        raise InputError(f"{config.paper}/{experiment}: not made yet in this checkout; ./reproduce makes it")
    spec = held.specs(experiment)[number]
    print(f"again      {config.paper}/{experiment} run {number} (key {spec.key}, seed {spec.seed})", flush=True)
    live.prepare(say=lambda line: print(line, flush=True))
    made = sources.merge([sources.simulate(config, experiment, "engine", [spec])])
    if is_same(config, experiment, spec, trace.read(folder)):
        print(f"same       every row of it; SHA-256 of samples, link and events: {hash_of(made)}")
        return 0
    print("differs    its rows are others than those that the figure was drawn from")
    return 1


def _chosen(behind: Behind, run: str) -> tuple[str, int]:
    """An experiment and the number of a run: as asked for, or the shortest of all."""
    if not run:
        every = [(expected_pkts(s.scenario), name, s.run_id) for name, (h, _) in behind.items() for s in h.specs(name)]
        _, name, number = min(every)
        return name, number
    name, _, number = run.replace(".", "/").rpartition("/")
    name = name.rpartition("/")[2]
    if name not in behind:
        raise unknown("--run EXPERIMENT/NUMBER: experiment", name, behind)
    n_runs = len(behind[name][0].specs(name))
    if not number.isdecimal() or int(number) >= n_runs:
        raise InputError(f"--run {run}: {name} has runs 0 to {n_runs - 1}")
    return name, int(number)
