"""TCP-LP: yields the link to other flows when the one-way delay rises.

Sources: Kuzmanovic and Knightly, INFOCOM 2003, section III; Linux 2.6.22 (net/ipv4/tcp_lp.c), the steps here: an early
indication of congestion halves the window and starts an inference phase of three RTTs without growth; a second one
during it sets the window to one packet. The delay comes from timestamps of 1 ms, smoothed by 1/8. Duplicate ACKs have
no effect, and an ACK for a retransmitted packet gives no delay (pkts_acked without a time stamp), as in ns-2.

The paper keeps the least and largest delay; Linux replaces them at every indication by once and twice the smoothed
delay, and does not change ssthresh, so slow start follows. So the *absolute* delay matters. Here the clocks of both
ends agree, as in ns-2, and the ACK needs half the path's RTT; its wait in a reverse bottleneck counts as the data's.
Between real hosts the offset of their clocks is added.

Linux guesses the rate of the receiver's clock from the time stamps of consecutive ACKs, whose gaps are a few ticks: the
guess drifts, and 1000/guess is an integer. At 1001 Hz it is 0 and at 500 Hz 2, and the delay becomes as large as the
clock itself: an indication, and delays unrelated to the path. ns-3's TcpLp follows the same kernel file.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import Param, additive_increase, slow_start
from tcpfair.jit import jit

PARAMS = (
    Param("delta_percent", 15.0, "%", "Kuzmanovic 2003 III: delta; Linux 2.6.22: 15/100"),
    Param("inference_rtts", 3.0, "RTTs", "Kuzmanovic 2003 III; Linux 2.6.22"),
    Param("clock_s", 0.001, "s", "Linux 2.6.22: 1/LP_RESOL and 1/HZ; HZ = 1000"),
)
STATE = (
    *("owd8", "owd_min", "owd_max", "owd_max_next"),  # delays, ticks; owd8 is eight times the smoothed one
    *("clock_hz", "received", "echoed"),  # guess of the receiver's clock, and the last ACK's time stamps, ticks
    *("early", "inference", "inferring"),  # last indication and length of the phase, ticks; 1 within it
)
WHOLE = True


@jit
def guess_clock(f, hz, received, echoed):
    """63/64 of the old rate and 1/64 of this ACK's, in whole Hz rounded down (tcp_lp_remote_hz_estimator)."""
    if f.received > 0.0 and f.echoed > 0.0 and received != f.received and echoed != f.echoed:
        rate = math.floor(hz * (received - f.received) / (echoed - f.echoed))
        f.clock_hz = f.clock_hz + math.floor((rate - f.clock_hz) / 64.0) if f.clock_hz > 0.0 else rate
    f.received = received
    f.echoed = echoed


@jit
def echoed_tick(f, p):
    """The time stamp that this ACK brings back."""
    return math.floor((f.now - f.rtt) / p.clock_s + 0.5)


@jit
def one_way_delay(f, p):
    """From the stamp of the packet to that of its ACK, ticks; 0 when unknown (tcp_lp_owd_calculator)."""
    hz = math.floor(1.0 / p.clock_s + 0.5)
    received = math.floor(f.answered / p.clock_s + 0.5)
    echoed = echoed_tick(f, p)
    guess_clock(f, hz, received, echoed)
    if f.clock_hz <= 0.0:
        return 0.0
    return abs(received * math.floor(hz / f.clock_hz) - echoed)


@jit
def take_delay(f, delay):
    """Least, largest and smoothed delay (tcp_lp_rtt_sample)."""
    if f.owd8 == 0.0:
        f.owd8 = 8.0 * delay
        f.owd_min = delay
    else:
        f.owd8 += delay - math.floor(f.owd8 / 8.0)
    f.owd_min = min(f.owd_min, delay)
    if delay > f.owd_max:
        # the second largest, so that an outlier counts only when it recurs
        if delay <= f.owd_max_next or f.owd_max_next == 0.0:
            f.owd_max = delay
        else:
            f.owd_max = f.owd_max_next
        f.owd_max_next = max(f.owd_max_next, delay)


@jit
def on_every_ack(f, p):
    # tcp_lp_pkts_acked: of ACKs in order, in recovery too
    if f.advanced == 0.0:
        return
    if f.repaired == 0.0:
        delay = one_way_delay(f, p)
        if delay > 0.0:
            take_delay(f, delay)
    now = math.floor(f.now / p.clock_s)
    echoed = echoed_tick(f, p)
    if now > echoed:
        f.inference = p.inference_rtts * (now - echoed)
    f.inferring = 1.0 if f.early > 0.0 and now - f.early < f.inference else 0.0
    smoothed = math.floor(f.owd8 / 8.0)
    threshold = f.owd_min + math.floor(p.delta_percent * (f.owd_max - f.owd_min) / 100.0)
    if f.owd8 > 0.0 and smoothed >= threshold:
        f.owd_min = smoothed
        f.owd_max = math.floor(f.owd8 / 4.0)
        f.owd_max_next = f.owd_max
        f.cwnd = 1.0 if f.inferring == 1.0 else max(math.floor(f.cwnd / 2.0), 1.0)
        f.early = now


@jit
def on_ack(f, p):
    if f.inferring == 0.0 and not slow_start(f):
        additive_increase(f, 1.0)
