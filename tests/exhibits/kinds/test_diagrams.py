"""Testbeds, the range of Jain's index and throughput over time."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.exhibits import style
from tcpfair.exhibits.context import draw
from tcpfair.exhibits.kinds import timelines
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
    labels = texts(standin.drawn(context, exhibit).output)
    assert all(part in labels for part in parts)


@pytest.mark.parametrize("paper", ["bhatti2008", "bhatti2009", "ha2006", "kozu2014", "ogura"])
def test_the_shared_bottleneck_is_drawn_with_its_queue(tmp_path, paper):
    context = standin.context(tmp_path, paper)
    (exhibit,) = (exhibit for exhibit in context.paper.exhibits if exhibit.draw == "diagram_topology")
    figure = draw(context, exhibit).output
    (ax,) = figure.axes
    (bottleneck,) = [line for line in ax.lines if line.get_color() == style.VERMILION]
    start, end = bottleneck.get_xdata()
    assert start < end
    assert "shared bottleneck" in texts(figure)
    waiting = [patch.get_x() for patch in ax.patches]
    assert start < min(waiting) < max(waiting) < end
    senders = [line for line in ax.lines if line.get_xdata()[0] == 0]
    assert len(senders) == len(exhibit.options["senders"])
    assert {float(line.get_xdata()[1]) for line in senders} == {start}


def test_the_bottleneck_leads_to_an_only_receiver(tmp_path):
    context = standin.context(tmp_path, "kozu2014")
    (ax,) = standin.drawn(context, "kozu2014.fig1").output.axes
    assert len(ax.lines) == 2 + 1
    (host,) = [text for text in ax.texts if text.get_text() == "PC3"]
    (bottleneck,) = [line for line in ax.lines if line.get_color() == style.VERMILION]
    assert host.xy == (bottleneck.get_xdata()[1], bottleneck.get_ydata()[1])


def test_labels_follow_a_change_of_the_configuration(tmp_path):
    context = standin.context(tmp_path, "bhatti2008")
    settings = context.paper.settings
    settings["capacity_bps"] = settings["capacity_bps"].model_copy(update={"value": 2.5e9})
    assert "bottleneck: 2.5 Gb/s" in texts(standin.drawn(context, "bhatti2008.fig2").output)


@pytest.mark.parametrize("paper", ["bhatti2008", "bhatti2009"])
def test_range_of_jains_index_is_051_to_1(tmp_path, paper):
    context = standin.context(tmp_path, paper)
    drawn = standin.drawn(context, f"{paper}.fig1")
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
    drawn = standin.drawn(context, "bhatti2009.fig5")
    alone = drawn.data.query("panel == 'a' and rtt_ms == 200")
    assert alone["throughput_mbps"].tolist() == [8, 32, 64, 80, 80]
    both = drawn.data.query("panel == 'b'")
    assert set(both["rtt_ms"]) == {50}
    assert both.query("flow == 2")["throughput_mbps"].max() == 40
    numbers = drawn.numbers.set_index(["key", "metric"])["value"]
    assert numbers["protocol=CUBIC;rtt_ms=200", "throughput_peak"] == 80
    assert numbers["protocol=CUBIC;rtt_ms=200", "time_to_90_s"] == 4
    assert drawn.note == "drawn: example run 1 of each"
    left = drawn.output.axes[0]
    widths = [line.get_linewidth() for line in left.lines]
    assert widths == sorted(set(widths), reverse=True)  # coincident lines show below each other


def test_a_flat_panel_says_from_when_its_lines_are_one(tmp_path):
    context = standin.context(tmp_path, "bhatti2009")
    steady = np.full(5, 10_000_000)
    standin.put_trace(context, "self", lambda point, flow: steady)
    for lag, text in ((2, "from 3 s on: all 4 at 80.0 Mb/s"), (3, "")):
        rising = np.where(np.arange(5) < lag, 0, steady)
        standin.put_trace(
            context, "single", lambda point, flow, slow=rising: slow if point["rtt_ms"] == 200 else steady
        )
        (note,) = standin.drawn(context, "bhatti2009.fig5").output.axes[0].texts
        assert note.get_text() == text


def test_a_figure_without_samples_has_no_text_on_them():
    assert timelines._alike_text(pd.DataFrame(columns=["t_s", "rtt_ms", "throughput_mbps"]), 100.0) == ""


def test_more_than_two_routers_are_refused(tmp_path):
    context = standin.context(tmp_path, "ha2006")
    exhibit = context.paper.exhibit("ha2006.fig1")
    exhibit.options["routers"].append("third")
    with pytest.raises(InputError, match="routers"):
        draw(context, exhibit)
