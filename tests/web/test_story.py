"""Every step of every tour as it is entered: text, settings and the first picture are in sight together."""

from __future__ import annotations

import pytest

from tcpfair.web.tours import load
from tests.web.browser import ENTER, driven, needs_chromium
from tests.web.shown import READY

pytestmark = [pytest.mark.slow, needs_chromium]
SIZES = [(1280, 720), (1440, 900), (390, 844)]
TOURS = "return [...document.querySelectorAll('[data-tour]')].map((card) => card.dataset.tour)"
# a picture has been drawn: of the step's run, or as far as that has come
DRAWN = """const tab = document.body.dataset.tab;
    if (document.body.dataset.state === "old") return false;
    if (tab === "packets") return tcpfair.packets.view.root.dataset.digest === document.body.dataset.digestA;
    return Boolean(document.querySelector("#plots .panel:first-child :is(canvas, .plane)"));"""
# what is not wholly to be seen: outside the window or its own part of it, or with something else before its corners
HIDDEN = """const packets = document.body.dataset.tab === "packets";
    const found = {
      text: document.querySelector(".tour-text"), heading: document.querySelector(".tour h2"),
      setting: document.querySelector(".tour .named .row"),
      picture: document.querySelector(packets ? ".pv-net" : "#plots .panel:first-child .plot:not(.empty) :is(canvas, .plane)"),
    };
    const seen = (node) => {
      const { top, bottom, left, right } = node.getBoundingClientRect();
      const corners = [[left + 2, top + 2], [right - 3, top + 2], [left + 2, bottom - 3], [right - 3, bottom - 3]];
      if (top < 0 || left < 0 || bottom > innerHeight || right > innerWidth || bottom - top < 10) return false;
      return corners.every(([x, y]) => {
        const before = document.elementFromPoint(x, y);
        return before && (node.contains(before) || before.contains(node) || node.parentElement.contains(before));
      });
    };
    return Object.entries(found).filter(([, node]) => !node || !seen(node)).map(([name]) => name);"""


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_text_settings_and_picture_are_in_sight_together(lab, size):
    with driven(*size) as browser:
        browser.resize(*size)
        browser.open(lab)
        browser.wait(READY)
        hidden, steps = {}, 0
        for k, tour in enumerate(browser.run(TOURS)):
            browser.run("tcpfair.tours.go(arguments[0], 0)", k)
            while True:
                browser.wait(DRAWN)
                steps += 1
                if found := browser.run(HIDDEN):
                    hidden[browser.run("return tcpfair.tours.name()")] = found
                assert browser.run("return document.querySelector('.error')?.textContent ?? ''") == "", tour
                if browser.text('#tours [data-key="next"]') == "Done":
                    break
                browser.type('#tours [data-key="next"]', ENTER)  # on a phone, the tabs may be before it
        assert hidden == {}
        assert steps == sum(len(tour.steps) for tour in load().tours)
