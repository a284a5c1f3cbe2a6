"""What a careless reader does: every value is drawn or refused, and the page goes on."""

import pytest

from tests.web.browser import needs_chromium
from tests.web.node import call, needs_node
from tests.web.shown import READY, SHOWN
from tests.web.test_copy import SCHEMA
from tests.web.test_truth import TYPE

SAID = "return document.getElementById('said').textContent"
FLOW = {"protocol": "Reno", "cc": "reno", "rtt_s": 0.02}
SHORT = {
    "capacity_bps": 5e6,
    "wire_bytes": 1500,
    "payload_bytes": 1448,
    "buffer_pkts": 20,
    "duration_s": 10,
    "sample_s": 0.1,
}
APPLY = "tcpfair.lab.apply(arguments[0], { compare: arguments[1] })"
REST = "return !tcpfair.lab.busy() && document.body.dataset.digestA !== arguments[0]"


@needs_chromium
def test_a_link_to_an_unknown_tour_says_so_and_shows_a_run(browser):
    for name in ("nope/3", "cubic/2.5"):
        browser.run("window.isOld = true; location.hash = arguments[0]; location.reload()", f"tour={name}")
        browser.wait(f"if (window.isOld) return false; {READY}")
        assert ("no tour nope/3" in browser.run(SAID)) == name.startswith("nope")


@needs_chromium
def test_a_link_to_an_unknown_experiment_says_so_until_a_link_is_good(browser):
    good = browser.wait("return location.hash")
    for bad, words, tab in (
        ("preset=ogura", "experiment: ogura is unknown; known are ogura/", "numbers"),
        ("preset=", "experiment: none is unknown; known are ogura/..., ", "epochs"),
        ("preset=ogura/toString", "experiment: ogura/toString is unknown; known are ogura/", "seeds"),
    ):
        browser.run("location.hash = arguments[0]", bad)
        browser.wait(f"{SAID}.startsWith(arguments[0])", f"The link cannot be opened: {words}")
        browser.run("location.hash = arguments[0]", f"{good}&tab={tab}")
        browser.wait(f"{SAID} === ''")


@needs_chromium
def test_on_paper_the_plots_are_as_wide_as_the_text(browser):
    browser.print_media()
    # within one script, so that the page does not draw the plots anew for the new width
    parts = browser.run(
        """document.getElementById("work").style.width = "500px";
        return [...document.querySelectorAll(".plot")].filter((plot) => plot.querySelector("canvas")).map((plot) => {
          const sizes = [...plot.querySelectorAll("canvas, .u-over")].map((node) => node.getBoundingClientRect().width);
          return [plot.clientWidth, plot.scrollWidth, ...sizes.map(Math.round)];
        });"""
    )
    assert len(parts) > 3 and all(0 < plot < 500 for plot, *_ in parts)
    assert all((whole, canvas, over) == (plot, plot, 0) for plot, whole, canvas, over in parts)


@needs_chromium
def test_thresholds_and_round_trip_times_that_do_not_exist_yet_are_missing(browser):
    columns = browser.run(
        "const [side] = tcpfair.lab.sides();"
        "return side.result.flows.map((flow) => ['ssthresh_pkts', 'srtt_s'].map((name) => tcpfair.panels.gaps(flow[name])))"
    )
    assert columns[1][1][0] is None  # the second flow starts later
    for thresholds, rtts in columns:
        assert thresholds[0] is None
        assert all(value is None or 0 < value < 1e6 for value in [*thresholds, *rtts])
        assert any(thresholds) and any(rtts)


@needs_chromium
def test_a_run_that_ends_before_its_measurement_is_measured_from_its_start(browser):
    before = browser.run(SHOWN)
    browser.run(TYPE, "duration_s", "5")
    browser.wait(REST, before)
    assert browser.run("const { fromS, toS } = tcpfair.lab.sides()[0].measuring; return [fromS, toS]") == [0, 5]
    assert "NaN" not in browser.run("return document.querySelector('.strip-net').outerHTML")


@needs_chromium
def test_a_setting_of_the_paper_states_that_it_changes_both_scenarios(browser):
    before = browser.run(SHOWN)
    browser.run("location.hash = '#preset=ogura/loss_sweep&protocol=Reno&loss_rate=0.01'")
    browser.wait(REST, before)
    labels = (
        "return [...document.querySelectorAll('#tours .named label')].slice(0, 2).map((label) => label.textContent)"
    )
    assert browser.run(labels) == ["Protocol", "Loss rate"]
    browser.run("document.querySelector('[data-key=compare]').click()")
    assert browser.run(labels) == ["Protocol, A and B", "Loss rate, A and B"]


@needs_chromium
def test_undo_of_an_edit_that_was_taken_back_changes_nothing(browser):
    before = browser.run(SHOWN)
    for value in ("50", "100"):
        browser.run(TYPE, "capacity_bps", value)
    browser.run("document.getElementById('undo').disabled = false")
    browser.run("document.getElementById('undo').click()")
    browser.wait("return !tcpfair.lab.busy() && document.body.dataset.digestA === arguments[0]", before)


@needs_node
@pytest.mark.parametrize(
    ("text", "expected"),
    [("2,5", 2.5), ("0,5", 0.5), ("1,500", 1500), ("1,500.5", 1500.5), ("1500", 1500), ("1 500", 1500)],
)
def test_a_comma_before_other_than_three_digits_is_a_decimal_point(text, expected):
    assert call(["dom.js", "inputs.js"], [("inputs.parsed", text)], SCHEMA) == [expected]


@needs_chromium
def test_what_is_no_single_recording_is_refused_in_one_line(browser):
    browser.run(
        """const data = new DataTransfer();
        for (const name of ["a.json", "b.json"]) data.items.add(new File(["{}"], name));
        document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));"""
    )
    browser.wait(f"{SAID} === 'a.json: drop one file: a scenario, a report of iperf3 or a log of ss.'")
    drop = """const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(arguments[0])], "a.png"));
        document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));"""
    for content, words in (
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "no text"),
        (b"PK\3\4\x14\0", "no text"),
        (b" \n", "empty"),
    ):
        browser.run(drop, list(content))
        browser.wait(f"{SAID} === 'a.png: this file is {words}; drop a scenario, a report of iperf3 or a log of ss.'")


@needs_chromium
def test_a_complaint_ends_with_the_value_that_it_was_about(browser):
    complaints = "return [...document.querySelectorAll('#controls [aria-invalid=true]')].length"
    before = browser.run(SHOWN)
    browser.run(TYPE, "flow 1 rtt_s", "abc")
    assert browser.run(complaints) == 1
    browser.run(TYPE, "buffer", "100")
    browser.wait(REST, before)
    assert browser.run(complaints) == 0


@needs_chromium
def test_the_slider_of_a_start_ends_with_the_run(browser):
    place = """return Number(document.querySelector('#controls [data-key="flow 2 start_s slider"]').value)"""
    assert browser.run(place) == 20  # 10 of 120 s, in 240 steps
    before = browser.run(SHOWN)
    browser.run(TYPE, "duration_s", "20")
    assert browser.run(place) == 120
    browser.wait(REST, before)


@needs_chromium
def test_a_plot_that_leaves_lines_out_says_so(browser):
    notice = "return document.querySelector('[data-panel=throughput] .nothing').textContent"
    for n, words in ((28, ""), (29, "The first 28 of 29 flows; the CSV has all.")):
        before = browser.run(SHOWN)
        browser.run(APPLY, {**SHORT, "flows": [FLOW] * n})
        browser.wait(REST, before)
        assert browser.run(notice) == words


@needs_chromium
def test_labels_of_the_time_axis_are_whole_in_a_lecture(browser):
    labels = browser.run(
        """window.labels = [];
        const draw = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
          const isLabel = this.textAlign === "center" && this.canvas.closest(".plot");
          if (isLabel) labels.push([text, x + this.measureText(text).width / 2, this.canvas.width]);
          draw.call(this, text, x, y);
        };
        document.body.classList.add("lecture");
        tcpfair.lab.plots.rebuild();
        return new Promise((then) => requestAnimationFrame(() => then(labels)));"""
    )
    assert "120 s" in {text for text, _, _ in labels}
    assert all(right <= width for _, right, width in labels)


@needs_chromium
def test_alt_and_an_arrow_go_back_in_the_browser_not_to_another_step(browser):
    before = browser.run(SHOWN)
    browser.run("tcpfair.tours.go(1, 1); document.querySelector('[data-key=lecture]').click()")
    press = """const how = { key: "ArrowLeft", altKey: arguments[1], bubbles: true, cancelable: true };
        const event = new KeyboardEvent("keydown", how);
        document.querySelector(arguments[0]).dispatchEvent(event);
        return [event.defaultPrevented, tcpfair.tours.name()];"""
    for where in ("body", "#to-numbers"):
        assert browser.run(press, where, True) == [False, "models/2"]
    assert browser.run(press, "body", False) == [True, "models/1"]
    browser.wait(REST, before)


@needs_chromium
def test_beyond_the_end_of_the_shorter_run_there_are_no_values(browser):
    before = browser.run(SHOWN)
    two = {**SHORT, "flows": [FLOW, FLOW]}
    browser.run(APPLY, two, {**two, "duration_s": 5})
    browser.wait(REST, before)
    values = """const { sides, plots } = tcpfair.lab;
        return sides().map((side) => plots.valuesAt("cwnd", side, arguments[0]).map(({ value }) => value !== null));"""
    browser.wait("return tcpfair.lab.sides().every(({ result }) => result)")
    assert browser.run(values, 4) == [[True, True], [True, True]]
    assert browser.run(values, 8) == [[True, True], [False, False]]


@needs_chromium
def test_a_recording_that_is_faster_than_the_link_is_in_sight(browser):
    most = """tcpfair.lab.plots.record(arguments[0]);
        return new Promise((then) => setTimeout(() => then(tcpfair.lab.plots.scaleOf("throughput").high)));"""
    line = {"label": "recorded 1", "recorded": True, "panel": "throughput", "flow": None, "tS": [1, 2], "y": [300, 900]}
    assert browser.run(most, []) < 200
    assert browser.run(most, [line]) > 900


@needs_chromium
def test_a_run_of_background_flows_alone_is_drawn(browser):
    before = browser.run(SHOWN)
    browser.run(APPLY, {**SHORT, "flows": [{**FLOW, "role": "background"}]})
    browser.wait(REST, before)
    assert browser.run("return document.getElementById('failed').textContent") == ""
    assert "packets in" in browser.text("#status")
    assert "NaN" not in browser.run("return document.getElementById('strip').outerHTML")


@needs_chromium
def test_settings_can_be_undone_while_their_run_is_drawn(browser):
    before, address = browser.run(SHOWN), browser.wait("return location.hash")
    browser.run(TYPE, "duration_s", "8000")  # parts are drawn for seconds
    browser.wait("return document.body.dataset.state === 'part'")
    browser.wait("return location.hash !== arguments[0]", address)
    assert browser.run("return tcpfair.lab.busy()")
    browser.run("document.getElementById('undo').click()")
    assert browser.run("return tcpfair.lab.scenario().duration_s") == 120
    browser.wait("return !tcpfair.lab.busy() && document.body.dataset.digestA === arguments[0]", before)
