"""Throughput and fairness side by side, tuned parameters, windows with K, tables of text."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.exhibits.kinds import common_losses
from tests.exhibits import standin
from tests.exhibits.standin import value

RTTS_MS = [2, 4, 8, 16, 32, 64, 128]


@pytest.fixture
def kozu(tmp_path):
    """Flow 1 gets 2, 3 and 4 times as much as flow 2 with CUBIC at 128 ms, and as much as flow 2 elsewhere."""
    context = standin.context(tmp_path, "kozu2014")

    def lead(point, run):
        return (2 + run) if (point["protocol"], point["rtt_ms"]) == ("CUBIC", 128) else 1

    def throughput(point, run, flow):
        return 900 * (lead(point, run) if flow == 1 else 1) / (1 + lead(point, run))

    index = {"ratio": lambda *at: 1 / lead(*at)}
    index |= {"jfi_of_means": lambda point, run: 0.9 if point["rtt_ms"] == 128 else 1.0, "jfi_mean": 0.8}
    standin.put_metrics(context, "rtt_sweep", system=index, flows={"throughput_mean": throughput})
    return context


def test_panels_hold_throughput_index_and_the_lead_that_the_text_bounds(kozu):
    drawn = standin.drawn(kozu, "kozu2014.fig2")
    assert value(drawn, "flow=1;protocol=CUBIC;rtt_ms=4", "throughput_mean") == 450
    assert value(drawn, "protocol=CUBIC;rtt_ms=128", "jfi_of_means") == 0.9
    assert value(drawn, "protocol=CUBIC;rtt_ms=128", "lead") == pytest.approx(3)
    compared = kozu.against_print("kozu2014.fig2", drawn.numbers)
    assert compared[["exhibit", "printed", "within"]].values.tolist() == [["kozu2014.sec-3.1", "2", True]]
    assert compared["reproduced"].item() == pytest.approx(3)
    left, right = drawn.output.axes
    assert standin.labels(left.get_legend()) == ["flow 1, 2 ms", "flow 2, varied RTT"]
    assert (left.get_ylabel(), right.get_ylabel()) == ("throughput (Mb/s)", "fairness index")
    assert len(drawn.numbers.query("metric == 'throughput_mean'")) == 2 * len(RTTS_MS)  # of this protocol alone


def test_what_stands_beside_has_an_index_only(kozu):
    drawn = standin.drawn(kozu, "kozu2014.fig8")
    _, right = drawn.output.axes
    assert standin.labels(right.get_legend()) == ["Proposed K", "CUBIC, for comparison"]
    assert not drawn.numbers.query("metric == 'throughput_mean'")["key"].str.contains("CUBIC").any()


# --- Windows and K -----------------------------------------------------------------------------------------------


@pytest.fixture
def transitions(kozu):
    """Two runs of 10 s: windows of 500 and 2000 packets, losses of flow 1 at 4 and 8 s with K of 5 and 6 s."""
    runs = pd.DataFrame({"run_id": [0, 1], "protocol": ["CUBIC", "Proposed K"]})
    flows = pd.DataFrame({"flow_id": [1, 2], "rtt_s": [0.002, 0.128], "cc": "cubic", "access_bps": 1e9})
    windows = pd.DataFrame({"flow_id": [1, 2], "cwnd_pkts": [500.0, 2000.0], "delivered_bytes": 1000})
    samples = windows.merge(pd.DataFrame({"t_s": np.arange(1.0, 11)}), how="cross")
    losses = pd.DataFrame({"flow_id": [1, 2, 1], "t_s": [4.0, 6.0, 8.0], "k_s": [5.0, 9.0, 6.0], "kind": "loss"})
    losses = losses.assign(w_max=1.0, cwnd_before=1.0, cwnd_after=1.0)
    standin.put_rows(
        kozu,
        "transitions",
        runs.assign(capacity_bps=1e9, rtt_ms=128).to_dict("records"),
        runs.merge(flows, how="cross").to_dict("records"),
        runs[["run_id"]].merge(samples, how="cross"),
        events=runs[["run_id"]].merge(losses, how="cross"),
    )
    kozu.paper.experiments["transitions"].window_s.value = [0, 10]
    return kozu


def test_windows_in_mb_and_k_of_the_epoch_under_way(transitions):
    drawn = standin.drawn(transitions, "kozu2014.fig3")
    assert value(drawn, "protocol=CUBIC;rtt_ms=2", "cwnd_mean") == pytest.approx(500 * 1448 / 1e6)
    assert value(drawn, "protocol=CUBIC;rtt_ms=2", "window_enough_share") == 1  # 100 KB are needed
    k_s = drawn.data.query("flow == 1")["k_s"].to_numpy()
    np.testing.assert_array_equal(k_s, [5, 5, 5, 5, 6, 6, 6, 6, np.nan, np.nan])
    compared = transitions.against_print("kozu2014.fig3", drawn.numbers)
    assert compared[["printed", "within"]].values.tolist() == [["0.82", True]]


def test_the_other_flow_is_dashed_and_the_needed_window_marked(transitions):
    drawn = standin.drawn(transitions, "kozu2014.fig4")
    assert value(drawn, "protocol=CUBIC;rtt_ms=128", "cwnd_mean") == pytest.approx(2.896)
    top, bottom = drawn.output.axes
    entries = ["cwnd", "mean over runs, 2.90 MB", "needed for 400 Mb/s, 6.4 MB", "printed mean"]
    assert standin.labels(top.get_legend()) == entries
    other, own = bottom.lines
    assert (other.get_linestyle(), own.get_linestyle()) == ("--", "-")
    assert np.nanmax(own.get_ydata()) == 9


def test_paths_have_an_axis_of_tenths_about_them():
    assert common_losses._tenths(pd.Series([0.38, np.nan, 0.87])) == pytest.approx((0.3, 0.9))
    assert common_losses._tenths(pd.Series([0.5, 0.5])) == pytest.approx((0.5, 0.6))
    assert common_losses._tenths(pd.Series([np.nan])) == (0, 1)
