"""CUBIC with K adjusted by the RTT: the proposal of kozu2014, its variants, and the methods it is compared with.

Source: kozu2014. By default K of eq. 2 is divided by the cube root of the RTT (eq. 6); ``root = 3 - alpha`` is the
variant of section 5.1. ``scaled_C = 1`` takes C' = C RTT for the window (eqs. 7-8; eq. 7 lacks the + W_max of eq. 1).
``by_rtt = 0`` with ``x`` is the earlier method (eq. 9); only a plot shows x(RTT) (fig. 14), so each flow has its own
value. ``constant_K = 1`` sets K = ``K_s`` (sections 3.3 and 3.4: 1 s and 5 s). Only K changes then: C is still 0.4
(section 5.2), so the curve starts at W_max - C K^3 rather than at the window after the loss (fig. 11). The window jumps
to the curve, or waits for it.

The paper does not state the unit of the RTT. Here it is milliseconds: only then does a larger alpha give a longer RTT
more, as section 5.1 states. Nor does it state which RTT of a flow it is: the least, which tcp_cubic.c has, or the
smoothed one. The rest is ``cubic``; kozu2014 ran Linux 2.6.32. In neither Linux nor ns-3.
"""

from __future__ import annotations

from tcpfair.cc.api import Param
from tcpfair.cc.cubic import (
    HALVING_FLOOR,
    STATE,
    WHOLE,
    forget,
    grow,
    on_loss,
    on_round,
    past_slow_start,
    start_epoch,
    step_to_curve,
)
from tcpfair.cc.cubic import PARAMS as CUBIC_PARAMS
from tcpfair.cc.exactmath import cbrt, power
from tcpfair.jit import jit

__all__ = ["HALVING_FLOOR", "PARAMS", "STATE", "WHOLE", "on_ack", "on_loss", "on_round", "on_timeout"]

OF_LINUX_2_6_32 = (
    *("C", "beta", "fast_convergence", "tcp_friendly", "forget_on_timeout"),
    *("linux_ack_counting", "hystart_train", "hystart_delay", "tick_s"),
)
PARAMS = (
    *(param for param in CUBIC_PARAMS if param.name in OF_LINUX_2_6_32),
    Param("by_rtt", 1.0, "0 or 1", "kozu2014 eq. 6"),
    Param("root", 3.0, "1", "kozu2014 eq. 6; 3 - alpha in section 5.1"),
    Param("rtt_unit_s", 0.001, "s", "not stated: the unit of RTT in kozu2014 eqs. 6 and 8", least=1e-6),
    Param("smoothed_rtt", 0.0, "0 or 1", "not stated: which RTT kozu2014 eqs. 6 and 8 mean, the least or the smoothed"),
    Param("scaled_C", 0.0, "0 or 1", "kozu2014 eqs. 7-8"),
    Param("x", 1.0, "1", "kozu2014 eq. 9: x(RTT) of this flow, fig. 14"),
    Param("constant_K", 0.0, "0 or 1", "kozu2014 3.3 and 3.4"),
    Param("K_s", 5.0, "s", "kozu2014 3.4; 1 s in 3.3"),
)


@jit
def rtt_number(f, p):
    """RTT as the equations have it: a number in units of ``rtt_unit_s``."""
    return (f.srtt if p.smoothed_rtt != 0.0 else f.rtt_min) / p.rtt_unit_s


@jit
def adjust_K(f, p):
    """At the start of an epoch, replace K of eq. 2 by the method's."""
    if p.constant_K != 0.0:
        f.K = p.K_s
        return
    f.K *= p.x  # eq. 9
    if p.by_rtt != 0.0:
        # eq. 6; section 5.1 with another root
        rtt = rtt_number(f, p)
        f.K /= cbrt(rtt) if p.root == 3.0 else power(rtt, 1.0 / p.root)


@jit
def on_ack(f, p):
    if not past_slow_start(f, p):
        return
    if f.epoch_start == 0.0:
        start_epoch(f, p)
        if f.K > 0.0:  # 0: no W_max to return to
            adjust_K(f, p)
    # eqs. 1 or 7, C' by eq. 8
    grow(f, p, step_to_curve(f, p.C * rtt_number(f, p) if p.scaled_C != 0.0 else p.C))


@jit
def on_timeout(f, p):
    on_loss(f, p)
    if p.forget_on_timeout != 0.0:
        forget(f)
    on_round(f, p)
