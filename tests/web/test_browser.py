"""The page in a browser, from a file, as a person uses it: a preset, two sliders, a tour, the packet view, the digest."""

from __future__ import annotations

import pytest

from tests.web.browser import ARROW_RIGHT, ENTER, needs_chromium
from tests.web.shown import CHANGED, SHOWN, at_rest, natively, of_benchmark

pytestmark = [pytest.mark.slow, needs_chromium]
# the preset that the bars of the page speak of, and what its selects are called
PRESET = {"Paper": "bhatti2009", "Experiment": "pair_ccid2_first", "Protocol": "CUBIC", "RTT, ms": "50"}


def choose(browser, label, value):
    """Pick an option of one of the preset's selects, and wait for the run."""
    before = browser.run(SHOWN)
    changed = browser.run(
        """const select = document.querySelector(`#presets [data-key="preset ${arguments[0]}"]`);
        const fits = ({ text }) => text === arguments[1] || text.startsWith(arguments[1] + ":");
        const place = [...select.options].findIndex(fits);
        if (place < 0) throw new Error(`no ${arguments[1]} in ${select.textContent}`);
        if (select.selectedIndex === place) return false;
        select.selectedIndex = place;
        select.dispatchEvent(new Event("change", { bubbles: true }));
        return true;""",
        label,
        value,
    )
    return browser.wait(CHANGED, before) if changed else before


def test_a_preset_and_two_sliders_give_the_native_digest(browser):
    for label, value in PRESET.items():
        choose(browser, label, value)
    shown = browser.run(SHOWN)
    assert browser.run("return tcpfair.lab.scenario().flows.map((flow) => flow.protocol)") == ["CCID2", "CUBIC"]
    assert shown == natively(browser)
    for key in ("capacity_bps slider", "flow 2 rtt_s slider"):
        browser.type(f'#controls [data-key="{key}"]', ARROW_RIGHT * 3)
        shown = at_rest(browser, shown)
    assert shown == natively(browser)


def test_scenarios_of_the_benchmark_give_the_native_digest(browser):
    for name, (found, native) in of_benchmark(browser).items():
        assert found == native, name


def test_a_link_of_the_report_opens_an_experiment(browser):
    before = browser.run(SHOWN)
    browser.run("location.hash = '#preset=kozu2014/rtt_sweep'")
    shown = browser.wait(CHANGED, before)
    assert browser.run("return tcpfair.lab.scenario().flows.length") == 2
    assert browser.run("""return document.querySelector('#presets [data-key="preset Paper"]').value""") == "kozu2014"
    assert shown == natively(browser)
    browser.run("location.hash = '#preset=kozu2014/nothing'")
    browser.wait(
        "return document.getElementById('said').textContent.includes('experiment: kozu2014/nothing is unknown')"
    )
    assert browser.run(SHOWN) == shown


def test_a_tour_sets_the_page_and_answers(browser):
    before = browser.run(SHOWN)
    browser.click('[data-tour="cubic"]')
    assert "K, the time to come back" in browser.text("#tours h2")
    browser.wait(CHANGED, before)
    assert browser.run("return tcpfair.lab.scenario().flows.map((flow) => flow.rtt_s < 0.01)") == [True, False]
    assert browser.run("return document.querySelectorAll('#tours math').length") == 2
    assert not browser.run("return document.querySelector('.tour-answer').open")
    browser.type("#tours .tour-answer summary", ENTER)
    assert browser.run("return document.querySelector('.tour-answer').open")
    titles = {browser.text("#tours h2")}
    for _ in range(4):
        browser.click('#tours [data-key="next"]')
        titles.add(browser.text("#tours h2"))
    assert len(titles) == 5
    browser.click('#tours [data-key="next"]')
    assert browser.run("return document.activeElement.dataset.tour") == "cubic"


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
