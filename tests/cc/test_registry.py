"""The registry finds every algorithm module, and a new file or an edited rule reaches the simulator by itself."""

from __future__ import annotations

import json
import math
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import tcpfair
from tcpfair import cc
from tcpfair.cc import registry, reno
from tcpfair.cc.api import COMMON_STATE, Param
from tcpfair.cc.registry import algorithm, algorithms, dtypes, nothing, param_values
from tcpfair.engine.state import RECOVERY
from tcpfair.errors import InputError
from tcpfair.files.layout import Layout, repository_root
from tcpfair.papers.papers import load_paper
from tcpfair.workflow.plan import check_algorithms
from tests.commands import succeed
from tests.small_checkout import edit

every_algorithm = pytest.mark.parametrize("name", algorithms())


@every_algorithm
def test_an_algorithm_is_complete(name):
    """It cites its sources, its way of recovery exists, and the records hold every variable."""
    chosen, (state, params) = algorithm(name), dtypes()
    assert "Source" in chosen.doc
    assert all(param.source and param.unit for param in chosen.params)
    assert chosen.recovery in RECOVERY
    assert {*COMMON_STATE, *chosen.state} <= set(state.names)
    assert {param.name for param in chosen.params} <= set(params.names)


def test_names_are_known_without_compiling():
    assert cc.names() == tuple(algorithms())


def test_an_unknown_algorithm_of_a_paper_is_one_line_that_names_file_and_field():
    paper = load_paper(Layout(repository_root()).paper_config("ogura"))
    check_algorithms(paper, Path("ogura.yaml"))
    paper.protocols["Reno"].cc.value = "renoo"
    error = (
        r"^ogura\.yaml: protocols\.Reno\.cc: protocol 'renoo' is unknown; did you mean 'reno'\? known are alpha, bic"
    )
    with pytest.raises(InputError, match=error):
        check_algorithms(paper, Path("ogura.yaml"))


def test_only_ccid2_sends_nothing_again():
    assert [name for name, a in algorithms().items() if not a.reliable] == ["ccid2"]


def test_rules_that_are_left_out_are_renos():
    assert algorithm("newreno").on_ack is reno.on_ack
    assert algorithm("reno").on_timeout is reno.on_loss
    assert algorithm("reno").on_round is nothing


@pytest.mark.parametrize(
    "rules, lent", [((), {"a", "b"}), (("on_ack",), {"b"}), (("on_loss",), {"a"}), (("on_ack", "on_loss"), set())]
)
def test_a_rule_of_reno_brings_its_parameter(rules, lent):
    module = SimpleNamespace(PARAMS=(Param("own", 3.0, "1", "a test"),), **dict.fromkeys(rules))
    assert {param.name for param in registry._params(module)} == {"own"} | lent


def test_own_parameter_wins_over_renos():
    own = Param("b", 0.7, "1", "a test")
    assert own in registry._params(SimpleNamespace(PARAMS=(own,), on_ack=None))


def test_unknown_algorithm_names_the_known_ones():
    with pytest.raises(InputError, match="unknown protocol 'swift'; known are alpha, bic,"):
        algorithm("swift")


def test_parameters_are_defaults_and_overrides():
    assert param_values("libra", {}) == {"rtt_ref_s": 0.04, "follow_queue": 0}
    assert param_values("libra", {"follow_queue": 1}) == {"rtt_ref_s": 0.04, "follow_queue": 1}


@pytest.mark.parametrize("name, known", [("libra", "rtt_ref_s, follow_queue"), ("westwood_re", "none")])
def test_unknown_parameter_names_the_known_ones(name, known):
    with pytest.raises(InputError, match=f"cc {name}: unknown parameter 'C'; known are {known}"):
        param_values(name, {"C": 0.4})


@pytest.mark.parametrize(
    "name, param, value, bounds",
    [
        # a clock of a microsecond would make HyStart's thresholds, which are ticks, vanish: slow start would end at once
        ("cubic", "tick_s", 1e-6, "0.001 to 0.01"),
        ("cubic_linux_6", "tick_s", 1e-6, "0.001 to 0.01"),
        ("cubic_linux_6", "beta", 0, "0.000976562 to 1"),
        # with these the engine would not end
        ("cubic", "C", 0, "1e-06 to inf"),
        ("cubic_linux_6", "C", -0.4, "1e-06 to inf"),
        ("cubic_rfc9438", "C", 0, "1e-06 to inf"),
        ("cubic_rtt", "C", 0, "1e-06 to inf"),
        ("cubic_rtt", "rtt_unit_s", 0, "1e-06 to inf"),
        ("constant_rate", "rtt_unit_s", 0, "1e-06 to inf"),
        *((name, "rtt_ref_s", 0, "1e-06 to inf") for name in ("alpha", "libra", "ogura")),
        ("ccid2", "b", 2, "0 to 1"),
        ("reno", "b", math.inf, "-inf to inf"),
        ("reno", "b", math.nan, "-inf to inf"),
    ],
)
def test_a_value_out_of_bounds_is_refused(name, param, value, bounds):
    with pytest.raises(InputError, match=rf"cc {name}: {param}: must be finite, from {bounds} \(got {value:g}\)"):
        param_values(name, {param: value})


# ---------------------------------------------------------------- a copy of the package, edited

TOY = '''"""Toy: the window grows by 1 % per RTT and is halved on a loss.

Source: made up for a test.
"""

from __future__ import annotations

from tcpfair.cc.api import Param, additive_increase, slow_start
from tcpfair.jit import jit

PARAMS = (Param("growth_per_rtt", 0.01, "1", "made up"),)
STATE = ()


@jit
def on_ack(f, p):
    if not slow_start(f):
        additive_increase(f, p.growth_per_rtt * f.cwnd)
'''

# for each algorithm of the command line: cwnd each second without losses, and before and after the first loss
EXPERIMENT = """
import json, sys
from tcpfair.cc.registry import algorithms
from tcpfair.engine.dumbbell import run
from tcpfair.papers.scenario import make_scenario

def simulate(cc, buffer_pkts):
    flow = {"protocol": cc, "cc": cc, "rtt_s": 0.1, "iw_pkts": 10, "initial_ssthresh_pkts": 10}
    link = {"capacity_bps": 12e6, "wire_bytes": 1500, "payload_bytes": 1500, "buffer_pkts": buffer_pkts}
    return run(make_scenario(link | {"duration_s": 20, "sample_s": 1, "flows": [flow]}), log_events=True)

def first_loss(cc):
    event = simulate(cc, buffer_pkts=1).events[0]
    return [event["cwnd_before"], event["cwnd_after"]]

names = sys.argv[1:]
print(json.dumps({
    "algorithms": list(algorithms()),
    "cwnd": {cc: simulate(cc, buffer_pkts=1000).cwnd_pkts[:, 0].tolist() for cc in names},
    "first_loss": {cc: first_loss(cc) for cc in names},
}))
"""


def experiment(source: Path, cache: Path, *names: str) -> dict:
    """Run EXPERIMENT in a fresh process on the package below ``source``."""
    places = {"PYTHONPATH": str(source), "TCPFAIR_CACHE": str(cache)}
    return json.loads(succeed(sys.executable, "-c", EXPERIMENT, *names, **places).stdout)


@pytest.mark.slow
def test_a_new_file_is_a_new_algorithm_and_an_edited_rule_is_compiled_anew(tmp_path):
    """In a copy of the package with its own cache folder."""
    source, cache = tmp_path / "source", tmp_path / "cache"
    package = source / "tcpfair"
    shutil.copytree(Path(tcpfair.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "cc" / "toy.py").write_text(TOY)
    found = experiment(source, cache, "toy", "reno")
    assert found["algorithms"] == sorted([*algorithms(), "toy"])
    cwnd = found["cwnd"]["toy"]
    # 99 round trips of 0.1 s and one packet time in 10 s; only whole packets are sent and acknowledged
    assert cwnd[19] / cwnd[9] == pytest.approx(1.01**99, rel=0.02)
    before, after = found["first_loss"]["toy"]
    assert after == before / 2  # Reno's
    before, after = found["first_loss"]["reno"]
    assert after == pytest.approx(0.5 * before)

    edit(package / "cc" / "reno.py", "decrease_to(f, p.b)", "decrease_to(f, 0.7)")
    before, after = experiment(source, cache, "reno")["first_loss"]["reno"]
    assert after == pytest.approx(0.7 * before)
