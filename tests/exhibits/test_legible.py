"""Figures can be read: no tiny, clipped or overlapping text, no text over lines, and a note of what was drawn.

One exhibit of each drawing kind, from the bundled data.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from tcpfair.exhibits import kinds, pages, style  # noqa: F401  (importing the kinds registers them)
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers.papers import load_paper
from tcpfair.verdicts.context import Context
from tests.exhibits import standin

LAYOUT = Layout(standin.ROOT, "bundled")
SLACK_PX = 2.0
STEPS = 25  # between two points of a line


def _one_of_each_kind():
    seen = {}
    for paper in PAPERS:
        for exhibit in load_paper(LAYOUT.paper_config(paper)).exhibits:
            if not exhibit.is_table:
                seen.setdefault(exhibit.draw or exhibit.id, (paper, exhibit.id))
    # every second one on every push
    return [pytest.param(*each, marks=[pytest.mark.slow] * (k % 2)) for k, each in enumerate(sorted(seen.values()))]


def _every_axes(figure):
    return [each for ax in figure.axes if ax.get_visible() for each in (ax, *ax.child_axes)]


def _texts(figure):
    """All texts that are seen; ticks beyond the limits of their axis are not."""
    outside = set()
    for ax in _every_axes(figure):
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not (low <= tick.get_loc() <= high and ax.axison):
                    outside |= {tick.label1, tick.label2}
    return [
        text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip() and text not in outside
    ]


def _drawn_px(ax):
    """Points along all lines of a panel."""
    points = [np.empty((0, 2))]
    for line in ax.lines:
        data = np.column_stack([line.get_xdata(orig=False), line.get_ydata(orig=False)]).astype(float)
        ends = line.get_transform().transform(data)
        points.append(ends)
        if line.get_linestyle() != "None":
            points += [np.linspace(a, b, STEPS) for a, b in pairwise(ends)]
    found = np.concatenate(points)
    return found[np.isfinite(found).all(axis=1)]


def problems(figure):
    """What a reader of a figure would stumble over."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    found = []
    boxes = [(text, text.get_window_extent(renderer)) for text in _texts(figure)]
    for text, box in boxes:
        name = repr(text.get_text())
        if text.get_fontsize() < style.LEAST_PT:
            found.append(f"{name} has {text.get_fontsize():g} pt")
        if not figure.bbox.padded(SLACK_PX).contains(*box.min) or not figure.bbox.padded(SLACK_PX).contains(*box.max):
            found.append(f"{name} is clipped")
    for (text, box), (other, its) in combinations(boxes, 2):
        width, height = np.minimum(box.max, its.max) - np.maximum(box.min, its.min)
        if width > SLACK_PX and height > SLACK_PX:
            found.append(f"{text.get_text()!r} overlaps {other.get_text()!r}")
    for ax in _every_axes(figure):
        points = _drawn_px(ax)
        covering = [text for text in ax.texts if text.get_text().strip() and not text.get_bbox_patch()]
        for artist in [*covering, *filter(None, [ax.get_legend()])]:
            box = artist.get_window_extent(renderer).padded(-SLACK_PX)
            inside = ((points > box.min) & (points < box.max)).all(axis=1)
            if inside.any():
                name = artist.get_text() if isinstance(artist, Text) else "legend"
                found.append(f"{name!r} covers lines")
    return found


@cache
def _context(paper):
    return Context(load_paper(LAYOUT.paper_config(paper)), LAYOUT)


@pytest.mark.parametrize(("paper", "exhibit_id"), _one_of_each_kind(), ids=lambda name: name.partition(".")[2] or name)
def test_a_figure_can_be_read(paper, exhibit_id):
    context = _context(paper)
    with style.applied():
        drawn = standin.drawn(context, exhibit_id)
        note = pages.corner_text("bundled", drawn)
        assert note
        style.corner_note(drawn.output, note)
        assert problems(drawn.output) == []


def test_what_cannot_be_read_is_found():
    with style.applied():
        figure, [[ax]] = style.new_figure()
        ax.plot([0, 1], [0, 1], label="line")
        ax.legend(loc="center")
        style.note(ax, "tiny", (0.1, 0.9), fontsize=style.LEAST_PT - 0.5)
        figure.text(0.99, 0.5, "far out")
        style.note(ax, "one", (0.2, 0.7))
        style.note(ax, "two", (0.2, 0.7))
        found = problems(figure)
    assert set(found) == {"'tiny' has 6.5 pt", "'far out' is clipped", "'one' overlaps 'two'", "'legend' covers lines"}
