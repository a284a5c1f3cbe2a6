"""Figures of formulas, without runs."""

from __future__ import annotations

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, drawing
from tcpfair.metrics.fairness import rate_ratio_from_jfi
from tcpfair.papers.papers import Exhibit
from tcpfair.verdicts.columns import Numbers
from tcpfair.verdicts.computed import jfi_curve
from tcpfair.verdicts.context import Context

_GUIDES = (0.9, 0.8, 0.6)  # indices at which the ratio of the two values is labelled


@drawing()
def jfi_range(context: Context, exhibit: Exhibit, numbers: Numbers) -> Drawn:
    """Jain's index of two values over their ratio."""
    curve = jfi_curve(context)
    figure, [[ax]] = style.new_figure()
    ax.plot(curve["ratio"], curve["jfi"], color=style.BLUE)
    for guide in _GUIDES:
        k = float(rate_ratio_from_jfi(guide))
        ax.plot([1 / k, k], [guide, guide], color=style.GREY, lw=0.9, marker="|", ms=5)
        style.note(ax, f"J = {guide:g}: {k:.3g} to 1", (k, guide), (5, 0), va="center")
    printed = context.against_print(exhibit.id, numbers.table).set_index("metric")["printed"].astype(float)
    places = {"jfi_min": list(curve["ratio"].iloc[[0, -1]]), "jfi_max": [1.0]}
    for name, x in places.items():
        style.draw_printed(ax, x, [printed[name]] * len(x), style.Look(style.BLUE, "o"))
    ax.add_line(style.printed_handle())
    ax.set(xscale="log", xlabel="flow 1 / flow 2", ylabel="Jain's fairness index J", ylim=(0.48, 1.03))
    ax.tick_params(axis="x", labelsize=style.POWERS_PT)
    ax.legend(loc="lower center")
    return Drawn(figure, data=curve, note="closed form")
