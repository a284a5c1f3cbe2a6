"""Shared by the claims of bhatti2008 and bhatti2009.

Tables have a column per (protocol, rtt_ms). `protocol` is the TCP variant of a pair with CCID2.
"""

from __future__ import annotations

import numpy as np

from tcpfair.metrics import fairness
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import Evidence

PROTOCOL_AND_RTT = ["protocol", "rtt_ms"]
CCID2 = "CCID2"


def jfi_range(evidence: Evidence) -> Quantities:
    """Smallest and largest index (eq. 1) of a fixed rate and one that spans four orders of magnitude."""
    lowest, highest = evidence.config.analysis_value("jfi_rate_range")
    varied = np.arange(lowest, highest + 1)
    fixed = np.full(varied.shape, evidence.config.analysis_value("jfi_fixed_rate"))
    j = fairness.jfi(np.stack([varied, fixed]), axis=0)
    return {"least": float(j.min()), "largest": float(j.max())}
