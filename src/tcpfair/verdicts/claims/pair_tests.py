"""Shared by the claims of bhatti2008 and bhatti2009: pair tests, their self-pairs and NRU.

Tables have a column per (protocol, rtt_ms). `protocol` is the TCP variant of a pair with CCID2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tcpfair.metrics import fairness
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import Evidence, Table

PROTOCOL_AND_RTT = ["protocol", "rtt_ms"]
CCID2 = "CCID2"


def flow_nru_db(evidence: Evidence, experiment: str, by: str | Sequence[str]) -> Table:
    """U_n (eq. 5) of every flow; the first level of the columns is the flow, the others are the grid variables ``by``."""
    tables = {flow: evidence.table(experiment, "U_n", by, flow=flow) for flow in evidence.flows(experiment, "U_n")}
    return pd.concat(tables, axis=1, names=["flow"])


def case_letters(evidence: Evidence, experiment: str) -> Table:
    """Case letters (table II) of U_N+ and U_N-; NaN if a flow has no NRU."""
    u_n_db = flow_nru_db(evidence, experiment, PROTOCOL_AND_RTT)
    flows = u_n_db.columns.unique("flow")
    columns = u_n_db[flows[0]].columns
    system = fairness.nru_tuple(np.stack([u_n_db[flow][columns] for flow in flows], axis=-1))
    letters = fairness.case_letter(system.u_plus, system.u_minus)
    return pd.DataFrame(letters, u_n_db.index, columns, dtype=object).where(np.isfinite(system.u_mean))


def jfi_range(evidence: Evidence) -> Quantities:
    """Smallest and largest index (eq. 1) of a fixed rate and one that spans four orders of magnitude."""
    lowest, highest = evidence.config.analysis_value("jfi_rate_range")
    varied = np.arange(lowest, highest + 1)
    fixed = np.full(varied.shape, evidence.config.analysis_value("jfi_fixed_rate"))
    j = fairness.jfi(np.stack([varied, fixed]), axis=0)
    return {"least": float(j.min()), "largest": float(j.max())}
