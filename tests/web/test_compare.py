"""Two scenarios in the same plots: what they differ in, and their measures beside each other."""

import pytest

from tests.web.browser import needs_chromium
from tests.web.node import call, needs_node
from tests.web.shown import SHOWN, at_rest
from tests.web.test_copy import SCHEMA
from tests.web.test_truth import TYPE

LINES = "return document.querySelector('#plots .plot[data-panel=throughput]').getAttribute('aria-valuetext')"
DIFFERS = "return document.getElementById('differs').textContent"


@needs_node
def test_fields_and_values_that_differ():
    flow = {"protocol": "x", "cc": "reno", "rtt_s": 0.1, "params": {"beta": 0.5}}
    link = {"capacity_bps": 1e8, "buffer_pkts": 400}
    one = {"scenario": link | {"flows": [flow]}, "seed": "1", "measuring": {"fromS": 0, "analysis": {"t_e_s": 0}}}
    changed = [flow | {"ack_every": 2, "params": {"beta": 0.7}}, flow]
    other = {"scenario": link | {"loss_rate": 0.01, "flows": changed}, "seed": "2"}
    other["measuring"] = {"fromS": 3, "analysis": {"t_e_s": 5}}
    calls = [("scenarios.differences", one, each) for each in (one, other)]
    same, found = call(["measures.js", "analysis.js", "scenario.js"], calls, SCHEMA)
    assert same == []
    assert {field: values for field, *values in found if not field.startswith("flow 2")} == {
        "loss_rate": [0, 0.01],
        "flow 1 ack_every": [1, 2],
        "flow 1 params beta": [0.5, 0.7],
        "seed": ["1", "2"],
        "measured fromS": [0, 3],
    }
    assert ["flow 2 cc", "none", "reno"] in found


@pytest.mark.slow
@needs_chromium
def test_both_are_drawn_and_told_apart(browser):
    before = browser.run(SHOWN)
    browser.click("[data-key=compare]")
    assert "A and B are equal" in browser.run(DIFFERS)
    browser.wait("return document.body.dataset.digestB === arguments[0]", before)
    browser.run(TYPE, "buffer", "100")
    browser.wait("return !tcpfair.lab.busy() && document.body.dataset.digestB !== arguments[0]", before)
    assert browser.run(SHOWN) == before
    assert browser.run(DIFFERS) == "A and B differ in (A | B): buffer_pkts 417 | 100"
    # one plot for both, one frame in its file, and each line is that of its side
    assert browser.run("return document.querySelectorAll('.plot[data-panel=throughput] canvas').length") == 1
    browser.run(
        """const node = document.querySelector(".plot[data-panel=throughput]");
        node.focus();
        node.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));"""
    )
    rates = browser.run(
        "return tcpfair.lab.sides().map((side) => side.run.goodput.map((values) => values.at(-1).toFixed(2)))"
    )
    told = [f"{name}: 1 NewReno {one}, 2 CUBIC {two}" for name, (one, two) in zip("AB", rates, strict=True)]
    assert browser.run(LINES) == f"120.00 s: {told[0]}; {told[1]} Mb/s"
    # measures of both in one table
    browser.wait("return tcpfair.lab.sides().every((side) => side.weights.state === 'ready')")
    cells = browser.run(
        """const rows = [...document.querySelectorAll("#tiles tr")];
        return rows.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent));"""
    )
    assert cells[0] == ["measure", "A", "B"]
    used = browser.run(
        "return tcpfair.lab.sides().map((side) => `${(100 * tcpfair.findings.value({ of: 'utilisation' }, side)).toFixed(1)} %`)"
    )
    assert cells[1] == ["of the link used", *used]
    # the end of the comparison leaves A
    browser.click("[data-key=compare]")
    assert browser.run(DIFFERS) == "" and browser.run(SHOWN) == before
    assert at_rest(browser, "") == before
