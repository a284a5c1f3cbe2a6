"""From any copy of a figure back to its paper, experiments and runs; one of the runs can be simulated again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tcpfair.errors import InputError, check_known
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.files.manifest import file_hash
from tcpfair.library import live
from tcpfair.papers.papers import Exhibit, PaperConfig, load_paper
from tcpfair.runs import record, store, trace
from tcpfair.runs.origin import Origin, digest_of_keys, read
from tcpfair.workflow.again import hash_of, is_same, made_again
from tcpfair.workflow.executor import say

_LOOKED_AT = ("bundled", "engine")  # sources with runs of the papers, in the order of search


def main(root: Path, path: Path, once_more: bool = False, run: str = "") -> int:
    """Print the origin of a figure; with ``once_more``, simulate one of its runs and compare it. 1 when a row differs.

    ``path`` may also be an exhibit such as ``ogura.fig8``. ``run`` is ``EXPERIMENT/NUMBER``, by default the shortest run.
    Raises InputError when the file has no origin, or one that is not in this checkout.
    """
    if not path.exists() and path.name.partition(".")[0] in PAPERS:
        path = _drawn(root, path.name)
    copies = _copies(root, path)
    told = read(next((root / name for name in copies if path.suffix == ".csv" and not name.endswith(".csv")), path))
    paper = told.exhibit.partition(".")[0]
    behind: dict[str, store.Held] = {}
    if told.source == "raw":
        print(f"exhibit    {told.exhibit}: drawn from a recording (source raw), no run of a paper")
    elif paper not in PAPERS:
        raise InputError(f"{path}: is {told.exhibit!r}, which this checkout does not have")
    else:
        config = load_paper(Layout(root).paper_config(paper))
        exhibit = config.exhibit(told.exhibit)
        for name in (shown.partition("/")[2] for shown in told.experiments):
            if name not in config.experiments:
                raise InputError(
                    f"{path}: shows {paper}/{name}, which the configuration of this checkout does not have"
                )
            behind[name] = _held(root, config, name)
        print("\n".join(_lines(root, config, exhibit, told, behind)), flush=True)
        sha = file_hash(path)
        for name in (name for name, of_file in copies.items() if of_file == sha):
            print(f"here       {name}, byte-identical")
    if not (once_more or run):
        return 0
    if not behind:
        raise InputError(f"{path}: has no runs that could be simulated")
    if changed := _changed(told, behind):
        raise InputError(f"{path}: {changed[0]}; its runs can be simulated in the checkout that it comes from")
    return _again(behind, run)


def _drawn(root: Path, exhibit_id: str) -> Path:
    """The figure of an exhibit in this checkout, from the first source that has drawn it."""
    exhibit = load_paper(Layout(root).paper_config(exhibit_id.partition(".")[0])).exhibit(exhibit_id)
    for source in _LOOKED_AT:
        for path in record.figure_files(Layout(root, source), exhibit)[1:]:
            if path.is_file():
                return path
    raise InputError(f"{exhibit.id}: not drawn yet in this checkout; ./reproduce figure {exhibit.id} draws it")


def _copies(root: Path, path: Path) -> dict[str, str]:
    """SHA-256 by name of all files of this checkout that were drawn together with this one; a CSV contains no origin."""
    sha = file_hash(path) if path.is_file() else ""
    found: dict[str, str] = {}
    for place in sorted((root / "results").glob("*/exhibits/*/*.json")):
        with suppress(InputError):
            files = record.read(place).files
            found |= {name: files[name] for name in files if sha in files.values() and (root / name).is_file()}
    return found


def _held(root: Path, config: PaperConfig, experiment: str) -> store.Held:
    """The runs of an experiment as configured now, from the first source that has its trace."""
    every = [store.Held(Layout(root, source), config) for source in _LOOKED_AT]
    return next((held for held in every if held.place(experiment)), every[-1])


def _lines(
    root: Path, config: PaperConfig, exhibit: Exhibit, told: Origin, behind: dict[str, store.Held]
) -> Iterator[str]:
    yield f"exhibit    {exhibit.id}: {exhibit.title}"
    yield f"paper      {config.cite}"
    if not told.experiments:
        yield "runs       none: it follows from the configuration alone"
        return
    yield f"source     {told.source}, {told.runs} runs, scenarios {told.scenarios}"
    yield f"code       {', '.join(f'{name} {digest}' for name, digest in told.code.items())}"
    for name, held in behind.items():
        folder = held.place(name)
        where = folder.relative_to(root).as_posix() if folder else "not made yet in this checkout"
        place = f"config/papers/{config.paper}.yaml: experiments.{name}"
        yield f"runs       {config.paper}/{name}: {len(held.runs(name))} runs, {where}; {place}"
    yield f"today      {'; '.join(_changed(told, behind)) or 'the same runs, made by the same code'}"


def _changed(told: Origin, behind: dict[str, store.Held]) -> list[str]:
    """Differences between the figure's runs and those that it would be drawn from now."""
    runs = [run for name, held in behind.items() for run in held.runs(name)]
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


def _again(behind: dict[str, store.Held], run: str) -> int:
    """Simulate a run and compare it; 1 when a row differs."""
    experiment, number = _chosen(behind, run)
    held = behind[experiment]
    config, folder, spec = held.paper, held.place(experiment), held.specs(experiment)[number]
    if folder is None:
        raise InputError(f"{config.paper}/{experiment}: not made yet in this checkout; ./reproduce makes it")
    print(f"again      {config.paper}/{experiment} run {number} (key {spec.key}, seed {spec.seed})", flush=True)
    live.prepare(say)
    made = made_again(config, experiment, spec)
    if is_same(made, number, trace.read(folder)):
        print(f"same       every row of it; SHA-256 of samples, link and events: {hash_of(made)}")
        return 0
    print("differs    its rows differ from those that the figure was drawn from")
    return 1


def _chosen(behind: dict[str, store.Held], run: str) -> tuple[str, int]:
    """An experiment and the number of a run: as requested, or the shortest of all."""
    if not run:
        every = [
            (run.pkts, name, number) for name, held in behind.items() for number, run in enumerate(held.runs(name))
        ]
        return min(every)[1:]
    name, slash, number = run.replace(".", "/").rpartition("/")
    if not slash:
        raise InputError(f"--run {run}: write it as EXPERIMENT/NUMBER, such as {next(iter(behind))}/0")
    name = name.rpartition("/")[2]
    check_known("--run EXPERIMENT/NUMBER: experiment", [name], behind)
    n_runs = len(behind[name].runs(name))
    if not number.isdecimal() or int(number) >= n_runs:
        raise InputError(f"--run {run}: {name} has runs 0 to {n_runs - 1}")
    return name, int(number)
