"""The page by keyboard alone: what a person does with it, and where the focus goes."""

from __future__ import annotations

import re

import pytest

from tests.web.browser import (
    ARROW_LEFT,
    ARROW_RIGHT,
    END,
    ENTER,
    ESCAPE,
    HOME,
    SHIFT,
    SPACE,
    TAB,
    needs_chromium,
)
from tests.web.shown import SHOWN, at_rest, natively

pytestmark = [pytest.mark.slow, needs_chromium]
MOST_STOPS = 400
TABS = ["plots", "numbers", "epochs", "seeds", "packets", "copy"]
# what a person can see and reach, in the order of the page
REACHABLE = """return [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
    .filter((node) => node.tabIndex >= 0 && !node.disabled && node.checkVisibility({ visibilityProperty: true }))
    .map((node) => (node.dataset.stop = [...document.querySelectorAll("*")].indexOf(node)));"""
FOCUS = """const node = document.activeElement;
    if (!node || node === document.body) return null;
    const { outlineStyle, outlineWidth } = getComputedStyle(node);
    const { top, bottom, left, right } = node.getBoundingClientRect();
    return {
      stop: Number(node.dataset.stop),
      key: node.dataset.key || node.dataset.tour || node.dataset.tab || node.dataset.panel || node.id,
      tag: node.tagName, outlined: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
      seen: bottom > 0 && top < innerHeight && right > 0 && left < innerWidth,
    };"""
UNFOLD = "for (const node of document.querySelectorAll('#settings details, #settings')) node.open = true"


def move(browser, *, back=False):
    browser.press(TAB, held=SHIFT if back else "")
    return browser.run(FOCUS)


def go_to(browser, key, *, back=False):
    """Tab on until the element with this key has the focus; every one on the way shows that it has it."""
    for _ in range(MOST_STOPS):
        at = move(browser, back=back)
        if at is None:  # between the last and the first of the page
            continue
        if not at["seen"]:  # a run that has ended moves the page, until the next frame
            browser.wait("return !tcpfair.lab.busy()")
            at = browser.run(FOCUS)
        assert at["outlined"] and at["seen"], at
        if at["key"] == key:
            return
    raise AssertionError(f"no way to {key} by tab")


def unfold(browser, title, *, back=False):
    """A part of the settings, by its title."""
    while browser.run("return document.activeElement.textContent") != title:
        assert move(browser, back=back)
    browser.press(ENTER)


def focused(browser):
    return browser.run(FOCUS)["key"]


def pick(browser, label, typed):
    """An option of a preset's select, by the letters that it begins with."""
    before = browser.run(SHOWN)
    go_to(browser, f"preset {label}")
    browser.press(*typed)
    shown = at_rest(browser, before)
    assert focused(browser) == f"preset {label}"
    return shown


def test_all_of_a_visit(browser):
    # a preset, by the beginnings of its names
    for label, typed in (("Paper", "bhatti2009"), ("Experiment", "pair_t"), ("Protocol", "CU"), ("RTT, ms", "50")):
        shown = pick(browser, label, typed)
    assert browser.run("return tcpfair.lab.scenario().flows.map((flow) => flow.protocol)") == ["CUBIC", "CCID2"]

    # two sliders, each of which starts a run
    for key in ("capacity_bps slider", "flow 2 rtt_s slider"):
        go_to(browser, key)
        browser.press(*[ARROW_RIGHT] * 3)
        shown = at_rest(browser, shown)
    assert shown == natively(browser)
    browser.wait(
        "return /^The run has finished. of the link used: /.test(document.getElementById('heard').textContent)"
    )

    # the values of the figures, at a cursor that all of them share
    caption = "return document.querySelector('#flows-now caption').textContent"
    assert browser.run(caption).startswith("Means from")
    go_to(browser, "throughput")
    browser.press(END, *[ARROW_LEFT] * 5)
    told = browser.wait("return document.activeElement.getAttribute('aria-valuetext')")
    at_s, first, second = re.fullmatch(r"(\S+) s: 1 CUBIC (\S+), 2 CCID2 (\S+) Mb/s", told).groups()
    cells = "return [...document.querySelectorAll('#flows-now tbody tr')].map((row) => row.cells[1].textContent)"
    browser.wait(f"{caption}.startsWith('At {at_s} s')")
    assert browser.run(cells) == [first, second]
    assert browser.run("return document.querySelector('[data-panel=cwnd]').ariaValueText").startswith(f"{at_s} s: ")
    browser.press(HOME)
    assert browser.wait("return document.activeElement.getAttribute('aria-valuetext')").startswith("0.000 s")
    browser.press(ESCAPE)
    browser.wait(f"{caption}.startsWith('Means from')")

    # single packets, step by step
    go_to(browser, "plots", back=True)
    browser.press(*[ARROW_RIGHT] * 4)
    assert focused(browser) == "packets"
    browser.wait("return tcpfair.packets.view?.recording")
    go_to(browser, "on by one event")
    status = "return document.querySelector('.pv-status').textContent"
    said = [browser.run(status)]
    for _ in range(3):
        browser.press(ENTER)
        said.append(browser.run(status))
    assert len(set(said)) == 4
    go_to(browser, "Play", back=True)
    browser.press(ENTER)
    assert browser.run("return tcpfair.packets.view.playing")
    browser.press(ESCAPE)
    assert not browser.run("return tcpfair.packets.view.playing")

    # a tour to its question, and the answer
    before = browser.run(SHOWN)
    go_to(browser, "cubic", back=True)
    browser.press(ENTER)
    assert browser.run("return document.activeElement.tagName") == "H2"
    at_rest(browser, before)
    assert "K, the time to come back" in browser.text("#tours h2")
    assert browser.run("return tcpfair.lab.scenario().flows.map((flow) => flow.rtt_s < 0.01)") == [True, False]
    assert browser.run("return document.querySelectorAll('#tours math').length") == 2
    assert not browser.run("return document.querySelector('.tour-answer').open")
    while browser.run(FOCUS)["tag"] != "SUMMARY":
        move(browser)
    opened = "return document.querySelector('.tour-answer').open"
    for key, is_open in ((SPACE, True), (ESCAPE, False), (ENTER, True)):
        browser.press(key)
        assert browser.run(opened) == is_open
        assert browser.run("return document.activeElement.parentElement.className") == "tour-answer"
    assert len(browser.run("return document.querySelector('.tour-answer > div').innerText")) > 50
    go_to(browser, "next")
    browser.press(ENTER)
    assert "Step 2" in browser.run("return document.querySelector('.tour-count').textContent")
    browser.press(ESCAPE)
    assert focused(browser) == "cubic"

    # the link and the digest
    go_to(browser, "plots")
    browser.press(END)
    assert focused(browser) == "copy"
    link = browser.wait("return document.querySelector('#copies textarea')?.value")
    while browser.run(FOCUS)["tag"] != "BUTTON" or browser.focused_name() != "Copy: Link":
        assert move(browser)
    browser.press(ENTER)
    assert browser.wait(
        "return document.getElementById('heard').textContent.match(/^(copied|selected: copy it)$/)?.[0]"
    )
    shown = browser.run(SHOWN)
    assert browser.run("return document.querySelector('#copies .digest').textContent") == shown
    assert re.search(r"lab\.html#1\.\S+$", link)


@pytest.mark.parametrize(("width_px", "tab"), [*((1440, tab) for tab in TABS), (390, "plots"), (390, "packets")])
def test_tab_goes_through_everything_in_order_and_out_again(browser, width_px, tab):
    browser.resize(width_px, 900)
    browser.run("document.querySelector('.tour-list').open = true")
    browser.run("tcpfair.lab.select(arguments[0])", tab)
    for _ in range(3):  # parts within parts are built when they are unfolded
        browser.run(UNFOLD)
        browser.wait("return new Promise((then) => setTimeout(() => then(true), 100))")
    if tab == "copy":
        browser.wait("return document.querySelector('#copies textarea')")
    expected = browser.run(REACHABLE)
    assert len(expected) > 100
    for back in (False, True):
        stops = []
        while (at := move(browser, back=back)) is not None:
            if stops and at["stop"] == stops[0]:
                break  # round again
            assert at["outlined"], at
            assert at["seen"], at
            stops.append(at["stop"])
            if not back:
                assert browser.focused_name().strip(), at
            assert len(stops) < MOST_STOPS, "the focus does not come out"
        assert stops == (expected[::-1] if back else expected)


def test_explanations_are_seen_and_heard_without_a_mouse(browser):
    browser.run(UNFOLD)
    browser.wait("return document.querySelectorAll('#controls .tip').length > 20")
    told = browser.run(
        """return [...document.querySelectorAll("#controls .tip")].filter((tip) =>
            tip.textContent && tip.parentElement.querySelector(`[aria-describedby~="${tip.id}"]`)).length"""
    )
    assert told == browser.run("return document.querySelectorAll('#controls .tip').length")
    assert browser.run("return document.querySelectorAll('#controls [title]').length") == 0
    seen = """return [...document.querySelectorAll("#controls .tip")]
        .filter((tip) => tip.checkVisibility()).map((tip) => tip.textContent)"""
    assert browser.run(seen) == []
    go_to(browser, "buffer")
    text = "return tcpfair.schema.defaults.scenario.buffer_pkts.what"
    assert browser.run(seen) == [browser.run(text)]
    browser.press(ESCAPE)
    assert browser.run(seen) == []
    # a second Escape folds the part away, and Enter opens it again
    browser.press(ESCAPE)
    assert browser.run("return document.activeElement.textContent") == "Bottleneck link"
    assert not browser.run("return document.activeElement.parentElement.open")
    browser.press(ENTER)
    assert browser.run("return document.activeElement.parentElement.open")


def test_escape_brings_back_what_a_box_held(browser):
    before = browser.run(SHOWN)
    go_to(browser, "duration_s")
    held = browser.run("return document.activeElement.value")
    browser.press(*"nonsense", ESCAPE)
    assert browser.run("return document.activeElement.value") == held
    go_to(browser, "sample_s")
    assert browser.run(SHOWN) == before
    assert browser.run("return [...document.querySelectorAll('.complaint')].every((node) => !node.textContent)")


def test_the_focus_stays_near_what_goes_away(browser):
    go_to(browser, "flow 2 Remove flow")
    browser.press(ENTER)
    assert browser.run("return tcpfair.lab.scenario().flows.length") == 1
    assert browser.run("return document.querySelector('#controls').contains(document.activeElement)")
    # laws of the sizes of short flows: added, and taken away again
    unfold(browser, "Short flows")
    go_to(browser, "add web")
    browser.press(ENTER)
    assert focused(browser) == "add web"
    unfold(browser, "sizes", back=True)
    sizes = "return tcpfair.lab.scenario().web[0].sizes.map((law) => law.law)"
    before = browser.run(SHOWN)
    go_to(browser, "web 1 add lognormal")
    browser.press(ENTER)
    assert browser.run(sizes) == ["lognormal", "pareto", "lognormal"]
    assert focused(browser) == "web 1 add lognormal"
    before = at_rest(browser, before)
    go_to(browser, "web 1 size 2 remove", back=True)
    browser.press(ENTER)
    assert browser.run(sizes) == ["lognormal", "lognormal"]
    at_rest(browser, before)
