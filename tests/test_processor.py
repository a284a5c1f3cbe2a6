"""Numbers in files are the same whatever instructions the processor has and the libraries choose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.scripts import SCRIPTS, script

# instruction sets beyond numpy's baseline that this processor has: numpy chooses its loops by them
DISPATCHED = " ".join(np.show_config("dicts")["SIMD Extensions"]["found"])
VARIABLES = ("NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE", "GLIBC_TUNABLES")
PLAIN = {
    "NPY_DISABLE_CPU_FEATURES": DISPATCHED,
    "OPENBLAS_CORETYPE": "Nehalem",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable",
}
NO_AVX512 = pytest.mark.skipif("X86_V4" not in DISPATCHED.split(), reason="this processor has no AVX-512")
CORETYPES = ("Nehalem", "Sandybridge", "Haswell", pytest.param("SkylakeX", marks=NO_AVX512), "Zen")

needs_dispatch = pytest.mark.skipif(not DISPATCHED, reason="numpy has only its baseline for this processor")


compare_folders = script("compare_folders")


def python(*arguments: str | Path, **variables: str) -> str:
    """What Python prints in a process of its own, where ``variables`` choose the instructions."""
    env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**env, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def all_numbers(output: Path, *arguments: str, **variables: str) -> Path:
    python(SCRIPTS / "all_numbers.py", output, *arguments, **variables)
    return output


def differing(one: Path, other: Path) -> list[str]:
    n_files, lines = compare_folders.compare(one, other)
    assert n_files
    return lines


@needs_dispatch
def test_metrics_do_not_depend_on_the_instructions(tmp_path):
    """NRU takes logarithms: its metrics changed in the last bits."""
    asked = ["--papers", "bhatti2009", "--experiments", "self", "pair_ccid2_first", "--steps", "metrics"]
    usual, plain = (all_numbers(tmp_path / name, *asked, **given) for name, given in (("a", {}), ("b", PLAIN)))
    assert not differing(usual, plain)


NRU = """
import numpy as np
from tcpfair.metrics import fairness
r = np.random.Generator(np.random.Philox(5)).gamma(2.0, 3.0, (50, 2, 240))
weights = fairness.weights_mean_of_columns(r[..., :2])
u_db = fairness.nru_over_time_db(r, weights, 0.01)
for found in (u_db, fairness.flow_nru_db_of_mean(r, weights), fairness.flow_stability(u_db)):
    print(found.tobytes().hex())
print(np.log10(np.linspace(0.1, 9, 10_000)).tobytes().hex())
"""


@needs_dispatch
def test_resource_usage_has_the_same_bits_before_it_is_rounded():
    """Rounding alone is not enough: a stability near its pole has few digits that are right."""
    (*usual, of_numpy), (*plain, of_numpy_then) = (python("-c", NRU, **given).split() for given in ({}, PLAIN))
    assert usual == plain
    if (
        "X86_V4" in DISPATCHED.split()
    ):  # where numpy has several logarithms, its own gives other bits without the features
        assert of_numpy != of_numpy_then


RESAMPLED = """
import sys
import numpy as np
from tcpfair.verdicts.combine import N_DRAWS, drawn
for found in drawn(np.random.Generator(np.random.Philox(7)).gamma(2.0, 3.0, (20, 61)), N_DRAWS):
    print(found.tobytes().hex())
"""


def test_resampled_means_do_not_depend_on_the_blas():
    coretypes = ("Prescott", "Nehalem", "Haswell")
    assert len({python("-c", RESAMPLED, OPENBLAS_CORETYPE=coretype) for coretype in coretypes}) == 1


@pytest.mark.slow
@needs_dispatch
def test_no_table_depends_on_the_instructions(tmp_path):
    """Metrics of all experiments, ensembles compared with print, numbers and CSV of all exhibits, ledger."""
    usual, plain = all_numbers(tmp_path / "usual"), all_numbers(tmp_path / "plain", **PLAIN)
    assert not differing(usual, plain)


@pytest.mark.slow
@pytest.mark.parametrize("coretype", CORETYPES)
def test_no_table_depends_on_the_blas(tmp_path, coretype):
    asked = ["--papers", "kozu2014", "bhatti2008"]
    usual = all_numbers(tmp_path / "usual", *asked)
    assert not differing(usual, all_numbers(tmp_path / coretype, *asked, OPENBLAS_CORETYPE=coretype))


# --- the comparison itself ---------------------------------------------------------------------------------------------


def test_the_comparison_tells_which_values_differ_and_by_how_much(tmp_path):
    table = pd.DataFrame({"name": ["a", "b", None], "value": [1.0, 2.0, np.nan]})
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, moved_by, rows in ((one, 3e-9, 3), (other, 5e-9, 2)):
        folder.mkdir()
        table.to_csv(folder / "same.csv")
        table.assign(value=[1.0, 2.0 * (1 + moved_by), np.nan]).to_parquet(folder / "moved.parquet")
        table[:rows].to_csv(folder / "shape.csv", index=False)
    table.to_csv(one / "alone.csv")
    assert compare_folders.compare(one, other) == (
        4,
        [
            f"alone.csv: missing in {other}",
            "moved.parquet: value: 1 of 3 values, by 2.0e-09 at most",
            "shape.csv: other columns or rows ((3, 2) and (2, 2))",
        ],
    )


def test_a_missing_folder_is_no_equality(tmp_path):
    for one, other in ((tmp_path, tmp_path / "missing"), (tmp_path / "missing", tmp_path)):
        done = subprocess.run(
            [sys.executable, SCRIPTS / "compare_folders.py", one, other], capture_output=True, text=True
        )
        assert done.returncode == 2 and "missing" in done.stderr and "Traceback" not in done.stderr
