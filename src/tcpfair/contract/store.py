"""Which of the runs that a configuration asks for are there already, and where.

A run is there when a trace holds its key (`tcpfair.contract.expand.RunSpec.key`) and was made by the code that acts in it
now. Three places are looked at: what the repository ships (for source ``bundled``), the trace that this source made before,
and what an interrupted simulation finished: traces, and the journal that it wrote when it was killed. What is in none of
them has to be simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tcpfair.contract import code, finished, reach, trace
from tcpfair.contract.expand import RunSpec, expected_pkts, plain_values, run_specs, values_behind
from tcpfair.contract.files import is_scratch
from tcpfair.contract.layout import Layout
from tcpfair.contract.manifest import CODE, CONFIG, MANIFEST, RUNS, read_manifest
from tcpfair.contract.papers import PaperConfig
from tcpfair.contract.stamps import Stamp, changed, part
from tcpfair.contract.trace import Trace
from tcpfair.errors import InputError

MARK = "{}\n"  # what stands beside a trace that was made here, for Snakemake; all else is in the manifest


class Asked(NamedTuple):
    """One run that a configuration asks for: its key, the algorithms that act in it, and the packets of a full link."""

    key: str
    algorithms: tuple[str, ...]
    pkts: float


def asked(specs: Iterable[RunSpec]) -> list[Asked]:
    """What is asked for by some runs."""
    return [Asked(spec.key, tuple(sorted(spec.algorithms)), expected_pkts(spec.scenario)) for spec in specs]


@cache
def _code_now(algorithms: tuple[str, ...]) -> Mapping[str, str]:
    return code.of_algorithms(algorithms)


def code_behind(runs: Iterable[Asked]) -> dict[str, str]:
    """Digests of the code that makes these runs now, by ``simulator`` and algorithm."""
    algorithms = sorted({name for run in runs for name in run.algorithms})
    return {code.SIMULATOR: _code_now(())[code.SIMULATOR]} | {name: _code_now((name,))[name] for name in algorithms}


def identity(runs: Iterable[Asked]) -> list[Any]:
    """What stands for the trace of these runs in the digests of later steps: keys and code."""
    runs = list(runs)
    return [[run.key for run in runs], code_behind(runs)]


def places(layout: Layout, paper: str, experiment: str) -> list[Path]:
    """Traces, and journals of finished runs, that may hold runs of an experiment, in the order in which they are used."""
    shipped = [layout.bundled(paper, experiment)] if layout.source == "bundled" else []
    kept = layout.finished_runs(paper, experiment)
    traces = sorted(path.parent for path in kept.glob(f"*/{MANIFEST}") if not is_scratch(Path(path.parent.name)))
    return [*shipped, layout.simulated(paper, experiment), *traces, *sorted(kept.glob(f"*{finished.SUFFIX}"))]


def manifest_of(layout: Layout, folder: Path) -> dict | None:
    """The manifest of a place; None where nothing is, or what an earlier run left is of no use.

    Raises InputError for a shipped trace that is damaged: it would be simulated again without a word.
    """
    if folder.suffix == finished.SUFFIX:
        return finished.manifest(folder)
    is_shipped = folder.is_relative_to(layout.bundled_root)
    try:
        manifest = read_manifest(folder)
    except InputError:
        if is_shipped and folder.is_dir():
            raise
        return None
    return manifest if is_shipped or _has_tables(folder, manifest) else None


def _has_tables(folder: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether the tables of a trace that was made here are there; a crash of the machine may leave empty ones."""
    return all((folder / name).is_file() and (folder / name).stat().st_size for name in manifest.get("files", {}))


def read(place: Path) -> Trace:
    """The trace that stands in a place, or that the journal there has the runs of. Raises InputError as `trace.read` does."""
    return finished.read(place) if place.suffix == finished.SUFFIX else trace.read(place)


def held(manifest: dict | None, runs: Iterable[Asked]) -> dict[str, int]:
    """Those of ``runs`` that a trace holds, made by the code that acts in them now: run_id there by key."""
    if manifest is None or RUNS not in manifest:
        return {}
    place = {key: run_id for run_id, key in enumerate(manifest[RUNS])}
    made_by = manifest.get(CODE, {})
    now = code_behind(runs := list(runs))
    if made_by.get(code.SIMULATOR) != now[code.SIMULATOR]:
        return {}
    current = {name for name, digest in now.items() if made_by.get(name) == digest}
    return {run.key: place[run.key] for run in runs if run.key in place and current.issuperset(run.algorithms)}


def holds_all(manifest: dict | None, runs: list[Asked]) -> bool:
    """True when a trace is just what is asked for: these runs in this order, none stale."""
    return (
        manifest is not None
        and manifest.get(RUNS) == [run.key for run in runs]
        and len(held(manifest, runs)) == len(runs)
    )


def whole_trace(layout: Layout, paper: str, experiment: str, runs: list[Asked]) -> Path | None:
    """The folder of a trace that is just what is asked for; None when there is none yet."""
    for folder in places(layout, paper, experiment)[: 2 if layout.source == "bundled" else 1]:
        if holds_all(manifest_of(layout, folder), runs):
            return folder
    return None


def missing(layout: Layout, paper: str, experiment: str, runs: list[Asked]) -> list[Asked]:
    """The runs that are nowhere, or were made by other code: what has to be simulated."""
    there: set[str] = set()
    for folder in places(layout, paper, experiment):
        there |= held(manifest_of(layout, folder), runs).keys()
    return [run for run in runs if run.key not in there]


class MissingRunsError(InputError):
    """Runs that the configuration asks for are not there."""


class Held:
    """What a source holds of the experiments of one paper, as the configuration asks for them; looked up once each."""

    def __init__(self, layout: Layout, paper: PaperConfig) -> None:
        self.layout, self.paper = layout, paper
        self._specs: dict[str, list[RunSpec]] = {}
        self._runs: dict[str, list[Asked]] = {}
        self._folders: dict[str, Path | None] = {}

    def specs(self, experiment: str) -> list[RunSpec]:
        """The runs of an experiment, expanded."""
        if experiment not in self._specs:
            self._specs[experiment] = run_specs(self.paper, experiment)
        return self._specs[experiment]

    def runs(self, experiment: str) -> list[Asked]:
        """The runs that an experiment asks for."""
        if experiment not in self._runs:
            self._runs[experiment] = asked(self.specs(experiment))
        return self._runs[experiment]

    def place(self, experiment: str) -> Path | None:
        """The folder of the trace that is just what is asked for; None when there is no such trace."""
        if experiment not in self._folders:
            runs = self.runs(experiment)
            self._folders[experiment] = whole_trace(self.layout, self.paper.paper, experiment, runs)
        return self._folders[experiment]

    def trace(self, experiment: str) -> Path:
        """As `place`; raises MissingRunsError, with what has changed and the command that makes it, when there is none."""
        folder = self.place(experiment)
        if folder is None:
            raise self._missing(experiment)
        return folder

    def _missing(self, experiment: str) -> MissingRunsError:
        runs, source = self.runs(experiment), self.layout.source
        lacking = missing(self.layout, self.paper.paper, experiment, runs)
        why = "; ".join(differences(self.layout, self.paper, experiment, self.specs(experiment))[:3])
        return MissingRunsError(
            f"{self.paper.paper}/{experiment}: {len(lacking)} of the {len(runs)} runs that the configuration asks for are not "
            f"there{f' ({why})' if why else ''}; ./reproduce{'' if source == 'bundled' else f' --config source={source}'} "
            "makes what is missing"
        )

    def metrics(self, experiment: str) -> Path | None:
        """The table of metrics that is asked for; None where it was not measured yet, or from something else."""
        path = self.layout.metrics(self.paper.paper, experiment)
        found = set(changed(path, measure_stamp(self.paper, experiment, self.runs)))
        # a notebook may run in another environment than the workflow, which alone decides whether versions make metrics stale
        return None if found - {LIBRARIES} else path

    def made_by(self, experiments: Iterable[str]) -> str:
        """How the traces of some experiments were made: the source, and ``engine`` for what is shipped only in part."""
        if self.layout.source != "bundled":
            return self.layout.source
        shipped = {self.trace(name).is_relative_to(self.layout.bundled_root) for name in experiments}
        return " and ".join(
            name for name, is_shipped in (("bundled", True), ("engine", False)) if is_shipped in shipped
        )


# --- Metrics of runs ----------------------------------------------------------------------------------------------

LIBRARIES = "libraries"  # the part of a stamp that has their versions


def measure_stamp(paper: PaperConfig, experiment: str, runs_of: Callable[[str], Iterable[Asked]]) -> Stamp:
    """What the metrics of an experiment are made from; ``runs_of`` gives the runs that an experiment asks for."""
    chosen = paper.experiments[experiment]
    own = {name: getattr(chosen, name) for name in ("window_s", "measures", "weights")}
    weights = dict(measure_stamp(paper, chosen.weights.experiment, runs_of)) if chosen.weights else {}
    weights.pop(LIBRARIES, None)  # the same as its own
    return {
        "runs": part(identity(runs_of(experiment))),
        "configuration": part(plain_values({"analysis": paper.analysis, "grid": list(chosen.grid), **own})),
        "weights": part(weights) if weights else "",
        **reach.of_step("measure"),
    }


# --- What has changed ---------------------------------------------------------------------------------------------


def differences(layout: Layout, paper: PaperConfig, experiment: str, specs: list[RunSpec]) -> list[str]:
    """What differs between the newest trace of an experiment and what is asked for, a text for each value or module.

    ``settings.jitter_s 0.00036 -> 0.00072``, ``code of cubic``. Empty when there is no earlier trace.
    """
    before = next(
        (m for f in places(layout, paper.paper, experiment) if (m := manifest_of(layout, f)) is not None), None
    )
    if before is None:
        return []
    found = list(_changed_values(before.get(CONFIG, {}), values_behind(paper, experiment, specs)))
    made_by, now = before.get(CODE, {}), code_behind(asked(specs))
    return found + [f"code of {name}" for name in now if name in made_by and made_by[name] != now[name]]


def _changed_values(before: Any, now: Any, name: str = "") -> Iterator[str]:
    """``name before -> now`` of each value that differs between nested plain data."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in {**before, **now}:
            if key in before and key in now:
                yield from _changed_values(before[key], now[key], f"{name}.{key}" if name else key)
            else:
                value = before.get(key, now.get(key))
                shown = "" if isinstance(value, dict | list) else f" {_text(value)}"
                yield f"{name} {'+' if key in now else '-'} {key}{shown}".lstrip()
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now) and _nested(now):
        for i, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from _changed_values(old, new, f"{name}[{i}]")
    elif before != now:
        yield f"{name} {_text(before)} -> {_text(now)}"


def _nested(values: list) -> bool:
    return any(isinstance(value, dict | list) for value in values)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return str(value)
