"""Sources of a spread."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def share_between_groups(values: npt.ArrayLike) -> float:
    """Share of the variance between groups, in [0, 1], of values of shape (groups, repeats).

    The intraclass correlation of a one-way layout with random effects (R. A. Fisher, Statistical Methods for Research
    Workers, 1925, ch. VII): (B - W) / (B + (k - 1) W) for k repeats, B and W being the mean squares between and within
    groups; values below 0 become 0. Groups with a value that is not finite do not count. NaN with fewer than two groups
    or repeats, and without any variation.
    """
    v = np.asarray(values, dtype=float)
    v = v[np.isfinite(v).all(axis=1)]
    groups, repeats = v.shape
    if groups < 2 or repeats < 2 or np.ptp(v) == 0:
        return np.nan
    means = v.mean(axis=1)
    between = repeats * np.sum((means - means.mean()) ** 2) / (groups - 1)
    within = np.sum((v - means[:, np.newaxis]) ** 2) / (groups * (repeats - 1))
    return float(max(0.0, (between - within) / (between + (repeats - 1) * within)))
