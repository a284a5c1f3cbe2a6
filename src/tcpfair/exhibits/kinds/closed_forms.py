"""Figures of formulas alone."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpfair.contract.papers import Exhibit
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Context, Drawn, drawing, joined
from tcpfair.exhibits.numbers import single_number
from tcpfair.metrics.fairness import jfi, rate_ratio_from_jfi

_POINTS = 401
_GUIDES = (0.9, 0.8, 0.6)  # indices for which the ratio of the two values is pointed out


@drawing()
def jfi_range(context: Context, exhibit: Exhibit) -> Drawn:
    """Jain's index of two values over their ratio."""
    fixed = context.paper.analysis_value("jfi_fixed_rate")
    low, high = context.paper.analysis_value("jfi_rate_range")
    ratio = np.geomspace(low, high, _POINTS) / fixed
    index = jfi(np.stack([ratio, np.ones_like(ratio)]), axis=0)
    bounds = {"jfi_min": index.min(), "jfi_max": index.max()}
    numbers = joined(single_number(exhibit.id, name, value, item="two values") for name, value in bounds.items())

    figure, [[ax]] = style.new_figure()
    ax.plot(ratio, index, color=style.BLUE)
    for guide in _GUIDES:
        k = float(rate_ratio_from_jfi(guide))
        ax.plot([1 / k, k], [guide, guide], color=style.GREY, lw=0.9, marker="|", ms=5)
        ax.annotate(
            f"J = {guide:g}: {k:.3g} to 1", (k, guide), (5, 0), textcoords="offset points", va="center", fontsize=7.5
        )
    printed = context.against_print(exhibit.id, numbers).set_index("metric")["printed"].astype(float)
    places = {"jfi_min": [ratio[0], ratio[-1]], "jfi_max": [1.0]}
    for name, x in places.items():
        style.draw_printed(ax, x, [printed[name]] * len(x), style.Look(style.BLUE, "o"))
    ax.add_line(style.printed_handle())
    ax.set(xscale="log", xlabel="flow 1 / flow 2", ylabel="Jain's fairness index J", ylim=(0.48, 1.03))
    ax.legend(loc="lower center")
    return Drawn(figure, numbers, data=pd.DataFrame({"ratio": ratio, "jfi": index}))
