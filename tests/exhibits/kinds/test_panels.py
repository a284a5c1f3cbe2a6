"""Figures of several panels, and the exhibits of background traffic, with made-up metrics."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.exhibits.kinds import panels
from tests.exhibits import standin
from tests.exhibits.standin import value


@pytest.fixture
def ha(tmp_path):
    return standin.context(tmp_path, "ha2006")


def link_rows(rates_mbps, sample_s):
    """The record of forward traffic on the wire: for each run its rates in samples of ``sample_s``."""
    rows = [
        (run_id, sample_s * n, round(1e6 / 8 * sample_s * rate))
        for run_id, rates in rates_mbps.items()
        for n, rate in enumerate(rates, 1)
    ]
    link = pd.DataFrame(rows, columns=["run_id", "t_s", "forwarded_bytes"]).astype({"run_id": "int32"})
    return link.assign(direction="forward", dropped_pkts=0, queue_pkts=np.float32(0))


def put_link_trace(context, experiment):
    """A trace of one run per grid point with six 100-s samples; 300 Mb/s on the link."""
    standin.put_trace(context, experiment, lambda point, flow: [1e6] * 6, samples=6)
    made = context.trace(experiment)
    made.runs["sample_s"] = 100.0
    made.samples["t_s"] *= 100
    made.link = link_rows({run_id: [300.0] * 6 for run_id in made.runs["run_id"]}, 100.0)
    standin.put(context, experiment, made)


# --- A metric over a swept variable ------------------------------------------------------------------------------


def put_utilisation(ha, sack=0.4):
    system = {
        name: lambda point, run: sack if point["protocol"] == "SACK" else 0.9 + run / 100
        for name in ("utilisation", "utilisation_wire")
    }
    flows = {"rate_largest": lambda point, run, flow: 100.0 * flow}
    standin.put_metrics(ha, "util_alone", system=system, flows=flows)
    standin.put_metrics(ha, "util_type2", system={**system, "load_cov": 0.1}, flows=flows)


def test_panels_share_their_axis_and_numbers_are_percent(ha):
    put_utilisation(ha)
    drawn = standin.drawn(ha, "ha2006.fig3")
    left, right = drawn.output.axes
    assert [ax.get_title(loc="left") for ax in (left, right)] == [
        "(a) two flows, no background",
        "(b) four flows, Type II",
    ]
    assert left.get_ylim() == right.get_ylim()
    assert left.get_xlim() == right.get_xlim()
    assert [text.get_text() for text in left.texts] == ["40"] * 6  # SACK, below the axis at every RTT
    assert standin.labels(right.get_legend())[-1] == "SACK"
    assert value(drawn, "protocol=BIC;rtt_ms=42", "utilisation") == pytest.approx(91)
    assert value(drawn, "protocol=SACK;rtt_ms=42;traffic=Type II", "utilisation") == pytest.approx(40)


@pytest.mark.parametrize(
    ("h_tcp", "expected"),
    [([0.5, 0.6, 0.7, 0.88, 0.9], 6), ([0.9] * 5, 1), ([0.9, 0.5, 0.9, 0.9, 0.5], None)],
)
def test_the_buffer_of_recovery_is_where_h_tcp_stays_near_cubic(ha, h_tcp, expected):
    sizes = [1e6, 2e6, 4e6, 6e6, 8e6]

    def used(point, run):
        return h_tcp[sizes.index(point["buffer_bytes"])] if point["protocol"] == "H-TCP" else 0.9

    standin.put_metrics(ha, "buffer", system={"utilisation": used, "utilisation_wire": used})
    drawn = standin.drawn(ha, "ha2006.fig6")
    found = value(drawn, "protocol=H-TCP;rtt_ms=324", "buffer_of_recovery")
    assert (found == expected) if expected else np.isnan(found)
    assert value(drawn, "item=2 MB buffer;rtt_ms=162", "bdp_share") == pytest.approx(24.7, abs=0.1)
    (ax,) = drawn.output.axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "4", "6", "8"]


def test_panels_with_runs_at_other_rtts_share_the_x_axis(ha):
    put_utilisation(ha)
    standin.put_metrics(ha, "util_alone_four", system={"utilisation": 0.9, "utilisation_wire": 0.9})
    axes = standin.drawn(ha, "ha2006.sens_flows").output.axes
    assert len({ax.get_xlim() for ax in axes}) == 1
    assert [[tick.get_text() for tick in ax.get_xticklabels()] for ax in axes] == [["162", "324"]] * 3


def test_a_bar_starts_from_0_and_a_cut_axis_has_markers(ha):
    system = dict.fromkeys(("utilisation", "utilisation_wire", "load_cov"), 0.9)
    standin.put_metrics(ha, "htcp_types", system=system)
    used, varied = standin.drawn(ha, "ha2006.fig8").output.axes
    assert used.get_ylim()[0] > 0
    assert not used.patches
    assert [len(line.get_xdata()) for line in used.lines if line.get_marker() == "s"] == [4, 4]
    assert varied.get_ylim()[0] == 0
    assert len(varied.patches) == 8


def test_laws_of_sack_are_one_where_the_rtts_are_equal(ha):
    ratio = dict.fromkeys(("fair_ratio", "ratio_at_end"), 0.5)
    standin.put_metrics(ha, "rtt_fairness", system=ratio, flows={"throughput_mean": 1.0})
    drawn = standin.drawn(ha, "ha2006.fig11")
    laws = {line.get_label(): line for line in drawn.output.axes[0].lines if line.get_label().startswith("1/k")}
    assert [law.get_ydata()[-1] for law in laws.values()] == pytest.approx([1, 1])
    assert [law.get_ydata()[0] for law in laws.values()] == pytest.approx([16 / 162, (16 / 162) ** 2])
    assert value(drawn, "item=RTT-fairness;protocol=FAST", "ratio") == 0.5


# --- Rates over time ---------------------------------------------------------------------------------------------


def test_titles_have_the_utilisation_over_runs_and_the_printed_one(ha):
    system = {
        "utilisation": lambda point, run: 0.90 + run / 100,
        **dict.fromkeys(("utilisation_wire", "load_cov", "fair_ratio"), 0.5),
    }
    standin.put_metrics(ha, "example_alone", system=system, flows={"throughput_mean": 1.0})
    put_link_trace(ha, "example_alone")
    drawn = standin.drawn(ha, "ha2006.fig4")
    titles = [ax.get_title(loc="left") for ax in drawn.output.axes]
    assert titles[0] == "(a) CUBIC: 91.0 ± 1.0 % (printed 95 %)"
    assert titles[4] == "(e) STCP: 91.0 ± 1.0 % (printed 84 %)"
    assert standin.labels(drawn.output.legends[0]) == ["flow 1", "flow 2", "all forward traffic"]
    total = panels.example_rates(ha, "example_alone", {"protocol": "BIC"}).query("flow == 0")["mbps"]
    assert total.tolist() == drawn.data.query("panel == 'BIC' and flow == 0")["mbps"].tolist()
    assert total.tolist() == pytest.approx([300 * 1448 / 1538] * 6)  # payload, of the stand-in's packets
    compared = ha.against_print("ha2006.fig4", drawn.numbers)
    assert compared.set_index("key").loc["protocol=STCP;rtt_ms=162", "within"] == False  # noqa: E712


def test_rates_of_flows_are_first_arrivals_behind_the_router(ha):
    put_link_trace(ha, "example_alone")
    made = ha.trace("example_alone")
    made.samples["delivered_bytes"] = 0
    rates = panels.example_rates(ha, "example_alone", {"protocol": "BIC"}).query("flow > 0")["mbps"]
    assert rates.tolist() == pytest.approx([0.08] * 12)  # 1 MB in 100 s


# --- Background --------------------------------------------------------------------------------------------------


def test_the_distribution_is_of_the_samples_in_the_window(ha):
    standin.put_metrics(ha, "background", system={"load_mean": 70.0, "load_sd": 20.0})
    load_mbps = {"Type I": 60.0, "Type II": 80.0, "Type III": 70.0, "Type IV": 70.0}
    about = {"duration_s": 70.0, "sample_s": 35.0, "wire_bytes": 1500.0}
    runs = [{"run_id": run_id, "traffic": kind, **about} for run_id, kind in enumerate(load_mbps)]
    flows = [{"run_id": run["run_id"], "flow_id": 1, "protocol": "Web"} for run in runs]
    samples = pd.DataFrame({"run_id": range(4), "flow_id": 1, "t_s": 35.0, "delivered_bytes": 0})
    on_wire = {run_id: (999.0, rate * 1500 / 1448) for run_id, rate in enumerate(load_mbps.values())}
    link = link_rows(on_wire, 35.0)  # the first sample is before the window
    standin.put_rows(ha, "background", runs, flows, samples, link=link)
    drawn = standin.drawn(ha, "ha2006.fig2")
    assert value(drawn, "quantile=0.5;traffic=Type II", "load_quantile") == pytest.approx(80)
    (ax,) = drawn.output.axes
    assert standin.labels(ax.get_legend()) == ["Type I", "Type II", "Type III", "Type IV", "70 Mb/s"]


def test_web_traffic_alone_stands_at_no_flows(ha):
    standin.put_metrics(
        ha, "load", system={"web_mean": lambda point, run: 68.0 if point["traffic"] == "Type II" else 1}
    )
    for name, rate in (("web_2", 66.0), ("web_8", 64.0)):
        standin.put_metrics(ha, name, system={"web_mean": lambda point, run, rate=rate: rate + run})
    drawn = standin.drawn(ha, "ha2006.fig14")
    assert value(drawn, "flows=0;protocol=none", "web_mean") == 68
    assert value(drawn, "flows=8;protocol=SACK", "web_mean") == 65
    assert value(drawn, "flows=2;protocol=SACK", "half_interval") == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    (ax,) = drawn.output.axes
    assert standin.labels(ax.get_legend())[-1] == "Web alone"


def test_runs_too_short_to_measure_leave_empty_panels(ha):
    system = dict.fromkeys(("utilisation", "utilisation_wire", "load_cov"), np.nan)
    flows = {"rate_largest": np.nan}
    for name in ("util_alone", "util_type2"):
        standin.put_metrics(ha, name, system=system, flows=flows)
    left, right = standin.drawn(ha, "ha2006.fig3").output.axes
    assert left.get_ylim() == right.get_ylim()
    assert not left.texts
