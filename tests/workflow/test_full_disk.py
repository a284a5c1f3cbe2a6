"""A full disk: one line, a status that is not 0, nothing that a later run trusts, and the same bytes when there is room."""

import errno
import os
import random
import shutil
import subprocess

import pytest

from tcpfair.workflow.full_disk import REMEDY, FullDisk, reason
from tests.workflow import killing

FULL = os.strerror(errno.ENOSPC)
TRACEBACK = ["Traceback (most recent call last):\n", '  File "a.py", line 1, in <module>\n', "    write()\n"]


def seen(root, *said):
    disk = FullDisk(root)
    return [line for each in said for line in disk.shown(each)] + disk.at_the_end()


def test_what_is_said_of_other_things_is_shown_as_it_is(tmp_path):
    said = ["measured  a  6 runs\n", *TRACEBACK, "KeyError: 1\n", "\n", *TRACEBACK]
    assert seen(tmp_path, *said) == said


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_of_a_full_disk_one_line_is_shown_at_the_end(tmp_path, number):
    text = os.strerror(number)
    said = [f"tee: a.log: {text}\n", *TRACEBACK, f"OSError: [Errno {number}] {text}\n", f"tee: b.log: {text}\n"]
    assert seen(tmp_path, *said, "measured  b\n") == ["measured  b\n", f"error: {tmp_path}: {text}; {REMEDY}\n"]


def test_a_step_says_it_best(tmp_path):
    step = f"error: results/a.parquet: {FULL}; {REMEDY}\n"
    assert seen(tmp_path, f"tee: a.log: {FULL}\n", step, f"tee: b.log: {FULL}\n") == [step]


def test_what_a_kernel_tells_of_an_error_is_a_full_disk_or_something_else():
    assert reason("OSError", f"[Errno {errno.ENOSPC}] {FULL}: 'a'").errno == errno.ENOSPC
    assert reason("OSError", "[Errno 2] No such file or directory") is None
    assert reason("ValueError", FULL) is None


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own in memory, of 16 MB."""
    if not hasattr(os, "getuid") or os.getuid() or not shutil.which("mount"):
        pytest.skip("only root can mount a file system")
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", place], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def used_bytes(place):
    return shutil.disk_usage(place).used


@pytest.mark.slow
@pytest.mark.parametrize("source", ["bundled", "engine"])
def test_a_run_on_a_full_disk_says_so_and_the_next_one_ends_with_the_same_bytes(small_disk, source):
    asked = ["build", "--config", "papers=ogura", "only=ogura.fig6", f"source={source}"]
    root = killing.stand_in(small_disk / "checkout")
    before_bytes = used_bytes(small_disk)
    killing.finish(root, asked)
    expected, needed_bytes = killing.outputs(root), used_bytes(small_disk) - before_bytes
    chance, ballast = random.Random(source), small_disk / "ballast"
    for share in (0.0, 0.02, *sorted(chance.uniform(0.03, 0.9) for _ in range(2))):
        for name in ("results", "figures", ".snakemake"):
            shutil.rmtree(root / name)
        left_bytes = round(share * needed_bytes)
        ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - left_bytes))
        done = run(root, asked)
        assert done.returncode != 0, f"{left_bytes} bytes were enough: {done.stdout}"
        assert done.stdout.count(FULL) == 1, done.stdout
        assert next(line for line in done.stdout.splitlines() if FULL in line).startswith("error: ")
        assert "Traceback" not in done.stdout
        ballast.unlink()
        done = run(root, asked)
        assert done.returncode == 0, done.stdout
        assert killing.outputs(root) == expected


def run(root, asked):
    """A run whose words go through a pipe, as nothing more can be written."""
    return subprocess.run(
        killing.command(asked),
        cwd=root,
        env=killing.environment(root),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
