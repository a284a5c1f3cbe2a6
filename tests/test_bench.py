"""The benchmark: one JSON object per line, counts that belong to the scenario, and the ns-2 script of it."""

from __future__ import annotations

import json
import shutil

import pytest

from tcpfair import bench
from tcpfair.units import service_time_s


def test_engine_fills_the_link_of_the_scenario():
    scenario = bench.two_newreno(20.0)
    result = bench.run(scenario, 1)
    capacity_pkts = 20.0 / service_time_s(scenario.wire_bytes, scenario.capacity_bps)
    assert 0.9 * capacity_pkts < result.ends["received"].sum() <= capacity_pkts


def test_lines_are_json_with_the_promised_fields(monkeypatch, capsys):
    monkeypatch.setitem(bench.SCENARIOS, "two_newreno", lambda duration_s=5.0: bench.two_newreno(5.0))
    monkeypatch.setattr(bench.shutil, "which", lambda name: None)
    bench.main(as_json=True)
    printed = capsys.readouterr()
    (line,) = [json.loads(text) for text in printed.out.splitlines()]
    assert {"scenario", "tool", "packets", "seconds", "packets_per_s"} <= set(line)
    assert line["tool"] == "engine" and line["ratio_to_ns2"] is None
    assert line["packets_per_s"] == pytest.approx(line["packets"] / line["seconds"], rel=0.05)
    assert "ns-2 is not installed" in printed.err


def test_ns2_script_is_the_same_scenario():
    scenario = bench.two_newreno()
    script = bench.ns2_script(scenario)
    assert f"duplex-link $left $right {scenario.capacity_bps:.0f} " in script
    assert f"queue-limit $left $right {int(scenario.buffer_pkts) + 1}\n" in script
    assert script.count("Agent/TCP/Linux") == len(scenario.flows)


@pytest.mark.skipif(
    not (shutil.which("ns") or shutil.which("ns2")), reason="ns-2 is not installed (Debian package ns2)"
)
def test_ns2_carries_as_many_packets_as_the_engine(monkeypatch):
    monkeypatch.setattr(bench, "NS2_PACKETS", 100_000)
    speed = bench._ns2_speed("two_newreno")
    assert speed.packets == pytest.approx(100_000, rel=0.05)
