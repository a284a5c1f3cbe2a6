"""Claims of ha2006: S. Ha, L. Le, I. Rhee, L. Xu, Impact of background traffic on performance of high-speed TCP variant
protocols, 2006.

Ratios are smaller over larger throughput, so 1 is fair, over the time in which both flows run. They range from 0.03 to 1, so
they are compared by quotients, and their means are geometric. A claim without an RTT is judged by the mean over the RTTs.
Utilisation counts payload, which is 96.5 % of the bytes on a full link.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tcpfair.metrics.series import interval_half_width
from tcpfair.models import rtt_fairness
from tcpfair.verdicts.claims.decision import Quantities
from tcpfair.verdicts.claims.evidence import Evidence, Table, combined

EVERY = ["CUBIC", "BIC", "FAST", "HSTCP", "H-TCP", "STCP", "SACK"]
FOUR_TYPES = ["Type I", "Type II", "Type III", "Type IV"]
FIXED = "{}, fixed RTT"
PROTOCOL_AND_RTT = ["protocol", "rtt_ms"]

# --- Utilisation with background (sec. 4.1.2) --------------------------------------------------------------------


def ha2006_c14(evidence: Evidence) -> Quantities:
    """Utilisation and variation are negatively correlated, over protocols and RTTs and among protocols at one RTT."""
    used, cov = (evidence.table("util_type2", metric, PROTOCOL_AND_RTT) for metric in ("utilisation", "load_cov"))
    return {
        "overall": _pearson(used, cov),
        "among_protocols": _pearson(_less_mean_at_rtt(used), _less_mean_at_rtt(cov)),
    }


def ha2006_c44(evidence: Evidence) -> Quantities:
    """H-TCP flows lose together more often under more variable background.

    Nearly all flows lose together in any case, so the shares of flows without a loss are compared.
    """
    spared = 1 - evidence.table("htcp_types", "shared_losses", "traffic")
    most, least = evidence["most"], evidence["least"]
    varied, fixed = spared[FOUR_TYPES], spared[[FIXED.format(kind) for kind in FOUR_TYPES]].set_axis(FOUR_TYPES, axis=1)
    by_size = pd.DataFrame({"varied": varied[most] / varied[least], "fixed": fixed[most] / fixed[least]})
    sizes, rtts = (combined(ratios, "geometric mean") for ratios in (by_size, varied / fixed))
    return {"most": varied[most] / fixed[least], "sizes": sizes, "rtts": rtts}


# --- Fairness without background (sec. 4.2.1) --------------------------------------------------------------------


def ha2006_c24(evidence: Evidence) -> Quantities:
    """CUBIC's throughput ratio is the inverse of the ratio of the RTTs."""
    ratio = evidence.table("rtt_fairness", "fair_ratio", "rtt_ms", protocol="CUBIC", traffic="none")
    return {"inverse": ratio / (ratio.columns.to_numpy() / evidence["rtt_ms"])}


def ha2006_c26(evidence: Evidence) -> Quantities:
    """The laws of two SACK flows: 1/k^2 with synchronised losses and 1/k with random ones."""
    k = np.array(evidence["rtt_ratio"], dtype=float)
    of_k = {
        "synchronised": rtt_fairness.synchronised_loss_ratio("reno", k) * k**2,
        "random": rtt_fairness.random_loss_ratio("reno", k) * k,
    }
    return {name: pd.DataFrame([values], columns=k) for name, values in of_k.items()}


def ha2006_c42(evidence: Evidence) -> Quantities:
    """Two HSTCP flows become fair in the long run, but later than those of other protocols."""
    long_run = _speed_of_convergence(evidence, "intra_long", rtt_ms=evidence["rtt_ms"])
    speed = _speed_of_convergence(evidence, "example_alone")
    others = combined(speed[["H-TCP", "CUBIC", "BIC"]], "min")
    none_fair = (speed["HSTCP"] == 0) & (others == 0)
    return {"converges": 1 / long_run["HSTCP"], "slowly": (speed["HSTCP"] / others).mask(none_fair, 1.0)}


def _speed_of_convergence(evidence: Evidence, experiment: str, **where: Any) -> Table:
    """One over the time until two flows share fairly, in 1/s by protocol; 0 if they never do."""
    time_s, ratio = (evidence.per_run(experiment, name, "protocol", **where) for name in ("fair_at_s", "fair_ratio"))
    speed = (1 / time_s).reindex_like(ratio)
    return evidence.of_runs(speed.mask(speed.isna() & ratio.notna(), 0.0))


# --- Fairness with background (sec. 4.2.2) -----------------------------------------------------------------------


def ha2006_c37(evidence: Evidence) -> Quantities:
    """Web traffic gets the same throughput with any protocol: the confidence intervals overlap at each number of flows."""
    level = evidence.config.analysis_value("confidence_level")
    found = {}
    for experiment in evidence.claim.experiments:
        of = (experiment, "web_mean", "protocol")
        mean, sd, count = evidence.table(*of)[EVERY], evidence.sd(*of)[EVERY], evidence.per_run(*of)[EVERY].count()
        half = interval_half_width(sd, count.to_numpy(), level)
        found[experiment] = combined(mean + half, "min") - combined(mean - half, "max")
    return found


# --- Shared by several claims ------------------------------------------------------------------------------------


def _pearson(x: Table, y: Table) -> pd.Series:
    """Correlation coefficient over the columns of each row; NaN if a cell has no value."""
    x, y = (table.sub(table.mean(axis=1, skipna=False), axis=0) for table in (x, y))
    xy, xx, yy = ((a * b).sum(axis=1, skipna=False) for a, b in ((x, y), (x, x), (y, y)))
    return xy / np.sqrt(xx * yy)


def _less_mean_at_rtt(x: Table) -> Table:
    """Each cell minus the mean over the protocols at its RTT."""
    means = combined(x, "mean", along="protocol")[x.columns.get_level_values("rtt_ms")]
    return x - means.set_axis(x.columns, axis=1)
