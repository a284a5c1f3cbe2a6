"""TCP-Illinois: losses decide when the window is reduced, the queueing delay decides by how much it changes.

Sources: Liu, Basar and Srikant, VALUETOOLS 2006 (alpha = f1(da) and beta = f2(da) of the mean queueing delay da of a
round, dm being the largest); constants and the exact steps from Linux 2.6.22 (net/ipv4/tcp_illinois.c): RTTs in whole
microseconds, without those of recovery (there: of ACKs for retransmitted packets; Linux 6 also measures SACKed packets,
tcp_clean_rtx_queue), Reno's alpha and beta below ``win_thresh`` and after a timeout, delayed-ACK compensation (growth counts
acknowledged packets).

``linux_2_6_22 = 1`` keeps a bug of that kernel, fixed later: a loss reduces the window to beta instead of by beta. With
full queues beta is 1/2 and the bug has no effect; a loss without queueing leaves an eighth. 0 is the paper's decrease.
alpha is in 1/128 and beta in 1/64 only with whole windows (``f.whole``). ns-3's TcpIllinois reduces by beta and
measures delays in milliseconds.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import LINUX_6, MIN_WINDOW_PKTS, TEXT, Param, decrease_to, rounded_down, slow_start
from tcpfair.jit import jit

PARAMS = (
    Param("alpha_min", 38.0 / 128.0, "packets per RTT", "Linux 2.6.22: ALPHA_MIN, 0.3 rounded down"),
    Param("alpha_max", 10.0, "packets per RTT", "Linux 2.6.22: ALPHA_MAX"),
    Param("beta_min", 0.125, "1", "Linux 2.6.22: BETA_MIN"),
    Param("beta_max", 0.5, "1", "Linux 2.6.22: BETA_MAX"),
    Param("win_thresh", 15.0, "packets", "Linux 2.6.22: win_thresh, Reno below"),
    Param("theta", 5.0, "RTTs", "Linux 2.6.22: theta, rounds of low delay before alpha_max"),
    Param("linux_2_6_22", 1.0, "0 or 1", "Linux 2.6.22: tcp_illinois_ssthresh"),
)
STATE = (
    "alpha",
    "beta",
    "base_rtt_us",
    "max_rtt_us",
    "sum_rtt_us",  # of this round
    "samples",
    "round_start",  # s
    "rounds_low",  # rounds of low delay
    "was_above",  # 1: the delay has not been low for theta rounds
    "recovering",  # 1 from a loss to the first ACK that may open the window
)
WHOLE = True


@jit
def on_every_ack(f, p):
    rtt_us = math.floor(1e6 * f.rtt)
    if f.alpha == 0.0:
        f.alpha = p.alpha_max
        f.beta = p.beta_max
    if f.base_rtt_us == 0.0:  # a timeout may precede the first ACK
        f.base_rtt_us = rtt_us
    if f.recovering != 0.0 and f.whole != LINUX_6:
        return
    f.base_rtt_us = min(f.base_rtt_us, rtt_us)
    f.max_rtt_us = max(f.max_rtt_us, rtt_us)
    f.sum_rtt_us += rtt_us
    f.samples += 1.0


@jit
def update_alpha(f, p, da, dm):
    """Liu 2006: alpha_max up to d1 = dm/100, then k1 / (k2 + da), which is alpha_min at dm."""
    d1 = dm / 100.0
    if da > d1:
        f.was_above = 1.0
        alpha = p.alpha_max * (dm - d1) / (dm - d1 + (da - d1) * (p.alpha_max - p.alpha_min) / p.alpha_min)
        f.alpha = rounded_down(f, alpha, 128.0)
        return
    if f.was_above != 0.0:
        f.rounds_low += 1.0
        if f.rounds_low < p.theta:
            return
        f.rounds_low = 0.0
        f.was_above = 0.0
    f.alpha = p.alpha_max


@jit
def update_beta(f, p, da, dm):
    """Liu 2006: beta_min up to d2 = dm/10, beta_max from d3 = 8 dm/10, linear between them."""
    d2 = 0.1 * dm
    d3 = 0.8 * dm
    if da <= d2:
        f.beta = p.beta_min
    elif da >= d3:
        f.beta = p.beta_max
    else:
        f.beta = rounded_down(f, p.beta_min + (p.beta_max - p.beta_min) * (da - d2) / (d3 - d2), 64.0)


@jit
def forget_round(f):
    f.sum_rtt_us = 0.0
    f.samples = 0.0
    f.round_start = f.now


@jit
def on_round(f, p):
    if f.whole != LINUX_6:
        update(f, p)


@jit
def update(f, p):
    """alpha and beta, at the end of a round."""
    if f.cwnd < p.win_thresh:
        f.alpha = 1.0
        f.beta = p.beta_max
    elif f.samples > 0.0:
        dm = f.max_rtt_us - f.base_rtt_us
        da = math.floor(f.sum_rtt_us / f.samples) - f.base_rtt_us
        update_alpha(f, p, da, dm)
        update_beta(f, p, da, dm)
    forget_round(f)


@jit
def on_ack(f, p):
    f.recovering = 0.0
    # tcp_illinois_cong_avoid: a round ends at an ACK that may open the window, also at the first after a recovery. In 2.6.22,
    # too; its runs here have the rounds of the engine, which continue in a recovery.
    if f.whole == LINUX_6 and f.now - f.rtt >= f.round_start:
        update(f, p)
    if slow_start(f):
        return
    if f.whole == TEXT:
        f.cwnd += f.alpha * f.acked / f.cwnd
        return
    # in Linux 6 the ACK that ends a recovery counts for all packets that it acknowledges (tcp_illinois_acked)
    f.cwnd_cnt += f.advanced if f.whole == LINUX_6 else f.acked
    pkts = math.floor(f.cwnd_cnt * f.alpha / f.cwnd)
    if pkts > 0.0:
        f.cwnd += pkts
        f.cwnd_cnt = 0.0


@jit
def on_loss(f, p):
    f.recovering = 1.0
    beta = f.beta if f.alpha != 0.0 else p.beta_max
    if p.linux_2_6_22 != 0.0:
        decrease_to(f, beta)
    else:
        f.ssthresh = max(f.cwnd - rounded_down(f, beta * f.cwnd), MIN_WINDOW_PKTS)


@jit
def on_timeout(f, p):
    on_loss(f, p)
    f.alpha = 1.0
    f.beta = p.beta_max
    f.rounds_low = 0.0
    f.was_above = 0.0
    forget_round(f)
