"""Resampling to equal intervals: their edges, the increments of a counter between them, the latest value at each."""

from __future__ import annotations

import numpy as np


def edges(duration_s: float, sample_s: float) -> np.ndarray:
    """Edges 0, sample_s, 2 sample_s, ... of the intervals in ``duration_s``, shape (intervals + 1,); at least one interval.

    The last interval may be up to a tenth short: tools stop a little early or late.
    """
    count = max(int(duration_s / sample_s + 0.1), 1)
    return np.arange(count + 1) * sample_s


def counted_between(edges_s: np.ndarray, times_s: np.ndarray, counter: np.ndarray) -> np.ndarray:
    """Increments of a counter between consecutive edges, shape (edges - 1,), int64.

    ``counter`` is read at the increasing ``times_s``. It is interpolated linearly between readings and constant outside
    them. Rounding keeps the sum of the increments.
    """
    return np.diff(np.round(np.interp(edges_s, times_s, counter)).astype(np.int64))


def last_value(at_s: np.ndarray, times_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The latest of ``values`` at each time of ``at_s``; NaN before the first of the increasing ``times_s``."""
    index = np.searchsorted(times_s, at_s, side="right") - 1
    return np.where(index >= 0, np.asarray(values, dtype=np.float64)[np.maximum(index, 0)], np.nan)
