"""What a careless reader does: every value is drawn or refused, and the page goes on."""

import pytest

from tests.web.browser import needs_chromium
from tests.web.node import call, needs_node
from tests.web.shown import READY, SHOWN
from tests.web.test_copy import SCHEMA
from tests.web.test_truth import TYPE

SAID = "return document.getElementById('said').textContent"
REST = "return !tcpfair.lab.busy() && document.body.dataset.digestA !== arguments[0]"


@needs_chromium
def test_a_link_to_an_unknown_tour_says_so_and_shows_a_run(browser):
    for name in ("nope/3", "cubic/2.5"):
        browser.run("window.isOld = true; location.hash = arguments[0]; location.reload()", f"tour={name}")
        browser.wait(f"if (window.isOld) return false; {READY}")
        assert ("no tour nope/3" in browser.run(SAID)) == name.startswith("nope")


@needs_chromium
def test_thresholds_and_round_trip_times_that_do_not_exist_yet_are_missing(browser):
    columns = browser.run(
        "const [side] = tcpfair.lab.sides();"
        "return side.result.flows.map((flow) => ['ssthresh_pkts', 'srtt_s'].map((name) => tcpfair.panels.columnOf(flow, name)))"
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


@needs_chromium
def test_a_complaint_ends_with_the_value_that_it_was_about(browser):
    complaints = "return [...document.querySelectorAll('#controls [aria-invalid=true]')].length"
    before = browser.run(SHOWN)
    browser.run(TYPE, "flow 1 rtt_s", "abc")
    assert browser.run(complaints) == 1
    browser.run(TYPE, "buffer", "100")
    browser.wait(REST, before)
    assert browser.run(complaints) == 0
