"""TCP Westwood+: Reno's increase; after a loss the window is the estimated bandwidth times the least RTT.

Sources: Mascolo, Casetti, Gerla, Sanadidi and Wang, MobiCom 2001, section 2; Linux 2.6.22 (net/ipv4/tcp_westwood.c),
which has this filter: one bandwidth sample per RTT, of at least 50 ms, through two equal low-pass filters. As there,
the RTTs are smoothed, ssthresh may be less than half of the window, and a timeout halves it. The estimate at the end of
a recovery applies, so ssthresh follows it until then.

With ``stack: ns2`` it is the module as ns-2's TCP-Linux runs it. That never signals the end of a recovery
(CA_EVENT_COMPLETE_CWR), so the flow enters recovery with the estimated window (min_cwnd) and leaves it with at least
half of the old one (ssthresh), which is more after slow start and with queues above the BDP. Clock, RTT and rate are
integers there, of milliseconds and of bytes per millisecond; the shares of flows with short RTTs depend on that.

With ``stack: linux_6`` the module has a clock too. Its least RTT is that of a single ACK, not of the smoothed RTTs: among four
flows with windows of ten packets its share falls by a fifth. A recovery aims at half of the window and ends at the estimate.

The paper samples at every ACK with a filter that depends on its spacing, and takes bandwidth times RTT_min after a
timeout too (Linux: only with F-RTO, off in 2.6.22). ns-3's TcpWestwoodPlus samples once per RTT too, through one
Tustin filter.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import (
    LINUX_6,
    LINUX_HZ,
    MIN_WINDOW_PKTS,
    NS2,
    Param,
    additive_increase,
    decrease_to,
    rounded_down,
    slow_start,
    ticks,
)
from tcpfair.jit import jit

PARAMS = (
    Param("bw_gain", 0.125, "1", "Linux 2.6.22: (7 a + b) / 8, twice"),
    Param("bw_sample_min_s", 0.05, "s", "Linux 2.6.22: TCP_WESTWOOD_RTT_MIN"),
    Param("mss_bytes", 1500.0, "bytes", "ns-2: packetSize_, for its rates in whole bytes per millisecond"),
)
STATE = (
    *("bw_sample_start_s", "bw_sample_pkts", "bw_first_pps", "bw_pps", "srtt_min_s", "recovering"),
    *(
        "srtt_eighths_ms",
        "rtt_ticks",
        "rtt_min_ticks",
        "sample_start_ticks",
        "first_bytes_per_tick",
        "bytes_per_tick",
    ),  # by a clock
)
HALVING_FLOOR = 1.0
WHOLE = True


@jit
def take_bandwidth_sample(f, p, sample_pps):
    """Both filters start at the first sample."""
    if f.bw_pps == 0.0:
        f.bw_first_pps = sample_pps
        f.bw_pps = sample_pps
    else:
        f.bw_first_pps += p.bw_gain * (sample_pps - f.bw_first_pps)
        f.bw_pps += p.bw_gain * (f.bw_first_pps - f.bw_pps)


@jit
def take_in_ticks(f, p, rtt_ticks, ticks_per_s):
    """``on_every_ack`` by a kernel's clock, in whole ticks and bytes: each filter rounds down."""
    now_ticks = math.floor(f.now * ticks_per_s)
    if f.rtt_min_ticks == 0.0:
        f.sample_start_ticks = now_ticks
        f.rtt_min_ticks = rtt_ticks
    f.rtt_min_ticks = min(f.rtt_min_ticks, rtt_ticks)
    elapsed_ticks = now_ticks - f.sample_start_ticks
    if elapsed_ticks > max(rtt_ticks, math.floor(p.bw_sample_min_s * ticks_per_s)):
        sample = math.floor(f.bw_sample_pkts * p.mss_bytes / elapsed_ticks)
        if f.first_bytes_per_tick == 0.0 and f.bytes_per_tick == 0.0:
            f.first_bytes_per_tick = f.bytes_per_tick = sample
        else:
            f.first_bytes_per_tick = math.floor((7.0 * f.first_bytes_per_tick + sample) / 8.0)
            f.bytes_per_tick = math.floor((7.0 * f.bytes_per_tick + f.first_bytes_per_tick) / 8.0)
        f.sample_start_ticks = now_ticks
        f.bw_sample_pkts = 0.0
    f.bw_sample_pkts += f.acked


@jit
def smoothed_rtt_of_ns2(f):
    """In whole ms (tcp-linux.cc, rtt_update and JIFFY_RATIO)."""
    rtt_ms = max(math.floor(f.rtt * 1e3 + 0.5), 1.0)
    if f.srtt_eighths_ms == 0.0:
        f.srtt_eighths_ms = 8.0 * rtt_ms
    else:
        f.srtt_eighths_ms += rtt_ms - math.floor(f.srtt_eighths_ms / 8.0)
    return math.floor(f.srtt_eighths_ms / 8.0)


@jit
def window_in_ticks(f, p):
    """``bandwidth_delay_pkts`` by a kernel's clock (tcp_westwood_bw_rttmin)."""
    return max(math.floor(f.bytes_per_tick * f.rtt_min_ticks / p.mss_bytes), MIN_WINDOW_PKTS)


@jit
def bandwidth_delay_pkts(f):
    """The window that fills the path without a queue."""
    return max(rounded_down(f, f.bw_pps * f.srtt_min_s), MIN_WINDOW_PKTS)


@jit
def on_every_ack(f, p):
    if f.whole == NS2:
        take_in_ticks(f, p, smoothed_rtt_of_ns2(f), 1e3)
        return
    if f.whole == LINUX_6:
        if f.repaired == 0.0:
            f.rtt_ticks = ticks(f.rtt)
        take_in_ticks(f, p, f.rtt_ticks, LINUX_HZ)
        return
    if f.srtt_min_s == 0.0:
        f.bw_sample_start_s = f.now
        f.srtt_min_s = f.srtt
    f.srtt_min_s = min(f.srtt_min_s, f.srtt)
    elapsed_s = f.now - f.bw_sample_start_s
    if elapsed_s > max(f.srtt, p.bw_sample_min_s):
        take_bandwidth_sample(f, p, f.bw_sample_pkts / elapsed_s)
        f.bw_sample_start_s = f.now
        f.bw_sample_pkts = 0.0
    f.bw_sample_pkts += f.acked  # this ACK ends the old interval and counts in the new one
    if f.recovering != 0.0:
        f.ssthresh = bandwidth_delay_pkts(f)


@jit
def on_ack(f, p):
    if f.whole == LINUX_6 and f.recovering != 0.0:
        f.cwnd = f.ssthresh = window_in_ticks(f, p)  # CA_EVENT_COMPLETE_CWR
    f.recovering = 0.0
    if not slow_start(f):
        additive_increase(f, 1.0)


@jit
def on_loss(f, p):
    if f.whole == NS2:
        decrease_to(f, 0.5)
        f.min_cwnd = window_in_ticks(f, p)
        return
    f.recovering = 1.0
    if f.whole == LINUX_6:
        decrease_to(f, 0.5)
        return
    f.ssthresh = bandwidth_delay_pkts(f)


@jit
def on_timeout(f, p):
    decrease_to(f, 0.5)
    if f.whole == LINUX_6:
        f.ssthresh = window_in_ticks(f, p)
        f.rtt_min_ticks = math.inf  # the next ACK sets it (CA_EVENT_LOSS)
    f.recovering = 0.0
