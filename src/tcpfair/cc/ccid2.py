"""DCCP CCID 2, TCP-like congestion control.

Source: RFC 4341, section 5. AIMD(1, 1/2) in packets. Three things set it apart from TCP: nothing is sent again; the
receiver acknowledges every second packet whether or not one is missing (Ack Ratio, section 6.1); and the window grows
by the packets that an Ack Vector newly acknowledges (section 5: half of them in slow start), so delayed ACKs do not
slow it down.
Congestion control of the ACKs themselves (section 6.1.1) is left out: the return path is not congested here.
ns-2's TCPlike bounds its Ack Vector to 253 bytes, which is not modelled.
"""

from __future__ import annotations

from tcpfair.cc.api import Param, decrease_to
from tcpfair.jit import jit

PARAMS = (Param("b", 0.5, "1", "RFC 4341, section 5; RFC 5681, eq. 4"),)
STATE = ()
RELIABLE = False


@jit
def on_ack(f, p):
    if f.cwnd < f.ssthresh:
        # one packet for every two newly acknowledged ones
        f.cwnd += f.acked / 2.0
    else:
        f.cwnd += f.acked / f.cwnd


@jit
def on_loss(f, p):
    decrease_to(f, p.b)
