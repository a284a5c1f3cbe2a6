"""The benchmark: its scenarios, one JSON object per line, and counts that belong to the scenario."""

from __future__ import annotations

import json

import pytest

from tcpfair.cc import names
from tcpfair.engine.dumbbell import run
from tcpfair.errors import InputError
from tcpfair.files.layout import repository_root
from tcpfair.sources import ns2
from tcpfair.units import service_time_s
from tcpfair.workflow import bench

FILE = repository_root() / "config" / "bench.yaml"
TASKS = {task.name: task for task in bench.load_tasks(FILE)}


def short(name: str, duration_s: float = 5.0) -> bench.Task:
    task = TASKS[name]
    scenario = task.scenario.model_copy(update={"duration_s": duration_s})
    return bench.Task(name, scenario, ns2_duration_s=duration_s)


def test_scenarios_are_those_of_the_readme():
    assert list(TASKS) == ["two_newreno", "two_cubic_1g", "fourteen_mixed", "four_cubic_web"]
    assert len({flow.cc for flow in TASKS["fourteen_mixed"].scenario.flows}) == 14
    assert {flow.cc for task in TASKS.values() for flow in task.scenario.flows} <= set(names())


@pytest.mark.parametrize("name", TASKS)
def test_engine_fills_the_link_of_the_scenario(name):
    scenario = short(name, 40.0).scenario
    result = run(scenario, 1)
    directions = 2 if scenario.reverse_bps else 1
    capacity_pkts = 40.0 / service_time_s(scenario.wire_bytes, scenario.capacity_bps)
    assert 0.7 * capacity_pkts < result.received_total_pkts <= directions * capacity_pkts


def test_lines_are_json_with_the_promised_fields(monkeypatch, capsys):
    monkeypatch.setattr(ns2.shutil, "which", lambda name: None)
    monkeypatch.setattr(bench, "load_tasks", lambda path: [short("two_newreno")])
    bench.main(FILE, as_json=True)
    printed = capsys.readouterr()
    engine, parallel = [json.loads(text) for text in printed.out.splitlines()]
    assert {"scenario", "tool", "packets", "seconds", "packets_per_s"} <= set(engine)
    assert engine["tool"] == "engine" and engine["ratio_to_ns2"] is None
    assert engine["packets_per_s"] == pytest.approx(engine["packets"] / engine["seconds"], rel=0.05)
    assert parallel["processes"] == 2 and parallel["packets"] == pytest.approx(2 * engine["packets"], rel=0.01)
    assert "ns-2 is not installed" in printed.err


def test_a_wrong_field_is_named(tmp_path):
    path = tmp_path / "bench.yaml"
    path.write_text("{scale: {}, speed: {odd: {ns2_duration_s: 1, scenario: {capacity: 1}}}}")
    with pytest.raises(InputError, match=r"bench.yaml: odd: "):
        bench.load_tasks(path)
    path.write_text("{scale: {}, speed: {odd: {ns2_duration_s: 1, scenario: {}, flow: []}}}")
    with pytest.raises(InputError, match="unknown field 'flow'"):
        bench.load_tasks(path)
    path.write_text("{scale: {}, sped: {}}")
    with pytest.raises(InputError, match="bench.yaml: sped: the sections are speed and scale"):
        bench.load_tasks(path)


def test_ns2_carries_as_many_packets_as_the_engine():
    task = short("two_newreno", 20.0)
    try:
        theirs = bench.ns2_speed(task)
    except InputError as error:
        pytest.skip(str(error))
    assert theirs["packets"] == pytest.approx(run(task.scenario, 1).received_total_pkts, rel=0.05)
