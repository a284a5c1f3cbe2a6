"""Algorithms of one's own: a file beside the project, compiled into the same engine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tcpfair import InputError, cc, flow, simulate
from tcpfair.errors import ShortageError
from tcpfair.library import live, own, workers
from tcpfair.library.digest import digest_of_result
from tcpfair.library.workers import Job, run_all
from tests.commands import ROOT

CUBIC = Path(cc.__file__).with_name("cubic.py")
SHORT = {"rate_mbps": 1, "duration_s": 4}
[TOY] = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)


@pytest.fixture
def plain(monkeypatch):
    """Processes that interpret the engine: nothing is compiled for a few hundred packets, but what this process runs."""
    live.prepare(lambda line: None)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    workers._Process.end_all()
    yield
    workers._Process.end_all()


def written(folder, name, text=TOY):
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_copy_of_a_shipped_algorithm_gives_the_same_bits(plain, tmp_path):
    copied = written(tmp_path, "copied.py", CUBIC.read_text())
    shipped = simulate(flow("cubic", rtt_ms=40), flow("reno", rtt_ms=60), **SHORT)
    found = simulate(flow(copied, rtt_ms=40), flow("reno", rtt_ms=60), **SHORT)
    assert found.labels == ["copied, 40 ms", "reno, 60 ms"]
    assert found.digest == shipped.digest


def test_shipped_algorithms_keep_their_bits_beside_it(plain, tmp_path):
    shipped = simulate(flow("hybla", rtt_ms=40), flow("vegas", rtt_ms=60), **SHORT)
    [result] = run_all([Job(shipped.scenario, 1, (written(tmp_path, "aaa.py"),))])  # the first in the dispatch
    assert digest_of_result(result) == shipped.digest


def test_it_acts_has_parameters_and_an_edit_takes_effect(plain, tmp_path):
    path = written(tmp_path, "toy_cc.py")
    first = simulate(flow(path, rtt_ms=40), **SHORT)
    assert simulate(flow(path, rtt_ms=40, params={"growth_per_rtt": 0.1}), **SHORT).digest != first.digest
    with pytest.raises(InputError, match="^cc toy_cc: unknown parameter 'growth'; known are growth_per_rtt$"):
        simulate(flow(path, rtt_ms=40, params={"growth": 0.1}), **SHORT)
    assert first.but(seed=2).digest != first.digest == first.but(seed=1).digest
    written(tmp_path, "toy_cc.py", TOY.replace("decrease_to(f, 0.5)", "decrease_to(f, 0.25)"))
    assert first.but(seed=1).digest != first.digest
    assert len(workers._Process.alive) == 1  # the process with the older version has ended


def test_a_module_that_can_be_imported_will_do(plain, tmp_path, monkeypatch):
    written(tmp_path, "toy_module.py")
    monkeypatch.syspath_prepend(tmp_path)
    found = simulate(flow("toy_module", rtt_ms=40), **SHORT)
    assert found.labels == ["toy_module, 40 ms"]
    assert own.located("json") == ""  # a module, but no algorithm: the engine lists those that exist


def test_references_are_simulated_with_it_too(plain, tmp_path):
    found = simulate(flow(written(tmp_path, "toy_cc.py"), rtt_ms=40), flow("reno", rtt_ms=40), **SHORT)
    assert np.isfinite(found.nru_db).all() and np.isfinite(found.harm).all()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.py", None, r"a\.py: no such file; give the file of an algorithm, or one of alpha, bic"),
        ("cubic.py", TOY, r"cubic\.py: rename the file"),
        ("a-b.py", TOY, r"a-b\.py: rename the file: its name must be a Python name"),
        ("a.py", "x = 1\n", r"a\.py: no algorithm: it needs PARAMS and STATE"),
        ("a.py", "def on_ack(f, p)\n", r"a\.py:1: expected ':'"),
        ("a.py", TOY.replace("import jit", "import jjit"), r"a\.py:9: cannot import name 'jjit'"),
        ("a.py", TOY.replace("f.growth", "f.nothing"), r"a\.py:\d+: .*nothing"),
        ("a.py", TOY + "raise SystemExit(3)\n", r"a\.py:\d+: raises SystemExit, which ends the process; remove it"),
        ("a.py", TOY.replace("decrease_to(f, 0.5)", "raise SystemExit"), r"a\.py:\d+: raises SystemExit"),
        (
            "a.py",
            TOY.replace("@jit\ndef on_loss", "def on_loss"),
            r"a\.py:\d+: on_loss: cannot be compiled; write @jit",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_a_line(plain, tmp_path, name, text, said):
    path = str(tmp_path / name) if text is None else written(tmp_path, name, text)
    with pytest.raises(InputError, match=rf"^[^\n]*{said}[^\n]*$"):
        simulate(flow(path, rtt_ms=40), **SHORT)


def test_two_files_of_one_name_are_refused(tmp_path):
    (tmp_path / "b").mkdir()
    flows = [flow(written(folder, "toy_cc.py"), rtt_ms=40) for folder in (tmp_path, tmp_path / "b")]
    with pytest.raises(InputError, match="two own algorithms have one name"):
        simulate(*flows, **SHORT)


@pytest.mark.slow  # compiles the engine five times
def test_compiled_it_gives_the_same_bits_and_errors_name_the_line(tmp_path, monkeypatch):
    monkeypatch.setenv("TCPFAIR_CACHE", str(tmp_path / "cache"))
    copied = written(tmp_path, "copied.py", CUBIC.read_text())
    shipped = simulate(flow("cubic", rtt_ms=40), flow("reno", rtt_ms=60), rate_mbps=20, duration_s=20)
    assert shipped.but(flow(copied, rtt_ms=40), flow("reno", rtt_ms=60)).digest == shipped.digest
    wrong = written(tmp_path, "wrong.py", TOY.replace("f.growth", "f.nothing"))
    with pytest.raises(
        InputError, match=r"^[^\n]*wrong\.py:1[0-9]: 'nothing' is not known; name it in STATE or PARAMS$"
    ):
        shipped.but(flow(wrong, rtt_ms=40))
    written(tmp_path, "wrong.py", TOY.replace("decrease_to(f, 0.5)", "decrease_to(f, undefined)"))
    with pytest.raises(InputError, match=r"^[^\n]*wrong\.py:[12][0-9]: [^\n]*undefined[^\n]*$"):
        shipped.but(flow(wrong, rtt_ms=40))
    helper = "def half(f):\n    return 0.5\n\n\n@jit\ndef on_ack"
    helped = TOY.replace("@jit\ndef on_ack", helper).replace("decrease_to(f, 0.5)", "decrease_to(f, half(f))")
    written(tmp_path, "wrong.py", helped)
    with pytest.raises(InputError, match=r"^[^\n]*wrong\.py:2[0-9]: half: cannot be compiled; write @jit[^\n]*$"):
        shipped.but(flow(wrong, rtt_ms=40))
    written(tmp_path, "wrong.py", TOY.replace("decrease_to(f, 0.5)", 'raise ValueError("no window")'))
    with pytest.raises(InputError, match=r"^[^\n]*wrong\.py:2[0-9]: no window$"):
        shipped.but(flow(wrong, rtt_ms=40))


# --- Side by side ------------------------------------------------------------------------------------------------


@pytest.fixture
def jobs():
    found = simulate(flow("reno", rtt_ms=40), flow("cubic", rtt_ms=40), rate_mbps=5, duration_s=5, seed=range(6))
    return [Job(one.scenario, one.seed) for one in found.members]


def test_results_do_not_depend_on_the_number_of_processes(jobs, monkeypatch):
    alone = [digest_of_result(result) for result in run_all(jobs, cores=1)]
    assert len(set(alone)) == len(jobs) and not workers._IDLE
    monkeypatch.setattr(workers, "_WORTH_PKTS", 0)
    assert [digest_of_result(result) for result in run_all(jobs, cores=2)] == alone
    assert len(workers._IDLE) == 2


def test_a_wrong_run_among_many_is_said_in_a_line_and_leaves_no_process(jobs, monkeypatch):
    monkeypatch.setattr(workers, "_WORTH_PKTS", 0)
    wrong = jobs[2].scenario.model_copy(
        update={"flows": (jobs[2].scenario.flows[0].model_copy(update={"cc": "renoo"}),)}
    )
    with pytest.raises(InputError, match="^cc: unknown protocol 'renoo'"):
        run_all([*jobs[:2], Job(wrong, 1), *jobs[3:]], cores=2)
    assert not workers._Process.alive


@pytest.mark.slow
def test_a_process_that_is_killed_is_an_error_and_not_a_wait(jobs, monkeypatch):
    monkeypatch.setattr(workers, "_WORTH_PKTS", 0)
    run_all(jobs[:2], cores=2)
    for process in workers._IDLE:
        os.kill(process._process.pid, signal.SIGKILL)
    with pytest.raises(ShortageError, match="a process that simulated ended with status -9"):
        run_all(jobs, cores=2)
    assert not workers._Process.alive
    assert len(run_all(jobs, cores=2)) == len(jobs)
    workers._Process.end_all()


def test_progress_is_shown_on_stderr(monkeypatch, capsys):
    now = iter(range(0, 100, 3))
    monkeypatch.setattr(workers.time, "monotonic", lambda: next(now))
    say = workers._progress(4, True)
    for done in (1, 2, 3, 4):
        say(done)
    assert capsys.readouterr().err.split("\r") == [
        "",
        *(f"{k} of 4 runs, {3 * (4 - k)} s left " for k in (1, 2, 3)),
        "4 of 4 runs, 0 s left \n",
    ]
    workers._progress(4, False)(1)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_script_needs_no_guard(tmp_path):
    """Processes do not run the script again."""
    script = tmp_path / "script.py"
    script.write_text(
        "from tcpfair.library import workers\n"
        "workers._WORTH_PKTS = 0\n"
        "from tcpfair import flow, simulate\n"
        "r = simulate(flow('reno', rtt_ms=40), rate_mbps=5, duration_s=2, seed=range(4), cores=2)\n"
        "print('once', r.jfi.shape)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "once (4,)\n"), done.stderr
