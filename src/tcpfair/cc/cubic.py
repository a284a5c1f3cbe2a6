"""CUBIC, in the versions of the papers: their equations, and those of three Linux kernels.

Sources: Rhee and Xu, PFLDnet 2005; bhatti2009 section IV-C and kozu2014 section 2.2 (C = 0.4, beta = 0.2), kozu2014
eqs. 1-4; net/ipv4/tcp_cubic.c of the kernels. As in kozu2014, beta is the part that a loss removes: the window after a
loss is (1 - beta) W. The defaults are kozu2014's equations. The versions differ from them in

==================================  ===============================================================================
Rhee and Xu 2005                    clamp_always = 1
Linux 2.6.13 with the authors'      linux_2_6_22 = 1, clamp_always = 1, beta = 205/1024, C = 410/1024; and an initial
patch (tcp_cubic.c 2.0, ha2006)     ssthresh of 100 packets. In mainline 2.6.15 to 2.6.18 a bug of scale makes S_max 2
Linux 2.6.22 (2.1, bhatti2009)      linux_2_6_22 = 1, beta = 205/1024, C = 410/1024
Linux 2.6.32 (2.3, kozu2014)        forget_on_timeout = 1, beta = 307/1024, C = 410/1024; kozu2014 states beta = 0.2
  with HyStart, the default there   and hystart_train = 1, hystart_delay = 1
==================================  ===============================================================================

Growth counts acknowledged packets, which is the purpose of the kernels' compensation for delayed ACKs.
``linux_ack_counting = 1`` is how all three actually count: cnt ACKs per packet are divided by an estimate of packets
per ACK, which starts at 2 and stays at 31/16 when every packet is acknowledged; then the window grows once in cnt + 1
ACKs, so at most by half a packet per ACK. Their whole windows (``f.whole``) make target, cnt and the Reno-like window
integers, too. Not modelled: their cube root to 0.2 %, the 1/32 s for which they keep cnt and, outside HyStart, their
clock ticks. HyStart's least and largest rise of the delay are 2 and 16 of these ticks, as in 2.6.32: later kernels with
clocks finer than 1 ms have thresholds in microseconds (``cubic_linux_6``). ns-3's TcpCubic follows later kernels (beta
0.3, HyStart, at least 5 % per RTT before the first loss). RFC 9438 is ``cubic_rfc9438``.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import LINUX_6, MIN_WINDOW_PKTS, TEXT, Param, count_acks, in_slow_start, rounded_down, slow_start
from tcpfair.cc.exactmath import cbrt
from tcpfair.jit import jit, jit_inline, unlikely

PARAMS = (
    Param("C", 0.4, "packets/s^3", "bhatti2009 IV-C; kozu2014 2.2 (Linux: 410/1024)", least=1e-6),
    Param("beta", 0.2, "1", "bhatti2009 IV-C; kozu2014 2.2 (Linux 2.6.22: 1 - 819/1024, from 2.6.25: 1 - 717/1024)"),
    Param("fast_convergence", 1.0, "0 or 1", "kozu2014 eq. 4; Linux default"),
    Param("tcp_friendly", 1.0, "0 or 1", "kozu2014 eq. 3; Linux default"),
    Param("linux_2_6_22", 0.0, "0 or 1", "Linux 2.6.22 net/ipv4/tcp_cubic.c: clamp past W_max, first epoch, timeout"),
    Param("S_max", 16.0, "packets per 0.1 s", "Linux 2.6.22: max_increment"),
    Param("clamp_always", 0.0, "0 or 1", "Rhee and Xu 2005; Linux before 2.6.19: S_max limits below W_max too"),
    Param("forget_on_timeout", 0.0, "0 or 1", "Linux: bictcp_reset"),
    Param("linux_ack_counting", 0.0, "0 or 1", "Linux to 2.6.32: delayed_ack, snd_cwnd_cnt >= cnt"),
    Param("hystart_train", 0.0, "0 or 1", "Linux 2.6.32: HYSTART_ACK_TRAIN; Ha and Rhee 2008"),
    Param("hystart_delay", 0.0, "0 or 1", "Linux 2.6.32: HYSTART_DELAY; Ha and Rhee 2008"),
    Param("tick_s", 0.001, "s", "Linux 2.6.32: 1/HZ, HyStart's clock; HZ is 1000, 250 or 100", 0.001, 0.01),
)
STATE = (
    *("W_max", "K", "epoch_start", "origin", "W_reno", "reno_acks", "losses", "ack_ratio"),
    *("round_start", "train_end", "round_rtt", "round_samples"),  # HyStart
)
HALVING_FLOOR = 1.0
WHOLE = True

ROUNDING = 1e-9  # with whole windows cwnd / step is a ratio of integers: this compensates the rounding of the last bit
HYSTART_LOW_WINDOW_PKTS = 16.0
HYSTART_SAMPLES = 8.0
HYSTART_SPACING_S = 0.002


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
def estimate_ack_ratio(f):
    """Packets per ACK in sixteenths as Linux estimates them, in whole numbers: ratio += acked - ratio / 16."""
    if f.ack_ratio == 0.0:
        f.ack_ratio = 32.0
    f.ack_ratio += f.acked - math.floor(f.ack_ratio / 16.0)


@jit
def grow_by_steps(f, p, step):
    """One ACK at ``step`` packets per RTT, at most one packet per acknowledged packet."""
    if p.linux_ack_counting == 0.0 and f.whole == TEXT:
        growth = step / f.cwnd
        f.cwnd += (1.0 if unlikely(growth > 1.0) else growth) * f.acked
        return
    # one packet per cnt + 1 ACKs
    cnt = math.floor(f.cwnd / step + (ROUNDING if f.whole != TEXT else 0.0))
    acks = f.acked
    if p.linux_ack_counting != 0.0:
        cnt = math.floor(cnt * 16.0 / f.ack_ratio)
        acks = f.acked if f.whole == LINUX_6 else 1.0
    cnt = max(cnt, 1)
    if f.whole != TEXT:
        count_acks(f, cnt, acks)
    else:
        f.cwnd += acks / (cnt + 1)


@jit
def part_of_cwnd(f, part, parts):
    """``part`` of cwnd; with whole windows in Linux's integers: a multiple of 1/``parts``, rounded down twice."""
    return rounded_down(f, rounded_down(f, part, parts) * f.cwnd)


@jit
def past_K_s(f):
    """Time since the window should have been back at W_max, one RTT ahead."""
    return f.now - f.epoch_start + f.rtt_min - f.K


@jit
def step_to_curve(f, C):
    """Packets per RTT that lead to the curve with constant C, as kozu2014 and Linux have it."""
    # eq. 1, one RTT ahead: W(t + RTT) = C (t + RTT - K)^3 + W_max
    x = past_K_s(f)
    ahead = C * x * x * x
    if f.whole != TEXT:
        ahead = float(math.trunc(ahead))
    step = f.origin + ahead - f.cwnd
    return 0.01 if unlikely(step < 0.01) else step


@jit
def grow_reno(f, p):
    """eq. 3: a Reno-like flow with the same decrease grows by 3 beta / (2 - beta) per RTT."""
    if f.whole == TEXT:
        f.W_reno += 3.0 * p.beta / (2.0 - p.beta) * f.growth / f.cwnd
        return
    # the kernels' beta_scale: eighths of a window of ACKs for one packet, in whole numbers
    kept = math.floor(1024.0 * (1.0 - p.beta))
    eighths = math.floor(math.floor(8.0 * (1024.0 + kept) / 3.0) / (1024.0 - kept))
    acks = max(math.floor(f.cwnd * eighths / 8.0), 1.0)
    f.reno_acks += f.growth
    while f.reno_acks > acks:
        f.reno_acks -= acks
        f.W_reno += 1.0


@jit_inline
def grow(f, p, step):
    """One ACK at ``step`` packets per RTT, or as a Reno-like flow where that is faster."""
    if p.tcp_friendly != 0.0:
        grow_reno(f, p)
        # branches rather than max, here and in the two places above: a predicted ACK waits for only one division
        if unlikely(f.W_reno - f.cwnd > step):
            step = f.W_reno - f.cwnd
    grow_by_steps(f, p, step)


@jit_inline
def past_slow_start(f, p):
    """The first step of every version for an ACK. True past slow start."""
    if p.linux_ack_counting != 0.0:
        estimate_ack_ratio(f)
    if in_slow_start(f):
        watch_slow_start(f, p)
    return not slow_start(f)


@jit
def on_ack(f, p):
    if not past_slow_start(f, p):
        return
    if f.epoch_start == 0.0:
        start_epoch(f, p)
    step = step_to_curve(f, p.C)
    if p.clamp_always != 0.0 or (p.linux_2_6_22 != 0.0 and past_K_s(f) >= 0.0):
        step = min(step, p.S_max * f.rtt_min / 0.1)
    if p.linux_2_6_22 != 0.0 and f.losses == 0.0:
        step = f.cwnd / 50.0
    grow(f, p, step)


@jit
def reduce(f, p):
    """A congestion event: the curve's W_max and the threshold."""
    f.epoch_start = 0.0
    if p.fast_convergence != 0.0 and f.cwnd < f.W_max:
        # eq. 4
        f.W_max = part_of_cwnd(f, (2.0 - p.beta) / 2.0, 2048.0)
    else:
        f.W_max = f.cwnd
    f.ssthresh = max(part_of_cwnd(f, 1.0 - p.beta, 1024.0), MIN_WINDOW_PKTS)


@jit
def on_loss(f, p):
    f.losses += 1.0
    f.reno_acks = 0.0
    reduce(f, p)


@jit
def forget(f):
    """A retransmission timer has fired: reset the state."""
    f.W_max = 0.0
    f.losses = 0.0
    f.ack_ratio = 0.0


@jit
def on_timeout(f, p):
    on_loss(f, p)
    if p.linux_2_6_22 != 0.0 or p.forget_on_timeout != 0.0:
        forget(f)
    on_round(f, p)


# ---------------------------------------------------------------- HyStart


@jit
def on_round(f, p):
    """HyStart starts again in each round trip."""
    if p.hystart_train != 0.0 or p.hystart_delay != 0.0:
        f.round_start = f.now
        f.train_end = f.now
        f.round_rtt = 0.0
        f.round_samples = 0.0


@jit
def train_is_long(f, p):
    """ACKs at most 2 ms apart have arrived for half the least RTT: the window fills the forward path."""
    now = math.floor(f.now / p.tick_s)
    if now - math.floor(f.train_end / p.tick_s) > math.ceil(HYSTART_SPACING_S / p.tick_s):
        return False
    f.train_end = f.now
    return now - math.floor(f.round_start / p.tick_s) >= math.ceil(f.rtt_min / p.tick_s) // 2


@jit
def delay_has_grown(f, p):
    """The least of the round's first eight RTTs is above the least of all by a sixteenth, or by 2 or 16 ticks."""
    if f.round_samples < HYSTART_SAMPLES:
        f.round_rtt = f.rtt if f.round_samples == 0.0 else min(f.round_rtt, f.rtt)
        f.round_samples += 1.0
        return False
    rtt_min = math.ceil(f.rtt_min / p.tick_s)
    return math.ceil(f.round_rtt / p.tick_s) > rtt_min + min(max(rtt_min / 16.0, 2.0), 16.0)


@jit
def watch_slow_start(f, p):
    """HyStart (Linux 2.6.32, hystart_update): slow start ends at this window when the path appears full."""
    if f.round_start == 0.0:
        on_round(f, p)
    if f.cwnd < HYSTART_LOW_WINDOW_PKTS:
        return
    if p.hystart_train != 0.0 and train_is_long(f, p):
        f.ssthresh = f.cwnd
    if p.hystart_delay != 0.0 and delay_has_grown(f, p):
        f.ssthresh = f.cwnd
