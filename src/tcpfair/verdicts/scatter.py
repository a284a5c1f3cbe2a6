"""Differences between independent repetitions of a published table, and the tolerances that follow from them.

A tolerance should reflect the papers' own scatter. For each metric, the distances of pairs of repetitions come from the
first of these sources that has any:

* ``twice printed``: bhatti2008 and bhatti2009 publish the same pairs and self-pairs on the same testbed (25 and 5 runs). Rows
  that agree to the digit nearly everywhere are one measurement published twice and are excluded (`REPRINT_SHARE`).
* ``printed sd``: two means of n runs each, from a published standard deviation over n runs. Their difference is assumed
  normal with the variance 2 sd^2 / n; each cell contributes `_LEVELS` quantiles of its magnitude.
* ``simulated``: two sets of this repository's runs at the base setting, each as large as the paper's number of runs: all
  pairs of single runs, else `_DRAWS` pairs of sets drawn with replacement, their distances widened by sqrt(n / (n - 1)).

``both orders`` (bhatti2009 with either flow first) is measured too but never used, because the paper itself states that
the order matters in these tables. The tolerance is the smallest distance that at least 95 % of the pairs do not exceed;
with fewer than 20 pairs it is the largest. It is relative if that of ``data/tolerances.yaml`` is; then each value of a pair
serves as the published one in turn. An absolute tolerance is at least half of the last published digit. The place of an event
along a sweep is known to a step of the sweep at best. Closed forms and letters have no scatter and keep their tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd

from tcpfair.files.layout import Layout
from tcpfair.metrics.exactmath import log10
from tcpfair.metrics.fairness import nru_tuple, tuple_stability
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.verdicts.cells import Cell, cells
from tcpfair.verdicts.measured import Measured
from tcpfair.verdicts.printed import Tolerance
from tcpfair.verdicts.printed_metrics import printed_metrics

SOURCES = ("twice printed", "printed sd", "simulated", "both orders")
UNUSED = ("both orders",)
SHARE = 0.95  # of the pairs
REPRINT_SHARE = 0.75  # share of equal numbers in a row from which it is a reprint, not a repetition
TWINS = ("bhatti2008", "bhatti2009")  # which measured on the same testbed
TESTBED = "testbed"  # numbers of the pairs and self-pairs of both Bhatti papers
SCATTER_COLUMNS = [
    *("metric", "of", "exhibits", "source", "used", "cells", "pairs", "relative", "median", "p95"),
    *("share_within", "share_within_used"),
]

_LEVELS = 40
_DRAWS = 60
_SEED = 20080911
_SAME_RUNS = {"self": "self", "pair": "pair_ccid2_first"}  # experiments of bhatti2008 and of bhatti2009
_ORDERS = ("pair_ccid2_first", "pair_tcp_first")
_TESTBED_EXPERIMENTS = {*_SAME_RUNS, *_SAME_RUNS.values(), *_ORDERS}
# bounds of the same numbers as another metric
_LIKE = {"jfi_lower_bound": "jfi_mean", "jfi_upper_bound": "jfi_mean", "ratio_upper_bound": "ratio"}
_PLACE = ["protocol", "rtt_ms"]
_PAIR = ["metric", "of", "source", "cell", "first", "second"]

LoadMetrics = Callable[[str, str], pd.DataFrame]
Papers = Mapping[str, PaperConfig]


# --- Pairs of repetitions -----------------------------------------------------------------------------------------


def repetitions(papers: Papers, layout: Layout, load_metrics: LoadMetrics) -> pd.DataFrame:
    """Pairs of repetitions from every source: columns metric, of, source, cell, first, second, in published units.

    ``of`` is `TESTBED` or the experiment, ``cell`` names the published number. ``load_metrics`` returns the metrics of paper
    and experiment. Pairs with a missing value are omitted.
    """
    simulated = _simulated(numbers_with_scatter(papers, layout), load_metrics)
    return pd.concat([printed_repetitions(papers, layout), _known(simulated)], ignore_index=True)


def printed_repetitions(papers: Papers, layout: Layout) -> pd.DataFrame:
    """Those of the `repetitions` that need only published numbers."""
    numbers = numbers_with_scatter(papers, layout)
    parts = [_twice_printed(papers, layout, numbers), _printed_sd(numbers), _both_orders(papers, layout)]
    return _known(pd.concat(parts, ignore_index=True))


def _known(pairs: pd.DataFrame) -> pd.DataFrame:
    return pairs.loc[np.isfinite(pairs["first"]) & np.isfinite(pairs["second"]), _PAIR].reset_index(drop=True)


def numbers_with_scatter(papers: Papers, layout: Layout) -> pd.DataFrame:
    """Every published number with scatter: the rows of `cells` with a cell, except letters, and ``of``."""
    table = pd.concat([cells(paper, layout) for paper in papers.values()], ignore_index=True)
    table = table[table["cell"].notna() & ~table["metric"].str.startswith("case")]
    testbed = table["exhibit"].str.startswith("bhatti") & table["experiment"].isin(_TESTBED_EXPERIMENTS)
    return table.assign(of=table["experiment"].mask(testbed, TESTBED), cell_name=table["exhibit"] + " " + table["key"])


def in_both(own: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """The rows of one Bhatti paper's `cells` whose numbers the tables of the ``other`` one have too.

    ``experiment`` is that of bhatti2009. Further columns: protocol, rtt_ms, ``other``, the value in that paper, and
    ``reprint``. Rows of one protocol, or of an experiment without protocols, are one measurement that is published twice if
    `REPRINT_SHARE` of them are equal.
    """
    own, other = (table[table["how"] == "table"].replace({"experiment": _SAME_RUNS}) for table in (own, other))
    values = other.set_index(["experiment", "key", "metric"])["value"].rename("other")
    both = own.join(values, on=values.index.names, how="inner")
    both = both.join(pd.DataFrame(both["where"].tolist(), both.index)[_PLACE])
    equal = (both["value"] == both["other"]).groupby([both["experiment"], both["protocol"].fillna("")])
    return both.assign(reprint=equal.transform("mean") >= REPRINT_SHARE)


def reprints(paper: PaperConfig, layout: Layout) -> frozenset[int]:
    """The rows of a paper's `cells` that are measurements of the other Bhatti paper, even if that one is not requested."""
    if paper.paper not in TWINS:
        return frozenset()
    (twin,) = set(TWINS) - {paper.paper}
    tables = (cells(each, layout) for each in (paper, load_paper(layout.paper_config(twin))))
    return frozenset(in_both(*tables).query("reprint").index)


def _twice_printed(papers: Papers, layout: Layout, numbers: pd.DataFrame) -> pd.DataFrame:
    both = in_both(*(cells(papers[name], layout) for name in TWINS)).query("not derived")
    both = both.assign(first=pd.to_numeric(both["value"]), second=pd.to_numeric(both["other"]))
    parts = [both[~both["reprint"]], _ratios_of_both(both), _spreads_of_both(numbers)]
    found = pd.concat(parts, ignore_index=True)
    named = [
        f"{p} {r:g} ms" + (f" flow {f:g}" if f else "") for p, r, f in found[[*_PLACE, "flow"]].fillna(0).to_numpy()
    ]
    return found.assign(of=TESTBED, source=SOURCES[0], cell=named)


def _throughputs(both: pd.DataFrame, experiment: str, when: str) -> pd.DataFrame:
    rows = both[(both["experiment"] == experiment) & (both["metric"] == "throughput_mean")]
    return rows.set_index([*_PLACE, "flow"])[when].unstack("flow")


def _ratios_of_both(both: pd.DataFrame) -> pd.DataFrame:
    """Ratios of published throughputs to those of self-pairs, of both papers.

    U_N+, U_N- and S_N by the rule of bhatti2008, and CCID2's throughput against each protocol over that against itself.
    """
    found = {}
    for when in ("first", "second"):
        own, pairs = (_throughputs(both, name, when) for name in ("self", "pair_ccid2_first"))
        of_ccid2 = (
            own.xs("CCID2", level="protocol").reindex(pairs.index.get_level_values("rtt_ms")).set_axis(pairs.index)
        )
        expected = np.stack([of_ccid2.mean(axis=1), own.reindex(pairs.index).mean(axis=1)], axis=1)
        u_n = 10 * log10(pairs.to_numpy() / expected)
        _, plus, minus = nru_tuple(u_n)
        values = {"U_N+": plus, "U_N-": minus, "S_N": tuple_stability(u_n), "ratio": pairs[1] / of_ccid2[1]}
        found[when] = pd.DataFrame(values, pairs.index).rename_axis(columns="metric").stack(future_stack=True)
    return pd.DataFrame(found).reset_index()


def _spreads_of_both(numbers: pd.DataFrame) -> pd.DataFrame:
    """Standard deviation and CoV of J over runs: each paper publishes one of them, and both publish the mean."""
    of_2008, of_2009 = _values(numbers, "bhatti2008.table5"), _values(numbers, "bhatti2009.table5")
    shared = of_2008.index.intersection(of_2009.index)
    mean, cv = (of_2008.loc[shared, name] for name in ("jfi_mean", "jfi_cv"))
    mean_2009, sd = (of_2009.loc[shared, name] for name in ("jfi_mean", "jfi_sd"))
    spreads = {"jfi_sd": (cv * mean, sd), "jfi_cv": (cv, sd / mean_2009)}
    parts = [pd.DataFrame({"first": a, "second": b}).assign(metric=name) for name, (a, b) in spreads.items()]
    return pd.concat(parts).reset_index()


def _values(numbers: pd.DataFrame, exhibit: str) -> pd.DataFrame:
    """Published values of a table by protocol and RTT, a column for each metric."""
    rows = numbers[numbers["exhibit"] == exhibit]
    where = pd.DataFrame(rows["where"].tolist(), index=rows.index)
    return pd.concat([rows["metric"], pd.to_numeric(rows["value"]), where], axis=1).pivot(
        index=_PLACE, columns="metric", values="value"
    )


def _printed_sd(numbers: pd.DataFrame) -> pd.DataFrame:
    """Two means of n runs with the published standard deviation, for every cell of J that has one."""
    from scipy.special import ndtri  # slow to import, and rarely needed

    parts = []
    levels = ndtri((1 + (np.arange(_LEVELS) + 0.5) / _LEVELS) / 2)  # of the half-normal distribution
    for exhibit, rows in numbers.groupby("exhibit", sort=False):
        spread = next((name for name in ("jfi_sd", "jfi_cv") if (rows["metric"] == name).any()), None)
        if spread is None:
            continue
        n_runs = int(rows.loc[rows["metric"] == "jfi_mean", "printed_runs"].iloc[0])
        for (protocol, rtt_ms), cell in _values(numbers, exhibit).iterrows():
            sd = cell[spread] * (cell["jfi_mean"] if spread == "jfi_cv" else 1.0)
            apart = sd * math.sqrt(2 / n_runs) * levels
            name = f"{exhibit} protocol={protocol};rtt_ms={rtt_ms:g}"
            pairs = pd.DataFrame({"first": cell["jfi_mean"], "second": cell["jfi_mean"] + apart, "cell": name})
            parts.append(pairs)
    return pd.concat(parts).assign(metric="jfi_mean", of=TESTBED, source=SOURCES[1])


def _both_orders(papers: Papers, layout: Layout) -> pd.DataFrame:
    """The same two protocols with either of them first: J, and each protocol's throughput."""
    tables = printed_metrics(papers["bhatti2009"], layout)
    ccid2_first, tcp_first = (tables[name].query("derived == ''") for name in _ORDERS)
    key = [*_PLACE, "flow_protocol", "metric"]
    both = ccid2_first.merge(tcp_first, on=key, suffixes=("_first", "_second"))
    both = both.rename(columns={"value_first": "first", "value_second": "second"})
    named = [f"{protocol} {rtt_ms:g} ms {of}".rstrip() for protocol, rtt_ms, of in both[key[:3]].to_numpy()]
    return both.assign(of=TESTBED, source=SOURCES[3], cell=named)


# --- The simulation's own scatter ---------------------------------------------------------------------------------


def _simulated(numbers: pd.DataFrame, load_metrics: LoadMetrics) -> pd.DataFrame:
    rng = np.random.default_rng(_SEED)
    measured = {
        name: Measured(partial(load_metrics, name)) for name in numbers["exhibit"].str.partition(".")[0].unique()
    }
    parts = []
    for number in numbers.to_dict("records"):
        paper = number["exhibit"].partition(".")[0]
        pairs = _pairs_of_sets(number["cell"], measured[paper], number["printed_runs"], rng)
        rows = pd.DataFrame(pairs, columns=["first", "second"], dtype=float)
        metric = _LIKE.get(number["metric"], number["metric"])
        parts.append(rows.assign(metric=metric, of=number["of"], cell=number["cell_name"]))
    return pd.concat(parts, ignore_index=True).assign(source=SOURCES[2])


def _pairs_of_sets(cell: Cell, measured: Measured, n_runs: int, rng: np.random.Generator) -> Iterator:
    """The number from two sets of ``n_runs`` runs each, for many such pairs."""
    if n_runs == 1:
        return combinations(cell.by_replicate(measured).tolist(), 2)
    replicates, value = cell.by_set(measured)
    if len(replicates) < 2:
        return iter(())
    drawn = [value(rng.choice(replicates, n_runs)) for _ in range(2 * _DRAWS)]
    wider = math.sqrt(len(replicates) / (len(replicates) - 1))
    return ((a, a + wider * (b - a)) for a, b in zip(drawn[::2], drawn[1::2], strict=True))


# --- The rule -----------------------------------------------------------------------------------------------------


def scatter_table(pairs: pd.DataFrame, numbers: pd.DataFrame, tolerances: Mapping[str, Tolerance]) -> pd.DataFrame:
    """Distances of the pairs of `repetitions`, a row for each metric, group of numbers and source.

    Columns `SCATTER_COLUMNS`: exhibits with such numbers (joined by ``;``), whether the source is used, numbers of cells and
    pairs, whether distances are relative, their median, the distance that 95 % do not exceed, the share within
    ``tolerances``, and the share within the distance of the used source. ``numbers`` come from `numbers_with_scatter`.
    """
    rows = []
    likes = numbers["metric"].map(lambda metric: _LIKE.get(metric, metric))
    for (metric, of), group in numbers.groupby([likes, "of"], sort=False):
        mine, tolerance = pairs[(pairs["metric"] == metric) & (pairs["of"] == of)], tolerances[metric]
        relative = tolerance.relative is not None
        found = {source: mine[mine["source"] == source] for source in SOURCES if (mine["source"] == source).any()}
        apart = {source: distances(of_source, relative) for source, of_source in found.items()}
        used = next((source for source in found if source not in UNUSED), None)
        for source, of_source in found.items():
            rows.append(
                {
                    "metric": metric,
                    "of": of,
                    "exhibits": ";".join(dict.fromkeys(group["exhibit"])),
                    "source": source,
                    "used": source == used,
                    "cells": of_source["cell"].nunique(),
                    "pairs": len(of_source),
                    "relative": relative,
                    "median": float(np.median(apart[source])),
                    "p95": reach(apart[source]),
                    "share_within": _share_within(apart[source], tolerance.relative or tolerance.absolute),
                    "share_within_used": _share_within(apart[source], reach(apart[used])) if used else np.nan,
                }
            )
    return pd.DataFrame(rows, columns=SCATTER_COLUMNS)


def _share_within(apart: np.ndarray, width: float) -> float:
    return float((apart <= width * (1 + 1e-9)).mean())  # 0.90 - 0.85 is a little more than 0.05 in binary


def distances(pairs: pd.DataFrame, relative: bool) -> np.ndarray:
    """Distances of ``first`` and ``second``; relative ones to each of the two in turn, twice as many."""
    first, second = (pairs[name].to_numpy(dtype=float) for name in ("first", "second"))
    apart = np.abs(second - first)
    if not relative:
        return apart
    with np.errstate(divide="ignore", invalid="ignore"):
        both = np.concatenate([apart / np.abs(first), apart / np.abs(second)])
    return np.nan_to_num(both, nan=0.0, posinf=np.inf)  # the distance of two zeros is 0


def reach(apart: np.ndarray) -> float:
    """The smallest of the distances that at least `SHARE` of them do not exceed."""
    return float(np.quantile(apart, SHARE, method="inverted_cdf"))


def scatter_tolerances(
    table: pd.DataFrame, numbers: pd.DataFrame, tolerances: Mapping[str, Tolerance]
) -> dict[str, Tolerance]:
    """Tolerance of each metric by its scatter; metrics without scatter keep that of ``tolerances``.

    Keys are metrics, for the group with most numbers, and ``exhibit metric`` for the numbers of other groups.
    """
    reaches = table[table["used"]].set_index(["metric", "of"])["p95"]
    found = dict(tolerances)
    for metric, of_metric in numbers.groupby("metric", sort=False):
        groups = of_metric["of"].value_counts(sort=True).index
        for of in groups:
            group = of_metric[of_metric["of"] == of]
            place = (_LIKE.get(metric, metric), of)
            if place not in reaches.index or not np.isfinite(reaches[place]):
                continue
            tolerance = _tolerance(reaches[place], group, tolerances[metric].relative is not None)
            keys = [metric] if of == groups[0] else [f"{name} {metric}" for name in dict.fromkeys(group["exhibit"])]
            found |= dict.fromkeys(keys, tolerance)
    return found


def _tolerance(distance: float, group: pd.DataFrame, relative: bool) -> Tolerance:
    """``distance`` rounded up to three digits; an absolute one is at least the resolution of the published numbers."""
    if relative:
        return Tolerance(relative=_up(distance))
    least = max(0.5 * 10.0 ** -len(text.partition(".")[2]) for text in group["value"] if text)
    return Tolerance(absolute=_up(max(distance, least, *map(_step, group["cell"]))))


def _step(cell: Cell) -> float:
    """The smallest step of the sweep for a number that is a place along it, in the published unit; 0 for any other number."""
    if not (cell.cells or "").startswith("place_"):
        return 0.0
    places = np.unique(cell.grid[cell.over])
    return float(cell.scale * np.diff(places).min())


def _up(value: float) -> float:
    """``value`` rounded up to three digits, ignoring the binary error of a decimal."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.ceil(value / unit - 1e-6) * unit:.3g}")
