"""Clusters: whose jobs are cancelled, and what is said where a cluster cannot be reached."""

import os
from pathlib import Path

import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.workflow import cluster
from tcpfair.workflow.run import PROFILES, job_places

ROOT = Path(__file__).parents[2]


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A queue of some jobs, and the file in which stands what is cancelled."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def put(*jobs, status=0):
        listed = "\n".join(jobs)
        for name, text in {
            "squeue": f"cat <<'EOT'\n{listed}\nEOT\nexit {status}",
            "scancel": f'echo "$@" >> {tmp_path}/cancelled',
        }.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        return tmp_path / "cancelled"

    return put


def test_jobs_of_this_folder_are_cancelled_and_no_others(queue, tmp_path):
    mine, other = cluster.name_of(tmp_path, "results"), cluster.name_of(tmp_path, "results/engine/studies/x")
    cancelled = queue(f"7 {mine}_0a-1b", f"8 {other}_0a", "9 somebody else's", f"10 {mine}", f"11 {mine}_2c", "12")
    assert cluster.cancel_left_over("slurm", mine) == 2
    assert cancelled.read_text() == "11 7\n"


def test_where_nothing_is_left_nothing_is_cancelled(queue, tmp_path):
    cancelled = queue("9 other")
    assert cluster.cancel_left_over("slurm", cluster.name_of(tmp_path, "results")) == 0
    assert cluster.cancel_left_over("", "x") == 0
    assert not cancelled.exists()


def test_a_queue_that_does_not_answer_is_one_line(queue):
    queue(status=1)
    with pytest.raises(InputError, match="squeue: failed"):
        cluster.cancel_left_over("slurm", "x")


def test_names_differ_between_checkouts_and_are_what_the_plugin_takes(tmp_path):
    names = {cluster.name_of(tmp_path / root, folder) for root in ("a", "b") for folder in ("results", "results/x")}
    assert len(names) == 4
    assert all(len(name) <= 50 and name.replace("-", "").isalnum() for name in names)


def test_without_the_plugin_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"uv pip install --no-deps --require-hashes -r envs/slurm.txt"):
        cluster.check("slurm")
    assert (ROOT / "envs" / "slurm.txt").is_file()
    cluster.check("")


def test_without_slurm_it_says_so(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr(cluster.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="no sbatch here"):
        cluster.check("slurm")


def test_the_profiles_keep_what_stamps_need():
    for profile in (ROOT / PROFILES).iterdir():
        values = yaml.safe_load((profile / "config.yaml").read_text())
        assert values["rerun-triggers"] == ["mtime"] and values["keep-going"] and values["nolock"], profile.name
    assert [cluster.executor_of(ROOT / PROFILES / name) for name in ("default", "slurm")] == ["", "slurm"]
    assert job_places(ROOT, "default", 3) == 3 and job_places(ROOT, "slurm", 3) == 100
