"""``./reproduce study FILE.yaml``: simulates the runs of a user's study, and collects their metrics in one table.

The items of the campaign (`tcpfair.workflow.executor`) are slices: consecutive runs that take about half a minute of a core. The
slices depend only on the study, so one core, many cores and a cluster write the same bytes. A slice becomes a shard with the
metrics of its runs and, with ``keep_traces``, a trace, which is written first. Valid runs of an earlier version of an edited
study are looked up by their keys, in its table and in its shards.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tcpfair import cc, sources
from tcpfair.engine.result import Result
from tcpfair.errors import InputError, ShortageError
from tcpfair.files import costs
from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout
from tcpfair.files.manifest import CODE, RUNS
from tcpfair.library import live
from tcpfair.library.live import run as simulate
from tcpfair.measures import of_run
from tcpfair.measures.catalogue import READS
from tcpfair.papers.expand import RunSpec, expected_pkts, shorten
from tcpfair.runs import code, outputs, shards, store, trace
from tcpfair.runs.study import STUDY, Study, load
from tcpfair.runs.study import make as made_study
from tcpfair.runs.trace import Trace
from tcpfair.sources import tables
from tcpfair.workflow import executor
from tcpfair.workflow.executor import Campaign, How, Item, Made
from tcpfair.workflow.plan import check_params

STEP = "study"  # its name among the benchmarks
_SLICE_S = 30  # planned length of a slice, the most that a kill costs
_MOST_SLICES = 100_000  # files in one folder; a study of months has longer slices
_SLICED_PKTS_PER_S = 10e6  # a conservative speed that sets the length of slices; another value changes all slices
_RUN_S = 0.01  # of a run in addition to its simulation; conservative
_SAMPLED = 2000  # runs that are expanded to estimate the work
_TRIAL_SAMPLES = 4  # length of the trial run before all others


# --- Places ------------------------------------------------------------------------------------------------------


def opened(path: Path) -> Study:
    """The study of a file. Raises InputError with one line."""
    study = load(path, cc.names(), READS)
    check_params(study.paper, study.where)
    return study


def metrics_file(layout: Layout, study: Study) -> Path:
    """The table of all runs."""
    return layout.study(study.name) / "metrics.parquet"


def figure_files(layout: Layout, study: Study) -> list[Path]:
    """The summary: figure and numbers."""
    return [layout.study(study.name) / f"summary{suffix}" for suffix in (".svg", ".png", ".csv")]


def _shards(layout: Layout, study: Study) -> Path:
    return layout.study(study.name) / "shards"


def _traces(layout: Layout, study: Study) -> Path:
    return layout.study(study.name) / "traces"


def part_of(study: Study) -> str:
    """The digest at the end of the names of a study's shards."""
    return outputs.part(study.made_from)


def _shard(layout: Layout, study: Study, name: str) -> Path:
    """The shard of the slice of a name."""
    return _shards(layout, study) / f"{name}-{part_of(study)}{shards.SUFFIX}"


# --- The plan ----------------------------------------------------------------------------------------------------


def _name(first: int, end: int) -> str:
    """The name of the slice of the runs from ``first`` to before ``end``."""
    return f"{first:09d}_{end:09d}"


class Work(NamedTuple):
    """The work for a study: its slices (first run, end) with an item for each, packets of full links, share of invalid runs."""

    study: Study
    slices: list[tuple[int, int]]
    items: list[Item]
    pkts: float
    refused: float

    @property
    def lines(self) -> list[str]:
        """The work as lines for the terminal."""
        study, n_left = self.study, sum(item.n_runs for item in self.items)
        points = f"{study.n_points:,} points of {', '.join(study.axes) or 'no axis'}"
        expected_s = sum(item.expected_s for item in self.items)
        todo = f"{n_left:,} runs to simulate, {costs.duration_text(expected_s)} of one core"
        found = [
            f"study      {study.name}: {points}, {study.file.replicates} runs each, {self.pkts / 1e6:,.0f} M packets",
            f"study      {todo if n_left else 'all runs are finished'}",
        ]
        refused = f"refused    about {self.refused:.1%} of the points: their values are invalid"
        return [*found, refused] if self.refused else found


def plan(layout: Layout, study: Study) -> Work:
    """The work for a study, estimated from some of its runs; writes no files."""
    some = np.unique(np.linspace(0, study.n_runs - 1, min(study.n_runs, _SAMPLED)).astype(int))
    of_run_pkts = np.zeros(len(some))
    n_refused = 0
    for place, run in enumerate(some.tolist()):
        try:
            of_run_pkts[place] = expected_pkts(study.spec(run).scenario)
        except InputError:
            n_refused += 1
    # each expanded run represents those up to the next one
    edges = np.append(some, study.n_runs)
    pkts = np.append(0.0, np.cumsum(of_run_pkts * np.diff(edges)))
    planned_s = pkts / _SLICED_PKTS_PER_S + edges * _RUN_S
    n = executor.pieces(planned_s[-1], _SLICE_S, min(_MOST_SLICES, study.n_runs))
    at = np.interp(np.linspace(0, planned_s[-1], n + 1), planned_s, edges)
    cuts = np.unique(at.round().astype(int))
    slices = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
    measured = [cost for cost in costs.read(layout) if cost.pkts]
    own = [cost for cost in measured if (cost.step, cost.item) == (STEP, study.name)] or measured
    pkts_per_s = costs.expected_pkts_per_s(own)
    slice_pkts = np.diff(np.interp(cuts, edges, pkts)).tolist()
    items = []
    for (first, end), own_pkts, n_left in zip(slices, slice_pkts, _left(layout, study, slices), strict=True):
        expected_s = n_left / (end - first) * own_pkts / pkts_per_s + n_left * _RUN_S
        items.append(Item(f"{study.name}/shards/{_name(first, end)}-{part_of(study)}", expected_s, n_left))
    return Work(study, slices, items, pkts[-1], n_refused / len(some))


def is_up_to_date(layout: Layout, study: Study) -> bool:
    """Whether the table of metrics exists and has the current inputs."""
    return shards.about(metrics_file(layout, study)).get("made_from") == study.made_from


def _left(layout: Layout, study: Study, slices: list[tuple[int, int]]) -> list[int]:
    """The number of runs to simulate of each slice."""
    if is_up_to_date(layout, study):
        return [0] * len(slices)
    table = _earlier(layout, study)
    earlier = set(table["key"].to_pylist()) if table else set()
    found = []
    for first, end in slices:
        is_finished = _shard(layout, study, _name(first, end)).is_file()
        n_known = sum(spec.key in earlier for spec in _possible(study, first, end)) if earlier else 0
        found.append(0 if is_finished else end - first - n_known)
    return found


def _possible(study: Study, first: int, end: int) -> Iterator[RunSpec]:
    for run in range(first, end):
        with suppress(InputError):
            yield study.spec(run)


def _earlier(layout: Layout, study: Study) -> pa.Table | None:
    """Keys and metrics of the runs of an earlier version of a study, if the same code measured them in the same way."""
    found: list[pa.Table] = []
    old = [metrics_file(layout, study), *sorted(_shards(layout, study).glob(f"*{shards.SUFFIX}"))]
    for path in () if study.file.keep_traces else old:
        about = shards.about(path)
        is_old = "made_from" in about and not path.stem.endswith(part_of(study))
        if is_old and study.holds(about["made_from"]):
            table = pq.read_table(path, filters=[("refused", "=", "")]).select(["key", *about["metrics"]])
            if len(table) and (not found or table.column_names == found[0].column_names):
                found.append(table.replace_schema_metadata())
    return pa.concat_tables(found) if found else None


# --- One slice ---------------------------------------------------------------------------------------------------


def maker(layout: Layout, asked: Mapping[str, Any]) -> Callable[[str], Made]:
    """The function that makes a slice by the name of its shard (see `tcpfair.workflow.executor`).

    The study is the one that was started, even if its file has been edited since.
    """
    study = made_study(asked["file"], asked["name"], asked["where"], cc.names(), READS)
    earlier = _earlier(layout, study)
    live.prepare(say=lambda line: None)

    def make(name: str) -> Made:
        own, made_from = name.rpartition("/")[2].split("-")
        if made_from != part_of(study):
            raise InputError(executor.EDITED)
        first, _, end = own.partition("_")
        return make_slice(layout, study, int(first), int(end), earlier)

    return make


def make_slice(layout: Layout, study: Study, first: int, end: int, earlier: pa.Table | None) -> Made:
    """Simulate and measure the runs of a slice that are not in ``earlier``, and write its trace and its shard."""
    keys = [spec.key for spec in _possible(study, first, end)] if earlier else []
    rows = earlier.filter(pc.is_in(earlier["key"], pa.array(keys, pa.string()))).to_pylist() if earlier else []
    known = {row.pop("key"): row for row in rows}
    names: list[str] = []
    rows, traces, pkts, engine_s = [], [], 0, 0.0
    for run in range(first, end):
        key, found, why = "", {}, ""
        try:
            spec = study.spec(run)
            key, found = spec.key, known.get(spec.key, {})
            if not found:
                result, took_s = _simulated(spec)
        except ShortageError:
            raise
        except InputError as error:
            why = str(error)
        if not found and not why:
            made = tables.gather(STUDY, study.name, [spec], [result], {"backend": "engine"})
            found = of_run.row(made, study.paper, STUDY)
            traces += [made] if study.file.keep_traces else []
            pkts += result.received_total_pkts
            engine_s += took_s
        if found and names and list(found) != names:
            raise InputError(f"{study.where}: run {run} has different metrics from those before it")
        names = names or list(found)
        rows.append((run, key, why, found))
    if traces:
        _write_trace(layout, study, traces, _name(first, end))
    values = {name: np.array([found.get(name, np.nan) for *_, found in rows], dtype=float) for name in names}
    runs, keys, refused, _ = zip(*rows, strict=True)
    about = {"metrics": names, "made_from": study.made_from}
    path = _shard(layout, study, _name(first, end))
    shards.write(path, pa.table({"run": runs, "key": keys, "refused": refused, **values}), about)
    return Made(pkts, engine_s)


def _simulated(spec: RunSpec) -> tuple[Result, float]:
    """The result of a run and its processor time in s. Raises ShortageError when memory is short."""
    began_s = time.process_time()
    try:
        return simulate(spec.scenario, spec.seed), time.process_time() - began_s
    except MemoryError:
        raise ShortageError(f"run {spec.run_id}: not enough memory") from None


def _write_trace(layout: Layout, study: Study, traces: list[Trace], name: str) -> None:
    merged = sources.merge(traces)
    specs = [study.spec(run) for run in merged.runs["run_id"].tolist()]
    merged.provenance = {
        "backend": "engine",
        "paper": STUDY,
        "experiment": study.name,
        "grid": study.axes,
        RUNS: [spec.key for spec in specs],
        CODE: store.code_behind(store.asked(specs)),
    }
    trace.write(merged, _traces(layout, study) / name)


# --- All of them -------------------------------------------------------------------------------------------------


def run(layout: Layout, study: Study, how: How) -> None:
    """Bring a study up to date: simulate missing runs, write the table of metrics and the summary.

    Raises InputError when the estimate is long without ``how.yes``, and when jobs failed; finished slices are kept.
    """
    began_s = time.monotonic()
    work = plan(layout, study)
    for line in work.lines:
        executor.say(line)
    if not is_up_to_date(layout, study):
        _simulate(layout, work, how)
        _gather(layout, work)
        _tidy(layout, work)
    for line in _summarise(layout, study):
        executor.say(line)
    if any(item.n_runs for item in work.items):
        executor.say(_time_text(layout, study, time.monotonic() - began_s))


def _simulate(layout: Layout, work: Work, how: How) -> None:
    study = work.study
    asked = {"file": study.file.model_dump(mode="json"), "name": study.name, "where": study.where}
    folder = layout.study(study.name)
    campaign = Campaign(STEP, folder, folder.parent, work.items, asked)
    for item, own in zip(work.items, work.slices, strict=True):
        if not item.n_runs and not campaign.shard(item).is_file():
            make_slice(layout, study, *own, _earlier(layout, study))  # all of its runs are known
    executor.run(layout, campaign, how, before=lambda: _try(study))


def _try(study: Study) -> None:
    """Compile the simulator if necessary, and take every measure of a short run before many are started."""
    spec = next(_possible(study, 0, study.n_runs), None)
    if spec is None:
        raise InputError(f"{study.where}: the values of every point are invalid")
    sample_s, duration_s = spec.scenario.sample_s, spec.scenario.duration_s
    if sample_s > duration_s or (study.file.window_s and study.file.window_s[0] + sample_s > duration_s):
        raise InputError(
            f"{study.where}: no sample of {sample_s:g} s ends within the measured part of {duration_s:g} s"
        )
    spec = shorten(spec, _TRIAL_SAMPLES * sample_s)
    made = tables.gather(STUDY, study.name, [spec], [live.run(spec.scenario, spec.seed)], {"backend": "engine"})
    try:
        metrics = of_run.row(made, study.paper, STUDY)
        for name in set(study.axes) & set(metrics):
            raise InputError(f"axis {name!r}: is the name of a metric; rename it")
    except InputError as error:
        raise InputError(f"{study.where}: {error}") from None


# --- Results -----------------------------------------------------------------------------------------------------


def _gather(layout: Layout, work: Work) -> None:
    """Write the table of metrics, a row for each run in order."""
    study = work.study
    found = [shards.read(_shard(layout, study, _name(*own))) for own in work.slices]
    names = next((about["metrics"] for _, about in found if about["metrics"]), [])
    for (first, _), (_, about) in zip(work.slices, found, strict=True):
        if about["metrics"] not in (names, []):
            raise InputError(f"{study.where}: run {first} has different metrics from those before it")
    together = [table.replace_schema_metadata() for table, _ in found]
    runs = pa.concat_tables(together, promote_options="default").combine_chunks()  # a slice may have no metrics
    values = {name: pc.fill_null(runs[name], np.nan) for name in names}
    table = pa.table({**_design(study), "key": runs["key"], "refused": runs["refused"], **values})
    about = {"metrics": names, "study": study.file.model_dump(mode="json"), "made_from": study.made_from}
    shards.write(metrics_file(layout, study), table, about)


def _tidy(layout: Layout, work: Work) -> None:
    """Remove shards, which are in the table of metrics now, and traces of other slices."""
    study = work.study
    own = {_name(*each) for each in work.slices}
    for old in _traces(layout, study).glob("*"):
        if old.name not in own or not study.file.keep_traces:
            shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(_shards(layout, study), ignore_errors=True)


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
    """Draw the summary if it is missing for this table; returns lines for the terminal."""
    from tcpfair.exhibits import study as drawn
    from tcpfair.exhibits import style

    path = metrics_file(layout, study)
    svg, png, csv = figure_files(layout, study)
    made_from = [
        study.made_from,
        study.file.figure.model_dump(),
        code.of_rooms("exhibits/study.py", "exhibits/style.py"),
    ]
    origin = f"{STUDY} {study.name}, made from {outputs.part(made_from)}"
    table = pq.read_table(path)
    names = json.loads(table.schema.metadata[b"metrics"])
    why = [text for text in table["refused"].to_pylist() if text]
    lines = []
    if why:
        lines.append(f"refused    {len(why):,} of {len(table):,} runs; the first: {why[0]}")
    if len(why) == len(table):
        for drawn_before in (svg, png, csv):
            drawn_before.unlink(missing_ok=True)
        return [*lines, f"written    {path.relative_to(layout.root)}  the values of every point are invalid"]
    is_drawn = all(place.is_file() for place in (svg, png, csv)) and origin in svg.read_text()
    if not is_drawn:
        figure, shown = drawn.summary(table.to_pandas(), study, names)
        with style.applied():
            contents = {svg: style.as_svg(figure, origin), png: style.as_png(figure)}
        contents[csv] = shown.to_csv(index=False, lineterminator="\n")
        for place in (csv, png, svg):  # the last one contains the inputs of all three
            write_whole(place, contents[place])
    size_mb = path.stat().st_size / 1e6
    n_columns = len(names)
    relative = path.relative_to(layout.root)
    lines.append(f"written    {relative}  {len(table):,} runs, {n_columns} metrics, {size_mb:.2f} MB")
    if study.file.keep_traces:
        lines.append(f"written    {(path.parent / 'traces').relative_to(layout.root)}")
    return [*lines, f"open       {svg.relative_to(layout.root)}"]


def _time_text(layout: Layout, study: Study, wall_s: float) -> str:
    """The processor time of the runs, and of everything else in their jobs."""
    took = [json.loads(path.read_text()) for path in (costs.folder(layout) / STEP / study.name).rglob("*.json")]
    n, engine_s = sum(each["runs"] for each in took), sum(each["engine_s"] for each in took)
    if not n:
        return f"time       {costs.duration_text(wall_s)}"
    other_s = sum(each["cpu_s"] for each in took) - engine_s
    run_ms, other_ms = 1e3 * engine_s / n, 1e3 * other_s / n
    return f"time       {wall_s:.0f} s; a run took {run_ms:.1f} ms of a core, and {other_ms:.1f} ms of overhead"
