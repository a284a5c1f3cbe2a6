"""TCP Reno's window rules: AIMD(1, 1/2).

Source: RFC 5681, sections 3.1 (slow start, congestion avoidance) and 3.2 (halving); bhatti2009 section IV-A with
alpha = 1, beta = 0.5. Like Linux's ``reno`` it has SACK recovery. Linux 2.6.22 (net/ipv4/tcp_cong.c) grows by a whole
packet after cwnd + 1 ACKs and rounds the half down: ``f.whole``. ns-3 differs only in its integer window.
"""

from __future__ import annotations

from tcpfair.cc.api import Param, additive_increase, decrease_to, slow_start
from tcpfair.jit import jit

PARAMS = (
    Param("a", 1.0, "packets per RTT", "RFC 5681, eq. 3; bhatti2009 IV-A (alpha)"),
    Param("b", 0.5, "1", "RFC 5681, eq. 4; bhatti2009 IV-A (beta)"),
)
STATE = ()
WHOLE = True


@jit
def on_ack(f, p):
    if not slow_start(f):
        additive_increase(f, p.a)


@jit
def on_loss(f, p):
    decrease_to(f, p.b)
