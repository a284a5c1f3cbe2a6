"""YeAH-TCP: Scalable TCP while the queue is short, Reno otherwise, and a long queue is drained before it overflows.

Sources: Baiocchi, Castellani and Vacirca, PFLDnet 2007; Linux 2.6.22 (net/ipv4/tcp_yeah.c: cong_avoid, ssthresh), the
steps and constants here. As there, a Scalable step takes one ACK more than the constant of 100 (or the window). The
queue is in whole packets, and so is the decrease with whole windows (``f.whole``). At a window of two packets the
kernel's ssthresh falls to zero; at one it falls to -1, which is the largest unsigned number. ``stack: ns2`` has both. A
flow with a window of zero and an empty flight never sends again in ns-2's TCP-Linux (tcp-linux.cc, timeout). Nor does a
flow whose threshold is -1 when the losses of a timeout are recovered: its window becomes that threshold
(tcp_fastretrans_alert), as a signed integer (tcp_moderate_cwnd). Most YeAH flows of ns-2 with small windows end that
way when they compete with greedy flows. On the other stacks ssthresh is at least two. After a loss that kernel halves
the sending rate for any ssthresh, and slow start then makes up the difference; here recovery ends at ssthresh. ns-3's
TcpYeah follows the same kernel file.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import (
    LINUX_6,
    MIN_WINDOW_PKTS,
    NS2,
    TEXT,
    Param,
    additive_increase,
    count_acks,
    rounded_down,
    slow_start,
)
from tcpfair.jit import jit

PARAMS = (
    Param("alpha", 80.0, "packets", "Linux 2.6.22: TCP_YEAH_ALPHA, Q_max of the paper"),
    Param("gamma", 1.0, "1", "Linux 2.6.22: TCP_YEAH_GAMMA, the queue over what is drained at once"),
    Param("delta", 0.125, "1", "Linux 2.6.22: TCP_YEAH_DELTA, least cut at a loss, 1 / 2**3"),
    Param("epsilon", 0.5, "1", "Linux 2.6.22: TCP_YEAH_EPSILON, largest cut without a loss, 1 / 2**1"),
    Param("phi", 8.0, "1", "Linux 2.6.22: TCP_YEAH_PHY, RTT_min over the queueing delay of slow mode"),
    Param("rho", 16.0, "RTTs", "Linux 2.6.22: TCP_YEAH_RHO, slow mode that long means greedy competitors"),
    Param("zeta", 50.0, "RTTs", "Linux 2.6.22: TCP_YEAH_ZETA, fast mode that long means that they have gone"),
    Param("stcp_acks", 100.0, "ACKs", "Linux 2.6.22: TCP_SCALABLE_AI_CNT"),
)
STATE = ("round_acks", "restart", "slow_rounds", "fast_rounds", "cwnd_reno", "queue")
WHOLE = True


@jit
def on_every_ack(f, p):
    if f.whole != NS2 or f.advanced != 0.0:  # in ns-2 duplicate ACKs give no RTT (tcp-linux.cc, recv: FLAG_NOT_DUP)
        f.round_acks += 1.0


@jit
def on_ack(f, p):
    if slow_start(f):
        return
    if f.whole != TEXT:
        if f.slow_rounds == 0.0:
            count_acks(f, min(f.cwnd, p.stcp_acks), f.acked)
        else:
            count_acks(f, f.cwnd if f.whole == LINUX_6 else f.cwnd - 1.0, f.growth)
    elif f.slow_rounds == 0.0:
        # the kernel's counter has to exceed the number, not to reach it
        f.cwnd += f.acked / (min(f.cwnd, p.stcp_acks) + 1.0)
    else:
        additive_increase(f, 1.0)


@jit
def on_round(f, p):
    acks = f.round_acks
    f.round_acks = 0.0
    if f.restart != 0.0 and f.whole != NS2:
        # the first round after a recovery is incomplete; in the kernel a new one begins at its end (tcp_vegas_enable)
        f.restart = 0.0
        return
    if acks <= 2.0:
        return  # perhaps all ACKs were delayed
    delay_s = f.round_rtt_min - f.rtt_min
    f.queue = math.floor(f.cwnd * delay_s / f.round_rtt_min)
    if f.queue > p.alpha or delay_s > f.rtt_min / p.phi:
        if f.queue > p.alpha and f.cwnd > f.cwnd_reno:
            # precautionary decongestion, not below Reno's window among Reno flows
            f.cwnd = max(f.cwnd - rounded_down(f, min(f.queue / p.gamma, p.epsilon * f.cwnd)), f.cwnd_reno)
            f.ssthresh = max(f.cwnd, MIN_WINDOW_PKTS)
        if f.cwnd_reno <= MIN_WINDOW_PKTS:
            f.cwnd_reno = max(rounded_down(f, f.cwnd / 2.0), MIN_WINDOW_PKTS)
        else:
            f.cwnd_reno += 1.0
        f.slow_rounds += 1.0
    else:
        f.fast_rounds += 1.0
        if f.fast_rounds > p.zeta:
            f.cwnd_reno = MIN_WINDOW_PKTS
            f.fast_rounds = 0.0
        f.slow_rounds = 0.0


@jit
def after_cut(f, p):
    """The window after a loss, packets; below zero for a window of one packet."""
    cut = max(f.cwnd / 2.0, MIN_WINDOW_PKTS)
    if f.slow_rounds < p.rho:
        cut = max(min(f.queue, cut), p.delta * f.cwnd)
    return f.cwnd - rounded_down(f, cut)


@jit
def on_loss(f, p):
    f.ssthresh = max(after_cut(f, p), 0.0 if f.whole == NS2 else MIN_WINDOW_PKTS)
    f.cwnd_reno = max(rounded_down(f, f.cwnd_reno / 2.0), MIN_WINDOW_PKTS)
    f.fast_rounds = 0.0
    f.restart = 1.0


@jit
def on_timeout(f, p):
    below_zero = f.whole == NS2 and after_cut(f, p) < 0.0
    on_loss(f, p)
    if below_zero:
        f.ssthresh = math.inf
