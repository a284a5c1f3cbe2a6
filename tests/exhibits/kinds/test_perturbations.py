"""Distributions over perturbations: quantiles, the place of the print among the runs, letters."""

import numpy as np
import pytest

from tests.exhibits import standin
from tests.exhibits.standin import value

N_RUNS = 20


@pytest.fixture
def bhatti2009(tmp_path):
    """14 flows: run k of each RTT has J = k/20 and so on."""
    context = standin.context(tmp_path, "bhatti2009")

    def by_half_db(point, run):
        """A flow is above its expectation in 5 of 20 runs up to 100 ms and in all beyond."""
        return 0.1 * run if point["rtt_ms"] > 100 or run < 5 else np.nan

    system = {
        "jfi_mean": lambda point, run: (run + 1) / N_RUNS,
        "jfi_of_means": 0.3,
        "U_N": lambda point, run: -5.0 - point["rtt_ms"] / 100,
        "U_N+": 3.0,
        "U_N-": lambda point, run: -5.0 - run,
        "S_N": 2.0,
        "U_N+@half_of_sum": by_half_db,
        "U_N-@half_of_sum": lambda point, run: -10.0 - run,
        "S_N_sum@half_of_sum": 2.0,
    }
    standin.put_metrics(context, "ns2_14", system=system, runs=N_RUNS)
    return context


def test_table_of_the_index_has_medians_quantiles_and_percentiles(bhatti2009):
    drawn = standin.drawn(bhatti2009, "bhatti2009.table8")
    assert value(drawn, "rtt_ms=25", "jfi") == pytest.approx(0.525)
    assert value(drawn, "rtt_ms=25", "jfi_p05") == pytest.approx(0.0975)
    assert value(drawn, "rtt_ms=25", "jfi_percentile") == 50  # ten of 20 runs lie below the printed 0.51
    cell = drawn.output.cells.loc["J", "25 ms"]
    assert "[0.10, 0.95]" in cell
    assert "0.51 at 50 %" in cell
    assert "✗" not in cell
    assert drawn.n_runs == N_RUNS


def test_what_lies_outside_of_the_runs_is_marked(bhatti2009):
    drawn = standin.drawn(bhatti2009, "bhatti2009.table7")
    rows = drawn.output.cells["200 ms"]
    assert "0.10 at 0 % ✗" in rows.iloc[0]  # 3 dB in every run
    assert "−18.47 at 30 %" in rows.iloc[1]
    assert "✗" not in rows.iloc[1]


def test_a_dash_in_print_agrees_with_no_value_in_most_runs(bhatti2009):
    drawn = standin.drawn(bhatti2009, "bhatti2009.table7")
    assert np.isnan(value(drawn, "rtt_ms=100", "U_N+@half_of_sum"))
    assert value(drawn, "rtt_ms=100", "U_N+@half_of_sum_share") == 0.25
    assert value(drawn, "rtt_ms=125", "U_N+@half_of_sum") == pytest.approx(0.95)
    row = drawn.output.cells.iloc[4]
    assert row["100 ms"].startswith('<div class="ours">– [0.0, 0.4] in 25 %')
    compared = bhatti2009.against_print("bhatti2009.table7", drawn.numbers).set_index(["key", "metric"])
    assert not compared.loc[("rtt_ms=100", "U_N+"), "within"]  # a dash in print, 3 dB with the weights as worded


def test_figure_marks_the_print_and_its_percentile(bhatti2009):
    drawn = standin.drawn(bhatti2009, "bhatti2009.fig13")
    nru, jfi = drawn.output.axes
    assert nru.get_title(loc="left") == "(a) NRU"
    assert "50 %" in [text.get_text() for text in jfi.texts]
    assert {text.xy[1] for ax in (nru, jfi) for text in ax.texts} == {1}  # above the panel, where no data is
    assert all(text.get_verticalalignment() == "bottom" for text in jfi.texts)
    printed = [line for line in jfi.lines if line.get_markerfacecolor() == "white" and len(line.get_ydata())]
    assert printed[0].get_ydata()[0] == 0.51
    half = next(line for line in nru.lines if line.get_label() == "$U_{N+}$, half")
    assert np.isnan(half.get_ydata()[:4].astype(float)).all()  # no line where most runs have none
    assert {"U_N", "U_N-@half_of_sum_percentile"} <= set(drawn.numbers["metric"])


def test_runs_that_the_print_is_one_of_are_all_drawn(bhatti2009, recwarn):
    """J of the 20 runs is 0.05, 0.10, ... 1: quartiles at 0.2875 and 0.7625, and 0.10 to 0.95 within 5 to 95 %."""
    _, jfi = standin.drawn(bhatti2009, "bhatti2009.fig13").output.axes
    points = np.concatenate(
        [np.asarray(drawn.get_offsets()) for drawn in jfi.collections if len(drawn.get_offsets()) > 1]
    )
    at_25_ms = points[points[:, 0] == 25, 1]
    assert np.sort(at_25_ms) == pytest.approx(np.arange(1, N_RUNS + 1) / N_RUNS)
    ends = {tuple(np.round(line.get_ydata(), 4)) for line in jfi.lines if len(line.get_ydata()) == 2}
    assert {(0.2875, 0.1), (0.7625, 0.95)} <= ends
    assert [str(warning.message) for warning in recwarn] == []  # a notebook would show them
