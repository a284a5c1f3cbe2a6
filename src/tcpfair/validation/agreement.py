"""Agreement of the engine with another simulator: means over replicates, their difference, and a verdict by thresholds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.errors import InputError, check_known
from tcpfair.files.rounding import rounded_table
from tcpfair.papers.papers import PaperConfig, load_yaml
from tcpfair.validation.measures import MEASURES
from tcpfair.validation.scenarios import KINDS, TOOLS, Window, whole
from tcpfair.verdicts.combine import of_runs

WITHIN, UNDECIDED, WITHDRAWN, BEYOND, NO_VALUE, NO_BAR = "within", "undecided", "withdrawn", "beyond", "no value", ""
EXPLAINED, UNEXPLAINED = "explained", "unexplained"  # outcomes of a row beyond its threshold
COLUMNS = [
    *("tool", "experiment", "algorithm", "metric", "from_s", "until_s"),
    *("engine_mean", "engine_sd", "engine_se", "engine_runs", "tool_mean", "tool_sd", "tool_se", "tool_runs"),
    *("difference", "relative", "difference_se", "bar", "verdict", "explanation"),
]
_ROUNDED = 7  # significant digits

Explanations = Mapping[str, Mapping[str, tuple[str, str]]]  # by tool and pattern of rows: the outcome, and one line


def difference_se(sd_a: float, n_a: int, sd_b: float, n_b: int) -> float:
    """Standard error of the difference of two means over ``n_a`` and ``n_b`` runs.

    A single run has no spread, so that of the other side is used, whose runs are perturbed in the same way. NaN if neither side
    has one.
    """
    if not n_a or not n_b:
        return math.nan
    sd_a = sd_b if math.isnan(sd_a) else sd_a
    sd_b = sd_a if math.isnan(sd_b) else sd_b
    return math.sqrt(sd_a**2 / n_a + sd_b**2 / n_b)


def verdict(engine: float, tool: float, distance: float, bar: float, chance: float) -> str:
    """The verdict on two means from their ``distance``, the threshold ``bar`` and the effect of ``chance``, in one unit.

    within: at most the threshold; undecided: above it, but not above chance, so more runs are needed; beyond: above both, or
    only one side has a value; no value: neither side has one.
    """
    if math.isnan(engine) and math.isnan(tool):
        return NO_VALUE
    if math.isnan(engine) or math.isnan(tool):
        return BEYOND
    if distance <= bar:
        return WITHIN
    return UNDECIDED if distance <= chance else BEYOND


def compare(
    config: PaperConfig,
    experiment: str,
    tool: str,
    engine_runs: pd.DataFrame,
    tool_runs: pd.DataFrame,
    window_s: Window | None = None,
) -> pd.DataFrame:
    """A row for each algorithm and metric of one experiment: the engine, the tool, their difference and the verdict.

    ``window_s`` is the time in which the tool's runs were measured, by default that of its complete validation.
    """
    window_s = window_s or whole(config, tool).window(config, experiment)
    at = np.isclose(engine_runs[["from_s", "until_s"]].to_numpy(dtype=float), window_s).all(axis=1)
    measures = config.experiments[experiment].measures
    both = _means(tool_runs, "tool", measures).join(_means(engine_runs[at], "engine", measures))
    both = both.fillna({"engine_runs": 0}).astype({"engine_runs": int})
    about = {"tool": tool, "experiment": experiment, "from_s": window_s[0], "until_s": window_s[1]}
    rows = [{**row, **about, **_judged(config, row)} for row in both.reset_index().to_dict("records")]
    return pd.DataFrame(rows, columns=COLUMNS)


def _means(runs: pd.DataFrame, side: str, measures: Sequence[str]) -> pd.DataFrame:
    """Mean, standard deviation over runs, standard error and number of runs with a value, by algorithm and metric."""
    order = pd.CategoricalDtype(measures)
    values = runs[["label", *measures]].melt("label", var_name="metric").astype({"metric": order, "value": float})
    found = of_runs(values.rename(columns={"label": "algorithm"}), ["algorithm", "metric"])
    found["se"] = found["sd"] / np.sqrt(found["n_runs"])
    names = {name: f"{side}_{name}" for name in ("sd", "se")} | {"value": f"{side}_mean", "n_runs": f"{side}_runs"}
    return found.rename(columns=names).set_index(["algorithm", "metric"]).sort_index()


def _judged(config: PaperConfig, row: Mapping[str, Any]) -> dict[str, float | str]:
    """Difference, its standard error, threshold and verdict of one row."""
    name, engine, other = row["metric"], row["engine_mean"], row["tool_mean"]
    difference = engine - other
    se = difference_se(row["engine_sd"], row["engine_runs"], row["tool_sd"], row["tool_runs"])
    bar, outcome = math.nan, NO_BAR
    if f"bar_{name}" in config.analysis:
        bar = config.analysis_value(f"bar_{name}") * (abs(other) if MEASURES[name].relative else 1.0)
        chance = config.analysis_value("standard_errors") * se
        if name == "share":  # must agree more closely where it hardly varies
            bar = float(np.fmin(bar, chance))
        outcome = verdict(engine, other, abs(difference), bar, chance)
        if outcome == UNDECIDED and config.analysis_or("withdraw_undecided"):
            outcome = WITHDRAWN
    relative = difference / other if other else math.nan
    return {"difference": difference, "relative": relative, "difference_se": se, "bar": bar, "verdict": outcome}


# --- Explanations -------------------------------------------------------------------------------------------------


def load_explanations(path: Path, config: PaperConfig, kernels: Mapping[str, PaperConfig]) -> Explanations:
    """``metric/algorithm/experiment`` -> outcome and line, for each tool. ``*`` matches any of them.

    A line gives the reason of a difference; ``{unexplained: line}`` describes one without a known cause. ``kernels`` are the
    configurations of kernels by kind of validation, which have other scenarios. Raises InputError for a key without a row in
    the table.
    """
    rows = dict.fromkeys(TOOLS, _rows(config))
    rows |= {tool: _rows(kernel) for kind, kernel in kernels.items() for tool in KINDS[kind]}
    found: dict[str, dict[str, tuple[str, str]]] = {}
    stated = load_yaml(path)
    check_known(f"{path}: simulator", stated, rows)
    for tool, lines in stated.items():
        found[tool] = {}
        for key, entry in (lines or {}).items():
            if not any(fnmatch(row, key) for row in rows[tool]):
                raise InputError(f"{path}: {tool}: {key!r} fits no row; write it as metric/algorithm/experiment")
            is_known = not (isinstance(entry, dict) and set(entry) == {UNEXPLAINED})
            outcome, line = (EXPLAINED, entry) if is_known else (UNEXPLAINED, entry[UNEXPLAINED])
            if not isinstance(line, str) or "\n" in line.strip():
                raise InputError(f"{path}: {tool}.{key}: must be one line of text")
            found[tool][key] = outcome, line.strip()
    return found


def _rows(config: PaperConfig) -> list[str]:
    return [
        f"{metric}/{label}/{name}"
        for name, experiment in config.experiments.items()
        for metric in experiment.measures
        if "protocol" in experiment.grid  # not of drawn dumbbells
        for label in experiment.grid["protocol"].value
    ]


def explained(rows: pd.DataFrame, explanations: Explanations) -> pd.DataFrame:
    """The rows with their ``outcome`` and, for each one beyond its threshold, the last matching line as ``explanation``.

    The outcome is the verdict, but ``explained`` or ``unexplained`` beyond the threshold; without a line both columns are
    ``unexplained``.
    """

    def judged(row: Mapping) -> tuple[str, str]:
        if row["verdict"] != BEYOND:
            return row["verdict"], ""
        fitting = (line for key, line in explanations.get(row["tool"], {}).items() if fnmatch(row_name(row), key))
        return [(UNEXPLAINED, UNEXPLAINED), *fitting][-1]

    both = [judged(row) for row in rows.to_dict("records")]
    return rows.assign(outcome=[outcome for outcome, _ in both], explanation=[line for _, line in both])


def row_name(row: Mapping) -> str:
    return f"{row['metric']}/{row['algorithm']}/{row['experiment']}"


def rounded(rows: pd.DataFrame) -> pd.DataFrame:
    """The table as stored, rounded to a fixed number of significant digits."""
    return rounded_table(rows, _ROUNDED)


# --- The quick check ----------------------------------------------------------------------------------------------


def far_off(config: PaperConfig, rows: pd.DataFrame) -> list[str]:
    """One line for each quick run beyond the (separate) threshold for a correct scenario."""
    found = []
    for row in rows.to_dict("records"):
        name = f"quick_{row['metric']}"
        if name not in config.analysis:
            continue
        distance = abs(row["relative"] if MEASURES[row["metric"]].relative else row["difference"])
        if not distance <= config.analysis_value(name):  # NaN is far off too
            found.append(f"{row_name(row)}: {row['tool_mean']:.4g}, the engine {row['engine_mean']:.4g}")
    return found
