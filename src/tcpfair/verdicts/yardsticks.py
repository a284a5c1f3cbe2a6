"""What a share of printed numbers within tolerance is worth: what others would reach that know less, or all.

Each yardstick is a set of numbers in the place of the reproduced ones, so that `tcpfair.verdicts.printed.compare` counts
them as it counts those: a null model that knows one value for each table (`null_model`), the other Bhatti paper on the
cells that both print (`other_paper`). A perfect model would still be as far off as repetitions of the experiment are
(`perfect_model`). `crps` says how well an ensemble foretold a printed number.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.contract.layout import Layout
from tcpfair.contract.papers import PaperConfig
from tcpfair.verdicts.cells import cells
from tcpfair.verdicts.scatter import twice_printed

SMALLEST_TABLE = 4  # numbers of one metric that make a table; of fewer the median is nearly the print itself
NUMBER_COLUMNS = ["exhibit", "key", "metric", "value", "sd", "n_runs", "source"]
_LETTERS = ("case", "case_1dp")


def null_model(printed: pd.DataFrame, constants: Mapping[str, float] | None = None) -> pd.DataFrame:
    """Numbers of a model that says the same of each cell of a table: in the form that `compare` takes as reproduced.

    ``printed`` comes from `load_printed`. The value is that of ``constants`` by metric, ``{"throughput_mean": 47,
    "jfi_mean": 0.9}`` for instance, else the median of the metric over the printed table, which is the best that such a
    model can know. Only tables with at least `SMALLEST_TABLE` numbers of a metric count. A dash is never foretold.
    """
    results = printed[(printed["kind"] == "result") & ~printed["metric"].isin(_LETTERS)]
    parts = []
    for (_, metric), table in results.groupby(["exhibit", "metric"], sort=False):
        values = pd.to_numeric(table["value"], errors="coerce")
        if len(table) >= SMALLEST_TABLE:
            parts.append(table.assign(value=(constants or {}).get(metric, values.median())))
    return _as_numbers(pd.concat(parts) if parts else results.iloc[:0], "null model")


def other_paper(papers: Mapping[str, PaperConfig], layout: Layout, of: str) -> pd.DataFrame:
    """What the other Bhatti paper prints in the cells of paper ``of`` that both measured: in the form of `null_model`.

    Cells that are one measurement printed twice are left out (`tcpfair.verdicts.scatter`).
    """
    shared = twice_printed(papers, layout)
    shared = shared[~shared["reprint"]]
    value = {"bhatti2008": "second", "bhatti2009": "first"}[of]
    own_name = {"bhatti2008": {"pair_ccid2_first": "pair"}, "bhatti2009": {}}[of]
    key = ["experiment", "protocol", "rtt_ms", "flow", "measure"]
    others = shared.replace({"experiment": own_name}).rename(columns={"metric": "measure"}).set_index(key)[value]
    table = cells(papers[of], layout)
    plain = table[table["cell"].notna() & (table["derived"] == "") & (table["how"] == "table")]
    where = pd.DataFrame(plain["where"].tolist(), index=plain.index)
    places = pd.MultiIndex.from_frame(pd.concat([plain, where], axis=1)[key])
    found = plain.assign(value=others.reindex(places).to_numpy())
    return _as_numbers(found.dropna(subset="value"), "other paper")


def perfect_model(scatter: pd.DataFrame) -> pd.DataFrame:
    """Share of numbers within tolerance that a model without fault would reach.

    Columns metric, of, source, cells, within (by the tolerances), within_scatter (by the scatter that is used).
    ``scatter`` is ``data/scatter.csv``. Two means of the paper's number of runs, one printed and one of the model, lie as far
    apart as two repetitions with the sampling noise alone: by the printed standard deviation where there is one, else by the
    scatter of the simulation. Where both papers repeated the measurement, that share (``twice printed``) is beside it.
    """
    noise = scatter[scatter["source"].isin(["printed sd", "simulated"])].drop_duplicates(["metric", "of"])
    repeated = scatter[scatter["source"] == "twice printed"]
    rows = pd.concat([noise, repeated])[["metric", "of", "source", "cells", "share_within", "share_within_used"]]
    rows = rows.rename(columns={"share_within": "within", "share_within_used": "within_scatter"})
    return rows.sort_values(["of", "metric"], kind="stable", ignore_index=True)


def shares(compared: pd.DataFrame) -> pd.DataFrame:
    """Counts and shares of a table of `compare`, of what was computed: a row for each paper, exhibit and metric.

    Columns paper, exhibit, metric, numbers (compared), within, within_scatter (shares).
    """
    done = compared[compared["within"].notna()]
    groups = done.groupby(["paper", "exhibit", "metric"], sort=False)
    table = groups.agg(numbers=("within", "size"), within=("within", "mean"), within_scatter=("within_scatter", "mean"))
    return table.astype({"within": float, "within_scatter": float}).reset_index()


def side_by_side(compared: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Shares of several tables of `compare` over the numbers that all of them have, by the name that each is given.

    Columns paper, numbers, and for each name its share by the tolerances and, as ``name by scatter``, by the scatter.
    """
    identity = ["paper", "exhibit", "key", "metric"]
    indexed = {name: table.set_index(identity) for name, table in compared.items()}
    first, *others = (table.index[table["within"].notna()] for table in indexed.values())
    common = first
    for each in others:
        common = common.intersection(each, sort=False)
    columns = {"numbers": pd.Series(1, common)}
    for name, table in indexed.items():
        columns[name] = table.loc[common, "within"].astype(float)
        columns[f"{name} by scatter"] = table.loc[common, "within_scatter"].astype(float)
    of_papers = pd.DataFrame(columns).groupby(level="paper", sort=False)
    return of_papers.agg({name: "sum" if name == "numbers" else "mean" for name in columns}).reset_index()


def crps(ensemble: npt.ArrayLike, observed: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Continuous ranked probability score of ``ensemble`` (..., members) against ``observed`` (...), in their unit.

    The mean distance of the members from the observation less half of their mean distance from each other: the absolute
    error of a single member, 0 for members that all hit. Gneiting and Raftery 2007, eq. 21. NaN where a member is.
    """
    x = np.sort(np.asarray(ensemble, dtype=float), axis=-1)
    n = x.shape[-1]
    off = np.abs(x - np.asarray(observed, dtype=float)[..., np.newaxis]).mean(axis=-1)
    rank = 2 * np.arange(1, n + 1) - n - 1  # sum of |x_i - x_j| over i < j of sorted values
    return off - (rank * x).sum(axis=-1) / n**2


def _as_numbers(table: pd.DataFrame, source: str) -> pd.DataFrame:
    numbers = table[["exhibit", "key", "metric", "value"]]
    return numbers.assign(sd=np.nan, n_runs=0, source=source)[NUMBER_COLUMNS].reset_index(drop=True)
