"""Parallel runs in processes, and runs of user algorithms, which need a separate process (`own`).

A process is a Python that reads pickled scenarios and writes pickled results, so scripts need no guard of ``__main__``.
A result does not depend on the process that computes it.
"""

from __future__ import annotations

import atexit
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from typing import NamedTuple

from tcpfair.engine.dumbbell import DumbbellResult
from tcpfair.errors import ShortageError
from tcpfair.library import live
from tcpfair.library.own import digest_of_files
from tcpfair.machine import free_cores
from tcpfair.papers.scenario import Scenario

_WORTH_PKTS = 2e8  # that full links carry in all runs: with fewer, starting processes takes longer than the simulation
_SHOWN_AFTER_S, _SHOWN_EVERY_S = 2.0, 0.5
_START = "import sys; sys.path[:] = {path!r}; from tcpfair.library.own import serve; serve({own!r})"


class Job(NamedTuple):
    """One run: a scenario, a seed, and the files of its user algorithms."""

    scenario: Scenario
    seed: int
    own: tuple[str, ...] = ()

    @property
    def pkts(self) -> float:
        """Packets that a full link carries in the run."""
        return self.scenario.capacity_bps * self.scenario.duration_s / (8 * self.scenario.wire_bytes)


def run_all(jobs: Sequence[Job], cores: int | None = None, progress: bool | None = None) -> list[DumbbellResult]:
    """The results of ``jobs``, in their order; on ``cores`` (default: all that this process may use).

    ``progress`` shows on stderr how many are done; by default on a terminal and in a notebook, after two seconds.
    Raises InputError as the engine does.
    """
    is_worth_it = sum(job.pkts for job in jobs) > _WORTH_PKTS
    at_once = min(len(jobs), cores or free_cores()) if is_worth_it else 1
    say = _progress(len(jobs), progress)
    found = []
    if at_once <= 1:
        for job in jobs:
            found.append(_run(job, apart=False))
            say(len(found))
        return found
    if jobs[0].own or not live.is_compiled():  # the first one alone: it compiles what the others load
        found.append(_run(jobs[0], apart=True))
    pool = ThreadPoolExecutor(at_once)  # each waits for a process
    try:
        waiting = [pool.submit(_run, job, True) for job in jobs[len(found) :]]
        for done, future in enumerate(as_completed(waiting), 1 + len(found)):
            future.result()  # raises the error of the run
            say(done)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        _Process.end_all()
        pool.shutdown()
        _Process.end_all()  # it was about to start
        raise
    pool.shutdown()
    return found + [future.result() for future in waiting]


def _run(job: Job, apart: bool) -> DumbbellResult:
    if not (apart or job.own):
        return live.run(job.scenario, job.seed)
    with _process(job.own) as process:
        return process.run(job)


def _progress(total: int, shown: bool | None) -> Callable[[int], None]:
    """A callback for the number of finished runs."""
    if shown is None:
        shown = total > 1 and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    began_s = last_s = time.monotonic()

    def say(done: int) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        is_last = done == total and last_s > began_s
        if shown and now_s - began_s > _SHOWN_AFTER_S and (is_last or now_s - last_s > _SHOWN_EVERY_S):
            last_s, left_s = now_s, (now_s - began_s) / done * (total - done)
            end = "\n" if is_last else ""
            print(f"\r{done} of {total} runs, {left_s:.0f} s left ", end=end, file=sys.stderr, flush=True)

    return say


# --- In this process ---------------------------------------------------------------------------------------------


class _Process:
    """A process that runs jobs, one at a time."""

    alive: list[_Process]

    def __init__(self, own: tuple[str, ...]) -> None:
        self.made_for = own, digest_of_files(own)
        command = [sys.executable, "-c", _START.format(path=sys.path, own=own)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        _Process.alive.append(self)

    def run(self, job: Job) -> DumbbellResult:
        """The job's result; raises the job's error, or ShortageError when the process has ended."""
        assert self._process.stdin and self._process.stdout
        try:
            pickle.dump((job.scenario.model_dump(), job.seed), self._process.stdin)
            self._process.stdin.flush()
            found = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            self.end()
            status = self._process.wait()
            raise ShortageError(
                f"simulate: a process that simulated ended with status {status}; is memory short?"
            ) from None
        except BaseException:  # interrupted: discard its next answer
            self.end()
            raise
        if isinstance(found, BaseException):
            raise found
        assert isinstance(found, DumbbellResult)
        return found

    def end(self) -> None:
        """End the process and lose its current simulation."""
        with suppress(ValueError):
            _Process.alive.remove(self)
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                stream and stream.close()

    @staticmethod
    def end_all() -> None:
        """End all processes, the busy ones too."""
        _IDLE.clear()
        for process in list(_Process.alive):
            process.end()


_Process.alive = []
_IDLE: list[_Process] = []
atexit.register(_Process.end_all)


@contextmanager
def _process(own: tuple[str, ...]) -> Iterator[_Process]:
    """An idle process with these algorithms, or a new one; idle ones with an older version of a file are ended."""
    wanted = own, digest_of_files(own)
    for process in list(_IDLE):
        if process.made_for == wanted:
            with suppress(ValueError):  # another thread has it
                _IDLE.remove(process)
                break
        elif own and process.made_for[0] == own:
            with suppress(ValueError):
                _IDLE.remove(process)
                process.end()
    else:
        process = _Process(own)
    try:
        yield process
    finally:
        if process in _Process.alive:
            _IDLE.append(process)
