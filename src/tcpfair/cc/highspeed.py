"""HighSpeed TCP: the larger the window, the faster the increase and the smaller the decrease.

Source: RFC 3649, section 5; the table is computed at import by the rule of its appendix B. Linux 2.6.22
(net/ipv4/tcp_highspeed.c) has the same windows except the last, and decreases rounded down to 1/256. This module reads
the table as Linux does: a row applies up to its window, but in the RFC from its window on. So the increase is one
packet per RTT larger (two from a window of 39 instead of 118). As in Linux, only growth in congestion avoidance looks
up the row: the loss that ends the first slow start halves. Its whole windows (``f.whole``) grow when the counter, to
which every ACK adds the increase, reaches the window; the excess remains. Its stack halves the packets in flight in
recovery for any threshold, and slow start raises the window again: the engine's part. ns-3's TcpHighSpeed reads the
table as the kernel does.

``linux_2_6_13 = 1`` is the module of that kernel (ha2006), read at tag v2.6.13 of Linux's history. Later commits fixed
the differences:

* 6150c22e of July 2006, "Fix AI updates": the row rises with the window and never falls, so a flow that was once large
  keeps the increase and the small decrease of a large window;
* fb80a6e1 of June 2006: the increase is that of the row before, the RFC's; row 1 has none, so a window of up to 38
  packets stays;
* 5528e568 of May 2006: the window, already a packet larger, is taken from the counter.

Limited slow start (RFC 3742) came with 738980ff in June 2006: 2.6.13 has none. In 2.6.22 it is off by default.
"""

from __future__ import annotations

import math

import numpy as np

from tcpfair.cc.api import TEXT, Param, additive_increase, decrease_by, slow_start
from tcpfair.jit import jit

LOW_WINDOW, HIGH_WINDOW, HIGH_DECREASE = 38, 83000, 0.1  # RFC 3649, section 5 (window in packets)
ROWS = 72


def aimd_table() -> tuple[np.ndarray, np.ndarray]:
    """Windows (packets) and decreases at a loss of rows 1 to 72 of RFC 3649, appendix B."""
    w = np.arange(LOW_WINDOW, 100_000, dtype=float)
    # section 5: b(w) linear in log w from 0.5 to 0.1
    b = (HIGH_DECREASE - 0.5) * np.log(w / LOW_WINDOW) / math.log(HIGH_WINDOW / LOW_WINDOW) + 0.5
    # section 5: a(w) = w^2 p(w) 2 b(w) / (2 - b(w)), p(w) = 0.078 / w^1.2 (1/12.8 in appendix B)
    a = w**0.8 * 2.0 * b / ((2.0 - b) * 12.8)
    rows = [0]
    a_row = 1.0
    while len(rows) < ROWS:
        # appendix B: the next row is where a(w) exceeds that of the last row by more than one
        rows.append(int(np.argmax(a > a_row + 1.0)))
        a_row = a[rows[-1]]
    return w[rows], np.floor(256.0 * b[rows]) / 256.0


ROW_WINDOW, ROW_DECREASE = aimd_table()

PARAMS = (Param("linux_2_6_13", 0.0, "0 or 1", "Linux 2.6.13 net/ipv4/tcp_highspeed.c: rows that never fall"),)
STATE = ("table_row",)  # from zero: row 1 of the RFC
WHOLE = True


@jit
def on_ack(f, p):
    if slow_start(f):
        return
    row = int(f.table_row)
    while row < ROWS - 1 and f.cwnd > ROW_WINDOW[row]:
        row += 1
    if p.linux_2_6_13 == 0.0:
        while row > 0 and f.cwnd <= ROW_WINDOW[row - 1]:
            row -= 1
    f.table_row = row
    increase = row + 1.0 if p.linux_2_6_13 == 0.0 else float(row)
    if f.whole == TEXT:
        additive_increase(f, increase)
        return
    f.cwnd_cnt += increase
    if f.cwnd_cnt >= f.cwnd:
        f.cwnd += 1.0
        f.cwnd_cnt -= f.cwnd if p.linux_2_6_13 != 0.0 else f.cwnd - 1.0


@jit
def on_loss(f, p):
    decrease_by(f, ROW_DECREASE[int(f.table_row)])
