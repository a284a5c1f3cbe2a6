"""A curve that is drawn before the run's curve is shown: by pointer, by keyboard, and judged by the run."""

from __future__ import annotations

import pytest

from tests.web.browser import needs_chromium
from tests.web.shown import after

pytestmark = [pytest.mark.slow, needs_chromium]
OPENED = "return !tcpfair.lab.busy() && document.querySelector('.drawn:not(.uncovered)') !== null"
VERDICT = "return document.querySelector('.tour-predict .tour-verdict').textContent"
CHECK = """document.querySelector('[data-key="check curve"]').click()"""
PRESS = """const node = document.querySelector(".drawn");
    for (const [key, times, shiftKey] of arguments[0])
      for (let k = 0; k < times; k += 1) node.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
    return node.getAttribute("aria-valuetext");"""
# places of the run's curve of flow 2, px
CURVE = """const { fromS, toS, low, high } = tcpfair.lab.plots.scaleOf("cwnd");
    const { left, top, width, height } = document.querySelector(".drawn").getBoundingClientRect();
    return Array.from({ length: 13 }, (_, k) => {
      const tS = fromS + ((toS - fromS) * k) / 12;
      const { value } = tcpfair.lab.plots.valuesAt("cwnd", tcpfair.lab.sides()[0], tS).find(({ flow }) => flow === 1);
      return [left + (width * k) / 12, top + (height * (high - value)) / (high - low)].map(Math.round);
    });"""
COVERED = "return document.querySelector('.plot[data-panel=cwnd]').inert"


def draw(browser, places):
    (x, y), *rest = places
    moves = [{"type": "pointerMove", "duration": 20, "x": to_x, "y": to_y} for to_x, to_y in rest]
    actions = [{"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0}, *moves]
    actions.append({"type": "pointerUp", "button": 0})
    browser.act({"type": "pointer", "id": "mouse", "actions": actions})


def test_a_curve_is_drawn_and_judged(browser):
    after(browser, "tcpfair.tours.open('cubic/1', true)")
    browser.wait(OPENED)
    assert browser.run(COVERED)
    browser.run(CHECK)
    assert browser.run(VERDICT).startswith("Draw the curve first")
    # the straight line, by keyboard
    levels = browser.run(CURVE)
    up = (levels[0][1] - levels[-1][1]) / browser.run("return document.querySelector('.drawn').clientHeight")
    spoken = browser.run(PRESS, [["ArrowRight", 24, False], ["ArrowUp", round(up / 0.02), False]])
    assert spoken.endswith(" packets")
    browser.run(CHECK)
    assert browser.run(VERDICT).startswith("Not yet. A straight line is the window of Reno.")
    assert browser.run(COVERED)
    # the curve of the run, by pointer
    draw(browser, levels)
    browser.run(CHECK)
    assert browser.run(VERDICT) == "Right: your curve is close to that of the run."
    assert not browser.run(COVERED)
    zoom = "const { fromS, toS } = tcpfair.lab.plots.scaleOf('cwnd'); return toS - fromS"
    assert browser.run(zoom) < 30  # drawing does not zoom the plot
    # another run stays open; another step has nothing to draw
    browser.click('#tours [data-key="next"]')
    assert browser.run("return document.querySelectorAll('.drawn, .covering').length") == 0
    assert not browser.run(COVERED)
