"""The summary figure of a study: what is drawn is what the table says, and what has no place is said."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.exhibits.study import COLUMNS, summary


def study_of(*axes, **figure):
    asked = {"x": None, "y": None, "lines": None, "panels": None} | figure
    file = SimpleNamespace(figure=SimpleNamespace(**asked))
    return SimpleNamespace(name="mine", where="mine.yaml", axes=list(axes), file=file)


def runs_of(protocols, rtts_ms=(10, 100), replicates=5):
    """The index is the RTT over 1000, and one thousandth more with each replicate."""
    rows = [(p, r, r / 1000 + k / 1000, "") for p in protocols for r in rtts_ms for k in range(replicates)]
    return pd.DataFrame(rows, columns=["protocol", "rtt_ms", "jfi_mean", "refused"])


def notes(figure):
    return [text.get_text() for text in figure.texts]


def test_lines_are_medians_with_their_band():
    figure, table = summary(runs_of(["reno", "cubic"]), study_of("protocol", "rtt_ms"), ["jfi_mean"])
    assert list(table) == COLUMNS and set(table["line"]) == {"reno", "cubic"}
    row = table[(table["line"] == "cubic") & (table["x"] == 100)].iloc[0]
    assert (row["median"], row["runs"]) == (pytest.approx(0.102), 5)
    assert (row["low"], row["high"]) == (pytest.approx(0.1004), pytest.approx(0.1036))
    ax = figure.axes[0]
    assert ax.get_xlabel() == "rtt_ms" and ax.get_ylabel() == "mean of J(t)" and ax.get_xscale() == "log"
    assert list(ax.lines[1].get_ydata()) == [pytest.approx(0.012), pytest.approx(0.102)]
    assert notes(figure) == ["mine: 20 runs; median, band from 10% to 90%"]


def test_refused_runs_and_missing_values_are_in_no_median():
    runs = runs_of(["reno"])
    runs.loc[0, "refused"], runs.loc[1, "jfi_mean"] = "too large", np.nan
    figure, table = summary(runs, study_of("protocol", "rtt_ms"), ["jfi_mean"])
    assert table[table["x"] == 10]["runs"].item() == 3 and "mine: 9 runs" in notes(figure)[0]


def test_lines_and_panels_without_place_are_said():
    names = [f"p{i:02}" for i in range(14)]
    figure, table = summary(runs_of(names), study_of("protocol", "rtt_ms"), ["jfi_mean"])
    assert table["line"].nunique() == 12 and "the first 12 of 14 values of protocol" in notes(figure)[0]
    figure, table = summary(runs_of(names), study_of("protocol", "rtt_ms", x="rtt_ms", panels="protocol"), ["jfi_mean"])
    assert table["panel"].nunique() == 6 and "the first 6 of 14 values of protocol" in notes(figure)[0]
    axes = {f"a{i}": np.arange(10) for i in range(7)}
    runs = pd.DataFrame({**axes, "jfi_mean": 0.5, "refused": ""})
    figure, table = summary(runs, study_of(*axes), ["jfi_mean"])
    assert table["x_axis"].nunique() == 6 and "the first 6 of 7 axes" in notes(figure)[0]


def test_an_axis_of_many_values_is_cut_into_parts_of_equal_size():
    runs = runs_of(["reno"], rtts_ms=range(1, 41), replicates=1)
    _, table = summary(runs, study_of("protocol", "rtt_ms"), ["jfi_mean"])
    assert list(table["runs"]) == [5] * 8 and table["x"].iloc[0] == 3


def test_a_dollar_in_a_name_is_drawn():
    figure, _ = summary(runs_of(["a$b$c", "d"]), study_of("protocol", "rtt_ms"), ["jfi_mean"])
    figure.canvas.draw()
    assert figure.legends[0].get_texts()[0].get_text() == r"a\$b\$c"


def test_an_unknown_metric_is_named():
    with pytest.raises(InputError, match=r"mine.yaml: figure.y: metric.*'jfi'"):
        summary(runs_of(["reno"]), study_of("protocol", "rtt_ms", y="jfi"), ["jfi_mean"])
