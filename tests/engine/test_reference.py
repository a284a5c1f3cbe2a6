"""The engine against the independent slow simulator: the same packets, drops, reductions and timeouts, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tcpfair.engine.dumbbell import run
from tests.engine.scenarios import PACKET_BYTES, SLOW_BPS, dumbbell
from tests.reference.dumbbell import FlowSpec, WholeScalable, simulate

MASK = (1 << 64) - 1


class EngineNumbers:
    """The engine's random numbers from their published definitions: splitmix64 seeds xorshift64*."""

    def __init__(self, seed: int) -> None:
        z = (seed + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        self.x = z ^ (z >> 31)

    def random(self) -> float:
        self.x ^= self.x >> 12
        self.x ^= (self.x << 25) & MASK
        self.x ^= self.x >> 27
        return (((self.x * 2685821657736338717) & MASK) >> 11) * 2.0**-53


def counts(flows: list[dict], **network) -> tuple[list, list]:
    """Totals per flow from the reference and from the engine."""
    seed = network.pop("seed", 5)
    common = {"buffer_pkts": 30.37, "duration_s": 40.0, "jitter_s": 0.0} | network
    specs = [FlowSpec(**(f | ({"cc": WholeScalable()} if f.get("cc") == "scalable" else {}))) for f in flows]
    slow = simulate(specs, SLOW_BPS, PACKET_BYTES, rng=EngineNumbers(seed), **common)
    fast = run(dumbbell(*flows, **common), seed)
    reference = [slow.delivered_pkts, slow.received_pkts, slow.sent, slow.retransmitted, slow.drops]
    reference += [[len(x) for x in slow.reductions], [len(x) for x in slow.timeouts]]
    engine = [fast.delivered_pkts[-1].tolist(), fast.received_pkts[-1].tolist()]
    engine += [fast.ends[name].tolist() for name in ("sent", "resent", "dropped", "reductions", "timeouts")]
    return reference, engine


@pytest.mark.parametrize(
    "recovery, reduction, ack_every, access_bps",
    list(itertools.product(("sack", "newreno", "reno"), ("immediate", "prr"), (1, 2), (0, 15e6))),
)
def test_three_flows_packet_by_packet(recovery, reduction, ack_every, access_bps):
    shared = {"recovery": recovery, "reduction": reduction, "ack_every": ack_every, "access_bps": access_bps}
    flows = [
        {"rtt_s": 0.0503, **shared, "access_queue_pkts": 60},
        {"rtt_s": 0.0817, "start_s": 0.317, **shared},
        {"rtt_s": 0.02, "start_s": 3, "stop_s": 20, "size_pkts": 3000, **shared},
    ]
    reference, engine = counts(flows, jitter_s=0.003)
    assert engine == reference


@pytest.mark.parametrize("ack_every", [1, 2])
@pytest.mark.parametrize("access_bps", [0, 15e6])
def test_ccid2_against_reno_packet_by_packet(ack_every, access_bps):
    shared = {"ack_every": ack_every, "access_bps": access_bps, "access_queue_pkts": 60}
    reference, engine = counts(
        [{"rtt_s": 0.0503, "cc": "ccid2", **shared}, {"rtt_s": 0.0503, "start_s": 2, **shared}], jitter_s=0.001
    )
    assert engine == reference


@pytest.mark.parametrize("reduction", ["immediate", "prr", "rate_halving"])
@pytest.mark.parametrize("recovery", ["sack", "newreno", "reno"])
@pytest.mark.parametrize("buffer_pkts", [4.37, 30.37])
def test_whole_windows_packet_by_packet(recovery, reduction, buffer_pkts):
    shared = {"recovery": recovery, "reduction": reduction, "stack": "linux"}
    flows = [
        {"rtt_s": 0.0503, **shared, "access_bps": 15e6, "access_queue_pkts": 60},
        {"rtt_s": 0.0817, "start_s": 0.317, "cc": "scalable", **shared},
        {"rtt_s": 0.02, "start_s": 3, "stop_s": 20, "ack_every": 2, **shared},
        {"rtt_s": 0.031, "start_s": 3.2, "stack": "text"},
    ]
    reference, engine = counts(flows, buffer_pkts=buffer_pkts, jitter_s=0.003)
    assert engine == reference


flow_values = st.fixed_dictionaries(
    {
        "rtt_s": st.floats(0.005, 0.2),
        "start_s": st.floats(0, 5),
        "iw_pkts": st.integers(1, 20),
        "rwnd_pkts": st.sampled_from([8.0, 40.0, 1e6]),
        "initial_ssthresh_pkts": st.sampled_from([4.0, 30.0, 1e6]),
        "ack_every": st.sampled_from([1, 2]),
        "byte_counting": st.booleans(),
        "recovery": st.sampled_from(["sack", "newreno", "reno"]),
        "reduction": st.sampled_from(["immediate", "prr", "rate_halving"]),
        "access_bps": st.sampled_from([0, 13e6, 100e6]),
        "access_queue_pkts": st.sampled_from([5, 1000]),
        "size_pkts": st.sampled_from([3, 400, float("inf")]),
        "stack": st.sampled_from(["text", "linux"]),
        "rto": st.sampled_from([None, "rfc6298", "linux"]),
    }
)


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],  # shrinking leads to ties between flows, which are no disagreement
    suppress_health_check=list(HealthCheck),
)
@given(
    flows=st.lists(flow_values, min_size=1, max_size=7),
    buffer_pkts=st.floats(1.1, 80),
    jitter_s=st.floats(0.0005, 0.005),
    seed=st.integers(0, 2**32),
)
def test_any_scenario_packet_by_packet(flows, buffer_pkts, jitter_s, seed):
    # starts that rounding makes one, such as 0 and 1e-38 s, are ties too
    apart = [{**flow, "start_s": round(flow["start_s"], 3) + 1.7e-5 * place} for place, flow in enumerate(flows)]
    reference, engine = counts(apart, buffer_pkts=buffer_pkts, jitter_s=jitter_s, seed=seed, duration_s=12.0)
    assert engine == reference


def test_random_loss_agrees_in_the_mean():
    """Random losses are drawn differently, so totals agree within the standard error of the means."""
    flows = [{"rtt_s": 0.05}, {"rtt_s": 0.1}]
    seeds = range(12)
    slow = [
        simulate(
            [FlowSpec(**f) for f in flows], SLOW_BPS, PACKET_BYTES, 50, 30, loss_rate=0.003, jitter_s=0.003, seed=s
        )
        for s in seeds
    ]
    fast = [run(dumbbell(*flows, buffer_pkts=50, duration_s=30, loss_rate=0.003, jitter_s=0.003), s) for s in seeds]
    reference = np.array([r.delivered_pkts for r in slow])
    engine = np.array([r.delivered_pkts[-1] for r in fast])
    error = np.hypot(reference.std(0, ddof=1), engine.std(0, ddof=1)) / np.sqrt(len(seeds))
    assert np.all(np.abs(engine.mean(0) - reference.mean(0)) < 4 * error)
