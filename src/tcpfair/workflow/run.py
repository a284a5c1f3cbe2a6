"""One run of the workflow: list the work, discard stale outputs, run Snakemake, list the results."""

from __future__ import annotations

import csv
import ctypes
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from tcpfair.errors import InputError, check_known
from tcpfair.files import checksums, costs
from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout
from tcpfair.machine import free_cores
from tcpfair.papers.papers import load_yaml, plain_yaml
from tcpfair.runs import record
from tcpfair.verdicts.certainty import verdict_text
from tcpfair.workflow import bundles, cluster
from tcpfair.workflow.full_disk import FullDisk
from tcpfair.workflow.plan import Pair, Plan, load_values, simulated_runs
from tcpfair.workflow.state import State, paint

DEFAULT_CONFIG = "config/config.yaml"
PROFILES = "workflow/profiles"
_CONFIG = "config.json"  # the configuration of the last run of a source
MADE = {
    "measure": "metrics",
    "numbers": "papers' numbers",
    "judge": "papers' verdicts",
    "draw": "exhibits",
    "notebook": "notebooks",
    "place": "ensembles",
    "compare": "comparisons",
    "ledger": "ledger",
    "report": "report",
    "lab": "packet lab",
}
_ONE = {"measure": "1 metric", "draw": "1 exhibit", "notebook": "1 notebook"}  # of those with a number
# lines to hide: of Snakemake before its logger starts, and of the kernels of notebooks
_CHATTER = re.compile(
    r"Using workflow specific profile|\[IPKernelApp\] (WARNING \| Kernel is running over TCP|ERROR \| KeyboardInterrupt)"
)
# what a smoke run shares with the checkout; its results are in a separate folder
_SHARED = ("Snakefile", "config", "data", "envs", "notebooks", "src", "workflow")
# jobs run in parallel, here or on a node of a cluster
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
_PR_SET_PDEATHSIG = 1  # of prctl on Linux
_built: list[Plan] = []  # by this process
SHOWN = 10  # lines or names of one kind on the terminal
_PLAIN_TEXT = ("trace",)  # values of --config that are not YAML, such as names of files


def parse_pairs(pairs: list[str]) -> dict[str, Any]:
    """``["source=engine", "only=ogura.fig8,ogura.fig9"]`` as configuration values; a list may be written with commas."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--config {pair!r}: write it as NAME=VALUE, for example source=engine")
        try:
            value = text if name in _PLAIN_TEXT else plain_yaml(text, f"--config {name}:")
        except InputError:
            raise InputError(f"--config {name}: {text!r} is not a value; write it as in {DEFAULT_CONFIG}") from None
        if name in ("papers", "only") and isinstance(value, str):
            value = [item.strip() for item in value.split(",")]
        values[name] = "" if value is None else value
    return values


def load_plan(root: Path, configfile: str = DEFAULT_CONFIG, pairs: list[str] | None = None) -> Plan:
    """The plan of a configuration file and the overrides of the command line; InputError with one line for an invalid value."""
    values = load_values(root / configfile, parse_pairs(pairs or []))
    return Plan(
        values, smoke_root(root) if values.get("smoke") is True else root, where="--config" if pairs else configfile
    )


def last_plan(root: Path, source: str) -> Plan:
    """The plan of the last run of a source, from the configuration that it wrote; InputError if it never ran."""
    path = Layout(root, source).results / _CONFIG
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        started = "./reproduce" + ("" if source == "bundled" else f" --config source={source}")
        raise InputError(f"source {source}: no results yet; run {started} first") from None
    except ValueError:
        raise InputError(f"{path}: not JSON; ./reproduce rewrites it") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: not a configuration; ./reproduce rewrites it")
    return Plan(values, root, where=str(path))


def smoke_root(root: Path) -> Path:
    """A separate root for smoke runs, so that they never replace results of full length."""
    smoke = root / "results" / "smoke"
    smoke.mkdir(parents=True, exist_ok=True)
    for name in _SHARED:
        if not (smoke / name).is_symlink():
            (smoke / name).symlink_to(Path("../..") / name)
    return smoke


# --- Before -----------------------------------------------------------------------------------------------------


def to_do(plan: Plan) -> list[str]:
    """One line for each step to run, with the reason; simulations first, with runs and expected time."""
    lines = announced(plan)
    for step, reasons in plan.stale:
        why = ", ".join(reasons) if reasons == ["missing"] else f"{', '.join(reasons)} changed"
        lines.append(f"{step.kind:<10} {step.item:<28} {why}".rstrip())
    return lines


def announced(plan: Plan, wanted: Sequence[Pair] = ()) -> list[str]:
    """The simulations to run: the runs of each experiment, the reason, and the expected time.

    ``wanted`` are experiments; none = all of the plan.
    """
    todo = [row for row in simulated_runs(plan) if row[1] and (not wanted or row[0] in wanted)]
    pkts_per_s = costs.expected_pkts_per_s(costs.read(plan.layout)) if todo else 0.0
    lines = []
    for pair, n_runs, pkts in todo:
        why = plan.held[pair[0]].why_missing(pair[1]) or "missing"
        takes = f"{n_runs} of {len(plan.asked[pair])} runs, {costs.duration_text(pkts / pkts_per_s)} of one core"
        lines.append(f"simulate   {'/'.join(pair):<28} {takes}  {why}".rstrip())
    if len(todo) > 1:
        total_s = sum(pkts for _, _, pkts in todo) / pkts_per_s
        lines.append(f"simulate   {sum(n for _, n, _ in todo)} runs in all, {costs.duration_text(total_s)} of one core")
    return lines


# --- Snakemake --------------------------------------------------------------------------------------------------


def gives_shipped_bits(plan: Plan, cores: int) -> bool:
    """Whether bundled runs from other code remain valid: the bits of a sample are compared, once for each code."""
    if plan.config.source != "bundled" or not any(plan.lacking.values()):
        return False
    from tcpfair.workflow import same_bits  # and with it the engine

    return same_bits.accept_same_bits(plan.layout, cores)


def build(
    plan: Plan,
    targets: Sequence[Path] | None = None,
    cores: int | None = None,
    profile: str = "default",
    simulated: Sequence[Pair] = (),
) -> int:
    """Simulate missing runs of the experiments ``simulated`` (none = all), then build ``targets`` (files; None = everything).

    Returns 0 when everything was built and no exhibit failed.
    """
    # the costs of the first build of a process include its plan
    began_s, cpu_before_s = time.time(), costs.cpu_s() if _built else 0.0
    _built.append(plan)
    with only_run(plan.root):
        bundles.restore_interrupted(plan.layout)
        plan.refuse_what_is_missing()
        for line in announced(plan, simulated):
            print(line, flush=True)
        plan.prepare()
        config = _write_config(plan)
        status = _simulate(plan, simulated, cores, profile)
        writes_costs = targets is None and bool(plan.of_kind("report"))
        if plan.stale if targets is None else targets:
            # by name: rule `all` would be one more job, after which Snakemake's limit of jobs per second waits for a second
            left = [target for target in plan.targets() if not target.is_file()] if targets is None else targets
            wanted = [str(path.relative_to(plan.root)) for path in left]
            if writes_costs:  # imports take a second, so do them while Snakemake starts
                Thread(target=import_module, args=["tcpfair.verdicts.report"], daemon=True).start()
            status = snakemake(plan.root, [*wanted, "--configfile", config], State(), cores, profile) or status
        plan.publish()
        costs.note_workflow(plan.layout, began_s, time.time() - began_s, cpu_before_s)
        if not status and targets is None:
            if writes_costs:
                from tcpfair.verdicts import report

                report.write_costs(plan.layout)
            plan.collect()
            status = 1 if failed_exhibits(plan) else 0
        return status


def _simulate(plan: Plan, wanted: Sequence[Pair], cores: int | None, profile: str) -> int:
    """Simulate missing runs. If some fail, prints the reasons and returns 1; outputs that do not need them are still built."""
    if all(plan.traces.values()):
        return 0
    from tcpfair.workflow import executor, simulate  # and with them the engine

    try:
        simulate.run(plan, wanted, cores or free_cores(), profile)
    except executor.FailedItemsError as error:
        State(stream=sys.stderr).print(f"error: {error}")
        return 1
    return 0


def failed_exhibits(plan: Plan) -> list[str]:
    """``ogura.fig8, ogura.fig9: reason``: the requested exhibits that could not be drawn, one line for each reason."""
    failed: dict[str, list[str]] = {}
    wanted = {exhibit.id for _, exhibit in plan.exhibits}
    for layout in dict.fromkeys(step.layout for step in plan.steps):
        for found in record.read_all(layout).values():
            if found.status == "failed" and (layout.source == "raw" or found.exhibit in wanted):
                failed.setdefault(found.error, []).append(found.exhibit)
    return [f"{', '.join(exhibits)}: {reason}" for reason, exhibits in failed.items()]


def snakemake(
    root: Path, arguments: Sequence[str], state: State, cores: int | None, profile: str, folder: Path | None = None
) -> int:
    """Run Snakemake, showing the output and the progress of the steps; returns its exit status.

    ``folder`` is the folder that it writes, if not all of ``results``. Raises InputError for an unreachable cluster.
    """
    place = profile_folder(root, profile)
    executor = cluster.executor_of(place)
    cluster.check(executor)
    # requested files come first: an option that takes several values would take them too
    command = [sys.executable, "-m", "snakemake", *arguments, "--logger", "tcpfair"]
    command += ["--workflow-profile", str(place.relative_to(root))]
    if executor:
        name = cluster.name_of(root, folder.relative_to(root).as_posix() if folder else "results")
        if n_left := cluster.cancel_left_over(executor, name):
            state.print(f"cancelled  {n_left} jobs of an earlier run, which was killed")
        command += [f"--{executor}-jobname-prefix", name]
    elif cores:
        command += ["--cores", str(cores)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    disk = FullDisk(root)
    undate_future(root / "results")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C, which ends the running steps too
    with subprocess.Popen(
        command,
        cwd=root,
        env={**os.environ, **ONE_THREAD, "TCPFAIR_ROOT": str(root), "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
        preexec_fn=_ends_with_this,
    ) as process:
        try:
            for printed in process.stdout:
                for line in disk.shown(printed):
                    if line.strip() and not state.takes(line) and not _CHATTER.match(line):
                        state.print(line.rstrip("\n"))
            for line in disk.at_the_end():
                state.print(line.rstrip("\n"))
        except BaseException:  # hold the lock until Snakemake and its steps have ended
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
            state.close()
            for _ in process.stdout:  # a full pipe would block it
                pass
            raise
        state.close()
    return process.returncode


def _ends_with_this() -> None:
    """Have Linux end Snakemake when this process is killed. Its last steps are harmless: outputs are written atomically."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def job_places(root: Path, profile: str, cores: int) -> int:
    """Approximate number of parallel jobs: the cores of this machine, or the limit of a cluster's profile."""
    most = load_yaml(profile_folder(root, profile) / "config.yaml").get("jobs")
    return most if isinstance(most, int) and most > 0 else cores


def undate_future(results: Path) -> None:
    """Give results with future dates the current time: after a wrong clock, Snakemake would refuse outputs older than inputs."""
    now_s = time.time()
    for place, _, names in os.walk(results):
        for path in (Path(place, name) for name in names):
            with suppress(OSError):
                if path.stat().st_mtime > now_s:
                    os.utime(path)


def profile_folder(root: Path, profile: str) -> Path:
    """A folder of workflow/profiles by its name; InputError with the known ones for an unknown name."""
    known = sorted(path.name for path in (root / PROFILES).iterdir() if path.is_dir())
    check_known("--profile", [profile], known)
    return root / PROFILES / profile


def _write_config(plan: Plan) -> str:
    """Write the configuration as a file for Snakemake, so that no shell or second parser changes values; returns its name."""
    path = plan.layout.results / _CONFIG
    write_whole(path, json.dumps(plan.config.model_dump(), indent=1) + "\n")
    return str(path.relative_to(plan.root))


@contextmanager
def only_run(root: Path, outputs: str = "results", alone: bool = False) -> Iterator[None]:
    """Lock a folder of outputs for one run, at most as long as this process lives.

    ``alone`` locks the whole checkout. Raises InputError during another run.
    """
    with (
        _locked(root / "results" / ".in-use", fcntl.LOCK_EX if alone else fcntl.LOCK_SH),
        _locked(root / outputs / ".lock", fcntl.LOCK_EX),
    ):
        yield


@contextmanager
def _locked(path: Path, kind: int) -> Iterator[None]:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as lock:
            try:
                fcntl.flock(lock, kind | fcntl.LOCK_NB)
            except OSError:
                raise InputError("another ./reproduce runs in this checkout; wait for it to end") from None
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(lock.fileno())):  # else `clean` has removed it
                    yield
                    return


# --- After ------------------------------------------------------------------------------------------------------


def summary(asked: Plan, started_s: float, done: bool = True) -> str:
    """The summary of a run that began at ``started_s`` (seconds of the epoch): what was computed, its source, what to open.

    ``asked`` is the plan that was run. If something was ``done``, the current state is looked up again.
    """
    plan = Plan(asked.config.model_dump(), asked.root) if done else asked
    left = {step.folder for step, _ in plan.stale}
    made = Counter(step.kind for step, _ in asked.stale if step.folder not in left)
    missing = [step.name for step, _ in plan.stale]
    parts = ", ".join(f"{n} {MADE[kind]}" if n > 1 else _ONE.get(kind, MADE[kind]) for kind, n in made.items())
    simulated = sum(n for _, n, _ in simulated_runs(asked)) - sum(n for _, n, _ in simulated_runs(plan))
    parts = ", ".join(filter(None, [f"{simulated} runs simulated" if simulated > 0 else "", parts]))
    lines = [
        f"computed   {parts or ('nothing' if missing else 'nothing: everything was up to date')}",
        f"source     {plan.config.source}",
        *_not_shipped(plan),
        f"time       {time.time() - started_s:.1f} s",
    ]
    for title, table, column in (("exhibits", "exhibits", "status"), ("claims", "claims", "verdict")):
        if counts := Counter(row[column] for row in _rows(plan.layout.ledger / f"{table}.csv")):
            lines.append(f"{title:<10} {', '.join(f'{number} {value}' for value, number in counts.most_common())}")
    lines += _conclusions(plan)
    if made["ledger"]:
        lines += _moved(plan)
    lines += [paint(f"altered    {line}", "red") for line in checksums.altered(plan.layout.data)]
    lines += [paint(f"stale      {line}", "red") for line in asked.stale_ensembles]
    if plan.opened.is_file():
        lines.append(paint(f"open       {os.path.relpath(plan.opened)}", "green"))
    if plan.beside and plan.beside.opened.is_file():
        lines.append(f"and        {os.path.relpath(plan.beside.opened)}, recordings of real hosts (source raw)")
    if missing:
        logs = os.path.relpath(plan.layout.results / "logs")
        lines.append(paint(f"missing    {_some(missing, ', ')}; see {logs}", "red"))
    failed = failed_exhibits(plan)
    lines += [paint(f"failed     {reason}", "red") for reason in failed[:SHOWN]]
    lines += [f"           and {len(failed) - SHOWN} more reasons"] if len(failed) > SHOWN else []
    return "\n".join(lines)


def _not_shipped(plan: Plan) -> Iterator[str]:
    """The experiments that differ from the shipped ones, with the values that differ."""
    if plan.config.source != "bundled":
        return
    for (paper, experiment), folder in plan.traces.items():
        if folder is not None and not folder.is_relative_to(plan.layout.bundled_root):
            why = plan.held[paper].why_missing(experiment) or "not shipped"
            shown = [each.id for of, each in plan.exhibits if of.paper == paper and experiment in each.experiments]
            yield f"engine     {paper}/{experiment}: {why}; shown in {', '.join(shown) or 'nothing'}"


def _conclusions(plan: Plan) -> list[str]:
    """A line for each paper with the conclusion of its abstract, the verdict and its certainty; none without a ledger."""
    rows = _rows(plan.layout.ledger / "headlines.csv")
    return [f"{row['paper']:<10} {verdict_text(row)}: {row['says']}" for row in rows]


def _moved(plan: Plan) -> list[str]:
    """The first differences from the baseline."""
    from tcpfair.verdicts import baseline

    def says(claim_id: str) -> str:
        from tcpfair.verdicts.claims.statement import load_claims  # only where a verdict flipped

        claims = load_claims(plan.layout.data / "claims" / f"{claim_id.partition('.')[0]}.yaml")
        return next((claim.claim for claim in claims if claim.id == claim_id), "")

    return baseline.terminal_lines(plan.layout, says)


def _some(names: Sequence[str], between: str) -> str:
    """The first names, and the number of further ones."""
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return between.join([*names[:SHOWN], *more])


def _rows(table: Path) -> list[dict[str, str]]:
    """The rows of a CSV table; none without the table."""
    if not table.is_file():
        return []
    with table.open(newline="") as stream:
        return list(csv.DictReader(stream))
