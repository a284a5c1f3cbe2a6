"""Testbeds, the range of Jain's index and throughput over time."""

import numpy as np
import pytest

from tcpfair.exhibits.context import draw
from tcpfair.exhibits.kinds import topology
from tests.exhibits import standin


def texts(figure):
    return " ".join(text.get_text() for ax in figure.axes for text in ax.texts)


@pytest.mark.parametrize(
    ("exhibit", "parts"),
    [
        ("bhatti2009.fig2", ["netem router", "100 Mb/s", "100 % of the BDP", "RTT 25, 50, 100, 200 ms"]),
        ("ogura.fig3", ["1 Gb/s, $D_i$", "bottleneck: 100 Mb/s, 1 ms", "buffer: 500 packets", "receiver n"]),
    ],
)
def test_networks_are_labelled_from_the_configuration(tmp_path, exhibit, parts):
    context = standin.context(tmp_path, exhibit.split(".")[0])
    labels = texts(draw(context, context.paper.exhibit(exhibit)).output)
    assert all(part in labels for part in parts)


def test_labels_follow_a_change_of_the_configuration(tmp_path):
    context = standin.context(tmp_path, "bhatti2008")
    settings = context.paper.settings
    settings["capacity_bps"] = settings["capacity_bps"].model_copy(update={"value": 2.5e9})
    assert "bottleneck: 2.5 Gb/s" in texts(draw(context, context.paper.exhibit("bhatti2008.fig2")).output)


def test_rates():
    assert topology.rate_text(100e6) == "100 Mb/s"
    assert topology.rate_text(1e9) == "1 Gb/s"


@pytest.mark.parametrize("paper", ["bhatti2008", "bhatti2009"])
def test_range_of_jains_index_is_051_to_1(tmp_path, paper):
    context = standin.context(tmp_path, paper)
    drawn = draw(context, context.paper.exhibit(f"{paper}.fig1"))
    numbers = drawn.numbers.set_index("metric")["value"]
    assert numbers["jfi_min"] == pytest.approx(0.51, abs=1e-4)
    assert numbers["jfi_max"] == pytest.approx(1)
    assert context.against_print(f"{paper}.fig1", drawn.numbers)["within"].tolist() == [True, True]
    assert "J = 0.8: 3 to 1" in texts(drawn.output)


def test_time_panels_draw_the_example_run_and_give_the_peaks(tmp_path):
    context = standin.context(tmp_path, "bhatti2009")
    ramp = np.array([1, 4, 8, 10, 10]) * 1_000_000
    for experiment in ("single", "self"):
        standin.put_trace(context, experiment, lambda point, flow: ramp // flow)
    drawn = draw(context, context.paper.exhibit("bhatti2009.fig5"))
    alone = drawn.data.query("panel == 'a' and rtt_ms == 200")
    assert alone["throughput_mbps"].tolist() == [8, 32, 64, 80, 80]
    both = drawn.data.query("panel == 'b'")
    assert set(both["rtt_ms"]) == {50}
    assert both.query("flow == 2")["throughput_mbps"].max() == 40
    numbers = drawn.numbers.set_index(["key", "metric"])["value"]
    assert numbers["protocol=CUBIC;rtt_ms=200", "throughput_peak"] == 80
    assert numbers["protocol=CUBIC;rtt_ms=200", "time_to_90_s"] == 4
    assert drawn.note == "drawn: example run 1 of each"
