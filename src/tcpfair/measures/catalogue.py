"""The catalogue of measures: the requirements of each group, and label and unit of each metric.

Read by the readers of recordings (`tcpfair.measures.resolution`), by studies and by the packet lab.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Need = Literal["sample", "window", "event"]


class Group(NamedTuple):
    """The requirements of a group of `tcpfair.measures.groups`.

    ``need`` is ``sample`` (single samples), ``window`` (bytes over the time of the whole window) or ``event`` (losses and
    windows, each recorded with its time). ``reads`` lists the required records of a simulation besides ``samples``. A
    group with ``by_self_pairs`` is weighted by the flows' throughput in another experiment.
    """

    need: Need
    reads: tuple[str, ...] = ()
    by_self_pairs: bool = False


class Metric(NamedTuple):
    """Label and unit of a metric; ``need`` where it differs from that of its group."""

    words: str = ""
    unit: str = ""
    need: Need | None = None


GROUPS = {
    "throughput": Group("window"),
    "ratio": Group("window"),
    "jfi": Group("sample"),
    "nru": Group("sample", by_self_pairs=True),
    "stability": Group("sample", by_self_pairs=True),
    "convergence": Group("sample", by_self_pairs=True),
    "peak": Group("sample"),
    "cwnd": Group("event", ("cwnd",)),
    "growth": Group("event", ("cwnd", "events")),
    "window_needed": Group("event", ("cwnd",)),
    "cubic_k": Group("event", ("events",)),
    "common_losses": Group("event", ("events",)),
    "bottleneck": Group("window", ("link",)),
    "rates": Group("window"),
    "sharing": Group("sample"),
    "background": Group("window"),
    "synchronisation": Group("event", ("events",)),
}
# records that a user's study needs for each group (`tcpfair.runs.study`)
READS = {name: None if group.by_self_pairs else group.reads for name, group in GROUPS.items()}
METRICS = {
    "throughput_mean": Metric("mean throughput", "Mb/s"),
    "received_mean": Metric("mean of first arrivals", "Mb/s"),
    "throughput_sum": Metric("throughput of all", "Mb/s"),
    "utilisation": Metric("utilisation"),
    "jfi_mean": Metric("mean of J(t)"),
    "jfi_of_means": Metric("J of the mean throughputs", need="window"),
    "jfi_mean_received": Metric("mean of J(t), first arrivals"),
    "ratio": Metric("flow 2 over flow 1"),
    "U_n": Metric("U_n, flow NRU (eq. 5)", "dB"),
    "U_N": Metric("U_N, mean over flows", "dB"),
    "U_N+": Metric("U_N+, of the fair flows", "dB"),
    "U_N-": Metric("U_N−, of the unfair flows", "dB"),
    "U_n_of_means": Metric("NRU of the mean throughput", "dB", need="window"),
    "zero_share": Metric("share of silent intervals"),
    "S_n": Metric("S_n, variation of U_n(t)"),
    "S_N": Metric("S_N as printed"),
    "S_N_eq10": Metric("S_N by eq. 10"),
    "S_N_sum": Metric("sum of S_n"),
    "T_U": Metric("T_U, convergence time", "s"),
    "converged_at_s": Metric("converged at", "s"),
    "converged_share": Metric("fair from then on, share of time"),
    "throughput_peak": Metric("largest interval", "Mb/s"),
    "time_to_90_s": Metric("time to 90 % of it", "s"),
    "throughput_full_mean": Metric("mean over the whole run", "Mb/s", need="window"),
    "cwnd_mean": Metric("mean window", "packets"),
    "window_enough_share": Metric("window large enough, share of time"),
    "k_mean": Metric("mean K", "s"),
    "k_larger_share": Metric("K of flow 2 larger, share of time"),
    "losses": Metric("losses"),
    "common_loss_share": Metric("shared with the other flow"),
    "t1_s": Metric("t1, filling the residual capacity", "s"),
    "t2_s": Metric("t2, filling the buffer", "s"),
    "utilisation_wire": Metric("utilisation, bytes on the wire"),
    "utilisation_payload": Metric("utilisation, payload"),
    "load_mean": Metric("load", "Mb/s"),
    "load_both_ways": Metric("load, mean of both ways", "Mb/s"),
    "load_sd": Metric("deviation of the load", "Mb/s", need="sample"),
    "load_cov": Metric("CoV of the load", need="sample"),
    "rate_largest": Metric("largest interval", "Mb/s", need="sample"),
    "fair_ratio": Metric("smaller over larger"),
    "ratio_at_end": Metric("smaller over larger at the end"),
    "fair_at_s": Metric("fair at", "s"),
    "lead_changes": Metric("changes of the lead"),
    "web_mean": Metric("short flows", "Mb/s"),
    "long_lived_mean": Metric("long-lived background", "Mb/s"),
    "shared_losses": Metric("losses that others share"),
    "losses_per_flow": Metric("losses per flow"),
    "self_pair_mbps": Metric(need="window"),
}
