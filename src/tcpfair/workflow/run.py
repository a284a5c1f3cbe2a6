"""One run of the workflow: check the configuration, discard what is stale, run Snakemake, say what was made."""

from __future__ import annotations

import csv
import fcntl
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tcpfair.contract.papers import Config
from tcpfair.contract.stamps import stamp_path
from tcpfair.errors import InputError
from tcpfair.workflow.plan import Plan, Step, load_values
from tcpfair.workflow.steps import failed_exhibits

DEFAULT_CONFIG = "config/config.yaml"
PROFILE = "workflow/profiles/default"
MADE = {
    "simulate": "traces",
    "measure": "metrics",
    "rehearse": "papers rehearsed",
    "notebook": "notebooks",
    "ledger": "ledger",
    "report": "report",
}
# Snakemake's lines about itself and about the command line of a failed step; the steps' own lines, errors among them, and
# the count of steps are shown
_CHATTER = re.compile(
    r"Using (workflow specific profile|shell)|Config file|Assuming|Building DAG|Provided cores|Rules claiming|Conda env"
    r"|Select jobs|Execute \d+ jobs|\[\w{3} \w{3} +\d+ |Finished jobid|Complete log|Elapsed time|Removing temporary"
    r"|Nothing to be done|Shutting down|\[IPKernelApp\] (WARNING \| Kernel is running over TCP|ERROR \| KeyboardInterrupt)"
    r"|RuleException|CalledProcessError in file|Command '"
    r"|Exiting because a job|WorkflowError:|At least one job did not complete"
)
# what a smoke run shares with the checkout; its results stand in a folder of their own
_SHARED = ("Snakefile", "config", "data", "envs", "notebooks", "src", "workflow")


def parse_pairs(pairs: list[str]) -> dict[str, Any]:
    """``["source=engine", "only=ogura.fig8,ogura.fig9"]`` as configuration values; a list may be written with commas."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--config {pair!r}: write it as NAME=VALUE, for example source=engine")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            raise InputError(f"--config {name}: {text!r} is not a value; write it as in {DEFAULT_CONFIG}") from None
        if name in ("papers", "only") and isinstance(value, str):
            value = [item.strip() for item in value.split(",")]
        values[name] = "" if value is None else value
    return values


def load_plan(root: Path, configfile: str = DEFAULT_CONFIG, pairs: list[str] | None = None) -> Plan:
    """The plan of a configuration file and the overrides of the command line; InputError with one line if wrong."""
    values = load_values(root / configfile, parse_pairs(pairs or []))
    return Plan(
        values, smoke_root(root) if values.get("smoke") is True else root, where="--config" if pairs else configfile
    )


def smoke_root(root: Path) -> Path:
    """A root of its own for smoke runs, so that they never replace results of full length."""
    smoke = root / "results" / "smoke"
    smoke.mkdir(parents=True, exist_ok=True)
    for name in _SHARED:
        if not (smoke / name).is_symlink():
            (smoke / name).symlink_to(Path("../..") / name)
    return smoke


def recordings_beside(plan: Plan) -> Plan | None:
    """The shipped recordings, which a full run from bundled data shows too."""
    config = plan.config
    full = config.source == "bundled" and not config.only and not config.smoke
    return Plan({"source": "raw"}, plan.root) if full else None


def to_do(plan: Plan) -> list[str]:
    """One line for each step whose output is missing or was made from other inputs."""
    return [f"{step.kind:<9} {step.item}" for step in plan.steps() if not plan.is_done(step)]


def is_up_to_date(plan: Plan) -> bool:
    """True when every output is there and made from the inputs that the plan has now: Snakemake would find nothing."""
    return not to_do(plan) and all(path.is_file() for path in plan.outputs)


def build(plan: Plan, targets: Sequence[Path] = (), cores: int | None = None) -> int:
    """Bring ``targets`` (files; none = everything) up to date; returns the exit status of Snakemake."""
    with only_run(plan.root):
        plan.discard_stale(("simulate", "measure") if targets else tuple(MADE))
        command = [sys.executable, "-m", "snakemake", *(str(path.relative_to(plan.root)) for path in targets)]
        command += ["--workflow-profile", PROFILE, *(["--cores", str(cores)] if cores else [])]
        with subprocess.Popen(
            [*command, *_config_arguments(plan.config)],
            cwd=plan.root,
            env={**os.environ, "TCPFAIR_ROOT": str(plan.root), "PATH": _path_with_this_python()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                for line in process.stdout:
                    if line.strip() and not _CHATTER.match(line):
                        print(line, end="", flush=True)
            except KeyboardInterrupt:  # Snakemake has it too, and ends the steps; the lock is held until they are gone
                process.wait()
                raise
        return process.returncode


@contextmanager
def only_run(root: Path, outputs: str = "results") -> Iterator[None]:
    """Hold a folder of outputs for one run; the system lets go of it when the process ends, however it ends."""
    (root / outputs).mkdir(parents=True, exist_ok=True)
    with (root / outputs / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another ./reproduce runs in this checkout; wait for it to end") from None
        yield


def _config_arguments(config: Config) -> list[str]:
    """The whole configuration for Snakemake's ``--config``, in YAML's flow style; empty values are the defaults."""
    values = {name: value for name, value in config.model_dump().items() if value not in ("", [])}
    return ["--config", *(f"{name}={_flow_style(value)}" for name, value in values.items())]


def _flow_style(value: Any) -> str:
    return f"[{', '.join(value)}]" if isinstance(value, list) else str(value)


def _path_with_this_python() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def summary(plan: Plan, started_s: float) -> str:
    """What a run that began at ``started_s`` (seconds of the epoch) computed and from which source, and what to open."""
    steps = plan.steps()
    made = Counter(step.kind for step in steps if _made_since(step, started_s))
    missing = [f"{step.kind} {step.item}".strip() for step in steps if not plan.is_done(step)]
    parts = ", ".join(
        f"{n} {MADE[kind]}" if kind not in ("ledger", "report") else MADE[kind] for kind, n in made.items()
    )
    lines = [
        f"computed   {parts or ('nothing' if missing else 'nothing: everything was up to date')}",
        f"source     {plan.config.source}{' (smoke: short runs)' if plan.config.smoke else ''}",
        f"time       {time.time() - started_s:.1f} s",
    ]
    if plan.not_bundled:
        names = ", ".join("/".join(pair) for pair in plan.not_bundled)
        lines.append(f"left out   {len(plan.not_bundled)} experiments without a bundled trace: {names}")
    for title, table, column in (("exhibits", "exhibits", "status"), ("claims", "claims", "verdict")):
        counts = count(plan.layout.ledger / f"{table}.csv", column)
        if counts:
            lines.append(f"{title:<10} {', '.join(f'{number} {value}' for value, number in counts.most_common())}")
    if missing:
        lines.append(f"missing    {', '.join(missing)}; see {os.path.relpath(plan.layout.results / 'logs')}")
    lines += [f"failed     {reason}" for reason in failed_exhibits(plan.layout)]
    if plan.opened.is_file():
        lines.append(f"open       {os.path.relpath(plan.opened)}")
    return "\n".join(lines)


def _made_since(step: Step, started_s: float) -> bool:
    stamp = stamp_path(step.output)
    return stamp.is_file() and stamp.stat().st_mtime >= started_s


def count(table: Path, column: str) -> Counter[str]:
    """How often each value stands in a column of a CSV table; empty while there is no table."""
    if not table.is_file():
        return Counter()
    with table.open(newline="") as stream:
        return Counter(row[column] for row in csv.DictReader(stream))
