"""A run does not outlive who started it, and its lock lasts until all that it started has ended."""

import fcntl
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tcpfair.errors import InputError
from tcpfair.workflow import clean, leash
from tcpfair.workflow import run as runs

LEASH = [sys.executable, "-S", "-E", leash.__file__]
STARTS = """
import subprocess, sys
given = {"stdin": subprocess.PIPE, "process_group": 0}
subprocess.Popen(sys.argv[1:], **given).wait()
"""


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(what, most_s=30):
    until_s = time.monotonic() + most_s
    while not what():
        assert time.monotonic() < until_s, "waited in vain"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
@pytest.mark.parametrize("whole_group", [False, True], ids=["the leader alone", "its group"])
def test_what_a_killed_leader_started_ends(tmp_path, whole_group):
    says = tmp_path / "pids"
    steps = f"sleep 600 & echo $! $$ > {says}.new; mv {says}.new {says}; wait"
    leader = subprocess.Popen([sys.executable, "-c", STARTS, *LEASH, "sh", "-c", steps], start_new_session=True)
    wait_for(says.is_file)
    pids = [int(pid) for pid in says.read_text().split()]
    assert all(map(is_alive, pids))
    (os.killpg if whole_group else os.kill)(leader.pid, signal.SIGKILL)
    leader.wait()
    wait_for(lambda: not any(map(is_alive, pids)))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_what_a_killed_command_started_ends(tmp_path):
    says = tmp_path / "pid"
    steps = f"sleep 600 & echo $! > {says}; kill -9 $$"
    with subprocess.Popen([*LEASH, "sh", "-c", steps], stdin=subprocess.PIPE, process_group=0) as process:
        assert process.wait(30) == 137
    wait_for(lambda: not is_alive(int(says.read_text())))


@pytest.mark.parametrize(("command", "status"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137)])
def test_the_status_is_that_of_the_command(command, status):
    with subprocess.Popen([*LEASH, "sh", "-c", command], stdin=subprocess.PIPE, process_group=0) as process:
        assert process.wait(30) == status


def locked(path, pid):
    """A lock that somebody holds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = path.open("a+")
    fcntl.flock(stream, fcntl.LOCK_EX)
    stream.write(json.dumps({"pid": pid, "host": platform.node()}))
    stream.flush()
    return stream


@pytest.fixture
def gone():
    """The id of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_what_a_killed_run_left_is_waited_for(tmp_path, gone):
    held = locked(tmp_path / "results" / ".lock", gone)
    threading.Timer(0.3, held.close).start()
    with runs.only_run(tmp_path):
        assert held.closed


def refused(root):
    """A run that another one keeps from starting."""
    with pytest.raises(InputError, match="another ./reproduce runs"), runs.only_run(root):
        pytest.fail("it ran")


def test_but_not_for_ever(tmp_path, gone, monkeypatch):
    monkeypatch.setattr(runs, "_ENDING_S", 0.3)
    with locked(tmp_path / "results" / ".lock", gone):
        refused(tmp_path)


def test_a_run_that_lives_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(runs.time, "sleep", lambda s: pytest.fail("waited"))
    with locked(tmp_path / "results" / ".lock", os.getpid()):
        refused(tmp_path)


def test_the_leash_is_given_the_locks(tmp_path):
    with runs.only_run(tmp_path, "results/engine/studies/x"):
        held = [Path(f"/dev/fd/{number}").resolve() for number in runs._held]
        assert held == [tmp_path / "results" / name for name in (".in-use", "engine/studies/x/.lock")]
    assert runs._held == []


def test_a_lock_is_held_where_a_descriptor_has_no_path_to_the_same_file(tmp_path, monkeypatch):
    """On macOS, a file below /dev/fd is on a device of its own."""
    stat = os.stat

    def of_macos(path, **how):
        assert not str(path).startswith("/dev/fd/"), "another file to macOS"
        return stat(path, **how)

    monkeypatch.setattr(os, "stat", of_macos)
    with runs.only_run(tmp_path):
        assert (tmp_path / "results" / ".lock").exists()


def test_two_folders_of_results_can_be_made_at_once_and_neither_is_cleaned(tmp_path):
    with runs.only_run(tmp_path, "results/engine/ensemble"), runs.only_run(tmp_path, "results/validation"):
        with pytest.raises(InputError, match="another ./reproduce runs"):
            clean.main(tmp_path, yes=True)
        assert (tmp_path / "results" / "validation").is_dir()
    assert clean.main(tmp_path, yes=True) == 0
    assert not (tmp_path / "results" / "validation").exists()
    with runs.only_run(tmp_path):  # the lock that was removed is no obstacle
        assert (tmp_path / "results" / ".lock").is_file()


def processes_of(group):
    """Ids of the live processes of a group, with their parents."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent, of = path.read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                found[int(path.parent.name)] = int(parent)
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
@pytest.mark.parametrize("killed", ["first", "second", "both"])
def test_a_leash_that_is_killed_with_its_leader_leaves_nothing(tmp_path, killed):
    says = tmp_path / "pid"
    steps = f"sleep 600 & trap 'kill $!; exit' TERM; echo $$ > {says}.new; mv {says}.new {says}; wait"
    leader = subprocess.Popen([sys.executable, "-c", STARTS, *LEASH, "sh", "-c", steps], start_new_session=True)
    wait_for(says.is_file)
    command = int(says.read_text())
    group = os.getpgid(command)
    second = processes_of(group)[command]
    first = processes_of(group)[second]
    hit = {"first": [first], "second": [second], "both": [first, second]}[killed]
    for pid in [*hit, leader.pid]:
        os.kill(pid, signal.SIGKILL)
    leader.wait()
    wait_for(lambda: not processes_of(group))
