"""A recording beside the paper's own figure, where the experiment is of the same kind.

Two flows of one RTT stand beside the pairs of bhatti2009 (J against RTT), two flows of unlike RTTs beside the sweep of
kozu2014 (throughput of the longer flow over that of the shorter). The links differ, and so may buffers, kernels and durations:
what is to be compared is where the recording lies among the protocols, and the caption says so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from tcpfair.contract.layout import Layout, repository_root
from tcpfair.contract.papers import load_paper
from tcpfair.errors import InputError
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Context, Drawn
from tcpfair.exhibits.recordings.recording import NotInTraceError, Recording, metric_numbers
from tcpfair.metrics import fairness, series
from tcpfair.units import MS_PER_S

ONE_RTT = 0.1  # RTTs that differ by less, of the larger, count as one: the papers' agreed to about 1 ms


class Likeness(NamedTuple):
    """A paper's experiment of two flows, and the measure that its figure draws against the RTT."""

    kind: str
    paper: str
    experiment: str
    exhibit: str
    protocols: tuple[str, ...]
    metric: str
    y_label: str
    log: bool


PAIRS = Likeness(
    "pairs",
    "bhatti2009",
    "self",
    "Table III",
    ("NewReno", "BIC", "CUBIC", "Compound"),
    "jfi_mean",
    "mean of $J(t)$",
    False,
)
RTTS = Likeness(
    "rtts",
    "kozu2014",
    "rtt_sweep",
    "Figure 2",
    ("CUBIC", "Proposed K", "Reno"),
    "ratio",
    "longer flow / shorter flow",
    True,
)


def likeness(recording: Recording) -> Likeness:
    """The paper's experiment that a recording is like, as trace.yaml says or as its flows show.

    Raises NotInTraceError when there is none.
    """
    said = recording.said.kind
    if said == "other":
        raise NotInTraceError("trace.yaml says that it is like no experiment of the papers (kind: other)")
    if len(recording.flows) != 2:
        raise NotInTraceError(
            f"{len(recording.flows)} flows; the papers' experiments that it could stand beside have two"
        )
    short_s, long_s = np.sort(recording.flows["rtt_s"])
    if not np.isfinite(long_s):
        raise NotInTraceError("RTTs are not recorded; give flows: rtt_s in its trace.yaml")
    alike = long_s - short_s < ONE_RTT * long_s
    chosen = {"pairs": PAIRS, "rtts": RTTS}.get(said, PAIRS if alike else RTTS)
    if said and alike != (chosen is PAIRS):
        shown = f"{short_s * MS_PER_S:.4g} and {long_s * MS_PER_S:.4g} ms"
        raise InputError(f"{recording.path}: trace.yaml: kind: {said}, but the RTTs are {shown}")
    return chosen


def beside(recording: Recording) -> Drawn:
    """The paper's figure as it is reproduced from the bundled runs, with the recording in it."""
    like = likeness(recording)
    of_paper = _of_paper(like)
    short_s, long_s = np.sort(recording.flows["rtt_s"])
    value = _measured(recording, like)

    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=3.0)
    for protocol in like.protocols:
        rows = of_paper[of_paper["protocol"] == protocol]
        look = style.look(protocol)
        ax.plot(rows["rtt_ms"], rows["mean"], color=look.color, marker=look.marker, label=f"{protocol}, engine")
        ax.fill_between(rows["rtt_ms"], rows["low"], rows["high"], color=look.color, alpha=0.15, lw=0)
    names = " and ".join(dict.fromkeys(recording.flows["protocol"]))
    ax.plot(
        long_s * MS_PER_S,
        value,
        ls="",
        marker="*",
        ms=13,
        color=style.BLACK,
        label=f"this recording ({style.plain(names)})",
    )
    if like.log:
        ax.set(xscale="log", yscale="log")
    ax.set(xlabel="RTT (ms)" if like is PAIRS else "RTT of the longer flow (ms)", ylabel=like.y_label)
    ax.set_title(f"beside {like.paper}, {like.exhibit}", loc="left")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    nearest = of_paper.assign(far=(np.log(of_paper["rtt_ms"]) - np.log(long_s * MS_PER_S)).abs()).sort_values(
        "far", kind="stable"
    )
    values = {like.metric: value, "rtt_ms": long_s * MS_PER_S, "shorter_rtt_ms": short_s * MS_PER_S}
    for row in nearest.drop_duplicates("protocol").itertuples():
        values[f"{like.paper}_{row.protocol}"] = row.mean
    return Drawn(figure, metric_numbers(recording, values), 1, of_paper)


def _measured(recording: Recording, like: Likeness) -> float:
    r = recording.counted.r
    if like is PAIRS:
        return fairness.mean_jfi(r).item()
    shorter, longer = recording.runs.of_flows("rtt_s")[0].argsort(kind="stable")
    means = recording.counted.means_mbps[0]
    return series.throughput_ratio(means[longer], means[shorter]).item()


def _of_paper(like: Likeness) -> pd.DataFrame:
    """protocol, rtt_ms, and mean, lowest and highest of the measure over the paper's number of runs, from the bundled runs."""
    layout = Layout(repository_root(), "bundled")
    table = Context(load_paper(layout.paper_config(like.paper)), layout).metrics(like.experiment)
    rows = table[(table["metric"] == like.metric) & table["protocol"].isin(like.protocols)]
    grouped = rows.groupby(["protocol", "rtt_ms"])["value"]
    return grouped.agg(mean="mean", low="min", high="max").reset_index()
