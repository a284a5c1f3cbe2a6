"""TCP Veno: Reno that grows half as fast when it has a backlog, and is reduced less by a loss without one.

Sources: Fu and Liew, IEEE JSAC 21(2), 2003, section II; Linux 2.6.22 (net/ipv4/tcp_veno.c), the steps here: the
backlog N comes from the RTT of the latest ACK, in half packets rounded up, so that 2.5 packets are still below beta.
The paper smooths the RTT and resets RTT_min at every loss. With whole windows (``f.whole``) every other packet of
growth is skipped during a backlog; Linux 6 counts a window of ACKs and one more for it (``count_backlogged``). The
module has no min_cwnd, so Linux lowers the window in recovery only to ssthresh. ns-3's TcpVeno differs only in its
integer window.
"""

from __future__ import annotations

from tcpfair.cc.api import LINUX_6, TEXT, Param, additive_increase, count_acks, decrease_to, grow_as_reno, slow_start
from tcpfair.cc.vegas import backlog_pkts
from tcpfair.jit import jit

PARAMS = (Param("beta", 3.0, "packets", "Fu 2003 II; Linux 2.6.22: 3 << V_PARAM_SHIFT half packets"),)
STATE = ("backlog", "leave_out")
HALVING_FLOOR = 1.0
WHOLE = True


@jit
def on_ack(f, p):
    if f.in_loss != 0.0:
        grow_as_reno(f)  # tcp_veno_state
        return
    f.backlog = backlog_pkts(f.cwnd, f.rtt_min, f.rtt)
    if slow_start(f):
        return
    # Fu 2003 II: the available bandwidth is used up from N = beta on, one packet every other RTT
    if f.whole == TEXT:
        additive_increase(f, 1.0 if f.backlog < p.beta else 0.5)
    elif f.whole == LINUX_6 and f.backlog >= p.beta:
        count_backlogged(f)
    elif count_acks(f, f.cwnd, f.growth) and f.backlog >= p.beta:
        f.leave_out = 1.0 - f.leave_out
        if f.leave_out == 0.0:
            f.cwnd -= 1.0


@jit
def count_backlogged(f):
    """A packet for every second window of ACKs, of which the last one counts in no window (Linux 6: tcp_veno_cong_avoid)."""
    if f.cwnd_cnt < f.cwnd:
        f.cwnd_cnt += f.growth
        return
    f.cwnd_cnt = 0.0
    f.leave_out = 1.0 - f.leave_out
    f.cwnd += f.leave_out


@jit
def on_loss(f, p):
    # Fu 2003 II: a loss without a backlog is most likely random
    decrease_to(f, 0.8 if f.backlog < p.beta else 0.5)
