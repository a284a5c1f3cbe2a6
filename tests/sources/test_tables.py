"""Tables of a trace from the counters that a simulator leaves."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tcpfair.engine.result import Result
from tcpfair.engine.state import EVENT, LOSS, RECOVERY_END, RTO
from tcpfair.papers.expand import RunSpec
from tcpfair.papers.scenario import Web, make_scenario
from tcpfair.runs.trace import TABLES, Trace
from tcpfair.sources.tables import gather, simulate_runs

# ---------------------------------------------------------------- every column by hand

LONG = [
    {"protocol": "New", "cc": "newreno", "rtt_s": 0.1, "access_bps": 2e6, "start_s": 0.0, "stop_s": 0.9},
    {"protocol": "Old", "cc": "reno", "rtt_s": 0.2, "start_s": 0.25, "role": "background", "direction": "reverse"},
]
SHORT = {"protocol": "Web", "cc": "sack", "access_bps": 3e6, "direction": "reverse"}
SIZES = [{"law": "pareto", "share": 1, "shape": 1.2, "min_bytes": 1000}]
SHARED = {
    **{"capacity_bps": 8e6, "wire_bytes": 1000, "payload_bytes": 900, "ack_bytes": 50, "buffer_pkts": 20},
    **{"reverse_bps": 4e6, "reverse_buffer_pkts": 10, "duration_s": 1, "sample_s": 0.5, "flows": LONG},
}
BOTH_WAYS = make_scenario(
    SHARED
    | {
        "record": ["samples", "cwnd", "link", "events"],
        "web": [
            {"flow": SHORT | {"rtt_s": 0.3, "start_s": 0.2, "stop_s": 0.6}, "arrivals_per_s": 1, "sizes": SIZES},
            {"flow": SHORT | {"rtt_s": 0.04, "start_s": 0.1, "stop_s": 0.5}, "arrivals_per_s": 1, "sizes": SIZES},
        ],
    }
)
SPEC = RunSpec(run_id=7, replicate=2, seed=11, point={"rtt_ms": 100}, scenario=BOTH_WAYS)
RESULT = Result(
    t_s=np.array([0.5, 1.0]),
    delivered_pkts=np.array([[3, 1], [7, 1]]),
    received_pkts=np.array([[4, 1], [7, 2]]),
    cwnd_pkts=np.array([[2.5, 1.0], [4.0, 8.0]]),
    ssthresh_pkts=np.array([[np.inf, 16.0], [64.0, 32.0]]),
    srtt_s=np.array([[0.125, 0.5], [0.25, 0.75]]),
    link_forwarded_pkts=np.array([[5, 9], [2, 2]]),
    link_dropped_pkts=np.array([[1, 1], [0, 3]]),
    link_queue_pkts=np.array([[0.5, 3.0], [0.0, 2.0]]),
    link_acks=np.array([[1, 4], [10, 30]]),
    link_acks_dropped=np.array([[0, 2], [5, 6]]),
    web_delivered_pkts=np.array([[90, 90], [2, 5]]),  # no source of short flows goes forward
    web_received_pkts=np.array([[90, 90], [2, 6]]),
    web_active=np.array([[0, 0], [1, 1]]),
    events=np.array(
        [
            (0.3, 0, LOSS, 8.0, 4.0, 8.0, 1.5),
            (0.4, 1, RTO, 6.0, 1.0, 7.0, 2.5),
            (0.8, 0, RECOVERY_END, 4.0, 5.0, 9.0, 0.5),
        ],
        EVENT,
    ),
)


def columns(table: pd.DataFrame) -> dict[str, list]:
    return {name: list(table[name]) for name in table}


def gathered(*specs: RunSpec) -> Trace:
    return gather("paper", "both_ways", specs, [RESULT] * len(specs), {"backend": "sim"})


def test_the_row_of_a_run_is_its_scenario_and_its_place_in_the_grid():
    (row,) = gathered(SPEC).runs.to_dict("records")
    scenario = {name: value for name, value in SHARED.items() if name != "flows"}
    defaults = {"loss_rate": 0.0, "jitter_s": 0.0, "tick_s": 0.0, "synchronised_losses": False}
    run = {"run_id": 7, "paper": "paper", "experiment": "both_ways", "backend": "sim", "seed": 11, "replicate": 2}
    assert row == {**run, **scenario, **defaults, "rtt_ms": 100}


def test_short_flows_of_one_direction_are_one_flow_after_the_long_ones():
    assert columns(gathered(SPEC).flows) == {
        "run_id": [7, 7, 7],
        "flow_id": [1, 2, 3],
        "protocol": ["New", "Old", "Web"],
        "cc": ["newreno", "reno", "sack"],
        "rtt_s": [0.1, 0.2, 0.04],
        "access_bps": [2e6, 0.0, 3e6],
        "start_s": [0.0, 0.25, 0.1],
        "stop_s": [0.9, math.inf, 0.6],
        "role": ["foreground", "background", "web"],
        "direction": ["forward", "reverse", "reverse"],
    }


def test_short_flows_of_two_directions_are_two_flows():
    up = SHORT | {"protocol": "Up", "direction": "forward", "rtt_s": 0.02}
    web = (*BOTH_WAYS.web, Web(flow=up, arrivals_per_s=1, sizes=SIZES))
    made = gathered(replace(SPEC, scenario=BOTH_WAYS.model_copy(update={"web": web})))
    short = made.flows[made.flows["role"] == "web"]
    assert short[["flow_id", "protocol", "rtt_s"]].values.tolist() == [[3, "Up", 0.02], [4, "Web", 0.04]]
    assert made.samples["delivered_bytes"].tolist()[4:] == [81_000, 0, 1800, 2700]


def test_samples_are_bytes_of_payload_per_interval():
    found = columns(gathered(SPEC).samples)
    unknown = {name: found[name][4:] for name in ("cwnd_pkts", "ssthresh_pkts", "srtt_s")}
    assert np.isnan(list(unknown.values())).all()
    assert {name: values[:4] if name in unknown else values for name, values in found.items()} == {
        "run_id": [7] * 6,
        "flow_id": [1, 1, 2, 2, 3, 3],
        "t_s": [0.5, 1.0] * 3,
        "delivered_bytes": [2700, 3600, 900, 0, 1800, 2700],
        "received_bytes": [3600, 2700, 900, 900, 1800, 3600],
        "cwnd_pkts": [2.5, 4.0, 1.0, 8.0],
        "ssthresh_pkts": [math.inf, 64.0, 16.0, 32.0],
        "srtt_s": [0.125, 0.25, 0.5, 0.75],
    }


def test_a_link_carries_acks_and_drops_them():
    assert columns(gathered(SPEC).link) == {
        "run_id": [7] * 4,
        "t_s": [0.5, 1.0] * 2,
        "direction": ["forward", "forward", "reverse", "reverse"],
        "forwarded_bytes": [5050, 4150, 2500, 1000],
        "dropped_pkts": [1, 2, 5, 4],
        "queue_pkts": [0.5, 3.0, 0.0, 2.0],
    }


def test_events_name_their_flow_and_kind():
    assert columns(gathered(SPEC).events) == {
        "run_id": [7] * 3,
        "flow_id": [1, 2, 1],
        "t_s": [0.3, 0.4, 0.8],
        "kind": ["loss", "rto", "recovery_end"],
        "cwnd_before": [8.0, 6.0, 4.0],
        "cwnd_after": [4.0, 1.0, 5.0],
        "w_max": [8.0, 7.0, 9.0],
        "k_s": [1.5, 2.5, 0.5],
    }


def test_a_run_leaves_what_its_scenario_records_and_several_follow_each_other():
    plain = replace(SPEC, run_id=8, scenario=BOTH_WAYS.model_copy(update={"record": ("samples",)}))
    alone, both = gathered(plain), gathered(SPEC, plain)
    assert alone.link.empty and alone.events.empty and "cwnd_pkts" not in alone.samples
    assert both.runs["run_id"].tolist() == [7, 8] and set(both.link["run_id"]) == {7} == set(both.events["run_id"])
    assert both.samples.index.tolist() == list(range(12)) and both.samples["run_id"].tolist() == [7] * 6 + [8] * 6


def test_nothing_leaves_empty_tables_and_every_run_has_its_result():
    assert all(getattr(gathered(), name).empty for name in TABLES)
    with pytest.raises(ValueError, match="shorter"):
        gather("paper", "both_ways", [SPEC, SPEC], [RESULT], {"backend": "sim"})


def test_runs_are_simulated_in_order_with_their_seeds():
    asked = []
    paper = SimpleNamespace(paper="paper")
    specs = [SPEC, replace(SPEC, run_id=8, seed=12)]
    made = simulate_runs(paper, "x", specs, lambda *run: asked.append(run) or RESULT, {"backend": "sim", "code": "c"})
    assert asked == [(BOTH_WAYS, 11), (BOTH_WAYS, 12)]
    assert made.provenance == {"backend": "sim", "code": "c"} and set(made.runs["experiment"]) == {"x"}


def test_accessors_of_a_result_are_those_of_the_forward_link():
    assert RESULT.forwarded_pkts.tolist() == [5, 9] and RESULT.dropped_pkts.tolist() == [1, 1]
    assert RESULT.queue_pkts.tolist() == [0.5, 3.0]
    assert RESULT.received_total_pkts == 7 + 2 + 90 + 6
