"""Small scenarios for the engine's tests."""

from __future__ import annotations

import numpy as np

from tcpfair.engine.result import Result
from tcpfair.papers.scenario import Scenario, make_scenario

SLOW_BPS = 12e6  # 1000 packets of 1500 bytes per second: a packet a millisecond
PACKET_BYTES = 1500


def dumbbell(*flows: dict, **settings) -> Scenario:
    """A dumbbell of 1000 packets/s with a buffer of 30 packets, unless told otherwise; flows default to Reno."""
    values = {
        "capacity_bps": SLOW_BPS,
        "wire_bytes": PACKET_BYTES,
        "payload_bytes": PACKET_BYTES,
        "buffer_pkts": 30.37,
        "duration_s": 40,
        "sample_s": 1,
        "flows": [{"protocol": flow.get("cc", "reno"), "cc": "reno", **flow} for flow in flows],
    }
    return make_scenario(values | settings)


def events(result: Result, kind: int, flow: int = 0) -> np.ndarray:
    """The events of one kind and flow."""
    return result.events[(result.events["kind"] == kind) & (result.events["flow"] == flow)]
