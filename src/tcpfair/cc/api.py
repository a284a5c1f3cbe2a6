"""The contract of a congestion-control algorithm.

An algorithm is one module in this package with

* a docstring that cites its source with section, and says how it differs from Linux and ns-3;
* ``PARAMS``: a tuple of :class:`Param`; read in the rules as ``p.name``;
* ``STATE``: the names of its own state variables (floats, zero at the start); read and written as ``f.name``;
* ``on_ack(f, p)``: called for every ACK outside recovery, in slow start too;
* ``on_loss(f, p)``: called once per congestion event; sets ``f.ssthresh``, to which the engine brings the window;
* optional ``on_timeout(f, p)`` (default: as ``on_loss``; the engine then sets the window to one packet) and
  ``on_round(f, p)``, once per round trip;
* optional ``on_every_ack(f, p)``: called for every ACK, in recovery too, when ``f.rtt`` and ``f.acked`` are known and before
  losses are looked at (Linux pkts_acked): for estimates of rate and delay; it leaves cwnd alone;
* optional ``RECOVERY`` ("sack", "newreno", "reno": the loss recovery it is meant for) and ``RELIABLE`` (False: lost
  packets are not sent again), ``HALVING_FLOOR`` (the part of ssthresh at which Linux's rate halving stops: 0.5, its
  tcp_reno_min_cwnd, or 1.0).

``on_ack`` and ``on_loss`` default to Reno's. Rules are compiled by numba; ``f`` and ``p`` are records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tcpfair.jit import jit

MIN_WINDOW_PKTS = 2.0


class Param(NamedTuple):
    """A parameter of an algorithm: default, unit and the text it was taken from."""

    name: str
    default: float
    unit: str
    source: str


# What the engine keeps for every flow and an algorithm may read (or, where marked, write).
COMMON_STATE = (
    "cwnd",  # congestion window, packets (written)
    "ssthresh",  # slow-start threshold, packets (written)
    "W_max",  # window before the last reduction as the algorithm remembers it, packets (written, logged)
    "K",  # CUBIC's time to return to W_max, s (written, logged)
    "now",  # time of this ACK, s
    "rtt",  # latest RTT sample, s
    "srtt",  # smoothed RTT, s (RFC 6298)
    "rttvar",  # RTT variation, s (RFC 6298)
    "rtt_min",  # least RTT sample so far, s
    "round_rtt_min",  # least RTT sample of the round that ends, s (in on_round)
    "acked",  # packets newly acknowledged by this ACK
    "growth",  # what this ACK counts for in the growth of the window: 1, or `acked` with byte counting
)


def flow_dtype(own_names: list[str]) -> np.dtype:
    """Record of a flow's state: the common part and the state variables of all algorithms."""
    names = [*COMMON_STATE, *(n for n in sorted(own_names) if n not in COMMON_STATE)]
    return np.dtype([(name, np.float64) for name in names], align=True)


def params_dtype(names: list[str]) -> np.dtype:
    """Record of a flow's parameters: the parameters of all algorithms by name."""
    return np.dtype([(name, np.float64) for name in sorted(names)], align=True)


@jit
def slow_start(f):
    """Slow start (RFC 5681, section 3.1): one packet per ACK below ssthresh. True when it applied."""
    if f.cwnd < f.ssthresh:
        f.cwnd += f.growth
        return True
    return False


@jit
def additive_increase(f, pkts_per_rtt):
    """Congestion avoidance: ``pkts_per_rtt`` more per window of ACKs (RFC 5681, equation 3, with 1)."""
    f.cwnd += pkts_per_rtt * f.growth / f.cwnd


@jit
def decrease_to(f, factor):
    """Multiplicative decrease: ssthresh = factor * cwnd, at least two packets."""
    f.ssthresh = max(factor * f.cwnd, MIN_WINDOW_PKTS)
