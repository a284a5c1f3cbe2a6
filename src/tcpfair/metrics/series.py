"""Measures of time series: crossing times, utilisation, variation, differences and ratios.

The last axis is time. A sample belongs to the interval that ends at its ``t_s``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Sample times are multiples of the interval in floating point; no two of them are this close.
TIME_TOLERANCE_S = 1e-6


def window_mask(t_s: npt.ArrayLike, start_s: float, stop_s: float) -> npt.NDArray[np.bool_]:
    """Samples whose interval is within [``start_s``, ``stop_s``]; of 1-s samples, 60 to 300 s selects 240.

    ``t_s`` holds the ends of the intervals, shape (samples,), so the sample that ends at ``start_s`` is excluded.
    """
    t_s = np.asarray(t_s, dtype=float)
    return (t_s > start_s + TIME_TOLERANCE_S) & (t_s <= stop_s + TIME_TOLERANCE_S)


def first_time_s(condition: npt.ArrayLike, t_s: npt.ArrayLike) -> Floats:
    """Earliest of ``t_s`` (samples,) at which ``condition`` (..., samples) holds; NaN where it never does."""
    first = np.min(np.where(condition, t_s, np.inf), axis=-1, initial=np.inf)
    return np.where(np.isfinite(first), first, np.nan)


def time_to_fraction_s(x: npt.ArrayLike, t_s: npt.ArrayLike, fraction: float) -> Floats:
    """Earliest of ``t_s`` (samples,) at which ``x`` (..., samples) reaches ``fraction`` of its maximum."""
    x = np.asarray(x, dtype=float)
    return first_time_s(x >= fraction * x.max(axis=-1, keepdims=True), t_s)


def share_of_time(condition: npt.ArrayLike) -> Floats:
    """Share of the samples, in [0, 1], for which ``condition`` (..., samples) holds."""
    return np.mean(condition, axis=-1)


def utilisation(throughput_mbps: npt.ArrayLike, capacity_mbps: float) -> Floats:
    """Mean share of ``capacity_mbps`` that all flows of ``throughput_mbps`` (..., flows, samples) use together."""
    return np.sum(throughput_mbps, axis=-2).mean(axis=-1) / capacity_mbps


def coefficient_of_variation(x: npt.ArrayLike, axis: int = -1) -> Floats:
    """Sample standard deviation over the magnitude of the mean along ``axis``; NaN for fewer than two values."""
    x = np.asarray(x, dtype=float)
    if x.shape[axis] < 2:
        return np.full(x.sum(axis=axis).shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return x.std(axis=axis, ddof=1) / np.abs(x.mean(axis=axis))


def mean_interval(x: npt.ArrayLike, level: float) -> tuple[float, float]:
    """Mean of independent values ``x`` (n,) and half the width of its confidence interval by Student's t.

    NaN do not count; the half width is NaN for fewer than two values.
    """
    x = np.asarray(x, dtype=float)
    x = x[~np.isnan(x)]
    if len(x) < 2:
        return float(x.mean()) if len(x) else np.nan, np.nan
    return float(x.mean()), float(interval_half_width(x.std(ddof=1), len(x), level))


def interval_half_width(sd: npt.ArrayLike, n: npt.ArrayLike, level: float) -> Floats:
    """Half the width of the confidence interval of a mean of ``n`` independent values with standard deviation ``sd``.

    By Student's t, because the deviation of the values is an estimate. Arrays are taken element by element.
    """
    from scipy.special import stdtrit  # not a part of the library's core

    n = np.asarray(n, dtype=float)
    return stdtrit(n - 1, (1 + level) / 2) * sd / np.sqrt(n)


def error_of_mean(x: npt.ArrayLike, batches: int) -> Floats:
    """Standard error of the mean over time of a series (..., samples), whose samples are correlated: shape (...).

    By batch means (Law and Kelton, Simulation Modeling and Analysis): the scatter of the means of ``batches`` successive parts.
    NaN for fewer samples than batches.
    """
    x = np.asarray(x, dtype=float)
    if x.shape[-1] < batches:
        return np.full(x.shape[:-1], np.nan)
    means = np.stack([part.mean(axis=-1) for part in np.array_split(x, batches, axis=-1)], axis=-1)
    return means.std(axis=-1, ddof=1) / np.sqrt(batches)


def moving_mean(x: npt.ArrayLike, samples: int) -> Floats:
    """Mean of each sample of ``x`` (..., n) and the ``samples`` - 1 before it: shape (..., n - samples + 1)."""
    total = np.cumsum(np.asarray(x, dtype=float), axis=-1)
    total = np.concatenate([np.zeros_like(total[..., :1]), total], axis=-1)
    return (total[..., samples:] - total[..., :-samples]) / samples


def fitted_slope(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Slope of the straight line through the points ``x``, ``y`` (points,), at least two, by least squares."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    from_mean = x - x.mean()
    return float((from_mean * (y - y.mean())).sum() / (from_mean * from_mean).sum())


def throughput_ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Floats:
    """Ratio of two mean throughputs; infinite when only the second is zero, NaN when both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(numerator, denominator)


def smaller_to_larger_ratio(throughput: npt.ArrayLike) -> Floats:
    """Smallest over largest mean throughput of ``throughput`` (..., flows): 1 is equal, 0 is starved.

    ha2006 (sec. 4.2) defines the ratio as larger over smaller but always uses it as this one.
    """
    throughput = np.asarray(throughput, dtype=float)
    return throughput_ratio(throughput.min(axis=-1), throughput.max(axis=-1))
