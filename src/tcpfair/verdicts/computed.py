"""Numbers of exhibits that are not cells of metrics: from models, from traces, from several experiments together.

``data/cells.yaml`` names these functions; each takes the context, the exhibit and the arguments in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.measures import BY_RULE, SYSTEM
from tcpfair.metrics.fairness import case_letter, jfi, nru_over_time_db
from tcpfair.metrics.series import mean_interval, window_mask
from tcpfair.metrics.spread import share_between_groups
from tcpfair.models import cubic, cubic_map
from tcpfair.models.cubic import tuned_x
from tcpfair.papers.papers import Exhibit, Experiment
from tcpfair.units import BITS_PER_BYTE, BPS_PER_MBPS, MS_PER_S, mbps
from tcpfair.verdicts import paper_models
from tcpfair.verdicts.cells import BYTES_PER_MB
from tcpfair.verdicts.columns import Column, joined, of_metric, selected, single
from tcpfair.verdicts.combine import FURTHER, distribution, of_runs
from tcpfair.verdicts.context import Context, protocols_of, values_of
from tcpfair.verdicts.paper_models import READINGS, AimdLink

KEY = ["protocol", "rtt_ms"]

Columns = Iterable[Column]
FUNCTIONS: dict[str, Callable[..., Columns]] = {}


def _computes(function: Callable[..., Columns]) -> Callable[..., Columns]:
    FUNCTIONS[function.__name__] = function
    return function


# --- Closed forms --------------------------------------------------------------------------------------------------


_CURVE_POINTS = 401


def jfi_curve(context: Context) -> pd.DataFrame:
    """Jain's index of two values over their ratio, in the configured range: columns ratio, jfi."""
    fixed = context.value("jfi_fixed_rate")
    low, high = context.value("jfi_rate_range")
    ratio = np.geomspace(low, high, _CURVE_POINTS) / fixed
    return pd.DataFrame({"ratio": ratio, "jfi": jfi(np.stack([ratio, np.ones_like(ratio)]), axis=0)})


@_computes
def jfi_range(context: Context, exhibit: Exhibit) -> Columns:
    """The least and the largest index of two values."""
    for name, value in jfi_curve(context)["jfi"].agg(["min", "max"]).items():
        yield single(exhibit.id, f"jfi_{name}", value, item="two values")


def bdp_mb(context: Context, rtt_ms: float) -> float:
    """The paper's bandwidth-delay product in MB."""
    return context.value("capacity_bps") * rtt_ms / MS_PER_S / BITS_PER_BYTE / BYTES_PER_MB


@_computes
def bdp(context: Context, exhibit: Exhibit) -> Columns:
    """The bandwidth-delay product at each RTT."""
    _, experiment = context.experiment(exhibit)
    for rtt_ms in values_of(experiment, "rtt_ms"):
        yield single(exhibit.id, "bdp", bdp_mb(context, rtt_ms), rtt_ms=rtt_ms)


@_computes
def bdp_share(context: Context, exhibit: Exhibit, section: str, buffer_mb: float, rtt_ms: float) -> Columns:
    """A buffer in percent of the bandwidth-delay product, as in the text."""
    key = {"item": f"{buffer_mb:g} MB buffer", "rtt_ms": rtt_ms}
    value = 100 * buffer_mb / bdp_mb(context, rtt_ms)
    yield single(f"{context.paper.paper}.{section}", "bdp_share", value, **key)


@_computes
def convergence_threshold(context: Context, exhibit: Exhibit) -> Columns:
    """The share at which a flow counts as fair, in dB (eq. 12 of bhatti2008)."""
    share = exhibit.options["fair_share"]
    threshold_db = float(nru_over_time_db([[share]], [1.0], floor=share)[0, 0])
    yield single("bhatti2008.eq12", "U_c", threshold_db, item="convergence threshold")


@_computes
def cubic_losses(context: Context, exhibit: Exhibit) -> Columns:
    """The time of the next common loss of two CUBIC flows by both readings, and the windows then."""
    link, windows = paper_models.two_flows(context.paper)
    rows = []
    for text, model in paper_models.standard_maps(link).items():
        at_s, after = model.next_loss(windows)
        form = "paper" if model.reading is cubic_map.PAPER else "full link"
        about = {"form": form, "reading": text, "at_s": at_s}
        rows += [{**about, "flow": flow, "value": ratio} for flow, ratio in enumerate(after / windows, start=1)]
    found = pd.DataFrame(rows)
    yield Column(exhibit.id, "", found[found["flow"] == 1], ["form"]).of("time_B_s", "at_s")
    yield Column(exhibit.id, "window_ratio", found, ["form", "flow"])


@_computes
def curve_starts(context: Context, exhibit: Exhibit) -> Columns:
    """The start of CUBIC's curve after a loss as a share of W_max, with standard K and with the proposed one."""
    starts = [
        {"protocol": protocol, "rtt_ms": rtt_ms, "value": cubic.window_pkts(0.0, k_s, w_max_pkts, c) / w_max_pkts}
        for rtt_ms, w_max_pkts, methods in paper_models.after_loss(context.paper, exhibit.options["scaled_c"])
        for protocol, (k_s, c) in methods.items()
    ]
    yield Column(exhibit.id, "curve_start", pd.DataFrame(starts), KEY)
    if not exhibit.options["scaled_c"]:  # as section 5.2 states for standard CUBIC
        standard = cubic.window_pkts(0.0, cubic.cubic_k_s(1.0), 1.0)
        key = {"item": "ssthresh over W_max", "protocol": "CUBIC"}
        yield single("kozu2014.sec-5.2", "ssthresh_ratio", float(standard), **key)


@_computes
def windows_needed(context: Context, exhibit: Exhibit) -> Columns:
    """The window that the target rate needs at both RTTs, in the units of eq. 10 and eq. 11."""
    target_bps = context.value("target_rate_bps")
    rtts_ms = context.value("model_rtt_ms")
    for rtt_ms, unit_bytes, equation in zip(rtts_ms, (1e3, 1e6), ("eq10", "eq11"), strict=True):
        size = cubic.window_needed_bytes(target_bps, rtt_ms / MS_PER_S) / unit_bytes
        key = {"item": f"window for {target_bps / BPS_PER_MBPS:g} Mb/s", "rtt_ms": rtt_ms}
        yield single(f"kozu2014.{equation}", "window", size, **key)


# --- Model I and Model II -------------------------------------------------------------------------------------------


@_computes
def formula(context: Context, exhibit: Exhibit) -> Columns:
    """The value of a formula for each protocol at the RTTs of the paper."""
    quantity, link = exhibit.options["quantity"], AimdLink.of(context.paper)
    value = link.increment_pkts if quantity == "x_RTT" else link.time_s
    yield _of_model(exhibit, quantity, link, partial(value, model=2 if quantity == "t2" else 1))
    if quantity == "t1":  # the text computes its values with B
        yield single("ogura.eq_B", "capacity", link.B, item="B")


def _of_model(exhibit: Exhibit, metric: str, link: AimdLink, value: Callable[[str, float], float]) -> Column:
    """``value`` of each protocol and RTT in s."""
    places = product(paper_models.MODEL_PROTOCOLS, link.rtts_s)
    cells = [(protocol, rtt_s * MS_PER_S, value(protocol, rtt_s)) for protocol, rtt_s in places]
    return Column(exhibit.id, metric, pd.DataFrame(cells, columns=[*KEY, "value"]), KEY)


@_computes
def model_times(context: Context, exhibit: Exhibit) -> Columns:
    """t1 or t2 of the model, its ratio at the two RTTs, and with the momentary RTT in Model II."""
    link, model = AimdLink.of(context.paper), exhibit.options["model"]
    times = _of_model(exhibit, f"t{model}", link, partial(link.time_s, model=model))
    yield times
    by_rtt = times.cells.set_index(KEY)["value"].unstack("rtt_ms")
    short, long = by_rtt.columns.min(), by_rtt.columns.max()
    ratios = (by_rtt[long] / by_rtt[short]).rename("value").reset_index()
    yield Column(exhibit.id, f"t{model}_ratio", ratios, ["protocol"], {"item": f"{long:g} ms over {short:g} ms"})
    if model == 2:
        exact = _of_model(exhibit, "t2_exact", link, link.exact_t2_s)
        yield replace(exact, cells=exact.cells.sort_values(KEY))


# --- Two CUBIC flows with common losses -----------------------------------------------------------------------------

# Where the slope is within 1e-6 of 1, the last bit of a cube root, which differs between CPUs, moves a fixed share by 1e-5.
MAP_DECIMALS = {"fixed_share": 3, "slope": 4, "window_ratio": 2, "reached": 3}
MAP_LOSSES = 50  # from an equal share


@_computes
def map_fixed_points(context: Context, exhibit: Exhibit) -> Columns:
    """Fixed shares of the map, its slope there, and the share that it reaches from an equal share in `MAP_LOSSES` losses."""
    rows = []
    for protocol, name, model in paper_models.maps(context.paper):
        link, fixed = model.link, [share for share in model.fixed_shares() if share > 0]
        share = fixed[0] if len(fixed) == 1 else np.nan
        windows = link.windows_pkts(share)
        _, path = model.path(link.windows_pkts(paper_models.EQUAL_SHARE), MAP_LOSSES)
        values = {
            "fixed_share": share,
            "slope": model.derivative(share) if len(fixed) == 1 else np.nan,
            "window_ratio": windows[1] / windows[0],
            "reached": link.share(path[-1]),
        }
        about = {"protocol": paper_models.heading(protocol), "form": name, "still": model.is_still()}
        rows.append(about | values)
    found = Column(exhibit.id, "", pd.DataFrame(rows).round(MAP_DECIMALS), ["protocol", "form"])
    yield from (found.of(metric, metric) for metric in MAP_DECIMALS)


@_computes
def map_shares(context: Context, exhibit: Exhibit) -> Columns:
    """Flow 1's share in the second half of each run, simulated and by the map, and their difference."""
    rows = joined(_share_rows(context, name) for name in exhibit.experiments)
    key = [*KEY, "form"]
    yield Column(exhibit.id, "share", of_runs(rows, key), key)
    apart = rows[rows["form"].isin(READINGS)].drop(columns="value").rename(columns={"apart": "value"})
    yield Column(exhibit.id, "share_error", of_runs(apart, key), key)


def _share_rows(context: Context, experiment: str) -> pd.DataFrame:
    """A row per run and form; ``apart`` is simulated minus predicted."""
    throughput = context.metrics(experiment).query("metric == 'throughput_mean'")
    means = throughput.set_index(["run_id", "flow"])["value"].unstack("flow")
    rows = []
    for run, link, path in paper_models.simulated_paths(context, experiment):
        flows = means.loc[run["run_id"]]
        form = "engine, throughput" if run["synchronised"] else paper_models.AS_THEY_FALL
        values = {form: flows[1] / flows.sum()}
        if run["synchronised"]:
            forms = paper_models.shares_by_form(context.paper, run, link, path)
            values |= {form: np.mean(shares[len(shares) // 2 :]) if len(path) else np.nan for form, shares in forms}
        simulated = values.get(paper_models.ENGINE, np.nan)
        for form, value in values.items():
            about = {"protocol": run["protocol"], "rtt_ms": run["rtt_ms"], "form": form}
            rows.append({**about, "value": value, "apart": simulated - value})
    return pd.DataFrame(rows)


@_computes
def map_paths(context: Context, exhibit: Exhibit) -> Columns:
    """Flow 1's share at the last common loss of the example run."""
    paths = paper_models.example_paths(context, exhibit.experiments)
    last = paths.groupby(["protocol", "form"], sort=False)["share"].last().rename("value").reset_index()
    rtt_ms = max(context.value("model_rtt_ms"))
    yield Column(exhibit.id, "last_share", last, ["protocol", "form"], {"rtt_ms": rtt_ms})


# --- The existing method, tuned -------------------------------------------------------------------------------------

TUNED = "Existing method"  # its x is to be tuned for fairness at each RTT (kozu2014, eq. 9), so runs have different x


def tuned_to(context: Context) -> pd.DataFrame:
    """x(RTT) from `tuned_x`, and the range of x whose fairness is within one standard deviation: columns x, low, high."""
    metrics = context.metrics("existing").query("protocol == @TUNED and metric == 'jfi_of_means'")
    first = context.value("tuning_replicates")
    runs = metrics[metrics["replicate"] < first].groupby(["rtt_ms", "x"])["value"]
    means, spread = runs.mean().unstack("x").sort_index(), runs.std().unstack("x").sort_index()
    x = pd.Series(tuned_x(means, means.columns), index=means.index)
    at_best = np.arange(len(means)), means.to_numpy().argmax(axis=1)
    near = means.ge(means.to_numpy()[at_best] - spread.fillna(0).to_numpy()[at_best], axis=0)
    ends = near.apply(lambda row: pd.Series({"low": row.index[row].min(), "high": row.index[row].max()}), axis=1)
    return ends.assign(x=x)


@_computes
def tuned(context: Context, exhibit: Exhibit) -> Columns:
    """x(RTT), tuned for fairness, and the ends of the range that is about as fair."""
    found = Column(exhibit.id, "", tuned_to(context).reset_index().assign(protocol=TUNED), KEY)
    yield from (found.of(name, name) for name in ("x", "low", "high"))


def judged_runs(context: Context, experiment: str, metrics: pd.DataFrame) -> pd.DataFrame:
    """Metrics of the runs with the value of the parameter that was tuned on other runs, at each RTT."""
    if "x" not in metrics:
        return metrics
    x, first = tuned_to(context)["x"], context.value("tuning_replicates")
    judged = (metrics["x"] == metrics["rtt_ms"].map(x)) & (metrics["replicate"] >= first)
    return metrics[judged & (metrics["protocol"] == TUNED)].drop(columns="x")


SELECTIONS = {"judged_runs": judged_runs}  # selections of the runs of an experiment


# --- Background traffic ---------------------------------------------------------------------------------------------

_QUANTILES = (0.1, 0.5, 0.9, 0.99)


def sampled_loads(context: Context, exhibit: Exhibit) -> pd.DataFrame:
    """Forward load in Mb/s of every sample in the window: columns traffic, mbps."""
    name, experiment = context.experiment(exhibit)
    trace = context.trace(name)
    link = trace.link.query("direction == 'forward'")
    link = link.merge(trace.runs[["run_id", "traffic", "sample_s", "payload_bytes", "wire_bytes"]], on="run_id")
    link = link[window_mask(link["t_s"], *experiment.window_s.value)]
    return pd.DataFrame({"traffic": link["traffic"], "mbps": load_mbps(context, link, link)})


def load_mbps(context: Context, link: pd.DataFrame, run: pd.DataFrame | pd.Series) -> pd.Series:
    """Mb/s of samples of a link, of the bytes that ``utilisation_counts`` selects; ``run`` has the sizes of packets."""
    of_payload = context.value("utilisation_counts") == "payload"
    counted = run["payload_bytes"] / run["wire_bytes"] if of_payload else 1.0
    return counted * mbps(link["forwarded_bytes"], run["sample_s"])


@_computes
def load_quantiles(context: Context, exhibit: Exhibit) -> Columns:
    """Quantiles of the load in one second under each kind of traffic."""
    loads = sampled_loads(context, exhibit)
    for label in values_of(context.experiment(exhibit)[1], "traffic"):
        values = loads.loc[loads["traffic"] == label, "mbps"]
        for level in _QUANTILES if len(values) else ():
            quantile = float(np.quantile(values, level))
            yield single(exhibit.id, "load_quantile", quantile, traffic=label, quantile=level)


@_computes
def web_traffic(context: Context, exhibit: Exhibit) -> Columns:
    """Mean goodput of the short flows over the number of long ones, and half of its interval.

    The experiments differ in the number of flows; one may have none.
    """
    level, rows = context.value("confidence_level"), []
    for place in range(len(exhibit.experiments)):
        name, experiment = context.experiment(exhibit, place)
        metrics = context.metrics(name).query("metric == 'web_mean' and traffic == 'Type II'")
        flows = sum("size_pkts" not in flow for flow in experiment.flows)
        groups = {"none": metrics}
        if flows:
            groups = {label: metrics[metrics["protocol"] == label] for label in protocols_of(experiment)}
        for label, group in groups.items():
            mean, half = mean_interval(group["value"], level)
            spread = {"sd": group["value"].std(), "n_runs": group["value"].count()}
            rows.append({"protocol": label, "flows": flows, "value": mean, "half": half, **spread})
    found = Column(exhibit.id, "web_mean", pd.DataFrame(rows), ["protocol", "flows"])
    yield from (found, found.of("half_interval", "half"))


# --- Distributions --------------------------------------------------------------------------------------------------

CASE_LETTERS = "ABCDE"


@_computes
def case_shares(context: Context, exhibit: Exhibit, rule: str = "") -> Columns:
    """The share of the runs with each letter (table II, to two decimals), for the letters that occur."""
    suffix = BY_RULE + rule if rule else ""
    names = [f"{name}{suffix}" for name in ("U_N+", "U_N-")]
    metrics = context.metrics(context.experiment(exhibit)[0])
    system = metrics[metrics["metric"].isin(names) & (metrics["flow"] == SYSTEM)]
    tuples = system.pivot(index=["rtt_ms", "run_id"], columns="metric", values="value").reindex(columns=names)
    letters = pd.Series(case_letter(tuples[names[0]], tuples[names[1]]), tuples.index)
    of_rtt = letters.groupby(level="rtt_ms")
    shares = of_rtt.value_counts(normalize=True).unstack(fill_value=0.0)
    for letter in sorted(shares.columns.intersection([*CASE_LETTERS])):
        cells = pd.DataFrame({"value": shares[letter], "n_runs": of_rtt.size()}).reset_index()
        yield Column(exhibit.id, f"case_{letter}_share{suffix}", cells, ["rtt_ms"])


def points_but_rtt(experiment: Experiment) -> list[dict[str, Any]]:
    """The points of the grid of an experiment without the RTT."""
    names = [name for name in experiment.grid if name != "rtt_ms"]
    return [dict(zip(names, values, strict=True)) for values in product(*(values_of(experiment, n) for n in names))]


def phase_runs(metrics: pd.DataFrame, options: Any, point: dict) -> pd.Series:
    """Values of the runs at one point of the grid, by RTT and replicate; InputError when the metric is not measured."""
    of_flow = metrics[metrics["flow"] == options.get("flow", SYSTEM)]
    chosen = selected(of_metric(of_flow, options["metric"]), point)
    return chosen.set_index(["rtt_ms", "replicate"])["value"].sort_index()


def printed_line(context: Context, line: dict | None, protocol: str) -> float | None:
    """The published number that is drawn next to the runs of a protocol, or None."""
    if not line:
        return None
    table = context.printed(line["exhibit"], line["metric"])
    found = selected(table, {"protocol": protocol, **line.get("key", {})})["value"]
    return None if found.empty else float(1 / found.iloc[0] if line.get("inverse") else found.iloc[0])


@_computes
def phases(context: Context, exhibit: Exhibit) -> Columns:
    """The distribution over RTTs and runs at each point of the grid, and the share of the variance between RTTs.

    The variance is that of the logarithm if the axis is logarithmic.
    """
    options = exhibit.options
    if len(options["labels"]) != len(exhibit.experiments):
        raise InputError(f"{context.where(exhibit)}.options.labels: give one for each of the experiments")
    flow = {"flow": options["flow"]} if options.get("flow") else {}
    _, experiment = context.experiment(exhibit)
    cells, points = [], points_but_rtt(experiment)
    for point in points:
        printed = printed_line(context, options.get("printed"), point["protocol"])
        for name, label in zip(exhibit.experiments, options["labels"], strict=True):
            runs = phase_runs(context.metrics(name), options, point)
            share = _rtt_share(runs, options["y_axis"].get("scale") == "log")
            cells.append({**point, "setting": label, **flow, **distribution(runs, printed), "rtt_share": share})
    column = Column(exhibit.id, options["metric"], pd.DataFrame(cells), [*points[0], "setting", *flow])
    yield from with_further(column)
    yield column.of("rtt_share", "rtt_share")


def _rtt_share(runs: pd.Series, logarithmic: bool) -> float:
    """Share of the variance of the runs, as the axis shows them, between RTTs."""
    values = runs.unstack().to_numpy(dtype=float)  # (RTTs, replicates)
    with np.errstate(divide="ignore"):  # a flow that was shut out has no logarithm, and its RTT does not count
        return share_between_groups(np.log(values) if logarithmic else values)


def with_further(column: Column) -> Iterator[Column]:
    """A column, and for a distribution also its quantiles and shares as separate columns."""
    yield column
    for name, suffix in FURTHER.items():
        if name not in column.cells or (name == "share" and not (column.cells["share"] < 1).any()):
            continue
        if name != "percentile" or column.cells["percentile"].notna().any():
            yield column.of(f"{column.metric}_{suffix}", name)
