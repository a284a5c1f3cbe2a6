"""The plane of flow 1 against flow 2: its lines by hand, and its path is that of the page's run."""

import pytest

from tests.web.browser import needs_chromium
from tests.web.node import call, needs_node
from tests.web.shown import SHOWN, after, at_rest

FILES = ["dom.js", "measures.js", "plane.js"]
LINK = {"capacity_bps": 12e6, "wire_bytes": 1500, "buffer_pkts": 100}  # 1000 packets a second, a full queue takes 0.1 s


def flows(*protocols):
    return [{"protocol": name, "rtt_s": 0.1 if name == "near" else 0.3} for name in protocols]


@needs_node
@pytest.mark.parametrize(
    ("protocols", "groups"),
    [
        (("near", "near"), [[0], [1]]),
        (("near", "far"), [[0], [1]]),
        (("near", "far", "near"), [[0, 2], [1]]),
        (("near", "near", "near"), []),
        (("near",), []),
    ],
)
def test_the_two_groups(protocols, groups):
    of = {"scenario": {**LINK, "flows": flows(*protocols)}}
    assert call(FILES, [("plane.groupsOf", of, list(range(len(protocols))))]) == [groups]


@needs_node
def test_full_link_full_buffer_and_equal_throughputs_by_hand():
    of = {"scenario": {**LINK, "flows": flows("near", "far", "near")}}
    [found] = call(FILES, [("plane.linesOf", of, [[0, 2], [1]])])
    assert found["link"] == [pytest.approx(end) for end in ([100, 0], [0, 300])]
    assert found["buffer"] == [pytest.approx(end) for end in ([200, 0], [0, 400])]
    # each of three flows has a third of 1000 packets a second, without queue and with a full one
    assert found["fair"] == [pytest.approx(end) for end in ([0, 0], [200 / 3, 100], [400 / 3, 400 / 3])]


@pytest.mark.slow
@needs_chromium
def test_the_path_is_of_the_run_and_is_dimmed_with_it(browser):
    before = browser.run(SHOWN)
    browser.run("tcpfair.lab.show(['plane'])")
    read = """const node = document.querySelector('.plot[data-panel=plane]');
        const [side] = tcpfair.lab.sides();
        node.focus();
        node.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
        return [node.getAttribute("aria-valuetext"), side.result.flows.map((flow) => flow.cwnd_pkts.at(-1).toFixed(1))];"""
    told, windows = browser.run(read)
    assert told == f"120.00 s: 1 NewReno {windows[0]}, 2 CUBIC {windows[1]} packets"
    assert browser.run(
        """tcpfair.lab.apply({ ...tcpfair.lab.scenario(), buffer_pkts: 50 });
        return document.querySelector('.plot[data-panel=plane]').matches('.old')"""
    )
    at_rest(browser, before)
    again, other = browser.run(read)
    assert again != told and f"1 NewReno {other[0]}" in again
    # one flow has no plane, and the page says so
    after(browser, "const s = tcpfair.lab.scenario(); tcpfair.lab.apply({ ...s, flows: s.flows.slice(0, 1) })")
    assert "needs two flows" in browser.run("return document.querySelector('#plots .nothing').textContent")
    assert browser.run("return document.querySelectorAll('.plane').length") == 0
