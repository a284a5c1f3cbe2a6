"""Lecture mode: large type on the whole screen, and the arrow keys go through the steps."""

import pytest

from tests.web.browser import ARROW_LEFT, ARROW_RIGHT, needs_chromium
from tests.web.shown import after

pytestmark = [pytest.mark.slow, needs_chromium]
STEP = "return tcpfair.tours.name()"


def test_arrow_keys_go_through_the_steps_of_a_lecture(browser):
    after(browser, "tcpfair.tours.go(1, 0)")
    size = "return parseFloat(getComputedStyle(document.querySelector('.tour-text')).fontSize)"
    small = browser.run(size)
    by_script = "document.querySelector('[data-key=lecture]').click()"
    browser.run(by_script)  # full screen would be refused
    assert browser.run(size) > 1.4 * small
    browser.run(by_script)
    browser.press(ARROW_RIGHT)
    assert browser.run(STEP) == "models/1"  # not in a lecture
    browser.click("[data-key=lecture]")
    assert browser.run(size) > 1.4 * small
    assert browser.run("return document.querySelector('header').checkVisibility()") is False
    browser.press(ARROW_RIGHT, ARROW_RIGHT, ARROW_LEFT)
    assert browser.run(STEP) == "models/2"
    browser.press(ARROW_LEFT, ARROW_LEFT, ARROW_LEFT)
    assert browser.run(STEP) == "models/1"
    # a box keeps its arrows
    browser.run("document.querySelector('.tour-predict input').focus()")
    browser.press(ARROW_RIGHT)
    assert browser.run(STEP) == "models/1"
    # by its own click: on a small screen it may have been scrolled below the picture
    browser.run(by_script)
    assert browser.run(size) == small
    browser.wait("return !tcpfair.lab.busy()")


def test_a_prediction_is_judged_by_the_run(browser):
    after(browser, "tcpfair.tours.go(1, 0)")
    told = "return document.querySelector('.tour-verdict').textContent"
    guess = """const form = document.querySelector(".tour-predict");
        form.querySelector("input").value = arguments[0];
        form.requestSubmit();"""
    opened = "return document.querySelector('.tour-answer').open"
    for text, verdict in (
        ("much", "A number is needed"),
        ("2", "Not yet. The flow must add twice"),
        ("9", "Not yet. Think"),
    ):
        browser.run(guess, text)
        browser.wait(f"{told}.startsWith(arguments[0])", verdict)
        assert browser.run(opened) is False
    browser.run(guess, "4")
    assert browser.wait(f"const told = (() => {{ {told} }})(); return told.startsWith('Right') && told") == (
        "Right: 3.99 times as long."
    )
    assert browser.run(opened) is True
    # a choice: the slip, then the right one
    browser.run("tcpfair.tours.go(1, 1)")
    browser.wait("return !tcpfair.lab.busy()")
    for choice, verdict in (
        ("Alpha", "Not yet. At 80 ms Alpha"),
        ("Reno", "Not yet. Think"),
        ("Libra", "Right: Libra."),
    ):
        browser.run(
            "[...document.querySelectorAll('.tour-predict button')].find((node) => node.textContent === arguments[0]).click()",
            choice,
        )
        browser.wait(f"{told}.startsWith(arguments[0])", verdict)
