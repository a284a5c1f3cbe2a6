"""Metrics of single runs: of a sawtooth made by hand, and of the engine, whose short runs begin its long ones."""

import math

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.papers.expand import run_specs
from tcpfair.runs.trace import Trace
from tcpfair.sources import engine
from tcpfair.validation.measures import MEASURES, curve, measure
from tcpfair.validation.scenarios import Selection, load
from tests.small_checkout import edit
from tests.validation.fake_simulators import Simulator, make_checkout


def made_by_hand(cwnd_pkts, delivered, losses=(), label="reno") -> Trace:
    """One run of 1-s samples on a link of 100 packets of 1000 bytes a second; a list of packets delivered per flow."""
    n = len(delivered[0])
    flows = range(1, len(delivered) + 1)
    samples = [
        pd.DataFrame(
            {
                "run_id": 7,
                "flow_id": flow,
                "t_s": [float(t) for t in range(1, n + 1)],
                "delivered_bytes": [1000 * pkts for pkts in own],
                "received_bytes": [1000 * pkts for pkts in own],
                "cwnd_pkts": cwnd_pkts if flow == 1 else 0.0,
            }
        )
        for flow, own in zip(flows, delivered, strict=True)
    ]
    run = {"run_id": 7, "replicate": 2, "capacity_bps": 1.2e6, "wire_bytes": 1500, "payload_bytes": 1000}
    run |= {"sample_s": 1.0, "duration_s": float(n)}
    events = [(7, flow, t_s, kind, before, before / 2) for flow, t_s, kind, before in losses]
    return Trace(
        runs=pd.DataFrame([run]),
        flows=pd.DataFrame(
            {"run_id": 7, "flow_id": flows, "protocol": [label, "other"][: len(flows)], "role": "foreground"}
        ),
        samples=pd.concat(samples),
        events=pd.DataFrame(events, columns=["run_id", "flow_id", "t_s", "kind", "cwnd_before", "cwnd_after"]),
    )


def metrics(trace, window_s=(2, 8), share=0.5) -> dict:
    (row,) = measure(trace, list(MEASURES), [window_s], share).to_dict("records")
    return row


SAWTOOTH = [1.0, 9.0, 2.0, 4.0, 6.0, 3.0, 5.0, 50.0, 70.0, 90.0]


def test_epochs_peaks_and_losses_are_those_inside_the_window():
    losses = [(1, 1.0, "loss", 500), (1, 2.5, "loss", 10), (1, 3.0, "recovery_end", 77), (1, 4.5, "rto", 20)]
    losses += [(1, 7.5, "loss", 30), (1, 9.0, "loss", 500)]
    row = metrics(made_by_hand(SAWTOOTH, [[100] * 10], losses))
    assert (row["epoch"], row["peak"], row["losses"]) == (2.5, 20.0, 3)


def test_share_and_index_are_of_what_was_delivered_inside_the_window():
    row = metrics(made_by_hand(SAWTOOTH, [[0, 0] + [75] * 6 + [0, 0], [99, 99] + [25] * 6 + [99, 99]]))
    assert row["share"] == 0.75
    assert row["jfi"] == 0.8  # 1 / (2 (0.75^2 + 0.25^2))


def test_a_run_is_about_the_algorithm_of_its_first_flow():
    row = metrics(made_by_hand(SAWTOOTH, [[1] * 10, [1] * 10], label="htcp"))
    assert (row["label"], row["replicate"], row["from_s"], row["until_s"]) == ("htcp", 2, 2, 8)


@pytest.fixture
def config(tmp_path):
    return load(make_checkout(tmp_path).validation_config)


def test_a_curve_is_thinned_to_the_points_asked_for_and_shows_replicate_0(config):
    trace = Simulator("ns2").simulate_runs(config, "one", run_specs(config, "one"))
    drawn = curve(trace, 10)
    assert drawn.groupby("label").size().to_dict() == {"fast": 10, "slow": 10}
    assert drawn.query("label == 'slow'")["t_s"].tolist() == list(range(5, 55, 5))
    assert set(drawn["cwnd_pkts"]) == {100.0}  # the replicates with more are not shown


def test_a_cut_run_of_the_engine_is_the_beginning_of_the_whole_one(config):
    """So that the engine's long runs serve in the comparison with a simulator that makes short ones."""
    whole = Selection({"*/slow": 1}).specs(config, "one")
    cut = Selection({"*/slow": 1}, duration_s=12).specs(config, "one")
    assert [spec.scenario.duration_s for spec in cut] == [12]
    tables = [
        measure(engine.simulate_runs(config, "one", specs), ["mean_cwnd", "utilisation"], [(4.0, 12.0)], 0.5)
        for specs in (whole, cut)
    ]
    pd.testing.assert_frame_equal(*tables)
    assert tables[0]["mean_cwnd"].item() > 5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[share, jfi", "[chair, jfi", "two.measures: 'chair' is unknown; did you mean 'share'. known are mean"),
        ("    window_s: {value: [10, 40], source: x}\n", "", "experiments.two.window_s: is missing"),
    ],
)
def test_an_unknown_measure_or_a_missing_window_is_one_line(tmp_path, old, new, message):
    path = make_checkout(tmp_path).validation_config
    edit(path, old, new)
    with pytest.raises(InputError, match=message):
        load(path)


def test_shares_and_windows_of_single_flows():
    found = metrics(made_by_hand([4.0] * 5 + [6.0] * 5, [[60] * 10, [20] * 10]), window_s=(0, 10))
    assert (found["share_1"], found["share_2"]) == (0.75, 0.25)
    assert (found["window_1"], found["window_2"]) == (5.0, 0.0)
    assert math.isnan(found["share_3"]) and math.isnan(found["window_3"])
    # 60 packets of 1000 bytes a second
    assert found["throughput"] == 0.48
