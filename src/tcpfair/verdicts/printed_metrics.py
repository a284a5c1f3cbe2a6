"""A paper's published numbers in the form of metrics of its experiments, so that clauses can be decided on them too.

The tables have the form of `tcpfair.measures.measure`, with one replicate and a column ``derived``: empty for a published
value, else how the value follows from published ones. Statistics over runs (a standard deviation, a bound, the place of a
minimum) are not metrics of a run and are omitted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import product

import numpy as np
import pandas as pd

from tcpfair.files.layout import Layout
from tcpfair.measures import SYSTEM
from tcpfair.measures.weights import RULES
from tcpfair.metrics.exactmath import log10
from tcpfair.metrics.fairness import jfi, nru_tuple
from tcpfair.metrics.series import throughput_ratio
from tcpfair.papers.papers import PaperConfig, Value
from tcpfair.units import BPS_PER_MBPS
from tcpfair.verdicts.cells import Cell, cells, listed
from tcpfair.verdicts.context import flow_protocol

SAID_OF_ALL = "one number said of many cells"
OF_MEANS = "from printed throughputs"
OF_TUPLE = "from the printed tuple"
OF_CLOCK = "from the time on the clock"
_PRINTED = ""
_OVER_RUNS = ("mean", "median", "reached")
_TUPLE = {"mean of fair": "U_N+", "mean of unfair": "U_N-", "variation": "S_N"}

Rows = Iterator[pd.DataFrame]


def printed_metrics(
    paper: PaperConfig, layout: Layout, left_out: Callable[[pd.DataFrame], pd.Series] | None = None
) -> dict[str, pd.DataFrame]:
    """Metrics of each experiment with a published number, by its name.

    ``left_out`` selects rows of `cells` that are excluded.

    Columns run_id, replicate (0), the grid variables, flow, flow_protocol, metric, value and derived. Values have the units
    of `measure`; NaN for a dash. If several places publish a cell, the first table counts, and the text only without a table.
    """
    table = cells(paper, layout)
    table = table[table["cell"].notna()].sort_values("how", kind="stable")  # "table" before "text"
    table = table[~left_out(table)] if left_out else table
    stated: dict[str, list[dict]] = {}
    for number in table.to_dict("records"):
        for experiment, row in rows_of(paper, number):
            stated.setdefault(experiment, []).append(row)
    found = {name: pd.DataFrame(rows) for name, rows in stated.items()}
    found = {name: rows.drop_duplicates(_identity(paper, name), ignore_index=True) for name, rows in found.items()}
    return {name: _as_measured(paper, name, _with_derived(paper, name, found)) for name in found}


def _identity(paper: PaperConfig, name: str) -> list[str]:
    return [*paper.experiments[name].grid, "flow", "metric"]


def _as_measured(paper: PaperConfig, name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """The columns and the order of `tcpfair.measures.measure`, and ``derived``."""
    experiment = paper.experiments[name]
    grid = list(experiment.grid)
    rows = rows.drop_duplicates(_identity(paper, name))  # published values take precedence over derived ones
    runs = rows.groupby(grid, sort=False).ngroup() if grid else 0
    labels = rows["protocol"] if "protocol" in grid else pd.Series("", index=rows.index)
    places = zip(rows["flow"], labels, strict=True)
    protocols = ["" if flow == SYSTEM else flow_protocol(experiment, flow, label) for flow, label in places]
    rows = rows.assign(run_id=runs, replicate=0, flow_protocol=protocols)
    columns = ["run_id", "replicate", *grid, "flow", "flow_protocol", "metric", "value", "derived"]
    return rows[columns].sort_values("run_id", kind="stable", ignore_index=True)


# --- Published values ---------------------------------------------------------------------------------------------


def rows_of(paper: PaperConfig, number: dict) -> Iterator[tuple[str, dict]]:
    """Experiment and row of each cell whose value is a published number."""
    cell: Cell = number["cell"]
    bound = number["metric"].endswith("_bound")
    if bound or cell.runs not in _OVER_RUNS or cell.base or cell.inverse or cell.cells not in (None, "mean"):
        return
    if cell.flows and cell.flows not in _TUPLE:
        return
    metric = _TUPLE[cell.flows] if cell.flows else cell.measure
    flow = SYSTEM if cell.flow is None else cell.flow
    value = float(number["value"]) / cell.scale if number["value"] else np.nan
    [experiment] = cell.experiments
    grid = {name: values.value for name, values in paper.experiments[experiment].grid.items()}
    chosen = [listed(cell.where.get(name, values)) for name, values in grid.items()]
    derived = SAID_OF_ALL if cell.cells else _PRINTED
    for place in product(*chosen):
        row = {"flow": flow, "metric": metric, "value": value, "derived": derived}
        yield experiment, dict(zip(grid, place, strict=True)) | row


# --- Derived values -----------------------------------------------------------------------------------------------


def _with_derived(paper: PaperConfig, name: str, found: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The published values of an experiment, then those derived from them."""
    rows, grid = found[name], list(paper.experiments[name].grid)
    parts = [rows]
    flows = _unstacked(rows, grid, "throughput_mean", len(paper.experiments[name].flows))
    if len(flows):
        parts += _of_throughputs(paper, name, flows)
        parts += _nru_of_throughputs(paper, name, flows, found)
    if len(paper.experiments[name].flows) == 2:
        of_means = pd.concat(parts, ignore_index=True)
        parts[1:1] = _flows_of_tuple(rows, of_means, grid)  # before those from throughputs, which are only approximate
    parts += _means_of_unfair(rows, grid)
    if (rows["metric"] == "converged_at_s").any():
        clock = rows[rows["metric"] == "converged_at_s"]
        since = clock["value"] - paper.analysis_value("t_e_s")
        parts.append(clock.assign(metric="T_U", value=since, derived=OF_CLOCK))
    return pd.concat(parts, ignore_index=True)


def _unstacked(rows: pd.DataFrame, grid: list[str], metric: str, n_flows: int) -> pd.DataFrame:
    """One metric by grid point, a column per flow; only points with values for all flows."""
    of_flows = rows[(rows["metric"] == metric) & (rows["flow"] != SYSTEM)]
    table = of_flows.set_index([*grid, "flow"])["value"].unstack("flow").reindex(columns=range(1, n_flows + 1))
    return table.dropna()


def _rows(values: pd.Series, flow: int, metric: str, derived: str) -> pd.DataFrame:
    """``values`` by grid point as rows of one metric."""
    about = {"flow": flow, "metric": metric, "derived": derived}
    return values.rename("value").reset_index().assign(**about)


def _of_throughputs(paper: PaperConfig, name: str, flows: pd.DataFrame) -> Rows:
    """Sum, share of the link, Jain's index of the means, and with two flows their ratio."""
    total = flows.sum(axis=1)
    yield _rows(total, SYSTEM, "throughput_sum", OF_MEANS)
    settings = paper.settings | paper.experiments[name].settings
    sizes = [settings.get(field) for field in ("capacity_bps", "payload_bytes", "wire_bytes")]
    if all(isinstance(size, Value) for size in sizes):
        capacity_bps, payload_bytes, wire_bytes = (size.value for size in sizes)
        ceiling_mbps = capacity_bps * payload_bytes / wire_bytes / BPS_PER_MBPS
        yield _rows(total / ceiling_mbps, SYSTEM, "utilisation", OF_MEANS)
    if flows.shape[1] > 1:
        yield _rows(pd.Series(jfi(flows.to_numpy()), flows.index), SYSTEM, "jfi_of_means", OF_MEANS)
    if flows.shape[1] == 2:
        yield _rows(pd.Series(throughput_ratio(flows[2], flows[1]), flows.index), SYSTEM, "ratio", OF_MEANS)


def _nru_of_throughputs(paper: PaperConfig, name: str, flows: pd.DataFrame, found: dict[str, pd.DataFrame]) -> Rows:
    """NRU in dB of the published means and the published self-pairs, by the paper's rule of the weights.

    This is ``U_n_of_means`` exactly. ``U_n`` (eq. 5) is the mean of the logarithm, which is slightly lower or equal.
    """
    experiment = paper.experiments[name]
    weights, grid = experiment.weights, list(experiment.grid)
    if weights is None or weights.experiment not in found:
        return
    own_grid = list(paper.experiments[weights.experiment].grid)
    n_flows = flows.shape[1]
    own = _unstacked(found[weights.experiment], own_grid, "throughput_mean", n_flows)
    places = flows.index.to_frame(index=False)
    of_self_mbps = np.full((len(flows), n_flows, n_flows), np.nan)
    for n in range(n_flows):
        protocols = [flow_protocol(experiment, n + 1, label) for label in places["protocol"]]
        pairs = places.assign(protocol=protocols)[own_grid]
        of_self_mbps[:, n] = own.reindex(pd.MultiIndex.from_frame(pairs)).to_numpy()
    u_db = 10 * log10(flows.to_numpy() * RULES[weights.rule](of_self_mbps))
    u_n = pd.DataFrame(u_db, flows.index, flows.columns).dropna()
    for metric in ("U_n_of_means", "U_n"):
        for flow in u_n:
            yield _rows(u_n[flow], flow, metric, OF_MEANS)
    for metric, values in zip(("U_N", "U_N+", "U_N-"), nru_tuple(u_n.to_numpy()), strict=True):
        if "nru" in experiment.measures and grid:
            yield _rows(pd.Series(values, u_n.index), SYSTEM, metric, OF_MEANS)


def _flows_of_tuple(rows: pd.DataFrame, of_means: pd.DataFrame, grid: list[str]) -> list[pd.DataFrame]:
    """NRU of two flows from their published tuple: U_N+ and U_N- are the two values, assigned by the published throughputs.

    If both are unfair, U_N- is their mean, and their distance follows from S_N, their standard deviation over the mean.
    """
    known = _unstacked(of_means, grid, "U_n_of_means", 2) if len(of_means) else pd.DataFrame()
    tuples = _tuples(rows, grid, _TUPLE.values())
    if tuples is None or known.empty:
        return []
    tuples = tuples.reindex(known.index)
    upper, lower = tuples["U_N+"], tuples["U_N-"]
    apart = np.sqrt(2) * tuples["S_N"] * lower.abs() / 2  # of two values, from their sample standard deviation
    upper, lower = upper.fillna(lower + apart), lower.where(upper.notna(), lower - apart)
    first_is_upper = known[1] >= known[2]
    flows = {1: upper.where(first_is_upper, lower), 2: lower.where(first_is_upper, upper)}
    found = [_rows(values.dropna(), flow, "U_n", OF_TUPLE) for flow, values in flows.items()]
    return [*found, _rows(((upper + lower) / 2).dropna(), SYSTEM, "U_N", OF_TUPLE)]


def _means_of_unfair(rows: pd.DataFrame, grid: list[str]) -> Rows:
    """U_N if U_N+ is a dash: all flows are unfair, and the mean over them is U_N-."""
    tuples = _tuples(rows, grid, ["U_N+", "U_N-"])
    if tuples is not None:
        yield _rows(tuples.loc[tuples["U_N+"].isna(), "U_N-"].dropna(), SYSTEM, "U_N", OF_TUPLE)


def _tuples(rows: pd.DataFrame, grid: list[str], parts: Collection[str]) -> pd.DataFrame | None:
    """Published ``parts`` of the tuple by grid point, a column each; None unless the experiment has all of them."""
    printed = rows[(rows["flow"] == SYSTEM) & rows["metric"].isin(parts)]
    if set(printed["metric"]) != set(parts):
        return None
    return printed.set_index([*grid, "metric"])["value"].unstack("metric")
