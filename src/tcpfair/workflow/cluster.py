"""Clusters: the requirements of a profile of ``workflow/profiles``, and jobs that a killed run left in a queue."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tcpfair.errors import InputError
from tcpfair.files.digests import digest
from tcpfair.papers.papers import load_yaml

SLURM = "slurm"
_PLUGIN = "snakemake_executor_plugin_slurm"
_SQUEUE_S = 60
_NAME_LENGTH = 12  # hexadecimal digits


def executor_of(profile: Path) -> str:
    """Where the jobs of a profile run: ``slurm``, or an empty string for this machine."""
    return str(load_yaml(profile / "config.yaml").get("executor", ""))


def check(executor: str) -> None:
    """Raise InputError, with what to install, if a profile's cluster cannot be reached from here."""
    if executor != SLURM:
        return
    from importlib.util import find_spec

    if find_spec(_PLUGIN) is None:
        raise InputError(
            "--profile slurm: its plugin is not installed; .venv/bin/uv pip install --no-deps --require-hashes -r envs/slurm.txt"
        )
    if shutil.which("sbatch") is None:
        raise InputError(
            "--profile slurm: no sbatch here; start it on a login node of a cluster, or see scripts/slurm_node.sh"
        )


def name_of(root: Path, folder: str) -> str:
    """The common prefix of the names of all jobs for one folder of results of one checkout."""
    return f"tcpfair-{digest([str(root.resolve()), folder])[:_NAME_LENGTH]}"


def cancel_left_over(executor: str, name: str) -> int:
    """Cancel the jobs of a killed run, whose lock the caller holds; returns their number."""
    if executor != SLURM:
        return 0
    asked = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%A %j"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=_SQUEUE_S, check=False)
    if done.returncode:
        raise InputError(f"squeue: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'failed'}")
    lines = (line.split(maxsplit=1) for line in done.stdout.splitlines())
    left = sorted({job for job, *named in lines if named and named[0].startswith(f"{name}_")})
    if left:
        subprocess.run(["scancel", *left], capture_output=True, timeout=_SQUEUE_S, check=False)
    return len(left)
