"""The inferred testbed: which settings all printed numbers together speak for, by approximate Bayesian computation.

Settings drawn from the prior (the ranges) are weighted by the distance of what they give from print (rejection with an
Epanechnikov kernel: M. A. Beaumont, W. Zhang, D. J. Balding, Approximate Bayesian computation in population genetics,
Genetics 162, 2002, without the regression). It is an inference on the print, never an adjustment of what is reproduced.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from tcpfair.files.rounding import rounded
from tcpfair.papers.settings import BASE
from tcpfair.runs.ensemble import Judging
from tcpfair.verdicts.ensemble import placing
from tcpfair.verdicts.ensemble.deciding import coded_columns


def distances(values: pd.DataFrame, cells: pd.DataFrame, width: pd.Series, far: float) -> pd.Series:
    """Mean distance of each setting from the printed numbers in tolerances, each at most ``far``; by setting.

    A number that a setting does not have is ``far`` off.
    """
    own = [number for number in values if np.isfinite(width[number])]
    off = (placing.errors(values[own], cells) / width[own]).abs()
    return off.clip(upper=far).fillna(far).mean(axis=1)


def weights(distance: pd.Series, accepted: float) -> pd.Series:
    """Weight of each setting, in all 1: 1 - (d/h)^2 below the distance h that the share ``accepted`` of them reaches."""
    reach = distance.quantile(accepted)
    weight = (1 - (distance / reach) ** 2).clip(lower=0) if reach > 0 else (distance == 0).astype(float)
    if weight.sum() == 0:  # all are equally far
        weight = (distance <= reach).astype(float)
    return weight / weight.sum()


def effective_settings(weight: pd.Series) -> float:
    """How many equally weighted settings say as much (Kish)."""
    return float(1 / (weight**2).sum())


def marginals(weight: pd.Series, drawn: pd.DataFrame) -> pd.DataFrame:
    """What the weights say of each assumption: columns assumption, used (as configured), low, median, high (weighted 5, 50 and
    95 %), prior_low, prior_median, prior_high (of all settings), shift (Kolmogorov-Smirnov distance of the two).

    A choice among words has a row for each word, with its weighted share as ``median`` and its share as ``prior_median``.
    """
    rows = []
    prior = pd.Series(1 / len(weight), index=weight.index)
    for column, values in coded_columns(drawn.loc[weight.index]).items():
        name, _, choice = str(column).partition("\t")
        used = drawn[name].get(BASE, np.nan)
        if choice:
            found = {"median": float((weight * values).sum()), "prior_median": float((prior * values).sum())}
            found["shift"] = abs(found["median"] - found["prior_median"])
            name, used = f"{name} = {choice}", float(str(used) == choice)
        else:
            posterior, before = (_quantiles(values, by) for by in (weight, prior))
            found = dict(zip(("low", "median", "high"), posterior, strict=True))
            found |= dict(zip(("prior_low", "prior_median", "prior_high"), before, strict=True))
            found["shift"] = _distance(values, weight, prior)
        rows.append({"assumption": name, "used": used, **found})
    found = pd.DataFrame(rows, columns=MARGINALS)
    # rounded: the two words of a choice have one shift but for its last bits, which must not order them
    return found.sort_values("shift", ascending=False, kind="stable", ignore_index=True, key=lambda x: x.map(rounded))


MARGINALS = ["assumption", "used", "low", "median", "high", "prior_low", "prior_median", "prior_high", "shift"]


def _quantiles(values: pd.Series, weight: pd.Series) -> list[float]:
    order = np.argsort(values.to_numpy(), kind="stable")
    reached = np.cumsum(weight.to_numpy()[order])
    places = np.minimum(np.searchsorted(reached, [0.05, 0.5, 0.95]), len(order) - 1)
    return values.to_numpy()[order][places].tolist()


def _distance(values: pd.Series, weight: pd.Series, prior: pd.Series) -> float:
    order = np.argsort(values.to_numpy(), kind="stable")
    x = values.to_numpy()[order]
    apart = np.abs(np.cumsum(weight.to_numpy()[order]) - np.cumsum(prior.to_numpy()[order]))
    return float(apart[np.append(x[1:] != x[:-1], True)].max())


def held_out(
    values: pd.DataFrame,
    cells: pd.DataFrame,
    width: pd.Series,
    fitted: Collection[int],
    judged: Collection[int],
    judging: Judging,
) -> dict[str, float]:
    """Does a testbed that is inferred from some numbers predict others: mean errors in tolerances, each at most ``far``.

    ``base`` is that of the configured setting, ``prior`` of the mean over all settings, ``inferred`` of the weighted mean,
    ``nearest`` of the one setting that is nearest to the ``fitted`` numbers; ``n`` counts the ``judged`` numbers, and
    ``within_*`` their shares within tolerance.
    """
    of_fit = distances(values[list(fitted)], cells, width, judging.far)
    weight = weights(of_fit, judging.accepted)
    kept = values[[number for number in judged if np.isfinite(width[number])]]
    guesses = {
        "base": kept.reindex([BASE]).iloc[0],
        "prior": kept.mean(),
        "inferred": kept.mul(weight, axis=0).sum(min_count=1),
        "nearest": kept.loc[of_fit.idxmin()],
    }
    found: dict[str, float] = {"n": len(kept.columns)}
    for name, guess in guesses.items():
        off = placing.errors(guess.to_frame().T, cells).iloc[0].abs() / width[kept.columns]
        found[name] = float(off.clip(upper=judging.far).fillna(judging.far).mean())
        found[f"within_{name}"] = float((off <= 1 + 1e-9).mean())
    return found
