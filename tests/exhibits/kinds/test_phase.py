"""Runs over the last percent of an RTT, and how much of their spread the RTT explains."""

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.exhibits.context import draw
from tests.exhibits import standin
from tests.exhibits.standin import value


def steps_of(context, experiment="sens_phase"):
    """The RTTs of the experiment, each with its number."""
    return {rtt: i for i, rtt in enumerate(context.paper.experiments[experiment].grid["rtt_ms"].value)}


@pytest.fixture
def ogura(tmp_path):
    """Without jitter every second RTT has its own ratio, whatever the run; with jitter every run its own, whatever the RTT."""
    context = standin.context(tmp_path, "ogura")
    step = steps_of(context)
    still = {"ratio": lambda point, run: 4.0 if step[point["rtt_ms"]] % 2 else 0.25}
    standin.put_metrics(context, "sens_phase_still", system=still)
    standin.put_metrics(context, "sens_phase", system={"ratio": lambda point, run: [0.5, 0.8, 1.0][run]})
    return context


def test_each_panel_says_in_numbers_what_it_shows(ogura):
    axes = standin.drawn(ogura, "ogura.sens_phase").output.axes
    titles = [ax.get_title(loc="left") for ax in axes]
    assert titles[:3] == [
        "Reno, loss 1e-05: no jitter\n5–95 %: 0.25 to 4; RTT explains 100 %",
        "Reno, loss 1e-05: jitter as above\n5–95 %: 0.5 to 1; RTT explains 0 %",
        "",
    ]
    (points,) = axes[0].collections
    assert len(points.get_offsets()) == 21 * standin.RUNS
    (medians,) = [line for line in axes[0].lines if len(line.get_xdata()) == 21]
    assert medians.get_ydata()[:3].tolist() == [0.25, 4, 0.25]


def test_the_share_is_that_of_the_logarithm_where_the_axis_is(ogura):
    step = steps_of(ogura)
    # ten RTTs about 100 and eleven about 1, runs a factor of ten apart: B = 3 * 4 * 10 * 11 / 21 / 20 = 22/7, W = 1
    ratio = {"ratio": lambda point, run: 10.0 ** (2 * (step[point["rtt_ms"]] % 2) + run - 1)}
    standin.put_metrics(ogura, "sens_phase", system=ratio)
    drawn = standin.drawn(ogura, "ogura.sens_phase")
    found = value(drawn, "loss_rate=1e-06;protocol=Libra;setting=jitter as above", "rtt_share")
    assert found == pytest.approx(5 / 12)


def test_a_flow_that_was_shut_out_is_drawn_and_its_rtt_does_not_count(ogura):
    step = steps_of(ogura)
    still = {"ratio": lambda point, run: [0.0, 1.0, 10.0][min(step[point["rtt_ms"]], 2)]}
    standin.put_metrics(ogura, "sens_phase_still", system=still)
    drawn = standin.drawn(ogura, "ogura.sens_phase")
    assert value(drawn, "loss_rate=1e-05;protocol=Reno;setting=no jitter", "rtt_share") == 1


def test_the_print_is_a_line_in_the_rows_of_which_it_speaks(tmp_path):
    context = standin.context(tmp_path, "kozu2014")
    for name in ("sens_phase", "sens_phase_still"):
        standin.put_metrics(context, name, system={"ratio": lambda point, run: 0.4})
    drawn = standin.drawn(context, "kozu2014.sens_phase")
    dashed = [[line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == "--"] for ax in drawn.output.axes]
    assert dashed == [[0.5]] * 3 + [[]] * 3  # more than twice, for CUBIC alone, and the other way round
    assert value(drawn, "protocol=CUBIC;setting=no jitter", "ratio_percentile") == 100
    assert np.isnan(value(drawn, "protocol=CUBIC;setting=no jitter", "rtt_share"))  # nothing varies
    assert "RTT explains" not in drawn.output.axes[0].get_title(loc="left")


def test_a_label_for_each_experiment_is_asked_for(ogura):
    exhibit = ogura.paper.exhibit("ogura.sens_phase")
    short = exhibit.model_copy(update={"options": exhibit.options | {"labels": ["no jitter"]}})
    with pytest.raises(InputError, match="labels: give one for each of the experiments"):
        draw(ogura, short)
    other = exhibit.model_copy(update={"options": exhibit.options | {"metric": "jfi_mean"}})
    with pytest.raises(InputError, match="not among the metrics"):
        draw(ogura, other)
