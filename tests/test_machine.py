"""Memory that a process can still use: the machine's, and what control groups leave of it."""

from __future__ import annotations

import pytest

from tcpfair.machine import available_bytes


@pytest.fixture
def proc(tmp_path):
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable: 64 kB\n")
    return tmp_path / "proc"


def group(folder, limit, used, reclaimable, v1=False):
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if v1 else ("memory.max", "memory.current")
    for name, value in zip(names, (limit, used), strict=True):
        (folder / name).write_text(f"{value}\n")
    (folder / "memory.stat").write_text(f"anon 1\n{'total_' if v1 else ''}inactive_file {reclaimable}\n")


def test_without_control_groups_it_is_what_linux_calls_available(proc, tmp_path):
    assert available_bytes(proc, tmp_path / "none") == 64 * 1024


def test_elsewhere_it_is_the_memory_of_the_machine(tmp_path):
    assert available_bytes(tmp_path / "none", tmp_path / "none") > 2**20


def test_the_least_of_a_group_and_those_above_it(proc, tmp_path):
    (proc / "self" / "cgroup").write_text("0::/slurm/job\n")
    group(tmp_path / "cg", "max", 50_000, 0)
    group(tmp_path / "cg" / "slurm", 60_000, 40_000, 5_000)
    group(tmp_path / "cg" / "slurm" / "job", 50_000, 10_000, 0)
    assert available_bytes(proc, tmp_path / "cg") == 25_000
    group(tmp_path / "cg" / "slurm", "max", 40_000, 5_000)
    assert available_bytes(proc, tmp_path / "cg") == 40_000
    group(tmp_path / "cg" / "slurm" / "job", 50_000, 60_000, 0)
    assert available_bytes(proc, tmp_path / "cg") == 0


def test_version_1_and_a_container_that_sees_its_own_group_at_the_top(proc, tmp_path):
    (proc / "self" / "cgroup").write_text("9:name=systemd:/\n3:cpu,memory:/docker/0123\n0::/\n")
    group(tmp_path / "cg" / "memory", 30_000, 20_000, 1_000, v1=True)
    assert available_bytes(proc, tmp_path / "cg") == 11_000
    group(tmp_path / "cg" / "memory", 2**63 - 4096, 20_000, 1_000, v1=True)  # no limit
    assert available_bytes(proc, tmp_path / "cg") == 64 * 1024
