"""Random numbers: published sequences, moments, and the laws of the geometric variate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpfair.engine.rng import packets_to_loss, seed_state, uniform
from tcpfair.engine.state import LINK
from tests.engine.slow import MASK, EngineNumbers


def link(state: int, loss_rate: float = 0.0) -> np.record:
    """A bottleneck whose generator is in the given state."""
    record = np.zeros(1, LINK)[0]
    record["random"], record["loss_rate"] = state, loss_rate
    return record


# ---------------------------------------------------------------- published numbers


def test_seed_is_the_known_first_output_of_splitmix64():
    assert seed_state(np.uint64(1234567)) == 6457827717110365317
    assert seed_state(np.uint64(0)) == 0xE220A8397B1DCDAF


def test_first_values_are_the_known_ones_of_xorshift64star():
    generator = link(1234567)
    highest_32_bits = [math.floor(uniform(generator) * 2**32) for _ in range(5)]
    assert highest_32_bits == [3540625527, 2750739987, 4037983143, 1993361440, 3809424708]


@given(st.integers(0, MASK))
def test_sequence_of_any_seed(seed):
    expected = EngineNumbers(seed)
    generator = link(int(seed_state(np.uint64(seed))))
    assert generator["random"] == expected.state
    assert [uniform(generator) for _ in range(5)] == [expected.random() for _ in range(5)]


def test_no_seed_gives_the_stuck_state():
    """splitmix64 makes zero of this one."""
    assert seed_state(np.uint64(-0x9E3779B97F4A7C15 & MASK)) == 0x9E3779B97F4A7C15


# ---------------------------------------------------------------- distributions


def test_uniform_has_the_moments_of_a_uniform():
    n = 30_000
    generator = link(EngineNumbers(7).state)
    u = np.array([uniform(generator) for _ in range(n)])
    assert u.min() >= 0 and u.max() < 1
    # standard errors: sqrt(1/12/n) of the mean, sqrt(1/180/n) of the variance, sqrt(1/n) of the correlation
    assert u.mean() == pytest.approx(1 / 2, abs=4 * math.sqrt(1 / 12 / n))
    assert u.var() == pytest.approx(1 / 12, abs=4 * math.sqrt(1 / 180 / n))
    assert np.corrcoef(u[:-1], u[1:])[0, 1] == pytest.approx(0, abs=4 / math.sqrt(n))


@pytest.mark.parametrize("loss_rate", [0.5, 0.1, 0.001])
def test_packets_between_losses_are_geometric(loss_rate):
    n = 20_000
    generator = link(EngineNumbers(7).state, loss_rate)
    passed = np.array([packets_to_loss(generator) for _ in range(n)])
    mean, variance = (1 - loss_rate) / loss_rate, (1 - loss_rate) / loss_rate**2
    assert passed.mean() == pytest.approx(mean, abs=4 * math.sqrt(variance / n))
    assert np.mean(passed == 0) == pytest.approx(loss_rate, abs=4 * math.sqrt(loss_rate / n))
