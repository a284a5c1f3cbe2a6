"""What ``./reproduce study FILE.yaml`` does: simulate the runs of a study of one's own, and gather their metrics in one table.

Jobs of ``workflow/study.smk`` take a part of the runs each and add every finished one to a journal, so that an interrupted
study goes on behind the last run that was finished. How many parts there are hangs on the study alone, at most `MOST_JOBS`: the
number of files does not grow with the number of runs, and one machine and a cluster leave the same bytes.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tcpfair import cc, sources
from tcpfair.contract import code, costs, journal, stamps, store, trace
from tcpfair.contract.expand import RunSpec, expected_pkts, shorten
from tcpfair.contract.files import discard_scratch, is_scratch, whole, write_whole
from tcpfair.contract.layout import Layout
from tcpfair.contract.manifest import CODE, MANIFEST, RUNS
from tcpfair.contract.scenario import digest
from tcpfair.contract.study import STUDY, Study, load, make
from tcpfair.contract.trace import Trace
from tcpfair.engine.dumbbell import run as simulate
from tcpfair.errors import InputError, ShortageError
from tcpfair.measures import of_run
from tcpfair.measures.catalogue import READS
from tcpfair.sources import live, tables
from tcpfair.workflow.state import PLANNED_PKTS_PER_S, State, duration_text

LONG_S = 600  # an estimate above this wants --yes
MOST_JOBS = 1000  # what a cluster's scheduler takes without complaint, and as many journals
STEP = "study"  # its name among the benchmarks
_JOB_PKTS_PER_S = 10e6  # by which a study is cut into jobs; another value would cut an interrupted study anew
_JOB_S = 240  # what a job takes, about: long against starting Python, short against what a cluster gives
_LEAST_JOB_S, _FEW_JOBS = 10, 8  # a small study has something for every core, a tiny one no job without work
_RUN_S = 0.01  # of a run beside its simulation, on the careful side
_SAMPLED = 2000  # runs that are expanded to say what a study takes
_TRACES_EVERY_S = 5.0  # between writing traces; without them every run is kept at once
_TRIAL_SAMPLES = 4  # of the run that is tried before all others
_MB_WITHOUT_COSTS = 1000

# runs workflow/study.smk with a configuration, returns its exit status
Workflow = Callable[[dict[str, Any], State], int]
Say = Callable[[str], None]
Progress = Callable[[int, int], None]


class Row(NamedTuple):
    """What is kept of a run: its number and key, packets delivered, why no run can be so (empty for most), its metrics."""

    run: int
    key: str
    pkts: int
    refused: str
    values: list[float]


# --- Places ------------------------------------------------------------------------------------------------------


def opened(path: Path) -> Study:
    """The study of a file. Raises InputError with one line."""
    return load(path, cc.names(), READS)


def metrics_file(layout: Layout, study: Study) -> Path:
    """The table of all runs."""
    return layout.study(study.name) / "metrics.parquet"


def figure_files(layout: Layout, study: Study) -> list[Path]:
    """The summary: figure and numbers."""
    return [layout.study(study.name) / f"summary{suffix}" for suffix in (".svg", ".png", ".csv")]


def _asked(layout: Layout, name: str) -> Path:
    """The study as it was started, for its jobs: the user's file may be edited meanwhile."""
    return layout.study(name) / "study.json"


def _journal(layout: Layout, name: str, job: str) -> Path:
    return layout.study(name) / "parts" / f"{job}.jsonl"


def _mark(layout: Layout, name: str, job: str) -> Path:
    """The file that a job leaves when all of its runs are kept."""
    return layout.study(name) / "parts" / f"{job}.done"


def _traces(layout: Layout, name: str, job: str) -> Path:
    return layout.study(name) / "traces" / job


# --- The plan ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """What there is to do for a study."""

    study: Study
    pkts: float  # that full links would carry in all runs
    n_left: int
    pkts_per_s: float
    n_refused: int = 0  # of the runs that were expanded for the plan
    n_tried: int = 0

    @property
    def jobs(self) -> list[str]:
        """Names of all parts; what they are hangs on the study alone."""
        planned_s = self.pkts / _JOB_PKTS_PER_S + self.study.n_runs * _RUN_S
        n = max(round(planned_s / _JOB_S), min(math.ceil(planned_s / _LEAST_JOB_S), _FEW_JOBS), 1)
        n = min(n, MOST_JOBS, self.study.n_runs)
        return [f"{i + 1}-of-{n}" for i in range(n)]

    @property
    def expected_s(self) -> float:
        """Of what is to be done, on one core."""
        share = self.n_left / self.study.n_runs
        return share * self.pkts / self.pkts_per_s + self.n_left * _RUN_S

    @property
    def lines(self) -> list[str]:
        """What is to be done, for the terminal."""
        study = self.study
        points = f"{study.n_points:,} points of {', '.join(study.axes) or 'no axis'}"
        todo = f"{self.n_left:,} runs to simulate, {duration_text(self.expected_s)} of one core"
        found = [
            f"study      {study.name}: {points}, {study.file.replicates} runs each, {self.pkts / 1e6:,.0f} M packets",
            f"study      {todo if self.n_left else 'all runs are there'}",
        ]
        if self.n_refused:
            found.append(
                f"refused    about {self.n_refused / self.n_tried:.1%} of the points: no run can have their values"
            )
        return found


def plan(layout: Layout, study: Study) -> Work:
    """What there is to do for a study; expands some of its runs and keeps nothing."""
    some = np.unique(np.linspace(0, study.n_runs - 1, min(study.n_runs, _SAMPLED)).astype(int))
    pkts, n_refused = 0.0, 0
    for run in some.tolist():
        try:
            pkts += expected_pkts(study.spec(run).scenario)
        except InputError:
            n_refused += 1
    measured = [cost for cost in costs.read(layout) if cost.pkts]
    own = [cost for cost in measured if (cost.step, cost.item) == (STEP, study.name)] or measured
    rate = costs.expected_pkts_per_s(own, PLANNED_PKTS_PER_S)
    work = Work(study, pkts / len(some) * study.n_runs, study.n_runs, rate, n_refused, len(some))
    n_there = study.n_runs if is_up_to_date(layout, study) else _n_there(layout, work)
    return Work(study, work.pkts, study.n_runs - n_there, rate, n_refused, len(some))


def is_up_to_date(layout: Layout, study: Study) -> bool:
    """Whether the table of metrics is there, made from what it would be made from now, and the traces that are asked for."""
    return not stamps.changed(metrics_file(layout, study), study.stamp)


def _n_there(layout: Layout, work: Work) -> int:
    """How many runs are kept, in the journals of this study or as those of an earlier version of it."""
    study = work.study
    there = sum(len(_rows(layout, study, job)) for job in work.jobs)
    if there:
        return there
    earlier = _earlier(layout, study)
    return sum(spec.key in earlier for spec in _possible(study)) if earlier else 0


def _possible(study: Study) -> Iterator[RunSpec]:
    for run in range(study.n_runs):
        with suppress(InputError):
            yield study.spec(run)


# --- One job -----------------------------------------------------------------------------------------------------


def _about(study: Study, job: str) -> dict[str, Any]:
    """The head of a job's journal."""
    return {"study": study.name, "job": job, "stamp": dict(study.stamp)}


def make_part(layout: Layout, name: str, place: tuple[int, int], progress: Progress) -> int:
    """Simulate and measure those runs of one job that are not kept; returns how many."""
    study = _started(layout, name)
    number, parts = place
    job = f"{number + 1}-of-{parts}"
    engine_s = 0.0
    own = range(number, study.n_runs, parts)
    live.prepare(say=lambda line: None)
    with journal.opened(_journal(layout, name, job), _about(study, job)) as (kept, entries):
        columns = entries[0] if entries else None
        there = {entry[0] for entry in entries[1:]}
        todo = [run for run in own if run not in there]
        keeper = _TraceKeeper(layout, study, job) if study.file.keep_traces else None
        waiting: list[Row] = []  # for their traces
        short: list[ShortageError] = []
        pkts = 0
        for done, run in enumerate(todo):
            progress(done, len(todo))
            try:
                row, found, made, took_s = _made(study, run)
            except ShortageError as error:  # simulated by the next start
                short.append(error)
                continue
            engine_s += took_s
            pkts += row.pkts
            if columns is None and found:
                columns = list(found)
                kept.add(columns)
            if columns is not None and found and list(found) != columns:
                raise InputError(f"{study.where}: run {run} has other metrics than those before it")
            waiting.append(row)
            if keeper is None or keeper.add(made):
                _keep(kept, keeper, columns, waiting)
        if columns is None and waiting:
            kept.add(columns := [])  # of a part in which no run can be
        _keep(kept, keeper, columns, waiting)
        if short:
            raise ShortageError(
                f"{study.where}: {len(short)} of {len(todo)} runs were not simulated; the first: {short[0]}"
            )
        if keeper:
            keeper.finish(own)
    progress(len(todo), len(todo))
    took = {"cpu_s": costs.cpu_s(), "engine_s": engine_s}  # from the start of Python on
    write_whole(_mark(layout, name, job), json.dumps({"runs": len(todo), "simulated_pkts": pkts, **took}) + "\n")
    return len(todo)


def _keep(kept: journal.Journal, keeper: _TraceKeeper | None, columns: list[str] | None, waiting: list[Row]) -> None:
    """Add the runs that wait to the journal, after their traces. Without names of metrics they go on waiting."""
    if keeper:
        keeper.write()
    while waiting and columns is not None:
        kept.add(list(waiting.pop(0)))


def _started(layout: Layout, name: str) -> Study:
    """The study that was started under a name; InputError when none was."""
    try:
        said = json.loads(_asked(layout, name).read_text(encoding="utf-8"))
        values, where = said["file"], said["where"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{_asked(layout, name)}: no study was started; use ./reproduce study FILE") from None
    return make(values, name, where, cc.names(), READS)


def _made(study: Study, run: int) -> tuple[Row, dict[str, float], Trace | None, float]:
    """What a run gives, its metrics by name, its trace, and the processor time in s that the simulator took.

    Raises ShortageError when memory is short at the moment.
    """
    try:
        spec = study.spec(run)
    except InputError as error:
        return Row(run, "", 0, str(error), []), {}, None, 0.0
    began_s = time.process_time()
    try:
        result = simulate(spec.scenario, spec.seed)
    except MemoryError:
        raise ShortageError(f"run {run}: not enough memory") from None
    except ShortageError:
        raise
    except InputError as error:
        return Row(run, spec.key, 0, str(error), []), {}, None, 0.0
    took_s = time.process_time() - began_s
    made = tables.gather(STUDY, study.name, [spec], [result], {"backend": "engine"})
    found = of_run.row(made, study.paper, STUDY)
    return Row(run, spec.key, result.received_total_pkts, "", list(found.values())), found, made, took_s


class _TraceKeeper:
    """Keeps the traces of a job's runs, a few seconds of them at a time, and puts them together at the end."""

    def __init__(self, layout: Layout, study: Study, job: str) -> None:
        self.study, self.folder = study, _traces(layout, study.name, job)
        self.chunks = self.folder.with_name(f"{job}.parts")
        self.waiting: list[Trace] = []
        self.kept_s = time.monotonic()

    def add(self, made: Trace | None) -> bool:
        """Take a trace; whether it is time to `write`."""
        self.waiting += [made] if made else []
        return time.monotonic() - self.kept_s > _TRACES_EVERY_S

    def write(self) -> None:
        if self.waiting:
            merged = self._with_provenance(self.waiting)
            trace.write(merged, self.chunks / f"{merged.runs['run_id'].iloc[0]:09d}")
        self.waiting, self.kept_s = [], time.monotonic()

    def finish(self, runs: range) -> None:
        """One trace of all; what an interruption left on the way is read again."""
        found = sorted(path.parent for path in self.chunks.glob(f"*/{MANIFEST}") if not is_scratch(path.parent))
        if found:
            parts, seen = [], set()
            for folder in found:
                part = trace.read(folder)
                fresh = set(part.runs["run_id"]) - seen
                seen |= fresh
                parts.append(
                    Trace(
                        **{
                            name: table[table["run_id"].isin(fresh)]
                            for name, table in ((name, getattr(part, name)) for name in trace.TABLES)
                        },
                        provenance=part.provenance,
                    )
                )
            trace.write(self._with_provenance(parts), self.folder)
        shutil.rmtree(self.chunks, ignore_errors=True)

    def _with_provenance(self, parts: list[Trace]) -> Trace:
        merged = sources.merge(parts)
        specs = [self.study.spec(run) for run in merged.runs["run_id"].tolist()]
        merged.provenance = {
            "backend": "engine",
            "paper": STUDY,
            "experiment": self.study.name,
            "grid": self.study.axes,
            RUNS: [spec.key for spec in specs],
            CODE: store.code_behind(store.asked(specs)),
        }
        return merged


# --- All of them -------------------------------------------------------------------------------------------------


def run(layout: Layout, workflow: Workflow, study: Study, places: int, yes: bool = False, say: Say = print) -> None:
    """Bring a study up to date: simulate what is missing, write the table of metrics and the summary.

    ``places`` is how many jobs can run at a time. Raises InputError when it takes long and nobody said yes, and when jobs
    failed; what succeeded is kept.
    """
    began_s = time.monotonic()
    if not is_up_to_date(layout, study):
        _carry_over(layout, study, plan(layout, study))
    work = plan(layout, study)
    for line in work.lines:
        say(line)
    places = min(places, len(work.jobs))
    if work.n_left:
        say(f"study      about {duration_text(work.expected_s / places)} on {places} cores, in {len(work.jobs)} jobs")
        if work.expected_s / places > LONG_S and not yes:
            expected = duration_text(work.expected_s / places)
            raise InputError(f"this takes about {expected} on {places} cores; add --yes to start it")
        _try(study)
        _simulate(layout, workflow, work, places)
    if not is_up_to_date(layout, study):
        _gather(layout, work)
    for line in _summarise(layout, study):
        say(line)
    if work.n_left:
        say(_time_text(layout, work, time.monotonic() - began_s))


def _try(study: Study) -> None:
    """Compile the simulator where that is to be done, and take every measure of a short run, before many are started."""
    spec = next(_possible(study), None)
    if spec is None:
        raise InputError(f"{study.where}: no run can have the values of any point")
    spec = shorten(spec, _TRIAL_SAMPLES * spec.scenario.sample_s)
    made = tables.gather(STUDY, study.name, [spec], [live.run(spec.scenario, spec.seed)], {"backend": "engine"})
    try:
        of_run.row(made, study.paper, STUDY)
    except InputError as error:
        raise InputError(f"{study.where}: {error}") from None


def _simulate(layout: Layout, workflow: Workflow, work: Work, places: int) -> None:
    study = work.study
    folder = layout.study(study.name)
    said = {"file": study.file.model_dump(mode="json"), "where": study.where}
    write_whole(_asked(layout, study.name), json.dumps(said, sort_keys=True) + "\n")
    memory_mb = costs.memory_mb(layout, STEP, _MB_WITHOUT_COSTS)
    costs.forget(layout, STEP, study.name)
    for place in (folder, folder / "parts", folder / "traces"):
        discard_scratch(place)
    for mark in (folder / "parts").glob("*.done"):
        mark.unlink()
    left = [job for job in work.jobs if len(_rows(layout, study, job)) < len(_runs_of(study, job))]
    state = State(of="runs")
    state.pkts, state.n_parts = {study.name: work.expected_s}, {study.name: len(left)}  # in seconds of one core
    state.pkts_per_s, state.cores = 1.0, places
    asked = {
        "study": study.name,
        "jobs": left,
        "memory_mb": memory_mb,
        "runtime_min": costs.runtime_min(work.expected_s / max(len(left), 1)),
    }
    workflow(asked, state)


def _runs_of(study: Study, job: str) -> range:
    number, _, parts = job.partition("-of-")
    return range(int(number) - 1, study.n_runs, int(parts))


def _rows(layout: Layout, study: Study, job: str) -> dict[int, Row]:
    """The runs in a job's journal, by their number; none where it was made from something else."""
    head, entries = journal.read(_journal(layout, study.name, job))
    if head != _about(study, job):
        return {}
    return {entry[0]: Row(*entry) for entry in entries[1:]}


def _columns(layout: Layout, study: Study, jobs: list[str]) -> list[str]:
    """Names of the metrics, as the first journal has them in which there are any."""
    for job in jobs:
        _, entries = journal.read(_journal(layout, study.name, job))
        if entries and entries[0]:
            return entries[0]
    return []


def _earlier(layout: Layout, study: Study) -> dict[str, Row]:
    """What an earlier version of a study gave that still holds, by the key of the run: measured alike, by the same code."""
    if study.file.keep_traces:
        return {}
    found: dict[str, Row] = {}
    for path in sorted((layout.study(study.name) / "parts").glob("*.jsonl")):
        head, entries = journal.read(path)
        if head and head.get("study") == study.name and study.holds(head.get("stamp", {})):
            found |= {entry[1]: Row(*entry) for entry in entries[1:] if entry[1] and not entry[3]}
    found |= {row.key: row for row in _table_rows(layout, study) if row.key and not row.refused}
    return found


def _table_rows(layout: Layout, study: Study) -> Iterator[Row]:
    """The rows of a finished table whose runs were measured as they would be now."""
    path = metrics_file(layout, study)
    try:
        made_from = json.loads(stamps.stamp_path(path).read_text())
        table = pq.read_table(path)
        names = json.loads(table.schema.metadata[b"metrics"])
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowInvalid):
        return
    if not isinstance(made_from, dict) or not study.holds(made_from):
        return
    values = np.column_stack([table[name].to_numpy() for name in names]) if names else np.empty((len(table), 0))
    keys, refused = table["key"].to_pylist(), table["refused"].to_pylist()
    for i, (key, why) in enumerate(zip(keys, refused, strict=True)):
        yield Row(-1, key, 0, why, values[i].tolist())


def _carry_over(layout: Layout, study: Study, work: Work) -> None:
    """Take over into the journals of this version of a study the runs that an earlier one had; remove what it left."""
    folder = layout.study(study.name) / "parts"
    current = {_journal(layout, study.name, job) for job in work.jobs if _rows(layout, study, job)}
    if not current:
        earlier = _earlier(layout, study)
        columns = _earlier_columns(layout, study) if earlier else []
        by_job: dict[str, list[Row]] = {job: [] for job in work.jobs}
        for spec in _possible(study) if earlier else ():
            if spec.key in earlier and len(earlier[spec.key].values) == len(columns):
                by_job[work.jobs[spec.run_id % len(work.jobs)]].append(earlier[spec.key]._replace(run=spec.run_id))
        for path in folder.glob("*.jsonl"):
            path.unlink()
        for job, rows in by_job.items():
            if rows:
                path = _journal(layout, study.name, job)
                current.add(path)
                with journal.opened(path, _about(study, job)) as (kept, _):
                    kept.add(columns)
                    for row in rows:
                        kept.add(list(row))
        shutil.rmtree(layout.study(study.name) / "traces", ignore_errors=True)
    for path in set(folder.glob("*.jsonl")) - current:
        path.unlink()


def _earlier_columns(layout: Layout, study: Study) -> list[str]:
    """Names of the metrics of what `_earlier` found."""
    for path in sorted((layout.study(study.name) / "parts").glob("*.jsonl")):
        head, entries = journal.read(path)
        if head and entries and entries[0] and study.holds(head.get("stamp", {})):
            return entries[0]
    return json.loads(pq.read_schema(metrics_file(layout, study)).metadata[b"metrics"])


# --- What it gave ------------------------------------------------------------------------------------------------


def _gather(layout: Layout, work: Work) -> None:
    """Write the table of metrics, a row for each run in order, and remove the journals that it is made from.

    Raises InputError when a run is missing.
    """
    study, jobs = work.study, work.jobs
    names = _columns(layout, study, jobs)
    values = np.full((len(names), study.n_runs), np.nan)
    keys, refused = np.full(study.n_runs, "", dtype=object), np.full(study.n_runs, "", dtype=object)
    is_there = np.zeros(study.n_runs, dtype=bool)
    for job in jobs:
        for row in _rows(layout, study, job).values():
            is_there[row.run] = True
            keys[row.run], refused[row.run] = row.key, row.refused
            if not row.refused:
                values[:, row.run] = row.values
    if not is_there.all():
        logs = (layout.results / "logs" / STEP / study.name).relative_to(layout.root)
        raise InputError(
            f"not simulated: {(~is_there).sum():,} of {study.n_runs:,} runs; see {logs}, and run it again to go on"
        )
    path = metrics_file(layout, study)
    stamps.stamp_path(path).unlink(missing_ok=True)
    table = pa.table({**_design(study), "key": keys, "refused": refused, **dict(zip(names, values, strict=True))})
    said = {
        "metrics": json.dumps(names),
        "study": json.dumps(study.file.model_dump(mode="json"), sort_keys=True),
        "made_from": json.dumps(dict(study.stamp), sort_keys=True),
    }
    with whole(path) as scratch:
        pq.write_table(table.replace_schema_metadata(said), scratch, compression="zstd", compression_level=9)
    stamps.write_stamp(path, study.stamp)
    for job in jobs:
        _journal(layout, study.name, job).unlink(missing_ok=True)


def _design(study: Study) -> dict[str, pa.Array]:
    """Number, seed and replicate of every run, and the values of its axes."""
    n = study.n_runs
    points = [study.point(run) for run in range(0, n, study.file.replicates)]
    repeated = np.repeat(np.arange(len(points)), study.file.replicates)
    axes = {}
    for name in study.axes:
        column = [point[name] for point in points]
        if len({type(value) for value in column}) > 1 and any(isinstance(value, str | bool) for value in column):
            column = [str(value) for value in column]
        elif any(isinstance(value, float) for value in column):
            column = [float(value) for value in column]
        axes[name] = pa.array(column).take(pa.array(repeated))
    seeds = np.fromiter((study.seed(run) for run in range(n)), dtype=np.int64, count=n)
    numbers = {"run": np.arange(n), "replicate": np.arange(n) % study.file.replicates, "seed": seeds}
    return {name: pa.array(column) for name, column in numbers.items()} | axes


def _summarise(layout: Layout, study: Study) -> list[str]:
    """Draw the summary where it is not there for this table; what there is to see, as lines for the terminal."""
    from tcpfair.exhibits import study as drawn
    from tcpfair.exhibits import style

    path = metrics_file(layout, study)
    svg, png, csv = figure_files(layout, study)
    stamp = {"metrics": digest(dict(study.stamp)), "figure": stamps.part(study.file.figure.model_dump())}
    stamp["code"] = code.of_rooms("exhibits/study.py", "exhibits/style.py")
    table = pq.read_table(path)
    names = json.loads(table.schema.metadata[b"metrics"])
    why = [text for text in table["refused"].to_pylist() if text]
    lines = []
    if why:
        lines.append(f"refused    {len(why):,} of {len(table):,} runs; the first: {why[0]}")
    if len(why) == len(table):
        for drawn_before in (svg, png, csv):
            drawn_before.unlink(missing_ok=True)
        return [*lines, f"written    {path.relative_to(layout.root)}  no run can have the values of any point"]
    if stamps.changed(csv, stamp) or not (svg.is_file() and png.is_file()):
        stamps.discard(csv)
        figure, shown = drawn.summary(table.to_pandas(), study, names)
        with style.applied():
            write_whole(svg, style.as_svg(figure))
            write_whole(png, style.as_png(figure))
        write_whole(csv, shown.to_csv(index=False, lineterminator="\n"))
        stamps.write_stamp(csv, stamp)
    size_mb = path.stat().st_size / 1e6
    n_columns = len(names)
    relative = path.relative_to(layout.root)
    lines.append(f"written    {relative}  {len(table):,} runs, {n_columns} metrics, {size_mb:.2f} MB")
    if study.file.keep_traces:
        lines.append(f"written    {(path.parent / 'traces').relative_to(layout.root)}")
    return [*lines, f"open       {svg.relative_to(layout.root)}"]


def _time_text(layout: Layout, work: Work, wall_s: float) -> str:
    """What the runs took, and what everything else in their jobs did, in processor time."""
    said = []
    for job in work.jobs:
        with suppress(OSError, ValueError):
            said.append(json.loads(_mark(layout, work.study.name, job).read_text()))
    n, engine_s = sum(each["runs"] for each in said), sum(each["engine_s"] for each in said)
    if not n:
        return f"time       {duration_text(wall_s)}"
    beside_s = sum(each["cpu_s"] for each in said) - engine_s
    run_ms, beside_ms = 1e3 * engine_s / n, 1e3 * beside_s / n
    return f"time       {wall_s:.0f} s; a run took {run_ms:.1f} ms of a core, and {beside_ms:.1f} ms around it"
