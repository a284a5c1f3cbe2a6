"""TCP-Libra in the simplified form of ogura: k RTT^2 packets per RTT, halving.

Source: ogura section 2.3, eqs. 3-4, k by eq. 9 (fixed reference RTT) or eq. 15 (the reference RTT follows the queueing
delay). ns-2's ``windowOption_ 2`` is the same with fixed k: ``stack: ns2`` has its steps (tcp.cc, opencwnd and slowdown),
at most one packet per ACK, the excess discarded, RTTs in whole ticks. Marfia's full Libra has a scaled, delay-damped k
and is in neither Linux nor ns-3.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import MIN_WINDOW_PKTS, NS2, Param, additive_increase, decrease_to, slow_start
from tcpfair.jit import jit

PARAMS = (
    Param("rtt_ref_s", 0.040, "s", "ogura section 5: RTT of the Reno flow that k and k' follow", least=1e-6),
    Param("follow_queue", 0.0, "0 or 1", "ogura eqs. 9-10 (0) or 15-16 (1)"),
)
STATE = ()
OWN_AGENT = True

NS2_TICKS_HZ = 1e4  # tcpTick_, see sources/ns2.py


@jit
def reference_rtt(f, p):
    """RTT of the reference Reno flow: RTT_Reno_min, plus alpha = RTT - RTT_min when it follows the queue."""
    return p.rtt_ref_s + p.follow_queue * (f.srtt - f.rtt_min)


@jit
def ticks(srtt_s):
    """A smoothed RTT in whole ticks of ns-2's clock, s."""
    return math.floor(srtt_s * NS2_TICKS_HZ) / NS2_TICKS_HZ


@jit
def grow_as_ns2(f, step):
    """Grow by a packet when the steps of the ACKs exceed the window."""
    if f.cwnd < f.ssthresh:
        f.cwnd += 1.0
        return
    f.cwnd_cnt += step
    if f.cwnd_cnt > f.cwnd:
        f.cwnd_cnt = 0.0
        f.cwnd += 1.0


@jit
def halve(f):
    if f.whole == NS2:
        f.ssthresh = max(math.floor(f.cwnd / 2.0), MIN_WINDOW_PKTS)
        f.min_cwnd = max(f.cwnd / 2.0, 1.0)
    else:
        decrease_to(f, 0.5)


@jit
def on_ack(f, p):
    ref = reference_rtt(f, p)
    if f.whole == NS2:
        grow_as_ns2(f, (ticks(f.srtt) / ref) ** 2)
    elif not slow_start(f):
        # eq. 3 with k of eq. 9 / eq. 15
        additive_increase(f, f.srtt * f.srtt / (ref * ref))


@jit
def on_loss(f, p):
    # eq. 4
    halve(f)
