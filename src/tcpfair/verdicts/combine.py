"""From the metrics of runs to one number: over the runs, over the flows, over many cells. A small vocabulary.

Exhibits draw their numbers with it, and `tcpfair.verdicts.cells` names by it what a printed number is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Literal

import numpy as np
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
_CASE_DECIMALS = {"case": 2, "case_1dp": 1}
LEVELS = (0.05, 0.95)  # of a `distribution`
# column of a `distribution` -> suffix of its numbers, beside the median
FURTHER = {"low": "p05", "high": "p95", "share": "share", "percentile": "percentile"}
_SOME = 0.5  # share of the runs that must have a value for their median to stand for the cell
_NO_SPREAD = ("sd", "cv", "share")  # numbers of many runs that have no spread over runs
_OF_ALL_RUNS = ("reached", "share")  # numbers in which runs without a value count too


# --- Over runs ----------------------------------------------------------------------------------------------------


def over_runs(values: pd.Series, how: OverRuns, share: float = 0.5) -> float:
    """One number of the values of a metric over the runs of a cell; a run without a value is NaN.

    ``mean`` and ``median`` are of the runs that have one, the median only where half of them have. ``sd`` is the sample
    standard deviation, ``cv`` that over the magnitude of the mean, ``reached`` `reached_by_share` with ``share``, ``share``
    the share of the runs that have a value, ``half_interval`` half the interval of the mean at the level ``share``.
    """
    match how:
        case "mean":
            return float(values.mean())
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

    With a ``printed`` number its ``percentile``: the share of the runs that have the metric and are below it, in percent, ties
    counted half. Runs of one grid point differ in what a paper leaves out (`perturb` in its configuration), and a printed
    single run is one draw from their distribution.
    """
    found = values.dropna().to_numpy(dtype=float)
    with np.errstate(invalid="ignore"):  # NRU of a flow without delivery is infinite; warnings would stand in notebooks
        low, high = np.quantile(found, LEVELS) if len(found) else (np.nan, np.nan)
        sd = float(np.std(found, ddof=1)) if len(found) > 1 else np.nan
    result = {
        "value": over_runs(values, "median"),
        "sd": sd,
        "n_runs": len(values),
        "low": low,
        "high": high,
        "share": over_runs(values, "share"),
    }
    if printed is not None:
        known = len(found) > 0 and np.isfinite(printed)
        result["percentile"] = 100 * np.mean((found < printed) + (found == printed) / 2) if known else np.nan
    return result


def of_runs(rows: pd.DataFrame, by: Sequence[str], how: OverRuns = "mean", share: float = 0.5) -> pd.DataFrame:
    """`over_runs` of the rows of a metric that agree in ``by``: these columns, ``value``, ``sd`` and ``n_runs``.

    ``n_runs`` counts the runs that have a value, or all runs for numbers in which the others count too.
    """
    if how in ("mean", "median") and not rows.duplicated(by).any():  # one run each, as in an ensemble
        table = rows[[*by, "value"]].reset_index(drop=True)
        return table.assign(sd=np.nan, n_runs=table["value"].notna().astype(int))
    value = how if how == "mean" else partial(over_runs, how=how, share=share)
    groups = rows.groupby(list(by), sort=False, dropna=False)["value"]
    found = groups.agg(value=value, sd="std", n_runs="size" if how in _OF_ALL_RUNS else "count").reset_index()
    return found.assign(sd=np.nan) if how in _NO_SPREAD else found


def reached_by_share(times_s: pd.Series, share: float) -> float:
    """Time by which ``share`` of the runs has converged, with NaN for a run that never does; NaN when fewer do."""
    ordered = np.sort(times_s.fillna(np.inf).to_numpy(dtype=float))
    lower, upper = (np.quantile(ordered, share, method=method) for method in ("lower", "higher"))
    return float(lower + upper) / 2 if np.isfinite(upper) else np.nan


# --- Over flows ---------------------------------------------------------------------------------------------------


def over_flows(u_n_db: pd.Series, how: OverFlows) -> float | str:
    """One number of the NRU of each flow, (flows,): a part of the system's tuple, their variation, the letter of the case."""
    flows = u_n_db.to_numpy(dtype=float)
    if how == "variation":
        return float(tuple_stability(flows))
    mean, fair, unfair = nru_tuple(flows)
    if how in _CASE_DECIMALS:
        return str(case_letter(fair, unfair, _CASE_DECIMALS[how]))
    return float({"mean": mean, "mean of fair": fair, "mean of unfair": unfair}[how])


def of_flows(cells: pd.DataFrame, by: Sequence[str], how: OverFlows) -> pd.DataFrame:
    """`over_flows` of the cells (of `of_runs`) that agree in ``by``, sorted by these; its spread is not known."""
    groups = cells.groupby(list(by), dropna=False)
    value = groups["value"].agg(partial(over_flows, how=how))
    return pd.DataFrame({"value": value, "sd": np.nan, "n_runs": groups["n_runs"].first()}).reset_index()


# --- Over cells ---------------------------------------------------------------------------------------------------


def over_cells(
    cells: pd.DataFrame, how: OverCells, over: str = "rtt_ms", leaders: Collection[str] = (), slack: float = 0.0
) -> float:
    """One number of many ``cells`` with ``value``, ``protocol`` where it matters, and the variable ``over`` of a place.

    ``place_of_min``: where the mean over what shares a place is least; ``place_of_first_value``: the least place that has a
    value; ``place_where_not_above``: the least place at which not all ``leaders`` stand above all other protocols;
    ``place_from_which_not_below``: the least place from which on none of them stands more than ``slack`` below another.
    NaN where there is no such place.
    """
    if how in ("mean", "min", "max"):
        return float(cells["value"].agg(how))
    by_place: dict[str, Callable[[], pd.Index]] = {
        "place_of_min": lambda: _places_of_min(cells, over),
        "place_of_first_value": lambda: pd.Index(cells.loc[cells["value"].notna(), over]),
        "place_where_not_above": lambda: _places_below(cells, over, leaders),
        "place_from_which_not_below": lambda: _places_after(cells, over, leaders, slack),
    }
    places = by_place[how]()
    return float(places.min()) if len(places) else np.nan


def _places_of_min(cells: pd.DataFrame, over: str) -> pd.Index:
    means = cells.groupby(over)["value"].mean().dropna()
    return means.index[[means.to_numpy().argmin()]] if len(means) else means.index


def _lead(cells: pd.DataFrame, over: str, leaders: Collection[str]) -> pd.Series:
    """Least value of the leaders less the largest of the others, at each place in ascending order."""
    leads = cells["protocol"].isin(list(leaders))
    least = cells[leads].groupby(over)["value"].min()
    return (least - cells[~leads].groupby(over)["value"].max()).sort_index()


def _places_below(cells: pd.DataFrame, over: str, leaders: Collection[str]) -> pd.Index:
    lead = _lead(cells, over, leaders)
    return lead.index[lead <= 0]


def _places_after(cells: pd.DataFrame, over: str, leaders: Collection[str], slack: float) -> pd.Index:
    below = _lead(cells, over, leaders) < -slack
    return below.index[~below[::-1].cummax()[::-1]]
