"""A small vocabulary for combining the metrics of runs to one number: over the runs, over the flows, over many cells.

Exhibits compute their numbers with it, and `tcpfair.verdicts.cells` uses it to define published numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.metrics.fairness import case_letter, nru_tuple, tuple_stability
from tcpfair.metrics.series import mean_interval

# over the runs of one cell
OverRuns = Literal["mean", "median", "sd", "cv", "reached", "share", "half_interval"]
# over the flows of one cell
OverFlows = Literal["mean", "mean of fair", "mean of unfair", "variation", "case", "case_1dp"]
# over many cells
OverCells = Literal[
    "mean",
    "min",
    "max",
    "place_of_min",
    "place_of_first_value",
    "place_where_not_above",
    "place_from_which_not_below",
]
OF_MANY_RUNS = ("sd", "cv", "share")  # statistics without a spread over runs
OF_ALL_RUNS = ("reached", "share")  # statistics in which runs without a value count too
N_DRAWS = 1000  # at most
LEVELS = (0.05, 0.95)  # of a `distribution`
# column of a `distribution` -> suffix of its numbers, next to the median
FURTHER = {"low": "p05", "high": "p95", "share": "share", "percentile": "percentile"}
_CASE_DECIMALS = {"case": 2, "case_1dp": 1}
_SOME = 0.5  # required share of the runs with a value, for a median


# --- Over runs ----------------------------------------------------------------------------------------------------


def over_runs(values: pd.Series, how: OverRuns, share: float = 0.5) -> float:
    """One number from the values of a metric over the runs of a cell, except the mean (`drawn`); a run without a value is NaN.

    ``median`` is over the runs with a value, and requires half of the runs to have one. ``sd`` is the sample standard
    deviation, ``cv`` that over the magnitude of the mean, ``reached`` is `reached_by_share` with ``share``, ``share`` the share
    of the runs with a value, ``half_interval`` half the interval of the mean at the level ``share``.
    """
    match how:
        case "median":
            return float(values.median()) if values.notna().mean() >= _SOME else np.nan
        case "sd":
            return float(values.std())
        case "cv":
            return float(values.std() / abs(values.mean()))
        case "reached":
            return reached_by_share(values, share)
        case "share":
            return float(values.notna().mean())
        case "half_interval":
            return mean_interval(values, share)[1]


def distribution(values: pd.Series, printed: float | None = None) -> dict[str, float]:
    """Median (``value``), ``sd``, 5 and 95 % (``low``, ``high``) over the runs of a cell, their number (``n_runs``), and the
    ``share`` of them that have the metric.

    With a ``printed`` number, also its ``percentile``: the percentage of the runs with the metric that are below it; ties count
    half. Runs of one grid point differ in unstated details (`perturb` in the configuration), and a published single run is one
    draw from their distribution.
    """
    with np.errstate(invalid="ignore"):  # NRU of a flow without delivery is infinite; warnings would be in notebooks
        low, high = values.quantile(list(LEVELS))
        sd = over_runs(values, "sd")
    result = {
        "value": over_runs(values, "median"),
        "sd": sd,
        "n_runs": len(values),
        "low": low,
        "high": high,
        "share": over_runs(values, "share"),
    }
    if printed is not None:
        found = values.dropna().to_numpy(dtype=float)
        known = len(found) > 0 and np.isfinite(printed)
        result["percentile"] = 100 * share_below(found, printed) if known else np.nan
    return result


def share_below(values: npt.NDArray[np.float64], x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Share of ``values`` (n, ...) below ``x`` (...); equal values count half."""
    return np.mean((values < x) + (values == x) / 2, axis=0)


def of_runs(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The mean over the rows that agree in ``by``: these columns, ``value``, ``sd`` and ``n_runs`` (with a value)."""
    groups = rows.groupby(list(by), sort=False, dropna=False)["value"]
    return groups.agg(value="mean", sd="std", n_runs="count").reset_index()


def reached_by_share(times_s: pd.Series, share: float) -> float:
    """Time by which ``share`` of the runs has converged; NaN if fewer do. A run that never converges has NaN."""
    ordered = np.sort(times_s.fillna(np.inf).to_numpy(dtype=float))
    lower, upper = (np.quantile(ordered, share, method=method) for method in ("lower", "higher"))
    return float(lower + upper) / 2 if np.isfinite(upper) else np.nan


def drawn(values: npt.NDArray[np.float64], n_draws: int = 0) -> tuple[npt.NDArray, npt.NDArray]:
    """Means and standard deviations (n - 1) of the columns of ``values`` (runs, cells) over the runs, and draws of them.

    Row 0 of each, (1 + draws, cells), is over the runs, without NaN. Every other row is a draw of the true values that are
    consistent with the runs. For n normal values with mean m and standard deviation s, the true mean is m + t s / sqrt(n),
    where t has Student's distribution with n - 1 degrees of freedom. A row draws such means for all cells together:
    m + c sum g_i (x_i - m) / sqrt(n (n - 1)), with standard normal g_i and c^2 = (n - 1) / chi^2 of n - 1 degrees. This keeps
    the correlation between metrics of one run. The draw depends only on n, so it also keeps that between tables of the same runs.

    The quantiles of a mean are therefore Student's interval, which is correct for few runs. Those of a difference of means over
    different numbers of runs are Behrens and Fisher's (R. A. Fisher, The fiducial argument in statistical inference, Annals of
    Eugenics 6, 1935), and any function of means has an interval by the same draws. A single run has no known spread, and all
    rows are equal. An infinite mean is infinite in all rows. A drawn s is c times s.

    Sums are in the order of the runs, because the order of numpy's own sum, and of a BLAS, depends on the processor.
    """
    means, sds = (np.full((1 + n_draws, values.shape[1]), np.nan) for _ in range(2))
    missing = np.isnan(values)
    known = np.take_along_axis(values, np.argsort(missing, axis=0, kind="stable"), axis=0)
    counts = (~missing).sum(axis=0)
    for n in np.unique(counts[counts > 0]):
        cells = np.flatnonzero(counts == n)
        mean = np.cumsum(known[:n, cells], axis=0)[-1] / n
        means[:, cells] = mean
        cells, mean = (x[np.isfinite(mean) & (n > 1)] for x in (cells, mean))
        if len(cells):
            off = known[:n, cells] - mean
            weights, scale = (x[: 1 + n_draws] for x in _draw(int(n)))
            spread = np.zeros((1 + n_draws, len(cells)))
            for share, distance in zip(weights.T, off, strict=True):
                spread += share[:, np.newaxis] * distance
            means[:, cells] = mean + spread
            sds[:, cells] = np.sqrt(np.cumsum(off**2, axis=0)[-1] / (n - 1)) * scale[:, np.newaxis]
    return means, sds


@cache
def _draw(n: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """For ``n`` runs, the weights of their distances from the mean, (1 + draws, n), and c; row 0 has zero weights."""
    random = np.random.Generator(np.random.Philox(n))
    normal, chi2 = random.standard_normal((N_DRAWS, n)), random.chisquare(n - 1, N_DRAWS)
    c = np.sqrt((n - 1) / chi2)
    weights = normal * (c / np.sqrt(n * (n - 1)))[:, np.newaxis]
    return np.vstack([np.zeros(n), weights]), np.append(1.0, c)


# --- Over flows ---------------------------------------------------------------------------------------------------


def over_flows(u_n_db: npt.ArrayLike, how: OverFlows) -> npt.NDArray:
    """A part of the system's tuple (...), its variation or the letter of its case, from the NRU of flows (..., flows)."""
    flows = np.asarray(u_n_db, dtype=float)
    if how == "variation":
        return tuple_stability(flows)
    mean, fair, unfair = nru_tuple(flows)
    if how in _CASE_DECIMALS:
        return case_letter(fair, unfair, _CASE_DECIMALS[how])
    return {"mean": mean, "mean of fair": fair, "mean of unfair": unfair}[how]


# --- Over cells ---------------------------------------------------------------------------------------------------


def over_cells(
    values: pd.DataFrame,
    places: pd.DataFrame,
    how: OverCells,
    over: str = "rtt_ms",
    leaders: Collection[str] = (),
    slack: float = 0.0,
) -> pd.Series:
    """One number from many cells, for each row of ``values``, which has a column per row of ``places``.

    A place is a value of the variable ``over``. ``place_of_min``: the place with the smallest mean over its cells;
    ``place_of_first_value``: the first place with a value; ``place_where_not_above``: the first place at which not all
    protocols ``leaders`` are above all others; ``place_from_which_not_below``: the first place from which on none of them is
    more than ``slack`` below another. NaN without such a place.
    """
    if how in ("mean", "min", "max"):
        return values.agg(how, axis=1)
    at = places[over].to_numpy()
    leads = places["protocol"].isin(list(leaders)).to_numpy() if leaders else np.zeros(len(places), dtype=bool)

    def by_place(of: pd.DataFrame, combine: str) -> pd.DataFrame:
        return of.T.groupby(at[of.columns]).agg(combine).T

    match how:
        case "place_of_min":
            means = by_place(values, "mean")
            found = means.eq(means.min(axis=1), axis=0)
        case "place_of_first_value":
            found = by_place(values.notna(), "any")
        case _:
            lead = by_place(values.loc[:, leads], "min") - by_place(values.loc[:, ~leads], "max")
            if how == "place_where_not_above":
                found = lead <= 0
            else:
                found = ~(lead < -slack).iloc[:, ::-1].cummax(axis=1).iloc[:, ::-1]
    return found.idxmax(axis=1).astype(float).where(found.any(axis=1))
