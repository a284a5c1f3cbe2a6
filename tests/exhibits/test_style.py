"""Style: every protocol has its look, files do not change from run to run."""

import hashlib
import os
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine

from tcpfair.errors import InputError
from tcpfair.exhibits import style
from tcpfair.papers.papers import load_paper
from tests.exhibits.standin import ROOT


@pytest.mark.parametrize("paper", ["ogura", "bhatti2008", "bhatti2009", "ha2006"])
def test_protocols_of_a_paper_have_looks_that_differ(paper):
    config = load_paper(ROOT / "config" / "papers" / f"{paper}.yaml")
    # the 14 variants of ns-2 stand in tables only
    in_ns2 = {flow["protocol"].value for flow in config.experiments["ns2_14"].flows} if "bhatti" in paper else set()
    labels = {label.split(" (")[0] for label in set(config.protocols) - in_ns2}
    labels -= {"Web"}  # short flows are never drawn as a protocol
    looks = [style.look(label) for label in labels]
    assert len({look.color for look in looks}) == len(labels)
    assert len({look.marker for look in looks}) == len(labels)


def test_unknown_protocol_names_the_place_to_add_it():
    with pytest.raises(InputError, match=r"protocol 'Vegas': .*exhibits/style.py"):
        style.look("Vegas")


def test_shades_are_distinct():
    assert len(set(style.shades(4))) == 4
    assert len(style.shades(1)) == 1


def drawn():
    with style.applied():
        figure, [[ax]] = style.new_figure()
        style.draw_printed(ax, [1, 2], [3, 4], style.look("CUBIC"), label="printed")
        ax.legend()
        style.corner_note(figure, "source: engine, 5 runs")
        return style.as_svg(figure), style.as_png(figure)


def test_the_last_bit_of_the_layout_does_not_show(monkeypatch):
    """The solver of the layout sums in the order of addresses, so two processes differ by an ulp."""
    solve = ConstrainedLayoutEngine.execute
    nudge = 0.0

    def nudged(layout, figure):
        solve(layout, figure)
        for ax in figure.axes:
            x0, *rest = ax.get_position().bounds
            ax._set_position((x0 + nudge, *rest))

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", nudged)
    first = drawn()
    nudge = 2e-16
    assert drawn() == first


def test_panels_stay_in_the_layout():
    """The second file of a figure is laid out anew, at its own resolution."""
    with style.applied():
        figure, [[ax]] = style.new_figure()
        style.as_svg(figure)
        before = ax.get_position().x0
        ax.set_ylabel("one\nmore\nthird")
        style.as_png(figure)
    assert ax.get_position().x0 > before


DRAW = """
import hashlib
from tests.exhibits.test_style import drawn
print([hashlib.sha256(file).hexdigest() for file in drawn()])
"""
HOSTILE = {
    "axes.facecolor": "pink",
    "axes.prop_cycle": "cycler('color', 'mcy')",
    "figure.constrained_layout.w_pad": "0.5",
    "legend.loc": "lower left",
    "lines.linestyle": "--",
    "path.sketch": "(1, 100, 2)",
    "savefig.bbox": "tight",
    "savefig.facecolor": "yellow",
    "svg.fonttype": "none",
    "svg.id": "mine",
    "text.color": "red",
    "xtick.direction": "in",
}


@pytest.mark.slow
def test_the_users_own_style_changes_nothing(tmp_path):
    """Another process, with a matplotlibrc of its own, gives the same bytes."""
    (tmp_path / "matplotlibrc").write_text("".join(f"{name}: {value}\n" for name, value in HOSTILE.items()))
    own = os.environ | {"MATPLOTLIBRC": str(tmp_path)}
    given = subprocess.run([sys.executable, "-c", DRAW], cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    assert given.stdout == f"{[hashlib.sha256(file).hexdigest() for file in drawn()]}\n"
    assert given.stderr == ""  # the file was taken as it is


def test_the_style_ends_with_the_block():
    with mpl.rc_context({"font.size": 31}):
        with style.applied():
            assert mpl.rcParams["font.size"] == 8.5
        assert mpl.rcParams["font.size"] == 31


def test_svg_holds_no_date_and_png_is_150_dpi():
    svg, png = drawn()
    assert b"<dc:date>" not in svg
    width_px = int.from_bytes(png[16:20], "big")
    assert width_px == round(style.COLUMN_IN * 150)


def test_a_figure_is_laid_out_and_drawn_once_for_each_file(monkeypatch):
    with style.applied():
        figure, [[ax]] = style.new_figure()
        (line,) = ax.plot([0, 1], [0, 1])
        drawn, laid_out = [], []
        draw, execute = line.draw, figure.get_layout_engine().execute
        monkeypatch.setattr(line, "draw", lambda renderer: (drawn.append(renderer), draw(renderer)))
        monkeypatch.setattr(figure.get_layout_engine(), "execute", lambda fig: (laid_out.append(fig), execute(fig)))
        style.as_svg(figure)
        style.as_png(figure)
    assert (len(drawn), len(laid_out)) == (2, 2)


def test_marks_are_moved_aside_by_points_on_any_scale():
    with style.applied():
        figure, [[ax]] = style.new_figure()
        ax.set(xscale="log", xlim=(1, 1000))
        style.draw_printed(ax, [10, 100], [3, 4], style.look("BIC"), points=9)
        figure.canvas.draw()
    (line,) = ax.lines
    moved = line.get_transform().transform(line.get_xydata()) - ax.transData.transform(line.get_xydata())
    assert moved == pytest.approx(np.array([[9, 0], [9, 0]]) / 72 * figure.dpi)


def test_lanes_and_widths_differ_and_centre_on_their_place():
    assert style.lanes(4, 2.0) == [-3, -1, 1, 3]
    assert style.lanes(1, 2.0) == [0]
    assert style.nested(3, 5.0, 1.0) == [5, 3, 1]
    assert style.nested(1, 5.0, 1.0) == [1]


def test_points_beyond_the_axis_are_numbers_at_its_edge():
    with style.applied():
        _, [[ax]] = style.new_figure()
        ax.set(xlim=(0, 5), ylim=(70, 98))
        style.mark_beyond(ax, [1, 2, 3, 4, 5], [33.94, 70, 98, 101, np.nan], style.BLACK)
    assert [text.get_text() for text in ax.texts] == ["33.9", "101"]
    assert [(line.get_marker(), *line.get_xydata()[0]) for line in ax.lines] == [("v", 1, 70), ("^", 4, 98)]


def test_the_limits_reach_what_is_drawn_aside():
    with style.applied():
        _, [[ax]] = style.new_figure()
        style.draw_printed(ax, [10, 300], [5, np.nan], style.look("BIC"), points=9)
        style.draw_printed(ax, [200], [-40], style.look("BIC"), points=-9)
    assert ax.get_xlim()[0] < 10
    assert ax.get_xlim()[1] > 200
    assert ax.get_ylim()[0] < -40
    assert ax.get_ylim()[1] > 5
