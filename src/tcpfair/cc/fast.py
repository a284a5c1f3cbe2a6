"""FAST TCP: the window goes to where alpha packets of the flow are queued.

Source: Jin, Wei and Low, INFOCOM 2004, section IV. The window is updated in one RTT, spread over its ACKs, and kept in
the next; updates are at least 20 ms apart. A loss halves the window. alpha must be set by the capacity: the authors'
code reportedly used 8, 20 and 200 packets at 10, 100 and 1000 Mb/s, chosen by a flow's throughput, which is not
modelled. The paper does not state how slow start ends: here when the least RTT of a round shows alpha packets in the
queue. Its optional exponential growth without a queue is not modelled. In neither Linux nor ns-3.
"""

from __future__ import annotations

from tcpfair.cc.api import MIN_WINDOW_PKTS, Param, decrease_to, slow_start
from tcpfair.jit import jit

PARAMS = (
    Param("alpha", 200.0, "packets", "authors' code at 1 Gb/s, reported; 20 at 100 Mb/s, 8 at 10 Mb/s"),
    Param("gamma", 0.5, "1", "authors' code, reported; any value in (0, 1] in the paper"),
    Param("update_rtts", 2.0, "RTTs", "Jin 2004 IV: updated in one RTT, frozen in the next"),
    Param("update_min_s", 0.02, "s", "Jin 2004 IV: updates every 20 ms or less often"),
)
STATE = ("rtt_mean", "rounds", "updated_s", "target", "step")


@jit
def on_every_ack(f, p):
    if f.rtt_mean == 0.0:
        f.rtt_mean = f.rtt
    # Jin 2004 IV: weight min(3 / w, 1/4)
    f.rtt_mean += 3.0 / max(f.cwnd, 12.0) * (f.rtt - f.rtt_mean)


@jit
def on_ack(f, p):
    if slow_start(f):
        return
    if f.cwnd < f.target:
        f.cwnd = min(f.cwnd + f.step * f.acked, f.target)


@jit
def on_round(f, p):
    w = f.cwnd
    if w < f.ssthresh:
        if w * (1.0 - f.rtt_min / f.round_rtt_min) < p.alpha:
            return
        f.ssthresh = w
    f.rounds += 1.0
    if f.rounds < p.update_rtts or f.now - f.updated_s < p.update_min_s:
        return
    f.rounds = 0.0
    f.updated_s = f.now
    # the paper's window rule
    f.target = min(2.0 * w, (1.0 - p.gamma) * w + p.gamma * (f.rtt_min / f.rtt_mean * w + p.alpha))
    f.step = (f.target - w) / w
    if f.target < w:
        f.cwnd = max(f.target, MIN_WINDOW_PKTS)
        f.ssthresh = min(f.ssthresh, f.cwnd)  # no return to slow start


@jit
def on_loss(f, p):
    decrease_to(f, 0.5)
    f.target = 0.0
    f.rounds = 0.0
