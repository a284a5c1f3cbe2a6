"""BIC: binary search for the window between the last maximum and the present window.

Sources: Xu, Harfoush and Rhee, INFOCOM 2004, sections III-A and III-B; constants and the exact steps from Linux 2.6.22
(net/ipv4/tcp_bic.c), the kernel of bhatti2009: a quarter of the distance (B = 4) instead of a half, a slow stretch of
``smooth_part`` RTTs around W_max, and, above ``low_window``, delayed-ACK compensation (growth counts acknowledged
packets). With whole windows (``f.whole``) its distance and the ACKs per packet are integers, too. ns-3's TcpBic has the
same steps.

Linux 6 (``stack: linux_6``) compensates delayed ACKs twice: its steps count acknowledged packets (``tcp_cong_avoid_ai``),
and are divided by the estimate of packets per ACK as well.

The module of Linux 2.6.13 differs in three places, none of which is modelled: 32 packets for ``bic_S_max`` (16 since
commit 450b5b18 of November 2005); a lost parenthesis in max probing, after which the window stops four packets past
W_max until the next loss (fixed by 42a39450 in October 2005); and a mode that reduces the window by 5 % per RTT when
the queue has been short for two seconds past the last W_max (removed by 018da8f4 in December 2005). The commits name
the designers, or their own patch, as the source of each change. ha2006 is by these designers, so we assume that its BIC
has the fixes.
"""

from __future__ import annotations

from tcpfair.cc.api import MIN_WINDOW_PKTS, Param, additive_increase, rounded_down, slow_start
from tcpfair.cc.cubic import estimate_ack_ratio, grow_by_steps, part_of_cwnd
from tcpfair.jit import jit

PARAMS = (
    Param("beta", 0.2, "1", "Linux 2.6.22: 1 - 819/1024"),
    Param("fast_convergence", 1.0, "0 or 1", "Xu 2004 III-B; Linux default"),
    Param("bic_S_max", 16.0, "packets per RTT", "Linux 2.6.22: max_increment"),
    Param("low_window", 14.0, "packets", "Linux 2.6.22: Reno below"),
    Param("smooth_part", 20.0, "RTTs", "Linux 2.6.22"),
    Param("B", 4.0, "1", "Linux 2.6.22: BICTCP_B"),
    Param("linux_ack_counting", 0.0, "0 or 1", "Linux 2.6.22: delayed_ack, snd_cwnd_cnt >= cnt; see cubic"),
)
STATE = ("W_max", "losses", "ack_ratio")
HALVING_FLOOR = 1.0
WHOLE = True


@jit
def pkts_per_rtt(f, p):
    """Increase per RTT at the present window, above the low window."""
    w = f.cwnd
    if w < f.W_max:
        distance = rounded_down(f, (f.W_max - w) / p.B)
        if distance > p.bic_S_max:
            return p.bic_S_max  # additive increase, far below W_max
        if distance < 2.0:
            return p.B / p.smooth_part  # creep past W_max; the kernel's integer distance is at most 1 here
        return distance  # binary search
    if w < f.W_max + p.B:
        return p.B / p.smooth_part
    if w < f.W_max + p.bic_S_max * (p.B - 1.0):
        return (w - f.W_max) / (p.B - 1.0)  # max probing, mirror of the search
    return p.bic_S_max


@jit
def on_ack(f, p):
    if p.linux_ack_counting != 0.0:
        estimate_ack_ratio(f)
    if slow_start(f):
        return
    if f.cwnd <= p.low_window:
        additive_increase(f, 1.0)  # Reno, without the compensation for delayed ACKs
        return
    step = pkts_per_rtt(f, p)
    if f.losses == 0.0:
        step = max(step, f.cwnd / 20.0)  # at least 5 % per RTT before the first loss
    grow_by_steps(f, p, step)


@jit
def on_loss(f, p):
    f.losses += 1.0
    if p.fast_convergence != 0.0 and f.cwnd < f.W_max:
        f.W_max = part_of_cwnd(f, (2.0 - p.beta) / 2.0, 2048.0)
    else:
        f.W_max = f.cwnd
    kept = 0.5 if f.cwnd <= p.low_window else 1.0 - p.beta
    f.ssthresh = max(part_of_cwnd(f, kept, 1024.0), MIN_WINDOW_PKTS)


@jit
def on_timeout(f, p):
    on_loss(f, p)
    # the kernel forgets the search when a retransmission timer fires
    f.W_max = 0.0
    f.losses = 0.0
    f.ack_ratio = 0.0
