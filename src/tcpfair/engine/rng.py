"""Random numbers with the same bits everywhere: xorshift64* seeded by splitmix64, and a geometric variate without libm."""

from __future__ import annotations

import numpy as np

from tcpfair.cc.exactmath import log
from tcpfair.jit import jit

_MULTIPLIER = np.uint64(2685821657736338717)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_2_NEG_53 = 2.0**-53
_S12, _S25, _S27, _S11, _S30, _S31 = (np.uint64(n) for n in (12, 25, 27, 11, 30, 31))


@jit
def seed_state(seed):
    """State for a 64-bit seed (Steele et al. 2014, splitmix64); never 0."""
    z = np.uint64(seed) + _GOLDEN
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    z = z ^ (z >> _S31)
    return z if z != np.uint64(0) else _GOLDEN


@jit
def uniform(link):
    """Uniform in [0, 1) with 53 bits (Vigna 2016, xorshift64*)."""
    x = link.random
    x ^= x >> _S12
    x ^= x << _S25
    x ^= x >> _S27
    link.random = x
    return np.float64((x * _MULTIPLIER) >> _S11) * _2_NEG_53


@jit
def packets_to_loss(link):
    """Number of packets before the next Bernoulli loss: a geometric variate by inversion."""
    u = 1.0 - uniform(link)
    return np.int64(log(u) / log(1.0 - link.loss_rate))
