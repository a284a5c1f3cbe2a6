"""DCCP CCID 2, TCP-like congestion control.

Source: RFC 4341, section 5. AIMD(1, 1/2) in packets. It differs from TCP in three ways: it does not retransmit; the
receiver acknowledges every second packet whether or not one is missing (Ack Ratio, section 6.1); and the window grows
by the packets that an Ack Vector newly acknowledges (section 5: half of them in slow start), so delayed ACKs do not
slow it down. Congestion control of the ACKs themselves (section 6.1.1) is not modelled: the return path is not
congested here. With ``stack: ns2`` it is ns-2's DCCP/TCPlike (dccp/dccp_tcplike.cc): whole windows that may fall to one
packet, slow start by all acknowledged packets, up to two per ACK; there the engine sets the Ack Ratio to 2 and ignores
the receive window. Not modelled: TCPlike's limit of 253 bytes for its Ack Vector, and its handshake.

With ``stack: linux_6`` it is that of Linux 3.2 and later (net/dccp/ccids/ccid2.c): whole windows that grow a packet at a time;
the engine adapts the Ack Ratio, lets the window grow before a loss reduces it (endpoint.acknowledge_as_linux), and has TCP's
timer. ``linux_2_6_22`` has the same windows, a constant Ack Ratio and the older timer. Not modelled: its limit of half the Ack
Ratio per ACK in slow start, which binds where an ACK covers more packets, its RTT samples of all packets of an ACK, the reduction
of windows that the application does not use, and windows of one packet.
"""

from __future__ import annotations

import math

from tcpfair.cc.api import LINUX_6, NS2, Param, decrease_to
from tcpfair.jit import jit

PARAMS = (Param("b", 0.5, "1", "RFC 4341, section 5; RFC 5681, eq. 4", least=0.0, most=1.0),)
STATE = ()
RELIABLE = False
WHOLE = True
ACK_RATIO = 2.0


@jit
def grow_as_ns2(f):
    """DCCPTCPlikeAgent::updateCwnd: the remainder of slow start counts in congestion avoidance."""
    acked = f.acked
    if f.cwnd < f.ssthresh:
        step = min(acked, ACK_RATIO)
        acked -= step
        f.cwnd += step
        if f.cwnd < f.ssthresh:
            return
        acked += f.cwnd - f.ssthresh
        f.cwnd = f.ssthresh
        f.cwnd_cnt = 0.0
    f.cwnd_cnt += acked
    while f.cwnd_cnt >= f.cwnd:
        f.cwnd_cnt -= f.cwnd
        f.cwnd += 1.0


@jit
def grow_as_linux_6(f):
    """ccid2_new_ack, for each packet of the Ack Vector."""
    for _ in range(int(f.acked)):
        f.cwnd_cnt += 1.0
        if f.cwnd_cnt >= (2.0 if f.cwnd < f.ssthresh else f.cwnd):
            f.cwnd += 1.0
            f.cwnd_cnt = 0.0


@jit
def on_ack(f, p):
    if f.whole == NS2:
        grow_as_ns2(f)
    elif f.whole == LINUX_6:
        grow_as_linux_6(f)
    elif f.cwnd < f.ssthresh:
        # one packet per two newly acknowledged ones
        f.cwnd += f.acked / 2.0
    else:
        f.cwnd += f.acked / f.cwnd


@jit
def on_loss(f, p):
    if f.whole == NS2:
        f.ssthresh = max(math.floor(p.b * f.cwnd), 1.0)
    else:
        decrease_to(f, p.b)
