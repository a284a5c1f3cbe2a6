"""A recording in the paper's own figure, if the experiment is of the same kind.

Two flows of one RTT are drawn with the pairs of bhatti2009 (J against RTT), two flows of different RTTs with the sweep of
kozu2014 (throughput of the longer flow over that of the shorter). Links, buffers, kernels and durations may differ, so only the
place of the recording among the protocols can be compared, as the caption explains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from tcpfair.errors import InputError, check_known
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn
from tcpfair.exhibits.kinds.sweeps import draw_protocols
from tcpfair.exhibits.recordings.recording import NotInTraceError, Recording, metric_numbers
from tcpfair.files.layout import Layout, repository_root
from tcpfair.metrics import fairness, series
from tcpfair.papers.papers import load_paper
from tcpfair.papers.recordings import PaperFigure
from tcpfair.units import MS_PER_S
from tcpfair.verdicts.context import Context


class Measure(NamedTuple):
    """The quantity that a paper's figure draws against the RTT."""

    metric: str
    label: str
    rtt_label: str
    scale: str


MEASURES = {
    "pairs": Measure("jfi_mean", "mean of $J(t)$", "RTT (ms)", "linear"),
    "rtts": Measure("ratio", "longer flow / shorter flow", "RTT of the longer flow (ms)", "log"),
}


def likeness(recording: Recording) -> str:
    """``pairs`` or ``rtts``, the kind of experiment that a recording resembles, from trace.yaml or from its flows.

    Raises NotInTraceError if it resembles none.
    """
    said = recording.said.kind
    if said == "other":
        raise NotInTraceError("trace.yaml states that it resembles no experiment of the papers (kind: other)")
    if len(recording.flows) != 2:
        raise NotInTraceError(f"{len(recording.flows)} flows; comparable experiments of the papers have two")
    short_s, long_s = np.sort(recording.flows["rtt_s"])
    if not np.isfinite(long_s):
        raise NotInTraceError("RTTs are not recorded; give flows: rtt_s in its trace.yaml")
    shows = "pairs" if long_s - short_s < recording.settings.beside.one_rtt.value * long_s else "rtts"
    if said and said != shows:
        shown = f"{short_s * MS_PER_S:.4g} and {long_s * MS_PER_S:.4g} ms"
        raise InputError(f"{recording.path}: trace.yaml: kind: {said}, but the RTTs are {shown}")
    return shows


def figure_like(recording: Recording) -> PaperFigure:
    """The paper's figure that a recording is drawn into. Raises as `likeness`."""
    return getattr(recording.settings.beside, likeness(recording))


def beside(recording: Recording) -> Drawn:
    """The paper's figure, reproduced from the bundled runs, with the recording in it."""
    like = likeness(recording)
    figure_of, measure = figure_like(recording), MEASURES[like]
    of_paper = _of_paper(figure_of, measure.metric)
    short_s, long_s = np.sort(recording.flows["rtt_s"])
    value = _measured(recording, like)

    figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=3.0)
    lines = of_paper.rename(columns={"mean": "value"})
    draw_protocols(ax, lines, "rtt_ms", figure_of.protocols, label="{}, engine")
    names = " and ".join(dict.fromkeys(recording.flows["protocol"]))
    star = {"ls": "", "marker": "*", "ms": 13, "color": style.BLACK}
    ax.plot(long_s * MS_PER_S, value, **star, label=f"this recording ({style.plain(names)})")
    ax.set(xscale=measure.scale, yscale=measure.scale, xlabel=measure.rtt_label, ylabel=measure.label)
    ax.set_title(f"beside {figure_of.paper}, {figure_of.exhibit}", loc="left")
    ax.legend(**style.BESIDE)
    far = (np.log(of_paper["rtt_ms"]) - np.log(long_s * MS_PER_S)).abs()
    nearest = of_paper.assign(far=far).sort_values("far", kind="stable")
    values = {measure.metric: value, "rtt_ms": long_s * MS_PER_S, "shorter_rtt_ms": short_s * MS_PER_S}
    for row in nearest.drop_duplicates("protocol").itertuples():
        values[f"{figure_of.paper}_{row.protocol}"] = row.mean
    return Drawn(figure, metric_numbers(recording, values), data=of_paper)


def _measured(recording: Recording, like: str) -> float:
    recording.need_one_direction()
    r = recording.counted.r
    if like == "pairs":
        if recording.is_coarse:
            raise NotInTraceError(recording.left_out("jfi"))
        return fairness.mean_jfi(r).item()
    shorter, longer = recording.runs.of_flows("rtt_s")[0].argsort(kind="stable")
    means = recording.counted.means_mbps[0]
    return series.throughput_ratio(means[longer], means[shorter]).item()


def _of_paper(like: PaperFigure, metric: str) -> pd.DataFrame:
    """protocol, rtt_ms, and mean, lowest and highest of the measure over the paper's number of runs, from the bundled runs.

    Raises InputError for an unknown name in config/raw.yaml.
    """
    layout = Layout(repository_root(), "bundled")
    paper = load_paper(layout.paper_config(like.paper))
    check_known(f"config/raw.yaml: beside: experiment of {like.paper}", [like.experiment], paper.experiments)
    table = Context(paper, layout).metrics(like.experiment)
    check_known(f"config/raw.yaml: beside: protocol of {like.paper}", like.protocols, table["protocol"].unique())
    rows = table[(table["metric"] == metric) & table["protocol"].isin(like.protocols)]
    grouped = rows.groupby(["protocol", "rtt_ms"])["value"]
    return grouped.agg(mean="mean", low="min", high="max").reset_index()
