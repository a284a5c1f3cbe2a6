"""Compound TCP: Reno's loss window plus a delay window.

Sources: Tan, Song, Zhang and Sridharan, INFOCOM 2006, sections III-B to III-D; bhatti2009 section IV-D (k = 0.75,
alpha = 0.125, beta = 0.5, eta = 1, gamma 5..30), which has the misprint ``awnd`` for the delay window ``dwnd``. By
default gamma stays at 30. ns-3 has no Compound. The two modules for Linux (net/ipv4/tcp_compound.c):

* ``linux_2006 = 1``: Castellani and Hemminger's, which ns-2 has: gamma 30; a loss removes the delay window, because
  either window alone then exceeds the remaining half. The delay window grows in slow start too, and slow start lasts
  until the loss window alone has reached ssthresh. Its steps are whole packets and depend on the packets sent in the
  round before. After a loss these are all packets sent until the end of the recovery, two windows, so the first step is
  large;
* ``caltech = 1``, ``tune_gamma = 1``: Andrew's version 1.3 of April 2008 from netlab.caltech.edu, the origin and the range
  of gamma that bhatti2009 names (its version is not stated; 1.0 is ``linux_2006 = 1``, ``tune_gamma = 1``, ``gamma_gain``
  0.5): the delay window is only used from ``low_window`` on, past slow start, and its increments are spread over half a
  round trip. At a loss gamma follows three quarters of the packets that the loss window keeps in queues. Here its steps
  depend on the window at the end of the round, and are rounded only with whole windows (``f.whole``).

Both require three RTT samples a round: not modelled.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import TEXT, Param, count_acks, decrease_to, rounded_down
from tcpfair.jit import jit

PARAMS = (
    Param("alpha", 0.125, "1", "bhatti2009 IV-D; Tan 2006 III-D"),
    Param("compound_beta", 0.5, "1", "bhatti2009 IV-D; Tan 2006 III-D"),
    Param("eta", 1.0, "1", "bhatti2009 IV-D; zeta in Tan 2006"),
    Param("gamma", 30.0, "packets", "Tan 2006 III-D; upper end of bhatti2009's 5..30"),
    Param("linux_2006", 0.0, "0 or 1", "Linux 2.6.18-rc net/ipv4/tcp_compound.c; ns-2.35"),
    Param("caltech", 0.0, "0 or 1", "tcp_compound.c 1.3: LOW_WINDOW, PACE_DWND"),
    Param("low_window", 38.0, "packets", "tcp_compound.c 1.3: LOW_WINDOW"),
    Param("tune_gamma", 0.0, "0 or 1", "bhatti2009 IV-D; tcp_compound.c 1.0 on"),
    Param("gamma_low", 5.0, "packets", "bhatti2009 IV-D; tcp_compound.c: GAMMA_LOW"),
    Param("gamma_gain", 0.25, "1", "tcp_compound.c 1.1 on: LAMBDA_SHIFT = 2"),
)
STATE = ("dwnd", "gamma_shift", "reno_backlog", "backlog_known", "dwnd_left", "dwnd_per_ack", "window_before")
WHOLE = True


@jit
def add_to_dwnd(f, step):
    """Grow by ``step``; a whole window uses the whole packets of dwnd."""
    before = rounded_down(f, f.dwnd)
    f.dwnd += step
    f.cwnd += step if f.whole == TEXT else math.floor(f.dwnd) - before


@jit
def on_ack(f, p):
    slow_start_window = f.cwnd - f.dwnd if p.linux_2006 != 0.0 else f.cwnd
    if slow_start_window < f.ssthresh or (f.whole != TEXT and slow_start_window == f.ssthresh):
        f.cwnd += f.growth
    elif f.whole != TEXT:
        count_acks(f, f.cwnd - p.linux_2006, f.growth)  # one of the two modules needs one ACK less
    else:
        # Tan 2006 eq. 3: the loss window grows by one packet per window of cwnd + dwnd
        f.cwnd += f.growth / f.cwnd
    if f.dwnd_left > 0.0:
        step = min(f.dwnd_per_ack, f.dwnd_left)
        f.dwnd_left -= step
        add_to_dwnd(f, step)


@jit
def on_round(f, p):
    if p.caltech != 0.0:
        add_to_dwnd(f, f.dwnd_left)
        f.dwnd_left = 0.0
        if f.cwnd < max(p.low_window, f.ssthresh):
            add_to_dwnd(f, -f.dwnd)
            return
    elif f.cwnd < f.ssthresh and p.linux_2006 == 0.0:
        return
    win = f.cwnd
    if p.linux_2006 != 0.0:
        win = f.window_before if f.window_before > 0.0 else f.cwnd
        f.window_before = f.cwnd
    # Tan 2006 III-B: packets in queues, (expected - actual) * baseRTT
    diff = win * (1.0 - f.rtt_min / f.round_rtt_min)
    if p.tune_gamma != 0.0:
        f.reno_backlog = (win - f.dwnd) * (1.0 - f.rtt_min / f.round_rtt_min)
        f.backlog_known = 1.0
    if diff < p.gamma + f.gamma_shift:
        # eq. 5, first case; win^k with k = 0.75
        grown = p.alpha * math.sqrt(win) * math.sqrt(math.sqrt(win))
        step = max((math.floor(grown) if p.linux_2006 != 0.0 else rounded_down(f, grown)) - 1.0, 0.0)
        if p.caltech != 0.0:
            f.dwnd_left = step
            f.dwnd_per_ack = 2.0 * step / win
            return
    else:
        # eq. 5, second case; dwnd never below 0
        step = max(rounded_down(f, -p.eta * diff), -f.dwnd)
    add_to_dwnd(f, step)


@jit
def set_gamma(f, p):
    """At a loss, three quarters of Reno's backlog would have been the right threshold; gamma is in gamma_low..gamma."""
    if f.backlog_known != 0.0:
        gamma = p.gamma + f.gamma_shift
        gamma += p.gamma_gain * (0.75 * f.reno_backlog - gamma)
        f.gamma_shift = min(max(gamma, p.gamma_low), p.gamma) - p.gamma
        f.backlog_known = 0.0


@jit
def on_loss(f, p):
    set_gamma(f, p)
    win = f.cwnd
    loss_window = win - f.dwnd
    decrease_to(f, 1.0 - p.compound_beta)
    # eq. 5, third case: win (1 - beta) - cwnd / 2, the loss window being halved
    dwnd = rounded_down(f, (1.0 - p.compound_beta) * win - loss_window / 2.0)
    f.dwnd = max(dwnd, 0.0) if p.linux_2006 == 0.0 else 0.0
    f.dwnd_left = 0.0
    if p.linux_2006 != 0.0:
        f.window_before = 2.0 * win  # sent from the round before the loss to the end of the recovery


@jit
def on_timeout(f, p):
    set_gamma(f, p)
    decrease_to(f, 0.5)
    f.dwnd = 0.0
    f.dwnd_left = 0.0
