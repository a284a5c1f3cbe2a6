"""Each printed number among the settings of the ensemble: its percentile, the nearest setting, what no setting explains."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.papers.settings import BASE
from tcpfair.verdicts.ensemble.members import Members
from tcpfair.verdicts.printed import Tolerance, quoted_identity
from tcpfair.verdicts.yardsticks import crps


def repeats(cells: pd.DataFrame) -> pd.Series:
    """Whether a number in the text only repeats one that a table prints: it would count twice."""
    tables = set(zip(cells["exhibit"], cells["key"], cells["metric"], strict=True))
    return pd.Series([quoted_identity(number) in tables for number in cells.to_dict("records")], index=cells.index)


def simulated(members: Members, cells: pd.DataFrame) -> pd.DataFrame:
    """What every setting gives for each printed number: a row per setting, a column per row of ``cells``.

    ``cells`` is a table of `tcpfair.verdicts.cells.cells`. Numbers of experiments that the ensemble leaves out, letters, and
    scatters over runs, which a mean over replicates does not keep, have no column.
    """
    columns = {}
    for number, cell in cells["cell"].items():
        of_runs = cell is not None and cell.runs in ("sd", "cv", "reached")
        letter = cell is not None and (cell.flows or "").startswith("case")
        if cell is None or of_runs or letter or not set(cell.read) <= members.experiments:
            continue
        try:
            values = cell.by_replicate(members.load)
        except InputError:  # the metric is not kept
            continue
        if pd.api.types.is_numeric_dtype(values):
            columns[number] = values
    return pd.DataFrame(columns, index=members.settings, dtype=float)


def widths(cells: pd.DataFrame, tolerances: Mapping[str, Tolerance]) -> pd.Series:
    """How far a number may lie from each printed one, in the printed unit; NaN where that is not a distance."""
    rows = zip(cells["metric"], pd.to_numeric(cells["value"], errors="coerce"), strict=True)
    known = [np.nan if tolerances[m].exact or np.isnan(value) else tolerances[m].width(value) for m, value in rows]
    return pd.Series(known, index=cells.index)


def errors(values: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Simulated less printed; of a bound (``*_lower_bound``, ``*_upper_bound``) the wrong side alone counts."""
    printed = pd.to_numeric(cells["value"], errors="coerce")[values.columns]
    found = values - printed
    for number, metric in cells["metric"][values.columns].items():
        if metric.endswith("_lower_bound"):
            found[number] = found[number].clip(upper=0)
        elif metric.endswith("_upper_bound"):
            found[number] = found[number].clip(lower=0)
    return found


def within(values: pd.DataFrame, cells: pd.DataFrame, width: pd.Series) -> pd.DataFrame:
    """Whether each setting has each printed number within its tolerance; where it has no value it has not."""
    return errors(values, cells).abs() <= width[values.columns] * (1 + 1e-9)


def place(values: pd.DataFrame, cells: pd.DataFrame, width: pd.Series, inside: tuple[float, float]) -> pd.DataFrame:
    """Each printed number among the settings: one row per column of ``values``.

    Columns: printed, base (what the configured setting gives), low, median, high (of the settings; low and high are the
    quantiles ``inside``), percentile (share of the settings below the printed number, in per cent), inside (whether print
    lies in that range), nearest_setting and nearest (its value), explained (whether any setting has it within ``tolerance``),
    settings_share (how many do), crps.
    """
    printed = pd.to_numeric(cells["value"], errors="coerce")
    hit = within(values, cells, width)
    rows = []
    for number in values:
        known = values[number].dropna()
        if known.empty or np.isnan(printed[number]):
            continue
        low, median, high = known.quantile([inside[0], 0.5, inside[1]])
        nearest = (known - printed[number]).abs().idxmin()
        rows.append(
            {
                "number": number,
                "printed": printed[number],
                "base": values[number].get(BASE, np.nan),
                "low": low,
                "median": median,
                "high": high,
                "percentile": 100 * _percentile(known.to_numpy(), printed[number]),
                "inside": bool(low <= printed[number] <= high),
                "nearest_setting": nearest,
                "nearest": known[nearest],
                "tolerance": width[number],
                "explained": bool(hit[number].any()),
                "settings_share": float(hit[number].mean()),
                "crps": float(crps(known.to_numpy(), printed[number])),
            }
        )
    return pd.DataFrame(rows, columns=PLACED).set_index("number")


PLACED = [
    "number",
    "printed",
    "base",
    "low",
    "median",
    "high",
    "percentile",
    "inside",
    "nearest_setting",
    "nearest",
    "tolerance",
    "explained",
    "settings_share",
    "crps",
]


def _percentile(values: npt.NDArray[np.float64], x: float) -> float:
    """Share of ``values`` below ``x``, half of those that are equal to it."""
    return float(np.mean(values < x) + np.mean(values == x) / 2)


def with_their_table(values: pd.DataFrame, cells: pd.DataFrame, width: pd.Series, share: float) -> pd.Series:
    """Whether a single setting has a number together with its table, that is with at least ``share`` of its exhibit."""
    hit = within(values, cells, width)
    exhibit = cells["exhibit"][values.columns]
    of_table = hit.T.groupby(exhibit).mean().T
    return pd.Series({n: bool((hit[n] & (of_table[exhibit[n]] >= share)).any()) for n in hit}, dtype=bool)
