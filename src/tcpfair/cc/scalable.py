"""Scalable TCP: a fixed part of a packet per ACK, an eighth off at a loss.

Sources: Kelly, Computer Communication Review 33(2), 2003 (0.01 packets per ACK, decrease 0.125); the constants are
those of Linux 2.6.22 (net/ipv4/tcp_scalable.c), which uses 50 instead of 100 ACKs a packet to compensate for delayed
ACKs, without checking for them. It has neither Kelly's legacy window of 16 packets, below which TCP is Reno, nor its
halving there: below 50 packets the window grows as Reno's, and every loss removes an eighth. The kernel's counter must
exceed 50, so one packet takes 51 ACKs (below, the window plus one). Its stack halves the packets in flight in recovery
for any threshold, and slow start raises the window again: the engine's part. ns-3's TcpScalable takes 50 ACKs. Linux
2.6.13 (ha2006) has the same rules.
"""

from __future__ import annotations

from tcpfair.cc.api import TEXT, Param, count_acks, decrease_by, slow_start
from tcpfair.jit import jit

PARAMS = (
    Param("ai_cnt", 50.0, "ACKs", "Linux 2.6.22: TCP_SCALABLE_AI_CNT; Kelly 2003: 1/a = 100"),
    Param("beta", 0.125, "1", "Kelly 2003: b; Linux 2.6.22: 2^-TCP_SCALABLE_MD_SCALE"),
)
STATE = ()
WHOLE = True


@jit
def on_ack(f, p):
    if slow_start(f):
        return
    cnt = min(f.cwnd, p.ai_cnt)
    if f.whole != TEXT:
        count_acks(f, cnt, f.growth)
    else:
        f.cwnd += f.growth / (cnt + 1.0)


@jit
def on_loss(f, p):
    decrease_by(f, p.beta)
