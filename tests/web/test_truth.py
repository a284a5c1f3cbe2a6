"""One run, one truth: what the page shows is of the settings as they are, or dimmed; links, undo and files give it back."""

from __future__ import annotations

import csv
import io
import re
import statistics
from functools import partial
from xml.etree import ElementTree

import pytest

from tests.web.browser import driven, needs_chromium
from tests.web.shown import READY, SHOWN, after, at_rest

pytestmark = [pytest.mark.slow, needs_chromium]
PICTURES_PER_S = 5
KOZU = "tcpfair.lab.apply({ paper: 'kozu2014', experiment: 'transitions', point: {} })"
# the value of a box of the settings, as a reader types it
TYPE = """const box = document.querySelector(`#controls input[type=text][data-key="${arguments[0]}"]`);
    box.value = arguments[1]; box.dispatchEvent(new Event("change", { bubbles: true }));"""
# what is lit although it is of other settings than those of the page
LIT = """const { state } = document.body.dataset;
    const lit = [...document.querySelectorAll(".result")].filter((node) => node.checkVisibility() && node.textContent.trim());
    const plots = [...document.querySelectorAll(".plot")].filter((node) => !node.matches(".old, .empty"));
    const bright = (node) => getComputedStyle(node).backgroundImage === "none";
    const said = document.getElementById("state").textContent;
    return { state, said, lit: lit.filter(bright).map(({ id, className }) => id || className), plots: plots.length };"""
SIDE = "const [side] = tcpfair.lab.sides();"
# files are kept in place of being saved
KEEP_FILES = """globalThis.files = {};
HTMLAnchorElement.prototype.click = function () {
  const { download } = this;
  fetch(this.href).then((answer) => answer.blob()).then(async (blob) => {
    files[download] = blob.type === "image/png" ? (await createImageBitmap(blob)).width : await blob.text();
  });
};"""


def test_no_picture_and_no_number_is_lit_under_other_settings(browser):
    before = after(browser, KOZU)
    shown = browser.run(LIT)
    assert (shown["state"], shown["said"]) == ("current", "")
    assert len(shown["lit"]) >= 4 and shown["plots"] >= 3
    browser.run(TYPE, "buffer", "300")
    shown = browser.run(LIT)
    assert shown["state"] != "current"
    assert shown["lit"] == []
    assert "settings before" in shown["said"]
    if shown["state"] == "old":
        assert shown["plots"] == 0
    # on its way the picture is of the new settings, and says how far it is
    shown = browser.wait(f"if (document.body.dataset.state !== 'part') return null; {LIT}")
    assert shown["lit"] == [] and re.match(r"Being simulated: \S+ of 120 s", shown["said"])
    at_rest(browser, before)
    assert browser.run(LIT)["state"] == "current"


def test_an_axis_of_a_preset_shows_that_its_setting_was_edited(browser):
    before = after(browser, "location.hash = '#preset=ogura/loss_sweep&protocol=Reno&loss_rate=0.01'")
    axes = """return ["Protocol", "Loss rate", "Replicate of 20"].map((name) =>
        document.querySelector(`#presets [data-key="preset ${name}"]`).value)"""
    assert browser.run(axes) == ["Reno", "0.01", "0"]
    browser.run(TYPE, "loss_rate", "0.02")
    assert browser.run(axes) == ["Reno", "edited", "0"]
    browser.run(TYPE, "seed", "7")
    assert browser.run(axes) == ["Reno", "edited", "edited"]
    at_rest(browser, before)
    after(browser, "document.getElementById('reset').click()")
    assert browser.run(axes) == ["Reno", "0.01", "0"]
    # the queue stays empty at this loss rate, so that the digest stays the same, too
    browser.run(TYPE, "buffer", "100")
    assert browser.run(axes) == ["Reno", "0.01", "0"]
    browser.wait("return !tcpfair.lab.busy()")


def test_the_packet_view_follows_the_run_of_the_page(browser):
    browser.run("tcpfair.lab.select('packets')")
    followed = "return tcpfair.packets.view.root.dataset.digest === document.body.dataset.digestA"
    browser.wait(followed)
    assert browser.run("return tcpfair.packets.view.scenario.buffer_pkts") == 417
    after(browser, TYPE, "buffer", "50")
    browser.wait(followed)
    assert browser.run("return tcpfair.packets.view.scenario.buffer_pkts") == 50
    # a stretch beyond the end of the run is refused, and nothing of the one before stays
    browser.run("const { view } = tcpfair.packets; view.from.value = '1e6'; view.read()")
    assert browser.run("return tcpfair.packets.view.status.textContent").startswith(
        "Start and length are seconds, within"
    )
    assert browser.run("return tcpfair.packets.view.recording") is None


def test_numbers_of_a_tour_are_those_of_the_table_beside_it(browser):
    after(browser, "tcpfair.tours.go(2, 1)")
    told = """return [...document.querySelectorAll(".tour-look data.live")]
        .map((node) => [node.value, node.firstChild.textContent, node.querySelector("small")?.textContent ?? ""])"""
    browser.wait(f"{told.replace('return', 'return (')}).every(([, text]) => text !== '…')")
    assert [note for _, _, note in browser.run(told)] == [""] * 4
    after(browser, TYPE.replace("#controls", ".tour"), "named buffer", "300")
    browser.wait("return [...document.querySelectorAll('.tour-look small')].length > 1")
    live = dict(each[:2] for each in browser.run(told))
    table = browser.run(
        f"{SIDE} return side.measures.filter((row) => row.metric === 'throughput_mean').map((row) => row.value)"
    )
    assert [live["short"], live["long"]] == [f"{value:.0f}" for value in table]
    assert " (as shipped 731)" in [note for _, _, note in browser.run(told)]
    browser.run("document.querySelector('.tour-answer').open = true")
    browser.wait("return /^Checked|otherwise/.test(document.querySelector('.tour-holds').textContent)")


def test_the_window_is_drawn_with_its_peaks_and_counts_are_of_what_is_measured(browser):
    drawn, events, sampled = browser.run(
        f"""{SIDE} const {{ largestOf, LOSS_KINDS }} = tcpfair.measures;
        const lines = tcpfair.panels.PANELS.find((panel) => panel.key === "cwnd").lines(side);
        const most = (values) => largestOf(values.filter((value) => value !== null));
        const losses = side.result.events.filter((event) => event.flow === 0 && LOSS_KINDS.includes(event.kind));
        const peaks = losses.map((loss) => loss.cwnd_before);
        return [most(lines[0].y), most(peaks), most(Array.from(side.result.flows[0].cwnd_pkts))];"""
    )
    assert drawn == events > 1600
    assert sampled < 1100
    counted, whole, losses, reductions = browser.run(
        f"""{SIDE} const {{ fromS, toS }} = side.of.measuring;
        const drops = side.result.link.dropped_pkts;
        const cells = [...document.querySelectorAll("#flows-now tbody tr")].map((row) => row.cells[5].textContent);
        return [tcpfair.analysis.countDuring(side.result.t_s, drops, fromS, toS), drops.at(-1), cells.map(Number),
          side.result.flows.map((flow) => flow.reductions)];"""
    )
    browser.wait(f"{SIDE} return side.weights.state === 'ready'")
    tiles = browser.run("return document.getElementById('tiles').textContent")
    assert 0 < counted < whole
    assert f"overflows{counted}packets that found the buffer full, from 10 to 120 s" in tiles
    assert losses[0] < reductions[0]
    # fair for a moment is not called converged
    assert "converged" not in tiles and re.search(
        r"all flows fair at oncefirst after [\d.]+ s, then \d+ % of the time", tiles
    )


def test_the_sentence_is_of_the_run(browser):
    def told():
        return browser.run("return document.getElementById('sentence').textContent")

    share, back = browser.run(
        f"""{SIDE} const mean = (flow) => tcpfair.findings.value({{ of: "throughput_mean", flow }}, side);
        const back = (n) => tcpfair.analysis.givenBack(side.result.events.filter((event) => event.flow === n));
        return [mean(2) / (mean(1) + mean(2)), [0, 1].map(back)];"""
    )
    percent = [f"{100 * x:.0f} %" for x in (share, *back)]
    assert told().startswith(
        f"CUBIC gets {percent[0]} of the throughput: it reduces its window by {percent[2]} at a loss, NewReno by {percent[1]}."
    )
    after(
        browser,
        "tcpfair.lab.apply({ ...tcpfair.lab.scenario(), flows: [{ protocol: 'CUBIC', cc: 'cubic', rtt_s: 0.05 }] })",
    )
    assert told().startswith("CUBIC alone has ")


def test_a_link_brings_back_what_is_looked_at(browser, lab):
    after(browser, "tcpfair.tours.go(3, 1)")
    browser.run("document.getElementById('seed-count').value = 3; document.getElementById('run-seeds').click()")
    browser.wait("return tcpfair.lab.sides()[0].seeds && !tcpfair.lab.busy()")
    browser.run(
        "tcpfair.lab.show(['cwnd', 'rtt']); tcpfair.lab.select('numbers'); document.getElementById('zoom-in').click()"
    )
    parts = ("tab=numbers", "plots=cwnd,rtt", "zoom=137.5~212.5", "seeds=3", "tour=rtt/2")
    link = browser.wait(
        "return arguments[0].every((part) => location.hash.includes(part)) && location.hash", list(parts)
    )
    with driven() as other:
        other.open(lab, link)
        other.wait("return document.body.dataset.ready && tcpfair.lab.sides()[0].seeds && !tcpfair.lab.busy()")
        assert (
            other.run("return document.querySelector('.tour h2').textContent") == "A gain that compensates for the RTT"
        )
        for name in ("A", "B"):
            digest = f"return document.body.dataset.digest{name}"
            assert other.run(digest) == browser.run(digest)
        assert other.run("return document.getElementById('sight').textContent") == "137.5 to 212.5 s"
        assert other.wait("return location.hash.includes('seeds=3') && location.hash") == link


def test_undo_and_reset(browser):
    settled = "return /^#1/.test(location.hash) && location.hash !== arguments[0] && location.hash"
    first, buffers = browser.run(SHOWN), "return tcpfair.lab.scenario().buffer_pkts"
    at = browser.wait(settled, "")
    for value in ("300", "200"):
        shown = after(browser, TYPE, "buffer", value)
        at = browser.wait(settled, at)
    for expected in (300, 417):
        browser.click("#undo")
        assert browser.run(buffers) == expected
        shown = at_rest(browser, shown)
    assert shown == first
    assert browser.run("return document.getElementById('undo').disabled")
    shown = after(browser, TYPE, "buffer", "50")
    browser.click("#reset")
    assert at_rest(browser, shown) == first


def test_files_hold_what_is_drawn(browser):
    browser.run(KEEP_FILES)
    browser.run("document.getElementById('save-which').value = 'cwnd'")
    for name in ("svg", "png", "csv"):
        browser.click(f"#save-{name}")
    files = browser.wait("return Object.keys(files).length === 3 && files")
    stem = f"tcpfair-{browser.run(SHOWN)[:8]}-"
    assert set(files) == {f"{stem}cwnd.svg", f"{stem}cwnd.png", f"{stem}A.csv"}
    assert files[f"{stem}cwnd.png"] == 1280
    picture = files[f"{stem}cwnd.svg"]
    named = [node.text for node in ElementTree.fromstring(picture).iter() if node.tag.endswith("}tspan") and node.text]
    assert picture.count("<path") == 2 and named == ["Congestion window, packets:", "1 NewReno", "2 CUBIC"]
    note, table = files[f"{stem}A.csv"].split("\n", 1)
    assert browser.run(SHOWN) in note
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == 1200 and float(rows[-1]["t_s"]) == 120
    assert float(rows[99]["cwnd_pkts_1"]) == browser.run(f"{SIDE} return side.result.flows[0].cwnd_pkts[99]")


@pytest.mark.parametrize("preset", ["kozu2014/transitions", "ha2006/intra", "bhatti2008/pair", "ogura/loss_sweep"])
def test_a_drag_shows_pictures(browser, preset):
    after(browser, f"location.hash = '#preset={preset}'")
    seconds = 2
    drag = partial(
        browser.wait,
        """const [slider] = document.querySelectorAll('#controls [data-key="capacity_bps slider"]');
        let pictures = 0;
        const watch = new MutationObserver(() => (pictures += 1));
        watch.observe(document.getElementById("strip"), { childList: true });
        return new Promise((then) => {
          const began = performance.now();
          const step = () => {
            if (performance.now() - began > 1000 * arguments[0]) return watch.disconnect(), then(pictures);
            slider.value = String(Number(slider.value) + (Number(slider.value) > 150 ? -20 : 1));
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            setTimeout(step, 50);
          };
          step();
        });""",
        seconds,
    )
    assert statistics.median(drag() for _ in range(3)) >= PICTURES_PER_S * seconds
    browser.wait("return !tcpfair.lab.busy()")


def test_an_embedded_page_is_the_picture_and_its_settings(lab):
    with driven() as browser:
        browser.open(lab, "?embed#tour=cubic/2")
        browser.wait(READY)
        seen = "return [...document.querySelectorAll(arguments[0])].map((node) => node.checkVisibility())"
        assert browser.run(seen, "header, footer") == [False, False]
        assert browser.run(seen, ".tour h2, #plots canvas")[:2] == [True, True]
