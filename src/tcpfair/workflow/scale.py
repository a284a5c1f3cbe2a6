"""Scale: the cost of packets and flows, from one flow to ten thousand, from 1 Mb/s to 40 Gb/s, and with duration.

The curves are in ``config/bench.yaml``, under ``scale``. Each point gives the processor time per packet of the fastest of a
few runs, and the increase of peak memory in the first. It is measured in a separate process, because a run can reuse memory
that an earlier one has taken.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
from pydantic import Field

from tcpfair.cc import names
from tcpfair.engine.dumbbell import Simulation
from tcpfair.errors import InputError
from tcpfair.exhibits import scaling, style
from tcpfair.files.files import write_whole
from tcpfair.papers.scenario import Frozen, Positive, Scenario, make_scenario, validated
from tcpfair.units import BPS_PER_MBPS, bdp_pkts, service_time_s
from tcpfair.workflow.bench import REPEATS, section

_STARTS_S = 1.0  # time within which all flows start
_JITTER_PKTS = 3.0  # jitter in transmission times of a packet, against phase effects
_PROC = Path("/proc/self")


class Point(Frozen):
    """One run of a curve."""

    flows: Annotated[int, Field(ge=1)]
    capacity_bps: Positive
    duration_s: Positive
    sample_s: Positive


_LEAST = Point(flows=1, capacity_bps=1e6, duration_s=1, sample_s=1)


class Curve(Frozen):
    """Points that differ in one field."""

    label: str
    over: Literal["flows", "capacity_bps", "duration_s"]
    points: tuple[Point, ...] = Field(min_length=1)


class Scale(Frozen):
    """All curves, and what their flows have in common."""

    cc: tuple[str, ...] = Field(min_length=1)
    rtt_s: tuple[Positive, Positive]
    wire_bytes: Positive
    payload_bytes: Positive
    curves: dict[str, Curve]

    def scenario(self, point: Point, where: str = "scenario") -> Scenario:
        """The scenario of a point. Raises InputError that begins with ``where`` for incompatible values."""
        shortest_s, longest_s = self.rtt_s
        spread_s = (longest_s - shortest_s) / max(point.flows - 1, 1)
        mean_s = (shortest_s + longest_s) / 2
        flows = [
            {
                "protocol": self.cc[i % len(self.cc)],
                "cc": self.cc[i % len(self.cc)],
                "rtt_s": shortest_s + i * spread_s if point.flows > 1 else mean_s,
                "start_s": i * _STARTS_S / point.flows,
            }
            for i in range(point.flows)
        ]
        link = {
            "wire_bytes": self.wire_bytes,
            "payload_bytes": self.payload_bytes,
            "buffer_pkts": bdp_pkts(point.capacity_bps, mean_s, self.wire_bytes),
            "jitter_s": _JITTER_PKTS * service_time_s(self.wire_bytes, point.capacity_bps),
        }
        return make_scenario(link | point.model_dump(exclude={"flows"}) | {"flows": flows}, where)


def load(path: Path) -> Scale:
    """The curves of the benchmark. Raises InputError naming file and field."""
    scale = validated(Scale, section(path, "scale"), f"{path}: scale")
    if strangers := set(scale.cc) - set(names()):
        raise InputError(f"{path}: scale: cc: {min(strangers)!r} is not one of {', '.join(names())}")
    scale.scenario(_LEAST, f"{path}: scale")
    return scale


def main(path: Path, place: Path, as_json: bool) -> None:
    """Measure the curves of ``path``, print a JSON object or a line per point, and write table and figure to ``place``."""
    scale, rows = load(path), []
    for row in measure(scale):
        rows.append(row)
        print(json.dumps(row) if as_json else sentence(row), flush=True)
    costs = pd.DataFrame(rows)
    write_whole(place / "scale.csv", costs.to_csv(index=False))
    for suffix, content in drawn(scale, costs).items():
        write_whole(place / f"scale{suffix}", content)
    if not as_json:
        print(f"open       {os.path.relpath(place / 'scale.svg')}")


def sentence(row: dict) -> str:
    """One point in a line."""
    return (
        f"{row['curve']:<10} {row['flows']:>5} flows {row['capacity_bps'] / BPS_PER_MBPS:>6g} Mb/s {row['duration_s']:>6g} s"
        f" {row['packets'] / 1e6:>7.2f} million packets {row['ns_per_packet']:>6.1f} ns/packet"
        f" {row['set_up_s']:>7.4f} s to set up {row['memory_bytes'] / 1e6:>7.1f} MB"
    )


def drawn(scale: Scale, costs: pd.DataFrame) -> dict[str, bytes]:
    """The curves as files by suffix."""
    labels = {name: curve.label for name, curve in scale.curves.items()}
    over = {name: curve.over for name, curve in scale.curves.items()}
    load = f"load up to {costs['load'].max():.1f} on {os.cpu_count()} cores"
    note = f"engine, config/bench.yaml; {' and '.join(scale.cc)}; fastest of {REPEATS} runs, {load}"
    with style.applied():
        figure = scaling.draw_scale(costs, labels, over, note)
        return {".svg": style.as_svg(figure), ".png": style.as_png(figure)}


def measure(scale: Scale) -> Iterator[dict]:
    """One row per point: the point, ``packets`` delivered, ``ns_per_packet``, ``set_up_s``, ``memory_bytes``, ``load``.

    The load is the machine's, over the last minute, because other work lengthens all times.
    """
    with _processes() as pool:
        pool.submit(_cost, scale, _LEAST).result()  # compiles if necessary
        for name, curve in scale.curves.items():
            for point in curve.points:
                yield {"curve": name, **point.model_dump(), **pool.submit(_cost, scale, point).result()}


def _processes() -> ProcessPoolExecutor:
    """One process at a time, a new one for each task."""
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1)


def _cost(scale: Scale, point: Point) -> dict[str, float]:
    """The cost of a point in this fresh process."""
    scenario = scale.scenario(point)
    _simulate(scale.scenario(_LEAST))  # loads the compiled code
    before_bytes = _peak_bytes(forget=True)
    costs_s = [_simulate(scenario)]
    memory_bytes = _peak_bytes() - before_bytes
    costs_s += [_simulate(scenario) for _ in range(REPEATS - 1)]
    set_up_s, run_s, packets = min(costs_s, key=lambda cost: cost[1])
    ns_per_packet = 1e9 * run_s / max(packets, 1)
    return {
        "packets": packets,
        "ns_per_packet": round(ns_per_packet, 2),
        "set_up_s": round(set_up_s, 4),
        "memory_bytes": memory_bytes,
        "load": round(os.getloadavg()[0], 2),
    }


def _simulate(scenario: Scenario) -> tuple[float, float, int]:
    """Processor seconds of setting up and of running, and packets delivered."""
    began_s = time.process_time()
    simulation = Simulation(scenario)
    set_up_s = time.process_time() - began_s
    simulation.advance(scenario.duration_s)
    result = simulation.result()
    return set_up_s, time.process_time() - began_s - set_up_s, result.received_total_pkts


def _peak_bytes(forget: bool = False) -> int:
    """Peak memory of this process; `resource.getrusage` would include its parent. ``forget`` resets the peak."""
    try:
        if forget:
            (_PROC / "clear_refs").write_text("5")
        status = (_PROC / "status").read_text()
    except OSError as error:
        raise InputError(f"bench --scale: measures memory on Linux only ({error})") from None
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
