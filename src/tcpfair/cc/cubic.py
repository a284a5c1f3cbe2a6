"""CUBIC.

Sources: Rhee and Xu, PFLDnet 2005; bhatti2009 section IV-C and kozu2014 section 2.2 (C = 0.4, beta = 0.2), kozu2014
eqs. 1-4. As there, beta is the part that is cut off: the window after a loss is (1 - beta) W.

``linux_2_6_22 = 1`` switches to what that kernel does where it differs (net/ipv4/tcp_cubic.c, v2.1): past W_max the
growth is limited to S_max packets per 0.1 s, and before the first loss it is at least one packet per 50 ACKs. The
kernel's integer window, its cube root to 0.2 % and its clock ticks are not modelled. Its delayed-ACK compensation is:
growth counts acknowledged packets. ns-3's TcpCubic follows later kernels (beta 0.3, HyStart).
"""

from __future__ import annotations

from tcpfair.cc.api import MIN_WINDOW_PKTS, Param, slow_start
from tcpfair.cc.exactmath import cbrt
from tcpfair.jit import jit

PARAMS = (
    Param("C", 0.4, "packets/s^3", "bhatti2009 IV-C; kozu2014 2.2"),
    Param("beta", 0.2, "1", "bhatti2009 IV-C; kozu2014 2.2 (Linux 2.6.22: 1 - 819/1024)"),
    Param("fast_convergence", 1.0, "0 or 1", "kozu2014 eq. 4; Linux default"),
    Param("tcp_friendly", 1.0, "0 or 1", "kozu2014 eq. 3; Linux default"),
    Param("linux_2_6_22", 0.0, "0 or 1", "Linux 2.6.22 net/ipv4/tcp_cubic.c"),
    Param("S_max", 16.0, "packets per 0.1 s", "Linux 2.6.22: max_increment"),
)
STATE = ("W_max", "K", "epoch_start", "origin", "W_reno", "losses")
HALVING_FLOOR = 1.0


@jit
def start_epoch(f, p):
    """First ACK after a reduction: the curve's origin and the time K to reach it."""
    f.epoch_start = f.now
    f.W_reno = f.cwnd
    if f.cwnd < f.W_max:
        # kozu2014 eq. 2 with the window actually reached: K = cbrt((W_max - W) / C), W = (1 - beta) W_max
        f.K = cbrt((f.W_max - f.cwnd) / p.C)
        f.origin = f.W_max
    else:
        f.K = 0.0
        f.origin = f.cwnd


@jit
def on_ack(f, p):
    if slow_start(f):
        return
    if f.epoch_start == 0.0:
        start_epoch(f, p)
    # eq. 1, one RTT ahead: W(t + RTT) = C (t + RTT - K)^3 + W_max
    x = f.now - f.epoch_start + f.rtt_min - f.K
    target = f.origin + p.C * x * x * x
    step = max(target - f.cwnd, 0.01)
    if p.linux_2_6_22 != 0.0:
        if x >= 0.0:
            step = min(step, p.S_max * f.rtt_min / 0.1)
        if f.losses == 0.0:
            step = f.cwnd / 50.0
    if p.tcp_friendly != 0.0:
        # eq. 3: a Reno-like flow with the same decrease grows by 3 beta / (2 - beta) per RTT
        f.W_reno += 3.0 * p.beta / (2.0 - p.beta) * f.growth / f.cwnd
        step = max(step, f.W_reno - f.cwnd)
    # at most one packet per acknowledged packet
    f.cwnd += min(step / f.cwnd, 1.0) * f.acked


@jit
def on_loss(f, p):
    f.epoch_start = 0.0
    f.losses += 1.0
    if p.fast_convergence != 0.0 and f.cwnd < f.W_max:
        # eq. 4
        f.W_max = (2.0 - p.beta) / 2.0 * f.cwnd
    else:
        f.W_max = f.cwnd
    f.ssthresh = max((1.0 - p.beta) * f.cwnd, MIN_WINDOW_PKTS)


@jit
def on_timeout(f, p):
    on_loss(f, p)
    if p.linux_2_6_22 != 0.0:
        # the kernel forgets the curve when a retransmission timer fires
        f.W_max = 0.0
        f.losses = 0.0
