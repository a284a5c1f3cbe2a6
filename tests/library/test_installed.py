"""What a user of the library needs: few packages, and those that are optional only where they are needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.commands import ROOT, succeed

CORE = {"numpy", "llvmlite", "pydantic"}  # and numba where the engine must be compiled first
ELSEWHERE = {"pandas", "pyarrow", "matplotlib", "seaborn", "IPython", "xarray", "snakemake", "jinja2"}
# numba imports SciPy and PyYAML where they are installed, and does without
USED = """
import sys
sys.modules["scipy"] = sys.modules["yaml"] = None
from tcpfair import compare, flow, ruler, simulate
r = simulate(flow("cubic", rtt_ms=20), flow("reno", rtt_ms=80), rate_mbps=10, duration_s=10)
r.jfi, r.nru_db, r.harm, r.harm_in_delay, r.ruler("max_min"), r.digest, r.to_json(), r.but(seed=range(3)).jfi
print(*sys.modules)
r.plot()._repr_png_()
print(*sys.modules)
"""


def test_the_core_imports_no_more_than_it_requires_and_drawing_adds_matplotlib_alone():
    core, drawing = (
        {name.partition(".")[0] for name in line.split()}
        for line in succeed(sys.executable, "-c", USED).stdout.splitlines()
    )
    assert core >= CORE
    assert not core & ELSEWHERE
    assert drawing & ELSEWHERE == {"matplotlib"}


def test_the_package_itself_is_imported_at_once():
    """All modules of the project import it."""
    code = "import sys, tcpfair; print(sorted(name for name in sys.modules if name.partition('.')[0] in ('tcpfair', 'numpy')))"
    assert succeed(sys.executable, "-c", code).stdout == "['tcpfair']\n"


@pytest.mark.slow  # downloads the core's packages and compiles the engine
def test_a_wheel_works_in_an_empty_environment(tmp_path):
    uv = Path(sys.executable).with_name("uv")
    succeed(uv, "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("tcpfair-*.whl")
    venv.create(tmp_path / "empty", with_pip=False)
    python = tmp_path / "empty" / "bin" / "python"
    done = subprocess.run([uv, "pip", "install", "--python", python, wheel], capture_output=True, text=True)
    if done.returncode and any(
        text in done.stderr for text in ("error sending request", "dns error", "Failed to fetch")
    ):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    asks = """
import json
from tcpfair import InputError, flow, simulate
r = simulate(flow("cubic", rtt_ms=20), flow("reno", rtt_ms=80), rate_mbps=10, duration_s=10)
said = []
for ask in (r.plot, r.summary, r.to_pandas, r.to_xarray):
    try:
        ask()
    except InputError as error:
        said.append(str(error))
print(json.dumps([r.digest, said]))
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TCPFAIR"))}
    run = subprocess.run(
        [python, "-I", "-c", asks],
        cwd=tmp_path,
        env=environment | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    digest, said = json.loads(run.stdout)
    from tcpfair import flow, simulate

    here = simulate(flow("cubic", rtt_ms=20), flow("reno", rtt_ms=80), rate_mbps=10, duration_s=10)
    assert digest == here.digest
    assert [text.split()[0] for text in said] == ["matplotlib", "pandas", "pandas", "xarray"]
    assert all("pip install 'tcpfair[" in text and "\n" not in text for text in said)
    command = subprocess.run(
        [python.with_name("tcpfair"), "digest", "x.yaml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (command.returncode, command.stderr.count("\n")) == (1, 1) and "tcpfair[reproduce]" in command.stderr
