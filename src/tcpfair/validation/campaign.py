"""The runs that the validation needs of each simulator, in parts, and what each part gave.

A part is all runs of one algorithm in one experiment. What it gave is kept under ``results/validation`` with a stamp of what
it was made from (`tcpfair.contract.stamps`), so that a run that was interrupted, or repeated, makes what is missing. Parts
are made by jobs of the workflow (``workflow/validate.smk``).
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import pandas as pd

from tcpfair.contract import code, store
from tcpfair.contract.expand import RunSpec, expected_pkts
from tcpfair.contract.files import write_whole
from tcpfair.contract.layout import Layout
from tcpfair.contract.papers import PaperConfig
from tcpfair.contract.stamps import Stamp, changed, part, write_stamp
from tcpfair.errors import InputError
from tcpfair.validation.measures import CURVE_COLUMNS, RUN_COLUMNS, measured
from tcpfair.validation.scenarios import ENGINE, QUICK, TITLES, Window, chosen, config_of, digests_of, label_of, windows

MEASURES, MEASURED_IN = "validation/measures.py", ("metrics/", "measures/", "units.py")  # the code that measures


@dataclass(frozen=True)
class Results:
    """What a simulator gave: a row of measures for each run and window, and some windows over time."""

    runs: pd.DataFrame
    curves: pd.DataFrame


@dataclass(frozen=True)
class Part:
    """All runs of one algorithm in one experiment by one simulator; the file that keeps what they gave, its stamp, its job."""

    kind: str
    backend: str
    experiment: str
    label: str
    specs: tuple[RunSpec, ...]
    windows_s: tuple[Window, ...]
    file: Path
    stamp: Stamp
    job: str

    @property
    def name(self) -> str:
        return f"{self.experiment}/{self.label}"

    def of(self, kind: str) -> bool:
        """Whether this part belongs to a kind of validation."""
        return self.kind == kind

    def is_kept(self) -> bool:
        """Whether the file has what these runs give."""
        return not changed(self.file, self.stamp)

    def kept(self) -> Results:
        """What the runs gave. Raises InputError when something else is kept, as after an edit during a run."""
        if not self.is_kept():
            raise InputError(f"{self.backend}: {self.name}: not what is asked for now; run ./reproduce validate again")
        found = json.loads(self.file.read_text())
        return Results(pd.DataFrame(found["runs"]), pd.DataFrame(found["curves"]))

    def keep(self, runs: pd.DataFrame, curves: pd.DataFrame) -> None:
        """Keep what the runs gave, for `kept`."""
        write_whole(self.file, json.dumps({"runs": runs.to_dict("list"), "curves": curves.to_dict("list")}))
        write_stamp(self.file, self.stamp)


def simulator(backend: str) -> ModuleType:
    """The module of a simulator: `simulate_runs` and, for other simulators than the engine, `estimate_s`."""
    try:
        return importlib.import_module(f"tcpfair.sources.{backend}")
    except ModuleNotFoundError as error:
        if error.name != f"tcpfair.sources.{backend}":
            raise
        raise InputError(f"{TITLES[backend]}: not in this version") from None


def provenance(config: PaperConfig, tool: str) -> dict[str, str]:
    """Version and code of another simulator. Raises InputError, saying how to install it, when it is not there."""
    made = simulator(tool).simulate_runs(config, next(iter(config.experiments)), []).provenance
    return {"tool": made["tool"], "code": made["code"]}


def measuring_code() -> str:
    """Digest of the code that measures the engine's runs."""
    return code.digest_of(code.reached([code.PACKAGE / MEASURES], MEASURED_IN))


def folder(layout: Layout, kind: str) -> Path:
    """Where the parts of the whole comparison are kept, or those of a quick check."""
    return layout.validation / kind


def mark(layout: Layout, kind: str, job: str) -> Path:
    """The file that a job leaves when all of its parts are kept."""
    return folder(layout, kind) / f"{job}.done"


def parts(layout: Layout, config: PaperConfig, kind: str, backend: str, experiments: Iterable[str]) -> list[Part]:
    """The parts of some experiments in one simulator."""
    selection = chosen(config, kind, backend)
    origin = {"measured": measuring_code()} if backend == ENGINE else provenance(config, backend)
    is_short = backend == ENGINE or kind == QUICK  # one job for an experiment: starting Python takes longer than a part
    found = []
    for experiment in experiments:
        of_label: dict[str, list[RunSpec]] = {}
        for spec in selection.specs(config, experiment):
            of_label.setdefault(label_of(spec), []).append(spec)
        windows_s = windows(config, kind, backend, experiment)
        for label, own in digests_of(config, experiment, selection).items():
            specs = of_label[label]
            stamp = {"scenarios": own, "windows": part(windows_s), **origin}
            if backend == ENGINE:
                stamp["code"] = part(store.code_behind(store.asked(specs)))
            file = folder(layout, kind) / backend / experiment / f"{label}.json"
            job = f"{backend}/{experiment}" if is_short else f"{backend}/{experiment}/{label}"
            found.append(Part(kind, backend, experiment, label, tuple(specs), windows_s, file, stamp, job))
    return found


def replicates(whole: Part, first: int, end: int) -> Part:
    """A part with some replicates of another alone, from ``first`` to before ``end``; kept in a file of its own."""
    specs = tuple(spec for spec in whole.specs if first <= spec.replicate < end)
    own = part([spec.key for spec in specs])
    file = whole.file.with_name(f"{whole.file.stem}_{first}_{end}.json")
    return replace(whole, specs=specs, file=file, stamp={**whole.stamp, "scenarios": own})


def jobs(todo: Iterable[Part]) -> dict[str, float]:
    """The jobs that make some parts, with their sizes: packets in the engine, seconds in another simulator."""
    sizes: dict[str, float] = {}
    for each in todo:
        is_engine = each.backend == ENGINE
        size = sum(expected_pkts(s.scenario) for s in each.specs) if is_engine else estimate_s([each])
        sizes[each.job] = sizes.get(each.job, 0.0) + size
    return sizes


def estimate_s(todo: Iterable[Part]) -> float:
    """Seconds that parts of other simulators take on one core."""
    return sum(simulator(each.backend).estimate_s(each.specs) for each in todo)


def make(layout: Layout, kind: str, job: str, progress: Callable[[int, int], None]) -> int:
    """Make the parts of a job that are missing, each kept as soon as it is there; returns the number of runs.

    ``progress`` is told how many runs of how many are done. Raises InputError with the name of a part that failed.
    """
    config = config_of(layout, kind)
    backend, experiment, *_ = job.split("/")
    todo = [p for p in parts(layout, config, kind, backend, [experiment]) if p.job == job and not p.is_kept()]
    done, of = 0, sum(len(each.specs) for each in todo)
    for each in todo:
        progress(done, of)
        make_part(config, each)
        done += len(each.specs)
    progress(of, of)
    write_whole(mark(layout, kind, job), "")
    return of


def make_part(config: PaperConfig, wanted: Part) -> None:
    """Run a part and keep what it gave. Raises InputError with its name when it failed."""
    try:
        trace = simulator(wanted.backend).simulate_runs(config, wanted.experiment, wanted.specs)
    except InputError as error:
        raise InputError(f"{wanted.name}: {error}") from None
    wanted.keep(*measured(config, wanted.experiment, trace, wanted.windows_s))


def joined(config: PaperConfig, experiment: str, of_experiment: Iterable[Part]) -> Results:
    """What all parts of an experiment gave, in one table of runs and one of curves."""
    measures = config.experiments[experiment].measures
    kept = [each.kept() for each in of_experiment]
    curves = [results.curves for results in kept if len(results.curves)]
    return Results(
        pd.concat([results.runs for results in kept], ignore_index=True)
        if kept
        else pd.DataFrame(columns=[*RUN_COLUMNS, *measures]),
        pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=CURVE_COLUMNS[1:]),
    )
