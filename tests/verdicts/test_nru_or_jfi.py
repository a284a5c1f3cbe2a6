"""Where Jain's index and NRU disagree."""

import pandas as pd

from tcpfair.files.layout import PAPERS
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.measured import Measured
from tcpfair.verdicts.nru_or_jfi import counts, nru_or_jfi
from tests.verdicts import bundled

# rtt_ms: J, U of flow 1, U of flow 2, what both say
CELLS = {
    10: (0.99, -0.1, 0.1, "fair by both"),
    20: (0.95, -0.46, 0.3, "fair by both"),  # the edges belong to what is fair
    30: (0.90, -0.47, 0.3, "J fair, a flow loses"),
    40: (0.92, 1.0, -1.5, "J fair, a flow loses"),
    50: (0.70, 0.0, 0.0, "J unfair, no flow loses"),
    60: (0.60, -4.0, 2.0, "unfair by both"),
}


def metrics():
    for rtt_ms, (j, *u_db, _) in CELLS.items():
        for flow, value in enumerate((j, *u_db)):
            about = {"flow": flow, "flow_protocol": "", "metric": "U_n_of_means" if flow else "jfi_mean"}
            yield bundled.runs([value - 0.3, value, value + 0.001], rtt_ms=rtt_ms, **about)  # whose median counts


def test_cells_are_counted_by_what_each_measure_says():
    measured = Measured(lambda experiment: pd.concat(metrics()).sample(frac=1, random_state=1))
    found = counts(measured, "pair", 0.9, -0.46)
    said = [words for *_, words in CELLS.values()]
    assert found == {"cells": 6} | {words: said.count(words) for words in found if words != "cells"}
    assert sum(found.values()) == 12
    assert counts(measured, "pair", 0.0, -9.0)["fair by both"] == 6


def test_a_fair_index_hides_losers_in_the_papers_pairs():
    found = nru_or_jfi([Context(bundled.CONFIGS[paper], bundled.LAYOUT) for paper in PAPERS])
    assert set(found.index.get_level_values("paper")) == {"bhatti2008", "bhatti2009"}
    assert (found.drop(columns="cells").sum(axis=1) == found["cells"]).all()
    pairs = found[found.index.get_level_values("experiment").str.startswith("pair")]
    assert pairs["J fair, a flow loses"].sum() > pairs["cells"].sum() / 4
    assert found["J unfair, no flow loses"].sum() == 0
