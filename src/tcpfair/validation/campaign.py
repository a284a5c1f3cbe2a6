"""Running a simulator on the scenarios of the validation: side by side, and from where an interrupted run stopped.

The work is cut into parts, all runs of one algorithm in one experiment. What a part gave is kept under ``results/`` with the
digest of what it was made from, so that a run that was interrupted, or repeated, computes what is missing.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from tcpfair.contract.expand import RunSpec, expected_pkts
from tcpfair.contract.papers import PaperConfig
from tcpfair.contract.scenario import digest
from tcpfair.errors import InputError
from tcpfair.validation.measures import RUN_COLUMNS, curve, measure
from tcpfair.validation.scenarios import TITLES, Selection, Window, digests_of, label_of
from tcpfair.validation.shipped import CURVE_COLUMNS, replace_file

LONG_S = 600  # an estimate above this wants --yes


@dataclass(frozen=True)
class Part:
    """All runs of one algorithm in one experiment by one simulator; the file that keeps what they gave."""

    backend: str
    experiment: str
    label: str
    specs: tuple[RunSpec, ...]
    windows_s: tuple[Window, ...]
    file: Path
    key: str  # digest of all that decides the result

    @property
    def name(self) -> str:
        return f"{self.experiment}/{self.label}"

    def kept(self) -> dict[str, Any] | None:
        """What an earlier run left; None when there is nothing, or it was made from something else."""
        if not self.file.is_file():
            return None
        result = json.loads(self.file.read_text())
        return result if result["key"] == self.key else None

    def keep(self, runs: pd.DataFrame, curves: pd.DataFrame) -> None:
        """Keep what the runs gave, for `kept`."""
        kept = {"key": self.key, "runs": runs.to_dict("list"), "curves": curves.to_dict("list")}
        replace_file(self.file, json.dumps(kept).encode())


@dataclass(frozen=True)
class Results:
    """What a simulator gave in one experiment."""

    runs: pd.DataFrame
    curves: pd.DataFrame


def simulator(backend: str) -> ModuleType:
    """The module of a simulator: `simulate_runs` and, for other simulators than the engine, `estimate_s`."""
    try:
        return importlib.import_module(f"tcpfair.sources.{backend}")
    except ModuleNotFoundError as error:
        if error.name != f"tcpfair.sources.{backend}":
            raise
        raise InputError(f"{TITLES[backend]}: not in this version") from None


def provenance(config: PaperConfig, backend: str) -> dict[str, str]:
    """Tool and code of a simulator. Raises InputError, saying how to install it, when it is not there."""
    made = simulator(backend).simulate_runs(config, next(iter(config.experiments)), []).provenance
    return {"tool": made.get("tool", TITLES[backend]), "code": made["code"]}


def parts(
    config: PaperConfig,
    backend: str,
    selection: Selection,
    experiments: Iterable[str],
    folder: Path,
    code: Any,
    windows_s: Callable[[str], tuple[Window, ...]] | None = None,
) -> list[Part]:
    """The parts of some experiments. ``code`` stands for the code that makes them; ``windows_s`` gives the windows in
    which an experiment is measured, if not the one of the selection."""
    found = []
    for experiment in experiments:
        of_label: dict[str, list[RunSpec]] = {}
        for spec in selection.specs(config, experiment):
            of_label.setdefault(label_of(spec), []).append(spec)
        windows = windows_s(experiment) if windows_s else (selection.window(config, experiment),)
        for label, own in digests_of(config, experiment, selection).items():
            file = folder / backend / experiment / f"{label}.json"
            specs = tuple(of_label[label])
            found.append(Part(backend, experiment, label, specs, windows, file, digest([own, windows, code])))
    return found


def simulate(config: PaperConfig, part: Part) -> float:
    """Run one part and keep what it gave; returns the seconds that it took."""
    started_s = time.perf_counter()
    trace = simulator(part.backend).simulate_runs(config, part.experiment, part.specs)
    value = config.analysis_value
    measures = config.experiments[part.experiment].measures
    runs = measure(trace, measures, part.windows_s, value("whole_epochs_share"))
    drawn = part.experiment in value("curve_experiments")
    curves = curve(trace, value("curve_points")) if drawn else pd.DataFrame(columns=CURVE_COLUMNS[1:])
    part.keep(runs, curves)
    return time.perf_counter() - started_s


def estimate_s(backend: str, todo: Iterable[Part]) -> float:
    """Seconds that parts take on one core."""
    estimate = simulator(backend).estimate_s
    return sum(estimate(part.specs) for part in todo)


def run(
    config: PaperConfig, todo: list[Part], cores: int, say: Callable[[str], None] = lambda line: None
) -> Iterator[tuple[Part, str]]:
    """Simulate parts on ``cores`` processes; gives each one as it is done, with the reason if it failed.

    The largest come first within an experiment, and the experiments in order.
    """
    order = {name: n for n, name in enumerate(config.experiments)}
    size = {part.name: sum(expected_pkts(spec.scenario) for spec in part.specs) for part in todo}
    todo = sorted(todo, key=lambda part: (order[part.experiment], -size[part.name]))
    for n, (part, took_s, reason) in enumerate(_done(config, todo, cores), 1):
        say(f"{TITLES[part.backend]:<9} {part.name}  {reason or f'{took_s:.0f} s'}  ({n} of {len(todo)})")
        yield part, reason


def _done(config: PaperConfig, todo: list[Part], cores: int) -> Iterator[tuple[Part, float, str]]:
    if cores == 1 or len(todo) <= 1:
        for part in todo:
            try:
                yield part, simulate(config, part), ""
            except InputError as error:
                yield part, 0.0, str(error)
        return
    # a fresh interpreter each: threads of libraries do not survive a fork
    pool = ProcessPoolExecutor(min(cores, len(todo)), mp_context=get_context("spawn"))
    try:
        waiting = {pool.submit(simulate, config, part): part for part in todo}
        for future in as_completed(waiting):
            try:
                yield waiting[future], future.result(), ""
            except InputError as error:
                yield waiting[future], 0.0, str(error)
    finally:
        pool.shutdown(cancel_futures=True)


def joined(config: PaperConfig, experiment: str, of_experiment: Iterable[Part]) -> Results:
    """What all parts of an experiment gave, in one table of runs and one of curves."""
    measures = config.experiments[experiment].measures
    kept = [result for part in of_experiment if (result := part.kept())]
    runs = [pd.DataFrame(result["runs"]) for result in kept]
    curves = [pd.DataFrame(result["curves"]) for result in kept if result["curves"].get("label")]
    return Results(
        pd.concat(runs, ignore_index=True) if runs else pd.DataFrame(columns=[*RUN_COLUMNS, *measures]),
        pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=CURVE_COLUMNS[1:]),
    )


def default_cores() -> int:
    """Processes at a time when nobody says how many."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
