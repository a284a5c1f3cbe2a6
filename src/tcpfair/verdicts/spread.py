"""One printed run in the distribution of many that might have been: its quantiles, and where the print lies in them.

Runs of one grid point differ in what a paper leaves out (`perturb` in its configuration). A printed single run is one draw
from such a distribution. So the share of the runs below it is what says most.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

LEVELS = (0.05, 0.95)
SOME = 0.5  # share of the runs that must have a value for the point to have one
# column of `distribution` -> suffix of its numbers, beside the median
FURTHER = {"low": "p05", "high": "p95", "share": "share", "percentile": "percentile"}


def distribution(values: pd.Series, printed: float | None = None) -> dict[str, float]:
    """Median, 5 and 95 % of one metric over runs, and the share of the runs that have it.

    With fewer than half of the runs the point as a whole has no ``value``. With a ``printed`` number its ``percentile``:
    the share of the runs that have the metric and lie below it, in percent, ties counted half.
    """
    found = values.dropna().to_numpy(dtype=float)
    share = len(found) / len(values) if len(values) else np.nan
    # infinite values, such as the weight of a flow that got nothing, have no spread: NaN
    with np.errstate(invalid="ignore"):
        low, median, high = np.quantile(found, [LEVELS[0], 0.5, LEVELS[1]]) if len(found) else [np.nan] * 3
        sd = float(np.std(found, ddof=1)) if len(found) > 1 else np.nan
    result = {
        "value": median if share >= SOME else np.nan,
        "sd": sd,
        "n_runs": len(values),
        "low": low,
        "high": high,
        "share": share,
    }
    if printed is not None:
        known = len(found) > 0 and np.isfinite(printed)
        result["percentile"] = 100 * np.mean((found < printed) + (found == printed) / 2) if known else np.nan
    return result
