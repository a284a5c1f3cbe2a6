"""CUBIC of Linux 6: whole packets, clock ticks, and HyStart in microseconds.

Source: Linux 6.18, net/ipv4/tcp_cubic.c (bictcp_update, cubictcp_recalc_ssthresh, hystart_update), tcp_cong.c
(tcp_slow_start, tcp_cong_avoid_ai). From the versions of ``cubic`` it differs in

* growth of at least 5 % per RTT until the first loss, and never more than a half;
* the window is a whole number; it grows by one for every ``cnt`` acknowledged packets, and ``cnt`` is renewed when the window
  has grown or after 1/32 s, at most once a tick;
* HyStart: a train of ACKs longer than half the least RTT (with 1 ms for segments that senders and receivers merge), or
  delays above it by an eighth, at least 4 and at most 16 ms. A round begins with its first ACK, whatever the window:
  Linux 5.17 to 6.13 begin the first round only at 16 packets, in the middle of a burst, and leave slow start too early
  ("tcp_cubic: fix incorrect HyStart round start detection", January 2025; 6.1 has it from 6.1.129 on).

Use it with ``reduction: prr``, ``ack_every: 2`` and an initial window of 10. Not modelled: the kernel's cube root
(within 0.2 %; here exact and rounded down), idle times, the reset of the least RTT after a timeout, and undone
reductions. RFC 9438 is ``cubic_rfc9438``. ns-3's TcpCubic has the same growth before the first loss.

Compared with recordings of Linux 6.18 (``tests/engine/test_linux_6.py``): polled windows until the first loss and
windows at the first four losses agree within a packet, their times within a poll of 0.1 s. Chance decides which of two
flows loses at an overflow, in the kernel and here; the spreads of the shares agree.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import MIN_WINDOW_PKTS, Param, count_acks_as_linux_6
from tcpfair.cc.cubic import HYSTART_LOW_WINDOW_PKTS, HYSTART_SAMPLES, HYSTART_SPACING_S
from tcpfair.cc.exactmath import cbrt
from tcpfair.jit import jit

PARAMS = (
    Param("C", 410.0 / 1024.0, "packets/s^3", "Linux 6.18: bic_scale = 41", least=1e-6),
    Param("beta", 307.0 / 1024.0, "1", "Linux 6.18: what is cut off, 1 - 717/1024", 1.0 / 1024.0, 1.0),
    Param("fast_convergence", 1.0, "0 or 1", "Linux 6.18"),
    Param("tcp_friendly", 1.0, "0 or 1", "Linux 6.18"),
    Param("hystart", 1.0, "0 or 1", "Linux 6.18: train and delay"),
    Param("ack_delay_s", 0.001, "s", "Linux 6.18: hystart_ack_delay, its cap, which holds below 2 Gb/s"),
    Param(
        "tick_s", 0.004, "s", "Linux 6.18: 1/HZ; 250 by default and in the recordings; 1000 and 100 too", 0.001, 0.01
    ),
)
STATE = (
    *("W_max", "K", "origin", "epoch_start", "W_reno"),  # epoch_start in ticks
    *("cnt", "acks"),  # packets per packet of growth; acknowledged towards W_reno's
    *("last_cwnd", "last_tick"),  # when cnt was renewed
    *("round_start", "train_end", "round_rtt", "round_samples"),  # HyStart
)
HALVING_FLOOR = 1.0
WHOLE = True

SCALE = 1024.0
FIRST_CNT = 20.0  # 5 % per RTT
LEAST_CNT = 2.0
CNT_KEPT_PER_S = 32.0
HYSTART_DELAY_MIN_S = 0.004
HYSTART_DELAY_MAX_S = 0.016
SAME_TIME_S = 1e-9  # bound for the rounding of a send time


@jit
def kept(p):
    """The part of the window after a reduction, in 1024ths: the kernel's beta."""
    return math.floor(SCALE * (1.0 - p.beta) + 0.5)


@jit
def ticks_per_s(p):
    """The kernel's HZ, a whole number."""
    return math.floor(1.0 / p.tick_s + 0.5)


@jit
def start_epoch(f, p, now, acked):
    """First ACK after a reduction: the curve's origin and K, the time to reach it in whole 1/1024 s."""
    f.epoch_start = now
    f.acks = acked
    f.W_reno = f.cwnd
    if f.W_max <= f.cwnd:
        f.K = 0.0
        f.origin = f.cwnd
    else:
        f.K = math.floor(SCALE * cbrt((f.W_max - f.cwnd) / p.C)) / SCALE
        f.origin = f.W_max


@jit
def follow_curve(f, p, now):
    """``cnt`` that leads to the curve one least RTT ahead."""
    ticks = now - f.epoch_start + math.ceil(f.rtt_min / p.tick_s)
    x = math.floor(SCALE * ticks / ticks_per_s(p)) / SCALE - f.K
    rise = math.floor(p.C * abs(x * x * x))
    target = f.origin + rise if x >= 0.0 else f.origin - rise
    f.cnt = math.floor(f.cwnd / (target - f.cwnd)) if target > f.cwnd else 100.0 * f.cwnd
    if f.W_max == 0.0:
        f.cnt = min(f.cnt, FIRST_CNT)


@jit
def keep_up_with_reno(f, p):
    """The window of Reno with this beta: one packet more per 15/8 windows acknowledged."""
    scale = math.floor(math.floor(8.0 * (SCALE + kept(p)) / 3.0) / (SCALE - kept(p)))
    per_packet = max(math.floor(f.cwnd * scale / 8.0), 1.0)
    while f.acks > per_packet:
        f.acks -= per_packet
        f.W_reno += 1.0
    if f.W_reno > f.cwnd:
        f.cnt = min(f.cnt, math.floor(f.cwnd / (f.W_reno - f.cwnd)))


@jit
def renew_cnt(f, p, acked):
    """Acknowledged packets per packet of growth (bictcp_update)."""
    now = math.floor(f.now / p.tick_s)
    f.acks += acked
    if f.cwnd == f.last_cwnd and now - f.last_tick <= math.floor(ticks_per_s(p) / CNT_KEPT_PER_S):
        return
    if f.epoch_start == 0.0 or now != f.last_tick:
        f.last_cwnd = f.cwnd
        f.last_tick = now
        if f.epoch_start == 0.0:
            start_epoch(f, p, now, acked)
        follow_curve(f, p, now)
    if p.tcp_friendly != 0.0:
        keep_up_with_reno(f, p)
    f.cnt = max(f.cnt, LEAST_CNT)


@jit
def on_ack(f, p):
    acked = f.acked
    if f.cwnd < f.ssthresh:
        if p.hystart != 0.0:
            watch_slow_start(f, p)
        # up to the threshold; the rest of a stretch ACK counts past it
        reached = math.floor(min(f.cwnd + acked, f.ssthresh))
        acked -= reached - f.cwnd
        f.cwnd = reached
    if acked > 0.0:
        renew_cnt(f, p, acked)
        count_acks_as_linux_6(f, f.cnt, acked)


@jit
def on_loss(f, p):
    f.epoch_start = 0.0
    if p.fast_convergence != 0.0 and f.cwnd < f.W_max:
        f.W_max = math.floor(f.cwnd * (SCALE + kept(p)) / (2.0 * SCALE))
    else:
        f.W_max = f.cwnd
    f.ssthresh = max(math.floor(f.cwnd * kept(p) / SCALE), MIN_WINDOW_PKTS)


@jit
def on_timeout(f, p):
    """Set the threshold, then reset the state (bictcp_reset, bictcp_hystart_reset)."""
    on_loss(f, p)
    f.W_max = f.K = f.origin = f.W_reno = f.acks = 0.0
    f.cnt = f.last_cwnd = f.last_tick = 0.0
    start_round(f)


# ---------------------------------------------------------------- HyStart


@jit
def start_round(f):
    f.round_start = f.now
    f.train_end = f.now
    f.round_samples = 0.0


@jit
def train_is_long(f, p):
    """ACKs at most 2 ms apart have arrived for half the least RTT."""
    if f.now - f.train_end > HYSTART_SPACING_S:
        return False
    f.train_end = f.now
    return f.now - f.round_start > (f.rtt_min + p.ack_delay_s) / 2.0


@jit
def delay_has_grown(f):
    """The least RTT of the round, after eight, is above the least of all by an eighth of it, or by 4 or 16 ms."""
    f.round_rtt = f.rtt if f.round_samples == 0.0 else min(f.round_rtt, f.rtt)
    if f.round_samples < HYSTART_SAMPLES:
        f.round_samples += 1.0
        return False
    more_s = min(max(f.rtt_min / 8.0, HYSTART_DELAY_MIN_S), HYSTART_DELAY_MAX_S)
    return f.round_rtt > f.rtt_min + more_s


@jit
def watch_slow_start(f, p):
    """Slow start ends at this window when the path appears full (hystart_update)."""
    if f.now - f.rtt >= f.round_start - SAME_TIME_S:
        start_round(f)  # the acknowledged packet was sent in the last round
    if f.cwnd < HYSTART_LOW_WINDOW_PKTS:
        return
    if train_is_long(f, p):
        f.ssthresh = f.cwnd
    if delay_has_grown(f):
        f.ssthresh = f.cwnd
