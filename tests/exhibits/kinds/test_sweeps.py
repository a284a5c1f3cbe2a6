"""Lines over a swept variable."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection

from tcpfair.errors import InputError
from tcpfair.exhibits.context import draw
from tcpfair.exhibits.kinds import sweeps
from tcpfair.verdicts.columns import Column, Numbers
from tests.exhibits import standin
from tests.exhibits.standin import value


@pytest.fixture
def ogura(tmp_path):
    context = standin.context(tmp_path, "ogura")
    ratio = {"ratio": lambda point, run: {0: 0.5, 1: 0.6, 2: 2.0}[run]}
    flows = {"throughput_mean": lambda point, run, flow: 30.0 + run}
    standin.put_metrics(context, "loss_sweep", system=ratio)
    standin.put_metrics(context, "sens_jitter", system=ratio)
    standin.put_metrics(context, "friendliness", system={"throughput_sum": 60.0}, flows=flows)
    standin.put_metrics(context, "efficiency", flows={"throughput_mean": lambda point, run, flow: 8 * point["rtt_ms"]})
    return context


def test_ratio_axis_is_logarithmic_with_the_fair_band_and_the_square_root_law(ogura):
    (ax,) = standin.drawn(ogura, "ogura.fig8").output.axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    entries = set(standin.labels(ax.get_legend()))
    assert {"fair: 0.8 to 1.25", "square-root law", "single run", "printed"} <= entries
    dotted = {
        round(float(line.get_ydata()[0]), 3)
        for line in ax.lines
        if line.get_linestyle() == ":" and len(line.get_ydata())
    }
    assert dotted == {0.333, 0.577, 1.0}  # (120/40)^-1, ^-1/2, ^0


def test_single_runs_are_drawn_only_below_the_bound(ogura):
    exhibit = ogura.paper.exhibit("ogura.fig8")
    exhibit = exhibit.model_copy(update={"options": {**exhibit.options, "runs_below": 1e-4}})
    (ax,) = draw(ogura, exhibit).output.axes
    points = [drawn for drawn in ax.collections if isinstance(drawn, PathCollection)]
    places = np.concatenate([protocol.get_offsets()[:, 0] for protocol in points])
    assert len(places) == 4 * 4 * standin.RUNS  # four protocols at 3e-5 to 1e-6
    assert places.max() < 1e-4


def test_bands_hold_the_middle_of_the_runs_or_one_sd(ogura):
    metrics = standin.metrics(ogura.paper, "loss_sweep", system={"ratio": lambda point, run: float(run)})
    key = ["protocol", "loss_rate"]
    groups = metrics.groupby(key, sort=False)["value"]
    median = Column("ogura.fig8", "ratio", groups.agg(value="median").reset_index(), key, centre="median")
    cells = sweeps.with_band(median, metrics)
    assert cells[["value", "low", "high"]].iloc[0].tolist() == pytest.approx([1.0, 0.2, 1.8])
    assert sweeps.band_text("median") == "line: median, band: 10–90 % over runs"
    cells = sweeps.with_band(Column("ogura.fig8", "ratio", groups.agg(value="mean", sd="std").reset_index(), key))
    assert cells[["value", "low", "high"]].iloc[0].tolist() == pytest.approx([1.0, 0.0, 2.0])
    assert sweeps.band_text() == "line: mean, band: ±1 sd over runs"
    assert sweeps.band_text(drawn="bar") == "line: mean, bar: ±1 sd over runs"


def test_sensitivity_marks_the_value_that_the_other_exhibits_use(ogura):
    drawn = standin.drawn(ogura, "ogura.sens_jitter")
    (legend,) = drawn.output.legends
    assert standin.labels(legend) == ["0 µs", "120 µs", "360 µs (used above)", "720 µs"]
    assert [ax.get_title() for ax in drawn.output.axes] == ["Proposal", "Reno", "Libra", "Alpha"]
    drawn.output.canvas.draw()
    for ax in drawn.output.axes:  # all lines coincide
        assert len({float(places[0]) for places in places_px(ax.lines)}) == 4
        assert len([bars for bars in ax.collections if isinstance(bars, LineCollection)]) == 4
    assert value(drawn, "jitter_s=0;loss_rate=1e-06;protocol=Reno", "ratio") == 0.6


def test_more_values_than_markers_are_drawn(ogura, monkeypatch):
    known = sweeps.values_of
    monkeypatch.setattr(sweeps, "values_of", lambda *asked: [*known(*asked), 1e-3, 2e-3])
    (legend,) = standin.drawn(ogura, "ogura.sens_jitter").output.legends
    assert standin.labels(legend)[4:] == ["1000 µs", "2000 µs"]


def places_px(lines):
    """Where each line is drawn from left to right, in pixels."""
    return [line.get_transform().transform(line.get_xydata())[:, 0] for line in lines]


@pytest.fixture
def pairs(tmp_path):
    """All protocols with the same index: their lines coincide."""
    context = standin.context(tmp_path, "bhatti2009")
    jfi = dict.fromkeys(("jfi_mean", "jfi_of_means"), 0.9)
    standin.put_metrics(context, "pair_ccid2_first", system=jfi)
    return standin.drawn(context, "bhatti2009.fig8").output


def test_lines_and_printed_cells_are_side_by_side(pairs):
    (ax,) = pairs.axes
    pairs.canvas.draw()
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 4]
    at_25_ms = sorted(float(places[0]) for places in places_px(drawn))
    assert len(at_25_ms) == 4 + 4
    apart_pt = np.diff(at_25_ms) * 72 / pairs.dpi
    assert apart_pt == pytest.approx(np.full(7, apart_pt[0]))
    assert apart_pt[0] > 4
    left, right = pairs.axes[0].get_window_extent().intervalx
    assert left < min(at_25_ms)
    assert max(float(places[-1]) for places in places_px(drawn)) < right


def test_printed_cells_are_drawn_hollow_in_the_colour_of_their_line(pairs):
    (ax,) = pairs.axes
    printed = {line.get_markeredgecolor(): line for line in ax.lines if line.get_markerfacecolor() == "white"}
    cubic = printed["#D55E00"]
    assert cubic.get_ydata().tolist() == [0.94, 0.80, 0.69, 0.85]  # table V
    assert cubic.get_xdata().tolist() == [25, 50, 100, 200]


def test_runs_too_short_to_measure_leave_an_empty_figure(tmp_path):
    context = standin.context(tmp_path, "ogura")
    standin.put_metrics(context, "loss_sweep", system={"ratio": np.nan})
    drawn = standin.drawn(context, "ogura.fig8")
    assert drawn.n_runs == 0
    assert drawn.numbers["value"].isna().all()


def test_a_metric_needs_one_series_of_the_flow_that_is_drawn():
    cells = pd.DataFrame({"flow": [1, 2], "value": [0.1, 0.2], "sd": 0.0, "n_runs": 3})
    both = Column("ogura.fig8", "cwnd_mean", cells, ["flow"])
    first = Column("ogura.fig8", "cwnd_mean", cells[:1], ["flow"])
    assert Numbers((both, first)).one_from_runs("cwnd_mean", flow=1) is first
    with pytest.raises(InputError, match=r"'cwnd_mean': .* needs one series of flow 1 in data/cells.yaml, has 0"):
        Numbers((both,)).one_from_runs("cwnd_mean", flow=1)
