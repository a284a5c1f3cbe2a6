"""What decides a clause: the one or two assumptions that best separate the settings in which it holds from the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
import pandas as pd

from tcpfair.runs.ensemble import Judging, digits

_ROUNDING = 1e-9  # impurities that differ by less are equal
InWords = Callable[[str, str], str]  # a phrase for an assumption and its value


@dataclass(frozen=True)
class Split:
    """The shares in which a clause holds, for settings with an assumption above a value and for the others."""

    assumption: str
    threshold: float | str  # the largest drawn value that is not above it, or the choice
    above: float  # share in which it holds above, or with this choice
    below: float
    is_choice: bool = False


def split(held: pd.Series, drawn: pd.DataFrame, judging: Judging) -> Split | None:
    """The split of the settings that best separates those in which a clause holds; None if it may be due to chance.

    ``held`` is 1, 0 or NaN by setting; ``drawn`` has the values of the assumptions, a column each. The split is that of a
    classification tree's root (Gini impurity) with at least ``least_share`` of the settings on either side. It counts if
    Fisher's exact test, corrected for the number of tried splits (Bonferroni), gives at most ``chance``.
    """
    held = held.dropna()
    coded = coded_columns(drawn.loc[held.index], ordered=True)
    if held.nunique() < 2 or coded.empty:
        return None
    least = max(2, int(np.ceil(judging.least_share * len(held))))
    holds = held.to_numpy() > 0
    column, threshold, tried = _purest(coded, holds, least)
    if not column:
        return None
    is_above = coded[column].to_numpy() > threshold
    if _fisher_p(is_above, holds) * tried > judging.chance:
        return None
    shares = float(holds[is_above].mean()), float(holds[~is_above].mean())
    name, _, choice = column.partition("\t")
    return Split(name, choice or threshold, *shares, is_choice=bool(choice))


def _purest(coded: pd.DataFrame, held: np.ndarray, least: int) -> tuple[str, float, int]:
    """Column and threshold of the first split with the smallest Gini impurity, and the number of possible splits.

    No column if no split reduces the impurity.
    """
    n, n_held, tried = len(held), held.sum(), 0
    n_below = np.arange(1, n)
    best, found = n_held * (1 - n_held / n), ("", np.nan)
    for column, of_column in zip(coded, coded.to_numpy().T, strict=True):
        order = np.argsort(of_column, kind="stable")
        values, below = of_column[order], np.cumsum(held[order])[:-1]
        above = n_held - below
        impurity = below * (1 - below / n_below) + above * (1 - above / (n - n_below))
        steps = values[1:] > values[:-1]
        tried += int(steps.sum())
        allowed = steps & (np.minimum(n_below, n - n_below) >= least)
        at = int(np.where(allowed, impurity, np.inf).argmin())
        if allowed[at] and impurity[at] < best - _ROUNDING:
            best, found = impurity[at], (column, float(values[at]))
    return *found, tried


def _fisher_p(one: np.ndarray, other: np.ndarray) -> float:
    """P-value of Fisher's exact test, two-sided: the probability of a table of two conditions that is at most as likely."""
    n, n_one, n_other, n_both = len(one), *(int(x.sum()) for x in (one, other, one & other))
    possible = range(max(0, n_one + n_other - n), min(n_one, n_other) + 1)
    ways = {k: comb(n_other, k) * comb(n - n_other, n_one - k) for k in possible}
    return sum(way for way in ways.values() if way <= ways[n_both]) / comb(n, n_one)


def coded_columns(drawn: pd.DataFrame, ordered: bool = False) -> pd.DataFrame:
    """Assumptions as columns: numbers as they are, and an indicator column for each word or infinite value of a choice.

    Constant columns are omitted. With ``ordered``, an infinite value ranks above all others of its assumption: one column has
    their order, and indicator columns the values between the smallest and the largest, which no single threshold separates.
    """
    columns, orders = {}, {}
    for name in drawn:
        column = drawn[name]
        numbers = column if column.dtype.kind in "iuf" else pd.to_numeric(column, errors="coerce")
        numbers = numbers.to_numpy(dtype=float)
        finite = numbers[np.isfinite(numbers)]
        if len(finite) == len(numbers):
            columns[name] = numbers
            continue
        words = drawn[name].astype(str).to_numpy()
        choices = sorted(set(words))
        if ordered and len(finite) and (np.isfinite(numbers) | (numbers == np.inf)).all():
            orders[name] = np.where(np.isinf(numbers), 2 * np.abs(finite).max() + 1, numbers)
            choices = [word for word in choices if word not in words[[numbers.argmin(), numbers.argmax()]]]
        columns |= {f"{name}\t{word}": (words == word).astype(float) for word in choices}
    varied = {name: column for name, column in (columns | orders).items() if column.min() < column.max()}
    return pd.DataFrame(varied, index=drawn.index)


def decides(held: pd.Series, drawn: pd.DataFrame, judging: Judging, in_words: InWords) -> tuple[str, str]:
    """The assumption that decides whether a clause holds (empty if none is found), and a sentence about it.

    ``holds in 71 % of 128 settings; with a buffer above 1.4 BDP in 4 %, else in 88 %``, and what decides within a part.
    The sentence also states if no assumption decides, and in how many settings the clause has no value.
    """
    known = held.dropna()
    if known.empty:
        return "", "has no value in any setting"
    found = f"holds in {_percent(known.mean())} of {len(known)} settings"
    if len(known) < len(held):
        found += f" ({len(held) - len(known)} have no value)"
    if known.nunique() < 2:
        return "", found
    first = split(known, drawn, judging)
    if first is None:
        return "", f"{found}; no single assumption is shown to decide it"
    text = f"{found}; {_with(first, in_words)} in {_percent(first.above)}, else in {_percent(first.below)}"
    side = _side(drawn.loc[known.index], first)
    inside, label = max(
        ((side, f"{_with(first, in_words)} and "), (~side, "otherwise, ")), key=lambda pair: _mixed(known[pair[0]])
    )
    second = split(known[inside], drawn, judging)
    if second is None:
        return first.assumption, text
    other = "else"
    if second.assumption == first.assumption and not second.is_choice and inside is side:
        label, other = "", "between"
    return first.assumption, (
        f"{text}; {label}{_with(second, in_words)} in {_percent(second.above)}, and {other} in {_percent(second.below)}"
    )


def _side(drawn: pd.DataFrame, of: Split) -> pd.Series:
    column = drawn[of.assumption]
    return column.astype(str) == of.threshold if of.is_choice else pd.to_numeric(column) > of.threshold


def _mixed(held: pd.Series) -> float:
    """The impurity of a part of the settings, times its size."""
    share = held.mean() if len(held) else 0.0
    return len(held) * share * (1 - share)


def _with(of: Split, in_words: InWords) -> str:
    if not of.is_choice:
        return f"with {in_words(of.assumption, f'above {digits(of.threshold)}')}"
    number = pd.to_numeric(of.threshold, errors="coerce")
    return f"with {in_words(of.assumption, of.threshold if np.isnan(number) else f'of {digits(number)}')}"


def _percent(share: float) -> str:
    """A whole percentage; 0 % and 100 % only for none and all."""
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"
