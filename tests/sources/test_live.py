"""Single runs: the first one says that it compiles."""

import os
from pathlib import Path

import numpy as np
import pytest

from tcpfair.contract.scenario import make_scenario
from tcpfair.engine import dumbbell, loop
from tcpfair.sources import live


@pytest.fixture
def scenario():
    flow = {"protocol": "Reno", "cc": "reno", "rtt_s": 0.05}
    link = {"capacity_bps": 1e7, "wire_bytes": 1500, "payload_bytes": 1448, "buffer_pkts": 20}
    return make_scenario({**link, "duration_s": 3, "sample_s": 0.5, "flows": [flow]})


def test_a_run_is_the_engines(scenario):
    assert np.array_equal(live.run(scenario, 3).cwnd_pkts, dumbbell.run(scenario, 3).cwnd_pkts)


def test_what_is_compiled_is_loaded_without_ado():
    live.prepare(lambda _: None)
    said = []
    took_s = live.prepare(said.append)
    assert said == [f"Simulator loaded in {took_s:.1f} s."]


@pytest.mark.parametrize("older_s", [-60, 60])
def test_the_cache_counts_when_it_is_not_older_than_the_source(older_s, tmp_path, monkeypatch):
    folder = tmp_path / "engine"
    folder.mkdir()
    monkeypatch.setattr(live, "simulate", type("Loop", (), {"stats": type("Stats", (), {"cache_path": str(folder)})}))
    assert not live.is_compiled()
    compiled = folder / "loop.simulate-1.py311.1.nbc"
    compiled.touch()
    source_s = Path(loop.__file__).stat().st_mtime
    os.utime(compiled, (source_s - older_s, source_s - older_s))
    assert live.is_compiled() == (older_s < 0)


def test_a_compilation_is_announced_before_it_begins(monkeypatch):
    counts = iter([0, 1])
    monkeypatch.setattr(live, "is_compiled", lambda: False)
    monkeypatch.setattr(live, "_compilations", lambda: next(counts))
    said = []
    live.prepare(said.append)
    assert said[0].startswith("The simulator is compiled now")
    assert f"{live.COMPILING_S} s" in said[0]
    assert said[1].startswith("Simulator compiled in ")


def test_a_run_that_has_to_compile_says_so_too(scenario, monkeypatch, capsys):
    monkeypatch.setattr(live, "is_compiled", lambda: False)
    live.run(scenario)
    assert "The simulator is compiled now" in capsys.readouterr().out
