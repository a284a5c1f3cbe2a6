"""Yardsticks for the share of published numbers within tolerance: a naive model, another paper, and a perfect model.

Each yardstick is a set of numbers that replaces the reproduced ones, so that `tcpfair.verdicts.printed.compare` counts them in
the same way: a null model with one value for each table (`null_model`), or the other Bhatti paper on the cells that both
publish (`other_papers`). A perfect model would still deviate as much as repetitions of the experiment do
(`_perfect_model`). `crps` scores how well an ensemble predicts a published number. `yardstick_table` compares all of
them with the reproduced numbers, for the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.verdicts.baseline import NUMBER_COLUMNS
from tcpfair.verdicts.cells import cells
from tcpfair.verdicts.printed import IDENTITY, both_tolerances, compare, load_printed
from tcpfair.verdicts.scatter import TWINS, in_both

SMALLEST_TABLE = 4  # least numbers of one metric in a table; the median of fewer is nearly the published number itself
YARDSTICK_COLUMNS = [
    *("paper", "yardstick", "measure", "numbers", "reproduced", "value", "reproduced_by_scatter", "by_scatter"),
]
NULL, OTHER, PERFECT, SETTINGS = "null model", "other paper", "perfect model", "all settings"
SHARE, ERROR = "share within tolerance", "error in tolerances"
_LETTERS = ("case", "case_1dp")


def null_model(printed: pd.DataFrame) -> pd.DataFrame:
    """Numbers of a model that predicts one value for all cells of a table, in the form of `compare`'s ``reproduced``.

    ``printed`` comes from `load_printed`. The value is the median of the metric over the published table, the best value
    for such a model. Only tables with at least `SMALLEST_TABLE` numbers of a metric count. A dash is never predicted.
    """
    results = printed[(printed["kind"] == "result") & ~printed["metric"].isin(_LETTERS)]
    tables = pd.to_numeric(results["value"], errors="coerce").groupby([results["exhibit"], results["metric"]])
    known = tables.transform("size") >= SMALLEST_TABLE
    return _as_numbers(results.assign(value=tables.transform("median"))[known], "null model")


def other_papers(papers: Mapping[str, PaperConfig], layout: Layout) -> pd.DataFrame:
    """The other Bhatti paper's numbers in the cells that both measured, in the form of `null_model`, for both papers.

    Cells that are one measurement published twice are omitted.
    """
    first, second = (cells(papers[name], layout) for name in TWINS)
    found = pd.concat([in_both(first, second), in_both(second, first)]).query("not derived and not reprint")
    return _as_numbers(found.assign(value=pd.to_numeric(found["other"])), "other paper")


def side_by_side(reproduced: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Shares within tolerance of two tables of `compare`, over the numbers that both have, in `YARDSTICK_COLUMNS`."""
    both, others = (table.dropna(subset="within") for table in (reproduced, other))
    both = both.merge(others, on=["paper", *IDENTITY], suffixes=("", "_of_other"))
    return _shares(both, "within_of_other", "within_scatter_of_other")


def _shares(both: pd.DataFrame, value: str, by_scatter: str) -> pd.DataFrame:
    """Means by paper: of the reproduced numbers, and of two columns with the shares of a yardstick."""
    columns = {"within": "reproduced", "within_scatter": "reproduced_by_scatter"}
    columns |= {value: "value", by_scatter: "by_scatter"}
    shares = both[["paper", *columns]].rename(columns=columns).astype(dict.fromkeys(columns.values(), float))
    groups = shares.groupby("paper", sort=False)
    return groups.mean().assign(numbers=groups.size()).reset_index()


def crps(ensemble: npt.ArrayLike, observed: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Continuous ranked probability score of ``ensemble`` (..., members) against ``observed`` (...), in their unit.

    The mean distance of the members from the observation minus half of their mean distance from each other: the absolute
    error of a single member, 0 if all members are exact. Gneiting and Raftery 2007, eq. 21. NaN if a member is NaN.
    """
    x = np.sort(np.asarray(ensemble, dtype=float), axis=-1)
    n = x.shape[-1]
    off = np.abs(x - np.asarray(observed, dtype=float)[..., np.newaxis]).mean(axis=-1)
    rank = 2 * np.arange(1, n + 1) - n - 1  # sum of |x_i - x_j| over i < j of sorted values
    return off - (rank * x).sum(axis=-1) / n**2


def yardstick_table(
    layout: Layout, papers: Mapping[str, PaperConfig], numbers: pd.DataFrame, ensemble: pd.DataFrame
) -> pd.DataFrame:
    """The reproduced numbers next to each yardstick, over the numbers that both have: a row for each paper and yardstick.

    Columns `YARDSTICK_COLUMNS`: ``reproduced`` and ``value`` (the yardstick's) by the tolerances, and both by the scatter.
    ``numbers`` is the ledger's table of numbers, ``ensemble`` that of the ensemble's. If measure is `ERROR`, the values are
    mean distances from the published numbers in tolerances: the distance for a single value, the `crps` for all settings.
    """
    tolerances = both_tolerances(layout.data)
    results = pd.concat([load_printed(paper, layout.data) for paper in papers.values()], ignore_index=True)
    null = null_model(results)
    others = {NULL: null}
    if all(name in papers and papers[name].experiments for name in TWINS):
        others[OTHER] = other_papers(papers, layout)
    rows = [
        side_by_side(numbers, compare(results, table, *tolerances)).assign(yardstick=name)
        for name, table in others.items()
    ]
    rows.append(_perfect_model(numbers, pd.read_csv(layout.data / "scatter.csv")))
    shares_of = pd.concat(rows).assign(measure=SHARE)
    table = pd.concat([shares_of, _errors(ensemble, null)]).reindex(columns=YARDSTICK_COLUMNS)
    return table.sort_values(["measure", "paper"], ascending=[False, True], kind="stable", ignore_index=True)


def _perfect_model(numbers: pd.DataFrame, scatter: pd.DataFrame) -> pd.DataFrame:
    """The share within tolerance if only sampling noise caused deviations, over the numbers whose noise is known."""
    noise = scatter[scatter["source"].isin(["printed sd", "simulated"])].drop_duplicates(["metric", "of"])
    noise = noise.assign(exhibit=noise["exhibits"].str.split(";")).explode("exhibit")
    done = numbers[numbers["within"].notna()].merge(noise, on=["exhibit", "metric"])
    return _shares(done, "share_within", "share_within_used").assign(yardstick=PERFECT)


def _errors(ensemble: pd.DataFrame, null: pd.DataFrame) -> pd.DataFrame:
    """Distances from published numbers in tolerances: of the configured setting, of all settings together, and of the null
    model."""
    own = ensemble[ensemble["hypothesis"].fillna("") == ""]
    own = own.merge(null[[*IDENTITY, "value"]].rename(columns={"value": "null"}), on=IDENTITY, how="left")
    values = own[["printed", "base", "crps", "tolerance", "null"]].apply(pd.to_numeric)
    values = values[values["tolerance"] > 0]
    off = values[["base", "null"]].sub(values["printed"], axis=0).abs().assign(settings=values["crps"])
    off = off.div(values["tolerance"], axis=0).assign(paper=own["paper"])
    rows = []
    for yardstick, column in ((SETTINGS, "settings"), (NULL, "null")):
        groups = off.dropna(subset=["base", column]).groupby("paper", sort=False)
        found = groups.agg(numbers=(column, "size"), reproduced=("base", "mean"), value=(column, "mean")).reset_index()
        rows.append(found.assign(yardstick=yardstick, measure=ERROR))
    return pd.concat(rows)


def _as_numbers(table: pd.DataFrame, source: str) -> pd.DataFrame:
    numbers = table[[*IDENTITY, "value"]]
    return numbers.assign(sd=np.nan, n_runs=0, source=source)[NUMBER_COLUMNS].reset_index(drop=True)
