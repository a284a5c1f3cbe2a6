"""TCP-Libra in the simplified form of ogura: k RTT^2 packets per RTT, halving.

Source: ogura section 2.3, eqs. 3-4, k by eq. 9 (fixed reference RTT) or eq. 15 (the reference RTT follows the queueing
delay). ns-2's ``windowOption_ 2`` is the same with fixed k; Marfia's full Libra has a scaled, delay-damped k and is in
neither Linux nor ns-3.
"""

from __future__ import annotations

from tcpfair.cc.api import Param, additive_increase, decrease_to, slow_start
from tcpfair.jit import jit

PARAMS = (
    Param("rtt_ref_s", 0.040, "s", "ogura section 5: RTT of the Reno flow that k and k' follow"),
    Param("follow_queue", 0.0, "0 or 1", "ogura eqs. 9-10 (0) or 15-16 (1)"),
)
STATE = ()


@jit
def reference_rtt(f, p):
    """RTT of the Reno flow to be matched: RTT_Reno_min, plus alpha = RTT - RTT_min when it follows the queue."""
    return p.rtt_ref_s + p.follow_queue * (f.srtt - f.rtt_min)


@jit
def on_ack(f, p):
    if not slow_start(f):
        ref = reference_rtt(f, p)
        # eq. 3 with k of eq. 9 / eq. 15
        additive_increase(f, f.srtt * f.srtt / (ref * ref))


@jit
def on_loss(f, p):
    # eq. 4
    decrease_to(f, 0.5)
