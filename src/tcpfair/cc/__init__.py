"""Congestion-control algorithms: one file each, see :mod:`tcpfair.cc.api` for the contract.

The papers that ran Linux before 2008 used two kernels, read here in Linux's git history. The modules follow 2.6.22
(bhatti2008, bhatti2009; commit 7dcca30a). The differences of 2.6.13 (ha2006; commit 02b3e4e2):

==================  ===================================================================================================
``highspeed``       ``linux_2_6_13``: rows that never fall; no limited slow start in either
``htcp``            ``linux_2_6_13``: time and growth by ACKs
``bic``             see there: bugs that the designers fixed in the same year
``cubic``           since 2.6.15; before that a patch by its designers, version 2.0
``scalable``,       the same rules; slow start is a packet per ACK up to ssthresh in both, and byte counting (RFC 3465)
Reno                came between the two and is off in 2.6.22
recovery            rate halving, its floors (``min_cwnd``), the end of a recovery and timeouts are the same
TSO                 growth requires that the window is full (``in_flight < snd_cwnd``), which with segmentation offload it seldom
                    is; commit f4805ede of November 2005 reports 4 Mb/s instead of 50 on 100 Mb/s and 150 ms. The flows
                    here have no offload: those of ha2006, which fill 95 % of 400 Mb/s, cannot have had it
first window        three packets of 1448 bytes in both (``tcp_init_cwnd``)
socket buffers      174 kB without tuning (``tcp_rmem``); ha2006 has a very large receive buffer. In 2.6.22 up to 4 MB
==================  ===================================================================================================
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

# an algorithm defines STATE, or imports it from another one
_STATE = re.compile(r"^(STATE\b|from tcpfair\.cc\.\w+ import (\([^)]*|.*)\bSTATE\b)", re.MULTILINE)


@cache
def names() -> tuple[str, ...]:
    """Names of all algorithms, without importing (and compiling) any."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.py") if _STATE.search(path.read_text())))
