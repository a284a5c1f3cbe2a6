"""Scenarios refuse values that mean nothing, in one line that names the field."""

import pytest

from tcpfair.cc.registry import algorithm, param_values
from tcpfair.errors import InputError
from tcpfair.papers.scenario import make_scenario
from tests.engine.scenarios import dumbbell


@pytest.mark.parametrize(
    "flow, words",
    [
        ({"rtt_s": -0.1}, r"flows\.0\.rtt_s: Input should be greater than 0 \(got -0\.1\)"),
        ({"rtt_s": 0.1, "ack_every": 3}, r"flows\.0\.ack_every"),
        ({"rtt_s": 0.1, "recovery": "tahoe"}, r"flows\.0\.recovery: Input should be 'sack', 'newreno' or 'reno'"),
        *(
            (
                {"rtt_s": 0.1, "access_bps": 1e7, name: 0.5},
                rf"flows\.0\.{name}: Input should be .* equal to 1 \(got 0\.5\)",
            )
            for name in ("iw_pkts", "rwnd_pkts", "size_pkts", "access_queue_pkts")  # such a flow would never send
        ),
        (
            {"rtt_s": 0.1, "stack": "bsd"},
            r"flows\.0\.stack: Input should be 'text', 'linux', 'linux_2_6_22', 'linux_6' or 'ns2'",
        ),
        ({"rtt_s": 0.1, "colour": 1}, r"flows\.0\.colour: Extra inputs"),
    ],
)
def test_bad_flow_values(flow, words):
    with pytest.raises(InputError, match=words):
        dumbbell(flow)


def test_payload_larger_than_the_packet():
    with pytest.raises(InputError, match="payload_bytes must not exceed wire_bytes"):
        dumbbell({"rtt_s": 0.1}, payload_bytes=1600)


@pytest.mark.parametrize(
    ("tick_s", "words"),
    [
        (-0.001, "tick_s: Input should be greater than or equal to 0"),
        (1, "tick_s: Input should be less than 1"),
        (1e-9, r"tick_s must be 0 \(no clock\) or at least 1e-06 \(got 1e-09\)"),
    ],
)
def test_ticks_that_no_emulator_has(tick_s, words):
    with pytest.raises(InputError, match=words):
        dumbbell({"rtt_s": 0.1}, tick_s=tick_s)


def test_a_scenario_needs_flows():
    with pytest.raises(InputError, match="flows: .*at least 1"):
        make_scenario(dumbbell({"rtt_s": 0.1}).model_dump() | {"flows": []})


def test_unknown_algorithm_and_parameter_name_the_known_ones():
    with pytest.raises(InputError, match=r"unknown protocol 'renoo'; known are alpha, bic"):
        algorithm("renoo")
    with pytest.raises(InputError, match=r"cc cubic: unknown parameter 'gamma'; known are C, beta"):
        param_values("cubic", {"gamma": 1})


def test_digest_changes_with_any_value():
    base = dumbbell({"rtt_s": 0.1})
    assert base.digest == dumbbell({"rtt_s": 0.1}).digest
    assert base.digest != dumbbell({"rtt_s": 0.1001}).digest
    assert base.digest != dumbbell({"rtt_s": 0.1}, jitter_s=1e-6).digest
