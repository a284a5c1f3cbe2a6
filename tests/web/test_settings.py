"""The page's inputs and what it makes of a scenario: sliders, typed numbers, samplings, self-runs, comparisons with a preset."""

from math import inf, nan

import pytest

from tests.web.node import call, needs_node
from tests.web.test_copy import SCHEMA

pytestmark = needs_node

FILES = ["dom.js", "measures.js", "analysis.js", "scenario.js", "presets.js", "inputs.js"]
STEPS = 240

CCID2 = {"protocol": "CCID2", "cc": "ccid2", "rtt_s": 0.05, "ack_every": 2, "rwnd_pkts": 2000}
CUBIC = {"protocol": "CUBIC", "cc": "cubic", "params": {"C": 0.5}, "rtt_s": 0.1, "start_s": 30, "stack": "linux"}
WEB = {**CCID2, "role": "background"}
LINK = {"capacity_bps": 1e8, "wire_bytes": 1500, "payload_bytes": 1448, "buffer_pkts": 400}
PAIR = {**LINK, "duration_s": 300, "sample_s": 1, "flows": [CCID2, CUBIC, WEB]}


@pytest.mark.parametrize(
    "options",
    [
        {"min": 1e6, "max": 1e10, "log": True},
        {"min": 1e-7, "max": 0.1, "log": True, "zero": True},
        {"min": 0, "max": 300},
    ],
)
def test_every_place_of_a_slider_has_a_value_of_its_own(options):
    places = list(range(STEPS + 1))
    values = call(FILES, [("inputs.valueAt", options, place) for place in places])
    assert call(FILES, [("inputs.placeOf", options, value) for value in values]) == places
    assert values == sorted(set(values))
    assert (values[0], values[-1]) == (0 if options.get("zero") else options["min"], options["max"])


def test_numbers_are_read_as_they_are_typed():
    typed = {"100": 100, " 1e-4 ": 1e-4, "1 000": 1000, "−0.46": -0.46, "none": inf, "": inf, "∞": inf}
    assert call(FILES, [("inputs.parsed", text) for text in typed]) == list(typed.values())
    shown = {0.1 + 0.2: "0.3", 24.97066: "24.9707", 2147483647: "2147483647", 1e-9: "1e-9", inf: "none"}
    assert call(FILES, [("inputs.plainText", x) for x in shown]) == list(shown.values())


@pytest.mark.parametrize(
    ("duration_s", "sample_s", "drawn_s"),
    [(300, 1, 0.25), (900, 60, 1.2), (600, 5, 0.5), (120, 0.1, 0.1), (12, 0.01, 0.01)],
)
def test_what_is_drawn_is_sampled_so_that_the_papers_samples_are_multiples(duration_s, sample_s, drawn_s):
    [found] = call(FILES, [("presets.drawnSampleS", {"duration_s": duration_s, "sample_s": sample_s})])
    assert found == drawn_s
    assert sample_s / found == pytest.approx(round(sample_s / found), rel=1e-12)


def test_in_a_self_run_each_foreground_flow_keeps_its_place_and_has_the_protocol():
    [own] = call(FILES, [("scenarios.selfRun", PAIR, CUBIC)])
    protocol = {"protocol": "CUBIC", "cc": "cubic", "params": {"C": 0.5}, "stack": "linux"}
    assert own["flows"] == [{**protocol, "rtt_s": 0.05, "rwnd_pkts": 2000}, CUBIC, WEB]
    assert own | {"flows": PAIR["flows"]} == PAIR


def test_what_is_recorded_does_not_make_another_run_but_every_packet_does():
    stated = {"sample_s": 0.25, "record": ["samples"], "loss_rate": 0, "flows": [{**CCID2, "start_s": 0}, CUBIC, WEB]}
    others = ({"loss_rate": 1e-6}, {"duration_s": 301}, {"flows": [CCID2, {**CUBIC, "params": {"C": 0.4}}, WEB]})
    calls = [("scenarios.packetsKey", PAIR | change) for change in ({}, stated, *others)]
    first, same, *keys = call(FILES, calls, SCHEMA)
    assert same == first and first not in keys


def test_print_is_compared_as_the_ledger_does():
    near, by_share = {"absolute": 0.05}, {"relative": 0.1}
    cases = [(0.9, near, 0.85, True), (0.9, near, 0.8499, False), (0.9, near, nan, False), (nan, near, nan, True)]
    cases += [(50.0, by_share, 55.0, True), (0.9, None, 1.0, None)]
    asked = [("presets.isWithin", {"value": value, "tolerance": of}, live) for value, of, live, _ in cases]
    assert call(FILES, asked) == [expected for *_, expected in cases]


@pytest.mark.parametrize(
    ("how", "expected"),
    [("mean", 24.0), ("median", 22.0), ("reached", 31.0), ("sd", 228**0.5), ("cv", 228**0.5 / 24)],
)
def test_a_number_over_runs_is_of_those_that_have_a_value_or_the_time_that_half_reach(how, expected):
    number = {"metric": "T_U", "flow": 0}
    runs = [[number | {"value": value}] for value in (10.0, 40.0, 22.0, nan)]
    asked = [("presets.liveValue", number | {"runs": how, "flow": flow}, runs, {}) for flow in (0, 1)]
    assert call(FILES, asked) == [pytest.approx({"value": expected, "sd": 228**0.5}), None]
