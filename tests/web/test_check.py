"""What the page refuses, it refuses in one line that names the field; what it takes has every default of Python."""

from __future__ import annotations

import pytest

from tcpfair.papers.scenario import make_scenario
from tests.library.test_digest import SCENARIO
from tests.web import node
from tests.web.node import needs_node

pytestmark = needs_node
FLOW = SCENARIO["flows"][0]
WEB = {"flow": FLOW, "arrivals_per_s": 1, "sizes": [{"law": "pareto", "share": 1, "shape": 1.1, "min_bytes": 1000}]}
BAD = [
    ({"capacity_bps": 0}, "scenario.capacity_bps: must be greater than 0 (got 0)"),
    ({"capacity_bps": "fast"}, "scenario.capacity_bps: must be a number (got fast)"),
    ({"capacity_bps": "Infinity"}, "scenario.capacity_bps: must be finite"),
    ({"capacity_bps": None}, "scenario.capacity_bps: is missing"),
    ({"capacity_bps": 1e12}, "scenario.capacity_bps: this page takes 1e+11 bit/s at most (got 1e+12)"),
    ({"loss_rate": 1}, "scenario.loss_rate: must be less than 1 (got 1)"),
    ({"speed": 1}, "scenario.speed: unknown; known are capacity_bps"),
    ({"flows": []}, "scenario.flows: must have one flow at least"),
    ({"flows": [None]}, "flows.0: must be a mapping of names to values"),
    ({"flows": [{**FLOW, "params": 3}]}, "flows.0.params: must be a mapping of names to values"),
    ({"web": "none"}, "scenario.web: must be a list"),
    ({"payload_bytes": 2000}, "payload_bytes must not exceed wire_bytes"),
    ({"reverse_bps": 1e6}, "reverse_buffer_pkts must be above 0 where reverse_bps is"),
    ({"flows": [{**FLOW, "direction": "reverse"}]}, "reverse_bps must be above 0"),
    ({"flows": [{**FLOW, "cc": "cubik"}]}, "flows.0.cc: unknown protocol cubik; known are alpha"),
    ({"flows": [{**FLOW, "params": {"x": 1}}]}, "flows.0.params: cubic has no x; it has"),
    ({"flows": [{**FLOW, "params": {"C": "a"}}]}, "flows.0.params.C: must be a number (got a)"),
    ({"flows": [{**FLOW, "params": {"C": 0}}]}, "flows.0.params.C: must be from 0.000001 to Infinity (got 0)"),
    ({"flows": [{**FLOW, "cc": "ccid2", "params": {"b": 2}}]}, "flows.0.params.b: must be from 0 to 1 (got 2)"),
    ({"flows": [{**FLOW, "ack_every": 3}]}, "flows.0.ack_every: must be 1 or 2 (got 3)"),
    ({"flows": [{**FLOW, "iw_pkts": 0.5}]}, "flows.0.iw_pkts: must be at least 1 (got 0.5)"),
    ({"flows": [{**FLOW, "stack": "ns2", "recovery": "reno"}]}, "flows.0.recovery: stack ns2 has sack only"),
    ({"flows": [FLOW] * 3000}, "scenario.flows: this page runs 2000 flows at most (got 3000)"),
    ({"sample_s": 1e-9}, "of 2 flows; this page keeps 2e+7 at most"),
    ({"duration_s": 1e4, "capacity_bps": 1e10}, "a full link carries 8.33e+9 packets; this page simulates 2e+9"),
    ({"sample_s": 5}, "sample_s is longer than duration_s"),
    ({"web": [{**WEB, "sizes": [{"law": "gauss"}]}]}, "web.0.sizes.0.law: must be lognormal or pareto (got gauss)"),
    ({"web": [{**WEB, "rtt_extra_mean_s": 1}]}, "web.0: rtt_cap_s must be given"),
    ({"web": [{**WEB, "arrivals_per_s": 1e8}]}, "short flows; this page runs 5e+6 at most"),
]


@pytest.fixture(scope="module")
def answers(without_papers):
    asked = [SCENARIO, *({**SCENARIO, **change} for change, _ in BAD)]
    return node.call(["engine.js"], [("check", scenario) for scenario in asked], without_papers)


def test_defaults_are_those_of_python(answers):
    assert answers[0] == make_scenario(SCENARIO).model_dump(mode="json")


@pytest.mark.parametrize("number", range(len(BAD)), ids=[said[:40] for _, said in BAD])
def test_one_line_names_the_field(answers, number):
    found = answers[1 + number]
    assert found.startswith("Refusal: ") and BAD[number][1] in found and "\n" not in found


def test_a_run_that_would_not_fit_is_refused_and_the_next_one_runs(parts):
    """Packets in flight: 20 Gb/s times 4 s, in more flows than a page has room for."""
    huge = {**SCENARIO, "capacity_bps": 2e10, "duration_s": 4, "sample_s": 1, "flows": [{**FLOW, "rtt_s": 4}] * 4}
    script = """const said = await tcpfair.run(given[0], 1).then(() => "ran", (error) => error.message);
  return [said, (await tcpfair.run(given[1], 1)).packets];"""
    said, packets = node.with_engine(script, *parts, given=[huge, SCENARIO])
    assert "a page has 2.1 GB; take fewer flows" in said
    assert packets > 100
