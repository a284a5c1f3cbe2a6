"""Random numbers: published sequences, moments, and the laws of the geometric variate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpfair.cc.exactmath import log
from tcpfair.engine.rng import packets_to_loss, seed_state, uniform
from tcpfair.engine.state import LINK

MASK = (1 << 64) - 1

no_deadline = settings(deadline=None)  # the first call compiles


def splitmix64(seed: int) -> int:
    """First output of the generator (Steele, Lea and Flood 2014, figure 17) in plain integers."""
    z = (seed + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def xorshift64star(x: int) -> tuple[int, int]:
    """Next state and output (Vigna 2016, figure 3: shifts 12, 25, 27) in plain integers."""
    x ^= x >> 12
    x = (x ^ (x << 25)) & MASK
    x ^= x >> 27
    return x, (x * 0x2545F4914F6CDD1D) & MASK


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


@no_deadline
@given(st.integers(0, MASK))
def test_sequence_of_any_seed(seed):
    state = splitmix64(seed) or 0x9E3779B97F4A7C15
    generator = link(int(seed_state(np.uint64(seed))))
    assert generator["random"] == state
    for _ in range(5):
        state, output = xorshift64star(state)
        assert uniform(generator) == (output >> 11) / 2**53


def test_no_seed_gives_the_stuck_state():
    seed = -0x9E3779B97F4A7C15 & MASK
    assert splitmix64(seed) == 0
    assert seed_state(np.uint64(seed)) != 0


# ---------------------------------------------------------------- distributions


def test_uniform_has_the_moments_of_a_uniform():
    n = 100_000
    generator = link(splitmix64(7))
    u = np.array([uniform(generator) for _ in range(n)])
    assert u.min() >= 0 and u.max() < 1
    # standard errors: sqrt(1/12/n) of the mean, sqrt(1/180/n) of the variance, sqrt(1/n) of the correlation
    assert u.mean() == pytest.approx(1 / 2, abs=4 * math.sqrt(1 / 12 / n))
    assert u.var() == pytest.approx(1 / 12, abs=4 * math.sqrt(1 / 180 / n))
    assert np.corrcoef(u[:-1], u[1:])[0, 1] == pytest.approx(0, abs=4 / math.sqrt(n))


@pytest.mark.parametrize("loss_rate", [0.5, 0.1, 0.001])
def test_packets_between_losses_are_geometric(loss_rate):
    n = 50_000
    generator = link(splitmix64(7), loss_rate)
    passed = np.array([packets_to_loss(generator) for _ in range(n)])
    mean, variance = (1 - loss_rate) / loss_rate, (1 - loss_rate) / loss_rate**2
    assert passed.mean() == pytest.approx(mean, abs=4 * math.sqrt(variance / n))
    assert np.mean(passed == 0) == pytest.approx(loss_rate, abs=4 * math.sqrt(loss_rate / n))


# ---------------------------------------------------------------- logarithm


@no_deadline
@given(st.floats(1e-300, 1e300))
def test_log(x):
    # absolute near 1, where the logarithm vanishes
    assert log(x) == pytest.approx(math.log(x), rel=1e-15, abs=1e-15)


@no_deadline
@given(st.floats(1e-12, 0.999))
def test_log_of_the_share_that_passes(loss_rate):
    # what the geometric variate divides by
    assert log(1 - loss_rate) == pytest.approx(math.log(1 - loss_rate), rel=1e-15, abs=1e-15)


def test_log_of_powers_of_two():
    assert [log(2.0**n) for n in (-2, 0, 3)] == pytest.approx([-2 * math.log(2), 0, 3 * math.log(2)], rel=1e-15)
