"""./reproduce: an environment that is whole or made anew, whatever ended the run before, and no settings but its own.

Most tests run it in a small checkout with a stand-in for python, pip and uv. Its packages are folders with one file, put
there in two steps; like the real ones it takes a folder that is there for a whole package.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STAND_IN = """#!/bin/sh
step() {
    echo "$1" >>"$BASE/steps"
    [ $(($(wc -l <"$BASE/steps"))) = "${STOP_AT-}" ] || return 0
    [ "$STOP" = fail ] && exit 1
    kill -s "$STOP" 0
}
[ "${0##*/}" = rm ] || echo "$1 $2" >>"$BASE/calls"
case "${0##*/} $*" in
*" -V") cat "$BASE/version" ;;
*_base_executable*) echo "$BASE/python3" ;;
*flock*) exec "$REAL" "$@" ;;
*"-m venv"*) step "venv" && mkdir -p .venv/bin && step "half a venv" && ln -s "$BASE/python3" .venv/bin/python ;;
*"-m pip"*) step "pip" && { [ -e .venv/bin/uv ] || ln -s "$BASE/python3" .venv/bin/uv; } ;;
uv*sync*)
    if [ -p "$BASE/gate" ]; then
        [ -z "${ALONE-}" ] || kill -s KILL "$PPID"
        cat "$BASE/gate"
    fi
    for package in numpy numba; do
        [ -d ".venv/$package" ] && continue
        mkdir ".venv/$package" && step "half of $package" && echo >".venv/$package/whole" && step "$package"
    done ;;
uv*) step "the checkout" ;;
*"-m tcpfair"* | *"-m jupyterlab"*) [ -e .venv/numpy/whole ] && [ -e .venv/numba/whole ] && exec "$PROGRAM" ;;
rm*)
    step "rm"
    find "$@" -name whole -exec /bin/rm {} + 2>/dev/null
    step "half removed"
    exec /bin/rm "$@" ;;
esac
"""


class Checkout:
    """A checkout with what ./reproduce reads, and the stand-in beside it, as python and in place of rm."""

    def __init__(self, folder: Path):
        self.folder, self.root, self.base = folder, folder / "checkout", folder / "base"
        for name in ("reproduce", "envs/installer.txt", "envs/requirements.txt", "pyproject.toml"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.put_python(self.base)
        (folder / "bin").mkdir()
        (folder / "bin" / "rm").symlink_to(self.base / "python3")
        self.environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "REAL": sys.executable, "PROGRAM": "true"}

    def put_python(self, base: Path) -> None:
        base.mkdir()
        self.base = base
        (base / "version").write_text("Python 3.11.7\n")
        (base / "python3").write_text(STAND_IN)
        (base / "python3").chmod(0o755)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        known = {"BASE": str(self.base), "PYTHON": str(self.base / "python3")}
        for name in ("steps", "calls"):
            (self.base / name).write_text("")
        return subprocess.Popen(
            ["sh", "reproduce", *arguments],
            cwd=self.root,
            env=self.environment | known | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, **environment: str) -> int:
        """Exit status; the command itself ends with an error unless every package is whole."""
        process = self.start(*arguments, **environment)
        process.communicate(timeout=60)
        return process.returncode

    def steps(self) -> list[str]:
        return (self.base / "steps").read_text().splitlines()

    def edit_lock(self) -> None:
        with (self.root / "envs" / "requirements.txt").open("a") as lock:
            lock.write("# another\n")


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


# --- the environment -------------------------------------------------------------------------------------------------


def test_an_environment_that_is_right_is_left_alone(checkout):
    assert checkout.run() == 0
    assert "venv" in checkout.steps()
    assert checkout.run() == 0
    assert checkout.steps() == []
    calls = (checkout.base / "calls").read_text().splitlines()
    assert calls == ["-V ", "-m tcpfair"], "no Python is started to find out"


@pytest.mark.parametrize("stop", ["KILL", "TERM", "fail"])
def test_a_first_run_that_ends_at_any_step_is_made_good(checkout, stop):
    assert checkout.run() == 0
    all_steps = checkout.steps()
    assert len(all_steps) >= 10
    for at, step in enumerate(all_steps, 1):
        shutil.rmtree(checkout.root / ".venv")
        assert checkout.run(STOP_AT=str(at), STOP=stop) != 0, step
        assert not (checkout.root / ".venv" / ".stamp").exists(), step
        assert checkout.run() == 0, step


def test_an_end_while_the_old_environment_is_removed_does_not_leave_half_of_it(checkout):
    lock = (checkout.root / "envs" / "requirements.txt").read_text()
    assert checkout.run() == 0
    steps = len(checkout.steps())
    for at in range(1, steps + 1):
        checkout.edit_lock()
        assert checkout.run(STOP_AT=str(at), STOP="KILL") != 0, at
        (checkout.root / "envs" / "requirements.txt").write_text(lock)
        assert checkout.run() == 0, at


def test_another_lock_another_version_or_another_place_make_it_anew(checkout):
    assert checkout.run() == 0
    checkout.edit_lock()
    assert checkout.run() == 0
    assert "venv" in checkout.steps()
    (checkout.base / "version").write_text("Python 3.12.1\n")
    assert checkout.run() == 0
    assert "venv" in checkout.steps()
    checkout.root = checkout.root.rename(checkout.folder / "moved")
    assert checkout.run() == 0
    assert "venv" in checkout.steps()
    assert checkout.run() == 0
    assert checkout.steps() == []


def test_a_python_that_is_gone_makes_it_anew(checkout):
    assert checkout.run() == 0
    old = checkout.base
    checkout.put_python(checkout.folder / "upgraded")
    (old / "python3").unlink()
    (checkout.folder / "bin" / "rm").unlink()
    assert checkout.run() == 0
    assert "venv" in checkout.steps()
    assert (checkout.root / ".venv" / "bin" / "python").resolve() == checkout.base / "python3"


def test_an_activated_environment_can_be_made_anew(checkout):
    assert checkout.run() == 0
    checkout.edit_lock()
    path = f"{checkout.root / '.venv' / 'bin'}:{checkout.environment['PATH']}"
    assert checkout.run(PYTHON="python", PATH=path) == 0
    assert "venv" in checkout.steps()


@pytest.mark.parametrize("left_alone", [False, True], ids=["both live", "the first is killed, but not its uv"])
def test_two_first_runs_at_once_do_not_meet(checkout, left_alone):
    gate = checkout.base / "gate"
    os.mkfifo(gate)
    first = checkout.start(**({"ALONE": "1"} if left_alone else {}))
    with gate.open("w"):  # opens when the stand-in for uv waits there
        gate.unlink()
        if left_alone:
            first.wait(60)
        second = checkout.start()
        said = second.stderr.readline()
    second.communicate(timeout=60)
    first.communicate(timeout=60)
    assert said == "environment: waiting for another ./reproduce, which makes .venv\n"
    assert second.returncode == 0
    assert (first.returncode == 0, "venv" in checkout.steps()) == (not left_alone, left_alone)


COMPLETE = """
import sys
from importlib.metadata import distributions
gone = [str(file) for dist in distributions() for file in dist.files if not file.locate().is_file()]
sys.exit(f"{len(gone)} files are missing: {gone[:3]}" if gone else 0)
"""


@pytest.mark.slow
def test_a_killed_installation_is_made_good(tmp_path):
    """With the real pip and uv; killed at four moments, evenly spread over the time that a whole one takes."""
    for name in ("reproduce", "envs", "pyproject.toml", "README.md", "LICENSE", "src"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    command, python = [tmp_path / "reproduce", "bench", "--help"], tmp_path / ".venv" / "bin" / "python"

    def complete() -> str:
        return subprocess.run([python, "-c", COMPLETE], capture_output=True, text=True, check=False).stderr

    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    whole_s = time.monotonic() - started
    for part in range(1, 5):
        shutil.rmtree(tmp_path / ".venv")
        # where the tests run in the background, Ctrl-C would be ignored
        allow = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        process = subprocess.Popen(command, start_new_session=True, preexec_fn=allow)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(whole_s * part / 5)
        os.killpg(process.pid, signal.SIGKILL if part % 2 else signal.SIGINT)
        process.wait()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        assert complete() == "", f"killed after {part}/5 of the time"


# --- the settings ----------------------------------------------------------------------------------------------------

PROBE = """
import builtins, json, os, subprocess
import matplotlib
print(json.dumps({
    "line width": matplotlib.rcParams["lines.linewidth"],
    "font size": matplotlib.rcParams["font.size"],
    "backend": os.environ.get("MPLBACKEND"),
    "started before": sorted(name for name in ("stray", "other_stray") if name in globals()) + [
        name for name in ("stray",) if hasattr(builtins, name)],
    "numba": os.environ.get("NUMBA_DISABLE_JIT"),
    "snakemake": os.environ.get("SNAKEMAKE_PROFILE"),
    "bash": subprocess.run(["bash", "-c", "echo $stray"], capture_output=True, text=True).stdout,
}))
"""


def put(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_the_settings_of_the_user_do_not_reach_a_notebook(checkout, tmp_path):
    """A notebook that the workflow runs, with settings in the user's home and in variables that all would be seen in it."""
    home, other = tmp_path / "home", tmp_path / "other"
    no_kernel = json.dumps({"argv": ["false"], "display_name": "none", "language": "python"})
    for folder in (home / ".config" / "matplotlib", other / "matplotlib"):
        put(folder / "matplotlibrc", "lines.linewidth: 40\n")
    for folder in (home / ".ipython", other / "ipython"):
        put(folder / "profile_default" / "startup" / "00.py", "stray = 1\n")
    for folder in (home / ".local" / "share" / "jupyter", other / "jupyter"):
        put(folder / "kernels" / "python3" / "kernel.json", no_kernel)
    hostile = {
        "HOME": str(home),
        "MATPLOTLIBRC": put(other / "matplotlibrc", "font.size: 40\n"),
        "MPLCONFIGDIR": str(other / "matplotlib"),
        "MPLBACKEND": "svg",
        "IPYTHONDIR": str(other / "ipython"),
        "JUPYTER_PATH": str(other / "jupyter"),
        "JUPYTER_DATA_DIR": str(other / "jupyter"),
        "PYTHONSTARTUP": put(other / "startup.py", "other_stray = 1\n"),
        "PYTHONPATH": str(
            Path(put(other / "path" / "sitecustomize.py", "import builtins; builtins.stray = 1\n")).parent
        ),
        "NUMBA_DISABLE_JIT": "1",
        "SNAKEMAKE_PROFILE": "nosuch",
        "BASH_ENV": put(other / "bash", "stray=1\n"),
    }
    notebook = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {
                "cell_type": "code",
                "id": "probe",
                "metadata": {},
                "outputs": [],
                "execution_count": None,
                "source": PROBE,
            }
        ],
    }
    put(tmp_path / "probe.ipynb", json.dumps(notebook))
    program = put(
        tmp_path / "program",
        f"""#!{sys.executable}
import papermill
papermill.execute_notebook("{tmp_path}/probe.ipynb", "{tmp_path}/done.ipynb", kernel_name="python3", progress_bar=False)
""",
    )
    Path(program).chmod(0o755)
    assert checkout.run(PROGRAM=program, **hostile) == 0
    (cell,) = [cell for cell in json.loads((tmp_path / "done.ipynb").read_text())["cells"] if cell["id"] == "probe"]
    assert json.loads("".join(cell["outputs"][0]["text"])) == {
        "line width": 1.5,
        "font size": 10.0,
        "backend": "Agg",
        "started before": [],
        "numba": None,
        "snakemake": None,
        "bash": "\n",
    }
    assert not (home / ".ipython" / "profile_default" / "history.sqlite").exists()


def test_the_lab_keeps_the_users_jupyter_and_adds_its_own_settings_in_front(checkout):
    seen = checkout.folder / "seen"
    program = put(checkout.folder / "program", f"#!/bin/sh\nenv >'{seen}'\n")
    Path(program).chmod(0o755)
    given = {"JUPYTER_CONFIG_DIR": "/mine", "JUPYTER_CONFIG_PATH": "/other", "JUPYTER_PATH": "/kernels"}
    assert checkout.run("lab", PROGRAM=program, JUPYTER_NO_CONFIG="1", MPLBACKEND="svg", **given) == 0
    variables = dict(line.split("=", 1) for line in seen.read_text().splitlines())
    assert variables["JUPYTER_CONFIG_DIR"] == "/mine"
    assert variables["JUPYTER_CONFIG_PATH"] == f"{checkout.root}/envs/jupyter:/other"
    assert not {"JUPYTER_PATH", "JUPYTER_NO_CONFIG", "MPLBACKEND"} & variables.keys()
    assert variables["IPYTHONDIR"] == f"{checkout.root}/.venv/ipython"
