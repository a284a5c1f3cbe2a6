"""Which of the runs that a configuration requests are available, and where.

A store is a folder of shards: traces, each written atomically by one job, whose manifests list the keys of their runs
(`tcpfair.papers.expand.RunSpec.key`) and the digests of the code that made them. ``data/bundled`` is one store, local
simulations are another. A run is available if a shard has its key and lists the current code; all others must be simulated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tcpfair.errors import InputError
from tcpfair.files.files import is_scratch, write_whole
from tcpfair.files.layout import PAPERS, Layout, short_name
from tcpfair.files.manifest import CODE, CONFIG, MANIFEST, RUNS, read_manifest
from tcpfair.files.remembered import Remembered
from tcpfair.papers.expand import RunSpec, expected_pkts, plain_values, run_specs, values_behind
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.runs import code, reach
from tcpfair.runs.outputs import Parts, folder_of, inside, part

_SHARED = ("settings", "flow", "protocols", "traffic", "analysis")  # parts of a configuration that all experiments use


class Asked(NamedTuple):
    """One requested run: its key, the algorithms that act in it, and the packets of a full link."""

    key: str
    algorithms: tuple[str, ...]
    pkts: float
    duration_s: float = 0.0


def asked(specs: Iterable[RunSpec]) -> list[Asked]:
    """The requests for some runs."""
    return [
        Asked(spec.key, tuple(sorted(spec.algorithms)), expected_pkts(spec.scenario), spec.scenario.duration_s)
        for spec in specs
    ]


@cache
def _code_now(algorithms: tuple[str, ...]) -> Mapping[str, str]:
    return code.of_algorithms(algorithms)


def code_behind(runs: Iterable[Asked]) -> dict[str, str]:
    """Digests of the code that makes these runs now, by ``simulator`` and algorithm."""
    algorithms = sorted({name for run in runs for name in run.algorithms})
    return {code.SIMULATOR: _code_now(())[code.SIMULATOR]} | {name: _code_now((name,))[name] for name in algorithms}


def identity(runs: Iterable[Asked]) -> list[Any]:
    """The identity of the trace of these runs in the digests of later steps: keys and code."""
    runs = list(runs)
    return [[run.key for run in runs], code_behind(runs)]


def trace_folder(layout: Layout, paper: str, experiment: str, runs: Iterable[Asked]) -> Path:
    """The folder of the trace of exactly these runs: a shard with their digest as its name."""
    return layout.simulated(paper, experiment) / part(identity(runs))


def _shipped(layout: Layout, paper: str, experiment: str) -> list[Path]:
    """The shipped trace of an experiment, for the source that uses shipped traces."""
    return [layout.bundled(paper, experiment)] if layout.source == "bundled" else []


def shipped(layout: Layout) -> Iterator[tuple[PaperConfig, str, Path]]:
    """The shipped traces of the papers' experiments: configuration, experiment, folder."""
    for paper in PAPERS:
        config = load_paper(layout.paper_config(paper))
        for experiment in config.experiments:
            if (folder := layout.bundled(paper, experiment)).is_dir():
                yield config, experiment, folder


def shards(layout: Layout, paper: str, experiment: str) -> list[Path]:
    """Shards that may contain runs of an experiment, in the order of use: the shipped one, then the newest first."""
    found = layout.simulated(paper, experiment).glob(f"*/{MANIFEST}")
    made = sorted(
        (path for path in found if not is_scratch(Path(path.parent.name))),
        key=lambda manifest: (-manifest.stat().st_mtime_ns, manifest.parent.name),
    )
    return [*_shipped(layout, paper, experiment), *(path.parent for path in made)]


def manifest_of(layout: Layout, folder: Path) -> dict | None:
    """The manifest of a shard; None if it is missing or damaged.

    Raises InputError for a damaged shipped trace, which would otherwise be simulated again silently.
    """
    is_shipped = folder.is_relative_to(layout.bundled_root)
    try:
        manifest = read_manifest(folder)
    except InputError:
        if is_shipped and folder.is_dir():
            raise
        return None
    if not is_shipped and not _has_tables(folder, manifest):
        return None
    same = _same_bits(layout, folder) if is_shipped else {}
    return manifest | {CODE: {name: same.get(digest, digest) for name, digest in manifest.get(CODE, {}).items()}}


def accept_bits(layout: Layout, experiments: Iterable[tuple[str, str]], algorithms: Iterable[str]) -> bool:
    """Record that the current code gives the bits of the shipped runs of the compared experiments and algorithms.

    False for no experiments.
    """
    now = code_behind([Asked("", tuple(algorithms), 0.0)])
    same = {}
    for pair in experiments:
        made_by = read_manifest(layout.bundled(*pair)).get(CODE, {})
        same["/".join(pair)] = {digest: now[name] for name, digest in made_by.items() if name in now}
    if same:
        write_whole(_same_bits_file(layout), json.dumps(same, sort_keys=True) + "\n")
    return bool(same)


def _same_bits(layout: Layout, folder: Path) -> dict[str, str]:
    """Digests of the code that made the shipped runs of a folder -> those of later code that gives the same bits."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        found = json.loads(_same_bits_file(layout).read_text(encoding="utf-8"))
        return dict(found.get(folder.relative_to(layout.bundled_root).as_posix(), {}))
    return {}


def _same_bits_file(layout: Layout) -> Path:
    return layout.root / "results" / "same_bits.json"


def _has_tables(folder: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether a local trace has its tables; a crash of the machine may leave empty ones."""
    return all((folder / name).is_file() and (folder / name).stat().st_size for name in manifest.get("files", {}))


def held(manifest: dict | None, runs: Iterable[Asked]) -> dict[str, int]:
    """The run_id in a trace, by key, of those ``runs`` that it has from the current code."""
    if manifest is None or RUNS not in manifest:
        return {}
    place = {key: run_id for run_id, key in enumerate(manifest[RUNS])}
    made_by = manifest.get(CODE, {})
    now = code_behind(runs := list(runs))
    if made_by.get(code.SIMULATOR) != now[code.SIMULATOR]:
        return {}
    current = {name for name, digest in now.items() if made_by.get(name) == digest}
    return {run.key: place[run.key] for run in runs if run.key in place and current.issuperset(run.algorithms)}


def whole_trace(layout: Layout, paper: str, experiment: str, runs: list[Asked]) -> Path | None:
    """The folder of the trace with exactly the requested runs, in this order, from the current code; None if it is missing."""
    keys = [run.key for run in runs]
    for folder in (*_shipped(layout, paper, experiment), trace_folder(layout, paper, experiment, runs)):
        manifest = manifest_of(layout, folder)
        if manifest is not None and manifest.get(RUNS) == keys and len(held(manifest, runs)) == len(runs):
            return folder
    return None


def missing(layout: Layout, paper: str, experiment: str, runs: list[Asked]) -> list[Asked]:
    """The runs to simulate: those that no shard has from the current code."""
    found: set[str] = set()
    for folder in shards(layout, paper, experiment):
        found |= held(manifest_of(layout, folder), runs).keys()
    return [run for run in runs if run.key not in found]


# --- One paper ----------------------------------------------------------------------------------------------------


class MissingRunsError(InputError):
    """Requested runs are missing."""


def remembered(layout: Layout) -> Remembered:
    """The cache of what takes seconds to compute: the runs of experiments, and which ensembles are stale."""
    return Remembered(layout.results / "asked.json")


class Held:
    """The available runs and metrics of one paper's experiments, for one source; each is looked up once."""

    def __init__(self, layout: Layout, paper: PaperConfig, kept: Remembered | None = None) -> None:
        self.layout, self.paper = layout, paper
        self._remembered = kept or remembered(layout)

    @cache  # noqa: B019  (an object lives as long as the process)
    def specs(self, experiment: str) -> list[RunSpec]:
        """The runs of an experiment, expanded."""
        return run_specs(self.paper, experiment)

    @cached_property
    def shared(self) -> str:
        """Digest of the configuration that all experiments have in common."""
        return part(plain_values({name: getattr(self.paper, name) for name in _SHARED}))

    @cache  # noqa: B019
    def configuration(self, experiment: str) -> str:
        """Digest of an experiment's own configuration."""
        return part(plain_values(self.paper.experiments[experiment]))

    @cache  # noqa: B019
    def runs(self, experiment: str) -> list[Asked]:
        """The runs that an experiment requests. Raises InputError for an invalid value."""

        def expanded() -> list:
            runs = asked(self.specs(experiment))
            kinds = sorted({run.algorithms for run in runs})
            return [kinds, [(run.key, kinds.index(run.algorithms), run.pkts, run.duration_s) for run in runs]]

        expansion = reach.of_modules("papers/expand.py")["code"]
        made_from = part([self.shared, self.configuration(experiment), expansion, Asked._fields])
        kinds, rows = self._remembered.get(f"{self.paper.paper}/{experiment}", made_from, expanded)
        return [Asked(key, tuple(kinds[kind]), pkts, duration_s) for key, kind, pkts, duration_s in rows]

    @cache  # noqa: B019
    def runs_part(self, experiment: str) -> str:
        """Digest of the runs of an experiment and of the code that makes them."""
        return part(identity(self.runs(experiment)))

    @cache  # noqa: B019
    def place(self, experiment: str) -> Path | None:
        """The folder of the trace with exactly the requested runs; None if it is missing."""
        return whole_trace(self.layout, self.paper.paper, experiment, self.runs(experiment))

    def trace(self, experiment: str) -> Path:
        """As `place`; if it is missing, raises MissingRunsError with what has changed and the command that simulates it."""
        if folder := self.place(experiment):
            return folder
        runs, source = self.runs(experiment), self.layout.source
        lacking = missing(self.layout, self.paper.paper, experiment, runs)
        why = self.why_missing(experiment)
        raise MissingRunsError(
            f"{self.paper.paper}/{experiment}: {len(lacking)} of the {len(runs)} requested runs are missing"
            f"{f' ({why})' if why else ''}; ./reproduce{'' if source == 'bundled' else f' --config source={source}'} "
            "simulates them"
        )

    def why_missing(self, experiment: str) -> str:
        """The first changes of configuration or code that make runs missing; empty without an earlier trace."""
        return "; ".join(differences(self.layout, self.paper, experiment, self.specs(experiment))[:3])

    def metrics(self, experiment: str) -> Path | None:
        """The table of metrics of exactly these runs; None if it is missing or stale."""
        stable = self.layout.metrics(self.paper.paper, experiment)
        path = inside(self.layout, self.metrics_folder(experiment), stable)
        return path if path.is_file() else None

    def metrics_folder(self, experiment: str) -> Path:
        """The output with the metrics of an experiment."""
        place = self.layout.work / "metrics" / self.paper.paper / short_name(experiment)
        return folder_of(place, self.metrics_parts(experiment))

    @cache  # noqa: B019
    def metrics_parts(self, experiment: str) -> Parts:
        """The inputs of the metrics of an experiment."""
        chosen = self.paper.experiments[experiment]
        own = {name: getattr(chosen, name) for name in ("window_s", "measures", "weights")}
        how = {"analysis": self.paper.analysis, "grid": list(chosen.grid), **own}
        return {
            "runs": self.runs_part(experiment),
            "configuration": part(plain_values(how)),
            "weights": part(dict(self.metrics_parts(chosen.weights.experiment))) if chosen.weights else "",
            **reach.of_step("measure"),
        }

    def made_by(self, experiments: Iterable[str]) -> str:
        """How the traces of some experiments were made: the source; ``engine`` for those that are not shipped."""
        if self.layout.source != "bundled":
            return self.layout.source
        are_shipped = (self.trace(name).is_relative_to(self.layout.bundled_root) for name in experiments)
        return " and ".join(sorted({"bundled" if is_shipped else "engine" for is_shipped in are_shipped}))


# --- What has changed ---------------------------------------------------------------------------------------------


def differences(layout: Layout, paper: PaperConfig, experiment: str, specs: list[RunSpec]) -> list[str]:
    """Differences between the newest trace of an experiment and the requested one, a text for each value or module.

    ``settings.jitter_s 0.00036 -> 0.00072``, ``code of cubic``. Empty without an earlier trace.
    """
    before = next(
        (m for f in shards(layout, paper.paper, experiment) if (m := manifest_of(layout, f)) is not None), None
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
                shown = "" if _is_nested(value) else f" {_text(value)}"
                yield f"{name} {'+' if key in now else '-'} {key}{shown}".lstrip()
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now) and any(map(_is_nested, now)):
        for i, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from _changed_values(old, new, f"{name}[{i}]")
    elif before != now:
        yield f"{name} {_text(before)} -> {_text(now)}"


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return str(value)
