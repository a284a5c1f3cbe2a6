"""TCP-LP: leaves the link to others as soon as the one-way delay rises.

Sources: Kuzmanovic and Knightly, INFOCOM 2003, section III; Linux 2.6.22 (net/ipv4/tcp_lp.c), the steps here: an early
indication of congestion halves the window and starts an inference phase of three RTTs without growth; a second one
during it sets the window to one packet. The delay comes from timestamps of 1 ms, smoothed by 1/8.

The paper keeps the least and largest delay; Linux replaces them at every indication by once and twice the smoothed
delay, and leaves ssthresh alone, so that slow start follows. That makes the *absolute* delay count: here the clocks of
both ends agree, as in ns-2, and the way back takes the share ``way_back`` of the least RTT. Between real hosts the
offset of their clocks is added. Not modelled: indications during recovery, and the kernel's guess of the receiver's
clock rate, which after random losses may exceed 1000 Hz; an integer division then makes the delay as large as the
clock. ns-3's TcpLp follows the same kernel file.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import Param, additive_increase, slow_start
from tcpfair.jit import jit

PARAMS = (
    Param("delta_percent", 15.0, "%", "Kuzmanovic 2003 III: delta; Linux 2.6.22: 15/100"),
    Param("inference_rtts", 3.0, "RTTs", "Kuzmanovic 2003 III; Linux 2.6.22"),
    Param("clock_s", 0.001, "s", "Linux 2.6.22: LP_RESOL; HZ = 1000"),
    Param("way_back", 0.5, "1", "not measured: half of the least RTT, a symmetric path"),
)
STATE = ("owd8", "owd_min", "owd_max", "owd_max_next", "early_s")


@jit
def one_way_delay(f, p):
    """From the stamp of the packet to that of its ACK, ticks."""
    received_s = f.now - p.way_back * f.rtt_min
    return math.floor(received_s / p.clock_s + 0.5) - math.floor((f.now - f.rtt) / p.clock_s + 0.5)


@jit
def on_every_ack(f, p):
    delay = one_way_delay(f, p)
    if delay <= 0.0:
        return
    if f.owd8 == 0.0:
        f.owd8 = 8.0 * delay
        f.owd_min = delay
    else:
        f.owd8 += delay - math.floor(f.owd8 / 8.0)
    f.owd_min = min(f.owd_min, delay)
    if delay > f.owd_max:
        # the largest but one, so that an outlier counts only when it comes again
        if delay <= f.owd_max_next or f.owd_max_next == 0.0:
            f.owd_max = delay
        else:
            f.owd_max = f.owd_max_next
        f.owd_max_next = max(f.owd_max_next, delay)


@jit
def on_ack(f, p):
    inferring = f.early_s > 0.0 and f.now - f.early_s < p.inference_rtts * f.rtt
    smoothed = math.floor(f.owd8 / 8.0)
    threshold = f.owd_min + math.floor(p.delta_percent * (f.owd_max - f.owd_min) / 100.0)
    if f.owd8 > 0.0 and smoothed >= threshold:
        f.owd_min = smoothed
        f.owd_max = math.floor(f.owd8 / 4.0)
        f.owd_max_next = f.owd_max
        f.cwnd = 1.0 if inferring else max(f.cwnd / 2.0, 1.0)
        f.early_s = f.now
    if not inferring and not slow_start(f):
        additive_increase(f, 1.0)
