"""H-TCP: the increase grows with the time since the last loss; the decrease just empties the queue.

Sources: Leith and Shorten, PFLDnet 2004 (increase, adaptive backoff); draft-leith-tcp-htcp-06 (RTT scaling); the exact
steps from Linux 2.6.22 (net/ipv4/tcp_htcp.c), where

* time counts from the end of the last recovery;
* RTTs are whole milliseconds (the clock ticks of HZ = 1000), the increase before and after scaling is an integer;
* RTT scaling divides by 100 ms over the least smoothed RTT, in eighths within 0.5 and 10;
* one packet of growth takes the ACKs of a window over the increase, rounded up, and one more ACK; with whole windows
  (``f.whole``) the increase is that at the last growth or loss, so the first packet after a recovery comes at the pace
  before it;
* RTT_max follows the smoothed RTT, from four RTT_min after a recovery on and by 20 ms at a time, and shrinks by a
  twentieth at each loss;
* the backoff adapts from the second loss on whose throughput was within 20 % of that at the loss before.

With ``stack: linux_6``, as in 6.1, RTTs are those of single ACKs in whole ticks of 4 ms, rounded up, and RTT_max follows
them as soon as a recovery has ended.

The paper neither rounds nor filters the RTTs. beta is in 1/128 only with whole windows. Not modelled: the kernel's undo
of a spurious reduction. ns-3's TcpHtcp has no RTT scaling and resets the RTTs at each loss.

``linux_2_6_13 = 1`` is the module of that kernel (ha2006), read at tag v2.6.13 of Linux's history, with any window
arithmetic. Later commits fixed the differences:

* 50bf3e22 of March 2006, "Better time accounting": time is a number of RTTs since the loss times RTT_min. An RTT is
  counted when the ACKs since the last one exceed the window by one, which delayed ACKs make two round trips; the number
  has eight bits and wraps after 255 (4 s at 16 ms). The increase is recomputed at that count and at a loss;
* 2c74088e of January 2006, "Fix accounting": each packet of growth counts as an RTT too, so a fast increase accelerates itself;
* 0bc6d90b of March 2006, "Account for delayed-ACKs": an ACK counts as one packet, however many it acknowledges;
* 2a272f98 of October 2006, "fix integer overflow": the increase, in 1/128, has 16 bits and wraps at 512 packets.

Its clock has the kernel's ticks: 1 ms here, 4 ms with HZ = 250, the default that 2.6.13 brought (kernel/Kconfig.hz).
"""

from __future__ import annotations

import math

from tcpfair.cc.api import LINUX_6, LINUX_HZ, TEXT, Param, decrease_to, rounded_down, slow_start, ticks
from tcpfair.jit import jit

PARAMS = (
    Param("delta_L_s", 1.0, "s", "Leith 2004: Delta_L; Linux 2.6.22: HZ"),
    Param("beta_min", 0.5, "1 (kept)", "Leith 2004; Linux 2.6.22: BETA_MIN"),
    Param("beta_max", 102.0 / 128.0, "1 (kept)", "Linux 2.6.22: BETA_MAX; Leith 2004: 0.8"),
    Param("rtt_scaling", 1.0, "0 or 1", "Linux 2.6.22: use_rtt_scaling"),
    Param("adaptive_backoff", 1.0, "0 or 1", "Leith 2004 (0: beta_min always)"),
    Param("bandwidth_switch", 1.0, "0 or 1", "Linux 2.6.22: use_bandwidth_switch; Leith 2004"),
    Param("linux_2_6_13", 0.0, "0 or 1", "Linux 2.6.13 net/ipv4/tcp_htcp.c: time in RTTs, ACKs for packets"),
)
STATE = (
    "increase",  # packets per RTT: alpha
    "beta",  # part of the window kept at the last loss
    "epoch_start",  # end of the last recovery, s
    "recovering",  # 1 from a loss to the first ACK that may open the window
    "least_rtt_ms",
    "largest_rtt_ms",
    "adapting",  # 1: the backoff may adapt at the next loss
    "counted",  # packets acknowledged
    "counted_from",  # since this time, s
    "B",  # throughput, packets/s
    "B_max",  # and its maximum in this epoch
    "B_last",  # and at the loss before
    "rtts",  # round trips since the last loss as Linux 2.6.13 counts them, modulo 256
    "rtt_acks",  # ACKs since the last of them
)
HALVING_FLOOR = 1.0
WHOLE = True

TICK_MS = 1000.0 / LINUX_HZ
SHORT_RTT_S = 0.01  # of a LAN: the backoff does not adapt
# Linux 2.6.13: eight bits for the round trips (ccount), sixteen for the increase in 1/128 (alpha)
COUNTED_RTTS = 256.0
COUNTED_INCREASE_PKTS = 512.0


@jit
def early(f, p):
    """Not yet four round trips since the last loss."""
    if p.linux_2_6_13 != 0.0:
        return f.rtts <= 3.0
    return f.now - f.epoch_start < 4.0 * f.least_rtt_ms / 1000.0


@jit
def on_every_ack(f, p):
    """Throughput per RTT, outside recovery."""
    if f.whole == LINUX_6 and f.repaired == 0.0:
        measure(f, p, ticks(f.rtt) * TICK_MS)
    if f.epoch_start == 0.0:
        f.epoch_start = f.now
        f.counted_from = f.now
    if f.recovering != 0.0:
        f.counted = 0.0
        f.counted_from = f.now
        return
    f.counted += f.acked
    elapsed_s = f.now - f.counted_from
    rtt_s = f.least_rtt_ms / 1000.0
    if f.counted < f.cwnd - max(f.increase, 1.0) or elapsed_s < rtt_s or rtt_s == 0.0:
        return
    measured = f.counted / elapsed_s
    if early(f, p):
        f.B = measured
        f.B_max = measured
    else:
        f.B = (3.0 * f.B + measured) / 4.0
        f.B_max = max(f.B_max, f.B)
    f.counted = 0.0
    f.counted_from = f.now


@jit
def measure(f, p, rtt_ms):
    """An RTT, in ms, may be the least or the largest."""
    if rtt_ms < f.least_rtt_ms or f.least_rtt_ms == 0.0:
        f.least_rtt_ms = rtt_ms
    if f.recovering == 0.0 if f.whole == LINUX_6 else not early(f, p):
        f.largest_rtt_ms = max(f.largest_rtt_ms, f.least_rtt_ms)
        if rtt_ms <= f.largest_rtt_ms + 20.0:
            f.largest_rtt_ms = max(f.largest_rtt_ms, rtt_ms)


@jit
def pkts_per_rtt(f, p):
    """alpha = 2 (1 - beta) (1 + 10 (t - Delta_L) + ((t - Delta_L) / 2)^2), scaled by the RTT."""
    factor = 1.0
    t = (f.rtts * f.least_rtt_ms / 1000.0 if p.linux_2_6_13 != 0.0 else f.now - f.epoch_start) - p.delta_L_s
    if t > 0.0:
        factor += math.floor(10.0 * t + t * t / 4.0)
    if p.rtt_scaling != 0.0 and f.least_rtt_ms > 0.0:
        # 100 ms over the RTT
        eighths = min(max(math.floor(800.0 / f.least_rtt_ms), 4.0), 80.0)
        factor = max(math.floor(8.0 * factor / eighths), 1.0)
    # gives this beta the mean rate of AIMD(1, 1/2)
    increase = 2.0 * (1.0 - max(f.beta, p.beta_min)) * factor
    if p.linux_2_6_13 != 0.0:
        increase %= COUNTED_INCREASE_PKTS
        return increase if increase > 0.0 else 1.0
    return increase


@jit
def grow_by_acks(f, p):
    """The window of Linux 2.6.13: ACKs count for growth and for round trips."""
    if f.rtt_acks > f.cwnd:
        f.rtts = (f.rtts + 1.0) % COUNTED_RTTS
        f.rtt_acks = 0.0
        f.increase = pkts_per_rtt(f, p)
    else:
        f.rtt_acks += 1.0
    if f.cwnd_cnt * (f.increase if f.increase > 0.0 else 1.0) >= f.cwnd:
        f.cwnd += 1.0
        f.cwnd_cnt = 0.0
        f.rtts = (f.rtts + 1.0) % COUNTED_RTTS
    else:
        f.cwnd_cnt += 1.0


@jit
def on_ack(f, p):
    if f.recovering != 0.0:
        f.recovering = 0.0
        f.epoch_start = f.now
    if slow_start(f):
        return
    if f.whole != LINUX_6:
        measure(f, p, math.floor(1000.0 * f.srtt))
    if p.linux_2_6_13 != 0.0:
        grow_by_acks(f, p)
        return
    if f.whole != TEXT:
        if f.cwnd_cnt * (f.increase if f.increase > 0.0 else 1.0) < f.cwnd:
            f.cwnd_cnt += f.acked
        else:
            f.cwnd += 1.0
            f.cwnd_cnt = 0.0
            f.increase = pkts_per_rtt(f, p)
        return
    f.increase = pkts_per_rtt(f, p)
    f.cwnd += 1.0 / (math.ceil(math.floor(f.cwnd) / (f.increase * f.acked)) + 1.0)


@jit
def on_loss(f, p):
    f.recovering = 1.0
    short_rtt_ms = ticks(SHORT_RTT_S) * TICK_MS if f.whole == LINUX_6 else 1000.0 * SHORT_RTT_S
    steady = abs(f.B_max - f.B_last) <= 0.2 * f.B_last
    f.B_last = f.B_max
    f.beta = p.beta_min
    if p.bandwidth_switch != 0.0 and not steady:
        f.adapting = 0.0
    elif f.adapting == 0.0 or f.least_rtt_ms <= short_rtt_ms or f.largest_rtt_ms == 0.0:
        f.adapting = 1.0
    elif p.adaptive_backoff != 0.0:
        f.beta = min(max(rounded_down(f, f.least_rtt_ms / f.largest_rtt_ms, 128.0), p.beta_min), p.beta_max)
    if f.whole != TEXT or p.linux_2_6_13 != 0.0:
        f.increase = pkts_per_rtt(f, p)
    f.epoch_start = f.now
    f.rtts = 0.0
    f.rtt_acks = 0.0
    if f.largest_rtt_ms > f.least_rtt_ms:
        f.largest_rtt_ms = f.least_rtt_ms + 0.95 * (f.largest_rtt_ms - f.least_rtt_ms)
    decrease_to(f, f.beta)
