"""Compound TCP: Reno's loss window plus a delay window.

Sources: Tan, Song, Zhang and Sridharan, INFOCOM 2006, sections III-B to III-D; bhatti2009 section IV-D (k = 0.75,
alpha = 0.125, beta = 0.5, eta = 1, gamma 5..30). The testbed ran Caltech's patch for Linux; the Linux module of the time
(net/ipv4/tcp_compound.c) keeps gamma at 30, as here: the tuning of gamma in 5..30 is not specified in the paper.
bhatti2009 prints ``awnd`` where the delay window ``dwnd`` is meant. ns-3 has no Compound.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import Param, decrease_to
from tcpfair.jit import jit

PARAMS = (
    Param("alpha", 0.125, "1", "bhatti2009 IV-D; Tan 2006 III-D"),
    Param("compound_beta", 0.5, "1", "bhatti2009 IV-D; Tan 2006 III-D"),
    Param("eta", 1.0, "1", "bhatti2009 IV-D; zeta in Tan 2006"),
    Param("gamma", 30.0, "packets", "Tan 2006 III-D; upper end of bhatti2009's 5..30"),
)
STATE = ("dwnd",)


@jit
def on_ack(f, p):
    if f.cwnd < f.ssthresh:
        f.cwnd += f.growth
    else:
        # Tan 2006 eq. 3: the loss window grows by one packet per window of cwnd + dwnd
        f.cwnd += f.growth / f.cwnd


@jit
def on_round(f, p):
    if f.cwnd < f.ssthresh:
        return
    win = f.cwnd
    # Tan 2006 III-B: packets in queues, (expected - actual) * baseRTT
    diff = win * (1.0 - f.rtt_min / f.round_rtt_min)
    if diff < p.gamma:
        # eq. 5, first case; win^k with k = 0.75
        step = max(p.alpha * math.sqrt(win) * math.sqrt(math.sqrt(win)) - 1.0, 0.0)
    else:
        # eq. 5, second case; dwnd never below 0
        step = max(-p.eta * diff, -f.dwnd)
    f.dwnd += step
    f.cwnd += step


@jit
def on_loss(f, p):
    win = f.cwnd
    loss_window = win - f.dwnd
    decrease_to(f, 1.0 - p.compound_beta)
    # eq. 5, third case: win (1 - beta) - cwnd / 2, the loss window being halved
    f.dwnd = max((1.0 - p.compound_beta) * win - loss_window / 2.0, 0.0)


@jit
def on_timeout(f, p):
    decrease_to(f, 0.5)
    f.dwnd = 0.0
