"""TCP Westwood in the form that ogura uses: Reno's increase, and a decrease that just empties the queue.

Source: ogura section 2.2, eq. 2 (TCPW-RE, Casetti et al. 2001, reduced to RTTs). Linux and ns-3 estimate the bandwidth
from ACK arrivals and set ssthresh to bandwidth times RTT_min (``westwood``); with a full link and a queue of at most
the BDP both come to the same window.
"""

from __future__ import annotations

from tcpfair.cc.api import MIN_WINDOW_PKTS, additive_increase, slow_start
from tcpfair.jit import jit

PARAMS = ()
STATE = ()


@jit
def on_ack(f, p):
    if not slow_start(f):
        additive_increase(f, 1.0)


@jit
def on_loss(f, p):
    # ogura eq. 2: cwnd = max(RTT_min / RTT * cwnd, cwnd / 2); the queue is unknown before the first RTT sample: halve
    kept = f.rtt_min / f.rtt if f.rtt > 0.0 else 0.5
    f.ssthresh = max(kept * f.cwnd, f.cwnd / 2.0, MIN_WINDOW_PKTS)
