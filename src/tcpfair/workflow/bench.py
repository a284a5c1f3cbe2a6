"""Speed: delivered packets per second of the engine and, if it is installed, of ns-2 on the same scenarios.

The scenarios are in ``config/bench.yaml``, under ``speed``. A packet counts once, at its first arrival at a receiver, in both
directions and for short flows too.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tcpfair.errors import InputError
from tcpfair.library.live import run
from tcpfair.papers.papers import load_yaml
from tcpfair.papers.scenario import Scenario, make_scenario
from tcpfair.sources import ns2

SECTIONS = ("speed", "scale")
REPEATS = 3
PROCESSES = 2


class Task(NamedTuple):
    """One scenario of the benchmark and how long ns-2 runs it."""

    name: str
    scenario: Scenario
    ns2_duration_s: float


def section(path: Path, name: str) -> dict:
    """One of the sections of the benchmark's file. Raises InputError for a missing or an unknown section."""
    values = load_yaml(path)
    if wrong := [*(key for key in values if key not in SECTIONS), *(key for key in SECTIONS if key not in values)]:
        raise InputError(f"{path}: {wrong[0]}: the sections are {' and '.join(SECTIONS)}")
    if not isinstance(values[name], dict):
        raise InputError(f"{path}: {name}: must be a mapping of names to values")
    return values[name]


def load_tasks(path: Path) -> list[Task]:
    """The scenarios of the benchmark. Raises InputError naming file, scenario and field."""
    tasks = []
    for name, values in section(path, "speed").items():
        unknown = set(values) - {"what", "ns2_duration_s", "scenario", "flows", "web"}
        if unknown:
            raise InputError(f"{path}: {name}: unknown field {sorted(unknown)[0]!r}")
        parts = {key: values[key] for key in ("flows", "web") if key in values}
        scenario = make_scenario({**values["scenario"], **parts}, f"{path}: {name}")
        tasks.append(Task(name, scenario, float(values["ns2_duration_s"])))
    return tasks


def _timed(scenario: Scenario, seed: int = 0, simulate: Callable = run) -> tuple[int, float]:
    """Packets and seconds of one simulation."""
    started = time.perf_counter()
    packets = int(simulate(scenario, seed).received_total_pkts)
    return packets, time.perf_counter() - started


def _fastest(measured: Iterable[tuple[int, float]]) -> tuple[int, float]:
    return max(measured, key=lambda each: each[0] / each[1])


def _row(task: Task, tool: str, packets: int, seconds: float, **more: float) -> dict[str, Any]:
    """One measurement as plain data."""
    speed = {"packets": packets, "seconds": round(seconds, 6), "packets_per_s": round(packets / seconds)}
    others = {"processes": 1, "ratio_to_ns2": None, "ratio_to_one_process": None}
    return {"scenario": task.name, "tool": tool, **speed, **others, **more}


def engine_speed(task: Task) -> dict[str, Any]:
    """The fastest of a few runs on one core, without the time to compile or load."""
    run(task.scenario.model_copy(update={"duration_s": 1.0}))
    return _row(task, "engine", *_fastest([_timed(task.scenario, seed) for seed in range(REPEATS)]))


def parallel_speed(task: Task) -> dict[str, Any]:
    """``PROCESSES`` equal runs at the same time, compared with one of these processes alone."""
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:

        def at_once(n: int) -> tuple[int, float]:
            started = time.perf_counter()
            jobs = [pool.submit(_timed, task.scenario) for _ in range(n)]
            return sum(job.result()[0] for job in jobs), time.perf_counter() - started

        at_once(PROCESSES)  # compiles or loads
        alone, together = zip(*((at_once(1), at_once(PROCESSES)) for _ in range(REPEATS)), strict=True)
    (packets, seconds), (of_one, one_s) = _fastest(together), _fastest(alone)
    ratio = round(packets / seconds * one_s / of_one, 2)
    return _row(task, "engine", packets, seconds, processes=PROCESSES, ratio_to_one_process=ratio)


def ns2_speed(task: Task) -> dict[str, Any]:
    """ns-2 on a shortened scenario, with its start. Raises InputError when ns-2 cannot run it."""
    scenario = task.scenario.model_copy(update={"duration_s": task.ns2_duration_s})
    return _row(task, "ns2", *_timed(scenario, 1, ns2.run))


def measure(tasks: list[Task]) -> list[dict[str, Any]]:
    """Engine and, if installed, ns-2 on every scenario; two parallel processes on the first."""
    rows = []
    for task in tasks:
        rows.append(engine_speed(task))
        try:
            other = ns2_speed(task)
        except InputError as error:
            print(f"bench: {task.name}: {error}", file=sys.stderr)
            continue
        rows[-1]["ratio_to_ns2"] = round(rows[-1]["packets_per_s"] / other["packets_per_s"], 1)
        rows.append(other)
    return [*rows, parallel_speed(tasks[0])]


def main(path: Path, as_json: bool) -> None:
    """Print the measurements, one JSON object or one sentence per line."""
    for row in measure(load_tasks(path)):
        if as_json:
            print(json.dumps(row))
            continue
        more = f", {row['ratio_to_ns2']} times ns-2" if row["ratio_to_ns2"] else ""
        if row["ratio_to_one_process"]:
            more = f", {row['processes']} processes at once: {row['ratio_to_one_process']} times one"
        speed = f"{row['packets_per_s'] / 1e6:.2f} million delivered packets/s"
        print(f"{row['scenario']}: {row['tool']} {speed}{more}")
