"""From the trace of an experiment to its metrics: one tidy table of the measures that its configuration asks for.

``experiment.measures`` names groups, each a function below. Windows, thresholds and the rule of the weights come from
the paper's configuration. What a run is too short to show is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.contract.papers import Experiment, PaperConfig, WeightRule
from tcpfair.contract.trace import Trace
from tcpfair.errors import InputError
from tcpfair.metrics import epochs, fairness, series
from tcpfair.units import BITS_PER_BYTE, BPS_PER_MBPS, bdp_pkts, mbps

Floats = npt.NDArray[np.float64]
Measured = list[tuple[str, Floats]]  # metric and its values, (runs,) of the system or (runs, flows)

SYSTEM = 0  # `flow` of a metric of all flows together
BY_RULE = "@"  # between a metric and the rule of its weights, where that is not the experiment's own


def _weights_half_of_sum(of_self: Floats) -> Floats:
    """Weights (..., flows) of flows that can each expect half of what all flows of the self-run carry together.

    With two flows `tcpfair.metrics.fairness.weights_mean_of_columns`; with more, no paper's wording.
    """
    return 2 / np.sum(of_self, axis=-1)


def _weights_sum_of_columns(of_self: Floats) -> Floats:
    """Weights (..., flows) of flows that can each expect all that the flows of the self-run carry together."""
    return 1 / np.sum(of_self, axis=-1)


WEIGHT_RULES: dict[WeightRule, Callable[[Floats], Floats]] = {
    "per_column": fairness.weights_per_column,
    "mean_of_columns": fairness.weights_mean_of_columns,
    "half_of_sum": _weights_half_of_sum,
    "sum_of_columns": _weights_sum_of_columns,
}


@dataclass(frozen=True)
class Runs:
    """Runs with equal numbers of foreground flows and of samples; arrays have the shape (runs, flows, samples)."""

    config: PaperConfig
    experiment: Experiment
    weights_metrics: pd.DataFrame | None
    runs: pd.DataFrame
    flows: pd.DataFrame  # in order of run and flow, as the arrays
    samples: pd.DataFrame  # likewise, and in order of time
    events: pd.DataFrame
    link: pd.DataFrame
    others: pd.DataFrame  # samples of background flows and of the short flows, with `role` and `direction`

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        n_runs = len(self.runs)
        n_flows = len(self.flows) // n_runs
        return n_runs, n_flows, len(self.samples) // (n_runs * n_flows)

    @cached_property
    def t_s(self) -> Floats:
        """Ends of the sample intervals, (samples,)."""
        return self.samples["t_s"].to_numpy()[: self.shape[2]]

    def array(self, column: str) -> Floats:
        """A column of the samples; NaN where the source does not record it."""
        if column not in self.samples:
            return np.full(self.shape, np.nan)
        return self.samples[column].to_numpy(dtype=float).reshape(self.shape)

    def parameter(self, name: str) -> Floats:
        """A parameter of the runs, (runs,); NaN where the source does not record it."""
        return self.runs[name].to_numpy(dtype=float) if name in self.runs else np.full(len(self.runs), np.nan)

    def of_flows(self, column: str) -> npt.NDArray:
        """A column of the flows, (runs, flows)."""
        return self.flows[column].to_numpy().reshape(self.shape[:2])

    @cached_property
    def losses(self) -> dict[tuple[int, int], pd.DataFrame]:
        """Losses and timeouts of each (run, flow) that has any, in order of time; both count from 0."""
        places = pd.Series(
            [(run, flow) for run in range(self.shape[0]) for flow in range(self.shape[1])],
            index=pd.MultiIndex.from_frame(self.flows[["run_id", "flow_id"]]),
        )
        losses = self.events[self.events["kind"].isin(epochs.LOSS_KINDS)].sort_values("t_s", kind="stable")
        return {places[key]: rows for key, rows in losses.groupby(["run_id", "flow_id"]) if key in places.index}

    @cached_property
    def sample_s(self) -> float:
        return float(self.runs["sample_s"].iloc[0])

    @cached_property
    def throughput_mbps(self) -> Floats:
        """In-order goodput over the whole run."""
        return mbps(self.array("delivered_bytes"), self.sample_s)

    @cached_property
    def window_s(self) -> tuple[float, float]:
        """The experiment's window; the whole run when it names none."""
        window = self.experiment.window_s
        return tuple(window.value) if window else (0.0, float(self.runs["duration_s"].max()))

    def during(self, x: Floats, start_s: float, stop_s: float) -> Floats:
        """The samples of ``x`` in [start_s, stop_s]; all NaN for runs that end before."""
        inside = series.window_mask(self.t_s, start_s, stop_s)
        if inside.any():
            return x[..., inside]
        # a cut run may end before start_s; two samples have a time between them
        n_samples = max(2, round((stop_s - start_s) / self.sample_s))
        return np.full((*x.shape[:-1], n_samples), np.nan)

    @cached_property
    def r(self) -> Floats:
        """Throughput in Mb/s in the window."""
        return self.during(self.throughput_mbps, *self.window_s)

    @cached_property
    def r_received(self) -> Floats:
        """First arrivals in Mb/s in the window, in order or not."""
        return self.during(mbps(self.array("received_bytes"), self.sample_s), *self.window_s)

    def carried_mbps(self, direction: str) -> Floats:
        """What the bottleneck carries that way, in bytes on the wire, (runs, samples) in the window; NaN if not recorded."""
        link = self.link[self.link["direction"] == direction].sort_values(["run_id", "t_s"])
        n_runs, _, n_samples = self.shape
        if len(link) != n_runs * n_samples:
            return self.during(np.full((n_runs, n_samples), np.nan), *self.window_s)
        carried = link["forwarded_bytes"].to_numpy(dtype=float).reshape(n_runs, n_samples)
        return self.during(mbps(carried, self.sample_s), *self.window_s)

    def forward_mean_mbps(self, role: str) -> Floats:
        """Mean goodput in the window of all flows of one role together that send forward, (runs,)."""
        others = self.others
        chosen = (others["role"] == role) & (others["direction"] == "forward")
        chosen &= series.window_mask(others["t_s"], *self.window_s)
        delivered = others[chosen].groupby("run_id")["delivered_bytes"].sum()
        seconds = series.window_mask(self.t_s, *self.window_s).sum() * self.sample_s
        return mbps(delivered.reindex(self.runs["run_id"], fill_value=0).to_numpy(dtype=float), seconds or np.nan)

    @cached_property
    def of_self_mbps(self) -> Floats:
        """Mean throughputs over the runs of the self-pairs of the same RTT, (runs, flows, flows of the self-pair).

        The last axis is in such an order that flow n starts in the place of column n: the places of the flows differ
        between runs where the order of the starts is shuffled.
        """
        source = self.experiment.weights
        if source is None or self.weights_metrics is None:
            raise InputError(f"config/papers/{self.config.paper}.yaml: an experiment measures nru but has no weights")
        shared = [name for name in self.config.experiments[source.experiment].grid if name != "protocol"]
        means = self.weights_metrics.query("metric == 'throughput_mean'")
        means = means.groupby(["protocol", *shared, "flow"])["value"].mean().unstack("flow")
        of_self = np.empty((*self.shape[:2], means.shape[1]))
        for n, labels in enumerate(self.of_flows("protocol").T):
            pairs = pd.MultiIndex.from_arrays([labels, *(self.runs[name] for name in shared)], names=means.index.names)
            missing = pairs.difference(means.index)
            if len(missing):
                pair = ", ".join(map(str, missing[0]))
                raise InputError(f"{self.config.paper}/{source.experiment}: no runs that give the weights of {pair}")
            of_self[:, n] = means.reindex(pairs)
        places = self.of_flows("start_s").argsort(axis=1, kind="stable").argsort(axis=1)
        return np.take_along_axis(of_self, places[:, np.newaxis, :], axis=-1)

    @cached_property
    def weights(self) -> Floats:
        """NRU weights in 1/(Mb/s), (runs, flows), by the experiment's own rule."""
        of_self_mbps = self.of_self_mbps  # refuses an experiment without weights
        return WEIGHT_RULES[self.experiment.weights.rule](of_self_mbps)

    def by_rules(self) -> Iterator[tuple[str, Floats]]:
        """U_n(t) in the window by the experiment's own rule of the weights and by each further one.

        With it what to append to the names of metrics: nothing, or ``@rule``.
        """
        yield "", self.u_window_db
        for rule in self.experiment.weights.also:
            # the floor is a throughput, so that other weights shift every sample of a flow by the same dB
            shift_db = 10 * np.log10(WEIGHT_RULES[rule](self.of_self_mbps) / self.weights)
            yield BY_RULE + rule, self.u_window_db + shift_db[..., np.newaxis]

    def u_db(self, r: Floats) -> Floats:
        """U_n(t) in dB of the throughput ``r``; a sample without delivery counts as one segment."""
        floor = mbps(self.parameter("payload_bytes"), self.sample_s)
        return fairness.nru_over_time_db(r, self.weights, floor[:, np.newaxis, np.newaxis])

    @cached_property
    def u_window_db(self) -> Floats:
        return self.u_db(self.r)


# --- Groups of measures ------------------------------------------------------------------------------------------


def throughput(x: Runs) -> Measured:
    """Mean throughputs in Mb/s and the share that they are of the payload the link can carry."""
    payload_capacity = x.parameter("capacity_bps") * x.parameter("payload_bytes") / x.parameter("wire_bytes")
    means = x.r.mean(axis=-1)
    return [
        ("throughput_mean", means),
        ("received_mean", x.r_received.mean(axis=-1)),
        ("throughput_sum", means.sum(axis=-1)),
        ("utilisation", series.utilisation(x.r, payload_capacity / BPS_PER_MBPS)),
    ]


def ratio(x: Runs) -> Measured:
    """Mean throughput of flow 2 over that of flow 1."""
    means = x.r.mean(axis=-1)
    return [("ratio", series.throughput_ratio(means[:, 1], means[:, 0]))]


def jfi(x: Runs) -> Measured:
    """Jain's index: mean of J(t) as the papers print it, of the mean throughputs, and of first arrivals."""
    return [
        ("jfi_mean", fairness.mean_jfi(x.r)),
        ("jfi_of_means", fairness.jfi_of_means(x.r)),
        ("jfi_mean_received", fairness.mean_jfi(x.r_received)),
    ]


def nru(x: Runs) -> Measured:
    """Normalised resource usage in dB: of each flow as eq. 5 and of its mean throughput, and the system's tuple."""
    found = []
    for suffix, u_db in x.by_rules():
        u_n = fairness.flow_nru_db(u_db)
        system = fairness.nru_tuple(u_n)
        found += [
            (f"U_n{suffix}", u_n),
            (f"U_N{suffix}", system.u_mean),
            (f"U_N+{suffix}", system.u_plus),
            (f"U_N-{suffix}", system.u_minus),
        ]
    silent = np.where(np.isnan(found[0][1]), np.nan, fairness.zero_share(x.r))
    return [*found, ("U_n_of_means", fairness.flow_nru_db_of_mean(x.r, x.weights)), ("zero_share", silent)]


def stability(x: Runs) -> Measured:
    """Coefficients of variation of the NRU: S_n, their mean S_N (eq. 10), their sum, and S_N as Table VI prints it."""
    found = []
    for suffix, u_db in x.by_rules():
        found += [
            (f"S_n{suffix}", fairness.flow_stability(u_db)),
            (f"S_N_eq10{suffix}", fairness.system_stability(u_db)),
            (f"S_N_sum{suffix}", fairness.flow_stability(u_db).sum(axis=-1)),
            (f"S_N{suffix}", fairness.tuple_stability(fairness.flow_nru_db(u_db))),
        ]
    return found


def convergence(x: Runs) -> Measured:
    """T_U since t_e of each flow and of the system, when that was, and how much of the time after it all stay fair."""
    value = x.config.analysis_value
    span_s = (value("convergence_from_s"), x.window_s[1])
    u_db = x.u_db(x.during(x.throughput_mbps, *span_s))
    t_s = span_s[0] + x.sample_s * np.arange(1, u_db.shape[-1] + 1)
    when = {"t_e_s": value("t_e_s"), "u_c_db": value("U_c_db"), "window_s": value("convergence_window_s")}
    t_system_s = fairness.system_convergence_time_s(u_db, t_s, **when)
    converged_at_s = t_system_s + when["t_e_s"]
    after = t_s > converged_at_s[:, np.newaxis]
    fair = (u_db >= when["u_c_db"]).all(axis=-2)
    return [
        ("T_U", fairness.convergence_time_s(u_db, t_s, **when)),
        ("T_U", t_system_s),
        ("converged_at_s", converged_at_s),
        ("converged_share", series.throughput_ratio((fair & after).sum(axis=-1), after.sum(axis=-1))),
    ]


def peak(x: Runs) -> Measured:
    """Largest sample in Mb/s, when the flow first comes near it, and the mean over the whole run."""
    share = x.config.analysis_value("peak_share")
    return [
        ("throughput_peak", x.throughput_mbps.max(axis=-1)),
        ("time_to_90_s", series.time_to_fraction_s(x.throughput_mbps, x.t_s, share)),
        ("throughput_full_mean", x.throughput_mbps.mean(axis=-1)),
    ]


def cwnd(x: Runs) -> Measured:
    """Mean congestion window in packets."""
    return [("cwnd_mean", x.during(x.array("cwnd_pkts"), *x.window_s).mean(axis=-1))]


def window_needed(x: Runs) -> Measured:
    """Share of the time in which the window carries the target rate at the RTT without queue (kozu2014 eq. 10, 11)."""
    needed_bytes = x.config.analysis_value("target_rate_bps") * x.of_flows("rtt_s") / BITS_PER_BYTE
    window_bytes = x.array("cwnd_pkts") * x.parameter("payload_bytes")[:, np.newaxis, np.newaxis]
    enough = np.where(np.isnan(window_bytes), np.nan, window_bytes >= needed_bytes[..., np.newaxis])
    return [("window_enough_share", x.during(enough, *x.window_s).mean(axis=-1))]


def cubic_k(x: Runs) -> Measured:
    """Mean of CUBIC's K in s, and the share of the time in which that of flow 2 is the larger."""
    k_s = np.full(x.shape, np.nan)
    for (run, flow), losses in x.losses.items():
        k_s[run, flow] = epochs.k_over_time_s(x.t_s, losses["t_s"], losses["k_s"])
    k_s = x.during(k_s, *x.window_s)
    known = ~np.isnan(k_s)
    both = known.all(axis=1)
    larger = (k_s[:, 1] > k_s[:, 0]) & both
    return [
        ("k_mean", series.throughput_ratio(np.where(known, k_s, 0).sum(axis=-1), known.sum(axis=-1))),
        ("k_larger_share", series.throughput_ratio(larger.sum(axis=-1), both.sum(axis=-1))),
    ]


def common_losses(x: Runs) -> Measured:
    """Losses of each of two flows in the window, and the share of them that the other has too."""
    within_s, (start_s, stop_s) = x.config.analysis_value("common_within_s"), x.window_s
    counts, shared = np.zeros(x.shape[:2]), np.zeros((x.shape[0], 1))
    for run in range(x.shape[0]):
        times = [x.losses[run, flow]["t_s"] if (run, flow) in x.losses else pd.Series(dtype=float) for flow in (0, 1)]
        inside = [t_s[t_s.between(start_s, stop_s)].to_numpy() for t_s in times]
        counts[run], shared[run] = [len(t_s) for t_s in inside], len(epochs.common_losses(*inside, within_s))
    counts = np.where(np.isnan(x.r).any(axis=-1), np.nan, counts)
    return [("losses", counts), ("common_loss_share", series.throughput_ratio(shared, counts))]


def growth(x: Runs) -> Measured:
    """t1, in which the window fills the residual capacity, and t2, from the BDP to the first loss (ogura Model I, II)."""
    residual_share = x.config.analysis_value("residual_share")
    rtt_s = x.of_flows("rtt_s")
    bdp = bdp_pkts(x.parameter("capacity_bps")[:, np.newaxis], rtt_s, x.parameter("wire_bytes")[:, np.newaxis])
    windows = x.array("cwnd_pkts")
    full_s = series.first_time_s(windows >= bdp[..., np.newaxis], x.t_s)
    start_s = series.first_time_s(windows >= (1 - residual_share) * bdp[..., np.newaxis], x.t_s)
    return [("t1_s", full_s - start_s), ("t2_s", _first_loss_s(x) - full_s)]


def bottleneck(x: Runs) -> Measured:
    """Use of the bottleneck as its own record has it, ACKs of the other direction included (ha2006).

    utilisation counts what ``utilisation_counts`` says, payload or all bytes on the wire; so do the loads in Mb/s:
    mean forward, mean of both directions, and standard deviation and CoV of the samples forward.
    """
    wire, reverse = x.carried_mbps("forward"), x.carried_mbps("reverse")
    capacity = x.parameter("capacity_bps") / BPS_PER_MBPS
    payload = x.parameter("payload_bytes") / x.parameter("wire_bytes")
    counted = payload if x.config.analysis_value("utilisation_counts") == "payload" else np.ones_like(payload)
    load, cov = counted * wire.mean(axis=-1), series.coefficient_of_variation(wire)
    return [
        ("utilisation", load / capacity),
        ("utilisation_wire", wire.mean(axis=-1) / capacity),
        ("utilisation_payload", payload * wire.mean(axis=-1) / capacity),
        ("load_mean", load),
        ("load_both_ways", (load + counted * reverse.mean(axis=-1)) / 2),
        ("load_sd", cov * load),
        ("load_cov", cov),
    ]


def rates(x: Runs) -> Measured:
    """Mean and largest sample of each flow's goodput in Mb/s."""
    return [("throughput_mean", x.r.mean(axis=-1)), ("rate_largest", x.r.max(axis=-1))]


def sharing(x: Runs) -> Measured:
    """How two or more flows share from ``sharing_from_s`` on (ha2006): means, smaller over larger, time to become fair.

    ratio_at_end is of the last ``sharing_end_s``. fair_at_s counts from ``sharing_from_s`` to where the ratio of moving
    means first is fair; lead_changes counts how often the larger of the first two moving means changes.
    """
    value = x.config.analysis_value
    stop_s = x.window_s[1]
    r = x.during(x.throughput_mbps, value("sharing_from_s"), stop_s)
    at_end = x.during(x.throughput_mbps, stop_s - value("sharing_end_s"), stop_s)
    samples = round(value("fair_mean_s") / x.sample_s)
    smooth = series.moving_mean(r, samples)
    t_s = x.sample_s * (samples + np.arange(smooth.shape[-1]))
    fair = series.smaller_to_larger_ratio(np.moveaxis(smooth, 1, -1)) >= value("fair_ratio")
    leads = np.sign(smooth[:, 0] - smooth[:, 1])
    ratio = series.smaller_to_larger_ratio(r.mean(axis=-1))
    return [
        ("throughput_mean", r.mean(axis=-1)),
        ("fair_ratio", ratio),
        ("ratio_at_end", series.smaller_to_larger_ratio(at_end.mean(axis=-1))),
        ("fair_at_s", series.first_time_s(fair, t_s)),
        ("lead_changes", np.where(np.isnan(ratio), np.nan, (np.diff(leads, axis=-1) != 0).sum(axis=-1))),
    ]


def background(x: Runs) -> Measured:
    """Goodput forward in Mb/s: of the short flows together, and of the long-lived background flows together."""
    return [("web_mean", x.forward_mean_mbps("web")), ("long_lived_mean", x.forward_mean_mbps("background"))]


def synchronisation(x: Runs) -> Measured:
    """Mean share of the other flows that lose with a flow, within ``together_rtts`` round trips; losses per flow."""
    start_s, stop_s = x.window_s
    losses = x.events[x.events["kind"].isin(epochs.LOSS_KINDS) & x.events["t_s"].between(start_s, stop_s)]
    losses = losses.merge(x.flows[["run_id", "flow_id"]])  # not those of the background
    within_s = x.config.analysis_value("together_rtts") * x.of_flows("rtt_s").max(axis=1)
    of_flow = {key: np.sort(rows.to_numpy()) for key, rows in losses.groupby(["run_id", "flow_id"])["t_s"]}
    ids = x.of_flows("flow_id")
    shares = [
        epochs.synchronised_loss_share([of_flow.get((run_id, flow_id), []) for flow_id in own], near_s)
        for run_id, own, near_s in zip(x.runs["run_id"], ids, within_s, strict=True)
    ]
    per_flow = losses.groupby("run_id").size().reindex(x.runs["run_id"], fill_value=0) / x.shape[1]
    per_flow = np.where(x.parameter("duration_s") > start_s, per_flow, np.nan)
    return [("shared_losses", np.array(shares)), ("losses_per_flow", per_flow)]


def _first_loss_s(x: Runs) -> Floats:
    """Time of each flow's first loss or timeout, (runs, flows); NaN without one."""
    losses = x.events[x.events["kind"].isin(epochs.LOSS_KINDS)]
    first = losses.groupby(["run_id", "flow_id"])["t_s"].min()
    return first.reindex(pd.MultiIndex.from_frame(x.flows[["run_id", "flow_id"]])).to_numpy().reshape(x.shape[:2])


GROUPS: dict[str, Callable[[Runs], Measured]] = {
    group.__name__: group
    for group in (
        *(throughput, ratio, jfi, nru, stability, convergence, peak, cwnd, growth),
        *(window_needed, cubic_k, common_losses),
        *(bottleneck, rates, sharing, background, synchronisation),
    )
}


# --- The table ---------------------------------------------------------------------------------------------------


def measure(
    trace: Trace, paper_cfg: PaperConfig, experiment: str, weights_metrics: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Metrics of all runs of one experiment, a row for each value.

    Columns run_id, replicate, the grid variables, flow (1, 2, ..; 0 is the system), flow_protocol (the flow's own label,
    empty for the system), metric, value (Mb/s, dB, s, packets or a share; NaN where a run does not show it).
    ``weights_metrics`` is this function's result for the experiment that the NRU weights come from. Raises InputError
    for a measure that does not exist, missing weights, or samples that do not form a table of flows and times.
    """
    chosen = paper_cfg.experiments[experiment]
    unknown = [name for name in chosen.measures if name not in GROUPS]
    if unknown:
        raise InputError(
            f"config/papers/{paper_cfg.paper}.yaml: experiments.{experiment}.measures: {unknown[0]!r} is unknown; "
            f"known are {', '.join(GROUPS)}"
        )
    parts = []
    for runs in _blocks(trace, paper_cfg, chosen, weights_metrics):
        about = runs.runs[["run_id", "replicate", *trace.grid]]
        for metric, values in (item for name in chosen.measures for item in GROUPS[name](runs)):
            parts.append(_rows(about, runs.of_flows("protocol"), metric, values))
    columns = ["run_id", "replicate", *trace.grid, "flow", "flow_protocol", "metric", "value"]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    return table[columns].sort_values("run_id", kind="stable", ignore_index=True)


def _blocks(
    trace: Trace, config: PaperConfig, experiment: Experiment, weights_metrics: pd.DataFrame | None
) -> Iterator[Runs]:
    """The runs of a trace in blocks whose samples form an array."""
    flows = trace.flows[trace.flows["role"] == "foreground"].sort_values(["run_id", "flow_id"])
    samples = trace.samples.merge(flows[["run_id", "flow_id"]]).sort_values(["run_id", "flow_id", "t_s"])
    others = trace.samples.merge(_of_background(trace.flows))
    lengths = samples.groupby(["run_id", "flow_id"]).size().groupby("run_id").agg(["size", "min", "max"])
    uneven = lengths.index[lengths["min"] != lengths["max"]]
    if len(uneven):
        raise InputError(f"{config.paper}: samples.t_s: the flows of run {uneven[0]} have different numbers of samples")
    runs = trace.runs.merge(lengths, left_on="run_id", right_index=True).sort_values("run_id")
    for _, block in runs.groupby(["size", "max", "sample_s"]):
        every = (flows, samples, trace.events, trace.link, others)
        tables = (table[table["run_id"].isin(block["run_id"])] for table in every)
        yield Runs(config, experiment, weights_metrics, block, *tables)


def _of_background(flows: pd.DataFrame) -> pd.DataFrame:
    """run_id, flow_id, role and direction of the flows that are not in the foreground."""
    flows = flows if "direction" in flows else flows.assign(direction="forward")
    return flows.loc[flows["role"] != "foreground", ["run_id", "flow_id", "role", "direction"]]


def _rows(about: pd.DataFrame, labels: npt.NDArray, metric: str, values: Floats) -> pd.DataFrame:
    """One metric as rows: of the system for values (runs,), of every flow for values (runs, flows)."""
    system = values.ndim == 1
    n_flows = 1 if system else values.shape[1]
    rows = about.loc[about.index.repeat(n_flows)]
    return rows.assign(
        flow=np.int32(SYSTEM) if system else np.tile(np.arange(1, n_flows + 1, dtype=np.int32), len(about)),
        flow_protocol="" if system else labels.ravel(),
        metric=metric,
        value=np.asarray(values, dtype=float).ravel(),
    )
