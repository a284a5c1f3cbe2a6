"""No serious barriers, says axe-core where it is installed: page and report, narrow and wide, light and dark."""

from __future__ import annotations

from itertools import product

import pytest

from tests.web import axe
from tests.web.browser import driven
from tests.web.node import ROOT
from tests.web.shown import READY, after

pytestmark = pytest.mark.slow
LOOKS = [pytest.param(*look, id=f"{look[0]} {look[1]}") for look in product((390, 1440), ("light", "dark"))]
TABS = ("numbers", "epochs", "packets", "copy", "seeds", "plots")
BUILT = ROOT / "results" / "bundled" / "report.html"
PAGES = sorted(BUILT.parent.glob("report/*.html"))
PRESET = "tcpfair.lab.apply({ paper: 'bhatti2009', experiment: 'pair_ccid2_first', point: { protocol: 'CUBIC', rtt_ms: 50 } })"
AT_REST = "!tcpfair.lab.busy() && document.body.dataset.state === 'current'"
# one after the other: what it is, how the page gets there, and when it has
STATES = [
    (
        "the plane and the references",
        "tcpfair.lab.show(['plane', 'cwnd']); document.querySelector('#references button').click()",
        "document.querySelector('#references table') && !tcpfair.lab.busy()",
    ),
    (
        "references of older settings",
        "tcpfair.lab.apply({ ...tcpfair.lab.scenario(), buffer_pkts: 77 })",
        f"document.querySelector('#references .stale') && {AT_REST}",
    ),
    ("a refused paste", "tcpfair.lab.select('copy'); document.getElementById('use-paste').click()", "true"),
    (
        "two scenarios",
        "tcpfair.lab.select('plots'); document.querySelector('[data-key=compare]').click()",
        "document.body.dataset.digestB && !tcpfair.lab.busy()",
    ),
    ("an explanation", "document.querySelector('[data-key=buffer]').focus()", "true"),
    (
        "an error",
        "tcpfair.lab.apply({ ...tcpfair.lab.scenario('A'), sample_s: 1e9 })",
        "document.querySelector('#failed button')",
    ),
    ("a tour with its answer", "tcpfair.tours.go(2, 0); document.querySelector('.tour-answer').open = true", AT_REST),
    ("a tour with a prediction", "tcpfair.tours.go(1, 1)", AT_REST),
    (
        "a refused prediction",
        "document.querySelector('.tour-predict button').click()",
        "document.querySelector('.tour-verdict').textContent.startsWith('Not yet')",
    ),
]
UNFOLD = "for (const node of document.querySelectorAll('main details, .tour-list')) node.open = true"


@pytest.fixture(scope="module", autouse=True)
def installed():
    if reason := axe.missing():
        pytest.skip(reason)


@pytest.fixture
def browser():
    with driven() as browser:
        yield browser


def look(browser, page, width_px, scheme):
    browser.scheme(scheme)
    browser.resize(width_px, 900)
    browser.open(page)


@pytest.mark.parametrize(("width_px", "scheme"), LOOKS)
def test_the_packet_lab(browser, lab, width_px, scheme):
    look(browser, lab, width_px, scheme)
    browser.wait(READY)
    after(browser, PRESET)
    browser.wait("return document.querySelector('#tiles').textContent.includes('NRU case')")
    for tab in TABS:
        browser.run("tcpfair.lab.select(arguments[0])", tab)
        if tab == "seeds":
            browser.run("document.getElementById('seed-count').value = 2; document.getElementById('run-seeds').click()")
            browser.wait("return document.querySelector('#seeds-found table')")
        for _ in range(3):  # parts within parts are built when they are unfolded
            browser.wait("return new Promise((then) => setTimeout(() => then(true), 100))")
            browser.run(UNFOLD)
        assert axe.findings(browser) == [], tab
    for name, script, there in STATES:
        browser.run(script)
        browser.wait(f"return {there}")
        assert axe.findings(browser) == [], name


@pytest.mark.parametrize(("width_px", "scheme"), LOOKS)
def test_a_report(browser, made_up, width_px, scheme):
    for page in (made_up, made_up.parent / "report/bhatti2009.html", made_up.parent / "report/claims.html"):
        look(browser, page, width_px, scheme)
        assert axe.findings(browser) == [], page.name


@pytest.mark.skipif(not BUILT.is_file(), reason="results/bundled/report.html has not been built")
@pytest.mark.parametrize(("width_px", "scheme"), LOOKS)
def test_the_report_that_was_built(browser, width_px, scheme):
    for page in (BUILT, *PAGES):
        look(browser, page, width_px, scheme)
        assert axe.findings(browser) == [], page.name


def test_a_barrier_is_found(browser, lab):
    look(browser, lab, 1440, "light")
    browser.wait(READY)
    browser.run(
        "document.querySelector('footer p').style.color = '#aaa'; document.querySelector('h1').append(new Image())"
    )
    found = [line.split(":")[1].strip() for line in axe.findings(browser)]
    assert sorted(found) == ["color-contrast", "image-alt"]
