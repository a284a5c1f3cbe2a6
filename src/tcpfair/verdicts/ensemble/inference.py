"""The inferred testbed: the settings that all published numbers together favour, by approximate Bayesian computation.

Settings drawn from the prior (the ranges) are weighted by the distance of their results from the published numbers (rejection
with an Epanechnikov kernel: M. A. Beaumont, W. Zhang, D. J. Balding, Approximate Bayesian computation in population genetics,
Genetics 162, 2002, without the regression). The inference is never used to adjust reproduced results.

A testbed inferred from one paper is transferred to another paper in three steps:

1. Each setting of the first paper has a distance from all published numbers of that paper (`distances`).
2. Each setting of the second paper takes the mean distance of its ``neighbours`` nearest settings of the first (`transferred`).
   Nearness is over the assumptions that both papers draw (`differences`). Each counts by the share of the distances' variance
   that it explains (`relevance`): among 11 assumptions that count equally, the nearest settings differ in what matters.
3. These distances give weights as in one paper (`weights`), and a number of the second paper is predicted by the weighted mean
   over its settings (`predicted`). Numbers that the second paper reprints from the first are not judged.

The second paper's numbers had no part in the choice of this method. It was chosen by the settings of bhatti2008, each predicted
from the others (``test_neighbours_foretell_the_distance_of_a_setting_that_is_left_out``). Intervals are given only if enough
settings have weight (`effective_settings`, ``least_effective``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.rounding import rounded
from tcpfair.metrics.exactmath import log10
from tcpfair.papers.settings import BASE, Assumption
from tcpfair.verdicts.ensemble import placing
from tcpfair.verdicts.ensemble.deciding import coded_columns


def distances(values: pd.DataFrame, cells: pd.DataFrame, width: pd.Series, far: float) -> pd.Series:
    """Mean distance of each setting from the published numbers in tolerances, each at most ``far``; by setting.

    A missing number has the distance ``far``.
    """
    own = [number for number in values if np.isfinite(width[number])]
    off = (placing.errors(values[own], cells) / width[own]).abs()
    return off.clip(upper=far).fillna(far).mean(axis=1)


def weights(distance: pd.Series, accepted: float) -> pd.Series:
    """Weight of each setting, with sum 1: proportional to 1 - (d/h)^2 below h, the quantile ``accepted`` of the distances."""
    reach = distance.quantile(accepted)
    weight = (1 - (distance / reach) ** 2).clip(lower=0) if reach > 0 else (distance == 0).astype(float)
    if weight.sum() == 0:  # all are equally far
        weight = (distance <= reach).astype(float)
    return weight / weight.sum()


def effective_settings(weight: pd.Series) -> float:
    """The effective number of equally weighted settings (Kish)."""
    return float(1 / (weight**2).sum())


def relevance(values: pd.Series, distance: pd.Series, parts: int) -> float:
    """Share of the variance of ``distance`` between equal ``parts`` of an assumption's drawn values, or between its choices."""
    rank = pd.to_numeric(values, errors="coerce").rank(pct=True)
    part = np.ceil(parts * rank) if np.isfinite(rank).all() else values.astype(str)
    spread = distance.var()
    return rounded(distance.groupby(part.to_numpy()).transform("mean").var() / spread) if spread > 0 else 0.0


def differences(
    own: Iterable[Assumption],
    drawn: pd.DataFrame,
    others: Iterable[Assumption],
    drawn_of_other: pd.DataFrame,
    distance: pd.Series,
    parts: int,
) -> npt.NDArray[np.float64]:
    """Difference of each setting of a paper (rows) from each of another (columns), in the assumptions that both draw.

    The sum over these assumptions of the difference as a share of the range (of its logarithm for a logarithmic scale), times
    the `relevance` of the assumption for ``distance``, that of the other paper's settings. Two different choices differ by 1
    (J. C. Gower, A general coefficient of similarity and some of its properties, Biometrics 27, 1971). An assumption is common
    if it has the same place in both configurations. ``parts`` is that of `relevance`.

    Raises InputError without a common assumption.
    """
    pairs = [(each, other) for each in own for other in others if set(each.names) & set(other.names)]
    if not pairs:
        raise InputError(
            "config/ensemble.yaml: no assumption is drawn for both papers, so no testbed can be transferred"
        )
    found = np.zeros((len(drawn), len(drawn_of_other)))
    for each, other in pairs:
        here, there = drawn[each.name].to_numpy()[:, None], drawn_of_other[other.name].to_numpy()[None, :]
        if each.choices:
            apart = here != there
        else:
            numbers = (x.astype(float) for x in (here, there, np.array([other.low, other.high])))
            here, there, ends = (log10(x) if other.scale == "log" else x for x in numbers)
            apart = np.abs(here - there) / (ends[1] - ends[0])
        found += relevance(drawn_of_other[other.name], distance, parts) * apart
    return found


def transferred(
    distance: pd.Series, difference: npt.NDArray[np.float64], settings: pd.Index, neighbours: int
) -> pd.Series:
    """Distance of each of ``settings``: the mean ``distance`` of the nearest settings of another paper.

    ``difference`` has a row for each of ``settings`` and a column for each setting of the other paper.
    """
    nearest = np.argsort(difference, axis=1, kind="stable")[:, :neighbours]
    return pd.Series(distance.to_numpy()[nearest].mean(axis=1), settings)


def predicted(values: pd.DataFrame, weight: pd.Series) -> pd.Series:
    """The weighted mean of each number over the settings that have it; NaN if they have no weight."""
    known = values.notna().mul(weight, axis=0).sum()
    return values.mul(weight, axis=0).sum() / known.where(known > 0)


def marginals(weight: pd.Series, drawn: pd.DataFrame, least_effective: float) -> pd.DataFrame:
    """The weighted distribution of each assumption: columns assumption, used (as configured), low, median, high (weighted 5, 50
    and 95 %), prior_low, prior_median, prior_high (of all settings), shift (Kolmogorov-Smirnov distance of the two).

    A choice among words has a row for each word, with its weighted share as ``median`` and its share as ``prior_median``.
    ``low`` and ``high`` are NaN if fewer than ``least_effective`` settings have weight.
    """
    rows = []
    prior = pd.Series(1 / len(weight), index=weight.index)
    for column, values in coded_columns(drawn.loc[weight.index]).items():
        name, _, choice = str(column).partition("\t")
        used = drawn[name].get(BASE, np.nan)
        found = {"shift": (weight - prior).groupby(values.to_numpy()).sum().cumsum().abs().max()}
        if choice:
            found |= {"median": (weight * values).sum(), "prior_median": (prior * values).sum()}
            name, used = f"{name} = {choice}", float(str(used) == choice)
        else:
            for start, by in (("", weight), ("prior_", prior)):
                quantiles = np.quantile(values, (0.05, 0.5, 0.95), weights=by, method="inverted_cdf")
                found |= dict(zip((f"{start}low", f"{start}median", f"{start}high"), quantiles, strict=True))
        rows.append({"assumption": name, "used": used, **found})
    found = pd.DataFrame(rows, columns=MARGINALS)
    if effective_settings(weight) < least_effective:
        found[["low", "high"]] = np.nan
    # rounded, because the shifts of the two words of a choice differ only in their last bits, which must not order them
    return found.sort_values("shift", ascending=False, kind="stable", ignore_index=True, key=lambda x: x.map(rounded))


MARGINALS = ["assumption", "used", "low", "median", "high", "prior_low", "prior_median", "prior_high", "shift"]


def held_out(
    values: pd.DataFrame,
    cells: pd.DataFrame,
    width: pd.Series,
    weight: pd.Series,
    judged: Collection[int],
    far: float,
) -> dict[str, float]:
    """Predictions of numbers that a testbed was not inferred from: mean errors in tolerances, each at most ``far``.

    ``base`` is the error of the configured setting, ``prior`` of the mean over all settings, ``inferred`` of the mean by
    ``weight``, ``nearest`` of the setting with the largest weight; ``n`` counts the ``judged`` numbers, and ``within_*`` are
    their shares within tolerance, ``within_best`` the largest of any setting.
    """
    kept = values[[number for number in judged if np.isfinite(width[number])]]
    guesses = {
        "base": kept.reindex([BASE]).iloc[0],
        "prior": kept.mean(),
        "inferred": predicted(kept, weight),
        "nearest": kept.loc[weight.idxmax()],
    }
    found: dict[str, float] = {"n": len(kept.columns), "effective_settings": effective_settings(weight)}
    found["within_best"] = float(placing.within(kept, cells, width).mean(axis=1).max())
    for name, guess in guesses.items():
        guess = guess.to_frame().T
        off = (placing.errors(guess, cells) / width[kept.columns]).iloc[0].abs()
        found[name] = float(off.clip(upper=far).fillna(far).mean())
        found[f"within_{name}"] = float(placing.within(guess, cells, width).iloc[0].mean())
    return found
