"""Runs that trap, hang or lose their worker: the page says so in one line, and the next run is as if nothing had been.

A module that does so takes the engine's place in the workers that are there; those that the page makes anew get its own.
"""

from __future__ import annotations

import pytest

from tcpfair.web import wasm
from tcpfair.web.link import link
from tests.web.browser import ENTER, driven, needs_chromium
from tests.web.shown import READY, SHOWN, at_rest, natively

pytestmark = [pytest.mark.slow, needs_chromium]
# workers as the page makes them, one at a time, but known to the test, with what they were given to load
WATCHED = """
Object.defineProperty(navigator, "hardwareConcurrency", { get: () => 1 });
globalThis.seats = [];
globalThis.Worker = class extends Worker {
  constructor(...given) { super(...given); this.alive = true; seats.push(this); }
  terminate() { this.alive = false; super.terminate(); }
  postMessage(data, ...more) { if (data.kind === "load") this.loaded = data; super.postMessage(data, ...more); }
};
"""
SPOIL = """return WebAssembly.compile(new Uint8Array(arguments[0])).then((module) =>
    Object.getPrototypeOf(Worker).prototype.postMessage.call(seats[0], { ...seats[0].loaded, module })).then(() => true);"""
FAILED = "return document.querySelector('#failed .error')?.textContent"
SHORTER = "const now = tcpfair.lab.scenario(); tcpfair.lab.apply({ ...now, duration_s: now.duration_s - 1 })"
LONGEST_S = 90.0

# a module whose ``run`` sets up, and as soon as time is to go on, does something
ENGINE = """target datalayout = ""
target triple = ""
declare void @llvm.trap()
define i32 @run(ptr %heap, i32 %bytes, double %until_s) {
  %goes_on = fcmp ogt double %until_s, 0.0
  br i1 %goes_on, label %does, label %done
does:
  DOES
done:
  ret i32 0
}
"""
TRAPS = "call void @llvm.trap()\n  unreachable"
HANGS = "br label %does"


@pytest.fixture
def browser(lab):
    with driven() as browser:
        browser.before_pages(WATCHED)
        browser.open(lab)
        browser.wait(READY)
        browser.wait("return !tcpfair.lab.busy()")
        yield browser


def spoiled(browser, does):
    """The digest that is shown, and a worker whose next run does this; the run is begun."""
    module = link(wasm._object([ENGINE.replace("DOES", does)]), "run")
    browser.wait(SPOIL, list(module))
    before = browser.run(SHOWN)
    browser.run(SHORTER)
    return before


def works_again(browser, before):
    shown = at_rest(browser, before)
    assert shown == natively(browser)
    assert browser.run(FAILED) is None
    assert browser.run("return seats.map((seat) => seat.alive)") == [False, True]


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (TRAPS, "the engine stopped during the run (unreachable); its results are discarded"),
        (HANGS, "the run was stopped because it did not respond for 20 s; its results are discarded"),
    ],
    ids=["trap", "hang"],
)
def test_a_run_that_does_not_end_is_said_in_a_line_and_the_next_one_works(browser, does, said):
    before = spoiled(browser, does)
    line = browser.wait(FAILED, within_s=LONGEST_S)
    assert line == f"{said}, and the next run starts a new engine. The page shows the run before it."
    assert browser.run(SHOWN) == before
    assert browser.run("return document.querySelector('#failed .error').getBoundingClientRect().bottom < innerHeight")
    browser.type("#failed button", ENTER)
    works_again(browser, before)


def test_a_run_that_hangs_can_be_cancelled(browser):
    before = spoiled(browser, HANGS)
    browser.wait("return !document.getElementById('progress').hidden")
    browser.type("#cancel", ENTER)
    browser.wait("return document.getElementById('said').textContent === 'Cancelled.'")
    assert browser.run("return document.activeElement.id") == "work"
    browser.run(SHORTER)
    works_again(browser, before)


def test_a_worker_that_is_lost_is_replaced(browser):
    before = spoiled(browser, HANGS)
    browser.run("seats[0].dispatchEvent(new ErrorEvent('error', { message: 'out of luck', cancelable: true }))")
    line = browser.wait(FAILED)
    assert line.startswith("the engine's worker stopped: out of luck")
    browser.type("#failed button", ENTER)
    works_again(browser, before)
