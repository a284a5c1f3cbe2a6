"""A run of the native engine, stopped after every event, as JSON that `replay.cjs` plays to the packet view's recorder."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd

from tcpfair.engine.dumbbell import Simulation
from tcpfair.papers.scenario import make_scenario
from tests.web import node

BLOCKS = {"ring": ("rx_head", "tail"), "acks": ("acks_head", "acks_tail"), "access": ("access_head", "access_tail")}
BLOCKS["lost"] = ("resend", "lost_tail")
ROOT = 1  # of the winner tree


def recorded(scenarios: dict[str, tuple[dict, float]]) -> dict[str, SimpleNamespace]:
    """The recording of each scenario up to a time, with tables of packets, ACKs and events, and ``last``, the last frame."""
    taken = {name: _frames(*given) for name, given in scenarios.items()}
    asked = [{"flows": len(values["flows"]), "until_s": until_s} for values, until_s in scenarios.values()]
    asked = [each | {"frames": frames} for each, frames in zip(asked, taken.values(), strict=True)]
    [found] = node.run(node.HERE / "replay.cjs", stdin=asked)
    tables = [{what: pd.DataFrame(each[what]) for what in ("packets", "acks", "events")} for each in found]
    return {
        name: SimpleNamespace(last=taken[name][-1], **each | of)
        for name, each, of in zip(taken, found, tables, strict=True)
    }


def _frames(values: dict, until_s: float) -> list[dict]:
    """What the engine's records say before the first event and after each one."""
    simulation = Simulation(make_scenario(values), seed=1)
    simulation.advance(0.0)
    taken = [_frame(simulation)]
    while taken[-1]["next_s"] < until_s:
        simulation.advance(math.nextafter(taken[-1]["next_s"], math.inf))
        taken.append(_frame(simulation))
    return taken


def _frame(simulation: Simulation) -> dict:
    flows = len(simulation.scenario.flows)
    return {
        "next_s": float(simulation._keys[ROOT]),
        "turn": int(simulation._winners[ROOT]),
        "ends": [_plain(row) for row in simulation._ends[:flows]],
        "states": [_plain(row) for row in simulation._states[:flows]],
        "links": [_plain(row) for row in simulation.links],
        "slots": [_slots(simulation, row) for row in simulation._ends[:flows]],
    }


def _slots(simulation: Simulation, end: np.void) -> dict[str, dict[int, dict]]:
    """The elements of one flow's blocks that are in use, by their numbers."""
    return {
        block: {
            number: _plain(simulation._blocks[block][end[f"{block}_first"] + (number & int(end[f"{block}_mask"]))])
            for number in range(int(end[head]), int(end[tail]))
        }
        for block, (head, tail) in BLOCKS.items()
    }


def _plain(record: np.void) -> dict:
    return dict(zip(record.dtype.names, record.item(), strict=True))  # field by field takes three times as long
