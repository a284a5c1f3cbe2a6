"""Plots and samples as files."""

import struct
import xml.etree.ElementTree as ET

from tests.web.browser import needs_chromium
from tests.web.shown import SHOWN

# a click on a button, for each plot or once, and what the page gives to the browser to save: name, type, text, first bytes
SAVE = """
const [button, wanted, which] = [arguments[0], arguments[1], document.getElementById("save-which")];
const [saved, give] = [(window.saved = []), URL.createObjectURL];
URL.createObjectURL = (blob) => {
  const address = give.call(URL, blob);
  saved.push({ blob, address });
  return address;
};
HTMLAnchorElement.prototype.click = function () {
  saved.find(({ address }) => address === this.href).name = this.download;
};
for (const key of wanted) {
  which.value = key;
  document.getElementById(button).click();
}
"""
SAVED = """
const done = window.saved.filter(({ name }) => name);
if (done.length < arguments[0]) return null;
if (window.told) return window.told.length ? window.told : null;
window.told = [];
const readOne = async ({ blob, name }) => {
  const bytes = new Uint8Array(await blob.slice(0, 24).arrayBuffer());
  return { name, type: blob.type, text: await blob.text(), bytes: [...bytes] };
};
Promise.all(done.map(readOne)).then((all) => (window.told = all));
return null;
"""
PLOTS = "return [...document.getElementById('save-which').options].map(({ value }) => value)"


def saved(browser, button: str, wanted: list[str], n: int) -> list[dict]:
    browser.run(SAVE, button, wanted)
    return browser.wait(SAVED, n)


@needs_chromium
def test_every_plot_is_saved_as_it_is_drawn_even_if_it_was_hidden(browser):
    wanted = browser.run(PLOTS)
    assert len(wanted) == 9
    assert browser.run("return document.querySelectorAll('#plots .plot').length") < len(wanted)
    for key, file in zip(wanted, saved(browser, "save-svg", wanted, len(wanted)), strict=True):
        assert file["name"].endswith(f"-{key}.svg") and file["type"] == "image/svg+xml"
        root = ET.fromstring(file["text"])
        numbers = [text for node in root.iter() for text in node.attrib.values()]
        assert not any(word in text for text in numbers for word in ("NaN", "Infinity", "undefined", "var(")), key
        assert all(node.get("fill") for node in root.iter() if node.tag.endswith("}tspan")), key
        n_paths = sum(node.tag.endswith("}path") for node in root.iter())
        assert n_paths or key == "nru", key  # whose weights come later


@needs_chromium
def test_a_picture_of_a_hidden_plot_and_the_samples(browser):
    [picture] = saved(browser, "save-png", ["rtt"], 1)
    assert picture["name"].endswith("-rtt.png") and picture["type"] == "image/png"
    head = bytes(picture["bytes"])
    assert head.startswith(b"\x89PNG") and struct.unpack(">II", head[16:]) == (1280, 600)
    browser.run("window.told = null")
    [table] = saved(browser, "save-csv", ["rtt"], 1)
    run, header, *rows = table["text"].splitlines()
    assert table["type"] == "text/csv" and run.split(";")[0] == f"# digest {browser.run(SHOWN)}"
    assert {"t_s", "cwnd_pkts_1", "cwnd_pkts_2"} <= set(header.split(","))
    assert len(rows) == browser.run("return tcpfair.lab.sides()[0].result.t_s.length")
    assert {len(row.split(",")) for row in rows} == {len(header.split(","))}


@needs_chromium
def test_a_picture_names_the_run_that_it_shows(browser):
    shown = browser.run(SHOWN)
    later = "; const [side] = tcpfair.lab.sides(); side.result = { ...side.result, digest: 'f'.repeat(64) };"
    browser.run(SAVE + later, "save-png", ["rtt"])
    [picture] = browser.wait(SAVED, 1)
    assert picture["name"] == f"tcpfair-{shown[:8]}-rtt.png"


@needs_chromium
def test_tables_of_two_sides_name_their_runs_and_long_names_fit_a_picture(browser):
    flow = {"cc": "reno", "rtt_s": 0.02}
    link = {"capacity_bps": 5e6, "wire_bytes": 1500, "payload_bytes": 1448, "buffer_pkts": 20, "sample_s": 0.1}
    names = ["x" * 120, *(f"flow with a name {n}" for n in range(12))]
    scenario = {**link, "duration_s": 5, "flows": [{**flow, "protocol": name} for name in names]}
    browser.run("tcpfair.lab.apply(arguments[0], { compare: arguments[1] })", scenario, {**scenario, "loss_rate": 0.01})
    digests = browser.wait(
        """const all = tcpfair.lab.sides();
        return all.length === 2 && !tcpfair.lab.busy() && all.map(({ result }) => result?.digest);"""
    )
    tables = saved(browser, "save-csv", ["rtt"], 2)
    assert [table["name"] for table in tables] == [
        f"tcpfair-{digest[:8]}-{side}.csv" for digest, side in zip(digests, "AB", strict=True)
    ]
    browser.run("window.told = null")
    [picture] = saved(browser, "save-svg", ["cwnd"], 1)
    ends = browser.run(
        """document.body.insertAdjacentHTML("beforeend", arguments[0]);
        const picture = document.body.lastElementChild;
        const edge = picture.getBoundingClientRect();
        const frame = picture.querySelector("rect[stroke]").getBoundingClientRect();
        return [...picture.querySelectorAll("tspan")].map((node) => node.getBoundingClientRect())
          .map(({ right, bottom }) => [right - edge.right, bottom - frame.top]);""",
        picture["text"],
    )
    assert len(ends) > 26 and all(right <= 0 and bottom <= 1 for right, bottom in ends)
