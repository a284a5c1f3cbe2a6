"""From the trace of an experiment to its table: the measures that its configuration requests, a row for each value.

``experiment.measures`` names groups, each a function below. Windows, thresholds and the rule of the weights come from
the paper's configuration. A measure is NaN for a run that is too short or too coarsely recorded for it; see
`tcpfair.measures.resolution`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.measures import weights
from tcpfair.measures.resolution import too_fine
from tcpfair.measures.runs import Floats, Runs, blocks
from tcpfair.metrics import epochs, fairness, series
from tcpfair.metrics.exactmath import log10
from tcpfair.papers.papers import Experiment, PaperConfig
from tcpfair.runs.trace import Trace
from tcpfair.units import BITS_PER_BYTE, BPS_PER_MBPS, bdp_pkts, mbps

Named = list[tuple[str, Floats]]  # measures with their values, (runs,) of the system or (runs, flows)

SYSTEM = 0  # `flow` of a measure of the whole system
BY_RULE = "@"  # between a measure and the rule of its weights, where it differs from the experiment's own


@dataclass(frozen=True)
class ExperimentRuns(Runs):
    """Runs of an experiment, and the configuration of their measures."""

    config: PaperConfig
    experiment: Experiment
    of_self: pd.DataFrame | None  # the table of the experiment that gives the NRU weights

    @cached_property
    def of_self_mbps(self) -> Floats:
        """`weights.of_self_pairs_mbps` of the experiment that the configuration names."""
        source = self.experiment.weights
        if source is None or self.of_self is None:
            raise InputError(f"config/papers/{self.config.paper}.yaml: an experiment measures nru but has no weights")
        grid = [name for name in self.config.experiments[source.experiment].grid if name != "protocol"]
        return weights.of_self_pairs_mbps(self, self.of_self, grid, f"{self.config.paper}/{source.experiment}")

    @cached_property
    def rates_mbps(self) -> Floats:
        """The bytes that ``rates_count`` selects, over the whole run: first arrivals (received) or in-order goodput
        (delivered)."""
        return mbps(self.array(f"{self.config.analysis_value('rates_count')}_bytes"), self.sample_s)

    @cached_property
    def weights(self) -> Floats:
        """NRU weights in 1/(Mb/s), (runs, flows), by the experiment's own rule."""
        of_self_mbps = self.of_self_mbps  # refuses an experiment without weights
        return weights.RULES[self.experiment.weights.rule](of_self_mbps)

    @cached_property
    def u_db(self) -> Floats:
        """U_n(t) in dB in the window, by the experiment's own rule."""
        return weights.u_db(self, self.r, self.weights)

    def by_rules(self) -> Iterator[tuple[str, Floats]]:
        """U_n(t) in the window by the experiment's own rule of the weights and by each further one.

        Each comes with the suffix of the measures' names: empty, or ``@rule``.
        """
        yield "", self.u_db
        for rule in self.experiment.weights.also:
            # the floor is a throughput, so other weights shift every sample of a flow by the same dB
            with np.errstate(invalid="ignore"):  # both weights may be inf
                shift_db = 10 * log10(weights.RULES[rule](self.of_self_mbps) / self.weights)
                u_db = self.u_db + shift_db[..., np.newaxis]
            yield BY_RULE + rule, u_db


# --- Groups of measures ------------------------------------------------------------------------------------------


def throughput(x: Runs) -> Named:
    """Mean throughputs in Mb/s and their share of the link's capacity for payload."""
    return [
        ("throughput_mean", x.means_mbps),
        ("received_mean", x.r_received.mean(axis=-1)),
        ("throughput_sum", x.means_mbps.sum(axis=-1)),
        ("utilisation", x.utilisation(x.r)),
    ]


def ratio(x: Runs) -> Named:
    """Mean throughput of flow 2 over that of flow 1."""
    return [("ratio", series.throughput_ratio(x.means_mbps[:, 1], x.means_mbps[:, 0]))]


def jfi(x: Runs) -> Named:
    """Jain's index: mean of J(t) as in the papers, of the mean throughputs, and of first arrivals."""
    return [
        ("jfi_mean", fairness.mean_jfi(x.r)),
        ("jfi_of_means", fairness.jfi_of_means(x.r)),
        ("jfi_mean_received", fairness.mean_jfi(x.r_received)),
    ]


def nru(x: ExperimentRuns) -> Named:
    """Normalised resource usage in dB: of each flow as eq. 5 and of its mean throughput, and the system's tuple."""
    found = []
    for suffix, u_db in x.by_rules():
        found += [(name + suffix, values) for name, values in nru_tuple(u_db)]
    silent = np.where(np.isnan(found[0][1]), np.nan, fairness.zero_share(x.r))
    return [*found, ("U_n_of_means", fairness.flow_nru_db_of_mean(x.r, x.weights)), ("zero_share", silent)]


def nru_tuple(u_db: Floats) -> Named:
    """U_n of each flow and the system's tuple, from U_n(t) in the window."""
    u_n = fairness.flow_nru_db(u_db)
    return [("U_n", u_n), *zip(("U_N", "U_N+", "U_N-"), fairness.nru_tuple(u_n), strict=True)]


def stability(x: ExperimentRuns) -> Named:
    """Coefficients of variation of the NRU: S_n, their mean S_N (eq. 10), their sum, and S_N as published in Table VI."""
    found = []
    for suffix, u_db in x.by_rules():
        found += [
            (f"S_n{suffix}", fairness.flow_stability(u_db)),
            (f"S_N_eq10{suffix}", fairness.system_stability(u_db)),
            (f"S_N_sum{suffix}", fairness.flow_stability(u_db).sum(axis=-1)),
            (f"S_N{suffix}", fairness.tuple_stability(fairness.flow_nru_db(u_db))),
        ]
    return found


def convergence(x: ExperimentRuns) -> Named:
    """T_U since t_e of each flow and of the system, its time, and the share of the time after it in which all stay fair."""
    value = x.config.analysis_value
    span_s = (value("convergence_from_s"), x.window_s[1])
    u_db = weights.u_db(x, x.during(x.goodput_mbps, *span_s), x.weights)
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


def peak(x: ExperimentRuns) -> Named:
    """Largest sample in Mb/s, the time when the flow first approaches it, and the mean over the whole run."""
    share = x.config.analysis_value("peak_share")
    return [
        ("throughput_peak", x.goodput_mbps.max(axis=-1)),
        ("time_to_90_s", series.time_to_fraction_s(x.goodput_mbps, x.t_s, share)),
        ("throughput_full_mean", x.goodput_mbps.mean(axis=-1)),
    ]


def cwnd(x: ExperimentRuns) -> Named:
    """Mean congestion window in packets."""
    return [("cwnd_mean", x.in_window(x.array("cwnd_pkts")).mean(axis=-1))]


def window_needed(x: ExperimentRuns) -> Named:
    """Share of the time in which the window carries the target rate at the RTT without queue (kozu2014 eq. 10, 11)."""
    needed_bytes = x.config.analysis_value("target_rate_bps") * x.of_flows("rtt_s") / BITS_PER_BYTE
    window_bytes = x.array("cwnd_pkts") * x.parameter("payload_bytes")[:, np.newaxis, np.newaxis]
    enough = np.where(np.isnan(window_bytes), np.nan, window_bytes >= needed_bytes[..., np.newaxis])
    return [("window_enough_share", x.in_window(enough).mean(axis=-1))]


def cubic_k(x: ExperimentRuns) -> Named:
    """Mean of CUBIC's K in s, and the share of the time in which that of flow 2 is the larger."""
    k_s = np.full(x.shape, np.nan)
    for (run, flow), losses in x.losses.items():
        k_s[run, flow] = epochs.k_over_time_s(x.t_s, losses["t_s"], losses["k_s"])
    k_s = x.in_window(k_s)
    known = ~np.isnan(k_s)
    both = known.all(axis=1)
    larger = (k_s[:, 1] > k_s[:, 0]) & both
    return [
        ("k_mean", series.throughput_ratio(np.where(known, k_s, 0).sum(axis=-1), known.sum(axis=-1))),
        ("k_larger_share", series.throughput_ratio(larger.sum(axis=-1), both.sum(axis=-1))),
    ]


def common_losses(x: ExperimentRuns) -> Named:
    """Losses of each of two flows in the window, and the share of them that the other has too."""
    within_s = x.config.analysis_value("common_within_s")
    shared = [
        len(epochs.common_losses(x.loss_times_s(run, 0), x.loss_times_s(run, 1), within_s)) for run in range(x.shape[0])
    ]
    share = series.throughput_ratio(np.array(shared)[:, np.newaxis], x.loss_counts)
    return [("losses", x.loss_counts), ("common_loss_share", share)]


def growth(x: ExperimentRuns) -> Named:
    """t1, in which the window fills the residual capacity, and t2, from the BDP to the first loss (ogura Model I, II)."""
    residual_share = x.config.analysis_value("residual_share")
    rtt_s = x.of_flows("rtt_s")
    bdp = bdp_pkts(x.parameter("capacity_bps")[:, np.newaxis], rtt_s, x.parameter("wire_bytes")[:, np.newaxis])
    windows = x.array("cwnd_pkts")
    full_s = series.first_time_s(windows >= bdp[..., np.newaxis], x.t_s)
    start_s = series.first_time_s(windows >= (1 - residual_share) * bdp[..., np.newaxis], x.t_s)
    return [("t1_s", full_s - start_s), ("t2_s", x.first_loss_s - full_s)]


def bottleneck(x: ExperimentRuns) -> Named:
    """Utilisation of the bottleneck by its own record, including ACKs of the other direction (ha2006).

    ``utilisation_counts`` selects payload or all bytes on the wire, for utilisation and for the loads in Mb/s:
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


def rates(x: ExperimentRuns) -> Named:
    """Mean and largest sample of each flow's rate in Mb/s, by ``rates_count`` (ha2006)."""
    r = x.in_window(x.rates_mbps)
    return [("throughput_mean", r.mean(axis=-1)), ("rate_largest", r.max(axis=-1))]


def sharing(x: ExperimentRuns) -> Named:
    """How two or more flows share from ``sharing_from_s`` on (ha2006): means, smaller over larger, time to become fair.

    Rates are counted by ``rates_count``. ratio_at_end covers the last ``sharing_end_s``. fair_at_s is the time from
    ``sharing_from_s`` until the ratio of moving means is first fair; lead_changes counts changes of the larger of the
    first two moving means.
    """
    value = x.config.analysis_value
    stop_s = x.window_s[1]
    r = x.during(x.rates_mbps, value("sharing_from_s"), stop_s)
    at_end = x.during(x.rates_mbps, stop_s - value("sharing_end_s"), stop_s)
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


def background(x: Runs) -> Named:
    """Goodput forward in Mb/s: of the short flows together, and of the long-lived background flows together."""
    return [("web_mean", x.forward_mean_mbps("web")), ("long_lived_mean", x.forward_mean_mbps("background"))]


def synchronisation(x: ExperimentRuns) -> Named:
    """Mean share of the other flows that lose with a flow, within ``together_rtts`` round trips; losses per flow."""
    n_runs, n_flows, _ = x.shape
    within_s = x.config.analysis_value("together_rtts") * x.of_flows("rtt_s").max(axis=1)
    shares = [
        epochs.synchronised_loss_share([x.loss_times_s(run, flow) for flow in range(n_flows)], within_s[run])
        for run in range(n_runs)
    ]
    return [("shared_losses", np.array(shares)), ("losses_per_flow", x.loss_counts.sum(axis=1) / n_flows)]


BY_GROUP: dict[str, Callable[[ExperimentRuns], Named]] = {
    group.__name__: group
    for group in (
        *(throughput, ratio, jfi, nru, stability, convergence, peak, cwnd, growth),
        *(window_needed, cubic_k, common_losses),
        *(bottleneck, rates, sharing, background, synchronisation),
    )
}


# --- The table ---------------------------------------------------------------------------------------------------


def measure(trace: Trace, paper_cfg: PaperConfig, experiment: str, of_self: pd.DataFrame | None = None) -> pd.DataFrame:
    """Measures of all runs of one experiment, a row for each value.

    Columns run_id, replicate, the grid variables, flow (1, 2, ..; 0 is the system), flow_protocol (the flow's own label,
    empty for the system), metric, value (Mb/s, dB, s, packets or a share; NaN if a run does not show it).
    ``of_self`` is this function's result for the experiment that the NRU weights come from. Raises InputError
    for a measure that does not exist, missing weights, or samples that do not form a table of flows and times.
    """
    chosen = paper_cfg.experiments[experiment]
    unknown = [name for name in chosen.measures if name not in BY_GROUP]
    if unknown:
        raise InputError(
            f"config/papers/{paper_cfg.paper}.yaml: experiments.{experiment}.measures: {unknown[0]!r} is unknown; "
            f"known are {', '.join(BY_GROUP)}"
        )
    window_s = tuple(chosen.window_s.value) if chosen.window_s else None
    make = partial(ExperimentRuns, config=paper_cfg, experiment=chosen, of_self=of_self)
    parts = []
    for runs in blocks(trace, window_s, make):
        about = runs.runs[["run_id", "replicate", *trace.grid]]
        for group in chosen.measures:
            named = BY_GROUP[group](runs)
            missing = too_fine(group, (metric for metric, _ in named)) if runs.is_coarse else ()
            for metric, values in named:
                known = np.full(np.shape(values), np.nan) if metric in missing else values
                parts.append(_rows(about, runs.of_flows("protocol"), metric, known))
    columns = ["run_id", "replicate", *trace.grid, "flow", "flow_protocol", "metric", "value"]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    return table[columns].sort_values("run_id", kind="stable", ignore_index=True)


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
