"""NRU of systems of two flows."""

import numpy as np
import pytest

from tests.exhibits import standin


def nru_metrics(u_n_db):
    """Metrics of a pair experiment from U_n as a function of (point, run, flow)."""
    system = dict.fromkeys(("U_N", "U_N+", "U_N-", "S_N", "S_N_eq10"), 0.0)
    flows = {"U_n": u_n_db, "U_n_of_means": lambda point, run, flow: u_n_db(point, run, flow) + 0.5}
    return {"system": system, "flows": flows}


@pytest.fixture
def bhatti2008(tmp_path):
    context = standin.context(tmp_path, "bhatti2008")
    # CUBIC at 50 ms in table VI: flows at -2.58 and 1.53 dB
    standin.put_metrics(context, "pair", **nru_metrics(lambda point, run, flow: {1: -2.58, 2: 1.53}[flow]))
    return context


def test_flows_are_divided_after_averaging_over_runs(tmp_path):
    context = standin.context(tmp_path, "bhatti2008")
    # flow 2 is fair in one run of three, but not on average
    u_n_db = {(1, 0): -1.0, (1, 1): -1.0, (1, 2): -1.0, (2, 0): 0.5, (2, 1): -1.0, (2, 2): -1.0}
    standin.put_metrics(context, "pair", **nru_metrics(lambda point, run, flow: u_n_db[flow, run]))
    numbers = standin.drawn(context, "bhatti2008.table6").numbers
    found = {name: rows["value"].tolist() for name, rows in numbers.groupby("metric")}
    assert np.isnan(found["U_N+"]).all()
    assert found["U_N-"] == pytest.approx([-0.75] * 16)
    assert set(found["case"]) == {"A"}


def test_bars_end_at_the_tuple_and_printed_bars_stand_beside(bhatti2008):
    figure = standin.drawn(bhatti2008, "bhatti2008.fig4").output
    left, right = figure.axes
    line = next(line for line in right.lines if str(line.get_label()).startswith("$U_N$"))
    assert line.get_ydata() == pytest.approx((1.53 - 2.58) / 2)
    printed = [line for line in right.lines if line.get_markerfacecolor() == "white"]
    ends = np.concatenate([line.get_ydata() for line in printed])
    assert {2.00, -4.27, 1.53} <= set(ends.round(2))  # table VI
    assert left.get_title(loc="left") == "(a) CCID2 and NewReno"
    figure.canvas.draw()
    (flow_1, flow_2), points = [line for line in right.lines if "(flow" in str(line.get_label())], []
    for line in (flow_1, flow_2, printed[-1]):
        points.append(line.get_transform().transform(line.get_xydata())[:, 0])
    assert (points[0] < points[1]).all()
    assert (points[1] < points[2]).all()
