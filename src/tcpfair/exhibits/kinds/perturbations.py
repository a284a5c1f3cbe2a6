"""One printed run in the distribution of many that might have been: medians, 5 to 95 %, and where the print lies in them.

Runs of one grid point differ in what a paper leaves out (`perturb` in its configuration). A printed single run is one draw
from such a distribution, so what says most is the share of the runs that lie below it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib import MatplotlibDeprecationWarning
from matplotlib.axes import Axes
from pydantic import BaseModel, ConfigDict, Field

from tcpfair.contract.papers import Exhibit
from tcpfair.exhibits import pages, style
from tcpfair.exhibits.context import Context, Drawn, Options, Table, drawing, joined, values_of
from tcpfair.exhibits.kinds.sweeps import Axis
from tcpfair.exhibits.kinds.tables import DASH, number_text
from tcpfair.exhibits.numbers import Statement, number_rows, stated_numbers
from tcpfair.measures import BY_RULE, SYSTEM
from tcpfair.metrics.fairness import case_letter

LEVELS = (0.05, 0.95)
SOME = 0.5  # share of the runs that must have a value for the point to have one
CASES = "ABCDE"
_ASIDE = 0.3  # of the distance between two RTTs: where a printed value stands beside the runs
_NOTE = (
    "above: median and, in brackets, 5 to 95 % over perturbations; below: printed, and the share of the runs that lie "
    "below it, ✗ outside of 5 to 95 %"
)


# --- Distributions -----------------------------------------------------------------------------------------------


def distribution(values: pd.Series, printed: float | None = None) -> dict[str, float]:
    """Median, 5 and 95 % of one metric over runs, and the share of the runs that have it.

    With fewer than half of the runs the point as a whole has no ``value``. With a ``printed`` number its ``percentile``:
    the share of the runs that have the metric and lie below it, in percent, ties counted half.
    """
    found = values.dropna().to_numpy(dtype=float)
    share = len(found) / len(values) if len(values) else np.nan
    low, median, high = np.quantile(found, [LEVELS[0], 0.5, LEVELS[1]]) if len(found) else [np.nan] * 3
    result = {
        "value": median if share >= SOME else np.nan,
        "sd": float(np.std(found, ddof=1)) if len(found) > 1 else np.nan,
        "n_runs": len(values),
        "low": low,
        "high": high,
        "share": share,
    }
    if printed is not None:
        known = len(found) > 0 and np.isfinite(printed)
        result["percentile"] = 100 * np.mean((found < printed) + (found == printed) / 2) if known else np.nan
    return result


def by_rtt(metrics: pd.DataFrame, metric: str, printed: pd.DataFrame) -> pd.DataFrame:
    """`distribution` of a metric of the system at each RTT, and what is ``printed`` of it (NaN: a dash), if anything."""
    at = printed.set_index("rtt_ms")["value"].to_dict() if len(printed) else {}
    chosen = metrics[(metrics["metric"] == metric) & (metrics["flow"] == SYSTEM)]
    rows = [
        {"rtt_ms": rtt_ms, **distribution(group, at.get(rtt_ms)), "printed": at.get(rtt_ms, np.nan)}
        for rtt_ms, group in chosen.groupby("rtt_ms")["value"]
    ]
    return pd.DataFrame(rows)


def distribution_numbers(exhibit_id: str, name: str, cells: pd.DataFrame, key: Sequence[str]) -> pd.DataFrame:
    """The median as number ``name``; beside it its quantiles, the share of the runs and the percentile of the print."""
    frames = [number_rows(exhibit_id, name, cells, key)]
    further = {"low": "p05", "high": "p95"}
    if (cells["share"] < 1).any():
        further["share"] = "share"
    if "percentile" in cells and cells["percentile"].notna().any():
        further["percentile"] = "percentile"
    for column, suffix in further.items():
        values = cells.assign(value=cells[column], sd=np.nan)
        frames.append(number_rows(exhibit_id, f"{name}_{suffix}", values, key))
    return joined(frames)


# --- Tables ------------------------------------------------------------------------------------------------------


class Row(BaseModel):
    """One metric of the system as a row."""

    model_config = ConfigDict(extra="forbid")

    label: str
    metric: str
    name: str = ""  # of the number, and of the printed one; the metric when empty
    against: str = ""  # printed number to compare with under another name
    decimals: int = 2

    @property
    def number(self) -> str:
        return self.name or self.metric

    @property
    def printed(self) -> str:
        return self.against or self.number


class CaseRow(BaseModel):
    """How often each letter of the cases comes up."""

    model_config = ConfigDict(extra="forbid")

    label: str
    rule: str = ""  # of the weights; empty = the experiment's own


class PerturbedTable(Options):
    """Options of `perturbed_table`."""

    rows: list[Row | CaseRow]
    printed: str  # exhibit with the printed numbers


@drawing(PerturbedTable, table=True)
def perturbed_table(context: Context, exhibit: Exhibit, options: PerturbedTable) -> Drawn:
    """A row per metric, a column per RTT: median and 5 to 95 % over the runs, the print and its place among them."""
    name, experiment = context.experiment(exhibit)
    metrics = context.metrics(name)
    frames, rows = [], {}
    for row in options.rows:
        if isinstance(row, CaseRow):
            shares = case_shares(metrics, row.rule)
            frames.append(case_numbers(exhibit.id, shares, row.rule))
            letters = printed_letters(context, options.printed)
            texts = {rtt: _case_text(group, letters.get(rtt, "")) for rtt, group in shares.groupby("rtt_ms")}
        else:
            cells = by_rtt(metrics, row.metric, context.printed(options.printed, row.printed))
            frames.append(distribution_numbers(exhibit.id, row.number, cells, ["rtt_ms"]))
            texts = {cell.rtt_ms: _cell_text(cell, row.decimals) for cell in cells.itertuples()}
        rows[pages.with_symbols(row.label)] = texts
    columns = {rtt: f"{rtt:g} ms" for rtt in values_of(experiment, "rtt_ms")}
    table = pd.DataFrame.from_dict(rows, orient="index").reindex(columns=list(columns)).fillna("")
    numbers = joined(frames)
    return Drawn(Table(table.rename(columns=columns), _NOTE), numbers, int(numbers["n_runs"].max()))


def _cell_text(cell, decimals: int) -> str:
    """Median and quantiles; below, where there is a print, that and its percentile."""
    ours = number_text(cell.value, decimals)
    if np.isfinite(cell.low):
        ours += f" [{number_text(cell.low, decimals)}, {number_text(cell.high, decimals)}]"
    if cell.share < 1:
        ours += f" in {100 * cell.share:.0f} %"
    lower = ""
    if hasattr(cell, "percentile"):
        lower = number_text(cell.printed, 2)
        if np.isfinite(cell.percentile):
            inside = cell.low <= cell.printed <= cell.high
            place = f"{lower} at {cell.percentile:.0f} %"
            lower = place if inside else f'<span class="off">{place} ✗</span>'
    return f'<div class="ours">{ours}</div><div class="printed">{lower}</div>'


def case_shares(metrics: pd.DataFrame, rule: str = "") -> pd.DataFrame:
    """Share of the runs with each letter (table II, to two decimals): rtt_ms, letter, share, n_runs."""
    suffix = BY_RULE + rule if rule else ""
    names = [f"{name}{suffix}" for name in ("U_N+", "U_N-")]
    system = metrics[metrics["metric"].isin(names) & (metrics["flow"] == SYSTEM)]
    tuples = system.pivot(index=["rtt_ms", "run_id"], columns="metric", values="value").reindex(columns=names)
    letters = pd.Series(case_letter(tuples[names[0]], tuples[names[1]]), tuples.index)
    rows = [
        {"rtt_ms": rtt_ms, "letter": letter, "share": float((group == letter).mean()), "n_runs": len(group)}
        for rtt_ms, group in letters.groupby(level="rtt_ms")
        for letter in CASES
    ]
    return pd.DataFrame(rows)


def case_numbers(exhibit_id: str, shares: pd.DataFrame, rule: str) -> pd.DataFrame:
    """The share of the runs of each letter that comes up somewhere."""
    suffix = BY_RULE + rule if rule else ""
    present = [letter for letter, group in shares.groupby("letter") if group["share"].any()]
    return joined(
        number_rows(
            exhibit_id,
            f"case_{letter}_share{suffix}",
            shares[shares["letter"] == letter].rename(columns={"share": "value"}),
            ["rtt_ms"],
        )
        for letter in present
    )


def printed_letters(context: Context, exhibit_id: str) -> dict[float, str]:
    """Letters of the printed tuples by RTT."""
    plus, minus = (context.printed(exhibit_id, name) for name in ("U_N+", "U_N-"))
    both = plus.merge(minus, on="rtt_ms", suffixes=("_plus", "_minus"))
    return dict(zip(both["rtt_ms"], case_letter(both["value_plus"], both["value_minus"]).tolist(), strict=True))


def _case_text(shares: pd.DataFrame, printed: str) -> str:
    ours = ", ".join(f"{row.letter} {100 * row.share:.0f} %" for row in shares.itertuples() if row.share)
    return f'<div class="ours">{ours or DASH}</div><div class="printed">{printed}</div>'


@drawing(table=True)
def bhatti2009_shares_14(context: Context, exhibit: Exhibit) -> Drawn:
    """Throughput of every flow: a row per flow, the largest first, a column per RTT."""
    name, experiment = context.experiment(exhibit)
    metrics = context.metrics(name)
    metrics = metrics[(metrics["metric"] == "throughput_mean") & (metrics["flow"] != SYSTEM)]
    rows = [
        {"protocol": protocol, "rtt_ms": rtt_ms, **distribution(group)}
        for (protocol, rtt_ms), group in metrics.groupby(["flow_protocol", "rtt_ms"])["value"]
    ]
    cells = pd.DataFrame(rows)
    numbers = distribution_numbers(exhibit.id, "throughput_mean", cells, ["protocol", "rtt_ms"])
    order = cells.groupby("protocol")["value"].mean().sort_values(ascending=False).index
    texts = cells.assign(text=[_cell_text(cell, 1) for cell in cells.itertuples()])
    table = texts.pivot(index="protocol", columns="rtt_ms", values="text").loc[order, values_of(experiment, "rtt_ms")]
    table = table.rename(columns="{:g} ms".format).rename_axis(index=None, columns=None)
    note = "median and, in brackets, 5 to 95 % over perturbations"
    return Drawn(Table(table, note), numbers, int(cells["n_runs"].max()))


# --- Figures -----------------------------------------------------------------------------------------------------


class Band(BaseModel):
    """One metric over the RTT: its median as a line, 5 to 95 % as a band."""

    model_config = ConfigDict(extra="forbid")

    metric: str
    label: str
    color: Literal["black", "orange", "sky", "green", "blue", "vermilion", "purple", "grey"]
    dashed: bool = False
    name: str = ""  # of the number, and of the printed one; the metric when empty
    against: str = ""  # printed number that the percentile is of, under another name
    marks: bool = False  # the print is drawn, with its percentile, and all runs

    @property
    def number(self) -> str:
        return self.name or self.metric

    @property
    def shade(self) -> str:
        return getattr(style, self.color.upper())


class Panel(BaseModel):
    """One panel."""

    model_config = ConfigDict(extra="forbid")

    title: str
    y_axis: Axis
    bands: list[Band]
    printed: str  # exhibit with the printed numbers


class PerturbedPanels(Options):
    """Options of `perturbed_panels`."""

    panels: list[Panel]
    statements: list[Statement] = Field(default_factory=list)


@drawing(PerturbedPanels)
def perturbed_panels(context: Context, exhibit: Exhibit, options: PerturbedPanels) -> Drawn:
    """Panels of metrics of the system over the RTT, with the printed values at their percentiles."""
    name, experiment = context.experiment(exhibit)
    metrics = context.metrics(name)
    figure, axes = style.new_figure(1, len(options.panels), style.PAGE_IN, 3.6)
    style.letter_panels(axes[0], [panel.title for panel in options.panels])
    frames, stated = [], []
    for ax, panel in zip(axes[0], options.panels, strict=True):
        for band in panel.bands:
            cells = by_rtt(metrics, band.metric, context.printed(panel.printed, band.against or band.number))
            frames.append(distribution_numbers(exhibit.id, band.number, cells, ["rtt_ms"]))
            stated.append(cells.assign(metric=band.number))
            _draw_band(ax, band, cells)
            if band.marks:
                _draw_runs(ax, band, metrics.query("metric == @band.metric and flow == @SYSTEM"))
                _draw_marks(ax, band, cells)
        if any(band.marks for band in panel.bands):
            ax.add_line(style.printed_handle("printed; at the foot: runs below it"))
        Axis(label="RTT (ms)").dress_x(ax, values_of(experiment, "rtt_ms"))
        panel.y_axis.dress_y(ax)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)
    frames.append(stated_numbers(exhibit.id, joined(stated), options.statements))
    numbers = joined(frame for frame in frames if len(frame))
    note = "lines: median over perturbations; bands and whiskers: 5–95 %; boxes: quartiles"
    return Drawn(figure, numbers, int(numbers["n_runs"].max()), note=note)


def _draw_band(ax: Axes, band: Band, cells: pd.DataFrame) -> None:
    x, dashes = cells["rtt_ms"].to_numpy(dtype=float), "--" if band.dashed else "-"
    ax.plot(x, cells["value"], color=band.shade, marker="" if band.marks else "o", ms=3, ls=dashes, label=band.label)
    if not band.marks:
        shown = cells["value"].notna()
        ax.fill_between(x, cells["low"].where(shown), cells["high"].where(shown), color=band.shade, alpha=0.13, lw=0)


def _draw_runs(ax: Axes, band: Band, runs: pd.DataFrame) -> None:
    """Every run as a point, and a box from quartile to quartile with whiskers from 5 to 95 %, at each RTT."""
    import seaborn  # takes a second, and only these figures need it

    at = {"data": runs, "x": "rtt_ms", "y": "value", "ax": ax, "native_scale": True, "legend": False}
    percent = [100 * level for level in LEVELS]
    with warnings.catch_warnings():  # seaborn 0.13 gives matplotlib 3.11 an argument that it will drop
        warnings.simplefilter("ignore", MatplotlibDeprecationWarning)
        seaborn.boxplot(**at, whis=percent, width=0.3, fill=False, color=band.shade, linewidth=0.8, showfliers=False)
    seaborn.stripplot(**at, jitter=False, size=2, alpha=0.35, color=band.shade)


def _draw_marks(ax: Axes, band: Band, cells: pd.DataFrame) -> None:
    """The printed values to the right of the runs, and along the axis the percentile of each."""
    aside = _ASIDE * float(np.diff(cells["rtt_ms"]).min())
    style.draw_printed(ax, cells["rtt_ms"] + aside, cells["printed"], style.Look(band.shade, "o"))
    for cell in cells.dropna(subset=["printed", "percentile"]).itertuples():
        text, at = f"{cell.percentile:.0f} %", (cell.rtt_ms, 0.02)
        ax.annotate(text, at, xycoords=("data", "axes fraction"), ha="center", fontsize=6.5, color=band.shade)
