"""The page in Firefox: another compiler of the same module gives the same bytes."""

from __future__ import annotations

import pytest

from tests.web.browser import ARROW_LEFT, END, ESCAPE, TAB
from tests.web.firefox import MISSING, driven
from tests.web.shown import READY, SHOWN, at_rest, natively, of_benchmark

pytestmark = [pytest.mark.slow, pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]


@pytest.fixture(scope="module")
def browser(lab, tmp_path_factory):
    with driven(tmp_path_factory.mktemp("firefox") / "profile") as browser:
        browser.open(lab)
        browser.wait(READY)
        yield browser


def test_scenarios_of_the_benchmark_give_the_native_digest(browser):
    for name, (found, native) in of_benchmark(browser).items():
        assert found == native, name


def test_what_the_page_begins_with_is_drawn_and_has_the_native_digest(browser):
    shown = browser.run(SHOWN)
    assert shown == natively(browser)
    assert shown[:16] in browser.run("return document.getElementById('status').textContent")
    assert browser.run("return document.querySelectorAll('#plots canvas').length") >= 4


def go_to(browser, key):
    for _ in range(200):
        browser.press(TAB)
        if browser.run("const { key, panel } = document.activeElement.dataset; return key ?? panel") == key:
            return
    raise AssertionError(f"no way to {key} by tab")


def test_keys_do_what_they_do_elsewhere(browser):
    before = browser.run(SHOWN)
    go_to(browser, "preset Paper")
    browser.press(*"bhatti2009")
    at_rest(browser, before)
    assert browser.run("return document.activeElement.value") == "bhatti2009"
    go_to(browser, "buffer")
    seen = "return [...document.querySelectorAll('.tip')].filter((tip) => tip.checkVisibility()).length"
    assert browser.run(seen) == 1
    browser.press(ESCAPE)
    assert browser.run(seen) == 0
    go_to(browser, "throughput")
    browser.press(END, ARROW_LEFT)
    told = browser.run("return document.activeElement.getAttribute('aria-valuetext')")
    browser.wait(
        "return document.querySelector('#flows-now caption').textContent.startsWith(`At ${arguments[0]}`)",
        told.split(":")[0],
    )
