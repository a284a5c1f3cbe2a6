"""NUMBA_DISABLE_JIT=1: the engine as plain Python, for a debugger, with the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tcpfair.library.digest import digest
from tcpfair.papers.scenario import make_scenario
from tests.engine.scenarios import dumbbell
from tests.engine.test_traffic import source, with_web

ASKS = """
import json, sys
from tcpfair.papers.scenario import make_scenario
from tcpfair.library import live
from tcpfair.library.digest import digest
live.prepare(lambda text: print(text, file=sys.stderr))
print(json.dumps([digest(make_scenario(values), seed) for seed, values in enumerate(json.load(sys.stdin), 1)]))
"""
SHORT = {"duration_s": 2}


def scenarios():
    for cc in ("cubic", "ogura", "hybla", "yeah", "compound", "westwood", "illinois", "htcp"):
        yield dumbbell({"cc": cc, "rtt_s": 0.05}, {"rtt_s": 0.03, "recovery": "newreno"}, **SHORT)
    linux = {"cc": "cubic", "rtt_s": 0.05, "stack": "linux", "reduction": "prr"}
    own_agent = {"cc": "sack", "rtt_s": 0.04, "stack": "ns2"}
    yield dumbbell(linux, own_agent, loss_rate=0.02, jitter_s=0.002, **SHORT)
    yield dumbbell(linux, {"cc": "ccid2", "rtt_s": 0.05}, buffer_pkts=1, **SHORT)
    reverse = {"rtt_s": 0.04, "direction": "reverse"}
    yield dumbbell(linux, reverse, reverse_bps=2e6, reverse_buffer_pkts=4.5, synchronised_losses=True, **SHORT)
    yield with_web(source(rtt_extra_mean_s=0.05, rtt_cap_s=0.5)).model_copy(update=SHORT)


@pytest.mark.slow
def test_plain_python_gives_the_same_bits():
    asked = [scenario.model_dump() for scenario in scenarios()]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASKS],
        input=json.dumps(asked),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "compiled" not in done.stderr
    assert json.loads(done.stdout) == [digest(make_scenario(values), seed) for seed, values in enumerate(asked, 1)]
