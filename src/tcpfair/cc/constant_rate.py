"""Constant-Rate: Reno whose rate grows by a packets/s per second, independent of the RTT.

Source: Floyd, Computer Communication Review 21(5), 1991, as kozu2014 (section 2.3, appendix A) cites it: a r^2 packets
per round trip, r the average RTT, and a = 4. kozu2014 does not state the unit of r. With seconds, the unit for which
the rate is constant, it is ``windowOption_ 2`` of ns-2, whose ``windowConstant_`` is also 4. Halving is Reno's. In
neither Linux nor ns-3; it is ``libra`` with a reference RTT of 0.5 s.
"""

from __future__ import annotations

from tcpfair.cc.api import Param, additive_increase, decrease_to, slow_start
from tcpfair.jit import jit

PARAMS = (
    Param("a", 4.0, "packets per RTT", "kozu2014 appendix A: Floyd 1991; at an RTT of one rtt_unit_s"),
    Param(
        "rtt_unit_s", 1.0, "s", "not stated in kozu2014: the unit of r; Floyd 1991 and ns-2 have seconds", least=1e-6
    ),
)
STATE = ()


@jit
def on_ack(f, p):
    if not slow_start(f):
        r = f.srtt / p.rtt_unit_s
        additive_increase(f, p.a * r * r)


@jit
def on_loss(f, p):
    decrease_to(f, 0.5)
