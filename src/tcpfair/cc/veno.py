"""TCP Veno: Reno that grows half as fast with a queue of its own, and loses less to a loss without one.

Sources: Fu and Liew, IEEE JSAC 21(2), 2003, section II; Linux 2.6.22 (net/ipv4/tcp_veno.c), the steps here: the
backlog N comes from the RTT of the latest ACK, in half packets rounded up, so that 2.5 packets are still below beta.
The paper smooths the RTT and forgets RTT_min at every loss. The kernel's window grows by one per cwnd + 1 ACKs, here
per cwnd ACKs. ns-3's TcpVeno is the same but for its integer window.
"""

from __future__ import annotations

from tcpfair.cc.api import Param, additive_increase, decrease_to, slow_start
from tcpfair.cc.vegas import backlog_pkts
from tcpfair.jit import jit

PARAMS = (Param("beta", 3.0, "packets", "Fu 2003 II; Linux 2.6.22: 3 << V_PARAM_SHIFT half packets"),)
STATE = ("backlog",)


@jit
def on_ack(f, p):
    f.backlog = backlog_pkts(f.cwnd, f.rtt_min, f.rtt)
    if slow_start(f):
        return
    # Fu 2003 II: the available bandwidth is used up from N = beta on, one packet every other RTT
    additive_increase(f, 1.0 if f.backlog < p.beta else 0.5)


@jit
def on_loss(f, p):
    # Fu 2003 II: a loss without a backlog is most likely random
    decrease_to(f, 0.8 if f.backlog < p.beta else 0.5)
