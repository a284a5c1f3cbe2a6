"""The contract of a congestion-control algorithm.

An algorithm is one module in this package with

* a docstring that cites its source with section, and states how it differs from Linux and ns-3;
* ``PARAMS``: a tuple of :class:`Param`; read in the rules as ``p.name``;
* ``STATE``: the names of its state variables (floats, zero at the start); read and written as ``f.name``;
* ``on_ack(f, p)``: called for every ACK outside recovery, also in slow start;
* ``on_loss(f, p)``: called once per congestion event; sets ``f.ssthresh``, to which the engine brings the window;
* optional ``on_timeout(f, p)`` (default: as ``on_loss``; the engine then sets the window to one packet) and
  ``on_round(f, p)``, once per round trip;
* optional ``on_every_ack(f, p)``: called for every ACK, also in recovery, after ``f.rtt`` and ``f.acked`` are updated
  and before losses are examined (Linux pkts_acked): for estimates of rate and delay. Only TCP-LP lowers cwnd here;
* optional ``RECOVERY`` ("sack", "newreno", "reno": its loss recovery), ``RELIABLE`` (False: lost packets are not
  retransmitted), ``HALVING_FLOOR`` (the part of ssthresh at which Linux's rate halving stops: 0.5, its
  tcp_reno_min_cwnd, or 1.0), ``WHOLE`` (True: a module of Linux 2.6.22, with whole windows where ``f.whole`` is set;
  other algorithms have real-valued windows on any stack), ``OWN_CLAMP`` (True: the module sets the maximum window
  itself; in ns-2 only that limits the flight, so the receive window has no effect) and ``OWN_AGENT`` (True: in ns-2 a
  separate agent, TCP/Sack1, instead of a module of Linux; ``f.whole`` is then NS2 on that stack).

In ns-2's stack a recovery begins with HALVING_FLOOR * ssthresh, or with ``f.min_cwnd`` if ``on_loss`` sets that, and at its
end the window is ssthresh again.

``on_ack`` and ``on_loss`` default to Reno's. Rules are compiled by numba; ``f`` and ``p`` are records.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tcpfair.jit import jit

MIN_WINDOW_PKTS = 2.0

# The window arithmetic of a flow, by the name of its stack: ``f.whole``.
TEXT, LINUX, NS2, LINUX_6 = 0.0, 1.0, 2.0, 3.0
LINUX_HZ = 250.0  # ticks of its clock per second in Debian's kernels, for ``stack: linux_6``
STACK = {"text": TEXT, "linux": LINUX, "linux_2_6_22": LINUX, "ns2": NS2, "linux_6": LINUX_6}
# the ccid2.c of 2.6.22 counts packets as that of Linux 6
STACK_OF_ALGORITHM = {"ccid2": STACK | {"linux_2_6_22": LINUX_6}}


class Param(NamedTuple):
    """A parameter of an algorithm: default, unit, source, and optional bounds."""

    name: str
    default: float
    unit: str
    source: str
    least: float = -math.inf
    most: float = math.inf


# The engine's state of a flow that an algorithm may read (or, where marked, write).
COMMON_STATE = (
    "cwnd",  # congestion window, packets (written)
    "ssthresh",  # slow-start threshold, packets (written)
    "W_max",  # the algorithm's record of the window before the last reduction, packets (written, logged)
    "K",  # CUBIC's time to return to W_max, s (written, logged)
    "now",  # time of this ACK, s
    "rtt",  # latest RTT sample, s
    "srtt",  # smoothed RTT, s (RFC 6298)
    "rttvar",  # RTT variation, s (RFC 6298)
    "rtt_min",  # least RTT sample so far, s
    "round_rtt_min",  # least RTT sample of the round that ends, s (in on_round)
    "acked",  # packets newly acknowledged by this ACK
    "advanced",  # packets that this ACK acknowledges in order, 0: a duplicate (with on_every_ack)
    "repaired",  # 1: this ACK is for a retransmitted packet, so it gives no RTT sample (in on_every_ack)
    "answered",  # time at which the receiver sent this ACK without queueing, half the path's RTT ago, s (in on_every_ack)
    "growth",  # weight of this ACK in the growth of the window: 1, or `acked` with byte counting
    "whole",  # TEXT: windows are real numbers; LINUX, LINUX_6, NS2: whole packets
    "min_cwnd",  # the window at the start of a recovery in ns-2's stack, packets (written; 0: by HALVING_FLOOR)
    "in_loss",  # 1 in ns-2's stack while the losses of a timeout are recovered (TCP_CA_Loss), else 0
    "cwnd_cnt",  # ACKs counted towards the next whole packet: Linux's snd_cwnd_cnt (written; zero after a reduction)
)


def flow_dtype(own_names: list[str]) -> np.dtype:
    """Record of a flow's state: the common part and the state variables of all algorithms."""
    names = [*COMMON_STATE, *(n for n in sorted(own_names) if n not in COMMON_STATE)]
    return np.dtype([(name, np.float64) for name in names], align=True)


def params_dtype(names: list[str]) -> np.dtype:
    """Record of a flow's parameters: the parameters of all algorithms by name."""
    return np.dtype([(name, np.float64) for name in sorted(names)], align=True)


@jit
def tick(at_s):
    """The last tick of Linux's clock at a time."""
    return math.floor(at_s * LINUX_HZ)


@jit
def ticks(duration_s):
    """The ticks that Linux counts for an RTT or sets a timer to: rounded up."""
    return math.ceil(duration_s * LINUX_HZ)


@jit
def in_slow_start(f):
    """Below ssthresh; in Linux 2.6.22 also at it."""
    return f.cwnd < f.ssthresh or (f.cwnd == f.ssthresh and f.whole != TEXT and f.whole != LINUX_6)


@jit
def slow_start(f):
    """Slow start (RFC 5681, section 3.1): one packet per ACK below ssthresh. True when it applied."""
    if not in_slow_start(f):
        return False
    if f.whole == TEXT:
        f.cwnd += f.growth
        return True
    if f.whole == LINUX_6:
        # tcp_slow_start: up to the threshold; the rest of the ACK, which Linux counts in congestion avoidance, does not count
        f.cwnd = min(f.cwnd + f.growth, f.ssthresh)
        return True
    # Linux 2.6.22, tcp_slow_start
    f.cwnd_cnt += f.growth * f.cwnd
    while f.cwnd_cnt >= f.cwnd:
        f.cwnd_cnt -= f.cwnd
        f.cwnd += 1.0
    return True


@jit
def count_acks(f, cnt, acks):
    """Grow by a whole packet after more than ``cnt`` ACKs (Linux 2.6.22, tcp_reno_cong_avoid). Return True then.

    Linux 6 (tcp_cong_avoid_ai): after ``cnt`` ACKs, and what exceeds them counts towards the next packet.
    """
    if f.whole == LINUX_6:
        return count_acks_as_linux_6(f, cnt, acks)
    if f.cwnd_cnt + acks > cnt:
        f.cwnd += 1.0
        f.cwnd_cnt = 0.0
        return True
    f.cwnd_cnt += acks
    return False


@jit
def count_acks_as_linux_6(f, cnt, acks):
    before = f.cwnd
    if f.cwnd_cnt >= cnt:  # cnt has fallen
        f.cwnd_cnt = 0.0
        f.cwnd += 1.0
    f.cwnd_cnt += acks
    pkts = math.floor(f.cwnd_cnt / cnt)
    f.cwnd_cnt -= pkts * cnt
    f.cwnd += pkts
    return f.cwnd > before


@jit
def additive_increase(f, pkts_per_rtt):
    """Congestion avoidance: ``pkts_per_rtt`` more per window of ACKs (RFC 5681, equation 3, with 1)."""
    if f.whole != TEXT:
        count_acks(f, math.floor(f.cwnd / pkts_per_rtt), f.growth)
    else:
        f.cwnd += pkts_per_rtt * f.growth / f.cwnd


@jit
def grow_as_reno(f):
    """The window of Linux's tcp_reno_cong_avoid."""
    if not slow_start(f):
        additive_increase(f, 1.0)


@jit
def rounded_down(f, x, parts=1.0):
    """x; with whole windows rounded down to a multiple of 1/``parts``, as in integer arithmetic."""
    return math.floor(x * parts) / parts if f.whole != TEXT else x


@jit
def decrease_to(f, factor):
    """Multiplicative decrease: ssthresh = factor * cwnd, at least two packets."""
    f.ssthresh = max(rounded_down(f, factor * f.cwnd), MIN_WINDOW_PKTS)


@jit
def decrease_by(f, part):
    """Multiplicative decrease by ``part`` of cwnd, in whole packets."""
    kept = f.cwnd - math.floor(part * f.cwnd) if f.whole != TEXT else (1.0 - part) * f.cwnd
    f.ssthresh = max(kept, MIN_WINDOW_PKTS)
