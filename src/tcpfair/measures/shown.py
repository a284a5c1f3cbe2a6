"""Presentation of quantities: label, unit, decimals and symbol, for figures, tables, pages, the packet lab and the help.

Labels and units of the papers' metrics are in `tcpfair.measures.catalogue`, which is part of the measuring code. Text
only for readers is here: measuring code does not import it, so an edit makes neither metrics nor ensembles stale.
"""

from __future__ import annotations

from textwrap import fill
from typing import NamedTuple

from tcpfair.measures import BY_RULE, catalogue
from tcpfair.measures.of_run import FLOW


class Shown(NamedTuple):
    """Presentation of one quantity; ``symbol`` names it where a label does not fit."""

    words: str
    unit: str = ""
    decimals: int = 2
    symbol: str = ""

    @property
    def label(self) -> str:
        """Title of an axis or a column: ``cwnd (packets)``."""
        name = self.symbol or self.words
        return f"{name} ({self.unit})" if self.unit else name

    @property
    def title(self) -> str:
        """Title of a plot: ``Congestion window``."""
        return self.words if self.words == self.symbol else self.words[:1].upper() + self.words[1:]


# quantities drawn over the time of a run
OVER_TIME = {
    "throughput": Shown("throughput", "Mb/s"),
    "goodput": Shown("goodput", "Mb/s"),
    "cwnd": Shown("congestion window", "packets", 1, "cwnd"),
    "ssthresh": Shown("ssthresh", "packets", 1, "ssthresh"),
    "queue": Shown("queue", "packets", 0),
    "rtt": Shown("smoothed RTT", "ms", 1, "RTT"),
    "jfi": Shown("Jain's index J(t)", "", 3, "J(t)"),
    "nru": Shown("normalised resource usage U_n(t)", "dB", 2, "NRU"),
    "k": Shown("CUBIC's K in force", "s", 2, "K"),
}
_DECIMALS = {"throughput_mean": 1, "throughput_peak": 1, "T_U": 0}
METRICS = {
    name: Shown(metric.words or name, metric.unit, _DECIMALS.get(name, 2)) for name, metric in catalogue.METRICS.items()
}
_FLOWS = range(1, 7)  # flows whose shares and windows the validation compares one by one
# measures of the validation
OF_VALIDATION = {
    "mean_cwnd": Shown("mean window", "packets", 1),
    "epoch": Shown("mean time between losses", "s", 2),
    "peak": Shown("mean window before a loss", "packets", 1),
    "losses": Shown("losses and timeouts", "", 1),
    "utilisation": Shown("utilisation", "share", 4),
    "throughput": Shown("mean goodput", "Mb/s", 3),
    "share": Shown("share of flow 1", "share", 3),
    "jfi": Shown("Jain's index of mean throughputs", "", 3),
    **{f"share_{k}": Shown(f"share of flow {k}", "share", 3) for k in _FLOWS},
    **{f"window_{k}": Shown(f"mean window of flow {k}", "packets", 1) for k in _FLOWS},
}


def of_metric(name: str) -> Shown:
    """Presentation of a metric, with the flow (``ratio_flow2``) and the rule of the weights (``U_N@per_column``) in its
    label."""
    metric, _, flow = name.partition(FLOW)
    metric, _, rule = metric.partition(BY_RULE)
    shown = METRICS.get(metric, Shown(metric))
    words = shown.words + (f", by {rule.replace('_', ' ')}" if rule else "") + (f", flow {flow}" if flow else "")
    return shown._replace(words=words)


# beginnings of the metrics that need self-pairs, which a study lacks
_BY_SELF_PAIRS = ("U_", "S_", "T_U", "converged_", "zero_share", "self_pair_")


def listed() -> str:
    """The groups that ``measures`` of a study may name, and each metric that they give with its label and unit, as text."""
    groups = ", ".join(name for name, reads in catalogue.READS.items() if reads is not None)
    metrics = [f"  {name:<22}{of.label}" for name, of in METRICS.items() if not name.startswith(_BY_SELF_PAIRS)]
    of_groups = ["measures:", fill(groups, 78, initial_indent="  ", subsequent_indent="  ")]
    return "\n".join([*of_groups, "metrics (those of flows end in _flow1, _flow2, ...):", *metrics])
