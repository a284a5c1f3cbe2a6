"""Clusters: whose jobs are cancelled, and what is said where a cluster cannot be reached."""

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.workflow import cluster, executor, simulate
from tcpfair.workflow.plan import Plan
from tcpfair.workflow.run import PROFILES, job_places
from tests.commands import succeed
from tests.workflow.killing import stand_in

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


def test_no_profile_has_times_of_files_decide():
    for profile in (ROOT / PROFILES).iterdir():
        values = yaml.safe_load((profile / "config.yaml").read_text())
        assert values["rerun-triggers"] == ["software-env"] and values["keep-going"] and values["nolock"], profile.name
    assert [cluster.executor_of(ROOT / PROFILES / name) for name in ("default", "slurm")] == ["", "slurm"]
    assert job_places(ROOT, "default", 3) == 3 and job_places(ROOT, "slurm", 3) == 100


@pytest.mark.slow
def test_on_a_cluster_the_papers_are_few_jobs_and_no_group_waits_for_itself(tmp_path):
    """What Snakemake makes of the groups, in a dry run; its own check refuses a group that depends on itself."""
    stand_in(tmp_path)
    profile = yaml.safe_load((ROOT / PROFILES / "slurm" / "config.yaml").read_text())
    plan = Plan({"source": "engine", "shards": 16}, tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(plan.config.model_dump()))
    asked = ["--dry-run", "--cores", "1", "--configfile", "config.json", "--quiet", "host", "reason"]
    asked += ["--group-components", *profile["group-components"], "--resources", "in_turn=1"]
    asked += ["--set-resource-scopes", *profile["set-resource-scopes"], "--default-resources", "in_turn=1"]
    done = succeed(sys.executable, "-m", "snakemake", *asked, cwd=tmp_path, TCPFAIR_ROOT=str(tmp_path))
    said = done.stdout + done.stderr
    groups = Counter(re.findall(r"Group job (\w+) ", said))
    alone = len(re.findall(r"^(?:local)?rule \w+:", said, re.M))  # those of groups are indented
    n_steps = int(re.search(r"^total +(\d+)", said, re.M)[1])
    assert groups == {"measure": 1, "notebooks": 2, "pages": 1}
    assert n_steps > 10 and alone == 1  # `all`


@pytest.mark.slow
def test_on_a_cluster_the_simulations_of_all_papers_are_some_hundred_jobs(tmp_path):
    plan = Plan({"source": "engine", "shards": 16}, ROOT)
    plan.layout = Layout(tmp_path, "engine")
    campaign = simulate.campaign_of(plan, plan.experiments)
    jobs = executor.cut(campaign)
    assert 30 < len(jobs) < 130 and sum(len(own) for own in jobs) == len(campaign.items) > 100
