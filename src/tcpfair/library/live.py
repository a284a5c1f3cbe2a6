"""Single runs of the simulator; the first one on a machine prints that it compiles, and for how long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tcpfair.engine import dumbbell
from tcpfair.engine.dumbbell import DumbbellResult
from tcpfair.engine.loop import simulate
from tcpfair.jit import Entry
from tcpfair.papers.scenario import Scenario, make_scenario

COMPILING_S = 20  # 15 to 40 on the machines that this was tried on, the latter on one core

# only compiles
_LINK = {"capacity_bps": 1e6, "wire_bytes": 1500, "payload_bytes": 1448, "buffer_pkts": 10}
_SMALLEST = {**_LINK, "duration_s": 1, "sample_s": 1, "flows": [{"protocol": "any", "cc": "reno", "rtt_s": 0.1}]}


def is_compiled() -> bool:
    """Whether this process has the compiled simulator, or finds it undamaged in the cache; True in plain Python."""
    return not isinstance(simulate, Entry) or simulate.is_compiled


def prepare(say: Callable[[str], None] = print) -> float:
    """Load the simulator, or compile it if necessary; return the time in s.

    ``say`` gets a line before a compilation, with the expected time, and one afterwards, with the actual time.
    """
    if not is_compiled():
        say(f"The simulator is compiled now, once for these sources and this machine: about {COMPILING_S} s ...")
    started_s, before = time.perf_counter(), _compilations()
    dumbbell.run(make_scenario(_SMALLEST))
    took_s = time.perf_counter() - started_s
    say(f"Simulator {'compiled' if _compilations() > before else 'loaded'} in {took_s:.1f} s.")
    return took_s


def _compilations() -> int:
    """Number of compilations of the simulator's loop in this process."""
    return simulate.compilations if isinstance(simulate, Entry) else 0


def run(scenario: Scenario, seed: int = 1, log_events: bool | None = None) -> DumbbellResult:
    """Simulate one scenario with one seed, see `tcpfair.engine.dumbbell.run`; prints a line on stderr before a compilation."""
    if not is_compiled():
        prepare(lambda line: print(line, file=sys.stderr, flush=True))
    return dumbbell.run(scenario, seed, log_events)
