"""The inferred testbed: the settings that all published numbers together favour, by approximate Bayesian computation.

Settings drawn from the prior (the ranges) are weighted by the distance of their results from the published numbers (rejection
with an Epanechnikov kernel: M. A. Beaumont, W. Zhang, D. J. Balding, Approximate Bayesian computation in population genetics,
Genetics 162, 2002, without its adjustment of parameters). The inference is never used to adjust reproduced results.

A testbed inferred from one paper is transferred to another paper in three steps:

1. Each published number of the first paper has an error in each setting of that paper, in tolerances (`off`). A regression gives
   this error as a function of the assumptions that both papers draw (`terms`): a polynomial of second order without products.
   Such an emulator is usual where simulators are compared with observations (I. Vernon, M. Goldstein, R. G. Bower, Galaxy
   formation: a Bayesian uncertainty analysis, Bayesian Analysis 5, 2010).
2. The distance of each setting of the second paper is the mean absolute error that the regressions give for it (`transferred`).
3. These distances give weights as in one paper (`weights`), and a number of the second paper is predicted by the weighted mean
   over its settings (`predicted`). Numbers that the second paper reprints from the first are not judged.

The second paper's numbers had no part in the choice of this method. It was chosen by numbers of bhatti2008 that were held out, a
table, an RTT or a protocol at a time, and predicted from the others
(``test_a_transferred_testbed_predicts_tables_that_are_left_out``). Intervals are given only if enough settings have weight
(`effective_settings`, ``least_effective``).
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

_DEPENDENT = 1e-6  # what earlier terms leave of one that depends on them, as a share of its size


def off(values: pd.DataFrame, cells: pd.DataFrame, width: pd.Series, far: float) -> pd.DataFrame:
    """Simulated minus published numbers in tolerances, at most ``far`` either way; a row per setting, a column per number.

    A missing number has the error ``far``; numbers that are not compared by a distance have no column.
    """
    own = [number for number in values if np.isfinite(width[number])]
    return (placing.errors(values[own], cells) / width[own]).clip(-far, far).fillna(far)


def weights(distance: pd.Series, accepted: float) -> pd.Series:
    """Weight of each setting, with sum 1: proportional to 1 - (d/h)^2 below h, the quantile ``accepted`` of the distances.

    A distance is the mean of the absolute errors `off`.
    """
    reach = distance.quantile(accepted)
    weight = (1 - (distance / reach) ** 2).clip(lower=0) if reach > 0 else (distance == 0).astype(float)
    if weight.sum() == 0:  # all are equally far
        weight = (distance <= reach).astype(float)
    return weight / weight.sum()


def effective_settings(weight: pd.Series) -> float:
    """The effective number of equally weighted settings (Kish)."""
    return float(1 / (weight**2).sum())


def terms(
    own: Iterable[Assumption], drawn: pd.DataFrame, others: Iterable[Assumption], drawn_of_other: pd.DataFrame
) -> npt.NDArray[np.float64]:
    """Terms of a regression over the assumptions that two papers draw: a row per term, a column per setting.

    The first columns are the settings of the other paper, the last those of the own. Terms are 1, and for each assumption the
    place in the other paper's range (of its logarithm for a logarithmic scale; values beyond count as its ends) and the square of
    that, or an indicator of each choice. An assumption is common if it has the same place in both configurations.

    Raises InputError without a common assumption.
    """
    found = [np.ones(len(drawn_of_other) + len(drawn))]
    for each, other in ((each, other) for each in own for other in others if set(each.names) & set(other.names)):
        values = pd.concat([drawn_of_other[other.name], drawn[each.name]])
        if other.choices:
            words = values.astype(str)
            found += [(words == word).to_numpy(dtype=float) for word in sorted(set(words))]
        else:
            numbers = (values.to_numpy(dtype=float), np.array([other.low, other.high]))
            at, ends = (log10(x) if other.scale == "log" else x for x in numbers)
            place = np.clip((at - ends[0]) / (ends[1] - ends[0]), 0, 1)
            found += [place, place**2]
    if len(found) == 1:
        raise InputError(
            "config/ensemble.yaml: no assumption is drawn for both papers, so no testbed can be transferred"
        )
    return np.array(found)


def transferred(off: pd.DataFrame, terms: npt.NDArray[np.float64], settings: pd.Index, far: float) -> pd.Series:
    """Distance of each of ``settings``, the last columns of ``terms``, from the numbers of another paper.

    ``off`` has the errors in that paper's settings, the first columns. A regression of each number on the terms by least squares
    gives its error in the others, which counts as at most ``far``. It is by Gram-Schmidt and sums, because the bits of LAPACK
    depend on the processor; terms that depend on earlier ones are omitted.
    """
    n, basis = len(off), []
    for term in terms:
        rest = term
        for unit in basis:
            rest = rest - (unit[:n] * rest[:n]).sum() * unit
        size = np.sqrt((rest[:n] ** 2).sum())
        if size > _DEPENDENT * np.sqrt((term[:n] ** 2).sum()):
            basis.append(rest / size)
    known = off.to_numpy()
    found = sum(unit[n:, None] * (unit[:n, None] * known).sum(axis=0) for unit in basis)
    return pd.Series(np.abs(found).clip(max=far).mean(axis=1), settings)


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
    guesses = pd.DataFrame(
        {
            "base": kept.reindex([BASE]).iloc[0],
            "prior": kept.mean(),
            "inferred": predicted(kept, weight),
            "nearest": kept.loc[weight.idxmax()],
        }
    ).T
    error = off(guesses, cells, width, far).abs().mean(axis=1)
    share = placing.within(guesses, cells, width).mean(axis=1).add_prefix("within_")
    best = float(placing.within(kept, cells, width).mean(axis=1).max())
    counts = {"n": len(kept.columns), "effective_settings": effective_settings(weight)}
    return {**counts, "within_best": best, **error, **share}
