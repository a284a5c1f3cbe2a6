"""The style of all figures: one colour and marker per protocol, fonts, the corner note, reproducible bytes."""

from __future__ import annotations

import gc
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator
from matplotlib.transforms import ScaledTranslation, Transform

from tcpfair.errors import InputError

# The palette of Okabe and Ito, which readers with any colour vision can distinguish.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
FLOW_COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)  # in the order of the flows
GREY = "#767676"
FAIR_BAND = "#E8EFE8"

COLUMN_IN, PAGE_IN = 4.6, 7.2
LEAST_PT = 7  # size of the smallest text
POWERS_PT = LEAST_PT / 0.7  # for tick labels such as 10⁻², whose exponents are drawn at 0.7 of the size
POINTS_PER_IN = 72
SHOWN_WIDTH_PX = 96  # per inch of a figure, in notebooks
PNG_DPI = 150
BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}  # a legend to the right of its panel
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}  # behind a text that lines would cross
_FROM = {1: "bottom", -1: "top"}  # alignment of a text that is moved away from an edge
_PLACE_DECIMALS = 12  # of the positions of panels, as shares of the figure


class Look(NamedTuple):
    """Colour and marker of one protocol."""

    color: str
    marker: str


PROTOCOLS: dict[str, Look] = {
    "NewReno": Look(BLUE, "o"),
    "Reno": Look(BLUE, "o"),
    "BIC": Look(ORANGE, "s"),
    "CUBIC": Look(VERMILION, "^"),
    "Compound": Look(GREEN, "D"),
    "CCID2": Look(BLACK, "v"),
    "Proposal": Look(VERMILION, "P"),
    "Libra": Look(PURPLE, "s"),
    "Alpha": Look(GREEN, "d"),
    "Westwood": Look(SKY, "<"),
    "K of 1000 ms": Look(SKY, "s"),
    "K of 5000 ms": Look(ORANGE, "s"),
    "Proposed K": Look(GREEN, "P"),
    "Proposed K and C'": Look(PURPLE, "X"),
    "Existing method": Look(BLACK, "D"),
    "Constant-Rate": Look(SKY, "d"),
    "H-TCP": Look(BLUE, "D"),
    "HSTCP": Look(GREEN, "v"),
    "STCP": Look(PURPLE, "p"),
    "FAST": Look(SKY, ">"),
    "SACK": Look(BLACK, "o"),
}

_RC = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "mathtext.fontset": "dejavusans",
    "svg.hashsalt": "tcpfair",
}


@contextmanager
def applied() -> Iterator[None]:
    """The style for a ``with`` block around drawing and saving, independent of the user's style.

    Garbage collection is off in the block: figures are full of cycles, which become garbage only after saving.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(_RC)
            yield
    finally:
        if collects:
            gc.enable()


def look(protocol: str) -> Look:
    """Colour and marker of a protocol; InputError when it has none."""
    if protocol not in PROTOCOLS:
        raise InputError(f"protocol {protocol!r}: has no colour; add it to PROTOCOLS in tcpfair/exhibits/style.py")
    return PROTOCOLS[protocol]


def plain(text: str) -> str:
    """A user's text, drawn as written: matplotlib would read text between dollar signs as a formula."""
    return text.replace("$", r"\$")


def shades(n: int) -> list[str]:
    """``n`` colours from dark to light for the values of an ordered variable, distinct on paper and for any colour vision."""
    colormap = mpl.colormaps["viridis"]
    return [mpl.colors.to_hex(colormap(0.8 * i / max(n - 1, 1))) for i in range(n)]


def flow_color(place: int) -> str:
    """The colour of a flow or a line by its place, from 0; the colours repeat."""
    return FLOW_COLORS[place % len(FLOW_COLORS)]


class _Layout(ConstrainedLayoutEngine):
    """Constrained layout with rounded places: the last bit of its solver depends on memory addresses."""

    def execute(self, fig: Figure) -> None:
        super().execute(fig)
        for ax in fig.axes:
            ax.set_position([round(edge, _PLACE_DECIMALS) for edge in ax.get_position(original=True).bounds])
            ax.set_in_layout(True)


class _Figure(Figure):
    """A figure that is laid out before it is saved, as matplotlib requires, but drawn only once."""

    def draw(self, renderer: RendererBase) -> None:
        layout = self.get_layout_engine()
        if isinstance(layout, _Layout) and self.canvas.is_saving():
            layout.execute(self)
        else:
            super().draw(renderer)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The image for a notebook, with its width; IPython would show only the name of a figure without pyplot."""
        with applied():
            return as_png(self), {"width": round(SHOWN_WIDTH_PX * self.get_figwidth())}


def new_figure(
    rows: int = 1, columns: int = 1, width_in: float | None = None, height_in: float = 3.0, **shared: Any
) -> tuple[Figure, list[list[Axes]]]:
    """A figure and its axes, ``[row][column]``; made without pyplot, so no global state remains."""
    width_in = width_in or (COLUMN_IN if columns == 1 else PAGE_IN)
    # the lowest strip is for the corner note
    layout = _Layout(rect=(0, 0.15 / height_in, 1, 1 - 0.15 / height_in))
    figure = _Figure(figsize=(width_in, height_in), layout=layout)
    return figure, figure.subplots(rows, columns, squeeze=False, **shared).tolist()


def corner_note(figure: Figure, note: str) -> None:
    """Source and number of runs, small and grey at the lower right."""
    figure.text(0.995, 0.04 / figure.get_figheight(), note, ha="right", va="bottom", fontsize=LEAST_PT, color=GREY)


def legend_above(figure: Figure, handles: Sequence[Any], columns: int = 0) -> None:
    """One legend above all panels, in one row unless ``columns`` are given."""
    figure.legend(handles=handles, loc="outside upper center", ncols=columns or len(handles))


def note(ax: Axes, text: str, at: Sequence[Any], offset: tuple[float, float] = (0, 0), **look: Any) -> None:
    """Small text at data coordinates, moved by an offset in points."""
    ax.annotate(text, at, offset, textcoords="offset points", **{"fontsize": 7.5, **look})


def printed_handle(label: str = "printed") -> Line2D:
    """Legend entry of the printed values."""
    return Line2D([], [], ls="", marker="o", mfc="white", mec=GREY, label=label)


def aside(ax: Axes, points: float) -> Transform:
    """Data coordinates moved to the right, so that marks at one place can be distinguished. See `counted`."""
    return ax.transData + ScaledTranslation(points / POINTS_PER_IN, 0, ax.figure.dpi_scale_trans)


def counted(ax: Axes, x: Sequence[float], *ys: Sequence[float]) -> None:
    """Extend the limits to points that are drawn `aside`, which matplotlib ignores."""
    for y in ys:
        ax.update_datalim(np.column_stack([x, y]).astype(float))
    ax.autoscale_view()


def lanes(n: int, apart: float) -> list[float]:
    """Distances of ``n`` series from their common place, in points, for `aside`."""
    return [apart * (lane - (n - 1) / 2) for lane in range(n)]


def nested(n: int, widest: float, least: float) -> list[float]:
    """Widths of ``n`` lines that may coincide: the first, drawn below the others, is the widest."""
    return [float(width) for width in np.linspace(widest, least, n)] if n > 1 else [least]


def draw_printed(
    ax: Axes, x: Sequence[float], y: Sequence[float], like: Look, label: str | None = None, points: float = 0.0
) -> None:
    """Published values as hollow markers in the colour of the compared series, ``points`` to the right of it."""
    hollow = {"ls": "", "marker": like.marker, "mfc": "white", "mec": like.color, "mew": 1.1, "ms": 5.5, "zorder": 4}
    ax.plot(x, y, **hollow, label=label, transform=aside(ax, points))
    counted(ax, x, y)


def draw_band(
    ax: Axes, x: Sequence[float], low: Sequence[float], high: Sequence[float], color: str, label: str = ""
) -> None:
    """A pale area in the colour of its line."""
    ax.fill_between(x, low, high, color=color, alpha=0.13, lw=0, label=label)


def mark_beyond(ax: Axes, x: Sequence[float], y: Sequence[float], color: str, points: float = 0.0) -> None:
    """An arrowhead and the value at the edge of the axis for each point outside the limits of y."""
    low, high = ax.get_ylim()
    for place, value in zip(x, y, strict=True):
        if low <= value <= high or not np.isfinite(value):
            continue
        edge, marker, side = (low, "v", 1) if value < low else (high, "^", -1)
        ax.plot(place, edge, ls="", marker=marker, color=color, ms=5, clip_on=False, transform=aside(ax, points))
        look = {"ha": "right", "va": _FROM[side], "color": color, "bbox": PAPER, "zorder": 5}
        note(ax, f"{value:.3g}", (place, edge), (points - 6, 3 * side), **look)


def label_decades(axis: Axis, subs: Sequence[int] = (1, 2, 5)) -> None:
    """Plain numbers at these multiples of the powers of ten, on a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def letter_panels(axes: Sequence[Axes], titles: Sequence[str], **look: Any) -> None:
    """Titles ``(a) ...``, ``(b) ...`` as in the papers."""
    for letter, ax, title in zip("abcdefghijkl", axes, titles, strict=False):
        ax.set_title(f"({letter}) {title}", loc="left", **look)


def as_svg(figure: Figure, origin: str = "") -> bytes:
    """The figure as SVG, the same bytes for the same content; ``origin`` is stored in its metadata."""
    return _saved(figure, origin, format="svg", metadata={"Date": None, "Creator": None})


def as_png(figure: Figure, origin: str = "") -> bytes:
    """The figure as PNG at 150 dpi; ``origin`` is stored in its metadata."""
    return _saved(figure, origin, format="png", metadata={"Software": None}, dpi=PNG_DPI)


def _saved(figure: Figure, origin: str, metadata: dict[str, Any], **settings: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, metadata=metadata | ({"Description": origin} if origin else {}), **settings)
    return stream.getvalue()
