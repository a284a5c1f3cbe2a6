"""Each published number among the settings of the ensemble: percentile, nearest setting, and whether any setting has it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.papers.settings import BASE
from tcpfair.verdicts.combine import share_below
from tcpfair.verdicts.ensemble.members import Members
from tcpfair.verdicts.printed import Tolerance, quoted_identity
from tcpfair.verdicts.yardsticks import crps


def repeats(cells: pd.DataFrame) -> pd.Series:
    """Whether a number in the text only repeats one in a table, and so would count twice."""
    tables = set(zip(cells["exhibit"], cells["key"], cells["metric"], strict=True))
    return pd.Series([quoted_identity(number) in tables for number in cells.to_dict("records")], index=cells.index)


def simulated(members: Members, cells: pd.DataFrame) -> pd.DataFrame:
    """The value of each published number in every setting: a row per setting, a column per row of ``cells``.

    ``cells`` is a table of `tcpfair.verdicts.cells.cells`. Numbers of experiments that the ensemble lacks, letters, and
    scatters over runs, which a mean over replicates does not have, have no column.
    """
    columns = {}
    for number, cell in cells["cell"].items():
        of_runs = cell is not None and cell.runs in ("sd", "cv", "reached")
        letter = cell is not None and (cell.flows or "").startswith("case")
        if cell is None or of_runs or letter or not set(cell.read) <= members.experiments:
            continue
        try:
            values = cell.by_replicate(members)
        except InputError:  # the metric is not stored
            continue
        if pd.api.types.is_numeric_dtype(values):
            columns[number] = values
    return pd.DataFrame(columns, index=members.settings, dtype=float)


def widths(cells: pd.DataFrame, tolerances: Mapping[str, Tolerance]) -> pd.Series:
    """The tolerance of each published number, in its unit; NaN if it is not a distance."""
    rows = zip(cells["metric"], pd.to_numeric(cells["value"], errors="coerce"), strict=True)
    known = [np.nan if tolerances[m].exact or np.isnan(value) else tolerances[m].width(value) for m, value in rows]
    return pd.Series(known, index=cells.index)


def errors(values: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Simulated minus published; for a bound (``*_lower_bound``, ``*_upper_bound``) only the wrong side counts."""
    found = values - pd.to_numeric(cells["value"], errors="coerce")[values.columns]
    metrics = cells["metric"][values.columns]
    for ending, right_side in (("_lower_bound", {"upper": 0}), ("_upper_bound", {"lower": 0})):
        bounds = metrics.index[metrics.str.endswith(ending)]
        found[bounds] = found[bounds].clip(**right_side)
    return found


def within(values: pd.DataFrame, cells: pd.DataFrame, width: pd.Series) -> pd.DataFrame:
    """Whether each setting has each published number within its tolerance; False without a value."""
    return errors(values, cells).abs() <= width[values.columns] * (1 + 1e-9)


# columns of `place`, after the number
PLACED = [
    *("printed", "base", "low", "median", "high", "percentile", "inside"),
    *("nearest_setting", "nearest", "tolerance", "explained", "settings_share", "crps"),
]


def place(values: pd.DataFrame, cells: pd.DataFrame, width: pd.Series, inside: tuple[float, float]) -> pd.DataFrame:
    """Each published number among the settings: one row per column of ``values`` in which a setting has a value.

    Columns `PLACED`: printed, base (value of the configured setting), low, median, high (of the settings; low and high are the
    quantiles ``inside``), percentile (percentage of the settings below the published number), inside (whether the published
    number is in that range), nearest_setting and nearest (its value), explained (whether any setting has the number within
    ``tolerance``), settings_share (share of the settings that do), crps.
    """
    printed = pd.to_numeric(cells["value"], errors="coerce")[values.columns]
    numbers = values.columns[values.notna().any() & printed.notna()]
    values, printed = values[numbers], printed[numbers]
    known = [column.dropna().to_numpy() for _, column in values.items()]
    nearest = (values - printed).abs().idxmin()
    hit = within(values, cells, width)
    found = (
        values.quantile([inside[0], 0.5, inside[1]])
        .set_axis(["low", "median", "high"])
        .T.assign(
            printed=printed,
            base=values.reindex([BASE]).iloc[0],
            percentile=[float(100 * share_below(each, x)) for each, x in zip(known, printed, strict=True)],
            nearest_setting=nearest,
            nearest=[values.at[setting, number] for number, setting in nearest.items()],
            tolerance=width[numbers],
            explained=hit.any(),
            settings_share=hit.mean(),
            crps=[float(crps(each, x)) for each, x in zip(known, printed, strict=True)],
        )
    )
    found["inside"] = found["printed"].between(found["low"], found["high"])
    return found[PLACED].rename_axis("number")


def with_their_table(hit: pd.DataFrame, cells: pd.DataFrame, share: float) -> pd.Series:
    """Whether one setting has a number and at least ``share`` of its exhibit within tolerance; ``hit`` is from `within`."""
    exhibit = cells["exhibit"][hit.columns]
    of_table = hit.T.groupby(exhibit).mean().T[exhibit].to_numpy()
    return (hit & (of_table >= share)).any()
