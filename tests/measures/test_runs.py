"""What is measured of runs without any configuration, on tables made by hand."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.measures.runs import Runs, blocks
from tcpfair.runs.trace import Trace
from tests.measures import made

NAN = float("nan")


def trace(delivered, losses=(), first_run=4, sample_s=2.0, **flows):
    """Runs of (flows, samples) in packets of 1000 bytes per 2-s sample; 1500 on a wire of 3 Mb/s: 2 Mb/s of payload."""
    link = {"paper": "p", "capacity_bps": 3e6, "wire_bytes": 1500.0, "payload_bytes": 1000.0}
    more = {"first_run": first_run, "sample_s": sample_s, "run": link, "flows": {"stop_s": 99.0} | flows}
    return made.trace(*delivered, unit_bytes=1000, events=losses, **more)


def measured(traced, window_s=(2.0, 8.0)) -> Runs:
    (runs,) = blocks(traced, window_s)
    return runs


TWO_RUNS = [[[9, 100, 200, 300, 9], [9, 100, 0, 0, 9]], [[9, 0, 0, 0, 9], [9, 0, 0, 0, 9]]]


def test_means_shares_and_use_of_the_link_in_the_window():
    runs = measured(trace(TWO_RUNS))
    assert runs.shape == (2, 2, 5)
    # 200 packets of 1000 bytes in 2 s are 0.8 Mb/s
    assert runs.means_mbps == pytest.approx(np.array([[0.8, 0.4 / 3], [0, 0]]))
    assert runs.shares == pytest.approx(np.array([[6 / 7, 1 / 7], [NAN, NAN]]), nan_ok=True)
    assert runs.ceiling_mbps == pytest.approx([2, 2])
    assert runs.utilisation(runs.r) == pytest.approx([2.8 / 6, 0])


def test_first_arrivals_are_counted_apart():
    traced = trace(TWO_RUNS[:1])
    traced.samples["received_bytes"] = [0, 250e3, 250e3, 250e3, 0] + [0] * 5
    runs = measured(traced)
    assert runs.utilisation(runs.r_received) == pytest.approx([0.5])


def test_what_a_source_does_not_record_is_nan():
    traced = trace(TWO_RUNS[:1])
    traced.runs = traced.runs.drop(columns="capacity_bps")
    runs = measured(traced)
    assert np.isnan(runs.r_received).all() and runs.r_received.shape == (1, 2, 3)
    assert np.isnan(runs.ceiling_mbps).tolist() == [True]
    assert np.isnan(runs.mean_windows_pkts(0.5)).all()


def test_a_run_that_ends_before_the_window_shows_nothing():
    runs = measured(trace(TWO_RUNS, losses=[(4, 1, 3.0, "loss", 10.0)]), window_s=(20.0, 26.0))
    assert runs.r.shape == (2, 2, 3)  # as many samples as the window would have
    assert measured(trace(TWO_RUNS), window_s=(20.0, 21.0)).r.shape == (2, 2, 2)
    for values in (runs.means_mbps, runs.shares, runs.loss_counts, runs.mean_epochs_s, runs.mean_peaks_pkts):
        assert np.isnan(values).all() and values.shape == (2, 2)
    assert np.isnan(runs.utilisation(runs.r)).all()


LOSSES = [
    (4, 1, 1.9, "loss", 500.0),
    (4, 1, 2.0, "loss", 10.0),
    (4, 1, 3.0, "recovery_end", 77.0),
    (4, 1, 8.0, "loss", 30.0),
    (4, 1, 5.0, "rto", 80.0),
    (4, 1, 8.1, "loss", 500.0),
    (4, 2, 9.0, "loss", 7.0),
    (4, 7, 4.0, "loss", 7.0),  # of another flow than those in the foreground
    (5, 2, 4.0, "loss", 7.0),
]


def test_losses_epochs_and_peaks_are_those_in_the_window_with_its_ends():
    runs = measured(trace(TWO_RUNS, LOSSES))
    assert runs.loss_times_s(0, 0).tolist() == [2.0, 5.0, 8.0]
    assert runs.loss_times_s(1, 0).size == 0
    assert runs.loss_counts.tolist() == [[3, 0], [0, 1]]
    assert runs.mean_epochs_s == pytest.approx(np.array([[3, NAN], [NAN, NAN]]), nan_ok=True)
    assert runs.mean_peaks_pkts == pytest.approx(np.array([[40, NAN], [NAN, 7]]), nan_ok=True)
    # the first loss of all, in the window or not
    assert runs.first_loss_s == pytest.approx(np.array([[1.9, 9], [NAN, 4]]), nan_ok=True)


def test_mean_window_over_whole_epochs_or_all_of_the_window():
    windows = [[900, 2, 4, 9, 900], [900, 1, 2, 6, 900]]
    traced = trace(TWO_RUNS[:1], [(4, 1, 4.0, "loss", 1), (4, 1, 8.0, "loss", 1)])
    traced.samples["cwnd_pkts"] = np.ravel(windows)
    runs = measured(traced)
    # flow 1 has an epoch from 4 to 8 s, two thirds of the window: the samples that end at 6 and 8 s
    assert runs.mean_windows_pkts(0.6) == pytest.approx(np.array([[6.5, 3]]))
    assert runs.mean_windows_pkts(0.7) == pytest.approx(np.array([[5, 3]]))


def test_the_flows_are_together_from_the_last_start_to_the_first_end():
    assert measured(trace(TWO_RUNS, start_s=(1.0, 3.0), stop_s=(9.0, 7.0))).together_s == (3.0, 7.0)
    assert measured(trace(TWO_RUNS, start_s=(1.0, 0.0))).together_s == (1.0, 10.0)  # the run itself ends


def test_runs_of_one_shape_are_a_block_whatever_the_order_of_rows():
    long, short = trace(TWO_RUNS), trace([[[1, 2, 3], [4, 5, 6]]], first_run=3)
    tables = {name: pd.concat([getattr(long, name), getattr(short, name)]) for name in ("runs", "flows", "samples")}
    traced = Trace(**{name: table.sample(frac=1, random_state=1) for name, table in tables.items()})
    first, second = blocks(traced)
    assert first.runs["run_id"].tolist() == [3] and first.window_s == (0.0, 6.0)
    assert first.array("delivered_bytes").tolist() == [[[1000, 2000, 3000], [4000, 5000, 6000]]]
    assert second.runs["run_id"].tolist() == [4, 5] and second.window_s == (0.0, 10.0)
    assert second.of_flows("flow_id").tolist() == [[1, 2]] * 2
    assert second.t_s.tolist() == [2, 4, 6, 8, 10]


def test_runs_of_other_sample_times_are_apart():
    one, other = trace(TWO_RUNS[:1]), trace(TWO_RUNS[:1], first_run=8, sample_s=1.0)
    traced = Trace(*(pd.concat([getattr(one, name), getattr(other, name)]) for name in ("runs", "flows", "samples")))
    assert [runs.sample_s for runs in blocks(traced)] == [1.0, 2.0]


def test_flows_with_different_numbers_of_samples_are_refused():
    traced = trace(TWO_RUNS)
    traced.samples = traced.samples.iloc[:-1]
    with pytest.raises(InputError) as error:
        list(blocks(traced))
    assert str(error.value) == "p: samples.t_s: the flows of run 5 have different numbers of samples"


def test_the_link_and_other_flows_are_counted_in_the_window():
    traced = trace([[[0] * 5] * 3], role=("foreground", "background", "web"))
    traced.samples["delivered_bytes"] = [0] * 5 + [9000, 1000, 2000, 3000, 9000] + [9000, 4000, 4000, 4000, 9000]
    rows = [(4, 2.0 * n, way, 1000 * n * n) for way in ("reverse", "forward") for n in (5, 4, 3, 2, 1)]
    traced.link = pd.DataFrame(rows, columns=["run_id", "t_s", "direction", "forwarded_bytes"])
    traced.link.loc[traced.link["direction"] == "reverse", "forwarded_bytes"] = 0
    runs = measured(traced)
    assert runs.shape == (1, 1, 5)
    assert runs.carried_mbps("forward").tolist() == [[0.016, 0.036, 0.064]]
    assert not runs.carried_mbps("reverse").any()
    assert runs.forward_mean_mbps("background") == pytest.approx([6000 * 8e-6 / 6])  # missing direction: forward
    assert runs.forward_mean_mbps("web") == pytest.approx([12000 * 8e-6 / 6])
    traced.flows["direction"] = ["forward", "forward", "reverse"]
    assert measured(traced).forward_mean_mbps("web").tolist() == [0]
    assert np.isnan(measured(traced, (20.0, 26.0)).forward_mean_mbps("web")).all()
    traced.link = traced.link[traced.link["t_s"] > 2]
    assert np.isnan(measured(traced).carried_mbps("forward")).all()
    assert measured(traced).carried_mbps("forward").shape == (1, 3)
