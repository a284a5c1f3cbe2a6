"""The clock of an emulator: the bottleneck forwards packets, and the path releases them, only at multiples of ``tick_s``.

The model is Dummynet (FreeBSD, sys/netinet/ip_dummynet.c, revision 1.100 of 2006; the clock of revision 1.24 of 2000 is
the same). There ``dummynet()`` runs once in each tick of the kernel's clock:

* Batch service. A queue earns the rate of its pipe for every tick and forwards as many packets as this credit covers
  (``ready_event``). Unused credit is kept while packets wait, and is lost when the queue becomes empty. A packet that
  finds the queue empty earns credit from the last tick on, and waits for at least one more tick (``dummynet_io``,
  ``SET_TICKS``).
* Whole delays. A delay is truncated to whole ticks (``config_pipe``) and counts from the tick at which the packet was
  forwarded (``move_pkt``, ``transmit_event``).

Credit that is kept while packets wait makes the batches a rounded form of Lindley's recursion. Let packet n arrive at ``a[n]``
and take ``s[n]`` at the rate of the link. Then ``f[n] = max(f[n-1], last_tick(a[n])) + s[n]``, and the packet is forwarded at
``next_tick(f[n])``. The queue at ``t`` is the work ``f - last_tick(t)`` that no tick has covered yet, and a packet that finds
more than ``buffer_pkts`` of it is dropped. (Dummynet compares whole packets: the head counts until it is forwarded.)

Ticks count from 0 and are the same for both directions and for the path. ``jitter_s`` comes after the clock, because it
arises behind the emulator. Only the emulator has the clock: hosts, their links and their timers run in continuous time.
Simultaneous events of several flows are handled in the order of the flows, unless jitter of the hosts separates them.
"""

from __future__ import annotations

import numpy as np

from tcpfair.jit import jit

EARLY = 1e-6  # of a tick: a time that close before a tick counts as the tick, so that rounding cannot cost a tick


@jit
def last_tick_s(tick_s, at_s):
    """The time of the last tick at ``at_s``; without a clock ``at_s`` itself."""
    if tick_s == 0.0:
        return at_s
    return np.floor(at_s / tick_s + EARLY) * tick_s


@jit
def next_tick_s(tick_s, at_s):
    """The time of the first tick that is not before ``at_s``; without a clock ``at_s`` itself."""
    if tick_s == 0.0:
        return at_s
    return np.ceil(at_s / tick_s - EARLY) * tick_s
