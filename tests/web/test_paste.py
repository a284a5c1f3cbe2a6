"""Scenarios that a reader pastes or drops: read as Python reads them, and refused in one line."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
import yaml

from tcpfair.library.digest import digest
from tcpfair.papers.scenario import make_scenario
from tests.sources.readers.test_iperf3 import SAMPLE, SENT_BYTES
from tests.web.browser import needs_chromium
from tests.web.node import call, needs_node
from tests.web.shown import SHOWN, after, at_rest

SS = SAMPLE.parent.parent / "ss"
BLOCK = """\
# a comment
scenario:   # another
  capacity_bps: 2.0e+7
  wire_bytes: 1500
  payload_bytes: 1448
  buffer_pkts: 50
  duration_s: 20
  sample_s: 0.1
  jitter_s: 1.0e-4
  flows:
  - protocol: "Reno # 1"
    cc: reno
    rtt_s: .05
    params: {}
  - {protocol: 'it''s: CUBIC', cc: cubic,
     rtt_s: 0.1, start_s: 2, params: {C: 0.4, beta: 0.7}}
seed: 7
"""
OTHERS = [
    "a: [1, -2.5, 'x, y', {b: true, c: null}]\nd:\n    - - 1\n      - 2\n    -\n      e: ~\n",
    '{"scenario": {"flows": [{"cc": "reno", "rtt_s": 1e-3}]}, "seed": 3}',
    "a: {\n  b: &b {c: 1, d: 2}\n}\ne: [\n1]\nf:\n  g: {<<: *b, d: 3}\n  h: |\n    two\n    lines\n",
    "flows: []\nname: a:b http://x\nempty:\nlist:\n  - one\n  - two: 2\n    three: 3\n",
    "",
]
BAD = [
    ("a: 1\n  b: 2", "line 2: b: 2: its indentation fits no line above, or its value needs quotes"),
    ("a:\n  - b: 1\n   c: 2", "line 3: c: 2: its indentation fits no line above"),
    ("a: [1, 2", "line 1: a: [1, 2: a bracket is not closed"),
    ("a: [1, 2}\nb: 3", "line 1: a: [1, 2}: a comma or a closing bracket is needed"),
    ("a: 'b", "line 1: a: 'b: a quote is not closed"),
    ('a: "b', 'line 1: a: "b: a quote is not closed'),
    ("a: {b: 1, b: 2}", "line 1: a: {b: 1, b: 2}: a name is given twice"),
    (f"a: {{{'b' * 90}: 1, c: 2, c: 3}}", f"line 1: {'b' * 14}: 1, c: 2, c: 3}}: a name is given twice"),
    ("a: 1\n\tb: 2", "line 2: b: 2: indented by a tab; YAML takes spaces"),
    (
        "a: 1\njust words",
        "line 2: just words: a name, a colon and a space are needed here or on the line above",
    ),
    ("a:1\nb: 2", "line 2: b: 2: a name, a colon and a space, or a dash, are needed here or on the line above"),
    ("a: [1 , , 2]", "line 1: a: [1 , , 2]: expected the node content, but found ','"),
    ("a: 1\n---\nb: 2", "expected a single document in the stream, but found more"),
]


def read(name, *texts):
    """What a function of `tcpfair.paste` makes of texts, or its complaints."""
    return call(["paste.js"], [(f"paste.{name}", text) for text in texts])


@needs_node
def test_yaml_is_read_as_python_reads_it():
    texts = [BLOCK, *OTHERS]
    # PyYAML takes 1e-3 for a text; a scenario's check makes a number of it, as JSON does
    assert read("yaml", *texts) == [yaml.safe_load(text.replace("1e-3", "0.001")) for text in texts]


@needs_node
def test_what_cannot_be_read_is_refused_in_one_line():
    texts, complaints = zip(*BAD, strict=True)
    assert read("yaml", *texts) == [f"Error: {complaint}" for complaint in complaints]


@needs_node
def test_rates_of_iperf3_are_those_of_the_report():
    others = [BLOCK, '{"scenario": {}}', '{"intervals": [', '{"intervals": [{"streams": [{"socket": 5}]}]']
    found, *none = read("iperfOf", SAMPLE.read_text(), *others)
    assert none == [None] * 4
    [line] = found["lines"]
    assert line["tS"] == pytest.approx([1, 2, 3, 4], abs=0.01)
    assert line["y"] == pytest.approx([8e-6 * sent for sent in SENT_BYTES], rel=0.01)
    assert found["of"] == "as the sender handed it to its socket"


@needs_node
@pytest.mark.parametrize("interval", ["null", '{"streams": null}', '{"streams": [{"socket": 5}, null]}'])
def test_nulls_in_a_report_of_iperf3_are_refused_in_one_line(interval):
    [said] = read("recordingOf", f'{{"intervals": [{{"streams": []}}, {interval}]}}')
    assert said == "Error: intervals.1.streams: must be a list of streams, each with end and bits_per_second"


POLLS = """\
1700000000.00
State Recv-Q Send-Q Local Address:Port Peer Address:Port
ESTAB 0      0      10.0.0.1:5001      10.0.0.2:40000
\t cubic wscale:7,7 rto:204 rtt:1.5/0.75 cwnd:10 ssthresh:7
1700000000.60
ESTAB 0 0 10.0.0.1:5001 10.0.0.2:40000 cubic rtt:20/1 cwnd:20 bytes_acked:250000
ESTAB 0 0 [::1]:5001 [fe80::1%eth0]:40001 cubic rtt:20/1 cwnd:11 bytes_acked:38
1700000001.25
ESTAB 0 0 10.0.0.1:5001 10.0.0.2:40000 cubic rtt:20/1 cwnd:30 bytes_acked:1250000
"""


def log(name):
    return gzip.decompress((SS / f"{name}.log.gz").read_bytes()).decode()


@needs_node
def test_polls_of_ss_give_rates_and_windows():
    [found] = read("recordingOf", POLLS)
    rates, windows = found["lines"]
    assert (rates["panel"], rates["tS"], rates["y"]) == ("throughput", pytest.approx([1.25]), pytest.approx([8.0]))
    assert (windows["panel"], windows["y"]) == ("cwnd", [10, 20, 30])
    [found] = read("ssOf", log("sender"))
    rates = [line for line in found["lines"] if line["panel"] == "throughput"]
    assert len(rates) == 3  # without the control connections
    most = max(map(int, re.findall(r"bytes_acked:(\d+)", log("sender"))))
    carried = [sum(np.diff(line["tS"]) * line["y"][1:]) for line in rates]
    assert max(carried) == pytest.approx(8e-6 * most, rel=0.2)  # without the first second and the last part of one


@needs_node
@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("1700000000.00\n", "", "line 3: a time in s is needed before each poll"),
        ("1700000000.60", "1699999999.6", "line 5: the time 1699999999.6 is before that of the last poll"),
        ("bytes_acked:1250000", "bytes_acked:1000", "line 9: bytes_acked: 1000 after 250000"),
        ("bytes_acked", "bytes_sent", "bytes_acked: is in no line"),
        ("1700000001.25", "1700000000.9", "the polls of each connection cover less than 1 s"),
        (POLLS, log("receiver")[:30000], "bytes_received: is above bytes_acked; give the log of the sender"),
        (POLLS, log("date"), "line 8: a time in s is needed before each poll"),
        ("10.0.0.1:5001      10.0.0.2:40000", "", "line 4: cwnd without the addresses"),
    ],
)
def test_polls_that_cannot_be_read_are_refused_in_one_line(old, new, complaint):
    [said] = read("recordingOf", POLLS.replace(old, new))
    assert said.startswith(f"Error: {complaint}") and "\n" not in said


@pytest.mark.slow
@needs_chromium
def test_a_pasted_or_dropped_scenario_is_the_run_of_the_page(browser):
    shown = browser.run(SHOWN)
    use = """const box = document.getElementById("paste");
        box.value = arguments[0];
        document.getElementById("use-paste").click();
        return document.getElementById("paste-complaint").textContent;"""
    for text, complaint in (
        (BLOCK.replace("cc: reno", "cc: rno"), "flows.0.cc: unknown protocol rno; known are "),
        (BLOCK.replace("seed: 7", "seed: -7"), "seed: must be a whole number"),
        (BLOCK.replace("seed: 7", "sede: 7"), "sede: unknown; known are scenario, seed"),
        ("hello", "scenario: is missing"),
        ("a: [", "line 1: a: [: a bracket is not closed"),
    ):
        assert complaint in browser.run(use, text), text
    assert browser.run(SHOWN) == shown
    assert browser.run(use, BLOCK.replace('"Reno # 1"', "5").replace("seed: 7", "seed: '9'")) == ""
    shown = at_rest(browser, shown)
    assert browser.run("return [tcpfair.lab.scenario().flows[0].protocol, tcpfair.lab.seed()]") == ["5", "9"]
    assert browser.run(use, BLOCK) == ""
    values = yaml.safe_load(BLOCK)
    assert at_rest(browser, shown) == digest(make_scenario(values["scenario"]), 7)
    drop = """const data = new DataTransfer();
        data.items.add(new File([arguments[0]], arguments[1]));
        document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));"""
    assert after(browser, drop, BLOCK.replace("seed: 7", "seed: 8"), "run.yaml") == digest(
        make_scenario(values["scenario"]), 8
    )
    browser.run(drop, "a: [", "run.yaml")
    browser.wait(
        "return document.getElementById('said').textContent === 'run.yaml: line 1: a: [: a bracket is not closed.'"
    )
    # a recording is drawn beside the simulation, and taken away again
    lines = """const plot = document.querySelector(".plot[data-panel=throughput]");
        return tcpfair.lab.busy() ? 0 : Number(plot.dataset.lines)"""
    assert browser.wait(lines) == 2
    browser.run(drop, SAMPLE.read_text(), "reno.json")
    browser.wait(
        "return document.getElementById('recorded').textContent.startsWith('Dotted: reno.json, a stream of iperf3, as the')"
    )
    assert browser.run(lines) == 3
    browser.click("#recorded button")
    assert browser.run(lines) == 2
    browser.run(drop, POLLS, "ss.log")
    browser.wait(
        "return document.getElementById('recorded').textContent.startsWith('Dotted: ss.log, a stream of ss, as the')"
    )
    assert browser.run(lines) == 3
    assert browser.run(lines.replace("throughput", "cwnd")) == 3
    browser.click("#recorded button")
    browser.run(drop, '{"intervals": [], "error": "unable to connect"}', "none.json")
    browser.wait(
        "return document.getElementById('said').textContent === 'none.json: iperf3 reports an error: unable to connect.'"
    )
