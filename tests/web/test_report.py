"""A paper's page of the report by keyboard alone: figures grow and shrink again, tables sort and search."""

from __future__ import annotations

import pytest

from tests.web.browser import ENTER, ESCAPE, driven, needs_chromium
from tests.web.test_keyboard import move

pytestmark = [pytest.mark.slow, needs_chromium]
STOPS = 60


@pytest.fixture(scope="module")
def paper(made_up):
    return made_up.parent / "report/bhatti2009.html"


@pytest.fixture
def browser(paper):
    with driven() as browser:
        browser.open(paper)
        yield browser
        checkout = paper.resolve().parents[3].as_uri()
        assert [each for each in browser.requested() if not each.startswith(f"{checkout}/")] == []


def focus(browser, css):
    browser.run("const node = document.querySelector(arguments[0]); node.focus(); node.scrollIntoView()", css)


def test_every_stop_is_named_and_seen(browser):
    for _ in range(STOPS):
        at = move(browser)
        assert at["outlined"] and at["seen"], at
        assert browser.focused_name().strip(), at


def test_a_figure_grows_and_escape_brings_back(browser):
    focus(browser, "a.zoom")
    browser.press(ENTER)
    assert browser.run("return document.getElementById('larger').open")
    assert browser.run("return document.getElementById('larger').contains(document.activeElement)")
    assert browser.focused_name()
    browser.press(ESCAPE)
    assert not browser.run("return document.getElementById('larger').open")
    assert browser.run("return document.activeElement.matches('a.zoom')")


def test_a_table_is_sorted_and_searched(browser, paper):
    browser.open(paper.with_name("claims.html"))
    focus(browser, "table[data-tools] thead button")
    browser.press(ENTER)
    assert browser.run("return document.activeElement.closest('th').getAttribute('aria-sort')") == "ascending"
    browser.press(ENTER)
    assert browser.run("return document.activeElement.closest('th').getAttribute('aria-sort')") == "descending"
    focus(browser, ".tools input")
    assert browser.focused_name() == "Search"
    shown = "return document.querySelector('.tools output').textContent"
    everything = browser.run(shown)
    browser.press(*"cubic")
    assert browser.run(shown) != everything
    assert " of " in browser.run(shown)


def test_an_address_chooses_the_rows_of_a_table(browser, paper):
    browser.open(paper.with_name("claims.html"), "?paper=ogura&verdict=by+construction#all-claims")
    rows = "[...document.querySelectorAll('#all-claims tbody tr')].filter((row) => !row.hidden)"
    shown = browser.run(f"return {rows}.map((row) => [row.dataset.paper, row.dataset.verdict].join(', '))")
    assert set(shown) == {"ogura, by construction"}
