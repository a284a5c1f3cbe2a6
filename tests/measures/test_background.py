"""Metrics of a shared bottleneck on hand-made traces: the link's own record, sharing, background, common losses."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.measures import measure
from tcpfair.sources import merge
from tests.measures import made
from tests.measures.made import value


def config(measures, **analysis):
    return made.config(measures, (2, 8), **analysis)


def trace(flow1, flow2, others=(), forward=(), reverse=(), first_run=0, **more):
    """One run of 1-s samples in Mb/s; ``others`` are (role, direction, rates)."""
    roles, ways, rates = zip(
        *[("foreground", "forward", flow1), ("foreground", "forward", flow2), *others], strict=True
    )
    run = {"wire_bytes": 1500.0, "payload_bytes": 1200.0}
    flows = {"role": roles, "direction": ways, "rtt_s": 0.1, "stop_s": 8.0} | more.pop("flows", {})
    found = made.trace(rates, first_run=first_run, run=run, flows=flows, **more)
    found.samples["received_bytes"] = found.samples["delivered_bytes"]
    links = [
        (first_run, float(t_s), way, rate * 1e6 / 8)
        for way, of_link in (("forward", forward), ("reverse", reverse))
        for t_s, rate in enumerate(of_link, 1)
    ]
    found.link = pd.DataFrame(links, columns=["run_id", "t_s", "direction", "forwarded_bytes"])
    return found


def measured(groups, *given, **named):
    """Metrics of one `trace`."""
    return measure(trace(*given, **named), config(groups), "pair")


IDLE = [0.0] * 8


def test_utilisation_is_the_links_own_record_in_the_window_counted_as_payload():
    runs = trace(IDLE, IDLE, forward=[0, 0, 50, 100, 50, 100, 50, 100], reverse=[9, 9, 25, 25, 25, 25, 25, 25])
    metrics = measure(runs, config(["bottleneck"]), "pair")
    assert value(metrics, "utilisation_wire") == pytest.approx(0.75)
    assert value(metrics, "utilisation") == pytest.approx(0.75 * 1200 / 1500)
    assert value(metrics, "load_mean") == pytest.approx(60.0)
    assert value(metrics, "load_both_ways") == pytest.approx((60 + 20) / 2)
    sd = np.std([50, 100] * 3, ddof=1)
    assert value(metrics, "load_cov") == pytest.approx(sd / 75)
    assert value(metrics, "load_sd") == pytest.approx(0.8 * sd)
    on_the_wire = measure(runs, config(["bottleneck"], utilisation_counts="wire"), "pair")
    assert value(on_the_wire, "utilisation") == pytest.approx(0.75)
    assert value(on_the_wire, "utilisation_payload") == pytest.approx(0.6)


def test_each_run_has_a_link_of_its_own():
    runs = [
        trace(IDLE, IDLE, forward=[rate] * 8, reverse=[2 * rate] * 8, first_run=run_id)
        for run_id, rate in enumerate((10, 40))
    ]
    metrics = measure(merge(runs), config(["bottleneck"]), "pair")
    for run_id, wire_mbps in enumerate((10, 40)):
        assert value(metrics, "load_mean", 0, run_id) == pytest.approx(0.8 * wire_mbps)
        assert value(metrics, "load_both_ways", 0, run_id) == pytest.approx(1.2 * wire_mbps)
        assert value(metrics, "utilisation_wire", 0, run_id) == pytest.approx(wire_mbps / 100)
        assert value(metrics, "utilisation_payload", 0, run_id) == pytest.approx(0.8 * wire_mbps / 100)


def test_a_link_without_record_has_no_utilisation():
    assert np.isnan(value(measured(["bottleneck"], IDLE, IDLE), "utilisation"))


def test_rates_are_of_each_flow_in_the_window():
    metrics = measured(["rates"], [90, 90, 10, 20, 30, 20, 10, 30], IDLE)
    assert value(metrics, "throughput_mean", 1) == 20
    assert value(metrics, "rate_largest", 1) == 30


@pytest.mark.parametrize("measures, metric", [("rates", "rate_largest"), ("sharing", "throughput_mean")])
def test_rates_are_first_arrivals_or_what_is_in_order_as_the_configuration_says(measures, metric):
    runs = trace([40] * 8, [20] * 8)
    runs.samples["delivered_bytes"] /= 4
    for count, mbps in (("received", 40), ("delivered", 10)):
        metrics = measure(runs, config([measures], rates_count=count), "pair")
        assert value(metrics, metric, 1) == mbps


def test_the_ratio_is_of_rates_as_they_are_counted():
    runs = trace([40] * 8, [20] * 8)
    runs.samples.loc[runs.samples["flow_id"] == 1, "delivered_bytes"] /= 2
    for count, ratio in (("received", 0.5), ("delivered", 1.0)):
        metrics = measure(runs, config(["sharing"], rates_count=count), "pair")
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
    second = trace([50.0] * 6 + [20, 20], [40.0] * 6 + [50, 50], first_run=1)
    metrics = measure(merge([first, second]), config(["sharing"]), "pair")
    assert [value(metrics, name) for name in ("fair_ratio", "ratio_at_end", "lead_changes")] == [1 / 3, 1 / 3, 0]
    assert np.isnan(value(metrics, "fair_at_s"))
    of_second = [value(metrics, name, run_id=1) for name in ("ratio_at_end", "fair_at_s", "lead_changes")]
    assert of_second == [0.4, 2, 1]


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
    metrics = measured(["synchronisation"], IDLE, IDLE, events=events, flows={"rtt_s": (0.04, 0.2)})
    assert value(metrics, "shared_losses") == pytest.approx(2 / 5)
    assert value(metrics, "losses_per_flow") == 2.5
