"""Metrics of hand-made traces: rates are in Mb/s per 1-s sample, windows and thresholds as the papers have them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpfair.errors import InputError
from tcpfair.measures.groups import BY_GROUP, measure
from tcpfair.sources import merge
from tests.measures.made import config, of_self, trace, value

SEGMENT_MBPS = 1448 * 8 / 1e6  # one packet of payload in a 1-s sample
SELF_PAIRS = of_self({"CUBIC": (61.0, 33.0), "CCID2": (43.0, 51.0)})


def measured(measures, *flows, window_s=(2, 4), weights=None, **columns):
    """Metrics of one run."""
    return measure(trace(flows, **columns), config(measures, window_s), "pair", weights)


def test_means_are_over_the_window_and_94_mbps_fill_the_link():
    metrics = measured(["throughput", "ratio"], [90, 90, 40, 42], [0, 0, 53, 53])
    assert value(metrics, "throughput_mean", 1) == 41
    assert value(metrics, "throughput_mean", 2) == 53
    assert value(metrics, "throughput_sum") == 94
    assert value(metrics, "ratio") == pytest.approx(53 / 41)
    # 1538 bytes on the wire carry 1448
    assert value(metrics, "utilisation") == pytest.approx(94 / 94.148, abs=1e-4)


def test_rows_tell_the_grid_from_the_flow():
    metrics = measured(["throughput"], [40, 40, 40, 40], [54, 54, 54, 54])
    own = metrics.query("metric == 'throughput_mean'").set_index("flow")
    columns = [*("run_id", "replicate", "protocol", "rtt_ms"), *("flow", "flow_protocol", "metric", "value")]
    assert list(metrics.columns) == columns
    assert own["flow_protocol"].to_dict() == {1: "CCID2", 2: "CUBIC"}
    assert set(metrics["protocol"]) == {"CUBIC"}
    assert metrics.query("flow == 0")["flow_protocol"].eq("").all()


def test_alternating_flows_are_fair_on_average_and_unfair_at_any_time():
    metrics = measured(["jfi"], [0, 0, 50, 0], [0, 0, 0, 50])
    assert value(metrics, "jfi_mean") == 0.5
    assert value(metrics, "jfi_of_means") == 1


def test_first_arrivals_count_apart_from_in_order_goodput():
    metrics = measured(["throughput", "jfi"], [0, 0, 50, 0], [0, 0, 0, 50], received_bytes=[3e6, 3e6, 3e6, 3e6])
    assert value(metrics, "received_mean", 1) == 24
    assert value(metrics, "jfi_mean_received") == 1


@pytest.mark.parametrize(("rule", "expected"), [("per_column", (43, 33)), ("mean_of_columns", (47, 47))])
def test_nru_weights_come_from_the_flows_own_self_pair(rule, expected):
    ccid2, cubic = expected
    pair = trace([[0, 0, ccid2 / 2, ccid2 / 2], [0, 0, cubic, cubic]])
    metrics = measure(pair, config(["nru"], rule=rule), "pair", SELF_PAIRS)
    assert value(metrics, "U_n", 1) == pytest.approx(-3.0103, abs=1e-4)  # half of what it should get
    assert value(metrics, "U_n", 2) == pytest.approx(0, abs=1e-9)
    assert value(metrics, "U_N") == pytest.approx(-1.5051, abs=1e-4)
    assert value(metrics, "U_N-") == pytest.approx(-3.0103, abs=1e-4)


def test_further_rules_of_the_weights_shift_every_flow():
    both = config(["nru", "stability"])
    both.experiments["pair"].weights.also = ["half_of_sum", "sum_of_columns"]
    # own columns 43 and 33; the sums of both self-pairs are 94
    metrics = measure(trace([[43, 43, 43, 86], [33] * 4]), both, "pair", SELF_PAIRS)
    own_db = value(metrics, "U_n", 1)
    assert value(metrics, "U_n@half_of_sum", 1) == pytest.approx(own_db + 10 * np.log10(43 / 47))
    assert value(metrics, "U_n@sum_of_columns", 2) == pytest.approx(10 * np.log10(33 / 94))
    assert value(metrics, "U_N@sum_of_columns") == pytest.approx(own_db / 2 + 5 * np.log10(43 * 33 / 94**2))
    assert np.isnan(value(metrics, "U_N+@sum_of_columns"))
    # the spread in time stays, the mean that it is compared with moves
    swing_db = value(metrics, "S_n", 1) * abs(own_db)
    by_half_db = value(metrics, "U_n@half_of_sum", 1)
    assert value(metrics, "S_n@half_of_sum", 1) == pytest.approx(swing_db / abs(by_half_db))


def test_sum_of_the_flows_stabilities_beside_their_mean():
    metrics = measured(["stability"], [43, 43, 43, 86], [33, 33, 33, 66], weights=SELF_PAIRS)
    assert value(metrics, "S_N_sum") == pytest.approx(value(metrics, "S_n", 1) + value(metrics, "S_n", 2))
    assert value(metrics, "S_N_sum") == pytest.approx(2 * value(metrics, "S_N_eq10"))


def test_a_silent_sample_counts_as_one_segment_in_db_and_is_reported():
    metrics = measured(["nru"], [43, 43, 0, 43], [33] * 4, weights=SELF_PAIRS)
    assert value(metrics, "U_n", 1) == pytest.approx(10 * np.log10(SEGMENT_MBPS / 43) / 2)
    assert value(metrics, "U_n_of_means", 1) == pytest.approx(-3.0103, abs=1e-4)
    assert value(metrics, "zero_share", 1) == 0.5


def test_stability_in_print_is_the_spread_between_the_flows_and_eq10_that_in_time():
    # U_n of 1.15 and -1.81 dB: printed S_N 6.31 (bhatti2008 table VI, NewReno at 100 ms)
    rates = [43 * 10**0.115, 33 * 10**-0.181]
    metrics = measured(["stability"], *([rate] * 4 for rate in rates), weights=SELF_PAIRS)
    assert value(metrics, "S_N") == pytest.approx(6.31, abs=0.05)
    assert value(metrics, "S_N_eq10") == pytest.approx(0, abs=1e-9)
    assert value(metrics, "S_n", 1) == pytest.approx(0, abs=1e-9)


def test_convergence_waits_for_both_flows_and_counts_from_t_e():
    ccid2 = [43, 43, 20, 43, 43, 20, 43, 43]
    cubic = [33, 33, 33, 33, 10, 33, 33, 33]
    metrics = measured(["convergence"], ccid2, cubic, window_s=(2, 8), weights=SELF_PAIRS)
    # samples from 2 s on: flow 1 is there at 4 s, flow 2 at 3 s, both at 4 s; t_e is 1 s
    assert value(metrics, "T_U", 1) == 3
    assert value(metrics, "T_U", 2) == 2
    assert value(metrics, "T_U") == 3
    assert value(metrics, "converged_at_s") == 4
    assert value(metrics, "converged_share") == 0.5  # of 5..8 s


def test_flows_that_never_converge_have_no_time():
    metrics = measured(["convergence"], [10] * 8, [80] * 8, window_s=(2, 8), weights=SELF_PAIRS)
    assert np.isnan(value(metrics, "T_U"))
    assert np.isnan(value(metrics, "converged_share"))
    assert value(metrics, "T_U", 2) == 2


def test_peak_and_the_time_to_nine_tenths_of_it():
    metrics = measured(["peak"], [10, 85, 89, 94], [0, 0, 0, 8])
    assert value(metrics, "throughput_peak", 1) == 94
    assert value(metrics, "time_to_90_s", 1) == 2  # 84.6 Mb/s
    assert value(metrics, "throughput_full_mean", 2) == 2


def test_growth_is_timed_from_what_leaves_the_residual_share_to_the_bdp_and_on_to_the_loss():
    # BDP of 25 ms at 100 Mb/s: 203.2 packets of 1538 bytes; three quarters of it are 152.4
    ramp = [80.0, 153.0, 150.0, 204.0, 240.0, 300.0]
    losses = [
        (0, 1, 5.5, "loss", 300.0, 150.0),
        (0, 1, 5.9, "loss", 150.0, 75.0),
        (0, 2, 3.0, "recovery_end", 1.0, 1.0),
    ]
    metrics = measured(["growth", "cwnd"], [1] * 6, [1] * 6, window_s=(0, 6), cwnd_pkts=ramp, events=losses)
    assert value(metrics, "t1_s", 1) == 2
    assert value(metrics, "t2_s", 1) == 1.5
    assert np.isnan(value(metrics, "t2_s", 2))  # the end of a recovery is not a loss
    assert value(metrics, "cwnd_mean", 1) == pytest.approx(1127 / 6)


def test_runs_of_different_length_are_measured_side_by_side():
    made = merge([trace([[40] * 4, [54] * 4]), trace([[30] * 3, [60] * 3], first_run=1)])
    metrics = measure(made, config(["throughput"]), "pair")
    assert value(metrics, "throughput_mean", 1, run_id=0) == 40
    assert value(metrics, "throughput_mean", 1, run_id=1) == 30
    assert metrics["run_id"].is_monotonic_increasing


@pytest.mark.filterwarnings("error")
def test_a_run_shorter_than_the_window_gives_nan_for_every_measure_of_the_window():
    every = config(list(BY_GROUP), window_s=(60, 300))
    metrics = measure(trace([[40, 40], [54, 54]], cwnd_pkts=[1.0, 1.0]), every, "pair", SELF_PAIRS)
    of_whole_run = metrics["metric"].isin(["throughput_peak", "time_to_90_s", "throughput_full_mean"])
    assert metrics[~of_whole_run]["value"].isna().all()
    assert metrics[of_whole_run]["value"].notna().all()
    assert {"throughput_mean", "jfi_mean", "U_N", "S_N", "T_U", "ratio", "cwnd_mean", "t1_s"} <= set(metrics["metric"])


def test_a_window_is_enough_when_it_carries_the_target_rate_without_queue():
    """40 Mb/s at 25 ms are 125 000 bytes, 86.3 packets of 1448."""
    windows = {"cwnd_pkts": [200.0, 90.0, 86.0, 87.0]}
    metrics = measured(["window_needed"], [40] * 4, [54] * 4, window_s=(1, 4), **windows)
    assert value(metrics, "window_enough_share", 1) == pytest.approx(2 / 3)


def test_a_window_that_just_carries_the_rate_is_enough_and_an_unknown_one_is_unknown():
    made = trace([[40] * 4, [54] * 4], cwnd_pkts=[99.9, 100.0, 100.1, 99.9])
    made.runs["payload_bytes"] = 1250.0  # 100 packets are 125 000 bytes
    asked = config(["window_needed"], window_s=(0, 4))
    assert value(measure(made, asked, "pair"), "window_enough_share", 1) == 0.5
    made.samples.loc[0, "cwnd_pkts"] = np.nan
    assert np.isnan(value(measure(made, asked, "pair"), "window_enough_share", 1))
    assert value(measure(made, asked, "pair"), "window_enough_share", 2) == 0.5


def test_growth_begins_and_ends_where_a_window_just_reaches_its_bound():
    made = trace([[1] * 5, [1] * 5], cwnd_pkts=[187.4, 187.5, 249.9, 250.0, 300.0])
    made.runs["wire_bytes"] = 1250.0  # a BDP of 250 packets, of which a quarter is left
    assert value(measure(made, config(["growth"], (0, 5)), "pair"), "t1_s", 2) == 2


LOSSES = [
    (0, 1, 1.5, "loss", 0, 0, 0, 3.0),
    (0, 2, 1.6, "loss", 0, 0, 0, 5.0),
    (0, 1, 1.7, "recovery_end", 0, 0, 0, 9.0),
    (0, 1, 3.2, "rto", 0, 0, 0, 6.0),
    (0, 2, 3.6, "loss", 0, 0, 0, 2.0),
]


def test_k_is_that_of_the_epoch_under_way():
    """A loss is logged with the K of the epoch that it ends; K after the last loss is not known."""
    metrics = measured(["cubic_k"], [40] * 4, [54] * 4, window_s=(0, 4), events=LOSSES)
    # samples at 1, 2, 3, 4 s: flow 1 has 3, 6, 6, -; flow 2 has 5, 2, 2, -
    assert value(metrics, "k_mean", 1) == pytest.approx(5)
    assert value(metrics, "k_mean", 2) == pytest.approx(3)
    assert value(metrics, "k_larger_share") == pytest.approx(1 / 3)


def test_shares_of_k_are_of_each_run():
    """In the second run K is equal for a second and larger for none."""
    more = [(1, 1, 1.5, "loss", 0, 0, 0, 4.0), (1, 2, 1.5, "loss", 0, 0, 0, 4.0)]
    both = trace([[40] * 4, [54] * 4], [[40] * 4, [54] * 4], events=[*LOSSES, *more])
    metrics = measure(both, config(["cubic_k"], window_s=(0, 4)), "pair")
    assert value(metrics, "k_larger_share") == pytest.approx(1 / 3)
    assert value(metrics, "k_larger_share", run_id=1) == 0
    assert value(metrics, "k_mean", 2, run_id=1) == 4


def test_losses_within_the_stated_time_are_common():
    metrics = measured(["common_losses"], [40] * 4, [54] * 4, window_s=(0, 4), events=LOSSES)
    assert (value(metrics, "losses", 1), value(metrics, "losses", 2)) == (2, 2)
    assert value(metrics, "common_loss_share", 1) == 0.5  # 1.5 and 1.6 s; 3.2 and 3.6 s are 0.4 s apart
    metrics = measured(["common_losses"], [40] * 4, [54] * 4, window_s=(0, 4))
    assert value(metrics, "losses", 1) == 0
    assert np.isnan(value(metrics, "common_loss_share", 1))


rates = st.lists(st.integers(0, 100), min_size=4, max_size=4)


@settings(max_examples=5)
@given(st.lists(st.tuples(rates, rates), min_size=2, max_size=3))
def test_a_run_is_measured_the_same_alone_and_among_others(runs):
    asked = config(["throughput", "jfi", "nru", "convergence"])
    together = measure(trace(*runs), asked, "pair", SELF_PAIRS)
    alone = [measure(trace(run, first_run=i), asked, "pair", SELF_PAIRS) for i, run in enumerate(runs)]
    pd.testing.assert_frame_equal(together, pd.concat(alone, ignore_index=True))


def test_an_unknown_measure_is_refused_with_the_known_ones():
    with pytest.raises(InputError) as error:
        measured(["jain"], [1] * 4, [1] * 4)
    text = str(error.value)
    assert "config/papers/bhatti2009.yaml: experiments.pair.measures: 'jain'" in text
    assert "jfi" in text
