"""TCP Westwood+: Reno's increase; after a loss the window is the estimated bandwidth times the least RTT.

Sources: Mascolo, Casetti, Gerla, Sanadidi and Wang, MobiCom 2001, section 2; Linux 2.6.22 (net/ipv4/tcp_westwood.c),
whose filter this is: one bandwidth sample per RTT, of 50 ms at least, through two equal low-pass filters. As there,
the RTTs are smoothed ones, ssthresh may be less than half of the window, and a timeout halves it. The estimate counts
that the end of a recovery finds, so ssthresh follows it until then. ns-2's TCP-Linux leaves that event out and keeps
at least half of the window, which is more after slow start and with queues above the BDP.

The paper samples at every ACK with a filter that depends on its spacing, and takes bandwidth times RTT_min after a
timeout too (Linux: only with F-RTO, off in 2.6.22). The kernel's millisecond ticks are not modelled. ns-3's
TcpWestwoodPlus samples once per RTT too, through one Tustin filter.
"""

from __future__ import annotations

from tcpfair.cc.api import MIN_WINDOW_PKTS, Param, additive_increase, decrease_to, slow_start
from tcpfair.jit import jit

PARAMS = (
    Param("bw_gain", 0.125, "1", "Linux 2.6.22: (7 a + b) / 8, twice"),
    Param("bw_sample_min_s", 0.05, "s", "Linux 2.6.22: TCP_WESTWOOD_RTT_MIN"),
)
STATE = ("bw_sample_start_s", "bw_sample_pkts", "bw_first_pps", "bw_pps", "srtt_min_s", "recovering")
HALVING_FLOOR = 1.0


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
def bandwidth_delay_pkts(f):
    """The window that fills the path and no queue."""
    return max(f.bw_pps * f.srtt_min_s, MIN_WINDOW_PKTS)


@jit
def on_every_ack(f, p):
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
    f.recovering = 0.0
    if not slow_start(f):
        additive_increase(f, 1.0)


@jit
def on_loss(f, p):
    f.ssthresh = bandwidth_delay_pkts(f)
    f.recovering = 1.0


@jit
def on_timeout(f, p):
    decrease_to(f, 0.5)
    f.recovering = 0.0
