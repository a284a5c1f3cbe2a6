"""Laws that hold whatever the scenario: conservation, capacity, order; and determinism."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpfair.cc.registry import algorithms
from tcpfair.engine.dumbbell import run
from tcpfair.units import service_time_s
from tests.engine.scenarios import PACKET_BYTES, SLOW_BPS, dumbbell

SERVICE_S = service_time_s(PACKET_BYTES, SLOW_BPS)

any_flow = st.fixed_dictionaries(
    {
        "cc": st.sampled_from(sorted(algorithms())),
        "rtt_s": st.floats(0.004, 0.3),
        "start_s": st.floats(0, 4),
        "ack_every": st.sampled_from([1, 2]),
        "access_bps": st.sampled_from([0, 12e6, 100e6]),
        "access_jitter_s": st.sampled_from([0, 0.002]),
    }
)


@settings(max_examples=40, derandomize=True)
@given(
    flows=st.lists(any_flow, min_size=1, max_size=6),
    buffer_pkts=st.floats(1, 100),
    loss_rate=st.sampled_from([0, 1e-3, 0.05, 0.5]),
    jitter_s=st.floats(0, 0.01),
    seed=st.integers(0, 2**40),
)
def test_packets_are_conserved_and_capacity_holds(flows, buffer_pkts, loss_rate, jitter_s, seed):
    scenario = dumbbell(
        *flows, buffer_pkts=buffer_pkts, loss_rate=loss_rate, jitter_s=jitter_s, duration_s=10, sample_s=0.5
    )
    result = run(scenario, seed)
    ends = result.ends
    in_flight = (ends["tail"] - ends["rx_head"]) + (ends["access_tail"] - ends["access_head"])
    assert np.array_equal(ends["sent"], ends["received"] + ends["dropped"] + in_flight)
    per_sample = np.diff(result.forwarded_pkts, prepend=0)
    # what is accepted in an interval is at most what is served plus what the buffer takes
    assert np.all(per_sample <= 0.5 / SERVICE_S + buffer_pkts + 2)
    assert result.received_pkts[-1].sum() <= 10 / SERVICE_S
    assert np.all(np.diff(result.delivered_pkts, axis=0) >= 0)
    assert np.all(result.delivered_pkts <= result.received_pkts)
    assert np.all(result.queue_pkts <= buffer_pkts + 1 + 1e-6)
    assert np.all(np.isfinite(result.cwnd_pkts)) and np.all(result.cwnd_pkts >= 1 - 1e-9)


def test_jains_index_of_identical_flows_is_near_one_in_the_long_run():
    scenario = dumbbell(*[{"rtt_s": 0.05}] * 4, duration_s=300, jitter_s=0.003)
    share = run(scenario, 3).delivered_pkts[-1].astype(float)
    assert 0.25 <= share.sum() ** 2 / (4 * np.sum(share**2)) <= 1
    assert share.sum() ** 2 / (4 * np.sum(share**2)) > 0.97


def test_adding_a_silent_flow_changes_nothing():
    """A flow that starts after the end only takes part in the winner tree."""
    alone = run(dumbbell({"rtt_s": 0.05}, jitter_s=0.002), 9)
    beside = run(dumbbell({"rtt_s": 0.05}, {"rtt_s": 0.1, "start_s": 1000}, jitter_s=0.002), 9)
    assert np.array_equal(alone.cwnd_pkts[:, 0], beside.cwnd_pkts[:, 0])


FINGERPRINT = """
import hashlib, json, sys
from tests.engine.scenarios import dumbbell
from tcpfair.engine.dumbbell import run
flows = [{"cc": name, "rtt_s": 0.02 + 0.01 * k, "start_s": 0.3 * k} for k, name in enumerate(json.loads(sys.argv[1]))]
sha = hashlib.sha256()
for seed in json.loads(sys.argv[2]):
    result = run(dumbbell(*flows, loss_rate=1e-3, jitter_s=0.003, duration_s=20, sample_s=0.1), seed)
    for part in (result.delivered_pkts, result.cwnd_pkts, result.srtt_s, result.queue_pkts):
        sha.update(part.tobytes())
print(sha.hexdigest())
"""


def fingerprint(cpu: str | None = None, hash_seed: str = "0") -> str:
    """Hash of every sample of a run with all algorithms, from a process of its own."""
    env = os.environ | {"PYTHONHASHSEED": hash_seed}
    env.pop("NUMBA_CPU_NAME", None)
    if cpu:
        env["NUMBA_CPU_NAME"] = cpu
    arguments = [json.dumps(sorted(algorithms())), "[1, 2]"]
    done = subprocess.run([sys.executable, "-c", FINGERPRINT, *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_two_processes_give_the_same_bytes():
    assert fingerprint(hash_seed="1") == fingerprint(hash_seed="2")


@pytest.mark.slow
@pytest.mark.parametrize("cpu", ["generic", "x86-64-v3"])
def test_another_cpu_baseline_gives_the_same_bytes(cpu):
    assert fingerprint(cpu) == fingerprint()
