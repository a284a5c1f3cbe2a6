"""The three references of `tcpfair.ruler` on the page: the numbers of the library, on request, and dimmed when they are old."""

import pytest

from tcpfair import flow, simulate
from tests.web.browser import needs_chromium
from tests.web.shown import after

pytestmark = [pytest.mark.slow, needs_chromium]
ROWS = "return tcpfair.lab.sides()[0].references?.rows"
# as `simulate` sets it, and measured over the same window
APPLY = """const scenario = arguments[0];
    tcpfair.lab.apply(scenario, { seed: "3", measuring: { fromS: arguments[1], toS: scenario.duration_s, everyS: 1 } })"""


def test_numbers_are_those_of_the_library_and_belong_to_the_settings(browser):
    run = simulate(
        flow("cubic", rtt_ms=20),
        flow("reno", rtt_ms=80, start_s=4, access_bps=6e6),
        rate_mbps=20,
        duration_s=24,
        seed=3,
    )
    values = run.scenario.model_dump(mode="json", exclude_defaults=True)
    assert after(browser, APPLY, values, run._single("").window_s[0]) == run.digest
    assert browser.run(ROWS) is None
    browser.run("document.querySelector('[data-key=\"references A\"]').click()")
    rows = browser.wait(ROWS)
    for name, reference in (("self", "self"), ("solo", "solo"), ("maxMin", "max_min")):
        ratios = [row["y"] / row[name] for row in rows]
        assert ratios == pytest.approx(run.ruler(reference).tolist(), rel=1e-12), name
    table = "return document.querySelector('#references table')?.innerText ?? ''"
    for value in (rows[0]["y"] / rows[0]["self"], rows[1]["y"] / rows[1]["solo"]):
        assert f"{value:.3f}" in browser.wait(table)
    stale = "return document.querySelectorAll('#references .stale').length"
    assert browser.run(stale) == 0
    after(browser, "tcpfair.lab.apply({ ...tcpfair.lab.scenario(), buffer_pkts: 30 })")
    assert browser.run(stale) == 1 and "of the settings before" in browser.run(table)
    browser.run("document.querySelector('[data-key=\"references A\"]').click()")
    browser.wait("return !document.querySelector('#references .stale')")
    assert browser.run(ROWS) != rows
