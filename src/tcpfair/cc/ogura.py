"""Ogura's proposal: Libra while the queue is empty, Alpha while it fills, Westwood's decrease.

Source: ogura section 4, eqs. 18-20. The paper does not state when "the buffering starts"; here it does when the RTT
exceeds the least RTT by more than ``queue_threshold_s``. In neither Linux nor ns-3.
"""

from __future__ import annotations

from tcpfair.cc.api import Param, additive_increase, slow_start
from tcpfair.cc.libra import PARAMS as LIBRA_PARAMS
from tcpfair.cc.libra import reference_rtt
from tcpfair.cc.westwood_re import on_loss  # eq. 20 is eq. 2
from tcpfair.jit import jit

__all__ = ["PARAMS", "STATE", "on_ack", "on_loss"]

PARAMS = (
    *LIBRA_PARAMS,
    Param("queue_threshold_s", 0.001, "s", "not stated: the least queueing delay taken for buffering"),
)
STATE = ()


@jit
def on_ack(f, p):
    if slow_start(f):
        return
    ref = reference_rtt(f, p)
    if f.srtt - f.rtt_min > p.queue_threshold_s:
        # eq. 19: Alpha mode, the buffering has started
        additive_increase(f, f.srtt / ref)
    else:
        # eq. 18: Libra mode, no delay
        additive_increase(f, f.srtt * f.srtt / (ref * ref))
