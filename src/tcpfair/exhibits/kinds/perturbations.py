"""A published single run in the distribution of perturbed runs: medians, 5 to 95 %, and the percentile of the published value.

Runs of one grid point differ in unstated details (`perturb` in the paper's configuration). A published single run is one draw
from such a distribution, so the most informative number is the share of the runs below it.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib import MatplotlibDeprecationWarning
from matplotlib.axes import Axes

from tcpfair.exhibits import pages, style
from tcpfair.exhibits.context import Drawn, Options, Table, drawing
from tcpfair.exhibits.kinds.sweeps import Axis
from tcpfair.exhibits.kinds.tables import DASH, above_printed, marked, number_text, printed_bounds
from tcpfair.measures import BY_RULE, SYSTEM
from tcpfair.metrics.fairness import case_letter
from tcpfair.papers.papers import Exhibit, Experiment
from tcpfair.verdicts.columns import Numbers
from tcpfair.verdicts.combine import LEVELS
from tcpfair.verdicts.computed import CASE_LETTERS
from tcpfair.verdicts.context import Context, values_of

_ASIDE = 0.3  # distance of a published value from the runs, as a share of the distance between two RTTs
_NOTE = (
    "above: median and, in brackets, 5 to 95 % over perturbations; below: printed, and the share of the runs that lie "
    "below it, ✗ outside of 5 to 95 %"
)


# --- Tables ------------------------------------------------------------------------------------------------------


class Row(Options):
    """One metric of the system as a row."""

    label: str
    metric: str
    decimals: int = 2


class CaseRow(Options):
    """The shares of the runs with each letter of the cases."""

    label: str
    rule: str = ""  # of the weights; empty = the experiment's own


@drawing(table=True)
def perturbed_table(
    context: Context, experiment: Experiment, numbers: Numbers, *, rows: list[Row | CaseRow], printed: str
) -> Drawn:
    """A row per metric, a column per RTT: median and 5 to 95 % over the runs, the published value and its percentile."""
    told = {}
    for row in rows:
        if isinstance(row, CaseRow):
            letters = printed_letters(context, printed)
            shares = case_shares(numbers, row.rule)
            texts = {rtt: above_printed(_case_text(own), letters.get(rtt, "")) for rtt, own in shares.iterrows()}
        else:
            texts = {cell.rtt_ms: _cell_text(cell, row.decimals) for cell in numbers.of(row.metric).itertuples()}
        told[pages.with_symbols(row.label)] = texts
    columns = {rtt: f"{rtt:g} ms" for rtt in values_of(experiment, "rtt_ms")}
    table = pd.DataFrame.from_dict(told, orient="index").reindex(columns=list(columns)).fillna("")
    return Drawn(Table(table.rename(columns=columns), _NOTE))


def _cell_text(cell, decimals: int) -> str:
    """Median and quantiles; below, the published value and its percentile, if any."""
    ours = number_text(cell.value, decimals)
    if np.isfinite(cell.low):
        ours += f" [{number_text(cell.low, decimals)}, {number_text(cell.high, decimals)}]"
    if cell.share < 1:
        ours += f" in {100 * cell.share:.0f} %"
    lower = ""
    if hasattr(cell, "percentile"):
        lower = number_text(cell.printed, 2)
        if np.isfinite(cell.percentile):
            lower = marked(f"{lower} at {cell.percentile:.0f} %", cell.low <= cell.printed <= cell.high)
    return above_printed(ours, lower)


def case_shares(numbers: Numbers, rule: str = "") -> pd.DataFrame:
    """Share of the runs with each letter that occurs: a row for each RTT, a column for each letter."""
    suffix = BY_RULE + rule if rule else ""
    given = {column.metric for column in numbers.columns}
    names = {letter: f"case_{letter}_share{suffix}" for letter in CASE_LETTERS}
    shares = {letter: numbers.of(name).set_index("rtt_ms")["value"] for letter, name in names.items() if name in given}
    return pd.DataFrame(shares)


def printed_letters(context: Context, exhibit_id: str) -> dict[float, str]:
    """Letters of the published tuples by RTT."""
    both = printed_bounds(context, exhibit_id)
    return dict(zip(both["rtt_ms"], case_letter(both["value_plus"], both["value_minus"]).tolist(), strict=True))


def _case_text(shares: pd.Series) -> str:
    return ", ".join(f"{letter} {100 * share:.0f} %" for letter, share in shares.items() if share) or DASH


@drawing(table=True)
def bhatti2009_shares_14(experiment: Experiment, numbers: Numbers) -> Drawn:
    """Throughput of every flow: a row per flow, the largest first, a column per RTT."""
    cells = numbers.of("throughput_mean")
    order = cells.groupby("protocol")["value"].mean().sort_values(ascending=False).index
    texts = cells.assign(text=[_cell_text(cell, 1) for cell in cells.itertuples()])
    table = texts.pivot(index="protocol", columns="rtt_ms", values="text").loc[order, values_of(experiment, "rtt_ms")]
    table = table.rename(columns="{:g} ms".format).rename_axis(index=None, columns=None)
    note = "median and, in brackets, 5 to 95 % over perturbations"
    return Drawn(Table(table, note))


# --- Figures -----------------------------------------------------------------------------------------------------


class Band(Options):
    """One metric over the RTT: its median as a line, 5 to 95 % as a band."""

    metric: str
    label: str
    color: Literal["black", "orange", "sky", "green", "blue", "vermilion", "purple", "grey"]
    dashed: bool = False
    marks: bool = False  # draw the published values with their percentiles, and all runs
    runs: str = ""  # the metric of the runs, if its name differs from that of the number

    @property
    def shade(self) -> str:
        return getattr(style, self.color.upper())


class Panel(Options):
    """One panel."""

    title: str
    y_axis: Axis
    bands: list[Band]
    printed: str  # exhibit with the published numbers


@drawing()
def perturbed_panels(
    context: Context, exhibit: Exhibit, experiment: Experiment, numbers: Numbers, *, panels: list[Panel]
) -> Drawn:
    """Panels of metrics of the system over the RTT, with the published values and their percentiles."""
    metrics = context.metrics(exhibit.experiments[0])
    metrics = metrics[metrics["flow"] == SYSTEM]
    figure, [axes] = style.new_figure(1, len(panels), style.PAGE_IN, 4.2)
    style.letter_panels(axes, [panel.title for panel in panels], pad=16)  # above the percentiles
    for ax, panel in zip(axes, panels, strict=True):
        for band in panel.bands:
            cells = numbers.of(band.metric)
            _draw_band(ax, band, cells)
            if band.marks:
                _draw_runs(ax, band, metrics[metrics["metric"] == (band.runs or band.metric)])
                _draw_marks(ax, band, cells)
        if any(band.marks for band in panel.bands):
            ax.add_line(style.printed_handle("printed; on top: share of runs below"))
        Axis(label="RTT (ms)").dress_x(ax, values_of(experiment, "rtt_ms"))
        panel.y_axis.dress_y(ax)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)
    note = "lines: median over perturbations; bands and whiskers: 5–95 %; boxes: quartiles"
    return Drawn(figure, note=note)


def _draw_band(ax: Axes, band: Band, cells: pd.DataFrame) -> None:
    x, dashes = cells["rtt_ms"].to_numpy(dtype=float), "--" if band.dashed else "-"
    ax.plot(x, cells["value"], color=band.shade, marker="" if band.marks else "o", ms=3, ls=dashes, label=band.label)
    if not band.marks:
        shown = cells["value"].notna()
        style.draw_band(ax, x, cells["low"].where(shown), cells["high"].where(shown), band.shade)


def _draw_runs(ax: Axes, band: Band, runs: pd.DataFrame) -> None:
    """Every run as a point, and a box from quartile to quartile with whiskers from 5 to 95 %, at each RTT."""
    import seaborn  # takes a second, only needed for these figures

    at = {"data": runs, "x": "rtt_ms", "y": "value", "ax": ax, "native_scale": True, "legend": False}
    percent = [100 * level for level in LEVELS]
    with warnings.catch_warnings():  # seaborn 0.13 passes an argument that matplotlib 3.11 deprecates
        warnings.simplefilter("ignore", MatplotlibDeprecationWarning)
        seaborn.boxplot(**at, whis=percent, width=0.3, fill=False, color=band.shade, linewidth=0.8, showfliers=False)
    seaborn.stripplot(**at, jitter=False, size=2, alpha=0.35, color=band.shade)


def _draw_marks(ax: Axes, band: Band, cells: pd.DataFrame) -> None:
    """The published values to the right of the runs, and the percentile of each above the panel."""
    aside = _ASIDE * float(np.diff(cells["rtt_ms"]).min())
    style.draw_printed(ax, cells["rtt_ms"] + aside, cells["printed"], style.Look(band.shade, "o"))
    for cell in cells.dropna(subset=["printed", "percentile"]).itertuples():
        look = {"ha": "center", "va": "bottom", "fontsize": style.LEAST_PT, "color": band.shade}
        style.note(ax, f"{cell.percentile:.0f} %", (cell.rtt_ms, 1), (0, 3), xycoords=("data", "axes fraction"), **look)
