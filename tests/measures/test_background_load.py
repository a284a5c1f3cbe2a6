"""The calibrated arrival rates of ha2006 give the 70 Mb/s that the paper states."""

import numpy as np
import pytest

from tcpfair.engine.traffic import arrivals_of
from tcpfair.files.layout import Layout, repository_root
from tcpfair.measures import measure
from tcpfair.metrics.series import mean_interval
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import load_paper
from tcpfair.runs import trace
from tcpfair.sources import simulate
from tcpfair.units import mbps
from tests.verdicts import bundled

ROOT = repository_root()
PAPER = load_paper(Layout(ROOT).paper_config("ha2006"))
TARGET_MBPS = PAPER.analysis_value("target_load_mbps")
LEVEL = PAPER.analysis_value("confidence_level")
TYPES = PAPER.experiments["load"].grid["traffic"].value


def loads_mbps(metrics, kind):
    return metrics.query("metric == 'load_both_ways' and traffic == @kind")["value"]


def fluid_load_mbps(scenario, seed, start_s, stop_s):
    """Mean load if every short flow sent a window per RTT from its arrival on: no slow start, no queue, no loss."""
    arrivals = arrivals_of(scenario, seed)
    rate_pps = np.array([web.flow.rwnd_pkts for web in scenario.web])[arrivals["source"]] / arrivals["rtt_s"]
    ends_s = arrivals["start_s"] + arrivals["size"] / rate_pps
    sent_pkts = rate_pps * np.clip(np.minimum(ends_s, stop_s) - np.maximum(arrivals["start_s"], start_s), 0, None)
    # an ACK goes the other way for every second packet; bytes are counted as payload
    per_pkt_bytes = scenario.payload_bytes * (1 + scenario.ack_bytes / 2 / scenario.wire_bytes)
    return mbps(sent_pkts.sum() * per_pkt_bytes, stop_s - start_s) / len(scenario.web)


@pytest.fixture(scope="module")
def every_spec():
    return run_specs(PAPER, "load")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if k else kind for k, kind in enumerate(TYPES)]
)
def test_a_fluid_model_of_the_flows_comes_near_the_calibrated_load(every_spec, kind):
    """Of 100 runs; slow start makes it a little higher than the packet-level load."""
    specs = [spec for spec in every_spec if spec.point["traffic"] == kind][:100]
    window_s = PAPER.experiments["load"].window_s.value
    fluid, half = mean_interval([fluid_load_mbps(spec.scenario, spec.seed, *window_s) for spec in specs], LEVEL)
    assert half < 2
    assert fluid == pytest.approx(TARGET_MBPS, rel=0.04)


@pytest.mark.parametrize("kind", TYPES)
def test_the_interval_of_the_shipped_runs_contains_the_stated_load(kind):
    folder = Layout(ROOT).bundled("ha2006", "load")
    if not (folder / trace.MANIFEST).is_file():
        pytest.skip("ha2006/load is not bundled")
    loads = loads_mbps(bundled.metrics("ha2006", "load"), kind)
    mean, half = mean_interval(loads, LEVEL)
    assert len(loads) >= 200
    assert abs(mean - TARGET_MBPS) <= half


@pytest.mark.slow
def test_a_few_simulated_runs_have_the_stated_load():
    few = PAPER.model_copy(deep=True)
    few.experiments["load"].runs.value = 12
    metrics = measure(simulate(few, "load"), few, "load")
    for kind in TYPES:
        loads = loads_mbps(metrics, kind)
        assert abs(loads.mean() - TARGET_MBPS) < 4 * loads.std() / np.sqrt(len(loads)), kind


def test_the_calibrated_rates_stand_with_the_interval_that_the_target_leaves_them():
    for kind in TYPES:
        rate = PAPER.traffic[kind].arrivals_per_s
        low, high = rate.range
        assert low < rate.value < high
        assert high / low < 1.04, kind
        assert "calibrated" in rate.assumed
