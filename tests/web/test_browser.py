"""The page in a browser, from a file, as a person uses it with a mouse; with the keyboard: `test_keyboard`."""

from __future__ import annotations

import pytest

from tests.web.browser import ENTER, needs_chromium
from tests.web.shown import SHOWN, after, natively, of_benchmark

pytestmark = [pytest.mark.slow, needs_chromium]


def test_scenarios_of_the_benchmark_give_the_native_digest(browser):
    for name, (found, native) in of_benchmark(browser).items():
        assert found == native, name


def test_a_link_of_the_report_opens_an_experiment(browser):
    shown = after(browser, "location.hash = '#preset=kozu2014/rtt_sweep'")
    assert browser.run("return tcpfair.lab.scenario().flows.length") == 2
    assert browser.run("""return document.querySelector('#presets [data-key="preset Paper"]').value""") == "kozu2014"
    assert shown == natively(browser)
    browser.run("location.hash = '#preset=kozu2014/nothing'")
    browser.wait(
        "return document.getElementById('said').textContent.includes('experiment: kozu2014/nothing is unknown')"
    )
    assert browser.run(SHOWN) == shown


def test_single_packets_step_by_step(browser):
    browser.click('[data-tour="packets"]')
    browser.wait("return document.querySelector('.tour') && tcpfair.packets.view?.root.dataset.digest")
    status = "return document.querySelector('.pv-status').textContent"
    assert "flow 1" in browser.wait(status)
    browser.click('#tours [data-key="next"]')
    browser.wait(
        "return document.querySelector('.tour-set').textContent.includes('overshoot') && tcpfair.packets.view.marked_s > 0.2"
    )
    # the step begins at what it points at: the first loss
    said = browser.wait(f"{status}.includes('lost') && document.querySelector('.pv-status').textContent")
    assert said == "0.2952 s, flow 1: 41 finds the queue full and is lost."
    browser.type('[data-key="to the next loss noticed, timeout or end of a recovery"]', ENTER)
    another = "const said = document.querySelector('.pv-status').textContent; return said !== arguments[0] && said"
    assert "reduces its window: ssthresh 22.5" in browser.wait(another, said)
    [row] = browser.run("return [...document.querySelectorAll('.pv-places tbody tr')].map((row) => row.innerText)")
    assert "recovery" in row
    painted = browser.run(
        """const canvas = document.querySelector(".pv-net");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const colors = new Set();
        for (let k = 0; k < data.length; k += 4) if (data[k + 3] > 250) colors.add(`${data[k]},${data[k + 1]},${data[k + 2]}`);
        return colors.has("0,114,178") && colors.size > 3;"""
    )
    assert painted


@pytest.mark.parametrize("width_px", [390, 1440])
def test_nothing_is_wider_than_the_window(browser, width_px):
    browser.resize(width_px, 900)
    for tour in ("nru", "packets"):
        browser.run("document.querySelector('.tour-list').open = true")
        browser.run("document.querySelector(`[data-tour=${arguments[0]}]`).click()", tour)  # a picture may be above it
        browser.wait("return document.querySelector('#tours h2')")
        assert browser.run("return document.scrollingElement.scrollWidth") <= width_px
        browser.run("document.querySelector('.tour-head button:last-of-type').click()")
        browser.wait("return document.querySelector('[data-tour]')")
