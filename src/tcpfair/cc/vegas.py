"""TCP Vegas: keeps between alpha and beta packets in the queue.

Sources: Brakmo and Peterson, IEEE JSAC 13(8), 1995, section III; Linux 2.6.22 (net/ipv4/tcp_vegas.c), the steps here.
Its alpha, beta and gamma are 4, 8 and 2 half packets, and it rounds the backlog up to half packets, so the window still
grows at a backlog of 1.5 packets. It compares with the window of the round before, which its last step has changed: a
steady rise or fall is one packet every *second* RTT, in the paper every RTT. After a loss ssthresh stays at half of the
window, and slow start undoes any reduction by Vegas below it. Linux 6 has neither (``step_of_linux_6``).

The paper doubles the window every second RTT in slow start and has special retransmission rules; Linux has Reno's. The
kernel's 32-bit product of window and RTT overflows at 2**31 packet microseconds; that is not modelled. ns-3's TcpVegas
compares with the present window.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import (
    LINUX_6,
    MIN_WINDOW_PKTS,
    Param,
    additive_increase,
    decrease_to,
    grow_as_reno,
    in_slow_start,
    slow_start,
)
from tcpfair.jit import jit

PARAMS = (
    Param("alpha", 2.0, "packets", "Linux 2.6.22: 2 << V_PARAM_SHIFT half packets"),
    Param("beta", 4.0, "packets", "Linux 2.6.22: 4 << V_PARAM_SHIFT half packets"),
    Param("gamma", 1.0, "packets", "Linux 2.6.22: 1 << V_PARAM_SHIFT half packets"),
)
STATE = ("round_acks", "round_pkts", "round_cwnd", "restart")
WHOLE = True


@jit
def backlog_pkts(window, rtt_min, rtt):
    """Packets of a window that wait in queues, Diff of the paper, rounded up to half packets as in the kernel."""
    return math.ceil(2.0 * window * (1.0 - rtt_min / rtt)) / 2.0


@jit
def on_every_ack(f, p):
    f.round_acks += 1.0
    f.round_pkts += f.acked


@jit
def on_ack(f, p):
    if f.in_loss != 0.0:
        grow_as_reno(f)  # tcp_vegas_state
    else:
        slow_start(f)


@jit
def on_round(f, p):
    acks, sent, before = f.round_acks, f.round_pkts, f.round_cwnd
    f.round_acks = 0.0
    f.round_pkts = 0.0
    f.round_cwnd = f.cwnd
    if f.in_loss != 0.0:
        return
    if f.restart != 0.0:
        f.restart = 0.0  # the first round after a recovery is incomplete
        return
    if acks <= 2.0:
        # perhaps all ACKs were delayed: Reno's step of one ACK; in slow start on_ack has done it
        if not in_slow_start(f):
            additive_increase(f, 1.0)
        return
    if f.whole == LINUX_6:
        step_of_linux_6(f, p)
        return
    diff = backlog_pkts(sent, f.rtt_min, f.round_rtt_min)
    if in_slow_start(f):
        if diff > p.gamma:
            f.ssthresh = MIN_WINDOW_PKTS
            # the actual rate times RTT_min, one for the rounding, one that slow start has added with this ACK
            f.cwnd = min(f.cwnd, math.floor(sent - diff) + 2.0)
    else:
        if diff > p.beta:
            wanted = before - 1.0
        elif diff < p.alpha:
            wanted = before + 1.0
        else:
            wanted = before
        if wanted > f.cwnd:
            f.cwnd += 1.0
        elif wanted < f.cwnd:
            f.cwnd -= 1.0
    f.cwnd = max(f.cwnd, MIN_WINDOW_PKTS)


@jit
def step_of_linux_6(f, p):
    """tcp_vegas_cong_avoid of Linux 6.1: compares with the present window, and ssthresh follows it."""
    # in slow start on_ack has grown the window, which the kernel does after this step
    window = f.cwnd - f.growth if in_slow_start(f) else f.cwnd
    diff = math.floor(window * (f.round_rtt_min - f.rtt_min) / f.rtt_min)
    if in_slow_start(f):
        if diff > p.gamma:
            # the actual rate times RTT_min, and one
            f.cwnd = min(window, math.floor(window * f.rtt_min / f.round_rtt_min) + 1.0)
            f.ssthresh = min(f.ssthresh, f.cwnd - 1.0)
    elif diff > p.beta:
        f.cwnd -= 1.0
        f.ssthresh = min(f.ssthresh, f.cwnd - 1.0)
    elif diff < p.alpha:
        f.cwnd += 1.0
    f.cwnd = max(f.cwnd, MIN_WINDOW_PKTS)
    # tcp_current_ssthresh
    f.ssthresh = max(f.ssthresh, math.floor(f.cwnd / 2.0) + math.floor(f.cwnd / 4.0))


@jit
def on_loss(f, p):
    decrease_to(f, 0.5)
    f.restart = 1.0
