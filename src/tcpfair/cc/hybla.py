"""TCP Hybla: a flow with a long RTT grows as fast as Reno at the reference RTT of 25 ms.

Sources: Caini and Firrincieli, International Journal of Satellite Communications and Networking 22(5), 2004: with rho
= RTT / RTT0, at least 1, slow start adds 2^rho - 1 packets per ACK, congestion avoidance rho^2 per window of ACKs. The
steps are those of Linux 2.6.22 (net/ipv4/tcp_hybla.c): rho is that of the least smoothed RTT, slow start ends at the
threshold exactly, the window at 65535 packets, and after a timeout slow start is Reno's (here until the threshold is
reached, in Linux until all losses are recovered).

``fixed_point = 1`` keeps the kernel's arithmetic, which matters: rho is an integer number of eighths, and the growth
per ACK is rounded down to 1/128 packet. A window above 128 rho^2 packets does not grow at all (512 packets at 50 ms),
and below it grows in steps. 0 is the paper's rule; slow start uses 2^rho by eighths in either case. Neither that kernel
nor this module has the paper's scaled threshold, its estimate of the bandwidth for it, or its pacing. Without them the
first slow start of a long path sends enormous bursts (255 packets per ACK at 200 ms). The kernel starts with a window
of rho packets, this module with the scenario's. With whole windows (``f.whole``) fractions of a packet are stored
separately, and losses do not reset them. ns-3's TcpHybla has RTT0 = 50 ms and no fixed point.

``stack: ns2``: the module sets its clamp itself, over the receive window's, and ns-2 has no other limit, so this first
slow start continues to thousands of packets. The window is rho packets after the first ACK. After a timeout all growth
is Reno's until all losses are recovered.
"""

from __future__ import annotations

import math

import numpy as np

from tcpfair.cc import reno
from tcpfair.cc.api import NS2, TEXT, Param, grow_as_reno
from tcpfair.jit import jit

PARAMS = (
    Param("rtt0_s", 0.025, "s", "Caini 2004: RTT0; Linux 2.6.22: rtt0"),
    Param("fixed_point", 1.0, "0 or 1", "Linux 2.6.22: rho_3ls, rho2_7ls"),
    Param("clamp", 65535.0, "packets", "Linux 2.6.22: snd_cwnd_clamp"),
)
STATE = (
    "rho",
    "srtt_min",  # s
    "reno_start",  # 1: slow start after a timeout
    "fraction",  # of a packet, in addition to a whole window: snd_cwnd_cents
)
WHOLE = True
OWN_CLAMP = True

# 2^(i/8) in 1/128
EIGHTHS = np.array([128.0, 139.0, 152.0, 165.0, 181.0, 197.0, 215.0, 234.0]) / 128.0


@jit
def power_of_two(rho):
    """2^rho by eighths of rho, at most 2^17 or so."""
    whole = min(math.floor(rho), 16.0)
    return float(1 << int(whole)) * EIGHTHS[int(8.0 * (rho - math.floor(rho)))]


@jit
def grow(f, pkts):
    """Grow by ``pkts``; a whole window grows when they add up to packets."""
    f.cwnd += pkts
    if f.whole != TEXT:
        f.fraction += f.cwnd - math.floor(f.cwnd)
        f.cwnd = math.floor(f.cwnd) + math.floor(f.fraction)
        f.fraction -= math.floor(f.fraction)


@jit
def on_ack(f, p):
    first = f.rho == 0.0
    if first or f.srtt < f.srtt_min:
        f.srtt_min = f.srtt
        f.rho = max(f.srtt / p.rtt0_s, 1.0)
        if p.fixed_point != 0.0:
            f.rho = math.floor(8.0 * f.rho) / 8.0
    if first and f.whole == NS2:
        f.cwnd = math.floor(f.rho)  # hybla_init, which ns-2 calls with the first ACK
    if f.in_loss != 0.0:
        grow_as_reno(f)  # hybla_state
        return
    if f.cwnd < f.ssthresh:
        step = 1.0 if f.reno_start != 0.0 else power_of_two(f.rho) - 1.0
        grow(f, step * f.growth)
        f.cwnd = min(f.cwnd, f.ssthresh)
    else:
        f.reno_start = 0.0
        step = f.rho * f.rho / f.cwnd
        if p.fixed_point != 0.0:
            step = math.floor(128.0 * f.rho * f.rho / math.floor(f.cwnd)) / 128.0
        grow(f, step * f.growth)
    f.cwnd = min(f.cwnd, p.clamp)


@jit
def on_timeout(f, p):
    reno.on_loss(f, p)
    f.reno_start = 0.0 if f.whole == NS2 else 1.0
