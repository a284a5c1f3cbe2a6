"""Metrics of a shared bottleneck on hand-made traces: the link's own record, sharing, background, common losses."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.measures import measure
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs.trace import Trace
from tcpfair.sources import merge


def said(value):
    return {"value": value, "source": "sec. 1"}


ANALYSIS = {
    "rates_count": "received",
    "utilisation_counts": "payload",
    "sharing_from_s": 4,
    "sharing_end_s": 2,
    "fair_ratio": 0.8,
    "fair_mean_s": 2,
    "together_rtts": 1.5,
}


def config(measures, **analysis):
    experiment = {
        "what": "pair",
        "grid": {"protocol": said(["STCP"])},
        "flows": [{"rtt_ms": said(100)}, {"rtt_ms": said(100)}],
        "runs": said(1),
        "window_s": said([2, 8]),
        "measures": measures,
    }
    values = {name: said(value) for name, value in (ANALYSIS | analysis).items()}
    return PaperConfig.model_validate(
        {"paper": "ha2006", "cite": "x", "analysis": values, "experiments": {"pair": experiment}}
    )


def trace(flow1, flow2, others=(), forward=None, reverse=None, events=(), rtts_s=(0.1, 0.1)):
    """One run of 1-s samples in Mb/s; ``others`` are (role, direction, rates)."""
    runs = {"run_id": 0, "paper": "ha2006", "experiment": "pair", "backend": "engine", "seed": 1, "replicate": 0}
    runs |= {"duration_s": 8.0, "sample_s": 1.0, "protocol": "STCP"}
    runs |= {"capacity_bps": 100e6, "wire_bytes": 1500.0, "payload_bytes": 1200.0}
    host = {"run_id": 0, "protocol": "STCP", "cc": "x", "rtt_s": 0.1, "access_bps": 0.0, "start_s": 0.0, "stop_s": 8.0}
    given = [("foreground", "forward", flow1), ("foreground", "forward", flow2), *others]
    flows, samples, links = [], [], []
    for flow_id, (role, direction, rates) in enumerate(given, 1):
        rtt_s = {"rtt_s": rtts_s[flow_id - 1]} if flow_id <= len(rtts_s) else {}
        flows.append({**host, **rtt_s, "flow_id": flow_id, "role": role, "direction": direction})
        samples += [
            {"run_id": 0, "flow_id": flow_id, "t_s": float(t_s)}
            | dict.fromkeys(("delivered_bytes", "received_bytes"), rate * 1e6 / 8)
            for t_s, rate in enumerate(rates, 1)
        ]
    for direction, rates in (("forward", forward), ("reverse", reverse)):
        links += [
            {"run_id": 0, "t_s": float(t_s), "direction": direction, "forwarded_bytes": rate * 1e6 / 8}
            for t_s, rate in enumerate(rates or [], 1)
        ]
    link = pd.DataFrame(links, columns=["run_id", "t_s", "direction", "forwarded_bytes"])
    return Trace(
        runs=pd.DataFrame([runs]),
        flows=pd.DataFrame(flows),
        samples=pd.DataFrame(samples),
        link=link,
        events=pd.DataFrame(events, columns=["run_id", "flow_id", "t_s", "kind"]),
        provenance={"grid": ["protocol"]},
    )


def measured(groups, *given, **named):
    """Metrics of one `trace`."""
    return measure(trace(*given, **named), config(groups), "pair")


def value(metrics, metric, flow=0):
    return metrics.query("metric == @metric and flow == @flow")["value"].item()


IDLE = [0.0] * 8


def test_utilisation_is_the_links_own_record_in_the_window_counted_as_payload():
    made = trace(IDLE, IDLE, forward=[0, 0, 50, 100, 50, 100, 50, 100], reverse=[9, 9, 25, 25, 25, 25, 25, 25])
    metrics = measure(made, config(["bottleneck"]), "pair")
    assert value(metrics, "utilisation_wire") == pytest.approx(0.75)
    assert value(metrics, "utilisation") == pytest.approx(0.75 * 1200 / 1500)
    assert value(metrics, "load_mean") == pytest.approx(60.0)
    assert value(metrics, "load_both_ways") == pytest.approx((60 + 20) / 2)
    sd = np.std([50, 100] * 3, ddof=1)
    assert value(metrics, "load_cov") == pytest.approx(sd / 75)
    assert value(metrics, "load_sd") == pytest.approx(0.8 * sd)
    on_the_wire = measure(made, config(["bottleneck"], utilisation_counts="wire"), "pair")
    assert value(on_the_wire, "utilisation") == pytest.approx(0.75)
    assert value(on_the_wire, "utilisation_payload") == pytest.approx(0.6)


def test_each_run_has_a_link_of_its_own():
    made = [trace(IDLE, IDLE, forward=[rate] * 8, reverse=[2 * rate] * 8) for rate in (10, 40)]
    for name in ("runs", "flows", "samples", "link"):
        getattr(made[1], name)["run_id"] = 1
    metrics = measure(merge(made), config(["bottleneck"]), "pair")
    for run_id, wire_mbps in enumerate((10, 40)):
        own = metrics[metrics["run_id"] == run_id]
        assert value(own, "load_mean") == pytest.approx(0.8 * wire_mbps)
        assert value(own, "load_both_ways") == pytest.approx(1.2 * wire_mbps)
        assert value(own, "utilisation_wire") == pytest.approx(wire_mbps / 100)
        assert value(own, "utilisation_payload") == pytest.approx(0.8 * wire_mbps / 100)


def test_a_link_without_record_has_no_utilisation():
    assert np.isnan(value(measured(["bottleneck"], IDLE, IDLE), "utilisation"))


def test_rates_are_of_each_flow_in_the_window():
    metrics = measured(["rates"], [90, 90, 10, 20, 30, 20, 10, 30], IDLE)
    assert value(metrics, "throughput_mean", 1) == 20
    assert value(metrics, "rate_largest", 1) == 30


@pytest.mark.parametrize("measures, metric", [("rates", "rate_largest"), ("sharing", "throughput_mean")])
def test_rates_are_first_arrivals_or_what_is_in_order_as_the_configuration_says(measures, metric):
    made = trace([40] * 8, [20] * 8)
    made.samples["delivered_bytes"] /= 4
    for count, mbps in (("received", 40), ("delivered", 10)):
        metrics = measure(made, config([measures], rates_count=count), "pair")
        assert value(metrics, metric, 1) == mbps


def test_the_ratio_is_of_rates_as_they_are_counted():
    made = trace([40] * 8, [20] * 8)
    made.samples.loc[made.samples["flow_id"] == 1, "delivered_bytes"] /= 2
    for count, ratio in (("received", 0.5), ("delivered", 1.0)):
        metrics = measure(made, config(["sharing"], rates_count=count), "pair")
        assert value(metrics, "fair_ratio") == value(metrics, "ratio_at_end") == ratio


def test_ratios_count_from_where_both_flows_run():
    metrics = measured(["sharing"], [90, 90, 90, 90, 60, 40, 40, 20], [0, 0, 0, 0, 10, 20, 30, 40])
    assert value(metrics, "throughput_mean", 1) == 40
    assert value(metrics, "fair_ratio") == pytest.approx(25 / 40)
    assert value(metrics, "ratio_at_end") == pytest.approx(30 / 35)  # 60 to 70 in the last two seconds
    # means over two seconds: 15/50, 25/40, 35/30: fair 4 s after both run
    assert value(metrics, "fair_at_s") == 4
    assert value(metrics, "lead_changes") == 1


def test_each_run_shares_in_its_own_way():
    """The second run is just fair from the start, and the flows change places at its end; its pair keeps its own."""
    first = trace([90.0] * 8, [30.0] * 8)
    second = trace([50.0] * 6 + [20, 20], [40.0] * 6 + [50, 50])
    for name in ("runs", "flows", "samples"):
        getattr(second, name)["run_id"] = 1
    metrics = measure(merge([first, second]), config(["sharing"]), "pair")
    one, other = (metrics[metrics["run_id"] == run_id] for run_id in (0, 1))
    assert [value(one, name) for name in ("fair_ratio", "ratio_at_end", "lead_changes")] == [1 / 3, 1 / 3, 0]
    assert np.isnan(value(one, "fair_at_s"))
    assert [value(other, name) for name in ("ratio_at_end", "fair_at_s", "lead_changes")] == [0.4, 2, 1]


def test_flows_that_never_become_fair_have_no_time():
    metrics = measured(["sharing"], [90.0] * 8, [10.0] * 8)
    assert np.isnan(value(metrics, "fair_at_s"))
    assert value(metrics, "lead_changes") == 0


def test_background_counts_what_goes_forward_by_role():
    others = [
        ("background", "forward", [0, 0, 1, 1, 1, 1, 1, 1]),
        ("background", "forward", [9, 9, 2, 2, 2, 2, 2, 2]),
        ("background", "reverse", [7.0] * 8),
        ("web", "forward", [0, 0, 30, 60, 30, 60, 30, 60]),
        ("web", "reverse", [50.0] * 8),
    ]
    metrics = measured(["background"], IDLE, IDLE, others)
    assert value(metrics, "web_mean") == 45
    assert value(metrics, "long_lived_mean") == 3
    assert value(measured(["background"], IDLE, IDLE), "web_mean") == 0


def test_common_losses_are_those_of_the_foreground_in_the_window():
    events = [
        (0, 1, 1.0, "loss"),  # before the window
        (0, 1, 3.00, "loss"),
        (0, 2, 3.14, "rto"),  # within 1.5 RTTs of 100 ms
        (0, 1, 5.00, "loss"),
        (0, 2, 5.20, "loss"),
        (0, 2, 5.00, "recovery_end"),
        (0, 3, 5.00, "loss"),  # of the background
    ]
    others = [("background", "forward", IDLE)]
    metrics = measured(["synchronisation"], IDLE, IDLE, others, events=events)
    assert value(metrics, "shared_losses") == pytest.approx(2 / 4)
    assert value(metrics, "losses_per_flow") == 2


def test_losses_are_common_within_round_trips_of_the_longer_path():
    """1.5 round trips of 200 ms, not of 40 ms; the end of the window still counts."""
    events = [(0, 1, 3.0, "loss"), (0, 2, 3.29, "loss"), (0, 1, 5.0, "loss"), (0, 2, 5.31, "loss")]
    events += [(0, 1, 8.0, "loss"), (0, 2, 8.1, "loss")]  # the second is after it
    metrics = measured(["synchronisation"], IDLE, IDLE, events=events, rtts_s=(0.04, 0.2))
    assert value(metrics, "shared_losses") == pytest.approx(2 / 5)
    assert value(metrics, "losses_per_flow") == 2.5
