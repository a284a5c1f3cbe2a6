"""TCP-Alpha: k' RTT packets per RTT, halving.

Source: ogura section 2.4, eq. 5, k' by eq. 10 (fixed reference RTT) or eq. 16 (following the queueing delay); the idea is
Floyd and Jacobson's constant-rate increase with a linear RTT. ns-2's ``windowOption_ 5`` is the same with fixed k', see libra.py.
"""

from __future__ import annotations

from tcpfair.cc.api import NS2, additive_increase, slow_start
from tcpfair.cc.libra import OWN_AGENT, PARAMS, STATE, grow_as_ns2, halve, reference_rtt, ticks
from tcpfair.jit import jit

__all__ = ["OWN_AGENT", "PARAMS", "STATE", "on_ack", "on_loss"]


@jit
def on_ack(f, p):
    if f.whole == NS2:
        grow_as_ns2(f, ticks(f.srtt) / reference_rtt(f, p))
    elif not slow_start(f):
        # eq. 5 with k' of eq. 10 / eq. 16
        additive_increase(f, f.srtt / reference_rtt(f, p))


@jit
def on_loss(f, p):
    # as eq. 4
    halve(f)
