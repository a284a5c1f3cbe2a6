"""Speed: delivered packets per second of the engine, with ns-2 on the same scenarios in the same run where it is installed.

The scenarios stand in ``config/bench.yaml``, under ``speed``. Packets count once, when a receiver gets them for the first
time, in both directions and for short flows too.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tcpfair.engine.dumbbell import run
from tcpfair.errors import InputError
from tcpfair.papers.papers import load_yaml
from tcpfair.papers.scenario import Scenario, make_scenario
from tcpfair.sources import ns2

SECTIONS = ("speed", "scale")
REPEATS = 3
PROCESSES = 2


@dataclass(frozen=True)
class Task:
    """One scenario of the benchmark and how long ns-2 runs it."""

    name: str
    scenario: Scenario
    ns2_duration_s: float


@dataclass(frozen=True)
class Speed:
    """One measurement; printed as one JSON object a line."""

    scenario: str
    tool: str
    packets: int
    seconds: float
    packets_per_s: float
    processes: int = 1
    ratio_to_ns2: float | None = None
    ratio_to_one_process: float | None = None


def section(path: Path, name: str) -> dict:
    """One of the sections of the benchmark's file. Raises InputError where it is missing or another one is not known."""
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


def _timed_run(scenario: Scenario, seed: int) -> tuple[int, float]:
    """Packets and seconds of one simulation."""
    started = time.perf_counter()
    result = run(scenario, seed)
    return result.received_total_pkts, time.perf_counter() - started


def engine_speed(task: Task) -> Speed:
    """The fastest of a few runs on one core; compiling or loading is not counted."""
    run(task.scenario.model_copy(update={"duration_s": 1.0}))
    packets, seconds = max(
        (_timed_run(task.scenario, seed) for seed in range(REPEATS)), key=lambda pair: pair[0] / pair[1]
    )
    return Speed(task.name, "engine", packets, round(seconds, 6), round(packets / seconds))


def parallel_speed(task: Task) -> Speed:
    """As many equal runs at once as there are ``PROCESSES``, against one of these processes by itself."""
    context = multiprocessing.get_context("spawn")
    best = {1: (0, 1.0), PROCESSES: (0, 1.0)}
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        warm = [pool.submit(_timed_run, task.scenario, 0) for _ in range(PROCESSES)]
        for each in warm:
            each.result()
        for _ in range(REPEATS):
            for at_once in best:
                started = time.perf_counter()
                jobs = [pool.submit(_timed_run, task.scenario, 0) for _ in range(at_once)]
                packets = sum(job.result()[0] for job in jobs)
                best[at_once] = max(best[at_once], (packets, time.perf_counter() - started), key=lambda p: p[0] / p[1])
    speeds = {at_once: packets / seconds for at_once, (packets, seconds) in best.items()}
    packets, seconds = best[PROCESSES]
    return Speed(
        task.name,
        "engine",
        packets,
        round(seconds, 6),
        round(speeds[PROCESSES]),
        processes=PROCESSES,
        ratio_to_one_process=round(speeds[PROCESSES] / speeds[1], 2),
    )


def ns2_speed(task: Task) -> Speed:
    """ns-2 on a shorter stretch of the scenario, starting included. Raises InputError when it cannot do that."""
    scenario = task.scenario.model_copy(update={"duration_s": task.ns2_duration_s})
    started = time.perf_counter()
    packets = int(ns2.run(scenario, 1).received_total_pkts)
    seconds = time.perf_counter() - started
    return Speed(task.name, "ns2", packets, round(seconds, 6), round(packets / seconds))


def measure(tasks: list[Task]) -> list[Speed]:
    """Engine and, where installed, ns-2 on every scenario; two processes at once on the first."""
    speeds = []
    for task in tasks:
        engine = engine_speed(task)
        try:
            other = ns2_speed(task)
        except InputError as error:
            print(f"bench: {task.name}: {error}", file=sys.stderr)
            speeds.append(engine)
            continue
        ratio = round(engine.packets_per_s / other.packets_per_s, 1)
        speeds += [Speed(**(asdict(engine) | {"ratio_to_ns2": ratio})), other]
    speeds.append(parallel_speed(tasks[0]))
    return speeds


def main(path: Path, as_json: bool) -> None:
    """Print the measurements, one object a line or one sentence a line."""
    for speed in measure(load_tasks(path)):
        if as_json:
            print(json.dumps(asdict(speed)))
            continue
        more = f", {speed.ratio_to_ns2} times ns-2" if speed.ratio_to_ns2 else ""
        if speed.ratio_to_one_process:
            more = f", {speed.processes} processes at once: {speed.ratio_to_one_process} times one"
        print(f"{speed.scenario}: {speed.tool} {speed.packets_per_s / 1e6:.2f} million delivered packets/s{more}")
