"""CUBIC of the IETF.

Source: RFC 9438, sections 4.1 to 4.8 and 4.10. As in ``cubic``, beta is the part that a loss removes: 1 - beta_cubic.
Unlike Linux it looks one smoothed RTT ahead, its target is between 1 and 1.5 windows, and the Reno-friendly window
applies at once. That grows as Reno's after it has returned to the window before the reduction. Where cwnd = W_est would
shrink the window, the window stays. Not modelled: HyStart++ (RFC 9406), spurious reductions undone (section 4.9), ECN.
ns-3's TcpCubic follows Linux.
"""

from __future__ import annotations

from tcpfair.cc.api import Param, slow_start
from tcpfair.cc.cubic import HALVING_FLOOR, reduce, start_epoch
from tcpfair.jit import jit

__all__ = ["HALVING_FLOOR", "PARAMS", "STATE", "on_ack", "on_loss", "on_timeout"]

PARAMS = (
    Param("C", 0.4, "packets/s^3", "RFC 9438 5", least=1e-6),
    Param("beta", 0.3, "1", "RFC 9438 4.6: beta_cubic = 0.7"),
    Param("fast_convergence", 1.0, "0 or 1", "RFC 9438 4.7"),
    Param("tcp_friendly", 1.0, "0 or 1", "RFC 9438 4.3"),
)
STATE = ("W_max", "K", "epoch_start", "origin", "W_reno", "cwnd_prior")  # W_reno is W_est


@jit
def on_ack(f, p):
    if slow_start(f):
        return
    if f.epoch_start == 0.0:
        start_epoch(f, p)  # section 4.2, eq. 2
    t = f.now - f.epoch_start - f.K
    W_cubic = f.origin + p.C * t * t * t  # eq. 1
    # section 4.3: alpha_cubic is 1 again once W_est is back at the window before the reduction
    alpha = 3.0 * p.beta / (2.0 - p.beta) if f.W_reno < f.cwnd_prior else 1.0
    f.W_reno += alpha * f.acked / f.cwnd  # eq. 4
    if p.tcp_friendly != 0.0 and W_cubic < f.W_reno:
        f.cwnd = max(f.cwnd, f.W_reno)
        return
    # section 4.2: W_cubic(t + RTT), between cwnd and 1.5 cwnd; sections 4.4 and 4.5, concave and convex alike
    t += f.srtt
    target = min(max(f.origin + p.C * t * t * t, f.cwnd), 1.5 * f.cwnd)
    f.cwnd += (target - f.cwnd) / f.cwnd * f.growth


@jit
def on_loss(f, p):
    f.cwnd_prior = f.cwnd
    reduce(f, p)  # sections 4.6 and 4.7


@jit
def on_timeout(f, p):
    on_loss(f, p)
    f.W_max = 0.0  # section 4.8: the next epoch starts with K = 0 and W_max = cwnd
