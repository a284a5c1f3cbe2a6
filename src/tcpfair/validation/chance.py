"""Differences between the engine and another simulator beyond chance: by flow in random dumbbells, by seed without jitter.

In `agreement` a fixed threshold decides. Random dumbbells have arbitrary mixes and windows of a few packets, so flows are counted
that differ by more than the runs of one setting do. For two equal simulators this is one flow in twenty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from tcpfair.papers.papers import PaperConfig
from tcpfair.validation import drawn
from tcpfair.validation.measures import MOST_FLOWS

FLOW_COLUMNS = [
    *("tool", "experiment", "label", "flow", "algorithm", "rtt_ms", "capacity_bps", "buffer_pkts", "flows"),
    *("engine_mean", "engine_sd", "engine_runs", "tool_mean", "tool_sd", "tool_runs", "difference", "p"),
    *("engine_window", "tool_window"),
]
EQUIVALENT, DIFFERENT, UNDECIDED = "equivalent", "different", "undecided"  # verdicts on a dumbbell
_WORST = ("flow", "engine_mean", "tool_mean", "low", "high", "margin")
DUMBBELL_COLUMNS = ["experiment", "label", "verdict", "runs", *_WORST]
TALLY_COLUMNS = ["what", "flows", "beyond", "beyond_share", "median_difference", "largest_difference", "bar"]
PAIR_COLUMNS = [
    *("tool", "experiment", "algorithm", "runs", "correlation", "engine_mean", "engine_sd", "tool_mean", "tool_sd"),
    *("median_difference",),
]


def paired_experiments(config: PaperConfig) -> list[str]:
    """The experiments whose runs are compared seed by seed."""
    return config.analysis_or("paired_experiments", [])


def welch_p(a: np.ndarray, b: np.ndarray) -> float:
    """P-value of Welch's t test, two-sided, for equal means of two samples with unequal variances.

    Without any spread it is 1 for equal samples, else 0; NaN with fewer than two values on a side.
    """
    if min(len(a), len(b)) < 2:
        return math.nan
    if np.ptp(a) == np.ptp(b) == 0:
        return float(a[0] == b[0])
    return float(stats.ttest_ind(a, b, equal_var=False).pvalue)


def welch_interval(a: np.ndarray, b: np.ndarray, confidence: float) -> tuple[float, float]:
    """Confidence interval of the difference of two means, a - b, with unequal variances (Welch).

    The point itself without any spread; infinite with fewer than two values on a side.
    """
    if min(len(a), len(b)) < 2:
        return -math.inf, math.inf
    if np.ptp(a) == np.ptp(b) == 0:
        return float(a[0] - b[0]), float(a[0] - b[0])
    low, high = stats.ttest_ind(a, b, equal_var=False).confidence_interval(confidence)
    return float(low), float(high)


def _side(name: str, values: np.ndarray) -> dict[str, float]:
    """Mean, standard deviation and number of the runs of one simulator, ``engine`` or ``tool``."""
    sd = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    return {f"{name}_mean": values.mean(), f"{name}_sd": sd, f"{name}_runs": len(values)}


def flows(
    config: PaperConfig, experiment: str, tool: str, engine_runs: pd.DataFrame, tool_runs: pd.DataFrame
) -> pd.DataFrame:
    """A row for each flow of the drawn dumbbells that the tool has run: shares and windows in both, and the p-value."""
    rows = []
    settings = drawn.table(config, experiment)
    engine_of, tool_of = (dict(list(runs.groupby("label"))) for runs in (engine_runs, tool_runs))
    for flow in settings[settings["flow"] <= MOST_FLOWS].to_dict("records"):
        label, number = flow["label"], flow["flow"]
        if label not in engine_of or label not in tool_of:
            continue
        engine, other = (of[label][f"share_{number}"].dropna().to_numpy(float) for of in (engine_of, tool_of))
        compared = {"difference": engine.mean() - other.mean(), "p": welch_p(engine, other)}
        for side, of in (("engine", engine_of), ("tool", tool_of)):
            compared[f"{side}_window"] = of[label][f"window_{number}"].mean()
        about = {"tool": tool, "algorithm": flow["protocol"], "flows": (settings["label"] == label).sum()}
        rows.append({**flow, **about, **_side("engine", engine), **_side("tool", other), **compared})
    return pd.DataFrame(rows, columns=FLOW_COLUMNS)


def judge(config: PaperConfig, engine_runs: pd.DataFrame, tool_runs: pd.DataFrame) -> dict[str, Any]:
    """The verdict on one dumbbell from the shares of all its flows: a row of DUMBBELL_COLUMNS from ``verdict`` on.

    The margin of a flow is ``drawn_margin`` or ``drawn_margin_relative`` of the tool's share, whichever is larger.
    equivalent: the interval of every flow's difference is within the margin. different: that of one flow is outside, at a
    confidence corrected for the number of flows (Bonferroni). undecided: neither. The row's flow is the one that decides, whose
    interval extends furthest beyond its margin.
    """
    confidence, least = config.analysis_value("drawn_confidence"), config.analysis_value("drawn_margin")
    shares = (f"share_{number}" for number in range(1, MOST_FLOWS + 1))
    names = [name for name in shares if name in tool_runs and tool_runs[name].notna().any()]
    found, is_different = [], False
    for number, name in enumerate(names, start=1):
        engine, tool = (runs[name].dropna().to_numpy(float) for runs in (engine_runs, tool_runs))
        margin = max(least, config.analysis_value("drawn_margin_relative") * tool.mean())
        low, high = welch_interval(engine, tool, confidence)
        surely_low, surely_high = welch_interval(engine, tool, 1 - (1 - confidence) / len(names))
        is_different |= surely_low > margin or surely_high < -margin
        found.append((max(high, -low) / margin, number, engine.mean(), tool.mean(), low, high, margin))
    worst = max(found)
    verdict = DIFFERENT if is_different else EQUIVALENT if worst[0] <= 1 else UNDECIDED
    return {
        "verdict": verdict,
        "runs": min(len(engine_runs), len(tool_runs)),
        **dict(zip(_WORST, worst[1:], strict=True)),
    }


def dumbbells(
    config: PaperConfig, experiment: str, tool: str, engine_runs: pd.DataFrame, tool_runs: pd.DataFrame
) -> pd.DataFrame:
    """A row of `judge` for each drawn dumbbell that the tool has run."""
    engine_of, tool_of = (dict(list(runs.groupby("label"))) for runs in (engine_runs, tool_runs))
    rows = [
        {"tool": tool, "experiment": experiment, "label": label, **judge(config, engine_of[label], own)}
        for label, own in tool_of.items()
        if label in engine_of
    ]
    return pd.DataFrame(rows, columns=["tool", *DUMBBELL_COLUMNS])


def verdict_counts(rows: pd.DataFrame) -> str:
    """Verdicts of some dumbbells in words: ``3 equivalent, 1 different, 1 undecided of 5 dumbbells``."""
    counts = rows["verdict"].value_counts()
    totals = ", ".join(f"{counts.get(each, 0)} {each}" for each in (EQUIVALENT, DIFFERENT, UNDECIDED))
    return f"{totals} of {len(rows)} dumbbells"


def dumbbell_line(row: Mapping[str, Any], protocol: str, stack: str) -> str:
    """A row of `judge` as a line of text."""
    return (
        f"{row['verdict']:<10} {row['experiment']} {row['label']}: flow {row['flow']} ({protocol}): "
        f"engine {row['engine_mean']:.3f}, ns-2 {row['tool_mean']:.3f}, "
        f"difference {row['low']:+.3f} to {row['high']:+.3f}, margin {row['margin']:.3f}; {row['runs']} replicates, {stack}"
    )


def tally(config: PaperConfig, rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """For each value of a column of `flows`: number of flows that differ beyond chance, the median difference, and the
    threshold of an experiment (NaN for other columns)."""
    found = []
    for what, own in rows.groupby(by, sort=False):
        beyond, distances = int((own["p"] < config.analysis_value("drawn_level")).sum()), own["difference"].abs()
        bar = config.analysis_value("drawn")[what]["bar"] if by == "experiment" else math.nan
        found.append([what, len(own), beyond, beyond / len(own), distances.median(), distances.max(), bar])
    return pd.DataFrame(found, columns=TALLY_COLUMNS)


def tally_lines(config: PaperConfig, rows: pd.DataFrame) -> Iterator[str]:
    """`tally` by experiment as lines of text."""
    for row in tally(config, rows, "experiment").to_dict("records"):
        yield (
            f"{row['what']:<24} {row['beyond']} of {row['flows']} flows beyond chance "
            f"({100 * row['beyond_share']:.1f} %, bar {100 * row['bar']:g} %), "
            f"median difference {row['median_difference']:.4f}"
        )


def by_window(config: PaperConfig, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of `flows` with a column ``window``: whether the tool's mean window is below ``drawn_few_pkts``."""
    if rows.empty:
        return rows.assign(window="")
    few_pkts = config.analysis_value("drawn_few_pkts")
    is_few = rows["tool_window"].to_numpy(float) < few_pkts
    return rows.assign(window=np.where(is_few, f"below {few_pkts} packets", f"{few_pkts} and more"))


def pairs(
    config: PaperConfig, experiment: str, tool: str, engine_runs: pd.DataFrame, tool_runs: pd.DataFrame
) -> pd.DataFrame:
    """A row for each algorithm of an experiment whose runs have the same starts in both: the correlation of the shares of
    flow 1 over the seeds (Pearson; NaN if one side has no spread)."""
    rows = []
    both = engine_runs.merge(tool_runs, on=["label", "replicate"], suffixes=("", "_tool"))
    for label, own in both.groupby("label"):
        engine, other = own["share"].to_numpy(float), own["share_tool"].to_numpy(float)
        has_spread = len(own) > 2 and np.ptp(engine) > 0 and np.ptp(other) > 0
        about = {"tool": tool, "experiment": experiment, "algorithm": label, "runs": len(own)}
        about["correlation"] = float(np.corrcoef(engine, other)[0, 1]) if has_spread else math.nan
        about["median_difference"] = float(np.median(np.abs(engine - other)))
        rows.append({**about, **_side("engine", engine), **_side("tool", other)})
    return pd.DataFrame(rows, columns=PAIR_COLUMNS)
