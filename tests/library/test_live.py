"""Single runs: the first one says that it compiles."""

import importlib.util
import os
import time

import numpy as np
import pytest

from tcpfair import jit
from tcpfair.engine import dumbbell
from tcpfair.library import live
from tcpfair.papers.scenario import make_scenario


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


@pytest.mark.parametrize("ahead_s", [-86400, 86400])
def test_what_is_in_the_cache_counts_whatever_the_dates_of_the_sources(ahead_s, tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "folder", tmp_path / "cache")
    source, text = (
        tmp_path / "small.py",
        "from tcpfair.jit import jit_cached\n\n@jit_cached\ndef simulate(x): return x + 1\n",
    )

    def loaded(text):
        source.write_text(text)
        os.utime(source, (dated_s, dated_s))
        spec = importlib.util.spec_from_file_location("small", source)
        small = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(small)
        monkeypatch.setattr(live, "simulate", small.simulate)
        return small.simulate

    dated_s = time.time() + ahead_s
    simulate = loaded(text)
    assert not live.is_compiled()
    assert simulate(1) == 2
    assert live.is_compiled()
    again = loaded(text)
    assert live.is_compiled()
    assert again(1) == 2
    assert not again.compilations
    loaded(text.replace("+ 1", "+ 21"))
    assert not live.is_compiled()


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
    assert "The simulator is compiled now" in capsys.readouterr().err
